"""Precision and recall of a deduplication, compared with labels, clusters or another run.

With TP pairs found and true, FP found and not true, FN true and not found:

    precision = TP / (TP + FP)        recall = TP / (TP + FN)        F1 = 2 TP / (2 TP + FP + FN)

They are computed over the pairs that a run lists (*pairs*), over the pairs of documents in one cluster (*pairwise*),
and over the links from a removed document to the kept one (*links*, precision only). B-cubed compares, for each
document, its found cluster C with its true cluster T, both including the document itself:

    precision = mean over documents of |C ∩ T| / |C|        recall = mean of |C ∩ T| / |T|

and F1 is their harmonic mean. The number of pairs grows with the square of the cluster size, while B-cubed weighs every
document equally.

Intervals are Wilson's, of 95% (`nearkin.theory.intervals`); that of F1 follows from TP / (TP + FP + FN) =
F1 / (2 − F1). They assume independent pairs. The pairs of a large cluster are not independent, so the true uncertainty
is larger.

Labels of a sample have weights: proportions are then those of the weights, and n is Kish's effective number of labels.
A stratum without a matching label counts as one without true pairs, however many pairs it represents, so recall may be
overstated. If every label of a sample is of a pair that was found, the labels contain no information on missed pairs:
recall and F1 are unknown, which is NaN here.

Cost: linear in documents and listed pairs; pairs of clusters are counted, not listed.

Source: A. Bagga, B. Baldwin, "Entity-based cross-document coreferencing using the vector space model" (1998), section 5
(B-cubed).
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import components
from nearkin.dedup.labels import read_pair_labels
from nearkin.dedup.result import DedupResult
from nearkin.errors import InputError, ParameterError, bad_parameter
from nearkin.io.tables import Tabular
from nearkin.notebook import html_facts, html_table
from nearkin.progress import ShowProgress, reporting, ticker
from nearkin.quality.judgements import ClusterLabels, DedupRun, Labels, PairLabels, is_complete, read_judgements
from nearkin.theory.intervals import WeightSums, proportion, wilson

Unlisted = Literal["auto", "false", "unjudged"]
Judgements: TypeAlias = (
    DedupResult | DedupRun | Labels | Mapping[int | str, Hashable] | Mapping[int, Hashable] | Mapping[str, Hashable]
)
"""Documents that belong together: a run, clusters of ids, pairs of ids with or without a label, or a file of these."""


@dataclass(frozen=True)
class Ratio:
    """A proportion with its Wilson interval of 95%.

    Parameters
    ----------
    hits, total : int
        Counts.
    weights : (WeightSums, WeightSums), optional
        Weights of the hits and of all cases. The proportion is then that of the weights.
    known : bool, default True
        False if the counts do not determine the proportion.

    Attributes
    ----------
    value, low, high : float
        NaN, 0 and 1 if the proportion is unknown or there are no cases.

    Examples
    --------
    >>> from nearkin.quality.evaluation import Ratio
    >>> str(Ratio(9, 10)), Ratio(9, 10).value
    ('0.900 (0.596 to 0.982, 9 of 10)', 0.9)
    """

    hits: int
    total: int
    weights: tuple[WeightSums, WeightSums] | None = field(default=None, repr=False)
    known: bool = True
    value: float = field(init=False)
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        if not self.known:
            value, low, high = math.nan, 0.0, 1.0
        elif self.weights is None or not self.total:
            low, high = wilson(self.hits, self.total)
            value = self.hits / self.total if self.total else math.nan
        else:
            value, low, high = proportion(*self.weights)
        _set_fields(self, value=value, low=low, high=high)

    def __str__(self) -> str:
        if not self.known:
            return "not known"
        if not self.total:
            return "of none"
        cases = f"{self.hits:,} of {self.total:,}"
        if self.weights is not None:
            cases = f"weighted, {cases} labels, worth {self.weights[1].effective:,.1f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f}, {cases})"

    def to_dict(self) -> dict[str, Any]:
        """Return hits, of (the total), value, low and high, with None for NaN; with weights also their sums."""
        bounds = {"value": _none_if_nan(self.value), "low": self.low, "high": self.high}
        values: dict[str, Any] = {"hits": self.hits, "of": self.total, **bounds}
        if self.weights is not None:
            hits, cases = self.weights
            values["weighted"] = {"hits": hits.total, "of": cases.total, "effective": cases.effective}
        return values


def _set_fields(instance: object, **values: object) -> None:
    """Set fields of a frozen dataclass, in its `__post_init__`."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


