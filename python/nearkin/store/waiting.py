"""Documents that lie in the log alone: what is looked up of them, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin.pipeline.candidates import CandidateSource, Places, Values
from nearkin.search.ids import Id
from nearkin.store.indexes import Found, StoreFamily
from nearkin.store.log import LogDocument
from nearkin.store.records import indexed, record_type

_CONTENT = np.dtype("<u8")

_Key = TypeVar("_Key", bytes, Id)


class Waiting:
    """Documents of the log, by row.

    Texts and extras stay in the log. Memory: the record, and about 250 bytes for look-ups per document.
    """

    def __init__(self, family: StoreFamily) -> None:
        self._family, self._type = family, record_type(family)
        self.index = family.empty()
        self._rows: dict[int, int] = {}
        """Place of each row."""
        self._records: NDArray[np.void] = np.zeros(1024, self._type)
        self.ids: list[Id] = []
        self.contents: list[bytes] = []
        self._by_id: dict[Id, list[int]] = {}
        self._by_content: dict[bytes, list[int]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def rows(self) -> Places:
        """All rows, ascending."""
        return np.fromiter(self._rows, np.int64, len(self._rows))

    def add(self, rows: Sequence[int], ids: Sequence[Id], contents: Sequence[bytes], records: NDArray[np.void]) -> None:
        """Add documents in order of their rows."""
        if not len(rows):
            return
        place = len(self.ids)
        by_id, by_content, by_row = self._by_id, self._by_content, self._rows
        for number, (row, name, content) in enumerate(zip(rows, ids, contents, strict=True), place):
            by_row[row] = number
            by_id.setdefault(name, []).append(row)
            by_content.setdefault(content, []).append(row)
        self.ids.extend(ids)
        self.contents.extend(contents)
        end = place + len(records)
        if end > len(self._records):
            grown = np.zeros(max(end, 2 * len(self._records)), self._type)
            grown[:place] = self._records[:place]
            self._records = grown
        self._records[place:end] = records
        found = indexed(self._family, records)
        if len(found):
            self.index.add(np.asarray(rows, np.int64)[found], records["values"][found].copy())

    def add_documents(self, documents: Sequence[LogDocument]) -> None:
        """Add what was read from the log.

        Raises
        ------
        ValueError
            A record of another width.
        """
        records = np.frombuffer(b"".join(document.record for document in documents), self._type)
        self.add(
            [document.row for document in documents],
            [document.id for document in documents],
            [document.content for document in documents],
            records,
        )

    def after(self, last: int) -> Waiting:
        """The documents behind a row alone."""
        left = Waiting(self._family)
        rows = self.rows
        places = np.flatnonzero(rows > last)
        if len(places):
            left.add(
                rows[places].tolist(),
                [self.ids[place] for place in places.tolist()],
                [self.contents[place] for place in places.tolist()],
                self._records[places],
            )
        return left

    def has(self, rows: Places) -> NDArray[np.bool_]:
        """Which of these rows wait."""
        return np.array([row in self._rows for row in rows.tolist()], bool)

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """The rows that may match each of these values; `source` as for the index."""
        return self.index.find(values, source)

    def find_contents(self, contents: Sequence[bytes]) -> tuple[NDArray[np.int64], Places]:
        """For each content the rows that have it, ascending: numbers of contents, and rows."""
        return _found(self._by_content, contents)

    def find_ids(self, ids: Sequence[Id]) -> tuple[NDArray[np.int64], Places]:
        """For each id the rows that have it, ascending: numbers of ids, and rows."""
        return _found(self._by_id, ids)

    def records(self, rows: Places) -> NDArray[np.void]:
        """Records of rows."""
        return self._records[[self._rows[row] for row in rows.tolist()]]

    def row_ids(self, rows: Places) -> list[Id]:
        """Ids of rows."""
        return [self.ids[self._rows[row]] for row in rows.tolist()]

    def row_contents(self, rows: Places) -> list[bytes]:
        """Content hashes of rows."""
        return [self.contents[self._rows[row]] for row in rows.tolist()]


def _found(rows_by: Mapping[_Key, list[int]], keys: Sequence[_Key]) -> tuple[NDArray[np.int64], Places]:
    get = rows_by.get
    hits = [(number, rows) for number, key in enumerate(keys) if (rows := get(key)) is not None]
    owners = [number for number, rows in hits for _ in rows]
    return np.array(owners, np.int64), np.array([row for _, rows in hits for row in rows], np.int64)
