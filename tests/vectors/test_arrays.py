"""nearkin.vectors.arrays: arrays are checked before compiled code reads them by address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nearkin.errors import ParameterError
from nearkin.vectors.arrays import as_contiguous, check_sparse, csr_arrays, values_of

ROWS = np.array([[1.0, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 4]])


@pytest.mark.parametrize("make", [
    sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.dia_array, sparse.dok_array,
    sparse.csr_matrix, lambda rows: sparse.bsr_array(rows, blocksize=(3, 2)),
])  # fmt: skip
def test_matrices_as_scipy_makes_them_pass(make: Callable[[Any], Any]) -> None:
    """All formats are accepted, including empty matrices and those without entries."""
    check_sparse(make(ROWS), "X")
    check_sparse(make(np.zeros((3, 4))), "X")


def harmed(make: Callable[[Any], Any], **parts: Any) -> Any:
    """Return a matrix whose arrays were changed after construction, which SciPy does not check again."""
    matrix = make(ROWS)
    for part, values in parts.items():
        matrix.__dict__[part] = np.array(values) if isinstance(values, list) else values
    return matrix


def indices(values: list[int]) -> Callable[[], Any]:
    return lambda: harmed(sparse.csr_array, indices=values)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (indices([0, 2, 1, 4]), "indices holds 0 to 4, outside 0 to 3"),
        (indices([0, -2, 1, 3]), "indices holds -2 to 3, outside 0 to 3"),
        (lambda: harmed(sparse.csr_array, indices=[0.0, 2.0, 1.0, 3.0]), "indices is float64 of shape (4,)"),
        (lambda: harmed(sparse.csr_array, indices=None), "indices is NoneType"),
        (lambda: harmed(sparse.csr_array, indptr=[0, 2, 4]), "indptr has 3 numbers for 3 rows"),
        (lambda: harmed(sparse.csr_array, indptr=[0, 3, 2, 4]), "indptr does not ascend from 0"),
        (lambda: harmed(sparse.csr_array, indptr=[1, 2, 2, 4]), "indptr does not ascend from 0"),
        (lambda: harmed(sparse.csr_array, indptr=[0, 2, 2, 9]), "indptr ends at 9 of 4 values"),
        (lambda: harmed(sparse.csr_array, data=[1.0, 2.0]), "indptr ends at 4 of 2 values"),
        (lambda: harmed(sparse.csr_array, data=[[1.0, 2.0, 3.0, 4.0]]), "data is float64 of shape (1, 4)"),
        (lambda: harmed(sparse.csc_array, indices=[0, 2, 3, 0]), "indices holds 0 to 3, outside 0 to 2"),
        (lambda: harmed(sparse.bsr_array, data=np.zeros((2, 2, 2))), "data has blocks of shape (2, 2) in a matrix of"),
        (lambda: harmed(sparse.bsr_array, data=np.zeros((2, 0, 1))), "data has blocks of shape (0, 1) in a matrix of"),
        (lambda: harmed(sparse.dia_array, offsets=[0, 1]), "offsets has 2 numbers for"),
    ],
)
def test_arrays_that_lead_out_of_the_matrix_are_named(make: Callable[[], Any], what: str) -> None:
    """SciPy would read and write wherever they point."""
    with pytest.raises(ParameterError) as caught:
        check_sparse(make(), "X")
    assert what in str(caught.value)
    assert ("X", "a matrix as SciPy creates it") == (caught.value.name, caught.value.allowed)


def test_places_of_a_coordinate_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are as many coordinates as values, all inside the matrix."""
    matrix = sparse.coo_matrix(ROWS)
    matrix.coords = (np.array([0, 0, 2, 3]), matrix.col)
    with pytest.raises(ParameterError, match="row holds 0 to 3, outside 0 to 2"):
        check_sparse(matrix, "X")
    matrix.coords = (np.array([0, 0, 2]), matrix.col)
    with pytest.raises(ParameterError, match="row has 3 positions for 4 values"):
        check_sparse(matrix, "X")


def test_lists_of_a_matrix_of_lists() -> None:
    """Each row has one list of columns and one list of values."""
    matrix = sparse.lil_array(ROWS)
    matrix.data[0].append(9.0)
    with pytest.raises(ParameterError, match="rows and data differ in length"):
        check_sparse(matrix, "X")


def test_a_sparse_array_of_one_dimension() -> None:
    """Vectors are rows of a matrix."""
    with pytest.raises(ParameterError, match=r"a sparse array of shape \(4,\).*one of shape \(n, d\)"):
        check_sparse(sparse.coo_array(ROWS[0]), "X")


def test_parts_of_a_matrix_are_its_rows() -> None:
    """Row ends, columns and values have machine types; data beyond the last row end are dropped."""
    matrix = sparse.csr_array(ROWS.astype(np.float32))
    matrix.indices = np.append(matrix.indices, 77)
    matrix.data = np.append(matrix.data, np.float32(7))
    ends, positions, values = csr_arrays(matrix, "X")
    assert ([0, 2, 2, 4], [0, 2, 1, 3], [1, 2, 3, 4]) == (ends.tolist(), positions.tolist(), values.tolist())
    assert [np.int64, np.int64, np.float64] == [part.dtype for part in (ends, positions, values)]


@pytest.mark.parametrize(("X", "message"), [
    (sparse.csc_array(ROWS), "rows of format csc is not allowed; use a SciPy CSR matrix; X.tocsr"),
    (ROWS, "rows of format ndarray"),
    (sparse.csr_array(ROWS.astype(complex)), "a matrix of complex128 is not allowed; use real numbers"),
])  # fmt: skip
def test_rows_of_another_kind_are_refused(X: Any, message: str) -> None:
    """The error names an accepted kind."""
    with pytest.raises(ParameterError, match=message):
        csr_arrays(X, "X")


def test_values_are_made_contiguous_aligned_and_of_the_machines_order() -> None:
    """An array that already is so is returned as it is."""
    plain = np.arange(6.0)
    assert as_contiguous(plain) is plain
    assert as_contiguous(plain, np.float64) is plain
    shifted = np.frombuffer(b"\0" + plain.tobytes(), np.float64, offset=1)
    for odd in (plain[::2], plain.astype(">f8"), shifted, np.ma.array(plain), plain.reshape(2, 3).T):
        built = as_contiguous(odd, np.float64)
        assert (np.ndarray, True, True) == (type(built), built.flags.c_contiguous, built.flags.aligned)
        assert built.dtype.isnative
        assert odd.tolist() == built.tolist()


def test_an_entry_under_a_mask_has_no_value() -> None:
    """A masked array with an empty mask is accepted."""
    values_of(np.ma.array([1, 2], mask=[False, False]), "ids")
    with pytest.raises(ParameterError, match="ids=an array with masked values is not allowed"):
        values_of(np.ma.array([1, 2], mask=[False, True]), "ids")
