"""An open store: its log, its contents, and the transactions in which they are read and changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from nearkin.dedup.candidates import Places
from nearkin.dedup.documents import HashedDocuments
from nearkin.errors import ForkError, NearkinError, ParameterError, bad_parameter
from nearkin.families.base import Family
from nearkin.index.ids import IdKeys, plain_id
from nearkin.progress import Progress
from nearkin.recipe.base import FrozenRecipe
from nearkin.store import compaction
from nearkin.store.dedup import Cache
from nearkin.store.log import Log, Mode, State
from nearkin.store.memory import Budget
from nearkin.store.reading import is_kind, missing
from nearkin.store.settings import Kind, StoreSettings
from nearkin.store.snapshot import Contents, StoreView
from nearkin.store.texts import TextsByIds, no_texts
from nearkin.text.batches import Texts
from nearkin.vectors.rows import Vectors

if TYPE_CHECKING:
    from typing_extensions import Self

Items = Texts | Iterable[bytes | os.PathLike[str]] | Vectors | HashedDocuments
"""What is given to a store: texts; digests, bytes or paths of files; vectors; or documents that were hashed for it."""

_TRIES = 100
"""Times that a list of segments is read again because a merge has removed its files meanwhile."""


class OpenedStore:
    """What a store is while it is open; `nearkin.store.store` opens it."""

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
        self._keeper: compaction.Keeper | None = None
        self._log_in_transaction = False
        self._stale = False
        self._pending: Callable[[], None] | None = None
        self._delivered: list[Path] = []

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

    # Transactions

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
            self._keeper = compaction.Keeper(self._folder, self._settings, self._budget)
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

    def _check_texts(self) -> None:
        """Refuse calls that may verify by texts which neither the store nor the caller has."""
        if self._settings.needs_texts and self._given_texts is None:
            raise no_texts(self._settings)

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
