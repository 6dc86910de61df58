"""nearkin.index.fingerprints: distances and conversions of packed fingerprints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import MismatchError, ParameterError
from nearkin.index.fingerprints import from_bytes, from_hex, from_integers, from_signed, to_bytes, to_hex, to_signed
from strategies import random_fingerprints


def test_distances_broadcast() -> None:
    """One fingerprint is compared with every row of the other argument."""
    rng = np.random.default_rng(1)
    a, b = random_fingerprints(rng, 256, 20), random_fingerprints(rng, 256, 20)
    expected = [sum(int(x ^ y).bit_count() for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True)]
    assert expected == nk.hamming(a, b).tolist()
    assert [nk.hamming(a[i : i + 1], b[:1])[0] for i in range(20)] == nk.hamming(a, b[0]).tolist()
    assert 64 == nk.hamming(2**64 - 1, 0)
    assert [1, 2, 1] == nk.hamming([1, 3, 2], 0).tolist()
    assert [2, 0] == nk.hamming([2**64 - 1, 3 << 62 | 1], [2**64 - 4, 3 << 62 | 1]).tolist()


@given(st.integers(1, 1024), st.data())
def test_conversions_are_inverses(bits: int, data: st.DataObject) -> None:
    """Hex digits, packed bytes and signed words represent the same bits."""
    values = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=5))
    texts = [f"{value:0{-(-bits // 4)}x}" for value in values]
    fps = from_hex(texts, bits)
    assert texts == to_hex(fps, bits)
    assert np.array_equal(fps, from_bytes(to_bytes(fps, bits), bits))
    assert np.array_equal(fps, from_signed(to_signed(fps)))
    assert [v.to_bytes(-(-bits // 8), "little") for v in values] == [row.tobytes() for row in to_bytes(fps, bits)]


WIDTHS = st.one_of(st.sampled_from([1, 7, 8, 63, 64, 65, 127, 128, 129, 1023, 1024]), st.integers(1, 1024))


def packed(values: list[int], bits: int) -> Any:
    """Return fingerprints of Python integers by their definition: bit i is bit i % 64 of word i // 64."""
    words = -(-bits // 64)
    rows = [[value >> 64 * word & 2**64 - 1 for word in range(words)] for value in values]
    array = np.array(rows, dtype=np.uint64).reshape(len(values), words)
    return array[:, 0].copy() if words == 1 else array


@given(WIDTHS, st.data())
@settings(deadline=None)
def test_conversions_are_those_of_pythons_integers(bits: int, data: st.DataObject) -> None:
    """Digits, bytes and signed words round-trip and agree with `int` for the same number."""
    values = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=4))
    fps = packed(values, bits)
    words, width = -(-bits // 64), -(-bits // 8)
    assert [format(value, "x").zfill(-(-bits // 4)) for value in values] == to_hex(fps, bits)
    for spell in ("{:x}", "0x{:X}", "{:#x}", "0000{:x}"):
        result = from_hex((spell.format(value) for value in values), bits)
        assert (np.dtype(np.uint64), fps.tolist()) == (result.dtype, result.tolist())
        assert fps.shape == result.shape
    codes = to_bytes(fps, bits)
    assert (np.dtype(np.uint8), (len(values), width), True) == (codes.dtype, codes.shape, codes.flags.c_contiguous)
    assert values == [int.from_bytes(row.tobytes(), "little") for row in codes]
    back = from_bytes(codes, bits)
    assert (fps.shape, fps.tolist()) == (back.shape, back.tolist())
    signed = to_signed(fps)
    expected = [
        int.from_bytes((value >> 64 * word & 2**64 - 1).to_bytes(8, "little"), "little", signed=True)
        for value in values
        for word in range(words)
    ]
    assert (np.dtype(np.int64), fps.shape, expected) == (signed.dtype, signed.shape, signed.ravel().tolist())
    assert fps.tolist() == from_signed(signed).tolist()


@given(WIDTHS, st.data())
@settings(deadline=None)
def test_distances_are_bit_counts(bits: int, data: st.DataObject) -> None:
    """Rows are compared pairwise, one with many on either side, and one with one; lists work like arrays."""
    numbers = st.integers(0, 2**bits - 1)
    count = data.draw(st.integers(1, 5))
    left, right = (data.draw(st.lists(numbers, min_size=count, max_size=count)) for _ in range(2))
    a, b = packed(left, bits), packed(right, bits)
    rows: Any = nk.hamming(a, b)
    assert np.dtype(np.uint16) == rows.dtype
    assert [(x ^ y).bit_count() for x, y in zip(left, right, strict=True)] == rows.tolist()
    expected = [(x ^ right[0]).bit_count() for x in left]
    for first in (b[0], b[:1], b[0].tolist() if bits > 64 else int(b[0])):
        assert (
            expected == np.asarray(nk.hamming(a, first)).tolist() == np.asarray(nk.hamming(first, a.tolist())).tolist()
        )
    single = nk.hamming(a[0], b[0], bits=bits)
    assert (int, expected[0]) == (type(single), single)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_integers_of_every_form_are_one_fingerprint_each(values: list[int]) -> None:
    """Lists, generators, object arrays, other byte orders and strides give the same uint64 values."""
    array = np.array(values, dtype=np.uint64)
    for given_values in (
        values,
        (value for value in values),
        array.astype(">u8"),
        np.repeat(array, 2)[::2],
        np.ma.masked_array(array, mask=False),
        array.reshape(-1, 1),
    ):
        assert [format(value, "016x") for value in values] == to_hex(given_values)  # type: ignore[arg-type]  # a generator
    small = np.array([value & 127 for value in values], dtype=np.int8)
    assert small.tolist() == from_bytes(to_bytes(small, 7), 7).tolist()


@given(st.data(), st.integers(1, 200))
def test_digits_are_fingerprints(data: st.DataObject, bits: int) -> None:
    """Strings of digits have the distance of the integers that they write, alone, in lists, and in an index."""
    texts = data.draw(st.lists(st.text("01", min_size=bits, max_size=bits), min_size=2, max_size=4))
    expected = [sum(a != b for a, b in zip(texts[0], text, strict=True)) for text in texts]
    assert expected == [nk.hamming(texts[0], text) for text in texts]
    assert expected[1] == nk.hamming(list(texts[0]), list(texts[1]))
    rows = from_integers((int(text, 2) for text in texts), bits)
    if bits > 1:
        assert expected == np.asarray(nk.hamming(texts[0], texts)).tolist()
        assert expected == np.asarray(nk.hamming(rows[0], texts, bits=bits)).tolist()
        index = nk.HammingIndex(bits)
        index.add(range(len(texts)), np.array(texts))
        assert sorted(expected) == index.search(texts[0], bits).distances.tolist()


def test_bits_of_explain_are_fingerprints() -> None:
    """The distance of what `explain` writes is that of the fingerprints."""
    texts = ["the quick brown fox", "the quick brown dog"]
    a, b = nk.fingerprint(texts)
    assert nk.hamming(a, b, bits=128) == nk.hamming(*(nk.explain(text).bits for text in texts))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (-1, "a=negative values is not allowed; use uint64; `from_signed` turns signed 64-bit values into it"),
        ([3, -1], "a=negative values is not allowed"),
        ([2**64], "a=values outside uint64 is not allowed; use integers from 0 to 2**64 - 1"),
        ([2**63, -1], "a=values outside uint64 is not allowed"),
        ([None], "a=values outside uint64 is not allowed"),
        ([1.0], "a=values that are not integers is not allowed; use integers from 0 to 2**64 - 1"),
        ([1, 2.5], "a=values that are not integers is not allowed"),
        (np.array([1.0]), "a=an array of float64 is not allowed; use uint64"),
        (np.array([1], dtype=object), "a=an array of object is not allowed; use uint64"),
        ([True], "a=an array of bool is not allowed; use uint64"),
        (["a"], "a=['a'] is not allowed; use strings of 1 to 1024 digits 0 and 1"),
        (np.ma.masked_array([1], mask=[True]), "a=an array with masked values is not allowed"),
        (np.zeros((1, 1, 1), dtype=np.uint64), "shape=(1, 1, 1) and () is not allowed; use at most two dimensions"),
        (np.zeros((2, 17), dtype=np.uint64), "words of a fingerprint differs: 17 against 1"),
    ],
)
def test_what_is_no_fingerprint_has_no_distance(values: Any, message: str) -> None:
    """Errors for negative or large values, fractions, booleans, strings and masked values state what is allowed."""
    with pytest.raises((ParameterError, MismatchError)) as refused:
        nk.hamming(values, 0)
    assert str(refused.value).startswith(message)
    with pytest.raises(type(refused.value)):
        nk.hamming(0, values)


def test_fingerprints_of_other_widths_or_counts_have_no_distance() -> None:
    """Both numbers are named; nothing is truncated or repeated to fit."""
    two, four = np.zeros((3, 2), dtype=np.uint64), np.zeros((3, 4), dtype=np.uint64)
    calls: list[tuple[Any, Any, int | None, str]] = [
        (two, four, None, "words of a fingerprint differs: 2 against 4"),
        (two, 5, None, "words of a fingerprint differs: 2 against 1"),
        (two[0], two[0], 256, "words of a fingerprint differs: 2 and 2 against 4 for bits=256"),
        (four[0], two[0], 256, "words of a fingerprint differs: 4 and 2 against 4 for bits=256"),
        ([1, 2], [1, 2, 3], None, "number of rows differs: 2 against 3"),
        (two, two[:2], None, "number of rows differs: 3 against 2"),
        ([], [1, 2], None, "number of rows differs: 0 against 2"),
    ]
    for a, b, bits, message in calls:
        with pytest.raises(MismatchError) as refused:
            nk.hamming(a, b, bits=bits)
        assert f"{message}; compare only values that share it" == str(refused.value)
    for words, message in ((17, "words=17 is not allowed; use 1 to 16"), (0, "use at least one word per fingerprint")):
        wide = np.zeros((2, words), dtype=np.uint64)
        with pytest.raises(ParameterError, match=message):
            nk.hamming(wide, wide)
    assert [] == np.asarray(nk.hamming([], 1)).tolist() == np.asarray(nk.hamming([], [])).tolist()


@pytest.mark.parametrize(("bits", "shown"), [(0, "0"), (1025, "1025"), (-64, "-64"), (True, "True"), (64.0, "64.0")])
def test_a_width_is_1_to_1024(bits: Any, shown: str) -> None:
    """Every function checks the width."""
    for call in (
        lambda: nk.hamming([1], [1], bits=bits),
        lambda: to_hex([1], bits),
        lambda: from_hex(["1"], bits),
        lambda: to_bytes([1], bits),
        lambda: from_bytes(np.zeros((1, 8), dtype=np.uint8), bits),
    ):
        with pytest.raises(ParameterError) as refused:
            call()
        assert f"bits={shown} is not allowed; use 1 to 1024" == str(refused.value)


@given(WIDTHS, st.integers(0, 2**1100), st.data())
@settings(deadline=None)
def test_bits_above_the_width_are_refused(bits: int, above: int, data: st.DataObject) -> None:
    """Extra bits in digits, words and bytes are rejected rather than dropped silently."""
    value = data.draw(st.integers(0, 2**bits - 1)) | 2**bits << above % 64
    with pytest.raises(ParameterError) as refused:
        from_hex([format(value, "x")], bits)
    assert f"text='{value:x}' is not allowed; use a hexadecimal number below 2**{bits}" == str(refused.value)
    message = f"fps=a row with a bit at or above bits is not allowed; use fingerprints below 2**{bits}"
    # The highest unused bit of the last word, and of the last byte.
    for unit, call in ((64, to_hex), (64, to_bytes), (8, from_bytes)):
        if bits % unit:
            size = -(-bits // unit) * unit
            rows: Any = packed([0, 1 << size - 1], size)
            with pytest.raises(ParameterError) as refused:
                call(rows if unit == 64 else to_bytes(rows, size), bits)
            assert message == str(refused.value)


@pytest.mark.parametrize("text", ["", "-1", "0x", "g", "1.0", b"\xff", None, 255, "1 1"])
def test_a_text_that_is_no_number_is_named(text: Any) -> None:
    """The error shows the value, whatever its type."""
    with pytest.raises(ParameterError) as refused:
        from_hex(["1", text])
    assert f"text={text!r} is not allowed; use a hexadecimal number below 2**64" == str(refused.value)


def test_other_shapes_and_types_are_refused_by_conversions() -> None:
    """A text instead of a list, rows of another width, invalid signed words and invalid bytes are rejected."""
    calls: list[tuple[Any, str]] = [
        (lambda: from_hex("ff"), "texts='ff' is not allowed; use an iterable of strings; [text] for one"),
        (lambda: to_hex([[1, 2]]), "fps=an array of shape (1, 2) is not allowed; use uint64 of shape (n,) for bits=64"),
        (
            lambda: to_bytes([1, 2, 3], 128),
            "fps=an array of shape (3,) is not allowed; use uint64 of shape (n, 2) for bits=128",
        ),
        (lambda: to_signed([-1]), "fps=negative values is not allowed; use uint64; `from_signed` turns"),
        (lambda: from_signed([1.0]), "values=an array of float64 is not allowed; use signed integers of at most 64"),
        (lambda: from_signed(np.array([1], dtype=np.uint64)), "values=an array of uint64 is not allowed; use signed"),
        (lambda: from_signed(["1"]), "values=an array of <U1 is not allowed; use signed integers"),
        (lambda: from_signed(np.ma.masked_array([1], mask=[True])), "values=an array with masked values is not"),
        (
            lambda: from_bytes(np.zeros((1, 2), dtype=np.int8), 16),
            "codes=int8 of shape (1, 2) is not allowed; use uint8 of shape (n, 2)",
        ),
        (
            lambda: from_bytes(np.zeros((1, 2), dtype=np.uint8), 8),
            "codes=uint8 of shape (1, 2) is not allowed; use uint8 of shape (n, 1)",
        ),
        (lambda: from_bytes(np.zeros(8, dtype=np.uint8)), "codes=uint8 of shape (8,) is not allowed"),
    ]
    for call, message in calls:
        with pytest.raises(ParameterError) as refused:
            call()
        assert str(refused.value).startswith(message)
    # One fingerprint of several words is one row.
    assert ["0000000000000002" + "0000000000000001"] == to_hex([1, 2], 128)
    # A column of any signed width keeps its sign.
    assert [2**64 - 1, 5] == from_signed(np.array([-1, 5], dtype=np.int8)).tolist()


@pytest.mark.parametrize("text", [" ff", "ff ", "f_f", "+ff", "-0", "0x", "0xf_f", "", "\n", "１", b"ff", 255])
def test_a_hexadecimal_number_is_digits_alone(text: Any) -> None:
    """Spaces, signs, underscores, other scripts, bytes and numbers are rejected, although `int` accepts them."""
    with pytest.raises(ParameterError) as refused:
        from_hex([text])
    assert f"text={text!r} is not allowed; use a hexadecimal number below 2**64" == str(refused.value)


def test_packed_bytes_under_a_mask_are_no_fingerprints() -> None:
    """Masked values are rejected; an array with an empty mask is accepted."""
    codes = np.ma.MaskedArray(np.ones((2, 8), np.uint8), mask=False)
    assert [0x0101010101010101] * 2 == from_bytes(codes).tolist()
    codes[1, 3] = np.ma.masked
    with pytest.raises(ParameterError, match=r"^codes=an array with masked values is not allowed"):
        from_bytes(codes)


@given(st.integers(1, 1024), st.data())
@settings(deadline=None)
def test_distances_of_a_width_are_those_of_values_below_it(bits: int, data: st.DataObject) -> None:
    """With `bits`, values with more bits and fingerprints with fewer words are rejected on either side."""
    numbers = data.draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=2, max_size=2))
    words = -(-bits // 64)
    rows = [[number >> 64 * word & ((1 << 64) - 1) for word in range(words)] for number in numbers]
    first, other = (np.array(row if words > 1 else row[0], dtype=np.uint64) for row in rows)
    assert (numbers[0] ^ numbers[1]).bit_count() == nk.hamming(first, other, bits=bits)
    table = np.array([rows[0]], dtype=np.uint64)
    result = nk.hamming(table, np.array(rows[1:], dtype=np.uint64), bits=bits)
    assert [(numbers[0] ^ numbers[1]).bit_count()] == np.asarray(result).tolist()
    if bits % 64:
        wide = first.copy()
        wide[() if words == 1 else -1] |= np.uint64(1 << bits % 64)
        for name, sides in (("a", (wide, other)), ("b", (other, wide))):
            with pytest.raises(ParameterError, match=rf"^{name}=a row with a bit at or above bits is not allowed"):
                nk.hamming(*sides, bits=bits)
    wider = bits + 64 if bits <= 960 else bits - 64
    with pytest.raises(MismatchError, match=rf"for bits={wider}; compare only values that share it$"):
        nk.hamming(table, table, bits=wider)
