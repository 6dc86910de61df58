"""nearkin.BandIndex: against brute force, recall within theory, chosen bands, files, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import MismatchError, ParameterError
from nearkin.theory import banding_probability, choose_bands


def brute(signatures: np.ndarray, query: np.ndarray, bands: int, rows: int, threshold: float) -> list[int]:
    """Return the rows that share a band and enough values, nearest first, ties by row."""
    equal = signatures == query
    band = equal[:, : bands * rows].reshape(len(signatures), bands, rows).all(axis=2).any(axis=1)
    result = np.flatnonzero(band & (equal.mean(axis=1) >= threshold - 1e-12))
    return [int(row) for row in sorted(result, key=lambda row: (int((~equal[row]).sum()), row))]


@given(
    seed=st.integers(0, 1000),
    shape=st.sampled_from([(8, 1), (4, 2), (2, 4), (1, 8), (2, 3)]),
    threshold=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    dtype=st.sampled_from([np.uint32, np.uint64]),
)
def test_search_and_pairs_equal_brute_force(
    seed: int, shape: tuple[int, int], threshold: float, dtype: type[np.uint32]
) -> None:
    """Rows are added in two batches, some are removed, and string ids are saved."""
    random = np.random.default_rng(seed)
    signatures = random.integers(0, 3, (40, 8)).astype(dtype)
    bits = 32 if dtype is np.uint32 else 64
    index = nk.BandIndex(8, num_bands=shape[0], num_rows=shape[1], value_bits=bits)  # type: ignore[arg-type]
    index.add(range(25), signatures[:25])
    index.add(range(25, 40), signatures[25:])
    gone = sorted({int(row) for row in random.integers(0, 40, 5)})
    index.remove(gone)
    left = [row for row in range(40) if row not in gone]
    for query in range(40):
        expected = [left[at] for at in brute(signatures[left], signatures[query], *shape, threshold)]
        assert expected == index.search(signatures[query], threshold).ids.tolist()
    expected_pairs = sorted(
        (row, other)
        for row in left
        for other in [left[at] for at in brute(signatures[left], signatures[row], *shape, threshold)]
        if row < other
    )
    pairs = index.pairs(threshold)
    assert expected_pairs == list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    streamed = [pair for part in index.iter_pairs(threshold) for pair in zip(part.left, part.right, strict=True)]
    assert expected_pairs == sorted(streamed)


def test_streamed_pairs_come_in_one_order(set_threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """For any number of threads, batches follow the order of adding, are sorted by both ids, and contain all pairs."""
    monkeypatch.setattr("nearkin.index.bands._BATCH", 7)
    random = np.random.default_rng(5)
    index = nk.BandIndex(16, num_bands=8, num_rows=2)
    index.add(random.permutation(60), random.integers(0, 3, (60, 16)).astype(np.uint32))
    result = []
    for threads in (1, 2, 5):
        set_threads(threads)
        parts = index.iter_pairs(0.0)
        result.append([list(zip(part.left.tolist(), part.right.tolist(), strict=True)) for part in parts])
    assert result[0] == result[1] == result[2]
    assert len(result[0]) > 3
    assert result[0] == [sorted(part) for part in result[0]]
    pairs = index.pairs(0.0)
    assert sorted(pair for part in result[0] for pair in part) == list(
        zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    )


@pytest.mark.parametrize("scheme", ["one", "fast", "classic"])
@pytest.mark.parametrize(("shared", "each"), [(80, 10), (400, 50), (40, 5), (50, 25)])
def test_recall_of_the_bands_is_that_of_theory(scheme: str, shared: int, each: int) -> None:
    """3,000 planted pairs: within 5.5 standard deviations (4e-8, 12 cases 5e-7), 2% for draws without replacement."""
    n, similarity = 3000, shared / (shared + 2 * each)
    random = np.random.default_rng(3)
    features = random.integers(0, 2**64, (n, shared + 2 * each), dtype=np.uint64)
    minhash = nk.MinHash(128, scheme=scheme)  # type: ignore[arg-type]
    left = minhash.signature_hashes(list(features[:, : shared + each]))
    right = minhash.signature_hashes(list(np.hstack([features[:, :shared], features[:, shared + each :]])))
    index = nk.BandIndex(128, threshold=0.8, recall=0.95)
    index.add(None, left)
    hits = index.search(right, 0.0)
    result = sum(i in hits[i].ids for i in range(n)) / n
    expected = banding_probability(similarity, index.num_bands, index.num_rows)
    assert abs(result - expected) < 5.5 * math.sqrt(expected * (1 - expected) / n) + 0.02


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.95, 0.99])
def test_chosen_bands_have_the_recall_and_fit(threshold: float, recall: float) -> None:
    """The recall includes the minimum number of equal values."""
    result = choose_bands(threshold, recall, 128)
    assert result.num_bands * result.num_rows <= 128
    assert recall <= result.recall <= banding_probability(threshold, result.num_bands, result.num_rows)
    k, minimum = 128, result.min_matches
    below = sum(math.comb(k, i) * threshold**i * (1 - threshold) ** (k - i) for i in range(minimum))
    assert math.isclose(
        result.recall, banding_probability(threshold, result.num_bands, result.num_rows) - below, rel_tol=1e-9
    )


def test_a_recall_out_of_reach_names_the_values_that_would_do() -> None:
    """The number of values named by the error is sufficient."""
    with pytest.raises(ParameterError, match="at least 44"):
        nk.BandIndex(16, threshold=0.1, recall=0.99)
    assert nk.BandIndex(44, threshold=0.1, recall=0.99).recall >= 0.99


def test_copies_are_collapsed_and_texts_without_features_never_found() -> None:
    """10,000 copies share one entry."""
    signature = nk.signature(["a text that comes often"])
    index = nk.BandIndex(recipe="minhash:128")
    index.add(None, np.repeat(signature, 10_000, axis=0))
    index.add(None, nk.signature(["", "..."]))
    assert (10_002, 1) == (len(index), index.explain()["different"])
    assert 10_000 == len(index.search(signature)[0])
    assert [0, 0] == [len(row) for row in index.search(nk.signature(["", "!"]))]


def test_a_saved_index_is_the_same(tmp_path: Path) -> None:
    """Recipe, threshold, ids and results round-trip."""
    texts = [f"some words and the number {i // 2}" for i in range(100)]
    recipe = nk.Recipe("word:1|binary|xxh3|minhash:128")
    signatures = nk.signature(texts, recipe)
    index = nk.BandIndex(threshold=0.7, recipe=recipe)
    index.add([f"t{i}" for i in range(100)], signatures)
    path = tmp_path / "bands.nks"
    index.save(path)
    opened = nk.BandIndex.open(path)
    opened.verify()
    opened.check_recipe(recipe)
    with pytest.raises(MismatchError):
        opened.check_recipe("word:2|binary|xxh3|minhash:128")
    for query in (signatures[0], signatures[57]):
        assert index.search(query).ids.tolist() == opened.search(query).ids.tolist()
    assert "t3" in opened
    assert "x" not in opened


def test_what_does_not_fit_is_an_error() -> None:
    """Wrong widths, shapes, thresholds and ids are rejected."""
    index = nk.BandIndex(8, num_bands=2, num_rows=4)
    with pytest.raises(MismatchError):
        index.add(None, np.zeros((1, 8), np.uint64))
    for fault in (
        lambda: index.add(None, np.zeros((1, 7), np.uint32)),
        lambda: index.add(None, np.zeros((1, 8), np.int32)),
        lambda: index.search(np.zeros(8, np.uint32), 1.5),
        lambda: index.remove([5]),
        lambda: nk.BandIndex(8, num_bands=3, num_rows=3),
        lambda: nk.BandIndex(8, num_bands=3),
        lambda: nk.BandIndex(recipe="simhash:64"),
    ):
        with pytest.raises(ParameterError, match="use"):
            fault()
