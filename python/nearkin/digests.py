"""An exact index of fuzzy digests: search, all pairs and clusters among millions without comparing all with all.
removed one stays./

removed one stays./
Two digests score above 0 only if parts of one block size share seven successive characters (or if they are equal). The
removed one stays./
index lists the digests of every (block size, 7-gram); a search unites the lists of its own grams and compares these
removed one stays./
candidates in full. So nothing at or above a threshold from 1 to 100 is missed, and nothing below is returned.
removed one stays./

removed one stays./
Cost: about 800 bytes a digest; a search looks up about 80 lists and compares what they hold. Grams that very many
removed one stays./
digests share (*hubs*: common headers, padding) make searches long; `DigestIndex.hubs` reports them, and `skip_hubs` leaves
removed one stays./
them out on request, which may miss matches and is counted in the result.
removed one stays./
"""
removed one stays./

removed one stays./
from __future__ import annotations
removed one stays./

removed one stays./
import operator
removed one stays./
from collections.abc import Iterable, Iterator, Sequence
removed one stays./
from dataclasses import dataclass
removed one stays./
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
removed one stays./

removed one stays./
import numpy as np
removed one stays./
import numpy.typing as npt
removed one stays./

removed one stays./
from nearkin._core import DigestCore
removed one stays./
from nearkin.errors import bad_parameter
removed one stays./
from nearkin.hamming import IdArray, _arrow, _ids, _pandas
removed one stays./

removed one stays./
if TYPE_CHECKING:
removed one stays./
    import pandas as pd
removed one stays./
    import pyarrow as pa
removed one stays./

removed one stays./
__all__ = ["DigestClusters", "DigestIndex", "DigestPairs", "DigestResult", "Hub"]
removed one stays./

removed one stays./
Digest: TypeAlias = "str | bytes"
removed one stays./
Linkage = Literal["centred", "connected"]
removed one stays./
_Slots = npt.NDArray[np.uint32]
removed one stays./

removed one stays./

removed one stays./
def _plain(found: Any) -> Any:
removed one stays./
    """An id as it was given."""
removed one stays./
    return int(found) if isinstance(found, np.integer) else found
removed one stays./

removed one stays./

removed one stays./
@dataclass(frozen=True)
removed one stays./
class ScoredMatch:
removed one stays./
    """One match: the id and its score."""
removed one stays./

removed one stays./
    id: Any
removed one stays./
    score: int
removed one stays./

removed one stays./

removed one stays./
@dataclass(frozen=True, eq=False)
removed one stays./
class ScoredMatches(Sequence[ScoredMatch]):
removed one stays./
    """The matches of one query, highest score first, ties by id.
removed one stays./

removed one stays./
    Attributes
removed one stays./
    ----------
removed one stays./
    ids : int64 array, or object array of str
removed one stays./
    scores : uint8 array
removed one stays./
    """
removed one stays./

removed one stays./
    ids: IdArray
removed one stays./
    scores: npt.NDArray[np.uint8]
removed one stays./

removed one stays./
    def __len__(self) -> int:
removed one stays./
        return len(self.ids)
removed one stays./

removed one stays./
    def __getitem__(self, place: Any) -> Any:
removed one stays./
        """A `ScoredMatch`, or `ScoredMatches` for a slice."""
removed one stays./
        if isinstance(place, slice):
removed one stays./
            return ScoredMatches(self.ids[place], self.scores[place])
removed one stays./
        return ScoredMatch(_plain(self.ids[place]), int(self.scores[place]))
removed one stays./

removed one stays./
    def __repr__(self) -> str:
removed one stays./
        return f"ScoredMatches({[(match.id, match.score) for match in self]})"
removed one stays./

removed one stays./

removed one stays./
@dataclass(frozen=True, eq=False)
removed one stays./
class DigestResult:
removed one stays./
    """Matches of a batch of queries, highest score first, ties by id.
removed one stays./

removed one stays./
    Attributes
removed one stays./
    ----------
removed one stays./
    offsets : int64 array of shape (n_queries + 1,)
removed one stays./
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of the other two.
removed one stays./
    ids : int64 array, or object array of str, of shape (n_matches,)
removed one stays./
    scores : uint8 array of shape (n_matches,)
removed one stays./
        1 to 100.
removed one stays./
    skipped : int
removed one stays./
        How many look-ups were left out because of `skip_hubs`; the result is exact if 0.
removed one stays./
    """
removed one stays./

removed one stays./
    offsets: npt.NDArray[np.int64]
