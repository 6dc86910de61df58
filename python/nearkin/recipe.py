"""The recipe: a small frozen value that says completely how a source becomes a fingerprint.

The text form names its slots, parted by `|`; slots at their default may be left out, except for the four in the middle
that are always written:

```
[norm:nfkc|nfc|none] [case:fold|lower|keep] [letters:word|python|all] [stop:DIGEST]
    char:N | word:N | given          what a feature is
    count | binary | given           what it weighs
    xxh3 | md5 | sha1 | fnv1a | murmur3 | lookup3 | one_at_a_time [:SEED]
    simhash:BITS
```

The JSON form holds every slot, with the version of each part. The digest is the first 16 hexadecimal digits of SHA-256
of the JSON form with sorted keys and without white space. Two things made by different recipes refuse to meet.

What is promised: a recipe of this version gives the same bits for ever, on every platform and through every door.
Unassigned code points are the exception: a later Unicode version may give them a meaning.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Literal, get_args

from nearkin._core import RecipeCore, feature_hash_names
from nearkin.errors import bad_parameter, mismatch
from nearkin.recipe_base import FrozenRecipe

Norm = Literal["nfkc", "nfc", "none"]
Case = Literal["fold", "lower", "keep"]
Letters = Literal["word", "python", "all"]
Features = Literal["char", "word", "given"]
Weight = Literal["count", "binary", "given"]

VERSION = 1
"""Version of the rules below: raised when a slot gets another meaning."""

DEFAULT = "char:4|binary|xxh3|simhash:128"
"""The recipe that `dedup` takes when it is not told another; docs/quality.md has the measurements behind it."""

PRESETS = {
    "default": DEFAULT,
    "simhash-pypi": "norm:none|case:lower|letters:python|char:4|count|md5|simhash:64",
}
"""Named recipes. `simhash-pypi` gives the values of `simhash.Simhash(text).value` of the PyPI package 2.x."""


_DEFAULTS: dict[str, Any] = {
    "norm": "nfkc",
    "case": "fold",
    "letters": "word",
    "stop_words": (),
    "features": "char",
    "n": 4,
    "weight": "binary",
    "hash": "xxh3",
    "seed": 0,
    "family": "simhash",
    "bits": 128,
}


class Recipe(FrozenRecipe):
    """How a text becomes a fingerprint.

    Parameters
    ----------
    text : str, default the default recipe
        Text form; slots that it leaves out stand at their defaults.
    stop_words : iterable of str, default none
        Words that are left out before word n-grams are built, compared after normalisation and case. Required where the
        text form names a `stop:` digest, to which they must belong.

    Attributes
    ----------
    norm, case, letters : str
        Unicode form, case rule, and what counts as a letter.
    features, n : str, int
        `char` or `word` n-grams of `n`; `given` for features from outside (n is 0).
    weight : str
        `count` (each occurrence), `binary` (once), `given` (weights from outside).
    hash, seed : str, int
        Hash of a feature.
    bits : int
        Width of the fingerprint, 1 to 1024.

    Raises
    ------
    ParameterError
        For a slot that is unknown, stands twice, or is out of its range.

    Examples
    --------
    >>> import nearkin as nk
    >>> recipe = nk.Recipe("word:3|count|xxh3|simhash:64")
    >>> str(recipe)
    'word:3|count|xxh3|simhash:64'
    >>> recipe.with_(bits=128) == nk.Recipe("word:3|count|xxh3|simhash:128")
    True
    >>> recipe.features_of("One, two, three, FOUR")
    {'one two three': 1, 'two three four': 1}
    """

    _defaults = _DEFAULTS

    norm: Norm
    case: Case
    letters: Letters
    stop_words: tuple[str, ...]
    features: Features
    n: int
    weight: Weight
    hash: str
    seed: int
    family: Literal["simhash"]
    bits: int
    core: RecipeCore
    """The compiled form: what the batch functions call."""

    def __init__(self, text: str = DEFAULT, *, stop_words: Iterable[str] = ()) -> None:
        if not isinstance(text, str):
            raise bad_parameter("recipe", repr(text), "the text form, such as " + DEFAULT)
        slots = _parse(text)
        slots["stop_words"] = stop_words
        stop = slots.pop("stop", None)
        self._fill(slots)
        if stop is not None and stop != _stop_digest(self.stop_words):
            raise mismatch("stop words", f"recipe with stop:{stop}", f"words with stop:{_stop_digest(self.stop_words)}")

    def _fill(self, slots: dict[str, Any]) -> None:
        slots = {**_DEFAULTS, **slots}
        if isinstance(slots["stop_words"], str) or not all(isinstance(word, str) for word in slots["stop_words"]):
            raise bad_parameter("stop_words", repr(slots["stop_words"]), "an iterable of words, such as a list of str")
        slots["stop_words"] = tuple(sorted(set(slots["stop_words"])))
        if slots["family"] != "simhash":
            raise bad_parameter("family", repr(slots["family"]), "simhash")
        if slots["features"] == "given":
            slots["n"] = 1
        for name, (least, most) in _RANGES.items():
            value = slots[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise bad_parameter(name, repr(value), f"{least} to {most}")
        if slots["features"] == "given":
            slots["n"] = 0
        if (slots["features"] == "given") != (slots["weight"] == "given"):
            raise bad_parameter(
                "weight", slots["weight"], "given with given features, count or binary with char or word"
            )
        compiled = {name: value for name, value in slots.items() if name != "family"}
        compiled["stop_words"] = list(slots["stop_words"])
        self.__dict__.update(slots, core=RecipeCore(**compiled))

    @classmethod
    def preset(cls, name: str) -> Recipe:
        """The recipe called `name`: `default` or `simhash-pypi`.

        Examples
        --------
        >>> import nearkin as nk
        >>> hex(int(nk.fingerprint(["How are you?"], nk.Recipe.preset("simhash-pypi"))[0]))
        '0x3601c888ae14a088'
        """
        if name not in PRESETS:
            raise bad_parameter("preset", name, "one of " + ", ".join(sorted(PRESETS)))
        return cls(PRESETS[name])

    @classmethod
    def of(cls, recipe: Recipe | str | None) -> Recipe:
        """`recipe` itself, the one of a text form or preset name, or the default for None."""
        if recipe is None:
            return cls()
        if isinstance(recipe, Recipe):
            return recipe
        return cls.preset(recipe) if recipe in PRESETS else cls(recipe)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part: raised when its values change."""
        return {"recipe": VERSION, "text": 1, "hash": 1, self.family: 1}

    @property
    def words(self) -> int:
        """Words of 64 bits in a fingerprint."""
        return (self.bits + 63) // 64

    def features_of(self, text: str) -> dict[str, int]:
        """The features of `text` and how often each occurs, in order of first occurrence."""
        return dict(self.core.features(text))

    def __str__(self) -> str:
        return _text_form(self)


