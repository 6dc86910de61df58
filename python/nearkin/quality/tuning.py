"""`tune`: measure which bits and radius reach a recall, and which features and threshold agree with labels.

**Without labels** a true pair is one whose features have at least the threshold's Jaccard similarity, which is how
deduplication verifies pairs (`quality.ground_truth`). For each width the smallest radius is chosen whose lower bound of
the recall reaches the target. If no radius reaches it that way (few pairs), the smallest radius whose estimate does is
chosen, but at least the radius of theory (`nearkin.theory.simhash_radius`), because few pairs cannot justify less.
Features are not compared with each other: each defines its own similarity, and only labels can decide between them.

**With labels** several kinds of features are tried. Verification at a Jaccard threshold t accepts pairs; the t with the
best F1 against the labels is chosen, and then the smallest radius that reaches the target recall of the true pairs
that are accepted. The features with the best F1 win. Labels of a sample have weights (`nearkin.theory.intervals`), and
all proportions are then those of the weights.

Of several widths the one with the lowest cost is chosen. The cost is computed from counts, so the choice depends on
arguments alone: a candidate that does not match costs `CANDIDATE_COST` of hashing a document, another word of the
fingerprint `_WORD_COST`. A document with a match stops there, so only candidates that do not match count, scaled to the
size of the corpus. The seconds in the result are measured and do not affect the choice.

Intervals are of 95%: for recall by clusters (`nearkin.theory.intervals`), for precision Wilson's.

Cost: one pass over the corpus; hashing the sample once per recipe and width; all pairs of the sample within the largest
radius, as counts. Memory: twice the texts of the sample.
"""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.config import THRESHOLD
from nearkin.dedup.inputs import ColumnNames, DedupInputs, FrameLike, Paths, open_inputs
from nearkin.dedup.labels import read_pair_labels
from nearkin.dedup.result import ResultTable
from nearkin.dedup.verify import similarity
from nearkin.errors import bad_parameter, check_count, check_share, input_error
from nearkin.index.ids import Ids
from nearkin.io import Corpus
from nearkin.io.tables import Tabular
from nearkin.notebook import count_of, html_facts
from nearkin.progress import Progress, ShowProgress, reporting
from nearkin.quality.ground_truth import (
    Sample,
    SampleFingerprints,
    SampleRows,
    TruePairs,
    find_similar_pairs,
    max_distance,
    take_sample,
)
from nearkin.quality.judgements import ClusterLabels, DedupRun, Labels, PairLabels, is_complete, read_judgements
from nearkin.quality.recipe_hints import recipe_hints
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.theory import simhash_radius
from nearkin.theory.intervals import RecallIntervals, WeightSums, proportion, wilson

RECIPES = ("char:3", "char:4", "char:5", "word:1", "word:2", "word:3")
"""Default features to try if there are labels."""
BITS = (64, 128, 256)

CANDIDATE_COST = 0.3
"""Cost of verifying a candidate, relative to hashing a document: measured 0.16 (laws) to 0.34 (news)."""
_WORD_COST = 0.05
"""Cost of another word of the fingerprint, relative to hashing a document: measured 0.05 to 0.15."""
_POINT = ("recall", "recall_low", "recall_high", "precision", "candidates_per_document")
"""Columns of the curve that a setting has."""
MIN_PAIRS = 100
"""Number of true pairs below which the result has a note."""
_MIN_THRESHOLD = 0.35
"""Smallest threshold to try if labels cover all pairs, because candidates come from a wide fingerprint."""
_LABELLED_REACH = 0.42
"""Fraction of the bits up to which distances of labelled pairs are counted; random pairs have one half."""


Row: TypeAlias = dict[str, Any]
"""A row of a table of measurements."""


