"""The page of an evaluation: precision and recall with intervals, found pairs against true pairs, and by similarity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import add

import numpy as np

from nearkin.notebook import short
from nearkin.quality.evaluation import Evaluation, PairScores, Ratio, StratumScores, Unlisted
from nearkin.quality.judgements import ClusterLabels, DedupRun, PairLabels, is_complete
from nearkin.report.charts import Curve, Point, draw_curves
from nearkin.report.model import Chart, Contents, Section, Table, format_value
from nearkin.report.page import render
from nearkin.report.run import Run
from nearkin.report.sampling import near_pairs, stratify
from nearkin.theory.intervals import WeightSums, proportion

CONFUSION = ("found, match", "found, no match", "not found, match", "not found, no match")
"""Kinds of pairs."""
_RANGE = re.compile(r"(\d*\.?\d+)\s?[-–]\s?(\d*\.?\d+)")
"""The name of a range of similarity, such as 0.80-0.82."""


@dataclass(frozen=True)
class Step:
    """The judged pairs of one range of similarity.

    Attributes
    ----------
    name : str
        For example `0.80-0.82`.
    low, high : float or None
        None for labels whose stratum is not a range of similarity.
    cells : tuple of four WeightSums
        Weights in the order of `CONFUSION`.
    judged : int
        Number of judged pairs.
    pairs : float
        Number of pairs of the run, judged or not; for labels the number of pairs that they represent.
    """

    name: str
    low: float | None
    high: float | None
    cells: tuple[WeightSums, ...]
    judged: int
    pairs: float

    @property
    def matching(self) -> WeightSums:
        """The pairs that match, found or not."""
        return self.cells[0] + self.cells[2]

    @property
    def all(self) -> WeightSums:
        """All judged pairs."""
        return self.matching + self.cells[1] + self.cells[3]


def group_by_similarity(
    run: Run, truth: PairLabels | ClusterLabels | DedupRun, unlisted: Unlisted = "auto"
) -> list[Step]:
    """Return the pairs of a run and its near misses by similarity, compared with the truth.

    Parameters
    ----------
    run : Run
    truth : PairLabels, ClusterLabels or DedupRun
    unlisted : {"auto", "false", "unjudged"}, default "auto"
        As for `nearkin.evaluate`.
    """
    pairs = near_pairs(run)
    labels = [_judge(truth, str(a), str(b), unlisted) for a, b in zip(pairs.left, pairs.right, strict=True)]
    match = np.array([label is True for label in labels])
    judged = np.array([label is not None for label in labels])
    steps = []
    for name, group in groupby(stratify(pairs, run.scale), key=lambda stratum: stratum.name):
        strata = list(group)
        rows = np.concatenate([stratum.rows for stratum in strata])
        known = rows[judged[rows]]
        cells = tuple(
            WeightSums.of(pairs.weight[known[(pairs.match[known] == found) & (match[known] == true)]])
            for found in (True, False)
            for true in (True, False)
        )
        steps.append(Step(name, strata[0].low, strata[0].high, cells, len(known), float(len(rows))))
    return steps


def _judge(truth: PairLabels | ClusterLabels | DedupRun, a: str, b: str, unlisted: Unlisted) -> bool | None:
    """Return whether two documents match by the rules of `nearkin.evaluate`; None if they are unjudged."""
    if isinstance(truth, PairLabels):
        label = truth.labels.get((a, b) if a < b else (b, a))
        if label is not None:
            return label
        return False if unlisted == "false" or (unlisted == "auto" and is_complete(truth)) else None
    clusters = truth.labels if isinstance(truth, ClusterLabels) else truth.clusters.labels
    documents = clusters.keys() if isinstance(truth, ClusterLabels) else truth.documents
    if a in documents and b in documents:
        return a in clusters and clusters.get(a) == clusters.get(b)
    return False if unlisted == "false" else None


def evaluation_page(
    scores: Evaluation, run: str = "run", truth: str = "truth", steps: Sequence[Step] | None = None
) -> str:
    """Return the page of an evaluation, as HTML.

    Parameters
    ----------
    scores : Evaluation
        The result of `nearkin.evaluate`.
    run, truth : str
        Names of both sides on the page.
    steps : sequence of Step, optional
        The pairs of the run by similarity, from `group_by_similarity`; shown if the labels have no strata.

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
    return render(build_evaluation(scores, run, truth, steps))


