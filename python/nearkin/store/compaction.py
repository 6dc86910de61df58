"""From log to segment, and from segments to fewer; backups; what a crash left behind.

A segment is written beside the list, synced, and only then named by it, in the transaction that also drops from the log
what it holds: a crash leaves at worst files that no list names, which `clean` removes. Readers keep the files that they
have open. Of several processes one writes segments at a time (a lock of the operating system in `.segments.lock`).

**Tiers.** A segment of the log has level 0; `FAN` neighbours of one level become one of the next, so that each document
is written log(n) times, and n documents lie in O(log n) segments.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Places
from nearkin.errors import StoreLockedError, warn_caller
from nearkin.index.ids import Id, IdArray, IdKeys
from nearkin.io import locks
from nearkin.io.atomic_write import StagedOutput
from nearkin.progress import Progress, megabytes, ticker, unreported
from nearkin.store import outbox
from nearkin.store.families import store_family
from nearkin.store.indexes import StoreFamily, StoreIndex
from nearkin.store.log import NAME, Log, LogBatch, SegmentEntry, sum_of
from nearkin.store.memory import Budget, SpooledTexts
from nearkin.store.records import indexed, record_type
from nearkin.store.segment import FOLDER, Blocks, Part, files_of, write_part
from nearkin.store.settings import FAMILY_FILE, StoreSettings
from nearkin.store.snapshot import entry_key, removal_key
from nearkin.text.batches import Texts

FAN = 4
"""Neighbours of one level that become one segment."""
MOST = 1 << 24
"""Documents of a segment beyond which it is merged on request alone."""
_LOCK = ".segments.lock"
_NAME = re.compile(r"[0-9a-f]{16}\.(documents|index)\.nks")
_INDEX_BATCH = 1 << 16


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """A context in which no other process writes segments.

    Raises
    ------
    StoreLockedError
        One does.
    """
    lock = locks.acquire_or_none(folder / _LOCK)
    if lock is None:
        message = f"{folder}: another process is merging the store; run again when it has ended"
        raise StoreLockedError(message, place=str(folder))
    try:
        yield
    finally:
        lock.release()


@contextmanager
def maintaining(folder: Path) -> Iterator[Log]:
    """A log of its own in a context in which no other process writes segments.

    Raises
    ------
    StoreLockedError
        One does.
    """
    with _only_one(folder), closing(Log(folder)) as log:
        yield log


def clean(folder: Path, log: Log) -> None:
    """Remove segment files that the list does not name and that nobody is writing."""
    lock = locks.acquire_or_none(folder / _LOCK)
    if lock is None:
        return
    try:
        _remove_unnamed(folder, log)
    finally:
        lock.release()


def _remove_unnamed(folder: Path, log: Log) -> None:
    """Remove segment files that the list does not name; nobody is writing one."""
    with log.reading():
        named = {path.name for entry in log.segments() for path in files_of(folder, entry.name)}
    for path in (folder / FOLDER).iterdir():
        # Hidden files are those that a killed process was writing aside.
        if path.name not in named and (_NAME.fullmatch(path.name) or path.name.startswith(".")):
            path.unlink(missing_ok=True) if not path.is_dir() else shutil.rmtree(path, ignore_errors=True)


# From log to segment


def write_waiting(folder: Path, settings: StoreSettings, budget: Budget) -> None:
    """Write the documents of the log into a segment, or into several where their texts are more than may be held.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    """
    with maintaining(folder) as log:
        _write_all_waiting(folder, log, settings, budget, unreported)


def _write_all_waiting(folder: Path, log: Log, settings: StoreSettings, budget: Budget, report: Progress) -> None:
    with log.reading():
        first = log.state()
    report("write", 0, first.waiting)
    # What comes meanwhile is left to the next time.
    while _write_waiting(folder, log, settings, budget) < first.next_row - 1:
        with log.reading():
            report("write", max(first.waiting - log.state().waiting, 0), first.waiting)
    report("write", first.waiting, first.waiting)


def _first_waiting(log: Log, most: int) -> list[LogBatch]:
    """The first waiting documents: all, or the batches whose texts and extras come to `most` bytes."""
    sizes = dict(log.text_bytes())
    firsts, ends = np.array([*sizes], np.int64), np.cumsum([0, *sizes.values()])
    found, size = [], 0
    for batch in log.batches():
        found.append(batch)
        size += len(batch.extras)
        # A block of texts belongs to the batches that it begins before.
        if size + ends[np.searchsorted(firsts, batch.first + len(batch))] >= most:
            break
    return found


def _write_waiting(folder: Path, log: Log, settings: StoreSettings, budget: Budget) -> int:
    """Write the first waiting documents into a segment; the row of the last of them, above all rows if none waits."""
    with log.reading():
        name = next_name(log)
        batches = _first_waiting(log, budget.texts)
        removed = [row for _, row in log.removed()]
        if not batches:
            return 1 << 62
        last = int(batches[-1].rows[-1])
        rows = np.concatenate([batch.rows for batch in batches])
        kept = ~np.isin(rows, removed)
        texts, blocks = _waiting_texts(log, last, kept) if settings.text == "keep" else (None, None)
    gone = rows[~kept].tolist()
    entry = _write_batches(folder, name, settings, batches, kept, texts, blocks) if kept.any() else None
    with log.writing():
        state = log.state()
        sums = state.sums ^ log.drop_until(last) ^ sum_of([removal_key(row) for row in gone])
        log.forget_removed(gone)
        if entry is not None:
            log.add_segment(entry)
            sums ^= sum_of([entry_key(entry)])
        waiting, generation = state.waiting - len(rows), state.generation + 1
        log.set_state(replace(state, sums=sums, waiting=waiting, generation=generation))
    return last


def _waiting_texts(log: Log, last: int, kept: NDArray[np.bool_]) -> tuple[list[str | None] | None, Blocks | None]:
    """The texts of waiting documents up to a row: in blocks as they are, if all are kept."""
    if kept.all():
        return None, (b"", [some.part() for some in log.blocks(last)])
    texts = [text for some in log.blocks(last) for text in log.unpacked(some)]
    return [text for text, is_kept in zip(texts, kept.tolist(), strict=True) if is_kept], None


def next_name(log: Log) -> str:
    """Name of the next segment: that of the list after it. What a crash left under it is written over."""
    return f"{log.state().generation + 1:016x}"


def _write_batches(
    folder: Path,
    name: str,
    settings: StoreSettings,
    batches: list[LogBatch],
    kept: NDArray[np.bool_],
    texts: list[str | None] | None,
    blocks: Blocks | None,
) -> SegmentEntry:
    family = store_family(settings.source)
    places = np.flatnonzero(kept)
    rows = np.concatenate([batch.rows for batch in batches])[places]
    records = np.frombuffer(b"".join(batch.records for batch in batches), record_type(family))[places]
    contents = np.frombuffer(b"".join(batch.contents for batch in batches), "<u8").reshape(-1, 2)[places]
    ids = [name for batch in batches for name in batch.ids]
    extras = None
    if any(batch.extras for batch in batches):
        extras = [extra for batch in batches for extra in batch.all_extras()]
    if len(places) < len(ids):
        ids = [ids[place] for place in places.tolist()]
        extras = None if extras is None else [extras[place] for place in places.tolist()]
    return write_part(
        folder, name, settings, index_of(family, rows, records),
        rows=rows, ids=_keys(ids), contents=contents, records=records, extras=extras, texts=texts, blocks=blocks,
    )  # fmt: skip


def index_of(family: StoreFamily, rows: Places, records: NDArray[np.void], report: Progress = unreported) -> StoreIndex:
    """The index of the documents that stay."""
    index = family.empty()
    places = indexed(family, records)
    tick = ticker(report, "index", len(places))
    for start in range(0, len(places), _INDEX_BATCH):
        some = places[start : start + _INDEX_BATCH]
        index.add(rows[some], records["values"][some].copy())
        tick(len(some))
    return index


def _keys(ids: list[Id]) -> IdKeys:
    if ids and isinstance(ids[0], str):
        return [str(name) for name in ids]
    return np.array(ids, np.int64)


# From segments to fewer


def merge_tiers(folder: Path, settings: StoreSettings, budget: Budget) -> bool:
    """Merge neighbours where a tier is full; whether there were any.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    """
    with maintaining(folder) as log:
        with log.reading():
            entries = log.segments()
        width = record_type(store_family(settings.source)).itemsize
        chosen = full_tier(entries, min(MOST, budget.documents(width)))
        if not chosen:
            return False
        _merge(folder, log, settings, chosen, budget)
        return True


def full_tier(entries: list[SegmentEntry], most: int = MOST) -> list[SegmentEntry]:
    """The last `FAN` or more neighbours of about one size, the smallest first; none if no tier is full."""
    run: list[SegmentEntry] = []
    for entry in reversed(entries):
        if run and entry.documents > FAN * run[-1].documents:
            break
        run.append(entry)
        if len(run) >= FAN and sum(one.documents for one in run) <= most:
            return run[::-1]
    return []


def merge_all(folder: Path, settings: StoreSettings, budget: Budget, report: Progress = unreported) -> int:
    """Write everything into one segment without what was removed.

    Returns
    -------
    int
        Number of the last removal before that: it and all earlier ones are gone from the segments and from the tables
        of the log. `erase` empties the write-ahead log.

    Raises
    ------
    StoreLockedError
        Another process is writing segments.
    """
    with maintaining(folder) as log:
        with log.reading():
            last = log.last_removal()
        _write_all_waiting(folder, log, settings, budget, report)
        with log.reading():
            entries = log.segments()
            removed = bool(log.removed())
        if len(entries) > 1 or (entries and removed):
            _merge(folder, log, settings, entries, budget, report, again=True)
        # A merge that was killed may have left what this one found gone already.
        _remove_unnamed(folder, log)
    return last


def erase(folder: Path, last: int, wait: float) -> None:
    """Write the log anew and empty the write-ahead log: both may hold what was removed up to removal number `last`.

    Where nothing was removed since it was emptied last, nobody is waited for.

    Raises
    ------
    StoreLockedError
        Others read it for longer than `wait` seconds.
    """
    with closing(Log(folder)) as log:
        with log.reading():
            is_owed = log.erased() < last
        is_empty = log.shrink(wait if is_owed else 0.0, anew=is_owed)
        if not is_owed:
            return
        if not is_empty:
            message = (
                f"{folder}: merged, but what was removed is still in {NAME}-wal, the write-ahead log, which another "
                "process or thread is using; merge again when it has ended"
            )
            raise StoreLockedError(message, place=str(folder))
        # Whoever is writing now: the next merge empties the log once more.
        with suppress(StoreLockedError), log.writing():
            log.set_erased(max(last, log.erased()))


def _merge(
    folder: Path,
    log: Log,
    settings: StoreSettings,
    entries: list[SegmentEntry],
    budget: Budget,
    report: Progress = unreported,
    *,
    again: bool = False,
) -> None:
    """Replace neighbours on the list by one segment of their documents that were not removed.

    Texts stay in their blocks; they are compressed `again` if that is asked for, or where some are removed, of which a
    dictionary holds parts, too.
    """
    family = store_family(settings.source)
    with log.reading():
        name = next_name(log)
        removed = np.array(sorted(row for _, row in log.removed()), np.int64)
    parts = [Part(folder, entry, settings, family) for entry in entries]
    rows_of = [part.documents.rows(0, len(part)) for part in parts]
    live = [np.flatnonzero(~np.isin(rows, removed)) for rows in rows_of]
    rows = np.concatenate([rows[places] for rows, places in zip(rows_of, live, strict=True)])
    gone = np.intersect1d(np.concatenate(rows_of), removed)
    entry = None
    report("merge", 0, len(rows))
    if len(rows):
        records = np.concatenate([part.all_records()[places] for part, places in zip(parts, live, strict=True)])
        pairs = list(zip(parts, live, strict=True))
        ids = [name for part, places in pairs for name in _listed(part.documents.ids(places))]
        extras = [extra for part, places in pairs for extra in part.documents.extras(places)]
        contents = np.concatenate([part.documents.contents(places).reshape(-1, 2) for part, places in pairs])
        index = index_of(family, rows, records, report)
        again = again or bool(len(gone))
        blocks = (parts[0].documents.dictionary(), [part.documents for part in parts])
        with _texts_of(pairs, settings, budget, folder) if again else nullcontext() as texts:
            entry = write_part(
                folder, name, settings, index, rows=rows, ids=_keys(ids), contents=contents, records=records,
                extras=extras, texts=texts, blocks=blocks if settings.text == "keep" and not again else None,
            )  # fmt: skip
    with log.writing():
        state = log.state()
        sums = state.sums ^ sum_of([entry_key(old) for old in entries])
        sums ^= sum_of([removal_key(row) for row in gone.tolist()])
        log.drop_segments(old.name for old in entries)
        log.forget_removed(gone.tolist())
        if entry is not None:
            log.add_segment(entry)
            sums ^= sum_of([entry_key(entry)])
        log.set_state(replace(state, sums=sums, generation=state.generation + 1))
    for old in entries:
        for path in files_of(folder, old.name):
            path.unlink(missing_ok=True)
    report("merge", len(rows), len(rows))


@contextmanager
def _texts_of(
    pairs: list[tuple[Part, Places]], settings: StoreSettings, budget: Budget, folder: Path
) -> Iterator[Texts | None]:
    """A context with the texts of places of several parts: in memory if they may be held, else in a file."""
    if settings.text != "keep":
        yield None
        return
    sizes = [part.documents.sizes() for part, _ in pairs]
    whole = sum(size["text_bytes"] for size in sizes)
    if whole <= budget.texts:
        yield [text for part, places in pairs for text in part.documents.texts(places)]
        return
    longest = max(size["text_bytes"] / max(len(part), 1) for size, (part, _) in zip(sizes, pairs, strict=True))
    step = int(min(max(budget.texts / 2 / longest, 1), 1 << 16))
    spool = SpooledTexts(folder / FOLDER)
    try:
        for part, places in pairs:
            for start in range(0, len(places), step):
                spool.append(part.documents.texts(places[start : start + step]))
        yield spool.array()
    finally:
        spool.close()


def _listed(ids: IdArray) -> list[Id]:
    listed: list[Id] = ids.tolist()
    return listed


# In the background


class _Turn:
    """Whether a thread that was started has begun its work, or is never to begin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = self._off = False

    def begin(self) -> bool:
        """Begin, unless it was called off."""
        with self._lock:
            self._begun = not self._off
            return self._begun

    def call_off(self) -> bool:
        """Call it off, unless it has begun."""
        with self._lock:
            self._off = not self._begun
            return self._off