class TuningResult(Tabular):
    """What `Tuning` and `BandTuning` have in common. As a table each is its curve."""

    goal: str
    chosen: Row | None
    curve: ResultTable
    truth: Row
    notes: list[str]

    def _options(self, chosen: Row) -> tuple[float, str, float]:
        """Return the threshold of the recommendation, and the option that selects it with its value."""
        raise NotImplementedError

    def _columns(self) -> dict[str, list[Any]]:
        return self.curve.columns

    def _repr_html_(self) -> str:
        facts = [("advised", self.command() or "nothing: no setting reaches the recall")]
        return html_facts([*facts, *(("note", note) for note in self.notes)]) + self._main_table()._repr_html_()

    def _main_table(self) -> ResultTable:
        return self.curve

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        values: dict[str, Any] = {"goal": self.goal, **vars(self)}
        tables = {name: list(value.rows()) for name, value in values.items() if isinstance(value, ResultTable)}
        others = {name: value for name, value in values.items() if name not in tables}
        return {**others, "command": self.command(), **tables}

    def command(
        self, corpus: str | Sequence[str] = "CORPUS", *, reading: Sequence[str] = (), out: str = "clean"
    ) -> str | None:
        """Return the command line of a deduplication with the recommended setting; None if there is none.

        Parameters
        ----------
        corpus : str or sequence of str, default "CORPUS"
            Inputs of the command.
        reading : sequence of str
            Options for reading the inputs, such as `--id-column id`, one word each.
        out : str, default "clean"
            Output folder.

        Examples
        --------
        >>> import nearkin as nk
        >>> texts = [f"{a} {b} grows in the garden behind the house" for a in ("red", "old") for b in ("ivy", "oak")]
        >>> nk.tune(texts, threshold=0.7, bits=[64]).command("corpus.jsonl")
        "nearkin dedup corpus.jsonl --out clean --recipe 'char:4|binary|xxh3|simhash:64' --threshold 0.7 --radius 18"
        """
        if self.chosen is None:
            return None
        inputs = [corpus] if isinstance(corpus, str) else corpus
        threshold, option, value = self._options(self.chosen)
        settings = ["--recipe", self.chosen["recipe"], "--threshold", f"{threshold:g}", option, f"{value:g}"]
        return shlex.join(["nearkin", "dedup", *inputs, *reading, "--out", out, *settings])


@dataclass(frozen=True)
class Tuning(TuningResult):
    """The result of `tune`. As a table it is its curve.

    Attributes
    ----------
    goal : {"recall", "f1"}
        The objective: recall of similar pairs, or agreement with labels.
    chosen : dict or None
        The recommended row of `settings`; None if no setting reaches the recall.
    settings : ResultTable
        A row per recipe: recipe, threshold, radius (None if none reaches the recall), recall with its interval;
        precision and candidates_per_document (all candidates, scaled to the corpus); bytes per document; measured CPU
        seconds per million documents for hashing, and for verifying candidates that do not match; with labels the
        scores of the verified matches: match_precision, match_recall, match_f1.
    curve : ResultTable
        A row per recipe and radius: recipe, radius, recall, recall_low, recall_high, precision, precision_low,
        precision_high, f1, candidates_per_document.
    thresholds : ResultTable
        With labels, a row per kind of features and threshold: features, threshold, precision, recall, f1.
    by_length : ResultTable
        For the recommended recipe, a row per quarter of the true pairs, by features of the shorter text: from, to,
        pairs, recall, median and 95th percentile of the distance.
    truth : dict
        The origin of the truth: documents, sample, copies, pairs, method, missed, seed.
    notes : list of str
        Remarks that a reader of the figures should know.
    """

    goal: str
    chosen: Row | None
    settings: ResultTable
    curve: ResultTable
    thresholds: ResultTable
    by_length: ResultTable
    truth: Row
    notes: list[str]

    def _options(self, chosen: Row) -> tuple[float, str, float]:
        return chosen["threshold"], "--radius", chosen["radius"]

    def _main_table(self) -> ResultTable:
        return self.settings


