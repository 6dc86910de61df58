"""nearkin.io.parquet: types, row groups, and validation of strings."""

from __future__ import annotations

import io
from datetime import date, datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import check_refused, read_all, texts_in
from nearkin.io import open_corpus, parquet


def test_parquet_types_arrive_as_they_are(tmp_path: Path) -> None:
    """Dictionaries, numbers of all widths and nulls are read; schema, metadata and codecs are kept."""
    columns = {
        "text": pa.array(["a", "b", None, "a", "e"]).dictionary_encode(),
        "id": pa.array([2**64 - 1, 1, 2, None, 4], pa.uint64()),
        "small": pa.array([1, None, 3, 4, 5], pa.int8()),
        "real": pa.array([0.5, None, 1.5, 2.5, 3.5], pa.float32()),
        "flag": pa.array([True, False, None, True, True]),
        "name": pa.array(["x", None, "z", "u", "v"], pa.large_string()),
        "nested": pa.array([[1], [], None, [2, 3], [4]]),
    }
    table = pa.table(columns).replace_schema_metadata({"made by": "a test"})
    pq.write_table(table, tmp_path / "a.parquet", compression={"text": "gzip", "id": "none"})
    extra = ["small", "real", "flag", "name"]
    with open_corpus(tmp_path / "a.parquet", id_column="id", extra_columns=extra, max_malformed=1.0) as corpus:
        (batch,) = corpus.batches()
        assert [2**64 - 1, 1, 2, 4] == list(batch.ids)
        assert (["a", "b", "", "e"], [2]) == (list(batch.texts), batch.texts.nulls.tolist())
        assert [1, None, 3, 5] == list(batch.columns["small"])
        assert [0.5, None, 1.5, 3.5] == list(batch.columns["real"])
        assert [True, False, None, True] == list(batch.columns["flag"])
        assert ["x", None, "z", "v"] == list(batch.columns["name"])
        (bad,) = corpus.malformed.first
        assert "a.parquet, row 4: column 'id' holds null" in str(bad)
        assert ["", "e"] == list(corpus.texts([2, 3]))
        corpus.write_kept([0, 3], out := io.BytesIO())
    kept = pq.read_table(io.BytesIO(out.getvalue()))
    written = pq.read_table(tmp_path / "a.parquet")
    assert written.take([0, 4]).equals(kept)
    assert written.schema.equals(kept.schema, check_metadata=True)
    metadata = pq.ParquetFile(io.BytesIO(out.getvalue())).metadata.row_group(0)
    assert ["GZIP", "UNCOMPRESSED"] == [metadata.column(i).compression for i in (0, 1)]


def test_parquet_strings_are_checked(tmp_path: Path) -> None:
    """Invalid UTF-8 in a string column makes the row malformed."""
    raw = pa.array([b"good", b"b\xffd", b"fine"], pa.binary())
    strings = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    pq.write_table(pa.table({"text": strings}), tmp_path / "a.parquet")
    with open_corpus(tmp_path / "a.parquet", max_malformed=1.0) as corpus:
        assert ["good", "fine"] == read_all(corpus)[0]
        assert [2] == [bad.line for bad in corpus.malformed.first]
        corpus.write_kept([1], out := io.BytesIO())
    assert ["fine"] == pq.read_table(io.BytesIO(out.getvalue())).column("text").to_pylist()


def test_parquet_texts_after_nested_columns_are_sized_by_their_own_column(tmp_path: Path) -> None:
    """The batch size follows from the text column, wherever it is in the schema."""
    columns = {"nested": pa.array([{"a": 1, "b": 2}] * 50), "text": ["x" * 100] * 50}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", use_dictionary=False)
    with open_corpus(tmp_path / "a.parquet") as corpus:
        assert (["x" * 100] * 50, list(range(50))) == read_all(corpus)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.null()]
)
def test_texts_of_every_string_type(tmp_path: Path, kind: pa.DataType) -> None:
    """Every string type and row group size gives the texts of a plain list."""
    texts = [None if row % 7 == 3 or kind == pa.null() else f"text {row % 5} 中" for row in range(50)]
    array = pa.array(texts, pa.string() if pa.types.is_dictionary(kind) else kind)
    array = array.dictionary_encode() if pa.types.is_dictionary(kind) else array
    pq.write_table(pa.table({"n": range(50), "text": array}), tmp_path / "a.parquet", row_group_size=7)
    expected = [text or "" for text in texts]
    with open_corpus(tmp_path / "a.parquet", id_column="n") as corpus:
        assert (expected, list(range(50))) == read_all(corpus)
        rows = [0, 3, 3, 6, 7, 48, 49]
        result = corpus.texts(rows)
        assert [expected[row] for row in rows] == list(result)
        assert [position for position, row in enumerate(rows) if texts[row] is None] == result.nulls.tolist()
        corpus.write_kept(range(0, 50, 3), out := io.BytesIO())
    kept = pq.read_table(io.BytesIO(out.getvalue()))
    assert list(range(0, 50, 3)) == kept["n"].to_pylist()
    assert texts[::3] == kept["text"].to_pylist()


