"""nearkin.evaluate: every measure against its definition, written out over all pairs and documents."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
from nearkin import errors
from nearkin.quality.evaluation import Ratio, bcubed, pairwise, wilson
from nearkin.quality.labels import ClusterLabels, PairLabels, read_labels

NAMES = [str(i) for i in range(12)]
CLUSTERS = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4))
PAIR = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] < pair[1])
PAIRS = st.dictionaries(PAIR, st.booleans())


def counts(found: set[tuple[str, str]], true: set[tuple[str, str]]) -> tuple[int, int, int]:
    return len(found & true), len(found - true), len(true - found)


def of(scores: nk.evaluate.PairScores) -> tuple[int, int, int]:  # type: ignore[name-defined]
    return scores.true_positives, scores.false_positives, scores.false_negatives


# The measures


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_cluster_measures_equal_their_definitions(labels: list[tuple[int, int]]) -> None:
    """B-cubed document by document, pairwise pair by pair, for any two clusterings."""
    found = {str(i): a for i, (a, _) in enumerate(labels)}
    true = {str(i): b for i, (_, b) in enumerate(labels)}
    arrays = np.array(list(found.values())), np.array(list(true.values()))
    expected = reference.bcubed(found, true)
    scores = bcubed(*arrays)
    assert tuple(map(float, expected)) == pytest.approx((scores.precision, scores.recall), abs=1e-12)
    assert scores.f1 == pytest.approx(float(2 * expected[0] * expected[1] / (expected[0] + expected[1])), abs=1e-12)
    pairs = reference.pairs_of_clusters(found), reference.pairs_of_clusters(true)
    assert counts(*pairs) == of(pairwise(*arrays))


def test_bcubed_of_the_published_example() -> None:
    """Bagga and Baldwin (1998): of twelve documents in clusters of 5, 2, 5, joining a small with a large cluster costs
    less precision than joining the large ones: 76% and 58%; recall is 1.
    """
    true = np.repeat([0, 1, 2], [5, 2, 5])
    small, large = np.repeat([0, 1, 1], [5, 2, 5]), np.repeat([0, 1, 0], [5, 2, 5])
    assert (16 / 21, 1.0) == pytest.approx((bcubed(small, true).precision, bcubed(small, true).recall))
    assert (7 / 12, 1.0) == pytest.approx((bcubed(large, true).precision, bcubed(large, true).recall))


@pytest.mark.parametrize(
    ("hits", "total", "expected"),
    # Solutions of |p - hits/total| = z sqrt(p (1 - p) / total), the interval's definition; 81/263 is Agresti and
    # Coull's (1998) example.
    [(0, 10, (0.0, 0.2775)), (10, 10, (0.7225, 1.0)), (1, 2, (0.0945, 0.9055)), (81, 263, (0.2553, 0.3662))],
)
def test_wilson_intervals_of_known_examples(hits: int, total: int, expected: tuple[float, float]) -> None:
    """Four known intervals."""
    assert expected == pytest.approx(wilson(hits, total), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_bounds_lie_one_quantile_away(share: tuple[int, int]) -> None:
    """Each bound p solves |p - k/n| = z sqrt(p (1 - p) / n)."""
    hits, total = share
    for bound in wilson(hits, total):
        z = 1.959963984540054
        assert abs(bound - hits / total) == pytest.approx(z * math.sqrt(bound * (1 - bound) / total), abs=1e-9)


def test_shares_of_nothing_are_not_numbers() -> None:
    """0 of 0 is NaN between 0 and 1, null in JSON."""
    ratio = Ratio(0, 0)
    assert math.isnan(ratio.value)
    assert (0.0, 1.0) == (ratio.low, ratio.high)
    assert ratio.to_dict()["value"] is None
    empty = nk.evaluate([], [])
    assert "of none" in str(empty)
    json.dumps(empty.to_dict(), allow_nan=False)


# What stands against what


@given(found=CLUSTERS, true=CLUSTERS, complete=st.booleans())
@settings(deadline=None)
def test_clusters_against_clusters(found: dict[str, int], true: dict[str, int], complete: bool) -> None:
    """Documents that only the truth has are alone in the run; those that only the run has are left out, or alone."""
    scores = nk.evaluate(found, true, unlisted="false" if complete else "auto")
    names = set(found) | set(true) if complete else set(true)
    sides = [{name: side.get(name, 100 + at) for at, name in enumerate(sorted(names))} for side in (found, true)]
    assert counts(*map(reference.pairs_of_clusters, sides)) == of(scores.pairwise)
    assert (0 if complete else len(set(found) - set(true))) == scores.counts["unknown"]
    assert scores.bcubed.documents == len(names)  # type: ignore[union-attr]
    if names:
        expected = tuple(map(float, reference.bcubed(*sides)))
        assert expected == pytest.approx((scores.bcubed.precision, scores.bcubed.recall), abs=1e-12)  # type: ignore[union-attr]


@given(found=PAIRS, true=PAIRS, unlisted=st.sampled_from(["auto", "false", "unjudged"]))
@settings(deadline=None)
def test_pairs_against_pairs(
    found: dict[tuple[str, str], bool], true: dict[tuple[str, str], bool], unlisted: str
) -> None:
    """With pairs that do not match, others are not judged unless one says so; without them all others are false."""
    scores = nk.evaluate(
        PairLabels(*columns(found)),
        PairLabels(*columns(true)),
        unlisted=unlisted,  # type: ignore[arg-type]
    )
    complete = unlisted == "false" or (unlisted == "auto" and all(true.values()))
    listed = {pair for pair, match in found.items() if match}
    positives = {pair for pair, match in true.items() if match}
    negatives = set(true) - positives
    names = {name for pair in [*found, *true] for name in pair}
    together = reference.pairs_of_clusters(reference.clusters_of_pairs(names, listed))
    for pairs, result in ((listed, scores.pairs), (together, scores.pairwise)):
        judged = pairs if complete else pairs & (positives | negatives)
        assert counts(judged, positives) == of(result)
        assert (None if complete else len(negatives - pairs)) == result.true_negatives  # type: ignore[union-attr]
    assert len(listed) - len(listed if complete else listed & set(true)) == scores.counts["unjudged_pairs"]
    if not complete:
        assert scores.bcubed is None
    elif names:
        expected = reference.bcubed(*(reference.clusters_of_pairs(names, side) for side in (listed, positives)))
        assert tuple(map(float, expected)) == pytest.approx((scores.bcubed.precision, scores.bcubed.recall), abs=1e-12)  # type: ignore[union-attr]


def columns(pairs: dict[tuple[str, str], bool]) -> tuple[list[str], list[str], list[bool]]:
    return [a for a, _ in pairs], [b for _, b in pairs], list(pairs.values())


@given(found=PAIRS, true=CLUSTERS)
@settings(deadline=None)
def test_pairs_against_clusters(found: dict[tuple[str, str], bool], true: dict[str, int]) -> None:
    """Pairs of documents that the truth doesn't know are not judged."""
    scores = nk.evaluate(PairLabels(*columns(found)), true)
    listed = {pair for pair, match in found.items() if match}
    judged = {pair for pair in listed if set(pair) <= set(true)}
    assert counts(judged, reference.pairs_of_clusters(true)) == of(scores.pairs)
    assert len(listed - judged) == scores.counts["unjudged_pairs"]