def tune(
    texts: Texts | Corpus | FrameLike | Paths,
    ids: Ids | None = None,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    truth: Labels | None = None,
    threshold: float | None = None,
    recall: float = 0.95,
    recipes: Iterable[Recipe | str] | None = None,
    bits: Iterable[int] = BITS,
    sample: int = 20_000,
    seed: int = 0,
    progress: ShowProgress = None,
) -> Tuning:
    """Measure which bits and radius reach a recall of similar pairs, or which features agree with labels.

    Parameters
    ----------
    texts : sequence of str or None, an Arrow string array, a frame, paths, or an open Corpus
        As for `nearkin.dedup`.
    ids : integers or strings, one per text; optional
        Default: row numbers. A Corpus has its own.
    text, id : str, optional
        Columns of the texts and of the ids in a frame or in files, as for `nearkin.dedup`.
    truth : PairLabels, ClusterLabels, mapping of ids to clusters, iterable of (id, id) or (id, id, bool or None), or a
            path; optional
        Labels, or a file of labels as for `nearkin.evaluate`. If all listed pairs match, other pairs do not match; if
        some do not match, or if the labels are a sample with weights, other pairs are unjudged. Default: pairs with at
        least the threshold's similarity are true.
    threshold : float, optional
        Minimum similarity of a match, inclusive, above 0 and up to 1. Default: 0.8, and with labels the threshold with
        the best F1.
    recall : float, default 0.95
        Minimum fraction of the true pairs among the candidates, above 0 and up to 1.
    recipes : iterable of Recipe or str, optional
        Features and weights to try; their bits are ignored. Default: the fingerprint recipe, and with labels
        `nearkin.tune.RECIPES`.
    bits : iterable of int, default (64, 128, 256)
        Widths to try.
    sample : int, default 20,000
        Maximum number of documents to measure; documents of labelled pairs have priority if other pairs are unjudged.
    seed : int, default 0
        Seed of the sample and of the bootstrap.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Returns
    -------
    Tuning

    Raises
    ------
    ParameterError
        A number is out of its range, or there is no recipe or width.
    InputError
        No labelled pair is among the texts, or a file cannot be read or does not contain labels.

    Examples
    --------
    >>> import nearkin as nk
    >>> words = "the quick brown fox jumps over the lazy dog and runs away from the old grey hound".split()
    >>> texts = [" ".join(words[:i] + [f"w{i}"] + words[i + 1 :]) for i in range(len(words))]
    >>> tuning = nk.tune(texts, threshold=0.6, bits=[128])
    >>> tuning.chosen["radius"], round(tuning.chosen["recall"], 3), tuning.truth["pairs"]
    (37, 1.0, 136)
    """
    check_options(1.0 if threshold is None else threshold, recall, sample)
    widths = sorted(set(bits))
    labels = None if truth is None else _parse_labels(truth)
    parsed = [Recipe.of(item) for item in (recipes if recipes is not None else [None] if labels is None else RECIPES)]
    if not widths or not parsed:
        raise bad_parameter("bits" if parsed else "recipes", "none", "at least one")
    if any(recipe.family != "simhash" for recipe in parsed):
        raise bad_parameter("recipe", parsed[0], "recipes with simhash; nearkin.tune_bands measures those with minhash")
    if any(recipe.features == "given" for recipe in parsed):
        raise bad_parameter("recipe", parsed[0], "a recipe of texts, with char:N or word:N features")
    priority = None
    if isinstance(labels, PairLabels) and not is_complete(labels):
        priority = {name for pair in labels.labels for name in pair}
    with reporting(progress) as report:
        drawn = sample_inputs(texts, ids, ColumnNames.from_args(text, id, texts), sample, seed, report, priority)
        tuner = _Tuner(drawn if labels is not None else drawn.without_copies(), recall, widths, seed, report)
        if labels is None:
            return tuner.tune_recall(parsed, THRESHOLD if threshold is None else threshold)
        return tuner.tune_f1(parsed, labels, threshold)


def check_options(threshold: float, recall: float, sample: int) -> None:
    """Raise ParameterError for a number out of its range."""
    for name, value in (("recall", recall), ("threshold", threshold)):
        check_share(name, value, "a number above 0 and up to 1", lambda share: 0 < share <= 1)
    check_count("sample", sample, 2, 1 << 62, "at least 2 documents")


def estimate_notes(recall: float | None, low: float | None, target: float) -> list[str]:
    """Return the note on a recall whose lower bound is below the target."""
    if recall is None or low is None or low >= target:
        return []
    return [
        f"recall {recall:.3f} is an estimate from few pairs or clusters, and its interval starts at {low:.3f}; the "
        "recommended setting is at least that of theory at the threshold"
    ]


def few_pairs_notes(count: int) -> list[str]:
    """Return a note if the sample has too few true pairs to tune with."""
    if count >= MIN_PAIRS:
        return []
    return [f"only {count_of(count, 'true pair')} in the sample; a larger sample may have more"]


def sample_inputs(
    texts: Texts | Corpus | FrameLike | Paths,
    ids: Ids | None,
    columns: ColumnNames,
    size: int,
    seed: int,
    report: Progress,
    priority: set[str] | None = None,
) -> Sample:
    """Open the inputs of a tuning, and draw a sample of their documents."""
    report("sample", 0, None)
    inputs = DedupInputs(texts, ids)  # type: ignore[arg-type]  # A frame or paths become texts when they are opened.
    with open_inputs(inputs, columns) as documents:
        return take_sample(documents.texts, documents.ids, size, seed, priority, report)


