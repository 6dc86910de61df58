"""Several text columns: frames, files and the command read the same joined texts, and kept records stay unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from command import call, succeed
from corpora import write_rows
from nearkin.errors import InputError, ParameterError
from nearkin.io import PackedTexts, open_corpus
from nearkin.io.arrow import join_texts

QUESTIONS = ["What is a fox?", None, "Is it the cat?", None, "What is a fox?", "東"]
ANSWERS = ["A quick brown animal.", "Only an answer.", None, None, "A quick brown animal.", ""]
JOINED = ["What is a fox?\nA quick brown animal.", "Only an answer.", "Is it the cat?", None]
JOINED += [JOINED[0], "東\n"]
RECORDS = [{"id": n, "question": q, "answer": a} for n, (q, a) in enumerate(zip(QUESTIONS, ANSWERS, strict=True))]
CELLS = st.lists(st.tuples(st.none() | st.text(max_size=4), st.none() | st.text(max_size=4)), max_size=8)


def write(folder: Path, kind: str) -> Path:
    """Write the records in a format; CSV has empty fields for nulls."""
    return write_rows(folder / f"in.{kind}", RECORDS)


@given(CELLS)
def test_texts_are_joined_by_line_feeds_without_nulls(rows: list[tuple[str | None, str | None]]) -> None:
    """A row of nulls is null."""
    expected = ["\n".join(part for part in row if part is not None) for row in rows]
    joined = join_texts([PackedTexts.of([row[side] for row in rows]) for side in (0, 1)])
    assert expected == list(joined)
    assert [at for at, row in enumerate(rows) if row == (None, None)] == joined.nulls.tolist()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_files_have_joined_texts_also_when_they_are_read_again(kind: str, tmp_path: Path) -> None:
    """An empty field of CSV counts as null."""
    texts = [*JOINED[:-1], "東"] if kind == "csv" else JOINED
    with open_corpus(write(tmp_path, kind), text_column=["question", "answer"]) as corpus:
        batches = list(corpus.batches())
        assert [text or "" for text in texts] == [text for batch in batches for text in batch.texts]
        assert [3] == [row for batch in batches for row in batch.texts.nulls.tolist()]
        assert [texts[1], texts[4]] == list(corpus.texts([1, 4]))


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_command_joins_columns_and_keeps_records(kind: str, tmp_path: Path) -> None:
    """Kept records are byte for byte those of the input; the summary lists the columns; a report reads them again."""
    source, out = write(tmp_path, kind), tmp_path / "out"
    succeed("dedup", source, "-o", out, "--text-column", "question,answer", "--report")
    expected = nk.dedup(JOINED).kept
    if kind == "parquet":
        assert [RECORDS[row] for row in expected] == pq.read_table(out / "kept.parquet").to_pylist()
    else:
        lines = source.read_bytes().splitlines(keepends=True)
        header = lines[:1] if kind == "csv" else []
        body = lines[len(header) :]
        assert b"".join([*header, *(body[row] for row in expected)]) == (out / f"kept.{kind}").read_bytes()
    assert ["question", "answer"] == json.loads((out / "summary.json").read_text())["text_column"]
    assert 0 == call("report", out).code


@pytest.mark.parametrize("text", [["question", "answer"], "question,answer", "question, answer"])
def test_frames_and_files_have_the_same_result(text: Any, tmp_path: Path) -> None:
    """Lists of names, and names separated by commas."""
    expected = list(nk.dedup(JOINED).clusters.rows())
    frames: list[Any] = [pd.DataFrame(RECORDS), pl.DataFrame(RECORDS), pa.Table.from_pylist(RECORDS)]
    for frame in [*frames, write(tmp_path, "jsonl")]:
        assert expected == list(nk.dedup(frame, text=text).clusters.rows())


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_name_with_a_comma_is_a_column_if_there_is_one(kind: str, tmp_path: Path) -> None:
    """The column wins over columns of the parts of its name, in files and frames."""
    columns = {"a": ["one", "two"], "b": ["three", "four"], "a,b": ["same", "same"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path = write_rows(tmp_path / f"in.{kind}", rows)
    assert [0] == nk.dedup(path, text="a,b").kept
    assert [0, 1] == nk.dedup(path, text=["a", "b"]).kept
    assert [0] == nk.dedup(pd.DataFrame(columns), text="a,b").kept
    done = call("dedup", path, "-o", "-", "--text-column", "a,b")
    assert (0, 1) == (done.code, done.out.count("one") + done.out.count("two") if kind != "parquet" else 1)


def test_records_whose_further_texts_are_no_strings_are_malformed(tmp_path: Path) -> None:
    """As with one column: the line and the column are named, and the rest is read."""
    lines = ['{"q": "one", "a": "x"}', '{"q": "two", "a": 5}', '{"q": 3, "a": "y"}', '{"q": "four"}', "{}"]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    with open_corpus(tmp_path / "in.jsonl", text_column=["q", "a"], max_malformed=9) as corpus:
        assert ["one\nx", "four", ""] == [text for batch in corpus.batches() for text in batch.texts]
        assert (2, 2) == (corpus.malformed.count, corpus.malformed.first[0].line)
        assert "column 'a' is 5; a text is a string" in str(corpus.malformed.first[0])
        assert ["four"] == list(corpus.texts([1]))


def test_missing_and_repeated_columns_are_refused(tmp_path: Path) -> None:
    """Nothing is joined silently without a column."""
    path = write(tmp_path, "jsonl")
    with pytest.raises(InputError, match="no record has a column 'reply'"):
        nk.dedup(path, text=["question", "reply"])
    for data in (path, pd.DataFrame(RECORDS)):
        with pytest.raises(ParameterError, match="several different ones"):
            nk.dedup(data, text=["question", "question"])
    with pytest.raises(ParameterError, match="neither the id nor an extra"):
        open_corpus(path, text_column=["question", "answer"], id_column="answer")
    with pytest.raises(ParameterError, match="'reply' is not allowed"):
        nk.dedup(pd.DataFrame(RECORDS), text="question,reply")
    done = call("dedup", path, "-o", "-", "--unit", "paragraph", "--text-column", "question,answer")
    assert (2, True) == (done.code, "several text columns" in done.err), done.err
