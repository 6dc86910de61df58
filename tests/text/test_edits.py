"""nearkin.text.edits: edits between texts, compared with the recurrence and with brute force."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.errors import ParameterError
from nearkin.text import edits as module
from nearkin.text.edits import alignments, common_substring, edits, positional_similarity

WORDS = st.text(alphabet="ab \u00e9", max_size=14)


def distance(a: str | list[str], b: str | list[str]) -> int:
    """Compute the recurrence of Wagner and Fischer row by row."""
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


@given(a=WORDS, b=WORDS)
def test_edits_turn_one_text_into_the_other(a: str, b: str) -> None:
    result = edits(a, b)
    assert a == "".join(piece.a for piece in result.pieces)
    assert b == "".join(piece.b for piece in result.pieces)
    assert distance(a, b) == result.distance
    for piece in result.pieces:
        assert (piece.kind == "equal") == (piece.a == piece.b)
        assert piece.kind != "delete" or not piece.b
        assert piece.kind != "insert" or not piece.a
        assert piece.kind != "replace" or len(piece.a) == len(piece.b)
    sizes = {
        kind: sum(max(len(p.a), len(p.b)) for p in result.pieces if p.kind == kind)
        for kind in ("insert", "delete", "replace")
    }
    assert (sizes["insert"], sizes["delete"], sizes["replace"]) == (
        result.insertions,
        result.deletions,
        result.substitutions,
    )


@given(a=WORDS, b=WORDS)
def test_words_are_edited_as_a_whole(a: str, b: str) -> None:
    result = edits(a, b, unit="word")
    assert (a, b) == ("".join(piece.a for piece in result.pieces), "".join(piece.b for piece in result.pieces))
    assert distance(re.findall(r"\w+|\W", a), re.findall(r"\w+|\W", b)) == result.distance


@given(a=WORDS, b=WORDS)
def test_the_longest_common_substring(a: str, b: str) -> None:
    """The first of the longest common substrings, in the order of `a`."""
    parts = [a[i:j] for i in range(len(a)) for j in range(i + 1, len(a) + 1)]
    longest = max((len(part) for part in parts if part in b), default=0)
    expected = next((part for part in parts if len(part) == longest and part in b), "")
    assert expected == common_substring(a, b)


@given(a=WORDS, b=WORDS)
def test_places(a: str, b: str) -> None:
    assert positional_similarity(a, b) == positional_similarity(b, a)
    assert (positional_similarity(a, b) == 1) == (a == b)
    assert 0 <= positional_similarity(a, b) <= 1


def test_very_long_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 8)
    with pytest.raises(ParameterError, match="of 3 and 3 chars is not allowed"):
        edits("abc", "abc")
    with pytest.raises(ParameterError, match="at most 131,072"):
        common_substring("", "a" * (1 << 17) + "a")
    with pytest.raises(ParameterError, match="char or word"):
        edits("", "", unit="line")  # type: ignore[arg-type]


def cheapest(a: str, b: str, costs: tuple[float, float, float]) -> tuple[float, list[tuple[str, ...]]]:
    """Enumerate every sequence of edits, and return the cheapest cost and sequences."""

    def walk(i: int, j: int) -> Iterator[tuple[float, tuple[str, ...]]]:
        if i == len(a) and j == len(b):
            yield 0, ()
        if i < len(a):
            yield from ((cost + costs[1], ("D", *rest)) for cost, rest in walk(i + 1, j))
        if j < len(b):
            yield from ((cost + costs[0], ("I", *rest)) for cost, rest in walk(i, j + 1))
        if i < len(a) and j < len(b):
            equal = a[i] == b[j]
            found = walk(i + 1, j + 1)
            yield from ((cost + (0 if equal else costs[2]), ("M" if equal else "S", *rest)) for cost, rest in found)

    every = list(walk(0, 0))
    best = min(cost for cost, _ in every)
    return best, [kinds for cost, kinds in every if cost == best]


SHORT = st.text(alphabet="abc", max_size=4)
COSTS = st.tuples(*[st.sampled_from([0.5, 1, 2, 3.25])] * 3)


@given(a=SHORT, b=SHORT, costs=COSTS)
def test_alignments_are_all_the_cheapest(a: str, b: str, costs: tuple[float, float, float]) -> None:
    cost, expected = cheapest(a, b, costs)
    result = alignments(a, b, insertion=costs[0], deletion=costs[1], substitution=costs[2])
    assert (cost, len(expected)) == (result.cost, result.count)
    listed = list(result)
    assert len(expected) == len(listed)
    names = {"insert": "I", "delete": "D", "replace": "S", "equal": "M"}
    kinds = [
        tuple(names[piece.kind] for piece in each.pieces for _ in range(max(len(piece.a), len(piece.b))))
        for each in listed
    ]
    assert sorted(expected) == sorted(kinds)
    for letter, mean, field in zip(
        "IDS",
        (result.insertions, result.deletions, result.substitutions),
        ("insertions", "deletions", "substitutions"),
        strict=True,
    ):
        assert mean == pytest.approx(sum(each.count(letter) for each in expected) / len(expected))
        assert mean == pytest.approx(sum(getattr(each, field) for each in listed) / len(expected))
    assert {(a, b)} == {tuple("".join(getattr(p, side) for p in each.pieces) for side in "ab") for each in listed}
    assert len(set(listed)) == len(listed)


@given(a=WORDS, b=WORDS)
def test_unit_costs_are_the_levenshtein_distance(a: str, b: str) -> None:
    assert edits(a, b).distance == alignments(a, b).cost


def test_costs_can_depend_on_the_characters() -> None:
    vowels = "aeiou"
    result = alignments("pat", "pet", substitution=lambda x, y: 0.25 if x in vowels and y in vowels else 1)
    assert (0.25, 1) == (result.cost, result.substitutions)
    result = alignments("ab", "", deletion=lambda x: {"a": 2, "b": 5}[x])
    assert (7, 2, 1) == (result.cost, result.deletions, result.count)
    # 0.1 + 0.2 and 0.3 differ as floats only in their rounding; sums of the same costs are equal in any order.
    result = alignments("ab", "cd", insertion=0.1, deletion=0.2, substitution=10)
    assert 6 == result.count
    assert result.cost == pytest.approx(0.6)


def test_alignments_refuse_bad_costs_and_long_texts() -> None:
    for cost in (-1, float("nan"), float("inf"), "1", None):
        with pytest.raises(ParameterError, match="finite number from 0"):
            alignments("a", "b", substitution=cost)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="4,194,304 cells"):
        alignments("a" * 3000, "b" * 3000)
