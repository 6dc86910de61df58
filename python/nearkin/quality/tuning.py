"""Which bits and radius give the wanted recall, and which features and threshold agree with labels; measured.

**Without labels** a true pair is one whose features have at least the threshold's Jaccard similarity, as deduplication
verifies it (`quality.ground_truth`). For every width the smallest radius is taken whose lower bound of the recall
reaches the wanted share; where no radius in reach does (few pairs), the smallest whose estimate does, and no smaller
than theory asks for at the threshold (`nearkin.theory.simhash_radius`): few pairs can't show that less is enough.
Features are not compared with one another: each defines itself what similar means, and only labels can say which is
right.

**With labels** every kind of features is tried. Verification by its Jaccard similarity at a threshold t accepts pairs;
the t of the best F1 against the labels is taken, and then the smallest radius that finds the wanted share of the true
pairs that are accepted there. The features of the best F1 are chosen. Labels of a sample have weights
(`nearkin.quality.weights`): all shares are then those of the weights.

Of several widths the one of the lowest cost is chosen, by counts, so that the choice depends on arguments alone: a
candidate that does not match costs `_CANDIDATE` of hashing a document, a further word of the fingerprint `_WORD`.
A document that has a match stops there, so only candidates that do not match count, scaled to the size of the corpus.
The seconds in the result are measured, and decide nothing.

Intervals are of 95%: of recall by clusters (`nearkin.quality.intervals`), of precision Wilson's.

Cost: one pass over the corpus; hashing the sample once per recipe and width; all pairs of the sample within the largest
radius, by counts alone. Memory: twice the sample's texts.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.inputs import Columns, Documents, Frame, Paths, opened
from nearkin.dedup.result import ResultTable
from nearkin.dedup.texts import THRESHOLD
from nearkin.dedup.verify import similarity
from nearkin.errors import InputError, bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.notebook import count_of
from nearkin.progress import Progress, ShowProgress, reporting
from nearkin.quality.evaluation import wilson
from nearkin.quality.ground_truth import (
    Sample,
    SampleFingerprints,
    SampleRows,
    TruePairs,
    similar_pairs,
    take_sample,
    widest,
)
from nearkin.quality.intervals import RecallIntervals
from nearkin.quality.labels import ClusterLabels, DedupRun, PairLabels, read_labels
from nearkin.quality.recipe_hints import slot_notes
from nearkin.quality.tuning_results import CurvePoint, MatchScores, Setting, ThresholdPoint, Tuning
from nearkin.quality.weights import WeightSums
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.theory import simhash_radius

Labels: TypeAlias = (
    PairLabels
    | ClusterLabels
    | Iterable[tuple[int | str, int | str] | tuple[int | str, int | str, bool | None]]
    | str
    | os.PathLike[str]
)
"""What is known of pairs: labels, pairs of ids with or without one, or a file of either."""

RECIPES = ("char:3", "char:4", "char:5", "word:1", "word:2", "word:3")
"""Features that are tried against labels, when the caller names none."""
BITS = (64, 128, 256)

_CANDIDATE = 0.3
"""Cost of verifying a candidate, in hashings of a document: measured 0.16 (laws) to 0.34 (news), distinct features."""
_WORD = 0.05
"""Cost of a further word of the fingerprint: 0.05 to 0.15 of hashing a document, measured."""
FEW = 100
"""True pairs below which the result says that they are few."""
_LOWEST = 0.35
"""Least threshold that is tried against labels of all pairs, where candidates come from a wide fingerprint."""
_LABELLED_REACH = 0.42
"""Share of the bits up to which distances of labelled pairs are counted: random pairs lie at a half."""


def tune(
    texts: Texts | Corpus | Frame | Paths,
    ids: Ids | None = None,
    *,
    text: str | None = None,
    id: str | None = None,
    truth: Labels | None = None,
    pairs: Labels | None = None,
    threshold: float | None = None,
    recall: float = 0.95,
    recipes: Iterable[Recipe | str] | None = None,
    bits: Iterable[int] = BITS,
    sample: int = 20_000,
    seed: int = 0,
    progress: ShowProgress = None,
) -> Tuning:
    """Measure which bits and radius find the wanted share of similar pairs, or which features agree with labels.

    Parameters
    ----------
    texts : sequence of str or None, an Arrow string array, a frame, paths, or an open Corpus
        As for `nearkin.dedup`.
    ids : integers or strings, one per text; optional
        None means row numbers. A Corpus has its own.
    text, id : str, optional
        Of a frame or files: the columns of the texts and of the ids, as for `nearkin.dedup`.
    truth : PairLabels, ClusterLabels, iterable of (id, id) or (id, id, bool or None), or a path; optional
        Labels, also those of a file as `nearkin.evaluate` reads it. Where all pairs match, others are taken not to
        match; where some do not, or where they are a sample with weights, others are not judged. With None, pairs of
        at least the threshold are true.
    pairs : optional
        The earlier name of `truth`.
    threshold : float, optional
        Smallest similarity of a match, inclusive, above 0 and up to 1. None means 0.8 without labels, and with labels
        the one of the best F1.
    recall : float, default 0.95
        Share of the true pairs that the candidates have to hold, above 0 and up to 1.
    recipes : iterable of Recipe or str, optional
        What features are and weigh; their bits are not used. None means the default recipe, and with labels
        `nearkin.tune.RECIPES`.
    bits : iterable of int, default (64, 128, 256)
        Widths to try.
    sample : int, default 20,000
        Most documents that are measured; documents of labelled pairs come first where labels judge only what they list.
    seed : int, default 0
        Of the sample and of the bootstrap.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Returns
    -------
    Tuning

    Raises
    ------
    ParameterError
        For a number out of its range, no recipe or width, or both names of the labels.
    InputError
        If no labelled pair is among the texts, and for a file that can't be read or is none of labels.

    Examples
    --------
    >>> import nearkin as nk
    >>> words = "the quick brown fox jumps over the lazy dog and runs away from the old grey hound".split()
    >>> texts = [" ".join(words[:i] + [f"w{i}"] + words[i + 1 :]) for i in range(len(words))]
    >>> tuned = nk.tune(texts, threshold=0.6, bits=[128])
    >>> tuned.chosen["radius"], round(tuned.chosen["recall"], 3), tuned.truth["pairs"]
    (37, 1.0, 136)
    """
    check_options(1.0 if threshold is None else threshold, recall, sample)
    widths = sorted(set(bits))
    if truth is not None and pairs is not None:
        raise bad_parameter("pairs", "labels beside truth", "None, since it is the earlier name of truth")
    given_labels = pairs if truth is None else truth
    labels = None if given_labels is None else _labels(given_labels)
    tried = [Recipe.of(each) for each in (recipes if recipes is not None else [None] if labels is None else RECIPES)]
    if not widths or not tried:
        raise bad_parameter("bits" if tried else "recipes", "none", "at least one")
    if any(recipe.family != "simhash" for recipe in tried):
        raise bad_parameter("recipe", tried[0], "recipes with simhash; nearkin.tune_bands measures those with minhash")
    if any(recipe.features == "given" for recipe in tried):
        raise bad_parameter("recipe", tried[0], "a recipe with char:N or word:N features, which reads texts")
    wanted = None
    if isinstance(labels, PairLabels) and not _complete(labels):
        wanted = {name for pair in labels.labels for name in pair}
    given = Documents(texts, ids)  # type: ignore[arg-type]  # A frame or paths become texts when they are opened.
    with reporting(progress) as report:
        report("sample", 0, None)
        with opened(given, Columns.of(text, id, texts)) as documents:
            taken = take_sample(documents.texts, documents.ids, sample, seed, wanted, report)
        measure = _Tuner(taken if labels is not None else taken.without_copies(), recall, widths, seed, report)
        if labels is None:
            return measure.similar(tried, THRESHOLD if threshold is None else threshold)
        return measure.labelled(tried, labels, threshold)


def check_options(threshold: float, recall: float, sample: int) -> None:
    """Raise ParameterError for a number out of its range."""
    for name, value in (("recall", recall), ("threshold", threshold)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
            raise bad_parameter(name, repr(value), "a number above 0 and up to 1")
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 2:
        raise bad_parameter("sample", repr(sample), "at least 2 documents")


def estimate_notes(recall: float | None, low: float | None, wanted: float) -> list[str]:
    """What to say about a recall whose lower bound does not reach the wanted one."""
    if recall is None or low is None or low >= wanted:
        return []
    return [
        f"recall {recall:.3f} is an estimate from few pairs or clusters, its interval begins at {low:.3f}; "
        "what is advised is no less than theory asks for at the threshold"
    ]


def _labels(pairs: Labels) -> PairLabels | ClusterLabels:
    if isinstance(pairs, (PairLabels, ClusterLabels)):
        return pairs
    if isinstance(pairs, (str, os.PathLike)):
        found = read_labels(pairs)
        if isinstance(found, DedupRun):
            reason = "is the folder of a run, which says what was found, not what is true; give a table of labels"
            raise InputError(f"{os.fspath(pairs)}: {reason}", place=os.fspath(pairs), reason=reason)
        return found
    rows = list(pairs)
    if not all(isinstance(row, (tuple, list)) and len(row) in (2, 3) for row in rows):
        raise bad_parameter("truth", "other rows", "tuples of two ids, or of two ids and a bool")
    return PairLabels([row[0] for row in rows], [row[1] for row in rows], [len(row) == 2 or row[2] for row in rows])


def _complete(labels: PairLabels) -> bool:
    """Whether pairs that are not listed do not match."""
    return not labels.sampled and all(labels.labels.values())


@dataclass
class _Known:
    """Labelled pairs of the sample's rows."""

    left: SampleRows
    right: SampleRows
    match: NDArray[np.bool_]
    complete: bool
    """Whether pairs that are not listed do not match."""
    weight: NDArray[np.float64] | None = None
    """How many pairs each stands for; None where each stands for itself."""

    @classmethod
    def of(cls, labels: PairLabels | ClusterLabels, names: list[str]) -> _Known:
        row_of = {name: row for row, name in enumerate(names)}
        if isinstance(labels, ClusterLabels):
            members: dict[int, list[int]] = {}
            for name, cluster in labels.labels.items():
                if name in row_of:
                    members.setdefault(cluster, []).append(row_of[name])
            parts = [np.array(sorted(rows)) for rows in members.values() if len(rows) > 1]
            ends = [np.array(np.triu_indices(len(rows), 1)) for rows in parts]
            both = [rows[pair] for rows, pair in zip(parts, ends, strict=True)]
            columns = np.concatenate(both, axis=1) if both else np.zeros((2, 0), np.int64)
            return cls(columns[0], columns[1], np.ones(columns.shape[1], bool), True)
        known = [(a, b) for a, b in labels.labels if a in row_of and b in row_of]
        table = np.array([(row_of[a], row_of[b], labels.labels[a, b]) for a, b in known], np.int64).reshape(-1, 3)
        ends_of = np.sort(table[:, :2], axis=1)
        weight = np.array([labels.weights[pair] for pair in known]) if labels.weighted else None
        return cls(ends_of[:, 0], ends_of[:, 1], table[:, 2] == 1, _complete(labels), weight)

    def chosen(self, rows: NDArray[np.bool_]) -> TruePairs:
        """Some of these pairs, without their similarities."""
        weight = None if self.weight is None else self.weight[rows]
        return TruePairs(self.left[rows], self.right[rows], np.zeros(0), "labels", weight=weight)


