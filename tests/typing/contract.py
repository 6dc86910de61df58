"""The contract of every index, checked by mypy and never run: each index is assigned to the protocol."""

from __future__ import annotations

from collections.abc import Iterable

import numpy.typing as npt

import nearkin as nk
from nearkin.index.base import Index
from nearkin.vectors.arrays import Vectors


def indexes(hamming: nk.HammingIndex, bands: nk.BandIndex, digests: nk.DigestIndex, vectors: nk.LSHIndex) -> None:
    """Value and limit types of each index."""
    first: Index[npt.ArrayLike, int] = hamming
    second: Index[npt.ArrayLike, float] = bands
    third: Index[Iterable[str | bytes], int] = digests
    fourth: Index[Vectors, float] = vectors
    for index in (first, second, third, fourth):
        index.verify()
