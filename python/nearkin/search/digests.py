"""An exact index of fuzzy digests: search, all pairs and clusters among millions without comparing all with all.

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
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import DigestCore
from nearkin.errors import CorruptStoreError, ParameterError, bad_parameter
from nearkin.io import replace_file
from nearkin.search.digest_results import DigestClusters, DigestPairs, DigestResult, Hub
from nearkin.search.ids import IdArray, check_ids, plain_id
from nearkin.ssdeep import DigestRecipe

__all__ = ["DigestClusters", "DigestIndex", "DigestPairs", "DigestResult", "Hub", "is_digest_index"]

# The first bytes of a saved index.
_MAGIC = b"NKDIGEST"

Digest: TypeAlias = "str | bytes"
Linkage = Literal["centred", "connected"]
_Slots = npt.NDArray[np.uint32]


def is_digest_index(path: str | os.PathLike[str]) -> bool:
    """Whether a regular file begins as a saved index does; nothing else is opened.

    Raises
    ------
    OSError
        If there is nothing of this name, or it can't be read.
    """
    place = Path(path)
    if not stat.S_ISREG(place.stat().st_mode):
        return False
    with place.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


class DigestIndex:
    """Exact search of fuzzy digests by score.

    Parameters
    ----------
    recipe : DigestRecipe or str, default "ssdeep"
        How the digests are made. An index holds digests of one recipe; it is saved with them.
    strict : bool, default=True
        Accept only digests as ssdeep prints them; False accepts what the original library accepts.

    Attributes
    ----------
    recipe : DigestRecipe
        `index.recipe.hash(data)` and `index.recipe.hash_files(paths)` give digests that belong here.

    Notes
    -----
    Digests are held without their runs, as they are compared. Additions are found at once; a batch costs less than one
    by one. A removed digest's place is not given again. Several threads may search at once.

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
        self.strict = strict
        self._core = DigestCore()
        # The id of each slot ever given, in order of addition.
        self._names: list[Any] = []
        # The slot of each id; None while ids are row numbers, which are the slots themselves.
        self._slots: dict[Any, int] | None = None
        # Whether ids only grew, so that the order of slots is that of ids.
        self._ascending = True
        self._array: IdArray | None = None
        self._ranks: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """How many digests there are."""
        return len(self._core)

    def __contains__(self, key: object) -> bool:
        """Whether an id is there."""
        return not isinstance(key, bool) and self._slot(key) is not None

    def __repr__(self) -> str:
        return f"DigestIndex({len(self)} digests)"

    @property
    def nbytes(self) -> int:
        """Bytes of digests and their lists, ids not counted."""
        return self._core.nbytes()

    def _slot(self, key: Any) -> int | None:
        if self._slots is not None:
            return self._slots.get(key)
        if not isinstance(key, (int, np.integer)) or not 0 <= key < self._core.slots():
            return None
        return int(key) if self._core.digest(int(key)) is not None else None

    def ids(self) -> list[Any]:
        """The ids of all digests, in order of addition."""
        names = range(self._core.slots()) if self._slots is None else self._names
        return [name for slot, name in enumerate(names) if self._core.digest(slot) is not None]

    def digest(self, key: Any) -> str:
        """The digest of an id, its runs cut to three.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        slot = self._slot(key)
        found = None if slot is None else self._core.digest(slot)
        if found is None:
            raise bad_parameter("id", repr(key), "an id of the index")
        return found

    def _check_recipe(self, recipe: DigestRecipe | str | None) -> None:
        if recipe is not None:
            self.recipe.check_same(DigestRecipe.of(recipe))

    def add(self, ids: Any, digests: Iterable[Digest], *, recipe: DigestRecipe | str | None = None) -> int:
        """Adds digests; returns how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each digest, integers of 64 bits or strings, of one kind in an index. None stands for row
            numbers, counted from the first digest ever added.
        digests : iterable of str or bytes, or an Arrow column of strings
        recipe : DigestRecipe or str, optional
            How these digests were made, to be checked; None takes them to be made as the index says.

        Raises
        ------
        InputError
            What is no digest; the message names its row. The index is unchanged.
        MismatchError
            Digests of another recipe. The index is unchanged.
        ParameterError
            An id that is there or occurs twice, ids of another kind, counts that differ. The index is unchanged.
        """
        self._check_recipe(recipe)
        in_place = isinstance(digests, (str, bytes)) or hasattr(digests, "__arrow_c_stream__")
        digests = digests if in_place or hasattr(digests, "__arrow_c_array__") else list(digests)
        before = self._core.slots()
        if ids is None:
            if self._slots is not None and before:
                raise bad_parameter("ids", None, "ids, as for the digests that are there")
            self._core.add(digests, self.strict)
            self._array = self._ranks = None
            return self._core.slots() - before
        keys: Any = check_ids(ids)
        names = keys if isinstance(keys, list) else keys.tolist()
        if self._slots is None and before:
            raise bad_parameter("ids", "given", "None: the digests that are there have row numbers")
        count = len(digests)  # type: ignore[arg-type]  # a list, or a column that knows its length
        if len(names) != count:
            raise bad_parameter("ids", f"{len(names)} ids for {count} digests", "one id for each digest")
        slots = self._slots if self._slots is not None else {}
        if names and self._names:
            other = next((name for name in self._names if name is not None), names[0])
            if isinstance(names[0], str) != isinstance(other, str):
                raise bad_parameter("ids", repr(names[0]), f"ids of one kind; those there are like {other!r}")
        fresh: dict[Any, int] = {}
        for slot, name in enumerate(names, before):
            if name in slots or name in fresh:
                raise bad_parameter("ids", repr(name), "each id once; remove it first to replace its digest")
            fresh[name] = slot
        self._core.add(digests, self.strict)
        last = self._names[-1] if self._names else None
        for name in names if self._ascending else ():
            if last is not None and name < last:
                self._ascending = False
                break
            last = name
        slots.update(fresh)
        self._slots = slots
        self._names.extend(names)
        self._array = self._ranks = None
        return len(names)

    def remove(self, ids: Any, *, missing_ok: bool = False) -> int:
        """Removes ids; returns how many were removed.

        Parameters
        ----------
        ids : iterable of int or str, array or column
            Ids as they were given to `add`; row numbers if none were.
        missing_ok : bool, default=False
            Whether ids that are not there are skipped.

        Raises
        ------
        ParameterError
            An id that is not there. The index is unchanged.
        """
        keys: Any = check_ids(ids)
        gone: dict[int, Any] = {}
        for name in keys if isinstance(keys, list) else keys.tolist():
            slot = self._slot(name)
            if slot is None or slot in gone:
                if missing_ok:
                    continue
                raise bad_parameter("ids", repr(name), "ids of the index, each once")
            gone[slot] = name
        self._core.remove(np.fromiter(gone, dtype=np.uint32, count=len(gone)))
        if self._slots is not None:
            for name in gone.values():
                del self._slots[name]
        return len(gone)

    def _limit(self, threshold: int, skip_hubs: int | None) -> tuple[int, int | None]:
        allowed = "1 to 100, inclusive: digests that share nothing score 0"
        if isinstance(threshold, bool) or not isinstance(threshold, (int, np.integer)) or not 1 <= threshold <= 100:
            raise bad_parameter("threshold", repr(threshold), allowed)
        if skip_hubs is not None and (not isinstance(skip_hubs, (int, np.integer)) or skip_hubs < 1):
            raise bad_parameter("skip_hubs", repr(skip_hubs), "1 or more digests, or None to follow every gram")
        return int(threshold), None if skip_hubs is None else int(skip_hubs)

    def search(
        self,
        queries: Iterable[Digest],
        threshold: int = 1,
        *,
        skip_hubs: int | None = None,
        recipe: DigestRecipe | str | None = None,
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

        Raises
        ------
        InputError
            A query that is no digest; the message names its row.
        MismatchError
            Queries of another recipe than the index's.
        ParameterError
            A threshold outside its range.
        """
        self._check_recipe(recipe)
        offsets, slots, scores, skipped = self._core.search(queries, self.strict, *self._limit(threshold, skip_hubs))
        if not self._is_ordered():
            of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            order = np.lexsort((self._rank()[slots], -scores.astype(np.int16), of))
            slots, scores = slots[order], scores[order]
        return DigestResult(offsets, self._named(slots), scores, skipped)

    def nearest(
        self,
        queries: Iterable[Digest],
        k: int = 10,
        *,
        threshold: int = 1,
        skip_hubs: int | None = None,
        recipe: DigestRecipe | str | None = None,
    ) -> DigestResult:
        """The k highest scores of each query; of those at the last score, the smallest ids.

        Parameters
        ----------
        queries : iterable of str or bytes
        k : int, default=10
            1 or more; fewer are returned where fewer score at least `threshold`.
        threshold, skip_hubs, recipe
            As for `search`.

        Raises
        ------
        InputError
            A query that is no digest; the message names its row.
        MismatchError
            Queries of another recipe than the index's.
        ParameterError
            A k below 1, a threshold outside its range.
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise bad_parameter("k", repr(k), "1 or more")
        found = self.search(queries, threshold, skip_hubs=skip_hubs, recipe=recipe)
        lengths = np.diff(found.offsets)
        place = np.arange(len(found.ids)) - np.repeat(found.offsets[:-1], lengths)
        kept = place < k
        offsets = np.concatenate(([0], np.cumsum(np.minimum(lengths, k)))).astype(np.int64)
        return DigestResult(offsets, found.ids[kept], found.scores[kept], found.skipped)

    def pairs(self, threshold: int = 1, *, skip_hubs: int | None = None) -> DigestPairs:
        """All pairs that score at least `threshold` (1 to 100, inclusive), each once.

        Notes
        -----
        n equal digests are n (n - 1) / 2 pairs of 9 bytes.
        """
        left, right, scores, skipped = self._core.pairs(*self._limit(threshold, skip_hubs))
        if not self._is_ordered():
            rank = self._rank()
            left, right = np.where(rank[left] < rank[right], (left, right), (right, left))
            order = np.lexsort((rank[right], rank[left]))
            left, right, scores = left[order], right[order], scores[order]
        return DigestPairs(self._named(left), self._named(right), scores, skipped)

    def clusters(
        self, threshold: int = 1, *, linkage: Linkage = "centred", skip_hubs: int | None = None
    ) -> DigestClusters:
        """Groups of matching digests; what matches nothing is left out.

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
        first, skipped = self._core.clusters(
            self._limit(threshold, skip_hubs)[0], linkage, self._limit(threshold, skip_hubs)[1]
        )
        order = np.argsort(first, kind="stable").astype(np.uint32)
        starts = np.flatnonzero(np.diff(first[order], prepend=-1) if len(order) else [])
        groups = [group for group in np.split(order, starts[1:]) if len(group) > 1]
        return DigestClusters([[plain_id(name) for name in self._named(group)] for group in groups], skipped)

    def hubs(self, least: int = 100, most: int = 20) -> list[Hub]:
        """The 7-grams that at least `least` digests share, most frequent first.

        Parameters
        ----------
        least : int, default=100
            Smallest count that is reported, 2 or more.
        most : int, default=20
            How many are reported at most.

        Raises
        ------
        ParameterError
            A value outside its range.
        """
        if least < 2:
            raise bad_parameter("least", least, "2 or more")
        if most < 0:
            raise bad_parameter("most", most, "0 or more")
        return [Hub(*hub) for hub in self._core.hubs(least, most)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the index to a file, which replaces one of that name only when it is complete and on the disk.

        Parameters
        ----------
        path : str or os.PathLike
            The file. Its format is docs/format-digests.md: versioned and checksummed.

        Raises
        ------
        OSError
            If it can't be written.
        """
        names = [] if self._slots is None else self.ids()
        if self._slots is None:
            kind, ids = 0, b""
        elif names and isinstance(names[0], str):
            encoded = [name.encode() for name in names]
            kind, ids = 2, np.array([len(name) for name in encoded], dtype="<u4").tobytes() + b"".join(encoded)
        else:
            kind, ids = 1, np.array(names, dtype="<i8").tobytes()
        data = self._core.encode(kind, not self.strict, ids, self.recipe.to_json().encode(), kind != 0)
        with replace_file(path) as file:
            file.write(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DigestIndex:
        """The index that `save` wrote.

        Raises
        ------
        CorruptStoreError
            If the file is not a digest index, or changed since it was written.
        FormatVersionError
            If a newer nearkin wrote it.
        MismatchError
            If its recipe is of another version of the rules.
        OSError
            If it can't be read.

        Examples
        --------
        >>> import nearkin as nk, tempfile, pathlib
        >>> index = nk.DigestIndex()
        >>> _ = index.add(["a"], ["3:aaX8v:aV"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     index.save(pathlib.Path(folder) / "index")
        ...     "a" in nk.DigestIndex.load(pathlib.Path(folder) / "index")
        True
        """
        place = os.fspath(path)
        core, kind, lenient, ids, recipe = DigestCore.decode(Path(path).read_bytes(), place)
        try:
            # Version 1 knew one recipe.
            made = DigestRecipe() if recipe is None else DigestRecipe.from_json(recipe.decode())
        except (ParameterError, UnicodeDecodeError) as error:
            raise CorruptStoreError(
                f"{place} is damaged: its recipe can't be read ({error})", place=place, reason=str(error)
            ) from None
        index = cls(recipe=made, strict=not lenient)
        index._core = core
        if kind == 0:
            return index
        count = len(core)
        names: list[Any] = []
        try:
            if kind == 1:
                names = np.frombuffer(ids, dtype="<i8").tolist()
            else:
                lengths = np.frombuffer(ids[: 4 * count], dtype="<u4").astype(np.int64)
                ends = 4 * count + np.cumsum(lengths)
                if len(ids) != (int(ends[-1]) if count else 0):
                    raise ValueError("ids that do not add up")
                names = [
                    ids[end - length : end].decode()
                    for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
                ]
        except ValueError as error:
            raise CorruptStoreError(
                f"{place} is damaged: its ids can't be read ({error})", place=place, reason=str(error)
            ) from None
        slots = {name: slot for slot, name in enumerate(names)}
        if not len(slots) == len(names) == count:
            reason = f"{len(slots)} ids for {count} digests"
            raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason)
        index._names, index._slots = names, slots
        index._ascending = all(a <= b for a, b in pairwise(names))
        return index

    def _is_ordered(self) -> bool:
        return self._slots is None or self._ascending

    def _rank(self) -> npt.NDArray[np.int64]:
        """The place of each slot's id among all ids."""
        if self._ranks is None:
            order = sorted(range(len(self._names)), key=self._names.__getitem__)
            self._ranks = np.empty(len(order), dtype=np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks

    def _named(self, slots: _Slots) -> IdArray:
        """The ids of slots."""
        if self._slots is None:
            return slots.astype(np.int64)
        if self._array is None:
            if self._names and isinstance(self._names[0], str):
                self._array = np.empty(len(self._names), dtype=object)
                self._array[:] = self._names
            else:
                self._array = np.array(self._names, dtype=np.int64)
        return self._array[slots]
