"""The keep rule: the order in which documents are visited, which decides the kept one of each cluster.

A rule is a list of keys, separated by commas; each key decides the ties of earlier ones: `longest`, `shortest`,
`max:COLUMN`, `min:COLUMN`, and for texts `best`. `first` and `last` (by row) leave no tie and must come last. Remaining
ties are decided by id (numbers before strings), then by row. Documents without a value come last by that key.

`best` scores a text without the others of its cluster, so that every engine visits documents in one order. Each word
adds; each fault takes back at least what its words added (`WEIGHTS`); the longer of two equal scores is better. A word
that the text has once weighs half as much, because misspelt ones are seldom seen twice.

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


WEIGHTS = np.array([8, -9, -8, -9, -10, -4, 1], np.int64)
"""Score of each count of `soundness`: words, those damaged, noisy, repeated, of a menu and distinct, and breaks."""
_WORDS = "more words"
_GAINS = (_WORDS, "fewer damaged words", "less noise", "less repetition", "less menu", "fewer odd words", "more lines")


@dataclass(frozen=True)
class KeepKey:
    """One key of a rule; `column` is the column of `max` and `min`, and empty for other keys."""

    by: str
    column: str = ""


BEST = {"best": KeepKey("best")}
"""Additional keys of texts."""


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
    names |= {"shortest": "length", "best": "soundness descending, length descending"}
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
    if key.by == "best" and new.soundness is not None:
        numbers = best_numbers(new.soundness, new.lengths)
    elif key.by in _BY_LENGTH:
        numbers = new.lengths.astype(np.float64)
    else:
        numbers = new.columns[column_key(key.column)].numbers(key.column)
    return -numbers if key.by in ("best", "longest", "max") else numbers


def best_numbers(soundness: NDArray[np.uint32], lengths: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the scores of texts by `best`, with their lengths as fractions.

    Parameters
    ----------
    soundness : (n, 7) uint32
        Counts of `nearkin._core.soundness`.
    lengths : (n,) uint64
        Characters.
    """
    return np.asarray((soundness.astype(np.int64) @ WEIGHTS) + np.minimum(lengths, 2**32 - 1) / 2.0**32, np.float64)


def reasons_kept(new: HashedDocuments, kept: NDArray[np.int64], removed: NDArray[np.int64]) -> list[str]:
    """Return for each pair of rows why `best` prefers the first: a fault of the second before what it lacks.

    "order" means that both are equal, or that another rule decided.

    Examples
    --------
    >>> import nearkin as nk
    >>> broken = "The minister said on Monday that the bridge won\u00e2\u20ac\u2122t open before the end of the year."
    >>> whole = broken.replace("\u00e2\u20ac\u2122", "'")
    >>> nk.dedup([broken, whole], keep="best", threshold=0.6).clusters["reason_kept"]
    [None, 'fewer damaged words']
    """
    sound = np.zeros((len(new), len(WEIGHTS)), np.int64) if new.soundness is None else new.soundness.astype(np.int64)
    gains = (sound[kept] - sound[removed]) * WEIGHTS
    faults = gains[:, 1:5]
    best = np.where((faults > 0).any(axis=1), faults.argmax(axis=1) + 1, gains.argmax(axis=1))
    longer = new.lengths[kept] > new.lengths[removed]
    decided = zip(best.tolist(), gains.sum(axis=1).tolist(), longer.tolist(), strict=True)
    return [_GAINS[at] if gain > 0 else "longer" if gain == 0 and more else "order" for at, gain, more in decided]


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
