"""Exact search of packed fingerprints by Hamming distance.

`HammingIndex` returns exactly what a comparison with every fingerprint would return. It scans with the processor's
population count, or looks up tables of blocks (pigeonhole; multi-index hashing), whichever its cost model expects to be
faster. `nearkin.index.fingerprints` defines the layout of fingerprints and their other representations,
`nearkin.index.results` the results of searches.

References
----------
.. [1] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.
.. [2] M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import numpy.typing as npt

from nearkin._core import HammingCore, instructions
from nearkin.errors import CorruptStoreError, check_choice, check_count, mismatch, refuse_data
from nearkin.index.base import INT64_MAX, Index, check_recipe, file_stamp
from nearkin.index.fingerprints import (
    Fingerprints,
    check_bits,
    flat_rows,
    parse_bit_codes,
    parse_byte_codes,
    parse_hex_codes,
    split_words,
    words_per_row,
)
from nearkin.index.ids import Existing, IdArray, Ids, check_existing, new_ids
from nearkin.index.memory import INDEX_SHARE, memory_budget
from nearkin.index.results import Clusters, Linkage, Pairs, SearchResult, run_block, search_flat
from nearkin.io.saved import check_saved
from nearkin.progress import ShowProgress
from nearkin.recipe import IDF_TABLES, IdfTable, Recipe

Method = Literal["auto", "scan", "bits", "blocks", "tables", "multi"]
Rank = Literal["hamming", "jaccard", "spherical"]
Codes: TypeAlias = npt.ArrayLike | Iterable[Any]
"""Codes of other programs: a list, an array, or a column of a DataFrame."""

_ROWS_MEMORY = "8 * words + 4, and 4 where any two are equal"
_TABLE_MEMORY = "8 * sketch words + 4, the 4 only in the first half where a sketch is the whole; 4 * 2**p a directory"
_MEMORY = {
    "scan": _ROWS_MEMORY,
    "bits": f"{_ROWS_MEMORY}; 4 * set bits + 2",
    "blocks": f"{_ROWS_MEMORY}; radius tables of {_TABLE_MEMORY}",
    "tables": f"{_ROWS_MEMORY}; C(m, radius) - 1 tables of {_TABLE_MEMORY}",
    "multi": f"{_ROWS_MEMORY}; m - 1 tables of {_TABLE_MEMORY}",
}


class HammingIndex(Index[npt.ArrayLike, int]):
    """Exact search of fingerprints by Hamming distance.

    Parameters
    ----------
    bits : int, optional
        Width of the fingerprints, 1 to 1024; by default that of the recipe, or 64.
    method : {"auto", "scan", "bits", "blocks", "tables", "multi"}, default="auto"
        "scan" compares with every fingerprint; "bits" walks one inverted list per bit (for teaching: far slower than a
        scan); "blocks" looks up radius + 1 tables, one block in each; "tables" uses one table for every choice of
        blocks that must agree [1]_; "multi" uses fewer tables with a small radius in each block [2]_; "auto" chooses by
        expected cost. All methods return the same results.
    radius : int, optional
        Radius of later searches (0 to bits). If set, tables for it are built at the first search. Otherwise they are
        built once scans have cost as much as building would have.
    memory_limit : int, optional
        Maximum bytes of fingerprints and tables; fewer tables are built, or none, to stay below it. Without a limit
        "auto" builds no tables beyond a quarter of the machine's memory (`nearkin.index.memory`).
    recipe : Recipe or str, optional
        Recipe of the fingerprints, saved with the index, so that `check_recipe` can refuse others.

    Attributes
    ----------
    bits, method, radius, memory_limit
        As passed to the constructor.
    recipe : Recipe or None

    Raises
    ------
    ParameterError
        An argument out of range.
    MismatchError
        `bits` differs from the recipe.

    Notes
    -----
    Equal fingerprints are stored once, with a list of ids. A fingerprint takes 8 * words + 4 bytes. Every table but the
    first takes 8 bytes per word of a sketch (the first words, on which a random fingerprint fails) and 4 bytes for a
    number, which the later half of the tables omits if the sketch is the entire fingerprint. Integer ids take 8 bytes
    and, unless they ascend, 5 to 11 bytes for their lookup; row numbers take nothing. Added fingerprints are visible at
    once. Sorting and merging are amortized; the longest pause is one merge of all fingerprints.

    Several threads may search at the same time. A saved file contains the tables for `radius`, if it is set
    (`docs/format.md`).

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

    _core: HammingCore

    def __init__(
        self,
        bits: int | None = None,
        method: Method = "auto",
        *,
        radius: int | None = None,
        memory_limit: int | None = None,
        recipe: Recipe | str | None = None,
    ) -> None:
        refuse_data(
            "bits", bits, "1 to 1024; fingerprints go to add, as in HammingIndex(bits=64).add(ids, fingerprints)"
        )
        recipe = None if recipe is None else Recipe.of(recipe)
        if bits is None:
            bits = 64 if recipe is None else recipe.bits
        self.bits = check_bits(bits)
        if recipe is not None and recipe.bits != self.bits:
            raise mismatch("bits", f"an index of {self.bits}", f"a recipe of {recipe.bits}")
        self.method: Method = method
        check_choice("method", method, "auto", "scan", "bits", "blocks", "tables", "multi")
        self.radius = None if radius is None else self._check_radius(radius)
        if memory_limit is not None:
            memory_limit = check_count("memory_limit", memory_limit, 0, INT64_MAX, "0 to 2**63 - 1 bytes, or None")
        self.memory_limit = memory_limit
        self._core = HammingCore(self.bits, method, self.radius, memory_limit)
        self._set_memory_budget()
        if recipe is not None:
            self._core.set_note(json.dumps({"digest": recipe.digest, "recipe": json.loads(recipe.to_json())}))

    @classmethod
    def from_hex(
        cls, codes: Codes, ids: Ids | None = None, *, bits: int | None = None, radius: int | None = None
    ) -> HammingIndex:
        """Return an index of codes of hexadecimal digits, such as PDQ or `str` of an `imagehash.ImageHash`.

        Parameters
        ----------
        codes : iterable of str, array or column
            Digits of either case, the highest bit first, optionally after 0x. All have the same number of digits.
        ids : iterable of int or str, array, column, or None
            As for `add`: one id for each code; None stands for row numbers.
        bits : int, optional
            Width, 1 to 1024; by default four bits per digit of the first code, whose digits must be even in number.
        radius : int, optional
            Radius of later searches, as for the class.

        Raises
        ------
        ParameterError
            A code that is None, has another number of digits or another character; an odd number of digits without
            `bits`; no codes without `bits`. The message names the row.

        Notes
        -----
        Queries are fingerprints of the same form: `nearkin.index.fingerprints.from_hex(texts, index.bits)`. The order
        of bits never changes a distance, but the codes of an index and its queries must have the same order.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex.from_hex(["ffd8a000c1e3f07f", "ffd8a000c1e3f07e"], ["a.png", "b.png"])
        >>> index.bits, index.pairs(radius=8).to_arrow().to_pylist()
        (64, [{'left': 'a.png', 'right': 'b.png', 'distance': 1}])
        """
        return cls._of_codes(*parse_hex_codes(codes, bits), ids, radius)

    @classmethod
    def from_bytes(
        cls, codes: Codes, ids: Ids | None = None, *, bits: int | None = None, radius: int | None = None
    ) -> HammingIndex:
        r"""Return an index of codes of packed bytes, such as those of faiss or `numpy.packbits`.

        Parameters
        ----------
        codes : uint8 array of shape (n, n_bytes), or iterable or column of bytes
            Bit i of a fingerprint is bit `i % 8` of byte `i // 8`: `bitorder="little"` of NumPy.
        ids, radius
            As for `from_hex`.
        bits : int, optional
            Width, 1 to 1024; by default eight bits per byte of the first code.

        Raises
        ------
        ParameterError
            A code that is None, or of another length; an array of another type or shape; a bit at or above `bits`; no
            codes without `bits`.

        Notes
        -----
        Queries are `nearkin.index.fingerprints.from_bytes(codes, index.bits)`. Codes with the highest bit first in each
        byte may be passed as they are, if queries are too: distances are the same.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex.from_bytes([b"\x01 ", b"\x03 "], ["a", "b"])
        >>> index.bits, index.fingerprints()[1]
        (16, array([8193, 8195], dtype=uint64))
        """
        return cls._of_codes(*parse_byte_codes(codes, bits), ids, radius)

    @classmethod
    def from_bits(cls, codes: npt.ArrayLike, ids: Ids | None = None, *, radius: int | None = None) -> HammingIndex:
        """Return an index of codes of separate bits, such as signs of an embedding or `ImageHash.hash` arrays.

        Parameters
        ----------
        codes : array of shape (n, ...), of bool, or of integers 0 and 1
            Bit i of a fingerprint is value i of a row, in C order: `(n, 8, 8)` is n codes of 64 bits.
        ids, radius
            As for `from_hex`.

        Raises
        ------
        ParameterError
            Another type, shape or value; a width that is not from 1 to 1024.

        Notes
        -----
        Packed queries are `numpy.packbits(rows, axis=1, bitorder="little")`, passed to
        `nearkin.index.fingerprints.from_bytes`. The hexadecimal form of an `ImageHash` has value 0 as its highest bit,
        the reverse of this order.

        Examples
        --------
        >>> import numpy as np
        >>> from nearkin import HammingIndex
        >>> embeddings = np.array([[0.3, -0.1, 0.2], [0.4, -0.2, -0.1]])
        >>> index = HammingIndex.from_bits(embeddings > 0, ["cat", "dog"])
        >>> index.bits, index.fingerprints()[1]
        (3, array([5, 1], dtype=uint64))
        """
        return cls._of_codes(*parse_bit_codes(codes), ids, radius)

    @classmethod
    def _of_codes(cls, rows: Fingerprints, bits: int, ids: Ids | None, radius: int | None) -> HammingIndex:
        index = cls(bits, radius=radius)
        index.add(ids, rows)
        return index

    def _set_memory_budget(self) -> None:
        """Limit tables to a share of the machine's memory if no other limit applies."""
        if self.memory_limit is None and self.method == "auto":
            self._core.set_share(memory_budget(None, INDEX_SHARE))

    def _check_radius(self, radius: int) -> int:
        return check_count("radius", radius, 0, self.bits, f"0 to bits={self.bits}")

    def __repr__(self) -> str:
        return f"HammingIndex(bits={self.bits}, method={self.method!r}, {len(self)} fingerprints)"

    @property
    def recipe(self) -> Recipe | None:
        """Recipe of the fingerprints, or None if the index was created without one.

        Raises
        ------
        CorruptStoreError
            The recipe in the file does not match its digest.
        MismatchError
            The recipe in the file is of another version of the rules, or has a fitted table, which the file has not.
        """
        return self._read_recipe(None)

    def _read_recipe(self, idf: IdfTable | None) -> Recipe | None:
        """Return the recipe in the file, with the fitted table that it names."""
        metadata = self._core.note()
        if metadata is None:
            return None
        try:
            content = json.loads(metadata)
            recipe_json, digest = json.dumps(content["recipe"]), content["digest"]
            fitted = content["recipe"].get("idf") not in (None, *IDF_TABLES)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = f"its metadata is not a recipe ({error!r})"
            raise CorruptStoreError(f"the index: {reason}", place="the index", reason=reason) from None
        recipe = Recipe.from_json(recipe_json, idf=idf if fitted else None)
        if recipe.digest != digest:
            reason = f"its recipe has the digest {recipe.digest}, but the file states {digest}"
            raise CorruptStoreError(f"the index: {reason}", place="the index", reason=reason)
        return recipe

    def check_recipe(self, recipe: Recipe | str) -> None:
        """Raise MismatchError unless the index stores fingerprints of this recipe.

        Parameters
        ----------
        recipe : Recipe or str
            Recipe of other fingerprints.

        Raises
        ------
        MismatchError
            Names the first field that differs; also raised if the index has no recipe.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(recipe="char:4|count|xxh3|simhash:64")
        >>> index.bits
        64
        >>> index.check_recipe("char:4|count|md5|simhash:64")
        Traceback (most recent call last):
            ...
        nearkin.errors.MismatchError: recipe slot hash differs: xxh3 against md5; compare only values that share it
        """
        recipe = Recipe.of(recipe)
        check_recipe(self._read_recipe(None if isinstance(recipe.idf, str) else recipe.idf), recipe)

    @property
    def next_row(self) -> int:
        """Row number of the next fingerprint: the number of fingerprints ever added, including removed ones."""
        return self._core.total()

    @property
    def nbytes(self) -> int:
        """Bytes of fingerprints, tables and ids."""
        _, fingerprints, ids = self._core.info()
        return fingerprints + ids

    def fingerprints(self) -> tuple[IdArray, Fingerprints]:
        """Return the ids and fingerprints of the index, in order of addition.

        Returns
        -------
        ids : int64 array of shape (n,), or object array of str
        fingerprints : uint64 array of shape (n,) up to 64 bits, (n, words) above

        Raises
        ------
        CorruptStoreError
            The file of an opened index is damaged.

        Notes
        -----
        Both are copies. An updated fingerprint is at the position of its last addition.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(["b", "a"], [7, 5])
        >>> ids, fingerprints = index.fingerprints()
        >>> ids.tolist(), fingerprints.tolist()
        (['b', 'a'], [7, 5])
        """
        ids, rows = self._core.fingerprints()
        return ids, split_words(rows, words_per_row(self.bits))

    def add(self, ids: Ids | None, fps: npt.ArrayLike, *, existing: Existing = "error") -> int:
        """Add fingerprints and return how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each fingerprint, 64-bit integers or strings, of one kind per index. None stands for row numbers,
            counted from the first fingerprint ever added.
        fps : uint64 array of shape (n,) up to 64 bits, (n, words) above
            Bits at or above `bits` must be zero.
        existing : {"error", "update", "skip"}, default="error"
            For an id that already exists or occurs twice in the call: refuse the call, update the fingerprint (the last
            one wins), or skip the new one.

        Raises
        ------
        ParameterError
            An id that already exists or occurs twice, ids of another kind, counts that differ, or a bit above the
            width. The index is unchanged.
        """
        rows = flat_rows(fps, self.bits, "fps")
        return self._core.add(new_ids(ids), rows, check_existing(existing))

    def search(
        self, queries: npt.ArrayLike, radius: int, *, limit: int | None = None, progress: ShowProgress = None
    ) -> SearchResult:
        """Return all fingerprints within a radius of each query, nearest first, ties by id.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
            One fingerprint (an int, or an array of `words` words) is one query.
        radius : int
            Maximum distance, 0 to bits, inclusive.
        limit : int, optional
            Maximum number of matches per query, 1 or more, taken in the order of results. `hits.truncated` is True for
            queries that had more. No limit by default.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", the number of finished
            queries, and the total. The queries then run in batches of a few thousand, each on the current index.

        Raises
        ------
        ParameterError
            A radius or limit out of range, or queries of another width.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(None, [0, 0, 0, 1])
        >>> hits = index.search([0, 3], radius=1, limit=2)
        >>> hits.ids, hits.truncated
        (array([0, 1, 3]), array([ True, False]))
        """
        rows = flat_rows(queries, self.bits, "queries")
        radius, limit = self._check_radius(radius), _check_limit(limit)
        return search_flat(lambda batch: self._search(batch, radius, limit), rows, words_per_row(self.bits), progress)

    def iter_search(
        self, queries: npt.ArrayLike, radius: int, *, batch_size: int = 4096, limit: int | None = None
    ) -> Iterator[SearchResult]:
        """Iterate over the results of `search`, `batch_size` queries at a time, to bound memory.

        Parameters
        ----------
        queries, radius, limit
            As for `search`; with a limit a batch has at most `batch_size * limit` matches.
        batch_size : int, default=4096
            Queries per result, 1 or more; the last result may have fewer.

        Raises
        ------
        ParameterError
            As for `search`; a batch size below 1.
        """
        rows = flat_rows(queries, self.bits, "queries")
        radius, limit = self._check_radius(radius), _check_limit(limit)
        step = check_count("batch_size", batch_size, 1, INT64_MAX, "1 or more") * words_per_row(self.bits)
        return (self._search(rows[i : i + step], radius, limit) for i in range(0, len(rows), step))

    def _search(self, rows: Fingerprints, radius: int, limit: int | None) -> SearchResult:
        offsets, ids, distances, truncated = self._core.search(rows, radius, limit)
        return SearchResult(offsets, ids, distances, None if limit is None else truncated)

    def nearest(
        self, queries: npt.ArrayLike, k: int = 10, *, rank: Rank = "hamming", progress: ShowProgress = None
    ) -> SearchResult:
        """Return the k nearest fingerprints of each query; ties at the last distance by smallest id.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
        k : int, default=10
            1 or more; all fingerprints if the index has fewer.
        rank : {"hamming", "jaccard", "spherical"}, default="hamming"
            The distance: `|a xor b|`, the number of bits that differ; `|a xor b| / |a or b|`; or `|a xor b| / |a and
            b|` [1]_, for codes whose 1 means "inside" (a set, a sphere). The latter two are float64, always use a scan,
            and rank identically. Without a common bit they are 1 and infinity; two empty fingerprints have distance 0.
        progress : bool or function, optional
            As for `search`.

        Raises
        ------
        ParameterError
            A k below 1, an unknown rank, or queries of another width.

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
        k = check_count("k", k, 1, INT64_MAX, "1 or more")
        rows = flat_rows(queries, self.bits, "queries")
        check_choice("rank", rank, "hamming", "jaccard", "spherical")

        def nearest(batch: Fingerprints) -> SearchResult:
            if rank != "hamming":
                return SearchResult(*self._core.ranked(batch, k, rank))
            return SearchResult(*self._core.nearest(batch, k)[:3])

        return search_flat(nearest, rows, words_per_row(self.bits), progress)

    def pairs(self, radius: int, *, progress: ShowProgress = None) -> Pairs:
        """Return all pairs within a radius (0 to bits, inclusive), each once.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "pairs", the number of finished
            fingerprints, and the total: once at the start and once at the end, because all are searched at once.

        Raises
        ------
        ParameterError
            A radius out of range.

        Notes
        -----
        Building the result takes about 40 bytes per pair; n equal fingerprints make n (n - 1) / 2 pairs. `iter_pairs`
        needs less memory.
        """
        radius = self._check_radius(radius)
        return run_block(lambda: Pairs(*self._core.pairs(radius)), "pairs", len(self), progress)

    def iter_pairs(self, radius: int, *, batch_size: int = 1_000_000) -> Iterator[Pairs]:
        """Iterate over the pairs of `pairs`, in the same order, `batch_size` at a time.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.
        batch_size : int, default=1_000_000
            Pairs per batch, 1 or more; the last batch may have fewer.

        Raises
        ------
        ParameterError
            A radius or batch size out of range; during iteration, a change of the index.

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
        batch_size = check_count("batch_size", batch_size, 1, INT64_MAX, "1 or more")
        return self._stream_pairs(radius, batch_size)

    def _stream_pairs(self, radius: int, batch_size: int) -> Iterator[Pairs]:
        stream = self._core.pair_stream(radius, batch_size)
        while len((pairs := Pairs(*stream.next_batch())).left):
            yield pairs

    def join(self, other: HammingIndex | npt.ArrayLike, radius: int) -> Pairs:
        """Return all pairs of a fingerprint in `other` and one in this index within a radius.

        Parameters
        ----------
        other : HammingIndex, or uint64 array of shape (n,) up to 64 bits, (n, words) above
            Fingerprints of an array are identified by their row numbers.
        radius : int
            0 to bits, inclusive.

        Returns
        -------
        Pairs
            `left` is an id of `other`, `right` an id of this index; sorted by left, then right. `iter_search` yields
            the same matches as a stream.

        Raises
        ------
        MismatchError
            An index of another width or recipe.
        ParameterError
            A radius out of range, or fingerprints of another width.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> old = HammingIndex(bits=8)
        >>> _ = old.add(["a", "b"], [0b0000, 0b1111])
        >>> old.join([0b1110, 0b0001], radius=1).to_arrow().to_pylist()
        [{'left': 0, 'right': 'b', 'distance': 1}, {'left': 1, 'right': 'a', 'distance': 1}]
        """
        radius = self._check_radius(radius)
        if not isinstance(other, HammingIndex):
            return Pairs(*self._core.join_rows(flat_rows(other, self.bits, "other"), radius))
        if self.recipe is not None and other.recipe is not None:
            self.check_recipe(other.recipe)
        return Pairs(*self._core.join(other._core, radius))

    def clusters(self, radius: int, *, linkage: Linkage = "centred", progress: ShowProgress = None) -> Clusters:
        """Return clusters of fingerprints within a radius; fingerprints without a neighbour are left out.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the ids in order of addition. An id that is in no cluster starts one and absorbs all free
            ids within the radius, so every member is near the first one and no two first ones are near each other.
            "connected" follows chains of matches, whose ends may be at any distance.
        progress : bool or function, optional
            As for `pairs`; the stage is "clusters".

        Raises
        ------
        ParameterError
            A radius or linkage out of range.

        Notes
        -----
        Pairs are not stored: memory is about 30 bytes per id in addition to the index and, with "centred", 32 MB for a
        batch of matches.

        Examples
        --------
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=8)
        >>> _ = index.add(["a", "b", "c", "d"], [0b0000, 0b0001, 0b0011, 0b1111_0000])
        >>> list(index.clusters(radius=1)), list(index.clusters(radius=1, linkage="connected"))
        ([['a', 'b']], [['a', 'b', 'c']])
        """
        check_choice("linkage", linkage, "centred", "connected")
        radius = self._check_radius(radius)
        return run_block(lambda: Clusters(*self._core.clusters(radius, linkage)), "clusters", len(self), progress)

    def _write(self, file: str) -> None:
        self._core.save(file)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> HammingIndex:
        """Open a saved index through a memory map.

        Only the header is checked; other sections are read when they are needed, so that an index of any size opens at
        once (ids that are strings or do not ascend are read for their lookup). The index can be changed and saved
        again. Other programs must not modify the file while it is open.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` has written.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is not a complete index, that a newer nearkin wrote, or that can't be read.

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
        check_saved(path, 1)
        stamp = file_stamp(path)
        core, bits, method, radius, memory_limit = HammingCore.open(os.fspath(path))
        index = cls.__new__(cls)
        vars(index).update(bits=bits, method=method, radius=radius, memory_limit=memory_limit, _core=core)
        index._set_memory_budget()
        return index._attach(core, stamp)

    def explain(self, radius: int | None = None) -> dict[str, Any]:
        """Return how a search would run, and why.

        Parameters
        ----------
        radius : int, optional
            0 to bits; by default the announced radius, or 3.

        Returns
        -------
        dict
            `bits`, `radius`, `fingerprints` (their number), `ids` (their kind), `bytes_fingerprints`, `bytes_ids`,
            `kernel`;
            `memory`, the formula for the bytes per fingerprint of each method;
            and `parts`, one entry for each sorted run and the unsorted tail: the number of distinct fingerprints
            (`slots`), `method`, `built` (True if its tables exist), their number (`tables`), the radius in each block
            (`radii`), expected `probes` and `candidates` per query, sampled from the data, `fair_candidates` for fair
            bits (skew increases them), expected nanoseconds per query (`cost`) and by scan (`scan_cost`), `bytes`, and
            the `cost` and `bytes` of each of the possible `methods`.
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
            "instructions": instructions(),
            "memory": dict(_MEMORY),
            "parts": self._core.explain(radius),
        }


def _check_limit(limit: int | None) -> int | None:
    return None if limit is None else check_count("limit", limit, 1, INT64_MAX, "1 or more, or None")
