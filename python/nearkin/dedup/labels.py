"""Labelled pairs: pairs of documents that a person called same, different or unsure, in memory and in tables.

A label "worse" says of a removed document and the kept one that they are the same, and the kept one is the worse copy.

A deduplication never merges pairs labelled different (`nearkin.dedup.constraints`); evaluation and tuning compare
results with labels (`nearkin.quality`). Ids are compared by their text, because a CSV file can't distinguish 7 from
"7": two ids of one list that differ only in type are an error. A pair has no order and occurs once.

Labels of a sample of pairs have the stratum from which they were drawn, and a weight: the number of pairs of a run that
one represents. The report page exports both.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nearkin.errors import InputError, bad_parameter, input_error
from nearkin.index.ids import Ids
from nearkin.io import read_table
from nearkin.io.values import Scalar
from nearkin.theory.intervals import WeightSums, proportion

PAIR_COLUMNS = (
    ("left", "right"),
    ("id_a", "id_b"),
    ("row_a", "row_b"),
    ("id1", "id2"),
    ("a", "b"),
    ("id", "representative"),
)
"""Default names of the two columns of a pair, in order of preference."""
LABEL_COLUMNS = ("match", "label", "is_match", "duplicate")
"""Default names of the column of labels, in order of preference."""

STRATUM_COLUMN, WEIGHT_COLUMN, REMOVED_COLUMN = "stratum", "weight", "removed"
"""Columns of a sample of pairs: the stratum of a pair, the number of pairs it represents, and True if the sampled run
removed one of the two documents."""

PAIR_TABLE = frozenset(
    {name for pair in PAIR_COLUMNS for name in pair} | {*LABEL_COLUMNS, STRATUM_COLUMN, WEIGHT_COLUMN, REMOVED_COLUMN}
)
"""All column names of labelled pairs."""

ID_COLUMNS = frozenset({name for pair in PAIR_COLUMNS for name in pair})
"""The columns of ids, in which an empty cell of a text file is the empty id."""

LabelTable: TypeAlias = Mapping[str, list[Any]]
"""Columns of a table of labels, by name."""

_TRUE, _FALSE = ("1", "true", "yes", "1.0", "same"), ("0", "false", "no", "0.0", "different")
_WORSE = "worse"
"""Label of a pair that is the same, but the kept document is the worse copy."""
_LABELS = {**dict.fromkeys((*_TRUE, _WORSE), True), **dict.fromkeys(_FALSE, False)}
_UNSURE = ("", "none", "null", "nan", "unsure")
"""Labels of undecided pairs."""


def id_texts(ids: Iterable[object], place: str, rows: int = 0) -> list[str]:
    """Return ids as text.

    With `rows` the ids are several columns of this length, one after the other.

    Raises
    ------
    InputError
        For an id that is not an integer or string, and for an integer and a string of the same text.
    """
    types: dict[str, type] = {}
    result = []
    for row, cell in enumerate(ids):
        value = cell.item() if hasattr(cell, "item") else cell
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            reason = f"row {row % rows if rows else row} has the id {value!r}; ids are integers or strings"
            raise input_error(place, reason)
        text = str(value)
        if types.setdefault(text, type(value)) is not type(value):
            reason = f"id {text} occurs as a number and as a string; ids are compared by their text"
            raise InputError(f"{place}: {reason}", place=place, reason=reason)
        result.append(text)
    return result


def _parse_matches(match: Iterable[object]) -> list[bool | None]:
    """Convert labels of pairs, booleans or 0 and 1; None for undecided pairs."""
    result: list[bool | None] = []
    for row, cell in enumerate(match):
        value = cell.item() if hasattr(cell, "item") else cell
        if value is not None and (not isinstance(value, (bool, int, float)) or value not in (0, 1)):
            reason = f"row {row} has the label {cell!r}; labels are True and False, or 1 and 0; None for unsure"
            raise input_error("pairs", reason)
        result.append(None if value is None else bool(value))
    return result


def _parse_weights(weight: Iterable[object], place: str, *, table: bool = False) -> list[float]:
    """Convert weights of pairs; those of a text file are strings, and its records count from 1.

    Raises
    ------
    InputError
        For a weight that is no finite number above 0.
    """
    result = []
    for row, value in enumerate(weight):
        try:
            number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # Else TypeError.
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number < math.inf:
            where = f"record {row + 1}" if table else f"row {row}"
            reason = f"{where} has the weight {value!r}; weights are numbers above 0: the pairs that one represents"
            raise input_error(place, reason)
        result.append(number)
    return result


def _kept_worse(rows: list[list[Any]]) -> dict[str, float] | None:
    """Return how many of these rows (match, weight, stratum, removed, worse) say "worse", and their share."""
    worse = np.array([row[4] for row in rows], bool)
    if not worse.any():
        return None
    weights = np.array([row[1] for row in rows], float)
    value, low, high = proportion(WeightSums.of(weights[worse]), WeightSums.of(weights))
    return {"labels": int(worse.sum()), "value": value, "low": low, "high": high}


@dataclass(frozen=True)
class PairLabels:
    """Pairs of ids, each labelled as a match or not.

    Parameters
    ----------
    left, right : sequences of integers or strings
        The two ids of each pair, in any order.
    match : sequence of bool or None, optional
        True or 1 for a match, False or 0 for different documents, None for an undecided pair; by default all match.
    weight : sequence of numbers above 0, optional
        For a sample of pairs: the number of pairs that each represents.
    stratum : sequence of str or None, optional
        For a sample of pairs: the stratum from which each was drawn, such as "0.80-0.82".
    removed : sequence of bool or None, optional
        For a sample of pairs: True if the sampled run removed one of the two documents. A sample without near misses,
        which a run does not remove, can't show what that run missed.
    worse : sequence of bool, optional
        True for a match whose kept document is the worse copy.

    Attributes
    ----------
    labels : dict of (str, str) to bool
        Each pair once, the smaller text first.
    weights : dict of (str, str) to float
        Of each pair of `labels`; empty without weights, when each represents itself.
    strata : dict of (str, str) to str
        Of each pair of `labels` that has one.
    near_misses : bool or None
        True if some pair of `labels` was not removed; None without `removed`.
    worse_pairs : frozenset of (str, str)
        The pairs of `labels` whose kept document is the worse copy.
    kept_worse : dict of str to number, or None
        Of the matches that were removed: how many `labels` say that the worse copy was kept, and the share `value` with
        Wilson's 95% interval from `low` to `high`, by the weights; None if no label says so.
    repeated, selves, contradictory, unsure : int
        Numbers of pairs that occurred more than once; and of pairs that `labels` leaves out: of an id with itself, with
        both labels, and undecided.
    reweighted : int
        Number of pairs that occurred with several weights; the first one counts.

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
    worse: Iterable[bool] | None = field(default=None, repr=False)
    labels: dict[tuple[str, str], bool] = field(init=False)
    weights: dict[tuple[str, str], float] = field(init=False, repr=False)
    strata: dict[tuple[str, str], str] = field(init=False, repr=False)
    near_misses: bool | None = field(init=False, default=None, repr=False)
    worse_pairs: frozenset[tuple[str, str]] = field(init=False, repr=False)
    kept_worse: dict[str, float] | None = field(init=False, repr=False)
    repeated: int = field(init=False, default=0)
    selves: int = field(init=False, default=0)
    contradictory: int = field(init=False, default=0)
    unsure: int = field(init=False, default=0)
    reweighted: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        left, right = list(self.left), list(self.right)
        match = [True] * len(left) if self.match is None else _parse_matches(self.match)
        weight = [1.0] * len(left) if self.weight is None else _parse_weights(self.weight, "pairs")
        stratum = [None] * len(left) if self.stratum is None else list(self.stratum)
        removed = [None] * len(left) if self.removed is None else list(self.removed)
        worse = [False] * len(left) if self.worse is None else list(self.worse)
        columns = {"match": match, "weight": weight, "stratum": stratum, "removed": removed, "worse": worse}
        if len(left) != len(right) or any(len(column) != len(left) for column in columns.values()):
            optional = [name for name in ("weight", "stratum", "removed", "worse") if getattr(self, name) is not None]
            *first, last = [len(left), len(right), len(match), *(len(columns[name]) for name in optional)]
            lengths = f"columns of {', '.join(map(str, first))} and {last} rows"
            raise bad_parameter("pairs", lengths, "columns of one length")
        ids = id_texts([*left, *right], "pairs", len(left))
        counts = dict.fromkeys(("repeated", "selves", "unsure"), 0)
        first_rows: dict[tuple[str, str], list[Any]] = {}
        contradictory, reweighted = set[tuple[str, str]](), set[tuple[str, str]]()
        for a, b, *row in zip(ids[: len(left)], ids[len(left) :], *columns.values(), strict=True):
            if a == b or row[0] is None:
                counts["selves" if a == b else "unsure"] += 1
                continue
            pair = (a, b) if a < b else (b, a)
            earlier = first_rows.setdefault(pair, row)
            counts["repeated"] += earlier is not row
            if earlier[0] != row[0]:
                contradictory.add(pair)
            if earlier[1] != row[1]:
                reweighted.add(pair)
        rows = {pair: row for pair, row in first_rows.items() if pair not in contradictory}
        removals = [bool(row[3]) for row in rows.values() if row[3] is not None]
        result = {
            **counts,
            "labels": {pair: row[0] for pair, row in rows.items()},
            "weights": {} if self.weight is None else {pair: row[1] for pair, row in rows.items()},
            "strata": {pair: str(row[2]) for pair, row in rows.items() if row[2] is not None and row[2] != ""},
            "near_misses": not all(removals) if removals else None,
            "worse_pairs": frozenset(pair for pair, row in rows.items() if row[4]),
            "kept_worse": _kept_worse([row for row in rows.values() if row[0] and row[3] is not False]),
            "contradictory": len(contradictory),
            "reweighted": len(reweighted),
        }
        for name, value in result.items():
            object.__setattr__(self, name, value)

    @property
    def sampled(self) -> bool:
        """True for a sample of pairs, from which nothing follows for other pairs."""
        return self.weight is not None or bool(self.strata)

    @property
    def weighted(self) -> bool:
        """True if a pair represents another number of pairs than one."""
        return any(weight != 1 for weight in self.weights.values())


