"""The keep rule: the order in which documents are visited, which decides the kept one of each cluster.

A rule is a list of keys, separated by commas; each key decides the ties of earlier ones: `longest`, `shortest`,
`max:COLUMN`, `min:COLUMN`. `first` and `last` (by row) leave no tie and must come last. Remaining ties are decided by
id (numbers before strings), then by row. Documents without a value come last by that key.

`none`, which stands alone, visits documents as `first` does; the caller then removes the kept one of each cluster too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.documents import Cells, HashedDocuments
from nearkin.errors import bad_parameter
from nearkin.io import Column
from nearkin.io.values import INT, TEXT

VALUES = "values"
"""The column of `max` and `min` if they name none."""
_BY_ROW = ("first", "last")
_ALONE = "none"
_BY_LENGTH = ("longest", "shortest")
_BY_COLUMN = ("max", "min")


@dataclass(frozen=True)
class KeepKey:
    """One key of a rule; `column` is the column of `max` and `min`, and empty for other keys."""

    by: str
    column: str = ""


def parse_keep(keep: str, aliases: Mapping[str, KeepKey] | None = None, *, values: str = VALUES) -> tuple[KeepKey, ...]:
    """Parse a rule.

    Parameters
    ----------
    keep : str
        Such as "first", "longest", "max:score,longest" or "none".
    aliases : mapping of str to KeepKey, optional
        Additional keys by name.
    values : str
        The column of `max` and `min` if they name none.

    Raises
    ------
    ParameterError
        An unknown key, one that occurs twice, or one behind a key that leaves no tie.
    """
    aliases = aliases or {}
    if keep == _ALONE:
        return (KeepKey(_ALONE),)
    names = [*_BY_ROW, *_BY_LENGTH, *aliases]
    allowed = f"{', '.join(names)}, max:COLUMN or min:COLUMN, or several separated by commas; or none"
    keys: list[KeepKey] = []
    for word in keep.split(",") if isinstance(keep, str) else [""]:
        by, colon, column = word.strip().partition(":")
        if by in _BY_COLUMN and bool(colon) == bool(column):
            key = KeepKey(by, column or values)
        elif word.strip() in names:
            key = aliases.get(by, KeepKey(by))
        else:
            raise bad_parameter("keep", repr(keep), allowed)
        if keys and (keys[-1].by in _BY_ROW or key in keys):
            raise bad_parameter("keep", repr(keep), f"each key once, and first or last only at the end ({word!r})")
        keys.append(key)
    return tuple(keys)


def describe_order(keys: Sequence[KeepKey], *, on_engine: bool) -> str:
    """Return the order in which a rule visits documents, for the summary of a run.

    Parameters
    ----------
    keys : sequence of KeepKey
    on_engine : bool
        True for documents on many machines, which have no rows and are ordered by their ids.

    Examples
    --------
    >>> describe_order(parse_keep("max:score"), on_engine=False)
    'score descending, id, row'
    >>> describe_order(parse_keep("first"), on_engine=True)
    'id'
    """
    rows = "id" if on_engine else "row"
    names = {"first": rows, _ALONE: rows, "last": f"{rows} descending", "longest": "length descending"}
    names["shortest"] = "length"
    columns = {"max": " descending", "min": ""}
    words = [names.get(key.by) or f"{key.column}{columns[key.by]}" for key in keys]
    if keys[-1].by not in (*_BY_ROW, _ALONE):
        words += ["id"] if on_engine else ["id", "row"]
    return ", ".join(words)


def removes_clusters(keys: Sequence[KeepKey]) -> bool:
    """Return True if a rule keeps no document of a cluster."""
    return keys[0].by == _ALONE


def keep_columns(keys: Sequence[KeepKey]) -> list[str]:
    """Return the columns that keys read."""
    return list(dict.fromkeys(key.column for key in keys if key.column))


def check_values(columns: Sequence[str], values: Collection[str]) -> None:
    """Raise ParameterError unless there are values for each column of a rule, and no others."""
    if missing := [name for name in columns if name not in values]:
        allowed = 'numbers with keep="max" or keep="min"' if missing == [VALUES] else f"a mapping with {missing[0]!r}"
        raise bad_parameter("values", ", ".join(values) if values else "none", allowed)
    if unused := [name for name in values if name not in columns]:
        allowed = 'None unless keep is "max" or "min"' if unused == [VALUES] else "columns that keep names"
        raise bad_parameter("values", "given" if unused == [VALUES] else ", ".join(unused), allowed)


def values_by_column(
    keys: Sequence[KeepKey], values: Cells | str | Mapping[str, Cells] | None
) -> dict[str, Cells | str]:
    """Return the values of each column of a rule, or the name of the column of a frame or corpus that has them.

    Parameters
    ----------
    keys : sequence of KeepKey
    values : one value per document, a mapping of names to such, the name of a column, or None
        As in `nearkin.dedup`.
    """
    named: Mapping[str, Cells | str]
    named = values if isinstance(values, Mapping) else {} if values is None else {VALUES: values}
    columns = keep_columns(keys)
    check_values([name for name in columns if name == VALUES or name in named], named)
    return {name: named.get(name, name) for name in columns}


def column_key(name: str) -> str:
    """Return the key of a column of a keep rule in `HashedDocuments.columns`."""
    return f"keep:{name}"


def keep_order(new: HashedDocuments, keys: Sequence[KeepKey]) -> NDArray[np.int64]:
    """Return the rows in keep order."""
    rows = np.arange(len(new))
    if keys[0].by == "first" or removes_clusters(keys):
        return rows
    if keys[0].by == "last":
        return np.ascontiguousarray(rows[::-1])
    arrays = [_sort_values(new, key, rows) for key in keys]
    # lexsort takes its first key last; NaN sorts last in either direction.
    return np.asarray(np.lexsort((rows, _rank(new.ids), *arrays[::-1])), np.int64)


def _sort_values(new: HashedDocuments, key: KeepKey, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return numbers that ascend in the order of a key."""
    if key.by in _BY_ROW:
        return rows if key.by == "first" else -rows
    if key.by in _BY_LENGTH:
        numbers = new.lengths.astype(np.float64)
    else:
        numbers = new.columns[column_key(key.column)].numbers(key.column)
    return -numbers if key.by in ("longest", "max") else numbers


def missing_warnings(new: HashedDocuments, keys: Sequence[KeepKey]) -> list[str]:
    """Return a warning for each column of a rule in which documents have no value."""
    warnings = []
    for name in keep_columns(keys):
        missing = int(np.isnan(new.columns[column_key(name)].numbers(name)).sum())
        if missing:
            warnings.append(missing_warning(missing, len(new), name))
    return warnings


def missing_warning(missing: int, documents: int, column: str) -> str:
    """Return the warning that documents have no value in a column of the keep rule."""
    return f"{missing:,} of {documents:,} documents have no value in column {column!r} and come last by it"


def _rank(ids: Column) -> NDArray[np.int64]:
    """Return numbers in the order of the ids, numbers before strings; integers are their own."""
    if (ids.kinds == INT).all():
        return ids.values
    values: list[Any] = ids.to_list()
    key = values.__getitem__ if (ids.kinds == TEXT).all() else lambda row: (isinstance(values[row], str), values[row])
    order = sorted(range(len(values)), key=key)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank
