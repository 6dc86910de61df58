"""Deduplication by its definition, in plain Python, and corpora with near-duplicates: what tests compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from rapidfuzz.distance import Indel

import nearkin as nk
import reference

VERIFIED = nk.Recipe("letters:python|char:2|count|xxh3|simhash:64")


def expected_similarity(left: str | None, right: str | None, measure: str, recipe: nk.Recipe = VERIFIED) -> float:
    """The definition: distinct features, unweighted; characters as they are."""
    if measure == "indel":
        return float(Indel.normalized_similarity(left or "", right or "")) if left and right else 0.0
    a, b = (
        set(
            reference.features(
                text or "", recipe.features, recipe.n, norm=recipe.norm, case=recipe.case, letters=recipe.letters
            )
        )
        for text in (left, right)
    )
    if not a or not b:
        return 0.0
    return len(a & b) / (len(a | b) if measure == "jaccard" else min(len(a), len(b)))


RECIPE = nk.Recipe("letters:python|word:2|count|xxh3|simhash:64")


RADIUS = 22


class Reference:
    """Which documents match, by definition: distance within the radius and similarity at the threshold, inclusive."""

    def __init__(self, texts: list[str | None], threshold: float, verify: str, radius: int = RADIUS) -> None:
        self.texts, self.threshold, self.verify, self.radius = texts, threshold, verify, radius
        fps, counts = nk.fingerprint(texts, RECIPE, return_counts=True)
        self.fps = fps.tolist()
        self.rows = np.flatnonzero(counts).tolist()

    def distance(self, i: int, j: int) -> int:
        """Hamming distance of two documents."""
        return int(self.fps[i] ^ self.fps[j]).bit_count()

    def similarity(self, i: int, j: int) -> float:
        """Similarity of two documents by the measure."""
        return expected_similarity(self.texts[i], self.texts[j], self.verify, RECIPE)

    def match(self, i: int, j: int) -> bool:
        """Whether one absorbs the other."""
        near = self.distance(i, j) <= self.radius
        return near and (self.verify == "none" or self.similarity(i, j) >= self.threshold - 1e-12)


def dedup(texts: Any, **options: Any) -> nk.DedupResult:
    return nk.dedup(texts, **{"recipe": RECIPE, "radius": RADIUS, **options})


def removed(result: nk.DedupResult) -> dict[Any, Any]:
    """Representative of each removed document, by id."""
    return {row["id"]: row["representative"] for row in result.clusters.rows() if row["reason"] != "kept"}


def near_duplicates(n: int = 600) -> list[str | None]:
    """Texts in families of small changes, with copies and empty ones."""
    rng = np.random.default_rng(11)
    families = [list(rng.choice(WORDS, rng.integers(10, 60))) for _ in range(n // 8)]
    texts: list[str | None] = []
    for _ in range(n):
        words = list(families[rng.integers(len(families))])
        for _ in range(rng.integers(0, 4)):
            words[rng.integers(len(words))] = str(rng.choice(WORDS))
        texts.append(None if rng.random() < 0.02 else " ".join(words))
    return texts


def same(left: nk.DedupResult, right: nk.DedupResult) -> bool:
    return repr(outcome(left)) == repr(outcome(right))


WORDS = ["red", "green", "blue", "wine", "cheese", "東京", "Übung", "x"]


def outcome(result: nk.DedupResult) -> list[Any]:
    return [result.kept, result.kept_rows.tolist(), *result.clusters.columns.values(), result.pairs["id"]]
