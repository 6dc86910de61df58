"""nearkin.io.encoding: JSON arrays and other encodings are read as UTF-8 lines."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import check_refused, read_in_pieces
from nearkin.errors import ParameterError
from nearkin.io import open_corpus
from nearkin.io.encoding import (
    PeekableStream,
    StreamError,
    check_encoding,
    decode_stream,
    json_array_lines,
    starts_json_array,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=6), VALUES, max_size=4), max_size=6)


class Dripping(io.RawIOBase):
    """A stream that returns a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._rest, self._size = data, size

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Return a few bytes."""
        view = memoryview(buffer).cast("B")
        piece, self._rest = self._rest[: min(self._size, len(view))], self._rest[min(self._size, len(view)) :]
        view[: len(piece)] = piece
        return len(piece)


@given(records=RECORDS, indent=st.sampled_from([None, 0, 1, 4]), ascii_only=st.booleans(), size=st.integers(1, 40))
def test_an_array_becomes_a_line_per_record(
    records: list[Any], indent: int | None, ascii_only: bool, size: int
) -> None:
    """The result depends neither on the indentation nor on the size of reads."""
    text = json.dumps(records, indent=indent, ensure_ascii=ascii_only).encode()
    assert starts_json_array(text)
    lines = read_in_pieces(json_array_lines(Dripping(b"  \n" + text + b"\r\n ", size))).splitlines()
    assert records == [json.loads(line) for line in lines if line.strip()]


def test_kinds_of_json() -> None:
    """The first bytes decide between an array and lines."""
    heads = (b"[", b"\xef\xbb\xbf\n [1]", b'{"a": 1}\n', b"", b"{")
    assert [True, True, False, False, False] == [starts_json_array(head) for head in heads]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'[{"text": "a"}, {"text": "b"', "ends inside of its JSON array"),
        (b'[{"text": "a"}]\n[{"text": "b"}]', "has bytes after the end of its JSON array"),
        (b'[{"text": "a"}] x', "has bytes after the end of its JSON array"),
        (b'[{"text": "a}]', "ends inside of its JSON array"),
    ],
)
def test_an_array_that_is_not_whole_is_an_error(tmp_path: Path, text: bytes, said: str) -> None:
    """A truncated array, or one followed by other bytes, is an error."""
    path = tmp_path / "a.json"
    path.write_bytes(text)
    check_refused(said, path)


@pytest.mark.parametrize("ending", [".json", ".json.gz", ".jsonl"])
def test_a_pretty_printed_array_loses_nothing(tmp_path: Path, ending: str) -> None:
    """An array is read like lines: rows can be looked up, and kept rows are JSON lines."""
    records = [{"id": f"d{i}", "text": f"line {i}\n, [and] {{more}} \\", "n": [i, {"m": None}]} for i in range(7)]
    text = json.dumps(records, indent=2).encode()
    path = tmp_path / f"a{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    with open_corpus(path, id_column="id") as corpus:
        (batch,) = corpus.batches()
        assert [record["text"] for record in records] == list(batch.texts)
        assert [records[2]["text"], records[5]["text"]] == list(corpus.texts([2, 5]))
        corpus.write_kept([0, 6], out := io.BytesIO())
        assert corpus.kept_name == ("kept.jsonl.gz" if ending.endswith("gz") else "kept.jsonl")
    assert [records[0], records[6]] == [json.loads(line) for line in out.getvalue().splitlines()]


def test_bad_records_of_an_array_are_counted_by_record(tmp_path: Path) -> None:
    """Malformed elements are numbered by record, not by line."""
    path = tmp_path / "a.json"
    path.write_text('[{"text": "a"}, {"text": 7}, 3, {"text": "c"}, {"txt": "b"}]')
    with open_corpus(path, max_malformed=2) as corpus:
        (batch,) = corpus.batches()
        assert (["a", "c", ""], [2]) == (list(batch.texts), batch.texts.nulls.tolist())
        assert [2, 3] == [bad.line for bad in corpus.malformed.first]
        assert str(corpus.malformed.first[0]).startswith(f"{path}, record 2: column")
        assert {"record"} == {bad.unit for bad in corpus.malformed.first}


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "gb18030", "shift-jis", "utf-32"])
@pytest.mark.parametrize("size", [1, 3, 1 << 16])
def test_other_encodings_become_utf8(encoding: str, size: int) -> None:
    """Characters may be split across two reads."""
    text = "für naïve cafés, 1 × 2\r\n" if encoding in ("latin-1", "cp1252") else "日本語と English テキスト\n" * 3
    assert text.encode() == read_in_pieces(
        decode_stream(Dripping(text.encode(encoding), size), check_encoding(encoding))
    )


@pytest.mark.parametrize("size", [1, 5, 64])
def test_bytes_that_an_encoding_has_not_are_an_error(size: int) -> None:
    """Invalid bytes and a truncated last character raise an error."""
    for data in (b"good \x81 bad", "日本".encode("shift-jis")[:-1]):
        with pytest.raises(StreamError, match="is not shift_jis near byte"):
            read_in_pieces(decode_stream(Dripping(data, size), check_encoding("shift-jis")))


def test_names_of_encodings() -> None:
    """UTF-8 is not decoded, and names that are not text encodings are refused."""
    assert ["", "", "", "iso8859-1"] == [check_encoding(name) for name in (None, "UTF8", "ascii", "latin1")]
    for name in ("klingon", "base64", "rot13", ""):
        with pytest.raises(ParameterError, match="encoding="):
            check_encoding(name)


@pytest.mark.parametrize(("kind", "line"), [("jsonl", '{"text": "%s"}\n'), ("txt", "%s\n"), ("csv", "text\n%s\n")])
def test_a_corpus_of_another_encoding(tmp_path: Path, kind: str, line: str) -> None:
    """Looked-up texts are correct, and kept rows are written as UTF-8."""
    path = tmp_path / f"a.{kind}"
    path.write_bytes((line % "café noir").encode("cp1252"))
    with open_corpus(path, encoding="cp1252") as corpus:
        (batch,) = corpus.batches()
        assert ["café noir"] == list(batch.texts) == list(corpus.texts([0]))
        corpus.write_kept([0], out := io.BytesIO())
    assert line % "café noir" == out.getvalue().decode()
    check_refused(r"not UTF-8|none of 1 records", path)


def test_a_file_of_another_encoding_is_left_out(tmp_path: Path) -> None:
    """If files are documents, an undecodable file is a malformed record. Parquet has no encoding option."""
    (tmp_path / "a.txt").write_bytes("naïve".encode("utf-16"))
    (tmp_path / "b.txt").write_bytes(b"\x00")
    with open_corpus(tmp_path, format="files", encoding="utf-16", max_malformed=1) as corpus:
        (batch,) = corpus.batches()
        assert ["naïve"] == list(batch.texts)
        assert "is not utf-16 near byte" in corpus.malformed.first[0].reason
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(ParameterError, match="no encoding for parquet"):
        open_corpus(tmp_path / "a.parquet", encoding="latin-1")


@given(data=st.binary(max_size=200), ahead=st.integers(0, 50), size=st.integers(1, 60))
def test_what_is_looked_at_is_still_read(data: bytes, ahead: int, size: int) -> None:
    """Peeking does not consume bytes, for any sizes of peeks and reads."""
    stream = PeekableStream(Dripping(data, size))
    assert data[:ahead] == stream.peek(ahead)[:ahead]
    assert data == read_in_pieces(stream)
