"""Every kind of saved file, damaged: an error that names the file, or the right result.

Each kind is made, opened and searched in every way. Descriptions that only one kind has are tested with that kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

import nearkin as nk
from nearkin import errors
from nearkin._core import StoreSegment
from nearkin.families import CrossPolytope, Family, Hyperplane, PStable, load

RNG = np.random.default_rng(7)
FPS = RNG.integers(0, 2**63, 60, dtype=np.uint64)
FPS[30:] = FPS[:30] ^ np.uint64(5)
WIDE = RNG.integers(0, 2**63, (40, 2), dtype=np.uint64)
X = RNG.standard_normal((30, 8)).astype(np.float32)
TEXTS = [f"text {i % 9} of words {i % 4} and more {'x' * (i % 5)}" for i in range(30)]
SIGNATURES = nk.signature(TEXTS, "char:4|binary|xxh3|minhash:16")
DIGESTS = [nk.ssdeep.hash(RNG.integers(0, 256, 2000, dtype=np.uint8).tobytes()) for _ in range(6)]


def hamming(ids: bool, tables: bool) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        index = nk.HammingIndex(bits=64, method="tables" if tables else "scan", radius=3)
        index.add([f"name {i}" for i in range(60)] if ids else [3 * (i ^ 1) for i in range(60)], FPS)
        index.remove(["name 7"] if ids else [9])
        index.save(path)

    return save


def ask_hamming(path: Path) -> object:
    index = nk.HammingIndex.open(path)
    hits = index.search(FPS[:8], radius=3)
    near = index.nearest(FPS[:2], k=3)
    pairs = index.pairs(radius=3)
    results = [
        hits.offsets.tolist(),
        hits.ids.tolist(),
        hits.distances.tolist(),
        near.ids.tolist(),
        pairs.left.tolist(),
    ]
    return [*results, pairs.right.tolist(), [list(c) for c in index.clusters(3)], len(index), hits.ids[0] in index]


def save_wide(path: Path) -> None:
    index = nk.HammingIndex(bits=128, radius=10)
    index.add(None, WIDE)
    index.save(path)


def ask_wide(path: Path) -> object:
    index = nk.HammingIndex.open(path)
    hits = index.search(WIDE[:5], radius=10)
    return hits.ids.tolist(), index.pairs(10).left.tolist(), len(index)


def save_bands(path: Path) -> None:
    index = nk.BandIndex(num_perm=16, num_bands=8, num_rows=2)
    index.add([f"t{i}" for i in range(30)], SIGNATURES)
    index.save(path)


def ask_bands(path: Path) -> object:
    index = nk.BandIndex.open(path)
    hits = index.search(SIGNATURES[:5])
    pairs = index.pairs()
    return hits.ids.tolist(), hits.distances.tolist(), pairs.left.tolist(), pairs.right.tolist(), len(index)


def save_digests(path: Path) -> None:
    index = nk.DigestIndex()
    index.add([f"file {i}" for i in range(6)], DIGESTS)
    index.save(path)


def ask_digests(path: Path) -> object:
    index = nk.DigestIndex.open(path)
    hits = index.search(DIGESTS[:3], threshold=50)
    return hits.ids.tolist(), hits.scores.tolist(), len(index)


FAMILIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "bits": (Hyperplane(bits=32, seed=1), {}),
    "tables": (CrossPolytope(hashes=2, seed=1), {}),
    "codes": (Hyperplane(bits=32, seed=1), {"filter": "codes"}),
    "estimates": (Hyperplane(None, orthogonal="hadamard", seed=1), {"rank": "estimate"}),
    "partitions": (
        Hyperplane(None, orthogonal="hadamard", seed=1),
        {"rank": "estimate", "filter": "partitions", "num_partitions": 3},
    ),
}


def save_vectors(kind: str) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        family, options = FAMILIES[kind]
        nk.LSHIndex(family, metric="l2", **options).fit(X, ids=[f"v{i}" for i in range(30)]).save(path)

    return save


def ask_vectors(path: Path) -> object:
    index = nk.LSHIndex.open(path)
    hits = index.nearest(X[:4], k=3)
    return hits.ids.tolist(), hits.distances.tolist(), len(index)


def save_family(family: Family) -> Callable[[Path], None]:
    return lambda path: family.fit(X).save(path)


def ask_family(path: Path) -> object:
    return load(path).transform(X[:3]).tolist()


def save_idf(path: Path) -> None:
    nk.Idf.fit(TEXTS, "word:1").save(path)


def ask_idf(path: Path) -> object:
    table = nk.Idf.load(path)
    return len(table), table.documents, table.digest


EVERY = np.arange(300, dtype=np.int64)
PAGES: list[str | None] = [f"a page about wine {i} " * 20 for i in range(300)]


def save_documents(path: Path) -> None:
    contents = RNG.integers(0, 2**63, 600, dtype=np.uint64)
    StoreSegment.write(str(path), EVERY, EVERY, contents, np.zeros(0, np.uint8), 0, None, PAGES, b"", 3)


def ask_documents(path: Path) -> object:
    segment = StoreSegment.open(str(path))
    return segment.texts(EVERY), segment.find_ids(EVERY)[1].tolist(), segment.rows(0, 300).tolist(), segment.note()


def verify_documents(path: Path) -> None:
    StoreSegment.open(str(path)).verify()


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "hamming, integers, tables": (hamming(ids=False, tables=True), ask_hamming),
    "hamming, strings, scan": (hamming(ids=True, tables=False), ask_hamming),
    "hamming, 128 bits": (save_wide, ask_wide),
    "bands": (save_bands, ask_bands),
    "digests": (save_digests, ask_digests),
    **{f"vectors, {kind}": (save_vectors(kind), ask_vectors) for kind in FAMILIES},
    "family of bits": (save_family(Hyperplane(bits=16, seed=3)), ask_family),
    "family of keys": (save_family(PStable(hashes=3, width=2.0, seed=5)), ask_family),
    "IDF": (save_idf, ask_idf),
    "documents": (save_documents, ask_documents),
}

VERIFY: dict[str, Callable[[Path], None]] = {
    "hamming": lambda path: nk.HammingIndex.open(path).verify(),
    "bands": lambda path: nk.BandIndex.open(path).verify(),
    "digests": lambda path: nk.DigestIndex.open(path).verify(),
    "vectors": lambda path: nk.LSHIndex.open(path).verify(),
    "documents": verify_documents,
}
"""Verification of each kind that has one, by the first word of the kind's name."""


