"""An exact index of fuzzy digests: search, pairs and clusters of millions without comparing all with all.

Two digests score above 0 only if parts of one block size share seven successive characters (or if they are equal). The
index lists the digests of every (block size, 7-gram); a search unites the lists of its own grams and compares these
candidates in full. So nothing at or above a threshold from 1 to 100 is missed, and nothing below is returned.

Cost: about 800 bytes per digest; a search looks up about 80 lists and compares what they hold. Grams that very many
digests share (*hubs*: common headers, padding) make searches long; `DigestIndex.hubs` reports them, and `skip_hubs`
leaves them out on request, which may miss matches and is counted in the result.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from nearkin._core import DigestCore
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import CorruptStoreError, InputError, ParameterError, bad_parameter, check_count, check_regular
from nearkin.index.copies import CopiedByFile
from nearkin.index.digest_results import DigestClusters, DigestPairs, DigestResult, Hub
from nearkin.index.ids import Existing, Id, Ids, check_existing, contains_id, new_ids
from nearkin.index.persistence import Origin
from nearkin.index.results import Linkage, ask, first_of_each
from nearkin.progress import ShowProgress

__all__ = ["DigestClusters", "DigestIndex", "DigestPairs", "DigestResult", "Hub", "is_digest_index"]

Digest: TypeAlias = "str | bytes"

_MOST = (1 << 63) - 1


def is_digest_index(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds a digest index, of this version or an older one, by the way it begins.

    Anything but a regular file is not an index, and is not opened: a pipe loses no bytes.

    Raises
    ------
    OSError
        If there is nothing of this name, or it can't be read.

    Examples
    --------
    >>> from nearkin.index.digests import is_digest_index
    >>> is_digest_index(".")
    False
    """
    return stat.S_ISREG(Path(path).stat().st_mode) and DigestCore.is_file(os.fspath(path))


