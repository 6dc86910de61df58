"""`MinHashLSHEnsemble` as datasketch has it: sets that contain most of a query, whatever their sizes.

The containment t = |Q ∩ X| / |Q| of a query Q of q features in a set X of x is a Jaccard similarity t / (x/q + 1 − t).
Sets are put into partitions by size; each has an index of bands for every r of those that are chosen for ten ratios
x/q, and a query takes, in each partition of at most u features, the b and r of u/q
(`nearkin.compat.datasketch.choice`).

The bounds of partitions are to minimise the expected number of candidates that only the rounding of sizes to u makes,
by dynamic programming over the sizes that occur:

    cost(l, u) = Σ over sizes s from l to u of count(s) (u − s) / u

Bounds, b and r are those of datasketch, whose walk back from the least sum takes another sum than the one it was made
of when there are three partitions or more: they are near the least cost, not at it. What differs: sets given as a list
stay in their order; sizes below 1 are refused in lists too. `nearkin.contains` finds texts that are inside others with
sketches that grow with them.

Cost: n²/2 sums for n sizes. Source: Zhu, Nargesian, Pu, Miller, "LSH ensemble: Internet-scale domain search" (VLDB
2016), sections 4 and 5. Tests: `tests/compat/test_compat_datasketch.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.compat.datasketch.choice import check_threshold, check_weights, choose
from nearkin.compat.datasketch.lsh import MinHashLSH, Sketch, check_storage
from nearkin.errors import InputError, bad_parameter, check_count

_Floats = npt.NDArray[np.float64]
_RATIOS = np.exp(np.linspace(-5, 5, 10))
"""Ratios x/q that b and r are chosen for."""


class MinHashLSHEnsemble:
    """An index for containment, with the calls of `datasketch.MinHashLSHEnsemble`.

    Parameters
    ----------
    threshold : float, default 0.9
        Containment that b and r are chosen for, 0 to 1.
    num_perm : int, default 128
        Values of a MinHash, 2 or more.
    num_part : int, default 16
        Partitions by size, 1 or more.
    m : int, default 8
        Largest r, 2 to `num_perm`.
    weights : pair of float, default (0.5, 0.5)
        Of false positives and of false negatives; their sum is 1.
    storage_config : dict, optional
        `{"type": "dict"}`, the only one.
    prepickle : bool, optional
        Whether keys are kept as pickles; default False.

    Attributes
    ----------
    indexes : list of dict
        Of each partition its index for every r.
    lowers, uppers : list of int or None
        Smallest and largest size of each partition; None for one without sets.
    xqs, params
        The ratios, and b and r of each.

    Raises
    ------
    ParameterError
        A value out of its range; another storage than "dict".

    Examples
    --------
    >>> from nearkin.compat.datasketch import MinHash, MinHashLSHEnsemble
    >>> sets = [[b"red", b"white", b"wine", b"glass"], [b"bread"]]
    >>> query, *known = MinHash.bulk([[b"red", b"wine"], *sets])
    >>> ensemble = MinHashLSHEnsemble(threshold=0.8, num_part=2)
    >>> ensemble.index([("a", known[0], 4), ("b", known[1], 1)])
    >>> list(ensemble.query(query, 2))
    ['a']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: Mapping[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        check_storage(storage_config)
        self.threshold = check_threshold(threshold)
        self.h = check_count("num_perm", num_perm, 2, 1 << 32, "2 or more")
        num_part = check_count("num_part", num_part, 1, 1 << 32, "1 or more")
        self.m = check_count("m", m, 2, self.h, f"2 to num_perm={self.h}")
        chosen = check_weights(weights)
        self.xqs = _RATIOS.copy()
        self.params = np.array([choose(self.threshold, self.h, chosen, self.m, float(ratio)) for ratio in self.xqs])
        rows = sorted({int(r) for _, r in self.params})
        self.indexes = [
            {r: MinHashLSH(num_perm=self.h, params=(self.h // r, r), prepickle=prepickle) for r in rows}
            for _ in range(num_part)
        ]
        self.lowers: list[int | None] = [None] * num_part
        self.uppers: list[int | None] = [None] * num_part

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickles of this class and of datasketch's.
        self.threshold = check_threshold(state["threshold"])
        self.h, self.m = (check_count(name, state[name], 2, 1 << 32, "2 or more") for name in ("h", "m"))
        self.xqs, self.params = np.array(state["xqs"], np.float64), np.array(state["params"], np.int64)
        self.indexes = [{int(r): index for r, index in part.items()} for part in state["indexes"]]
        self.lowers, self.uppers = (
            [None if bound is None else int(bound) for bound in state[name]] for name in ("lowers", "uppers")
        )
        rows = {int(r) for r in self.params[:, 1]}
        whole = all(
            part.keys() == rows and all(isinstance(index, MinHashLSH) for index in part.values())
            for part in self.indexes
        )
        if (
            not whole
            or {len(self.lowers), len(self.uppers)} != {len(self.indexes)}
            or len(self.xqs) != len(self.params)
        ):
            reason = "its partitions, bounds and parameters do not belong together"
            raise InputError(f"this pickle is not that of a MinHashLSHEnsemble: {reason}", place="state", reason=reason)

    def index(self, entries: Iterable[tuple[Hashable, Sketch, int]]) -> None:
        """Indexes all sets; once.

        Parameters
        ----------
        entries : iterable of (key, minhash, size)
            Sizes are numbers of features, 1 or more.

        Raises
        ------
        ParameterError
            The index has sets already, or there are none to index; a size below 1, a key that occurs twice, or another
            number of values. What was indexed before the fault stays.
        """
        if not self.is_empty():
            raise bad_parameter("entries", "a second call", "one call of index with all sets")
        ordered = sorted(entries, key=lambda entry: entry[2])
        if not ordered:
            raise bad_parameter("entries", "no sets", "one set or more")
        if not ordered[0][2] > 0:
            raise bad_parameter("size", ordered[0][2], "1 or more")
        sizes, counts = np.array(sorted(Counter(entry[2] for entry in ordered).items())).T
        bounds = partitions(sizes, counts, len(self.indexes))
        for i, (lower, upper) in enumerate(bounds):
            self.lowers[i], self.uppers[i] = lower, upper
        part = 0
        for key, minhash, size in ordered:
            if size > bounds[part][1]:
                part += 1
            for index in self.indexes[part].values():
                index.insert(key, minhash)

    def query(self, minhash: Sketch, size: int) -> Generator[Hashable, None, None]:
        """The keys of sets that likely contain the threshold's share of a query.

        Parameters
        ----------
        minhash : MinHash
        size : int
            Features of the query, 1 or more.

        Yields
        ------
        key
            By partition, smaller sets first.

        Raises
        ------
        ParameterError
            A size below 1, or another number of values.
        MismatchError
            A MinHash of another scheme.
        """
        if not size > 0:
            raise bad_parameter("size", size, "1 or more")
        return self._found(minhash, size)

    def _found(self, minhash: Sketch, size: int) -> Generator[Hashable, None, None]:
        for index, upper in zip(self.indexes, self.uppers, strict=True):
            if upper is not None:
                place = min(int(np.searchsorted(self.xqs, float(upper) / float(size))), len(self.params) - 1)
                b, r = (int(value) for value in self.params[place])
                yield from index[r]._query_b(minhash, b)

    def __contains__(self, key: Hashable) -> bool:
        return any(key in next(iter(index.values())) for index in self.indexes)

    def is_empty(self) -> bool:
        """Whether there is no set."""
        return all(next(iter(index.values())).is_empty() for index in self.indexes)


def partitions(sizes: npt.NDArray[Any], counts: npt.NDArray[Any], num_part: int) -> list[tuple[int, int]]:
    """The bounds of partitions as datasketch draws them; of equal ones those with smaller sizes on the left.

    Parameters
    ----------
    sizes : (n,) int
        Sizes that occur, ascending.
    counts : (n,) int
        How many sets have each.
    num_part : int
        Partitions, 1 or more.

    Returns
    -------
    list of (smallest, largest)
        Both inclusive; fewer than `num_part` where fewer sizes occur.
    """
    n = len(sizes)
    if num_part < 2:
        return [(int(sizes[0]), int(sizes[-1]))]
    if num_part >= n:
        return [(int(size), int(size)) for size in sizes]
    # Sums in NumPy's order, part by part: what another order rounds otherwise may be another partition.
    costs = np.zeros((n, n))
    for u in range(n):
        terms = (float(sizes[u]) - sizes[: u + 1]) / float(sizes[u]) * counts[: u + 1]
        for low in range(u + 1):
            costs[low, u] = np.add.reduce(terms[low:])
    # best[p][u]: the least cost of p partitions of the sizes up to u; 0 where there are fewer sizes than partitions.
    best = {1: costs[0]}
    for parts in range(2, num_part):
        best[parts] = np.zeros(n)
        for u in range(parts - 1, n):
            best[parts][u] = (best[parts - 1][parts - 2 : u] + costs[parts - 1 : u + 1, u]).min()
    bounds, u = [], n - 1
    for parts in range(num_part, 1, -1):
        # The last bound is the best one; the others take, as datasketch does, the cost of one partition too many.
        left = best[parts - 1 if parts == num_part else parts]
        split = int(np.argmin(left[parts - 2 : u] + costs[parts - 1 : u + 1, u])) + parts - 2
        bounds.append((int(sizes[split + 1]), int(sizes[u])))
        u = split
    bounds.append((int(sizes[0]), int(sizes[u])))
    return bounds[::-1]