@dataclass(frozen=True)
class PairScores:
    """Counts of pairs, and the scores that follow from them.

    Attributes
    ----------
    true_positives, false_positives, false_negatives : int
    true_negatives : int or None
        Known only if the truth lists pairs that do not match.
    weights : tuple of four WeightSums, or None
        Weights of the labels behind the four counts, in their order; the scores are then those of the weights.
    recall_known : bool
        False if only found pairs were judged, so recall and F1 are unknown.
    precision, recall : Ratio
    f1, f1_low, f1_high : float
        NaN, 0 and 1 if there are no pairs or recall is unknown.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int | None = None
    weights: tuple[WeightSums, WeightSums, WeightSums, WeightSums] | None = field(default=None, repr=False)
    recall_known: bool = True
    precision: Ratio = field(init=False)
    recall: Ratio = field(init=False)
    f1: float = field(init=False)
    f1_low: float = field(init=False)
    f1_high: float = field(init=False)

    def __post_init__(self) -> None:
        tp, fp, fn = self.true_positives, self.false_positives, self.false_negatives
        found = true = union = None
        if self.weights is not None:
            tp_sums, fp_sums, fn_sums, _ = self.weights
            found, true = (tp_sums, tp_sums + fp_sums), (tp_sums, tp_sums + fn_sums)
            union = tp_sums, tp_sums + fp_sums + fn_sums
        jaccard = Ratio(tp, tp + fp + fn, union, self.recall_known)
        _set_fields(
            self,
            precision=Ratio(tp, tp + fp, found),
            recall=Ratio(tp, tp + fn, true, self.recall_known),
            f1=2 * jaccard.value / (1 + jaccard.value),
            f1_low=2 * jaccard.low / (1 + jaccard.low),
            f1_high=2 * jaccard.high / (1 + jaccard.high),
        )

    def format_f1(self) -> str:
        """Return F1 with its interval."""
        if not self.recall_known:
            return "not known"
        return "of none" if math.isnan(self.f1) else f"{self.f1:.3f} ({self.f1_low:.3f} to {self.f1_high:.3f})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with None for NaN; with weights also the number of pairs behind each count."""
        values = {
            **{name: getattr(self, name) for name in _COUNTS},
            "precision": self.precision.to_dict(),
            "recall": self.recall.to_dict(),
            "f1": {"value": _none_if_nan(self.f1), "low": self.f1_low, "high": self.f1_high},
        }
        if self.weights is not None:
            values["weighted"] = {name: sums.total for name, sums in zip(_COUNTS, self.weights, strict=True)}
        return values


