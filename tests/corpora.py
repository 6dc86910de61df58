"""Corpora of every format for tests: writing, compressing and reading them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
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


def encode(kind: str, texts: list[str]) -> bytes:
    """Return a file of this format with the ids id0, id1, ... and the row numbers as scores."""
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
