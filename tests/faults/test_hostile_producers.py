"""Arrow columns from a custom producer of the C data interface: texts or an error, whatever it writes.

pyarrow rejects such structs, but other producers may create them. The producer is right only where the interface has no
means of validation: pointers are valid, and buffers have the lengths that the structs claim.
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin import errors

RECIPE = "char:2|count|xxh3|simhash:64"

Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Schema(ctypes.Structure):
    """`ArrowSchema`."""


class Array(ctypes.Structure):
    """`ArrowArray`."""


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


def release_array(address: int) -> None:
    """Mark the array as released; Python owns its memory."""
    Array.from_address(address).release = None


def release_schema(address: int) -> None:
    """Mark the schema as released."""
    Schema.from_address(address).release = None


RELEASES = {kind: Release(call) for kind, call in ((Array, release_array), (Schema, release_schema))}


class Producer:
    """A schema and an array; arguments replace single fields, and all other fields are consistent."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.pair: tuple[Schema, Array] | None = None

    def pointer(self, data: bytes) -> int:
        """Return the address of a copy of the bytes, aligned to 16."""
        buffer = ctypes.create_string_buffer(len(data) + 32)
        address = -(-ctypes.addressof(buffer) // 16) * 16
        ctypes.memmove(address, data, len(data))
        self.kept.append(buffer)
        return address

    def schema(self, form: bytes | None, children: Sequence[Schema | None] = (), **fields: Any) -> Schema:
        """Return the schema of a type."""
        values = {"name": b"text", "flags": 2, "n_children": len(children), **fields}
        made = Schema(format=form, release=ctypes.cast(RELEASES[Schema], ctypes.c_void_p).value, **values)
        if children:
            pointers: list[Any] = [ctypes.pointer(child) if child is not None else None for child in children]
            made.children = (ctypes.POINTER(Schema) * len(children))(*pointers)
        self.kept += [made, children, fields]
        return made

    def array(
        self, length: int, buffers: Sequence[bytes | None], children: Sequence[Array] = (), **fields: Any
    ) -> Array:
        """Return an array over copies of the buffers."""
        addresses = [None if data is None else self.pointer(data) for data in buffers]
        values = {"null_count": -1, "n_buffers": len(buffers), "n_children": len(children), **fields}
        made = Array(length=length, release=ctypes.cast(RELEASES[Array], ctypes.c_void_p).value, **values)
        made.buffers = (ctypes.c_void_p * max(len(buffers), 1))(*addresses)
        if children:
            made.children = (ctypes.POINTER(Array) * len(children))(*map(ctypes.pointer, children))
        self.kept += [made, children, fields]
        return made

    def column(self, schema: Schema, array: Array) -> Producer:
        """Return a producer of this schema and array."""
        self.pair = (schema, array)
        return self

    def texts(self, **fields: Any) -> Array:
        """Return the column a, bc."""
        return self.array(2, [None, struct.pack("3i", 0, 1, 3), b"abc"], **fields)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return the two capsules."""
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        assert self.pair is not None
        schema, array = self.pair
        return new(ctypes.addressof(schema), b"arrow_schema", None), new(ctypes.addressof(array), b"arrow_array", None)


@pytest.fixture
def p() -> Producer:
    """Return a consistent producer."""
    return Producer()


def fingerprint(texts: Any) -> list[int]:
    """Return the fingerprint of each text."""
    return [int(value) for value in nk.fingerprint(texts, RECIPE)]


def test_a_producer_of_texts_is_read(p: Producer) -> None:
    """The valid starting points of the tests: a plain column, a table with one column, a dictionary, a slice."""
    expected = fingerprint(["a", "bc"])
    assert expected == fingerprint(p.column(p.schema(b"u"), p.texts()))
    table = p.column(p.schema(b"+s", [p.schema(b"u", name=None)]), p.array(2, [None], [p.texts()]))
    assert expected == fingerprint(table)
    keys = p.array(3, [None, bytes([1, 0, 1])], dictionary=ctypes.pointer(p.texts()))
    chosen = p.column(p.schema(b"c", dictionary=ctypes.pointer(p.schema(b"u"))), keys)
    assert [expected[1], expected[0], expected[1]] == fingerprint(chosen)
    assert expected[1:] == fingerprint(p.column(p.schema(b"u"), part(p)))


def part(p: Producer) -> Array:
    """Return the last row."""
    array = p.texts(offset=1)
    array.length = 1
    return array


FORMATS: list[bytes | None] = [
    None,
    b"",
    b"\xff",
    b"u\xff",
    b"w:",
    b"w:x",
    b"d:",
    b"d:999,1",
    b"ts",
    b"tsn",
    b"x" * 1000,
]
NESTED: list[bytes | None] = [
    b"+s",
    b"+l",
    b"+L",
    b"+m",
    b"+r",
    b"+w:",
    b"+w:-5",
    b"+vl",
    b"+ud:",
    b"+ud:0",
    b"+us:300",
    b"+",
    b"+\xff",
]


@pytest.mark.parametrize("form", FORMATS + NESTED, ids=repr)
def test_formats_of_any_kind_are_refused(form: bytes | None, p: Producer) -> None:
    """The schema has no children, one child, a missing child, or this format as the values of a dictionary."""
    for children in ([], [p.schema(b"i")], [None]):
        made = p.schema(form, children)
        for schema in (made, p.schema(b"+s", [made]), p.schema(b"c", dictionary=ctypes.pointer(made))):
            with pytest.raises((errors.InputError, TypeError)):
                fingerprint(p.column(schema, p.texts()))


@pytest.mark.parametrize("count", [-(2**63), -1, 0, 2])
def test_tables_with_other_numbers_of_columns_are_refused(count: int, p: Producer) -> None:
    """The number is wrong in the schema or in the array."""
    two = [p.schema(b"u", name=b"caf\xe9"), p.schema(b"u", name=None)]
    with pytest.raises((errors.InputError, TypeError), match=r"the table has the columns|column 0 of -\d+ is missing"):
        fingerprint(p.column(p.schema(b"+s", two, n_children=count), p.texts()))
    array = p.array(2, [None], [p.texts(), p.texts()], n_children=count)
    with pytest.raises(errors.InputError, match=rf"a table of one column has {count} arrays"):
        fingerprint(p.column(p.schema(b"+s", [p.schema(b"u")]), array))


def test_columns_that_are_missing_or_short_are_refused(p: Producer) -> None:
    """There is no pointer to columns, or a column is released, too short, or has a negative length."""
    released = p.texts()
    released.release = None
    tables = [p.array(2, [None], [column]) for column in (released, part(p), p.texts(offset=-1))]
    for table in [*tables, p.array(2, [None], n_children=1)]:
        with pytest.raises(errors.InputError, match="the column is shorter than its table of 2 rows"):
            fingerprint(p.column(p.schema(b"+s", [p.schema(b"u")]), table))


@pytest.mark.parametrize("form", [b"u", b"U", b"vu", b"n", b"c"])
@pytest.mark.parametrize("value", [-(2**63), -1, 2**59, 2**63 - 1])
def test_lengths_and_offsets_beyond_memory_are_refused(form: bytes, value: int, p: Producer) -> None:
    """Covers every layout."""
    schema = p.schema(form, dictionary=ctypes.pointer(p.schema(b"u")) if form == b"c" else None)
    for fields in ({"offset": value}, {"length": value}):
        array = p.array(1, [None, bytes(64), b"", b""])
        for name, number in fields.items():
            setattr(array, name, number)
        with pytest.raises(
            errors.InputError, match=r"^Arrow data: its length or offset is negative or beyond all memory"
        ):
            fingerprint(p.column(schema, array))


@pytest.mark.parametrize("form", [b"u", b"U", b"vu", b"c"])
@pytest.mark.parametrize("buffers", [-(2**63), -1, 0, 1])
def test_buffers_that_are_missing_are_refused(form: bytes, buffers: int, p: Producer) -> None:
    """The number of buffers is too small for the layout, or a buffer pointer is null."""
    schema = p.schema(form, dictionary=ctypes.pointer(p.schema(b"u")) if form == b"c" else None)
    for nowhere in (False, True):
        array = p.array(1, [None, struct.pack("4q", 0, 1, 1, 1), b"a", b""], n_buffers=buffers)
        if nowhere:
            array.buffers = None
        with pytest.raises(
            errors.InputError, match=r"^Arrow data: (buffer \d of -?\d+ is missing|a string view has too few)"
        ):
            fingerprint(p.column(schema, array))


def test_dictionaries_of_any_kind_are_refused(p: Producer) -> None:
    """Keys are not integers, dictionaries are nested, or the dictionary is missing."""
    texts = ctypes.pointer(p.schema(b"u"))
    inner = ctypes.pointer(p.schema(b"c", dictionary=texts))
    for schema in (
        p.schema(b"g", dictionary=texts),
        p.schema(b"c", dictionary=inner),
        p.schema(b"u", dictionary=texts),
    ):
        with pytest.raises((errors.InputError, TypeError)):
            fingerprint(p.column(schema, p.texts(dictionary=ctypes.pointer(p.texts()))))
    with pytest.raises(errors.InputError, match="a dictionary column has no dictionary"):
        fingerprint(p.column(p.schema(b"c", dictionary=texts), p.array(1, [None, b"\0"])))


def test_types_nested_to_any_depth_are_refused() -> None:
    """Recursion could overflow the stack, so the test runs in a child process."""
    script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import ctypes
from test_hostile_producers import Producer, fingerprint
for form in (b"+s", b"+l", b"c"):
    p = Producer()
    schema = p.schema(b"u")
    for _ in range(100_000):
        below = {{"dictionary": ctypes.pointer(schema)}} if form == b"c" else {{"children": [schema]}}
        schema = p.schema(form, **below)
    try:
        fingerprint(p.column(schema, p.texts()))
    except TypeError as error:
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert (0, "refused\n" * 3) == (done.returncode, done.stdout), done.stderr[-2000:]


NUMBERS = st.integers(-2, 9) | st.sampled_from([-(2**31), 2**31 - 1])


@given(
    offsets=st.lists(NUMBERS, min_size=1, max_size=6),
    data=st.binary(max_size=9) | st.text(max_size=4).map(str.encode),
    nulls=st.none() | st.integers(0, 255),
    first=st.integers(0, 3),
    wide=st.booleans(),
)
def test_any_offsets_and_bytes_are_texts_or_an_error(
    offsets: list[int], data: bytes, nulls: int | None, first: int, wide: bool
) -> None:
    """Consistent columns give the fingerprints of a list; otherwise the error names the inconsistent row."""
    # The length of the data follows only from the last offset.
    offsets[-1] = min(offsets[-1], len(data))
    first = min(first, len(offsets) - 1)
    rows = len(offsets) - 1 - first
    p = Producer()
    packed = struct.pack(f"{len(offsets)}{'q' if wide else 'i'}", *offsets)
    array = p.array(rows, [None if nulls is None else bytes([nulls]), packed, data], offset=first)
    texts: list[str | None] = []
    broken = False
    for row in range(first, first + rows):
        start, end = offsets[row : row + 2]
        broken |= not 0 <= start <= end <= offsets[-1]
        if nulls is not None and not nulls >> row & 1:
            texts.append(None)
        elif not broken:
            value = data[start:end]
            broken = value.decode(errors="replace").encode() != value
            texts.append(value.decode(errors="replace"))
    column = p.column(p.schema(b"U" if wide else b"u"), array)
    if broken:
        with pytest.raises(errors.InputError, match=r"^text \d: "):
            fingerprint(column)
    else:
        assert fingerprint(texts) == fingerprint(column)
