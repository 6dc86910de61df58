"""Labels of a sample: weighted proportions estimate those of the population."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import nearkin as nk
from nearkin import errors
from nearkin.quality.evaluation import Evaluation, PairScores
from nearkin.quality.judgements import PairLabels, read_judgements
from nearkin.report import sampling
from nearkin.report.sampling import NearPairs, stratify
from nearkin.theory.intervals import WeightSums, wilson

THRESHOLD = 0.8
ROUNDS = 120

Rows = npt.NDArray[np.int64]


def population(rng: np.random.Generator) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the similarities of 40,000 pairs, mostly low, and matches with a probability of one half at 0.78."""
    similarity = 0.5 + 0.5 * rng.beta(1.2, 2.5, 40_000)
    return similarity, rng.random(len(similarity)) < 1 / (1 + np.exp(-48 * (similarity - 0.78)))


def queue(
    rng: np.random.Generator, similarity: npt.NDArray[np.float64], found: npt.NDArray[np.bool_]
) -> tuple[Rows, list[float], list[str]]:
    """Return the pairs that a report selects from a shuffled population, with their weights and strata."""
    rows = rng.permutation(len(similarity))
    names = [str(row) for row in rows.tolist()]
    ones = np.ones(len(rows))
    pairs = NearPairs(names, names, similarity[rows], np.zeros(len(rows), np.int64), found[rows], ones)
    of_run = stratify(pairs, 1.0)
    judged = sampling.build_queue(of_run, THRESHOLD, 1.0)
    chosen = np.array([rows[number] for number, _, _ in judged])
    return chosen, [weight for _, _, weight in judged], [of_run[stratum].name for _, stratum, _ in judged]


def sampled(
    rows: Rows, match: npt.NDArray[np.bool_], weight: list[float] | None = None, stratum: list[str] | None = None
) -> PairLabels:
    left, right = ([f"{side}{row}" for row in rows.tolist()] for side in "ab")
    return PairLabels(left, right, match[rows].tolist(), weight, stratum)


def scored(found: Rows, labels: PairLabels) -> PairScores:
    left, right = ([f"{side}{row}" for row in found.tolist()] for side in "ab")
    run = PairLabels(left, right)
    scores = nk.evaluate(run, labels, unlisted="unjudged").pairs
    assert scores is not None
    return scores


def test_weights_make_a_sample_by_strata_unbiased() -> None:
    """Over 120 samples the mean of the weighted proportions is that of the population and intervals contain it; without
    weights the same labels overstate recall by more than 0.1.

    Over 1,000 rounds the interval of precision contains it in 91%, that of recall in 98%. With another seed fewer than
    89 of 120 have a probability below 1e-6.
    """
    rng = np.random.default_rng(11)
    similarity, match = population(rng)
    found = similarity >= THRESHOLD
    expected = (found & match).sum() / found.sum(), (found & match).sum() / match.sum()
    held, naive = np.zeros(2), np.zeros(2)
    shares, plain_shares = list[list[float]](), list[list[float]]()
    for _ in range(ROUNDS):
        rows, weights, named = queue(rng, similarity, found)
        weighted = scored(rows[found[rows]], sampled(rows, match, weights, named))
        plain = scored(rows[found[rows]], sampled(rows, match))
        for scores, counts, values in ((weighted, held, shares), (plain, naive, plain_shares)):
            both = scores.precision, scores.recall
            counts += [share.low <= true <= share.high for share, true in zip(both, expected, strict=True)]
            values.append([share.value for share in both])
    assert np.mean(shares, axis=0) == pytest.approx(expected, abs=0.02)
    assert (held >= 89).all(), held
    assert np.mean(plain_shares, axis=0)[1] > expected[1] + 0.1
    assert naive[1] < 12


