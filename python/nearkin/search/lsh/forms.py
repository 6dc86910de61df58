"""Forms of vectors: as an index stores them, as the core takes them, and as its family sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.errors import InputError, bad_parameter
from nearkin.vectors.rows import Rows, Vectors, as_rows


def as_stored(X: Vectors, vectors: str, dimension: int, name: str) -> Rows:
    """Vectors of a dimension in an index's own form, "float32", "float64" or "sparse"."""
    rows = as_rows(X, dimension=dimension, name=name)
    if vectors == "sparse":
        if rows.csr is None:
            from scipy.sparse import csr_array

            rows = Rows(None, csr_array(rows.dense()))
        return rows
    return rows if rows.values is not None and rows.dtype == vectors else _dense(rows, vectors)


def _dense(rows: Rows, vectors: str) -> Rows:
    return Rows(np.ascontiguousarray(rows.dense(), dtype=vectors), None)


def flat(rows: Rows) -> Any:
    """Vectors as the core takes them."""
    if rows.csr is None:
        return rows.values.reshape(-1)  # type: ignore[union-attr]
    if rows.d >= 1 << 32:
        raise bad_parameter("dimension", rows.d, "below 2**32 for an index of sparse vectors")
    csr = rows.csr
    return (
        np.ascontiguousarray(csr.indptr, dtype=np.uint64),
        np.ascontiguousarray(csr.indices, dtype=np.uint32),
        np.ascontiguousarray(csr.data, dtype=np.float64),
    )


def hashed_form(rows: Rows, metric: str, max_norm: float, *, query: bool = False) -> Vectors:
    """What the family sees of vectors: themselves, or for inner products their image on the sphere."""
    plain = rows.values if rows.csr is None else rows.csr
    if metric != "inner_product":
        return plain
    norms = rows.norms()
    if query:
        if (norms == 0).any():
            row = int(np.flatnonzero(norms == 0)[0])
            reason = "its inner product with every vector is zero; drop it"
            raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason)
        scale, last = 1 / norms, np.zeros(len(norms))
    else:
        limit = max_norm
        # The norm of a float32 row may round above that of the longest row by one step.
        if (norms > limit * (1 + 1e-6)).any():
            longest = float(norms.max())
            raise bad_parameter(
                "X", f"a vector of length {longest:g}", f"lengths to max_norm={limit:g}; give max_norm="
            )
        scale = np.full(len(norms), 1 / limit)
        last = np.sqrt(np.maximum(0.0, 1 - (norms / limit) ** 2))
    if rows.csr is None:
        return np.column_stack([rows.dense() * scale[:, None], last])
    from scipy.sparse import csr_array, diags_array, hstack

    return csr_array(hstack([diags_array(scale) @ rows.csr, csr_array(last[:, None])], format="csr"))
