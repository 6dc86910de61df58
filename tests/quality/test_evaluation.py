"""nearkin.evaluate: every measure equals its definition, computed over all pairs and documents."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
from nearkin import errors
from nearkin.quality.evaluation import BCubed, PairScores, Ratio, bcubed, pairwise
from nearkin.quality.judgements import ClusterLabels, DedupRun, PairLabels, read_judgements
from nearkin.theory.intervals import wilson

NAMES = [str(i) for i in range(12)]
CLUSTERS = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4))
PAIR = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] < pair[1])
PAIRS = st.dictionaries(PAIR, st.booleans())


def counts(found: set[tuple[str, str]], true: set[tuple[str, str]]) -> tuple[int, int, int]:
    return len(found & true), len(found - true), len(true - found)


def count_of(scores: nk.evaluate.PairScores) -> tuple[int, int, int]:  # type: ignore[name-defined]
    return scores.true_positives, scores.false_positives, scores.false_negatives


# The measures


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_cluster_measures_equal_their_definitions(labels: list[tuple[int, int]]) -> None:
    """B-cubed equals the mean over documents, pairwise the count over pairs, for any two clusterings."""
    found = {str(i): a for i, (a, _) in enumerate(labels)}
    true = {str(i): b for i, (_, b) in enumerate(labels)}
    arrays = np.array(list(found.values())), np.array(list(true.values()))
    expected = reference.bcubed(found, true)
    scores = bcubed(*arrays)
    assert tuple(map(float, expected)) == pytest.approx((scores.precision, scores.recall), abs=1e-12)
    assert scores.f1 == pytest.approx(float(2 * expected[0] * expected[1] / (expected[0] + expected[1])), abs=1e-12)
    pairs = reference.pairs_of_clusters(found), reference.pairs_of_clusters(true)
    assert counts(*pairs) == count_of(pairwise(*arrays))


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


def test_a_ratio_without_cases_is_not_a_number() -> None:
    """0 of 0 is NaN between 0 and 1, null in JSON."""
    ratio = Ratio(0, 0)
    assert math.isnan(ratio.value)
    assert (0.0, 1.0) == (ratio.low, ratio.high)
    assert ratio.to_dict()["value"] is None
    empty = nk.evaluate([], [])
    assert "of none" in str(empty)
    json.dumps(empty.to_dict(), allow_nan=False)


# Combinations of inputs


@given(found=CLUSTERS, true=CLUSTERS, complete=st.booleans())
@settings(deadline=None)
def test_clusters_against_clusters(found: dict[str, int], true: dict[str, int], complete: bool) -> None:
    """Documents missing from the run are alone in it; documents missing from the truth are excluded, or alone."""
    scores = nk.evaluate(found, true, unlisted="false" if complete else "auto")
    names = set(found) | set(true) if complete else set(true)
    sides = [{name: side.get(name, 100 + at) for at, name in enumerate(sorted(names))} for side in (found, true)]
    assert counts(*map(reference.pairs_of_clusters, sides)) == count_of(scores.pairwise)
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
    """If the truth has pairs that do not match, unlisted pairs are unjudged by default; otherwise they are false."""
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
        assert counts(judged, positives) == count_of(result)
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
    """Pairs of documents that are not in the truth are not judged."""
    scores = nk.evaluate(PairLabels(*columns(found)), true)
    listed = {pair for pair, match in found.items() if match}
    judged = {pair for pair in listed if set(pair) <= set(true)}
    assert counts(judged, reference.pairs_of_clusters(true)) == count_of(scores.pairs)
    assert len(listed - judged) == scores.counts["unjudged_pairs"]


@given(found=CLUSTERS, true=PAIRS)
@settings(deadline=None)
def test_clusters_against_pairs(found: dict[str, int], true: dict[tuple[str, str], bool]) -> None:
    """Pairs within a cluster are judged by the labels."""
    scores = nk.evaluate(found, PairLabels(*columns(true)))
    together = reference.pairs_of_clusters(found)
    positives = {pair for pair, match in true.items() if match}
    judged = together if all(true.values()) else together & set(true)
    assert counts(judged, positives) == count_of(scores.pairwise)
    assert len(together - judged) == scores.counts["unjudged_pairwise"]


def test_f1_is_inside_its_interval() -> None:
    """F1 is 2 TP / (2 TP + FP + FN) and inside its interval."""
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
    """A run also contains the documents outside its clusters, so none is missing."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS))
    scores = nk.evaluate(run, {"a": 0, "c": 0, "d": 0, "b": 1, "e": 1})
    assert (3, 0, 1) == count_of(scores.pairwise)
    assert (2, 2) == (scores.links.hits, scores.links.total)  # type: ignore[union-attr]
    assert scores.pairs is None
    assert (0, 0) == (scores.counts["unknown"], scores.counts["missing"])


