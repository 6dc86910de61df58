"""nearkin.tune_bands: curves against brute force and the index, advice against what a deduplication then finds."""

from __future__ import annotations

import pytest

import nearkin as nk
from nearkin import errors
from nearkin.theory import choose_bands
from planted import corpus, jaccard

RECIPE = "word:1|binary|xxh3|minhash:64:fast"


def true_pairs(texts: list[str], recipe: nk.Recipe, threshold: float) -> set[tuple[int, int]]:
    return {(i, j) for j in range(len(texts)) for i in range(j) if jaccard(recipe, texts[i], texts[j]) >= threshold}


def test_curves_equal_brute_force() -> None:
    """Recall, precision and candidates of all bands, counted over all pairs by the definition of a candidate."""
    texts = list(dict.fromkeys(corpus(120)))
    tuned = nk.tune_bands(texts, threshold=0.6, recipe=RECIPE, num_perms=[32, 64])
    recipe = nk.Recipe(RECIPE)
    true = true_pairs(texts, recipe, 0.6)
    assert len(true) == tuned.truth["pairs"] > 50
    assert {32, 64} == set(tuned.curve["num_perm"])
    for row in tuned.curve.rows():
        signatures = nk.signature(texts, recipe.with_(num_perm=row["num_perm"]))
        bands, rows = row["num_bands"], row["num_rows"]
        equal = signatures[:, None] == signatures[None]
        whole = equal[..., : bands * rows].reshape(*equal.shape[:2], bands, rows).all(3).any(2)
        found = whole & (equal.sum(2) >= row["least_equal_values"])
        candidates = {(i, j) for j in range(len(texts)) for i in range(j) if found[i, j]}
        assert len(candidates & true) / len(true) == row["recall"]
        assert 2 * len(candidates) / len(texts) == pytest.approx(row["candidates_per_document"])
        assert (len(candidates & true) / len(candidates) if candidates else None) == row["precision"]
        assert row["recall_low"] <= row["recall"] <= row["recall_high"]
        asked = choose_bands(0.6, row["nominal_recall"], row["num_perm"])
        assert (bands, rows, row["least_equal_values"]) == (asked.num_bands, asked.num_rows, asked.least)


def test_the_advice_delivers_its_recall() -> None:
    """Deduplication with the advised recipe and nominal recall finds just the pairs that were measured."""
    texts = list(dict.fromkeys(corpus(300)))
    tuned = nk.tune_bands(texts, threshold=0.6, recall=0.9, recipe=RECIPE)
    chosen = tuned.chosen
    assert chosen is not None
    true = true_pairs(texts, nk.Recipe(RECIPE), 0.6)
    done = nk.dedup(texts, recipe=chosen["recipe"], threshold=0.6, recall=chosen["nominal_recall"], links="all").pairs
    found = {tuple(sorted(pair)) for pair in zip(done["left"], done["right"], strict=True)}
    assert found <= true
    assert chosen["recall"] == len(found) / len(true) >= 0.9
    cheaper = [row for row in tuned.curve.rows() if row["cost"] < chosen["cost"]]
    assert all(row["recall_low"] < 0.9 for row in cheaper)
    assert f"--recall {chosen['nominal_recall']:g}" in str(tuned.command())


def test_the_same_arguments_give_the_same_result() -> None:
    """Whatever the threads; copies are left out, and texts without pairs give no advice."""
    texts = corpus(150)
    first = nk.tune_bands(texts, threshold=0.6, recipe=RECIPE, sample=100)
    nk.set_num_threads(1)
    again = nk.tune_bands(texts, threshold=0.6, recipe=RECIPE, sample=100)
    nk.set_num_threads(None)
    assert (first.curve.columns, first.chosen, first.truth) == (again.curve.columns, again.chosen, again.truth)
    none = nk.tune_bands(["one two", "three four", "five six"], recipe=RECIPE)
    assert (None, None, 0) == (none.chosen, none.command(), none.truth["pairs"])
    assert none.notes


def test_what_is_out_of_range_is_an_error() -> None:
    """Every message says what is allowed; each family has its own call."""
    for call in (
        lambda: nk.tune_bands(["a"], recipe="simhash:64"),
        lambda: nk.tune_bands(["a"], num_perms=[]),
        lambda: nk.tune_bands(["a"], num_perms=[513]),
        lambda: nk.tune_bands(["a"], threshold=0),
        lambda: nk.tune_bands(["a"], recall=2),
        lambda: nk.tune_bands(["a"], sample=1),
        lambda: nk.tune(["a"], recipes=["minhash:64"]),
    ):
        with pytest.raises(errors.ParameterError, match="is not allowed; use"):
            call()
