"""What a store tells of its documents, and how columns are given to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.documents import Cells, as_column
from nearkin.errors import bad_parameter
from nearkin.index.ids import Id
from nearkin.notebook import html_facts
from nearkin.store.records import Cell, Status, is_finite

_PIECE, _PIECE_CHARACTERS = 4096, 1 << 24
"""Documents, and characters of their texts, that are added at once."""

Columns = Mapping[str, Cells] | Sequence[Mapping[str, Cell]]
"""Values of documents by name, one per document; or a mapping per document."""


@dataclass(frozen=True)
class StoredDocument:
    """What a store knows of a document.

    Attributes
    ----------
    id : int or str
    row : int
        Its number in the order in which documents came.
    status : {"new", "exact", "near"}
        What it was when it came. A new document stays.
    match : int or str, optional
        Id of the document that decided; None for a new one, and where that one was removed since.
    distance : int, float of vectors
        Distance to it, -1 for a new document.
    similarity : float
        Verified similarity to it, NaN for a new document.
    features, length : int
        Distinct features, and characters of its text; of a file 1 unless it has no bytes, and its bytes; of a vector
        1, and its numbers.
    columns : dict
        The columns that were given with it.
    """

    id: Id
    row: int
    status: Status
    match: Id | None
    distance: float
    similarity: float
    features: int
    length: int
    columns: dict[str, Cell]


@dataclass(frozen=True)
class StoreStats:
    """What a store holds.

    Attributes
    ----------
    documents : int
        All that were added and not removed.
    waiting : int
        Documents that are in no segment yet.
    segments : int
    removed : int
        Removed documents that the next merge drops from the files.
    bytes : dict of str to int
        On disk: "log", "documents", "index", and their "total".
    settings : dict
        Recipe, threshold, radius or bands, what is kept of texts, how matches are verified.
    """

    documents: int
    waiting: int
    segments: int
    removed: int
    bytes: dict[str, int]
    settings: dict[str, Any]

    def _repr_html_(self) -> str:
        """Counts, sizes and settings, for a notebook."""
        counts = [(name, f"{getattr(self, name):,}") for name in ("documents", "waiting", "segments", "removed")]
        sizes = [(f"bytes, {name}", f"{size:,}") for name, size in self.bytes.items()]
        return html_facts([*counts, *sizes, *self.settings.items()])


def columns_by_row(columns: Columns | None, count: int) -> list[dict[str, Cell]] | None:
    """Columns as one dict for each document.

    Raises
    ------
    ParameterError
        A column of another length, or with a value that JSON can't hold.
    """
    if columns is None or (isinstance(columns, Mapping) and not columns):
        return None
    if isinstance(columns, (list, tuple)):
        return _checked_rows(columns, count)
    if not isinstance(columns, Mapping):
        raise bad_parameter(
            "columns", repr(columns)[:40], "a mapping of names to one value per text, or a list of mappings"
        )
    lists: dict[str, list[Cell]] = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise bad_parameter("columns", repr(name), "names that are strings")
        if isinstance(values, (str, bytes)):
            raise bad_parameter(f"columns[{name!r}]", repr(values)[:40], "a list of values, one per text")
        cells = as_column(values).to_list()
        if len(cells) != count:
            raise bad_parameter(f"columns[{name!r}]", f"{len(cells)} values", f"{count} values, one per text")
        bad = next((cell for cell in cells if not is_finite(cell)), None)
        if bad is not None:
            raise bad_parameter(f"columns[{name!r}]", repr(bad), "finite numbers, strings, booleans or None")
        lists[name] = cells
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _is_cell(value: object) -> bool:
    """Whether a column can hold a value; integers as wide as JSON's readers take them, 64 bits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return -(1 << 63) <= value < 1 << 64
    return value is None or isinstance(value, (str, bool)) or (isinstance(value, float) and is_finite(value))


def _checked_rows(columns: Sequence[Mapping[str, Cell]], count: int) -> list[dict[str, Cell]]:
    """Columns that were given as a mapping per document."""
    if len(columns) != count:
        raise bad_parameter("columns", f"{len(columns)} mappings", f"{count} mappings, one per text")
    for row, cells in enumerate(columns):
        if not isinstance(cells, Mapping) or not all(isinstance(name, str) for name in cells):
            raise bad_parameter(f"columns[{row}]", repr(cells)[:40], "a mapping with names that are strings")
        bad = next((cell for cell in cells.values() if not _is_cell(cell)), None)
        if bad is not None:
            raise bad_parameter(f"columns[{row}]", repr(bad)[:40], "finite numbers, strings, booleans or None")
    return [dict(cells) for cells in columns]


def pieces(rows: NDArray[np.int64], lengths: NDArray[np.uint64]) -> Iterator[NDArray[np.int64]]:
    """Rows in order, in pieces of limited numbers of documents and of characters, or of one document."""
    start = 0
    while start < len(rows):
        ends = np.cumsum(lengths[rows[start : start + _PIECE]].astype(np.int64))
        end = start + max(int(np.searchsorted(ends, _PIECE_CHARACTERS, side="right")), 1)
        yield rows[start:end]
        start = end


def in_turn(*actions: Callable[[], None] | None) -> Callable[[], None]:
    """One action after another."""

    def both() -> None:
        for action in actions:
            if action is not None:
                action()

    return both
