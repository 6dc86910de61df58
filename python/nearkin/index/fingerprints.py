"""Packed fingerprints: layout, Hamming distance and conversions.

Fingerprints of `bits` bits (1 to 1024) are `uint64`: shape `(n,)` up to 64 bits, `(n, ceil(bits / 64))` above. Bit i is
bit `i % 64` of word `i // 64`; unused high bits are zero. The distance of two fingerprints is the number of bits in
which they differ. Hexadecimal strings, signed 64-bit words (databases, Spark) and packed bytes (faiss, usearch)
represent the same bits.

`parse_hex_codes`, `parse_byte_codes` and `parse_bit_codes` read codes that other programs made, such as PDQ or pHash of
images. All codes of a call must have one width, which follows from the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from nearkin._core import hamming_distances
from nearkin.errors import bad_parameter, check_count, mismatch
from nearkin.io.arrow import to_cells
from nearkin.vectors.arrays import as_contiguous, values_of

Fingerprints = npt.NDArray[np.uint64]
_One: TypeAlias = int | str | np.integer[Any]

MAX_BITS = 1024

_HEX = re.compile("(?:0[xX])?[0-9a-fA-F]+")
_DIGITS = re.compile("[01]+")


def words_per_row(bits: int) -> int:
    """Return the number of 64-bit words of a fingerprint."""
    return -(-bits // 64)


def check_bits(bits: int) -> int:
    """Return a width of fingerprints after checking it."""
    return check_count("bits", bits, 1, MAX_BITS, f"1 to {MAX_BITS}")


def read_digits(values: Any, name: str) -> tuple[Fingerprints, int] | None:
    """Return the fingerprints and the width of strings of binary digits, the highest bit first; None for other values.

    One string, or a list of single digits, is one fingerprint, of shape () up to 64 bits and (words,) above.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "OU" and values.ndim == 1:
        values = values.tolist()
    cells = [values] if isinstance(values, str) else values
    if not isinstance(cells, (list, tuple)) or not cells or not isinstance(cells[0], str):
        return None
    is_one = all(isinstance(cell, str) and len(cell) == 1 for cell in cells)
    texts = ["".join(cells)] if is_one else cells
    widths = {len(text) if isinstance(text, str) and _DIGITS.fullmatch(text) else 0 for text in texts}
    if len(widths) > 1 or not 0 < min(widths) <= MAX_BITS:
        allowed = f"strings of 1 to {MAX_BITS} digits 0 and 1, all of one length; `from_hex` reads hexadecimal digits"
        raise bad_parameter(name, _shorten(values), allowed)
    rows = from_integers((int(text, 2) for text in texts), bits := widths.pop())
    return rows[0, ...] if is_one or isinstance(values, str) else rows, bits


def as_uint64(values: Any, name: str) -> Fingerprints:
    """Return values as a contiguous uint64 array; raise ParameterError if the conversion would change a value."""
    values = values_of(values, name)
    if (digits := read_digits(values, name)) is not None:
        return digits[0]
    if not isinstance(values, np.ndarray):
        if (
            not isinstance(values, (int, np.integer))
            and isinstance(values, Iterable)
            and not hasattr(values, "__len__")
        ):
            values = list(values)
        array = np.asarray(values)
        if array.dtype == object or array.dtype.kind == "f":
            # NumPy makes objects or floats of integers of 2**63 and more that come with smaller ones.
            try:
                array = np.array(values, dtype=np.uint64)
            except (OverflowError, TypeError, ValueError):
                raise bad_parameter(name, "values outside uint64", "integers from 0 to 2**64 - 1") from None
            if not all(isinstance(value, (int, np.integer)) for value in np.asarray(values, dtype=object).ravel()):
                raise bad_parameter(name, "values that are not integers", "integers from 0 to 2**64 - 1")
    else:
        array = values
    if array.dtype != np.uint64:
        if array.size == 0:
            return np.zeros(array.shape, dtype=np.uint64)
        if array.dtype.kind not in "iu":
            raise bad_parameter(name, f"an array of {array.dtype}", "uint64")
        # Contiguity first: a view with strides of zero may claim more values than any pass could read.
        array = as_contiguous(array)
        if array.dtype.kind == "i" and int(array.min()) < 0:
            raise bad_parameter(name, "negative values", "uint64; `from_signed` turns signed 64-bit values into it")
    return as_contiguous(array, np.uint64)


