"""What is known or found about documents: pairs that match or don't, and clusters; in memory and in files.

Ids are compared by their text, since a CSV file can't tell 7 from "7": two ids of one list that differ only in type are
an error. A pair has no order and occurs once; an id is in one cluster.

| file | is read as |
|---|---|
| a folder that `nearkin dedup` wrote | its clusters, its pairs, and which documents it saw |
| a table with an id and a cluster column | clusters |
| a table with two id columns | pairs, labelled if it has a label column |
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from nearkin.errors import InputError, bad_parameter
from nearkin.io import open_corpus, read_table
from nearkin.io.values import Scalar
from nearkin.search.ids import Ids

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

Columns: TypeAlias = Mapping[str, list[Any]]
"""Columns of a table, by name; their cells are whatever a file or a result holds."""

_TRUE, _FALSE = ("1", "true", "yes", "1.0"), ("0", "false", "no", "0.0")


def names(ids: Iterable[object], what: str) -> list[str]:
    """Ids as text.

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
            reason = f"row {row} has the id {value!r}; ids are integers or strings"
            raise InputError(f"{what}: {reason}", place=what, reason=reason)
        text = str(value)
        if kinds.setdefault(text, type(value)) is not type(value):
            reason = f"id {text} occurs as a number and as a string; ids are compared by their text"
            raise InputError(f"{what}: {reason}", place=what, reason=reason)
        result.append(text)
    return result


def _bools(match: Iterable[object]) -> list[bool]:
    """Labels of pairs: booleans, and numbers that stand for them."""
    result = []
    for row, value in enumerate(match):
        plain = value.item() if hasattr(value, "item") else value
        if not isinstance(plain, (bool, int, float)) or plain not in (0, 1):
            reason = f"row {row} has the label {value!r}; labels are True and False, or 1 and 0"
            raise InputError(f"pairs: {reason}", place="pairs", reason=reason)
        result.append(bool(plain))
    return result


@dataclass(frozen=True)
class PairLabels:
    """Pairs of ids, each said to match or not.

    Parameters
    ----------
    left, right : sequences of integers or strings
        The two ids of each pair, in any order.
    match : sequence of bool, optional
        Whether they match, True and False or 1 and 0; None if all do.

    Attributes
    ----------
    labels : dict of (str, str) to bool
        Each pair once, the smaller text first.
    repeated, selves, contradictory : int
        Pairs that occurred more than once; pairs of an id with itself, and pairs with both labels, which are left out.

    Raises
    ------
    ParameterError
        For columns of different lengths.
    InputError
        For an invalid id or label.

    Examples
    --------
    >>> from nearkin.quality.labels import PairLabels
    >>> PairLabels([1, 2, 3], [2, 1, 4], [True, True, False]).labels
    {('1', '2'): True, ('3', '4'): False}
    """

    left: Ids = field(repr=False)
    right: Ids = field(repr=False)
    match: Iterable[bool] | None = field(default=None, repr=False)
    labels: dict[tuple[str, str], bool] = field(init=False)
    repeated: int = field(init=False, default=0)
    selves: int = field(init=False, default=0)
    contradictory: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        left, right = list(self.left), list(self.right)
        match = [True] * len(left) if self.match is None else _bools(self.match)
        if not len(left) == len(right) == len(match):
            lengths = f"columns of {len(left)}, {len(right)} and {len(match)} rows"
            raise bad_parameter("pairs", lengths, "columns of one length")
        both = names([*left, *right], "pairs")
        labels: dict[tuple[str, str], bool] = {}
        repeated = selves = 0
        contradictory: set[tuple[str, str]] = set()
        for a, b, label in zip(both[: len(left)], both[len(left) :], match, strict=True):
            if a == b:
                selves += 1
                continue
            pair = (a, b) if a < b else (b, a)
            if pair in labels:
                repeated += 1
                if labels[pair] != label:
                    contradictory.add(pair)
            labels[pair] = label
        for pair in contradictory:
            del labels[pair]
        counts = {"repeated": repeated, "selves": selves, "contradictory": len(contradictory)}
        for name, value in {"labels": labels, **counts}.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class ClusterLabels:
    """The cluster of each id.

    Parameters
    ----------
    ids : sequence of integers or strings
    clusters : sequence of hashable values
        Name of the cluster of each id. None stands for a cluster of its own.

    Attributes
    ----------
    labels : dict of str to int
        Number of the cluster of each id, from 0.

    Raises
    ------
    ParameterError
        For columns of different lengths.
    InputError
        For an id in two clusters, or a name of a cluster that can't be hashed.

    Examples
    --------
    >>> from nearkin.quality.labels import ClusterLabels
    >>> ClusterLabels(["a", "b", "c", "d"], ["x", "y", "x", None]).labels
    {'a': 0, 'b': 1, 'c': 0, 'd': 2}
    """

    ids: Ids = field(repr=False)
    clusters: Iterable[Hashable] = field(repr=False)
    labels: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        ids, clusters = list(self.ids), list(self.clusters)
        if len(ids) != len(clusters):
            raise bad_parameter("clusters", f"{len(clusters)} rows", f"{len(ids)} rows, one per id")
        numbers: dict[Hashable, int] = {}
        labels: dict[str, int] = {}
        for name, cluster in zip(names(ids, "clusters"), clusters, strict=True):
            # A new object equals no name of a cluster.
            key = object() if cluster is None else cluster
            try:
                number = numbers.setdefault(key, len(numbers))
            except TypeError:
                reason = f"id {name} has the cluster {cluster!r}; clusters are named by integers, strings or tuples"
                raise InputError(f"clusters: {reason}", place="clusters", reason=reason) from None
            if labels.setdefault(name, number) != number:
                reason = f"id {name} is in two clusters; an id has one"
                raise InputError(f"clusters: {reason}", place="clusters", reason=reason)
        object.__setattr__(self, "labels", labels)


