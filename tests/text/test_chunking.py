"""nearkin.text.chunking: chunks and their spans, compared with definitions in plain Python."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin._core import word_places
from nearkin.text.chunking import parse_units, split

TEXTS = st.text("ab 一。\u3000\n\r\x0b\x85\u2028\u2029é\U0001f600", max_size=60)


def breaks(text: str) -> list[tuple[int, int, str]]:
    """Return the start and end of each line, and its line break."""
    result, start = [], 0
    for match in re.finditer("\r\n|[\n\x0b\x0c\r\x85\u2028\u2029]", text):
        result.append((start, match.start(), match.group()))
        start = match.end()
    return [*result, (start, len(text), "")]


def trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    part = text[start:end]
    if not part.strip():
        return None
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def parts_of(text: str, unit: str) -> list[tuple[int, int]]:
    """Compute the chunks by their definition."""
    if unit == "document":
        spans = [(0, len(text))]
    elif unit == "line":
        spans = [(start, end) for start, end, _ in breaks(text)]
    else:
        spans, begun = [], None
        for start, end, sign in breaks(text):
            blank = not text[start:end].strip()
            begun = start if begun is None and not blank else begun
            if begun is not None and (blank or sign == "\u2029" or not sign):
                spans.append((begun, end))
                begun = None
    return [span for start, end in spans if (span := trimmed(text, start, end)) is not None]


@given(st.lists(st.none() | TEXTS, max_size=5), st.sampled_from(["document", "line", "paragraph"]))
def test_parts_are_those_of_the_definition(texts: list[str | None], unit: str) -> None:
    parts = split(texts, unit)
    expected = [parts_of(text or "", unit) for text in texts]
    assert [place for spans_of_text in expected for place in spans_of_text] == [
        tuple(span) for span in parts.spans.tolist()
    ]
    assert np.cumsum([0, *map(len, expected)]).tolist() == parts.ends.tolist()
    assert [[len(text or ""), len("".join((text or "").split()))] for text in texts] == parts.sizes.tolist()
    flat = [(text or "")[a:b] for text, spans_of_text in zip(texts, expected, strict=True) for a, b in spans_of_text]
    assert flat == list(parts.texts)
    assert [len("".join(part.split())) for part in flat] == parts.visible.tolist()


@given(st.lists(TEXTS, max_size=5), st.sampled_from(["line", "paragraph", "window:3"]), st.integers(0, 9), st.data())
def test_some_parts_are_those_that_are_chosen(texts: list[str], unit: str, least: int, data: st.DataObject) -> None:
    everything = split(texts, unit, least)
    assert all(end - start >= least for start, end in everything.spans.tolist())
    chosen = sorted(data.draw(st.sets(st.integers(0, len(everything) - 1)))) if len(everything) else []
    subset = split(texts, unit, least, chosen=np.array(chosen, np.int64))
    assert [everything.texts[part] for part in chosen] == list(subset.texts)
    assert everything.ends.tolist() == subset.ends.tolist()


def test_windows_of_two_texts_with_a_passage_in_common_are_cut_alike() -> None:
    generator = np.random.default_rng(7)
    letters = np.array(list("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜"))
    passage, before = ("".join(generator.choice(letters, size)) for size in (400, 333))
    first, other = (list(split([text], "window:20").texts) for text in (passage, before + passage))
    common = set(first) & set(other)
    assert len("".join(common)) > 0.85 * len(passage)
    lengths = [len(part) for part in first]
    assert 10 <= min(lengths)
    assert max(lengths) <= 100
    assert 15 <= np.mean(lengths) <= 28


def test_words_have_places() -> None:
    ends, hashes, spans = word_places(["Né à Köln, né à 東京.", None, "né"])
    assert [0, 7, 7, 8] == ends.tolist()
    text = "Né à Köln, né à 東京."
    assert ["Né", "à", "Köln", "né", "à", "東", "京"] == [text[a:b] for a, b in spans.reshape(-1, 2)[:7].tolist()]
    assert hashes[3] == hashes[7] != hashes[0]


@pytest.mark.parametrize(
    "unit",
    ["", "lines", "paragraph,", "window", "window:0", "window:1", "window:-2", "window:x", "window:9:words",
     "repeat:1", "repeat:9:letters", "line,line", "line,repeat:9", "window:２"],
)  # fmt: skip
def test_units_that_there_are_not_are_errors(unit: str) -> None:
    with pytest.raises(nk.errors.ParameterError, match="unit"):
        parse_units(unit)


def test_several_units_have_their_order() -> None:
    assert [("window", 9), ("line", 0)] == [(unit.kind, unit.count) for unit in parse_units("window:9, line")]
    assert ["line", "document"] == [unit.name for unit in parse_units(["line", "document"])]
    assert (50, True) == (parse_units("repeat:50:words")[0].count, parse_units("repeat:50:words")[0].words)


def test_a_part_that_there_is_not_is_an_error() -> None:
    with pytest.raises(nk.errors.ParameterError, match="chosen"):
        split(["a\nb"], "line", chosen=np.array([2]))