removed one stays./
    ids: IdArray
removed one stays./
    scores: npt.NDArray[np.uint8]
removed one stays./
    skipped: int
removed one stays./

removed one stays./
    def __len__(self) -> int:
removed one stays./
        """How many queries were asked."""
removed one stays./
        return len(self.offsets) - 1
removed one stays./

removed one stays./
    def __getitem__(self, query: int) -> ScoredMatches:
removed one stays./
        """The matches of one query."""
removed one stays./
        number = operator.index(query)
removed one stays./
        if number < 0:
removed one stays./
            number += len(self)
removed one stays./
        if not 0 <= number < len(self):
removed one stays./
            raise IndexError(f"query {query} of {len(self)}")
removed one stays./
        part = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
removed one stays./
        return ScoredMatches(self.ids[part], self.scores[part])
removed one stays./

removed one stays./
    def __iter__(self) -> Iterator[ScoredMatches]:
removed one stays./
        return (self[i] for i in range(len(self)))
removed one stays./

removed one stays./
    def __repr__(self) -> str:
removed one stays./
        return f"DigestResult({len(self)} queries, {len(self.ids)} matches)"
removed one stays./

removed one stays./
    @property
removed one stays./
    def queries(self) -> npt.NDArray[np.int64]:
removed one stays./
        """The number of the query of each match, int64 of shape (n_matches,)."""
removed one stays./
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))
removed one stays./

removed one stays./
    def to_arrow(self) -> pa.Table:
removed one stays./
        """A pyarrow table with the columns `query`, `id` and `score`."""
removed one stays./
        import pyarrow as pa
removed one stays./

removed one stays./
        return pa.table({"query": self.queries, "id": _arrow(self.ids), "score": self.scores})
removed one stays./

removed one stays./
    def to_pandas(self) -> pd.DataFrame:
removed one stays./
        """A pandas data frame with the columns `query`, `id` and `score`."""
removed one stays./
        return _pandas({"query": self.queries, "id": self.ids, "score": self.scores})
removed one stays./

removed one stays./

removed one stays./
@dataclass(frozen=True, eq=False)
removed one stays./
class DigestPairs:
removed one stays./
    """Pairs at or above a threshold: each once, `left < right`, sorted by left and right.
removed one stays./

removed one stays./
    Attributes
removed one stays./
    ----------
removed one stays./
    left, right : int64 arrays, or object arrays of str, of shape (n_pairs,)
removed one stays./
        Ids.
removed one stays./
    scores : uint8 array of shape (n_pairs,)
removed one stays./
        1 to 100.
removed one stays./
    skipped : int
removed one stays./
        How many look-ups were left out because of `skip_hubs`; the result is exact if 0.
removed one stays./
    """
removed one stays./

removed one stays./
    left: IdArray
removed one stays./
    right: IdArray
removed one stays./
    scores: npt.NDArray[np.uint8]
removed one stays./
    skipped: int
removed one stays./

removed one stays./
    def __len__(self) -> int:
removed one stays./
        """How many pairs there are."""
removed one stays./
        return len(self.left)
removed one stays./

removed one stays./
    def __repr__(self) -> str:
removed one stays./
        return f"DigestPairs({len(self)} pairs)"
removed one stays./

removed one stays./
    def to_arrow(self) -> pa.Table:
removed one stays./
        """A pyarrow table with the columns `left`, `right` and `score`."""
removed one stays./
        import pyarrow as pa
removed one stays./

removed one stays./
        return pa.table({"left": _arrow(self.left), "right": _arrow(self.right), "score": self.scores})
removed one stays./

removed one stays./
    def to_pandas(self) -> pd.DataFrame:
removed one stays./
        """A pandas data frame with the columns `left`, `right` and `score`."""
removed one stays./
        return _pandas({"left": self.left, "right": self.right, "score": self.scores})
removed one stays./

removed one stays./

removed one stays./
@dataclass(frozen=True, eq=False)
removed one stays./
class DigestClusters(Sequence[list[Any]]):
removed one stays./
    """Clusters of two and more digests, as lists of ids, in order of their first member.
removed one stays./

removed one stays./
    Attributes
removed one stays./
    ----------
removed one stays./
    members : list of list
removed one stays./
        The ids of each cluster in order of addition; the first one is the representative.
removed one stays./
    skipped : int
removed one stays./
        How many look-ups were left out because of `skip_hubs`; the result is exact if 0.
removed one stays./
    """
removed one stays./

removed one stays./
    members: list[list[Any]]
