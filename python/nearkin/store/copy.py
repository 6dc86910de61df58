"""Copy a store into a new one with another recipe, threshold or verification.

The documents are deduplicated again in the order of addition. A store keeps no text of a document that was near
another one, so such a document cannot be compared by another recipe: it stays near the same document, or the one that
this document matches now, and its id stays known. With `texts=`, the caller's function, and for files and vectors,
whose values are stored, every document is compared again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Ordinals
from nearkin.dedup.documents import HashedDocuments
from nearkin.errors import mismatch
from nearkin.families.base import Family
from nearkin.progress import Progress
from nearkin.store.dedup import BatchDeduplicator
from nearkin.store.kinds import StoreSettings, is_digest_recipe, make_settings
from nearkin.store.kinds.base import StoreConfig
from nearkin.store.kinds.texts import LoadTexts, TextSettings, call_loader, feature_hashes
from nearkin.store.kinds.vectors import VectorSettings
from nearkin.store.lines import PageBatch, site_names
from nearkin.store.records import EXACT, MAX_COUNT, NEW, RecordedMatch, pack_extra, scatter
from nearkin.store.snapshot import Snapshot

Store: TypeAlias = Any
"""`nearkin.store.Store`, whose module imports this one."""
BATCH_DOCUMENTS = 4096
"""Documents that are copied in one transaction."""


def copied_settings(old: StoreSettings, config: StoreConfig) -> StoreSettings:
    """Return the settings of a copy: those of the caller, and of the old store where the caller gave none.

    Raises
    ------
    MismatchError
        The new recipe is for another kind of documents.
    ParameterError
        Values that exclude one another.
    """
    is_same_recipe = config.recipe is None
    if not is_same_recipe:
        kind = "vector" if isinstance(config.recipe, Family) else "file" if is_digest_recipe(config.recipe) else "text"
        if kind != old.kind:
            raise mismatch("kind of documents", f"a store of {old.kind}s", f"a recipe of {kind}s")
    pages = getattr(old, "pages", False)
    if config.kind == "pages" and not pages:
        raise mismatch("kind", "a store that has not counted lines", "pages: create one, and add what this one exports")
    names = ("threshold", "radius", "recall", "text", "verify", "differ", "empty")
    options = {name: getattr(config, name) for name in names}
    inherited: list[str] = []
    if isinstance(old, TextSettings):
        inherited += ["threshold", "differ", "empty"]
        if is_same_recipe and config.radius is None and config.recall is None:
            # The radius of fingerprints follows from the threshold, so a new threshold needs a new radius.
            inherited += ["recall"] if config.threshold is not None else ["recall", "radius"]
        if is_same_recipe or old.verify not in ("signature", "none"):
            inherited.append("verify")
    elif isinstance(old, VectorSettings):
        if config.threshold is None and config.radius is None:
            options["threshold" if old.source.metric == "cosine" else "radius"] = old.limit
        inherited += ["recall"] if is_same_recipe else []
    else:
        inherited.append("threshold" if old.radius is None else "radius")
    for name in inherited:
        options[name] = getattr(old, name) if options[name] is None else options[name]
    has_texts = config.has_texts and options["text"] == "none" and options["verify"] not in ("signature", "none")
    options["kind"] = "pages" if pages and config.kind in (None, "pages") else None
    return make_settings(StoreConfig(old.recipe if is_same_recipe else config.recipe, has_texts=has_texts, **options))


class StoreCopy:
    """Copies the documents of a store into an empty one.

    Parameters
    ----------
    old, new : Store
    load_texts : function, optional
        The caller's, for texts that the old store does not keep.
    """

    def __init__(self, old: Store, new: Store, load_texts: LoadTexts | None) -> None:
        self._old, self._new, self._load_texts = old, new, load_texts
        # For each kept document of the old store: the row of its match in the new one, or its own; and if it is kept.
        self._rows: dict[int, tuple[int, bool]] = {}
        self._last = -1

    def run(self, report: Progress) -> None:
        """Copy all documents, batch by batch, with the times of their addition."""
        start, done, total = 0, 0, len(self._old)
        self._copy_lines()
        while True:
            with self._old._open_snapshot() as snapshot:
                rows = snapshot.live_rows(start, BATCH_DOCUMENTS)
                if not len(rows):
                    break
                self._copy(snapshot, rows)
            start, done = int(rows[-1]) + 1, done + len(rows)
            report("copy", done, max(total, done))
        # Pages that others have added since.
        self._copy_lines()
        # Row numbers of removed documents may have been ids, so they are not given again.
        next_row = self._old.next_row
        with self._new._lock, self._new._writing() as state:
            self._new._set_state(replace(state, next_row=max(next_row, state.next_row)))

    def _copy_lines(self) -> None:
        """Copy the lines of all sites."""
        new, sites = self._new, []
        if new.settings.pages:
            with self._old._open_snapshot() as snapshot:
                sites = snapshot.log.sites()
        for site in sites:
            with self._old._open_snapshot() as snapshot:
                lines = snapshot.log.lines(site)
            with new._lock, new._writing() as state:
                new._log.set_lines({site: lines})
                new._set_state(state)

    def _copy(self, snapshot: Snapshot, rows: Ordinals) -> None:
        """Copy documents of the old store in one transaction."""
        new = self._new
        records, contents, ids = snapshot.records(rows), snapshot.contents(rows), snapshot.ids(rows)
        matches, columns = zip(*(snapshot.unpack_extra(extra) for extra in snapshot.extras(rows)), strict=True)
        items, is_known = self._items(snapshot, rows, records["status"], contents, matches)
        hashed = new.settings.hash(items, "digests" if new.settings.kind == "file" else None)
        if new.settings.pages:
            pages = PageBatch(items, site_names(ids, columns))
            with new._open_snapshot():
                hashed = pages.hash_rest(hashed, new.settings.source, new._log.lines)
        # A file may have been added by its digest alone, and a document without a text has none to hash.
        hashed.contents = np.frombuffer(b"".join(contents), "<u8").reshape(-1, 2).astype(np.uint64)
        hashed.lengths = records["length"].astype(np.uint64)
        hashed.counts[~is_known] = 0
        hashed.values[~is_known] = 0
        replayed = np.flatnonzero(is_known)
        batch = BatchDeduplicator(hashed.select(replayed), None, new.settings, new._cache)
        with new._lock, new._writing() as state:
            decision = batch.start()
            batch.compare(new._snapshot, 0, state.next_row, decision)
            batch.finish(decision)
            new_rows = np.arange(state.next_row, state.next_row + len(rows))
            inside = np.flatnonzero((decision.row < 0) & (decision.other >= 0))
            distances = batch.distances(decision, new._snapshot)
            decision.row[inside] = new_rows[replayed[decision.other[inside]]]
            status = records["status"].astype(np.int8)
            status[replayed] = decision.status
            found: list[RecordedMatch | None] = [None] * len(rows)
            for at, number in enumerate(replayed.tolist()):
                if status[number] != NEW:
                    similarity = float(decision.similarity[at])
                    found[number] = RecordedMatch(int(decision.row[at]), distances[at].item(), similarity)
                if records["status"][number] == NEW:
                    match = found[number]
                    self._rows[int(rows[number])] = (
                        int(new_rows[number]) if match is None else match.row,
                        match is None,
                    )
            for number in np.flatnonzero(~is_known).tolist():
                found[number] = self._carried(matches[number])
            features = self._features(hashed)
            new_records = np.zeros(len(rows), new._snapshot.record_type)
            new_records["features"] = np.minimum(hashed.counts, MAX_COUNT)
            new_records["length"], new_records["status"], new_records["values"] = hashed.lengths, status, hashed.values
            extras = [
                pack_extra(match, cells, None if features is None or match is not None else features[number])
                for number, (match, cells) in enumerate(zip(found, columns, strict=True))
            ]
            kept = np.flatnonzero(status == NEW)
            texts = None
            if new.settings.text == "keep" and new.settings.kind == "text":
                texts = scatter([items[number] for number in kept.tolist()], kept, len(rows))
            new._append_rows(
                ids, b"".join(contents), new_records, extras, texts, state, self._additions(snapshot, rows, new_rows)
            )
        new._after_commit()

    def _carried(self, match: RecordedMatch | None) -> RecordedMatch:
        """Return the match of a document that cannot be compared again."""
        row, is_same = (-1, False) if match is None else self._rows.get(match.row, (-1, False))
        # The distance belongs to the old recipe.
        return RecordedMatch(row, -1, match.similarity if match is not None and is_same else float("nan"))

    def _features(self, hashed: HashedDocuments) -> list[bytes] | None:
        if self._new.settings.text != "features":
            return None
        return feature_hashes(self._new.recipe, hashed.look_up(np.arange(len(hashed))))

    def _additions(self, snapshot: Snapshot, rows: Ordinals, new_rows: Ordinals) -> list[tuple[int, int]]:
        """Return the records of additions that begin among these rows, with new rows."""
        records: dict[int, int] = {}
        for first, time in snapshot.log.additions():
            at = bisect_left(rows, first)
            if first > self._last and at < len(rows):
                records[int(new_rows[at])] = time
        self._last = int(rows[-1])
        return [*records.items()]

    def _items(
        self,
        snapshot: Snapshot,
        rows: Ordinals,
        status: NDArray[np.uint8],
        contents: list[bytes],
        matches: Sequence[RecordedMatch | None],
    ) -> tuple[Any, NDArray[np.bool_]]:
        """Return the items to hash, and True for each that is known."""
        if self._old.settings.kind != "text":
            values = self._old.settings.public_values(snapshot.values(rows))
            return (values.tolist() if self._old.settings.kind == "file" else values), np.ones(len(rows), bool)
        if self._load_texts is not None:
            return call_loader(self._load_texts, snapshot.ids(rows), contents), np.ones(len(rows), bool)
        texts = snapshot.texts(rows)
        is_known = status == NEW
        # An exact copy has the text of its match.
        copies = np.array([n for n, match in enumerate(matches) if status[n] == EXACT and match is not None], np.int64)
        originals = np.array([matches[n].row for n in copies.tolist()], np.int64)
        present = (originals >= 0) & snapshot.present(originals)
        for number, text in zip(copies[present].tolist(), snapshot.texts(originals[present]), strict=True):
            texts[number], is_known[number] = text, True
        return [text if known else "" for text, known in zip(texts, is_known.tolist(), strict=True)], is_known
