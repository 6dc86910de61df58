"""Batches of items: bounded rows and bytes, complete and in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from nearkin.patterns import inputs
from nearkin.patterns.inputs import AlignedColumns, read_batches
from nearkin.patterns.tables import split_bytes


@pytest.mark.parametrize("make", [list, iter, pa.array, lambda texts: pa.chunked_array([texts[:7], [], texts[7:]])])
def test_batches_are_all_items_in_order(make: Callable[[list[str]], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch exceeds the limits of rows and bytes only if one item does."""
    monkeypatch.setattr(inputs, "_MAX_ROWS", 5)
    monkeypatch.setattr(inputs, "_MAX_BYTES", 40)
    texts = [("é" * (n % 9)) + "x" for n in range(40)] + ["y" * 100]
    columns = AlignedColumns(np.arange(41), [str(n) for n in range(41)])
    found, first = [], 0
    for batch in read_batches(make(texts), "items"):
        items = split_bytes(batch.items[0][1:], batch.items[1])
        assert first == batch.first
        assert len(batch) == len(items) <= 5
        assert len(batch) == 1 or len(batch.items[1]) <= 40
        times, sources = columns.take(batch)
        assert times is not None
        assert sources is not None
        assert [n * 1_000_000 for n in range(first, first + len(batch))] == times.tolist()
        assert [str(n).encode() for n in range(first, first + len(batch))] == split_bytes(sources[0][1:], sources[1])
        found += items
        first += len(batch)
    columns.check_end()
    assert [text.encode() for text in texts] == found


def test_invalid_text_is_preserved() -> None:
    """NUL and invalid UTF-8 are unchanged; lone surrogates stand for invalid bytes."""
    items = [b"\x00\xff", "a\udcffb", "\ud800", bytearray(b"x")]
    (batch,) = read_batches(items, "items")
    assert [b"\x00\xff", b"a\xffb", b"?", b"x"] == split_bytes(batch.items[0][1:], batch.items[1])
