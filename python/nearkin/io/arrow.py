"""The gate for Arrow data, conversions between its columns and the values of a corpus, and columns by dotted paths.

**Gate.** Producers do not validate what they read: an IPC reader accepts any offsets, and pyarrow's kernels and
conversions then read wherever these point. All Arrow data of callers therefore passes `check_arrow`, `read_column`,
`open_batches` or `from_caller`, and becomes Python values by `to_values`; `tests/test_layering.py` forbids other ways.
Columns of texts go to the core, which checks them as it reads them.

- *pyarrow*: all buffers are long enough; offsets, views and keys point inside of them. Strings are checked to be UTF-8
  when they become Python values.
- *Other producers* (PyCapsule interface): the same, but buffers have no sizes there; a column of strings ends at its
  last offset. Offsets that leave mapped memory are an error on Linux. A last offset that points to other memory of the
  process cannot be recognised.
- *pandas and polars*: columns that pandas holds in pyarrow are checked as those of pyarrow; others belong to these
  packages.

Cost: one pass over offsets or views.

**Paths.** `meta.url` names the field `url` of the column `meta`, unless a column has that name. The same rule applies
within structs. If a struct is null, its fields are null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import nearkin._core as _core
from nearkin.errors import InputError, input_error
from nearkin.io.values import BOOL, FLOAT, INT, NULL, Column, PackedTexts, Scalar

if TYPE_CHECKING:
    import pyarrow as pa

TableColumn = Sequence[Scalar] | NDArray[Any] | Column
"""A column of a table: a list, an array, or a column of a corpus."""

_Data = TypeVar("_Data")

# The gate


def is_arrow(value: object) -> bool:
    """Return True for Arrow data: of pyarrow, or any object with the PyCapsule interface, as those of polars."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def check_arrow(data: _Data, name: str = "Arrow data") -> _Data:
    """Return data of pyarrow after checking that nothing in it points outside of its buffers.

    Parameters
    ----------
    data : pyarrow.Array, ChunkedArray, RecordBatch or Table
        Strings are not checked to be UTF-8.
    name : str, default "Arrow data"
        Name of the data in messages.

    Raises
    ------
    InputError
        Buffers are missing or too short; offsets descend; an offset, view or key points outside.
    """
    import pyarrow as pa

    value: Any = data
    columns = value.columns if isinstance(value, (pa.Table, pa.RecordBatch)) else [value]
    try:
        for column in columns:
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                _validate(chunk)
    except (pa.ArrowException, ValueError, IndexError) as error:
        raise _damaged(name, error) from None
    return data


def _damaged(name: str, error: object) -> InputError:
    return input_error(name, f"its buffers do not hold together: {error}")


def _validate(array: Any) -> None:
    import pyarrow as pa

    # Sizes of the buffers, of the arrays below too.
    array.validate()
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        _validate(array.storage)
    elif is_string(kind):
        # The same buffers as bytes: UTF-8 is checked when a value is read.
        view, large = pa.types.is_string_view(kind), pa.types.is_large_string(kind)
        plain = pa.binary_view() if view else pa.large_binary() if large else pa.binary()
        pa.Array.from_buffers(plain, len(array), array.buffers(), offset=array.offset).validate(full=True)
    elif pa.types.is_dictionary(kind):
        array.indices.validate(full=True)
        _check_keys(array.indices, len(array.dictionary))
        _validate(array.dictionary)
    elif pa.types.is_struct(kind):
        pa.StructArray.from_buffers(pa.struct([]), len(array), array.buffers()[:1], offset=array.offset).validate(
            full=True
        )
        for position in range(kind.num_fields):
            _validate(array.field(position))
    else:
        array.validate(full=True)


def _check_keys(keys: Any, entries: int) -> None:
    import pyarrow.compute as pc

    if keys.null_count < len(keys):
        limits = pc.min_max(keys).as_py()
        if limits["min"] < 0 or limits["max"] >= entries:
            raise IndexError(f"keys from {limits['min']} to {limits['max']} for {entries} entries of the dictionary")


class _Pair:
    """The capsules of a schema and an array, for pyarrow to import."""

    def __init__(self, schema: object, array: object) -> None:
        self._capsules = schema, array

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._capsules


def _import_chunks(source: Any, name: str) -> tuple[Any, Iterator[Any]]:
    """Return the type and the arrays of an object of another producer; each array is checked when it is read."""
    import pyarrow as pa

    try:
        if hasattr(source, "__arrow_c_stream__"):
            stream = source.__arrow_c_stream__()
            kind = pa.DataType._import_from_c_capsule(_core.stream_schema(stream))
            return kind, _read_stream(stream, name)
        schema, array = source.__arrow_c_array__()
        _core.check_arrow(schema, array)
        only = pa.array(_Pair(schema, array))
    except pa.ArrowException as error:
        raise _damaged(name, error) from None
    return only.type, iter([only])


