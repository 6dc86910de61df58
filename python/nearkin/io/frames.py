"""Frames of other packages: columns of them as Arrow, and rows of them that stay.

A *frame* has named columns: a DataFrame of pandas; a DataFrame or LazyFrame of polars; a Table, RecordBatch or
RecordBatchReader of pyarrow; a Dataset of Hugging Face; and whatever else offers a table by Arrow's PyCapsule interface
(`__arrow_c_stream__`), such as a relation of DuckDB. None of these packages is imported here: an object is known by the
package and name of its class.

`meta.body` names the field `body` of the column `meta` of structs (of Python's dictionaries in pandas), unless a column
has that very name (`io.nested`).

Only the columns that are asked for are read. They share the frame's memory where the frame has Arrow's layout: in
pyarrow, polars, Hugging Face, and pandas 3. A LazyFrame is collected, those columns alone; a stream is read to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, ParameterError, bad_parameter
from nearkin.io.nested import field_of, heads_of, paths_of, types_of, values_in
from nearkin.io.values import Column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["is_frame", "keep_rows", "read_columns", "scalar_column", "take_views", "text_column"]

_Frame = TypeVar("_Frame")

_FRAMES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch", "RecordBatchReader"),
    "datasets": ("Dataset", "IterableDataset", "DatasetDict", "IterableDatasetDict"),
}
"""Names of classes, by package."""

# Rows of a dataset that are read at once where they do not follow one another.
_ROWS = 1 << 14


def _kind(value: object) -> tuple[str, str]:
    """The package and name of the class of `_FRAMES` that an object is of; empty for any other."""
    for one in type(value).__mro__:
        package = one.__module__.partition(".")[0]
        if one.__name__ in _FRAMES.get(package, ()):
            return package, one.__name__
    return "", ""


def is_frame(value: object) -> bool:
    """Whether an object has named columns; a column of strings, which may be read by the same interface, has none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nearkin.io.frames import is_frame
    >>> table = pa.table({"text": ["one", "two"]})
    >>> is_frame(table), is_frame(table["text"]), is_frame(["one", "two"])
    (True, False, False)
    """
    if _kind(value) != ("", ""):
        return True
    named = hasattr(value, "column_names") or hasattr(value, "columns")
    return named and hasattr(value, "__arrow_c_stream__")


# Columns


def read_columns(frame: object, names: Mapping[str, str]) -> dict[str, Any]:
    """Columns of a frame, each as a `pa.ChunkedArray`, or as a list where it holds Python objects.

    Parameters
    ----------
    frame : frame
        See the top of the module.
    names : mapping of str to str
        Names of the wanted columns, by the argument that named each, such as "text", or "columns='host'" and
        "columns='day'" where one argument names several.

    Returns
    -------
    dict
        The columns by their names.

    Raises
    ------
    ParameterError
        A column or field that is not there, or there twice: the message lists those that there are. A dictionary of
        datasets instead of one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nearkin.io.frames import read_columns
    >>> read_columns(pa.table({"body": ["one", "two"], "n": [1, 2]}), {"text": "body"})["body"].to_pylist()
    ['one', 'two']
    """
    package, kind = _kind(frame)
    if package == "datasets" and kind.endswith("Dict"):
        splits = ", ".join(map(str, cast("Iterable[str]", frame)))
        raise bad_parameter("texts", f"a {kind} of {splits}", "one of its datasets, such as dataset['train']")
    if not package:
        import pyarrow as pa

        frame, kind = pa.RecordBatchReader.from_stream(frame), "RecordBatchReader"
    there = _names_of(frame, package, kind)
    wanted: dict[str, None] = {}
    for name in names.values():
        inside = [head for head in heads_of(name) if head in there] if name not in there else []
        wanted.update(dict.fromkeys(inside or [name]))
    flat = {argument: name for argument, name in names.items() if name in wanted}
    _check_names({**{name: name for name in wanted if name in there}, **flat}, there)
    columns = _whole_columns(frame, package, kind, list(wanted))
    return {
        name: columns[name] if name in columns else _nested(columns, argument, name) for argument, name in names.items()
    }


def _names_of(frame: Any, package: str, kind: str) -> list[object]:
    """The columns that a frame has."""
    if package == "polars":
        return list(frame.collect_schema().names() if kind == "LazyFrame" else frame.columns)
    if package == "pandas":
        return list(frame.columns)
    if package == "datasets":
        # A stream whose features nobody has declared has no list of them.
        return list(next(iter(frame), {}) if frame.column_names is None else frame.column_names)
    return list(frame.schema.names)


def _whole_columns(frame: Any, package: str, kind: str, wanted: list[str]) -> dict[str, Any]:
    """Columns of these very names."""
    if package == "pandas":
        return {name: _of_pandas(frame[name]) for name in wanted}
    if package == "polars":
        return _of_polars(frame, wanted)
    if package == "datasets":
        return _of_dataset(frame, kind, wanted)
    import pyarrow as pa

    if kind in ("Table", "RecordBatch"):
        columns = {name: frame.column(name) for name in wanted}
        return {name: one if kind == "Table" else pa.chunked_array([one]) for name, one in columns.items()}
    batches = [batch.select(wanted) for batch in frame]
    types = {name: frame.schema.field(name).type for name in wanted}
    return {name: pa.chunked_array([one.column(name) for one in batches], types[name]) for name in wanted}


def _nested(columns: Mapping[str, Any], argument: str, name: str) -> Any:
    """The field within a column, by the path of names that dots separate."""
    import pyarrow as pa

    found: list[Any] = []
    fields: list[str] = []
    for head in heads_of(name):
        column = columns.get(head)
        if isinstance(column, list):
            values = values_in(column, name[len(head) + 1 :])
            found += [] if values is None else [values]
            fields += [f"{head}.{key}" for key in next((one for one in column if isinstance(one, dict)), {})]
        elif column is not None:
            table = pa.table({head: column})
            count = len(types_of(table.schema, name))
            found += [field_of(table, name)] if count == 1 else [None] * count
            fields += paths_of(table.schema)
    if len(found) != 1:
        shown = ", ".join(map(repr, fields[:50])) + (", ..." if len(fields) > 50 else "")
        what = f"{name!r}, which {len(found)} fields are called" if found else repr(name)
        raise bad_parameter(argument.partition("=")[0], what, f"one of the fields {shown}")
    return found[0]


def _check_names(names: Mapping[str, str], there: Iterable[object]) -> None:
    """Refuse columns that are not there exactly once."""
    listed = list(there)
    for argument, name in names.items():
        count = listed.count(name)
        if count != 1:
            shown = ", ".join(repr(one) for one in listed[:50]) + (", ..." if len(listed) > 50 else "")
            found = f"{name!r}, which {count} columns are called" if count else repr(name)
            raise bad_parameter(
                argument.partition("=")[0], found, f"one of the columns {shown}" if listed else "a frame with columns"
            )


def _of_pandas(series: Any) -> Any:
    import pyarrow as pa

    if series.dtype != object:
        try:
            return _chunked(pa.array(series, from_pandas=True))
        except (pa.ArrowException, TypeError, UnicodeEncodeError):
            # A type that Arrow does not know, a string that UTF-8 can't encode: told as for a list.
            pass
    missing = series.isna().tolist()
    return [None if gone else value for gone, value in zip(missing, series.tolist(), strict=True)]


def _of_polars(frame: Any, wanted: list[str]) -> dict[str, Any]:
    import polars as pl
    import pyarrow as pa

    held = frame.select(wanted).collect() if isinstance(frame, pl.LazyFrame) else frame
    columns = {}
    for name in wanted:
        series = held.get_column(name)
        if str(series.dtype).startswith(("Categorical", "Enum")):
            # Arrow's kernels take no dictionary of views.
            series = series.cast(pl.String)
        columns[name] = pa.chunked_array(series)
    return columns


def _of_dataset(frame: Any, kind: str, wanted: list[str]) -> dict[str, Any]:
    import pyarrow as pa

    chosen = frame.select_columns(wanted)
    if kind == "Dataset" and chosen._indices is None:
        table = chosen.with_format("arrow")[:]
    else:
        parts = list(chosen.with_format("arrow").iter(batch_size=_ROWS))
        table = pa.concat_tables(parts, promote_options="permissive") if parts else None
    return {name: pa.chunked_array([], pa.null()) if table is None else table.column(name) for name in wanted}


def _chunked(array: Any) -> Any:
    import pyarrow as pa

    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def text_column(column: Any, name: str, argument: str = "text") -> Any:
    """A column as texts: what the kernels read in place, or a list of str and None.

    Parameters
    ----------
    column : pa.ChunkedArray or list
        As `read_columns` gives it; bytes are UTF-8.
    name : str
        Its name, for the message.
    argument : str, default "text"
        What named it, for the message.

    Raises
    ------
    InputError
        Bytes that are not UTF-8; the message names the row.
    ParameterError
        A column of another type.
    """
    if isinstance(column, list):
        if not any(isinstance(value, bytes) for value in column):
            return column
        return [_decoded(value, row, name) if isinstance(value, bytes) else value for row, value in enumerate(column)]
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if _is_string(kind) or pa.types.is_null(kind):
        return column
    targets = {
        pa.types.is_binary: pa.string(),
        pa.types.is_large_binary: pa.large_string(),
        pa.types.is_binary_view: pa.string_view(),
        pa.types.is_fixed_size_binary: pa.string(),
    }
    for is_kind, target in targets.items():
        if is_kind(kind):
            plain = _cast(column, kind)
            try:
                return plain.cast(target)
            except pa.ArrowInvalid:
                values = enumerate(plain.to_pylist())
                return [None if value is None else _decoded(value, row, name) for row, value in values]
    raise bad_parameter(argument, f"{name!r}, a column of {column.type}", "a column of strings, or of bytes in UTF-8")


def take_views(column: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a column of string views, over the memory of their texts; Arrow has no kernel for that.

    Parameters
    ----------
    column : pa.ChunkedArray of string_view
    rows : (n,) int64, ascending

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from nearkin.io.frames import take_views
    >>> column = pa.chunked_array([["one", None], ["a longer text"]], pa.string_view())
    >>> take_views(column, np.array([1, 2, 2])).to_pylist()
    [None, 'a longer text', 'a longer text']
    """
    import pyarrow as pa

    parts, start = [], 0
    for chunk in column.chunks:
        first, last = np.searchsorted(rows, (start, start + len(chunk)))
        local = rows[first:last] - start
        start += len(chunk)
        if not len(local):
            continue
        _, views, *data = chunk.buffers()
        # A view is 16 bytes: a length, and the text itself or its place in one of the buffers of data.
        taken = np.frombuffer(views, "V16")[chunk.offset : chunk.offset + len(chunk)][local]
        is_valid = chunk.is_valid().to_numpy(zero_copy_only=False)[local]
        valid = None if is_valid.all() else pa.py_buffer(np.packbits(is_valid, bitorder="little"))
        parts.append(pa.Array.from_buffers(column.type, len(local), [valid, pa.py_buffer(taken), *data]))
    return pa.chunked_array(parts, column.type)


