"""nearkin.theory, Hamming search: the paper's calculation, and formulas compared with real indexes."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin import HammingIndex, errors
from nearkin.theory import (
    bits_for,
    hamming_candidates,
    hamming_cost,
    keys_within,
    permuted_tables,
    random_pairs,
    tables_for,
)
from nearkin.theory.hamming import block_widths


@pytest.mark.parametrize(
    ("splits", "tables", "keys", "candidates"),
    [
        ((6,), 20, {31, 32, 33}, 2**3),
        ((4, 4), 16, {28}, 2**6),
        ((5,), 10, {25, 26}, 2**9),
        ((4,), 4, {16}, 2**18),
    ],
)
def test_the_table_of_the_paper(splits: tuple[int, ...], tables: int, keys: set[int], candidates: int) -> None:
    """Manku, Jain and Das Sarma (2007), section 3: 2^34 fingerprints of 64 bits, radius 3."""
    result = permuted_tables(64, 3, 34, splits)
    assert (tables, keys, candidates) == (result.tables, set(result.keys), max(result.candidates))
    assert result.candidates == tuple(2.0 ** (34 - key) for key in result.keys)


@pytest.mark.parametrize(
    ("log2_candidates", "tables", "splits"),
    [
        (34, 1, ()),
        (33.9, 4, (4,)),
        (18, 4, (4,)),
        (17.9, 10, (5,)),
        (8.4, 10, (5,)),
        (8.3, 16, (4, 4)),
        (6, 16, (4, 4)),
        (5.9, 20, (6,)),
        (2, 20, (6,)),
        (1.9, 35, (7,)),
    ],
)
def test_the_recursion_gives_the_papers_tables_as_the_threshold_falls(
    log2_candidates: float, tables: int, splits: tuple[int, ...]
) -> None:
    """X(64, 3, 34) for thresholds just above and at each step."""
    result = tables_for(64, 3, 34, log2_candidates)
    assert (tables, splits) == (result.tables, result.splits)


def chosen_bits(bits: list[int], radius: int, splits: tuple[int, ...]) -> list[set[int]]:
    """Return the bits in which each table must agree, by the definition of nested blocks."""
    if not splits:
        return [set()]
    count = splits[0]
    width, wider = divmod(len(bits), count)
    starts = [i * width + min(i, wider) for i in range(count + 1)]
    blocks = [bits[a:b] for a, b in pairwise(starts)]
    result = []
    for choice in combinations(range(count), count - radius):
        taken = {bit for i in choice for bit in blocks[i]}
        rest = [bit for bit in bits if bit not in taken]
        result += [taken | more for more in chosen_bits(rest, radius, splits[1:])]
    return result


@given(
    splits=st.sampled_from([(4,), (5,), (6,), (4, 4), (4, 5), (5, 4)]),
    flips=st.sets(st.integers(0, 63), max_size=3),
)
def test_some_table_agrees_with_whatever_lies_within_the_radius(splits: tuple[int, ...], flips: set[int]) -> None:
    """Wherever three bits differ, the bits of one key are unchanged; keys have the stated widths."""
    tables = chosen_bits(list(range(64)), 3, splits)
    assert sorted(map(len, tables)) == sorted(permuted_tables(64, 3, 34, splits).keys)
    assert any(not flips & table for table in tables)


@given(bits=st.integers(1, 40), radius=st.integers(0, 45))
def test_keys_within_a_radius_are_counted(bits: int, radius: int) -> None:
    """Counts follow Pascal's rule and include all keys at the full width."""
    assert keys_within(bits, radius) == (
        1 if radius == 0 else keys_within(bits - 1, radius) + keys_within(bits - 1, radius - 1)
    )
    assert 2**bits == keys_within(bits, bits)


