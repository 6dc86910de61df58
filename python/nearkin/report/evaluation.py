"""The page of an evaluation: precision and recall with intervals, and what was found against what is true."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from nearkin.quality.evaluation import Evaluation, PairScores, Ratio, StratumScores, Unlisted, wilson
from nearkin.quality.labels import ClusterLabels, DedupRun, PairLabels
from nearkin.quality.weights import WeightSums
from nearkin.report.curves import Curve, Point, curves, intervals, square, stacks
from nearkin.report.model import Chart, Contents, Section, Table
from nearkin.report.page import render
from nearkin.report.run import Run
from nearkin.report.sampling import pairs_of

_KINDS = ("found, match", "found, no match", "not found, match", "not found, no match")
_STEP = re.compile(r"(\d*\.?\d+)\s?[-–]\s?(\d*\.?\d+)")
"""The name of a step of similarity, such as 0.80-0.82."""
_WIDTHS, _MOST = (0.02, 0.05, 0.1), 16
"""Widths of a step, as shares of the scale; steps that a picture has."""
_TIMES = (2, 3, 5, 10)
"""How many strata of labels are joined to one step: no stratum is cut."""


@dataclass(frozen=True)
class Step:
    """Pairs of one step of similarity, as far as the truth judges them.

    Attributes
    ----------
    name : str
        Such as `0.80-0.82`.
    low, high : float or None
        None for labels whose stratum is no step of similarity.
    cells : tuple of four WeightSums
        Pairs that are found and match, found and no match, not found and match, and neither; as many as they stand for.
    judged : int
        Pairs that the truth judges.
    pairs : float
        Pairs of the run, judged or not; of labels those that they stand for.
    """

    name: str
    low: float | None
    high: float | None
    cells: tuple[WeightSums, WeightSums, WeightSums, WeightSums]
    judged: int
    pairs: float

    @property
    def matching(self) -> WeightSums:
        """The pairs that match, found or not."""
        return self.cells[0] + self.cells[2]

    @property
    def all(self) -> WeightSums:
        """All pairs that are judged."""
        return self.matching + self.cells[1] + self.cells[3]


def by_similarity(run: Run, known: PairLabels | ClusterLabels | DedupRun, unlisted: Unlisted = "auto") -> list[Step]:
    """The pairs of a run and its near misses, by similarity, against what is true.

    Parameters
    ----------
    run : Run
    known : PairLabels, ClusterLabels or DedupRun
        What is true.
    unlisted : {"auto", "false", "unjudged"}, default "auto"
        As for `nearkin.evaluate`.
    """
    pairs = pairs_of(run)
    scale = 100.0 if run.of_files else 1.0
    truth = [_true(known, str(a), str(b), unlisted) for a, b in zip(pairs.left, pairs.right, strict=True)]
    match = np.array([each is True for each in truth])
    judged = np.array([each is not None for each in truth])
    width, at = _steps(pairs.similarity / scale)
    steps = []
    for number in np.unique(at).tolist():
        here = at == number
        cells = [
            WeightSums.of(pairs.weight[here & judged & (pairs.match == found) & (match == true)])
            for found in (True, False)
            for true in (True, False)
        ]
        low, high = round(number * width * scale, 9), round((number + 1) * width * scale, 9)
        cut = (cells[0], cells[1], cells[2], cells[3])
        steps.append(Step(_named(low, high, scale), low, high, cut, int((here & judged).sum()), float(here.sum())))
    return steps


def _named(low: float, high: float, scale: float) -> str:
    return f"{low:.2f}-{high:.2f}" if scale == 1 else f"{low:.0f}-{high:.0f}"


def _steps(shares: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.int64]]:
    """The finest width of which at most `_MOST` steps have a pair, and the number of the step of each pair."""
    for width in _WIDTHS:
        last = round(1 / width) - 1
        at = np.minimum(np.floor(shares / width + 1e-9).astype(np.int64), last)
        if len(np.unique(at)) <= _MOST:
            break
    return width, at


def _true(known: PairLabels | ClusterLabels | DedupRun, a: str, b: str, unlisted: Unlisted) -> bool | None:
    """Whether two documents match; None where nothing is known. As `nearkin.evaluate` takes it."""
    if isinstance(known, PairLabels):
        label = known.labels.get((a, b) if a < b else (b, a))
        if label is not None:
            return label
        whole = unlisted == "auto" and not known.sampled and all(known.labels.values())
        return False if whole or unlisted == "false" else None
    clusters = known.labels if isinstance(known, ClusterLabels) else known.clusters.labels
    seen = clusters.keys() if isinstance(known, ClusterLabels) else known.documents
    if a in seen and b in seen:
        return a in clusters and clusters.get(a) == clusters.get(b)
    return False if unlisted == "false" else None


def evaluation_page(
    found: Evaluation, run: str = "run", truth: str = "truth", steps: Sequence[Step] | None = None
) -> str:
    """The page of an evaluation, as HTML.

    Parameters
    ----------
    found : Evaluation
        What `nearkin.evaluate` gave.
    run, truth : str
        What the page calls what was found and what is true.
    steps : sequence of Step, optional
        The pairs of the run by similarity, as `by_similarity` gives them; shown where labels have no strata.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.report.evaluation import evaluation_page
    >>> scores = nk.evaluate({1: "x", 2: "x", 3: "x"}, {1: "a", 2: "a", 3: "b", 4: "b"})
    >>> page = evaluation_page(scores, "clean", "truth.tsv")
    >>> "<h1>clean against truth.tsv: precision 0.333, recall 0.500</h1>" in page
    True
    """
    return render(contents_of_evaluation(found, run, truth, steps))


def contents_of_evaluation(
    found: Evaluation, run: str = "run", truth: str = "truth", steps: Sequence[Step] | None = None
) -> Contents:
    """What the page of an evaluation is made of; parameters as for `evaluation_page`."""
    scores = found.pairs if found.pairs is not None else found.pairwise
    title = f"{run} against {truth}"
    figures: list[tuple[str, str, str]] = []
    if scores is not None:
        title += f": precision {_number(scores.precision.value)}, recall {_told(scores.recall)}"
        what = "pairs that were listed" if found.pairs is not None else "pairs in one cluster"
        between = f"{scores.f1_low:.3f} to {scores.f1_high:.3f}" if scores.recall_known else "not known"
        f1 = (_number(scores.f1), between)
        figures = [
            ("precision", _number(scores.precision.value), _between(scores.precision)),
            ("recall", _number(scores.recall.value), _between(scores.recall)),
            ("F1", f1[0], f1[1]),
        ]
    said = [f"Compared: {found.counts['documents']:,} documents."]
    if scores is not None:
        said.append(f"The figures above are of the {what}; intervals are of 95%.")
    if found.bcubed is not None:
        figures.append(("B-cubed F1", _number(found.bcubed.f1), f"over {found.bcubed.documents:,} documents"))
    similar = _similar(_of_strata(found.strata) or steps or ())
    sections = [Section("Measures", charts=(_measures(found),)), *_confusions(found), *similar]
    if found.notes:
        sections.append(Section("Notes", tuple(_sentence(note) for note in found.notes)))
    sections.append(Section("Counts", tables=(_counts(found),)))
    return Contents(title, tuple(figures), tuple(said), (), tuple(sections))


def _measures(found: Evaluation) -> Chart:
    """Every measure with its interval."""
    rows: list[tuple[str, float, float | None, float | None]] = []
    for name, scores in (("pairs", found.pairs), ("pairwise", found.pairwise)):
        if scores is not None:
            rows.append(_ratio(f"{name}, precision", scores.precision))
            rows.append(_ratio(f"{name}, recall", scores.recall))
            bounds = (scores.f1_low, scores.f1_high) if scores.recall_known else (None, None)
            rows.append((f"{name}, F1", scores.f1, *bounds))
    if found.links is not None:
        rows.append(_ratio("links, precision", found.links))
    if found.bcubed is not None:
        names = {"precision": "precision", "recall": "recall", "f1": "F1"}
        rows += [(f"B-cubed, {told}", getattr(found.bcubed, name), None, None) for name, told in names.items()]
    note = "The area is the interval of 95%. Pairs: as listed. Pairwise: all pairs of documents in one cluster."
    return intervals("Precision and recall", note, rows)


def _confusions(found: Evaluation) -> list[Section]:
    """What was found against what is true, of pairs as listed and of pairs in one cluster."""
    charts = [
        square(title, _weighed(scores), _cells(scores))
        for title, scores in (("Pairs as listed", found.pairs), ("Pairs in one cluster", found.pairwise))
        if scores is not None
    ]
    return [Section("Found and true", charts=tuple(charts))] if charts else []


def _of_strata(strata: Sequence[StratumScores]) -> list[Step]:
    """The strata of labels; steps of similarity are joined to wider ones where there are many."""
    steps = []
    for each in strata:
        found = _STEP.fullmatch(each.name)
        low, high = (None, None) if found is None else (float(found[1]), float(found[2]))
        scores = each.scores
        counts = (scores.true_positives, scores.false_positives, scores.false_negatives, scores.true_negatives or 0)
        plain = [WeightSums(float(count), float(count)) for count in counts]
        cells = (plain[0], plain[1], plain[2], plain[3]) if scores.weights is None else scores.weights
        steps.append(Step(each.name, low, high, cells, each.matching.of, each.pairs))
    if len(steps) <= _MOST:
        return steps
    bounds = [(step.low, step.high) for step in steps if step.low is not None and step.high is not None]
    scale = 100.0 if max((high for _, high in bounds), default=0.0) > 1 else 1.0
    own = min((high - low for low, high in bounds), default=0.0) / scale
    if (
        len(bounds) < len(steps)
        or own <= 0
        or not all(_regular(low / scale / own, high / scale / own) for low, high in bounds)
    ):
        return steps
    places = [round(low / scale / own) for low, _ in bounds]
    times = next((times for times in _TIMES if len({place // times for place in places}) <= _MOST), _TIMES[-1])
    groups: dict[int, list[Step]] = {}
    for place, step in zip(places, steps, strict=True):
        groups.setdefault(place // times, []).append(step)
    wide = times * own * scale
    return [
        _joined(number * wide, min((number + 1) * wide, scale), scale, group)
        for number, group in sorted(groups.items())
    ]


def _regular(low: float, high: float) -> bool:
    """Whether a stratum is one step of the scale, given in steps."""
    return abs(low - round(low)) < 1e-6 and abs(high - low - 1) < 1e-6


def _joined(low: float, high: float, scale: float, group: Sequence[Step]) -> Step:
    cells = [reduce(add, cell) for cell in zip(*(step.cells for step in group), strict=True)]
    cut = (cells[0], cells[1], cells[2], cells[3])
    judged, pairs = sum(step.judged for step in group), sum(step.pairs for step in group)
    return Step(_named(low, high, scale), round(low, 9), round(high, 9), cut, judged, pairs)


def _similar(steps: Sequence[Step]) -> list[Section]:
    """Pairs by similarity, the share that matches, and precision and recall of each threshold."""
    if not any(step.judged for step in steps):
        return []
    missed = any(step.cells[2].total or step.cells[3].total for step in steps)
    kinds = _KINDS if missed else _KINDS[:2]
    rows = [(step.name, [cell.total for cell in step.cells[: len(kinds)]]) for step in steps]
    note = "Pairs that the truth judges; each counts as the pairs of the run that it stands for."
    charts = [stacks("Confusion by similarity", note, "similarity", kinds, rows)]
    points = [
        Point((step.low + step.high) / 2, *_share(step.matching, step.all))
        for step in steps
        if step.judged and step.low is not None and step.high is not None
    ]
    if len(points) > 1:
        told = "How many judged pairs of a similarity match; the area is the interval of 95%."
        charts.append(curves("Share that match", told, [Curve("share that match", points)], ("similarity", "share")))
    said: tuple[str, ...] = ()
    if missed and len(points) > 1:
        chart, said = _thresholds(steps)
        charts.append(chart)
    table = [(step.name, f"{step.judged:,}", f"{step.pairs:,.0f}", *_words(step)) for step in steps]
    names = ("similarity", "judged", "pairs", "share that match", "interval")
    return [Section("By similarity", said, tuple(charts), (Table("Pairs by similarity", names, table),))]


def _thresholds(steps: Sequence[Step]) -> tuple[Chart, tuple[str, ...]]:
    """Precision and recall if pairs from a similarity on were taken, and where F1 is highest."""
    known = sorted((step for step in steps if step.judged and step.low is not None), key=lambda step: step.low or 0.0)
    every = reduce(add, [step.matching for step in known])
    precision, recall = [], []
    best = (-1.0, 0.0)
    for at, step in enumerate(known):
        taken = reduce(add, [each.matching for each in known[at:]])
        low = step.low or 0.0
        precision.append(Point(low, *_share(taken, reduce(add, [each.all for each in known[at:]]))))
        recall.append(Point(low, *_share(taken, every)))
        total = precision[-1].y + recall[-1].y
        best = max(best, (2 * precision[-1].y * recall[-1].y / total if total > 0 else 0.0, low))
    told = "Of taking every pair from a similarity on. The area is the interval of 95%."
    chart = curves(
        "Precision and recall by threshold",
        told,
        [Curve("recall", recall), Curve("precision", precision)],
        ("threshold of the similarity", "share"),
        mark=(best[1], f"F1 {best[0]:.3f} at {best[1]:g}"),
    )
    said = (
        f"F1 is highest, {best[0]:.3f}, at a threshold of {best[1]:g}. Recall is among the pairs that were looked at: "
        "what no run has proposed is not counted.",
    )
    return chart, said


def _share(hits: WeightSums, cases: WeightSums) -> tuple[float, float, float]:
    """A weighted share with its Wilson interval, of the effective number of cases."""
    if not cases.total:
        return 0.0, 0.0, 1.0
    value = min(hits.total / cases.total, 1.0)
    return value, *wilson(value * cases.effective, cases.effective)


def _words(step: Step) -> tuple[str, str]:
    if not step.judged:
        return "–", "–"
    value, low, high = _share(step.matching, step.all)
    return f"{value:.3f}", f"{low:.3f} to {high:.3f}"


def _counts(found: Evaluation) -> Table:
    rows = []
    for name, value in found.counts.items():
        if isinstance(value, list):
            continue
        shown = f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
        rows.append((name.replace("_", " "), shown))
    return Table("What was counted", ("what", "count"), rows)


def _cells(scores: PairScores) -> tuple[float, float, float | None, float | None]:
    """Counts, or what the labels stand for; None for what is not known."""
    missed: float | None
    neither: float | None
    if scores.weights is not None:
        hits, false, missed, neither = (sums.total for sums in scores.weights)
    else:
        hits, false = float(scores.true_positives), float(scores.false_positives)
        missed, neither = scores.false_negatives, scores.true_negatives
    return (hits, false, missed, neither) if scores.recall_known else (hits, false, None, None)


def _weighed(scores: PairScores) -> str:
    return "" if scores.weights is None else "Counts are the pairs that the labels stand for."


def _ratio(name: str, ratio: Ratio) -> tuple[str, float, float | None, float | None]:
    return (name, ratio.value, ratio.low, ratio.high) if ratio.known else (name, ratio.value, None, None)


def _told(ratio: Ratio) -> str:
    return _number(ratio.value) if ratio.known else "not known"


def _between(ratio: Ratio) -> str:
    if not ratio.known:
        return "not known"
    return "no case" if not ratio.of else f"{ratio.low:.3f} to {ratio.high:.3f}"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


__all__ = ["Step", "by_similarity", "contents_of_evaluation", "evaluation_page"]
