"""Which further slots of the recipe would matter for a corpus: what `tune` says of scripts, accents and numbers.

Shares are of up to `_TEXTS` texts of the sample, of each the first `_LETTERS` characters, after NFKC. The folds
themselves are the recipe's, so that what is said here is what a slot would do:

- *Chinese in two scripts*. A text is written in traditional characters if more of its characters are changed by
  `fold:hans` than are results of that fold, and in simplified ones if fewer.
- *Look-alikes*. A word of Latin and of Greek or Cyrillic letters that `fold:lookalikes` makes plain ASCII.
- *Accents*. A word of Latin, Greek or Cyrillic letters that `fold:accents` changes, and whose result is a word of the
  corpus, too.
- *Numbers*. Of the similar pairs, those that are equal but for their numbers, and those of them that `numbers:whole`
  tells apart from equal ones.
- *Short Chinese texts*. Where one of L letters is replaced, L - n + 1 character n-grams become as many of which n are
  others, so that J = (L - 2n + 1) / (L + 1): at least t for n ≤ (L + 1)(1 - t) / 2. docs/quality.md has measurements.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nearkin.quality.ground_truth import TruePairs
from nearkin.recipe import Recipe
from nearkin.text.words import words

__all__ = ["slot_notes"]

_TEXTS = 5000
_LETTERS = 4000
_PAIRS = 20_000
_LEAST = 0.01
"""Share of texts from which on a script or a kind of words is mentioned."""
_MIXED = re.compile(r"\w*(?:[A-Za-z][\u0370-\u03ff\u0400-\u052f]|[\u0370-\u03ff\u0400-\u052f][A-Za-z])\w*")
_ACCENTED = re.compile(r"[^\W\d_\u2e80-\U0003ffff]*[\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff][^\W\d_\u2e80-\U0003ffff]*")
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_NUMBER = re.compile(r"[+\-\u2212]?[\d½¼¾⅓⅔⅛⅜⅝⅞][\d.,/\u2044½¼¾⅓⅔⅛⅜⅝⅞]*")
_PLAIN = "norm:nfkc|case:keep|letters:all|word:1"


def slot_notes(texts: Sequence[str], truth: TruePairs, recipe: Recipe, threshold: float) -> list[str]:
    """A sentence for each slot of the recipe that would matter here, and for an n too large for short Chinese texts."""
    some = [text[:_LETTERS] for text in texts[:: -(-len(texts) // _TEXTS)]] if len(texts) else []
    some = [unicodedata.normalize("NFKC", text) for text in some]
    found = [
        _of_scripts(some) if "hans" not in recipe.fold else None,
        _of_look_alikes(some) if "lookalikes" not in recipe.fold else None,
        _of_accents(some) if "accents" not in recipe.fold else None,
        _of_numbers(texts, truth, recipe),
        _of_length(texts, recipe, threshold),
    ]
    return [note for note in found if note is not None]


def _folded(names: Sequence[str], fold: str) -> list[str]:
    """Each word, which has no white space, as a fold leaves it."""
    lists = words(list(names), Recipe(f"fold:{fold}|{_PLAIN}"))
    return ["".join(parts) for parts in lists]


@functools.cache
def _scripts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Characters that are traditional only, and simplified only, by the table of `fold:hans`."""
    ideographs = [chr(code) for code in (*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000))]
    table = {old: new for old, new in zip(ideographs, _folded(ideographs, "hans"), strict=True) if old != new}
    simplified = set(table.values())
    return re.compile(f"[{''.join(table)}]"), re.compile(f"[{''.join(sorted(simplified))}]")


def _of_scripts(texts: Sequence[str]) -> str | None:
    old, new = _scripts()
    counts = np.array([(len(old.findall(text)), len(new.findall(text))) for text in texts]).reshape(-1, 2)
    traditional = int((counts[:, 0] > counts[:, 1]).sum())
    simplified = int((counts[:, 0] < counts[:, 1]).sum())
    if min(traditional, simplified) < max(_LEAST * len(texts), 1):
        return None
    shares = f"{traditional / len(texts):.1%} of the texts are in traditional Chinese, {simplified / len(texts):.1%}"
    return f"{shares} in simplified; fold:hans makes versions of one text equal"