def test_unknown_and_missing_documents_are_named() -> None:
    """An id that the run never read is missing, an id that the truth lacks is unknown."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS))
    scores = nk.evaluate(run, {"a": 0, "c": 0, "z": 0})
    assert (1, ["z"]) == (scores.counts["missing"], scores.counts["missing_first"])
    assert (3, ["b", "d", "e"]) == (scores.counts["unknown"], scores.counts["unknown_first"])
    assert "z" in str(scores)
    # a with c is found, a with z and c with z are missed; d is not judged.
    assert (1, 0, 2) == count_of(scores.pairwise)
    assert (1, 1) == (scores.links.hits, scores.links.total)  # type: ignore[union-attr]


def test_a_run_that_lists_all_pairs_is_scored_by_them() -> None:
    """With links="all" there is also the measure of pairs."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS), links="all")
    scores = nk.evaluate(run, [("a", "c"), ("a", "d"), ("c", "d")])
    assert (2, 0, 1) == count_of(scores.pairs)
    assert (3, 0, 0) == count_of(scores.pairwise)
    assert any("exact copy" in note for note in scores.notes)


def test_documents_removed_for_the_reference_are_counted_separately() -> None:
    """Their links name ids of another corpus, which may equal ids of this one."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS), against=[TEXTS["b"]], against_ids=["a"])
    scores = nk.evaluate(run, {"a": 0, "b": 0, "c": 0, "d": 0, "e": 1})
    assert 1 == scores.counts["removed_for_older"]
    assert (2, 2) == (scores.links.hits, scores.links.total)  # type: ignore[union-attr]
    assert (3, 0, 3) == count_of(scores.pairwise)


def test_a_run_may_be_the_truth() -> None:
    """Two runs agree on common documents; documents outside clusters are alone, not unknown."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS))
    scores = nk.evaluate(run, run)
    assert (1.0, 1.0, 5) == (scores.bcubed.precision, scores.bcubed.recall, scores.bcubed.documents)  # type: ignore[union-attr]
    assert 0 == scores.counts["unknown"]


def test_both_sides_may_be_paths(tmp_path: Path) -> None:
    """Each side may be a path, as on the command line."""
    path = tmp_path / "pairs.tsv"
    path.write_text("left\tright\tmatch\na\tb\t1\na\tc\t0\n")
    scores = nk.evaluate(str(path), path)
    assert (1, 0, 0) == count_of(scores.pairs)
    with pytest.raises(errors.InputError, match="no such file or folder"):
        nk.evaluate("nowhere.tsv", path)


# Edges of the measures


def exact_wilson(hits: int, total: int) -> tuple[Decimal, Decimal]:
    """Return the two roots of (p - k/n)^2 = z^2 p (1 - p) / n, with sixty digits."""
    with localcontext() as context:
        context.prec = 60
        k, n, z2 = Decimal(hits), Decimal(total), Decimal("1.959963984540054") ** 2
        a, b, c = 1 + z2 / n, -(2 * k / n + z2 / n), (k / n) ** 2
        root = (b * b - 4 * a * c).sqrt()
        return (-b - root) / (2 * a), (-b + root) / (2 * a)


