"""Texts → hashed documents, and the numbers by which they are known.

The number of a document is an integer of 64 bits whose order is the keep order, those of older documents below all
others. It follows from the document and never from where it lies: integer ids give it at once for `keep="first"` and
`"last"`; else documents have a *key*, bytes in the same order, and are numbered by ranges of keys (`number_keys`).

A row order is what a corpus on many machines has not. Documents stand in the order of their ids: "first" is the one
with the smallest id, which is also what decides ties of other rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.dedup.candidates import TextCandidateSource
from nearkin.dedup.distributed.rows import NUMBER, batches_of, gathered, pack_values
from nearkin.dedup.keep import KeepKey
from nearkin.errors import InputError
from nearkin.io.frames import scalar_column, text_column
from nearkin.io.values import TEXT, Column, seconds_of

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_ID = 1 << 61
"""Integer ids lie between this and its negative."""
DATES = 31
"""The bit of the first key; there are fewer keys."""
RANGE = 1 << 40
"""Documents of a range of keys."""
_OLDER = 1 << 20
"""Ranges of older documents are numbered from here on."""


def is_direct(order: Sequence[KeepKey], *, integer: bool) -> bool:
    """Whether ids alone give the numbers."""
    return integer and len(order) == 1 and order[0].by in ("first", "last")


@dataclass(frozen=True)
class Hashing:
    """How documents are hashed.

    Attributes
    ----------
    source : TextCandidateSource
        The family.
    order : tuple of KeepKey
        The keys of the keep rule.
    integer : bool
        Whether ids are integers.
    older : bool
        Whether these are older documents.
    names : tuple of str
        For messages: the columns of text and id, then those of the keys.
    """

    source: TextCandidateSource
    order: tuple[KeepKey, ...]
    integer: bool
    older: bool
    names: tuple[str, ...]

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Hash batches with the columns id, text, those of the keys, and perhaps source.

        Yields
        ------
        RecordBatch
            id; number (null where keys give it); key (null where numbers are there); content (16 bytes); features;
            length; values; missing (bit i: the document has no value of key i; bit DATES + i: its value is a string
            with a date; bit 62: no text); text; source.

        Raises
        ------
        InputError
            A null id, or one out of range; a value of a key that is neither number nor date.
        """
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            column = pa.chunked_array([batch.column("text")])
            texts: Any = text_column(column, self.names[0])
            values, features = self.source.hash(texts)
            contents, lengths = content_hashes(texts)
            ids = batch.column("id")
            self._check_ids(ids)
            number, key, missing = self._ordered(batch, lengths)
            missing |= batch.column("text").is_null().to_numpy(zero_copy_only=False).astype(np.int64) << 62
            columns = {
                "id": ids,
                "number": number,
                "key": key,
                "content": pack_values(contents.reshape(-1, 2)),
                "features": pa.array(features.astype(np.int64)),
                "length": pa.array(lengths.astype(np.int64)),
                "values": pack_values(values),
                "missing": pa.array(missing),
                "text": batch.column("text"),
            }
            if "source" in batch.schema.names:
                columns["source"] = batch.column("source")
            yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    def _check_ids(self, ids: pa.Array) -> None:
        if ids.null_count:
            place = f"column {self.names[1]!r}"
            reason = f"{ids.null_count:,} of {len(ids):,} documents that one task read at once have no id"
            message = f"{place}: {reason}; give each document one, or leave those without out"
            raise InputError(message, place=place, reason=reason)

    def _ordered(
        self, batch: pa.RecordBatch, lengths: NDArray[np.uint64]
    ) -> tuple[pa.Array, pa.Array, NDArray[np.int64]]:
        """Numbers or keys, and which documents have no value of a key."""
        import pyarrow as pa

        n, missing = batch.num_rows, np.zeros(batch.num_rows, np.int64)
        order = () if self.older else self.order
        if is_direct(self.order, integer=self.integer):
            ids = batch.column("id").to_numpy()
            wide = np.flatnonzero((ids <= -LARGEST_ID) | (ids >= LARGEST_ID))
            if len(wide):
                reason = f"column {self.names[1]!r}: id {int(ids[wide[0]])} is not between -2**61 and 2**61"
                raise InputError(f"{reason}; make ids strings", place=f"id {int(ids[wide[0]])}", reason=reason)
            sign = -1 if order and order[0].by == "last" else 1
            numbers = ids * sign + (-NUMBER if self.older else NUMBER)
            return pa.array(numbers, pa.int64()), pa.nulls(n, pa.binary()), missing
        parts = []
        for at, by in enumerate(order):
            if by.by in ("first", "last"):
                break
            numbers, dates = self._numbers(batch, at, by, lengths)
            missing |= np.isnan(numbers).astype(np.int64) << at
            missing |= (~np.isnan(numbers) & dates).astype(np.int64) << DATES + at
            parts.append(_sortable(numbers))
        backwards = bool(order) and order[-1].by == "last"
        key = _keys(parts, batch.column("id"), integer=self.integer, backwards=backwards)
        return pa.nulls(n, pa.int64()), key, missing

    def _numbers(
        self, batch: pa.RecordBatch, at: int, by: KeepKey, lengths: NDArray[np.uint64]
    ) -> tuple[NDArray[np.float64], bool]:
        """What ascends in the order of a key, and whether it is dates that strings write."""
        import pyarrow as pa

        dates = False
        if by.by in ("longest", "shortest"):
            numbers = lengths.astype(np.float64)
        else:
            column = pa.chunked_array([batch.column(f"key{at}")])
            try:
                cells = scalar_column(column, "keep", by.column)
                numbers = cells.numbers(by.column)
                dates = _write_dates(cells, numbers)
            except InputError as error:
                # The row of a batch says nothing to those who have ids.
                row = int(str(error.place).removeprefix("row "))
                place = f"id {batch.column('id')[row].as_py()!r}"
                raise InputError(f"{place}: {error.reason}", place=place, reason=error.reason) from None
        return -numbers if by.by in ("longest", "max") else numbers, dates