@given(found=CLUSTERS, true=PAIRS)
@settings(deadline=None)
def test_clusters_against_pairs(found: dict[str, int], true: dict[tuple[str, str], bool]) -> None:
    """Pairs of one cluster are looked up among the labels."""
    scores = nk.evaluate(found, PairLabels(*columns(true)))
    together = reference.pairs_of_clusters(found)
    positives = {pair for pair, match in true.items() if match}
    judged = together if all(true.values()) else together & set(true)
    assert counts(judged, positives) == of(scores.pairwise)
    assert len(together - judged) == scores.counts["unjudged_pairwise"]


def test_f1_and_its_interval_belong_together() -> None:
    """F1 is 2 TP / (2 TP + FP + FN) and lies inside of its interval."""
    scores = nk.evaluate([("a", "b"), ("c", "d"), ("e", "f")], [("a", "b"), ("c", "d"), ("g", "h")]).pairs
    assert 4 / 6 == pytest.approx(scores.f1)  # type: ignore[union-attr]
    assert 0 < scores.f1_low < scores.f1 < scores.f1_high < 1  # type: ignore[union-attr]


# Runs


TEXTS = {
    "a": "The quick brown fox jumps over the lazy dog.",
    "b": "A completely different sentence, about cats.",
    "c": "The quick brown fox jumps over the lazy dog!!",
    "d": "The quick brown fox jumps over the lazy dog.",
    "e": "Nothing that is like any of the others here.",
}


def test_a_run_is_scored_by_links_and_clusters() -> None:
    """Documents outside its clusters are known to the run, so nothing of the truth is missing."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS))
    scores = nk.evaluate(run, {"a": 0, "c": 0, "d": 0, "b": 1, "e": 1})
    assert (3, 0, 1) == of(scores.pairwise)
    assert (2, 2) == (scores.links.hits, scores.links.of)  # type: ignore[union-attr]
    assert scores.pairs is None
    assert (0, 0) == (scores.counts["unknown"], scores.counts["missing"])


def test_unknown_and_missing_documents_are_named() -> None:
    """An id that the run never read, and one of which the truth says nothing."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS))
    scores = nk.evaluate(run, {"a": 0, "c": 0, "z": 0})
    assert (1, ["z"]) == (scores.counts["missing"], scores.counts["missing_first"])
    assert (3, ["b", "d", "e"]) == (scores.counts["unknown"], scores.counts["unknown_first"])
    assert "z" in str(scores)
    # a with c is found, a with z and c with z are missed; d is not judged.
    assert (1, 0, 2) == of(scores.pairwise)
    assert (1, 1) == (scores.links.hits, scores.links.of)  # type: ignore[union-attr]


