"""What a corpus yields: texts, scalar columns, batches, and the records that can't be read.

Texts and columns lie back to back in one array of bytes with `n + 1` offsets, as in Arrow, so that the kernels read
them in place and nothing becomes a Python object before someone asks for it. A column costs 17 bytes per row and its
strings.
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

from nearkin.errors import InputError, bad_parameter
from nearkin.io.tempspool import Spool

if TYPE_CHECKING:
    import pyarrow as pa

Scalar = int | float | str | bool | None

NULL, INT, BIG_INT, FLOAT, TEXT, BOOL = range(6)


class PackedTexts(Sequence[str]):
    """Texts back to back in one array of bytes.

    Parameters
    ----------
    offsets : (n + 1,) int64
        Text i is `data[offsets[i]:offsets[i + 1]]`.
    data : uint8
        UTF-8.
    nulls : integers, ascending
        Rows that have no text; theirs is empty.

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
        """Texts from strings; None is a null.

        Parameters
        ----------
        texts : iterable of str or None
            Strings that UTF-8 can encode.
        """
        parts = [b"" if text is None else text.encode() for text in texts]
        nulls = np.array([i for i, text in enumerate(texts) if text is None], np.int64)
        return cls(offsets_of(parts), np.frombuffer(b"".join(parts), np.uint8), nulls)

    @classmethod
    def concat(cls, parts: Sequence[PackedTexts]) -> PackedTexts:
        """The texts of several, one after another.

        Parameters
        ----------
        parts : sequence of PackedTexts
            In the order of rows.
        """
        if len(parts) == 1:
            return parts[0]
        lengths = [np.diff(part.offsets) for part in parts]
        firsts = np.cumsum([0, *(len(part) for part in parts)])
        nulls = [part.nulls + first for part, first in zip(parts, firsts, strict=False)]
        data = [part.data[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls(
            running(np.concatenate([*lengths, np.zeros(0, np.int64)])),
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
        """The text of a row; "" where it is null."""
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        row = range(len(self))[row]
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes().decode()

    def __repr__(self) -> str:
        return f"<{len(self)} texts, {int(self.offsets[-1] - self.offsets[0])} bytes>"

    def with_nulls(self, nulls: NDArray[Any]) -> PackedTexts:
        """The same texts with these rows null.

        Parameters
        ----------
        nulls : (m,) integers, ascending
            Rows without a text.
        """
        return PackedTexts(self.offsets, self.data, nulls)

    def to_arrow(self) -> pa.Array:
        """The same texts as a pyarrow LargeStringArray over the same memory; nulls are null."""
        import pyarrow as pa

        valid = None
        if len(self.nulls):
            mask = np.ones(len(self), bool)
            mask[self.nulls] = False
            valid = pa.py_buffer(np.packbits(mask, bitorder="little"))
        offsets, data = pa.py_buffer(np.ascontiguousarray(self.offsets)), pa.py_buffer(self.data)
        return pa.LargeStringArray.from_buffers(len(self), offsets, data, valid, len(self.nulls))


class Column(Sequence[Scalar]):
    """A column of scalars as they were given: integers of any size, floats, strings, booleans, None.

    Parameters
    ----------
    kinds : (n,) uint8
        NULL, INT, BIG_INT, FLOAT, TEXT or BOOL of each row.
    values : (n,) int64
        The integer, the float's bits, or 0 and 1.
    offsets, data
        Strings and the digits of integers beyond 64 bits, as in `PackedTexts`.

    Examples
    --------
    >>> from nearkin.io import Column
    >>> Column.of([7, "a", None, 0.5]).to_list()
    [7, 'a', None, 0.5]
    """

    __slots__ = ("data", "kinds", "offsets", "values")

    def __init__(
        self,
        kinds: NDArray[np.uint8],
        values: NDArray[np.int64],
        offsets: NDArray[np.int64],
        data: NDArray[np.uint8],
    ) -> None:
        self.kinds = kinds
        self.values = values
        self.offsets = offsets
        self.data = data

    @classmethod
    def of(cls, values: Sequence[Scalar | date | np.datetime64]) -> Column:
        """A column from Python values.

        Parameters
        ----------
        values : iterable of int, float, str, bool or None
            In the order of rows. Dates and times become strings of ISO 8601.
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
                # Not-a-time, of NumPy and pandas, differs from itself.
                if value == value:
                    text = value.isoformat() if isinstance(value, date) else str(value)
                    kinds[i], strings[i] = TEXT, text.encode()
            elif value is not None:
                kinds[i], strings[i] = TEXT, value.encode()
        return cls(kinds, numbers, offsets_of(strings), np.frombuffer(b"".join(strings), np.uint8))

    @classmethod
    def integers(cls, values: NDArray[np.int64]) -> Column:
        """A column of integers, over the same memory.

        Parameters
        ----------
        values : (n,) int64
            One integer per row.
        """
        n = len(values)
        return cls(np.full(n, INT, np.uint8), values, np.zeros(n + 1, np.int64), np.zeros(0, np.uint8))

    @classmethod
    def strings(cls, texts: PackedTexts) -> Column:
        """A column of strings, over the same memory; null texts are null.

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
        """The values of several columns, one after another.

        Parameters
        ----------
        parts : sequence of Column
            In the order of rows.
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
        """The value of a row."""
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
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
        """The values of these rows, as Python objects.

        Parameters
        ----------
        rows : (m,) integers
            Row numbers.
        """
        places = np.asarray(rows, np.int64)
        kinds = np.unique(self.kinds[places])
        if np.array_equal(kinds, [INT]):
            values: list[Scalar] = self.values[places].tolist()
            return values
        if np.array_equal(kinds, [TEXT]):
            data = self.data.data
            starts, ends = self.offsets[:-1][places].tolist(), self.offsets[1:][places].tolist()
            return [str(data[start:end], "utf-8") for start, end in zip(starts, ends, strict=True)]
        return [self[row] for row in places.tolist()]

    def to_list(self) -> list[Scalar]:
        """All values as Python objects."""
        kinds = np.unique(self.kinds)
        if np.array_equal(kinds, [INT]):
            values: list[Scalar] = self.values.tolist()
            return values
        if np.array_equal(kinds, [TEXT]):
            data, offsets = self.data.tobytes(), self.offsets.tolist()
            return [data[a:b].decode() for a, b in pairwise(offsets)]
        return [self[row] for row in range(len(self))]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """The values as (n,) float64, NaN for None.

        Strings count as the numbers that they write; if they write dates and times (ISO 8601), as seconds since 1970 in
        UTC, which is also what a time without a zone is in.

        Parameters
        ----------
        name : str
            The column's name, for the message.

        Raises
        ------
        InputError
            A value that is neither, or numbers and dates in one column.
        """
        if not np.any((self.kinds == TEXT) | (self.kinds == BIG_INT)):
            numbers = np.where(self.kinds == FLOAT, self.values.view(np.float64), self.values.astype(np.float64))
            numbers[self.kinds == NULL] = np.nan
            return numbers
        values = self.to_list()
        numbers = np.empty(len(self), np.float64)
        dates = 0
        for row, value in enumerate(values):
            try:
                numbers[row] = np.nan if value is None else float(value)
            except (ValueError, OverflowError):  # noqa: PERF203 - the message names the value's row
                seconds = seconds_of(value) if isinstance(value, str) else None
                if seconds is None or (dates == 0 and not np.isnan(numbers[:row]).all()):
                    mixed = ", a date, beside numbers"
                    self._refuse(name, row, value, ", which is neither number nor date" if seconds is None else mixed)
                dates += 1
                numbers[row] = seconds
            else:
                if dates and value is not None:
                    self._refuse(name, row, value, ", a number, beside dates")
        return numbers

    @staticmethod
    def _refuse(name: str, row: int, value: object, why: str) -> NoReturn:
        reason = f"column {name!r} holds {value!r}{why}; use a column of numbers, or one of dates"
        raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason)


_ISO = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)? ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)


def seconds_of(text: str) -> float | None:
    """Seconds from 1970-01-01 in UTC to a date, or a date and time, of ISO 8601; None for what is neither.

    Parameters
    ----------
    text : str
        Such as "2024-03-01", "2024-03-01T12:30:00Z" or "2024-03-01 12:30:00.25+01:00".

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
        # A leap second counts as the one after it.
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
    # Whole seconds are exact, and a microsecond is far above the last digit of a double until the year 2250.
    return (moment - _EPOCH) // timedelta(seconds=1) + max(second - 59, 0) - offset + fraction


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Batch:
    """Rows of a corpus that follow one another, a few megabytes of text at most unless one text is larger.

    Parameters
    ----------
    first_row : int
        Number of the first row in the corpus, from 0; records that can't be read have none.
    texts : PackedTexts
        A text per row.
    ids : Column
        Integers or strings, as given; row numbers when no id column was named.
    columns : mapping of str to Column
        The extra columns that were asked for.
    """

    first_row: int
    texts: PackedTexts
    ids: Column
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class BadRecord:
    """A record that can't be read: its file, its place there from 1, and why.

    `unit` says what `line` counts: lines of a text file, rows of a Parquet file, or records of a JSON array.
    """

    file: str
    line: int
    reason: str
    unit: Literal["line", "row", "record"] = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.line}: {self.reason}"

    def to_json(self) -> bytes:
        """A line of `rejected.jsonl`."""
        return json.dumps({"file": self.file, self.unit: self.line, "reason": self.reason}).encode() + b"\n"


MAX_MALFORMED = 0.1
"""Share of records that may be unreadable unless the caller says otherwise."""


class Malformed:
    """The records of a corpus that can't be read: how many, the first of them, and all of them in a temporary file.

    Parameters
    ----------
    strict : bool
        Whether the first one is an error.
    most : int or float
        How many there may be: a number of records as int, a share of all records from 0 to 1 as float.
    spool : Spool
        Takes one line of JSON for each.

    Raises
    ------
    ParameterError
        `most` out of its range.
    """

    LIMIT = 20

    def __init__(self, *, strict: bool = False, most: float = MAX_MALFORMED, spool: Spool | None = None) -> None:
        whole = isinstance(most, int) and not isinstance(most, bool)
        if not (whole and most >= 0) and not (isinstance(most, float) and 0 <= most <= 1):
            raise bad_parameter("max_malformed", repr(most), "a number of records, or a share from 0.0 to 1.0")
        self.strict = strict
        self.most = most
        self._spool = Spool() if spool is None else spool
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self.count = 0
        self.of_rows = 0
        self.first: list[BadRecord] = []
        self._spool.close()

    def close(self) -> None:
        """Free the temporary file."""
        self._spool.close()

    def add(self, record: BadRecord, count: int = 1) -> None:
        """Count a record, or `count` of them of which this is the first.

        Parameters
        ----------
        record : BadRecord
            The first of the records to be counted.
        count : int, default 1
            How many records are counted.

        Raises
        ------
        InputError
            In strict mode, or if there are more than a given number.
        """
        if self.strict:
            raise input_error(record)
        self.count += count
        if len(self.first) < self.LIMIT:
            self.first.append(record)
        line = record.to_json()
        if count > 1:
            more = f"{record.reason} (and {count - 1} more records after it)"
            line = replace(record, reason=more).to_json()
        self._spool.write(line)
        if isinstance(self.most, int) and self.count > self.most:
            self._refuse(f"more than {self.most} records can't be read", remedy="max_malformed=")

    def refuse(self, record: BadRecord) -> None:
        """As `add`, for a record that was read as a row and then found to be unusable.

        Parameters
        ----------
        record : BadRecord
        """
        self.of_rows += 1
        self.add(record)

    def check(self, rows: int) -> None:
        """Raise InputError if too large a share of the records can't be read.

        Parameters
        ----------
        rows : int
            How many records were read; those that were refused afterwards (`refuse`) among them.
        """
        total = rows + self.count - self.of_rows
        if not self.count:
            return
        if not rows:
            self._refuse(f"none of {self.count} records can be read")
        if isinstance(self.most, float) and self.count > self.most * total:
            self._refuse(
                f"{self.count} of {total} records can't be read, more than {100 * self.most:.4g}%",
                remedy="max_malformed=",
            )

    def _refuse(self, what: str, **remedy: str) -> NoReturn:
        first = self.first[0]
        reason = f"{what}; the first: {first}"
        message = f"{reason}, or allow more by max_malformed=" if remedy else reason
        raise InputError(message, place=first.file, file=first.file, line=first.line, reason=reason, **remedy)

    def write(self, out: IO[bytes]) -> None:
        """Write all of them as lines of JSON: file, line (row, record), reason.

        Parameters
        ----------
        out : binary stream
            Where they go.
        """
        for piece in self._spool.pieces():
            out.write(piece)


def input_error(record: BadRecord) -> InputError:
    """The InputError for a record."""
    return InputError(str(record), place=f"{record.file}, {record.unit} {record.line}", **vars(record))


def running(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Offsets from lengths: 0 and the running sums, one more than lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def offsets_of(parts: Sequence[bytes]) -> NDArray[np.int64]:
    """Offsets of parts that are joined."""
    return running(np.fromiter(map(len, parts), np.int64, len(parts)))