def flat_rows(values: Any, bits: int, name: str) -> Fingerprints:
    """Return fingerprints as a flat array of rows; one fingerprint is one row."""
    if (digits := read_digits(values, name)) is not None and digits[1] != bits:
        raise mismatch("bits", digits[1], bits)
    array = as_uint64(values, name) if digits is None else digits[0]
    words = words_per_row(bits)
    if words == 1:
        if array.ndim == 0 or array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
            return array.reshape(-1)
    elif (array.ndim == 2 and array.shape[1] == words) or (array.ndim == 1 and array.shape[0] == words):
        return array.reshape(-1)
    if array.size == 0:
        return array.reshape(-1)
    shape = "(n,)" if words == 1 else f"(n, {words})"
    raise bad_parameter(name, f"an array of shape {array.shape}", f"uint64 of shape {shape} for bits={bits}")


@overload
def hamming(a: _One, b: _One, *, bits: int | None = None) -> int: ...  # type: ignore[overload-overlap]
@overload
def hamming(a: npt.ArrayLike, b: npt.ArrayLike, *, bits: None = None) -> npt.NDArray[np.uint16]: ...
@overload
def hamming(a: npt.ArrayLike, b: npt.ArrayLike, *, bits: int) -> int | npt.NDArray[np.uint16]: ...
def hamming(a: npt.ArrayLike, b: npt.ArrayLike, *, bits: int | None = None) -> int | npt.NDArray[np.uint16]:
    """Return the number of bits in which fingerprints differ.

    Parameters
    ----------
    a, b : int, str, or uint64 array of shape (n,), (words,) or (n, words), or list of str
        Fingerprints of equal width. A string has one digit, 0 or 1, for each bit, the highest first, as those of
        `nearkin.explain`; a list of single digits is one fingerprint. An integer or a zero-dimensional array is one
        fingerprint of up to 64 bits. A one-dimensional array is n such fingerprints, unless the other argument is
        two-dimensional: then it is one fingerprint of `words` words. One fingerprint is compared with every fingerprint
        of the other argument.
    bits : int, optional
        Width of both, 1 to 1024. Above 64 a one-dimensional array is one fingerprint of ceil(bits / 64) words.

    Returns
    -------
    int or uint16 array of shape (n,)
        An int if both arguments are one fingerprint.

    Raises
    ------
    MismatchError
        Widths that differ from each other or from `bits`, or counts that differ if neither is one.
    ParameterError
        Values outside uint64, or a bit at or above `bits`.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import hamming
    >>> hamming(0b1011, 0b0010)
    2
    >>> hamming("100101", "101100")
    2
    >>> hamming(np.array([0, 1, 3], dtype=np.uint64), 0)
    array([0, 1, 2], dtype=uint16)
    >>> wide = np.array([[0, 1], [3, 1]], dtype=np.uint64)
    >>> hamming(wide[0], wide[1], bits=128)
    2
    """
    digits = read_digits(a, "a"), read_digits(b, "b")
    for side in filter(None, digits):
        if bits not in (None, side[1]):
            raise mismatch("bits", bits, side[1])
        bits = side[1]
    left = as_uint64(a, "a") if digits[0] is None else digits[0][0]
    right = as_uint64(b, "b") if digits[1] is None else digits[1][0]
    single, words = left.ndim == right.ndim == 0, 1
    if bits is not None and words_per_row(check_bits(bits)) > 1 and left.ndim == right.ndim == 1:
        if left.shape != (words_per_row(bits),) or right.shape != left.shape:
            raise mismatch(
                "words of a fingerprint", f"{len(left)} and {len(right)}", f"{words_per_row(bits)} for bits={bits}"
            )
        left, right, single = left[None], right[None], True
    if max(left.ndim, right.ndim) > 2:
        raise bad_parameter("shape", f"{left.shape} and {right.shape}", "at most two dimensions")
    if left.ndim == 2 or right.ndim == 2:
        widths = [1 if side.ndim == 0 else side.shape[-1] for side in (left, right)]
        if widths[0] != widths[1]:
            raise mismatch("words of a fingerprint", widths[0], widths[1])
        words = widths[0]
        if words == 0:
            raise bad_parameter("shape", f"{left.shape} and {right.shape}", "at least one word per fingerprint")
        if words > words_per_row(MAX_BITS):
            raise bad_parameter("words", words, f"1 to {words_per_row(MAX_BITS)}")
    if bits is not None:
        if words != words_per_row(bits):
            raise mismatch("words of a fingerprint", words, f"{words_per_row(bits)} for bits={bits}")
        left, right = masked_rows(left, bits, "a"), masked_rows(right, bits, "b")
    distances = hamming_distances(left.reshape(-1), right.reshape(-1), words)
    return int(distances[0]) if single else distances


