"""Items, times and sources as callers have them, brought to packed bytes and numbers, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import ParameterError, bad_parameter

Items: TypeAlias = Any
"""`str` or `bytes` in anything iterable; a string or binary column of Arrow, pandas, polars, NumPy."""

NO_TIME = np.iinfo(np.int64).min
"""The number that stands for a time that is not known."""

_ROWS = 1 << 17
_BYTES = 1 << 26
"""Items and bytes of one batch."""

Strings: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class Batch:
    """Items that one call of the core takes, and the number of the first."""

    items: Strings
    first: int

    @property
    def rows(self) -> int:
        """How many items there are."""
        return len(self.items[0]) - 1


def batches(items: Items, name: str) -> Iterator[Batch]:
    """Items as packed bytes, in batches whose division changes no result.

    Parameters
    ----------
    items : iterable of str or bytes, or a column
        `str` is taken as UTF-8, lone surrogates as the bytes that they escape.
    name : str
        What the argument is called, for messages.

    Yields
    ------
    Batch

    Raises
    ------
    ParameterError
        An item that is missing, or no text; the message names its row.
    """
    first = 0
    for column in _columns(items, name):
        if column.null_count:
            row = first + int(np.flatnonzero(np.asarray(column.is_null()))[0])
            raise _refused(name, row, None)
        yield from _cut(packed(column), first)
        first += len(column)


def packed(column: Any) -> Strings:
    """An Arrow array of strings or binary values without nulls, as offsets from 0 and bytes."""
    import pyarrow as pa

    column = column.cast(pa.large_binary())
    buffers, rows = column.buffers(), len(column)
    if rows == 0:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    offsets = np.frombuffer(buffers[1], np.int64)[column.offset : column.offset + rows + 1]
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.zeros(0, np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def _cut(strings: Strings, first: int) -> Iterator[Batch]:
    """Batches of bounded rows and bytes."""
    offsets, data = strings
    start, rows = 0, len(offsets) - 1
    while start < rows:
        by_bytes = int(np.searchsorted(offsets, offsets[start] + _BYTES, side="right")) - 1
        end = max(start + 1, min(rows, start + _ROWS, by_bytes))
        part = offsets[start : end + 1]
        yield Batch((part - part[0], data[part[0] : part[-1]]), first + start)
        start = end


def _columns(items: Items, name: str) -> Iterator[Any]:
    """Items as Arrow arrays of strings or bytes."""
    import pyarrow as pa

    if isinstance(items, (str, bytes)):
        raise ParameterError(
            f"{name} is one {type(items).__name__}; use [item], or an iterable of them", name=name, found=items
        )
    if isinstance(items, pa.Array):
        yield _plain(items, name)
    elif hasattr(items, "__arrow_c_stream__") or isinstance(items, pa.ChunkedArray):
        chunked = items if isinstance(items, pa.ChunkedArray) else pa.chunked_array(items)
        for chunk in chunked.chunks:
            yield _plain(chunk, name)
    elif hasattr(items, "__arrow_c_array__"):
        yield _plain(pa.array(items), name)
    else:
        iterator, first = iter(items), 0
        while some := list(islice(iterator, _ROWS)):
            yield _of_list(some, name, first)
            first += len(some)


def _plain(column: Any, name: str) -> Any:
    """A column without dictionaries, checked to hold strings or bytes."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.dictionary_decode(), name)
    if pa.types.is_null(kind):
        return column.cast(pa.large_binary())
    texts = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    if str(kind) not in texts:
        raise bad_parameter(name, f"a column of {kind}", "a column of strings or of binary values")
    if str(kind) == "string_view":
        column = column.cast(pa.large_string())
    return column.cast(pa.large_binary())


def _of_list(some: list[Any], name: str, first: int) -> Any:
    """Strings or bytes of a list as an Arrow array."""
    import pyarrow as pa

    try:
        if isinstance(some[0], str):
            return pa.array(some, pa.large_string()).cast(pa.large_binary())
        if isinstance(some[0], bytes):
            return pa.array(some, pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        pass  # Both kinds, lone surrogates, or what is no text: one by one, which says where.
    return pa.array([_bytes_of(item, name, first + row) for row, item in enumerate(some)], pa.large_binary())


def _bytes_of(item: object, name: str, row: int) -> bytes:
    if isinstance(item, str):
        try:
            return item.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return item.encode("utf-8", "replace")
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    raise _refused(name, row, item)


def _refused(name: str, row: int, item: object) -> ParameterError:
    found = "missing" if item is None or item != item else f"of type {type(item).__name__}"
    return ParameterError(
        f"{name}[{row}] is {found}; give str or bytes, and leave missing ones out", name=name, found=item, row=row
    )


def times_of(times: Any) -> npt.NDArray[np.int64] | None:
    """Times as microseconds since 1970 in UTC, `NO_TIME` for missing ones.

    Parameters
    ----------
    times : array, column or iterable, optional
        `datetime64` or timestamps of any unit, `datetime` (without a zone: UTC), texts in ISO 8601 or as access logs
        write them, or numbers, which are seconds since 1970; None or NaT for a time that is not known.

    Raises
    ------
    ParameterError
        Anything else, or a time that microseconds of 64 bits do not reach.
    """
    if times is None:
        return None
    if isinstance(times, np.ndarray) and times.dtype.kind in "Miuf":
        return _of_numbers(times)
    import pyarrow as pa

    if not isinstance(times, (pa.Array, pa.ChunkedArray)):
        if hasattr(times, "__arrow_c_stream__"):
            times = pa.chunked_array(times)
        elif hasattr(times, "to_numpy") and getattr(getattr(times, "dtype", None), "kind", "O") in "Miuf":
            return _of_numbers(times.to_numpy())
        else:
            return np.array([_one_time(time, row) for row, time in enumerate(times)], np.int64)
    kind = times.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        ticks = times.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False).cast(pa.int64())
        return np.asarray(ticks.fill_null(NO_TIME)).astype(np.int64)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(np.asarray(times.cast(pa.float64(), safe=False).fill_null(float("nan"))))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return np.array([_one_time(time, row) for row, time in enumerate(times.to_pylist())], np.int64)
    raise bad_parameter("times", f"a column of {kind}", "timestamps, or numbers of seconds since 1970")


