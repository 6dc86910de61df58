"""The small mutable truth of a store, in SQLite: documents that wait for a segment, removals, segments, settings.

Nothing else decides what is there: a file that the list of segments does not name does not exist. Every change is one
transaction; with `sync="commit"` SQLite syncs its write-ahead log before a commit returns. Readers see the last commit
and wait for nobody; writers queue.

| table | a row is |
|---|---|
| `documents` | a document that is in no segment yet: row, id, content, record, extra, text, checksum |
| `removed` | a removal, in their order: the row of a document that is in no answer any more |
| `segments` | two files of `segments/`: name, first and last row, documents, bytes |
| `outputs` | a folder of output that came with a commit and has still to be put in its place (`nearkin.io.promises`) |
| `erased` | the number of a removal: this one and all before it are gone from every file, the write-ahead log too |
| `state` | settings; counters, with the sum of all checksums of `documents` |

SQLite says nothing of a flipped bit in a page, so each document carries XXH3-64 of all it holds but its text, whose
hash is its content, and the state the count of waiting documents and the exclusive or of their checksums: a document
that is missing or changed is found.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, feature_hashes
from nearkin.errors import CorruptStoreError, FormatVersionError, OutputError, StoreLockedError
from nearkin.search.ids import Id

Mode = Literal["w", "r"]
Sync = Literal["commit", "interval"]
"""When a commit returns: once it is on the disk; or once the system has it, which syncs at intervals."""

NAME = "log.sqlite"
APPLICATION = 0x4E4B5354
"""SQLite's application id of the file: "NKST"."""
SCHEMA = 1
"""SQLite's user version of the file."""
_TEXTS = 256
"""Documents that are read at once with their texts."""
_WAL_PAGES = 4096
"""Pages of 4 KB after which SQLite copies its write-ahead log into the file."""
_SLOWEST, _FASTEST = 0.01, 0.0005
"""Seconds between two attempts of one that waits for others: at first, and at last."""

