"""Spherical Hashing: one bit per ball, whether a vector lies inside of it. Learned from data; for L2 distances.

    bit_i = 1 where ‖x − p_i‖ <= t_i

The radius t_i is such that the ball holds half of the training vectors; the pivots p_i are moved until two balls share
about a quarter of them, so that bits are balanced and nearly independent. With m training vectors, l balls, o_ij
vectors in both:

    p_i ← p_i + (1/l) Σ_j ½ (o_ij − m/4) / (m/4) (p_i − p_j)

until, with `stop="loose"`, |mean o_ij − m/4| < 0.10 m/4 and std o_ij < 0.15 m/4 (the authors' C++ program), or, with
`stop="strict"`, mean |o_ij − m/4| <= 0.10 m/4 and std o_ij <= 0.15 m/4 (the paper, the authors' MATLAB program). The
forces push pivots outside the data, and codes get worse when they drift far: the tolerances are the regulariser, so
tighter ones do not help. Radii are computed again after the last move.

A ball is bounded, so balls cut closed regions: c balls in d dimensions make up to C(c−1, d) + Σ_{i<=d} C(c, i)
regions, where c hyperplanes make Σ_{i<=d} C(c, i) (`nearkin.theory.ball_regions`). Vectors that share many balls are
near one another, so codes are compared by the spherical Hamming distance |a xor b| / |a and b|. There is no collision
law, and the distance is not a key.

Cost: d multiplications per bit; fitting takes iterations · m · l · (d + l) operations on at most `samples` vectors.
Sources: Heo, Lee, He, Chang and Yoon, Spherical Hashing (CVPR 2012; PAMI 2015). Differences: a radius lies half-way
between the middle distance and the next one, so that rounding moves no training vector over it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from nearkin._core import hamming_distances, row_norms, set_bits, sign_codes
from nearkin.errors import ConvergenceWarning, InputError, bad_parameter, check_count, mismatch, warn_caller
from nearkin.families.base import Codes, Distance, Family, Projections, Terms, check_hashes, check_number, check_seed
from nearkin.vectors.projection import Bounds, Projection
from nearkin.vectors.rows import Floats, Ints, Matrix, Rows
from nearkin.vectors.sampling import places, sample, subsets

_SAMPLE, _START = 6, 7
"""Streams of the seed."""
_GROUP = 5
"""Vectors whose mean is a first pivot: the paper's programs take 5 or 10."""


