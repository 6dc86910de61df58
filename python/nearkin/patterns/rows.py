"""Tables of patterns in files: JSON Lines, which people and `jq` read, or Parquet.

Patterns of patterns are the patterns. So a table is enough to match by: an object fitted to its patterns has them.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearkin.errors import InputError, bad_parameter
from nearkin.io import replace_file
from nearkin.patterns.tables import schema

if TYPE_CHECKING:
    import pyarrow as pa

_JSON = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")


def check_ending(path: str | os.PathLike[str], name: str = "path") -> None:
    """Refuse a file whose name does not say a format that `write_rows` knows.

    Raises
    ------
    ParameterError
        The message names the endings.
    """
    if Path(path).suffix.lower() not in _JSON + _PARQUET:
        raise bad_parameter(name, str(path), "a name that ends in .jsonl or .parquet")


def json_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table of patterns as JSON has them: times and days in ISO 8601.

    Parameters
    ----------
    table : pyarrow.Table
        As `Patterns.table` gives it.
    """
    for batch in table.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            for name in ("first_seen", "last_seen"):
                row[name] = None if row[name] is None else row[name].isoformat()
            row["days"] = [{**day, "day": day["day"].isoformat()} for day in row["days"]]
            yield row


def write_rows(path: str | os.PathLike[str], table: pa.Table) -> None:
    """Write a table of patterns to a file, which appears whole or not at all.

    Parameters
    ----------
    path : path
        Its name ends in `.jsonl`, `.ndjson`, `.parquet` or `.pq`.
    table : pyarrow.Table
        As `Patterns.table` gives it.

    Raises
    ------
    ParameterError
        Another ending.
    OSError
        The file can't be written.
    """
    check_ending(path)
    with replace_file(path) as file:
        if Path(path).suffix.lower() in _PARQUET:
            import pyarrow.parquet as pq

            pq.write_table(table, file)
            return
        for row in json_rows(table):
            file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def read_rows(path: str | os.PathLike[str]) -> pa.Table:
    """The table that `write_rows` wrote.

    Returns
    -------
    pyarrow.Table
        With all columns of `Patterns.table`; what a row lacks is null.

    Raises
    ------
    InputError
        It is no such table; the message names the line.
    OSError
        It can't be read.
    """
    import pyarrow as pa

    if Path(path).suffix.lower() in _PARQUET:
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
        except pa.ArrowInvalid as error:
            raise _bad(path, f"it is not Parquet ({error})") from error
        for name in ("id", "pattern", "count", "share"):
            if name not in table.column_names:
                raise _bad(path, f"it has no column {name!r}, as tables of patterns have")
        return table
    with Path(path).open("rb") as file:
        rows = [_row(path, number, line) for number, line in enumerate(file, 1)]
    known = schema()
    extra = [name for name in (rows[0] if rows else ()) if name not in known.names]
    try:
        kinds = [(name, pa.array([row.get(name) for row in rows]).type) for name in extra]
        return pa.Table.from_pylist(rows, schema(kinds))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _bad(path, f"a value has another type ({error})") from error


def _row(path: str | os.PathLike[str], number: int, line: bytes) -> dict[str, Any]:
    """A line as a row, with times and days as Arrow has them."""
    try:
        row: dict[str, Any] = json.loads(line)
        if not isinstance(row["pattern"], str) or not isinstance(row["id"], str):
            raise TypeError("pattern and id are strings")
        for name in ("first_seen", "last_seen"):
            if row.get(name) is not None:
                row[name] = datetime.datetime.fromisoformat(row[name])
        row["days"] = [{**day, "day": datetime.date.fromisoformat(day["day"])} for day in row.get("days") or ()]
        return {**row, "count": int(row["count"]), "share": float(row["share"])}
    except KeyError as error:
        raise _bad(path, f"a pattern has no {error.args[0]!r}", number) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise _bad(path, f"it is no pattern ({error})", number) from error


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table of patterns, by its first bytes, and not a state."""
    with Path(path).open("rb") as file:
        start = file.read(4)
    return start[:1] == b"{" or start == b"PAR1" or not start


def _bad(path: str | os.PathLike[str], reason: str, line: int | None = None) -> InputError:
    place = os.fspath(path) if line is None else f"{os.fspath(path)}, line {line}"
    return InputError(f"{place}: {reason}", place=place, reason=reason)


__all__ = ["check_ending", "is_table", "json_rows", "read_rows", "write_rows"]
