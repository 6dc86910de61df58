"""Verification of a store, and repair of files that can be rebuilt from others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nearkin._core import StoreSegment, content_hashes
from nearkin.errors import CorruptStoreError, FormatVersionError, MismatchError, NearkinError
from nearkin.progress import Progress, ignore_progress, megabyte_ticker
from nearkin.store.commits import COMMITS_NAME, CommitFile
from nearkin.store.compaction import exclusive
from nearkin.store.filesystem import LOST_FOLDER
from nearkin.store.kinds import StoreSettings, read_settings
from nearkin.store.kinds.base import corrupt_file
from nearkin.store.log import LOG_NAME, Log
from nearkin.store.lost import list_segments, missing_commits, read_losses, unlisted_segments
from nearkin.store.segment import Segment, build_index, save_index, segment_paths, write_errors
from nearkin.store.snapshot import Snapshot


@dataclass(frozen=True)
class Finding:
    """Damage of a file: the place, the reason, and True if it was repaired."""

    place: str
    reason: str
    repaired: bool = True


def check_store(folder: Path, settings: StoreSettings, report: Progress = ignore_progress) -> None:
    """Read every byte, and compare the files with one another.

    Raises
    ------
    CorruptStoreError
        The first damage, with file and section.
    """
    last_generation: int | None = None
    for loss in read_losses(folder):
        raise corrupt_file(folder / LOST_FOLDER, f"{loss}; adopt or salvage it, or delete its record")
    with closing(Log(folder, "r")) as log:
        while True:
            # Read before the transaction begins, so that what others write meanwhile is not missing from it.
            (mark, marks_damaged), names = log.marks(), list_segments(folder)
            with log.reading():
                for reason in log.integrity_errors():
                    raise log.corrupt(reason)
                try:
                    _check_commit(log, settings, report)
                    losses = [*filter(None, [missing_commits(log, mark)]), *unlisted_segments(folder, log, names)]
                except FileNotFoundError as error:
                    # A merge that was committed after this transaction began removes files, and changes the
                    # generation. If the generation is the same, the file is lost.
                    generation = log.state().generation
                    if generation == last_generation:
                        raise corrupt_file(error.filename or folder, str(error)) from None
                    last_generation = generation
                else:
                    for loss in losses:
                        raise corrupt_file(folder, f"{loss}; open the store for writing, which records the loss")
                    if marks_damaged:
                        raise corrupt_file(
                            folder / COMMITS_NAME, "it is missing, damaged or another store's; repair the store"
                        )
                    return


def _check_commit(log: Log, settings: StoreSettings, report: Progress) -> None:
    """Check what is visible in the open transaction.

    Raises
    ------
    CorruptStoreError
        The first damage.
    FileNotFoundError
        A file on the segment list is missing.
    """
    place = log.folder / LOG_NAME
    snapshot = Snapshot(log, settings)
    with _damage_at(place):
        # Read the settings again, with the files that belong to them, such as hash functions.
        read_settings(settings.to_json(), str(place))
        snapshot.refresh()
        _check_texts(log, snapshot)
        for site in log.sites():
            log.lines(site)
    tick = megabyte_ticker(report, "verify", sum(segment.entry.bytes for segment in snapshot.segments))
    for segment in snapshot.segments:
        with _damage_at(segment.documents_path):
            segment.documents.verify()
            tick(segment.documents_path.stat().st_size)
            segment.index.verify()
            _check_rows(segment)
            segment.check_index(segment.index, settings)
            tick(segment.index_path.stat().st_size)


@contextmanager
def _damage_at(place: Path) -> Iterator[None]:
    """Turn errors of files into a CorruptStoreError, which names `place` if the error names none."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (NearkinError, OSError) as error:
        raise corrupt_file(getattr(error, "place", place), str(getattr(error, "reason", error))) from error


def repair_store(folder: Path, settings: StoreSettings, report: Progress = ignore_progress) -> list[Finding]:
    """Rebuild damaged index files from the documents, then read every byte.

    Raises
    ------
    CorruptStoreError
        The log or a file of documents is damaged. No other file has their content.
    StoreLockedError
        Another process is writing segments.
    """
    repaired: list[Finding] = []
    with exclusive(folder) as log:
        mark, damaged = log.marks()
        if damaged:
            with log.reading():
                CommitFile.create(folder, mark or log.state().mark)
            repaired.append(Finding(str(folder / COMMITS_NAME), "it was missing, damaged or another store's"))
        with log.reading():
            entries = log.segments()
        tick = megabyte_ticker(report, "repair", sum(entry.bytes for entry in entries))
        for entry in entries:
            documents_path, index_path = segment_paths(folder, entry.name)
            documents = documents_path, StoreSegment.open(str(documents_path))
            segment = Segment(folder, entry, settings, documents=documents)
            damage = _index_damage(segment, settings)
            if damage is not None:
                segment.documents.verify()
                index = build_index(settings, segment.all_rows(), segment.all_records())
                with write_errors(folder):
                    save_index(index, index_path, documents_path)
                new = replace(entry, bytes=documents_path.stat().st_size + index_path.stat().st_size)
                with log.writing():
                    log.replace_segments([entry], new)
                repaired.append(Finding(str(index_path), damage))
            tick(entry.bytes)
    check_store(folder, settings, report)
    return repaired


def _index_damage(segment: Segment, settings: StoreSettings) -> str | None:
    try:
        index = segment.open_index(settings)
        index.verify()
        segment.check_index(index, settings)
    except (CorruptStoreError, FormatVersionError, MismatchError, FileNotFoundError) as error:
        return str(error)
    return None


def _check_texts(log: Log, snapshot: Snapshot) -> None:
    """Compare the texts of pending documents with their content hashes."""
    memtable, count = snapshot.memtable, 0
    for block in log.blocks(1 << 62):
        rows = np.arange(block.first, block.first + block.documents)
        texts = log.decompress(block)
        if not memtable.has(rows).all() or len(texts) - texts.count(None) != block.texts:
            raise log.corrupt(f"the texts of row {block.first} are of other documents; restore it from a backup")
        hashes = content_hashes(texts)[0].astype("<u8").reshape(-1, 2)
        for text, computed, content in zip(texts, hashes, memtable.contents(rows), strict=True):
            if text is not None and computed.tobytes() != content:
                raise log.corrupt(f"a text behind row {block.first} is another one; restore it from a backup")
        count += block.documents
    if snapshot.settings.text == "keep" and count != len(memtable):
        raise log.corrupt(f"it has texts for {count} of {len(memtable)} documents; restore it from a backup")


def _check_rows(segment: Segment) -> None:
    """Check that the documents agree with the segment list."""
    rows, entry = segment.all_rows(), segment.entry
    if (int(rows[0]), int(rows[-1])) != (entry.first, entry.last):
        raise segment.corrupt(f"its rows are {rows[0]} to {rows[-1]} and not {entry.first} to {entry.last}")