def _parse_labels(truth: Labels) -> PairLabels | ClusterLabels:
    if isinstance(truth, (PairLabels, ClusterLabels)):
        return truth
    if isinstance(truth, (str, os.PathLike)):
        labels = read_judgements(truth)
        if isinstance(labels, DedupRun):
            reason = "is the folder of a run, which is not the truth; use a table of labels"
            raise input_error(os.fspath(truth), reason)
        return labels
    return (
        ClusterLabels(truth.keys(), truth.values()) if isinstance(truth, Mapping) else read_pair_labels(truth, "truth")
    )


@dataclass
class _LabelledPairs:
    """Labelled pairs as rows of the sample."""

    left: SampleRows
    right: SampleRows
    match: NDArray[np.bool_]
    complete: bool
    """True if pairs that are not listed do not match."""
    weight: NDArray[np.float64] | None = None
    """Number of pairs that each represents; None if they have no weights."""

    @classmethod
    def of(cls, labels: PairLabels | ClusterLabels, names: list[str]) -> _LabelledPairs:
        row_of = {name: row for row, name in enumerate(names)}
        if isinstance(labels, ClusterLabels):
            members: dict[int, list[int]] = {}
            for name, cluster in labels.labels.items():
                if name in row_of:
                    members.setdefault(cluster, []).append(row_of[name])
            clusters = [np.array(sorted(rows)) for rows in members.values()]
            pairs = [rows[np.array(np.triu_indices(len(rows), 1))] for rows in clusters if len(rows) > 1]
            columns = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), np.int64)
            return cls(columns[0], columns[1], np.ones(columns.shape[1], bool), True)
        inside = [(a, b) for a, b in labels.labels if a in row_of and b in row_of]
        table = np.array([(row_of[a], row_of[b], labels.labels[a, b]) for a, b in inside], np.int64).reshape(-1, 3)
        ends = np.sort(table[:, :2], axis=1)
        weight = np.array([labels.weights[pair] for pair in inside]) if labels.weighted else None
        return cls(ends[:, 0], ends[:, 1], table[:, 2] == 1, is_complete(labels), weight)

    def select(self, rows: NDArray[np.bool_]) -> TruePairs:
        """Return a subset of the pairs, without similarities."""
        weight = None if self.weight is None else self.weight[rows]
        return TruePairs(self.left[rows], self.right[rows], np.zeros(0), "labels", weight=weight)


_ByRadius: TypeAlias = "NDArray[np.int64] | NDArray[np.float64]"
"""For each radius from 0 a number of pairs, or a sum of their weights."""


@dataclass
class _Counts:
    """Counts of pairs for one recipe and width, within each radius from 0 to the largest one.

    Attributes
    ----------
    distances : (n_target,) int64
        Distances of the target pairs, which verification accepts.
    recall, low, high : (max_radius + 1,) float64
        Fraction of the target pairs within the radius, and its interval.
    hits, candidates : (max_radius + 1,) int64
        True pairs, and all pairs of the sample, within the radius.
    seconds : float
        CPU seconds for hashing a document.
    """

    fingerprints: SampleFingerprints
    distances: NDArray[np.int64]
    recall: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    hits: _ByRadius
    candidates: NDArray[np.int64]
    seconds: float

    def min_radius(self, recall: float, threshold: float) -> int | None:
        """Return the smallest radius with this recall: by the lower bound, or else by the estimate and by theory."""
        if len(certain := np.flatnonzero(self.low >= recall)):
            return int(certain[0])
        if not len(sufficient := np.flatnonzero(self.recall >= recall)):
            return None
        theory = simhash_radius(threshold, self.fingerprints.recipe.bits, recall) if recall < 1 else 0
        return min(max(int(sufficient[0]), theory), len(self.recall) - 1)


_Candidate = tuple[tuple[float, ...], _Counts, Row, TruePairs]
"""A possible recommendation: its cost (the lowest wins), its counts, its row of the settings, and the target pairs."""


