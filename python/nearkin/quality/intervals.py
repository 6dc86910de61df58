"""Intervals of a recall whose pairs are not independent: those of one cluster are found or missed together.

Clusters are the connected components of the true pairs. The interval of 95% is the wider of two: quantiles of a
bootstrap (Efron 1979) in which each cluster counts Poisson(1) times with all its pairs; and Wilson's interval (1927) of
the same share among as many cases as there are clusters, which is wide where few clusters can't say more. Where pairs
have weights these are Kish's effective number of clusters (`nearkin.quality.weights`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearkin._core import components
from nearkin.quality.evaluation import wilson
from nearkin.quality.ground_truth import SampleRows
from nearkin.quality.weights import WeightSums

RESAMPLES = 200


class RecallIntervals:
    """Draws of clusters, made once for all that is counted of the same pairs.

    Parameters
    ----------
    left, right : (n_pairs,) integers
        Rows of the true pairs.
    seed : int
    weight : (n_pairs,) float64, optional
        How many pairs each stands for.
    """

    def __init__(
        self, left: SampleRows, right: SampleRows, seed: int, weight: NDArray[np.float64] | None = None
    ) -> None:
        rows, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        ends = places.reshape(2, -1).astype(np.uint32)
        labels = components(len(rows), ends[0], ends[1])
        self.cluster = np.unique(labels[ends[0]], return_inverse=True)[1]
        self.clusters = int(self.cluster.max()) + 1 if len(self.cluster) else 0
        self._weight = weight
        self._sizes = np.bincount(self.cluster, weight, minlength=self.clusters)
        # Cases of Wilson's interval.
        self._cases: float = (
            self.clusters if weight is None else WeightSums.of(self._sizes.astype(np.float64)).effective
        )
        times = np.random.default_rng(seed).poisson(1.0, (RESAMPLES, self.clusters)).astype(np.float64)
        totals = times @ self._sizes
        self._times, self._totals = times[totals > 0], totals[totals > 0]

    def within(self, distances: NDArray[np.int64], reach: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of the share of pairs within each radius from 0 to `reach`."""
        near = np.minimum(distances, reach + 1)
        cells = np.bincount(self.cluster * (reach + 2) + near, self._weight, minlength=self.clusters * (reach + 2))
        return self._bounds(cells.reshape(self.clusters, reach + 2)[:, : reach + 1].cumsum(axis=1))

    def of(self, found: NDArray[np.bool_]) -> tuple[float, float]:
        """Bounds of the share of pairs that are found."""
        hits = found if self._weight is None else found * self._weight
        low, high = self._bounds(np.bincount(self.cluster, hits, self.clusters)[:, None])
        return float(low[0]), float(high[0])

    def _bounds(self, hits: NDArray[np.float64] | NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of shares whose hits are given per cluster and column."""
        if not self.clusters:
            return np.zeros(hits.shape[1]), np.ones(hits.shape[1])
        shares = hits.sum(axis=0) / self._sizes.sum()
        by_cluster = np.array([wilson(min(share, 1.0) * self._cases, self._cases) for share in shares.tolist()])
        low, high = by_cluster[:, 0], by_cluster[:, 1]
        if len(self._times):
            drawn = np.quantile(self._times @ hits / self._totals[:, None], [0.025, 0.975], axis=0)
            low, high = np.minimum(low, drawn[0]), np.maximum(high, drawn[1])
        return low, high
