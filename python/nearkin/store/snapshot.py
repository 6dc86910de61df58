"""Snapshot of a store: its documents at one commit, by row.

`Snapshot` follows the log: `refresh` brings it to the last commit. `SnapshotRange` is a range of its rows, in the form
that a deduplication compares new documents with (`nearkin.dedup.reference`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import StoreSegment
from nearkin.dedup.candidates import CandidateLists, CandidateSource, Ordinals, TextBatch, Values
from nearkin.dedup.candidates.base import list_offsets
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.verify import FeatureSets
from nearkin.index.ids import Id, IdKeys
from nearkin.store.filesystem import LOST_FOLDER
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.base import CandidateRows, corrupt_file
from nearkin.store.kinds.texts import LoadTexts, call_loader, join_sets
from nearkin.store.kinds.vectors import VectorSettings
from nearkin.store.lines import PageBatch, site_names
from nearkin.store.log import LOG_NAME, Log, LogBatch, SegmentEntry, State
from nearkin.store.memtable import Memtable
from nearkin.store.records import (
    MAX_COUNT,
    NEW,
    Cell,
    RecordedMatch,
    match_rows,
    record_type,
    scatter,
    status_names,
    unpack_extra,
    unpack_features,
)
from nearkin.store.results import StoredDocument, StoredMatch, StoreStats
from nearkin.store.segment import Segment

_BATCH = 4096
"""Documents whose columns are read at once."""
_NO_ROW = np.iinfo(np.int64).max


class Snapshot:
    """The documents of a store, as one process sees them.

    Parameters
    ----------
    log : Log
    settings : StoreSettings
    load_texts : function, optional
        The caller's, for texts that the store does not keep.
    """

    def __init__(self, log: Log, settings: StoreSettings, load_texts: LoadTexts | None = None) -> None:
        self.log, self.settings, self._load_texts = log, settings, load_texts
        self.record_type = record_type(settings)
        self.segments: list[Segment] = []
        self._last_rows: list[int] = []
        self.memtable = Memtable(settings)
        self.state: State | None = None
        self.last_tombstone = 0
        self._tombstones: set[int] = set()
        self._removed_rows: NDArray[np.int64] | None = np.zeros(0, np.int64)
        self._version = -1

    @property
    def folder(self) -> Path:
        """The store."""
        return self.log.folder

    def new_records(self, new: HashedDocuments, rows: Ordinals, status: NDArray[Any]) -> NDArray[np.void]:
        """Return the records of some documents."""
        records = np.zeros(len(rows), self.record_type)
        records["features"] = np.minimum(new.counts[rows], MAX_COUNT)
        records["length"] = np.minimum(new.lengths[rows], MAX_COUNT)
        records["status"], records["values"] = status, new.values[rows]
        return records

    # Following the log

    def refresh(self) -> State:
        """Update the snapshot to the open transaction, and return the counters.

        Raises
        ------
        CorruptStoreError
            The log or a file is damaged.
        FileNotFoundError
            A file on the segment list is missing: a merge that was committed after this transaction began removed it.
        """
        version = self.log.version()
        if self.state is not None and version == self._version:
            return self.state
        state, old = self.log.state(), self.state
        merged = old is None or state.generation != old.generation
        if merged:
            self._open_segments()
        if old is None:
            self._load(state)
        else:
            if merged:
                # A segment took the first documents of the log, or a merge dropped them. Rows are never reused.
                first = self.log.first_row()
                self.memtable = self.memtable.after(state.next_row if first is None else first - 1)
            self._add_pending(old.next_row)
            if merged:
                # A merge drops removed documents, and then their tombstones.
                self._tombstones.clear()
                self._removed_rows = None
                self._add_tombstones(self.log.tombstones())
                # A tombstone that was added and dropped since the last refresh counts as well.
                self.last_tombstone = self.log.last_tombstone()
            else:
                self._add_tombstones(self.log.tombstones(self.last_tombstone))
        self.state, self._version = state, version
        return state

    def _open_segments(self) -> None:
        opened = {segment.entry.name: segment for segment in self.segments}
        entries = self.log.segments()
        self.segments = [opened.get(entry.name) or self._open_segment(entry) for entry in entries]
        self._last_rows = [entry.last for entry in entries]

    def _open_segment(self, entry: SegmentEntry) -> Segment:
        segment = Segment(self.folder, entry, self.settings)
        state = self.log.state()
        if segment.header.store != state.store or segment.header.sequence > state.sequence:
            raise segment.corrupt("it is of another store, or newer than the log")
        return segment

    def _load(self, state: State) -> None:
        """Read the log from its beginning, and check that nothing is missing."""
        self._add_pending(0)
        if (len(self.memtable), self.log.checksum()) != (state.pending, state.sums):
            raise self.log.corrupt(
                f"some of {state.pending} pending documents, tombstones, segments and outputs are missing or "
                "were changed; restore it from a backup"
            )
        self._add_tombstones(self.log.tombstones())
        self.last_tombstone = self.log.last_tombstone()

    def _add_pending(self, first: int) -> None:
        """Add the pending documents from a row on to the memtable."""
        for batch in self.log.batches(first):
            self.add_batch(batch)

    def add_batch(self, batch: LogBatch) -> None:
        """Add documents of the log to the memtable."""
        if len(batch.records) != self.record_type.itemsize * len(batch):
            raise self.log.corrupt("a record has another width; restore it from a backup")
        records, matched = np.frombuffer(batch.records, self.record_type), np.full(len(batch), -1, np.int64)
        old = np.flatnonzero(records["status"] != NEW)
        try:
            matched[old] = match_rows(map(batch.get_extra, old.tolist()))
        except ValueError as error:
            raise self.log.corrupt(f"the match of a document can't be read ({error}); run verify") from None
        self.memtable.add(batch.rows, batch.ids, batch.split_contents(), records, matched)

    def commit(self, state: State) -> None:
        """Set the state after a commit of this connection, whose documents are in the memtable already."""
        self.state = state

    def add_tombstones(self) -> None:
        """Add the tombstones of the open transaction."""
        self._add_tombstones(self.log.tombstones(self.last_tombstone))

    def _add_tombstones(self, tombstones: list[tuple[int, int]]) -> None:
        if tombstones:
            self.last_tombstone = tombstones[-1][0]
            self._tombstones.update(row for _, row in tombstones)
            self._removed_rows = None

    def range(self, start: int, stop: int) -> SnapshotRange:
        """Return the new documents of a range of rows, within the transaction that is open now."""
        return SnapshotRange(lambda: nullcontext(self), start, stop)

    # Lookups by row

    @property
    def removed_rows(self) -> NDArray[np.int64]:
        """Rows of removed documents, ascending."""
        if self._removed_rows is None:
            self._removed_rows = np.array(sorted(self._tombstones), np.int64)
        return self._removed_rows

    def alive(self, rows: Ordinals) -> NDArray[np.bool_]:
        """Return True for each row that has no tombstone."""
        if not len(self.removed_rows):
            return np.ones(len(rows), bool)
        return ~np.isin(rows, self.removed_rows)

    def present(self, rows: Ordinals) -> NDArray[np.bool_]:
        """Return True for each row that has no tombstone, and that no merge has dropped."""
        present = self.alive(rows)
        for segment, positions in self._split(rows):
            chunk = rows[positions]
            present[positions] &= self.memtable.has(chunk) if segment is None else segment.documents.places(chunk) >= 0
        return present

    def members(self, rows: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Return the documents that matched a row of the list: their rows, ascending, and the rows that they matched.

        Raises
        ------
        CorruptStoreError
            An extra is damaged.
        """
        kept = rows[self.records(rows)["status"] == NEW]
        if not len(kept):
            return kept, kept
        pending = np.isin(self.memtable.matched, kept)
        links = [(self.memtable.rows[pending], self.memtable.matched[pending])]
        for segment in self.segments:
            if segment.entry.last > kept[0]:
                members, matched = segment.links
                ends = np.searchsorted(matched, kept, "right")
                counts = ends - np.searchsorted(matched, kept)
                places = np.repeat(ends - np.cumsum(counts), counts) + np.arange(counts.sum())
                links.append((members[places], matched[places]))
        members, matched = (np.concatenate(column) for column in zip(*links, strict=True))
        chosen = np.flatnonzero(~np.isin(members, rows) & self.alive(members))
        chosen = chosen[np.argsort(members[chosen])]
        return members[chosen], matched[chosen]

    def ledger(self, rows: Ordinals) -> tuple[NDArray[np.int64], Ordinals]:
        """Return the number of documents that each row stands for, 0 for one that is not kept, and the last of them."""
        kept, numbers = np.unique(rows, return_inverse=True)
        is_kept = self.records(kept)["status"] == NEW
        members, matched = self.members(kept[is_kept])
        places, last = np.searchsorted(kept, matched), kept.copy()
        copies = np.bincount(places, minlength=len(kept)) + is_kept
        np.maximum.at(last, places, members)
        return copies[numbers], last[numbers]

    def _sources(self, rows: Ordinals) -> list[str]:
        """Return the column `source` of rows as text; "" without one."""
        values = (self.unpack_extra(extra)[1].get("source") for extra in self.extras(rows))
        return ["" if value is None else str(value) for value in values]

    def num_sources(self, rows: Ordinals) -> list[int]:
        """Return the number of different sources of the documents that each row stands for."""
        kept = np.unique(rows[self.records(rows)["status"] == NEW])
        members, matched = self.members(kept)
        pairs = set(
            zip([*kept.tolist(), *matched.tolist()], self._sources(np.concatenate([kept, members])), strict=True)
        )
        counts = Counter(row for row, name in pairs if name)
        return [counts[row] for row in rows.tolist()]

    def added(self, rows: Ordinals) -> list[datetime | None]:
        """Return when rows were added, up to `ADDITION_SECONDS` early; None before the first record of it."""
        firsts, times = zip((-1, None), *self.log.additions(), strict=True)
        found = (times[place - 1] for place in np.searchsorted(firsts, rows, "right").tolist())
        return [None if time is None else datetime.fromtimestamp(time, timezone.utc) for time in found]

    def _split(self, rows: Ordinals) -> list[tuple[Segment | None, NDArray[np.int64]]]:
        """Return the positions in `rows` by segment; None stands for the memtable."""
        if not len(rows):
            return []
        segments: list[Segment | None] = [*self.segments, None]
        if 1 == len(rows):
            return [(segments[bisect_left(self._last_rows, int(rows[0]))], np.zeros(1, np.int64))]
        owners = np.searchsorted(np.array(self._last_rows, np.int64), rows)
        first = int(owners[0])
        if (owners == first).all():
            return [(segments[first], np.arange(len(rows)))]
        return [(segments[owner], np.flatnonzero(owners == owner)) for owner in np.unique(owners).tolist()]

    def _gather(
        self,
        rows: Ordinals,
        from_segment: Callable[[Segment, Ordinals], list[Any]],
        from_log: Callable[[Ordinals], list[Any]],
    ) -> list[Any]:
        """Return one value per row, from the segment that holds the row, or from the log."""
        values: list[Any] = [None] * len(rows)
        for segment, positions in self._split(rows):
            chunk = rows[positions]
            found = from_log(chunk) if segment is None else from_segment(segment, chunk)
            for position, value in zip(positions.tolist(), found, strict=True):
                values[position] = value
        return values

    def records(self, rows: Ordinals) -> NDArray[np.void]:
        """Return the records of rows."""
        records = np.zeros(len(rows), self.record_type)
        for segment, positions in self._split(rows):
            chunk = rows[positions]
            records[positions] = self.memtable.records(chunk) if segment is None else segment.records(chunk)
        return records

    def values(self, rows: Ordinals) -> Values:
        """Return the values of rows."""
        # A copy is aligned; records are not.
        values: Values = self.records(rows)["values"].copy()
        return values

    def ids(self, rows: Ordinals) -> list[Id]:
        """Return the ids of rows."""
        return self._gather(rows, Segment.ids, self.memtable.ids)

    def extras(self, rows: Ordinals) -> list[bytes]:
        """Return the extras of rows."""
        return self._gather(rows, Segment.extras, lambda chunk: self.log.extras(chunk.tolist()))

    def contents(self, rows: Ordinals) -> list[bytes]:
        """Return the content hashes of rows, 16 bytes each."""
        return self._gather(rows, Segment.contents, self.memtable.contents)

    def texts(self, rows: Ordinals) -> list[str | None]:
        """Return the texts of rows; None for documents that were not new.

        Raises
        ------
        MismatchError
            The store keeps no texts, and the caller provides none.
        InputError
            The caller's text differs from the one added.
        """
        if self.settings.text == "keep":
            return self._gather(rows, Segment.texts, lambda chunk: self.log.texts(chunk.tolist()))
        if self._load_texts is None:
            raise self.settings.no_texts_error()
        new = np.flatnonzero(self.records(rows)["status"] == NEW)
        if not len(new):
            return [None] * len(rows)
        texts = call_loader(self._load_texts, self.ids(rows[new]), self.contents(rows[new]))
        return scatter(texts, new, len(rows))

    def page_texts(self, rows: Ordinals) -> list[str | None]:
        """Return the texts of pages without the frequent lines of their sites."""
        columns = [self.unpack_extra(extra)[1] for extra in self.extras(rows)]
        return PageBatch(self.texts(rows), site_names(self.ids(rows), columns)).without_lines(self.log.lines)

    def features(self, rows: Ordinals) -> list[NDArray[np.uint64] | None]:
        """Return the hashes of the features of rows; None for a document without them."""
        try:
            return [unpack_features(extra) for extra in self.extras(rows)]
        except ValueError as error:
            raise self.log.corrupt(f"the features of a document can't be read ({error}); run verify") from None

    # Lookups by id and content

    def find_ids(self, ids: IdKeys, start: int = 0) -> Ordinals:
        """Return the row of each id, or -1 if no document from row `start` on has it."""
        names = ids.tolist() if isinstance(ids, np.ndarray) else ids
        numbers, rows = self.memtable.find_ids(names)
        stored = StoreSegment.find_ids_in(self._documents_from(start), ids)
        if len(stored[1]):
            numbers, rows = np.concatenate([stored[0], numbers]), np.concatenate([stored[1], rows])
        return self._first_rows(len(names), numbers, rows, start)

    def find_contents(self, contents: NDArray[np.uint64], start: int = 0, *, any_status: bool = False) -> Ordinals:
        """Return the first row from `start` on of a new document, or one of any status, with each content, or -1.

        A document without features is a copy of nothing.
        """
        count, packed = len(contents), contents.tobytes()
        keys = [packed[at : at + 16] for at in range(0, len(packed), 16)]
        numbers, rows = self.memtable.find_contents(keys)
        stored = StoreSegment.find_contents_in(self._documents_from(start), np.ascontiguousarray(contents).reshape(-1))
        if not len(rows) and not len(stored[1]):
            return np.full(count, -1, np.int64)
        numbers, rows = np.concatenate([stored[0], numbers]), np.concatenate([stored[1], rows])
        pending = self.memtable.records(rows[len(stored[1]) :])
        records = np.concatenate([stored[2].view(self.record_type), pending])
        kept = ((records["status"] == NEW) & (records["features"] > 0)) | any_status
        return self._first_rows(count, numbers[kept], rows[kept], start)

    def _documents_from(self, start: int) -> list[StoreSegment]:
        """Return the files of documents with rows from `start` on."""
        return [segment.documents for segment in self.segments if segment.entry.last >= start]

    def _first_rows(self, count: int, numbers: NDArray[np.int64], rows: Ordinals, start: int) -> Ordinals:
        """Return the first row of each of `count` keys that is alive and not before `start`, or -1."""
        if not len(rows):
            return np.full(count, -1, np.int64)
        first = np.full(count, _NO_ROW)
        if start or len(self.removed_rows):
            valid = self.alive(rows) & (rows >= start)
            numbers, rows = numbers[valid], rows[valid]
        np.minimum.at(first, numbers, rows)
        first[first == _NO_ROW] = -1
        return first

    # Documents

    def __len__(self) -> int:
        """Return the number of documents without a tombstone."""
        return len(self.memtable) + sum(map(len, self.segments)) - len(self.removed_rows)

    def unpack_extra(self, extra: bytes) -> tuple[RecordedMatch | None, dict[str, Cell]]:
        """Return the match and the columns of a document.

        Raises
        ------
        CorruptStoreError
            The extra is damaged.
        """
        try:
            return unpack_extra(extra)
        except ValueError as error:
            raise corrupt_file(self.folder, f"a document's columns can't be read ({error}); run verify") from None

    def documents(self, rows: Ordinals, *, ledger: bool = False) -> list[StoredDocument]:
        """Return the documents of rows; with `ledger` what they stand for."""
        records, ids = self.records(rows), self.ids(rows)
        extras = [self.unpack_extra(extra) for extra in self.extras(rows)]
        matches = [match or RecordedMatch(-1, -1, float("nan")) for match, _ in extras]
        statuses = status_names(self.settings, records["status"].tolist(), [match.similarity for match in matches])
        matched = np.array([match.row for match in matches], np.int64)
        present = np.flatnonzero(matched >= 0)
        present = present[self.present(matched[present])]
        match_ids = scatter(self.ids(matched[present]), present, len(rows))
        documents = [
            StoredDocument(
                *(name, row, status, match_id, match.distance, match.similarity),
                *(int(record["features"]), int(record["length"]), columns),
            )
            for name, row, record, status, match_id, match, (_, columns) in zip(
                ids, rows.tolist(), records, statuses, match_ids, matches, extras, strict=True
            )
        ]
        if not ledger:
            return documents
        copies, last = self.ledger(rows)
        facts = zip(copies.tolist(), self.num_sources(rows), self.added(rows), self.added(last), strict=True)
        return [
            replace(document, copies=count, sources=sources, first_seen=first, last_seen=end)
            for document, (count, sources, first, end) in zip(documents, facts, strict=True)
        ]

    def matches(self, rows: Ordinals, distances: NDArray[Any], similarities: NDArray[np.float64]) -> list[StoredMatch]:
        """Return the documents of rows as matches."""
        columns = [self.unpack_extra(extra)[1] for extra in self.extras(rows)]
        return list(map(StoredMatch, self.ids(rows), distances.tolist(), similarities.tolist(), columns))

    def live_rows(self, start: int, count: int) -> Ordinals:
        """Return the first `count` rows from `start` on without a tombstone."""
        chunks: list[Ordinals] = []
        total = 0
        for rows in (*(s.all_rows() for s in self.segments if s.entry.last >= start), self.memtable.rows):
            rows = rows[np.searchsorted(rows, start) :]
            chunks.append(rows[self.alive(rows)][: count - total])
            total += len(chunks[-1])
            if total >= count:
                break
        return np.concatenate(chunks)

    def _num_kept(self) -> int:
        """Return the number of kept documents."""
        pending = self.memtable.rows[self.memtable.records(self.memtable.rows)["status"] != NEW]
        members = np.concatenate([*(segment.links[0] for segment in self.segments), pending])
        return len(self) - int(self.alive(members).sum())

    def _count_sources(self) -> int:
        """Return the number of different sources of all documents."""
        found, start = {""}, 0
        while len(rows := self.live_rows(start, _BATCH)):
            found.update(self._sources(rows))
            start = int(rows[-1]) + 1
        return len(found) - 1

    def stats(self, *, ledger: bool = False) -> StoreStats:
        """Return counts, with `ledger` also of kept documents, settings, and the bytes of the files."""
        paths = {
            "log": [*self.folder.glob(LOG_NAME + "*")],
            "documents": [segment.documents_path for segment in self.segments],
            "index": [segment.index_path for segment in self.segments],
        }
        sizes = {name: sum(path.stat().st_size for path in paths[name]) for name in paths}
        sizes["total"] = sum(sizes.values())
        return StoreStats(
            documents=len(self),
            waiting=len(self.memtable),
            segments=len(self.segments),
            removed=len(self.removed_rows),
            bytes=sizes,
            settings=self.settings.to_dict(),
            lost=len([*(self.folder / LOST_FOLDER).glob("*.json")]),
            kept=self._num_kept() if ledger else None,
            sources=self._count_sources() if ledger else None,
        )


