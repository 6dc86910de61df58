"""Shift-invariant kernel hashing (SKLSH): one bit per random wave, 1 if the wave is above a random level.

    bit_j = 1 if cos(w_j·x + b_j) + t_j >= 0        w from the kernel's spectrum, b uniform in [0, 2π), t in [−1, 1]

    P[bits differ] = (8/π²) Σ_{m>=1} (1 − K(m (x − y))) / (4 m² − 1)

This is between (4/π²)(1 − K) and min{½ √(1 − K), (4/π²)(1 − ⅔ K)}. The bits distinguish distances up to the kernel's
scale anywhere in space; for distant vectors 4/π² = 0.405 of them differ, not a half. Without `dither` t is 0 (sign of a
random Fourier feature): P[bits differ] = ½ − (4/π²) Σ_{m odd} K(m (x − y)) / m², which tends to a half.

A wave is above its level within arccos(−t) of a crest, so no cosine is needed: with everything in turns the bit is 1 if
w·x + b is within arccos(−t) / 2π of an integer.

Cost: d multiplications per bit. Sources: Raginsky and Lazebnik (NIPS 2009), sections 2 and 3; Li and Li (NeurIPS 2022)
for the sign.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import band_codes, draw_matrix, few_band_codes, set_bits
from nearkin.families.base import (
    Codes,
    Distance,
    Probes,
    ProjectionLabels,
    check_flag,
    flip_probes,
)
from nearkin.families.fourier import FourierFamily
from nearkin.vectors.arrays import Floats, Ints, Matrix, Rows
from nearkin.vectors.projection import Projection

_TURNS, _PHASES, _LEVELS, _SAMPLE = 12, 13, 14, 15
"""Streams of the seed."""


@dataclass(eq=False, repr=False)
class ShiftInvariant(FourierFamily):
    """Random waves cut at random levels, for a Gaussian or Laplacian kernel of the distance.

    Parameters
    ----------
    bits : int, default 64
        1 to 65,536; `HammingIndex` accepts up to 1,024.
    kernel : {"gaussian", "laplacian"}, default "gaussian"
        exp(-gamma L2² / 2) or exp(-gamma L1).
    gamma : float or "auto", default "auto"
        Scale, above 0. "auto" is 1 / r² (gaussian) or 1 / r (laplacian), r the median distance to the 50th neighbour in
        a sample. The gamma of scikit-learn's Gaussian kernel is half of it.
    dither : bool, default True
        Draw random levels; otherwise they are 0.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    turns_ : (bits, d) float32
        Frequencies / 2π.
    phase_ : (bits,) float64
        In [0, 1).
    half_ : (bits,) float64
        arccos(-level) / 2π, in [0, 0.5].
    gamma_ : float

    References
    ----------
    M. Raginsky, S. Lazebnik (2009), Locality-sensitive binary codes from shift-invariant kernels, NIPS.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [30.0, 0.0]])
    >>> family = nk.families.ShiftInvariant(bits=4096, gamma=1.0).fit(X)
    >>> bits = family.hash_values(X)
    >>> (bits[0] != bits).mean(axis=1).round(1).tolist()
    [0.0, 0.2, 0.4]
    >>> (1 - family.collision_probability([0.0, 1.0, 30.0])).round(3).tolist()
    [0.0, 0.234, 0.405]
    """

    name = "shift_invariant"
    kind = "bits"
    projection_labels = ProjectionLabels(
        "turns from the nearest crest of a wave", "1 up to the limit", "distance to the limit"
    )

    bits: int = 64
    _: KW_ONLY
    dither: bool = True
    seed: int = 0

    half_: Floats = field(init=False)

    @property
    def distance(self) -> Distance:
        """The distance that the kernel is a function of: L2 or L1."""
        return "l2" if self.kernel == "gaussian" else "l1"

    def _check(self) -> None:
        super()._check()
        check_flag("dither", self.dither)

    def _fit(self, rows: Rows) -> None:
        self._fit_waves(rows, _SAMPLE, _TURNS)
        self.phase_ = draw_matrix("uniform", self.seed, _PHASES, 0, self.bits, 1)
        self.half_ = np.full(self.bits, 0.25)
        if self.dither:
            levels = 2 * draw_matrix("uniform", self.seed, _LEVELS, 0, self.bits, 1) - 1
            self.half_ = np.arccos(-levels) / (2 * math.pi)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return super()._shapes() | {"half_": (self.bits,)}

    def _derive(self) -> None:
        self._projection = Projection(self.turns_, self.phase_ + 1.0)

    def _transform(self, rows: Rows) -> Codes:
        words = np.empty((len(rows), -(-self.bits // 64)), np.uint64)
        if rows.values is not None and self._projection.is_small_batch(rows):
            functions = (self.phase_, *self._projection.functions[1:])
            few_band_codes(rows.values, rows.first, self.turns_, functions, self.half_, words)
            return words
        for part, batch in self._projection.batches(rows):
            norms, out = batch.norm_bounds(), words[part]

            def kernel(
                batch: Rows, products: Matrix, norms: Floats = norms, out: npt.NDArray[np.uint64] = out
            ) -> tuple[Ints, Ints]:
                bounds = self._projection.bounds(batch, norms)
                return band_codes(products, self.phase_, self.half_, bounds, out)

            unsure, columns, values = self._projection.decide(batch, kernel)
            set_bits(out, unsure, columns, _distance_to_integer(values + self.phase_[columns]) <= self.half_[columns])
        return words

    def _values(self, rows: Rows) -> Floats:
        return _distance_to_integer(self._turns(rows))

    def _limits(self) -> Floats:
        return self.half_

    def _lengths(self) -> Floats:
        return np.maximum(self._projection.norms, 1e-300)

    def _probes(self, rows: Rows, count: int) -> Probes:
        # Margins are in turns of each wave; waves of higher frequency reach their limit sooner.
        values, limits, margins = self._projections(rows)
        return flip_probes(values <= limits, margins**2)

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Return the probability of equal bits at these L2 (gaussian) or L1 (laplacian) distances.

        It uses `gamma_` after `fit`, before it `gamma`.

        Parameters
        ----------
        value : float or array
            Distance, 0 or more.

        Raises
        ------
        ParameterError
            A negative distance; `gamma="auto"` before `fit`.
        """
        gamma = self._fitted_value("gamma")
        return theory.shift_invariant(value, self.kernel, gamma=gamma, dither=self.dither)


def _distance_to_integer(turns: Floats) -> Floats:
    """Return the distance to the nearest integer."""
    return np.abs(turns - np.rint(turns))
