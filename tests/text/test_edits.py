"""nearkin.text.edits: edits between texts, compared with the recurrence and with brute force."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.errors import ParameterError
from nearkin.text import edits as module
from nearkin.text.edits import common_substring, edits, positional_similarity

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
