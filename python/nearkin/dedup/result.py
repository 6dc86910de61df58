"""The result of a deduplication: kept documents, and the tables of clusters and pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Ordinals, Values
from nearkin.dedup.candidates.base import distinct, numbered
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.keep import reasons_kept
from nearkin.dedup.reference import ReferenceCorpus
from nearkin.dedup.summary import REASONS, ClusterCounts, Reason, Summary, describe_counts
from nearkin.io import Column
from nearkin.io.frames import keep_rows
from nearkin.io.tables import Comparable, Tabular
from nearkin.io.values import INT, NULL, TEXT
from nearkin.notebook import html_facts
from nearkin.text.idf import Idf

_Frame = TypeVar("_Frame")

IdList: TypeAlias = list[Any]
"""Ids as the caller passed them: integers, strings, or row numbers."""


# Tables

_ROWS = 1 << 12
"""Rows of a table that become Python objects at once."""
_PAIRS = 1 << 11
"""Pairs whose values are copied at once to compute their distances."""
_LABEL = REASONS.index("label")
"""The last reason of a match; as many follow for reference documents."""
_REMOVED_REPRESENTATIVE = REASONS.index("representative")
FEW_SOURCES = REASONS.index("few-sources")


class LazyColumn(Sequence[Any]):
    """A column whose cells are computed on access.

    Parameters
    ----------
    keys : (n,) array
        One for each cell.
    cells : function
        Returns the cells of some keys as a list.
    """

    __slots__ = ("_cells", "_keys")

    def __init__(self, keys: NDArray[Any], cells: Callable[[NDArray[Any]], list[Any]]) -> None:
        self._keys, self._cells = keys, cells

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, row: Any) -> Any:
        """Return the cell of a row; a list for a slice."""
        if isinstance(row, slice):
            return self._cells(self._keys[row])
        return self._cells(self._keys[row : row + 1 or None])[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _ROWS):
            yield from self[start : start + _ROWS]

    def take(self, rows: NDArray[Any]) -> LazyColumn:
        """Return the cells of some rows, by number or mask."""
        return LazyColumn(self._keys[rows], self._cells)


TableColumn: TypeAlias = list[Any] | NDArray[Any] | LazyColumn
"""A column of a table in compact form."""


def _to_list(cells: TableColumn) -> list[Any]:
    """Convert a column to Python objects."""
    if isinstance(cells, np.ndarray):
        return cells.tolist()  # type: ignore[no-any-return]
    return cells[:] if isinstance(cells, LazyColumn) else cells


def _take(cells: TableColumn, rows: NDArray[np.int64]) -> TableColumn:
    """Return some rows of a column."""
    if isinstance(cells, list):
        return [cells[row] for row in rows.tolist()]
    return cells.take(rows)


_TYPES = {"cluster": "int64", "distance": "int64", "similarity": "float64", "reason": "string", "reason_kept": "string"}
"""Arrow types of columns whose cells may not determine them: without rows, or without verification."""


class ResultTable(Tabular):
    """Columns of equal length, by name.

    Parameters
    ----------
    columns : mapping of str to list, array or LazyColumn
        Arrays and lazy columns become lists of Python objects on access.
    id_type : str, optional
        Name of the Arrow type of ids, for tables without rows as well.

    Attributes
    ----------
    columns : dict of str to list
    compact : mapping of str to list, array or LazyColumn
        The same columns in compact form, for writers that take some rows at a time.

    Examples
    --------
    >>> from nearkin.dedup.result import ResultTable
    >>> table = ResultTable({"id": ["a", "b"], "distance": [0, 3]})
    >>> table["id"], len(table), next(table.rows())
    (['a', 'b'], 2, {'id': 'a', 'distance': 0})
    """

    _own_types: ClassVar[Mapping[str, str]] = {}
    """Arrow types of further columns of a kind of table."""

    def __init__(self, columns: Mapping[str, TableColumn], *, id_type: str | None = None) -> None:
        self._stored: dict[str, TableColumn] = dict(columns)
        self._id_type = id_type

    @property
    def columns(self) -> dict[str, list[Any]]:
        """All columns as lists."""
        return {name: self[name] for name in self._stored}

    @property
    def compact(self) -> Mapping[str, TableColumn]:
        """All columns in compact form."""
        return self._stored

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, object]], names: Iterable[str] = ()) -> ResultTable:
        """Build a table from rows with the same keys; `names` are the keys if there is no row."""
        return cls({name: [row[name] for row in rows] for name in (rows[0] if rows else names)})

    def __getitem__(self, name: str) -> list[Any]:
        column = self._stored[name]
        if not isinstance(column, list):
            column = self._stored[name] = _to_list(column)
        return column

    def __len__(self) -> int:
        return len(next(iter(self._stored.values())))

    def __repr__(self) -> str:
        return f"<table of {len(self)} rows: {', '.join(self._stored)}>"

    __iter__ = Tabular.rows

    def _compact_columns(self) -> Mapping[str, Any]:
        return self._stored

    def _values(self) -> Mapping[str, object]:
        return self.columns

    def with_column(self, name: str, cells: TableColumn) -> None:
        """Append a column."""
        self._stored[name] = cells

    def _columns(self) -> dict[str, list[Any]]:
        return self.columns

    def _types(self) -> dict[str, str]:
        names = ("id", "other", "representative", "left", "right") if self._id_type is not None else ()
        return {**_TYPES, **self._own_types, **dict.fromkeys(names, self._id_type or "")}


class ClusterTable(ResultTable):
    """The documents of clusters: id, cluster, representative, distance, similarity, reason."""

    codes: NDArray[np.uint8] = np.zeros(0, np.uint8)
    """The index of each row's reason in `REASONS`."""
    members: NDArray[np.int64] = np.zeros(0, np.int64)
    """The row of the document of each row."""
    heads: NDArray[np.int64] = np.zeros(0, np.int64)
    """The row of its representative; -1 - k for reference document k."""

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, name: Literal["id", "representative"]) -> IdList: ...
        @overload
        def __getitem__(self, name: Literal["cluster", "distance"]) -> list[int]: ...
        @overload
        def __getitem__(self, name: Literal["similarity"]) -> list[float]: ...
        @overload
        def __getitem__(self, name: Literal["reason"]) -> list[Reason]: ...
        @overload
        def __getitem__(self, name: str) -> list[Any]: ...
        def __getitem__(self, name: str) -> list[Any]: ...


