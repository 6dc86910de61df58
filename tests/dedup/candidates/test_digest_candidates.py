"""nearkin.dedup.candidates.digests: digests that score enough, compared with all pairs."""

from __future__ import annotations

import random
from typing import Any

import pytest

import nearkin as nk
from definitions import check_search
from nearkin.dedup.candidates.digests import DigestCandidates, digest_values, is_comparable
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import ParameterError


def make_digests(seed: int = 1, count: int = 40) -> list[str]:
    """Return digests of a few bases with edits, of equal and of tiny files, of zeros."""
    generator = random.Random(seed)
    bases = [generator.randbytes(5000) for _ in range(3)]
    actual = ["3::", "3::", nk.ssdeep.hash(bytes(5000)), nk.ssdeep.hash(b"tiny"), nk.ssdeep.hash(bases[0])]
    while len(actual) < count:
        data = bytearray(generator.choice(bases))
        for _ in range(generator.choice([0, 1, 10, 40])):
            data[generator.randrange(len(data))] = generator.randrange(256)
        actual.append(nk.ssdeep.hash(bytes(data)))
    return actual


@pytest.mark.parametrize("threshold", [1, 60, 97, 100])
def test_candidates_are_all_digests_that_score_enough(threshold: int) -> None:
    """The score is the similarity; digests that are not comparable match none, not even themselves."""
    names = make_digests()

    def match(i: int, j: int) -> bool:
        both = is_comparable(names[i]) and is_comparable(names[j])
        return both and nk.ssdeep.compare(names[i], names[j]) >= threshold

    source = DigestCandidates(DigestRecipe(), threshold)
    check_search(source, digest_values(names), match, lambda i, j: nk.ssdeep.compare(names[i], names[j]))


@pytest.mark.parametrize(
    ("digest", "expected"),
    [("3::", False), ("3:abcdef:abcdef", False), ("3:abcdefg:a", True), ("3:a:abcdefg", True), ("96:aaaaaaa:", True)],
)
def test_digests_with_seven_characters_in_a_part_are_comparable(digest: str, expected: bool) -> None:
    """Two digests can match only if they share seven consecutive characters."""
    assert expected is is_comparable(digest)


def test_distances_are_a_hundred_minus_the_score() -> None:
    """For every pair, in groups with one left digest or not."""
    names = make_digests(2)
    values = digest_values(names)
    source = DigestCandidates(DigestRecipe(), 80)
    expected = [100 - nk.ssdeep.compare(a, b) for a, b in zip(names, names[::-1], strict=True)]
    assert expected == source.distances(values, values[::-1]).tolist()
    assert {} == source.summary()


@pytest.mark.parametrize("threshold", [0, 101, 80.5, True, "80", None])
def test_thresholds_are_whole_scores(threshold: Any) -> None:
    """1 to 100, inclusive."""
    with pytest.raises(ParameterError, match="a whole score from 1 to 100"):
        DigestCandidates(DigestRecipe(), threshold)
    assert (1, 100, 80) == tuple(DigestCandidates(DigestRecipe(), score).threshold for score in (1, 100, 80.0))
