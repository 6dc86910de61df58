"""Hints on fields of a recipe that matter for a corpus: scripts, accents, numbers and short Chinese texts.

Frequencies are those of up to `_MAX_TEXTS` texts of the sample, with the first `_MAX_CHARACTERS` characters of each,
after NFKC. The folds are the recipe's own, so a hint predicts the effect of the field:

- *Chinese in two scripts*. A text is traditional if `fold:hans` changes more of its characters than occur among the
  results of that fold, and simplified if it changes fewer.
- *Look-alikes*. A word of Latin and Greek or Cyrillic letters that `fold:lookalikes` converts to ASCII.
- *Accents*. A word of Latin, Greek or Cyrillic letters that `fold:accents` changes to another word of the corpus.
- *Numbers*. The similar pairs that are equal except for their numbers, and those among them that only `numbers:whole`
  distinguishes.
- *Short Chinese texts*. If one of L letters is replaced, n of the L - n + 1 character n-grams change, so
  J = (L - 2n + 1) / (L + 1), which is at least t for n ≤ (L + 1)(1 - t) / 2.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from nearkin.quality.ground_truth import TruePairs
from nearkin.recipe import Recipe
from nearkin.text.words import words

_MAX_TEXTS = 5000
_MAX_CHARACTERS = 4000
_MAX_PAIRS = 20_000
_MIN_FREQUENCY = 0.01
"""Fraction of texts from which on a script or a kind of words is mentioned."""
_MIXED = re.compile(r"\w*(?:[A-Za-z][\u0370-\u03ff\u0400-\u052f]|[\u0370-\u03ff\u0400-\u052f][A-Za-z])\w*")
_ACCENTED = re.compile(r"[^\W\d_\u2e80-\U0003ffff]*[\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff][^\W\d_\u2e80-\U0003ffff]*")
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_NUMBER = re.compile(r"[+\-\u2212]?[\d½¼¾⅓⅔⅛⅜⅝⅞][\d.,/\u2044½¼¾⅓⅔⅛⅜⅝⅞]*")
_WORDS_ONLY = "norm:nfkc|case:keep|letters:all|word:1"


def recipe_hints(texts: Sequence[str], truth: TruePairs, recipe: Recipe, threshold: float) -> list[str]:
    """Return a sentence for each field of the recipe that matters for this corpus."""
    raw = [text[:_MAX_CHARACTERS] for text in texts[:: max(-(-len(texts) // _MAX_TEXTS), 1)]]
    normalized = [unicodedata.normalize("NFKC", text) for text in raw]
    hints = [
        _hint_scripts(normalized) if "hans" not in recipe.fold else None,
        _hint_look_alikes(normalized) if "lookalikes" not in recipe.fold else None,
        _hint_accents(normalized) if "accents" not in recipe.fold else None,
        _hint_numbers(texts, truth, recipe),
        _hint_n(raw, recipe, threshold),
    ]
    return [hint for hint in hints if hint is not None]


def _fold(names: Sequence[str], fold: str) -> list[str]:
    """Return each word, which has no white space, after a fold."""
    return ["".join(parts) for parts in words(list(names), Recipe(f"fold:{fold}|{_WORDS_ONLY}"))]


@functools.cache
def _script_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the characters that are only traditional, and only simplified, by the table of `fold:hans`."""
    ideographs = [chr(code) for code in (*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000))]
    table = {old: new for old, new in zip(ideographs, _fold(ideographs, "hans"), strict=True) if old != new}
    return re.compile(f"[{''.join(table)}]"), re.compile(f"[{''.join(sorted(set(table.values())))}]")


def _hint_scripts(texts: Sequence[str]) -> str | None:
    old, new = _script_patterns()
    counts = [(len(old.findall(text)), len(new.findall(text))) for text in texts]
    traditional = sum(a > b for a, b in counts)
    simplified = sum(a < b for a, b in counts)
    if min(traditional, simplified) < max(_MIN_FREQUENCY * len(texts), 1):
        return None
    return (
        f"{traditional / len(texts):.1%} of the texts are in traditional Chinese, {simplified / len(texts):.1%} in "
        "simplified; fold:hans makes versions of one text equal"
    )


