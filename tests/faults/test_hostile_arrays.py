"""Arrays of every layout, and invalid sparse matrices: the right result or a typed error.

Cases that could end the process run in a child process.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import nearkin as nk
from nearkin import errors
from nearkin.index.fingerprints import to_hex

REFUSED = (errors.ParameterError, errors.InputError, errors.MismatchError, TypeError)


def misaligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same values, one byte off."""
    room = np.empty(array.nbytes + 1, np.uint8)
    moved: NDArray[Any] = np.ndarray(array.shape, array.dtype, room.data, offset=1)
    moved[...] = array
    return moved


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same values, read-only."""
    copy: NDArray[Any] = np.array(array)
    copy.flags.writeable = False
    return copy


class Labelled(np.ndarray):
    """A subclass like those that users write."""


LAYOUTS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "misaligned": misaligned,
    "frozen": frozen,
    "reversed twice": lambda array: np.ascontiguousarray(array[::-1])[::-1],
    "every third": lambda array: np.repeat(array, 3, axis=0)[::3],
    "Fortran": np.asfortranarray,
    "swapped": lambda array: array.astype(array.dtype.newbyteorder()),
    "subclass": lambda array: array.view(Labelled),
    "nothing masked": np.ma.MaskedArray,
    "object": lambda array: array.astype(object),
}
LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)

RNG = np.random.default_rng(5)
CODES = RNG.integers(0, 1 << 64, 40, dtype=np.uint64)
WIDE = RNG.integers(0, 1 << 64, (40, 2), dtype=np.uint64)
ROWS = RNG.standard_normal((60, 7))


@LAYOUT
def test_fingerprints_of_every_layout_are_the_same(layout: str) -> None:
    """Covers hamming, add, search and pairs."""
    change = LAYOUTS[layout]
    for bits, codes in ((64, CODES), (128, WIDE)):
        same = change(codes)
        if layout == "object":
            with pytest.raises(errors.ParameterError, match="object"):
                nk.hamming(same, same, bits=bits)
            continue
        expected = nk.hamming(codes, codes[::-1].copy(), bits=bits)
        assert np.array_equal(expected, nk.hamming(same, change(codes[::-1]), bits=bits))
        index, other = nk.HammingIndex(bits=bits), nk.HammingIndex(bits=bits)
        index.add(None, codes)
        other.add(change(np.arange(len(codes))), same)
        assert repr(list(index.search(codes, radius=30))) == repr(list(other.search(same, radius=30)))


@LAYOUT
def test_vectors_of_every_layout_are_the_same(layout: str) -> None:
    """Covers fit, transform, an index and nearest neighbours; arrays of objects are rejected."""
    same = LAYOUTS[layout](ROWS)
    family = nk.families.Hyperplane(64, seed=1).fit(ROWS)
    index = nk.LSHIndex(nk.families.Hyperplane(64, seed=1)).fit(ROWS)
    if layout == "object":
        with pytest.raises(errors.ParameterError, match="object"):
            family.transform(same)
        with pytest.raises(errors.ParameterError, match="object"):
            index.nearest(same, 3)
        return
    assert np.array_equal(family.transform(ROWS), family.transform(same))
    assert np.array_equal(index.nearest(ROWS, 3).ids, index.nearest(same, 3).ids)


@LAYOUT
def test_signatures_of_every_layout_are_the_same(layout: str) -> None:
    """Other byte orders and objects are rejected, because a signature has one type."""
    signatures = nk.signature(["a text of words", "another text", "a text of words"])
    same = LAYOUTS[layout](signatures)
    index = nk.BandIndex(num_perm=signatures.shape[1], threshold=0.8)
    if layout in ("swapped", "object"):
        with pytest.raises(errors.ParameterError, match="an array of"):
            index.add(None, same)
        return
    index.add(None, same)
    assert [[0, 2], [1], [0, 2]] == [[match.id for match in row] for row in index.search(same)]


@cache
def calls() -> dict[str, Callable[[Any], object]]:
    """Return calls that take an array."""
    codes = nk.HammingIndex(bits=64)
    codes.add(None, CODES)
    vectors = nk.LSHIndex(nk.families.Hyperplane(64, seed=1)).fit(ROWS)
    bands = nk.BandIndex(num_perm=128, threshold=0.8)
    return {
        "fingerprint": nk.fingerprint,
        "signature": nk.signature,
        "hamming": lambda array: nk.hamming(array, array),
        "to_hex": to_hex,
        "search": lambda array: codes.search(array, radius=3),
        "add": lambda array: nk.HammingIndex(bits=64).add(None, array),
        "ids": lambda array: nk.HammingIndex(bits=64).add(array, CODES[: len(array)] if array.ndim else CODES[:1]),
        "remove": lambda array: nk.HammingIndex(bits=64).remove(array, missing_ok=True),
        "transform": vectors.family_.transform,
        "nearest": lambda array: vectors.nearest(array, 2),
        "bands": lambda array: bands.search(array),
        "digests": lambda array: nk.DigestIndex().add(None, array),
        "similarity": lambda array: nk.minhash_similarity(array, array),
    }


ODD: dict[str, Callable[[], Any]] = {
    "no dimension": lambda: np.array(7, np.uint64),
    "no dimension, text": lambda: np.array("a"),
    "nothing": lambda: np.zeros(0, np.uint64),
    "no rows": lambda: np.zeros((0, 7)),
    "no columns": lambda: np.zeros((7, 0)),
    "four dimensions": lambda: np.zeros((2, 2, 2, 2), np.uint64),
    "more than memory": lambda: np.broadcast_to(np.uint64(3), (1 << 48,)),
    "more rows than memory": lambda: np.broadcast_to(np.float64(3), (1 << 45, 7)),
    "objects": lambda: np.array([object(), None, "a", 3], object),
    "masked": lambda: np.ma.MaskedArray(np.arange(4, dtype=np.uint64), [False, True, False, False]),
    "masked rows": lambda: np.ma.MaskedArray(ROWS, ROWS > 1),
    "more integers than memory": lambda: np.broadcast_to(np.int64(3), (1 << 48,)),
    "complex": lambda: ROWS.astype(complex),
    "times": lambda: np.array(["2020-01-01"], "datetime64[s]"),
    "records": lambda: np.zeros(3, [("a", "u8"), ("b", "f4")]),
    "bytes": lambda: np.array([b"a", b"\xff"]),
    "not numbers": lambda: np.full((3, 7), np.nan),
    "void": lambda: np.zeros(3, "V8"),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("call", calls())
def test_odd_arrays_are_answered_or_refused(call: str, odd: str) -> None:
    """A call raises only typed errors."""
    array = ODD[odd]()
    if array.size > 1 << 40 and call in ("fingerprint", "signature", "digests"):
        pytest.skip("a list of so many Python objects is the caller's own")
    try:
        calls()[call](array)
    except (*REFUSED, MemoryError) as error:
        assert str(error)  # noqa: PT017 - both outcomes are right


def test_what_is_masked_is_refused() -> None:
    """A masked value is missing, so it is neither searched for nor stored."""
    masked = np.ma.MaskedArray(CODES, CODES > CODES[0])
    for call in ("hamming", "search", "add", "ids", "transform", "nearest", "bands"):
        given_array = np.ma.MaskedArray(ROWS, ROWS > 1) if call in ("transform", "nearest") else masked
        with pytest.raises(errors.ParameterError, match="masked values"):
            calls()[call](given_array)


def spoil(values: NDArray[Any], what: str) -> NDArray[Any]:
    """Return an index array that lies."""
    values = values.copy()
    if what == "descending":
        values[:] = values[::-1].copy()
    elif what == "short":
        values = values[: len(values) // 2]
    elif what == "floats":
        values = values.astype(float)
    else:
        values[-1 if what == "last" else len(values) // 2] = -(2**30) if what == "negative" else 2**30
    return values


LIES = [
    *itertools.product(
        ("csr", "csc"), ("indptr", "indices"), ("descending", "negative", "huge", "last", "short", "floats")
    ),
    ("csr", "data", "short"),
    ("bsr", "indices", "huge"),
    ("bsr", "indptr", "descending"),
    ("coo", "coords", "huge"),
    ("coo", "columns", "negative"),
    ("coo", "data", "short"),
    ("lil", "rows", "huge"),
    ("lil", "rows", "negative"),
]
"""Format of a matrix, and what is wrong with one of its parts."""


def outcome(call: Callable[[Any], object], matrix: Any) -> str:
    """Return whether a call is answered or refused; any other error is raised."""
    try:
        call(matrix)
    except (errors.ParameterError, errors.InputError):
        return "refused"
    return "answered"


def lie() -> None:
    """Pass each matrix that lies to every call, and print the outcomes; called in a child process."""
    for kind, part, what in LIES:
        matrix: Any = sp.random_array((300, 200), density=0.05, rng=np.random.default_rng(3), format="csr")
        matrix = matrix.asformat(kind)
        if part == "coords":
            matrix.coords = (spoil(matrix.coords[0], what), matrix.coords[1])
        elif part == "columns":
            matrix.coords = (matrix.coords[0], spoil(matrix.coords[1], what))
        elif part == "rows":
            for row in matrix.rows:
                row[:] = [2**30 if what == "huge" else -(2**30)] * len(row)
        else:
            setattr(matrix, part, spoil(getattr(matrix, part), what))
        print(kind, part, what, end=":", flush=True)
        for call in (
            nk.families.Hyperplane(64).fit,
            nk.LSHIndex(nk.families.Hyperplane(64)).fit,
            lambda rows: nk.families.SparseSimHash(64).fit(rows).transform(rows),
            nk.SimHash().fingerprint_csr,
            nk.MinHash().signature_csr,
        ):
            print(outcome(call, matrix), end=" ", flush=True)
        print()


def test_sparse_matrices_that_lie_do_not_end_the_process() -> None:
    """Index arrays descend, are negative, point outside the matrix, or have a wrong length or type."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_hostile_arrays as t; t.lie()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert 0 == done.returncode, (done.stdout[-200:], done.stderr[-2000:])
    for lied, line in zip(LIES, done.stdout.splitlines(), strict=True):
        named, _, outcomes = line.partition(":")
        assert " ".join(lied) == named
        if lied[1:] == ("indices", "descending"):
            # Columns may have any order, unless the matrix claims that they are sorted.
            assert 5 == len(outcomes.split())
        else:
            assert ["refused"] * 5 == outcomes.split(), line


