"""Every kind of file that nearkin saves: how one of some size is written, everything that it answers, and its check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nearkin as nk
from nearkin._core import StoreSegment
from nearkin.families import CrossPolytope, Family, Hyperplane, PStable, load

RNG = np.random.default_rng(7)
FPS = RNG.integers(0, 2**63, 600, dtype=np.uint64)
FPS[1::2] = FPS[::2] ^ np.uint64(5)
WIDE = RNG.integers(0, 2**63, (600, 2), dtype=np.uint64)
X = RNG.standard_normal((300, 8)).astype(np.float32)
TEXTS = [f"text {i % 9} of words {i % 40} and more {'x' * (i % 5)}" for i in range(300)]
SIGNATURES = nk.signature(TEXTS, "char:4|binary|xxh3|minhash:16")
DIGESTS = [nk.ssdeep.hash(RNG.integers(0, 256, 2000, dtype=np.uint8).tobytes()) for _ in range(60)]
CONTENTS = RNG.integers(0, 2**63, 1200, dtype=np.uint64)


@dataclass(frozen=True)
class Kind:
    """A kind of file: it is written with any number of items, asked everything, and verified if it can be."""

    save: Callable[[Path, int], None]
    ask: Callable[[Path], object]
    verify: Callable[[Path], None] | None = None
    small: int = 30
    large: int = 300

    def save_small(self, path: Path) -> None:
        """Write the smaller of two files."""
        self.save(path, self.small)

    def save_large(self, path: Path) -> None:
        """Write the larger of two files."""
        self.save(path, self.large)


def hamming(ids: bool, tables: bool) -> Callable[[Path, int], None]:
    def save(path: Path, rows: int) -> None:
        index = nk.HammingIndex(bits=64, method="tables" if tables else "scan", radius=3)
        index.add([f"name {i}" for i in range(rows)] if ids else [3 * (i ^ 1) for i in range(rows)], FPS[:rows])
        index.remove(["name 7"] if ids else [9])
        index.save(path)

    return save


def ask_hamming(path: Path) -> object:
    index = nk.HammingIndex.open(path)
    hits = index.search(FPS[:8], radius=3)
    near = index.nearest(FPS[:2], k=3)
    tables = [table.to_arrow().to_pydict() for table in (hits, near, index.pairs(radius=3))]
    return tables, [list(c) for c in index.clusters(3)], len(index), hits.ids[0] in index


def save_wide(path: Path, rows: int) -> None:
    index = nk.HammingIndex(bits=128, radius=10)
    index.add(None, WIDE[:rows])
    index.save(path)


def ask_wide(path: Path) -> object:
    index = nk.HammingIndex.open(path)
    return index.search(WIDE[:5], radius=10).ids.tolist(), index.pairs(10).left.tolist(), len(index)


def save_bands(path: Path, rows: int) -> None:
    index = nk.BandIndex(num_perm=16, num_bands=8, num_rows=2)
    index.add([f"t{i}" for i in range(rows)], SIGNATURES[:rows])
    index.save(path)


def ask_bands(path: Path) -> object:
    index = nk.BandIndex.open(path)
    hits = index.search(SIGNATURES[:5])
    pairs = index.pairs()
    return hits.ids.tolist(), hits.distances.tolist(), pairs.left.tolist(), pairs.right.tolist(), len(index)


def save_digests(path: Path, count: int) -> None:
    index = nk.DigestIndex()
    index.add([f"file {i}" for i in range(count)], DIGESTS[:count])
    index.save(path)


def ask_digests(path: Path) -> object:
    index = nk.DigestIndex.open(path)
    hits = index.search(DIGESTS[:3], threshold=50)
    return hits.ids.tolist(), hits.scores.tolist(), len(index)


def vectors(family: Family, **options: Any) -> Kind:
    def save(path: Path, rows: int) -> None:
        index = nk.LSHIndex(family, metric="l2", **options)
        index.fit(X[:rows], ids=[f"v{i}" for i in range(rows)]).save(path)

    return Kind(save, ask_vectors, lambda path: nk.LSHIndex.open(path).verify())


def ask_vectors(path: Path) -> object:
    index = nk.LSHIndex.open(path)
    hits = index.nearest(X[:4], k=3)
    return hits.ids.tolist(), hits.distances.tolist(), len(index)


def save_bits(path: Path, bits: int) -> None:
    Hyperplane(bits=bits, seed=3).fit(X).save(path)


def save_keys(path: Path, hashes: int) -> None:
    PStable(hashes=hashes, width=2.0, seed=5).fit(X).save(path)


def ask_family(path: Path) -> object:
    return load(path).transform(X[:3]).tolist()


def save_idf(path: Path, count: int) -> None:
    nk.Idf.fit(TEXTS[:count], "word:1").save(path)


def ask_idf(path: Path) -> object:
    table = nk.Idf.load(path)
    return len(table), table.documents, table.digest


def save_documents(path: Path, count: int) -> None:
    every = np.arange(count, dtype=np.int64)
    texts: list[str | None] = [f"a page about wine {i} " * 20 for i in range(count)]
    contents, records = CONTENTS[: 2 * count], np.zeros(0, np.uint8)
    StoreSegment.write(str(path), every, every, contents, records, 0, None, texts, b"", 3)


def ask_documents(path: Path) -> object:
    segment = StoreSegment.open(str(path))
    every = np.arange(len(segment), dtype=np.int64)
    return segment.texts(every), segment.find_ids(every)[1].tolist(), segment.rows(0, len(every)).tolist()


def verify_hamming(path: Path) -> None:
    nk.HammingIndex.open(path).verify()


ROTATION = Hyperplane(None, orthogonal="hadamard", seed=1)
KINDS: dict[str, Kind] = {
    "hamming, integers, tables": Kind(hamming(ids=False, tables=True), ask_hamming, verify_hamming, 60, 600),
    "hamming, strings, scan": Kind(hamming(ids=True, tables=False), ask_hamming, verify_hamming, 60, 600),
    "hamming, 128 bits": Kind(save_wide, ask_wide, verify_hamming, 40, 600),
    "bands": Kind(save_bands, ask_bands, lambda path: nk.BandIndex.open(path).verify()),
    "digests": Kind(save_digests, ask_digests, lambda path: nk.DigestIndex.open(path).verify(), 6, 60),
    "vectors, bits": vectors(Hyperplane(bits=32, seed=1)),
    "vectors, tables": vectors(CrossPolytope(hashes=2, seed=1)),
    "vectors, codes": vectors(Hyperplane(bits=32, seed=1), filter="codes"),
    "vectors, estimates": vectors(ROTATION, rank="estimate"),
    "vectors, partitions": vectors(ROTATION, rank="estimate", filter="partitions", num_partitions=3),
    "family of bits": Kind(save_bits, ask_family, small=16, large=64),
    "family of keys": Kind(save_keys, ask_family, small=3, large=60),
    "IDF": Kind(save_idf, ask_idf),
    "documents": Kind(
        save_documents, ask_documents, lambda path: StoreSegment.open(str(path)).verify(), small=300, large=600
    ),
}
