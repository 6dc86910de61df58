"""Deduplication and docs/recipe.md by their definitions, in plain Python, and corpora with near-duplicates."""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rapidfuzz.distance import Indel

import nearkin as nk
import reference
from nearkin._core import feature_sets
from nearkin.dedup.candidates import MinHashCandidates

VERIFIED = nk.Recipe("letters:python|char:2|count|xxh3|simhash:64")


def expected_similarity(left: str | None, right: str | None, measure: str, recipe: nk.Recipe = VERIFIED) -> float:
    """Return the similarity by definition: distinct features, unweighted; characters unchanged."""
    if measure == "indel":
        return float(Indel.normalized_similarity(left or "", right or "")) if left and right else 0.0
    a, b = (
        set(
            reference.features(
                text or "",
                recipe.features,
                recipe.n,
                norm=recipe.norm,
                case=recipe.case,
                letters=recipe.letters,
                min_n=recipe.min_n,
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
    """Which documents match, by definition: distance within the radius and similarity at the threshold, inclusive.

    Those without features match nothing.
    """

    def __init__(self, texts: list[str | None], threshold: float, verify: str, radius: int = RADIUS) -> None:
        self.texts, self.threshold, self.verify, self.radius = [text or "" for text in texts], threshold, verify, radius
        fps, counts = nk.fingerprint(texts, RECIPE, return_counts=True)
        self.fps = fps.tolist()
        self.rows = list(range(len(texts)))
        # A document without features is a content of its own.
        self.contents: list[object] = [
            text if count else row for row, (text, count) in enumerate(zip(self.texts, counts.tolist(), strict=True))
        ]
        self.featureless = set(np.flatnonzero(counts == 0).tolist())

    def distance(self, i: int, j: int) -> int:
        """Return the Hamming distance of two documents."""
        return int(self.fps[i] ^ self.fps[j]).bit_count()

    def similarity(self, i: int, j: int) -> float:
        """Return the similarity of two documents by the measure."""
        if self.texts[i] == self.texts[j]:
            return 1.0
        return expected_similarity(self.texts[i], self.texts[j], self.verify, RECIPE)

    def reason(self, row: int, head: int) -> str:
        """Return the reason why a document is removed."""
        if self.texts[row] == self.texts[head]:
            return "exact"
        same = self.verify == "jaccard" and self.similarity(row, head) == 1.0
        return "same-letters" if same else "near"

    def match(self, i: int, j: int) -> bool:
        """Return True if one document absorbs the other."""
        if self.featureless & {i, j}:
            return False
        near = self.distance(i, j) <= self.radius
        return near and (self.verify == "none" or self.similarity(i, j) >= self.threshold - 1e-12)


def dedup(texts: Any, **options: Any) -> nk.DedupResult:
    return nk.dedup(texts, **{"recipe": RECIPE, "radius": RADIUS, **options})


def removed(result: nk.DedupResult) -> dict[Any, Any]:
    """Return the representative of each removed document, by id."""
    return {row["id"]: row["representative"] for row in result.clusters.rows() if row["reason"] != "kept"}


def near_duplicates(n: int = 600) -> list[str | None]:
    """Draw texts in families of small changes, with copies and empty ones."""
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


def check_search(source: Any, values: Any, match: Callable[[int, int], bool], similarity: Any = None) -> None:
    """A family's search equals its definition over all pairs: `find`, `pairs` and `within`, which absorbs in order.

    `similarity` of two rows is what the family says of them; None where texts decide.
    """
    n = len(values)
    added = np.arange(0, n, 2)
    search = source.search(values)
    assert 0 == len(search)
    search.add(added[: n // 4])
    search.add(added[n // 4 :])
    assert len(added) == len(search)

    result = search.find(values)
    lists = [result.ordinals[result.offsets[i] : result.offsets[i + 1]].tolist() for i in range(n)]
    assert [[j for j in added.tolist() if match(i, j)] for i in range(n)] == lists
    pairs = search.pairs()
    ends = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    expected = [(i, j) for i in added.tolist() for j in added.tolist() if i < j and match(i, j)]
    assert expected == sorted(zip(*(side.tolist() for side in ends), strict=True))
    if similarity is None:
        assert result.similarity is None
        assert pairs.similarity is None
    else:
        owners = np.repeat(np.arange(n), np.diff(result.offsets))
        for left, right, scores in (
            (owners, result.ordinals, result.similarity),
            (pairs.left, pairs.right, pairs.similarity),
        ):
            expected_similarity = [similarity(i, j) for i, j in zip(left.tolist(), right.tolist(), strict=True)]
            assert expected_similarity == pytest.approx(scores.tolist(), abs=1e-12)
            assert expected_similarity == pytest.approx(source.similarities(values[left], values[right]).tolist())

    positions = np.arange(1, n)
    batch = search.within(positions)
    numbers = range(len(positions))
    close = [a for a in numbers if any(a != b and match(a + 1, b + 1) for b in numbers)]
    assert close == batch.close.tolist()
    by, _, verified, _, _ = batch.absorb(None, positions[batch.close], 0.0, 10_000)
    remaining = reference.absorb(close, lambda a, b: match(a + 1, b + 1))
    assert [-1 if remaining[a] == a else close.index(remaining[a]) for a in close] == by.tolist()
    assert 0 == verified


def equal_values(values: Any, i: int, j: int) -> int:
    """Return the number of values in which two signatures agree."""
    return int((values[i] == values[j]).sum())


def shares_band(source: MinHashCandidates, values: Any, i: int, j: int) -> bool:
    """Return True for a MinHash candidate by definition: all values of a band agree, and enough of all values."""
    b, r = source.banding.num_bands, source.banding.num_rows
    first, other = (values[row][: b * r].reshape(b, r) for row in (i, j))
    minimum = math.ceil(source.share * len(values[i]) - 1e-9)
    return bool((first == other).all(axis=1).any()) and equal_values(values, i, j) >= minimum


def join_words(numbers: Any, prefix: str = "w") -> str:
    """Join words to a text."""
    return " ".join(f"{prefix}{number}" for number in numbers)


def text_features(texts: list[Any], recipe: nk.Recipe) -> list[set[int]]:
    """Return the distinct features of each text."""
    offsets, hashes = feature_sets(recipe.core, texts)
    return [set(hashes[start:end].tolist()) for start, end in pairwise(offsets.tolist())]


# Folds and numbers, from docs/recipe.md only

DATA = Path(__file__).parents[1] / "crates" / "nearkin-base" / "data"


@functools.cache
def _table(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


@functools.cache
def _simplified() -> dict[int, str]:
    return {ord(traditional): simplified for traditional, simplified in _table("fold-hans.tsv")}


@functools.cache
def _prototypes() -> dict[int, str]:
    rows = _table("fold-lookalikes.tsv")
    return {int(code, 16): "".join(chr(int(part, 16)) for part in form.split()) for code, form in rows}


_ACCENTED = ("LATIN", "GREEK", "CYRILLIC", "FULLWIDTH LATIN", "ROMAN NUMERAL", "SMALL ROMAN NUMERAL")
"""How names of the letters of three scripts begin: Python has no table of scripts."""


def _without_accents(decomposed: str) -> str:
    remaining, base = "", ""
    for character in decomposed:
        if not unicodedata.category(character).startswith("M"):
            base = character
        accented = unicodedata.name(base or "\n", "").startswith(_ACCENTED)
        if not (unicodedata.category(character) == "Mn" and accented):
            remaining += character
    return remaining


def folded(text: str, folds: tuple[str, ...]) -> str:
    """Return the text with confusable characters replaced."""
    if "lookalikes" in folds:
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).translate(_prototypes()))
    if "accents" in folds:
        text = unicodedata.normalize("NFC", _without_accents(unicodedata.normalize("NFD", text)))
    return text.translate(_simplified()) if "hans" in folds else text


def _of_numbers(text: str) -> dict[int, bool]:
    """Return the positions of characters of numbers, and whether they join their neighbours."""
    result = {}
    for position, character in enumerate(text):
        before, after = text[:position][-1:], text[position + 1 :][:1]
        if not (after and unicodedata.category(after) == "Nd"):
            continue
        if character in ".,\u066b\u066c\u2044" and before and unicodedata.category(before) == "Nd":
            result[position] = True
        if character in "+-\u2212" and not (before and reference.is_letter(before, "word")):
            result[position] = False
    return result


def _joined(text: str, words: list[tuple[int, int]], remaining: dict[int, bool]) -> list[tuple[int, int]]:
    """Return the spans of words, joined wherever they touch a character of a number."""
    parts = sorted(
        [*words, *((position, position + 1) for position in remaining if not any(a <= position < b for a, b in words))]
    )
    joined: list[tuple[int, int]] = []
    for start, end in parts:
        last = joined[-1] if joined else (0, -1)
        if last[1] == start and (remaining.get(start, False) or start - 1 in remaining):
            joined[-1] = (last[0], end)
        else:
            joined.append((start, end))
    return joined


def features(text: str, recipe: nk.Recipe) -> Counter[str]:
    """Return the features of a text with their counts; only words of the letters `python` and `all`."""
    text = folded(reference.normalise(text, recipe.norm, "keep"), recipe.fold)
    text = reference.normalise(text, "none", recipe.case)
    remaining = _of_numbers(text) if recipe.numbers == "whole" else {}
    text = "".join("-" if position in remaining and c == "\u2212" else c for position, c in enumerate(text))
    if recipe.features == "char":
        letters = (
            c for position, c in enumerate(text) if position in remaining or reference.is_letter(c, recipe.letters)
        )
        units, join = list(letters), ""
    else:
        pattern = r"\w+" if recipe.letters == "python" else reference.NO_SPACE
        words = [result.span() for result in re.finditer(pattern, text)]
        units, join = [text[start:end] for start, end in _joined(text, words, remaining)], " "
    n = recipe.n
    return Counter(join.join(units[i : i + n]) for i in range(max(len(units) - n + 1, 1)) if units)
