"""The small mutable truth of a store, in SQLite: documents that wait for a segment, removals, segments, settings.

Nothing else decides what is there: a file that the list of segments does not name does not exist. Every change is one
transaction; with `sync="commit"` SQLite syncs its write-ahead log before a commit returns. Readers see the last commit
and wait for nobody; writers queue.

| table | a row is |
|---|---|
| `batches` | documents that are in no segment yet and came together: first row, ids, contents, records, extras, sum |
| `texts` | the texts of neighbouring ones as a compressed block, which a segment takes as it is: first row, checksum |
| `removed` | a removal, in their order: the row of a document that is in no answer any more |
| `segments` | two files of `segments/`: name, first and last row, documents, bytes |
| `outputs` | a folder of output that came with a commit and has still to be put in its place (`nearkin.io.atomic_write`) |
| `erased` | the number of a removal: this one and all before it are gone from every file, the write-ahead log too |
| `state` | settings; counters, with the sum of all checksums |

SQLite says nothing of a flipped bit in a page, so each row of documents or texts carries XXH3-64 of all it holds, and
the state the count of waiting documents and the exclusive or of all checksums: what is missing or changed is found.
Documents lie in columns, many in a row of the table, since a row for each takes several times as long to write.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearkin._core import store_pack, store_sums, store_unpack
from nearkin.errors import CorruptStoreError, FormatVersionError, OutputError, ParameterError, StoreLockedError
from nearkin.index.ids import Id

Mode = Literal["w", "r"]
Sync = Literal["commit", "interval"]
"""When a commit returns: once it is on the disk; or once the system has it, which syncs at intervals."""

NAME = "log.sqlite"
APPLICATION = 0x4E4B5354
"""SQLite's application id of the file: "NKST"."""
SCHEMA = 1
"""SQLite's user version of the file."""
_READ = 16
"""Rows of documents that are read at once."""
_MOST_DOCUMENTS, _MOST_BYTES = 4096, 1 << 18
"""Documents of a row, and bytes of their records and extras: what is read to look at one of them."""
_COMPRESSION = 1
"""Level of zstd for texts that come, without a dictionary: 4 microseconds for 1 KB, and 47% of English text."""
_WAL_PAGES = 4096
"""Pages of 4 KB after which SQLite copies its write-ahead log into the file."""
_SLOWEST, _FASTEST = 0.01, 0.0005
"""Seconds between two attempts of one that waits for others: at first, and at last."""

_TABLES = """
CREATE TABLE batches (first INTEGER PRIMARY KEY, documents INTEGER, sum INTEGER, ids BLOB, contents BLOB, records BLOB,
                      extras BLOB);
CREATE TABLE texts (first INTEGER PRIMARY KEY, documents INTEGER, texts INTEGER, bytes INTEGER, length INTEGER,
                    sum INTEGER, block BLOB);
CREATE TABLE removed (number INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER UNIQUE);
CREATE TABLE segments (name TEXT PRIMARY KEY, first INTEGER, last INTEGER, documents INTEGER, bytes INTEGER);
CREATE TABLE outputs (target TEXT PRIMARY KEY, prepared TEXT);
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), settings TEXT, generation INTEGER, next_row INTEGER,
                    id_kind TEXT, waiting INTEGER, sums INTEGER, sum INTEGER);
"""

_ERASED = "CREATE TABLE IF NOT EXISTS erased (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER)"
"""A table that stores of earlier versions have from their first erasing on."""


@dataclass(frozen=True)
class State:
    """The counters of a store.

    Attributes
    ----------
    settings : str
        As `StoreSettings.to_json` writes them.
    generation : int
        Counts changes of the list of segments.
    next_row : int
        Row of the next document.
    id_kind : str
        "int" or "str", the kind of all ids; "" before the first.
    waiting : int
        How many documents are in the log.
    sums : int
        Exclusive or of their checksums.
    """

    settings: str
    generation: int
    next_row: int
    id_kind: str
    waiting: int
    sums: int

    @property
    def sum(self) -> int:
        """Checksum of the state itself."""
        fields = (self.settings, self.generation, self.next_row, self.id_kind, self.waiting, self.sums)
        return int(checksums([repr(fields).encode()])[0])


@dataclass(frozen=True)
class SegmentEntry:
    """A line of the list of segments: its files' name, rows from `first` to `last`, documents, bytes of its files."""

    name: str
    first: int
    last: int
    documents: int
    bytes: int


