"""nearkin.vectors.arrays: vectors of any type and layout have the same rows, norms, means and products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array

from nearkin import errors
from nearkin.vectors.arrays import as_rows

VALUES = st.floats(-100, 100, width=32).map(lambda value: 0.0 if abs(value) < 1e-3 else value)


def matrices(rows: int = 6, columns: int = 9) -> st.SearchStrategy[NDArray[np.float32]]:
    """Draw small dense matrices with zeros among their values."""
    shapes = st.tuples(st.integers(1, rows), st.integers(1, columns))
    return hnp.arrays(np.float32, shapes, elements=VALUES, fill=st.just(0.0))


@pytest.mark.parametrize(
    ("given_type", "expected"),
    [
        ("bool", "float32"), ("int8", "float32"), ("uint8", "float32"), ("int16", "float32"), ("uint16", "float32"),
        ("float16", "float32"), ("float32", "float32"), ("int32", "float64"), ("int64", "float64"),
        ("uint64", "float64"), ("float64", "float64"),
    ],
)  # fmt: skip
def test_types_become_the_narrowest_that_holds_their_values(given_type: str, expected: str) -> None:
    """Numbers of up to 16 bits become float32; dense and sparse rows follow the same rule."""
    array = np.array([[0, 1], [1, 0]], given_type)
    assert expected == str(as_rows(array).dtype)
    if given_type != "float16":
        assert expected == str(as_rows(csr_array(array)).dtype)


def test_lists_and_foreign_layouts_are_rows() -> None:
    """A list of lists, a transposed array, and every sparse format give the same vectors."""
    expected = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    for given_rows in (expected.tolist(), np.asfortranarray(expected), csc_array(expected), coo_array(expected)):
        rows = as_rows(given_rows)
        assert expected.tolist() == rows.dense().tolist()
        assert ((2, 3), rows.dense().flags.c_contiguous) == ((len(rows), rows.d), True)


def test_stored_twice_is_summed() -> None:
    """A sparse matrix with duplicate entries has their sum; the argument is not modified."""
    given_rows = csr_array((np.array([1.0, 2.0, 5.0]), np.array([3, 3, 0]), np.array([0, 3])), shape=(1, 4))
    rows = as_rows(given_rows)
    assert [[5.0, 0.0, 0.0, 3.0]] == rows.dense().tolist()
    assert 3 == len(given_rows.data)


@pytest.mark.parametrize(
    ("given_rows", "message"),
    [
        (np.zeros(3), r"X=an array of shape \(3,\) is not allowed; use an array of shape \(n, d\); one vector x is"),
        (np.zeros((2, 2, 2)), r"X=an array of shape \(2, 2, 2\) is not allowed"),
        (np.zeros((2, 0)), "X=an array without columns is not allowed; use vectors of one dimension or more"),
        (np.zeros((1, 2), complex), "X=an array of complex128 is not allowed; use float32, float64 or integers"),
        (np.array([["a"]]), "X=an array of <U1 is not allowed; use float32, float64 or integers"),
        (csr_array(np.zeros((1, 2), complex)), "X=an array of complex128 is not allowed"),
    ],
)
def test_what_holds_no_vectors_is_refused(given_rows: Any, message: str) -> None:
    """Shape and type are checked before anything is computed."""
    with pytest.raises(errors.ParameterError, match=message):
        as_rows(given_rows)


def test_dimension_and_number_of_rows_are_checked() -> None:
    """A family fitted on other vectors, or one that needs more vectors, raises an error."""
    with pytest.raises(errors.MismatchError, match="dimension differs: 3 against 2"):
        as_rows(np.zeros((1, 2)), dimension=3)
    with pytest.raises(errors.InputError, match="Q: has 0 rows; give one vector or more"):
        as_rows(np.zeros((0, 2)), name="Q", min_rows=1)
    with pytest.raises(errors.InputError, match="X: has 1 rows; give 2 vectors or more") as caught:
        as_rows(csr_array(np.ones((1, 2))), min_rows=2)
    assert ("X", "1 rows") == (caught.value.place, caught.value.reason)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_norms_refuse_what_is_no_finite_number(value: float, sparse: bool) -> None:
    """The error names the row in the argument, also for a slice of it."""
    array = np.ones((5, 3))
    array[3, 1] = value
    rows = as_rows(csr_array(array) if sparse else array)
    for part in (rows, rows.slice(2, 5)):
        for lengths in (part.norms, part.norm_bounds):
            with pytest.raises(errors.InputError, match="row 3"):
                lengths()


@given(array=matrices(), start=st.integers(0, 6), stop=st.integers(0, 6))
def test_layouts_and_types_change_no_bit(array: NDArray[np.float32], start: int, stop: int) -> None:
    """Norms, means, products and exact values of dense and sparse rows, in either type, are the same numbers."""
    matrix = np.arange(2 * array.shape[1], dtype=np.float64).reshape(2, -1) - 3.5
    ways = [
        as_rows(array),
        as_rows(csr_array(array)),
        as_rows(array).as_float64(),
        as_rows(csr_array(array)).as_float64(),
    ]
    positions, columns = np.repeat(np.arange(len(array)), 2), np.tile(np.arange(2), len(array))
    first = ways[0]
    for rows in ways:
        assert first.norms().tolist() == rows.norms().tolist()
        assert first.means().tolist() == rows.means().tolist()
        products = rows.all_products(matrix)
        assert first.all_products(matrix).tolist() == products.tolist()
        assert products.reshape(-1).tolist() == rows.exact(matrix, positions, columns).tolist()
        squares = rows.exact(matrix, positions, columns, squares=True)
        assert first.exact(matrix, positions, columns, squares=True).tolist() == squares.tolist()
        assert array[start:stop].tolist() == rows.slice(start, stop).dense().tolist()
        assert array[::-1].tolist() == rows.take(np.arange(len(array))[::-1]).dense().tolist()
        assert bool((array == array[0]).all()) == rows.all_equal()
        ends, found_columns, data = rows.as_csr()
        assert array.tolist() == csr_array((data, found_columns, ends), shape=array.shape).toarray().tolist()


@given(array=matrices())
def test_norms_means_and_products_are_those_of_the_definition(array: NDArray[np.float32]) -> None:
    """They are within a few units in the last place of the sum of absolute terms, by `numpy` in float64."""
    wide = array.astype(np.float64)
    matrix = np.cos(np.arange(3.0 * wide.shape[1])).reshape(3, -1)
    rows = as_rows(array)
    lengths = np.sqrt((wide**2).sum(1))
    np.testing.assert_allclose(rows.norms(), lengths, rtol=1e-14)
    bounds = rows.norm_bounds()
    assert ((bounds >= lengths * (1 - 1e-15)) & (bounds <= 1.001 * lengths + 1e-300)).all()
    np.testing.assert_allclose(rows.means(), wide.mean(0), atol=1e-13)
    np.testing.assert_allclose(rows.all_products(matrix), wide @ matrix.T, atol=1e-11)
    np.testing.assert_allclose(rows.product(np.ascontiguousarray(matrix.T)), wide @ matrix.T, atol=1e-11)
    squares = rows.exact(matrix, np.zeros(3, np.int64), np.arange(3), squares=True)
    np.testing.assert_allclose(squares, ((wide[0] - matrix) ** 2).sum(1), atol=1e-9)


def test_terms_are_those_of_the_fullest_row() -> None:
    """Dense rows have d products per sum, sparse rows one per stored value."""
    array = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    assert (3, 2) == (as_rows(array).max_terms, as_rows(csr_array(array)).max_terms)
    assert 3 == as_rows(csr_array(array)).slice(0, 0).max_terms


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_rows_are_found_among_many(sparse: bool) -> None:
    """A single different value in the last of 5,000 rows is detected."""
    array = np.tile([1.0, 0.0, 2.0], (5_000, 1))
    wrap: Any = csr_array if sparse else np.asarray
    assert as_rows(wrap(array)).all_equal()
    array[-1, 1] = 1.0
    assert not as_rows(wrap(array)).all_equal()