def _write_dates(cells: Column, numbers: NDArray[np.float64]) -> bool:
    """Whether the strings of a column write dates: in a batch all do, or none."""
    given = np.flatnonzero((cells.kinds == TEXT) & ~np.isnan(numbers))
    return len(given) > 0 and seconds_of(str(cells[int(given[0])])) == numbers[given[0]]


def _sortable(numbers: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Eight bytes each, in the order of the numbers; NaN comes last, and both zeros are one."""
    bits = (numbers + 0.0).view(np.int64)
    flipped = np.where(bits < 0, ~bits, bits ^ np.int64(-(1 << 63)))
    flipped[np.isnan(numbers)] = -1
    return flipped.astype(">i8").view(np.uint8).reshape(-1, 8)


def _keys(parts: list[NDArray[np.uint8]], ids: pa.Array, *, integer: bool, backwards: bool) -> pa.Array:
    """Bytes in the order of the parts, then of ids: numbers as such, strings by characters."""
    import pyarrow as pa

    n = len(ids)
    heads = np.concatenate([np.zeros((n, 0), np.uint8), *parts], axis=1)
    if integer:
        tails = (ids.to_numpy() ^ np.int64(-(1 << 63))).astype(">i8").view(np.uint8).reshape(-1, 8)
        if backwards:
            tails = ~tails
        return pack_values(np.concatenate([heads, tails], axis=1)) if n else pa.array([], pa.binary())
    names = [name.encode() for name in ids.to_pylist()]
    if backwards:
        # Behind the complement of a string comes what no complement has, so that a beginning follows what goes on.
        names = [bytes(255 - byte for byte in name) + b"\xff" for name in names]
    joined = heads.tobytes()
    width = heads.shape[1]
    return pa.array([joined[at * width : (at + 1) * width] + name for at, name in enumerate(names)], pa.binary())


@dataclass(frozen=True)
class Ranges:
    """Keys cut into ranges, each of which one task sorts."""

    splits: tuple[bytes, ...]

    @classmethod
    def of(cls, sample: Sequence[bytes], count: int) -> Ranges:
        """About equal shares of a sample of keys."""
        ordered = sorted(set(sample))
        return cls(tuple(ordered[len(ordered) * i // count] for i in range(1, count) if ordered))

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give each row its range: columns range, older, key, id."""
        import pyarrow as pa

        for batch in batches:
            keys = batch.column("key").to_pylist()
            ranges = np.array([bisect_right(self.splits, key) for key in keys], np.int64)
            ranges += np.where(batch.column("older").to_numpy(zero_copy_only=False), _OLDER, 0)
            yield pa.RecordBatch.from_arrays([pa.array(ranges), *batch.columns], ["range", *batch.schema.names])

    def number_keys(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Number the documents of whole ranges in the order of their keys."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = gathered(batches)
        if table is None:
            return
        table = table.take(pc.sort_indices(table, [("range", "ascending"), ("key", "ascending")]))
        ranges = table.column("range").to_numpy()
        starts = np.flatnonzero(np.concatenate([[True], ranges[1:] != ranges[:-1]]))
        within = np.arange(len(ranges)) - np.repeat(starts, np.diff(np.append(starts, len(ranges))))
        number = ranges % _OLDER * RANGE + within + np.where(ranges >= _OLDER, -NUMBER, NUMBER)
        yield from batches_of({"id": table.column("id"), "older": table.column("older"), "number": pa.array(number)})