class PairTable(ResultTable):
    """Links between documents: id and representative, or left and right; distance, similarity."""

    ordinals: tuple[Ordinals, Ordinals] | None = None
    """With `links="all"` the ordinals of both documents."""
    copies = 0
    """With `links="all"` the number of final rows that link an exact copy with its original."""

    def with_copies(self) -> Iterator[dict[str, Any]]:
        """Yield every pair of documents that match, as rows of `links="all"`; a copy matches what its original matches.

        The table itself stores links only: n equal documents are n - 1 links and n (n - 1) / 2 pairs. Pairs of
        different contents come first, in the order of the table; then those of copies.

        Examples
        --------
        >>> import nearkin as nk
        >>> texts = ["one two three four", "one two three four", "one two three four"]
        >>> pairs = nk.dedup(texts, links="all").pairs
        >>> [(row["left"], row["right"]) for row in pairs.rows()]
        [(0, 1), (0, 2)]
        >>> [(row["left"], row["right"]) for row in pairs.with_copies()]
        [(0, 1), (0, 2), (1, 2)]
        """
        if self.ordinals is None:
            yield from self.rows()
            return
        left, right = (side.tolist() for side in self.ordinals)
        names = {**dict(zip(left, self["left"], strict=True)), **dict(zip(right, self["right"], strict=True))}
        first_copy = len(self) - self.copies
        groups: dict[int, list[int]] = {}
        for original, copy in zip(left[first_copy:], right[first_copy:], strict=True):
            groups.setdefault(original, [original]).append(copy)
        copies: dict[int, dict[str, Any]] = {}
        for number, row in enumerate(self.rows()):
            a, b = left[number], right[number]
            if number >= first_copy:
                copies.setdefault(a, row)
                continue
            for pair in product(groups.get(a, [a]), groups.get(b, [b])):
                one, other = pair if (pair[0] < pair[1]) == (a < b) else pair[::-1]
                yield {**row, "left": names[one], "right": names[other]}
        for original, row in copies.items():
            for one, other in combinations(groups[original], 2):
                yield {**row, "left": names[one], "right": names[other]}

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, name: Literal["id", "representative", "left", "right"]) -> IdList: ...
        @overload
        def __getitem__(self, name: Literal["distance"]) -> list[int]: ...
        @overload
        def __getitem__(self, name: Literal["similarity"]) -> list[float]: ...
        @overload
        def __getitem__(self, name: str) -> list[Any]: ...
        def __getitem__(self, name: str) -> list[Any]: ...


