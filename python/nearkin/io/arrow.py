"""Conversions between Arrow columns and the values of a corpus, and columns by dotted paths.

`meta.url` names the field `url` of the column `meta`, unless a column has that name. The same rule applies within
structs. If a struct is null, its fields are null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.io.values import BOOL, FLOAT, INT, NULL, Column, PackedTexts, Scalar

if TYPE_CHECKING:
    import pyarrow as pa

TableColumn = Sequence[Scalar] | NDArray[Any] | Column
"""A column of a table: a list, an array, or a column of a corpus."""

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


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary; any other type itself."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_string(kind: pa.DataType) -> bool:
    """Return True for all types of strings."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


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
        return Column.of(array.to_pylist())
    is_float = pa.types.is_floating(kind)
    filled = array.cast(pa.float64() if is_float else pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    column = Column.integers(np.ascontiguousarray(filled).view(np.int64))
    column.kinds[:] = FLOAT if is_float else BOOL if pa.types.is_boolean(kind) else INT
    column.kinds[array.is_null().to_numpy(zero_copy_only=False)] = NULL
    return column


def filter_rows(array: Any, mask: NDArray[np.bool_]) -> Any:
    """Filter a Table, RecordBatch, Array or ChunkedArray."""
    import pyarrow as pa

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
