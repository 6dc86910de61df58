"""Likeness of two inputs, by a measure that suits their length and is named in the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearkin.digests.ssdeep.hashing import content, hash  # noqa: A004 - the promised name
from nearkin.digests.ssdeep.scores import compare

__all__ = ["Likeness", "likeness"]

# Below this length a digest has too few pieces to be meaningful.
SHORT = 4096


@dataclass(frozen=True)
class Likeness:
    """How alike two inputs are, and by what it was measured.

    Attributes
    ----------
    method : str
        "ssdeep", or "jaccard:byte4" where an input is short. Scores of different methods can't be compared.
    score : int
        0 to 100.
    """

    method: str
    score: int


def likeness(a: bytes, b: bytes, *, short: int = SHORT) -> Likeness:
    """How alike two inputs are, by a measure that suits their length.

    Parameters
    ----------
    a, b : bytes-like
        The inputs themselves.
    short : int, default 4096
        If one of them has fewer bytes, the Jaccard similarity of their sets of byte 4-grams is taken, in percent and
        rounded down; else the score of their digests. An input of fewer than four bytes is one gram; two empty inputs
        score 100.

    Returns
    -------
    Likeness

    Raises
    ------
    ParameterError
        If an input is not a buffer.

    Notes
    -----
    A short input beside a long one scores low even where it is contained in it; sets of grams take eight bytes for each
    byte of an input.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.likeness(b"GET /index.html?id=1", b"GET /index.html?id=2")
    Likeness(method='jaccard:byte4', score=88)
    """
    left, right = content(a), content(b)
    if min(len(left), len(right)) >= short:
        return Likeness("ssdeep", compare(hash(left), hash(right)))
    grams, others = _grams(left), _grams(right)
    common = len(np.intersect1d(grams, others, assume_unique=True))
    union = len(grams) + len(others) - common
    return Likeness("jaccard:byte4", 100 * common // union if union else 100)


def _grams(data: bytes) -> npt.NDArray[np.uint64]:
    """The distinct byte 4-grams; those of a shorter input carry its length, so that they equal no other."""
    if not data:
        return np.empty(0, dtype=np.uint64)
    if len(data) < 4:
        return np.array([int.from_bytes(data, "little") + (len(data) << 32)], dtype=np.uint64)
    bytes_ = np.frombuffer(data, dtype=np.uint8).astype(np.uint64)
    whole = bytes_[:-3] | bytes_[1:-2] << np.uint64(8) | bytes_[2:-1] << np.uint64(16) | bytes_[3:] << np.uint64(24)
    return np.unique(whole)
