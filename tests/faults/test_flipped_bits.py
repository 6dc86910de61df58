"""Files with one flipped bit, opened without verification and searched in every way: an error, or the right result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xxhash

import nearkin as nk
from nearkin import errors
from nearkin.families import CrossPolytope, Hyperplane, load

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


def save_vectors(kind: str) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        family = Hyperplane(bits=32, seed=1) if kind == "codes" else CrossPolytope(hashes=2, seed=1)
        nk.LSHIndex(family, metric="l2").fit(X, ids=[f"v{i}" for i in range(30)]).save(path)

    return save


def ask_vectors(path: Path) -> object:
    index = nk.LSHIndex.open(path)
    hits = index.nearest(X[:4], k=3)
    return hits.ids.tolist(), hits.distances.tolist(), len(index)


def save_family(path: Path) -> None:
    Hyperplane(bits=16, seed=3).fit(X).save(path)


def ask_family(path: Path) -> object:
    return load(path).transform(X[:3]).tolist()


def save_idf(path: Path) -> None:
    nk.Idf.fit(TEXTS, "word:1").save(path)


def ask_idf(path: Path) -> object:
    table = nk.Idf.load(path)
    return len(table), table.documents, table.digest


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "hamming, integers, tables": (hamming(ids=False, tables=True), ask_hamming),
    "hamming, strings, scan": (hamming(ids=True, tables=False), ask_hamming),
    "hamming, 128 bits": (save_wide, ask_wide),
    "bands": (save_bands, ask_bands),
    "digests": (save_digests, ask_digests),
    "vectors, codes": (save_vectors("codes"), ask_vectors),
    "vectors, tables": (save_vectors("tables"), ask_vectors),
    "family": (save_family, ask_family),
    "IDF": (save_idf, ask_idf),
}


def sweep(kind: str, folder: Path, step: int, bits: tuple[int, ...]) -> tuple[int, int]:
    """Flip bits of every `step`-th byte; return how many flips raised an error and how many changed only padding."""
    save, ask = KINDS[kind]
    path = folder / "file.nks"
    save(path)
    right, whole = ask(path), path.read_bytes()
    refused = unread = 0
    for at in range(0, len(whole), step):
        for bit in bits:
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            path.unlink()
            path.write_bytes(damaged)
            try:
                result = ask(path)
            except (errors.NearkinError, OSError):
                refused += 1
            else:
                assert right == result, f"byte {at}, bit {bit}"
                unread += 1
    return refused, unread


@pytest.mark.parametrize("kind", KINDS)
def test_one_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Flips one bit of each byte of a sample."""
    size = (KINDS[kind][0](tmp_path / "size"), (tmp_path / "size").stat().st_size)[1]
    refused, unread = sweep(kind, tmp_path, max(1, size // 400), (3,))
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
    for length in range(0, len(whole) - 1, max(1, len(whole) // 60)):
        path.unlink()
        path.write_bytes(whole[:length])
        with pytest.raises((errors.NearkinError, OSError)):
            ask(path)


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
