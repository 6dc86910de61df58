"""Exact search of packed fingerprints by Hamming distance.

`HammingIndex` finds exactly what a comparison with every fingerprint would find: by a scan with the processor's
population count, or by tables of blocks (pigeonhole; multi-index hashing), whichever its cost model expects to be
faster. `nearkin.index.fingerprints` has the shape of fingerprints and their other representations,
`nearkin.index.results` what searches return.

References
----------
.. [1] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.
.. [2] M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nearkin._core import KERNEL, HammingCore
from nearkin.errors import CorruptStoreError, bad_parameter, check_count, check_regular, mismatch
from nearkin.index.copies import CopiedByFile
from nearkin.index.fingerprints import (
    check_bits,
    flat_rows,
    from_bytes,
    from_hex,
    from_signed,
    hamming,
    to_bytes,
    to_hex,
    to_signed,
    words_of,
)
from nearkin.index.ids import Existing, Ids, check_existing, new_ids
from nearkin.index.memory import INDEX_SHARE, share_of_memory
from nearkin.index.persistence import Origin
from nearkin.index.results import Clusters, Linkage, Matches, Pairs, SearchResult, ask
from nearkin.progress import ShowProgress
from nearkin.recipe import Recipe

__all__ = [
    "Clusters",
    "HammingIndex",
    "Matches",
    "Pairs",
    "SearchResult",
    "from_bytes",
    "from_hex",
    "from_signed",
    "hamming",
    "to_bytes",
    "to_hex",
    "to_signed",
]

Method = Literal["auto", "scan", "bits", "blocks", "tables", "multi"]
Rank = Literal["hamming", "jaccard", "spherical"]

_MOST = (1 << 63) - 1
_BARE = "8 * words + 4, and 4 where any two are equal"
_TABLE = "8 * sketch words + 4, the 4 only in the first half where a sketch is the whole; 4 * 2**p a directory"
_MEMORY = {
    "scan": _BARE,
    "bits": f"{_BARE}; 4 * set bits + 2",
    "blocks": f"{_BARE}; radius tables of {_TABLE}",
    "tables": f"{_BARE}; C(m, radius) - 1 tables of {_TABLE}",
    "multi": f"{_BARE}; m - 1 tables of {_TABLE}",
}


class HammingIndex(CopiedByFile):
    """Exact search of fingerprints by Hamming distance.

    Parameters
    ----------
    bits : int, optional
        Width of the fingerprints, 1 to 1024; that of the recipe, or 64, if not given.
    method : {"auto", "scan", "bits", "blocks", "tables", "multi"}, default="auto"
        "scan" compares with every fingerprint; "bits" walks one inverted list per bit (for teaching: far slower than a
        scan); "blocks" looks up radius + 1 tables by one block each; "tables" one table for every choice of blocks that
        must agree [1]_; "multi" fewer tables with a small radius in each block [2]_; "auto" chooses by expected cost.
        Results do not depend on it.
    radius : int, optional
        Announces the radius of the searches (0 to bits): tables for it are built at the first search. Without it they
        are built once the scans have cost as much as building would have.
    memory_limit : int, optional
        Bytes that fingerprints and tables may take; fewer tables are built, or none, to stay below it. Without it
        "auto" builds no tables beyond a quarter of the machine's memory (`nearkin.index.memory`).
    recipe : Recipe or str, optional
        How the fingerprints were made: kept and saved with the index, so that `check_recipe` can refuse others.

    Attributes
    ----------
    bits, method, radius, memory_limit
        As given.
    recipe : Recipe or None

    Raises
    ------
    ParameterError
        An argument outside its range.
    MismatchError
        `bits` are not those of the recipe.

    Notes
    -----
    Equal fingerprints are stored once, with a list of ids. Fingerprints take 8 * words + 4 bytes each; every
    table but the first takes 8 bytes per word of a sketch (the first words, on which a random fingerprint fails) and 4
    for a number, which the later half of the tables does not need where the sketch is the whole fingerprint; integer
    ids take 8 bytes, and, unless they ascend, 5 to 11 bytes for their look-up; row numbers take nothing. Added
    fingerprints are found at once; sorting and merging them is amortised, and the longest pause is one merge of all.

    Several threads may search at once.

    References
    ----------
    .. [1] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.
    .. [2] M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import HammingIndex
    >>> index = HammingIndex(bits=64, radius=3)
    >>> index.add([10, 20, 30], np.array([0b0000, 0b0111, 0b1111], dtype=np.uint64))
    3
    >>> hits = index.search(np.array([0b0011], dtype=np.uint64), radius=2)
    >>> hits.ids, hits.distances
    (array([20, 10, 30]), array([1, 2, 2], dtype=uint16))
    >>> index.remove([20])
    1
    >>> index.nearest([0b0011], k=1)[0]
    Matches([(10, 2)])
    >>> index.pairs(radius=4).to_arrow().to_pylist()
    [{'left': 10, 'right': 30, 'distance': 4}]
    """

    def __init__(
        self,
        bits: int | None = None,
        method: Method = "auto",
        *,
        radius: int | None = None,
        memory_limit: int | None = None,
        recipe: Recipe | str | None = None,
    ) -> None:
        made = None if recipe is None else Recipe.of(recipe)
        if bits is None:
            bits = 64 if made is None else made.bits
        self.bits = check_bits(bits)
        if made is not None and made.bits != self.bits:
            raise mismatch("bits", f"an index of {self.bits}", f"a recipe of {made.bits}")
        self.method: Method = method
        if not isinstance(method, str):
            raise bad_parameter("method", repr(method), '"auto", "scan", "bits", "blocks", "tables" or "multi"')
        self.radius = None if radius is None else self._check_radius(radius)
        if memory_limit is not None:
            memory_limit = check_count("memory_limit", memory_limit, 0, _MOST, "0 to 2**63 - 1 bytes, or None")
        self.memory_limit = memory_limit
        self._core = HammingCore(self.bits, method, self.radius, memory_limit)
        self._bound()
        if made is not None:
            self._core.set_note(json.dumps({"digest": made.digest, "recipe": json.loads(made.to_json())}))

    def _bound(self) -> None:
        """Let the machine's memory bound what nobody else bounds."""
        if self.memory_limit is None and self.method == "auto":
            self._core.set_share(share_of_memory(None, INDEX_SHARE))

    def _check_radius(self, radius: int) -> int:
        return check_count("radius", radius, 0, self.bits, f"0 to bits={self.bits}")

    def _held(self) -> HammingCore:
        return self._core

    def _save_core(self, place: str) -> None:
        self._core.save(place)

    def __repr__(self) -> str:
        return f"HammingIndex(bits={self.bits}, method={self.method!r}, {len(self)} fingerprints)"

    @property
    def recipe(self) -> Recipe | None:
        """How the fingerprints were made, or None if the index was not told.

        Raises
        ------
        CorruptStoreError
            The file's recipe does not match its digest.
        MismatchError
            The file's recipe is of another version of the rules.
        """
        note = self._core.note()
        if note is None:
            return None
        try:
            content = json.loads(note)
            slots, digest = json.dumps(content["recipe"]), content["digest"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = f"its note is not a recipe ({error!r})"
            raise CorruptStoreError(f"the index: {reason}", place="the index", reason=reason) from None
        recipe = Recipe.from_json(slots)
        if recipe.digest != digest:
            reason = f"its recipe has the digest {recipe.digest} and not {digest}, as it says"
            raise CorruptStoreError(f"the index: {reason}", place="the index", reason=reason)
        return recipe

    def check_recipe(self, recipe: Recipe | str) -> None:
        """Refuses fingerprints that were made in another way than those of the index.

        Parameters
        ----------
        recipe : Recipe or str
            How other fingerprints were made.

        Raises
        ------
        MismatchError
            Names the first slot in which the recipes differ; also if the index was not told a recipe.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(recipe="char:4|count|xxh3|simhash:64")
        >>> index.bits
        64
        >>> index.check_recipe("char:4|count|md5|simhash:64")
        Traceback (most recent call last):
            ...
        nearkin.errors.MismatchError: recipe slot hash differs: xxh3 against md5; compare only what was made alike
        """
        other, own = Recipe.of(recipe), self.recipe
        if own is None:
            raise mismatch("recipe", "an index that was made without one", str(other))
        own.check_same(other)

    @property
    def next_row(self) -> int:
        """How many were ever added, removed ones included: the row number of the next one."""
        return self._core.total()

    @property
    def nbytes(self) -> int:
        """Bytes of fingerprints, tables and ids."""
        _, fingerprints, ids = self._core.info()
        return fingerprints + ids

    def add(self, ids: Ids | None, fps: npt.ArrayLike, *, existing: Existing = "error") -> int:
        """Adds fingerprints; returns how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each fingerprint, integers of 64 bits or strings, of one kind in an index. None stands for row
            numbers, counted from the first fingerprint ever added.
        fps : uint64 array of shape (n,) up to 64 bits, (n, words) above
            Bits at or above `bits` are zero.
        existing : {"error", "update", "skip"}, default="error"
            For an id that is already there, or occurs twice in the call: refuse the call, replace the fingerprint (the
            last one wins), or keep the first.

        Raises
        ------
        ParameterError
            An id that is already there or occurs twice, ids of another kind, counts that differ, a bit above the
            width. The index is unchanged.
        """
        rows = flat_rows(fps, self.bits, "fps")
        return self._core.add(new_ids(ids), rows, check_existing(existing))

    def search(
        self, queries: npt.ArrayLike, radius: int, *, limit: int | None = None, progress: ShowProgress = None
    ) -> SearchResult:
        """Everything within a radius of each query, nearest first, ties by id.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
            One fingerprint (an int, or an array of `words` words) is one query.
        radius : int
            Largest distance that counts, 0 to bits, inclusive.
        limit : int, optional
            Most matches of a query, 1 or more: the first ones in the order of results. `hits.truncated` tells which
            queries had more. No limit by default.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", queries done and all. The
            queries are then asked some thousand at a time, each time of the index as it is.

        Raises
        ------
        ParameterError
            A radius or limit outside its range, queries of another width.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(None, [0, 0, 0, 1])
        >>> hits = index.search([0, 3], radius=1, limit=2)
        >>> hits.ids, hits.truncated
        (array([0, 1, 3]), array([ True, False]))
        """
        rows, words = flat_rows(queries, self.bits, "queries"), words_of(self.bits)
        radius, limit = self._check_radius(radius), _check_limit(limit)
        return ask(
            lambda start, stop: self._search(rows[start * words : stop * words], radius, limit),
            len(rows) // words,
            progress,
        )

    def iter_search(
        self, queries: npt.ArrayLike, radius: int, *, batch_size: int = 4096, limit: int | None = None
    ) -> Iterator[SearchResult]:
        """The results of `search`, `batch_size` queries at a time, so that only theirs are in memory.

        Parameters
        ----------
        queries, radius, limit
            As for `search`; with a limit a batch holds at most `batch_size * limit` matches.
        batch_size : int, default=4096
            Queries of a result, 1 or more; the last one may have fewer.

        Raises
        ------
        ParameterError
            As for `search`; a batch size below 1.
        """
        rows = flat_rows(queries, self.bits, "queries")
        radius, limit = self._check_radius(radius), _check_limit(limit)
        step = check_count("batch_size", batch_size, 1, _MOST, "1 or more") * words_of(self.bits)
        return (self._search(rows[i : i + step], radius, limit) for i in range(0, len(rows), step))

    def _search(self, rows: npt.NDArray[np.uint64], radius: int, limit: int | None) -> SearchResult:
        offsets, ids, distances, truncated = self._core.search(rows, radius, limit)
        return SearchResult(offsets, ids, distances, None if limit is None else truncated)

    def nearest(
        self, queries: npt.ArrayLike, k: int = 10, *, rank: Rank = "hamming", progress: ShowProgress = None
    ) -> SearchResult:
        """The k nearest of each query; of those at the last distance, the smallest ids.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
        k : int, default=10
            1 or more; everything where the index holds fewer.
        rank : {"hamming", "jaccard", "spherical"}, default="hamming"
            The distance: `|a xor b|`, the bits that differ; `|a xor b| / |a or b|`; or `|a xor b| / |a and b|` [1]_,
            for codes whose 1 means "inside" (of a set, of a sphere). The latter two are float64, always take a scan,
            and rank alike. Without a common bit they are 1 and infinity; two empty fingerprints are at 0.
        progress : bool or function, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A k below 1, a rank that does not exist, queries of another width.

        References
        ----------
        .. [1] J.-P. Heo, Y. Lee, J. He, S.-F. Chang, S.-E. Yoon, "Spherical Hashing", CVPR 2012, section 3.4.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(None, [0b0000_0001, 0b1111_0111])
        >>> index.nearest(0b1111_1111, k=2, rank="jaccard")[0]
        Matches([(1, 0.125), (0, 0.875)])
        """
        k = check_count("k", k, 1, _MOST, "1 or more")
        rows, words = flat_rows(queries, self.bits, "queries"), words_of(self.bits)
        if not isinstance(rank, str):
            raise bad_parameter("rank", repr(rank), '"hamming", "jaccard" or "spherical"')

        def nearest(start: int, stop: int) -> SearchResult:
            some = rows[start * words : stop * words]
            if rank != "hamming":
                return SearchResult(*self._core.ranked(some, k, rank))
            offsets, ids, distances, _ = self._core.nearest(some, k)
            return SearchResult(offsets, ids, distances)

        return ask(nearest, len(rows) // words, progress)

    def pairs(self, radius: int) -> Pairs:
        """All pairs within a radius (0 to bits, inclusive), each once.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.

        Raises
        ------
        ParameterError
            A radius outside its range.

        Notes
        -----
        The result takes about 40 bytes per pair while it is made; n equal fingerprints make n (n - 1) / 2 pairs.
        `iter_pairs` holds fewer at once.
        """
        left, right, distances = self._core.pairs(self._check_radius(radius))
        return Pairs(left, right, distances)

    def iter_pairs(self, radius: int, *, batch_size: int = 1_000_000) -> Iterator[Pairs]:
        """The pairs of `pairs`, in the same order, `batch_size` at a time.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.
        batch_size : int, default=1_000_000
            Pairs of a batch, 1 or more; the last one may have fewer.

        Raises
        ------
        ParameterError
            A radius or batch size outside its range; while iterating, if the index was changed.

        Notes
        -----
        Memory: about 20 bytes for each of `batch_size` pairs (at least a million), and 4 to 8 bytes per row. Every row
        is searched once, which takes longer than `pairs`.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(["a", "b", "c"], [0, 1, 3])
        >>> [list(zip(pairs.left, pairs.right)) for pairs in index.iter_pairs(radius=2, batch_size=2)]
        [[('a', 'b'), ('a', 'c')], [('b', 'c')]]
        """
        radius = self._check_radius(radius)
        batch_size = check_count("batch_size", batch_size, 1, _MOST, "1 or more")
        return self._batches(radius, batch_size)

    def _batches(self, radius: int, batch_size: int) -> Iterator[Pairs]:
        stream = self._core.pair_stream(radius, batch_size)
        while True:
            left, right, distances = stream.next_batch()
            if not len(left):
                return
            yield Pairs(left, right, distances)

    def join(self, other: HammingIndex | npt.ArrayLike, radius: int) -> Pairs:
        """All pairs of a fingerprint in `other` and one in this index within a radius: new against old.

        Parameters
        ----------
        other : HammingIndex, or uint64 array of shape (n,) up to 64 bits, (n, words) above
            Fingerprints of an array are named by their row numbers.
        radius : int
            0 to bits, inclusive.

        Returns
        -------
        Pairs
            `left` names what is in `other`, `right` what is in this index; sorted by left, then right. `iter_search`
            gives the same as a stream.

        Raises
        ------
        MismatchError
            An index of another width or recipe.
        ParameterError
            A radius outside its range, fingerprints of another width.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> old = HammingIndex(bits=8)
        >>> _ = old.add(["a", "b"], [0b0000, 0b1111])
        >>> old.join([0b1110, 0b0001], radius=1).to_arrow().to_pylist()
        [{'left': 0, 'right': 'b', 'distance': 1}, {'left': 1, 'right': 'a', 'distance': 1}]
        """
        radius = self._check_radius(radius)
        if isinstance(other, HammingIndex):
            if self.recipe is not None and other.recipe is not None:
                self.check_recipe(other.recipe)
            left, right, distances = self._core.join(other._core, radius)
            return Pairs(left, right, distances)
        left, right, distances = self._core.join_rows(flat_rows(other, self.bits, "other"), radius)
        return Pairs(left, right, distances)

    def clusters(self, radius: int, *, linkage: Linkage = "centred") -> Clusters:
        """Groups of fingerprints within a radius; fingerprints near no other are left out.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the ids in order of addition; one that is not yet in a cluster opens one and takes in all
            free ones within the radius, so every member is near to the first and no two first ones are near to each
            other. "connected" takes chains of matches, whose ends may be any distance apart.

        Raises
        ------
        ParameterError
            A radius or linkage outside its range.

        Notes
        -----
        Pairs are never held: memory is about 30 bytes per id beside the index, and with "centred" 32 MB for the matches
        at hand.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(["a", "b", "c", "d"], [0b0000, 0b0001, 0b0011, 0b1111_0000])
        >>> list(index.clusters(radius=1)), list(index.clusters(radius=1, linkage="connected"))
        ([['a', 'b']], [['a', 'b', 'c']])
        """
        if not isinstance(linkage, str):
            raise bad_parameter("linkage", repr(linkage), '"centred" or "connected"')
        offsets, ids, distances = self._core.clusters(self._check_radius(radius), linkage)
        return Clusters(offsets, ids, distances)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Saves the index as one file with a checksum for every part.

        The file is written aside, synced and renamed: after a crash at any moment there is the old file or the new one.
        It holds the tables for the announced radius, if there is one. `docs/format.md` describes it.

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
            self._core.save(place)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> HammingIndex:
        """Opens a saved index through a memory map.

        The header is checked; the rest stays in the file until it is read, so that an index of any size opens at once
        (ids that are strings or do not ascend are read for their look-up). Adding, removing and saving again are as
        for any index. The file must not be changed in place while it is open.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` has written.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is not a whole index, that a newer nearkin wrote, or that can't be read.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=64)
        >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "codes.nks")
        ...     index.save(path)
        ...     opened = HammingIndex.open(path)
        ...     opened.verify()
        ...     opened.search(0b1101, radius=1)[0]
        Matches([('a', 1), ('b', 1)])
        """
        check_regular(path)
        origin = Origin.of(path)
        core, bits, method, radius, memory_limit = HammingCore.open(os.fspath(path))
        index = cls.__new__(cls)
        index.bits = bits
        index.method = method  # type: ignore[assignment]  # The file holds one of the names.
        index.radius = radius
        index.memory_limit = memory_limit
        index._core = core
        index._bound()
        index._remember(origin)
        return index

    def explain(self, radius: int | None = None) -> dict[str, Any]:
        """How a search would be answered, and why.

        Parameters
        ----------
        radius : int, optional
            0 to bits; the announced radius, or 3, if not given.

        Returns
        -------
        dict
            `bits`, `radius`, `fingerprints` (how many), `ids` (their kind), `bytes_fingerprints`, `bytes_ids`,
            `kernel`;
            `memory`, the formula of each method's bytes per fingerprint;
            and `parts`: for each sorted run and the unsorted tail its distinct fingerprints (`slots`), `method`,
            whether its tables are `built`, how many (`tables`), the radius in each block (`radii`), expected `probes`
            and `candidates` per query, sampled from the data, `fair_candidates`, those of fair bits (skew makes more),
            expected nanoseconds per query (`cost`) and by scan (`scan_cost`), its `bytes`, and what the part would
            cost by each of the `methods` that are possible (`cost` and `bytes`).
        """
        if radius is None:
            radius = min(3, self.bits) if self.radius is None else self.radius
        radius = self._check_radius(radius)
        kind, fingerprints, ids = self._core.info()
        return {
            "bits": self.bits,
            "radius": radius,
            "fingerprints": len(self),
            "ids": kind,
            "bytes_fingerprints": fingerprints,
            "bytes_ids": ids,
            "kernel": KERNEL,
            "memory": dict(_MEMORY),
            "parts": self._core.explain(radius),
        }


def _check_limit(limit: int | None) -> int | None:
    return None if limit is None else check_count("limit", limit, 1, _MOST, "1 or more, or None")
