"""`Store`: documents on disk, deduplicated as they are added.

A store is a folder: immutable, checksummed, memory-mapped *segments* hold documents and their indexes, and a *log* in
SQLite holds everything mutable (`docs/format-store.md`). Any number of processes may read a store while others write.
Writers queue.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.boilerplate import read_pages
from nearkin.dedup.candidates import CandidateSource, MinHashCandidates, Ordinals, Values
from nearkin.dedup.candidates.base import distinct
from nearkin.dedup.candidates.digests import DigestCandidates
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.config import Empty
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.kinds import Kind as CorpusKind
from nearkin.dedup.reference import ReferenceCorpus
from nearkin.dedup.result import ClusterTable, DedupResult, PairTable
from nearkin.digests.recipes import AnyDigestRecipe
from nearkin.errors import (
    CorruptStoreError,
    ForkError,
    NearkinError,
    OutputError,
    ParameterError,
    StoreLockedError,
    StoreReplacedError,
    bad_parameter,
    check_choice,
    check_count,
    check_share,
    mismatch,
)
from nearkin.families.base import Family
from nearkin.index.ids import Id, IdKeys, Ids, check_ids
from nearkin.io import Column, OutputDir
from nearkin.io.atomic_write import remove_abandoned, sync_folder
from nearkin.io.decompress import compressing
from nearkin.io.inputs import Compression
from nearkin.io.output import replace_file
from nearkin.lazy import renamed
from nearkin.progress import Progress, ShowProgress, ignore_progress, reporting
from nearkin.recipe import Recipe
from nearkin.recipe.base import FrozenRecipe
from nearkin.store import compaction, outbox
from nearkin.store.backups import Backup, find_backup
from nearkin.store.better import check_has_texts, find_better
from nearkin.store.check import Finding, check_store, repair_store
from nearkin.store.copy import StoreCopy, copied_settings
from nearkin.store.dedup import (
    BatchDecision,
    BatchDeduplicator,
    Conflicts,
    FeatureCache,
    Items,
    NewDocuments,
    OnBetter,
    check_id_kind,
    check_row_ids,
    chunk_columns,
    count_copies,
    has_kind,
    known_rows,
    pack_removed,
    restore_members,
    select_ids,
    take_ids,
)
from nearkin.store.expiry import cutoff, find_expired
from nearkin.store.filesystem import check_local_fs, new_store_folder
from nearkin.store.kinds import StoreSettings, make_settings, read_settings, repair_files
from nearkin.store.kinds.base import Kind, StoreConfig, StoreVerify, TextRule, corrupt_file
from nearkin.store.kinds.texts import LoadTexts, check_texts, feature_hashes, read_queries
from nearkin.store.lines import PageBatch, site_names
from nearkin.store.log import (
    LOG_NAME,
    Log,
    Mode,
    State,
    Sync,
    TextBlock,
    compress_texts,
    split_batches,
)
from nearkin.store.lost import record_missing_commits, warn_of_losses
from nearkin.store.memory import MAX_BACKLOG, Budget
from nearkin.store.records import KNOWN, Cell, Columns, columns_by_row
from nearkin.store.results import (
    CheckResult,
    Expired,
    StoredDocument,
    StoredMatch,
    StoreStats,
    export_lines,
)
from nearkin.store.salvage import Adoption, Salvage, adopt_lost, salvage
from nearkin.store.snapshot import Snapshot, SnapshotRange

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Conflicts", "DocumentStore", "Items", "NewDocuments", "Store"]

MAX_PENDING = 1 << 16
"""Default number of pending documents after which they are written into a segment."""
_MAX_RETRIES = 100
"""Times the segment list is read again because a merge has removed its files."""
_FLUSH_PAUSE = 0.02
"""Seconds between two attempts to flush if another process prevents it."""
_CHUNK_DOCUMENTS, _CHUNK_CHARACTERS = 4096, 1 << 24
"""Documents, and characters of their texts, that a deduplication adds at a time."""
_EXPORT_SUFFIXES: dict[str, Compression] = {".jsonl.zst": "zst", ".jsonl.gz": "gz", ".jsonl": ""}


class DocumentStore(ABC):
    """A store of documents, which reports for each new document whether it duplicates a stored one."""

    def check_and_add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        conflicts: Conflicts = "raise",
        copies: bool = False,
        on_better: OnBetter | None = None,
        progress: ShowProgress = None,
    ) -> CheckResult:
        """Deduplicate documents against the store and add them, in one atomic, durable step.

        With `Client` a call is atomic if it is one request.

        Parameters
        ----------
        texts : iterable of str or None, or an Arrow string array; for files an iterable of the type that `kind` names;
            for vectors an (n, d) array or SciPy sparse matrix, rounded to float32
            Each document is compared with the store and with earlier documents of the batch.
        ids : integers or strings, one per text; optional
            None stands for row numbers, counted from the first document ever added, and for paths for the paths. With
            ids a call of `Client` can be repeated safely.
        columns : mapping of str to one value per text, or a list with a mapping per text; optional
            Strings, numbers or booleans that `get` returns; integers from -2**63 to 2**64 - 1.
        kind : {"digests", "bytes", "paths"}, optional
            Type of the items for a store of files; None stands for digests. Without its file, a digest serves as the
            content of its document: equal digests are exact copies. `Client` reads the files that paths name, and
            sends their bytes.
        conflicts : {"raise", "report"}, default "raise"
            Treatment of an id that is stored, or repeated in the batch, with another content. "raise" adds nothing;
            "report" gives that document the status "conflict" and adds all others; `Client` then sends documents line
            by line, and the call is not atomic.
        copies : bool, default False
            Also count the documents that each kept document stands for (`Store.get`).
        on_better : {"keep", "replace"}, optional
            Also say which near-duplicates are better than their match (`nearkin.store.better`). "replace" lets the best
            one take its place, in another durable step. For stores that keep texts, and not with `Client`.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total. The function
            must not use the store, because the call may have locked it.

        Returns
        -------
        CheckResult

        Raises
        ------
        InputError
            A conflict, with `conflicts="raise"`. An item that is not a digest, or not a regular file. Nothing is
            added; if `Client` has split the call, `done` is the number of documents that were added.
        ParameterError
            Ids of another kind than the store's, or columns of another length.
        OSError
            The disk is full or fails, or a file cannot be read. Nothing is added, and the store remains usable.
        ServiceError
            From `Client`: the service can't be reached, or refuses the request; `errno` is ENOSPC if its disk is full.
            `unknown` is True if the response was lost and the call had no ids with which it can be repeated.
        StoreLockedError
            Other writers did not end within `wait` seconds.
        StoreReplacedError
            The folder of the store was replaced, moved or removed. Nothing is added; open the store again.
        """
        arguments = texts, ids, columns, kind, conflicts, progress
        return self._add(NewDocuments(*arguments, absorb=True, copies=copies, on_better=on_better))

    def add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        conflicts: Conflicts = "raise",
        progress: ShowProgress = None,
    ) -> CheckResult:
        """Add documents without deduplication: every document is kept, whatever it resembles.

        Parameters, errors and durability are those of `check_and_add`. An id that is stored with the same text is
        "known"; all other documents are "new".
        """
        return self._add(NewDocuments(texts, ids, columns, kind, conflicts, progress, absorb=False))

    @abstractmethod
    def _add(self, new: NewDocuments) -> CheckResult:
        """Add documents."""

    def __contains__(self, key: object) -> bool:
        """Return True if a document has this id."""
        if isinstance(key, bool) or not isinstance(key, (int, str, np.integer)):
            return False
        try:
            return self._has_id(key)
        except ParameterError:
            self._check_open()
            return False

    @abstractmethod
    def _has_id(self, key: Id | np.integer) -> bool:
        """Return True if a document has this id; raise ParameterError for one that no document can have."""

    @abstractmethod
    def _check_open(self) -> None:
        """Raise ParameterError if this object is closed."""

    @abstractmethod
    def close(self) -> None:
        """Close this object; it then refuses every call."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Store(DocumentStore):
    """Documents on disk; reports for each new document whether it duplicates a stored one.

    Open one with `Store.create` or `Store.open`. Several threads may share it.

    Examples
    --------
    >>> import nearkin as nk, tempfile
    >>> path = tempfile.mkdtemp() + "/pages.store"
    >>> with nk.Store.create(path, threshold=0.7) as store:
    ...     result = store.check_and_add(["The quick brown fox jumps over the lazy dog."], ["a"])
    >>> with nk.Store.open(path) as store:
    ...     result = store.check_and_add(
    ...         ["The quick brown fox jumped over the lazy dog.", "Another text about cats."], ["b", "c"],
    ...         columns={"source": ["web", "mail"]},
    ...     )
    ...     print(result.status, result.ids, result.similarities.round(2).tolist())
    ...     print(len(store), store.get(["b"])[0].columns)
    ['near', 'new'] ['a', None] [0.76, nan]
    3 {'source': 'web'}
    """

    def __init__(self, *args: object, **options: object) -> None:
        raise ParameterError("Store() opens nothing; use Store.open(path), or Store.create(path) for a new store")

    def _set_up(
        self,
        folder: Path,
        log: Log,
        settings: StoreSettings,
        mode: Mode,
        max_pending: int,
        load_texts: LoadTexts | None,
        budget: Budget,
    ) -> None:
        self._folder, self._log, self._settings, self._mode = folder, log, settings, mode
        self._load_texts, self._budget = load_texts, budget
        self._snapshot = Snapshot(log, settings, load_texts)
        self._max_pending = budget.max_pending(max_pending, self._snapshot.record_type.itemsize)
        self._cache = FeatureCache(settings, budget.cache)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._closed = False
        self._compactor: compaction.Compactor | None = None
        self._merges = compaction.MergeStats()
        self._in_transaction = False
        self._stale = False
        self._on_commit: list[Callable[[], None]] = []
        self._recovered_outputs: list[Path] = []

    # Opening

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        recipe: Recipe | AnyDigestRecipe | Family | str | None = None,
        *,
        threshold: float | None = None,
        radius: float | None = None,
        recall: float | None = None,
        text: TextRule = "keep",
        texts: LoadTexts | None = None,
        verify: StoreVerify | None = None,
        differ: str | Iterable[str] | None = None,
        empty: Empty | None = None,
        kind: CorpusKind | None = None,
        sync: Sync = "commit",
        max_pending: int = MAX_PENDING,
        memory: float | None = None,
    ) -> Store:
        """Create an empty store and open it.

        Parameters
        ----------
        path : str or os.PathLike
            The folder, which must not exist.
        recipe : Recipe, DigestRecipe, TlshRecipe, nearkin.families.Family or str, optional
            How a text becomes a signature or a fingerprint; None is "minhash", MinHash bands, or with `radius` a
            recipe of SimHash fingerprints. "ssdeep", "tlsh", or another recipe of digests, creates a store of files;
            a fitted family creates a store of vectors.
        threshold : float, optional
            Smallest similarity of a match, inclusive, above 0 and up to 1 (default: 0.8). For files the smallest
            ssdeep score, 1 to 100 (default: 80). For vectors the smallest cosine, with a family of the cosine.
        radius : int, optional
            Largest Hamming distance of a candidate, inclusive, with simhash; None derives it from threshold and
            recall. For vectors the largest L2 or L1 distance of a match, with a family of that distance. For files
            with a TLSH recipe the largest distance of a match, 0 to 100 (default: 40).
        recall : float, optional
            Required probability that a pair at the threshold is found (default: 0.995; for vectors 0.95). The bands
            of minhash follow from it, as does the radius of simhash. For codes of vectors 1 compares every vector.
        text : {"keep", "features", "none"}, default "keep"
            What the store keeps of the texts of new documents: the compressed texts; 64-bit hashes of their features,
            which suffice for exact Jaccard similarity and containment; or nothing.
        texts : function, optional
            With `text="none"`: returns the texts of a list of ids, as they were added, so that texts can verify
            matches. The store calls it while other writers may be waiting. Pass it to `open` as well.
        verify : {"jaccard", "containment", "indel", "words", "signature", "none"}, optional
            How candidates are verified (default: "jaccard"). If there are no texts or features to compare, None is
            "signature" with minhash and "none" otherwise. Files are compared by score, vectors by distance.
        differ : str or iterable of str, optional
            Rules that make similar texts different, such as "numbers,days" (`nearkin.dedup`): such pairs never match.
        empty : {"keep", "drop"}, default "keep"
            Treatment of texts without features, which are copies of nothing: every one is new, or none is taken.
        kind : str, optional
            A kind of texts, which sets recipe, threshold, `verify` and `differ` together (`nearkin.dedup.kinds`); those
            that the call passes win.
        sync : {"commit", "interval"}, default "commit"
            As in `open`.
        max_pending : int, default 65,536
            As in `open`.
        memory : int or float, optional
            As in `open`.

        Raises
        ------
        FileExistsError
            The path exists.
        ParameterError
            Values out of range, or that exclude one another.
        """
        has_texts = texts is not None
        config = StoreConfig(recipe, threshold, radius, recall, text, verify, differ, empty, has_texts, kind)
        settings = make_settings(config)
        with new_store_folder(Path(path).absolute()) as folder:
            Log.create(folder, settings.to_json())
            settings.save_files(folder)
        return cls.open(path, texts=texts, sync=sync, max_pending=max_pending, memory=memory)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Mode = "w",
        *,
        texts: LoadTexts | None = None,
        sync: Sync = "commit",
        wait: float = 60.0,
        max_pending: int = MAX_PENDING,
        memory: float | None = None,
    ) -> Store:
        """Open a store.

        Parameters
        ----------
        path : str or os.PathLike
            Its folder.
        mode : {"w", "r"}, default "w"
            "r" refuses every change.
        texts : function, optional
            Returns the texts of a list of ids, for a store with `text="none"` that verifies by texts. Without it, only
            calls that need no texts work.
        sync : {"commit", "interval"}, default "commit"
            When a change returns. "commit": after it is on the disk. "interval": after the operating system has it;
            then a power cut may lose the latest commits, up to 16 MB of log, each completely. A killed process loses
            nothing.
        wait : float, default 60
            Seconds that a change waits for other writers; 0 fails immediately.
        max_pending : int, default 65,536
            Number of pending documents in the log after which they are written into a segment. Their lookups need
            about 300 bytes of memory each.
        memory : int or float, optional
            Maximum memory of the store, excluding the batch of a call: bytes (an int, 1 MiB or more), or a share of
            the machine's memory (a float up to 1.0). Default: a quarter (`nearkin.store.memory`).

        Raises
        ------
        FileNotFoundError
            The path has no store.
        CorruptStoreError, FormatVersionError
            The store is damaged, or a newer nearkin wrote it.
        """
        check_choice("mode", mode, "w", "r")
        check_choice("sync", sync, "commit", "interval")
        wait = check_share("wait", wait, "seconds, 0 or more", lambda seconds: 0 <= seconds <= 1e6)
        max_pending = check_count("max_pending", max_pending, 16, 1 << 24, "16 to 16,777,216 documents")
        budget = Budget.of(memory)
        folder = Path(path).absolute()
        check_local_fs(folder)
        log = Log(folder, mode, sync, wait)
        try:
            with log.reading():
                settings = read_settings(log.state().settings, str(folder / LOG_NAME))
            recovered_outputs = outbox.publish_pending(log) if mode == "w" else []
            if texts is not None and not settings.needs_texts:
                raise bad_parameter("texts", "a function", f'None for this store, with text="{settings.text}"')
            store = cls.__new__(cls)
            store._set_up(folder, log, settings, mode, max_pending, texts, budget)
            store._recovered_outputs = recovered_outputs
            with store._reading():
                pass
            if mode == "w":
                record_missing_commits(folder, log)
                compaction.remove_orphans(folder)
                with store._reading():
                    pass
                with suppress(OSError):
                    remove_abandoned(folder.parent)
            warn_of_losses(folder, log)
        except BaseException:
            log.close()
            raise
        return store

    def close(self) -> None:
        """Close the store. Acknowledged changes are on the disk already. A closed store refuses every call."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._process == os.getpid():
                if self._compactor is not None:
                    self._compactor.join()
                self._log.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self._mode
        return f"Store({os.fspath(self._folder)!r}, {str(self._settings.recipe)!r}, {state})"

    @property
    def path(self) -> Path:
        """The folder of the store."""
        return self._folder

    @property
    def recipe(self) -> FrozenRecipe | Family:
        """How documents are hashed."""
        return self._settings.recipe

    @property
    def settings(self) -> StoreSettings:
        """The settings fixed at creation."""
        return self._settings

    @property
    def recovered_outputs(self) -> list[Path]:
        """Output folders that an interrupted `nearkin.dedup` left pending, and that opening the store published."""
        return list(self._recovered_outputs)

    @property
    def merges(self) -> compaction.MergeStats:
        """Number and time of the merges that this object has run, in the background and by `merge`."""
        return self._merges

    # Adding

    def _add(self, new: NewDocuments) -> CheckResult:
        self._check_writable()
        keys = None if new.ids is None else check_ids(new.ids)
        with _open_report(new.progress) as report:
            hashed = self._hash(new.texts, keys, new.kind, report)
            if keys is None and new.kind == "paths":
                paths: list[Any] = hashed.ids.to_list()
                keys = check_ids(paths)
            cells = None if new.columns is None else columns_by_row(new.columns, len(hashed))
            if new.absorb:
                self._check_texts()
            if new.on_better is not None:
                check_has_texts(self)
            features = self._feature_hashes(hashed)
            pages = self._page_batch(hashed, [""] * len(hashed) if keys is None else keys, cells)
            self._wait_for_flush()
            with self._lock:
                batch = BatchDeduplicator(
                    hashed, keys, self._settings, self._cache, report, report_conflicts=new.conflicts == "report"
                )
                decision, last_tombstone = batch.start(), self._snapshot.last_tombstone
                # Other writers need not wait while a batch is compared. A single document is compared within its
                # transaction, because another transaction costs more than the comparison. So are pages, because
                # other pages of their sites change how they are hashed.
                if new.absorb and len(hashed.counts) > 1 and pages is None:
                    with self._reading() as state:
                        last_tombstone = self._snapshot.last_tombstone
                        batch.compare(self._snapshot, 0, state.next_row, decision)
                with self._writing() as state:
                    if pages is not None:
                        batch.leave_out_lines(pages, self._log, self._snapshot)
                    if self._snapshot.last_tombstone != last_tombstone:
                        # A matching document may have been removed. Compare again, now that no other process writes.
                        decision = batch.start()
                    check_id_kind(keys, state)
                    if new.absorb:
                        batch.compare(self._snapshot, decision.stop, state.next_row, decision)
                        batch.finish(decision)
                    else:
                        batch.find_known(self._snapshot, 0, decision)
                    result, _ = self._append(batch, decision, keys, cells, features, state)
                    if new.copies:
                        result = replace(result, copies=count_copies(decision, self._snapshot, state.next_row))
                self._after_commit()
                if new.on_better is not None:
                    better = find_better(self, hashed, decision, result.own_ids or [], new.on_better)
                    result = replace(result, better=better)
                return result

    def _append(
        self,
        batch: BatchDeduplicator,
        decision: BatchDecision,
        keys: IdKeys | None,
        columns: list[dict[str, Cell]] | None,
        features: list[bytes] | None,
        state: State,
    ) -> tuple[CheckResult, State]:
        """Append the documents of a decided batch to the log, and to the memtable after the commit."""
        hashed, snapshot, first = batch.hashed, self._snapshot, state.next_row
        added = np.flatnonzero(decision.status < KNOWN)
        rows = np.arange(first, first + len(added))
        # Matches within the batch have rows now.
        inside = np.flatnonzero((decision.row < 0) & (decision.other >= 0))
        if len(inside):
            row_by_number = np.full(len(decision.status), -1, np.int64)
            row_by_number[added] = rows
            decision.row[inside] = row_by_number[decision.other[inside]]
        ids = select_ids(keys, rows, added)
        if keys is None:
            check_row_ids(ids, self._snapshot, state)
        distances = batch.distances(decision, snapshot)
        records = snapshot.new_records(hashed, added, decision.status[added])
        extras = batch.pack_extras(decision, added, distances, columns, features)
        own_ids = ids if keys is None else list(keys.tolist() if isinstance(keys, np.ndarray) else keys)
        new_ids = dict(zip(rows.tolist(), ids, strict=True))
        result = batch.result(decision, snapshot, distances, new_ids, own_ids=own_ids)
        if not ids:
            return result, state
        texts = batch.new_texts(decision, added) if self._settings.text == "keep" else None
        return result, self._append_rows(ids, hashed.contents[added].tobytes(), records, extras, texts, state)

    def _append_rows(
        self,
        ids: list[Id],
        contents: bytes,
        records: NDArray[np.void],
        extras: list[bytes] | None,
        texts: list[str | None] | None,
        state: State,
        additions: list[tuple[int, int]] | None = None,
    ) -> State:
        """Append rows to the log, and to the memtable after the commit; return the new counters."""
        first = state.next_row
        if first + len(ids) > 1 << 31:
            raise ParameterError("a store holds at most 2**31 documents, removed ones included; begin another one")
        batches = split_batches(first, ids, contents, records.tobytes(), extras)
        blocks: list[TextBlock] = []
        if texts is not None:
            start = 0
            for log_batch in batches:
                blocks += compress_texts(log_batch.first, texts[start : start + len(log_batch)])
                start += len(log_batch)
        self._log.append(batches, blocks, additions)
        state = self._log.set_state(
            state,
            next_row=first + len(ids),
            pending=state.pending + len(ids),
            id_kind=state.id_kind or ("str" if isinstance(ids[0], str) else "int"),
        )

        def commit() -> None:
            for log_batch in batches:
                self._snapshot.add_batch(log_batch)
            self._snapshot.commit(state)

        self._on_commit.append(commit)
        return state

    def _page_batch(
        self, hashed: HashedDocuments, names: Iterable[object], columns: list[dict[str, Cell]] | None
    ) -> PageBatch | None:
        """Return the pages of a call, in a store of them; names are ids, whose sites columns may override."""
        if not self._settings.pages:
            return None
        # Stored pages are compared without the lines that are frequent now.
        self._cache.clear()
        texts: Any = hashed.look_up(np.arange(len(hashed)))
        return PageBatch(list(texts), site_names(list(names), columns))

    def _feature_hashes(self, hashed: HashedDocuments) -> list[bytes] | None:
        """Return the hashes of the features of documents, if the store keeps them."""
        if self._settings.text != "features":
            return None
        return feature_hashes(self.recipe, hashed.look_up(np.arange(len(hashed)))) if len(hashed) else []

    # Querying

    def check(
        self,
        texts: Items,
        *,
        k: int | None = None,
        kind: Kind | None = None,
        sources: Iterable[str | None] | None = None,
        progress: ShowProgress = None,
    ) -> CheckResult:
        """Compare documents with the store without adding them.

        Parameters
        ----------
        texts : iterable of str or None, or an Arrow string array; files and vectors as for `check_and_add`
            Texts are compared with the store, and not with each other.
        k : int, optional
            Also return the k best matches of each text, most similar first, with their columns.
        kind : {"digests", "bytes", "paths"}, optional
            As for `check_and_add`.
        sources : iterable of str or None, one per text; optional
            For the kind `pages`: the URL or the site of each page, whose frequent lines are left out.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Returns
        -------
        CheckResult
            Status "new", "exact", "same-letters" or "near".

        Raises
        ------
        ParameterError
            k below 1, or sources for a store of another kind.
        CorruptStoreError
            A damaged file.
        """
        if k is not None:
            check_count("k", k, 1, 1 << 20, "1 or more")
        self._check_texts()
        with _open_report(progress) as report:
            hashed = self._hash(texts, None, kind, report)
            names = [""] * len(hashed) if sources is None else list(sources)
            if len(names) != len(hashed) or (sources is not None and not self._settings.pages):
                allowed = f"one per text, {len(hashed)}, and None for a store of another kind than pages"
                raise bad_parameter("sources", f"{len(names)} sources", allowed)
            pages = self._page_batch(hashed, names, [{"source": name} for name in names])
            with self._reading() as state:
                batch = BatchDeduplicator(hashed, None, self._settings, self._cache, report, independent=True)
                if pages is not None:
                    batch.leave_out_lines(pages, self._log)
                decision = batch.start()
                batch.compare(self._snapshot, 0, state.next_row, decision)
                matches = None if k is None else batch.best_matches(self._snapshot, k)
                distances = batch.distances(decision, self._snapshot)
                return batch.result(decision, self._snapshot, distances, {}, matches)

    def search(self, values: Any, *, radius: int | None = None, k: int = 10) -> list[list[StoredMatch]]:
        """Return the kept documents nearest to existing fingerprints, signatures, digests or vectors.

        Texts verify nothing here, so `search` may return more for a signature or a fingerprint than `check` does for
        its text.

        Parameters
        ----------
        values : (n,) or (n, words) uint64, (n, num_perm) uint, n digests, or (n, d) vectors
            In the form that `values` returns.
        radius : int, optional
            Largest Hamming distance, up to that of the store (default: that of the store); with fingerprints.
        k : int, default 10
            Maximum matches per query.

        Returns
        -------
        list of lists of StoredMatch
            Most similar first, ties in the order of addition. Distances are those of `check`. The similarity is the
            share of equal values for signatures, an estimate of the Jaccard similarity; NaN for fingerprints; that of
            `check` for digests and vectors.

        Raises
        ------
        ParameterError
            Values of another shape, or a radius above the store's.
        """
        check_count("k", k, 1, 1 << 20, "1 or more")
        source = self._settings.source
        if not isinstance(source, SimHashCandidates) and radius is not None:
            raise bad_parameter("radius", radius, "None: only fingerprints are searched within one")
        if not isinstance(source, (SimHashCandidates, MinHashCandidates)):
            kind: Kind | None = "digests" if self._settings.kind == "file" else None
            return self.check(values, k=k, kind=kind).matches or []
        queries = read_queries(source.recipe, values)
        if isinstance(source, SimHashCandidates) and radius is not None:
            radius = check_count("radius", radius, 0, source.radius, f"0 to {source.radius}, the radius of the store")
        with self._reading():
            lists = self._snapshot.range(0, 1 << 31).candidates(queries)
            sides = queries[lists.owners()], self._snapshot.values(lists.ordinals)
            distances = source.distances(*sides)
            rank: NDArray[Any] = distances
            # The distance of fingerprints is not a similarity.
            similarities = np.full(len(distances), np.nan)
            if isinstance(source, MinHashCandidates):
                similarities = source.equal_shares(*sides)
                rank = -similarities
            results: list[list[StoredMatch]] = []
            for first, last in pairwise(lists.offsets.tolist()):
                best = first + np.lexsort((lists.ordinals[first:last], rank[first:last]))[:k]
                best = best if radius is None else best[distances[best] <= radius]
                results.append(self._snapshot.matches(lists.ordinals[best], distances[best], similarities[best]))
            return results

    def get(self, ids: Ids, *, missing_ok: bool = False, ledger: bool = False) -> list[StoredDocument | None]:
        """Return stored documents, without their texts.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Return None for an id that does not exist.
        ledger : bool, default False
            Also return how many documents each one stands for, of how many sources, and when they were seen. The first
            use reads the records of all segments.

        Raises
        ------
        ParameterError
            An id that does not exist.
        """
        with self._rows(ids, missing_ok=missing_ok) as rows:
            documents = iter(self._snapshot.documents(rows[rows >= 0], ledger=ledger))
            return [next(documents) if row >= 0 else None for row in rows.tolist()]

    def texts(self, ids: Ids) -> list[str | None]:
        """Return the texts of documents; None for one that was not new.

        Raises
        ------
        ParameterError
            An id that does not exist.
        MismatchError
            The store keeps no texts, and `texts=` was not passed; the message names what it keeps.
        """
        with self._rows(ids) as rows:
            return self._snapshot.texts(rows)

    def features(self, ids: Ids) -> list[NDArray[np.uint64] | None]:
        """Return the hashes of the features of documents, ascending; None for one that was not new.

        Raises
        ------
        ParameterError
            An id that does not exist.
        MismatchError
            The store was not created with `text="features"`.
        """
        if self._settings.text != "features":
            raise mismatch("texts", f'a store with text="{self._settings.text}"', "a call that needs feature hashes")
        with self._rows(ids) as rows:
            return self._snapshot.features(rows)

    def values(self, ids: Ids) -> Values:
        """Return the values by which documents are searched.

        Returns
        -------
        (n, ...) array
            Fingerprints, `(n,)` or `(n, words)` uint64; signatures, `(n, num_perm)`; digests, `(n,)` objects; vectors,
            `(n, d)` float32.

        Raises
        ------
        ParameterError
            An id that does not exist.
        """
        with self._rows(ids) as rows:
            return self._settings.public_values(self._snapshot.values(rows))

    def content_hashes(self, ids: Ids) -> list[str]:
        """Return the XXH3-128 of the text, or of the bytes of the file, as 32 hexadecimal digits.

        Exact copies have the same hash.

        Raises
        ------
        ParameterError
            An id that does not exist.
        """
        with self._rows(ids) as rows:
            contents = self._snapshot.contents(rows)
        # Words are stored least significant byte first. For texts the lower word is stored first.
        words = [(content[7::-1].hex(), content[:7:-1].hex()) for content in contents]
        return [second + first if self._settings.kind == "text" else first + second for first, second in words]

    contents = renamed("Store.contents", content_hashes)

    def __len__(self) -> int:
        """Return the number of documents added and not removed."""
        with self._reading():
            return len(self._snapshot)

    def _has_id(self, key: Id | np.integer) -> bool:
        with self._rows([key], missing_ok=True) as rows:
            return bool(rows[0] >= 0)

    @property
    def next_row(self) -> int:
        """Number of documents ever added, removed ones included: the row number of the next one."""
        with self._reading() as state:
            return state.next_row

    @property
    def id_kind(self) -> str:
        """Kind of the ids, "int" or "str"; "" before the first document."""
        with self._reading() as state:
            return state.id_kind

    def iter_documents(self, *, batch_size: int = 4096, ledger: bool = False) -> Iterator[list[StoredDocument]]:
        """Yield all documents in the order of addition, `batch_size` at a time; `ledger` is that of `get`.

        Each batch is read on demand, so the iteration includes documents added after it began, and skips documents
        removed before their batch.
        """
        check_count("batch_size", batch_size, 1, 1 << 24, "1 to 16,777,216")
        start = 0
        while True:
            with self._reading():
                rows = self._snapshot.live_rows(start, batch_size)
                if not len(rows):
                    return
                batch = self._snapshot.documents(rows, ledger=ledger)
            start = int(rows[-1]) + 1
            yield batch

    def pairs(self) -> PairTable:
        """Return each document that was not new with its match: id, representative, distance, similarity."""
        links = [
            (document.id, document.match, document.distance, document.similarity)
            for batch in self.iter_documents()
            for document in batch
            if document.match is not None
        ]
        names = ("id", "representative", "distance", "similarity")
        columns = {name: [link[at] for link in links] for at, name in enumerate(names)}
        return PairTable(columns, id_type={"int": "int64", "str": "string"}.get(self.id_kind))

    def clusters(self) -> list[list[Id]]:
        """Return clusters of two and more ids: the kept document, then the others in the order of addition."""
        clusters: dict[Id, list[Id]] = {}
        for link in self.pairs().rows():
            clusters.setdefault(link["representative"], [link["representative"]]).append(link["id"])
        return list(clusters.values())

    def stats(self, *, ledger: bool = False) -> StoreStats:
        """Return counts, sizes and settings; `ledger` is that of `get`, and counts kept documents and sources."""
        for _ in range(_MAX_RETRIES):
            try:
                with self._reading():
                    return self._snapshot.stats(ledger=ledger)
            except FileNotFoundError as error:  # noqa: PERF203  # A merge has removed a file meanwhile: begin again.
                missing = error
        raise self._missing_segment(missing)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        include_duplicates: bool = False,
        ledger: bool = False,
        overwrite: bool = False,
        progress: ShowProgress = None,
    ) -> int:
        """Write the new documents as JSON Lines, in the order of addition, and return their number.

        `nearkin store add --all` and `nearkin dedup` read the file. A line of a text has `id` and `text`. A line of a
        file has `id`, `path` (the id as a string), `digest`, `recipe`, `content` (the hash of its bytes, 32
        hexadecimal digits) and `length`, so that `nearkin ssdeep` reads it as well. A line of a vector has `id` and
        `vector`. Columns follow.

        Parameters
        ----------
        path : str or os.PathLike
            `.jsonl`, `.jsonl.gz` or `.jsonl.zst`; the file is replaced atomically.
        include_duplicates : bool, default False
            Also write documents that were not new: they have a status, a match, and no text.
        ledger : bool, default False
            Also write `copies`, `sources`, `first_seen` and `last_seen` (`get`), before the columns.
        overwrite : bool, default False
            Replace an existing file.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        ParameterError
            Another file name suffix; an existing file; a column with the name of a field above.
        """
        target = Path(path)
        suffix = next((suffix for suffix in _EXPORT_SUFFIXES if target.name.endswith(suffix)), None)
        if suffix is None:
            raise bad_parameter("out", str(target), "a file that ends in .jsonl, .jsonl.gz or .jsonl.zst")
        if target.exists() and not overwrite:
            raise bad_parameter("out", str(target), "a file that does not exist, or --overwrite")
        total, seen, written = len(self), 0, 0
        with (
            reporting(progress) as report,
            replace_file(target) as file,
            compressing(file, _EXPORT_SUFFIXES[suffix]) as stream,
        ):
            for batch in self.iter_documents(ledger=ledger):
                documents = [document for document in batch if include_duplicates or document.status == "new"]
                stream.write(b"".join(export_lines(self, documents, include_duplicates=include_duplicates)))
                seen, written = seen + len(batch), written + len(documents)
                report("export", seen, total)
        return written

    # Maintenance

    def remove(self, ids: Ids, *, missing_ok: bool = False, erase: bool = False) -> int:
        """Remove documents from all results, durably, and return the number of documents that the store has no more.

        If other documents matched a removed one, the store decides again about them, in the same step. Files, vectors
        and texts that are compared by their signatures or fingerprints are compared again, in the order of addition,
        as if the removed document had never been added. Of texts, the first exact copy takes the place of the removed
        document, with its text, and the others match that copy. Without a copy, the text of no member is known: the
        store forgets the members, and they can be added again. This counts them as removed.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Ignore ids that do not exist.
        erase : bool, default False
            Also erase text, fingerprint and columns from every file now, which rewrites the segments that have them.
            Otherwise the next merge does so.

        Raises
        ------
        ParameterError
            An id that does not exist. Nothing is removed.
        StoreLockedError
            Other writers did not end within `wait` seconds. With `erase` also the errors of `merge`; call `merge`
            later to erase the documents.
        """
        self._check_writable()
        keys = check_ids(ids)
        return self._remove(lambda: self._find_rows(keys, missing_ok), erase=erase)

    def _remove(self, find_rows: Callable[[], Ordinals], *, erase: bool) -> int:
        """Remove the rows that a function returns in the transaction, -1 for none; return how many are gone."""
        with self._lock:
            with self._writing() as state:
                rows = distinct(find_rows())
                rows = rows[rows >= 0]
                count = self._remove_rows(rows, state) if len(rows) else 0
            self._after_commit()
        if erase and count:
            self.merge()
        return count

    def _remove_rows(self, rows: Ordinals, state: State) -> int:
        """Remove documents in the open transaction, and decide again about the documents that matched them.

        Returns
        -------
        int
            Number of documents that the store has no more.
        """
        try:
            members, matched = self._snapshot.members(rows)
            restored = restore_members(self._snapshot, self._settings, self._cache, members, matched)
            self._log.add_tombstones(np.concatenate([rows, members]).tolist())
            self._snapshot.add_tombstones()
            if restored is None:
                self._set_state(state)
                return len(rows) + len(members)
            batch, decision, keys, columns, features = restored
            if decision is None:
                decision = batch.start()
                batch.compare(self._snapshot, 0, state.next_row, decision)
                batch.finish(decision)
            self._append(batch, decision, keys, columns, features, state)
            return len(rows) + len(members) - len(batch.hashed)
        except BaseException:
            # The snapshot has tombstones that are not committed.
            self._reset_snapshot()
            raise

    def expire(
        self,
        *,
        before: datetime | date | str | None = None,
        max_age: timedelta | str | None = None,
        column: str | None = None,
        dry_run: bool = False,
        erase: bool = False,
        progress: ShowProgress = None,
    ) -> Expired:
        """Remove documents older than a time, as `remove` does: durably, all of them or none.

        Parameters
        ----------
        before : datetime, date or str, optional
            Documents of an earlier time expire; as a string in ISO 8601. Without a time zone it is UTC.
        max_age : timedelta or str, optional
            Instead of `before` an age: a number with a unit, such as "90d" (s, m for minutes, h, d, w).
        column : str, optional
            The column that holds the time of a document, as a string in ISO 8601 or as Unix seconds. Documents without
            a time are kept. None stands for the time of addition, by which a document may expire ten minutes late, and
            never early. A document that took the place of a removed one counts as added then.
        dry_run : bool, default False
            Remove nothing; count only.
        erase : bool, default False
            As for `remove`.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Returns
        -------
        Expired
            Number of documents that the store has no more, those that `remove` forgets included, and of those without a
            time.

        Raises
        ------
        ParameterError
            Not one of `before` and `max_age`; not a time or an age; a column that no document has.
        StoreLockedError
            As for `remove`.
        """
        time = cutoff(before, max_age, datetime.now(timezone.utc))
        self._check_open() if dry_run else self._check_writable()
        with reporting(progress) as report:
            found, undated = find_expired(self._open_snapshot, column, time, report)
        if not len(found):
            return Expired(0, undated, time, dry_run)
        if dry_run:
            with self._reading():
                rows = found[self._snapshot.present(found)]
                members, matched = self._snapshot.members(rows)
                restored = restore_members(self._snapshot, self._settings, self._cache, members, matched)
                stay = 0 if restored is None else len(restored[0].hashed)
                return Expired(len(rows) + len(members) - stay, undated, time, dry_run)
        # Others may have removed some of the documents since.
        count = self._remove(lambda: found[self._snapshot.present(found)], erase=erase)
        return Expired(count, undated, time, dry_run)

    def merge(self, *, progress: ShowProgress = None) -> StoreStats:
        """Merge pending documents and all segments into one segment without removed documents.

        Others may read and write during the merge. Afterwards no file has removed documents.

        Parameters
        ----------
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        OutputError
            The disk is full, or fails. No document is lost.
        StoreLockedError
            Another process is merging. Or documents were removed, and others read the write-ahead log, which still has
            them, for longer than `wait` seconds; everything else is done, and another merge erases them.
        """
        self._check_writable()
        with self._lock:
            self._check_open()
            if self._compactor is not None:
                self._compactor.join()
        with reporting(progress) as report, self._merges.timing():
            last = compaction.merge_all(self._folder, self._settings, self._budget, report, self._log)
        # Close the files that the merge has removed.
        with self._reading():
            pass
        compaction.erase(self._folder, last, self._log.wait)
        return self.stats()

    def verify(self, *, progress: ShowProgress = None) -> None:
        """Read every byte of every file, and compare checksums and the files with one another.

        Parameters
        ----------
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        CorruptStoreError
            The first damage; the message names file and section.
        """
        with self._lock, reporting(progress) as report:
            self._check_open()
            check_store(self._folder, self._settings, report)

    @staticmethod
    def repair(path: str | os.PathLike[str], *, progress: ShowProgress = None) -> list[Finding]:
        """Rebuild damaged index files from the documents, and hash functions of vectors from their seed; then verify.

        Parameters
        ----------
        path : str or os.PathLike
            The folder of a store that nobody has open for writing.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Returns
        -------
        list of Finding
            The damage that was repaired.

        Raises
        ------
        CorruptStoreError
            The log or a file of documents is damaged. Restore it from a backup.
        StoreLockedError
            Another process is writing segments.
        """
        folder = Path(path).absolute()
        with closing(Log(folder)) as log, log.reading():
            text = log.state().settings
        damage = repair_files(text, str(folder / LOG_NAME))
        settings = read_settings(text, str(folder / LOG_NAME))
        findings = [] if damage is None else [Finding(damage.place, damage.reason)]
        with reporting(progress) as report:
            return findings + repair_store(folder, settings, report)

    @staticmethod
    def salvage(path: str | os.PathLike[str], out: str | os.PathLike[str], *, progress: ShowProgress = None) -> Salvage:
        """Write a new store with everything that can be read of a damaged one.

        Settings, list and documents are rebuilt from intact segments, those in `lost/` included, and pending documents
        from what the log still has. The damaged folder is not changed.

        Parameters
        ----------
        path : str or os.PathLike
            The folder of the damaged store, which nobody has open.
        out : str or os.PathLike
            The new folder, which must not exist.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Returns
        -------
        Salvage
            What the new store has, and exactly what is missing.

        Raises
        ------
        CorruptStoreError
            No segment, and no settings in the log, can be read.
        FileExistsError
            `out` exists.
        """
        with reporting(progress) as report:
            return salvage(Path(path).absolute(), Path(out).absolute(), report)

    def adopt_lost(self) -> Adoption:
        """Take back the documents of the segments in `lost/`, with their ids, rows, texts and columns.

        Documents whose id another document has now are not taken, and their segment remains. A record of missing
        commits remains until you delete its file from `lost/`.

        Raises
        ------
        CorruptStoreError
            A segment in `lost/` is damaged, or of another store.
        StoreLockedError
            Another process is merging.
        """
        self._check_writable()
        with self._lock:
            self._check_open()
            if self._compactor is not None:
                self._compactor.join()
            return adopt_lost(self._folder, self._settings, self._budget, self._log)

    def backup(self, path: str | os.PathLike[str], *, share: float = 1.0, progress: ShowProgress = None) -> None:
        """Copy the last commit to a new folder, while others read and write.

        Segments that an earlier backup in the same parent folder has are hard links to its files, if the file system
        has them, so that a backup takes the space of what is new.

        Parameters
        ----------
        path : str or os.PathLike
            The new folder, which must not exist.
        share : float, default 1.0
            Share of the time spent copying, 0.01 to 1. A smaller share leaves more of the disk to others, and takes
            longer.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        FileExistsError
            The path exists.
        ParameterError
            A share out of its range.
        """
        share = check_share("share", share, "0.01 to 1, of the time", lambda part: 0.01 <= part <= 1)
        with reporting(progress) as report:
            self._check_open()
            compaction.backup(self._folder, Path(path).absolute(), report, share)

    @staticmethod
    def restore(
        backups: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        at: datetime | date | str | None = None,
        progress: ShowProgress = None,
    ) -> Backup:
        """Copy the last backup that is not later than a time to a new folder, and return the backup.

        Parameters
        ----------
        backups : str or os.PathLike
            The folder in which `backup` made backups. The one that is restored is verified first.
        path : str or os.PathLike
            The new folder, which must not exist. It appears when the copy is complete.
        at : datetime, date or str, optional
            The time, as a string in ISO 8601, inclusive; without a time zone it is UTC. None is the last backup.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        InputError
            The folder has no backups.
        ParameterError
            All backups are later; the message lists them.
        CorruptStoreError
            The backup is damaged, or was changed after it was made.
        FileExistsError
            The path exists.
        """
        source = find_backup(Path(backups).absolute(), at)
        target = Path(path).absolute()
        with reporting(progress) as report:
            # Verify first: a damaged backup must not become a store.
            with Store.open(source.path, "r") as store:
                check_store(source.path, store.settings, report)
            compaction.backup(source.path, target, report, recorded=False)
        return source

    def copy(
        self,
        path: str | os.PathLike[str],
        recipe: Recipe | AnyDigestRecipe | Family | str | None = None,
        *,
        threshold: float | None = None,
        radius: float | None = None,
        recall: float | None = None,
        text: TextRule | None = None,
        texts: LoadTexts | None = None,
        verify: StoreVerify | None = None,
        differ: str | Iterable[str] | None = None,
        empty: Empty | None = None,
        kind: CorpusKind | None = None,
        memory: float | None = None,
        progress: ShowProgress = None,
    ) -> Store:
        """Copy the documents into a new store with other settings, and open it.

        Documents are deduplicated again in the order of addition, and keep ids, columns and times of addition. A
        document near another one, whose text the store does not have, stays near the same document, or near the one
        that this document matches now; its distance is -1, and its values are zeros.

        Parameters
        ----------
        path : str or os.PathLike
            The new folder, which must not exist. It appears when the copy is complete.
        recipe, threshold, radius, recall, verify, differ, empty, kind
            As for `create`; None stands for the value of this store. With a recipe, radius, recall and verification
            have their defaults if this store's do not apply.
        text : {"keep", "features", "none"}, optional
            As for `create`; None stands for the rule of this store.
        texts : function, optional
            Returns the texts of a list of ids, as they were added, near-duplicates included: then every document is
            compared again. Required for a store of texts that keeps none.
        memory : int or float, optional
            As for `open`, of the copy.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        FileExistsError
            The path exists.
        MismatchError
            The store keeps no texts, and none are given; or the recipe is for another kind of documents.
        ParameterError
            Values out of range, or that exclude one another.
        """
        self._check_open()
        rule: TextRule = self._settings.text if text is None else text
        load = texts or self._load_texts
        # The copy calls the function later as well, if it keeps no texts itself and texts verify.
        config = StoreConfig(recipe, threshold, radius, recall, rule, verify, differ, empty, load is not None, kind)
        settings = copied_settings(self._settings, config)
        later = load if settings.needs_texts else None
        with new_store_folder(Path(path).absolute()) as folder, reporting(progress) as report:
            Log.create(folder, settings.to_json())
            settings.save_files(folder)
            with Store.open(folder, texts=later, sync="interval", memory=memory) as new:
                StoreCopy(self, new, load).run(report)
                new.merge()
        return Store.open(path, texts=later, memory=memory)

    # Deduplication of a corpus: `nearkin.dedup(against=store)` and `nearkin.dedup(store=store)`

    def reference_corpus(self, candidate_source: CandidateSource) -> ReferenceCorpus:
        """Return the new documents as the reference of a deduplication (`nearkin.dedup.reference`).

        Raises
        ------
        MismatchError
            `candidate_source` hashes or proposes candidates differently; or it needs texts that were not passed.
        """
        own = self._settings.source
        if type(candidate_source) is not type(own):
            given = getattr(candidate_source, "recipe", type(candidate_source).__name__)
            raise mismatch("family", f"the store's {self.recipe}", given)
        other: Any = candidate_source
        if isinstance(self.recipe, FrozenRecipe):
            self.recipe.check_same(other.recipe)
        if isinstance(own, DigestCandidates) and own.threshold != other.threshold:
            raise mismatch("threshold", f"the store's {own.threshold}", other.threshold)
        # The recall of bands depends on the verification, too.
        summaries = [dict(source.summary()) for source in (own, candidate_source)]
        if all("num_bands" in summary for summary in summaries):
            for summary in summaries:
                del summary["expected_recall"]
        if summaries[0] != summaries[1]:
            raise mismatch("how candidates are found", own.summary(), candidate_source.summary())
        self._check_texts()
        with self._reading() as state:
            return SnapshotRange(self._open_snapshot, 0, state.next_row, candidate_source)

    def append(
        self,
        new: HashedDocuments,
        candidate_source: CandidateSource,
        decide: Callable[[ReferenceCorpus, Ordinals], DedupResult],
        *,
        numbered: bool,
        columns: Mapping[str, Column],
        output: Callable[[DedupResult], OutputDir] | None,
        ledger: bool = False,
    ) -> DedupResult:
        """Deduplicate hashed documents and add the kept ones, as `nearkin.dedup.sink` describes.

        `decide` runs without a lock. If other processes have added or removed documents since, it runs once more while
        no other process writes.
        """
        self._check_writable()
        self._wait_for_flush()
        keys = None if numbered else check_ids(new.ids.to_list())  # type: ignore[arg-type]  # Others are refused.
        with self._reading() as state:
            check_id_kind(keys, state)
            seen = state.next_row, self._snapshot.last_tombstone
        self.reference_corpus(candidate_source)

        def run(stop: int) -> tuple[DedupResult, OutputDir | None, tuple[Path, Path] | None]:
            with self._open_snapshot() as snapshot:
                known = known_rows(new, keys, snapshot, stop)
            result = decide(SnapshotRange(self._open_snapshot, 0, stop, candidate_source), known)
            folder = None if output is None else output(result)
            return result, folder, None if folder is None else folder.prepare(self._folder / LOG_NAME)

        result, folder, prepared = run(seen[0])
        with self._lock:
            with self._writing() as state:
                if (state.next_row, self._snapshot.last_tombstone) != seen:
                    result, folder, prepared = run(state.next_row)
                state, placed = self._append_kept(new, result.kept_rows, keys, columns, state)
                if ledger:
                    state = self._append_removed(new, result.clusters, placed, keys, columns, state)
                if prepared is not None:
                    outbox.add_output(self._log, *prepared)
                    self._set_state(state)
            if folder is not None and prepared is not None:
                self._publish(folder, *prepared)
            self._after_commit()
        return result

    def _append_kept(
        self,
        new: HashedDocuments,
        kept: NDArray[np.int64],
        keys: IdKeys | None,
        columns: Mapping[str, Column],
        state: State,
    ) -> tuple[State, Ordinals]:
        """Append kept documents in the open transaction, a chunk at a time.

        Returns
        -------
        State
            The new counters.
        (n,) int64
            The row in the store of each new document, -1 for one that is not kept.
        """
        placed, start = np.full(len(new), -1, np.int64), 0
        while start < len(kept):
            ends = np.cumsum(new.lengths[kept[start : start + _CHUNK_DOCUMENTS]].astype(np.int64))
            end = start + max(int(np.searchsorted(ends, _CHUNK_CHARACTERS, side="right")), 1)
            rows, start = kept[start:end], end
            chunk = new.select(rows)
            ids = take_ids(keys, rows)
            cells = chunk_columns(columns, rows)
            batch = BatchDeduplicator(chunk, ids, self._settings, self._cache)
            decision = batch.start()
            batch.find_known(self._snapshot, 0, decision)
            is_new = decision.row < 0
            placed[rows] = np.where(is_new, state.next_row - 1 + np.cumsum(is_new), decision.row)
            _, state = self._append(batch, decision, ids, cells, self._feature_hashes(chunk), state)
        return state, placed

    def _append_removed(
        self,
        new: HashedDocuments,
        clusters: ClusterTable,
        placed: Ordinals,
        keys: IdKeys | None,
        columns: Mapping[str, Column],
        state: State,
    ) -> State:
        """Append removed documents, except those whose id is stored, with their matches, and return the counters."""
        removed = np.flatnonzero(clusters.codes)
        names = take_ids(keys, clusters.members[removed])
        if names is not None:
            removed = removed[self._snapshot.find_ids(names) < 0]
        for start in range(0, len(removed), _CHUNK_DOCUMENTS):
            chosen = removed[start : start + _CHUNK_DOCUMENTS]
            rows = clusters.members[chosen]
            ids = select_ids(keys, np.arange(state.next_row, state.next_row + len(rows)), rows)
            if keys is None:
                check_row_ids(ids, self._snapshot, state)
            records, extras = pack_removed(new, clusters, chosen, placed, chunk_columns(columns, rows), self._snapshot)
            texts: list[str | None] | None = [None] * len(rows) if self._settings.text == "keep" else None
            state = self._append_rows(ids, new.contents[rows].tobytes(), records, extras, texts, state)
        return state

    def _publish(self, folder: OutputDir, target: Path, prepared: Path) -> None:
        """Publish the output of a committed transaction, and drop its row."""
        try:
            folder.commit()
        except OSError as error:
            message = f"{error}; what is new is remembered, and opening the store again puts the output in place"
            raise OutputError(message, place=str(target), in_place="old", errno=error.errno) from error
        if prepared.exists():
            return
        # If the row cannot be dropped now, the next opening of the store drops it.
        with suppress(OSError, StoreLockedError):
            sync_folder(prepared.parent)
            with self._writing() as state:
                self._log.drop_outputs([str(target)])
                self._set_state(state)

    # Transactions

    @contextmanager
    def _reading(self) -> Iterator[State]:
        """Bring the snapshot to the last commit, and hold it there."""
        with self._lock:
            self._check_open()
            if self._in_transaction:
                yield self._snapshot.refresh()
                return
            for _ in range(_MAX_RETRIES):
                with self._log.reading():
                    self._in_transaction = True
                    try:
                        try:
                            state = self._refresh()
                        except FileNotFoundError as error:
                            missing = error
                            continue
                        yield state
                        return
                    finally:
                        self._in_transaction = False
            raise self._missing_segment(missing)

    @contextmanager
    def _open_snapshot(self) -> Iterator[Snapshot]:
        with self._reading():
            yield self._snapshot

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """Exclude other writers; run the actions in `_on_commit` after the commit."""
        self._check_open()
        self._on_commit.clear()
        try:
            with self._log.writing():
                self._in_transaction = True
                try:
                    state = self._refresh()
                    # If this is interrupted after COMMIT but before the in-memory update, the snapshot is stale.
                    self._stale = True
                    yield state
                finally:
                    self._in_transaction = False
            for action in self._on_commit:
                action()
            self._stale = False
        except StoreReplacedError:
            # What a commit into the old folder has changed is read again from its log.
            raise
        except FileNotFoundError as error:
            # Nobody merges during a write, so the segment list is current.
            raise self._missing_segment(error) from None
        except NearkinError:
            # The error came before the commit, or from it: nothing has changed.
            self._stale = False
            raise

    def _set_state(self, state: State) -> None:
        """Write counters in the open transaction, and keep them after the commit."""
        changed = self._log.set_state(state)
        self._on_commit.append(lambda: self._snapshot.commit(changed))

    def _refresh(self) -> State:
        """Return the state of the open transaction; after an error the snapshot is rebuilt."""
        if self._stale:
            self._reset_snapshot()
            self._stale = False
        try:
            return self._snapshot.refresh()
        except BaseException:
            self._reset_snapshot()
            raise

    def _reset_snapshot(self) -> None:
        self._snapshot = Snapshot(self._log, self._settings, self._load_texts)
        self._cache.clear()

    def check_not_replaced(self) -> None:
        """Check that the path of the store still names its folder and its log, which takes microseconds.

        Every change does so. A service calls it for its readiness.

        Raises
        ------
        StoreReplacedError
            The folder or the log was replaced, moved or removed. The store accepts no changes any more.
        """
        self._check_open()
        self._log.check_not_replaced()

    check_place = renamed("Store.check_place", check_not_replaced)

    def _missing_segment(self, error: FileNotFoundError) -> CorruptStoreError:
        self._log.check_not_replaced()
        reason = "a segment on the list is not there; restore the store from a backup"
        return corrupt_file(error.filename or self._folder, reason)

    def _after_commit(self) -> None:
        """Start the compactor if enough documents are pending."""
        if len(self._snapshot.memtable) >= self._max_pending:
            self._start_compactor()

    def _start_compactor(self) -> compaction.Compactor:
        with self._lock:
            if self._compactor is None:
                self._compactor = compaction.Compactor(self._log, self._settings, self._budget, self._merges)
            self._compactor.start()
            return self._compactor

    def _wait_for_flush(self) -> None:
        """Before documents are added, wait until fewer than `MAX_BACKLOG * max_pending` are pending.

        The lock of the handle is free meanwhile, so that other threads can read.

        Raises
        ------
        StoreLockedError
            Another process prevented the flush for `wait` seconds.
        OSError, NearkinError
            Segments cannot be written.
        """
        limit, deadline = MAX_BACKLOG * self._max_pending, time.monotonic() + self._log.wait
        while (pending := len(self._snapshot.memtable)) >= limit:
            compactor = self._start_compactor()
            compactor.join("flush")
            with self._reading():
                pending = len(self._snapshot.memtable)
            if pending < limit:
                return
            error, compactor.error = compactor.error, None
            if error is not None:
                raise error
            if time.monotonic() >= deadline:
                message = (
                    f"{self._folder}: {pending:,} documents are pending, and another process keeps this one from "
                    "writing them into a segment; run again when it has ended, or wait longer"
                )
                raise StoreLockedError(message, place=str(self._folder))
            time.sleep(_FLUSH_PAUSE)

    def _hash(self, items: Items, keys: IdKeys | None, kind: Kind | None, report: Progress) -> HashedDocuments:
        self._check_open()
        if self._settings.pages and not isinstance(items, HashedDocuments):
            check_texts(items, kind)
            items = read_pages(items)
        # Files may come hashed, by a reader that skips those that cannot be read.
        hashed = items if isinstance(items, HashedDocuments) else self._settings.hash(items, kind, report)
        if keys is not None and len(keys) != len(hashed.counts):
            noun = self._settings.kind
            raise bad_parameter("ids", f"{len(keys)} ids", f"{len(hashed)} ids, one per {noun}")
        return hashed

    @contextmanager
    def _rows(self, ids: Ids, *, missing_ok: bool = False) -> Iterator[Ordinals]:
        """Open a transaction, and return the row of each id; -1 for a missing one."""
        keys = check_ids(ids)
        with self._reading():
            yield self._find_rows(keys, missing_ok)

    def _find_rows(self, keys: IdKeys, missing_ok: bool) -> Ordinals:
        state = self._snapshot.state
        if state is not None and not has_kind(keys, state):
            rows = np.full(len(keys), -1, np.int64)
        else:
            rows = self._snapshot.find_ids(keys)
        if not missing_ok and len(rows) and rows.min() < 0:
            key = keys[int(np.argmin(rows))]
            name = int(key) if isinstance(key, np.integer) else key
            raise bad_parameter("ids", repr(name), "ids that are in the store, or missing_ok=True")
        return rows

    def _check_texts(self) -> None:
        """Refuse calls that may need texts which neither the store nor the caller has."""
        if self._settings.needs_texts and self._load_texts is None:
            raise self._settings.no_texts_error()

    def _check_open(self) -> None:
        if self._process != os.getpid():
            raise ForkError("this store was opened before the process forked; open it again in the child")
        if self._closed:
            raise ParameterError("the store is closed; open it again")

    def _check_writable(self) -> None:
        self._check_open()
        if self._mode == "r":
            raise ParameterError('the store was opened with mode="r"; open it with mode="w" to change it')


def _open_report(progress: ShowProgress) -> AbstractContextManager[Progress]:
    """Open the progress report of a call; most calls have none."""
    return nullcontext(ignore_progress) if progress is None else reporting(progress)
