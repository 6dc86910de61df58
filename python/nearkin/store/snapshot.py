"""The documents of a store as they stood at one commit, by row; which of them a batch is held against.

`Contents` follows the log: `refresh` brings it to the last commit. `StoreView` is
`nearkin.dedup.reference.OlderDocuments` over a range of its rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import StoreSegment
from nearkin.dedup.candidates import CandidateLists, CandidateSource, Places, TextBatch, Values
from nearkin.dedup.verify import FeatureSets
from nearkin.index.ids import Id, IdKeys
from nearkin.store.families import lists_of, store_family
from nearkin.store.log import Log, SegmentEntry, State, sum_of
from nearkin.store.memtable import Waiting
from nearkin.store.records import NEW, record_type, unpack_features
from nearkin.store.segment import Part
from nearkin.store.settings import StoreSettings
from nearkin.store.texts import TextsByIds, ask, joined, no_texts

_NO_ROW = np.iinfo(np.int64).max


class Contents:
    """What is in a store, for one process.

    Parameters
    ----------
    log : Log
    settings : StoreSettings
    texts : function, optional
        The caller's, for texts that are not kept.
    """

    def __init__(self, log: Log, settings: StoreSettings, texts: TextsByIds | None = None) -> None:
        self.log, self.settings, self.given_texts = log, settings, texts
        self.family = store_family(settings.source)
        self.record_type = record_type(self.family)
        self.parts: list[Part] = []
        self._lasts: list[int] = []
        self.waiting = Waiting(self.family)
        self.state: State | None = None
        self.last_removal = 0
        self._removed: set[int] = set()
        self._hidden: NDArray[np.int64] | None = np.zeros(0, np.int64)
        self._version = -1

    @property
    def folder(self) -> Path:
        """The store."""
        return self.log.folder

    # Following the log

    def refresh(self) -> State:
        """Bring this to the state of the transaction that is open, and return its counters.

        Raises
        ------
        CorruptStoreError
            The log or a file does not hold what it says.
        FileNotFoundError
            A file on the list is gone: a merge that was committed since this transaction began has removed it.
        """
        version = self.log.version()
        if self.state is not None and version == self._version:
            return self.state
        state = self.log.state()
        old = self.state
        if old is None or state.generation != old.generation:
            self._open_parts()
        if old is None:
            self._load(state)
        else:
            first = old.next_row
            if state.generation != old.generation:
                # The log lost its beginning: to a segment, or for ever where it was removed. Rows are never reused.
                least = self.log.least_row()
                self.waiting = self.waiting.after(state.next_row if least is None else least - 1)
            self._follow(first)
            if state.generation != old.generation:
                # A merge drops removed documents and then forgets them.
                self._removed.clear()
                self._hidden = None
                self._hide(self.log.removed())
                # One that was made and merged away meanwhile counts, too.
                self.last_removal = self.log.last_removal()
            else:
                self._hide(self.log.removed(self.last_removal))
        self.state, self._version = state, version
        return state

    def _open_parts(self) -> None:
        known = {part.entry.name: part for part in self.parts}
        entries = self.log.segments()
        self.parts = [known.get(entry.name) or self._open(entry) for entry in entries]
        self._lasts = [entry.last for entry in entries]

    def _open(self, entry: SegmentEntry) -> Part:
        return Part(self.folder, entry, self.settings, self.family)

    def _load(self, state: State) -> None:
        """Read all of the log, and check that nothing of it is missing."""
        self._follow(0)
        sums = self.log.sums()
        count = len(self.waiting)
        removals = self.log.removed()
        sums ^= sum_of([removal_key(row) for _, row in removals])
        sums ^= sum_of([entry_key(part.entry) for part in self.parts])
        sums ^= sum_of([output_key(*row) for row in self.log.outputs()])
        if (count, sums) != (state.waiting, state.sums):
            raise self.log.corrupt(
                f"of {state.waiting} waiting documents, removals, segments and outputs some are missing or were "
                "changed; restore it from a backup"
            )
        self._hide(removals)
        self.last_removal = self.log.last_removal()

    def _follow(self, first: int) -> None:
        """Take over the waiting documents from a row on."""
        width = self.record_type.itemsize
        for batch in self.log.batches(first):
            if len(batch.records) != width * len(batch):
                raise self.log.corrupt("a record has another width; restore it from a backup")
            self.waiting.add(
                batch.rows, batch.ids, batch.split_contents(), np.frombuffer(batch.records, self.record_type)
            )

    def committed(self, state: State) -> None:
        """Take over the state after a commit of this connection, whose documents were added here already."""
        self.state = state

    def follow_removals(self, state: State) -> None:
        """Take over the removals of a commit of this connection."""
        self._hide(self.log.removed(self.last_removal))
        self.state = state

    def _hide(self, removals: list[tuple[int, int]]) -> None:
        if removals:
            self.last_removal = removals[-1][0]
            self._removed.update(row for _, row in removals)
            self._hidden = None

    # Look-ups over all rows

    @property
    def hidden(self) -> NDArray[np.int64]:
        """Rows that were removed, ascending."""
        if self._hidden is None:
            self._hidden = np.array(sorted(self._removed), np.int64)
        return self._hidden

    def alive(self, rows: Places) -> NDArray[np.bool_]:
        """Which of these rows were not removed."""
        if not len(self.hidden):
            return np.ones(len(rows), bool)
        return ~np.isin(rows, self.hidden)

    def present(self, rows: Places) -> NDArray[np.bool_]:
        """Which of these rows were not removed, nor dropped by a merge after that."""
        found = self.alive(rows)
        for part, positions in self._split(rows):
            some = rows[positions]
            found[positions] &= self.waiting.has(some) if part is None else part.documents.places(some) >= 0
        return found

    def _split(self, rows: Places) -> list[tuple[Part | None, NDArray[np.int64]]]:
        """Which positions of `rows` lie in which part; None stands for the log."""
        if not len(rows):
            return []
        parts: list[Part | None] = [*self.parts, None]
        if 1 == len(rows):
            return [(parts[bisect_left(self._lasts, int(rows[0]))], np.zeros(1, np.int64))]
        owners = np.searchsorted(np.array(self._lasts, np.int64), rows)
        first = int(owners[0])
        if (owners == first).all():
            return [(parts[first], np.arange(len(rows)))]
        return [(parts[owner], np.flatnonzero(owners == owner)) for owner in np.unique(owners).tolist()]

    def gather(
        self, rows: Places, of_part: Callable[[Part, Places], Any], of_log: Callable[[Places], Any]
    ) -> list[Any]:
        """One value for each row, asked of the part that holds it, or of the log."""
        found: list[Any] = [None] * len(rows)
        for part, positions in self._split(rows):
            values = of_log(rows[positions]) if part is None else of_part(part, rows[positions])
            for position, value in zip(positions.tolist(), values, strict=True):
                found[position] = value
        return found

    def records(self, rows: Places) -> NDArray[np.void]:
        """Records of rows."""
        found = np.zeros(len(rows), self.record_type)
        for part, positions in self._split(rows):
            some = rows[positions]
            found[positions] = self.waiting.records(some) if part is None else part.records(some)
        return found

    def ids(self, rows: Places) -> list[Id]:
        """Ids of rows."""
        return self.gather(rows, Part.ids, self.waiting.row_ids)

    def id_of(self, row: int) -> Id:
        """The id of one row."""
        place = bisect_left(self._lasts, row)
        rows = np.array([row])
        return (self.parts[place].ids(rows) if place < len(self.parts) else self.waiting.row_ids(rows))[0]

    def extras(self, rows: Places) -> list[bytes]:
        """Extras of rows."""
        return self.gather(rows, Part.extras, lambda some: self.log.extras(some.tolist()))

    def contents(self, rows: Places) -> list[bytes]:
        """Content hashes of rows, 16 bytes each."""
        return self.gather(
            rows,
            lambda part, some: [content.tobytes() for content in part.contents(some)],
            self.waiting.row_contents,
        )

    def texts(self, rows: Places) -> list[str | None]:
        """Texts of rows; None for documents that did not stay.

        Raises
        ------
        MismatchError
            The store keeps none, and the caller gives none.
        InputError
            What the caller gives is not what was added.
        """
        if self.settings.text != "keep":
            if self.given_texts is None:
                raise no_texts(self.settings)
            return self._ask(rows, self.given_texts)
        return self.gather(rows, Part.texts, lambda some: self.log.texts(some.tolist()))

    def _ask(self, rows: Places, texts: TextsByIds) -> list[str | None]:
        found: list[str | None] = [None] * len(rows)
        stay = np.flatnonzero(self.records(rows)["status"] == NEW)
        if len(stay):
            answers = ask(texts, self.ids(rows[stay]), self.contents(rows[stay]))
            for position, text in zip(stay.tolist(), answers, strict=True):
                found[position] = text
        return found

    def features(self, rows: Places) -> list[NDArray[np.uint64] | None]:
        """Hashes of the features of rows; None where none are kept."""
        try:
            return [unpack_features(extra) for extra in self.extras(rows)]
        except ValueError as error:
            raise self.log.corrupt(f"the features of a document can't be read ({error}); run verify") from None

    def find_ids(self, ids: IdKeys, start: int = 0) -> Places:
        """The row of each id, -1 where it is not there from row `start` on, or was removed."""
        listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
        owners, rows = self.waiting.find_ids(listed)
        found = StoreSegment.find_ids_in(self._files(start), ids)
        if len(found[1]):
            owners, rows = np.concatenate([found[0], owners]), np.concatenate([found[1], rows])
        return self._firsts(len(listed), owners, rows, start)

    def find_contents(self, contents: NDArray[np.uint64], start: int = 0) -> Places:
        """The first row from `start` on with each content that stays and may have copies, -1 for none."""
        count, packed = len(contents), contents.tobytes()
        keys = [packed[at : at + 16] for at in range(0, len(packed), 16)]
        owners, rows = self.waiting.find_contents(keys)
        found = StoreSegment.find_contents_in(self._files(start), np.ascontiguousarray(contents).reshape(-1))
        if not len(rows) and not len(found[1]):
            return np.full(count, -1, np.int64)
        owners, rows = np.concatenate([found[0], owners]), np.concatenate([found[1], rows])
        records = np.concatenate([found[2].view(self.record_type), self.waiting.records(rows[len(found[1]) :])])
        kept = records["status"] == NEW
        if self.settings.featureless == "keep":
            kept &= records["features"] > 0
        return self._firsts(count, owners[kept], rows[kept], start)

    def _files(self, start: int) -> list[StoreSegment]:
        """The files of documents that hold rows from `start` on."""
        return [part.documents for part in self.parts if part.entry.last >= start]

    def _firsts(self, count: int, owners: NDArray[np.int64], rows: Places, start: int) -> Places:
        """The first row of each of `count` owners that is not removed and not before `start`, -1 for none."""
        if not len(rows):
            return np.full(count, -1, np.int64)
        first = np.full(count, _NO_ROW)
        if start or len(self.hidden):
            good = self.alive(rows) & (rows >= start)
            owners, rows = owners[good], rows[good]
        np.minimum.at(first, owners, rows)
        first[first == _NO_ROW] = -1
        return first


class StoreView:
    """Documents of a store that stay, as what new ones are held against.

    Parameters
    ----------
    contents : Contents
    start : int
        Rows below it are left out.
    stop : int
        Rows from it on are left out; the place of the first new document.
    """

    def __init__(self, contents: Contents, start: int, stop: int) -> None:
        self._contents, self._start, self._stop = contents, start, stop

    def __len__(self) -> int:
        """Above every row."""
        return self._stop

    def copies(self, contents: NDArray[np.uint64]) -> Places:
        """The first document that stays with each content; -1 for none."""
        found = self._contents.find_contents(contents, self._start)
        return np.where(found < self._stop, found, -1)

    def candidates(self, values: Values, source: CandidateSource | None = None) -> CandidateLists:
        """Documents that may match each of these values, ascending; `source` says what is skipped, if not the store."""
        contents = self._contents
        parts = [part for part in contents.parts if part.entry.last >= self._start and len(part.index)]
        found = [part.find(values, source) for part in parts]
        if len(contents.waiting.index):
            found.append(contents.waiting.find(values, source))
        lists = lists_of(len(values), found)
        if not len(lists.places):
            return contents.family.confirm(values, lists, self.values)
        good = contents.alive(lists.places) & (lists.places >= self._start) & (lists.places < self._stop)
        if good.all():
            return contents.family.confirm(values, lists, self.values)
        owners = lists.owners()[good]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(values)))]).astype(np.int64)
        similarity = None if lists.similarity is None else lists.similarity[good]
        lists = CandidateLists(offsets, lists.places[good], similarity, lists.skipped)
        return contents.family.confirm(values, lists, self.values)

    def records(self, rows: Places) -> NDArray[np.void]:
        """All that is kept of these rows in fixed width."""
        return self._contents.records(rows)

    def values(self, rows: Places) -> Values:
        """The values of these rows."""
        # A copy is aligned; records are not.
        values: Values = self.records(rows)["values"].copy()
        return values

    def lengths(self, rows: Places) -> NDArray[np.uint64]:
        """How many characters their texts have."""
        return self.records(rows)["length"].astype(np.uint64)

    def texts(self, rows: Places) -> TextBatch | FeatureSets:
        """Their texts, or the features that the store keeps; the rows are ascending."""
        if self._contents.settings.text == "features":
            none = np.zeros(0, np.uint64)
            return joined([none if one is None else one for one in self._contents.features(rows)])
        return self._contents.texts(rows)

    def ids(self, rows: Places) -> list[Any]:
        """Their ids, as they were given."""
        return self._contents.ids(rows)


def removal_key(row: int) -> bytes:
    """What a removal adds to the sums of the log."""
    return b"removed %d" % row


def output_key(target: str, prepared: str) -> bytes:
    """What a promised output adds to the sums of the log."""
    return repr(("output", target, prepared)).encode()


def entry_key(entry: SegmentEntry) -> bytes:
    """What a segment adds to the sums of the log."""
    return repr(("segment", entry.name, entry.first, entry.last, entry.documents, entry.bytes)).encode()
