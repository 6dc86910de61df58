"""The preset `jieba-jenkins` with cppjieba's own table and stop words, beside cppjieba's keyword extractor."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk

cppjieba = pytest.importorskip("cppjieba_py_dat", reason="cppjieba has wheels for few systems")

TABLES = Path(cppjieba.__file__).parent / "dict"
RECIPE = nk.Recipe.preset("jieba-jenkins")


@pytest.fixture(scope="module")
def extractor(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The extractor of cppjieba with the tables that it comes with."""
    names = ("jieba.dict.utf8", "hmm_model.utf8", "", "idf.utf8", "stop_words.utf8")
    paths = [str(TABLES / name) if name else "" for name in names]
    return cppjieba.bindings.Jieba(*paths, str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def recipe() -> nk.Recipe:
    """The preset with those tables."""
    stop_words = (TABLES / "stop_words.utf8").read_text(encoding="utf-8").split("\n")
    with_stop = RECIPE.with_(stop_words=[word for word in stop_words if word])
    return with_stop.with_(idf=nk.Idf.read(TABLES / "idf.utf8", with_stop, unknown="mean"))


@pytest.fixture(scope="module")
def texts(shared: Path) -> list[str]:
    """News and reviews."""
    found: list[str] = []
    for name in ("zh_news_sogou", "zh_reviews"):
        with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            found += [json.loads(line)["text"] for line, _ in zip(lines, range(400), strict=False)]
    return found


@pytest.mark.shared
@pytest.mark.parametrize(("top", "same"), [(5, 603), (20, 413)])
def test_how_often_the_keywords_of_any_text_are_the_librarys(
    extractor: Any, recipe: nk.Recipe, texts: list[str], top: int, same: int
) -> None:
    """As docs/recipe.md says: most differences are of how texts are cut, some of equal weights."""
    pairs = zip(texts, nk.keywords(texts, recipe, top=str(top)), strict=True)
    found = [
        {word for word, _ in words} == {word for word, _ in extractor.extract_keywords(text, top)}
        for text, words in pairs
    ]
    assert (800, same) == (len(texts), sum(found))


@pytest.mark.shared
@pytest.mark.parametrize("top", [5, 20])
def test_keywords_are_the_librarys_where_it_cuts_alike(
    extractor: Any, recipe: nk.Recipe, texts: list[str], top: int
) -> None:
    """The same weights, and the same words above the last one; equal weights are in no order that the library promises.

    cppjieba cuts some numbers, letters and unknown words otherwise than jieba does; such texts are left out.
    """
    alike = [text for text in texts if [word for word, _ in RECIPE.core.reading(text)[1]] == extractor.cut(text, True)]
    assert len(alike) > 200
    for text, found in zip(alike, nk.keywords(alike, recipe, top=str(top)), strict=True):
        theirs = extractor.extract_keywords(text, top)
        assert len(theirs) == len(found)
        # The library does not divide by the number of words.
        scale = theirs[0][1] / found[0][1] if found else 1.0
        weights = [weight for _, weight in theirs]
        assert weights == pytest.approx([scale * weight for _, weight in found], rel=1e-9)
        above = [{word for word, weight in words if weight > words[-1][1] * (1 + 1e-9)} for words in (theirs, found)]
        assert above[0] == above[1]
        assert all(one >= other for one, other in pairwise(weights))
