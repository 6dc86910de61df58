"""The property tests of the store, through HTTP: the client returns the results of the models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import hypothesis.strategies as st
from fake import same_answers
from hypothesis.stateful import invariant, precondition, rule
from test_store import TextMachine
from test_store_of_files import FileMachine
from test_store_of_vectors import POOL, VectorMachine
from threaded import ThreadedService

import nearkin as nk
from nearkin.service.client import without_key
from nearkin.store.kinds import StoreSettings
from nearkin.store.results import StoredDocument
from store_model import HANDLES, StoreMachine, case_of


def without_keys(items: list[Any]) -> list[Any]:
    """Return documents or matches without the idempotency key that the service has added."""
    return [replace(item, columns=without_key(item.columns)) for item in items]


class ThroughHTTP(StoreMachine):
    """Two clients of one service instead of two handles."""

    service: ThreadedService

    def begin(self, *arguments: Any, **options: Any) -> StoreSettings:
        """Create the store, its service, and two clients."""
        with nk.Store.create(self.path, *arguments, **options) as store:
            settings = store.settings
        self.service = ThreadedService(self.path)
        self.handles = [self.client(), self.client()]
        return settings

    def client(self) -> nk.Store:
        """Return a client, typed as a store."""
        return cast("nk.Store", nk.Client(self.service.url, retries=0))

    def teardown(self) -> None:
        """Stop the service before its store is checked."""
        if self.handles:
            self.service.end()
        super().teardown()

    def compare_copies(self, expected: list[int], counted: list[int]) -> None:
        """Lines are added one by one, so the earlier ones do not count what follows."""
        if self.reports and counted:
            assert all(0 <= found <= count for found, count in zip(counted, expected, strict=True))
        else:
            super().compare_copies(expected, counted)

    def finish_merges(self) -> None:
        """Do nothing: the service finishes merges."""

    @rule(which=HANDLES)
    def reopen(self, which: int) -> None:
        """Restart the service, or a client."""
        if which:
            self.handles[1].close()
        else:
            port = self.service.port
            self.service.end()
            self.service = ThreadedService(self.path, port)
            self.handles[0].close()
        self.handles[which] = self.client()

    @invariant()
    def holds_the_same(self) -> None:
        """Check that both clients find the documents of the model, and no removed ones."""
        names = [document.id for document in self.model.documents]
        absent = [document.id for document in self.gone if document.id not in names]
        for client in self.handles:
            assert len(names) == len(client)
            documents = [document for document in client.get(names) if document is not None]
            rows = [document.row for document in documents]
            assert sorted(rows) == rows
            assert names == [document.id for document in documents]
            assert [None] * len(absent) == client.get(absent, missing_ok=True)
            for expected, document in zip(self.model.documents, documents, strict=True):
                answer = (document.status, document.match, document.distance, document.similarity)
                assert self.same(self.model.answer(expected), answer)
            self.check_contents(client, documents)

    @precondition(lambda self: self.model.documents)
    @rule(data=st.data(), which=HANDLES, k=st.sampled_from([None, 2]))
    def ask_both(self, data: st.DataObject, which: int, k: int | None) -> None:
        """Check that the results of the client equal those of the store, bit for bit."""
        documents = data.draw(st.lists(st.sampled_from([*self.model.documents, *self.gone]), min_size=1, max_size=5))
        items, options = self.items_of([document.content for document in documents])
        names = [document.id for document in self.model.documents][:3]
        with nk.Store.open(self.path, "r") as store:
            client = self.handles[which]
            expected = store.check(items, k=k, **options)
            matches = None if expected.matches is None else list(map(without_keys, expected.matches))
            assert same_answers(replace(expected, matches=matches), client.check(items, k=k, **options))
            values = store.values(names)
            assert repr(list(map(without_keys, store.search(values, k=3)))) == repr(client.search(values, k=3))
            assert repr(without_keys(store.get(names))) == repr(client.get(names))

    def items_of(self, contents: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Return contents as arguments of a call, and its options."""
        return contents, {}


class TextsThroughHTTP(ThroughHTTP, TextMachine):
    """Texts, with every rule for keeping them."""

    # A single document is refused with the message of the service.
    noun = "(text|content)"


class StoredValues(ThroughHTTP):
    """Values, which the client lacks, are compared in the store."""

    def check_contents(self, store: nk.Store, found: list[StoredDocument]) -> None:
        """Compare values through a handle of this process."""
        if store is self.handles[0]:
            with nk.Store.open(self.path, "r") as own:
                super().check_contents(own, found)


class FilesThroughHTTP(StoredValues, FileMachine):
    """Files as digests, bytes and paths."""

    noun = "(file|content)"

    def items_of(self, contents: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Return the contents of the same kind as the first."""
        kind = "digests" if contents[0][0] == "digest" else "bytes"
        return [value for name, value in contents if name == contents[0][0]], {"kind": kind}


class VectorsThroughHTTP(StoredValues, VectorMachine):
    """Vectors."""

    noun = "(vector|content)"

    def items_of(self, contents: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Return vectors of the pool."""
        return POOL[contents], {}


TestTexts = case_of(TextsThroughHTTP, 12)
TestFiles = case_of(FilesThroughHTTP, 12)
TestVectors = case_of(VectorsThroughHTTP, 12)