def build_evaluation(
    scores: Evaluation, run: str = "run", truth: str = "truth", steps: Sequence[Step] | None = None
) -> Contents:
    """Return the content of the page; the parameters are those of `evaluation_page`."""
    main = scores.pairs if scores.pairs is not None else scores.pairwise
    title = f"{run} against {truth}"
    figures: list[tuple[str, str, str]] = []
    sentences = [f"Compared: {scores.counts['documents']:,} documents."]
    if main is not None:
        recall = format_value(main.recall.value) if main.recall_known else "not known"
        title += f": precision {format_value(main.precision.value)}, recall {recall}"
        figures = _score_rows(main)
        what = "pairs that were listed" if scores.pairs is not None else "pairs in one cluster"
        sentences.append(f"The figures above are of the {what}; intervals are of 95%.")
    if scores.bcubed is not None:
        note = f"over {scores.bcubed.documents:,} documents"
        figures.append(("B-cubed F1", format_value(scores.bcubed.f1), note))
    sections = [Section("Measures", (_MEASURES_NOTE,), tables=(_table_measures(scores),))]
    sides = [("Pairs as listed", scores.pairs), ("Pairs in one cluster", scores.pairwise)]
    confusions = tuple(_table_confusion(name, side) for name, side in sides if side is not None)
    if confusions:
        is_weighted = any(side is not None and side.weights is not None for _, side in sides)
        notes = ("Counts are the numbers of pairs that the labels represent.",) if is_weighted else ()
        sections.append(Section("Found and true", notes, tables=confusions))
    sections += _similarity_sections(list(_strata_steps(scores.strata)) or steps or ())
    if scores.notes:
        sections.append(Section("Notes", tuple(f"{note[:1].upper()}{note[1:]}." for note in scores.notes)))
    counts = [
        (name.replace("_", " "), f"{value:,.1f}" if isinstance(value, float) else f"{value:,}")
        for name, value in scores.counts.items()
        if isinstance(value, (int, float))
    ]
    sections.append(Section("Counts", tables=(Table("What was counted", ("what", "count"), counts),)))
    return Contents(title, tuple(figures), tuple(sentences), (), tuple(sections))


_MEASURES_NOTE = "Intervals are of 95%. Pairs: as listed. Pairwise: all pairs of documents in one cluster."


def _table_measures(scores: Evaluation) -> Table:
    """Return every measure with its interval."""
    rows: list[tuple[str, str, str]] = []
    for name, side in (("pairs", scores.pairs), ("pairwise", scores.pairwise)):
        if side is not None:
            rows += [(f"{name}, {measure}", value, interval) for measure, value, interval in _score_rows(side)]
    if scores.links is not None:
        rows.append(_ratio_row("links, precision", scores.links))
    if scores.bcubed is not None:
        for name in ("precision", "recall", "f1"):
            rows.append((f"B-cubed, {name.replace('f1', 'F1')}", format_value(getattr(scores.bcubed, name)), "–"))
    return Table("Precision and recall", ("measure", "value", "interval of 95%"), rows)


def _score_rows(scores: PairScores) -> list[tuple[str, str, str]]:
    """Return precision, recall and F1 with their intervals."""
    interval = f"{scores.f1_low:.3f} to {scores.f1_high:.3f}" if scores.recall_known else "not known"
    return [
        _ratio_row("precision", scores.precision),
        _ratio_row("recall", scores.recall),
        ("F1", format_value(scores.f1), interval),
    ]


def _table_confusion(title: str, scores: PairScores) -> Table:
    """Return counts, or the numbers of pairs that the labels represent, by kind."""
    cells = _counts(scores) if scores.weights is None else tuple(sums.total for sums in scores.weights)
    counts = cells if scores.recall_known else (*cells[:2], None, None)
    total = sum(count for count in counts if count is not None) or 1.0
    rows = [
        (name, "not known", "–") if count is None else (name, short(count), f"{count / total:.1%}")
        for name, count in zip(CONFUSION, counts, strict=True)
    ]
    return Table(title, ("pairs", "count", "share"), rows)


