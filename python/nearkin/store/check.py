"""Verification of a whole store, and repair of what follows from the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nearkin._core import StoreSegment, content_hashes
from nearkin.errors import CorruptStoreError, FormatVersionError, MismatchError, NearkinError
from nearkin.progress import Progress, megabytes, unreported
from nearkin.store.compaction import _only_one, index_of
from nearkin.store.families import store_family
from nearkin.store.indexes import StoreFamily
from nearkin.store.kinds import read_settings
from nearkin.store.log import NAME, Log, SegmentEntry, sum_of
from nearkin.store.records import indexed, record_type
from nearkin.store.segment import Part, files_of
from nearkin.store.settings import StoreSettings
from nearkin.store.snapshot import Contents, entry_key


@dataclass(frozen=True)
class Finding:
    """Damage that was found: where, what, and whether it was repaired."""

    place: str
    reason: str
    repaired: bool


def check_store(folder: Path, settings: StoreSettings, report: Progress = unreported) -> None:
    """Read every byte, and compare the files with one another.

    Raises
    ------
    CorruptStoreError
        The first damage, with file and section.
    """
    for finding in _findings(folder, settings, report):
        raise CorruptStoreError(f"{finding.place}: {finding.reason}", place=finding.place, reason=finding.reason)


def repair_store(folder: Path, settings: StoreSettings, report: Progress = unreported) -> list[Finding]:
    """Build damaged index files again from the documents, then read every byte.

    Raises
    ------
    CorruptStoreError
        Damage of what nothing else holds: the log, or a file of documents.
    StoreLockedError
        Another process is writing segments.
    """
    repaired: list[Finding] = []
    family = store_family(settings.source)
    with _only_one(folder):
        log = Log(folder)
        try:
            with log.reading():
                entries = log.segments()
            tick = megabytes(report, "repair", sum(entry.bytes for entry in entries))
            for entry in entries:
                damage = _index_damage(folder, entry, settings)
                if damage is None:
                    tick(entry.bytes)
                    continue
                documents_path, index_path = files_of(folder, entry.name)
                documents = StoreSegment.open(str(documents_path))
                documents.verify()
                count = len(documents)
                records = documents.records(np.arange(count)).view(record_type(family))
                index_of(family, documents.rows(0, count), records).save(index_path)
                size = sum(path.stat().st_size for path in files_of(folder, entry.name))
                with log.writing():
                    state = log.state()
                    log.drop_segments([entry.name])
                    log.add_segment(replace(entry, bytes=size))
                    sums = state.sums ^ sum_of([entry_key(entry)]) ^ sum_of([entry_key(replace(entry, bytes=size))])
                    log.set_state(replace(state, sums=sums, generation=state.generation + 1))
                repaired.append(Finding(str(index_path), damage, repaired=True))
                tick(entry.bytes)
        finally:
            log.close()
    check_store(folder, settings, report)
    return repaired


def _index_damage(folder: Path, entry: SegmentEntry, settings: StoreSettings) -> str | None:
    try:
        family = store_family(settings.source)
        family.open(files_of(folder, entry.name)[1]).verify()
    except (CorruptStoreError, FormatVersionError, MismatchError, FileNotFoundError) as error:
        return str(error)
    return None


def _findings(folder: Path, settings: StoreSettings, report: Progress) -> list[Finding]:
    log = Log(folder, "r")
    try:
        seen: int | None = None
        while True:
            with log.reading():
                damage = [Finding(str(folder / NAME), reason, repaired=False) for reason in log.check()]
                if damage:
                    return damage
                try:
                    return _findings_of_commit(log, settings, report)
                except FileNotFoundError as error:
                    # A merge that was committed since this transaction began removes files; its commit is counted.
                    generation = log.state().generation
                    if generation == seen:
                        return [_finding(error, str(error.filename or folder))]
                    seen = generation
    finally:
        log.close()


def _findings_of_commit(log: Log, settings: StoreSettings, report: Progress) -> list[Finding]:
    """Damage of what the open transaction sees.

    Raises
    ------
    FileNotFoundError
        A file on the list is gone.
    """
    place = str(log.folder / NAME)
    contents = Contents(log, settings)
    try:
        # What settings need beside them is read again, such as hash functions.
        read_settings(settings.to_json(), place)
        contents.refresh()
        _check_texts(log, contents)
    except FileNotFoundError:
        raise
    except (NearkinError, OSError) as error:
        return [_finding(error, place)]
    found: list[Finding] = []
    tick = megabytes(report, "verify", sum(part.entry.bytes for part in contents.parts))
    for part in contents.parts:
        try:
            part.documents.verify()
            tick(part.documents_path.stat().st_size)
            part.index.verify()
            _compare(part, contents.family)
            tick(part.index_path.stat().st_size)
        except FileNotFoundError:  # noqa: PERF203 - each segment is judged alone
            raise
        except (NearkinError, OSError) as error:
            found.append(_finding(error, str(part.documents_path)))
    return found


def _check_texts(log: Log, contents: Contents) -> None:
    """Compare the texts of waiting documents with their contents; nobody else reads them until they are asked for."""
    waiting, seen = contents.waiting, 0
    for some in log.blocks(1 << 62):
        rows = np.arange(some.first, some.first + some.documents)
        texts = log.unpacked(some)
        if not waiting.has(rows).all() or len(texts) - texts.count(None) != some.texts:
            raise log.corrupt(f"the texts of row {some.first} are of other documents; restore it from a backup")
        hashes = content_hashes(texts)[0].astype("<u8").reshape(-1, 2)
        for text, own, content in zip(texts, hashes, waiting.row_contents(rows), strict=True):
            if text is not None and own.tobytes() != content:
                raise log.corrupt(f"a text behind row {some.first} is another one; restore it from a backup")
        seen += some.documents
    if contents.settings.text == "keep" and seen != len(waiting):
        raise log.corrupt(f"it has texts for {seen} of {len(waiting)} documents; restore it from a backup")


def _compare(part: Part, family: StoreFamily) -> None:
    """Whether index and documents speak of the same."""
    records = part.all_records()
    rows = part.documents.rows(0, len(part))
    if (int(rows[0]), int(rows[-1])) != (part.entry.first, part.entry.last):
        raise part.corrupt(f"its rows are {rows[0]} to {rows[-1]} and not {part.entry.first} to {part.entry.last}")
    kept = len(indexed(family, records))
    if len(part.index) != kept:
        raise part.corrupt(f"its index holds {len(part.index)} documents of {kept}")


def _finding(error: BaseException, place: str) -> Finding:
    return Finding(str(getattr(error, "place", place)), str(getattr(error, "reason", error)), repaired=False)