@dataclass(frozen=True)
class DedupRun:
    """What a deduplication found, as far as an evaluation asks.

    Attributes
    ----------
    clusters : ClusterLabels
        Documents of clusters of two or more, and those that an older document removed.
    documents : set of str
        Every document that it read.
    links : list of (str, str)
        Each removed document with the one kept for it, unless that is an older document.
    older : int
        Documents that were removed for an older one.
    pairs : PairLabels or None
        All verified links, if the run listed them (`links="all"`).
    numbered : bool
        Whether its ids are row numbers, since no column of ids was named.
    """

    clusters: ClusterLabels
    documents: set[str]
    links: list[tuple[str, str]]
    older: int
    pairs: PairLabels | None
    numbered: bool = False

    @classmethod
    def of_tables(
        cls, clusters: Columns, pairs: Columns, documents: Iterable[object], *, numbered: bool = False
    ) -> DedupRun:
        """The run of its two tables and its documents' ids."""
        new = [not reason.endswith("-old") for reason in clusters["reason"]]
        removed = [own and reason != "kept" for reason, own in zip(clusters["reason"], new, strict=True)]
        seen = {*names(documents, "documents"), *names(clusters["id"], "clusters")}
        ends = [
            (one, two)
            for one, two, wanted in zip(clusters["id"], clusters["representative"], removed, strict=True)
            if wanted
        ]
        flat = names([name for pair in ends for name in pair], "clusters")
        # Links to older documents name ids of another corpus, which may be the same as ids of this one.
        known = [row for row, (a, b) in enumerate(zip(pairs.get("left", ()), pairs.get("right", ()), strict=True))
                 if str(a) in seen and str(b) in seen]  # fmt: skip
        listed = None
        if "left" in pairs and all(new):
            listed = PairLabels([pairs["left"][row] for row in known], [pairs["right"][row] for row in known])
        links = list(zip(flat[::2], flat[1::2], strict=True))
        labels = ClusterLabels(clusters["id"], clusters["cluster"])
        return cls(labels, seen, links, len(new) - sum(new), listed, numbered)


