"""Corpora of every format for tests: writing, compressing and reading them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearkin.errors import InputError
from nearkin.io import Corpus, open_corpus

TEXTS = ["one", "", 'say "two", twice', "中文\tтри", "line\nbreak", "four " * 50]


COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress}


def unpack(path: Path) -> bytes:
    """Return the decompressed bytes of a file."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        with pa.input_stream(str(path), compression="zstd") as stream:
            return bytes(stream.read())
    return path.read_bytes()


def pack(path: Path, data: bytes) -> Path:
    """Write a file with the compression of its suffix."""
    if path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(data)
    else:
        path.write_bytes(COMPRESS[path.suffix if path.suffix == ".gz" else ""](data))
    return path


def encode_rows(kind: str, rows: Iterable[dict[str, Any]]) -> bytes:
    """Return a file of this format; one of lines has the texts alone."""
    rows = list(rows)
    if kind == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)).encode()
    if kind in ("csv", "tsv"):
        out = io.StringIO()
        writer = csv.DictWriter(
            out,
            rows[0] if rows else ("id", "text", "score"),
            delimiter="\t" if kind == "tsv" else ",",
            lineterminator="\n",
        )
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue().encode()
    if kind == "parquet":
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), buffer, compression="zstd", row_group_size=2)
        return buffer.getvalue()
    return "".join(row["text"].replace("\n", " ") + "\n" for row in rows).encode()


def encode(kind: str, texts: list[str]) -> bytes:
    """Return a file of this format with the ids id0, id1, ... and the row numbers as scores."""
    return encode_rows(kind, ({"id": f"id{i}", "text": text, "score": i} for i, text in enumerate(texts)))


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write rows in the format and with the compression of the file's name."""
    return pack(path, encode_rows(path.name.split(".")[1], rows))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of any format; cells of CSV are strings."""
    kind = path.name.split(".")[1]
    if kind == "parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    text = unpack(path).decode()
    return (
        [json.loads(line) for line in text.splitlines()]
        if kind == "jsonl"
        else [*csv.DictReader(io.StringIO(text), delimiter="\t" if kind == "tsv" else ",")]
    )


def flip(path: Path, at: int | None = None, bits: int = 1) -> None:
    """Flip bits of one byte of a file, by default of the byte in its middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if at is None else at] ^= bits
    path.write_bytes(content)


def read_in_pieces(stream: Any, size: int = 7) -> bytes:
    """Read a stream to its end in reads of this size."""
    parts, buffer = [], bytearray(size)
    while count := stream.readinto(buffer):
        parts.append(bytes(buffer[:count]))
    return b"".join(parts)


def check_refused(message: str, inputs: Any, **options: Any) -> None:
    """Assert that reading these inputs ends in an error with this message."""
    with open_corpus(inputs, **options) as corpus, pytest.raises(InputError, match=message):
        read_all(corpus)


def texts_in(inputs: Any, **options: Any) -> list[str]:
    with open_corpus(inputs, **options) as corpus:
        return read_all(corpus)[0]


def read_all(corpus: Corpus) -> tuple[list[str], list[Any]]:
    texts: list[str] = []
    ids: list[Any] = []
    for batch in corpus.batches():
        assert len(texts) == batch.first_row
        texts += list(batch.texts)
        ids += list(batch.ids)
    return texts, ids
