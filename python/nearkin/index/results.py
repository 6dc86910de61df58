"""Results of index queries: arrays with names, cut by query, and convertible to tables.

A search with many queries returns three arrays: `offsets`, the `ids` of the matches, and their `distances` (`scores`
for digests). The classes here name them, cut them by query and turn them into tables; every index returns one of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter
from nearkin.index.ids import Id, IdArray, to_python_id
from nearkin.io.tables import Comparable, Tabular
from nearkin.notebook import ROWS, count_of, html_table
from nearkin.progress import ShowProgress, ignore_progress, reporting, ticker

if TYPE_CHECKING:
    from typing_extensions import Self

Distances: TypeAlias = npt.NDArray[np.uint16] | npt.NDArray[np.float32] | npt.NDArray[np.float64]
Column: TypeAlias = npt.NDArray[Any]
"""A column of a table."""
Linkage = Literal["centred", "connected"]
"""Rule for clusters: every member is near the first one, or pairs connect the members."""

_Row = TypeVar("_Row")
_Item = TypeVar("_Item")
_T = TypeVar("_T")
_Result = TypeVar("_Result", bound="BatchResult[Any]")

_BATCH = 1 << 12
"""Queries per batch when progress is reported."""


def _repeat_numbers(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return for each position the number of the slice that contains it."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def _slice_of(offsets: npt.NDArray[np.int64], index: int, name: str) -> slice:
    """Return the slice with this number, counted from the end if negative."""
    count = len(offsets) - 1
    if not -count <= operator.index(index) < count:
        raise IndexError(f"{name} {index} of {count}")
    number = operator.index(index) % count
    return slice(int(offsets[number]), int(offsets[number + 1]))


class _Measured(Comparable):
    """Base of the results: each class has one value per match, in the attribute `_measure` plus "s"."""

    _measure: ClassVar[str] = "distance"

    def _measures(self) -> Column:
        values: Column = getattr(self, f"{self._measure}s")
        return values


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult(_Measured, Tabular, Generic[_Row]):
    """Base of the results of a batch of queries: `offsets` and `ids` cut by query.

    A subclass names its measure and the class of the matches of one query.
    """

    _row_type: ClassVar[Callable[..., Any]]
    offsets: npt.NDArray[np.int64]
    ids: IdArray

    @classmethod
    def concat(cls, results: Sequence[Self]) -> Self:
        """Concatenate the results of several batches of queries.

        Parameters
        ----------
        results : sequence of results
            One or more, of the same index and kind of search.

        Examples
        --------
        >>> from nearkin import HammingIndex, SearchResult
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
        >>> SearchResult.concat(list(index.iter_search([0b1100, 0b1110], radius=1, batch_size=1))).ids
        array(['a', 'a', 'b'], dtype=object)
        """
        ends = np.cumsum([0, *(int(result.offsets[-1]) for result in results)], dtype=np.int64)
        offsets = [result.offsets[:-1] + end for result, end in zip(results, ends.tolist(), strict=False)]
        values: dict[str, Any] = {"offsets": np.concatenate([*offsets, ends[-1:]])}
        for name in (field.name for field in fields(cls) if field.name != "offsets"):
            parts = [getattr(result, name) for result in results]
            if isinstance(parts[0], np.ndarray):
                values[name] = np.concatenate(parts)
            else:
                # The number of skipped lookups, or None.
                values[name] = None if parts[0] is None else sum(parts)
        return cls(**values)

    def head(self, k: int) -> Self:
        """Return the first k matches of each query.

        Parameters
        ----------
        k : int
            1 or more.
        """
        lengths = np.diff(self.offsets)
        ranks = np.arange(self.offsets[-1], dtype=np.int64) - np.repeat(self.offsets[:-1], lengths)
        offsets = np.concatenate(([0], np.cumsum(np.minimum(lengths, k)))).astype(np.int64)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        cut = {name: values[name][ranks < k] for name in ("ids", f"{self._measure}s")}
        return type(self)(**values | cut | {"offsets": offsets})

    def _in_rows(self, values: Column) -> Column:
        counts = np.diff(self.offsets)
        if len(counts) and (counts != counts[0]).any():
            found = f"a result whose queries have {counts.min()} to {counts.max()} matches"
            raise bad_parameter("ids_2d", found, "`result[i]`, the matches of query i, or `offsets`")
        return values.reshape(len(counts), counts[0] if len(counts) else 0)

    @property
    def ids_2d(self) -> IdArray:
        """Ids in rows, `(n_queries, k)`, if all queries have k matches; otherwise ParameterError."""
        return self._in_rows(self.ids)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> _Row:
        """Return the matches of one query."""
        part = _slice_of(self.offsets, query, "query")
        row: _Row = self._row_type(self.ids[part], self._measures()[part])
        return row

    def __iter__(self) -> Iterator[_Row]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} queries, {len(self.ids)} matches)"

    def _caption(self, rows: int) -> str:
        return f"{count_of(rows, 'match', 'matches')} of {count_of(len(self), 'query', 'queries')}"

    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """The number of the query of each match, int64 of shape (n_matches,)."""
        return _repeat_numbers(self.offsets)

    def _columns(self) -> dict[str, Column]:
        return {"query": self.queries, "id": self.ids, self._measure: self._measures()}


def run_block(run: Callable[[], _T], stage: str, count: int, progress: ShowProgress) -> _T:
    """Run a call of the core as one stage: only its start and its end are reported, with `count` items in all."""
    with reporting(progress) as report:
        tick = ticker(report, stage, count)
        result = run()
        tick(count)
    return result


def search_in_batches(search: Callable[[int, int], _Result], count: int, progress: ShowProgress) -> _Result:
    """Run all queries at once, or batch by batch if progress is reported.

    Parameters
    ----------
    search : function
        Returns the result of the queries from one position to another (exclusive).
    count : int
        Number of queries.
    progress : function, bool or None
        As passed by the caller.
    """
    if not progress:
        return search(0, count)
    with reporting(progress) as report:
        if report is ignore_progress:
            return search(0, count)
        tick, results = ticker(report, "search", count), []
        for start in range(0, max(count, 1), _BATCH):
            stop = min(start + _BATCH, count)
            results.append(search(start, stop))
            tick(stop - start)
    return type(results[0]).concat(results)


def search_flat(
    search: Callable[[npt.NDArray[Any]], _Result], rows: npt.NDArray[Any], width: int, progress: ShowProgress
) -> _Result:
    """Run queries of `width` words each that follow one another in a flat array, as `search_in_batches` does."""
    return search_in_batches(
        lambda start, stop: search(rows[start * width : stop * width]), len(rows) // width, progress
    )


@dataclass(frozen=True, eq=False, repr=False)
class IdMatches(_Measured, Sequence[_Item]):
    """Base of the matches of one query: `ids`, and one value for each."""

    _item_type: ClassVar[Callable[..., Any]]
    ids: IdArray

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> _Item | Self:
        """Return one match, or the matches of a slice."""
        if isinstance(index, slice):
            return type(self)(self.ids[index], self._measures()[index])  # type: ignore[call-arg]  # Fields of subclasses.
        item: _Item = self._item_type(to_python_id(self.ids[index]), self._measures()[index].item())
        return item

    def _repr_html_(self) -> str:
        """Return the first matches as a table for notebooks."""
        rows = zip(self.ids[:ROWS].tolist(), self._measures()[:ROWS].tolist(), strict=True)
        return html_table(["id", self._measure], rows, total=len(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(zip(self.ids.tolist(), self._measures().tolist(), strict=True))})"


@dataclass(frozen=True, eq=False, repr=False)
class IdPairs(_Measured, Tabular):
    """Base of pairs of ids: `left`, `right`, and one value per pair."""

    left: IdArray
    right: IdArray

    __iter__ = Tabular.rows

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.left)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} pairs)"

    def _caption(self, rows: int) -> str:
        return count_of(rows, "pair")

    def _columns(self) -> dict[str, Column]:
        return {"left": self.left, "right": self.right, self._measure: self._measures()}


@dataclass(frozen=True, eq=False, repr=False)
class IdClusters(_Measured, Tabular, Sequence[list[Id]]):
    """Base of clusters: `offsets` and `ids` cut by cluster, and one value per member."""

    offsets: npt.NDArray[np.int64]
    ids: IdArray

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> list[Id]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[Id]]: ...
    def __getitem__(self, index: int | slice) -> list[Id] | list[list[Id]]:
        """Return the ids of one cluster; for a slice, a list of such lists."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        members: list[Id] = self.ids[_slice_of(self.offsets, index, "cluster")].tolist()
        return members

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} clusters, {len(self.ids)} members)"

    def _columns(self) -> dict[str, Column]:
        return {
            "id": self.ids,
            "cluster": _repeat_numbers(self.offsets),
            "representative": np.repeat(self.ids[self.offsets[:-1]], np.diff(self.offsets)),
            self._measure: self._measures(),
        }


