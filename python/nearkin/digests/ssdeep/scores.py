"""Scores of digests, 0 to 100."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import ssdeep_compare, ssdeep_compare_many, ssdeep_matrix
from nearkin.errors import check_count

__all__ = ["Digest", "check_least_common", "compare", "compare_many", "matrix"]

Digest: TypeAlias = "str | bytes"

LEAST_COMMON = 7
"""Successive characters that two parts must share in ssdeep."""


def check_least_common(length: object) -> int:
    """The successive characters that two parts must share: 4 to 32, or ParameterError.

    Below 4 random parts share that many by chance; part 2 of a digest has at most 32.

    Parameters
    ----------
    length : object
        What was given.
    """
    return check_count("least_common", length, 4, 32, f"4 to 32 characters; ssdeep asks for {LEAST_COMMON}")


def compare(a: Digest, b: Digest, *, strict: bool = True, least_common: int = LEAST_COMMON) -> int:
    """The score of two digests, 0 (no similarity found) to 100.

    Parameters
    ----------
    a, b : str or bytes
        Digests. The order does not matter.
    strict : bool, default True
        Accept only what the program prints: a block size 3 * 2**i and parts of at most 64 base64 characters. False
        accepts what the original library accepts, such as `digest,"name"` and other block sizes.
    least_common : int, default 7
        Successive characters that two parts must share to score above 0, 4 to 32. Seven is ssdeep's; fewer find more
        distant relatives and more pairs that share them by chance. Scores of different lengths can't be compared.

    Returns
    -------
    int
        0 to 100; 100 for equal digests of any length.

    Raises
    ------
    InputError
        If one of them is not a digest.
    ParameterError
        `least_common` outside its range.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.compare("96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
    ...                   "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U")
    97
    >>> [nk.ssdeep.compare("96:abcdeXfghij:", "96:abcdeYfghij:", least_common=length) for length in (7, 5)]
    [0, 93]
    """
    # Called for single pairs, many times: the default needs no check.
    least = LEAST_COMMON if least_common is LEAST_COMMON else check_least_common(least_common)
    return ssdeep_compare(a, b, strict, least)


def compare_many(
    query: Digest, digests: Iterable[Digest], *, strict: bool = True, least_common: int = LEAST_COMMON
) -> npt.NDArray[np.uint8]:
    """The scores of one digest with many.

    Parameters
    ----------
    query : str or bytes
        A digest.
    digests : iterable of str or bytes
        The others.
    strict, least_common
        As for `compare`; lengths other than 7 are slower.

    Returns
    -------
    ndarray of shape (n_digests,) uint8
        0 to 100, in order.

    Raises
    ------
    InputError
        If one of them is not a digest; the message names its row.
    ParameterError
        `least_common` outside its range.

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
    """The scores of all pairs of two lists, or of one list with itself.

    Parameters
    ----------
    left : iterable of str or bytes
        Digests of the rows.
    right : iterable of str or bytes, optional
        Digests of the columns; default: those of the rows.
    strict, least_common
        As for `compare`; lengths other than 7 are slower.

    Returns
    -------
    ndarray of shape (n_left, n_right) uint8
        0 to 100.

    Raises
    ------
    InputError
        If one of them is not a digest; the message names its row.
    ParameterError
        `least_common` outside its range.

    Notes
    -----
    Takes n_left * n_right bytes. To find the pairs above a threshold among many digests, use `nearkin.DigestIndex`.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.matrix(["3:aaX8v:aV", "3:E:E"])
    array([[100,   0],
           [  0, 100]], dtype=uint8)
    """
    return ssdeep_matrix(left, right, strict, check_least_common(least_common))
