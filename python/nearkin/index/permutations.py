"""Approximate search of fingerprints by sorted random permutations of their bits.

The index permutes the bits of all fingerprints P times at random and sorts the results into P lists. Two fingerprints
at a small distance share a prefix under some of the permutations and are then close to each other in that list. A query
is compared only with the `beam` fingerprints around its own position in each list.

A neighbour at distance d of b bits shares its first l bits under a permutation with probability

    p(l) = C(b - d, l) / C(b, l)

and n / 2^l of n fair fingerprints share them. With l = ⌈log2(2 n / beam)⌉ these are at most half of the beam, so the
expected recall is at least 1 - (1 - p(l))^P.

`HammingIndex` is exact and, at these sizes, faster. This index is for comparison, and for trying the algorithms of the
sources. Cost: P binary searches and P beam comparisons per query; 12 bytes per list and fingerprint.

References
----------
.. [1] M. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002, section 3.
.. [2] D. Ravichandran, P. Pantel, E. Hovy, "Randomized Algorithms and NLP: Using Locality Sensitive Hash Functions for
   High Speed Noun Clustering", ACL 2005, section 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin._core import draw_matrix
from nearkin.errors import bad_parameter, check_count
from nearkin.families.base import check_seed
from nearkin.index.base import INT64_MAX
from nearkin.index.fingerprints import Fingerprints, check_bits, hamming, masked_rows
from nearkin.index.ids import IdArray, Ids, check_ids
from nearkin.index.results import Pairs, SearchResult, search_in_batches, sorted_pairs
from nearkin.progress import ShowProgress
from nearkin.vectors.arrays import Ints

__all__ = ["PermutationIndex"]

_STREAM = 21
"""Stream of the seed that draws permutations."""
_KEY_BITS = 64
"""Bits of the sort key: the first bits of the permutation."""
_BATCH_VALUES = 1 << 22
"""Numbers in memory for a batch of rows or queries."""


class PermutationIndex:
    """Approximate search of fingerprints by sorted lists of permuted bits.

    Parameters
    ----------
    fps : uint64 array of shape (n,) up to 64 bits, (n, words) above
        Bits at or above `bits` must be zero.
    ids : iterable of int or str, or None
        One distinct id for each fingerprint; None stands for row numbers.
    bits : int, default 64
        Width of the fingerprints, 1 to 1024.
    num_permutations : int, default 25
        Number of sorted lists, 1 to 10,000. More lists find more neighbours.
    beam : int, default 100
        Fingerprints of each list that are compared with a query, 2 or more, half of them on either side.
    seed : int, default 0
        0 to 2**64 - 1.

    Raises
    ------
    ParameterError
        An argument out of range; ids that occur twice or whose number differs.

    Notes
    -----
    The index is immutable: other fingerprints need a new one. If more fingerprints than the beam share the same 64 bits
    in every list, as equal ones do, some of them are missed.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.index.permutations import PermutationIndex
    >>> fps = np.random.default_rng(0).integers(0, 2**64, 10_000, dtype=np.uint64)
    >>> index = PermutationIndex(fps)
    >>> hits = index.search(fps[:3] ^ np.uint64(0b101), radius=3)
    >>> hits.ids, hits.distances
    (array([0, 1, 2]), array([2, 2, 2], dtype=uint16))
    >>> round(index.expected_recall(3), 2)
    1.0
    """

    def __init__(
        self,
        fps: npt.ArrayLike,
        ids: Ids | None = None,
        *,
        bits: int = 64,
        num_permutations: int = 25,
        beam: int = 100,
        seed: int = 0,
    ) -> None:
        self.bits = check_bits(bits)
        self.num_permutations = check_count("num_permutations", num_permutations, 1, 10_000, "1 to 10,000")
        self.beam = check_count("beam", beam, 2, INT64_MAX, "2 or more")
        check_seed(seed)
        self.seed = seed
        self._rows = masked_rows(fps, self.bits, "fps")
        self._ids = _distinct_ids(ids, len(self._rows))
        self._id_rank = np.argsort(np.argsort(self._ids, kind="stable"), kind="stable")
        # Sorting positions by Gaussian numbers gives a uniformly random permutation.
        drawn = np.asarray(draw_matrix("gaussian", seed, _STREAM, 0, self.num_permutations, self.bits))
        permutations = np.argsort(drawn.reshape(self.num_permutations, self.bits), axis=1, kind="stable")
        self._permutations = permutations[:, :_KEY_BITS]
        self._lists = [self._sort_by(permutation) for permutation in self._permutations]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"PermutationIndex({len(self)} fingerprints, {self.num_permutations} lists, beam {self.beam})"

    @property
    def nbytes(self) -> int:
        """Bytes of fingerprints, lists and ids."""
        lists = sum(keys.nbytes + order.nbytes for keys, order in self._lists)
        return int(self._rows.nbytes + lists + self._ids.nbytes + self._id_rank.nbytes)

    def expected_recall(self, distance: int) -> float:
        """Return a lower bound of the expected share of neighbours found at a distance, for fair bits.

        Parameters
        ----------
        distance : int
            0 to bits.

        Raises
        ------
        ParameterError
            A distance out of range.
        """
        d = self._check_radius("distance", distance)
        length = min(_KEY_BITS, self.bits, max(0, math.ceil(math.log2(max(1.0, 2 * len(self) / self.beam)))))
        shares_prefix = math.comb(self.bits - d, length) / math.comb(self.bits, length)
        return 1 - (1 - shares_prefix) ** self.num_permutations

    def search(self, queries: npt.ArrayLike, radius: int, *, progress: ShowProgress = None) -> SearchResult:
        """Return the neighbours in the lists within a radius of each query, nearest first, ties by id.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
        radius : int
            Maximum distance, 0 to bits, inclusive.
        progress : bool or function, optional
            As for `HammingIndex.search`.

        Raises
        ------
        ParameterError
            A radius out of range, or queries of another width.
        """
        return self._query(queries, None, self._check_radius("radius", radius), progress)

    def nearest(self, queries: npt.ArrayLike, k: int = 10, *, progress: ShowProgress = None) -> SearchResult:
        """Return the k nearest neighbours of each query in the lists; ties at the last distance by smallest id.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
        k : int, default=10
            1 or more.
        progress : bool or function, optional
            As for `HammingIndex.search`.

        Raises
        ------
        ParameterError
            A k below 1, or queries of another width.
        """
        return self._query(queries, check_count("k", k, 1, INT64_MAX, "1 or more"), self.bits, progress)

    def pairs(self, radius: int) -> Pairs:
        """Return the pairs within a radius that are within half a beam of each other in some list, each once.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.

        Raises
        ------
        ParameterError
            A radius out of range.
        """
        limit = self._check_radius("radius", radius)
        n = len(self)
        keys = [np.zeros(0, np.int64)]
        for _, rows in self._lists:
            for gap in range(1, min(self.beam // 2, n - 1) + 1):
                for start in range(0, n - gap, _BATCH_VALUES):
                    stop = min(start + _BATCH_VALUES, n - gap)
                    a, b = rows[start:stop].astype(np.int64), rows[start + gap : stop + gap].astype(np.int64)
                    near = self._distances(self._rows[a], b) <= limit
                    a, b = a[near], b[near]
                    keys.append(np.minimum(a, b) * n + np.maximum(a, b))
        a, b = np.divmod(np.unique(np.concatenate(keys)), max(n, 1))
        distances = self._distances(self._rows[a], b)
        left, right, order = sorted_pairs(self._ids, a, b)
        return Pairs(left, right, distances[order])

    def _check_radius(self, name: str, value: int) -> int:
        return check_count(name, value, 0, self.bits, f"0 to bits={self.bits}")

    def _sort_by(self, permutation: Ints) -> tuple[Fingerprints, npt.NDArray[np.uint32]]:
        """Return the sorted keys under a permutation, and the rows that have them."""
        keys = _permuted_keys(self._rows, permutation)
        order = np.argsort(keys, kind="stable")
        return keys[order], order.astype(np.uint32)

    def _distances(self, rows: Fingerprints, others: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
        """Return the distance of each row to a row of the index."""
        if not len(rows):
            return np.zeros(0, np.uint16)
        a, b = (side[:, 0] if side.shape[1] == 1 else side for side in (rows, self._rows[others]))
        return np.asarray(hamming(a, b, bits=self.bits), np.uint16)

    def _query(self, queries: npt.ArrayLike, k: int | None, limit: int, progress: ShowProgress) -> SearchResult:
        rows = masked_rows(queries, self.bits, "queries")
        step = max(1, _BATCH_VALUES // max(self.num_permutations * min(self.beam, len(self)), 1))

        def search(start: int, stop: int) -> SearchResult:
            parts = [self._search(rows[i : min(i + step, stop)], k, limit) for i in range(start, stop, step)]
            return SearchResult.concat(parts) if parts else self._search(rows[:0], k, limit)

        return search_in_batches(search, len(rows), progress)

    def _search(self, queries: Fingerprints, k: int | None, limit: int) -> SearchResult:
        query, row = self._beam_rows(queries)
        distances = self._distances(queries[query], row)
        near = distances <= limit
        query, row, distances = query[near], row[near], distances[near]
        order = np.lexsort((self._id_rank[row], distances, query))
        query, row, distances = query[order], row[order], distances[order]
        offsets = np.searchsorted(query, np.arange(len(queries) + 1)).astype(np.int64)
        result = SearchResult(offsets, self._ids[row], distances)
        return result if k is None else result.head(k)

    def _beam_rows(self, queries: Fingerprints) -> tuple[Ints, Ints]:
        """Return queries and the rows in their beams, each pair once."""
        n, beam = len(self), min(self.beam, len(self))
        pairs = [np.zeros(0, np.int64)]
        for permutation, (keys, order) in zip(self._permutations, self._lists, strict=True):
            position = np.searchsorted(keys, _permuted_keys(queries, permutation))
            first = np.clip(position - beam // 2, 0, n - beam)
            rows = order[first[:, None] + np.arange(beam)].astype(np.int64)
            pairs.append((np.arange(len(queries))[:, None] * n + rows).reshape(-1))
        return np.divmod(np.unique(np.concatenate(pairs)), max(n, 1))


def _distinct_ids(ids: Ids | None, n: int) -> IdArray:
    """Return n distinct ids as an array; row numbers for None."""
    if ids is None:
        return np.arange(n, dtype=np.int64)
    keys = check_ids(ids)
    array: IdArray = keys if isinstance(keys, np.ndarray) else np.array(keys, dtype=object)
    if len(array) != n:
        raise bad_parameter("ids", f"{len(array)} ids", f"{n}, one for each fingerprint")
    if len(set(array.tolist())) != n:
        raise bad_parameter("ids", "an id that occurs twice", "each id once")
    return array


def _permuted_keys(rows: Fingerprints, positions: Ints) -> Fingerprints:
    """Return the bits at these positions as one number, the first of them highest."""
    out = np.zeros(len(rows), np.uint64)
    step = max(1, _BATCH_VALUES // (64 * rows.shape[1]))
    for start in range(0, len(rows), step):
        octets = np.ascontiguousarray(rows[start : start + step], "<u8").view(np.uint8)
        chosen = np.packbits(np.unpackbits(octets, axis=1, bitorder="little")[:, positions], axis=1)
        padded = np.zeros((len(chosen), 8), np.uint8)
        padded[:, : chosen.shape[1]] = chosen
        out[start : start + step] = padded.view(">u8")[:, 0]
    return out
