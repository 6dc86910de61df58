"""Time to live: which documents of a store are older than a time.

The time of a document is a column that the store keeps, or the time of its addition. The log records when rows were
added in steps of `ADDITION_SECONDS`, so by that time a document expires up to ten minutes late, and never early.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Ordinals
from nearkin.errors import bad_parameter
from nearkin.progress import Progress
from nearkin.store.log import ADDITION_SECONDS
from nearkin.store.records import Cell
from nearkin.store.snapshot import Snapshot

_BATCH = 4096
"""Documents that are read in one transaction."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s?(?:(Z|z|UTC)|([+-])(\d\d):?(\d\d)?)?",
    re.ASCII,
)
_MAX_SECONDS = 253_402_300_799
"""The last second of the year 9999, in Unix seconds."""


def cutoff(before: datetime | date | str | None, max_age: timedelta | str | None, now: datetime) -> datetime:
    """Return the time before which documents have expired, in UTC.

    Parameters
    ----------
    before : datetime, date or str, optional
        A time; as a string in ISO 8601. Without a time zone it is UTC.
    max_age : timedelta or str, optional
        An age; as a string a number with a unit, such as "90d": s, m (minutes), h, d or w.
    now : datetime

    Raises
    ------
    ParameterError
        Both, none, or a value that is neither.
    """
    if (before is None) == (max_age is None):
        if before is None:
            raise bad_parameter("before", None, "a time, or an age such as 90d as max_age (--max-age)")
        raise bad_parameter("before", f"{before!r} with max_age", "one of them: a time, or an age such as 90d")
    if before is not None:
        time = as_time(before)
        if time is None:
            allowed = "a time such as 2026-01-31 or 2026-01-31T12:00:00+01:00, or a datetime"
            raise bad_parameter("before", repr(before), allowed)
        return time
    age = _parse_age(max_age) if isinstance(max_age, str) else max_age
    if not isinstance(age, timedelta) or age < timedelta(0):
        raise bad_parameter("max_age", repr(max_age), "an age such as 90d, 12h or 30m, or a timedelta, 0 or more")
    try:
        return now - age
    except OverflowError:
        raise bad_parameter("max_age", repr(max_age), "an age that begins after the year 1") from None


def _parse_age(text: str) -> timedelta | None:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s?([smhdw])", text.strip())
    if match is None:
        return None
    try:
        return timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        return None


def as_time(value: object) -> datetime | None:
    """Return a datetime, a date or a string in ISO 8601 as a time in UTC; None for anything else."""
    if isinstance(value, str):
        return _parse_time(value)
    if isinstance(value, datetime):
        try:
            return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
        except OverflowError:
            return None
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    return None


def _parse_time(text: str) -> datetime | None:
    """Return a time in ISO 8601, in UTC without a time zone; None for another text.

    `datetime.fromisoformat` accepts other forms in each version of Python.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    micros = int((match[7] or "0")[:6].ljust(6, "0"))
    offset = timedelta(hours=int(match[10] or 0), minutes=int(match[11] or 0))
    try:
        local = datetime(year, month, day, hour, minute, second, micros, tzinfo=timezone.utc)
        return local + offset if match[9] == "-" else local - offset
    except (ValueError, OverflowError):
        return None


def _cell_time(cell: Cell) -> datetime | None:
    """Return the time of a cell: a string in ISO 8601, or a number of Unix seconds; None for any other."""
    if isinstance(cell, str):
        return _parse_time(cell)
    if isinstance(cell, bool) or cell is None or not 0 <= cell <= _MAX_SECONDS:
        return None
    return datetime.fromtimestamp(cell, timezone.utc)


def find_expired(
    open_snapshot: Callable[[], AbstractContextManager[Snapshot]],
    column: str | None,
    before: datetime,
    report: Progress,
) -> tuple[Ordinals, int]:
    """Return the rows of a store that have expired, by a column or by addition, and the number without a time.

    Raises
    ------
    ParameterError
        No document has the column.
    """
    expired, start, undated, seen, has_column = [np.zeros(0, np.int64)], 0, 0, 0, column is None
    while True:
        with open_snapshot() as snapshot:
            rows, total = snapshot.live_rows(start, _BATCH), len(snapshot)
            if not len(rows):
                break
            if column is None:
                old, without = find_by_addition(snapshot, rows, before)
            else:
                old, present, without = find_by_column(snapshot, rows, column, before)
                has_column |= bool(present.any())
        expired.append(old)
        start, undated, seen = int(rows[-1]) + 1, undated + without, seen + len(rows)
        report("expire", seen, max(total, seen))
    if seen and not has_column:
        raise bad_parameter("column", repr(column), "a column that documents of the store have")
    return np.concatenate(expired), undated


def find_by_column(
    snapshot: Snapshot, rows: Ordinals, column: str, before: datetime
) -> tuple[Ordinals, NDArray[np.bool_], int]:
    """Return the expired rows by a column, for each row whether it has the column, and the number without a time."""
    cells: list[Any] = [snapshot.unpack_extra(extra)[1].get(column) for extra in snapshot.extras(rows)]
    times = [_cell_time(cell) for cell in cells]
    expired = np.array([time is not None and time < before for time in times], bool)
    return rows[expired], np.array([cell is not None for cell in cells], bool), times.count(None)


def find_by_addition(snapshot: Snapshot, rows: Ordinals, before: datetime) -> tuple[Ordinals, int]:
    """Return the expired rows by the time of addition, and the number of rows that no record covers."""
    additions = snapshot.log.additions()
    first = additions[0][0] if additions else 1 << 62
    young = [row for row, time in additions if time + ADDITION_SECONDS > before.timestamp()]
    stop = young[0] if young else 1 << 62
    return rows[(rows >= first) & (rows < stop)], int((rows < first).sum())
