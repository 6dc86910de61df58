"""Texts → their words, and the features that weigh most, by a recipe.

| weight | of a feature that occurs c times in a text of T features |
|---|---|
| `count`, `binary`, `log` | c, 1, 1 + ln c |
| `idf` | c · (idf / T) |
| `textrank` | its rank among its neighbours, 0 to 1 |

The heaviest come first, equal ones in the order of their first occurrence (for `textrank`, of their first neighbour).
Kernels: `crates/nearkin-core/src/text/keywords.rs`, `textrank.rs`, `cut.rs` and `jieba/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts, iterate_batches

if TYPE_CHECKING:
    import pyarrow as pa

KEYWORDS = "zh-keywords"
"""The recipe that `keywords` takes when it is not told another."""

Result = Literal["lists", "arrow"]

_Joined: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]
"""Bytes of all words, where each ends, how many end with each list."""


@overload
def words(texts: Texts, recipe: Recipe | str | None = None) -> list[list[str]]: ...
@overload
def words(texts: Texts, recipe: Recipe | str | None = None, *, result: Literal["lists"]) -> list[list[str]]: ...
@overload
def words(texts: Texts, recipe: Recipe | str | None = None, *, result: Literal["arrow"]) -> pa.ChunkedArray: ...
def words(
    texts: Texts, recipe: Recipe | str | None = None, *, result: Result = "lists"
) -> list[list[str]] | pa.ChunkedArray:
    """The words of each text, in order, normalised, as a recipe cuts and keeps them.

    Parameters
    ----------
    texts : iterable of str or None, or an Arrow string array
    recipe : Recipe, str or None, default ``cut:script|word:1``
        A recipe of words; its n is ignored.
    result : {"lists", "arrow"}, default "lists"
        Python's lists, or an Arrow array, which takes about a tenth less time and far less memory.

    Returns
    -------
    list of list of str, or pyarrow.ChunkedArray of large_list<large_string>
        One list per text; empty for None.

    Raises
    ------
    ParameterError
        If the recipe is of characters or of given features, or `result` is unknown.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.words(["我来到北京清华大学", "I can't read 日本語の本"])
    [['我', '来到', '北京', '清华大学'], ['i', "can't", 'read', '日本語', 'の', '本']]
    """
    made = Recipe("cut:script|word:1") if recipe is None else Recipe.of(recipe)
    if made.features != "word":
        raise bad_parameter("recipe", str(made), "a recipe of words, such as cut:script|word:1")
    if result not in get_args(Result):
        raise bad_parameter("result", repr(result), " or ".join(get_args(Result)))
    if result == "arrow":
        return _as_arrow(made.core.words_joined(batch) for batch in iterate_batches(texts))
    return [found for batch in iterate_batches(texts) for found in made.core.words(batch)]


def _as_arrow(batches: Iterable[_Joined]) -> pa.ChunkedArray:
    """Lists of strings from their bytes and offsets, without a copy."""
    import pyarrow as pa

    kind = pa.large_list(pa.large_string())

    def chunk(data: NDArray[np.uint8], ends: NDArray[np.int64], lists: NDArray[np.int64]) -> pa.Array:
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        strings = pa.Array.from_buffers(pa.large_string(), len(ends) - 1, buffers)
        return pa.Array.from_buffers(kind, len(lists) - 1, [None, pa.py_buffer(lists)], children=[strings])

    return pa.chunked_array([chunk(*batch) for batch in batches], kind)


def keywords(
    texts: Texts, recipe: Recipe | str | None = None, *, top: int | str | None = None
) -> list[list[tuple[str, float]]]:
    """The features of each text that weigh most, with their weights, the heaviest first.

    Parameters
    ----------
    texts : iterable of str or None, or an Arrow string array
    recipe : Recipe, str or None, default "zh-keywords"
        Says what a feature is, what it weighs and how many are kept.
    top : int, str or None
        How many are kept in place of what the recipe says: a number, a share such as ``"10%"``, or ``"all"``.

    Returns
    -------
    list of list of (str, float)
        One list per text; empty for a text without features.

    Notes
    -----
    With ``cut:jieba|stop:jieba|min_length:2|word:1|idf:jieba`` and texts as they are
    (``norm:none|case:keep|letters:all``) the result is that of ``jieba.analyse.extract_tags``; the preset
    ``zh-textrank`` gives that of ``jieba.analyse.textrank``. With ``cut:cppjieba`` and the table and stop words of
    cppjieba it is that of its keyword extractor.

    Examples
    --------
    >>> import nearkin as nk
    >>> [[word for word, _ in found] for found in nk.keywords(["线程池和连接池都是资源池"], top=2)]
    [['线程', '连接池']]
    """
    made = Recipe.of(KEYWORDS if recipe is None else recipe)
    if top is not None:
        made = made.with_(top=str(top))
    return [found for batch in iterate_batches(texts) for found in made.core.keywords(batch)]


__all__ = ["KEYWORDS", "keywords", "words"]
