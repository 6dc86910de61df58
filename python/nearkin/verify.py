"""Candidate → match: the true similarity of texts, for pairs in batches.

| measure | similarity of texts with feature sets A and B |
|---|---|
| `jaccard` | |A ∩ B| / |A ∪ B| |
| `containment` | |A ∩ B| / min(|A|, |B|) |
| `indel` | 1 − (insertions and deletions of characters) / (characters of both), of the texts as they are |

Feature sets are distinct and unweighted. A text without features is similar to nothing. Cost: one pass over each text,
O(features) a pair; `indel` O(characters² / 64) a pair. Kernel: `crates/nearkin-core/src/verify.rs`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearkin.errors import bad_parameter
from nearkin.recipe import Recipe

Measure = Literal["jaccard", "containment", "indel"]


def similarity(
    texts: Any, left: ArrayLike, right: ArrayLike, *, recipe: Recipe | str | None = None, measure: Measure = "jaccard"
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
        For an unknown measure, or a place that no text has.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.similarity(["abcde", "abcdx"], [0], [1], recipe="char:4|count|xxh3|simhash:64").tolist()
    [0.3333333333333333]
    """
    places = [np.asarray(side, np.int64).reshape(-1) for side in (left, right)]
    for name, side in zip(("left", "right"), places, strict=True):
        if len(side) and (side.min() < 0 or side.max() >= 1 << 32):
            raise bad_parameter(name, int(side.min()), "places of texts, from 0")
    first, second = (np.ascontiguousarray(side, np.uint32) for side in places)
    return Recipe.of(recipe).core.similarities(texts, first, second, measure)
