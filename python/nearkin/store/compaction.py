"""Compaction: flush pending documents into segments, merge segments, erase removed documents, back up a store.

A segment is written and synced first, and then added to the segment list, in the transaction that also deletes its
documents from the log. A crash therefore leaves at worst files that are not on the list, which `remove_orphans`
deletes. Readers keep the files that they have open. One process at a time writes segments; it holds the lock of the
operating system on `.segments.lock`.

**Tiers.** Flushing makes a segment of level 0, and `MERGE_FACTOR` adjacent segments of one level become one of the
next. Each document is thus written log(n) times, and n documents need O(log n) segments.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Ordinals
from nearkin.errors import StoreLockedError, warn_caller
from nearkin.io import locks
from nearkin.progress import Progress, ignore_progress, megabyte_ticker
from nearkin.store.backups import BackupRecord, SharedFiles, identity_of
from nearkin.store.filesystem import SEGMENT_FOLDER, new_store_folder
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.vectors import FAMILY_FILE
from nearkin.store.log import LOG_NAME, Log, LogBatch, SegmentEntry
from nearkin.store.lost import remove_unlisted
from nearkin.store.memory import Budget, spill_texts
from nearkin.store.records import record_type
from nearkin.store.segment import CompressedTexts, Segment, SegmentHeader, segment_paths, write_segment
from nearkin.text.batches import Texts

MERGE_FACTOR = 4
"""Adjacent segments of one level that become one."""
MAX_SEGMENT_DOCS = 1 << 24
"""Only `Store.merge` makes a segment of more documents."""
_LOCK_NAME = ".segments.lock"


@contextmanager
def exclusive(folder: Path, like: Log | None = None) -> Iterator[Log]:
    """Exclude other processes that write segments, and open a log for the work.

    Parameters
    ----------
    folder : Path
    like : Log, optional
        The caller's log, which must be that of the folder.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    StoreReplacedError
        The folder is not that of the caller's log any more.
    """
    if like is not None:
        like.check_place()
    lock = locks.acquire_or_none(folder / _LOCK_NAME)
    if lock is None:
        message = f"{folder}: another process is merging the store; run again when it has ended"
        raise StoreLockedError(message, place=str(folder))
    try:
        with closing(Log(folder)) as log:
            if like is not None:
                like.check_same(log)
            yield log
    finally:
        lock.release()


def remove_orphans(folder: Path) -> None:
    """Remove segment files that are on no list, or move them to `lost/`, unless another process writes segments."""
    with suppress(StoreLockedError), exclusive(folder) as log:
        remove_unlisted(folder, log)


# Flushing


def flush(folder: Path, settings: StoreSettings, budget: Budget, like: Log | None = None) -> None:
    """Write the pending documents into a segment, or into several if their texts exceed the budget.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    """
    with exclusive(folder, like) as log:
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


def _next_header(folder: Path, log: Log, first: int, last: int, replaced: Collection[str] = ()) -> SegmentHeader:
    """Return the header of the next segment, which is named after its generation, in the open transaction."""
    header = SegmentHeader.of(log, first, last, replaced)
    if segment_paths(folder, header.name)[0].exists():
        # A file of that name is not on the list: it may be all that is left of lost commits.
        remove_unlisted(folder, log)
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
        flush_pending(folder, log, settings, budget, report)
        with log.reading():
            entries = log.segments()
            removed = bool(log.tombstones())
        if len(entries) > 1 or (entries and removed):
            _merge(folder, log, settings, entries, budget, report, recompress=True)
        # A killed merge may have left files of documents that this one no longer saw.
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
        header = _next_header(folder, log, *covered, replaced=[entry.name for entry in entries])
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
    with spill_texts(folder / SEGMENT_FOLDER, batches) as texts:
        yield texts


# In the background


@dataclass
class MergeStats:
    """Merges of one handle on a store since it was opened; a run that writes and merges segments counts as one.

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
    """A thread that flushes and merges segments while the store is in use.

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
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def start(self) -> None:
        """Start unless running. An error of the last run is a RuntimeWarning, because it loses nothing."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            error, self._error = self._error, None
            if error is not None:
                message = f"{self._folder}: no segment could be written: {error}; the documents remain in the log"
                warn_caller(message)
            self._thread = threading.Thread(target=self._run, name="nearkin-store", daemon=True)
            self._thread.start()

    def join(self) -> None:
        """Wait until the thread ends."""
        thread = self._thread
        # An interrupt during `Thread.start` may leave a thread that was never started.
        if thread is not None and thread.ident is not None:
            thread.join()

    def _run(self) -> None:
        try:
            # Another process may be writing segments.
            with self._merges.timing(), suppress(StoreLockedError):
                flush(self._folder, self._settings, self._budget, self._log)
                while merge_tier(self._folder, self._settings, self._budget, self._log):
                    pass
        except BaseException as error:
            self._error = error


# Backups


def backup(
    folder: Path, target: Path, report: Progress = ignore_progress, share: float = 1.0, *, recorded: bool = True
) -> None:
    """Copy the last commit to a new folder, atomically; copying takes `share` of the time.

    A backup that is `recorded` has a `BackupRecord`, and shares segments with earlier ones next to it.
    """
    with new_store_folder(target) as new, exclusive(folder) as log:
        log.copy_to(new)
        with closing(Log(new)) as copied, copied.writing():
            entries = copied.segments()
            # Pending outputs belong to the store and not to its copies.
            copied.drop_outputs([name for name, _ in copied.outputs()])
            copied.set_state(copied.state())
        record, shared = BackupRecord.begin(new), SharedFiles(target.parent) if recorded else None
        if (folder / FAMILY_FILE).exists():
            _copy_file(folder / FAMILY_FILE, new / FAMILY_FILE)
        tick = megabyte_ticker(report, "copy", sum(entry.bytes for entry in entries))
        for entry in entries:
            for path in segment_paths(folder, entry.name):
                copy = new / SEGMENT_FOLDER / path.name
                record.files[f"{SEGMENT_FOLDER}/{path.name}"] = identity_of(path.stat())
                if shared is None or not shared.link(path.stat(), copy):
                    _copy_file(path, copy, tick, share)
        if recorded:
            record.save(new)


def _copy_file(source: Path, target: Path, tick: Callable[[int], None] = lambda size: None, share: float = 1.0) -> None:
    with source.open("rb") as old, target.open("xb") as new:
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
