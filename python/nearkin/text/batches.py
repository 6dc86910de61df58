"""Batches of texts: Arrow data and lists are passed on unchanged, iterators as lists of bounded length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from nearkin.io import PackedTexts
from nearkin.io.arrow import is_arrow

# Texts per batch of an iterator.
_BATCH = 1 << 16

if TYPE_CHECKING:
    from nearkin._core import _ArrowStream, _Texts

    ArrowStream: TypeAlias = _ArrowStream
    Texts: TypeAlias = _Texts
else:
    # The stub of the kernels has the types.
    ArrowStream = Texts = Any

_Values = TypeVar("_Values", bound=np.unsignedinteger)


def hash_batches(
    hash_batch: Callable[[Texts], tuple[NDArray[_Values], NDArray[np.uint64]]], texts: Texts, kind: type[_Values]
) -> tuple[NDArray[_Values], NDArray[np.uint64]]:
    """Hash texts batch by batch, and return the values of type `kind` and the feature counts of all texts."""
    parts = [hash_batch(batch) for batch in iterate_batches(texts)]
    if len(parts) == 1:
        return parts[0]
    values, counts = [np.zeros(0, kind)], [np.zeros(0, np.uint64)]
    return np.concatenate(values + [part[0] for part in parts]), np.concatenate(counts + [part[1] for part in parts])


def iterate_batches(texts: Texts) -> Iterable[Texts]:
    """Split texts into batches; texts that can be read in place form a single batch."""
    if isinstance(texts, np.ndarray):
        return [texts.tolist()]
    if isinstance(texts, Mapping) and not is_arrow(texts):
        kind = type(texts).__name__
        raise TypeError(f"one {kind} is not a list of texts; write list(texts.values())")
    if texts is None or isinstance(texts, (bytes, int, float)):
        kind = type(texts).__name__
        raise TypeError(f"{kind} is no list of texts; pass a list, a generator or a column of str or None")
    if isinstance(texts, (list, tuple)) and texts and isinstance(texts[0], Mapping):
        raise TypeError("text 0 is a dict; texts are str or None; pass [item['text'] for item in items]")
    if (
        isinstance(texts, (str, list, tuple))
        or is_arrow(texts)
        or (hasattr(texts, "offsets") and hasattr(texts, "data"))
    ):
        return [texts]
    if hasattr(texts, "to_numpy") and hasattr(texts, "tolist"):
        # In a pandas column of objects, missing values are NaN.
        return [[None if isinstance(text, float) else text for text in texts.tolist()]]
    return _lists(cast("Iterable[str | None]", texts))


def slice_texts(texts: Any, size: int) -> Iterator[Any]:
    """Slice a batch without copying its texts, `size` in each, so that progress is reported after each slice."""
    if not hasattr(texts, "__len__") or len(texts) <= size:
        yield texts
        return
    starts = range(0, len(texts), size)
    kind = str(getattr(texts, "type", getattr(texts, "dtype", "")))
    # A slice of packed or dictionary-encoded texts would pass all strings each time.
    shared = isinstance(texts, PackedTexts) or kind.lower().startswith(("dictionary", "categor", "enum"))
    if isinstance(texts, (list, tuple)):
        yield from (texts[start : start + size] for start in starts)
    elif is_arrow(texts) and hasattr(texts, "slice") and not shared:
        yield from (texts.slice(start, size) for start in starts)
    else:
        yield texts


def first_texts(texts: Any, count: int) -> Any:
    """Return the first texts of a batch that `iterate_batches` yields, or all of them where they can't be sliced."""
    if isinstance(texts, (list, tuple)):
        return texts[:count]
    if hasattr(texts, "slice"):
        return texts.slice(0, count)
    if hasattr(texts, "offsets") and hasattr(texts, "data"):
        return type(texts)(texts.offsets[: count + 1], texts.data)
    return texts


def _lists(texts: Iterable[str | None]) -> Iterable[list[str | None]]:
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        yield batch
