"""Side tables of a run (clusters, pairs), in the format that goes with the input's.

JSON lines beside jsonl, txt, files and warc; CSV, TSV and Parquet beside inputs of these formats. Side tables are never
compressed as a whole. A missing value is null in JSON lines and Parquet and an empty field in CSV. Rows are written in
pieces, so that memory does not grow with their number beyond the columns that were given.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import IO, cast

import numpy as np

from nearkin.errors import bad_parameter
from nearkin.io.inputs import Format
from nearkin.io.output import OutputDir
from nearkin.io.tabular import TableColumn, arrow_column
from nearkin.io.values import Scalar

# Rows that are Python objects at the same time.
_PIECE = 1 << 14


def table_name(name: str, format: Format) -> str:
    """The file's name, such as `clusters.jsonl`.

    Parameters
    ----------
    name : str
        The file's name without its ending.
    format : str
        The corpus's format.

    Examples
    --------
    >>> from nearkin.io import table_name
    >>> table_name("clusters", "jsonl"), table_name("pairs", "csv")
    ('clusters.jsonl', 'pairs.csv')
    """
    return f"{name}.{'jsonl' if format in ('txt', 'files', 'warc') else format}"


def write_table(out: OutputDir, name: str, columns: Mapping[str, TableColumn], format: Format) -> str:
    """Write a table and return its file's name.

    Parameters
    ----------
    out : OutputDir
        Where.
    name : str
        The file's name without its ending: clusters, pairs.
    columns : mapping of str to sequence
        Columns of one length: integers, finite floats, strings, booleans, None. NaN counts as None.
    format : str
        The corpus's format.

    Raises
    ------
    ParameterError
        Columns of different lengths.

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
    rows = next(iter(lengths.values()), 0)
    file_name = table_name(name, format)
    with out.open(file_name) as file:
        if format == "parquet":
            _write_parquet(file, columns)
        elif format in ("csv", "tsv"):
            _write_csv(file, columns, rows, "\t" if format == "tsv" else ",")
        else:
            _write_jsonl(file, columns, rows)
    return file_name


def _plain(values: TableColumn, start: int) -> list[Scalar]:
    """Some rows as Python objects."""
    part = values[start : start + _PIECE]
    plain: list[Scalar] = part.tolist() if isinstance(part, np.ndarray) else list(part)
    return plain


def _piece(values: TableColumn, start: int) -> list[Scalar]:
    """Some rows as Python objects, NaN as None."""
    return [None if value != value else value for value in _plain(values, start)]


def _json_piece(values: TableColumn, start: int) -> Iterable[str]:
    """Some rows as JSON; a column of one type, which nearly all are, takes no step of Python per value."""
    plain = _plain(values, start)
    kinds = set(map(type, plain))
    if kinds == {int}:
        return map(repr, plain)
    if kinds == {str}:
        return map(encode_basestring, cast("list[str]", plain))
    if kinds == {float}:
        texts = list(map(repr, plain))
        return ["null" if text == "nan" else text for text in texts] if "nan" in texts else texts
    return map(_json, [None if value != value else value for value in plain])


def _json(value: Scalar) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _write_jsonl(file: IO[bytes], columns: Mapping[str, TableColumn], rows: int) -> None:
    keys = [encode_basestring(name).replace("%", "%%") + ": %s" for name in columns]
    line = "{" + ", ".join(keys) + "}\n"
    for start in range(0, rows, _PIECE):
        parts = [_json_piece(values, start) for values in columns.values()]
        file.write("".join([line % row for row in zip(*parts, strict=True)]).encode())


def _write_csv(file: IO[bytes], columns: Mapping[str, TableColumn], rows: int, delimiter: str) -> None:
    def write(piece: Iterable[Iterable[Scalar]]) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(piece)
        file.write(text.getvalue().encode())

    write([columns])
    for start in range(0, rows, _PIECE):
        parts = [_piece(values, start) for values in columns.values()]
        write(zip(*parts, strict=True))


def _write_parquet(file: IO[bytes], columns: Mapping[str, TableColumn]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from nearkin.io.decompress import Sink

    table = pa.table({name: arrow_column(values) for name, values in columns.items()})
    pq.write_table(table, pa.PythonFile(Sink(file), "w"), compression="zstd")