@dataclass(frozen=True, eq=False)
class DedupResult(Comparable):
    """The result of a deduplication. Two results are equal if all their values are, the timings of the summary aside.

    Attributes
    ----------
    kept_rows : (n_kept,) int64
        Rows of the kept documents, ascending.
    clusters : ClusterTable
        A row for every document of a cluster of two or more, and for every document removed for a reference document:
        id, cluster (number from 0), representative (id of the kept document), distance, similarity (NaN without
        verification), reason.
    pairs : PairTable
        Links of removed documents with their representative: id, representative, distance, similarity; with
        `links="all"` every verified link between two documents: left, right, distance, similarity.
    summary : dict
        Counts, recipe, parameters, version and timings per stage, as in the file summary.json.
    ids : Column
        Ids of all documents, by row.
    weights : (n_kept,) int64
        Number of documents that each kept one stands for: the size of its cluster, 1 without one.
    near_misses : PairTable or None
        If requested, candidates of a random sample of the kept documents that are no matches: left, right, distance,
        similarity.
    groups : Column or None
        With groups, the group of each document by row. The tables name groups; rows and ids are those of documents.
    idf : Idf or None
        The table that was fitted to the texts for a recipe with the weight `idf` alone.
    """

    kept_rows: NDArray[np.int64]
    clusters: ClusterTable
    pairs: PairTable
    summary: Summary
    ids: Column
    weights: NDArray[np.int64]
    near_misses: PairTable | None = None
    groups: Column | None = None
    idf: Idf | None = field(default=None, compare=False)

    @cached_property
    def kept(self) -> IdList:
        """Ids of the kept documents, in input order; the list is built on first access."""
        return self.ids.to_list() if len(self.kept_rows) == len(self.ids) else self.ids.take(self.kept_rows)

    def filter(self, frame: _Frame, *, weights: str | None = None) -> _Frame:
        """Return the kept rows of the input frame, or of another frame with the same rows.

        Parameters
        ----------
        frame : DataFrame, LazyFrame, Table, RecordBatch, RecordBatchReader, Dataset, column, array, list or tuple
            Of pandas, polars, pyarrow or Hugging Face. The result has the same type; for another object with
            `__arrow_c_stream__` it is a pyarrow Table.
        weights : str, optional
            Name of a column to append, with `weights`: "cluster_size". Only for a frame.

        Raises
        ------
        ParameterError
            A frame of another length; a column of the name that exists. A RecordBatchReader raises it when it is read
            to its end.

        Examples
        --------
        >>> import nearkin as nk, pandas as pd
        >>> pages = pd.DataFrame({"text": ["Twice the same.", "Something else", "Twice the same!"], "n": [1, 2, 3]})
        >>> nk.dedup(pages).filter(pages)["n"].tolist()
        [1, 2]
        >>> nk.dedup(pages).filter(pages, weights="cluster_size")["cluster_size"].tolist()
        [2, 1]
        """
        added = None if weights is None else (weights, self.weights)
        return keep_rows(frame, self.kept_rows, len(self.ids), added)

    def __repr__(self) -> str:
        return describe_counts(self.summary)

    def _repr_html_(self) -> str:
        """Render the counts and the first clusters for a notebook."""
        names = (
            "documents",
            "kept",
            "removed",
            "groups",
            "removed_by_reason",
            "without_features",
            "clusters",
            "labels",
        )
        summary: Mapping[str, object] = self.summary
        facts = [
            (name.replace("_", " "), _format_fact(summary[name]))
            for name in (*names, "recipe", "threshold", "radius")
            if name in summary
        ]
        facts += [("warning", warning) for warning in self.summary.get("warnings", [])]
        return html_facts(facts) + self.clusters._repr_html_()


