"""The client answers what the models of the store answer: the store's own property tests, through HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import hypothesis.strategies as st
from fake import same_answers
from here import Here
from hypothesis.stateful import invariant, precondition, rule
from nearkin.store.kinds import StoreSettings
from test_store import TextMachine
from test_store_of_files import FileMachine
from test_store_of_vectors import POOL, VectorMachine

import nearkin as nk
from nearkin.service.client import without_key
from nearkin.store.results import StoredDocument
from store_model import HANDLES, StoreMachine, case_of


def without_keys(found: list[Any]) -> list[Any]:
    """Documents or matches as they were added, without the idempotency key that the service remembers beside them."""
    return [replace(one, columns=without_key(one.columns)) for one in found]


class ThroughHTTP(StoreMachine):
    """Two clients of one service in the place of two handles."""

    service: Here

    def begin(self, *arguments: Any, **options: Any) -> StoreSettings:
        """Make the store, begin its service, and two clients."""
        with nk.Store.create(self.path, *arguments, **options) as store:
            settings = store.settings
        self.service = Here(self.path)
        self.handles = [self.client(), self.client()]
        return settings

    def client(self) -> nk.Store:
        """A client, in the place of a store."""
        return cast("nk.Store", nk.Client(self.service.url, retries=0))

    def teardown(self) -> None:
        """The service ends before its store is looked at."""
        if self.handles:
            self.service.end()
        super().teardown()

    def finish_merges(self) -> None:
        """The service does."""

    @rule(which=HANDLES)
    def reopen(self, which: int) -> None:
        """The service begins again, or a client does."""
        if which:
            self.handles[1].close()
        else:
            port = self.service.port
            self.service.end()
            self.service = Here(self.path, port)
            self.handles[0].close()
        self.handles[which] = self.client()

    @invariant()
    def holds_the_same(self) -> None:
        """Both clients find what the model holds, and nothing of what is gone."""
        names = [one.id for one in self.model.documents]
        absent = [one.id for one in self.gone if one.id not in names]
        for client in self.handles:
            assert len(names) == len(client)
            found = [one for one in client.get(names) if one is not None]
            rows = [one.row for one in found]
            assert sorted(rows) == rows
            assert names == [one.id for one in found]
            assert [None] * len(absent) == client.get(absent, missing_ok=True)
            for known, one in zip(self.model.documents, found, strict=True):
                answer = (one.status, one.match, one.distance, one.similarity)
                assert self.same(self.model.answer(known), answer)
            self.check_contents(client, found)

    @precondition(lambda self: self.model.documents)
    @rule(data=st.data(), which=HANDLES, k=st.sampled_from([None, 2]))
    def ask_both(self, data: st.DataObject, which: int, k: int | None) -> None:
        """The client answers what the store does, bit for bit."""
        known = data.draw(st.lists(st.sampled_from([*self.model.documents, *self.gone]), min_size=1, max_size=5))
        items, options = self.items_of([one.content for one in known])
        names = [one.id for one in self.model.documents][:3]
        with nk.Store.open(self.path, "r") as store:
            client = self.handles[which]
            expected = store.check(items, k=k, **options)
            matches = None if expected.matches is None else list(map(without_keys, expected.matches))
            assert same_answers(replace(expected, matches=matches), client.check(items, k=k, **options))
            values = store.values(names)
            assert repr(list(map(without_keys, store.search(values, k=3)))) == repr(client.search(values, k=3))
            assert repr(without_keys(store.get(names))) == repr(client.get(names))

    def items_of(self, contents: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Documents of contents, as a call takes them, and its options."""
        return contents, {}


class TextsThroughHTTP(ThroughHTTP, TextMachine):
    """Texts, and what is kept of them."""

    # A document that comes alone is refused in words of the service.
    noun = "(text|content)"


class StoredValues(ThroughHTTP):
    """What the client does not give of documents is compared in the store."""

    def check_contents(self, store: nk.Store, found: list[StoredDocument]) -> None:
        """Values, by a handle of this process."""
        if store is self.handles[0]:
            with nk.Store.open(self.path, "r") as own:
                super().check_contents(own, found)


class FilesThroughHTTP(StoredValues, FileMachine):
    """Files as digests, bytes and paths."""

    noun = "(file|content)"

    def items_of(self, contents: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Those that are of the kind of the first."""
        kind = "digests" if contents[0][0] == "digest" else "bytes"
        return [value for name, value in contents if name == contents[0][0]], {"kind": kind}


class VectorsThroughHTTP(StoredValues, VectorMachine):
    """Vectors."""

    noun = "(vector|content)"

    def items_of(self, contents: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Of the pool."""
        return POOL[contents], {}


TestTexts = case_of(TextsThroughHTTP, 12)
TestFiles = case_of(FilesThroughHTTP, 12)
TestVectors = case_of(VectorsThroughHTTP, 12)
