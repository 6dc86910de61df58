"""What a store must answer, by definition: a list of documents in the order of their coming, and brute force.

`StoreMachine` holds two handles on one store against such a model, through any batches, removals, merges and restarts.
"""

from __future__ import annotations

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
from nearkin.dedup.candidates import SimHashCandidates
from nearkin.errors import InputError
from nearkin.recipe import Recipe
from nearkin.store.results import StoredDocument
from nearkin.store.kinds.base import StoreSettings
from nearkin.store.kinds.texts import TextSettings

Answer = tuple[str, "int | str | None", float, float]
"""Status, match, distance, similarity."""
NEW: Answer = ("new", None, -1, float("nan"))


@dataclass(eq=False)
class Known:
    """A document of the model; its content is what copies share."""

    id: int | str
    content: Any
    status: str
    match: Known | None
    distance: float
    similarity: float


class Model(ABC):
    """Documents in a list; every question looks at all of them."""

    def __init__(self) -> None:
        self.documents: list[Known] = []

    def find(self, name: int | str) -> Known | None:
        """The document of an id."""
        return next((one for one in self.documents if one.id == name), None)

    def kept(self) -> list[Known]:
        """Those that stay."""
        return [one for one in self.documents if one.status == "new"]

    @abstractmethod
    def decide(self, content: Any) -> Answer:
        """What a document would be if it came now."""

    def is_same(self, one: Any, other: Any) -> bool:
        """Whether two contents are equal."""
        return bool(one == other)

    def answer(self, known: Known) -> Answer:
        """What was said of a document, without a match that is gone, also where its id is there once more."""
        is_there = any(one is known.match for one in self.documents)
        match = known.match.id if known.match is not None and is_there else None
        return (known.status, match, known.distance, known.similarity)

    def add(self, name: int | str, content: Any, *, absorb: bool) -> Answer:
        """A document comes.

        Raises
        ------
        KeyError
            Its id is that of another content.
        """
        old = self.find(name)
        if old is not None:
            if not self.is_same(old.content, content):
                raise KeyError(name)
            return ("known", *self.answer(old)[1:])
        answer = self.decide(content) if absorb else NEW
        status, match, distance, similarity = answer
        self.documents.append(
            Known(name, content, status, None if match is None else self.find(match), distance, similarity)
        )
        return answer

    def remove(self, name: int | str) -> Known:
        """A document goes."""
        found = self.find(name)
        assert found is not None
        self.documents.remove(found)
        return found


class TextModel(Model):
    """Texts, fingerprints or signatures, and Jaccard similarity."""

    def __init__(self, settings: StoreSettings) -> None:
        super().__init__()
        assert isinstance(settings, TextSettings)
        self.settings = settings

    def decide(self, content: str) -> Answer:
        """What a text would be if it came now."""
        kept = self.kept()
        bare = not features(content, self.settings.recipe)
        if bare and self.settings.featureless == "keep":
            return NEW
        for one in kept:
            if one.content == content:
                return ("exact", one.id, 0, 1.0)
        if bare:
            return NEW
        for one in kept:
            distance = self.distance(content, one.content)
            if features(one.content, self.settings.recipe) and self.is_candidate(content, one.content):
                similarity = self.similarity(content, one.content)
                if similarity >= self.settings.threshold:
                    return ("near", one.id, distance, similarity)
        return NEW

    def distance(self, one: str, other: str) -> int:
        """Of fingerprints, or of signatures."""
        recipe = self.settings.recipe
        if recipe.family == "minhash":
            left, right = nk.signature([one, other], recipe)
            return int((left != right).sum())
        left, right = nk.fingerprint([one, other], recipe)
        return int(nk.hamming(left, right))

    def is_candidate(self, one: str, other: str) -> bool:
        """Within the radius; or a band shared, and enough values."""
        source = self.settings.source
        if isinstance(source, SimHashCandidates):
            return self.distance(one, other) <= source.radius
        left, right = nk.signature([one, other], self.settings.recipe)
        bands, rows = source.banding.num_bands, source.banding.num_rows
        shared = any((left[i * rows : (i + 1) * rows] == right[i * rows : (i + 1) * rows]).all() for i in range(bands))
        return shared and int((left == right).sum()) >= source.banding.least

    def similarity(self, one: str, other: str) -> float:
        """Jaccard similarity."""
        return float(nk.similarity([one, other], [0], [1], recipe=self.settings.recipe)[0])


def features(text: str, recipe: Recipe) -> int:
    """How many features a text has."""
    if recipe.family == "minhash":
        return int(recipe.core.signatures([text])[1][0])
    return int(recipe.core.fingerprints([text])[1][0])


def same(expected: Answer, found: Answer) -> bool:
    """Equal, NaN equal to NaN."""
    return expected[:3] == found[:3] and bool(np.array_equal(expected[3], found[3], equal_nan=True))


