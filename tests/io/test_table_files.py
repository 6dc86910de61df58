"""nearkin.io.read_table: tables of every format, and their errors."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearkin.errors import InputError
from nearkin.io import OutputDir, read_table, write_table
from nearkin.io.inputs import Format

COLUMNS: dict[str, list[object]] = {"id": ["a", "b,c", 'd "e"'], "n": [1, None, 3], "text": ["x", "line\nbreak", "中"]}


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet"])
def test_a_table_is_read_as_it_was_written(tmp_path: Path, kind: Format) -> None:
    """Values of CSV are strings, and empty fields are None; other formats keep types."""
    with OutputDir(tmp_path / "out") as out:
        name = write_table(out, "table", COLUMNS, kind)  # type: ignore[arg-type]
    path = tmp_path / "out" / name
    strings = {**COLUMNS, "n": ["1", None, "3"]}
    expected = strings if kind in ("csv", "tsv") else COLUMNS
    assert expected == read_table(path)
    assert {"text": expected["text"]} == read_table(path, ["text", "none"])
    if kind != "parquet":
        packed = path.with_name(path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert expected == read_table(packed)


def test_late_and_missing_columns_of_json_are_none(tmp_path: Path) -> None:
    """Missing values are None; blank lines and a byte order mark are skipped."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"b": [2]}\r\n{"a": 3, "b": null}')
    assert {"a": [1, None, 3], "b": [None, [2], None]} == read_table(path)
    assert {"b": [None, [2], None]} == read_table(path, ["b", "c"])
    path.write_bytes(b"")
    assert {} == read_table(path)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.jsonl", b'{"a": 1}\nnot json\n', r"a.jsonl:2: invalid JSON"),
        ("a.jsonl", b'{"a": 1}\n{"a": 1, "a": 2}\n', r"a.jsonl:2: invalid JSON: two members 'a' in one object"),
        ("a.jsonl", b"[1]\n", r"a.jsonl:1: int, not an object"),
        ("a.jsonl", b"[" * 100_000, r"a.jsonl: ends inside of its JSON array"),
        ("a.jsonl", b'{"a": "\xff"}\n', r"a.jsonl: is not UTF-8 .* convert it"),
        ("a.csv", b"a,b\n\xff,b\n", r"a.csv: is not UTF-8"),
        ("a.csv", b"", r"a.csv: is empty; the first line names the columns"),
        ("a.csv", b"a,b,a\n", r"a.csv:1: column 'a' occurs twice in the header"),
        ("a.csv", b"a,b\n1,2\n\n3\n", r"a.csv:4: 1 fields, 2 in the header"),
        ("a.csv", b'a,b\n"1"x,2\n', r"a.csv:2: .*expected after"),
        ("a.tsv", b'a\tb\n"1\t2\n', r"a.tsv:2: "),
        ("a.txt", b"text\n", r"is txt, which has no columns; give .jsonl, .csv, .tsv or .parquet"),
        ("a.parquet", b"PAR1 and nothing", r"a.parquet: can't be read as Parquet"),
        ("a.jsonl.gz", b"no gzip", r"damaged"),
        ("a.csv.gz", gzip.compress(b"a\n" * 100, mtime=0)[:-9], r"cut off"),
    ],
)
def test_a_faulty_table_is_an_error_with_its_place(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    """Every malformed record raises an error with its position."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=said):
        read_table(tmp_path / name)


def test_one_table_is_named(tmp_path: Path) -> None:
    """A glob with several matches is refused."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("a\n1\n")
    with pytest.raises(InputError, match="is 2 files; name one table"):
        read_table(tmp_path / "*.csv")


def test_fields_may_be_longer_than_the_csv_module_allows(tmp_path: Path) -> None:
    """Fields may be documents, and the limit of the csv module is restored afterwards."""
    before = csv.field_size_limit()
    (tmp_path / "a.csv").write_text("a\n" + "x" * 200_000 + "\n")
    assert {"a": ["x" * 200_000]} == read_table(tmp_path / "a.csv")
    assert before == csv.field_size_limit()


def test_dictionaries_and_row_groups_of_parquet(tmp_path: Path) -> None:
    """Dictionary columns are strings, and all row groups are read."""
    words = pa.array(["a", "b", None, "a", "c"]).dictionary_encode()
    pq.write_table(pa.table({"w": words, "n": range(5)}), tmp_path / "a.parquet", row_group_size=2)
    assert {"w": ["a", "b", None, "a", "c"], "n": list(range(5))} == read_table(tmp_path / "a.parquet")


def test_a_table_from_standard_input() -> None:
    """JSON lines are read from a pipe."""
    code = "import json; from nearkin.io import read_table; print(json.dumps(read_table('-')))"
    done = subprocess.run([sys.executable, "-c", code], input=b'{"a": 1}\n{"a": 2}\n', capture_output=True, check=True)
    assert {"a": [1, 2]} == json.loads(done.stdout)


def test_a_table_may_be_a_json_array(tmp_path: Path) -> None:
    """A pretty-printed array is a table."""
    path = tmp_path / "pairs.json"
    path.write_text('[\n  {\n    "left": "a",\n    "right": "b"\n  },\n  {"left": "c", "right": "d"}\n]\n')
    assert {"left": ["a", "c"], "right": ["b", "d"]} == read_table(path, ["left", "right"])
