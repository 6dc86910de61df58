"""nearkin.dedup of frames and files: the results of lists of the same values, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import strategies
from definitions import RECIPE, near_duplicates, same
from frame_kinds import KINDS, Stream, dataset, polars_frame, rows_of, table
from nearkin.errors import InputError, ParameterError

WORDS = ["one two three four five six", "one two three four five six seven", "quite another text of words", None]


def document_columns(texts: list[str | None]) -> dict[str, list[Any]]:
    """Return columns of documents."""
    n = len(texts)
    return {
        "url": [f"u{(7 * i) % n:03}" if n % 7 else f"u{i:03}" for i in range(n)],
        "body": texts,
        "n": [None if i % 5 == 4 else float(i * 3 % 4) for i in range(n)],
        "host": [None if i % 6 == 5 else f"h{i % 3}" for i in range(n)],
    }


def dedup_lists(columns: dict[str, list[Any]], **options: Any) -> nk.DedupResult:
    """Deduplicate lists of the same values."""
    return nk.dedup(
        columns["body"], columns["url"], values=columns["n"], sources=columns["host"], keep="max", **options
    )


def dedup_frame(frame: Any, **options: Any) -> nk.DedupResult:
    """Deduplicate a frame by the names of its columns."""
    return nk.dedup(frame, text="body", id="url", values="n", sources="host", keep="max", **options)


@pytest.mark.filterwarnings("ignore:.*have no value in column")
@pytest.mark.parametrize("kind", KINDS)
def test_frames_give_the_result_of_lists(kind: str) -> None:
    """Texts, nulls, ids, values and sources by name, and the kept rows of the frame."""
    KINDS[kind](document_columns(list(WORDS)))

    @settings(max_examples=15, deadline=None)
    @given(texts=strategies.corpora(), threshold=st.sampled_from([0.3, 0.6, 1.0]))
    def run(texts: list[str | None], threshold: float) -> None:
        columns = document_columns(texts)
        options = {"threshold": threshold, "recipe": RECIPE}
        expected = dedup_lists(columns, **options)
        actual = dedup_frame(KINDS[kind](columns), **options)
        assert same(expected, actual)
        assert expected.summary.get("sources") == actual.summary.get("sources")
        if kind != "datasets iterable" or not texts:
            stay = [[columns[name][row] for name in columns] for row in expected.kept_rows.tolist()]
            frame = KINDS[kind](columns)
            kept = actual.filter(frame)
            assert type(kept) is (pa.Table if isinstance(frame, Stream) else type(frame))
            assert [dict(zip(columns, row, strict=True)) for row in stay] == rows_of(kept)

    run()


@pytest.mark.parametrize("kind", KINDS)
def test_reference_documents_may_be_a_frame(kind: str) -> None:
    """It has the same names of columns; the result names the reference document."""
    texts = near_duplicates(60)
    columns, old = document_columns(texts), document_columns([texts[3], None, texts[10]])
    old["url"] = ["x", "y", "z"]
    expected = nk.dedup(columns["body"], columns["url"], against=old["body"], against_ids=old["url"], threshold=0.5)
    result = nk.dedup(KINDS[kind](columns), text="body", id="url", against=KINDS[kind](old), threshold=0.5)
    assert same(expected, result)
    assert "near-old" in result.clusters["reason"]
    lists = nk.dedup(columns["body"], columns["url"], against=KINDS[kind](old), text="body", id="url", threshold=0.5)
    assert same(expected, lists)


@pytest.mark.parametrize("ids", [[3, 1, 2, 0], [2**63, 2**64 - 1, 5, 0], list("dcba")])
def test_ids_of_frames_are_returned_unchanged(ids: list[Any]) -> None:
    """Integers of any width and strings; without a column of ids, row numbers."""
    frame = pl.DataFrame({"id": ids, "text": ["same text here", "same text here!", "else", None]})
    assert [ids[0], ids[2], ids[3]] == nk.dedup(frame, id="id").kept
    assert [0, 2, 3] == nk.dedup(frame).kept
    assert [0, 2, 3] == nk.dedup(frame.to_pandas()).kept
    assert ["p", "r", "s"] == nk.dedup(frame, ["p", "q", "r", "s"]).kept


def test_dates_times_and_decimals_order_documents() -> None:
    """Every type of column gives the order of a list; so do dates of ISO 8601."""
    texts = ["same text here", "same text here!", "same text here?"]
    days = [datetime(2024, 1, 2), datetime(2025, 1, 2, 3, 4, 5, 600), datetime(2023, 1, 2)]
    when = pd.Series(pd.to_datetime(days))
    frames = [
        pd.DataFrame({"text": texts, "when": item})
        for item in (when, when.astype(object), when.dt.tz_localize("Europe/Paris"), [day.isoformat() for day in days],
                    when - when.min(), [Decimal("1.5"), Decimal(7), Decimal("0.1")])
    ]  # fmt: skip
    for frame in frames:
        every = [frame, pl.from_pandas(frame), pa.table(frame)] if frame["when"].dtype != object else [frame]
        for item in every:
            assert [1] == nk.dedup(item, keep="max", values="when").kept
            assert [2] == nk.dedup(item, keep="min:when").kept
    assert nk.dedup(texts, keep="max", values=days).kept == nk.dedup(frames[0], keep="max", values="when").kept
    dates = pa.table({"text": texts, "when": pa.array(days).cast(pa.date32()), "n": pa.array([1, 3, 2])})
    dates = dates.set_column(2, "n", dates["n"].cast(pa.decimal128(22, 2)))
    for name in ("when", "n"):
        assert [1] == nk.dedup(dates, keep="max", values=name).kept


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_for_an_unknown_column_lists_the_columns(kind: str) -> None:
    """For every argument that names a column."""
    columns = document_columns(list(WORDS))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("text='txt'", {"text": "txt"}),
        ("id='key'", {"text": "body", "id": "key"}),
        ("values='score'", {"text": "body", "keep": "max", "values": "score"}),
        ("sources='site'", {"text": "body", "sources": "site"}),
        ("text='text'", {}),
    ]
    for actual, options in calls:
        frame = KINDS[kind](columns)
        with pytest.raises(ParameterError, match=f"{actual} is not allowed; use one of the columns 'url', 'body', 'n'"):
            nk.dedup(frame, **options)


def test_columns_of_other_types_are_refused() -> None:
    """The message names the column and its type."""
    frame = pl.DataFrame({"text": ["one", "two"], "n": [1, 2], "x": [0.5, 1.0], "l": [[1], [2]]})
    days = pa.table({"text": ["one"], "day": pa.array([datetime(2024, 1, 2)])})
    with pytest.raises(ParameterError, match=r"id='day', a column of timestamp.* use a column of integers or strings"):
        nk.dedup(days, id="day")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("text='n', a column of int64", {"text": "n"}),
        ("id='x', a column of double", {"id": "x"}),
        ("values='l', a column of", {"keep": "max", "values": "l"}),
        ("sources='l', a column of", {"sources": "l"}),
    ]
    for actual, options in calls:
        with pytest.raises(ParameterError, match=actual):
            nk.dedup(frame, **options)
    objects = pd.DataFrame({"text": ["one", "two"], "id": ["a", 0.5], "o": [[1], None]}, dtype=object)
    with pytest.raises(ParameterError, match="id='id', which holds a float"):
        nk.dedup(objects, id="id")
    with pytest.raises(ParameterError, match="sources='o', which holds a list"):
        nk.dedup(objects, sources="o")
    with pytest.raises(TypeError, match="text 1 is of type int"):
        nk.dedup(pd.DataFrame({"text": ["one", 2]}, dtype=object))
    twice = pd.DataFrame([["one", "two"]], columns=["text", "text"])
    with pytest.raises(ParameterError, match="text='text', which 2 columns are called is not allowed"):
        nk.dedup(twice)
    with pytest.raises(ParameterError, match="use a frame with columns"):
        nk.dedup(pd.DataFrame())


@pytest.mark.parametrize("make", [
    lambda values: pa.table({"text": pa.array(values)}),
    lambda values: pa.table({"text": pa.array(values, pa.binary_view())}),
    lambda values: pl.DataFrame({"text": values}),
    lambda values: pd.DataFrame({"text": values}, dtype=object),
])  # fmt: skip
def test_bytes_that_are_not_utf8_name_their_row(make: Callable[[list[bytes | None]], Any]) -> None:
    """The message also names the column; bytes in UTF-8 are texts."""
    with pytest.raises(InputError, match="row 2: column 'text' is not UTF-8 at byte 1; decode it first"):
        nk.dedup(make([b"fine", None, b"a\xff", b"\xfe"]))
    assert [0, 2] == nk.dedup(make(["Käse und Brot".encode(), "Käse und Brot!".encode(), None])).kept


def test_ids_are_passed_once_and_differ() -> None:
    """The rules of lists apply."""
    frame = polars_frame({"url": ["a", "a"], "body": ["one", "two"]})
    with pytest.raises(InputError, match="id 'a' occurs in rows 0 and 1"):
        nk.dedup(frame, text="body", id="url")
    with pytest.raises(ParameterError, match="ids=ids is not allowed; use None with id='url'"):
        nk.dedup(frame, ["a", "b"], text="body", id="url")
    with pytest.raises(ParameterError, match="against_ids=ids is not allowed; use None with id='url'"):
        nk.dedup(["one"], against=frame, against_ids=["a", "b"], text="body", id="url")
    with pytest.raises(InputError, match="row 1 has no id"):
        nk.dedup(polars_frame({"url": ["a", None], "body": ["one", "two"]}), text="body", id="url")


def test_names_of_columns_need_a_frame_or_files() -> None:
    """Lists, columns and an open corpus have no names."""
    with pytest.raises(ParameterError, match="text='body' is not allowed; use None, or a frame, files"):
        nk.dedup(pl.Series(["one", "two"]), text="body")
    with pytest.raises(ParameterError, match="id='url' is not allowed"):
        nk.dedup(iter(["one", "two"]), id="url")
    with pytest.raises(ParameterError, match="values='n'"):
        nk.dedup(["one", "two"], keep="max", values="n")


def test_a_dictionary_of_datasets_is_refused() -> None:
    """The message names its splits."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    both = datasets.DatasetDict(train=dataset({"text": ["one"]}), test=dataset({"text": ["two"]}))
    with pytest.raises(ParameterError, match="a DatasetDict of train, test is not allowed; use one of its datasets"):
        nk.dedup(both)
    with pytest.raises(ParameterError, match="frame=a DatasetDict"):
        nk.dedup(["one"]).filter(both)
    assert [0] == nk.dedup(both["train"]).kept