def sorted_pairs(ids: IdArray, left: Column, right: Column) -> tuple[Column, Column, Column]:
    """Return pairs of positions in `ids` with the smaller id left, sorted by both ids, and the order of the input."""
    # Ranks of ids: lexsort has no order for objects.
    rank = np.empty(len(ids), np.int64)
    rank[np.argsort(ids, kind="stable")] = np.arange(len(ids))
    swapped = rank[left] > rank[right]
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    order = np.lexsort((rank[right], rank[left]))
    return ids[left[order]], ids[right[order]], order


@dataclass(frozen=True)
class Match:
    """One match: the id and its distance."""

    id: Id
    distance: int | float


@dataclass(frozen=True, eq=False, repr=False)
class Matches(IdMatches[Match]):
    """Matches of one query, nearest first, ties by id.

    Attributes
    ----------
    ids : int64 array, or object array of str
    distances : uint16 array; float32 or float64 if distances are not integers
    """

    _item_type = Match

    distances: Distances


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(BatchResult[Matches]):
    """Matches of a batch of queries, nearest first, ties by id.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of `ids` and `distances`.
    ids : int64 array, or object array of str, of shape (n_matches,)
    distances : uint16 array of shape (n_matches,); float32 or float64 if distances are not integers
    truncated : bool array of shape (n_queries,), or None
        True for queries that had more matches than `limit`; None without a limit.
    ids_2d, distances_2d : arrays of shape (n_queries, k)
        The same in rows, if all queries have k matches, as faiss and scikit-learn return them.

    Examples
    --------
    >>> from nearkin import HammingIndex
    >>> index = HammingIndex(bits=8)
    >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
    >>> hits = index.search([0b1101, 0b0000], radius=1)
    >>> [[(match.id, match.distance) for match in row] for row in hits]
    [[('a', 1), ('b', 1)], []]
    """

    _row_type = Matches

    distances: Distances
    truncated: npt.NDArray[np.bool_] | None = None

    @property
    def distances_2d(self) -> Distances:
        """Distances in rows, as `ids_2d`."""
        return self._in_rows(self.distances)


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(IdPairs):
    """Pairs within a radius, sorted by left and right.

    A search within one index returns each pair once, `left < right`. In a join, `left` is an id of the other set and
    `right` an id of the index.

    Attributes
    ----------
    left, right : int64 arrays, or object arrays of str, of shape (n_pairs,)
    distances : uint16 array of shape (n_pairs,)
    """

    distances: Distances


