"""True neighbours that recall is measured against: those of brute force, whatever the form and the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import reference
from nearkin.index.lsh import ground_truth
from nearkin.index.lsh.arrays import Metric
from nearkin.index.lsh.ground_truth import true_neighbours
from nearkin.vectors.rows import as_rows


def clustered(seed: int, n: int, d: int = 16) -> Any:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, d)) * 2
    return centres[rng.integers(0, 40, n)] + rng.normal(size=(n, d)) * 0.5


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine", "inner_product"])
@pytest.mark.parametrize("form", [np.float32, np.float64, csr_array])
def test_true_neighbours_are_those_of_brute_force(metric: Metric, form: Any) -> None:
    """Without the row itself; their distances to the last digits."""
    X = clustered(0, 300).astype(np.float32)
    queries = np.array([0, 7, 299])
    rows, far = true_neighbours(as_rows(form(X)), queries, metric, 5)
    for place, query in enumerate(queries):
        expected = reference.nearest(metric, X[query], X, set(range(300)) - {int(query)}, 5)
        assert [row for row, _ in expected] == rows[place].tolist()
        assert np.allclose([distance for _, distance in expected], far[place], rtol=1e-6)


@pytest.mark.parametrize("metric", ["l2", "l1", "cosine", "inner_product"])
@pytest.mark.parametrize("block", [1, 50, 10_000])
def test_blocks_change_nothing(metric: Metric, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rows at a time than neighbours are wanted, and queries at the ends of blocks."""
    rows = as_rows(clustered(1, 60))
    queries = np.array([0, 9, 10, 59])
    places, far = true_neighbours(rows, queries, metric, 7)
    monkeypatch.setattr(ground_truth, "_BLOCK", block)
    again, other = true_neighbours(rows, queries, metric, 7)
    assert places.tolist() == again.tolist()
    assert far.tolist() == other.tolist()
    assert not (places == queries[:, None]).any()


def test_copies_are_neighbours_at_no_distance() -> None:
    """A row is left out by its place, not by its values; equal ones come by place."""
    X = np.ones((6, 3))
    places, far = true_neighbours(as_rows(X), np.array([2]), "l2", 3)
    assert [[0, 1, 3]] == places.tolist()
    assert [[0.0, 0.0, 0.0]] == far.tolist()