class DigestIndex(CopiedByFile):
    """Exact search of fuzzy digests by score.

    Parameters
    ----------
    recipe : DigestRecipe or str, default "ssdeep"
        How the digests are made. An index holds digests of one recipe; it is saved with them. It lists what shares
        seven successive characters: a recipe with another `least_common` is refused.
    strict : bool, default=True
        Accept only digests as ssdeep prints them; False accepts what the original library accepts.

    Attributes
    ----------
    recipe : DigestRecipe
        `index.recipe.hash(data)` and `index.recipe.hash_files(paths)` give digests that belong here.

    Notes
    -----
    Digests are stored as they are compared, with runs cut to three. Additions are found at once; a batch costs less
    than single additions. Row numbers are never reused. Several threads may add, remove and search at once; what a call
    changes is seen whole or not at all.

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
    """

    def __init__(self, *, recipe: DigestRecipe | str | None = None, strict: bool = True) -> None:
        self.recipe = DigestRecipe.of(recipe)
        self.recipe.check_searchable()
        self.strict = strict
        self._core = DigestCore()

    def _held(self) -> DigestCore:
        return self._core

    def __repr__(self) -> str:
        return f"DigestIndex({len(self)} digests)"

    @property
    def nbytes(self) -> int:
        """Bytes of digests, their lists and ids."""
        return self._core.info()[2]

    def digest(self, key: Id) -> str:
        """The digest of an id, its runs cut to three.

        Parameters
        ----------
        key : int or str
            An id as it was given to `add`; a row number if none were.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        found = self._core.digest(key) if contains_id(self._core, key) else None
        if found is None:
            raise bad_parameter("id", repr(key), "an id of the index")
        return found

    def _check_recipe(self, recipe: DigestRecipe | str | None) -> None:
        if recipe is not None:
            self.recipe.check_same(DigestRecipe.of(recipe))

    def add(
        self,
        ids: Ids | None,
        digests: Iterable[Digest],
        *,
        existing: Existing = "error",
        recipe: DigestRecipe | str | None = None,
    ) -> int:
        """Adds digests; returns how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each digest, integers of 64 bits or strings, of one kind in an index. None stands for row
            numbers, counted from the first digest ever added.
        digests : iterable of str or bytes, or an Arrow column of strings
        existing : {"error", "update", "skip"}, default="error"
            For an id that is already there, or occurs twice in the call: refuse the call, replace the digest (the last
            one wins), or keep the first.
        recipe : DigestRecipe or str, optional
            How these digests were made, to be checked; with None they are taken to be of the index's recipe.

        Raises
        ------
        InputError
            A value that is not a digest; the message names its row. The index is unchanged.
        MismatchError
            Digests of another recipe. The index is unchanged.
        ParameterError
            An id that is already there or occurs twice, ids of another kind, counts that differ. The index is
            unchanged.
        """
        self._check_recipe(recipe)
        in_place = isinstance(digests, (str, bytes)) or hasattr(digests, "__arrow_c_stream__")
        digests = digests if in_place or hasattr(digests, "__arrow_c_array__") else list(digests)
        return self._core.add(new_ids(ids), digests, self.strict, check_existing(existing))

    def _limit(self, threshold: int, skip_hubs: int | None) -> tuple[int, int | None]:
        allowed = "1 to 100, inclusive: digests that share nothing score 0"
        threshold = check_count("threshold", threshold, 1, 100, allowed)
        if skip_hubs is not None:
            allowed = "1 or more digests, or None to follow every gram"
            skip_hubs = check_count("skip_hubs", skip_hubs, 1, _MOST, allowed)
        return threshold, skip_hubs

    def search(
        self,
        queries: Iterable[Digest],
        threshold: int = 1,
        *,
        skip_hubs: int | None = None,
        recipe: DigestRecipe | str | None = None,
        progress: ShowProgress = None,
    ) -> DigestResult:
        """Everything that scores at least `threshold` with each query, highest score first, ties by id.

        Parameters
        ----------
        queries : iterable of str or bytes
        threshold : int, default=1
            Smallest score that counts, 1 to 100, inclusive.
        skip_hubs : int, optional
            Leave out 7-grams that more digests share. Matches may then be missed; `result.skipped` counts look-ups
            that were left out. Default: none is left out.
        recipe : DigestRecipe or str, optional
            How the queries were made, to be checked.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", queries done and all. The
            queries are then asked some thousand at a time, each time of the index as it is.

        Raises
        ------
        InputError
            A query that is not a digest; the message names its row.
        MismatchError
            Queries of another recipe than the index's.
        ParameterError
            A threshold outside its range.
        """
        self._check_recipe(recipe)
        limits = self._limit(threshold, skip_hubs)
        if progress is None or isinstance(queries, (str, bytes)):
            return DigestResult(*self._core.search(queries, self.strict, *limits))
        listed = list(queries)

        def search(start: int, stop: int) -> DigestResult:
            try:
                return DigestResult(*self._core.search(listed[start:stop], self.strict, *limits))
            except InputError:
                # The number of a bad query counts from the first of all.
                self._core.search(listed, self.strict, *limits)
                raise

        return ask(search, len(listed), progress)

    def nearest(
        self,
        queries: Iterable[Digest],
        k: int = 10,
        *,
        threshold: int = 1,
        skip_hubs: int | None = None,
        recipe: DigestRecipe | str | None = None,
        progress: ShowProgress = None,
    ) -> DigestResult:
        """The k highest scores of each query; of those at the last score, the smallest ids.

        Parameters
        ----------
        queries : iterable of str or bytes
        k : int, default=10
            1 or more; fewer are returned where fewer score at least `threshold`.
        threshold, skip_hubs, recipe, progress
            As for `search`.

        Raises
        ------
        InputError
            A query that is not a digest; the message names its row.
        MismatchError
            Queries of another recipe than the index's.
        ParameterError
            A k below 1, a threshold outside its range.
        """
        k = check_count("k", k, 1, _MOST, "1 or more")
        found = self.search(queries, threshold, skip_hubs=skip_hubs, recipe=recipe, progress=progress)
        offsets, kept = first_of_each(found.offsets, k)
        return DigestResult(offsets, found.ids[kept], found.scores[kept], found.skipped)

    def pairs(self, threshold: int = 1, *, skip_hubs: int | None = None) -> DigestPairs:
        """All pairs that score at least `threshold` (1 to 100, inclusive), each once.

        Parameters
        ----------
        threshold : int, default=1
            Smallest score that counts, 1 to 100, inclusive.
        skip_hubs : int, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A threshold outside its range.

        Notes
        -----
        n equal digests make n (n - 1) / 2 pairs of 9 bytes each.
        """
        return DigestPairs(*self._core.pairs(*self._limit(threshold, skip_hubs)))

    def clusters(
        self, threshold: int = 1, *, linkage: Linkage = "centred", skip_hubs: int | None = None
    ) -> DigestClusters:
        """Groups of matching digests; digests without a match are left out.

        Parameters
        ----------
        threshold : int, default=1
            Smallest score that counts, 1 to 100, inclusive.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the digests in order of addition; one that is not yet in a cluster opens one and takes
            in all free digests that match it, so every member matches the first and no two first ones match.
            "connected" takes chains of matches, whose ends need not match.
        skip_hubs : int, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A threshold or linkage outside its range.
        """
        if not isinstance(linkage, str):
            raise bad_parameter("linkage", repr(linkage), '"centred" or "connected"')
        limit, skip = self._limit(threshold, skip_hubs)
        return DigestClusters(*self._core.clusters(limit, linkage, skip))

    def hubs(self, least: int = 100, most: int = 20) -> list[Hub]:
        """The 7-grams that at least `least` digests share, most frequent first.

        Parameters
        ----------
        least : int, default=100
            Smallest count that is reported, 2 or more.
        most : int, default=20
            Most that are reported.

        Raises
        ------
        ParameterError
            A value outside its range.
        """
        least = check_count("least", least, 2, _MOST, "2 or more")
        most = check_count("most", most, 0, _MOST, "0 or more")
        return [Hub(*hub) for hub in self._core.hubs(least, most)]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Saves the index as one file with a checksum for every part, written aside, synced and renamed.

        `docs/format-digests.md` describes it.

        Parameters
        ----------
        path : str or os.PathLike
            The file; one of that name is replaced.
        overwrite : bool, default False
            Whether it is replaced even if it has changed since this index was opened from it, or saved to it.

        Raises
        ------
        OutputError
            The file has changed since this index was opened from it, or saved to it.
        StoreLockedError
            Somebody else is changing the file.
        OSError
            The file system refuses; an old file is as it was.
        """
        with self._replacing(path, overwrite=overwrite) as place:
            self._core.save(place, not self.strict, self.recipe.to_json().encode())

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> DigestIndex:
        """Opens a saved index, of this version or an older one; it may be added to, and the file stays as it is.

        The file is read whole, and every part of it is checked.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` has written.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is not a whole index, that a newer nearkin wrote, or that can't be read.
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
        place = os.fspath(path)
        check_regular(path)
        origin = Origin.of(path)
        core, lenient, recipe = DigestCore.open(place)
        try:
            # Version 1 knew one recipe.
            made = DigestRecipe() if recipe is None else DigestRecipe.from_json(recipe.decode())
        except (ParameterError, UnicodeDecodeError) as error:
            raise CorruptStoreError(
                f"{place} is damaged: its recipe can't be read ({error})", place=place, reason=str(error)
            ) from None
        index = cls(recipe=made, strict=not lenient)
        index._core = core
        index._remember(origin)
        return index

    def explain(self) -> dict[str, Any]:
        """What the index holds.

        Returns
        -------
        dict
            `recipe` and `strict`; `digests` (how many), `ids` (their kind), `postings` (entries of the lists of
            7-grams, those of removed digests included until they are dropped), `bytes`.
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
