"""Backups of a store in one folder: what they share, and the restoration of one by time.

`Store.backup` writes `backup.json` into each backup: when it was made, its counters, and the identity (device, inode,
bytes, time of change) of each file of the store that it holds. Segments are immutable, so a file with the same identity
is the same file: instead of copying it again, the next backup in the folder makes a hard link to the copy that is
there, if the file system has hard links.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from nearkin.errors import CorruptStoreError, InputError, bad_parameter
from nearkin.store.expiry import as_time
from nearkin.store.log import LOG_NAME, Log

RECORD_NAME = "backup.json"


@dataclass(frozen=True)
class Backup:
    """A backup.

    Attributes
    ----------
    path : Path
    time : datetime
        When the log was copied, in UTC: the backup has every change that was committed before.
    documents : int
    """

    path: Path
    time: datetime
    documents: int


@dataclass
class BackupRecord:
    """Content of `backup.json`: the time in ISO 8601, the number of documents, counters, identities by name of file."""

    time: str
    documents: int
    counters: list[int]
    files: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def begin(cls, folder: Path, others: Path) -> BackupRecord:
        """Return the record of a backup whose log has just been copied into its folder.

        It is later than the backups in `others`, also if the clock was set back: the last one is restored by default.
        """
        step, end = timedelta(microseconds=1), datetime.max.replace(tzinfo=timezone.utc)
        earlier = (as_time(record.time) or end for _, record in _records(others))
        now = max([datetime.now(timezone.utc), *(min(time, end - step) + step for time in earlier)])
        with closing(Log(folder)) as log, log.reading():
            documents = log.state().pending + sum(entry.documents for entry in log.segments()) - len(log.tombstones())
            return cls(now.isoformat(), documents, _counters(log))

    @classmethod
    def read(cls, folder: Path) -> BackupRecord | None:
        """Read the record of a folder; None if it has none.

        Raises
        ------
        CorruptStoreError
            The file cannot be parsed.
        """
        path = folder / RECORD_NAME
        try:
            values: dict[str, Any] = json.loads(path.read_bytes())
            record = cls(**values)
            if as_time(record.time) is None or not all(len(identity) == 4 for identity in record.files.values()):
                raise ValueError("no time, or no identity")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, AttributeError) as error:
            reason = f"is not the record of a backup ({error}); remove the file, and open the backup as a store"
            raise CorruptStoreError(f"{path}: {reason}", place=str(path), reason=reason) from None
        return record

    def save(self, folder: Path) -> None:
        """Write and sync the record."""
        with (folder / RECORD_NAME).open("xb") as file:
            file.write(json.dumps(asdict(self), indent=1).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def check_unchanged(self, folder: Path) -> None:
        """Refuse a backup that somebody has opened for writing and changed.

        Raises
        ------
        CorruptStoreError
            Its log has other counters.
        """
        with closing(Log(folder, "r")) as log, log.reading():
            if _counters(log) != self.counters:
                reason = (
                    "was changed after it was made, so it is no backup of that time; copy it by hand if you want it"
                )
                raise CorruptStoreError(f"{folder}: {reason}", place=str(folder), reason=reason)


def _counters(log: Log) -> list[int]:
    state = log.state()
    return [state.next_row, state.generation, log.last_tombstone()]


class SharedFiles:
    """Files of earlier backups in a folder, by the identity of the file that they are copies of."""

    def __init__(self, folder: Path) -> None:
        self._copies: dict[tuple[int, ...], Path] = {}
        for path, record in sorted(_records(folder), key=lambda item: item[1].time):
            for name, identity in record.files.items():
                self._copies[tuple(identity)] = path / name

    def link(self, status: os.stat_result, target: Path) -> bool:
        """Make a hard link to the copy of a file, and return True; False if there is none, or it cannot be linked."""
        copy = self._copies.get(tuple(identity_of(status)))
        if copy is None:
            return False
        # The file system has no hard links, or the copy is gone or damaged: the caller copies the file.
        with suppress(OSError):
            if copy.stat().st_size == status.st_size:
                os.link(copy, target)
                return True
        return False


def identity_of(status: os.stat_result) -> list[int]:
    """Return what identifies an immutable file: device, inode, bytes, time of change in nanoseconds."""
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


def _records(folder: Path) -> Iterator[tuple[Path, BackupRecord]]:
    """Yield the backups in a folder, or the folder if it is one, with their records; not those that cannot be read."""
    paths = [folder] if (folder / RECORD_NAME).is_file() else sorted(folder.iterdir()) if folder.is_dir() else []
    for path in paths:
        # A damaged backup must not prevent another one.
        with suppress(CorruptStoreError, OSError):
            record = None if path.name.startswith(".") else BackupRecord.read(path)
            if record is not None and (path / LOG_NAME).is_file():
                yield path, record


def list_backups(folder: Path) -> list[Backup]:
    """Return the backups in a folder, the oldest first; the folder itself if it is a backup."""
    backups = [Backup(path, datetime.fromisoformat(record.time), record.documents) for path, record in _records(folder)]
    return sorted(backups, key=lambda backup: (backup.time, backup.path))


def no_backups(folder: Path) -> InputError:
    """Return the error of a folder without backups."""
    reason = "has no backups; give a folder in which `nearkin store backup` made them"
    if not folder.exists():
        reason = "no such folder; give one in which `nearkin store backup` made backups"
    return InputError(f"{folder}: {reason}", place=str(folder), reason=reason)


def find_backup(folder: Path, at: datetime | date | str | None) -> Backup:
    """Return the last backup that is not later than a time, or the last one.

    Raises
    ------
    InputError
        The folder has no backups.
    ParameterError
        All are later; the message lists them. Or `at` is no time.
    CorruptStoreError
        The backup was changed after it was made.
    """
    backups = list_backups(folder)
    if not backups:
        raise no_backups(folder)
    time = datetime.max.replace(tzinfo=timezone.utc) if at is None else as_time(at)
    if time is None:
        raise bad_parameter("at", repr(at), "a time such as 2026-01-31T12:00Z, or a datetime")
    fitting = [backup for backup in backups if backup.time <= time]
    if not fitting:
        listed = "; ".join(f"{backup.path.name} of {backup.time.isoformat()}" for backup in backups)
        first = backups[0].time.isoformat()
        raise bad_parameter("at", time.isoformat(), f"a time from {first} on; there are, the oldest first: {listed}")
    record = BackupRecord.read(fitting[-1].path)
    if record is not None:
        record.check_unchanged(fitting[-1].path)
    return fitting[-1]
