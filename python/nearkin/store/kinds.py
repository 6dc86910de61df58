"""What a store may hold: texts, files by their digests, or vectors; settings made from arguments, and read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from nearkin.dedup.files import THRESHOLD as FILE_THRESHOLD
from nearkin.dedup.stages import Featureless
from nearkin.dedup.texts import THRESHOLD
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import CorruptStoreError, FormatVersionError, MismatchError, StoreError, bad_parameter
from nearkin.families.base import Family
from nearkin.recipe import Recipe
from nearkin.store.files import FileSettings
from nearkin.store.settings import VERSION, StoreSettings, StoreVerify, TextRule, TextSettings
from nearkin.store.vectors import RECALL, VectorSettings, mend_family

_READERS: dict[str, Callable[[dict[str, Any], str], StoreSettings]] = {
    "texts": TextSettings.of_json,
    "files": FileSettings.of_json,
    "vectors": VectorSettings.of_json,
}


def is_digest_recipe(recipe: object) -> bool:
    """Whether a recipe, or the text form of one, is that of digests."""
    named = isinstance(recipe, str) and recipe.split("|")[-1].split(":")[0].strip() == "ssdeep"
    return named or isinstance(recipe, DigestRecipe)


def make_settings(
    recipe: Recipe | DigestRecipe | Family | str | None,
    threshold: float | None,
    radius: float | None,
    recall: float | None,
    text: TextRule,
    verify: StoreVerify | None,
    differ: str | Iterable[str] | None = None,
    featureless: Featureless | None = None,
    *,
    given: bool = False,
) -> StoreSettings:
    """Settings from what a caller gives; `given` says whether that are texts, too, which the store does not keep.

    Raises
    ------
    ParameterError
        Values out of range, or that exclude one another.
    """
    of_files = isinstance(recipe, DigestRecipe) or (isinstance(recipe, str) and is_digest_recipe(recipe))
    if (of_files or isinstance(recipe, Family)) and (given or text not in ("keep", "none")):
        own, found = ("texts", "a function") if given else ("text", repr(text))
        raise bad_parameter(own, found, "not given for a store of files or vectors, which have no texts")
    for own, setting in (("differ", differ), ("featureless", featureless)):
        if setting is not None and (of_files or isinstance(recipe, Family)):
            raise bad_parameter(own, repr(setting), "not given for a store of files or vectors, which have no texts")
    if isinstance(recipe, Family):
        return _of_vectors(recipe, threshold, radius, recall, verify)
    if isinstance(recipe, DigestRecipe) or (isinstance(recipe, str) and is_digest_recipe(recipe)):
        for name, value, none in (("radius", radius, None), ("recall", recall, None), ("verify", verify, None)):
            if value is not none:
                raise bad_parameter(name, repr(value), "None with ssdeep: the score of the digests decides")
        return FileSettings(DigestRecipe.of(recipe), FILE_THRESHOLD if threshold is None else threshold)
    # What is no whole number is refused with the others.
    whole: Any = radius
    least = THRESHOLD if threshold is None else threshold
    bare = "collapse" if featureless is None else featureless
    return TextSettings.make(recipe, least, whole, recall, text, verify, differ, bare, given=given)


def _of_vectors(
    family: Family, threshold: float | None, radius: float | None, recall: float | None, verify: StoreVerify | None
) -> VectorSettings:
    if verify is not None:
        raise bad_parameter("verify", repr(verify), "None with a family of vectors, which are compared themselves")
    cosine = family.distance == "cosine"
    limit, other = (threshold, radius) if cosine else (radius, threshold)
    if other is not None:
        found, wanted = ("radius", "threshold, a cosine") if cosine else ("threshold", "radius, a distance")
        raise bad_parameter(found, repr(other), f"{wanted}, with the family {family.name}")
    return VectorSettings(family, limit, RECALL if recall is None else recall)  # type: ignore[arg-type]  # Checked there.


def mend_files(text: str, place: str) -> CorruptStoreError | None:
    """Write again what settings need beside them and follows from them; the damage, None if there was none.

    Raises
    ------
    CorruptStoreError
        It does not follow from them.
    """
    with suppress(ValueError):
        found: dict[str, Any] = json.loads(text)
        if found.get("kind") == "vectors":
            return mend_family(found, place)
    return None


def read_settings(text: str, place: str) -> StoreSettings:
    """The settings of their JSON form.

    Raises
    ------
    CorruptStoreError
        If it is no such form.
    FormatVersionError
        A newer nearkin wrote it.
    MismatchError
        If its recipe is one of another version of the rules.
    """
    try:
        found: dict[str, Any] = json.loads(text)
        version, kind = found["version"], found.get("kind", "texts")
        if version > VERSION:
            message = f"{place}: version {version} of a store; this nearkin reads up to {VERSION}, update it"
            raise FormatVersionError(message, found=version, newest=VERSION)
        if kind not in _READERS:
            raise ValueError(f"unknown kind {kind!r}")
        return _READERS[kind](found, place)
    except (StoreError, MismatchError):
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"its settings can't be read ({error!r}); restore it from a backup"
        raise CorruptStoreError(f"{place}: {reason}", place=place, reason=reason) from None
