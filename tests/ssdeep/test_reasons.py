"""Why digests score what they score: nearkin.ssdeep.reasons."""

from __future__ import annotations

from typing import Any

import pytest

import nearkin as nk
from nearkin.errors import InputError


def test_explanations_add_up_to_the_score(ssdeep_vectors: dict[str, Any]) -> None:
    """The best of the compared parts, or 100 for equal digests, is the score."""
    capped = unlike = 0
    for pair in ssdeep_vectors["pairs"]:
        if not pair["valid"]:
            continue
        why = nk.ssdeep.explain(pair["a"], pair["b"])
        assert pair["score"] == why.score
        assert pair["score"] == (100 if why.equal else max((part.score for part in why.compared), default=0))
        assert all((part.gram is None) == (0 == part.uncapped) for part in why.compared)
        capped += "capped from" in str(why)
        unlike += not why.comparable
    assert capped > 20
    assert unlike > 20


def test_runs_are_counted_in_explanations() -> None:
    """Characters beyond the third of a kind are said to be left out."""
    why = nk.ssdeep.explain("96:aaaaaabcdefgh:", "96:aaabcdefgh:bbbb")
    assert (3, 1) == why.runs_removed
    assert "left out: 3 and 1" in str(why)


def test_an_explanation_reads_as_sentences() -> None:
    """Equal, not comparable, capped, nothing in common: each is said."""
    assert "the digests are equal" in str(nk.ssdeep.explain("3:abc:de", "3:abc:de"))
    assert "differ by more than a factor of two" in str(nk.ssdeep.explain("3:abc:de", "96:abc:de"))
    assert "capped from" in str(nk.ssdeep.explain("12:abcdefgh:xyz", "12:abcdefgk:xyz"))
    assert "no seven successive characters in common" in str(nk.ssdeep.explain("12:abcdefgh:x", "12:hgfedcba:x"))


@pytest.mark.parametrize(("length", "expected"), [(6, "none"), (7, "low"), (15, "low"), (16, "fair"), (32, "good")])
def test_reliability_follows_the_length(length: int, expected: str) -> None:
    """Of the longest part that was compared on both sides."""
    part = "abcdefghijklmnopqrstuvwxyz0123456789"
    assert expected == nk.ssdeep.explain(f"12:{part[:length]}:", f"12:{part[:length]}:").reliability
    assert "none" == nk.ssdeep.explain(f"12:{part[:length]}:", f"96:{part[:length]}:").reliability


def test_what_is_no_digest_has_no_explanation() -> None:
    """As for scores; leniently it may have one, and text after a comma is none of its runs."""
    with pytest.raises(InputError, match="pass strict=False"):
        nk.ssdeep.explain("7:a:b", "7:a:b")
    why = nk.ssdeep.explain('7:a-:b,"xxxxxx"', b"7:a-:b", strict=False)
    assert (100, (0, 0)) == (why.score, why.runs_removed)