@given(st.integers(1, 10**12).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_intervals_equal_the_exact_roots(share: tuple[int, int]) -> None:
    """The formula equals the roots of the quadratic equation for up to 10^12 pairs, and is within 0 and 1."""
    hits, total = share
    low, high = wilson(hits, total)
    assert tuple(map(float, exact_wilson(hits, total))) == pytest.approx((low, high), rel=1e-9, abs=1e-12)
    assert 0 <= low <= hits / total <= high <= 1
    assert (hits == 0, hits == total) == (low == 0, high == 1)


@given(st.integers(1, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_intervals_are_symmetric_and_rise_with_hits(share: tuple[int, int]) -> None:
    """Swapping hits and misses mirrors the interval; one more hit raises both bounds; more data narrows it."""
    hits, total = share
    low, high = wilson(hits, total)
    mirrored = wilson(total - hits, total)
    assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-12)
    if hits < total:
        more = wilson(hits + 1, total)
        assert low < more[0]
        assert high < more[1]
    narrow = wilson(10 * hits, 10 * total)
    assert narrow[1] - narrow[0] < high - low


@pytest.mark.parametrize(("hits", "total"), [(-1, 5), (6, 5), (1, 0)])
def test_more_hits_than_cases_are_an_error(hits: int, total: int) -> None:
    """The message has the value and its range; a Ratio is checked in the same way."""
    message = f"^hits={hits} is not allowed; use 0 to {total}$"
    for make in (wilson, Ratio):
        with pytest.raises(errors.ParameterError, match=message) as raised:
            make(hits, total)
        assert ("hits", hits) == (raised.value.name, raised.value.found)


def test_ratios_print_their_counts_with_separators() -> None:
    """Values have three digits and counts thousands separators; the dictionary has the same bounds."""
    ratio = Ratio(1234, 5000)
    low, high = wilson(1234, 5000)
    assert f"0.247 ({low:.3f} to {high:.3f}, 1,234 of 5,000)" == str(ratio)
    assert {"hits": 1234, "of": 5000, "value": 0.2468, "low": low, "high": high} == ratio.to_dict()
    assert "of none" == str(Ratio(0, 0))
    assert Ratio(1, 2) == Ratio(1, 2) != Ratio(2, 4)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_pair_scores_follow_from_their_counts(hits: int, false: int, missed: int) -> None:
    """Precision, recall, F1 and the interval of F1 equal their formulas; JSON has no NaN."""
    scores = PairScores(hits, false, missed)
    assert (hits, hits + false) == (scores.precision.hits, scores.precision.total)
    assert (hits, hits + missed) == (scores.recall.hits, scores.recall.total)
    total = hits + false + missed
    written = json.loads(json.dumps(scores.to_dict(), allow_nan=False))
    assert (hits, false, missed, None) == tuple(written[f"{a}_{b}s"] for a, b in (
        ("true", "positive"), ("false", "positive"), ("false", "negative"), ("true", "negative")))  # fmt: skip
    if total:
        assert Fraction(2 * hits, 2 * hits + false + missed) == pytest.approx(scores.f1, abs=1e-12)
        assert scores.f1_low - 1e-12 <= scores.f1 <= scores.f1_high + 1e-12
        for bound, of_both in zip((scores.f1_low, scores.f1_high), wilson(hits, total), strict=True):
            assert bound / (2 - bound) == pytest.approx(of_both, abs=1e-12)
    else:
        assert math.isnan(scores.f1)
        assert (0.0, 1.0) == (scores.f1_low, scores.f1_high)
    assert (scores.f1 if total else None) == written["f1"]["value"]


def test_bcubed_of_nothing_is_not_a_number() -> None:
    """Without documents, or without any proportion, F1 is NaN and null in JSON."""
    none = np.zeros(0, np.int64)
    scores = bcubed(none, none)
    assert {"documents": 0, "precision": None, "recall": None, "f1": None} == scores.to_dict()
    assert (0, 0, 0) == count_of(pairwise(none, none))
    assert {"documents": 3, "precision": 0.0, "recall": 0.0, "f1": None} == BCubed(3, 0.0, 0.0).to_dict()
    assert math.isnan(BCubed(3, 0.0, 0.0).f1)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25),
    st.permutations(range(7)),
    st.integers(1, 1000),
)
def test_numbers_of_clusters_do_not_matter(labels: list[tuple[int, int]], other: list[int], step: int) -> None:
    """Other numbers with gaps give the same scores; swapping the sides swaps precision and recall."""
    found, true = (np.array(side, np.int64) for side in zip(*labels, strict=True))
    renamed = np.array(other, np.int64)[found] * step
    scores, again, swapped = bcubed(found, true), bcubed(renamed, true), bcubed(true, renamed)
    assert (scores.precision, scores.recall) == pytest.approx((again.precision, again.recall))
    assert (scores.precision, scores.recall) == pytest.approx((swapped.recall, swapped.precision))
    hits, false, missed = count_of(pairwise(found, true))
    assert (hits, false, missed) == count_of(pairwise(renamed, true))
    assert (hits, missed, false) == count_of(pairwise(true, renamed))


