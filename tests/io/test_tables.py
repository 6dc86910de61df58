"""nearkin.io.tables: side tables of a run in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from nearkin.errors import ParameterError
from nearkin.io import Column, OutputDir, write_table


@pytest.mark.parametrize("kind", ["jsonl", "txt", "files", "csv", "tsv", "parquet"])
def test_side_tables_are_written_in_the_corpus_format(tmp_path: Path, kind: str) -> None:
    """Integers, floats, strings, missing values and mixed ids are written in each format."""
    columns = {
        "id": Column.of(["a,b", 7, 'quote " 中', 2**70]),
        "cluster": np.array([1, 1, 2, 3]),
        "100% similar": np.array([0.5, np.nan, 1.0, 0.25]),
        "reason": ["x", None, "line\nbreak", ""],
    }
    with OutputDir(tmp_path / "out") as out:
        name = write_table(out, "clusters", columns, kind)  # type: ignore[arg-type]
    path = tmp_path / "out" / name
    if kind == "parquet":
        table = pq.read_table(path).to_pydict()
        assert ["a,b", "7", 'quote " 中', str(2**70)] == table["id"]
        assert [0.5, None, 1.0, 0.25] == table["100% similar"]
    elif kind in ("csv", "tsv"):
        with path.open(newline="") as file:
            rows = list(csv.reader(file, delimiter="\t" if kind == "tsv" else ","))
        assert list(columns) == rows[0]
        assert ["7", "1", "", ""] == rows[2]
        assert 'quote " 中' == rows[3][0]
        assert "line\nbreak" == rows[3][3]
    else:
        assert "clusters.jsonl" == name
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert {"id": 7, "cluster": 1, "100% similar": None, "reason": None} == lines[1]
        assert [2**70, 3, 0.25, ""] == list(lines[3].values())
    with pytest.raises(ParameterError, match="columns of one length"), OutputDir(tmp_path / "b") as out:
        write_table(out, "clusters", {"a": [1], "b": []}, "jsonl")


def test_tables_longer_than_a_piece_keep_every_row(tmp_path: Path) -> None:
    """Tables of several chunks are complete."""
    rows = np.arange(40_000)
    with OutputDir(tmp_path / "out") as out:
        for kind in ("jsonl", "csv"):
            write_table(out, "clusters", {"id": rows}, kind)
    lines = (tmp_path / "out" / "clusters.jsonl").read_text().splitlines()
    assert rows.tolist() == [json.loads(line)["id"] for line in lines]
    assert rows.tolist() == [int(line) for line in (tmp_path / "out" / "clusters.csv").read_text().splitlines()[1:]]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_tables_without_rows_have_their_columns(tmp_path: Path, kind: str) -> None:
    """An empty table has a header, if its format has one."""
    with OutputDir(tmp_path / "out") as out:
        name = write_table(out, "pairs", {"left": [], "right": np.zeros(0, np.int64)}, kind)  # type: ignore[arg-type]
    path = tmp_path / "out" / name
    if kind == "parquet":
        assert ["left", "right"] == pq.read_schema(path).names
        assert 0 == pq.read_metadata(path).num_rows
    else:
        assert {"jsonl": b"", "csv": b"left,right\n"}[kind] == path.read_bytes()


def test_columns_of_mixed_values_in_parquet_are_strings(tmp_path: Path) -> None:
    """A column with strings and numbers becomes a string column; other columns keep their types."""
    columns = {"mixed": [1, "a", None], "flag": [True, None, False], "real": [0.5, float("nan"), None]}
    with OutputDir(tmp_path / "out") as out:
        name = write_table(out, "pairs", columns, "parquet")  # type: ignore[arg-type]
    table = pq.read_table(tmp_path / "out" / name)
    assert ["1", "a", None] == table["mixed"].to_pylist()
    assert [True, None, False] == table["flag"].to_pylist()
    assert [0.5, None, None] == table["real"].to_pylist()
