"""nearkin.io.records: JSON lines, CSV, TSV and plain lines, compared with Python's own modules."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora import check_refused, encode, pack, read_all, texts_in
from nearkin.errors import InputError, ParameterError
from nearkin.io import Corpus, open_corpus
from nearkin.io import base as base_module
from nearkin.io import records as records_module

# Parts of CSV fields. NUL bytes have a test of their own.
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
    """Quotes, delimiters and line ends in fields, both line ends, and a last record without one."""
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
    """Ascending rows, including repeated ones, equal those of a plain list."""
    for module in (base_module, records_module):
        monkeypatch.setattr(module, "BLOCK", 1 << 9)
    expected = [f"text {i} " + "x" * (i * 37 % 300) for i in range(90)]
    for part in range(3):
        subset = expected[part * 30 : part * 30 + 30]
        lines = [json.dumps({"text": text}) if kind == "jsonl" else text for text in subset]
        (tmp_path / f"{part}.{kind}").write_text("\n".join((["text"] if kind == "csv" else []) + lines))
    rng = np.random.default_rng(0)
    with open_corpus([tmp_path / f"{part}.{kind}" for part in range(3)]) as corpus:
        assert expected == texts_of(corpus)
        for _ in range(30):
            rows = np.sort(rng.integers(0, 90, rng.integers(0, 40)))
            assert [expected[row] for row in rows] == list(corpus.texts(rows))


def test_json_of_every_shape(tmp_path: Path) -> None:
    """Nested values, huge integers, escapes and any key order are read; errors have a reason."""
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
    with open_corpus(path, id_column="id", max_malformed=1.0) as corpus:
        (batch,) = corpus.batches()
        assert [json.loads(line)["text"] for line in good] == list(batch.texts)
        assert [json.loads(line)["id"] for line in good] == list(batch.ids)
        for (line, said), record in zip(bad.items(), corpus.malformed.first, strict=True):
            assert said in record.reason, line
        assert list(range(6, 13)) == [record.line for record in corpus.malformed.first]


@pytest.mark.parametrize("kind", ["txt", "csv"])
def test_nul_bytes_are_bad_records(tmp_path: Path, kind: str) -> None:
    """In plain lines and CSV, a NUL byte makes the record malformed."""
    (tmp_path / f"a.{kind}").write_bytes(b"text\na\nb\0c\nd\n")
    with open_corpus(tmp_path / f"a.{kind}", max_malformed=1.0) as corpus:
        assert ["a", "d"] == texts_of(corpus)[-2:]
        assert [3] == [record.line for record in corpus.malformed.first]
        assert "NUL" in corpus.malformed.first[0].reason


@pytest.mark.parametrize("kind", ["jsonl", "txt", "csv", "tsv"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_empty_files_have_no_rows(tmp_path: Path, kind: str, mark: bytes) -> None:
    """An empty file has no rows, with or without a byte order mark. CSV requires a header."""
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
    """A requested column must occur once; other columns may be repeated."""
    path = tmp_path / "a.csv"
    path.write_text("text,other,other\na,1,2\n")
    assert ["a"] == texts_in(path)
    check_refused("more than one column 'other'", path, extra_columns=["other"])
    path.write_text("text\n")
    with open_corpus(path) as corpus:
        assert [] == texts_of(corpus)
        corpus.write_kept([], out := io.BytesIO())
    assert b"text\n" == out.getvalue()


def test_a_header_longer_than_a_block_is_read_and_one_longer_than_a_record_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The buffer grows up to the maximum record length."""
    monkeypatch.setattr(records_module, "BLOCK", 1 << 8)
    monkeypatch.setattr(records_module, "MAX_RECORD", 1 << 12)
    path = tmp_path / "a.csv"
    path.write_text("text," + "x" * 1000 + "\na,1\n")
    assert ["a"] == texts_in(path)
    path.write_text("text," + "x" * 10_000 + "\na,1\n")
    check_refused("the header is longer than 0 MiB", path)


