"""Compaction: flush pending documents into segments, merge segments, erase removed documents, back up a store.

A segment is written and synced first, and then added to the segment list, in the transaction that also deletes its
documents from the log. A crash therefore leaves at worst files that are not on the list, which `remove_orphans`
deletes. Readers keep the files that they have open, and so does a backup.

**Locks** of the operating system: one process at a time flushes and holds `.flush.lock`; one at a time merges and holds
`.segments.lock`. A flush goes on during a merge, so that the number of pending documents stays bounded. A merge that
flushes takes `.segments.lock` first.

**Tiers.** Flushing makes a segment of level 0, and `MERGE_FACTOR` adjacent segments of one level become one of the
next. Each document is thus written log(n) times, and n documents need O(log n) segments.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Ordinals
from nearkin.errors import StoreLockedError, warn_caller
from nearkin.io import locks
from nearkin.progress import Progress, ignore_progress, megabyte_ticker
from nearkin.store.backups import BackupRecord, SharedFiles, identity_of
from nearkin.store.commits import COMMITS_NAME
from nearkin.store.filesystem import SEGMENT_FOLDER, new_store_folder
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.base import SETTINGS_FILES, corrupt_file
from nearkin.store.log import LOG_NAME, Log, LogBatch, SegmentEntry
from nearkin.store.lost import remove_unlisted
from nearkin.store.memory import Budget, spill_texts
from nearkin.store.records import record_type
from nearkin.store.segment import CompressedTexts, Segment, SegmentHeader, segment_paths, write_errors, write_segment
from nearkin.text.batches import Texts

MERGE_FACTOR = 4
"""Adjacent segments of one level that become one."""
MAX_SEGMENT_DOCS = 1 << 24
"""Only `Store.merge` makes a segment of more documents."""
_LOCK_NAME, _FLUSH_LOCK_NAME = ".segments.lock", ".flush.lock"
_FLUSH = "writing a segment of the store"
_LOCK_PAUSE = 0.01
"""Seconds between two attempts to get a lock."""
_MAX_RETRIES = 100
"""Times a backup begins again because a merge has removed its files."""


def exclusive(folder: Path, like: Log | None = None) -> AbstractContextManager[Log]:
    """Exclude other processes that merge segments, and open a log for the work.

    Parameters
    ----------
    folder : Path
    like : Log, optional
        The caller's log, which must be that of the folder.

    Raises
    ------
    StoreLockedError
        Another process is merging segments.
    StoreReplacedError
        The folder is not that of the caller's log any more.
    """
    return _locked(folder / _LOCK_NAME, "merging the store", like)


@contextmanager
def _locked(path: Path, action: str, like: Log | None) -> Iterator[Log]:
    """Hold a lock in the folder of a store, and open its log, which must be `like` that of the caller."""
    if like is not None:
        like.check_not_replaced()
    with _hold(path, action, 0.0), closing(Log(path.parent)) as log:
        if like is not None:
            like.check_same(log)
        yield log


@contextmanager
def _hold(path: Path, action: str, wait: float) -> Iterator[None]:
    """Hold a lock, which another process must release within `wait` seconds."""
    deadline = time.monotonic() + wait
    while (lock := locks.acquire_or_none(path)) is None:
        if time.monotonic() >= deadline:
            message = f"{path.parent}: another process is {action}; run again when it has ended"
            raise StoreLockedError(message, place=str(path.parent))
        time.sleep(_LOCK_PAUSE)
    try:
        yield
    finally:
        lock.release()


def flushing(folder: Path, wait: float = 0.0) -> AbstractContextManager[None]:
    """Exclude other processes that flush; one that does must end within `wait` seconds."""
    return _hold(folder / _FLUSH_LOCK_NAME, _FLUSH, wait)


def remove_orphans(folder: Path) -> None:
    """Remove segment files that are on no list, or move them to `lost/`, unless another process writes segments."""
    with suppress(StoreLockedError), exclusive(folder) as log, flushing(folder):
        remove_unlisted(folder, log)


# Flushing


def flush(folder: Path, settings: StoreSettings, budget: Budget, like: Log | None = None) -> None:
    """Write the pending documents into a segment, or into several if their texts exceed the budget.

    Raises
    ------
    StoreLockedError
        Another process is flushing.
    """
    with _locked(folder / _FLUSH_LOCK_NAME, _FLUSH, like) as log:
        flush_pending(folder, log, settings, budget)


def flush_pending(
    folder: Path, log: Log, settings: StoreSettings, budget: Budget, report: Progress = ignore_progress
) -> None:
    """Write the documents that are pending now into segments; the caller excludes others that write segments."""
    with log.reading():
        first = log.state()
    report("write", 0, first.pending)
    # Documents added from now on are left to the next flush.
    while _flush_segment(folder, log, settings, budget) < first.next_row - 1:
        with log.reading():
            report("write", max(first.pending - log.state().pending, 0), first.pending)
    report("write", first.pending, first.pending)


def _first_batches(log: Log, max_bytes: int) -> list[LogBatch]:
    """Return the first pending batches, until their texts and extras reach a number of bytes."""
    sizes = dict(log.text_sizes())
    firsts, ends = np.array([*sizes], np.int64), np.cumsum([0, *sizes.values()])
    batches, size = [], 0
    for batch in log.batches():
        batches.append(batch)
        size += len(batch.extras)
        # A block of texts counts for the batch that it begins in.
        if size + ends[np.searchsorted(firsts, batch.first + len(batch))] >= max_bytes:
            break
    return batches


def _flush_segment(folder: Path, log: Log, settings: StoreSettings, budget: Budget) -> int:
    """Write the first pending documents into a segment; return their last row, or a number above all rows."""
    with log.reading():
        batches = _first_batches(log, budget.texts)
        removed = [row for _, row in log.tombstones()]
        if not batches:
            return 1 << 62
        rows = np.concatenate([batch.rows for batch in batches])
        last = int(rows[-1])
        header = _next_header(folder, log, int(rows[0]), last)
        is_kept = ~np.isin(rows, removed)
        texts, compressed = _pending_texts(log, last, is_kept) if settings.text == "keep" else (None, None)
    kept, dropped = np.flatnonzero(is_kept), rows[~is_kept].tolist()
    entry = None
    if len(kept):
        ids = [name for batch in batches for name in batch.ids]
        extras = [extra for batch in batches for extra in batch.split_extras()]
        contents = np.frombuffer(b"".join(batch.contents for batch in batches), "<u8").reshape(-1, 2)
        records = np.frombuffer(b"".join(batch.records for batch in batches), record_type(settings))
        entry = write_segment(
            folder, header, settings, ignore_progress, rows=rows[kept], contents=contents[kept], records=records[kept],
            ids=[ids[position] for position in kept.tolist()], texts=texts, compressed=compressed,
            extras=[extras[position] for position in kept.tolist()] if any(batch.extras for batch in batches) else None,
        )  # fmt: skip
    with log.writing():
        if log.first_row() != int(rows[0]):
            raise log.corrupt(f"another process has flushed row {int(rows[0])} without the lock; run verify")
        log.delete_documents(last)
        log.replace_segments([], entry, dropped, flushed=len(rows))
    return last


def _pending_texts(
    log: Log, last: int, kept: NDArray[np.bool_]
) -> tuple[list[str | None] | None, CompressedTexts | None]:
    """Return the texts of pending documents up to a row: in their blocks if all are kept."""
    if kept.all():
        return None, (b"", [block.segment_block() for block in log.blocks(last)])
    texts = [text for block in log.blocks(last) for text in log.decompress(block)]
    return [text for text, is_kept in zip(texts, kept.tolist(), strict=True) if is_kept], None


def _next_header(
    folder: Path, log: Log, first: int, last: int, replaced: Collection[str] = (), *, merged: bool = False
) -> SegmentHeader:
    """Return the header of the next segment, which is named after its generation, in the open transaction."""
    header = SegmentHeader.of(log, first, last, replaced, merged=merged)
    if segment_paths(folder, header.name)[0].exists():
        # A file of that name is not on the list: it may be all that is left of lost commits. Others may be in progress.
        remove_unlisted(folder, log, header.name)
    return header


# Merging


def merge_tier(folder: Path, settings: StoreSettings, budget: Budget, like: Log | None = None) -> bool:
    """Merge adjacent segments if a tier is full; return True if one was.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    """
    with exclusive(folder, like) as log:
        with log.reading():
            entries = log.segments()
        max_documents = budget.max_documents(record_type(settings).itemsize)
        tier = full_tier(entries, min(MAX_SEGMENT_DOCS, max_documents))
        if tier:
            _merge(folder, log, settings, tier, budget)
        return bool(tier)


def full_tier(entries: list[SegmentEntry], max_documents: int = MAX_SEGMENT_DOCS) -> list[SegmentEntry]:
    """Return the last `MERGE_FACTOR` or more adjacent segments of similar size, the smallest first; or none."""
    run: list[SegmentEntry] = []
    for entry in reversed(entries):
        if run and entry.documents > MERGE_FACTOR * run[-1].documents:
            break
        run.append(entry)
        if len(run) >= MERGE_FACTOR and sum(other.documents for other in run) <= max_documents:
            return run[::-1]
    return []


def merge_all(
    folder: Path, settings: StoreSettings, budget: Budget, report: Progress = ignore_progress, like: Log | None = None
) -> int:
    """Write everything into one segment without removed documents.

    Returns
    -------
    int
        Number of the last tombstone before the merge: segments and tables of the log no longer have its document, nor
        earlier ones. `erase` truncates the write-ahead log.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    """
    with exclusive(folder, like) as log:
        with log.reading():
            last = log.last_tombstone()
        with flushing(folder, log.wait):
            flush_pending(folder, log, settings, budget, report)
        with log.reading():
            entries = log.segments()
            removed = bool(log.tombstones())
        if len(entries) > 1 or (entries and removed):
            _merge(folder, log, settings, entries, budget, report, recompress=True)
        # A killed merge may have left files of documents that this one no longer saw.
        with flushing(folder, log.wait):
            remove_unlisted(folder, log)
    return last


def erase(folder: Path, last: int, wait: float) -> None:
    """Rewrite the log and truncate the write-ahead log: both may hold documents of tombstones up to number `last`.

    If nothing was removed since the last erasure, this does not wait for other processes.

    Raises
    ------
    StoreLockedError
        Other processes read the write-ahead log for longer than `wait` seconds.
    """
    with closing(Log(folder)) as log:
        with log.reading():
            required = log.erased() < last
        truncated = log.truncate_wal(wait if required else 0.0, vacuum=required)
        if not required:
            return
        if not truncated:
            message = (
                f"{folder}: merged, but what was removed is still in {LOG_NAME}-wal, the write-ahead log, which "
                "another process or thread is using; merge again when it has ended"
            )
            raise StoreLockedError(message, place=str(folder))
        # If another process is writing, the next merge truncates the log once more.
        with suppress(StoreLockedError), log.writing():
            log.set_erased(max(last, log.erased()))


def _merge(
    folder: Path,
    log: Log,
    settings: StoreSettings,
    entries: list[SegmentEntry],
    budget: Budget,
    report: Progress = ignore_progress,
    *,
    recompress: bool = False,
) -> None:
    """Replace adjacent segments by one, without removed documents.

    Texts are copied in their blocks. With `recompress`, or if documents were removed, they are compressed again,
    because a dictionary contains parts of texts.
    """
    segments = [Segment(folder, entry, settings) for entry in entries]
    covered = min(s.header.first for s in segments), max(s.header.last for s in segments)
    with log.reading():
        header = _next_header(folder, log, *covered, replaced=[entry.name for entry in entries], merged=True)
        removed = np.array(sorted(row for _, row in log.tombstones()), np.int64)
    all_rows = [segment.all_rows() for segment in segments]
    live = [np.flatnonzero(~np.isin(rows, removed)) for rows in all_rows]
    dropped = np.intersect1d(np.concatenate(all_rows), removed)
    recompress = recompress or bool(len(dropped))
    pairs = list(zip(segments, live, strict=True))
    entry = write_documents(folder, header, settings, pairs, budget, report, recompress=recompress)
    with log.writing():
        log.replace_segments(entries, entry, dropped.tolist())
    for old in entries:
        for path in segment_paths(folder, old.name):
            path.unlink(missing_ok=True)


def write_documents(
    folder: Path,
    header: SegmentHeader,
    settings: StoreSettings,
    pairs: list[tuple[Segment, Ordinals]],
    budget: Budget,
    report: Progress = ignore_progress,
    *,
    recompress: bool = True,
) -> SegmentEntry | None:
    """Write the documents at positions of segments, ascending by row, into a new segment; None without documents.

    `pairs` may have a segment several times. Without `recompress` it has whole segments.
    """
    rows = np.concatenate([segment.all_rows()[positions] for segment, positions in pairs])
    entry = None
    report("merge", 0, len(rows))
    if len(rows):
        segments = [segment for segment, _ in pairs]
        records = np.concatenate([segment.all_records()[positions] for segment, positions in pairs])
        ids = [name for segment, positions in pairs for name in segment.documents.ids(positions).tolist()]
        extras = [extra for segment, positions in pairs for extra in segment.documents.extras(positions)]
        contents = np.concatenate([segment.documents.contents(positions) for segment, positions in pairs])
        compressed = (segments[0].documents.dictionary(), [segment.documents for segment in segments])
        with _open_texts(pairs, settings, budget, folder) if recompress else nullcontext() as texts:
            entry = write_segment(
                folder, header, settings, report, rows=rows, ids=ids, contents=contents, records=records,
                extras=extras, texts=texts,
                compressed=compressed if settings.text == "keep" and not recompress else None,
            )  # fmt: skip
    report("merge", len(rows), len(rows))
    return entry


@contextmanager
def _open_texts(
    pairs: list[tuple[Segment, Ordinals]], settings: StoreSettings, budget: Budget, folder: Path
) -> Iterator[Texts | None]:
    """Open the texts at positions of several segments: in memory if the budget allows it, otherwise in a file."""
    if settings.text != "keep":
        yield None
        return
    sizes = [segment.documents.sizes()["text_bytes"] for segment, _ in pairs]
    if sum(sizes) <= budget.texts:
        yield [text for segment, positions in pairs for text in segment.documents.texts(positions)]
        return
    longest = max(size / max(len(segment), 1) for size, (segment, _) in zip(sizes, pairs, strict=True))
    step = int(min(max(budget.texts / 2 / longest, 1), 1 << 16))
    batches = (
        segment.documents.texts(positions[start : start + step])
        for segment, positions in pairs
        for start in range(0, len(positions), step)
    )
    with write_errors(folder), spill_texts(folder / SEGMENT_FOLDER, batches) as texts:
        yield texts


# In the background


@dataclass
class MergeStats:
    """Merges of one handle on a store since it was opened; writing pending documents into segments counts as one run,
    and merging segments afterwards as another.

    Attributes
    ----------
    running, count, failures : int
        Runs now; runs that ended, failed ones included; runs that failed.
    seconds : float
        Time of all runs that ended.
    """

    running: int = 0
    count: int = 0
    failures: int = 0
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Count a run."""
        start, failed = time.perf_counter(), 1
        with self._lock:
            self.running += 1
        try:
            yield
            failed = 0
        finally:
            with self._lock:
                self.running -= 1
                self.count += 1
                self.failures += failed
                self.seconds += time.perf_counter() - start


