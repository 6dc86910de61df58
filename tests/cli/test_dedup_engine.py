"""Tests of `nearkin dedup --engine`: with Sail, and with Spark if Java 17 or newer is installed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import mixed_texts
from sessions import java

import nearkin as nk
from command import Done, call, check_message, run, write_jsonl
from nearkin.cli.engine import Engine, _stop, convert_engine_errors, open_session, parse_address, parse_engine
from nearkin.errors import EngineError, ParameterError
from nearkin.spark import explain

__all__ = ["java"]

pytest.importorskip("pysail", reason="pysail is not installed")

SUMMARY = ("documents", "kept", "removed", "removed_by_reason", "clusters", "largest_cluster", "recipe", "threshold")


def table(count: int = 120, seed: int = 0, first: int = 0) -> pa.Table:
    """Return documents in the order of their ids: near-duplicates, copies, texts without letters."""
    texts = [text or "" for text in mixed_texts(count, seed)]
    ids = [f"d{number:05}" for number in range(first, first + len(texts))]
    rng = random.Random(seed)
    scores = [rng.randrange(1000) for _ in texts]
    return pa.table({"id": ids, "text": texts, "score": scores, "src": [f"s{n % 3}" for n in range(len(texts))]})


def on_sail(*arguments: object) -> Done:
    """Run `nearkin dedup` on Sail, with ids."""
    return call("dedup", *arguments, "--id-column", "id", "--engine", "sail")


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table that an engine wrote, by id."""
    result: list[dict[str, Any]] = pq.read_table(folder / name).to_pylist()
    return sorted(result, key=lambda row: (row.get("cluster", 0), row.get("reason") != "kept", row["id"]))


def names(folder: Path) -> list[str]:
    """Return the names in a folder, including hidden files."""
    return sorted(path.name for path in folder.iterdir())


def check_equal(engine: Path, local: Path) -> None:
    """Assert that both outputs have the same rows and counts."""
    for name in ("kept", "clusters", "pairs"):
        expected = rows(local, f"{name}.parquet")
        assert expected
        assert expected == rows(engine, name)
    ours, theirs = (json.loads((out / "summary.json").read_text()) for out in (local, engine))
    assert {key: ours[key] for key in SUMMARY} == {key: theirs[key] for key in SUMMARY}


