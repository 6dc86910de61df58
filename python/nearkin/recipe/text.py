"""The recipe: a small frozen value that determines completely how a source becomes a fingerprint.

The text form names its slots, separated by `|`; slots at their default may be left out, except for the four in the
middle that are always written:

```
[norm:nfkc|nfc|none] [fold:hans,lookalikes,accents] [case:fold|lower|keep]
[letters:word|python|all] [numbers:split|whole]
[cut:uax29|jieba|cppjieba|script] [user:DIGEST] [stop:NAME,...,DIGEST] [min_length:N] [tags:TAG,...]
    char:N | char:M-N | word:N | word:M-N | given                           what a feature is
    count | binary | log | idf:NAME | idf:DIGEST | textrank | given         what it weighs
    [top:N | top:N%]                                                        how many are kept
    xxh3 | md5 | sha1 | sha224 | sha256 | sha384 | sha512 | fnv1a | murmur3 | lookup3 | jenkins64 | one_at_a_time
        [:SEED]
    simhash:BITS | minhash:NUM_PERM[:fast | :classic][:64]
```

The JSON form holds every slot of its family, with the version of each part, but for `fold`, `numbers` and `min_n` at
their defaults; a user's dictionary and a fitted IDF are named in it by their digests and given beside it. The digest is
the first 16 hexadecimal digits of SHA-256 of the JSON form with sorted keys and without white space. Two things made by
different recipes refuse to meet.

What is promised: a recipe of this version gives the same bits for ever, on every platform and through every door.
Unassigned code points are the exception: a later Unicode version may give them a meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from nearkin._core import RecipeCore
from nearkin.errors import bad_parameter, mismatch
from nearkin.notebook import html_facts
from nearkin.recipe.base import FrozenRecipe
from nearkin.recipe.checks import checked, compiled
from nearkin.recipe.grammar import (
    DEFAULT,
    DEFAULTS,
    FAMILIES,
    IDF_TABLES,
    MEANINGS,
    NAMED,
    STOP_LISTS,
    UNWRITTEN,
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
    digest_of,
    parse,
    with_beside,
)

VERSION = 1
"""Version of the rules below: raised when a slot gets another meaning."""

FOLD_VERSION = 1
"""Version of the tables of folds, which recipes with folds carry: raised when a fold does something else."""

PRESETS = {
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
"""Named recipes; docs/recipe.md says what each is for and whose values it gives."""


class Recipe(FrozenRecipe):
    """How a text becomes a fingerprint.

    Parameters
    ----------
    text : str, default the default recipe
        Text form; slots that it leaves out have their defaults.
    stop_words : iterable of str, default none
        Words that are left out before word n-grams are built, compared after normalisation and case. Required where the
        text form names a `stop:` digest, to which they must belong.
    user_words : str or iterable of str, default none
        Words for the dictionary of `cut:jieba` or `cut:script`, one per line: `word`, `word frequency`, `word tag` or
        `word frequency tag`. Required where the text form names a `user:` digest.
    idf : Idf, default none
        The fitted table that the weight `idf:DIGEST` names.

    Attributes
    ----------
    norm, case, letters : str
        Unicode form, case rule, and what counts as a letter.
    fold : tuple of str
        What characters are taken for one another: `hans`, `lookalikes`, `accents`.
    numbers : str
        `split`, or `whole` where points and signs belong to numbers.
    cut : str
        Who cuts words: `uax29`, `jieba`, `cppjieba`, or one for each `script`.
    user_words : str
        The user's words, one per line.
    stop, stop_words : tuple of str
        Names of lists of stop words; further words that are left out.
    min_length : int
        Smallest number of characters of a word, 1 to 64.
    tags : tuple of str
        Parts of speech that are kept, all if none is named; with `cut:jieba`.
    features, n : str, int
        `char` or `word` n-grams of `n`; `given` for features from outside (n is 0).
    min_n : int
        Length of the shortest n-grams where those of every length to `n` are taken; 0 where all have length `n`.
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
        Values of the signature, 1 to 512; `one` permutation, `fast` or `classic`; 32 or 64 bits per value; with
        minhash.

    Raises
    ------
    ParameterError
        For a slot that is unknown, given twice, or out of its range.

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
    _unwritten = UNWRITTEN

    @classmethod
    def _slots_of(cls, family: object) -> Mapping[str, object]:
        # An unknown family has the common slots; `_fill` refuses it.
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
        slots = parse(text)
        slots["stop_words"] = stop_words
        self._fill(with_beside(slots, user_words, idf))

    def _fill(self, slots: dict[str, object]) -> None:
        filled = checked(slots)
        self.__dict__.update(filled, core=compiled(filled))

    @classmethod
    def preset(cls, name: str) -> Recipe:
        """The recipe called `name`: `default`, `simhash-pypi`, `zh-keywords` and others; see docs/recipe.md.

        Parameters
        ----------
        name : str
            One of the presets of docs/recipe.md.

        Raises
        ------
        ParameterError
            If there is no preset of that name.

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
        """`recipe` itself, the one of a text form or preset name, or the default for None.

        Parameters
        ----------
        recipe : Recipe, str or None
            A recipe, a text form, the name of a preset, or None.
        """
        if recipe is None:
            return cls()
        if isinstance(recipe, Recipe):
            return recipe
        return cls.preset(recipe) if recipe in PRESETS else cls(recipe)

    @classmethod
    def from_json(cls, text: str, *, user_words: str | Iterable[str] = "", idf: IdfTable | None = None) -> Recipe:
        """The recipe of a JSON form, with the dictionary and the table whose digests it carries.

        Parameters
        ----------
        text : str
            What `to_json` gives.
        user_words, idf
            As for `Recipe`; required where the form names their digests.

        Raises
        ------
        MismatchError
            If the form was written by another version of the rules, or names another dictionary or table.
        ParameterError
            If it is not the JSON form of a recipe.
        """

        def revive(slots: dict[str, object]) -> dict[str, object]:
            slots["user"] = slots.pop("user_words") or None
            return with_beside(slots, user_words, idf)

        return cls._of_json(text, revive)

    @property
    def versions(self) -> dict[str, int]:
        """Version of each part: raised when its values change."""
        found = {"recipe": VERSION, "text": 1, "words": 1, "hash": 1, self.family: 1}
        return {**found, "fold": FOLD_VERSION} if self.fold else found

    @property
    def words(self) -> int:
        """Words of 64 bits in a fingerprint."""
        return (self.bits + 63) // 64

    def _slot(self, name: str) -> object:
        """The value of a slot as it is compared and written: what is given beside the recipe by its digest."""
        if name == "user_words":
            return digest_of(self.user_words.split("\n")) if self.user_words else ""
        if name == "idf":
            return self.idf if self.idf is None or isinstance(self.idf, str) else self.idf.digest
        return super()._slot(name)

    def with_text(self, text: str) -> Recipe:
        """The recipe with other values in the slots that a text form names, which may leave any of them out.

        Parameters
        ----------
        text : str
            A text form, of which any segment may be left out.

        Raises
        ------
        ParameterError
            For a slot that is unknown, given twice, or out of its range.
        MismatchError
            If the text names the digest of other stop words than the recipe's.

        Examples
        --------
        >>> import nearkin as nk
        >>> str(nk.Recipe("word:3|binary|xxh3|minhash:256").with_text("simhash:64"))
        'word:3|binary|xxh3|simhash:64'
        """
        slots = parse(text)
        table = self.idf if "idf" in slots and not isinstance(self.idf, str) else None
        slots = with_beside(slots, self.user_words, table)
        stop = slots.pop("stop_digest", None)
        if stop is not None and stop != digest_of(self.stop_words):
            raise mismatch("stop words", f"stop:{digest_of(self.stop_words)}", f"stop:{stop}")
        if slots.get("weight", "idf") != "idf":
            slots["idf"] = None
        return self.with_(**slots)

    def with_family(self, text: str) -> Recipe:
        """The recipe with another family: `simhash`, `minhash`, or a text form such as `minhash:256`.

        As of a new recipe, signatures are made by the scheme `fast` unless the text names another one.

        Parameters
        ----------
        text : str
            A family, or a text form, of which any segment may be left out.

        Raises
        ------
        ParameterError
            For another text, or values out of their range.

        Examples
        --------
        >>> import nearkin as nk
        >>> str(nk.Recipe().with_family("minhash")), str(nk.Recipe().with_family("minhash:64:one"))
        ('char:4|binary|xxh3|minhash:128:fast', 'char:4|binary|xxh3|minhash:64')
        """
        if ":" not in text:
            made = self.with_(family=text)
            return made.with_(scheme="fast") if text == "minhash" else made
        made, slots = self.with_text(text), parse(text)
        return made.with_(scheme="fast") if slots.get("family") == "minhash" and "scheme" not in slots else made

    def features_of(self, text: str) -> dict[str, int]:
        """The features of `text` and how often each occurs, in order of first occurrence.

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
        """The slots that do something, in the order in which they act, and what each of them is, for a notebook."""
        slots = ((name, _shown(self._slot(name)), MEANINGS[name]) for name in self._names())
        return html_facts([("recipe", str(self), self.digest), *(row for row in slots if row[1] not in ("", "None"))])

    def __str__(self) -> str:
        return _text_form(self)

    def __reduce__(self) -> tuple[Callable[..., Recipe], tuple[object, ...]]:
        return (_rebuild, (self.to_json(), self.user_words, None if isinstance(self.idf, str) else self.idf))


