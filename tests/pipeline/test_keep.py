"""nearkin.pipeline.keep: the order of visits by every rule, with ties, missing numbers and ids of both kinds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.io import Column
from nearkin.pipeline.documents import HashedDocuments
from nearkin.pipeline.keep import KeepRule, keep_order

IDS = st.lists(st.one_of(st.integers(-5, 5), st.sampled_from(["", "a", "b", "10", "東"])), max_size=12)


def documents(ids: list[Any], lengths: list[int] | None = None, values: list[Any] | None = None) -> HashedDocuments:
    n = len(ids)
    return HashedDocuments(
        np.zeros((n, 1), np.uint64),
        np.ones(n, np.uint64),
        np.zeros((n, 2), np.uint64),
        np.array(lengths or [0] * n, np.uint64),
        Column.of(ids),
        {} if values is None else {"keep": Column.of(values)},
        lambda rows: [],
    )


def by_id(name: int | str) -> tuple[bool, Any]:
    return isinstance(name, str), name


@given(IDS)
def test_first_and_last_are_the_order_of_the_input(ids: list[Any]) -> None:
    """Whatever the ids are."""
    rows = list(range(len(ids)))
    assert rows == keep_order(documents(ids), "first").tolist()
    assert rows[::-1] == keep_order(documents(ids), "last").tolist()


@given(ids=IDS, data=st.data())
def test_lengths_decide_then_ids_then_rows(ids: list[Any], data: st.DataObject) -> None:
    """Numbers before strings among ids; equal ids by row."""
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids)))
    rows = range(len(ids))
    longest = sorted(rows, key=lambda row: (-lengths[row], by_id(ids[row]), row))
    shortest = sorted(rows, key=lambda row: (lengths[row], by_id(ids[row]), row))
    assert longest == keep_order(documents(ids, lengths), "longest").tolist()
    assert shortest == keep_order(documents(ids, lengths), "shortest").tolist()


@given(ids=IDS, data=st.data())
def test_missing_values_come_last_in_both_directions(ids: list[Any], data: st.DataObject) -> None:
    """None and NaN are ties of one another."""
    numbers = st.one_of(st.none(), st.just(math.nan), st.integers(-2, 2), st.floats(-1, 1))
    values: list[Any] = data.draw(st.lists(numbers, min_size=len(ids), max_size=len(ids)))

    def missing(row: int) -> bool:
        return values[row] is None or math.isnan(values[row])

    for rule, sign in (("max", -1), ("min", 1)):
        expected = sorted(
            range(len(ids)),
            key=lambda row: (missing(row), 0 if missing(row) else sign * values[row], by_id(ids[row]), row),
        )
        assert expected == keep_order(documents(ids, values=values), rule).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["first", "last", "longest", "shortest", "max", "min"])
def test_nothing_has_an_order(rule: KeepRule) -> None:
    """Of no documents."""
    assert [] == keep_order(documents([], values=[]), rule).tolist()
