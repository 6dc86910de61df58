"""nearkin.HammingIndex: comparison with brute force, ids of every kind, conversions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from nearkin import errors
from nearkin import hamming as hamming_function
from nearkin.index.fingerprints import from_bytes, from_hex, from_signed, to_hex
from nearkin.index.hamming import HammingIndex
from strategies import random_fingerprints

METHODS = ("auto", "scan", "bits", "blocks", "tables", "multi")


@settings(max_examples=30, deadline=None)
@given(
    bits=st.sampled_from([1, 5, 32, 63, 64, 65, 100, 128, 256, 1000, 1024]),
    rows=st.integers(0, 120),
    seed=st.integers(0, 2**32),
    radius=st.integers(0, 24),
    named=st.booleans(),
    k=st.integers(1, 200),
)
def test_search_nearest_and_pairs_equal_brute_force(
    bits: int, rows: int, seed: int, radius: int, named: bool, k: int
) -> None:
    """Every method returns the same as an exhaustive comparison, in the documented order."""
    radius = min(radius, bits)
    rng = np.random.default_rng(seed)
    fps = random_fingerprints(rng, bits, rows)
    if rows > 4:
        fps[rows // 2 :] = random_fingerprints(rng, bits, rows - rows // 2, near=fps[: rows // 2])
    ids: list[Any] = [f"{i:x}é" for i in range(rows)] if named else [int(i) for i in rng.permutation(rows) - 50]
    queries = random_fingerprints(rng, bits, 7, near=fps if rows else None)
    near = [(i, reference.within(fps, ids, fp, radius)) for i, fp in zip(ids, fps, strict=True)]
    pairs = sorted((*sorted((a, i)), d) for i, result in near for d, a in result)
    pairs = sorted({pair for pair in pairs if pair[0] != pair[1]})
    for method in METHODS:
        index = HammingIndex(bits, method)  # type: ignore[arg-type]
        assert rows == index.add(ids, fps)
        hits = index.search(queries, radius=radius)
        nearest = index.nearest(queries, k=k)
        assert 7 == len(hits) == len(nearest)
        for q in range(7):
            expected = reference.within(fps, ids, queries[q], radius)
            assert expected == [(match.distance, match.id) for match in hits[q]]
            assert reference.within(fps, ids, queries[q], bits)[:k] == [(m.distance, m.id) for m in nearest[q]]
        result = index.pairs(radius=radius)
        assert pairs == list(zip(result.left.tolist(), result.right.tolist(), result.distances.tolist(), strict=True))


def test_integer_results_are_int64_arrays() -> None:
    """Unsigned and small integer ids come back as int64; distances are uint16."""
    for dtype in (np.uint64, np.int64, np.int32, np.uint8):
        index = HammingIndex()
        index.add(np.array([3, 7], dtype=dtype), np.array([1, 2], dtype=np.uint64))
        hits = index.search([0], radius=1)
        assert (np.int64, np.int64, np.uint16) == (hits.offsets.dtype, hits.ids.dtype, hits.distances.dtype)  # type: ignore[comparison-overlap]
        assert [3, 7] == hits.ids.tolist()


def test_row_numbers_cost_no_memory() -> None:
    """Without ids the results are row numbers, and nothing is stored for them."""
    index = HammingIndex()
    index.add(None, np.arange(1000, dtype=np.uint64))
    index.add(None, np.arange(1000, 2000, dtype=np.uint64))
    assert 0 == index.explain()["bytes_ids"]
    assert [1500] == index.search(1500, radius=0).ids.tolist()
    index.remove([1500])
    assert 1500 not in index
    with pytest.raises(errors.ParameterError, match="row numbers, as this index began"):
        index.add([7], [1])


def test_a_million_copies_are_one_comparison() -> None:
    """Equal fingerprints share a slot; removing all of them leaves nothing."""
    index = HammingIndex(bits=64, method="scan")
    index.add(None, np.full(1_000_000, 5, dtype=np.uint64))
    assert 1_000_000 == len(index.search(4, radius=1).ids)
    assert [1] == [part["slots"] for part in index.explain(1)["parts"]]
    assert [0, 1, 2] == index.nearest(4, k=3).ids.tolist()
    index.remove(np.arange(1_000_000))
    assert 0 == len(index)
    assert 0 == len(index.nearest(4, k=3).ids)


def test_bad_arguments_say_what_is_allowed() -> None:
    """Each error shows the value and what is allowed."""
    index = HammingIndex(bits=10)
    for call, message in (
        (lambda: HammingIndex(0), "bits=0"),
        (lambda: HammingIndex(1025), "bits=1025 is not allowed; use 1 to 1024"),
        (lambda: HammingIndex("64"), "bits='64'"),  # type: ignore[arg-type]
        (lambda: HammingIndex(method="fast"), "method="),  # type: ignore[arg-type]
        (lambda: HammingIndex(radius=65), "radius=65 is not allowed; use 0 to bits=64"),
        (lambda: HammingIndex(memory_limit=-1), "memory_limit=-1"),
        (lambda: index.search([1], radius=11), "radius=11 is not allowed; use 0 to bits=10"),
        (lambda: index.search([1], radius=1.5), "radius=1.5"),  # type: ignore[arg-type]
        (lambda: index.search([1024], radius=1), "bit at or above bits=10"),
        (lambda: index.search(np.zeros((2, 3), np.uint64), radius=1), r"shape \(2, 3\)"),
        (lambda: index.search([-1], radius=1), "negative values"),
        (lambda: index.search([0.5], radius=1), "integers"),
        (lambda: index.search(["1"], radius=1), "bits differs: 1 against"),
        (lambda: index.search(["one"], radius=1), "digits 0 and 1"),
        (lambda: index.nearest([1], k=0), "k=0"),
        (lambda: index.add([1], [1, 2]), "1 ids"),
        (lambda: hamming_function([[1, 2]], [[1]]), "differs: 2 against 1"),
        (lambda: hamming_function([1, 2], [1, 2, 3]), "differs: 2 against 3"),
        (lambda: from_hex(["xyz"]), "hexadecimal"),
        (lambda: from_hex(["100"], bits=8), "below 2"),
        (lambda: from_hex("ff"), "iterable"),
        (lambda: to_hex([256], bits=8), "at or above"),
        (lambda: from_bytes(np.zeros((1, 3), np.uint8), bits=64), r"\(n, 8\)"),
        (lambda: from_signed(np.zeros(1, np.uint64)), "signed"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert 0 == len(index)


def test_results_do_not_depend_on_threads_or_batches(set_threads: Callable[[int], None]) -> None:
    """One thread or three, one query at a time or all return the same arrays."""
    rng = np.random.default_rng(5)
    fps = random_fingerprints(rng, 64, 30_000)
    queries = random_fingerprints(rng, 64, 500, near=fps)
    results = []
    for threads in (1, 3):
        set_threads(threads)
        index = HammingIndex(bits=64)
        index.add(None, fps)
        hits = index.search(queries, radius=20)
        near = index.nearest(queries, k=5)
        pairs = index.pairs(radius=9)
        results.append([hits.offsets, hits.ids, hits.distances, near.ids, near.distances, pairs.left, pairs.right])
        single = [index.search(query, radius=20).ids for query in queries[:20]]
        assert np.array_equal(hits.ids[: hits.offsets[20]], np.concatenate(single))
        assert np.array_equal(near.ids[:100], np.concatenate([index.nearest(q, k=5).ids for q in queries[:20]]))
    for first, three in zip(*results, strict=True):
        assert np.array_equal(first, three)


def test_several_threads_may_search_while_one_adds() -> None:
    """Readers and a writer finish, and every reader sees complete batches."""
    rng = np.random.default_rng(6)
    batches = [random_fingerprints(rng, 64, 3000) for _ in range(8)]
    index = HammingIndex(radius=3)
    index.add(None, batches[0])
    failures: list[int] = []

    def ask() -> None:
        answers = [index.search(batches[0], radius=0).distances.tolist() for _ in range(20)]
        failures.append(sum(answer != [0] * 3000 for answer in answers))

    readers = [threading.Thread(target=ask) for _ in range(3)]
    for reader in readers:
        reader.start()
    for batch in batches[1:]:
        index.add(None, batch)
    for reader in readers:
        reader.join()
    assert [0, 0, 0] == failures
    assert 24_000 == len(index)


def test_explain_names_the_method_and_its_cost() -> None:
    """`explain` returns comparable numbers for every method."""
    rng = np.random.default_rng(7)
    index = HammingIndex(bits=64, radius=3)
    index.add(None, random_fingerprints(rng, 64, 100_000))
    before = index.explain()
    index.search(1, radius=3)
    after = index.explain()
    assert before["fingerprints"] == 100_000
    (part,) = after["parts"]
    assert part["method"] in ("blocks", "multi")
    assert part["built"]
    assert part["cost"] < part["scan_cost"]
    assert 4 == sum(radius + 1 for radius in part["radii"])
    assert ["scan"] == [part["method"] for part in index.explain(32)["parts"]]


def test_a_memory_limit_is_kept() -> None:
    """Tables that do not fit are not built."""
    rng = np.random.default_rng(8)
    fps = random_fingerprints(rng, 64, 100_000)
    free = HammingIndex(radius=3)
    tight = HammingIndex(radius=3, memory_limit=1_500_000)
    for index in (free, tight):
        index.add(None, fps)
    assert np.array_equal(free.search(fps[:50], radius=3).ids, tight.search(fps[:50], radius=3).ids)
    assert tight.explain()["bytes_fingerprints"] <= 1_500_000 < free.explain()["bytes_fingerprints"]


def test_an_opened_index_answers_as_the_saved_one(tmp_path: Path) -> None:
    """Saving and opening preserves ids of every kind, and an opened index can grow."""
    rng = np.random.default_rng(9)
    fps = random_fingerprints(rng, 128, 3000)
    queries = random_fingerprints(rng, 128, 50, near=fps)
    for ids in (None, np.arange(3000), [f"text {i}" for i in range(3000)]):
        index = HammingIndex(128, radius=6)
        index.add(ids, fps)
        path = tmp_path / "codes.nks"
        index.save(path)
        opened = HammingIndex.open(str(path))
        opened.verify()
        assert (128, "auto", 6, 3000) == (opened.bits, opened.method, opened.radius, len(opened))
        for first, other in zip(index.search(queries, 6), opened.search(queries, 6), strict=True):
            assert list(first) == list(other)
        opened.add(None if ids is None else (["new"] if isinstance(ids, list) else [5000]), queries[:1])
        opened.save(path)
        assert 3001 == len(HammingIndex.open(path))


@given(st.data(), st.sampled_from([1, 8, 64, 65, 200]), st.booleans())
def test_fingerprints_are_those_that_were_added(data: st.DataObject, bits: int, removes: bool) -> None:
    """In order of addition, without removed ones, from runs and from the tail."""
    words = -(-bits // 64)
    values = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=20))
    rows = np.array([[value >> 64 * word & 2**64 - 1 for word in range(words)] for value in values], np.uint64)
    rows = rows.reshape(-1, words)
    index = HammingIndex(bits=bits)
    half = len(values) // 2
    index.add(None, rows[:half] if words > 1 else rows[:half, 0])
    index.pairs(0)  # Makes a run of what is there.
    index.add(None, rows[half:] if words > 1 else rows[half:, 0])
    removed = set(range(0, len(values), 3)) if removes else set()
    index.remove(sorted(removed))
    ids, fingerprints = index.fingerprints()
    kept = [row for row in range(len(values)) if row not in removed]
    assert kept == ids.tolist()
    assert rows[kept].reshape(len(kept), words).tolist() == fingerprints.reshape(-1, words).tolist()
