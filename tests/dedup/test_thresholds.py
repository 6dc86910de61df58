"""Removals and missed pairs at other thresholds, compared with brute force."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.dedup.thresholds import candidate_probability, estimate_thresholds, pair_probability
from nearkin.report import Run, report_page

RECIPE = "word:1|binary|xxh3|minhash:128:fast"


def pairs_of_texts(count: int, seed: int) -> list[str]:
    """Return pairs of texts of 40 words, with Jaccard similarities from about 0.45 to 1; pairs share no word."""
    rng = random.Random(seed)
    texts = []
    for pair in range(count):
        words = [f"p{pair}w{number}" for number in range(40)]
        changed = rng.randrange(16)
        texts += [" ".join(words), " ".join([*words[changed:], *(f"p{pair}x{number}" for number in range(changed))])]
    return texts


def exact_similarity(number: int, texts: list[str]) -> float:
    left, right = (set(text.split()) for text in texts[2 * number : 2 * number + 2])
    return len(left & right) / len(left | right)


@pytest.mark.parametrize("sample", [10_000, 500], ids=["all", "sampled"])
def test_estimates_contain_what_brute_force_counts(sample: int) -> None:
    """Removed documents exactly; missed and further pairs within the interval and the sampling error."""
    texts = pairs_of_texts(1500, 1)
    similarity = np.array([exact_similarity(number, texts) for number in range(1500)])
    options: dict[str, Any] = {"recipe": RECIPE, "threshold": 0.7, "bands": "6x6"}
    result = nk.dedup(texts, near_misses=sample, **options)
    assert result.near_misses is not None
    found = {row // 2 for row in result.pairs["id"]}
    if sample == 10_000:
        found |= {row // 2 for row in result.near_misses["left"]}
    table = {row["threshold"]: row for row in result.summary["thresholds"]}
    assert [0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9] == list(table)
    for threshold, row in table.items():
        reached = set(np.flatnonzero(similarity >= threshold).tolist())
        if threshold >= 0.7:
            removed = sum(value >= threshold for value in result.pairs["similarity"])
            assert removed == row["removed"]
            assert 0 == row["further_pairs"]
        elif sample == 10_000:
            assert row["removed"] is None
            further = sum(threshold <= value < 0.7 for value in result.near_misses["similarity"])
            assert further == row["further_pairs"]
        if sample == 10_000 or threshold >= 0.7:
            assert row["low"] <= len(reached - found) <= row["high"]
        assert row["low"] <= row["missed_pairs"] <= row["high"]
    assert table[0.55]["missed_pairs"] > 50


@pytest.mark.parametrize("sampled", [100, 30])
def test_intervals_have_their_coverage(sampled: int) -> None:
    """Of 400 draws by the law at least 90% contain the true number, in a sample as well.

    The interval is one of 95%; fewer than 360 of 400 have a probability below 1e-4 at 95%, and the seed is fixed.
    """
    summary = {"expected_recall": 0.9, "verify": "jaccard", "num_bands": 8, "num_rows": 5, "threshold": 0.7}
    law = candidate_probability(summary)
    assert law is not None
    rng = np.random.default_rng(7)
    share = pair_probability(sampled, 100)
    hits = {0.5: 0, 0.7: 0, 0.8: 0}
    for _ in range(400):
        similarity = rng.uniform(0.4, 1, 300)
        found = rng.random(300) < [law(value) for value in similarity]
        inside = (similarity >= 0.7) | (rng.random(300) < share)
        listed = similarity[found & inside]
        removed, near = listed[listed >= 0.7], listed[listed < 0.7]
        table = estimate_thresholds({**summary, "removed": len(removed)}, removed, near, share)
        for row in table:
            if row["threshold"] in hits:
                missed = int(((similarity >= row["threshold"]) & ~found).sum())
                hits[row["threshold"]] += row["low"] <= missed <= row["high"]
    assert min(hits.values()) >= 360, hits


def test_the_probability_of_a_pair_is_that_of_counting() -> None:
    """The share of pairs with a document in a sample of 3 of 7."""
    pairs = list(combinations(range(7), 2))
    assert pair_probability(3, 7) == pytest.approx(sum(left < 3 for left, _ in pairs) / len(pairs))
    assert 1.0 == pair_probability(1, 1) == pair_probability(0, 0)


def test_no_listed_pair_leaves_an_upper_end() -> None:
    """Nothing was found, which does not prove that nothing was missed."""
    summary = {"expected_recall": 0.9, "verify": "jaccard", "num_bands": 8, "num_rows": 5, "threshold": 0.7}
    rows = estimate_thresholds({**summary, "removed": 0}, np.zeros(0), np.zeros(0), 1.0)
    assert all((0, 0) == (row["missed_pairs"], row["low"]) and row["high"] >= 1 for row in rows if row["threshold"] < 1)


@pytest.mark.parametrize("options", [{"measure": "indel"}, {"recipe": "char:4|count|xxh3|simhash:64"}], ids=str)
def test_a_run_without_a_law_has_none(options: dict[str, Any]) -> None:
    """The law is that of the Jaccard similarity of binary features."""
    assert [] == nk.dedup(["a text", "another text"], near_misses=9, **options).summary["thresholds"]


def test_simhash_has_its_law_and_the_report_its_table() -> None:
    """The report lists the thresholds, and says what it assumes."""
    texts = pairs_of_texts(30, 2)
    result = nk.dedup(texts, recipe="word:1|binary|xxh3|simhash:128", threshold=0.7, near_misses="auto")
    assert 0.7 in [row["threshold"] for row in result.summary["thresholds"]]
    page = report_page(Run.from_texts(result, texts))
    assert "At other thresholds, estimated without labels" in page
    assert "independently of each other" in page
    assert "thresholds" not in nk.dedup(texts).summary
