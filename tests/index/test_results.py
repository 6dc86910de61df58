"""nearkin.index.results: matches, pairs, clusters and candidates, and their tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.errors import MissingExtraError, ParameterError
from nearkin.index.digests import DigestClusters, DigestPairs, DigestResult, Hub, ScoredMatch, ScoredMatches
from nearkin.index.hamming import HammingIndex
from nearkin.index.lsh import LSHIndex
from nearkin.index.results import Candidates, Clusters, Match, Matches, Pairs, SearchResult

ROWS = st.lists(
    st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 100)), max_size=5), max_size=6
)
MADE: list[Any] = [
    pytest.param(SearchResult, Matches, Match, "distance", np.uint16, (), id="distances"),
    pytest.param(SearchResult, Matches, Match, "distance", np.float64, (None,), id="fractions"),
    pytest.param(DigestResult, ScoredMatches, ScoredMatch, "score", np.uint8, (0,), id="scores"),
]


def ids_of(values: list[Any]) -> Any:
    """Return ids as the core returns them."""
    return np.array(values, dtype=object if values and isinstance(values[0], str) else np.int64)


def offsets_of(rows: list[Any]) -> Any:
    """Return the start of each row and the end of the last one."""
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)


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


def test_results_of_k_matches_each_are_rows() -> None:
    """As faiss and scikit-learn return them; the rows are those of each query."""
    rng = np.random.default_rng(0)
    hits = LSHIndex().fit(rng.standard_normal((50, 16))).nearest(rng.standard_normal((3, 16)), k=5)
    assert (3, 5) == hits.ids_2d.shape == hits.distances_2d.shape
    assert [[(match.id, match.distance) for match in row] for row in hits] == [
        list(zip(*rows, strict=True)) for rows in zip(hits.ids_2d.tolist(), hits.distances_2d.tolist(), strict=True)
    ]
    index = HammingIndex(bits=8)
    index.add(["a", "b"], [1, 3])
    assert (2, 0) == index.search([255, 254], radius=1).ids_2d.shape
    assert (0, 0) == index.search([], radius=1).ids_2d.shape
    with pytest.raises(ParameterError, match="queries have 1 to 2 matches"):
        index.search([0, 1], radius=1).distances_2d  # noqa: B018


@pytest.mark.parametrize(("result", "matches", "match", "measure", "dtype", "rest"), MADE)
@given(rows=ROWS, strings=st.booleans())
def test_queries_own_their_matches(
    result: Any, matches: Any, match: Any, measure: str, dtype: Any, rest: Any, rows: Any, strings: bool
) -> None:
    """Indexing and iteration return the matches of each query; tables name the query."""
    key: Any = str if strings else int
    rows = [[(key(actual), value) for actual, value in row] for row in rows]
    flat = [entry for row in rows for entry in row]
    values = np.array([value for _, value in flat], dtype=dtype)
    whole = result(offsets_of(rows), ids_of([actual for actual, _ in flat]), values, *rest)
    assert len(rows) == len(whole)
    expected = [[match(actual, value) for actual, value in row] for row in rows]
    assert expected == [list(row) for row in whole]
    assert expected == [list(whole[np.int64(number)]) for number in range(len(rows))]
    assert expected[::-1] == [list(whole[-1 - number]) for number in range(len(rows))]
    assert all(type(row) is matches for row in whole)
    for outside in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError, match=f"^query {outside} of {len(rows)}$"):
            whole[outside]
    assert [number for number, row in enumerate(rows) for _ in row] == whole.queries.tolist()
    assert f"{result.__name__}({len(rows)} queries, {len(flat)} matches)" == repr(whole)
    columns = {
        "query": [number for number, row in enumerate(rows) for _ in row],
        "id": [actual for actual, _ in flat],
        measure: [value for _, value in flat],
    }
    table = whole.to_arrow()
    assert columns == table.to_pydict() == whole.to_pandas().to_dict("list")
    assert ["query", "id", measure] == table.column_names == list(whole.to_pandas().columns)
    assert pa.from_numpy_dtype(dtype) == table.schema.field(measure).type


@pytest.mark.parametrize("position", [1.0, "0", None, slice(0, 1)])
def test_a_query_is_named_by_a_whole_number(position: Any) -> None:
    """Slices and floats are not queries."""
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        SearchResult(offsets_of([[1]]), ids_of([1]), np.zeros(1, dtype=np.uint16))[position]


@pytest.mark.parametrize(("result", "matches", "match", "measure", "dtype", "rest"), MADE)
@given(row=st.lists(st.tuples(st.text("abc", max_size=2), st.integers(0, 100)), max_size=6), data=st.data())
def test_matches_are_a_sequence(
    result: Any, matches: Any, match: Any, measure: str, dtype: Any, rest: Any, row: Any, data: st.DataObject
) -> None:
    """Indexing, slicing, membership and reversal work as for a list."""
    actual = matches(np.array([name for name, _ in row], dtype=object), np.array([v for _, v in row], dtype=dtype))
    expected = [match(name, value) for name, value in row]
    cut = data.draw(st.slices(len(row)))
    part = actual[cut]
    assert type(part) is matches
    assert expected[cut] == list(part)
    assert [getattr(first, measure) for first in expected[cut]] == getattr(part, f"{measure}s").tolist()
    assert expected[::-1] == list(reversed(actual))
    assert all(first in actual and expected.index(first) == actual.index(first) for first in expected)
    assert match("zz", 1) not in actual
    assert expected[-1:] == [actual[-1] for _ in row[-1:]]
    for outside in (len(row), -len(row) - 1):
        with pytest.raises(IndexError):
            actual[outside]
    values = [(name, dtype(value).item()) for name, value in row]
    assert f"{matches.__name__}({values})" == repr(actual)


def test_a_match_holds_values_of_python() -> None:
    """Ids and distances are plain int and float, so that matches print and compare as such."""
    kinds: list[tuple[Any, type]] = [(np.uint16, int), (np.float32, float), (np.float64, float)]
    for dtype, kind in kinds:
        match = Matches(ids_of([3]), np.array([2], dtype=dtype))[0]
        assert (int, kind) == (type(match.id), type(match.distance))
    score = ScoredMatches(ids_of(["x"]), np.array([2], dtype=np.uint8))[0]
    assert (str, int) == (type(score.id), type(score.score))
    assert "ScoredMatch(id='x', score=2)" == repr(score)
    with pytest.raises(AttributeError):
        score.score = 3  # type: ignore[misc]  # the point


@given(ROWS, st.integers(1, 6))
def test_head_keeps_the_first_matches_of_each_query(rows: Any, k: int) -> None:
    """Each query keeps at most k matches in order; other fields are unchanged."""
    flat = [entry for row in rows for entry in row]
    ids, scores = ids_of([key for key, _ in flat]), np.array([score for _, score in flat], dtype=np.uint8)
    head = DigestResult(offsets_of(rows), ids, scores, 3).head(k)
    remaining = [entry for row in rows for entry in row[:k]]
    assert offsets_of([row[:k] for row in rows]).tolist() == head.offsets.tolist()
    assert remaining == list(zip(head.ids.tolist(), head.scores.tolist(), strict=True))
    assert (np.dtype(np.int64), 3) == (head.offsets.dtype, head.skipped)


@pytest.mark.parametrize(
    ("pairs", "measure", "arrow"),
    [
        (lambda a, b: Pairs(a, b, np.arange(len(a), dtype=np.uint16)), "distance", pa.uint16()),
        (lambda a, b: DigestPairs(a, b, np.arange(len(a), dtype=np.uint8), 4), "score", pa.uint8()),
    ],
)
@pytest.mark.parametrize("sides", [([1, 2], [5, 6]), (["a", "b"], ["c", "d"]), ([], [])])
def test_pairs_are_rows_of_two_ids(pairs: Any, measure: str, arrow: Any, sides: Any) -> None:
    """Integer ids, string ids and empty results keep the types of the columns."""
    left, right = sides
    result = pairs(ids_of(left), ids_of(right))
    expected = {"left": left, "right": right, measure: list(range(len(left)))}
    assert expected == result.to_arrow().to_pydict() == result.to_pandas().to_dict("list")
    assert arrow == result.to_arrow().schema.field(measure).type
    assert len(left) == len(result)
    assert f"{type(result).__name__}({len(left)} pairs)" == repr(result)


@pytest.mark.parametrize("digests", [False, True])
@given(clusters=st.lists(st.lists(st.text("ab", max_size=2), min_size=2, max_size=4), max_size=5), data=st.data())
def test_clusters_are_lists_of_their_members(digests: bool, clusters: list[list[str]], data: st.DataObject) -> None:
    """Indexing and slicing work; a table repeats the number and the first member of each cluster."""
    flat = [name for cluster in clusters for name in cluster]
    offsets, ids = offsets_of(clusters), np.array(flat, dtype=object)
    values = np.arange(len(flat), dtype=np.uint8)
    result: Any = DigestClusters(offsets, ids, values, 0) if digests else Clusters(offsets, ids, values)  # type: ignore[arg-type]
    assert clusters == list(result)
    assert clusters[::-1] == list(reversed(result)) == [result[-1 - number] for number in range(len(clusters))]
    cut = data.draw(st.slices(len(clusters)))
    assert clusters[cut] == result[cut]
    for outside in (len(clusters), -len(clusters) - 1):
        with pytest.raises(IndexError, match=f"^cluster {outside} of {len(clusters)}$"):
            result[outside]
    kind = "DigestClusters" if digests else "Clusters"
    assert f"{kind}({len(clusters)} clusters, {len(flat)} members)" == repr(result)
    expected = {
        "id": flat,
        "cluster": [number for number, cluster in enumerate(clusters) for _ in cluster],
        "representative": [cluster[0] for cluster in clusters for _ in cluster],
        "score" if digests else "distance": values.tolist(),
    }
    table = result.to_arrow()
    assert expected == table.to_pydict() == result.to_pandas().to_dict("list")
    assert [pa.string(), pa.int64(), pa.string(), pa.uint8()] == table.schema.types


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=5))
def test_candidates_are_cut_by_query(rows: list[list[int]]) -> None:
    """Positive and negative positions work; a position out of range is an error."""
    flat = [number for row in rows for number in row]
    result = Candidates(offsets_of(rows), ids_of(flat), np.zeros(len(rows), dtype=np.uint64))
    assert len(rows) == len(result)
    assert rows == [result[number].tolist() for number in range(len(rows))]
    assert rows[::-1] == [result[-1 - number].tolist() for number in range(len(rows))]
    for outside in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError, match=f"^query {outside} of {len(rows)}$"):
            result[outside]
    assert f"Candidates({len(rows)} queries, {len(flat)} candidates)" == repr(result)


def test_tables_without_pandas_name_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the package, its extra, and an alternative."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    calls: list[Callable[[], object]] = [
        Pairs(ids_of([1]), ids_of([2]), np.zeros(1, dtype=np.uint16)).to_pandas,
        SearchResult(offsets_of([]), ids_of([]), np.zeros(0, dtype=np.uint16)).to_pandas,
    ]
    for call in calls:
        with pytest.raises(
            MissingExtraError, match="needs pandas, which is not installed; `pip install pandas`, or use"
        ):
            call()


def test_hubs_are_values() -> None:
    """They are equal if their three fields are, so they can be counted."""
    assert 1 == len({Hub(3, "abcdefg", 2), Hub(3, "abcdefg", 2)})
    assert Hub(3, "abcdefg", 2) != Hub(6, "abcdefg", 2)
