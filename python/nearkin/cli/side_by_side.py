"""Two texts beside each other, edit by edit: what is equal lies in the same columns of the terminal.

A gap stands where one text has what the other has not. Widths are those of a terminal: a full-width character takes two
columns, a combining mark none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from nearkin.cli.console import console, say
from nearkin.errors import printable
from nearkin.notebook import cells, padded

if TYPE_CHECKING:
    from rich.text import Text

Row: TypeAlias = list[tuple[str, str, str]]
"""Kind of edit, and what either text has there: as wide as each other."""

MOST_ROWS = 200
"""Rows that are shown."""
_STYLES = {"delete": ("red strike", ""), "insert": ("", "green"), "replace": ("red", "green"), "equal": ("", "")}


def show_edits(title: str, pieces: Iterable[tuple[str, str, str]]) -> None:
    """Print two texts: on a terminal beside each other and in colour, elsewhere as one, marked as `wdiff` does.

    What was deleted is red on the left, what was inserted green on the right; elsewhere `[-deleted-]` and
    `{+inserted+}`. A terminal gets `MOST_ROWS` rows, and is told how many more there are.

    Parameters
    ----------
    title : str
        What the output begins with.
    pieces : iterable of (kind, a, b)
        As `nearkin.text.edits.Edit` has them.
    """
    if not sys.stdout.isatty():
        say(title + "".join(_marked(*piece) for piece in pieces))
        return
    from rich.text import Text

    out = console()
    width = max(2, (out.width - 3) // 2)
    say(title.rstrip())
    out.print(Text(f"{padded('a', width)} │ b", style="bold"), soft_wrap=True)
    count = 0
    for count, row in enumerate(rows(pieces, width), 1):
        if count <= MOST_ROWS:
            out.print(_line(row, width), soft_wrap=True)
    if count > MOST_ROWS:
        say(f"… and {count - MOST_ROWS:,} more rows; --json has all edits")


def rows(pieces: Iterable[tuple[str, str, str]], width: int) -> Iterator[Row]:
    r"""Edits cut into rows, at the width and after ends of lines.

    Parameters
    ----------
    pieces : iterable of (kind, a, b)
    width : int
        Columns of one text, 2 or more.

    Examples
    --------
    >>> from nearkin.cli.side_by_side import rows
    >>> [row] = rows([("equal", "天", "天"), ("insert", "", "安"), ("replace", "x", "门")], 20)
    >>> ["".join(cell[side] for cell in row) for side in (1, 2)]
    ['天  x ', '天安门']
    """
    row: Row = []
    used = 0
    for kind, a, b in pieces:
        for left, right in zip_longest(a, b, fillvalue=""):
            one, other = printable(left), printable(right)
            wide = max(cells(one), cells(other))
            if used + wide > width and row:
                yield row
                row, used = [], 0
            row.append((kind, padded(one, wide), padded(other, wide)))
            used += wide
            if "\n" in (left, right):
                yield row
                row, used = [], 0
    if row:
        yield row


def _line(row: Row, width: int) -> Text:
    from rich.text import Text

    sides = (Text(), Text())
    for kind, *both in row:
        for side, shown, style in zip(sides, both, _STYLES[kind], strict=True):
            side.append(shown, style=style)
    sides[0].append(" " * max(0, width - cells(sides[0].plain)))
    return Text.assemble(sides[0], " │ ", sides[1])


def _marked(kind: str, a: str, b: str) -> str:
    if kind == "equal":
        return printable(a)
    return (f"[-{printable(a)}-]" if a else "") + (f"{{+{printable(b)}+}}" if b else "")


__all__ = ["MOST_ROWS", "Row", "rows", "show_edits"]
