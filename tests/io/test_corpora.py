"""Reading corpora and writing what is kept."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearkin.errors import InputError, NearkinError, ParameterError
from nearkin.io import Corpus, OutputDir, open_corpus
from nearkin.io import base as corpus_module
from nearkin.io import parquet as parquet_module
from nearkin.io import records as records_module

TEXTS = ["one", "", 'say "two", twice', "中文\tтри", "line\nbreak", "four " * 50]


COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress}


def unpack(path: Path) -> bytes:
    """The decompressed bytes of a file."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zst":
        with pa.input_stream(str(path), compression="zstd") as stream:
            return bytes(stream.read())
    return path.read_bytes()


def pack(path: Path, data: bytes) -> Path:
    """Write a file compressed as its name says."""
    if path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(data)
    else:
        path.write_bytes(COMPRESS[path.suffix if path.suffix == ".gz" else ""](data))
    return path


def encode(kind: str, texts: list[str]) -> bytes:
    """A file of this format whose ids are id0, id1, ... and whose scores are the row numbers."""
    if kind == "jsonl":
        rows = [{"id": f"id{i}", "text": text, "score": i} for i, text in enumerate(texts)]
        return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)).encode()
    if kind in ("csv", "tsv"):
        out = io.StringIO()
        writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
        writer.writerow(["id", "text", "score"])
        writer.writerows([f"id{i}", text, i] for i, text in enumerate(texts))
        return out.getvalue().encode()
    if kind == "parquet":
        buffer = io.BytesIO()
        columns = {"id": [f"id{i}" for i in range(len(texts))], "text": texts, "score": list(range(len(texts)))}
        pq.write_table(pa.table(columns), buffer, compression="zstd", row_group_size=2)
        return buffer.getvalue()
    return "".join(text.replace("\n", " ") + "\n" for text in texts).encode()


def read_all(corpus: Corpus) -> tuple[list[str], list[Any]]:
    texts: list[str] = []
    ids: list[Any] = []
    for batch in corpus.batches():
        assert len(texts) == batch.first_row
        texts += list(batch.texts)
        ids += list(batch.ids)
    return texts, ids


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "txt", "parquet"])
def test_what_is_written_is_what_was_read(tmp_path: Path, kind: str, ending: str) -> None:
    """Texts, ids and columns arrive; rows are looked up again; kept rows keep format, compression, order, schema."""
    columns = {} if kind == "txt" else {"id_column": "id", "extra_columns": ["score"]}
    expected = [text.replace("\n", " ") for text in TEXTS] if kind == "txt" else TEXTS
    path = pack(tmp_path / f"in.{kind}{ending}", encode(kind, TEXTS))
    with open_corpus(path, **columns) as corpus:  # type: ignore[arg-type]
        texts, ids = read_all(corpus)
        assert expected == texts
        assert (list(range(6)) if kind == "txt" else [f"id{i}" for i in range(6)]) == ids
        assert path.stat().st_size == corpus.bytes_read
        assert [expected[1], expected[3], expected[3]] == list(corpus.texts([1, 3, 3]))
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept(np.array([True, False, True, True, False, True]), out)
    kept = tmp_path / "out" / f"kept.{kind}{ending}"
    assert [kept.name] == [path.name for path in (tmp_path / "out").iterdir()]
    with open_corpus(kept, **columns) as again:  # type: ignore[arg-type]
        assert [expected[i] for i in (0, 2, 3, 5)] == read_all(again)[0]
    if kind == "parquet":
        assert pq.read_schema(io.BytesIO(unpack(path))).equals(
            pq.read_schema(io.BytesIO(unpack(kept))), check_metadata=True
        )
        assert "ZSTD" == pq.ParquetFile(io.BytesIO(unpack(kept))).metadata.row_group(0).column(1).compression
    else:
        with open_corpus(path, **columns) as corpus:  # type: ignore[arg-type]
            read_all(corpus)
            corpus.write_kept(range(6), whole := io.BytesIO())
        assert unpack(path) == whole.getvalue()