@pytest.mark.parametrize(
    "options",
    [
        ("--family", "minhash"),
        ("--family", "simhash", "--threshold", "0.7", "--keep", "max:score,last", "--source-column", "src"),
        ("--family", "minhash", "--cluster", "components", "--empty", "drop"),
    ],
    ids=" ".join,
)
def test_the_answer_is_that_of_one_machine(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The output equals that of a local run: kept rows with all columns, clusters, pairs and counts."""
    corpus = tmp_path / "in.parquet"
    pq.write_table(table(), corpus)
    done = on_sail(corpus, "--out", tmp_path / "sail", *options)
    assert (0, "") == (done.code, done.out), done.err
    local = call("dedup", corpus, "--out", tmp_path / "local", "--id-column", "id", *options)
    check_equal(tmp_path / "sail", tmp_path / "local")
    reported, expected = ([" ".join(line.split()) for line in err.splitlines()] for err in (done.err, local.err))
    assert [line for line in expected if "removed (" in line] == [line for line in reported if "removed (" in line]
    assert any(line.endswith(f"kept in {tmp_path / 'sail' / 'kept'}") for line in reported)
    assert ["in.parquet", "local", "sail"] == names(tmp_path)


def test_older_tables_and_all_links(tmp_path: Path) -> None:
    """--against may be repeated; `--links all` has the columns left and right."""
    pq.write_table(table(), tmp_path / "new.parquet")
    pq.write_table(table(60, 0, 1000), tmp_path / "old.parquet")
    pq.write_table(table(60, 1, 2000), tmp_path / "older.parquet")
    options = ["--against", tmp_path / "old.parquet", "--against", tmp_path / "older.parquet", "--family", "minhash"]
    assert 0 == on_sail(tmp_path / "new.parquet", "-o", tmp_path / "sail", *options, "--links", "all").code
    local = ["--id-column", "id", *options, "--links", "all"]
    assert 0 == call("dedup", tmp_path / "new.parquet", "-o", tmp_path / "local", *local).code
    assert rows(tmp_path / "local", "kept.parquet") == rows(tmp_path / "sail", "kept")
    assert rows(tmp_path / "local", "clusters.parquet") == rows(tmp_path / "sail", "clusters")
    assert ["left", "right", "distance", "similarity"] == pq.read_table(tmp_path / "sail" / "pairs").column_names


def test_an_estimate_is_that_of_the_documents_and_runs_nothing(tmp_path: Path) -> None:
    """For their number and mean size, and the bands of the options; reference documents count."""
    pq.write_table(table(), corpus := tmp_path / "in.parquet")
    sizes = [len(text.encode()) for text in table()["text"].to_pylist()]
    n, mean = len(sizes), round(sum(sizes) / len(sizes))
    done = on_sail(corpus, "--out", tmp_path / "out", "--explain")
    assert (0, f"{explain(n, mean)}\n") == (done.code, done.out), done.err
    done = on_sail(corpus, "-o", tmp_path / "out", "--against", corpus, "--bands", "16x8", "--explain", "--json")
    expected = explain(2 * n, mean, bands=(16, 8))
    assert json.loads(json.dumps(expected.summary())) == done.json()
    assert (16 * 2 * n, expected.cpu_seconds) == (done.json()["stages"][2]["rows"], done.json()["cpu_seconds"])
    assert ["in.parquet"] == names(tmp_path)
    for option, value in [("--id-column", "zz"), ("--source-column", "zz"), ("--keep", "max:zz")]:
        done = call("dedup", corpus, "--out", tmp_path / "out", "--engine", "sail", "--explain", option, value)
        assert (2, True) == (done.code, f"{option} 'zz' is not allowed; use a column of the input" in done.err)
    pq.write_table(table().slice(0, 0), corpus)
    done = on_sail(corpus, "--out", tmp_path / "out", "--explain")
    assert (1, True) == (done.code, "no documents" in done.err)


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst", "jsonl.bz2"])
def test_rows_of_text_files(tmp_path: Path, ending: str) -> None:
    """JSON lines are read, compressed or not."""
    name = f"in.{ending}"
    assert {"id": "007", "text": 'a "quoted", text\nof two lines'} == text_file(tmp_path, name)[0]
    done = on_sail(tmp_path / name, "--out", tmp_path / "out", "--json")
    assert 0 == done.code, done.err
    kept = rows(tmp_path / "out", "kept")
    assert text_file(tmp_path, name)[:2] == [{key: row[key] for key in ("id", "text")} for row in kept]
    assert (3, 2, ending.split(".")[0], "sail") == tuple(
        done.json()[key] for key in ("documents", "kept", "format", "engine")
    )
    assert done.json() == json.loads((tmp_path / "out" / "summary.json").read_text())


def text_file(folder: Path, name: str) -> list[dict[str, str]]:
    """Write a file of three rows, the last of them a copy of the first, and return the rows."""
    texts = ['a "quoted", text\nof two lines', "something else entirely", 'a "quoted", text\nof two lines']
    made = [{"id": f"{7 + at:03}", "text": text} for at, text in enumerate(texts)]
    content = "".join(json.dumps(row) + "\n" for row in made)
    kind = {"gz": "gzip", "zst": "zstd", "bz2": "bz2"}.get(name.rpartition(".")[2])
    with pa.output_stream(str(folder / name), compression=kind) as file:
        file.write(content.encode())
    return made


@pytest.mark.parametrize("name", ["flat", "nested", "parted", "*/*.parquet", "mixed/*.parquet"])
def test_folders_and_globs(tmp_path: Path, name: str) -> None:
    """Folders and globs have the same meaning as in other commands; `column=value` folders give a column."""
    paths = ["flat/a.parquet", "flat/_SUCCESS", "nested/b.parquet", "nested/deep/c.parquet", "parted/day=1/d.parquet"]
    paths += ["mixed/e.parquet", "mixed/notes.md"]
    for number, path in enumerate(paths):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = f"{number} {'x' * number} a text of {number * 37} words"
        pq.write_table(pa.table({"id": [number], "text": [text]}), file) if path.endswith("parquet") else file.touch()
    expected = {"flat": [0], "nested": [2, 3], "parted": [4], "*/*.parquet": [0, 2, 5], "mixed/*.parquet": [5]}[name]
    done = on_sail(tmp_path / name, "--out", tmp_path / "out")
    assert 0 == done.code, done.err
    kept = rows(tmp_path / "out", "kept")
    assert expected == [row["id"] for row in kept]
    assert (name == "parted") == ("day" in kept[0])


def test_output_of_an_engine_is_input_of_a_local_run(tmp_path: Path) -> None:
    """Marker files of an engine are not read as tables."""
    pq.write_table(table(), tmp_path / "in.parquet")
    assert 0 == on_sail(tmp_path / "in.parquet", "--out", tmp_path / "out", "--family", "simhash").code
    (tmp_path / "out" / "kept" / "_SUCCESS").touch()
    done = call("dedup", tmp_path / "out" / "kept", "--out", tmp_path / "again", "--id-column", "id", "--json")
    assert (0, 0) == (done.code, done.json()["removed"]), done.err


def test_urls(tmp_path: Path) -> None:
    """The engine reads and writes URLs; the summary is written last; an existing output is an error."""
    pq.write_table(table(), tmp_path / "in.parquet")
    out = (tmp_path / "out").as_uri()
    done = on_sail((tmp_path / "in.parquet").as_uri(), "--out", out)
    assert (0, True) == (done.code, f"kept in {out}/kept" in done.err), done.err
    result = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert result["kept"] == len(rows(tmp_path / "out", "kept"))
    with mock.patch("nearkin.cli.distributed.open_session", side_effect=AssertionError):
        again = on_sail((tmp_path / "in.parquet").as_uri(), "--out", out)
    assert (2, True) == (again.code, "a folder that is empty or does not exist; it contains" in again.err)


@pytest.mark.parametrize("url", [False, True])
def test_tables_without_rows_are_there(tmp_path: Path, url: bool) -> None:
    """Empty tables are written with their columns."""
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text", "b": "something else entirely"})
    done = on_sail(path, "--out", (tmp_path / "out").as_uri() if url else tmp_path / "out")
    assert 0 == done.code, done.err
    pairs = pq.read_table(tmp_path / "out" / "pairs")
    assert (0, ["id", "representative", "distance", "similarity"]) == (pairs.num_rows, pairs.column_names)
    assert 0 == pq.read_table(tmp_path / "out" / "clusters").num_rows


def test_a_checkpoint_stays_and_serves_the_next_run(tmp_path: Path) -> None:
    """A second run reuses the stages of a checkpoint; other options are an error."""
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text", "b": "one text", "c": "something else entirely"})
    point = tmp_path / "point"
    first = on_sail(path, "--out", tmp_path / "first", "--checkpoint", point, "--json")
    assert (0, True) == (first.code, "documents" in first.json()["timings"]), first.err
    # All of the run is in a stage.
    assert first.json()["timings"].keys() >= {"start", "write", "between stages"}
    second = on_sail(path, "--out", tmp_path / "second", "--checkpoint", point, "--json")
    assert (0, False) == (second.code, "documents" in second.json()["timings"]), second.err
    assert rows(tmp_path / "first", "kept") == rows(tmp_path / "second", "kept")
    third = on_sail(path, "--out", tmp_path / "third", "--checkpoint", point, "--keep", "last")
    assert (2, True) == (third.code, "of another job" in third.err)
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "sial"], "--engine sial is not allowed; use spark or sail"),
        (["--master", "local[2]"], "--master local[2] is not allowed; use --engine spark with it"),
        (["--engine", "spark", "--master", "loca[2]"], "--master loca[2] is not allowed; use local[CORES]"),
        (["--engine", "sail", "--master", "local[2]"], "sail runs in this process"),
        (["--engine", "sail", "--remote", "sc://a:1"], "sail runs in this process"),
        (["--engine", "spark", "--master", "yarn", "--remote", "sc://a:1"], "use one of --master and --remote"),
        (["--remote", "http://a:1"], "--remote http://a:1 is not allowed; use sc://HOST:PORT"),
        (["--remote", "sc://a:1"], "no --checkpoint given; use --checkpoint FOLDER"),
        (["--engine", "spark", "--master", "spark://a:7077"], "; --master local[2] runs on this one, without it"),
        (["--engine", "spark", "--master", "spark://a:b"], "--master spark://a:b is not allowed; use local[CORES]"),
        (["--engine", "sail", "--store", "a.store"], "--store: not with an engine: --against takes the export"),
        (["--engine", "sail", "--labels", "a.tsv"], "--labels: not with an engine: run dedup on one machine"),
        (["--engine", "sail", "--unit", "line"], "--unit: not with an engine"),
        (["--engine", "sail", "--boilerplate", "drop"], "--boilerplate: not with an engine"),
        (["--engine", "sail", "--min-length", "3"], "--min-length: not with an engine"),
        (["--engine", "sail", "--threads", "2"], "--threads: not with an engine"),
        (["--engine", "sail", "--out-layout", "input"], "--out-layout: not with an engine"),
        (["--engine", "sail", "--column", "src"], "--column: not with an engine"),
        (["--engine", "sail", "--max-comparisons", "9"], "--max-comparisons: not with an engine, which leaves no"),
        (["--engine", "sail", "--max-malformed", "9"], "--max-malformed: not with an engine"),
        (["--engine", "sail", "--encoding", "latin-1"], "--encoding: not with an engine, which reads UTF-8"),
        (["--engine", "sail", "--html"], "--html: not with an engine"),
        (["--engine", "sail", "--skip-hubs", "9"], "--skip-hubs: not with an engine"),
        (["--engine", "sail", "--overwrite"], "--overwrite: not with an engine: give a new folder"),
        (["--engine", "sail", "--family", "ssdeep"], "--family ssdeep is not allowed"),
        (["--engine", "sail", "--family", "simhsah"], "--family 'simhsah' is not allowed"),
        (["--engine", "sail", "--out", "-"], "--out - is not allowed; use a new folder, or a URL"),
        (["--engine", "sail", "--out", "a[1]"], "which an engine takes for a pattern"),
        (["--engine", "sail", "--checkpoint", "a*"], "which an engine takes for a pattern"),
        (["--engine", "sail", "--format", "warc"], "--format warc is not allowed; use one of parquet, jsonl"),
        (["--engine", "sail", "--delimiter", ";"], "--delimiter: not with an engine, which reads parquet and jsonl"),
        (["--engine", "sail", "--keep", "max:"], "--keep 'max:' is not allowed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_failures_come_before_the_engine(tmp_path: Path, options: list[str], said: str) -> None:
    """Usage errors name the option and the allowed values before the engine starts."""
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text"})
    out = [] if "--out" in options else ["--out", tmp_path / "out"]
    with mock.patch("nearkin.cli.distributed.open_session", side_effect=AssertionError):
        done = call("dedup", path, *out, "--id-column", "id", *options)
    assert (2, "") == (done.code, done.out), done.err
    assert said in done.message
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--id-column", "key"], 2, "--id-column 'key' is not allowed; use a column of the input: id, n, text"),
        (["--id-column", "id", "--text-column", "body"], 2, "--text-column 'body' is not allowed; use a column of"),
        (["--id-column", "id", "--text-column", "n"], 2, "--text-column the column 'n' of bigint is not allowed"),
        (["--id-column", "id", "--source-column", "s"], 2, "--source-column 's' is not allowed; use a column of"),
        (["--id-column", "id", "--keep", "max:s"], 2, "--keep 's' is not allowed; use a column of"),
        (["--id-column", "id", "--measure", "containment"], 2, "--measure 'containment' is not allowed; use jaccard"),
        (["--id-column", "n"], 1, "column 'n' has the id 5 in 2 rows; ids must differ"),
        (
            ["--id-column", "id", "--against", "other.jsonl"],
            2,
            "--against 'id' is not allowed; use a column of the input: key, text",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_columns_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, said: str
) -> None:
    """A missing column is an error that names the option; nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"id": "a", "n": 5, "text": "one"}\n{"id": "b", "n": 5, "text": "two"}\n')
    Path("other.jsonl").write_text('{"key": "a", "text": "one"}\n')
    done = call("dedup", "in.jsonl", "--out", "out", "--engine", "sail", *options)
    assert (code, True) == (done.code, said in done.message), done.err
    assert ["in.jsonl", "other.jsonl"] == names(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "in.jsonl",
            '{"id": 1, "text": "a"}\n{"id": 2, "text":\n',
            "the engine ended the job: Json error: Not valid JSON",
        ),
        ("in.txt", "a text", "is txt; an engine reads parquet, and jsonl"),
        ("in.jsonl.xz", "", "is compressed as xz; an engine reads parquet"),
        ("in.data", "", "unknown file extension"),
        ("in[1].jsonl", '{"id": 1, "text": "a"}\n', "in its name, which an engine takes for a pattern"),
    ],
)
def test_inputs_that_no_engine_reads(tmp_path: Path, name: str, content: str, said: str) -> None:
    """An unreadable record ends the job; an unsupported format is an error."""
    (tmp_path / name).write_text(content)
    done = on_sail(tmp_path / name, "--out", tmp_path / "out")
    assert (1, True) == (done.code, said in done.message), done.err
    assert [name] == names(tmp_path)