LabelsInput: TypeAlias = (
    PairLabels
    | Iterable[tuple[int | str, int | str] | tuple[int | str, int | str, bool | None]]
    | str
    | os.PathLike[str]
)
"""Labels as callers pass them: `PairLabels`, rows of two ids and a label, or the path of a table."""


def read_pair_labels(labels: LabelsInput, name: str) -> PairLabels:
    """Convert labels as callers pass them; `name` is the argument.

    Raises
    ------
    ParameterError
        Another kind of value.
    InputError
        A table that can't be read or has no pairs; an invalid id, label or weight.

    Examples
    --------
    >>> from nearkin.dedup.labels import read_pair_labels
    >>> read_pair_labels([("a", "b", False), ("a", "c")], "labels").labels
    {('a', 'b'): False, ('a', 'c'): True}
    """
    if isinstance(labels, PairLabels):
        return labels
    if isinstance(labels, (str, os.PathLike)):
        place = os.fspath(labels)
        if Path(labels).is_dir():
            reason = "is a folder; give a table of labelled pairs, with columns such as left, right and match"
            raise input_error(place, reason)
        return labels_from_table(read_table(labels, PAIR_TABLE, ids=ID_COLUMNS), place)
    if isinstance(labels, Iterable) and not isinstance(labels, (bytes, Mapping)):
        rows = list(labels)
        if all(isinstance(row, (tuple, list)) and len(row) in (2, 3) for row in rows):
            match = [len(row) == 2 or row[2] for row in rows]
            return PairLabels([row[0] for row in rows], [row[1] for row in rows], match)
    allowed = "PairLabels, tuples of two ids and a label, or the path of a table"
    raise bad_parameter(name, type(labels).__name__, allowed)


