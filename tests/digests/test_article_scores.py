"""nearkin.ssdeep.article_compare: the formula of the article's listing, compared with the recurrence by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, ParameterError

PARTS = st.text("abcdefgXY", min_size=1, max_size=30)
SIZES = st.sampled_from([3, 6, 12, 48])


def likeness(left: str, right: str, least: int) -> int:
    """Compute a score from the table of distances and the table of common suffixes."""
    distances = [[i + j if not i or not j else 0 for j in range(len(right) + 1)] for i in range(len(left) + 1)]
    suffixes = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, x in enumerate(left, 1):
        for j, y in enumerate(right, 1):
            before = distances[i - 1][j], distances[i][j - 1], distances[i - 1][j - 1]
            distances[i][j] = before[2] if x == y else 1 + min(before)
            suffixes[i][j] = suffixes[i - 1][j - 1] + 1 if x == y else 0
    if max(map(max, suffixes)) < least:
        return 0
    scaled = distances[-1][-1] * 64 // (len(left) + len(right))
    return 100 - min(100, 100 * scaled // 64)


@given(SIZES, PARTS, PARTS, SIZES, PARTS, PARTS, st.sampled_from([4, 7]))
def test_scores_are_those_of_the_listing(
    size_a: int, one_a: str, two_a: str, size_b: int, one_b: str, two_b: str, least: int
) -> None:
    pairs = {
        size_a == size_b: [(one_a, one_b), (two_a, two_b)],
        size_a == 2 * size_b: [(one_a, two_b)],
        2 * size_a == size_b: [(two_a, one_b)],
    }.get(True, [])
    a, b = f"{size_a}:{one_a}:{two_a[:32]}", f"{size_b}:{one_b}:{two_b[:32]}"
    scores = nk.ssdeep.article_compare(a, b, least_common=least)
    assert scores.as_meant == max((likeness(*pair, least) for pair in pairs), default=0)
    # A string is never less than 7 in Python 2, so the rule does not apply.
    assert scores.as_run == max((likeness(*pair, 0) for pair in pairs), default=0)
    assert scores.ssdeep == nk.ssdeep.compare(a, b, least_common=least)
    assert scores == nk.ssdeep.article_compare(a.encode(), b.encode(), least_common=least)


def test_bad_digests_are_refused() -> None:
    with pytest.raises(InputError):
        nk.ssdeep.article_compare("3:abc", "3:abc:def")
    with pytest.raises(ParameterError, match="4 to 32"):
        nk.ssdeep.article_compare("3:abc:d", "3:abc:d", least_common=3)
    assert (0, 0) == (nk.ssdeep.article_compare("3::", "3::").as_meant, nk.ssdeep.article_compare("3::", "3::").as_run)
