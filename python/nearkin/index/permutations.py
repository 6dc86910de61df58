"""Approximate neighbours of fingerprints by sorted random permutations of their bits.

P times the bits are put into a random order, and the fingerprints are sorted by what that gives. Two fingerprints of
small distance begin alike under some of the orders, and are then near each other in that list: a query looks at the
`beam` fingerprints around its own place in each list, and at no others.

A neighbour at distance d of b bits shares its first l bits under a permutation with probability

    p(l) = C(b - d, l) / C(b, l)

and of n fair fingerprints n / 2^l share them. With l = ⌈log2(2 n / beam)⌉ those are no more than half of the beam, so
that 1 - (1 - p(l))^P is what at least is expected to be found.

`HammingIndex` is exact and, at these sizes, faster: this is for comparison, and for who wants to try what the sources
describe. Cost: P binary searches and P beam comparisons a query; 12 bytes a list and fingerprint.

References
----------
.. [1] M. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002, section 3.
.. [2] D. Ravichandran, P. Pantel, E. Hovy, "Randomized Algorithms and NLP: Using Locality Sensitive Hash Functions for
   High Speed Noun Clustering", ACL 2005, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin._core import draw_matrix
from nearkin.errors import bad_parameter, check_count
from nearkin.families.base import check_seed
from nearkin.index.fingerprints import check_bits, flat_rows, hamming, words_of
from nearkin.index.ids import IdArray, Ids, check_ids
from nearkin.index.results import Pairs, SearchResult, ask
from nearkin.progress import ShowProgress

__all__ = ["PermutationIndex"]

_STREAM = 21
"""Stream of the seed that draws permutations."""
_KEY = 64
"""Bits that a list is sorted by: the first of its permutation."""
_VALUES = 1 << 22
"""Numbers that are held for a part of the rows, or of the queries."""
_MOST = (1 << 63) - 1


class PermutationIndex:
    """Approximate search of fingerprints by sorted lists of permuted bits.

    Parameters
    ----------
    fps : uint64 array of shape (n,) up to 64 bits, (n, words) above
        Bits at or above `bits` are zero.
    ids : iterable of int or str, or None
        One id for each fingerprint, each once; None stands for row numbers.
    bits : int, default 64
        Width of the fingerprints, 1 to 1024.
    num_permutations : int, default 25
        Sorted lists, 1 to 10,000. More find more.
    beam : int, default 100
        Fingerprints of each list that a query is compared with, 2 or more, half of them on either side of its place.
    seed : int, default 0
        0 to 2**64 - 1.

    Raises
    ------
    ParameterError
        An argument outside its range; ids that occur twice or are not as many.

    Notes
    -----
    The index does not change: the lists of other fingerprints are sorted anew. Where more fingerprints than the beam
    begin with the same 64 bits in every list, as equal ones do, some of them are not found.

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
        self.beam = check_count("beam", beam, 2, _MOST, "2 or more")
        check_seed(seed)
        self.seed = seed
        self._rows = _whole(flat_rows(fps, self.bits, "fps"), self.bits, "fps")
        self._ids = _checked_ids(ids, len(self._rows))
        self._rank = np.argsort(np.argsort(self._ids, kind="stable"), kind="stable")
        # The places of Gaussian numbers in order are a uniformly random permutation.
        drawn = np.asarray(draw_matrix("gaussian", seed, _STREAM, 0, self.num_permutations, self.bits))
        self._places = np.argsort(drawn.reshape(self.num_permutations, self.bits), axis=1, kind="stable")[:, :_KEY]
        self._lists = [self._sorted(places) for places in self._places]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"PermutationIndex({len(self)} fingerprints, {self.num_permutations} lists, beam {self.beam})"

    @property
    def nbytes(self) -> int:
        """Bytes of fingerprints, lists and ids."""
        lists = sum(keys.nbytes + order.nbytes for keys, order in self._lists)
        return int(self._rows.nbytes + lists + self._ids.nbytes + self._rank.nbytes)

    def expected_recall(self, distance: int) -> float:
        """What share of neighbours at a distance is found at least, of fair bits.

        Parameters
        ----------
        distance : int
            0 to bits.

        Raises
        ------
        ParameterError
            A distance outside its range.
        """
        d = check_count("distance", distance, 0, self.bits, f"0 to bits={self.bits}")
        length = min(_KEY, self.bits, max(0, math.ceil(math.log2(max(1.0, 2 * len(self) / self.beam)))))
        begins_alike = math.comb(self.bits - d, length) / math.comb(self.bits, length)
        return 1 - (1 - begins_alike) ** self.num_permutations

    def search(self, queries: npt.ArrayLike, radius: int, *, progress: ShowProgress = None) -> SearchResult:
        """What the lists show within a radius of each query, nearest first, ties by id.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
        radius : int
            Largest distance that counts, 0 to bits, inclusive.
        progress : bool or function, optional
            As for `HammingIndex.search`.

        Raises
        ------
        ParameterError
            A radius outside its range, queries of another width.
        """
        limit = check_count("radius", radius, 0, self.bits, f"0 to bits={self.bits}")
        return self._asked(queries, None, limit, progress)

    def nearest(self, queries: npt.ArrayLike, k: int = 10, *, progress: ShowProgress = None) -> SearchResult:
        """The k nearest that the lists show of each query; of those at the last distance, the smallest ids.

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
            A k below 1, queries of another width.
        """
        return self._asked(queries, check_count("k", k, 1, _MOST, "1 or more"), self.bits, progress)

    def pairs(self, radius: int) -> Pairs:
        """Pairs within a radius that lie within half a beam of each other in some list, each once.

        Parameters
        ----------
        radius : int
            0 to bits, inclusive.

        Raises
        ------
        ParameterError
            A radius outside its range.
        """
        limit = check_count("radius", radius, 0, self.bits, f"0 to bits={self.bits}")
        n = len(self)
        found = [np.zeros(0, np.int64)]
        for _, order in self._lists:
            for apart in range(1, min(self.beam // 2, n - 1) + 1):
                for start in range(0, n - apart, _VALUES):
                    stop = min(start + _VALUES, n - apart)
                    one, other = (
                        order[start:stop].astype(np.int64),
                        order[start + apart : stop + apart].astype(np.int64),
                    )
                    near = self._distances(self._rows[one], other) <= limit
                    one, other = one[near], other[near]
                    found.append(np.minimum(one, other) * n + np.maximum(one, other))
        keys = np.unique(np.concatenate(found))
        one, other = keys // max(n, 1), keys % max(n, 1)
        distances = self._distances(self._rows[one], other)
        turned = self._rank[one] > self._rank[other]
        left, right = np.where(turned, other, one), np.where(turned, one, other)
        sorting = np.lexsort((self._rank[right], self._rank[left]))
        return Pairs(self._ids[left[sorting]], self._ids[right[sorting]], distances[sorting])

    def _sorted(self, places: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
        """The keys of a permutation in order, and the rows that have them."""
        keys = _keys(self._rows, places)
        order = np.argsort(keys, kind="stable")
        return keys[order], order.astype(np.uint32)

    def _distances(self, rows: npt.NDArray[np.uint64], other: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
        """Of each row to a row of the index."""
        if not len(rows):
            return np.zeros(0, np.uint16)
        return np.asarray(hamming(_shaped(rows), _shaped(self._rows[other]), bits=self.bits), np.uint16)

    def _asked(self, queries: npt.ArrayLike, k: int | None, limit: int, progress: ShowProgress) -> SearchResult:
        rows = _whole(flat_rows(queries, self.bits, "queries"), self.bits, "queries")
        seen = self.num_permutations * min(self.beam, len(self))
        step = max(1, _VALUES // max(seen, 1))

        def asked(start: int, stop: int) -> SearchResult:
            parts = [self._some(rows[at : min(at + step, stop)], k, limit) for at in range(start, stop, step)]
            return SearchResult.joined(parts) if parts else self._some(rows[:0], k, limit)

        return ask(asked, len(rows), progress)

    def _some(self, queries: npt.NDArray[np.uint64], k: int | None, limit: int) -> SearchResult:
        query, row = self._seen(queries)
        distances = self._distances(queries[query], row)
        near = distances <= limit
        query, row, distances = query[near], row[near], distances[near]
        order = np.lexsort((self._rank[row], distances, query))
        query, row, distances = query[order], row[order], distances[order]
        if k is not None:
            starts = np.searchsorted(query, np.arange(len(queries)))
            first = np.arange(len(query)) - starts[query] < k
            query, row, distances = query[first], row[first], distances[first]
        offsets = np.searchsorted(query, np.arange(len(queries) + 1)).astype(np.int64)
        return SearchResult(offsets, self._ids[row], distances)

    def _seen(self, queries: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Queries and the rows that their beams show, each pair once."""
        n, beam = len(self), min(self.beam, len(self))
        pairs = [np.zeros(0, np.int64)]
        for places, (keys, order) in zip(self._places, self._lists, strict=True):
            at = np.searchsorted(keys, _keys(queries, places))
            first = np.clip(at - beam // 2, 0, n - beam)
            rows = order[first[:, None] + np.arange(beam)].astype(np.int64)
            pairs.append((np.arange(len(queries))[:, None] * n + rows).reshape(-1))
        both = np.unique(np.concatenate(pairs))
        return both // max(n, 1), both % max(n, 1)


def _whole(rows: npt.NDArray[np.uint64], bits: int, name: str) -> npt.NDArray[np.uint64]:
    """Fingerprints of shape (n, words), without a bit above their width."""
    shaped = rows.reshape(-1, words_of(bits))
    if bits % 64 and (shaped[:, -1] >> np.uint64(bits % 64)).any():
        raise bad_parameter(name, "a fingerprint with a bit above its width", f"bits below {bits}")
    return shaped


def _shaped(rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """As `hamming` takes them: a word each, or some."""
    return rows[:, 0] if rows.shape[1] == 1 else rows


def _checked_ids(ids: Ids | None, n: int) -> IdArray:
    if ids is None:
        return np.arange(n, dtype=np.int64)
    given = check_ids(ids)
    found: IdArray = given if isinstance(given, np.ndarray) else np.array(given, dtype=object)
    if len(found) != n:
        raise bad_parameter("ids", f"{len(found)} ids", f"{n}, one for each fingerprint")
    if len(set(found.tolist())) != n:
        raise bad_parameter("ids", "an id that occurs twice", "each id once")
    return found


def _parts(n: int, bits: int) -> Iterator[slice]:
    step = max(1, _VALUES // bits)
    return (slice(start, start + step) for start in range(0, n, step))


def _keys(rows: npt.NDArray[np.uint64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """The bits at some places as one number, the first of them highest."""
    out = np.zeros(len(rows), np.uint64)
    for part in _parts(len(rows), 64 * rows.shape[1]):
        octets = np.ascontiguousarray(rows[part], "<u8").view(np.uint8)
        chosen = np.packbits(np.unpackbits(octets, axis=1, bitorder="little")[:, places], axis=1)
        filled = np.zeros((len(chosen), 8), np.uint8)
        filled[:, : chosen.shape[1]] = chosen
        out[part] = filled.view(">u8")[:, 0]
    return out