def read_labels(
    path: str | os.PathLike[str],
    *,
    pair_columns: tuple[str, str] | None = None,
    label_column: str | None = None,
    at_least: float | None = None,
    id_column: str | None = None,
    cluster_column: str | None = None,
) -> PairLabels | ClusterLabels | DedupRun:
    r"""The labels of a file, or those of a run's folder.

    Parameters
    ----------
    path : path
        A folder that `nearkin dedup` wrote, or a table (JSON, CSV, TSV, Parquet; also compressed).
    pair_columns : (str, str), optional
        Columns of the two ids of a pair; None for the first of `PAIR_COLUMNS` that the table has.
    label_column : str, optional
        Column that says whether a pair matches (0 or 1, true or false), or with `at_least` how similar it is. None for
        the first of `LABEL_COLUMNS` that the table has; without any, all pairs match.
    at_least : float, optional
        Pairs whose number in `label_column` is at least this match.
    id_column, cluster_column : str, optional
        Columns of clusters; None for `id` and `cluster`.

    Raises
    ------
    InputError
        A file that can't be read, has none of these columns, or has an invalid label.
    ParameterError
        `at_least` without `label_column`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.quality.labels import read_labels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.tsv"
    >>> _ = path.write_text("id_a\tid_b\tjaccard\na\tb\t0.9\na\tc\t0.4\n")
    >>> read_labels(path, label_column="jaccard", at_least=0.8).labels
    {('a', 'b'): True, ('a', 'c'): False}
    """
    if at_least is not None and label_column is None:
        raise bad_parameter("at_least", at_least, "a number together with label_column, the column that it is about")
    if Path(path).is_dir():
        return _read_run(Path(path))
    wanted = {*pair_columns} if pair_columns else {name for pair in PAIR_COLUMNS for name in pair}
    wanted |= {label_column} if label_column else {*LABEL_COLUMNS}
    clusters = (id_column or "id", cluster_column or "cluster")
    table = read_table(path, wanted | {*clusters})
    place = os.fspath(path)
    asked = pair_columns is not None or label_column is not None
    if not asked and all(name in table for name in clusters):
        return ClusterLabels(table[clusters[0]], table[clusters[1]])
    missing = [name for name in (*(pair_columns or ()), label_column, id_column, cluster_column)
               if name and name not in table]  # fmt: skip
    pair = next((pair for pair in ((pair_columns,) if pair_columns else PAIR_COLUMNS) if set(pair) <= set(table)), None)
    if missing or pair is None:
        columns = ", ".join(read_table(path)) or "none"
        reason = f"no column {missing[0]!r}" if missing else "no columns of pairs or clusters"
        reason += f" among {columns}; name pair columns (left,right), or an id and a cluster column"
        raise InputError(f"{place}: {reason}", place=place, reason=reason)
    label = label_column or next((name for name in LABEL_COLUMNS if name in table), None)
    match = None if label is None else [_label(value, at_least, place, label) for value in table[label]]
    return PairLabels(table[pair[0]], table[pair[1]], match)


def _label(value: Scalar, at_least: float | None, place: str, column: str) -> bool:
    if at_least is None:
        text = str(value).lower()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        allowed = "labels are 0 and 1, or true and false; a column of similarities needs at_least"
    else:
        try:
            return float("" if value is None else value) >= at_least
        except (TypeError, ValueError):
            allowed = "at_least needs numbers"
    reason = f"{column}={value!r}; {allowed}"
    raise InputError(f"{place}: {reason}", place=place, reason=reason)


def _read_run(folder: Path) -> DedupRun:
    """The run that wrote a folder: clusters, pairs, and from the summary which ids its documents have."""
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        documents, kept = summary["documents"], summary.get("kept_files") or [summary["kept_file"]]
        text_column, id_column, form = summary["text_column"], summary["id_column"], summary["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"is no folder that nearkin dedup wrote ({error!r}); give that, or a table of pairs or clusters"
        raise InputError(f"{folder}: {reason}", place=str(folder), reason=reason) from error
    ending = "jsonl" if form in ("txt", "files", "warc") else form
    clusters, pairs = (read_table(folder / f"{name}.{ending}") for name in ("clusters", "pairs"))
    columns = {name: clusters.get(name, []) for name in ("id", "cluster", "representative", "reason")}
    ids: list[Scalar] = []
    numbered = id_column is None and form != "files"
    if numbered:
        ids = list(range(documents))
    elif documents > sum(reason != "kept" for reason in columns["reason"]):
        is_list = form == "files"
        with open_corpus(
            [folder / name for name in kept],
            format="txt" if is_list else form,
            text_column=None if ending != form else text_column,
            id_column=None if is_list else id_column,
        ) as corpus:
            for batch in corpus.batches():
                ids += list(batch.texts) if is_list else batch.ids.to_list()
    return DedupRun.of_tables(columns, pairs, ids, numbered=numbered)