@dataclass(frozen=True)
class LogBatch:
    """Documents of consecutive rows as they lie in the log.

    Attributes
    ----------
    first : int
        Row of the first.
    ids : list of Id
    contents : bytes
        16 for each.
    records : bytes
        Of equal width.
    extras : bytes
        Where each ends, u32, and then all of them; nothing where all are empty.
    """

    first: int
    ids: list[Id]
    contents: bytes
    records: bytes
    extras: bytes

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their rows."""
        return np.arange(self.first, self.first + len(self))

    def split_contents(self) -> list[bytes]:
        """The content of each."""
        return [self.contents[at : at + 16] for at in range(0, len(self.contents), 16)]

    def extra_of(self, place: int) -> bytes:
        """The extra of one of them."""
        if not self.extras:
            return b""
        ends = np.frombuffer(self.extras, "<u4", len(self))
        start = 4 * len(self) + (int(ends[place - 1]) if place else 0)
        return self.extras[start : 4 * len(self) + int(ends[place])]

    def all_extras(self) -> list[bytes]:
        """The extra of each."""
        count = len(self)
        if not self.extras:
            return [b""] * count
        ends = [4 * count, *(np.frombuffer(self.extras, "<u4", count).astype(np.int64) + 4 * count).tolist()]
        return [self.extras[start:end] for start, end in pairwise(ends)]


def batches_of(
    first: int, ids: list[Id], contents: bytes, records: bytes, extras: Sequence[bytes] | None
) -> list[LogBatch]:
    """Documents as rows of the log, each of limited size; `extras` is None where all are empty."""
    count, width = len(ids), len(records) // max(len(ids), 1)
    if 1 == count:
        packed = b"" if extras is None or not extras[0] else len(extras[0]).to_bytes(4, "little") + extras[0]
        return [LogBatch(first, ids, contents, records, packed)]
    lengths = np.zeros(count, np.int64) if extras is None else np.fromiter(map(len, extras), np.int64, count)
    ends, found, start = np.cumsum(width + lengths), [], 0
    while start < count:
        before = int(ends[start - 1]) if start else 0
        end = min(int(np.searchsorted(ends, before + _MOST_BYTES, side="right")), start + _MOST_DOCUMENTS)
        end = max(end, start + 1)
        some = () if extras is None else extras[start:end]
        packed = b""
        if any(some):
            packed = np.cumsum(lengths[start:end]).astype("<u4").tobytes() + b"".join(some)
        parts = (contents[16 * start : 16 * end], records[width * start : width * end], packed)
        found.append(LogBatch(first + start, ids[start:end], *parts))
        start = end
    return found


@dataclass(frozen=True)
class LogTexts:
    """Texts of consecutive rows as they lie in the log: one compressed block (`docs/format-store.md`).

    Attributes
    ----------
    first, documents : int
        Row of the first, and how many.
    texts, text_bytes : int
        How many of them have a text, and the bytes of these.
    length : int
        Bytes of the block before compression.
    block : bytes
    """

    first: int
    documents: int
    texts: int
    text_bytes: int
    length: int
    block: bytes

    def part(self) -> tuple[int, int, int, int, bytes, bytes]:
        """What a segment takes; the block has no dictionary."""
        return self.documents, self.texts, self.text_bytes, self.length, self.block, b""

    def packed(self) -> bytes:
        """All of it in one piece, for its checksum."""
        head = (self.first, self.documents, self.texts, self.text_bytes, self.length)
        return b"texts %d %d %d %d %d " % head + self.block


def packed_batch(batch: LogBatch, ids: bytes) -> bytes:
    """All of some documents in one piece, for its checksum; `ids` as they are written."""
    head = b"batch %d %d %d %d " % (batch.first, len(batch), len(ids), len(batch.extras))
    return b"".join((head, ids, batch.contents, batch.records, batch.extras))


def checksums(parts: Sequence[bytes]) -> NDArray[np.int64]:
    """XXH3-64 of each, as SQLite stores it."""
    return store_sums(parts)


def sum_of(parts: Sequence[bytes]) -> int:
    """Exclusive or of checksums."""
    return _total(checksums(parts)) if parts else 0


def texts_of(first: int, texts: Sequence[str | None]) -> list[LogTexts]:
    """Texts of consecutive rows in blocks."""
    found: list[LogTexts] = []
    for documents, count, size, length, block in store_pack(texts, _COMPRESSION, b""):
        found.append(LogTexts(first, documents, count, size, length, block))
        first += documents
    return found


def _total(sums: NDArray[np.int64]) -> int:
    return int(np.bitwise_xor.reduce(sums)) if len(sums) else 0


@contextmanager
def sqlite_errors(folder: Path) -> Iterator[None]:
    """A context in which SQLite's errors about the log of a store are those of nearkin."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if _is_busy(error):
            message = f"{folder}: another process is changing the store; run again, or wait longer"
            raise StoreLockedError(message, place=str(folder)) from None
        if "readonly" in text:
            message = f"{folder}: the store was opened for reading, or can't be written"
            raise OutputError(message, place=str(folder), in_place="old", errno=errno.EACCES) from None
        place, number = str(folder / NAME), errno.ENOSPC if "full" in text else errno.EIO
        message = f"{place}: {text}; what was committed is there, open the store again"
        raise OutputError(message, place=place, in_place="old", errno=number) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # SQLite names a damaged table by the bytes that it found; they need not be text.
        place, reason = str(folder / NAME), f"{error}; run verify, and restore it from a backup"
        raise CorruptStoreError(f"{place}: {reason}", place=place, reason=reason) from error


