"""Results of searches as arrays and tables, and the ids that they name.

A search of many queries gives three arrays: `offsets`, the `ids` that matched, and how close each is (`distances`, or
`scores` of digests). The classes here give them names, cut them by query and turn them into tables; every index returns
one of them. Ids are 64-bit integers or strings, one kind in an index.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from nearkin.index.ids import Id, IdArray, plain_id
from nearkin.io.tables import Tabular
from nearkin.notebook import ROWS, count_of, html_table
from nearkin.progress import ShowProgress, reporting, ticker, unreported

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Candidates", "Clusters", "Linkage", "Match", "Matches", "Pairs", "SearchResult"]

Distances: TypeAlias = npt.NDArray[np.uint16] | npt.NDArray[np.float32] | npt.NDArray[np.float64]

Column: TypeAlias = npt.NDArray[Any]
"""A column of a table."""

Linkage = Literal["centred", "connected"]
"""Which ids make a cluster: those that the first of it is near to, or those that chains of pairs join."""

_Rows = TypeVar("_Rows")
_One = TypeVar("_One")


def first_of_each(offsets: npt.NDArray[np.int64], k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Offsets of the first k matches of each query, and which of all matches they are."""
    lengths = np.diff(offsets)
    place = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], lengths)
    return np.concatenate(([0], np.cumsum(np.minimum(lengths, k)))).astype(np.int64), place < k


def _numbers(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The number of the part that owns each position."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


class QueryMatches(Tabular, Generic[_Rows]):
    """What the results of a batch of queries share: `offsets` and `ids` cut by query.

    A subclass names its measure, one value per match in the attribute of that name and an s, and `_row`, which makes
    the matches of one query from their ids and values.
    """

    _measure: ClassVar[str]
    offsets: npt.NDArray[np.int64]
    ids: IdArray

    def _row(self, ids: IdArray, values: Column) -> _Rows:
        raise NotImplementedError

    def _values(self) -> Column:
        values: Column = getattr(self, f"{self._measure}s")
        return values

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The results of several batches of queries, one after another, as of one batch.

        Parameters
        ----------
        parts : sequence of results
            One or more, of one index and one kind of search.

        Examples
        --------
        >>> from nearkin import HammingIndex, SearchResult
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
        >>> SearchResult.joined(list(index.iter_search([0b1100, 0b1110], radius=1, batch_size=1))).ids
        array(['a', 'a', 'b'], dtype=object)
        """
        ends = np.cumsum([0, *(int(part.offsets[-1]) for part in parts)], dtype=np.int64)
        offsets = [part.offsets[:-1] + end for part, end in zip(parts, ends.tolist(), strict=False)]
        made: dict[str, Any] = {"offsets": np.concatenate([*offsets, ends[-1:]])}
        for name in (field.name for field in fields(cls) if field.name != "offsets"):  # type: ignore[arg-type]  # Subclasses are dataclasses.
            cells = [getattr(part, name) for part in parts]
            if isinstance(cells[0], np.ndarray):
                made[name] = np.concatenate(cells)
            else:
                # How many look-ups were skipped; or nothing.
                made[name] = None if cells[0] is None else sum(cells)
        return cls(**made)

    def __len__(self) -> int:
        """How many queries were asked."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> _Rows:
        """The matches of one query."""
        number = operator.index(query)
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        part = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        return self._row(self.ids[part], self._values()[part])

    def __iter__(self) -> Iterator[_Rows]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} queries, {len(self.ids)} matches)"

    def _caption(self, rows: int) -> str:
        return f"{count_of(rows, 'match', 'matches')} of {count_of(len(self), 'query', 'queries')}"

    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """The number of the query of each match, int64 of shape (n_matches,)."""
        return _numbers(self.offsets)

    def _columns(self) -> dict[str, Column]:
        return {"query": self.queries, "id": self.ids, self._measure: self._values()}


_Asked = TypeVar("_Asked", bound="QueryMatches[Any]")

_QUERIES = 1 << 12
"""Queries that are asked at once where progress is told."""


def ask(search: Callable[[int, int], _Asked], count: int, progress: ShowProgress) -> _Asked:
    """The answers of a batch of queries: of all at once, or some at a time where progress is to be told.

    Parameters
    ----------
    search : function
        Answers queries from one place to another (exclusive).
    count : int
        How many queries there are.
    progress : function, bool or None
        As the caller gave it.
    """
    if progress is None or progress is False:
        return search(0, count)
    with reporting(progress) as report:
        if report is unreported:
            return search(0, count)
        tick, parts = ticker(report, "search", count), []
        for start in range(0, max(count, 1), _QUERIES):
            stop = min(start + _QUERIES, count)
            parts.append(search(start, stop))
            tick(stop - start)
    return type(parts[0]).joined(parts)


class IdMatches(Sequence[_One]):
    """What the matches of one query share: `ids`, and one value each; `_match` makes one of them."""

    _measure: ClassVar[str]
    ids: IdArray

    def _match(self, found: Id, value: Any) -> _One:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> _One: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> _One | Self:
        """One match, or matches for a slice."""
        if isinstance(place, slice):
            # Subclasses are made of the two.
            return type(self)(self.ids[place], self._values()[place])  # type: ignore[call-arg]
        return self._match(plain_id(self.ids[place]), self._values()[place].item())

    def _values(self) -> Column:
        values: Column = getattr(self, f"{self._measure}s")
        return values

    def _repr_html_(self) -> str:
        """The first of them, for a notebook."""
        rows = zip(self.ids[:ROWS].tolist(), self._values()[:ROWS].tolist(), strict=True)
        return html_table(["id", self._measure], rows, total=len(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(zip(self.ids.tolist(), self._values().tolist(), strict=True))})"