class Compactor:
    """Threads that flush and merge segments while the store is in use.

    A flush has a thread of its own, because a merge takes much longer.

    Parameters
    ----------
    log : Log
        Of the store; the thread opens its own.
    settings : StoreSettings
    budget : Budget
    merges : MergeStats
        Counts the runs.
    """

    def __init__(self, log: Log, settings: StoreSettings, budget: Budget, merges: MergeStats) -> None:
        self._log, self._folder, self._settings, self._budget = log, log.folder, settings, budget
        self._merges = merges
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self.error: BaseException | None = None
        """Error of the last run."""

    def start(self) -> None:
        """Start to flush unless running. An error of the last run is a RuntimeWarning, because it loses nothing."""
        with self._lock:
            if self._is_running("flush"):
                return
            error, self.error = self.error, None
            if error is not None:
                message = f"{self._folder}: no segment could be written: {error}; the documents remain in the log"
                warn_caller(message)
            self._start("flush", self._flush)

    def _is_running(self, name: str) -> bool:
        return name in self._threads and self._threads[name].is_alive()

    def _start(self, name: str, work: Callable[[], None]) -> None:
        self._threads[name] = threading.Thread(target=self._run, args=(work,), name=f"nearkin-{name}", daemon=True)
        self._threads[name].start()

    def join(self, *names: str) -> None:
        """Wait until these threads end, all by default."""
        # A flush starts a merge.
        for name in names or ("flush", "merge"):
            thread = self._threads.get(name)
            # An interrupt during `Thread.start` may leave a thread that was never started.
            if thread is not None and thread.ident is not None:
                thread.join()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            # Another process may do this work.
            with self._merges.timing(), suppress(StoreLockedError):
                work()
        except BaseException as error:
            self.error = error

    def _flush(self) -> None:
        flush(self._folder, self._settings, self._budget, self._log)
        # One thread flushes at a time, so this needs no lock.
        if not self._is_running("merge"):
            self._start("merge", self._merge)

    def _merge(self) -> None:
        while merge_tier(self._folder, self._settings, self._budget, self._log):
            pass


