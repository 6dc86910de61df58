"""Pairs and clusters of the vectors of an index: each vector is a query for those within a distance.

A pair is found where one of its two is among the candidates of the other. For bucket tables at one probe per table that
is the law of the index, both ways the same: a pair whose hashes are equal with probability p is found with probability
1 − (1 − p^k)^L, `expected_recall` of its distance. More probes, and codes, find a pair from either side, so at least
with the probability of one query. What is found is right: distances are exact, and nothing beyond the radius is
returned.

Clusters are made of the pairs found. "centred" visits the vectors in order of addition: one that is in no cluster opens
one and takes in all free ones that are near to it. "connected" takes connected components.

Cost: a query per vector, hashed again from the vectors of the index, some thousand at a time; 24 bytes per pair found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearkin._core import components
from nearkin.errors import bad_parameter
from nearkin.index.ids import IdArray
from nearkin.index.lsh.arrays import flat, from_flat
from nearkin.index.lsh.params import Settings, with_effort
from nearkin.index.lsh.queries import Queries, check_radius, effort_of
from nearkin.index.results import Clusters, Linkage, Pairs
from nearkin.progress import ShowProgress, reporting, ticker
from nearkin.vectors.rows import Floats, Ints, Rows

_NUMBERS = 1 << 22
"""Coordinates of the vectors that are asked with at once: 32 MB of float64."""
_ROWS = 4096
"""Most vectors that are asked with at once."""


@dataclass(frozen=True)
class Edges:
    """Pairs of vectors by their places in order of addition, `left < right`, each once, sorted."""

    left: Ints
    right: Ints
    distances: Floats


class Links(Queries):
    """The part of `LSHIndex` that finds what is near among its own vectors."""

    def pairs(
        self,
        radius: float,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        progress: ShowProgress = None,
    ) -> Pairs:
        """Pairs of indexed vectors within a distance, each once.

        Parameters
        ----------
        radius : float
            Largest distance that counts, inclusive, in units of the metric.
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", vectors done and all.

        Returns
        -------
        Pairs
            `left < right` by id, sorted by both. Distances are those of `search`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            A radius that is not a number; bad parameters; an index for inner products, which are not distances.

        Notes
        -----
        A pair whose hashes are equal with probability p is found with probability 1 - (1 - p^k)^L at one probe per
        table (`expected_recall`), and at least so with more. A pair of codes is found where one of the two is among the
        `num_candidates` nearest codes of the other, itself included.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.array([[0.0, 0.0], [0.0, 0.1], [5.0, 5.0], [5.0, 5.2], [9.0, 0.0]])
        >>> index = nk.LSHIndex(nk.families.PStable(width=4.0), num_tables=20).fit(X, ["a", "b", "c", "d", "e"])
        >>> pairs = index.pairs(radius=0.5)
        >>> list(zip(pairs.left, pairs.right, pairs.distances.round(2).tolist()))
        [('a', 'b', 0.1), ('c', 'd', 0.2)]
        """
        rows, edges = self._edges(radius, num_probes, num_candidates, progress)
        ids = self._ids_of(rows)
        left, right = ids[edges.left], ids[edges.right]
        turned = np.asarray(left > right, dtype=bool)
        left, right = np.where(turned, right, left), np.where(turned, left, right)
        # lexsort has no order for objects; it has one for their ranks.
        order = np.lexsort((_ranks(right), _ranks(left)))
        return Pairs(left[order], right[order], self._shown(edges.distances[order]))

    def clusters(
        self,
        radius: float,
        *,
        linkage: Linkage = "centred",
        num_probes: int | None = None,
        num_candidates: int | None = None,
        progress: ShowProgress = None,
    ) -> Clusters:
        """Groups of indexed vectors within a distance; vectors near no other are left out.

        Parameters
        ----------
        radius : float
            Largest distance that counts, inclusive, in units of the metric.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the ids in order of addition; one that is not yet in a cluster opens one and takes in all
            free ones found within the radius, so every member is near to the first. "connected" takes chains of pairs,
            whose ends may be any distance apart.
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", vectors done and all.

        Returns
        -------
        Clusters
            Of the pairs that `pairs` finds, each with its distances to the first member.

        Raises
        ------
        NotFittedError, ParameterError
            As for `pairs`; another linkage.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.array([[0.0], [0.4], [0.8], [7.0]])
        >>> index = nk.LSHIndex(nk.families.PStable(width=50.0), num_tables=20).fit(X, ["a", "b", "c", "d"])
        >>> list(index.clusters(radius=0.5)), list(index.clusters(radius=0.5, linkage="connected"))
        ([['a', 'b']], [['a', 'b', 'c']])
        """
        if linkage not in ("centred", "connected"):
            raise bad_parameter("linkage", repr(linkage), '"centred" or "connected"')
        rows, edges = self._edges(radius, num_probes, num_candidates, progress)
        first = _centred(len(rows), edges) if linkage == "centred" else _connected(len(rows), edges)
        sizes = np.bincount(first, minlength=len(rows))
        members = np.flatnonzero(sizes[first] > 1)
        # By cluster, in order of addition within it: its first member leads.
        members = members[np.argsort(first[members], kind="stable")]
        heads, counts = np.unique(first[members], return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        leads = np.repeat(heads, counts)
        far = self._fitted().apart(rows[leads].astype(np.uint32), rows[members].astype(np.uint32))
        return Clusters(offsets, self._ids_of(rows[members]), self._shown(far))

    def _ids_of(self, rows: Ints) -> IdArray:
        """The ids of rows."""
        return self._fitted().ids_of(rows)

    def _batches(self) -> Iterator[tuple[Ints, Rows]]:
        """Row numbers and vectors of what is there, in order of addition, some at a time."""
        core = self._fitted()
        most = max(1, min(_ROWS, _NUMBERS // self.dimension_))
        start = 0
        while True:
            rows, vectors = core.stored(start, most)
            if not len(rows):
                return
            yield rows, from_flat(vectors, self.dimension_)
            start = int(rows[-1]) + 1

    def _edges(
        self, radius: float, num_probes: int | None, num_candidates: int | None, progress: ShowProgress
    ) -> tuple[Ints, Edges]:
        """Row numbers of what is there, in order of addition, and the pairs of their places."""
        self._fitted()
        if self.settings_.metric == "inner_product":
            raise bad_parameter(
                "metric", '"inner_product"', '"l2", "l1" or "cosine" for pairs: products are no distances'
            )
        limit = check_radius(radius)
        settings = with_effort(self.settings_, num_probes, num_candidates)
        parts = []
        with reporting(progress) as report:
            tick = ticker(report, "search", len(self))
            for rows, vectors in self._batches():
                parts.append((rows, *self._near(rows, vectors, limit, settings)))
                tick(len(rows))
        rows = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0, np.int64)
        # Ids lead back to places through their own order.
        ids = self._ids_of(rows)
        order = np.argsort(ids, kind="stable")
        keys: list[Ints] = []
        distances: list[Floats] = []
        start = 0
        for part, offsets, found, far in parts:
            own = np.repeat(np.arange(start, start + len(part)), np.diff(offsets))
            other = order[np.searchsorted(ids, found, sorter=order)]
            start += len(part)
            apart = own != other
            low, high = np.minimum(own, other)[apart], np.maximum(own, other)[apart]
            keys.append(low * len(rows) + high)
            distances.append(far[apart].astype(np.float64))
        if not keys:
            return rows, Edges(rows, rows, np.zeros(0))
        both, first = np.unique(np.concatenate(keys), return_index=True)
        # Both ways give the same bits.
        return rows, Edges(both // len(rows), both % len(rows), np.concatenate(distances)[first])

    def _near(
        self, rows: Ints, vectors: Rows, limit: float, settings: Settings
    ) -> tuple[Ints, IdArray, npt.NDArray[np.float32] | Floats]:
        """Offsets, ids and distances of what is within a distance of some of the vectors."""
        if settings.rank == "estimate":
            return self._fitted().estimated(flat(vectors), *effort_of(settings), radius=limit)
        return self._fitted().search(*self._asked(vectors, settings), flat(vectors), limit)


def _ranks(ids: IdArray) -> Ints:
    """The place of each id among the different ones."""
    return np.asarray(np.unique(ids, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _centred(count: int, edges: Edges) -> Ints:
    """For each place the first member of its cluster, itself where it is in none."""
    first = np.arange(count)
    free = np.ones(count, dtype=bool)
    ends = np.searchsorted(edges.left, np.arange(count + 1))
    for place in np.unique(edges.left):
        if free[place]:
            # Earlier ones would have taken this one in: only later ones are left to take.
            later = edges.right[ends[place] : ends[place + 1]]
            taken = later[free[later]]
            first[taken] = place
            free[taken] = False
            free[place] = False
    return first


def _connected(count: int, edges: Edges) -> Ints:
    """For each place the first one of its connected component."""
    left, right = edges.left.astype(np.uint32), edges.right.astype(np.uint32)
    return components(count, left, right).astype(np.int64)
