"""The pages of the articles, docs/articles: every number of an article is on its pages, in each language.

`NUMBERS` lists what an article states, including what it states wrongly, in the order of the article.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
CHINESE_TUTORIALS = {f"{name}.zh.md" for name in ("interfaces", "binaries", "payloads", "new-pages")}
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
        "10010", "100101", "101100", "3", "(1, 2, 0, 3, 0)", "101", "011", "100", "001", "110",
        "[1, -1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, 1], [1, 1, -1]",
        "[1, -1, 1, -1, 1]", "[-1, 1, -1, -1, -1]", "[1, 1, -1, 1, 1]", "−4", "−2", "6", "'001'", "2^3",
        "20 byte", "30 byte", "2^26", "64", "C(64, 3)", "4", "2^16", "4 · 2^10", "4,096",
    ],
    3: ["64", "10", "01", "11", "D = 3", "f = 2", "(3.0, 2.0, 4.0)", "7.0", "3.0",
        "(1.0, −1.0, 1.0)", "(−1.0, 1.0, 1.0)", "[1]", "[2]", "[3]", "2007", "2005", "2002"],
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
    """Return whether a page has a number that is not a part of a longer one; the spaces of columns count once."""
    page, number = (re.sub(" +", " ", text) for text in (page, number))
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
    links = [{link.replace(".zh.md", ".md") for link in re.findall(r"\]\((\.\./[^)\s]+)\)", page)} for page in pages]
    assert links[0] == links[1]


def test_pictures_are_those_of_their_tool_and_each_is_on_a_page(tmp_path: Path) -> None:
    """tools/plot_articles.py computes every number in them again."""
    subprocess.run([sys.executable, DOCS.parent / "tools" / "plot_articles.py", tmp_path], check=True)
    drawn, stored = (
        {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
        for folder in (tmp_path, DOCS / "articles" / "img")
    )
    assert stored == drawn
    shown = [re.findall(r"\(img/(.*\.svg)\)", path.read_text("utf-8")) for path in DOCS.glob("articles/*.md")]
    assert sorted(drawn) == sorted(name for names in shown for name in names)


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


def links_of(page: Path) -> set[Path]:
    """Return the Markdown pages that a page links to."""
    links = re.findall(r"\]\(([^)#\s]+\.md)[^)]*\)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in links if "://" not in link}


def clicks(start: Path, suffix: str) -> dict[Path, int]:
    """Return the pages with a suffix, and the number of links from `start` to each over such pages alone."""
    found, frontier = {start: 0}, [start]
    for page in frontier:
        for link in sorted(links_of(page)):
            if link not in found and link.name.endswith(suffix):
                found[link] = found[page] + 1
                frontier.append(link)
    return found


def test_each_page_is_three_clicks_from_the_readme_at_most() -> None:
    found = clicks(DOCS.parent / "README.md", ".md")
    pages = sorted((DOCS / "articles").glob("*.md"))
    assert len(pages) > 10
    assert [] == [page.name for page in pages if found.get(page, 9) > 3]


def test_who_reads_only_chinese_finds_each_example_within_three_clicks() -> None:
    """From README.zh.md, over Chinese pages alone, to every Chinese page of an article and to the four tutorials."""
    found = clicks(DOCS.parent / "README.zh.md", ".zh.md")
    pages = sorted(DOCS.rglob("*.zh.md"))
    assert {f"article-{number}.zh.md" for number in (0, 1, 2, 4)} | CHINESE_TUTORIALS <= {page.name for page in pages}
    assert [] == [page.name for page in pages if found.get(page, 9) > 3]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.zh.md")), ids=lambda page: page.name)
def test_a_chinese_page_links_to_chinese_versions(page: Path) -> None:
    """Only the link to its own English version leads to a page that is also in Chinese."""
    english = {link for link in links_of(page) if link.with_suffix("").with_suffix(".zh.md").exists()}
    assert {page.with_name(page.name.replace(".zh.md", ".md"))} == {
        link for link in english if not link.name.endswith(".zh.md")
    }


@pytest.mark.parametrize(
    "page",
    [DOCS.parent / "README.zh.md", *sorted(DOCS.rglob("*.zh.md")), *sorted(DOCS.rglob("*.ja.md"))],
    ids=lambda page: page.name,
)
def test_no_line_breaks_between_ideographs(page: Path) -> None:
    """A browser shows a line break within a paragraph as a space, which Chinese and Japanese do not have."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    wide = "[\u3000-\u9fff\uff00-\uffef]"
    assert [] == re.findall(rf".*{wide}\n *(?:{wide}|[\w(`\[].*).*", text)


@pytest.mark.parametrize("name", sorted(CHINESE_TUTORIALS))
def test_a_chinese_tutorial_has_the_code_and_links_of_the_english_one(name: str) -> None:
    english, chinese = (DOCS / "tutorials" / each for each in (name.replace(".zh.md", ".md"), name))
    assert code_blocks(english.read_text(encoding="utf-8")) == code_blocks(chinese.read_text(encoding="utf-8"))
    left, right = (
        {link.name.replace(".zh.md", ".md") for link in links_of(page)} - {english.name, "index.md"}
        for page in (english, chinese)
    )
    assert left == right
    assert chinese.resolve() in links_of(english)


def test_the_chinese_index_has_the_calls_of_the_english_one() -> None:
    """Each call in the tables, in the same order; the text around them differs."""
    calls = [
        re.findall(r"`[^`]+`", (DOCS / "articles" / name).read_text(encoding="utf-8").split("\n## ", 1)[1])
        for name in ("index.md", "index.zh.md")
    ]
    assert len(calls[0]) > 50
    assert calls[0] == calls[1]