def _read_stream(stream: object, name: str) -> Iterator[Any]:
    import pyarrow as pa

    try:
        while (pair := _core.next_arrow(stream)) is not None:
            yield pa.array(_Pair(*pair))
    except pa.ArrowException as error:
        raise _damaged(name, error) from None


def _unwrap(source: Any) -> Any:
    """Return the pyarrow column of a pandas Series that has one, which knows the lengths of its buffers."""
    if _package(source) == "pandas" and hasattr(source, "array") and hasattr(source.array, "__arrow_array__"):
        return source.array.__arrow_array__()
    return source


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def read_column(source: Any, name: str = "Arrow data") -> pa.ChunkedArray:
    """Return a column, or the only column of a table, of any producer after checking it.

    Raises
    ------
    InputError
        As for `check_arrow`; or the producer failed.
    TypeError
        A table of several columns.
    """
    import pyarrow as pa

    source = _unwrap(source)
    if isinstance(source, pa.Array):
        column = pa.chunked_array([source])
    elif isinstance(source, pa.ChunkedArray):
        column = source
    elif isinstance(source, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        column = _only_column(source, name)
    elif _package(source) == "pandas" and not hasattr(source, "columns"):
        array = pa.array(source, from_pandas=True)
        column = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    else:
        kind, chunks = _import_chunks(source, name)
        # A table arrives as structs; so does a Series of structs.
        if pa.types.is_struct(kind) and type(source).__name__ != "Series":
            return check_arrow(_only_column(open_batches(_Imported(kind, chunks)), name), name)
        column = pa.chunked_array(chunks, kind)
    return check_arrow(column, name)


def _only_column(table: Any, name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    names = table.schema.names
    if len(names) != 1:
        raise TypeError(
            f"{name}: the table has the columns {', '.join(names[:16])}; pass the one that holds the values"
        )
    batches = [table] if isinstance(table, pa.RecordBatch) else table
    if isinstance(table, pa.Table):
        return table.column(0)
    return pa.chunked_array([batch.column(0) for batch in batches], table.schema.types[0])


class _Imported:
    """Type and arrays that `_import_chunks` returned."""

    def __init__(self, kind: Any, chunks: Iterator[Any]) -> None:
        self.kind, self.chunks = kind, chunks


def open_batches(source: Any, name: str = "Arrow data") -> pa.RecordBatchReader:
    """Return a reader of the batches of a table of any producer, one batch at a time.

    The structs of other producers are checked as batches are imported. Check the columns that you use by `check_arrow`.

    Raises
    ------
    InputError
        The producer failed, or its data is not a table.
    """
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        return source
    if isinstance(source, pa.Table):
        return source.to_reader()
    kind, chunks = (source.kind, source.chunks) if isinstance(source, _Imported) else _import_chunks(source, name)
    if not pa.types.is_struct(kind):
        raise input_error(name, f"a column of {kind}, not a table")

    def batches() -> Iterator[Any]:
        try:
            for chunk in chunks:
                yield pa.RecordBatch.from_struct_array(chunk)
        except pa.ArrowException as error:
            raise _damaged(name, error) from None

    return pa.RecordBatchReader.from_batches(pa.schema(list(kind)), batches())


def from_caller(values: Any, name: str) -> Any:
    """Return values of a caller unchanged unless they are Arrow data, which is checked first and returned as pyarrow's.

    NumPy converts pyarrow's arrays and tables. Objects of pandas and polars convert themselves; what pandas keeps in
    pyarrow is checked.
    """
    if isinstance(values, np.ndarray) or not is_arrow(values):
        return values
    import pyarrow as pa

    package = _package(values)
    if package == "polars":
        return values
    if package == "pandas":
        for column in [values[at] for at in values.columns] if hasattr(values, "columns") else [values]:
            if isinstance(arrow := _unwrap(column), (pa.Array, pa.ChunkedArray)):
                check_arrow(arrow, name)
        return values
    if isinstance(values, (pa.Array, pa.ChunkedArray, pa.Table, pa.RecordBatch)):
        return check_arrow(values, name)
    return read_column(values, name)


def to_values(data: Any, name: str = "Arrow data") -> list[Any]:
    """Return Arrow data as a list of Python objects: a dictionary for each row of a table.

    Raises
    ------
    InputError
        As for `check_arrow`; a string is not UTF-8, or a time is outside of the years 1 to 9999.
    """
    import pyarrow as pa

    if not isinstance(data, (pa.Array, pa.ChunkedArray, pa.Table, pa.RecordBatch)):
        data = read_column(data, name)
    check_arrow(data, name)
    try:
        values: list[Any] = data.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise _not_a_value(data, name, error) from None
    return values


def to_cells(values: Any, name: str) -> list[Any]:
    """Return a column, an array or an iterable as a list; pandas and polars convert their columns themselves."""
    values = from_caller(values, name)
    if _package(values) == "pyarrow":
        return to_values(values, name)
    cells: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return cells


def _not_a_value(data: Any, name: str, error: Exception) -> InputError:
    row, many = 0, len(data)
    # Halve the rows: the first that cannot be converted is among `many` from `row` on.
    while many > 1:
        half = many // 2
        if _converts(data.slice(row, half)):
            row, many = row + half, many - half
        else:
            many = half
    text = isinstance(error, UnicodeDecodeError)
    reason = "a string is not UTF-8; store it as bytes, or decode it first" if text else str(error)
    return input_error(f"{name}, row {row}", reason)


def _converts(data: Any) -> bool:
    import pyarrow as pa

    try:
        data.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return False
    return True


# Dotted paths


def split_path(name: str) -> list[tuple[str, str]]:
    """Return all ways to split a dotted name into a column and the path of a field within it.

    Examples
    --------
    >>> from nearkin.io.arrow import split_path
    >>> split_path("meta.page.url")
    [('meta', 'page.url'), ('meta.page', 'url')]
    """
    return [(name[:at], name[at + 1 :]) for at, sign in enumerate(name) if sign == "."]


def find_keys(record: object, path: str) -> list[str] | None:
    """Return the keys that lead to a dotted path in nested dictionaries; None if there is no such path.

    Examples
    --------
    >>> from nearkin.io.arrow import find_keys
    >>> find_keys({"a.b": {"c": 1}}, "a.b.c"), find_keys({"a": 1}, "a.b")
    (['a.b', 'c'], None)
    """
    if not isinstance(record, dict):
        return None
    if path in record:
        return [path]
    for head, rest in split_path(path):
        keys = find_keys(record.get(head), rest)
        if keys is not None:
            return [head, *keys]
    return None


def types_at(schema: pa.Schema, name: str) -> list[pa.DataType]:
    """Return the types of the columns of a name; fields of structs count only if no column has that name."""
    types = []
    for first, *inner in _positions(schema, name):
        kind = schema.field(first).type
        for position in inner:
            kind = kind.field(position).type
        types.append(kind)
    return types


def column_at(table: pa.RecordBatch | pa.Table, name: str) -> Any:
    """Return the first of the columns whose types `types_at` returns."""
    import pyarrow.compute as pc

    first, *inner = _positions(table.schema, name)[0]
    column = table.column(first)
    return pc.struct_field(column, inner) if inner else column


def _positions(schema: pa.Schema, name: str) -> list[list[int]]:
    """Return the positions of the columns of a name: the column, then the fields within it."""
    import pyarrow as pa

    columns = [[position] for position in schema.get_all_field_indices(name)]
    if columns:
        return columns
    positions: list[list[int]] = []
    for head, rest in split_path(name):
        for position in schema.get_all_field_indices(head):
            kind = schema.field(position).type
            if pa.types.is_struct(kind):
                positions += [[position, *inner] for inner in _positions(pa.schema(list(kind)), rest)]
    return positions


def list_paths(schema: pa.Schema) -> list[str]:
    """Return the names of all columns, and the paths of the fields of structs."""
    import pyarrow as pa

    names = []
    for field in schema:
        inner = list_paths(pa.schema(list(field.type))) if pa.types.is_struct(field.type) else None
        names += [field.name] if inner is None else [f"{field.name}.{path}" for path in inner]
    return names


# From Arrow


def append_column(rows: Any, name: str, values: pa.Array) -> Any:
    """Return a table or a record batch with one column more; metadata of the schema is kept."""
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows.append_column(name, values)
    schema = rows.schema.append(pa.field(name, values.type))
    return pa.RecordBatch.from_arrays([*rows.columns, values], schema=schema)


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary; any other type itself."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_string(kind: pa.DataType) -> bool:
    """Return True for all types of strings."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_strings(values: object) -> bool:
    """Return True for a column of pyarrow whose values are strings."""
    import pyarrow as pa

    return isinstance(values, (pa.Array, pa.ChunkedArray)) and is_string(value_type(values.type))


def is_binary(kind: pa.DataType) -> bool:
    """Return True for types of byte strings of any length."""
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def is_date(kind: pa.DataType) -> bool:
    """Return True for dates and timestamps."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_scalar(kind: pa.DataType) -> bool:
    """Return True for types that `to_column` converts."""
    import pyarrow as pa

    types = pa.types
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
    return bool(number or is_date(kind) or is_string(kind))


def to_texts(array: pa.Array) -> PackedTexts:
    """Convert an Arrow column of strings or bytes to texts, without a copy for (large) strings and binaries.

    Bytes are not checked; the caller must check that they are UTF-8.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_binary(array.type):
        array = array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array
        array = array.view(pa.string() if pa.types.is_binary(array.type) else pa.large_string())
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    width = np.dtype(np.int32) if pa.types.is_string(array.type) else np.dtype(np.int64)
    _, offset_buffer, data_buffer = array.buffers()
    if offset_buffer is None or not len(array):
        return PackedTexts(np.zeros(len(array) + 1, np.int64), np.zeros(0, np.uint8), np.arange(array.null_count))
    offsets = np.frombuffer(offset_buffer, width)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = np.zeros(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    if not array.null_count:
        return PackedTexts(offsets, data)
    nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
    if np.diff(offsets)[nulls].any():
        # Arrow does not define the bytes of a null; in `PackedTexts` its text is empty.
        return to_texts(pc.fill_null(array, "")).with_nulls(nulls)
    return PackedTexts(offsets, data, nulls)


def join_texts(columns: Sequence[PackedTexts]) -> PackedTexts:
    r"""Join the texts of each row that are not null by line feeds; a row without any is null.

    Examples
    --------
    >>> from nearkin.io import PackedTexts
    >>> from nearkin.io.arrow import join_texts
    >>> joined = join_texts([PackedTexts.of(["a", None, None]), PackedTexts.of(["b", "", None])])
    >>> list(joined), joined.nulls.tolist()
    (['a\nb', '', ''], [2])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    first, *others = columns
    if not len(first):
        return first
    nulls = first.nulls
    for texts in others:
        nulls = np.intersect1d(nulls, texts.nulls, assume_unique=True)
    # The kernel returns no row for one of nulls only.
    first = first.with_nulls(np.setdiff1d(first.nulls, nulls, assume_unique=True))
    arrays = [texts.to_arrow() for texts in (first, *others)]
    joined = pc.binary_join_element_wise(*arrays, pa.scalar("\n", pa.large_string()), null_handling="skip")
    return to_texts(joined).with_nulls(nulls)


def to_column(array: pa.Array) -> Column:
    """Convert an Arrow column of strings, integers, floats, booleans or dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = value_type(array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_string(kind):
        return Column.strings(to_texts(array))
    n = len(array)
    if pa.types.is_null(kind):
        return Column.of([None] * n)
    if is_date(kind):
        # ISO 8601; times with a zone are converted to UTC.
        moments = array if pa.types.is_date(kind) or kind.tz is None else array.cast(pa.timestamp(kind.unit, "UTC"))
        return Column.strings(to_texts(moments.cast(pa.string())))
    if pa.types.is_uint64(kind) and array.null_count < n and pc.max(array).as_py() >= 2**63:
        return Column.of(to_values(array))
    is_float = pa.types.is_floating(kind)
    filled = array.cast(pa.float64() if is_float else pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    column = Column.integers(np.ascontiguousarray(filled).view(np.int64))
    column.kinds[:] = FLOAT if is_float else BOOL if pa.types.is_boolean(kind) else INT
    column.kinds[array.is_null().to_numpy(zero_copy_only=False)] = NULL
    return column


def filter_rows(array: Any, mask: NDArray[np.bool_]) -> Any:
    """Filter a Table, RecordBatch, Array or ChunkedArray."""
    import pyarrow as pa

    check_arrow(array)
    try:
        return array.filter(pa.array(mask))
    except pa.ArrowNotImplementedError:
        # There is no kernel for views, so runs of rows are sliced without a copy and concatenated.
        edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))).tolist()
        parts = [array.slice(first, stop - first) for first, stop in zip(edges[::2], edges[1::2], strict=True)]
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], array.type)
    if not parts:
        return array.slice(0, 0)
    concat = {pa.Table: pa.concat_tables, pa.RecordBatch: pa.concat_batches}.get(type(array), pa.concat_arrays)
    return concat(parts)


# To Arrow


def to_arrow(values: TableColumn, kind: str | None = None) -> pa.Array | pa.ChunkedArray:
    """Convert a column to Arrow; mixed columns, and integers that fit no single type, become strings.

    File names may contain bytes that are not UTF-8, which are escaped.

    Parameters
    ----------
    values : list, array or Column
        Integers, floats, strings, booleans, None. NaN is null.
    kind : str, optional
        Name of the Arrow type if all values are null.
    """
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype != object:
        return pa.array(values, from_pandas=True)
    cells = list(values)
    if isinstance(values, np.ndarray) and not cells:
        kind = "string"
    if any(isinstance(value, str) for value in cells):
        cells = [None if value is None else _escape(str(value)) for value in cells]
    try:
        array = pa.array(cells, from_pandas=True)
    except OverflowError:
        # pyarrow tries int64 first.
        try:
            return pa.array(cells, pa.uint64())
        except OverflowError:
            return pa.array([None if value is None else str(value) for value in cells])
    return array if kind is None or not pa.types.is_null(array.type) else array.cast(pa.type_for_alias(kind))


def _escape(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
