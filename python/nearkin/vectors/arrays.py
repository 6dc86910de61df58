"""Arrays as users give them: views of any strides and byte order, masked arrays, and sparse matrices of any format.

Compiled code, ours and SciPy's, reads arrays by address. What it is given is therefore made contiguous, aligned and of
the machine's byte order, and a sparse matrix is checked before any method of SciPy touches it: SciPy checks its index
arrays when a matrix is made, not when they were changed since, and then reads and writes wherever they point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.errors import ParameterError, bad_parameter


def unmasked(values: object, name: str) -> None:
    """Refuse a masked array in which something is masked; an entry under a mask has no value."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise bad_parameter(
            name, "an array with masked values", "values that are all there; fill them or drop the rows"
        )


def in_order(values: npt.NDArray[Any], dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """The values as a plain array, C-contiguous and aligned, of the type `dtype`; the array itself if it is one."""
    if type(values) is np.ndarray and (dtype is None or values.dtype == dtype):
        flags = values.flags
        if flags.c_contiguous and flags.aligned:
            return values
    return np.require(values, dtype, ["C", "A", "E"])


def csr_parts(rows: Any, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Row ends, columns and values of a CSR matrix, checked; columns may repeat and lie in any order.

    Raises
    ------
    ParameterError
        Another format, values that are not real numbers, and what `check_sparse` refuses.
    """
    if getattr(rows, "format", None) != "csr":
        found = getattr(rows, "format", type(rows).__name__)
        raise bad_parameter(name, f"rows of format {found}", "a SciPy CSR matrix; X.tocsr() makes one")
    check_sparse(rows, name)
    if rows.data.dtype.kind not in "biuf":
        raise bad_parameter(name, f"a matrix of {rows.data.dtype}", "real numbers")
    count = int(rows.indptr[-1])
    return (
        in_order(rows.indptr, np.int64),
        in_order(rows.indices[:count], np.int64),
        in_order(rows.data[:count], np.float64),
    )


def check_sparse(matrix: Any, name: str) -> None:
    """Check that a sparse matrix of SciPy is what its format says, so that SciPy's methods may be called.

    Cost: a pass over the index arrays. Nobody may write to them until the call that was given the matrix returns:
    SciPy would read and write outside of its arrays.

    Raises
    ------
    ParameterError
        Not two-dimensional; index arrays of a wrong length or type, that descend, or that leave the matrix.
    """
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise bad_parameter(name, f"a sparse array of shape {shape}", "one of shape (n, d)")
    kind = getattr(matrix, "format", None)
    if kind in ("csr", "csc", "bsr"):
        _check_compressed(matrix, kind, shape, name)
    elif kind == "coo":
        entries = _numbers(matrix, "data", name, 1)
        for axis, index in enumerate(("row", "col")):
            places = _numbers(matrix, index, name, 1, whole=True)
            if len(places) != len(entries):
                raise _damaged(name, index, f"has {len(places)} places for {len(entries)} values")
            _check_within(places, shape[axis], index, name)
    elif kind == "lil":
        counts = [list(map(len, side)) for side in (matrix.rows, matrix.data)]
        if counts[0] != counts[1] or len(counts[0]) != shape[0]:
            raise _damaged(name, "rows", "and data differ in length")
    elif kind == "dia":
        diagonals, offsets = _numbers(matrix, "data", name, 2), _numbers(matrix, "offsets", name, 1, whole=True)
        if len(diagonals) != len(offsets):
            raise _damaged(name, "offsets", f"has {len(offsets)} numbers for {len(diagonals)} diagonals")


def _check_compressed(matrix: Any, kind: str, shape: tuple[int, int], name: str) -> None:
    entries = _numbers(matrix, "data", name, 3 if kind == "bsr" else 1)
    block = entries.shape[1:] if kind == "bsr" else (1, 1)
    if not all(block) or shape[0] % block[0] or shape[1] % block[1]:
        raise _damaged(name, "data", f"has blocks of shape {block} in a matrix of shape {shape}")
    major, minor = shape[0] // block[0], shape[1] // block[1]
    if kind == "csc":
        major, minor = minor, major
    ends, places = _numbers(matrix, "indptr", name, 1, whole=True), _numbers(matrix, "indices", name, 1, whole=True)
    if len(ends) != major + 1:
        raise _damaged(name, "indptr", f"has {len(ends)} numbers for {major} rows")
    if ends[0] != 0 or bool((ends[1:] < ends[:-1]).any()):
        raise _damaged(name, "indptr", "does not ascend from 0")
    if int(ends[-1]) > min(len(places), len(entries)):
        raise _damaged(name, "indptr", f"ends at {ends[-1]} of {min(len(places), len(entries))} values")
    _check_within(places[: int(ends[-1])], minor, "indices", name)


def _numbers(matrix: Any, part: str, name: str, dimensions: int, *, whole: bool = False) -> npt.NDArray[Any]:
    """An array of a sparse matrix, of this many dimensions."""
    values = getattr(matrix, part, None)
    if not isinstance(values, np.ndarray) or values.ndim != dimensions or (whole and values.dtype.kind not in "iu"):
        found = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise _damaged(name, part, f"is {found}")
    return values


def _check_within(places: npt.NDArray[Any], size: int, part: str, name: str) -> None:
    if len(places) and (int(places.min()) < 0 or int(places.max()) >= size):
        raise _damaged(name, part, f"holds {places.min()} to {places.max()}, outside of 0 to {size - 1}")


def _damaged(name: str, part: str, what: str) -> ParameterError:
    return bad_parameter(name, f"a sparse matrix whose {part} {what}", "a matrix as SciPy makes it")
