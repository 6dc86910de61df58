"""Values of a corpus: texts, scalar columns, batches, and malformed records.

Texts and columns are stored as in Arrow: one byte array with `n + 1` offsets. The kernels read them in place, and no
Python object is created until a value is accessed. A column costs 17 bytes per row plus its strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, bad_parameter, input_error
from nearkin.io.tempspool import Spool

if TYPE_CHECKING:
    import pyarrow as pa

Scalar = int | float | str | bool | None

NULL, INT, BIG_INT, FLOAT, TEXT, BOOL = range(6)


def encode(text: str, row: int) -> bytes:
    """Return a string as UTF-8; raise InputError with its row if it has a lone surrogate, which is no character."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        reason = f"{text[error.start]!a} is a lone surrogate, which is no character; replace or drop it"
        raise input_error(f"row {row}", reason) from None


class PackedTexts(Sequence[str]):
    """Texts in one byte array.

    Parameters
    ----------
    offsets : (n + 1,) int64
        Text i is `data[offsets[i]:offsets[i + 1]]`.
    data : uint8
        UTF-8.
    nulls : integers, ascending
        Rows without a text; their text is empty.

    Examples
    --------
    >>> from nearkin.io import PackedTexts
    >>> texts = PackedTexts.of(["a", None, "bc"])
    >>> list(texts), texts.nulls.tolist(), texts.offsets.tolist()
    (['a', '', 'bc'], [1], [0, 1, 1, 3])
    """

    __slots__ = ("data", "nulls", "offsets")

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8], nulls: NDArray[Any] | None = None) -> None:
        self.offsets = offsets
        self.data = data
        self.nulls: NDArray[np.int64] = np.zeros(0, np.int64) if nulls is None else nulls.astype(np.int64)

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> PackedTexts:
        """Pack strings; None is a null.

        Parameters
        ----------
        texts : iterable of str or None
            Strings that can be encoded as UTF-8.

        Raises
        ------
        InputError
            A string with a lone surrogate.
        """
        nulls = np.array([i for i, text in enumerate(texts) if text is None], np.int64)
        return cls.of_bytes([b"" if text is None else encode(text, row) for row, text in enumerate(texts)], nulls)

    @classmethod
    def of_bytes(cls, texts: Sequence[bytes], nulls: NDArray[np.int64] | None = None) -> PackedTexts:
        """Pack texts that are encoded as UTF-8.

        Parameters
        ----------
        texts : sequence of bytes
            One text per row.
        nulls : integers, ascending
            Rows without a text.
        """
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return cls(cumulate(lengths), np.frombuffer(b"".join(texts), np.uint8), nulls)

    @classmethod
    def concat(cls, parts: Sequence[PackedTexts]) -> PackedTexts:
        """Concatenate texts.

        Parameters
        ----------
        parts : sequence of PackedTexts
            In row order.
        """
        if len(parts) == 1:
            return parts[0]
        firsts = np.cumsum([0, *(len(part) for part in parts)])
        nulls = [part.nulls + first for part, first in zip(parts, firsts, strict=False)]
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(
            cumulate(np.concatenate([*(np.diff(part.offsets) for part in parts), np.zeros(0, np.int64)])),
            np.concatenate([*data, np.zeros(0, np.uint8)]),
            np.concatenate([*nulls, np.zeros(0, np.int64)]),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, row: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: SupportsIndex | slice) -> str | list[str]:
        """Return the text of a row; "" if it is null."""
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        row = range(len(self))[row]
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        first = int(self.offsets[0])
        data = self.data[first : self.offsets[-1]].tobytes()
        return (data[start:end].decode() for start, end in pairwise((self.offsets - first).tolist()))

    def __repr__(self) -> str:
        return f"<{len(self)} texts, {int(self.offsets[-1] - self.offsets[0])} bytes>"

    def with_nulls(self, nulls: NDArray[Any]) -> PackedTexts:
        """Return the same texts with other null rows.

        Parameters
        ----------
        nulls : (m,) integers, ascending
            Rows without a text.
        """
        return PackedTexts(self.offsets, self.data, nulls)

    def to_arrow(self) -> pa.Array:
        """Return a pyarrow LargeStringArray that shares the memory."""
        import pyarrow as pa

        valid = None
        if len(self.nulls):
            mask = np.ones(len(self), bool)
            mask[self.nulls] = False
            valid = pa.py_buffer(np.packbits(mask, bitorder="little"))
        offsets, data = pa.py_buffer(np.ascontiguousarray(self.offsets)), pa.py_buffer(self.data)
        return pa.LargeStringArray.from_buffers(len(self), offsets, data, valid, len(self.nulls))


