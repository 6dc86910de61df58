"""Confidence intervals of proportions: Wilson's, with weights, and for pairs that are not independent.

**Wilson's interval** of 95% for k of n and z = 1.96 is

    (k + z²/2 ± z √(k (n − k) / n + z²/4)) / (n + z²)

**Weights.** Label i represents w_i pairs. A proportion is Σw over its hits / Σw over its cases. Cases with different
weights are as uncertain as

    (Σw)² / Σw²

cases with equal weights (Kish's effective size): n if the weights are equal, 1 if one weight dominates.

**Clusters.** Pairs of one cluster are found or missed together. Clusters are the connected components of the true
pairs. The interval of 95% is the wider of two: quantiles of a bootstrap in which each cluster counts Poisson(1) times
with all its pairs, and Wilson's interval of the same proportion with the number of clusters as n (Kish's effective
number of clusters if pairs have weights). The second is wide if there are few clusters.

Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927); L. Kish, "Survey
Sampling" (1965), section 11.7; B. Efron, "Bootstrap methods: another look at the jackknife" (1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearkin._core import components
from nearkin.errors import bad_parameter

_Z = 1.959963984540054
"""Quantile 0.975 of the normal distribution."""
NUM_RESAMPLES = 200


def wilson(hits: float, total: float) -> tuple[float, float]:
    """Return Wilson's interval of 95% for the proportion `hits / total`; (0, 1) if `total` is 0.

    Examples
    --------
    >>> from nearkin.theory.intervals import wilson
    >>> [round(bound, 4) for bound in wilson(0, 10)]
    [0.0, 0.2775]
    """
    if not 0 <= hits <= total:
        raise bad_parameter("hits", hits, f"0 to {total}")
    if not total:
        return 0.0, 1.0
    middle = hits + _Z * _Z / 2
    spread = _Z * math.sqrt(hits * (total - hits) / total + _Z * _Z / 4)
    low, high = (middle - spread) / (total + _Z * _Z), (middle + spread) / (total + _Z * _Z)
    # At the ends the formula gives 0 and 1 up to rounding.
    return (0.0 if hits == 0 else low), (1.0 if hits == total else high)


@dataclass(frozen=True)
class WeightSums:
    """Sums of the weights of labels.

    Attributes
    ----------
    total : float
        Σw: the number of pairs that the labels represent.
    squares : float
        Σw².

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.theory.intervals import WeightSums
    >>> WeightSums.of(np.array([1.0, 1.0, 8.0])).effective
    1.5151515151515151
    """

    total: float
    squares: float

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> WeightSums:
        """Return the sums of weights."""
        return cls(float(weights.sum()), float((weights * weights).sum()))

    def __add__(self, other: WeightSums) -> WeightSums:
        return WeightSums(self.total + other.total, self.squares + other.squares)

    @property
    def effective(self) -> float:
        """Kish's effective number of labels; 0 without labels."""
        return self.total / self.squares * self.total if self.squares else 0.0


def proportion(hits: WeightSums, cases: WeightSums) -> tuple[float, float, float]:
    """Return a weighted proportion with its Wilson interval, for the effective number of cases; (0, 0, 1) if none.

    Examples
    --------
    >>> from nearkin.theory.intervals import WeightSums, proportion
    >>> [round(value, 4) for value in proportion(WeightSums(9, 9), WeightSums(10, 10))]
    [0.9, 0.5958, 0.9821]
    """
    if not cases.total:
        return 0.0, 0.0, 1.0
    value = min(hits.total / cases.total, 1.0)
    return value, *wilson(value * cases.effective, cases.effective)


class RecallIntervals:
    """Intervals of the recall of one list of true pairs; the bootstrap is drawn once.

    Parameters
    ----------
    left, right : (n_pairs,) integers
        Rows of the true pairs.
    seed : int
    weight : (n_pairs,) float64, optional
        Number of pairs that each pair represents.
    """

    def __init__(
        self,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        seed: int,
        weight: NDArray[np.float64] | None = None,
    ) -> None:
        rows, positions = np.unique(np.concatenate([left, right]), return_inverse=True)
        ends = positions.reshape(2, -1).astype(np.uint32)
        labels = components(len(rows), ends[0], ends[1])
        self.cluster = np.unique(labels[ends[0]], return_inverse=True)[1]
        self.num_clusters = int(self.cluster.max()) + 1 if len(self.cluster) else 0
        self._weight = weight
        self._sizes = np.bincount(self.cluster, weight, minlength=self.num_clusters)
        self._wilson_total: float = (
            self.num_clusters if weight is None else WeightSums.of(self._sizes.astype(np.float64)).effective
        )
        draws = np.random.default_rng(seed).poisson(1.0, (NUM_RESAMPLES, self.num_clusters)).astype(np.float64)
        totals = draws @ self._sizes
        self._draws, self._totals = draws[totals > 0], totals[totals > 0]

    def by_radius(
        self, distances: NDArray[np.int64], max_radius: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds of the proportion of pairs within each radius from 0 to `max_radius`."""
        width = max_radius + 2
        cells = self.cluster * width + np.minimum(distances, max_radius + 1)
        counts = np.bincount(cells, self._weight, minlength=self.num_clusters * width)
        return self._bounds(counts.reshape(self.num_clusters, width)[:, :-1].cumsum(axis=1))

    def of_hits(self, hits: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the bounds of the proportion of pairs that are hits."""
        values = hits if self._weight is None else hits * self._weight
        low, high = self._bounds(np.bincount(self.cluster, values, self.num_clusters)[:, None])
        return float(low[0]), float(high[0])

    def _bounds(self, hits: NDArray[np.float64] | NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds of proportions from their hits, `(num_clusters, columns)`."""
        if not self.num_clusters:
            return np.zeros(hits.shape[1]), np.ones(hits.shape[1])
        proportions = np.minimum(hits.sum(axis=0) / self._sizes.sum(), 1.0).tolist()
        low, high = np.array([wilson(p * self._wilson_total, self._wilson_total) for p in proportions]).T
        if len(self._draws):
            quantiles = np.quantile(self._draws @ hits / self._totals[:, None], [0.025, 0.975], axis=0)
            low, high = np.minimum(low, quantiles[0]), np.maximum(high, quantiles[1])
        return low, high
