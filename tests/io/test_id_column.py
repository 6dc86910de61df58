"""The column of ids that `open_corpus` finds by itself."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from command import call
from corpora import write_rows
from nearkin.io import open_corpus

Rows = list[dict[str, Any]]


WRITERS = pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])


def read_ids(path: Path, **options: Any) -> tuple[str | None, list[Any], str]:
    with open_corpus(path, **options) as corpus:
        ids = [name for batch in corpus.batches() for name in batch.ids.to_list()]
        return corpus.id_column, ids, corpus.id_note


def rows_of(name: str, ids: list[Any], **others: list[Any]) -> Rows:
    columns = {name: ids, "text": [f"text number {row}" for row in range(len(ids))], **others}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


@WRITERS
@pytest.mark.parametrize("name", ["id", "url", "_id"])
def test_a_column_of_distinct_ids_is_used(suffix: str, name: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / f"a.{suffix}", rows_of(name, ["x", "y", "z"]))
    assert (name, ["x", "y", "z"]) == read_ids(path)[:2]
    assert (name != "id") == (f"column '{name}'" in read_ids(path)[2])
    assert (None, [0, 1, 2], "") == read_ids(path, id_column="none")
    assert ("text", "text number 0") == (
        read_ids(path, id_column="text", text_column=name)[0],
        read_ids(path, id_column="text", text_column=name)[1][0],
    )


@WRITERS
@pytest.mark.parametrize(("ids", "reason"), [(["x", "y", "x"], "repeated"), (["x", None, "z"], "missing")])
def test_a_column_without_distinct_ids_is_not_used(suffix: str, ids: list[Any], reason: str, tmp_path: Path) -> None:
    """No record is lost: the next column has the ids, or row numbers are used, and a note says why."""
    path = write_rows(tmp_path / f"a.{suffix}", rows_of("id", ids))
    column, found, note = read_ids(path)
    assert (None, [0, 1, 2]) == (column, found)
    assert "ids are row numbers: column 'id' has" in note
    assert reason in note
    path = write_rows(tmp_path / f"b.{suffix}", rows_of("id", ids, url=["a", "b", "c"]))
    assert ("url", ["a", "b", "c"]) == read_ids(path)[:2]


@WRITERS
def test_ids_repeat_over_several_files(suffix: str, tmp_path: Path) -> None:
    paths = [write_rows(tmp_path / f"{name}.{suffix}", rows_of("id", ["1", "2"])) for name in "ab"]
    with open_corpus(paths) as corpus:
        assert corpus.id_column is None


def test_integers_are_ids_and_mixed_values_are_not(tmp_path: Path) -> None:
    assert ("id", [7, 5]) == read_ids(write_rows(tmp_path / "a.jsonl", rows_of("id", [7, 5])))[:2]
    for ids in ([7, "5"], [7, 0.5], [True, False], ["", "x"]):
        assert (None, [0, 1]) == read_ids(write_rows(tmp_path / "b.jsonl", rows_of("id", ids)))[:2]


def test_a_file_without_such_a_column_has_row_numbers(tmp_path: Path) -> None:
    assert (None, [0, 1], "") == read_ids(write_rows(tmp_path / "a.jsonl", rows_of("name", ["x", "y"])))


def test_a_deduplication_of_a_file_names_documents_by_their_ids(tmp_path: Path) -> None:
    """In Python, and by the command, which says so unless it is quiet."""
    rows = rows_of("id", ["x", "y", "z"])
    rows[2]["text"] = rows[0]["text"]
    path = write_rows(tmp_path / "a.jsonl", rows)
    assert ["x", "y"] == nk.dedup(path).kept
    assert [0, 1] == nk.dedup(path, id="none").kept
    assert "ids are" not in call("dedup", path, "--out", tmp_path / "out").err
    urls = write_rows(tmp_path / "b.jsonl", rows_of("url", ["x", "y", "z"]))
    done = call("dedup", urls, "--out", tmp_path / "urls")
    assert "ids are those of column 'url'; --id-column none numbers the documents" in " ".join(done.err.split())
    assert "id" == json.loads((tmp_path / "out" / "summary.json").read_text())["id_column"]
    assert "ids are" not in call("dedup", path, "--out", tmp_path / "quiet", "-q").err
    done = call("dedup", path, "--out", tmp_path / "rows", "--id-column", "none")
    assert (0, None) == (done.code, json.loads((tmp_path / "rows" / "summary.json").read_text())["id_column"])


@WRITERS
@pytest.mark.parametrize(
    ("late", "column"), [("repeated", "url"), ("missing", "url"), ("all", None), (None, "id"), ("strict", None)]
)
def test_ids_that_the_first_batch_cannot_judge(
    suffix: str, late: str | None, column: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The column is that of a look at all records, no record is lost, and the job says so when it knows."""
    monkeypatch.setattr("nearkin.io.records.BLOCK", 1 << 12)
    ids: list[Any] = [f"id {row}" for row in range(300)]
    urls: list[Any] = [f"u{row}" for row in range(300)]
    rows = rows_of("id", ids, url=urls)
    for number, row in enumerate(rows):
        row["text"] = random.Random(number).randbytes(20).hex()
    for name in ("id", "url") if late in ("all", "strict") else ("id",):
        rows[200][name] = {"repeated": rows[3][name], None: rows[200][name]}.get(late)
    # More records without an id than may be malformed.
    for row in rows[220:] if late == "missing" else ():
        row["id"] = None
    rows[299]["text"] = rows[0]["text"]
    parts = [write_rows(tmp_path / f"{name}.{suffix}", part) for name, part in (("a", rows[:150]), ("b", rows[150:]))]
    done = call("dedup", *parts, "--out", tmp_path / "out", *(["--strict"] if late == "strict" else []))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (0, 300, 299, 0) == (done.code, summary["documents"], summary["kept"], summary["malformed"])
    assert column == summary["id_column"]
    with open_corpus(parts) as corpus:
        assert column == corpus.id_column
        assert (corpus.id_note == "") == ("ids are" not in done.err)
    kept = {None: list(range(299)), "id": ids[:299], "url": urls[:299]}[column]
    assert kept == nk.dedup(parts).kept


def test_an_error_of_reading_is_the_one_of_all_records(tmp_path: Path) -> None:
    """A file with too many malformed records is refused whichever column has the ids."""
    rows = rows_of("id", [f"id {row}" for row in range(300)])
    path = write_rows(tmp_path / "a.jsonl", rows)
    path.write_text(path.read_text() + "{\n" * 100)
    done = call("dedup", path, "--out", tmp_path / "out")
    assert (True, True) == (done.code != 0, "100" in done.err)
