"""Kernelised LSH (KLSH): random hyperplanes in the space of any kernel, made from kernel values alone.

With p anchors from the data, K their centred kernel matrix and g a vector of p Gaussian numbers:

    w = K^(−1/2) g        bit = 1 where Σ_i w_i κ(x, x_i) > 0, κ centred by the anchors' means

K^(−1/2) takes centred kernel values to coordinates in the span of the anchors (`embed`), and g is a random hyperplane
there. So bits agree with probability 1 − arccos(c)/π, c the cosine of the two vectors after centring and projection on
that span (Jiang, Que and Kulis: LSH after kernel PCA), for anchors as for other vectors. What lies outside the span is
not seen. Eigenvalues of K up to 1e-8 of the largest, and negative ones of kernels that are not positive, are dropped.
The centring of x is folded into the weights, so that a bit is one product with p kernel values.

Kulis and Grauman take √((p − 1) / t) e_S in place of g, S a random set of t anchors (`subset`): the central limit
theorem makes that about Gaussian, with an error of 0.01 to 0.02 at t = 30. But an anchor's own coordinate outweighs the
others where the kernel is narrow, and then its bits say little but whether it is in S.

Cost: p kernel values per vector and p multiplications per bit; fitting takes p³. Sources: Kulis and Grauman (ICCV 2009;
PAMI 2012); Jiang, Que and Kulis (2014). Given kernel values, codes are the same everywhere; the kernel's exponential
is NumPy's, which may differ in the last digit between machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import draw_matrix
from nearkin.errors import InputError, bad_parameter, check_count
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    Probes,
    Projections,
    Terms,
    apart,
    check_hashes,
    check_number,
    check_seed,
)
from nearkin.vectors.projection import Projection
from nearkin.vectors.rows import Floats, Ints, Rows
from nearkin.vectors.sampling import places, subsets

Name: TypeAlias = Literal["rbf", "laplacian", "linear", "cosine", "polynomial", "precomputed"]
Kernel: TypeAlias = Name | Callable[[Floats, Floats], npt.ArrayLike]

_ANCHORS, _SUBSETS, _GAUSSIAN = 21, 22, 23
"""Streams of the seed."""
_CUT = 1e-8
_NAMES = ("rbf", "laplacian", "linear", "cosine", "polynomial", "precomputed")


class KernelLSH(Family):
    """Random hyperplanes in the space of a kernel.

    Parameters
    ----------
    bits : int, default 64
        1 to 65,536; `HammingIndex` takes up to 1,024.
    kernel : {"rbf", "laplacian", "linear", "cosine", "polynomial", "precomputed"} or callable, default "rbf"
        exp(-gamma L2²), exp(-gamma L1), x·y, the cosine, (gamma x·y + coef0)^degree; "precomputed" takes kernel values
        with the fitted vectors in place of vectors: (n, n) in `fit`, (m, n) in `transform`. A function takes (m, d) and
        (p, d) arrays and gives (m, p) values; such a family can't be saved.
    gamma : float or "auto", default "auto"
        Above 0. "auto" is one over the median squared distance (rbf), or distance (laplacian), of anchors; 1 / d
        (polynomial).
    degree : int, default 3
    coef0 : float, default 1
    anchors : int, default 300
        p, 2 or more; all vectors where there are fewer.
    subset : int, optional
        t of the paper, at most p; a quarter of p where that is less. The law then fails for vectors that became
        anchors. By default hyperplanes are Gaussian, and the law holds for all vectors.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    anchors_ : (p, d) float64, or (p,) int64 columns with "precomputed"
    root_ : (p, p) float64
        K^(-1/2).
    weights_ : (bits, p) float64
        With the centring of the vector folded in.
    offset_ : (bits,) float64
    means_ : (p,) float64
        Mean kernel value of each anchor with all.
    rank_ : int
        Eigenvalues that were kept.
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
    distance: Distance = "kernel"
    terms = Terms("weighted sum of kernel values with the anchors", "1 above 0", "the value itself, without its sign")
    _learned = ("anchors_", "root_", "weights_", "offset_", "means_", "rank_", "gamma_")

    anchors_: npt.NDArray[Any]
    root_: Floats
    weights_: Floats
    offset_: Floats
    means_: Floats
    rank_: int
    gamma_: float

    def __init__(
        self,
        bits: int = 64,
        *,
        kernel: Kernel = "rbf",
        gamma: float | Literal["auto"] = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        anchors: int = 300,
        subset: int | None = None,
        seed: int = 0,
    ) -> None:
        self.bits = bits
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.anchors = anchors
        self.subset = subset
        self.seed = seed

    def _check(self) -> None:
        check_hashes("bits", self.bits)
        if not callable(self.kernel) and self.kernel not in _NAMES:
            raise bad_parameter("kernel", repr(self.kernel), ", ".join(_NAMES) + " or a function")
        if self.gamma != "auto":
            check_number("gamma", self.gamma, 'a number above 0, or "auto"', lambda gamma: gamma > 0)
        check_count("degree", self.degree, 1, 100, "1 to 100")
        check_number("coef0", self.coef0, "a finite number", lambda _: True)
        check_count("anchors", self.anchors, 2, 1 << 14, "2 to 16,384")
        if self.subset is not None:
            check_count("subset", self.subset, 1, self.anchors, f"1 to anchors={self.anchors}, or None")
        check_seed(self.seed)

    def _plain_params(self) -> dict[str, Any]:
        if callable(self.kernel):
            raise bad_parameter("kernel", repr(self.kernel), "a kernel with a name: a function has no digest or file")
        return super()._plain_params()

    def _fit(self, rows: Rows) -> None:
        if len(rows) < 2:
            reason = "has one row; give two vectors or more, better a few hundred"
            raise InputError(f"X: {reason}", place="X", reason=reason)
        chosen = places(len(rows), self.anchors, self.seed, _ANCHORS)
        self.gamma_ = 1.0 if self.gamma == "auto" else float(self.gamma)
        if self.kernel == "precomputed":
            if rows.d != len(rows):
                raise bad_parameter(
                    "X", f"shape ({len(rows)}, {rows.d})", "kernel values of all fitted vectors: (n, n)"
                )
            self.anchors_ = chosen
            kernel = rows.take(chosen).wide().dense()[:, chosen]
        else:
            self.anchors_ = np.require(rows.take(chosen).wide().dense(), np.float64)
            if self.gamma == "auto":
                self.gamma_ = self._auto_gamma(rows.d)
            kernel = self._values(Rows(self.anchors_, None))
        p = len(chosen)
        self.means_ = kernel.mean(axis=0)
        grand = float(self.means_.mean())
        centred = kernel - self.means_ - kernel.mean(axis=1)[:, None] + grand
        values, vectors = np.linalg.eigh((centred + centred.T) / 2)
        kept = values > _CUT * np.abs(values).max()
        if not kept.any() or float(values[-1]) <= 1e-12 * np.abs(kernel).max():
            reason = "all anchors have the same kernel values, so no direction tells them apart; give varied vectors"
            raise InputError(f"X: {reason}", place="X", reason=reason)
        self.rank_ = int(kept.sum())
        self.root_ = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        if self.subset is None:
            weights = draw_matrix("gaussian", self.seed, _GAUSSIAN, 0, self.bits, p).reshape(self.bits, p) @ self.root_
        else:
            size = max(1, min(self.subset, p // 4))
            chosen_sets = subsets(p, size, self.bits, self.seed, _SUBSETS)
            weights = np.sqrt((p - 1) / size) * self.root_[chosen_sets].sum(axis=1)
        # w·(k − mean(k) − means + grand) = (w − mean(w))·k − w·means + Σw · grand
        self.offset_ = weights.sum(axis=1) * grand - weights @ self.means_
        self.weights_ = np.ascontiguousarray(weights - weights.mean(axis=1)[:, None])

    def _auto_gamma(self, d: int) -> float:
        if self.kernel == "polynomial":
            return 1.0 / d
        if self.kernel not in ("rbf", "laplacian"):
            return 1.0
        metric = 1 if self.kernel == "laplacian" else 2
        apart = [(np.abs(self.anchors_ - anchor) ** metric).sum(axis=1) for anchor in self.anchors_]
        middle = float(np.median(np.concatenate(apart)))
        if middle <= 0:
            reason = "most anchors are equal, so no gamma follows from their distances; give gamma= a number"
            raise InputError(f"X: {reason}", place="X", reason=reason)
        return 1.0 / middle

    def _values(self, rows: Rows) -> Floats:
        """Kernel values of rows with the anchors, `(n, p)` float64."""
        if self.kernel == "precomputed":
            return np.ascontiguousarray(rows.wide().dense()[:, self.anchors_], np.float64)
        if callable(self.kernel):
            found = np.asarray(self.kernel(cast("Floats", rows.wide().dense()), self.anchors_), np.float64)
            if found.shape != (len(rows), len(self.anchors_)):
                allowed = (
                    f"a function of (m, d) and (p, d) that gives (m, p) values, here {(len(rows), len(self.anchors_))}"
                )
                raise bad_parameter("kernel", f"values of shape {found.shape}", allowed)
            if not np.isfinite(found).all():
                raise bad_parameter("kernel", "values that are NaN or infinite", "a function with finite values")
            return np.ascontiguousarray(found)
        if self.kernel == "laplacian":
            dense = rows.wide().dense()
            distances = np.stack([np.abs(dense - anchor).sum(axis=1) for anchor in self.anchors_], axis=1)
            return np.exp(-self.gamma_ * distances)
        products = rows.all_products(self.anchors_)
        if self.kernel == "linear":
            return products
        if self.kernel == "polynomial":
            return (self.gamma_ * products + self.coef0) ** self.degree
        norms, others = rows.norms(), Rows(self.anchors_, None).norms()
        if self.kernel == "cosine":
            for given, name in ((norms, "row"), (others, "anchor")):
                if not given.all():
                    place = f"{name} {int(np.argmin(given != 0))}"
                    reason = "is a zero vector, which has no direction; remove it"
                    raise InputError(f"{place}: {reason}", place=place, reason=reason)
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
            raise ValueError("anchors_ lie outside the dimension")

    def _derive(self) -> None:
        self._projection = Projection(self.weights_, self.offset_)

    def _batches(self, rows: Rows) -> list[tuple[slice, Rows]]:
        """Slices, and the kernel values there as rows."""
        step = max(1, (1 << 22) // max(len(self.means_), rows.d))
        parts = []
        for start in range(0, len(rows), step):
            part = rows.part(start, start + step)
            part.norms()
            parts.append((slice(start, start + len(part)), Rows(self._values(part), None, rows.first + start)))
        return parts

    def _transform(self, rows: Rows) -> Codes:
        words = np.empty((len(rows), -(-self.bits // 64)), np.uint64)
        for place, values in self._batches(rows):
            words[place] = self._projection.sign_codes(values)
        return words

    def _projections(self, rows: Rows) -> Projections:
        values = np.concatenate(
            [np.zeros((0, self.bits)), *(part.all_products(self.weights_) for _, part in self._batches(rows))]
        )
        values += self.offset_
        return Projections(values, np.zeros_like(values), np.abs(values))

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        embedded = [Rows(np.ascontiguousarray(self._embedded(rows)), None) for rows in (left, right)]
        return apart(embedded[0], embedded[1], "cosine")

    def _probes(self, rows: Rows, count: int) -> Probes:
        margins = np.concatenate(
            [np.zeros((0, self.bits)), *(part.all_products(self.weights_) for _, part in self._batches(rows))]
        )
        margins += self.offset_
        bits: Ints = (margins > 0).astype(np.int64)
        return Probes(bits, (1 - bits)[..., None], (margins**2)[..., None])

    def embed(self, X: npt.ArrayLike) -> Floats:
        """Coordinates in the span of the anchors, `(n, p)`: their inner products are the centred, projected kernel.

        Bits agree with probability `collision_probability` of the cosine of two such rows.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.

        Returns
        -------
        (n, p) float64
        """
        return self._embedded(self._rows(X))

    def _embedded(self, rows: Rows) -> Floats:
        values = np.concatenate([np.zeros((0, len(self.means_))), *(p.dense() for _, p in self._batches(rows))])
        centred = values - values.mean(axis=1)[:, None] - self.means_ + self.means_.mean()
        embedded: Floats = centred @ self.root_
        return embedded

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """1 - arccos(value) / pi of the cosine after centring and projection (see `embed`).

        With `subset` within about 0.02, and for vectors that are not anchors alone.

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
