"""Kernels K(x − y) of shift-invariant hashing and random Fourier features, and frequencies drawn from their spectrum.

| kernel | K(δ) | frequencies w |
|---|---|---|
| gaussian | exp(−γ ‖δ‖₂² / 2) | Gaussian of variance γ |
| laplacian | exp(−γ ‖δ‖₁) | γ times Cauchy |

γ follows Raginsky and Lazebnik: scikit-learn's gaussian `gamma` g is γ / 2. Frequencies are stored in turns, w / 2π.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import draw_matrix
from nearkin.errors import check_choice, check_number, input_error
from nearkin.families.base import Family, check_scale
from nearkin.vectors.arrays import Floats, Rows
from nearkin.vectors.sampling import neighbour_distances, sample_rows

ShiftKernel: TypeAlias = Literal["gaussian", "laplacian"]

_RANK = 50
"""Rank of the neighbour whose distance sets the scale, as in Raginsky and Lazebnik."""


@dataclass(eq=False, repr=False)
class FourierFamily(Family):
    """Base of the families whose functions are waves with frequencies from the spectrum of a kernel."""

    _: KW_ONLY
    kernel: ShiftKernel = "gaussian"
    gamma: float | Literal["auto"] = "auto"

    turns_: npt.NDArray[np.float32] = field(init=False)
    phase_: Floats = field(init=False)
    gamma_: float = field(init=False)

    @property
    def _num_frequencies(self) -> int:
        return self.num_hashes

    def _check(self) -> None:
        super()._check()
        check_choice("kernel", self.kernel, "gaussian", "laplacian")
        check_scale("gamma", self.gamma)

    def _fit_waves(self, rows: Rows, sample_stream: int, stream: int) -> None:
        """Set gamma, and draw the frequencies in turns."""
        is_gaussian = self.kernel == "gaussian"
        self.gamma_ = self._auto_gamma(rows, sample_stream) if self.gamma == "auto" else float(self.gamma)
        scale = math.sqrt(self.gamma_) if is_gaussian else self.gamma_
        kind: Literal["gaussian", "cauchy"] = "gaussian" if is_gaussian else "cauchy"
        draws = draw_matrix(kind, self.seed, stream, 0, self._num_frequencies, rows.d).astype(np.float64)
        limit = float(np.finfo(np.float32).max)
        turns: npt.NDArray[np.float32] = np.clip(draws * (scale / (2 * math.pi)), -limit, limit).astype(np.float32)
        self.turns_ = turns.reshape(self._num_frequencies, rows.d)

    def _auto_gamma(self, rows: Rows, stream: int) -> float:
        """Return 1 / r² (gaussian) or 1 / r (laplacian), with r the median distance to the 50th neighbour."""
        metric = "l2" if self.kernel == "gaussian" else "l1"
        distances = neighbour_distances(sample_rows(rows, 4096, self.seed, stream), metric, _RANK, 256)
        if not len(distances):
            raise input_error(
                "X", "all sampled vectors are equal, so no gamma follows from their distances; give gamma= a number"
            )
        scale = float(np.median(distances))
        return 1 / scale**2 if metric == "l2" else 1 / scale

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"turns_": (self._num_frequencies, self.dimension_), "phase_": (self._num_frequencies,)}

    def _check_learned(self) -> None:
        super()._check_learned()
        check_number("gamma_", self.gamma_, "a number above 0", lambda gamma: gamma > 0)

    def _turns(self, rows: Rows) -> Floats:
        """Return the position of each vector on each wave, in turns."""
        return rows.all_products(self.turns_) + self.phase_