def test_inputs_that_do_not_go_together(tmp_path: Path) -> None:
    """Missing files and different formats are errors, which Sail would ignore."""
    pq.write_table(table(), tmp_path / "a.parquet")
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text"})
    out = ("--out", tmp_path / "out")
    assert "a run reads one format" in on_sail(path, tmp_path / "a.parquet", *out).message
    assert "give inputs of one format" in on_sail(path, (tmp_path / "a.parquet").as_uri(), *out).message
    assert "no such file or folder" in on_sail(tmp_path / "none.jsonl", *out).message
    url = (tmp_path / "none.jsonl").as_uri()
    assert f"{url}: no such file or folder for the engine" in on_sail(path, url, *out).message
    assert "standard input" not in (done := on_sail("-", *out)).message
    assert (2, True) == (done.code, "inputs - is not allowed; use files, folders or URLs" in done.message)
    assert not (tmp_path / "out").exists()


def test_a_store_and_an_index_are_no_tables(tmp_path: Path) -> None:
    """--against refuses a store and an index, but takes the export of a store."""
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text"})
    nk.Store.create(tmp_path / "a.store").close()
    done = on_sail(path, "--out", tmp_path / "out", "--against", tmp_path / "a.store")
    assert (2, True) == (done.code, "use tables with an engine" in done.message), done.err


