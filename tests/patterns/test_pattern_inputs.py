"""Items in batches: bounded rows and bytes, and nothing lost between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from nearkin.patterns import inputs
from nearkin.patterns.inputs import Beside, batches
from nearkin.patterns.tables import pieces


@pytest.mark.parametrize("make", [list, iter, pa.array, lambda texts: pa.chunked_array([texts[:7], [], texts[7:]])])
def test_batches_are_all_items_in_order(make: Callable[[list[str]], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch has few rows and few bytes, unless one item has more."""
    monkeypatch.setattr(inputs, "_ROWS", 5)
    monkeypatch.setattr(inputs, "_BYTES", 40)
    texts = [("é" * (n % 9)) + "x" for n in range(40)] + ["y" * 100]
    beside = Beside(np.arange(41), [str(n) for n in range(41)])
    found, first = [], 0
    for batch in batches(make(texts), "items"):
        items = pieces(batch.items[0][1:], batch.items[1])
        assert first == batch.first
        assert batch.rows == len(items) <= 5
        assert batch.rows == 1 or len(batch.items[1]) <= 40
        times, sources = beside.of(batch)
        assert times is not None
        assert sources is not None
        assert [n * 1_000_000 for n in range(first, first + batch.rows)] == times.tolist()
        assert [str(n).encode() for n in range(first, first + batch.rows)] == pieces(sources[0][1:], sources[1])
        found += items
        first += batch.rows
    beside.end()
    assert [text.encode() for text in texts] == found


def test_hostile_items_are_taken_as_they_are() -> None:
    """NUL, bytes that are no UTF-8, and lone surrogates, which stand for such bytes."""
    items = [b"\x00\xff", "a\udcffb", "\ud800", bytearray(b"x")]
    (batch,) = batches(items, "items")
    assert [b"\x00\xff", b"a\xffb", b"?", b"x"] == pieces(batch.items[0][1:], batch.items[1])
