"""Documents of segments that no list names: adoption from `lost/`, and salvage of a store whose log is damaged.

Each segment describes itself (`SegmentHeader`): settings and id of its store, the rows that it covers, the removed rows
and the counters of the store at the time. The newest segment that covers a row decides about it; a row that it
covers and lacks was removed. What the log still has is taken only if it matches its own checksum.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import StoreSegment
from nearkin.errors import MissingFileError, NearkinError
from nearkin.index.ids import Id, IdKeys
from nearkin.progress import Progress, ignore_progress, megabyte_ticker
from nearkin.store.commits import CommitMark, read_marks
from nearkin.store.compaction import exclusive, flush_pending, flushing, write_documents
from nearkin.store.filesystem import LOST_FOLDER, SEGMENT_FOLDER, new_store_folder
from nearkin.store.kinds import StoreSettings, read_settings, repair_files
from nearkin.store.kinds.base import SETTINGS_FILES, corrupt_file
from nearkin.store.lines import PageBatch, SiteLines, site_names
from nearkin.store.log import LOG_NAME, Log, LogBatch, SegmentEntry, State
from nearkin.store.lost import read_losses, same_documents
from nearkin.store.memory import Budget
from nearkin.store.records import NEW, record_type
from nearkin.store.segment import Segment, SegmentHeader, write_segment
from nearkin.store.snapshot import Snapshot

Rows = NDArray[np.int64]
_PAGES = 4096
"""Pages whose lines are counted at once."""


@dataclass
class Adoption:
    """Result of `Store.adopt_lost`.

    Attributes
    ----------
    adopted : int
        Documents that the store has again.
    conflicts : list of int or str
        Ids that other documents have now. Their segments remain in `lost/`.
    """

    adopted: int = 0
    conflicts: list[Id] = field(default_factory=list)


@dataclass
class Salvage:
    """Result of `Store.salvage`: what the new store has, and what is missing.

    Attributes
    ----------
    documents : int
        Documents of the new store.
    waiting : int
        Those of them that were in no segment, but in the log.
    missing_rows : list of (int, int)
        First and last row of each range of documents that were added, and are in no readable file. Among them may be
        some that were removed.
    missing_ids : list of int or str
        Ids of documents that are missing, as far as a damaged segment shows them.
    missing_removals : int
        Number of removals that are unknown: up to this many removed documents may be there again.
    missing_commits : int
        Number of commits after the last one that is known completely.
    damaged : list of (str, str)
        Files that could not be read, and the reason.
    """

    documents: int = 0
    waiting: int = 0
    missing_rows: list[tuple[int, int]] = field(default_factory=list)
    missing_ids: list[Id] = field(default_factory=list)
    missing_removals: int = 0
    missing_commits: int = 0
    damaged: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """True if nothing is missing."""
        return not (self.missing_rows or self.missing_ids or self.missing_removals or self.missing_commits)


# Adoption


def adopt_lost(folder: Path, settings: StoreSettings, budget: Budget, like: Log) -> Adoption:
    """Add the documents of intact segments in `lost/` that the store lacks, under their rows, and drop the records.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    """
    result = Adoption()
    with exclusive(folder, like) as log, flushing(folder, log.wait):
        # Pending documents have higher rows than those of segments.
        flush_pending(folder, log, settings, budget)
        for path in sorted((folder / LOST_FOLDER).glob("*.documents.nks")):
            name = path.name.partition(".")[0]
            lost = _open(folder, path, settings)
            conflicts = _adopt(folder, log, settings, budget, lost, result)
            result.conflicts += conflicts
            if not conflicts:
                for file in (path, path.with_name(f"{name}.index.nks"), path.with_name(f"{name}.json")):
                    file.unlink(missing_ok=True)
    return result


def _adopt(
    folder: Path, log: Log, settings: StoreSettings, budget: Budget, lost: Segment, result: Adoption
) -> list[Id]:
    """Adopt the documents of a segment, and return the ids that other documents have now."""
    with log.reading():
        snapshot = Snapshot(log, settings)
        state = snapshot.refresh()
        if lost.header.store != state.store:
            raise corrupt_file(lost.documents_path, "it belongs to another store; salvage that one, or delete the file")
        positions = np.arange(len(lost))
        positions = positions[~same_documents(snapshot, lost.documents, positions, read_losses(folder))]
        rows = lost.all_rows()[positions]
        taken = snapshot.find_ids(_keys(lost.documents.ids(positions))) >= 0
        conflicts: list[Id] = lost.documents.ids(positions[taken]).tolist()
        positions, rows = positions[~taken], rows[~taken]
        if snapshot.present(rows).any():
            reason = "the store has other documents under its rows; salvage the store"
            raise corrupt_file(lost.documents_path, reason)
        if not len(positions):
            return conflicts
        # Segments cover rows that do not overlap: those that would are written again, together with the lost one.
        old = [s for s in snapshot.segments if s.entry.first <= rows[-1] and s.entry.last >= rows[0]]
        sources = [(segment, np.arange(len(segment))) for segment in old] + [(lost, positions)]
        ends = [*(s.header.first for s in old), *(s.header.last for s in old), int(rows[0]), int(rows[-1])]
        header = SegmentHeader.of(log, min(ends), max(ends), [s.entry.name for s in old])
    entry = write_documents(folder, header, settings, _in_order(sources), budget)
    with log.writing():
        log.replace_segments([s.entry for s in old], entry)
        state = log.state()
        if not state.id_kind:
            log.set_state(state, id_kind=lost.header.id_kind)
    result.adopted += len(positions)
    for segment in old:
        for path in (segment.documents_path, segment.index_path):
            path.unlink(missing_ok=True)
    return conflicts


def _keys(ids: Any) -> IdKeys:
    """Return ids in the form that a lookup takes."""
    return ids.astype(np.int64) if isinstance(ids, np.ndarray) and ids.dtype.kind == "i" else list(ids)


def _open(folder: Path, path: Path, settings: StoreSettings) -> Segment:
    """Open the documents of a segment anywhere, after reading every byte."""
    documents = StoreSegment.open(str(path))
    documents.verify()
    rows = documents.rows(0, len(documents))
    entry = SegmentEntry(path.name.partition(".")[0], int(rows[0]), int(rows[-1]), len(rows), 0)
    return Segment(folder, entry, settings, documents=(path, documents))


def _in_order(sources: list[tuple[Segment, Rows]]) -> list[tuple[Segment, Rows]]:
    """Return runs of documents, ascending by row, each of one segment."""
    rows = np.concatenate([segment.all_rows()[positions] for segment, positions in sources])
    owners = np.concatenate([np.full(len(positions), number) for number, (_, positions) in enumerate(sources)])
    places = np.concatenate([positions for _, positions in sources])
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1)).tolist()
    return [
        (sources[owners[order[start]]][0], places[order[start:stop]])
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True)
    ]


# Salvage


def salvage(folder: Path, out: Path, report: Progress = ignore_progress) -> Salvage:
    """Write a new store with everything that can be read of a damaged one, which remains as it is.

    Raises
    ------
    CorruptStoreError
        No segment, and no settings in the log, can be read.
    FileExistsError
        `out` exists.
    """
    result, budget = Salvage(), Budget.of(None)
    if not (folder / SEGMENT_FOLDER).is_dir():
        raise MissingFileError(f"{folder}: no store is here; give the folder of a store", place=str(folder))
    with new_store_folder(out) as new:
        work = new / "salvage"
        (work / SEGMENT_FOLDER).mkdir(parents=True)
        with closing(_CopiedLog(folder, work, result)) as log:
            headers = _read_headers(folder, log.state, result, report)
            newest = max(headers.values(), key=lambda header: header.sequence, default=None)
            if newest is None and log.state is None:
                raise corrupt_file(folder, "neither a segment nor the log can be read; restore it from a backup")
            text = log.state.settings if log.state is not None else newest.settings if newest is not None else ""
            for name in filter(lambda name: (folder / name).exists(), SETTINGS_FILES):
                shutil.copyfile(folder / name, new / name)
            repair_files(text, str(new / LOG_NAME))
            settings = read_settings(text, str(new / LOG_NAME))
            sources = _choose(folder, headers, settings)
            found = [segment.all_rows()[positions] for segment, positions in sources]
            pending = _write_pending(work, log, settings, found, newest)
            if pending is not None:
                sources.append((pending, np.arange(len(pending))))
                found.append(pending.all_rows())
                result.waiting = len(pending)
            _build(folder, new, settings, sources, log, headers, result, budget)
        shutil.rmtree(work)
    return result


class _CopiedLog:
    """A copy of the log of a damaged store, with what can be read of it.

    Attributes
    ----------
    state : State, optional
        If it matches its checksum.
    removed : set of int, optional
        Rows of all tombstones, if none is missing.
    names : set of str
        Of the segments on the list, if it is complete.
    num_read : int
        Number of pending documents that were read completely.
    """

    def __init__(self, folder: Path, work: Path, result: Salvage) -> None:
        self.state: State | None = None
        self.removed: set[int] | None = None
        self.names: set[str] = set()
        self.num_read = 0
        self._log: Log | None = None
        for name in (LOG_NAME, f"{LOG_NAME}-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(folder / name, work / name)
        try:
            self._log = Log(work)
            with self._log.reading():
                self.state = self._log.state()
                if self._log.checksum() == self.state.sums:
                    self.removed = {row for _, row in self._log.tombstones()}
                    self.names = {entry.name for entry in self._log.segments()}
        except FileNotFoundError:
            result.damaged.append((str(folder / LOG_NAME), "it is missing"))
        except (NearkinError, OSError) as error:
            result.damaged.append((str(folder / LOG_NAME), str(getattr(error, "reason", error))))

    def batches(self) -> Iterator[tuple[LogBatch, dict[int, str | None]]]:
        """Yield batches that match their checksum, with their texts by row."""
        if self._log is None:
            return
        first = 0
        step = 1
        while first < 1 << 31:
            try:
                with self._log.reading():
                    batch = next(self._log._batches("first >= ? ORDER BY first LIMIT 1", first), None)
                    if batch is None:
                        return
                    texts: dict[int, str | None] = {}
                    for row in batch.rows.tolist():
                        if row not in texts:
                            with suppress(NearkinError, OSError):
                                block = next(self._log._blocks("first <= ? ORDER BY first DESC LIMIT 1", row), None)
                                if block is not None:
                                    texts.update(enumerate(self._log.decompress(block), block.first))
            except (NearkinError, OSError):
                # A page is damaged: look for the next batch behind it.
                first, step = first + step, 2 * step
                continue
            yield batch, texts
            first, step = batch.first + len(batch), 1

    def lines(self, result: Salvage) -> dict[str, SiteLines]:
        """Return the lines of each site that match their checksum."""
        found: dict[str, SiteLines] = {}
        sites: list[str] = []
        if self._log is not None:
            with suppress(NearkinError, OSError), self._log.reading():
                sites = self._log.sites()
            for site in sites:
                try:
                    with self._log.reading():
                        found[site] = self._log.lines(site)
                except (NearkinError, OSError) as error:  # noqa: PERF203  # One site must not lose the others.
                    result.damaged.append((str(self._log.folder / LOG_NAME), str(getattr(error, "reason", error))))
        return found

    def is_complete(self, headers: dict[Path, SegmentHeader]) -> bool:
        """Return True if all pending documents and all segments on the list were read."""
        names = {header.name for header in headers.values()}
        return self.state is not None and self.num_read == self.state.pending and self.names <= names

    def close(self) -> None:
        """Close the copy."""
        if self._log is not None:
            self._log.close()


def _read_headers(folder: Path, state: State | None, result: Salvage, report: Progress) -> dict[Path, SegmentHeader]:
    """Return the headers of all intact segments of the store, and of those in `lost/`."""
    paths = [path for part in (SEGMENT_FOLDER, LOST_FOLDER) for path in sorted((folder / part).glob("*.documents.nks"))]
    tick = megabyte_ticker(report, "read", sum(path.stat().st_size for path in paths))
    headers: dict[Path, SegmentHeader] = {}
    for path in paths:
        try:
            documents = StoreSegment.open(str(path))
            documents.verify()
            headers[path] = SegmentHeader.read(documents, path)
        except (NearkinError, OSError) as error:
            result.damaged.append((str(path), str(getattr(error, "reason", error))))
            with suppress(NearkinError, OSError):
                result.missing_ids += StoreSegment.open(str(path)).ids(np.arange(len(documents))).tolist()
        tick(path.stat().st_size)
    stores = [header.store for header in headers.values()]
    own = state.store if state is not None else max(stores, key=stores.count, default="")
    for path in [path for path, header in headers.items() if header.store != own]:
        del headers[path]
        result.damaged.append((str(path), "it belongs to another store"))
    return headers


def _choose(folder: Path, headers: dict[Path, SegmentHeader], settings: StoreSettings) -> list[tuple[Segment, Rows]]:
    """Return the documents of each segment that no newer one covers."""
    removed = np.array(sorted({row for header in headers.values() for row in header.removed}), np.int64)
    losses, covered = read_losses(folder), np.zeros(0, np.int64)
    sources: list[tuple[Segment, Rows]] = []
    spans: list[tuple[int, int]] = []
    by_age = sorted(headers.items(), key=lambda item: (item[0].parent.name != LOST_FOLDER, item[1].sequence))
    for path, header in reversed(by_age):
        segment = _open(folder, path, settings)
        rows = segment.all_rows()
        decided = np.isin(rows, covered)
        for first, last in spans:
            inside = (rows >= first) & (rows <= last)
            for loss in losses:
                # Nothing that was written after a loss decides about its rows.
                inside &= (rows < loss.first) | (rows >= loss.stop)
            decided |= inside
        positions = np.flatnonzero(~decided & ~np.isin(rows, removed))
        spans.append((header.first, header.last))
        covered = np.union1d(covered, rows)
        if len(positions):
            sources.append((segment, positions))
    return sources


def _write_pending(
    work: Path, log: _CopiedLog, settings: StoreSettings, found: list[Rows], newest: SegmentHeader | None
) -> Segment | None:
    """Write the documents of the log that no segment has into a segment, and open it."""
    stored = np.concatenate([*found, np.zeros(0, np.int64)])
    rows: list[int] = []
    ids: list[Id] = []
    contents, records, extras, texts = [], [], [], []
    dtype = record_type(settings)
    for batch, by_row in log.batches():
        if len(batch.records) != dtype.itemsize * len(batch):
            continue
        parsed = np.frombuffer(batch.records, dtype)
        hashes, own_extras = batch.split_contents(), batch.split_extras()
        for at, row in enumerate(batch.rows.tolist()):
            lacks_text = settings.text == "keep" and row not in by_row and parsed[at]["status"] == NEW
            if lacks_text:
                continue
            log.num_read += 1
            if row in (log.removed or ()):
                continue
            rows.append(row)
            ids.append(batch.ids[at])
            contents.append(hashes[at])
            records.append(parsed[at])
            extras.append(own_extras[at])
            texts.append(by_row.get(row))
    keep = np.flatnonzero(~np.isin(np.array(rows, np.int64), stored)).tolist()
    if not keep:
        return None
    state = log.state
    store = state.store if state is not None else newest.store if newest is not None else ""
    first, last = rows[keep[0]], rows[keep[-1]]
    kind = "str" if isinstance(ids[0], str) else "int"
    header = SegmentHeader(settings.to_json(), store, 0, 0, last + 1, 0, kind, first, last, [], [])
    write_segment(
        work, header, settings, ignore_progress,
        rows=np.array([rows[at] for at in keep], np.int64), ids=[ids[at] for at in keep],
        contents=np.frombuffer(b"".join(contents[at] for at in keep), "<u8").reshape(-1, 2),
        records=np.array([records[at] for at in keep], dtype), extras=[extras[at] for at in keep],
        texts=[texts[at] for at in keep] if settings.text == "keep" else None, compressed=None,
    )  # fmt: skip
    return _open(work, work / SEGMENT_FOLDER / f"{header.name}.documents.nks", settings)


def _restore_lines(log: Log, settings: StoreSettings, found: dict[str, SiteLines]) -> None:
    """Write the lines of sites that the damaged log has, and count those of other sites over the kept pages."""
    with log.writing():
        snapshot, start = Snapshot(log, settings), 0
        state = snapshot.refresh()
        log.set_lines(found)
        while len(rows := snapshot.live_rows(start, _PAGES)):
            start, kept = int(rows[-1]) + 1, rows[snapshot.records(rows)["status"] == NEW]
            columns = [snapshot.unpack_extra(extra)[1] for extra in snapshot.extras(kept)]
            sites = site_names(snapshot.ids(kept), columns)
            lost = np.array([at for at, site in enumerate(sites) if site not in found], np.int64)
            if len(lost):
                log.set_lines(PageBatch(snapshot.texts(kept), sites).count(lost, log.lines))
        log.set_state(state)


def _build(
    folder: Path,
    new: Path,
    settings: StoreSettings,
    sources: list[tuple[Segment, Rows]],
    log: _CopiedLog,
    headers: dict[Path, SegmentHeader],
    result: Salvage,
    budget: Budget,
) -> None:
    """Write the chosen documents and the log of the new store, and say what is missing."""
    state, known = log.state if log.removed is not None else None, [*headers.values()]
    store = known[0].store if known else log.state.store if log.state is not None else ""
    mark = read_marks(folder, store)[0] or CommitMark(0, 0, 0)
    removed = np.array(sorted(log.removed or ()), np.int64)
    sources = [(s, positions[~np.isin(s.all_rows()[positions], removed)]) for s, positions in sources]
    sources = [(segment, positions) for segment, positions in sources if len(positions)]
    counters = [(h.sequence, h.next_row, h.removals) for h in known]
    if state is not None:
        counters.append((state.sequence, state.next_row, state.removals))
    sequence, _, removals = (
        max(values, default=0) for values in (zip(*counters, strict=True) if counters else ((),) * 3)
    )
    next_row = max([mark.next_row, *(c[1] for c in counters), *(h.last + 1 for h in known)], default=0)
    next_row = max([next_row, *(int(s.all_rows()[-1]) + 1 for s, _ in sources)])
    there = np.zeros(next_row, bool)
    for header in known:
        there[header.first : header.last + 1] = True
    for loss in read_losses(folder):
        there[loss.first : loss.stop] = False
        result.missing_removals += loss.removals
        result.missing_commits += loss.commits
    for header in known:
        there[[row for row in header.removed if row < next_row]] = True
    there[removed[removed < next_row]] = True
    for segment, _ in sources:
        there[segment.all_rows()] = True
    if state is not None and not read_losses(folder) and log.is_complete(headers):
        # All segments on the list and all pending documents were read: the other rows were removed.
        there[: state.next_row] = True
    edges = np.flatnonzero(np.diff(np.r_[True, there, True].astype(np.int8)))
    result.missing_rows = [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
    result.missing_commits += max(mark.sequence - sequence, 0)
    result.missing_removals += max(mark.removals - removals, 0)
    kind = next(
        (h.id_kind for _, h in sorted(headers.items()) if h.id_kind), "" if log.state is None else log.state.id_kind
    )
    Log.create(new, settings.to_json(), store)
    with closing(Log(new)) as created:
        with created.reading():
            first = int(min((s.all_rows()[0] for s, _ in sources), default=0))
            header = SegmentHeader.of(created, min(first, 0), max(next_row - 1, 0))
        header = replace(header, next_row=next_row, id_kind=kind)
        entry = write_documents(new, header, settings, _in_order(sources), budget) if sources else None
        with created.writing():
            created.replace_segments([], entry)
            created.set_state(
                created.state(), next_row=next_row, id_kind=kind, sequence=max(mark.sequence, sequence),
                removals=max(mark.removals, removals),
            )  # fmt: skip
        if settings.pages:
            _restore_lines(created, settings, log.lines(result))
    result.documents = 0 if entry is None else entry.documents