def test_weighted_proportions_are_sums_of_weights() -> None:
    """Precision, recall, F1, and intervals with Kish's effective size, computed by hand."""
    labels = PairLabels(["a"] * 5, list("bcdef"), [True, True, False, True, False], [1, 3, 2, 10, 4])
    scores = nk.evaluate([("a", "b"), ("a", "c"), ("a", "d")], labels)
    pairs = scores.pairs
    assert pairs is not None
    assert (2, 1, 1, 1) == (
        pairs.true_positives,
        pairs.false_positives,
        pairs.false_negatives,
        pairs.true_negatives,
    )
    assert (4 / 6, 4 / 14) == (pairs.precision.value, pairs.recall.value)
    assert pairs.f1 == pytest.approx(2 * (4 / 16) / (1 + 4 / 16))
    effective = 6**2 / (1 + 9 + 4)
    assert wilson(4 / 6 * effective, effective) == pytest.approx((pairs.precision.low, pairs.precision.high), abs=1e-12)
    assert pairs.to_dict()["precision"]["weighted"] == {"hits": 4, "of": 6, "effective": pytest.approx(effective)}
    assert pairs.to_dict()["weighted"] == {
        "true_positives": 4, "false_positives": 2, "false_negatives": 10, "true_negatives": 4,
    }  # fmt: skip
    assert (5, 20.0) == (scores.counts["weighted_labels"], scores.counts["weighted_pairs"])
    assert scores.counts["effective_labels"] == pytest.approx(400 / 130)
    assert "precision 0.667 (0.189 to 0.945, weighted, 2 of 3 labels, worth 2.6)" in str(scores)
    assert any("weighted: 5 labels stand for 20 pairs" in note for note in scores.notes)
    json.dumps(scores.to_dict(), allow_nan=False)


def test_links_of_a_run_have_weights() -> None:
    """Each removed document is linked with the kept one."""
    texts = ["one two three four five six seven", "one two three four five six seven!", "something else entirely"]
    run = nk.dedup(texts, ids=["a", "b", "c"])
    labels = PairLabels(["a", "b"], ["b", "c"], [True, True], [2, 6])
    scores = nk.evaluate(run, labels)
    assert scores.links is not None
    assert scores.pairwise is not None
    assert (1.0, 1.0) == (scores.links.value, scores.links.weights[0].total / 2)  # type: ignore[index]
    assert (1.0, 0.25) == (scores.pairwise.precision.value, scores.pairwise.recall.value)


def test_equal_weights_change_no_proportion() -> None:
    """The effective size is then the number of labels; a weight of 1 changes no bit of the result."""
    pairs = [("a", "b", True), ("a", "c", False), ("c", "d", True), ("d", "e", True)]
    left, right, match = zip(*pairs, strict=True)
    found = [("a", "b"), ("a", "c"), ("c", "d")]
    plain = nk.evaluate(found, pairs)
    ones = nk.evaluate(found, PairLabels(left, right, match, [1.0] * 4))
    assert plain.to_dict() == ones.to_dict()
    assert str(plain) == str(ones)
    threes = nk.evaluate(found, PairLabels(left, right, match, [3.0] * 4))
    assert plain.pairs is not None
    assert threes.pairs is not None
    for name in ("precision", "recall"):
        one, other = getattr(plain.pairs, name), getattr(threes.pairs, name)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-12)
    assert 4 == pytest.approx(threes.counts["effective_labels"])


def test_labels_of_a_sample_are_never_complete() -> None:
    """Even if every label is a match, unlisted pairs are unjudged."""
    labels = PairLabels(["a"], ["b"], [True], [5.0])
    scores = nk.evaluate([("a", "b"), ("c", "d")], labels)
    assert scores.pairs is not None
    assert (1.0, 1) == (scores.pairs.precision.value, scores.counts["unjudged_pairs"])
    assert scores.bcubed is None
    with pytest.raises(errors.ParameterError, match="unlisted='false' is not allowed; use auto or unjudged"):
        nk.evaluate([("a", "b")], labels, unlisted="false")


def page_export(path: Path) -> Path:
    """Return labels as the page of a report exports them."""
    header = "left\tright\tmatch\tsimilarity\tstratum\tweight\tremoved\n"
    path.write_text(
        header
        + "a\tb\t1\t0.91\t0.90-0.92\t10\t1\n"
        + "a\tc\t0\t0.82\t0.82-0.84\t4.5\t1\n"
        + '"c\t""x"""\ta\tunsure\t0.81\t0.80-0.82\t4\t1\n'
        + "b\td\t1\t0.78\t0.78-0.80\t30\t0\n"
        + "e\tf\t0\t0.79\t0.78-0.80\t30\t0\n"
    )
    return path


def test_labels_of_a_page_are_read(tmp_path: Path) -> None:
    """They have strata and weights; an undecided pair has none."""
    labels = read_judgements(page_export(tmp_path / "labels.tsv"))
    assert isinstance(labels, PairLabels)
    assert {("a", "b"): 10.0, ("a", "c"): 4.5, ("b", "d"): 30.0, ("e", "f"): 30.0} == labels.weights
    assert "0.82-0.84" == labels.strata["a", "c"]
    assert (1, True, True) == (labels.unsure, labels.sampled, labels.weighted)