@given(
    bits=st.integers(1, 256),
    n=st.integers(1, 10**9),
    radius=st.integers(0, 40),
    blocks=st.integers(1, 24),
)
def test_radii_of_blocks_cover_the_radius(bits: int, n: int, radius: int, blocks: int) -> None:
    """The sum of r_i + 1 is radius + 1, and no radius exceeds its key; an unreachable radius is an error."""
    radius, blocks = min(radius, bits), min(blocks, bits)
    reach = sum(min(width, 26, max(2, n).bit_length()) + 1 for width in block_widths(bits, blocks))
    if reach <= radius:
        with pytest.raises(errors.ParameterError, match="more of them"):
            hamming_cost("multi", n, bits, radius, blocks=blocks)
        return
    cost = hamming_cost("multi", n, bits, radius, blocks=blocks)
    assert radius + 1 == sum(limit + 1 for limit in cost.radii)
    assert all(-1 <= limit <= key for limit, key in zip(cost.radii, cost.keys, strict=True))
    assert blocks == cost.tables


@pytest.mark.parametrize("blocks", [2, 3, 4])
def test_the_radii_are_the_best_of_all(blocks: int) -> None:
    """No other way to distribute radius 6 reads fewer buckets and entries."""
    n, bits, radius = 1_000_000, 64, 6
    cost = hamming_cost("multi", n, bits, radius, blocks=blocks)
    weight = [1 + n / 2**key for key in cost.keys]

    def spread(left: int, tables: int) -> list[tuple[int, ...]]:
        if tables == 1:
            return [(left,)]
        return [(first, *rest) for first in range(left + 1) for rest in spread(left - first, tables - 1)]

    # A radius of -1 is 0 keys within; counts here are radius + 1.
    minimum = min(
        sum(keys_within(key, count - 1) * each for key, count, each in zip(cost.keys, counts, weight, strict=True))
        for counts in spread(radius + 1, blocks)
    )
    assert math.isclose(minimum, cost.probes + cost.candidates)


@pytest.mark.parametrize("method", ["blocks", "tables", "multi"])
def test_candidates_of_random_fingerprints(method: Literal["blocks", "tables", "multi"]) -> None:
    """The number of entries within the radius of each key, counted one by one, agrees with the formula.

    Each of the n * 50 comparisons of a table is an event of probability B(p, r) / 2^p, all independent, so the count X
    of all has mean mu and variance below mu. Bernstein: P[|X - mu| >= t] <= 2 exp(-t^2 / (2 mu + 2 t / 3)), and t = 6
    sqrt(mu) + 12 makes the exponent at least 18 for every mu (36 mu + 144 sqrt(mu) + 144 >= 36 mu + 72 sqrt(mu) + 144):
    3e-8. Tables of "tables" share bits; each is counted with fingerprints of its own.
    """
    n, radius = 20_000, 4
    cost = hamming_cost(method, n, 64, radius, blocks=3 if method == "multi" else None)
    rng = np.random.default_rng(1)
    mean, result = 0.0, 0
    for key, limit in zip(cost.keys, cost.radii, strict=True):
        stored = rng.integers(0, 1 << key, n)
        queries = rng.integers(0, 1 << key, 50)
        for query in queries:
            bits = np.unpackbits((stored ^ query).astype("<u4").view(np.uint8).reshape(n, 4), axis=1)
            result += int(np.count_nonzero(bits.sum(axis=1) <= limit))
        mean += 50 * n * keys_within(key, limit) / 2**key
    assert math.isclose(mean, 50 * cost.candidates)
    assert mean > 30
    assert abs(result - mean) < 6 * math.sqrt(mean) + 12


@pytest.mark.parametrize(("bits", "n", "radius"), [(64, 40_000, 3), (128, 20_000, 5), (512, 20_000, 3)])
def test_an_index_takes_the_bytes_of_the_formula(bits: int, n: int, radius: int) -> None:
    """Tables, fingerprints and row numbers are within two per cent."""
    rng = np.random.default_rng(2)
    words = bits // 64
    codes = rng.integers(0, 2**64, n if words == 1 else (n, words), dtype=np.uint64)
    index = HammingIndex(bits, "blocks", radius=radius)
    index.add(None, codes)
    index.search(codes[:1], radius=radius)
    part = max(index.explain(radius)["parts"], key=lambda part: part["slots"])
    cost = hamming_cost("blocks", n, bits, radius)
    assert (cost.tables, cost.probes) == (part["tables"], part["probes"])
    assert cost.total_bytes == pytest.approx(part["bytes"], rel=0.02)
    scan = HammingIndex(bits, "scan")
    scan.add(None, codes)
    scan.search(codes[:1], radius=radius)
    assert hamming_cost("scan", n, bits, radius).total_bytes == pytest.approx(scan.nbytes, rel=0.02)


