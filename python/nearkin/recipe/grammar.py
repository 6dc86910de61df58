"""Slots of text recipes: their values and defaults, the parser of the text form, checks, and compilation.

The header of `nearkin.recipe.text` describes the text form. Omitted slots have their default. Values that are passed
separately (stop words, a dictionary, a fitted IDF table) must have the digest in the text form.

The core checks constraints between slots when it compiles them, in `crates/nearkin-core/src/families/recipe.rs`: for
instance that given weights need given features, and that a hash has at least as many bits as the fingerprint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, Protocol, get_args

from nearkin._core import IdfCore, RecipeCore, feature_hash_names
from nearkin.errors import bad_parameter, check_count, mismatch

Norm = Literal["nfkc", "nfc", "none"]
Case = Literal["fold", "lower", "keep"]
Letters = Literal["word", "python", "all"]
Numbers = Literal["split", "whole"]
Cut = Literal["uax29", "jieba", "cppjieba", "script", "code"]
Features = Literal["char", "word", "given"]
Weight = Literal["count", "binary", "log", "idf", "textrank", "given"]
Family = Literal["simhash", "minhash"]
Scheme = Literal["one", "fast", "classic", "weighted"]

FOLDS = ("hans", "lookalikes", "accents")
"""Groups of characters that a recipe may treat as equal, in the order of the text form."""

STOP_LISTS = ("en", "ja", "jieba", "zh")
"""Names of the included lists of stop words."""

IDF_TABLES = ("cppjieba", "jieba")
"""Names of the included IDF tables."""

DEFAULT = "char:4|binary|xxh3|simhash:128"
"""The fingerprint recipe, of `fingerprint`, `compare` and `explain`; the document recipe has the same features."""

CONTAINMENT = "char:8|binary|xxh3|simhash:128"
"""Default recipe of containment: a long text has most of the 4-grams of its language, and few of its 8-grams."""


MEANINGS = {
    "norm": "Unicode normalisation form",
    "fold": "characters that are treated as equal",
    "case": "treatment of upper and lower case",
    "letters": "definition of letters and words",
    "numbers": "digits alone, or numbers with their points and signs",
    "cut": "word segmenter",
    "user_words": "digest of the user's dictionary",
    "stop": "lists of stop words, which are removed",
    "stop_words": "digest of further stop words",
    "min_length": "minimum characters of a word",
    "tags": "parts of speech that are kept",
    "features": "n-grams of characters or words, or given features",
    "n": "characters or words of a feature (maximum)",
    "min_n": "minimum, if lengths are mixed",
    "weight": "weight of a feature",
    "idf": "table of inverse document frequencies",
    "top": "number of heaviest features that are kept",
    "hash": "hash of a feature",
    "seed": "seed of the hash",
    "family": "family of hash functions",
    "bits": "bits of a fingerprint",
    "num_perm": "values of a signature",
    "scheme": "scheme of the signature",
    "value_bits": "bits of a value",
}
"""Description of each slot for users."""


class IdfTable(Protocol):
    """A fitted table of inverse document frequencies, as `nearkin.Idf` is."""

    @property
    def digest(self) -> str:
        """Digest that identifies the table in a recipe."""

    @property
    def core(self) -> IdfCore:
        """Compiled form."""


Slots = dict[str, Any]
"""Checked slots of a recipe and its family."""

DEFAULTS: Slots = {
    "norm": "nfkc",
    "fold": (),
    "case": "fold",
    "letters": "word",
    "numbers": "split",
    "cut": "uax29",
    "user_words": "",
    "stop": (),
    "stop_words": (),
    "min_length": 1,
    "tags": (),
    "features": "char",
    "n": 4,
    "min_n": 0,
    "weight": "binary",
    "idf": None,
    "top": "all",
    "hash": "xxh3",
    "seed": 0,
    "family": "simhash",
}

OMITTED_SLOTS = ("fold", "numbers", "min_n")
"""Slots that the JSON form omits at their default: they were added later, and existing digests must not change."""

FAMILIES: dict[str, Mapping[str, int | str]] = {
    "simhash": {"bits": 128},
    "minhash": {"num_perm": 128, "scheme": "one", "value_bits": 32},
}
"""Slots of each family with their defaults."""

RANGES = {
    "min_length": (1, 64),
    "n": (1, 64),
    "min_n": (0, 64),
    "seed": (0, (1 << 64) - 1),
    "bits": (1, 1024),
    "num_perm": (1, 512),
}
"""Inclusive range of each numeric slot. Given features have n = 0."""

CHOICES: dict[str, tuple[int | str, ...]] = {"scheme": get_args(Scheme), "value_bits": (32, 64)}
"""Values of the slots of a family that are enumerations."""

NAMED = {
    name: get_args(choices)
    for name, choices in (("norm", Norm), ("case", Case), ("letters", Letters), ("numbers", Numbers), ("cut", Cut))
}
"""Values of the enumeration slots that the text form names, as in `norm:nfc`."""

ALLOWED = (
    "segments norm:, fold:, case:, letters:, numbers:, cut:, user:, stop:, min_length:, tags:, then char:N, "
    "char:M-N, word:N, word:M-N or given, count, binary, log, idf:TABLE, textrank or given, top:N, a hash, "
    "simhash:BITS or minhash:NUM_PERM"
)

_SEGMENTS = re.findall(r"\w+(?=:)|count|binary|log|textrank|given", ALLOWED)

DIGEST = "[0-9a-f]{16}"


_Pairs = list[tuple[str, object]]
"""Slots and their values, in the order of the text form."""


def parse(text: str) -> dict[str, object]:
    """Parse a text form into unchecked slots.

    The slots `stop_digest` and `user` are the digests of words that the caller passes separately.

    Raises
    ------
    ParameterError
        A segment is unknown, or a slot is set twice.
    """
    values: dict[str, object] = {}
    for segment in text.split("|"):
        name, _, argument = segment.strip().partition(":")
        parsers = (_parse_word_segment, _parse_feature_segment, _parse_hash_segment)
        pairs = next(filter(None, (parser(name, argument) for parser in parsers)), None)
        if pairs is None:
            words = (*feature_hash_names(), *_SEGMENTS)
            likely = get_close_matches(name.lower(), words, n=1)
            allowed = f"{ALLOWED}; {segment!r} is not one of them"
            if likely and likely[0] != name:
                allowed = f"{segment.replace(name, likely[0])} in place of {segment!r}"
            raise bad_parameter("recipe", text, allowed)
        for slot, value in pairs:
            if slot in values:
                raise bad_parameter("recipe", text, f"one {slot}, not two")
            values[slot] = value
    if values.get("features") == "given":
        values["n"] = values["min_n"] = 0
    return values


def _parse_word_segment(name: str, argument: str) -> _Pairs | None:
    """Parse a segment about characters and words."""
    if name in NAMED:
        if argument not in NAMED[name]:
            raise bad_parameter(name, argument, ", ".join(NAMED[name]))
        return [(name, argument)]
    if name == "fold":
        return [("fold", parse_folds(argument.split(",")))]
    if name == "stop" and argument:
        return _parse_stop_segment(argument)
    if name == "user" and re.fullmatch(DIGEST, argument):
        return [("user", argument)]
    if name == "min_length":
        return [("min_length", parse_number(name, argument))]
    if name == "tags" and argument:
        return [("tags", argument.split(","))]
    return None


def _parse_stop_segment(argument: str) -> _Pairs:
    """Parse the names of lists, and the digest of further words."""
    digests = [part for part in argument.split(",") if re.fullmatch(DIGEST, part)]
    names = [part for part in argument.split(",") if part not in digests]
    unknown = [part for part in names if part not in STOP_LISTS]
    if len(digests) > 1 or unknown:
        allowed = f"names of lists ({', '.join(STOP_LISTS)}) and at most one digest of stop words"
        raise bad_parameter("stop", ",".join(unknown) or argument, allowed)
    return [("stop", names), ("stop_digest", digests[0] if digests else None)]


def _parse_feature_segment(name: str, argument: str) -> _Pairs | None:
    """Parse a segment about features, their weights, and the number that is kept."""
    if name in ("char", "word"):
        if not (mixed := re.fullmatch("([0-9]+)-([0-9]+)", argument)):
            if not (n := parse_number(name, argument)):
                raise bad_parameter(name, repr(argument), f"1 or more, such as {name}:3")
            return [("features", name), ("n", n), ("min_n", 0)]
        shortest, longest = parse_number(name, mixed[1]), parse_number(name, mixed[2])
        if not shortest:
            raise bad_parameter(name, repr(argument), f"1 or more as the shortest, such as {name}:1-{longest}")
        return [("features", name), ("n", longest), ("min_n", shortest)]
    if name == "given" and not argument:
        # One segment sets features and weights.
        return [("features", "given"), ("weight", "given")]
    if name in ("count", "binary", "log", "textrank") and not argument:
        return [("weight", name)]
    if name == "idf" and (argument in IDF_TABLES or re.fullmatch(DIGEST, argument)):
        return [("weight", name), ("idf", argument)]
    if name == "idf" and not argument:
        allowed = f"idf:TABLE (a fitted nearkin.Idf, {', '.join(IDF_TABLES)}); a deduplication of texts fits idf itself"
        raise bad_parameter("idf", "no table", allowed)
    if name == "top":
        return [("top", argument)]
    return None


def _parse_hash_segment(name: str, argument: str) -> _Pairs | None:
    """Parse the feature hash or the family."""
    if name == "simhash":
        return [("family", name), ("bits", parse_number(name, argument))]
    if name == "minhash":
        return _parse_minhash_segment(argument)
    if name in feature_hash_names():
        return [("hash", name), ("seed", parse_number(name, argument) if argument else 0)]
    return None


def _parse_minhash_segment(argument: str) -> _Pairs:
    """Parse the number of values of a signature, then scheme and bits in any order."""
    count, *rest = argument.split(":")
    pairs: _Pairs = [("family", "minhash"), ("num_perm", parse_number("minhash", count))]
    for part in rest:
        if part in CHOICES["scheme"]:
            pairs.append(("scheme", part))
        elif part in map(str, CHOICES["value_bits"]):
            pairs.append(("value_bits", int(part)))
        else:
            raise bad_parameter(
                "minhash", repr(part), "minhash:NUM_PERM, then one, fast, classic or weighted, then 32 or 64"
            )
    return pairs


def parse_number(name: str, argument: str) -> int:
    """Parse an integer of at most 64 bits."""
    if not re.fullmatch("[0-9]{1,20}", argument) or int(argument) >= 1 << 64:
        raise bad_parameter(name, repr(argument), "a whole number of at least 0")
    return int(argument)


def digest_words(words: Iterable[str]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of words, one per line."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def sort_words(slot: str, names: object) -> tuple[str, ...]:
    """Return a set of words, sorted."""
    words: list[Any] = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [None]
    if not all(isinstance(name, str) for name in words):
        raise bad_parameter(slot, repr(names), "an iterable of words, such as a list of str")
    return tuple(sorted(set(words)))


def parse_folds(names: object) -> tuple[str, ...]:
    """Return a set of folds in canonical order; a string contains names separated by commas."""
    folds = names.split(",") if isinstance(names, str) and names else sort_words("fold", names or ())
    unknown = [name for name in folds if name not in FOLDS]
    if unknown:
        raise bad_parameter("fold", unknown[0], ", ".join(FOLDS) + ", separated by commas")
    return tuple(name for name in FOLDS if name in folds)


def normalize_lines(words: object) -> str:
    """Return dictionary entries, one per line, without empty lines, in order: later entries replace earlier ones."""
    lines = words.split("\n") if isinstance(words, str) else list(words) if isinstance(words, Iterable) else [words]
    if not all(isinstance(line, str) for line in lines):
        raise bad_parameter("user_words", repr(words), "lines such as 'word 3 n'")
    return "\n".join(filter(None, map(str.strip, lines)))


def restore_external(
    slots: dict[str, object], user_words: str | Iterable[str], idf: IdfTable | None
) -> dict[str, object]:
    """Replace digests by the values that the caller passes separately.

    Raises
    ------
    MismatchError
        A value has another digest, or is missing.
    """
    lines = normalize_lines(user_words)
    digest, actual = slots.pop("user", None), digest_words(lines.split("\n"))
    if digest not in (None, actual):
        raise mismatch("user words", f"recipe with user:{digest}", f"words with user:{actual}" if lines else "no words")
    slots["user_words"] = lines
    named = slots.get("idf")
    if isinstance(named, str) and named not in IDF_TABLES:
        if idf is None or idf.digest != named:
            actual = "no table" if idf is None else f"a table with idf:{idf.digest}"
            raise mismatch("IDF table", f"recipe with idf:{named}", actual)
        slots["idf"] = idf
    elif idf is not None:
        raise bad_parameter("idf", f"a table with idf:{idf.digest}", f"it with the weight idf:{idf.digest}")
    return slots


def check_slots(values: Mapping[str, object]) -> Slots:
    """Fill in defaults and check every slot.

    Raises
    ------
    ParameterError
        A slot has an invalid value.
    MismatchError
        The stop words do not have the digest `stop_digest`.
    """
    slots = _fill_defaults(values)
    for name in ("stop_words", "stop", "tags"):
        slots[name] = sort_words(name, slots[name])
    digest, actual = slots.pop("stop_digest", None), digest_words(slots["stop_words"])
    if digest not in (None, actual):
        raise mismatch("stop words", f"recipe with stop:{digest}", f"words with stop:{actual}")
    slots["fold"] = parse_folds(slots["fold"])
    slots["user_words"] = normalize_lines(slots["user_words"])
    _check_numbers(slots)
    for tag in slots["tags"]:
        if not re.fullmatch("[a-z]+", tag):
            raise bad_parameter("tags", repr(tag), "tags of small letters, such as n,ns,v,vn")
    # The core checks the values of these names.
    for name in (*NAMED, "features", "weight", "top", "hash"):
        if not isinstance(slots[name], str):
            raise bad_parameter(name, repr(slots[name]), ", ".join(NAMED.get(name, (ALLOWED,))))
    for name, allowed in CHOICES.items():
        if name in slots and slots[name] not in allowed:
            raise bad_parameter(name, repr(slots[name]), " or ".join(map(str, allowed)))
    _check_idf(slots)
    return slots


def compile_slots(slots: Slots) -> RecipeCore:
    """Compile checked slots.

    Raises
    ------
    ParameterError
        Slots contradict each other.
    """
    arguments: Slots = {name: list(value) if isinstance(value, tuple) else value for name, value in slots.items()}
    table = slots["idf"]
    arguments["idf"] = IdfCore.named(table) if isinstance(table, str) else None if table is None else table.core
    return RecipeCore(**arguments)


def _fill_defaults(values: Mapping[str, object]) -> Slots:
    """Fill in the defaults of a family; given features have no n."""
    family = values.get("family", DEFAULTS["family"])
    if not isinstance(family, str) or family not in FAMILIES:
        raise bad_parameter("family", repr(family), " or ".join(FAMILIES))
    slots = {**DEFAULTS, **FAMILIES[family], **values}
    if slots["features"] == "given":
        slots["n"] = slots["min_n"] = 0
    return slots


def _check_numbers(slots: Slots) -> None:
    """Check the ranges of integers; n-grams of a single length have `min_n` 0."""
    for name, (minimum, maximum) in RANGES.items():
        if name in slots and (name != "n" or slots["features"] != "given"):
            slots[name] = check_count(name, slots[name], minimum, maximum, f"{minimum} to {maximum}")
    if slots["min_n"] == slots["n"]:
        slots["min_n"] = 0


def _check_idf(slots: Slots) -> None:
    """Check that the weight `idf` has a fitted or included table, and that other weights have none."""
    table = slots["idf"]
    if (table is not None) != (slots["weight"] == "idf"):
        raise bad_parameter("idf", table, "a table with the weight idf, none with others")
    if table is not None and not isinstance(table, str) and not hasattr(type(table), "core"):
        raise bad_parameter("idf", repr(table), f"a fitted nearkin.Idf, or {' or '.join(IDF_TABLES)}")
