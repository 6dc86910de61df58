"""Fingerprints in columns of tables: read any type as words, write lists, and align columns of different types.

| Arrow type | fingerprint |
|---|---|
| integers up to 64 bits | their bits, in two's complement |
| 128-bit integers, as 16 bytes or decimals without a scale | 128 bits, little endian |
| binary | 8 bits per byte, all rows of one length, bit i as bit i % 8 of byte i // 8 |
| DuckDB's BIT | the number of bits that pad the first byte, then bytes, the highest bit first |
| strings | hexadecimal digits, the highest first, with or without leading zeros |
| lists of 64-bit integers | words, the lowest first |

Integers and digits are *numbers*: zeros extend them to the width of the column that they are compared with. The other
types have a width, which must be equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, mismatch
from nearkin.index.fingerprints import MAX_BITS, from_hex, masked_rows, words_per_row
from nearkin.io.arrow import check_arrow, is_binary, is_string, to_texts, to_values

if TYPE_CHECKING:
    import pyarrow as pa

Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Binary = Literal["bytes", "bits", "integers"]


class FingerprintColumn(NamedTuple):
    """Fingerprints of a column.

    Attributes
    ----------
    words : (n, words) uint64
        A missing fingerprint is a row of zeros.
    is_null : (n,) bool
    bits : int or None
        Width; None for numbers.
    """

    words: Words
    is_null: Mask
    bits: int | None

    @classmethod
    def read(cls, column: Any, name: str, *, binary: Binary = "bytes") -> FingerprintColumn:
        """Read an Arrow column of one of the types above.

        Parameters
        ----------
        column : pyarrow.Array or ChunkedArray
        name : str
            Name of the column or argument, for messages.
        binary : {"bytes", "bits", "integers"}, default "bytes"
            Content of binary values: bytes, DuckDB's BIT, or 128-bit integers.

        Raises
        ------
        ParameterError
            A column of another type, a fingerprint of more than 1,024 bits, or a string that is no number.
        MismatchError
            Fingerprints of several widths.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from nearkin.index.fingerprint_columns import FingerprintColumn
        >>> FingerprintColumn.read(pa.array(["0f", None]), "phash").words.tolist()
        [[15], [0]]
        """
        import pyarrow as pa

        array, types = as_array(column), pa.types
        missing = nulls(array)
        kind = array.type
        if types.is_null(kind):
            return cls(np.zeros((len(array), 1), np.uint64), missing, None)
        if types.is_integer(kind):
            values = array.fill_null(0).to_numpy(zero_copy_only=False)
            # Two's complement of the type's own width.
            words = np.ascontiguousarray(values).view(f"u{values.itemsize}").astype(np.uint64, copy=False)
            return cls(words.reshape(-1, 1), missing, None)
        if types.is_decimal128(kind) and kind.scale == 0:
            return cls(_fixed_rows(array.view(pa.binary(16)), missing, name, 16).view("<u8"), missing, None)
        if types.is_fixed_size_binary(kind) and binary == "integers":
            return cls(_fixed_rows(array, missing, name, 16).view("<u8"), missing, None)
        if is_string(kind):
            return cls(_read_hex(array, name), missing, None)
        if is_binary(kind) or types.is_fixed_size_binary(kind):
            codes = _fixed_rows(array, missing, name)
            return (
                _read_bits(codes, missing, name)
                if binary == "bits"
                else _pack(codes, 8 * codes.shape[1], missing, name)
            )
        if is_list(kind) and types.is_uint64(kind.value_type):
            words = read_lists(array, name)
            rows = np.zeros((len(missing), words.shape[1]), np.uint64)
            rows[~missing] = words
            return cls(rows, missing, 64 * rows.shape[1])
        raise bad_parameter(name, f"a column of {kind}", "integers, bits, bytes, hexadecimal strings or lists of words")

    @property
    def width(self) -> int:
        """Bits of an index for these fingerprints."""
        return 64 * self.words.shape[1] if self.bits is None else self.bits

    def fit(self, bits: int) -> Words:
        """Return the fingerprints that are not missing, `(m, words)`, for an index of some width.

        Raises
        ------
        MismatchError
            They have another width.
        """
        words = self.words[~self.is_null]
        count = words_per_row(bits)
        if len(words) and ((self.bits is not None and self.bits != bits) or words.shape[1] > count):
            raise mismatch("bits of a fingerprint", bits, self.width)
        return masked_rows(_widen(words[:, :count], count), bits)


def align(a: FingerprintColumn, b: FingerprintColumn) -> tuple[Words, Words]:
    """Return the words of two columns, as many in both.

    Raises
    ------
    MismatchError
        Columns of different widths.
    """
    if a.is_null.all() or b.is_null.all():
        return a.words[:, :1], b.words[:, :1]
    count = max(a.words.shape[1], b.words.shape[1])
    widths = {column.bits for column in (a, b)} - {None}
    if len(widths) > 1 or any(column.bits is not None and column.words.shape[1] != count for column in (a, b)):
        raise mismatch("bits of a fingerprint", a.width, b.width)
    return _widen(a.words, count), _widen(b.words, count)


def as_array(column: Any) -> Any:
    """Return a column as one checked array, of the storage type if it has an extension type."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    column = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    # DuckDB's UHUGEINT is a decimal in Arrow, whose largest value is smaller, so its digits are not checked.
    is_wide = pa.types.is_decimal128(column.type)
    check_arrow(column.view(pa.binary(16)) if is_wide else column, "a column of fingerprints")
    return column


