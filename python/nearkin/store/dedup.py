"""Deduplication of a batch against a store: keep-then-absorb over the stored documents, then within the batch.

Documents are visited in batch order, after all stored ones, exactly as one deduplication of everything in that order
would visit them (`nearkin.dedup.cluster`):

1. an id that is stored with the same content is *known*; with another content it is an error, or a *conflict*;
2. a document with the content of a kept one is *exact*;
3. a document is *near* the first kept document that matches it, of the store, then of the batch;
4. all others are *new* and are kept.

A document without features is a copy of nothing: it is new, or *empty* in a store with `empty="drop"`, which does not
take it.

Each batch is compared in two steps, so that writers block one another only briefly: first with the rows of one moment,
without a lock; then, under the lock, with the rows added since, and within the batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache
from nearkin.dedup.candidates import Ordinals
from nearkin.dedup.cluster import Assignment, Clusterer
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.result import ClusterTable
from nearkin.dedup.summary import REASONS
from nearkin.dedup.verify import FeatureSets
from nearkin.errors import InputError, bad_parameter, mismatch, warn_caller
from nearkin.index.ids import Id, IdKeys, Ids, check_ids
from nearkin.io import Column
from nearkin.io.arrow import is_arrow, to_values
from nearkin.progress import Progress, ShowProgress, ignore_progress, ticker
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.base import Kind
from nearkin.store.lines import PageBatch, SiteLines
from nearkin.store.log import Log, State
from nearkin.store.memory import CACHE_BYTES
from nearkin.store.records import (
    CONFLICT,
    EMPTY,
    EXACT,
    KNOWN,
    NEAR,
    NEW,
    Cell,
    Columns,
    RecordedMatch,
    columns_by_row,
    pack_extra,
    scatter,
    status_names,
)
from nearkin.store.results import CheckResult, StoredMatch
from nearkin.store.snapshot import Snapshot, SnapshotRange
from nearkin.text.batches import Texts
from nearkin.vectors.arrays import Vectors

_FIRST_POSITION = 1 << 31
"""Positions of new documents in the cache start here, because rows are smaller."""
_LAST_POSITION = (1 << 32) - 1
_MAX_CANDIDATES, _MAX_CHARACTERS = 64, 1 << 20
"""Candidates of a single document, and characters of all of them, up to which they are compared directly."""


Items = Texts | Iterable[bytes | os.PathLike[str]] | Vectors
"""Items of a call: texts; digests, bytes or paths of files; or vectors."""
Conflicts = Literal["raise", "report"]
"""Treatment of an id that belongs to another content."""
OnBetter = Literal["keep", "replace"]
"""Treatment of a near-duplicate that is better than the kept document."""


@dataclass
class NewDocuments:
    """Arguments of `check_and_add`, and of `add` if `absorb` is False."""

    texts: Items
    ids: Ids | None
    columns: Columns | None
    kind: Kind | None
    conflicts: Conflicts
    progress: ShowProgress
    absorb: bool
    copies: bool = False
    on_better: OnBetter | None = None

    def __post_init__(self) -> None:
        if self.conflicts not in get_args(Conflicts):
            raise bad_parameter("conflicts", repr(self.conflicts), '"raise" or "report"')
        if self.on_better not in (None, *get_args(OnBetter)):
            raise bad_parameter("on_better", repr(self.on_better), '"keep", "replace" or None')


class FeatureCache:
    """Feature sets of compared texts, kept between batches: stored texts by row, new ones by a running position.

    Parameters
    ----------
    settings : StoreSettings
    size : int
        Bytes that are kept.
    """

    def __init__(self, settings: StoreSettings, size: int = CACHE_BYTES) -> None:
        self._settings, self._size = settings, size
        self._next = _FIRST_POSITION
        self._texts: TextCache | None = None

    def reserve(self, count: int) -> tuple[int, TextCache | None]:
        """Return the first of `count` unused positions, and the cache; None if texts are not compared."""
        if self._settings.comparison is None:
            return _FIRST_POSITION, None
        if self._texts is None or self._next + count > _LAST_POSITION:
            self._texts, self._next = self._settings.comparison.cache(self._size), _FIRST_POSITION
        position = self._next
        self._next += count
        return position, self._texts

    def clear(self) -> None:
        """Drop everything: after an error, the cache may have texts of rows that were not committed."""
        self._texts = None


@dataclass
class BatchDecision:
    """Decision about the documents of a batch.

    Attributes
    ----------
    status : (n,) int8
        NEW, EXACT, NEAR, KNOWN, CONFLICT or EMPTY.
    row : (n,) int64
        Row of the matching stored document, or -1.
    other : (n,) int64
        Number of the matching document of the batch, or -1.
    similarity : (n,) float64
        Verified similarity to the match.
    stop : int
        Rows below it were compared.
    """

    status: NDArray[np.int8]
    row: Ordinals
    other: NDArray[np.int64]
    similarity: NDArray[np.float64]
    stop: int


class BatchDeduplicator:
    """Documents that are deduplicated together.

    Parameters
    ----------
    hashed : HashedDocuments
    ids : IdKeys, optional
        None if documents have no ids yet: then none is known.
    settings : StoreSettings
    cache : FeatureCache
    report : function, optional
        Called with progress.
    report_conflicts : bool, default False
        An id with another content is a CONFLICT; otherwise it raises an error.
    independent : bool, default False
        Documents are compared with the store alone, and not with each other.
    """

    def __init__(
        self,
        hashed: HashedDocuments,
        ids: IdKeys | None,
        settings: StoreSettings,
        cache: FeatureCache,
        report: Progress = ignore_progress,
        *,
        report_conflicts: bool = False,
        independent: bool = False,
    ) -> None:
        self.hashed, self._ids, self._settings, self._cache = hashed, ids, settings, cache
        self._report, self._report_conflicts = report, report_conflicts
        self._numbers = np.arange(len(hashed.counts))
        single = independent or len(self._numbers) < 2
        self._original = self._numbers if single else first_with_same_content(hashed.contents)
        # A document without features is a copy of nothing.
        self._has_features = hashed.counts > 0
        self._original = np.where(self._has_features, self._original, self._numbers)
        self._names: list[Id] = [] if ids is None else list(ids.tolist() if isinstance(ids, np.ndarray) else ids)
        self._conflicts: list[int] = []
        self._same_id = self._first_with_same_id()

    def _first_with_same_id(self) -> NDArray[np.int64]:
        """Return for each document the first of the batch with its id and content."""
        firsts = self._numbers
        numbers: dict[Id, int] = {}
        for number, other in enumerate(map(numbers.setdefault, self._names, range(len(self._names)))):
            if other == number:
                continue
            if (self.hashed.contents[other] == self.hashed.contents[number]).all():
                firsts = firsts.copy() if firsts is self._numbers else firsts
                firsts[number] = other
            elif self._report_conflicts:
                self._conflicts.append(number)
            else:
                raise self._content_error(f"row {other} of the batch", number)
        return firsts

    def leave_out_lines(self, pages: PageBatch, log: Log, snapshot: Snapshot | None = None) -> None:
        """Hash pages without the frequent lines of their sites, in the open transaction.

        With a snapshot those that will be added are counted first. A page that is stored, under any id and with any
        result, counts already.
        """
        changed: dict[str, SiteLines] = {}

        def read(site: str) -> SiteLines:
            return changed.get(site) or log.lines(site)

        if snapshot is not None:
            decision = self.start()
            self.find_known(snapshot, 0, decision)
            firsts = np.flatnonzero((self._originals(decision) == self._numbers) & (decision.status < KNOWN))
            counted = firsts[snapshot.find_contents(self.hashed.contents[firsts], any_status=True) < 0]
            if len(counted):
                changed = pages.count(counted, read)
                log.set_lines(changed)
        self.hashed = pages.hash_rest(self.hashed, self._settings.source, read)

    # Deciding

    def start(self) -> BatchDecision:
        """Return a decision in which all documents are new, except for ids that the batch repeats."""
        count = len(self._numbers)
        none = np.full(count, -1, np.int64)
        decision = BatchDecision(np.full(count, NEW, np.int8), none, none.copy(), np.full(count, np.nan), 0)
        if self._same_id is not self._numbers:
            repeated = self._same_id != self._numbers
            decision.status[repeated], decision.other[repeated] = KNOWN, self._same_id[repeated]
        decision.status[self._conflicts] = CONFLICT
        if self._settings.empty == "drop":
            decision.status[~self._has_features], decision.other[~self._has_features] = EMPTY, -1
        return decision

    def compare(self, snapshot: Snapshot, start: int, stop: int, decision: BatchDecision) -> None:
        """Compare undecided documents with the stored rows from `start` to `stop` (exclusive)."""
        if stop <= start or not len(self._numbers):
            decision.stop = max(stop, decision.stop)
            return
        original, status, row = self._originals(decision), decision.status.copy(), decision.row.copy()
        self.find_known(snapshot, start, decision)
        firsts = self._firsts(decision)
        # A document that another process has added since it was compared leaves its result to its next copy.
        heirs = firsts[original[firsts] != firsts]
        decision.status[heirs], decision.row[heirs] = status[original[heirs]], row[original[heirs]]
        decision.similarity[heirs] = decision.similarity[original[heirs]]
        # An exact copy found earlier remains the match; a near-duplicate gives way to a copy.
        firsts = firsts[decision.status[firsts] != EXACT]
        copies = snapshot.find_contents(self.hashed.contents[firsts], start)
        is_copy = copies >= 0
        exact = firsts[is_copy]
        decision.row[exact] = copies[is_copy]
        decision.status[exact], decision.similarity[exact] = EXACT, self._settings.source.equal
        searched = self._searched(firsts, decision)
        if len(searched):
            assignment = self._match(searched, snapshot, start)
            is_match = assignment.by >= 0
            matched = searched[is_match]
            decision.status[matched] = NEAR
            decision.row[matched] = assignment.by[is_match]
            decision.similarity[matched] = assignment.similarity[is_match]
        decision.stop = stop

    def find_known(self, snapshot: Snapshot, start: int, decision: BatchDecision) -> None:
        """Find stored ids among the rows from `start` on."""
        if self._ids is None:
            return
        rows = snapshot.find_ids(self._ids, start)
        stored = np.flatnonzero(rows >= 0)
        if not len(stored):
            return
        decision.status[stored], decision.row[stored] = KNOWN, rows[stored]
        for number, content in zip(stored.tolist(), snapshot.contents(rows[stored]), strict=True):
            if content != self.hashed.contents[number].tobytes():
                if not self._report_conflicts:
                    raise self._content_error("the store", number)
                decision.status[number], decision.row[number], decision.other[number] = CONFLICT, -1, -1

    def _match(self, numbers: NDArray[np.int64], snapshot: Snapshot, start: int) -> Assignment:
        """Return for each document the first stored one from row `start` on that matches.

        Pages that were stored before their lines were frequent are hashed with them. So pages search with them, too.
        """
        found = self._match_values(numbers, snapshot, start)
        rest = np.flatnonzero(found.by < 0)
        if self.hashed.whole_values is not None and len(rest):
            compared, self.hashed = self.hashed, replace(self.hashed, values=self.hashed.whole_values)
            again = self._match_values(numbers[rest], snapshot, start)
            found.by[rest], found.similarity[rest] = again.by, again.similarity
            self.hashed = compared
        return found

    def _match_values(self, numbers: NDArray[np.int64], snapshot: Snapshot, start: int) -> Assignment:
        """Return the matches among the candidates of the values."""
        position, texts = self._cache.reserve(len(numbers))
        stored = snapshot.range(start, position)
        if 1 == len(numbers):
            assignment = self._match_single(int(numbers[0]), snapshot, stored, position, texts)
            if assignment is not None:
                return assignment
        return self._warn_skipped(self._clusterer(numbers, stored, texts, "search").match_reference())

    def _match_single(
        self, number: int, snapshot: Snapshot, stored: SnapshotRange, position: int, texts: TextCache | None
    ) -> Assignment | None:
        """Match a single document with few short candidates by one call of the kernel; None if they are many.

        `position` is that of the document in the cache. Without a cache every candidate is a match.
        """
        lists = stored.candidates(self.hashed.values[number : number + 1])
        rows = lists.ordinals
        if lists.skipped or len(rows) > _MAX_CANDIDATES:
            return None
        if not len(rows):
            return Assignment(np.full(1, -1), np.full(1, np.nan))
        if texts is None:
            similarity = np.full(1, np.nan) if lists.similarity is None else lists.similarity[:1]
            return Assignment(rows[:1], similarity)
        keys, own = rows.astype(np.uint32), np.array([position], np.uint32)
        missing = texts.missing(keys)
        if len(missing):
            if int(snapshot.records(rows)["length"].sum()) > _MAX_CHARACTERS:
                return None
            texts.shrink()
            missing = texts.missing(keys)
            loaded = stored.texts(missing.astype(np.int64))
            if isinstance(loaded, FeatureSets):
                texts.add_sets(missing, loaded.offsets, loaded.hashes)
            else:
                texts.add(missing, loaded)
        texts.add(own, self.hashed.look_up(np.array([number])))
        by, similarity, _, _, skipped = texts.first_matches(
            documents=own,
            offsets=np.array([0, len(rows)]),
            candidates=keys,
            threshold=float(self._settings.threshold),
            most=_MAX_CANDIDATES,
        )
        return None if skipped else Assignment(by, similarity)

    def finish(self, decision: BatchDecision) -> None:
        """Let new documents absorb later ones of the batch, and give copies the match of their original."""
        if len(self._numbers) < 2:
            return
        original = self._originals(decision)
        searched = self._searched(self._firsts(decision), decision)
        if len(searched) > 1:
            assignment = self._warn_skipped(self._clusterer(searched, None, None, "absorb").absorb())
            absorbed = assignment.by >= 0
            decision.status[searched[absorbed]] = NEAR
            decision.other[searched[absorbed]] = searched[assignment.by[absorbed]]
            decision.similarity[searched[absorbed]] = assignment.similarity[absorbed]
        copies = np.flatnonzero((original != self._numbers) & (decision.status < KNOWN))
        first = original[copies]
        is_new = decision.status[first] == NEW
        decision.status[copies] = np.where(is_new, EXACT, decision.status[first])
        decision.row[copies] = decision.row[first]
        decision.other[copies] = np.where(is_new, first, decision.other[first])
        decision.similarity[copies] = np.where(is_new, self._settings.source.equal, decision.similarity[first])

    def _originals(self, decision: BatchDecision) -> NDArray[np.int64]:
        """Return for each document the first of the batch with its content that is neither known nor a conflict."""
        excluded = decision.status >= KNOWN
        if not excluded.any():
            return self._original
        first = np.full(len(self._numbers), len(self._numbers))
        np.minimum.at(first, self._original[~excluded], self._numbers[~excluded])
        return np.where(excluded, self._numbers, first[self._original])

    def _firsts(self, decision: BatchDecision) -> NDArray[np.int64]:
        """Return the first document of each content with features that is not known."""
        is_first = (self._originals(decision) == self._numbers) & (decision.status < KNOWN)
        return np.flatnonzero(is_first & self._has_features)

    def _searched(self, firsts: NDArray[np.int64], decision: BatchDecision) -> NDArray[np.int64]:
        """Return the documents that are new so far."""
        searched: NDArray[np.int64] = firsts[decision.status[firsts] == NEW]
        return searched

    def _clusterer(
        self,
        numbers: NDArray[np.int64],
        stored: SnapshotRange | None,
        texts: TextCache | None,
        stage: str | None = None,
    ) -> Clusterer:
        report = ignore_progress if stage is None else self._report
        return Clusterer(
            tick=ticker(report, stage or "", len(numbers)),
            candidate_source=self._settings.source,
            comparison=self._settings.comparison,
            threshold=float(self._settings.threshold),
            documents=self.hashed,
            rows=numbers,
            reference=stored,
            cache=texts,
        )

    def _warn_skipped(self, assignment: Assignment) -> Assignment:
        """Return the assignment, with a warning if comparisons were skipped."""
        if assignment.skipped:
            warn_caller(f"{self._settings.skipped_message(assignment.skipped)}; they may count as new")
        return assignment

    def _content_error(self, holder: str, number: int) -> InputError:
        noun, name = self._settings.kind, self._names[number]
        reason = f"id {name!r} is that of another {noun} in {holder}; remove the old one first, or give another id"
        return InputError(f"row {number}: {reason}", place=f"row {number}", reason=reason, id=name)

    # Results

    def distances(self, decision: BatchDecision, snapshot: Snapshot) -> NDArray[Any]:
        """Return the distance of each document to its match, -1 without one; `result` fills in known documents."""
        source, values = self._settings.source, self.hashed.values
        distances: NDArray[Any] = np.full(len(self._numbers), -1, self._settings.distance_type)
        distances[decision.status == EXACT] = 0
        near = np.flatnonzero(decision.status == NEAR)
        if len(near):
            inside, stored = near[decision.other[near] >= 0], near[decision.other[near] < 0]
            distances[inside] = source.distances(values[inside], values[decision.other[inside]])
            if len(stored):
                distances[stored] = source.distances(values[stored], snapshot.values(decision.row[stored]))
        return distances

    def result(
        self,
        decision: BatchDecision,
        snapshot: Snapshot,
        distances: NDArray[Any],
        new_ids: Mapping[int, Id],
        matches: list[list[StoredMatch]] | None = None,
        own_ids: list[Id] | None = None,
    ) -> CheckResult:
        """Build the result of a decided batch; `new_ids` are the ids by row of the documents being added."""
        similarities = decision.similarity.copy()
        ids: list[Id | None] = [None] * len(self._numbers)
        first_new = next(iter(new_ids), 1 << 62)
        statuses = decision.status.tolist()
        if any(statuses):
            matched = np.flatnonzero((decision.status == EXACT) | (decision.status == NEAR))
            stored = matched[decision.row[matched] < first_new]
            for number, name in zip(stored.tolist(), snapshot.ids(decision.row[stored]), strict=True):
                ids[number] = name
            for number in matched[decision.row[matched] >= first_new].tolist():
                ids[number] = new_ids[int(decision.row[number])]
            known = np.flatnonzero(decision.status == KNOWN)
            stored = known[(decision.row[known] >= 0) & (decision.row[known] < first_new)]
            # Known documents repeat their first result: that of the store, or of the earlier one in the batch.
            for number, document in zip(stored.tolist(), snapshot.documents(decision.row[stored]), strict=True):
                ids[number], distances[number] = document.match, document.distance
                similarities[number] = document.similarity
            for number in known[~np.isin(known, stored)].tolist():
                first = int(decision.other[number])
                ids[number], distances[number], similarities[number] = ids[first], distances[first], similarities[first]
        return CheckResult(
            status=status_names(self._settings, statuses, decision.similarity.tolist()),
            ids=ids,
            distances=distances,
            similarities=similarities,
            matches=matches,
            verified=self._settings.verified_by,
            own_ids=own_ids,
        )

    def pack_extras(
        self,
        decision: BatchDecision,
        added: NDArray[np.int64],
        distances: NDArray[Any],
        columns: list[dict[str, Cell]] | None,
        features: list[bytes] | None,
    ) -> list[bytes] | None:
        """Return the extras of the documents being added, or None if all are empty."""
        is_new = decision.status[added] == NEW
        if columns is None and features is None and is_new.all():
            return None
        extras = [b""] * len(added)
        everything = columns is not None or features is not None
        for position in range(len(added)) if everything else np.flatnonzero(~is_new).tolist():
            number, match = int(added[position]), None
            if not is_new[position]:
                row, similarity = int(decision.row[number]), float(decision.similarity[number])
                match = RecordedMatch(row, distances[number].item(), similarity)
            kept = features[number] if features is not None and match is None else None
            extras[position] = pack_extra(match, columns[number] if columns else {}, kept)
        return extras

    def new_texts(self, decision: BatchDecision, added: NDArray[np.int64]) -> list[str | None]:
        """Return the texts of the documents being added; None for those that are not new."""
        positions = np.flatnonzero(decision.status[added] == NEW)
        texts = (self.hashed.whole or self.hashed.look_up)(added[positions])
        new: list[str | None] = to_values(texts, "texts") if is_arrow(texts) else list(texts)
        return scatter(new, positions, len(added))

    def best_matches(self, snapshot: Snapshot, k: int) -> list[list[StoredMatch]]:
        """Return the k best matches of each document among the stored ones."""
        source = self._settings.source
        results: list[list[StoredMatch]] = []
        for number, (rows, similarities) in enumerate(self._all_matches(snapshot)):
            values = self.hashed.values[np.full(len(rows), number)]
            distances = source.distances(values, snapshot.values(rows))
            rank = np.where(np.isnan(similarities), -distances.astype(np.float64), similarities)
            best = np.lexsort((rows, -rank))[:k]
            results.append(snapshot.matches(rows[best], distances[best], similarities[best]))
        return results

    def _all_matches(self, snapshot: Snapshot) -> list[tuple[Ordinals, NDArray[np.float64]]]:
        """Return for each document the rows of all stored matches, ascending, and their similarities."""
        count = len(self._numbers)
        position, texts = self._cache.reserve(count)
        stored = snapshot.range(0, position)
        lists = stored.candidates(self.hashed.values)
        if lists.skipped:
            warn_caller(f"{self._settings.skipped_message(lists.skipped)}; matches may be missing")
        queries, rows = lists.owners(), lists.ordinals
        featured = self.hashed.counts[queries] > 0
        queries, rows = queries[featured], rows[featured]
        similarity = np.full(len(rows), np.nan) if lists.similarity is None else lists.similarity[featured]
        if texts is not None and len(rows):
            clusterer = self._clusterer(self._numbers, stored, texts)
            similarity, is_match = clusterer.verify_pairs(rows, position + queries)
            queries, rows, similarity = queries[is_match], rows[is_match], similarity[is_match]
        ends = np.searchsorted(queries, np.arange(count + 1))
        matches = [(rows[a:b], similarity[a:b]) for a, b in pairwise(ends.tolist())]
        # Documents that no search can find may still have copies.
        rest = np.flatnonzero((ends[1:] == ends[:-1]) & self._has_features)
        copies = snapshot.find_contents(self.hashed.contents[rest])
        for number, row in zip(rest[copies >= 0].tolist(), copies[copies >= 0].tolist(), strict=True):
            matches[number] = (np.array([row], np.int64), np.array([self._settings.source.equal]))
        return matches


def take_ids(keys: IdKeys | None, rows: NDArray[np.int64]) -> IdKeys | None:
    """Return the ids of rows."""
    return keys[rows] if isinstance(keys, np.ndarray) else None if keys is None else [keys[row] for row in rows]


def count_copies(decision: BatchDecision, snapshot: Snapshot, first: int) -> NDArray[np.int64]:
    """Return the number of documents that the kept document of each one stands for once the batch is added.

    `decision` has the rows of the batch, from `first` on, and `snapshot` does not have them yet.
    """
    status, row, added = decision.status, decision.row, np.flatnonzero(decision.status < KNOWN)
    kept = row.copy()
    kept[added[status[added] == NEW]] = first + np.flatnonzero(status[added] == NEW)
    # A known document counts where its first result does.
    known = np.flatnonzero(status == KNOWN)
    stored, inside = known[row[known] < first], known[row[known] >= first]
    matched = [snapshot.unpack_extra(extra)[0] for extra in snapshot.extras(row[stored])]
    kept[stored] = [at if match is None else match.row for at, match in zip(row[stored], matched, strict=True)]
    kept[inside] = kept[decision.other[inside]]
    copies = np.zeros(len(kept), np.int64)
    old = np.flatnonzero((kept >= 0) & (kept < first))
    old = old[snapshot.present(kept[old])]
    copies[old] = snapshot.ledger(kept[old])[0]
    rows, counts = np.unique(kept[added], return_counts=True)
    counted = np.flatnonzero(np.isin(kept, rows) & (kept >= 0))
    copies[counted] += counts[np.searchsorted(rows, kept[counted])]
    return copies


def known_rows(new: HashedDocuments, keys: IdKeys | None, snapshot: Snapshot, stop: int) -> Ordinals:
    """Return the row below `stop` of each document without features that is stored with its id and content, or -1."""
    bare, settings = np.flatnonzero(new.counts == 0), snapshot.settings
    hashed, ids = new.select(bare), take_ids(keys, bare)
    batch = BatchDeduplicator(hashed, ids, settings, FeatureCache(settings), report_conflicts=True)
    decision = batch.start()
    batch.find_known(snapshot, 0, decision)
    known = np.full(len(new), -1, np.int64)
    known[bare] = np.where(decision.row < stop, decision.row, -1)
    return known


def restore_members(
    snapshot: Snapshot, settings: StoreSettings, cache: FeatureCache, members: Ordinals, matched: Ordinals
) -> tuple[BatchDeduplicator, BatchDecision | None, IdKeys, list[dict[str, Cell]], list[bytes] | None] | None:
    """Return the documents that stay after the documents that they matched are removed, to be added again.

    The decision is None if their values suffice to decide again. Otherwise the first copy of a removed document takes
    its place, and documents of families without a copy are left out.

    Parameters
    ----------
    snapshot : Snapshot
        Before the removal.
    settings : StoreSettings
    cache : FeatureCache
    members, matched : (n,) int64
        Rows of documents, ascending, and of the removed documents that they matched.
    """
    by_values = settings.comparison is None and settings.text == "none"
    if not len(members):
        return None
    contents = np.frombuffer(b"".join(snapshot.contents(members)), "<u8").reshape(-1, 2)
    first_copies: dict[int, int] = {}
    if not by_values:
        removed = np.frombuffer(b"".join(snapshot.contents(matched)), "<u8").reshape(-1, 2)
        for number in np.flatnonzero((contents == removed).all(axis=1)).tolist():
            first_copies.setdefault(int(matched[number]), number)
        if not first_copies:
            return None
        # A document has a later row than the one that it matches, so the copies come first.
        others = np.flatnonzero(np.isin(matched, [*first_copies]))
        order = np.array([*first_copies.values(), *np.setdiff1d(others, [*first_copies.values()])], np.int64)
        first_copies = {row: number for number, row in enumerate(first_copies)}
        members, matched, contents = members[order], matched[order], contents[order]
    # Only the document that takes the place of another one needs its text.
    texts: list[str | None] = [None] * len(members)
    features: list[bytes] | None = None
    promoted = np.array([*first_copies.values()], np.int64)
    replaced = np.array([*first_copies], np.int64)
    if settings.text == "keep":
        for number, text in zip(promoted.tolist(), snapshot.texts(replaced), strict=True):
            texts[number] = text
    elif settings.text == "features":
        features = [b""] * len(members)
        for number, hashes in zip(promoted.tolist(), snapshot.features(replaced), strict=True):
            features[number] = b"" if hashes is None else hashes.astype("<u8").tobytes()
    batch, keys, columns, similarities = _stored_batch(snapshot, settings, cache, members, texts)
    if by_values:
        return batch, None, keys, columns, features
    decision = batch.start()
    decision.other[:] = [first_copies[row] for row in matched.tolist()]
    decision.status[:] = np.where((contents == contents[decision.other]).all(axis=1), EXACT, NEAR)
    decision.similarity[:] = similarities
    decision.status[promoted], decision.other[promoted], decision.similarity[promoted] = NEW, -1, np.nan
    return batch, decision, keys, columns, features


def _stored_batch(
    snapshot: Snapshot, settings: StoreSettings, cache: FeatureCache, rows: Ordinals, texts: list[str | None]
) -> tuple[BatchDeduplicator, IdKeys, list[dict[str, Cell]], list[float]]:
    """Return stored documents, to be added again with these texts: their ids, columns, and similarities to a match."""
    records = snapshot.records(rows)
    matches, columns = zip(*(snapshot.unpack_extra(extra) for extra in snapshot.extras(rows)), strict=True)
    keys = check_ids(snapshot.ids(rows))
    hashed = HashedDocuments(
        snapshot.values(rows),
        records["features"].astype(np.uint64),
        np.frombuffer(b"".join(snapshot.contents(rows)), "<u8").reshape(-1, 2),
        records["length"].astype(np.uint64),
        Column.of([]),
        {},
        lambda chosen: [texts[row] for row in chosen.tolist()],
    )
    similarities = [float("nan") if match is None else match.similarity for match in matches]
    return BatchDeduplicator(hashed, keys, settings, cache), keys, list(columns), similarities


def promote_member(
    snapshot: Snapshot, settings: StoreSettings, cache: FeatureCache, rows: Ordinals, text: str | None
) -> tuple[BatchDeduplicator, BatchDecision, IdKeys, list[dict[str, Cell]]]:
    """Return the documents of a cluster, to be added again: the first row is kept, with this text, and others match it.

    The second row was the kept one. Documents that equal it are as similar to the first as it is; of others, the
    similarity to the document that was kept is all that is known.
    """
    texts = [text, *[None] * (len(rows) - 1)]
    batch, keys, columns, similarities = _stored_batch(snapshot, settings, cache, rows, texts)
    decision, contents = batch.start(), batch.hashed.contents
    equal = settings.source.equal
    similarities = [similarities[0] if at == 1 or each == equal else each for at, each in enumerate(similarities)]
    is_copy = (contents == contents[0]).all(axis=1)
    decision.status[1:] = np.where(is_copy, EXACT, NEAR)[1:]
    decision.other[1:] = 0
    decision.similarity[1:] = np.where(is_copy, equal, similarities)[1:]
    return batch, decision, keys, columns


def chunk_columns(columns: Mapping[str, Column], rows: NDArray[np.int64]) -> list[dict[str, Cell]] | None:
    """Return the columns of some documents."""
    return columns_by_row({name: column.take(rows) for name, column in columns.items()}, len(rows))


def select_ids(keys: IdKeys | None, rows: Ordinals, added: NDArray[np.int64]) -> list[Id]:
    """Return the ids of the added documents; row numbers if the caller passed none."""
    if keys is None:
        return [*rows.tolist()]
    if isinstance(keys, np.ndarray):
        return [*keys[added].tolist()]
    return [keys[number] for number in added.tolist()]


def pack_removed(
    new: HashedDocuments,
    clusters: ClusterTable,
    chosen: NDArray[np.int64],
    placed: Ordinals,
    columns: list[dict[str, Cell]] | None,
    snapshot: Snapshot,
) -> tuple[NDArray[np.void], list[bytes]]:
    """Return records and extras of removed documents, the `chosen` rows of a clusters table.

    `placed` has the rows of kept documents in the store.
    """
    rows, heads = clusters.members[chosen], clusters.heads[chosen]
    is_exact = np.isin(clusters.codes[chosen], [REASONS.index("exact"), REASONS.index("exact-old")])
    matched = np.where(heads < 0, -1 - heads, placed[np.maximum(heads, 0)])
    found = (np.asarray(clusters.compact[name])[chosen].tolist() for name in ("distance", "similarity"))
    facts = zip(matched.tolist(), *found, strict=True)
    cells = columns or [{}] * len(rows)
    extras = [pack_extra(RecordedMatch(*fact), cell) for fact, cell in zip(facts, cells, strict=True)]
    return snapshot.new_records(new, rows, np.where(is_exact, EXACT, NEAR)), extras


def has_kind(keys: IdKeys, state: State) -> bool:
    """Return True if ids have the kind of the store's ids."""
    kind = "int" if isinstance(keys, np.ndarray) else "str"
    return not len(keys) or state.id_kind in ("", kind)


def check_id_kind(keys: IdKeys | None, state: State) -> None:
    """Refuse ids of another kind than the store's.

    Raises
    ------
    ParameterError
        Integers in a store with strings, or the reverse.
    """
    if keys is not None and not has_kind(keys, state):
        kind = "integers" if isinstance(keys, np.ndarray) else "strings"
        raise bad_parameter("ids", kind, f"ids of the store's kind, {state.id_kind}")


def check_row_ids(ids: list[Id], snapshot: Snapshot, state: State) -> None:
    """Refuse row numbers as ids if other documents have them as ids.

    Raises
    ------
    ParameterError
        A row number is the id of another document.
    MismatchError
        The ids of the store are strings.
    """
    if state.id_kind == "str":
        raise mismatch("kind of ids", "the store's strings", "row numbers; give ids")
    rows = snapshot.find_ids(np.array(ids, np.int64))
    if len(rows) and rows.max() >= 0:
        name = ids[int(np.argmax(rows >= 0))]
        raise bad_parameter("ids", f"None, where {name} is the id of another document", "ids, one per text")