_RANGES = {"n": (1, 64), "seed": (0, (1 << 64) - 1), "bits": (1, 1024)}
_NAMED = {"norm": get_args(Norm), "case": get_args(Case), "letters": get_args(Letters)}
_ALLOWED = (
    "segments norm:, case:, letters:, stop:, then char:N, word:N or given, count, binary or given, a hash, simhash:BITS"
)


def _parse(text: str) -> dict[str, Any]:
    """Slots of a text form; ParameterError for what is unknown, stands twice or is missing."""
    values: dict[str, Any] = {}

    def put(name: str, value: object) -> None:
        if name in values:
            raise bad_parameter("recipe", text, f"one {name}, not two")
        values[name] = value

    for segment in text.split("|"):
        name, _, argument = segment.strip().partition(":")
        if name in _NAMED:
            if argument not in _NAMED[name]:
                raise bad_parameter(name, argument, ", ".join(_NAMED[name]))
            put(name, argument)
        elif name == "stop" and re.fullmatch("[0-9a-f]{16}", argument):
            put("stop", argument)
        elif name in ("char", "word"):
            put("features", name)
            put("n", _number(name, argument))
        elif name == "given" and not argument:
            # Stands once for features and weights together.
            put("features", "given")
            values.setdefault("n", 0)
            put("weight", "given")
        elif name in ("count", "binary") and not argument:
            put("weight", name)
        elif name == "simhash":
            put("family", name)
            put("bits", _number(name, argument))
        elif name in feature_hash_names():
            put("hash", name)
            put("seed", _number(name, argument) if argument else 0)
        else:
            raise bad_parameter("recipe", text, _ALLOWED + f"; {segment!r} is none of them")
    return values


def _number(name: str, argument: str) -> int:
    if not re.fullmatch("[0-9]{1,20}", argument) or int(argument) >= 1 << 64:
        raise bad_parameter(name, repr(argument), "a whole number of at least 0")
    return int(argument)


def _stop_digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()[:16]


def _text_form(recipe: Recipe) -> str:
    parts = [f"{name}:{getattr(recipe, name)}" for name in _NAMED if getattr(recipe, name) != _DEFAULTS[name]]
    if recipe.stop_words:
        parts.append(f"stop:{_stop_digest(recipe.stop_words)}")
    parts.append("given" if recipe.features == "given" else f"{recipe.features}:{recipe.n}|{recipe.weight}")
    parts.append(f"{recipe.hash}:{recipe.seed}" if recipe.seed else recipe.hash)
    parts.append(f"{recipe.family}:{recipe.bits}")
    return "|".join(parts)


__all__ = ["DEFAULT", "PRESETS", "Recipe"]
