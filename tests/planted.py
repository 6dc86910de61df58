"""Corpora with planted near-duplicates, for tests of tuning."""

from __future__ import annotations

import random

import nearkin as nk

WORDS = [a + b for a in ("ba", "do", "ki", "lu", "me", "ny", "sa", "to") for b in ("rn", "st", "ll", "ck", "m", "p")]


def corpus(count: int, seed: int = 1, words: int = 40) -> list[str]:
    """Return documents; every third one is a copy of another with up to eight words replaced."""
    rng = random.Random(seed)
    texts: list[str] = []
    for row in range(count):
        if row % 3 and texts:
            text = rng.choice(texts[-30:]).split()
            for _ in range(rng.randrange(9)):
                text[rng.randrange(len(text))] = rng.choice(WORDS)
        else:
            text = [rng.choice(WORDS) for _ in range(words)]
        texts.append(" ".join(text))
    return texts


def jaccard(recipe: nk.Recipe, a: str, b: str) -> float:
    item, two = set(recipe.features_of(a)), set(recipe.features_of(b))
    return len(item & two) / len(item | two) if item and two else 0.0
