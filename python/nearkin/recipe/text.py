"""Text recipes: frozen values that determine completely how a text becomes a fingerprint.

The text form lists slots, separated by `|`. Slots at their default may be omitted; the four slots in the middle are
always written:

```
[norm:nfkc|nfc|none] [fold:hans,lookalikes,accents] [case:fold|lower|keep]
[letters:word|python|all] [numbers:split|whole]
[cut:uax29|jieba|cppjieba|script|code] [user:DIGEST] [stop:NAME,...,DIGEST] [min_length:N] [tags:TAG,...]
    char:N | char:M-N | word:N | word:M-N | given                           feature
    count | binary | log | idf:NAME | idf:DIGEST | textrank | given         weight
    [top:N | top:N%]                                                        number kept
    xxh3 | md5 | sha1 | sha224 | sha256 | sha384 | sha512 | fnv1a | murmur3 | lookup3 | jenkins64 | one_at_a_time
        [:SEED]
    simhash:BITS | minhash:NUM_PERM[:fast | :classic | :weighted][:64]
```

`minhash` compares sets, so that its weight is `binary` and `top` omitted. The scheme `weighted` compares the kept
features by their weights, here and wherever texts are compared (`nearkin.similarity`, verification).

The JSON form contains every slot of the family and the version of each part. `fold`, `numbers` and `min_n` are omitted
at their defaults. A user's dictionary and a fitted IDF table appear as digests and are passed separately. The digest of
a recipe is the first 16 hexadecimal digits of the SHA-256 of the JSON form with sorted keys and without white space.
Only values of equal recipes can be compared. Index files and stores contain their recipe and refuse another one.

Guarantee: a recipe of this version always returns the same bits, on every platform and from every entry point. The
exception are unassigned code points, to which a later version of Unicode may assign a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Literal

from nearkin._core import RecipeCore
from nearkin.errors import ParameterError, bad_parameter, excerpt, mismatch
from nearkin.notebook import html_facts
from nearkin.recipe.base import FrozenRecipe
from nearkin.recipe.grammar import (
    CONTAINMENT,
    DEFAULT,
    DEFAULTS,
    FAMILIES,
    IDF_TABLES,
    MEANINGS,
    NAMED,
    OMITTED_SLOTS,
    STOP_LISTS,
    Case,
    Cut,
    Family,
    Features,
    IdfTable,
    Letters,
    Norm,
    Numbers,
    Scheme,
    Weight,
    check_slots,
    compile_slots,
    digest_words,
    parse,
    restore_external,
)

VERSION = 1
"""Version of the slots, incremented when the meaning of a slot changes."""

FOLD_VERSION = 1
"""Version of the fold tables, in recipes with folds; incremented when a fold changes."""

PRESETS = {
    "containment": CONTAINMENT,
    "default": DEFAULT,
    "go-fnv1a": (
        "norm:none|case:keep|letters:all|cut:jieba|stop:jieba|min_length:2|word:1|idf:jieba|top:22|fnv1a|simhash:64"
    ),
    "jieba-jenkins": (
        "norm:none|case:keep|letters:all|cut:cppjieba|min_length:2|word:1|idf:cppjieba|top:5|jenkins64|simhash:64"
    ),
    "minhash": "char:4|binary|xxh3|minhash:128:fast",
    "simhash-pypi": "norm:none|case:lower|letters:python|char:4|count|md5|simhash:64",
    "zh-keywords": "cut:script|stop:en,ja,zh|min_length:2|word:1|idf:jieba|top:20|xxh3|simhash:128",
    "zh-textrank": (
        "norm:none|case:keep|letters:all|cut:jieba|stop:jieba|min_length:2|tags:n,ns,v,vn|word:1|textrank|top:20|xxh3"
        "|simhash:128"
    ),
}
"""Named recipes; docs/recipe.md describes their use, and which package returns the same values."""


class Recipe(FrozenRecipe):
    """A recipe that turns texts into fingerprints or signatures.

    Parameters
    ----------
    text : str, default the fingerprint recipe, "char:4|binary|xxh3|simhash:128"
        Text form, whose omitted slots have their defaults, or the name of a preset.
    stop_words : iterable of str, default none
        Words to remove before word n-grams are built, compared after normalisation and case folding. Required if the
        text form has a `stop:` digest, which they must match.
    user_words : str or iterable of str, default none
        Entries for the dictionary of `cut:jieba` or `cut:script`, one per line: `word`, `word frequency`, `word tag` or
        `word frequency tag`. Required if the text form has a `user:` digest.
    idf : Idf, default none
        Fitted table of the weight `idf:DIGEST`.

    Attributes
    ----------
    norm, case, letters : str
        Unicode normalisation form, case rule, and definition of letters.
    fold : tuple of str
        Groups of characters that are treated as equal: `hans`, `lookalikes`, `accents`.
    numbers : str
        `split`, or `whole` if points and signs belong to numbers.
    cut : str
        Word segmenter: `uax29`, `jieba`, `cppjieba`, `script`, which selects one by script, or `code`, the tokens of
        source code without comments and with folded names.
    user_words : str
        Dictionary entries of the user, one per line.
    stop, stop_words : tuple of str
        Names of lists of stop words; further stop words.
    min_length : int
        Minimum number of characters of a word, 1 to 64.
    tags : tuple of str
        Parts of speech that are kept (default: all); with `cut:jieba`.
    features, n : str, int
        `char` or `word` n-grams of length `n`; `given` for features that the caller passes (n is 0).
    min_n : int
        Minimum length of n-grams if all lengths up to `n` are used; 0 if all have length `n`.
    weight : str
        `count` (each occurrence), `binary` (once), `log` (1 + ln count), `idf` (count by inverse document frequency),
        `textrank` (rank among neighbours), `given` (weights that the caller passes).
    idf : Idf, str or None
        Table of the weight `idf`: a fitted table, or the name of an included one.
    top : str
        Number of heaviest features that are kept: `all`, a number, or a share such as `10%`.
    hash, seed : str, int
        Hash function of features and its seed.
    family : str
        `simhash` or `minhash`.
    bits : int
        Bits of the fingerprint, 1 to 1024; with simhash.
    num_perm, scheme, value_bits : int, str, int
        Values per signature, 1 to 512; `one` permutation, `fast`, `classic` or `weighted`; 32 or 64 bits per value; for
        minhash.

    Raises
    ------
    ParameterError
        A slot is unknown, set twice, or out of range.

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

    _defaults = DEFAULTS
    _omitted = OMITTED_SLOTS

    @classmethod
    def _slots_for(cls, family: object) -> Mapping[str, object]:
        # An unknown family gets the common slots; `_fill` refuses it.
        return {**DEFAULTS, **FAMILIES.get(family, {})} if isinstance(family, str) else DEFAULTS

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
    bits: int
    num_perm: int
    scheme: Scheme
    value_bits: Literal[32, 64]
    core: RecipeCore
    """Compiled form, which the batch functions call."""

    def __init__(
        self,
        text: str = DEFAULT,
        *,
        stop_words: Iterable[str] = (),
        user_words: str | Iterable[str] = "",
        idf: IdfTable | None = None,
    ) -> None:
        if not isinstance(text, str):
            raise bad_parameter("recipe", excerpt(repr(text)), "the text form, such as " + DEFAULT)
        try:
            slots = parse(PRESETS.get(text, text))
        except ParameterError:
            if not re.fullmatch(r"[\w-]+", text):
                raise
            # A single word is more likely a misspelt preset than a recipe, whose segments would be a long list.
            likely = get_close_matches(text, PRESETS, n=1)
            hint = f"; did you mean {likely[0]}?" if likely else ""
            allowed = f"a preset ({', '.join(PRESETS)}) or segments such as 'word:3|binary|xxh3|minhash:128'{hint}"
            raise bad_parameter("recipe", text, allowed) from None
        slots["stop_words"] = stop_words
        self._fill(restore_external(slots, user_words, idf))

    def _fill(self, slots: dict[str, object]) -> None:
        checked = check_slots(slots)
        self.__dict__.update(checked, core=compile_slots(checked))

    @classmethod
    def preset(cls, name: str) -> Recipe:
        """Return a preset: `default`, `simhash-pypi`, `zh-keywords` and others; see docs/recipe.md.

        Parameters
        ----------
        name : str
            Name of a preset in docs/recipe.md.

        Raises
        ------
        ParameterError
            The preset does not exist.

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
        """Convert a text form or the name of a preset to a recipe; None is the fingerprint recipe.

        Parameters
        ----------
        recipe : Recipe, str or None
            A recipe, a text form, the name of a preset, or None.
        """
        return recipe if isinstance(recipe, Recipe) else cls() if recipe is None else cls(recipe)

    @classmethod
    def from_json(cls, text: str, *, user_words: str | Iterable[str] = "", idf: IdfTable | None = None) -> Recipe:
        """Parse a JSON form; the dictionary and the table whose digests it contains are passed separately.

        Parameters
        ----------
        text : str
            Output of `to_json`.
        user_words, idf
            As for `Recipe`; required if the form contains their digests.

        Raises
        ------
        MismatchError
            Another version of the rules wrote the form, or the dictionary or table has another digest.
        ParameterError
            The text is not the JSON form of a recipe.
        """

        def restore(slots: dict[str, object]) -> dict[str, object]:
            slots["user"] = slots.pop("user_words") or None
            return restore_external(slots, user_words, idf)

        return cls._parse_json(text, restore)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part, incremented when its values change."""
        versions = {"recipe": VERSION, "text": 1, "words": 1, "hash": 1, self.family: 1}
        return {**versions, "fold": FOLD_VERSION} if self.fold else versions

    @property
    def words(self) -> int:
        """Number of 64-bit words per fingerprint."""
        return (self.bits + 63) // 64

    @property
    def is_weighted(self) -> bool:
        """True if texts are compared by the weights of their features: `minhash:NUM_PERM:weighted`."""
        return self.family == "minhash" and self.scheme == "weighted"

    def _slot(self, name: str) -> object:
        """Return the value of a slot as it is compared and serialised; values that are passed separately as digests."""
        if name == "user_words":
            return digest_words(self.user_words.split("\n")) if self.user_words else ""
        if name == "idf":
            return self.idf if self.idf is None or isinstance(self.idf, str) else self.idf.digest
        return super()._slot(name)

    def with_text(self, text: str) -> Recipe:
        """Return a copy with other values in the slots of a partial text form.

        Parameters
        ----------
        text : str
            A text form in which any segment may be omitted.

        Raises
        ------
        ParameterError
            A slot is unknown, set twice, or out of range.
        MismatchError
            The text has the digest of other stop words than those of the recipe.

        Examples
        --------
        >>> import nearkin as nk
        >>> str(nk.Recipe("word:3|binary|xxh3|minhash:256").with_text("simhash:64"))
        'word:3|binary|xxh3|simhash:64'
        """
        slots = parse(text)
        table = self.idf if "idf" in slots and not isinstance(self.idf, str) else None
        slots = restore_external(slots, self.user_words, table)
        stop = slots.pop("stop_digest", None)
        if stop is not None and stop != digest_words(self.stop_words):
            raise mismatch("stop words", f"stop:{digest_words(self.stop_words)}", f"stop:{stop}")
        if slots.get("weight", "idf") != "idf":
            slots["idf"] = None
        return self.with_(**slots)

    def with_family(self, text: str) -> Recipe:
        """Return a copy with another family: `simhash`, `minhash`, or a text form such as `minhash:256`.

        Signatures have the scheme `fast` unless the text names another one.

        Parameters
        ----------
        text : str
            A family, or a text form in which any segment may be omitted.

        Raises
        ------
        ParameterError
            The text is invalid, or a value is out of range.

        Examples
        --------
        >>> import nearkin as nk
        >>> str(nk.Recipe().with_family("minhash")), str(nk.Recipe().with_family("minhash:64:one"))
        ('char:4|binary|xxh3|minhash:128:fast', 'char:4|binary|xxh3|minhash:64')
        """
        if ":" not in text:
            return self.with_(family=text, **({"scheme": "fast"} if text == "minhash" else {}))
        recipe, slots = self.with_text(text), parse(text)
        return recipe.with_(scheme="fast") if slots.get("family") == "minhash" and "scheme" not in slots else recipe

    def features_of(self, text: str) -> dict[str, int]:
        """Count the features of a text, in order of first occurrence.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        dict of str to int
        """
        return dict(self.core.features(text))

    def _repr_html_(self) -> str:
        """Return the active slots with their descriptions for a notebook, in the order in which they apply."""
        values = {name: self._slot(name) for name in self._names()}
        slots = (
            (name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value), MEANINGS[name])
            for name, value in values.items()
        )
        return html_facts([("recipe", str(self), self.digest), *(row for row in slots if row[1] not in ("", "None"))])

    def __str__(self) -> str:
        defaults = self._slots_for(self.family)
        parts = [f"{name}:{getattr(self, name)}" for name in NAMED if getattr(self, name) != defaults[name]]
        if self.fold:
            parts.insert(int(self.norm != "nfkc"), "fold:" + ",".join(self.fold))
        if self.user_words:
            parts.append(f"user:{self._slot('user_words')}")
        stop = [*self.stop, *([digest_words(self.stop_words)] if self.stop_words else [])]
        if stop:
            parts.append("stop:" + ",".join(stop))
        if self.min_length != 1:
            parts.append(f"min_length:{self.min_length}")
        if self.tags:
            parts.append("tags:" + ",".join(self.tags))
        lengths = f"{self.min_n}-{self.n}" if self.min_n else self.n
        parts.append("given" if self.features == "given" else f"{self.features}:{lengths}|{self.weight}")
        if self.weight == "idf":
            parts[-1] += f":{self._slot('idf')}"
        if self.top != "all":
            parts.append(f"top:{self.top}")
        parts.append(f"{self.hash}:{self.seed}" if self.seed else self.hash)
        family = FAMILIES[self.family]
        first, *rest = ((name, getattr(self, name)) for name in family)
        others = (f":{value}" for name, value in rest if value != family[name])
        parts.append(f"{self.family}:{first[1]}" + "".join(others))
        return "|".join(parts)

    def __reduce__(self) -> tuple[Callable[..., Recipe], tuple[object, ...]]:
        return (_restore_recipe, (self.to_json(), self.user_words, None if isinstance(self.idf, str) else self.idf))


def _restore_recipe(text: str, user_words: str, idf: IdfTable | None) -> Recipe:
    return Recipe.from_json(text, user_words=user_words, idf=idf)


__all__ = ["DEFAULT", "IDF_TABLES", "PRESETS", "STOP_LISTS", "IdfTable", "Recipe"]
