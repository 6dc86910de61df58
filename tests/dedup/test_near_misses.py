"""Near misses: candidates that are no matches, for a random sample of the kept documents."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import nearkin as nk
from command import near_texts
from nearkin.dedup.cluster import sample_numbers
from nearkin.errors import ParameterError

RECIPES = ["char:4|binary|xxh3|simhash:128", "char:4|binary|xxh3|minhash:128:fast"]


def miss_pairs(result: nk.DedupResult) -> dict[tuple[object, object], float]:
    """Return near misses by ids."""
    assert result.near_misses is not None
    return {(row["left"], row["right"]): row["similarity"] for row in result.near_misses.rows()}


@pytest.mark.parametrize("recipe", RECIPES)
def test_all_near_misses_are_those_of_brute_force(recipe: str) -> None:
    """With a sample of all kept documents: their candidates, with true similarities."""
    texts = near_texts()
    result = nk.dedup(texts, recipe=recipe, threshold=0.9, near_misses=1000)
    actual = miss_pairs(result)
    assert actual
    built = nk.Recipe.of(recipe)
    every = list(combinations(result.kept, 2))
    left, right = (np.array(side) for side in zip(*every, strict=True))
    similarity = dict(zip(every, nk.similarity(texts, left, right, recipe=built), strict=True))
    if built.family == "simhash":
        fingerprints = nk.fingerprint(texts, built)
        near = np.asarray(nk.hamming(fingerprints[left], fingerprints[right])) <= result.summary["radius"]
        assert {pair for pair, close in zip(every, near.tolist(), strict=True) if close} == set(actual)
    assert all(similarity[pair] == value < 0.9 for pair, value in actual.items())
    assert {"sampled": len(result.kept), "of": len(result.kept), "pairs": len(actual)} == result.summary["near_misses"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_sample_has_some_of_the_near_misses(recipe: str) -> None:
    texts = near_texts()
    every, chunk = (miss_pairs(nk.dedup(texts, recipe=recipe, threshold=0.9, near_misses=n)) for n in (1000, 5))
    assert chunk.items() <= every.items()
    assert 0 < len(chunk) < len(every)
    kept = nk.dedup(texts, recipe=recipe, threshold=0.9)
    assert kept.near_misses is None
    assert "near_misses" not in kept.summary


def test_reference_documents_are_in_no_near_miss() -> None:
    """Near misses are those of the documents that reference documents do not remove."""
    texts = near_texts()
    reference = [f"old{n}" for n in range(30)]
    result = nk.dedup(texts[30:], threshold=0.95, against=texts[:30], against_ids=reference, near_misses=99)
    actual = miss_pairs(result)
    assert actual
    kept = [texts[30:][row] for row in result.kept_rows]
    alone = miss_pairs(nk.dedup(kept, ids=result.kept, threshold=0.95, near_misses=99))
    assert alone == actual


def test_texts_that_differ_are_near_misses() -> None:
    """They are similar enough, but a rule separates them."""
    texts = [
        "the price of the red house by the river rose by 1.5 percent",
        "the price of the red house by the river rose by 15 percent",
    ]
    result = miss_pairs(nk.dedup(texts, differ="numbers", near_misses=9))
    assert [1.0] == list(result.values())


def test_few_documents_and_none() -> None:
    assert {} == miss_pairs(nk.dedup([], near_misses=9))
    assert {} == miss_pairs(nk.dedup(["one text alone", "..."], near_misses=9))


def test_the_sample_is_fixed_and_even() -> None:
    assert sample_numbers(1000, 50).tolist() == sample_numbers(1000, 50).tolist()
    assert 1000 == len(set(sample_numbers(1000, 5000).tolist()))
    halves = (sample_numbers(10_000, 1000) < 5000).mean()
    assert 0.45 < halves < 0.55


@pytest.mark.parametrize(
    "options", [{"verify": "none"}, {"cluster": "components"}, {"measure": "containment"}], ids=str
)
def test_near_misses_are_refused_without_candidates_to_sample(options: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match="near_misses=9 is not allowed"):
        nk.dedup(["a"], near_misses=9, **options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="near_misses=-1"):
        nk.dedup(["a"], near_misses=-1)