def _is_busy(error: sqlite3.OperationalError) -> bool:
    """Whether others have what was asked for."""
    return "locked" in str(error) or "busy" in str(error)


def _pause(waited: float) -> float:
    """Seconds until the next attempt of one that has waited this long: ever fewer, so that it gets in at last."""
    return max(_SLOWEST / (1 + 10 * waited), _FASTEST)


class Log:
    """A connection to the log of a store.

    Parameters
    ----------
    folder : Path
        The store.
    mode : {"w", "r"}
    sync : {"commit", "interval"}
    wait : float
        Seconds that a writer waits for others.
    """

    def __init__(self, folder: Path, mode: Mode = "w", sync: Sync = "commit", wait: float = 60.0) -> None:
        self.folder, self.wait, self._place = folder, wait, str(folder / NAME)
        path = folder / NAME
        if not path.is_file():
            raise FileNotFoundError(errno.ENOENT, f"{os.strerror(errno.ENOENT)}; no store is here", str(folder))
        uri = f"{path.absolute().as_uri()}?mode={'rw' if mode == 'w' else 'ro'}"
        with self._errors():
            self._connection = sqlite3.connect(
                uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            # Damaged text is found by checksums, like all damage, not by its decoding.
            self._connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            if self._one("PRAGMA application_id") != APPLICATION:
                raise self.corrupt("it is not the log of a store; restore it from a backup")
            version = int(str(self._one("PRAGMA user_version")))
            if version > SCHEMA:
                message = f"{self._place}: version {version} of a store; this nearkin reads up to {SCHEMA}, update it"
                raise FormatVersionError(message, found=version, newest=SCHEMA)
            if mode == "w":
                # What is dropped lies in a segment, so that zeros over it would hide nothing; `shrink` erases it.
                self._connection.execute("PRAGMA secure_delete = OFF")
                self._connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if sync == 'commit' else 'NORMAL'}")

    @staticmethod
    def create(folder: Path, settings: str) -> None:
        """Make the log of a new store, synced."""
        path = folder / NAME
        with sqlite_errors(folder), closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.executescript(_TABLES + _ERASED)
            state = State(settings, 0, 0, "", 0, 0)
            connection.execute("INSERT INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?)", _state_row(state))

    def close(self) -> None:
        """Close the connection; the last one copies the write-ahead log into the file and removes it."""
        self._connection.close()

    def corrupt(self, reason: str) -> CorruptStoreError:
        """The error of a log that is not what it says."""
        return CorruptStoreError(f"{self._place}: {reason}", place=self._place, reason=reason)

    def _errors(self) -> AbstractContextManager[None]:
        return sqlite_errors(self.folder)

    def _one(self, query: str, values: Sequence[object] = ()) -> object:
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else row[0]

    def _number(self, query: str) -> int | None:
        """The one number that a query finds; None for none."""
        found = self._one(query)
        if found is None or isinstance(found, int):
            return found
        raise self._other_type(found)

    def _typed(self, query: str, types: tuple[type, ...], *values: object) -> list[Any]:
        """The rows that a query finds, whose values have these types unless the file is damaged."""
        rows = self._connection.execute(query, values).fetchall()
        for row in rows:
            for value, wanted in zip(row, types, strict=True):
                if not isinstance(value, wanted):
                    raise self._other_type(value)
        return rows

    def _other_type(self, value: object) -> CorruptStoreError:
        return self.corrupt(f"a row holds {value!r}, a value of another type; restore it from a backup")

    # Transactions

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A context that sees one commit, whatever others write."""
        with self._errors():
            try:
                self._undo()
                self._connection.execute("BEGIN")
                yield
            finally:
                self._undo()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A context in which nobody else writes; committed at its end, undone by an error."""
        with self._errors():
            try:
                self._undo()
                self._begin_writing()
                yield
                self._connection.execute("COMMIT")
            finally:
                self._undo()

    def _begin_writing(self) -> None:
        """Begin a transaction when nobody else writes.

        SQLite's own wait asks less and less often, so that of many writers those that came last get in, and one that
        came first may wait for ever. Here a writer asks the more often the longer it has waited.
        """
        began = time.monotonic()
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self._connection.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    waited = time.monotonic() - began
                    if not _is_busy(error) or waited >= self.wait:
                        raise
                time.sleep(min(_pause(waited), self.wait - waited))
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(self.wait * 1000)}")

    def _undo(self) -> None:
        """End a transaction that is open; an interrupt during the last one's end may have left it."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    # State

    def version(self) -> int:
        """A number that changes with every commit of other connections."""
        return int(str(self._one("PRAGMA data_version")))

    def state(self) -> State:
        """The counters.

        Raises
        ------
        CorruptStoreError
            They differ from their checksum.
        """
        rows = self._typed(
            "SELECT settings, generation, next_row, id_kind, waiting, sums, sum FROM state",
            (str, int, int, str, int, int, int),
        )
        if not rows:
            raise self.corrupt("it has no state; restore it from a backup")
        row = rows[0]
        state = State(*row[:-1])
        if state.sum != row[-1]:
            raise self.corrupt("its state does not match its checksum; restore it from a backup")
        return state

    def set_state(self, state: State) -> None:
        """Replace the counters."""
        self._connection.execute(
            "UPDATE state SET settings = ?, generation = ?, next_row = ?, id_kind = ?, waiting = ?, sums = ?, sum = ?",
            _state_row(state),
        )

    # Documents

    def append(self, batches: Sequence[LogBatch], texts: Sequence[LogTexts]) -> int:
        """Add documents and their texts; the exclusive or of their checksums."""
        ids = [json.dumps(batch.ids, ensure_ascii=False, separators=(",", ":")).encode() for batch in batches]
        sums = checksums(list(map(packed_batch, batches, ids)))
        self._connection.executemany(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (batch.first, len(batch), total, names, batch.contents, batch.records, batch.extras)
                for batch, names, total in zip(batches, ids, sums.tolist(), strict=True)
            ],
        )
        return _total(sums) ^ self._append_texts(texts)

    def _append_texts(self, texts: Sequence[LogTexts]) -> int:
        sums = checksums([some.packed() for some in texts])
        self._connection.executemany(
            "INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    some.first,
                    some.documents,
                    some.texts,
                    some.text_bytes,
                    some.length,
                    total,
                    some.block,
                )
                for some, total in zip(texts, sums.tolist(), strict=True)
            ],
        )
        return _total(sums)

    def batches(self, first: int = 0) -> Iterator[LogBatch]:
        """Waiting documents from row `first` on, the first of a batch, in order.

        Raises
        ------
        CorruptStoreError
            A row differs from its checksum.
        """
        return self._batches("first >= ? ORDER BY first", first)

    def _batches(self, which: str, *values: int) -> Iterator[LogBatch]:
        query = f"SELECT first, documents, sum, ids, contents, records, extras FROM batches WHERE {which}"  # noqa: S608 - ours
        cursor = self._connection.execute(query, values)
        while lines := cursor.fetchmany(_READ):
            found = [self._batch(line) for line in lines]
            sums = checksums([packed_batch(batch, line[3]) for batch, line in zip(found, lines, strict=True)])
            self._compare(sums, [line[2] for line in lines], [batch.first for batch in found])
            yield from found

    def _batch(self, line: tuple[Any, ...]) -> LogBatch:
        first, count, _, ids, *parts = line
        with suppress(ValueError, TypeError):
            names = json.loads(ids)
            if isinstance(first, int) and isinstance(names, list) and all(isinstance(part, bytes) for part in parts):
                batch = LogBatch(first, names, *parts)
                if (count, 16 * count) == (len(batch), len(batch.contents)):
                    return batch
        raise self.corrupt(f"row {first!r} holds values of other types; restore it from a backup")

    def _compare(self, sums: NDArray[np.int64], totals: Sequence[object], rows: Sequence[int]) -> None:
        wrong = np.flatnonzero(sums != np.array(totals, object))
        if len(wrong):
            raise self.corrupt(f"row {rows[int(wrong[0])]} does not match its checksum; restore it from a backup")

    def extras(self, rows: Sequence[int]) -> list[bytes]:
        """Extras of waiting documents.

        Raises
        ------
        CorruptStoreError
            A row differs from its checksum, or is missing.
        """
        found: dict[int, bytes] = {}
        batch: LogBatch | None = None
        for row in sorted(set(rows)):
            if batch is None or row >= batch.first + len(batch):
                batch = next(self._batches("first <= ? ORDER BY first DESC LIMIT 1", row), None)
                if batch is None or row >= batch.first + len(batch):
                    raise self.corrupt(f"row {row} is missing; run verify, and restore it from a backup")
            found[row] = batch.extra_of(row - batch.first)
        return [found[row] for row in rows]

    # Texts

    def texts(self, rows: Sequence[int]) -> list[str | None]:
        """Texts of waiting documents, None where none is kept.

        Raises
        ------
        CorruptStoreError
            A block differs from its checksum.
        """
        found: dict[int, str | None] = {}
        for row in sorted(set(rows)):
            if row not in found:
                some = next(self._texts("first <= ? ORDER BY first DESC LIMIT 1", row), None)
                if some is None or row >= some.first + some.documents:
                    raise self.corrupt(f"the text of row {row} is missing; run verify, and restore it from a backup")
                found.update(enumerate(self.unpacked(some), some.first))
        return [found[row] for row in rows]

    def blocks(self, last: int) -> Iterator[LogTexts]:
        """Texts of waiting documents up to a row, inclusive, in order.

        Raises
        ------
        CorruptStoreError
            A block differs from its checksum.
        """
        return self._texts("first <= ? ORDER BY first", last)

    def _texts(self, which: str, *values: int) -> Iterator[LogTexts]:
        query = f"SELECT first, documents, texts, bytes, length, block, sum FROM texts WHERE {which}"  # noqa: S608 - ours
        cursor = self._connection.execute(query, values)
        while lines := cursor.fetchmany(_READ):
            for line in lines:
                if not all(isinstance(value, int) for value in line[:5]) or not isinstance(line[5], bytes):
                    raise self.corrupt(
                        f"the texts of row {line[0]!r} hold values of other types; restore it from a backup"
                    )
            found = [LogTexts(*line[:-1]) for line in lines]
            self._compare(
                checksums([one.packed() for one in found]), [line[-1] for line in lines], [one.first for one in found]
            )
            yield from found

    def unpacked(self, some: LogTexts) -> list[str | None]:
        """The texts of a block.

        Raises
        ------
        CorruptStoreError
            It can't be read.
        """
        try:
            return store_unpack(some.block, some.documents, some.length, b"")
        except (CorruptStoreError, ParameterError) as error:
            raise self.corrupt(f"the texts of row {some.first}: {error}; restore it from a backup") from None

    def text_bytes(self) -> list[tuple[int, int]]:
        """First row of each block of texts and the bytes of its texts, in order."""
        return self._typed("SELECT first, bytes FROM texts ORDER BY first", (int, int))

    def sums(self) -> int:
        """The exclusive or of the checksums of documents and texts, as they stand in the log."""
        total = 0
        for (one,) in self._typed("SELECT sum FROM batches UNION ALL SELECT sum FROM texts", (int,)):
            total ^= one
        return total

    def least_row(self) -> int | None:
        """The least row of a waiting document, None if none waits."""
        return self._number("SELECT min(first) FROM batches")

    def drop_until(self, last: int) -> int:
        """Remove all documents up to a row, inclusive, the last of a batch; the exclusive or of their checksums."""
        found = 0
        for table in ("batches", "texts"):
            for (one,) in self._typed(f"SELECT sum FROM {table} WHERE first <= ?", (int,), last):  # noqa: S608 - ours
                found ^= one
            self._connection.execute(f"DELETE FROM {table} WHERE first <= ?", (last,))  # noqa: S608 - ours
        return found

    # Removals

    def removed(self, after: int = 0) -> list[tuple[int, int]]:
        """Removals after one of them: their number and row."""
        return self._typed("SELECT number, row FROM removed WHERE number > ? ORDER BY number", (int, int), after)

    def remove(self, rows: Iterable[int]) -> None:
        """Hide documents."""
        self._connection.executemany("INSERT OR IGNORE INTO removed (row) VALUES (?)", [(row,) for row in rows])

    def forget_removed(self, rows: Iterable[int]) -> None:
        """Forget removals of documents that are gone from every file."""
        self._connection.executemany("DELETE FROM removed WHERE row = ?", [(row,) for row in rows])

    def last_removal(self) -> int:
        """The number of the last removal there ever was, 0 for none."""
        return self._number("SELECT seq FROM sqlite_sequence WHERE name = 'removed'") or 0

    def erased(self) -> int:
        """The number of the last removal that, with all before it, is gone from every file; 0 for none."""
        if self._one("SELECT 1 FROM sqlite_master WHERE name = 'erased'") is None:
            return 0
        return self._number("SELECT number FROM erased") or 0

    def set_erased(self, number: int) -> None:
        """Note that removals up to this number are gone from every file."""
        self._connection.execute(_ERASED)
        self._connection.execute("INSERT OR REPLACE INTO erased VALUES (1, ?)", (number,))

    # Outputs

    def outputs(self) -> list[tuple[str, str]]:
        """Outputs that are promised: the folder each belongs in, and the hidden folder that holds it."""
        return self._typed("SELECT target, prepared FROM outputs ORDER BY target", (str, str))

    def add_output(self, target: str, prepared: str) -> None:
        """Promise an output."""
        self._connection.execute("INSERT INTO outputs VALUES (?, ?)", (target, prepared))

    def drop_outputs(self, targets: Iterable[str]) -> None:
        """Forget outputs that are in their place."""
        self._connection.executemany("DELETE FROM outputs WHERE target = ?", [(target,) for target in targets])

    # Segments

    def segments(self) -> list[SegmentEntry]:
        """The list of segments, by row."""
        rows = self._typed(
            "SELECT name, first, last, documents, bytes FROM segments ORDER BY first", (str, int, int, int, int)
        )
        return [SegmentEntry(*row) for row in rows]

    def add_segment(self, entry: SegmentEntry) -> None:
        """Put a segment on the list."""
        values = (entry.name, entry.first, entry.last, entry.documents, entry.bytes)
        self._connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", values)

    def drop_segments(self, names: Iterable[str]) -> None:
        """Take segments from the list."""
        self._connection.executemany("DELETE FROM segments WHERE name = ?", [(name,) for name in names])

    # Whole file

    def check(self) -> list[str]:
        """What SQLite finds wrong with its own file."""
        try:
            found = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check")]
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def shrink(self, wait: float, *, anew: bool = False) -> bool:
        """Copy the write-ahead log into the file, and empty it: whether nothing dropped is left in it.

        With `anew` the file is written anew before that, so that nothing dropped is left in it either. While others
        read what the write-ahead log holds, or write, it can't be emptied. SQLite would wait for them with the lock of
        the writers; here they go on between attempts, of which the last comes `wait` seconds after the first.
        """
        began = time.monotonic()
        with self._errors():
            self._connection.execute("PRAGMA busy_timeout = 0")
            try:
                while True:
                    try:
                        if anew:
                            self._connection.execute("VACUUM")
                            anew = False
                        busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                    except sqlite3.OperationalError as error:
                        if not _is_busy(error):
                            raise
                        busy = True
                    waited = time.monotonic() - began
                    if not busy or waited >= wait:
                        return not busy
                    time.sleep(min(_pause(waited), wait - waited))
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {int(self.wait * 1000)}")

    def copy(self, folder: Path) -> None:
        """Copy what is committed into another folder, synced."""
        with self._errors(), closing(sqlite3.connect(folder / NAME)) as other:
            self._connection.backup(other)
            other.execute("PRAGMA journal_mode = WAL")


def _state_row(state: State) -> tuple[object, ...]:
    fields = (state.settings, state.generation, state.next_row, state.id_kind, state.waiting, state.sums)
    return (*fields, state.sum)
