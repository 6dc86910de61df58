"""Tables: results as tables of other packages (`Tabular`), and tables in files (`write_table`, `read_table`).

Results convert to Arrow, pandas and polars, and to everything that reads Arrow's PyCapsule interface. Only pyarrow is a
dependency; pandas and polars are imported when they are needed. None and NaN are missing values.

The side tables of a run (clusters, pairs) have the format of its input: JSON lines for jsonl, txt, files and warc; CSV,
TSV or Parquet for these formats. They are not compressed as files. A missing value is null in JSON lines and Parquet
and an empty field in CSV. Rows are written in chunks, so memory does not grow with their number.

`read_table` reads a table completely. A single malformed record is an error, because missing labels would change a
measurement. Values of CSV and TSV are strings. An empty field is None, or the empty id in a column of ids.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from importlib import import_module
from json.encoder import encode_basestring
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from nearkin.errors import InputError, MissingExtraError, bad_parameter, input_error, unique_members
from nearkin.io.arrow import TableColumn, to_arrow, to_values
from nearkin.io.decompress import Reader, Sink
from nearkin.io.encoding import ChunkStream
from nearkin.io.inputs import Format, InputFile, file_error, resolve
from nearkin.io.output import OutputDir
from nearkin.io.values import Column, Scalar
from nearkin.notebook import ROWS, count_of, html_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["TableColumn", "Tabular", "read_table", "table_name", "write_table"]

# Rows that exist as Python objects at the same time.
_CHUNK_ROWS = 1 << 14
_BLOCK_ROWS = 1 << 12
# A CSV field may be a complete document.
_MAX_FIELD = 256 << 20


class Comparable:
    """Base class of results: two of one class are equal if their values are, times aside. NaN equals NaN."""

    def __eq__(self, other: object) -> bool:
        return equal_values(self._values(), other._values()) if type(other) is type(self) else NotImplemented

    def _values(self) -> Mapping[str, object]:
        return {each.name: getattr(self, each.name) for each in fields(self) if each.compare}  # type: ignore[arg-type]


def equal_values(a: object, b: object) -> bool:
    """Return True if two values of results are equal; `timings` of mappings are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.io.tables import equal_values
    >>> equal_values({"n": [1, np.nan], "timings": 1}, {"n": [1, np.nan], "timings": 2})
    True
    >>> equal_values(np.array([1, 2]), np.array([1, 2, 2]))
    False
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        names = a.keys() - {"timings"}
        return names == b.keys() - {"timings"} and all(equal_values(a[name], b[name]) for name in names)
    if isinstance(a, (list, tuple, Column)) and type(a) is type(b):
        return len(a) == len(b) and all(map(equal_values, a, b))
    if isinstance(a, (np.ndarray, list)) or isinstance(b, (np.ndarray, list)):
        return False
    return a is b or bool(a == b) or (a != a and b != b)


