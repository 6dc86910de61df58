"""Reproducible codes of projections: products by BLAS, and exact products for uncertain codes.

A code is defined by the product x·a in `float64`, summed in one fixed order (core: `project`). The product that BLAS
returns in the type of the rows differs from it by at most 2 γ ‖x‖ ‖a‖, with γ = n u / (1 − n u), n = terms + 8, and u =
2^-24 or 2^-53. If a product is closer to the boundary of a code than that, the code is decided by the exact product. If
more than 2% of a `float32` batch are uncertain (vectors far from the origin), the batch is first multiplied in
`float64`. The core computes the codes of a few dense rows without BLAS, because that is faster than a call of BLAS.

The bound holds for IEEE arithmetic of the rows' type in any order, fused or not, with or without subnormal numbers. It
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
from nearkin.vectors.arrays import Floats, Ints, Matrix, Rows

Bounds: TypeAlias = tuple[Floats, Floats, Floats, Floats]
Check: TypeAlias = Callable[[Rows, Floats], None]
Kernel: TypeAlias = Callable[[Rows, Matrix], tuple[Ints, Ints]]
"""Writes the codes of rows with these products, and returns the positions of uncertain codes."""

_MAX_UNCERTAIN = 0.02
"""Share of uncertain codes of a batch above which `float64` products are cheaper than single exact ones."""
_SMALL, _SMALL_FLOAT64 = 1 << 19, 1 << 17
"""Multiplications up to which the core computes codes without BLAS, for matrices of `float32` and of `float64`."""
_BATCH = 1 << 18
"""Products, and values of rows, in a batch: both fit the cache of the processor."""
_MAX_BATCH = 1 << 24
"""Maximum batch of several threads, which share each batch: larger batches amortize waking the threads."""

_NONE = np.zeros(0)


class Projection:
    """A matrix whose rows are the directions of projections.

    Parameters
    ----------
    matrix : (m, d) float32 or float64
        With `float32`, rows of either type are multiplied in their own type; with `float64`, in `float64`.
    offset : (m,) float64
        Added to each product.
    factor : float, default 1
        Factor of the products, which the families' kernels apply first.
    """

    def __init__(self, matrix: Matrix, offset: Floats, *, factor: float = 1.0) -> None:
        self.matrix: Matrix = np.require(matrix, requirements="C")
        self.offset = offset
        self.factor = factor
        self._slack: dict[tuple[bool, int], Floats] = {}

    @cached_property
    def norms(self) -> Floats:
        """Norm of each row of the matrix."""
        return row_norms(self.matrix, 0)

    @cached_property
    def _transposed(self) -> Matrix:
        return np.ascontiguousarray(self.matrix.T)

    @cached_property
    def _transposed_float64(self) -> Matrix:
        return np.ascontiguousarray(self.matrix.T, np.float64)

    @cached_property
    def functions(self) -> tuple[Floats, Floats, Floats]:
        """Offsets, norms, and other error bounds, as the core receives them for small batches."""
        flushed = self.matrix.shape[1] * 2.0**-126 * (1.0 + self.norms)
        return self.offset, self.norms, 4 * 2.0**-53 * np.abs(self.offset) + flushed

    def is_small_batch(self, rows: Rows) -> bool:
        """Return True if the core computes their codes without BLAS, as it always does for one row."""
        limit = _SMALL if self.matrix.dtype == np.float32 else _SMALL_FLOAT64
        return rows.values is not None and (len(rows) == 1 or len(rows) * self.matrix.size <= limit)

    def batches(self, rows: Rows) -> Iterator[tuple[slice, Rows]]:
        """Yield slices of the rows, and these rows."""
        threads = num_threads()
        batch = _BATCH if threads == 1 else min(_MAX_BATCH, 4 * _BATCH * threads)
        step = max(256, batch // max(len(self.matrix), min(rows.d, 4096)))
        for start in range(0, len(rows), step):
            yield slice(start, min(start + step, len(rows))), rows.slice(start, start + step)

    def products(self, rows: Rows) -> Matrix:
        """Return rows times the matrix in the rows' type."""
        return rows.product(self._transposed_float64 if rows.dtype == np.float64 else self._transposed)

    def bounds(self, rows: Rows, norms: Floats) -> Bounds:
        """Return error bounds of a value: rows, columns, slack of rows (none for zeros), slack of columns.

        `norms` are the norms of the rows, or upper bounds.
        """
        wide, terms = rows.dtype == np.float64, rows.max_terms
        unit, tiny = (2.0**-53, 2.0**-1022) if wide else (2.0**-24, 2.0**-126)
        relative = (terms + 8) * unit
        relative /= 1 - relative
        slack = self._slack.get((wide, terms))
        if slack is None:
            flushed = terms * tiny * (1.0 + self.norms)
            slack = 4 * 2.0**-53 * np.abs(self.offset) + abs(self.factor) * flushed
            # Dense rows have one number of terms; sparse rows have many.
            if rows.values is not None:
                self._slack[wide, terms] = slack
        return (2 * abs(self.factor) * relative) * norms, self.norms, _NONE, slack

    def decide(self, rows: Rows, kernel: Kernel, *, squares: bool = False) -> tuple[Ints, Ints, Floats]:
        """Run a kernel over a batch; return the uncertain positions, and the exact products (or squares) there.

        The kernel runs again with `float64` rows if too many codes are uncertain.
        """
        if rows.dtype == np.float32 and (self.matrix.dtype == np.float64 or rows.max_terms > 1 << 20):
            rows = rows.as_float64()
        numbers, columns = kernel(rows, self.products(rows))
        if rows.dtype == np.float32 and len(numbers) > _MAX_UNCERTAIN * len(rows) * len(self.matrix):
            rows = rows.as_float64()
            numbers, columns = kernel(rows, self.products(rows))
        if not len(numbers):
            return numbers, columns, np.zeros(0)
        return numbers, columns, rows.exact(self.matrix, numbers, columns, squares=squares)

    def sign_codes(self, rows: Rows, check: Check | None = None) -> npt.NDArray[np.uint64]:
        """Return the packed bits `x·a + offset > 0`, `(n, words)`.

        `check` receives each batch and upper bounds of the norms of its rows, which are 0 only for zero vectors.
        """
        words = np.empty((len(rows), -(-len(self.matrix) // 64)), np.uint64)
        if rows.values is not None and self.is_small_batch(rows):
            norms = few_sign_codes(rows.values, rows.first, self.matrix, self.functions, words)
            if check is not None:
                check(rows, norms)
            return words
        for part, batch in self.batches(rows):
            out, norms = words[part], batch.norm_bounds()
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
    """Return `(n, count)` bits as `(n, words)` fingerprints."""
    n, count = bits.shape
    packed = np.zeros((n, 8 * -(-count // 64)), np.uint8)
    packed[:, : -(-count // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack_bits(words: npt.NDArray[np.uint64], count: int) -> npt.NDArray[np.uint8]:
    """Return the bits of `(n, words)` fingerprints as `(n, count)` of 0 and 1."""
    little = words.astype("<u8", copy=False).view(np.uint8).reshape(len(words), 8 * words.shape[1])
    return np.unpackbits(little, axis=1, count=count, bitorder="little")
