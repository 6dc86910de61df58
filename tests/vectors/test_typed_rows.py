"""Vector types: round trips, and the sphere on which angles are inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, issparse

from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.vectors.arrays import Rows, VectorType, as_rows, as_typed_rows, hash_input

MATRICES = arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(-3, 3).map(float))
KINDS: dict[VectorType, Any] = {
    "float32": np.float32,
    "float64": np.float64,
    "sparse": csr_array,
    "int8": lambda X: X.astype(np.int8),
    "float16": lambda X: X.astype(np.float16),
}


@given(MATRICES)
def test_every_form_has_the_same_values(X: Any) -> None:
    """Converting between any two types, flattening and restoring gives the original vectors."""
    for given_as, make in KINDS.items():
        assert given_as == as_rows(make(X)).vector_type
        for kind in KINDS:
            rows = as_typed_rows(make(X), kind, X.shape[1])
            assert kind == rows.vector_type
            back = Rows.from_flat(rows.flat(), X.shape[1])
            assert kind == back.vector_type
            assert X.tolist() == rows.dense().tolist() == back.dense().tolist()
            assert issparse(rows.matrix) == (kind == "sparse")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16"])
def test_narrow_numbers_stay_as_they_came(dtype: Any, order: Any) -> None:
    """Views with any strides, slices and selections keep the type; queries of other types are float32."""
    X = np.array(np.arange(24).reshape(6, 4), dtype, order=order)[::2]
    rows = as_rows(X)
    subset = np.array([2, 0])
    for part, expected in [(rows, X), (rows.slice(1, 3), X[1:3]), (rows.take(subset), X[subset])]:
        assert dtype == part.vector_type
        back = Rows.from_flat(part.flat(), 4)
        assert np.float32 == part.dtype == back.dtype
        assert back.narrow is not None
        assert (dtype, expected.tolist()) == (back.narrow.dtype, back.narrow.tolist())
        assert expected.tolist() == back.dense().tolist()
    assert as_typed_rows(X, dtype, 4, query=True).narrow is not None
    for other in (
        X.astype(np.float64) + 0.5,
        X.astype(np.float32),
        X.astype(np.int64),
        csr_array(X.astype(np.float32)),
    ):
        queries = as_typed_rows(other, dtype, 4, query=True)
        assert queries.narrow is None
        assert np.float32 == queries.dtype
        assert (other.toarray() if issparse(other) else other).tolist() == queries.dense().tolist()
    assert as_typed_rows(X, "float32", 4, query=True).narrow is None


def test_numbers_that_a_narrow_index_cannot_hold_are_refused() -> None:
    """Integers are never truncated; float16 rounds, up to its largest number."""
    for bad in (0.5, -1.0, 256.0, 1e300):
        with pytest.raises(InputError, match=r"row 1: .* can't be stored as uint8.*astype"):
            as_typed_rows(np.array([[0.0, 1.0], [2.0, bad]]), "uint8", 2)
    with pytest.raises(InputError, match=r"row 0: 70000 can't be stored as float16"):
        as_typed_rows(np.array([[70000.0]]), "float16", 1)
    for value in (np.nan, np.inf):
        with pytest.raises(InputError, match="NaN or an infinite"):
            as_typed_rows(np.array([[value]]), "float16", 1)
        with pytest.raises(InputError, match="NaN or an infinite"):
            as_typed_rows(np.array([[value]]), "int8", 1)
    rows = as_typed_rows(np.array([[0.1]]), "float16", 1)
    # The hashed values are the stored values.
    assert [[float(np.float16(0.1))]] == rows.dense().tolist()
    assert [[-128.0, 127.0]] == as_typed_rows([[-128, 127]], "int8", 2).dense().tolist()


def test_another_dimension_and_too_many_coordinates_are_refused() -> None:
    with pytest.raises(MismatchError, match="dimension"):
        as_typed_rows(np.ones((2, 3)), "float32", 4)
    wide = csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1], np.int64)), shape=(1, 1 << 32))
    with pytest.raises(ParameterError, match="dimension"):
        Rows(None, wide).flat()


@pytest.mark.parametrize("form", [np.float64, csr_array])
def test_cosines_on_the_sphere_are_inner_products(form: Any) -> None:
    """Cos = x·q / (M |q|), and every row has length 1."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20, 4)), rng.normal(size=(5, 4))
    M = float(np.linalg.norm(X, axis=1).max()) * 1.5
    rows = hash_input(as_rows(form(X)), M)
    queries = hash_input(as_rows(form(Q)), M, query=True)
    a, b = (value.toarray() if issparse(value) else value for value in (rows, queries))
    assert np.allclose(1, np.linalg.norm(a, axis=1))
    assert np.allclose(1, np.linalg.norm(b, axis=1))
    assert np.allclose(X @ Q.T / (M * np.linalg.norm(Q, axis=1)), a @ b.T)
    same = hash_input(as_rows(form(X)), None)
    assert X.tolist() == (same.toarray() if issparse(same) else same).tolist()


def test_rows_that_are_too_long_and_queries_of_zeros_are_refused() -> None:
    """The longest row may exceed the limit by rounding; zeros are valid rows, but not queries."""
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert (2, 3) == hash_input(as_rows(X), 5.0).shape
    assert (2, 3) == hash_input(as_rows(X), 5.0 * (1 - 5e-7)).shape
    with pytest.raises(ParameterError, match=r"max_norm=4\.9"):
        hash_input(as_rows(X), 4.9)
    with pytest.raises(InputError, match="row 1"):
        hash_input(as_rows(X), 5.0, query=True)