def _format_fact(value: object) -> str:
    """Format a value of a summary."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_format_fact(count)}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


# From ordinals to tables


@dataclass(frozen=True)
class Representatives:
    """The kept document for each new one, by position in keep order.

    Attributes
    ----------
    rows : (n,) int64
        Rows of the new documents.
    by : (n,) int64
        Position of the representative: its own for a kept document; n + k for reference document k.
    similarity : (n,) float64
        Similarity to it.
    copy_of : (n,) int64
        Position, likewise, of the first document with the same content.
    labelled : (n,) bool, optional
        True for a document that is not similar to its representative, and was merged with it for a label.
    """

    rows: NDArray[np.int64]
    by: Ordinals
    similarity: NDArray[np.float64]
    copy_of: Ordinals
    labelled: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def removed(self) -> Ordinals:
        """Positions of the removed documents."""
        return np.flatnonzero(self.by != np.arange(len(self)))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of new documents that each one represents: its own cluster, 0 for a removed document."""
        return np.bincount(self.by[self.by < len(self)], minlength=len(self))

    def clusters(self, count: int) -> NDArray[np.int64]:
        """Return for each of `count` documents the number of its cluster: a row, or from `count` on for a reference."""
        clusters = np.arange(count)
        clusters[self.rows] = np.where(
            self.by < len(self), self.rows[np.minimum(self.by, len(self) - 1)], self.by - len(self) + count
        )
        return clusters

    def fates(self, count: int, *, keeps_none: bool) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return for each of `count` documents whether it is kept, and the number of those that it represents."""
        kept, weights = np.ones(count, bool), np.ones(count, np.int64)
        kept[self.rows[self.removed]] = False
        if keeps_none:
            heads = self.by[self.removed]
            kept[self.rows[heads[heads < len(self)]]] = False
        weights[self.rows] = self.sizes
        return kept, weights


@dataclass(frozen=True)
class TableBuilder:
    """Builds tables of new documents, by position in keep order, and of reference documents after them."""

    new: HashedDocuments
    reference: ReferenceCorpus | None
    representatives: Representatives
    distances: Callable[[Values, Values], NDArray[Any]] | None = None
    """Distances of values; None for tables without them."""
    equal: float = 1.0
    """Similarity of equal contents."""

    def clusters(
        self,
        *,
        by_features: bool,
        keeps_none: bool = False,
        removed: NDArray[np.bool_] | None = None,
        by_best: bool = False,
    ) -> ClusterTable:
        """Build the clusters table: clusters by their first row, in each the representative, then the others by row.

        With `by_features` a similarity of 1 means equal features; with `keeps_none` representatives are removed, and
        those in `removed`, by row, for too few sources; with `by_best` a column says what the representative has over
        each removed document.
        """
        chosen = self.representatives
        members, cluster = cluster_members(chosen)
        representative = chosen.by[members]
        exact = representative == chosen.copy_of[members]
        near = np.where(chosen.similarity[members] == 1.0, 2, 3) if by_features else np.full(len(members), 3)
        if chosen.labelled is not None:
            near = np.where(chosen.labelled[members], _LABEL, near)
        reason = np.where(exact, 1, near) + np.where(representative >= len(chosen), _LABEL, 0)
        reason[representative == members] = _REMOVED_REPRESENTATIVE if keeps_none else 0
        if removed is not None:
            reason[(representative == members) & removed[chosen.rows[members]]] = FEW_SOURCES
        codes = reason.astype(np.uint8)
        table = ClusterTable(
            {
                "id": self._ids(members),
                "cluster": cluster,
                "representative": self._ids(representative),
                # Signatures without features differ, but a document has distance 0 to itself and its copies.
                **self._distances(members, representative, exact | (representative == members)),
                "similarity": chosen.similarity[members],
                "reason": LazyColumn(codes, _reason_names),
            },
            id_type=self._id_type(),
        )
        table.codes, table.members = codes, chosen.rows[members]
        table.heads = len(chosen) - 1 - representative
        own = np.flatnonzero(representative < len(chosen))
        table.heads[own] = chosen.rows[representative[own]]
        if by_best:
            why: list[str | None] = [None] * len(members)
            own = np.flatnonzero((representative != members) & (representative < len(chosen)))
            pairs = chosen.rows[representative[own]], chosen.rows[members[own]]
            for at, reason_kept in zip(own.tolist(), reasons_kept(self.new, *pairs), strict=True):
                why[at] = reason_kept
            table.with_column("reason_kept", why)
        return table

    def pairs(self, left: Ordinals, right: Ordinals, similarity: NDArray[np.float64]) -> PairTable:
        """Build a table of pairs of distinct contents, sorted by left, then right."""
        order = np.lexsort((right, left))
        left, right = left[order], right[order]
        return self._link_table(left, right, similarity[order])

    def all_links(self, left: Ordinals, right: Ordinals, similarity: NDArray[np.float64]) -> PairTable:
        """Build the table of all links: these, of distinct contents, then each copy with its original."""
        copy_of = self.representatives.copy_of
        copies = np.flatnonzero(copy_of != np.arange(len(copy_of)))
        left, right = np.concatenate([left, copy_of[copies]]), np.concatenate([right, copies])
        similarity = np.concatenate([similarity, np.full(len(copies), self.equal)])
        table = self._link_table(left, right, similarity, len(copies))
        table.ordinals, table.copies = (left, right), len(copies)
        return table

    def _link_table(
        self, left: Ordinals, right: Ordinals, similarity: NDArray[np.float64], num_copies: int = 0
    ) -> PairTable:
        ids = {"left": self._ids(left), "right": self._ids(right)}
        distances = self._distances(right, left, slice(len(left) - num_copies, None))
        return PairTable({**ids, **distances, "similarity": similarity}, id_type=self._id_type())

    def _ids(self, positions: Ordinals) -> TableColumn:
        """Return ids: lazily, unless reference documents, which may change, are among them."""
        rows = self.representatives.rows
        own = positions < len(rows)
        if self.reference is None or own.all():
            return LazyColumn(rows[positions], self.new.ids.take)
        names: IdList = self.new.ids.take(rows[np.where(own, positions, 0)])
        external = np.flatnonzero(~own)
        for at, name in zip(external.tolist(), self.reference.ids(positions[external] - len(rows)), strict=True):
            names[at] = name
        return names

    def _distances(
        self, positions: Ordinals, others: Ordinals, equal: NDArray[np.bool_] | slice
    ) -> dict[str, TableColumn]:
        """Return the column of distances of new documents to others; those of `equal` contents are 0."""
        if self.distances is None:
            return {}
        distances = np.zeros(len(positions), np.int64)
        for start in range(0, len(positions), _PAIRS):
            chunk = slice(start, start + _PAIRS)
            distances[chunk] = self._chunk_distances(self.distances, positions[chunk], others[chunk])
            self.new.release()
        distances[equal] = 0
        return {"distance": distances}

    def _chunk_distances(
        self, measure: Callable[[Values, Values], NDArray[Any]], positions: Ordinals, others: Ordinals
    ) -> NDArray[np.int64]:
        rows = self.representatives.rows
        values = self.new.values[rows[positions]]
        own = others < len(rows)
        distances = np.zeros(len(positions), np.int64)
        distances[own] = measure(values[own], self.new.values[rows[others[own]]])
        if self.reference is not None and not own.all():
            external = self.reference.values(others[~own] - len(rows))
            distances[~own] = measure(values[~own], external)
        return distances

    def _id_type(self) -> str | None:
        """Return the Arrow type of ids; None for ids of several kinds, without ids, or of vectors."""
        kinds = np.flatnonzero(np.bincount(self.new.ids.kinds)).tolist()
        if self.distances is None or len(kinds) != 1:
            return None
        # Paths are strings outside of the column's own.
        return {INT: "int64", TEXT: "string", NULL: "string"}.get(kinds[0])


def _reason_names(codes: NDArray[Any]) -> list[Any]:
    return [REASONS[code] for code in codes.tolist()]


def cluster_members(representatives: Representatives) -> tuple[Ordinals, NDArray[np.int64]]:
    """Return the positions of clustered documents in the order of the table, and the number of the cluster of each."""
    removed = representatives.removed
    heads = distinct(representatives.by[removed])
    # A reference document has no row of its own.
    members = np.concatenate([removed, heads[heads < len(representatives)]])
    rows = representatives.rows[members]
    # Clusters are numbered by their first row in the input.
    keys, cluster = numbered(representatives.by[members])
    first_row = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(first_row, cluster, rows)
    number = np.empty(len(keys), np.int64)
    number[np.argsort(first_row, kind="stable")] = np.arange(len(keys))
    cluster = number[cluster]
    order = np.lexsort((rows, representatives.by[members] != members, cluster))
    return members[order], cluster[order]


def count_clusters(
    clusters: ClusterTable, kept: NDArray[np.bool_], without_features: int, reasons: Iterable[Reason]
) -> ClusterCounts:
    """Count documents by their fate, and clusters."""
    sizes = np.bincount(clusters.compact["cluster"]) if len(clusters) else np.zeros(1, np.int64)
    by_reason = np.bincount(clusters.codes, minlength=len(REASONS)).tolist()
    return {
        "documents": len(kept),
        "without_features": without_features,
        "kept": int(kept.sum()),
        "removed": int((~kept).sum()),
        "removed_by_reason": {reason: by_reason[REASONS.index(reason)] for reason in reasons},
        "clusters": int((sizes > 0).sum()),
        "largest_cluster": int(sizes.max()),
    }


def representative_links(clusters: ClusterTable) -> PairTable:
    """Build the table that links each removed document with its representative."""
    removed = np.flatnonzero((clusters.codes != 0) & (clusters.codes < _REMOVED_REPRESENTATIVE))
    # Vectors have no distance between fingerprints.
    names = [name for name in ("id", "representative", "distance", "similarity") if name in clusters.compact]
    return PairTable({name: _take(clusters.compact[name], removed) for name in names}, id_type=clusters._id_type)