# Files


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, dict[str, list[Any]]]:
    """Return a folder with two files of JSON lines, and the columns of both."""
    columns = document_columns(near_duplicates(80))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for name, part in (("a.jsonl", rows[:50]), ("b.jsonl", rows[50:])):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")
    return tmp_path, columns


@pytest.mark.filterwarnings("ignore:.*have no value in column")
@pytest.mark.parametrize("make", [
    lambda folder: folder, str, lambda folder: folder / "*.jsonl", lambda folder: f"{folder}/*.jsonl",
    lambda folder: sorted(folder.iterdir()), lambda folder: tuple(sorted(folder.iterdir())),
    lambda folder: [str(folder / "a.jsonl"), folder / "b.jsonl"], lambda folder: sorted(map(str, folder.iterdir())),
])  # fmt: skip
def test_files_give_the_result_of_lists(make: Any, files: tuple[Path, dict[str, list[Any]]]) -> None:
    """A path, a glob, a folder or a list; ids, values and sources by name; reference documents."""
    folder, columns = files
    expected = dedup_lists(columns, threshold=0.5)
    assert same(expected, dedup_frame(make(folder), threshold=0.5))
    # A list of strings with another list is texts.
    old = folder if isinstance(make(folder), list) else make(folder)
    reference = nk.dedup(columns["body"][:9], against=old, text="body", id="url", threshold=0.5)
    assert set(reference.clusters["representative"]) <= set(columns["url"])
    assert 0 == len(reference.kept) - reference.summary["without_features"]


