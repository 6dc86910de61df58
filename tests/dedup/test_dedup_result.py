"""nearkin.dedup.result: tables by column and by row; the order of clusters, members and links."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import nearkin as nk
from definitions import dedup, near_duplicates
from nearkin.dedup import result as result_module
from nearkin.dedup.candidates import SimHashCandidates
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.reference import SearchableReference
from nearkin.dedup.result import (
    ClusterTable,
    Representatives,
    ResultTable,
    TableBuilder,
    representative_links,
)
from nearkin.io import Column

SOURCE = SimHashCandidates(nk.Recipe("word:1|count|xxh3|simhash:64"), 0.8, 3)


def documents(ids: list[int | str], values: list[int]) -> HashedDocuments:
    n = len(ids)
    hashes, none = np.array(values, np.uint64).reshape(-1, 1), np.zeros((n, 2), np.uint64)
    return HashedDocuments(hashes, np.ones(n, np.uint64), none, none[:, 0], Column.of(ids), {}, lambda rows: [])


def table(
    ids: list[int | str],
    values: list[int],
    rows: list[int],
    by: list[int],
    copy_of: list[int],
    reference: SearchableReference | None = None,
) -> ClusterTable:
    similarity = np.linspace(0.5, 1, len(rows))
    actual = Representatives(np.array(rows, np.int64), np.array(by, np.int64), similarity, np.array(copy_of, np.int64))
    return TableBuilder(documents(ids, values), reference, actual, SOURCE.distances).clusters(by_features=False)


def test_clusters_are_numbered_by_their_first_row_and_begin_with_the_kept_document() -> None:
    """In keep order d, c, b, a: d keeps a as a copy, and c keeps b; the cluster of row 0 comes first."""
    actual = table(["a", "b", "c", "d"], [1, 2, 3, 1], [3, 2, 1, 0], [0, 1, 1, 0], [0, 1, 2, 0])
    assert ["d", "a", "c", "b"] == actual["id"]
    assert [0, 0, 1, 1] == actual["cluster"]
    assert ["d", "d", "c", "c"] == actual["representative"]
    assert [0, 0, 0, 1] == actual["distance"]
    assert ["kept", "exact", "kept", "near"] == actual["reason"]
    links = representative_links(actual)
    assert {"id": ["a", "b"], "representative": ["d", "c"]} == {name: links[name] for name in ("id", "representative")}
    assert [actual["similarity"][1], actual["similarity"][3]] == links["similarity"]


def test_documents_removed_for_one_reference_document_are_one_cluster() -> None:
    """It has no kept document; a document that is alone is in no cluster."""
    reference = SearchableReference(documents(["x", "y"], [3, 30]), SOURCE)
    actual = table([10, 11, 12, 13], [1, 2, 3, 4], [0, 1, 2, 3], [5, 4, 2, 5], [0, 1, 2, 3], reference)
    assert [10, 13, 11] == actual["id"]
    assert [0, 0, 1] == actual["cluster"]
    assert ["y", "y", "x"] == actual["representative"]
    assert [5, 3, 1] == actual["distance"]
    assert ["near-old"] * 3 == actual["reason"]


def test_no_removals_give_a_table_without_rows() -> None:
    """It has all columns."""
    actual = table(["a"], [1], [0], [0], [0])
    assert 0 == len(actual)
    assert ["id", "cluster", "representative", "distance", "similarity", "reason"] == list(actual.columns)
    assert 0 == len(representative_links(actual))
    assert 0 == len(table([], [], [], [], []))


def test_tables_are_columns_and_rows() -> None:
    """Both have the same cells; a table without rows has the columns it is told to have."""
    rows: list[dict[str, object]] = [{"id": "a", "distance": 0}, {"id": "b", "distance": 3}]
    built = ResultTable.of_rows(rows)
    assert rows == list(built.rows())
    assert {"id": ["a", "b"], "distance": [0, 3]} == built.columns == built.to_arrow().to_pydict()
    assert {"id": ["a", "b"], "distance": [0, 3]} == built.to_pandas().to_dict(orient="list")
    assert "<table of 2 rows: id, distance>" == repr(built)
    assert {"x": [], "y": []} == ResultTable.of_rows([], ["x", "y"]).columns
    with pytest.raises(KeyError, match="score"):
        built["score"]


@pytest.mark.parametrize("size", [1, 3, 1 << 12])
def test_cells_are_computed_on_access(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One, several or all cells, row by row, and after pickling."""
    monkeypatch.setattr(result_module, "_ROWS", size)
    monkeypatch.setattr(result_module, "_PAIRS", size)
    ids = [f"doc-{row}" for row in range(100)]
    result = dedup(near_duplicates(100), ids=ids, threshold=0.5)
    table, copied = result.clusters, pickle.loads(pickle.dumps(result)).clusters  # noqa: S301 - our own
    rows = list(table.rows())
    stored = table.compact["id"]
    assert isinstance(stored, result_module.LazyColumn)
    names = [row["id"] for row in rows]
    assert names == list(stored) == stored[:] == [stored[at] for at in range(len(stored))]
    assert (names[-1], names[2:5], names[::7]) == (stored[-1], stored[2:5], stored[::7])
    assert [names[4], names[1]] == list(stored.take(np.array([4, 1])))
    with pytest.raises(IndexError):
        stored[len(names)]
    assert {type(cell) for row in rows for cell in row.values()} == {str, int, float}
    assert table.columns == {name: [row[name] for row in rows] for name in rows[0]} == copied.columns
    assert table["id"] is table["id"]
    assert "kept" in table["reason"]


def test_the_representation_counts_documents() -> None:
    """In one line."""
    result = dedup(near_duplicates(100), threshold=0.5)
    summary = result.summary
    expected = (
        f"<kept {summary['kept']} of 100 documents, removed {summary['removed']} in {summary['clusters']} clusters>"
    )
    assert expected == repr(result)
