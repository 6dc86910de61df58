"""Deduplication to a number of documents, or to a share of them, by the threshold that keeps no more.

The number of documents that keep-then-absorb keeps is not always monotone in the threshold: a lower one may remove a
document whose copies then stay. So one run at a low threshold, the *floor*, lists all verified pairs, and the rule of
clusters is replayed over the pairs of similarity t or more, for t = 1, .999, .998, … down to the floor. **Rule**: the
highest t that keeps at most the requested number is the threshold, and the result is that of a run with it.

Bands and radius follow from the threshold, so a run at t misses other pairs than the run at the floor: as many as its
recall says. If it keeps more documents than requested, the next lower thresholds are tried with the difference as a
margin.

Connected components are a bound: at the same threshold, no rule keeps fewer documents than they have components. They
are monotone, so bisection finds where the replay begins.

Cost: the run at the floor and that at the threshold, each of which reads the documents, and a replay of the
pairs per threshold. Memory: 24 bytes per pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import absorb_listed
from nearkin._core import components as _components
from nearkin.dedup.candidates import RECALL
from nearkin.dedup.candidates.base import list_offsets, numbered
from nearkin.dedup.keep import removes_clusters
from nearkin.dedup.result import DedupResult
from nearkin.dedup.summary import StageTimer
from nearkin.errors import ParameterError, bad_parameter
from nearkin.io import Corpus
from nearkin.theory.amplification import smallest

if TYPE_CHECKING:
    from nearkin.dedup.config import DedupConfig

FLOOR = 0.5
"""Default of the lowest threshold. Unrelated long texts have similarities of up to .5 (docs/quality.md)."""
_STEPS = 1000
"""Thresholds per unit of similarity."""
_FLOOR_STEP = 50
"""Thousandths by which the floor is raised until signatures of a fixed size have the recall."""


def check_rereadable(texts: object, argument: str, option: str = "shrink_to") -> None:
    """Raise ParameterError for inputs that can be read once only; `option` reads them twice."""
    if isinstance(texts, Corpus):
        if not texts.can_reread:
            raise bad_parameter(argument, "a pipe or URL", f"files with {option}, which reads them twice")
    elif texts is not None and not hasattr(texts, "__len__"):
        raise bad_parameter(
            argument, type(texts).__name__, f"a list or a column with {option}, which reads texts twice"
        )


def shrink(
    shrink_to: int | float,
    floor: float | None,
    configure: Callable[..., DedupConfig],
    run: Callable[[DedupConfig], DedupResult],
) -> DedupResult:
    """Return the result of a run at the highest threshold that keeps no more documents.

    Parameters
    ----------
    shrink_to : int or float
        Number or share.
    floor : float or None
        The lowest threshold; None for `FLOOR`, raised until the recall can be promised.
    configure : function
        Returns a new config with these options in place of the caller's.
    run : function
        Returns the result of a config.

    Raises
    ------
    ParameterError
        Even the floor keeps more; the message says how many.
    """
    timer = StageTimer()
    with timer("shrink"):
        listing = {"links": "all", "near_misses": 0}
        config = configure(threshold=floor, **listing) if floor is not None else _at_floor(configure, listing)
        replay = Replay(run(config), config)
        documents, lowest = replay.documents, float(config.threshold)
        target = shrink_to if isinstance(shrink_to, int) else int(shrink_to * documents + 1e-9)
        first = int(np.ceil(lowest * _STEPS - 1e-9))
        # The floor itself need not be a multiple of a thousandth.
        thresholds = [
            *([lowest] if first / _STEPS > lowest else []),
            *(step / _STEPS for step in range(first, _STEPS + 1)),
        ]
        start = replay.last_possible(thresholds, target)
    margin, fewest = 0, documents
    for number in range(start, -1, -1):
        threshold = thresholds[number]
        with timer("shrink"):
            kept = replay.count(threshold)
        fewest = min(fewest, kept)
        if kept + margin > target:
            continue
        result = run(configure(threshold=threshold))
        summary = result.summary
        if summary["kept"] > target:
            margin = max(margin + 1, summary["kept"] - kept)
            continue
        above = None if number + 1 == len(thresholds) else thresholds[number + 1]
        with timer("shrink"):
            next_kept = None if above is None else replay.count(above)
        summary["shrink_to"] = {
            "requested": shrink_to,
            "documents": target,
            "threshold": threshold,
            "kept": summary["kept"],
            "next_threshold": above,
            "next_kept": next_kept,
            "floor": lowest,
        }
        summary["timings"] = {**timer.seconds, **summary["timings"]}
        return result
    fewest = min([fewest, *(replay.count(threshold) for threshold in thresholds[start + 1 :])])
    reached = f"{fewest + margin:,} or more: the threshold {lowest:g}, the lowest that is searched, keeps no fewer"
    raise bad_parameter("shrink_to", shrink_to, f"{reached} of {documents:,} (threshold= lowers the floor)")


def _at_floor(configure: Callable[..., DedupConfig], listing: dict[str, Any]) -> DedupConfig:
    """Return the config at the lowest threshold from `FLOOR` on at which the recall is promised."""
    for step in range(round(FLOOR * _STEPS), _STEPS, _FLOOR_STEP):
        try:
            config = configure(threshold=step / _STEPS, **listing)
        except ParameterError:
            continue
        recall = config.candidate_source.summary().get("expected_recall")
        # Bands and a radius of the caller have the recall from some threshold on.
        if (config.bands, config.radius) == (None, None) or recall is None or recall >= RECALL:
            return config
    return configure(threshold=1.0, **listing)


class Replay:
    """The rule of clusters over the verified pairs of one run.

    Parameters
    ----------
    result : DedupResult
        With `links="all"`.
    config : DedupConfig
        Of the run.
    """

    def __init__(self, result: DedupResult, config: DedupConfig) -> None:
        self.documents = result.summary["documents"]
        self._by_components = config.cluster == "components"
        self._keeps_none = removes_clusters(config.order)
        pairs = result.pairs
        left, right = pairs.ordinals or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        # Reference documents have the last positions, but are visited first.
        new = self.documents - result.summary["without_features"]
        left, right = (np.where(side >= new, side - new, side + self._num_older(result)) for side in (left, right))
        count = len(pairs) - pairs.copies
        nodes, numbers = numbered(np.concatenate([left, right]))
        self._is_new = nodes >= self._num_older(result)
        first, second = np.split(numbers, 2)
        self._copies = np.zeros(len(nodes), bool)
        self._copies[second[count:]] = True
        self._has_copies = np.zeros(len(nodes), bool)
        self._has_copies[first[count:]] = True
        order = np.lexsort((second[:count], first[:count]))
        self._left, self._right = first[:count][order], second[:count][order]
        self._similarity = np.asarray(pairs.compact["similarity"], np.float64)[:count][order]
        self._dropped = result.summary["without_features"] if config.empty == "drop" else 0

    @staticmethod
    def _num_older(result: DedupResult) -> int:
        return result.summary["older_documents"]

    def count(self, threshold: float) -> int:
        """Return the number of documents that the rule keeps at a threshold."""
        return self._count(threshold, by_components=self._by_components)

    def last_possible(self, thresholds: list[float], target: int) -> int:
        """Return the last position of ascending thresholds at which components leave no more; -1 if none does."""
        return smallest(0, len(thresholds), lambda at: self._count(thresholds[at], by_components=True) > target) - 1

    def _count(self, threshold: float, *, by_components: bool) -> int:
        similar = self._similarity >= threshold
        left, right = self._left[similar], self._right[similar]
        n = len(self._is_new)
        by: NDArray[np.int64] = np.full(n, -1, np.int64)
        if by_components:
            heads = _components(n, left.astype(np.uint32), right.astype(np.uint32)).astype(np.int64)
            member = heads != np.arange(n)
            by[member] = heads[member]
        elif len(left):
            by = absorb_listed(
                None,
                documents=np.arange(n, dtype=np.uint32),
                offsets=list_offsets(np.bincount(left, minlength=n)),
                later=right.astype(np.uint32),
                similarity=self._similarity[similar],
                threshold=threshold,
                most=n,
            )[0]
        removed = self._copies | ((by >= 0) & self._is_new)
        if self._keeps_none:
            heads = self._has_copies.copy()
            heads[by[by >= 0]] = True
            removed |= heads & self._is_new
        return self.documents - self._dropped - int(removed.sum())
