"""Forms of vectors: as an index stores them, as the core takes them, and as its family sees them.

For inner products a family of the cosine sees rows and queries on the sphere of one more dimension (Neyshabur and
Srebro 2015, section 4),

    row x → [x / M, √(1 − ‖x / M‖²)]        query q → [q / ‖q‖, 0]        cos of the two = x·q / (M ‖q‖)

so that the nearest by angle is the largest by inner product. M is the norm of the longest row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import InputError, bad_parameter
from nearkin.vectors.arrays import in_order
from nearkin.vectors.rows import Floats, Matrix, Rows, Vectors, as_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Metric: TypeAlias = Literal["l2", "l1", "cosine", "inner_product"]
Stored: TypeAlias = Literal["float32", "float64", "sparse"]
"""How an index keeps vectors."""
Hashed: TypeAlias = "Matrix | csr_array | csr_matrix"
"""Vectors as a family sees them."""
Flat: TypeAlias = (
    npt.NDArray[np.float32]
    | npt.NDArray[np.float64]
    | tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], npt.NDArray[np.float64]]
)
"""Vectors as the core takes them: row after row, or row ends, coordinates and values."""

_ROUNDING = 1e-6
"""The norm of a float32 row may round above that of the longest row by one step, less than this share."""


def stored_as(rows: Rows) -> Stored:
    """The form in which an index keeps vectors given in this form."""
    if rows.csr is not None:
        return "sparse"
    return "float32" if rows.dtype == np.float32 else "float64"


def as_stored(X: Vectors, vectors: Stored, dimension: int, name: str) -> Rows:
    """Vectors of a dimension in an index's own form."""
    rows = as_rows(X, dimension=dimension, name=name)
    if vectors == "sparse":
        if rows.csr is None:
            from scipy.sparse import csr_array

            rows = Rows(None, csr_array(rows.dense()))
        return rows
    return rows if rows.values is not None and rows.dtype == vectors else _dense(rows, vectors)


def _dense(rows: Rows, vectors: Literal["float32", "float64"]) -> Rows:
    return Rows(in_order(rows.dense(), vectors), None)


def plain(rows: Rows) -> Hashed:
    """The array or the sparse matrix of rows."""
    if rows.values is not None:
        return rows.values
    return rows.csr  # type: ignore[return-value]  # Rows have one of the two.


def flat(rows: Rows) -> Flat:
    """Vectors as the core takes them."""
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
        return Rows(vectors.reshape(-1, dimension), None)
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