class Keeper:
    """A thread that writes segments and merges them while the store is used.

    Parameters
    ----------
    folder : Path
    settings : StoreSettings
    budget : Budget
    """

    def __init__(self, folder: Path, settings: StoreSettings, budget: Budget) -> None:
        self._folder, self._settings, self._budget = folder, settings, budget
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.error: BaseException | None = None

    def wake(self) -> None:
        """Begin unless it is at work; what went wrong the last time is a RuntimeWarning, since it loses nothing."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            error, self.error = self.error, None
            if error is not None:
                message = f"{self._folder}: no segment could be written, documents go on waiting in the log: {error}"
                warn_caller(message)
            self._begin()

    def _begin(self) -> None:
        """Start the thread; an interrupt meanwhile leaves one that works and is waited for, or none."""
        turn = _Turn()
        self._thread = threading.Thread(target=self._work, args=(turn,), name="nearkin-store", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            if turn.call_off():
                self._thread = None
            raise

    def finish(self) -> None:
        """Wait until it is done."""
        thread = self._thread
        if thread is not None:
            thread.join()

    stop = finish

    def _work(self, turn: _Turn) -> None:
        if not turn.begin():
            return
        try:
            write_waiting(self._folder, self._settings, self._budget)
            while merge_tiers(self._folder, self._settings, self._budget):
                pass
        except StoreLockedError:
            # Another process is at it.
            pass
        except BaseException as error:
            self.error = error


# Backups


def backup(folder: Path, target: Path, report: Progress = unreported, share: float = 1.0) -> None:
    """Copy what is committed to a new folder, which appears whole or not at all; copying takes `share` of the time."""
    aside = StagedOutput(target)
    aside.begin()
    try:
        with _only_one(folder):
            aside.new.mkdir()
            (aside.new / FOLDER).mkdir()
            log = Log(folder)
            try:
                log.copy(aside.new)
            finally:
                log.close()
            copied = Log(aside.new)
            try:
                # What is promised is promised by the store, not by its copies.
                with copied.writing():
                    entries = copied.segments()
                    promised = [target for target, _ in copied.outputs()]
                    copied.set_state(outbox.forget(copied, copied.state(), promised))
            finally:
                copied.close()
            if (folder / FAMILY_FILE).exists():
                _copy(folder / FAMILY_FILE, aside.new / FAMILY_FILE)
            tick = megabytes(report, "copy", sum(entry.bytes for entry in entries))
            for entry in entries:
                for path in files_of(folder, entry.name):
                    _copy(path, aside.new / FOLDER / path.name, tick, share)
        sync_folder(aside.new / FOLDER)
        sync_folder(aside.new)
        aside.commit_new_folder()
        sync_folder(target.parent)
    finally:
        aside.end()


def _copy(source: Path, target: Path, tick: Callable[[int], None] = lambda size: None, share: float = 1.0) -> None:
    with source.open("rb") as old, target.open("xb") as new:
        begun = time.perf_counter()
        while piece := old.read(1 << 20):
            new.write(piece)
            tick(len(piece))
            if share < 1:
                # Written now, and not in one go at the end, for which the commits of others would wait.
                new.flush()
                os.fsync(new.fileno())
                time.sleep((time.perf_counter() - begun) * (1 / share - 1))
                begun = time.perf_counter()
        new.flush()
        os.fsync(new.fileno())
