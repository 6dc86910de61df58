"""The recipe: a small frozen value that says completely how a source becomes a fingerprint.

The text form names its slots, parted by `|`; slots at their default may be left out, except for the four in the middle
that are always written:

```
[norm:nfkc|nfc|none] [case:fold|lower|keep] [letters:word|python|all]
[cut:uax29|jieba|script] [user:DIGEST] [stop:NAME,...,DIGEST] [min_length:N] [tags:TAG,...]
    char:N | word:N | given                                                 what a feature is
    count | binary | log | idf:NAME | idf:DIGEST | textrank | given         what it weighs
    [top:N | top:N%]                                                        how many are kept
    xxh3 | md5 | sha1 | fnv1a | murmur3 | lookup3 | jenkins64 | one_at_a_time [:SEED]
    simhash:BITS | minhash:NUM_PERM[:fast | :classic][:64]
```

The JSON form holds every slot of its family, with the version of each part; a user's dictionary and a fitted IDF stand
in it by their digests and are given beside it. The digest is the first 16 hexadecimal digits of SHA-256 of the JSON
form with sorted keys and without white space. Two things made by different recipes refuse to meet.

What is promised: a recipe of this version gives the same bits for ever, on every platform and through every door.
Unassigned code points are the exception: a later Unicode version may give them a meaning.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any, Literal, Protocol, get_args

from nearkin._core import IdfCore, RecipeCore, feature_hash_names
from nearkin.errors import MismatchError, bad_parameter, mismatch
from nearkin.recipe_base import FrozenRecipe

Norm = Literal["nfkc", "nfc", "none"]
Case = Literal["fold", "lower", "keep"]
Letters = Literal["word", "python", "all"]
Cut = Literal["uax29", "jieba", "script"]
Features = Literal["char", "word", "given"]
Weight = Literal["count", "binary", "log", "idf", "textrank", "given"]
STOP_LISTS = ("en", "ja", "jieba", "zh")
"""Names of the lists of stop words that nearkin carries."""
IDF_TABLES = ("cppjieba", "jieba")
"""Names of the IDF tables that nearkin carries."""
Family = Literal["simhash", "minhash"]
Scheme = Literal["one", "fast", "classic"]

VERSION = 1
"""Version of the rules below: raised when a slot gets another meaning."""

DEFAULT = "char:4|binary|xxh3|simhash:128"
"""The recipe that `dedup` takes when it is not told another; docs/quality.md has the measurements behind it."""

PRESETS = {
    "default": DEFAULT,
    "go-fnv1a": (
        "norm:none|case:keep|letters:all|cut:jieba|stop:jieba|min_length:2|word:1|idf:jieba|top:22|fnv1a|simhash:64"
    ),
    "jieba-jenkins": (
        "norm:none|case:keep|letters:all|cut:jieba|min_length:2|word:1|idf:cppjieba|top:5|jenkins64|simhash:64"
    ),
    "minhash": "char:4|binary|xxh3|minhash:128:fast",
    "simhash-pypi": "norm:none|case:lower|letters:python|char:4|count|md5|simhash:64",
    "zh-keywords": "cut:script|stop:en,ja,zh|min_length:2|word:1|idf:jieba|top:20|xxh3|simhash:128",
    "zh-textrank": (
        "norm:none|case:keep|letters:all|cut:jieba|stop:jieba|min_length:2|tags:n,ns,v,vn|word:1|textrank|top:20|xxh3"
        "|simhash:128"
    ),
}
"""Named recipes; docs/recipe.md says what each is for and whose values it gives."""


class IdfTable(Protocol):
    """A fitted table of inverse document frequencies, as `nearkin.Idf` is."""

    @property
    def digest(self) -> str:
        """What the recipe carries of it."""

    @property
    def core(self) -> IdfCore:
        """Its compiled form."""


_DEFAULTS: dict[str, Any] = {
    "norm": "nfkc",
    "case": "fold",
    "letters": "word",
    "cut": "uax29",
    "user_words": "",
    "stop": (),
    "stop_words": (),
    "min_length": 1,
    "tags": (),
    "features": "char",
    "n": 4,
    "weight": "binary",
    "idf": None,
    "top": "all",
    "hash": "xxh3",
    "seed": 0,
    "family": "simhash",
}
_FAMILIES: dict[str, dict[str, Any]] = {
    "simhash": {"bits": 128},
    "minhash": {"num_perm": 128, "scheme": "one", "value_bits": 32},
}
"""Slots of each family, with their defaults."""


class Recipe(FrozenRecipe):
    """How a text becomes a fingerprint.

    Parameters
    ----------
    text : str, default the default recipe
        Text form; slots that it leaves out stand at their defaults.
    stop_words : iterable of str, default none
        Words that are left out before word n-grams are built, compared after normalisation and case. Required where the
        text form names a `stop:` digest, to which they must belong.
    user_words : str or iterable of str, default none
        Words for the dictionary of `cut:jieba` or `cut:script`, one a line: `word`, `word frequency`, `word tag` or
        `word frequency tag`. Required where the text form names a `user:` digest.
    idf : Idf, default none
        The fitted table that the weight `idf:DIGEST` names.

    Attributes
    ----------
    norm, case, letters : str
        Unicode form, case rule, and what counts as a letter.
    cut : str
        Who cuts words: `uax29`, `jieba`, or one for each `script`.
    user_words : str
        The user's words, one a line.
    stop, stop_words : tuple of str
        Names of lists of stop words; further words that are left out.
    min_length : int
        Least number of characters of a word, 1 to 64.
    tags : tuple of str
        Parts of speech that are kept, all if none is named; with `cut:jieba`.
    features, n : str, int
        `char` or `word` n-grams of `n`; `given` for features from outside (n is 0).
    weight : str
        `count` (each occurrence), `binary` (once), `log` (1 + ln count), `idf` (count by inverse document frequency),
        `textrank` (by neighbours), `given` (weights from outside).
    idf : Idf, str or None
        The table of the weight `idf`: a fitted one, or the name of one that nearkin carries.
    top : str
        How many features are kept, the heaviest first: `all`, a number, or a share such as `10%`.
    hash, seed : str, int
        Hash of a feature.
    family : str
        `simhash` or `minhash`.
    bits : int
        Width of the fingerprint, 1 to 1024; with simhash.
    num_perm, scheme, value_bits : int, str, int
        Values of the signature, 1 to 512; `one` permutation, `fast` or `classic`; 32 or 64 bits a value; with minhash.

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

    @classmethod
    def _slots_of(cls, family: Any) -> dict[str, Any]:
        # An unknown family has the slots that all have; `_fill` refuses it.
        return {**_DEFAULTS, **_FAMILIES.get(family, {})} if isinstance(family, str) else _DEFAULTS

    norm: Norm
    case: Case
    letters: Letters
    cut: Cut
    user_words: str
    stop: tuple[str, ...]
    stop_words: tuple[str, ...]
    min_length: int
    tags: tuple[str, ...]
    features: Features
    n: int
    weight: Weight
    idf: IdfTable | str | None
    top: str
    hash: str
    seed: int
    family: Family
    bits: int
    num_perm: int
    scheme: Scheme
    value_bits: Literal[32, 64]
    core: RecipeCore
    """The compiled form: what the batch functions call."""

    def __init__(
        self,
        text: str = DEFAULT,
        *,
        stop_words: Iterable[str] = (),
        user_words: str | Iterable[str] = "",
        idf: IdfTable | None = None,
    ) -> None:
        if not isinstance(text, str):
            raise bad_parameter("recipe", repr(text), "the text form, such as " + DEFAULT)
        slots = _parse(text)
        slots["stop_words"] = stop_words
        self._fill(_with_beside(slots, user_words, idf))

    def _fill(self, slots: dict[str, Any]) -> None:
        if slots.get("family", _DEFAULTS["family"]) not in _FAMILIES:
            raise bad_parameter("family", repr(slots["family"]), " or ".join(_FAMILIES))
        slots = {**self._slots_of(slots.get("family", "simhash")), **slots}
        stop_digest = slots.pop("stop_digest", None)
        slots["stop_words"] = _names("stop_words", slots["stop_words"])
        if stop_digest is not None and stop_digest != _digest_of(slots["stop_words"]):
            found = f"words with stop:{_digest_of(slots['stop_words'])}"
            raise mismatch("stop words", f"recipe with stop:{stop_digest}", found)
        slots["stop"] = _names("stop", slots["stop"])
        slots["tags"] = _names("tags", slots["tags"])
        slots["user_words"] = _lines(slots["user_words"])
        if slots["features"] == "given":
            slots["n"] = 1
        for name, (least, most) in _RANGES.items():
            if name not in slots:
                continue
            value = slots[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise bad_parameter(name, repr(value), f"{least} to {most}")
        for tag in slots["tags"]:
            if not re.fullmatch("[a-z]+", tag):
                raise bad_parameter("tags", repr(tag), "tags of small letters, such as n,ns,v,vn")
        for name in ("cut", "weight", "top", "hash"):
            if not isinstance(slots[name], str):
                raise bad_parameter(name, repr(slots[name]), _ALLOWED)
        if slots["features"] == "given":
            slots["n"] = 0
        if (slots["features"] == "given") != (slots["weight"] == "given"):
            raise bad_parameter(
                "weight", slots["weight"], "given with given features, count, binary, log, idf or textrank with others"
            )
        if slots["features"] == "given" and slots["top"] != "all":
            raise bad_parameter("top", slots["top"], "all with given features")
        if (slots["idf"] is not None) != (slots["weight"] == "idf"):
            raise bad_parameter("idf", slots["idf"], "a table with the weight idf, none with others")
        if slots["family"] == "minhash":
            for name, allowed in (("scheme", get_args(Scheme)), ("value_bits", (32, 64))):
                if slots[name] not in allowed:
                    raise bad_parameter(name, repr(slots[name]), " or ".join(map(str, allowed)))
            if slots["weight"] not in ("binary", "given"):
                raise bad_parameter("weight", slots["weight"], "binary with minhash, which compares sets")
            if slots["top"] != "all":
                raise bad_parameter("top", slots["top"], "all with minhash, which compares whole sets")
        compiled = {name: value for name, value in slots.items() if name not in ("family", *_FAMILIES["minhash"])}
        compiled["bits"] = slots.get("bits")
        table = slots["idf"]
        compiled["idf"] = IdfCore.named(table) if isinstance(table, str) else None if table is None else table.core
        for name in ("stop", "stop_words", "tags"):
            compiled[name] = list(slots[name])
        self.__dict__.update(slots, core=RecipeCore(**compiled))

    @classmethod
    def preset(cls, name: str) -> Recipe:
        """The recipe called `name`: `default`, `simhash-pypi`, `zh-keywords` and others; see docs/recipe.md.

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

    @classmethod
    def from_json(cls, text: str, *, user_words: str | Iterable[str] = "", idf: IdfTable | None = None) -> Recipe:
        """The recipe of a JSON form, with the dictionary and the table whose digests it carries.

        Raises
        ------
        MismatchError
            If the form was written by another version of the rules, or names another dictionary or table.
        ParameterError
            If it is no JSON form of a recipe.
        """
        try:
            slots = json.loads(text)
            versions = slots.pop("versions")
            found = {name: slots.pop(name) for name in cls._slots_of(slots.get("family"))}
            found["user"] = found.pop("user_words") or None
            recipe = cls._of_slots(_with_beside(found, user_words, idf))
        except MismatchError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise bad_parameter("recipe", f"JSON with {error!r}", "the text of Recipe.to_json()") from error
        if versions != recipe.versions:
            raise mismatch("versions of the recipe", versions, recipe.versions)
        if slots:
            raise bad_parameter("recipe", f"slot {sorted(slots)[0]}", "the slots " + ", ".join(recipe._names()))
        return recipe

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part: raised when its values change."""
        return {"recipe": VERSION, "text": 1, "words": 1, "hash": 1, self.family: 1}

    @property
    def words(self) -> int:
        """Words of 64 bits in a fingerprint."""
        return (self.bits + 63) // 64

    def _slot(self, name: str) -> Any:
        """The value of a slot as it is compared and written: what is given beside the recipe by its digest."""
        value = getattr(self, name)
        if name == "user_words":
            return _digest_of(value.split("\n")) if value else ""
        return value.digest if name == "idf" and value is not None and not isinstance(value, str) else value

    def with_text(self, text: str) -> Recipe:
        """The recipe with other values in the slots that a text form names, which may leave any of them out.

        Examples
        --------
        >>> import nearkin as nk
        >>> str(nk.Recipe("word:3|binary|xxh3|minhash:256").with_text("simhash:64"))
        'word:3|binary|xxh3|simhash:64'
        """
        slots = _parse(text)
        table = self.idf if "idf" in slots and not isinstance(self.idf, str) else None
        slots = _with_beside(slots, self.user_words, table)
        stop = slots.pop("stop_digest", None)
        if stop is not None and stop != _digest_of(self.stop_words):
            raise mismatch("stop words", f"stop:{_digest_of(self.stop_words)}", f"stop:{stop}")
        if slots.get("weight", "idf") != "idf":
            slots["idf"] = None
        return self.with_(**slots)

    def features_of(self, text: str) -> dict[str, int]:
        """The features of `text` and how often each occurs, in order of first occurrence."""
        return dict(self.core.features(text))

    def __str__(self) -> str:
        return _text_form(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self.to_json(), self.user_words, None if isinstance(self.idf, str) else self.idf))


