"""Scores of digests: nearkin.ssdeep.scores."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError


def test_scores_equal_the_real_librarys(ssdeep_vectors: dict[str, Any]) -> None:
    """Every public pair, both ways round: well-formed ones strictly, all of them leniently."""
    for pair in ssdeep_vectors["pairs"]:
        for a, b in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
            if pair["valid"]:
                assert pair["score"] == nk.ssdeep.compare(a, b), pair
            else:
                with pytest.raises(InputError):
                    nk.ssdeep.compare(a, b)
            if -1 == pair["score"]:
                with pytest.raises(InputError):
                    nk.ssdeep.compare(a, b, strict=False)
            else:
                assert pair["score"] == nk.ssdeep.compare(a, b, strict=False), pair


def test_batches_score_as_pairs_do(ssdeep_vectors: dict[str, Any]) -> None:
    """compare_many and matrix give what compare gives."""
    digests = [entry["ssdeep"] for entry in ssdeep_vectors["files"]][::3]
    expected = np.array([[nk.ssdeep.compare(a, b) for b in digests] for a in digests], dtype=np.uint8)
    assert np.array_equal(expected, nk.ssdeep.matrix(digests))
    assert np.array_equal(expected[:9, 3:70], nk.ssdeep.matrix(digests[:9], digests[3:70]))
    for a, row in zip(digests, expected, strict=True):
        assert np.array_equal(row, nk.ssdeep.compare_many(a, digests))
    assert (0, 3) == nk.ssdeep.matrix([], digests[:3]).shape
    assert (3, 0) == nk.ssdeep.matrix(digests[:3], []).shape


def test_columns_of_strings_are_read_in_place(ssdeep_vectors: dict[str, Any]) -> None:
    """Arrow arrays, chunked ones and other iterables score as lists do; a fault names its row, the first of many."""
    digests = [entry["ssdeep"] for entry in ssdeep_vectors["files"]]
    expected = nk.ssdeep.compare_many(digests[0], digests)
    array = pa.array(digests)
    for column in (
        array,
        pa.chunked_array([array[:7], array[7:]]),
        array.cast(pa.large_string()),
        tuple(digests),
        iter(digests),
    ):
        assert np.array_equal(expected, nk.ssdeep.compare_many(digests[0], column))
    with pytest.raises(InputError, match=r"^row 1500, digest"):
        nk.ssdeep.compare_many(digests[0], pa.array([*(digests * 20)[:1500], "x", *digests, "y"]))
    with pytest.raises(InputError, match=r"^row 1: is null"):
        nk.ssdeep.compare_many(digests[0], pa.array([digests[0], None]))


def test_what_is_no_digest_is_refused() -> None:
    """Wrong types, one digest for a list, faults with their row; what strict reading refuses names its remedy."""
    with pytest.raises(TypeError, match="a digest is a str or bytes, not int"):
        nk.ssdeep.compare(1, "3::")  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match="pass a list"):
        nk.ssdeep.compare_many("3::", "3::")
    with pytest.raises(InputError, match=r'row 1, digest "7:a:b": the block size is not') as found:
        nk.ssdeep.matrix(["3::", "7:a:b"])
    assert ('row 1, digest "7:a:b"', "strict=False") == (found.value.place, found.value.remedy)
    assert found.value.reason.endswith("a digest reads `size:part:part`")
    with pytest.raises(InputError, match="outside of A-Z"):
        nk.ssdeep.compare("3:\ud800:", "3::")
    with pytest.raises(InputError) as lenient:
        nk.ssdeep.compare("no digest", "3::", strict=False)
    assert "remedy" not in lenient.value.context


DIGESTS = st.builds(
    lambda power, one, two: f"{3 << power}:{one}:{two}",
    st.integers(0, 30),
    st.text("abcdAB+/", max_size=64),
    st.text("abcdAB+/", max_size=64),
)


@given(DIGESTS, DIGESTS)
def test_scores_do_not_depend_on_order_or_on_the_form(a: str, b: str) -> None:
    """0 to 100; a digest with itself 100; text or bytes; strict or lenient."""
    score = nk.ssdeep.compare(a, b)
    assert 0 <= score <= 100
    assert score == nk.ssdeep.compare(b, a) == nk.ssdeep.compare(a.encode(), b) == nk.ssdeep.compare(a, b, strict=False)
    assert 100 == nk.ssdeep.compare(a, a)
    assert [[100, score], [score, 100]] == nk.ssdeep.matrix([a, b]).tolist()


@given(DIGESTS, DIGESTS)
def test_what_scores_shares_seven_characters(a: str, b: str) -> None:
    """In parts of one block size, runs of more than three left out; or the digests are equal."""

    def parts(digest: str) -> dict[int, str]:
        size, one, two = digest.split(":")
        short = [re.sub(r"(.)\1{3,}", r"\1\1\1", part) for part in (one, two)]
        return {int(size): short[0], 2 * int(size): short[1]}

    left, right = parts(a), parts(b)
    shared = any(
        left[size][i : i + 7] in right[size] for size in left.keys() & right for i in range(len(left[size]) - 6)
    )
    if nk.ssdeep.compare(a, b):
        assert shared or left == right
