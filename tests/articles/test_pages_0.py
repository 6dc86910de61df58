"""The two pages of article 0 state its numbers, name its slips and run the same code.

That the code prints these results is tested with all examples of the documentation.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_article_0 import BITS, INTEGERS, ROWS, SUMS

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENGLISH, CHINESE = (DOCS / "articles" / name for name in ("article-0.md", "article-0.zh.md"))

NUMBERS = {
    "edit distance": ["1 − 4 / (10 + 12)", "81.81%", "81%", "81.82%", "(10, 12, 0.8182)", "(2, 2)"],
    "n-grams": ["([6, 6, 6],", "2!", "3!"],
    "sensitive family": ["(d1, d2, p1, p2)", "sim(x, y) <= d1"],
    "stable projections": ["⌊(x·v + b) / w⌋", "[0, w)", "2008"],
    "hyperplanes": ["1 − θ/π", "110", "2/3"],
    "spherical hashing": ["CVPR 2012", "d + 1", "C(c − 1, d) + Σ C(c, i)", "m/4", "1/4", "10%", "15%"],
    "integers of MD5": [f"{name} 1 {number}" for name, number in INTEGERS.items()],
    "rows of signs": list(ROWS.values()),
    "sums": [" ".join(map(str, SUMS[start : start + 16])) for start in range(0, 64, 16)],
    "bits": [BITS],
    "shingles": ["'uand': 4, 'andu': 4, 'ndua': 3, 'duan': 3"],
    "index": ["k = 2", "[0, 21, 42]"],
    "five features": [
        "(1, 2, 0, 3, 0)",
        "(−4, −2, 6)",
        "[[1, -1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, 1], [1, 1, -1]]",
    ],
    "ssdeep": ["3 · 2^i", "n − 1", "32", "64", "0x28021967", "0x01000193", "h(n/2)", "h(2n)", "n = 2m", "65521"],
    "score": ["3:YKEpEn:Yfq", "3:YKEpLn:Yfln", "as_run=93", "min_lcs=7", "str < int", "TypeError"],
    "alignments": ["`abcd` → `bacd`", ".67", "[0.67, 0.67, 0.67]", "`aa` → `a`"],
    "slips": ["Alder-32", "Adler-32", "Multi-probe LSH", "ITQ", "Moses Charikar", "bs = 3"],
}


@pytest.mark.parametrize("page", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("section", list(NUMBERS))
def test_page_states_the_numbers_of_the_article(page: Path, section: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert [] == [number for number in NUMBERS[section] if number not in text]


def test_both_pages_run_the_same_code() -> None:
    english, chinese = (
        re.findall(r"^```python\n.*?^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        for page in (ENGLISH, CHINESE)
    )
    assert len(english) > 20
    assert english == chinese


@pytest.mark.parametrize("page", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_page_leads_to_each_use_of_section_2(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in ("interfaces", "binaries", "payloads", "new-pages"):
        suffix = ".zh.md" if page == CHINESE else ".md"
        assert f"](../tutorials/{name}{suffix})" in text
        assert (DOCS / "tutorials" / f"{name}{suffix}").is_file()


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("汉明", "hamming.md"),
        ("海明", "hamming.md"),
        ("edit distance", "steps.md"),
        ("inverted index", "hamming.md"),
        ("Adler-32", "ssdeep.md"),
        ("webshell", "patterns.md"),
        ("webshell", "tutorials/binaries.md"),
        ("crawler", "tutorials/new-pages.md"),
        ("WAF", "tutorials/payloads.md"),
        ("endpoints", "tutorials/interfaces.md"),
    ],
)
def test_words_that_people_search_for_appear(word: str, page: str) -> None:
    assert word in (DOCS / page).read_text(encoding="utf-8")