# Types of inputs


@given(found=PAIRS, true=PAIRS, seed=st.integers(0, 10**6))
@settings(deadline=None)
def test_order_and_container_of_pairs_do_not_matter(
    found: dict[tuple[str, str], bool], true: dict[tuple[str, str], bool], seed: int
) -> None:
    """Shuffled generators of reversed pairs with integer ids have the same scores as the labels."""
    draw = random.Random(seed)

    def given_anew(pairs: dict[tuple[str, str], bool]) -> Iterator[list[Any]]:
        rows = [[int(a), int(b), match] for (a, b), match in pairs.items()]
        draw.shuffle(rows)
        return (row if draw.random() < 0.5 else [row[1], row[0], row[2]] for row in rows)

    scores = nk.evaluate(given_anew(found), given_anew(true))  # type: ignore[arg-type]
    assert nk.evaluate(PairLabels(*columns(found)), PairLabels(*columns(true))).to_dict() == scores.to_dict()


@given(found=CLUSTERS, true=CLUSTERS)
@settings(deadline=None)
def test_mappings_are_cluster_labels(found: dict[str, int], true: dict[str, int]) -> None:
    """Ids may be numbers or strings and clusters any hashable; for clusters "auto" equals "unjudged"."""
    labels = [ClusterLabels(side.keys(), side.values()) for side in (found, true)]
    expected = nk.evaluate(*labels).to_dict()
    as_numbers = {int(name): ("cluster", number) for name, number in found.items()}
    assert expected == nk.evaluate(as_numbers, true, unlisted="unjudged").to_dict()


def test_none_is_a_cluster_of_its_own() -> None:
    """Two documents with None are not together, nor with one whose cluster is a tuple of a number."""
    labels = ClusterLabels(["a", "b", "c", "d"], [None, (0,), None, (2,)])
    assert 4 == len(set(labels.labels.values()))
    assert (0, 0, 0) == count_of(nk.evaluate(labels, {"a": None, "b": (0,), "c": None, "d": (2,)}).pairwise)


def test_rows_of_three_have_a_label() -> None:
    """Rows of two match; a pair that the run labels as different is not found."""
    scores = nk.evaluate([("a", "b"), ("a", "c", False), ("c", "d", True)], [("b", "a"), ("c", "a", False)])
    assert (1, 0, 0) == count_of(scores.pairs)
    assert 1 == scores.pairs.true_negatives  # type: ignore[union-attr]
    assert 1 == scores.counts["unjudged_pairs"]
    assert scores.bcubed is None
    assert "pairs that the truth does not list are not judged, so there is no B-cubed" in scores.notes
    assert (1, 1, 0) == count_of(
        nk.evaluate([("a", "b"), ("c", "d")], [("a", "b"), ("a", "c", False)], unlisted="false").pairs
    )


