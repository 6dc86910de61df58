"""Codes of projections that are the same whoever multiplies: BLAS first, the unsure places anew.

A code is defined by the product x·a in `float64` in one fixed order (core: `project`). The product that BLAS gives, in
the type of the rows, differs from it by at most 2 γ ‖x‖ ‖a‖, γ = n u / (1 − n u), n = terms + 8, u = 2^-24 or 2^-53.
Where the decision lies nearer to its boundary than that, it is made anew from the exact product; where more than 2% of
a `float32` batch are unsure (vectors far from the origin), the whole batch is multiplied in `float64` first.

The bound assumes IEEE arithmetic of the rows' type in any order, fused or not, with or without subnormal numbers; it
does not hold for products of lower precision (TF32, bfloat16).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin import _core
from nearkin.families.rows import Floats, Ints, Matrix, Rows

Bounds: TypeAlias = tuple[Floats, Floats, Floats, Floats]
Kernel: TypeAlias = Callable[[Rows, Matrix], tuple[Ints, Ints]]
"""Writes the codes of rows with these products, and gives the places that are not sure."""

_UNSURE = 0.02
"""Share of unsure places of a batch above which `float64` products are cheaper than exact ones one by one."""
_BATCH = 1 << 18
"""Products, and values of rows, in a batch: both stay in the cache of the processor."""


class Projection:
    """A matrix whose rows vectors are projected on.

    Parameters
    ----------
    matrix : (m, d) float32 or float64
        With `float32`, rows of either type are multiplied in their own type; with `float64`, in `float64`.
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix: Matrix = np.require(matrix, requirements="C")

    @cached_property
    def norms(self) -> Floats:
        """The length of each row of the matrix."""
        return _core.row_norms(self.matrix, 0)

    @cached_property
    def _transposed(self) -> Matrix:
        return np.ascontiguousarray(self.matrix.T)

    @cached_property
    def _transposed_wide(self) -> Matrix:
        return np.ascontiguousarray(self.matrix.T, np.float64)

    def batches(self, rows: Rows) -> Iterator[tuple[slice, Rows]]:
        """Slices of the rows, and these rows."""
        step = max(256, _BATCH // max(len(self.matrix), min(rows.d, 4096)))
        for start in range(0, len(rows), step):
            yield slice(start, min(start + step, len(rows))), rows.part(start, start + step)

    def products(self, rows: Rows) -> Matrix:
        """Rows times the matrix in the rows' type."""
        wide = rows.dtype == np.float64
        return rows.product(self._transposed_wide if wide else self._transposed)

    def bounds(self, rows: Rows, norms: Floats, offset: Floats, factor: float = 1.0) -> Bounds:
        """What `product + offset` may be off by: rows, columns, slack of rows, slack of columns."""
        wide = rows.dtype == np.float64
        unit, tiny = (2.0**-53, 2.0**-1022) if wide else (2.0**-24, 2.0**-126)
        relative = (rows.terms + 8) * unit
        relative /= 1 - relative
        flushed = rows.terms * tiny * (1.0 + self.norms)
        slack = 4 * 2.0**-53 * np.abs(offset) + abs(factor) * flushed
        return 2 * abs(factor) * relative * norms, self.norms, np.zeros(len(rows)), slack

    def decide(self, rows: Rows, kernel: Kernel, *, squares: bool = False) -> tuple[Ints, Ints, Floats]:
        """Runs a kernel over a batch; the places that it was not sure of, and the exact products (or squares) there.

        It is asked again with `float64` rows where too many are unsure.
        """
        if rows.dtype == np.float32 and (self.matrix.dtype == np.float64 or rows.terms > 1 << 20):
            rows = rows.wide()
        places, columns = kernel(rows, self.products(rows))
        if rows.dtype == np.float32 and len(places) > _UNSURE * len(rows) * len(self.matrix):
            rows = rows.wide()
            places, columns = kernel(rows, self.products(rows))
        if not len(places):
            return places, columns, np.zeros(0)
        return places, columns, rows.exact(self.matrix, places, columns, squares=squares)

    def sign_bits(self, rows: Rows, norms: Floats, offset: Floats, out: npt.NDArray[np.uint64]) -> None:
        """Writes the packed bits `x·a + offset > 0` of a batch to `out`, `(n, words)`."""

        def kernel(rows: Rows, products: Matrix) -> tuple[Ints, Ints]:
            return _core.sign_codes(products, 1.0, None, offset, self.bounds(rows, norms, offset), out)

        places, columns, values = self.decide(rows, kernel)
        set_bits(out, places, columns, values + offset[columns] > 0)


def set_bits(words: npt.NDArray[np.uint64], rows: Ints, columns: Ints, values: npt.NDArray[np.bool_]) -> None:
    """Sets bit `columns[i]` of row `rows[i]` to `values[i]`."""
    if not len(rows):
        return
    at = (rows, columns // 64)
    bit = np.left_shift(np.uint64(1), (columns % 64).astype(np.uint64))
    np.bitwise_and.at(words, at, ~bit)
    np.bitwise_or.at(words, at, np.where(values, bit, np.uint64(0)))


def unpack_bits(words: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.uint8]:
    """Bits of `(n, words)` fingerprints as `(n, count)` of 0 and 1."""
    little = words.astype("<u8", copy=False).view(np.uint8).reshape(len(words), -1)
    return np.unpackbits(little, axis=1, count=count, bitorder="little")