# Backups


def backup(
    folder: Path, target: Path, report: Progress = ignore_progress, share: float = 1.0, *, recorded: bool = True
) -> None:
    """Copy the last commit to a new folder, atomically; copying takes `share` of the time.

    Files are copied from open handles, so that segments can be written and merged meanwhile. A backup that is
    `recorded` has a `BackupRecord`, and shares segments with earlier ones next to it.
    """
    with new_store_folder(target) as new, ExitStack() as handles:
        files = _begin_backup(folder, new, handles)
        record, shared = BackupRecord.begin(new, target.parent), SharedFiles(target.parent) if recorded else None
        tick = megabyte_ticker(report, "copy", sum(os.fstat(file.fileno()).st_size for file in files.values()))
        for name, file in files.items():
            status = os.fstat(file.fileno())
            if name not in SETTINGS_FILES:
                record.files[name] = identity_of(status)
            if name in SETTINGS_FILES or shared is None or not shared.link(status, new / name):
                _copy_file(file, new / name, tick, share)
        if recorded:
            record.save(new)


def _begin_backup(folder: Path, new: Path, handles: ExitStack) -> dict[str, BinaryIO]:
    """Copy the log, and open the files that it names; return them by their names in the folder."""
    for _ in range(_MAX_RETRIES):
        with closing(Log(folder, "r")) as log, log.reading():
            log.copy_to(new)
        with closing(Log(new)) as copied, copied.writing():
            names = [path for entry in copied.segments() for path in segment_paths(folder, entry.name)]
            # Pending outputs belong to the store and not to its copies.
            copied.drop_outputs([name for name, _ in copied.outputs()])
            copied.set_state(copied.state())
        names += [folder / name for name in SETTINGS_FILES if (folder / name).exists()]
        with ExitStack() as opened:
            files: dict[str, BinaryIO] = {}
            try:
                for path in names:
                    files[path.relative_to(folder).as_posix()] = opened.enter_context(path.open("rb"))
            except FileNotFoundError as error:
                # A merge has removed it since the log was copied.
                missing = error
                for name in (LOG_NAME, COMMITS_NAME):
                    (new / name).unlink(missing_ok=True)
                continue
            handles.push(opened.pop_all())
            return files
    raise corrupt_file(missing.filename, "a segment on the list is not there; restore the store from a backup")


def _copy_file(old: BinaryIO, target: Path, tick: Callable[[int], None], share: float) -> None:
    with target.open("xb") as new:
        began = time.perf_counter()
        while chunk := old.read(1 << 20):
            new.write(chunk)
            tick(len(chunk))
            if share < 1:
                # Sync now, because a single sync at the end would delay the commits of others.
                new.flush()
                os.fsync(new.fileno())
                time.sleep((time.perf_counter() - began) * (1 / share - 1))
                began = time.perf_counter()
        new.flush()
        os.fsync(new.fileno())
