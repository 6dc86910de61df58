"""Tuning of ranking by estimates: what the codes promise and how many cells a query visits, by measured recall.

The law of the codes needs no tuning: a promise gives the bound, and more is found than was promised. Cells have no
law. So recall is measured with rows as queries, as `tuning` measures it, and its lower bound, two standard errors
below, must reach the wanted recall:

1. the least promise whose codes reach it in all cells, or for cells half of what is missing more;
2. the fewest cells that reach it with that promise;
3. the least promise that reaches it in so many cells.

Each is bisected, since recall grows with both. Nothing is timed, so that the same data give the same settings on every
machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nearkin.errors import bad_parameter
from nearkin.index.lsh.params import Given, Settings, Tuning, of_estimates
from nearkin.index.lsh.tuning import Made, Plan, Sample, Wish, measured, sampled
from nearkin.vectors.rows import Rows

_PROMISES = [1 - 0.5 * 0.98**step for step in range(512)]
"""The promises that are tried: each leaves out 0.98 of what the one before does, the last 2 of 100,000."""
_STEPS = len(_PROMISES) - 1


def tune_estimates(given: Given, rows: Rows, wish: Wish, make: Callable[[Plan, Sample], Made]) -> Made:
    """What `LSHIndex.tune` does with `rank="estimate"`: the index that reaches the recall."""
    sample = sampled(given, rows, wish)
    settings = of_estimates(given, sample.metric, len(rows))
    # The number of bytes is known when the index is made.
    made = make(Plan(given.family, settings, 0.0, 0.0, 0.0, 0.0), sample)
    size = made.bytes_of_filter()
    if not wish.allows(size):
        allowed = f"{size} bytes or more: rotation codes have one bit per coordinate of the rotation"
        raise bad_parameter("memory", wish.memory, allowed)
    search = _Search(made, sample, wish)
    cells = settings.filter == "cells" and given.num_probes is None
    probes = settings.num_cells if cells else settings.num_probes
    promise = search.least_promise(probes, (1 + wish.recall) / 2 if cells else wish.recall)
    if cells:
        probes = search.fewest_cells(promise, settings.num_cells)
        promise = search.least_promise(probes, wish.recall)
    mean, least = search.measured(promise, probes)
    chosen = search.settings(promise, probes)
    visited = len(rows) * (probes / settings.num_cells if settings.num_cells else 1)
    tuning = Tuning(
        recall=wish.recall,
        k=wish.k,
        expected_recall=chosen.recall or 0.0,
        measured_recall=mean,
        least_recall=least,
        expected_candidates=float(visited),
        expected_microseconds=None,
        choices=search.choices,
    )
    made.settings_ = replace(chosen, tuning=tuning)
    return made


class _Search:
    """An index whose promise and cells are varied."""

    def __init__(self, made: Made, sample: Sample, wish: Wish) -> None:
        self._made, self._sample, self._wish = made, sample, wish
        self._given = sample.given.recall
        self._known: dict[tuple[float, int], tuple[float, float]] = {}

    @property
    def choices(self) -> int:
        """How many were measured."""
        return len(self._known)

    def settings(self, promise: float, probes: int) -> Settings:
        return replace(self._made.settings_, recall=promise, num_probes=probes)

    def measured(self, promise: float, probes: int) -> tuple[float, float]:
        """The recall, and two standard errors below it."""
        found = self._known.get((promise, probes))
        if found is None:
            self._made.settings_ = self.settings(promise, probes)
            found = self._known[promise, probes] = measured(self._made, self._sample, self._wish.k)
        return found

    def least_promise(self, probes: int, wanted: float) -> float:
        """The least promise that reaches a recall in so many cells; the largest where none does; a given one stays."""
        if self._given is not None:
            return float(self._given)
        # From large to small by what is missing.
        low, high = 0, _STEPS
        while low < high:
            middle = (low + high) // 2
            if self.measured(_PROMISES[middle], probes)[1] >= wanted:
                high = middle
            else:
                low = middle + 1
        return _PROMISES[low]

    def fewest_cells(self, promise: float, most: int) -> int:
        """The fewest cells that reach the wanted recall; all where none do."""
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if self.measured(promise, middle)[1] >= self._wish.recall:
                high = middle
            else:
                low = middle
        return high
