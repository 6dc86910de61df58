"""Random Fourier features: vectors whose inner product approximates a shift-invariant kernel.

    paired:  z(x) = √(2/D) (cos w_1·x, sin w_1·x, …)        D/2 frequencies
    phase:   z(x) = √(2/D) (cos(w_1·x + b_1), …)            D frequencies, b uniform in [0, 2π)

    E z(x)·z(y) = K(x − y);  D times the variance is  (1 − K²)²  (paired),  1 + K⁴/2 − K²  (phase), for the Gaussian
    kernel

At equal length the paired form has the smaller variance for near vectors: 0.051 instead of 0.525 at K = 0.88. Features
are not codes: hash them with `Hyperplane`, or pass them to a linear model.

Projections are computed in `float64` in a fixed order, so features do not depend on the batch, on threads, or on the
format of the rows. Sine and cosine are NumPy's, which may differ in the last digit between machines.

Cost: d multiplications per frequency. Source: Rahimi and Recht (NIPS 2007), section 3.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from nearkin._core import draw_matrix
from nearkin.errors import bad_parameter, check_choice
from nearkin.families.base import (
    Codes,
    Distance,
    ProjectionLabels,
    Projections,
    row_distances,
)
from nearkin.families.fourier import FourierFamily
from nearkin.vectors.arrays import Floats, Rows

_TURNS, _PHASES, _SAMPLE = 18, 19, 20
"""Streams of the seed."""


@dataclass(eq=False, repr=False)
class RandomFourier(FourierFamily):
    """Features whose inner product approximates a Gaussian or Laplacian kernel.

    Parameters
    ----------
    features : int, default 256
        Length D of the result, 1 to 65,536; even with `form="paired"`.
    kernel : {"gaussian", "laplacian"}, default "gaussian"
        exp(-gamma L2² / 2) or exp(-gamma L1).
    gamma : float or "auto", default "auto"
        As for `ShiftInvariant`.
    form : {"paired", "phase"}, default "paired"
        Cosine and sine of D/2 frequencies, or cosines of D frequencies with random phases.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    turns_ : (frequencies, d) float32
        Frequencies / 2π.
    phase_ : (frequencies,) float64
        In [0, 1); zeros with `form="paired"`.
    gamma_ : float

    References
    ----------
    A. Rahimi, B. Recht (2007), Random features for large-scale kernel machines, NIPS.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.array([[0.0, 0.0], [0.5, 0.0]])
    >>> Z = nk.families.RandomFourier(4096, gamma=1.0).fit(X).transform(X)
    >>> (Z @ Z.T).round(2).tolist(), round(float(np.exp(-0.5**2 / 2)), 2)
    ([[1.0, 0.88], [0.88, 1.0]], 0.88)
    """

    name = "random_fourier"
    kind = "features"
    distance: ClassVar[Distance] = "kernel"
    _count = "features"
    projection_labels = ProjectionLabels(
        "turns of a wave", "its cosine, or cosine and sine alternately", "features have no threshold"
    )
    _no_law = "a family of codes; features have a variance, theory.fourier_variance"

    features: int = 256
    _: KW_ONLY
    form: Literal["paired", "phase"] = "paired"
    seed: int = 0

    def _check(self) -> None:
        super()._check()
        check_choice("form", self.form, "paired", "phase")
        if self.form == "paired" and self.features % 2:
            raise bad_parameter("features", self.features, 'an even number with form="paired"')

    @property
    def _num_frequencies(self) -> int:
        return self.features // 2 if self.form == "paired" else self.features

    def _fit(self, rows: Rows) -> None:
        self._fit_waves(rows, _SAMPLE, _TURNS)
        self.phase_ = np.zeros(self._num_frequencies)
        if self.form == "phase":
            self.phase_ = draw_matrix("uniform", self.seed, _PHASES, 0, self._num_frequencies, 1)

    def _transform(self, rows: Rows) -> Codes:
        rows.norms()
        turns = self._turns(rows)
        # Dropping entire turns before the factor 2π preserves the precision of large arguments.
        angles = 2 * math.pi * (turns - np.rint(turns))
        features = np.empty((len(rows), self.features))
        if self.form == "paired":
            features[:, 0::2], features[:, 1::2] = np.cos(angles), np.sin(angles)
        else:
            features[:] = np.cos(angles)
        return features * math.sqrt(2.0 / self.features)

    def _projections(self, rows: Rows) -> Projections:
        turns = self._turns(rows)
        values = np.repeat(turns, 2, axis=1) if self.form == "paired" else turns
        unknown = np.full_like(values, np.nan)
        return Projections(values, unknown, unknown)

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        """Return the kernel, which the inner product of features approximates."""
        if self.kernel == "gaussian":
            return np.exp(-self.gamma_ * row_distances(left, right, "l2") ** 2 / 2)
        return np.exp(-self.gamma_ * row_distances(left, right, "l1"))