_Within: TypeAlias = "NDArray[np.int64] | NDArray[np.float64]"
"""For each radius from 0 a number of pairs, or a sum of their weights."""


@dataclass
class _Counts:
    """One recipe with its width: pairs within each radius from 0 to the largest that is looked at.

    Attributes
    ----------
    distances : (n_target,) int64
        Of the pairs that are to be found: those that verification accepts.
    recall, low, high : (reach + 1,) float64
        Share of these within the radius, and its interval.
    hits, candidates : (reach + 1,) int64
        True pairs within the radius, and all pairs of the sample.
    seconds : float
        CPU seconds of hashing a document.
    """

    prints: SampleFingerprints
    distances: NDArray[np.int64]
    recall: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    hits: _Within
    candidates: NDArray[np.int64]
    seconds: float

    def first(self, recall: float, threshold: float) -> int | None:
        """The smallest radius of this recall: by the lower bound if one in reach attains it, else by the estimate.

        One by the estimate is no smaller than theory asks for at the threshold.
        """
        if len(sure := np.flatnonzero(self.low >= recall)):
            return int(sure[0])
        if not len(enough := np.flatnonzero(self.recall >= recall)):
            return None
        least = simhash_radius(threshold, self.prints.recipe.bits, recall) if recall < 1 else 0
        return min(max(int(enough[0]), least), len(self.recall) - 1)


