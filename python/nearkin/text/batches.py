"""Texts in batches: whole where they can be read in place, else lists of a bounded number of strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

_BATCH = 1 << 16
"""Texts that are taken from an iterator at once."""


class ArrowStream(Protocol):
    """Strings in chunks, by the Arrow PyCapsule interface: a column of pyarrow, pandas 3 or polars."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule that holds an `ArrowArrayStream`."""


class ArrowArray(Protocol):
    """Strings in one array, by the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Capsules that hold an `ArrowSchema` and an `ArrowArray`."""


Texts: TypeAlias = Iterable[str | None] | ArrowStream | ArrowArray
"""Strings, None for a missing one; or any object with Arrow strings (pyarrow, pandas, polars, ...), which is read in
place, as `nearkin.io.PackedTexts` is."""

_Values = TypeVar("_Values", bound=np.unsignedinteger)


def in_batches(
    hashed: Callable[[Texts], tuple[NDArray[_Values], NDArray[np.uint64]]], texts: Texts, kind: type[_Values]
) -> tuple[NDArray[_Values], NDArray[np.uint64]]:
    """Values of type `kind` and feature counts of all texts, hashed batch by batch."""
    parts = [hashed(batch) for batch in iterate_batches(texts)]
    if len(parts) == 1:
        return parts[0]
    values, counts = [np.zeros(0, kind)], [np.zeros(0, np.uint64)]
    return np.concatenate(values + [part[0] for part in parts]), np.concatenate(counts + [part[1] for part in parts])


def iterate_batches(texts: Texts) -> Iterable[Texts]:
    """`texts` whole where they can be read in place, else lists of a bounded number of strings."""
    if isinstance(texts, np.ndarray):
        return [texts.tolist()]
    if (
        hasattr(texts, "__arrow_c_stream__")
        or hasattr(texts, "__arrow_c_array__")
        or (hasattr(texts, "offsets") and hasattr(texts, "data"))
        or isinstance(texts, (str, list, tuple))
    ):
        return [texts]
    if hasattr(texts, "to_numpy") and hasattr(texts, "tolist"):
        # A pandas column that is not of Arrow's string type: missing values are NaN.
        return [[None if isinstance(text, float) else text for text in texts.tolist()]]
    return _lists(texts)


def _lists(texts: Iterable[str | None]) -> Iterable[list[str | None]]:
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        yield batch
