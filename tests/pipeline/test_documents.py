"""nearkin.pipeline.documents: what is hashed and looked up again, ids that differ, copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, ParameterError
from nearkin.io import Column, open_corpus
from nearkin.pipeline.candidates import SimHashCandidates
from nearkin.pipeline.documents import (
    HashedDocuments,
    as_column,
    check_distinct_ids,
    first_with_same_content,
    hash_texts,
    name_columns,
)
from nearkin.text import batches

SOURCE = SimHashCandidates(nk.Recipe("word:1|count|xxh3|simhash:64"), 0.8, 3)
TEXTS = ["red wine", None, "", "Übung cheese", "red wine", "..."]


def hashed(texts: Any, ids: Any = None, columns: Any = None) -> HashedDocuments:
    return hash_texts(texts, ids, SOURCE, lambda stage, done, total: None, columns or {})


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize("make", [list, iter, pa.array, pl.Series, lambda texts: pd.Series(texts, dtype=object)])
def test_texts_are_hashed_and_found_again(make: Any, batch: int) -> None:
    """Values, features, contents and characters of each; look-ups across batches of an iterator."""
    with mock.patch.object(batches, "_BATCH", batch):
        found = hashed(make(TEXTS))
    assert nk.fingerprint(TEXTS, SOURCE.recipe).tolist() == found.values[:, 0].tolist()
    assert [2, 0, 0, 2, 2, 0] == found.counts.tolist()
    assert [8, 0, 0, 12, 8, 3] == found.lengths.tolist()
    assert [0, 1, 2, 3, 4, 5] == found.ids.to_list()
    assert found.contents[0].tolist() == found.contents[4].tolist() != found.contents[3].tolist()
    some = found.look_up(np.array([1, 3, 4]))
    assert [None, "Übung cheese", "red wine"] == (some.to_pylist() if hasattr(some, "to_pylist") else list(some))
    assert 6 == len(found)


def test_no_texts_are_no_documents() -> None:
    """With columns of their types and shapes."""
    found = hashed([])
    assert ((0, 1), (0, 2)) == (found.values.shape, found.contents.shape)
    assert np.dtype(np.uint64) == found.values.dtype
    assert 0 == len(found)


def test_a_corpus_brings_its_ids_and_columns(tmp_path: Path) -> None:
    """Extra columns take the names by which they are used; ids beside a corpus, and columns it lacks, are errors."""
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "red wine", "score": 3}\n{"id": "b", "text": "green", "score": 4}\n')
    with open_corpus(path, id_column="id", extra_columns=["score"]) as corpus:
        found = hashed(corpus)
        name_columns(corpus, found, "score", None)
        assert ["a", "b"] == found.ids.to_list()
        assert [3, 4] == found.columns["keep"].to_list()
        assert ["green"] == list(found.look_up(np.array([1])))
        with pytest.raises(ParameterError, match="extra column of a corpus"):
            name_columns(corpus, found, None, "site")
        with pytest.raises(ParameterError, match="reads its own id column"):
            hashed(corpus, ids=[1, 2])


@pytest.mark.parametrize("count", [0, 5, 7])
def test_columns_of_another_length_are_errors(count: int) -> None:
    """Ids and others: one value per text."""
    with pytest.raises(ParameterError, match=f"ids={count} values.*6 values, one per text"):
        hashed(TEXTS, list(range(count)))
    with pytest.raises(ParameterError, match=f"keep={count} values.*6 values, one per text"):
        hashed(TEXTS, None, {"keep": Column.of(list(range(count)))})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, "a", None, 2.5], [1, "a", None, 2.5]),
        (np.array([1, 2], np.int32), [1, 2]),
        (np.array([1, 2**64 - 1], np.uint64), [1, 2**64 - 1]),
        (np.array([0.5, 1.5]), [0.5, 1.5]),
        (pa.array(["x", None]), ["x", None]),
        (pd.Series([3, 4]), [3, 4]),
        ((str(i) for i in range(2)), ["0", "1"]),
        (Column.of(["y"]), ["y"]),
    ],
)
def test_values_of_any_kind_become_a_column(values: Any, expected: list[Any]) -> None:
    """As they were given."""
    assert expected == as_column(values).to_list()


@pytest.mark.parametrize("ids", [[], [1, 2, -(2**63)], ["a", "b", ""], [1, "1"], [2**70, 2**71], [1.5, 2.5]])
def test_ids_that_differ_are_fine(ids: list[Any]) -> None:
    """A number and a string of the same text differ."""
    check_distinct_ids(Column.of(ids), "ids")


@pytest.mark.parametrize(
    ("ids", "message", "place"),
    [
        ([7, 8, 7], "id 7 occurs in rows 0 and 2", "row 2"),
        (["a", "b", "b"], "id 'b' occurs in rows 1 and 2", "row 2"),
        ([1, None, 2], "row 1 has no id", "row 1"),
        ([None], "row 0 has no id", "row 0"),
        ([2**70, 1, 2**70], "rows 0 and 2", "row 2"),
    ],
)
def test_ids_that_are_missing_or_equal_are_errors(ids: list[Any], message: str, place: str) -> None:
    """The error names the column and both rows."""
    with pytest.raises(InputError, match=f"against_ids: .*{message}") as raised:
        check_distinct_ids(Column.of(ids), "against_ids")
    assert place == raised.value.place


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=20))
def test_the_first_of_each_content_is_its_smallest_row(contents: list[tuple[int, int]]) -> None:
    """Both halves of the hash count."""
    found = first_with_same_content(np.array(contents, np.uint64).reshape(-1, 2))
    assert [contents.index(one) for one in contents] == found.tolist()
