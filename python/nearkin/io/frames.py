"""DataFrames of other packages: read columns as Arrow, and keep some rows.

A *frame* has named columns: a DataFrame of pandas; a DataFrame or LazyFrame of polars; a Table, RecordBatch or
RecordBatchReader of pyarrow; a Dataset of Hugging Face; a list of records, which are dicts; and every other object that
offers a table through Arrow's PyCapsule interface (`__arrow_c_stream__`), such as a relation of DuckDB. None of these
packages is imported here. An object is recognised by the package and name of its class.

`meta.body` names the field `body` of the struct column `meta` (a column of dictionaries in pandas), unless a column has
that name (`nearkin.io.arrow`).

Only the requested columns are read. They share the memory of the frame if it has Arrow's layout: in pyarrow, polars,
Hugging Face, and pandas 3. For a LazyFrame, only these columns are collected. A stream is read to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import ParameterError, bad_parameter, input_error
from nearkin.io.arrow import (
    append_column,
    check_arrow,
    column_at,
    filter_rows,
    is_arrow,
    is_binary,
    is_scalar,
    is_string,
    join_texts,
    list_paths,
    open_batches,
    read_column,
    split_path,
    to_column,
    to_texts,
    to_values,
    types_at,
    value_type,
)
from nearkin.io.values import Column

if TYPE_CHECKING:
    import pyarrow as pa

_Frame = TypeVar("_Frame")

# Names of classes, by package.
_FRAMES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch", "RecordBatchReader"),
    "datasets": ("Dataset", "IterableDataset", "DatasetDict", "IterableDatasetDict"),
}
# Rows of a dataset per batch.
_BATCH_ROWS = 1 << 14
# Names listed in a message.
_MAX_LISTED = 50


def _frame_class(value: object) -> tuple[str, str]:
    """Return the package and name of the class in `_FRAMES` of an object, or of records; otherwise empty strings."""
    if isinstance(value, (list, tuple)):
        return ("records", "list") if value and isinstance(value[0], Mapping) else ("", "")
    for base in type(value).__mro__:
        package = base.__module__.partition(".")[0]
        if base.__name__ in _FRAMES.get(package, ()):
            return package, base.__name__
    return "", ""


def is_frame(value: object) -> bool:
    """Return True if an object has named columns; a single column, which may have the same interface, has none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nearkin.io.frames import is_frame
    >>> table = pa.table({"text": ["one", "two"]})
    >>> is_frame(table), is_frame(table["text"]), is_frame(["one", "two"])
    (True, False, False)
    """
    if _frame_class(value) != ("", ""):
        return True
    named = hasattr(value, "column_names") or hasattr(value, "columns")
    return named and is_arrow(value)


# Columns


def read_columns(frame: object, names: Mapping[str, str]) -> dict[str, Any]:
    """Read columns of a frame, each as a `pa.ChunkedArray`, or as a list if it contains Python objects.

    Parameters
    ----------
    frame : frame
        Any object for which `is_frame` returns True.
    names : mapping of str to str
        Names of columns by the argument that names them, such as "text". If one argument names several columns, use
        "columns='host'" and "columns='day'".

    Returns
    -------
    dict
        The columns by their names.

    Raises
    ------
    ParameterError
        A column or field is missing or occurs twice; the message lists the existing ones. The frame is a dictionary of
        datasets.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nearkin.io.frames import read_columns
    >>> read_columns(pa.table({"body": ["one", "two"], "n": [1, 2]}), {"text": "body"})["body"].to_pylist()
    ['one', 'two']
    """
    package, kind = _frame_class(frame)
    if package == "datasets" and kind.endswith("Dict"):
        splits = ", ".join(map(str, cast("Iterable[str]", frame)))
        raise bad_parameter("texts", f"a {kind} of {splits}", "one of its datasets, such as dataset['train']")
    if not package:
        frame, kind = open_batches(frame, "texts"), "RecordBatchReader"
    existing = _column_names(frame, package, kind)
    required: dict[str, str] = {}
    for argument, name in names.items():
        heads = [head for head, _ in split_path(name) if head in existing] if name not in existing else []
        required.update(dict.fromkeys(heads, argument) or {name: argument})
    for name, argument in required.items():
        if (count := existing.count(name)) != 1:
            raise _name_error(argument, name, count, "columns", existing)
    flat = _read_flat(frame, package, kind, list(required))
    columns = {
        name: column if isinstance(column, list) else check_arrow(column, f"column {name!r}")
        for name, column in flat.items()
    }
    return {
        name: columns[name] if name in columns else _read_nested(columns, argument, name)
        for argument, name in names.items()
    }


def _column_names(frame: Any, package: str, kind: str) -> list[object]:
    if package == "polars":
        return list(frame.collect_schema().names() if kind == "LazyFrame" else frame.columns)
    if package == "pandas":
        return list(frame.columns)
    if package == "records":
        if (
            row := next((row for row, record in enumerate(frame) if not isinstance(record, Mapping)), None)
        ) is not None:
            raise bad_parameter("texts", f"a list whose item {row} is a {type(frame[row]).__name__}", "dicts alone")
        return list(dict.fromkeys(name for record in frame for name in record))
    if package == "datasets":
        # A stream without declared features has no list of columns.
        return list(next(iter(frame), {}) if frame.column_names is None else frame.column_names)
    return list(frame.schema.names)


def _read_flat(frame: Any, package: str, kind: str, names: list[str]) -> dict[str, Any]:
    """Read columns that have exactly these names."""
    if package == "records":
        return {name: [record.get(name) for record in frame] for name in names}
    if package == "pandas":
        return {name: _read_pandas(frame[name]) for name in names}
    if package == "polars":
        return _read_polars(frame, names)
    if package == "datasets":
        return _read_dataset(frame, kind, names)
    import pyarrow as pa

    if kind == "Table":
        return {name: frame.column(name) for name in names}
    batches = [batch.select(names) for batch in ([frame] if kind == "RecordBatch" else frame)]
    types = {name: frame.schema.field(name).type for name in names}
    return {name: pa.chunked_array([batch.column(name) for batch in batches], types[name]) for name in names}


def _read_nested(columns: Mapping[str, Any], argument: str, name: str) -> Any:
    """Read the field at a dotted path."""
    import pyarrow as pa

    matches: list[Any] = []
    paths: list[str] = []
    for head, _ in split_path(name):
        column = columns.get(head)
        if column is not None:
            try:
                table = pa.table({head: column})
            except pa.ArrowException as error:
                raise bad_parameter(argument.partition("=")[0], f"{name!r}: {error}", "fields of one type") from None
            count = len(types_at(table.schema, name))
            matches += [column_at(table, name)] if count == 1 else [None] * count
            paths += list_paths(table.schema)
    if len(matches) != 1:
        raise _name_error(argument, name, len(matches), "fields", paths)
    return matches[0]


def _name_error(argument: str, name: str, count: int, noun: str, existing: Sequence[object]) -> ParameterError:
    listed = ", ".join(map(repr, existing[:_MAX_LISTED])) + (", ..." if len(existing) > _MAX_LISTED else "")
    value = f"{name!r}, which {count} {noun} are called" if count else repr(name)
    allowed = f"one of the {noun} {listed}" if existing or noun == "fields" else "a frame with columns"
    return bad_parameter(argument.partition("=")[0], value, allowed)


def _read_pandas(series: Any) -> Any:
    import pyarrow as pa

    if series.dtype != object:
        try:
            return read_column(series, f"column {series.name!r}")
        except (pa.ArrowException, TypeError, UnicodeEncodeError):
            # A type without an equivalent in Arrow, or a lone surrogate: treated like a list of objects.
            pass
    is_missing = series.isna().tolist()
    return [None if missing else value for missing, value in zip(is_missing, series.tolist(), strict=True)]


def _read_polars(frame: Any, names: list[str]) -> dict[str, Any]:
    import polars as pl

    frame = frame.select(names).collect() if isinstance(frame, pl.LazyFrame) else frame
    columns = {}
    for name in names:
        series = frame.get_column(name)
        if str(series.dtype).startswith(("Categorical", "Enum")):
            # Arrow's kernels do not support dictionaries of views.
            series = series.cast(pl.String)
        columns[name] = read_column(series, f"column {name!r}")
    return columns


def _read_dataset(frame: Any, kind: str, names: list[str]) -> dict[str, Any]:
    import pyarrow as pa

    selected = frame.select_columns(names)
    if kind == "Dataset" and selected._indices is None:
        table = selected.with_format("arrow")[:]
    else:
        parts = list(selected.with_format("arrow").iter(batch_size=_BATCH_ROWS))
        table = pa.concat_tables(parts, promote_options="permissive") if parts else None
    return {name: pa.chunked_array([], pa.null()) if table is None else table.column(name) for name in names}


def text_names(frame: Any, text: str | Sequence[str]) -> list[str]:
    """Return the columns that an argument names; a name with commas is that of several if no column has it."""
    if not isinstance(text, str):
        return list(text)
    if "," not in text:
        return [text]
    return [text] if text in column_names(frame) else [name.strip() for name in text.split(",")]


def column_names(frame: Any) -> list[Any]:
    """Return the names of the columns of a frame; a stream is not read."""
    package, kind = _frame_class(frame)
    if package and not kind.endswith("Dict"):
        return _column_names(frame, package, kind)
    return list(getattr(frame, "column_names", ()) or getattr(frame, "columns", ()))


def join_columns(columns: Sequence[Any]) -> Any:
    """Join columns of texts row by row, by line feeds and without nulls; a row without any is null.

    Parameters
    ----------
    columns : sequence of pa.ChunkedArray or list
        From `text_column`.
    """
    if len(columns) == 1:
        return columns[0]
    if any(isinstance(column, list) for column in columns):
        cells = [column if isinstance(column, list) else to_values(column, "column") for column in columns]
        return [_join_cells(row) for row in zip(*cells, strict=True)]
    import pyarrow as pa

    batches = pa.Table.from_arrays(columns, [str(number) for number in range(len(columns))]).to_batches()
    joined = [join_texts([to_texts(column) for column in batch.columns]).to_arrow() for batch in batches]
    return pa.chunked_array(joined, pa.large_string())


def _join_cells(values: Sequence[Any]) -> Any:
    """Return the joined text, or the first value that is none, which the reader of texts refuses by its row."""
    present = [value for value in values if value is not None]
    return next(
        (value for value in present if not isinstance(value, str)), "\n".join(map(str, present)) if present else None
    )


def text_column(column: Any, name: str, argument: str = "text") -> Any:
    """Convert a column to texts that the kernels read in place, or to a list of str and None.

    Parameters
    ----------
    column : pa.ChunkedArray or list
        Column from `read_columns`; bytes must be UTF-8.
    name : str
        Name of the column in messages.
    argument : str, default "text"
        Argument that names the column, for messages.

    Raises
    ------
    InputError
        Bytes are not UTF-8; the message contains the row.
    ParameterError
        The column has another type.
    """
    vectors = f"pass vectors as an array: nearkin.dedup(numpy.array(list(frame[{name!r}])), ids)"
    if isinstance(column, list):
        if isinstance(next((value for value in column if value is not None), None), (np.ndarray, list, tuple)):
            raise bad_parameter(argument, f"{name!r}, a column of lists", f"a column of strings; {vectors}")
        if not any(isinstance(value, bytes) for value in column):
            return column
        return [_decode(value, row, name) if isinstance(value, bytes) else value for row, value in enumerate(column)]
    import pyarrow as pa

    kind = value_type(column.type)
    if is_string(kind) or pa.types.is_null(kind):
        return column
    if not is_binary(kind) and not pa.types.is_fixed_size_binary(kind):
        hint = f"; {vectors}" if pa.types.is_nested(kind) else ""
        value = f"{name!r}, a column of {column.type}"
        raise bad_parameter(argument, value, f"a column of strings, or of bytes in UTF-8{hint}")
    view = pa.string_view() if pa.types.is_binary_view(kind) else pa.string()
    plain = _decode_dictionary(column, kind)
    try:
        return plain.cast(pa.large_string() if pa.types.is_large_binary(kind) else view)
    except pa.ArrowInvalid:
        values = enumerate(to_values(plain, name))
        return [None if value is None else _decode(value, row, name) for row, value in values]


def take_views(column: Any, rows: NDArray[np.int64]) -> Any:
    """Take rows of a column of string views without copying their texts, for which Arrow has no kernel.

    Parameters
    ----------
    column : pa.ChunkedArray of string_view
        Texts.
    rows : (n,) int64, ascending
        Row numbers.

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
        # A view has 16 bytes: the length, and either the text or its position in a data buffer.
        taken = np.frombuffer(views, "V16")[chunk.offset : chunk.offset + len(chunk)][local]
        is_valid = chunk.is_valid().to_numpy(zero_copy_only=False)[local]
        valid = None if is_valid.all() else pa.py_buffer(np.packbits(is_valid, bitorder="little"))
        parts.append(pa.Array.from_buffers(column.type, len(local), [valid, pa.py_buffer(taken), *data]))
    return pa.chunked_array(parts, column.type)


