"""Codes of projections that do not depend on who multiplies: BLAS first, then uncertain places exactly.

A code is defined by the product x·a in `float64` in one fixed order (core: `project`). The product that BLAS gives, in
the type of the rows, differs from it by at most 2 γ ‖x‖ ‖a‖, γ = n u / (1 − n u), n = terms + 8, u = 2^-24 or 2^-53.
Where the decision lies nearer to its boundary than that, it is made again from the exact product; where more than 2% of
a `float32` batch are unsure (vectors far from the origin), the whole batch is multiplied in `float64` first. Codes of a
few dense rows are made by the core alone, which costs less than a call of BLAS.

The bound assumes IEEE arithmetic of the rows' type in any order, fused or not, with or without subnormal numbers; it
does not hold for products of lower precision (TF32, bfloat16).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import few_sign_codes, num_threads, row_norms, set_bits
from nearkin._core import sign_codes as _core_sign_codes
from nearkin.vectors.rows import Floats, Ints, Matrix, Rows

Bounds: TypeAlias = tuple[Floats, Floats, Floats, Floats]
Check: TypeAlias = Callable[[Rows, Floats], None]
Kernel: TypeAlias = Callable[[Rows, Matrix], tuple[Ints, Ints]]
"""Writes the codes of rows with these products, and gives the places that are not sure."""

_UNSURE = 0.02
"""Share of unsure places of a batch above which `float64` products are cheaper than exact ones one by one."""
_FEW, _FEW_WIDE = 1 << 19, 1 << 17
"""Multiplications up to which the core makes the codes of rows by itself, by matrices of `float32` and of `float64`; it
always does of one row."""
_BATCH = 1 << 18
"""Products, and values of rows, in a batch: both stay in the cache of the processor."""
_BATCHES = 1 << 24
"""The most with several threads, which share each batch: work for all of them outweighs waking them."""

_NONE = np.zeros(0)


class Projection:
    """A matrix whose rows vectors are projected on.

    Parameters
    ----------
    matrix : (m, d) float32 or float64
        With `float32`, rows of either type are multiplied in their own type; with `float64`, in `float64`.
    offset : (m,) float64
        What is added to each product.
    factor : float, default 1
        What the families' kernels multiply products by first.
    """

    def __init__(self, matrix: Matrix, offset: Floats, *, factor: float = 1.0) -> None:
        self.matrix: Matrix = np.require(matrix, requirements="C")
        self.offset = offset
        self.factor = factor
        self._slack: dict[tuple[bool, int], Floats] = {}

    @cached_property
    def norms(self) -> Floats:
        """The norm of each row of the matrix."""
        return row_norms(self.matrix, 0)

    @cached_property
    def _transposed(self) -> Matrix:
        return np.ascontiguousarray(self.matrix.T)

    @cached_property
    def _transposed_wide(self) -> Matrix:
        return np.ascontiguousarray(self.matrix.T, np.float64)

    @cached_property
    def functions(self) -> tuple[Floats, Floats, Floats]:
        """Offsets, norms, and what else is uncertain, as the core takes them for `are_few` rows."""
        flushed = self.matrix.shape[1] * 2.0**-126 * (1.0 + self.norms)
        return self.offset, self.norms, 4 * 2.0**-53 * np.abs(self.offset) + flushed

    def are_few(self, rows: Rows) -> bool:
        """Whether the core makes the codes of these rows by itself."""
        most = _FEW if self.matrix.dtype == np.float32 else _FEW_WIDE
        return rows.values is not None and (len(rows) == 1 or len(rows) * self.matrix.size <= most)

    def batches(self, rows: Rows) -> Iterator[tuple[slice, Rows]]:
        """Slices of the rows, and these rows."""
        threads = num_threads()
        batch = _BATCH if threads == 1 else min(_BATCHES, 4 * _BATCH * threads)
        step = max(256, batch // max(len(self.matrix), min(rows.d, 4096)))
        for start in range(0, len(rows), step):
            yield slice(start, min(start + step, len(rows))), rows.part(start, start + step)

    def products(self, rows: Rows) -> Matrix:
        """Rows times the matrix in the rows' type."""
        wide = rows.dtype == np.float64
        return rows.product(self._transposed_wide if wide else self._transposed)

    def bounds(self, rows: Rows, norms: Floats) -> Bounds:
        """Error bounds of a value: rows, columns, slack of rows (none for zeros), slack of columns.

        `norms` are the norms of the rows, or upper bounds of them.
        """
        wide, terms = rows.dtype == np.float64, rows.terms
        unit, tiny = (2.0**-53, 2.0**-1022) if wide else (2.0**-24, 2.0**-126)
        relative = (terms + 8) * unit
        relative /= 1 - relative
        slack = self._slack.get((wide, terms))
        if slack is None:
            flushed = terms * tiny * (1.0 + self.norms)
            slack = 4 * 2.0**-53 * np.abs(self.offset) + abs(self.factor) * flushed
            # Dense rows have one number of terms; sparse ones have many.
            if rows.values is not None:
                self._slack[wide, terms] = slack
        return (2 * abs(self.factor) * relative) * norms, self.norms, _NONE, slack

    def decide(self, rows: Rows, kernel: Kernel, *, squares: bool = False) -> tuple[Ints, Ints, Floats]:
        """Run a kernel over a batch; the uncertain places, and the exact products (or squares) there.

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

    def sign_codes(self, rows: Rows, check: Check | None = None) -> npt.NDArray[np.uint64]:
        """Packed bits `x·a + offset > 0`, `(n, words)`.

        `check` is given each batch and upper bounds of the norms of its rows, 0 for zeros alone.
        """
        words = np.empty((len(rows), -(-len(self.matrix) // 64)), np.uint64)
        if rows.values is not None and self.are_few(rows):
            norms = few_sign_codes(rows.values, rows.first, self.matrix, self.functions, words)
            if check is not None:
                check(rows, norms)
            return words
        for place, batch in self.batches(rows):
            out, norms = words[place], batch.norm_bounds()
            if check is not None:
                check(batch, norms)

            def kernel(
                batch: Rows, products: Matrix, norms: Floats = norms, out: npt.NDArray[np.uint64] = out
            ) -> tuple[Ints, Ints]:
                return _core_sign_codes(products, 1.0, None, self.offset, self.bounds(batch, norms), out)

            unsure, columns, values = self.decide(batch, kernel)
            set_bits(out, unsure, columns, values + self.offset[columns] > 0)
        return words


def pack_bits(bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """`(n, count)` bits as `(n, words)` fingerprints."""
    n, count = bits.shape
    packed = np.zeros((n, 8 * -(-count // 64)), np.uint8)
    packed[:, : -(-count // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack_bits(words: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.uint8]:
    """Bits of `(n, words)` fingerprints as `(n, count)` of 0 and 1."""
    little = words.astype("<u8", copy=False).view(np.uint8).reshape(len(words), 8 * words.shape[1])
    return np.unpackbits(little, axis=1, count=count, bitorder="little")