class SphericalHash(Family):
    """Balls that hold half of the data each and a quarter in pairs; for L2 distances.

    Parameters
    ----------
    bits : int, default 64
        Number of balls, 2 to 65,536; `HammingIndex` takes up to 1,024.
    start : {"samples", "kmeans"}, default "samples"
        First pivots: means of five random vectors, or centres of k-means.
    stop : {"loose", "strict"}, default "loose"
        Which mean must come within `mean_tolerance`: that of o_ij, or that of its distance from a quarter.
    mean_tolerance, std_tolerance : float, default 0.10 and 0.15
        Shares of a quarter of the training vectors, above 0.
    max_iter : int, default 50
        Most moves of the pivots, 0 or more.
    samples : int, default 10,000
        Most training vectors, 2 or more.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    pivots_ : (bits, d) float32
    squared_radii_ : (bits,) float64
    n_iter_ : int
        Moves that were made.
    converged_ : bool
    overlap_mean_, overlap_error_, overlap_std_ : float
        Mean of o_ij, mean of |o_ij - m/4|, standard deviation of o_ij, each as a share of m/4.
    drift_ : float
        Mean distance of the pivots from the mean of the data over that of the data: 1 lies among them, 10 far outside.

    Notes
    -----
    A fit that does not reach the tolerances in `max_iter` moves warns with `ConvergenceWarning` and is usable: on
    isotropic data `drift_` says more than convergence. Data of equal vectors alone never converges.

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
    distance: Distance = "l2"
    terms = Terms("squared distance to the centre of a ball", "1 up to the limit", "distance to the surface")
    _learned = (
        "pivots_",
        "squared_radii_",
        "n_iter_",
        "converged_",
        "overlap_mean_",
        "overlap_error_",
        "overlap_std_",
        "drift_",
    )

    pivots_: npt.NDArray[np.float32]
    squared_radii_: Floats
    n_iter_: int
    converged_: bool
    overlap_mean_: float
    overlap_error_: float
    overlap_std_: float
    drift_: float

    def __init__(
        self,
        bits: int = 64,
        *,
        start: Literal["samples", "kmeans"] = "samples",
        stop: Literal["loose", "strict"] = "loose",
        mean_tolerance: float = 0.10,
        std_tolerance: float = 0.15,
        max_iter: int = 50,
        samples: int = 10_000,
        seed: int = 0,
    ) -> None:
        self.bits = bits
        self.start = start
        self.stop = stop
        self.mean_tolerance = mean_tolerance
        self.std_tolerance = std_tolerance
        self.max_iter = max_iter
        self.samples = samples
        self.seed = seed

    def _check(self) -> None:
        if check_hashes("bits", self.bits) < 2:
            raise bad_parameter("bits", self.bits, "2 or more: a ball is placed by its overlap with others")
        if self.start not in ("samples", "kmeans"):
            raise bad_parameter("start", repr(self.start), '"samples" or "kmeans"')
        if self.stop not in ("loose", "strict"):
            raise bad_parameter("stop", repr(self.stop), '"loose" or "strict"')
        for name in ("mean_tolerance", "std_tolerance"):
            check_number(name, getattr(self, name), "a number above 0", lambda value: value > 0)
        check_count("max_iter", self.max_iter, 0, 10**9, "0 or more")
        check_count("samples", self.samples, 2, 10**9, "2 or more")
        check_seed(self.seed)

    def _fit(self, rows: Rows) -> None:
        if len(rows) < self.bits:
            reason = f"has {len(rows)} rows; give bits={self.bits} vectors or more, or ask for fewer bits"
            raise InputError(f"X: {reason}", place="X", reason=reason)
        training = sample(rows, max(self.samples, self.bits), self.seed, _SAMPLE)
        # Distances are computed about the mean: far from the origin squares would cancel.
        mean = rows.means()
        training -= mean
        pivots = self._first_pivots(training)
        m = len(training)
        self.n_iter_ = 0
        while True:
            # What is learned is stored as float32 about the origin, so overlaps are those of the stored pivots.
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
            means: Floats = training[subsets(len(training), size, self.bits, self.seed, _START)].mean(axis=1)
            return means
        centres = training[places(len(training), self.bits, self.seed, _START)]
        for _ in range(10):
            square = (centres**2).sum(1)
            nearest = np.argmin(square - 2 * (training @ centres.T), axis=1)
            counts = np.bincount(nearest, minlength=len(centres))
            sums = np.zeros_like(centres)
            np.add.at(sums, nearest, training)
            centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        return centres

    def _measure(self, overlaps: Floats, m: int) -> None:
        """Statistics of o_ij, i < j, as shares of m/4, and whether they are within the tolerances."""
        shares = overlaps[np.triu_indices(len(overlaps), 1)] / (m / 4)
        self.overlap_mean_ = float(shares.mean())
        self.overlap_error_ = float(np.abs(shares - 1).mean())
        self.overlap_std_ = float(shares.std())
        if self.stop == "loose":
            near = abs(self.overlap_mean_ - 1) < self.mean_tolerance and self.overlap_std_ < self.std_tolerance
        else:
            near = self.overlap_error_ <= self.mean_tolerance and self.overlap_std_ <= self.std_tolerance
        self.converged_ = near

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"pivots_": (self.bits, self.dimension_), "squared_radii_": (self.bits,)}

    def _derive(self) -> None:
        offset = self.squared_radii_ - row_norms(self.pivots_, 0) ** 2
        self._projection = Projection(self.pivots_, offset, factor=2.0)

    def _transform(self, rows: Rows) -> Codes:
        words = np.empty((len(rows), -(-self.bits // 64)), np.uint64)
        for place, batch in self._projection.batches(rows):
            norms, out = batch.norms(), words[place]

            def kernel(
                batch: Rows, products: Matrix, norms: Floats = norms, out: npt.NDArray[np.uint64] = out
            ) -> tuple[Ints, Ints]:
                bounds = self._bounds(batch, norms)
                return sign_codes(products, 2.0, -(norms**2), self._projection.offset, bounds, out)

            unsure, columns, squares = self._projection.decide(batch, kernel, squares=True)
            set_bits(out, unsure, columns, squares <= self.squared_radii_[columns])
        return words

    def _projections(self, rows: Rows) -> Projections:
        places, columns = (part.reshape(-1) for part in np.indices((len(rows), self.bits)))
        squares = rows.exact(self.pivots_, places, columns, squares=True).reshape(len(rows), self.bits)
        limits = np.broadcast_to(self.squared_radii_, squares.shape).copy()
        return Projections(squares, limits, np.abs(np.sqrt(squares) - np.sqrt(limits)))

    def _bounds(self, rows: Rows, norms: Floats) -> Bounds:
        scale, columns, _, slack = self._projection.bounds(rows, norms)
        # The squared norms, and the exact squared distance itself, are sums of d terms in float64.
        relative = 4 * (self.dimension_ + 8) * 2.0**-53
        slack = slack + relative * (self.squared_radii_ + 2 * columns**2)
        return scale, columns, 2 * relative * norms**2, slack

    def bit_rates(self, X: npt.ArrayLike) -> Floats:
        """Share of vectors inside each ball, `(bits,)`: a half on the training vectors.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.
        """
        rates: Floats = self.hash_values(X).mean(axis=0)
        return rates

    @property
    def num_alternatives(self) -> int:
        """0: a ball's bit is not the key of a bucket."""
        return 0

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Spherical Hashing has no collision law.

        Parameters
        ----------
        value : float or array
            Not used.

        Raises
        ------
        ParameterError
            Always.
        """
        raise bad_parameter("family", self.name, "a family with a collision law; balls are fitted to data")


def _fit_radii(training: Floats, pivots: Floats) -> tuple[npt.NDArray[np.float32], Floats]:
    """Which training vectors each ball holds, `(m, l)` of 0 and 1, and squared radii: half of the vectors each."""
    square = (training**2).sum(1)[:, None] - 2 * (training @ pivots.T) + (pivots**2).sum(1)
    square = np.maximum(square, 0.0)
    half = max(len(training) // 2, 1)
    ordered = np.partition(square, [half - 1, min(half, len(training) - 1)], axis=0)
    squares = (ordered[half - 1] + ordered[min(half, len(training) - 1)]) / 2
    return (square <= squares).astype(np.float32), squares


def spherical_hamming(a: npt.ArrayLike, b: npt.ArrayLike, *, bits: int = 64) -> Floats:
    """Spherical Hamming distance |a xor b| / (|a and b| + 0.1) of fingerprints.

    Parameters
    ----------
    a, b : uint64 of shape (n,) up to 64 bits, (n, words) above, or one fingerprint
        Of equal length, or one against all of the other.
    bits : int, default 64
        Width of a fingerprint.

    Returns
    -------
    (n,) float64
        0 for equal fingerprints; up to 10 · bits for two that share no ball. The 0.1 is that of the authors' program.

    Raises
    ------
    MismatchError
        Different numbers of fingerprints, neither of which is one.

    Notes
    -----
    Symmetric, but no metric: the triangle inequality does not hold.

    Examples
    --------
    >>> from nearkin.families import spherical_hamming
    >>> spherical_hamming(0b1011, [0b0011, 0b1011, 0b0100]).round(2).tolist()
    [0.48, 0.0, 40.0]
    """
    words = -(-bits // 64)
    left = np.ascontiguousarray(np.asarray(a, np.uint64).reshape(-1, words))
    right = np.ascontiguousarray(np.asarray(b, np.uint64).reshape(-1, words))
    if 1 not in (len(left), len(right)) and len(left) != len(right):
        raise mismatch("number of fingerprints", len(left), len(right))
    n = max(len(left), len(right)) if len(left) and len(right) else 0
    left, right = (np.ascontiguousarray(np.broadcast_to(side, (n, words))).reshape(-1) for side in (left, right))
    nothing = np.zeros(len(left), np.uint64)
    apart = hamming_distances(left, right, words).astype(np.float64)
    ones = hamming_distances(left, nothing, words) + hamming_distances(right, nothing, words).astype(np.float64)
    return apart / ((ones - apart) / 2 + 0.1)