_Option = tuple[tuple[float, ...], _Counts, Setting, TruePairs]
"""What may be advised: its cost, the lowest first; its counts, its row of the settings, the pairs to be found."""


@dataclass
class _Tuner:
    """A sample, what is wanted of it, and the tables as they grow."""

    sample: Sample
    wanted: float
    widths: list[int]
    seed: int
    report: Progress
    curve: list[CurvePoint] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    thresholds: list[ThresholdPoint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def scale(self) -> float:
        """How many documents of the corpus one of the sample represents."""
        return self.sample.documents / max(len(self.sample.texts) + self.sample.copies, 1)

    def similar(self, recipes: list[Recipe], threshold: float) -> Tuning:
        """The smallest radius that finds the wanted share of similar pairs; the first recipe's is advised."""
        best: list[_Option] = []
        truths = [self._similar_pairs(recipe, threshold) for recipe in recipes]
        first = truths[0]
        for recipe, truth in zip(recipes, truths, strict=True):
            for bits in self.widths:
                reach = widest(threshold, bits, 4.0)
                counted = self._count(recipe.with_(bits=bits), truth, truth, None, reach)
                cost, row = self._setting(counted, threshold, truth, None)
                if row["radius"] is not None and truth is first:
                    best.append(((cost, bits), counted, row, truth))
        pairs = len(first.left)
        if pairs < FEW:
            self.notes.append(
                f"only {count_of(pairs, 'true pair')} in the sample; a larger one has more, if there are any"
            )
        self.notes += slot_notes(self.sample.texts, first, recipes[0], threshold)
        return self._result("recall", best, first)

    def labelled(self, recipes: list[Recipe], labels: PairLabels | ClusterLabels, threshold: float | None) -> Tuning:
        """The features and threshold of the best F1, and the smallest radius that keeps it."""
        known = _Known.of(labels, self.sample.names)
        if not known.match.any():
            reason = "no pair that is labelled a match has both its documents in the sample; check the ids"
            raise InputError(f"pairs: {reason}", place="pairs", reason=reason)
        positives, negatives = known.chosen(known.match), None if known.complete else known.chosen(~known.match)
        best: list[_Option] = []
        for recipe in recipes:
            chosen, scores, truth = self._thresholds(recipe, known, threshold)
            for bits in self.widths:
                reach = math.floor(_LABELLED_REACH * bits)
                counted = self._count(recipe.with_(bits=bits), truth, positives, negatives, reach)
                cost, row = self._setting(counted, chosen, truth, scores)
                if row["radius"] is not None:
                    best.append(((-scores["match_f1"], cost, bits), counted, row, truth))
        self.notes += _label_notes(known, len(positives.left))
        method = "labels of all pairs" if known.complete else f"{len(known.match):,} labelled pairs"
        truth = replace(positives, method=method)
        if best:
            _, counted, row, _ = min(best, key=lambda option: option[0])
            self.notes += slot_notes(self.sample.texts, truth, counted.prints.recipe, row["threshold"])
        return self._result("f1", best, truth)

    # TruePairs

    def _similar_pairs(self, recipe: Recipe, threshold: float, deviations: float = 4.0) -> TruePairs:
        stage = f"compare {_features(recipe)}"
        return similar_pairs(
            self.sample.texts,
            recipe,
            threshold,
            lambda done, total: self.report(stage, done, total),
            deviations=deviations,
        )

    def _thresholds(self, recipe: Recipe, known: _Known, wanted: float | None) -> tuple[float, MatchScores, TruePairs]:
        """The threshold of the best F1, its scores, and the labelled matches that it accepts."""
        similarities = similarity(self.sample.texts, known.left, known.right, recipe=recipe)
        judged, match, lowest = self._judged(recipe, known, similarities)
        weight = np.ones(len(judged)) if known.weight is None else known.weight
        steps = [round(step / 20, 2) for step in range(round(20 * lowest), 21)]
        if wanted is not None:
            steps = sorted({*steps, wanted})
        points = [_threshold_point(_features(recipe), step, judged, match, weight) for step in steps]
        self.thresholds += points
        best = max(points, key=lambda point: point["f1"])
        if wanted is not None:
            best = points[steps.index(wanted)]
        accepted = (similarities >= best["threshold"]) & known.match
        scores: MatchScores = {
            "match_precision": best["precision"],
            "match_recall": best["recall"],
            "match_f1": best["f1"],
        }
        return best["threshold"], scores, replace(known.chosen(accepted), similarity=similarities[accepted])

    def _judged(
        self, recipe: Recipe, known: _Known, similarities: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], float]:
        """Similarities of all judged pairs, which of them match, and the lowest threshold to try."""
        if not known.complete:
            return similarities, known.match, 0.05
        # All pairs from the lowest threshold on, of which the labelled ones are taken out.
        found = self._similar_pairs(recipe, _LOWEST, 2.0)
        n = len(self.sample.texts)
        other = ~np.isin(found.left * n + found.right, known.left * n + known.right)
        none = np.zeros(int(other.sum()), bool)
        return (
            np.concatenate([similarities, found.similarity[other]]),
            np.concatenate([known.match, none]),
            _LOWEST,
        )

    # Counting

    def _count(
        self,
        recipe: Recipe,
        truth: TruePairs,
        positives: TruePairs,
        negatives: TruePairs | None,
        reach: int,
    ) -> _Counts:
        stage = f"count {recipe}"
        self.report(stage, 0, 1)
        texts = self.sample.texts
        start = time.process_time()
        prints = SampleFingerprints.of(texts, recipe)
        seconds = (time.process_time() - start) / max(len(texts), 1)
        distances = prints.distances(truth.left, truth.right)
        candidates = np.zeros(reach + 1, np.int64)
        for _, _, found in prints.pairs(reach):
            candidates += np.bincount(found, minlength=reach + 1)
        candidates = candidates.cumsum()
        near = prints.distances(positives.left, positives.right)
        hits = _within(near, reach)
        low, high = RecallIntervals(truth.left, truth.right, self.seed, truth.weight).within(distances, reach)
        share = _within(distances, reach) / max(len(distances), 1)
        if truth.weight is not None:
            share = _within(distances, reach, truth.weight) / (float(truth.weight.sum()) or 1.0)
        counted = _Counts(prints, distances, share, low, high, hits, candidates, seconds)
        if negatives is None:
            self._add_curve(counted, hits, candidates - hits, len(near))
        elif positives.weight is None or negatives.weight is None:
            far = prints.distances(negatives.left, negatives.right)
            self._add_curve(counted, hits, _within(far, reach), len(near))
        else:
            far = prints.distances(negatives.left, negatives.right)
            true, wrong = (_within(*side) for side in ((near, reach, positives.weight), (far, reach, negatives.weight)))
            squares = _within(near, reach, positives.weight**2) + _within(far, reach, negatives.weight**2)
            self._add_curve(counted, true, wrong, float(positives.weight.sum()), squares)
        self.report(stage, 1, 1)
        return counted

    def _add_curve(
        self, counted: _Counts, found: _Within, false: _Within, true: float, squares: _Within | None = None
    ) -> None:
        """A row for each radius: true pairs within it, those known not to match, and all true ones, as counts or as
        sums of weights, whose squares are given.
        """
        per_document = 2 * self.scale / max(len(counted.prints.rows), 1)
        for radius in range(len(counted.hits)):
            hits, wrong = found[radius].item(), false[radius].item()
            low, high = wilson(hits, hits + wrong)
            if squares is not None and hits + wrong:
                effective = WeightSums(hits + wrong, float(squares[radius])).effective
                low, high = wilson(min(hits / (hits + wrong), 1.0) * effective, effective)
            row: CurvePoint = {
                "recipe": str(counted.prints.recipe),
                "radius": radius,
                "recall": float(counted.recall[radius]),
                "recall_low": float(counted.low[radius]),
                "recall_high": float(counted.high[radius]),
                "precision": hits / (hits + wrong) if hits + wrong else None,
                "precision_low": low,
                "precision_high": high,
                "f1": 2 * hits / (hits + wrong + true) if true else None,
                "candidates_per_document": float(counted.candidates[radius]) * per_document,
            }
            self.curve.append(row)

    def _setting(
        self, counted: _Counts, threshold: float, truth: TruePairs, scores: MatchScores | None
    ) -> tuple[float, Setting]:
        """The row of this recipe, and what it costs, by counts."""
        recipe = counted.prints.recipe
        radius = counted.first(self.wanted, threshold) if len(counted.distances) else None
        documents = max(len(counted.prints.rows), 1)
        verify = self._seconds_per_pair(recipe, truth)
        # The points of this recipe are the last ones of the curve.
        point = None if radius is None else self.curve[radius - len(counted.hits)]
        # Pairs that the labels don't list count as wrong here: they are verified, too.
        false = 0 if radius is None else int(counted.candidates[radius] - counted.hits[radius])
        wrong = 2 * self.scale * false / documents
        row: Setting = {
            "recipe": str(recipe),
            "threshold": threshold,
            "radius": radius,
            "recall": None if point is None else point["recall"],
            "recall_low": None if point is None else point["recall_low"],
            "recall_high": None if point is None else point["recall_high"],
            "precision": None if point is None else point["precision"],
            "candidates_per_document": None if point is None else point["candidates_per_document"],
            "usual_radius": simhash_radius(threshold, recipe.bits),
            "bytes": 8 * recipe.words,
            "hash_seconds": 1e6 * counted.seconds,
            "verify_seconds": None if radius is None else 1e6 * verify * wrong,
        }
        if scores is not None:
            row["match_precision"] = scores["match_precision"]
            row["match_recall"] = scores["match_recall"]
            row["match_f1"] = scores["match_f1"]
        self.settings.append(row)
        return _CANDIDATE * wrong + _WORD * recipe.words, row

    def _seconds_per_pair(self, recipe: Recipe, truth: TruePairs) -> float:
        """CPU seconds of verifying a pair, over up to a thousand pairs of random documents."""
        n = len(self.sample.texts)
        if n < 2:
            return 0.0
        left, right = np.random.default_rng(self.seed).integers(0, n, (2, 1000))
        start = time.process_time()
        similarity(self.sample.texts, left, right, recipe=recipe)
        return (time.process_time() - start) / 1000

    # Result

    def _result(self, goal: str, best: list[_Option], truth: TruePairs) -> Tuning:
        chosen, by_length = None, ResultTable({name: [] for name in _LENGTHS})
        if best:
            _, counted, chosen, target = min(best, key=lambda option: option[0])
            self.notes += estimate_notes(chosen["recall"], chosen["recall_low"], self.wanted)
            if chosen["radius"] is not None:
                by_length = _by_length(counted, chosen["radius"], target)
        else:
            self.notes.append(
                f"no radius finds {self.wanted:g} of the true pairs; ask for less, or try other recipes"
                if len(truth.left)
                else "no true pair in the sample; nothing can be tuned"
            )
        settings, curve = ResultTable.of_rows(self.settings), ResultTable.of_rows(self.curve)
        thresholds = ResultTable.of_rows(self.thresholds, ThresholdPoint.__annotations__)
        about = truth.about(self.sample, self.seed)
        return Tuning(goal, chosen, settings, curve, thresholds, by_length, about, self.notes)


