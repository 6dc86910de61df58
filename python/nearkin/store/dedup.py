"""Which documents of a batch are new: keep-then-absorb over what is on disk, then within the batch.

Documents are decided in the order in which they are given, after all that are in the store, exactly as one
deduplication of everything in that order would (`nearkin.dedup.cluster`):

1. an id that is there with the same content is *known*, with other content an error;
2. a document with the content of one that stays is *exact*;
3. a document is *near* the first that stays and matches it, of the store, then of the batch;
4. the others are *new* and stay.

A decision is made in two steps, so that writers wait for one another only shortly: against the rows that were there at
one moment, with no lock held; then, while nobody else writes, against the rows that came since, and within the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache
from nearkin.dedup.candidates import Places
from nearkin.dedup.cluster import Assignment, Clusterer
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.errors import InputError, warn_caller
from nearkin.index.ids import Id, IdKeys
from nearkin.progress import Progress, ticker, unreported
from nearkin.store.fast_path import first_match
from nearkin.store.memory import CACHE_BYTES
from nearkin.store.records import CONFLICT, EXACT, KNOWN, NEAR, NEW
from nearkin.store.settings import StoreSettings
from nearkin.store.snapshot import Contents, StoreView

_FIRST_PLACE = 1 << 31
"""Places of new documents in the cache begin here: rows are smaller."""
_LAST_PLACE = (1 << 32) - 1


class Cache:
    """Feature sets of texts that are compared, kept from batch to batch: stored texts by row, new ones by turn.

    Parameters
    ----------
    settings : StoreSettings
    size : int
        Bytes that are kept.
    """

    def __init__(self, settings: StoreSettings, size: int = CACHE_BYTES) -> None:
        self._settings, self._size = settings, size
        self._next = _FIRST_PLACE
        self._texts: TextCache | None = None

    def take(self, count: int) -> tuple[int, TextCache | None]:
        """A place for the first of `count` new documents that no text had since the cache was made; and the cache."""
        if self._settings.comparison is None:
            return _FIRST_PLACE, None
        if self._texts is None or self._next + count > _LAST_PLACE:
            self._texts, self._next = self._settings.comparison.cache(self._size), _FIRST_PLACE
        place = self._next
        self._next += count
        return place, self._texts

    def forget(self) -> None:
        """Drop everything: after an error, texts of unknown rows may be in it."""
        self._texts = None


@dataclass
class Decision:
    """What became of the documents of a batch.

    Attributes
    ----------
    status : (n,) int8
        NEW, EXACT, NEAR, KNOWN or CONFLICT.
    row : (n,) int64
        Row of the stored document that decided, -1 for none.
    other : (n,) int64
        Number in the batch of the document that decided, -1 for none.
    similarity : (n,) float64
        Verified similarity to it.
    stop : int
        Rows below it were looked at.
    """

    status: NDArray[np.int8]
    row: Places
    other: NDArray[np.int64]
    similarity: NDArray[np.float64]
    stop: int


class Batch:
    """Documents that are decided together.

    Parameters
    ----------
    hashed : HashedDocuments
    ids : IdKeys, optional
        None where documents have no ids yet: then none is known.
    settings : StoreSettings
    cache : Cache
    report : function, optional
        Called with progress.
    conflicts : bool, default False
        Whether an id that is that of another content is a CONFLICT; else an error.
    """

    def __init__(
        self,
        hashed: HashedDocuments,
        ids: IdKeys | None,
        settings: StoreSettings,
        cache: Cache,
        report: Progress = unreported,
        *,
        conflicts: bool = False,
    ) -> None:
        self._report, self._reports_conflicts = report, conflicts
        self._conflicts: list[int] = []
        self.hashed, self.ids, self._settings = hashed, ids, settings
        count = len(hashed)
        self.original = first_with_same_content(hashed.contents) if count else np.zeros(0, np.int64)
        self._like_copies = hashed.counts > 0
        if settings.featureless == "keep":
            # A document without features is like nothing, not even its copy.
            bare = np.flatnonzero(~self._like_copies)
            self.original[bare] = bare
        else:
            self._like_copies = np.ones(count, bool)
        self._listed: list[Id] = [] if ids is None else list(ids.tolist() if isinstance(ids, np.ndarray) else ids)
        self._repeated = self._same_ids()
        self._cache = cache

    def open(self) -> Decision:
        """Nothing decided but ids that were given twice, nothing looked at."""
        count = len(self.hashed)
        none = np.full(count, -1, np.int64)
        decision = Decision(np.full(count, NEW, np.int8), none, none.copy(), np.full(count, np.nan), 0)
        repeated = self._repeated != np.arange(count)
        decision.status[repeated], decision.other[repeated] = KNOWN, self._repeated[repeated]
        decision.status[self._conflicts] = CONFLICT
        return decision

    def _same_ids(self) -> NDArray[np.int64]:
        """For each document the first of the batch with its id: itself, unless it was given twice."""
        first: dict[Id, int] = {}
        found = np.arange(len(self.hashed))
        for number, other in enumerate(map(first.setdefault, self._listed, range(len(self._listed)))):
            if other != number:
                name = self._listed[number]
                if (self.hashed.contents[other] == self.hashed.contents[number]).all():
                    found[number] = other
                elif self._reports_conflicts:
                    self._conflicts.append(number)
                else:
                    raise self._other_content(name, f"row {other} of the batch", number)
        return found

    def decide(self, contents: Contents, start: int, stop: int, decision: Decision) -> None:
        """Hold what is not decided against the stored rows from `start` to `stop` (exclusive)."""
        hashed = self.hashed
        if stop <= start or not len(hashed):
            decision.stop = max(stop, decision.stop)
            return
        if self.ids is not None:
            self._find_known(contents, start, decision)
        firsts = self._firsts(decision)
        # An exact copy that was found earlier stays the one that decides; a near one gives way.
        firsts = firsts[decision.status[firsts] != EXACT]
        copies = contents.find_contents(hashed.contents[firsts], start)
        exact = firsts[copies >= 0]
        decision.row[exact] = copies[copies >= 0]
        decision.status[exact], decision.similarity[exact] = EXACT, self._settings.source.equal
        left = self._searched(firsts, decision)
        found = self._match(left, contents, start)
        matched = left[found.by >= 0]
        decision.status[matched] = NEAR
        decision.row[matched] = found.by[found.by >= 0]
        decision.similarity[matched] = found.similarity[found.by >= 0]
        decision.stop = stop

    def _match(self, numbers: NDArray[np.int64], contents: Contents, start: int) -> Assignment:
        """The first stored document from row `start` on that matches each of these."""
        if not len(numbers):
            return Assignment.of_none(0)
        place, texts = self._cache.take(len(numbers))
        older = StoreView(contents, start, place)
        if 1 == len(numbers):
            found = first_match(self.hashed, int(numbers[0]), older, place, texts, float(self._settings.threshold))
            if found is not None:
                return Assignment(np.array([found.row], np.int64), np.array([found.similarity]))
        return self._told(self._clusterer(numbers, older, texts, "search").match_older())

    def _firsts(self, decision: Decision) -> NDArray[np.int64]:
        """The first document of each content that may have copies and is not known."""
        original = self._originals(decision)
        taken = decision.status >= KNOWN
        return np.flatnonzero((original == np.arange(len(taken))) & ~taken & self._like_copies)

    def _searched(self, firsts: NDArray[np.int64], decision: Decision) -> NDArray[np.int64]:
        """Those that are new so far and have features."""
        searched: NDArray[np.int64] = firsts[(decision.status[firsts] == NEW) & (self.hashed.counts[firsts] > 0)]
        return searched

    def _find_known(self, contents: Contents, start: int, decision: Decision) -> None:
        rows = contents.find_ids([] if self.ids is None else self.ids, start)
        there = np.flatnonzero(rows >= 0)
        decision.status[there], decision.row[there] = KNOWN, rows[there]
        for number, content in zip(there.tolist(), contents.contents(rows[there]), strict=True):
            if content != self.hashed.contents[number].tobytes():
                if not self._reports_conflicts:
                    raise self._other_content(self._listed[number], "the store", number)
                decision.status[number], decision.row[number], decision.other[number] = CONFLICT, -1, -1

    def know(self, contents: Contents, decision: Decision) -> None:
        """Find known ids alone: all others stay."""
        self._find_known(contents, 0, decision)

    def matches(self, contents: Contents) -> list[tuple[Places, NDArray[np.float64]]]:
        """For each document the stored ones that match it, ascending, with their similarity."""
        comparison = self._settings.comparison
        count = len(self.hashed)
        place, texts = self._cache.take(count)
        older = StoreView(contents, 0, place)
        lists = older.candidates(self.hashed.values)
        self._tell_skipped(lists.skipped, "matches may be missing")
        owners, rows = lists.owners(), lists.places
        featured = self.hashed.counts[owners] > 0
        owners, rows = owners[featured], rows[featured]
        similarity = np.full(len(rows), np.nan) if lists.similarity is None else lists.similarity[featured]
        if comparison is not None and texts is not None and len(rows):
            clusterer = self._clusterer(np.arange(count), older, texts)
            similarity, good = clusterer.matching(rows, place + owners)
            owners, rows, similarity = owners[good], rows[good], similarity[good]
        ends = np.searchsorted(owners, np.arange(count + 1))
        found = [(rows[a:b], similarity[a:b]) for a, b in pairwise(ends.tolist())]
        # What no search can find still has copies.
        left = np.flatnonzero((ends[1:] == ends[:-1]) & self._like_copies)
        copies = contents.find_contents(self.hashed.contents[left])
        for number, row in zip(left[copies >= 0].tolist(), copies[copies >= 0].tolist(), strict=True):
            found[number] = (np.array([row], np.int64), np.array([self._settings.source.equal]))
        return found

    def finish(self, decision: Decision) -> None:
        """Let new documents of the batch absorb later ones, and copies share the fate of their original."""
        numbers = np.arange(len(self.hashed))
        original = self._originals(decision)
        firsts = self._firsts(decision)
        left = self._searched(firsts, decision)
        if len(left) > 1:
            found = self._told(self._clusterer(left, None, None, "absorb").absorb())
            absorbed = found.by >= 0
            decision.status[left[absorbed]] = NEAR
            decision.other[left[absorbed]] = left[found.by[absorbed]]
            decision.similarity[left[absorbed]] = found.similarity[absorbed]
        copies = np.flatnonzero((original != numbers) & (decision.status < KNOWN))
        of = original[copies]
        is_new = decision.status[of] == NEW
        decision.status[copies] = np.where(is_new, EXACT, decision.status[of])
        decision.row[copies] = decision.row[of]
        decision.other[copies] = np.where(is_new, of, decision.other[of])
        decision.similarity[copies] = np.where(is_new, self._settings.source.equal, decision.similarity[of])

    def _originals(self, decision: Decision) -> NDArray[np.int64]:
        """For each document the first of the batch with its content that is neither known nor in conflict."""
        numbers = np.arange(len(self.hashed))
        taken = decision.status >= KNOWN
        if not taken.any():
            return self.original
        first = np.full(len(numbers), len(numbers))
        np.minimum.at(first, self.original[~taken], numbers[~taken])
        found = first[self.original]
        return np.where(taken, numbers, found)

    def _clusterer(
        self, numbers: NDArray[np.int64], older: StoreView | None, texts: TextCache | None, stage: str | None = None
    ) -> Clusterer:
        report = unreported if stage is None else self._report
        return Clusterer(
            tick=ticker(report, stage or "", len(numbers)),
            candidate_source=self._settings.source,
            comparison=self._settings.comparison,
            threshold=float(self._settings.threshold),
            documents=self.hashed,
            rows=numbers,
            older=older,
            cache=texts,
        )

    def _told(self, found: Assignment) -> Assignment:
        """The assignment, after a warning if something was left out of it."""
        self._tell_skipped(found.skipped, "they may count as new")
        return found

    def _tell_skipped(self, skipped: int, consequence: str) -> None:
        if skipped:
            warn_caller(f"{self._settings.tell_skipped(skipped)}; {consequence}")

    def _other_content(self, name: Id, where: str, number: int) -> InputError:
        noun = self._settings.noun
        reason = f"id {name!r} is that of another {noun} in {where}; remove the old one first, or give another id"
        return InputError(f"row {number}: {reason}", place=f"row {number}", reason=reason, id=name)
