"""Fingerprints that the Hamming benchmark searches: random, skewed, and of real corpora."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import common
import nearkin as nk

Codes = NDArray[np.uint64]

CORPORA = ("en_20news", "en_licences", "zh_laws", "zh_news_sogou", "zh_song_poems", "en_bible_ot")
WINDOW = 200


def random_codes(bits: int, n: int, seed: int) -> Codes:
    """Fair independent bits."""
    words = -(-bits // 64)
    codes = np.random.default_rng(seed).integers(0, 2**64, (n, words), dtype=np.uint64)
    return codes[:, 0].copy() if words == 1 else codes


def queries_near(codes: Codes, bits: int, count: int, radius: int, seed: int) -> Codes:
    """Queries: every second one a stored fingerprint with 0 to `radius` bits flipped, the others random."""
    rng = np.random.default_rng(seed)
    asked = random_codes(bits, count, seed + 1).reshape(count, -1)
    rows = codes.reshape(len(codes), -1)
    for i in range(0, count, 2):
        asked[i] = rows[rng.integers(0, len(rows))]
        for bit in rng.choice(bits, rng.integers(0, radius + 1), replace=False):
            asked[i, bit // 64] ^= np.uint64(1 << int(bit % 64))
    return asked[:, 0].copy() if codes.ndim == 1 else asked


def with_planted_pairs(n: int, seed: int) -> Codes:
    """Random 64-bit fingerprints of which the last tenth are copies of the first, one bit flipped."""
    codes = random_codes(64, n, seed)
    planted = n // 10
    flips = np.random.default_rng(seed + 1).integers(0, 64, planted).astype(np.uint64)
    codes[-planted:] = codes[:planted] ^ (np.uint64(1) << flips)
    return codes


def windows(data: Path, n: int) -> Iterator[list[str]]:
    """About n windows of 200 characters over all corpora, at the step that gives this many, in lists of 100,000."""
    sources = [text for name in CORPORA for text in common.texts(data, name)]
    room = sum(max(len(text) - WINDOW, 0) for text in sources)
    step = max(1, room // n)
    batch: list[str] = []
    given = 0
    for text in sources:
        for start in range(0, max(len(text) - WINDOW, 0), step):
            batch.append(text[start : start + WINDOW])
            if len(batch) == 100_000:
                given += len(batch)
                yield batch
                batch = []
                if given >= n:
                    return
    yield batch[: n - given]


def text_codes(data: Path, n: int, bits: int) -> Codes:
    """SimHash fingerprints of n overlapping windows of real texts (fewer if there are no more), in random order."""
    recipe = nk.Recipe(f"char:4|count|xxh3|simhash:{bits}")
    parts = [np.asarray(nk.fingerprint(batch, recipe)) for batch in windows(data, n) if batch]
    codes = np.concatenate(parts)
    return np.ascontiguousarray(codes[np.random.default_rng(6).permutation(len(codes))])


def distinct_text_codes(data: Path, n: int) -> Codes:
    """The different ones among `text_codes` of 64 bits, in random order."""
    codes = np.unique(text_codes(data, n, 64))
    return np.ascontiguousarray(codes[np.random.default_rng(8).permutation(len(codes))])


def hyperplane_codes(data: Path, name: str, bits: int, n: int | None = None) -> Codes:
    """Signs of random projections of real vectors; with n, averages of two random vectors fill up to n rows."""
    with np.load(data / f"vec_{name}.npz") as file:
        vectors = file["base"].astype(np.float32)
    vectors -= vectors.mean(axis=0)
    rng = np.random.default_rng(7)
    planes = rng.standard_normal((vectors.shape[1], bits)).astype(np.float32)
    parts = [np.packbits(vectors @ planes > 0, axis=1, bitorder="little")]
    missing = 0 if n is None else n - len(vectors)
    while missing > 0:
        count = min(missing, 100_000)
        left, right = rng.integers(0, len(vectors), (2, count))
        parts.append(np.packbits((vectors[left] + vectors[right]) @ planes > 0, axis=1, bitorder="little"))
        missing -= count
    return np.concatenate(parts).view(np.uint64)


def skewed(kind: str, n: int) -> Codes:
    """64-bit fingerprints whose bits are not fair."""
    codes = random_codes(64, n, 11)
    rng = np.random.default_rng(12)
    if kind == "half share 32 leading bits":
        codes[: n // 2] = codes[: n // 2] & np.uint64(0xFFFFFFFF) | np.uint64(0x1234567800000000)
    elif kind == "a tenth are identical":
        codes[: n // 10] = codes[0]
    elif kind == "bits set with probability 0.1":
        for bit in range(64):
            column = (rng.random(n) < 0.1).astype(np.uint64) << np.uint64(bit)
            codes = column if bit == 0 else codes | column
    elif kind == "16 constant bits":
        codes &= ~np.uint64(0xFFFF0000)
    return codes[rng.permutation(n)]


SKEWS = (
    "fair",
    "half share 32 leading bits",
    "a tenth are identical",
    "16 constant bits",
    "bits set with probability 0.1",
)