@dataclass(frozen=True)
class BCubed:
    """Means over documents; NaN without documents."""

    documents: int
    precision: float
    recall: float
    f1: float = field(init=False)

    def __post_init__(self) -> None:
        total = self.precision + self.recall
        _set_fields(self, f1=2 * self.precision * self.recall / total if total else math.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with None for NaN."""
        return {name: _none_if_nan(value) for name, value in vars(self).items()}


_COUNTS = ("true_positives", "false_positives", "false_negatives", "true_negatives")


@dataclass(frozen=True)
class StratumScores:
    """The labels of one stratum, such as a range of similarity, compared with the run.

    Attributes
    ----------
    name : str
    pairs : float
        Number of pairs that the labels represent: the sum of their weights, or their number without weights.
    scores : PairScores
        A pair is found if it is listed, or if its documents are in one cluster.
    matching : Ratio
        The proportion of pairs that match.
    """

    name: str
    pairs: float
    scores: PairScores
    matching: Ratio

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {
            "stratum": self.name,
            "labels": self.matching.total,
            "pairs": self.pairs,
            **{name: getattr(self.scores, name) for name in _COUNTS},
            "matching": self.matching.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Evaluation(Tabular):
    """The result of `evaluate`. As a table it has one row per available measure, with null for missing values.

    Attributes
    ----------
    pairs : PairScores or None
        Scores of the listed pairs; None if the run has only clusters.
    pairwise : PairScores or None
        Scores of the pairs of documents in one found cluster.
    links : Ratio or None
        Precision of the links from removed documents to kept ones; None if the input is not a run.
    bcubed : BCubed or None
        None if pairs that the truth does not list are unjudged.
    counts : dict
        Numbers of compared and of excluded items: `unknown` documents of the run are not in the truth, with the first
        ids in `unknown_first`; `missing` documents are in the truth and not in the run, and count as found alone;
        `unjudged` pairs were found and are not counted.
    notes : list of str
        Remarks that a reader of the scores should know.
    strata : list of StratumScores
        The labels by stratum, in the order of the names.
    """

    pairs: PairScores | None
    pairwise: PairScores | None
    links: Ratio | None
    bcubed: BCubed | None
    counts: dict[str, Any]
    notes: list[str]
    strata: list[StratumScores] = field(default_factory=list)

    def _columns(self) -> dict[str, list[Any]]:
        rows: list[dict[str, Any]] = [
            {
                "measure": name,
                **vars(scores),
                **_bounds("precision", scores.precision),
                **_bounds("recall", scores.recall),
            }
            for name, scores in self._pair_scores()
        ]
        if self.links is not None:
            rows.append({"measure": "links", **_bounds("precision", self.links)})
        if self.bcubed is not None:
            rows.append({"measure": "bcubed", **vars(self.bcubed)})
        return {name: [row.get(name) for row in rows] for name in ("measure", *self._types())}

    def _pair_scores(self) -> list[tuple[str, PairScores]]:
        sides = (("pairs", self.pairs), ("pairwise", self.pairwise))
        return [(name, scores) for name, scores in sides if scores is not None]

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (name, scores.precision, scores.recall, scores.format_f1()) for name, scores in self._pair_scores()
        ]
        if self.links is not None:
            rows.append(("links", self.links, "", ""))
        if self.bcubed is not None:
            values = (self.bcubed.precision, self.bcubed.recall, self.bcubed.f1)
            rows.append(("B-cubed", *(f"{value:.3f}" for value in values)))
        html = html_table(["measure", "precision", "recall", "F1"], rows, total=len(rows))
        if self.strata:
            names = ["stratum", "match", "found, right", "found, wrong", "missed"]
            strata = [(s.name, s.matching, *(getattr(s.scores, count) for count in _COUNTS[:3])) for s in self.strata]
            html += html_table(names, strata, total=len(strata), max_rows=len(strata))
        return html + html_facts(("note", note) for note in self.notes)

    def _types(self) -> dict[str, str]:
        ratios = [f"{name}{end}" for name in ("precision", "recall", "f1") for end in ("", "_low", "_high")]
        return {**dict.fromkeys(ratios, "float64"), **dict.fromkeys((*_COUNTS, "documents"), "int64")}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        values = {name: getattr(self, name) for name in ("pairs", "pairwise", "links", "bcubed")}
        scores = {name: None if value is None else value.to_dict() for name, value in values.items()}
        strata = {"strata": [stratum.to_dict() for stratum in self.strata]} if self.strata else {}
        return {**scores, "counts": self.counts, "notes": self.notes, **strata}

    def __str__(self) -> str:
        lines = []
        for name, scores in self._pair_scores():
            lines += [f"{name:<9} precision {scores.precision}", f"{'':<9} recall    {scores.recall}"]
            lines.append(f"{'':<9} F1        {scores.format_f1()}")
        if self.links is not None:
            lines.append(f"{'links':<9} precision {self.links}")
        if self.bcubed is not None:
            b = self.bcubed
            values = f"precision {b.precision:.3f}, recall {b.recall:.3f}, F1 {b.f1:.3f}"
            lines.append(f"{'B-cubed':<9} {values}, over {b.documents:,} documents")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _bounds(name: str, ratio: Ratio) -> dict[str, float]:
    return {name: ratio.value, f"{name}_low": ratio.low, f"{name}_high": ratio.high}


def bcubed(predicted: NDArray[np.int64], true: NDArray[np.int64]) -> BCubed:
    """Return B-cubed of two clusterings of the same documents.

    Parameters
    ----------
    found, true : (n,) int64
        Cluster of each document, numbered from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.quality.evaluation import bcubed
    >>> scores = bcubed(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    >>> round(scores.precision, 4), scores.recall
    (0.6667, 0.75)
    """
    if not len(predicted):
        return BCubed(0, math.nan, math.nan)
    found_cluster, true_cluster, common = _contingency(predicted, true)
    squares = common.astype(np.float64) ** 2
    precision = float((squares / np.bincount(predicted)[found_cluster]).sum()) / len(predicted)
    recall = float((squares / np.bincount(true)[true_cluster]).sum()) / len(predicted)
    return BCubed(len(predicted), precision, recall)


def pairwise(predicted: NDArray[np.int64], true: NDArray[np.int64]) -> PairScores:
    """Return the scores of the pairs of documents in one cluster, of two clusterings of the same documents.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.quality.evaluation import pairwise
    >>> scores = pairwise(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    >>> scores.true_positives, scores.false_positives, scores.false_negatives
    (1, 2, 1)
    """
    both = _count_pairs(_contingency(predicted, true)[2])
    return PairScores(both, _count_pairs(np.bincount(predicted)) - both, _count_pairs(np.bincount(true)) - both)


def _contingency(
    predicted: NDArray[np.int64], true: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the found cluster, the true cluster and the number of common documents of each overlap."""
    width = int(true.max(initial=-1)) + 1
    keys, common = np.unique(predicted * width + true, return_counts=True)
    return keys // max(width, 1), keys % max(width, 1), common.astype(np.int64)


def _count_pairs(sizes: NDArray[np.int64]) -> int:
    """Return the number of pairs within clusters."""
    return int((sizes * (sizes - 1) // 2).sum())


def evaluate(
    predicted: Judgements, truth: Judgements, *, unlisted: Unlisted = "auto", progress: ShowProgress = None
) -> Evaluation:
    """Compare a deduplication with the truth.

    Parameters
    ----------
    predicted : DedupResult, DedupRun, PairLabels, ClusterLabels, mapping, or iterable of pairs
        The run. A mapping contains the cluster of each id.
    truth : PairLabels, ClusterLabels, DedupRun, DedupResult, mapping, or iterable of (id, id) or (id, id, bool)
        The truth. For a run these are its clusters.
    unlisted : {"auto", "false", "unjudged"}, default "auto"
        Pairs (for clusters: documents) that the truth does not list. "false": they do not match (a document is alone in
        its cluster). "unjudged": they do not count. "auto": "false" if all listed pairs match, otherwise "unjudged".
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with "read", the number of arguments that are
        read, and 2; then with "score", the number of finished steps, and 3: ids are numbered, pairs are scored,
        clusters are scored.

    Returns
    -------
    Evaluation

    Raises
    ------
    ParameterError
        An argument is neither pairs nor clusters.
    InputError
        An id is invalid or in two clusters, or the labels name ids that are not rows of a run without ids.

    Examples
    --------
    >>> import nearkin as nk
    >>> scores = nk.evaluate({1: "x", 2: "x", 3: "x"}, {1: "a", 2: "a", 3: "b", 4: "b"})
    >>> print(scores)
    pairwise  precision 0.333 (0.061 to 0.792, 1 of 3)
              recall    0.500 (0.095 to 0.905, 1 of 2)
              F1        0.400 (0.087 to 0.823)
    B-cubed   precision 0.667, recall 0.750, F1 0.706, over 4 documents
    >>> scores = nk.evaluate([("a", "b"), ("a", "c")], [("a", "b", True), ("a", "c", False), ("b", "d", True)])
    >>> scores.pairs.true_positives, scores.pairs.false_positives, scores.pairs.false_negatives
    (1, 1, 1)
    """
    if unlisted not in get_args(Unlisted):
        raise bad_parameter("unlisted", repr(unlisted), ", ".join(get_args(Unlisted)))
    with reporting(progress) as report:
        tick = ticker(report, "read", 2)
        run = _parse_judgements(predicted, "found")
        tick(1)
        labels = _parse_judgements(truth, "truth")
        tick(1)
        return _score(run, labels, unlisted, ticker(report, "score", 3))


def _score(
    run: PairLabels | ClusterLabels | DedupRun,
    labels: PairLabels | ClusterLabels | DedupRun,
    unlisted: Unlisted,
    tick: Callable[[int], None],
) -> Evaluation:
    """Return the scores of a run; `tick` counts the three steps."""
    if isinstance(run, DedupRun):
        _check_ids(run, labels)
    complete = unlisted == "false"
    if isinstance(labels, DedupRun):
        # A run contains every document; those outside its clusters are alone.
        clusters = dict(labels.clusters.labels)
        alone = sorted(labels.documents - clusters.keys())
        labels = ClusterLabels([*clusters, *alone], [*clusters.values(), *[None] * len(alone)])
    elif isinstance(labels, PairLabels):
        if complete and labels.sampled:
            raise bad_parameter("unlisted", repr(unlisted), "auto or unjudged, with labels of a sample of pairs")
        complete = complete or (unlisted == "auto" and is_complete(labels))
    evaluator = _Evaluator(run, labels, complete=complete)
    tick(1)
    return evaluator.evaluate(tick)


def _check_ids(run: DedupRun, truth: PairLabels | ClusterLabels | DedupRun) -> None:
    """Raise InputError if labels name ids other than row numbers of a run without ids, or no id of the run."""
    labelled, own = _collect_ids(truth), _collect_ids(run)
    unknown = labelled - own
    if own and labelled and unknown == labelled and not run.numbered:
        reason = (
            f"has no id of the run: {min(labelled)!r} is the first of its {len(labelled):,}, {min(own)!r} of the run's "
            f"{len(own):,}; use labels of this run, and name the columns of their ids"
        )
        raise InputError(f"the truth {reason}", place="truth", reason=reason)
    if unknown and run.numbered:
        reason = (
            f"the run's ids are row numbers from 0 to {len(run.documents) - 1}, and {len(unknown):,} of "
            f"{len(labelled):,} labelled ids are not among them, such as {min(unknown)!r}; run nearkin dedup again "
            "with --id-column and the column of these ids"
        )
        raise InputError(reason, place="truth", reason=reason)


def _parse_judgements(value: object, name: str) -> PairLabels | ClusterLabels | DedupRun:
    if isinstance(value, (PairLabels, ClusterLabels, DedupRun)):
        return value
    if isinstance(value, (str, os.PathLike)) and os.fspath(value):
        return read_judgements(value)
    if isinstance(value, DedupResult):
        # Vectors have no reference documents.
        older = value.summary.get("older_documents", 0)
        return DedupRun.from_tables(value.clusters.columns, value.pairs.columns, value.kept, older_documents=older)
    if isinstance(value, Mapping):
        return ClusterLabels(value.keys(), value.values())
    if isinstance(value, Iterable) and not isinstance(value, str):
        with contextlib.suppress(ParameterError):
            return read_pair_labels(value, name)
    raise bad_parameter(name, type(value).__name__, "pairs (tuples of two ids), a mapping of ids to clusters, or a run")


class _Evaluator:
    """A run and the truth over one numbering of ids."""

    def __init__(
        self, run: PairLabels | ClusterLabels | DedupRun, truth: PairLabels | ClusterLabels, *, complete: bool
    ) -> None:
        self.run, self.truth = run, truth
        self.truth_ids, self.run_ids = _collect_ids(truth), _collect_ids(run)
        self.number = {name: i for i, name in enumerate(sorted(self.truth_ids | self.run_ids))}
        self.listed = run if isinstance(run, PairLabels) else run.pairs if isinstance(run, DedupRun) else None
        # Documents that count; if the truth is clusters, and others are unjudged, only those in the truth.
        self.judged = np.ones(len(self.number), bool)
        self.complete = complete
        self.true: NDArray[np.int64] | None = None
        self.weight: NDArray[np.float64] | None = None
        if isinstance(truth, ClusterLabels):
            self.true = self._number_clusters(truth)
            if not complete:
                self.judged[[self.number[name] for name in self.run_ids - self.truth_ids]] = False
        else:
            left, right = self._number_pairs(truth.labels)
            match = np.fromiter(truth.labels.values(), bool, len(left))
            order = np.argsort(self._keys(left, right))
            self.left, self.right, self.match = left[order], right[order], match[order]
            if truth.weighted:
                self.weight = np.array([truth.weights[pair] for pair in truth.labels])[order]
            strata = [truth.strata.get(pair) for pair in truth.labels]
            self.stratum = [strata[i] for i in order.tolist()]
            if complete:
                self.true = self._components(self.left[self.match], self.right[self.match])

    def _number_pairs(self, pairs: Iterable[tuple[str, str]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        columns = np.array([(self.number[a], self.number[b]) for a, b in pairs], np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    def _keys(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        return left * len(self.number) + right

    def _components(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        return components(len(self.number), left.astype(np.uint32), right.astype(np.uint32)).astype(np.int64)

    def _number_clusters(self, labels: ClusterLabels) -> NDArray[np.int64]:
        """Return the cluster of every document; a document without label is alone."""
        clusters = np.arange(len(self.number)) + len(labels.labels)
        for name, cluster in labels.labels.items():
            clusters[self.number[name]] = cluster
        return _renumber(clusters)

    def evaluate(self, tick: Callable[[int], None]) -> Evaluation:
        """Return every measure that both sides allow; `tick` counts pairs as one step, and clusters as another."""
        run, truth = self.run, self.truth
        counts: dict[str, Any] = {"documents": len(self.number), **self._count_documents()}
        notes: list[str] = []
        strata: list[StratumScores] = []
        pairs = links = None
        if self.listed is not None:
            left, right = self._number_pairs(pair for pair, match in self.listed.labels.items() if match)
            pairs = self._score_pairs(left, right)
            counts["unjudged_pairs"] = len(left) - pairs.precision.total
            counts["repeated_pairs"], counts["pairs_with_itself"] = self.listed.repeated, self.listed.selves
        if isinstance(run, PairLabels):
            clusters = self._components(left, right)
            notes.append("found clusters are the connected components of the found pairs")
        else:
            clusters = self._number_clusters(run.clusters if isinstance(run, DedupRun) else run)
        if isinstance(run, DedupRun):
            links = self._score_pairs(*np.sort(self._number_pairs(run.links), axis=0)).precision
            counts["removed_for_older"] = run.older
            if self.listed is not None:
                notes.append("a run links an exact copy with its original only; pairwise counts all pairs of a cluster")
        tick(1)
        pairwise_scores = self._score_clusters(clusters)
        counts["unjudged_pairwise"] = _count_pairs(np.bincount(clusters)) - pairwise_scores.precision.total
        b_cubed = None if self.true is None else bcubed(*self._judged_clusters(clusters))
        if isinstance(truth, PairLabels):
            counts["repeated_labels"], counts["labels_of_itself"] = truth.repeated, truth.selves
            counts["contradictory_labels"], counts["unsure_labels"] = truth.contradictory, truth.unsure
            if truth.unsure:
                notes.append(f"excluded pairs labelled unsure: {truth.unsure:,}")
            if truth.contradictory:
                notes.append(f"excluded pairs with contradictory labels: {truth.contradictory:,}")
            if self.complete:
                notes.append("true clusters are the connected components of the true pairs")
            else:
                notes.append("pairs that the truth does not list are not judged, so there is no B-cubed")
            if truth.sampled:
                counts |= self._describe_sample(truth, notes)
                pairwise_scores = _hide_unknown_recall(pairwise_scores, truth)
                pairs = None if pairs is None else _hide_unknown_recall(pairs, truth)
                notes += _recall_notes(truth, pairwise_scores if pairs is None else pairs, pairwise_scores)
                listed = isinstance(run, PairLabels)
                strata = self._score_strata(self._is_listed(left, right) if listed else self._is_together(clusters))
        missing = "in the run"
        if isinstance(run, DedupRun) and run.older_documents:
            missing = "among the run's own (they may be older ones, as with --against)"
        texts = {
            "unknown": "documents not in the truth, not counted",
            "missing": f"documents not {missing}, counted as found alone",
        }
        for name, text in texts.items():
            if counts[name]:
                notes.append(f"{text}: {counts[name]:,}, first {', '.join(counts[f'{name}_first'])}")
        tick(1)
        return Evaluation(pairs, pairwise_scores, links, b_cubed, counts, notes, strata)

    def _judged_clusters(self, clusters: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return found and true clusters of the judged documents."""
        true = clusters if self.true is None else self.true
        return _renumber(clusters[self.judged]), _renumber(true[self.judged])

    def _is_listed(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each labelled pair, whether it is among these pairs (the smaller number first)."""
        return np.isin(self._keys(self.left, self.right), self._keys(left, right))

    def _is_together(self, clusters: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each labelled pair, whether both documents are in one cluster."""
        together: NDArray[np.bool_] = clusters[self.left] == clusters[self.right]
        return together

    def _score_labels(self, found: NDArray[np.bool_], subset: NDArray[np.bool_] | None = None) -> PairScores:
        """Return scores over the labels, or a subset of them, from whether each labelled pair was found."""
        selected = np.ones(len(found), bool) if subset is None else subset
        outcomes = ((True, True), (True, False), (False, True), (False, False))
        cells = [selected & (found == is_found) & (self.match == match) for is_found, match in outcomes]
        tp, fp, fn, tn = (int(cell.sum()) for cell in cells)
        if self.weight is None:
            return PairScores(tp, fp, fn, tn)
        sums = [WeightSums.of(self.weight[cell]) for cell in cells]
        return PairScores(tp, fp, fn, tn, (sums[0], sums[1], sums[2], sums[3]))

    def _describe_sample(self, truth: PairLabels, notes: list[str]) -> dict[str, Any]:
        """Return the counts of labels of a sample, and add notes."""
        if truth.reweighted:
            notes.append(f"pairs labelled with several weights, of which the first counts: {truth.reweighted:,}")
        if self.weight is None:
            return {}
        count, sums = len(self.weight), WeightSums.of(self.weight)
        notes.append(
            f"weighted: {count:,} labels stand for {sums.total:,.0f} pairs, worth {sums.effective:,.1f} "
            "labels of equal weight (Kish's effective size)"
        )
        return {"weighted_labels": count, "weighted_pairs": sums.total, "effective_labels": sums.effective}

    def _score_strata(self, found: NDArray[np.bool_]) -> list[StratumScores]:
        """Return the scores of each named stratum."""
        strata = []
        for name in sorted({name for name in self.stratum if name is not None}):
            members = np.array([stratum == name for stratum in self.stratum])
            weights, total = None, float(members.sum())
            if self.weight is not None:
                sums = WeightSums.of(self.weight[members])
                weights, total = (WeightSums.of(self.weight[members & self.match]), sums), sums.total
            matching = Ratio(int((members & self.match).sum()), int(members.sum()), weights)
            strata.append(StratumScores(name, total, self._score_labels(found, members), matching))
        return strata

    def _count_documents(self) -> dict[str, Any]:
        """Return the documents of only one side, if they can be determined."""
        unknown = [] if self.judged.all() else sorted(self.run_ids - self.truth_ids)
        missing = sorted(self.truth_ids - self.run_ids) if isinstance(self.run, DedupRun) else []
        return {
            "unknown": len(unknown),
            "unknown_first": unknown[:5],
            "missing": len(missing),
            "missing_first": missing[:5],
        }

    def _score_pairs(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> PairScores:
        """Return the scores of distinct pairs, the smaller number first; unjudged ones do not count."""
        if self.true is None:
            return self._score_labels(self._is_listed(left, right))
        if isinstance(self.truth, ClusterLabels):
            judged = self.judged[left] & self.judged[right]
            true = judged & (self.true[left] == self.true[right])
            num_found, num_true = int(judged.sum()), _count_pairs(np.bincount(self.true[self.judged]))
        else:
            true = np.isin(self._keys(left, right), self._keys(self.left, self.right)[self.match])
            num_found, num_true = len(true), int(self.match.sum())
        tp = int(true.sum())
        return PairScores(tp, num_found - tp, num_true - tp)

    def _score_clusters(self, clusters: NDArray[np.int64]) -> PairScores:
        """Return the scores of the pairs within clusters; unjudged ones do not count."""
        if isinstance(self.truth, ClusterLabels):
            return pairwise(*self._judged_clusters(clusters))
        scores = self._score_labels(self._is_together(clusters))
        if self.true is None:
            return scores
        tp, total = scores.true_positives, _count_pairs(np.bincount(clusters))
        return PairScores(tp, total - tp, scores.false_negatives)


def _hide_unknown_recall(scores: PairScores, truth: PairLabels) -> PairScores:
    """Return scores by labels of a sample, with an unknown recall if every label is of a found pair.

    Such a sample was drawn from found pairs only, unless it contains pairs that were not removed.
    """
    if not truth.labels or truth.near_misses or scores.false_negatives or scores.true_negatives:
        return scores
    return replace(scores, recall_known=False)


def _recall_notes(truth: PairLabels, *scores: PairScores) -> list[str]:
    """Return the notes on recall by labels of a sample without near misses."""
    remedy = "label near misses, which nearkin dedup --report finds"
    if not all(score.recall_known for score in scores):
        return [f"recall is not known: every label is of a pair that was found; {remedy}"]
    if truth.near_misses is False:
        return [f"recall may be overstated: every label is of a pair that a run removed; {remedy}"]
    return []


def _renumber(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same clusters, numbered from 0 without gaps."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _collect_ids(labels: PairLabels | ClusterLabels | DedupRun) -> set[str]:
    if isinstance(labels, DedupRun):
        return labels.documents | labels.clusters.labels.keys()
    if isinstance(labels, ClusterLabels):
        return set(labels.labels)
    return {name for pair in labels.labels for name in pair}
