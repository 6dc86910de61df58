"""Documents that meet in a unit → candidate pairs: each document with earlier ones of its unit, the first ones first.

Rows that come out have a `kind`:

| kind | left | right | unit | last |
|---|---|---|---|---|
| `PAIR` | number of the earlier document | of the later one | 0 | 0 |
| `MEMBER` | 0 | number of a document of a unit with more | unit | number of the last one it was paired with |
| `MORE` | 0 | 0 | unit | how many pairs are left for another round |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.distributed.rows import batches_of, gathered, integers, unpack_values, working

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = 8
"""Earlier documents that each document of a unit is paired with at once."""
PAIR, MEMBER, MORE = 0, 1, 2
NONE = (1 << 63) - 1
"""`last` of a document that was paired with all before it."""
_AT_ONCE = 1 << 20
"""Pairs that are made at once."""

Numbers = NDArray[np.int64]


def rows_of(kind: int, left: Numbers, right: Numbers, unit: Numbers | int, last: Numbers | int) -> dict[str, Any]:
    """Columns of rows of one kind."""
    n = len(right)
    return {
        "kind": np.full(n, kind, np.int32),
        "left": left,
        "right": right,
        "unit": np.broadcast_to(np.int64(unit), n) if isinstance(unit, int) else unit,
        "last": np.broadcast_to(np.int64(last), n) if isinstance(last, int) else last,
    }


@dataclass(frozen=True)
class Bands:
    """Signatures → rows of bands."""

    source: MinHashCandidates
    kind: np.dtype[Any]
    field: str = ""

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From number and values to unit (the hash of a band) and number, a row for each band."""
        for batch in batches:
            values = unpack_values(batch.column("values"), self.kind)
            keys = self.source.band_keys(values[self.field] if self.field else values)
            numbers = np.repeat(integers(batch.column("number")), keys.shape[1])
            yield from batches_of({"unit": keys.reshape(-1), "number": numbers})


@dataclass(frozen=True)
class FirstPairs:
    """Rows of whole buckets → pairs.

    Attributes
    ----------
    most : int
        Earlier documents that each one is paired with; 0 for all.
    older_only : bool
        Whether new documents are paired with older ones alone.
    """

    most: int = FIRST
    older_only: bool = False

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From unit and number to pairs, and members of the buckets that have more."""
        table = gathered(batches)
        if table is None:
            return
        units, numbers = integers(table.column("unit")), integers(table.column("number"))
        del table
        with working:
            units, numbers = _repeated(units, numbers)
        start, place, count = earlier_places(units, numbers, older_only=self.older_only)
        paired = np.minimum(count, self.most) if self.most else count
        yield from _pairs(numbers, start, place, paired)
        more = paired < count
        if more.any():
            # All members of such a bucket: they are what later ones are compared with.
            hot = np.isin(units, np.unique(units[more]))
            last = np.where(more, numbers[np.minimum(start + paired - 1, place)], NONE)
            yield from batches_of(
                rows_of(MEMBER, np.zeros(int(hot.sum()), np.int64), numbers[hot], units[hot], last[hot])
            )


def _repeated(units: Numbers, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """The rows of units with two members and more, by unit and number."""
    ordered = np.sort(units)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return units[:0], numbers[:0]
    at = np.minimum(np.searchsorted(twice, units), len(twice) - 1)
    some = np.flatnonzero(twice[at] == units)
    units, numbers = units[some], numbers[some]
    order = np.lexsort((numbers, units))
    return units[order], numbers[order]


def earlier_places(units: Numbers, numbers: Numbers, *, older_only: bool) -> tuple[Numbers, Numbers, Numbers]:
    """For rows in the order of units and numbers: where the unit of each begins, its own place, and how many of the
    rows from there on it may be paired with.
    """
    place = np.arange(len(units))
    first = np.concatenate([np.ones(min(len(units), 1), bool), units[1:] != units[:-1]])
    starts = place[first]
    start = np.repeat(starts, np.diff(np.append(starts, len(units))))
    count = place - start
    if older_only:
        older = np.concatenate([[0], np.cumsum(numbers < 0)])
        count = np.minimum(count, older[place] - older[start])
    count[numbers < 0] = 0
    return start, place, count


def index_pairs(start: Numbers, place: Numbers, count: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Places of pairs: of each row with the `count` rows from its start on, some at once."""
    later = np.flatnonzero(count)
    ends = np.cumsum(count[later])
    begin = 0
    while begin < len(later):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + _AT_ONCE, side="right")), begin + 1)
        some = later[begin:end]
        counts = count[some]
        offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(start[some], counts) + offset, np.repeat(place[some], counts)
        begin = end


def _pairs(numbers: Numbers, start: Numbers, place: Numbers, count: Numbers) -> Iterator[pa.RecordBatch]:
    """The rows of these pairs."""
    for earlier, later in index_pairs(start, place, count):
        yield from batches_of(rows_of(PAIR, numbers[earlier], numbers[later], 0, 0))


@dataclass(frozen=True)
class OpenPairs:
    """Members of whole units, with their components → the pairs that may still join two of them.

    Attributes
    ----------
    most : int
        Pairs of a document that are made at once.
    """

    most: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From unit, number, last and by (the first document of the component) to pairs."""
        table = gathered(batches)
        if table is None:
            return
        held = [integers(table.column(name)) for name in ("unit", "number", "last", "by")]
        order = np.lexsort((held[1], held[0]))
        units, numbers, last, by = (column[order] for column in held)
        bounds = np.flatnonzero(np.concatenate([[True], units[1:] != units[:-1], [True]]))
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            part = slice(start, end)
            yield from self._other_components(int(units[start]), numbers[part], last[part], by[part])

    def _other_components(self, unit: int, numbers: Numbers, last: Numbers, by: Numbers) -> Iterator[pa.RecordBatch]:
        """Documents of other components, before a document."""
        if (by == by[0]).all():
            return
        left = 0
        for at in np.flatnonzero((numbers >= 0) & (last != NONE)).tolist():
            # What a document was paired with at first is behind it.
            first = int(np.searchsorted(numbers, last[at], side="right"))
            other = first + np.flatnonzero(by[first:at] != by[at])
            now = other[: self.most]
            left += len(other) - len(now)
            if len(now):
                yield from batches_of(rows_of(PAIR, numbers[now], np.full(len(now), numbers[at]), 0, 0))
        none = np.zeros(1, np.int64)
        if left:
            yield from batches_of(rows_of(MORE, none, none, unit, left))
