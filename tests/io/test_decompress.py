"""nearkin.io.decompress: compression, the spool, and reading rows again."""

from __future__ import annotations

import gc
import gzip
import io
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import TEXTS, check_refused, encode, pack, read_in_pieces, texts_in
from nearkin.errors import InputError
from nearkin.io import Corpus, open_corpus
from nearkin.io.decompress import Reader, Sink, compressing, decompressed, read_at
from nearkin.io.inputs import Compression, resolve
from nearkin.io.tempspool import Spool

KINDS: list[Compression] = ["", "gz", "zst", "bz2", "xz", "lz4"]


@given(parts=st.lists(st.binary(max_size=2000), max_size=5), size=st.integers(1, 3000), kind=st.sampled_from(KINDS))
def test_what_is_compressed_is_decompressed(parts: list[bytes], size: int, kind: Compression) -> None:
    """Compression round-trips with writes and reads of any size."""
    out = io.BytesIO()
    with compressing(out, kind) as stream:
        for part in parts:
            stream.write(part)
    assert not out.closed
    packed = out.getvalue()
    if kind == "gz":
        assert b"".join(parts) == gzip.decompress(packed)
    assert b"".join(parts) == read_in_pieces(decompressed(io.BytesIO(packed), kind), size)


def test_gzip_has_the_same_bytes_for_any_threads_and_writes(set_threads: Callable[[int], None]) -> None:
    """Blocks are compressed side by side, no larger than by one thread, into one member that other programs read."""
    rng = np.random.default_rng(1)
    words = [rng.bytes(4).hex() for _ in range(3000)]
    data = " ".join(words[at] for at in rng.integers(0, 3000, 500_000)).encode()
    outputs = []
    for threads, size in [(1, len(data)), (2, 70_001), (3, 3_000_000)]:
        set_threads(threads)
        with compressing(out := io.BytesIO(), "gz") as stream:
            for start in range(0, len(data), size):
                stream.write(data[start : start + size])
        outputs.append(out.getvalue())
    assert len(data) > 4 << 20
    assert len({*outputs}) == 1
    assert data == gzip.decompress(outputs[0])
    assert data == zlib.decompressobj(31).decompress(outputs[0]), "one member"
    assert len(outputs[0]) < 1.001 * len(gzip.compress(data, 6))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nearkin-gzip")]


def test_gzip_members_may_be_padded_with_zeros_and_are_checked() -> None:
    """Zero bytes after a member are skipped. Other bytes, a truncated member and a wrong checksum raise errors."""
    member = gzip.compress(b"one")
    assert b"oneone" == read_in_pieces(decompressed(io.BytesIO(member + b"\0" * 700 + member + b"\0"), "gz"), 100)
    assert 0 == decompressed(io.BytesIO(member), "gz").readinto(bytearray())
    for damaged, error in [
        (member[:-1], EOFError),
        (member[:5], EOFError),
        (member + b"garbage", zlib.error),
        (member[:-8] + bytes(8), zlib.error),
    ]:
        with pytest.raises(error):
            read_in_pieces(decompressed(io.BytesIO(damaged), "gz"), 100)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_failed_block_leaves_a_stream_without_its_end(set_threads: Callable[[int], None], kind: Compression) -> None:
    """After an error the compressed stream is incomplete, even when the compressor is freed."""
    out = io.BytesIO()
    data = np.random.default_rng(0).bytes(8_000_000)
    set_threads(2)

    def interrupted() -> None:
        with compressing(out, kind) as stream:
            stream.write(data)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    gc.collect()
    assert len(out.getvalue()) > 500_000
    with pytest.raises((EOFError, OSError)):
        read_in_pieces(decompressed(io.BytesIO(out.getvalue()), kind), 1 << 16)


