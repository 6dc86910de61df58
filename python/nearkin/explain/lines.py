"""How steps are written: lines for a terminal, which count the columns that characters take, and HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from nearkin.errors import printable
from nearkin.notebook import cells, padded

SHOWN = 24
"""Features that are shown; `to_dict` has all."""


def indented(text: str) -> list[str]:
    """The lines of a text, two spaces to the right."""
    return [f"  {line}" for line in text.split("\n")]


def some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" … and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return " ".join(printable(name) for name in names[:SHOWN]) + more if names else "-"


def numbers(values: Sequence[int]) -> str:
    """The first numbers."""
    return " ".join(map(str, values[:64])) + (" …" if len(values) > 64 else "")


def in_lines(name: str, cells: Sequence[str], count: int) -> Iterator[str]:
    """Cells, `count` in a line, the first line named."""
    for at in range(0, len(cells), count):
        yield f"{'' if at else name:<12} {' '.join(cells[at : at + count])}"


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> Iterator[str]:
    """The names of the columns and the rows, each column as wide as its widest cell.

    Parameters
    ----------
    columns : sequence of str
    rows : sequence of sequences of str
        Data; written as `printable` makes them.
    right : sequence of str
        Columns that are set flush right.
    """
    table = [list(columns), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(cells(row[at]) for row in table) for at in range(len(columns))]
    for row in table:
        made = (
            padded(cell, width, right=name in right) for name, cell, width in zip(columns, row, widths, strict=True)
        )
        yield ("  " + "  ".join(made)).rstrip()


def html_steps(
    above: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str]], below: Sequence[str]
) -> str:
    """Lines, a table, lines as HTML. What they hold is data: all is escaped."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td><code>{html.escape(cell)}</code></td>" for cell in row) + "</tr>" for row in rows
    )
    first, last = ("<pre>" + html.escape("\n".join(lines)) + "</pre>" for lines in (above, below))
    return f"{first}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{last}"
