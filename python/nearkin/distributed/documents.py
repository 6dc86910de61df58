"""Texts → hashed documents with numbers in keep order; and conversions between Arrow batches and arrays.

The number of a document is an integer of 64 bits; reference documents have the smallest ones. It depends on the
document alone, not on its partition: for `keep="first"` and `"last"` it follows from an integer id. Otherwise documents
have a *key*, bytes in keep order, and are numbered by ranges of keys (`number_keys`).

A corpus on many machines has no row order, so documents are ordered by their ids: "first" is the one with the smallest
id, and ids decide the ties of other rules.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, soundness
from nearkin.dedup.candidates import CandidateSource, MinHashCandidates, TextCandidateSource, Values
from nearkin.dedup.candidates.base import distinct
from nearkin.dedup.documents import SOUND_COUNTS
from nearkin.dedup.keep import KeepKey, best_numbers
from nearkin.errors import InputError, input_error
from nearkin.io.arrow import check_arrow, to_values
from nearkin.io.frames import scalar_column, text_column
from nearkin.io.values import TEXT, Column, seconds_of
from nearkin.recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.int64]
"""Numbers of documents."""

NUMBER = 1 << 62
"""Numbers of new documents are positive, those of reference documents negative."""
MAX_ID = 1 << 61
"""Integer ids are between this and its negative, exclusive."""
DATES = 31
"""In `missing`, the bit for dates of the first key; there are fewer keys."""
RANGE = 1 << 40
"""Documents of a range of keys."""
_FIRST_REFERENCE = 1 << 20
"""Number of the first range of reference documents."""
TASK_ROWS = 1 << 21
"""Rows of 16 bytes that a task gathers."""
TASK_BYTES = 32 << 20
"""Characters of texts, or bytes of signatures, that a task gathers."""
_MAX_ROWS = 1 << 16
"""Rows of a batch that is returned to the engine."""

task_slots = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Acquired by a task while it works on gathered rows. Some engines run all tasks at once, in threads of one process;
more of them than cores would only need more memory."""


