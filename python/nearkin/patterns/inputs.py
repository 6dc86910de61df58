"""Items, times and sources of callers, converted to packed bytes and numbers, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import ParameterError, bad_parameter, excerpt
from nearkin.io.arrow import is_arrow, read_column, to_values

Items: TypeAlias = Any
"""An iterable of `str` or `bytes`, or a string or binary column of Arrow, pandas, polars or NumPy."""
NO_TIME = np.iinfo(np.int64).min
"""The number of an unknown time."""
_MAX_ROWS = 1 << 17
_MAX_BYTES = 1 << 26
"""Maximum number of items and bytes of a batch."""
_MIN_SECONDS, _MAX_SECONDS = -62_135_596_800, 253_402_300_799
"""Seconds since 1970 at the start of the year 1 and at the end of the year 9999, which Python's dates cannot leave."""

Strings: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]
"""Byte strings as offsets and bytes."""


@dataclass(frozen=True)
class ItemBatch:
    """Items for one call of the core, and the number of the first."""

    items: Strings
    first: int

    def __len__(self) -> int:
        return len(self.items[0]) - 1


def read_batches(items: Items, name: str) -> Iterator[ItemBatch]:
    """Yield items as packed bytes; the division into batches does not affect results.

    Parameters
    ----------
    items : iterable of str or bytes, or a column
        `str` is encoded as UTF-8, lone surrogates as the bytes that they escape.
    name : str
        Name of the argument in messages.

    Raises
    ------
    ParameterError
        An item is missing or not a text; the message names its row.
    """
    first = 0
    for column in _read_columns(items, name):
        if column.null_count:
            raise _invalid_item(name, first + int(np.flatnonzero(np.asarray(column.is_null()))[0]), None)
        yield from _split(pack_column(column), first)
        first += len(column)


def pack_column(column: Any) -> Strings:
    """Return an Arrow array of strings or binary values without nulls as offsets from 0 and bytes."""
    import pyarrow as pa

    column = column.cast(pa.large_binary())
    buffers, num_rows = column.buffers(), len(column)
    if num_rows == 0:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    offsets = np.frombuffer(buffers[1], np.int64)[column.offset : column.offset + num_rows + 1]
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.zeros(0, np.uint8)
    return slice_strings((offsets, data), 0, num_rows)


