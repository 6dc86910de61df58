"""How documents come into a store: decided, written into the log, and then into its look-ups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import Places
from nearkin.dedup.documents import HashedDocuments
from nearkin.errors import ParameterError, bad_parameter, mismatch
from nearkin.index.ids import Id, IdKeys, Ids, check_ids
from nearkin.progress import Progress, ShowProgress, reporting
from nearkin.store.answers import Answers
from nearkin.store.dedup import Batch, Decision
from nearkin.store.documents import Columns, columns_by_row
from nearkin.store.fast_path import Outcome, answer_of_one, outcome_of_one
from nearkin.store.log import LogBatch, LogTexts, State, batches_of, texts_of
from nearkin.store.opened import Items, OpenedStore
from nearkin.store.reading import check_kind
from nearkin.store.records import KNOWN, NEW, Cell, Match, pack_extra
from nearkin.store.results import answers_of, distances_of
from nearkin.store.settings import Kind
from nearkin.store.texts import features_of

Conflicts = Literal["raise", "report"]
"""What an id does that is that of another content."""

_MOST = 0xFFFFFFFF
"""Features, and characters, that a record counts."""


def _strings(hashed: HashedDocuments, rows: NDArray[np.int64]) -> list[str | None]:
    """The texts of ascending rows."""
    texts = hashed.look_up(rows)
    return texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)


class AddingStore(OpenedStore):
    """The additions of a store: each is one atomic, durable step."""

    def check_and_add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        conflicts: Conflicts = "raise",
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
        columns : mapping of str to one value per text, or a list with a mapping per text; optional
            Strings, numbers or booleans that `get` gives back.
        kind : {"digests", "bytes", "paths"}, optional
            What is given to a store of files; None stands for digests. A digest that is given alone is the content of
            its document: equal ones are exact copies.
        conflicts : {"raise", "report"}, default "raise"
            What an id does that is there, or occurs twice, with another content: raise, so that nothing is added; or
            get the status "conflict", so that it alone is not added.
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
            return self._add(texts, ids, columns, kind, report, conflicts, absorb=True)

    def add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        conflicts: Conflicts = "raise",
        progress: ShowProgress = None,
    ) -> Answers:
        """Remember documents that are known to be wanted: all stay, whatever they are like.

        Parameters, errors and durability are those of `check_and_add`; an id that is there with the same text is
        "known", all others are "new".
        """
        with reporting(progress) as report:
            return self._add(texts, ids, columns, kind, report, conflicts, absorb=False)

    def _add(
        self,
        texts: Items,
        ids: Ids | None,
        columns: Columns | None,
        kind: Kind | None,
        report: Progress,
        conflicts: Conflicts,
        *,
        absorb: bool,
    ) -> Answers:
        self._check_writable()
        if conflicts not in get_args(Conflicts):
            raise bad_parameter("conflicts", repr(conflicts), '"raise" or "report"')
        keys = None if ids is None else check_ids(ids)
        hashed = self._hash(texts, keys, kind, report)
        if keys is None and kind == "paths":
            names: list[Any] = hashed.ids.to_list()
            keys = check_ids(names)
        extra = columns_by_row(columns, len(hashed))
        if absorb:
            self._check_texts()
        features = self._features_of(hashed)
        with self._lock:
            answers = self._add_one(hashed, keys, extra, features) if absorb and 1 == len(hashed) else None
            if answers is None:
                reported = conflicts == "report"
                batch = Batch(hashed, keys, self._settings, self._cache, report, conflicts=reported)
                answers = self._add_batch(batch, keys, extra, features, absorb=absorb)
            self._after_commit()
            return answers

    def _add_one(
        self,
        hashed: HashedDocuments,
        keys: IdKeys | None,
        columns: list[dict[str, Cell]] | None,
        features: list[bytes] | None,
    ) -> Answers | None:
        """Decide about a single document and add it; None, with nothing done, where `_add_batch` must."""
        with self._reading() as state:
            stop, removal = state.next_row, self._contents.last_removal
            outcome = outcome_of_one(hashed, keys, self._contents, *self._cache.take(1))
        if outcome is None:
            return None
        with self._writing() as state:
            check_kind(keys, state)
            if self._contents.last_removal != removal:
                # What decided may be gone: decide again while nobody else writes.
                outcome = outcome_of_one(hashed, keys, self._contents, *self._cache.take(1))
            elif state.next_row > stop:
                later = outcome_of_one(hashed, keys, self._contents, *self._cache.take(1), start=stop)
                outcome = None if later is None else outcome.before(later)
            return None if outcome is None else self._append_one(hashed, outcome, keys, columns, features, state)

    def _add_batch(
        self,
        batch: Batch,
        keys: IdKeys | None,
        columns: list[dict[str, Cell]] | None,
        features: list[bytes] | None,
        *,
        absorb: bool,
    ) -> Answers:
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
            return self._append(batch, decision, keys, columns, features, state)

    def _append_one(
        self,
        hashed: HashedDocuments,
        outcome: Outcome,
        keys: IdKeys | None,
        columns: list[dict[str, Cell]] | None,
        features: list[bytes] | None,
        state: State,
    ) -> Answers:
        """Put a single document into the log, as `_append` does."""
        contents, is_new = self._contents, outcome.status == NEW
        names = self._names(keys, np.array([state.next_row]), np.zeros(1, np.int64))
        if keys is None:
            self._check_row_ids(names, state)
        records = np.zeros(1, contents.record_type)
        features_count, length = min(int(hashed.counts[0]), _MOST), min(int(hashed.lengths[0]), _MOST)
        records[0] = (features_count, length, outcome.status, hashed.values[0])
        match = None if is_new else Match(outcome.row, outcome.distance, outcome.similarity)
        kept = features[0] if features is not None and is_new else None
        extra = pack_extra(match, columns[0] if columns else {}, kept)
        answers = replace(answer_of_one(outcome, contents), own_ids=names)
        packed = hashed.contents.tobytes()
        batches = batches_of(state.next_row, names, packed, records.tobytes(), [extra] if extra else None)
        texts: list[LogTexts] = []
        if self._settings.text == "keep":
            texts = texts_of(state.next_row, _strings(hashed, np.zeros(1, np.int64)) if is_new else [None])
        self._write(batches, texts, records, state)
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
        stored = np.flatnonzero(decision.status < KNOWN)
        rows = state.next_row + np.arange(len(stored))
        row_of = np.full(len(hashed), -1, np.int64)
        row_of[stored] = rows
        # Matches within the batch have rows now.
        inside = (decision.row < 0) & (decision.other >= 0)
        decision.row[inside] = row_of[decision.other[inside]]
        names = self._names(keys, rows, stored)
        if keys is None:
            self._check_row_ids(names, state)
        distances = distances_of(batch, decision, contents)
        records = np.zeros(len(stored), contents.record_type)
        records["features"] = np.minimum(hashed.counts[stored], _MOST)
        records["length"] = np.minimum(hashed.lengths[stored], _MOST)
        records["status"] = decision.status[stored]
        records["values"] = hashed.values[stored]
        packed = hashed.contents[stored].tobytes()
        extras = self._extras(decision, stored, distances, columns, features)
        answers = answers_of(decision, contents, distances, dict(zip(rows.tolist(), names, strict=True)))
        answers = replace(
            answers, own_ids=names if keys is None else list(keys.tolist() if isinstance(keys, np.ndarray) else keys)
        )
        if names:
            batches = batches_of(state.next_row, names, packed, records.tobytes(), extras)
            self._write(batches, self._texts_of(hashed, decision, stored, batches), records, state)
        return answers

    def _write(self, batches: list[LogBatch], texts: list[LogTexts], records: NDArray[np.void], state: State) -> None:
        """Put documents that get rows now into the log, and after the commit into the look-ups."""
        contents, count, first = self._contents, len(records), state.next_row
        if first + count > 1 << 31:
            raise ParameterError("a store holds at most 2**31 documents, removed ones included; begin another one")
        sums = self._log.append(batches, texts)
        kind = state.id_kind or ("str" if isinstance(batches[0].ids[0], str) else "int")
        waiting, sums = state.waiting + count, state.sums ^ sums
        state = replace(state, next_row=first + count, waiting=waiting, sums=sums, id_kind=kind)
        self._log.set_state(state)

        def committed() -> None:
            rows = np.arange(first, first + count)
            names = [name for batch in batches for name in batch.ids]
            hashes = [content for batch in batches for content in batch.split_contents()]
            contents.waiting.add(rows, names, hashes, records)
            contents.committed(state)

        self._pending = committed

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
        strings = _strings(hashed, stored[places])
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
