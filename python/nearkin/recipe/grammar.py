"""The grammar of recipes: slots, their values and defaults, and the parser of the text form.

The text form is in the header of `nearkin.recipe.text`. A slot that it leaves out has its default; what is given
beside the text (stop words, a dictionary, a fitted IDF) must have the digest that the text names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol, TypedDict, get_args

from nearkin._core import IdfCore, feature_hash_names
from nearkin.errors import bad_parameter, mismatch

Norm = Literal["nfkc", "nfc", "none"]
Case = Literal["fold", "lower", "keep"]
Letters = Literal["word", "python", "all"]
Numbers = Literal["split", "whole"]
Cut = Literal["uax29", "jieba", "cppjieba", "script"]
Features = Literal["char", "word", "given"]
Weight = Literal["count", "binary", "log", "idf", "textrank", "given"]
Family = Literal["simhash", "minhash"]
Scheme = Literal["one", "fast", "classic"]

FOLDS = ("hans", "lookalikes", "accents")
"""What characters a recipe may take for one another, in the order in which the text form names them."""

STOP_LISTS = ("en", "ja", "jieba", "zh")
"""Names of the lists of stop words that nearkin carries."""

IDF_TABLES = ("cppjieba", "jieba")
"""Names of the IDF tables that nearkin carries."""

DEFAULT = "char:4|binary|xxh3|simhash:128"
"""The recipe that `dedup` takes when it is not told another; docs/quality.md has the measurements behind it."""


MEANINGS = {
    "norm": "Unicode normalisation form",
    "fold": "characters that are taken for one another",
    "case": "what becomes of upper and lower case",
    "letters": "what counts as a letter, and what a word is",
    "numbers": "digits alone, or numbers with their points and signs",
    "cut": "how text is cut into words",
    "user_words": "digest of the user's dictionary",
    "stop": "lists of stop words, which are left out",
    "stop_words": "digest of further stop words",
    "min_length": "least characters of a word",
    "tags": "parts of speech that are kept",
    "features": "features are n-grams of characters, of words, or given",
    "n": "characters or words of a feature, at most",
    "min_n": "at least, where they are mixed",
    "weight": "what a feature weighs",
    "idf": "table of inverse document frequencies",
    "top": "how many features are kept, the heaviest",
    "hash": "hash of a feature",
    "seed": "of the hash",
    "family": "what is made of the hashes",
    "bits": "bits of a fingerprint",
    "num_perm": "values of a signature",
    "scheme": "how values of a signature are drawn",
    "value_bits": "bits of a value",
}
"""What the slots of recipes of texts are, for people."""


class IdfTable(Protocol):
    """A fitted table of inverse document frequencies, as `nearkin.Idf` is."""

    @property
    def digest(self) -> str:
        """What the recipe holds in its place."""

    @property
    def core(self) -> IdfCore:
        """Its compiled form."""


class TextSlots(TypedDict):
    """Slots of every recipe, once they are checked."""

    norm: Norm
    fold: tuple[str, ...]
    case: Case
    letters: Letters
    numbers: Numbers
    cut: Cut
    user_words: str
    stop: tuple[str, ...]
    stop_words: tuple[str, ...]
    min_length: int
    tags: tuple[str, ...]
    features: Features
    n: int
    min_n: int
    weight: Weight
    idf: IdfTable | str | None
    top: str
    hash: str
    seed: int
    family: Family


class Slots(TextSlots, total=False):
    """Slots of a recipe and of its family."""

    bits: int
    num_perm: int
    scheme: Scheme
    value_bits: Literal[32, 64]


DEFAULTS: TextSlots = {
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

UNWRITTEN = ("fold", "numbers", "min_n")
"""Slots that the JSON form leaves out at their default: they came later, and no digest of older recipes may change."""

FAMILIES: dict[str, Mapping[str, int | str]] = {
    "simhash": {"bits": 128},
    "minhash": {"num_perm": 128, "scheme": "one", "value_bits": 32},
}
"""Slots of each family, with their defaults."""

RANGES = {
    "min_length": (1, 64),
    "n": (1, 64),
    "min_n": (0, 64),
    "seed": (0, (1 << 64) - 1),
    "bits": (1, 1024),
    "num_perm": (1, 512),
}
"""Least and largest value of each slot that is a number. Given features have n 0."""

CHOICES: dict[str, tuple[int | str, ...]] = {"scheme": get_args(Scheme), "value_bits": (32, 64)}
"""Values of a family's slots that are one of a few."""

