"""What a store has lost sight of: the folder `lost/`, segments that no list names, and commits that are missing.

The log alone decides what is in a store. If SQLite drops commits, because its write-ahead log was damaged or deleted,
segments that these commits added are on no list. Such a segment may be all that is left of its documents. If the store
has all of its documents, or knows that they were removed, the segment is the leftover of a killed merge and is deleted.
Otherwise it is moved to `lost/`. Each loss has a record there, a JSON file:

| file | loss |
|---|---|
| `commits-SEQUENCE.json` | commits after this sequence number: rows of their documents, number of removals |
| `marks-SEQUENCE.json` | the file `commits`, so commits after this sequence number may be missing |
| `NAME.json`, with `NAME.documents.nks` and `NAME.index.nks` | a segment: rows of the documents that the store lacks |

Rows of lost documents are never assigned again, so a lost segment can be adopted at any time.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin._core import StoreSegment
from nearkin.errors import NearkinError, warn_caller
from nearkin.io.atomic_write import sync_folder
from nearkin.io.output import replace_file
from nearkin.store.commits import COMMITS_NAME, CommitFile, CommitMark
from nearkin.store.filesystem import LOST_FOLDER, SEGMENT_FOLDER
from nearkin.store.kinds import read_settings
from nearkin.store.log import LOG_NAME, Log
from nearkin.store.segment import SegmentHeader, segment_paths
from nearkin.store.snapshot import Snapshot

_SEGMENT_FILE = re.compile(r"([0-9a-f]{16})\.(documents|index)\.nks")
_MARKS = "marks-"
_BATCH = 1 << 16


@dataclass(frozen=True)
class Loss:
    """A record of `lost/`.

    Attributes
    ----------
    name : str
        Of the record, without its suffix.
    first, stop : int
        Rows from `first` on, below `stop`, of the documents that are missing.
    documents : int
        Their number; for commits the largest possible one, because some of the rows may be in lost segments.
    removals : int
        Number of removals that are missing.
    commits : int
        Number of commits that are missing; 0 for a segment, and if it is not known.
    """

    name: str
    first: int
    stop: int
    documents: int
    removals: int = 0
    commits: int = 0

    def __str__(self) -> str:
        if self.name.startswith(_MARKS):
            number = self.name.removeprefix(_MARKS)
            return f"the file {COMMITS_NAME} was missing at commit {number}, so commits after it may be missing"
        rows = f"rows {self.first} to {self.stop - 1}" if self.documents else "no documents"
        if not self.commits and not self.documents:
            return f"segment {self.name} is on no list and cannot be read"
        if not self.commits:
            return f"segment {self.name} is on no list: {self.documents:,} documents, {rows}"
        return f"{self.commits:,} commits are missing: {rows}, {self.removals:,} removals"


def read_losses(folder: Path) -> list[Loss]:
    """Return the records of `lost/`. One that cannot be read is a loss of unknown extent."""
    return [_read_loss(path) for path in sorted((folder / LOST_FOLDER).glob("*.json"))]


def _read_loss(path: Path) -> Loss:
    try:
        return Loss(**json.loads(path.read_bytes()))
    except (ValueError, TypeError):
        return Loss(path.stem, 0, 0, 0)


def missing_commits(log: Log, mark: CommitMark | None) -> Loss | None:
    """Return the commits that the open transaction lacks, if the last one has a later mark, read before it began.

    Without a mark of this store in the file it is not known whether commits are missing, which is a loss, too.
    """
    state = log.state()
    if mark is None or not (log.folder / COMMITS_NAME).exists():
        return Loss(f"{_MARKS}{state.sequence}", state.next_row, state.next_row, 0)
    if mark.sequence <= state.sequence:
        return None
    stop = max(mark.next_row, state.next_row)
    missing = mark.sequence - state.sequence
    removals = max(mark.removals - state.removals, 0)
    name = f"commits-{state.sequence}"
    return Loss(name, state.next_row, stop, stop - state.next_row, removals, missing)


def warn_of_losses(folder: Path, log: Log) -> None:
    """Issue a RuntimeWarning if documents or commits are missing: those recorded in `lost/`, and new ones."""
    mark, _ = log.marks()
    with log.reading():
        loss = missing_commits(log, mark)
    losses = read_losses(folder) + ([] if loss is None else [loss])
    if losses:
        warn_caller(
            f"{folder}: {'; '.join(map(str, losses))}. Take back what is there by Store.adopt_lost, or nearkin store "
            f"adopt; remove from {LOST_FOLDER}/ what you do without"
        )


def unlisted_segments(folder: Path, log: Log, names: list[str]) -> list[Loss]:
    """Return the losses among segments of which no list may know: those with documents that the store lacks.

    Parameters
    ----------
    folder : Path
    log : Log
        With an open transaction, which began after the files were listed. The documents of a segment were committed
        before it was written, so those of a running merge are not losses.
    names : list of str
        Of segments (`list_segments`).
    """
    listed = {entry.name for entry in log.segments()}
    unlisted = [name for name in names if name not in listed]
    if not unlisted:
        return []
    state = log.state()
    snapshot = Snapshot(log, read_settings(state.settings, str(folder / LOG_NAME)))
    snapshot.refresh()
    losses = []
    for name in unlisted:
        try:
            rows = _missing_rows(snapshot, segment_paths(folder, name)[0], read_losses(folder))
        except FileNotFoundError:
            # A merge has removed it meanwhile.
            continue
        except NearkinError:
            losses.append(Loss(name, 0, 0, 0))
            continue
        if len(rows):
            losses.append(Loss(name, int(rows[0]), int(rows[-1]) + 1, len(rows)))
    return losses


def list_segments(folder: Path) -> list[str]:
    """Return the names of all segments that have a file of documents."""
    matches = (_SEGMENT_FILE.fullmatch(path.name) for path in (folder / SEGMENT_FOLDER).iterdir())
    return sorted(match[1] for match in matches if match is not None and match[2] == "documents")


def _missing_rows(snapshot: Snapshot, path: Path, losses: list[Loss]) -> NDArray[np.int64]:
    """Return the rows of documents of a file that the store neither has nor knows to be removed."""
    documents, state = StoreSegment.open(str(path)), snapshot.state
    documents.verify()
    header = SegmentHeader.read(documents, path)
    rows = documents.rows(0, len(documents))
    if state is None or header.store != state.store:
        return rows
    missing = []
    for start in range(0, len(rows), _BATCH):
        chunk = rows[start : start + _BATCH]
        missing.append(chunk[~same_documents(snapshot, documents, np.arange(start, start + len(chunk)), losses)])
    return np.concatenate(missing)


def same_documents(
    snapshot: Snapshot, documents: StoreSegment, positions: NDArray[np.int64], losses: list[Loss]
) -> NDArray[np.bool_]:
    """Return True for each document of a file that the store has, under its row, or knows to be removed."""
    rows = documents.rows(0, len(documents))[positions]
    alive = snapshot.present(rows)
    # A row that was assigned and is not there was removed, unless its commit is missing.
    same = ~alive & (rows < (0 if snapshot.state is None else snapshot.state.next_row))
    for loss in losses:
        same &= alive | (rows < loss.first) | (rows >= loss.stop)
    there = np.flatnonzero(alive)
    contents = [content.tobytes() for content in documents.contents(positions[there]).reshape(-1, 2)]
    own = zip(documents.ids(positions[there]).tolist(), contents, documents.extras(positions[there]), strict=True)
    others = zip(*(read(rows[there]) for read in (snapshot.ids, snapshot.contents, snapshot.extras)), strict=True)
    same[there] = [left == right for left, right in zip(own, others, strict=True)]
    return same


def remove_unlisted(folder: Path, log: Log, name: str | None = None) -> list[Loss]:
    """Remove files that are on no list, or move them to `lost/`: of the segment of a name, or of all.

    The caller excludes others that write that segment, or any.
    """
    names = list_segments(folder) if name is None else [name]
    last_generation: int | None = None
    losses: list[Loss] | None = None
    while losses is None:
        with log.reading():
            listed = {entry.name for entry in log.segments()}
            try:
                losses = unlisted_segments(folder, log, names)
            except FileNotFoundError:
                # As in `check_store`: a merge has removed files since the transaction began, or one is lost.
                generation = log.state().generation
                if generation == last_generation:
                    raise
                last_generation = generation
    if losses:
        for loss in losses:
            _record(folder, loss)
        # Before the files are moved, because a row that is assigned again could not be adopted.
        with log.writing():
            state = log.state()
            log.set_state(state, next_row=max(state.next_row, *(loss.stop for loss in losses)))
    lost = {loss.name: loss for loss in losses}
    for path in (folder / SEGMENT_FOLDER).iterdir():
        match = _SEGMENT_FILE.fullmatch(path.name)
        if name is not None and (match is None or match[1] != name):
            continue
        if match is not None and match[1] in lost:
            path.replace(folder / LOST_FOLDER / path.name)
        elif (match is not None and match[1] not in listed) or path.name.startswith("."):
            # Hidden files are temporary files of a killed process.
            path.unlink(missing_ok=True) if not path.is_dir() else shutil.rmtree(path, ignore_errors=True)
    if losses:
        sync_folder(folder / LOST_FOLDER)
        sync_folder(folder / SEGMENT_FOLDER)
    return losses


def record_missing_commits(folder: Path, log: Log) -> None:
    """Record commits that are missing, and continue after them, so that their rows are not assigned again.

    A missing file of marks is recorded and created again.
    """
    mark, _ = log.marks()
    with log.reading():
        loss = missing_commits(log, mark)
    if loss is None:
        return
    _record(folder, loss)
    if mark is None or loss.name.startswith(_MARKS):
        with log.reading():
            CommitFile.create(folder, log.state().mark)
        return
    with log.writing():
        state = log.state()
        if state.sequence < mark.sequence:
            rows = max(state.next_row, loss.stop)
            log.set_state(state, next_row=rows, sequence=mark.sequence, removals=max(mark.removals, state.removals))


def _record(folder: Path, loss: Loss) -> None:
    """Write a record into `lost/`, synced."""
    lost = folder / LOST_FOLDER
    if not lost.is_dir():
        lost.mkdir(exist_ok=True)
        sync_folder(folder)
    with replace_file(lost / f"{loss.name}.json") as file:
        file.write(json.dumps(asdict(loss)).encode())
