"""The mutable state of a store, in SQLite: pending documents, tombstones, the segment list and settings.

The log alone decides what is in the store: a file that the segment list does not name does not exist. Every change is
one transaction. With `sync="commit"` SQLite syncs its write-ahead log before a commit returns. Readers see the last
commit and never block. Writers queue.

| table | a row is |
|---|---|
| `batches` | pending documents that were added together: first row, ids, contents, records, extras, checksum |
| `texts` | the texts of consecutive documents as one compressed block, which a segment copies: first row, checksum |
| `removed` | a tombstone: the row of a removed document, in the order of removal |
| `segments` | two files of `segments/`: name, first and last row, documents, bytes |
| `added` | when documents from a row on were added, up to `ADDITION_SECONDS` early: first row, Unix seconds |
| `lines` | the counts of lines of a site of pages (`nearkin.store.lines`), checksum |
| `outputs` | a folder of output that was committed and is not published yet (`nearkin.io.atomic_write`) |
| `erased` | the number of a tombstone: its document and all removed before it are in no file, nor in the log |
| `state` | settings and counters, with the exclusive or of all checksums |

SQLite does not detect a flipped bit in a page. Each row of documents or texts therefore carries the XXH3-64 of its
bytes, and the state carries the number of pending documents and the exclusive or of all checksums, so that a missing
or changed row is detected. Documents are stored column by column, many in one row, because a row per document takes
several times as long to write.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import xor
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import store_pack, store_sums, store_unpack
from nearkin.errors import (
    CorruptStoreError,
    FormatVersionError,
    MissingFileError,
    OutputError,
    ParameterError,
    StoreLockedError,
    StoreReplacedError,
)
from nearkin.index.ids import Id
from nearkin.store.commits import CommitFile, CommitMark, read_marks
from nearkin.store.kinds.base import corrupt_file
from nearkin.store.lines import SiteLines

Mode = Literal["w", "r"]
Sync = Literal["commit", "interval"]
"""When a commit returns: after the disk has it, or after the operating system has it, which syncs at intervals."""

LOG_NAME = "log.sqlite"
APPLICATION_ID = 0x4E4B5354
"""SQLite's application id of the file: "NKST"."""
SCHEMA = 2
"""SQLite's user version of the file."""
_FETCH_ROWS = 16
"""Rows of documents fetched at a time."""
_MAX_BATCH_DOCS, _MAX_BATCH_BYTES = 4096, 1 << 18
"""Documents of a row, and bytes of their records and extras: the amount read to access one document."""
_COMPRESSION_LEVEL = 1
"""Level of zstd for new texts, without a dictionary: 4 microseconds per KB; English text shrinks to 47%."""
_WAL_PAGES = 4096
"""Pages of 4 KB after which SQLite copies its write-ahead log into the file."""
ADDITION_SECONDS = 600
"""Seconds of additions that share one row of the table `added`: 53,000 rows for a year without a pause."""
_MAX_PAUSE, _MIN_PAUSE = 0.01, 0.0005
"""Seconds between two attempts to get a lock: at first, and after a long wait."""
_CONTENT_READS, _CONTENT_PAUSE = 10, 0.02
"""Number of reads that must find another log's content in the file, and seconds between two of them."""
_FILE_MAGIC = b"SQLite format 3\0"
"""First bytes of a file of SQLite."""
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""First bytes of a write-ahead log of SQLite."""

_TABLES = """
CREATE TABLE batches (first INTEGER PRIMARY KEY, documents INTEGER, sum INTEGER, ids BLOB, contents BLOB, records BLOB,
                      extras BLOB);
CREATE TABLE texts (first INTEGER PRIMARY KEY, documents INTEGER, texts INTEGER, bytes INTEGER, length INTEGER,
                    sum INTEGER, block BLOB);
CREATE TABLE removed (number INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER UNIQUE);
CREATE TABLE segments (name TEXT PRIMARY KEY, first INTEGER, last INTEGER, documents INTEGER, bytes INTEGER);
CREATE TABLE outputs (target TEXT PRIMARY KEY, prepared TEXT);
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), settings TEXT, generation INTEGER, next_row INTEGER,
                    id_kind TEXT, waiting INTEGER, sums INTEGER, store TEXT, sequence INTEGER, removals INTEGER,
                    sum INTEGER);
