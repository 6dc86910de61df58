"""Kernelised LSH (KLSH): random hyperplanes in the feature space of any kernel, from kernel values only.

With p anchors from the data, K their centred kernel matrix and g a vector of p Gaussian numbers:

    w = K^(−1/2) g        bit = 1 if Σ_i w_i κ(x, x_i) > 0, κ centred by the anchors' means

K^(−1/2) maps centred kernel values to coordinates in the span of the anchors (`embed`), and g is a random hyperplane
there. So bits agree with probability 1 − arccos(c)/π, where c is the cosine of the two vectors after centring and
projection on that span (Jiang, Que and Kulis: LSH after kernel PCA), for anchors and other vectors. Components outside
the span are lost. Eigenvalues of K up to 1e-8 of the largest, and negative ones of kernels that are not positive, are
dropped. The weights include the centring of x, so that a bit is one product with p kernel values.

Kulis and Grauman use √((p − 1) / t) e_S instead of g, with S a random set of t anchors (`subset`). By the central limit
theorem it is approximately Gaussian, with an error of 0.01 to 0.02 at t = 30. But for a narrow kernel an anchor's own
coordinate outweighs the others, and then its bits only show if it is in S.

Cost: p kernel values per vector and p multiplications per bit; fitting takes p³ operations. Sources: Kulis and Grauman
(ICCV 2009; PAMI 2012); Jiang, Que and Kulis (2014). Equal kernel values give equal codes on every machine; the kernel's
exponential is NumPy's, which may differ in the last digit between machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import draw_matrix
from nearkin.errors import bad_parameter, check_count, check_number, input_error
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    ProjectionLabels,
    check_directions,
    row_distances,
)
from nearkin.vectors.arrays import Floats, Rows, row_error
from nearkin.vectors.projection import Projection
from nearkin.vectors.sampling import random_subsets, sample_positions

Name: TypeAlias = Literal["rbf", "laplacian", "chi2", "intersection", "linear", "cosine", "polynomial", "precomputed"]
Kernel: TypeAlias = Name | Callable[[Floats, Floats], npt.ArrayLike]

_ANCHORS, _SUBSETS, _GAUSSIAN = 21, 22, 23
"""Streams of the seed."""
_HISTOGRAMS = ("chi2", "intersection")
"""Kernels of values that are 0 or more."""
_MIN_EIGENVALUE = 1e-8
"""Relative to the largest eigenvalue."""
_NAMES = ("rbf", "laplacian", "chi2", "intersection", "linear", "cosine", "polynomial", "precomputed")


@dataclass(eq=False, repr=False)
class KernelLSH(Family):
    """Random hyperplanes in the feature space of a kernel.

    Parameters
    ----------
    bits : int, default 64
        1 to 65,536; `HammingIndex` accepts up to 1,024.
    kernel : str or callable, default "rbf"
        "rbf" is exp(-gamma L2²), "laplacian" exp(-gamma L1), "linear" x·y, "cosine" the cosine, "polynomial"
        (gamma x·y + coef0)^degree. Of histograms, whose values are 0 or more: "chi2" is
        exp(-gamma Σ (x - y)² / (x + y)), "intersection" Σ min(x, y). "precomputed" takes kernel values with the fitted
        vectors instead of vectors: (n, n) in `fit`, (m, n) in `transform`. A function takes (m, d) and (p, d) arrays
        and returns (m, p) values; such a family can't be saved.
    gamma : float or "auto", default "auto"
        Above 0. "auto" is 1 / the median of what gamma multiplies between anchors: the squared distance (rbf), the
        distance (laplacian) or χ² (chi2); so half of the pairs have kernel values on either side of 1/e, where the
        kernel separates best. 1 / d (polynomial). "linear", "cosine" and "intersection" have no gamma.
    degree : int, default 3
    coef0 : float, default 1
    anchors : int, default 300
        p, 2 or more; all vectors if there are fewer.
    subset : int, optional
        t of the paper, at most p; a quarter of p if that is less. The law then does not hold for the anchors. By
        default hyperplanes are Gaussian, and the law holds for all vectors.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    anchors_ : (p, d) float64, or (p,) int64 columns with "precomputed"
    root_ : (p, p) float64
        K^(-1/2).
    weights_ : (bits, p) float64
        Including the centring of the vector.
    offset_ : (bits,) float64
    means_ : (p,) float64
        Mean kernel value of each anchor with all anchors.
    rank_ : int
        Number of eigenvalues that were kept.
    gamma_ : float

    References
    ----------
    B. Kulis, K. Grauman (2009), Kernelized locality-sensitive hashing for scalable image search, ICCV.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> family = nk.families.KernelLSH(bits=512, anchors=100).fit(X)
    >>> codes = family.transform(np.concatenate([X[:1], X[:1] + 0.1, X[1:2]]))
    >>> near, far = nk.hamming(codes[0], codes[1], bits=512), nk.hamming(codes[0], codes[2], bits=512)
    >>> near < 60 < 150 < far
    True
    """

    name = "kernel"
    kind = "bits"
    distance: ClassVar[Distance] = "kernel"
    projection_labels = ProjectionLabels(
        "weighted sum of kernel values with the anchors", "1 above 0", "absolute value of the sum"
    )

    bits: int = 64
    _: KW_ONLY
    kernel: Kernel = "rbf"
    gamma: float | Literal["auto"] = "auto"
    degree: int = 3
    coef0: float = 1.0
    anchors: int = 300
    subset: int | None = None
    seed: int = 0

    anchors_: npt.NDArray[Any] = field(init=False)
    root_: Floats = field(init=False)
    weights_: Floats = field(init=False)
    offset_: Floats = field(init=False)
    means_: Floats = field(init=False)
    rank_: int = field(init=False)
    gamma_: float = field(init=False)

    def _check(self) -> None:
        super()._check()
        if not callable(self.kernel) and self.kernel not in _NAMES:
            raise bad_parameter("kernel", repr(self.kernel), ", ".join(_NAMES) + " or a function")
        if self.gamma != "auto":
            check_number("gamma", self.gamma, 'a number above 0, or "auto"', lambda gamma: gamma > 0)
        check_count("degree", self.degree, 1, 100, "1 to 100")
        check_number("coef0", self.coef0, "a finite number", lambda _: True)
        check_count("anchors", self.anchors, 2, 1 << 14, "2 to 16,384")
        if self.subset is not None:
            check_count("subset", self.subset, 1, self.anchors, f"1 to anchors={self.anchors}, or None")

    def _json_params(self) -> dict[str, Any]:
        if callable(self.kernel):
            raise bad_parameter("kernel", repr(self.kernel), "a kernel with a name: a function has no digest or file")
        return super()._json_params()

    def _fit(self, rows: Rows) -> None:
        if len(rows) < 2:
            raise input_error("X", "has one row; give two vectors or more, better a few hundred")
        chosen = sample_positions(len(rows), self.anchors, self.seed, _ANCHORS)
        self.gamma_ = 1.0 if self.gamma == "auto" else float(self.gamma)
        if self.kernel == "precomputed":
            if rows.d != len(rows):
                allowed = "kernel values of all fitted vectors: (n, n)"
                raise bad_parameter("X", f"shape ({len(rows)}, {rows.d})", allowed)
            self.anchors_ = chosen
            kernel = rows.take(chosen).as_float64().dense()[:, chosen]
        else:
            self.anchors_ = np.require(rows.take(chosen).as_float64().dense(), np.float64)
            if self.kernel in _HISTOGRAMS:
                check_histograms(Rows(self.anchors_, None), str(self.kernel))
            if self.gamma == "auto":
                self.gamma_ = self._auto_gamma(rows.d)
            kernel = self._kernel_values(Rows(self.anchors_, None))
        p = len(chosen)
        self.means_ = kernel.mean(axis=0)
        grand = float(self.means_.mean())
        centred = kernel - self.means_ - kernel.mean(axis=1)[:, None] + grand
        values, vectors = np.linalg.eigh((centred + centred.T) / 2)
        kept = values > _MIN_EIGENVALUE * np.abs(values).max()
        if not kept.any() or float(values[-1]) <= 1e-12 * np.abs(kernel).max():
            reason = "all anchors have the same kernel values, so no direction separates them; give varied vectors"
            raise input_error("X", reason)
        self.rank_ = int(kept.sum())
        self.root_ = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        if self.subset is None:
            weights = draw_matrix("gaussian", self.seed, _GAUSSIAN, 0, self.bits, p).reshape(self.bits, p) @ self.root_
        else:
            size = max(1, min(self.subset, p // 4))
            chosen_sets = random_subsets(p, size, self.bits, self.seed, _SUBSETS)
            weights = np.sqrt((p - 1) / size) * self.root_[chosen_sets].sum(axis=1)
        # w·(k − mean(k) − means + grand) = (w − mean(w))·k − w·means + Σw · grand
        self.offset_ = weights.sum(axis=1) * grand - weights @ self.means_
        self.weights_ = np.ascontiguousarray(weights - weights.mean(axis=1)[:, None])

    def _auto_gamma(self, d: int) -> float:
        if self.kernel == "polynomial":
            return 1.0 / d
        if self.kernel not in ("rbf", "laplacian", "chi2"):
            return 1.0
        median = float(np.median(self._distances(self.anchors_)))
        if median <= 0:
            raise input_error(
                "X", "most anchors are equal, so no gamma follows from their distances; give gamma= a number"
            )
        return 1.0 / median

    def _distances(self, dense: Floats) -> Floats:
        """Return what gamma multiplies, between vectors and anchors: `(n, p)`."""

        def distances(anchor: Floats) -> Floats:
            difference = np.abs(dense - anchor)
            if self.kernel == "chi2":
                sums = dense + anchor
                difference = np.divide(difference**2, sums, out=np.zeros_like(sums), where=sums > 0)
            elif self.kernel == "rbf":
                difference = difference**2
            total: Floats = difference.sum(axis=1)
            return total

        return np.stack([distances(anchor) for anchor in self.anchors_], axis=1)

    def _kernel_values(self, rows: Rows) -> Floats:
        """Return the kernel values of rows with the anchors, `(n, p)` float64."""
        if self.kernel == "precomputed":
            return np.ascontiguousarray(rows.as_float64().dense()[:, self.anchors_], np.float64)
        if callable(self.kernel):
            values = np.asarray(self.kernel(cast("Floats", rows.as_float64().dense()), self.anchors_), np.float64)
            shape = (len(rows), len(self.anchors_))
            if values.shape != shape:
                allowed = f"a function of (m, d) and (p, d) that gives (m, p) values, here {shape}"
                raise bad_parameter("kernel", f"values of shape {values.shape}", allowed)
            if not np.isfinite(values).all():
                raise bad_parameter("kernel", "values that are NaN or infinite", "a function with finite values")
            return np.ascontiguousarray(values)
        if self.kernel in _HISTOGRAMS:
            check_histograms(rows, str(self.kernel))
        if self.kernel in ("laplacian", "chi2"):
            return np.exp(-self.gamma_ * self._distances(cast("Floats", rows.as_float64().dense())))
        if self.kernel == "intersection":
            dense = rows.as_float64().dense()
            return np.stack([np.minimum(dense, anchor).sum(axis=1) for anchor in self.anchors_], axis=1)
        products = rows.all_products(self.anchors_)
        if self.kernel == "linear":
            return products
        if self.kernel == "polynomial":
            return (self.gamma_ * products + self.coef0) ** self.degree
        anchors = Rows(self.anchors_, None)
        norms, others = rows.norms(), anchors.norms()
        if self.kernel == "cosine":
            check_directions(rows, norms)
            check_directions(anchors, others, noun="anchor")
            return products / norms[:, None] / others
        squares = np.maximum(norms[:, None] ** 2 - 2 * products + others**2, 0.0)
        return np.exp(-self.gamma_ * squares)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        p = len(self.weights_[0]) if self.weights_.ndim == 2 else 0
        anchors: tuple[int, ...] = (p,) if self.kernel == "precomputed" else (p, self.dimension_)
        return {
            "anchors_": anchors,
            "root_": (p, p),
            "weights_": (self.bits, p),
            "offset_": (self.bits,),
            "means_": (p,),
        }

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.kernel == "precomputed" and not (0 <= self.anchors_.min() and self.anchors_.max() < self.dimension_):
            raise ValueError("anchors_ are outside the dimension")

    def _derive(self) -> None:
        self._projection = Projection(self.weights_, self.offset_)

    def _kernel_rows(self, rows: Rows) -> Iterator[tuple[slice, Rows]]:
        """Yield slices of the rows, and their kernel values as rows."""
        for part, batch in rows.batches(max(len(self.means_), rows.d)):
            batch.norms()
            yield part, Rows(self._kernel_values(batch), None, batch.first)

    def _transform(self, rows: Rows) -> Codes:
        words = np.empty((len(rows), -(-self.bits // 64)), np.uint64)
        for part, values in self._kernel_rows(rows):
            words[part] = self._projection.sign_codes(values)
        return words

    def _values(self, rows: Rows) -> Floats:
        margins = np.empty((len(rows), self.bits))
        for part, values in self._kernel_rows(rows):
            margins[part] = values.all_products(self.weights_) + self.offset_
        return margins

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        a, b = (Rows(np.ascontiguousarray(self._embed(rows)), None) for rows in (left, right))
        return row_distances(a, b, "cosine")

    def embed(self, X: npt.ArrayLike) -> Floats:
        """Return coordinates in the span of the anchors, whose inner products are the centred, projected kernel.

        `collision_probability` of the cosine of two such rows is the probability that their bits agree.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.

        Returns
        -------
        (n, p) float64
        """
        return self._embed(self._rows(X))

    def _embed(self, rows: Rows) -> Floats:
        values = np.concatenate(
            [np.zeros((0, len(self.means_))), *(part.dense() for _, part in self._kernel_rows(rows))]
        )
        centred = values - values.mean(axis=1)[:, None] - self.means_ + self.means_.mean()
        embedded: Floats = centred @ self.root_
        return embedded

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Return 1 - arccos(value) / pi for the cosine after centring and projection (see `embed`).

        With `subset` it is accurate to about 0.02, and only for vectors that are not anchors.

        Parameters
        ----------
        value : float or array
            Cosine, -1 to 1.

        Raises
        ------
        ParameterError
            A cosine outside -1 to 1.
        """
        return theory.hyperplane(value)


def check_histograms(rows: Rows, kernel: str) -> None:
    """Raise InputError for a negative value, which no histogram has."""
    dense = rows.dense()
    if dense.size and float(dense.min()) < 0:
        reason = f"has a negative value; the kernel {kernel!r} compares histograms, whose values are 0 or more"
        raise row_error(rows, dense.min(axis=1) < 0, reason)
