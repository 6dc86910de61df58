"""Spherical Hashing: one bit per ball, 1 if a vector is inside. Learned from data, for L2 distances.

    bit_i = 1 if ‖x − p_i‖ <= t_i

The radius t_i is such that the ball contains half of the training vectors. The pivots p_i are moved until two balls
share about a quarter of them, so that bits are balanced and nearly independent. With m training vectors, l balls, and
o_ij vectors in both balls i and j:

    p_i ← p_i + (1/l) Σ_j ½ (o_ij − m/4) / (m/4) (p_i − p_j)

until, with `stop="loose"`, |mean o_ij − m/4| < 0.10 m/4 and std o_ij < 0.15 m/4 (the authors' C++ program), or, with
`stop="strict"`, mean |o_ij − m/4| <= 0.10 m/4 and std o_ij <= 0.15 m/4 (the paper, the authors' MATLAB program). The
forces push pivots outside the data, and codes get worse when they drift far. The tolerances act as a regulariser, so
smaller ones do not help. Radii are computed again after the last move.

A ball is bounded, so balls cut closed regions: c balls in d dimensions cut space into up to C(c−1, d) + Σ_{i<=d} C(c,
i) regions, c hyperplanes into Σ_{i<=d} C(c, i) (`nearkin.theory.ball_regions`). Vectors that share many balls are near
each other, so codes are compared by the spherical Hamming distance |a xor b| / |a and b|. There is no collision law,
and the distance is not a key.

Cost: d multiplications per bit; fitting takes iterations · m · l · (d + l) operations on at most `samples` vectors.
Sources: Heo, Lee, He, Chang and Yoon, Spherical Hashing (CVPR 2012; PAMI 2015). Difference: a radius is halfway between
the middle distance and the next one, so that rounding moves no training vector across it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from nearkin._core import hamming_distances, row_norms, set_bits, sign_codes
from nearkin.errors import (
    ConvergenceWarning,
    bad_parameter,
    check_choice,
    check_count,
    check_number,
    input_error,
    mismatch,
    warn_caller,
)
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    ProjectionLabels,
    Projections,
    check_hashes,
)
from nearkin.vectors.arrays import Floats, Ints, Matrix, Rows, values_of
from nearkin.vectors.projection import Bounds, Projection
from nearkin.vectors.sampling import random_subsets, sample_positions, sample_rows

_SAMPLE, _START = 6, 7
"""Streams of the seed."""
_GROUP = 5
"""Number of vectors whose mean is a first pivot; the paper's programs use 5 or 10."""