class SnapshotRange:
    """New documents of a range of rows, with which a deduplication compares other documents.

    Parameters
    ----------
    open_snapshot : function
        Opens the snapshot for one lookup, in a transaction if none is open.
    start : int
        First row.
    stop : int
        Rows from here on are excluded; also the position of the first document of the batch.
    source : CandidateSource, optional
        The family of the deduplication, if it skips more or less than the store.
    """

    def __init__(
        self,
        open_snapshot: Callable[[], AbstractContextManager[Snapshot]],
        start: int,
        stop: int,
        source: CandidateSource | None = None,
    ) -> None:
        self._open, self._start, self._stop, self._source = open_snapshot, start, stop, source

    def __len__(self) -> int:
        """Return a number above every row."""
        return self._stop

    def copies(self, contents: NDArray[np.uint64]) -> Ordinals:
        """Return the first new document with each content, or -1."""
        with self._open() as snapshot:
            rows = snapshot.find_contents(contents, self._start)
        return np.where(rows < self._stop, rows, -1)

    def candidates(self, values: Values) -> CandidateLists:
        """Return the candidates of each query, ascending."""
        with self._open() as snapshot:
            indexes = [segment.index for segment in snapshot.segments if segment.entry.last >= self._start]
            if len(snapshot.memtable):
                indexes.append(snapshot.memtable.index)
            lists = _merge_candidates(len(values), [index.search(values, self._source) for index in indexes])
            rows = lists.ordinals
            if len(rows):
                valid = snapshot.alive(rows) & (rows >= self._start) & (rows < self._stop)
                if not valid.all():
                    lists = lists.select(valid)
            if isinstance(snapshot.settings, VectorSettings):
                return snapshot.settings.source.confirm(values, lists, snapshot.values)
            return lists

    def values(self, rows: Ordinals) -> Values:
        """Return the values of rows."""
        with self._open() as snapshot:
            return snapshot.values(rows)

    def lengths(self, rows: Ordinals) -> NDArray[np.uint64]:
        """Return the number of characters of the texts of rows."""
        with self._open() as snapshot:
            return snapshot.records(rows)["length"].astype(np.uint64)

    def texts(self, rows: Ordinals) -> TextBatch | FeatureSets:
        """Return the texts of ascending rows, or the features that the store keeps."""
        with self._open() as snapshot:
            if snapshot.settings.pages:
                return snapshot.page_texts(rows)
            if snapshot.settings.text != "features":
                return snapshot.texts(rows)
            empty = np.zeros(0, np.uint64)
            return join_sets([empty if hashes is None else hashes for hashes in snapshot.features(rows)])

    def ids(self, rows: Ordinals) -> list[Any]:
        """Return the ids of rows."""
        with self._open() as snapshot:
            return snapshot.ids(rows)


def _merge_candidates(count: int, results: list[CandidateRows]) -> CandidateLists:
    """Merge the candidates of several indexes into one list for each of `count` queries, rows ascending."""
    queries = np.concatenate([result.queries for result in results] or [np.zeros(0, np.int64)])
    rows = np.concatenate([result.rows for result in results] or [np.zeros(0, np.int64)])
    similarities = [result.similarity for result in results if result.similarity is not None]
    skipped = sum(result.skipped for result in results)
    if not len(rows) and not similarities:
        return CandidateLists(np.zeros(count + 1, np.int64), rows, np.zeros(0), skipped)
    order = rows.argsort(kind="stable") if 1 == count else np.lexsort((rows, queries))
    similarity = np.concatenate(similarities)[order] if similarities and len(similarities) == len(results) else None
    offsets = np.array([0, len(rows)]) if 1 == count else list_offsets(np.bincount(queries, minlength=count))
    return CandidateLists(offsets, rows[order], similarity, skipped)
