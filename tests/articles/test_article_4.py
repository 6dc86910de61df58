"""Article 4, SimHash in Go with keywords and weights: each number that it states, and what the call returns.

Slips of the article, each with its test:

- `%064b` of a negative int64 prints a minus sign and the magnitude, so half of the hashes are not those of FNV-1a. The
  program prints the distance 9; with the bits as meant it is 12.
- The paper of 2007 about web pages is by Manku, Jain and Das Sarma; Charikar's of 2002 introduced the method.

The article's two texts stay out of the repository. The texts here contain the same keywords as often, which determines
the proportions of their weights.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk

# How often each keyword is in the article's texts, heaviest first.
# fmt: off
LONG = {
    "区块": 20, "共识": 25, "算法": 18, "激励机制": 5, "研究": 9, "DAG": 3, "矿工": 4, "优化": 5, "账本": 3, "交易": 6,
    "结构": 6, "代币": 2, "适配": 2, "角度": 4, "机制": 4, "矿池": 2, "HashGraph": 2, "本文": 3, "激励": 3, "博弈": 3,
    "数据结构": 2, "粒度": 2,
}
SHORT = {
    "区块": 10, "共识": 10, "DAG": 3, "算法": 4, "数据结构": 3, "结构": 6, "拓扑": 3, "HashGraph": 2, "粒度": 2,
    "交易": 4, "技术": 4,
}
# fmt: on
RECIPE = nk.Recipe.preset("go-fnv1a")


def write(counts: dict[str, int]) -> str:
    return " ".join(word for word, count in counts.items() for _ in range(count))


def keywords(counts: dict[str, int]) -> dict[str, float]:
    """Return what the program extracts: as many keywords as the text has, with their weights."""
    return dict(nk.keywords([write(counts)], RECIPE, top=len(counts))[0])


def test_eight_bits() -> None:
    hashes = {"上海": "01011001", "北京": "11001011"}
    steps = nk.explain({"上海": 45.11, "北京": 32.09}, hashes=hashes)
    a, b = 45.11, 32.09
    assert [[-a, a, -a, a, a, -a, -a, a], [b, b, -b, -b, b, -b, b, b]] == steps.rows.tolist()
    assert [-13.02, 77.20, -77.20, 13.02, 77.20, -77.20, -13.02, 77.20] == pytest.approx(steps.sums.tolist())
    assert "sums -13.02 77.2 -77.2 13.02 77.2 -77.2 -13.02 77.2" in " ".join(str(steps).split())
    assert "01011001" == steps.bits


def test_the_distance_of_two_fingerprints() -> None:
    assert 2 == nk.hamming(0b00101110, 0b00001111)


def test_keywords_and_their_order() -> None:
    assert (22, 11) == (len(LONG), len(SHORT))
    assert (list(LONG), list(SHORT)) == (list(keywords(LONG)), list(keywords(SHORT)))


def test_weights_are_jiebas() -> None:
    """The keywords and weights of the original of gojieba's method, in Python."""
    analyse: Any = pytest.importorskip("jieba.analyse")
    for counts in (LONG, SHORT):
        expected = analyse.extract_tags(write(counts), topK=len(counts), withWeight=True)
        assert dict(expected) == keywords(counts)


def test_keywords_of_the_library_below_gojieba(tmp_path: Path) -> None:
    """With the table of cppjieba, which gojieba calls, keywords, weights and both distances are the same."""
    cppjieba: Any = pytest.importorskip("cppjieba_py_dat", reason="cppjieba has wheels for few systems")
    tables = Path(cppjieba.__file__).parent / "dict"
    names = ("jieba.dict.utf8", "hmm_model.utf8", "", "idf.utf8", "stop_words.utf8")
    paths = [str(tables / name) if name else "" for name in names]
    extractor = cppjieba.bindings.Jieba(*paths, str(tmp_path))
    stop_words = [word for word in (tables / "stop_words.utf8").read_text(encoding="utf-8").split("\n") if word]
    recipe = nk.Recipe.preset("jieba-jenkins").with_(stop_words=stop_words)
    recipe = recipe.with_(idf=nk.Idf.read(tables / "idf.utf8", recipe, unknown="mean"))
    weights = []
    for counts in (LONG, SHORT):
        expected = extractor.extract_keywords(write(counts), len(counts))
        assert expected == nk.keywords([write(counts)], recipe, top=len(counts))[0]
        weights.append(dict(expected))
        assert set(counts) == set(weights[-1])
    for hashes, distance in (("fnv1a", 12), ("fnv1a:int64", 9)):
        assert distance == nk.explain(weights[0], hashes=hashes, other=weights[1]).distance


def test_the_program_as_meant() -> None:
    comparison = nk.explain(keywords(LONG), hashes="fnv1a", other=keywords(SHORT))
    assert 12 == comparison.distance
    assert "1011010000101110010001111000111100100000111100011001001111110101" == comparison.a.bits
    assert "1010101010101110010101110000111111000000111100011011001110110101" == comparison.b.bits
    # The preset is this program for texts.
    values = [int(nk.fingerprint([write(x)], RECIPE.with_(top=str(len(x))))[0]) for x in (LONG, SHORT)]
    assert values == [comparison.a.fingerprint, comparison.b.fingerprint]


def test_the_program_as_it_runs() -> None:
    comparison = nk.explain(keywords(LONG), hashes="fnv1a:int64", other=keywords(SHORT))
    assert 9 == comparison.distance
    assert "1000111010111101110001101110001101101110011011010111110101101101" == comparison.a.bits
    assert "1000111010111100010001001110101101101110011011010010111111001101" == comparison.b.bits
    # A value from 2^63 on: the minus sign is not "0" and so counts as 1, and the digits are those of the magnitude.
    negative = [text for text in comparison.a.hashes if text.startswith("-")]
    assert 0 < len(negative) < 22
    assert {64} == {len(text) for text in comparison.a.hashes}


@pytest.mark.shared
def test_the_texts_of_the_article(shared: Path) -> None:
    """The texts themselves: their keywords, and both distances."""
    page = (shared / "articles" / "article_4.txt").read_text(encoding="utf-8")
    texts = [re.findall(f'{name} := "(.*?)"\n', page, re.DOTALL)[0] for name in ("srcStr", "dstStr")]
    weights = []
    for text, counts in zip(texts, (LONG, SHORT), strict=True):
        weights.append(dict(nk.keywords([text], RECIPE, top=len(counts))[0]))
        assert counts == {word: RECIPE.features_of(text)[word] for word in weights[-1]}
    for hashes, distance in (("fnv1a", 12), ("fnv1a:int64", 9)):
        assert distance == nk.explain(weights[0], hashes=hashes, other=weights[1]).distance
