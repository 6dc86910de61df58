"""Codes of other programs: hexadecimal digits, bytes and bits as fingerprints of an index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin import HammingIndex
from nearkin.errors import ParameterError
from nearkin.index.fingerprints import from_bytes, from_hex, to_bytes, to_hex


def test_the_highest_bit_of_hexadecimal_digits_comes_first() -> None:
    """Digits are a number: the last digit has bits 0 to 3; 64 digits are 256 bits, as PDQ writes them."""
    index = HammingIndex.from_hex(["80" + 61 * "0" + "1", 64 * "F"], ["a", "b"])
    assert index.bits == 256
    ids, rows = index.fingerprints()
    assert ids.tolist() == ["a", "b"]
    assert rows[0].tolist() == [1, 0, 0, 1 << 63]
    assert rows[1].tolist() == [2**64 - 1] * 4


def test_bytes_and_bits_have_the_lowest_bit_first() -> None:
    """Bit i is bit `i % 8` of byte `i // 8`, and value i of separate bits."""
    assert HammingIndex.from_bytes([b"\x01\x80"]).fingerprints()[1].tolist() == [0x8001]
    bits = np.zeros((1, 4, 4), bool)
    bits[0, 0, 0] = bits[0, 3, 3] = True
    assert HammingIndex.from_bits(bits).fingerprints()[1].tolist() == [0x8001]


@given(st.integers(1, 200), st.data())
def test_all_forms_hold_the_same_bits(bits: int, data: st.DataObject) -> None:
    """The fingerprints of digits, bytes and separate bits are those that the conversions of fingerprints give."""
    numbers = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=5))
    digits = -(-bits // 4)
    texts = [f"{number:0{digits}x}" for number in numbers]
    rows = from_hex(texts, bits)
    separate = np.array([[number >> i & 1 for i in range(bits)] for number in numbers])
    packed = to_bytes(rows, bits)
    indexes = [
        HammingIndex.from_hex([text.upper() for text in texts], bits=bits),
        HammingIndex.from_hex([f"0x{text}" for text in texts], bits=bits),
        HammingIndex.from_bytes(packed, bits=bits),
        HammingIndex.from_bytes([row.tobytes() for row in packed], bits=bits),
        HammingIndex.from_bits(separate),
    ]
    for index in indexes:
        assert index.bits == bits
        assert to_hex(index.fingerprints()[1], bits) == texts


def test_columns_are_codes_and_ids() -> None:
    """Arrow columns are read like lists, and integer ids stay integers."""
    codes = ["00ff", "00fe"]
    index = HammingIndex.from_hex(pa.array(codes), pa.array([7, 9]), radius=1)
    assert (index.radius, index.pairs(1).to_arrow().to_pylist()) == (1, [{"left": 7, "right": 9, "distance": 1}])
    assert HammingIndex.from_bytes(pa.array([b"\x01", b"\x02"], pa.binary(1))).bits == 8
    assert HammingIndex.from_hex(np.array(codes)).fingerprints()[0].tolist() == [0, 1]


def test_queries_take_the_same_form() -> None:
    """A code finds itself by the conversion that the documentation names."""
    codes = np.random.default_rng(0).integers(0, 256, (20, 32), np.uint8)
    index = HammingIndex.from_bytes(codes)
    assert index.search(from_bytes(codes, 256), radius=0).ids.tolist() == list(range(20))


WRONG: dict[str, tuple[Any, str]] = {
    "odd digits": (lambda: HammingIndex.from_hex(["fff"]), "row 0: 3 hexadecimal digits"),
    "mixed digits": (lambda: HammingIndex.from_hex(["ffff", "ff"]), "row 1: 'ff', 2 digits"),
    "wrong width": (lambda: HammingIndex.from_hex(["ffff"], bits=32), "row 0: 'ffff', 4 digits"),
    "a bit above": (lambda: HammingIndex.from_hex(["ff"], bits=7), "a bit at or above bits"),
    "no digit": (lambda: HammingIndex.from_hex(["ffff", "fxff"]), "row 1: 'fxff'"),
    "a space": (lambda: HammingIndex.from_hex(["ff", " f"]), "row 1: ' f'"),
    "a prefix within": (lambda: HammingIndex.from_hex(["ff", "0x0x"]), "row 1: '0x'"),
    "other digits": (lambda: HammingIndex.from_hex(["ff", "\uff11\uff11"]), "row 1: "),
    "one string": (lambda: HammingIndex.from_hex("ffff"), "an iterable of codes"),
    "no code": (lambda: HammingIndex.from_hex(["ffff", None]), "row 1: None"),
    "empty": (lambda: HammingIndex.from_hex([]), "no codes"),
    "no digits": (lambda: HammingIndex.from_hex([""]), "bits=0"),
    "mixed bytes": (lambda: HammingIndex.from_bytes([b"ab", b"abc"]), "row 1: b'abc', 3 bytes"),
    "digits as bytes": (lambda: HammingIndex.from_bytes(["ff"]), "row 0: 'ff'"),
    "words as bytes": (lambda: HammingIndex.from_bytes(np.zeros((2, 2), np.uint64)), "uint64 of shape (2, 2)"),
    "width of bytes": (lambda: HammingIndex.from_bytes([b"ab"], bits=24), "row 0: b'ab', 2 bytes"),
    "too wide": (lambda: HammingIndex.from_bytes([b"a" * 129]), "bits=1032"),
    "values": (lambda: HammingIndex.from_bits(np.array([[0, 2]])), "values from 0 to 2"),
    "floats": (lambda: HammingIndex.from_bits(np.array([[0.0, 1.0]])), "float64 of shape (1, 2)"),
    "flat bits": (lambda: HammingIndex.from_bits(np.array([0, 1])), "of shape (2,)"),
    "ids": (lambda: HammingIndex.from_hex(["ff", "fe"], ["a"]), "ids"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_codes_are_refused_with_their_row(name: str) -> None:
    """A width that differs, an odd number of digits and another character are typed errors that name the row."""
    call, message = WRONG[name]
    with pytest.raises(ParameterError) as error:
        call()
    assert message in str(error.value)
