"""Banding index: finds MinHash signatures that agree in a whole band of values.

A signature of k values is cut into bands of r rows (values). Two are candidates if all values of some band agree: with
probability 1 − (1 − s^r)^b for b bands, where s is the Jaccard similarity (`nearkin.theory.banding_probability`). The
index takes a threshold and a recall, and chooses b and r for them (`nearkin.theory.choose_bands`), or says that its
signatures have too few values. Searches return signatures that share a band and at least the wanted share of values.

Kernel: `crates/nearkin-core/src/search/bands`. File: `docs/format-bands.md`.

References
----------
.. [1] A. Broder, "On the resemblance and containment of documents", SEQUENCES 1997.
.. [2] J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.4.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any, Literal

import numpy.typing as npt

from nearkin._core import BandCore
from nearkin.errors import CorruptStoreError, bad_parameter, check_count, check_regular, mismatch
from nearkin.families.minhash import Signatures, as_signatures
from nearkin.index.copies import CopiedByFile
from nearkin.index.ids import Existing, Ids, check_existing, new_ids
from nearkin.index.persistence import Origin
from nearkin.index.results import Clusters, Linkage, Pairs, SearchResult, ask, first_of_each
from nearkin.progress import ShowProgress
from nearkin.recipe import Recipe
from nearkin.theory import Banding, banding_probability, choose_bands

__all__ = ["BandIndex"]


_STREAM = 1 << 12
"""Different signatures whose pairs `iter_pairs` gives at once."""


class BandIndex(CopiedByFile):
    """Search of MinHash signatures by bands of equal values.

    Parameters
    ----------
    num_perm : int, default 128
        Values of a signature, 1 to 512.
    threshold : float, default 0.8
        Jaccard similarity from which pairs are wanted, above 0 and up to 1, inclusive.
    recall : float, default 0.95
        Wanted probability that a pair at the threshold shares a band, above 0 and below 1.
    num_bands, num_rows : int, optional
        Bands and values of each, both or none, instead of those that follow from threshold and recall.
    value_bits : {32, 64}, default 32
        Bits of a value.
    recipe : Recipe or str, optional
        How the signatures were made; gives `num_perm` and `value_bits`, and is saved with the index.

    Attributes
    ----------
    num_perm, num_bands, num_rows, value_bits, threshold
    recall : float
        Probability that a pair at the threshold shares a band.
    recipe : Recipe or None

    Raises
    ------
    ParameterError
        If no bands of this many values have that recall: the message says how many values would. Numbers out of range.
    MismatchError
        If `num_perm` or `value_bits` are not those of the recipe.

    Notes
    -----
    Equal signatures are stored once. A signature takes 4 or 8 bytes per value, 8 bytes per band, and 17 for its
    look-up; an id takes 8 bytes more than in `HammingIndex`. Signatures of sets without features are kept and never
    found.

    Examples
    --------
    >>> import nearkin as nk
    >>> texts = ["one two three four five six", "one two three four five six seven", "quite another text"]
    >>> signatures = nk.signature(texts, "word:1|binary|xxh3|minhash:128")
    >>> index = nk.BandIndex(threshold=0.6)
    >>> index.num_bands, index.num_rows, round(index.recall, 2)
    (22, 4, 0.95)
    >>> index.add(["a", "b", "c"], signatures)
    3
    >>> index.search(signatures[0]).ids.tolist()
    ['a', 'b']
    >>> pairs = index.pairs()
    >>> pairs.left.tolist(), pairs.right.tolist()
    (['a'], ['b'])
    """

    def __init__(
        self,
        num_perm: int | None = None,
        threshold: float = 0.8,
        *,
        recall: float = 0.95,
        num_bands: int | None = None,
        num_rows: int | None = None,
        value_bits: Literal[32, 64] | None = None,
        recipe: Recipe | str | None = None,
    ) -> None:
        made = None if recipe is None else Recipe.of(recipe)
        if made is not None and made.family != "minhash":
            raise bad_parameter("recipe", str(made), "a recipe with the family minhash")
        for name, value in (("num_perm", num_perm), ("value_bits", value_bits)):
            if made is not None and value is not None and value != getattr(made, name):
                raise mismatch(name, f"an index of {value}", f"a recipe of {getattr(made, name)}")
        self.recipe = made
        self.num_perm = check_count("num_perm", 128 if num_perm is None else num_perm, 1, 512, "1 to 512")
        self.value_bits = 32 if value_bits is None else value_bits
        if made is not None:
            self.num_perm, self.value_bits = made.num_perm, made.value_bits
        if self.value_bits not in (32, 64):
            raise bad_parameter("value_bits", repr(value_bits), "32 or 64")
        if (num_bands is None) != (num_rows is None):
            raise bad_parameter("num_bands, num_rows", f"{num_bands}, {num_rows}", "both, or none of them")
        if num_bands is None or num_rows is None:
            found = choose_bands(threshold, recall, self.num_perm)
            num_bands, num_rows = found.num_bands, found.num_rows
        self.num_bands = check_count("num_bands", num_bands, 1, 512, "1 to 512")
        self.num_rows = check_count("num_rows", num_rows, 1, 512, "1 to 512")
        self.threshold = self._check_threshold(threshold)
        self._core = BandCore(self.num_perm, self.num_bands, self.num_rows, self.value_bits)

    @classmethod
    def of(cls, banding: Banding, recipe: Recipe) -> BandIndex:
        """The index of chosen bands, for signatures of a recipe.

        Parameters
        ----------
        banding : nearkin.theory.Banding
            Bands and their rows, as `nearkin.theory.choose_bands` gives them.
        recipe : Recipe
            How the signatures are made.
        """
        return cls(recipe=recipe, num_bands=banding.num_bands, num_rows=banding.num_rows)

    @staticmethod
    def _check_threshold(threshold: float) -> float:
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
            raise bad_parameter("threshold", repr(threshold), "a share of equal values from 0 to 1")
        return float(threshold)

    def _least(self, threshold: float | None) -> int:
        share = self.threshold if threshold is None else self._check_threshold(threshold)
        # A share that is exactly the threshold counts, whatever the last bit of the product says.
        return math.ceil(share * self.num_perm - 1e-9)

    def _rows(self, signatures: npt.ArrayLike, name: str) -> Signatures:
        rows = as_signatures(signatures, name, self.num_perm)
        if rows.dtype.itemsize * 8 != self.value_bits:
            raise mismatch("bits of a value", f"an index of {self.value_bits}", f"{name} of {rows.dtype}")
        return rows.reshape(-1)

    @property
    def recall(self) -> float:
        """Probability that a pair at the threshold shares a band."""
        return banding_probability(self.threshold, self.num_bands, self.num_rows)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._core.info()[2]

    def _held(self) -> BandCore:
        return self._core

    def __repr__(self) -> str:
        shape = f"num_perm={self.num_perm}, num_bands={self.num_bands}, num_rows={self.num_rows}"
        return f"BandIndex({shape}, {len(self)} signatures)"

    def add(self, ids: Ids | None, signatures: npt.ArrayLike, *, existing: Existing = "error") -> int:
        """Adds signatures; returns how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            As in `HammingIndex.add`.
        signatures : (n, num_perm) uint32 or uint64
        existing : {"error", "update", "skip"}, default "error"
            For an id that is already there, or occurs twice in the call: refuse the call, replace the signature (the
            last one wins), or keep the first.

        Raises
        ------
        ParameterError
            An id that is already there or occurs twice, ids of another kind, counts that differ. The index is
            unchanged.
        MismatchError
            Values of another width.
        """
        rows = self._rows(signatures, "signatures")
        return self._core.add(new_ids(ids), rows, check_existing(existing))

    def search(
        self, queries: npt.ArrayLike, threshold: float | None = None, *, progress: ShowProgress = None
    ) -> SearchResult:
        """Signatures that share a band and enough of all values with each query, nearest first, ties by id.

        Parameters
        ----------
        queries : (n_queries, num_perm) uint32 or uint64
            One signature is one query.
        threshold : float, optional
            Smallest share of equal values, inclusive, 0 to 1; None for the index's. At 0 everything that shares a
            band is found. The wanted recall holds for the index's threshold alone.

        Returns
        -------
        SearchResult
            A distance is the number of values that differ: a share is 1 - distance / num_perm.
        """
        rows, least, k = self._rows(queries, "queries"), self._least(threshold), self.num_perm
        return ask(
            lambda start, stop: SearchResult(*self._core.search(rows[start * k : stop * k], least)),
            len(rows) // k,
            progress,
        )

    def nearest(
        self, queries: npt.ArrayLike, k: int = 10, *, threshold: float = 0.0, progress: ShowProgress = None
    ) -> SearchResult:
        """The k nearest of the signatures that share a band with each query; at the last distance the smallest ids.

        Parameters
        ----------
        queries : (n_queries, num_perm) uint32 or uint64
        k : int, default=10
            1 or more; fewer are returned where fewer share a band.
        threshold : float, default=0
            Smallest share of equal values, inclusive, 0 to 1.
        progress : bool or function, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A k below 1, a threshold out of its range.
        """
        k = check_count("k", k, 1, (1 << 63) - 1, "1 or more")
        found = self.search(queries, threshold, progress=progress)
        offsets, kept = first_of_each(found.offsets, k)
        return SearchResult(offsets, found.ids[kept], found.distances[kept])

    def pairs(self, threshold: float | None = None) -> Pairs:
        """All pairs that share a band and enough of all values, each once, the smaller id left, sorted by both ids.

        Parameters
        ----------
        threshold : float, optional
            As for `search`.

        Returns
        -------
        Pairs
            A distance is the number of values that differ.
        """
        return self._pairs(self._least(threshold), 0, 1 << 32)

    def iter_pairs(self, threshold: float | None = None) -> Iterator[Pairs]:
        """The same pairs, some at a time, so that never all of them are held.

        A part holds the pairs of some items with what was added before them, in the order in which items were added;
        within a part pairs are sorted by the smaller id, then by the larger. Parts and order depend on what was added
        and removed alone, not on threads.

        Parameters
        ----------
        threshold : float, optional
            As for `search`.
        """
        least, items = self._least(threshold), self._core.info()[1]
        for start in range(0, items, _STREAM):
            part = self._pairs(least, start, start + _STREAM)
            if len(part):
                yield part

    def _pairs(self, least: int, start: int, stop: int) -> Pairs:
        left, right, distances = self._core.pairs(least, start, stop)
        return Pairs(left, right, distances)

    def clusters(self, threshold: float | None = None, *, linkage: Linkage = "centred") -> Clusters:
        """Groups of signatures that share a band and enough of all values; signatures without a match are left out.

        Parameters
        ----------
        threshold : float, optional
            As for `search`.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the ids in order of addition; one that is not yet in a cluster opens one and takes in all
            free ones that match it, so every member matches the first and no two first ones match. "connected" takes
            chains of matches, whose ends need not match.

        Returns
        -------
        Clusters
            A distance is the number of values in which a member and the first one differ. Pairs are never held.

        Raises
        ------
        ParameterError
            A threshold or linkage out of its range.

        Examples
        --------
        >>> import nearkin as nk
        >>> index = nk.BandIndex(threshold=0.6)
        >>> texts = ["one two three four five six", "quite another text", "one two three four five six seven"]
        >>> _ = index.add(["a", "b", "c"], nk.signature(texts, "word:1|binary|xxh3|minhash:128"))
        >>> list(index.clusters())
        [['a', 'c']]
        """
        if not isinstance(linkage, str):
            raise bad_parameter("linkage", repr(linkage), '"centred" or "connected"')
        return Clusters(*self._core.clusters(self._least(threshold), linkage))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Saves the index as one file with a checksum for every part, written aside, synced and renamed.

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
        note = {
            "threshold": self.threshold,
            "recipe": None if self.recipe is None else json.loads(self.recipe.to_json()),
        }
        with self._replacing(path, overwrite=overwrite) as place:
            self._core.save(place, json.dumps(note, sort_keys=True, ensure_ascii=False).encode())

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> BandIndex:
        """Opens a saved index through a memory map; it may be added to, and the file stays as it is.

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
        >>> import tempfile, pathlib
        >>> import nearkin as nk
        >>> index = nk.BandIndex()
        >>> signatures = nk.signature(["one text", "one text!"])
        >>> _ = index.add(None, signatures)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "bands.nks")
        ...     index.save(path)
        ...     opened = nk.BandIndex.open(path)
        ...     opened.verify()
        ...     opened.search(signatures[0]).ids.tolist()
        [0, 1]
        """
        check_regular(path)
        origin = Origin.of(path)
        core, value_bits, num_perm, num_bands, num_rows, note = BandCore.open(os.fspath(path))
        try:
            content = json.loads(note)
            threshold = cls._check_threshold(content["threshold"])
            recipe = None if content["recipe"] is None else Recipe.from_json(json.dumps(content["recipe"]))
            alike = recipe is None or (recipe.num_perm, recipe.value_bits) == (num_perm, value_bits)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = f"its note can't be read: {error}"
            raise CorruptStoreError(f"{path} is damaged: {reason}", place=str(path), reason=reason) from error
        if not alike:
            reason = "its signatures are not those of its recipe"
            raise CorruptStoreError(f"{path} is damaged: {reason}", place=str(path), reason=reason)
        index = cls.__new__(cls)
        index.recipe, index.threshold = recipe, threshold
        index.num_perm, index.num_bands, index.num_rows = num_perm, num_bands, num_rows
        index.value_bits = 64 if value_bits == 64 else 32
        index._core = core
        index._remember(origin)
        return index

    def check_recipe(self, recipe: Recipe | str) -> None:
        """Raise MismatchError unless the index was made for signatures of this recipe.

        Parameters
        ----------
        recipe : Recipe or str
            How other signatures were made.

        Raises
        ------
        MismatchError
            Names the first slot that differs; also if the index was not told a recipe.
        """
        other = Recipe.of(recipe)
        if self.recipe is None:
            raise mismatch("recipe", "an index that was made without one", str(other))
        self.recipe.check_same(other)

    def explain(self) -> dict[str, Any]:
        """Shape, expected recall at the threshold, and how many different signatures and bytes it has."""
        kind, items, size = self._core.info()
        return {
            "num_perm": self.num_perm,
            "num_bands": self.num_bands,
            "num_rows": self.num_rows,
            "threshold": self.threshold,
            "recall": self.recall,
            "signatures": len(self),
            "different": items,
            "ids": kind,
            "bytes": size,
        }
