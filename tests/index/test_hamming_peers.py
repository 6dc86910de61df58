"""Codes to and from faiss and usearch: the examples of docs/hamming.md, run if the packages are installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearkin import HammingIndex
from nearkin.index.fingerprints import from_bytes, hamming, to_bytes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "hamming.md"

# Compiled modules of the peers emit deprecation warnings.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def example(package: str) -> dict[str, Any]:
    """Return the variables that the page's example for a package defines."""
    blocks = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if package in block]
    assert 1 == len(blocks)
    names: dict[str, Any] = {}
    exec(blocks[0], names)  # noqa: S102
    return names


def test_the_example_of_faiss_gives_the_same_distances() -> None:
    """Packed bytes give the same neighbours, and the codes come back unchanged."""
    pytest.importorskip("faiss", reason="faiss-cpu is not installed; it is in the `bench` group")
    names = example("faiss")
    assert np.array_equal(names["fps"], names["back"])
    assert np.array_equal(names["distances"], names["hits"].distances.reshape(names["distances"].shape))


def test_the_example_of_usearch_gives_the_same_distances() -> None:
    """Packed bytes give the same neighbours, and the codes come back unchanged."""
    pytest.importorskip("usearch", reason="usearch is not installed; it is in the `bench` group")
    names = example("usearch")
    assert np.array_equal(names["fps"], names["back"])
    assert np.array_equal(names["matches"].distances, names["hits"].distances.reshape(names["matches"].distances.shape))


@pytest.mark.parametrize("bits", [8, 64, 72, 128, 256, 1024])
def test_distances_of_faiss_are_ours(bits: int) -> None:
    """40 by 60 codes of every byte-aligned width; their radius is exclusive, hence plus one."""
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed; it is in the `bench` group")
    rng = np.random.default_rng(bits)
    codes = rng.integers(0, 256, (60, bits // 8), dtype=np.uint8)
    new_queries = rng.integers(0, 256, (40, bits // 8), dtype=np.uint8)
    fps, queries = from_bytes(codes, bits), from_bytes(new_queries, bits)
    assert np.array_equal(codes, to_bytes(fps, bits))
    flat = faiss.IndexBinaryFlat(bits)
    flat.add(codes)
    distances, rows = flat.search(new_queries, 60)
    for query, row, result in zip(queries, rows, distances, strict=True):
        alone = query.reshape(1, -1) if bits > 64 else query
        assert np.array_equal(hamming(alone, fps)[row], result)
    index = HammingIndex(bits)
    index.add(None, fps)
    radius = bits // 2
    limits, _, ids = flat.range_search(new_queries, radius + 1)
    for i, row in enumerate(index.search(queries, radius)):
        assert sorted(row.ids.tolist()) == sorted(ids[int(limits[i]) : int(limits[i + 1])].tolist())


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_distances_of_usearch_are_ours(bits: int) -> None:
    """Exact search over b1 codes by Hamming distance gives the same distances."""
    usearch = pytest.importorskip("usearch.index", reason="usearch is not installed; it is in the `bench` group")
    rng = np.random.default_rng(bits)
    codes = rng.integers(0, 256, (200, bits // 8), dtype=np.uint8)
    index = usearch.Index(ndim=bits, metric="hamming", dtype="b1")
    index.add(np.arange(200), codes)
    result = index.search(codes[:20], 200, exact=True)
    fps = from_bytes(codes, bits)
    for query, keys, distances in zip(fps[:20], result.keys, result.distances, strict=True):
        alone = query.reshape(1, -1) if bits > 64 else query
        assert np.array_equal(hamming(alone, fps)[keys.astype(int)], distances.astype(int))
