"""Exact index of fuzzy digests: search, pairs and clusters of millions without all-pairs comparison.

**ssdeep.** Two digests score above 0 only if parts of the same block size share seven consecutive characters, or if
they are equal. The index has a posting list of digests for every (block size, 7-gram). A search merges the lists of its
own 7-grams and scores these candidates in full. It therefore returns exactly the digests at or above a threshold from 1
to 100.

Cost: about 800 bytes per digest; a search reads about 80 lists. 7-grams that very many digests share (*hubs*: common
headers, padding) make searches slow. `DigestIndex.hubs` reports them, and `skip_hubs` ignores them on request, which
may miss matches and is counted in the result.

**TLSH.** The distance of two digests is a sum of costs, each of which is a lower bound. The index is sorted by the
header of a digest (length and ratios); a search visits the headers whose costs are within the distance, compares the
bodies in them by SIMD, and scores those that pass in full. It returns exactly the digests within a distance.

Cost: about 80 bytes per digest.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from nearkin._core import DigestCore, TlshCore
from nearkin.digests.recipes import AnyDigestRecipe, check_same_recipe, parse_recipe
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.digests.tlsh import TlshRecipe
from nearkin.errors import (
    InputError,
    ParameterError,
    bad_parameter,
    check_choice,
    check_count,
    damaged,
    refuse_data,
)
from nearkin.index.base import INT64_MAX, Index, file_stamp
from nearkin.index.ids import Existing, Id, Ids, check_existing, contains_id, new_ids
from nearkin.index.results import (
    BatchResult,
    Clusters,
    IdClusters,
    IdMatches,
    IdPairs,
    Linkage,
    Pairs,
    SearchResult,
    search_in_batches,
)
from nearkin.io.arrow import is_arrow
from nearkin.io.saved import check_saved
from nearkin.progress import ShowProgress

Digests: TypeAlias = Iterable[str | bytes]
RecipeLike: TypeAlias = AnyDigestRecipe | str | None

MAX_DISTANCE = (1 << 16) - 1
"""More than the largest distance of TLSH digests of any form."""
_TLSH_KIND = 14


@dataclass(frozen=True)
class ScoredMatch:
    """One match: the id and its score."""

    id: Id
    score: int


@dataclass(frozen=True, eq=False, repr=False)
class ScoredMatches(IdMatches[ScoredMatch]):
    """Matches of one query, highest score first, ties by id.

    Attributes
    ----------
    ids : int64 array, or object array of str
    scores : uint8 array
    """

    _measure = "score"
    _item_type = ScoredMatch

    scores: npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class DigestResult(BatchResult[ScoredMatches]):
    """Matches of a batch of queries, highest score first, ties by id.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of `ids` and `scores`.
    ids : int64 array, or object array of str, of shape (n_matches,)
    scores : uint8 array of shape (n_matches,)
        1 to 100.
    skipped : int
        Number of lookups skipped because of `skip_hubs`; the result is exact if 0.
    """

    _measure = "score"
    _row_type = ScoredMatches

    scores: npt.NDArray[np.uint8]
    skipped: int


@dataclass(frozen=True, eq=False, repr=False)
class DigestPairs(IdPairs):
    """Pairs at or above a threshold: each once, `left < right`, sorted by left and right.

    Attributes
    ----------
    left, right : int64 arrays, or object arrays of str, of shape (n_pairs,)
    scores : uint8 array of shape (n_pairs,)
        1 to 100.
    skipped : int
        Number of lookups skipped because of `skip_hubs`; the result is exact if 0.
    """

    _measure = "score"

    scores: npt.NDArray[np.uint8]
    skipped: int


@dataclass(frozen=True, eq=False, repr=False)
class DigestClusters(IdClusters):
    """Clusters of two or more digests, in order of their first members; each is a list of ids in order of addition.

    Attributes
    ----------
    offsets : int64 array of shape (n_clusters + 1,)
        Cluster c owns positions `offsets[c]` to `offsets[c + 1]` (exclusive) of `ids` and `scores`.
    ids : int64 array, or object array of str, of shape (n_members,)
        The first id of each cluster is its representative.
    scores : uint8 array of shape (n_members,)
        Score of each member with the representative; it can be 0 if chains connect them.
    skipped : int
        Number of lookups skipped because of `skip_hubs`; the result is exact if 0.
    """

    _measure = "score"

    scores: npt.NDArray[np.uint8]
    skipped: int


@dataclass(frozen=True)
class Hub:
    """A 7-gram that many digests share at one block size."""

    block_size: int
    gram: str
    count: int


def is_digest_index(path: str | os.PathLike[str]) -> bool:
    """Return True if the first bytes of a file are those of a digest index, of any version.

    Only a regular file is opened, so that reading does not drain a pipe.

    Raises
    ------
    OSError
        The file does not exist or can't be read.

    Examples
    --------
    >>> from nearkin.index.digests import is_digest_index
    >>> is_digest_index(".")
    False
    """
    name = os.fspath(path)
    return stat.S_ISREG(Path(path).stat().st_mode) and (DigestCore.is_file(name) or TlshCore.is_file(name))


class DigestIndex(Index[Digests, int]):
    """Exact search of fuzzy digests: of ssdeep by score, of TLSH by distance.

    Parameters
    ----------
    recipe : DigestRecipe, TlshRecipe or str, default "ssdeep"
        Recipe of the digests, saved with them: "ssdeep", "tlsh", or a form with flags. All digests of an index have the
        same recipe. Because the index looks up seven common characters, it refuses a recipe of ssdeep with another
        `least_common`.
    strict : bool, default=True
        Accept only digests as ssdeep prints them; False accepts what the original library accepts.

    Attributes
    ----------
    recipe : DigestRecipe or TlshRecipe
        `index.recipe.hash(data)` and `index.recipe.hash_files(paths)` return digests for this index.

    Notes
    -----
    Digests are stored in the form in which they are compared, with runs cut to three characters. Additions are visible
    at once; one batch costs less than single additions. Row numbers are never reused. Several threads may add, remove
    and search at the same time; each change is atomic.

    Examples
    --------
    >>> import nearkin as nk
    >>> index = nk.DigestIndex()
    >>> index.add(["new", "old", "other"], [
    ...     "96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
    ...     "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U",
    ...     "3:E:E",
    ... ])
    3
    >>> index.search(["96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U"], threshold=90)[0]
    ScoredMatches([('new', 100), ('old', 97)])
    >>> index.pairs(threshold=1).to_arrow().to_pylist()
    [{'left': 'new', 'right': 'old', 'score': 97}]
    >>> list(index.clusters(threshold=50))
    [['new', 'old']]

    An index of TLSH takes a distance instead of a threshold:

    >>> text = b"The quick brown fox jumps over the lazy dog, and the dog sleeps on."
    >>> index = nk.DigestIndex("tlsh")
    >>> index.add(["lazy", "tired"], [nk.tlsh.hash(text), nk.tlsh.hash(text.replace(b"lazy", b"tired"))])
    2
    >>> index.search([nk.tlsh.hash(text)], distance=40)[0]
    Matches([('lazy', 0), ('tired', 36)])
    """

    _core: DigestCore | TlshCore

    def __init__(self, recipe: RecipeLike = None, *, strict: bool = True) -> None:
        refuse_data("recipe", recipe, "ssdeep, tlsh or their text forms; digests go to add, as in add(ids, digests)")
        self.recipe = parse_recipe(recipe)
        self.strict = strict
        if isinstance(self.recipe, TlshRecipe):
            self._core = TlshCore(self.recipe.buckets, self.recipe.checksum)
        else:
            self.recipe.check_searchable()
            self._core = DigestCore()

    def _scored(self, threshold: int = 1, skip_hubs: int | None = None) -> tuple[DigestCore, int, int | None]:
        """The core of an index of ssdeep and checked limits; ParameterError for another index."""
        if not isinstance(self._core, DigestCore):
            raise bad_parameter("distance", None, "distance=40, for example: TLSH has distances, no scores")
        threshold = check_count(
            "threshold", threshold, 1, 100, "1 to 100, inclusive: digests that share nothing score 0"
        )
        if skip_hubs is not None:
            allowed = "1 or more digests, or None to follow every gram"
            skip_hubs = check_count("skip_hubs", skip_hubs, 1, INT64_MAX, allowed)
        return self._core, threshold, skip_hubs

    def _measured(self, distance: int) -> tuple[TlshCore, int]:
        """The core of an index of TLSH and a checked distance; ParameterError for another index."""
        if not isinstance(self._core, TlshCore):
            raise bad_parameter("distance", distance, "threshold=60, for example: ssdeep has scores, no distances")
        return self._core, check_count("distance", distance, 0, MAX_DISTANCE, "0 or more")

    def __repr__(self) -> str:
        return f"DigestIndex({len(self)} digests)"

    @property
    def nbytes(self) -> int:
        """Bytes of digests, posting lists and ids."""
        return self._core.info()[2]

    def digest(self, key: Id) -> str:
        """Return the digest of an id; of ssdeep with runs cut to three characters.

        Parameters
        ----------
        key : int or str
            An id as passed to `add`; a row number if none were.

        Raises
        ------
        ParameterError
            An id that does not exist.
        """
        digest = self._core.digest(key) if contains_id(self._core, key) else None
        if digest is None:
            raise bad_parameter("id", repr(key), "an id of the index")
        return digest

    def _check_recipe(self, recipe: RecipeLike) -> None:
        if recipe is not None:
            check_same_recipe(self.recipe, parse_recipe(recipe))

    def add(
        self,
        ids: Ids | None,
        digests: Digests,
        *,
        existing: Existing = "error",
        recipe: RecipeLike = None,
    ) -> int:
        """Add digests and return how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each digest, 64-bit integers or strings, of one kind per index. None stands for row numbers,
            counted from the first digest ever added.
        digests : iterable of str or bytes, or an Arrow column of strings
        existing : {"error", "update", "skip"}, default="error"
            For an id that already exists or occurs twice in the call: refuse the call, update the digest (the last one
            wins), or skip the new one.
        recipe : DigestRecipe or str, optional
            Recipe of the digests, to be checked. By default the recipe of the index is assumed.

        Raises
        ------
        InputError
            A value that is not a digest; the message names its row. The index is unchanged.
        MismatchError
            Digests of another recipe. The index is unchanged.
        ParameterError
            An id that already exists or occurs twice, ids of another kind, or counts that differ. The index is
            unchanged.
        """
        self._check_recipe(recipe)
        in_place = isinstance(digests, (str, bytes)) or is_arrow(digests)
        digests = digests if in_place else list(digests)
        if isinstance(self._core, TlshCore):
            return self._core.add(new_ids(ids), digests, check_existing(existing))
        return self._core.add(new_ids(ids), digests, self.strict, check_existing(existing))

    @overload
    def search(
        self,
        queries: Digests,
        threshold: int = 1,
        *,
        skip_hubs: int | None = None,
        recipe: RecipeLike = None,
        progress: ShowProgress = None,
    ) -> DigestResult: ...

    @overload
    def search(
        self, queries: Digests, *, distance: int, recipe: RecipeLike = None, progress: ShowProgress = None
    ) -> SearchResult: ...

    def search(
        self,
        queries: Digests,
        threshold: int = 1,
        *,
        distance: int | None = None,
        skip_hubs: int | None = None,
        recipe: RecipeLike = None,
        progress: ShowProgress = None,
    ) -> DigestResult | SearchResult:
        """Return all digests that score at least `threshold` with each query, or that are within `distance` of it.

        Matches are sorted by score, highest first, or by distance, smallest first; ties by id.

        Parameters
        ----------
        queries : iterable of str or bytes
        threshold : int, default=1
            Of ssdeep: smallest score of a match, 1 to 100, inclusive.
        distance : int
            Of TLSH, which needs it: largest distance of a match, inclusive.
        skip_hubs : int, optional
            Of ssdeep: ignore 7-grams that more digests share. The search may then miss matches; `result.skipped` counts
            the ignored lookups. By default no 7-gram is ignored.
        recipe : DigestRecipe, TlshRecipe or str, optional
            Recipe of the queries, to be checked.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", the number of finished
            queries, and the total. The queries then run in batches of a few thousand, each on the current index.

        Returns
        -------
        DigestResult, or SearchResult with `distance`

        Raises
        ------
        InputError
            A query that is not a digest; the message names its row.
        MismatchError
            Queries of another recipe than the index.
        ParameterError
            A threshold or distance out of range, or the one of the other family.
        """
        self._check_recipe(recipe)
        if distance is not None:
            return self._within(queries, distance, None, progress)
        scored, threshold, skip_hubs = self._scored(threshold, skip_hubs)
        limits = (self.strict, threshold, skip_hubs)
        return _search_batches(lambda some: DigestResult(*scored.search(some, *limits)), queries, progress)

    def _within(self, queries: Digests, distance: int, k: int | None, progress: ShowProgress) -> SearchResult:
        core, distance = self._measured(distance)
        return _search_batches(lambda some: SearchResult(*core.search(some, distance, k)), queries, progress)

    @overload
    def nearest(
        self,
        queries: Digests,
        k: int = 10,
        *,
        threshold: int = 1,
        skip_hubs: int | None = None,
        recipe: RecipeLike = None,
        progress: ShowProgress = None,
    ) -> DigestResult: ...

    @overload
    def nearest(
        self, queries: Digests, k: int = 10, *, distance: int, recipe: RecipeLike = None, progress: ShowProgress = None
    ) -> SearchResult: ...

    def nearest(
        self,
        queries: Digests,
        k: int = 10,
        *,
        threshold: int = 1,
        distance: int | None = None,
        skip_hubs: int | None = None,
        recipe: RecipeLike = None,
        progress: ShowProgress = None,
    ) -> DigestResult | SearchResult:
        """Return the k digests with the highest scores, or smallest distances, for each query; ties by smallest id.

        Parameters
        ----------
        queries : iterable of str or bytes
        k : int, default=10
            1 or more; the result has fewer matches if fewer digests reach `threshold` or are within `distance`.
        threshold, distance, skip_hubs, recipe, progress
            As for `search`. A TLSH index doubles the distance from 24 on until it has k digests, so a large limit costs
            only queries that have none near.

        Raises
        ------
        InputError
            A query that is not a digest; the message names its row.
        MismatchError
            Queries of another recipe than the index.
        ParameterError
            A k below 1, or a threshold or distance out of range.
        """
        k = check_count("k", k, 1, INT64_MAX, "1 or more")
        if distance is not None:
            self._check_recipe(recipe)
            return self._within(queries, distance, k, progress)
        return self.search(queries, threshold, skip_hubs=skip_hubs, recipe=recipe, progress=progress).head(k)

    @overload
    def pairs(self, threshold: int = 1, *, skip_hubs: int | None = None) -> DigestPairs: ...

    @overload
    def pairs(self, *, distance: int) -> Pairs: ...

    def pairs(
        self, threshold: int = 1, *, distance: int | None = None, skip_hubs: int | None = None
    ) -> DigestPairs | Pairs:
        """Return all pairs that score at least `threshold`, or that are within `distance`, each once.

        Parameters
        ----------
        threshold : int, default=1
            Of ssdeep: smallest score of a pair, 1 to 100, inclusive.
        distance : int
            Of TLSH, which needs it: largest distance of a pair, inclusive.
        skip_hubs : int, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A threshold or distance out of range, or the one of the other family.

        Notes
        -----
        n equal digests make n (n - 1) / 2 pairs of about 10 bytes each.
        """
        if distance is not None:
            core, distance = self._measured(distance)
            return Pairs(*core.pairs(distance))
        scored, threshold, skip_hubs = self._scored(threshold, skip_hubs)
        return DigestPairs(*scored.pairs(threshold, skip_hubs))

    @overload
    def clusters(
        self, threshold: int = 1, *, linkage: Linkage = "centred", skip_hubs: int | None = None
    ) -> DigestClusters: ...

    @overload
    def clusters(self, *, distance: int, linkage: Linkage = "centred") -> Clusters: ...

    def clusters(
        self,
        threshold: int = 1,
        *,
        distance: int | None = None,
        linkage: Linkage = "centred",
        skip_hubs: int | None = None,
    ) -> DigestClusters | Clusters:
        """Return clusters of matching digests; digests without a match are left out.

        Parameters
        ----------
        threshold : int, default=1
            Of ssdeep: smallest score of a match, 1 to 100, inclusive.
        distance : int
            Of TLSH, which needs it: largest distance of a match, inclusive.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the digests in order of addition. A digest that is in no cluster starts one and absorbs all
            free digests that match it, so every member matches the first one and no two first ones match. "connected"
            follows chains of matches, whose ends need not match.
        skip_hubs : int, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A threshold, distance or linkage out of range.
        """
        check_choice("linkage", linkage, "centred", "connected")
        if distance is not None:
            core, distance = self._measured(distance)
            return Clusters(*core.clusters(distance, linkage))
        scored, threshold, skip_hubs = self._scored(threshold, skip_hubs)
        return DigestClusters(*scored.clusters(threshold, linkage, skip_hubs))

    def hubs(self, min_count: int = 100, limit: int = 20) -> list[Hub]:
        """Return the 7-grams that at least `min_count` digests share, most frequent first.

        Parameters
        ----------
        min_count : int, default=100
            Smallest reported count, 2 or more.
        limit : int, default=20
            Maximum number of hubs.

        Raises
        ------
        ParameterError
            A value out of range.
        """
        min_count = check_count("min_count", min_count, 2, INT64_MAX, "2 or more")
        limit = check_count("limit", limit, 0, INT64_MAX, "0 or more")
        return [Hub(*hub) for hub in self._scored()[0].hubs(min_count, limit)]

    def _write(self, file: str) -> None:
        recipe = self.recipe.to_json().encode()
        if isinstance(self._core, TlshCore):
            self._core.save(file, recipe)
        else:
            self._core.save(file, not self.strict, recipe)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> DigestIndex:
        """Open a saved index of any version. Additions do not change the file.

        The entire file is read and checked.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` has written.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is not a complete index, that a newer nearkin wrote, or that can't be read.
        MismatchError
            A recipe of another version of the rules.

        Examples
        --------
        >>> import nearkin as nk, tempfile, pathlib
        >>> index = nk.DigestIndex()
        >>> _ = index.add(["a"], ["3:aaX8v:aV"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     index.save(pathlib.Path(folder) / "index")
        ...     "a" in nk.DigestIndex.open(pathlib.Path(folder) / "index")
        True
        """
        name = os.fspath(path)
        tlsh = Path(path).is_file() and TlshCore.is_file(name)
        check_saved(path, _TLSH_KIND if tlsh else 7)
        stamp = file_stamp(path)
        core: DigestCore | TlshCore
        lenient, recipe_json = False, None
        if tlsh:
            core, recipe_json = TlshCore.open(name)
        else:
            core, lenient, recipe_json = DigestCore.open(name)
        family = TlshRecipe if tlsh else DigestRecipe
        try:
            # Files of version 1 have no recipe: there was only one.
            recipe = family() if recipe_json is None else family.from_json(recipe_json.decode())
        except (ParameterError, UnicodeDecodeError) as error:
            raise damaged(path, f"its recipe can't be read ({error})") from None
        index = cls(recipe=recipe, strict=not lenient)
        return index._attach(core, stamp)

    def explain(self) -> dict[str, Any]:
        """Return the contents of the index.

        Returns
        -------
        dict
            `recipe` and `strict`; `digests` (their number), `ids` (their kind), `postings` (of ssdeep: entries of the
            7-gram lists, including those of removed digests until they are dropped; of TLSH: rows), `bytes`.
        """
        kind, postings, size = self._core.info()
        return {
            "recipe": str(self.recipe),
            "strict": self.strict,
            "digests": len(self),
            "ids": kind,
            "postings": postings,
            "bytes": size,
        }


_AnyResult = TypeVar("_AnyResult", DigestResult, SearchResult)


def _search_batches(search: Callable[[Digests], _AnyResult], queries: Digests, progress: ShowProgress) -> _AnyResult:
    """Run all queries at once, or batch by batch if progress is reported."""
    if progress is None or isinstance(queries, (str, bytes)):
        return search(queries)
    digests = list(queries)

    def search_range(start: int, stop: int) -> _AnyResult:
        try:
            return search(digests[start:stop])
        except InputError:
            # Search again with all queries: the error must name the row among all of them.
            search(digests)
            raise

    return search_in_batches(search_range, len(digests), progress)