def nulls(array: Any) -> Mask:
    """Return which values of an array are null."""
    is_null: Mask = array.is_null().to_numpy(zero_copy_only=False)
    return is_null


def is_list(kind: pa.DataType) -> bool:
    """Return True for types of lists."""
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def read_lists(array: Any, name: str) -> npt.NDArray[Any]:
    """Return the lists of an array that are not null as rows, `(m, length)`.

    Raises
    ------
    ParameterError
        Lists of several lengths, or with null in them.
    """
    import pyarrow.compute as pc

    array = array.drop_null()
    lengths = to_values(pc.unique(pc.list_value_length(array)))
    flat = array.flatten()
    if len(lengths) > 1 or flat.null_count:
        found = f"lists of {lengths[0]} and {lengths[1]} values" if len(lengths) > 1 else "lists with a null"
        raise bad_parameter(name, found, "lists of one length, as one recipe gives, without null")
    return np.ascontiguousarray(flat.to_numpy(zero_copy_only=False)).reshape(len(array), lengths[0] if lengths else 1)


def to_lists(values: npt.NDArray[Any], is_null: Mask, *, fixed: bool = False) -> pa.Array:
    """Return rows as lists, or as lists of a fixed size; null where `is_null`."""
    import pyarrow as pa

    mask = pa.array(is_null) if is_null.any() else None
    flat = pa.array(values.reshape(-1))
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1], mask=mask)
    offsets = np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]
    if offsets[-1] < 1 << 31:
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), flat, mask=mask)
    return pa.LargeListArray.from_arrays(pa.array(offsets), flat, mask=mask)


def _fixed_rows(array: Any, is_null: Mask, name: str, width: int | None = None) -> npt.NDArray[np.uint8]:
    """Return bytes of one length as rows; a null is a row of zeros."""
    import pyarrow as pa

    texts = to_texts(array.cast(pa.binary()) if pa.types.is_fixed_size_binary(array.type) else array)
    lengths = np.diff(texts.offsets)[~is_null]
    if width is None:
        width = int(lengths[0]) if len(lengths) else 0
    if (lengths != width).any():
        other = int(lengths[lengths != width][0])
        raise mismatch(f"bytes of a fingerprint in {name}", width, other)
    rows = np.zeros((len(array), width), np.uint8)
    rows[~is_null] = texts.data[texts.offsets[0] : texts.offsets[-1]].reshape(-1, width) if width else 0
    return rows


def _read_bits(codes: npt.NDArray[np.uint8], is_null: Mask, name: str) -> FingerprintColumn:
    """Read DuckDB's BIT: the number of bits that pad the first byte, then bytes, the highest first."""
    if codes.shape[1] == 0:
        return FingerprintColumn(np.zeros((len(codes), 1), np.uint64), is_null, None)
    padding = codes[~is_null, 0]
    if (padding != padding[0]).any():
        bits = 8 * (codes.shape[1] - 1)
        other = padding[padding != padding[0]][0]
        raise mismatch(f"bits of a fingerprint in {name}", bits - int(padding[0]), bits - int(other))
    codes = codes[:, 1:].copy()
    # DuckDB sets the bits of the padding.
    codes[:, 0] &= 0xFF >> int(padding[0])
    return _pack(codes[:, ::-1], 8 * codes.shape[1] - int(padding[0]), is_null, name)


def _pack(codes: npt.NDArray[np.uint8], bits: int, is_null: Mask, name: str) -> FingerprintColumn:
    """Pack little-endian bytes into words."""
    if not 1 <= bits <= MAX_BITS and not is_null.all():
        raise bad_parameter(name, f"a fingerprint of {bits} bits", f"1 to {MAX_BITS} bits")
    padded = np.zeros((len(codes), 8 * words_per_row(max(bits, 1))), np.uint8)
    padded[:, : codes.shape[1]] = codes
    return FingerprintColumn(padded.view("<u8").astype(np.uint64, copy=False), is_null, bits if bits else None)


def _read_hex(array: Any, name: str) -> Words:
    values = ["0" if value is None else value for value in to_values(array, name)]
    digits = max((len(value.removeprefix("0x").removeprefix("0X")) for value in values), default=1)
    words = min(max(words_per_row(4 * digits), 1), 16)
    return from_hex(values, 64 * words).reshape(-1, words)


def _widen(words: Words, count: int) -> Words:
    """Append words of zeros to rows."""
    return np.pad(words, ((0, 0), (0, count - words.shape[1])))