def test_files_without_names_have_a_column_text(tmp_path: Path) -> None:
    """Ids are row numbers; a path that matches no file is an error, not a text."""
    path = tmp_path / "a.txt"
    path.write_text("same text here\nother\nsame text here!\n", encoding="utf-8")
    assert [0, 1] == nk.dedup(path).kept == nk.dedup(str(path)).kept == nk.dedup([path]).kept
    with pytest.raises(InputError, match=r"none\.txt"):
        nk.dedup(str(tmp_path / "none.txt"))
    # A list of strings alone is texts.
    assert [0] == nk.dedup([str(path)]).kept
    with pytest.raises(ParameterError, match="ids"):
        nk.dedup(path, ["a", "b", "c"])


# Stores


@pytest.mark.parametrize("kind", ["polars", "pandas str", "pyarrow reader", "datasets"])
def test_stores_keep_columns_of_frames(kind: str, tmp_path: Path) -> None:
    """The next run names the stored ids."""
    columns = document_columns(["some words in a row", "some words in a row!", "other words altogether", None])
    with nk.Store.create(tmp_path / "store") as store:
        result = nk.dedup(KINDS[kind](columns), text="body", id="url", store=store, columns=["host", "n"])
        assert [columns["url"][row] for row in (0, 2, 3)] == result.kept
        [first] = store.get([columns["url"][0]])
        assert first is not None
        assert {"host": "h0", "n": 0.0} == first.columns
        again = nk.dedup(KINDS[kind]({**columns, "url": list("wxyz")}), text="body", id="url", against=store)
        assert "exact-old" in again.clusters["reason"]
        with pytest.raises(ParameterError, match="columns='site'"):
            nk.dedup(KINDS[kind](columns), text="body", id="url", store=store, columns=["site"])
        with pytest.raises(ParameterError, match=r"use a list of names, such as \['host'\]"):
            nk.dedup(KINDS[kind](columns), text="body", id="url", store=store, columns="host")