@dataclass(slots=True, eq=False, repr=False)
class Column(Sequence[Scalar]):
    """A column of scalars that keep their types: integers of any size, floats, strings, booleans, None.

    Parameters
    ----------
    kinds : (n,) uint8
        NULL, INT, BIG_INT, FLOAT, TEXT or BOOL for each row.
    values : (n,) int64
        The integer, the bits of the float, or 0 and 1.
    offsets, data
        Strings, and the digits of integers beyond 64 bits, as in `PackedTexts`.

    Examples
    --------
    >>> from nearkin.io import Column
    >>> Column.of([7, "a", None, 0.5]).to_list()
    [7, 'a', None, 0.5]
    """

    kinds: NDArray[np.uint8]
    values: NDArray[np.int64]
    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]

    @classmethod
    def of(cls, values: Sequence[Scalar | date | np.datetime64]) -> Column:
        """Build a column from Python values.

        Parameters
        ----------
        values : iterable of int, float, str, bool or None
            In row order. Dates and times become ISO 8601 strings.

        Raises
        ------
        InputError
            A string with a lone surrogate.
        """
        kinds = np.zeros(len(values), np.uint8)
        numbers = np.zeros(len(values), np.int64)
        strings = [b""] * len(values)
        for i, value in enumerate(values):
            if isinstance(value, (bool, np.bool_)):
                kinds[i], numbers[i] = BOOL, bool(value)
            elif isinstance(value, (int, np.integer)):
                if -(2**63) <= value < 2**63:
                    kinds[i], numbers[i] = INT, value
                else:
                    kinds[i], strings[i] = BIG_INT, str(value).encode()
            elif isinstance(value, (float, np.floating)):
                kinds[i], numbers[i] = FLOAT, np.float64(value).view(np.int64)
            elif isinstance(value, (date, np.datetime64)):
                # NaT, of NumPy and pandas, is not equal to itself.
                if value == value:
                    text = value.isoformat() if isinstance(value, date) else str(value)
                    kinds[i], strings[i] = TEXT, text.encode()
            elif value is not None:
                kinds[i], strings[i] = TEXT, encode(value, i)
        texts = PackedTexts.of_bytes(strings)
        return cls(kinds, numbers, texts.offsets, texts.data)

    @classmethod
    def integers(cls, values: NDArray[np.int64]) -> Column:
        """Build a column of integers that shares their memory.

        Parameters
        ----------
        values : (n,) int64
            One integer per row.
        """
        n = len(values)
        return cls(np.full(n, INT, np.uint8), values, np.zeros(n + 1, np.int64), np.zeros(0, np.uint8))

    @classmethod
    def strings(cls, texts: PackedTexts) -> Column:
        """Build a column of strings that shares their memory; null texts are null.

        Parameters
        ----------
        texts : PackedTexts
            One text per row.
        """
        kinds = np.full(len(texts), TEXT, np.uint8)
        kinds[texts.nulls] = NULL
        return cls(kinds, np.zeros(len(texts), np.int64), texts.offsets, texts.data)

    @classmethod
    def concat(cls, parts: Sequence[Column]) -> Column:
        """Concatenate columns.

        Parameters
        ----------
        parts : sequence of Column
            In row order.
        """
        if len(parts) == 1:
            return parts[0]
        texts = PackedTexts.concat([PackedTexts(part.offsets, part.data) for part in parts])
        kinds = np.concatenate([*(part.kinds for part in parts), np.zeros(0, np.uint8)])
        values = np.concatenate([*(part.values for part in parts), np.zeros(0, np.int64)])
        return cls(kinds, values, texts.offsets, texts.data)

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, row: SupportsIndex) -> Scalar: ...

    @overload
    def __getitem__(self, row: slice) -> list[Scalar]: ...

    def __getitem__(self, row: SupportsIndex | slice) -> Scalar | list[Scalar]:
        """Return the value of a row."""
        if isinstance(row, slice):
            return self.take(range(*row.indices(len(self))))
        row = range(len(self))[row]
        kind = self.kinds[row]
        if kind == INT:
            return int(self.values[row])
        if kind == NULL:
            return None
        if kind == FLOAT:
            return float(self.values[row : row + 1].view(np.float64)[0])
        if kind == BOOL:
            return bool(self.values[row])
        string = self.data[self.offsets[row] : self.offsets[row + 1]].tobytes().decode()
        return int(string) if kind == BIG_INT else string

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.to_list())

    def __repr__(self) -> str:
        return f"<column of {len(self)} values>"

    def take(self, rows: Sequence[int] | NDArray[Any]) -> list[Scalar]:
        """Return the values of some rows as Python objects.

        Parameters
        ----------
        rows : (m,) integers
            Row numbers.
        """
        positions = np.asarray(rows, np.int64)
        kinds = np.flatnonzero(np.bincount(self.kinds[positions]))
        if np.array_equal(kinds, [INT]):
            values: list[Scalar] = self.values[positions].tolist()
            return values
        if np.array_equal(kinds, [TEXT]):
            data = self.data.data
            starts, ends = self.offsets[:-1][positions].tolist(), self.offsets[1:][positions].tolist()
            return [str(data[start:end], "utf-8") for start, end in zip(starts, ends, strict=True)]
        return [self[row] for row in positions.tolist()]

    def to_list(self) -> list[Scalar]:
        """Return all values as Python objects."""
        return self.take(np.arange(len(self)))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values as (n,) float64, with NaN for None.

        Strings are parsed as numbers, or as ISO 8601 dates and times, which become seconds since 1970 in UTC. Times
        without a zone are in UTC.

        Parameters
        ----------
        name : str
            Name of the column in messages.

        Raises
        ------
        InputError
            A value is neither a number nor a date, or the column mixes numbers and dates.
        """
        if not np.any((self.kinds == TEXT) | (self.kinds == BIG_INT)):
            numbers = np.where(self.kinds == FLOAT, self.values.view(np.float64), self.values.astype(np.float64))
            numbers[self.kinds == NULL] = np.nan
            return numbers
        numbers = np.empty(len(self), np.float64)
        dates = 0
        for row, value in enumerate(self.to_list()):
            try:
                numbers[row] = np.nan if value is None else float(value)
            except (ValueError, OverflowError):  # noqa: PERF203 - the message contains the row of the value
                seconds = seconds_of(value) if isinstance(value, str) else None
                if seconds is None:
                    self._refuse(name, row, value, ", which is neither number nor date")
                if dates == 0 and not np.isnan(numbers[:row]).all():
                    self._refuse(name, row, value, ", a date among numbers")
                dates += 1
                numbers[row] = seconds
            else:
                if dates and value is not None:
                    self._refuse(name, row, value, ", a number among dates")
        return numbers

    @staticmethod
    def _refuse(name: str, row: int, value: object, problem: str) -> NoReturn:
        reason = f"column {name!r} holds {value!r}{problem}; use a column of numbers, or one of dates"
        raise input_error(f"row {row}", reason)


_ISO = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)? ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def seconds_of(text: str) -> float | None:
    """Return the seconds from 1970-01-01 in UTC to an ISO 8601 date or time; None for any other text.

    Parameters
    ----------
    text : str
        For instance "2024-03-01", "2024-03-01T12:30:00Z" or "2024-03-01 12:30:00.25+01:00".

    Examples
    --------
    >>> from nearkin.io.values import seconds_of
    >>> seconds_of("1970-01-02"), seconds_of("1970-01-01T01:00:00.5+01:00"), seconds_of("soon")
    (86400.0, 0.5, None)
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3, 4, 5, 6))
    try:
        # A leap second is counted as the following second.
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=timezone.utc)
    except ValueError:
        return None
    if second > 60:
        return None
    zone = match[8] or "Z"
    offset = 0
    if zone not in ("Z", "UTC"):
        hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
        offset = (1 if zone[0] == "+" else -1) * (60 * hours + minutes) * 60
    fraction = float(f"0.{match[7]}") if match[7] else 0.0
    # Seconds are exact, and a double resolves microseconds until the year 2250.
    return (moment - _EPOCH) // timedelta(seconds=1) + max(second - 59, 0) - offset + fraction


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a corpus: a few megabytes of text at most, unless a single text is larger.

    Parameters
    ----------
    first_row : int
        Number of the first row in the corpus, from 0. Malformed records are not numbered.
    texts : PackedTexts
        One text per row.
    ids : Column
        Integers or strings as read; row numbers if no id column was named.
    columns : mapping of str to Column
        The requested extra columns.
    """

    first_row: int
    texts: PackedTexts
    ids: Column
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class BadRecord:
    """A malformed record: its file, its position there from 1, and the reason.

    `unit` is the unit of `line`: lines of a text file, rows of a Parquet file, or records of a JSON array.
    """

    file: str
    line: int
    reason: str
    unit: Literal["line", "row", "record"] = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.line}: {self.reason}"

    def to_json(self) -> bytes:
        """Return a line of `rejected.jsonl`."""
        return json.dumps({"file": self.file, self.unit: self.line, "reason": self.reason}).encode() + b"\n"


MAX_MALFORMED = 0.1
"""Default share of records that may be malformed."""


class MalformedRecords:
    """The malformed records of a corpus: their number, the first of them, and all of them in a temporary file.

    Parameters
    ----------
    strict : bool
        If True, the first malformed record raises an error.
    limit : int or float
        Maximum number of malformed records as int, or their share of all records from 0 to 1 as float.
    spool : Spool
        Stores one line of JSON for each record.

    Raises
    ------
    ParameterError
        `limit` is out of range.
    """

    MAX_FIRST = 20

    def __init__(self, *, strict: bool = False, limit: float = MAX_MALFORMED, spool: Spool | None = None) -> None:
        is_count = isinstance(limit, int) and not isinstance(limit, bool)
        if not (is_count and limit >= 0) and not (isinstance(limit, float) and 0 <= limit <= 1):
            raise bad_parameter("max_malformed", repr(limit), "a number of records, or a share from 0.0 to 1.0")
        self.strict = strict
        self.limit = limit
        self._spool = Spool() if spool is None else spool
        self.clear()

    def clear(self) -> None:
        """Forget all records."""
        self.count = 0
        self._num_rows = 0
        self.first: list[BadRecord] = []
        self._spool.close()

    def close(self) -> None:
        """Free the temporary file."""
        self._spool.close()

    def add(self, record: BadRecord, count: int = 1) -> None:
        """Add a record, or `count` consecutive records that start with this one.

        Parameters
        ----------
        record : BadRecord
            The first of the records.
        count : int, default 1
            Number of records.

        Raises
        ------
        InputError
            In strict mode, or if there are more records than the limit.
        """
        if self.strict:
            place = f"{record.file}, {record.unit} {record.line}"
            raise InputError(str(record), place=place, **vars(record))
        self.count += count
        if len(self.first) < self.MAX_FIRST:
            self.first.append(record)
        if count > 1:
            record = replace(record, reason=f"{record.reason} (and {count - 1} more records after it)")
        self._spool.write(record.to_json())
        if isinstance(self.limit, int) and self.count > self.limit:
            self._refuse(f"more than {self.limit} records can't be read", remedy="max_malformed=")

    def add_row(self, record: BadRecord) -> None:
        """Add a record that was read as a row and later turned out to be unusable.

        Parameters
        ----------
        record : BadRecord
            The record.
        """
        self._num_rows += 1
        self.add(record)

    def check(self, rows: int) -> None:
        """Raise InputError if the share of malformed records exceeds the limit.

        Parameters
        ----------
        rows : int
            Number of rows, including those of `add_row`.
        """
        total = rows + self.count - self._num_rows
        if not self.count:
            return
        if not rows:
            self._refuse(f"none of {self.count} records can be read")
        if isinstance(self.limit, float) and self.count > self.limit * total:
            share = f"{100 * self.limit:.4g}%"
            message = f"{self.count} of {total} records can't be read, more than {share}"
            self._refuse(message, remedy="max_malformed=")

    def _refuse(self, problem: str, **remedy: str) -> NoReturn:
        first = self.first[0]
        reason = f"{problem}; the first: {first}"
        message = f"{reason}, or allow more by max_malformed=" if remedy else reason
        raise InputError(message, place=first.file, file=first.file, line=first.line, reason=reason, **remedy)

    def write(self, out: IO[bytes]) -> None:
        """Write all records as JSON lines with file, line (row, record) and reason.

        Parameters
        ----------
        out : binary stream
            Destination.
        """
        for chunk in self._spool.chunks():
            out.write(chunk)


def cumulate(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Convert n lengths to n + 1 offsets."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
