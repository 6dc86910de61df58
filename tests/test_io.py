"""Reading corpora and writing what is kept."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearkin.errors import InputError
from nearkin.io import Corpus, OutputDir, open_corpus

TEXTS = ["one", "", 'say "two", twice', "中文\tтри", "line\nbreak", "four " * 50]


COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress}


def unpack(path: Path) -> bytes:
    """The decompressed bytes of a file."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        with pa.input_stream(str(path), compression="zstd") as stream:
            return bytes(stream.read())
    return path.read_bytes()


def pack(path: Path, data: bytes) -> Path:
    """Write a file compressed as its name says."""
    if path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(data)
    else:
        path.write_bytes(COMPRESS[path.suffix if path.suffix == ".gz" else ""](data))
    return path


def encode(kind: str, texts: list[str]) -> bytes:
    """A file of this format whose ids are id0, id1, ... and whose scores are the row numbers."""
    if kind == "jsonl":
        rows = [{"id": f"id{i}", "text": text, "score": i} for i, text in enumerate(texts)]
        return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)).encode()
    if kind in ("csv", "tsv"):
        out = io.StringIO()
        writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
        writer.writerow(["id", "text", "score"])
        writer.writerows([f"id{i}", text, i] for i, text in enumerate(texts))
        return out.getvalue().encode()
    if kind == "parquet":
        buffer = io.BytesIO()
        columns = {"id": [f"id{i}" for i in range(len(texts))], "text": texts, "score": list(range(len(texts)))}
        pq.write_table(pa.table(columns), buffer, compression="zstd", row_group_size=2)
        return buffer.getvalue()
    return "".join(text.replace("\n", " ") + "\n" for text in texts).encode()


def read_all(corpus: Corpus) -> tuple[list[str], list[Any]]:
    texts: list[str] = []
    ids: list[Any] = []
    for batch in corpus.batches():
        assert len(texts) == batch.first_row
        texts += list(batch.texts)
        ids += list(batch.ids)
    return texts, ids


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "txt", "parquet"])
def test_what_is_written_is_what_was_read(tmp_path: Path, kind: str, ending: str) -> None:
    """Texts, ids and columns arrive; rows are looked up again; kept rows keep format, compression, order, schema."""
    columns = {} if kind == "txt" else {"id_column": "id", "extra_columns": ["score"]}
    expected = [text.replace("\n", " ") for text in TEXTS] if kind == "txt" else TEXTS
    path = pack(tmp_path / f"in.{kind}{ending}", encode(kind, TEXTS))
    with open_corpus(path, **columns) as corpus:
        texts, ids = read_all(corpus)
        assert expected == texts
        assert (list(range(6)) if kind == "txt" else [f"id{i}" for i in range(6)]) == ids
        assert path.stat().st_size == corpus.bytes_read
        assert [expected[1], expected[3], expected[3]] == list(corpus.texts([1, 3, 3]))
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept(np.array([True, False, True, True, False, True]), out)
    kept = tmp_path / "out" / f"kept.{kind}{ending}"
    assert [kept.name] == [path.name for path in (tmp_path / "out").iterdir()]
    with open_corpus(kept, **columns) as again:
        assert [expected[i] for i in (0, 2, 3, 5)] == read_all(again)[0]
    if kind == "parquet":
        assert pq.read_schema(io.BytesIO(unpack(path))).equals(
            pq.read_schema(io.BytesIO(unpack(kept))), check_metadata=True
        )
        assert "ZSTD" == pq.ParquetFile(io.BytesIO(unpack(kept))).metadata.row_group(0).column(1).compression
    else:
        with open_corpus(path, **columns) as corpus:
            read_all(corpus)
            corpus.write_kept(range(6), whole := io.BytesIO())
        assert unpack(path) == whole.getvalue()


def test_bad_records_are_counted_with_file_and_line(tmp_path: Path) -> None:
    """A record that can't be read has a file, a line and a reason, and no row; strict makes the first an error."""
    lines = [
        b'{"text": "a"}',
        b"",
        b"not json",
        b'{"text": 7}',
        b'{"body": "x"}',
        b'{"text": "b\xff"}',
        b'{"text": "c"}',
    ]
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "first"}\n')
    (tmp_path / "b.jsonl").write_bytes(b"\r\n".join(lines))
    with open_corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]) as corpus:
        assert (["first", "a", "c"], [0, 1, 2]) == read_all(corpus)
        assert 4 == corpus.malformed.count
        assert [3, 4, 5, 6] == [record.line for record in corpus.malformed.first]
        assert {str(tmp_path / "b.jsonl")} == {record.file for record in corpus.malformed.first}
        assert 'no column "text"; this record has body' == corpus.malformed.first[2].reason
        corpus.write_kept([0, 2], out := io.BytesIO())
    assert b'{"text": "first"}\n{"text": "c"}' == out.getvalue()
    with (
        open_corpus(tmp_path / "b.jsonl", strict=True) as corpus,
        pytest.raises(InputError, match=r"b.jsonl, line 3: invalid JSON") as caught,
    ):
        read_all(corpus)
    assert (3, str(tmp_path / "b.jsonl")) == (caught.value.line, caught.value.file)


def test_reading_nothing_but_bad_records_is_an_error(tmp_path: Path) -> None:
    """A mistyped column must not end as an empty output."""
    (tmp_path / "a.jsonl").write_text('{"body": "a"}\n' * 9)
    with (
        open_corpus(tmp_path / "a.jsonl") as corpus,
        pytest.raises(InputError, match=r"none of 9 records can be read; .* line 1: no column .*body"),
    ):
        read_all(corpus)


def test_null_texts_are_rows_without_text(tmp_path: Path) -> None:
    """A document without text is read, flagged and can be kept, in JSON lines and Parquet alike."""
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "b"}\n{"text": null}\n')
    pq.write_table(pa.table({"text": pa.array([None, "b", None])}), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        with open_corpus(tmp_path / name) as corpus:
            (batch,) = corpus.batches()
            assert (["", "b", ""], [0, 2]) == (list(batch.texts), batch.texts.nulls.tolist())
            assert [None, "b", None] == batch.texts.to_arrow().to_pylist()
            assert [0] == corpus.texts([0, 1]).nulls.tolist()
