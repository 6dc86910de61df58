"""`nk.explain` of a search: blocks, candidates and comparisons equal those of the definition."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.index.fingerprints import words_per_row


def as_words(value: int, bits: int) -> list[int]:
    return [value >> 64 * word & 2**64 - 1 for word in range(words_per_row(bits))]


def as_array(values: list[int], bits: int) -> Any:
    rows = np.array([as_words(value, bits) for value in values], np.uint64).reshape(-1, words_per_row(bits))
    return rows[:, 0] if bits <= 64 else rows


@st.composite
def searches(draw: st.DrawFn) -> tuple[int, int, int, list[int]]:
    """Bits, radius, a query, and fingerprints, many of them near it."""
    bits = draw(st.sampled_from([1, 2, 7, 64, 65, 130]))
    query = draw(st.integers(0, 2**bits - 1))
    flips = st.lists(st.integers(0, bits - 1), max_size=6)
    near = flips.map(lambda positions: query ^ sum({1 << at for at in positions}))
    stored = draw(st.lists(near | st.integers(0, 2**bits - 1), max_size=12))
    return bits, draw(st.integers(0, min(bits, 8))), query, stored


@given(searches())
def test_the_steps_are_those_of_the_definition(search: tuple[int, int, int, list[int]]) -> None:
    bits, radius, query, stored = search
    index = nk.HammingIndex(bits=bits)
    index.add(None, as_array(stored, bits))
    steps = nk.explain(as_array([query], bits), index, radius=radius)
    distances = [(query ^ value).bit_count() for value in stored]
    hits = index.search(as_array([query], bits), radius)[0]
    assert [(match.id, match.distance) for match in hits] == list(steps.matches)
    methods = {each.method: each for each in steps.methods}
    n = len(stored)
    assert (0, n, n) == (methods["scan"].lists, methods["scan"].entries, methods["scan"].comparisons)
    lists = [[value for value in stored if (value ^ query) >> bit & 1 == 0] for bit in range(bits)]
    assert (bits, sum(map(len, lists))) == (methods["bits"].lists, methods["bits"].entries)
    assert sum(distance < bits for distance in distances) == methods["bits"].comparisons
    if radius == bits:
        assert (steps.blocks, "blocks" in methods) == ((), False)
        return
    digits = [f"{value:0{bits}b}" for value in [query, *stored]]
    reached: set[int | str] = set()
    assert [bits, *(block.lowest for block in steps.blocks)] == [*(block.highest + 1 for block in steps.blocks), 0]
    assert max(len(block.key) for block in steps.blocks) - min(len(block.key) for block in steps.blocks) <= 1
    for block in steps.blocks:
        span = slice(bits - 1 - block.highest, bits - block.lowest)
        assert digits[0][span] == block.key
        expected = [(row, distances[row]) for row in range(n) if digits[row + 1][span] == block.key]
        assert sorted(expected, key=lambda entry: entry[1]) == list(block.candidates)
        reached |= {entry[0] for entry in block.candidates}
    entries = sum(len(block.candidates) for block in steps.blocks)
    assert (radius + 1, entries, len(reached)) == (
        methods["blocks"].lists,
        methods["blocks"].entries,
        methods["blocks"].comparisons,
    )
    # The pigeonhole principle: every match is a candidate.
    assert {match[0] for match in steps.matches} <= reached
    assert len(steps.matches) == len(json.loads(json.dumps(steps.to_dict()))["matches"])
    assert f"matches      {len(steps.matches)}" in str(steps)


def test_a_text_is_hashed_by_the_recipe_of_the_index() -> None:
    index = nk.HammingIndex(recipe="char:4|count|xxh3|simhash:64", radius=2)
    index.add(["a", "b"], nk.fingerprint(["How are you?", "something else"], index.recipe))
    steps = nk.explain("how are you", index)
    assert (2, (("a", 0),)) == (steps.radius, steps.matches)
    assert "<td><code>a at 0</code></td>" in steps._repr_html_()
    with pytest.raises(ParameterError, match="without any feature"):
        nk.explain("...", index)
    with pytest.raises(ParameterError, match="recipe="):
        nk.explain("how are you", nk.HammingIndex())


def test_removed_and_updated_fingerprints() -> None:
    """The steps see what a search sees."""
    index = nk.HammingIndex(bits=8)
    index.add(["a", "b", "c"], [0, 1, 255])
    index.remove(["a"])
    index.add(["c"], [3], existing="update")
    steps = nk.explain(1, index, radius=1)
    assert (2, (("b", 0), ("c", 1))) == (steps.num_fingerprints, steps.matches)


def test_bad_arguments() -> None:
    explain: Any = nk.explain
    index = nk.HammingIndex(bits=8)
    assert () == explain(1, index).matches
    with pytest.raises(ParameterError, match="2 fingerprints"):
        explain([1, 2], index)
    with pytest.raises(ParameterError, match="0 to bits=8"):
        explain(1, index, radius=9)
    with pytest.raises(ParameterError, match="no other with an index"):
        explain(1, index, other=2)
    with pytest.raises(ParameterError, match="no bit_order with an index"):
        explain(1, index, bit_order="lowest")
