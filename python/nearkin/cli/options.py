"""What the commands share: options, progress bars, messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin.errors import InputError

if TYPE_CHECKING:
    from nearkin.recipe import Recipe

Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Files, globs, folders, or - for standard input: JSONL, Parquet, CSV, TSV, text; also .gz and .zst."
    ),
]
TextColumn = Annotated[str, typer.Option(help="Column of the text.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of the id; row numbers without it.")]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="jsonl, parquet, csv, tsv, txt (a document a line) or files; told by the names."),
]
RecipeOption = Annotated[
    str | None, typer.Option("--recipe", help="Recipe or preset: how a text becomes a fingerprint.", metavar="RECIPE")
]
Bits = Annotated[int | None, typer.Option(help="Width of fingerprints: changes this slot of the recipe.")]
FamilyOption = Annotated[
    str | None,
    typer.Option(help="simhash or minhash, simhash:BITS or minhash:NUM_PERM, a slot of the recipe; ssdeep for files."),
]
Recall = Annotated[float | None, typer.Option(help="Wanted recall at the threshold, with minhash; 0.95 without it.")]
Confirm = Annotated[
    str | None, typer.Option(help="The other family, such as simhash:128: candidates must be alike by it as well.")
]
Threshold = Annotated[float, typer.Option(help="Smallest similarity of a match, inclusive.")]
Radius = Annotated[
    int | None, typer.Option(help="Largest Hamming distance of a candidate; follows from the threshold.")
]
VerifyOption = Annotated[
    str, typer.Option(help="Verify candidates by jaccard, containment, indel, signature (minhash), or none.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first record that can't be read.")]
Threads = Annotated[int | None, typer.Option(help="Threads; one a core without it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]


def recipe_of(text: str | None, bits: int | None, family: str | None = None) -> Recipe:
    """The recipe of `--recipe`, `--family` and `--bits`; the default for None.

    A recipe on the command line may name files: `idf:@FILE` is the table of `nearkin idf fit`, `user:@FILE` a
    dictionary in jieba's format, and `stop:@FILE` (or `stop:en,@FILE`) a list of stop words, one a line.
    """
    from nearkin.recipe import PRESETS, Recipe
    from nearkin.text.idf import Idf

    if text is None or text in PRESETS or "@" not in text:
        return _changed(Recipe.of(text), bits, family)
    parts: list[str] = []
    beside: dict[str, Any] = {}
    for segment in text.split("|"):
        name, _, argument = segment.strip().partition(":")
        if name == "idf" and argument.startswith("@"):
            beside["idf"] = Idf.load(argument[1:])
            parts.append(f"idf:{beside['idf'].digest}")
        elif name == "user" and argument.startswith("@"):
            beside["user_words"] = _read(argument[1:])
        elif name == "stop" and "@" in argument:
            lists, _, path = argument.partition("@")
            beside["stop_words"] = [line.strip() for line in _read(path).split("\n") if line.strip()]
            if lists.rstrip(","):
                parts.append("stop:" + lists.rstrip(","))
        else:
            parts.append(segment)
    made = Recipe("|".join(parts), **beside)
    if made.weight == "idf" and isinstance(beside.get("idf"), Idf):
        beside["idf"].check(made)
    return _changed(made, bits, family)


def _changed(recipe: Recipe, bits: int | None, family: str | None) -> Recipe:
    if family is not None:
        recipe = recipe.with_text(family) if ":" in family else recipe.with_(family=family)
    return recipe if bits is None else recipe.with_(bits=bits)


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 at byte {error.start}; convert it, with iconv say"
        raise InputError(f"{path}: {reason}", place=path, reason=reason) from error
