"""The keep rule: in which order documents are visited, so which one of a cluster stays.

A rule is a list of keys, separated by commas, each of which decides where those before it leave a tie: `longest`,
`shortest`, `max:COLUMN`, `min:COLUMN`; `first` and `last` (by row) leave none and stand at the end. What is still tied
is decided by id (numbers before strings), then by row. Documents without a value come last by that key.
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
"""The name of values that have none: those of `max` and `min` alone."""
_BY_ROW = ("first", "last")
_BY_LENGTH = ("longest", "shortest")
_BY_COLUMN = ("max", "min")


@dataclass(frozen=True)
class KeepKey:
    """A key of a rule; `column` is the one that `max` and `min` look at, and empty for the others."""

    by: str
    column: str = ""


def keep_keys(keep: str, named: Mapping[str, KeepKey] | None = None, *, values: str = VALUES) -> tuple[KeepKey, ...]:
    """The keys of a rule.

    Parameters
    ----------
    keep : str
        Such as "first", "longest" or "max:score,longest".
    named : mapping of str to KeepKey, optional
        Further keys by name.
    values : str
        The column of `max` and `min` without a name.

    Raises
    ------
    ParameterError
        An unknown key, one that occurs twice, or one behind a key that leaves no tie.
    """
    further = named or {}
    names = [*_BY_ROW, *_BY_LENGTH, *further]
    allowed = f"{', '.join(names)}, max:COLUMN or min:COLUMN, or several separated by commas"
    found: list[KeepKey] = []
    for word in keep.split(",") if isinstance(keep, str) else [""]:
        by, colon, column = word.strip().partition(":")
        if by in _BY_COLUMN and bool(colon) == bool(column):
            key = KeepKey(by, column or values)
        elif word.strip() in names:
            key = further.get(by, KeepKey(by))
        else:
            raise bad_parameter("keep", repr(keep), allowed)
        if found and (found[-1].by in _BY_ROW or key in found):
            raise bad_parameter("keep", repr(keep), f"each key once, and first or last only at the end ({word!r})")
        found.append(key)
    return tuple(found)


def keep_columns(keys: Sequence[KeepKey]) -> list[str]:
    """The columns that keys look at."""
    return list(dict.fromkeys(key.column for key in keys if key.column))


def check_values(columns: Sequence[str], given: Collection[str]) -> None:
    """Raise ParameterError unless there are values for each column of a rule, and no others."""
    if missing := [name for name in columns if name not in given]:
        what = 'numbers with keep="max" or keep="min"' if missing == [VALUES] else f"a mapping with {missing[0]!r}"
        raise bad_parameter("values", "none" if not given else ", ".join(given), what)
    if unused := [name for name in given if name not in columns]:
        allowed = 'None unless keep is "max" or "min"' if unused == [VALUES] else "columns that keep names"
        raise bad_parameter("values", "given" if unused == [VALUES] else ", ".join(unused), allowed)


def values_by_column(
    keys: Sequence[KeepKey], values: Cells | str | Mapping[str, Cells] | None
) -> dict[str, Cells | str]:
    """For each column of a rule its values, or the name of the column of a frame or corpus that has them.

    Parameters
    ----------
    keys : sequence of KeepKey
    values : one value per document, a mapping of names to such, the name of a column, or None
        As `nearkin.dedup` takes them.
    """
    given: Mapping[str, Cells | str]
    given = values if isinstance(values, Mapping) else {} if values is None else {VALUES: values}
    columns = keep_columns(keys)
    check_values([name for name in columns if name == VALUES or name in given], given)
    return {name: given.get(name, name) for name in columns}


def column_key(name: str) -> str:
    """Under which name `HashedDocuments.columns` has a column of a keep rule."""
    return f"keep:{name}"


def keep_order(new: HashedDocuments, keys: Sequence[KeepKey]) -> NDArray[np.int64]:
    """Rows in keep order."""
    rows = np.arange(len(new))
    if keys[0].by == "first":
        return rows
    if keys[0].by == "last":
        return np.ascontiguousarray(rows[::-1])
    arrays = [_numbers(new, key, rows) for key in keys]
    # lexsort takes the key that decides first last; NaN sorts last whatever the direction.
    return np.asarray(np.lexsort((rows, _rank(new.ids), *arrays[::-1])), np.int64)


def _numbers(new: HashedDocuments, key: KeepKey, rows: NDArray[np.int64]) -> NDArray[Any]:
    """What ascends in the order of a key."""
    if key.by in _BY_ROW:
        return rows if key.by == "first" else -rows
    if key.by in _BY_LENGTH:
        numbers = new.lengths.astype(np.float64)
    else:
        numbers = new.columns[column_key(key.column)].numbers(key.column)
    return -numbers if key.by in ("longest", "max") else numbers


def tell_missing(new: HashedDocuments, keys: Sequence[KeepKey]) -> list[str]:
    """A warning for each column of a rule that some documents have no value in."""
    told = []
    for name in keep_columns(keys):
        missing = int(np.isnan(new.columns[column_key(name)].numbers(name)).sum())
        if missing:
            told.append(f"{missing:,} of {len(new):,} documents have no value in column {name!r} and come last by it")
    return told


def _rank(ids: Column) -> NDArray[np.int64]:
    """Numbers in the order of the ids: numbers before strings. Integers stand for themselves."""
    if (ids.kinds == INT).all():
        return ids.values
    values: list[Any] = ids.to_list()
    key = values.__getitem__ if (ids.kinds == TEXT).all() else lambda row: (isinstance(values[row], str), values[row])
    order = sorted(range(len(values)), key=key)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank
