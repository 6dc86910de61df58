"""`nearkin keywords`, `nearkin idf fit`, recipes that name files, and the baselines of `nearkin compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nearkin as nk
from command import run
from nearkin.pipeline.verify import baselines

TEXTS = ["线程池和连接池都是资源池", "red wine and red cheese", "blue cheese and wine", "..."]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(TEXTS)))
    return path


def test_keywords_are_printed_a_line_each(corpus: Path) -> None:
    """Id, word and weight; the weights are those of the library."""
    done = run("keywords", corpus, "--id-column", "id", "--top", "2")
    assert done.returncode == 0, done.stderr
    expected = [
        f"d{i}\t{word}\t{weight:.6g}" for i, found in enumerate(nk.keywords(TEXTS, top=2)) for word, weight in found
    ]
    assert expected == done.stdout.decode().splitlines()


def test_keywords_as_json(corpus: Path) -> None:
    """An object per document, those without any word too."""
    done = run("keywords", corpus, "--id-column", "id", "--recipe", "word:1|count|top:1", "--json")
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [{"id": "d1", "keywords": [["red", 2.0]]}, {"id": "d3", "keywords": []}] == [lines[1], lines[3]]


def test_a_table_is_fitted_and_named_by_its_file(corpus: Path, tmp_path: Path) -> None:
    """`idf fit` writes what `Idf.fit` makes; `idf:@FILE` weighs by it, and refuses a recipe of other features."""
    table = tmp_path / "corpus.idf"
    done = run("idf", "fit", corpus, "--recipe", "word:1", "--min-df", "2", "--out", table, "--json")
    assert done.returncode == 0, done.stderr
    idf = nk.Idf.fit(TEXTS, "word:1", min_df=2)
    assert {"documents": 4, "features": len(idf), "digest": idf.digest, "out": str(table)} == json.loads(done.stdout)
    recipe = nk.Recipe(f"word:1|idf:{idf.digest}|top:1", idf=idf)
    shown = run("keywords", corpus, "--recipe", f"word:1|idf:@{table}|top:1", "--json").stdout.decode().splitlines()
    assert [[list(pair) for pair in found] for found in nk.keywords(TEXTS, recipe)] == [
        json.loads(line)["keywords"] for line in shown
    ]
    assert str(recipe) in run("recipe", f"word:1|idf:@{table}|top:1").stdout.decode()
    refused = run("recipe", f"word:2|idf:@{table}|top:1")
    assert (2, True) == (refused.returncode, b"recipe slot n of the IDF table differs" in refused.stderr)


def test_words_come_from_files(tmp_path: Path) -> None:
    """A dictionary and a list of stop words, beside a named list."""
    (tmp_path / "user.txt").write_text("云计算 5\n")
    (tmp_path / "stop.txt").write_text("方面\n专家\n")
    text = f"cut:jieba|user:@{tmp_path}/user.txt|stop:zh,@{tmp_path}/stop.txt|word:1|count|xxh3|simhash:64"
    expected = nk.Recipe(
        "cut:jieba|stop:zh|word:1|count|xxh3|simhash:64", user_words="云计算 5", stop_words=["方面", "专家"]
    )
    assert [str(expected), expected.digest, expected.to_json()] == run("recipe", text).stdout.decode().splitlines()


def test_files_that_are_missing_or_no_text_are_refused(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "latin.txt").write_bytes(b"\xe9t\xe9\n")
    for argument in (f"user:@{tmp_path}/none.txt|word:1", f"stop:@{tmp_path}/latin.txt|word:1"):
        done = run("recipe", argument)
        assert (1, True) == (done.returncode, str(tmp_path).encode() in done.stderr)


def test_compare_shows_the_baselines() -> None:
    """Levenshtein, Indel, 2- and 3-grams of characters."""
    done = run("compare", "--text", "how are u?", "how are you?", "--json")
    found = json.loads(done.stdout)
    expected = baselines("how are u?", "how are you?")
    assert expected == {name: found[name] for name in expected}
    shown = run("compare", "--text", "how are u?", "how are you?").stdout.decode()
    assert "levenshtein  0.8333" in shown
    assert "trigrams     0.6667" in shown


@pytest.mark.parametrize(
    ("a", "b", "expected"), [("", "", 1.0), ("", "a", 0.0), ("a", "a", 1.0), ("ab", "ba", 0.0), ("aaa", "aa", 2 / 3)]
)
def test_gram_similarity_of_short_texts(a: str, b: str, expected: float) -> None:
    """A text shorter than n is one gram, an empty one has none; two empty texts are equal."""
    assert expected == baselines(a, b)["bigrams"]
