"""Memtable: the pending documents, which are in the log and in no segment yet, indexed in memory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Ordinals
from nearkin.index.ids import Id
from nearkin.store.kinds import StoreSettings
from nearkin.store.records import indexed_positions, record_type

_Key = TypeVar("_Key", bound=Hashable)


class Memtable:
    """Pending documents by row.

    Texts and extras stay in the log. Memory per document: its record, and about 250 bytes for lookups.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self.index = settings.new_index()
        self._rows: Ordinals = np.zeros(1024, np.int64)
        self._records: NDArray[np.void] = np.zeros(1024, record_type(settings))
        self._matched: Ordinals = np.zeros(1024, np.int64)
        self._ids: list[Id] = []
        self._contents: list[bytes] = []
        self._rows_by_id: _RowsByKey[Id] = _RowsByKey()
        self._rows_by_content: _RowsByKey[bytes] = _RowsByKey()

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def rows(self) -> Ordinals:
        """All rows, ascending."""
        return self._rows[: len(self._ids)]

    @property
    def matched(self) -> Ordinals:
        """The row that each document matched, -1 for a new one."""
        return self._matched[: len(self._ids)]

    def add(
        self,
        rows: Ordinals,
        ids: Sequence[Id],
        contents: Sequence[bytes],
        records: NDArray[np.void],
        matched: Ordinals,
    ) -> None:
        """Add documents in the order of their rows."""
        if not len(rows):
            return
        start, end = len(self._ids), len(self._ids) + len(rows)
        self._rows_by_id.add(ids, rows.tolist())
        self._rows_by_content.add(contents, rows.tolist())
        self._ids.extend(ids)
        self._contents.extend(contents)
        if end > len(self._rows):
            self._rows = _grow(self._rows, start, end)
            self._records = _grow(self._records, start, end)
            self._matched = _grow(self._matched, start, end)
        self._rows[start:end] = rows
        self._records[start:end], self._matched[start:end] = records, matched
        positions = indexed_positions(self._settings, records)
        if len(positions):
            self.index.add(rows[positions], records["values"][positions].copy())

    def after(self, last: int) -> Memtable:
        """Return a memtable of the documents after a row."""
        rest = Memtable(self._settings)
        positions = np.flatnonzero(self.rows > last)
        if len(positions):
            start = int(positions[0])
            names, contents = self._ids[start:], self._contents[start:]
            rest.add(self.rows[start:], names, contents, self._records[positions], self.matched[start:])
        return rest

    def _positions(self, rows: Ordinals) -> Ordinals:
        """Return the position of each row, or its insertion point."""
        return np.searchsorted(self.rows, rows)

    def has(self, rows: Ordinals) -> NDArray[np.bool_]:
        """Return True for each row that is pending."""
        own = self.rows
        return own[np.minimum(self._positions(rows), len(own) - 1)] == rows if len(own) else np.zeros(len(rows), bool)

    def find_contents(self, contents: Sequence[bytes]) -> tuple[NDArray[np.int64], Ordinals]:
        """Return the rows with the given contents, in any order: numbers of contents, and rows."""
        return self._rows_by_content.find(contents)

    def find_ids(self, ids: Sequence[Id]) -> tuple[NDArray[np.int64], Ordinals]:
        """Return the rows with the given ids, in any order: numbers of ids, and rows."""
        return self._rows_by_id.find(ids)

    def records(self, rows: Ordinals) -> NDArray[np.void]:
        """Return the records of rows."""
        return self._records[self._positions(rows)]

    def ids(self, rows: Ordinals) -> list[Id]:
        """Return the ids of rows."""
        return [self._ids[position] for position in self._positions(rows).tolist()]

    def contents(self, rows: Ordinals) -> list[bytes]:
        """Return the content hashes of rows."""
        return [self._contents[position] for position in self._positions(rows).tolist()]


def _grow(values: NDArray[Any], count: int, size: int) -> NDArray[Any]:
    """Return a copy of the first `count` values in an array of at least `size`."""
    grown = np.zeros(max(size, 2 * len(values)), values.dtype)
    grown[:count] = values[:count]
    return grown


class _RowsByKey(Generic[_Key]):
    """The rows of each key: the first one, and in another dict the later ones, because most keys have one row."""

    def __init__(self) -> None:
        self._first: dict[_Key, int] = {}
        self._more: dict[_Key, list[int]] = {}

    def add(self, keys: Sequence[_Key], rows: list[int]) -> None:
        """Record the row of each key."""
        firsts = list(map(self._first.setdefault, keys, rows))
        if firsts != rows:
            for key, row, other in zip(keys, rows, firsts, strict=True):
                if row != other:
                    self._more.setdefault(key, []).append(row)

    def find(self, keys: Sequence[_Key]) -> tuple[NDArray[np.int64], Ordinals]:
        """Return the rows of keys, in any order: numbers of keys, and rows."""
        firsts = map(self._first.get, keys)
        pairs = [(number, row) for number, row in enumerate(firsts) if row is not None]
        if self._more:
            pairs += [(number, row) for number, _ in pairs for row in self._more.get(keys[number], [])]
        numbers, rows = np.array(pairs, np.int64).reshape(-1, 2).T
        return numbers, rows