"""

_ERASED_TABLE = "CREATE TABLE IF NOT EXISTS erased (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER)"
"""Stores of earlier versions get this table with their first erasure."""
_ADDED_TABLE = "CREATE TABLE IF NOT EXISTS added (first INTEGER PRIMARY KEY, time INTEGER)"
"""Stores of earlier versions get this table with their next addition."""
_LINES_TABLE = """CREATE TABLE IF NOT EXISTS lines (site TEXT PRIMARY KEY, pages INTEGER, error INTEGER, sum INTEGER,
                                          counts BLOB)"""
"""Stores of pages get this table with their first page."""


def _tombstone_bytes(rows: Iterable[int]) -> list[bytes]:
    """Return the bytes of tombstones that their checksums cover."""
    return [b"removed %d" % row for row in rows]


def _row_bytes(kind: str, rows: Iterable[Sequence[object]]) -> list[bytes]:
    """Return the bytes of outputs, or of entries of the segment list, that their checksums cover."""
    return [repr((kind, *row)).encode() for row in rows]


def _lines_bytes(row: Sequence[Any]) -> bytes:
    """Return the bytes of the lines of a site that their checksum covers; `row` has site, pages, error and counts."""
    counts: bytes = row[3]
    return repr(("lines", *row[:3])).encode() + counts


@dataclass(frozen=True)
class State:
    """The counters of a store.

    Attributes
    ----------
    settings : str
        As `StoreSettings.to_json` writes them.
    generation : int
        Number of changes of the segment list.
    next_row : int
        Row of the next document.
    id_kind : str
        "int" or "str", the kind of all ids; "" before the first document.
    pending : int
        Number of documents in the log.
    sums : int
        Exclusive or of the checksums of all rows.
    store : str
        Random id of the store, which its copies and all its segments have.
    sequence : int
        Number of changes of the state: it grows with each commit.
    removals : int
        Number of documents ever removed.
    """

    settings: str
    generation: int
    next_row: int
    id_kind: str
    pending: int
    sums: int
    store: str
    sequence: int = 0
    removals: int = 0

    @property
    def mark(self) -> CommitMark:
        """What the file `commits` says after this commit."""
        return CommitMark(self.sequence, self.next_row, self.removals, self.store)

    def columns(self) -> tuple[object, ...]:
        """Return the values of the table's columns, with the checksum of the state itself at the end."""
        # `dataclasses.astuple` would copy every value deeply, which shows in a call with one document.
        counters = self.next_row, self.id_kind, self.pending, self.sums
        fields = (self.settings, self.generation, *counters, self.store, self.sequence, self.removals)
        return (*fields, int(store_sums([repr(fields).encode()])[0]))


@dataclass(frozen=True)
class SegmentEntry:
    """An entry of the segment list: name of the files, rows from `first` to `last`, documents, bytes of both files."""

    name: str
    first: int
    last: int
    documents: int
    bytes: int


def check_is_store(folder: Path) -> None:
    """Raise MissingFileError, which says what is there instead, unless a folder has the log of a store."""
    if (folder / LOG_NAME).is_file():
        return
    reason = "no such file or folder"
    if folder.is_dir():
        reason = "the folder exists, but no store is here"
    elif folder.exists():
        reason = "is a file, and a store is a folder"
    advice = "give the folder of a store, or create one by `nearkin store create`"
    raise MissingFileError(f"{folder}: {reason}; {advice}", place=str(folder))


@dataclass(frozen=True)
class LogBatch:
    """Documents of consecutive rows as the log stores them.

    Attributes
    ----------
    first : int
        Row of the first document.
    ids : list of Id
    contents : bytes
        16 bytes per document.
    records : bytes
        Of equal width.
    extras : bytes
        The end of each extra as `u32`, then all extras; empty if all extras are empty.
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
        """The rows of the documents."""
        return np.arange(self.first, self.first + len(self))

    def split_contents(self) -> list[bytes]:
        """Return the content hash of each document."""
        return [self.contents[at : at + 16] for at in range(0, len(self.contents), 16)]

    def get_extra(self, position: int) -> bytes:
        """Return the extra of the document at a position."""
        if not self.extras:
            return b""
        count = len(self)
        ends = np.frombuffer(self.extras, "<u4", count)
        start = 4 * count + (int(ends[position - 1]) if position else 0)
        return self.extras[start : 4 * count + int(ends[position])]

    def split_extras(self) -> list[bytes]:
        """Return the extra of each document."""
        count = len(self)
        if not self.extras:
            return [b""] * count
        ends = [4 * count, *(np.frombuffer(self.extras, "<u4", count).astype(np.int64) + 4 * count).tolist()]
        return [self.extras[start:end] for start, end in pairwise(ends)]

    def encoded_ids(self) -> bytes:
        """Return the ids as JSON."""
        return json.dumps(self.ids, ensure_ascii=False, separators=(",", ":")).encode()

    def checksum_input(self, ids: bytes) -> bytes:
        """Return the bytes that the checksum covers; `ids` as they are stored."""
        head = b"batch %d %d %d %d " % (self.first, len(self), len(ids), len(self.extras))
        return b"".join((head, ids, self.contents, self.records, self.extras))


def split_batches(
    first: int, ids: list[Id], contents: bytes, records: bytes, extras: Sequence[bytes] | None
) -> list[LogBatch]:
    """Split documents into rows of the log, each of limited size; `extras` is None if all are empty."""
    count, width = len(ids), len(records) // max(len(ids), 1)
    lengths = np.zeros(count, np.int64) if extras is None else np.fromiter(map(len, extras), np.int64, count)
    ends, batches, start = np.cumsum(width + lengths), [], 0
    while start < count:
        before = int(ends[start - 1]) if start else 0
        end = min(int(np.searchsorted(ends, before + _MAX_BATCH_BYTES, side="right")), start + _MAX_BATCH_DOCS)
        end = max(end, start + 1)
        chunk = () if extras is None else extras[start:end]
        packed = b""
        if any(chunk):
            packed = np.cumsum(lengths[start:end]).astype("<u4").tobytes() + b"".join(chunk)
        columns = (contents[16 * start : 16 * end], records[width * start : width * end], packed)
        batches.append(LogBatch(first + start, ids[start:end], *columns))
        start = end
    return batches


@dataclass(frozen=True)
class TextBlock:
    """Texts of consecutive rows as the log stores them: one compressed block (`docs/format-store.md`).

    Attributes
    ----------
    first, documents : int
        Row of the first document, and the number of documents.
    texts, text_bytes : int
        Number of documents that have a text, and the bytes of their texts.
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

    def __len__(self) -> int:
        return self.documents

    def segment_block(self) -> tuple[int, int, int, int, bytes, bytes]:
        """Return the form that a segment takes; the block has no dictionary."""
        return self.documents, self.texts, self.text_bytes, self.length, self.block, b""

    def counts(self) -> tuple[int, int, int, int, int]:
        """Return the numbers of the block, in the order of the table's columns."""
        return self.first, self.documents, self.texts, self.text_bytes, self.length

    def checksum_input(self) -> bytes:
        """Return the bytes that the checksum covers."""
        return b"texts %d %d %d %d %d " % self.counts() + self.block


