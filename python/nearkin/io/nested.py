"""Columns by their names, or by the path of names that dots separate: `meta.url` is the field `url` of `meta`.

A column whose own name has the dot comes first; so does a field within a struct. Where a struct is null its fields are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def heads_of(name: str) -> list[str]:
    """What stands before each dot of a name: the columns that it may be a field of.

    Examples
    --------
    >>> from nearkin.io.nested import heads_of
    >>> heads_of("meta.page.url")
    ['meta', 'meta.page']
    """
    return [name[:at] for at, sign in enumerate(name) if sign == "."]


def types_of(schema: pa.Schema, name: str) -> list[pa.DataType]:
    """The types of the columns of a name; those of fields within structs only where no column has that very name."""
    found = []
    for first, *inside in _places_of(schema, name):
        kind = schema.field(first).type
        for place in inside:
            kind = kind.field(place).type
        found.append(kind)
    return found


def field_of(columns: pa.RecordBatch | pa.Table, name: str) -> Any:
    """The first column of those that `types_of` finds by a name."""
    import pyarrow.compute as pc

    first, *inside = _places_of(columns.schema, name)[0]
    column = columns.column(first)
    return pc.struct_field(column, inside) if inside else column


def _places_of(schema: pa.Schema, name: str) -> list[list[int]]:
    """Where the columns of a name are: the number of a column, and those of the fields within it."""
    import pyarrow as pa

    own = [[place] for place in schema.get_all_field_indices(name)]
    if own:
        return own
    found: list[list[int]] = []
    for head in heads_of(name):
        for place in schema.get_all_field_indices(head):
            kind = schema.field(place).type
            if pa.types.is_struct(kind):
                found += [[place, *inside] for inside in _places_of(pa.schema(list(kind)), name[len(head) + 1 :])]
    return found


def paths_of(schema: pa.Schema) -> list[str]:
    """The names of columns, and of the fields within structs."""
    import pyarrow as pa

    names = []
    for field in schema:
        inner = pa.schema(list(field.type)) if pa.types.is_struct(field.type) else None
        names += [field.name] if inner is None else [f"{field.name}.{path}" for path in paths_of(inner)]
    return names


def values_in(values: list[Any], path: str) -> list[Any] | None:
    """The values of a path in dictionaries, None where one has not all of it; None if no dictionary has it.

    Examples
    --------
    >>> from nearkin.io.nested import values_in
    >>> values_in([{"a": {"b": 1}}, {"a": None}, None, {"a.b": 2}], "a.b")
    [1, None, None, 2]
    """
    found = [_value_in(value, path) for value in values]
    return [value for _, value in found] if any(there for there, _ in found) else None


def _value_in(value: Any, path: str) -> tuple[bool, Any]:
    """Whether a dictionary has a path, and its value."""
    if not isinstance(value, dict):
        return False, None
    if path in value:
        return True, value[path]
    for head in heads_of(path):
        there, inner = _value_in(value.get(head), path[len(head) + 1 :])
        if there:
            return True, inner
    return False, None