def _label_notes(known: _Known, matches: int) -> list[str]:
    """What to say of labels: that they are few, that they judge only what they list, and what weights make of them."""
    notes = []
    if not known.complete:
        notes.append("labels judge only the pairs that they list; precision and F1 are among these")
    if known.weight is not None:
        sums, of_true = WeightSums.of(known.weight), WeightSums.of(known.weight[known.match])
        notes.append(
            f"weighted: {len(known.weight):,} labels stand for {sums.total:,.0f} pairs; the {matches:,} matches among "
            f"them are worth {of_true.effective:,.1f} of equal weight (Kish's effective size)"
        )
    if matches < FEW:
        found = count_of(matches, "labelled match", "labelled matches")
        notes.append(f"only {found} in the sample: threshold and features may fit these alone")
    return notes


def _threshold_point(
    features: str,
    threshold: float,
    similarities: NDArray[np.float64],
    match: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> ThresholdPoint:
    """How well the pairs accepted from a threshold on agree with the labels."""
    accepted = similarities >= threshold
    hits, total, true = (float(weight[which].sum()) for which in (accepted & match, accepted, match))
    return {
        "features": features,
        "threshold": threshold,
        "precision": hits / total if total else math.nan,
        "recall": hits / true,
        "f1": 2 * hits / (total + true),
    }


_LENGTHS = ("from", "to", "pairs", "recall", "median", "p95")


def _by_length(counted: _Counts, radius: int, truth: TruePairs) -> ResultTable:
    """Quarters of the pairs by features of the shorter text."""
    shorter = np.minimum(counted.prints.counts[truth.left], counted.prints.counts[truth.right])
    order = np.argsort(shorter, kind="stable")
    columns: dict[str, list[float]] = {name: [] for name in _LENGTHS}
    for part in np.array_split(order, 4):
        if len(part):
            distances = counted.distances[part]
            quantiles = np.quantile(distances, [0.5, 0.95])
            weight = None if truth.weight is None else truth.weight[part]
            recall = np.average(distances <= radius, weights=weight)
            values = (shorter[part[0]], shorter[part[-1]], len(part), recall, *quantiles)
            for name, value in zip(_LENGTHS, values, strict=True):
                columns[name].append(value.item() if hasattr(value, "item") else value)
    return ResultTable(columns)


def _within(distances: NDArray[np.int64], reach: int, weight: NDArray[np.float64] | None = None) -> _Within:
    """How many of these, or which sum of their weights, are at most each radius up to `reach`."""
    near = distances <= reach
    weights = None if weight is None else weight[near]
    return np.bincount(distances[near], weights, minlength=reach + 1).cumsum()


def _features(recipe: Recipe) -> str:
    """The recipe's text form without weight, hash and family, which do not affect the set of features."""
    return str(recipe).rsplit("|", 3)[0]