def _rebuild(text: str, user_words: str, idf: IdfTable | None) -> Recipe:
    return Recipe.from_json(text, user_words=user_words, idf=idf)


_RANGES = {"min_length": (1, 64), "n": (1, 64), "seed": (0, (1 << 64) - 1), "bits": (1, 1024), "num_perm": (1, 512)}
_NAMED = {"norm": get_args(Norm), "case": get_args(Case), "letters": get_args(Letters), "cut": get_args(Cut)}
_ALLOWED = (
    "segments norm:, case:, letters:, cut:, user:, stop:, min_length:, tags:, then char:N, word:N or given, "
    "count, binary, log, idf:TABLE, textrank or given, top:N, a hash, simhash:BITS or minhash:NUM_PERM"
)
_DIGEST = "[0-9a-f]{16}"


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
        elif name == "stop" and argument:
            digests = [part for part in argument.split(",") if re.fullmatch(_DIGEST, part)]
            names = [part for part in argument.split(",") if part not in digests]
            unknown = [part for part in names if part not in STOP_LISTS]
            if len(digests) > 1 or unknown:
                allowed = f"names of lists ({', '.join(STOP_LISTS)}) and at most one digest of stop words"
                raise bad_parameter("stop", ",".join(unknown) or argument, allowed)
            put("stop", names)
            put("stop_digest", digests[0] if digests else None)
        elif name == "user" and re.fullmatch(_DIGEST, argument):
            put("user", argument)
        elif name == "min_length":
            put("min_length", _number(name, argument))
        elif name == "tags" and argument:
            put("tags", argument.split(","))
        elif name == "top":
            put("top", argument)
        elif name in ("char", "word"):
            put("features", name)
            put("n", _number(name, argument))
        elif name == "given" and not argument:
            # Stands once for features and weights together.
            put("features", "given")
            values.setdefault("n", 0)
            put("weight", "given")
        elif name in ("count", "binary", "log", "textrank") and not argument:
            put("weight", name)
        elif name == "idf" and (argument in IDF_TABLES or re.fullmatch(_DIGEST, argument)):
            put("weight", name)
            put("idf", argument)
        elif name == "simhash":
            put("family", name)
            put("bits", _number(name, argument))
        elif name == "minhash":
            put("family", name)
            count, *rest = argument.split(":")
            put("num_perm", _number(name, count))
            for part in rest:
                if part in get_args(Scheme):
                    put("scheme", part)
                elif part in ("32", "64"):
                    put("value_bits", int(part))
                else:
                    raise bad_parameter(
                        "minhash", repr(part), "minhash:NUM_PERM, then one, fast or classic, then 32 or 64"
                    )
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


