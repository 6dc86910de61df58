"""Codes to and from faiss and usearch: the examples of docs/hamming.md, run where the packages are installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearkin import HammingIndex
from nearkin.index.fingerprints import from_bytes, hamming, to_bytes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "hamming.md"

# Compiled modules of the peers warn of their own age.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def example(package: str) -> dict[str, Any]:
    """What the page's example that imports a package leaves behind."""
    blocks = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if package in block]
    assert 1 == len(blocks)
    names: dict[str, Any] = {}
    exec(blocks[0], names)  # noqa: S102
    return names


def test_the_example_of_faiss_gives_the_same_distances() -> None:
    """Packed bytes in, the same neighbours out, and the codes back as they were."""
    pytest.importorskip("faiss", reason="faiss-cpu is not installed; it is in the `bench` group")
    names = example("faiss")
    assert np.array_equal(names["fps"], names["back"])
    assert np.array_equal(names["distances"], names["hits"].distances.reshape(names["distances"].shape))


def test_the_example_of_usearch_gives_the_same_distances() -> None:
    """Packed bytes in, the same neighbours out, and the codes back as they were."""
    pytest.importorskip("usearch", reason="usearch is not installed; it is in the `bench` group")
    names = example("usearch")
    assert np.array_equal(names["fps"], names["back"])
    assert np.array_equal(names["found"].distances, names["hits"].distances.reshape(names["found"].distances.shape))


@pytest.mark.parametrize("bits", [8, 64, 72, 128, 256, 1024])
def test_distances_of_faiss_are_ours(bits: int) -> None:
    """Every pair of 40 by 60 codes of every width that is whole bytes, and the radius (exclusive there, plus one)."""
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed; it is in the `bench` group")
    rng = np.random.default_rng(bits)
    codes = rng.integers(0, 256, (60, bits // 8), dtype=np.uint8)
    asked = rng.integers(0, 256, (40, bits // 8), dtype=np.uint8)
    fps, queries = from_bytes(codes, bits), from_bytes(asked, bits)
    assert np.array_equal(codes, to_bytes(fps, bits))
    flat = faiss.IndexBinaryFlat(bits)
    flat.add(codes)
    distances, rows = flat.search(asked, 60)
    for query, row, found in zip(queries, rows, distances, strict=True):
        alone = query.reshape(1, -1) if bits > 64 else query
        assert np.array_equal(hamming(alone, fps)[row], found)  # type: ignore[index]
    index = HammingIndex(bits)
    index.add(None, fps)
    radius = bits // 2
    limits, _, ids = flat.range_search(asked, radius + 1)
    for i, row in enumerate(index.search(queries, radius)):
        assert sorted(row.ids.tolist()) == sorted(ids[int(limits[i]) : int(limits[i + 1])].tolist())


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_distances_of_usearch_are_ours(bits: int) -> None:
    """Exact search over b1 codes by Hamming distance."""
    usearch = pytest.importorskip("usearch.index", reason="usearch is not installed; it is in the `bench` group")
    rng = np.random.default_rng(bits)
    codes = rng.integers(0, 256, (200, bits // 8), dtype=np.uint8)
    index = usearch.Index(ndim=bits, metric="hamming", dtype="b1")
    index.add(np.arange(200), codes)
    found = index.search(codes[:20], 200, exact=True)
    fps = from_bytes(codes, bits)
    for query, keys, distances in zip(fps[:20], found.keys, found.distances, strict=True):
        alone = query.reshape(1, -1) if bits > 64 else query
        assert np.array_equal(hamming(alone, fps)[keys.astype(int)], distances.astype(int))  # type: ignore[index]
