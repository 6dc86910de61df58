"""Scores of digests, explanations of scores, and the similarity of short inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearkin._core import ssdeep_compare, ssdeep_compare_many, ssdeep_explain, ssdeep_matrix
from nearkin.digests.base import Digest
from nearkin.digests.inputs import read_content
from nearkin.digests.ssdeep.hashing import hash  # noqa: A004 - the public name
from nearkin.errors import check_count
from nearkin.text.edits import common_substring, distances

LEAST_COMMON = 7
"""Consecutive characters that two parts must share in ssdeep."""


def check_least_common(length: object) -> int:
    """Check the number of consecutive characters that two parts must share: 4 to 32.

    Random parts share fewer than 4 characters by chance, and part 2 of a digest has at most 32.

    Parameters
    ----------
    length : object
        Number of characters.
    """
    return check_count("least_common", length, 4, 32, f"4 to 32 characters; ssdeep asks for {LEAST_COMMON}")


def compare(a: Digest, b: Digest, *, strict: bool = True, least_common: int = LEAST_COMMON) -> int:
    """Compute the score of two digests, 0 (no similarity found) to 100.

    Parameters
    ----------
    a, b : str or bytes
        Digests. The score is symmetric.
    strict : bool, default True
        If True, accept only output of the program: a block size 3 * 2**i and parts of at most 64 base64 characters.
        False also accepts other input of the original library, such as `digest,"name"` and other block sizes.
    least_common : int, default 7
        Consecutive characters that two parts must share to score above 0, 4 to 32. ssdeep requires seven. Smaller
        values find more distant relatives and more pairs that match by chance. Scores with different values cannot be
        compared.

    Returns
    -------
    int
        0 to 100; 100 for equal digests of any length.

    Raises
    ------
    InputError
        One of them is not a digest.
    ParameterError
        `least_common` is out of range.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.compare("96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
    ...                   "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U")
    97
    >>> [nk.ssdeep.compare("96:abcdeXfghij:", "96:abcdeYfghij:", least_common=length) for length in (7, 5)]
    [0, 93]
    """
    # Skip the check of the default, because this function is called for many single pairs.
    length = LEAST_COMMON if least_common is LEAST_COMMON else check_least_common(least_common)
    return ssdeep_compare(a, b, strict, length)


def compare_many(
    query: Digest, digests: Iterable[Digest], *, strict: bool = True, least_common: int = LEAST_COMMON
) -> npt.NDArray[np.uint8]:
    """Compute the scores of one digest with many.

    Parameters
    ----------
    query : str or bytes
        A digest.
    digests : iterable of str or bytes
        Other digests.
    strict, least_common
        As for `compare`; values other than 7 are slower.

    Returns
    -------
    ndarray of shape (n_digests,) uint8
        0 to 100, in order.

    Raises
    ------
    InputError
        One of them is not a digest; the message contains its row.
    ParameterError
        `least_common` is out of range.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.compare_many("3:aaX8v:aV", ["3:aaX8v:aV", "3:E:E"])
    array([100,   0], dtype=uint8)
    """
    return ssdeep_compare_many(query, digests, strict, check_least_common(least_common))


def matrix(
    left: Iterable[Digest],
    right: Iterable[Digest] | None = None,
    *,
    strict: bool = True,
    least_common: int = LEAST_COMMON,
) -> npt.NDArray[np.uint8]:
    """Compute the scores of all pairs of two lists, or of one list with itself.

    Parameters
    ----------
    left : iterable of str or bytes
        Digests of the rows.
    right : iterable of str or bytes, optional
        Digests of the columns (default: those of the rows).
    strict, least_common
        As for `compare`; values other than 7 are slower.

    Returns
    -------
    ndarray of shape (n_left, n_right) uint8
        0 to 100.

    Raises
    ------
    InputError
        One of them is not a digest; the message contains its row.
    ParameterError
        `least_common` is out of range.

    Notes
    -----
    Memory: n_left * n_right bytes. To find pairs above a threshold among many digests, use `nearkin.DigestIndex`.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.matrix(["3:aaX8v:aV", "3:E:E"])
    array([[100,   0],
           [  0, 100]], dtype=uint8)
    """
    return ssdeep_matrix(left, right, strict, check_least_common(least_common))


@dataclass(frozen=True)
class ComparedParts:
    """A comparison of two parts with the same block size.

    Attributes
    ----------
    parts : tuple of two int
        Number of the part, 1 or 2, of `a` and of `b`.
    block_size : int
        Common block size.
    lengths : tuple of two int
        Characters of each part, with runs shortened to three.
    gram : str or None
        First common substring of `least_common` characters. The score is 0 if there is none.
    common : int
        Length of the longest common subsequence.
    uncapped : int
        Score before the cap.
    cap : int
        Maximum score of parts of these lengths at this block size; below block size 48 it grows with the length.
    score : int
        Score of the two parts.
    least_common : int
        Consecutive characters that both parts must share, 7 in ssdeep.
    """

    parts: tuple[int, int]
    block_size: int
    lengths: tuple[int, int]
    gram: str | None
    common: int
    uncapped: int
    cap: int
    score: int
    least_common: int = LEAST_COMMON

    def __str__(self) -> str:
        names = f"part {self.parts[0]} with part {self.parts[1]} at block size {self.block_size}"
        if self.gram is None:
            count = "seven" if self.least_common == LEAST_COMMON else str(self.least_common)
            return f"{names}: 0, no {count} successive characters in common ({self.lengths[0]} and {self.lengths[1]})"
        capped = f", capped from {self.uncapped} because the parts are short" if self.uncapped > self.cap else ""
        return (
            f"{names}: {self.score}{capped}; {self.common} of {self.lengths[0]} and {self.lengths[1]} characters common"
        )


@dataclass(frozen=True)
class ScoreExplanation:
    """Explanation of the score of two digests; `str()` formats it as sentences.

    Attributes
    ----------
    score : int
        Result of `compare`, 0 to 100.
    comparable : bool
        True if the block sizes are equal or differ by a factor of two. Otherwise the score is 0.
    equal : bool
        True if the digests are equal after shortening runs; their score is 100 for any length.
    runs_removed : tuple of two int
        Characters of each digest that were removed from runs of more than three.
    compared : tuple of ComparedParts
        Comparisons of parts.
    reliability : {"none", "low", "fair", "good"}
        Reliability by the length of the shorter part, for the longest pair of parts: none below `least_common`
        characters, low below 16, fair below 32. These bounds are a convention of this function.
    """

    score: int
    comparable: bool
    equal: bool
    runs_removed: tuple[int, int]
    compared: tuple[ComparedParts, ...]
    reliability: str

    def __str__(self) -> str:
        lines = [f"score {self.score}"]
        if not self.comparable:
            lines.append("the block sizes differ by more than a factor of two: such digests can't be compared")
        elif self.equal:
            lines.append("the digests are equal")
        lines += [str(parts) for parts in self.compared]
        if any(self.runs_removed):
            lines.append(f"characters of long runs left out: {self.runs_removed[0]} and {self.runs_removed[1]}")
        lines.append(f"reliability by length: {self.reliability}")
        return "\n".join(lines)


def explain(a: Digest, b: Digest, *, strict: bool = True, least_common: int = LEAST_COMMON) -> ScoreExplanation:
    """Explain the score of two digests.

    Parameters
    ----------
    a, b : str or bytes
        Digests.
    strict, least_common
        As for `compare`.

    Returns
    -------
    ScoreExplanation

    Raises
    ------
    InputError
        One of them is not a digest.
    ParameterError
        `least_common` is out of range.

    Examples
    --------
    >>> import nearkin as nk
    >>> print(nk.ssdeep.explain("12:abcdefgh:xyz", "12:abcdefgk:xyz"))
    score 32
    part 1 with part 1 at block size 12: 32, capped from 88 because the parts are short; 7 of 8 and 8 characters common
    part 2 with part 2 at block size 24: 0, no seven successive characters in common (3 and 3)
    reliability by length: low
    >>> nk.ssdeep.explain("3:abc:de", "96:abc:de").comparable
    False
    """
    length = check_least_common(least_common)
    score, comparable, equal, compared = ssdeep_explain(a, b, strict, length)
    parts = tuple(ComparedParts(*values, length) for values in compared)
    longest = max((min(part.lengths) for part in parts), default=0)
    reliability = "none" if longest < length else "low" if longest < 16 else "fair" if longest < 32 else "good"
    return ScoreExplanation(score, comparable, equal, (_count_removed(a), _count_removed(b)), parts, reliability)


@dataclass(frozen=True)
class ArticleScores:
    """The score of two digests by a listing that is often copied, as its author meant it and as it runs.

    Attributes
    ----------
    as_meant : int
        0 if the compared parts have no seven consecutive characters in common.
    as_run : int
        Without that rule, because the listing compares the common string itself with 7.
    ssdeep : int
        The score of the program: `compare`.
    """

    as_meant: int
    as_run: int
    ssdeep: int


def article_compare(a: Digest, b: Digest, *, least_common: int = LEAST_COMMON) -> ArticleScores:
    """Compute the scores of a Python listing of ssdeep that circulates in articles, next to the score of ssdeep.

    Its formula, in integers, with the Levenshtein distance d of two parts of lengths l and m:

        100 - 100 (64 d // (l + m)) // 64

    It differs from ssdeep in five points:

    - a substitution costs 1 instead of 2;
    - scores of short parts have no cap;
    - runs of more than three equal characters count in full;
    - equal digests pass through the formula;
    - the rule of seven consecutive common characters never applies, because `str < int` is always false in Python 2 (in
      Python 3 it is a TypeError).

    So scores are higher, and unrelated digests score far above 0. Use `compare`. This function only explains the
    numbers of such a program.

    Parameters
    ----------
    a, b : str or bytes
        Digests, as for `compare`.
    least_common : int, default 7
        Consecutive characters of the rule, for `as_meant` and `ssdeep`.

    Returns
    -------
    ArticleScores

    Raises
    ------
    InputError
        One of them is not a digest.
    ParameterError
        `least_common` is out of range.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.article_compare("12:abcdefgh:xyz", "12:abcdefgk:xyz")
    ArticleScores(as_meant=94, as_run=100, ssdeep=32)
    """
    score = compare(a, b, least_common=least_common)
    parts = [(digest if isinstance(digest, str) else digest.decode("ascii")).split(":") for digest in (a, b)]
    (size_a, *parts_a), (size_b, *parts_b) = parts
    pairs: list[tuple[str, str]] = []
    if int(size_a) == int(size_b):
        pairs = list(zip(parts_a, parts_b, strict=True))
    elif int(size_a) == 2 * int(size_b):
        pairs = [(parts_a[0], parts_b[1])]
    elif 2 * int(size_a) == int(size_b):
        pairs = [(parts_a[1], parts_b[0])]
    scores = [(_score_by_levenshtein(left, right), len(common_substring(left, right))) for left, right in pairs]
    as_run = max((each for each, _ in scores), default=0)
    as_meant = max((each for each, common in scores if common >= least_common), default=0)
    return ArticleScores(as_meant, as_run, score)


def _score_by_levenshtein(left: str, right: str) -> int:
    if not left and not right:
        # The program never writes two empty parts, and the listing divides by 0.
        return 0
    return 100 - min(100, 100 * (64 * distances(left, right)[0] // (len(left) + len(right))) // 64)


def _count_removed(digest: Digest) -> int:
    """Count the characters beyond the third in runs of equal characters."""
    text = digest if isinstance(digest, str) else digest.decode("latin-1")
    parts = text.split(",", 1)[0].split(":", 2)[1:]
    return sum(len(run.group()) - 3 for part in parts for run in re.finditer(r"(.)\1{3,}", part))


# Digests of shorter inputs have too few pieces to be meaningful.
_SHORT = 4096


@dataclass(frozen=True)
class ContentSimilarity:
    """Similarity of two inputs and the method by which it was measured.

    Attributes
    ----------
    method : str
        "ssdeep", or "jaccard:byte4" if an input is short. Scores of different methods cannot be compared.
    score : int
        0 to 100.
    """

    method: str
    score: int


def content_similarity(a: bytes, b: bytes, *, short: int = _SHORT) -> ContentSimilarity:
    """Measure the similarity of two inputs by a method that suits their length.

    Parameters
    ----------
    a, b : bytes-like
        Inputs, not digests.
    short : int, default 4096
        If an input has fewer bytes, the score is the Jaccard similarity of the sets of byte 4-grams, in percent and
        rounded down. Otherwise it is the score of the digests. An input of fewer than four bytes is one gram. The score
        of two empty inputs is 100.

    Returns
    -------
    ContentSimilarity

    Raises
    ------
    ParameterError
        An input is not a buffer.

    Notes
    -----
    A short input and a long one that contains it have a low score. The sets of grams need eight bytes per byte of an
    input.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.content_similarity(b"GET /index.html?id=1", b"GET /index.html?id=2")
    ContentSimilarity(method='jaccard:byte4', score=88)
    """
    left, right = read_content(a), read_content(b)
    if min(len(left), len(right)) >= short:
        return ContentSimilarity("ssdeep", compare(hash(left), hash(right)))
    left_grams, right_grams = _byte_grams(left), _byte_grams(right)
    common = len(np.intersect1d(left_grams, right_grams, assume_unique=True))
    union = len(left_grams) + len(right_grams) - common
    return ContentSimilarity("jaccard:byte4", 100 * common // union if union else 100)


def _byte_grams(data: bytes) -> npt.NDArray[np.uint64]:
    """Return the distinct byte 4-grams; the gram of a shorter input contains its length, which makes it unique."""
    if not data:
        return np.empty(0, dtype=np.uint64)
    if len(data) < 4:
        return np.array([int.from_bytes(data, "little") + (len(data) << 32)], dtype=np.uint64)
    bytes_ = np.frombuffer(data, dtype=np.uint8).astype(np.uint64)
    grams = bytes_[:-3] | bytes_[1:-2] << np.uint64(8) | bytes_[2:-1] << np.uint64(16) | bytes_[3:] << np.uint64(24)
    return np.unique(grams)
