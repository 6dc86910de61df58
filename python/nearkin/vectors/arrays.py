"""Vectors and arrays from users, checked and brought into one layout.

Compiled code, ours and SciPy's, reads arrays by address. `as_contiguous` therefore makes every array C-contiguous,
aligned and of the machine's byte order. A sparse matrix is checked before any SciPy method touches it: SciPy checks
index arrays when a matrix is created, not when they are changed later, and then reads and writes wherever they point.

`Rows` are `(n, d)` vectors, dense or CSR, `float32` or `float64`. Products may come from any library (BLAS, SciPy).
Norms, means and exact values come from the core, summed in one fixed order, so that dense and sparse rows, and
`float32` rows and the same values as `float64`, give the same bits.

An index stores vectors in one of the `VectorType`s. `uint8`, `int8` and `float16` are stored unchanged and hashed as
the `float32` rows of the same numbers; queries of another type are compared with them in `float32`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

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
from nearkin.errors import InputError, ParameterError, bad_parameter, input_error, mismatch
from nearkin.io.arrow import from_caller, is_arrow

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Matrix: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Narrow: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.int8] | npt.NDArray[np.float16]
"""Numbers of a type narrower than `float32`, which represents each of them exactly."""
HashInput: TypeAlias = "Matrix | csr_array | csr_matrix"
"""Vectors as a hash family receives them."""
FlatVectors: TypeAlias = (
    npt.NDArray[np.float32]
    | npt.NDArray[np.float64]
    | npt.NDArray[np.uint8]
    | npt.NDArray[np.int8]
    | npt.NDArray[np.uint16]
    | tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], npt.NDArray[np.float64]]
)
"""Vectors as the core receives them: flat rows (`float16` as its bits), or CSR row ends, columns and values."""
Metric: TypeAlias = Literal["l2", "l1", "cosine", "inner_product"]
Slice: TypeAlias = slice
VectorType: TypeAlias = Literal["float32", "float64", "sparse", "uint8", "int8", "float16"]
NARROW_TYPES = ("uint8", "int8", "float16")
DENSE_TYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in ("float32", "float64", *NARROW_TYPES)}

_BATCH_NUMBERS = 1 << 22
_NORM_TOLERANCE = 1e-6
"""Relative excess over `max_norm` that rounding to `float32` can cause."""


class Sparse(Protocol):
    """A SciPy sparse matrix of any format."""

    def tocsr(self) -> csr_array | csr_matrix:
        """Return the rows in CSR format."""


Vectors: TypeAlias = npt.ArrayLike | Sparse
"""`(n, d)` numbers: an array, anything NumPy converts to one, or a SciPy sparse matrix."""


def values_of(values: Any, name: str) -> Any:
    """Return values of a caller as an object that NumPy converts: Arrow data is checked first (`nearkin.io.arrow`).

    Raises
    ------
    ParameterError
        A masked array with masked entries, which have no value.
    InputError
        Arrow data that points outside of its buffers.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise bad_parameter(
            name, "an array with masked values", "an array without masked values; fill them or drop the rows"
        )
    return values if isinstance(values, np.ndarray) or not is_arrow(values) else from_caller(values, name)


