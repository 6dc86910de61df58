"""Random hyperplanes: one bit per plane, the side of the plane that a vector is on.

    bit_j = 1 if (x − μ)·a_j > 0, a_j Gaussian        P[bit of x = bit of y] = 1 − θ/π

θ is the angle between x and y seen from μ: the origin, or the mean of the fitted vectors with `center`. Planes through
the origin distinguish only directions, not norms or a common shift. Data in one corner of space, such as histograms and
images, have small angles everywhere; centring them spreads the bits.

With `orthogonal` the a_j of each block of d are orthonormal: each bit has the same law, bits of a block are dependent,
and the estimate of θ has a smaller variance. With `orthogonal="hadamard"` they are the rows of a structured rotation,
three rounds of random signs and a Hadamard transform (core: `vectors::hadamard`). No matrix is stored, and D bits cost
3 D log D additions, where D is the smallest power of two not below d, at least 64. For these the law is measured, on
natural and adverse vectors; for the others it is proved. With `orthogonal="dense"` the rotation is uniformly random
(core: `vectors::rotation`), in the same D coordinates, for 2 D² operations; both the law and the bound of estimates are
proved.

Cost: d multiplications per bit, or 3 log D additions, or 2 D operations. Sources: Charikar (STOC 2002), section 3; Ji,
Li, Yan, Zhang and Tian (NIPS 2012) for orthogonal blocks; Andoni, Indyk, Laarhoven, Razenshteyn and Schmidt (NIPS
2015), section 5, for three rounds; Stewart (SIAM J. Numer. Anal. 17, 1980), section 3, for the uniformly random
rotation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import Rotations, all_products, draw_matrix, draw_orthonormal
from nearkin.errors import bad_parameter, input_error
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    ProjectionLabels,
    check_directions,
    check_flag,
    check_hashes,
    check_seed,
    row_distances,
)
from nearkin.vectors.arrays import Floats, Matrix, Rows
from nearkin.vectors.projection import Projection

_NORMALS, _ORTHOGONAL = 1, 2
"""Streams of the seed."""
ROTATIONS = {"hadamard": 3, "dense": 4}
"""Rotations without a stored matrix, and their streams."""
_MIN_SIZE = 64
"""Coordinates of the smallest rotation."""
_MAX_SIZES = {"hadamard": 1 << 16, "dense": 1 << 12}
"""Coordinates of the largest rotation."""


@dataclass(eq=False, repr=False)
class Hyperplane(Family):
    """Signs of random projections, for angles (cosine).

    Parameters
    ----------
    bits : int or None, default 64
        Number of planes, 1 to 65,536; `HammingIndex` accepts up to 1,024. None, only with "hadamard" or "dense": the
        planes of one rotation, the smallest power of two not below d, at least 64; known once the family is fitted.
    center : bool, default False
        Put the planes through the mean of the fitted vectors instead of the origin.
    orthogonal : bool, "hadamard" or "dense", default False
        True for orthonormal normals in each block of d planes; "hadamard" for structured ones without a stored matrix,
        for vectors of up to 65,536 values; "dense" for those of a uniformly random rotation, for which the law is
        proved, for vectors of up to 4,096 values.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    normals_ : (bits, d) float32
        No rows for "hadamard" and "dense".
    mean_ : (d,) float64
        Zeros without `center`.
    offset_ : (bits,) float64
        -normals · mean; empty for "hadamard" and "dense".

    Notes
    -----
    A bit is 1 if the projection is above 0; a projection of exactly 0 gives 0.

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
    distance: ClassVar[Distance] = "cosine"
    projection_labels = ProjectionLabels("projection on the normal of a plane", "1 above 0", "distance to the plane")

    bits: int | None = 64
    _: KW_ONLY
    center: bool = False
    orthogonal: bool | Literal["hadamard", "dense"] = False
    seed: int = 0

    normals_: npt.NDArray[np.float32] = field(init=False)
    mean_: Floats = field(init=False)
    offset_: Floats = field(init=False)

    @property
    def is_structured(self) -> bool:
        """True for the planes of a rotation without a stored matrix."""
        return isinstance(self.orthogonal, str)

    @property
    def num_hashes(self) -> int:
        """Number of planes.

        Raises
        ------
        ParameterError
            `bits=None` before `fit`.
        """
        if self.bits is not None:
            return int(self.bits)
        if not hasattr(self, "dimension_"):
            raise bad_parameter("bits", None, "a number before fit; without one it follows from the dimension")
        return rotation_size(self.dimension_, self.orthogonal)

    def _check(self) -> None:
        check_seed(self.seed)
        check_flag("center", self.center)
        if not isinstance(self.orthogonal, (bool, np.bool_)) and self.orthogonal not in ROTATIONS:
            raise bad_parameter("orthogonal", repr(self.orthogonal), 'True, False, "hadamard" or "dense"')
        if self.bits is not None:
            check_hashes("bits", self.bits)
        elif not self.is_structured:
            raise bad_parameter("bits", None, 'a number of 1 to 65,536, or orthogonal="hadamard"')

    def _fit(self, rows: Rows) -> None:
        d = rows.d
        if self.is_structured:
            rotation_size(d, self.orthogonal)
            normals, count = np.zeros((0, d), np.float32), 0
        elif self.orthogonal:
            count = self.num_hashes
            normals = draw_orthonormal(self.seed, _ORTHOGONAL, count, d).astype(np.float32)
        else:
            count = self.num_hashes
            normals = draw_matrix("gaussian", self.seed, _NORMALS, 0, count, d)
        self.normals_ = normals.reshape(count, d)
        self.mean_, self.offset_ = np.zeros(d), np.zeros(count)
        if self.center:
            if rows.all_equal():
                raise input_error(
                    "X", "all vectors are equal, so none has a direction from their mean; use center=False"
                )
            self.mean_ = rows.means()
            if count:
                self.offset_ = -all_products(self.mean_[None], self.normals_)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        bits, d = 0 if self.is_structured else self.num_hashes, self.dimension_
        return {"normals_": (bits, d), "mean_": (d,), "offset_": (bits,)}

    def _derive(self) -> None:
        if self.is_structured:
            self._rotations = Rotations(self.seed, ROTATIONS[str(self.orthogonal)], self.num_hashes, self.dimension_)
        else:
            self._projection = Projection(self.normals_, self.offset_)

    def _batches(self, rows: Rows) -> Iterator[tuple[slice, Matrix]]:
        """Yield slices of the rows, and these rows as dense arrays."""
        return ((part, batch.dense()) for part, batch in rows.batches(max(self.num_hashes, self.dimension_)))

    def _values(self, rows: Rows) -> Floats:
        if not self.center:
            _check_nonzero(rows, rows.norms())
        if not self.is_structured:
            return rows.all_products(self.normals_) + self.offset_
        out = np.empty((len(rows), self.num_hashes))
        for part, batch in self._batches(rows):
            out[part] = self._rotations.products(batch, self.mean_).reshape(len(batch), -1)
        return out

    def _lengths(self) -> Floats:
        return np.ones(1) if self.is_structured else self._projection.norms

    def _transform(self, rows: Rows) -> Codes:
        if not self.is_structured:
            return self._projection.sign_codes(rows, None if self.center else _check_nonzero)
        if not self.center:
            _check_nonzero(rows, rows.norm_bounds())
        words = -(-self.num_hashes // 64)
        codes = np.empty((len(rows), words), np.uint64)
        for part, batch in self._batches(rows):
            codes[part] = self._rotations.codes(batch, self.mean_).reshape(len(batch), words)
        return codes

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        if not self.center:
            return super()._pair_values(left, right)
        a, b = (Rows(rows.dense() - self.mean_, None) for rows in (left, right))
        return row_distances(a, b, "cosine")

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Return 1 - arccos(value) / pi for cosines seen from the origin, or from `mean_` with `center`.

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


def rotation_size(dimension: int, kind: object = "hadamard") -> int:
    """Return the number of coordinates of a rotation of vectors.

    Raises
    ------
    ParameterError
        More than 65,536 dimensions, or 4,096 for a dense rotation.
    """
    maximum = _MAX_SIZES[str(kind)]
    if dimension > maximum:
        other = 'orthogonal="hadamard"' if kind == "dense" else "orthogonal=True"
        raise bad_parameter("dimension", dimension, f'1 to {maximum} with orthogonal="{kind}"; use {other}')
    return max(_MIN_SIZE, 1 << (dimension - 1).bit_length())


def _check_nonzero(rows: Rows, norms: Floats) -> None:
    check_directions(rows, norms, "remove it, or use center=True")