def test_bad_records_are_counted_with_file_and_line(tmp_path: Path) -> None:
    """A malformed record has a file, a line and a reason, but no row; strict raises the first one."""
    lines = [
        b'{"text": "a"}',
        b"",
        b"not json",
        b'{"text": 7}',
        b'{"body": "x", "text": []}',
        b'{"text": "b\xff"}',
        b'{"text": "c"}',
    ]
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "first"}\n')
    (tmp_path / "b.jsonl").write_bytes(b"\r\n".join(lines))
    with open_corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], max_malformed=1.0) as corpus:
        assert (["first", "a", "c"], [0, 1, 2]) == read_all(corpus)
        assert 4 == corpus.malformed.count
        assert [3, 4, 5, 6] == [record.line for record in corpus.malformed.first]
        assert {str(tmp_path / "b.jsonl")} == {record.file for record in corpus.malformed.first}
        assert 'column "text" holds an array; a text is a string or null' == corpus.malformed.first[2].reason
        corpus.write_kept([0, 2], out := io.BytesIO())
    assert b'{"text": "first"}\n{"text": "c"}' == out.getvalue()
    with (
        open_corpus(tmp_path / "b.jsonl", strict=True) as corpus,
        pytest.raises(InputError, match=r"b.jsonl, line 3: invalid JSON") as caught,
    ):
        read_all(corpus)
    assert (3, str(tmp_path / "b.jsonl")) == (caught.value.line, caught.value.file)


def test_a_json_record_without_the_column_is_a_document_without_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first block on in which a record has the column; look-ups and a second reading agree."""
    monkeypatch.setattr(records_module, "BLOCK", 1 << 6)
    missing = [b'{"body": "x", "n": %d}' % number for number in range(6)]
    lines = [*missing[:3], b'{"n": 1}', b'{"text": "a"}', *missing[3:], b'{"text": null}', b'{"text": "b"}']
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    with open_corpus(tmp_path / "a.jsonl", max_malformed=1.0) as corpus:
        for _ in range(2):
            batches = list(corpus.batches())
            assert ["", "", "a", "", "", "", "", "b"] == [text for batch in batches for text in batch.texts]
            assert 6 == sum(len(batch.texts.nulls) for batch in batches)
            assert ["", "a", "b"] == list(corpus.texts([0, 2, 7]))
            assert [1, 2] == [bad.line for bad in corpus.malformed.first]
        corpus.write_kept([1, 3], out := io.BytesIO())
    assert b'{"n": 1}\n' + missing[3] + b"\n" == out.getvalue()


def test_a_json_column_that_no_record_has_is_an_error(tmp_path: Path) -> None:
    """A misspelt column makes no document, whatever the other inputs are."""
    (tmp_path / "a.jsonl").write_text('{"body": "x"}\n' * 3)
    message = r'none of 3 records can be read; .* line 1: no column "text"; this record has body'
    for share in (0.1, 1.0):
        check_refused(message, tmp_path / "a.jsonl", max_malformed=share)


@pytest.mark.parametrize("kind", ["jsonl", "txt", "csv"])
def test_a_record_that_is_too_long_is_passed_over(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless line, as in a decompression bomb, is one malformed record and needs bounded memory."""
    monkeypatch.setattr(records_module, "BLOCK", 1 << 10)
    monkeypatch.setattr(records_module, "MAX_RECORD", 1 << 12)
    path = pack(tmp_path / f"in.{kind}.gz", encode(kind, ["a", "b " * 40_000, "c", "d " * 1000]))
    with open_corpus(path, max_malformed=1.0) as corpus:
        texts, _ = read_all(corpus)
        assert ["a", "c", "d " * 1000] == texts
        (bad,) = corpus.malformed.first
        assert (2 + (kind == "csv"), "the record is longer than 0 MiB") == (bad.line, bad.reason)
        corpus.write_kept([1, 2], out := io.BytesIO())
        assert "c" == corpus.texts([1])[0]
    assert encode(kind, ["a", "b", "c", "d " * 1000]).splitlines()[-2:] == out.getvalue().splitlines()[-2:]