def replaced(path: Path, content: bytes) -> Path:
    """Write a file anew: an index that is still open keeps the file that it mapped."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return path


def sweep(kind: str, folder: Path, step: int, bits: tuple[int, ...]) -> tuple[int, int]:
    """Flip bits of every `step`-th byte; return how many flips raised an error and how many changed nothing."""
    save, ask = KINDS[kind]
    path = folder / "file.nks"
    save(path)
    right, whole = ask(path), path.read_bytes()
    refused = unread = unnamed = 0
    for at in range(0, len(whole), step or max(1, len(whole) // 400)):
        for bit in bits:
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            try:
                result = ask(replaced(path, damaged))
            except errors.CorruptStoreError as error:
                unnamed += str(path) not in str(error)
                refused += 1
            except (errors.NearkinError, OSError):
                refused += 1
            else:
                assert right == result, f"byte {at}, bit {bit}"
                unread += 1
    assert 0 == unnamed, "errors that name no file"
    return refused, unread


@pytest.mark.parametrize("kind", KINDS)
def test_one_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Flips one bit of each byte of a sample."""
    refused, unread = sweep(kind, tmp_path, 0, (3,))
    assert refused > unread


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Flips every bit of the file."""
    refused, unread = sweep(kind, tmp_path, 1, tuple(range(8)))
    assert refused > unread


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_an_error(tmp_path: Path, kind: str) -> None:
    """A file truncated to any of the sampled lengths, including 0, is not opened as a smaller index."""
    save, ask = KINDS[kind]
    path = tmp_path / "file.nks"
    save(path)
    whole = path.read_bytes()
    for length in (*range(0, len(whole) - 1, max(1, len(whole) // 60)), 1, 63, 64, len(whole) - 1):
        with pytest.raises((errors.NearkinError, OSError)):
            ask(replaced(path, whole[:length]))


@pytest.mark.parametrize("kind", KINDS)
def test_overwritten_runs_of_bytes_are_errors_or_change_nothing(tmp_path: Path, kind: str) -> None:
    """Up to three runs of eight arbitrary bytes at a time, a file of other content, and a longer file."""
    save, ask = KINDS[kind]
    path = tmp_path / "file.nks"
    save(path)
    right, whole = ask(path), path.read_bytes()
    rng = np.random.default_rng(10)
    for _ in range(60):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole) - 8, int(rng.integers(1, 4))).tolist():
            damaged[at : at + 8] = rng.bytes(8)
        with suppress(errors.NearkinError, OSError):
            assert right == ask(replaced(path, damaged))
    with suppress(errors.NearkinError, OSError):
        assert right == ask(replaced(path, whole + b"more"))
    for foreign in (b"no segment at all", b"NKSEGMNT", rng.bytes(5000)):
        with pytest.raises(errors.NearkinError):
            ask(replaced(path, foreign))
    with pytest.raises(OSError, match=r"none\.nks"):
        ask(tmp_path / "none.nks")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if re.split(r"\W", kind)[0] in VERIFY])
def test_verify_detects_every_flipped_byte_that_is_not_padding(tmp_path: Path, kind: str) -> None:
    """Also those that no search reads; only the zeros between sections are never read."""
    verify, path = VERIFY[re.split(r"\W", kind)[0]], tmp_path / "file.nks"
    KINDS[kind][0](path)
    verify(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[at] ^= 255
        if whole[at]:
            with pytest.raises(errors.NearkinError):
                verify(replaced(path, damaged))


def test_a_file_that_says_it_has_more_rows_than_it_holds_is_refused(tmp_path: Path) -> None:
    """A few kilobytes with valid checksums that claim four billion rows give an error instead of an array of 17 GB."""
    path = tmp_path / "file.nks"
    index = nk.HammingIndex(bits=64)
    index.add(None, FPS)
    index.save(path)
    data = bytearray(path.read_bytes())
    sections = int.from_bytes(data[16:20], "little")
    for at in range(64, 64 + 40 * sections, 40):
        offset, length = (int.from_bytes(data[at + i : at + i + 8], "little") for i in (8, 16))
        if int.from_bytes(data[at : at + 4], "little") == 1:
            # The fifth number of the description is the number of rows ever added.
            assert len(FPS) == int.from_bytes(data[offset + 32 : offset + 40], "little")
            data[offset + 32 : offset + 40] = (2**32 - 2).to_bytes(8, "little")
            data[at + 24 : at + 32] = xxhash.xxh3_64_intdigest(data[offset : offset + length]).to_bytes(8, "little")
    data[56:64] = bytes(8)
    data[56:64] = xxhash.xxh3_64_intdigest(data[: 64 + 40 * sections]).to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(errors.CorruptStoreError, match="rows"):
        nk.HammingIndex.open(path)