def _of_numbers(times: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if times.dtype.kind == "M":
        return times.astype("datetime64[us]").astype(np.int64)  # NaT is the smallest number, as NO_TIME is.
    seconds = times.astype(np.float64)
    known = np.isfinite(seconds)
    if (np.abs(seconds[known]) > _LAST).any():
        found = float(seconds[known][np.argmax(np.abs(seconds[known]))])
        raise bad_parameter("times", found, "seconds since 1970, up to the year 9999; datetime64 for other units")
    return np.where(known, np.rint(np.where(known, seconds, 0.0) * 1e6), NO_TIME).astype(np.int64)


def _one_time(time: Any, row: int) -> int:
    found = ticks_of(time)
    if found is None:
        raise bad_parameter(f"times[{row}]", repr(time), "a datetime, a text in ISO 8601, seconds since 1970, or None")
    return found


def ticks_of(time: object) -> int | None:
    """A time as microseconds since 1970 in UTC, `NO_TIME` for a missing one; None for what is no time."""
    if time is None or time != time:
        return NO_TIME
    if isinstance(time, np.datetime64):
        return int(time.astype("datetime64[us]").astype(np.int64))
    if isinstance(time, datetime):
        since = (time if time.tzinfo else time.replace(tzinfo=timezone.utc)) - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(time, (int, float)) and not isinstance(time, bool) and abs(time) <= _LAST:
        return round(time * 1_000_000)
    if isinstance(time, str):
        for read in (_iso, lambda text: datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")):
            with suppress(ValueError):
                return ticks_of(read(time.strip("[] ")))
    return None


def _iso(text: str) -> datetime:
    # Python 3.10 reads neither a Z nor a fraction of other than three or six digits.
    text = text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text
    head, dot, tail = text.partition(".")
    if dot:
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[:digits][:6]:0<6}{tail[digits:]}"
    return datetime.fromisoformat(text)


_LAST = 253_402_300_799
"""Seconds since 1970 at the end of the year 9999."""


class Beside:
    """What is known of the items beside themselves, cut as the items are.

    Parameters
    ----------
    times : as for `times_of`
    sources : iterable of str, bytes or None, or a column, optional
        Who sent each item.
    """

    def __init__(self, times: Any, sources: Any) -> None:
        self.times = times_of(times)
        self.sources = None if sources is None else _sources_of(sources)
        self.rows = 0

    def of(self, batch: Batch) -> tuple[npt.NDArray[np.int64] | None, Strings | None]:
        """Times and sources of the items of a batch; batches are asked for in order."""
        start, self.rows = self.rows, self.rows + batch.rows
        self._check(short=True)
        times = None if self.times is None else self.times[start : self.rows]
        if self.sources is None:
            return times, None
        offsets = self.sources[0][start : self.rows + 1]
        return times, (offsets - offsets[0], self.sources[1][offsets[0] : offsets[-1]])

    def _check(self, *, short: bool) -> None:
        """There is one for each item, and at the end no more than that."""
        for name, found in (("times", self.times), ("sources", None if self.sources is None else self.sources[0][1:])):
            if found is not None and (len(found) < self.rows if short else len(found) != self.rows):
                raise bad_parameter(f"len({name})", len(found), f"one for each item: {self.rows}")

    def end(self) -> None:
        """No time or source is left over.

        Raises
        ------
        ParameterError
        """
        self._check(short=False)


def _sources_of(sources: Iterable[Any]) -> Strings:
    import pyarrow as pa

    if not hasattr(sources, "__arrow_c_stream__") and not hasattr(sources, "__arrow_c_array__"):
        sources = ["" if source is None or source != source else source for source in sources]
    empty = pa.scalar(b"", pa.large_binary())
    parts = [packed(column.fill_null(empty)) for column in _columns(sources, "sources")]
    if len(parts) == 1:
        return parts[0]
    ends = [np.zeros(1, np.int64)]
    for offsets, _ in parts:
        ends.append(offsets[1:] + ends[-1][-1])
    return np.concatenate(ends), np.concatenate([np.zeros(0, np.uint8), *(data for _, data in parts)])


__all__ = ["NO_TIME", "Batch", "Beside", "Items", "Strings", "batches", "packed", "times_of"]
