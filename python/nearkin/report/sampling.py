"""Which clusters and pairs a report shows, by rules that it states: never more than fits, always the same ones.

| what | rule |
|---|---|
| clusters | the largest, then by number |
| the border | pairs nearest to the threshold, on both sides |
| at random | of all near-duplicates, alike often |
| to judge | of each step of similarity alike many, more beside the threshold, drawn at random |

A pair to judge has a weight: how many pairs of the run it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.dedup.cluster import sample_of
from nearkin.report.run import Run

PAIRS = 100_000
"""Pairs with their similarity."""
CLUSTERS = 500
MEMBERS = 50
"""Documents of a cluster that are listed."""
BORDER = 800
"""Pairs on each side of the threshold."""
RANDOM = 400
JUDGED = 300
"""Pairs of the queue."""
STEP = 0.02
"""Similarity of a stratum, as a share of the scale."""
NEAR, MORE = 0.1, 4
"""How near to the threshold a stratum is, as a share of the scale, of which more is judged; how many times as much."""


@dataclass(frozen=True)
class Pairs:
    """All pairs of a run that are near: removed documents with the kept ones, and near misses.

    Attributes
    ----------
    left, right : list of str
        Ids: the document that stays and the one that goes, or both that stay.
    similarity, weight : (n,) float64
        In the run's own scale. Weight: how many pairs of the run one stands for; 1 for those that were removed.
    distance : (n,) int64
    match : (n,) bool
        Whether the right one was removed for the left one.
    """

    left: list[Any]
    right: list[Any]
    similarity: npt.NDArray[np.float64]
    distance: npt.NDArray[np.int64]
    match: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.left)


def pairs_of(run: Run) -> Pairs:
    """The near pairs of a run; exact copies, and documents removed for older ones, are not among them."""
    table = run.clusters
    rows = [
        row
        for row, (reason, value) in enumerate(zip(table["reason"], table["similarity"], strict=True))
        if reason in ("near", "same-letters") and value is not None
    ]
    near, weight = _near(run)
    columns = {name: [table[own][row] for row in rows] + near[name] for name, own in _COLUMNS.items()}
    match = np.arange(len(columns["left"])) < len(rows)
    return Pairs(
        columns["left"],
        columns["right"],
        np.array(columns["similarity"], np.float64),
        np.array([-1 if value is None else value for value in columns["distance"]], np.int64),
        match,
        np.where(match, 1.0, weight),
    )


_COLUMNS = {"left": "representative", "right": "id", "distance": "distance", "similarity": "similarity"}


def _near(run: Run) -> tuple[dict[str, list[Any]], float]:
    """Near misses by column, and how many of the run one stands for: one over the probability that it was seen."""
    if run.near_files is not None:
        # Both files of a pair are in the sample.
        sampled, of = run.near_files.sampled, run.near_files.of
        rows = [(left, right, 100 - score, float(score)) for left, right, score in run.near_files.pairs]
        columns = {name: [row[at] for row in rows] for at, name in enumerate(_COLUMNS)}
        return columns, of * (of - 1) / (sampled * (sampled - 1)) if sampled > 1 else 1.0
    about = run.summary.get("near_misses")
    if run.near is None or not about or not about["sampled"]:
        return {name: [] for name in _COLUMNS}, 1.0
    # A pair is seen unless both documents are among those that are not in the sample.
    sampled, of = about["sampled"], about["of"]
    neither = (of - sampled) * (of - sampled - 1) / (of * (of - 1)) if of > 1 else 0.0
    return {name: list(run.near[name]) for name in _COLUMNS}, 1 / (1 - neither)


def border(pairs: Pairs, threshold: float, *, removed: bool) -> npt.NDArray[np.int64]:
    """The pairs nearest to the threshold, of those that were removed or of near misses; ties by number."""
    rows = np.flatnonzero(pairs.match == removed)
    order = np.argsort(np.abs(pairs.similarity[rows] - threshold), kind="stable")
    return rows[order[:BORDER]]


def at_random(pairs: Pairs) -> npt.NDArray[np.int64]:
    """Some of the pairs that were removed, in random order."""
    rows = np.flatnonzero(pairs.match)
    return rows[sample_of(len(rows), RANDOM)]


@dataclass(frozen=True)
class Stratum:
    """Pairs of one step of similarity, removed ones or near misses.

    Attributes
    ----------
    name : str
        Such as `0.80-0.82`.
    low, high : float
        From and below which similarity; 1 is in the last one.
    removed : bool
    rows : (n,) int64
        Its pairs.
    pairs : float
        Pairs of the run that they stand for.
    """

    name: str
    low: float
    high: float
    removed: bool
    rows: npt.NDArray[np.int64]
    pairs: float


def strata(pairs: Pairs, scale: float) -> list[Stratum]:
    """All pairs by similarity, in steps of `STEP` of the scale; removed ones apart from near misses."""
    last = round(1 / STEP) - 1
    steps = np.minimum(np.floor(pairs.similarity / (STEP * scale) + 1e-9).astype(np.int64), last)
    found = []
    for step, removed in sorted({*zip(steps.tolist(), pairs.match.tolist(), strict=True)}):
        rows = np.flatnonzero((steps == step) & (pairs.match == removed))
        low, high = round(step * STEP * scale, 9), round((step + 1) * STEP * scale, 9)
        name = f"{low:.2f}-{high:.2f}" if scale == 1 else f"{low:.0f}-{high:.0f}"
        found.append(Stratum(name, low, high, removed, rows, float(pairs.weight[rows].sum())))
    return found


def queue(found: Sequence[Stratum], threshold: float, scale: float) -> list[tuple[int, int, float]]:
    """Pairs to judge, in random order: pair, stratum, and how many pairs of the run it stands for.

    Of each stratum as many as of any other, as far as there are; of those beside the threshold, where a judgement says
    most about it, `MORE` times as many.
    """
    near = NEAR * scale + 1e-9
    shares = [MORE if low - near <= threshold <= high + near else 1 for low, high in ((s.low, s.high) for s in found)]
    level = _level([len(stratum.rows) for stratum in found], shares, JUDGED)
    judged = []
    for number, (stratum, share) in enumerate(zip(found, shares, strict=True)):
        taken = stratum.rows[sample_of(len(stratum.rows), level * share)]
        judged += [(int(row), number, stratum.pairs / len(taken)) for row in taken]
    return [judged[at] for at in sample_of(len(judged), len(judged))]


def _level(sizes: Sequence[int], shares: Sequence[int], total: int) -> int:
    """The largest number, at least 1, of which the share may be taken of each, so that at most `total` are taken."""

    def taken(level: int) -> int:
        return sum(min(size, level * share) for size, share in zip(sizes, shares, strict=True))

    level = 1
    while level < max(sizes, default=0) and taken(level + 1) <= total:
        level += 1
    return level


def shown(pairs: Pairs, first: Sequence[int]) -> npt.NDArray[np.int64]:
    """The pairs of which a report tells at all, ascending: `first`, then others at random, no more than `PAIRS`."""
    wanted = np.zeros(len(pairs), np.bool_)
    wanted[np.array(first, np.int64)] = True
    others = np.flatnonzero(~wanted)
    wanted[others[sample_of(len(others), max(PAIRS - int(wanted.sum()), 0))]] = True
    return np.flatnonzero(wanted)


__all__ = [
    "BORDER",
    "CLUSTERS",
    "JUDGED",
    "MEMBERS",
    "PAIRS",
    "RANDOM",
    "Pairs",
    "Stratum",
    "at_random",
    "border",
    "pairs_of",
    "queue",
    "shown",
    "strata",
]
