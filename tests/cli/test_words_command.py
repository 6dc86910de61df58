"""Tests of `nearkin text keywords` and `nearkin recipe idf`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nearkin as nk
from command import call, check_message, succeed, write_jsonl

TEXTS = ["线程池和连接池都是资源池", "red wine and red cheese", "blue cheese and wine", "..."]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "words.jsonl", {f"d{i}": text for i, text in enumerate(TEXTS)})


def test_keywords_are_printed_a_line_each(words: Path) -> None:
    """Lines have id, word and weight of the library."""
    done = succeed("text", "keywords", words, "--id-column", "id", "--top", "2")
    expected = [
        f"d{i}\t{word}\t{weight:.6g}" for i, result in enumerate(nk.keywords(TEXTS, top=2)) for word, weight in result
    ]
    assert expected == done.lines


def test_keywords_as_json(words: Path) -> None:
    """There is an object per document, including documents without words."""
    lines = call("text", "keywords", words, "--id-column", "id", "--recipe", "word:1|count|top:1", "--json").objects()
    assert [{"id": "d1", "keywords": [["red", 2.0]]}, {"id": "d3", "keywords": []}] == [lines[1], lines[3]]


@pytest.mark.parametrize(("top", "count"), [("1", 1), ("50%", 2), ("all", 4)])
def test_top_says_how_many(words: Path, top: str, count: int) -> None:
    """--top takes a number, a share, or all."""
    lines = call("text", "keywords", words, "--recipe", "word:1|count", "--top", top, "--id-column", "none").lines
    assert count == sum(line.startswith("1\t") for line in lines)


def test_keywords_reads_columns_and_formats(tmp_path: Path) -> None:
    """Reading options apply; unreadable records are reported or are an error."""
    path = tmp_path / "data"
    path.write_text('{"key": "x", "body": "red wine red"}\n{\n')
    options = ("--format", "jsonl", "--text-column", "body", "--id-column", "key", "--recipe", "word:1|count|top:1")
    done = call("text", "keywords", path, "--max-malformed", "50%", *options, "--threads", "1")
    assert (0, ["x\tred\t2"]) == (done.code, done.lines)
    assert f"skipped: {path}, line 2" in done.err
    assert 1 == call("text", "keywords", path, *options, "--strict").code


def test_a_table_is_fitted_and_named_by_its_file(words: Path, tmp_path: Path) -> None:
    """`idf fit` writes the table of `Idf.fit`, and `idf:@FILE` uses it."""
    table = tmp_path / "corpus.idf"
    done = succeed("recipe", "idf", words, "--recipe", "word:1", "--min-df", "2", "--out", table, "--json")
    idf = nk.Idf.fit(TEXTS, "word:1", min_df=2)
    assert {"documents": 4, "features": len(idf), "digest": idf.digest, "out": str(table)} == done.json()
    recipe = nk.Recipe(f"word:1|idf:{idf.digest}|top:1", idf=idf)
    shown = call("text", "keywords", words, "--recipe", f"word:1|idf:@{table}|top:1", "--json").objects()
    assert [[list(pair) for pair in result] for result in nk.keywords(TEXTS, recipe)] == [
        row["keywords"] for row in shown
    ]
    assert str(recipe) == call("recipe", "show", f"word:1|idf:@{table}|top:1").lines[0]
    check_message(2, "recipe slot n of the IDF table differs", "recipe", "show", f"word:2|idf:@{table}|top:1")


def test_fit_says_what_it_counted(words: Path, tmp_path: Path) -> None:
    """`idf fit` prints one line, and takes the usual options."""
    table = tmp_path / "corpus.idf"
    done = call("recipe", "idf", words, "--recipe", "word:1", "-o", table, "--threads", "2", "--format", "jsonl")
    idf = nk.Idf.load(table)
    assert [f"{len(idf)} features of 4 documents in {table}; digest {idf.digest}"] == done.lines
    words.write_text(words.read_text() + "{\n")
    assert "line 5" in call("recipe", "idf", words, "-o", table).err
    assert 1 == call("recipe", "idf", words, "-o", tmp_path / "strict", "--strict").code
    assert not (tmp_path / "strict").exists()
    assert 1 == call("recipe", "idf", words, "-o", tmp_path / "no" / "folder").code
    done = call("recipe", "idf", words, "-o", tmp_path / "none", "--text-column", "missing")
    assert (1, False) == (done.code, (tmp_path / "none").exists())
    assert 2 == call("recipe", "idf", words, "-o", table, "--min-df", "0").code


def test_words_come_from_files(tmp_path: Path) -> None:
    """Dictionaries and stop words are read from files; a byte order mark is ignored."""
    (tmp_path / "user.txt").write_text("云计算 5\n", "utf-8")
    (tmp_path / "stop.txt").write_bytes("\ufeff方面\n专家\r\n".encode())
    text = f"cut:jieba|user:@{tmp_path}/user.txt|stop:zh,@{tmp_path}/stop.txt|word:1|count|xxh3|simhash:64"
    expected = nk.Recipe(
        "cut:jieba|stop:zh|word:1|count|xxh3|simhash:64", user_words="云计算 5", stop_words=["方面", "专家"]
    )
    assert [str(expected), expected.digest, expected.to_json()] == call("recipe", "show", text).lines
    alone = call("recipe", "show", f"stop:@{tmp_path}/stop.txt|word:1").lines[2]
    assert ["专家", "方面"] == sorted(json.loads(alone)["stop_words"])


def test_files_that_are_missing_or_no_text_are_refused(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "latin.txt").write_bytes(b"\xe9t\xe9\n")
    (tmp_path / "idf").write_bytes(b"no table")
    for argument in (
        f"user:@{tmp_path}/none.txt|word:1",
        f"stop:@{tmp_path}/latin.txt|word:1",
        f"word:1|idf:@{tmp_path}/idf",
    ):
        check_message(1, str(tmp_path), "recipe", "show", argument)
