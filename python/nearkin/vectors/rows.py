"""Vectors as given by the user, checked and in one form: dense rows or CSR, `float32` or `float64`.

Products may come from any library (BLAS, SciPy); norms, means and exact values come from the core, in one fixed order
of summation, so that dense and sparse rows, and `float32` rows and the same values as `float64`, give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin._core import all_products as _core_all_products
from nearkin._core import (
    all_products_csr,
    column_means,
    column_means_csr,
    exact_values,
    exact_values_csr,
    row_norm_bounds,
    row_norms,
    row_norms_csr,
)
from nearkin.errors import InputError, bad_parameter, mismatch
from nearkin.vectors.arrays import check_sparse, in_order, unmasked

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Matrix: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Narrow: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.int8] | npt.NDArray[np.float16]
"""Numbers narrower than `float32`, which holds each of them."""


_NARROW = (np.uint8, np.int8, np.float16)


class Sparse(Protocol):
    """A sparse matrix of SciPy, of any format."""

    def tocsr(self) -> csr_array | csr_matrix:
        """The same rows, compressed."""


Vectors: TypeAlias = npt.ArrayLike | Sparse
"""`(n, d)` numbers: an array or what NumPy makes one of, or any SciPy sparse matrix."""


@dataclass(frozen=True, eq=False)
class Rows:
    """`(n, d)` vectors: a C-contiguous array, or CSR with sorted and distinct columns."""

    values: Matrix | None
    csr: csr_array | csr_matrix | None
    first: int = 0
    """Number of the first row in what was given, for messages."""
    narrow: Narrow | None = None
    """The values as they were given, where that type is narrower than `float32`."""

    def __len__(self) -> int:
        return len(self.values) if self.values is not None else int(self.csr.shape[0])  # type: ignore[union-attr]

    @property
    def d(self) -> int:
        """Dimension."""
        given = self.values if self.values is not None else self.csr
        return int(given.shape[1])  # type: ignore[union-attr]

    @property
    def dtype(self) -> np.dtype[Any]:
        """`float32` or `float64`."""
        return self.values.dtype if self.values is not None else self.csr.dtype  # type: ignore[union-attr]

    @property
    def terms(self) -> int:
        """The most products that a sum over one row has."""
        if self.csr is None or not len(self):
            return self.d
        return int(np.diff(self.csr.indptr).max())

    def part(self, start: int, stop: int) -> Rows:
        """Rows start to stop, exclusive."""
        if start == 0 and stop >= len(self):
            return self
        if self.values is not None:
            narrow = None if self.narrow is None else self.narrow[start:stop]
            return Rows(self.values[start:stop], None, self.first + start, narrow)
        return Rows(None, self.csr[start:stop], self.first + start)  # type: ignore[index]

    def take(self, places: Ints) -> Rows:
        """The rows at these places."""
        if self.values is not None:
            narrow = None if self.narrow is None else self.narrow[places]
            return Rows(self.values[places], None, self.first, narrow)
        return Rows(None, self.csr[places], self.first)  # type: ignore[index]

    def wide(self) -> Rows:
        """The same values as `float64`."""
        if self.values is not None:
            return Rows(in_order(self.values, np.float64), None, self.first)
        return Rows(None, self.csr.astype(np.float64), self.first)  # type: ignore[union-attr]

    def dense(self) -> Matrix:
        """The rows as an array."""
        return self.values if self.values is not None else np.ascontiguousarray(self.csr.toarray())  # type: ignore[union-attr]

    def _csr(self) -> tuple[Ints, Ints, Floats]:
        csr = self.csr
        return (
            in_order(csr.indptr, np.int64),  # type: ignore[union-attr]
            in_order(csr.indices, np.int64),  # type: ignore[union-attr]
            in_order(csr.data, np.float64),  # type: ignore[union-attr]
        )

    def as_csr(self) -> tuple[Ints, Ints, Floats]:
        """Row ends, columns and values, without zeros where rows are dense."""
        if self.values is None:
            return self._csr()
        rows, columns = np.nonzero(self.values)
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(self)))])
        data = np.ascontiguousarray(self.values[rows, columns], np.float64)
        return ends.astype(np.int64), columns.astype(np.int64), data

    def norms(self) -> Floats:
        """The norm of each row; a row with values that are not finite is an InputError."""
        if self.values is not None:
            return row_norms(self.values, self.first)
        return row_norms_csr(*self._csr(), self.d, self.first)

    def norm_bounds(self) -> Floats:
        """For each row a number from its norm to 1.001 times it, 0 for zeros alone; errors as for `norms`."""
        return self.norms() if self.values is None else row_norm_bounds(self.values, self.first)

    def means(self) -> Floats:
        """The mean of each column."""
        if self.values is not None:
            return column_means(self.values)
        return column_means_csr(*self._csr(), self.d)

    def are_equal(self) -> bool:
        """Whether all rows are the same."""
        if self.values is not None:
            return all(bool((self.values[at : at + 4096] == self.values[0]).all()) for at in range(0, len(self), 4096))
        first = self.part(0, 1).dense()
        return all(bool((self.part(at, at + 64).dense() == first).all()) for at in range(0, len(self), 64))

    def product(self, transposed: Matrix) -> Matrix:
        """Rows times a `(d, m)` matrix, in the type of both, by the fastest library."""
        # Products that overflow are not finite, and are computed again.
        with np.errstate(over="ignore", invalid="ignore"):
            product = (self.values if self.values is not None else self.csr) @ transposed  # type: ignore[operator]
        return np.ascontiguousarray(product)

    def all_products(self, matrix: Matrix) -> Floats:
        """Rows times the rows of a matrix, `(n, m)`, in `float64` and the fixed order."""
        if self.values is not None:
            flat = _core_all_products(self.values, matrix)
        else:
            flat = all_products_csr(*self._csr(), matrix)
        return flat.reshape(len(self), len(matrix))

    def exact(self, matrix: Matrix, rows: Ints, columns: Ints, *, squares: bool = False) -> Floats:
        """Products, or squared distances, of pairs of rows and rows of a matrix, in `float64` and the fixed order."""
        if self.values is not None:
            return exact_values(self.values, matrix, rows, columns, squares)
        return exact_values_csr(*self._csr(), matrix, rows, columns, squares)


def as_rows(X: Vectors, *, dimension: int | None = None, name: str = "X", least: int = 0) -> Rows:
    """Vectors as `Rows`.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Integers of up to 16 bits, booleans and `float16` become `float32`, other integers `float64`.
    dimension : int, optional
        The required d.
    least : int, default 0
        Smallest number of rows allowed.

    Raises
    ------
    ParameterError
        Not two-dimensional, not of real numbers, or without columns.
    MismatchError
        A dimension other than the required one.
    InputError
        Fewer rows than `least`.
    """
    if hasattr(X, "tocsr"):
        rows = Rows(None, _as_csr(cast("Sparse", X), name))
    else:
        unmasked(X, name)
        try:
            array = np.asarray(X)
        except ValueError as error:
            raise bad_parameter(name, f"rows that make no array ({error})", "rows of one length") from error
        if array.ndim != 2:
            allowed = "an array of shape (n, d); one vector x is x.reshape(1, -1)"
            raise bad_parameter(name, f"an array of shape {array.shape}", allowed)
        narrow = array if array.dtype in _NARROW else None
        rows = Rows(in_order(array, _float_type(array.dtype, name)), None, narrow=narrow)
    if rows.d == 0:
        raise bad_parameter(name, "an array without columns", "vectors of one dimension or more")
    if dimension is not None and rows.d != dimension:
        raise mismatch("dimension", dimension, rows.d)
    if len(rows) < least:
        count = f"{least} vectors or more" if least > 1 else "one vector or more"
        raise InputError(f"{name}: has {len(rows)} rows; give {count}", place=name, reason=f"{len(rows)} rows")
    return rows


def _as_csr(matrix: Sparse, name: str) -> csr_array | csr_matrix:
    """A sparse matrix as CSR with sorted and distinct columns; what was given stays as it was."""
    check_sparse(matrix, name)
    if getattr(matrix, "format", None) == "dok":
        # Its conversion to CSR takes a path on which nothing checks the places.
        matrix = matrix.tocoo()  # type: ignore[attr-defined]
        check_sparse(matrix, name)
    csr = matrix.tocsr()
    if csr is not matrix:
        check_sparse(csr, name)
    dtype = _float_type(csr.dtype, name)
    count = int(csr.indptr[-1])
    if len(csr.indices) != count or len(csr.data) != count:
        # SciPy copies no matrix with more values than places.
        csr = type(csr)((csr.data[:count], csr.indices[:count], csr.indptr), shape=csr.shape)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return cast("csr_array | csr_matrix", csr.astype(dtype, copy=False))


def _float_type(dtype: np.dtype[Any], name: str) -> type[np.float32] | type[np.float64]:
    if dtype.kind == "f" and dtype.itemsize <= 8:
        return np.float64 if dtype.itemsize == 8 else np.float32
    if dtype.kind in "biu":
        return np.float32 if dtype.itemsize <= 2 else np.float64
    raise bad_parameter(name, f"an array of {dtype}", "float32, float64 or integers")