def as_contiguous(values: npt.NDArray[Any], dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Return a C-contiguous, aligned array of type `dtype`; the same array if it already is one."""
    if type(values) is np.ndarray and (dtype is None or values.dtype == dtype):
        flags = values.flags
        if flags.c_contiguous and flags.aligned:
            return values
    return np.require(values, dtype, ["C", "A", "E"])


def csr_arrays(rows: Any, name: str) -> tuple[Ints, Ints, Floats]:
    """Return the checked row ends, columns and values of a CSR matrix; columns may repeat, in any order.

    Raises
    ------
    ParameterError
        Another format, values that are not real numbers, or anything that `check_sparse` refuses.
    """
    if getattr(rows, "format", None) != "csr":
        kind = getattr(rows, "format", type(rows).__name__)
        raise bad_parameter(name, f"rows of format {kind}", "a SciPy CSR matrix; X.tocsr() makes one")
    check_sparse(rows, name)
    if rows.data.dtype.kind not in "biuf":
        raise bad_parameter(name, f"a matrix of {rows.data.dtype}", "real numbers")
    return _csr_parts(rows, np.int64, np.int64)


def _csr_parts(csr: Any, ends: npt.DTypeLike, columns: npt.DTypeLike) -> tuple[Any, Any, Floats]:
    """Return the ends of rows, the columns and the values of a CSR matrix in these types."""
    count = int(csr.indptr[-1])
    return (
        as_contiguous(csr.indptr, ends),
        as_contiguous(csr.indices[:count], columns),
        as_contiguous(csr.data[:count], np.float64),
    )


def check_sparse(matrix: Any, name: str) -> None:
    """Check that the arrays of a SciPy sparse matrix agree with its format, so that SciPy's methods are safe to call.

    Cost: one pass over the index arrays. No other thread may write to them until the call that received the matrix
    returns; otherwise SciPy would read and write outside its arrays.

    Raises
    ------
    ParameterError
        A matrix that is not two-dimensional; index arrays of a wrong length or type, that descend, or that point
        outside the matrix.
    """
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise bad_parameter(name, f"a sparse array of shape {shape}", "one of shape (n, d)")
    kind = getattr(matrix, "format", None)
    if kind in ("csr", "csc", "bsr"):
        _check_compressed(matrix, kind, shape, name)
    elif kind == "coo":
        entries = _sparse_array(matrix, "data", name, 1)
        for axis, index in enumerate(("row", "col")):
            positions = _sparse_array(matrix, index, name, 1, integers=True)
            if len(positions) != len(entries):
                raise _damaged(name, index, f"has {len(positions)} positions for {len(entries)} values")
            _check_positions(positions, shape[axis], index, name)
    elif kind == "lil":
        counts = [list(map(len, side)) for side in (matrix.rows, matrix.data)]
        if counts[0] != counts[1] or len(counts[0]) != shape[0]:
            raise _damaged(name, "rows", "and data differ in length")
    elif kind == "dia":
        diagonals = _sparse_array(matrix, "data", name, 2)
        offsets = _sparse_array(matrix, "offsets", name, 1, integers=True)
        if len(diagonals) != len(offsets):
            raise _damaged(name, "offsets", f"has {len(offsets)} numbers for {len(diagonals)} diagonals")


def _check_compressed(matrix: Any, kind: str, shape: tuple[int, int], name: str) -> None:
    entries = _sparse_array(matrix, "data", name, 3 if kind == "bsr" else 1)
    block = entries.shape[1:] if kind == "bsr" else (1, 1)
    if not all(block) or shape[0] % block[0] or shape[1] % block[1]:
        raise _damaged(name, "data", f"has blocks of shape {block} in a matrix of shape {shape}")
    major, minor = shape[0] // block[0], shape[1] // block[1]
    if kind == "csc":
        major, minor = minor, major
    ends = _sparse_array(matrix, "indptr", name, 1, integers=True)
    positions = _sparse_array(matrix, "indices", name, 1, integers=True)
    if len(ends) != major + 1:
        raise _damaged(name, "indptr", f"has {len(ends)} numbers for {major} rows")
    if ends[0] != 0 or bool((ends[1:] < ends[:-1]).any()):
        raise _damaged(name, "indptr", "does not ascend from 0")
    if int(ends[-1]) > min(len(positions), len(entries)):
        raise _damaged(name, "indptr", f"ends at {ends[-1]} of {min(len(positions), len(entries))} values")
    _check_positions(positions[: int(ends[-1])], minor, "indices", name)


def _sparse_array(matrix: Any, part: str, name: str, ndim: int, *, integers: bool = False) -> npt.NDArray[Any]:
    """Return an array of a sparse matrix after checking its dimensions and type."""
    values = getattr(matrix, part, None)
    if not isinstance(values, np.ndarray) or values.ndim != ndim or (integers and values.dtype.kind not in "iu"):
        kind = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise _damaged(name, part, f"is {kind}")
    return values


def _check_positions(positions: npt.NDArray[Any], size: int, part: str, name: str) -> None:
    if len(positions) and (int(positions.min()) < 0 or int(positions.max()) >= size):
        raise _damaged(name, part, f"holds {positions.min()} to {positions.max()}, outside 0 to {size - 1}")


def _damaged(name: str, part: str, reason: str) -> ParameterError:
    return bad_parameter(name, f"a sparse matrix whose {part} {reason}", "a matrix as SciPy creates it")


@dataclass(frozen=True, eq=False)
class Rows:
    """`(n, d)` vectors: a C-contiguous array, or CSR with sorted and distinct columns."""

    values: Matrix | None
    csr: csr_array | csr_matrix | None
    first: int = 0
    """Number of the first row in the user's input, for error messages."""
    narrow: Narrow | None = None
    """The input values, if their type is narrower than `float32`."""

    def __len__(self) -> int:
        return len(self.values) if self.values is not None else int(self.csr.shape[0])  # type: ignore[union-attr]

    @property
    def matrix(self) -> HashInput:
        """The array or the CSR matrix."""
        return self.values if self.values is not None else self.csr  # type: ignore[return-value]  # One of them is set.

    @property
    def d(self) -> int:
        """Dimension."""
        return int(self.matrix.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """`float32` or `float64`."""
        return self.matrix.dtype

    @property
    def max_terms(self) -> int:
        """Largest number of products in a sum over one row."""
        if self.csr is None or not len(self):
            return self.d
        return int(np.diff(self.csr.indptr).max())

    @property
    def vector_type(self) -> VectorType:
        """Type in which an index stores these vectors."""
        if self.csr is not None:
            return "sparse"
        return cast("VectorType", self.dtype.name if self.narrow is None else self.narrow.dtype.name)

    def slice(self, start: int, stop: int) -> Rows:
        """Return rows start to stop, exclusive."""
        if start == 0 and stop >= len(self):
            return self
        if self.values is not None:
            narrow = None if self.narrow is None else self.narrow[start:stop]
            return Rows(self.values[start:stop], None, self.first + start, narrow)
        return Rows(None, self.csr[start:stop], self.first + start)  # type: ignore[index]

    def batches(self, numbers_per_row: int) -> Iterator[tuple[Slice, Rows]]:
        """Yield the rows in batches of about four million numbers, each with its positions."""
        step = max(1, _BATCH_NUMBERS // numbers_per_row)
        for start in range(0, len(self), step):
            yield slice(start, start + step), self.slice(start, start + step)

    def take(self, positions: Ints) -> Rows:
        """Return the rows at these positions."""
        if self.values is not None:
            narrow = None if self.narrow is None else self.narrow[positions]
            return Rows(self.values[positions], None, self.first, narrow)
        return Rows(None, self.csr[positions], self.first)  # type: ignore[index]

    def as_float64(self) -> Rows:
        """Return the same values as `float64`."""
        if self.values is not None:
            return Rows(as_contiguous(self.values, np.float64), None, self.first)
        return Rows(None, self.csr.astype(np.float64), self.first)  # type: ignore[union-attr]

    def dense(self) -> Matrix:
        """Return the rows as an array."""
        return self.values if self.values is not None else np.ascontiguousarray(self.csr.toarray())  # type: ignore[union-attr]

    def flat(self) -> FlatVectors:
        """Return the vectors as the core receives them; `from_flat` is the inverse."""
        if self.narrow is not None:
            narrow = as_contiguous(self.narrow).reshape(-1)
            return narrow.view(np.uint16) if narrow.dtype == np.float16 else narrow
        if self.values is not None:
            return self.values.reshape(-1)
        if self.d >= 1 << 32:
            raise bad_parameter("dimension", self.d, "below 2**32 for an index of sparse vectors")
        return _csr_parts(self.csr, np.uint64, np.uint32)

    @classmethod
    def from_flat(cls, vectors: FlatVectors, dimension: int) -> Rows:
        """Return the rows of vectors as the core gives them; the inverse of `flat`."""
        if isinstance(vectors, tuple):
            from scipy.sparse import csr_array

            ends, columns, values = vectors
            shape = (len(ends) - 1, dimension)
            return cls(None, csr_array((values, columns.astype(np.int64), ends.astype(np.int64)), shape=shape))
        if vectors.dtype.itemsize > 2:
            return cls(cast("Matrix", vectors.reshape(-1, dimension)), None)
        bits = vectors.view(np.float16) if vectors.dtype == np.uint16 else vectors
        narrow = cast("Narrow", bits.reshape(-1, dimension))
        return cls(narrow.astype(np.float32), None, narrow=narrow)

    def _csr_arrays(self) -> tuple[Ints, Ints, Floats]:
        return _csr_parts(self.csr, np.int64, np.int64)

    def as_csr(self) -> tuple[Ints, Ints, Floats]:
        """Return row ends, columns and values; zeros of dense rows are left out."""
        if self.values is None:
            return self._csr_arrays()
        rows, columns = np.nonzero(self.values)
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(self)))])
        data = np.ascontiguousarray(self.values[rows, columns], np.float64)
        return ends.astype(np.int64), columns.astype(np.int64), data

    def norms(self) -> Floats:
        """Return the norm of each row; raise InputError for a row with values that are not finite."""
        if self.values is not None:
            return row_norms(self.values, self.first)
        return row_norms_csr(self._csr_arrays(), self.d, self.first)

    def norm_bounds(self) -> Floats:
        """Return a number from the norm of each row to 1.001 times the norm, 0 only for zeros; errors as `norms`."""
        return self.norms() if self.values is None else row_norm_bounds(self.values, self.first)

    def means(self) -> Floats:
        """Return the mean of each column."""
        if self.values is not None:
            return column_means(self.values)
        return column_means_csr(self._csr_arrays(), self.d)

    def all_equal(self) -> bool:
        """Return True if all rows are the same."""
        step = 4096 if self.values is not None else 64
        first = self.slice(0, 1).dense()
        return all(bool((self.slice(i, i + step).dense() == first).all()) for i in range(0, len(self), step))

    def product(self, transposed: Matrix) -> Matrix:
        """Return rows times a `(d, m)` matrix, in the type of both, by the fastest library."""
        # Products that overflow are not finite, and are computed again.
        with np.errstate(over="ignore", invalid="ignore"):
            product = self.matrix @ transposed
        return np.ascontiguousarray(product)

    def all_products(self, matrix: Matrix) -> Floats:
        """Return rows times the rows of a matrix, `(n, m)`, in `float64` and the fixed order."""
        if self.values is not None:
            flat = _core_all_products(self.values, matrix)
        else:
            flat = all_products_csr(self._csr_arrays(), matrix)
        return flat.reshape(len(self), len(matrix))

    def exact(self, matrix: Matrix, rows: Ints, columns: Ints, *, squares: bool = False) -> Floats:
        """Return products, or squared distances, of rows with rows of a matrix, in `float64` and the fixed order."""
        if self.values is not None:
            return exact_values(self.values, matrix, rows, columns, squares)
        return exact_values_csr(self._csr_arrays(), matrix, rows, columns, squares)