def test_files_without_rows(tmp_path: Path) -> None:
    """An empty file has a schema and no rows, alone or with other files."""
    for name, texts in (("a", []), ("b", ["x"])):
        pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), tmp_path / f"{name}.parquet")
    with open_corpus(tmp_path / "a.parquet") as corpus:
        assert ([], []) == read_all(corpus)
        corpus.write_kept([], out := io.BytesIO())
    assert ["text"] == pq.read_schema(io.BytesIO(out.getvalue())).names
    assert ["x"] == texts_in(tmp_path / "*.parquet")


def test_nested_fields_bytes_and_dates(tmp_path: Path) -> None:
    """Paths, binary texts and timestamps are read, and kept rows have the schema of the file."""
    moments = [datetime(2024, 3, 1, 12, tzinfo=timezone.utc), None, datetime(2023, 1, 1, tzinfo=timezone.utc)]
    table = pa.table(
        {
            "doc": pa.array([{"body": b"one"}, {"body": "zwei ü".encode()}, None], pa.struct([("body", pa.binary())])),
            "meta": pa.array(
                [{"url": "x", "in": {"at": t}} for t in moments],
                pa.struct([("url", pa.string()), ("in", pa.struct([("at", pa.timestamp("us", "UTC"))]))]),
            ),
            "day": pa.array([date(2024, 3, 1), None, date(2023, 1, 1)]),
            "meta.n": pa.array([1, 2, 3]),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    extra = ["meta.in.at", "day", "meta.n"]
    with open_corpus(path, text_column="doc.body", id_column="meta.url", extra_columns=extra) as corpus:
        (batch,) = corpus.batches()
        assert (["one", "zwei ü", ""], [2]) == (list(batch.texts), batch.texts.nulls.tolist())
        assert ["x", "x", "x"] == list(batch.ids)
        assert ["2024-03-01 12:00:00.000000Z", None, "2023-01-01 00:00:00.000000Z"] == list(batch.columns["meta.in.at"])
        assert [1709294400.0, 1672531200.0] == batch.columns["meta.in.at"].numbers("at")[[0, 2]].tolist()
        assert ["2024-03-01", None, "2023-01-01"] == list(batch.columns["day"])
        assert [1, 2, 3] == list(batch.columns["meta.n"])
        corpus.write_kept([1], out := io.BytesIO())
    assert table.slice(1, 1).equals(pq.read_table(io.BytesIO(out.getvalue())))
    check_refused(
        r"no column .doc.text.; the file has doc.body, meta.url, meta.in.at, day, meta.n", path, text_column="doc.text"
    )
    pq.write_table(pa.table({"text": pa.array([b"good"] * 20 + [b"\xff"])}), path)
    with open_corpus(path) as corpus:
        (batch,) = corpus.batches()
        assert ["good"] * 20 == list(batch.texts)
        assert "not UTF-8" in corpus.malformed.first[0].reason


@pytest.mark.parametrize("column", ["text", "other"])
def test_a_dictionary_does_not_hide_how_large_rows_are(
    tmp_path: Path, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of some kilobytes with one large value in all rows is read and written in small batches."""
    monkeypatch.setattr(parquet, "_ROW_GROUP", 1 << 20)
    rows = 4000
    large = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a " * (1 << 15)]))
    small = pa.array([str(row) for row in range(rows)])
    table = pa.table({"text": large, "other": small} if column == "text" else {"text": small, "other": large})
    pq.write_table(table, tmp_path / "a.parquet", store_schema=False, compression="zstd")
    assert 1 << 17 > (tmp_path / "a.parquet").stat().st_size
    before, largest = pa.total_allocated_bytes(), 0
    with open_corpus(tmp_path / "a.parquet") as corpus:
        corpus.all_columns = True
        for batch in corpus.batches():
            largest = max(largest, len(batch.texts), pa.total_allocated_bytes() - before)
        corpus.write_kept(range(20), out := io.BytesIO())
    assert 1 << 24 > largest
    assert (
        table.slice(0, 20)
        .cast(pa.schema([(name, pa.string()) for name in table.column_names]))
        .equals(pq.read_table(io.BytesIO(out.getvalue())))
    )