def to_binary(ends: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> Any:
    """Return consecutive byte strings as an Arrow array."""
    import pyarrow as pa

    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    return pa.Array.from_buffers(pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def slice_strings(strings: Strings, start: int, end: int) -> Strings:
    """Return the strings from `start` to `end`, with offsets from 0."""
    offsets = strings[0][start : end + 1]
    return offsets - offsets[0], strings[1][offsets[0] : offsets[-1]]


def _split(strings: Strings, first: int) -> Iterator[ItemBatch]:
    """Yield batches of bounded rows and bytes."""
    offsets = strings[0]
    start, num_rows = 0, len(offsets) - 1
    while start < num_rows:
        by_bytes = int(np.searchsorted(offsets, offsets[start] + _MAX_BYTES, side="right")) - 1
        end = max(start + 1, min(num_rows, start + _MAX_ROWS, by_bytes))
        yield ItemBatch(slice_strings(strings, start, end), first + start)
        start = end


def _read_columns(items: Items, name: str) -> Iterator[Any]:
    """Yield items as Arrow arrays of bytes."""
    if isinstance(items, (str, bytes)):
        message = f"{name} is one {type(items).__name__}; use [item], or an iterable of them"
        raise ParameterError(message, name=name, found=items)
    if is_arrow(items):
        for chunk in read_column(items, name).chunks:
            yield _to_binary(chunk, name)
    else:
        if not isinstance(items, Iterable):
            raise bad_parameter(name, excerpt(repr(items), 60), "a list, a generator or a column of them")
        iterator, first = iter(items), 0
        while chunk := list(islice(iterator, _MAX_ROWS)):
            yield _convert_list(chunk, name, first)
            first += len(chunk)


def _to_binary(column: Any, name: str) -> Any:
    """Return a column of strings or bytes as binary values, without a dictionary."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _to_binary(column.dictionary_decode(), name)
    if pa.types.is_null(kind):
        return column.cast(pa.large_binary())
    if str(kind) not in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view"):
        raise bad_parameter(name, f"a column of {kind}", "a column of strings or of binary values")
    if str(kind) == "string_view":
        column = column.cast(pa.large_string())
    return column.cast(pa.large_binary())


def _convert_list(chunk: list[Any], name: str, first: int) -> Any:
    """Return a list of strings or bytes as an Arrow array."""
    import pyarrow as pa

    try:
        if isinstance(chunk[0], str):
            return pa.array(chunk, pa.large_string()).cast(pa.large_binary())
        if isinstance(chunk[0], bytes):
            return pa.array(chunk, pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        pass  # Both types, lone surrogates, or an invalid item: convert one by one, to name its row.
    return pa.array([to_bytes(item, name, first + row) for row, item in enumerate(chunk)], pa.large_binary())


def to_bytes(item: object, name: str, row: int | None = None) -> bytes:
    """Return one item as bytes, as `read_batches` does; `row` is its number in messages."""
    if isinstance(item, str):
        try:
            return item.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return item.encode("utf-8", "replace")
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    raise _invalid_item(name, row, item)


def _invalid_item(name: str, row: int | None, item: object) -> ParameterError:
    problem = "missing" if item is None or item != item else f"of type {type(item).__name__}"
    if row is None:
        return ParameterError(f"{name} is {problem}; use a str or bytes", name=name, found=item)
    message = f"{name}[{row}] is {problem}; use str or bytes, without missing ones"
    return ParameterError(message, name=name, found=item, row=row)


def parse_times(times: Any) -> npt.NDArray[np.int64] | None:
    """Return times as microseconds since 1970 in UTC, `NO_TIME` for missing ones.

    Parameters
    ----------
    times : array, column or iterable, optional
        `datetime64` or timestamps of any unit, `datetime` (UTC without a zone), texts in ISO 8601 or in the form of
        access logs, or numbers of seconds since 1970; None or NaT for an unknown time. They are in the years 1 to 9999.

    Raises
    ------
    ParameterError
        A value has another type, or is outside these years in UTC; the message names its row.
    """
    if times is None:
        return None
    if isinstance(times, np.ndarray) and times.dtype.kind in "Miuf":
        return _convert_numbers(times)
    import pyarrow as pa

    if is_arrow(times):
        times = read_column(times, "times")
    else:
        if hasattr(times, "to_numpy") and getattr(getattr(times, "dtype", None), "kind", "O") in "Miuf":
            return _convert_numbers(times.to_numpy())
        return _parse_each(times)
    kind = times.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _convert_numbers(times.to_numpy())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _convert_numbers(np.asarray(times.cast(pa.float64(), safe=False).fill_null(float("nan"))))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return _parse_each(to_values(times, "times"))
    raise bad_parameter("times", f"a column of {kind}", "timestamps, or numbers of seconds since 1970")


def _convert_numbers(times: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return `datetime64` or seconds as microseconds."""
    if times.dtype.kind == "M":
        # The conversion to years cannot overflow, unlike that to microseconds.
        years = times.astype("datetime64[Y]").astype(np.int64) + 1970
        _refuse(times, ~np.isnat(times) & ((years < 1) | (years > 9999)), "a time in the years 1 to 9999 (UTC)")
        return times.astype("datetime64[us]").astype(np.int64)  # NaT is the smallest number, as is NO_TIME.
    seconds = times.astype(np.float64)
    allowed = "seconds since 1970, in the years 1 to 9999; datetime64 for other units"
    _refuse(times, (seconds < _MIN_SECONDS) | (seconds > _MAX_SECONDS), allowed)
    known = ~np.isnan(seconds)
    return np.where(known, np.rint(np.where(known, seconds, 0.0) * 1e6), NO_TIME).astype(np.int64)


def _refuse(times: Any, refused: Any, allowed: str) -> None:
    """Raise ParameterError for the first of the refused times."""
    if np.any(refused):
        row = int(np.argmax(refused))
        message = f"times[{row}]={times[row]} is not allowed; use {allowed}"
        raise ParameterError(message, name="times", found=times[row], allowed=allowed, row=row)


def _parse_each(times: Iterable[Any]) -> npt.NDArray[np.int64]:
    values = list(times)
    ticks = [parse_time(time) for time in values]
    allowed = "a datetime, a text in ISO 8601 or seconds since 1970, in the years 1 to 9999 (UTC), or None"
    _refuse(values, [tick is None for tick in ticks], allowed)
    return np.array(ticks, np.int64)


def parse_time(time: object) -> int | None:
    """Return a time as microseconds since 1970 in UTC, `NO_TIME` for a missing time; None for an invalid value.

    A time outside the years 1 to 9999 in UTC is invalid.
    """
    if time is None or time != time:
        return NO_TIME
    if isinstance(time, np.datetime64):
        with suppress(ParameterError):
            return int(_convert_numbers(np.array([time]))[0])
    if isinstance(time, datetime):
        since = (time if time.tzinfo else time.replace(tzinfo=timezone.utc)) - datetime(1970, 1, 1, tzinfo=timezone.utc)
        ticks = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        return ticks if _MIN_SECONDS <= ticks // 1_000_000 <= _MAX_SECONDS else None
    if isinstance(time, (int, float)) and not isinstance(time, bool) and _MIN_SECONDS <= time <= _MAX_SECONDS:
        return round(time * 1_000_000)
    if isinstance(time, str):
        for parse in (_parse_iso, lambda text: datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")):
            with suppress(ValueError):
                return parse_time(parse(time.strip("[] ")))
    return None


def _parse_iso(text: str) -> datetime:
    # Python 3.10 supports neither Z nor fractions with other than three or six digits.
    text = text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text
    head, dot, tail = text.partition(".")
    if dot:
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6]:0<6}{tail[digits:]}"
    return datetime.fromisoformat(text)


Methods: TypeAlias = tuple[npt.NDArray[np.uint32], list[bytes]]
"""For each item the number of its method, and the methods."""


class AlignedColumns:
    """Times, sources and methods of items, in the batches of the items.

    Parameters
    ----------
    times : as for `parse_times`
    sources : iterable of str, bytes or None, or a column, optional
        Sender of each item.
    methods : iterable of str, bytes or None, or a column, optional
        Method of each request.
    """

    def __init__(self, times: Any, sources: Any, methods: Any = None) -> None:
        self.times = parse_times(times)
        self.sources = None if sources is None else pack_column(_read_optional(sources, "sources"))
        self.methods: Methods | None = None
        if methods is not None:
            column = _read_optional(methods, "methods").dictionary_encode()
            self.methods = np.asarray(column.indices).astype(np.uint32), to_values(column.dictionary, "methods")
        self.position = 0

    def take(self, batch: ItemBatch) -> tuple[Any, ...]:
        """Return times and sources of a batch, and methods if there are any; batches must be taken in order."""
        start, self.position = self.position, self.position + len(batch)
        self._check_lengths(at_end=False)
        times = None if self.times is None else self.times[start : self.position]
        sources = None if self.sources is None else slice_strings(self.sources, start, self.position)
        if self.methods is None:
            return times, sources
        return times, sources, (self.methods[0][start : self.position], self.methods[1])

    def _check_lengths(self, *, at_end: bool) -> None:
        sources = None if self.sources is None else self.sources[0][1:]
        methods = None if self.methods is None else self.methods[0]
        for name, column in (("times", self.times), ("sources", sources), ("methods", methods)):
            if column is not None and (len(column) < self.position or (at_end and len(column) != self.position)):
                raise bad_parameter(f"len({name})", len(column), f"one for each item: {self.position}")

    def check_end(self) -> None:
        """Check that the numbers of times, sources and methods equal that of the items.

        Raises
        ------
        ParameterError
            There are more.
        """
        self._check_lengths(at_end=True)


def _read_optional(values: Iterable[Any], name: str) -> Any:
    """Return values as an Arrow array of bytes; empty for missing ones."""
    import pyarrow as pa

    is_list = not isinstance(values, (str, bytes))
    if is_list and not is_arrow(values):
        values = ["" if value is None or value != value else value for value in values]
    columns = [column.fill_null(b"") for column in _read_columns(values, name)]
    return pa.chunked_array(columns, pa.large_binary()).combine_chunks()