def test_an_open_quote_spoils_one_line_not_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote that is never closed is one malformed record, at the end of the file or at the maximum length."""
    lines = ['text,id\n"never closed,0\n'] + [f"document {i},{i}\n" for i in range(1000)]
    (tmp_path / "a.csv").write_text("".join(lines))
    for longest in (1 << 28, 1 << 12):
        monkeypatch.setattr(records_module, "BLOCK", 1 << 10)
        monkeypatch.setattr(records_module, "MAX_RECORD", longest)
        with open_corpus(tmp_path / "a.csv", id_column="id") as corpus:
            texts, ids = read_all(corpus)
            assert [f"document {i}" for i in range(1000)] == texts
            assert [str(i) for i in range(1000)] == ids
            assert (1, 2) == (corpus.malformed.count, corpus.malformed.first[0].line)


def test_marks_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    """A byte order mark is skipped, CRLF ends a line, and a missing line end is added before another row."""
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n\r\n{"text": "b"}')
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "c"}')
    with open_corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]) as corpus:
        assert ["a", "b", "c"] == read_all(corpus)[0]
        corpus.write_kept([0, 1, 2], out := io.BytesIO())
    assert b'{"text": "a"}\r\n{"text": "b"}\n{"text": "c"}' == out.getvalue()
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbftext,n\r\na,1\r\n\r\nb,2")
    (tmp_path / "b.csv").write_bytes(b"text,n\nc,3\n")
    with open_corpus(tmp_path / "*.csv", extra_columns=["n"]) as corpus:
        assert ["a", "b", "c"] == read_all(corpus)[0]
        corpus.write_kept([0, 1, 2], out := io.BytesIO())
    assert b"text,n\r\na,1\r\nb,2\nc,3\n" == out.getvalue()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


json_rows = st.lists(
    st.fixed_dictionaries(
        {"text": st.text(max_size=30) | st.none(), "id": st.integers() | st.text(max_size=5)},
        optional={
            "score": st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
        },
    ).flatmap(lambda row: st.dictionaries(st.text(max_size=4), json_values, max_size=2).map(lambda more: more | row)),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=json_rows, ascii_only=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_json_lines_are_what_json_says(tmp_path: Path, rows: list[dict[str, Any]], ascii_only: bool, seed: int) -> None:
    """Texts, ids and scores equal those of the json module, and kept rows are the same bytes."""
    if rows:
        # A column that no record has would be an error.
        rows[0].setdefault("score", None)
    lines = [json.dumps(row, ensure_ascii=ascii_only).encode() + b"\n" for row in rows]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(lines))
    mask = np.random.default_rng(seed).random(len(rows)) < 0.5
    with open_corpus(path, id_column="id", extra_columns=["score"], max_malformed=1.0) as corpus:
        texts, ids = read_all(corpus)
        assert [row["text"] or "" for row in rows] == texts
        assert [row["id"] for row in rows] == ids
        scores = [score for batch in corpus.batches() for score in batch.columns["score"]]
        assert [row.get("score") for row in rows] == scores
        assert [type(row.get("score")) for row in rows] == list(map(type, scores))
        corpus.write_kept(mask, out := io.BytesIO())
        assert [texts[row] for row in np.flatnonzero(mask)] == list(corpus.texts(np.flatnonzero(mask)))
    assert b"".join(line for line, kept in zip(lines, mask, strict=True) if kept) == out.getvalue()


def test_a_column_that_no_record_has_is_an_error(tmp_path: Path) -> None:
    """Null in every record is a value. The message lists the existing columns."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "score": null, "meta": {"url": null}}\n{"text": "b"}\n')
    with open_corpus(path, extra_columns=["score", "meta.url"]) as corpus:
        (batch,) = corpus.batches()
        assert [None, None] == list(batch.columns["score"]) == list(batch.columns["meta.url"])
    for name in ("scor", "meta.uri", "text.length"):
        check_refused(
            f"no record has a column '{name}'; the first has 'text', 'score', 'meta'", path, extra_columns=[name]
        )