def num_tasks(rows: int, max_rows: int) -> int:
    """Return the number of tasks for these rows; at least four, so that all cores have work."""
    return max(-(-rows // max_rows), 4)


# Arrow batches


def value_dtype(source: CandidateSource) -> np.dtype[Any]:
    """Return the type of one row of a family's values."""
    text_source: TextCandidateSource = source  # type: ignore[assignment]  # Only texts run on many machines.
    values, _ = text_source.hash([])
    return np.dtype((values.dtype, values.shape[1:]))


def pack_values(values: Values) -> pa.Array:
    """Convert rows of values to binary."""
    import pyarrow as pa

    n = len(values)
    data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    width = len(data) // n if n else 0
    offsets = np.arange(n + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def unpack_values(column: pa.Array | pa.ChunkedArray, dtype: np.dtype[Any]) -> Values:
    """Convert binary to rows of values."""
    data = binary_bytes(column)
    base, shape = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
    return data.view(base).reshape(-1, *shape)


def binary_bytes(column: pa.Array | pa.ChunkedArray) -> NDArray[np.uint8]:
    """Return the concatenated bytes of binary values without nulls; aligned, because a slice may begin anywhere."""
    import pyarrow as pa

    parts = [_chunk_bytes(chunk) for chunk in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.uint8), *parts])


def _chunk_bytes(chunk: pa.Array) -> NDArray[np.uint8]:
    if not len(chunk):
        return np.zeros(0, np.uint8)
    large = str(chunk.type).startswith("large")
    if str(chunk.type).endswith("view"):
        import pyarrow as pa

        chunk, large = chunk.cast(pa.large_binary()), True
    _, ends, data = check_arrow(chunk).buffers()
    offsets = np.frombuffer(ends, np.int64 if large else np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.array(np.frombuffer(data, np.uint8)[int(offsets[0]) : int(offsets[-1])])


def pack_hashes(recipe: Recipe, texts: Any, values: Values, features: NDArray[np.uint64]) -> pa.Array:
    """Convert all that a deduplication needs of texts, except the texts, to binary.

    A cell has, little endian: 8 bytes of the recipe's digest, 16 of the content hash, 8 each for the numbers of
    features and of characters, and the values.
    """
    contents, lengths = content_hashes(texts)
    n = len(lengths)
    parts = [
        np.broadcast_to(_recipe_mark(recipe), (n, 8)),
        contents.reshape(n, -1).astype("<u8").view(np.uint8),
        features.astype("<u8").reshape(n, 1).view(np.uint8),
        lengths.astype("<u8").reshape(n, 1).view(np.uint8),
        np.ascontiguousarray(values).reshape(n, -1).view(np.uint8),
    ]
    return pack_values(np.concatenate(parts, axis=1))


def unpack_hashes(
    recipe: Recipe, texts: Any, column: pa.Array, dtype: np.dtype[Any], name: str
) -> tuple[Values, NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return values, features, contents and lengths of cells of `pack_hashes`.

    Raises
    ------
    InputError
        Cells of another recipe or of other texts, or of another form.
    """
    width = _HASHES_HEAD + dtype.itemsize
    data = binary_bytes(column) if not column.null_count else np.zeros(0, np.uint8)
    cells = data.reshape(-1, width) if len(data) == width * len(column) else np.zeros((0, width), np.uint8)
    if len(cells) != len(column) or (cells[:, :8] != _recipe_mark(recipe)).any():
        place, reason = f"column {name!r}", f"hashes that nearkin.spark.hashes did not compute by {recipe}"
        raise input_error(place, reason, "compute them with the recipe of this call")
    words = np.ascontiguousarray(cells[:, 8:_HASHES_HEAD]).view(np.uint64)
    contents, _ = content_hashes(texts)
    if (other := np.flatnonzero((contents.reshape(-1, 2) != words[:, :2]).any(axis=1))).size:
        place, reason = f"column {name!r}", f"hashes of another text in {len(other):,} of {len(words):,} rows"
        raise input_error(place, reason, "compute them again")
    base, shape = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
    values = np.ascontiguousarray(cells[:, _HASHES_HEAD:]).view(base).reshape(-1, *shape)
    return values, words[:, 2], words[:, :2].reshape(-1), words[:, 3]


_HASHES_HEAD = 40
"""Bytes of a cell of hashes before the values."""


def _recipe_mark(recipe: Recipe) -> NDArray[np.uint8]:
    """Return the eight bytes of a recipe's digest."""
    return np.frombuffer(bytes.fromhex(recipe.digest), np.uint8)


def gather(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """Return all rows of a task; None if there are none."""
    import pyarrow as pa

    filled = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(filled) if filled else None


def to_integers(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Convert a column of integers without nulls."""
    return np.ascontiguousarray(column.to_numpy(), np.int64)


def scramble(numbers: Numbers) -> NDArray[np.uint64]:
    """Return 44 bits of numbers by a step of splitmix64, which removes any pattern."""
    state = np.ascontiguousarray(numbers).view(np.uint64)
    return np.asarray(((state ^ (state >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20))


def to_batches(columns: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield columns as batches of limited size."""
    import pyarrow as pa

    table = pa.table(columns)
    for start in range(0, table.num_rows, _MAX_ROWS):
        yield from table.slice(start, _MAX_ROWS).combine_chunks().to_batches()


@dataclass(frozen=True)
class Selection:
    """Rows of some documents.

    Attributes
    ----------
    numbers : (n,) int64
        Their numbers, ascending.
    """

    numbers: Numbers

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Filter batches with the column number."""
        import pyarrow as pa

        for batch in batches if len(self.numbers) else ():
            number = to_integers(batch.column("number"))
            # A search in the numbers, which `np.isin` would sort for each batch.
            at = np.minimum(np.searchsorted(self.numbers, number), len(self.numbers) - 1)
            yield batch.filter(pa.array(self.numbers[at] == number))


def distinct_numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the distinct values of the column number of each batch."""
    for batch in batches:
        yield from to_batches({"number": distinct(to_integers(batch.column("number")))})


# Hashing


def content_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert id and text to id and content, as `Hashing.rows` does."""
    import pyarrow as pa

    for batch in batches:
        contents, _ = content_hashes(pa.chunked_array([batch.column("text")]))
        columns = [batch.column("id"), pack_values(contents.reshape(-1, 2))]
        yield pa.RecordBatch.from_arrays(columns, ["id", "content"])


def is_direct(order: Sequence[KeepKey], *, integer: bool) -> bool:
    """Return True if numbers follow from ids alone."""
    return integer and len(order) == 1 and order[0].by in ("first", "last")


def check_dates(order: Sequence[KeepKey], counts: Mapping[str, int]) -> None:
    """Raise InputError for a column of keys with numbers and dates, in whichever blocks they are."""
    for at, by in enumerate(order):
        dates = counts.get(f"dates{at}", 0)
        numbers = counts["documents"] - counts.get(f"missing{at}", 0) - dates
        if dates and numbers:
            reason = f"dates in {dates:,} documents and numbers in {numbers:,}; use a column of one of them"
            raise input_error(f"column {by.column!r}", reason)


def repeated_ids_error(name: str, column: str, repeated: Sequence[tuple[Any, int]]) -> InputError:
    """Return the error for ids that occur in several rows: `repeated` has some of them, with their numbers of rows."""
    listed = ", ".join(f"the id {id!r} in {n:,} rows" for id, n in repeated)
    reason = f"{name}: column {column!r} has {listed}; ids must differ"
    return InputError(reason, place=f"id {repeated[0][0]!r}", reason=reason)


def direct_numbers(ids: Any, order: Sequence[KeepKey], *, reference: bool) -> Any:
    """Return the numbers that follow from ids, as an array or as a column of an engine."""
    return ids - NUMBER if reference else ids * (-1 if order[0].by == "last" else 1) + NUMBER


def further_columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the columns source and place, if there are any."""
    return {name: batch.column(name) for name in ("source", "place") if name in batch.schema.names}


@dataclass(frozen=True)
class Hashing:
    """Options for hashing documents.

    Attributes
    ----------
    source : TextCandidateSource
    order : tuple of KeepKey
        The keys of the keep rule.
    integer : bool
        True for integer ids.
    reference : bool
        True for reference documents.
    names : tuple of str
        For messages: the columns of text and id, then those of the keys.
    hashes : str
        For messages: the column of hashes.
    """

    source: TextCandidateSource
    order: tuple[KeepKey, ...]
    integer: bool
    reference: bool
    names: tuple[str, ...]
    hashes: str = "hashes"

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Hash batches with the columns id, text, those of the keys, and optionally source, place and hashes.

        Yields
        ------
        RecordBatch
            id; number (null if it follows from the key); key (null if there are numbers); content (16 bytes); length;
            missing (bit i: the document has no value of key i; bit DATES + i: its value is a string with a date; bit
            62: no text); features; values; source and place.

        Raises
        ------
        InputError
            A null id, or one out of range; a value of a key that is neither a number nor a date.
        """
        for batch in batches:
            if batch.num_rows:
                values, features, contents, lengths = self._hashes(batch)
                hashes = {"features": features.astype(np.int64), "values": pack_values(values)}
                yield self._document_rows(batch, contents, lengths, **hashes)

    def _document_rows(
        self, batch: pa.RecordBatch, contents: NDArray[np.uint64], lengths: NDArray[np.uint64], **columns: Any
    ) -> pa.RecordBatch:
        """Return the rows of documents, with these columns of their texts."""
        import pyarrow as pa

        ids = batch.column("id")
        self._check_ids(ids)
        number, key, missing = self._numbers_or_keys(batch, lengths)
        missing |= batch.column("text").is_null().to_numpy(zero_copy_only=False).astype(np.int64) << 62
        cells = {"id": ids, "number": number, "key": key, "content": pack_values(contents.reshape(-1, 2))}
        cells |= {"length": pa.array(lengths.astype(np.int64)), "missing": missing, **columns}
        return pa.RecordBatch.from_pydict(cells | further_columns(batch))

    def _hashes(self, batch: pa.RecordBatch) -> tuple[Values, NDArray[Any], NDArray[np.uint64], NDArray[np.uint64]]:
        """Return values, features, contents and lengths."""
        import pyarrow as pa

        texts: Any = text_column(pa.chunked_array([batch.column("text")]), self.names[0])
        if "hashes" in batch.schema.names:
            return self._unpack_hashes(texts, batch.column("hashes"))
        return *self.source.hash(texts), *content_hashes(texts)

    def _unpack_hashes(
        self, texts: Any, column: pa.Array
    ) -> tuple[Values, NDArray[Any], NDArray[np.uint64], NDArray[np.uint64]]:
        source = self.source
        if not isinstance(source, MinHashCandidates):
            recipe = source.recipe  # type: ignore[attr-defined]  # All sources of texts have one.
            return unpack_hashes(recipe, texts, column, value_dtype(source), self.hashes)
        # A column of hashes has signatures, whatever represents documents here.
        dtype = np.dtype((f"u{source.recipe.value_bits // 8}", (source.recipe.num_perm,)))
        signatures, features, contents, lengths = unpack_hashes(source.recipe, texts, column, dtype, self.hashes)
        return source.pack(signatures), features, contents, lengths

    def _check_ids(self, ids: pa.Array) -> None:
        if ids.null_count:
            place = f"column {self.names[1]!r}"
            reason = f"{ids.null_count:,} of {len(ids):,} documents that one task read at once have no id"
            raise input_error(place, reason, "give each document one, or leave those without out")

    def _numbers_or_keys(
        self, batch: pa.RecordBatch, lengths: NDArray[np.uint64]
    ) -> tuple[pa.Array, pa.Array, NDArray[np.int64]]:
        """Return numbers or keys, and bits for missing values and dates."""
        import pyarrow as pa

        n, missing = batch.num_rows, np.zeros(batch.num_rows, np.int64)
        order = () if self.reference else self.order
        if is_direct(self.order, integer=self.integer):
            ids = batch.column("id").to_numpy()
            wide = np.flatnonzero((ids <= -MAX_ID) | (ids >= MAX_ID))
            if len(wide):
                reason = f"column {self.names[1]!r}: id {int(ids[wide[0]])} is not between -2**61 and 2**61"
                raise InputError(f"{reason}; make ids strings", place=f"id {int(ids[wide[0]])}", reason=reason)
            numbers = direct_numbers(ids, self.order, reference=self.reference)
            return pa.array(numbers, pa.int64()), pa.nulls(n, pa.binary()), missing
        parts = []
        for at, by in enumerate(order):
            if by.by in ("first", "last"):
                break
            numbers, dates = self._sort_values(batch, at, by, lengths)
            missing |= np.isnan(numbers).astype(np.int64) << at
            missing |= (~np.isnan(numbers) & dates).astype(np.int64) << DATES + at
            parts.append(_sortable_bytes(numbers))
        backwards = bool(order) and order[-1].by == "last"
        key = _build_keys(parts, batch.column("id"), integer=self.integer, backwards=backwards)
        return pa.nulls(n, pa.int64()), key, missing

    def _sort_values(
        self, batch: pa.RecordBatch, at: int, by: KeepKey, lengths: NDArray[np.uint64]
    ) -> tuple[NDArray[np.float64], bool]:
        """Return numbers that ascend in the order of a key, and True if they are dates in strings."""
        import pyarrow as pa

        dates = False
        if by.by == "best":
            texts: Any = text_column(pa.chunked_array([batch.column("text")]), self.names[0])
            numbers = best_numbers(soundness(texts).reshape(-1, SOUND_COUNTS), lengths)
        elif by.by in ("longest", "shortest"):
            numbers = lengths.astype(np.float64)
        else:
            column = pa.chunked_array([batch.column(f"key{at}")])
            try:
                cells = scalar_column(column, "keep", by.column)
                numbers = cells.numbers(by.column)
                dates = _are_dates(cells, numbers)
            except InputError as error:
                # Name the id, because the row of a batch has no meaning for users.
                row = int(str(error.place).removeprefix("row "))
                raise input_error(f"id {batch.column('id')[row].as_py()!r}", error.reason) from None
        return -numbers if by.by in ("best", "longest", "max") else numbers, dates


def _are_dates(cells: Column, numbers: NDArray[np.float64]) -> bool:
    """Return True if the strings of a column are dates; in a batch either all or none are."""
    strings = np.flatnonzero((cells.kinds == TEXT) & ~np.isnan(numbers))
    return len(strings) > 0 and seconds_of(str(cells[int(strings[0])])) == numbers[strings[0]]


def _sortable_bytes(numbers: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return eight bytes each, in the order of the numbers; NaN comes last, and both zeros are equal."""
    bits = (numbers + 0.0).view(np.int64)
    flipped = np.where(bits < 0, ~bits, bits ^ np.int64(-(1 << 63)))
    flipped[np.isnan(numbers)] = -1
    return flipped.astype(">i8").view(np.uint8).reshape(-1, 8)


def _build_keys(parts: list[NDArray[np.uint8]], ids: pa.Array, *, integer: bool, backwards: bool) -> pa.Array:
    """Return bytes in the order of the parts, then of ids: numbers by value, strings by characters."""
    import pyarrow as pa

    n = len(ids)
    heads = np.concatenate([np.zeros((n, 0), np.uint8), *parts], axis=1)
    if integer:
        tails = (ids.to_numpy() ^ np.int64(-(1 << 63))).astype(">i8").view(np.uint8).reshape(-1, 8)
        if backwards:
            tails = ~tails
        return pack_values(np.concatenate([heads, tails], axis=1)) if n else pa.array([], pa.binary())
    names = [name.encode() for name in to_values(ids)]
    if backwards:
        # End the complement with a byte that no complement has, so that a prefix sorts after its extensions.
        names = [bytes(255 - byte for byte in name) + b"\xff" for name in names]
    joined = heads.tobytes()
    width = heads.shape[1]
    return pa.array([joined[at * width : (at + 1) * width] + name for at, name in enumerate(names)], pa.binary())


@dataclass(frozen=True)
class Ranges:
    """Ranges of keys; one task sorts each."""

    splits: tuple[bytes, ...]

    @classmethod
    def of(cls, sample: Sequence[bytes], count: int) -> Ranges:
        """Split a sample of keys into about equal shares."""
        ordered = sorted(set(sample))
        return cls(tuple(ordered[len(ordered) * i // count] for i in range(1, count) if ordered))

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the range of each row: columns range, older, key, id."""
        import pyarrow as pa

        for batch in batches:
            keys = to_values(batch.column("key"))
            ranges = np.array([bisect_right(self.splits, key) for key in keys], np.int64)
            ranges += np.where(batch.column("older").to_numpy(zero_copy_only=False), _FIRST_REFERENCE, 0)
            yield pa.RecordBatch.from_arrays([pa.array(ranges), *batch.columns], ["range", *batch.schema.names])

    def number_keys(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Number the documents of complete ranges in the order of their keys; further columns are kept."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = gather(batches)
        if table is None:
            return
        table = table.take(pc.sort_indices(table, [("range", "ascending"), ("key", "ascending")]))
        ranges = table.column("range").to_numpy()
        starts = np.flatnonzero(np.concatenate([[True], ranges[1:] != ranges[:-1]]))
        within = np.arange(len(ranges)) - np.repeat(starts, np.diff(np.append(starts, len(ranges))))
        number = ranges % _FIRST_REFERENCE * RANGE + within + np.where(ranges >= _FIRST_REFERENCE, -NUMBER, NUMBER)
        others = {
            name: table.column(name) for name in table.column_names if name not in ("range", "key", "id", "older")
        }
        own = {"id": table.column("id"), "older": table.column("older"), "number": pa.array(number)}
        yield from to_batches({**own, **others})