# Kept rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_another_length_is_refused(kind: str) -> None:
    """A frame of any type; a stream raises at its end."""
    result = nk.dedup(["one", "two", "three"])
    if kind == "datasets iterable":
        with pytest.raises(ParameterError, match="frame=a IterableDataset is not allowed; use a Dataset"):
            result.filter(KINDS[kind](document_columns(list(WORDS))))
        return
    with pytest.raises(ParameterError, match="frame=one of 4 rows is not allowed; use the one that was deduplicated"):
        rows_of(result.filter(KINDS[kind](document_columns(list(WORDS)))))


@pytest.mark.parametrize("make", [
    list, tuple, lambda values: np.array(values, object), pd.Series, pl.Series, pa.array,
    lambda values: pa.array(values, pa.string_view()), lambda values: pa.chunked_array([values[:2], values[2:]]),
    lambda values: pa.chunked_array([values[:2], values[2:]], pa.string_view()),
])  # fmt: skip
@pytest.mark.parametrize("texts", [["a b c", "a b c", "d e f", None], ["", "", "", ""], ["z y x"] * 4])
def test_columns_and_lists_are_filtered(make: Any, texts: list[str | None]) -> None:
    """The result has the type of the input."""
    result = nk.dedup(texts)
    built = make(["p", "q", "r", "s"])
    kept = result.filter(built)
    assert type(built) is type(kept)
    plain = kept.to_pylist() if hasattr(kept, "to_pylist") else list(kept)
    assert [["p", "q", "r", "s"][row] for row in result.kept_rows.tolist()] == plain
    for other in ("pqrs", {"p": 1, "q": 2, "r": 3, "s": 4}, 4):
        with pytest.raises(ParameterError, match="use the frame, column, array or list of the documents"):
            result.filter(other)


def test_a_lazy_frame_remains_lazy_and_keeps_its_columns() -> None:
    """It may have a column with the name of the row number."""
    frame = pl.DataFrame({"text": ["a b c", "a b c!", "d e f"], "row number": [1, 2, 3]}).lazy()
    kept = nk.dedup(frame).filter(frame)
    assert isinstance(kept, pl.LazyFrame)
    assert [("a b c", 1), ("d e f", 3)] == kept.collect().rows()


def test_texts_of_views_are_read_in_place() -> None:
    """Null, short and long views in several chunks with offsets are looked up correctly."""
    texts = near_duplicates(300)
    full = table({"body": texts}, pa.string_view(), 7)["body"].slice(11)
    assert same(nk.dedup(texts[11:], threshold=0.5), nk.dedup(full, threshold=0.5))


# Files by their paths


def test_columns_of_paths_are_paths_and_frames_are_not(tmp_path: Path) -> None:
    """A column of a frame is an iterable of paths; the error for a frame says so."""
    for name in ("a", "b"):
        (tmp_path / name).write_text("the same content of both files")
    frame = pd.DataFrame({"path": [str(tmp_path / "a"), str(tmp_path / "b")], "size": [1, 2]})
    result = nk.dedup_files(frame["path"], keep="max", values=frame["size"])
    assert [2] == result.filter(frame)["size"].tolist()
    with pytest.raises(ParameterError, match="use an iterable of paths, such as a list or a column of a frame"):
        nk.dedup_files(frame)


# Tuning


@pytest.mark.parametrize("kind", ["pandas str", "polars lazy", "pyarrow string_view", "pyarrow reader", "datasets"])
def test_tuning_takes_frames_and_files(kind: str, files: tuple[Path, dict[str, list[Any]]]) -> None:
    """The choice is that for lists."""
    folder, columns = files
    pairs = [(columns["url"][0], columns["url"][1], True), (columns["url"][0], columns["url"][2], False)]
    every: list[dict[str, Any]] = [{"threshold": 0.6, "bits": [64]}, {"truth": pairs, "bits": [64]}]
    for options in every:
        expected = nk.tune(columns["body"], columns["url"], **options)
        for item in (KINDS[kind](columns), folder):
            result = nk.tune(item, text="body", id="url", **options)
            assert expected.truth == result.truth
            assert expected.curve.columns == result.curve.columns
    bands = nk.tune_bands(columns["body"], columns["url"], threshold=0.6, num_perms=[32])
    for item in (KINDS[kind](columns), folder):
        found_bands = nk.tune_bands(item, text="body", id="url", threshold=0.6, num_perms=[32])
        assert bands.curve.columns["recall"] == found_bands.curve.columns["recall"]
    with pytest.raises(ParameterError, match="text='txt' is not allowed; use one of the columns"):
        nk.tune(KINDS[kind](columns), text="txt")


@pytest.mark.parametrize("text", ["hello world", "a long text, longer than any path " * 200, "a\0b"])
def test_a_text_in_place_of_texts_is_named(text: str) -> None:
    with pytest.raises(InputError, match=r"a str is a path here: pass texts in a list") as error:
        nk.dedup(text)
    assert len(str(error.value)) < 400
    assert [0] == nk.dedup([text]).kept