def test_a_run_that_lists_all_pairs_is_scored_by_them() -> None:
    """links="all" gives the pairs measure too."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS), links="all")
    scores = nk.evaluate(run, [("a", "c"), ("a", "d"), ("c", "d")])
    assert (2, 0, 1) == of(scores.pairs)
    assert (3, 0, 0) == of(scores.pairwise)
    assert any("exact copy" in note for note in scores.notes)


def test_documents_removed_for_older_ones_are_counted_apart() -> None:
    """Their links name ids of another corpus, which may be ids of this one."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS), against=[TEXTS["b"]], against_ids=["a"])
    scores = nk.evaluate(run, {"a": 0, "b": 0, "c": 0, "d": 0, "e": 1})
    assert 1 == scores.counts["removed_for_older"]
    assert (2, 2) == (scores.links.hits, scores.links.of)  # type: ignore[union-attr]
    assert (3, 0, 3) == of(scores.pairwise)


def test_a_run_may_be_the_truth() -> None:
    """Two runs agree where both saw the same documents; documents outside clusters are alone, not unknown."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS))
    scores = nk.evaluate(run, run)
    assert (1.0, 1.0, 5) == (scores.bcubed.precision, scores.bcubed.recall, scores.bcubed.documents)  # type: ignore[union-attr]
    assert 0 == scores.counts["unknown"]


@pytest.mark.parametrize("found", [7, "ab", "", b"", [("a", "b", "c", "d")], [1, 2]])
def test_what_is_neither_pairs_nor_clusters_is_an_error(found: object) -> None:
    """With what is allowed."""
    with pytest.raises(errors.ParameterError, match="pairs"):
        nk.evaluate(found, {"a": 1})  # type: ignore[arg-type]


def test_an_unknown_rule_for_the_unlisted_is_an_error() -> None:
    """auto, false or unjudged."""
    with pytest.raises(errors.ParameterError, match="unjudged"):
        nk.evaluate({}, {}, unlisted="maybe")  # type: ignore[arg-type]


# Labels


def test_contradictory_labels_are_errors() -> None:
    """An id in two clusters, a number and a string of one text, no id."""
    with pytest.raises(errors.InputError, match="two clusters"):
        ClusterLabels(["a", "a"], [0, 1])
    with pytest.raises(errors.InputError, match="as a number and as a string"):
        ClusterLabels([1, "1"], [0, 0])
    with pytest.raises(errors.InputError, match="integers or strings"):
        PairLabels(["a"], [None])  # type: ignore[list-item]
    with pytest.raises(errors.ParameterError, match="one length"):
        PairLabels(["a"], ["b", "c"])
    with pytest.raises(errors.ParameterError, match="one per id"):
        ClusterLabels(["a"], [])


def test_repeated_pairs_and_pairs_of_one_are_counted() -> None:
    """They are left out, not taken twice; so is a pair with both labels."""
    labels = PairLabels([1, 2, 3, 5, 6, 5], [2, 1, 3, 6, 5, 6], [True, True, True, True, False, True])
    assert {("1", "2"): True} == labels.labels
    assert (3, 1, 1) == (labels.repeated, labels.selves, labels.contradictory)
    scores = nk.evaluate(labels, labels)
    names = ("repeated_pairs", "pairs_with_itself", "repeated_labels", "labels_of_itself", "contradictory_labels")
    assert (3, 1, 3, 1, 1) == tuple(dict(scores.counts)[name] for name in names)
    assert any("both a match and none" in note for note in scores.notes)


@pytest.mark.shared
def test_the_default_job_on_labelled_laws(shared: Path) -> None:
    """Against every pair with J >= 0.8 of the corpus's own list, which has the default's features but for case folding:
    no link is wrong, and nearly every pair lies in a cluster. The list is complete, so recall below 0.95 or precision
    below 0.95 means a fault, not a matter of taste.
    """
    import gzip

    with gzip.open(shared / "data" / "zh_laws.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    truth = read_labels(shared / "data" / "zh_laws.pairs_c4_j50.tsv.gz", label_column="jaccard", at_least=0.8)
    run = nk.dedup([record["text"] for record in records], ids=[record["id"] for record in records], links="all")
    scores = nk.evaluate(run, truth, unlisted="false")
    assert scores.pairs.precision.value > 0.95  # type: ignore[union-attr]
    assert scores.pairs.recall.value > 0.95  # type: ignore[union-attr]