def to_hex(fps: npt.ArrayLike, bits: int = 64) -> list[str]:
    """Return fingerprints as hexadecimal strings of ceil(bits / 4) digits, the highest bit first.

    Examples
    --------
    >>> from nearkin.index.fingerprints import to_hex
    >>> to_hex([255, 16], bits=12)
    ['0ff', '010']
    """
    bits = check_bits(bits)
    words = words_per_row(bits)
    digits = -(-bits // 4)
    rows = masked_rows(fps, bits).reshape(-1, words)
    return [row[::-1].astype(">u8").tobytes().hex()[-digits:] for row in rows]


def from_hex(texts: Iterable[str], bits: int = 64) -> Fingerprints:
    """Return the fingerprints of hexadecimal strings, the highest bit first, with or without leading zeros.

    Returns
    -------
    uint64 array of shape (n,) up to 64 bits, (n, ceil(bits / 64)) above

    Raises
    ------
    ParameterError
        A text that is not a hexadecimal number below 2**bits: digits, optionally after 0x, and nothing else.

    Examples
    --------
    >>> from nearkin.index.fingerprints import from_hex
    >>> from_hex(["ff", "0x10"])
    array([255,  16], dtype=uint64)
    """
    bits = check_bits(bits)
    if isinstance(texts, str):
        raise bad_parameter("texts", repr(texts), "an iterable of strings; [text] for one")
    numbers = []
    for text in texts:
        # int() also accepts spaces, signs, underscores and digits of other scripts.
        is_number = isinstance(text, str) and _HEX.fullmatch(text) is not None
        value = int(text, 16) if is_number else -1
        if not 0 <= value < 1 << bits:
            raise bad_parameter("text", repr(text), f"a hexadecimal number below 2**{bits}")
        numbers.append(value)
    return from_integers(numbers, bits)


def from_integers(numbers: Iterable[int], bits: int) -> Fingerprints:
    """Return integers from 0 to below 2**bits as fingerprints."""
    packed = b"".join(number.to_bytes(8 * words_per_row(bits), "little") for number in numbers)
    return split_words(np.frombuffer(packed, dtype="<u8").astype(np.uint64), words_per_row(bits))


def split_words(flat: Fingerprints, words: int) -> Fingerprints:
    """Return the words of fingerprints one after the other as rows: `(n,)` for one word, otherwise `(n, words)`."""
    return flat if words == 1 else flat.reshape(-1, words)


def to_signed(fps: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the same bits as signed 64-bit integers, for databases and Spark.

    Examples
    --------
    >>> from nearkin.index.fingerprints import from_signed, to_signed
    >>> to_signed([1, 2**64 - 1])
    array([ 1, -1])
    >>> from_signed([1, -1])
    array([                   1, 18446744073709551615], dtype=uint64)
    """
    return as_uint64(fps, "fps").view(np.int64)


def from_signed(values: npt.ArrayLike) -> Fingerprints:
    """Return the same bits as unsigned fingerprints; the inverse of `to_signed`."""
    array = np.asarray(values_of(values, "values"))
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.uint64)
    if array.dtype.kind != "i":
        raise bad_parameter("values", f"an array of {array.dtype}", "signed integers of at most 64 bits")
    return np.ascontiguousarray(array, dtype=np.int64).view(np.uint64)


def masked_rows(fps: npt.ArrayLike, bits: int, name: str = "fps") -> Fingerprints:
    """Return fingerprints of shape (n, words); raise ParameterError for a bit above their width."""
    rows = flat_rows(fps, bits, name).reshape(-1, words_per_row(bits))
    if bits % 64 and (rows[:, -1] >> np.uint64(bits % 64)).any():
        raise bad_parameter(name, "a row with a bit at or above bits", f"fingerprints below 2**{bits}")
    return rows


def to_bytes(fps: npt.ArrayLike, bits: int = 64) -> npt.NDArray[np.uint8]:
    """Return fingerprints as packed bytes, bit i as bit `i % 8` of byte `i // 8`, as faiss and usearch expect.

    Returns
    -------
    uint8 array of shape (n, ceil(bits / 8))

    Examples
    --------
    >>> from nearkin.index.fingerprints import from_bytes, to_bytes
    >>> to_bytes([0x0102], bits=16)
    array([[2, 1]], dtype=uint8)
    >>> from_bytes(to_bytes([0x0102], bits=16), bits=16)
    array([258], dtype=uint64)
    """
    bits = check_bits(bits)
    rows = masked_rows(fps, bits).astype("<u8")
    return np.ascontiguousarray(rows.view(np.uint8)[:, : -(-bits // 8)])


def from_bytes(codes: npt.ArrayLike, bits: int = 64) -> Fingerprints:
    """Return the fingerprints of packed bytes of shape (n, ceil(bits / 8)); the inverse of `to_bytes`."""
    bits = check_bits(bits)
    array = np.asarray(values_of(codes, "codes"))
    width = -(-bits // 8)
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != width:
        raise bad_parameter("codes", f"{array.dtype} of shape {array.shape}", f"uint8 of shape (n, {width})")
    padded = np.zeros((len(array), 8 * words_per_row(bits)), dtype=np.uint8)
    padded[:, :width] = array
    return split_words(masked_rows(padded.view("<u8").astype(np.uint64), bits).reshape(-1), words_per_row(bits))


def parse_hex_codes(codes: Any, bits: int | None = None, *, first_row: int = 0) -> tuple[Fingerprints, int]:
    """Return the fingerprints and the width of codes of hexadecimal digits, the highest bit first.

    Parameters
    ----------
    codes : iterable of str, array or column
        Digits of either case, optionally after 0x.
    bits : int, optional
        Width of all codes; by default four bits per digit of the first.
    first_row : int, default=0
        Number of the first code in error messages.

    Raises
    ------
    ParameterError
        No width: no code, or an odd number of digits without `bits`. A code with another number of digits than
        ceil(bits / 4), with another character, or with a bit at or above `bits`.
    """
    cells = _code_cells(codes, str, "strings of hexadecimal digits", first_row)
    cells = [cell[2:] if cell[:2] in ("0x", "0X") else cell for cell in cells]
    if bits is None:
        digits = _first_length(cells, "digits")
        if digits % 2:
            allowed = "an even number, or a width in bits, which need not be a multiple of 8"
            raise bad_parameter("codes", f"row {first_row}: {digits} hexadecimal digits", allowed)
        bits = 4 * digits
    bits = check_bits(bits)
    digits = -(-bits // 4)
    _check_lengths(cells, digits, f"{digits} hexadecimal digits (bits={bits})", first_row)
    joined = ("" if digits % 2 == 0 else "0").join(["", *cells] if digits % 2 else cells)
    if not (joined.isascii() and joined.isalnum()) and cells:
        joined = "?"
    try:
        packed = bytes.fromhex(joined)
    except ValueError:
        row = next(row for row, cell in enumerate(cells) if _HEX.fullmatch(cell) is None or "x" in cell.lower())
        allowed = "digits 0 to 9 and a to f"
        raise bad_parameter("codes", f"row {first_row + row}: {_shorten(cells[row])}", allowed) from None
    rows = np.frombuffer(packed, np.uint8).reshape(len(cells), -(-digits // 2))[:, ::-1]
    return from_bytes(rows, bits), bits


def parse_byte_codes(codes: Any, bits: int | None = None) -> tuple[Fingerprints, int]:
    """Return the fingerprints and the width of codes of packed bytes, bit i as bit `i % 8` of byte `i // 8`.

    Parameters
    ----------
    codes : uint8 array of shape (n, n_bytes), or iterable or column of bytes
    bits : int, optional
        Width of all codes; by default eight bits per byte.

    Raises
    ------
    ParameterError
        No code and no width; another type or shape; a code of another length than ceil(bits / 8), or with a bit at or
        above `bits`.
    """
    values = values_of(codes, "codes")
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OS":
        if values.dtype != np.uint8 or values.ndim != 2:
            allowed = "uint8 of shape (n, n_bytes), or bytes"
            raise bad_parameter("codes", f"{values.dtype} of shape {values.shape}", allowed)
        rows = values
    else:
        cells = _code_cells(codes, bytes, "bytes", 0)
        width = _first_length(cells, "bytes") if bits is None else -(-check_bits(bits) // 8)
        _check_lengths(cells, width, f"{width} bytes, the width of all codes", 0)
        rows = np.frombuffer(b"".join(cells), np.uint8).reshape(len(cells), width)
    bits = 8 * rows.shape[1] if bits is None else bits
    return from_bytes(rows, bits), bits


def parse_bit_codes(codes: Any) -> tuple[Fingerprints, int]:
    """Return the fingerprints and the width of codes of separate bits: bit i is value i of a row.

    Parameters
    ----------
    codes : array of shape (n, ...), of bool, or of integers 0 and 1
        The values of a row are read in C order, so that an array of 8 by 8 bits is a code of 64.

    Raises
    ------
    ParameterError
        Another type, shape or value; a width that is not from 1 to 1024.
    """
    array = np.asarray(values_of(codes, "codes"))
    if array.ndim < 2 or array.dtype.kind not in "biu":
        raise bad_parameter("codes", f"{array.dtype} of shape {array.shape}", "bool, or 0 and 1, of shape (n, bits)")
    if array.dtype.kind != "b" and array.size and (int(array.min()) < 0 or int(array.max()) > 1):
        raise bad_parameter("codes", f"values from {array.min()} to {array.max()}", "0 and 1")
    rows = array.reshape(len(array), int(np.prod(array.shape[1:])))
    bits = check_bits(rows.shape[1])
    return from_bytes(np.packbits(rows.astype(bool), axis=1, bitorder="little"), bits), bits


def _code_cells(codes: Any, kind: type, allowed: str, first_row: int) -> list[Any]:
    """Return codes as a list, each of this type."""
    if isinstance(codes, (str, bytes)):
        raise bad_parameter("codes", _shorten(codes), "an iterable of codes; [code] for one")
    cells = to_cells(codes, "codes")
    for row, cell in enumerate(cells):
        if not isinstance(cell, kind):
            raise bad_parameter("codes", f"row {first_row + row}: {_shorten(cell)}", allowed)
    return cells


def _first_length(cells: list[Any], unit: str) -> int:
    if not cells:
        raise bad_parameter("codes", "no codes", f"at least one code, whose {unit} give the width, or bits=")
    return len(cells[0])


def _check_lengths(cells: list[Any], length: int, allowed: str, first_row: int) -> None:
    for row, cell in enumerate(cells):
        if len(cell) != length:
            unit = "digits" if isinstance(cell, str) else "bytes"
            raise bad_parameter("codes", f"row {first_row + row}: {_shorten(cell)}, {len(cell)} {unit}", allowed)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
