"""Documents that lie in the log alone: what is looked up of them, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateSource, Places, Values
from nearkin.index.ids import Id
from nearkin.store.indexes import Found, StoreFamily
from nearkin.store.records import indexed, record_type

_Key = TypeVar("_Key", bytes, Id)


class Waiting:
    """Documents of the log, by row.

    Texts and extras stay in the log. Memory: the record, and about 250 bytes for look-ups per document.
    """

    def __init__(self, family: StoreFamily) -> None:
        self._family, self._type = family, record_type(family)
        self.index = family.empty()
        self._rows: Places = np.zeros(1024, np.int64)
        self._records: NDArray[np.void] = np.zeros(1024, self._type)
        self.ids: list[Id] = []
        self.contents: list[bytes] = []
        self._by_id: dict[Id, int] = {}
        self._by_content: dict[bytes, int] = {}
        self._more_ids: dict[Id, list[int]] = {}
        self._more_contents: dict[bytes, list[int]] = {}
        """The first row of each id and content, and the rows after it."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def rows(self) -> Places:
        """All rows, ascending."""
        return self._rows[: len(self.ids)]

    def add(self, rows: Places, ids: Sequence[Id], contents: Sequence[bytes], records: NDArray[np.void]) -> None:
        """Add documents in order of their rows."""
        if not len(rows):
            return
        place, end = len(self.ids), len(self.ids) + len(rows)
        listed = rows.tolist()
        _note(self._by_id, self._more_ids, ids, listed)
        _note(self._by_content, self._more_contents, contents, listed)
        self.ids.extend(ids)
        self.contents.extend(contents)
        if end > len(self._rows):
            self._rows = _grown(self._rows, place, end)
            self._records = _grown(self._records, place, end)
        self._rows[place:end] = rows
        self._records[place:end] = records
        found = indexed(self._family, records)
        if len(found):
            self.index.add(rows[found], records["values"][found].copy())

    def after(self, last: int) -> Waiting:
        """The documents behind a row alone."""
        left = Waiting(self._family)
        rows = self.rows
        places = np.flatnonzero(rows > last)
        if len(places):
            left.add(
                rows[places],
                [self.ids[place] for place in places.tolist()],
                [self.contents[place] for place in places.tolist()],
                self._records[places],
            )
        return left

    def _places(self, rows: Places) -> Places:
        """The place of each row, or where it would be."""
        return np.searchsorted(self.rows, rows)

    def has(self, rows: Places) -> NDArray[np.bool_]:
        """Which of these rows wait."""
        own = self.rows
        return own[np.minimum(self._places(rows), len(own) - 1)] == rows if len(own) else np.zeros(len(rows), bool)

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """The rows that may match each of these values; `source` as for the index."""
        return self.index.find(values, source)

    def find_contents(self, contents: Sequence[bytes]) -> tuple[NDArray[np.int64], Places]:
        """The rows that have a content, in any order: numbers of contents, and rows."""
        return _found(self._by_content, self._more_contents, contents)

    def find_ids(self, ids: Sequence[Id]) -> tuple[NDArray[np.int64], Places]:
        """The rows that have an id, in any order: numbers of ids, and rows."""
        return _found(self._by_id, self._more_ids, ids)

    def records(self, rows: Places) -> NDArray[np.void]:
        """Records of rows."""
        return self._records[self._places(rows)]

    def row_ids(self, rows: Places) -> list[Id]:
        """Ids of rows."""
        return [self.ids[place] for place in self._places(rows).tolist()]

    def row_contents(self, rows: Places) -> list[bytes]:
        """Content hashes of rows."""
        return [self.contents[place] for place in self._places(rows).tolist()]


def _grown(values: NDArray[Any], count: int, least: int) -> NDArray[Any]:
    """An array with room for `least` values, of which the first `count` are those of another."""
    grown = np.zeros(max(least, 2 * len(values)), values.dtype)
    grown[:count] = values[:count]
    return grown


def _note(first: dict[_Key, int], more: dict[_Key, list[int]], keys: Sequence[_Key], rows: list[int]) -> None:
    """Note the rows of keys; most keys have one."""
    known = list(map(first.setdefault, keys, rows))
    if known != rows:
        for key, row, other in zip(keys, rows, known, strict=True):
            if row != other:
                more.setdefault(key, []).append(row)


def _found(
    first: Mapping[_Key, int], more: Mapping[_Key, list[int]], keys: Sequence[_Key]
) -> tuple[NDArray[np.int64], Places]:
    known = list(map(first.get, keys))
    owners = [number for number, row in enumerate(known) if row is not None]
    rows = [row for row in known if row is not None]
    if more and owners:
        others = [(number, row) for number in owners for row in more.get(keys[number], [])]
        owners += [number for number, _ in others]
        rows += [row for _, row in others]
    return np.array(owners, np.int64), np.array(rows, np.int64)