_Rows = TypeVar("_Rows", LogBatch, TextBlock)


def compress_texts(first: int, texts: Sequence[str | None]) -> list[TextBlock]:
    """Compress the texts of consecutive rows into blocks."""
    blocks: list[TextBlock] = []
    for documents, count, size, length, block in store_pack(texts, _COMPRESSION_LEVEL, b""):
        blocks.append(TextBlock(first, documents, count, size, length, block))
        first += documents
    return blocks


@contextmanager
def sqlite_errors(folder: Path) -> Iterator[None]:
    """Turn SQLite's errors about the log of a store into errors of nearkin."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if _is_busy(error):
            message = f"{folder}: another process is changing the store; run again, or wait longer"
            raise StoreLockedError(message, place=str(folder)) from None
        if "readonly" in text or ("unable to open" in text and not os.access(folder, os.W_OK)):
            message = f'{folder}: the store is open for reading, or its files are not writable; open it with mode="r"'
            raise OutputError(message, place=str(folder), in_place="old", errno=errno.EACCES) from None
        place, number = str(folder / LOG_NAME), errno.ENOSPC if "full" in text else errno.EIO
        message = f"{place}: {text}; committed documents are safe, open the store again"
        raise OutputError(message, place=place, in_place="old", errno=number) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # SQLite names a damaged table by the bytes in the file, which need not be text.
        raise corrupt_file(folder / LOG_NAME, f"{error}; run verify, and restore it from a backup") from error


def file_identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return device and inode of what a path names, or None if nothing is there."""
    try:
        status = os.stat(path)  # noqa: PTH116  # Called around each commit; Path.stat costs twice as much.
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _keep_open(connection: sqlite3.Connection) -> None:
    """Roll back, and leave a connection open until the process ends, so that SQLite does not tidy up after it."""
    with suppress(sqlite3.Error):
        connection.rollback()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


_FileState = tuple[tuple[int, int, int] | None, ...]
"""Bytes, time of change and inode of the log and of its write-ahead log; None for a file that does not exist."""


def _file_state(folder: Path) -> _FileState:
    return tuple(_facts(folder / name) for name in (LOG_NAME, f"{LOG_NAME}-wal"))


