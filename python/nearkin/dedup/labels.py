"""Pairs that a person labelled: they match, they do not, or nobody could tell; in memory and in tables.

A deduplication keeps apart what is labelled different (`nearkin.dedup.constraints`); evaluations and tunings are held
against labels (`nearkin.quality`). Ids are compared by their text, since a CSV file can't tell 7 from "7": two ids of
one list that differ only in type are an error. A pair has no order and occurs once.

Labels of a sample of pairs carry the stratum that they were drawn from, and a weight: how many pairs of a run one
stands for. The page of a report exports both.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from nearkin.errors import InputError, bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import read_table
from nearkin.io.values import Scalar

PAIR_COLUMNS = (
    ("left", "right"),
    ("id_a", "id_b"),
    ("row_a", "row_b"),
    ("id1", "id2"),
    ("a", "b"),
    ("id", "representative"),
)
"""Names of the two columns of a pair that are known without being told, in this order."""
LABEL_COLUMNS = ("match", "label", "is_match", "duplicate")
"""Names of a column of labels that are known without being told."""

STRATUM_COLUMN, WEIGHT_COLUMN, REMOVED_COLUMN = "stratum", "weight", "removed"
"""Columns of a sample of pairs: from which stratum one was drawn, how many pairs it stands for, and whether the run
that it was drawn from removed one of the two."""

PAIR_TABLE = frozenset(
    {name for pair in PAIR_COLUMNS for name in pair} | {*LABEL_COLUMNS, STRATUM_COLUMN, WEIGHT_COLUMN, REMOVED_COLUMN}
)
"""All of these names."""

ID_COLUMNS = frozenset({name for pair in PAIR_COLUMNS for name in pair})
"""Columns of ids among these: an empty cell of a text file is the empty id there."""

Columns: TypeAlias = Mapping[str, list[Any]]
"""Columns of a table, by name; their cells are whatever a file or a result holds."""

_TRUE, _FALSE = ("1", "true", "yes", "1.0"), ("0", "false", "no", "0.0")
_READ = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
_UNSURE = ("", "none", "null", "nan", "unsure")
"""Labels of pairs that a person looked at and could not decide."""


def names(ids: Iterable[object], what: str, rows: int = 0) -> list[str]:
    """Ids as text; of several columns of `rows` ids, one after the other, where `rows` is given.

    Raises
    ------
    InputError
        For an id that is not an integer or string, and for an integer and a string of the same text.
    """
    plain = [value.item() if hasattr(value, "item") else value for value in ids]
    kinds: dict[str, type] = {}
    result = []
    for row, value in enumerate(plain):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            reason = f"row {row % rows if rows else row} has the id {value!r}; ids are integers or strings"
            raise InputError(f"{what}: {reason}", place=what, reason=reason)
        text = str(value)
        if kinds.setdefault(text, type(value)) is not type(value):
            reason = f"id {text} occurs as a number and as a string; ids are compared by their text"
            raise InputError(f"{what}: {reason}", place=what, reason=reason)
        result.append(text)
    return result


def _bools(match: Iterable[object]) -> list[bool | None]:
    """Labels of pairs: booleans, and numbers that stand for them; None for undecided ones."""
    result: list[bool | None] = []
    for row, value in enumerate(match):
        plain = value.item() if hasattr(value, "item") else value
        if plain is None:
            result.append(None)
            continue
        if not isinstance(plain, (bool, int, float)) or plain not in (0, 1):
            reason = f"row {row} has the label {value!r}; labels are True and False, or 1 and 0; None for unsure"
            raise InputError(f"pairs: {reason}", place="pairs", reason=reason)
        result.append(bool(plain))
    return result


def _weights(weight: Iterable[object], place: str, *, table: bool = False) -> list[float]:
    """Weights of pairs as numbers; those of a text file are strings, and its records count from 1.

    Raises
    ------
    InputError
        For one that is no finite number above 0.
    """
    result = []
    for row, value in enumerate(weight):
        try:
            number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # Else TypeError.
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number < math.inf:
            where = f"record {row + 1}" if table else f"row {row}"
            reason = f"{where} has the weight {value!r}; weights are numbers above 0: the pairs that one stands for"
            raise InputError(f"{place}: {reason}", place=place, reason=reason)
        result.append(number)
    return result


@dataclass(frozen=True)
class PairLabels:
    """Pairs of ids, each said to match or not.

    Parameters
    ----------
    left, right : sequences of integers or strings
        The two ids of each pair, in any order.
    match : sequence of bool or None, optional
        Whether they match, True and False or 1 and 0, None for a pair that nobody could decide; all do if not given.
    weight : sequence of numbers above 0, optional
        How many pairs each stands for, of a sample of pairs.
    stratum : sequence of str or None, optional
        Which part of the pairs each was drawn from, of a sample of pairs, such as "0.80-0.82".
    removed : sequence of bool or None, optional
        Whether the run that a pair was sampled from removed one of the two; without near misses, which it did not
        remove, a sample can't tell what that run missed.

    Attributes
    ----------
    labels : dict of (str, str) to bool
        Each pair once, the smaller text first.
    weights : dict of (str, str) to float
        Of each pair of `labels`; empty if no weight was given, where each stands for itself.
    strata : dict of (str, str) to str
        Of each pair of `labels` that has one.
    near_misses : bool or None
        Whether a pair of `labels` was not removed; None where that was not given.
    repeated, selves, contradictory, unsure : int
        Pairs that occurred more than once; pairs of an id with itself, pairs with both labels, and undecided pairs,
        which are left out.
    reweighted : int
        Pairs that occurred with more than one weight, of which the first counts.

    Raises
    ------
    ParameterError
        For columns of different lengths.
    InputError
        For an invalid id, label or weight.

    Examples
    --------
    >>> from nearkin.dedup.labels import PairLabels
    >>> PairLabels([1, 2, 3], [2, 1, 4], [True, True, False]).labels
    {('1', '2'): True, ('3', '4'): False}
    """

    left: Ids = field(repr=False)
    right: Ids = field(repr=False)
    match: Iterable[bool | None] | None = field(default=None, repr=False)
    weight: Iterable[float] | None = field(default=None, repr=False)
    stratum: Iterable[str | None] | None = field(default=None, repr=False)
    removed: Iterable[bool | None] | None = field(default=None, repr=False)
    labels: dict[tuple[str, str], bool] = field(init=False)
    weights: dict[tuple[str, str], float] = field(init=False, repr=False)
    strata: dict[tuple[str, str], str] = field(init=False, repr=False)
    near_misses: bool | None = field(init=False, default=None, repr=False)
    repeated: int = field(init=False, default=0)
    selves: int = field(init=False, default=0)
    contradictory: int = field(init=False, default=0)
    unsure: int = field(init=False, default=0)
    reweighted: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        left, right = list(self.left), list(self.right)
        match = [True] * len(left) if self.match is None else _bools(self.match)
        weight = [1.0] * len(left) if self.weight is None else _weights(self.weight, "pairs")
        stratum = [None] * len(left) if self.stratum is None else list(self.stratum)
        removed = [None] * len(left) if self.removed is None else list(self.removed)
        columns = {"match": match, "weight": weight, "stratum": stratum, "removed": removed}
        if len(left) != len(right) or any(len(column) != len(left) for column in columns.values()):
            given = [
                len(match),
                *(len(columns[name]) for name in ("weight", "stratum", "removed") if getattr(self, name) is not None),
            ]
            *first, last = [len(left), len(right), *given]
            lengths = f"columns of {', '.join(map(str, first))} and {last} rows"
            raise bad_parameter("pairs", lengths, "columns of one length")
        both = names([*left, *right], "pairs", len(left))
        counts = dict.fromkeys(("repeated", "selves", "unsure"), 0)
        labels: dict[tuple[str, str], bool] = {}
        weights: dict[tuple[str, str], float] = {}
        strata: dict[tuple[str, str], str] = {}
        contradictory, reweighted = set[tuple[str, str]](), set[tuple[str, str]]()
        gone: dict[tuple[str, str], bool] = {}
        rows = zip(both[: len(left)], both[len(left) :], match, weight, stratum, removed, strict=True)
        for a, b, label, number, part, went in rows:
            if a == b or label is None:
                counts["selves" if a == b else "unsure"] += 1
                continue
            pair = (a, b) if a < b else (b, a)
            if pair in labels:
                counts["repeated"] += 1
                if labels[pair] != label:
                    contradictory.add(pair)
                if weights[pair] != number:
                    reweighted.add(pair)
                continue
            labels[pair], weights[pair] = label, number
            if part is not None and part != "":
                strata[pair] = str(part)
            if went is not None:
                gone[pair] = bool(went)
        for pair in contradictory:
            del labels[pair], weights[pair]
            strata.pop(pair, None)
            gone.pop(pair, None)
        found = {"labels": labels, "weights": {} if self.weight is None else weights, "strata": strata, **counts}
        found |= {"contradictory": len(contradictory), "reweighted": len(reweighted)}
        found["near_misses"] = not all(gone.values()) if gone else None
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def sampled(self) -> bool:
        """Whether these are pairs of a sample, so that nothing follows for pairs that are not listed."""
        return self.weight is not None or bool(self.strata)

    @property
    def weighted(self) -> bool:
        """Whether a pair stands for another number of pairs than one."""
        return any(weight != 1 for weight in self.weights.values())


GivenLabels: TypeAlias = (
    PairLabels
    | Iterable[tuple[int | str, int | str] | tuple[int | str, int | str, bool | None]]
    | str
    | os.PathLike[str]
)
"""Labels of pairs, rows of two ids and a label, or the path of a table of these."""


def pair_labels(given: GivenLabels, name: str) -> PairLabels:
    """Labels of pairs from what a caller gives; `name` is the argument's.

    Raises
    ------
    ParameterError
        Anything else.
    InputError
        A table that can't be read or has no pairs; an invalid id, label or weight.

    Examples
    --------
    >>> from nearkin.dedup.labels import pair_labels
    >>> pair_labels([("a", "b", False), ("a", "c")], "labels").labels
    {('a', 'b'): False, ('a', 'c'): True}
    """
    if isinstance(given, PairLabels):
        return given
    if isinstance(given, (str, os.PathLike)):
        place = os.fspath(given)
        if Path(given).is_dir():
            reason = "is a folder; give a table of labelled pairs, with columns such as left, right and match"
            raise InputError(f"{place}: {reason}", place=place, reason=reason)
        return pairs_of_table(read_table(given, PAIR_TABLE, ids=ID_COLUMNS), place)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping)):
        rows = list(given)
        if all(isinstance(row, (tuple, list)) and len(row) in (2, 3) for row in rows):
            match = [len(row) == 2 or row[2] for row in rows]
            return PairLabels([row[0] for row in rows], [row[1] for row in rows], match)
    raise bad_parameter(name, type(given).__name__, "PairLabels, tuples of two ids and a label, or the path of a table")


def pairs_of_table(
    table: Columns,
    place: str,
    *,
    pair_columns: tuple[str, str] | None = None,
    label_column: str | None = None,
    at_least: float | None = None,
    asked: Iterable[str | None] = (),
    also: str = "",
) -> PairLabels:
    """The pairs of a table, by its columns.

    Parameters
    ----------
    table : mapping of str to list
    place : str
        Its path, which errors name, and from which they tell all its columns.
    pair_columns, label_column, at_least
        As for `nearkin.quality.labels.read_labels`.
    asked : iterable of str or None
        Further columns that the caller named, which have to be there.
    also : str
        What else the caller takes, for the message that there are no columns of pairs.

    Raises
    ------
    InputError
        No such columns, or an invalid id, label or weight.
    """
    missing = [name for name in (*(pair_columns or ()), label_column, *asked) if name and name not in table]
    pair = next((pair for pair in ((pair_columns,) if pair_columns else PAIR_COLUMNS) if set(pair) <= set(table)), None)
    if missing or pair is None:
        reason = f"no column {missing[0]!r}" if missing else "no columns of pairs" + (" or clusters" if also else "")
        reason += f" among {', '.join(read_table(place)) or 'none'}; name pair columns (left,right){also}"
        raise InputError(f"{place}: {reason}", place=place, reason=reason)
    label = label_column or next((name for name in LABEL_COLUMNS if name in table), None)
    for name in pair:
        check_ids(table[name], place, name)
    if label is None:
        # The weight of a list of matches is something else.
        return PairLabels(table[pair[0]], table[pair[1]])
    match = [_label(value, at_least, place, label) for value in table[label]]
    weight, stratum, removed = (
        table[name] if name in table and name not in (label, *pair) else None
        for name in (WEIGHT_COLUMN, STRATUM_COLUMN, REMOVED_COLUMN)
    )
    return PairLabels(
        table[pair[0]],
        table[pair[1]],
        match,
        None if weight is None else _weights(weight, place, table=True),
        stratum,
        # What is neither tells nothing.
        None if removed is None else [_READ.get(str(value).strip().lower()) for value in removed],
    )


def check_ids(ids: Iterable[object], place: str, column: str) -> None:
    """Raise InputError for a record of a table that has no id: it names the file, the record and the column."""
    for number, value in enumerate(ids, 1):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            found = "no value" if value is None else f"the value {value!r}"
            reason = f'record {number} has {found} in the column {column!r}; ids are integers or strings, "" is one'
            raise InputError(f"{place}: {reason}", place=place, reason=reason)


def _label(value: Scalar, at_least: float | None, place: str, column: str) -> bool | None:
    if at_least is None:
        text = str(value).strip().lower()
        if text in _UNSURE:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        allowed = "labels are 0 and 1, true and false, or empty for unsure; a column of similarities needs at_least"
    else:
        try:
            return float("" if value is None else value) >= at_least
        except (TypeError, ValueError):
            allowed = "at_least needs numbers"
    reason = f"{column}={value!r}; {allowed}"
    raise InputError(f"{place}: {reason}", place=place, reason=reason)