def _digest_of(words: Iterable[str]) -> str:
    """First 16 hexadecimal digits of SHA-256 of words, one a line."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def _names(slot: str, names: Any) -> tuple[str, ...]:
    """A set of words, sorted."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise bad_parameter(slot, repr(names), "an iterable of words, such as a list of str")
    found = list(names)
    if not all(isinstance(name, str) for name in found):
        raise bad_parameter(slot, repr(found), "an iterable of words, such as a list of str")
    return tuple(sorted(set(found)))


def _lines(words: Any) -> str:
    """A user's words, one a line, without empty lines; their order counts, since later ones replace earlier ones."""
    lines = words.split("\n") if isinstance(words, str) else list(words)
    if not all(isinstance(line, str) for line in lines):
        raise bad_parameter("user_words", repr(lines), "lines such as 'word 3 n'")
    return "\n".join(line for line in (line.strip() for line in lines) if line)


def _with_beside(slots: dict[str, Any], user_words: str | Iterable[str], idf: IdfTable | None) -> dict[str, Any]:
    """Slots with what is given beside their digests, if it is what the digests say."""
    lines = _lines(user_words)
    digest = slots.pop("user", None)
    if digest is not None and digest != _digest_of(lines.split("\n")):
        found = f"words with user:{_digest_of(lines.split(chr(10)))}" if lines else "no words"
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


