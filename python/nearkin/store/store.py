"""`Store`: a collection of documents on disk that says which new ones are new, and remembers them.

A store is a folder: immutable, checksummed, memory-mapped *segments* for all that is looked up, and a *log* in SQLite
for what is small and changes (`docs/format-store.md`). Any number of processes may read it while others write; writers
queue.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from nearkin.dedup.stages import Featureless
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import bad_parameter, check_count
from nearkin.families.base import Family
from nearkin.index.ids import Ids, check_ids
from nearkin.io.atomic_write import StagedOutput, recover
from nearkin.progress import ShowProgress, reporting
from nearkin.recipe import Recipe
from nearkin.store import compaction, outbox
from nearkin.store.asking import AskedStore
from nearkin.store.check import Finding, check_store, repair_store
from nearkin.store.dedup_sink import RememberingStore
from nearkin.store.documents import StoreStats
from nearkin.store.filesystem import check_place
from nearkin.store.kinds import make_settings, mend_files, read_settings
from nearkin.store.log import NAME, Log, Mode, Sync, sum_of
from nearkin.store.memory import Budget
from nearkin.store.segment import FOLDER
from nearkin.store.settings import StoreVerify, TextRule
from nearkin.store.snapshot import removal_key
from nearkin.store.texts import TextsByIds

__all__ = ["Store"]

WAITING = 1 << 16
"""Documents that wait in the log before they are written into a segment."""


class Store(AskedStore, RememberingStore):
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

    # Opening

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
        differ: str | Iterable[str] | None = None,
        featureless: Featureless | None = None,
        sync: Sync = "commit",
        waiting: int = WAITING,
        memory: float | None = None,
    ) -> Store:
        """Make a new, empty store and open it.

        Parameters
        ----------
        path : str or os.PathLike
            The folder; nothing is there yet.
        recipe : Recipe, nearkin.digests.ssdeep.DigestRecipe, nearkin.families.Family or str, optional
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
        differ : str or iterable of str, optional
            Rules by which texts that are alike differ, such as "numbers,days" (`nearkin.dedup`): those are no matches.
        featureless : {"collapse", "keep"}, default "collapse"
            Whether equal texts without features are copies of one another.
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
        by_texts = texts is not None
        settings = make_settings(recipe, threshold, radius, recall, text, verify, differ, featureless, given=by_texts)
        folder = Path(path).absolute()
        check_place(folder)
        recover(folder)
        if folder.exists() or folder.is_symlink():
            raise FileExistsError(f"{folder}: something is there; open it, or give another path")
        aside = StagedOutput(folder)
        aside.begin()
        try:
            aside.new.mkdir()
            (aside.new / FOLDER).mkdir()
            Log.create(aside.new, settings.to_json())
            settings.save_files(aside.new)
            compaction.sync_folder(aside.new)
            aside.commit_new_folder()
            compaction.sync_folder(folder.parent)
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
            delivered = outbox.settle(log) if mode == "w" else []
            if texts is not None and not settings.needs_texts:
                raise bad_parameter("texts", "a function", f'None for this store, with text="{settings.text}"')
            store = cls(folder, log, settings, mode, most, texts, budget)
            store._delivered = delivered
            with store._reading():
                pass
            if mode == "w":
                compaction.clean(folder, log)
        except BaseException:
            log.close()
            raise
        return store

    # Upkeep

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
            Another process is compaction. Or something was removed, and others read the write-ahead log, in which it
            still is, for longer than `wait` seconds: everything else is done, and another merge erases it there.
        """
        self._check_writable()
        with self._lock:
            self._check_open()
            if self._keeper is not None:
                self._keeper.finish()
        with reporting(progress) as report:
            last = compaction.merge_all(self._folder, self._settings, self._budget, report)
        # Files that this store has open, and that are gone, are closed.
        with self._reading():
            pass
        compaction.erase(self._folder, last, self._log.wait)
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
    def repair(path: str | os.PathLike[str], *, progress: ShowProgress = None) -> list[Finding]:
        """Build again what follows from the rest: index files, from the documents, and hash functions of vectors where
        they follow from their seed. Then the store is verified.

        Parameters
        ----------
        path : path
            The folder of a store that nobody has open for writing.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

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
        with reporting(progress) as report:
            return mended + repair_store(folder, settings, report)

    def backup(self, path: str | os.PathLike[str], *, share: float = 1.0, progress: ShowProgress = None) -> None:
        """Copy the store as it stands to a new folder, while others read and write.

        Parameters
        ----------
        path : path
            Where nothing is.
        share : float, default 1.0
            Share of the time that is spent copying, 0.01 to 1: less leaves the disk to others, and takes longer.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with stage, done and total.

        Raises
        ------
        FileExistsError
            Something is there.
        ParameterError
            A share out of its range.
        """
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0.01 <= share <= 1:
            raise bad_parameter("share", repr(share), "0.01 to 1, of the time")
        folder = Path(path).absolute()
        check_place(folder)
        recover(folder)
        if folder.exists() or folder.is_symlink():
            raise FileExistsError(f"{folder}: something is there; give another path")
        with self._lock, reporting(progress) as report:
            self._check_open()
            compaction.backup(self._folder, folder, report, float(share))
