"""Forms of vectors: as an index stores them, as the core takes them, and as its family sees them.

For inner products a family of the cosine sees rows and queries on the sphere of one more dimension (Neyshabur and
Srebro 2015, section 4),

    row x → [x / M, √(1 − ‖x / M‖²)]        query q → [q / ‖q‖, 0]        cos of the two = x·q / (M ‖q‖)

so that the nearest by angle is the largest by inner product. M is the norm of the longest row.

Rows of uint8, int8 and float16 are kept as they came, and hashed as the float32 rows of the same numbers. Queries of
another type are compared with them in float32.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin.errors import InputError, bad_parameter
from nearkin.vectors.arrays import in_order
from nearkin.vectors.rows import Floats, Matrix, Narrow, Rows, Vectors, as_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Metric: TypeAlias = Literal["l2", "l1", "cosine", "inner_product"]
Stored: TypeAlias = Literal["float32", "float64", "sparse", "uint8", "int8", "float16"]
"""How an index keeps vectors."""
NARROW = ("uint8", "int8", "float16")
"""Types that are narrower than float32, which holds all of their numbers."""
DENSE: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in ("float32", "float64", *NARROW)}
"""Types of dense vectors."""
Hashed: TypeAlias = "Matrix | csr_array | csr_matrix"
"""Vectors as a family sees them."""
Flat: TypeAlias = (
    npt.NDArray[np.float32]
    | npt.NDArray[np.float64]
    | npt.NDArray[np.uint8]
    | npt.NDArray[np.int8]
    | npt.NDArray[np.uint16]
    | tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], npt.NDArray[np.float64]]
)
"""Vectors as the core takes them: row after row, float16 as its bits; or row ends, coordinates and values."""

_ROUNDING = 1e-6
"""The norm of a float32 row may round above that of the longest row by one step, less than this share."""


def stored_as(rows: Rows) -> Stored:
    """The form in which an index keeps vectors given in this form."""
    if rows.csr is not None:
        return "sparse"
    if rows.narrow is not None:
        return cast("Stored", rows.narrow.dtype.name)
    return "float32" if rows.dtype == np.float32 else "float64"


def as_stored(X: Vectors, vectors: Stored, dimension: int, name: str) -> Rows:
    """Vectors of a dimension in an index's own form.

    Raises
    ------
    InputError
        Numbers that an index of `uint8` or `int8` can't hold, or that are too large for one of `float16`.
    """
    rows = as_rows(X, dimension=dimension, name=name)
    if vectors in NARROW:
        if rows.narrow is not None and rows.narrow.dtype == vectors:
            return rows
        return _narrowed(rows, vectors)
    return _wide(rows, vectors)


def as_queries(X: Vectors, vectors: Stored, dimension: int, name: str) -> Rows:
    """Queries of a dimension in the form that an index compares: narrow ones in its own type, others as float32."""
    rows = as_rows(X, dimension=dimension, name=name)
    if vectors in NARROW:
        if rows.narrow is not None and rows.narrow.dtype == vectors:
            return rows
        return _wide(rows, "float32")
    return _wide(rows, vectors)


def _wide(rows: Rows, vectors: Stored) -> Rows:
    """Rows as float32, float64 or sparse ones."""
    if vectors == "sparse":
        if rows.csr is None:
            from scipy.sparse import csr_array

            rows = Rows(None, csr_array(rows.dense()))
        return rows
    if rows.values is not None and rows.narrow is None and rows.dtype == vectors:
        return rows
    return Rows(in_order(rows.dense(), vectors), None)


def _narrowed(rows: Rows, vectors: Stored) -> Rows:
    """Rows in a narrow type: rounded to float16, whole numbers as they are."""
    values = rows.dense()
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = cast("Narrow", values.astype(vectors))
    wide = narrow.astype(np.float32)
    wrong = np.isfinite(values) & (~np.isfinite(wide) if vectors == "float16" else wide != values)
    if wrong.any():
        row, column = (int(place[0]) for place in np.nonzero(wrong))
        reason = f"{values[row, column]:g} is no number of {vectors}, the type of the index"
        mend = 'convert it with astype, or fit the index with X.astype("float32")'
        raise InputError(f"row {row}: {reason}; {mend}", place=f"row {row}", reason=reason)
    if not np.isfinite(values).all():
        row = int(np.nonzero(~np.isfinite(values))[0][0])
        reason = "it has a NaN or an infinite value; replace or drop it"
        raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason)
    return Rows(wide, None, narrow=narrow)


def plain(rows: Rows) -> Hashed:
    """The array or the sparse matrix of rows."""
    if rows.values is not None:
        return rows.values
    return rows.csr  # type: ignore[return-value]  # Rows have one of the two.


def flat(rows: Rows) -> Flat:
    """Vectors as the core takes them."""
    if rows.narrow is not None:
        narrow = in_order(rows.narrow).reshape(-1)
        return narrow.view(np.uint16) if narrow.dtype == np.float16 else narrow
    if rows.values is not None:
        return rows.values.reshape(-1)
    if rows.d >= 1 << 32:
        raise bad_parameter("dimension", rows.d, "below 2**32 for an index of sparse vectors")
    csr = rows.csr
    return (
        in_order(csr.indptr, dtype=np.uint64),  # type: ignore[union-attr]  # Rows have one of the two.
        in_order(csr.indices, dtype=np.uint32),  # type: ignore[union-attr]
        in_order(csr.data, dtype=np.float64),  # type: ignore[union-attr]
    )


def from_flat(vectors: Flat, dimension: int) -> Rows:
    """The inverse of `flat`."""
    if not isinstance(vectors, tuple):
        if vectors.dtype.itemsize <= 2:
            bits = vectors.view(np.float16) if vectors.dtype == np.uint16 else vectors
            narrow = cast("Narrow", bits.reshape(-1, dimension))
            return Rows(narrow.astype(np.float32), None, narrow=narrow)
        return Rows(cast("Matrix", vectors.reshape(-1, dimension)), None)
    from scipy.sparse import csr_array

    ends, columns, values = vectors
    shape = (len(ends) - 1, dimension)
    return Rows(None, csr_array((values, columns.astype(np.int64), ends.astype(np.int64)), shape=shape))


def hashed_form(rows: Rows, metric: Metric, max_norm: float | None, *, query: bool = False) -> Hashed:
    """What the family sees of vectors: themselves, or for inner products their image on the sphere.

    Raises
    ------
    ParameterError
        A row that is longer than `max_norm`.
    InputError
        A query of zeros.
    """
    if metric != "inner_product":
        return plain(rows)
    norms = rows.norms()
    if query:
        if (norms == 0).any():
            row = int(np.flatnonzero(norms == 0)[0])
            reason = "its inner product with every vector is zero; drop it"
            raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason)
        return _lifted(rows, 1 / norms, np.zeros(len(norms)))
    limit = math.inf if max_norm is None else max_norm
    if (norms > limit * (1 + _ROUNDING)).any():
        length = float(norms.max())
        raise bad_parameter("X", f"a vector of length {length:g}", f"lengths to max_norm={limit:g}; give max_norm=")
    return _lifted(rows, np.full(len(norms), 1 / limit), np.sqrt(np.maximum(0.0, 1 - (norms / limit) ** 2)))


def _lifted(rows: Rows, scale: Floats, last: Floats) -> Hashed:
    """Each row times its scale, and one coordinate more."""
    if rows.csr is None:
        return np.column_stack([rows.dense() * scale[:, None], last])
    from scipy.sparse import csr_array, diags_array, hstack

    lifted = hstack([diags_array(scale) @ rows.csr, csr_array(last[:, None])], format="csr")
    return csr_array(lifted)