def _text_form(recipe: Recipe) -> str:
    parts = [f"{name}:{getattr(recipe, name)}" for name in _NAMED if getattr(recipe, name) != _DEFAULTS[name]]
    if recipe.user_words:
        parts.append(f"user:{recipe._slot('user_words')}")
    stop = [*recipe.stop, *([_digest_of(recipe.stop_words)] if recipe.stop_words else [])]
    if stop:
        parts.append("stop:" + ",".join(stop))
    if recipe.min_length != 1:
        parts.append(f"min_length:{recipe.min_length}")
    if recipe.tags:
        parts.append("tags:" + ",".join(recipe.tags))
    parts.append("given" if recipe.features == "given" else f"{recipe.features}:{recipe.n}|{recipe.weight}")
    if recipe.weight == "idf":
        parts[-1] += f":{recipe._slot('idf')}"
    if recipe.top != "all":
        parts.append(f"top:{recipe.top}")
    parts.append(f"{recipe.hash}:{recipe.seed}" if recipe.seed else recipe.hash)
    family = _FAMILIES[recipe.family]
    first, *rest = ((name, getattr(recipe, name)) for name in family)
    others = (f":{value}" for name, value in rest if value != family[name])
    parts.append(f"{recipe.family}:{first[1]}" + "".join(others))
    return "|".join(parts)


__all__ = ["DEFAULT", "IDF_TABLES", "PRESETS", "STOP_LISTS", "IdfTable", "Recipe"]
