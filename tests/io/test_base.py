"""Corpora of every format (nearkin.io.base): reading, looking up rows, writing kept rows."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearkin as nk
from corpora import TEXTS, check_refused, encode, pack, read_all, texts_in, unpack
from nearkin.errors import InputError, NearkinError, ParameterError
from nearkin.io import OutputDir, open_corpus
from nearkin.io import base as corpus_module
from nearkin.io import parquet as parquet_module
from nearkin.io import records as records_module
from nearkin.io.base import read_ahead


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "txt", "parquet"])
@pytest.mark.parametrize("piece", [1, 60, 1 << 20])
def test_what_is_written_is_what_was_read(
    tmp_path: Path, kind: str, ending: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts, ids and columns are read, and kept rows have the format, compression, order and schema of the input."""
    monkeypatch.setattr(records_module, "_PIECE", piece)
    columns = {} if kind == "txt" else {"id_column": "id", "extra_columns": ["score"]}
    expected = [text.replace("\n", " ") for text in TEXTS] if kind == "txt" else TEXTS
    path = pack(tmp_path / f"in.{kind}{ending}", encode(kind, TEXTS))
    with open_corpus(path, **columns) as corpus:  # type: ignore[arg-type]
        texts, ids = read_all(corpus)
        assert expected == texts
        assert (list(range(6)) if kind == "txt" else [f"id{i}" for i in range(6)]) == ids
        assert path.stat().st_size == corpus.bytes_read
        assert [expected[1], expected[3], expected[3]] == list(corpus.texts([1, 3, 3]))
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept(np.array([True, False, True, True, False, True]), out)
    kept = tmp_path / "out" / f"kept.{kind}{ending}"
    assert [kept.name] == [path.name for path in (tmp_path / "out").iterdir()]
    with open_corpus(kept, **columns) as again:  # type: ignore[arg-type]
        assert [expected[i] for i in (0, 2, 3, 5)] == read_all(again)[0]
    if kind == "parquet":
        assert pq.read_schema(io.BytesIO(unpack(path))).equals(
            pq.read_schema(io.BytesIO(unpack(kept))), check_metadata=True
        )
        assert "ZSTD" == pq.ParquetFile(io.BytesIO(unpack(kept))).metadata.row_group(0).column(1).compression
    else:
        with open_corpus(path, **columns) as corpus:  # type: ignore[arg-type]
            read_all(corpus)
            corpus.write_kept(range(6), whole := io.BytesIO())
        assert unpack(path) == whole.getvalue()


def test_null_texts_are_rows_without_text(tmp_path: Path) -> None:
    """JSON lines and Parquet read a document without text, mark it as null, and can keep it."""
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "b"}\n{"text": null}\n')
    pq.write_table(pa.table({"text": pa.array([None, "b", None])}), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        with open_corpus(tmp_path / name) as corpus:
            (batch,) = corpus.batches()
            assert (["", "b", ""], [0, 2]) == (list(batch.texts), batch.texts.nulls.tolist())
            assert [None, "b", None] == batch.texts.to_arrow().to_pylist()
            assert [0] == corpus.texts([0, 1]).nulls.tolist()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "txt", "parquet"])