@dataclass(eq=False, repr=False)
class SphericalHash(Family):
    """Balls that contain half of the data each and a quarter in pairs, for L2 distances.

    Parameters
    ----------
    bits : int, default 64
        Number of balls, 2 to 65,536; `HammingIndex` accepts up to 1,024.
    start : {"samples", "kmeans"}, default "samples"
        First pivots: means of five random vectors, or centroids of k-means.
    stop : {"loose", "strict"}, default "loose"
        The mean that `mean_tolerance` applies to: that of o_ij, or that of its distance from a quarter.
    mean_tolerance, std_tolerance : float, default 0.10 and 0.15
        Shares of a quarter of the training vectors, above 0.
    max_iter : int, default 50
        Maximum number of moves of the pivots, 0 or more.
    samples : int, default 10,000
        Maximum number of training vectors, 2 or more.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    pivots_ : (bits, d) float32
    squared_radii_ : (bits,) float64
    n_iter_ : int
        Number of moves.
    converged_ : bool
    overlap_mean_, overlap_error_, overlap_std_ : float
        Mean of o_ij, mean of |o_ij - m/4|, standard deviation of o_ij, each as a share of m/4.
    drift_ : float
        Mean distance of the pivots from the mean of the data, divided by that of the data: at 1 they are among the
        data, at 10 far outside.

    Notes
    -----
    A fit that does not reach the tolerances in `max_iter` moves warns with `ConvergenceWarning` but can be used: on
    isotropic data `drift_` is more informative than convergence. A fit to equal vectors never converges.

    References
    ----------
    J.-P. Heo, Y. Lee, J. He, S.-F. Chang, S.-E. Yoon (2012), Spherical Hashing, CVPR.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.random.default_rng(0).standard_normal((2000, 32))
    >>> family = nk.families.SphericalHash(bits=16, seed=0).fit(X)
    >>> codes = family.transform(X)
    >>> family.converged_, bool(abs(family.bit_rates(X) - 0.5).max() < 0.01)
    (True, True)
    >>> nk.families.spherical_hamming(codes[0], codes[:3], bits=16).shape
    (3,)
    """

    name = "spherical"
    kind = "bits"
    distance: ClassVar[Distance] = "l2"
    projection_labels = ProjectionLabels(
        "squared distance to the centre of a ball", "1 up to the limit", "distance to the surface"
    )
    # The bit of a ball is not the key of a bucket.
    _has_margins = False
    _no_law = "a family with a collision law; balls are fitted to data"

    bits: int = 64
    _: KW_ONLY
    start: Literal["samples", "kmeans"] = "samples"
    stop: Literal["loose", "strict"] = "loose"
    mean_tolerance: float = 0.10
    std_tolerance: float = 0.15
    max_iter: int = 50
    samples: int = 10_000
    seed: int = 0

    pivots_: npt.NDArray[np.float32] = field(init=False)
    squared_radii_: Floats = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)
    overlap_mean_: float = field(init=False)
    overlap_error_: float = field(init=False)
    overlap_std_: float = field(init=False)
    drift_: float = field(init=False)

    def _check(self) -> None:
        super()._check()
        if check_hashes("bits", self.bits) < 2:
            raise bad_parameter("bits", self.bits, "2 or more: a ball is placed by its overlap with others")
        check_choice("start", self.start, "samples", "kmeans")
        check_choice("stop", self.stop, "loose", "strict")
        for name in ("mean_tolerance", "std_tolerance"):
            check_number(name, getattr(self, name), "a number above 0", lambda value: value > 0)
        check_count("max_iter", self.max_iter, 0, 10**9, "0 or more")
        check_count("samples", self.samples, 2, 10**9, "2 or more")

    def _fit(self, rows: Rows) -> None:
        if len(rows) < self.bits:
            raise input_error("X", f"has {len(rows)} rows; give bits={self.bits} vectors or more, or use fewer bits")
        training = sample_rows(rows, max(self.samples, self.bits), self.seed, _SAMPLE)
        # Distances are computed about the mean: far from the origin, squares would cancel.
        mean = rows.means()
        training -= mean
        pivots = self._first_pivots(training)
        m = len(training)
        self.n_iter_ = 0
        while True:
            # Pivots are stored as float32 about the origin; overlaps are measured for the stored values.
            stored = (pivots + mean).astype(np.float32)
            pivots = stored.astype(np.float64) - mean
            inside, squares = _fit_radii(training, pivots)
            overlaps = (inside.T @ inside).astype(np.float64)
            self._measure(overlaps, m)
            if self.converged_ or self.n_iter_ == self.max_iter:
                break
            force = 0.5 * (overlaps - m / 4) / (m / 4)
            np.fill_diagonal(force, 0.0)
            move = (force.sum(1)[:, None] * pivots - force @ pivots) / self.bits
            if not np.abs(move).max() > 0:
                break
            pivots = pivots + move
            self.n_iter_ += 1
        self.pivots_, self.squared_radii_ = stored, squares
        spread = np.sqrt((training**2).sum(1)).mean()
        self.drift_ = float(np.sqrt((pivots**2).sum(1)).mean() / spread) if spread > 0 else 0.0
        if not self.converged_:
            warn_caller(
                f"SphericalHash did not reach its tolerances in {self.n_iter_} moves: mean overlap "
                f"{self.overlap_mean_:.3f}, error {self.overlap_error_:.3f}, standard deviation "
                f"{self.overlap_std_:.3f} of a quarter; give more varied vectors, or fewer bits",
                ConvergenceWarning,
            )

    def _first_pivots(self, training: Floats) -> Floats:
        size = min(_GROUP, len(training))
        if self.start == "samples":
            means: Floats = training[random_subsets(len(training), size, self.bits, self.seed, _START)].mean(axis=1)
            return means
        centroids = training[sample_positions(len(training), self.bits, self.seed, _START)]
        for _ in range(10):
            square = (centroids**2).sum(1)
            nearest = np.argmin(square - 2 * (training @ centroids.T), axis=1)
            counts = np.bincount(nearest, minlength=len(centroids))
            sums = np.zeros_like(centroids)
            np.add.at(sums, nearest, training)
            centroids = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centroids)
        return centroids

    def _measure(self, overlaps: Floats, m: int) -> None:
        """Set the statistics of o_ij, i < j, as shares of m/4, and `converged_` if they are within the tolerances."""
        shares = overlaps[np.triu_indices(len(overlaps), 1)] / (m / 4)
        self.overlap_mean_ = float(shares.mean())
        self.overlap_error_ = float(np.abs(shares - 1).mean())
        self.overlap_std_ = float(shares.std())
        if self.stop == "loose":
            error = abs(self.overlap_mean_ - 1)
            self.converged_ = error < self.mean_tolerance and self.overlap_std_ < self.std_tolerance
        else:
            error = self.overlap_error_
            self.converged_ = error <= self.mean_tolerance and self.overlap_std_ <= self.std_tolerance

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"pivots_": (self.bits, self.dimension_), "squared_radii_": (self.bits,)}

    def _derive(self) -> None:
        offset = self.squared_radii_ - row_norms(self.pivots_, 0) ** 2
        self._projection = Projection(self.pivots_, offset, factor=2.0)

    def _transform(self, rows: Rows) -> Codes:
        words = np.empty((len(rows), -(-self.bits // 64)), np.uint64)
        for part, batch in self._projection.batches(rows):
            norms, out = batch.norms(), words[part]

            def kernel(
                batch: Rows, products: Matrix, norms: Floats = norms, out: npt.NDArray[np.uint64] = out
            ) -> tuple[Ints, Ints]:
                bounds = self._bounds(batch, norms)
                return sign_codes(products, 2.0, -(norms**2), self._projection.offset, bounds, out)

            unsure, columns, squares = self._projection.decide(batch, kernel, squares=True)
            set_bits(out, unsure, columns, squares <= self.squared_radii_[columns])
        return words

    def _projections(self, rows: Rows) -> Projections:
        numbers, columns = (part.reshape(-1) for part in np.indices((len(rows), self.bits)))
        squares = rows.exact(self.pivots_, numbers, columns, squares=True).reshape(len(rows), self.bits)
        limits = np.broadcast_to(self.squared_radii_, squares.shape).copy()
        return Projections(squares, limits, np.abs(np.sqrt(squares) - np.sqrt(limits)))

    def _bounds(self, rows: Rows, norms: Floats) -> Bounds:
        scale, columns, _, slack = self._projection.bounds(rows, norms)
        # The squared norms, and the exact squared distance itself, are sums of d terms in float64.
        relative = 4 * (self.dimension_ + 8) * 2.0**-53
        slack = slack + relative * (self.squared_radii_ + 2 * columns**2)
        return scale, columns, 2 * relative * norms**2, slack

    def bit_rates(self, X: npt.ArrayLike) -> Floats:
        """Return the share of vectors inside each ball, `(bits,)`: a half for the training vectors.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.
        """
        rates: Floats = self.hash_values(X).mean(axis=0)
        return rates


def _fit_radii(training: Floats, pivots: Floats) -> tuple[npt.NDArray[np.float32], Floats]:
    """Return the training vectors inside each ball, `(m, l)` of 0 and 1, and squared radii with half of the vectors."""
    square = (training**2).sum(1)[:, None] - 2 * (training @ pivots.T) + (pivots**2).sum(1)
    square = np.maximum(square, 0.0)
    half = max(len(training) // 2, 1)
    ordered = np.partition(square, [half - 1, min(half, len(training) - 1)], axis=0)
    squares = (ordered[half - 1] + ordered[min(half, len(training) - 1)]) / 2
    return (square <= squares).astype(np.float32), squares


def spherical_hamming(a: npt.ArrayLike, b: npt.ArrayLike, *, bits: int = 64) -> Floats:
    """Return the spherical Hamming distance |a xor b| / (|a and b| + 0.1) of fingerprints.

    Parameters
    ----------
    a, b : uint64 of shape (n,) up to 64 bits, (n, words) above, or one fingerprint
        Of equal length, or one fingerprint that is compared with all others.
    bits : int, default 64
        Width of a fingerprint.

    Returns
    -------
    (n,) float64
        0 for equal fingerprints; up to 10 · bits if two share no ball. The constant 0.1 is from the authors' program.

    Raises
    ------
    MismatchError
        Different numbers of fingerprints, if neither is one.

    Notes
    -----
    Symmetric, but not a metric: the triangle inequality does not hold.

    Examples
    --------
    >>> from nearkin.families import spherical_hamming
    >>> spherical_hamming(0b1011, [0b0011, 0b1011, 0b0100]).round(2).tolist()
    [0.48, 0.0, 40.0]
    """
    words = -(-bits // 64)
    left = np.ascontiguousarray(np.asarray(values_of(a, "a"), np.uint64).reshape(-1, words))
    right = np.ascontiguousarray(np.asarray(values_of(b, "b"), np.uint64).reshape(-1, words))
    if 1 not in (len(left), len(right)) and len(left) != len(right):
        raise mismatch("number of fingerprints", len(left), len(right))
    n = max(len(left), len(right)) if len(left) and len(right) else 0
    left, right = (np.ascontiguousarray(np.broadcast_to(side, (n, words))).reshape(-1) for side in (left, right))
    zeros = np.zeros(len(left), np.uint64)
    differ = hamming_distances(left, right, words).astype(np.float64)
    ones = hamming_distances(left, zeros, words) + hamming_distances(right, zeros, words).astype(np.float64)
    return differ / ((ones - differ) / 2 + 0.1)


@dataclass(frozen=True)
class BoundingPower:
    """How tightly the regions of a family bound vectors; `bounding_power` measures it.

    Attributes
    ----------
    mean_largest : float
        Mean over the regions with two vectors or more of the largest L2 distance of two vectors in the region.
    mean_share : float
        `mean_largest` divided by the largest distance of all the vectors: 1 if one region has them all.
    regions : int
        Number of regions with two vectors or more.
    singles : int
        Number of regions with one vector, which have no distance.
    """

    mean_largest: float
    mean_share: float
    regions: int
    singles: int


def bounding_power(family: Family, X: npt.ArrayLike) -> BoundingPower:
    """Measure how tightly the regions of a family bound vectors: the mean of the largest distance within a region.

    A region is what has one code. Smaller is tighter: a code then says more about where its vectors are. Regions get
    smaller with more bits, so compare families of equal numbers of bits, on vectors that none was fitted to.

    Parameters
    ----------
    family : Family
        Fitted, of kind "bits".
    X : (n, d) array
        Two vectors or more.

    Returns
    -------
    BoundingPower

    Raises
    ------
    ParameterError
        A family of another kind, or fewer than two vectors.
    NotFittedError, MismatchError, InputError
        As for `Family.transform`.

    Notes
    -----
    Cost: the square of the number of vectors of each region, times d. The paper shows this mean for spheres and
    hyperplanes by number of bits (section 3.1 and figure 2).

    References
    ----------
    J.-P. Heo, Y. Lee, J. He, S.-F. Chang, S.-E. Yoon (2012), Spherical Hashing, CVPR.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.random.default_rng(0).standard_normal((2000, 8))
    >>> balls = nk.families.SphericalHash(bits=8).fit(X[:1000])
    >>> nk.families.bounding_power(balls, X[1000:]).mean_share < 1
    True
    """
    if family.kind != "bits":
        raise bad_parameter("family", type(family).__name__, "a family of bits, whose codes are regions")
    codes = np.asarray(family.transform(X)).reshape(len(np.asarray(X)), -1)
    if len(codes) < 2:
        raise bad_parameter("X", f"{len(codes)} vectors", "two vectors or more")
    values = np.asarray(X, np.float64)
    values = values - values.mean(axis=0)
    _, region, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(region.reshape(-1), kind="stable")
    members = np.split(values[order], np.cumsum(counts)[:-1])
    largest = [_largest_distance(rows) for rows in members if len(rows) > 1]
    mean = float(np.mean(largest)) if largest else 0.0
    widest = _largest_distance(values)
    return BoundingPower(mean, mean / widest if widest > 0 else 0.0, len(largest), int((counts == 1).sum()))


def _largest_distance(values: Floats) -> float:
    """Return the largest L2 distance of two vectors."""
    squares = (values**2).sum(axis=1)
    largest = 0.0
    for start in range(0, len(values), 1024):
        part = slice(start, start + 1024)
        largest = max(largest, float((squares[part, None] - 2 * (values[part] @ values.T) + squares).max()))
    return float(np.sqrt(largest))
