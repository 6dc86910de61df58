"""Kinds of stores: texts, files by their digests, vectors. Settings from arguments, and from the log."""

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
from nearkin.store.kinds.base import VERSION, StoreSettings, StoreVerify, TextRule
from nearkin.store.kinds.files import FileSettings
from nearkin.store.kinds.texts import TextSettings
from nearkin.store.kinds.vectors import RECALL, VectorSettings, repair_family

_READERS: dict[str, Callable[[dict[str, Any], str], StoreSettings]] = {
    "texts": TextSettings.from_json,
    "files": FileSettings.from_json,
    "vectors": VectorSettings.from_json,
}


def is_digest_recipe(recipe: object) -> bool:
    """Return True if a recipe, or its text form, makes digests."""
    if isinstance(recipe, str):
        return recipe.split("|")[-1].split(":")[0].strip() == "ssdeep"
    return isinstance(recipe, DigestRecipe)


def make_settings(
    recipe: Recipe | DigestRecipe | Family | str | None,
    *,
    threshold: float | None,
    radius: float | None,
    recall: float | None,
    text: TextRule,
    verify: StoreVerify | None,
    differ: str | Iterable[str] | None,
    featureless: Featureless | None,
    load_texts: bool,
) -> StoreSettings:
    """Build settings from a caller's arguments; `load_texts` is True if the caller provides texts not kept here.

    Raises
    ------
    ParameterError
        Values out of range, or that exclude one another.
    """
    if not isinstance(recipe, Family) and not is_digest_recipe(recipe):
        least = THRESHOLD if threshold is None else threshold
        whole: Any = radius  # A value that is not a whole number is refused with the others.
        bare = "collapse" if featureless is None else featureless
        return TextSettings.from_args(
            recipe,  # type: ignore[arg-type]  # Digest recipes are excluded.
            least,
            whole,
            recall,
            text,
            verify,
            differ,
            bare,
            load_texts=load_texts,
        )
    of_texts = {
        "texts": "a function" if load_texts else None,
        "text": None if text in ("keep", "none") else repr(text),
        "differ": None if differ is None else repr(differ),
        "featureless": None if featureless is None else repr(featureless),
    }
    for name, value in of_texts.items():
        if value is not None:
            raise bad_parameter(name, value, "not given for a store of files or vectors, which have no texts")
    if isinstance(recipe, Family):
        return _vector_settings(recipe, threshold, radius, recall, verify)
    for name, option in (("radius", radius), ("recall", recall), ("verify", verify)):
        if option is not None:
            raise bad_parameter(name, repr(option), "None with ssdeep: the score of the digests decides")
    digest_recipe = DigestRecipe.of(recipe)  # type: ignore[arg-type]  # None is no digest recipe.
    return FileSettings(digest_recipe, FILE_THRESHOLD if threshold is None else threshold)


def _vector_settings(
    family: Family, threshold: float | None, radius: float | None, recall: float | None, verify: StoreVerify | None
) -> VectorSettings:
    if verify is not None:
        raise bad_parameter("verify", repr(verify), "None with a family of vectors, which are compared themselves")
    cosine = family.distance == "cosine"
    limit, other = (threshold, radius) if cosine else (radius, threshold)
    if other is not None:
        wrong, right = ("radius", "threshold, a cosine") if cosine else ("threshold", "radius, a distance")
        raise bad_parameter(wrong, repr(other), f"{right}, with the family {family.name}")
    return VectorSettings(family, limit, RECALL if recall is None else recall)  # type: ignore[arg-type]  # Checked there.


def repair_files(text: str, place: str) -> CorruptStoreError | None:
    """Rebuild the files of settings that follow from them; return the damage, or None if there is none.

    Raises
    ------
    CorruptStoreError
        The files do not follow from the settings.
    """
    with suppress(ValueError):
        settings: dict[str, Any] = json.loads(text)
        if settings.get("kind") == "vectors":
            return repair_family(settings, place)
    return None


def read_settings(text: str, place: str) -> StoreSettings:
    """Read settings from their JSON form.

    Raises
    ------
    CorruptStoreError
        The text is not such a form.
    FormatVersionError
        A newer nearkin wrote it.
    MismatchError
        The recipe belongs to another version of the rules.
    """
    try:
        settings: dict[str, Any] = json.loads(text)
        version, kind = settings["version"], settings.get("kind", "texts")
        if version > VERSION:
            message = f"{place}: version {version} of a store; this nearkin reads up to {VERSION}, update it"
            raise FormatVersionError(message, found=version, newest=VERSION)
        if kind not in _READERS:
            raise ValueError(f"unknown kind {kind!r}")
        return _READERS[kind](settings, place)
    except (StoreError, MismatchError):
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"its settings can't be read ({error!r}); restore it from a backup"
        raise CorruptStoreError(f"{place}: {reason}", place=place, reason=reason) from None
