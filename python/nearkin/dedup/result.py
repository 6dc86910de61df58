"""What a deduplication found: which documents stay, and the tables of clusters and pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateSource, Places, Values
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.reference import OlderDocuments
from nearkin.dedup.spill import release
from nearkin.dedup.summary import REASONS, Reason, Summary
from nearkin.io import Column
from nearkin.io.frames import keep_rows
from nearkin.io.tables import Tabular
from nearkin.io.values import INT, NULL, TEXT
from nearkin.notebook import html_facts

_Frame = TypeVar("_Frame")

IdList: TypeAlias = list[Any]
"""Ids as they were given: integers, strings, or row numbers; only the caller knows which."""


# Tables

_ROWS = 1 << 12
"""Rows of a table that become Python objects at once."""


_VALUES = 1 << 11
"""Pairs whose values are copied at once to tell their distances."""


class Taken(Sequence[Any]):
    """A column whose cells are made when they are asked for.

    Parameters
    ----------
    places : (n,) array
        What each cell is made of.
    cells : function
        The cells of some places, as a list.
    """

    __slots__ = ("_cells", "_places")

    def __init__(self, places: NDArray[Any], cells: Callable[[NDArray[Any]], list[Any]]) -> None:
        self._places, self._cells = places, cells

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, row: Any) -> Any:
        """The cell of a row; a list for a slice."""
        if isinstance(row, slice):
            return self._cells(self._places[row])
        return self._cells(self._places[row : row + 1 or None])[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _ROWS):
            yield from self[start : start + _ROWS]

    def some(self, chosen: NDArray[Any]) -> Taken:
        """The cells of some rows, by number or mask."""
        return Taken(self._places[chosen], self._cells)


HeldColumn: TypeAlias = list[Any] | NDArray[Any] | Taken
"""A column of a table as it is held."""


def _listed(cells: HeldColumn) -> list[Any]:
    """A column as Python objects."""
    if isinstance(cells, np.ndarray):
        return cells.tolist()  # type: ignore[no-any-return]
    return cells[:] if isinstance(cells, Taken) else cells


def _named(codes: NDArray[Any]) -> list[Any]:
    """Reasons of their numbers."""
    return [REASONS[code] for code in codes.tolist()]


_TYPES = {"cluster": "int64", "distance": "int64", "similarity": "float64", "reason": "string"}
"""Arrow types of what cells may leave open: a table without rows, similarities that nothing verified."""


class ResultTable(Tabular):
    """Columns of equal length, by name.

    Parameters
    ----------
    columns : mapping of str to list, array or Taken
        Arrays and `Taken` become lists of Python objects when they are asked for.
    id_type : str, optional
        Name of the Arrow type of ids, which a table without rows has, too.

    Attributes
    ----------
    columns : dict of str to list
    compact : mapping of str to list, array or Taken
        The same as they are held, for writers that take some rows at a time.

    Examples
    --------
    >>> from nearkin.dedup.result import ResultTable
    >>> table = ResultTable({"id": ["a", "b"], "distance": [0, 3]})
    >>> table["id"], len(table), next(table.rows())
    (['a', 'b'], 2, {'id': 'a', 'distance': 0})
    """

    def __init__(self, columns: Mapping[str, HeldColumn], *, id_type: str | None = None) -> None:
        self._held: dict[str, HeldColumn] = dict(columns)
        self._id_type = id_type

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Every column as a list."""
        return {name: self[name] for name in self._held}

    @property
    def compact(self) -> Mapping[str, HeldColumn]:
        """Every column as it is held."""
        return self._held

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, object]], names: Iterable[str] = ()) -> ResultTable:
        """Rows with the same keys, as columns; `names` are the keys where there is no row."""
        return cls({name: [row[name] for row in rows] for name in (rows[0] if rows else names)})

    def __getitem__(self, name: str) -> list[Any]:
        held = self._held[name]
        if not isinstance(held, list):
            held = self._held[name] = _listed(held)
        return held

    def __len__(self) -> int:
        return len(next(iter(self._held.values())))

    def __repr__(self) -> str:
        return f"<table of {len(self)} rows: {', '.join(self._held)}>"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict."""
        for start in range(0, len(self), _ROWS):
            parts = [_listed(held[start : start + _ROWS]) for held in self._held.values()]
            yield from (dict(zip(self._held, row, strict=True)) for row in zip(*parts, strict=True))

    def with_column(self, name: str, cells: HeldColumn) -> None:
        """Put a column behind the others."""
        self._held[name] = cells

    def _columns(self) -> dict[str, list[Any]]:
        return self.columns

    def _types(self) -> dict[str, str]:
        ids = dict.fromkeys(("id", "representative", "left", "right"), self._id_type)
        return {**_TYPES, **{name: kind for name, kind in ids.items() if kind is not None}}


class ClusterTable(ResultTable):
    """The documents of clusters: id, cluster, representative, distance, similarity, reason."""

    codes: NDArray[np.uint8] = np.zeros(0, np.uint8)
    """The number of each row's reason in `REASONS`."""

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

    places: tuple[Places, Places] | None = None
    """Of all links the places of both documents in the order of visits."""
    copies = 0
    """Of all links how many of the last rows are those of exact copies, each with its original."""

    def with_copies(self) -> Iterator[dict[str, Any]]:
        """Every two documents that match, as rows of all links: a copy matches whatever its original matches.

        Only the links are held: n equal documents are n (n - 1) / 2 rows. Those of different contents come first, in
        the order of the table; then those of copies.

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
        if self.places is None:
            yield from self.rows()
            return
        left, right = (side.tolist() for side in self.places)
        names = {**dict(zip(left, self["left"], strict=True)), **dict(zip(right, self["right"], strict=True))}
        groups: dict[int, list[int]] = {}
        for original, copy in zip(left[len(self) - self.copies :], right[len(self) - self.copies :], strict=True):
            groups.setdefault(original, [original]).append(copy)
        copies: dict[int, dict[str, Any]] = {}
        for at, row in enumerate(self.rows()):
            if at >= len(self) - self.copies:
                copies.setdefault(left[at], row)
                continue
            for one, other in product(
                groups.get(left[at], left[at : at + 1]), groups.get(right[at], right[at : at + 1])
            ):
                ends = (one, other) if (one < other) == (left[at] < right[at]) else (other, one)
                yield {**row, "left": names[ends[0]], "right": names[ends[1]]}
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


@dataclass(frozen=True)
class DedupResult:
    """What a deduplication found.

    Attributes
    ----------
    kept_rows : (n_kept,) int64
        Rows of the documents that stay, ascending.
    clusters : ClusterTable
        A row for every document of a cluster of two or more, and for every document that an older one removed: id,
        cluster (number from 0), representative (id of the kept document), distance, similarity (NaN without
        verification), reason.
    pairs : PairTable
        Links of removed documents with their representative: id, representative, distance, similarity; with
        `links="all"` every verified link between two documents: left, right, distance, similarity.
    summary : dict
        Counts, recipe, parameters, version, timings per stage; as in the file summary.json.
    ids : Column
        Ids of all documents, by row.
    near_misses : PairTable or None
        Candidates that are no matches, of a random sample of the kept documents: left, right, distance, similarity.
        None where they were not asked for.
    """

    kept_rows: NDArray[np.int64]
    clusters: ClusterTable
    pairs: PairTable
    summary: Summary
    ids: Column
    near_misses: PairTable | None = None

    @cached_property
    def kept(self) -> IdList:
        """Ids of the documents that stay, in input order; Python objects from the first use on."""
        return self.ids.to_list() if len(self.kept_rows) == len(self.ids) else self.ids.take(self.kept_rows)

    def filter(self, frame: _Frame) -> _Frame:
        """The rows that stay of the frame that was deduplicated, or of another one with the same rows.

        Parameters
        ----------
        frame : DataFrame, LazyFrame, Table, RecordBatch, RecordBatchReader, Dataset, column, array, list or tuple
            Of pandas, polars, pyarrow or Hugging Face. The result is of the same type; of another object with
            `__arrow_c_stream__` it is a pyarrow Table.

        Raises
        ------
        ParameterError
            A frame of another length. A RecordBatchReader tells when it is read to its end.

        Examples
        --------
        >>> import nearkin as nk, pandas as pd
        >>> pages = pd.DataFrame({"text": ["Twice the same.", "Something else", "Twice the same!"], "n": [1, 2, 3]})
        >>> nk.dedup(pages).filter(pages)["n"].tolist()
        [1, 2]
        """
        return keep_rows(frame, self.kept_rows, len(self.ids))

    def __repr__(self) -> str:
        documents, removed = self.summary["documents"], self.summary["removed"]
        clusters = self.summary["clusters"]
        return f"<kept {len(self.kept_rows)} of {documents} documents, removed {removed} in {clusters} clusters>"

    def _repr_html_(self) -> str:
        """What was removed for what, and the first clusters, for a notebook."""
        names = (
            "documents",
            "kept",
            "removed",
            "removed_by_reason",
            "clusters",
            "labels",
            "recipe",
            "threshold",
            "radius",
        )
        told: Mapping[str, object] = self.summary
        facts = [(name.replace("_", " "), _fact(told[name])) for name in names if name in told]
        facts += [("warning", warning) for warning in self.summary.get("warnings", [])]
        return html_facts(facts) + self.clusters._repr_html_()


def _fact(value: object) -> str:
    """A value of a summary in words."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_fact(count)}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