removed one stays./
    skipped: int
removed one stays./

removed one stays./
    def __len__(self) -> int:
removed one stays./
        return len(self.members)
removed one stays./

removed one stays./
    def __getitem__(self, place: Any) -> Any:
removed one stays./
        return self.members[place]
removed one stays./

removed one stays./
    def __repr__(self) -> str:
removed one stays./
        return f"DigestClusters({len(self)} clusters, {sum(map(len, self.members))} members)"
removed one stays./

removed one stays./

removed one stays./
@dataclass(frozen=True)
removed one stays./
class Hub:
removed one stays./
    """Seven characters that many digests share at one block size."""
removed one stays./

removed one stays./
    block_size: int
removed one stays./
    gram: str
removed one stays./
    count: int
removed one stays./

removed one stays./

removed one stays./
class DigestIndex:
removed one stays./
    """Exact search of fuzzy digests by score.
removed one stays./

removed one stays./
    Parameters
removed one stays./
    ----------
removed one stays./
    strict : bool, default=True
removed one stays./
        Accept only digests as ssdeep prints them; False accepts what the original library accepts.
removed one stays./

removed one stays./
    Notes
removed one stays./
    -----
removed one stays./
    Digests are held without their runs, as they are compared. Additions are found at once; a batch costs less than one
removed one stays./
    by one. A removed digest's place is not given again. Several threads may search at once.
removed one stays./

removed one stays./
    Examples
removed one stays./
    --------
removed one stays./
    >>> import nearkin as nk
removed one stays./
    >>> index = nk.DigestIndex()
removed one stays./
    >>> index.add(["new", "old", "other"], [
removed one stays./
    ...     "96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
removed one stays./
    ...     "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U",
removed one stays./
    ...     "3:E:E",
removed one stays./
    ... ])
removed one stays./
    3
removed one stays./
    >>> index.search(["96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U"], threshold=90)[0]
removed one stays./
    ScoredMatches([('new', 100), ('old', 97)])
removed one stays./
    >>> index.pairs(threshold=1).to_arrow().to_pylist()
removed one stays./
    [{'left': 'new', 'right': 'old', 'score': 97}]
removed one stays./
    >>> list(index.clusters(threshold=50))
removed one stays./
    [['new', 'old']]
removed one stays./
    """
removed one stays./

removed one stays./
    def __init__(self, *, strict: bool = True) -> None:
removed one stays./
        self.strict = strict
removed one stays./
        self._core = DigestCore()
removed one stays./
        # The id of each slot ever given, in order of addition.
removed one stays./
        self._names: list[Any] = []
removed one stays./
        # The slot of each id; None while ids are row numbers, which are the slots themselves.
removed one stays./
        self._slots: dict[Any, int] | None = None
removed one stays./
        # Whether ids only grew, so that the order of slots is that of ids.
removed one stays./
        self._ascending = True
removed one stays./
        self._array: IdArray | None = None
removed one stays./
        self._ranks: npt.NDArray[np.int64] | None = None
removed one stays./

removed one stays./
    def __len__(self) -> int:
removed one stays./
        """How many digests there are."""
removed one stays./
        return len(self._core)
removed one stays./

removed one stays./
    def __contains__(self, key: object) -> bool:
removed one stays./
        """Whether an id is there."""
removed one stays./
        return not isinstance(key, bool) and self._slot(key) is not None
removed one stays./

removed one stays./
    def __repr__(self) -> str:
removed one stays./
        return f"DigestIndex({len(self)} digests)"
removed one stays./

removed one stays./
    @property
removed one stays./
    def nbytes(self) -> int:
removed one stays./
        """Bytes of digests and their lists, ids not counted."""
removed one stays./
        return self._core.nbytes()
removed one stays./

removed one stays./
    def _slot(self, key: Any) -> int | None:
removed one stays./
        if self._slots is not None:
removed one stays./
            return self._slots.get(key)
removed one stays./
        if not isinstance(key, (int, np.integer)) or not 0 <= key < self._core.slots():
removed one stays./
            return None
removed one stays./
        return int(key) if self._core.digest(int(key)) is not None else None
removed one stays./

removed one stays./
    def digest(self, key: Any) -> str:
removed one stays./
        """The digest of an id, its runs cut to three.
removed one stays./

removed one stays./
        Raises
removed one stays./
        ------
removed one stays./
        ParameterError
removed one stays./
            An id that is not there.
removed one stays./
        """
removed one stays./
        slot = self._slot(key)
removed one stays./
        found = None if slot is None else self._core.digest(slot)
