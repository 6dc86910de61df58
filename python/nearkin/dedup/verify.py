"""Candidate → match: the true similarity of texts, for pairs in batches.

| measure | similarity of texts with feature sets A and B |
|---|---|
| `jaccard` | |A ∩ B| / |A ∪ B| |
| `containment` | |A ∩ B| / min(|A|, |B|) |
| `indel` | 1 − (insertions and deletions of characters) / (characters of both), of the texts as they are |

Feature sets are distinct and unweighted; a set without features is similar to nothing, and so is the empty text.
Cost: one pass over each text, O(features) per pair; `indel` O(characters² / 64) per pair, which `similarity` bounds.
Kernel: `crates/nearkin-core/src/pipeline/verify.rs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearkin._core import TextCache
from nearkin.dedup.candidates import TextBatch
from nearkin.errors import bad_parameter
from nearkin.io import PackedTexts
from nearkin.io.frames import take_views
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts
from nearkin.text.edits import distances

Measure = Literal["jaccard", "containment", "indel"]
LookUp = Callable[[NDArray[np.int64]], TextBatch]
"""Gives the texts of ascending rows."""


@dataclass(frozen=True)
class FeatureSets:
    """Texts as what Jaccard similarity and containment compare: their distinct features.

    Attributes
    ----------
    offsets : (n + 1,) int64
        Where the features of each text begin and end.
    hashes : (n_features,) uint64
        XXH3-64 of the features with seed 0, ascending for each text.
    """

    offsets: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class TextComparison:
    """How texts are compared: by which measure, for sets of features by which recipe's, and in what they may not differ
    (`nearkin.dedup.distinguishers`).
    """

    recipe: Recipe
    measure: Measure
    differ: tuple[str, ...] = ()

    def cache(self, budget: int) -> TextCache:
        """An empty cache of what texts are compared by, of this many bytes between batches."""
        return TextCache(self.recipe.core, self.measure, budget, list(self.differ))


def similarity(
    texts: Texts, left: ArrayLike, right: ArrayLike, *, recipe: Recipe | str | None = None, measure: Measure = "jaccard"
) -> NDArray[np.float64]:
    """Similarities of `texts[left[i]]` and `texts[right[i]]`.

    Parameters
    ----------
    texts : sequence of str or None, or an Arrow string array
    left, right : (n_pairs,) integers
        Places of texts, from 0.
    recipe : Recipe, str or None
        Says what the features are; None for the default.
    measure : {"jaccard", "containment", "indel"}, default "jaccard"

    Returns
    -------
    (n_pairs,) float64
        0 to 1.

    Raises
    ------
    ParameterError
        For an unknown measure, or a place without a text; with `indel` for a pair that differs over more than 2**39
        pairs of characters (two texts of 740,000), some ten seconds of work.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.similarity(["abcde", "abcdx"], [0], [1], recipe="char:4|count|xxh3|simhash:64").tolist()
    [0.3333333333333333]
    """
    places = [np.asarray(side, np.int64).reshape(-1) for side in (left, right)]
    if len(places[0]) != len(places[1]):
        raise bad_parameter("right", f"{len(places[1])} places", f"{len(places[0])} places, as many as left")
    used, inverse = np.unique(np.concatenate(places), return_inverse=True)
    look_up, n = texts_by_row(texts)
    if len(used) and (used[0] < 0 or used[-1] >= n):
        found = int(used[0] if used[0] < 0 else used[-1])
        raise bad_parameter("place", found, f"0 to {n - 1} with {n} texts")
    cache = TextComparison(Recipe.of(recipe), measure).cache(0)
    cache.add(np.arange(len(used), dtype=np.uint32), look_up(used))
    first, second = np.split(inverse.astype(np.uint32), 2)
    return cache.similarities(first, second)


#: Product of lengths up to which `baselines` computes distances: a second, during which no signal is handled.
_MOST_COMPARED = 1 << 34


def baselines(a: str, b: str) -> dict[str, float]:
    """Character-based measures of two texts as they are, with which measures of features are compared.

    | name | is |
    |---|---|
    | `levenshtein` | 1 − d / characters of the longer; d insertions, deletions and substitutions |
    | `indel` | 1 − d / characters of both; d insertions and deletions |
    | `bigrams`, `trigrams` | Dice: 2 |A ∩ B| / (|A| + |B|), of the multisets of 2 or 3 characters in a row |

    Two empty texts are equal. Distances cost O(characters² / 64); where the characters of both multiply to
    more than 2**34 (two texts of 131,000) they are left out.

    Examples
    --------
    >>> from nearkin.dedup.verify import baselines
    >>> {name: round(value, 3) for name, value in baselines("how are u?", "how are you?").items()}
    {'levenshtein': 0.833, 'indel': 0.909, 'bigrams': 0.8, 'trigrams': 0.667}
    """
    found: dict[str, float] = {}
    if len(a) * len(b) <= _MOST_COMPARED:
        levenshtein, indel = distances(a, b)
        found["levenshtein"] = 1 - levenshtein / max(len(a), len(b), 1)
        found["indel"] = 1 - indel / max(len(a) + len(b), 1)
    for name, n in (("bigrams", 2), ("trigrams", 3)):
        left, right = (
            Counter(text[i : i + n] for i in range(max(len(text) - n + 1, min(len(text), 1)))) for text in (a, b)
        )
        total = left.total() + right.total()
        found[name] = 2 * (left & right).total() / total if total else 1.0
    return found


def texts_by_row(texts: Texts) -> tuple[LookUp, int]:
    """A function that gives the texts of ascending rows, and how many texts there are."""
    if isinstance(texts, PackedTexts):
        held = texts
        return lambda rows: _some(held, rows), len(held)
    if hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__"):
        import pyarrow as pa

        stream = hasattr(texts, "__arrow_c_stream__")
        column = pa.chunked_array(texts) if stream else pa.chunked_array([pa.array(texts)])
        if column.type == pa.string_view():
            return lambda rows: take_views(column, rows), len(column)
        return lambda rows: column.take(pa.array(rows)), len(column)
    strings = texts if isinstance(texts, (list, tuple)) else list(texts)
    return lambda rows: [strings[row] for row in rows.tolist()], len(strings)


def _some(texts: PackedTexts, rows: NDArray[np.int64]) -> list[str | None]:
    nulls = set(texts.nulls.tolist())
    return [None if row in nulls else texts[row] for row in rows.tolist()]
