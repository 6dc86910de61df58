r"""Kinds of corpora: recipe, threshold, measure and rules that suit one kind together. None is the default.

| kind | why |
|---|---|
| `articles` | unrelated long texts share 4-grams of characters; runs of three words are their own |
| `products` | records of one catalogue differ in a number, a model, a size or a colour |
| `logs` | a line is a copy if its words are in the same order; a number counts as one word |
| `poems` | editions differ in variant characters (爲 and 为), which weigh much in a short text |
| `titles` | words in any order, with typing errors; another number or word makes another title |
| `code` | releases of one file share long runs with their punctuation; other files share idioms |
| `pages` | menus and footers decide over the text of a page; pages of one template differ in a few words |
| `functions` | a copied function gets other names; what it calls, its operators and keywords remain |

Pages are read by their main text and compared without the frequent lines of their site (`nearkin.dedup.boilerplate`).
Source files are read function by function with `functions` (`nearkin.io.files`). Words of size and colour are English.
Each choice was made on one half of labelled corpora and is shown on the other
(`bench/quality.py kinds`; docs/quality.md has the candidates).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from nearkin.errors import bad_parameter, excerpt

if TYPE_CHECKING:
    from nearkin.recipe import Recipe

Kind = Literal["articles", "products", "logs", "poems", "titles", "code", "pages", "functions"]

KIND_HELP = "Kind of texts, which sets recipe, threshold and rules."
"""Help of `--kind`."""

VARIANT_WORDS = (
    r"pattern:(?i)\b(?:black|white|silver|gr[ae]y|red|blue|green|pink|purple|orange|yellow|brown|gold|titanium|chrome"
    r"|beige|ivory|small|medium|large|xl|xxl|mini|left|right|upgrade|student|academic|professional|pro|standard|deluxe"
    r"|premium|mac|windows|win)\b"
)
"""Words of colour, size and edition in which two products differ."""
MODEL_NUMBERS = r"pattern:(?i)\b\w*\d\w*\b"
"""Words with a digit, such as lds4821ww, which the rule `numbers` reads as 4821."""
USED_NAMES = r"pattern:\.[A-Za-z_]\w*|\b[A-Z][A-Z_]{2,}\b"
"""Attributes and constants, which keep their names if a function is copied."""

KINDS: Mapping[Kind, Mapping[str, Any]] = {
    "articles": {"recipe": "word:3|binary|xxh3|minhash:128:fast", "threshold": 0.8},
    "products": {
        "recipe": "word:2|binary|xxh3|minhash:128:fast",
        "threshold": 0.8,
        "differ": ("numbers", VARIANT_WORDS, MODEL_NUMBERS),
    },
    "logs": {"recipe": "word:2|binary|xxh3|minhash:128:fast", "threshold": 0.8},
    "poems": {"recipe": "fold:hans|char:4|binary|xxh3|minhash:128:fast", "threshold": 0.7},
    "titles": {"recipe": "char:1-2|binary|xxh3|minhash:128:fast", "threshold": 0.85, "verify": "words"},
    "code": {"recipe": "letters:all|char:12|binary|xxh3|minhash:128:fast", "threshold": 0.8},
    "pages": {"recipe": "word:3|binary|xxh3|minhash:128:fast", "threshold": 0.8},
    "functions": {"recipe": "cut:code|word:3|binary|xxh3|minhash:128:fast", "threshold": 0.7, "differ": (USED_NAMES,)},
}
"""Options by kind."""


def kind_options(kind: Any, *, of_corpus: bool = True) -> Mapping[str, Any]:
    """Return the options of a kind.

    Parameters
    ----------
    of_corpus : bool, default True
        False where no complete corpus is known, such as in a store.

    Raises
    ------
    ParameterError
        An unknown kind, or pages without a corpus.
    """
    if kind not in tuple(KINDS):
        raise bad_parameter("kind", repr(kind), ", ".join(KINDS))
    if kind == "pages" and not of_corpus:
        raise bad_parameter("kind", "'pages'", "it for a job alone: pages counts the lines of a corpus")
    return KINDS[kind]


def kind_format(kind: Any, inputs: object) -> str | None:
    """Return the format in which a kind reads files of no known format: functions are documents of their own."""
    from nearkin.io.inputs import format_of

    names = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    is_source = all(str(name) != "-" and format_of(str(name)) is None for name in names)
    return "functions" if kind == "functions" and is_source else None


def kind_of_recipe(recipe: object) -> Kind | None:
    """Return "functions" for a recipe that reads tokens of source code; other recipes name no kind."""
    return "functions" if str(recipe).startswith("cut:code|") else None


def with_kind(args: Mapping[str, Any], *, of_corpus: bool = True) -> dict[str, Any]:
    """Return arguments with the options of their kind for those that are None; `kind_set` lists these options.

    Raises
    ------
    ParameterError
        As for `kind_options`.
    """
    # A measure sets the verification.
    given = {**args, "verify": args.get("verify") or args.get("measure")}
    options = kind_options(args["kind"], of_corpus=of_corpus)
    chosen = {name: value for name, value in options.items() if given.get(name) is None}
    return {**args, **chosen, "kind_set": tuple(chosen.items())}


def recipe_of_kind(kind: Any, recipe: Recipe | str | None) -> Recipe | str | None:
    """Return the features of a kind with SimHash fingerprints of 128 bits, or the recipe without a kind.

    Raises
    ------
    ParameterError
        As for `kind_options`, or a recipe with a kind.
    """
    from nearkin.recipe import Recipe

    if kind is None:
        return recipe
    features = kind_options(kind, of_corpus=False)["recipe"]
    if recipe is not None:
        raise bad_parameter("recipe", excerpt(str(recipe)), "None with a kind, which has its own")
    return Recipe.of(features).with_family("simhash:128")


def check_kind(kind: Any, settings: object, args: Mapping[str, Any]) -> None:
    """Raise ParameterError if a store has another setting than its kind, except those that the caller gives."""
    wanted = dict(kind_options(kind))
    for name, default in (("verify", "jaccard"), ("differ", ()), ("pages", kind == "pages")):
        wanted.setdefault(name, default)
    for name, value in wanted.items():
        found = getattr(settings, name, None)
        if args.get(name) is None and str(found) != str(value):
            should, has = (excerpt(str(each or "none"), 60) for each in (value, found))
            raise bad_parameter("kind", repr(kind), f"a store whose {name} is {should}; this one has {has}")
