"""nearkin.HammingIndex: joins, streams, clusters, limits and rankings against brute force; skewed data."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from nearkin import errors
from nearkin.index.hamming import HammingIndex
from strategies import random_fingerprints

METHODS = ("auto", "scan", "bits", "blocks", "tables", "multi")


def with_copies(rng: np.random.Generator, bits: int, rows: int) -> Any:
    """Draw fingerprints, half of them near others and some equal."""
    fps = random_fingerprints(rng, bits, rows)
    if rows > 4:
        fps[rows // 2 :] = random_fingerprints(rng, bits, rows - rows // 2, near=fps[: rows // 2])
    return fps


def rows_of(*arrays: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(array.tolist() for array in arrays), strict=True))


@settings(max_examples=25, deadline=None)
@given(
    bits=st.sampled_from([1, 5, 63, 64, 100, 128, 256, 1024]),
    rows=st.integers(0, 100),
    seed=st.integers(0, 2**32),
    radius=st.integers(0, 24),
    named=st.booleans(),
    limit=st.integers(1, 6),
    batch=st.integers(1, 50),
)
def test_joins_streams_limits_and_clusters_equal_brute_force(
    bits: int, rows: int, seed: int, radius: int, named: bool, limit: int, batch: int
) -> None:
    """Every method agrees with the definitions, for integer and string ids."""
    radius = min(radius, bits)
    rng = np.random.default_rng(seed)
    fps = with_copies(rng, bits, rows)
    ids: list[Any] = [f"{i:x}é" for i in range(rows)] if named else [int(i) for i in rng.permutation(rows) - 50]
    new = np.concatenate([random_fingerprints(rng, bits, 9, near=fps if rows else None), fps[:3]])
    near = [reference.within(fps, ids, fp, radius) for fp in new]
    joined = sorted((q, i, d) for q, result in enumerate(near) for d, i in result)
    centred, connected = (
        reference.clusters(rule, range(rows), lambda a, b: int(reference.distance(fps[a], fps[b])) <= radius)
        for rule in (reference.absorb, reference.components)
    )
    names = HammingIndex(bits)
    names.add([f"n{i:02}" for i in range(len(new))], new)
    for method in METHODS:
        index = HammingIndex(bits, method)  # type: ignore[arg-type]
        index.add(ids, fps)
        hits = index.search(new, radius, limit=limit)
        assert hits.truncated is not None
        assert [len(result) > limit for result in near] == hits.truncated.tolist()
        assert [result[:limit] for result in near] == [[(m.distance, m.id) for m in row] for row in hits]
        parts = list(index.iter_search(new, radius, batch_size=batch, limit=limit))
        assert hits.ids.tolist() == [i for part in parts for i in part.ids]
        assert [batch] * (len(parts) - 1) == [len(part) for part in parts[:-1]]
        pairs = index.join(new, radius)
        assert joined == rows_of(pairs.left, pairs.right, pairs.distances)
        named_pairs = index.join(names, radius)
        assert [(f"n{q:02}", i, d) for q, i, d in joined] == rows_of(
            named_pairs.left, named_pairs.right, named_pairs.distances
        )
        all_pairs = index.pairs(radius)
        streamed = list(index.iter_pairs(radius, batch_size=batch))
        assert [batch] * (len(streamed) - 1) == [len(part) for part in streamed[:-1]]
        assert rows_of(all_pairs.left, all_pairs.right, all_pairs.distances) == [
            row for part in streamed for row in rows_of(part.left, part.right, part.distances)
        ]
        for linkage, expected in (("centred", centred), ("connected", connected)):
            clusters = index.clusters(radius, linkage=linkage)  # type: ignore[arg-type]
            assert [[ids[row] for row in members] for members in expected] == list(clusters)


@settings(max_examples=25, deadline=None)
@given(
    bits=st.sampled_from([1, 7, 64, 65, 128, 256, 1000]),
    rows=st.integers(0, 80),
    seed=st.integers(0, 2**32),
    k=st.integers(1, 90),
    density=st.integers(1, 4),
)
def test_rankings_by_common_bits_equal_numpy(bits: int, rows: int, seed: int, k: int, density: int) -> None:
    """Jaccard and spherical distances are quotients of counts, also without common bits; ties are sorted by id."""
    rng = np.random.default_rng(seed)
    words = -(-bits // 64)
    bools = rng.random((rows + 5, bits)) < 0.1**density * 5
    packed = np.zeros((rows + 5, 8 * words), dtype=np.uint8)
    packed[:, : -(-bits // 8)] = np.packbits(bools, axis=1, bitorder="little")
    fps = packed.view("<u8").astype(np.uint64)
    ids = rng.permutation(rows) - 7
    index = HammingIndex(bits)
    index.add(ids, fps[:rows] if words > 1 else fps[:rows, 0])
    queries = fps[rows:] if words > 1 else fps[rows:, 0]
    differ = (bools[rows:, None] ^ bools[None, :rows]).sum(axis=2).astype(float)
    common = (bools[rows:, None] & bools[None, :rows]).sum(axis=2).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        spherical = np.where(differ == 0, 0.0, differ / common)
        jaccard = np.where(differ == 0, 0.0, differ / (differ + common))
    for rank, expected in (("spherical", spherical), ("jaccard", jaccard)):
        hits = index.nearest(queries, k, rank=rank)  # type: ignore[arg-type]
        assert np.float64 == hits.distances.dtype
        for q in range(5):
            order = np.lexsort((ids, expected[q]))[:k]
            assert ids[order].tolist() == hits[q].ids.tolist()
            assert expected[q][order].tolist() == hits[q].distances.tolist()


def test_fingerprints_without_a_common_bit_are_infinitely_far() -> None:
    """The spherical distance is infinite and the Jaccard distance 1; two empty fingerprints are equal."""
    index = HammingIndex(bits=8)
    index.add(["disjoint", "empty", "half"], [0b1100, 0, 0b0001])
    spherical = index.nearest([0b0011, 0], k=3, rank="spherical")
    assert [("half", 1.0), ("disjoint", np.inf), ("empty", np.inf)] == [(m.id, m.distance) for m in spherical[0]]
    assert [("empty", 0.0), ("disjoint", np.inf), ("half", np.inf)] == [(m.id, m.distance) for m in spherical[1]]
    jaccard = index.nearest(0b0011, k=3, rank="jaccard")[0]
    assert [("half", 0.5), ("disjoint", 1.0), ("empty", 1.0)] == [(m.id, m.distance) for m in jaccard]


def test_an_index_joined_with_itself_pairs_everything_with_itself() -> None:
    """A join treats its arguments as two sets, even if both are the same index."""
    index = HammingIndex(bits=8)
    index.add(["b", "a"], [0, 1])
    pairs = index.join(index, radius=0)
    assert [("a", "a", 0), ("b", "b", 0)] == rows_of(pairs.left, pairs.right, pairs.distances)


def test_a_stream_ends_when_the_index_changes() -> None:
    """Pairs from two states of an index are never mixed."""
    index = HammingIndex(bits=8)
    index.add(None, [0, 0, 0])
    stream = index.iter_pairs(0, batch_size=1)
    assert [(0, 1)] == rows_of(*(lambda pairs: (pairs.left, pairs.right))(next(stream)))
    index.add(None, [0])
    with pytest.raises(errors.ParameterError, match="changed during the iteration"):
        next(stream)


def test_bad_arguments_of_links_say_what_is_allowed() -> None:
    """Each error shows the value and what is allowed."""
    index = HammingIndex(bits=10)
    for call, message in (
        (lambda: index.search([1], 1, limit=0), "limit=0"),
        (lambda: index.search([1], 1, limit=True), "limit=True"),
        (lambda: index.iter_search([1], 1, batch_size=0), "batch_size=0"),
        (lambda: index.iter_search([1], 11), "radius=11"),
        (lambda: index.iter_pairs(11), "radius=11"),
        (lambda: index.iter_pairs(1, batch_size=-1), "batch_size=-1"),
        (lambda: index.join([1024], 1), "at or above"),
        (lambda: index.join(HammingIndex(bits=11), 1), "bits differs: 11 against 10"),
        (
            lambda: HammingIndex(recipe="char:4|count|xxh3|simhash:64").join(
                HammingIndex(recipe="char:3|count|xxh3|simhash:64"), 1
            ),
            "recipe slot n differs",
        ),
        (lambda: index.clusters(1, linkage="single"), "linkage='single'"),  # type: ignore[arg-type]
        (lambda: index.clusters(1, linkage=None), "linkage=None"),  # type: ignore[arg-type]
        (lambda: index.nearest([1], 1, rank="cosine"), "rank='cosine'"),  # type: ignore[arg-type]
        (lambda: index.nearest([1], 1, rank=None), "rank=None"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert [] == list(index.clusters(3))
    assert [] == list(index.iter_pairs(3))


def test_a_million_copies_cost_their_output() -> None:
    """Empty pages share one slot for every query; limits and clusters never store the 10^11 pairs."""
    rng = np.random.default_rng(3)
    fps = rng.integers(0, 2**64, 510_000, dtype=np.uint64)
    fps[10_000:] = 0
    index = HammingIndex(bits=64, radius=3)
    index.add(None, fps)
    start = time.process_time()
    hits = index.search(np.zeros(5000, dtype=np.uint64), radius=3, limit=4)
    assert [10_000, 10_001, 10_002, 10_003] * 5000 == hits.ids.tolist()
    assert hits.truncated is not None
    assert hits.truncated.all()
    assert [10_000, 10_001] * 3000 == index.nearest(np.zeros(3000, dtype=np.uint64), k=2).ids.tolist()
    for linkage in ("centred", "connected"):
        (cluster,) = index.clusters(3, linkage=linkage)
        assert list(range(10_000, 510_000)) == cluster
    first = next(index.iter_pairs(3, batch_size=1000))
    assert [(10_000, 10_001 + i) for i in range(1000)] == rows_of(first.left, first.right)
    # Not a timing test: a cost of one step per pair would take an hour.
    assert time.process_time() - start < 60


@pytest.mark.parametrize("shared", [16, 40])
def test_shared_leading_bits_do_not_spoil_the_plan(shared: int) -> None:
    """If half of the fingerprints share their highest bits, the planner still expects and finds few candidates."""
    rng = np.random.default_rng(4)
    fps = rng.integers(0, 2**64, 60_000, dtype=np.uint64)
    fps[::2] >>= np.uint64(shared)
    index = HammingIndex(bits=64, radius=3)
    index.add(None, fps)
    queries = fps[:200] ^ np.uint64(5)
    hits = index.search(queries, radius=3)
    scan = HammingIndex(bits=64, method="scan")
    scan.add(None, fps)
    assert scan.search(queries, radius=3).ids.tolist() == hits.ids.tolist()
    (part,) = index.explain(3)["parts"]
    assert part["method"] != "scan"
    # The sampled load of every probed table is far below half of the index, but above that of unbiased bits.
    assert part["fair_candidates"] < part["candidates"] < 3000
    assert part["cost"] < part["scan_cost"]