def _of_look_alikes(texts: Sequence[str]) -> str | None:
    mixed = [set(_MIXED.findall(text)) for text in texts]
    names = sorted(set().union(*mixed))
    spoofed = {name for name, plain in zip(names, _folded(names, "lookalikes"), strict=True) if plain.isascii()}
    count = sum(not found.isdisjoint(spoofed) for found in mixed)
    if count < max(_LEAST / 10 * len(texts), 1):
        return None
    shares = (
        f"{count / len(texts):.1%} of the texts have words that mix Latin letters with look-alikes of other scripts"
    )
    return f"{shares}, such as {min(spoofed)!r}; fold:lookalikes makes them plain"


def _of_accents(texts: Sequence[str]) -> str | None:
    accented = [set(_ACCENTED.findall(text.casefold())) for text in texts]
    names = sorted(set().union(*accented))
    plain = dict(zip(names, _folded(names, "accents"), strict=True))
    changed = {name for name in names if plain[name] != name}
    with_accents = sum(not found.isdisjoint(changed) for found in accented)
    if not changed or with_accents < _LEAST * len(texts):
        return None
    known = set().union(*(_WORD.findall(text.casefold()) for text in texts))
    both = sum(plain[name] in known for name in changed)
    if both < _LEAST * len(changed):
        return None
    shares = (
        f"{with_accents / len(texts):.1%} of the texts have accents, and {both / len(changed):.1%} of the words with"
    )
    return f"{shares} them occur without, too; fold:accents makes both equal, if they mean the same here"


def _of_numbers(texts: Sequence[str], truth: TruePairs, recipe: Recipe) -> str | None:
    """Similar pairs that are equal but for their numbers."""
    rows = np.arange(len(truth.left))[:: max(-(-len(truth.left) // _PAIRS), 1)]
    bare: dict[int, str] = {}

    def of(row: int) -> str:
        if row not in bare:
            bare[row] = " ".join(_NUMBER.sub("0", texts[row]).split())
        return bare[row]

    pairs = [(int(truth.left[row]), int(truth.right[row])) for row in rows]
    pairs = [(a, b) for a, b in pairs if of(a) == of(b) and texts[a].split() != texts[b].split()]
    if len(pairs) < max(_LEAST * len(rows), 1):
        return None
    note = f"{len(pairs) / len(rows):.1%} of the similar pairs differ in numbers alone; --differ numbers keeps both"
    if recipe.numbers == "whole":
        return note
    ends = np.array(pairs).T
    hidden = _equal(texts, ends, recipe) & ~_equal(texts, ends, recipe.with_(numbers="whole"))
    if not hidden.any():
        return note
    return f"{note}; {hidden.mean():.1%} of these have equal features, and other ones with numbers:whole"


def _equal(texts: Sequence[str], ends: NDArray[np.int64], recipe: Recipe) -> NDArray[np.bool_]:
    """Which pairs have the same features."""
    made = {row: recipe.features_of(texts[row]).keys() for row in np.unique(ends).tolist()}
    return np.array([made[a] == made[b] for a, b in ends.T.tolist()], np.bool_)


def _of_length(texts: Sequence[str], recipe: Recipe, threshold: float) -> str | None:
    """Whether n is too large for the Chinese texts, if these are most."""
    if recipe.features != "char" or recipe.min_n or threshold >= 1 or not texts:
        return None
    some = [text[:_LETTERS] for text in texts[:: -(-len(texts) // _TEXTS)]]
    han = [len(_HAN.findall(text)) for text in some]
    letters = [sum(map(str.isalnum, text)) for text in some]
    chinese = [count for ideographs, count in zip(han, letters, strict=True) if count and 2 * ideographs > count]
    if 2 * len(chinese) < len(some):
        return None
    median = float(np.median(chinese))
    best = max(int((median + 1) * (1 - threshold) / 2 + 1e-9), 2)
    if recipe.n <= best:
        return None
    least = math.ceil(2 * recipe.n / (1 - threshold) - 1 - 1e-9)
    return (
        f"half of the Chinese texts have at most {median:.0f} letters; with char:{recipe.n} two texts that differ in "
        f"one letter reach the threshold {threshold:g} from {least} letters on: "
        f"char:{best} suits them better, or a lower threshold"
    )
