"""A store in a deduplication: its documents as the older ones, and what is new remembered with the output.

`nearkin.dedup(against=store)` and `nearkin.dedup(store=store)` call this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateSource, DigestCandidates
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.reference import OlderDocuments
from nearkin.dedup.result import DedupResult
from nearkin.errors import OutputError, StoreLockedError, mismatch
from nearkin.index.ids import IdKeys, check_ids
from nearkin.io import Column, OutputDir
from nearkin.io.atomic_write import sync_folder
from nearkin.recipe.base import FrozenRecipe
from nearkin.store import outbox
from nearkin.store.adding import AddingStore
from nearkin.store.dedup import Batch
from nearkin.store.documents import columns_by_row, in_turn, pieces
from nearkin.store.log import NAME, State
from nearkin.store.reading import check_kind
from nearkin.store.reference import OlderOnDisk


class RememberingStore(AddingStore):
    """What a deduplication asks of a store."""

    def older_documents(self, candidate_source: CandidateSource) -> OlderDocuments:
        """The documents that stay, as what new ones are held against (`nearkin.dedup.reference`).

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
        """What `nearkin.dedup(store=store)` does with hashed documents: `nearkin.dedup.sink`.

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
        prepared = None if folder is None else folder.prepare(self._folder / NAME)
        with self._lock:
            with self._writing() as state:
                if (state.next_row, self._contents.last_removal) != seen:
                    result = decide(OlderOnDisk(self.view, state.next_row, candidate_source))
                    folder = None if output is None else output(result)
                    prepared = None if folder is None else folder.prepare(self._folder / NAME)
                state = self._add_kept(new, result.kept_rows, keys, columns, state)
                if prepared is not None:
                    before, state = self._pending, outbox.promise(self._log, state, *prepared)
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
            folder.commit()
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
            state = outbox.forget(self._log, state, [str(target)])
            self._log.set_state(state)
            self._pending = partial(self._contents.committed, state)