def labels_from_table(
    table: LabelTable,
    place: str,
    *,
    pair_columns: tuple[str, str] | None = None,
    label_column: str | None = None,
    min_similarity: float | None = None,
    required: Iterable[str | None] = (),
    alternative: str = "",
) -> PairLabels:
    """Return the labelled pairs of a table.

    Parameters
    ----------
    table : mapping of str to list
    place : str
        Its path, for error messages.
    pair_columns, label_column, min_similarity
        As for `nearkin.quality.judgements.read_judgements`.
    required : iterable of str or None
        Additional columns that the table must have.
    alternative : str
        Another kind of table that the caller accepts, for the message about missing columns of pairs.

    Raises
    ------
    InputError
        No such columns, or an invalid id, label or weight.
    """
    missing = [name for name in (*(pair_columns or ()), label_column, *required) if name and name not in table]
    pair = next((pair for pair in ((pair_columns,) if pair_columns else PAIR_COLUMNS) if set(pair) <= set(table)), None)
    if missing or pair is None:
        tables = "pairs or clusters" if alternative else "pairs"
        reason = f"no column {missing[0]!r}" if missing else f"no columns of {tables}"
        reason += f" among {', '.join(read_table(place)) or 'none'}; name pair columns (left,right){alternative}"
        raise input_error(place, reason)
    label = label_column or next((name for name in LABEL_COLUMNS if name in table), None)
    for name in pair:
        check_ids(table[name], place, name)
    if label is None:
        # A column of weights in a list of matches has another meaning.
        return PairLabels(table[pair[0]], table[pair[1]])
    match = [_parse_label(value, min_similarity, place, label) for value in table[label]]
    weight, stratum, removed = (
        table[name] if name in table and name not in (label, *pair) else None
        for name in (WEIGHT_COLUMN, STRATUM_COLUMN, REMOVED_COLUMN)
    )
    return PairLabels(
        table[pair[0]],
        table[pair[1]],
        match,
        None if weight is None else _parse_weights(weight, place, table=True),
        stratum,
        None if removed is None else [_LABELS.get(str(value).strip().lower()) for value in removed],
        [str(value).strip().lower() == _WORSE for value in table[label]],
    )


def check_ids(ids: Iterable[object], place: str, column: str) -> None:
    """Raise InputError, with file, record and column, if a record of a table has no id."""
    for number, value in enumerate(ids, 1):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            cell = "no value" if value is None else f"the value {value!r}"
            reason = f'record {number} has {cell} in the column {column!r}; ids are integers or strings, "" is one'
            raise input_error(place, reason)


def _parse_label(value: Scalar, min_similarity: float | None, place: str, column: str) -> bool | None:
    """Convert a cell of the column of labels; None for an undecided pair."""
    if min_similarity is None:
        text = str(value).strip().lower()
        if text in _UNSURE:
            return None
        if text in _LABELS:
            return _LABELS[text]
        allowed = "labels are same, different, worse and unsure, or 1, 0 and empty; similarities need min_similarity"
    else:
        try:
            return float("" if value is None else value) >= min_similarity
        except (TypeError, ValueError):
            allowed = "min_similarity needs numbers"
    raise input_error(place, f"{column}={value!r}; {allowed}")
