"""Arrow columns with invalid bytes, offsets, views or keys: an error that names the row.

`pyarrow.parquet.read_table` does not validate the bytes of a file, and nothing validates everything that IPC produces.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin import errors

RECIPE = "char:2|count|xxh3|simhash:64"
BAD = [b"\xff", b"ab\xc3", b"\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"long enough for a view of its own \xe4"]
KINDS = [
    "string",
    "large_string",
    "string_view",
    "dictionary",
    "large_dictionary",
    "view_dictionary",
    "table",
    "chunked",
]


def column(values: Sequence[bytes | None], kind: str) -> Any:
    """Return an Arrow column of a string type whose bytes were not validated."""
    binary = pa.array(values, pa.binary())
    if kind in ("table", "chunked"):
        half = len(values) // 2
        parts = [column(values[:half], "string"), column(values[half:], "string")]
        chunked = pa.chunked_array(parts, pa.string())
        return chunked if kind == "chunked" else pa.table({"text": chunked})
    if kind.endswith("dictionary"):
        distinct = list(dict.fromkeys(value for value in values if value is not None))
        inner = {"dictionary": "string", "large_dictionary": "large_string", "view_dictionary": "string_view"}[kind]
        keys = [None if value is None else distinct.index(value) for value in values]
        return pa.DictionaryArray.from_arrays(pa.array(keys, pa.int16()), column(distinct, inner))
    if kind == "large_string":
        wide = binary.cast(pa.large_binary())
        return pa.Array.from_buffers(pa.large_string(), len(wide), wide.buffers())
    if kind == "string_view":
        views = binary.cast(pa.binary_view())
        return pa.Array.from_buffers(pa.string_view(), len(views), views.buffers())
    return pa.Array.from_buffers(pa.string(), len(binary), binary.buffers())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", BAD, ids=repr)
@pytest.mark.parametrize("row", [0, 2500, 4999])
def test_bytes_that_are_not_utf8_name_their_row(kind: str, bad: bytes, row: int) -> None:
    """Invalid bytes in the first, a middle and the last row of every type are found, also in slices."""
    values: list[bytes | None] = [b"a text, \xc3\xa9", None, b""] * 1666 + [b"last"] * 2
    values[row] = bad
    given_column = column(values, kind)
    for texts, number in ((given_column, row), (given_column.slice(max(row - 7, 0)), min(row, 7))):
        with pytest.raises(errors.InputError, match=rf"^text {number}: is not UTF-8: byte 0x"):
            nk.fingerprint(texts, RECIPE)
    whole = given_column.slice(row + 1)
    expected = [None if value is None else value.decode() for value in values[row + 1 :]]
    assert nk.fingerprint(expected, RECIPE).tolist() == nk.fingerprint(whole, RECIPE).tolist()


def is_utf8(value: bytes) -> bool:
    """Return True if Python can decode the bytes."""
    return value.decode(errors="replace").encode() == value


@pytest.mark.parametrize("kind", KINDS)
@given(values=st.lists(st.none() | st.binary(max_size=20) | st.text(max_size=6).map(str.encode), max_size=12))
def test_any_bytes_are_texts_or_an_error(kind: str, values: list[bytes | None]) -> None:
    """Columns of valid UTF-8 give the fingerprints of a list; others raise an error with the first invalid row."""
    broken = [row for row, value in enumerate(values) if value is not None and not is_utf8(value)]
    if broken:
        with pytest.raises(errors.InputError, match=rf"^text {broken[0]}: is not UTF-8"):
            nk.fingerprint(column(values, kind), RECIPE)
    else:
        texts = [None if value is None else value.decode() for value in values]
        assert nk.fingerprint(texts, RECIPE).tolist() == nk.fingerprint(column(values, kind), RECIPE).tolist()


@given(first=st.binary(max_size=9), second=st.binary(max_size=9))
def test_values_that_are_utf8_only_together_are_refused(first: bytes, second: bytes) -> None:
    """A character that is split between two rows is in neither of them."""
    whole = first + "é".encode() + second
    cut = len(first) + 1
    packed = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(struct.pack("3i", 0, cut, len(whole))), pa.py_buffer(whole)]
    )
    with pytest.raises(errors.InputError, match=r"^text 0: is not UTF-8"):
        nk.fingerprint(packed, RECIPE)


def test_bytes_under_a_null_are_nobodys() -> None:
    """Arrow does not define the bytes of a null."""
    packed = pa.Array.from_buffers(
        pa.string(),
        3,
        [pa.py_buffer(b"\x05"), pa.py_buffer(struct.pack("4i", 0, 1, 3, 4)), pa.py_buffer(b"a\xff\xfeb")],
    )
    assert nk.fingerprint(["a", None, "b"], RECIPE).tolist() == nk.fingerprint(packed, RECIPE).tolist()


OFFSETS = [
    [0, 3, 2, 6],
    [0, 7, 6, 6],
    [-1, 2, 4, 6],
    [0, 2, -4, 6],
    [6, 4, 2, 0],
    [0, 2, 4, 7],
    [0, 2, 4, 2**31 - 1],
    [0, 2, 4, -(2**31)],
    [2**31 - 1, 2, 4, 6],
]


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize(("kind", "code"), [(pa.string(), "i"), (pa.large_string(), "q")], ids=["string", "large"])
def test_offsets_that_descend_or_leave_the_data_are_refused(offsets: list[int], kind: pa.DataType, code: str) -> None:
    """Invalid offsets are rejected in the full column, and where a slice hides the rows before or after."""
    values = np.array([0, 2, 4, 6], code)
    texts = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(values), pa.py_buffer(b"abcdef")])
    parts = [texts.slice(start, length) for start, length in ((0, 1), (1, 1), (2, 1), (1, 2))]
    # Change the offsets after pyarrow has checked them.
    values[:] = offsets
    with pytest.raises(errors.InputError, match=r"^(Arrow data|text \d): "):
        nk.fingerprint(texts, RECIPE)
    for part, (start, end) in zip(parts, ((0, 1), (1, 2), (2, 3), (1, 3)), strict=True):
        rows = offsets[start : end + 1]
        if rows == sorted(rows) and rows[0] >= 0 and rows[-1] <= 6:
            expected = [b"abcdef"[first:last].decode() for first, last in pairwise(rows)]
            assert nk.fingerprint(expected, RECIPE).tolist() == nk.fingerprint(part, RECIPE).tolist()
        else:
            with pytest.raises(errors.InputError, match=r"^(Arrow data|text \d): "):
                nk.fingerprint(part, RECIPE)


VIEWS = [
    struct.pack("<i4sii", -1, b"abcd", 0, 0),
    struct.pack("<i4sii", 13, b"abcd", 1, 0),
    struct.pack("<i4sii", 13, b"abcd", -1, 0),
    struct.pack("<i4sii", 13, b"abcd", 0, -1),
    struct.pack("<i4sii", 13, b"abcd", 0, 10),
    struct.pack("<i4sii", 2**31 - 1, b"abcd", 0, 2**31 - 1),
]


@pytest.mark.parametrize("view", VIEWS, ids=range(len(VIEWS)))
def test_views_that_leave_their_buffers_are_refused(view: bytes) -> None:
    """Lengths, buffer numbers and offsets are arbitrary."""
    good = struct.pack("<i12s", 3, b"abc")
    buffers = [None, pa.py_buffer(good + view), pa.py_buffer(b"a long string, kept")]
    with pytest.raises(errors.InputError, match=r"^(Arrow data|text 1): "):
        nk.fingerprint(pa.Array.from_buffers(pa.string_view(), 2, buffers), RECIPE)


@pytest.mark.parametrize("keys", [[0, 2], [0, -1], [127, 0]])
def test_keys_outside_of_their_dictionary_are_refused(keys: list[int]) -> None:
    """A key must be a row of the dictionary."""
    texts = pa.DictionaryArray.from_arrays(pa.array(keys, pa.int8()), pa.array(["a", "b"]), safe=False)
    with pytest.raises(errors.InputError, match=r"text \d: has the key -?\d+; the dictionary has 2 entries"):
        nk.fingerprint(texts, RECIPE)


def test_entries_of_a_dictionary_that_no_row_names_are_nobodys() -> None:
    """Filters leave dictionaries unchanged, so unused entries are not validated."""
    texts = pa.DictionaryArray.from_arrays(pa.array([1, 1]), column([b"\xff", b"b"], "string"))
    assert nk.fingerprint(["b", "b"], RECIPE).tolist() == nk.fingerprint(texts, RECIPE).tolist()


def test_files_of_parquet_with_other_bytes_name_the_row(tmp_path: Path) -> None:
    """The file is read without validation, as a table and by pandas."""
    pd = pytest.importorskip("pandas")
    pq.write_table(pa.table({"text": column([b"fine", b"caf\xe9"], "string")}), tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    series = pd.Series(pd.arrays.ArrowExtensionArray(table["text"]))
    for texts in (table, table["text"], table.to_batches()[0], series):
        with pytest.raises(errors.InputError, match=r"^text 1: is not UTF-8: byte 0xe9 at byte 4"):
            nk.fingerprint(texts, RECIPE)


def readers() -> list[Callable[[Any], object]]:
    """Return every call that reads a column of texts or digests."""
    return [
        lambda texts: nk.fingerprint(texts, RECIPE),
        lambda texts: nk.signature(texts),
        lambda texts: nk.words(texts),
        lambda texts: nk.ssdeep.compare_many("3:abc:abc", texts),
        lambda texts: nk.DigestIndex().add(None, texts),
    ]


@pytest.mark.parametrize("reader", readers(), ids=range(5))
def test_every_reader_of_columns_checks_them(reader: Callable[[Any], object]) -> None:
    """Texts, words and digests are all read through the same validation."""
    for kind in KINDS:
        with pytest.raises(errors.InputError, match=r"(text|row) 1: is not UTF-8"):
            reader(column([b"3:abc:abc", b"3:\xff:abc", b"3:abc:abc"], kind))


def test_a_column_is_passed_once() -> None:
    """Capsules that were already consumed are an error."""
    capsules = pa.array(["a"]).__arrow_c_array__()
    stream = pa.chunked_array([["a"]]).__arrow_c_stream__()
    for again in (
        SimpleNamespace(__arrow_c_array__=lambda: capsules),
        SimpleNamespace(__arrow_c_stream__=lambda: stream),
    ):
        nk.fingerprint(again, RECIPE)
        with pytest.raises(errors.InputError, match="it is released already; pass it once"):
            nk.fingerprint(again, RECIPE)


@pytest.mark.parametrize("writable", [False, True])
def test_buffers_are_read_as_they_were_when_they_were_checked(writable: bool) -> None:
    """Writable arrays are copied; views, strides and misaligned offsets give the same texts."""
    data = np.frombuffer("añb中c".encode(), np.uint8).copy()
    offsets = np.array([0, 1, 3, 4, 7, 8], np.int64)
    data.flags.writeable = offsets.flags.writeable = writable
    odd = np.frombuffer(b"x" + offsets.tobytes(), np.uint8)[1:].view(np.int64)
    strided = np.repeat(offsets, 2)[::2]
    expected = nk.fingerprint(list("añb中c"), RECIPE).tolist()
    for values in (offsets, odd, strided):
        for bytes_ in (data, np.repeat(data, 3)[::3]):
            packed: Any = SimpleNamespace(offsets=values, data=bytes_)
            assert expected == nk.fingerprint(packed, RECIPE).tolist()