BATCHES = 16
"""Documents that wait before a segment is written: few, so that there are many segments."""
HANDLES = st.integers(0, 1)


class StoreMachine(RuleBasedStateMachine):
    """Two handles on one store, and the model. What comes and what is asked is added by those that inherit this."""

    model: Model
    noun: ClassVar[str]
    """What a document is called in messages."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "store"
        self.handles: list[nk.Store] = []
        self.gone: list[Known] = []
        self.reports = False

    def begin(self, *arguments: Any, **options: Any) -> StoreSettings:
        """Make the store, and open a second handle."""
        store = nk.Store.create(self.path, *arguments, max_pending=BATCHES, **options)
        self.handles = [store, nk.Store.open(self.path, max_pending=BATCHES)]
        return store.settings

    def teardown(self) -> None:
        """What is left is sound."""
        for store in self.handles:
            store.close()
        if self.handles:
            with nk.Store.open(self.path) as store:
                store.verify()
        shutil.rmtree(self.folder)

    def same(self, expected: Answer, found: Answer) -> bool:
        """Whether an answer is that of the model."""
        return same(expected, found)

    def check_contents(self, store: nk.Store, found: list[StoredDocument]) -> None:
        """Compare what the store gives back of its documents with the model."""
        raise NotImplementedError

    def bring(self, which: int, batch: list[tuple[str, Any]], absorb: bool) -> None:
        """Offer documents of these names and contents to a handle."""
        raise NotImplementedError

    def offer(self, call: Callable[..., Any], batch: list[tuple[str, Any]], items: Any, *, absorb: bool) -> None:
        """Documents come, all or none: names and contents for the model, items for the store."""
        before = list(self.model.documents)
        names = [name for name, _ in batch]
        if self.reports:
            wanted = [self.add_or_report(name, content, absorb=absorb) for name, content in batch]
            answers = call(items, names, conflicts="report")
            assert names == answers.own_ids
            assert all(map(self.same, wanted, [tuple(row.values()) for row in answers.rows()]))
            return
        try:
            expected = [self.model.add(name, content, absorb=absorb) for name, content in batch]
        except KeyError:
            self.model.documents = before
            with pytest.raises(InputError, match=f"is that of another {self.noun}"):
                call(items, names)
            return
        found = [tuple(row.values()) for row in call(items, names).rows()]
        assert len(expected) == len(found)
        assert all(map(self.same, expected, found)), (batch, expected, found)

    def add_or_report(self, name: str, content: Any, *, absorb: bool) -> Answer:
        """A document comes alone; one with the id of another content changes nothing."""
        try:
            return self.model.add(name, content, absorb=absorb)
        except KeyError:
            return ("conflict", *NEW[1:])

    @rule(reports=st.booleans())
    def choose(self, reports: bool) -> None:
        """From now on an id with another content is reported, or refused."""
        self.reports = reports

    @rule(data=st.data(), which=HANDLES, erase=st.booleans())
    def remove(self, data: st.DataObject, which: int, erase: bool) -> None:
        """Documents go."""
        names = [one.id for one in self.model.documents]
        if not names:
            return
        chosen = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=4))
        self.finish_merges()
        assert len(chosen) == self.handles[which].remove(chosen, erase=erase)
        for name in chosen:
            self.gone.append(self.model.remove(name))

    @precondition(lambda self: self.gone)
    @rule(data=st.data(), which=HANDLES, absorb=st.booleans())
    def come_again(self, data: st.DataObject, which: int, absorb: bool) -> None:
        """One that was removed comes once more."""
        known = data.draw(st.sampled_from(self.gone))
        self.bring(which, [(str(known.id), known.content)], absorb)

    @rule(which=HANDLES)
    def merge(self, which: int) -> None:
        """Files change, answers don't."""
        self.finish_merges()
        self.handles[which].merge()

    def finish_merges(self) -> None:
        """Wait for the handles that write segments in the background: who merges beside one is refused."""
        for store in self.handles:
            if store._compactor is not None:
                store._compactor.join()

    @rule(which=HANDLES)
    def reopen(self, which: int) -> None:
        """A restart."""
        self.handles[which].close()
        self.handles[which] = nk.Store.open(self.path, max_pending=BATCHES)

    @invariant()
    def holds_the_same(self) -> None:
        """Both handles hold what the model holds."""
        for store in self.handles:
            assert len(self.model.documents) == len(store)
            found = [one for batch in store.iter_documents(batch_size=7) for one in batch]
            assert [one.id for one in self.model.documents] == [one.id for one in found]
            for known, one in zip(self.model.documents, found, strict=True):
                answer = (one.status, one.match, one.distance, one.similarity)
                assert self.same(self.model.answer(known), answer)
            self.check_contents(store, found)


def case_of(machine: type[StoreMachine], examples: int) -> Any:
    """The test of a machine."""
    found = machine.TestCase
    found.settings = settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    return found
