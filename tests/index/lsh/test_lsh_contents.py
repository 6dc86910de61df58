"""What an index of vectors holds: ids, bytes, pickles, and vectors that are replaced or removed."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import nearkin as nk
from nearkin.errors import NotFittedError, ParameterError
from nearkin.families import CrossPolytope, Hyperplane, PStable

X = np.random.default_rng(0).integers(1, 9, size=(80, 5)).astype(np.float64)
TABLES: dict[str, Any] = {"num_tables": 4, "hashes_per_table": 3}


def answers(index: nk.LSHIndex) -> list[Any]:
    hits = index.nearest(X, 4)
    return [hits.offsets.tolist(), hits.ids.tolist(), hits.distances.tolist()]


def restored(index: nk.LSHIndex) -> nk.LSHIndex:
    """By way of a pickle."""
    made: nk.LSHIndex = pickle.loads(pickle.dumps(index))  # noqa: S301
    return made


@pytest.mark.parametrize(
    "index",
    [
        nk.LSHIndex(PStable(seed=1), **TABLES),
        nk.LSHIndex(Hyperplane(64), filter="codes"),
        nk.LSHIndex(CrossPolytope(), hashes_per_table=1),
        nk.LSHIndex(Hyperplane(64), metric="inner_product"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", [np.float32, np.float64, csr_array])
def test_pickles_and_copies_answer_the_same_and_go_their_own_way(index: nk.LSHIndex, form: Any) -> None:
    """Fitted or not; what is added to one is not in the other."""
    assert repr(index.given) == repr(restored(nk.LSHIndex(**vars_of(index))).given)
    index.fit(form(X), [f"n{i}" for i in range(80)])
    index.remove(["n3"])
    for other in (restored(index), copy.deepcopy(index), copy.copy(index)):
        assert answers(index) == answers(other)
        assert index.settings_ == other.settings_
        other.add(["n3"], form(X[3:4]))
        assert ("n3" in other, "n3" in index) == (True, False)
        assert (80, 79) == (len(other), len(index))


def vars_of(index: nk.LSHIndex) -> dict[str, Any]:
    """What the constructor was given."""
    return dict(vars(index.given))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_ids_are_given_in_order_of_addition_in_batches(data: st.DataObject) -> None:
    """Whatever their kind and the batch; removed ones are not."""
    kind = data.draw(st.sampled_from(["rows", "ints", "names"]))
    keys: list[Any] = list(range(80)) if kind == "rows" else data.draw(st.permutations(range(80)))
    keys = [f"n{key}" for key in keys] if kind == "names" else keys
    index = nk.LSHIndex(Hyperplane(16), filter="codes").fit(X[:50], None if kind == "rows" else keys[:50])
    index.add(None if kind == "rows" else keys[50:], X[50:])
    gone = data.draw(st.lists(st.sampled_from(keys), unique=True, max_size=20))
    index.remove(gone)
    size = data.draw(st.integers(1, 90))
    batches = list(index.iter_ids(batch_size=size))
    expected = [key for key in keys if key not in gone]
    assert expected == [key for batch in batches for key in batch.tolist()]
    assert all(size == len(batch) for batch in batches[:-1])
    assert len(expected) == len(index)
    assert all((key in index) == (key not in gone) for key in keys)


def test_bytes_are_those_that_explain_names_and_grow_with_the_vectors() -> None:
    """Vectors take their own size, codes their words in blocks of eight."""
    index = nk.LSHIndex(Hyperplane(70), filter="codes").fit(X)
    explained = index.explain()
    assert 80 * 5 * 8 + 80 * 8 == explained["bytes_vectors"]
    assert 80 * 2 * 8 == explained["bytes_filter"]
    assert sum(explained[name] for name in ("bytes_filter", "bytes_vectors", "bytes_ids")) == index.nbytes
    before = index.nbytes
    index.add(None, X)
    assert index.nbytes > before


def test_vectors_in_memory_verify_and_what_is_not_fitted_says_so() -> None:
    index = nk.LSHIndex(PStable(width=2.0), **TABLES)
    assert 0 == len(index)
    for call in (
        index.verify,
        index.explain,
        lambda: index.nbytes,
        lambda: 1 in index,
        lambda: index.remove([1]),
        lambda: index.add(None, X),
        lambda: index.iter_ids(),
        lambda: index.expected_recall([1.0]),
    ):
        with pytest.raises(NotFittedError, match=r"call fit\(X\) first"):
            call()
    index.fit(X)
    index.verify()
    assert 1 in index
    assert not any(key in index for key in (80, -1, "1", 1.0, None, True, 1 << 70))


@pytest.mark.parametrize("form", [np.float32, csr_array])
@pytest.mark.parametrize("options", [TABLES, {"filter": "codes", "num_candidates": 200}], ids=str)
def test_a_replaced_vector_is_found_in_its_new_place_only(form: Any, options: dict[str, Any]) -> None:
    """`existing="update"`; with "skip" it stays, with "error" nothing changes."""
    index = nk.LSHIndex(Hyperplane(64, seed=1), metric="l2", **options).fit(form(X), range(80))
    far = X[:1] * -3.0
    with pytest.raises(ParameterError, match="already there"):
        index.add([100, 7], form(np.vstack([far, far])))
    assert 100 not in index
    assert 0 == index.add([7], form(far), existing="skip")
    assert 0 == len(index.search(form(far), 1e-3)[0])
    index.add([7], form(far), existing="update")
    assert [(7, 0.0)] == [(match.id, match.distance) for match in index.search(form(far), 1e-3)[0]]
    assert 7 not in index.search(form(X[7:8]), 1e-3)[0].ids
    assert 80 == len(index)