@given(data=st.data())
def test_any_index_arrays_are_read_or_refused(data: st.DataObject) -> None:
    """Random CSR arrays that SciPy's full check accepts give the dense rows' result; others raise an error."""
    rows, columns = 4, 5
    ends = data.draw(st.lists(st.integers(-1, 6), min_size=4, max_size=6).map(lambda some: [0, *sorted(some)[1:]]))
    indices = data.draw(st.lists(st.integers(-1, 5), min_size=3, max_size=7))
    values = data.draw(st.lists(st.integers(1, 9).map(float), min_size=3, max_size=7))
    matrix = sp.csr_array((rows, columns))
    matrix.indptr, matrix.indices = np.array(ends, np.int32), np.array(indices, np.int32)
    matrix.data = np.array(values)
    whole = len(ends) == rows + 1 and ends == sorted(ends) and ends[-1] <= min(len(indices), len(values))
    whole = whole and all(0 <= column < columns for column in indices[: ends[-1]])
    family = nk.families.SparseSimHash(16, seed=2)
    if not whole:
        with pytest.raises(errors.ParameterError, match="a sparse matrix whose"):
            family.fit(matrix)
        return
    dense = np.zeros((rows, columns))
    for row in range(rows):
        for at in range(ends[row], ends[row + 1]):
            dense[row, indices[at]] += values[at]
    results = [
        nk.SimHash().fingerprint_csr(matrix).tolist(),
        nk.SimHash().fingerprint_csr(sp.csr_array(dense)).tolist(),
    ]
    assert results[0] == results[1]
    if dense.any(axis=1).all():
        assert np.array_equal(family.fit(dense).transform(dense), family.transform(matrix))


def test_columns_of_another_format_are_not_taken_for_rows() -> None:
    """CSC has the same attributes, but they describe columns."""
    for call in (nk.SimHash().fingerprint_csr, nk.MinHash().signature_csr):
        with pytest.raises(errors.ParameterError, match="tocsr"):
            call(sp.csc_array(np.eye(3)))  # type: ignore[arg-type]