NAMED = {
    "norm": get_args(Norm),
    "case": get_args(Case),
    "letters": get_args(Letters),
    "numbers": get_args(Numbers),
    "cut": get_args(Cut),
}
"""Values of the slots that the text form names with a colon and that have one value."""

ALLOWED = (
    "segments norm:, fold:, case:, letters:, numbers:, cut:, user:, stop:, min_length:, tags:, then char:N, "
    "char:M-N, word:N, word:M-N or given, count, binary, log, idf:TABLE, textrank or given, top:N, a hash, "
    "simhash:BITS or minhash:NUM_PERM"
)

DIGEST = "[0-9a-f]{16}"


_Pairs = list[tuple[str, object]]
"""Slots and their values, in the order in which they stand."""


def parse(text: str) -> dict[str, object]:
    """Slots of a text form, not checked together; ParameterError for what is unknown or given twice.

    The slots `stop_digest` and `user` are the digests of words that are given beside the text.
    """
    values: dict[str, object] = {}
    for segment in text.split("|"):
        name, _, argument = segment.strip().partition(":")
        found = _word_segment(name, argument) or _feature_segment(name, argument) or _hash_segment(name, argument)
        if found is None:
            raise bad_parameter("recipe", text, ALLOWED + f"; {segment!r} is not one of them")
        for slot, value in found:
            if slot in values:
                raise bad_parameter("recipe", text, f"one {slot}, not two")
            values[slot] = value
    if values.get("features") == "given":
        values["n"] = values["min_n"] = 0
    return values


def _word_segment(name: str, argument: str) -> _Pairs | None:
    """What is read of a text: characters and words."""
    if name in NAMED:
        if argument not in NAMED[name]:
            raise bad_parameter(name, argument, ", ".join(NAMED[name]))
        return [(name, argument)]
    if name == "fold":
        return [("fold", folds_of(argument.split(",")))]
    if name == "stop" and argument:
        return _stop_segment(argument)
    if name == "user" and re.fullmatch(DIGEST, argument):
        return [("user", argument)]
    if name == "min_length":
        return [("min_length", number_of(name, argument))]
    if name == "tags" and argument:
        return [("tags", argument.split(","))]
    return None


def _stop_segment(argument: str) -> _Pairs:
    """Names of lists, and the digest of further words."""
    digests = [part for part in argument.split(",") if re.fullmatch(DIGEST, part)]
    names = [part for part in argument.split(",") if part not in digests]
    unknown = [part for part in names if part not in STOP_LISTS]
    if len(digests) > 1 or unknown:
        allowed = f"names of lists ({', '.join(STOP_LISTS)}) and at most one digest of stop words"
        raise bad_parameter("stop", ",".join(unknown) or argument, allowed)
    return [("stop", names), ("stop_digest", digests[0] if digests else None)]


def _feature_segment(name: str, argument: str) -> _Pairs | None:
    """What a feature is, what it weighs, and how many are kept."""
    if name in ("char", "word"):
        if not (mixed := re.fullmatch("([0-9]+)-([0-9]+)", argument)):
            return [("features", name), ("n", number_of(name, argument)), ("min_n", 0)]
        least, most = number_of(name, mixed[1]), number_of(name, mixed[2])
        if not least:
            raise bad_parameter(name, repr(argument), f"1 or more as the shortest, such as {name}:1-{most}")
        return [("features", name), ("n", most), ("min_n", least)]
    if name == "given" and not argument:
        # Written once for features and weights together.
        return [("features", "given"), ("weight", "given")]
    if name in ("count", "binary", "log", "textrank") and not argument:
        return [("weight", name)]
    if name == "idf" and (argument in IDF_TABLES or re.fullmatch(DIGEST, argument)):
        return [("weight", name), ("idf", argument)]
    if name == "top":
        return [("top", argument)]
    return None