def _shown(slot: object) -> str:
    return ", ".join(map(str, slot)) if isinstance(slot, (list, tuple)) else str(slot)


def _rebuild(text: str, user_words: str, idf: IdfTable | None) -> Recipe:
    return Recipe.from_json(text, user_words=user_words, idf=idf)


def _text_form(recipe: Recipe) -> str:
    defaults = recipe._slots_of(recipe.family)
    parts = [f"{name}:{getattr(recipe, name)}" for name in NAMED if getattr(recipe, name) != defaults[name]]
    if recipe.fold:
        parts.insert(int(recipe.norm != "nfkc"), "fold:" + ",".join(recipe.fold))
    if recipe.user_words:
        parts.append(f"user:{recipe._slot('user_words')}")
    stop = [*recipe.stop, *([digest_of(recipe.stop_words)] if recipe.stop_words else [])]
    if stop:
        parts.append("stop:" + ",".join(stop))
    if recipe.min_length != 1:
        parts.append(f"min_length:{recipe.min_length}")
    if recipe.tags:
        parts.append("tags:" + ",".join(recipe.tags))
    lengths = f"{recipe.min_n}-{recipe.n}" if recipe.min_n else recipe.n
    parts.append("given" if recipe.features == "given" else f"{recipe.features}:{lengths}|{recipe.weight}")
    if recipe.weight == "idf":
        parts[-1] += f":{recipe._slot('idf')}"
    if recipe.top != "all":
        parts.append(f"top:{recipe.top}")
    parts.append(f"{recipe.hash}:{recipe.seed}" if recipe.seed else recipe.hash)
    family = FAMILIES[recipe.family]
    first, *rest = ((name, getattr(recipe, name)) for name in family)
    others = (f":{value}" for name, value in rest if value != family[name])
    parts.append(f"{recipe.family}:{first[1]}" + "".join(others))
    return "|".join(parts)


__all__ = ["DEFAULT", "IDF_TABLES", "PRESETS", "STOP_LISTS", "IdfTable", "Recipe"]