def test_bad_records_are_counted_with_file_and_line(tmp_path: Path) -> None:
    """A record that can't be read has a file, a line and a reason, and no row; strict makes the first an error."""
    lines = [
        b'{"text": "a"}',
        b"",
        b"not json",
        b'{"text": 7}',
        b'{"body": "x"}',
        b'{"text": "b\xff"}',
        b'{"text": "c"}',
    ]
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "first"}\n')
    (tmp_path / "b.jsonl").write_bytes(b"\r\n".join(lines))
    with open_corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]) as corpus:
        assert (["first", "a", "c"], [0, 1, 2]) == read_all(corpus)
        assert 4 == corpus.malformed.count
        assert [3, 4, 5, 6] == [record.line for record in corpus.malformed.first]
        assert {str(tmp_path / "b.jsonl")} == {record.file for record in corpus.malformed.first}
        assert 'no column "text"; this record has body' == corpus.malformed.first[2].reason
        corpus.write_kept([0, 2], out := io.BytesIO())
    assert b'{"text": "first"}\n{"text": "c"}' == out.getvalue()
    with (
        open_corpus(tmp_path / "b.jsonl", strict=True) as corpus,
        pytest.raises(InputError, match=r"b.jsonl, line 3: invalid JSON") as caught,
    ):
        read_all(corpus)
    assert (3, str(tmp_path / "b.jsonl")) == (caught.value.line, caught.value.file)


def test_reading_nothing_but_bad_records_is_an_error(tmp_path: Path) -> None:
    """A mistyped column must not end as an empty output."""
    (tmp_path / "a.jsonl").write_text('{"body": "a"}\n' * 9)
    with (
        open_corpus(tmp_path / "a.jsonl") as corpus,
        pytest.raises(InputError, match=r"none of 9 records can be read; .* line 1: no column .*body"),
    ):
        read_all(corpus)


def test_null_texts_are_rows_without_text(tmp_path: Path) -> None:
    """A document without text is read, flagged and can be kept, in JSON lines and Parquet alike."""
    (tmp_path / "a.jsonl").write_text('{"text": null}\n{"text": "b"}\n{"text": null}\n')
    pq.write_table(pa.table({"text": pa.array([None, "b", None])}), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        with open_corpus(tmp_path / name) as corpus:
            (batch,) = corpus.batches()
            assert (["", "b", ""], [0, 2]) == (list(batch.texts), batch.texts.nulls.tolist())
            assert [None, "b", None] == batch.texts.to_arrow().to_pylist()
            assert [0] == corpus.texts([0, 1]).nulls.tolist()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "txt", "parquet"])