@pytest.mark.parametrize(
    ("option", "url", "mend"),
    [
        ("--remote", "sc://127.0.0.1:1/;token=secret", "name another by --remote"),
        ("--master", "spark://127.0.0.1:1,127.0.0.1:99999", "run on this machine by --master local[2]"),
    ],
)
def test_a_server_that_is_not_there(option: str, url: str, mend: str, tmp_path: Path) -> None:
    """An unreachable server is an error before anything is written, and says what runs without one."""
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text"})
    options = ["--id-column", "id", "--engine", "spark", option, url, "--checkpoint", tmp_path / "point"]
    done = call("dedup", path, "--out", tmp_path / "out", *options)
    shown = url.partition("/;")[0]
    assert (1, True) == (done.code, f"no engine answers at {shown} (" in done.message), done.err
    assert done.message.endswith(f"; start its server, or {mend}")
    assert "secret" not in done.err
    assert [path] == list(tmp_path.iterdir())


def test_a_server_that_is_there(tmp_path: Path) -> None:
    """The workers of a server read the folders of the test; names of inputs are passed unchanged."""
    from pysail.spark import SparkConnectServer

    pq.write_table(table(), tmp_path / "in.parquet")
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    try:
        host, port = server.listening_address
        options = ["--id-column", "id", "--remote", f"sc://{host}:{port}", "--checkpoint", tmp_path / "point"]
        done = call("dedup", tmp_path / "in.parquet", "--out", tmp_path / "out", *options)
    finally:
        server.stop()
    assert 0 == done.code, done.err
    local = ["--id-column", "id", "--family", "minhash"]
    assert 0 == call("dedup", tmp_path / "in.parquet", "--out", tmp_path / "local", *local).code
    check_equal(tmp_path / "out", tmp_path / "local")


