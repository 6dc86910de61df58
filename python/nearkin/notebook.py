"""Tables and numbers for notebooks and terminals. All data is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import islice

ROWS = 10
"""Default number of rows in a notebook."""
_MAX_CHARACTERS = 200
"""Maximum length of a cell."""


def html_table(
    names: Sequence[str], rows: Iterable[Sequence[object]], *, total: int, caption: str = "", max_rows: int = ROWS
) -> str:
    """Return the first rows of a table as HTML.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    rows : iterable of sequences
    total : int
        Number of rows in all; a line below the table counts the others.
    caption : str
    max_rows : int
        Maximum number of rows.

    Examples
    --------
    >>> from nearkin.notebook import html_table
    >>> html_table(["id"], [["<b>"]], total=1)
    '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    first = list(islice(rows, max_rows))
    body = "".join("<tr>" + "".join(f"<td>{html_cell(cell)}</td>" for cell in row) + "</tr>" for row in first)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    rest = f"<p>and {count_of(total - len(first), 'more row')}</p>" if total > len(first) else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def html_cell(value: object) -> str:
    """Return the content of a cell: numbers with three digits, long texts shortened."""
    text = "" if value is None else short(value) if isinstance(value, float) else str(value)
    return html.escape(text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…")


def short(value: float, digits: int = 3) -> str:
    """Return a number with three significant digits; integers in full, and no number below 1 as "1".

    Examples
    --------
    >>> from nearkin.notebook import short
    >>> short(0.206549), short(0.9996), short(1234567.8), short(120.0)
    ('0.207', '0.9996', '1,234,568', '120')
    >>> short(1234.56, 5), short(149_123.4, 5)
    ('1,234.6', '149,123')
    """
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:,.{digits}g}"
    return f"{value:.6g}" if text == "1" and value < 1 else text


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun; the default plural adds an s.

    Examples
    --------
    >>> from nearkin.notebook import count_of
    >>> count_of(1, "true pair"), count_of(1200, "match", "matches")
    ('1 true pair', '1,200 matches')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def html_facts(facts: Iterable[tuple[object, ...]]) -> str:
    """Return names and values as an HTML table, one row each; further cells, such as a meaning, follow the value.

    Examples
    --------
    >>> from nearkin.notebook import html_facts
    >>> html_facts([("kept", 3)])
    '<table><tbody><tr><th>kept</th><td>3</td></tr></tbody></table>'
    """
    rows = (
        f"<tr><th>{html_cell(name)}</th>" + "".join(f"<td>{html_cell(value)}</td>" for value in values) + "</tr>"
        for name, *values in facts
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def cells(text: str) -> int:
    r"""Return the width of a text in columns of a terminal: two per full-width character, none per combining mark.

    Examples
    --------
    >>> from nearkin.notebook import cells
    >>> cells("abc"), cells("天安门"), cells("e\u0301")
    (3, 6, 1)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text padded with spaces to a width in columns of a terminal; `right` aligns it to the right."""
    spaces = " " * (width - cells(text))
    return spaces + text if right else text + spaces
