"""Output that a database promises: it takes its place if a transaction was committed, and only then.

A folder and a database can't change in one step. So the folder is written into its hidden place (`io.aside`), synced,
and a file `promise` beside it says which database decides. The transaction that changes the database writes a row into
its table `outputs`, which names the hidden folder. From that commit on the folder belongs in its place: whoever meets
it, this process, the next one that opens the database or the next one that writes there, puts it there. Without such
a row it goes, as whatever an interrupted run leaves behind.

Which folder is which after a crash follows from what they hold: the promise has the SHA-256 of the new `summary.json`
and of the one that it replaces.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from nearkin.errors import OutputError

NAME = "promise"
"""The file in a hidden folder."""
SUMMARY = "summary.json"
"""The file by which folders of output are told apart."""
WAIT = 60.0
"""Seconds that a question waits for a database that another process is recovering."""


@dataclass(frozen=True)
class Promise:
    """What decides whether a hidden folder takes its place.

    Attributes
    ----------
    database : str
        Path of the SQLite database whose table `outputs` may name the hidden folder.
    summary : str
        SHA-256 of the new folder's summary.
    replaced : str or None
        That of the folder that it replaces; None where there was none.
    files : list of str
        Names that the replaced folder does not hand over: those of its run, and those of the new one.
    """

    database: str
    summary: str
    replaced: str | None
    files: list[str]

    def save(self, folder: Path) -> None:
        """Write it into the hidden folder, synced; the caller syncs the folder."""
        with (folder / NAME).open("xb") as file:
            file.write(json.dumps(asdict(self)).encode())
            file.flush()
            os.fsync(file.fileno())

    def is_kept(self, target: Path) -> bool:
        """Whether the new folder is in its place."""
        return digest_of(target) == self.summary

    def may_replace(self, target: Path) -> bool:
        """Whether what is in the place is what the promise was made over."""
        return self.replaced is not None and digest_of(target) == self.replaced

    def is_given(self, folder: Path) -> bool:
        """Whether the database names the hidden folder.

        Raises
        ------
        OutputError
            The database is not there, or can't be asked.
        """
        path = Path(self.database)
        try:
            if not path.is_file():
                raise FileNotFoundError(os.strerror(2))
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=WAIT)) as connection:
                query = "SELECT count(*) FROM outputs WHERE prepared = ?"
                return bool(connection.execute(query, (str(folder),)).fetchone()[0])
        except (OSError, sqlite3.Error) as error:
            message = (
                f"{folder}: {path.parent} says whether this output of an interrupted run takes its place, and can't be "
                f"asked ({error}); bring it back, or remove this folder"
            )
            raise OutputError(message, place=str(folder), in_place="old") from None


def read(folder: Path) -> Promise | None:
    """The promise in a hidden folder; None where there is none, or none that was finished, which no row names.

    Raises
    ------
    OSError
        The file can't be read.
    """
    try:
        found = json.loads((folder / NAME).read_bytes())
        return Promise(**found)
    except (FileNotFoundError, ValueError, TypeError):
        return None


def made(database: Path, new: Path, target: Path, files: Iterable[str]) -> Promise:
    """The promise for a finished folder."""
    return Promise(str(database), digest_of(new) or "", digest_of(target), sorted(files))


def digest_of(folder: Path) -> str | None:
    """SHA-256 of a folder's summary; None where it has none.

    Raises
    ------
    OSError
        The summary can't be read.
    """
    try:
        return hashlib.sha256((folder / SUMMARY).read_bytes()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