# From places to tables


@dataclass(frozen=True)
class Representatives:
    """The document that stays for each new one that has features, by place in keep order.

    Attributes
    ----------
    rows : (n,) int64
        Rows of the new documents.
    by : (n,) int64
        Place of the representative: its own for a kept document; n + k for number k of `Heads`.
    similarity : (n,) float64
        Similarity to it.
    copy_of : (n,) int64
        Place, likewise, of the first document with the same content.
    """

    rows: NDArray[np.int64]
    by: Places
    similarity: NDArray[np.float64]
    copy_of: Places

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def removed(self) -> Places:
        """Places of the documents that do not stay."""
        return np.flatnonzero(self.by != np.arange(len(self)))


class Heads(Protocol):
    """What stays for new documents without being one of them, by number."""

    def ids(self, numbers: NDArray[np.int64]) -> IdList:
        """Their ids."""

    def distances(
        self, candidate_source: CandidateSource, places: Places, values: Values, numbers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Distances of new documents, by place and with their values, to these."""


@dataclass(frozen=True)
class OlderHeads:
    """Older documents, by row."""

    older: OlderDocuments

    def ids(self, numbers: NDArray[np.int64]) -> IdList:
        """As they were given."""
        return self.older.ids(numbers)

    def distances(
        self, candidate_source: CandidateSource, places: Places, values: Values, numbers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Of the values."""
        return candidate_source.distances(values, self.older.values(numbers))


@dataclass(frozen=True)
class IndexHeads:
    """Entries of an index: their ids, and how far each new document lies from its own."""

    names: IdList
    distance: NDArray[np.int64]

    def ids(self, numbers: NDArray[np.int64]) -> IdList:
        """As the index has them."""
        return [self.names[number] for number in numbers.tolist()]

    def distances(
        self, candidate_source: CandidateSource, places: Places, values: Values, numbers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """As the index said."""
        return self.distance[places]


class _Documents:
    """New documents by place in keep order, and those of `Heads` after them."""

    def __init__(
        self, candidate_source: CandidateSource, new: HashedDocuments, heads: Heads, rows: NDArray[np.int64]
    ) -> None:
        self._source, self._new, self._heads, self._rows = candidate_source, new, heads, rows

    def ids(self, places: Places) -> HeldColumn:
        """Ids of places, made when they are asked for, unless some are those of `Heads`, which may change."""
        n = len(self._rows)
        own = places < n
        if own.all():
            return Taken(self._rows[places], self._new.ids.take)
        names: IdList = self._new.ids.take(self._rows[np.where(own, places, 0)])
        other = np.flatnonzero(~own)
        for at, name in zip(other.tolist(), self._heads.ids(places[other] - n) if len(other) else (), strict=True):
            names[at] = name
        return names

    def distances(self, places: Places, others: Places) -> NDArray[np.int64]:
        """From new documents to any."""
        found = np.zeros(len(places), np.int64)
        for start in range(0, len(places), _VALUES):
            part = slice(start, start + _VALUES)
            found[part] = self._distances(places[part], others[part])
            release(self._new.values)
        return found

    def _distances(self, places: Places, others: Places) -> NDArray[np.int64]:
        n = len(self._rows)
        values = self._new.values[self._rows[places]]
        own = others < n
        found = np.zeros(len(places), np.int64)
        found[own] = self._source.distances(values[own], self._new.values[self._rows[others[own]]])
        if not own.all():
            found[~own] = self._heads.distances(self._source, places[~own], values[~own], others[~own] - n)
        return found


def clusters_table(
    candidate_source: CandidateSource, new: HashedDocuments, heads: Heads, found: Representatives, *, by_features: bool
) -> ClusterTable:
    """The clusters table: clusters by their first row, in each the representative, then the others by row.

    `by_features` says that a similarity of 1 is that of equal features.
    """
    members, cluster = cluster_members(found)
    representative = found.by[members]
    exact = representative == found.copy_of[members]
    near = np.where(found.similarity[members] == 1.0, 2, 3) if by_features else np.full(len(members), 3)
    reason = np.where(exact, 1, near) + np.where(representative >= len(found), 3, 0)
    reason[representative == members] = 0
    documents = _Documents(candidate_source, new, heads, found.rows)
    distance = documents.distances(members, representative)
    # Signatures without features differ from one another; a document does not from itself, nor from its copies.
    distance[exact | (representative == members)] = 0
    codes = reason.astype(np.uint8)
    table = ClusterTable(
        {
            "id": documents.ids(members),
            "cluster": cluster,
            "representative": documents.ids(representative),
            "distance": distance,
            "similarity": found.similarity[members],
            "reason": Taken(codes, _named),
        },
        id_type=_id_type(new.ids),
    )
    table.codes = codes
    return table


def _id_type(ids: Column) -> str | None:
    """The Arrow type of ids; None where they are of several kinds, or where there is none."""
    kinds = np.unique(ids.kinds).tolist()
    # Paths are strings beside the column's own.
    return {INT: "int64", TEXT: "string", NULL: "string"}.get(kinds[0]) if len(kinds) == 1 else None


def cluster_members(found: Representatives) -> tuple[Places, NDArray[np.int64]]:
    """Places of the documents of clusters in the order of the table, and the number of the cluster of each."""
    removed = found.removed
    heads = np.unique(found.by[removed])
    # Only a new document has a row of its own.
    members = np.concatenate([removed, heads[heads < len(found)]])
    rows = found.rows[members]
    # Clusters are numbered by their first row in the input.
    keys, cluster = np.unique(found.by[members], return_inverse=True)
    least = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(least, cluster, rows)
    number = np.empty(len(keys), np.int64)
    number[np.argsort(least, kind="stable")] = np.arange(len(keys))
    cluster = number[cluster]
    order = np.lexsort((rows, found.by[members] != members, cluster))
    return members[order], cluster[order]


def representative_links(clusters: ClusterTable) -> PairTable:
    """The link of each removed document with its representative."""
    removed = np.flatnonzero(clusters.codes != 0)
    names = ("id", "representative", "distance", "similarity")
    return PairTable({name: _some(clusters.compact[name], removed) for name in names}, id_type=clusters._id_type)


def _some(cells: HeldColumn, rows: NDArray[np.int64]) -> HeldColumn:
    """Some rows of a column."""
    if isinstance(cells, Taken):
        return cells.some(rows)
    return cells[rows] if isinstance(cells, np.ndarray) else [cells[row] for row in rows.tolist()]


def linked(
    candidate_source: CandidateSource,
    new: HashedDocuments,
    heads: Heads,
    found: Representatives,
    left: Places,
    right: Places,
    similarity: NDArray[np.float64],
) -> PairTable:
    """Pairs of distinct contents by place, in the order of left and right."""
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    documents = _Documents(candidate_source, new, heads, found.rows)
    columns = {
        "left": documents.ids(left),
        "right": documents.ids(right),
        "distance": documents.distances(right, left),
        "similarity": similarity[order],
    }
    return PairTable(columns, id_type=_id_type(new.ids))


def all_links(
    candidate_source: CandidateSource,
    new: HashedDocuments,
    heads: Heads,
    found: Representatives,
    left: Places,
    right: Places,
    similarity: NDArray[np.float64],
) -> PairTable:
    """Every verified link: those given, of distinct contents by place, then each copy with its original."""
    copies = np.flatnonzero(found.copy_of != np.arange(len(found)))
    left = np.concatenate([left, found.copy_of[copies]])
    right = np.concatenate([right, copies])
    documents = _Documents(candidate_source, new, heads, found.rows)
    equal = np.full(len(copies), candidate_source.equal)
    distance = documents.distances(right, left)
    distance[len(distance) - len(copies) :] = 0
    table = PairTable(
        {
            "left": documents.ids(left),
            "right": documents.ids(right),
            "distance": distance,
            "similarity": np.concatenate([similarity, equal]),
        },
        id_type=_id_type(new.ids),
    )
    table.places, table.copies = (left, right), len(copies)
    return table
