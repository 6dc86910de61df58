"""nearkin.dedup.documents: hashed documents, look-ups, distinct ids, copies."""

from __future__ import annotations

import gzip
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
from nearkin.dedup import documents
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.documents import (
    HashedDocuments,
    as_column,
    check_distinct_ids,
    first_with_same_content,
    hash_texts,
    name_columns,
)
from nearkin.errors import InputError, ParameterError
from nearkin.io import Column, open_corpus
from nearkin.text import batches

SOURCE = SimHashCandidates(nk.Recipe("word:1|count|xxh3|simhash:64"), 0.8, 3)
TEXTS = ["red wine", None, "", "Übung cheese", "red wine", "..."]


def hashed(texts: Any, ids: Any = None, columns: Any = None) -> HashedDocuments:
    return hash_texts(texts, ids, SOURCE, lambda stage, done, total: None, columns or {})


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize("make", [list, iter, pa.array, pl.Series, lambda texts: pd.Series(texts, dtype=object)])
def test_texts_are_hashed_and_looked_up(make: Any, batch: int) -> None:
    """Values, features, contents and characters of each; look-ups across batches of an iterator."""
    with mock.patch.object(batches, "_BATCH", batch):
        actual = hashed(make(TEXTS))
    assert nk.fingerprint(TEXTS, SOURCE.recipe).tolist() == actual.values[:, 0].tolist()
    assert [2, 0, 0, 2, 2, 0] == actual.counts.tolist()
    assert [8, 0, 0, 12, 8, 3] == actual.lengths.tolist()
    assert [0, 1, 2, 3, 4, 5] == actual.ids.to_list()
    assert actual.contents[0].tolist() == actual.contents[4].tolist() != actual.contents[3].tolist()
    chunk = actual.look_up(np.array([1, 3, 4]))
    assert [None, "Übung cheese", "red wine"] == (chunk.to_pylist() if hasattr(chunk, "to_pylist") else list(chunk))
    assert 6 == len(actual)


def test_no_texts_give_arrays_without_rows() -> None:
    """Arrays have their types and shapes."""
    actual = hashed([])
    assert ((0, 1), (0, 2)) == (actual.values.shape, actual.contents.shape)
    assert np.dtype(np.uint64) == actual.values.dtype
    assert 0 == len(actual)


def test_a_corpus_has_its_ids_and_columns(tmp_path: Path) -> None:
    """Extra columns are renamed to their uses; ids with a corpus, and missing columns, are errors."""
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "red wine", "score": 3}\n{"id": "b", "text": "green", "score": 4}\n')
    with open_corpus(path, id_column="id", extra_columns=["score"]) as corpus:
        actual = hashed(corpus)
        name_columns(corpus, actual, {"keep:values": "score"})
        assert ["a", "b"] == actual.ids.to_list()
        assert [3, 4] == actual.columns["keep:values"].to_list()
        assert ["green"] == list(actual.look_up(np.array([1])))
        with pytest.raises(ParameterError, match="extra column of a corpus"):
            name_columns(corpus, actual, {"source": "site"})
        with pytest.raises(ParameterError, match="reads its own id column"):
            hashed(corpus, ids=[1, 2])


@pytest.mark.parametrize("count", [0, 5, 7])
def test_columns_of_another_length_are_errors(count: int) -> None:
    """Ids and all others need one value per text."""
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
    """The values are unchanged."""
    assert expected == as_column(values).to_list()


@pytest.mark.parametrize("ids", [[], [1, 2, -(2**63)], ["a", "b", ""], [1, "1"], [2**70, 2**71], [1.5, 2.5]])
def test_distinct_ids_are_accepted(ids: list[Any]) -> None:
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
    actual = first_with_same_content(np.array(contents, np.uint64).reshape(-1, 2))
    assert [contents.index(item) for item in contents] == actual.tolist()


@given(
    st.one_of(
        st.lists(st.integers(-3, 20)),
        st.lists(st.text("ab", max_size=4)),
        st.lists(st.one_of(st.integers(0, 5), st.text("01"))),
    )
)
def test_equal_ids_are_detected(ids: list[Any]) -> None:
    """Integers in any order, strings, and both; a number and a string of its digits differ."""
    if len(set(ids)) == len(ids):
        check_distinct_ids(Column.of(ids), "ids")
    else:
        with pytest.raises(InputError, match="ids must differ, or use row numbers"):
            check_distinct_ids(Column.of(ids), "ids")


