"""Forms of vectors: there and back, and the sphere on which angles are inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, issparse

from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.search.lsh.forms import Metric, Stored, as_stored, flat, from_flat, hashed_form, plain, stored_as
from nearkin.vectors.rows import Rows, as_rows

MATRICES = arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(-3, 3).map(float))
KINDS: dict[Stored, Any] = {"float32": np.float32, "float64": np.float64, "sparse": csr_array}


@given(MATRICES)
def test_every_form_has_the_same_values(X: Any) -> None:
    """Stored in any form from any form, flat and back: the vectors that were given."""
    for given_as, make in KINDS.items():
        assert given_as == stored_as(as_rows(make(X)))
        for kind in KINDS:
            rows = as_stored(make(X), kind, X.shape[1], "X")
            assert kind == stored_as(rows)
            back = from_flat(flat(rows), X.shape[1])
            assert kind == stored_as(back)
            assert X.tolist() == rows.dense().tolist() == back.dense().tolist()
            assert issparse(plain(rows)) == (kind == "sparse")


def test_another_dimension_and_too_many_coordinates_are_refused() -> None:
    with pytest.raises(MismatchError, match="dimension"):
        as_stored(np.ones((2, 3)), "float32", 4, "X")
    wide = csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1], np.int64)), shape=(1, 1 << 32))
    with pytest.raises(ParameterError, match="dimension"):
        flat(Rows(None, wide))


@pytest.mark.parametrize("form", [np.float64, csr_array])
def test_cosines_on_the_sphere_are_inner_products(form: Any) -> None:
    """Cos = x·q / (M |q|), and every row has the length 1."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20, 4)), rng.normal(size=(5, 4))
    M = float(np.linalg.norm(X, axis=1).max()) * 1.5
    rows = hashed_form(as_rows(form(X)), "inner_product", M)
    asked = hashed_form(as_rows(form(Q)), "inner_product", M, query=True)
    a, b = (value.toarray() if issparse(value) else value for value in (rows, asked))
    assert np.allclose(1, np.linalg.norm(a, axis=1))
    assert np.allclose(1, np.linalg.norm(b, axis=1))
    assert np.allclose(X @ Q.T / (M * np.linalg.norm(Q, axis=1)), a @ b.T)
    metrics: list[Metric] = ["l2", "l1", "cosine"]
    for metric in metrics:
        same = hashed_form(as_rows(form(X)), metric, None)
        assert X.tolist() == (same.toarray() if issparse(same) else same).tolist()


def test_rows_that_are_too_long_and_queries_of_zeros_are_refused() -> None:
    """The longest row may be a rounding longer; zeros are rows, but no queries."""
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert (2, 3) == hashed_form(as_rows(X), "inner_product", 5.0).shape
    assert (2, 3) == hashed_form(as_rows(X), "inner_product", 5.0 * (1 - 5e-7)).shape
    with pytest.raises(ParameterError, match=r"max_norm=4\.9"):
        hashed_form(as_rows(X), "inner_product", 4.9)
    with pytest.raises(InputError, match="row 1"):
        hashed_form(as_rows(X), "inner_product", 5.0, query=True)