def test_only_the_first_five_unknown_documents_are_named() -> None:
    """They are sorted by text; the count and the note include all, with separators."""
    found = {f"{number:04}": 0 for number in reversed(range(1200))}
    scores = nk.evaluate(found, {"0000": 0, "0001": 0})
    assert (1198, ["0002", "0003", "0004", "0005", "0006"]) == (
        scores.counts["unknown"],
        scores.counts["unknown_first"],
    )
    note = "documents not in the truth, not counted: 1,198, first 0002, 0003, 0004, 0005, 0006"
    assert [note] == scores.notes
    assert str(scores).endswith(f"\nnote: {note}")
    assert 1200 * 1199 // 2 - 1 == scores.counts["unjudged_pairwise"]


@pytest.mark.parametrize(
    ("found", "truth", "message"),
    [
        (7, {}, "^found=int is not allowed; use pairs .tuples of two ids.*, a mapping of ids to clusters, or a run$"),
        ({}, 7, "^truth=int is not allowed; use pairs"),
        ({}, None, "^truth=NoneType is not allowed"),
        ([("a",)], {}, "^found=list is not allowed"),
        ([("a", "b", "c", "d")], {}, "^found=list is not allowed"),
        ([1, 2], {}, "^found=list is not allowed"),
        *((found, {}, "^found=bytes is not allowed; use pairs") for found in (b"ab", b"")),
        ({}, ["ab", "cd"], "^truth=list is not allowed"),
    ],
)
def test_messages_name_the_side_and_the_type(found: object, truth: object, message: str) -> None:
    """A string of two characters is not a pair of ids."""
    with pytest.raises(errors.ParameterError, match=message):
        nk.evaluate(found, truth)  # type: ignore[arg-type]


@pytest.mark.parametrize("unlisted", ["none", "", None, True, "AUTO"])
def test_the_message_of_an_unknown_rule_lists_all(unlisted: object) -> None:
    """The message is compared word for word."""
    with pytest.raises(errors.ParameterError) as raised:
        nk.evaluate({}, {}, unlisted=unlisted)  # type: ignore[arg-type]
    assert f"unlisted={unlisted!r} is not allowed; use auto, false, unjudged" == str(raised.value)


# Runs, by their tables


@given(
    clusters=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3)),
    alone=st.sets(st.sampled_from(NAMES)),
    true=CLUSTERS,
)
@settings(deadline=None)
def test_links_of_a_run_equal_brute_force(clusters: dict[str, int], alone: set[str], true: dict[str, int]) -> None:
    """A link counts if both its ends are in the truth; documents that only the truth has are missing."""
    first: dict[int, str] = {}
    for name, cluster in clusters.items():
        first.setdefault(cluster, name)
    links = {name: first[cluster] for name, cluster in clusters.items() if first[cluster] != name}
    table: dict[str, list[Any]] = {
        "id": list(clusters),
        "cluster": [first[cluster] for cluster in clusters.values()],
        "representative": [first[cluster] for cluster in clusters.values()],
        "reason": ["near" if name in links else "kept" for name in clusters],
    }
    run = DedupRun.from_tables(table, {}, alone)
    if true and run.documents and run.documents.isdisjoint(true):
        with pytest.raises(errors.InputError, match="no id of the run"):
            nk.evaluate(run, true)
        return
    scores = nk.evaluate(run, true)
    judged = {name: kept for name, kept in links.items() if name in true and kept in true}
    right = sum(true[name] == true[kept] for name, kept in judged.items())
    assert scores.links is not None
    assert (right, len(judged)) == (scores.links.hits, scores.links.total)
    assert scores.pairs is None
    missing = sorted(set(true) - set(clusters) - alone)
    assert (len(missing), missing[:5]) == (scores.counts["missing"], scores.counts["missing_first"])
    assert len((set(clusters) | alone) - set(true)) == scores.counts["unknown"]
    sides = [{name: side.get(name, 100 + at) for at, name in enumerate(sorted(true))} for side in (clusters, true)]
    assert counts(*map(reference.pairs_of_clusters, sides)) == count_of(scores.pairwise)


