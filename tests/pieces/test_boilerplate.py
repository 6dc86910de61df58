"""nearkin.pieces.chunks: frequent lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk

MENU, LEGAL = "Home | News | Sport | Subscribe to our newsletter for free", "All rights reserved by the owners of it."
WORDS = ["red", "green", "blue", "wine", "cheese", "bread", "water", "stone", "river", "cloud", "music", "paper"]


def article(number: int) -> str:
    """Return sentences that no other article has."""
    return " ".join(f"{WORDS[(number * 7 + at * at) % 12]}{number * 31 + at}" for at in range(30)) + "."


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a b", "c d", "e f", " a b ", "g"]), max_size=5), max_size=12),
    st.integers(2, 4),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.booleans(),
    st.data(),
)
def test_frequent_lines_are_those_of_the_definition(
    lines: list[list[str]], least: int, share: float, named: bool, data: st.DataObject
) -> None:
    """Counts, sources and bounds agree with a plain count of lines."""
    texts = ["\n".join(text) for text in lines]
    sources = data.draw(st.lists(st.sampled_from(["x", "y"]), min_size=len(texts), max_size=len(texts)))
    result = nk.passages(
        texts,
        sources=sources if named else None,
        boilerplate="keep",
        boilerplate_documents=least,
        boilerplate_share=share,
        remove="nothing",
    )
    total: Counter[str] = Counter()
    removals_by_source: dict[str, Counter[str]] = defaultdict(Counter)
    documents: Counter[str] = Counter()
    for row, text in enumerate(texts):
        if text in texts[:row]:
            continue
        distinct = {line.strip() for line in lines[row] if line.strip()}
        source = sources[row] if named else ""
        documents[source] += 1
        total.update(distinct)
        removals_by_source[source].update(distinct)
    count = documents.total()
    expected = {
        line
        for line in total
        if total[line] >= max(least, share * count)
        or any(removals_by_source[name][line] >= max(least, share * documents[name]) for name in documents)
    }
    assert result.boilerplate is not None
    listed = list(result.boilerplate.rows())
    assert expected == {row["line"] for row in listed}
    assert [total[row["line"]] for row in listed] == [row["documents"] for row in listed]
    assert sorted((-row["documents"], row["line"]) for row in listed) == [(-r["documents"], r["line"]) for r in listed]
    for item in listed:
        assert (item["source"] is not None) == named
        if named:
            assert removals_by_source[item["source"]][item["line"]] == item["source_documents"]


def furnished(number: int, text: str) -> str:
    return f"{MENU}\n{text}\n{LEGAL}"


def test_boilerplate_is_left_out_before_documents_are_split() -> None:
    texts = [furnished(number, article(number)) for number in range(20)] + [article(3)]
    options: dict[str, Any] = {"unit": "paragraph", "threshold": 0.95}
    kept = nk.passages(texts, boilerplate="keep", **options)
    assert [] == list(kept.passages.rows())
    assert (2, False) == (kept.summary["boilerplate"]["lines"], kept.summary["boilerplate"]["left_out"])
    dropped = nk.passages(texts, boilerplate="drop", **options)
    (row,) = dropped.passages.rows()
    at = texts[3].index(article(3))
    assert (20, 3, at, at + len(article(3))) == (row["id"], row["other"], row["other_start"], row["other_end"])
    assert dropped.boilerplate is not None
    assert {MENU, LEGAL} == set(dropped.boilerplate["line"])
    assert None is nk.passages(texts, **options).boilerplate


def test_documents_are_compared_without_boilerplate() -> None:
    menu = "\n".join(article(1000 + number) for number in range(20))
    texts = [f"{menu}\n{article(number)}" for number in range(12)]
    alike = nk.passages(texts, unit="document")
    assert 11 == len(alike.passages)
    assert 0 == len(nk.passages(texts, unit="document", boilerplate="drop").passages)
    copies = [*texts, article(5)]
    result = nk.passages(copies, unit="document", boilerplate="drop", remove="documents", share=1)
    assert [12] == result.documents["id"]
    assert (list(range(12)), 1.0) == (result.kept, result.documents["share"][0])


def test_a_copy_with_other_boilerplate_is_removed() -> None:
    texts = [furnished(number, article(number)) for number in range(12)] + [f"{MENU}\n{article(4)}"]
    assert 12 not in nk.passages(texts, boilerplate="drop").kept


def test_a_line_may_be_frequent_in_one_source() -> None:
    texts = [furnished(number, article(number)) if number < 12 else article(number) for number in range(400)]
    sources = ["shop" if number < 12 else "wire" for number in range(400)]
    assert nk.passages(texts, boilerplate="keep").summary["boilerplate"]["lines"] == 0
    result = nk.passages(texts, boilerplate="keep", sources=sources)
    assert result.boilerplate is not None
    assert [("shop", 12), ("shop", 12)] == list(
        zip(result.boilerplate["source"], result.boilerplate["source_documents"], strict=True)
    )


def test_documents_of_boilerplate_alone_are_kept() -> None:
    texts = [f"{MENU}\n{article(number)}" for number in range(12)] + [MENU, "", None]
    result = nk.passages(texts, boilerplate="drop")
    assert {12, 13, 14} <= set(result.kept)
    assert [] == nk.passages([], boilerplate="drop").kept