def test_nested_columns(tmp_path: Path) -> None:
    """Text, id and extra columns may be fields of objects."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"doc": {"body": "one"}, "meta": {"url": "x", "n": 1}}\n{"doc": {"body": "two"}, "meta": {"url": "y"}}\n'
    )
    with open_corpus(path, text_column="doc.body", id_column="meta.url", extra_columns=["meta.n"]) as corpus:
        (batch,) = corpus.batches()
        assert (["one", "two"], ["x", "y"]) == (list(batch.texts), list(batch.ids))
        assert [1, None] == list(batch.columns["meta.n"])
        assert ["two"] == list(corpus.texts([1]))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_told_by_the_header(tmp_path: Path, delimiter: str) -> None:
    """The delimiter is detected from the header or passed; with a wrong one a column is missing."""
    path = tmp_path / "a.csv"
    path.write_text(f'id{delimiter}text\nx{delimiter}"one, two"\n')
    for named in (None, delimiter):
        with open_corpus(path, id_column="id", delimiter=named) as corpus:
            assert (["one, two"], ["x"]) == read_all(corpus)
    check_refused("no column 'text'", path, id_column="id", delimiter="#")
    for bad in ("", "::", '"', "é", "\n"):
        with pytest.raises(ParameterError, match="delimiter="):
            open_corpus(path, delimiter=bad)
    with pytest.raises(ParameterError, match="with csv alone"):
        open_corpus(tmp_path, format="files", delimiter=";")


def test_too_many_bad_records_are_an_error(tmp_path: Path) -> None:
    """A share is checked at the end, a number at once, and all malformed records are written."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{\n' * 30)
    for limit, said in (
        (0.1, "30 of 60 records can't be read, more than 10%"),
        (29, "more than 29 records"),
        (0, "more than 0"),
    ):
        check_refused(said, path, max_malformed=limit)
    for limit in (0.5, 30, 1.0):
        with open_corpus(path, max_malformed=limit) as corpus:
            assert 30 == len(read_all(corpus)[0])
            corpus.malformed.write(out := io.BytesIO())
        lines = [json.loads(line) for line in out.getvalue().splitlines()]
        assert [2 * i + 2 for i in range(30)] == [line["line"] for line in lines]
        assert {str(path)} == {line["file"] for line in lines}
    bad: Any
    for bad in (-1, 1.5, "10%", True):
        with pytest.raises(ParameterError, match="max_malformed="):
            open_corpus(path, max_malformed=bad)
    path.write_text("{\n{\n")
    check_refused("none of 2 records can be read", path, max_malformed=1.0)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_quoted_names_in_a_header(tmp_path: Path, delimiter: str) -> None:
    """Quoted names work with every delimiter, and the error lists them."""
    path = tmp_path / "a.csv"
    path.write_text(f'"text"{delimiter}"the id"\n"one{delimiter}two"{delimiter}7\n')
    with open_corpus(path, id_column="the id") as corpus:
        assert ([f"one{delimiter}two"], ["7"]) == read_all(corpus)
    with open_corpus(path, id_column="id") as corpus, pytest.raises(InputError) as caught:
        read_all(corpus)
    assert str(caught.value).endswith("no column 'id'; the header has text, the id")


def test_a_header_that_no_delimiter_reads(tmp_path: Path) -> None:
    """The error is that of the comma."""
    path = tmp_path / "a.csv"
    path.write_text('"te"xt,id\none,7\n')
    check_refused("the header: text after a closing quote", path)


def test_a_header_of_another_encoding_names_the_argument(tmp_path: Path) -> None:
    """The message suggests the argument `encoding`."""
    path = tmp_path / "a.csv"
    path.write_bytes("id,t\xe9xt\n1,one\n".encode("latin-1"))
    with open_corpus(path, text_column="t\xe9xt") as corpus, pytest.raises(InputError) as caught:
        list(corpus.batches())
    assert "the header: not UTF-8: byte 0xe9 in field 2; convert the file to UTF-8, or give" in str(caught.value)
    assert "encoding='latin-1'" in str(caught.value)
    with open_corpus(path, text_column="t\xe9xt", encoding="latin-1") as corpus:
        assert ["one"] == [text for batch in corpus.batches() for text in batch.texts]
