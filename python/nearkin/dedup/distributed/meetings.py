"""Documents that meet in a task and are compared, each with all earlier ones: fingerprints within a radius, exactly,
and members of a hot bucket whose signatures agree in enough values.

Fingerprints: documents are cut into P slices in keep order. Task (i, j), i <= j, holds slice i and asks it for each
document of slice j; every two documents meet in one task. A fingerprint travels to P + 1 tasks. In a task what is held
is asked piece by piece in keep order, and a document that has found `most` earlier ones is done: what near-duplicates
of one another cost is bounded, and so is memory.

Where the radius is small beside the width, fingerprints need not all be compared: cut into r + c blocks of bits, two of
them within radius r agree in at least c blocks (Manku, Jain and Das Sarma, WWW 2007, section 3.1). So there is a table
for each choice of c blocks, and documents meet that are equal in those. `choose_tables` compares the cost of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import byte_hashes
from nearkin.dedup.candidates import Values
from nearkin.dedup.distributed.rows import batches_of, gathered, integers, pack_values, unpack_values
from nearkin.dedup.distributed.units import (
    FIRST,
    MEMBER,
    MORE,
    NONE,
    PAIR,
    Numbers,
    earlier_places,
    index_pairs,
    rows_of,
)
from nearkin.index.fingerprints import hamming
from nearkin.index.hamming import HammingIndex

if TYPE_CHECKING:
    import pyarrow as pa

PIECE = 1 << 14
"""Fingerprints of a slice that are asked at once: of 128 bits 256 KB, which a core keeps near."""
QUERIES = 1 << 10
"""Documents that ask at once; with a piece they make at most 2^24 hits."""
SIGNATURES = 1 << 10
"""Members of a hot bucket that meet at once; their pairs take some 20 MB."""
SMALL = 64
"""Documents of a unit of which all pairs are compared."""
SLICE = 1 << 20
"""Fingerprints of a slice."""
TASKS = 1 << 16
"""More than there are slices."""


ROW_SECONDS = 2.0e-6
"""What it costs to move a row to a task, and to sort it there."""
SCAN_SECONDS = 2.0e-10
"""What it costs to compare two fingerprints of 128 bits that lie in two slices."""
PAIR_SECONDS = 2.3e-8
"""The same of two that meet in a table: they are gathered one by one."""
_CHOICES = 4
"""Most blocks that have to agree."""
_MOST_TABLES = 256


def choose_tables(bits: int, radius: int, documents: int) -> tuple[int, int] | None:
    """Blocks, and how many of them must agree, of the cheapest tables; None if slices are cheaper.

    Parameters
    ----------
    bits, radius : int
    documents : int

    Returns
    -------
    tuple of int, or None
    """
    best, found = seconds_by_slices(bits, documents), None
    for agree in range(1, _CHOICES + 1):
        blocks = radius + agree
        if blocks > bits or math.comb(blocks, agree) > _MOST_TABLES:
            break
        seconds = seconds_by_tables(bits, blocks, agree, documents)
        if seconds < best:
            best, found = seconds, (blocks, agree)
    return found


def slices_of(documents: int) -> int:
    """Into how many slices documents are cut; always some, so that all cores have work."""
    return max(-(-documents // SLICE), 4)


def seconds_by_slices(bits: int, documents: int) -> float:
    """Seconds of a core for a document."""
    return (slices_of(documents) + 1) * ROW_SECONDS + documents / 2 * SCAN_SECONDS * max(bits / 128, 0.5)


def seconds_by_tables(bits: int, blocks: int, agree: int, documents: int) -> float:
    """Seconds of a core for a document; fingerprints of documents that are not alike are as good as random."""
    tables, width = math.comb(blocks, agree), bits // blocks * agree
    return tables * (ROW_SECONDS + documents * 0.5 ** (width + 1) * PAIR_SECONDS)


@dataclass(frozen=True)
class Tables:
    """Tables by blocks of the bits.

    Attributes
    ----------
    bits, blocks, agree : int
        Cut into `blocks` blocks, of which `agree` are equal in a table.
    kind, field : dtype, str
        Of a row of values, and the field of it that has the fingerprint.
    """

    bits: int
    blocks: int
    agree: int
    kind: np.dtype[Any]
    field: str = ""

    def masks(self) -> NDArray[np.uint64]:
        """For each table the bits that must be equal, (tables, words)."""
        cuts = [self.bits * at // self.blocks for at in range(self.blocks + 1)]
        masks = []
        for chosen in combinations(range(self.blocks), self.agree):
            mask = sum(((1 << cuts[at + 1]) - (1 << cuts[at])) for at in chosen)
            masks.append([mask >> 64 * word & (1 << 64) - 1 for word in range((self.bits + 63) // 64)])
        return np.array(masks, np.uint64)

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From number, values, asks and held to a row for each table, as `Slices.rows` gives them."""
        import pyarrow as pa

        masks = self.masks()
        for batch in batches:
            values = unpack_values(batch.column("values"), self.kind)
            values = np.ascontiguousarray(values[self.field]) if self.field else values
            if not len(values):
                continue
            flags = [batch.column(name).to_numpy(zero_copy_only=False) for name in ("asks", "held")]
            role = pa.array(flags[0], mask=flags[0] & flags[1])
            # Equal bits in different tables have different keys.
            salts = np.arange(1, len(masks) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            for salt, mask in zip(salts, masks, strict=True):
                masked = np.ascontiguousarray(values & mask)
                hashes = byte_hashes(masked.view(np.uint8).reshape(-1), masked.shape[1] * 8)[::2]
                unit = hashes ^ salt
                columns = [pa.array(unit.view(np.int64)), batch.column("number"), pack_values(values), role]
                yield pa.RecordBatch.from_arrays(columns, ["unit", "number", "values", "asks"])


@dataclass(frozen=True)
class Slices:
    """Cuts between the slices, by number."""

    splits: tuple[int, ...]
    kind: np.dtype[Any]
    field: str = ""

    def __len__(self) -> int:
        return len(self.splits) + 1

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From number, values, asks and held to a row for each task: unit, number, values, asks.

        What comes out asks, or is held (false), or both (null). `asks` says whether a document looks for earlier ones,
        `held` whether later ones look for it.
        """
        import pyarrow as pa

        splits = np.array(self.splits, np.int64)
        for batch in batches:
            values = unpack_values(batch.column("values"), self.kind)
            values = np.ascontiguousarray(values[self.field]) if self.field else values
            numbers = integers(batch.column("number"))
            own = np.searchsorted(splits, numbers, side="right")
            flags = [batch.column(name).to_numpy(zero_copy_only=False) for name in ("asks", "held")]
            for other in range(len(self)):
                for asks, some in ((True, flags[0] & (other <= own)), (False, flags[1] & (other >= own))):
                    at = np.flatnonzero(some)
                    if not len(at):
                        continue
                    unit = other * TASKS + own[at] if asks else own[at] * TASKS + other
                    columns = {
                        "unit": pa.array(unit),
                        "number": pa.array(numbers[at]),
                        "values": pack_values(values[at]),
                        "asks": pa.array(np.full(len(at), asks)),
                    }
                    yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


class Closeness(Protocol):
    """What decides whether two documents that meet are a candidate pair."""

    @property
    def kind(self) -> np.dtype[Any]:
        """Of one row of values."""

    def near(self, held: Values, queries: Values) -> tuple[Numbers, Numbers]:
        """Pairs that are near: numbers of queries, and of held rows."""

    def are_near(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Whether rows are near, one by one."""


@dataclass(frozen=True)
class WithinRadius:
    """Fingerprints of `bits` bits within a Hamming radius."""

    bits: int
    radius: int

    @property
    def kind(self) -> np.dtype[Any]:
        """Words of 64 bits."""
        return np.dtype((np.uint64, ((self.bits + 63) // 64,)))

    def near(self, held: Values, queries: Values) -> tuple[Numbers, Numbers]:
        """By a scan."""
        index = HammingIndex(self.bits, method="scan")
        index.add(None, _flat(held))
        hits = index.search(_flat(queries), self.radius)
        return np.repeat(np.arange(len(queries)), np.diff(hits.offsets)), np.asarray(hits.ids, np.int64)

    def are_near(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """By their distances."""
        return np.asarray(hamming(_flat(left), _flat(right)) <= self.radius)


@dataclass(frozen=True)
class EnoughValues:
    """Signatures that agree in at least `least` values."""

    type: str
    num_perm: int
    least: int

    @property
    def kind(self) -> np.dtype[Any]:
        """Values of 32 or 64 bits."""
        return np.dtype((self.type, (self.num_perm,)))

    def near(self, held: Values, queries: Values) -> tuple[Numbers, Numbers]:
        """By counting, value by value; pairs that can't reach `least` any more are left."""
        owner, place = (side.reshape(-1) for side in np.indices((len(queries), len(held))))
        equal = np.zeros(len(owner), np.int16)
        columns = [np.ascontiguousarray(side.T) for side in (queries, held)]
        for at in range(self.num_perm):
            if at % 16 == 0 and at:
                open_ = np.flatnonzero(equal + (self.num_perm - at) >= self.least)
                owner, place, equal = owner[open_], place[open_], equal[open_]
            equal += columns[0][at][owner] == columns[1][at][place]
        found = equal >= self.least
        return owner[found], place[found]

    def are_near(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """By counting."""
        return np.asarray((left == right).sum(1) >= self.least)


@dataclass(frozen=True)
class NearPairs:
    """Rows of whole tasks → pairs that are near.

    Attributes
    ----------
    close : Closeness
    most : int
        Earlier documents that each one is paired with in a task; 0 for all.
    older_only : bool
    piece, queries : int
        Held documents and those that ask that meet at once.
    """

    close: Closeness
    most: int = FIRST
    older_only: bool = False
    piece: int = PIECE
    queries: int = QUERIES

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From unit, number, values, asks and, of a later round, last and by, to pairs and members."""
        import pyarrow.compute as pc

        table = gathered(batches)
        if table is None:
            return
        units, numbers = integers(table.column("unit")), integers(table.column("number"))
        roles = table.column("asks")
        both = roles.is_null().to_numpy()
        held_alone = pc.invert(roles).fill_null(False).to_numpy()
        asks, holds = ~held_alone, both | held_alone
        values = unpack_values(table.column("values"), self.close.kind)
        # What a document was paired with before, and what it is removed for.
        last = _or(table, "last", np.full(len(units), -NONE))
        by = _or(table, "by", numbers)
        del table, roles
        order = np.lexsort((numbers, units))
        bounds = np.flatnonzero(np.concatenate([[True], np.diff(units[order]) != 0, [True]]))
        # Few documents that all ask and are asked need no pieces: all such units at once.
        small = np.logical_and.reduceat(both[order], bounds[:-1]) & (np.diff(bounds) <= SMALL)
        yield from self._small(units, numbers, values, order[np.repeat(small, np.diff(bounds))])
        for start, end in zip(bounds[:-1][~small].tolist(), bounds[1:][~small].tolist(), strict=True):
            rows = order[start:end]
            queries = rows[asks[rows] & (numbers[rows] >= 0)]
            held = rows[holds[rows] & ((numbers[rows] < 0) | (not self.older_only))]
            if len(queries) and len(held):
                sides = _Side(numbers[held], values[held]), _Side(numbers[queries], values[queries])
                yield from self._task(int(units[rows[0]]), *sides, last[queries], by[queries])

    def _small(self, units: Numbers, numbers: Numbers, values: Values, order: Numbers) -> Iterator[pa.RecordBatch]:
        """All pairs that are near, in units of few documents."""
        units, numbers = units[order], numbers[order]
        for earlier, later in index_pairs(*earlier_places(units, numbers, older_only=self.older_only)):
            close = self.close.are_near(values[order[earlier]], values[order[later]])
            yield from batches_of(rows_of(PAIR, numbers[earlier[close]], numbers[later[close]], 0, 0))

    def _task(self, unit: int, held: _Side, queries: _Side, last: Numbers, by: Numbers) -> Iterator[pa.RecordBatch]:
        """Pairs of one task, in pieces; by is an upper bound of the earlier document, last a lower one."""
        found = np.zeros(len(queries.numbers), np.int64)
        newest = np.full(len(queries.numbers), NONE)
        more = np.zeros(len(queries.numbers), bool)
        for start in range(0, len(held.numbers), self.piece):
            piece = slice(start, start + self.piece)
            numbers, values = held.numbers[piece], held.values[piece]
            active = np.flatnonzero((by > numbers[0]) & (last < numbers[-1]) & ~more)
            for begin in range(0, len(active), self.queries):
                some = active[begin : begin + self.queries]
                owner, place = self.close.near(values, queries.values[some])
                earlier = numbers[place]
                fits = (earlier < by[some][owner]) & (earlier > last[some][owner])
                owner, earlier = owner[fits], earlier[fits]
                order = np.lexsort((earlier, owner))
                owner, earlier = owner[order], earlier[order]
                count = np.bincount(owner, minlength=len(some))
                rank = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
                now = rank + found[some][owner] < self.most if self.most else np.ones(len(owner), bool)
                more[some[np.unique(owner[~now])]] = True
                owner, earlier = owner[now], earlier[now]
                found[some] += np.bincount(owner, minlength=len(some))
                # The last of each document is the largest.
                newest[some[owner]] = earlier
                yield from batches_of(rows_of(PAIR, earlier, queries.numbers[some[owner]], 0, 0))
        if more.any():
            numbers = queries.numbers[more]
            yield from batches_of(rows_of(MEMBER, np.zeros(len(numbers), np.int64), numbers, unit, newest[more]))
            none = np.zeros(1, np.int64)
            yield from batches_of(rows_of(MORE, none, none, unit, len(numbers)))


def _flat(values: Values) -> NDArray[np.uint64]:
    """As an index takes them."""
    return np.ascontiguousarray(values[:, 0] if values.shape[1] == 1 else values)


@dataclass(frozen=True)
class _Side:
    """Documents of a task in keep order."""

    numbers: Numbers
    values: Values


def _or(table: pa.Table, name: str, otherwise: Numbers) -> Numbers:
    """A column, with other numbers where it is null or not there."""
    if name not in table.column_names:
        return otherwise
    column = table.column(name)
    held = np.asarray(column.fill_null(0).to_numpy(), np.int64)
    return np.where(column.is_null().to_numpy(), otherwise, held)