def _facts(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # As in `file_identity`.
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _is_busy(error: sqlite3.OperationalError) -> bool:
    """Return True if another connection has the lock."""
    return "locked" in str(error) or "busy" in str(error)


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
        self.folder, self.wait, self._place = folder, wait, str(folder / LOG_NAME)
        # What the open transaction has changed in the exclusive or of all checksums.
        self._sums = self._num_removed = 0
        self._mark: CommitMark | None = None
        self._commits: CommitFile | None = None
        check_is_store(folder)
        # Device and inode of what the paths name. SQLite writes to the files that it has opened, wherever they are now.
        self._identities = {place: file_identity(place) for place in (str(folder), self._place)}
        self._replaced = ""
        self._change = "replaced, moved or removed"
        # State of the log's file, and the store id and sequence number in it; None if they cannot be read.
        self._file_state, self._content = _facts(self._place), self._read_content()
        # An immutable connection has no locks: the sizes and times of the files that it read, None for others.
        self._immutable: _FileState | None = None
        self._num_connections = 0
        with sqlite_errors(self.folder):
            self._connection = self._connect("mode=rw") if mode == "w" else self._connect_readonly()
            if self._value("PRAGMA application_id") != APPLICATION_ID:
                raise self.corrupt("it is not the log of a store; restore it from a backup")
            version = int(str(self._value("PRAGMA user_version")))
            if version != SCHEMA:
                remedy = "update it" if version > SCHEMA else "export the store with the nearkin that wrote it"
                message = f"{self._place}: version {version} of a store; this nearkin reads version {SCHEMA}, {remedy}"
                raise FormatVersionError(message, found=version, newest=SCHEMA)
            if mode == "w":
                # A segment has the documents that are deleted here, so overwriting them would hide nothing.
                # `truncate_wal` erases them.
                self._connection.execute("PRAGMA secure_delete = OFF")
                self._connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if sync == 'commit' else 'NORMAL'}")
                # The write-ahead log remains as long as a connection is open.
                wal = f"{self._place}-wal"
                if (identity := file_identity(wal)) is not None:
                    self._identities[wal] = identity
                self._commits = CommitFile(folder)
            self.check_not_replaced()

    def _connect(self, options: str) -> sqlite3.Connection:
        uri = f"{(self.folder / LOG_NAME).absolute().as_uri()}?{options}"
        connection = sqlite3.connect(
            uri, uri=True, timeout=self.wait, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        # Checksums detect damaged text, as they detect all damage. Decoding must not.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        self._num_connections += 1
        return connection

    def _connect_readonly(self) -> sqlite3.Connection:
        """Connect for reading, without locks if the folder does not allow them and no write-ahead log exists.

        SQLite needs the files of its write-ahead log even to read, and creates them. Where it cannot, the log of a
        closed store is complete without them.

        Raises
        ------
        OutputError
            The folder is not writable, and the write-ahead log has commits that must be recovered first.
        PermissionError
            The log cannot be read.
        """
        self._immutable = None
        with ExitStack() as failed:
            try:
                connection = self._connect("mode=ro")
                failed.callback(connection.close)
                connection.execute("PRAGMA user_version").fetchone()
            except sqlite3.OperationalError as error:
                if "readonly" not in str(error) and "unable to open" not in str(error):
                    raise
            else:
                failed.pop_all()
                return connection
        path = self.folder / LOG_NAME
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        state = _file_state(self.folder)
        if state[1] is not None and state[1][0]:
            message = (
                f"{self.folder}: the store was not closed, so {LOG_NAME}-wal has commits to recover, which needs write "
                "access; open and close it where it can be written, or copy it there"
            )
            raise OutputError(message, place=str(self.folder), in_place="old", errno=errno.EACCES)
        connection = self._connect("mode=ro&immutable=1")
        self._immutable = state
        return connection

    @staticmethod
    def create(folder: Path, settings: str, store: str = "") -> None:
        """Create the log of a new store, and sync it; `store` is its id if it continues another one."""
        path = folder / LOG_NAME
        with sqlite_errors(folder), closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.executescript(f"{_TABLES}{_ERASED_TABLE};{_ADDED_TABLE};")
            state = State(settings, 0, 0, "", 0, 0, store or secrets.token_hex(16))
            connection.execute("INSERT INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", state.columns())
        CommitFile.create(folder, CommitMark(0, 0, 0, state.store))

    def close(self) -> None:
        """Close the connection; the last one copies the write-ahead log into the file and removes it."""
        if self._commits is not None:
            self._commits.close()
        with suppress(StoreReplacedError, OSError):
            self.check_not_replaced()
        if self._replaced:
            # SQLite would remove the write-ahead log by its path, which may belong to another store now.
            _keep_open(self._connection)
        else:
            self._connection.close()

    def check_same(self, other: Log) -> None:
        """Check that another log, opened by the same path, has the same files open.

        Raises
        ------
        StoreReplacedError
            It has others.
        """
        self._replaced = self._replaced or next(
            (place for place in (str(self.folder), self._place) if self._identities[place] != other._identities[place]),
            "",
        )
        self.check_not_replaced()

    def check_not_replaced(self) -> None:
        """Check that the paths still name the files that this log has open.

        Raises
        ------
        StoreReplacedError
            They do not, or did not at an earlier check.
        """
        if not self._replaced:
            changed = (place for place, known in self._identities.items() if file_identity(place) != known)
            self._replaced = next(changed, "")
        if not self._replaced and self._is_overwritten():
            self._replaced, self._change = self._place, "overwritten"
        if self._replaced:
            reason = f"it was {self._change} after the store was opened, which accepts no changes any more"
            message = f"{self._replaced}: {reason}; open the store again"
            raise StoreReplacedError(message, place=self._replaced, reason=reason)

    def _is_overwritten(self) -> bool:
        """Return True if another program wrote into the log's file: the log of another store, or an older one.

        SQLite writes into it at checkpoints alone, so this reads it after one of them, or if something else wrote.
        """
        state = _facts(self._place)
        if state == self._file_state or state is None or self._content is None:
            return False
        known, least = self._content
        for _ in range(_CONTENT_READS):
            content = self._read_content()
            if content is not None and content[0] == known and content[1] >= least:
                self._file_state, self._content = state, content
                return False
            if content is None and self._has_header():
                # It needs its write-ahead log, because a checkpoint is half done, or a reader holds it back.
                return False
            time.sleep(_CONTENT_PAUSE)
        return True

    def _has_header(self) -> bool:
        """Return True if the log's file begins as one of SQLite that has this application id."""
        with open(self._place, "rb") as file:  # noqa: PTH123  # As in `file_identity`.
            header = file.read(72)
        return header.startswith(_FILE_MAGIC) and header[68:] == APPLICATION_ID.to_bytes(4, "big")

    def _read_content(self) -> tuple[str, int] | None:
        """Return the store id and the sequence number in the log's file, without its write-ahead log."""
        uri = f"{Path(self._place).absolute().as_uri()}?mode=ro&immutable=1"
        with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as connection:
            row = connection.execute("SELECT store, sequence FROM state").fetchone()
            if row is not None and isinstance(row[0], str) and isinstance(row[1], int):
                return row[0], row[1]
        return None

    def _check_wal(self) -> None:
        """Check that the write-ahead log to which this log has committed is one.

        Raises
        ------
        StoreReplacedError
            Another program truncated or overwrote it.
        """
        with suppress(FileNotFoundError), open(f"{self._place}-wal", "rb") as wal:  # noqa: PTH123
            if (magic := wal.read(4)) and magic not in _WAL_MAGIC:
                self._replaced, self._change = wal.name, "overwritten"
                self.check_not_replaced()

    def corrupt(self, reason: str) -> CorruptStoreError:
        """Return the error for a damaged log."""
        return corrupt_file(self._place, reason)

    def _value(self, query: str) -> object:
        """Return the first value of the first row, or None if there is no row."""
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]

    def _integer(self, query: str) -> int | None:
        value = self._value(query)
        if value is None or isinstance(value, int):
            return value
        raise self._type_error(value)

    def _has_table(self, name: str) -> bool:
        """Return True unless an earlier version wrote the log, or nothing has needed the table."""
        return self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None

    def _rows(self, query: str, types: tuple[type, ...], *values: object) -> list[Any]:
        """Return the rows of a query, whose values must have these types."""
        rows = self._connection.execute(query, values).fetchall()
        for row in rows:
            for value, expected in zip(row, types, strict=True):
                if not isinstance(value, expected):
                    raise self._type_error(value)
        return rows

    def _type_error(self, value: object) -> CorruptStoreError:
        return self.corrupt(f"a row holds {value!r}, a value of another type; restore it from a backup")

    # Transactions

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one commit, whatever others write."""
        with sqlite_errors(self.folder):
            try:
                self._rollback()
                if self._is_changed():
                    self._connection.close()
                    self._connection = self._connect_readonly()
                self._connection.execute("BEGIN")
                try:
                    yield
                except (CorruptStoreError, sqlite3.DatabaseError) as error:
                    # Without locks, what was read while another user wrote may be of two commits.
                    self._check_unchanged()
                    if not isinstance(error, sqlite3.OperationalError):
                        self.check_not_replaced()
                    raise
                self._check_unchanged()
            finally:
                self._rollback()

    def _is_changed(self) -> bool:
        """Return True if another user wrote after an immutable connection was opened."""
        return self._immutable is not None and self._immutable != _file_state(self.folder)

    def _check_unchanged(self) -> None:
        """Raise StoreLockedError if another user wrote while this connection read without locks."""
        if self._is_changed():
            message = f"{self.folder}: another user opened and changed the store during this call; run it again"
            raise StoreLockedError(message, place=str(self.folder))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Exclude other writers; commit at the end, or roll back on an error."""
        with sqlite_errors(self.folder):
            try:
                self._rollback()
                self._begin_writing()
                self.check_not_replaced()
                self._sums = self._num_removed = 0
                self._mark = None
                yield
                self._connection.execute("COMMIT")
                # A commit counts only if it is in the folder that the path names.
                self.check_not_replaced()
                self._check_wal()
                self._write_mark()
            finally:
                self._rollback()

    def _write_mark(self) -> None:
        """Write the number of the commit outside of SQLite."""
        if self._commits is not None and self._mark is not None:
            self._commits.write(self._mark)

    def _begin_writing(self) -> None:
        """Begin a transaction as soon as no other writer has one."""

        def begin() -> bool:
            self._connection.execute("BEGIN IMMEDIATE")
            return True

        if not self._poll(begin, self.wait):
            raise sqlite3.OperationalError("database is locked")

    def _poll(self, attempt: Callable[[], bool], wait: float) -> bool:
        """Repeat an attempt until it succeeds, for at most `wait` seconds; return True if it succeeded.

        SQLite's own busy handler polls less and less often, so that of many writers the latest get in and the first
        may starve. This loop polls faster the longer a writer has waited.
        """
        began = time.monotonic()
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    if attempt():
                        return True
                except sqlite3.OperationalError as error:
                    if not _is_busy(error):
                        raise
                waited = time.monotonic() - began
                if waited >= wait:
                    return False
                pause = max(_MAX_PAUSE / (1 + 10 * waited), _MIN_PAUSE)
                time.sleep(min(pause, wait - waited))
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(self.wait * 1000)}")

    def _rollback(self) -> None:
        """Roll back an open transaction, such as one that an interrupt left open.

        An interrupt between entering a `with` block and its body leaves the context manager to the garbage collector,
        which may run after the connection is closed. Closing has rolled back already.
        """
        with suppress(sqlite3.ProgrammingError):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    # State

    def version(self) -> int:
        """Return a number that changes with every commit of another connection."""
        return (self._num_connections << 32) + int(str(self._value("PRAGMA data_version")))

    def state(self) -> State:
        """Return the counters.

        Raises
        ------
        CorruptStoreError
            They differ from their checksum.
        """
        rows = self._rows(
            "SELECT settings, generation, next_row, id_kind, waiting, sums, store, sequence, removals, sum FROM state",
            (str, int, int, str, int, int, str, int, int, int),
        )
        if not rows:
            raise self.corrupt("it has no state; restore it from a backup")
        state = State(*rows[0][:-1])
        if state.columns()[-1] != rows[0][-1]:
            raise self.corrupt("its state does not match its checksum; restore it from a backup")
        return state

    def marks(self) -> tuple[CommitMark | None, bool]:
        """Return the mark of the last commit, and True if the file `commits` is missing, damaged or another store's."""
        with self.reading():
            store = self.state().store
        return read_marks(self.folder, store)

    def set_state(self, state: State, **changes: Any) -> State:
        """Write the counters, with changes and with the checksums of rows added and deleted; return the new ones."""
        state = replace(state, **changes)
        state = replace(
            state,
            sums=state.sums ^ self._sums,
            sequence=state.sequence + 1,
            removals=state.removals + self._num_removed,
        )
        self._sums = self._num_removed = 0
        self._connection.execute(
            "UPDATE state SET settings = ?, generation = ?, next_row = ?, id_kind = ?, waiting = ?, sums = ?, "
            "store = ?, sequence = ?, removals = ?, sum = ?",
            state.columns(),
        )
        self._mark = state.mark
        return state

    def checksum(self) -> int:
        """Return the exclusive or of the checksums of all rows; for documents and texts, of the stored ones."""
        tables = ("batches", "texts", "lines") if self._has_table("lines") else ("batches", "texts")
        rows = self._rows(" UNION ALL ".join(f"SELECT sum FROM {table}" for table in tables), (int,))  # noqa: S608
        parts = _tombstone_bytes(row for _, row in self.tombstones()) + _row_bytes("output", self.outputs())
        parts += _row_bytes("segment", map(astuple, self.segments())) + _row_bytes("added", self.additions())
        return reduce(xor, (total for (total,) in rows), 0) ^ reduce(xor, store_sums(parts).tolist(), 0)

    def _record(self, sums: Iterable[int]) -> None:
        """Record the checksums of rows that the open transaction adds or deletes, for `set_state`."""
        self._sums = reduce(xor, sums, self._sums)

    # Documents

    def append(
        self,
        batches: Sequence[LogBatch],
        blocks: Sequence[TextBlock],
        additions: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Add documents and their texts; `additions` are records of when they were added, None for now."""
        ids = [batch.encoded_ids() for batch in batches]
        sums = store_sums(list(map(LogBatch.checksum_input, batches, ids))).tolist()
        self._connection.executemany(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (batch.first, len(batch), total, names, batch.contents, batch.records, batch.extras)
                for batch, names, total in zip(batches, ids, sums, strict=True)
            ],
        )
        text_sums = store_sums([block.checksum_input() for block in blocks]).tolist()
        self._connection.executemany(
            "INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(*block.counts(), total, block.block) for block, total in zip(blocks, text_sums, strict=True)],
        )
        self._record(sums + text_sums)
        self._record_additions(batches[0].first if batches else 0, additions)

    def _record_additions(self, first: int, additions: Sequence[tuple[int, int]] | None) -> None:
        """Record when documents are added: those from row `first` on now, unless the last record is recent."""
        if additions is None:
            now, last = int(time.time()), self.additions(last_only=True)
            # The clock may have been set back. Times ascend with rows, so that no document seems older than it is.
            additions = [] if last and now < last[0][1] + ADDITION_SECONDS else [(first, now)]
        if additions:
            self._connection.execute(_ADDED_TABLE)
            self._record(store_sums(_row_bytes("added", additions)).tolist())
            self._connection.executemany("INSERT INTO added VALUES (?, ?)", additions)

    def additions(self, *, last_only: bool = False) -> list[tuple[int, int]]:
        """Return the first row and the time of each record of additions, in Unix seconds, in order; or the last one."""
        if not self._has_table("added"):
            return []
        order = "DESC LIMIT 1" if last_only else "ASC"
        return self._rows(f"SELECT first, time FROM added ORDER BY first {order}", (int, int))  # noqa: S608 - ours

    def batches(self, first: int = 0) -> Iterator[LogBatch]:
        """Yield pending documents from row `first` on, which must be the first of a batch, in order.

        Raises
        ------
        CorruptStoreError
            A row differs from its checksum.
        """
        return self._batches("first >= ? ORDER BY first", first)

    def _batches(self, where: str, value: int) -> Iterator[LogBatch]:
        columns = "first, documents, ids, contents, records, extras, sum"
        return self._checked(f"SELECT {columns} FROM batches WHERE {where}", value, self._parse_batch)  # noqa: S608 - ours

    def _parse_batch(self, first: object, count: int, ids: Any, *columns: Any) -> tuple[LogBatch, bytes]:
        """Return the documents of a row, and the bytes that its checksum covers."""
        with suppress(ValueError, TypeError):
            names = json.loads(ids)
            if isinstance(first, int) and isinstance(names, list) and all(isinstance(part, bytes) for part in columns):
                batch = LogBatch(first, names, *columns)
                if (count, 16 * count) == (len(batch), len(batch.contents)):
                    return batch, batch.checksum_input(ids)
        raise self.corrupt(f"row {first!r} holds values of other types; restore it from a backup")

    def _checked(self, query: str, value: int, parse: Callable[..., tuple[_Rows, bytes]]) -> Iterator[_Rows]:
        """Yield the parsed rows of a query, whose last column is their checksum."""
        cursor = self._connection.execute(query, (value,))
        while lines := cursor.fetchmany(_FETCH_ROWS):
            parsed = [parse(*line[:-1]) for line in lines]
            wrong = np.flatnonzero(
                store_sums([covered for _, covered in parsed]) != np.array([line[-1] for line in lines], object)
            )
            if len(wrong):
                first = parsed[int(wrong[0])][0].first
                raise self.corrupt(f"row {first} does not match its checksum; restore it from a backup")
            yield from (item for item, _ in parsed)

    def _find(self, rows: Sequence[int], read: Callable[[str, int], Iterator[_Rows]]) -> Iterator[tuple[int, _Rows]]:
        """Yield each distinct row, ascending, with the row of the log that has it."""
        holder: _Rows | None = None
        for row in sorted(set(rows)):
            if holder is None or row >= holder.first + len(holder):
                holder = next(read("first <= ? ORDER BY first DESC LIMIT 1", row), None)
                if holder is None or row >= holder.first + len(holder):
                    raise self.corrupt(f"row {row} is missing; run verify, and restore it from a backup")
            yield row, holder

    def extras(self, rows: Sequence[int]) -> list[bytes]:
        """Return the extras of pending documents.

        Raises
        ------
        CorruptStoreError
            A row differs from its checksum, or is missing.
        """
        extras = {row: batch.get_extra(row - batch.first) for row, batch in self._find(rows, self._batches)}
        return [extras[row] for row in rows]

    # Texts

    def texts(self, rows: Sequence[int]) -> list[str | None]:
        """Return the texts of pending documents, None for a document without one.

        Raises
        ------
        CorruptStoreError
            A block differs from its checksum, or is missing.
        """
        texts: dict[int, str | None] = {}
        for row, block in self._find(rows, self._blocks):
            if row not in texts:
                texts.update(enumerate(self.decompress(block), block.first))
        return [texts[row] for row in rows]

    def blocks(self, last: int) -> Iterator[TextBlock]:
        """Yield the texts of pending documents up to a row, inclusive, in order.

        Raises
        ------
        CorruptStoreError
            A block differs from its checksum.
        """
        return self._blocks("first <= ? ORDER BY first", last)

    def _blocks(self, where: str, value: int) -> Iterator[TextBlock]:
        columns = "first, documents, texts, bytes, length, block, sum"
        return self._checked(f"SELECT {columns} FROM texts WHERE {where}", value, self._parse_block)  # noqa: S608 - ours

    def _parse_block(self, *columns: Any) -> tuple[TextBlock, bytes]:
        """Return the texts of a row, and the bytes that its checksum covers."""
        if not all(isinstance(value, int) for value in columns[:-1]) or not isinstance(columns[-1], bytes):
            raise self.corrupt(f"the texts of row {columns[0]!r} hold values of other types; restore it from a backup")
        block = TextBlock(*columns)
        return block, block.checksum_input()

    def decompress(self, block: TextBlock) -> list[str | None]:
        """Return the texts of a block.

        Raises
        ------
        CorruptStoreError
            The block is damaged.
        """
        try:
            return store_unpack(block.block, block.documents, block.length, b"")
        except (CorruptStoreError, ParameterError) as error:
            raise self.corrupt(f"the texts of row {block.first}: {error}; restore it from a backup") from None

    def text_sizes(self) -> list[tuple[int, int]]:
        """Return the first row of each block of texts and the bytes of its texts, in order."""
        return self._rows("SELECT first, bytes FROM texts ORDER BY first", (int, int))

    def first_row(self) -> int | None:
        """Return the first row of a pending document, or None if no document is pending."""
        return self._integer("SELECT min(first) FROM batches")

    def delete_documents(self, last: int) -> None:
        """Delete all documents up to a row, the last of a batch."""
        for table in ("batches", "texts"):
            rows = self._rows(f"SELECT sum FROM {table} WHERE first <= ?", (int,), last)  # noqa: S608 - ours
            self._record(total for (total,) in rows)
            self._connection.execute(f"DELETE FROM {table} WHERE first <= ?", (last,))  # noqa: S608 - ours

    # Lines of sites

    def sites(self) -> list[str]:
        """Return the sites whose lines are counted, in order."""
        rows = self._rows("SELECT site FROM lines ORDER BY site", (str,)) if self._has_table("lines") else []
        return [site for (site,) in rows]

    def lines(self, site: str) -> SiteLines:
        """Return the lines of a site, none for another site.

        Raises
        ------
        CorruptStoreError
            A row differs from its checksum.
        """
        query, types = "SELECT pages, error, counts, sum FROM lines WHERE site = ?", (int, int, bytes, int)
        for *row, total in self._rows(query, types, site) if self._has_table("lines") else []:
            with suppress(ValueError):
                if total == store_sums([_lines_bytes([site, *row])])[0]:
                    return SiteLines.unpack(*row)
            raise self.corrupt(f"the lines of site {site!r} do not match their checksum; salvage the store")
        return SiteLines()

    def set_lines(self, sites: Mapping[str, SiteLines]) -> None:
        """Write the lines of sites in place of earlier ones."""
        self._connection.execute(_LINES_TABLE)
        for site, lines in sites.items():
            row = (site, *lines.pack())
            total = int(store_sums([_lines_bytes(row)])[0])
            self._record([total, *(old for (old,) in self._rows("SELECT sum FROM lines WHERE site = ?", (int,), site))])
            self._connection.execute("INSERT OR REPLACE INTO lines VALUES (?, ?, ?, ?, ?)", (*row[:3], total, row[3]))

    # Tombstones

    def tombstones(self, after: int = 0) -> list[tuple[int, int]]:
        """Return the number and row of each tombstone with a number above `after`."""
        return self._rows("SELECT number, row FROM removed WHERE number > ? ORDER BY number", (int, int), after)

    def add_tombstones(self, rows: Sequence[int]) -> None:
        """Mark documents as removed."""
        self._record(store_sums(_tombstone_bytes(rows)).tolist())
        self._num_removed += len(rows)
        self._connection.executemany("INSERT OR IGNORE INTO removed (row) VALUES (?)", [(row,) for row in rows])

    def drop_tombstones(self, rows: Sequence[int]) -> None:
        """Drop the tombstones of documents that no file holds."""
        self._record(store_sums(_tombstone_bytes(rows)).tolist())
        self._connection.executemany("DELETE FROM removed WHERE row = ?", [(row,) for row in rows])

    def last_tombstone(self) -> int:
        """Return the largest number that a tombstone ever had, 0 if there was none."""
        return self._integer("SELECT seq FROM sqlite_sequence WHERE name = 'removed'") or 0

    def erased(self) -> int:
        """Return the number up to which removed documents are in no file, 0 if none was erased."""
        if not self._has_table("erased"):
            return 0
        return self._integer("SELECT number FROM erased") or 0

    def set_erased(self, number: int) -> None:
        """Record that documents removed up to this number are in no file."""
        self._connection.execute(_ERASED_TABLE)
        self._connection.execute("INSERT OR REPLACE INTO erased VALUES (1, ?)", (number,))

    # Outputs

    def outputs(self) -> list[tuple[str, str]]:
        """Return the pending outputs: the target folder of each, and the hidden folder that holds it."""
        return self._rows("SELECT target, prepared FROM outputs ORDER BY target", (str, str))

    def add_output(self, target: str, prepared: str) -> None:
        """Add a pending output."""
        self._record(store_sums(_row_bytes("output", [(target, prepared)])).tolist())
        self._connection.execute("INSERT INTO outputs VALUES (?, ?)", (target, prepared))

    def drop_outputs(self, targets: Collection[str]) -> None:
        """Drop outputs that are published."""
        rows = [output for output in self.outputs() if output[0] in targets]
        self._record(store_sums(_row_bytes("output", rows)).tolist())
        self._connection.executemany("DELETE FROM outputs WHERE target = ?", [(target,) for target, _ in rows])

    # Segments

    def segments(self) -> list[SegmentEntry]:
        """Return the segment list, by row."""
        rows = self._rows(
            "SELECT name, first, last, documents, bytes FROM segments ORDER BY first", (str, int, int, int, int)
        )
        return [SegmentEntry(*row) for row in rows]

    def replace_segments(
        self, old: Sequence[SegmentEntry], new: SegmentEntry | None, dropped: Sequence[int] = (), flushed: int = 0
    ) -> None:
        """Replace segments on the list by another one, in the open transaction.

        Parameters
        ----------
        old : sequence of SegmentEntry
        new : SegmentEntry, optional
        dropped : sequence of int
            Rows of removed documents that no file holds now.
        flushed : int
            Number of documents that are not pending any more.
        """
        self.drop_tombstones(dropped)
        self._connection.executemany("DELETE FROM segments WHERE name = ?", [(entry.name,) for entry in old])
        added = [] if new is None else [astuple(new)]
        self._connection.executemany("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", added)
        self._record(store_sums(_row_bytes("segment", [*map(astuple, old), *added])).tolist())
        state = self.state()
        self.set_state(state, pending=state.pending - flushed, generation=state.generation + 1)

    # The file

    def integrity_errors(self) -> list[str]:
        """Return what SQLite's integrity check reports about its own file."""
        try:
            messages = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check")]
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [] if messages == ["ok"] else messages

    def truncate_wal(self, wait: float, *, vacuum: bool = False) -> bool:
        """Copy the write-ahead log into the file and truncate it; return True if that succeeded.

        With `vacuum` the file is rewritten first, so that no deleted document remains in it. Another connection that
        reads from the write-ahead log, or writes, prevents the truncation. SQLite would wait for it with the writers'
        lock; this loop lets others work between attempts, and gives up after `wait` seconds.
        """
        remaining = ["VACUUM"] if vacuum else []

        def truncate() -> bool:
            if remaining:
                self._connection.execute(remaining[0])
                remaining.clear()
            busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy

        with sqlite_errors(self.folder):
            return self._poll(truncate, wait)

    def copy_to(self, folder: Path) -> None:
        """Copy the last commit into another folder, and sync it."""
        with sqlite_errors(self.folder), closing(sqlite3.connect(folder / LOG_NAME)) as copy:
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = WAL")
            # Not of this log, in which others may have committed meanwhile.
            mark = CommitMark(*copy.execute("SELECT sequence, next_row, removals, store FROM state").fetchone())
        CommitFile.create(folder, mark)