def _decode(value: bytes, row: int, name: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        reason = f"column {name!r} is not UTF-8 at byte {error.start}; decode it first"
        raise input_error(f"row {row}", reason) from None


def _decode_dictionary(column: Any, kind: pa.DataType) -> Any:
    """Convert a dictionary column to one of its value type."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:
        # No kernel supports dictionaries of views.
        return pa.chunked_array([pa.array(to_values(column, "column"), kind)])


def scalar_column(column: Any, argument: str, name: str) -> Column:
    """Convert a column of integers, strings, floats or booleans; dates become ISO 8601 strings, durations numbers.

    Parameters
    ----------
    column : pa.ChunkedArray or list
        Column from `read_columns`.
    argument : str
        Argument that names the column, for messages. Columns of "id" must contain integers or strings.
    name : str
        Name of the column in messages.

    Raises
    ------
    ParameterError
        The column has another type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nearkin.io.frames import scalar_column
    >>> scalar_column(pa.chunked_array([["a", None], ["b"]]), "sources", "host").to_list()
    ['a', None, 'b']
    """
    is_id = argument == "id"
    allowed = "a column of integers or strings" if is_id else "a column of strings, numbers, booleans or dates"
    if isinstance(column, list):
        return _convert_objects(column, argument, name, allowed)
    import pyarrow as pa

    types = pa.types
    kind = value_type(column.type)
    column = _decode_dictionary(column, kind)
    is_duration = types.is_time(kind) or types.is_duration(kind)
    valid = types.is_integer(kind) or types.is_null(kind) or is_string(kind)
    if not valid and (is_id or not (is_scalar(kind) or is_duration or types.is_decimal(kind))):
        raise bad_parameter(argument, f"{name!r}, a column of {kind}", allowed)
    if is_duration:
        column = column.cast(pa.int32() if types.is_time32(kind) else pa.int64())
    elif types.is_decimal(kind):
        column = column.cast(pa.float64())
    parts = [to_column(chunk) for chunk in column.chunks]
    return Column.concat(parts) if parts else Column.of([])


def _convert_objects(values: list[Any], argument: str, name: str, allowed: str) -> Column:
    cells: list[Any] = [value.item() if isinstance(value, (np.number, np.bool_)) else value for value in values]
    types = (int, str) if argument == "id" else (int, float, str, date, np.datetime64, Decimal)
    for row, value in enumerate(cells):
        if value is not None and not isinstance(value, types):
            raise bad_parameter(argument, f"{name!r}, which holds a {type(value).__name__}", allowed)
        if isinstance(value, Decimal):
            cells[row] = float(value)
    return Column.of(cells)


# Rows


def keep_rows(
    frame: _Frame, rows: NDArray[np.int64], count: int, added: tuple[str, NDArray[np.int64]] | None = None
) -> _Frame:
    """Return some rows of a frame, a column or a sequence as an object of the same type.

    Parameters
    ----------
    frame : frame, column, array, list or tuple
        A stream that is not a frame of a listed package becomes a pyarrow Table. A RecordBatchReader becomes a reader
        that filters its batches.
    rows : (n,) int64, ascending
        Row numbers.
    count : int
        Number of rows that the frame must have.
    added : (str, (n,) int64), optional
        Name and values of a column to append to these rows.

    Raises
    ------
    ParameterError
        The frame has another number of rows (for a RecordBatchReader, when it is read to its end), or no rows at all;
        it has a column of the added name, or no columns.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from nearkin.io.frames import keep_rows
    >>> keep_rows(pa.table({"n": [5, 6, 7]}), np.array([0, 2]), 3)["n"].to_pylist()
    [5, 7]
    """
    if added is not None:
        _check_added(frame, added[0])
    kept: Any = _keep(frame, rows, count, added)
    return kept  # type: ignore[no-any-return]  # Of the frame's own type.


_Added: TypeAlias = "tuple[str, NDArray[np.int64]] | None"


def _check_added(frame: Any, name: str) -> None:
    """Raise ParameterError if a column of this name can't be appended to a frame."""
    package, kind = _frame_class(frame)
    if not package and not is_frame(frame):
        raise bad_parameter("weights", repr(name), f"None with a {type(frame).__name__}, which has no columns")
    if not package:
        return
    if not name or name in (names := _column_names(frame, package, kind)):
        raise bad_parameter(
            "weights", repr(name), f"the name of a new column, in addition to {', '.join(map(str, names))}"
        )


def _append_column(frame: Any, added: _Added) -> Any:
    """Append a column to kept rows: a DataFrame of pandas or polars, a Dataset, or an object of pyarrow."""
    if added is None:
        return frame
    name, values = added
    package, _ = _frame_class(frame)
    if package == "pandas":
        return frame.assign(**{name: values})
    if package == "polars":
        import polars as pl

        return frame.with_columns(pl.Series(name, values))
    if package == "datasets":
        return frame.add_column(name, values)
    import pyarrow as pa

    return append_column(frame, name, pa.array(values))


def _keep(frame: Any, rows: NDArray[np.int64], count: int, added: _Added = None) -> Any:
    package, kind = _frame_class(frame)
    packages = {base.__module__.partition(".")[0] for base in type(frame).__mro__}
    if kind == "LazyFrame":
        return _keep_lazy(frame, rows, count, added)
    if kind == "RecordBatchReader":
        return _keep_reader(frame, rows, count, added)
    if package == "datasets" and kind != "Dataset":
        allowed = "a Dataset" if kind == "IterableDataset" else "one of its datasets"
        raise bad_parameter("frame", f"a {kind}", f"{allowed}, whose rows have numbers")
    if not packages & {"pyarrow", "polars", "pandas"} and is_arrow(frame):
        frame, packages = open_batches(frame, "frame").read_all(), {"pyarrow"}
    if not hasattr(frame, "__len__") or isinstance(frame, (str, bytes, Mapping)):
        raise bad_parameter("frame", f"a {type(frame).__name__}", "the frame, column, array or list of the documents")
    if len(frame) != count:
        raise _length_error(len(frame), count)
    if package == "datasets":
        return _append_column(frame.select(rows), added)
    if "pandas" in packages:
        return _append_column(frame.iloc[rows], added)
    if "polars" in packages or isinstance(frame, np.ndarray):
        return _append_column(frame[rows], added)
    if "pyarrow" in packages:
        return _append_column(filter_rows(frame, _mask(rows, count)), added)
    kept = (frame[row] for row in rows.tolist())
    if added is not None:
        kept = ({**record, added[0]: value} for record, value in zip(kept, added[1].tolist(), strict=True))
    return type(frame)(kept)


def _length_error(length: int, count: int) -> ParameterError:
    return bad_parameter("frame", f"one of {length} rows", f"the one that was deduplicated, which had {count} rows")


def _keep_lazy(frame: Any, rows: NDArray[np.int64], count: int, added: _Added) -> Any:
    """Filter a LazyFrame by row number; only the number of rows is computed now."""
    import polars as pl

    length = int(frame.select(pl.len()).collect().item())
    if length != count:
        raise _length_error(length, count)
    number = "row number"
    while number in frame.collect_schema().names():
        number += "_"
    kept = pl.LazyFrame({number: pl.Series(rows.astype(np.uint32 if count < 1 << 32 else np.uint64))})
    numbered = frame.with_row_index(number).with_columns(pl.col(number).cast(kept.collect_schema()[number]))
    if added is None:
        return numbered.join(kept, on=number, how="semi", maintain_order="left").drop(number)
    kept = kept.with_columns(pl.Series(*added))
    return numbered.join(kept, on=number, how="inner", maintain_order="left").drop(number)


def _keep_reader(reader: Any, rows: NDArray[np.int64], count: int, added: _Added) -> Any:
    import pyarrow as pa

    schema = reader.schema if added is None else reader.schema.append(pa.field(added[0], pa.int64()))

    def batches() -> Iterator[Any]:
        start = 0
        for batch in reader:
            stop = start + batch.num_rows
            first, last = np.searchsorted(rows, (start, stop))
            kept = filter_rows(batch, _mask(rows[first:last] - start, len(batch)))
            yield _append_column(kept, None if added is None else (added[0], added[1][first:last]))
            start = stop
        if start != count:
            raise _length_error(start, count)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _mask(rows: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    mask = np.zeros(count, bool)
    mask[rows] = True
    return mask
