"""Invalid records: they are counted, reported with file and line, and skipped; with `--strict` they are an error."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import run
from nearkin import errors
from nearkin.io import open_corpus

TEXT = "the quick brown fox jumps over the lazy dog"

IDS = [
    "9" * 4301,
    "-" + "9" * 4301,
    "9" * 100_000,
    "1e400",
    "-1e400",
    "1.5",
    "0.0",
    "1e3",
    "1." + "0" * 10_000,
    "true",
    "false",
    "null",
    "[1]",
    '{"a": 1}',
    "[" * 100_000 + "]" * 100_000,
    '"\\ud800"',
    "NaN",
    "Infinity",
    "01",
    "+1",
    "0x1",
]
"""What is no id, as JSON."""

GOOD = {"9" * 4300: int("9" * 4300), "-0": 0, str(2**64): 2**64, str(-(2**63)): -(2**63), '"\\u0000"': "\0", '""': ""}
"""What is one, and its value."""


def lines(identifier: str) -> bytes:
    """Return three records; the second one has this id."""
    return "".join(f'{{"id": {value}, "text": "{TEXT}"}}\n' for value in ("1", identifier, "3")).encode()


@pytest.mark.parametrize("identifier", IDS, ids=lambda value: value[:12])
def test_a_json_id_that_is_none_costs_its_own_record(tmp_path: Path, identifier: str) -> None:
    """The other records are read, and a short message names the line."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(identifier))
    with open_corpus(path, id_column="id", max_malformed=1) as corpus:
        assert [1, 3] == [value for batch in corpus.batches() for value in batch.ids]
        (bad,) = corpus.malformed.first
        assert (1, 2, True) == (corpus.malformed.count, bad.line, len(str(bad)) < 500 + len(str(path)))
    with open_corpus(path, id_column="id", strict=True) as corpus, pytest.raises(errors.InputError, match=r"line 2"):
        list(corpus.batches())


@pytest.mark.parametrize("identifier", GOOD, ids=lambda value: value[:12])
def test_a_json_id_of_any_size_below_is_read(tmp_path: Path, identifier: str) -> None:
    """Strings and integers of up to 4,300 digits, Python's own limit, are accepted."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(identifier))
    with open_corpus(path, id_column="id") as corpus:
        assert [1, GOOD[identifier], 3] == [value for batch in corpus.batches() for value in batch.ids]


def test_other_columns_have_the_same_bounds(tmp_path: Path) -> None:
    """The same limits apply to a keep column and a source column."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines("9" * 4301) + lines("1e400") + lines("true"))
    with open_corpus(path, extra_columns=["id"], max_malformed=2) as corpus:
        assert [1, 3, 1, 3, 1, True, 3] == [value for batch in corpus.batches() for value in batch.columns["id"]]
        assert [2, 5] == [bad.line for bad in corpus.malformed.first]


def test_a_run_goes_on_after_bad_records(tmp_path: Path) -> None:
    """The command counts and reports them; with --strict it stops at the first one and writes nothing."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(f'{{"id": {value}, "text": "{TEXT}"}}\n'.encode() for value in ["1", *IDS, "2"]))
    done = run("dedup", path, "--id-column", "id", "--out", tmp_path / "out", "--max-malformed", "99%")
    assert (0, True) == (done.returncode, b"a.jsonl, line 2: column" in done.stderr)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert len(IDS) == summary["malformed"]
    done = run("dedup", path, "--id-column", "id", "--out", tmp_path / "strict", "--strict")
    assert (1, True, False) == (done.returncode, b"line 2" in done.stderr, (tmp_path / "strict").exists())


def test_ids_of_parquet_beyond_63_bits_are_written_as_they_are(tmp_path: Path) -> None:
    """They are uint64 in the clusters, the pairs and the kept records."""
    ids = [1, 2**63, 2**64 - 1]
    pq.write_table(pa.table({"id": pa.array(ids, pa.uint64()), "text": [TEXT] * 3}), tmp_path / "a.parquet")
    done = run("dedup", tmp_path / "a.parquet", "--id-column", "id", "--out", tmp_path / "out")
    assert (0, b"") == (done.returncode, done.stderr if done.returncode else b"")
    clusters = pq.read_table(tmp_path / "out" / "clusters.parquet")
    assert (ids, pa.uint64()) == (clusters["id"].to_pylist(), clusters.schema.field("id").type)


COLUMNS = {
    "decimal": pa.array([decimal.Decimal(1)]),
    "date": pa.array([datetime.date(2020, 1, 1)]),
    "timestamp": pa.array([datetime.datetime(2020, 1, 1)]),
    "float": pa.array([float("nan")]),
    "binary": pa.array([b"a"]),
    "binary_view": pa.array([b"a"], pa.binary_view()),
    "list": pa.array([[1]]),
    "bool": pa.array([True]),
    "null": pa.array([None]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_parquet_column_that_holds_no_ids_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    """The type of the column is rejected before any record is read."""
    pq.write_table(pa.table({"id": COLUMNS[kind], "text": [TEXT]}), tmp_path / "a.parquet")
    with (
        open_corpus(tmp_path / "a.parquet", id_column="id") as corpus,
        pytest.raises(errors.InputError, match=r"a.parquet: column 'id' is .*; a"),
    ):
        list(corpus.batches())


def test_parquet_views_of_strings_are_texts_and_ids(tmp_path: Path) -> None:
    """`string_view` columns are read and kept unchanged, also in files with `binary_view` columns."""
    table = pa.table(
        {
            "id": pa.array(["a", "b", "c"], pa.string_view()),
            "text": pa.array([TEXT, "other words altogether, and long", TEXT], pa.string_view()),
            "raw": pa.array([b"\xff", None, b"a value that is longer than twelve"], pa.binary_view()),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    done = run("dedup", tmp_path / "a.parquet", "--id-column", "id", "--out", tmp_path / "out")
    assert 0 == done.returncode, done.stderr
    kept = pq.read_table(tmp_path / "out" / "kept.parquet")
    assert table.slice(0, 2).to_pydict() == kept.to_pydict()
