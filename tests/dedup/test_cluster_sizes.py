"""Weights of kept documents: the sizes of their clusters, in results, frames and kept files."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nearkin as nk
from command import call, check_message, succeed
from nearkin.errors import ParameterError
from nearkin.io import open_corpus
from nearkin.io.base import AddedColumn

TEXTS = ["The quick brown fox jumps.", "Another sentence, about cats.", "The quick brown fox jumps!", "!!!", None]
TEXTS += [TEXTS[0], "Another sentence, about cats"]
RECORDS = [{"id": number, "text": text} for number, text in enumerate(TEXTS)]
SIZES = {0: 3, 1: 2, 3: 1, 4: 1}


@pytest.mark.parametrize("rule", ["absorb", "components"])
def test_weights_count_each_document_once(rule: Any) -> None:
    """They are the sizes of the clusters in the table, and add up to the documents."""
    result = nk.dedup(TEXTS, cluster=rule)
    sizes = Counter(result.clusters["representative"])
    assert [sizes.get(name, 1) for name in result.kept] == result.weights.tolist()
    assert (SIZES, len(TEXTS)) == (dict(zip(result.kept, result.weights.tolist(), strict=True)), result.weights.sum())


def test_weights_do_not_count_reference_documents() -> None:
    """What matches a reference document is removed, and weighs nothing."""
    result = nk.dedup(TEXTS, against=TEXTS[:1])
    assert [2, 1, 1] == result.weights.tolist()
    assert [1, 1] == nk.dedup(TEXTS, keep="none").weights.tolist()


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "table", "batch", "reader"])
def test_filter_appends_weights_to_a_frame(kind: str) -> None:
    """The result has the type of the frame; an existing name is refused."""
    table = pa.table({"text": TEXTS, "n": range(len(TEXTS))})
    frames: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.DataFrame({"text": TEXTS, "n": range(len(TEXTS))}),
        "polars": lambda: pl.from_arrow(table),
        "lazy": lambda: pl.DataFrame(pl.from_arrow(table)).lazy(),
        "table": lambda: table,
        "batch": lambda: table.combine_chunks().to_batches()[0],
        "reader": lambda: table.to_reader(2),
    }
    frame = frames[kind]()
    result = nk.dedup(TEXTS)
    with pytest.raises(ParameterError, match="the name of a new column"):
        result.filter(frame, weights="n")
    kept: Any = result.filter(frame, weights="copies")
    assert type(frame) is type(kept)
    kept = kept.collect() if kind == "lazy" else kept.read_all() if kind == "reader" else kept
    columns = {name: list(pa.table(kept)[name].to_pylist()) for name in ("n", "copies")}
    assert SIZES == dict(zip(columns["n"], columns["copies"], strict=True))
    with pytest.raises(ParameterError, match="which has no columns"):
        result.filter(TEXTS, weights="copies")


def test_the_command_appends_weights_to_records_byte_for_byte(tmp_path: Path) -> None:
    """JSON with odd spacing, escapes and line ends; the bytes before the new column are those of the input."""
    lines = [json.dumps(record) for record in RECORDS]
    lines[1] = '{ "id" :1 , "text":"Another sentence, about c\\u0061ts." }  \r'
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(lines), newline="")
    succeed("dedup", source, "--out", tmp_path / "out", "--weights", "cluster_size")
    kept = (tmp_path / "out" / "kept.jsonl").read_bytes().split(b"\n")
    assert b'{"id": 0, "text": "The quick brown fox jumps.", "cluster_size": 3}' == kept[0]
    assert b'{ "id" :1 , "text":"Another sentence, about c\\u0061ts.", "cluster_size": 2}  \r' == kept[1]
    assert SIZES == {row["id"]: row["cluster_size"] for row in map(json.loads, filter(None, kept))}
    assert "cluster_size" == json.loads((tmp_path / "out" / "summary.json").read_text())["weights"]


def test_the_command_appends_weights_to_csv_and_parquet(tmp_path: Path) -> None:
    """Quoted fields stay; a name with a delimiter is quoted; Parquet gets an integer column."""
    (tmp_path / "in.csv").write_text('id,text\r\n0,"one, two"\r\n1,"one, two"\r\n2,other words\r\n', newline="")
    assert 0 == call("dedup", tmp_path / "in.csv", "-o", tmp_path / "csv", "--weights", "copies, all").code
    expected = b'id,text,"copies, all"\r\n0,"one, two",2\r\n2,other words,1\r\n'
    assert expected == (tmp_path / "csv" / "kept.csv").read_bytes()
    table = pa.table({"id": range(len(TEXTS)), "text": TEXTS})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    succeed("dedup", tmp_path / "in.parquet", "-o", tmp_path / "parquet", "--weights", "n")
    kept = pq.read_table(tmp_path / "parquet" / "kept.parquet")
    assert ["id", "text", "n"] == kept.column_names
    assert SIZES == dict(zip(kept["id"].to_pylist(), kept["n"].to_pylist(), strict=True))


def test_weights_without_a_new_column_are_refused(tmp_path: Path) -> None:
    """Lines have no columns; a record, a header or a schema may have the name already, also escaped."""
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    check_message(2, "no column for txt", "dedup", tmp_path / "in.txt", "-o", tmp_path / "out", "--weights", "n")
    contents = {"a.jsonl": '{"text": "one", "\\u006e": 1}\n', "a.csv": "text,n\none,1\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        check_message(1, "a column 'n' exists", "dedup", tmp_path / name, "-o", tmp_path / "out", "--weights", "n")
    pq.write_table(pa.table({"text": ["one"], "n": [1]}), tmp_path / "a.parquet")
    check_message(1, "a column 'n' exists", "dedup", tmp_path / "a.parquet", "-o", tmp_path / "out", "--weights", "n")
    assert not (tmp_path / "out").exists()


def test_a_name_inside_a_value_is_no_column(tmp_path: Path) -> None:
    """The text may contain the name of the new column, and nested objects may have it."""
    line = b'{"text": "size", "meta": {"size": 1}}\n'
    (tmp_path / "in.jsonl").write_bytes(line)
    out = io.BytesIO()
    with open_corpus(tmp_path / "in.jsonl") as corpus:
        list(corpus.batches())
        corpus.write_kept([0], out, added=AddedColumn("size", np.array([4])))
    assert line[:-2] + b', "size": 4}\n' == out.getvalue()
