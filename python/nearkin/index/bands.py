"""Banding index: MinHash signatures that agree in a whole band of values.

A signature of k values is cut into b bands of r rows (values). Two signatures are candidates if all values of at least
one band agree, which happens with probability 1 − (1 − s^r)^b, where s is the Jaccard similarity
(`nearkin.theory.banding_probability`). From a threshold and a recall the index chooses b and r
(`nearkin.theory.choose_bands`); if the signatures have too few values, it raises an error. Searches return signatures
that share a band and at least the requested share of values.

Kernel: `crates/nearkin-core/src/index/bands`. File: `docs/format-bands.md`.

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
from nearkin.errors import (
    MismatchError,
    bad_parameter,
    check_choice,
    check_count,
    check_share,
    damaged,
    mismatch,
    refuse_data,
)
from nearkin.families.minhash import Signatures, as_signatures
from nearkin.index.base import INT64_MAX, Index, check_recipe, file_stamp
from nearkin.index.ids import Existing, Ids, check_existing, new_ids
from nearkin.index.results import Clusters, Linkage, Pairs, SearchResult, search_flat
from nearkin.io.saved import check_saved
from nearkin.progress import ShowProgress
from nearkin.recipe import IdfTable, Recipe
from nearkin.theory import Banding, banding_probability, choose_bands

_BATCH = 1 << 12
"""Distinct signatures whose pairs `iter_pairs` yields at once."""


class BandIndex(Index[npt.ArrayLike, float]):
    """Search of MinHash signatures by bands of equal values.

    Parameters
    ----------
    num_perm : int, default 128
        Values of a signature, 1 to 512.
    threshold : float, default 0.8
        Smallest Jaccard similarity of a match, above 0 and up to 1, inclusive.
    recall : float, default 0.95
        Required probability that a pair at the threshold shares a band, above 0 and below 1.
    num_bands, num_rows : int, optional
        Number of bands and values per band, both or none. By default they are chosen from threshold and recall.
    value_bits : {32, 64}, default 32
        Bits of a value.
    recipe : Recipe or str, optional
        Recipe of the signatures. It sets `num_perm` and `value_bits`, and is saved with the index.

    Attributes
    ----------
    num_perm, num_bands, num_rows, value_bits, threshold
    recall : float
        Probability that a pair at the threshold shares a band.
    recipe : Recipe or None

    Raises
    ------
    ParameterError
        No bands of this many values reach the recall; the message names the required number of values. A number out of
        range.
    MismatchError
        `num_perm` or `value_bits` differ from the recipe.

    Notes
    -----
    Equal signatures are stored once. A signature takes 4 or 8 bytes per value, 8 bytes per band, and 17 bytes for its
    lookup; an id takes 8 bytes more than in `HammingIndex`. Signatures of sets without features are stored but never
    match.

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

    _core: BandCore

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
        refuse_data("num_perm", num_perm, "1 to 512; signatures go to add, as in BandIndex(128).add(ids, signatures)")
        self.recipe = None if recipe is None else Recipe.of(recipe)
        if self.recipe is not None:
            if self.recipe.family != "minhash":
                raise bad_parameter("recipe", str(self.recipe), "a recipe with the family minhash")
            for name, value in (("num_perm", num_perm), ("value_bits", value_bits)):
                if value is not None and value != getattr(self.recipe, name):
                    raise mismatch(name, f"an index of {value}", f"a recipe of {getattr(self.recipe, name)}")
            num_perm, value_bits = self.recipe.num_perm, self.recipe.value_bits
        self.num_perm = check_count("num_perm", 128 if num_perm is None else num_perm, 1, 512, "1 to 512")
        self.value_bits: Literal[32, 64] = 32 if value_bits is None else value_bits
        if self.value_bits not in (32, 64):
            raise bad_parameter("value_bits", repr(value_bits), "32 or 64")
        if (num_bands is None) != (num_rows is None):
            raise bad_parameter("num_bands, num_rows", f"{num_bands}, {num_rows}", "both, or none of them")
        if num_bands is None or num_rows is None:
            banding = choose_bands(threshold, recall, self.num_perm)
            num_bands, num_rows = banding.num_bands, banding.num_rows
        self.num_bands = check_count("num_bands", num_bands, 1, 512, "1 to 512")
        self.num_rows = check_count("num_rows", num_rows, 1, 512, "1 to 512")
        self.threshold = _check_threshold(threshold)
        self._core = BandCore(self.num_perm, self.num_bands, self.num_rows, self.value_bits)

    @classmethod
    def from_banding(cls, banding: Banding, recipe: Recipe) -> BandIndex:
        """Create an index with chosen bands for signatures of a recipe.

        Parameters
        ----------
        banding : nearkin.theory.Banding
            Bands and rows, as `nearkin.theory.choose_bands` returns them.
        recipe : Recipe
            Recipe of the signatures.
        """
        return cls(recipe=recipe, num_bands=banding.num_bands, num_rows=banding.num_rows)

    def _min_equal(self, threshold: float | None) -> int:
        """Return the number of equal values that reach a threshold."""
        share = self.threshold if threshold is None else _check_threshold(threshold)
        # The tolerance keeps a share that equals the threshold when the product rounds up.
        return math.ceil(share * self.num_perm - 1e-9)

    def _flat_signatures(self, signatures: npt.ArrayLike, name: str) -> Signatures:
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

    def __repr__(self) -> str:
        shape = f"num_perm={self.num_perm}, num_bands={self.num_bands}, num_rows={self.num_rows}"
        return f"BandIndex({shape}, {len(self)} signatures)"

    def add(self, ids: Ids | None, signatures: npt.ArrayLike, *, existing: Existing = "error") -> int:
        """Add signatures and return how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            As for `HammingIndex.add`.
        signatures : (n, num_perm) uint32 or uint64
        existing : {"error", "update", "skip"}, default "error"
            For an id that already exists or occurs twice in the call: refuse the call, update the signature (the last
            one wins), or skip the new one.

        Raises
        ------
        ParameterError
            An id that already exists or occurs twice, ids of another kind, or counts that differ. The index is
            unchanged.
        MismatchError
            Values of another width.
        """
        rows = self._flat_signatures(signatures, "signatures")
        return self._core.add(new_ids(ids), rows, check_existing(existing))

    def search(
        self, queries: npt.ArrayLike, threshold: float | None = None, *, progress: ShowProgress = None
    ) -> SearchResult:
        """Return the signatures that share a band and enough values with each query, nearest first, ties by id.

        Parameters
        ----------
        queries : (n_queries, num_perm) uint32 or uint64
            One signature is one query.
        threshold : float, optional
            Smallest share of equal values, inclusive, 0 to 1; by default the threshold of the index. With 0 every
            signature that shares a band matches. The recall of the index holds only for its own threshold.
        progress : bool or function, optional
            As for `HammingIndex.search`.

        Returns
        -------
        SearchResult
            A distance is the number of values that differ; the share of equal values is 1 - distance / num_perm.
        """
        rows, min_equal = self._flat_signatures(queries, "queries"), self._min_equal(threshold)
        return search_flat(
            lambda batch: SearchResult(*self._core.search(batch, min_equal)), rows, self.num_perm, progress
        )

    def nearest(
        self, queries: npt.ArrayLike, k: int = 10, *, threshold: float = 0.0, progress: ShowProgress = None
    ) -> SearchResult:
        """Return the k nearest signatures that share a band with each query; ties at the last distance by smallest id.

        Parameters
        ----------
        queries : (n_queries, num_perm) uint32 or uint64
        k : int, default=10
            1 or more; the result has fewer matches if fewer signatures share a band.
        threshold : float, default=0
            Smallest share of equal values, inclusive, 0 to 1.
        progress : bool or function, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A k below 1, or a threshold out of range.
        """
        k = check_count("k", k, 1, INT64_MAX, "1 or more")
        return self.search(queries, threshold, progress=progress).head(k)

    def pairs(self, threshold: float | None = None) -> Pairs:
        """Return all pairs that share a band and enough values, each once, the smaller id left, sorted by both ids.

        Parameters
        ----------
        threshold : float, optional
            As for `search`.

        Returns
        -------
        Pairs
            A distance is the number of values that differ.
        """
        return Pairs(*self._core.pairs(self._min_equal(threshold), 0, 1 << 32))

    def iter_pairs(self, threshold: float | None = None) -> Iterator[Pairs]:
        """Yield the same pairs in batches, so that they are never all in memory.

        A batch contains the pairs of some items with items that were added earlier, in order of addition. Within a
        batch pairs are sorted by the smaller id, then by the larger. Batches and their order depend only on additions
        and removals, not on threads.

        Parameters
        ----------
        threshold : float, optional
            As for `search`.
        """
        min_equal, items = self._min_equal(threshold), self._core.info()[1]
        for start in range(0, items, _BATCH):
            batch = Pairs(*self._core.pairs(min_equal, start, start + _BATCH))
            if len(batch):
                yield batch

    def clusters(self, threshold: float | None = None, *, linkage: Linkage = "centred") -> Clusters:
        """Return clusters of signatures that share a band and enough values; signatures without a match are left out.

        Parameters
        ----------
        threshold : float, optional
            As for `search`.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the ids in order of addition. An id that is in no cluster starts one and absorbs all free
            ids that match it, so every member matches the first one and no two first ones match. "connected" follows
            chains of matches, whose ends need not match.

        Returns
        -------
        Clusters
            A distance is the number of values in which a member and the first one differ. Pairs are not stored.

        Raises
        ------
        ParameterError
            A threshold or linkage out of range.

        Examples
        --------
        >>> import nearkin as nk
        >>> index = nk.BandIndex(threshold=0.6)
        >>> texts = ["one two three four five six", "quite another text", "one two three four five six seven"]
        >>> _ = index.add(["a", "b", "c"], nk.signature(texts, "word:1|binary|xxh3|minhash:128"))
        >>> list(index.clusters())
        [['a', 'c']]
        """
        check_choice("linkage", linkage, "centred", "connected")
        return Clusters(*self._core.clusters(self._min_equal(threshold), linkage))

    def _write(self, file: str) -> None:
        recipe = None if self.recipe is None else json.loads(self.recipe.to_json())
        metadata = {"threshold": self.threshold, "recipe": recipe}
        self._core.save(file, json.dumps(metadata, sort_keys=True, ensure_ascii=False).encode())

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, idf: IdfTable | None = None) -> BandIndex:
        """Open a saved index through a memory map. Additions do not change the file.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` has written.
        idf : Idf, optional
            The fitted table of the recipe, if it has one: the file has its digest.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is not a complete index, that a newer nearkin wrote, or that can't be read.
        MismatchError
            A recipe of another version of the rules, or of another table than `idf`.

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
        check_saved(path, 6)
        stamp = file_stamp(path)
        core, width, num_perm, num_bands, num_rows, metadata = BandCore.open(os.fspath(path))
        try:
            content = json.loads(metadata)
            threshold = content["threshold"]
            recipe = None if content["recipe"] is None else Recipe.from_json(json.dumps(content["recipe"]), idf=idf)
            shape = {"num_perm": num_perm, "num_bands": num_bands, "num_rows": num_rows}
            value_bits: Literal[32, 64] = 64 if width == 64 else 32
            index = cls(threshold=threshold, value_bits=value_bits, recipe=recipe, **shape)
        except MismatchError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise damaged(path, f"its metadata can't be read: {error}") from error
        return index._attach(core, stamp)

    def check_recipe(self, recipe: Recipe | str) -> None:
        """Raise MismatchError unless the index stores signatures of this recipe.

        Parameters
        ----------
        recipe : Recipe or str
            Recipe of other signatures.

        Raises
        ------
        MismatchError
            Names the first field that differs; also raised if the index has no recipe.
        """
        check_recipe(self.recipe, recipe)

    def explain(self) -> dict[str, Any]:
        """Return the shape, the expected recall at the threshold, and the number of distinct signatures and bytes."""
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


def _check_threshold(threshold: float) -> float:
    return check_share("threshold", threshold, "a share of equal values from 0 to 1", lambda share: 0 <= share <= 1)