def test_small_blocks_give_the_same_corpus(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch size does not change rows, and a record longer than a block is read completely."""
    texts = [f"document {i} " + "word " * (i * 7 % 90) for i in range(200)] + ["long " * 3000] + ["end"]
    path = pack(tmp_path / f"in.{kind}.gz", encode(kind, texts))
    with open_corpus(path) as corpus:
        expected = read_all(corpus)
    for module in (corpus_module, records_module, parquet_module):
        monkeypatch.setattr(module, "BLOCK", 1 << 10)
    with open_corpus(path) as corpus:
        assert expected == read_all(corpus)
        assert texts == expected[0]
        rows = list(range(0, 202, 3))
        assert [texts[row] for row in rows] == list(corpus.texts(rows))
        assert ([], 0) == (list(corpus.texts([])), len(corpus.texts([])))
        corpus.write_kept(rows, out := io.BytesIO())
    (tmp_path / f"again.{kind}").write_bytes(out.getvalue())
    assert [texts[row] for row in rows] == texts_in(tmp_path / f"again.{kind}")


def test_compressed_or_binary_data_under_another_name_is_told(tmp_path: Path) -> None:
    """If the first bytes of a file contradict its name, the error says what the file contains."""
    for name, data, said in [
        ("a.jsonl", gzip.compress(b"{}"), "compressed with gzip; end its name in .gz"),
        ("b.csv", b"\x28\xb5\x2f\xfdxxxx", "compressed with zstd"),
        ("c.txt", "text".encode("utf-16"), "UTF-16; convert it to UTF-8"),
        ("d.jsonl", encode("parquet", TEXTS), "is Parquet"),
        ("e.parquet", b"PAR1 and then nothing", "Parquet file is damaged"),
    ]:
        (tmp_path / name).write_bytes(data)
        check_refused(said, tmp_path / name)


def test_a_file_that_changes_is_an_error(tmp_path: Path) -> None:
    """Rows are never looked up in, or copied from, another version of the file."""
    for kind in ("jsonl", "parquet", "txt"):
        path = tmp_path / f"a.{kind}"
        path.write_bytes(encode(kind, TEXTS))
        with open_corpus(path) as corpus:
            read_all(corpus)
            path.write_bytes(encode(kind, TEXTS[::-1]))
            os.utime(path, (1, 1))
            with pytest.raises(InputError, match=r"changed while it was being read|changed since"):
                corpus.write_kept([0], io.BytesIO())
            if kind != "parquet":
                with pytest.raises(InputError, match="changed while it was being read"):
                    corpus.texts([0])
        with open_corpus(path) as corpus:
            reading = corpus.batches()
            next(reading)
            os.utime(path, (2, 2))
            with pytest.raises(InputError, match="changed while it was being read"):
                next(reading)


STDIN = """
import sys
from nearkin.errors import NearkinError
from nearkin.io import open_corpus
with open_corpus("-", format=sys.argv[1]) as corpus:
    texts = [text for batch in corpus.batches() for text in batch.texts]
    assert texts[1] == list(corpus.texts([1]))[0]
    try:
        next(corpus.batches())
        raise SystemExit("read twice")
    except NearkinError:
        pass
    corpus.write_kept(range(0, len(texts), 2), sys.stdout.buffer)
"""


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_standard_input_is_spooled(tmp_path: Path, kind: str, ending: str) -> None:
    """A compressed or uncompressed pipe is read like a file, and its rows can be written."""
    data = pack(tmp_path / f"a.{kind}{ending}", encode(kind, TEXTS)).read_bytes()
    done = subprocess.run([sys.executable, "-c", STDIN, kind], input=data, capture_output=True, check=True)
    (tmp_path / f"b.{kind}").write_bytes(done.stdout)
    assert TEXTS[::2] == texts_in(tmp_path / f"b.{kind}")


def test_rows_are_checked(tmp_path: Path) -> None:
    """Rows out of order or range, masks of a wrong length, and writing before reading raise errors."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode("jsonl", TEXTS))
    with open_corpus(path) as corpus:
        with pytest.raises(NearkinError, match="not read to its end"):
            corpus.write_kept([0], io.BytesIO())
        read_all(corpus)
        for rows in ([1, 0], [6], [-1]):
            with pytest.raises(ParameterError, match="rows="):
                corpus.texts(rows)
        for kept in ([6], [-1], np.ones(5, bool)):
            with pytest.raises(ParameterError, match="kept="):
                corpus.write_kept(kept, io.BytesIO())
        assert read_all(corpus) == read_all(corpus)
        assert 6 == corpus.rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.binary(max_size=200), kind=st.sampled_from(["jsonl", "csv", "tsv", "txt", "parquet"]), pipe=st.booleans()
)
def test_any_bytes_give_rows_or_an_input_error(tmp_path: Path, data: bytes, kind: str, pipe: bool) -> None:
    """Any bytes under any name give rows, malformed records or an InputError."""
    path = tmp_path / f"a.{kind}{'.gz' if pipe else ''}"
    path.write_bytes(gzip.compress(b"text\n" + data) if pipe else data)
    with open_corpus(path) as corpus:
        try:
            texts, _ = read_all(corpus)
        except InputError:
            return
        corpus.write_kept(range(len(texts)), out := io.BytesIO())
        assert texts == list(corpus.texts(range(len(texts))))
    if kind == "txt" and not corpus.malformed.count and not data.startswith(b"\xef\xbb\xbf"):
        assert (b"text\n" + data if pipe else data) == out.getvalue()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "txt"])
def test_a_file_per_input(tmp_path: Path, kind: str) -> None:
    """Each file has the rows, compression and row groups of its input."""
    parts = [[f"text {i} of part {part}" for i in range(3 * part)] for part in range(3)]
    paths = []
    for number, texts in enumerate(parts):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / (f"same.{kind}" + (".gz" if number == 1 and kind != "parquet" else ""))
        if kind == "parquet":
            pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), path, row_group_size=2)
        else:
            data = encode(kind, texts)
            path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        paths.append(path)
    with open_corpus(paths) as corpus:
        texts, _ = read_all(corpus)
        mask = np.array([not text.startswith("text 1") for text in texts], bool)
        names = corpus.kept_names("input")
        assert 3 == len(set(names))
        assert ["kept-0", "kept-1", "kept-2"] == [name[:6] for name in names]
        with OutputDir(tmp_path / "out", names=names) as out:
            corpus.write_kept(mask, out, layout="input")
    result = []
    for name, part in zip(names, parts, strict=True):
        if kind == "parquet":
            file = pq.ParquetFile(tmp_path / "out" / name)
            groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            # Kept rows of each group of two.
            assert [
                n
                for n in (sum(row != 1 for row in range(at, min(at + 2, len(part)))) for at in range(0, len(part), 2))
                if n
            ] == groups
        with open_corpus(tmp_path / "out" / name) as kept:
            result.append(read_all(kept)[0])
    assert [[text for text in part if not text.startswith("text 1")] for part in parts] == result
    with open_corpus(paths) as corpus:
        read_all(corpus)
        with pytest.raises(ParameterError, match="single for a stream"):
            corpus.write_kept([], io.BytesIO(), layout="input")


