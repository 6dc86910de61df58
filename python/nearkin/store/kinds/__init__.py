"""Kinds of stores: texts, files by their digests, vectors. Settings from arguments, and from the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from nearkin.digests.recipes import parse_recipe
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.digests.tlsh import TlshRecipe
from nearkin.errors import CorruptStoreError, FormatVersionError, MismatchError, StoreError, bad_parameter
from nearkin.families.base import Family
from nearkin.store.kinds.base import NEWEST_VERSION, StoreConfig, corrupt_file
from nearkin.store.kinds.files import FileSettings
from nearkin.store.kinds.texts import TextSettings
from nearkin.store.kinds.vectors import VectorSettings, repair_family

StoreSettings: TypeAlias = TextSettings | FileSettings | VectorSettings
"""Settings of a store: fixed at creation, and written into every file of the store."""

_READERS: dict[str, Callable[[dict[str, Any], str], StoreSettings]] = {
    "texts": TextSettings.from_json,
    "files": FileSettings.from_json,
    "vectors": VectorSettings.from_json,
}


def is_digest_recipe(recipe: object) -> bool:
    """Return True if a recipe, or its text form, makes digests."""
    if isinstance(recipe, str):
        return recipe.split("|")[-1].split(":")[0].strip() in ("ssdeep", "tlsh")
    return isinstance(recipe, (DigestRecipe, TlshRecipe))


def make_settings(config: StoreConfig) -> StoreSettings:
    """Build settings from a caller's arguments.

    Raises
    ------
    ParameterError
        Values out of range, or that exclude one another.
    """
    recipe = config.recipe
    if not isinstance(recipe, Family) and not is_digest_recipe(recipe):
        return TextSettings.from_config(config)
    of_texts = {
        "texts": "a function" if config.has_texts else None,
        "text": None if config.text in ("keep", "none") else config.text,
        "differ": config.differ,
        "empty": config.empty,
        "kind": config.kind,
    }
    for name, value in of_texts.items():
        if value is not None:
            found = value if name == "texts" else repr(value)
            raise bad_parameter(name, found, "not given for a store of files or vectors, which have no texts")
    if isinstance(recipe, Family):
        return VectorSettings.from_config(recipe, config)
    for name, option in (("recall", config.recall), ("verify", config.verify)):
        if option is not None:
            raise bad_parameter(name, repr(option), "None for a store of files: the digests decide")
    digests = parse_recipe(recipe)  # type: ignore[arg-type]  # One of files.
    if config.threshold is None:
        return FileSettings(digests, radius=config.radius)  # type: ignore[arg-type]  # It is checked there.
    if isinstance(digests, TlshRecipe):
        raise bad_parameter("threshold", repr(config.threshold), "a radius with tlsh, which has distances")
    return FileSettings(digests, config.threshold, config.radius)  # type: ignore[arg-type]  # It is checked there.


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
        if version > NEWEST_VERSION:
            message = f"{place}: version {version} of a store; this nearkin reads up to {NEWEST_VERSION}, update it"
            raise FormatVersionError(message, found=version, newest=NEWEST_VERSION)
        if kind not in _READERS:
            raise ValueError(f"unknown kind {kind!r}")
        return _READERS[kind](settings, place)
    except (StoreError, MismatchError):
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise corrupt_file(place, f"its settings can't be read ({error!r}); restore it from a backup") from None
