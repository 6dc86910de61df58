"""Texts in batches: whole where they can be read in place, else lists of a bounded number of strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    pass


_BATCH = 1 << 16
"""Texts that are taken from an iterator at once."""


Texts = Iterable[str | None]
"""Strings, None for a missing one; or any object with Arrow strings (pyarrow, pandas, polars, ...)."""


def in_batches(
    hashed: Callable[[Any], tuple[NDArray[Any], NDArray[np.uint64]]], texts: Any, kind: type[np.unsignedinteger[Any]]
) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """Values of type `kind` and feature counts of all texts, hashed batch by batch."""
    parts = [hashed(batch) for batch in iterate_batches(texts)]
    if len(parts) == 1:
        return parts[0]
    values, counts = [np.zeros(0, kind)], [np.zeros(0, np.uint64)]
    return np.concatenate(values + [part[0] for part in parts]), np.concatenate(counts + [part[1] for part in parts])


def iterate_batches(texts: Any) -> Iterable[Any]:
    """`texts` whole where it can be read in place, else lists of a bounded number of strings."""
    if isinstance(texts, np.ndarray):
        texts = texts.tolist()
    if (
        hasattr(texts, "__arrow_c_stream__")
        or hasattr(texts, "__arrow_c_array__")
        or isinstance(texts, (str, list, tuple))
    ):
        return [texts]
    if hasattr(texts, "offsets") and hasattr(texts, "data"):
        return [texts]
    if hasattr(texts, "to_numpy") and hasattr(texts, "tolist"):
        # A pandas column that is not of Arrow's string type: missing values are NaN.
        return [[None if isinstance(text, float) else text for text in texts.tolist()]]
    return _lists(iter(texts))


def _lists(texts: Iterable[str | None]) -> Iterable[list[str | None]]:
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        yield batch