def test_simple_methods() -> None:
    """The scan counts everything, lists contain half of everything; longer keys have fewer candidates."""
    assert 1000 == hamming_candidates("scan", 1000, 64, 3)
    lists = hamming_cost("bits", 1000, 64, 3)
    assert (32, 16_000, 128_000) == (lists.probes, lists.candidates, lists.table_bytes)
    four, five = (hamming_candidates("tables", 10**8, 64, 3, blocks=blocks) for blocks in (4, 5))
    assert four > five


@pytest.mark.parametrize("radius", [0, 1, 3])
def test_random_pairs_are_as_many_as_expected(radius: int) -> None:
    """The number of pairs of random fingerprints within a radius is C(n, 2) B / 2^bits, within 6 standard deviations.

    Pairs are pairwise independent, so the variance is below the mean. The least mean is 48, of a number that is nearly
    Poisson: it is off by 6 standard deviations with probability below 1e-6.
    """
    n, bits = 20_000, 22
    index = HammingIndex(bits=bits)
    index.add(None, np.random.default_rng(4).integers(0, 1 << bits, n, dtype=np.uint64))
    expected = random_pairs(n, bits, radius)
    assert abs(len(index.pairs(radius)) - expected) < 6 * math.sqrt(expected)


@given(st.integers(1, 10**9), st.integers(0, 5), st.sampled_from([0.001, 1, 1000]))
def test_the_width_is_the_smallest(n: int, radius: int, max_pairs: float) -> None:
    bits = bits_for(n, radius=radius, max_pairs=max_pairs)
    assert random_pairs(n, bits, radius) <= max_pairs
    assert bits == max(1, radius) or random_pairs(n, bits - 1, radius) > max_pairs
    least = bits_for(n)
    assert 2**least >= n
    assert least == 1 or 2 ** (least - 1) < n


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hamming_cost("magic", 10, 64, 3), "method='magic'"),  # type: ignore[arg-type]
        (lambda: hamming_cost("scan", 0, 64, 3), "n=0"),
        (lambda: hamming_cost("scan", 10, 0, 0), "bits=0"),
        (lambda: hamming_cost("scan", 10, 64, 65), "radius=65"),
        (lambda: hamming_cost("blocks", 10, 64, 3, blocks=5), "radius \\+ 1 = 4"),
        (lambda: hamming_cost("blocks", 10, 8, 8), "radius \\+ 1 = 9"),
        (lambda: hamming_cost("tables", 10, 64, 3, blocks=3), "radius \\+ 1 = 4"),
        (lambda: permuted_tables(64, 3, 34, [3]), "splits=3"),
        (lambda: permuted_tables(64, 64, 34, [65]), "radius=64"),
        (lambda: tables_for(64, 3, 34, -40), "log2_candidates=-40"),
        (lambda: random_pairs(0, 64), "n=0"),
        (lambda: random_pairs(10, 64, 65), "radius=65"),
        (lambda: random_pairs(10, 1025), "bits=1025"),
        (lambda: bits_for(0), "n=0"),
        (lambda: bits_for(10, radius=3), "max_pairs="),
        (lambda: bits_for(10, max_pairs=0), "max_pairs=0"),
        (lambda: bits_for(10, max_pairs=float("nan")), "max_pairs=nan"),
        (lambda: bits_for(1 << 62, radius=900, max_pairs=1), "1024 bits are not enough"),
    ],
)
def test_what_is_out_of_range_is_an_error(call: object, message: str) -> None:
    """Errors show the value, what is allowed, and a remedy."""
    with pytest.raises(errors.ParameterError, match=message):
        call()  # type: ignore[operator]
