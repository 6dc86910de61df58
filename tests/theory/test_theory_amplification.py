"""Amplification, u-functions, sensitivity and regions: printed values, definitions and simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nearkin import errors, theory
from nearkin.families import PStable


def test_u_functions_have_the_printed_sizes() -> None:
    """W = 4, recall 0.9: tables, halves and functions of both schemes."""
    p = float(theory.pstable(1.0, width=4.0))
    printed = {10: (21, 11, 55, 55), 14: (51, 17, 136, 119), 18: (126, 28, 378, 252), 20: (196, 35, 595, 350)}
    for k, (tables, halves, pairs, functions) in printed.items():
        assert tables == theory.tables_needed(p, k, 0.9)
        m = theory.u_functions_needed(p, k, 0.9)
        assert (halves, pairs, functions) == (m, m * (m - 1) // 2, m * k // 2)


def test_u_functions_lay_out_pairs_of_halves() -> None:
    """M (m - 1) / 2 tables are all pairs; each key consists of two complete halves."""
    family = PStable(width=1.0, u_functions=True)
    layout = family.hash_layout(10, 6)
    assert ((10, 6), 5 * 3) == (layout.shape, layout.max() + 1)
    pairs = {(int(row[0]) // 3, int(row[3]) // 3) for row in layout}
    assert {(i, j) for j in range(5) for i in range(j)} == pairs
    assert np.array_equal(layout[:, :3] % 3, np.tile(np.arange(3), (10, 1)))
    with pytest.raises(errors.ParameterError, match="an even number"):
        family.hash_layout(3, 5)


@given(p=st.floats(0, 1), k=st.integers(1, 40), tables=st.integers(1, 500))
def test_amplification_is_and_then_or(p: float, k: int, tables: int) -> None:
    """1 − (1 − p^k)^L holds even for tiny probabilities."""
    result = float(theory.amplify(p, k, tables))
    assert result == pytest.approx(1 - (1 - p**k) ** tables, abs=1e-12)


@given(p=st.floats(0.05, 0.99), k=st.integers(1, 12), recall=st.floats(0.01, 0.99))
@example(p=0.05, k=11, recall=0.703125)
def test_tables_are_the_fewest(p: float, k: int, recall: float) -> None:
    """One table fewer misses the recall; with 10^14 tables the difference is below the last bits."""
    tables = theory.tables_needed(p, k, recall)
    assert float(theory.amplify(p, k, tables)) >= recall - 1e-9
    assert tables == 1 or float(theory.amplify(p, k, tables - 1)) < recall + 4 * np.finfo(float).eps


def test_balls_cut_more_regions_than_planes() -> None:
    """Circles make n² − n + 2; d + 1 balls make one region more than planes."""
    assert [n * n - n + 2 for n in range(1, 9)] == [theory.ball_regions(n, 2) for n in range(1, 9)]
    assert [1 + n + n * (n - 1) // 2 for n in range(1, 9)] == [theory.plane_regions(n, 2) for n in range(1, 9)]
    for d in (1, 3, 10):
        assert theory.ball_regions(d + 1, d) == theory.plane_regions(d + 1, d) + 1 == 2 ** (d + 1)


@given(p=st.floats(0, 1), k=st.integers(1, 6), m=st.integers(2, 8))
def test_u_functions_are_pairs_of_halves_that_both_agree(p: float, k: int, m: int) -> None:
    """Two of m halves, each of k functions, must agree: 1 minus the probabilities of none and of exactly one."""
    half = p**k
    expected = 1 - (1 - half) ** m - m * half * (1 - half) ** (m - 1)
    assert float(theory.u_functions(p, 2 * k, m)) == pytest.approx(expected, abs=1e-12)


@given(p=st.floats(0.3, 0.99), k=st.integers(1, 5), recall=st.floats(0.01, 0.99))
def test_halves_are_the_fewest(p: float, k: int, recall: float) -> None:
    """One half fewer misses the recall."""
    m = theory.u_functions_needed(p, 2 * k, recall)
    assert float(theory.u_functions(p, 2 * k, m)) >= recall
    assert m == 2 or float(theory.u_functions(p, 2 * k, m - 1)) < recall


@given(near=st.floats(0.6, 0.99), far=st.floats(-0.5, 0.5), k=st.integers(1, 12), tables=st.integers(1, 30))
def test_amplifying_all_tables_keeps_what_is_near_before_what_is_far(
    near: float, far: float, k: int, tables: int
) -> None:
    """Its probabilities are those of the amplified law, and k alone does not change rho."""
    before = theory.sensitivity(theory.hyperplane, near, far)
    after = before.amplified(k, tables)
    curve = theory.amplify(theory.hyperplane([near, far]), k, tables)
    assert (near, far) == (after.near, after.far)
    assert curve.tolist() == [after.p_near, after.p_far]
    assert after.p_near >= after.p_far
    assert before.amplified(k, 1).rho == pytest.approx(before.rho)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_regions_are_counted_by_adding_one_cut_after_another(d: int) -> None:
    """A new plane cuts as many regions as the others cut itself: R(c, d) = R(c - 1, d) + R(c - 1, d - 1); a new ball
    likewise, on a sphere, where c circles cut S(c, d) = S(c - 1, d) + S(c - 1, d - 1).
    """
    for c in range(2, 9):
        smaller = theory.plane_regions(c - 1, d - 1) if d > 1 else 1
        assert theory.plane_regions(c, d) == theory.plane_regions(c - 1, d) + smaller
        assert theory.ball_regions(c, d) >= theory.plane_regions(c, d)
    assert [2, 4, 8, 14, 22] == [theory.ball_regions(c, 2) for c in range(1, 6)]


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.u_functions_needed(0.0, 4, 0.9),
        lambda: theory.u_tables(0.5, 3, 4),
        lambda: theory.u_tables(0.5, 4, 0),
        lambda: theory.u_tables(1.5, 4, 1),
        lambda: theory.u_functions_needed(0.5, 4, 1.0),
        lambda: theory.tables_needed(1.5, 4, 0.9),
        lambda: theory.ball_regions(0, 2),
        lambda: theory.plane_regions(2, 0),
        lambda: theory.rho(0.9, 0.0),
        lambda: theory.amplify(0.5, 0),
    ],
)
def test_what_is_out_of_range_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(errors.ParameterError, match="is not allowed; use"):
        call()


@given(p=st.floats(0, 1), k=st.integers(1, 4), m=st.integers(2, 9))
def test_whole_sets_of_pairs_are_u_functions(p: float, k: int, m: int) -> None:
    """They agree for m (m - 1) / 2 tables; one more table finds no less."""
    tables = m * (m - 1) // 2
    result = float(theory.u_tables(p, 2 * k, tables))
    assert float(theory.u_functions(p, 2 * k, m)) == pytest.approx(result, abs=1e-12)
    assert float(theory.u_tables(p, 2 * k, tables + 1)) >= result - 1e-12


@pytest.mark.parametrize("tables", range(1, 12))
def test_pairs_of_halves_that_agree_are_counted(tables: int) -> None:
    """The probability is summed over all subsets of agreeing halves that contain one of the pairs."""
    pairs = [(i, j) for j in range(1, 12) for i in range(j)][:tables]
    halves = max(j for _, j in pairs) + 1
    p, k = 0.7, 4
    q = p ** (k // 2)
    expected = 0.0
    for subset in range(1 << halves):
        agree = [subset >> i & 1 for i in range(halves)]
        if any(agree[i] and agree[j] for i, j in pairs):
            expected += q ** sum(agree) * (1 - q) ** (halves - sum(agree))
    assert float(theory.u_tables(p, k, tables)) == pytest.approx(expected, abs=1e-12)


STEPS = st.lists(st.tuples(st.sampled_from(["and", "or"]), st.integers(1, 9)), max_size=5)


@given(p=st.floats(0, 1), steps=STEPS)
def test_cascades_are_their_steps(p: float, steps: list[theory.amplification.Step]) -> None:
    """The steps p^k for AND and 1 − (1 − p)^k for OR apply in sequence and can be split."""
    expected = p
    for name, k in steps:
        expected = expected**k if name == "and" else 1 - (1 - expected) ** k
    result = float(theory.cascade(p, steps))
    assert expected == pytest.approx(result, abs=1e-9)
    halves = theory.cascade(theory.cascade(p, steps[:2]), steps[2:])
    assert float(halves) == pytest.approx(result, abs=1e-9)


@given(p=st.floats(0, 1), k=st.integers(1, 40), tables=st.integers(1, 500))
def test_amplification_is_a_cascade(p: float, k: int, tables: int) -> None:
    assert float(theory.cascade(p, [("and", k), ("or", tables)])) == pytest.approx(
        float(theory.amplify(p, k, tables)), rel=1e-9, abs=1e-300
    )


@given(low=st.floats(0, 1), high=st.floats(0, 1), steps=STEPS)
def test_cascades_keep_the_order(low: float, high: float, steps: list[theory.amplification.Step]) -> None:
    """A larger probability remains larger; 0 and 1 are fixed points."""
    low, high = sorted((low, high))
    result = theory.cascade([0.0, low, high, 1.0], steps)
    assert (0.0, 1.0) == (result[0], result[3])
    assert result[1] <= result[2] + 1e-12
    assert ((result >= 0) & (result <= 1)).all()


@given(p=st.floats(0, 1), steps=STEPS)
def test_or_is_and_of_the_complements(p: float, steps: list[theory.amplification.Step]) -> None:
    """Exchanging the steps exchanges the probabilities of finding and missing."""
    others: list[theory.amplification.Step] = [("or" if name == "and" else "and", k) for name, k in steps]
    assert float(theory.cascade(1 - p, others)) == pytest.approx(1 - float(theory.cascade(p, steps)), abs=1e-9)


@given(p=st.floats(0.01, 0.99), j=st.integers(2, 6), k=st.integers(2, 6))
def test_the_order_of_steps_matters(p: float, j: int, k: int) -> None:
    """OR before AND finds more than AND before OR; equal steps combine to one of the product."""
    first, last = theory.cascade(p, [("or", j), ("and", k)]), theory.cascade(p, [("and", k), ("or", j)])
    assert float(first) >= float(last)
    for name in ("and", "or"):
        joined = theory.cascade(p, [(name, j * k)])
        assert float(theory.cascade(p, [(name, j), (name, k)])) == pytest.approx(float(joined), rel=1e-9)


def test_tiny_probabilities_stay_exact() -> None:
    """An OR of tiny probabilities is their sum; an AND of near certainties misses the sum of the misses."""
    assert float(theory.cascade(1e-20, [("or", 1000)])) == pytest.approx(1e-17, rel=1e-12)
    assert float(theory.cascade(1e-20, [("or", 1000), ("and", 2)])) == pytest.approx(1e-34, rel=1e-12)
    assert float(theory.cascade(0.5, [("or", 60), ("and", 1 << 10), ("and", 1 << 40)])) == pytest.approx(
        np.exp(-(2.0**-60) * 2.0**50), rel=1e-9
    )


@pytest.mark.parametrize(
    "steps",
    [[("or", 2), ("and", 3), ("or", 4)], [("and", 2), ("or", 3), ("and", 2), ("or", 2)], [("or", 5), ("and", 5)]],
)
def test_cascades_are_what_simulation_finds(steps: list[theory.amplification.Step]) -> None:
    """The test draws all functions 20,000 times and combines them step by step.

    A mean of 20,000 indicators is within 0.0195 of its expectation but for 2 exp(-2 · 20000 · 0.0195²) = 5e-7
    (Hoeffding).
    """
    rng = np.random.default_rng(5)
    for p in (0.3, 0.6):
        agree: Any = rng.random((20_000, *(k for _, k in reversed(steps)))) < p
        for name, _ in steps:
            agree = agree.all(axis=-1) if name == "and" else agree.any(axis=-1)
        assert abs(agree.mean() - float(theory.cascade(p, steps))) < 0.0195


def test_sensitivities_are_cascaded() -> None:
    s = theory.sensitivity(theory.hyperplane, 0.9, 0.5)
    assert s.amplified(4, 6).p_near == pytest.approx(s.cascaded([("and", 4), ("or", 6)]).p_near)
    assert s == s.cascaded([])
    assert (0.9, 0.5) == (s.cascaded([("and", 2)]).near, s.cascaded([("and", 2)]).far)
    assert s.cascaded([("and", 7)]).rho == pytest.approx(s.rho)


@pytest.mark.parametrize(
    ("name", "parameters", "near", "far"),
    [
        ("bit_sampling", {"d": 64}, 3, 20),
        ("cross_polytope", {"d": 16}, 0.9, 0.5),
        ("hyperplane", {}, 0.9, 0.5),
        ("minhash", {"bits": 1}, 0.8, 0.2),
        ("pstable", {"metric": "l1", "width": 4.0}, 1, 2),
        ("shift_invariant", {"gamma": 0.5}, 1, 2),
    ],
)
def test_a_family_by_name_has_its_law(name: str, parameters: dict[str, Any], near: float, far: float) -> None:
    law = getattr(theory, name)
    s = theory.sensitivity(name, near, far, **parameters)
    assert (near, far) == (s.near, s.far)
    assert [float(law(near, **parameters)), float(law(far, **parameters))] == pytest.approx([s.p_near, s.p_far])
    assert s == theory.sensitivity(law, near, far, **parameters)


def test_simhash_is_sensitive_as_hyperplanes_are() -> None:
    assert theory.sensitivity("simhash", 0.9, 0.5) == theory.sensitivity("hyperplane", 0.9, 0.5)
    with pytest.raises(TypeError, match="width"):
        theory.sensitivity("simhash", 0.9, 0.5, width=4.0)


@pytest.mark.parametrize(
    ("p", "steps", "message"),
    [
        (1.5, [], "p"),
        (0.5, [("xor", 2)], "steps=\\('xor', 2\\) is not allowed; use pairs such as"),
        (0.5, [("and", 0)], "steps=0 is not allowed; use counts of 1 or more"),
        (0.5, [("and", 2.5)], "steps=2.5 is not allowed"),
        (0.5, ["and"], "steps='and' is not allowed"),
        (0.5, [5], "steps=5 is not allowed"),
    ],
)
def test_bad_steps_are_refused(p: float, steps: list[theory.amplification.Step], message: str) -> None:
    with pytest.raises(errors.ParameterError, match=message):
        theory.cascade(p, steps)