def _hint_look_alikes(texts: Sequence[str]) -> str | None:
    mixed = [set(_MIXED.findall(text)) for text in texts]
    names = sorted(set().union(*mixed))
    spoofed = {name for name, plain in zip(names, _fold(names, "lookalikes"), strict=True) if plain.isascii()}
    count = sum(not matches.isdisjoint(spoofed) for matches in mixed)
    if count < max(_MIN_FREQUENCY / 10 * len(texts), 1):
        return None
    return (
        f"{count / len(texts):.1%} of the texts have words that mix Latin letters with look-alikes of other scripts, "
        f"such as {min(spoofed)!r}; fold:lookalikes converts them to Latin letters"
    )


def _hint_accents(texts: Sequence[str]) -> str | None:
    accented = [set(_ACCENTED.findall(text.casefold())) for text in texts]
    names = sorted(set().union(*accented))
    plain = dict(zip(names, _fold(names, "accents"), strict=True))
    changed = {name for name in names if plain[name] != name}
    with_accents = sum(not matches.isdisjoint(changed) for matches in accented)
    if not changed or with_accents < _MIN_FREQUENCY * len(texts):
        return None
    vocabulary = set().union(*(_WORD.findall(text.casefold()) for text in texts))
    both = sum(plain[name] in vocabulary for name in changed)
    if both < _MIN_FREQUENCY * len(changed):
        return None
    return (
        f"{with_accents / len(texts):.1%} of the texts have accents, and {both / len(changed):.1%} of the accented "
        "words also occur without; fold:accents makes both equal, if they mean the same here"
    )


def _hint_numbers(texts: Sequence[str], truth: TruePairs, recipe: Recipe) -> str | None:
    """Return the hint on similar pairs that are equal except for their numbers."""
    rows = np.arange(len(truth.left))[:: max(-(-len(truth.left) // _MAX_PAIRS), 1)]

    @functools.cache
    def without_numbers(row: int) -> str:
        return " ".join(_NUMBER.sub("0", texts[row]).split())

    @functools.cache
    def features(row: int, numbers: str) -> frozenset[str]:
        return frozenset(recipe.with_(numbers=numbers).features_of(texts[row]))

    pairs = [(int(truth.left[row]), int(truth.right[row])) for row in rows]
    pairs = [
        (a, b) for a, b in pairs if without_numbers(a) == without_numbers(b) and texts[a].split() != texts[b].split()
    ]
    if len(pairs) < max(_MIN_FREQUENCY * len(rows), 1):
        return None
    hint = f"{len(pairs) / len(rows):.1%} of the similar pairs differ only in numbers; --differ numbers keeps both"
    hidden = sum(
        features(a, recipe.numbers) == features(b, recipe.numbers) and features(a, "whole") != features(b, "whole")
        for a, b in pairs
    )
    if recipe.numbers == "whole" or not hidden:
        return hint
    return f"{hint}; {hidden / len(pairs):.1%} of them have equal features, which numbers:whole distinguishes"


def _hint_n(texts: Sequence[str], recipe: Recipe, threshold: float) -> str | None:
    """Return the hint on an n that is too large for Chinese texts, if most texts are Chinese."""
    if recipe.features != "char" or recipe.min_n or threshold >= 1 or not texts:
        return None
    counts = [(len(_HAN.findall(text)), sum(map(str.isalnum, text))) for text in texts]
    lengths = [letters for ideographs, letters in counts if letters and 2 * ideographs > letters]
    if 2 * len(lengths) < len(texts):
        return None
    median = float(np.median(lengths))
    best = max(int((median + 1) * (1 - threshold) / 2 + 1e-9), 2)
    if recipe.n <= best:
        return None
    min_length = math.ceil(2 * recipe.n / (1 - threshold) - 1 - 1e-9)
    return (
        f"half of the Chinese texts have at most {median:.0f} letters; with char:{recipe.n} two texts that differ in "
        f"one letter need {min_length} letters to reach the threshold {threshold:g}: use char:{best} or a lower "
        "threshold"
    )
