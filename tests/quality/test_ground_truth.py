"""nearkin.quality.ground_truth: samples, true pairs and distances equal plain Python over all pairs."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk
from definitions import expected_similarity, near_duplicates
from nearkin.io import open_corpus
from nearkin.quality import ground_truth
from nearkin.quality.ground_truth import (
    Sample,
    SampleFingerprints,
    find_similar_pairs,
    max_distance,
    miss_probability,
    take_sample,
)
from nearkin.theory import simhash_difference
from planted import corpus

RECIPE = nk.Recipe("letters:python|word:2|count|xxh3|simhash:64")


def test_samples_depend_on_seed_and_order_alone() -> None:
    """Missing texts are not documents; requested documents come first, with their ids."""
    texts = [f"text {i}" if i % 7 else None for i in range(1000)]
    taken = take_sample(texts, None, 100, 5)
    assert (100, 857) == (len(taken.texts), taken.documents)
    assert taken.texts == [f"text {name}" for name in taken.names]
    assert [int(name) for name in taken.names] == sorted(int(name) for name in taken.names)
    assert taken.names == take_sample(texts, list(range(1000)), 100, 5).names
    wanted = take_sample(texts, [f"x{i}" for i in range(1000)], 3, 5, {"x1", "x2", "x7", "x999", "x5", "none"})
    assert {"x1", "x2", "x999", "x5"} == set(wanted.names)
    assert ["a", "b"] == take_sample(["a", "b", "a"], None, 9, 0).without_copies().texts


@pytest.mark.parametrize("make", [list, tuple, pa.array, pl.Series])
def test_samples_of_every_kind_of_texts_are_the_same(make: Any) -> None:
    """Lists, Arrow arrays and columns have the same sample."""
    texts = near_duplicates(300)
    expected, found = take_sample(texts, None, 50, 3), take_sample(make(texts), None, 50, 3)
    assert (expected.texts, expected.names, expected.documents) == (found.texts, found.names, found.documents)


def test_a_corpus_is_sampled_with_its_ids(tmp_path: Path) -> None:
    """The sample equals that of the list of its texts."""
    texts = [text for text in near_duplicates(300) if text is not None]
    path = tmp_path / "texts.parquet"
    pl.DataFrame({"id": [f"d{row}" for row in range(len(texts))], "text": texts}).write_parquet(path)
    with open_corpus(path, id_column="id") as opened:
        found = take_sample(opened, None, 40, 9)
    expected = take_sample(texts, [f"d{row}" for row in range(len(texts))], 40, 9)
    assert (expected.texts, expected.names, expected.documents) == (found.texts, found.names, found.documents)


def test_every_document_is_sampled_with_the_same_probability() -> None:
    """40 of 100 documents over 500 seeds: each is drawn about 200 times."""
    texts = [str(row) for row in range(100)]
    counts = np.zeros(100, int)
    for seed in range(500):
        counts[[int(name) for name in take_sample(texts, None, 40, seed).names]] += 1
    assert 500 * 40 == counts.sum()
    # Hoeffding: a count of 500 trials is off by over 75 with probability 2 exp(-2 75^2 / 500) < 3.4e-10, any of 100
    # with one below 3.4e-8; the seeds are fixed.
    assert np.abs(counts - 200).max() <= 75


def test_copies_are_excluded_and_counted() -> None:
    """The first document of each content is kept, with its name."""
    sample = Sample(["a", "b", "a", "c", "b", "a"], list("uvwxyz"), 60).without_copies()
    assert (["a", "b", "c"], ["u", "v", "x"], 60, 3) == (sample.texts, sample.names, sample.documents, sample.copies)


# True pairs


def test_true_pairs_are_those_of_the_definition() -> None:
    """Every pair at or above the threshold occurs once, with its similarity; progress counts comparisons."""
    texts = [text or "" for text in near_duplicates(80)]
    told: list[tuple[int, int | None]] = []
    found = find_similar_pairs(texts, RECIPE, 0.4, lambda done, total: told.append((done, total)))
    expected = {
        (i, j): expected_similarity(texts[i], texts[j], "jaccard", RECIPE) for i in range(80) for j in range(i + 1, 80)
    }
    expected = {pair: similarity for pair, similarity in expected.items() if similarity >= 0.4}
    pairs = zip(found.left.tolist(), found.right.tolist(), strict=True)
    assert expected == pytest.approx(dict(zip(pairs, found.similarity.tolist(), strict=True)))
    present = sum(bool(RECIPE.features_of(text)) for text in texts)
    whole = present * (present - 1) // 2
    assert (whole, whole) == told[-1]
    assert ("every pair of the sample compared", 0.0) == (found.method, found.missed)
    assert {
        "documents": 90, "sample": 80, "copies": 2, "pairs": len(expected), "method": found.method, "missed": 0.0,
        "seed": 7,
    } == found.summarize(Sample(texts, [], 90, 2), 7)  # fmt: skip


@pytest.mark.parametrize("texts", [[], ["one"], ["...", "", "!"]])
def test_samples_without_pairs_have_no_true_ones(texts: list[str]) -> None:
    """There is nothing to compare."""
    found = find_similar_pairs(texts, RECIPE, 0.5, lambda done, total: None)
    assert (0, 0, 0) == (len(found.left), len(found.right), len(found.similarity))


def test_pairs_by_a_wide_fingerprint_are_those_of_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted corpus of 400 documents with 362 true pairs. A pair at 0.6 is missed with probability 1e-4, pairs above
    less often; the seed is fixed.
    """
    texts = list(dict.fromkeys(corpus(400)))
    exact = find_similar_pairs(texts, nk.Recipe(), 0.6, lambda done, total: None)
    monkeypatch.setattr(ground_truth, "_MAX_BRUTE_FORCE", 0)
    wide = find_similar_pairs(texts, nk.Recipe(), 0.6, lambda done, total: None)
    assert len(exact.left) > 300
    assert 0.0 == exact.missed < wide.missed < 2e-4
    pairs = [set(zip(truth.left.tolist(), truth.right.tolist(), strict=True)) for truth in (exact, wide)]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize(("threshold", "bits", "radius"), [(0.8, 64, 13), (0.5, 20, 0), (0.9, 30, 30)])
