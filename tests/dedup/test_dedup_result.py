"""nearkin.dedup.result: tables by column and by row; the order of clusters, members and links."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import nearkin as nk
from definitions import dedup, near_duplicates
from nearkin.dedup import result as result_module
from nearkin.dedup.candidates.simhash import SimHashCandidates
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


@pytest.mark.parametrize(
    "run",
    [
        lambda texts, **options: nk.dedup(texts, **options),
        lambda texts, **options: nk.dedup(texts, **options).clusters,
        lambda texts, **options: nk.dedup(texts, links="all", near_misses=9, **options).pairs,
        lambda texts, **_: nk.passages(texts, unit="line"),
        lambda texts, **_: nk.leaks({"a": texts, "b": texts}),
        lambda texts, **_: nk.decontaminate(texts, {"suite": texts[-1:]}),
        lambda texts, **_: nk.explain(texts[-1]),
        lambda texts, **_: nk.explain({texts[-1]: 1}, hashes="md5"),
        lambda texts, **_: nk.compare(texts[-1], texts[0]),
        lambda texts, **_: nk.evaluate({"a": 1, "b": 1}, {"a": texts[-1], "b": texts[0]}),
    ],
)
def test_results_are_equal_if_their_values_are(run: Callable[..., object]) -> None:
    """The same call gives an equal result, whatever it took; another text or option gives another one."""
    texts = near_duplicates(60)
    result = run(texts)
    assert result == run(list(texts))
    assert result != run([*texts[:-1], texts[0]])
    assert result not in (None, 1, texts)


def test_options_and_ids_are_values_of_a_result() -> None:
    texts = near_duplicates(60)
    result = nk.dedup(texts, ids=range(60))
    assert result == nk.dedup(pd.DataFrame({"text": texts}))
    assert result != nk.dedup(texts, ids=range(1, 61))
    assert result != nk.dedup(texts, threshold=0.81)
    assert nk.dedup(texts, radius=5, verify="none") == nk.dedup(texts, radius=5, verify="none")
    vectors = np.random.default_rng(0).standard_normal((60, 8))
    assert nk.dedup(vectors) == nk.dedup(vectors)
    index = nk.LSHIndex().fit(vectors)
    hits = index.nearest(vectors, 3)
    assert hits == index.nearest(vectors, 3) != index.nearest(vectors, 2)
    assert hits[0] == index.nearest(vectors[:1], 3)[0] != hits[1]
    assert index.pairs(0.5) == index.pairs(0.5) != index.pairs(4.0)


def test_packages_build_frames_of_tables() -> None:
    """As `to_pandas` does, which names the columns without a row too."""
    texts = near_duplicates(60)
    tables = nk.dedup(texts), nk.dedup(texts, verify="none", radius=9, links="all")
    for table in [each for result in tables for each in (result.clusters, result.pairs)]:
        expected = table.to_pandas()
        assert len(expected) > 3
        pd.testing.assert_frame_equal(expected, pd.DataFrame(table))
        assert expected.columns.tolist() == pl.DataFrame(table).columns == list(next(iter(table)))
        assert (
            table["similarity"][1:3] == pl.DataFrame(table)["similarity"].to_list()[1:3] or table["similarity"][1] != 1
        )


def test_records_are_a_frame() -> None:
    """A list of dicts has columns, and keeps dicts; a key that a record lacks is missing there."""
    records: list[dict[str, Any]] = [
        {"body": "the same text", "id": 4, "n": 1},
        {"id": 5, "n": 0},
        {"body": "the same text", "id": 6, "n": 2},
    ]
    result = nk.dedup(records, text="body", id="id", keep="max:n")
    assert [5, 6] == result.kept
    assert 1 == result.summary["without_features"]
    assert records[1:] == result.filter(records)
    assert [1, 2] == [record["cluster_size"] for record in result.filter(records, weights="cluster_size")]
    nested = [{"meta": {"body": "the same text"}}, {"meta": {"body": "the same text"}}]
    assert [0] == nk.dedup(nested, text="meta.body").kept
    assert [2] == nk.dedup(
        ["one text", "two texts", "another text"], against=[{"text": "One text"}, {"text": "Two texts"}]
    ).kept


def test_the_representation_counts_documents() -> None:
    """In one line."""
    result = dedup(near_duplicates(100), threshold=0.5)
    summary = result.summary
    expected = (
        f"<kept {summary['kept']} of 100 documents, removed {summary['removed']} in {summary['clusters']} clusters>"
    )
    assert expected == repr(result)
