"""Rendering of steps: aligned lines for a terminal and HTML for a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any, ClassVar

import numpy as np

from nearkin.errors import printable
from nearkin.io.tables import Comparable
from nearkin.notebook import cells, padded

MAX_ROWS = 24
"""Number of features that are shown; `to_dict` has all of them."""
MAX_COLUMNS = 16
"""Columns up to which the weighted signs of each feature are shown, with their sums below."""


class Rendered(Comparable):
    """Base class of steps that are shown as lines, a table and more lines."""

    def _head(self) -> Iterable[str]:
        raise NotImplementedError

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[str]], Sequence[str]]:
        """Return column names, rows, and the names of the columns that are aligned to the right."""
        raise NotImplementedError

    def _tail(self) -> Iterable[str]:
        raise NotImplementedError

    def _tables(self) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str]], Sequence[str]]]:
        """Yield the title of each table, then what `_table` returns."""
        yield "", *self._table()

    def __str__(self) -> str:
        lines = list(self._head())
        for title, columns, rows, right in self._tables():
            lines += [title] if title else []
            lines += table_lines(columns, rows, right) if rows else []
        return "\n".join([*lines, *self._tail()])

    def _repr_html_(self) -> str:
        tables = (
            (html_block([title]) if title else "") + html_rows(columns, rows)
            for title, columns, rows, _ in self._tables()
        )
        return html_block(self._head()) + "".join(tables) + html_block(self._tail())


class Comparison(Comparable):
    """Base class of the steps of two inputs.

    Attributes
    ----------
    a, b : steps of one class
    """

    a: Any
    b: Any

    _keys: ClassVar[tuple[str, ...]] = ()
    """Attributes of the JSON form, after `a` and `b`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {name: to_json(getattr(self, name)) for name in ("a", "b", *self._keys)}

    def _difference(self) -> list[str]:
        raise NotImplementedError

    def __str__(self) -> str:
        sides = [
            line for name in "ab" for line in (name, *(f"  {row}" for row in str(getattr(self, name)).split("\n")))
        ]
        return "\n".join([*sides, *self._difference()])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in self._difference())
        return f"{self._html_of_inputs()}<ul>{items}</ul>"

    def _html_of_inputs(self) -> str:
        return f"<h4>a</h4>{self.a._repr_html_()}<h4>b</h4>{self.b._repr_html_()}"


def to_json(value: Any) -> Any:
    """Return a value for JSON: steps as dictionaries, tuples and arrays as lists, NaN as None."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, (tuple, np.ndarray)):
        return [to_json(item) for item in (value if isinstance(value, tuple) else value.tolist())]
    return None if isinstance(value, float) and math.isnan(value) else value


def join_names(names: Sequence[str]) -> str:
    """Return the first names in one line, and the number of others."""
    more = f" … and {len(names) - MAX_ROWS} more" if len(names) > MAX_ROWS else ""
    return " ".join(printable(name) for name in names[:MAX_ROWS]) + more if names else "-"


def join_numbers(values: Sequence[int]) -> str:
    """Return the first 64 numbers in one line."""
    return " ".join(map(str, values[:64])) + (" …" if len(values) > 64 else "")


def wrap_cells(name: str, cells: Sequence[str], count: int) -> Iterator[str]:
    """Yield lines of `count` cells; the first line starts with the name."""
    for start in range(0, len(cells), count):
        yield f"{'' if start else name:<12} {' '.join(cells[start : start + count])}"


def with_sums(
    cells: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], sums: Sequence[str], bits: str, count: int
) -> list[list[str]]:
    """Return the rows of a table with one more cell: weighted signs under one another, and below them sums and bits.

    Parameters
    ----------
    cells, rows : sequence of sequences of str
        The other cells of each shown feature, and its weighted signs.
    sums : sequence of str
    bits : str
    count : int
        Number of all features.
    """
    columns = [*rows, sums, bits]
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
    *signs, total, digits = (" ".join(map(str.rjust, column, widths)) for column in columns)
    empty = [""] * (len(cells[0]) - 1)
    others = [[f"… and {count - len(cells)} more", *empty, ""]] if count > len(cells) else []
    ends = [["sums", *empty, total], ["bits", *empty, digits]]
    return [*([*row, sign] for row, sign in zip(cells, signs, strict=True)), *others, *ends]


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of a table whose columns are as wide as their widest cell.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences of str
        Data, escaped by `printable`.
    right : sequence of str
        Names of the columns that are aligned to the right.
    """
    table = [list(columns), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(cells(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        aligned = (
            padded(cell, width, right=name in right) for name, cell, width in zip(columns, row, widths, strict=True)
        )
        yield ("  " + "  ".join(aligned)).rstrip()


def html_block(lines: Iterable[str]) -> str:
    """Return lines as escaped HTML."""
    return "<pre>" + html.escape("\n".join(lines)) + "</pre>"


def html_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML; the cells are escaped."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td><code>{html.escape(cell)}</code></td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