_TABLES = """
CREATE TABLE documents (row INTEGER PRIMARY KEY, id, content BLOB, record BLOB, extra BLOB, text BLOB, sum INTEGER);
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
class LogDocument:
    """A document as it lies in the log."""

    row: int
    id: Id
    content: bytes
    record: bytes
    extra: bytes
    text: bytes | None

    def packed(self) -> bytes:
        """All of it but the text in one piece, for its checksum; the content is the hash of the text."""
        size = -1 if self.text is None else len(self.text)
        return pack(self.row, self.id, self.content, self.record, self.extra, size)


def pack(row: int, name: Id, content: bytes, record: bytes, extra: bytes, size: int) -> bytes:
    """A document but its text, of which `size` is the number of bytes, or -1 where none is kept."""
    key = b"s" + name.encode() if isinstance(name, str) else b"i%d" % name
    return b"".join((b"%d %d %d %d " % (row, len(key), len(extra), size), key, content, record, extra))


def checksums(parts: Sequence[bytes]) -> NDArray[np.int64]:
    """XXH3-64 of each, as SQLite stores it."""
    return feature_hashes("xxh3", list(parts)).view(np.int64)


@contextmanager
def sqlite_errors(folder: Path) -> Iterator[None]:
    """A context in which SQLite's errors about the log of a store are those of nearkin."""
    place = str(folder / NAME)
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
        number = errno.ENOSPC if "full" in text else errno.EIO
        message = f"{place}: {text}; what was committed is there, open the store again"
        raise OutputError(message, place=place, in_place="old", errno=number) from error
    except sqlite3.DatabaseError as error:
        reason = f"{error}; run verify, and restore it from a backup"
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
            if self._one("PRAGMA application_id") != APPLICATION:
                raise self.corrupt("it is not the log of a store; restore it from a backup")
            version = int(str(self._one("PRAGMA user_version")))
            if version > SCHEMA:
                message = f"{self._place}: version {version} of a store; this nearkin reads up to {SCHEMA}, update it"
                raise FormatVersionError(message, found=version, newest=SCHEMA)
            if mode == "w":
                self._connection.execute("PRAGMA secure_delete = ON")
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
        row = self._connection.execute(
            "SELECT settings, generation, next_row, id_kind, waiting, sums, sum FROM state"
        ).fetchone()
        if row is None:
            raise self.corrupt("it has no state; restore it from a backup")
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

    def append(self, documents: Sequence[LogDocument]) -> int:
        """Add documents; the exclusive or of their checksums."""
        sums = checksums([document.packed() for document in documents])
        self._connection.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (document.row, document.id, document.content, document.record, document.extra, document.text, total)
                for document, total in zip(documents, sums.tolist(), strict=True)
            ],
        )
        return int(np.bitwise_xor.reduce(sums)) if len(sums) else 0

    def documents(self, first: int = 0, last: int | None = None) -> Iterator[LogDocument]:
        """Waiting documents from row `first` to `last`, inclusive, in order.

        Raises
        ------
        CorruptStoreError
            One differs from its checksum.
        """
        cursor = self._connection.execute(
            "SELECT row, id, content, record, extra, text, sum FROM documents WHERE row >= ? AND row <= ? ORDER BY row",
            (first, (1 << 62) if last is None else last),
        )
        while rows := cursor.fetchmany(_TEXTS):
            found = [self._document(row[:-1]) for row in rows]
            self._check(found, [row[-1] for row in rows])
            yield from found

    def look_ups(self) -> Iterator[tuple[list[int], list[Id], list[bytes], list[bytes], int]]:
        """Waiting documents without extras and texts, many at a time: rows, ids, contents, records, and what sums give.

        Raises
        ------
        CorruptStoreError
            One differs from its checksum.
        """
        cursor = self._connection.execute(
            "SELECT row, id, content, record, extra, ifnull(length(text), -1), sum FROM documents ORDER BY row"
        )
        while lines := cursor.fetchmany(1 << 14):
            rows, ids, contents, records, extras, sizes, totals = map(list, zip(*lines, strict=True))
            try:
                sums = checksums(list(map(pack, rows, ids, contents, records, extras, sizes)))
            except (TypeError, AttributeError):
                raise self.corrupt("a row holds values of other types; restore it from a backup") from None
            wrong = np.flatnonzero(sums != np.array(totals, object))
            if len(wrong):
                raise self.corrupt(f"row {rows[int(wrong[0])]} does not match its checksum; restore it from a backup")
            yield rows, ids, contents, records, int(np.bitwise_xor.reduce(sums))

    def _document(self, row: tuple[object, ...]) -> LogDocument:
        number, name, content, record, extra, text = row
        kinds = isinstance(number, int) and isinstance(name, (int, str)) and (text is None or isinstance(text, bytes))
        if not kinds or not all(isinstance(part, bytes) for part in (content, record, extra)):
            raise self.corrupt(f"row {number!r} holds values of other types; restore it from a backup")
        return LogDocument(number, name, content, record, extra, text)  # type: ignore[arg-type]  # Checked above.

    def some(self, rows: Iterable[int]) -> list[LogDocument]:
        """Waiting documents of these rows, in their order; those that are not there are left out.

        Raises
        ------
        CorruptStoreError
            One differs from its checksum.
        """
        query = "SELECT row, id, content, record, extra, text, sum FROM documents WHERE row = ?"
        execute = self._connection.execute
        found = [line for row in rows if (line := execute(query, (row,)).fetchone()) is not None]
        documents = [self._document(line[:-1]) for line in found]
        self._check(documents, [line[-1] for line in found])
        return documents

    def _check(self, documents: Sequence[LogDocument], totals: Sequence[object]) -> None:
        """Compare documents with their checksums, and texts with the hash of their content."""
        sums = checksums([document.packed() for document in documents]).tolist()
        texts = [document for document in documents if document.text is not None]
        try:
            hashes, _ = content_hashes([(document.text or b"").decode() for document in texts])
        except UnicodeDecodeError:
            raise self.corrupt("a text is not UTF-8; restore it from a backup") from None
        found = hashes.astype("<u8").reshape(-1, 2)
        wrong = [document for document, total, own in zip(documents, totals, sums, strict=True) if total != own]
        wrong += [one for one, content in zip(texts, found, strict=True) if content.tobytes() != one.content]
        if wrong:
            raise self.corrupt(f"row {wrong[0].row} does not match its checksum; restore it from a backup")

    def least_row(self) -> int | None:
        """The least row of a waiting document, None if none waits."""
        found = self._one("SELECT min(row) FROM documents")
        return None if found is None else int(str(found))

    def drop_until(self, last: int) -> None:
        """Remove all documents up to a row, inclusive."""
        self._connection.execute("DELETE FROM documents WHERE row <= ?", (last,))

    # Removals

    def removed(self, after: int = 0) -> list[tuple[int, int]]:
        """Removals after one of them: their number and row."""
        return self._connection.execute(
            "SELECT number, row FROM removed WHERE number > ? ORDER BY number", (after,)
        ).fetchall()

    def remove(self, rows: Iterable[int]) -> None:
        """Hide documents."""
        self._connection.executemany("INSERT OR IGNORE INTO removed (row) VALUES (?)", [(row,) for row in rows])

    def forget_removed(self, rows: Iterable[int]) -> None:
        """Forget removals of documents that are gone from every file."""
        self._connection.executemany("DELETE FROM removed WHERE row = ?", [(row,) for row in rows])

    def last_removal(self) -> int:
        """The number of the last removal there ever was, 0 for none."""
        found = self._one("SELECT seq FROM sqlite_sequence WHERE name = 'removed'")
        return 0 if found is None else int(str(found))

    def erased(self) -> int:
        """The number of the last removal that, with all before it, is gone from every file; 0 for none."""
        if self._one("SELECT 1 FROM sqlite_master WHERE name = 'erased'") is None:
            return 0
        found = self._one("SELECT number FROM erased")
        return 0 if found is None else int(str(found))

    def set_erased(self, number: int) -> None:
        """Note that removals up to this number are gone from every file."""
        self._connection.execute(_ERASED)
        self._connection.execute("INSERT OR REPLACE INTO erased VALUES (1, ?)", (number,))

    # Outputs

    def outputs(self) -> list[tuple[str, str]]:
        """Outputs that are promised: the folder each belongs in, and the hidden folder that holds it."""
        return self._connection.execute("SELECT target, prepared FROM outputs ORDER BY target").fetchall()

    def add_output(self, target: str, prepared: str) -> None:
        """Promise an output."""
        self._connection.execute("INSERT INTO outputs VALUES (?, ?)", (target, prepared))

    def drop_outputs(self, targets: Iterable[str]) -> None:
        """Forget outputs that are in their place."""
        self._connection.executemany("DELETE FROM outputs WHERE target = ?", [(target,) for target in targets])

    # Segments

    def segments(self) -> list[SegmentEntry]:
        """The list of segments, by row."""
        rows = self._connection.execute("SELECT name, first, last, documents, bytes FROM segments ORDER BY first")
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

    def shrink(self, wait: float) -> bool:
        """Copy the write-ahead log into the file, and empty it: whether nothing dropped is left in it.

        While others read what it holds, or write, it can't be emptied. SQLite would wait for them with the lock of the
        writers; here they go on between attempts, of which the last comes `wait` seconds after the first.
        """
        began = time.monotonic()
        with self._errors():
            self._connection.execute("PRAGMA busy_timeout = 0")
            try:
                while True:
                    busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
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
