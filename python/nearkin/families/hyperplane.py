"""Random hyperplanes: one bit per plane, the side on which a vector lies.

    bit_j = 1 where (x − μ)·a_j > 0, a_j Gaussian        P[bit of x = bit of y] = 1 − θ/π

θ is the angle of x and y seen from μ, which is the origin, or the mean of the fitted vectors with `center`. Planes
through the origin tell vectors apart by direction alone: they see neither the norm nor a common shift. Data that lie in
a corner of space, as histograms and images do, have small angles everywhere; centring them spreads the bits.

With `orthogonal` the a_j of each block of d are made orthonormal: each bit has the same law, bits of a block are
dependent, and the estimate of θ varies less.

Cost: d multiplications per bit. Sources: Charikar (STOC 2002), section 3; Ji, Li, Yan, Zhang and Tian (NIPS 2012) for
orthogonal blocks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import all_products, draw_matrix, draw_orthonormal
from nearkin.errors import InputError
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    Probes,
    Projections,
    Terms,
    apart,
    check_flag,
    check_hashes,
    check_seed,
)
from nearkin.vectors.projection import Projection
from nearkin.vectors.rows import Floats, Rows

_NORMALS, _ORTHOGONAL = 1, 2
"""Streams of the seed."""


class Hyperplane(Family):
    """Signs of random projections; for angles (cosine).

    Parameters
    ----------
    bits : int, default 64
        Number of planes, 1 to 65,536; `HammingIndex` takes up to 1,024.
    center : bool, default False
        Whether planes go through the mean of the fitted vectors instead of the origin.
    orthogonal : bool, default False
        Whether the normals of each block of d planes are orthonormal.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    normals_ : (bits, d) float32
    mean_ : (d,) float64
        Zeros without `center`.
    offset_ : (bits,) float64
        -normals · mean.

    Notes
    -----
    A bit is 1 where the projection is above 0, so a projection of exactly 0 gives 0.

    References
    ----------
    M. Charikar (2002), Similarity estimation techniques from rounding algorithms, STOC, section 3.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> codes = nk.families.Hyperplane(bits=64).fit(X).transform(X)
    >>> int(nk.hamming(codes[0], codes[1])), 20 < int(nk.hamming(codes[0], codes[2])) < 44
    (0, True)
    """

    name = "hyperplane"
    kind = "bits"
    distance: Distance = "cosine"
    terms = Terms("projection on the normal of a plane", "1 above 0", "distance to the plane")
    _learned = ("normals_", "mean_", "offset_")

    normals_: npt.NDArray[np.float32]
    mean_: Floats
    offset_: Floats

    def __init__(self, bits: int = 64, *, center: bool = False, orthogonal: bool = False, seed: int = 0) -> None:
        self.bits = bits
        self.center = center
        self.orthogonal = orthogonal
        self.seed = seed

    def _check(self) -> None:
        check_hashes("bits", self.bits)
        check_flag("center", self.center)
        check_flag("orthogonal", self.orthogonal)
        check_seed(self.seed)

    def _fit(self, rows: Rows) -> None:
        if self.orthogonal:
            normals = draw_orthonormal(self.seed, _ORTHOGONAL, self.bits, rows.d).astype(np.float32)
        else:
            normals = draw_matrix("gaussian", self.seed, _NORMALS, 0, self.bits, rows.d)
        self.normals_ = normals.reshape(self.bits, rows.d)
        self.mean_, self.offset_ = np.zeros(rows.d), np.zeros(self.bits)
        if self.center:
            if rows.are_equal():
                reason = "all vectors are equal, so none has a direction from their mean; use center=False"
                raise InputError(f"X: {reason}", place="X", reason=reason)
            self.mean_ = rows.means()
            self.offset_ = -all_products(self.mean_[None], self.normals_)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        bits, d = self.bits, self.dimension_
        return {"normals_": (bits, d), "mean_": (d,), "offset_": (bits,)}

    def _derive(self) -> None:
        self._projection = Projection(self.normals_, self.offset_)

    def _transform(self, rows: Rows) -> Codes:
        return self._projection.sign_codes(rows, None if self.center else _refuse_zeros)

    def _projections(self, rows: Rows) -> Projections:
        if not self.center:
            _refuse_zeros(rows, rows.norms())
        values = rows.all_products(self.normals_) + self.offset_
        return Projections(values, np.zeros_like(values), np.abs(values) / self._projection.norms)

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        if not self.center:
            return super()._pair_values(left, right)
        centred = [Rows(rows.dense() - self.mean_, None) for rows in (left, right)]
        return apart(centred[0], centred[1], "cosine")

    def _probes(self, rows: Rows, count: int) -> Probes:
        norms = rows.norm_bounds()
        if not self.center:
            _refuse_zeros(rows, norms)
        margins = rows.all_products(self.normals_) + self.offset_
        bits = (margins > 0).astype(np.int64)
        costs = (margins / self._projection.norms) ** 2
        return Probes(bits, (1 - bits)[..., None], costs[..., None])

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """1 - arccos(value) / pi for cosines seen from the origin, or from `mean_` with `center`.

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


def _refuse_zeros(rows: Rows, norms: Floats) -> None:
    """Without centring a zero vector has no direction."""
    if not norms.all():
        reason = "is a zero vector, which has no direction; remove it, or use center=True"
        place = f"row {rows.first + int(np.argmin(norms != 0))}"
        raise InputError(f"{place}: {reason}", place=place, reason=reason)
