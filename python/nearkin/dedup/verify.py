"""Verification: the true similarity of candidate pairs of texts, in batches.

| measure | similarity of texts with feature sets A and B |
|---|---|
| `jaccard` | |A ∩ B| / |A ∪ B| |
| `containment` | |A ∩ B| / min(|A|, |B|) |
| `indel` | 1 − (insertions and deletions of characters) / (characters of both), of the texts as they are |
| `words` | share of the words that have a partner up to typing errors; 0 if a number or a word replaces another |
| `levenshtein` | 1 − (insertions, deletions and substitutions) / (characters of the longer); `similarity` only |

Feature sets are distinct and unweighted, unless the recipe is `minhash:NUM_PERM:weighted`. With its weights a and b of
a feature, whole numbers of a unit (`crates/nearkin-base/src/text/keywords.rs`), Jaccard similarity is Σ min(a, b) / Σ
max(a, b), and containment Σ min(a, b) / min(Σ a, Σ b). The similarity of a text without features, or of an empty text,
is 0.
Cost: one pass over each text and O(features) per pair; `indel` O(characters² / 64) per pair, which `similarity` bounds.
Kernel: `crates/nearkin-core/src/dedup/verify.rs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearkin._core import TextCache
from nearkin.dedup.candidates import TextBatch
from nearkin.dedup.candidates.base import numbered
from nearkin.errors import bad_parameter
from nearkin.io import PackedTexts
from nearkin.io.arrow import is_arrow, read_column, to_values
from nearkin.io.frames import take_views
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts

Measure = Literal["jaccard", "containment", "indel", "words"]
TEXT_MEASURES = ("indel", "words")
"""Measures of the texts themselves, not of the features of a recipe."""
LookUp = Callable[[NDArray[np.int64]], TextBatch]
"""Returns the texts of ascending rows."""


@dataclass(frozen=True)
class FeatureSets:
    """Distinct features of texts, which Jaccard similarity and containment compare.

    Attributes
    ----------
    offsets : (n + 1,) int64
        Begin and end of the features of each text.
    hashes : (n_features,) uint64
        XXH3-64 of the features with seed 0, ascending for each text.
    """

    offsets: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class TextMeasure:
    """A measure, the recipe of its features, and the rules by which similar texts differ
    (`nearkin.dedup.distinguishers`).
    """

    recipe: Recipe
    measure: Measure
    differ: tuple[str, ...] = ()

    def cache(self, max_bytes: int) -> TextCache:
        """Return an empty cache of compared texts that keeps up to this many bytes between batches."""
        return TextCache(self.recipe.core, self.measure, max_bytes, list(self.differ))


def similarity(
    texts: Texts,
    left: ArrayLike,
    right: ArrayLike,
    *,
    recipe: Recipe | str | None = None,
    measure: Measure | Literal["levenshtein"] = "jaccard",
) -> NDArray[np.float64]:
    """Return the similarities of `texts[left[i]]` and `texts[right[i]]`.

    Parameters
    ----------
    texts : sequence of str or None, or an Arrow string array
    left, right : (n_pairs,) integers
        Rows of texts, from 0.
    recipe : Recipe, str or None
        Defines the features, and their weights with `minhash:NUM_PERM:weighted`; None for the document
        recipe.
    measure : {"jaccard", "containment", "indel", "words", "levenshtein"}, default "jaccard"
        The last three ignore the recipe: they compare characters, and words.

    Returns
    -------
    (n_pairs,) float64
        0 to 1.

    Raises
    ------
    ParameterError
        For an unknown measure or a row without a text; with `indel` for a pair of texts with more than 2**39 pairs of
        characters (two texts of 740,000), which would take about ten seconds; with `levenshtein` for more than 2**34.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.similarity(["abcde", "abcdx"], [0], [1], recipe="char:4|count|xxh3|simhash:64").tolist()
    [0.3333333333333333]

    With weights, here counts, words that occur more often count more: 1 / 5 of the words, 3 / 7 of the occurrences.

    >>> texts = ["red red red wine bar", "red red red cheese shop"]
    >>> recipes = ["word:1|binary|minhash:128", "word:1|count|minhash:128:weighted"]
    >>> [round(float(nk.similarity(texts, [0], [1], recipe=recipe)[0]), 3) for recipe in recipes]
    [0.2, 0.429]
    """
    if measure not in (*get_args(Measure), "levenshtein"):
        raise bad_parameter("measure", repr(measure), f"one of {', '.join(get_args(Measure))}, levenshtein")
    sides = [np.asarray(side, np.int64).reshape(-1) for side in (left, right)]
    if len(sides[0]) != len(sides[1]):
        raise bad_parameter("right", f"{len(sides[1])} rows", f"{len(sides[0])} rows, as many as left")
    rows, numbers = numbered(np.concatenate(sides))
    look_up, n = texts_by_row(texts)
    if len(rows) and (rows[0] < 0 or rows[-1] >= n):
        raise bad_parameter("row", int(rows[0] if rows[0] < 0 else rows[-1]), f"0 to {n - 1} with {n} texts")
    first, second = np.split(numbers.astype(np.uint32), 2)
    if measure == "levenshtein":
        return _levenshtein(look_up(rows), rows, first, second)
    cache = TextMeasure(Recipe.of(recipe), measure).cache(0)
    cache.add(np.arange(len(rows), dtype=np.uint32), look_up(rows))
    return cache.similarities(first, second)


def _levenshtein(
    texts: TextBatch, rows: NDArray[np.int64], first: NDArray[np.uint32], second: NDArray[np.uint32]
) -> NDArray[np.float64]:
    """Return 1 - d / characters of the longer text for each pair of positions in `rows`, whose texts are `texts`."""
    from nearkin.text.edits import distances

    strings = to_strings(texts)
    for row, text in zip(rows.tolist(), strings, strict=True):
        if not isinstance(text, str):
            raise bad_parameter("row", row, "rows with a text")
    pairs = [(strings[i], strings[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
    longest = [max(len(a), len(b)) for a, b in pairs]
    # As with the other measures, nothing is similar to an empty text.
    return np.array([1 - distances(a, b)[0] / n if n else 0.0 for (a, b), n in zip(pairs, longest, strict=True)])


_MAX_CELLS = 1 << 34
"""Product of lengths up to which `baselines` computes distances: about a second, in which no signal is handled."""


def baselines(a: str, b: str) -> dict[str, float]:
    """Return character-based similarities of two texts, for comparison with measures of features.

    | name | definition |
    |---|---|
    | `levenshtein` | 1 − d / characters of the longer; d insertions, deletions and substitutions |
    | `indel` | 1 − d / characters of both; d insertions and deletions |
    | `bigrams`, `trigrams` | Dice: 2 |A ∩ B| / (|A| + |B|), of the multisets of 2 or 3 consecutive characters |

    Two empty texts are equal. Distances cost O(characters² / 64); if the product of the lengths exceeds 2**34 (two
    texts of 131,000), the first two are omitted.

    Examples
    --------
    >>> from nearkin.dedup.verify import baselines
    >>> {name: round(value, 3) for name, value in baselines("how are u?", "how are you?").items()}
    {'levenshtein': 0.833, 'indel': 0.909, 'bigrams': 0.8, 'trigrams': 0.667}
    """
    from nearkin.text.edits import distances

    result: dict[str, float] = {}
    if len(a) * len(b) <= _MAX_CELLS:
        levenshtein, indel = distances(a, b)
        result["levenshtein"] = 1 - levenshtein / max(len(a), len(b), 1)
        result["indel"] = 1 - indel / max(len(a) + len(b), 1)
    for name, n in (("bigrams", 2), ("trigrams", 3)):
        left, right = (
            Counter(text[i : i + n] for i in range(max(len(text) - n + 1, min(len(text), 1)))) for text in (a, b)
        )
        total = left.total() + right.total()
        result[name] = 2 * (left & right).total() / total if total else 1.0
    return result


def texts_by_row(texts: Texts) -> tuple[LookUp, int]:
    """Return a function that looks up the texts of ascending rows, and the number of texts."""
    if isinstance(texts, PackedTexts):
        packed, nulls = texts, set(texts.nulls.tolist())
        return lambda rows: [None if row in nulls else packed[row] for row in rows.tolist()], len(packed)
    if not isinstance(texts, (list, tuple)) and is_arrow(texts):
        import pyarrow as pa

        column = read_column(texts, "texts")
        if column.type == pa.string_view():
            return lambda rows: take_views(column, rows), len(column)
        return lambda rows: column.take(pa.array(rows)), len(column)
    strings = texts if isinstance(texts, (list, tuple)) else list(cast("Iterable[str | None]", texts))
    return lambda rows: [strings[row] for row in rows.tolist()], len(strings)


def to_strings(texts: Any) -> list[str | None]:
    """Return the texts of a batch as a list."""
    return texts if isinstance(texts, list) else to_values(texts, "texts")