def _strata_steps(strata: Sequence[StratumScores]) -> Iterator[Step]:
    """Yield the strata of labels as steps."""
    for stratum in strata:
        match = _RANGE.fullmatch(stratum.name)
        low, high = (None, None) if match is None else (float(match[1]), float(match[2]))
        cells = tuple(WeightSums(float(count or 0), float(count or 0)) for count in _counts(stratum.scores))
        cells = stratum.scores.weights or cells
        yield Step(stratum.name, low, high, cells, stratum.matching.total, stratum.pairs)


def _similarity_sections(steps: Sequence[Step]) -> list[Section]:
    """Return the section of pairs by similarity: found and true pairs, matches, precision and recall by threshold."""
    if not any(step.judged for step in steps):
        return []
    has_missed = any(step.cells[2].total or step.cells[3].total for step in steps)
    kinds = CONFUSION if has_missed else CONFUSION[:2]
    rows = [(step.name, *(short(cell.total) for cell in step.cells[: len(kinds)])) for step in steps]
    confusion = Table("Confusion by similarity", ("similarity", *kinds), rows)
    sentences = ["Judged pairs; each counts as the number of pairs of the run that it represents."]
    charts = []
    points = [
        Point((step.low + step.high) / 2, *proportion(step.matching, step.all))
        for step in steps
        if step.judged and step.low is not None and step.high is not None
    ]
    if len(points) > 1:
        note = "Proportion of judged pairs that match; the area is the interval of 95%."
        curve, axes = Curve("share that match", points), ("similarity", "share")
        charts.append(draw_curves("Share that match", note, [curve], axes))
        if has_missed:
            chart, sentence = _draw_thresholds(steps)
            charts.append(chart)
            sentences.append(sentence)
    table = Table.of(
        "Pairs by similarity",
        [(step, proportion(step.matching, step.all)) for step in steps],
        {
            "similarity": lambda row: row[0].name,
            "judged": lambda row: f"{row[0].judged:,}",
            "pairs": lambda row: f"{row[0].pairs:,.0f}",
            "share that match": lambda row: f"{row[1][0]:.3f}" if row[0].judged else "–",
            "interval": lambda row: f"{row[1][1]:.3f} to {row[1][2]:.3f}" if row[0].judged else "–",
        },
    )
    return [Section("By similarity", tuple(sentences), tuple(charts), (table, confusion))]


def _draw_thresholds(steps: Sequence[Step]) -> tuple[Chart, str]:
    """Draw precision and recall of each threshold; return the chart, and a sentence on the best F1."""
    judged = sorted((step for step in steps if step.judged and step.low is not None), key=lambda step: step.low or 0.0)
    # Sums over the steps from each threshold on.
    matching = list(accumulate((step.matching for step in reversed(judged)), add))[::-1]
    totals = list(accumulate((step.all for step in reversed(judged)), add))[::-1]
    lows = [step.low or 0.0 for step in judged]
    precision = [Point(low, *proportion(*sums)) for low, *sums in zip(lows, matching, totals, strict=True)]
    recall = [Point(low, *proportion(hits, matching[0])) for low, hits in zip(lows, matching, strict=True)]
    f1 = [2 * p.y * r.y / (p.y + r.y) if p.y + r.y > 0 else 0.0 for p, r in zip(precision, recall, strict=True)]
    best, threshold = max(zip(f1, lows, strict=True))
    chart = draw_curves(
        "Precision and recall by threshold",
        "All pairs with at least this similarity are taken. The area is the interval of 95%.",
        [Curve("recall", recall), Curve("precision", precision)],
        ("threshold of the similarity", "share"),
        mark=(threshold, f"F1 {best:.3f} at {threshold:g}"),
    )
    sentence = (
        f"F1 is highest, {best:.3f}, at a threshold of {threshold:g}. Recall is among the candidates of the run: pairs "
        "that were not candidates are not counted."
    )
    return chart, sentence


def _counts(scores: PairScores) -> tuple[int, int, int, int | None]:
    return scores.true_positives, scores.false_positives, scores.false_negatives, scores.true_negatives


def _ratio_row(name: str, ratio: Ratio) -> tuple[str, str, str]:
    return name, format_value(ratio.value), _format_interval(ratio)


def _format_interval(ratio: Ratio) -> str:
    if not ratio.known:
        return "not known"
    return f"{ratio.low:.3f} to {ratio.high:.3f}" if ratio.total else "no case"