@pytest.mark.parametrize(
    ("package", "options", "said"),
    [
        ("pysail.spark", ["--engine", "sail"], "needs pysail, which is not installed; run `pip install '.[sail]'`"),
        ("pyspark.sql", ["--engine", "sail"], "needs pyspark, which is not installed; run `pip install '.[sail]'`"),
        ("pyspark.sql", ["--engine", "spark"], "needs pyspark, which is not installed; run `pip install '.[spark]'`"),
    ],
)
def test_what_is_not_installed_is_named(tmp_path: Path, package: str, options: list[str], said: str) -> None:
    """The message has the line that installs a missing package."""
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text"})
    with mock.patch.dict(sys.modules, {package: None}):
        done = call("dedup", path, "--out", tmp_path / "out", "--id-column", "id", *options)
    assert (1, True) == (done.code, said in done.message), done.err


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, "java is not installed; --engine spark needs Java 17 or newer: install it, or use --engine sail"),
        ('openjdk version "11.0.2"', "is Java 11; --engine spark needs 17 or newer: install it, or use --engine sail"),
        ('java version "1.8.0_292"', "is Java 8; --engine spark needs 17 or newer"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script")
def test_spark_without_its_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, said: str
) -> None:
    """The message suggests the engine that does not need Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    if version is not None:
        program = tmp_path / "bin" / "java"
        program.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
        program.chmod(0o755)
    path = write_jsonl(tmp_path / "in.jsonl", {"a": "one text"})
    check_message(1, said, "dedup", path, "--out", tmp_path / "out", "--id-column", "id", "--engine", "spark")


def test_engines_as_they_are_named() -> None:
    """The default master is all cores of this machine; a server has a default port."""
    assert Engine("spark", "local[*]") == parse_engine("spark", None, None)
    assert parse_engine(None, None, None) is None
    server = parse_engine(None, None, "sc://host")
    assert server is not None
    assert not server.is_local
    assert ("host", 15002) == parse_address("sc://host")
    assert ("host", 7) == parse_address("sc://host:7/;use_ssl=true")
    for master, local in {"local": True, "local[2,3]": True, "local-cluster[2,1,1024]": True, "yarn": False}.items():
        engine = parse_engine("spark", master, None)
        assert engine is not None
        assert local == engine.is_local
    with pytest.raises(ParameterError, match="sc://HOST:PORT"):
        parse_address("sc://host:port")


@pytest.mark.skipif(sys.platform == "win32", reason="the signal of Ctrl-C is sent")
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    """An interrupt during a run on Sail leaves no files."""
    pq.write_table(
        pa.table({"id": range(50_000), "text": [f"text {n} of many" for n in range(50_000)]}), tmp_path / "a.pq"
    )
    words = ["-m", "nearkin", "dedup", "a.pq", "--out", "out", "--id-column", "id", "--engine", "sail"]
    child = subprocess.Popen([sys.executable, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        while child.poll() is None and not list(tmp_path.glob("nearkin-checkpoint-*/stages")):
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
    finally:
        child.kill()
        child.wait()
    assert (130, b"", b"nearkin: interrupted\n") == (child.returncode, out, err)
    assert ["a.pq"] == names(tmp_path)


def test_a_session_whose_server_is_gone_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a session does not block if its server has ended."""
    monkeypatch.setattr("nearkin.cli.engine._STOP_SECONDS", 0.05)
    ends: list[Any] = []
    monkeypatch.setattr("atexit.unregister", ends.append)
    never = threading.Event()
    client = SimpleNamespace(_on_exit=lambda: None)
    session = SimpleNamespace(client=client, stop=never.wait, release_session_on_close=True)
    _stop(session, notify=False)
    assert [client._on_exit] == ends
    assert not session.release_session_on_close
    assert "nearkin-stop" in [thread.name for thread in threading.enumerate()]
    never.set()


