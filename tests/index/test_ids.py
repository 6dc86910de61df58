"""nearkin.index.ids: conversion of ids, and how an index treats them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.index.ids import check_existing, check_ids, contains_id, new_ids, to_python_id

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)

NUMBERS: list[Any] = [
    [3, -1, 5],
    (3, -1, 5),
    np.array([3, -1, 5], dtype=np.int8),
    np.array([3, -1, 5], dtype=">i8"),
    np.array([3, 0, -1, 0, 5, 0])[::2],
    np.array([3, np.int16(-1), 5], dtype=object),
    np.ma.masked_array([3, -1, 5], mask=False),
    [np.int64(3), -1, np.int8(5)],
    {3: "x", -1: "y", 5: "z"},
    pd.Series([3, -1, 5], index=[7, 8, 9]),
    pd.Series([3, -1, 5], dtype="Int64"),
    pl.Series([3, -1, 5]),
    pa.array([3, -1, 5]),
    pa.chunked_array([[3], [-1, 5]]),
]

STRINGS: list[Any] = [
    ["b", "", "名"],
    ("b", "", "名"),
    np.array(["b", "", "名"]),
    np.array(["b", "", "名"], dtype=object),
    np.array(["b", "", "名"], dtype=np.dtypes.StringDType()),
    [np.str_("b"), "", "名"],
    {"b": 1, "": 2, "名": 3},
    pd.Series(["b", "", "名"]),
    pd.Series(["b", "", "名"], dtype="category"),
    pl.Series(["b", "", "名"]),
    pa.array(["b", "", "名"]),
    pa.chunked_array([["b"], ["", "名"]]),
]


def index_of(ids: Any) -> nk.HammingIndex:
    """Return an index whose rows have these ids."""
    index = nk.HammingIndex(bits=8)
    index.add(ids, np.arange(len(ids), dtype=np.uint64))
    return index


def all_ids(index: nk.HammingIndex, batch_size: int = 65_536) -> list[list[Any]]:
    """Return the ids of an index, collected from batches."""
    return [ids.tolist() for ids in index.iter_ids(batch_size=batch_size)]


@pytest.mark.parametrize("ids", NUMBERS, ids=lambda ids: f"{type(ids).__module__}.{type(ids).__name__}")
def test_integers_of_every_form_are_one_array(ids: Any) -> None:
    """Lists, arrays of any width, order and stride, and columns become a contiguous int64 array in the same order."""
    result = check_ids(ids)
    assert isinstance(result, np.ndarray)
    assert (np.dtype(np.int64), True) == (result.dtype, result.flags.c_contiguous)
    assert [3, -1, 5] == result.tolist()


@pytest.mark.parametrize("ids", STRINGS, ids=lambda ids: f"{type(ids).__module__}.{type(ids).__name__}")
def test_strings_of_every_form_are_one_list(ids: Any) -> None:
    """Lists, arrays of fixed and variable width, and columns become a list of str in the same order."""
    result = check_ids(ids)
    assert isinstance(result, list)
    assert ["b", "", "名"] == result


@given(st.lists(INT64, max_size=8))
def test_integers_stay_what_they_are(ids: list[int]) -> None:
    """Every 64-bit integer from a list, a generator, or an int64 or object array is preserved."""
    for given_ids in (ids, (number for number in ids), np.array(ids, dtype=np.int64), np.array(ids, dtype=object)):
        assert ids == check_ids(given_ids).tolist()  # type: ignore[union-attr]


@given(st.lists(NAMES, min_size=1, max_size=8))
def test_strings_stay_what_they_are(ids: list[str]) -> None:
    """Every encodable string is preserved, including null characters and trailing spaces."""
    assert ids == check_ids(ids) == check_ids(name for name in ids) == check_ids(np.array(ids, dtype=object))


@pytest.mark.parametrize("ids", [[], (), iter(()), np.zeros(0), np.zeros(0, dtype="U3"), pa.array([], pa.string())])
def test_no_ids_are_of_either_kind(ids: Any) -> None:
    """Any empty input becomes an empty int64 array, which an index of strings also accepts."""
    result = check_ids(ids)
    assert isinstance(result, np.ndarray)
    assert (np.dtype(np.int64), (0,)) == (result.dtype, result.shape)
    index = index_of(["a"])
    assert 0 == index.add(result, np.zeros(0, dtype=np.uint64)) == index.remove(result)


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=6))
def test_unsigned_integers_fit_below_half_of_their_range(ids: list[int]) -> None:
    """Both uint64 arrays and lists of Python integers are checked; the error names the largest value."""
    for given_ids in (np.array(ids, dtype=np.uint64), ids, np.array(ids, dtype=object)):
        if max(ids) < 1 << 63:
            assert ids == check_ids(given_ids).tolist()  # type: ignore[union-attr]
        else:
            with pytest.raises(ParameterError) as refused:
                check_ids(given_ids)
            assert f"ids={max(ids)} is not allowed; use integers below 2**63, or strings" == str(refused.value)
            assert ("ids", max(ids)) == (refused.value.name, refused.value.found)


@pytest.mark.parametrize("number", [1 << 63, 1 << 64, -(1 << 63) - 1, 10**30])
def test_integers_of_more_than_64_bits_are_named(number: int) -> None:
    """They are named even next to small ones of the other sign, which NumPy would convert to floats."""
    for ids in ([number], [number, -1], [1, number, -1]):
        with pytest.raises(ParameterError, match=rf"^ids={number} is not allowed; use integers below 2\*\*63"):
            check_ids(ids)


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        ([1.0, 2.0], "values of float"),
        (np.array([1.0], dtype=np.float32), "an array of float32"),
        ([1, 2.5], "values of float and int"),
        ([1, None], "values of NoneType and int"),
        (["a", None], "values of NoneType and str"),
        ([float("nan")], "values of float"),
        ([True, False], "values of bool"),
        (np.array([True, 1], dtype=object), "an array of object"),
        (np.array([1, "a"], dtype=object), "an array of object"),
        ([b"a"], "values of bytes"),
        ([1, "a"], "values of int and str is not allowed; use integers of 64 bits or strings"),
        ([1j], "values of complex"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "an array of datetime64[D]"),
        (pd.Series([1, None], dtype="Int64"), "an array of "),
        (pa.array(["a", None]), "values of NoneType and str"),
    ],
)
def test_what_is_neither_integers_nor_strings_is_refused(ids: Any, shown: str) -> None:
    """Floats (even integral ones), booleans, missing values, bytes, dates and mixed kinds are named in the error."""
    with pytest.raises(ParameterError) as refused:
        check_ids(ids)
    message = str(refused.value)
    assert message.startswith(f"ids={shown}")
    assert message.endswith(" is not allowed; use integers of 64 bits or strings, one kind in an index")


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        ([True, 2], "integers and booleans"),
        ([3, np.bool_(True)], "integers and booleans"),
        ((value for value in (1, False)), "integers and booleans"),
        ([1, [2]], "values of several shapes"),
    ],
)
def test_what_numpy_would_take_for_integers_is_refused(ids: Any, shown: str) -> None:
    """Booleans mixed with integers are rejected, and so are lists mixed with integers, which form no array."""
    with pytest.raises(ParameterError) as refused:
        check_ids(ids)
    allowed = "integers of 64 bits or strings, one kind in an index"
    assert f"ids={shown} is not allowed; use {allowed}" == str(refused.value)


@pytest.mark.parametrize("ids", [5, 5.0, True, object, "ab", b"ab", ""])
def test_one_value_is_no_list_of_ids(ids: Any) -> None:
    """A string is not its letters; the error shows how to pass a single id."""
    with pytest.raises(ParameterError) as refused:
        check_ids(ids)
    assert f"ids={ids!r} is not allowed; use an iterable of ids; [id] for one" == str(refused.value)


@pytest.mark.parametrize(
    ("ids", "shape"),
    [
        (np.int64(3), "()"),
        (np.array("a"), "()"),
        (np.zeros((2, 1), dtype=np.int64), "(2, 1)"),
        (np.zeros((0, 3), dtype=np.int64), "(0, 3)"),
        ([[1, 2]], "(1, 2)"),
    ],
)
def test_ids_have_one_dimension(ids: Any, shape: str) -> None:
    """Scalars and tables, including empty ones, are rejected with their shape."""
    with pytest.raises(ParameterError) as refused:
        check_ids(ids)
    assert f"ids=an array of shape {shape} is not allowed; use one dimension" == str(refused.value)


def test_what_lies_under_a_mask_is_no_id() -> None:
    """A masked array is rejected if any value is masked."""
    with pytest.raises(ParameterError, match=r"^ids=an array with masked values is not allowed; use an array without"):
        check_ids(np.ma.masked_array([1, 2], mask=[False, True]))


@pytest.mark.parametrize("code", [0xD800, 0xDCFF, 0xDFFF])
def test_lone_surrogates_are_refused_and_named(code: int) -> None:
    """The error names the character rather than the id; looking up such an id is not an error."""
    letter = chr(code)
    for ids in (["fine", f"a{letter}b"], np.array(["fine", f"a{letter}b"], dtype=object), iter([letter])):
        with pytest.raises(ParameterError) as refused:
            check_ids(ids)
        assert f"ids={letter!a} is not allowed; use strings without lone surrogates" == str(refused.value)
    # Two surrogates that form one character in UTF-16 are two here.
    with pytest.raises(ParameterError, match=r"^ids='\\ud83d' is not allowed"):
        check_ids(["\ud83d", "\ude00"])
    assert not contains_id(index_of(["a"])._core, f"a{letter}")
    assert ["\ud7ff\ue000"] == check_ids(["\ud7ff\ue000"])


def test_errors_of_an_iterable_are_its_own() -> None:
    """An exception of a generator is passed through unchanged, and nothing is added."""
    index = index_of([1, 2])
    with pytest.raises(ZeroDivisionError):
        index.add((1 // (number - 4) for number in (3, 4)), [1, 2])
    assert [[1, 2]] == all_ids(index)


def test_no_ids_stand_for_row_numbers() -> None:
    """Only None means row numbers, not an empty list."""
    assert new_ids(None) is None
    assert [] == new_ids([]).tolist()  # type: ignore[union-attr]
    assert ["a"] == new_ids(iter("a" for _ in range(1)))
    index = index_of(["a"])
    with pytest.raises(ParameterError, match="strings, as this index began"):
        index.add(None, [1])


@pytest.mark.parametrize("existing", ["replace", "", "Error", None, True, ["error"], b"skip"])
def test_an_unknown_rule_is_refused(existing: Any) -> None:
    """Any other value is rejected, and the index is unchanged."""
    with pytest.raises(ParameterError) as refused:
        check_existing(existing)
    assert f'existing={existing!r} is not allowed; use "error", "update" or "skip"' == str(refused.value)
    index = index_of([1])
    with pytest.raises(ParameterError, match=r"^existing="):
        index.add([2], [1], existing=existing)
    assert [[1]] == all_ids(index)


@given(st.lists(st.integers(0, 6), max_size=6), st.lists(st.integers(0, 6), max_size=8), st.booleans())
@settings(deadline=None)
def test_rules_for_ids_that_are_there(first: list[int], second: list[int], strings: bool) -> None:
    """Existing ids are rejected, updated or skipped as in a dictionary, for both kinds of ids."""
    key: Any = str if strings else int
    start = {key(number): position for position, number in enumerate(dict.fromkeys(first))}
    ids, values = [key(number) for number in second], [100 + position for position in range(len(second))]
    for rule in ("error", "update", "skip"):
        index = nk.HammingIndex(bits=8)
        index.add(list(start), list(start.values()))
        expected = dict(start)
        if rule == "error" and (len(set(ids)) < len(ids) or set(ids) & set(start)):
            with pytest.raises(ParameterError, match=r"already there|twice in this call"):
                index.add(ids, values)
        else:
            index.add(ids, values, existing=rule)
            for name, value in zip(ids, values, strict=True):
                if rule != "skip" or name not in expected:
                    expected[name] = value
        assert len(expected) == len(index)
        result = {name: index.search([value], radius=0)[0].ids.tolist() for name, value in expected.items()}
        assert {name: [name] for name in expected} == result


@given(st.sets(INT64, max_size=8), st.lists(INT64, max_size=4), st.data())
@settings(deadline=None)
def test_removal_is_that_of_a_set(there: set[int], others: list[int], data: st.DataObject) -> None:
    """Repeated ids are removed once; a missing id is rejected unless `missing_ok` is set."""
    index = index_of(sorted(there))
    named = data.draw(st.permutations([*data.draw(st.lists(st.sampled_from(sorted(there) or [0]))), *others]))
    missing = [number for number in named if number not in there]
    if missing:
        with pytest.raises(ParameterError) as refused:
            index.remove(named)
        message = str(refused.value)
        assert message.endswith(" (not there) is not allowed; use ids of the index, or missing_ok=True")
        assert message.split(" ")[0] in {f"ids={number}" for number in missing}
        assert len(there) == len(index)
    assert len(there & set(named)) == index.remove(iter(named), missing_ok=True)
    assert sorted(there - set(named)) == [number for batch in all_ids(index) for number in batch]


def test_ids_of_the_other_kind_are_not_there() -> None:
    """They are never found or removed, and adding them is an error."""
    for ids, other in (([1, 2], "1"), (["1", "2"], 1)):
        index = index_of(ids)
        assert other not in index
        with pytest.raises(ParameterError, match=r"\(not there\)"):
            index.remove([other])
        assert 0 == index.remove([other], missing_ok=True)
        with pytest.raises(ParameterError, match="as this index began"):
            index.add([other], [9], existing="skip")
        assert [ids] == all_ids(index)


def test_only_an_id_can_be_there() -> None:
    """Integers of any type except bool, and strings, can be members; other values are simply not contained."""
    index = index_of([0, 1, -(1 << 63), (1 << 63) - 1])
    for there in (0, 1, np.int8(1), np.uint64(1), -(1 << 63), (1 << 63) - 1, np.int64(-(1 << 63))):
        assert there in index
    for absent in (True, False, np.True_, 1.0, None, "1", b"1", (1,), [1], 1 << 63, -(1 << 63) - 1, 10**40, 2):
        assert absent not in index
    assert np.str_("a") in index_of(["a"])
    assert "\ud83d\ude00" not in index_of(["😀"])


@given(st.integers(0, 12), st.integers(1, 14))
@settings(deadline=None)
def test_batches_of_ids_are_cut_by_size(count: int, size: int) -> None:
    """Ids are in order of addition; only the last batch is smaller, and none is empty."""
    names = [f"{17 * number % 13}" for number in range(count)]
    assert [names[at : at + size] for at in range(0, count, size)] == all_ids(index_of(names), size)


def test_a_batch_that_was_removed_meanwhile_is_not_given() -> None:
    """Each batch is read on demand; rows added during the iteration come last."""
    index = index_of([5, 6, 7, 8])
    batches = index.iter_ids(batch_size=2)
    assert [5, 6] == next(batches).tolist()
    index.remove([7])
    index.add([4], [1])
    assert [[8, 4]] == [ids.tolist() for ids in batches]


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0"), (-1, "-1"), (1 << 32, "4294967296"), (True, "True"), (2.0, "2.0"), ("2", "'2'")]
)
def test_a_batch_size_is_checked_at_the_call(size: Any, shown: str) -> None:
    """The error is raised before the first batch is requested."""
    with pytest.raises(ParameterError) as refused:
        index_of([1]).iter_ids(batch_size=size)
    assert f"batch_size={shown} is not allowed; use 1 to 2**32 - 1" == str(refused.value)


def test_a_match_names_its_id_as_python_does() -> None:
    """Integer ids are Python integers, and a str is returned as the same object."""
    for ids, kind in (([7], int), (["x"], str)):
        result = index_of(ids).search([0], radius=0)[0]
        assert (ids[0], kind) == (result[0].id, type(result[0].id))
        assert (ids[0], kind) == (to_python_id(result.ids[0]), type(to_python_id(result.ids[0])))