def test_an_evaluation_prints_and_writes_every_measure() -> None:
    """All four measures are printed, and JSON has the same numbers."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS), links="all")
    scores = nk.evaluate(run, {"a": 0, "c": 0, "d": 1, "b": 1, "e": 2})
    lines = str(scores).splitlines()
    assert ["pairs", "", "", "pairwise", "", "", "links", "B-cubed"] == [line[:9].strip() for line in lines[:8]]
    assert f"links     precision {scores.links}" == lines[6]
    assert lines[7].endswith("over 5 documents")
    assert [f"note: {note}" for note in scores.notes] == lines[8:]
    written = scores.to_dict()
    assert written == json.loads(json.dumps(written, allow_nan=False))
    assert (1, 2) == (written["links"]["hits"], written["links"]["of"])
    assert ["pairs", "pairwise", "links", "bcubed", "counts", "notes"] == list(written)


# Labels


def test_contradictory_labels_are_errors() -> None:
    """A number and a string with the same text, a missing id, and columns of several lengths are errors."""
    with pytest.raises(errors.InputError, match="as a number and as a string"):
        ClusterLabels([1, "1"], [0, 0])
    with pytest.raises(errors.InputError, match="integers or strings"):
        PairLabels(["a"], [None])  # type: ignore[list-item]
    with pytest.raises(errors.ParameterError, match="one length"):
        PairLabels(["a"], ["b", "c"])
    with pytest.raises(errors.ParameterError, match="one per id"):
        ClusterLabels(["a"], [])


def test_repeated_and_reflexive_pairs_are_counted() -> None:
    """They count once or not at all; pairs with both labels are excluded."""
    labels = PairLabels([1, 2, 3, 5, 6, 5], [2, 1, 3, 6, 5, 6], [True, True, True, True, False, True])
    assert {("1", "2"): True} == labels.labels
    assert (3, 1, 1) == (labels.repeated, labels.selves, labels.contradictory)
    scores = nk.evaluate(labels, labels)
    names = ("repeated_pairs", "pairs_with_itself", "repeated_labels", "labels_of_itself", "contradictory_labels")
    assert (3, 1, 3, 1, 1) == tuple(dict(scores.counts)[name] for name in names)
    assert any("contradictory labels" in note for note in scores.notes)


@pytest.mark.shared
def test_the_default_job_on_labelled_laws(shared: Path) -> None:
    """The truth is every pair with J >= 0.8 in the corpus's own list, whose features equal the default's except for
    case folding. The list is complete, so precision or recall below 0.95 is a fault.
    """
    import gzip

    with gzip.open(shared / "data" / "zh_laws.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    truth = read_judgements(shared / "data" / "zh_laws.pairs_c4_j50.tsv.gz", label_column="jaccard", min_similarity=0.8)
    run = nk.dedup([record["text"] for record in records], ids=[record["id"] for record in records], links="all")
    scores = nk.evaluate(run, truth, unlisted="false")
    assert scores.pairs.precision.value > 0.95  # type: ignore[union-attr]
    assert scores.pairs.recall.value > 0.95  # type: ignore[union-attr]


def test_a_sample_of_found_pairs_has_no_recall(tmp_path: Path) -> None:
    """Recall and F1 are unknown in text, JSON and tables, unless there is a label of a near miss."""
    pairs = [("a", "b"), ("c", "d")]
    labels = nk.PairLabels(["a", "c"], ["b", "d"], [True, False], [3, 1], ["0.90-0.92", "0.80-0.82"])
    scores = nk.evaluate(pairs, labels)
    assert "pairs     precision 0.750 (" in str(scores)
    assert 2 == str(scores).count("recall    not known") == str(scores).count("F1        not known")
    assert any("recall is not known: every label is of a pair that was found" in note for note in scores.notes)
    found = json.loads(json.dumps(scores.to_dict()))
    assert found["pairs"]["recall"] == {"hits": 1, "of": 1, "value": None, "low": 0.0, "high": 1.0,
                                        "weighted": {"hits": 3.0, "of": 3.0, "effective": 1.0}}  # fmt: skip
    assert found["pairs"]["f1"] == {"value": None, "low": 0.0, "high": 1.0}
    assert [None, None] == scores.to_arrow().column("recall").to_pylist()
    assert "not known" in scores._repr_html_()
    # A judged pair that was not found.
    more = nk.PairLabels(["a", "c", "e"], ["b", "d", "f"], [True, False, False], [3, 1, 9])
    assert 1 == nk.evaluate(pairs, more).pairs.recall.value  # type: ignore[union-attr]
    # A pair that the sampled run did not remove, and this one found.
    path = tmp_path / "labels.tsv"
    path.write_text("left\tright\tmatch\tweight\tremoved\na\tb\t1\t3\t1\nc\td\t1\t1\t0\n")
    known = nk.evaluate(pairs, path)
    assert 1 == known.pairs.recall.value  # type: ignore[union-attr]
    assert not any("recall" in note for note in known.notes)
    # All labelled pairs were removed by that run: recall is among these.
    path.write_text("left\tright\tmatch\tweight\tremoved\na\tb\t1\t3\t1\nx\ty\t1\t1\t1\ne\tf\tunsure\t1\t0\n")
    some = nk.evaluate(pairs, path)
    assert 0.75 == some.pairs.recall.value  # type: ignore[union-attr]
    assert any("recall may be overstated" in note for note in some.notes)
    # Labels that are not a sample have a recall; a sample without labels has no scores.
    assert 1 == nk.evaluate(pairs, [("a", "b", True), ("c", "d", False)]).pairs.recall.value  # type: ignore[union-attr]
    nothing = nk.evaluate(pairs, nk.PairLabels(["a"], ["b"], [None], [1]))
    assert "of none" in str(nothing)


def test_a_truth_of_other_documents_is_an_error(tmp_path: Path) -> None:
    """The message names an id of each side if there is no common one."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS))
    message = r"the truth has no id of the run: 'x' is the first of its 2, 'a' of the run's 5"
    for truth in ([("x", "y")], {"x": 0, "y": 0}):
        with pytest.raises(errors.InputError, match=message):
            nk.evaluate(run, truth)
    path = tmp_path / "bad.csv"
    path.write_text("a,b\nx,y\n")
    with pytest.raises(errors.InputError, match=message):
        nk.evaluate(run, path)
    assert 1 == nk.evaluate(run, [("a", "y")]).counts["missing"]
    assert nk.evaluate(run, []).pairwise is not None
    assert nk.evaluate(nk.dedup([], ids=[]), [("x", "y")]).pairwise is not None