removed one stays./
        if found is None:
removed one stays./
            raise bad_parameter("id", repr(key), "an id of the index")
removed one stays./
        return found
removed one stays./

removed one stays./
    def add(self, ids: Any, digests: Iterable[Digest]) -> int:
removed one stays./
        """Adds digests; returns how many were added.
removed one stays./

removed one stays./
        Parameters
removed one stays./
        ----------
removed one stays./
        ids : iterable of int or str, array, column, or None
removed one stays./
            One id for each digest, integers of 64 bits or strings, of one kind in an index. None stands for row
removed one stays./
            numbers, counted from the first digest ever added.
removed one stays./
        digests : iterable of str or bytes
removed one stays./

removed one stays./
        Raises
removed one stays./
        ------
removed one stays./
        InputError
removed one stays./
            What is no digest; the message names its row. The index is unchanged.
removed one stays./
        ParameterError
removed one stays./
            An id that is there or occurs twice, ids of another kind, counts that differ. The index is unchanged.
removed one stays./
        """
removed one stays./
        digests = list(digests) if not isinstance(digests, (str, bytes)) else digests
removed one stays./
        before = self._core.slots()
removed one stays./
        if ids is None:
removed one stays./
            if self._slots is not None and before:
removed one stays./
                raise bad_parameter("ids", None, "ids, as for the digests that are there")
removed one stays./
            added = len(digests)
removed one stays./
            self._core.add(digests, self.strict)
removed one stays./
            self._array = self._ranks = None
removed one stays./
            return added
removed one stays./
        keys: Any = _ids(ids)
removed one stays./
        names = keys if isinstance(keys, list) else keys.tolist()
removed one stays./
        if self._slots is None and before:
removed one stays./
            raise bad_parameter("ids", "given", "None: the digests that are there have row numbers")
removed one stays./
        if len(names) != len(digests):
removed one stays./
            raise bad_parameter("ids", f"{len(names)} ids for {len(digests)} digests", "one id for each digest")
removed one stays./
        slots = self._slots if self._slots is not None else {}
removed one stays./
        if names and self._names:
removed one stays./
            other = next((name for name in self._names if name is not None), names[0])
removed one stays./
            if isinstance(names[0], str) != isinstance(other, str):
removed one stays./
                raise bad_parameter("ids", repr(names[0]), f"ids of one kind; those there are like {other!r}")
removed one stays./
        fresh: dict[Any, int] = {}
removed one stays./
        for slot, name in enumerate(names, before):
removed one stays./
            if name in slots or name in fresh:
removed one stays./
                raise bad_parameter("ids", repr(name), "each id once; remove it first to replace its digest")
removed one stays./
            fresh[name] = slot
removed one stays./
        self._core.add(digests, self.strict)
removed one stays./
        last = self._names[-1] if self._names else None
removed one stays./
        for name in names if self._ascending else ():
removed one stays./
            if last is not None and name < last:
removed one stays./
                self._ascending = False
removed one stays./
                break
removed one stays./
            last = name
removed one stays./
        slots.update(fresh)
removed one stays./
        self._slots = slots
removed one stays./
        self._names.extend(names)
removed one stays./
        self._array = self._ranks = None
removed one stays./
        return len(names)
removed one stays./

removed one stays./
    def remove(self, ids: Any, *, missing_ok: bool = False) -> int:
removed one stays./
        """Removes ids; returns how many were removed.
removed one stays./

removed one stays./
        Parameters
removed one stays./
        ----------
removed one stays./
        ids : iterable of int or str, array or column
removed one stays./
            Ids as they were given to `add`; row numbers if none were.
removed one stays./
        missing_ok : bool, default=False
removed one stays./
            Whether ids that are not there are passed over.
removed one stays./

removed one stays./
        Raises
removed one stays./
        ------
removed one stays./
        ParameterError
removed one stays./
            An id that is not there. The index is unchanged.
removed one stays./
        """
removed one stays./
        keys: Any = _ids(ids)
removed one stays./
        gone: dict[int, Any] = {}
removed one stays./
        for name in keys if isinstance(keys, list) else keys.tolist():
removed one stays./
            slot = self._slot(name)
removed one stays./
            if slot is None or slot in gone:
removed one stays./
                if missing_ok:
removed one stays./
                    continue
removed one stays./
                raise bad_parameter("ids", repr(name), "ids of the index, each once")
removed one stays./
            gone[slot] = name
removed one stays./
        self._core.remove(np.fromiter(gone, dtype=np.uint32, count=len(gone)))