def test_a_swallowed_interrupt_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error after a suppressed interrupt is raised as KeyboardInterrupt."""
    monkeypatch.setattr("nearkin.cli.engine._sail", contextlib.nullcontext)

    def job(*, interrupted: bool) -> None:
        with open_session(Engine("sail")):
            with contextlib.suppress(KeyboardInterrupt):
                if interrupted:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(10)
            raise ConnectionError("the server has gone")

    with pytest.raises(KeyboardInterrupt):
        job(interrupted=True)
    with pytest.raises(ConnectionError):
        job(interrupted=False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_server_that_goes_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a server is reported within seconds, not after ten minutes of retries."""
    from pysail import spark

    servers: list[Any] = []
    stopped: list[float] = []

    class Kept(spark.SparkConnectServer):  # type: ignore[misc]
        def __init__(self, *address: Any) -> None:
            super().__init__(*address)
            servers.append(self)

        def stop(self) -> None:
            if servers:
                servers.pop()
                super().stop()

    def job() -> None:
        with open_session(Engine("sail")) as session, convert_engine_errors():
            assert 3 == session.range(3).count()
            servers[0].stop()
            stopped.append(time.monotonic())
            session.range(3).count()

    monkeypatch.setattr(spark, "SparkConnectServer", Kept)
    with pytest.raises(EngineError, match="the engine ended the job"):
        job()
    assert 120 > time.monotonic() - stopped[0]


@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_spark_on_this_machine(tmp_path: Path) -> None:
    """Spark gives the same result, and its log is not printed."""
    pq.write_table(table(), tmp_path / "in.parquet")
    options = ["--id-column", "id", "--engine", "spark", "--master", "local[2]"]
    done = run("dedup", tmp_path / "in.parquet", "--out", "spark", *options, cwd=tmp_path)
    assert (0, b"") == (done.returncode, done.stdout), done.stderr.decode()
    local = ["--id-column", "id", "--family", "minhash"]
    assert 0 == call("dedup", tmp_path / "in.parquet", "--out", tmp_path / "local", *local).code
    check_equal(tmp_path / "spark", tmp_path / "local")
    reported = [line for line in done.stderr.decode().splitlines() if "incubator" not in line]
    assert reported[0].split()[0] == "120"
    assert [] == [line for line in reported if "WARN" in line or "Spark" in line or "log4j" in line]
    assert ["in.parquet", "local", "spark"] == names(tmp_path)
