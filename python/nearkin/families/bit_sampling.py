"""Bit sampling: randomly chosen bits of the vector itself, for Hamming distances of 0/1 vectors, or L1 with thresholds.

    bit_j = x_i                   P[bit of x = bit of y] = 1 − d_H / d
    bit_j = [x_i > τ]             P = 1 − ‖x − y‖₁ / (d C)        values in [low, low + C], τ uniform in it

i is drawn with repetition, so bits are independent. The second form is the first one applied to numbers in unary
notation.

Cost: one lookup per bit. Sources: Indyk and Motwani (STOC 1998), section 4.2; Gionis, Indyk and Motwani (VLDB 1999).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import draw_matrix
from nearkin.errors import bad_parameter, check_number, input_error
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    Probes,
    ProjectionLabels,
    flip_probes,
    row_distances,
)
from nearkin.vectors.arrays import Floats, Ints, Rows, row_error
from nearkin.vectors.projection import pack_bits

_COLUMNS, _THRESHOLDS = 10, 11
"""Streams of the seed."""


@dataclass(eq=False, repr=False)
class BitSampling(Family):
    """Randomly chosen coordinates of 0/1 vectors, or random thresholds of bounded numbers.

    Parameters
    ----------
    bits : int, default 64
        Number of bits, 1 to 65,536.
    limits : (low, high), "auto" or None, default None
        None for vectors of 0 and 1. Otherwise the range of all values: thresholds are uniform in it, and the law is
        that of the L1 distance. "auto" uses the smallest and largest value of the fitted vectors.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    columns_ : (bits,) int64
    thresholds_ : (bits,) float64
        A bit is 1 if the value is above its threshold.
    low_, high_ : float

    Notes
    -----
    With limits, values outside them are hashed as the nearer limit.

    References
    ----------
    P. Indyk, R. Motwani (1998), Approximate nearest neighbors: towards removing the curse of dimensionality, STOC.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.array([[0, 1, 0, 1], [0, 1, 1, 1]])
    >>> family = nk.families.BitSampling(bits=1000).fit(X)
    >>> float((family.hash_values(X[:1]) == family.hash_values(X[1:])).mean().round(1))
    0.8
    >>> float(family.collision_probability(1))
    0.75
    """

    name = "bit_sampling"
    kind = "bits"
    projection_labels = ProjectionLabels("value of a column", "1 above the limit", "distance to the limit")

    bits: int = 64
    _: KW_ONLY
    limits: tuple[float, float] | Literal["auto"] | None = None
    seed: int = 0

    columns_: Ints = field(init=False)
    thresholds_: Floats = field(init=False)
    low_: float = field(init=False)
    high_: float = field(init=False)

    @property
    def distance(self) -> Distance:
        """Hamming distance without limits, L1 distance with limits."""
        return "hamming" if self.limits is None else "l1"

    def _check(self) -> None:
        super()._check()
        if self.limits is not None and self.limits != "auto":
            allowed = '(low, high) with low < high, "auto" or None'
            if len(self.limits) != 2:
                raise bad_parameter("limits", self.limits, allowed)
            low = check_number("limits", self.limits[0], allowed, lambda _: True)
            check_number("limits", self.limits[1], allowed, lambda high: high > low)

    def _fit(self, rows: Rows) -> None:
        self.low_, self.high_ = 0.0, 1.0
        if self.limits == "auto":
            values = rows.values if rows.values is not None else rows.csr.data  # type: ignore[union-attr]
            zero = [0.0] if rows.csr is not None else []
            self.low_ = float(min([values.min(), *zero])) if values.size else 0.0
            self.high_ = float(max([values.max(), *zero])) if values.size else 0.0
            if not self.low_ < self.high_:
                raise input_error("X", f"all values are {self.low_:g}, so they have no range; give limits=")
        elif self.limits is not None:
            self.low_, self.high_ = float(self.limits[0]), float(self.limits[1])
        words = draw_matrix("word", self.seed, _COLUMNS, 0, self.bits, 1)
        self.columns_ = (words % np.uint64(rows.d)).astype(np.int64)
        self.thresholds_ = np.full(self.bits, 0.5)
        if self.limits is not None:
            shares = draw_matrix("uniform", self.seed, _THRESHOLDS, 0, self.bits, 1)
            self.thresholds_ = self.low_ + shares * (self.high_ - self.low_)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"columns_": (self.bits,), "thresholds_": (self.bits,)}

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.columns_.min() < 0 or self.columns_.max() >= self.dimension_:
            raise ValueError("columns_ are outside the dimension")

    def _transform(self, rows: Rows) -> Codes:
        words = np.zeros((len(rows), -(-self.bits // 64)), np.uint64)
        for part, batch in rows.batches(max(rows.d, self.bits)):
            words[part] = pack_bits(self._values(batch) > self.thresholds_)
        return words

    def _values(self, rows: Rows) -> Floats:
        rows.norms()
        dense = rows.dense()
        if self.limits is None:
            invalid = ((dense != 0) & (dense != 1)).any(axis=1)
            if invalid.any():
                reason = "has values other than 0 and 1; give limits= to hash numbers by L1 distance"
                raise row_error(rows, invalid, reason)
        return dense[:, self.columns_].astype(np.float64)

    def _limits(self) -> Floats:
        return self.thresholds_

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        if self.limits is None:
            return super()._pair_values(left, right)
        # Values outside the limits are hashed as the nearer limit.
        a, b = (Rows(np.clip(rows.dense(), self.low_, self.high_).astype(np.float64), None) for rows in (left, right))
        return row_distances(a, b, "l1")

    def _probes(self, rows: Rows, count: int) -> Probes:
        values, limits, margins = self._projections(rows)
        return flip_probes(values > limits, (margins / (self.high_ - self.low_)) ** 2)

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Return 1 - distance / d of Hamming distances, or 1 - distance / (d · range) of L1 distances, after `fit`.

        Parameters
        ----------
        value : float or array
            Hamming distance, or L1 distance with limits.

        Raises
        ------
        ParameterError
            Before `fit`; a distance out of range.
        """
        if not hasattr(self, "dimension_"):
            raise bad_parameter("dimension", None, "the dimension of vectors: call fit(X) first")
        return theory.bit_sampling(value, self.dimension_, spread=self.high_ - self.low_)
