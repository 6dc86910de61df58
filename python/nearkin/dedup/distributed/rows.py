"""Rows between the stages: Arrow batches as arrays, and back."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateSource, TextCandidateSource, Values

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 1 << 16
"""Rows of a batch that goes back to the engine."""
NUMBER = 1 << 62
"""Numbers of new documents are positive, those of older ones negative."""
working = threading.BoundedSemaphore(os.cpu_count() or 1)
"""What a task holds while it works on gathered rows. Some engines run all tasks at once, in threads of one process:
more than there are cores would only need more memory."""


def value_type(source: CandidateSource) -> np.dtype[Any]:
    """The type of one row of a family's values."""
    none: TextCandidateSource = source  # type: ignore[assignment]  # Those of texts alone run on many machines.
    values, _ = none.hash([])
    return np.dtype((values.dtype, values.shape[1:]))


def pack_values(values: Values) -> pa.Array:
    """Rows of values as binary."""
    import pyarrow as pa

    n = len(values)
    data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    width = len(data) // n if n else 0
    offsets = np.arange(n + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def unpack_values(column: pa.Array | pa.ChunkedArray, kind: np.dtype[Any]) -> Values:
    """The rows again."""
    import pyarrow as pa

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [_bytes_of(chunk) for chunk in chunks]
    data = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.uint8), *parts])
    base, shape = kind.subdtype if kind.subdtype is not None else (kind, ())
    return data.view(base).reshape(-1, *shape)


def _bytes_of(chunk: pa.Array) -> NDArray[np.uint8]:
    """All bytes of a binary array without nulls, behind one another; aligned, since a slice may begin anywhere."""
    if not len(chunk):
        return np.zeros(0, np.uint8)
    large = str(chunk.type).startswith("large")
    if str(chunk.type).endswith("view"):
        import pyarrow as pa

        chunk, large = chunk.cast(pa.large_binary()), True
    _, ends, data = chunk.buffers()
    offsets = np.frombuffer(ends, np.int64 if large else np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return np.array(np.frombuffer(data, np.uint8)[int(offsets[0]) : int(offsets[-1])])


def gathered(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """All rows of a task; None if there are none."""
    import pyarrow as pa

    held = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(held) if held else None


def integers(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """A column of integers without nulls."""
    return np.ascontiguousarray(column.to_numpy(), np.int64)


def batches_of(columns: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Columns as batches of some rows."""
    import pyarrow as pa

    table = pa.table(columns)
    for start in range(0, table.num_rows, MOST):
        yield from table.slice(start, MOST).combine_chunks().to_batches()
