"""nearkin.digests.ssdeep.content_similarity: a similarity that suits the length of inputs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError


def test_short_inputs_are_measured_by_their_grams() -> None:
    """Below the limit the score is the Jaccard similarity of 4-grams, above it that of the digests."""
    generator = random.Random(8)
    for _ in range(200):
        a = bytes(generator.choices(b"abc", k=generator.randint(0, 30)))
        b = bytes(generator.choices(b"abc", k=generator.randint(0, 30)))
        sets = [{x[i : i + 4] for i in range(max(1, len(x) - 3))} if x else set() for x in (a, b)]
        union = len(sets[0] | sets[1])
        expected = 100 * len(sets[0] & sets[1]) // union if union else 100
        assert nk.ssdeep.ContentSimilarity("jaccard:byte4", expected) == nk.ssdeep.content_similarity(a, b)
    long = generator.randbytes(4096)
    assert nk.ssdeep.ContentSimilarity("ssdeep", 100) == nk.ssdeep.content_similarity(long, bytearray(long))  # type: ignore[arg-type]
    assert "jaccard:byte4" == nk.ssdeep.content_similarity(long, long[1:]).method


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_similarity_does_not_depend_on_order(a: bytes, b: bytes) -> None:
    """The score is symmetric, from 0 to 100, and 100 for equal inputs, also empty ones."""
    result = nk.ssdeep.content_similarity(a, b)
    assert result == nk.ssdeep.content_similarity(b, a)
    assert 0 <= result.score <= 100
    assert 100 == nk.ssdeep.content_similarity(a, a).score


def test_the_limit_is_a_parameter() -> None:
    """Inputs with at least that many bytes are measured by their digests."""
    data = random.Random(1).randbytes(600)
    assert ["jaccard:byte4", "ssdeep", "ssdeep"] == [
        nk.ssdeep.content_similarity(data, data, short=short).method for short in (601, 600, 0)
    ]


def test_what_is_no_buffer_is_refused() -> None:
    """A str is the name of a file, not its content."""
    with pytest.raises(ParameterError, match="bytes or another buffer"):
        nk.ssdeep.content_similarity(1, b"")  # type: ignore[arg-type]  # the point
    with pytest.raises(FileNotFoundError):
        nk.ssdeep.content_similarity("/no/such/file", b"")  # type: ignore[arg-type]  # the point