removed one stays./
        if self._slots is not None:
removed one stays./
            for name in gone.values():
removed one stays./
                del self._slots[name]
removed one stays./
        return len(gone)
removed one stays./

removed one stays./
    def _limit(self, threshold: int, skip_hubs: int | None) -> tuple[int, int | None]:
removed one stays./
        allowed = "1 to 100, inclusive: digests that share nothing score 0"
removed one stays./
        if isinstance(threshold, bool) or not isinstance(threshold, (int, np.integer)) or not 1 <= threshold <= 100:
removed one stays./
            raise bad_parameter("threshold", repr(threshold), allowed)
removed one stays./
        if skip_hubs is not None and (not isinstance(skip_hubs, (int, np.integer)) or skip_hubs < 1):
removed one stays./
            raise bad_parameter("skip_hubs", repr(skip_hubs), "1 or more digests, or None to follow every gram")
removed one stays./
        return int(threshold), None if skip_hubs is None else int(skip_hubs)
removed one stays./

removed one stays./
    def search(
removed one stays./
        self, queries: Iterable[Digest], threshold: int = 1, *, skip_hubs: int | None = None
removed one stays./
    ) -> DigestResult:
removed one stays./
        """Everything that scores at least `threshold` with each query, highest score first, ties by id.
removed one stays./

removed one stays./
        Parameters
removed one stays./
        ----------
removed one stays./
        queries : iterable of str or bytes
removed one stays./
        threshold : int, default=1
removed one stays./
            Smallest score that counts, 1 to 100, inclusive.
removed one stays./
        skip_hubs : int, optional
removed one stays./
            Leave out 7-grams that more digests share. Matches may then be missed; `result.skipped` counts look-ups
removed one stays./
            that were left out. Default: none is left out.
removed one stays./

removed one stays./
        Raises
removed one stays./
        ------
removed one stays./
        InputError
removed one stays./
            A query that is no digest; the message names its row.
removed one stays./
        ParameterError
removed one stays./
            A threshold outside of its range.
removed one stays./
        """
removed one stays./
        offsets, slots, scores, skipped = self._core.search(queries, self.strict, *self._limit(threshold, skip_hubs))
removed one stays./
        if not self._is_ordered():
removed one stays./
            of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
removed one stays./
            order = np.lexsort((self._rank()[slots], -scores.astype(np.int16), of))
removed one stays./
            slots, scores = slots[order], scores[order]
removed one stays./
        return DigestResult(offsets, self._named(slots), scores, skipped)
removed one stays./

removed one stays./
    def nearest(
removed one stays./
        self, queries: Iterable[Digest], k: int = 10, *, threshold: int = 1, skip_hubs: int | None = None
removed one stays./
    ) -> DigestResult:
removed one stays./
        """The k highest scores of each query; of those at the last score, the least ids.
removed one stays./

removed one stays./
        Parameters
removed one stays./
        ----------
removed one stays./
        queries : iterable of str or bytes
removed one stays./
        k : int, default=10
removed one stays./
            1 or more; fewer are returned where fewer score at least `threshold`.
removed one stays./
        threshold, skip_hubs : int
removed one stays./
            As for `search`.
removed one stays./

removed one stays./
        Raises
removed one stays./
        ------
removed one stays./
        InputError
removed one stays./
            A query that is no digest; the message names its row.
removed one stays./
        ParameterError
removed one stays./
            A k below 1, a threshold outside of its range.
removed one stays./
        """
removed one stays./
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
removed one stays./
            raise bad_parameter("k", repr(k), "1 or more")
removed one stays./
        found = self.search(queries, threshold, skip_hubs=skip_hubs)
removed one stays./
        lengths = np.diff(found.offsets)
removed one stays./
        place = np.arange(len(found.ids)) - np.repeat(found.offsets[:-1], lengths)
removed one stays./
        kept = place < k
removed one stays./
        offsets = np.concatenate(([0], np.cumsum(np.minimum(lengths, k)))).astype(np.int64)
removed one stays./
        return DigestResult(offsets, found.ids[kept], found.scores[kept], found.skipped)
removed one stays./

removed one stays./
    def pairs(self, threshold: int = 1, *, skip_hubs: int | None = None) -> DigestPairs:
removed one stays./
        """All pairs that score at least `threshold` (1 to 100, inclusive), each once.
removed one stays./

removed one stays./
        Notes
removed one stays./
        -----
removed one stays./
        n equal digests are n (n - 1) / 2 pairs of 9 bytes.
removed one stays./
        """
