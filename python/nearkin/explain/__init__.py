"""`explain`: every step from a text, a file or a vector to its hash, as in a calculation on paper.

| input | recipe | steps |
|---|---|---|
| a text | a recipe of texts | normalised text, features, weights, hashes; signs, sums, bits or a signature |
| a file or bytes | `"ssdeep"` | reset points of the rolling sum, the block size, pieces with their characters |
| a vector | a fitted family of vectors | projection, limit, margin and value of each function |

>>> import nearkin as nk
>>> steps = nk.explain("How are you?", "char:4|count|xxh3|simhash:64")
>>> steps.normalised, [feature.name for feature in steps.features][:3]
('howareyou', ['howa', 'owar', 'ware'])
>>> steps.fingerprint == int(nk.fingerprint(["How are you?"], "char:4|count|xxh3|simhash:64")[0])
True

The hashes equal those of `nearkin.fingerprint`, `nearkin.signature`, `nearkin.ssdeep.hash` and `Family.transform`. The
intermediate values are computed here in Python, for one input at a time. `nearkin` imports this package eagerly, so
`explain` imports the modules of the steps on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from nearkin.digests.ssdeep import DigestRecipe
    from nearkin.digests.ssdeep.hashing import Data
    from nearkin.explain.digests import DigestComparison, DigestSteps
    from nearkin.explain.texts import MinHashSteps, SimHashSteps, TextComparison
    from nearkin.explain.vectors import VectorComparison, VectorSteps
    from nearkin.families.base import Family
    from nearkin.recipe import Recipe
    from nearkin.vectors.arrays import Vectors


@overload
def explain(value: str, recipe: Recipe | None = None, *, other: None = None) -> SimHashSteps | MinHashSteps: ...
@overload
def explain(value: str, recipe: Recipe | None = None, *, other: str) -> TextComparison: ...
@overload
def explain(value: Vectors, recipe: Family, *, other: None = None) -> VectorSteps: ...
@overload
def explain(value: Vectors, recipe: Family, *, other: Vectors) -> VectorComparison: ...
@overload
def explain(value: Data, recipe: DigestRecipe, *, other: None = None) -> DigestSteps: ...
@overload
def explain(value: Data, recipe: DigestRecipe, *, other: Data) -> DigestComparison: ...
@overload
def explain(
    value: Data, recipe: Recipe | DigestRecipe | str | None, *, other: None = None
) -> SimHashSteps | MinHashSteps | DigestSteps: ...
@overload
def explain(
    value: Data, recipe: Recipe | DigestRecipe | str | None, *, other: Data
) -> TextComparison | DigestComparison: ...
def explain(value: Any, recipe: Any = None, *, other: Any = None) -> Any:
    """Return every step from a text, a file or a vector to its hash, or compare the steps of two inputs.

    Parameters
    ----------
    value : str; for ssdeep bytes-like, str, os.PathLike or binary file-like; for a family array or sparse row
        A text. For ssdeep bytes or a file, which a str names as for `nearkin.ssdeep.hash`; at most 2**26 bytes. For a
        family a vector, `(d,)` or `(1, d)`.
    recipe : Recipe, DigestRecipe, Family, str or None
        A recipe of texts, its text form, or the name of a preset; `"ssdeep"` or another recipe of digests; a fitted
        family of vectors; None for the default recipe.
    other : optional
        A second input of the same type, to compare with.

    Returns
    -------
    SimHashSteps, MinHashSteps, DigestSteps or VectorSteps; with `other` TextComparison, DigestComparison or
    VectorComparison
        Depends on the recipe. `str()` is a table, `to_dict()` is ready for JSON, and notebooks show HTML.

    Raises
    ------
    ParameterError
        The recipe is for lists of features; an input of ssdeep is too long; there are several vectors.
    TypeError
        A text is not a string.
    InputError, OSError
        A file cannot be read; a vector cannot be hashed.
    NotFittedError, MismatchError
        As for `Family.transform`.

    Examples
    --------
    >>> import nearkin as nk
    >>> steps = nk.explain(b"Hello, World!", "ssdeep")
    >>> steps.digest, steps.block_size, [(piece.start, piece.end) for piece in steps.parts[0].pieces]
    ('3:aaX8n:aF', 3, [(0, 3), (3, 9), (9, 10), (10, 13), (13, 13)])
    """
    from nearkin.families.base import Family

    if isinstance(recipe, Family):
        from nearkin.explain.vectors import compare_vectors, explain_vector

        return explain_vector(value, recipe) if other is None else compare_vectors(value, other, recipe)
    digests = parse_digest_recipe(recipe)
    if digests is not None:
        from nearkin.explain.digests import compare_digests, explain_digest

        return explain_digest(value, digests) if other is None else compare_digests(value, other, digests)
    from nearkin.explain.texts import compare_steps, explain_text
    from nearkin.recipe import Recipe

    parsed = Recipe.of(recipe)
    steps = explain_text(value, parsed)
    return steps if other is None else compare_steps(steps, explain_text(other, parsed))


def parse_digest_recipe(recipe: Recipe | DigestRecipe | str | None) -> DigestRecipe | None:
    """Return the recipe of digests, or None for a recipe of texts.

    Parameters
    ----------
    recipe : Recipe, DigestRecipe, str or None
    """
    from nearkin.digests.ssdeep import DigestRecipe

    if isinstance(recipe, str) and recipe.split("|")[-1].split(":")[0].strip() == "ssdeep":
        return DigestRecipe(recipe)
    return recipe if isinstance(recipe, DigestRecipe) else None