@dataclass(frozen=True, eq=False, repr=False)
class Clusters(IdClusters):
    """Clusters of two or more ids, in order of their first members; each is a list of ids in order of addition.

    Attributes
    ----------
    offsets : int64 array of shape (n_clusters + 1,)
        Cluster c owns positions `offsets[c]` to `offsets[c + 1]` (exclusive) of `ids` and `distances`.
    ids : int64 array, or object array of str, of shape (n_members,)
        The first id of each cluster is its representative.
    distances : array of shape (n_members,)
        Distance of each member to the representative.
    """

    distances: Distances


@dataclass(frozen=True, eq=False)
class Candidates(Tabular):
    """Candidate rows of a batch of queries, each once, in order of addition.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of `ids`.
    ids : int64 array, or object array of str, of shape (n_candidates,)
    entries_read : uint64 array of shape (n_queries,)
        Bucket entries that the query read, before duplicates and removed rows were dropped.
    """

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    entries_read: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> IdArray:
        """Return the ids of the candidates of one query."""
        return self.ids[_slice_of(self.offsets, query, "query")]

    def _columns(self) -> dict[str, Column]:
        return {"query": _repeat_numbers(self.offsets), "id": self.ids}

    def __repr__(self) -> str:
        return f"Candidates({len(self)} queries, {len(self.ids)} candidates)"
