"""nearkin.digests.ssdeep.compare, compare_many and matrix: scores of digests."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, ParameterError


def test_scores_equal_the_real_librarys(ssdeep_vectors: dict[str, Any]) -> None:
    """Every public pair in both orders, strictly if well-formed, leniently in any case."""
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
    """compare_many and matrix equal compare."""
    digests = [entry["ssdeep"] for entry in ssdeep_vectors["files"]][::3]
    expected = np.array([[nk.ssdeep.compare(a, b) for b in digests] for a in digests], dtype=np.uint8)
    assert np.array_equal(expected, nk.ssdeep.matrix(digests))
    assert np.array_equal(expected[:9, 3:70], nk.ssdeep.matrix(digests[:9], digests[3:70]))
    for a, row in zip(digests, expected, strict=True):
        assert np.array_equal(row, nk.ssdeep.compare_many(a, digests))
    assert (0, 3) == nk.ssdeep.matrix([], digests[:3]).shape
    assert (3, 0) == nk.ssdeep.matrix(digests[:3], []).shape


def test_columns_of_strings_are_read_in_place(ssdeep_vectors: dict[str, Any]) -> None:
    """Arrow arrays, chunked arrays and iterables score like lists; an error contains the first bad row."""
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
    """Wrong types and invalid digests are refused with their row and a remedy."""
    with pytest.raises(TypeError, match="a digest is a str or bytes, not int"):
        nk.ssdeep.compare(1, "3::")  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match="pass a list"):
        nk.ssdeep.compare_many("3::", "3::")
    with pytest.raises(InputError, match=r'row 1, digest "7:a:b": the block size is not') as caught:
        nk.ssdeep.matrix(["3::", "7:a:b"])
    assert ('row 1, digest "7:a:b"', "strict=False") == (caught.value.place, caught.value.remedy)
    assert caught.value.reason.endswith("a digest reads `size:part:part`")
    with pytest.raises(InputError, match="outside of A-Z"):
        nk.ssdeep.compare("3:\ud800:", "3::")
    with pytest.raises(InputError) as lenient:
        nk.ssdeep.compare("no digest", "3::", strict=False)
    assert "remedy" not in lenient.value.context


def test_lenient_reading_takes_what_the_library_takes() -> None:
    """Text after the block size is ignored, a NUL ends a digest, and sizes are checked first."""
    for left, right, score in (
        ("96x:abcdefgh:ab", "96:abcdefgh:ab", 100),
        (" +96 :abcdefgh:ab", "96:abcdefgh:ab", 100),
        ("9.6:abcdefgh:ab", "9:abcdefgh:ab", 100),
        ("0x60:abc:de", "0:abc:de", 100),
        ("-3:abc:de", "18446744073709551613:abc:de", 100),
        ("96:abcdefgh:ab\0cd", "96:abcdefgh:ab", 100),
        ("96:abcdefgh:ab,cd", "96:abcdefgh:ab", 100),
        ("24", "3:abc:de", 0),
    ):
        assert score == nk.ssdeep.compare(left, right, strict=False), left
    for text in ("24", "24:abc", "24:a\0b:c", ":a:b", "x24:a:b"):
        with pytest.raises(InputError):
            nk.ssdeep.compare(text, "24:abc:de", strict=False)


DIGESTS = st.builds(
    lambda power, one, two: f"{3 << power}:{one}:{two}",
    st.integers(0, 30),
    st.text("abcdAB+/", max_size=64),
    st.text("abcdAB+/", max_size=64),
)


@given(DIGESTS, DIGESTS)
def test_scores_do_not_depend_on_order_or_on_the_form(a: str, b: str) -> None:
    """Scores are 0 to 100 and symmetric, equal for text and bytes, and 100 for equal digests."""
    score = nk.ssdeep.compare(a, b)
    assert 0 <= score <= 100
    assert score == nk.ssdeep.compare(b, a) == nk.ssdeep.compare(a.encode(), b) == nk.ssdeep.compare(a, b, strict=False)
    assert 100 == nk.ssdeep.compare(a, a)
    assert [[100, score], [score, 100]] == nk.ssdeep.matrix([a, b]).tolist()


@given(DIGESTS, DIGESTS)
def test_what_scores_shares_seven_characters(a: str, b: str) -> None:
    """Parts with a score above 0 share seven characters after shortening runs, or the digests are equal."""

    def parts(digest: str) -> dict[int, str]:
        size, first, two = digest.split(":")
        short = [re.sub(r"(.)\1{3,}", r"\1\1\1", part) for part in (first, two)]
        return {int(size): short[0], 2 * int(size): short[1]}

    left, right = parts(a), parts(b)
    shared = any(
        left[size][i : i + 7] in right[size] for size in left.keys() & right for i in range(len(left[size]) - 6)
    )
    if nk.ssdeep.compare(a, b):
        assert shared or left == right


@given(DIGESTS, DIGESTS, st.integers(4, 32))
def test_another_least_length_decides_what_scores_at_all(a: str, b: str, length: int) -> None:
    """A smaller length lets more pairs score; pairs that score have the score of ssdeep."""
    b = b if b.partition(":")[0] == a.partition(":")[0] else a.partition(":")[0] + ":" + b.partition(":")[2]
    scores = [nk.ssdeep.compare(a, b, least_common=length_limit) for length_limit in (4, length, 32)]
    assert sorted(scores, reverse=True) == scores
    assert nk.ssdeep.compare(b, a, least_common=length) == scores[1]
    assert nk.ssdeep.compare(a, b, least_common=7) == nk.ssdeep.compare(a, b)
    assert scores[1] == nk.ssdeep.compare(a, b, strict=False, least_common=length)
    assert [scores[1]] == nk.ssdeep.compare_many(a, [b], least_common=length).tolist()
    assert [[100, scores[1]], [scores[1], 100]] == nk.ssdeep.matrix([a, b], least_common=length).tolist()
    why = nk.ssdeep.explain(a, b, least_common=length)
    assert scores[1] == why.score
    assert {length} == {part.least_common for part in why.compared}
    assert all(part.gram is None or len(part.gram) == length for part in why.compared)
    recipe = nk.ssdeep.DigestRecipe(f"ssdeep:common:{length}")
    assert scores[1] == recipe.compare(a, b)


@pytest.mark.parametrize("length", [3, 33, 0, -7, 7.0, "7", True])
def test_least_lengths_outside_their_range_are_refused(length: Any) -> None:
    """Lengths below 4 or above 32 are refused."""
    for call in (
        lambda: nk.ssdeep.compare("3::", "3::", least_common=length),
        lambda: nk.ssdeep.compare_many("3::", [], least_common=length),
        lambda: nk.ssdeep.matrix([], least_common=length),
        lambda: nk.ssdeep.explain("3::", "3::", least_common=length),
        lambda: nk.ssdeep.DigestRecipe().with_(least_common=length),
    ):
        with pytest.raises(ParameterError, match="use 4 to 32 characters; ssdeep asks for 7"):
            call()


@given(st.lists(DIGESTS, max_size=4), st.lists(DIGESTS, max_size=4))
def test_a_matrix_is_compare_of_every_pair(left: list[str], right: list[str]) -> None:
    """Rows are the first list and columns the second; one list is compared with itself."""
    # Equal and modified digests, so that scores above 0 occur.
    right = [*right, *left, *(digest + "A" for digest in left if len(digest.split(":")[2]) < 64)]
    for rows, columns, given_columns in ((left, right, iter(right)), (right, right, None)):
        result = nk.ssdeep.matrix(iter(rows), given_columns)
        assert (np.dtype(np.uint8), (len(rows), len(columns))) == (result.dtype, result.shape)
        assert [[nk.ssdeep.compare(a, b) for b in columns] for a in rows] == result.tolist()


@pytest.mark.parametrize("fault", ["x", "3:a", "3:a-b:c", "0::", "5::", "3:" + "a" * 65 + ":"])
def test_every_batch_names_the_row_at_fault(fault: str) -> None:
    """The error contains the row; a single query has none."""
    calls: list[Callable[[], object]] = [
        lambda: nk.ssdeep.matrix(["3::", fault]),
        lambda: nk.ssdeep.matrix(["3::"], ["6::", fault]),
        lambda: nk.ssdeep.matrix(["3::", fault], ["6::"]),
        lambda: nk.ssdeep.compare_many("3::", ["3::", fault, "y"]),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value).startswith("row 1, digest ")
        assert str(caught.value.place).startswith("row 1, digest ")
    with pytest.raises(InputError, match=r"^digest "):
        nk.ssdeep.compare_many(fault, ["3::"])


@pytest.mark.parametrize("other", [5, None, 1.5, ["3::"]])
def test_what_is_no_text_is_no_digest_in_any_batch(other: Any) -> None:
    """A value of another type is refused with its type, and a single digest is not a list."""
    calls: list[Callable[[], object]] = [
        lambda: nk.ssdeep.matrix([other]),
        lambda: nk.ssdeep.matrix(["3::"], [other]),
        lambda: nk.ssdeep.compare_many("3::", [other]),
        lambda: nk.ssdeep.compare_many(other, ["3::"]),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=f"a digest is a str or bytes, not {type(other).__name__}"):
            call()
    single: Any = b"3::"
    for rows, columns in ((single, None), (single.decode(), None), (["3::"], single)):
        with pytest.raises(TypeError, match="found a single one; pass a list"):
            nk.ssdeep.matrix(rows, columns)
