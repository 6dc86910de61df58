"""Recipes of fuzzy digests of any family."""

from __future__ import annotations

from typing import TypeAlias

from nearkin.digests.ssdeep.recipe import DigestRecipe
from nearkin.digests.tlsh.recipe import TlshRecipe
from nearkin.errors import bad_parameter, mismatch

AnyDigestRecipe: TypeAlias = DigestRecipe | TlshRecipe


def parse_recipe(recipe: AnyDigestRecipe | str | None) -> AnyDigestRecipe:
    """Convert a text form of any family to a recipe; None is that of ssdeep.

    Parameters
    ----------
    recipe : DigestRecipe, TlshRecipe, str or None
        A recipe, its text form, or None.

    Raises
    ------
    ParameterError
        The family, a step or a flag is unknown.
    """
    if isinstance(recipe, str) and recipe.rpartition("|")[2].strip().split(":")[0] not in ("ssdeep", "tlsh"):
        raise bad_parameter("recipe", recipe, "ssdeep or tlsh, or forms such as 'html|ssdeep' and 'tlsh:256'")
    if isinstance(recipe, TlshRecipe) or (isinstance(recipe, str) and recipe.split(":")[0] == "tlsh"):
        return TlshRecipe.of(recipe)
    return DigestRecipe.of(recipe)


def check_same_recipe(left: AnyDigestRecipe, right: AnyDigestRecipe) -> None:
    """Raise MismatchError with the first slot in which two recipes differ, the family first.

    Parameters
    ----------
    left, right : DigestRecipe or TlshRecipe
        Recipes of two lists of digests.
    """
    if isinstance(left, TlshRecipe):
        if isinstance(right, TlshRecipe):
            return left.check_same(right)
    elif isinstance(right, DigestRecipe):
        return left.check_same(right)
    raise mismatch("recipe slot family", left.family, right.family)