@dataclass
class _Tuner:
    """A sample, the target recall, and the tables of the result."""

    sample: Sample
    target: float
    widths: list[int]
    seed: int
    report: Progress
    curve: list[Row] = field(default_factory=list)
    settings: list[Row] = field(default_factory=list)
    thresholds: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def scale(self) -> float:
        """Number of documents of the corpus per document of the sample."""
        return self.sample.documents / max(len(self.sample.texts) + self.sample.copies, 1)

    def tune_recall(self, recipes: list[Recipe], threshold: float) -> Tuning:
        """Find the smallest radius with the target recall of similar pairs; only the first recipe is recommended."""
        candidates: list[_Candidate] = []
        truths = [self._similar_pairs(recipe, threshold) for recipe in recipes]
        first = truths[0]
        for recipe, truth in zip(recipes, truths, strict=True):
            for bits in self.widths:
                counts = self._count(recipe.with_(bits=bits), truth, truth, None, max_distance(threshold, bits, 4.0))
                cost, row = self._add_setting(counts, threshold)
                if row["radius"] is not None and truth is first:
                    candidates.append(((cost, bits), counts, row, truth))
        self.notes += few_pairs_notes(len(first.left)) + recipe_hints(self.sample.texts, first, recipes[0], threshold)
        return self._build_result("recall", candidates, first)

    def tune_f1(self, recipes: list[Recipe], labels: PairLabels | ClusterLabels, threshold: float | None) -> Tuning:
        """Find the features and threshold with the best F1, and the smallest radius that preserves it."""
        labelled = _LabelledPairs.of(labels, self.sample.names)
        if not labelled.match.any():
            reason = "no pair that is labelled a match has both its documents in the sample; check the ids"
            raise input_error("truth", reason)
        positives = labelled.select(labelled.match)
        negatives = None if labelled.complete else labelled.select(~labelled.match)
        candidates: list[_Candidate] = []
        for recipe in recipes:
            best, scores, truth = self._choose_threshold(recipe, labelled, threshold)
            for bits in self.widths:
                max_radius = math.floor(_LABELLED_REACH * bits)
                counts = self._count(recipe.with_(bits=bits), truth, positives, negatives, max_radius)
                cost, row = self._add_setting(counts, best, scores)
                if row["radius"] is not None:
                    candidates.append(((-scores["match_f1"], cost, bits), counts, row, truth))
        self.notes += _label_notes(labelled, len(positives.left))
        method = "labels of all pairs" if labelled.complete else f"{len(labelled.match):,} labelled pairs"
        truth = replace(positives, method=method)
        if candidates:
            _, counts, row, _ = min(candidates, key=lambda candidate: candidate[0])
            self.notes += recipe_hints(self.sample.texts, truth, counts.fingerprints.recipe, row["threshold"])
        return self._build_result("f1", candidates, truth)

    def _similar_pairs(self, recipe: Recipe, threshold: float, deviations: float = 4.0) -> TruePairs:
        def report(done: int, total: int | None) -> None:
            self.report(f"compare {_features(recipe)}", done, total)

        return find_similar_pairs(self.sample.texts, recipe, threshold, report, deviations=deviations)

    def _choose_threshold(
        self, recipe: Recipe, labelled: _LabelledPairs, requested: float | None
    ) -> tuple[float, Row, TruePairs]:
        """Return the threshold with the best F1, its scores, and the labelled matches that it accepts."""
        similarities = similarity(self.sample.texts, labelled.left, labelled.right, recipe=recipe)
        judged, match, lowest = similarities, labelled.match, 0.05
        if labelled.complete:
            # All other pairs from the lowest threshold on do not match.
            similar, lowest = self._similar_pairs(recipe, _MIN_THRESHOLD, 2.0), _MIN_THRESHOLD
            n = len(self.sample.texts)
            other = ~np.isin(similar.left * n + similar.right, labelled.left * n + labelled.right)
            judged = np.concatenate([similarities, similar.similarity[other]])
            match = np.concatenate([labelled.match, np.zeros(int(other.sum()), bool)])
        weight = np.ones(len(judged)) if labelled.weight is None else labelled.weight
        steps = {round(step / 20, 2) for step in range(round(20 * lowest), 21)}
        if requested is not None:
            steps.add(requested)
        points = [_score_threshold(_features(recipe), step, judged, match, weight) for step in sorted(steps)]
        self.thresholds += points
        best = max((each for each in points if requested in (None, each["threshold"])), key=lambda each: each["f1"])
        accepted = (similarities >= best["threshold"]) & labelled.match
        scores = {f"match_{name}": best[name] for name in ("precision", "recall", "f1")}
        return best["threshold"], scores, replace(labelled.select(accepted), similarity=similarities[accepted])

    def _count(
        self, recipe: Recipe, truth: TruePairs, positives: TruePairs, negatives: TruePairs | None, max_radius: int
    ) -> _Counts:
        """Count pairs within each radius, and add the points of the curve."""
        stage = f"count {recipe}"
        self.report(stage, 0, 1)
        start = time.process_time()
        fingerprints = SampleFingerprints.of(self.sample.texts, recipe)
        seconds = (time.process_time() - start) / max(len(self.sample.texts), 1)
        distances = fingerprints.distances(truth.left, truth.right)
        candidates = np.zeros(max_radius + 1, np.int64)
        for _, _, values in fingerprints.pairs(max_radius):
            candidates += np.bincount(values, minlength=max_radius + 1)
        candidates = candidates.cumsum()
        near = fingerprints.distances(positives.left, positives.right)
        hits = _count_within(near, max_radius)
        low, high = RecallIntervals(truth.left, truth.right, self.seed, truth.weight).by_radius(distances, max_radius)
        total = len(distances) if truth.weight is None else float(truth.weight.sum())
        recall = _count_within(distances, max_radius, truth.weight) / (total or 1)
        counts = _Counts(fingerprints, distances, recall, low, high, hits, candidates, seconds)
        if negatives is None:
            self._add_curve(counts, hits, candidates - hits, len(near))
        else:
            far = fingerprints.distances(negatives.left, negatives.right)
            true, false = positives.weight, negatives.weight
            if true is None or false is None:
                self._add_curve(counts, hits, _count_within(far, max_radius), len(near))
            else:
                sums = [_count_within(near, max_radius, true), _count_within(far, max_radius, false)]
                squares = _count_within(near, max_radius, true**2) + _count_within(far, max_radius, false**2)
                self._add_curve(counts, sums[0], sums[1], float(true.sum()), squares)
        self.report(stage, 1, 1)
        return counts

    def _add_curve(
        self, counts: _Counts, true: _ByRadius, false: _ByRadius, num_true: float, squares: _ByRadius | None = None
    ) -> None:
        """Add a point per radius, from true and false pairs within it and the number of true ones.

        With weights these are sums of weights, and `squares` has the sums of their squares.
        """
        per_document = 2 * self.scale / max(len(counts.fingerprints.rows), 1)
        for radius in range(len(counts.hits)):
            tp, fp = true[radius].item(), false[radius].item()
            low, high = wilson(tp, tp + fp)
            if squares is not None and tp + fp:
                low, high = proportion(WeightSums(tp, 0.0), WeightSums(tp + fp, float(squares[radius])))[1:]
            point: Row = {
                "recipe": str(counts.fingerprints.recipe),
                "radius": radius,
                "recall": float(counts.recall[radius]),
                "recall_low": float(counts.low[radius]),
                "recall_high": float(counts.high[radius]),
                "precision": tp / (tp + fp) if tp + fp else None,
                "precision_low": low,
                "precision_high": high,
                "f1": 2 * tp / (tp + fp + num_true) if num_true else None,
                "candidates_per_document": float(counts.candidates[radius]) * per_document,
            }
            self.curve.append(point)

    def _add_setting(self, counts: _Counts, threshold: float, scores: Row | None = None) -> tuple[float, Row]:
        """Add the row of a recipe to the settings; return its cost, by counts, and the row."""
        recipe = counts.fingerprints.recipe
        radius = counts.min_radius(self.target, threshold) if len(counts.distances) else None
        verify = self._seconds_per_pair(recipe)
        # The points of this recipe are the last ones of the curve.
        point = {} if radius is None else self.curve[radius - len(counts.hits)]
        # Pairs that the labels do not list count as false, because they are also verified.
        false = 0 if radius is None else int(counts.candidates[radius] - counts.hits[radius])
        false_per_document = 2 * self.scale * false / max(len(counts.fingerprints.rows), 1)
        row: Row = {
            "recipe": str(recipe),
            "threshold": threshold,
            "radius": radius,
            **{name: point.get(name) for name in _POINT},
            "usual_radius": simhash_radius(threshold, recipe.bits),
            "bytes": 8 * recipe.words,
            "hash_seconds": 1e6 * counts.seconds,
            "verify_seconds": None if radius is None else 1e6 * verify * false_per_document,
        }
        row |= scores or {}
        self.settings.append(row)
        return CANDIDATE_COST * false_per_document + _WORD_COST * recipe.words, row

    def _seconds_per_pair(self, recipe: Recipe) -> float:
        """Return the CPU seconds for verifying a pair, measured on a thousand pairs of random documents."""
        n = len(self.sample.texts)
        if n < 2:
            return 0.0
        left, right = np.random.default_rng(self.seed).integers(0, n, (2, 1000))
        start = time.process_time()
        similarity(self.sample.texts, left, right, recipe=recipe)
        return (time.process_time() - start) / 1000

    def _build_result(self, goal: str, candidates: list[_Candidate], truth: TruePairs) -> Tuning:
        chosen, by_length = None, ResultTable.of_rows([], _LENGTH_COLUMNS)
        if candidates:
            _, counts, chosen, target = min(candidates, key=lambda candidate: candidate[0])
            self.notes += estimate_notes(chosen["recall"], chosen["recall_low"], self.target)
            if chosen["radius"] is not None:
                by_length = _group_by_length(counts, chosen["radius"], target)
        elif len(truth.left):
            self.notes.append(f"no radius finds {self.target:g} of the true pairs; use a lower recall or other recipes")
        else:
            self.notes.append("no true pair in the sample; nothing can be tuned")
        settings, curve = ResultTable.of_rows(self.settings), ResultTable.of_rows(self.curve)
        thresholds = ResultTable.of_rows(self.thresholds, ("features", "threshold", "precision", "recall", "f1"))
        summary = truth.summarize(self.sample, self.seed)
        return Tuning(goal, chosen, settings, curve, thresholds, by_length, summary, self.notes)


