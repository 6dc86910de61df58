"""On every shared corpus of texts an engine gives the result of one machine."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest
from engines import MINHASH, SIMHASH, DocumentSet, Engine

CORPORA = [
    "en_20news",
    "en_bible_ot",
    "en_licences",
    "en_plagiarised_answers",
    "er_abt_buy",
    "er_amazon_google",
    "er_cora",
    "er_dblp_acm",
    "log_loghub",
    "url_httpparams_train",
    "url_wikipedia_10k",
    "zh_laws",
    "zh_news_sogou",
    "zh_reviews",
    "zh_song_poems",
    "zh_tang_two_editions",
]
MOST, CHARACTERS = 2000, 2_000_000
"""Texts of a corpus, and what they have together, in the tests that always run."""
NEAR = {"en_licences": 100, "er_cora": 500, "zh_laws": 20}
"""Corpora, with the least number of texts that are copies or nearly so."""
KINDS = ("en_20news", "log_loghub", "url_wikipedia_10k", "zh_song_poems")
"""Corpora of other kinds: with NEAR, the sample that always runs."""


def read_texts(shared: Path, name: str) -> list[str]:
    """Return the texts of a corpus, in order."""
    lines = shared / "data" / f"{name}.jsonl.gz"
    if lines.is_file():
        with gzip.open(lines, "rt", encoding="utf-8") as rows:
            return [json.loads(row)["text"] for row in rows]
    with gzip.open(shared / "data" / f"{name}.txt.gz", "rt", encoding="utf-8") as rows:
        return [row.rstrip("\n") for row in rows]


def test_no_corpus_is_left_out(shared: Path) -> None:
    """Every corpus whose records are texts is tested."""
    actual = set()
    for path in (shared / "data").glob("*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as rows:
            if all("text" in json.loads(row) for row in islice(rows, 3)):
                actual.add(path.name.removesuffix(".jsonl.gz"))
    assert actual <= set(CORPORA)


@pytest.mark.parametrize(
    ("name", "recipe"), [*((name, MINHASH) for name in (*NEAR, *KINDS)), *((name, SIMHASH) for name in NEAR)]
)
def test_the_beginning_of_corpora(engine: Engine, shared: Path, name: str, recipe: str) -> None:
    texts, characters = read_texts(shared, name)[:MOST], 0
    for count, text in enumerate(texts):
        characters += len(text)
        if characters > CHARACTERS:
            texts = texts[:count]
            break
    result = engine.check_equal(DocumentSet.of(texts), recipe=recipe, parts=3)
    assert len(texts) == result["documents"] >= 100
    assert NEAR.get(name, 0) <= result["removed"]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [MINHASH, SIMHASH], ids=["minhash", "simhash"])
@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus(engine: Engine, shared: Path, name: str, recipe: str) -> None:
    texts = read_texts(shared, name)
    result = engine.check_equal(DocumentSet.of(texts), recipe=recipe, parts=8)
    assert len(texts) == result["documents"]
