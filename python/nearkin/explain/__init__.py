"""Every step from a text, a file or a vector to its hash, as one works it out on paper: `explain`.

| given | recipe | steps |
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

The values are those that `nearkin.fingerprint`, `nearkin.signature`, `nearkin.ssdeep.hash` and `Family.transform` give;
what leads to them is computed here, one input at a time, and not fast.
"""

from __future__ import annotations

from typing import cast, overload

from nearkin.digests.ssdeep import DigestRecipe
from nearkin.digests.ssdeep.hashing import Data
from nearkin.explain.digests import (
    Agreeing,
    DigestPart,
    DigestSteps,
    DigestStepsBeside,
    Piece,
    compared_digests,
    digest_steps,
)
from nearkin.explain.texts import Feature, MinHashSteps, SimHashSteps, Steps, StepsBeside, TextSteps, compared, steps_of
from nearkin.explain.vectors import VectorSteps, VectorStepsBeside, compared_vectors, vector_steps
from nearkin.families.base import Family
from nearkin.recipe import Recipe
from nearkin.vectors.rows import Vectors


@overload
def explain(given: str, recipe: Recipe | None = None, *, beside: None = None) -> Steps: ...
@overload
def explain(given: str, recipe: Recipe | None = None, *, beside: str) -> StepsBeside: ...
@overload
def explain(given: Vectors, recipe: Family, *, beside: None = None) -> VectorSteps: ...
@overload
def explain(given: Vectors, recipe: Family, *, beside: Vectors) -> VectorStepsBeside: ...
@overload
def explain(given: Data, recipe: DigestRecipe, *, beside: None = None) -> DigestSteps: ...
@overload
def explain(given: Data, recipe: DigestRecipe, *, beside: Data) -> DigestStepsBeside: ...
@overload
def explain(given: Data, recipe: Recipe | DigestRecipe | str | None, *, beside: None = None) -> Steps | DigestSteps: ...
@overload
def explain(
    given: Data, recipe: Recipe | DigestRecipe | str | None, *, beside: Data
) -> StepsBeside | DigestStepsBeside: ...
def explain(
    given: Data | Vectors,
    recipe: Recipe | DigestRecipe | Family | str | None = None,
    *,
    beside: Data | Vectors | None = None,
) -> Steps | StepsBeside | DigestSteps | DigestStepsBeside | VectorSteps | VectorStepsBeside:
    """Every step from a text, a file or a vector to its hash; of two what differs.

    Parameters
    ----------
    given : str; for ssdeep bytes-like, str, os.PathLike or binary file-like; for a family array or sparse row
        A text. For ssdeep bytes or a file, which a str names, as for `nearkin.ssdeep.hash`; 2**26 bytes at most. For a
        family a vector, `(d,)` or `(1, d)`.
    recipe : Recipe, DigestRecipe, Family, str or None
        A recipe of texts, its text form, or the name of a preset; `"ssdeep"` or another recipe of digests; a fitted
        family of vectors; None for the default.
    beside : optional
        Another one.

    Returns
    -------
    SimHashSteps, MinHashSteps, DigestSteps or VectorSteps; with `beside` StepsBeside and so on
        By the recipe. `str()` is a table, `to_dict()` what JSON takes; notebooks show HTML.

    Raises
    ------
    ParameterError
        The recipe is for given features; an input of ssdeep is too long; several vectors.
    TypeError
        A text is not a string.
    InputError, OSError
        A file can't be read; a vector can't be hashed.
    NotFittedError, MismatchError
        As for `Family.transform`.

    Examples
    --------
    >>> import nearkin as nk
    >>> steps = nk.explain(b"Hello, World!", "ssdeep")
    >>> steps.digest, steps.block_size, [(piece.start, piece.end) for piece in steps.parts[0].pieces]
    ('3:aaX8n:aF', 3, [(0, 3), (3, 9), (9, 10), (10, 13), (13, 13)])
    """
    if isinstance(recipe, Family):
        vector = cast("Vectors", given)
        other = cast("Vectors | None", beside)
        return vector_steps(vector, recipe) if other is None else compared_vectors(vector, other, recipe)
    digests = digest_recipe(recipe)
    if digests is not None:
        data = cast("Data", given)
        return digest_steps(data, digests) if beside is None else compared_digests(data, cast("Data", beside), digests)
    made = Recipe.of(cast("Recipe | str | None", recipe))
    # What is not a string is an error of `steps_of`.
    steps = steps_of(cast("str", given), made)
    return steps if beside is None else compared(steps, steps_of(cast("str", beside), made))


def digest_recipe(recipe: Recipe | DigestRecipe | str | None) -> DigestRecipe | None:
    """The recipe of digests that is meant, None where one of texts is."""
    if isinstance(recipe, str) and recipe.split("|")[-1].split(":")[0].strip() == "ssdeep":
        return DigestRecipe(recipe)
    return recipe if isinstance(recipe, DigestRecipe) else None


__all__ = [
    "Agreeing",
    "DigestPart",
    "DigestSteps",
    "DigestStepsBeside",
    "Feature",
    "MinHashSteps",
    "Piece",
    "SimHashSteps",
    "Steps",
    "StepsBeside",
    "TextSteps",
    "VectorSteps",
    "VectorStepsBeside",
    "compared",
    "compared_digests",
    "compared_vectors",
    "digest_recipe",
    "digest_steps",
    "explain",
    "steps_of",
    "vector_steps",
]
