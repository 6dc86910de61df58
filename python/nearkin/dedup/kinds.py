r"""Kinds of corpora: recipe, threshold, measure and rules that suit one kind together. None is the default.

| kind | why |
|---|---|
| `articles` | unrelated long texts share 4-grams of characters; runs of three words are their own |
| `products` | records of one catalogue differ in a number, a model, a size or a colour |
| `logs` | a line is a copy if its words are in the same order; a number counts as one word |
| `poems` | editions differ in variant characters (爲 and 为), which weigh much in a short text |
| `titles` | words in any order, with typing errors; another number or word makes another title |
| `code` | releases of one file share long runs with their punctuation; other files share idioms |

Words of size and colour are English. Each choice was made on one half of labelled corpora and is shown on the other
(`bench/quality.py kinds`; docs/quality.md has the candidates).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from nearkin.errors import bad_parameter

Kind = Literal["articles", "products", "logs", "poems", "titles", "code"]

VARIANT_WORDS = (
    r"pattern:(?i)\b(?:black|white|silver|gr[ae]y|red|blue|green|pink|purple|orange|yellow|brown|gold|titanium|chrome"
    r"|beige|ivory|small|medium|large|xl|xxl|mini|left|right|upgrade|student|academic|professional|pro|standard|deluxe"
    r"|premium|mac|windows|win)\b"
)
"""Words of colour, size and edition in which two products differ."""
MODEL_NUMBERS = r"pattern:\b\w*\d\w*\b"
"""Words with a digit, such as lds4821ww, which the rule `numbers` reads as 4821."""

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
}
"""Options by kind."""


def kind_options(kind: Any) -> Mapping[str, Any]:
    """Return the options of a kind.

    Raises
    ------
    ParameterError
        An unknown kind.
    """
    if kind not in KINDS:
        raise bad_parameter("kind", repr(kind), ", ".join(KINDS))
    return KINDS[kind]


def with_kind(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the options of their kind for those that are None; `kind_set` lists these options.

    Raises
    ------
    ParameterError
        An unknown kind.
    """
    # A measure sets the verification.
    given = {**args, "verify": args.get("verify") or args.get("measure")}
    chosen = {name: value for name, value in kind_options(args["kind"]).items() if given.get(name) is None}
    return {**args, **chosen, "kind_set": tuple(chosen.items())}
