"""nearkin.search.fingerprints: distances and conversions of packed fingerprints."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.search.fingerprints import from_bytes, from_hex, from_signed, to_bytes, to_hex, to_signed
from strategies import random_fingerprints


def test_distances_broadcast() -> None:
    """One fingerprint is compared with every one of the other argument."""
    rng = np.random.default_rng(1)
    a, b = random_fingerprints(rng, 256, 20), random_fingerprints(rng, 256, 20)
    expected = [sum(int(x ^ y).bit_count() for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True)]
    assert expected == nk.hamming(a, b).tolist()  # type: ignore[union-attr]
    assert [nk.hamming(a[i : i + 1], b[:1])[0] for i in range(20)] == nk.hamming(a, b[0]).tolist()  # type: ignore[index, union-attr]
    assert 64 == nk.hamming(2**64 - 1, 0)
    assert [1, 2, 1] == nk.hamming([1, 3, 2], 0).tolist()  # type: ignore[union-attr]
    assert [2, 0] == nk.hamming([2**64 - 1, 3 << 62 | 1], [2**64 - 4, 3 << 62 | 1]).tolist()  # type: ignore[union-attr]


@given(st.integers(1, 1024), st.data())
@settings(max_examples=50, deadline=None)
def test_conversions_are_inverses(bits: int, data: st.DataObject) -> None:
    """hex, packed bytes and signed words hold the same bits."""
    values = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=5))
    texts = [f"{value:0{-(-bits // 4)}x}" for value in values]
    fps = from_hex(texts, bits)
    assert texts == to_hex(fps, bits)
    assert np.array_equal(fps, from_bytes(to_bytes(fps, bits), bits))
    assert np.array_equal(fps, from_signed(to_signed(fps)))
    assert [v.to_bytes(-(-bits // 8), "little") for v in values] == [row.tobytes() for row in to_bytes(fps, bits)]
