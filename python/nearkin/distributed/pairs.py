"""Documents of one unit → candidate pairs: each document with earlier ones of its unit, the first ones first.

A *unit* is a set of documents that meet in one task.

| family | unit | candidates in it |
|---|---|---|
| MinHash | the bucket of a band | all; where bits filter, those that agree in enough of them |
| SimHash, small radius | a table: fingerprints with some equal blocks | those within the radius |
| SimHash | two slices of the documents | those within the radius |

**Slices.** Documents are split into P slices in keep order. Task (i, j), i <= j, searches slice i for each document of
slice j, so every two documents meet in one task, and a fingerprint is sent to P + 1 tasks. A task searches slice i
piece by piece in keep order, and a document with enough earlier candidates is done. That bounds memory, and the cost of
many similar documents.

**Tables.** If the radius r is small compared with the width, not all fingerprints need a comparison: split into r + c
blocks of bits, two of them within radius r agree in at least c blocks (Manku, Jain and Das Sarma, WWW 2007, section
3.1). So there is a table for each choice of c blocks, in which documents with these blocks equal meet. `choose_tables`
compares the cost of both.

Result rows have a `kind`:

| kind | left | right | unit | last |
|---|---|---|---|---|
| `PAIR` | number of the earlier document | of the later one | 0 | 0 |
| `MEMBER` | 0 | number of a document of a unit with more pairs | unit | number of the last one it was paired with |
| `MORE` | 0 | 0 | unit | number of pairs left for another round |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import byte_hashes, hamming_distances
from nearkin.dedup.candidates import MinHashCandidates, Values
from nearkin.dedup.candidates.base import chunk_ranges, distinct
from nearkin.dedup.candidates.simhash import SimHashCandidates, flatten
from nearkin.distributed.documents import (
    TASK_ROWS,
    Numbers,
    binary_bytes,
    gather,
    num_tasks,
    pack_values,
    scramble,
    task_slots,
    to_batches,
    to_integers,
    unpack_values,
)
from nearkin.index.fingerprints import hamming
from nearkin.index.hamming import HammingIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin.dedup.config import DedupConfig

MAX_FIRST = 8
"""Earlier documents of a unit that each document is paired with in the first round. One of a bucket that has more is
paired with the first of them, which most often decides, and compared again."""
PAIR, MEMBER, MORE = 0, 1, 2
NONE = (1 << 63) - 1
"""`last` of a document that was paired with all before it."""
MEMBER_COLUMNS = "unit", "number", "last", "by", "before"
"""Columns of members of buckets: `by` is the document for which one is removed, or itself. Its pairs with documents
that were kept when the last round began are verified up to `before`, exclusive."""
MAX_COMPARED = 256
"""Earlier documents of a unit whose bits are compared with those of each document in the first round: 3 µs."""
MAX_BUCKET = 1 << 18
"""Documents of a bucket that one task pairs."""
MAX_PIECE = 1 << 14
"""Fingerprints of a slice that are searched at once: 256 KB for 128 bits, which stay in the cache of a core."""
MAX_QUERIES = 1 << 10
"""Documents that are searched for at once; with a piece they have at most 2^24 hits."""
SMALL_UNIT = 64
"""Number of documents up to which all pairs of a unit are compared at once."""
SLICE = 1 << 20
"""Fingerprints of a slice."""
MAX_TASKS = 1 << 16
"""More than the number of slices."""
ROW_SECONDS = 2.0e-6
"""Cost of moving a row to a task, and of sorting it there."""
SCAN_SECONDS = 2.0e-10
"""Cost of comparing two fingerprints of 128 bits in slices."""
PAIR_SECONDS = 2.3e-8
"""Cost of comparing two fingerprints in a table, which are gathered one by one."""
_MAX_EQUAL_BLOCKS = 4
_MAX_TABLES = 256
_MAX_PAIRS = 1 << 20
"""Pairs that are built at once."""


def pair_rows(kind: int, left: Numbers, right: Numbers, unit: Numbers | int, last: Numbers | int) -> dict[str, Any]:
    """Return the columns of rows of one kind."""
    n = len(right)
    return {
        "kind": np.full(n, kind, np.int32),
        "left": left,
        "right": right,
        "unit": np.broadcast_to(np.int64(unit), n) if isinstance(unit, int) else unit,
        "last": np.broadcast_to(np.int64(last), n) if isinstance(last, int) else last,
    }


def _more_row(unit: int, count: int) -> Iterator[pa.RecordBatch]:
    zero = np.zeros(1, np.int64)
    return to_batches(pair_rows(MORE, zero, zero, unit, count))


# Buckets of bands


@dataclass(frozen=True)
class Bands:
    """Signatures → rows of bands.

    Attributes
    ----------
    source : MinHashCandidates
    dtype : dtype
        Type of one row of values.
    large : (n,) int64, optional
        Buckets that are too large for a task, ascending.
    only_large : bool, default False
        Yield only their rows, instead of all others.
    parts : int, default 1
        Number of parts of the buckets, up to 2^16, for `parcels`.
    passes : int, default 1
        Number of passes; each has some of the parts.
    at : int, default 0
        The pass.
    """

    source: MinHashCandidates
    dtype: np.dtype[Any]
    large: Numbers | None = None
    only_large: bool = False
    parts: int = 1
    passes: int = 1
    at: int = 0

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert number and values to unit (the hash of a band) and number, a row for each band."""
        for batch in batches:
            units, documents, numbers, _ = self._buckets(batch)
            yield from to_batches({"unit": units, "number": numbers[documents]})

    def parcels(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert number and values to parcels that each have the rows of a batch in one part of the buckets."""
        # Offsets of parcels have 32 bits.
        slices = (batch.slice(at, _SLICE) for batch in batches for at in range(0, batch.num_rows, _SLICE))
        for batch in slices:
            units, documents, numbers, values = self._buckets(batch)
            bits = self.source.bits(values) if self.source.filtered else np.zeros((len(values), 0), np.uint64)
            if self.passes > 1:
                own = bucket_parts(units, self.parts) % self.passes == self.at
                units, documents = units[own], documents[own]
            yield from pack_parcels(units, documents, numbers, bits, self.parts)

    def _buckets(self, batch: pa.RecordBatch) -> tuple[Numbers, Numbers, Numbers, Values]:
        """Return unit and document of each row of a bucket, and numbers and values of the documents of a batch."""
        numbers, values = to_integers(batch.column("number")), unpack_values(batch.column("values"), self.dtype)
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(numbers)
            numbers, values = numbers[order], values[order]
        keys = self.source.band_keys(values)
        units, documents = keys.reshape(-1), np.repeat(np.arange(len(keys)), keys.shape[1])
        if self.large is not None:
            own = np.isin(units, self.large) == self.only_large
            units, documents = units[own], documents[own]
        return units, documents, numbers, values


# Parcels

PARCELS = "part bigint, first bigint, units binary, counts binary, numbers binary, bits binary"
"""The columns of parcels: a part of the buckets; the number of the first document; 4 bytes of the unit of each row; and
for each document a byte with the number of its rows, the difference of its number from the one before, in as many bytes
as the largest needs, and its one-bit values. A document in more than 255 rows is listed again."""
_UNIT_BITS = 32
_MAX_PARTS = 1 << 16
_MAX_COUNT = 255
"""Rows of a document in a part that one byte counts."""
_SLICE = 1 << 18
"""Documents of a batch that are packed at once."""


PART_ROWS = TASK_ROWS << 2
"""Rows of a part. The fewer parts there are, the more rows of a document share its bits. A task needs up to 0.8 GB."""


def num_parts(rows: int) -> int:
    """Return the number of parts of buckets."""
    return min(max(-(-rows // PART_ROWS), 2), _MAX_PARTS)


ROW_BYTES = 23
"""Bytes of a row of a parcel with 128 bits, at most, if numbers differ by less than 2^16."""


def bucket_parts(units: Numbers, parts: int) -> NDArray[np.uint16]:
    """Return the parts of buckets: ranges of the first 24 bits of their units."""
    high = units.view(np.uint64) >> np.uint64(40)
    return np.asarray(high * np.uint64(parts) >> np.uint64(24), np.uint16)


def pack_parcels(
    units: Numbers, documents: Numbers, numbers: Numbers, bits: NDArray[np.uint64], parts: int
) -> Iterator[pa.RecordBatch]:
    """Pack rows of buckets by their parts.

    A part and the last 32 bits replace a unit. Two units of a part have the same 32 with probability 2^-32; their
    documents then meet in one bucket, and the verification, which compares bands, drops their pairs.

    Parameters
    ----------
    units, documents : (m,) int64
        Unit and document of each row, by document.
    numbers : (n,) int64
        Numbers of the documents; they need few bytes if they ascend.
    bits : (n, words) uint64
        One-bit values of the documents.
    parts : int
        Number of parts, up to 2^16.
    """
    import pyarrow as pa

    if not len(units):
        return
    part = bucket_parts(units, parts)
    order = np.argsort(part, kind="stable")
    part, documents = part[order], documents[order]
    # The first row of each document in a part, and every 255th one after it.
    is_first = np.concatenate([[True], (part[1:] != part[:-1]) | (documents[1:] != documents[:-1])])
    first = np.flatnonzero(is_first)
    counts = np.diff(first, append=len(units))
    if counts.max() > _MAX_COUNT:
        rows = np.arange(len(units))
        first = np.flatnonzero((rows - np.repeat(first, counts)) % _MAX_COUNT == 0)
        counts = np.diff(first, append=len(units))
    counts = counts.astype(np.uint8)
    part, documents = part[first], documents[first]
    numbers = numbers[documents]
    starts = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]]))
    steps = np.diff(numbers, prepend=numbers[:1])
    steps[starts] = 0
    for step_type in (np.uint8, np.uint16, np.uint32, np.int64):
        if steps.min() >= np.iinfo(step_type).min and steps.max() <= np.iinfo(step_type).max:
            break
    ends = np.append(starts, len(first))
    columns = {
        "part": pa.array(part[starts].astype(np.int64)),
        "first": pa.array(numbers[starts]),
        "units": _pack_ranges(units[order].astype(np.uint32), np.append(first[starts], len(units))),
        "counts": _pack_ranges(counts, ends),
        "numbers": _pack_ranges(steps.astype(step_type), ends),
        "bits": _pack_ranges(bits[documents], ends),
    }
    yield pa.RecordBatch.from_pydict(columns)


def _pack_ranges(rows: NDArray[Any], ends: Numbers) -> pa.Array:
    """Return the bytes of each range of rows."""
    import pyarrow as pa

    width = rows.nbytes // len(rows)
    buffers = [None, pa.py_buffer((ends * width).astype(np.int32)), pa.py_buffer(rows)]
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


@dataclass(frozen=True)
class Parcels:
    """Parcels of one part. Each column is unpacked alone: all at once take several times the memory."""

    table: pa.Table

    def units(self) -> NDArray[np.uint32]:
        """Return the last 32 bits of the unit of each row."""
        return binary_bytes(self.table.column("units")).view(np.uint32)

    def documents(self) -> NDArray[np.uint32]:
        """Return the document of each row."""
        counts = binary_bytes(self.table.column("counts"))
        return np.repeat(np.arange(len(counts), dtype=np.uint32), counts)

    def numbers(self) -> Numbers:
        """Return the numbers of the documents."""
        count = self._lengths("counts")
        widths, numbers = self._lengths("numbers") // count, np.zeros(int(count.sum()), np.int64)
        for width in np.unique(widths).tolist():
            own, parcels = np.repeat(widths == width, count), self.table.filter(widths == width)
            numbers[own] = binary_bytes(parcels.column("numbers")).view(np.int64 if width == 8 else f"u{width}")
        np.cumsum(numbers, out=numbers)
        starts = numbers[np.cumsum(count) - count]
        numbers += np.repeat(to_integers(self.table.column("first")) - starts, count)
        return numbers

    def bits(self) -> NDArray[np.uint64]:
        """Return the bits of the documents."""
        bits = binary_bytes(self.table.column("bits")).view(np.uint64)
        return bits.reshape(int(self._lengths("counts").sum()), -1)

    def _lengths(self, name: str) -> Numbers:
        import pyarrow.compute as pc

        return to_integers(pc.binary_length(self.table.column(name)))

    def shared_rows(self) -> tuple[NDArray[np.uint32], Numbers, NDArray[np.uint64]]:
        """Return unit, number and bits of the rows of units with at least two members, by unit and number."""
        units = self.units()
        order = np.argsort(units)
        ordered = units[order]
        equal = ordered[1:] == ordered[:-1]
        rows = order[np.append(equal, False) | np.append(False, equal)]
        del order, ordered, equal
        units, documents = units[rows], self.documents()[rows]
        numbers = self.numbers()[documents]
        order = np.lexsort((numbers, units))
        return units[order], numbers[order], self.bits()[documents[order]]


def _shared_rows(table: pa.Table) -> Iterator[tuple[Numbers, Numbers, NDArray[np.uint64]]]:
    """Yield the `shared_rows` of each part, because engines send several to a task by chance."""
    parts = to_integers(table.column("part"))
    several = len(parts) > 0 and bool((parts != parts[0]).any())
    for part in np.unique(parts).tolist():
        with task_slots:
            units, numbers, bits = Parcels(table.filter(parts == part) if several else table).shared_rows()
        yield units.astype(np.int64) | part << _UNIT_BITS, numbers, bits


@dataclass(frozen=True)
class ContentParcels:
    """Content hashes → parcels, whose units are their first halves, and whose bits are all of them.

    Attributes
    ----------
    parts : int
        Number of parts, up to 2^16.
    """

    parts: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert number and content to parcels."""
        for batch in batches:
            numbers = to_integers(batch.column("number"))
            contents = unpack_values(batch.column("content"), np.dtype((np.uint64, (2,))))
            order = np.argsort(numbers)
            numbers, contents = numbers[order], contents[order]
            units = np.ascontiguousarray(contents[:, 0]).view(np.int64)
            yield from pack_parcels(units, np.arange(len(units)), numbers, contents, self.parts)

    @staticmethod
    def copies(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert parcels of complete parts to number, original of documents with the content of an earlier one."""
        if (table := gather(batches)) is not None:
            for _, numbers, contents in _shared_rows(table):
                with task_slots:
                    found = list(to_batches(content_copies(contents, numbers)))
                yield from found


def content_copies(contents: NDArray[np.uint64], numbers: Numbers) -> dict[str, Numbers]:
    """Return number, original of documents with the content of an earlier one."""
    order = np.lexsort((numbers, contents[:, 1], contents[:, 0]))
    contents, numbers = contents[order], numbers[order]
    first = np.concatenate([np.ones(min(len(order), 1), bool), (contents[1:] != contents[:-1]).any(axis=1)])
    originals = numbers[first][np.cumsum(first) - 1] if len(order) else numbers
    return {"number": numbers[~first], "original": originals[~first]}


@dataclass(frozen=True)
class FirstPairs:
    """Rows of complete buckets → pairs.

    Attributes
    ----------
    max_earlier : int
        Earlier documents that each one is paired with; 0 for all.
    num_bits, min_equal : int
        Number of one-bit values of a row, and how many of them a pair has in common; 0 for rows without them.
    """

    max_earlier: int = MAX_FIRST
    num_bits: int = 0
    min_equal: int = 0

    @classmethod
    def of(cls, source: MinHashCandidates, max_earlier: int) -> FirstPairs:
        """Build the stage for parcels of a source."""
        return cls(max_earlier, source.num_bits, source.min_equal_bits)

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert parcels of complete parts to pairs, and to members of buckets with more pairs.

        A document is paired with the first earlier ones of its bucket that have enough bits in common.
        """
        table = gather(batches)
        if table is None:
            return
        for units, numbers, bits in _shared_rows(table):
            if not self.max_earlier:
                # All pairs of a large bucket are sent as they are found.
                yield from self._pair_rows(units, numbers, bits)
                continue
            with task_slots:
                found = list(self._pair_rows(units, numbers, bits))
            yield from found

    def _pair_rows(self, units: Numbers, numbers: Numbers, bits: NDArray[np.uint64]) -> Iterator[pa.RecordBatch]:
        """Yield the rows for documents in the order of units and numbers."""
        start, own, count = earlier_ranges(units, numbers)
        compared = count
        if self.max_earlier and self.num_bits:
            compared = np.minimum(count, max(self.max_earlier, MAX_COMPARED))
            # Near-duplicates have enough likely ones among a few.
            few, found = 4 * self.max_earlier, np.zeros(len(own), np.int64)
            for earlier, later in range_pairs(start, own, np.where(compared > few, few, 0)):
                found += np.bincount(later[self._are_likely(bits, earlier, later)], minlength=len(own))
            compared[found > self.max_earlier] = few
        elif self.max_earlier:
            compared = np.where(count > self.max_earlier, 1, count)
        last = np.where(compared < count, np.minimum(start + compared - 1, own), -1)
        for earlier, later in range_pairs(start, own, compared):
            if self.num_bits:
                likely = self._are_likely(bits, earlier, later)
                earlier, later = earlier[likely], later[likely]
            if self.max_earlier and len(later):
                # The pairs of a document are in one chunk, so its first ones are too.
                first = np.flatnonzero(np.concatenate([[True], later[1:] != later[:-1]]))
                rank = np.arange(len(later)) - np.repeat(first, np.diff(np.append(first, len(later))))
                # `last` is the last one with which a document was paired, if it has more.
                at = np.flatnonzero(rank == self.max_earlier) - self.max_earlier
                last[later[at]] = earlier[at]
                limits = np.full(len(own), self.max_earlier)
                limits[later[at]] = 1
                paired = rank < limits[later]
                earlier, later = earlier[paired], later[paired]
            yield from to_batches(pair_rows(PAIR, numbers[earlier], numbers[later], 0, 0))
        if (more := last >= 0).any():
            # List all members of such a bucket, because later documents are compared with them.
            hot = np.isin(units, distinct(units[more]))
            numbers_of = np.where(more, numbers[last], NONE)
            zeros = np.zeros(int(hot.sum()), np.int64)
            yield from to_batches(pair_rows(MEMBER, zeros, numbers[hot], units[hot], numbers_of[hot]))

    def _are_likely(self, bits: NDArray[np.uint64], earlier: Numbers, later: Numbers) -> NDArray[np.bool_]:
        sides = bits[earlier].reshape(-1), bits[later].reshape(-1)
        return hamming_distances(*sides, bits.shape[1]) <= self.num_bits - self.min_equal


@dataclass(frozen=True)
class FirstMembers:
    """The first `count` documents of each unit."""

    count: int = MAX_FIRST + 1

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert unit and number to those of the first documents of each batch."""
        for batch in batches:
            units, numbers = (to_integers(batch.column(name)) for name in ("unit", "number"))
            order = np.lexsort((numbers, units))
            units, numbers = units[order], numbers[order]
            start = np.searchsorted(units, units)
            first = np.arange(len(units)) - start < self.count
            yield from to_batches({"unit": units[first], "number": numbers[first]})

    def lists(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert the rows of complete units to unit and first, a list of numbers in order."""
        import pyarrow as pa

        table = gather(batches)
        if table is None:
            return
        for batch in self.rows(iter(table.combine_chunks().to_batches())):
            units, starts = np.unique(to_integers(batch.column("unit")), return_index=True)
            offsets = np.append(starts, batch.num_rows).astype(np.int32)
            lists = pa.ListArray.from_arrays(offsets, batch.column("number"))
            yield pa.RecordBatch.from_arrays([pa.array(units), lists], ["unit", "first"])


@dataclass(frozen=True)
class LargeBuckets:
    """Rows of buckets that are too large for a task → the pairs and members of `FirstPairs`, row by row.

    Attributes
    ----------
    max_earlier : int
        Earlier documents that each one is paired with, at least one; `first` has one more.
    """

    max_earlier: int = MAX_FIRST

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert unit, number and first (of its bucket) to pairs and members."""
        for batch in batches:
            units, numbers = (to_integers(batch.column(name)) for name in ("unit", "number"))
            first = batch.column("first")
            lists = np.full((len(units), self.max_earlier + 1), NONE)
            counts = first.value_lengths().to_numpy()
            lists[np.arange(lists.shape[1]) < counts[:, None]] = first.flatten().to_numpy()
            earlier = (lists < numbers[:, None]) & (numbers >= 0)[:, None]
            more = earlier[:, -1].copy()
            earlier[more, 1:] = False
            row, at = np.nonzero(earlier[:, :-1])
            yield from to_batches(pair_rows(PAIR, lists[row, at], numbers[row], 0, 0))
            last = np.where(more, lists[:, 0], NONE)
            yield from to_batches(pair_rows(MEMBER, np.zeros(len(units), np.int64), numbers, units, last))


@dataclass(frozen=True)
class BucketCells:
    """Members of buckets → rows of cells: buckets, or pairs of pieces of one that is too large for a task.

    Such a cell has the queries of one piece and the indexed documents of the other, so all pairs meet.

    Attributes
    ----------
    size : int
        Maximum bytes of a piece, on average.
    """

    size: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert `MEMBER_COLUMNS` and n (bytes of a large bucket, or null) to these, block (a cell) and is_indexed."""
        for batch in batches:
            columns = {name: to_integers(batch.column(name)) for name in MEMBER_COLUMNS}
            pieces = np.maximum(-(-to_integers(batch.column("n").fill_null(1)) // self.size), 1)
            units, numbers, last, by, _ = columns.values()
            own = (scramble(numbers) % pieces.astype(np.uint64)).astype(np.int64)
            is_query, is_indexed, split = (by > last) & (last < NONE), by == numbers, pieces > 1
            yield from to_batches(
                {name: rows[~split] for name, rows in {**columns, "block": units, "is_indexed": is_indexed}.items()}
            )
            for other in range(int(pieces[split].max(initial=0))):
                for role in (is_query, is_indexed):
                    at = np.flatnonzero(split & role & (other < pieces))
                    cell = own[at] * MAX_TASKS + other if role is is_query else other * MAX_TASKS + own[at]
                    rows = {name: values[at] for name, values in columns.items()}
                    # A cell that meets one of another bucket only adds comparisons.
                    rows["block"] = units[at] ^ scramble(cell + 1).view(np.int64)
                    rows["is_indexed"] = np.full(len(at), role is is_indexed)
                    if role is is_indexed:
                        rows["last"] = np.full(len(at), NONE)
                    yield from to_batches(rows)


def earlier_ranges(units: Numbers, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """For rows in the order of units and numbers, return the range of rows that each may be paired with.

    Returns
    -------
    start, own, count : (n,) int64
        First row of its unit, its own row, and the number of rows from `start` on.
    """
    own = np.arange(len(units))
    first = np.concatenate([np.ones(min(len(units), 1), bool), units[1:] != units[:-1]])
    starts = own[first]
    start = np.repeat(starts, np.diff(np.append(starts, len(units))))
    count = own - start
    count[numbers < 0] = 0
    return start, own, count


def range_pairs(start: Numbers, own: Numbers, count: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield pairs of rows: each row with the `count` rows from its start on, in chunks."""
    later = np.flatnonzero(count)
    for begin, end in chunk_ranges(np.cumsum(count[later]), _MAX_PAIRS):
        chunk = later[begin:end]
        counts = count[chunk]
        offset = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(start[chunk], counts) + offset, np.repeat(own[chunk], counts)


@dataclass(frozen=True)
class OpenPairs:
    """Members of complete units, with their components → the pairs that may still join two components.

    Attributes
    ----------
    max_pairs : int
        Pairs of a document that are built at once.
    """

    max_pairs: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert unit, number, last and by (the first document of the component) to pairs."""
        table = gather(batches)
        if table is None:
            return
        columns = [to_integers(table.column(name)) for name in ("unit", "number", "last", "by")]
        order = np.lexsort((columns[1], columns[0]))
        units, numbers, last, by = (column[order] for column in columns)
        bounds = np.flatnonzero(np.concatenate([[True], units[1:] != units[:-1], [True]]))
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = slice(start, end)
            yield from self._pair_components(int(units[start]), numbers[rows], last[rows], by[rows])

    def _pair_components(self, unit: int, numbers: Numbers, last: Numbers, by: Numbers) -> Iterator[pa.RecordBatch]:
        """Pair each document with earlier ones of other components."""
        if (by == by[0]).all():
            return
        size, rows = len(numbers), np.flatnonzero((numbers >= 0) & (last != NONE))
        own = np.unique(by, return_inverse=True)[1].reshape(-1)
        order = np.argsort(own, kind="stable")
        starts = np.searchsorted(own[order], np.arange(own.max() + 1))
        # For each member of each component, in order: its place, and how many documents of others are before it.
        base = own[order] * size
        places, others = base + order, base + order - (np.arange(size) - starts[own[order]])
        group = own[rows]

        def count_others(place: Numbers) -> Numbers:
            return place - (np.searchsorted(places, group * size + place) - starts[group])

        # Skip the documents that it was paired with in the first round.
        start = count_others(np.searchsorted(numbers, last[rows], side="right"))
        count = count_others(rows) - start
        paired = np.minimum(count, self.max_pairs)
        for other, query in range_pairs(start, np.arange(len(rows)), paired):
            members = np.searchsorted(others, group[query] * size + other, side="right") - starts[group[query]]
            yield from to_batches(pair_rows(PAIR, numbers[other + members], numbers[rows[query]], 0, 0))
        if left := int((count - paired).sum()):
            yield from _more_row(unit, left)


# Tables and slices of fingerprints


def choose_tables(bits: int, radius: int, documents: int) -> tuple[int, int] | None:
    """Choose the cheapest tables: numbers of blocks, and of equal blocks; None if slices are cheaper.

    Parameters
    ----------
    bits, radius : int
    documents : int

    Returns
    -------
    tuple of int, or None
    """
    best, choice = seconds_by_slices(bits, documents), None
    for agree in range(1, _MAX_EQUAL_BLOCKS + 1):
        blocks = radius + agree
        if blocks > bits or math.comb(blocks, agree) > _MAX_TABLES:
            break
        seconds = seconds_by_tables(bits, blocks, agree, documents)
        if seconds < best:
            best, choice = seconds, (blocks, agree)
    return choice


def num_slices(documents: int) -> int:
    """Return the number of slices; at least four, so that all cores have work."""
    return max(-(-documents // SLICE), 4)


def seconds_by_slices(bits: int, documents: int) -> float:
    """Return the seconds of a core per document."""
    return (num_slices(documents) + 1) * ROW_SECONDS + documents / 2 * SCAN_SECONDS * max(bits / 128, 0.5)


def seconds_by_tables(bits: int, blocks: int, agree: int, documents: int) -> float:
    """Return the seconds of a core per document, assuming random fingerprints of dissimilar documents."""
    tables, width = math.comb(blocks, agree), bits // blocks * agree
    return tables * (ROW_SECONDS + documents * 0.5 ** (width + 1) * PAIR_SECONDS)


@dataclass(frozen=True)
class Tables:
    """Tables by blocks of the bits.

    Attributes
    ----------
    bits, blocks, agree : int
        `bits` are split into `blocks` blocks; `agree` blocks are equal in a table.
    dtype : dtype
        Type of a row of values.
    """

    bits: int
    blocks: int
    agree: int
    dtype: np.dtype[Any]

    def masks(self) -> NDArray[np.uint64]:
        """Return for each table the bits that must be equal, (tables, words)."""
        bounds = [self.bits * at // self.blocks for at in range(self.blocks + 1)]
        masks = []
        for chosen in combinations(range(self.blocks), self.agree):
            mask = sum(((1 << bounds[at + 1]) - (1 << bounds[at])) for at in chosen)
            masks.append([mask >> 64 * word & (1 << 64) - 1 for word in range((self.bits + 63) // 64)])
        return np.array(masks, np.uint64)

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert number, values, is_query and is_indexed to a row for each table, like `Slices.rows`."""
        import pyarrow as pa

        masks = self.masks()
        for batch in batches:
            values = unpack_values(batch.column("values"), self.dtype)
            if not len(values):
                continue
            flags = [batch.column(name).to_numpy(zero_copy_only=False) for name in ("is_query", "is_indexed")]
            role = pa.array(flags[0], mask=flags[0] & flags[1])
            # Equal bits in different tables get different keys.
            salts = np.arange(1, len(masks) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            for salt, mask in zip(salts, masks, strict=True):
                masked = np.ascontiguousarray(values & mask)
                unit = byte_hashes(masked.view(np.uint8).reshape(-1), masked.shape[1] * 8)[::2] ^ salt
                columns = [pa.array(unit.view(np.int64)), batch.column("number"), pack_values(values), role]
                yield pa.RecordBatch.from_arrays(columns, ["unit", "number", "values", "is_query"])


@dataclass(frozen=True)
class Slices:
    """Slices of documents, by the numbers that separate them."""

    splits: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return len(self.splits) + 1

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert number, values, is_query and is_indexed to a row for each task: unit, number, values, is_query.

        In the input `is_query` is True for documents that are searched for, and `is_indexed` for those that later ones
        may find. In the output `is_query` is True for the former, False for the latter, and null for both.
        """
        import pyarrow as pa

        splits = np.array(self.splits, np.int64)
        for batch in batches:
            values = unpack_values(batch.column("values"), self.dtype)
            numbers = to_integers(batch.column("number"))
            own = np.searchsorted(splits, numbers, side="right")
            flags = [batch.column(name).to_numpy(zero_copy_only=False) for name in ("is_query", "is_indexed")]
            for other in range(len(self)):
                for is_query, selected in ((True, flags[0] & (other <= own)), (False, flags[1] & (other >= own))):
                    at = np.flatnonzero(selected)
                    if not len(at):
                        continue
                    unit = other * MAX_TASKS + own[at] if is_query else own[at] * MAX_TASKS + other
                    columns = {
                        "unit": pa.array(unit),
                        "number": pa.array(numbers[at]),
                        "values": pack_values(values[at]),
                        "is_query": pa.array(np.full(len(at), is_query)),
                    }
                    yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


@dataclass(frozen=True)
class WithinRadius:
    """Fingerprints of `bits` bits within a Hamming radius."""

    bits: int
    radius: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Words of 64 bits."""
        return np.dtype((np.uint64, ((self.bits + 63) // 64,)))

    def near(self, indexed: Values, queries: Values) -> tuple[Numbers, Numbers]:
        """Scan the indexed fingerprints."""
        index = HammingIndex(self.bits, method="scan")
        index.add(None, flatten(indexed))
        hits = index.search(flatten(queries), self.radius)
        return np.repeat(np.arange(len(queries)), np.diff(hits.offsets)), np.asarray(hits.ids, np.int64)

    def are_near(self, left: Values, right: Values) -> NDArray[np.bool_]:
        """Compare distances."""
        return np.asarray(hamming(flatten(left), flatten(right)) <= self.radius)


@dataclass(frozen=True)
class ProximityPairs:
    """Rows of complete tasks → pairs that are near.

    Attributes
    ----------
    proximity : WithinRadius
    max_earlier : int
        Earlier documents that each one is paired with in a task; 0 for all.
    max_piece, max_queries : int
        Indexed documents and queries that are compared at once.
    """

    proximity: WithinRadius
    max_earlier: int = MAX_FIRST
    max_piece: int = MAX_PIECE
    max_queries: int = MAX_QUERIES

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert unit, number, values, is_query and, in a later round, last and by, to pairs and members."""
        import pyarrow.compute as pc

        table = gather(batches)
        if table is None:
            return
        units, numbers = to_integers(table.column("unit")), to_integers(table.column("number"))
        roles = table.column("is_query")
        both = roles.is_null().to_numpy()
        only_indexed = pc.invert(roles).fill_null(False).to_numpy()
        is_query, is_indexed = ~only_indexed, both | only_indexed
        values = unpack_values(table.column("values"), self.proximity.dtype)
        # The last document of earlier pairs, and the one for which a document is removed.
        last = _column_or(table, "last", np.full(len(units), -NONE))
        by = _column_or(table, "by", numbers)
        del table, roles
        order = np.lexsort((numbers, units))
        bounds = np.flatnonzero(np.concatenate([[True], np.diff(units[order]) != 0, [True]]))
        # A few documents that are all queries and indexed need no pieces: compare all such units at once.
        small = np.logical_and.reduceat(both[order], bounds[:-1]) & (np.diff(bounds) <= SMALL_UNIT)
        yield from self._pair_small(units, numbers, values, order[np.repeat(small, np.diff(bounds))])
        for start, end in zip(bounds[:-1][~small].tolist(), bounds[1:][~small].tolist(), strict=True):
            rows = order[start:end]
            queries = rows[is_query[rows] & (numbers[rows] >= 0)]
            indexed = rows[is_indexed[rows]]
            if len(queries) and len(indexed):
                sides = _Side(numbers[indexed], values[indexed]), _Side(numbers[queries], values[queries])
                yield from self._pair_unit(int(units[rows[0]]), *sides, last[queries], by[queries])

    def _pair_small(self, units: Numbers, numbers: Numbers, values: Values, order: Numbers) -> Iterator[pa.RecordBatch]:
        """Yield all near pairs of small units."""
        units, numbers = units[order], numbers[order]
        for earlier, later in range_pairs(*earlier_ranges(units, numbers)):
            near = self.proximity.are_near(values[order[earlier]], values[order[later]])
            yield from to_batches(pair_rows(PAIR, numbers[earlier[near]], numbers[later[near]], 0, 0))

    def _pair_unit(
        self, unit: int, indexed: _Side, queries: _Side, last: Numbers, by: Numbers
    ) -> Iterator[pa.RecordBatch]:
        """Yield pairs of one unit, in pieces; the earlier document is between `last` and `by`, exclusive."""
        counts = np.zeros(len(queries.numbers), np.int64)
        newest = np.full(len(queries.numbers), NONE)
        more = np.zeros(len(queries.numbers), bool)
        for start in range(0, len(indexed.numbers), self.max_piece):
            piece = slice(start, start + self.max_piece)
            numbers, values = indexed.numbers[piece], indexed.values[piece]
            active = np.flatnonzero((by > numbers[0]) & (last < numbers[-1]) & ~more)
            for begin in range(0, len(active), self.max_queries):
                batch = active[begin : begin + self.max_queries]
                query, row = self.proximity.near(values, queries.values[batch])
                earlier = numbers[row]
                between = (earlier < by[batch][query]) & (earlier > last[batch][query])
                query, earlier = query[between], earlier[between]
                order = np.lexsort((earlier, query))
                query, earlier = query[order], earlier[order]
                count = np.bincount(query, minlength=len(batch))
                rank = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
                paired = np.ones(len(query), bool)
                if self.max_earlier:
                    paired = rank + counts[batch][query] < self.max_earlier
                more[batch[np.unique(query[~paired])]] = True
                query, earlier = query[paired], earlier[paired]
                counts[batch] += np.bincount(query, minlength=len(batch))
                # The last pair of each document has the largest number.
                newest[batch[query]] = earlier
                yield from to_batches(pair_rows(PAIR, earlier, queries.numbers[batch[query]], 0, 0))
        if more.any():
            numbers = queries.numbers[more]
            yield from to_batches(pair_rows(MEMBER, np.zeros(len(numbers), np.int64), numbers, unit, newest[more]))
            yield from _more_row(unit, len(numbers))


def max_earlier(config: DedupConfig) -> int:
    """Return the number of earlier documents that each one is paired with in the first round; 0 for all."""
    by_bands = isinstance(config.candidate_source, MinHashCandidates)
    if config.links == "all" or (config.cluster == "components" and not by_bands):
        return 0
    return MAX_FIRST


def near_pairs(source: SimHashCandidates, max_pairs: int) -> ProximityPairs:
    """Return the stage that pairs the documents of units."""
    return ProximityPairs(WithinRadius(source.recipe.bits, source.radius), max_pairs)


def num_unit_tasks(units: Slices | Tables, documents: int) -> int:
    """Return the number of tasks of all units of fingerprints."""
    if isinstance(units, Tables):
        return num_tasks(documents * len(units.masks()), TASK_ROWS >> 2)
    return len(units) * (len(units) + 1) // 2


@dataclass(frozen=True)
class _Side:
    """Documents of a task in keep order."""

    numbers: Numbers
    values: Values


def _column_or(table: pa.Table, name: str, default: Numbers) -> Numbers:
    """Return a column, with default numbers for nulls or for a missing column."""
    if name not in table.column_names:
        return default
    column = table.column(name)
    return np.where(column.is_null().to_numpy(), default, np.asarray(column.fill_null(0).to_numpy(), np.int64))