def test_small_blocks_give_the_same_corpus(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of any size hold the same rows, and a record longer than a block is read whole."""
    texts = [f"document {i} " + "word " * (i * 7 % 90) for i in range(200)] + ["long " * 3000] + ["end"]
    path = pack(tmp_path / f"in.{kind}.gz", encode(kind, texts))
    with open_corpus(path) as corpus:
        expected = read_all(corpus)
    for module in (corpus_module, records_module, parquet_module):
        monkeypatch.setattr(module, "BLOCK", 1 << 10)
    with open_corpus(path) as corpus:
        assert expected == read_all(corpus)
        assert texts == expected[0]
        rows = list(range(0, 202, 3))
        assert [texts[row] for row in rows] == list(corpus.texts(rows))
        assert ([], 0) == (list(corpus.texts([])), len(corpus.texts([])))
        corpus.write_kept(rows, out := io.BytesIO())
    (tmp_path / f"again.{kind}").write_bytes(out.getvalue())
    with open_corpus(tmp_path / f"again.{kind}") as corpus:
        assert [texts[row] for row in rows] == read_all(corpus)[0]


@pytest.mark.parametrize("kind", ["jsonl", "txt", "csv"])
def test_a_record_that_is_too_long_is_passed_over(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without end, as a decompression bomb makes, costs no more memory than the limit, and is one bad record."""
    monkeypatch.setattr(records_module, "BLOCK", 1 << 10)
    monkeypatch.setattr(records_module, "LONGEST", 1 << 12)
    path = pack(tmp_path / f"in.{kind}.gz", encode(kind, ["a", "b " * 40_000, "c", "d " * 1000]))
    with open_corpus(path) as corpus:
        texts, _ = read_all(corpus)
        assert ["a", "c", "d " * 1000] == texts
        (bad,) = corpus.malformed.first
        assert (2 + (kind == "csv"), "the record is longer than 0 MiB") == (bad.line, bad.reason)
        corpus.write_kept([1, 2], out := io.BytesIO())
        assert "c" == corpus.texts([1])[0]
    assert encode(kind, ["a", "b", "c", "d " * 1000]).splitlines()[-2:] == out.getvalue().splitlines()[-2:]


def test_an_open_quote_spoils_one_line_not_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote that is never closed is one bad record, at the end of the file as at the limit of a record's length."""
    lines = ['text,id\n"never closed,0\n'] + [f"document {i},{i}\n" for i in range(1000)]
    (tmp_path / "a.csv").write_text("".join(lines))
    for longest in (1 << 28, 1 << 12):
        monkeypatch.setattr(records_module, "BLOCK", 1 << 10)
        monkeypatch.setattr(records_module, "LONGEST", longest)
        with open_corpus(tmp_path / "a.csv", id_column="id") as corpus:
            texts, ids = read_all(corpus)
            assert [f"document {i}" for i in range(1000)] == texts
            assert [str(i) for i in range(1000)] == ids
            assert (1, 2) == (corpus.malformed.count, corpus.malformed.first[0].line)


def test_marks_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    """A byte order mark is no text, CRLF ends a line, and a missing last line end is mended when a row follows."""
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n\r\n{"text": "b"}')
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "c"}')
    with open_corpus([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]) as corpus:
        assert ["a", "b", "c"] == read_all(corpus)[0]
        corpus.write_kept([0, 1, 2], out := io.BytesIO())
    assert b'{"text": "a"}\r\n{"text": "b"}\n{"text": "c"}' == out.getvalue()
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbftext,n\r\na,1\r\n\r\nb,2")
    (tmp_path / "b.csv").write_bytes(b"text,n\nc,3\n")
    with open_corpus(tmp_path / "*.csv", extra_columns=["n"]) as corpus:
        assert ["a", "b", "c"] == read_all(corpus)[0]
        corpus.write_kept([0, 1, 2], out := io.BytesIO())
    assert b"text,n\r\na,1\r\nb,2\nc,3\n" == out.getvalue()


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_stream_that_is_cut_off_is_an_error(tmp_path: Path, kind: str, ending: str) -> None:
    """A truncated or damaged compressed file is never taken for a shorter corpus."""
    rng = np.random.default_rng(0)
    whole = pack(
        tmp_path / f"a.{kind}{ending}", encode(kind, [str(rng.integers(0, 2**60)) for _ in range(500)])
    ).read_bytes()
    bad = tmp_path / f"b.{kind}{ending}"
    for damaged in (whole[:-1], whole[:-9], whole[: len(whole) // 2], whole[:3], whole + b"garbage!", b"plain text"):
        bad.write_bytes(damaged)
        with open_corpus(bad) as corpus, pytest.raises(InputError, match=f"b.{kind}{ending}: .*(damaged|cut off)"):
            read_all(corpus)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_members_of_a_stream_are_read_one_after_another(tmp_path: Path, ending: str) -> None:
    """Concatenated gzip members and zstd frames are one stream, as cat and pigz make them."""
    one = pack(tmp_path / f"a.txt{ending}", b"one\ntw").read_bytes()
    two = pack(tmp_path / f"a.txt{ending}", b"o\nthree\n").read_bytes()
    (tmp_path / f"b.txt{ending}").write_bytes(one + two + pack(tmp_path / f"a.txt{ending}", b"").read_bytes())
    with open_corpus(tmp_path / f"b.txt{ending}") as corpus:
        assert ["one", "two", "three"] == read_all(corpus)[0]


def test_compressed_or_binary_data_under_another_name_is_told(tmp_path: Path) -> None:
    """Files whose first bytes contradict their name say what they are."""
    for name, data, said in [
        ("a.jsonl", gzip.compress(b"{}"), "compressed with gzip; end its name in .gz"),
        ("b.csv", b"\x28\xb5\x2f\xfdxxxx", "compressed with zstd"),
        ("c.txt", "text".encode("utf-16"), "UTF-16; convert it to UTF-8"),
        ("d.jsonl", encode("parquet", TEXTS), "is Parquet"),
        ("e.parquet", b"PAR1 and then nothing", "Parquet file is damaged"),
    ]:
        (tmp_path / name).write_bytes(data)
        with open_corpus(tmp_path / name) as corpus, pytest.raises(InputError, match=said):
            read_all(corpus)


def test_a_file_that_changes_is_an_error(tmp_path: Path) -> None:
    """Rows are never looked up in, or copied from, a file that is not the one that was read."""
    for kind in ("jsonl", "parquet", "txt"):
        path = tmp_path / f"a.{kind}"
        path.write_bytes(encode(kind, TEXTS))
        with open_corpus(path) as corpus:
            read_all(corpus)
            path.write_bytes(encode(kind, TEXTS[::-1]))
            os.utime(path, (1, 1))
            with pytest.raises(InputError, match=r"changed while it was being read|changed since"):
                corpus.write_kept([0], io.BytesIO())
            if kind != "parquet":
                with pytest.raises(InputError, match="changed while it was being read"):
                    corpus.texts([0])
        with open_corpus(path) as corpus:
            reading = corpus.batches()
            next(reading)
            os.utime(path, (2, 2))
            with pytest.raises(InputError, match="changed while it was being read"):
                next(reading)


def test_a_folder_of_files_is_a_document_a_file(tmp_path: Path) -> None:
    """Files are read recursively in the order of their names; what is kept is a list of their paths."""
    folder = tmp_path / "docs"
    for name, data in [
        ("b.txt", b"second"),
        ("a/x.md", b"\xef\xbb\xbffirst"),
        ("c.txt.gz", gzip.compress(b"third")),
        ("d.bin", b"\0\1"),
        ("e.txt", b"ok\n\xff"),
        (".hidden", b"no"),
        (".git/config", b"no"),
        ("f.txt", b""),
    ]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    with open_corpus(folder) as corpus:
        assert (["first", "second", "third", ""], ["a/x.md", "b.txt", "c.txt.gz", "f.txt"]) == read_all(corpus)
        assert [("d.bin", 1), ("e.txt", 2)] == [(Path(bad.file).name, bad.line) for bad in corpus.malformed.first]
        assert ["first", "third"] == list(corpus.texts([0, 2]))
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept([0, 2, 3], out)
        assert b"a/x.md\nc.txt.gz\nf.txt\n" == (tmp_path / "out" / "kept.txt").read_bytes()
        (folder / "b.txt").write_bytes(b"other")
        with pytest.raises(InputError, match="changed"):
            corpus.texts([1])
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "g.txt").write_bytes(b"fourth")
    with open_corpus([folder, tmp_path / "more"]) as corpus:
        assert str(tmp_path / "more" / "g.txt") == read_all(corpus)[1][-1]


def test_inputs_must_be_of_one_format_and_exist(tmp_path: Path) -> None:
    """Everything that can be said about the inputs before reading is an error that names the input."""
    for name in ("a.jsonl", "b.csv", "c.unknown", "d.jsonl.gz"):
        (tmp_path / name).write_bytes(b"")
    a = tmp_path / "a.jsonl"
    for inputs, said in [
        ([a, tmp_path / "b.csv"], "b.csv: is csv, while .*a.jsonl is jsonl; give inputs of one format"),
        ([tmp_path], "b.csv: is csv, while .*a.jsonl is jsonl; .* format='files'"),
        ([tmp_path / "none.jsonl"], "none.jsonl: no such file or folder"),
        ([tmp_path / "*.parquet"], "no file matches"),
        ([tmp_path / "c.unknown"], "the name says no format"),
        ([a, tmp_path / "*.jsonl"], "given twice"),
    ]:
        with pytest.raises(InputError, match=said):
            open_corpus(inputs)
    with pytest.raises(ParameterError, match="at least one path"):
        open_corpus([])
    with pytest.raises(ParameterError, match=r"format='xml' is not allowed; use one of jsonl, parquet"):
        open_corpus(a, format="xml")
    with pytest.raises(ParameterError, match="neither the id nor an extra column"):
        open_corpus(a, id_column="text")
    with pytest.raises(ParameterError, match="no column for txt"):
        open_corpus(tmp_path / "c.unknown", format="txt", id_column="id")
    (tmp_path / "sub").mkdir()
    with pytest.raises(InputError, match="the folder has no files"):
        open_corpus(tmp_path / "sub")
    assert "jsonl" == open_corpus([a, tmp_path / "d.jsonl.gz"]).format


def test_columns_must_exist_and_agree(tmp_path: Path) -> None:
    """CSV and Parquet name the first column that is missing or differs between files."""
    (tmp_path / "a.csv").write_text("id,text\n1,a\n")
    (tmp_path / "b.csv").write_text("id,body\n1,a\n")
    (tmp_path / "c.csv").write_text("id,text,more\n1,a,b\n")
    pq.write_table(pa.table({"id": [1], "text": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": ["1"], "text": ["a"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": [[1]], "text": [b"a"]}), tmp_path / "c.parquet")
    for names, options, said in [
        (["b.csv"], {}, "b.csv, line 1: no column 'text'; the header has id, body"),
        (["a.csv", "b.csv"], {}, "b.csv, line 1: column 2 is 'body', while it is 'text' in .*a.csv"),
        (["a.csv", "c.csv"], {}, "the header has 3 columns, while that of .*a.csv has 2"),
        (["a.parquet", "b.parquet"], {}, "column 1 is id .string., while it is id .int64. in .*a.parquet"),
        (["a.parquet"], {"text_column": "body"}, "no column 'body'; the file has id, text"),
        (["a.parquet"], {"text_column": "id"}, "column 'id' is int64; a text is a string"),
        (["c.parquet"], {}, "column 'text' is binary; a text is a string"),
    ]:
        with (
            open_corpus([tmp_path / name for name in names], **options) as corpus,  # type: ignore[arg-type]
            pytest.raises(InputError, match=said),
        ):
            read_all(corpus)


def test_parquet_types_arrive_as_they_are(tmp_path: Path) -> None:
    """Dictionary strings, all widths of numbers and nulls are read; schema, metadata and codecs are kept."""
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
    with open_corpus(tmp_path / "a.parquet", id_column="id", extra_columns=extra) as corpus:
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
    """Parquet readers trust a file's strings; a kernel must not."""
    raw = pa.array([b"good", b"b\xffd", b"fine"], pa.binary())
    strings = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    pq.write_table(pa.table({"text": strings}), tmp_path / "a.parquet")
    with open_corpus(tmp_path / "a.parquet") as corpus:
        assert ["good", "fine"] == read_all(corpus)[0]
        assert [2] == [bad.line for bad in corpus.malformed.first]
        corpus.write_kept([1], out := io.BytesIO())
    assert ["fine"] == pq.read_table(io.BytesIO(out.getvalue())).column("text").to_pylist()


def test_parquet_texts_after_nested_columns_are_sized_by_their_own_column(tmp_path: Path) -> None:
    """Batches follow from the text column's size wherever it stands."""
    columns = {"nested": pa.array([{"a": 1, "b": 2}] * 50), "text": ["x" * 100] * 50}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", use_dictionary=False)
    with open_corpus(tmp_path / "a.parquet") as corpus:
        assert (["x" * 100] * 50, list(range(50))) == read_all(corpus)


def test_numbers_are_read_from_columns_of_any_kind(tmp_path: Path) -> None:
    """A keep rule's column may hold integers, floats, nulls, booleans, or strings that write a number."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "a", "n": 1, "s": "2.5"}\n{"text": "b", "n": 0.5, "s": 3}\n{"text": "c", "n": null, "s": null}\n'
    )
    with open_corpus(path, extra_columns=["n", "s"]) as corpus:
        (batch,) = corpus.batches()
        np.testing.assert_array_equal([1, 0.5, np.nan], batch.columns["n"].numbers("n"))
        np.testing.assert_array_equal([2.5, 3, np.nan], batch.columns["s"].numbers("s"))
    path.write_text('{"text": "a", "n": "high"}\n')
    with open_corpus(path, extra_columns=["n"]) as corpus:
        (batch,) = corpus.batches()
        with pytest.raises(InputError, match="row 0: column 'n' holds 'high', which is not a number"):
            batch.columns["n"].numbers("n")


def test_an_output_folder_inside_of_an_input_folder_is_refused(tmp_path: Path) -> None:
    """The next run over the same folder would read the output."""
    (tmp_path / "a.txt").write_text("text")
    with (
        open_corpus(tmp_path) as corpus,
        pytest.raises(ParameterError, match="a folder outside of"),
        OutputDir(tmp_path / "out", inputs=corpus.inputs),
    ):
        pass


STDIN = """
import sys
from nearkin.errors import NearkinError
from nearkin.io import open_corpus
with open_corpus("-", format=sys.argv[1]) as corpus:
    texts = [text for batch in corpus.batches() for text in batch.texts]
    assert texts[1] == list(corpus.texts([1]))[0]
    try:
        next(corpus.batches())
        raise SystemExit("read twice")
    except NearkinError:
        pass
    corpus.write_kept(range(0, len(texts), 2), sys.stdout.buffer)
"""


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_standard_input_is_spooled(tmp_path: Path, kind: str, ending: str) -> None:
    """A pipe is read like a file, compressed or not, and rows go to standard output."""
    data = pack(tmp_path / f"a.{kind}{ending}", encode(kind, TEXTS)).read_bytes()
    done = subprocess.run([sys.executable, "-c", STDIN, kind], input=data, capture_output=True, check=True)
    (tmp_path / f"b.{kind}").write_bytes(done.stdout)
    with open_corpus(tmp_path / f"b.{kind}") as corpus:
        assert TEXTS[::2] == read_all(corpus)[0]


def test_the_spool_is_gone_at_the_end(tmp_path: Path) -> None:
    """The spool has no name while it lives, and its room is free when the corpus is closed, also after an error."""
    path = pack(tmp_path / "a.jsonl.gz", encode("jsonl", TEXTS))
    spool = tmp_path / "spool"
    spool.mkdir()
    opened = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(KeyboardInterrupt), open_corpus(path, spool_dir=spool) as corpus:
        interrupt(corpus)
    assert [] == list(spool.iterdir())
    assert opened == len(list(Path("/proc/self/fd").iterdir()))


def interrupt(corpus: Corpus) -> None:
    for _ in corpus.batches():
        raise KeyboardInterrupt


def test_rows_are_checked(tmp_path: Path) -> None:
    """Rows out of order or range, masks of a wrong length, and writing before reading are errors."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode("jsonl", TEXTS))
    with open_corpus(path) as corpus:
        with pytest.raises(NearkinError, match="not read to its end"):
            corpus.write_kept([0], io.BytesIO())
        read_all(corpus)
        for rows in ([1, 0], [6], [-1]):
            with pytest.raises(ParameterError, match="rows="):
                corpus.texts(rows)
        for kept in ([6], [-1], np.ones(5, bool)):
            with pytest.raises(ParameterError, match="kept="):
                corpus.write_kept(kept, io.BytesIO())
        assert read_all(corpus) == read_all(corpus)
        assert 6 == corpus.rows


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
json_rows = st.lists(
    st.fixed_dictionaries(
        {"text": st.text(max_size=30) | st.none(), "id": st.integers() | st.text(max_size=5)},
        optional={
            "score": st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
        },
    ).flatmap(lambda row: st.dictionaries(st.text(max_size=4), json_values, max_size=2).map(lambda more: more | row)),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=json_rows, ascii_only=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_json_lines_are_what_json_says(tmp_path: Path, rows: list[dict[str, Any]], ascii_only: bool, seed: int) -> None:
    """Texts, ids of any size and scores equal those of the json module; kept rows are the same bytes."""
    lines = [json.dumps(row, ensure_ascii=ascii_only).encode() + b"\n" for row in rows]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(lines))
    mask = np.random.default_rng(seed).random(len(rows)) < 0.5
    with open_corpus(path, id_column="id", extra_columns=["score"]) as corpus:
        texts, ids = read_all(corpus)
        assert [row["text"] or "" for row in rows] == texts
        assert [row["id"] for row in rows] == ids
        scores = [score for batch in corpus.batches() for score in batch.columns["score"]]
        assert [row.get("score") for row in rows] == scores
        assert [type(row.get("score")) for row in rows] == list(map(type, scores))
        corpus.write_kept(mask, out := io.BytesIO())
        assert [texts[row] for row in np.flatnonzero(mask)] == list(corpus.texts(np.flatnonzero(mask)))
    assert b"".join(line for line, kept in zip(lines, mask, strict=True) if kept) == out.getvalue()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.binary(max_size=200), kind=st.sampled_from(["jsonl", "csv", "tsv", "txt", "parquet"]), pipe=st.booleans()
)
def test_any_bytes_give_rows_or_an_input_error(tmp_path: Path, data: bytes, kind: str, pipe: bool) -> None:
    """No bytes under any name end otherwise than in rows, bad records or an InputError."""
    path = tmp_path / f"a.{kind}{'.gz' if pipe else ''}"
    path.write_bytes(gzip.compress(b"text\n" + data) if pipe else data)
    with open_corpus(path) as corpus:
        try:
            texts, _ = read_all(corpus)
        except InputError:
            return
        corpus.write_kept(range(len(texts)), out := io.BytesIO())
        assert texts == list(corpus.texts(range(len(texts))))
    if kind == "txt" and not corpus.malformed.count and not data.startswith(b"\xef\xbb\xbf"):
        assert (b"text\n" + data if pipe else data) == out.getvalue()
