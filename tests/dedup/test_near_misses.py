"""Candidates that are no matches: those of a random sample of the kept documents."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import nearkin as nk
from command import near_texts
from nearkin.dedup.cluster import sample_numbers
from nearkin.errors import ParameterError

RECIPES = ["char:4|binary|xxh3|simhash:128", "char:4|binary|xxh3|minhash:128:fast"]


def pairs_of(result: nk.DedupResult) -> dict[tuple[object, object], float]:
    """Near misses by ids."""
    assert result.near_misses is not None
    return {(row["left"], row["right"]): row["similarity"] for row in result.near_misses.rows()}


@pytest.mark.parametrize("recipe", RECIPES)
def test_all_near_misses_are_those_of_brute_force(recipe: str) -> None:
    """With every kept document in the sample: the candidates among them, with their true similarities."""
    texts = near_texts()
    result = nk.dedup(texts, recipe=recipe, threshold=0.9, near_misses=1000)
    actual = pairs_of(result)
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
def test_a_sample_has_a_part_of_them(recipe: str) -> None:
    texts = near_texts()
    every, chunk = (pairs_of(nk.dedup(texts, recipe=recipe, threshold=0.9, near_misses=n)) for n in (1000, 5))
    assert chunk.items() <= every.items()
    assert 0 < len(chunk) < len(every)
    kept = nk.dedup(texts, recipe=recipe, threshold=0.9)
    assert kept.near_misses is None
    assert "near_misses" not in kept.summary


def test_older_documents_are_in_no_near_miss() -> None:
    """What older documents remove is in no pair to judge, either; the near misses are those without them."""
    texts = near_texts()
    reference = [f"old{n}" for n in range(30)]
    result = nk.dedup(texts[30:], threshold=0.95, against=texts[:30], against_ids=reference, near_misses=99)
    actual = pairs_of(result)
    assert actual
    kept = [texts[30:][row] for row in result.kept_rows]
    alone = pairs_of(nk.dedup(kept, ids=result.kept, threshold=0.95, near_misses=99))
    assert alone == actual


def test_texts_that_differ_are_near_misses() -> None:
    """Similar enough, and kept apart by a rule."""
    texts = [
        "the price of the red house by the river rose by 1.5 percent",
        "the price of the red house by the river rose by 15 percent",
    ]
    result = pairs_of(nk.dedup(texts, differ="numbers", near_misses=9))
    assert [1.0] == list(result.values())


def test_few_documents_and_none() -> None:
    assert {} == pairs_of(nk.dedup([], near_misses=9))
    assert {} == pairs_of(nk.dedup(["one text alone", "..."], near_misses=9))


def test_the_sample_is_fixed_and_even() -> None:
    assert sample_numbers(1000, 50).tolist() == sample_numbers(1000, 50).tolist()
    assert 1000 == len(set(sample_numbers(1000, 5000).tolist()))
    halves = (sample_numbers(10_000, 1000) < 5000).mean()
    assert 0.45 < halves < 0.55


@pytest.mark.parametrize(
    "options", [{"verify": "none"}, {"cluster": "components"}, {"measure": "containment"}], ids=str
)
def test_where_there_are_none_they_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match="near_misses=9 is not allowed"):
        nk.dedup(["a"], near_misses=9, **options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="near_misses=-1"):
        nk.dedup(["a"], near_misses=-1)