class IdPairs(Tabular):
    """What pairs of ids share: `left`, `right`, and one value per pair."""

    _measure: ClassVar[str]
    left: IdArray
    right: IdArray

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.left)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} pairs)"

    def _caption(self, rows: int) -> str:
        return count_of(rows, "pair")

    def _columns(self) -> dict[str, Column]:
        return {"left": self.left, "right": self.right, self._measure: getattr(self, f"{self._measure}s")}


@dataclass(frozen=True)
class Match:
    """One match: the id and its distance."""

    id: Id
    distance: int | float


@dataclass(frozen=True, eq=False, repr=False)
class Matches(IdMatches[Match]):
    """The matches of one query, nearest first, ties by id.

    Attributes
    ----------
    ids : int64 array, or object array of str
    distances : uint16 array; float64 where distances are not whole numbers
    """

    _measure = "distance"

    ids: IdArray
    distances: Distances

    def _match(self, found: Id, value: int | float) -> Match:
        return Match(found, value)


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(QueryMatches[Matches]):
    """Matches of a batch of queries, nearest first, ties by id.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of the other two.
    ids : int64 array, or object array of str, of shape (n_matches,)
    distances : uint16 array of shape (n_matches,); float64 where distances are not whole numbers
    truncated : bool array of shape (n_queries,), or None
        Which queries had more matches than `limit`; None without a limit.

    Examples
    --------
    >>> from nearkin import HammingIndex
    >>> index = HammingIndex(bits=8)
    >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
    >>> hits = index.search([0b1101, 0b0000], radius=1)
    >>> [[(match.id, match.distance) for match in row] for row in hits]
    [[('a', 1), ('b', 1)], []]
    """

    _measure = "distance"

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    distances: Distances
    truncated: npt.NDArray[np.bool_] | None = None

    def _row(self, ids: IdArray, values: Column) -> Matches:
        return Matches(ids, values)


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(IdPairs):
    """Pairs within a radius, sorted by left and right.

    A search within one index gives each pair once, `left < right`. In a join `left` is the other set's id and
    `right` the index's.

    Attributes
    ----------
    left, right : int64 arrays, or object arrays of str, of shape (n_pairs,)
        Ids.
    distances : uint16 array of shape (n_pairs,)
    """

    _measure = "distance"

    left: IdArray
    right: IdArray
    distances: Distances


class IdClusters(Tabular, Sequence[list[Id]]):
    """What clusters of ids share: `offsets` and `ids` cut by cluster, and one value per member."""

    _measure: ClassVar[str]
    offsets: npt.NDArray[np.int64]
    ids: IdArray

    def __len__(self) -> int:
        """How many clusters there are."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, place: int) -> list[Id]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[Id]]: ...
    def __getitem__(self, place: int | slice) -> list[Id] | list[list[Id]]:
        """The ids of one cluster; for a slice, a list of such lists."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        number = operator.index(place)
        if not -len(self) <= number < len(self):
            raise IndexError(f"cluster {place} of {len(self)}")
        number %= len(self)
        members: list[Id] = self.ids[int(self.offsets[number]) : int(self.offsets[number + 1])].tolist()
        return members

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} clusters, {len(self.ids)} members)"

    def _columns(self) -> dict[str, Column]:
        sizes = np.diff(self.offsets)
        return {
            "id": self.ids,
            "cluster": _numbers(self.offsets),
            "representative": np.repeat(self.ids[self.offsets[:-1]], sizes),
            self._measure: getattr(self, f"{self._measure}s"),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Clusters(IdClusters):
    """Clusters of two and more ids, in order of their first members; each is a list of ids in order of addition.

    Attributes
    ----------
    offsets : int64 array of shape (n_clusters + 1,)
        Cluster c owns positions `offsets[c]` to `offsets[c + 1]` (exclusive) of the other two.
    ids : int64 array, or object array of str, of shape (n_members,)
        The first of each cluster is its representative.
    distances : array of shape (n_members,)
        Distance of each member to the representative.
    """

    _measure = "distance"

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    distances: Distances


@dataclass(frozen=True, eq=False)
class Candidates(Tabular):
    """Rows that the filter gives a batch of queries, each once, in order of addition.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of `ids`.
    ids : int64 array, or object array of str, of shape (n_candidates,)
    met : uint64 array of shape (n_queries,)
        Entries of the buckets that were read, before duplicates and removed rows were dropped.
    """

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    met: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        """How many queries were asked."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> IdArray:
        """Ids of the candidates of one query."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        query %= len(self)
        return self.ids[self.offsets[query] : self.offsets[query + 1]]

    def _columns(self) -> dict[str, Column]:
        return {"query": _numbers(self.offsets), "id": self.ids}

    def __repr__(self) -> str:
        return f"Candidates({len(self)} queries, {len(self.ids)} candidates)"
