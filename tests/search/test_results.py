"""nearkin.search.results: matches and pairs as tables."""

from __future__ import annotations

import pyarrow as pa

from nearkin.search.hamming import HammingIndex


def test_results_turn_into_tables() -> None:
    """to_arrow and to_pandas have one row per match."""
    index = HammingIndex(bits=8)
    index.add(["a", "b"], [1, 3])
    hits = index.search([1, 255, 3], radius=1)
    expected = {"query": [0, 0, 2, 2], "id": ["a", "b", "b", "a"], "distance": [0, 1, 0, 1]}
    assert expected == hits.to_arrow().to_pydict() == hits.to_pandas().to_dict("list")
    assert pa.string() == index.search([255], radius=0).to_arrow().schema.field("id").type
    pairs = index.pairs(radius=1)
    assert {"left": ["a"], "right": ["b"], "distance": [1]} == pairs.to_arrow().to_pydict()
    assert {"left": ["a"], "right": ["b"], "distance": [1]} == pairs.to_pandas().to_dict("list")
