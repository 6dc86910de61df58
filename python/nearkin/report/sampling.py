"""The clusters and pairs that a report shows, chosen by fixed rules and bounded in number.

| group | rule |
|---|---|
| clusters | the largest, then by number |
| border | the pairs nearest to the threshold, on both sides |
| random | a uniform sample of all near-duplicates |
| queue | pairs to judge: an equal number per range of similarity, more near the threshold, at random |

A pair to judge has a weight: the number of pairs of the run that it represents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.dedup.cluster import sample_numbers
from nearkin.dedup.thresholds import pair_probability
from nearkin.report.run import Run

MAX_PAIRS = 100_000
"""Maximum number of pairs that are listed with their similarity."""
MAX_CLUSTERS = 500
MAX_MEMBERS = 50
"""Maximum number of listed documents of a cluster."""
MAX_BORDER = 800
"""Maximum number of pairs on each side of the threshold."""
MAX_RANDOM = 400
MAX_QUEUE = 300
STRATUM_WIDTH = 0.02
"""Width of a stratum, as a fraction of the scale."""
NEAR_THRESHOLD, NEAR_FACTOR = 0.1, 4
"""Strata up to this distance from the threshold, as a fraction of the scale, get this many times as many pairs."""


@dataclass(frozen=True)
class NearPairs:
    """All near pairs of a run: removed documents with the kept ones, and near misses.

    Attributes
    ----------
    left, right : list of str
        Ids of the kept and of the removed document, or of two kept ones.
    similarity, weight : (n,) float64
        Similarity in the run's own scale. Number of pairs of the run that each represents; 1 for removed ones.
    distance : (n,) int64
    match : (n,) bool
        True if the right document was removed for the left one.
    """

    left: list[Any]
    right: list[Any]
    similarity: npt.NDArray[np.float64]
    distance: npt.NDArray[np.int64]
    match: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.left)


def near_pairs(run: Run) -> NearPairs:
    """Return the near pairs of a run, without exact copies and documents removed for the reference corpus."""
    table = run.clusters
    rows = [
        row
        for row, (reason, value) in enumerate(zip(table["reason"], table["similarity"], strict=True))
        if reason in ("near", "same-letters") and value is not None
    ]
    missed, weight = _near_misses(run)
    columns = {name: [table[source][row] for row in rows] + missed[name] for name, source in _COLUMNS.items()}
    match = np.arange(len(columns["left"])) < len(rows)
    return NearPairs(
        columns["left"],
        columns["right"],
        np.array(columns["similarity"], np.float64),
        np.array([-1 if value is None else value for value in columns["distance"]], np.int64),
        match,
        np.where(match, 1.0, weight),
    )


_COLUMNS = {"left": "representative", "right": "id", "distance": "distance", "similarity": "similarity"}


def _near_misses(run: Run) -> tuple[dict[str, list[Any]], float]:
    """Return the columns of near misses, and their weight: the inverse of the probability of being sampled."""
    if run.near_files is not None:
        # Both files of a pair are in the sample.
        sampled, total = run.near_files.sampled, run.near_files.total
        rows = [(left, right, 100 - score, float(score)) for left, right, score in run.near_files.pairs]
        columns = {name: [row[i] for row in rows] for i, name in enumerate(_COLUMNS)}
        return columns, total * (total - 1) / (sampled * (sampled - 1)) if sampled > 1 else 1.0
    about = run.summary.get("near_misses")
    if run.near is None or not about or not about["sampled"]:
        return {name: [] for name in _COLUMNS}, 1.0
    # A pair is found unless neither of its documents is in the sample.
    return {name: list(run.near[name]) for name in _COLUMNS}, 1 / pair_probability(about["sampled"], about["of"])


def select_border(pairs: NearPairs, threshold: float, *, removed: bool) -> npt.NDArray[np.int64]:
    """Return the pairs nearest to the threshold, among removed pairs or near misses; ties by number."""
    rows = np.flatnonzero(pairs.match == removed)
    order = np.argsort(np.abs(pairs.similarity[rows] - threshold), kind="stable")
    return rows[order[:MAX_BORDER]]


def select_random(pairs: NearPairs) -> npt.NDArray[np.int64]:
    """Return a uniform sample of removed pairs, in random order."""
    rows = np.flatnonzero(pairs.match)
    return rows[sample_numbers(len(rows), MAX_RANDOM)]


@dataclass(frozen=True)
class Stratum:
    """The pairs of one range of similarity, either removed ones or near misses.

    Attributes
    ----------
    name : str
        For example `0.80-0.82`.
    low, high : float
        Bounds, `high` exclusive; 1 is in the last stratum.
    removed : bool
    rows : (n,) int64
        The pairs.
    pairs : float
        Number of pairs of the run that they represent.
    """

    name: str
    low: float
    high: float
    removed: bool
    rows: npt.NDArray[np.int64]
    pairs: float


def stratum_name(low: float, high: float, scale: float) -> str:
    """Return the name of a range of similarity."""
    return f"{low:.2f}-{high:.2f}" if scale == 1 else f"{low:.0f}-{high:.0f}"


def stratify(pairs: NearPairs, scale: float) -> list[Stratum]:
    """Return all pairs by similarity, in ranges of `STRATUM_WIDTH`, removed pairs and near misses separately."""
    last = round(1 / STRATUM_WIDTH) - 1
    numbers = np.minimum(np.floor(pairs.similarity / (STRATUM_WIDTH * scale) + 1e-9).astype(np.int64), last)
    strata = []
    for number, removed in sorted({*zip(numbers.tolist(), pairs.match.tolist(), strict=True)}):
        rows = np.flatnonzero((numbers == number) & (pairs.match == removed))
        low, high = (round(end * STRATUM_WIDTH * scale, 9) for end in (number, number + 1))
        name = stratum_name(low, high, scale)
        strata.append(Stratum(name, low, high, removed, rows, float(pairs.weight[rows].sum())))
    return strata


def build_queue(strata: Sequence[Stratum], threshold: float, scale: float) -> list[tuple[int, int, float]]:
    """Return pairs to judge, in random order: pair, stratum, and the number of pairs of the run that it represents.

    Every stratum contributes the same number, if it has as many. Strata near the threshold, where a judgement is most
    informative, contribute `NEAR_FACTOR` times as many.
    """
    margin = NEAR_THRESHOLD * scale + 1e-9
    factors = [NEAR_FACTOR if s.low - margin <= threshold <= s.high + margin else 1 for s in strata]
    sizes = [len(stratum.rows) for stratum in strata]
    level = _max_level(sizes, factors, MAX_QUEUE)
    queue = []
    for number, (stratum, factor) in enumerate(zip(strata, factors, strict=True)):
        drawn = stratum.rows[sample_numbers(len(stratum.rows), level * factor)]
        queue += [(int(row), number, stratum.pairs / len(drawn)) for row in drawn]
    return [queue[i] for i in sample_numbers(len(queue), len(queue))]


def _max_level(sizes: Sequence[int], factors: Sequence[int], limit: int) -> int:
    """Return the largest number of pairs per stratum, times its factor, with at most `limit` in all; 1 or more."""
    level = 1
    while level < max(sizes, default=0):
        total = sum(min(size, (level + 1) * factor) for size, factor in zip(sizes, factors, strict=True))
        if total > limit:
            break
        level += 1
    return level


def select_pairs(pairs: NearPairs, first: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the listed pairs, ascending: `first`, then others at random, up to `MAX_PAIRS`."""
    selected = np.zeros(len(pairs), np.bool_)
    selected[np.array(first, np.int64)] = True
    others = np.flatnonzero(~selected)
    selected[others[sample_numbers(len(others), max(MAX_PAIRS - int(selected.sum()), 0))]] = True
    return np.flatnonzero(selected)
