"""Results as notebooks and terminals show them. What they hold is data, and escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import islice

ROWS = 10
"""Rows that a notebook shows."""
_WIDEST = 200
"""Characters of a cell."""


def html_table(
    names: Sequence[str], rows: Iterable[Sequence[object]], *, total: int, caption: str = "", most: int = ROWS
) -> str:
    """The first rows of a table as HTML.

    Parameters
    ----------
    names : sequence of str
    rows : iterable of sequences
    total : int
        How many rows there are; those that are not shown are counted.
    caption : str
        Above the table.
    most : int
        Rows that are taken.

    Examples
    --------
    >>> from nearkin.notebook import html_table
    >>> html_table(["id"], [["<b>"]], total=1)
    '<table><thead><tr><th>id</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    shown = list(islice(rows, most))
    body = "".join("<tr>" + "".join(f"<td>{html_cell(cell)}</td>" for cell in row) + "</tr>" for row in shown)
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    rest = f"<p>and {count_of(total - len(shown), 'more row')}</p>" if total > len(shown) else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def html_cell(value: object) -> str:
    """A cell: numbers of three digits, long texts cut."""
    text = "" if value is None else short(value) if isinstance(value, float) else str(value)
    return html.escape(text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…")


def short(value: float, digits: int = 3) -> str:
    """A number of three digits, or as many as it takes not to show a share below 1 as 1; whole ones in full, and none
    above 1 in powers of ten.

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


def count_of(number: int, noun: str, several: str | None = None) -> str:
    """A number of things: `several` is what more than one are called, with an s if not given.

    Examples
    --------
    >>> from nearkin.notebook import count_of
    >>> count_of(1, "true pair"), count_of(1200, "match", "matches")
    ('1 true pair', '1,200 matches')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def html_facts(facts: Iterable[tuple[object, ...]]) -> str:
    """Names and values, one row each; what follows a value, such as what it means, stands beside it.

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
    r"""Columns of a terminal that a text takes: two for each full-width character, none for combining marks.

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
    """A text with spaces up to a width in columns of a terminal, after it or before it."""
    spaces = " " * (width - cells(text))
    return spaces + text if right else text + spaces


__all__ = ["ROWS", "cells", "count_of", "html_cell", "html_facts", "html_table", "padded", "short"]
