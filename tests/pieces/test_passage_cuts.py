"""nearkin.pieces.passages: texts without their passages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.pieces.passages import Cuts, without_spans


@pytest.mark.parametrize(
    ("text", "passages", "left"),
    [
        ("One.\n\nTwo.\n\nThree.", ["One."], "Two.\n\nThree."),
        ("One.\n\nTwo.\n\nThree.", ["Two."], "One.\n\nThree."),
        ("One.\n\nTwo.\n\nThree.", ["Three."], "One.\n\nTwo."),
        ("One.\n\nTwo.\n\nThree.", ["Two.", "Three."], "One."),
        ("One.\r\n\r\nTwo.\r\n", ["One."], "Two.\r\n"),
        ("one two three", ["two"], "one three"),
        ("一二三四五", ["二三"], "一四五"),
        ("if x:\n    a = 1\n    b = 2\n", ["a = 1"], "if x:\n    b = 2\n"),
        ("a, twice b", ["twice"], "a, b"),
        ("(copied) text", ["copied"], "() text"),
        ("all", ["all"], ""),
        ("all", [], "all"),
    ],
)
def test_a_cut_leaves_no_empty_lines(text: str, passages: list[str], left: str) -> None:
    spans = [(text.index(item), text.index(item) + len(item)) for item in passages]
    assert left == without_spans(text, spans)


@given(st.text("ab \n\r", max_size=30), st.data())
def test_all_visible_characters_outside_of_passages_remain(text: str, data: st.DataObject) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=False) if a < b and text[a:b].strip() == text[a:b]]
    seen = "".join(sign for at, sign in enumerate(text) if not any(a <= at < b for a, b in spans))
    assert "".join(seen.split()) == "".join(without_spans(text, spans).split())


def test_passages_may_overlap() -> None:
    assert "a d" == without_spans("a b b c d", [(2, 5), (4, 7)])


def test_cuts_are_found_by_row() -> None:
    cuts = Cuts(np.array([2, 5]), np.array([0, 1, 3]), np.array([[0, 1], [0, 1], [3, 4]]))
    assert ([], [(0, 1)], [(0, 1), (3, 4)]) == (cuts.of(0), cuts.of(2), cuts.of(5))
    assert ["x", "", "bc"] == list(cuts.remaining([1, 2, 5], ["x", "y", "abcd"]))
