"""What a store may hold: texts, or files by their digests. Its settings are made from arguments, and read again."""

from __future__ import annotations

import json
from typing import Any

from nearkin.errors import CorruptStoreError, FormatVersionError, MismatchError, StoreError, bad_parameter
from nearkin.pipeline.files import THRESHOLD as FILE_THRESHOLD
from nearkin.pipeline.texts import THRESHOLD
from nearkin.recipe import Recipe
from nearkin.ssdeep import DigestRecipe
from nearkin.store.files import FileSettings
from nearkin.store.settings import VERSION, StoreSettings, StoreVerify, TextRule, TextSettings


def is_digest_recipe(recipe: object) -> bool:
    """Whether a recipe, or the text form of one, is that of digests."""
    named = isinstance(recipe, str) and recipe.split("|")[-1].split(":")[0].strip() == "ssdeep"
    return named or isinstance(recipe, DigestRecipe)


def make_settings(
    recipe: Recipe | DigestRecipe | str | None,
    threshold: float | None,
    radius: int | None,
    recall: float | None,
    text: TextRule,
    verify: StoreVerify | None,
) -> StoreSettings:
    """Settings from what a caller gives.

    Raises
    ------
    ParameterError
        Values out of range, or that exclude one another.
    """
    if isinstance(recipe, DigestRecipe) or (isinstance(recipe, str) and is_digest_recipe(recipe)):
        for name, value, none in (("radius", radius, None), ("recall", recall, None), ("verify", verify, None)):
            if value is not none:
                raise bad_parameter(name, repr(value), "None with ssdeep: the score of the digests decides")
        return FileSettings(DigestRecipe.of(recipe), FILE_THRESHOLD if threshold is None else threshold)
    return TextSettings.make(recipe, THRESHOLD if threshold is None else threshold, radius, recall, text, verify)


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
        if kind not in ("texts", "files"):
            raise ValueError(f"unknown kind {kind!r}")
        return FileSettings.of_json(found, place) if kind == "files" else TextSettings.of_json(found, place)
    except (StoreError, MismatchError):
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"its settings can't be read ({error!r}); restore it from a backup"
        raise CorruptStoreError(f"{place}: {reason}", place=place, reason=reason) from None
