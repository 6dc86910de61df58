"""Iterative quantisation (ITQ), learned from data: signs of principal components rotated towards corners of a cube.

    V = (X − μ) W        W the leading eigenvectors of the covariance, one per bit
    repeat   B = sgn(V R)        R = the orthogonal matrix that minimises ‖B − V R‖², from the SVD of Bᵀ V
    bit_j = 1 if (x − μ)·(W R)_j > 0

Neither step can increase the loss ‖B − V R‖². ITQ is the learned baseline of hashing papers: good at few bits, where
random hyperplanes waste them, but limited to one bit per direction of the data. There is no collision law.

Cost: d multiplications per bit; fitting takes d³ operations and 50 small SVDs. Source: Gong and Lazebnik (CVPR 2011),
section 2. Eigenvectors differ in sign and order between LAPACK versions: save a fitted family to use it elsewhere.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from nearkin._core import all_products, draw_orthonormal
from nearkin.errors import bad_parameter, check_count, input_error
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    ProjectionLabels,
)
from nearkin.vectors.arrays import Floats, Rows
from nearkin.vectors.projection import Projection
from nearkin.vectors.sampling import sample_rows

_SAMPLE, _ROTATION = 8, 9
"""Streams of the seed."""


@dataclass(eq=False, repr=False)
class ITQ(Family):
    """Signs of rotated principal components, learned from data, for L2 distances and angles about the mean.

    Parameters
    ----------
    bits : int, default 64
        Number of bits, 1 to the rank of the fitted vectors about their mean.
    iterations : int, default 50
        Number of fitted rotations, 0 or more; with 0 the rotation is random.
    samples : int, default 20,000
        Maximum number of training vectors, 2 or more.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    components_ : (bits, d) float32
        (W R)ᵀ.
    rotation_ : (bits, bits) float64
        R, orthogonal.
    mean_ : (d,) float64
    offset_ : (bits,) float64
    losses_ : (iterations + 1,) float64
        Loss per vector before each rotation and after the last one; it never increases.

    References
    ----------
    Y. Gong, S. Lazebnik (2011), Iterative quantization: a Procrustean approach to learning binary codes, CVPR.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.random.default_rng(0).standard_normal((500, 16))
    >>> family = nk.families.ITQ(bits=8).fit(X)
    >>> family.transform(X).shape, bool((np.diff(family.losses_) <= 1e-9).all())
    ((500,), True)
    """

    name = "itq"
    kind = "bits"
    distance: ClassVar[Distance] = "l2"
    projection_labels = ProjectionLabels("projection on a rotated component", "1 above 0", "distance to the plane")
    # A learned family has too few functions for tables.
    _has_margins = False
    _no_law = "a family with a collision law; ITQ is fitted to data"

    bits: int = 64
    _: KW_ONLY
    iterations: int = 50
    samples: int = 20_000
    seed: int = 0

    components_: npt.NDArray[np.float32] = field(init=False)
    rotation_: Floats = field(init=False)
    mean_: Floats = field(init=False)
    offset_: Floats = field(init=False)
    losses_: Floats = field(init=False)

    def _check(self) -> None:
        super()._check()
        check_count("iterations", self.iterations, 0, 10**6, "0 or more")
        check_count("samples", self.samples, 2, 10**9, "2 or more")

    def _fit(self, rows: Rows) -> None:
        if self.bits > rows.d:
            raise bad_parameter("bits", self.bits, f"1 to the dimension {rows.d}: a bit needs a direction of its own")
        if len(rows) <= self.bits:
            raise input_error("X", f"has {len(rows)} rows; give more than bits={self.bits} vectors")
        self.mean_ = rows.means()
        training = sample_rows(rows, max(self.samples, self.bits + 1), self.seed, _SAMPLE) - self.mean_
        values, vectors = np.linalg.eigh(training.T @ training)
        rank = int((values > max(float(values[-1]), 0.0) * 1e-10).sum())
        if self.bits > rank:
            raise input_error("X", f"its vectors span {rank} dimensions about their mean; use at most {rank} bits")
        principal = vectors[:, ::-1][:, : self.bits]
        projected = training @ principal
        rotation = draw_orthonormal(self.seed, _ROTATION, self.bits, self.bits).reshape(self.bits, self.bits)
        losses = []
        for _ in range(self.iterations):
            signs, loss = _nearest_corners(projected @ rotation)
            losses.append(loss)
            left, _, right = np.linalg.svd(signs.T @ projected)
            rotation = (left @ right).T
        losses.append(_nearest_corners(projected @ rotation)[1])
        self.losses_ = np.array(losses)
        self.rotation_ = np.ascontiguousarray(rotation)
        self.components_ = np.ascontiguousarray((principal @ rotation).T.astype(np.float32))
        self.offset_ = -all_products(self.mean_[None], self.components_)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        bits, d = self.bits, self.dimension_
        return {
            "components_": (bits, d),
            "rotation_": (bits, bits),
            "mean_": (d,),
            "offset_": (bits,),
            "losses_": (self.iterations + 1,),
        }

    def _derive(self) -> None:
        self._projection = Projection(self.components_, self.offset_)

    def _transform(self, rows: Rows) -> Codes:
        return self._projection.sign_codes(rows)

    def _values(self, rows: Rows) -> Floats:
        return rows.all_products(self.components_) + self.offset_

    def _lengths(self) -> Floats:
        return self._projection.norms


def _nearest_corners(rotated: Floats) -> tuple[Floats, float]:
    """Return the nearest corners of the cube, and the mean squared distance to them."""
    signs = np.where(rotated > 0, 1.0, -1.0)
    return signs, float(((signs - rotated) ** 2).sum(1).mean())
