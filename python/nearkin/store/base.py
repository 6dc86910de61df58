"""`Store`: a collection of documents on disk that says which new ones are new, and remembers them.

A store is a folder: immutable, checksummed, memory-mapped *segments* for all that is looked up, and a *log* in SQLite
for what is small and changes (`docs/format-store.md`). Any number of processes may read it while others write; writers
queue.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import (
    ForkError,
    NearkinError,
    OutputError,
    ParameterError,
    StoreLockedError,
    bad_parameter,
    check_count,
    mismatch,
)
from nearkin.families.base import Family
from nearkin.io import Column, OutputDir
from nearkin.io.aside import Aside, recover, sync_folder
from nearkin.pipeline.candidates import CandidateSource, DigestCandidates, Places, Values
from nearkin.pipeline.documents import HashedDocuments
from nearkin.pipeline.older import OlderDocuments
from nearkin.pipeline.results import DedupResult, PairTable
from nearkin.progress import Progress, ShowProgress, reporting
from nearkin.recipe import Recipe
from nearkin.recipe.base import FrozenRecipe
from nearkin.search.ids import Id, IdKeys, Ids, check_ids, plain_id
from nearkin.ssdeep import DigestRecipe
from nearkin.store import merging, outputs
from nearkin.store.answers import Answers, StoredMatch
from nearkin.store.checking import Finding, check_store, repair_store
from nearkin.store.decide import Batch, Cache, Decision
from nearkin.store.documents import (
    Columns,
    StoredDocument,
    StoreStats,
    columns_by_row,
    in_turn,
    pieces,
)
from nearkin.store.kinds import make_settings, mend_files, read_settings
from nearkin.store.log import NAME, Log, LogBatch, LogTexts, Mode, State, Sync, batches_of, sum_of, texts_of
from nearkin.store.memory import Budget
from nearkin.store.older import OlderOnDisk
from nearkin.store.parts import FOLDER
from nearkin.store.places import check_place
from nearkin.store.reading import (
    check_kind,
    count_of,
    documents_of,
    hexadecimal,
    is_kind,
    live_rows,
    missing,
    read_extra,
    stats_of,
)
from nearkin.store.records import (
    EXACT,
    KNOWN,
    NEAR,
    NEW,
    STATUSES,
    Cell,
    Match,
    pack_extra,
)
from nearkin.store.settings import Kind, StoreSettings, StoreVerify, TextRule
from nearkin.store.single import answer_of_one
from nearkin.store.texts import TextsByIds, features_of, no_texts
from nearkin.store.view import Contents, StoreView, removal_key
from nearkin.text.batches import Texts
from nearkin.vectors.rows import Vectors

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Store"]

Items = Texts | Iterable[bytes | os.PathLike[str]] | Vectors | HashedDocuments
"""What is given to a store: texts; digests, bytes or paths of files; vectors; or documents that were hashed for it."""

WAITING = 1 << 16
"""Documents that wait in the log before they are written into a segment."""
_TRIES = 100
"""Times that a list of segments is read again because a merge has removed its files meanwhile."""


class Store:
    """Documents on disk that say whether a new one is like them.

    Open one with `Store.create` or `Store.open`; several threads may share it.

    Examples
    --------
    >>> import nearkin as nk, tempfile
    >>> path = tempfile.mkdtemp() + "/pages.store"
    >>> with nk.Store.create(path, threshold=0.7) as store:
    ...     answers = store.check_and_add(["The quick brown fox jumps over the lazy dog."], ["a"])
    >>> with nk.Store.open(path) as store:
    ...     answers = store.check_and_add(
    ...         ["The quick brown fox jumped over the lazy dog.", "Another text about cats."], ["b", "c"],
    ...         columns={"source": ["web", "mail"]},
    ...     )
    ...     print(answers.status, answers.ids, answers.similarities.round(2).tolist())
    ...     print(len(store), store.get(["b"])[0].columns)
    ['near', 'new'] ['a', None] [0.76, nan]
    3 {'source': 'web'}
    """

    def __init__(
        self,
        folder: Path,
        log: Log,
        settings: StoreSettings,
        mode: Mode,
        most_waiting: int,
        texts: TextsByIds | None,
        budget: Budget,
    ) -> None:
        self._folder, self._log, self._settings, self._mode = folder, log, settings, mode
        self._given_texts, self._budget = texts, budget
        self._contents = Contents(log, settings, texts)
        self._most_waiting = budget.waiting(most_waiting, self._contents.record_type.itemsize)
        self._cache = Cache(settings, budget.cache)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._closed = False
        self._keeper: merging.Keeper | None = None
        self._log_in_transaction = False
        self._stale = False
        self._pending: Callable[[], None] | None = None
        self._delivered: list[Path] = []

    # Opening and closing

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        recipe: Recipe | DigestRecipe | Family | str | None = None,
        *,
        threshold: float | None = None,
        radius: float | None = None,
        recall: float | None = None,
        text: TextRule = "keep",
        texts: TextsByIds | None = None,
        verify: StoreVerify | None = None,
        sync: Sync = "commit",
        waiting: int = WAITING,
        memory: float | None = None,
    ) -> Store:
        """Make a new, empty store and open it.

        Parameters
        ----------
        path : str or os.PathLike
            The folder; nothing is there yet.
        recipe : Recipe, nearkin.ssdeep.DigestRecipe, nearkin.families.Family or str, optional
            How a text becomes a fingerprint or a signature; None for the default. "ssdeep", or another recipe of
            digests, makes a store of files; a fitted family one of vectors.
        threshold : float, optional
            Smallest similarity of a match, inclusive, above 0 and up to 1; 0.8 for None. Of files the smallest score, 1
            to 100; 80 for None. Of vectors the smallest cosine, for a family of the cosine.
        radius : int, optional
            Largest Hamming distance of a candidate, inclusive; None derives it. With simhash. Of vectors the largest
            L2 or L1 distance of a match, for a family of one of these.
        recall : float, optional
            Wanted probability that a pair at the threshold is found; 0.95 for None. With minhash, and of vectors; for
            codes 1 compares all.
        text : {"keep", "features", "none"}, default "keep"
            What is kept of the texts of new documents: the texts, compressed; 64-bit hashes of their features, by which
            Jaccard similarity and containment are exact; or nothing.
        texts : function, optional
            With `text="none"`: gives the texts of a list of ids, as they were added, so that matches are verified by
            them. Called while others may wait; `open` takes it, too.
        verify : {"jaccard", "containment", "indel", "signature", "none"}, optional
            How candidates are verified. None is "jaccard"; with nothing to compare "signature" with minhash, else
            "none". Of files their score is the similarity, and vectors are compared themselves.
        sync : {"commit", "interval"}, default "commit"
            As in `open`.
        waiting : int, default 65,536
            As in `open`.
        memory : int or float, optional
            As in `open`.

        Raises
        ------
        FileExistsError
            Something is there.
        ParameterError
            Values out of range, or that exclude one another.
        """
        settings = make_settings(recipe, threshold, radius, recall, text, verify, given=texts is not None)
        folder = Path(path).absolute()
        check_place(folder)
        recover(folder)
        if folder.exists() or folder.is_symlink():
            raise FileExistsError(f"{folder}: something is there; open it, or give another path")
        aside = Aside(folder)
        aside.begin()
        try:
            aside.new.mkdir()
            (aside.new / FOLDER).mkdir()
            Log.create(aside.new, settings.to_json())
            settings.save_files(aside.new)
            merging.sync_folder(aside.new)
            aside.put_folder()
            merging.sync_folder(folder.parent)
        finally:
            aside.end()
        return cls.open(path, texts=texts, sync=sync, waiting=waiting, memory=memory)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Mode = "w",
        *,
        texts: TextsByIds | None = None,
        sync: Sync = "commit",
        wait: float = 60.0,
        waiting: int = WAITING,
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
            Gives the texts of a list of ids, for a store with `text="none"` that verifies by texts. Without it the
            store answers what needs no texts.
        sync : {"commit", "interval"}, default "commit"
            When a change returns: once it is on the disk; or once the system has it: then a power cut may lose the
            commits of the last 16 MB of log, the latest ones, each whole; a killed process loses nothing.
        wait : float, default 60
            Seconds that a change waits for other writers; 0 fails at once.
        waiting : int, default 65,536
            Documents that wait in the log before they are written into a segment: look-ups of those take about 300
            bytes of memory each.
        memory : int or float, optional
            What the store may hold in memory beside the batch of a call: bytes (an int, 1 MiB or more), or a share of
            the machine's memory (a float up to 1.0); a quarter if not given (`nearkin.store.memory`).

        Raises
        ------
        FileNotFoundError
            No store is there.
        CorruptStoreError, FormatVersionError
            It is damaged, or a newer nearkin wrote it.
        """
        if mode not in ("w", "r"):
            raise bad_parameter("mode", repr(mode), '"w" or "r"')
        if sync not in ("commit", "interval"):
            raise bad_parameter("sync", repr(sync), '"commit" or "interval"')
        if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not 0 <= wait <= 1e6:
            raise bad_parameter("wait", repr(wait), "seconds, 0 or more")
        most = check_count("waiting", waiting, 16, 1 << 24, "16 to 16,777,216 documents")
        budget = Budget.of(memory)
        folder = Path(path).absolute()
        check_place(folder)
        log = Log(folder, mode, sync, float(wait))
        try:
            with log.reading():
                settings = read_settings(log.state().settings, str(folder / NAME))
            delivered = outputs.settle(log) if mode == "w" else []
            if texts is not None and not settings.needs_texts:
                raise bad_parameter("texts", "a function", f'None for this store, with text="{settings.text}"')
            store = cls(folder, log, settings, mode, most, texts, budget)
            store._delivered = delivered
            with store._reading():
                pass
            if mode == "w":
                merging.clean(folder, log)
        except BaseException:
            log.close()
            raise
        return store

    def close(self) -> None:
        """Close the store; what was acknowledged is on the disk already. A closed store refuses every call."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._process == os.getpid():
                if self._keeper is not None:
                    self._keeper.stop()
                self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self._mode
        return f"Store({os.fspath(self._folder)!r}, {str(self._settings.recipe)!r}, {state})"

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._folder

    @property
    def recipe(self) -> FrozenRecipe | Family:
        """How its documents are hashed."""
        return self._settings.recipe

    @property
    def settings(self) -> StoreSettings:
        """What it was made for."""
        return self._settings

    @property
    def delivered(self) -> list[Path]:
        """Folders of output that an interrupted `nearkin.dedup` owed, and that opening the store put in their place."""
        return list(self._delivered)

    @property
    def next_row(self) -> int:
        """How many documents were ever added, removed ones included: the row number of the next one."""
        with self._reading() as state:
            return state.next_row

    @property
    def id_kind(self) -> str:
        """Kind of the ids, "int" or "str"; "" before the first."""
        with self._reading() as state:
            return state.id_kind

    # Questions

    def check(
        self, texts: Items, *, k: int | None = None, kind: Kind | None = None, progress: ShowProgress = None
    ) -> Answers:
        """What each document would be if it came now; nothing is remembered.

        Parameters
        ----------
        texts : iterable of str or None, or an Arrow string array; files and vectors as for `check_and_add`
            Each is held against the store alone, not against the others.
        k : int, optional
            Give the k best matches of each text, too, most similar first, with their columns.
        kind : {"digests", "bytes", "paths"}, optional
            As for `check_and_add`.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Returns
        -------
        Answers
            Status "new", "exact" or "near".

        Raises
        ------
        ParameterError
            k below 1.
        CorruptStoreError
            Damage that a look-up met.
        """
        if k is not None:
            check_count("k", k, 1, 1 << 20, "1 or more")
        self._check_texts()
        with reporting(progress) as report:
            hashed = self._hash(texts, None, kind, report)
            with self._reading() as state:
                if k is None and len(hashed) == 1:
                    answer = answer_of_one(hashed, self._contents, self._settings, *self._cache.take(1))
                    if answer is not None:
                        return answer
                batch = Batch(hashed, None, self._settings, self._cache, report)
                # Texts do not meet one another: each is its own original.
                batch.original = np.arange(len(hashed))
                decision = batch.open()
                batch.decide(self._contents, 0, state.next_row, decision)
                matches = None if k is None else self._best(batch, k)
                return self._answers(batch, decision, {}, matches)

    def _best(self, batch: Batch, k: int) -> list[list[StoredMatch]]:
        """The k best matches of each document among the stored ones."""
        contents, source = self._contents, self._settings.source
        lists = batch.matches(contents)
        found: list[list[StoredMatch]] = []
        for number, (rows, similarities) in enumerate(lists):
            values = batch.hashed.values[np.full(len(rows), number)]
            distances = source.distances(values, StoreView(contents, 0, 0).values(rows))
            ranked = np.where(np.isnan(similarities), -distances.astype(np.float64), similarities)
            best = np.lexsort((rows, -ranked))[:k]
            extras = contents.extras(rows[best])
            found.append(
                [
                    StoredMatch(name, distance.item(), float(similarity), read_extra(contents, extra)[1])
                    for name, distance, similarity, extra in zip(
                        contents.ids(rows[best]), distances[best], similarities[best], extras, strict=True
                    )
                ]
            )
        return found

    def get(self, ids: Ids, *, missing_ok: bool = False) -> list[StoredDocument | None]:
        """What the store knows of documents.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Whether an id that is not there gives None.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        keys = check_ids(ids)
        with self._reading():
            rows = self._rows_of(keys, missing_ok)
            there = rows[rows >= 0]
            documents = iter(documents_of(self._contents, there))
            return [next(documents) if row >= 0 else None for row in rows.tolist()]

    def texts(self, ids: Ids) -> list[str | None]:
        """The texts of documents; None for one that was not new.

        Raises
        ------
        ParameterError
            An id that is not there.
        MismatchError
            The store keeps no texts, and `texts=` was not given; the message says what there is.
        """
        keys = check_ids(ids)
        with self._reading():
            return self._contents.texts(self._rows_of(keys, missing_ok=False))

    def features(self, ids: Ids) -> list[NDArray[np.uint64] | None]:
        """With `text="features"`: hashes of the features of documents, ascending; None for one that was not new.

        Raises
        ------
        ParameterError
            An id that is not there.
        MismatchError
            The store keeps no hashes of features.
        """
        if self._settings.text != "features":
            raise mismatch("texts", f'a store with text="{self._settings.text}"', "a call that needs feature hashes")
        keys = check_ids(ids)
        with self._reading():
            return self._contents.features(self._rows_of(keys, missing_ok=False))

    def values(self, ids: Ids) -> Values:
        """What documents are searched by.

        Returns
        -------
        (n, ...) array
            Fingerprints, `(n,)` or `(n, words)` uint64; signatures, `(n, num_perm)`; digests, `(n,)` objects; vectors,
            `(n, d)` float32.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        keys = check_ids(ids)
        with self._reading():
            values = StoreView(self._contents, 0, 0).values(self._rows_of(keys, missing_ok=False))
            return self._contents.family.shown(values)

    def contents(self, ids: Ids) -> list[str]:
        """XXH3-128 of what exact copies share, the text or the bytes of a file, as 32 hexadecimal digits.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        keys = check_ids(ids)
        with self._reading():
            found = self._contents.contents(self._rows_of(keys, missing_ok=False))
        return hexadecimal(found, self._settings)

    def __len__(self) -> int:
        """How many documents were added and not removed."""
        with self._reading() as state:
            return count_of(self._contents, state)

    def __contains__(self, key: object) -> bool:
        """Whether an id is there."""
        if isinstance(key, bool) or not isinstance(key, (int, str, np.integer)):
            return False
        try:
            keys = check_ids([key])
        except ParameterError:
            return False
        with self._reading() as state:
            if not is_kind(keys, state):
                return False
            return bool(self._contents.find_ids(keys)[0] >= 0)

    def iter_documents(self, *, batch_size: int = 4096) -> Iterator[list[StoredDocument]]:
        """All documents in the order in which they came, `batch_size` at a time.

        Each batch is read when it is asked for: what is removed meanwhile is not given, what is added is.
        """
        check_count("batch_size", batch_size, 1, 1 << 24, "1 to 16,777,216")
        start = 0
        while True:
            with self._reading():
                rows = live_rows(self._contents, start, batch_size)
                if not len(rows):
                    return
                batch = documents_of(self._contents, rows)
            start = int(rows[-1]) + 1
            yield batch

    def pairs(self) -> PairTable:
        """Links of documents that were not new with the one that stays: id, representative, distance, similarity."""
        links = [
            (one.id, one.match, one.distance, one.similarity)
            for batch in self.iter_documents()
            for one in batch
            if one.match is not None
        ]
        names = ("id", "representative", "distance", "similarity")
        columns = {name: [link[at] for link in links] for at, name in enumerate(names)}
        return PairTable(columns, id_type={"int": "int64", "str": "string"}.get(self.id_kind))

    def clusters(self) -> list[list[Id]]:
        """Clusters of two and more ids: the document that stays first, then the others in the order of their coming."""
        groups: dict[Id, list[Id]] = {}
        for link in self.pairs().rows():
            groups.setdefault(link["representative"], [link["representative"]]).append(link["id"])
        order = {name: number for number, name in enumerate(groups)}
        return sorted(groups.values(), key=lambda group: order[group[0]])

    def stats(self) -> StoreStats:
        """What the store holds, without opening anything large."""
        with self._reading() as state:
            return stats_of(self._contents, state)

    # Changes

    def check_and_add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        progress: ShowProgress = None,
    ) -> Answers:
        """Say of each document whether it is new, and remember it: one atomic, durable step.

        Parameters
        ----------
        texts : iterable of str or None, or an Arrow string array; of files an iterable of what `kind` says; of vectors
            an (n, d) array or SciPy sparse matrix, rounded to float32
            In order: each is held against the store and against those before it.
        ids : integers or strings, one per text; optional
            None stands for row numbers, counted from the first document ever added, and for paths for the paths.
        columns : mapping of str to one value per text; optional
            Strings, numbers or booleans that `get` gives back.
        kind : {"digests", "bytes", "paths"}, optional
            What is given to a store of files; None stands for digests. A digest that is given alone is the content of
            its document: equal ones are exact copies.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total, also
            while the store is locked for this call: it must not use the store.

        Returns
        -------
        Answers

        Raises
        ------
        InputError
            An id that is there, or occurs twice, with another text. What is no digest, or no regular file. Nothing is
            added.
        ParameterError
            Ids of another kind than the store's, columns of another length.
        OSError
            The disk is full or fails, or a file can't be read. Nothing is added; the store can be used on.
        StoreLockedError
            Other writers did not end in time.
        """
        with reporting(progress) as report:
            return self._add(texts, ids, columns, kind, report, absorb=True)

    def add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        progress: ShowProgress = None,
    ) -> Answers:
        """Remember documents that are known to be wanted: all stay, whatever they are like.

        Parameters, errors and durability are those of `check_and_add`; an id that is there with the same text is
        "known", all others are "new".
        """
        with reporting(progress) as report:
            return self._add(texts, ids, columns, kind, report, absorb=False)

    def _add(
        self,
        texts: Items,
        ids: Ids | None,
        columns: Columns | None,
        kind: Kind | None,
        report: Progress,
        *,
        absorb: bool,
    ) -> Answers:
        self._check_writable()
        keys = None if ids is None else check_ids(ids)
        hashed = self._hash(texts, keys, kind, report)
        if keys is None and kind == "paths":
            names: list[Any] = hashed.ids.to_list()
            keys = check_ids(names)
        count = len(hashed)
        extra = columns_by_row(columns, count)
        batch = Batch(hashed, keys, self._settings, self._cache, report)
        if absorb:
            self._check_texts()
        features = self._features_of(hashed)
        with self._lock:
            decision, removal = batch.open(), self._contents.last_removal
            if absorb:
                with self._reading() as state:
                    removal = self._contents.last_removal
                    batch.decide(self._contents, 0, state.next_row, decision)
            with self._writing() as state:
                if self._contents.last_removal != removal:
                    # What decided may be gone: decide again while nobody else writes.
                    decision = batch.open()
                check_kind(keys, state)
                if absorb:
                    batch.decide(self._contents, decision.stop, state.next_row, decision)
                    batch.finish(decision)
                else:
                    batch.know(self._contents, decision)
                answers = self._append(batch, decision, keys, extra, features, state)
            self._after_commit()
            return answers

    def _append(
        self,
        batch: Batch,
        decision: Decision,
        keys: IdKeys | None,
        columns: list[dict[str, Cell]] | None,
        features: list[bytes] | None,
        state: State,
    ) -> Answers:
        """Put the documents of a decided batch into the log, and their look-ups into memory, once committed."""
        hashed, contents = batch.hashed, self._contents
        stored = np.flatnonzero(decision.status != KNOWN)
        rows = state.next_row + np.arange(len(stored))
        row_of = np.full(len(hashed), -1, np.int64)
        row_of[stored] = rows
        if state.next_row + len(stored) > 1 << 31:
            raise ParameterError("a store holds at most 2**31 documents, removed ones included; begin another one")
        # Matches within the batch have rows now.
        inside = (decision.row < 0) & (decision.other >= 0)
        decision.row[inside] = row_of[decision.other[inside]]
        names = self._names(keys, rows, stored)
        if keys is None:
            self._check_row_ids(names, state)
        distances = self._distances(batch, decision)
        records = np.zeros(len(stored), contents.record_type)
        records["features"] = np.minimum(hashed.counts[stored], 0xFFFFFFFF)
        records["length"] = np.minimum(hashed.lengths[stored], 0xFFFFFFFF)
        records["status"] = decision.status[stored]
        records["values"] = hashed.values[stored]
        packed = hashed.contents[stored].tobytes()
        hashes = [packed[at : at + 16] for at in range(0, len(packed), 16)]
        extras = self._extras(decision, stored, distances, columns, features)
        answers = self._answers(batch, decision, dict(zip(rows.tolist(), names, strict=True)), None, distances)
        if names:
            batches = batches_of(state.next_row, names, packed, records.tobytes(), extras)
            sums = self._log.append(batches, self._texts_of(hashed, decision, stored, batches))
            kind = state.id_kind or ("str" if isinstance(names[0], str) else "int")
            state = replace(
                state,
                next_row=state.next_row + len(names),
                waiting=state.waiting + len(names),
                sums=state.sums ^ sums,
                id_kind=kind,
            )
            self._log.set_state(state)

            def committed() -> None:
                contents.waiting.add(rows, names, hashes, records)
                contents.committed(state)

            self._pending = committed
        return answers

    def _extras(
        self,
        decision: Decision,
        stored: NDArray[np.int64],
        distances: NDArray[Any],
        columns: list[dict[str, Cell]] | None,
        features: list[bytes] | None,
    ) -> list[bytes] | None:
        """The extras of documents that get rows now; None where all are empty."""
        is_new = decision.status[stored] == NEW
        if columns is None and features is None and is_new.all():
            return None
        extras = [b""] * len(stored)
        some = range(len(stored)) if columns is not None else np.flatnonzero((features is not None) | ~is_new).tolist()
        for place in some:
            number, match = int(stored[place]), None
            if not is_new[place]:
                match = Match(int(decision.row[number]), distances[number].item(), float(decision.similarity[number]))
            kept = features[number] if features is not None and match is None else None
            extras[place] = pack_extra(match, columns[number] if columns else {}, kept)
        return extras

    def _texts_of(
        self, hashed: HashedDocuments, decision: Decision, stored: NDArray[np.int64], batches: list[LogBatch]
    ) -> list[LogTexts]:
        """The texts of documents that get rows now in blocks: of the new ones, if the store keeps texts."""
        if self._settings.text != "keep":
            return []
        places = np.flatnonzero(decision.status[stored] == NEW)
        texts = hashed.look_up(stored[places])
        strings: list[str | None] = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
        if len(places) < len(stored):
            kept: list[str | None] = [None] * len(stored)
            for place, text in zip(places.tolist(), strings, strict=True):
                kept[place] = text
            strings = kept
        found, start = [], 0
        for batch in batches:
            some = strings[start : start + len(batch)]
            found += texts_of(batch.first, some)
            start += len(batch)
        return found

    def _features_of(self, hashed: HashedDocuments) -> list[bytes] | None:
        """The hashes of the features of documents, should they stay, if the store keeps these."""
        if self._settings.text != "features":
            return None
        return features_of(self.recipe, hashed.look_up(np.arange(len(hashed)))) if len(hashed) else []

    def _check_texts(self) -> None:
        """Refuse calls that may verify by texts which neither the store nor the caller has."""
        if self._settings.needs_texts and self._given_texts is None:
            raise no_texts(self._settings)

    def _names(self, keys: IdKeys | None, rows: Places, stored: NDArray[np.int64]) -> list[Id]:
        if keys is None:
            return [*rows.tolist()]
        if isinstance(keys, np.ndarray):
            return [*keys[stored].tolist()]
        return [keys[number] for number in stored.tolist()]

    def _check_row_ids(self, names: list[Id], state: State) -> None:
        """Row numbers stand for ids: refuse them where they are ids of other documents."""
        if state.id_kind == "str":
            raise mismatch("kind of ids", "the store's strings", "row numbers; give ids")
        taken = self._contents.find_ids(np.array(names, np.int64))
        if len(taken) and taken.max() >= 0:
            name = names[int(np.argmax(taken >= 0))]
            raise bad_parameter("ids", f"None, where {name} is the id of another document", "ids, one per text")

    def remove(self, ids: Ids, *, missing_ok: bool = False, erase: bool = False) -> int:
        """Hide documents from every answer, at once and durably; returns how many were removed.

        What was found near a removed document stays removed; its likes that come later are new.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Whether ids that are not there are skipped.
        erase : bool, default False
            Whether text, fingerprint and columns are also erased from every file now, which rewrites segments that
            hold them; else the next merge does.

        Raises
        ------
        ParameterError
            An id that is not there. Nothing is removed.
        StoreLockedError
            Other writers did not end in time. Or with `erase` what is removed can't be erased yet, as `merge` says,
            which is to be called later.
        """
        self._check_writable()
        keys = check_ids(ids)
        with self._lock:
            with self._writing() as state:
                rows = np.unique(self._rows_of(keys, missing_ok))
                rows = rows[rows >= 0]
                if len(rows):
                    self._log.remove(rows.tolist())
                    sums = state.sums ^ sum_of([removal_key(row) for row in rows.tolist()])
                    state = replace(state, sums=sums)
                    self._log.set_state(state)
                    self._pending = lambda: self._contents.follow_removals(state)
            self._after_commit()
        if erase and len(rows):
            self.merge()
        return len(rows)

    # Upkeep

    def merge(self, *, progress: ShowProgress = None) -> StoreStats:
        """Write all that waits into a segment, and all segments into one without removed documents.

        Readers and writers go on meanwhile. What was removed is gone from every file afterwards.

        Parameters
        ----------
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        StoreLockedError
            Another process is merging. Or something was removed, and others read the write-ahead log, in which it
            still is, for longer than `wait` seconds: everything else is done, and another merge erases it there.
        """
        self._check_writable()
        with self._lock:
            self._check_open()
            if self._keeper is not None:
                self._keeper.finish()
        with reporting(progress) as report:
            last = merging.merge_all(self._folder, self._settings, self._budget, report)
        # Files that this store has open, and that are gone, are closed.
        with self._reading():
            pass
        merging.erase(self._folder, last, self._log.wait)
        return self.stats()

    def verify(self, *, progress: ShowProgress = None) -> None:
        """Read every byte of every file, and compare checksums and what the files say of one another.

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
    def repair(path: str | os.PathLike[str]) -> list[Finding]:
        """Build again what follows from the rest: index files, from the documents, and hash functions of vectors where
        they follow from their seed. Then the store is verified.

        Returns
        -------
        list of Finding
            What was damaged and has been repaired.

        Raises
        ------
        CorruptStoreError
            Damage of what nothing else holds: the log, or a file of documents. Restore it from a backup.
        StoreLockedError
            Another process is writing segments.
        """
        folder = Path(path).absolute()
        log = Log(folder)
        try:
            with log.reading():
                text = log.state().settings
            damage = mend_files(text, str(folder / NAME))
            settings = read_settings(text, str(folder / NAME))
        finally:
            log.close()
        mended = [] if damage is None else [Finding(damage.place, damage.reason, repaired=True)]
        return mended + repair_store(folder, settings)

    def backup(self, path: str | os.PathLike[str], *, progress: ShowProgress = None) -> None:
        """Copy the store as it stands to a new folder, while others read and write.

        Parameters
        ----------
        path : path
            Where nothing is.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        FileExistsError
            Something is there.
        """
        folder = Path(path).absolute()
        check_place(folder)
        recover(folder)
        if folder.exists() or folder.is_symlink():
            raise FileExistsError(f"{folder}: something is there; give another path")
        with self._lock, reporting(progress) as report:
            self._check_open()
            merging.backup(self._folder, folder, report)

    # For nearkin.dedup(against=store)

    def older_documents(self, candidate_source: CandidateSource) -> OlderDocuments:
        """The documents that stay, as what new ones are held against (`nearkin.pipeline.older`).

        Raises
        ------
        MismatchError
            `candidate_source` hashes or proposes otherwise than the store; or it needs texts that were not given.
        """
        own = self._settings.source
        if type(candidate_source) is not type(own):
            raise mismatch("family", f"the store's {self.recipe}", type(candidate_source).__name__)
        other: Any = candidate_source
        if isinstance(self.recipe, FrozenRecipe):
            self.recipe.check_same(other.recipe)
        if isinstance(own, DigestCandidates) and own.threshold != other.threshold:
            raise mismatch("threshold", f"the store's {own.threshold}", other.threshold)
        if candidate_source.summary() != own.summary():
            raise mismatch("how candidates are found", own.summary(), candidate_source.summary())
        self._check_texts()
        with self._reading() as state:
            return OlderOnDisk(self.view, state.next_row, candidate_source)

    def remember(
        self,
        new: HashedDocuments,
        candidate_source: CandidateSource,
        decide: Callable[[OlderDocuments], DedupResult],
        *,
        numbered: bool,
        columns: Mapping[str, Column],
        output: Callable[[DedupResult], OutputDir] | None,
    ) -> DedupResult:
        """What `nearkin.dedup(store=store)` does with hashed documents: `nearkin.pipeline.remembering`.

        It decides with no lock held. If others have added or removed documents meanwhile it decides once more, while
        nobody else writes.
        """
        self._check_writable()
        keys = None if numbered else check_ids(new.ids.to_list())  # type: ignore[arg-type]  # Others are refused.
        with self._reading() as state:
            check_kind(keys, state)
            seen = state.next_row, self._contents.last_removal
        self.older_documents(candidate_source)
        result = decide(OlderOnDisk(self.view, seen[0], candidate_source))
        folder = None if output is None else output(result)
        prepared = None if folder is None else folder.promise(self._folder / NAME)
        with self._lock:
            with self._writing() as state:
                if (state.next_row, self._contents.last_removal) != seen:
                    result = decide(OlderOnDisk(self.view, state.next_row, candidate_source))
                    folder = None if output is None else output(result)
                    prepared = None if folder is None else folder.promise(self._folder / NAME)
                state = self._add_kept(new, result.kept_rows, keys, columns, state)
                if prepared is not None:
                    before, state = self._pending, outputs.promise(self._log, state, *prepared)
                    self._log.set_state(state)
                    self._pending = in_turn(before, partial(self._contents.committed, state))
            if folder is not None and prepared is not None:
                self._put(folder, *prepared)
            self._after_commit()
        return result

    def _add_kept(
        self,
        new: HashedDocuments,
        kept: NDArray[np.int64],
        keys: IdKeys | None,
        columns: Mapping[str, Column],
        state: State,
    ) -> State:
        """Add documents that stay in the transaction that is open, as `add` does; the counters with them."""
        for rows in pieces(kept, new.lengths):
            some = new.some(rows)
            some_keys = (
                keys if keys is None else keys[rows] if isinstance(keys, np.ndarray) else [keys[r] for r in rows]
            )
            cells = {name: [column[row] for row in rows.tolist()] for name, column in columns.items()}
            batch = Batch(some, some_keys, self._settings, self._cache)
            decision = batch.open()
            batch.know(self._contents, decision)
            features = self._features_of(some)
            before, self._pending = self._pending, None
            self._append(batch, decision, some_keys, columns_by_row(cells, len(rows)), features, state)
            self._pending = in_turn(before, self._pending)
            state = self._log.state()
        return state

    def _put(self, folder: OutputDir, target: Path, prepared: Path) -> None:
        """Put an output that came with a commit in its place, and forget that it was promised."""
        try:
            folder.put()
        except OSError as error:
            message = f"{error}; what is new is remembered, and opening the store again puts the output in place"
            raise OutputError(message, place=str(target), in_place="old", errno=error.errno) from error
        if prepared.exists():
            return
        # All is done: a row that can't be removed now goes when the store is opened next.
        with suppress(OSError, StoreLockedError):
            sync_folder(prepared.parent)
            self._forget_output(target)

    def _forget_output(self, target: Path) -> None:
        with self._writing() as state:
            state = outputs.forget(self._log, state, [str(target)])
            self._log.set_state(state)
            self._pending = partial(self._contents.committed, state)

    @contextmanager
    def view(self, stop: int) -> Iterator[StoreView]:
        """A context with the documents that stay, of rows below `stop`, as they stood at one commit."""
        with self._reading():
            yield StoreView(self._contents, 0, stop)

    # Inside

    @contextmanager
    def _reading(self) -> Iterator[State]:
        """A context in which contents are those of one commit."""
        with self._lock:
            self._check_open()
            if self._log_in_transaction:
                yield self._contents.refresh()
                return
            for _ in range(_TRIES):
                with self._log.reading():
                    self._log_in_transaction = True
                    try:
                        state = self._refreshed()
                    except FileNotFoundError as error:
                        gone = error
                        continue
                    finally:
                        self._log_in_transaction = False
                    self._log_in_transaction = True
                    try:
                        yield state
                    finally:
                        self._log_in_transaction = False
                    return
            raise missing(self._folder, gone)

    def _take_over(self) -> None:
        """Put into memory what was committed."""
        if self._pending is not None:
            self._pending()

    @contextmanager
    def _writing(self) -> Iterator[State]:
        """A context in which nobody else writes; what it left in `_pending` is done once it is committed."""
        self._check_open()
        self._pending = None
        try:
            with self._log.writing():
                self._log_in_transaction = True
                try:
                    state = self._refreshed()
                    # Whatever ends this between the commit and its look-ups here, an interrupt say, makes them unknown.
                    self._stale = True
                    yield state
                finally:
                    self._log_in_transaction = False
            self._take_over()
            self._stale = False
        except FileNotFoundError as error:
            # Nobody merges while this writes: the list is the last one.
            raise missing(self._folder, error) from None
        except NearkinError:
            # It came before the commit, or from it: nothing has changed.
            self._stale = False
            raise

    def _refreshed(self) -> State:
        """The state of the open transaction; after an error everything is read again."""
        if self._stale:
            self._contents, self._stale = Contents(self._log, self._settings, self._given_texts), False
            self._cache.forget()
        try:
            return self._contents.refresh()
        except BaseException:
            self._contents = Contents(self._log, self._settings, self._given_texts)
            self._cache.forget()
            raise

    def _after_commit(self) -> None:
        """Let a segment be written, in the background, once enough documents wait."""
        waiting = len(self._contents.waiting)
        if waiting < self._most_waiting:
            return
        if self._keeper is None:
            self._keeper = merging.Keeper(self._folder, self._settings, self._budget)
        self._keeper.wake()
        if waiting >= 4 * self._most_waiting:
            self._keeper.finish()

    def _hash(self, texts: Items, keys: IdKeys | None, kind: Kind | None, report: Progress) -> HashedDocuments:
        self._check_open()
        hashed = self._settings.hash(texts, kind, report)
        if keys is not None and len(keys) != len(hashed):
            noun = self._settings.noun
            raise bad_parameter("ids", f"{len(keys)} ids", f"{len(hashed)} ids, one per {noun}")
        return hashed

    def _distances(self, batch: Batch, decision: Decision) -> NDArray[Any]:
        """Distances to the documents that decided, -1 where none did; 0 for known ones, filled in later."""
        source, values = self._settings.source, batch.hashed.values
        found: NDArray[Any] = np.full(len(batch.hashed), -1, self._settings.distance_type)
        found[decision.status == EXACT] = 0
        near = np.flatnonzero(decision.status == NEAR)
        if not len(near):
            return found
        inside, stored = near[decision.other[near] >= 0], near[decision.other[near] < 0]
        found[inside] = source.distances(values[inside], values[decision.other[inside]])
        if len(stored):
            view = StoreView(self._contents, 0, 0)
            found[stored] = source.distances(values[stored], view.values(decision.row[stored]))
        return found

    def _answers(
        self,
        batch: Batch,
        decision: Decision,
        fresh: Mapping[int, Id],
        matches: list[list[StoredMatch]] | None,
        distances: NDArray[Any] | None = None,
    ) -> Answers:
        """Answers of a decided batch; `fresh` are the rows and ids of those that get rows now."""
        count = len(decision.status)
        if distances is None:
            distances = self._distances(batch, decision)
        similarities = decision.similarity.copy()
        ids: list[Id | None] = [None] * count
        first_fresh = next(iter(fresh), 1 << 62)
        decided = np.flatnonzero((decision.status == EXACT) | (decision.status == NEAR))
        if len(decided):
            stored = decided[decision.row[decided] < first_fresh]
            for number, name in zip(stored.tolist(), self._contents.ids(decision.row[stored]), strict=True):
                ids[number] = name
            for number in decided[decision.row[decided] >= first_fresh].tolist():
                ids[number] = fresh[int(decision.row[number])]
        known = np.flatnonzero(decision.status == KNOWN)
        if len(known):
            self._repeat(decision, known, first_fresh, (ids, distances, similarities))
        status = [STATUSES[code] for code in decision.status.tolist()]
        return Answers(status, ids, distances, similarities, matches, self._settings.verified_by)

    def _repeat(
        self,
        decision: Decision,
        known: NDArray[np.int64],
        first_fresh: int,
        answers: tuple[list[Id | None], NDArray[Any], NDArray[np.float64]],
    ) -> None:
        """Give known documents their first answer again: that of the store, or of the earlier one in the batch."""
        ids, distances, similarities = answers
        old = known[(decision.row[known] >= 0) & (decision.row[known] < first_fresh)]
        for number, document in zip(old.tolist(), documents_of(self._contents, decision.row[old]), strict=True):
            ids[number], distances[number], similarities[number] = (
                document.match,
                document.distance,
                document.similarity,
            )
        for number in known[~np.isin(known, old)].tolist():
            other = int(decision.other[number])
            ids[number], distances[number], similarities[number] = ids[other], distances[other], similarities[other]

    def _rows_of(self, keys: IdKeys, missing_ok: bool) -> Places:
        state = self._contents.state
        if state is not None and not is_kind(keys, state):
            rows = np.full(len(keys), -1, np.int64)
        else:
            rows = self._contents.find_ids(keys)
        if not missing_ok and len(rows) and rows.min() < 0:
            name = plain_id(keys[int(np.argmin(rows))])
            raise bad_parameter("ids", repr(name), "ids that are in the store, or missing_ok=True")
        return rows

    def _check_open(self) -> None:
        if self._process != os.getpid():
            raise ForkError("this store was opened before the process forked; open it again in the child")
        if self._closed:
            raise ParameterError("the store is closed; open it again")

    def _check_writable(self) -> None:
        self._check_open()
        if self._mode == "r":
            raise ParameterError('the store was opened with mode="r"; open it with mode="w" to change it')
