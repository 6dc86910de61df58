"""Links → removed documents, as rounds of a plan; the driver decides what is small.

**Absorption.** Keep, then absorb keeps the lexicographically first independent set of the links, in the order of
numbers. A document is decided once all its earlier neighbors are:

1. Documents without an undecided earlier neighbor are kept.
2. Their later neighbors are removed.
3. Links of decided documents go, and the next round has the rest.

A round decides at least the first document of each component, and every document whose earlier neighbors are decided:
the number of rounds is half the length of the longest chain of undecided documents (Blelloch, Fineman and Shun, "Greedy
sequential maximal independent set and matching are parallel on average", SPAA 2012). In clusters of near-duplicates
most documents are linked to the first one, so two or three rounds leave few links. The representative of a removed
document is its first kept neighbor, which one join finds afterwards.

Chains are bounded by prefixes: after a round that leaves more than half of its links, the driver also decides the first
documents, the later ends of `MAX_DRIVER_LINKS` links. All their earlier neighbors are among them. So M links on the
driver are the end of L links after L / (0.9 M) + log2(L / M) rounds or fewer, whatever the shape of the graph. (Pointer
jumping needs log2(L) rounds, but only where each document has one earlier neighbor; drifting texts have several.)

**Components.** In each round every document joins the neighbor with the smallest hash, or stays if its own is smaller.
Links then connect what documents joined. That keeps the components connected, and hashes that differ by round leave a
constant share of the documents at most, whatever the shape of the graph (Karger, Klein and Tarjan, JACM 1995, for the
contraction of random neighbors).

Both end on the driver as soon as at most `MAX_DRIVER_LINKS` links are left. Rounds are stages of the checkpoint, so a
failed job continues with the round that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.distributed.documents import Numbers, to_batches, to_integers
from nearkin.distributed.links import absorb, components, first_of_components

if TYPE_CHECKING:
    import pyarrow as pa

Rows = Any
"""As of `plan`."""
MAX_DRIVER_LINKS = 5_000_000
"""Links that the driver decides: about half a gigabyte."""
REMOVALS = "number bigint, by bigint"
"""A removed document and its representative."""
_SAMPLE = 1 << 14
"""Links that are sampled to find the first ones."""
_TARGETS = "number bigint, target bigint"


@dataclass(frozen=True)
class Decision:
    """The decision on links.

    Attributes
    ----------
    checkpoint : plan.Persisted
    cluster : {"absorb", "components"}
    name : str
        Prefix of its stages.
    """

    checkpoint: Any
    cluster: str
    name: str

    def removals(self, links: Rows) -> Rows:
        """Return number, by of the removed documents.

        Parameters
        ----------
        links : Rows
            left, right: linked documents, the earlier one left; each link once or more.
        """
        if links.count() <= MAX_DRIVER_LINKS:
            return self._stage("removals", REMOVALS, lambda: self._decide_on_driver(links))
        return self._find_components(links) if self.cluster == "components" else self._absorb(links)

    def _stage(self, name: str, schema: str, build: Callable[[], pa.Table]) -> Rows:
        return self.checkpoint.table(f"{self.name}-{name}", schema, build)

    def _frame(self, name: str, build: Callable[[], Rows]) -> Rows:
        return self.checkpoint.frame(f"{self.name}-{name}", build)

    def _decide_on_driver(self, links: Rows) -> pa.Table:
        """Return number, by."""
        import pyarrow as pa

        ends = _fetch_links(links)
        decided = components(*ends) if self.cluster == "components" else absorb(*ends)
        return pa.table({"number": decided.removed, "by": decided.by})

    # Absorption

    def _absorb(self, links: Rows) -> Rows:
        rest, removed, counts = links, [], [links.count()]
        while len(counts) == 1 or counts[-1] > MAX_DRIVER_LINKS:
            is_slow = len(counts) > 1 and 2 * counts[-1] > counts[-2]
            own, rest = self._absorb_first(rest, len(counts), counts[-1] if is_slow else 0)
            removed.append(own)
            counts.append(rest.count())
        removed.append(self._stage("rest", REMOVALS, lambda: self._decide_on_driver(rest)).select("number"))
        every = reduce(lambda rows, other: rows.union(other), removed)
        return self._frame("removals", lambda: _first_kept(links, every))

    def _absorb_first(self, links: Rows, at: int, count: int) -> tuple[Rows, Rows]:
        """Return the documents that a round removes (number), and the links that it leaves.

        With a `count` of links the driver decides the first documents.
        """
        left, right = links.select("left").distinct(), links.selectExpr("right AS left").distinct()
        kept = left.join(right, "left", "left_anti")
        if count and MAX_DRIVER_LINKS:
            prefix = self._stage(f"kept-{at}", "left bigint", lambda: _keep_first(links, count))
            kept = kept.union(prefix).distinct()
        removed = links.join(kept, "left").selectExpr("right AS number").distinct()
        removed = self._frame(f"removed-{at}", lambda: removed)
        decided = kept.union(removed.selectExpr("number AS left"))
        rest = links.join(decided, "left", "left_anti")
        rest = rest.join(removed.selectExpr("number AS right"), "right", "left_anti")
        return removed, self._frame(f"links-{at}", lambda: rest.select("left", "right").distinct())

    # Components

    def _find_components(self, links: Rows) -> Rows:
        joined, rest, at = None, links, 0
        while joined is None or rest.count() > MAX_DRIVER_LINKS:
            at += 1
            targets = self._join_neighbors(rest, at)
            joined = targets if joined is None else self._follow(joined, targets, at)
            rest = self._contract(rest, targets, at)
        last = self._stage("rest", _TARGETS, lambda: _label_on_driver(rest))
        joined = self._follow(joined, last, at + 1)
        return self._frame("removals", lambda: _first_members(joined))

    def _join_neighbors(self, links: Rows, at: int) -> Rows:
        """Return number, target: what each document joins in a round."""
        hashes = DocumentHashes(at)
        both = links.select("left", "right").union(links.selectExpr("right AS left", "left AS right"))
        # The engine combines the rows of a document before it sends them, however many neighbors it has.
        rows = both.mapInArrow(hashes.rows, "number bigint, hash bigint").groupBy("number").agg({"hash": "min"})
        rows = rows.toDF("number", "hash")
        return self._frame(f"joined-{at}", lambda: rows.mapInArrow(hashes.targets, _TARGETS))

    def _follow(self, joined: Rows, targets: Rows, at: int) -> Rows:
        """Return number, target, where targets that joined others are replaced by these."""
        later = targets.selectExpr("number AS target", "target AS later")
        rows = joined.join(later, "target", "left").selectExpr("number", "coalesce(later, target) AS target")
        return self._frame(f"targets-{at}", lambda: rows)

    def _contract(self, links: Rows, targets: Rows, at: int) -> Rows:
        """Return the links between the targets of both ends."""
        left = targets.selectExpr("number AS left", "target AS a")
        right = targets.selectExpr("number AS right", "target AS b")
        ends = links.join(left, "left").join(right, "right").where("a != b")
        rows = ends.selectExpr("least(a, b) AS left", "greatest(a, b) AS right").distinct()
        return self._frame(f"links-{at}", lambda: rows)


@dataclass(frozen=True)
class DocumentHashes:
    """Hashes of documents in a round of contraction: splitmix64 (Steele, Lea and Flood, OOPSLA 2014).

    It is a permutation of 64-bit integers, so hashes have no ties, and a hash gives its document.

    Attributes
    ----------
    round : int
        Changes the hashes.
    """

    round: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert left, right to number (the left one), hash (of the right one)."""
        for batch in batches:
            yield from to_batches({"number": batch.column("left"), "hash": self.of(to_integers(batch.column("right")))})

    def targets(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert number, hash (the smallest one of its neighbors) to number, target: what a document joins."""
        for batch in batches:
            number, nearest = (to_integers(batch.column(name)) for name in ("number", "hash"))
            yield from to_batches({"number": number, "target": self.documents(np.minimum(self.of(number), nearest))})

    def of(self, numbers: Numbers) -> Numbers:
        """Return the hashes of documents."""
        state = np.ascontiguousarray(numbers).view(np.uint64) + self._start
        for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        return np.asarray((state ^ (state >> np.uint64(_SHIFTS[-1]))).view(np.int64))

    def documents(self, hashes: Numbers) -> Numbers:
        """Return the documents of hashes."""
        state = _undo_shift(np.ascontiguousarray(hashes).view(np.uint64), _SHIFTS[-1])
        for shift, factor in zip(_SHIFTS[-2::-1], _FACTORS[::-1], strict=True):
            state = _undo_shift(state * np.uint64(pow(factor, -1, 1 << 64)), shift)
        return np.asarray((state - self._start).view(np.int64))

    @property
    def _start(self) -> np.uint64:
        start: np.uint64 = np.uint64(self.round * 0x9E3779B97F4A7C15 % (1 << 64))
        return start


_SHIFTS, _FACTORS = (30, 27, 31), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _undo_shift(mixed: NDArray[np.uint64], shift: int) -> NDArray[np.uint64]:
    """Return the x of mixed = x ^ (x >> shift), of which each step has `shift` more bits."""
    state = mixed
    for _ in range(64 // shift):
        state = mixed ^ (state >> np.uint64(shift))
    return state


def _fetch_links(links: Rows) -> tuple[Numbers, Numbers]:
    table = links.toArrow()
    left, right = (np.asarray(table.column(name), np.int64) for name in ("left", "right"))
    return left, right


def _keep_first(links: Rows, count: int) -> pa.Table:
    """Return the kept ones (left) of the first documents, the later ends of about `MAX_DRIVER_LINKS` links."""
    import pyarrow as pa

    sample = links.select("right").sample(min(1.0, _SAMPLE / count), seed=1).toArrow()
    rights = np.sort(to_integers(sample["right"]))
    last = rights[int(0.9 * MAX_DRIVER_LINKS / count * len(rights))] if len(rights) else 0
    ends = _fetch_links(links.where(f"right <= {last}"))
    removed = absorb(*ends).removed
    return pa.table({"left": np.setdiff1d(np.concatenate(ends), removed)})


def _label_on_driver(links: Rows) -> pa.Table:
    """Return number, target: the first document of the component of each, reference documents too."""
    import pyarrow as pa

    numbers, first = first_of_components(*_fetch_links(links))
    return pa.table({"number": numbers, "target": first})


def _first_kept(links: Rows, removed: Rows) -> Rows:
    """Return number, by of removed documents, by their first kept neighbor."""
    own = links.join(removed.selectExpr("number AS right"), "right", "left_semi")
    kept = own.join(removed.selectExpr("number AS left"), "left", "left_anti")
    return kept.groupBy("right").agg({"left": "min"}).toDF("number", "by")


def _first_members(joined: Rows) -> Rows:
    """Return number, by of all new documents but the first of each component."""
    first = joined.groupBy("target").agg({"number": "min"}).toDF("target", "by")
    return joined.join(first, "target").where("number != by and number >= 0").select("number", "by")