def test_names_of_files_per_input(tmp_path: Path) -> None:
    """Files are named after their inputs, with .jsonl for JSON arrays. Inputs without names are refused."""
    for name in ("a.json.gz", "b.jsonl"):
        data = b'[{"text": "a"}]'
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with open_corpus(tmp_path) as corpus:
        assert ["kept-a.jsonl.gz", "kept-b.jsonl"] == corpus.kept_names("input")
        assert ["kept.jsonl.gz"] == corpus.kept_names()
        with pytest.raises(ParameterError, match="layout='both'"):
            corpus.kept_names("both")  # type: ignore[arg-type]
    for inputs, options in (("-", {}), (tmp_path, {"format": "files"})):
        with open_corpus(inputs, **options) as corpus, pytest.raises(ParameterError, match="single for standard input"):  # type: ignore[arg-type]
            corpus.kept_names("input")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_bytes_are_counted_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """`bytes_read` grows within a file and ends at its size."""
    monkeypatch.setattr(records_module, "BLOCK", 4096)
    monkeypatch.setattr(parquet_module, "BLOCK", 4096)
    path = tmp_path / f"a.{kind}"
    path.write_bytes(encode(kind, [f"text {i} " * 20 for i in range(500)]))
    with open_corpus(path) as corpus:
        counts = [corpus.bytes_read for _ in corpus.batches()]
        assert len(counts) > 2
        assert counts == sorted(counts)
        assert counts[0] < path.stat().st_size
        assert corpus.bytes_read == path.stat().st_size


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("html", [False, True])
def test_settled_batches_come_when_each_column_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, html: bool
) -> None:
    """`wait_for_columns` returns the same batches, but none before every column has had a value."""
    if html:
        pytest.importorskip("selectolax")
    monkeypatch.setattr("nearkin.io.records.BLOCK", 256)
    path = tmp_path / f"a.jsonl{ending}"
    rows = [{"text": f"<b>text {i}</b>", "n": i, **({"m": i} if i == 30 else {})} for i in range(60)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    pack(path, data)
    with open_corpus(path, extra_columns=["n", "m"], html=html) as corpus:
        expected = [(batch.first_row, list(batch.texts), list(batch.columns["m"])) for batch in corpus.batches()]
        assert len(expected) > 5
        read_before: list[int] = []
        result = []
        for batch in corpus.batches(wait_for_columns=True):
            read_before.append(corpus.rows)
            result.append((batch.first_row, list(batch.texts), list(batch.columns["m"])))
        assert expected == result
        assert 30 < read_before[0] < 60
        assert [f"text {i}" if html else rows[i]["text"] for i in range(60)] == list(corpus.texts(range(60)))


def test_settled_batches_of_a_column_of_nulls(tmp_path: Path) -> None:
    """Null is a value, so the batches are returned at the end. A missing column raises an error before any batch."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one", "m": null}\n{"text": "two"}\n')
    with open_corpus(path, extra_columns=["m"]) as corpus:
        assert [["one", "two"]] == [list(batch.texts) for batch in corpus.batches(wait_for_columns=True)]
    nobody = "no record has a column 'k'; the first has 'text', 'm'"
    with open_corpus(path, extra_columns=["k"]) as corpus, pytest.raises(InputError, match=nobody):
        next(corpus.batches(wait_for_columns=True))


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """Numbers of threads that are set for a test."""
    nk.set_num_threads(request.param)
    yield request.param
    nk.set_num_threads(None)


def test_items_are_read_ahead_in_order(threads: int) -> None:
    """By another thread, one item ahead; by the caller's own if no other is allowed."""
    readers: list[int] = []
    seconds: list[float] = []

    def items() -> Iterator[int]:
        for number in range(20):
            readers.append(threading.get_ident())
            yield number

    assert [*range(20)] == [*read_ahead(items(), on_cpu=seconds.append)]
    assert (threads == 1) == (threading.get_ident() in readers)
    assert len({*readers}) == 1
    assert len(seconds) == 21, "one for each item and one for the end"
    assert min(seconds) >= 0
    assert [] == [*read_ahead([])]
    readers.clear()
    assert [*range(20)] == [*read_ahead(items(), threaded=False)]
    assert {threading.get_ident()} == {*readers}


def test_a_reader_that_fails_or_is_left_is_closed(threads: int) -> None:
    """Its error comes after the items before it; a caller that ends early leaves neither a thread nor an open file."""
    closed: list[int] = []

    def items() -> Iterator[int]:
        try:
            yield from range(5)
            raise InputError("a bad record", place="record 5", reason="bad")
        finally:
            closed.append(1)

    found: list[int] = []
    with pytest.raises(InputError, match="a bad record"):
        found.extend(read_ahead(items()))
    assert [*range(5)] == found
    early = read_ahead(items())
    assert 0 == next(early)
    early.close()  # type: ignore[attr-defined]
    assert [1, 1] == closed
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nearkin-read")]