def test_the_tail_of_the_binomial(threshold: float, bits: int, radius: int) -> None:
    """It equals exact rational arithmetic."""
    p = Fraction(simhash_difference(threshold))
    expected = 1 - sum(math.comb(bits, d) * p**d * (1 - p) ** (bits - d) for d in range(radius + 1))
    assert float(expected) == pytest.approx(miss_probability(threshold, bits, radius), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("threshold", "bits", "deviations"), [(0.8, 256, 4.0), (0.5, 64, 2.0), (0.99, 128, 0.0)])
def test_the_largest_radius_is_the_mean_plus_deviations(threshold: float, bits: int, deviations: float) -> None:
    """The mean and the deviation are those of the binomial distance; the radius is at most the number of bits."""
    p = simhash_difference(threshold)
    assert math.floor(bits * p + deviations * math.sqrt(bits * p * (1 - p))) == max_distance(
        threshold, bits, deviations
    )
    assert 8 == max_distance(0.1, 8, 40.0)


# Distances


@pytest.mark.parametrize("bits", [64, 100])
def test_all_pairs_within_a_radius_are_found(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each occurs once, the smaller row on the left, for any chunk size; texts without features are in none."""
    texts = [text or "" for text in near_duplicates(80)]
    prints = SampleFingerprints.of(texts, RECIPE.with_(bits=bits))
    rows = [row for row in range(80) if RECIPE.features_of(texts[row])]
    assert rows == prints.rows.tolist()
    apart = {
        (i, j): int(nk.hamming(prints.values[i], prints.values[j], bits=bits)) for i in rows for j in rows if i < j
    }
    for chunk in (1, 7, 1024):
        monkeypatch.setattr(ground_truth, "_CHUNK", chunk)
        found = [np.concatenate(parts).tolist() for parts in zip(*prints.pairs(20), strict=True)]
        expected = {pair: far for pair, far in apart.items() if far <= 20}
        assert expected == dict(zip(zip(found[0], found[1], strict=True), found[2], strict=True))
        assert len(expected) == len(found[0])
    ends = np.array(list(apart), np.int64)
    assert list(apart.values()) == prints.distances(ends[:, 0], ends[:, 1]).tolist()
    assert [] == prints.distances(ends[:0, 0], ends[:0, 1]).tolist()