def _hash_segment(name: str, argument: str) -> _Pairs | None:
    """The hash of a feature, and what the features become."""
    if name == "simhash":
        return [("family", name), ("bits", number_of(name, argument))]
    if name == "minhash":
        return _minhash_segment(argument)
    if name in feature_hash_names():
        return [("hash", name), ("seed", number_of(name, argument) if argument else 0)]
    return None


def _minhash_segment(argument: str) -> _Pairs:
    """Values of a signature, then scheme and bits in any order."""
    count, *rest = argument.split(":")
    found: _Pairs = [("family", "minhash"), ("num_perm", number_of("minhash", count))]
    for part in rest:
        if part in CHOICES["scheme"]:
            found.append(("scheme", part))
        elif part in map(str, CHOICES["value_bits"]):
            found.append(("value_bits", int(part)))
        else:
            allowed = "minhash:NUM_PERM, then one, fast or classic, then 32 or 64"
            raise bad_parameter("minhash", repr(part), allowed)
    return found


def number_of(name: str, argument: str) -> int:
    """The whole number, of at most 64 bits, behind the name of a slot."""
    if not re.fullmatch("[0-9]{1,20}", argument) or int(argument) >= 1 << 64:
        raise bad_parameter(name, repr(argument), "a whole number of at least 0")
    return int(argument)


def digest_of(words: Iterable[str]) -> str:
    """First 16 hexadecimal digits of SHA-256 of words, one per line."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def word_set(slot: str, names: object) -> tuple[str, ...]:
    """A set of words, sorted."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise bad_parameter(slot, repr(names), "an iterable of words, such as a list of str")
    found = list(names)
    if not all(isinstance(name, str) for name in found):
        raise bad_parameter(slot, repr(found), "an iterable of words, such as a list of str")
    return tuple(sorted(set(found)))


def folds_of(names: object) -> tuple[str, ...]:
    """A set of folds, in their order; of a string, those that it names between commas."""
    found = names.split(",") if isinstance(names, str) and names else word_set("fold", names or ())
    unknown = [name for name in found if name not in FOLDS]
    if unknown:
        raise bad_parameter("fold", unknown[0], ", ".join(FOLDS) + ", separated by commas")
    return tuple(name for name in FOLDS if name in found)


def lines_of(words: object) -> str:
    """A user's words, one per line, without empty lines; their order counts, since later ones replace earlier ones."""
    if not isinstance(words, Iterable):
        raise bad_parameter("user_words", repr(words), "lines such as 'word 3 n'")
    lines = words.split("\n") if isinstance(words, str) else list(words)
    if not all(isinstance(line, str) for line in lines):
        raise bad_parameter("user_words", repr(lines), "lines such as 'word 3 n'")
    return "\n".join(line for line in (line.strip() for line in lines) if line)


def with_beside(slots: dict[str, object], user_words: str | Iterable[str], idf: IdfTable | None) -> dict[str, object]:
    """Slots with what is given beside their digests, if it is what the digests say."""
    lines = lines_of(user_words)
    digest = slots.pop("user", None)
    if digest is not None and digest != digest_of(lines.split("\n")):
        found = f"words with user:{digest_of(lines.split(chr(10)))}" if lines else "no words"
        raise mismatch("user words", f"recipe with user:{digest}", found)
    slots["user_words"] = lines
    named = slots.get("idf")
    if isinstance(named, str) and named not in IDF_TABLES:
        if idf is None or idf.digest != named:
            found = "no table" if idf is None else f"a table with idf:{idf.digest}"
            raise mismatch("IDF table", f"recipe with idf:{named}", found)
        slots["idf"] = idf
    elif idf is not None:
        raise bad_parameter("idf", f"a table with idf:{idf.digest}", f"it with the weight idf:{idf.digest}")
    return slots
