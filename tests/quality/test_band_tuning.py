"""nearkin.tune_bands: curves equal brute force and the index, and deduplication reaches the recommended recall."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin import errors
from nearkin.quality import band_tuning
from nearkin.quality.ground_truth import take_sample
from nearkin.theory import choose_bands
from nearkin.theory.intervals import wilson
from planted import corpus, jaccard

RECIPE = "word:1|binary|xxh3|minhash:64:fast"


def true_pairs(texts: list[str], recipe: nk.Recipe, threshold: float) -> set[tuple[int, int]]:
    return {(i, j) for j in range(len(texts)) for i in range(j) if jaccard(recipe, texts[i], texts[j]) >= threshold}


def test_the_recommendation_reaches_its_recall() -> None:
    """Deduplication with the recommended recipe and nominal recall finds exactly the measured pairs."""
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


def test_the_same_arguments_give_the_same_result(set_threads: Callable[[int], None]) -> None:
    """The result does not depend on threads."""
    texts = corpus(150)
    first = nk.tune_bands(texts, threshold=0.6, recipe=RECIPE, sample=100)
    set_threads(1)
    again = nk.tune_bands(texts, threshold=0.6, recipe=RECIPE, sample=100)
    assert (first.curve.columns, first.chosen, first.truth) == (again.curve.columns, again.chosen, again.truth)


# Curves


@pytest.mark.parametrize(
    ("threshold", "num_perms"), [(0.3, [16, 48]), (0.5, [1, 8, 100]), (0.6, [32, 64]), (0.8, [20, 128]), (1.0, [4, 32])]
)
def test_curves_of_many_bands_equal_plain_loops(threshold: float, num_perms: list[int]) -> None:
    """Counts, cost and bytes of every row equal loops over pairs, for few and many values, low and high thresholds."""
    texts = list(dict.fromkeys(corpus(60, seed=3)))
    # Other orders of words have the same features, and so a similarity of one.
    texts += [" ".join(reversed(text.split())) for text in texts[:5]]
    tuned = nk.tune_bands(texts, threshold=threshold, recipe=RECIPE, num_perms=num_perms)
    recipe = nk.Recipe(RECIPE)
    true = true_pairs(texts, recipe, threshold)
    assert len(true) == tuned.truth["pairs"] >= 5
    assert set(num_perms) == set(tuned.curve["num_perm"])
    for row in tuned.curve.rows():
        values = nk.signature(texts, recipe.with_(num_perm=row["num_perm"])).tolist()
        width, least = row["num_rows"], row["least_equal_values"]
        candidates = set()
        for j, right in enumerate(values):
            for i, left in enumerate(values[:j]):
                starts = range(0, row["num_bands"] * width, width)
                shared = any(left[start : start + width] == right[start : start + width] for start in starts)
                if shared and sum(a == b for a, b in zip(left, right, strict=True)) >= least:
                    candidates.add((i, j))
        hits = len(candidates & true)
        asked = choose_bands(threshold, row["nominal_recall"], row["num_perm"])
        assert (row["num_bands"], width, least) == (asked.num_bands, asked.num_rows, asked.min_matches)
        assert hits / len(true) == row["recall"]
        assert (hits / len(candidates) if candidates else None) == row["precision"]
        assert 2 * len(candidates) / len(texts) == pytest.approx(row["candidates_per_document"])
        wasted = 2 * (len(candidates) - hits) / len(texts)
        assert 0.3 * wasted + 0.2 * row["num_perm"] / 128 == pytest.approx(row["cost"])
        low, high = wilson(hits, len(true))
        assert 0 <= row["recall_low"] <= low <= high <= row["recall_high"] <= 1
        assert str(recipe.with_(num_perm=row["num_perm"])) == row["recipe"]
        assert row["bytes"] == row["num_perm"] * nk.signature(texts[:1], recipe).itemsize


def test_a_curve_has_distinct_bands_with_their_lowest_recall() -> None:
    """Nominal recalls with the same bands share a row with the lowest of them; values ascend."""
    tuned = nk.tune_bands(corpus(30), threshold=0.7, recipe=RECIPE, num_perms=(count for count in (64, 4, 64)))
    rows = list(tuned.curve.rows())
    assert [4, 64] == tuned.hashing["num_perm"]
    assert sorted(row["num_perm"] for row in rows) == [row["num_perm"] for row in rows]
    shapes = [(row["num_perm"], row["num_bands"], row["num_rows"], row["least_equal_values"]) for row in rows]
    assert len(set(shapes)) == len(shapes)
    lowest = dict(zip(shapes, (row["nominal_recall"] for row in rows), strict=True))
    for count in (4, 64):
        for nominal in [step / 20 for step in range(1, 20)]:
            try:
                asked = choose_bands(0.7, nominal, count)
            except errors.ParameterError:
                assert nominal > max(recall for shape, recall in lowest.items() if shape[0] == count)
                continue
            assert lowest[count, asked.num_bands, asked.num_rows, asked.min_matches] <= nominal + 1e-12


def test_a_sample_represents_its_corpus() -> None:
    """Candidates per document grow with the corpus; copies and missing texts are counted and occur in no pair."""
    texts = list(dict.fromkeys(corpus(90, seed=5)))
    whole = nk.tune_bands(texts, threshold=0.5, recipe=RECIPE, num_perms=[32])
    doubled = nk.tune_bands([*texts, None, *texts], threshold=0.5, recipe=RECIPE, num_perms=[32])
    assert (2 * len(texts), len(texts), len(texts)) == tuple(
        doubled.truth[name] for name in ("documents", "sample", "copies")
    )
    assert whole.curve["recall"] == doubled.curve["recall"]
    assert whole.curve["candidates_per_document"] == pytest.approx(doubled.curve["candidates_per_document"])
    part = nk.tune_bands(texts, threshold=0.5, recipe=RECIPE, num_perms=[32], sample=40, seed=2)
    assert (len(texts), 40, 2) == tuple(part.truth[name] for name in ("documents", "sample", "seed"))
    assert part.truth["pairs"] < whole.truth["pairs"]
    drawn = nk.tune_bands(take_sample(texts, None, 40, 2).texts, threshold=0.5, recipe=RECIPE, num_perms=[32])
    assert [value * len(texts) / 40 for value in drawn.curve["candidates_per_document"]] == pytest.approx(
        part.curve["candidates_per_document"]
    )


# Advice


ROWS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(1, 4), st.sampled_from([64, 128, 256])), max_size=12
)


def setting(recall: float, low: float, cost: float, num_perm: int, nominal: float) -> dict[str, Any]:
    return {
        "recipe": RECIPE,
        "num_perm": num_perm,
        "num_bands": 1,
        "num_rows": 1,
        "least_equal_values": 1,
        "nominal_recall": nominal,
        "recall": recall,
        "recall_low": low,
        "recall_high": 1.0,
        "precision": None,
        "candidates_per_document": 0.0,
        "bytes": 0,
        "cost": cost,
    }


@given(rows=ROWS, target=st.integers(1, 10), pairs=st.sampled_from([1, 99, 100, 5000]))
def test_the_cheapest_bands_with_the_recall_are_recommended(
    rows: list[tuple[int, int, int, int]], target: int, pairs: int
) -> None:
    """The lower bound decides if any bands reach it, otherwise the estimate and theory; ties go to fewer values."""
    settings = [
        setting(max(a, b) / 10, min(a, b) / 10, cost, count, nominal / 10)
        for (a, b, cost, count), nominal in zip(rows, cycle([9, 3, 10]), strict=False)
    ]
    recall = target / 10
    chosen, notes = band_tuning._choose(settings, recall, pairs)
    sure = [row for row in settings if row["recall_low"] >= recall]
    promised = [row for row in settings if row["nominal_recall"] >= min(recall, 0.999)]
    likely = [row for row in promised if row["recall"] is not None and row["recall"] >= recall]
    among = sure or likely
    noun = "true pair" if pairs == 1 else "true pairs"
    few = [f"only {pairs} {noun} in the sample; a larger sample may have more"] if pairs < 100 else []
    if not among:
        assert chosen is None
        assert [f"no bands find {recall:g} of the true pairs; use a lower recall or more values", *few] == notes
        return
    assert chosen in among
    assert all((chosen["cost"], chosen["num_perm"]) <= (row["cost"], row["num_perm"]) for row in among)
    estimate = [
        f"recall {chosen['recall']:.3f} is an estimate from few pairs or clusters, and its interval starts at "
        f"{chosen['recall_low']:.3f}; the recommended setting is at least that of theory at the threshold"
    ]
    assert [*([] if sure else estimate), *few] == notes


def test_texts_without_pairs_give_no_recommendation() -> None:
    """For no texts, one text and dissimilar texts there is a note, no recall and no command; JSON has null."""
    for texts in ([], ["one two three"], [None, ""], ["one two", "three four"]):
        tuned = nk.tune_bands(texts, recipe=RECIPE, num_perms=[16])
        assert (None, None, 0) == (tuned.chosen, tuned.command(), tuned.truth["pairs"])
        assert ["no true pair in the sample; nothing can be tuned"] == tuned.notes
        assert {None} == set(tuned.curve["recall"])
        assert {(0.0, 1.0)} == {(row["recall_low"], row["recall_high"]) for row in tuned.curve.rows()}
        written = tuned.to_dict()
        assert written == json.loads(json.dumps(written, allow_nan=False))


def test_few_values_cannot_find_all_pairs() -> None:
    """Notes say so, and mention the few pairs; with more values the recall is an estimate with a bound."""
    texts = list(dict.fromkeys(corpus(40, seed=2)))
    tuned = nk.tune_bands(texts, threshold=0.2, recall=1.0, recipe=RECIPE, num_perms=[1])
    assert (None, None) == (tuned.chosen, tuned.command())
    assert "no bands find 1 of the true pairs; use a lower recall or more values" == tuned.notes[0]
    tuned = nk.tune_bands(texts, threshold=0.7, recall=1.0, recipe=RECIPE, num_perms=[128])
    assert tuned.chosen is not None
    assert 1.0 == tuned.chosen["recall"]
    assert tuned.chosen["recall_low"] < 1.0
    about = "recall 1.000 is an estimate from few pairs or clusters, and its interval starts at "
    assert tuned.notes[0].startswith(f"{about}{tuned.chosen['recall_low']:.3f}; ")
    assert tuned.chosen["nominal_recall"] >= 0.999
    assert f"only {tuned.truth['pairs']} true pairs in the sample; a larger sample may have more" in (tuned.notes)


def test_the_command_is_quoted_for_a_shell() -> None:
    """Names with spaces are quoted; recipe, threshold and nominal recall are those of the recommendation."""
    tuned = nk.tune_bands(corpus(80), threshold=0.625, recall=0.8, recipe=RECIPE, num_perms=[64])
    chosen = tuned.chosen
    assert chosen is not None
    options = ["--recipe", chosen["recipe"], "--threshold", "0.625", "--recall", f"{chosen['nominal_recall']:g}"]
    for name in ("CORPUS", "my texts.jsonl", "it's $HOME"):
        command = tuned.command(name)
        assert ["nearkin", "dedup", name, "--out", "clean", *options] == shlex.split(str(command))
    written = json.loads(json.dumps(tuned.to_dict(), allow_nan=False))
    assert (tuned.command(), "recall", 0.625, chosen) == tuple(
        written[name] for name in ("command", "goal", "threshold", "chosen")
    )
    assert list(tuned.curve.rows()) == written["curve"]
    assert [64] == [row["num_perm"] for row in written["hashing"]]


def test_progress_names_each_stage() -> None:
    """The stages are the sample, the comparison of pairs, and each number of values."""
    told: list[tuple[str, int, int | None]] = []
    texts = list(dict.fromkeys(corpus(30)))
    nk.tune_bands(texts, recipe=RECIPE, num_perms=[32, 16], progress=lambda *event: told.append(event))
    recipe = nk.Recipe(RECIPE)
    pairs = len(texts) * (len(texts) - 1) // 2
    counted = [(f"count {recipe.with_(num_perm=count)}", done, 1) for count in (16, 32) for done in (0, 1)]
    sampled = [("sample", 0, None), ("sample", len(texts), None)]
    assert [*sampled, ("compare", pairs, pairs), *counted] == told


SHARE = "a number above 0 and up to 1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, f"threshold=0 is not allowed; use {SHARE}"),
        ({"threshold": 1.01}, f"threshold=1.01 is not allowed; use {SHARE}"),
        ({"threshold": float("nan")}, f"threshold=nan is not allowed; use {SHARE}"),
        ({"threshold": "0.8"}, f"threshold='0.8' is not allowed; use {SHARE}"),
        ({"threshold": True}, f"threshold=True is not allowed; use {SHARE}"),
        ({"recall": 2}, f"recall=2 is not allowed; use {SHARE}"),
        ({"recall": 0.0}, f"recall=0.0 is not allowed; use {SHARE}"),
        ({"recall": None}, f"recall=None is not allowed; use {SHARE}"),
        ({"sample": 1}, "sample=1 is not allowed; use at least 2 documents"),
        ({"sample": 2.0}, "sample=2.0 is not allowed; use at least 2 documents"),
        ({"sample": True}, "sample=True is not allowed; use at least 2 documents"),
        ({"num_perms": ()}, "num_perms=none is not allowed; use at least one"),
        ({"num_perms": 64}, "num_perms=64 is not allowed; use an iterable of integers, such as [64, 128]"),
        ({"num_perms": "64"}, "num_perms='64' is not allowed; use an iterable of integers, such as [64, 128]"),
        ({"num_perms": [64, "x"]}, "num_perms='x' is not allowed; use integers from 1 to 512"),
        ({"num_perms": [0]}, "num_perms=0 is not allowed; use integers from 1 to 512"),
        ({"num_perms": [513]}, "num_perms=513 is not allowed; use integers from 1 to 512"),
        ({"num_perms": [True]}, "num_perms=True is not allowed; use integers from 1 to 512"),
    ],
)
def test_messages_have_found_and_allowed_values(options: dict[str, Any], message: str) -> None:
    """The message is compared word for word; texts are not read before."""
    with pytest.raises(errors.ParameterError) as raised:
        nk.tune_bands(7, **options)  # type: ignore[arg-type]
    assert message == str(raised.value)


@pytest.mark.parametrize("recipe", ["simhash:64", "given|minhash:64"])
def test_recipes_without_minhash_of_texts_are_refused(recipe: str) -> None:
    """The message names the recipe and a valid one."""
    with pytest.raises(errors.ParameterError, match=r"^recipe=.* is not allowed; use a recipe of texts, with"):
        nk.tune_bands(["a"], recipe=recipe)


@pytest.mark.parametrize("ids", [[], ["a"], ["a", "b", "c"]])
def test_there_must_be_as_many_ids_as_texts(ids: list[str]) -> None:
    """Fewer and more ids are refused by both functions."""
    for call in (nk.tune_bands, nk.tune):
        with pytest.raises(errors.ParameterError) as raised:
            call(["one two", "one three"], ids)
        assert f"ids={len(ids)} values is not allowed; use 2 values, one per text" == str(raised.value)
