"""nearkin.vectors.projection: codes are those of exact products, with or without BLAS; bits pack and unpack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearkin.vectors import projection
from nearkin.vectors.arrays import Matrix, Rows, as_rows
from nearkin.vectors.projection import Projection, pack_bits, unpack_bits


def bits_of(words: NDArray[np.uint64], count: int) -> list[list[bool]]:
    """Return bit i of a row, which is bit i % 64 of word i // 64."""
    return [[bool(int(row[i // 64]) >> i % 64 & 1) for i in range(count)] for row in words]


def expected_bits(rows: Rows, matrix: Matrix, offset: NDArray[np.float64]) -> list[list[bool]]:
    """Return the bits by definition: the exact products, in the fixed order, above zero with their offsets."""
    result: list[list[bool]] = (rows.all_products(matrix) + offset > 0).tolist()
    return result


@given(bits=hnp.arrays(np.bool_, st.tuples(st.integers(0, 4), st.integers(1, 200))))
def test_bits_are_packed_from_the_lowest_and_come_back(bits: NDArray[np.bool_]) -> None:
    """Bit i is bit i % 64 of word i // 64, unused high bits are zero, and unpacking is the inverse."""
    count = bits.shape[1]
    words = pack_bits(bits)
    assert ((len(bits), -(-count // 64)), "uint64") == (words.shape, str(words.dtype))
    assert bits.tolist() == bits_of(words, count)
    assert all(int(row[-1]) >> (count - 1) % 64 + 1 == 0 for row in words)
    assert bits.astype(np.uint8).tolist() == unpack_bits(words, count).tolist()


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 30), st.integers(1, 130)),
    types=st.tuples(st.sampled_from(["float32", "float64"]), st.sampled_from(["float32", "float64"])),
    kind=st.sampled_from(["dense", "sparse", "by BLAS"]),
    shift=st.sampled_from([0.0, 0.0, 1e4]),
)
def test_codes_are_those_of_exact_products(
    seed: int, shape: tuple[int, int, int], types: tuple[str, str], kind: str, shift: float
) -> None:
    """Small integers give many products of exactly zero; a shift makes float32 products uncertain."""
    n, d, bits = shape
    rng = np.random.default_rng(seed)
    array = (rng.integers(-2, 3, (n, d)) + shift).astype(types[0])
    matrix = rng.integers(-2, 3, (bits, d)).astype(types[1])
    offset = rng.choice([0.0, -1.0, 0.5], bits)
    rows = as_rows(csr_array(array) if kind == "sparse" else array)
    with pytest.MonkeyPatch.context() as patch:
        if kind == "by BLAS":
            patch.setattr(projection, "_SMALL", 0)
        codes = Projection(matrix, offset).sign_codes(rows)
    assert expected_bits(rows, matrix, offset) == bits_of(codes, bits)


def test_batches_change_no_bit_and_are_checked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch comes with the lengths of its rows, or slightly more; together they are all rows."""
    rng = np.random.default_rng(3)
    array = rng.normal(size=(1_000, 5)).astype(np.float32)
    array[700] = 0
    matrix = rng.normal(size=(70, 5))
    rows = as_rows(array)
    whole = Projection(matrix, np.zeros(70)).sign_codes(rows)
    monkeypatch.setattr(projection, "_BATCH", 1)
    monkeypatch.setattr(projection, "_MAX_BATCH", 1)
    seen: list[tuple[int, int]] = []

    def check(batch: Rows, norms: NDArray[np.float64]) -> None:
        seen.append((batch.first, len(batch)))
        lengths = batch.norms()
        assert ((norms >= lengths) & (norms <= 1.001 * lengths)).all()

    again = Projection(matrix, np.zeros(70)).sign_codes(rows, check)
    assert whole.tolist() == again.tolist()
    assert [(0, 256), (256, 256), (512, 256), (768, 232)] == seen


def test_few_rows_are_checked_too() -> None:
    """Rows that skip BLAS come with their lengths, which are 0 for zeros only."""
    seen: list[list[float]] = []

    def check(batch: Rows, norms: NDArray[np.float64]) -> None:
        seen.append(norms.tolist())

    Projection(np.ones((3, 2)), np.zeros(3)).sign_codes(as_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), check)
    assert [[5.0, 0.0]] == seen


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_products_lie_within_their_bounds(wide: bool, sparse: bool) -> None:
    """The product of BLAS differs from the exact one by at most rows times columns plus the slack."""
    rng = np.random.default_rng(5)
    array = rng.normal(size=(50, 200)).astype(np.float64 if wide else np.float32)
    matrix = rng.normal(size=(20, 200)).astype(np.float64 if wide else np.float32)
    offset = rng.normal(size=20)
    rows = as_rows(csr_array(array) if sparse else array)
    result = Projection(matrix, offset)
    by_row, by_column, row_slack, column_slack = result.bounds(rows, rows.norm_bounds())
    error = np.abs(result.products(rows).astype(np.float64) - rows.all_products(matrix))
    assert 0 == len(row_slack)
    assert (error <= by_row[:, None] * by_column[None, :] + column_slack).all()


def test_no_rows_have_no_codes() -> None:
    """An empty batch is not an error."""
    assert (0, 2) == Projection(np.ones((65, 3)), np.zeros(65)).sign_codes(as_rows(np.zeros((0, 3)))).shape


def test_places_that_are_unsure_are_decided_by_exact_values() -> None:
    """The kernel reports them, and decides in float64 if there are many."""
    rows = as_rows(np.array([[1, 2], [3, 4]], np.float32))
    queries: list[Any] = []

    def kernel(batch: Rows, products: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        queries.append((str(batch.dtype), str(products.dtype)))
        return np.array([1, 0], np.int64), np.array([0, 1], np.int64)

    positions, columns, values = Projection(np.array([[1, 1], [1, -1]], np.float32), np.zeros(2)).decide(rows, kernel)
    assert [("float32", "float32"), ("float64", "float64")] == queries
    assert ([1, 0], [0, 1], [7.0, -1.0]) == (positions.tolist(), columns.tolist(), values.tolist())

    def sure(batch: Rows, products: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    assert [0, 0, 0] == [len(part) for part in Projection(np.ones((1, 2)), np.zeros(1)).decide(rows, sure)]
