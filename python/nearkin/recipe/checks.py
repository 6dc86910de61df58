"""Given slots → slots of a recipe: completed, checked one by one and together, compiled.

What no single slot can tell (given weights belong to given features, MinHash compares whole sets, a hash is as wide as
the bits) is checked by the core where it compiles them, in `crates/nearkin-core/src/families/recipe.rs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from nearkin._core import IdfCore, RecipeCore
from nearkin.errors import bad_parameter, mismatch
from nearkin.recipe.grammar import (
    ALLOWED,
    CHOICES,
    DEFAULTS,
    FAMILIES,
    IDF_TABLES,
    NAMED,
    RANGES,
    Slots,
    digest_of,
    folds_of,
    lines_of,
    word_set,
)


def checked(given: Mapping[str, object]) -> Slots:
    """Every slot of the recipe: what is given, and defaults for the rest.

    Raises
    ------
    ParameterError
        For a value that its slot can't have.
    MismatchError
        For stop words that do not have the digest `stop_digest`.
    """
    slots = _completed(given)
    _check_stop_words(slots)
    _check_word_sets(slots)
    _check_numbers(slots)
    _check_tags(slots)
    _check_texts(slots)
    _check_choices(slots)
    _check_idf(slots)
    return cast("Slots", slots)


def compiled(slots: Slots) -> RecipeCore:
    """The compiled form of checked slots; ParameterError for slots that contradict each other."""
    table = slots["idf"]
    return RecipeCore(
        norm=slots["norm"],
        fold=list(slots["fold"]),
        case=slots["case"],
        letters=slots["letters"],
        numbers=slots["numbers"],
        cut=slots["cut"],
        user_words=slots["user_words"],
        stop=list(slots["stop"]),
        stop_words=list(slots["stop_words"]),
        min_length=slots["min_length"],
        tags=list(slots["tags"]),
        features=slots["features"],
        n=slots["n"],
        min_n=slots["min_n"],
        weight=slots["weight"],
        idf=IdfCore.named(table) if isinstance(table, str) else None if table is None else table.core,
        top=slots["top"],
        hash=slots["hash"],
        seed=slots["seed"],
        family=slots["family"],
        bits=slots.get("bits", 128),
        num_perm=slots.get("num_perm", 128),
        scheme=slots.get("scheme", "one"),
        value_bits=slots.get("value_bits", 32),
    )


def _completed(given: Mapping[str, object]) -> dict[str, object]:
    """The given slots over the defaults of their family; features from outside have no n."""
    family = given.get("family", DEFAULTS["family"])
    if not isinstance(family, str) or family not in FAMILIES:
        raise bad_parameter("family", repr(family), " or ".join(FAMILIES))
    slots = {**DEFAULTS, **FAMILIES[family], **given}
    if slots["features"] == "given":
        slots["n"] = slots["min_n"] = 0
    return slots


def _check_stop_words(slots: dict[str, object]) -> None:
    """Stop words are a set, and the one whose digest the text form names."""
    words = slots["stop_words"] = word_set("stop_words", slots["stop_words"])
    digest = slots.pop("stop_digest", None)
    if digest is not None and digest != digest_of(words):
        raise mismatch("stop words", f"recipe with stop:{digest}", f"words with stop:{digest_of(words)}")


def _check_word_sets(slots: dict[str, object]) -> None:
    """Names of folds, lists and tags are sets, the user's words are lines."""
    slots["fold"] = folds_of(slots["fold"])
    slots["stop"] = word_set("stop", slots["stop"])
    slots["tags"] = word_set("tags", slots["tags"])
    slots["user_words"] = lines_of(slots["user_words"])


def _check_numbers(slots: dict[str, object]) -> None:
    """Whole numbers lie in the ranges of their slots; n-grams of one length have no shortest ones."""
    for name, (least, most) in RANGES.items():
        if name not in slots or (name == "n" and slots["features"] == "given"):
            continue
        value = slots[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise bad_parameter(name, repr(value), f"{least} to {most}")
    if slots["min_n"] == slots["n"]:
        slots["min_n"] = 0


def _check_tags(slots: dict[str, object]) -> None:
    """Parts of speech are written in lower case."""
    for tag in cast("tuple[str, ...]", slots["tags"]):
        if not re.fullmatch("[a-z]+", tag):
            raise bad_parameter("tags", repr(tag), "tags of small letters, such as n,ns,v,vn")


def _check_texts(slots: dict[str, object]) -> None:
    """Slots that hold a name hold a string; the core knows which."""
    for name in ("norm", "case", "letters", "numbers", "cut", "features", "weight", "top", "hash"):
        if not isinstance(slots[name], str):
            raise bad_parameter(name, repr(slots[name]), ", ".join(NAMED.get(name, (ALLOWED,))))


def _check_choices(slots: dict[str, object]) -> None:
    """Slots of a family that take one of a few values."""
    for name, allowed in CHOICES.items():
        if name in slots and slots[name] not in allowed:
            raise bad_parameter(name, repr(slots[name]), " or ".join(map(str, allowed)))


def _check_idf(slots: dict[str, object]) -> None:
    """A table belongs to the weight `idf`, and is a fitted one or one that nearkin carries."""
    table = slots["idf"]
    if (table is not None) != (slots["weight"] == "idf"):
        raise bad_parameter("idf", table, "a table with the weight idf, none with others")
    if table is not None and not isinstance(table, str) and not hasattr(type(table), "core"):
        raise bad_parameter("idf", repr(table), f"a fitted nearkin.Idf, or {' or '.join(IDF_TABLES)}")