def as_rows(X: Vectors, *, dimension: int | None = None, name: str = "X", min_rows: int = 0) -> Rows:
    """Return vectors as `Rows`.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Integers of up to 16 bits, booleans and `float16` become `float32`, other integers `float64`.
    dimension : int, optional
        The required d.
    min_rows : int, default 0
        Smallest allowed number of rows.

    Raises
    ------
    ParameterError
        Not two-dimensional, not of real numbers, or without columns.
    MismatchError
        A dimension other than the required one.
    InputError
        Fewer rows than `min_rows`.
    """
    if hasattr(X, "tocsr"):
        rows = Rows(None, _as_csr(cast("Sparse", X), name))
    else:
        try:
            array = np.asarray(values_of(X, name))
        except ValueError as error:
            raise bad_parameter(name, f"rows that make no array ({error})", "rows of one length") from error
        if array.ndim != 2:
            allowed = "an array of shape (n, d); one vector x is x.reshape(1, -1)"
            raise bad_parameter(name, f"an array of shape {array.shape}", allowed)
        narrow = array if array.dtype in NARROW_TYPES else None
        rows = Rows(as_contiguous(array, _float_type(array.dtype, name)), None, narrow=narrow)
    if rows.d == 0:
        raise bad_parameter(name, "an array without columns", "vectors of one dimension or more")
    if dimension is not None and rows.d != dimension:
        raise mismatch("dimension", dimension, rows.d)
    if len(rows) < min_rows:
        count = f"{min_rows} vectors or more" if min_rows > 1 else "one vector or more"
        raise InputError(f"{name}: has {len(rows)} rows; give {count}", place=name, reason=f"{len(rows)} rows")
    return rows