def confusion(scores: Evaluation) -> list[tuple[str, int, int, int]]:
    return [
        (each.name, each.scores.true_positives, each.scores.false_positives, each.scores.false_negatives)
        for each in scores.strata
    ]


def test_an_evaluation_has_scores_per_stratum(tmp_path: Path) -> None:
    """Each has right, wrong and missed pairs, and the proportion that matches."""
    scores = nk.evaluate([("a", "b"), ("a", "c")], page_export(tmp_path / "labels.tsv"))
    assert [("0.78-0.80", 0, 0, 1), ("0.82-0.84", 0, 1, 0), ("0.90-0.92", 1, 0, 0)] == confusion(scores)
    assert (60.0, 0.5) == (scores.strata[0].pairs, scores.strata[0].matching.value)
    told = scores.to_dict()["strata"][0]
    assert ("0.78-0.80", 2, 1, 1) == (
        told["stratum"],
        told["labels"],
        told["false_negatives"],
        told["true_negatives"],
    )
    assert "0.78-0.80" not in str(scores)
    assert {"effective_labels", "unsure_labels"} <= set(scores.counts)
    names = ["a", "c", "d"]
    plain = PairLabels(names[:2], names[1:], [True, False], stratum=["high", None])
    assert [("high", 1, 0, 0)] == confusion(nk.evaluate([("a", "c")], plain))
    assert "effective_labels" not in nk.evaluate([("a", "c")], plain).counts


@pytest.mark.parametrize("weight", ["", "0", "-1", "nan", "inf", "many", "1e999"])
def test_invalid_weights_are_errors(tmp_path: Path, weight: str) -> None:
    """The message names the file and the row, and says what weights are."""
    path = tmp_path / "labels.tsv"
    path.write_text(f"left\tright\tmatch\tweight\na\tb\t1\t2\na\tc\t0\t{weight}\n")
    with pytest.raises(errors.InputError) as refused:
        read_judgements(path)
    reason = f"record 2 has the weight {weight or None!r}; weights are numbers above 0: the pairs that one represents"
    assert f"{path}: {reason}" == str(refused.value)


@pytest.mark.parametrize("weight", [None, True, 0, -2.0, math.nan, math.inf, [], "x"])
def test_weights_in_memory_are_checked(weight: object) -> None:
    """None and booleans are refused."""
    with pytest.raises(errors.InputError, match="row 0 has the weight"):
        PairLabels(["a"], ["b"], [True], [weight])  # type: ignore[list-item]
    with pytest.raises(errors.ParameterError, match="columns of 1, 1, 1 and 2 rows"):
        PairLabels(["a"], ["b"], [True], [1.0, 2.0])


def test_a_list_of_matches_has_no_weights(tmp_path: Path) -> None:
    """Nor is a column of similarities a weight."""
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,weight\na,b,0.9\na,c,-1\n")
    for labels in (read_judgements(path), read_judgements(path, label_column="weight", min_similarity=0.5)):
        assert isinstance(labels, PairLabels)
        assert ({}, False) == (labels.weights, labels.sampled)


def test_a_pair_of_two_weights_counts_once() -> None:
    """The first weight counts, with a note; a pair with both labels is excluded."""
    labels = PairLabels(["a", "b", "c", "c"], ["b", "a", "d", "d"], [True, True, True, False], [2, 3, 4, 4])
    assert ({("a", "b"): 2.0}, 1, 1, 2) == (labels.weights, labels.reweighted, labels.contradictory, labels.repeated)
    note = "pairs labelled with several weights, of which the first counts: 1"
    assert note in nk.evaluate([("a", "b")], labels).notes


def test_the_effective_size_of_labels() -> None:
    """It is n for equal weights, 1 if one weight dominates, 0 without labels."""
    assert 7 == pytest.approx(WeightSums.of(np.full(7, 0.3)).effective)
    assert 1 == pytest.approx(WeightSums.of(np.array([1e9, 1.0, 1.0])).effective)
    assert 0 == WeightSums.of(np.zeros(0)).effective
    assert WeightSums(3, 5) == WeightSums(1, 1) + WeightSums(2, 4)
