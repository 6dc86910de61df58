"""The preset `jieba-jenkins` with the table and stop words of cppjieba, compared with its keyword extractor."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import nearkin as nk
import reference
from nearkin.explain.texts import SimHashSteps

cppjieba = pytest.importorskip("cppjieba_py_dat", reason="cppjieba has wheels for few systems")

TABLES = Path(cppjieba.__file__).parent / "dict"
RECIPE = nk.Recipe.preset("jieba-jenkins")


@pytest.fixture(scope="module")
def extractor(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Build the extractor of cppjieba with its own tables."""
    names = ("jieba.dict.utf8", "hmm_model.utf8", "", "idf.utf8", "stop_words.utf8")
    paths = [str(TABLES / name) if name else "" for name in names]
    return cppjieba.bindings.Jieba(*paths, str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def recipe() -> nk.Recipe:
    """Build the preset with these tables."""
    stop_words = (TABLES / "stop_words.utf8").read_text(encoding="utf-8").split("\n")
    with_stop = RECIPE.with_(stop_words=[word for word in stop_words if word])
    return with_stop.with_(idf=nk.Idf.read(TABLES / "idf.utf8", with_stop, unknown="mean"))


@pytest.fixture(scope="module")
def texts(shared: Path) -> list[str]:
    """Return news and reviews."""
    result: list[str] = []
    for name in ("zh_news_sogou", "zh_reviews"):
        with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            result += [json.loads(line)["text"] for line, _ in zip(lines, range(400), strict=False)]
    return result


def tokens(text: str) -> list[str]:
    """Return all tokens of a text, including white space and punctuation."""
    return [word for word, _ in RECIPE.core.reading(text)[1]]


@pytest.mark.shared
def test_tokens_are_the_librarys(extractor: Any, texts: list[str]) -> None:
    """News and reviews with numbers, Latin letters, names and punctuation."""
    assert [extractor.cut(text, True) for text in texts] == [tokens(text) for text in texts]


@given(
    st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=20)
    | st.text(
        st.sampled_from(
            "的一是了我不人在他有這个上们来到时大地为子中你说生麤鱻龘 \t\r\n，。、“”∶…Aa9.%-股座盘吉林张力华"
        ),
        max_size=40,
    )
    | st.lists(
        st.sampled_from(["张力", "张华", "吉林", "A股", "T恤", "C++", "4S店", "江南", "3.14", "v2", "石墨烯", "、"]),
        max_size=12,
    ).map("".join)
)
@example("∶中国∶")
@example("王小明、在吉林买了A股。\r\n")
def test_tokens_of_any_text_are_the_librarys(extractor: Any, text: str) -> None:
    """Unknown characters, separators, and words that only one dictionary has."""
    assert extractor.cut(text, True) == tokens(text)


@pytest.mark.shared
@pytest.mark.parametrize("top", [1, 5, 20, 100])
def test_keywords_are_the_librarys(extractor: Any, recipe: nk.Recipe, texts: list[str], top: int) -> None:
    """The same words in the same order, with weights equal to the last bit."""
    expected = [extractor.extract_keywords(text, top) for text in texts]
    assert sum(map(len, expected)) > 700
    assert expected == nk.keywords(texts, recipe, top=str(top))


@pytest.mark.shared
@pytest.mark.parametrize("top", [5, 20])
def test_fingerprints_are_the_librarys(extractor: Any, recipe: nk.Recipe, texts: list[str], top: int) -> None:
    """The signs of the sums of keyword weights, in the order of yanyiwu/simhash."""
    expected = []
    for text in texts:
        weighted = extractor.extract_keywords(text, top)
        hashes = [reference.hash_word("jenkins64", word.encode()) for word, _ in weighted]
        sums = [0.0] * 64
        for value, (_, weight) in zip(hashes, weighted, strict=True):
            sums = [total + (weight if value >> bit & 1 else -weight) for bit, total in enumerate(sums)]
        expected.append(sum(1 << bit for bit, total in enumerate(sums) if total > 0))
    recipe = recipe.with_(top=str(top))
    assert expected == nk.fingerprint(texts, recipe).tolist()
    for text, fingerprint in zip(texts[420:440], expected[420:440], strict=True):
        steps = nk.explain(text, recipe)
        assert isinstance(steps, SimHashSteps)
        assert fingerprint == reference.signs(steps.sums.tolist())
