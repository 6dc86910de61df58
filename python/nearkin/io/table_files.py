"""Reading a table of a run or of labels: columns of scalars from JSON, CSV, TSV or Parquet, also compressed.

Unlike a corpus a table is read whole, and one record that can't be read is an error: labels that are silently left
out would change a measure. Values of CSV and TSV are strings; an empty field is None, as `write_table` writes it, and
in a column of ids the empty id.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nearkin.errors import InputError
from nearkin.io.decompress import Reader
from nearkin.io.inputs import InputFile, resolve, unreadable
from nearkin.io.tempspool import Spool

if TYPE_CHECKING:
    from typing_extensions import Buffer

# A field of CSV may be a whole document.
_FIELD = 256 << 20


def read_table(
    path: str | os.PathLike[str], columns: Iterable[str] | None = None, *, ids: Iterable[str] = ()
) -> dict[str, list[Any]]:
    r"""Columns of a table, by name.

    Parameters
    ----------
    path : path
        One file, or `-` for JSON lines from standard input.
    columns : iterable of str, optional
        Columns to keep, of those that the file has; None for all.
    ids : iterable of str
        Columns of ids: an empty field of CSV or TSV is the id "" there, not None.

    Returns
    -------
    dict of str to list
        In the file's order. A JSON record without a column has None there.

    Raises
    ------
    InputError
        A missing, damaged or unreadable file; a record that is not an object, or whose number of fields differs from
        the header's; a format of texts instead of columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.tsv"
    >>> _ = path.write_text("left\tright\tmatch\na\tb\t1\na\tc\t0\n")
    >>> read_table(path, ["left", "match"])
    {'left': ['a', 'a'], 'match': ['1', '0']}
    """
    kind, sources = resolve(path, None)
    if len(sources) != 1:
        raise unreadable(os.fspath(path), f"is {len(sources)} files; name one table")
    source = sources[0]
    wanted, named = None if columns is None else set(columns), set(ids)
    if kind == "parquet":
        return _parquet(source, wanted)
    if kind not in ("jsonl", "csv", "tsv"):
        raise unreadable(source.name, f"is {kind}, which has no columns; give .jsonl, .csv, .tsv or .parquet")
    with Reader(source, _Nowhere(), json=kind == "jsonl") as reader:
        text = io.TextIOWrapper(io.BufferedReader(_Raw(reader)), "utf-8-sig", newline="")
        try:
            return _jsonl(source, text, wanted) if kind == "jsonl" else _csv(source, text, kind, wanted, named)
        except UnicodeDecodeError as error:
            raise unreadable(source.name, f"is not UTF-8 ({error.reason}); convert it, with iconv say") from error


class _Nowhere(Spool):
    """A table is read once."""

    def write(self, data: Buffer) -> None:
        """Nothing."""


class _Raw(io.RawIOBase):
    """The bytes of a Reader as a file."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer`; the number of bytes, 0 at the end."""
        return self._reader.fill(memoryview(buffer).cast("B"))


def _bad(source: InputFile, line: int, reason: str) -> InputError:
    place = f"{source.name}:{line}"
    return InputError(f"{place}: {reason}", place=place, file=source.name, line=line, reason=reason)


def _jsonl(source: InputFile, text: Iterable[str], wanted: set[str] | None) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    rows = 0
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _bad(source, number, f"invalid JSON: {error}") from error
        if not isinstance(record, dict):
            raise _bad(source, number, f"{type(record).__name__}, not an object; a record is one object per line")
        for name, value in record.items():
            if wanted is None or name in wanted:
                # A column that first appears in a later record has None before it.
                found.setdefault(name, [None] * rows).append(value)
        rows += 1
        for values in found.values():
            if len(values) < rows:
                values.append(None)
    return found


def _csv(
    source: InputFile, text: Iterator[str], kind: str, wanted: set[str] | None, ids: set[str]
) -> dict[str, list[Any]]:
    reader = csv.reader(text, delimiter="\t" if kind == "tsv" else ",", strict=True)
    before = csv.field_size_limit(_FIELD)
    try:
        header = next(reader, None)
        if header is None:
            raise unreadable(source.name, "is empty; the first line names the columns")
        twice = {name for name in header if header.count(name) > 1}
        if twice:
            raise _bad(source, 1, f"column {sorted(twice)[0]!r} occurs twice in the header")
        held = [
            (name, at, "" if name in ids else None)
            for at, name in enumerate(header)
            if wanted is None or name in wanted
        ]
        found: dict[str, list[Any]] = {name: [] for name, _, _ in held}
        for fields in reader:
            if len(fields) != len(header):
                if not fields:
                    continue
                reason = f"{len(fields)} fields, {len(header)} in the header"
                raise _bad(source, reader.line_num, reason)
            for name, at, empty in held:
                found[name].append(fields[at] or empty)
        return found
    except csv.Error as error:
        raise _bad(source, reader.line_num, str(error)) from error
    finally:
        csv.field_size_limit(before)


def _parquet(source: InputFile, wanted: set[str] | None) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source.path)
        names = [name for name in file.schema_arrow.names if wanted is None or name in wanted]
        table = file.read(columns=names)
    except (pa.ArrowInvalid, OSError) as error:
        raise unreadable(source.name, f"can't be read as Parquet: {error}") from error
    return {name: table.column(name).to_pylist() for name in names}