def _label_notes(labelled: _LabelledPairs, num_matches: int) -> list[str]:
    """Return notes on the labels: unjudged pairs, weights, and few matches."""
    notes = []
    if not labelled.complete:
        notes.append("labels judge only the listed pairs; precision and F1 are among these")
    if labelled.weight is not None:
        sums, true = WeightSums.of(labelled.weight), WeightSums.of(labelled.weight[labelled.match])
        notes.append(
            f"weighted: {len(labelled.weight):,} labels stand for {sums.total:,.0f} pairs; the {num_matches:,} matches "
            f"among them are worth {true.effective:,.1f} of equal weight (Kish's effective size)"
        )
    if num_matches < MIN_PAIRS:
        number = count_of(num_matches, "labelled match", "labelled matches")
        notes.append(f"only {number} in the sample: threshold and features may be overfitted to these")
    return notes


def _score_threshold(
    features: str,
    threshold: float,
    similarities: NDArray[np.float64],
    match: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> Row:
    """Return the agreement with the labels of the pairs that a threshold accepts."""
    accepted = similarities >= threshold
    hits, total, true = (float(weight[rows].sum()) for rows in (accepted & match, accepted, match))
    return {
        "features": features,
        "threshold": threshold,
        "precision": hits / total if total else math.nan,
        "recall": hits / true,
        "f1": 2 * hits / (total + true),
    }


_LENGTH_COLUMNS = ("from", "to", "pairs", "recall", "median", "p95")


def _group_by_length(counts: _Counts, radius: int, truth: TruePairs) -> ResultTable:
    """Return the quarters of the pairs, by features of the shorter text."""
    lengths = np.minimum(counts.fingerprints.counts[truth.left], counts.fingerprints.counts[truth.right])
    rows = []
    for quarter in np.array_split(np.argsort(lengths, kind="stable"), 4):
        if len(quarter):
            distances = counts.distances[quarter]
            weight = None if truth.weight is None else truth.weight[quarter]
            recall = np.average(distances <= radius, weights=weight).item()
            ends = lengths[quarter[0]].item(), lengths[quarter[-1]].item()
            values = (*ends, len(quarter), recall, *np.quantile(distances, [0.5, 0.95]).tolist())
            rows.append(dict(zip(_LENGTH_COLUMNS, values, strict=True)))
    return ResultTable.of_rows(rows, _LENGTH_COLUMNS)


def _count_within(
    distances: NDArray[np.int64], max_radius: int, weight: NDArray[np.float64] | None = None
) -> _ByRadius:
    """Return the number of pairs, or the sum of their weights, within each radius up to `max_radius`."""
    near = distances <= max_radius
    weights = None if weight is None else weight[near]
    return np.bincount(distances[near], weights, minlength=max_radius + 1).cumsum()


def _features(recipe: Recipe) -> str:
    """Return the text form without weight, hash and family, which do not affect the set of features."""
    return str(recipe).rsplit("|", 3)[0]