def _decoded(value: bytes, row: int, name: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        reason = f"column {name!r} is not UTF-8 at byte {error.start}; decode it first"
        raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason) from None


def _is_string(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _cast(column: Any, kind: pa.DataType) -> Any:
    """A column without a dictionary."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:
        # A dictionary of views, which no kernel takes.
        return pa.chunked_array([pa.array(column.to_pylist(), kind)])


def scalar_column(column: Any, argument: str, name: str) -> Column:
    """A column of integers, strings, floats or booleans; dates as strings of ISO 8601, spans of time as numbers.

    Parameters
    ----------
    column : pa.ChunkedArray or list
        As `read_columns` gives it.
    argument : str
        What named it, for the message; ids are integers or strings.
    name : str
        Its name, for the message.

    Raises
    ------
    ParameterError
        A column of another type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nearkin.io.frames import scalar_column
    >>> scalar_column(pa.chunked_array([["a", None], ["b"]]), "sources", "host").to_list()
    ['a', None, 'b']
    """
    allowed = (
        "a column of integers or strings" if argument == "id" else "a column of strings, numbers, booleans or dates"
    )
    if isinstance(column, list):
        return _of_objects(column, argument, name, allowed)
    import pyarrow as pa

    from nearkin.io.parquet import column_of

    types = pa.types
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    column = _cast(column, kind)
    number = types.is_integer(kind) or types.is_null(kind)
    other = types.is_floating(kind) or types.is_boolean(kind) or types.is_timestamp(kind) or types.is_date(kind)
    span = types.is_time(kind) or types.is_duration(kind)
    if not (number or _is_string(kind) or (argument != "id" and (other or span or types.is_decimal(kind)))):
        raise bad_parameter(argument, f"{name!r}, a column of {kind}", allowed)
    if span:
        column = column.cast(pa.int32() if types.is_time32(kind) else pa.int64())
    elif types.is_decimal(kind):
        column = column.cast(pa.float64())
    parts = [column_of(chunk) for chunk in column.chunks]
    return Column.concat(parts) if parts else Column.of([])


def _of_objects(values: list[Any], argument: str, name: str, allowed: str) -> Column:
    plain: list[Any] = [value.item() if isinstance(value, (np.number, np.bool_)) else value for value in values]
    taken = (int, str) if argument == "id" else (int, float, str, date, np.datetime64, Decimal)
    for row, value in enumerate(plain):
        if value is not None and not isinstance(value, taken):
            raise bad_parameter(argument, f"{name!r}, which holds a {type(value).__name__}", allowed)
        if isinstance(value, Decimal):
            plain[row] = float(value)
    return Column.of(plain)


# Rows that stay


def keep_rows(frame: _Frame, rows: NDArray[np.int64], count: int) -> _Frame:
    """Some rows of a frame, a column or a sequence, as the same type.

    Parameters
    ----------
    frame : frame, column, array, list or tuple
        A stream that is no frame of a known package becomes a pyarrow Table. A RecordBatchReader gives one that reads
        it.
    rows : (n,) int64, ascending
        Which rows.
    count : int
        How many rows the frame must have.

    Raises
    ------
    ParameterError
        Another number of rows (of a RecordBatchReader when it is read to its end); an object without rows.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from nearkin.io.frames import keep_rows
    >>> keep_rows(pa.table({"n": [5, 6, 7]}), np.array([0, 2]), 3)["n"].to_pylist()
    [5, 7]
    """
    kept: Any = _kept(frame, rows, count)
    return kept  # type: ignore[no-any-return]  # Of the frame's own type.


def _kept(frame: Any, rows: NDArray[np.int64], count: int) -> Any:
    package, kind = _kind(frame)
    own = {one.__module__.partition(".")[0] for one in type(frame).__mro__}
    if kind == "LazyFrame":
        return _kept_lazily(frame, rows, count)
    if kind == "RecordBatchReader":
        return _kept_of_reader(frame, rows, count)
    if package == "datasets" and kind != "Dataset":
        allowed = "a Dataset" if kind == "IterableDataset" else "one of its datasets"
        raise bad_parameter("frame", f"a {kind}", f"{allowed}, whose rows have numbers")
    if not own & {"pyarrow", "polars", "pandas"} and hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as pa

        frame, own = pa.table(frame), {"pyarrow"}
    if not hasattr(frame, "__len__") or isinstance(frame, (str, bytes, Mapping)):
        raise bad_parameter("frame", f"a {type(frame).__name__}", "the frame, column, array or list of the documents")
    if len(frame) != count:
        raise _other_length(len(frame), count)
    if package == "datasets":
        return frame.select(rows)
    if "pandas" in own:
        return frame.iloc[rows]
    if "polars" in own or isinstance(frame, np.ndarray):
        return frame[rows]
    if "pyarrow" in own:
        return _kept_of_arrow(frame, rows)
    return type(frame)(frame[row] for row in rows.tolist())


def _other_length(found: int, count: int) -> ParameterError:
    return bad_parameter("frame", f"one of {found} rows", f"the one that was deduplicated, which had {count} rows")


def _kept_lazily(frame: Any, rows: NDArray[np.int64], count: int) -> Any:
    """Rows of a LazyFrame by their numbers; only the count is computed now."""
    import polars as pl

    length = int(frame.select(pl.len()).collect().item())
    if length != count:
        raise _other_length(length, count)
    number = "row number"
    while number in frame.collect_schema().names():
        number += "_"
    stay = pl.LazyFrame({number: pl.Series(rows.astype(np.uint32 if count < 1 << 32 else np.uint64))})
    numbered = frame.with_row_index(number).with_columns(pl.col(number).cast(stay.collect_schema()[number]))
    return numbered.join(stay, on=number, how="semi", maintain_order="left").drop(number)


def _kept_of_reader(reader: Any, rows: NDArray[np.int64], count: int) -> Any:
    import pyarrow as pa

    def batches() -> Iterator[Any]:
        start = 0
        for batch in reader:
            stop = start + batch.num_rows
            first, last = np.searchsorted(rows, (start, stop))
            yield _kept_of_arrow(batch, rows[first:last] - start)
            start = stop
        if start != count:
            raise _other_length(start, count)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _kept_of_arrow(array: Any, rows: NDArray[np.int64]) -> Any:
    """Rows of what pyarrow holds."""
    import pyarrow as pa

    mask = np.zeros(len(array), bool)
    mask[rows] = True
    try:
        return array.filter(pa.array(mask))
    except pa.ArrowNotImplementedError:
        # Views have no kernel: runs of rows share the memory of the whole.
        return _joined(array, [array.slice(first, stop - first) for first, stop in _runs(mask)])


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where runs of true begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _joined(array: Any, parts: list[Any]) -> Any:
    import pyarrow as pa

    if isinstance(array, pa.Table):
        return pa.concat_tables(parts) if parts else array.slice(0, 0)
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], array.type)
    if isinstance(array, pa.RecordBatch):
        return pa.concat_batches(parts) if parts else array.slice(0, 0)
    return pa.concat_arrays(parts) if parts else array.slice(0, 0)
