"""nearkin.io.open_corpus: errors before and during opening."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import check_refused
from nearkin.errors import ParameterError
from nearkin.io import open_corpus


def test_columns_must_fit_each_other_and_the_format(tmp_path: Path) -> None:
    """Columns that contradict each other, or that a format does not have, are errors before reading."""
    for name in ("a.jsonl", "c.unknown", "d.jsonl.gz"):
        (tmp_path / name).write_bytes(b"")
    a = tmp_path / "a.jsonl"
    with pytest.raises(ParameterError, match="neither the id nor an extra column"):
        open_corpus(a, id_column="text")
    with pytest.raises(ParameterError, match="no column for txt"):
        open_corpus(tmp_path / "c.unknown", format="txt", id_column="id")
    assert "jsonl" == open_corpus([a, tmp_path / "d.jsonl.gz"]).format


def test_columns_must_exist_and_agree(tmp_path: Path) -> None:
    """For CSV and Parquet the error names the first column that is missing or differs between files."""
    (tmp_path / "a.csv").write_text("id,text\n1,a\n")
    (tmp_path / "b.csv").write_text("id,body\n1,a\n")
    (tmp_path / "c.csv").write_text("id,text,more\n1,a,b\n")
    pq.write_table(pa.table({"id": [1], "text": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": ["1"], "text": ["a"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": [[1]], "text": [0.5]}), tmp_path / "c.parquet")
    for names, options, said in [
        (["b.csv"], {}, "b.csv, line 1: no column 'text'; the header has id, body"),
        (["a.csv", "b.csv"], {}, "b.csv, line 1: column 2 is 'body', while it is 'text' in .*a.csv"),
        (["a.csv", "c.csv"], {}, "column 3 is '.*', while it is missing in .*a.csv"),
        (["a.parquet", "b.parquet"], {}, "column 1 is id .string., while it is id .int64. in .*a.parquet"),
        (["a.parquet"], {"text_column": "body"}, "no column 'body'; the file has id, text"),
        (["a.parquet"], {"text_column": "id"}, "column 'id' is int64; a text is a string, or bytes of UTF-8"),
        (["c.parquet"], {}, "column 'text' is double; a text is a string"),
    ]:
        check_refused(said, [tmp_path / name for name in names], **options)
