"""nearkin.io.records: JSON lines, CSV, TSV and plain lines, against Python's own modules."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearkin.errors import InputError
from nearkin.io import Corpus, open_corpus
from nearkin.io import base as base_module
from nearkin.io import records as records_module

# Fields of CSV as a writer may quote them; NUL is refused by name elsewhere, and a lone carriage return is in quotes.
pieces = ["a", "b", '"', ",", "\t", "\n", "\r\n", " ", "中", "é", ";", "'"]
fields = st.lists(st.sampled_from(pieces), max_size=10).map("".join)


def texts_of(corpus: Corpus) -> list[str]:
    return [text for batch in corpus.batches() for text in batch.texts]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.tuples(fields, fields), max_size=8),
    kind=st.sampled_from(["csv", "tsv"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    ending=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
)
def test_csv_is_what_the_csv_module_writes(
    tmp_path: Path, rows: list[tuple[str, str]], kind: str, quoting: int, ending: str, last: bool
) -> None:
    """Quotes, delimiters and line ends in fields, either line end, and a last record without one."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",", lineterminator=ending, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["text", "other"])
    writer.writerows(rows)
    data = out.getvalue() if last or not rows else out.getvalue().removesuffix(ending)
    path = tmp_path / f"a.{kind}"
    path.write_bytes(data.encode())
    with open_corpus(path, extra_columns=["other"]) as corpus:
        read = [
            (text, other)
            for batch in corpus.batches()
            for text, other in zip(batch.texts, batch.columns["other"], strict=True)
        ]
        assert rows == read
        corpus.write_kept(range(len(rows)), kept := io.BytesIO())
    assert data == kept.getvalue().decode()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "txt"])
def test_rows_are_looked_up_as_in_a_list(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any ascending rows, repeated ones too, over batches and files, are those of a plain list."""
    for module in (base_module, records_module):
        monkeypatch.setattr(module, "BLOCK", 1 << 9)
    expected = [f"text {i} " + "x" * (i * 37 % 300) for i in range(90)]
    for part in range(3):
        some = expected[part * 30 : part * 30 + 30]
        lines = [json.dumps({"text": text}) if kind == "jsonl" else text for text in some]
        (tmp_path / f"{part}.{kind}").write_text("\n".join((["text"] if kind == "csv" else []) + lines))
    rng = np.random.default_rng(0)
    with open_corpus([tmp_path / f"{part}.{kind}" for part in range(3)]) as corpus:
        assert expected == texts_of(corpus)
        for _ in range(30):
            rows = np.sort(rng.integers(0, 90, rng.integers(0, 40)))
            assert [expected[row] for row in rows] == list(corpus.texts(rows))


def test_json_of_every_shape(tmp_path: Path) -> None:
    """Nested values beside the text, huge integers, escapes, and keys in any order; what is wrong says why."""
    good = [
        '{"a": {"text": "inner", "b": [1, {"text": 2}]}, "text": "outer", "id": 1}',
        '{"id": ' + "9" * 300 + ', "text": "huge"}',
        '{"text": "\\u4e2d\\ud83d\\ude00\\u0000\\/", "id": -0}',
        '  {"text" : "spaced" , "id":"x"}  ',
        '{"text": "' + "x" * 100_000 + '", "id": 5}',
    ]
    bad = {
        '{"text": "\\ud800", "id": 1}': "surrogate",
        '{"text": "a", "text": "b", "id": 1}': "twice",
        '{"text": "a", "id": 1.5}': "id",
        '{"text": "a", "id": null}': "id",
        '{"text": "a", "id": 1} x': "invalid JSON",
        '["text"]': "object",
        '{"text": ["a"], "id": 1}': "text",
    }
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([*good, *bad]))
    with open_corpus(path, id_column="id") as corpus:
        (batch,) = corpus.batches()
        assert [json.loads(line)["text"] for line in good] == list(batch.texts)
        assert [json.loads(line)["id"] for line in good] == list(batch.ids)
        for (line, said), record in zip(bad.items(), corpus.malformed.first, strict=True):
            assert said in record.reason, line
        assert list(range(6, 13)) == [record.line for record in corpus.malformed.first]


@pytest.mark.parametrize("kind", ["txt", "csv"])
def test_nul_bytes_are_bad_records(tmp_path: Path, kind: str) -> None:
    """In plain lines and CSV a NUL byte means that the file is no text there."""
    (tmp_path / f"a.{kind}").write_bytes(b"text\na\nb\0c\nd\n")
    with open_corpus(tmp_path / f"a.{kind}") as corpus:
        assert ["a", "d"] == texts_of(corpus)[-2:]
        assert [3] == [record.line for record in corpus.malformed.first]
        assert "NUL" in corpus.malformed.first[0].reason


@pytest.mark.parametrize("kind", ["jsonl", "txt", "csv", "tsv"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_empty_files_have_no_rows(tmp_path: Path, kind: str, mark: bytes) -> None:
    """No rows and no error, but for CSV, which needs its header; a mark alone is nothing."""
    path = tmp_path / f"a.{kind}"
    path.write_bytes(mark)
    with open_corpus(path) as corpus:
        if kind in ("csv", "tsv"):
            with pytest.raises(InputError, match="the file is empty; its first line must name the columns"):
                texts_of(corpus)
            return
        assert [] == texts_of(corpus)
        assert 0 == corpus.rows
        corpus.write_kept([], out := io.BytesIO())
    assert b"" == out.getvalue()


def test_duplicate_and_missing_columns_of_csv(tmp_path: Path) -> None:
    """A wanted column must stand once; others may stand twice."""
    path = tmp_path / "a.csv"
    path.write_text("text,other,other\na,1,2\n")
    with open_corpus(path) as corpus:
        assert ["a"] == texts_of(corpus)
    with (
        open_corpus(path, extra_columns=["other"]) as corpus,
        pytest.raises(InputError, match="more than one column 'other'"),
    ):
        texts_of(corpus)
    path.write_text("text\n")
    with open_corpus(path) as corpus:
        assert [] == texts_of(corpus)
        corpus.write_kept([], out := io.BytesIO())
    assert b"text\n" == out.getvalue()


def test_a_header_longer_than_a_block_is_read_and_one_longer_than_a_record_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The buffer grows up to the longest record."""
    monkeypatch.setattr(records_module, "BLOCK", 1 << 8)
    monkeypatch.setattr(records_module, "LONGEST", 1 << 12)
    path = tmp_path / "a.csv"
    path.write_text("text," + "x" * 1000 + "\na,1\n")
    with open_corpus(path) as corpus:
        assert ["a"] == texts_of(corpus)
    path.write_text("text," + "x" * 10_000 + "\na,1\n")
    with open_corpus(path) as corpus, pytest.raises(InputError, match="the header is longer than 0 MiB"):
        texts_of(corpus)
