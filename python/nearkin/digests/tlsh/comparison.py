"""Distances of TLSH digests, and their explanation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearkin._core import tlsh_distance, tlsh_distance_many, tlsh_explain, tlsh_matrix
from nearkin.digests.base import Digest


def distance(a: Digest, b: Digest, *, length: bool = True) -> int:
    """Compute the distance of two digests, 0 for equal ones.

    Parameters
    ----------
    a, b : str or bytes
        Digests of one form, with or without the "T1". The distance is symmetric.
    length : bool, default True
        Count the difference of the lengths of the inputs, as `tlsh.diff` does. False is `tlsh.diffxlen`, for parts of
        files and files that others contain.

    Returns
    -------
    int
        0 or more; unrelated files are mostly more than 100 apart.

    Raises
    ------
    InputError
        One of them is not a digest.
    MismatchError
        They have another number of buckets or bytes of checksum.

    Examples
    --------
    >>> import nearkin as nk
    >>> text = b"The quick brown fox jumps over the lazy dog, and the dog sleeps on."
    >>> a, b = nk.tlsh.hash(text), nk.tlsh.hash(text.replace(b"lazy", b"tired"))
    >>> nk.tlsh.distance(a, b), nk.tlsh.distance(a, a)
    (36, 0)
    """
    return tlsh_distance(a, b, length)


def distance_many(query: Digest, digests: Iterable[Digest], *, length: bool = True) -> npt.NDArray[np.uint16]:
    """Compute the distances of one digest to many.

    Parameters
    ----------
    query : str or bytes
        A digest.
    digests : iterable of str or bytes
        Other digests.
    length : bool, default True
        As for `distance`.

    Returns
    -------
    ndarray of shape (n_digests,) uint16

    Raises
    ------
    InputError, MismatchError
        As for `distance`; the message contains the row.

    Examples
    --------
    >>> import nearkin as nk
    >>> digest = nk.tlsh.hash(b"The quick brown fox jumps over the lazy dog, and the dog sleeps on.")
    >>> nk.tlsh.distance_many(digest, [digest, "T1" + 70 * "0"])
    array([  0, 363], dtype=uint16)
    """
    return tlsh_distance_many(query, digests, length)


def matrix(
    left: Iterable[Digest], right: Iterable[Digest] | None = None, *, length: bool = True
) -> npt.NDArray[np.uint16]:
    """Compute the distances of all pairs of two lists, or of one list with itself.

    Parameters
    ----------
    left : iterable of str or bytes
        Digests of the rows.
    right : iterable of str or bytes, optional
        Digests of the columns (default: those of the rows).
    length : bool, default True
        As for `distance`.

    Returns
    -------
    ndarray of shape (n_left, n_right) uint16

    Raises
    ------
    InputError, MismatchError
        As for `distance`; the message contains the row.

    Notes
    -----
    Memory: 2 n_left n_right bytes. To find pairs within a distance among many digests, use `nearkin.DigestIndex`.

    Examples
    --------
    >>> import nearkin as nk
    >>> digest = nk.tlsh.hash(b"The quick brown fox jumps over the lazy dog, and the dog sleeps on.")
    >>> nk.tlsh.matrix([digest, "T1" + 70 * "0"])
    array([[  0, 363],
           [363,   0]], dtype=uint16)
    """
    return tlsh_matrix(left, right, length)


@dataclass(frozen=True)
class DistanceExplanation:
    """Explanation of the distance of two digests; `str()` formats it as sentences.

    Attributes
    ----------
    distance : int
        Result of `distance`, the sum of the costs.
    length, ratios, checksum, body : int
        Costs of the lengths, of both ratios of quartiles, of the checksums, and of the buckets.
    equal_buckets, near_buckets, opposite_buckets : int
        Buckets in the same quarter, in another one, and in the first on one side and the last on the other. Each of
        the last costs 6, those between cost 1 or 2.
    """

    distance: int
    length: int
    ratios: int
    checksum: int
    body: int
    equal_buckets: int
    near_buckets: int
    opposite_buckets: int

    def __str__(self) -> str:
        total = self.equal_buckets + self.near_buckets + self.opposite_buckets
        return (
            f"distance {self.distance}: length {self.length}, ratios {self.ratios}, checksum {self.checksum}, "
            f"buckets {self.body}\n"
            f"{self.equal_buckets} of {total} buckets agree; {self.opposite_buckets} are opposite"
        )


def explain(a: Digest, b: Digest, *, length: bool = True) -> DistanceExplanation:
    """Explain the distance of two digests.

    Parameters
    ----------
    a, b, length
        As for `distance`.

    Returns
    -------
    DistanceExplanation

    Raises
    ------
    InputError, MismatchError
        As for `distance`.

    Examples
    --------
    >>> import nearkin as nk
    >>> text = b"The quick brown fox jumps over the lazy dog, and the dog sleeps on."
    >>> print(nk.tlsh.explain(nk.tlsh.hash(text), nk.tlsh.hash(text.replace(b"lazy", b"tired"))))
    distance 36: length 0, ratios 0, checksum 1, buckets 35
    104 of 128 buckets agree; 0 are opposite
    """
    total, (of_length, first, second, checksum, body), left, right = tlsh_explain(a, b, length)
    steps = np.abs(np.frombuffer(left, np.uint8).astype(int) - np.frombuffer(right, np.uint8))
    equal, opposite = int((steps == 0).sum()), int((steps == 3).sum())
    near = len(steps) - equal - opposite
    return DistanceExplanation(total, of_length, first + second, checksum, body, equal, near, opposite)
