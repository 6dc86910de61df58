"""What a store must answer, by definition: a list of documents in the order of their coming, and brute force."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import nearkin as nk
from nearkin.pipeline.candidates import SimHashCandidates
from nearkin.recipe import Recipe
from nearkin.store.settings import StoreSettings, TextSettings


@dataclass
class Known:
    """A document of the model."""

    id: int | str
    text: str
    status: str
    match: int | str | None
    distance: float
    similarity: float
    columns: dict[str, object] = field(default_factory=dict)


Answer = tuple[str, "int | str | None", float, float]


class Model:
    """Documents in a list; every question looks at all of them."""

    def __init__(self, settings: StoreSettings) -> None:
        assert isinstance(settings, TextSettings)
        self.settings = settings
        self.documents: list[Known] = []

    def find(self, name: int | str) -> Known | None:
        """The document of an id."""
        return next((one for one in self.documents if one.id == name), None)

    def decide(self, text: str) -> Answer:
        """What a text would be if it came now."""
        kept = [one for one in self.documents if one.status == "new"]
        if not features(text, self.settings.recipe):
            return ("new", None, -1, float("nan"))
        for one in kept:
            if one.text == text:
                return ("exact", one.id, 0, 1.0)
        for one in kept:
            distance = self.distance(text, one.text)
            if features(one.text, self.settings.recipe) and self.is_candidate(text, one.text):
                similarity = self.similarity(text, one.text)
                if similarity >= self.settings.threshold:
                    return ("near", one.id, distance, similarity)
        return ("new", None, -1, float("nan"))

    def add(self, name: int | str, text: str, *, absorb: bool) -> Answer:
        """A document comes."""
        old = self.find(name)
        if old is not None:
            if old.text != text:
                raise KeyError(name)
            match = old.match if old.match is not None and self.find(old.match) is not None else None
            return ("known", match, old.distance, old.similarity)
        answer = self.decide(text) if absorb else ("new", None, -1, float("nan"))
        self.documents.append(Known(name, text, *answer))
        return answer

    def remove(self, name: int | str) -> None:
        """A document goes."""
        found = self.find(name)
        assert found is not None
        self.documents.remove(found)

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
