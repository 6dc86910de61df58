"""Tests of aligned texts in nearkin.cli.fingerprints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from test_console import on_a_terminal

from command import call
from nearkin.cli.fingerprints import align_rows, style_row
from nearkin.text.edits import edits

TEXTS = st.text(alphabet="ab 天安ｅ\u0301\n\x1b", max_size=30)


def pieces(a: str, b: str) -> list[tuple[str, str, str]]:
    return [(piece.kind, piece.a, piece.b) for piece in edits(a, b).pieces]


@given(a=TEXTS, b=TEXTS, width=st.integers(8, 30))
def test_both_sides_of_a_row_are_as_wide(a: str, b: str, width: int) -> None:
    """Both sides are equally wide, contain the texts, and align equal characters."""
    result = list(align_rows(pieces(a, b), width))
    for row in result:
        left, right = ("".join(cell[side] for cell in row) for side in (1, 2))
        assert cell_len(left) == cell_len(right) <= width
        assert all(left == right for kind, left, right in row if kind == "equal")
    for text, side in ((a, 1), (b, 2)):
        shown = "".join(cell[side] for row in result for cell in row)
        escaped = text.replace("\n", "\\n").replace("\x1b", "\\x1b").replace(" ", "")
        assert escaped == shown.replace(" ", "")


def test_rows_end_with_lines() -> None:
    assert 3 == len(list(align_rows(pieces("one\ntwo\nthree", "one\nTWO\nthree"), 40)))
    assert [] == list(align_rows([], 40))


def test_a_terminal_shows_both_texts(tmp_path: Path) -> None:
    """Both texts are shown side by side, at the same column on every row."""
    _, seen = on_a_terminal("compare", "--text", "我爱北京天安门", "我爱天安门广场", columns=43)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip("\r") for line in seen.split("\n")]
    start = plain.index(next(line for line in plain if line.startswith("aligned")))
    head, row = plain[start + 1 : start + 3]
    assert "我爱北京天安门       │ 我爱    天安门广场" == row.rstrip()
    assert head.index("│") == cell_len(row[: row.index("│")]) == 21


def test_a_terminal_shows_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    line = style_row([("delete", "x", " "), ("insert", " ", "y"), ("replace", "z", "w")], 10)
    assert ["red strike", "red", "green", "green"] == [str(span.style) for span in line.spans if span.style]
    assert "xz" == line.plain[:3].replace(" ", "")


def test_rows_are_bounded(tmp_path: Path) -> None:
    """At most 200 rows are shown, and the others are counted."""
    for name, word in (("a", "one"), ("b", "two")):
        (tmp_path / name).write_text("".join(f"{number} {word}\n" for number in range(300)))
    code, seen = on_a_terminal("compare", tmp_path / "a", tmp_path / "b")
    assert 0 == code
    assert "… and 100 more rows; --json has all edits" in seen


def test_what_is_too_long_is_left_out_by_itself(tmp_path: Path) -> None:
    """Edits and the longest common string have separate limits."""
    (tmp_path / "long").write_text("x" * (1 << 17) + "abc")
    (tmp_path / "short").write_text("abc")
    done = call("compare", tmp_path / "short", tmp_path / "long")
    assert "the longest common string is left out" in done.err
    assert "edits        131072: 131072 inserted, 0 deleted, 0 substituted" in done.lines
    result = call("compare", tmp_path / "short", tmp_path / "long", "--json").json()
    assert 131072 == result["edits"]["insertions"]
    assert "common_substring" not in result
