"""The pages of the articles, docs/articles: every number of an article is on its pages, in each language.

`NUMBERS` lists what an article states, including what it states wrongly, in the order of the article.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {1: ("en", "zh"), 2: ("en", "zh"), 3: ("en", "ja"), 4: ("en", "zh")}
# fmt: off
NUMBERS = {
    1: [
        "2007", "12", "51区", "9架", "6", "32", "64",
        "美国          5  100101  5 -5 -5 5 -5 5", "51区          2  101011  2 -2 2 -2 2 2",
        "飞碟          3  100111  3 -3 -3 3 3 3", "灰色          1  101111  1 -1 1 1 1 1",
        "外星人        4  111011  4 4 4 -4 4 4", "15 -7 -1 3 5 15", "100111", "1 0 0 1 115 1", "115",
        "3", "128", "160", "4", "16", "0", "1", "3.1", "3.2", "3.3",
    ],
    2: [
        "100101", "101100", "3", "(1, 2, 0, 3, 0)", "101", "011", "100", "001", "110",
        "[1, -1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, 1], [1, 1, -1]",
        "[1, -1, 1, -1, 1]", "[-1, 1, -1, -1, -1]", "[1, 1, -1, 1, 1]", "−4", "−2", "6", "'001'", "2^3",
        "20 byte", "30 byte", "2^26", "64", "C(64, 3)", "4", "2^16", "4 · 2^10", "4,096",
    ],
    3: ["64", "10", "01", "11", "D = 3", "f = 2", "(3.0, 2.0, 4.0)", "7.0", "3.0",
        "(1.0, −1.0, 1.0)", "(−1.0, 1.0, 1.0)", "[1]", "[2]"],
    4: [
        "64", "3", "8", "01011001", "11001011", "45.11", "32.09",
        "-45.11 45.11 -45.11 45.11 45.11 -45.11 -45.11 45.11", "32.09 32.09 -32.09 -32.09 32.09 -32.09 32.09 32.09",
        "−13.02", "77.20", "−77.20", "13.02", "00101110", "00001111", "2", "22", "11", "32", "%064b",
    ],
}
# fmt: on


def read(article: int, language: str) -> str:
    suffix = "" if language == "en" else f".{language}"
    return (DOCS / "articles" / f"article-{article}{suffix}.md").read_text(encoding="utf-8")


def contains(page: str, number: str) -> bool:
    """Return whether a page has a number that is not a part of a longer one."""
    return bool(re.search(rf"(?<![0-9.,]){re.escape(number)}(?![0-9]|[.,][0-9])", page))


def code_blocks(page: str) -> list[str]:
    return re.findall(r"^```.*?^```", page, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("article", "language"), [(a, language) for a, both in PAGES.items() for language in both])
def test_a_page_has_every_number_of_its_article(article: int, language: str) -> None:
    page = read(article, language)
    assert [] == [number for number in NUMBERS[article] if not contains(page, number)]


@pytest.mark.parametrize("article", PAGES)
def test_the_pages_of_an_article_have_the_same_code_and_link_to_each_other(article: int) -> None:
    (first, second) = PAGES[article]
    pages = [read(article, language) for language in (first, second)]
    assert code_blocks(pages[0]) == code_blocks(pages[1])
    assert f"](article-{article}.{second}.md)" in pages[0]
    assert f"](article-{article}.md)" in pages[1]
    links = [set(re.findall(r"\]\((\.\./[^)\s]+)\)", page)) for page in pages]
    assert links[0] == links[1]


def test_a_missing_number_is_noticed() -> None:
    """A digit more or less is another number."""
    page = "sums 15, −13.02 and 4,096; 1.15"
    assert ["15", "−13.02", "4,096"] == [
        x for x in ("15", "5", "−13.02", "13.0", "4", "4,096", "115") if contains(page, x)
    ]


@pytest.mark.parametrize(
    "word",
    [
        "汉明",
        "海明",
        "edit distance",
        "inverted index",
        "PHASH",
        "Jenkins",
        "gojieba",
        "simhash",
        "MD5",
        "webshell",
        "51区",
    ],
)
def test_the_index_has_the_words_that_people_search_for(word: str) -> None:
    page = (DOCS / "articles" / "index.md").read_text(encoding="utf-8")
    assert word in page


def test_each_page_is_three_clicks_from_the_readme_at_most() -> None:
    """Both READMEs link to the index, and the index to every page."""
    for readme in ("README.md", "README.zh.md"):
        assert "](docs/articles/index.md)" in (DOCS.parent / readme).read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((article-[^)#]+)\)", (DOCS / "articles" / "index.md").read_text(encoding="utf-8")))
    assert {page.name for page in (DOCS / "articles").glob("article-*.md")} == linked
