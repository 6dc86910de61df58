"""nearkin.digests.ssdeep.explain: explanations of scores."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
from nearkin.errors import InputError


def test_explanations_add_up_to_the_score(ssdeep_vectors: dict[str, Any]) -> None:
    """The score is the best of the compared parts, or 100 for equal digests."""
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
    """Characters beyond the third of a run are counted as removed."""
    why = nk.ssdeep.explain("96:aaaaaabcdefgh:", "96:aaabcdefgh:bbbb")
    assert (3, 1) == why.runs_removed
    assert "left out: 3 and 1" in str(why)


def test_an_explanation_reads_as_sentences() -> None:
    """Equal, incomparable, capped and unrelated digests have different sentences."""
    assert "the digests are equal" in str(nk.ssdeep.explain("3:abc:de", "3:abc:de"))
    assert "differ by more than a factor of two" in str(nk.ssdeep.explain("3:abc:de", "96:abc:de"))
    assert "capped from" in str(nk.ssdeep.explain("12:abcdefgh:xyz", "12:abcdefgk:xyz"))
    assert "no seven successive characters in common" in str(nk.ssdeep.explain("12:abcdefgh:x", "12:hgfedcba:x"))


@pytest.mark.parametrize(("length", "expected"), [(6, "none"), (7, "low"), (15, "low"), (16, "fair"), (32, "good")])
def test_reliability_follows_the_length(length: int, expected: str) -> None:
    """Reliability depends on the length of the compared parts."""
    part = "abcdefghijklmnopqrstuvwxyz0123456789"
    assert expected == nk.ssdeep.explain(f"12:{part[:length]}:", f"12:{part[:length]}:").reliability
    assert "none" == nk.ssdeep.explain(f"12:{part[:length]}:", f"96:{part[:length]}:").reliability


def test_what_is_no_digest_has_no_explanation() -> None:
    """Invalid digests are refused; lenient parsing ignores text after a comma."""
    with pytest.raises(InputError, match="pass strict=False"):
        nk.ssdeep.explain("7:a:b", "7:a:b")
    why = nk.ssdeep.explain('7:a-:b,"xxxxxx"', b"7:a-:b", strict=False)
    assert (100, (0, 0)) == (why.score, why.runs_removed)


def shortened(part: str) -> str:
    """Shorten runs of more than three characters to three."""
    return re.sub(r"(.)\1{3,}", r"\1\1\1", part)


PARTS = st.one_of(
    st.text("abAB", max_size=64),
    st.builds(lambda start, length, run: "abcdefghijklmnopqrstuvwxyz0123456789+/"[start : start + length] + run,
              st.integers(0, 20), st.integers(0, 38), st.sampled_from(["", "zzzzzz", "AAAA", "x"])),
)  # fmt: skip
WHOLE = st.builds(lambda power, one, two: f"{3 << power}:{one}:{two}", st.integers(0, 4), PARTS, PARTS)


@given(WHOLE, WHOLE)
@settings(deadline=None)
def test_explanations_are_what_their_fields_say(a: str, b: str) -> None:
    """Sizes, lengths, common characters and runs follow their definitions, and the score that of `compare`."""
    why = nk.ssdeep.explain(a, b)
    assert nk.ssdeep.compare(a, b) == why.score
    (size_a, *full_a), (size_b, *full_b) = a.split(":"), b.split(":")
    sizes = int(size_a), int(size_b)
    left, right = [shortened(part) for part in full_a], [shortened(part) for part in full_b]
    assert (sizes[0] in (sizes[1], 2 * sizes[1]) or sizes[1] == 2 * sizes[0]) == why.comparable
    assert (sizes[0] == sizes[1] and left == right) == why.equal
    assert tuple(sum(map(len, full)) - sum(map(len, cut)) for full, cut in ((full_a, left), (full_b, right))) == (
        why.runs_removed
    )
    meets = [(i, j) for i in (0, 1) for j in (0, 1) if sizes[0] << i == sizes[1] << j]
    assert [(i + 1, j + 1) for i, j in meets] == [part.parts for part in why.compared]
    for (i, j), part in zip(meets, why.compared, strict=True):
        first, other = left[i], right[j]
        assert (sizes[0] << i, (len(first), len(other))) == (part.block_size, part.lengths)
        shared = [first[at : at + 7] for at in range(len(first) - 6) if first[at : at + 7] in other]
        assert (shared[0] if shared else None) == part.gram
        assert min(part.uncapped, part.cap) == part.score
        assert (part.gram is None) == (part.score == 0)
        if shared:
            assert reference.common_length(first, other) == part.common
    longest = max((min(part.lengths) for part in why.compared), default=0)
    bounds = {"none": (0, 7), "low": (7, 16), "fair": (16, 32), "good": (32, 65)}
    assert longest in range(*bounds[why.reliability])


@given(WHOLE, WHOLE)
def test_an_explanation_turns_round_with_its_digests(a: str, b: str) -> None:
    """Swapping the digests swaps parts, lengths and runs, but not scores. Bytes equal text."""
    first, other = nk.ssdeep.explain(a, b), nk.ssdeep.explain(b.encode(), a)
    assert (first.score, first.runs_removed, first.reliability) == (
        other.score,
        other.runs_removed[::-1],
        other.reliability,
    )
    assert sorted((part.parts, part.lengths, part.score, part.cap) for part in first.compared) == sorted(
        (part.parts[::-1], part.lengths[::-1], part.score, part.cap) for part in other.compared
    )
    lines = str(first).split("\n")
    assert [f"score {first.score}", f"reliability by length: {first.reliability}"] == [lines[0], lines[-1]]
    assert any(first.runs_removed) == any(line.startswith("characters of long runs left out: ") for line in lines)


@pytest.mark.parametrize("other", [5, None, ["3::"]])
def test_what_is_no_text_has_no_explanation(other: Any) -> None:
    """A value of another type on either side is refused with its type."""
    for pair in ((other, "3::"), ("3::", other)):
        with pytest.raises(TypeError, match=f"a digest is a str or bytes, not {type(other).__name__}"):
            nk.ssdeep.explain(*pair)