removed one stays./
        left, right, scores, skipped = self._core.pairs(*self._limit(threshold, skip_hubs))
removed one stays./
        if not self._is_ordered():
removed one stays./
            rank = self._rank()
removed one stays./
            left, right = np.where(rank[left] < rank[right], (left, right), (right, left))
removed one stays./
            order = np.lexsort((rank[right], rank[left]))
removed one stays./
            left, right, scores = left[order], right[order], scores[order]
removed one stays./
        return DigestPairs(self._named(left), self._named(right), scores, skipped)
removed one stays./

removed one stays./
    def clusters(
removed one stays./
        self, threshold: int = 1, *, linkage: Linkage = "centred", skip_hubs: int | None = None
removed one stays./
    ) -> DigestClusters:
removed one stays./
        """Groups of matching digests; what matches nothing is left out.
removed one stays./

removed one stays./
        Parameters
removed one stays./
        ----------
removed one stays./
        threshold : int, default=1
removed one stays./
            Smallest score that counts, 1 to 100, inclusive.
removed one stays./
        linkage : {"centred", "connected"}, default="centred"
removed one stays./
            "centred" visits the digests in order of addition; one that is not yet in a cluster opens one and takes
removed one stays./
            in all free digests that match it, so every member matches the first and no two first ones match.
removed one stays./
            "connected" takes chains of matches, whose ends need not match.
removed one stays./
        skip_hubs : int, optional
removed one stays./
            As for `search`.
removed one stays./

removed one stays./
        Raises
removed one stays./
        ------
removed one stays./
        ParameterError
removed one stays./
            A threshold or linkage outside of its range.
removed one stays./
        """
removed one stays./
        first, skipped = self._core.clusters(
removed one stays./
            self._limit(threshold, skip_hubs)[0], linkage, self._limit(threshold, skip_hubs)[1]
removed one stays./
        )
removed one stays./
        order = np.argsort(first, kind="stable").astype(np.uint32)
removed one stays./
        starts = np.flatnonzero(np.diff(first[order], prepend=-1) if len(order) else [])
removed one stays./
        groups = [group for group in np.split(order, starts[1:]) if len(group) > 1]
removed one stays./
        return DigestClusters([[_plain(name) for name in self._named(group)] for group in groups], skipped)
removed one stays./

removed one stays./
    def hubs(self, least: int = 100, most: int = 20) -> list[Hub]:
removed one stays./
        """The 7-grams that at least `least` digests share, most frequent first.
removed one stays./

removed one stays./
        Parameters
removed one stays./
        ----------
removed one stays./
        least : int, default=100
removed one stays./
            Smallest count that is reported, 2 or more.
removed one stays./
        most : int, default=20
removed one stays./
            How many are reported at most.
removed one stays./

removed one stays./
        Raises
removed one stays./
        ------
removed one stays./
        ParameterError
removed one stays./
            A value outside of its range.
removed one stays./
        """
removed one stays./
        if least < 2:
removed one stays./
            raise bad_parameter("least", least, "2 or more")
removed one stays./
        if most < 0:
removed one stays./
            raise bad_parameter("most", most, "0 or more")
removed one stays./
        return [Hub(*hub) for hub in self._core.hubs(least, most)]
removed one stays./

removed one stays./
    def _is_ordered(self) -> bool:
removed one stays./
        return self._slots is None or self._ascending
removed one stays./

removed one stays./
    def _rank(self) -> npt.NDArray[np.int64]:
removed one stays./
        """The place of each slot's id among all ids."""
removed one stays./
        if self._ranks is None:
removed one stays./
            order = sorted(range(len(self._names)), key=self._names.__getitem__)
removed one stays./
            self._ranks = np.empty(len(order), dtype=np.int64)
removed one stays./
            self._ranks[order] = np.arange(len(order))
removed one stays./
        return self._ranks
removed one stays./

removed one stays./
    def _named(self, slots: _Slots) -> IdArray:
removed one stays./
        """The ids of slots."""
removed one stays./
        if self._slots is None:
removed one stays./
            return slots.astype(np.int64)
removed one stays./
        if self._array is None:
removed one stays./
            if self._names and isinstance(self._names[0], str):
removed one stays./
                self._array = np.empty(len(self._names), dtype=object)
removed one stays./
                self._array[:] = self._names
removed one stays./
            else:
removed one stays./
                self._array = np.array(self._names, dtype=np.int64)
removed one stays./
        return self._array[slots]
removed one stays./
