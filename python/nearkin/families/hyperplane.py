"""Random hyperplanes: one bit per plane, the side on which a vector lies.

    bit_j = 1 where (x − μ)·a_j > 0, a_j Gaussian        P[bit of x = bit of y] = 1 − θ/π

θ is the angle of x and y seen from μ, which is the origin, or the mean of the fitted vectors with `center`. Planes
through the origin tell vectors apart by direction alone: they see neither the norm nor a common shift. Data that lie in
a corner of space, as histograms and images do, have small angles everywhere; centring them spreads the bits.

With `orthogonal` the a_j of each block of d are made orthonormal: each bit has the same law, bits of a block are
dependent, and the estimate of θ varies less. With `orthogonal="hadamard"` they are the rows of a structured rotation,
three rounds of random signs and a Hadamard transform (core: `vectors::hadamard`): no matrix is stored, and D bits
cost 3 D log D additions, D the least power of two not below d, 64 at least. That the law holds for these is measured,
on natural and adverse vectors, where for the others it is proved. With `orthogonal="dense"` the rotation is uniformly
random (core: `vectors::rotation`), in the same D coordinates, for 2 D² operations: the law is proved, and so is the
bound of estimates.

Cost: d multiplications per bit, or 3 log D additions, or 2 D operations. Sources: Charikar (STOC 2002), section 3; Ji,
Li, Yan, Zhang and Tian (NIPS 2012) for orthogonal blocks; Andoni, Indyk, Laarhoven, Razenshteyn and Schmidt (NIPS
2015), section 5, for three rounds; Stewart (SIAM J. Numer. Anal. 17, 1980), section 3, for the uniformly random
rotation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import Rotations, all_products, draw_matrix, draw_orthonormal
from nearkin.errors import InputError, bad_parameter
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
from nearkin.vectors.rows import Floats, Matrix, Rows

_NORMALS, _ORTHOGONAL = 1, 2
"""Streams of the seed."""
ROTATIONS = {"hadamard": 3, "dense": 4}
"""Rotations that no matrix of normals stores, and their streams."""
_LEAST = 64
"""Coordinates of the smallest rotation."""
_MOST = {"hadamard": 1 << 16, "dense": 1 << 12}
"""Coordinates of the largest."""
_VALUES = 1 << 22
"""Numbers that are rotated in one piece."""


class Hyperplane(Family):
    """Signs of random projections; for angles (cosine).

    Parameters
    ----------
    bits : int or None, default 64
        Number of planes, 1 to 65,536; `HammingIndex` takes up to 1,024. None, with "hadamard" or "dense" alone:
        those of one rotation, the least power of two not below d, 64 at least; known once the family is fitted.
    center : bool, default False
        Whether planes go through the mean of the fitted vectors instead of the origin.
    orthogonal : bool, "hadamard" or "dense", default False
        Whether the normals of each block of d planes are orthonormal; "hadamard" for structured ones, which no matrix
        stores, of vectors of up to 65,536 values; "dense" for those of a uniformly random rotation, for which the law
        is proved, of vectors of up to 4,096 values.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    normals_ : (bits, d) float32
        Without rows for "hadamard" and "dense".
    mean_ : (d,) float64
        Zeros without `center`.
    offset_ : (bits,) float64
        -normals · mean; empty for "hadamard" and "dense".

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

    def __init__(
        self,
        bits: int | None = 64,
        *,
        center: bool = False,
        orthogonal: bool | Literal["hadamard", "dense"] = False,
        seed: int = 0,
    ) -> None:
        self.bits = bits
        self.center = center
        self.orthogonal = orthogonal
        self.seed = seed

    @property
    def is_structured(self) -> bool:
        """Whether the planes are those of a rotation that no matrix stores."""
        return isinstance(self.orthogonal, str)

    @property
    def stream(self) -> int:
        """The stream of the seed that draws the rotation."""
        return ROTATIONS[str(self.orthogonal)]

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
        if isinstance(self.orthogonal, str):
            if self.orthogonal not in ROTATIONS:
                raise bad_parameter("orthogonal", repr(self.orthogonal), 'True, False, "hadamard" or "dense"')
        elif not isinstance(self.orthogonal, (bool, np.bool_)):
            raise bad_parameter("orthogonal", repr(self.orthogonal), 'True, False, "hadamard" or "dense"')
        if self.bits is None:
            if not self.is_structured:
                raise bad_parameter("bits", None, 'a number of 1 to 65,536, or orthogonal="hadamard"')
        else:
            check_hashes("bits", self.bits)

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
            if rows.are_equal():
                reason = "all vectors are equal, so none has a direction from their mean; use center=False"
                raise InputError(f"X: {reason}", place="X", reason=reason)
            self.mean_ = rows.means()
            if count:
                self.offset_ = -all_products(self.mean_[None], self.normals_)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        bits, d = 0 if self.is_structured else self.num_hashes, self.dimension_
        return {"normals_": (bits, d), "mean_": (d,), "offset_": (bits,)}

    def _derive(self) -> None:
        if self.is_structured:
            self._rotations = Rotations(self.seed, self.stream, self.num_hashes, self.dimension_)
        else:
            self._projection = Projection(self.normals_, self.offset_)

    def __getstate__(self) -> dict[str, Any]:
        """What `pickle` and `copy` keep: everything but the core's rotations, which follow from the parameters."""
        return {name: value for name, value in vars(self).items() if name != "_rotations"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The inverse."""
        vars(self).update(state)
        if self.is_structured and hasattr(self, "dimension_"):
            self._derive()

    def _batches(self, rows: Rows) -> Iterator[tuple[slice, Matrix]]:
        """Dense rows, some at a time."""
        step = max(1, _VALUES // max(self.num_hashes, self.dimension_))
        for start in range(0, len(rows), step):
            yield slice(start, start + step), rows.part(start, start + step).dense()

    def _margins(self, rows: Rows) -> Floats:
        """The signed distance of each row to each plane, or its product with the normal."""
        if not self.is_structured:
            return rows.all_products(self.normals_) + self.offset_
        out = np.empty((len(rows), self.num_hashes))
        for place, batch in self._batches(rows):
            out[place] = self._rotations.products(batch, self.mean_).reshape(len(batch), -1)
        return out

    def _lengths(self) -> Floats:
        """The lengths of the normals; one for those of a rotation."""
        return np.ones(1) if self.is_structured else self._projection.norms

    def _transform(self, rows: Rows) -> Codes:
        if not self.is_structured:
            return self._projection.sign_codes(rows, None if self.center else _refuse_zeros)
        if not self.center:
            _refuse_zeros(rows, rows.norm_bounds())
        words = -(-self.num_hashes // 64)
        codes = np.empty((len(rows), words), np.uint64)
        for place, batch in self._batches(rows):
            codes[place] = self._rotations.codes(batch, self.mean_).reshape(len(batch), words)
        return codes

    def _projections(self, rows: Rows) -> Projections:
        if not self.center:
            _refuse_zeros(rows, rows.norms())
        values = self._margins(rows)
        return Projections(values, np.zeros_like(values), np.abs(values) / self._lengths())

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        if not self.center:
            return super()._pair_values(left, right)
        centred = [Rows(rows.dense() - self.mean_, None) for rows in (left, right)]
        return apart(centred[0], centred[1], "cosine")

    def _probes(self, rows: Rows, count: int) -> Probes:
        norms = rows.norm_bounds()
        if not self.center:
            _refuse_zeros(rows, norms)
        margins = self._margins(rows)
        bits = (margins > 0).astype(np.int64)
        costs = (margins / self._lengths()) ** 2
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


def rotation_size(dimension: int, kind: object = "hadamard") -> int:
    """Coordinates of a rotation of vectors.

    Raises
    ------
    ParameterError
        More than 65,536 dimensions, or 4,096 of a dense rotation.
    """
    if dimension > _MOST[str(kind)]:
        other = 'orthogonal="hadamard"' if kind == "dense" else "orthogonal=True"
        raise bad_parameter("dimension", dimension, f'1 to {_MOST[str(kind)]} with orthogonal="{kind}"; use {other}')
    return max(_LEAST, 1 << (dimension - 1).bit_length())


def _refuse_zeros(rows: Rows, norms: Floats) -> None:
    """Without centring a zero vector has no direction."""
    if not norms.all():
        reason = "is a zero vector, which has no direction; remove it, or use center=True"
        place = f"row {rows.first + int(np.argmin(norms != 0))}"
        raise InputError(f"{place}: {reason}", place=place, reason=reason)