def _as_csr(matrix: Sparse, name: str) -> csr_array | csr_matrix:
    """Return a sparse matrix as CSR with sorted and distinct columns; the input is not modified."""
    check_sparse(matrix, name)
    if getattr(matrix, "format", None) == "dok":
        # SciPy converts DOK to CSR without checking positions; COO is checked.
        matrix = matrix.tocoo()  # type: ignore[attr-defined]
        check_sparse(matrix, name)
    csr = matrix.tocsr()
    if csr is not matrix:
        check_sparse(csr, name)
    dtype = _float_type(csr.dtype, name)
    count = int(csr.indptr[-1])
    if len(csr.indices) != count or len(csr.data) != count:
        # SciPy copies no matrix with more values than positions.
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


def as_typed_rows(X: Vectors, vector_type: VectorType, dimension: int, *, name: str = "X", query: bool = False) -> Rows:
    """Return vectors in the type that an index stores.

    Queries of an index of narrow vectors that have another type become `float32` instead.

    Raises
    ------
    InputError
        Numbers that `uint8` or `int8` can't represent, or that are too large for `float16`.
    """
    rows = as_rows(X, dimension=dimension, name=name)
    if vector_type in NARROW_TYPES:
        if rows.narrow is not None and rows.narrow.dtype == vector_type:
            return rows
        return _as_float_rows(rows, "float32") if query else _as_narrow_rows(rows, vector_type)
    return _as_float_rows(rows, vector_type)