def test_ids_with_equal_hashes_may_differ() -> None:
    """Ids with equal hashes are compared themselves."""
    ids = Column.of(["a", "b", "c"])
    with mock.patch.object(documents, "content_hashes", lambda texts: (np.zeros(2 * len(texts), np.uint64), None)):
        check_distinct_ids(ids, "ids")


def test_memory_per_document_is_bounded(tmp_path: Path) -> None:
    """Only arrays: 16 bytes of contents, 8 each of count, length and value, 9 of a number."""
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(f'{{"id": "{row:08}", "text": "text {row}"}}\n' for row in range(20_000)))
    for id_column, of_ids in (("none", 9), ("id", 17)):
        with open_corpus([path], id_column=id_column) as corpus:
            actual = hashed(corpus)
        arrays = (actual.values, actual.counts, actual.contents, actual.lengths)
        assert [20_000 * size for size in (8, 8, 16, 8)] == [array.nbytes for array in arrays]
        # Do not count a broadcast of one cell.
        stored = [
            part
            for part in (actual.ids.kinds, actual.ids.values, actual.ids.offsets, actual.ids.data)
            if any(part.strides)
        ]
        assert 20_000 * of_ids + 8 * (id_column == "id") == sum(part.nbytes for part in stored)


@pytest.mark.parametrize("make", [
    list, tuple, iter, pa.array, pl.Series, lambda texts: pd.Series(texts, dtype="str"),
    lambda texts: pa.chunked_array([texts[:3], texts[3:]]), lambda texts: pa.array(texts).dictionary_encode(),
    lambda texts: pl.Series(texts, dtype=pl.Categorical), lambda texts: pa.array(texts, pa.string_view()),
])  # fmt: skip
@pytest.mark.parametrize("size", [1, 2, 5, 6, 7])
def test_slices_are_hashed_like_all_texts_at_once(make: Any, size: int) -> None:
    """For slices of any size; progress is reported after each, and ends at the total."""
    reported: list[tuple[str, int, int | None]] = []
    with mock.patch.object(documents, "_MAX_TEXTS", size):
        actual = hash_texts(make(TEXTS), None, SOURCE, lambda *event: reported.append(event), {})
    expected = hashed(TEXTS)
    for name in ("values", "counts", "contents", "lengths"):
        assert getattr(expected, name).tolist() == getattr(actual, name).tolist()
    assert ("hash", 6, 6) == reported[-1]
    assert sorted(reported) == reported
    if make in (list, tuple, pa.array, pl.Series):
        assert -(-6 // size) == len(reported)
    rows = np.array([0, 3, 5])
    assert [TEXTS[row] for row in rows.tolist()] == [
        None if item is None else str(item) for item in actual.look_up(rows)
    ]


def test_the_error_for_a_bad_text_counts_all_texts() -> None:
    """Not those of its slice."""
    with mock.patch.object(documents, "_MAX_TEXTS", 2), pytest.raises(TypeError, match="text 5 is of type int"):
        hashed(["a", "b", "c", "d", "e", 7])


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_progress_of_files_has_their_size(suffix: str, tmp_path: Path) -> None:
    """It reports megabytes of compressed inputs, so that bars have a total."""
    path = tmp_path / f"a.jsonl{suffix}"
    rng = np.random.default_rng(0)
    lines = [b'{"text": "%s"}\n' % rng.bytes(2000).hex().encode() for _ in range(800)]
    path.write_bytes(gzip.compress(b"".join(lines)) if suffix else b"".join(lines))
    reported: list[tuple[str, int, int | None]] = []
    with open_corpus(path) as corpus:
        hash_texts(corpus, None, SOURCE, lambda *event: reported.append(event), {})
    size = path.stat().st_size >> 20
    assert ("read, MB", size, size) == reported[-1]
    assert 1 <= size
    small = tmp_path / "b.jsonl"
    small.write_bytes(lines[0])
    with open_corpus(small) as corpus:
        reported.clear()
        hash_texts(corpus, None, SOURCE, lambda *event: reported.append(event), {})
    assert [("hash", 1, None)] == reported
