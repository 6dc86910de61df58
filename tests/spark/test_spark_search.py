"""A search on an engine finds exactly what one machine finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from nearkin import HammingIndex
from nearkin.errors import ParameterError
from nearkin.spark import search


def planted(bits: int, radius: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Draw queries and fingerprints; the first fingerprints are at distances 0 to 2 radius from a query."""
    rng = np.random.default_rng(bits)
    words = -(-bits // 64)
    last = np.uint64(2 ** (bits - 64 * (words - 1)) - 1)

    def draw(count: int) -> NDArray[np.uint64]:
        values = rng.integers(0, 2**64, (count, words), np.uint64)
        values[:, -1] &= last
        return values

    queries, others = draw(40), draw(500)
    near = queries[rng.integers(0, 40, 200)]
    for row in range(200):
        for bit in rng.permutation(bits)[: row % (2 * radius + 1)].tolist():
            near[row, bit // 64] ^= np.uint64(1 << (bit % 64))
    stored = np.concatenate([near, others])
    return (queries.reshape(-1), stored.reshape(-1)) if words == 1 else (queries, stored)


def frame(session: Any, ids: list[Any], values: NDArray[np.uint64], parts: int = 1) -> Any:
    """Return a DataFrame of ids and fingerprints, and one row without a fingerprint."""
    if values.ndim == 1:
        column: Any = pa.array([*values.view(np.int64).tolist(), None], pa.int64())
    else:
        column = pa.array([*(value.tobytes() for value in values), None], pa.binary())
    last: Any = "none" if isinstance(ids[0], str) else -1
    built = session.createDataFrame(pa.table({"id": pa.array([*ids, last]), "fingerprint": column}))
    return built.repartition(parts) if parts > 1 else built


def rows(built: Any) -> list[tuple[Any, Any, int]]:
    return sorted((row["query"], row["id"], row["distance"]) for row in built.toArrow().to_pylist())


@pytest.mark.parametrize(("bits", "radius"), [(64, 3), (40, 2), (128, 20), (200, 0)])
def test_matches_are_those_of_one_machine(sail: Any, bits: int, radius: int) -> None:
    """Ids of both kinds, several partitions, and fingerprints that are null."""
    queries, stored = planted(bits, radius)
    names = [f"q{row}" for row in range(len(queries))]
    index = HammingIndex(bits)
    index.add(None, stored)
    hits = index.search(queries, radius)
    expected = sorted((name, hit.id, hit.distance) for name, row in zip(names, hits, strict=True) for hit in row)
    assert len(expected) > 10
    built = search(
        frame(sail, list(range(len(stored))), stored, parts=3), frame(sail, names, queries), radius, bits=bits
    )
    assert expected == rows(built)
    assert [("query", "string"), ("id", "bigint"), ("distance", "int")] == built.dtypes


def test_no_queries_and_no_fingerprints(sail: Any) -> None:
    """Nothing is found, and nothing fails."""
    queries, stored = planted(64, 3)
    full, some = frame(sail, list(range(len(stored))), stored), frame(sail, list(range(len(queries))), queries)
    assert [] == rows(search(full, some.where("id < 0"), 3))
    assert [] == rows(search(full.where("id < 0"), some, 3))


def test_other_columns_are_errors(sail: Any) -> None:
    """Each names the column, and what is allowed."""
    queries, stored = planted(64, 3)
    full, some = frame(sail, list(range(len(stored))), stored), frame(sail, list(range(len(queries))), queries)
    with pytest.raises(ParameterError, match="'fingerprint' of bigint in df"):
        search(full, some, 3, bits=128)
    with pytest.raises(ParameterError, match="radius"):
        search(full, some, 65)
    with pytest.raises(ParameterError, match="a column of the DataFrame"):
        search(full, some, 3, column="finger")
    with pytest.raises(ParameterError, match="integers or strings"):
        search(full.withColumn("id", full.id.cast("double")), some, 3)
    wide, _ = planted(128, 3)
    short = frame(sail, [1], wide[:1].reshape(-1, 2))
    with pytest.raises(ParameterError, match="fingerprints of 16 bytes"):
        search(short, short, 3, bits=256)
