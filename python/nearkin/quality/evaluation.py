"""How right a deduplication is: its pairs and clusters against what is known to be true.

With TP pairs found and true, FP found and not true, FN true and not found:

    precision = TP / (TP + FP)        recall = TP / (TP + FN)        F1 = 2 TP / (2 TP + FP + FN)

counted over the pairs that a run lists (*pairs*), over the pairs of documents in one cluster (*pairwise*), and over the
links from a removed document to the kept one (*links*, which have precision only). B-cubed asks of each document which
share of its found cluster C, itself included, belongs to its true cluster T, and the other way round:

    precision = mean over documents of |C ∩ T| / |C|        recall = mean of |C ∩ T| / |T|

and F1 is their harmonic mean. The number of pairs grows with the square of a cluster's size; B-cubed weighs every
document alike.

Intervals are Wilson's, of 95%: for k of n and z = 1.96

    (k + z²/2 ± z √(k (n − k) / n + z²/4)) / (n + z²)

and F1's through TP / (TP + FP + FN) = F1 / (2 − F1). They treat pairs as independent; pairs of one large cluster are
not, and then the true uncertainty is larger.

Labels of a sample have weights (`nearkin.quality.weights`): shares are then those of the weights, and n is Kish's
effective number of labels. A stratum in which no label matches counts as one without true pairs, however many pairs it
stands for: recall may then be overstated. Where every label of a sample is of a pair that was found, they say nothing
of what was missed: recall and F1 are not known, which is NaN here.

Cost: linear in documents and listed pairs; pairs of clusters are counted, not listed.

Sources: A. Bagga, B. Baldwin (1998), Entity-based cross-document coreferencing using the vector space model, section 5
(B-cubed); E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import components
from nearkin.dedup.result import DedupResult
from nearkin.errors import InputError, bad_parameter
from nearkin.io.tables import Tabular
from nearkin.notebook import html_facts, html_table
from nearkin.quality.labels import ClusterLabels, DedupRun, PairLabels, read_labels
from nearkin.quality.weights import WeightSums

Unlisted = Literal["auto", "false", "unjudged"]
Judgement: TypeAlias = (
    DedupResult
    | DedupRun
    | PairLabels
    | ClusterLabels
    | Mapping[int | str, Hashable]
    | Mapping[int, Hashable]
    | Mapping[str, Hashable]
    | Iterable[tuple[int | str, int | str] | tuple[int | str, int | str, bool | None]]
    | str
    | os.PathLike[str]
)
"""Which documents belong together: what a run found, clusters of ids, or pairs of ids with or without a label; or the
path of any of them."""


class EvaluationCounts(TypedDict, total=False):
    """What was compared, and what could not be; those that do not apply to an evaluation are left out."""

    documents: int
    unknown: int
    unknown_first: list[str]
    missing: int
    missing_first: list[str]
    unjudged_pairs: int
    repeated_pairs: int
    pairs_with_itself: int
    removed_for_older: int
    unjudged_pairwise: int
    repeated_labels: int
    labels_of_itself: int
    contradictory_labels: int
    unsure_labels: int
    weighted_labels: int
    weighted_pairs: float
    effective_labels: float


_Z = 1.959963984540054
"""Quantile 0.975 of the normal distribution."""


@dataclass(frozen=True)
class Ratio:
    """A share with its Wilson interval of 95%; without cases NaN, and 0 to 1.

    Parameters
    ----------
    hits, of : int
        Counts.
    weights : (WeightSums, WeightSums), optional
        Of the hits and of the cases, where these have weights: the share is that of the weights.
    known : bool, default True
        Whether the counts tell the share; if not, it is NaN, and 0 to 1.

    Examples
    --------
    >>> from nearkin.quality.evaluation import Ratio
    >>> str(Ratio(9, 10)), Ratio(9, 10).value
    ('0.900 (0.596 to 0.982, 9 of 10)', 0.9)
    """

    hits: int
    of: int
    weights: tuple[WeightSums, WeightSums] | None = field(default=None, repr=False)
    known: bool = True
    value: float = field(init=False)
    low: float = field(init=False)
    high: float = field(init=False)

    def __post_init__(self) -> None:
        if not self.known:
            value, low, high = math.nan, 0.0, 1.0
        elif self.weights is None or not self.of:
            low, high = wilson(self.hits, self.of)
            value = self.hits / self.of if self.of else math.nan
        else:
            hits, cases = self.weights
            value, effective = min(hits.total / cases.total, 1.0), cases.effective
            low, high = wilson(value * effective, effective)
        for name, number in (("value", value), ("low", low), ("high", high)):
            object.__setattr__(self, name, number)

    def __str__(self) -> str:
        if not self.known:
            return "not known"
        if not self.of:
            return "of none"
        cases = f"{self.hits:,} of {self.of:,}"
        if self.weights is not None:
            cases = f"weighted, {cases} labels, worth {self.weights[1].effective:,.1f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f}, {cases})"

    def to_dict(self) -> dict[str, Any]:
        """hits, of, value (None without cases or if not known), low and high; with weights `weighted`: their sums over
        hits and cases, and the effective number of cases.
        """
        value = None if math.isnan(self.value) else self.value
        found = {"hits": self.hits, "of": self.of, "value": value, "low": self.low, "high": self.high}
        if self.weights is None:
            return found
        hits, cases = self.weights
        return {**found, "weighted": {"hits": hits.total, "of": cases.total, "effective": cases.effective}}


def wilson(hits: float, of: float) -> tuple[float, float]:
    """Wilson's interval of 95% for a share of `hits` among `of`; (0, 1) without cases.

    Examples
    --------
    >>> from nearkin.quality.evaluation import wilson
    >>> [round(bound, 4) for bound in wilson(0, 10)]
    [0.0, 0.2775]
    """
    if not 0 <= hits <= of:
        raise bad_parameter("hits", hits, f"0 to {of}")
    if not of:
        return 0.0, 1.0
    middle = hits + _Z * _Z / 2
    spread = _Z * math.sqrt(hits * (of - hits) / of + _Z * _Z / 4)
    below, above = (middle - spread) / (of + _Z * _Z), (middle + spread) / (of + _Z * _Z)
    # At the ends the formula gives 0 and 1 up to rounding.
    return (0.0 if hits == 0 else below), (1.0 if hits == of else above)


@dataclass(frozen=True)
class PairScores:
    """Counts of pairs and what follows from them.

    Attributes
    ----------
    true_positives, false_positives, false_negatives : int
    true_negatives : int or None
        Known only where the truth lists pairs that do not match.
    weights : tuple of four WeightSums, or None
        Of the labels behind the four counts, in their order, where labels have weights; the shares are then theirs.
    recall_known : bool
        Whether the counts tell recall and F1: not if nothing was judged but what was found.
    precision, recall : Ratio
    f1, f1_low, f1_high : float
        NaN, 0 and 1 where there is no pair, and where recall is not known.
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
        hits, false, missed = self.true_positives, self.false_positives, self.false_negatives
        found = wanted = union = None
        if self.weights is not None:
            of_hits, of_false, of_missed, _ = self.weights
            found, wanted = (of_hits, of_hits + of_false), (of_hits, of_hits + of_missed)
            union = of_hits, of_hits + of_false + of_missed
        both = Ratio(hits, hits + false + missed, union, self.recall_known)
        values = {
            "precision": Ratio(hits, hits + false, found),
            "recall": Ratio(hits, hits + missed, wanted, self.recall_known),
            "f1": 2 * both.value / (1 + both.value),
            "f1_low": 2 * both.low / (1 + both.low),
            "f1_high": 2 * both.high / (1 + both.high),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Everything, with None for NaN; with weights `weighted`: the pairs that the labels of each count stand for."""
        weighted = {}
        if self.weights is not None:
            weighted["weighted"] = {name: sums.total for name, sums in zip(_COUNTS, self.weights, strict=True)}
        return {
            "true_positives": self.true_positives,
            "false_positives": self.false_positives,
            "false_negatives": self.false_negatives,
            "true_negatives": self.true_negatives,
            "precision": self.precision.to_dict(),
            "recall": self.recall.to_dict(),
            "f1": {"value": None if math.isnan(self.f1) else self.f1, "low": self.f1_low, "high": self.f1_high},
            **weighted,
        }


@dataclass(frozen=True)
class BCubed:
    """Means over documents; NaN without documents."""

    documents: int
    precision: float
    recall: float
    f1: float = field(init=False)

    def __post_init__(self) -> None:
        total = self.precision + self.recall
        object.__setattr__(self, "f1", 2 * self.precision * self.recall / total if total else math.nan)

    def to_dict(self) -> dict[str, Any]:
        """Everything, with None for NaN."""
        values = {name: getattr(self, name) for name in ("precision", "recall", "f1")}
        cleaned = {name: None if math.isnan(value) else value for name, value in values.items()}
        return {"documents": self.documents, **cleaned}


_COUNTS = ("true_positives", "false_positives", "false_negatives", "true_negatives")


@dataclass(frozen=True)
class StratumScores:
    """The labels of one stratum, such as a step of similarity: what they say and what was found.

    Attributes
    ----------
    name : str
    pairs : float
        What the labels stand for: the sum of their weights; without weights their number.
    scores : PairScores
        Pairs are found if they are listed, or if their documents are in one cluster.
    matching : Ratio
        The share of pairs that match.
    """

    name: str
    pairs: float
    scores: PairScores
    matching: Ratio

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "stratum": self.name,
            "labels": self.matching.of,
            "pairs": self.pairs,
            **{name: getattr(self.scores, name) for name in _COUNTS},
            "matching": self.matching.to_dict(),
        }


@dataclass(frozen=True)
class Evaluation(Tabular):
    """What `evaluate` found; as a table, a row for each of the measures that there are, null where one has no value.

    Attributes
    ----------
    pairs : PairScores or None
        The pairs that were listed; None where clusters alone were found.
    pairwise : PairScores or None
        The pairs of documents in one found cluster.
    links : Ratio or None
        Precision of the links from removed documents to kept ones, of a run.
    bcubed : BCubed or None
        None where the truth says nothing about pairs that it doesn't list.
    counts : dict
        What was compared, and what could not be: `unknown` documents were found that the truth does not know, with
        the first of their ids in `unknown_first`; `missing` ones are known to the truth and not to the run, and
        count as found alone; `unjudged` pairs were found and are not counted.
    notes : list of str
        What a reader has to know about the figures.
    strata : list of StratumScores
        The labels by stratum, where they have one, in the order of the names.
    """

    pairs: PairScores | None
    pairwise: PairScores | None
    links: Ratio | None
    bcubed: BCubed | None
    counts: EvaluationCounts
    notes: list[str]
    strata: list[StratumScores] = field(default_factory=list)

    def _columns(self) -> dict[str, list[Any]]:
        rows: list[dict[str, Any]] = []
        for name, scores in (("pairs", self.pairs), ("pairwise", self.pairwise)):
            if scores is not None:
                row = {"measure": name, **{count: getattr(scores, count) for count in _COUNTS}}
                row |= _bounds("precision", scores.precision) | _bounds("recall", scores.recall)
                rows.append({**row, "f1": scores.f1, "f1_low": scores.f1_low, "f1_high": scores.f1_high})
        if self.links is not None:
            rows.append({"measure": "links", **_bounds("precision", self.links)})
        if self.bcubed is not None:
            means = {name: getattr(self.bcubed, name) for name in ("documents", "precision", "recall", "f1")}
            rows.append({"measure": "bcubed", **means})
        return {name: [row.get(name) for row in rows] for name in ("measure", *self._types())}

    def _repr_html_(self) -> str:
        """The measures with their intervals, the labels by stratum, and notes, for a notebook."""
        rows: list[tuple[object, ...]] = []
        for name, scores in (("pairs", self.pairs), ("pairwise", self.pairwise)):
            if scores is not None:
                rows.append((name, scores.precision, scores.recall, _f1(scores)))
        if self.links is not None:
            rows.append(("links", self.links, "", ""))
        if self.bcubed is not None:
            values = (self.bcubed.precision, self.bcubed.recall, self.bcubed.f1)
            rows.append(("B-cubed", *(f"{value:.3f}" for value in values)))
        shown = html_table(["measure", "precision", "recall", "F1"], rows, total=len(rows))
        if self.strata:
            names = ["stratum", "match", "found, right", "found, wrong", "missed"]
            strata = [(each.name, each.matching, *(getattr(each.scores, count) for count in _COUNTS[:3]))
                      for each in self.strata]  # fmt: skip
            shown += html_table(names, strata, total=len(strata), most=len(strata))
        return shown + html_facts(("note", note) for note in self.notes)

    def _types(self) -> dict[str, str]:
        shares = [f"{name}{end}" for name in ("precision", "recall", "f1") for end in ("", "_low", "_high")]
        return {**dict.fromkeys(shares, "float64"), **dict.fromkeys((*_COUNTS, "documents"), "int64")}

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        parts = ("pairs", "pairwise", "links", "bcubed")
        values = {name: getattr(self, name) for name in parts}
        scores = {name: None if value is None else value.to_dict() for name, value in values.items()}
        strata = {"strata": [each.to_dict() for each in self.strata]} if self.strata else {}
        return {**scores, "counts": self.counts, "notes": self.notes, **strata}

    def __str__(self) -> str:
        lines = []
        for name, scores in (("pairs", self.pairs), ("pairwise", self.pairwise)):
            if scores is not None:
                lines += [f"{name:<9} precision {scores.precision}", f"{'':<9} recall    {scores.recall}"]
                lines += [f"{'':<9} F1        {_f1(scores)}"]
        if self.links is not None:
            lines.append(f"{'links':<9} precision {self.links}")
        if self.bcubed is not None:
            b = self.bcubed
            values = f"precision {b.precision:.3f}, recall {b.recall:.3f}, F1 {b.f1:.3f}"
            lines.append(f"{'B-cubed':<9} {values}, over {b.documents:,} documents")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _f1(scores: PairScores) -> str:
    """F1 with its interval."""
    if not scores.recall_known:
        return "not known"
    return "of none" if math.isnan(scores.f1) else f"{scores.f1:.3f} ({scores.f1_low:.3f} to {scores.f1_high:.3f})"


def _bounds(name: str, ratio: Ratio) -> dict[str, float]:
    return {name: ratio.value, f"{name}_low": ratio.low, f"{name}_high": ratio.high}


def bcubed(found: NDArray[np.int64], true: NDArray[np.int64]) -> BCubed:
    """B-cubed of two clusterings of the same documents.

    Parameters
    ----------
    found, true : (n,) int64
        Number of the cluster of each document, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.quality.evaluation import bcubed
    >>> scores = bcubed(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    >>> round(scores.precision, 4), scores.recall
    (0.6667, 0.75)
    """
    if not len(found):
        return BCubed(0, math.nan, math.nan)
    of_found, of_true, common, sizes_found, sizes_true = _contingency(found, true)
    squares = common.astype(np.float64) ** 2
    precision = float((squares / sizes_found[of_found]).sum()) / len(found)
    recall = float((squares / sizes_true[of_true]).sum()) / len(found)
    return BCubed(len(found), precision, recall)


def pairwise(found: NDArray[np.int64], true: NDArray[np.int64]) -> PairScores:
    """Scores over the pairs of documents in one cluster, of two clusterings of the same documents.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.quality.evaluation import pairwise
    >>> scores = pairwise(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    >>> scores.true_positives, scores.false_positives, scores.false_negatives
    (1, 2, 1)
    """
    _, _, common, sizes_found, sizes_true = _contingency(found, true)
    both = _pairs_of(common)
    return PairScores(both, _pairs_of(sizes_found) - both, _pairs_of(sizes_true) - both)


def _contingency(found: NDArray[np.int64], true: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """For each two clusters that meet: the found one, the true one, their common documents; sizes of all clusters."""
    width = int(true.max(initial=-1)) + 1
    keys, common = np.unique(found * width + true, return_counts=True)
    sizes = np.bincount(found), np.bincount(true)
    return (
        keys // max(width, 1),
        keys % max(width, 1),
        common.astype(np.int64),
        *(side.astype(np.int64) for side in sizes),
    )


def _pairs_of(sizes: NDArray[np.int64]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def evaluate(found: Judgement, truth: Judgement, *, unlisted: Unlisted = "auto") -> Evaluation:
    """Score what was found against what is true.

    Parameters
    ----------
    found : DedupResult, DedupRun, PairLabels, ClusterLabels, mapping, or iterable of pairs
        A mapping gives the cluster of each id.
    truth : PairLabels, ClusterLabels, DedupRun, DedupResult, mapping, or iterable of (id, id) or (id, id, bool)
        What is true. If a run is taken as the truth, its clusters are.
    unlisted : {"auto", "false", "unjudged"}, default "auto"
        What holds for pairs (or documents, in clusters) that the truth does not list: they do not match (a document is
        alone in its cluster), or nothing is known and they do not count. With "auto", pairs that all match are taken to
        be all there are; otherwise nothing is known about others.

    Returns
    -------
    Evaluation

    Raises
    ------
    ParameterError
        For something that is neither pairs nor clusters.
    InputError
        For invalid ids, an id in two clusters, or labels of other documents than the rows of a run without ids.

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
    run, known = _labels(found, "found"), _labels(truth, "truth")
    if isinstance(run, DedupRun):
        _check_ids(run, known)
    complete = unlisted == "false"
    if isinstance(known, DedupRun):
        # A run saw every document; those outside its clusters are alone.
        labels = dict(known.clusters.labels)
        alone = sorted(known.documents - labels.keys())
        known = ClusterLabels([*labels, *alone], [*labels.values(), *[None] * len(alone)])
    elif isinstance(known, PairLabels):
        if complete and known.sampled:
            raise bad_parameter("unlisted", repr(unlisted), "auto or unjudged, with labels of a sample of pairs")
        complete = complete or (unlisted == "auto" and not known.sampled and all(known.labels.values()))
    return _Comparison(run, known, complete=complete).evaluation()


def _check_ids(run: DedupRun, truth: PairLabels | ClusterLabels | DedupRun) -> None:
    """Raise InputError if labels name other ids than row numbers of a run that has no others, or no id of the run."""
    labelled, own = _ids(truth), _ids(run)
    unknown = labelled - own
    if own and labelled and unknown == labelled and not run.numbered:
        reason = (
            f"has no id of the run: {min(labelled)!r} is the first of its {len(labelled):,}, {min(own)!r} of the run's "
            f"{len(own):,}; give labels of this run, and name the columns of their ids"
        )
        raise InputError(f"the truth {reason}", place="truth", reason=reason)
    if not unknown or not run.numbered:
        return
    reason = (
        f"the run's ids are row numbers from 0 to {len(run.documents) - 1}, and {len(unknown):,} of {len(labelled):,} "
        f"labelled ids are not among them, such as {min(unknown)!r}; run nearkin dedup again with --id-column and the "
        "column of these ids"
    )
    raise InputError(reason, place="truth", reason=reason)


def _labels(value: object, what: str) -> PairLabels | ClusterLabels | DedupRun:
    if isinstance(value, (PairLabels, ClusterLabels, DedupRun)):
        return value
    if isinstance(value, os.PathLike) or (isinstance(value, str) and value):
        return read_labels(value)
    if isinstance(value, DedupResult):
        older = value.summary["older_documents"]
        return DedupRun.of_tables(value.clusters.columns, value.pairs.columns, value.kept, older_documents=older)
    if isinstance(value, Mapping):
        return ClusterLabels(value.keys(), value.values())
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        rows = list(value)
        if all(isinstance(row, (tuple, list)) and len(row) in (2, 3) for row in rows):
            match = [len(row) == 2 or row[2] for row in rows]
            return PairLabels([row[0] for row in rows], [row[1] for row in rows], match)
    raise bad_parameter(what, type(value).__name__, "pairs (tuples of two ids), a mapping of ids to clusters, or a run")


class _Comparison:
    """Found and true labels over one numbering of ids."""

    def __init__(
        self, run: PairLabels | ClusterLabels | DedupRun, truth: PairLabels | ClusterLabels, *, complete: bool
    ) -> None:
        self.run, self.truth = run, truth
        self.in_truth, self.in_run = _ids(truth), _ids(run)
        self.number = {name: at for at, name in enumerate(sorted(self.in_truth | self.in_run))}
        self.listed = run if isinstance(run, PairLabels) else run.pairs if isinstance(run, DedupRun) else None
        # Documents that take part: where the truth is clusters and nothing holds for others, those it knows.
        self.judged = np.ones(len(self.number), bool)
        self.whole = complete
        self.true: NDArray[np.int64] | None = None
        self.weight: NDArray[np.float64] | None = None
        if isinstance(truth, ClusterLabels):
            self.whole = True
            self.true = self._clusters(truth)
            if not complete:
                self.judged[[self.number[name] for name in self.in_run - self.in_truth]] = False
        else:
            left, right = self._numbers(truth.labels)
            self.match = np.fromiter(truth.labels.values(), bool, len(left))
            order = np.argsort(self._keys(left, right))
            self.left, self.right, self.match = left[order], right[order], self.match[order]
            if truth.weighted:
                self.weight = np.array([truth.weights[pair] for pair in truth.labels])[order]
            strata = [truth.strata.get(pair) for pair in truth.labels]
            self.stratum = [strata[at] for at in order.tolist()]
            if complete:
                self.true = self._components(self.left[self.match], self.right[self.match])

    def _numbers(self, pairs: Iterable[tuple[str, str]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        ends = [(self.number[a], self.number[b]) for a, b in pairs]
        columns = np.array(ends, np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    def _keys(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        return left * len(self.number) + right

    def _components(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
        return components(len(self.number), left.astype(np.uint32), right.astype(np.uint32)).astype(np.int64)

    def _clusters(self, labels: ClusterLabels) -> NDArray[np.int64]:
        """The cluster of every document; one that the labels don't know is alone."""
        result = np.arange(len(self.number)) + len(labels.labels)
        for name, cluster in labels.labels.items():
            result[self.number[name]] = cluster
        return _numbered(result)

    def _found_pairs(self, labels: PairLabels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self._numbers(pair for pair, match in labels.labels.items() if match)

    def _judge(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of these pairs (the smaller number first) are true, and which the truth covers."""
        if isinstance(self.truth, ClusterLabels) and self.true is not None:
            return self.true[left] == self.true[right], self.judged[left] & self.judged[right]
        keys, known = self._keys(left, right), self._keys(self.left, self.right)
        at = np.searchsorted(known, keys)
        listed = np.zeros(len(keys), bool)
        inside = at < len(known)
        listed[inside] = known[at[inside]] == keys[inside]
        true = np.zeros(len(keys), bool)
        true[listed] = self.match[at[listed]]
        return true, listed | self.whole

    def evaluation(self) -> Evaluation:
        """Every measure that the two sides allow."""
        counts: EvaluationCounts = {"documents": len(self.number), **self._documents()}
        notes = []
        pairs = links = of_documents = None
        if self.listed is not None:
            left, right = self._found_pairs(self.listed)
            pairs, counts["unjudged_pairs"] = self._of_list(left, right)
            counts["repeated_pairs"], counts["pairs_with_itself"] = self.listed.repeated, self.listed.selves
        if isinstance(self.run, PairLabels):
            found = self._components(left, right)
            notes.append("found clusters are the connected components of the pairs that were found")
        else:
            found = self._clusters(self.run.clusters if isinstance(self.run, DedupRun) else self.run)
        if isinstance(self.run, DedupRun):
            links = self._of_links(self.run.links)
            counts["removed_for_older"] = self.run.older
            if self.listed is not None:
                notes.append("a run links an exact copy with its original only; pairwise counts all pairs of a cluster")
        of_clusters, counts["unjudged_pairwise"] = self._of_clusters(found)
        if self.true is not None:
            of_documents = bcubed(_numbered(found[self.judged]), _numbered(self.true[self.judged]))
        if isinstance(self.truth, PairLabels):
            counts["repeated_labels"], counts["labels_of_itself"] = self.truth.repeated, self.truth.selves
            counts["contradictory_labels"] = self.truth.contradictory
            counts["unsure_labels"] = self.truth.unsure
            if self.truth.unsure:
                notes.append(f"pairs labelled unsure, left out: {self.truth.unsure:,}")
            if self.truth.contradictory:
                notes.append(f"pairs labelled both a match and none, left out: {self.truth.contradictory:,}")
            text = "true clusters are the connected components of the true pairs"
            notes.append(text if self.whole else "pairs that the truth does not list are not judged; so no B-cubed")
        strata: list[StratumScores] = []
        if isinstance(self.truth, PairLabels) and self.truth.sampled:
            counts |= self._of_sample(self.truth, notes)
            of_clusters = _told(of_clusters, self.truth)
            pairs = None if pairs is None else _told(pairs, self.truth)
            notes += _of_recall(self.truth, [of_clusters] if pairs is None else [pairs, of_clusters])
            strata = self._strata(
                self._in_list(left, right) if isinstance(self.run, PairLabels) else self._in_one(found)
            )
        missing = "unknown to the run, counted as found alone"
        if isinstance(self.run, DedupRun) and self.run.older_documents:
            missing = "that are none of the run's own (older ones of --against, say), counted as found alone"
        for text, count, first in (
            ("unknown to the truth, not counted", counts["unknown"], counts["unknown_first"]),
            (missing, counts["missing"], counts["missing_first"]),
        ):
            if count:
                notes.append(f"documents {text}: {count:,}, first {', '.join(first)}")
        return Evaluation(pairs, of_clusters, links, of_documents, counts, notes, strata)

    # Labels

    def _in_list(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which labelled pairs are among these (the smaller number first)."""
        return np.isin(self._keys(self.left, self.right), self._keys(left, right))

    def _in_one(self, found: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which labelled pairs are in one of these clusters."""
        together: NDArray[np.bool_] = found[self.left] == found[self.right]
        return together

    def _of_labels(self, found: NDArray[np.bool_], among: NDArray[np.bool_] | None = None) -> PairScores:
        """Scores over the labels alone, where these were found; `among` chooses some of them."""
        chosen = np.ones(len(found), bool) if among is None else among
        cells = [chosen & (found == told) & (self.match == match)
                 for told, match in ((True, True), (True, False), (False, True), (False, False))]  # fmt: skip
        hits, false, missed, neither = (int(cell.sum()) for cell in cells)
        if self.weight is None:
            return PairScores(hits, false, missed, neither)
        of_hits, of_false, of_missed, of_neither = (WeightSums.of(self.weight[cell]) for cell in cells)
        return PairScores(hits, false, missed, neither, (of_hits, of_false, of_missed, of_neither))

    def _of_sample(self, truth: PairLabels, notes: list[str]) -> EvaluationCounts:
        """What labels of a sample stand for."""
        if truth.reweighted:
            notes.append(f"pairs labelled with more than one weight, of which the first counts: {truth.reweighted:,}")
        if self.weight is None:
            return {}
        sums = WeightSums.of(self.weight)
        notes.append(
            f"weighted: {len(self.weight):,} labels stand for {sums.total:,.0f} pairs, worth {sums.effective:,.1f} "
            "labels of equal weight (Kish's effective size)"
        )
        counts: EvaluationCounts = {"weighted_labels": len(self.weight), "weighted_pairs": sums.total}
        return {**counts, "effective_labels": sums.effective}

    def _strata(self, found: NDArray[np.bool_]) -> list[StratumScores]:
        """The labels of each stratum that has a name."""
        strata = []
        for name in sorted({name for name in self.stratum if name is not None}):
            among = np.array([each == name for each in self.stratum])
            weights, total = None, float(among.sum())
            if self.weight is not None:
                every = WeightSums.of(self.weight[among])
                weights, total = (WeightSums.of(self.weight[among & self.match]), every), every.total
            matching = Ratio(int((among & self.match).sum()), int(among.sum()), weights)
            strata.append(StratumScores(name, total, self._of_labels(found, among), matching))
        return strata

    def _documents(self) -> EvaluationCounts:
        """Documents that only one side knows, as far as that can be told."""
        unknown: list[str] = []
        missing: list[str] = []
        if not self.whole or isinstance(self.truth, ClusterLabels):
            unknown = sorted(self.in_run - self.in_truth)
            if self.judged.all():
                # They are taken to match nothing.
                unknown = []
        if isinstance(self.run, DedupRun):
            missing = sorted(self.in_truth - self.in_run)
        return {
            "unknown": len(unknown),
            "unknown_first": unknown[:5],
            "missing": len(missing),
            "missing_first": missing[:5],
        }

    def _of_list(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[PairScores, int]:
        true, judged = self._judge(left, right)
        if self.weight is not None:
            return self._of_labels(self._in_list(left, right)), int((~judged).sum())
        hits, false = int((true & judged).sum()), int((~true & judged).sum())
        positives, negatives = self._totals()
        scores = PairScores(hits, false, positives - hits, None if negatives is None else negatives - false)
        return scores, int((~judged).sum())

    def _totals(self) -> tuple[int, int | None]:
        """True pairs, and pairs known not to match where these are listed."""
        if isinstance(self.truth, ClusterLabels) and self.true is not None:
            return _pairs_of(np.bincount(self.true[self.judged])), None
        return int(self.match.sum()), None if self.whole else int((~self.match).sum())

    def _of_links(self, links: list[tuple[str, str]]) -> Ratio:
        left, right = self._numbers(links)
        left, right = np.minimum(left, right), np.maximum(left, right)
        if self.weight is not None:
            return self._of_labels(self._in_list(left, right)).precision
        true, judged = self._judge(left, right)
        return Ratio(int((true & judged).sum()), int(judged.sum()))

    def _of_clusters(self, found: NDArray[np.int64]) -> tuple[PairScores, int]:
        everything = _pairs_of(np.bincount(found))
        if isinstance(self.truth, ClusterLabels) and self.true is not None:
            scores = pairwise(_numbered(found[self.judged]), _numbered(self.true[self.judged]))
        elif self.weight is not None:
            scores = self._of_labels(self._in_one(found))
        else:
            together = self._in_one(found)
            hits = int((together & self.match).sum())
            positives, negatives = self._totals()
            false = everything - hits if negatives is None else int((together & ~self.match).sum())
            scores = PairScores(hits, false, positives - hits, None if negatives is None else negatives - false)
        return scores, everything - scores.true_positives - scores.false_positives


def _told(scores: PairScores, truth: PairLabels) -> PairScores:
    """Scores by labels of a sample, without a recall where every label is of a pair that was found.

    Such a sample was drawn from what was found alone, unless it says that some of it was not removed.
    """
    if not truth.labels or truth.near_misses or scores.false_negatives or scores.true_negatives:
        return scores
    return replace(scores, recall_known=False)


def _of_recall(truth: PairLabels, scored: Sequence[PairScores]) -> list[str]:
    """What to say of a recall by labels of a sample without near misses."""
    near = "near misses, which nearkin dedup --report looks for, would tell"
    if any(not scores.recall_known for scores in scored):
        return [f"recall is not known: every label is of a pair that was found; {near}"]
    if truth.near_misses is False:
        return [
            f"every label is of a pair that a run removed: recall is that of these pairs, and may be overstated; {near}"
        ]
    return []


def _numbered(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same clusters, numbered from 0 without gaps."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _ids(labels: PairLabels | ClusterLabels | DedupRun) -> set[str]:
    if isinstance(labels, DedupRun):
        return labels.documents | labels.clusters.labels.keys()
    if isinstance(labels, ClusterLabels):
        return set(labels.labels)
    return {name for pair in labels.labels for name in pair}