class Tabular(Comparable):
    """Base class of results that are tables: `_columns` returns the columns, `_types` the Arrow types of empty ones.

    Examples
    --------
    >>> from nearkin import HammingIndex
    >>> index = HammingIndex(bits=8)
    >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
    >>> pairs = index.pairs(radius=2)
    >>> pairs.to_polars().rows()
    [('a', 'b', 2)]
    >>> import pyarrow as pa
    >>> pa.table(pairs).column_names
    ['left', 'right', 'distance']
    """

    def _columns(self) -> Mapping[str, TableColumn]:
        raise NotImplementedError

    def _types(self) -> Mapping[str, str]:
        """Return the names of the Arrow types of columns that may contain only nulls."""
        return {}

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        columns = self._columns()
        cells = [to_values(to_arrow(values[:ROWS])) for values in columns.values()]
        total = len(next(iter(columns.values()), ()))
        return html_table(list(columns), zip(*cells, strict=True), total=total, caption=self._caption(total))

    def _caption(self, rows: int) -> str:
        """Return the caption of the table in a notebook."""
        return count_of(rows, "row")

    def _compact_columns(self) -> Mapping[str, Any]:
        """Return the columns, each an array or another object whose slices are lists."""
        return self._columns()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict, as `pandas.DataFrame` reads them if they are what iteration yields."""
        columns = self._compact_columns()
        for start in range(0, len(next(iter(columns.values()), ())), _BLOCK_ROWS):
            blocks = [column[start : start + _BLOCK_ROWS] for column in columns.values()]
            cells = [block.tolist() if isinstance(block, np.ndarray) else block for block in blocks]
            yield from (dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True))

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow Table; a column that mixes numbers and strings becomes a column of strings."""
        import pyarrow as pa

        types = self._types()
        return pa.table({name: to_arrow(values, types.get(name)) for name, values in self._columns().items()})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a stream of Arrow data, which pyarrow, polars, DuckDB and others read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        frame: pd.DataFrame = _import_package("pandas", "to_pandas()").DataFrame(self._columns())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return a polars DataFrame.

        Raises
        ------
        MissingExtraError
            polars is not installed.
        """
        frame: pl.DataFrame = _import_package("polars", "to_polars()").from_arrow(self.to_arrow())
        return frame


def _import_package(package: str, call: str) -> Any:
    """Import an optional package that a call needs."""
    try:
        return import_module(package)
    except ImportError:
        message = f"{call} needs {package}, which is not installed; `pip install {package}`, or use to_arrow()"
        raise MissingExtraError(message, extra=package, package=package) from None


def table_name(name: str, format: Format) -> str:
    """Return the file name of a side table, such as `clusters.jsonl`.

    Parameters
    ----------
    name : str
        File name without extension.
    format : str
        Format of the corpus.

    Examples
    --------
    >>> from nearkin.io import table_name
    >>> table_name("clusters", "jsonl"), table_name("pairs", "csv")
    ('clusters.jsonl', 'pairs.csv')
    """
    return f"{name}.{'jsonl' if format in ('txt', 'files', 'warc') else format}"


def write_table(out: OutputDir, name: str, columns: Mapping[str, TableColumn], format: Format) -> str:
    """Write a side table and return its file name.

    Parameters
    ----------
    out : OutputDir
        Output folder.
    name : str
        File name without extension: clusters, pairs.
    columns : mapping of str to sequence
        Columns of one length: integers, finite floats, strings, booleans, None. NaN is written as None.
    format : str
        Format of the corpus.

    Raises
    ------
    ParameterError
        The columns have different lengths.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.io import OutputDir, write_table
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "out"
    >>> with OutputDir(target) as out:
    ...     write_table(out, "clusters", {"id": ["a", 7], "similarity": [None, 0.5]}, "jsonl")
    'clusters.jsonl'
    >>> print(target.joinpath("clusters.jsonl").read_text(), end="")
    {"id": "a", "similarity": null}
    {"id": 7, "similarity": 0.5}
    """
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise bad_parameter("columns", lengths, "columns of one length")
    file_name = table_name(name, format)
    with out.open(file_name) as file:
        write_columns(file, columns, format)
    return file_name


def write_columns(file: IO[bytes], columns: Mapping[str, TableColumn], format: Format) -> None:
    """Write columns of one length: as Parquet, CSV, TSV, or as JSON lines for other formats."""
    rows = len(next(iter(columns.values()), ()))
    if format == "parquet":
        _write_parquet(file, columns)
    elif format in ("csv", "tsv"):
        _write_csv(file, columns, rows, "\t" if format == "tsv" else ",")
    else:
        _write_jsonl(file, columns, rows)


def _chunks(columns: Mapping[str, TableColumn], count: int) -> Iterator[list[list[Scalar]]]:
    """Yield the columns of chunks of rows as Python objects; NaN is None."""
    for start in range(0, count, _CHUNK_ROWS):
        yield [_cells(values[start : start + _CHUNK_ROWS]) for values in columns.values()]


def _cells(values: TableColumn) -> list[Scalar]:
    """Return values as Python objects; NaN is None."""
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biu":
        return cells
    return [None if value != value else value for value in cells]


_TO_JSON: dict[type, Callable[[Any], str]] = {
    int: repr,
    float: repr,
    str: encode_basestring,
    bool: lambda value: str(value).lower(),
    type(None): lambda _: "null",
    list: partial(json.dumps, ensure_ascii=False),
}


def _format_json(cells: list[Scalar]) -> Iterable[str]:
    """Format cells as JSON; columns of one type, the usual case, need one function."""
    kinds = set(map(type, cells))
    return map(_TO_JSON[kinds.pop()], cells) if len(kinds) == 1 else [_TO_JSON[type(cell)](cell) for cell in cells]


def _write_jsonl(file: IO[bytes], columns: Mapping[str, TableColumn], count: int) -> None:
    keys = [encode_basestring(name).replace("%", "%%") + ": %s" for name in columns]
    line = "{" + ", ".join(keys) + "}\n"
    for chunk in _chunks(columns, count):
        file.write("".join([line % row for row in zip(*map(_format_json, chunk), strict=True)]).encode())


def _write_csv(file: IO[bytes], columns: Mapping[str, TableColumn], count: int, delimiter: str) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for chunk in _chunks(columns, count):
        writer.writerows(zip(*chunk, strict=True))
    text.flush()
    text.detach()


def _write_parquet(file: IO[bytes], columns: Mapping[str, TableColumn]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: to_arrow(values) for name, values in columns.items()})
    pq.write_table(table, pa.PythonFile(Sink(file), "w"), compression="zstd")


def read_table(
    path: str | os.PathLike[str], columns: Iterable[str] | None = None, *, ids: Iterable[str] = ()
) -> dict[str, list[Any]]:
    r"""Read columns of a table in JSON, CSV, TSV or Parquet, which may be compressed.

    Parameters
    ----------
    path : path
        One file, or `-` for JSON lines from standard input.
    columns : iterable of str, optional
        Columns to read, if the file has them (default: all).
    ids : iterable of str
        Columns of ids, in which an empty field of CSV or TSV is the id "" instead of None.

    Returns
    -------
    dict of str to list
        Columns in the order of the file. A JSON record without a column has None there.

    Raises
    ------
    InputError
        The file is missing, damaged or unreadable; a record is not an object, or has another number of fields than the
        header; or the format has no columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.io import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.tsv"
    >>> _ = path.write_text("left\tright\tmatch\na\tb\t1\na\tc\t0\n")
    >>> read_table(path, ["left", "match"])
    {'left': ['a', 'a'], 'match': ['1', '0']}
    """
    format, sources = resolve(path, None)
    if len(sources) != 1:
        raise file_error(os.fspath(path), f"is {len(sources)} files; name one table")
    source = sources[0]
    requested, id_columns = None if columns is None else set(columns), set(ids)
    if format == "parquet":
        return _read_parquet(source, requested)
    if format not in ("jsonl", "csv", "tsv"):
        raise file_error(source.name, f"is {format}, which has no columns; give .jsonl, .csv, .tsv or .parquet")
    with Reader(source, json=format == "jsonl") as reader:
        text = io.TextIOWrapper(io.BufferedReader(ChunkStream(reader.chunks())), "utf-8-sig", newline="")
        try:
            if format == "jsonl":
                return _read_jsonl(source, text, requested)
            return _read_csv(source, text, "\t" if format == "tsv" else ",", requested, id_columns)
        except UnicodeDecodeError as error:
            raise file_error(source.name, f"is not UTF-8 ({error.reason}); convert it, with iconv say") from error


def _line_error(source: InputFile, line: int, reason: str) -> InputError:
    return input_error(f"{source.name}:{line}", reason, file=source.name, line=line)


def _read_jsonl(source: InputFile, text: Iterable[str], requested: set[str] | None) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {}
    rows = 0
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=unique_members)
        except (ValueError, RecursionError) as error:
            raise _line_error(source, number, f"invalid JSON: {error}") from error
        if not isinstance(record, dict):
            reason = f"{type(record).__name__}, not an object; a record is one object per line"
            raise _line_error(source, number, reason)
        for name, value in record.items():
            if requested is None or name in requested:
                if name not in table:
                    # A column that first appears in a later record has None before it.
                    table[name] = [None] * rows
                table[name].append(value)
        rows += 1
        for values in table.values():
            if len(values) < rows:
                values.append(None)
    return table


def _read_csv(
    source: InputFile, text: Iterator[str], delimiter: str, requested: set[str] | None, ids: set[str]
) -> dict[str, list[Any]]:
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    limit_before = csv.field_size_limit(_MAX_FIELD)
    try:
        header = next(reader, None)
        if header is None:
            raise file_error(source.name, "is empty; the first line names the columns")
        repeated = sorted({name for name in header if header.count(name) > 1})
        if repeated:
            raise _line_error(source, 1, f"column {repeated[0]!r} occurs twice in the header")
        fields = [(at, name) for at, name in enumerate(header) if requested is None or name in requested]
        table: dict[str, list[Any]] = {name: [] for _, name in fields}
        for row in reader:
            if row and len(row) != len(header):
                raise _line_error(source, reader.line_num, f"{len(row)} fields, {len(header)} in the header")
            for at, name in fields if row else ():
                table[name].append(row[at] or ("" if name in ids else None))
        return table
    except csv.Error as error:
        raise _line_error(source, reader.line_num, str(error)) from error
    finally:
        csv.field_size_limit(limit_before)


def _read_parquet(source: InputFile, requested: set[str] | None) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source.path)
        names = [name for name in file.schema_arrow.names if requested is None or name in requested]
        table = file.read(columns=names)
    except (pa.ArrowInvalid, OSError) as error:
        raise file_error(source.name, f"can't be read as Parquet: {error}") from error
    return {name: to_values(table.column(name)) for name in names}
