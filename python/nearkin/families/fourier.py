"""Kernels K(x − y) of shift-invariant hashing and random Fourier features, and frequencies drawn from their spectrum.

| kernel | K(δ) | frequencies w |
|---|---|---|
| gaussian | exp(−γ ‖δ‖₂² / 2) | Gaussian of variance γ |
| laplacian | exp(−γ ‖δ‖₁) | γ times Cauchy |

γ follows Raginsky and Lazebnik: scikit-learn's gaussian `gamma` g is γ / 2. Frequencies are stored in turns, w / 2π.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import draw_matrix
from nearkin.families.base import check_choice, check_number, input_error
from nearkin.vectors.arrays import Rows
from nearkin.vectors.sampling import neighbour_distances, sample_rows

ShiftKernel: TypeAlias = Literal["gaussian", "laplacian"]

_RANK = 50
"""Rank of the neighbour whose distance sets the scale, as in Raginsky and Lazebnik."""


def check_kernel(kernel: object, gamma: object) -> None:
    """Raise ParameterError for an unknown kernel or a gamma out of range."""
    check_choice("kernel", kernel, "gaussian", "laplacian")
    if gamma != "auto":
        check_number("gamma", gamma, 'a number from 1e-100 to 1e100, or "auto"', lambda g: 1e-100 <= g <= 1e100)


def resolve_gamma(kernel: ShiftKernel, gamma: float | Literal["auto"], rows: Rows, seed: int, stream: int) -> float:
    """Return gamma; "auto" is 1 / r² (gaussian) or 1 / r (laplacian), r the median distance to the 50th neighbour."""
    if gamma != "auto":
        return float(gamma)
    metric = "l2" if kernel == "gaussian" else "l1"
    distances = neighbour_distances(sample_rows(rows, 4096, seed, stream), metric, _RANK, 256)
    if not len(distances):
        raise input_error(
            "all sampled vectors are equal, so no gamma follows from their distances; give gamma= a number"
        )
    scale = float(np.median(distances))
    return 1 / scale**2 if kernel == "gaussian" else 1 / scale


def draw_turns(
    kernel: ShiftKernel, gamma: float, seed: int, stream: int, count: int, d: int
) -> npt.NDArray[np.float32]:
    """Draw `(count, d)` frequencies in turns."""
    kind = "gaussian" if kernel == "gaussian" else "cauchy"
    scale = math.sqrt(gamma) if kernel == "gaussian" else gamma
    draws = draw_matrix(kind, seed, stream, 0, count, d).astype(np.float64)
    limit = float(np.finfo(np.float32).max)
    turns: npt.NDArray[np.float32] = np.clip(draws * (scale / (2 * math.pi)), -limit, limit).astype(np.float32)
    return turns.reshape(count, d)
