"""nearkin.text.batches: every container of texts gives the same result."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import nearkin as nk
from nearkin import errors
from nearkin.io import PackedTexts
from nearkin.text import batches
from nearkin.text.batches import Texts, hash_batches, iterate_batches

TEXTS: list[str | None] = ["a", None, "", "é"]


def lengths(texts: Texts) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the length of each text, and 1 for each text that is not missing."""
    assert isinstance(texts, Iterable)
    result = [(0, 0) if text is None else (len(text), 1) for text in texts]
    return np.array([pair[0] for pair in result], np.uint64), np.array([pair[1] for pair in result], np.uint64)


@pytest.mark.parametrize(
    "whole",
    [
        TEXTS,
        tuple(TEXTS),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS, TEXTS]),
        PackedTexts.of(TEXTS),
        "one string",
    ],
    ids=lambda whole: type(whole).__name__,
)
def test_what_can_be_read_in_place_is_one_batch(whole: Any) -> None:
    """The same object is passed on without a copy."""
    result = list(iterate_batches(whole))
    assert 1 == len(result)
    assert whole is result[0]


def test_columns_of_objects_are_lists() -> None:
    """NumPy strings are unchanged, and missing values of pandas are None."""
    assert [["a", "b"]] == list(iterate_batches(np.array(["a", "b"])))
    cells = ["a", float("nan"), "b", None]
    column: Any = SimpleNamespace(to_numpy=None, tolist=lambda: cells)
    assert [["a", None, "b", None]] == list(iterate_batches(column))


@given(count=st.integers(0, 30), batch=st.integers(1, 7))
def test_iterators_are_read_in_bounded_batches(count: int, batch: int) -> None:
    """No batch is empty or exceeds the limit, and together they are all texts in order."""
    texts = [str(i) for i in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "_BATCH", batch)
        result: list[Any] = list(iterate_batches(iter(texts)))
        values, counts = hash_batches(lengths, (text for text in texts), np.uint64)
    assert texts == [text for part in result for text in part]
    assert all(1 <= len(part) <= batch for part in result)
    assert [len(text) for text in texts] == values.tolist()
    assert [1] * count == counts.tolist()
    assert ("uint64", "uint64") == (str(values.dtype), str(counts.dtype))


def test_iterators_are_not_read_ahead() -> None:
    """The second batch is read after the first one is processed, so memory is bounded."""
    read: list[int] = []

    def texts() -> Iterable[str]:
        for i in range(10):
            read.append(i)
            yield str(i)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "_BATCH", 4)
        result = iter(iterate_batches(texts()))
        assert ["0", "1", "2", "3"] == next(result)
    assert [0, 1, 2, 3] == read


RECIPE = "char:2|count|xxh3|simhash:64"


@pytest.mark.parametrize(
    "same",
    [
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS).dictionary_encode(),
        pa.chunked_array([TEXTS[:1], [], TEXTS[1:]]),
        pa.table({"text": TEXTS}),
        pa.record_batch({"text": TEXTS}),
        PackedTexts.of(TEXTS),
        pd.Series(TEXTS, dtype=object),
        pd.Series(TEXTS).astype("category"),
        iter(TEXTS),
    ],
    ids=["large", "view", "dictionary", "chunks", "table", "record batch", "packed", "objects", "category", "iterator"],
)
def test_every_layout_gives_the_same_fingerprints(same: Any) -> None:
    """All Arrow layouts with nulls equal the list."""
    expected, counts = nk.fingerprint(TEXTS, RECIPE, return_counts=True)
    result, found_counts = nk.fingerprint(same, RECIPE, return_counts=True)
    assert (expected.tolist(), counts.tolist()) == (result.tolist(), found_counts.tolist())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports pages that cannot be read")
@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()], ids=["offsets", "views"])
def test_a_slice_reads_nothing_of_other_rows(kind: pa.DataType) -> None:
    """The bytes of other rows may be unreadable; otherwise all slices of a column would take quadratic time."""
    page, text = mmap.PAGESIZE, b"a text of twenty-four by"
    memory = mmap.mmap(-1, 2 * page)
    memory[:] = text[:16] * (2 * page // 16)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    halves = [pa.foreign_buffer(address + at * page, page, memory) for at in range(2)]
    if kind == pa.string():
        offsets = pa.py_buffer(np.array([0, page, page + 32], np.int32))
        buffers = [None, offsets, pa.foreign_buffer(address, 2 * page, memory)]
    else:
        views = np.array([[32, 0, at, 0] for at in range(2)], np.int32)
        views[:, 1] = np.frombuffer(text[:4], np.int32)
        buffers = [None, pa.py_buffer(views), *halves]
    column = pa.Array.from_buffers(kind, 2, buffers)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), page, 0) == 0
    try:
        assert nk.fingerprint(column.slice(1), RECIPE) == nk.fingerprint([(text[:16] * 2).decode()], RECIPE)
        with pytest.raises(errors.InputError, match="more than the memory"):
            nk.fingerprint(column, RECIPE)
    finally:
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), page, 3)


def test_null_columns_are_missing_texts() -> None:
    """A column of Arrow's null type has only missing texts."""
    assert [0, 0] == nk.fingerprint(pa.nulls(2), RECIPE).tolist()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (pa.array([1, 2]), "the Arrow array holds Int64; texts are utf8, large_utf8, string_view or dictionaries"),
        (pa.array([b"a"]), "the Arrow array holds Binary"),
        (pa.table({"a": ["x"], "b": ["y"]}), "the table has the columns a, b; pass the one that holds the texts"),
        ("text", r"one str is not a list of texts; write \[text\]"),
        (["a", 7], "text 1 is of type int; texts are str or None"),
        ([b"a"], "text 0 is of type bytes; texts are str or None"),
        (7, "int is no list of texts; pass a list, a generator or a column of str or None"),
    ],
)
def test_what_holds_no_texts_is_a_type_error(wrong: Any, message: str) -> None:
    """The message contains the type and a remedy."""
    with pytest.raises(TypeError, match=message):
        nk.fingerprint(wrong, RECIPE)


@pytest.mark.parametrize(
    ("offsets", "data", "error", "message"),
    [
        ([0, 3], b"ab", errors.ParameterError, "offsets=0 to 3 is not allowed; use ascending numbers within 0 to 2"),
        ([1, 0], b"ab", errors.ParameterError, "offsets=1 to 0 is not allowed"),
        ([-1, 1], b"ab", errors.ParameterError, "offsets=-1 to 1 is not allowed"),
        ([0, 1], b"\xff", errors.InputError, "text 0: is not UTF-8"),
        ([0, 1, 2], "é".encode(), errors.InputError, "text 0: is not UTF-8"),
    ],
)
def test_damaged_buffers_are_refused(offsets: list[int], data: bytes, error: type[Exception], message: str) -> None:
    """Offsets out of range and invalid UTF-8 raise errors."""
    texts: Any = SimpleNamespace(offsets=np.array(offsets, np.int64), data=np.frombuffer(data, np.uint8))
    with pytest.raises(error, match=message):
        nk.fingerprint(texts, RECIPE)


@pytest.mark.parametrize("call", [nk.dedup, nk.fingerprint, nk.signature, nk.words, nk.passages, nk.KnownTexts])
def test_a_dictionary_is_not_a_list_of_texts(call: Callable[[object], object]) -> None:
    """The keys of a dictionary would be read as texts."""
    with pytest.raises(TypeError, match=r"one dict is not a list of texts; write list\(texts\.values\(\)\)"):
        call({"a": "one text", "b": "another"})
