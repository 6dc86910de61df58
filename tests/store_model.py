"""Model of a store, by definition: a list of documents in the order of addition, and brute force.

`StoreMachine` compares two handles on one store with the model, through any batches, removals, merges and restarts.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import nearkin as nk
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.errors import InputError
from nearkin.recipe import Recipe
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.texts import TextSettings
from nearkin.store.results import StoredDocument

Answer = tuple[str, "int | str | None", float, float]
"""Status, match, distance, similarity."""
NEW: Answer = ("new", None, -1, float("nan"))


def source(name: int | str) -> str | None:
    """Return the source of a document, which follows from its id; some have none."""
    digit = str(name)[-1]
    return None if digit == "9" else digit


@dataclass(eq=False)
class ModelDocument:
    """A document of the model; exact copies have equal content."""

    id: int | str
    content: Any
    status: str
    match: ModelDocument | None
    distance: float
    similarity: float


class Model(ABC):
    """Documents in a list; every query visits all of them."""

    def __init__(self) -> None:
        self.documents: list[ModelDocument] = []

    def find(self, name: int | str) -> ModelDocument | None:
        """Return the document with an id."""
        return next((doc for doc in self.documents if doc.id == name), None)

    def kept(self) -> list[ModelDocument]:
        """Return the new documents."""
        return [doc for doc in self.documents if doc.status == "new"]

    def copies(self) -> dict[int | str, int]:
        """Return the number of documents that each one stands for, itself included; 0 if it is not kept."""
        heads = [doc if doc.status == "new" else doc.match for doc in self.documents]
        return {doc.id: sum(head is doc for head in heads) for doc in self.documents}

    def sources(self) -> dict[int | str, int]:
        """Return the number of sources of the documents that each one stands for."""
        heads = [doc if doc.status == "new" else doc.match for doc in self.documents]
        names = {
            (head.id, name)
            for head, doc in zip(heads, self.documents, strict=True)
            if (name := source(doc.id)) and head
        }
        return {doc.id: sum(head == doc.id for head, _ in names) for doc in self.documents}

    @abstractmethod
    def decide(self, content: Any) -> Answer:
        """Return the result of a new document."""

    def is_same(self, content: Any, other: Any) -> bool:
        """Return True if two contents are equal."""
        return bool(content == other)

    def answer(self, document: ModelDocument) -> Answer:
        """Return the first result of a document, without a match that was removed, even if its id was added again."""
        is_there = any(doc is document.match for doc in self.documents)
        match = document.match.id if document.match is not None and is_there else None
        return (document.status, match, document.distance, document.similarity)

    def add(self, name: int | str, content: Any, *, absorb: bool) -> Answer:
        """Add a document.

        Raises
        ------
        KeyError
            Its id belongs to another content.
        """
        old = self.find(name)
        if old is not None:
            if not self.is_same(old.content, content):
                raise KeyError(name)
            return ("known", *self.answer(old)[1:])
        answer = self.decide(content) if absorb else NEW
        status, match, distance, similarity = answer
        self.documents.append(
            ModelDocument(name, content, status, None if match is None else self.find(match), distance, similarity)
        )
        return answer

    def remove(self, names: list[int | str]) -> list[ModelDocument]:
        """Remove documents, decide again about those that matched them, and return those that are gone."""
        removed = [doc for doc in self.documents if doc.id in names]
        members = [doc for doc in self.documents if doc.match in removed and doc not in removed]
        before = list(self.documents)
        self.documents = [doc for doc in self.documents if doc not in removed and doc not in members]
        self.restore(members)
        there = {doc.id for doc in self.documents}
        return [doc for doc in before if doc.id not in there]

    def restore(self, members: list[ModelDocument]) -> None:
        """Decide again about documents whose values are known."""
        for doc in members:
            self.add(doc.id, doc.content, absorb=True)


class TextModel(Model):
    """Texts, fingerprints or signatures, and Jaccard similarity."""

    def __init__(self, settings: StoreSettings) -> None:
        super().__init__()
        assert isinstance(settings, TextSettings)
        self.settings = settings

    def restore(self, members: list[ModelDocument]) -> None:
        """Let the first copy of a removed text take its place; forget the others if there is none."""
        if self.settings.text == "none" and self.settings.comparison is None:
            super().restore(members)
            return
        heirs: dict[int, ModelDocument] = {}
        for doc in members:
            assert doc.match is not None
            if doc.content == doc.match.content:
                heirs.setdefault(id(doc.match), doc)
        for doc in heirs.values():
            doc.status, doc.distance, doc.similarity = NEW[0], *NEW[2:]
        stay = [doc for doc in members if id(doc.match) in heirs and doc not in heirs.values()]
        self.documents += [*heirs.values(), *stay]
        for doc in members:
            heir = heirs.get(id(doc.match))
            doc.match = None if heir is doc else heir

    def decide(self, content: str) -> Answer:
        """Return the result of a new text."""
        kept = self.kept()
        if not features(content, self.settings.recipe):
            return ("empty", None, -1, math.nan) if self.settings.empty == "drop" else NEW
        for doc in kept:
            if doc.content == content:
                return ("exact", doc.id, 0, 1.0)
        for doc in kept:
            distance = self.distance(content, doc.content)
            if features(doc.content, self.settings.recipe) and self.is_candidate(content, doc.content):
                similarity = self.similarity(content, doc.content)
                if similarity >= self.settings.threshold:
                    return ("same-letters" if similarity == 1 else "near", doc.id, distance, similarity)
        return NEW

    def distance(self, text: str, other: str) -> int:
        """Return the Hamming distance of fingerprints, or the number of bands that differ."""
        source = self.settings.source
        if isinstance(source, SimHashCandidates):
            left, right = nk.fingerprint([text, other], self.settings.recipe)
            return int(nk.hamming(left, right))
        left, right = nk.signature([text, other], self.settings.recipe)
        bands, rows = source.banding.num_bands, source.banding.num_rows
        return sum((left[i * rows : (i + 1) * rows] != right[i * rows : (i + 1) * rows]).any() for i in range(bands))

    def is_candidate(self, text: str, other: str) -> bool:
        """Return True within the radius, or if a band is equal."""
        source, distance = self.settings.source, self.distance(text, other)
        return (
            distance <= source.radius if isinstance(source, SimHashCandidates) else distance < source.banding.num_bands
        )

    def similarity(self, left: str, right: str) -> float:
        """Return the Jaccard similarity."""
        return float(nk.similarity([left, right], [0], [1], recipe=self.settings.recipe)[0])


def features(text: str, recipe: Recipe) -> int:
    """Return the number of features of a text."""
    if recipe.family == "minhash":
        return int(recipe.core.signatures([text])[1][0])
    return int(recipe.core.fingerprints([text])[1][0])


def same(expected: Answer, stored: Answer) -> bool:
    """Return True if two results are equal, NaN included."""
    return expected[:3] == stored[:3] and bool(np.array_equal(expected[3], stored[3], equal_nan=True))


BATCHES = 16
"""Documents that wait before a segment is written: few, so that there are many segments."""
HANDLES = st.integers(0, 1)


class StoreMachine(RuleBasedStateMachine):
    """Two handles on one store, and the model. Subclasses add documents and queries."""

    model: Model
    noun: ClassVar[str]
    """What a document is called in messages."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "store"
        self.handles: list[nk.Store] = []
        self.gone: list[ModelDocument] = []
        self.reports = False

    def begin(self, *arguments: Any, **options: Any) -> StoreSettings:
        """Create the store, and open a second handle."""
        store = nk.Store.create(self.path, *arguments, max_pending=BATCHES, **options)
        self.handles = [store, nk.Store.open(self.path, max_pending=BATCHES)]
        return store.settings

    def teardown(self) -> None:
        """The store is undamaged."""
        for store in self.handles:
            store.close()
        if self.handles:
            with nk.Store.open(self.path) as store:
                store.verify()
        shutil.rmtree(self.folder)

    def same(self, expected: Answer, stored: Answer) -> bool:
        """Return True if a result equals that of the model."""
        return same(expected, stored)

    def check_contents(self, store: nk.Store, stored: list[StoredDocument]) -> None:
        """Compare what the store returns for its documents with the model."""
        raise NotImplementedError

    def bring(self, which: int, batch: list[tuple[str, Any]], absorb: bool) -> None:
        """Add documents with these names and contents through a handle."""
        raise NotImplementedError

    def offer(self, call: Callable[..., Any], batch: list[tuple[str, Any]], items: Any, *, absorb: bool) -> None:
        """Add a batch, all or none: names and contents for the model, items for the store."""
        before = list(self.model.documents)
        names = [name for name, _ in batch]
        counted: dict[str, Any] = {"copies": True} if absorb else {}
        counted["columns"] = {"source": list(map(source, names))}
        if self.reports:
            expected = [self.add_or_report(name, content, absorb=absorb) for name, content in batch]
            answers = call(items, names, conflicts="report", **counted)
            assert names == answers.own_ids
            self.check_copies(expected, answers)
            stored = [tuple(row.values())[:4] for row in answers.rows()]
            assert all(map(self.same, expected, stored)), (batch, expected, stored)
            return
        try:
            expected = [self.model.add(name, content, absorb=absorb) for name, content in batch]
        except KeyError:
            self.model.documents = before
            with pytest.raises(InputError, match=f"is that of another {self.noun}"):
                call(items, names)
            return
        answers = call(items, names, **counted)
        self.check_copies(expected, answers)
        stored = [tuple(row.values())[:4] for row in answers.rows()]
        assert len(expected) == len(stored)
        assert all(map(self.same, expected, stored)), (batch, expected, stored)

    def check_copies(self, expected: list[Answer], answers: nk.CheckResult) -> None:
        """Compare the numbers of documents that kept documents stand for after a call."""
        counts = self.model.copies()
        assert answers.own_ids is not None
        counted = [
            0 if answer[0] == "conflict" else counts[name if answer[1] is None else answer[1]]
            for name, answer in zip(answers.own_ids, expected, strict=True)
        ]
        self.compare_copies(counted, [] if answers.copies is None else answers.copies.tolist())

    def compare_copies(self, expected: list[int], counted: list[int]) -> None:
        """Compare counts of copies; none if they were not asked for."""
        assert counted in (expected, [])

    def add_or_report(self, name: str, content: Any, *, absorb: bool) -> Answer:
        """Add a single document; a conflict changes nothing."""
        try:
            return self.model.add(name, content, absorb=absorb)
        except KeyError:
            return ("conflict", *NEW[1:])

    @rule(reports=st.booleans())
    def choose(self, reports: bool) -> None:
        """Choose between raising and reporting conflicts."""
        self.reports = reports

    @rule(data=st.data(), which=HANDLES, erase=st.booleans())
    def remove(self, data: st.DataObject, which: int, erase: bool) -> None:
        """Remove documents."""
        names = [doc.id for doc in self.model.documents]
        if not names:
            return
        chosen = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=4))
        self.finish_merges()
        gone = self.model.remove(chosen)
        assert len(gone) == self.handles[which].remove(chosen, erase=erase)
        self.gone += gone

    @precondition(lambda self: self.gone)
    @rule(data=st.data(), which=HANDLES, absorb=st.booleans())
    def come_again(self, data: st.DataObject, which: int, absorb: bool) -> None:
        """Add a removed document again."""
        document = data.draw(st.sampled_from(self.gone))
        self.bring(which, [(str(document.id), document.content)], absorb)

    @rule(which=HANDLES)
    def merge(self, which: int) -> None:
        """A merge changes files, and no results."""
        self.finish_merges()
        self.handles[which].merge()

    def finish_merges(self) -> None:
        """Wait for the compactors, because a concurrent merge is refused."""
        for store in self.handles:
            if store._compactor is not None:
                store._compactor.join()

    @rule(which=HANDLES)
    def reopen(self, which: int) -> None:
        """Restart."""
        self.handles[which].close()
        self.handles[which] = nk.Store.open(self.path, max_pending=BATCHES)

    @invariant()
    def holds_the_same(self) -> None:
        """Both handles have the documents of the model."""
        for store in self.handles:
            assert len(self.model.documents) == len(store)
            stored = [doc for batch in store.iter_documents(batch_size=7, ledger=True) for doc in batch]
            assert self.model.copies() == {doc.id: doc.copies for doc in stored}
            assert self.model.sources() == {doc.id: doc.sources for doc in stored}
            about, named = store.stats(ledger=True), {source(doc.id) for doc in self.model.documents} - {None}
            assert (len(self.model.kept()), len(named)) == (about.kept, about.sources)
            assert [doc.id for doc in self.model.documents] == [doc.id for doc in stored]
            for expected, doc in zip(self.model.documents, stored, strict=True):
                answer = (doc.status, doc.match, doc.distance, doc.similarity)
                assert self.same(self.model.answer(expected), answer)
            self.check_contents(store, stored)


def case_of(machine: type[StoreMachine], examples: int) -> Any:
    """Return the test case of a machine."""
    stored = machine.TestCase
    stored.settings = settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    return stored