def test_labels_of_reference_documents_have_a_note() -> None:
    """A run with a reference corpus read its documents, though its tables name few of them."""
    run = nk.dedup(list(TEXTS.values()), ids=list(TEXTS), against=[TEXTS["b"]], against_ids=["old"])
    [note] = [each for each in nk.evaluate(run, [("b", "old", True)]).notes if "old" in each]
    assert note == (
        "documents not among the run's own (they may be older ones, as with --against), counted as found alone: "
        "1, first old"
    )


def test_progress_counts_what_is_read_and_scored() -> None:
    """A function is called for each argument and each step, and changes no score."""
    events: list[tuple[str, int, int | None]] = []
    found, truth = [("a", "b"), ("a", "c")], [("a", "b", True), ("a", "c", False)]
    scores = nk.evaluate(found, truth, progress=lambda *event: events.append(event))
    assert nk.evaluate(found, truth).to_dict() == scores.to_dict()
    read = [("read", done, 2) for done in range(3)]
    assert [*read, *[("score", done, 3) for done in range(4)]] == events


def test_a_deduplication_of_vectors_is_scored() -> None:
    """Its summary counts no reference documents."""
    rows = np.repeat(np.eye(3, dtype=np.float32), 2, axis=0)
    scores = nk.evaluate(nk.dedup(rows, threshold=0.9), {0: "a", 1: "a", 2: "b", 3: "c"})
    assert scores.pairwise is not None
    assert (1, 1) == (scores.pairwise.true_positives, scores.pairwise.false_positives)