def test_the_spool_holds_what_was_written(tmp_path: Path) -> None:
    """The spool grows by each write, has no name, and is empty after `close`."""
    spool = Spool(tmp_path)
    assert 0 == spool.size
    spool.write(b"abc")
    spool.write(np.arange(3, dtype=np.uint8).data)
    assert 6 == spool.size
    spans = np.array([1, 3], np.int64), np.array([2, 3], np.uint32)
    assert b"bc\0\1\2" == read_at(spool.descriptor(), *spans, "it").tobytes()
    spool.write(b"d")
    assert b"d" == read_at(spool.descriptor(), np.array([6]), np.array([1], np.uint32), "it").tobytes()
    with pytest.raises(InputError, match=r"it: .*shorter than it was .*; run again when nothing writes to it"):
        read_at(spool.descriptor(), np.array([5]), np.array([3], np.uint32), "it")
    assert [] == list(tmp_path.iterdir())
    spool.close()
    assert 0 == spool.size
    assert spool.descriptor() >= 0
    spool.close()


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_a_reader_fills_and_spools(tmp_path: Path, ending: str) -> None:
    """Compressed files are appended to the spool; plain files are not spooled."""
    data = bytes(range(256)) * 40
    path = tmp_path / f"a.txt{ending}"
    kinds: dict[str, Compression] = {"": "", ".gz": "gz", ".zst": "zst"}
    with path.open("wb") as file, compressing(file, kinds[ending]) as stream:
        stream.write(data)
    spool = Spool(tmp_path)
    spool.write(b"before")
    _, (source,) = resolve(path, None)
    with Reader(source, spool) as reader:
        buffer = bytearray(3000)
        read = b""
        while count := reader.fill(memoryview(buffer)):
            read += buffer[:count]
        reader.check_unchanged()
    assert data == read
    assert path.stat().st_size == reader.bytes_read
    assert (None if not ending else 6) == reader.spooled_at
    assert (6 if not ending else 6 + len(data)) == spool.size
    spool.close()


def test_a_sink_counts_and_leaves_the_stream_open() -> None:
    """Pyarrow closes the sink but not the file."""
    out = io.BytesIO()
    sink = Sink(out)
    with pa.PythonFile(sink, "w") as file:
        file.write(b"abc")
        assert 3 == sink.tell()
        file.flush()
    assert (True, False, b"abc") == (sink.closed, out.closed, out.getvalue())


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_stream_that_is_cut_off_is_an_error(tmp_path: Path, kind: str, ending: str) -> None:
    """A truncated or damaged compressed file is never read as a shorter corpus."""
    rng = np.random.default_rng(0)
    whole = pack(
        tmp_path / f"a.{kind}{ending}", encode(kind, [str(rng.integers(0, 2**60)) for _ in range(500)])
    ).read_bytes()
    bad = tmp_path / f"b.{kind}{ending}"
    for damaged in (whole[:-1], whole[:-9], whole[: len(whole) // 2], whole[:3], whole + b"garbage!", b"plain text"):
        bad.write_bytes(damaged)
        check_refused(f"b.{kind}{ending}: .*(damaged|cut off)", bad)


def test_a_frame_with_a_window_of_two_gigabytes_is_an_error(tmp_path: Path) -> None:
    """RFC 8878, section 3.1.1: magic number, descriptor, window of 2^31 bytes, an empty last block."""
    (tmp_path / "a.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd\0\xa8\1\0\0")
    check_refused("too much memory", tmp_path / "a.jsonl.zst")


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_members_of_a_stream_are_read_one_after_another(tmp_path: Path, ending: str) -> None:
    """Concatenated gzip members or zstd frames, as written by cat and pigz, are one stream."""
    member = pack(tmp_path / f"a.txt{ending}", b"one\ntw").read_bytes()
    two = pack(tmp_path / f"a.txt{ending}", b"o\nthree\n").read_bytes()
    (tmp_path / f"b.txt{ending}").write_bytes(member + two + pack(tmp_path / f"a.txt{ending}", b"").read_bytes())
    assert ["one", "two", "three"] == texts_in(tmp_path / f"b.txt{ending}")


def test_the_spool_is_gone_at_the_end(tmp_path: Path) -> None:
    """The spool never has a name, and its space is freed when the corpus is closed, even after an error."""
    path = pack(tmp_path / "a.jsonl.gz", encode("jsonl", TEXTS))
    spool = tmp_path / "spool"
    spool.mkdir()
    opened = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(KeyboardInterrupt), open_corpus(path, spool_dir=spool) as corpus:
        interrupt(corpus)
    assert [] == list(spool.iterdir())
    assert opened == len(list(Path("/proc/self/fd").iterdir()))


def interrupt(corpus: Corpus) -> None:
    for _ in corpus.batches():
        raise KeyboardInterrupt