def _as_float_rows(rows: Rows, vector_type: VectorType) -> Rows:
    """Return rows as `float32`, `float64` or sparse ones."""
    if vector_type == "sparse":
        if rows.csr is None:
            from scipy.sparse import csr_array

            rows = Rows(None, csr_array(rows.dense()))
        return rows
    if rows.values is not None and rows.narrow is None and rows.dtype == vector_type:
        return rows
    return Rows(as_contiguous(rows.dense(), vector_type), None)


def _as_narrow_rows(rows: Rows, vector_type: VectorType) -> Rows:
    """Return rows in a narrow type: rounded to `float16`, or integers unchanged."""
    values = rows.dense()
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = cast("Narrow", values.astype(vector_type))
    restored = narrow.astype(np.float32)
    lost = np.isfinite(values) & (~np.isfinite(restored) if vector_type == "float16" else restored != values)
    if lost.any():
        row, column = (int(axis[0]) for axis in np.nonzero(lost))
        reason = f"{values[row, column]:g} can't be stored as {vector_type}, the type of the index"
        raise _row_error(row, reason, 'convert it with astype, or fit the index with X.astype("float32")')
    if not np.isfinite(values).all():
        row = int(np.nonzero(~np.isfinite(values))[0][0])
        raise _row_error(row, "it has a NaN or an infinite value", "replace or drop it")
    return Rows(restored, None, narrow=narrow)


def _row_error(row: int, reason: str, remedy: str) -> InputError:
    return InputError(f"row {row}: {reason}; {remedy}", place=f"row {row}", reason=reason)


def row_error(rows: Rows, invalid: npt.NDArray[np.bool_], reason: str, noun: str = "row") -> InputError:
    """Return the error for the first invalid row of a batch, by its number among all rows."""
    return input_error(f"{noun} {rows.first + int(np.argmax(invalid))}", reason)


def hash_input(rows: Rows, max_norm: float | None, *, query: bool = False) -> HashInput:
    """Return vectors as hash functions receive them: unchanged, or lifted to the sphere for inner products.

    With M = `max_norm`, a family for angles receives vectors of one more dimension (Neyshabur and Srebro, ICML 2015,
    section 4),

        row x → [x / M, √(1 − ‖x / M‖²)]        query q → [q / ‖q‖, 0]        cosine = x·q / (M ‖q‖)

    so that the nearest row by angle has the largest inner product.

    Raises
    ------
    ParameterError
        A row longer than `max_norm`.
    InputError
        A query of zeros.
    """
    if max_norm is None:
        return rows.matrix
    norms = rows.norms()
    if query:
        if (norms == 0).any():
            row = int(np.flatnonzero(norms == 0)[0])
            raise _row_error(row, "its inner product with every vector is zero", "drop it")
        return _append_column(rows, 1 / norms, np.zeros(len(norms)))
    if (norms > max_norm * (1 + _NORM_TOLERANCE)).any():
        allowed = f"lengths to max_norm={max_norm:g}; give max_norm="
        raise bad_parameter("X", f"a vector of length {float(norms.max()):g}", allowed)
    last = np.sqrt(np.maximum(0.0, 1 - (norms / max_norm) ** 2))
    return _append_column(rows, np.full(len(norms), 1 / max_norm), last)


def _append_column(rows: Rows, scale: Floats, last: Floats) -> HashInput:
    """Multiply each row by its scale and append a coordinate."""
    if rows.csr is None:
        return np.column_stack([rows.dense() * scale[:, None], last])
    from scipy.sparse import csr_array, diags_array, hstack

    return csr_array(hstack([diags_array(scale) @ rows.csr, csr_array(last[:, None])], format="csr"))
