"""`explain`: every step from a text, a file or a vector to its hash, as in a calculation on paper.

| input | recipe | steps |
|---|---|---|
| a text | a recipe of texts | normalised text, features, weights, hashes; signs, sums, bits or a signature |
| a file or bytes | `"ssdeep"` | reset points of the rolling sum, the block size, pieces with their characters |
| a vector | a fitted family of vectors | projection, limit, margin and value of each function |
| weights of features | none, `hashes=` or `planes=` | digits of each feature, ± its weight, sums, bits |
| a fingerprint or a text | a `HammingIndex` | blocks, candidates, distances, and comparisons by each method |

>>> import nearkin as nk
>>> steps = nk.explain("How are you?", "char:4|count|xxh3|simhash:64")
>>> steps.normalised, [feature.name for feature in steps.features[:3]]
('howareyou', ['howa', 'owar', 'ware'])
>>> steps.fingerprint == int(nk.fingerprint(["How are you?"], "char:4|count|xxh3|simhash:64")[0])
True

The hashes equal those of `nearkin.fingerprint`, `nearkin.signature`, `nearkin.ssdeep.hash` and `Family.transform`. The
intermediate values are computed here in Python, for one input at a time. `nearkin` imports this package eagerly, so
`explain` imports the modules of the steps on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from nearkin.errors import bad_parameter, check_choice, excerpt

if TYPE_CHECKING:
    import numpy.typing as npt

    from nearkin.digests.inputs import Data
    from nearkin.digests.ssdeep import DigestRecipe
    from nearkin.explain.digests import DigestComparison, DigestSteps
    from nearkin.explain.features import BitOrder, FeatureComparison, FeatureSteps, Hashes, Weights
    from nearkin.explain.search import SearchSteps
    from nearkin.explain.texts import MinHashSteps, SimHashSteps, TextComparison
    from nearkin.explain.vectors import VectorComparison, VectorSteps
    from nearkin.families.base import Family
    from nearkin.index.hamming import HammingIndex
    from nearkin.recipe import Recipe
    from nearkin.vectors.arrays import Vectors


@overload
def explain(
    value: Weights, recipe: None = None, *, other: None = None, hashes: Hashes, bit_order: BitOrder = "highest"
) -> FeatureSteps: ...
@overload
def explain(
    value: Weights, recipe: None = None, *, other: Weights, hashes: Hashes, bit_order: BitOrder = "highest"
) -> FeatureComparison: ...
@overload
def explain(
    value: Weights, recipe: None = None, *, other: None = None, planes: npt.ArrayLike, bit_order: BitOrder = "highest"
) -> FeatureSteps: ...
@overload
def explain(
    value: Weights, recipe: None = None, *, other: Weights, planes: npt.ArrayLike, bit_order: BitOrder = "highest"
) -> FeatureComparison: ...
@overload
def explain(
    value: Mapping[str, float] | list[Any], recipe: None = None, *, other: None = None, bit_order: BitOrder = "highest"
) -> FeatureSteps: ...
@overload
def explain(value: npt.ArrayLike | str, recipe: HammingIndex, *, radius: int | None = None) -> SearchSteps: ...
@overload
def explain(
    value: str, recipe: Recipe | None = None, *, other: None = None, bit_order: BitOrder = "highest"
) -> SimHashSteps | MinHashSteps: ...
@overload
def explain(
    value: str, recipe: Recipe | None = None, *, other: str, bit_order: BitOrder = "highest"
) -> TextComparison: ...
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
    value: Data, recipe: Recipe | DigestRecipe | str | None, *, other: None = None, bit_order: BitOrder = "highest"
) -> SimHashSteps | MinHashSteps | DigestSteps: ...
@overload
def explain(
    value: Data, recipe: Recipe | DigestRecipe | str | None, *, other: Data, bit_order: BitOrder = "highest"
) -> TextComparison | DigestComparison: ...
def explain(
    value: Any,
    recipe: Any = None,
    *,
    other: Any = None,
    hashes: Hashes | None = None,
    planes: npt.ArrayLike | None = None,
    bit_order: BitOrder = "highest",
    radius: int | None = None,
) -> Any:
    """Return every step from an input to its hash, or of a search, or compare the steps of two inputs.

    Parameters
    ----------
    value : str; for ssdeep bytes-like, str, os.PathLike or binary file-like; for a family array or sparse row
        A text. For ssdeep bytes or a file, which a str names as for `nearkin.ssdeep.hash`; at most 2**26 bytes. For a
        family a vector, `(d,)` or `(1, d)`. Without a recipe a mapping of features to weights, or a list of weights, of
        features, or of (feature, weight) pairs such as `nearkin.keywords` returns; weights of a repeated feature are
        added. For an index a fingerprint, or a text if the index has a recipe.
    recipe : Recipe, DigestRecipe, Family, HammingIndex, str or None
        A recipe of texts, its text form, or the name of a preset; `"ssdeep"` or another recipe of digests; a fitted
        family of vectors; an index, to explain a search in it; None for the fingerprint
        recipe, with which `nearkin.fingerprint` hashes.
    other : optional
        A second input of the same type, to compare with.
    hashes : mapping of str to str, list of str, str, or function, optional
        The hash of each feature in binary digits, 1 or more, all of one length; in a list, in the order of the
        features. Or the name of a hash of recipes, such as `"md5"`, with 64 bits or the number after a colon:
        `"md5:128"`. `"fnv1a:int64"` writes the 64 bits as a signed number in 64 places, and counts the minus sign as 1:
        what a program in Go computes that prints an int64 by `%064b`. Or a function that returns the hash of a feature,
        as digits or as an integer, whose two's complement has 64 bits, or the multiple of 64 that the longest needs.
        Without hashes and planes it is `"xxh3"`.
    planes : array of shape (n_bits, n_features), optional
        Normals of hyperplanes, instead of hashes.
    bit_order : {"highest", "lowest"}, default "highest"
        Which bit is written first: in `hashes`, signs, sums and bits. The first plane is the first bit.
    radius : int, optional
        Of a search; by default that of the index, or 3.

    Returns
    -------
    SimHashSteps, MinHashSteps, DigestSteps, VectorSteps, FeatureSteps or SearchSteps; with `other` TextComparison,
    DigestComparison, VectorComparison or FeatureComparison
        Depends on the recipe. `str()` is a table, `to_dict()` is ready for JSON, and notebooks show HTML.

    Raises
    ------
    ParameterError
        The recipe is for lists of features; an input of ssdeep is too long; there are several vectors; an argument
        does not apply to the recipe; weights, hashes or planes do not fit each other.
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
    >>> print(nk.explain({"red": 3, "wine": 2}, hashes={"red": "101", "wine": "011"}))
    features     2
    columns      3, highest bit first
      feature  weight  hash  row
      red           3  101    3 -3 3
      wine          2  011   -2  2 2
      sums                    1 -1 5
      bits                    1  0 1
    bits         101
    fingerprint  5
    """
    is_list = isinstance(value, (list, tuple)) and recipe is None
    if hashes is not None or planes is not None or is_list or isinstance(value, Mapping):
        _check_unused("hashes or planes", recipe=recipe, radius=radius)
        from nearkin.explain.features import compare_features, explain_features

        steps_of = partial(explain_features, hashes=hashes, planes=planes, bit_order=bit_order)
        return steps_of(value) if other is None else compare_features(steps_of(value), steps_of(other))
    order = None if bit_order == "highest" else bit_order
    from nearkin.index.hamming import HammingIndex

    if isinstance(recipe, HammingIndex):
        _check_unused("an index", other=other, bit_order=order)
        from nearkin.explain.search import explain_search

        return explain_search(value, recipe, radius)
    _check_unused("a recipe", radius=radius)
    from nearkin.families.base import Family

    if isinstance(recipe, Family):
        _check_unused("a family", bit_order=order)
        from nearkin.explain.vectors import compare_vectors, explain_vector

        return explain_vector(value, recipe) if other is None else compare_vectors(value, other, recipe)
    digests = parse_digest_recipe(recipe)
    if digests is not None:
        _check_unused("a recipe of digests", bit_order=order)
        from nearkin.explain.digests import compare_digests, explain_digest

        return explain_digest(value, digests) if other is None else compare_digests(value, other, digests)
    from nearkin.explain.texts import compare_steps, explain_text
    from nearkin.recipe import Recipe

    check_choice("bit_order", bit_order, "highest", "lowest")
    parsed = Recipe.of(recipe)
    steps = explain_text(value, parsed, bit_order)
    return steps if other is None else compare_steps(steps, explain_text(other, parsed, bit_order))


def _check_unused(given: str, **arguments: object) -> None:
    """Raise ParameterError for an argument that does not apply to what is explained."""
    for name, argument in arguments.items():
        if argument is not None:
            raise bad_parameter(name, excerpt(repr(argument)), f"no {name} with {given}; omit it")


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
