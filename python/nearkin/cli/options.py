"""Options and arguments that several commands share: their names, short forms and help texts.

A command gives the default. Groups of options are dataclasses: those of a corpus are in `nearkin.cli.corpus`, those of
a deduplication in `nearkin.dedup.config`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

from nearkin.cli.commands import complete
from nearkin.cli.console import read_text, say_json
from nearkin.dedup.kinds import KIND_HELP, Kind
from nearkin.errors import ParameterError, bad_parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nearkin.recipe import Recipe

Repeated: TypeAlias = list[str] | None
"""Type of an option that may be repeated."""
MATCHING, WRITING = "Matching", "Output"
"""Panels of the help."""


def _complete_recipe(incomplete: str) -> list[str]:
    """Return the presets that begin with this text."""
    from nearkin.recipe import PRESETS

    return complete(*PRESETS)(incomplete)


def opt(help: str, *flags: str, group: str | None = None, choices: Sequence[str] = (), **settings: Any) -> Any:
    """Return an option of Typer.

    Parameters
    ----------
    help : str
        The help text.
    *flags : str
        Names with dashes; by default that of the parameter.
    group : str, optional
        The panel of the help.
    choices : sequence of str, optional
        Values that a shell completes; the command checks what it gets.
    **settings
        Other arguments of `typer.Option`.
    """
    completion = complete(*choices) if choices else None
    return typer.Option(*flags, help=help, rich_help_panel=group, autocompletion=completion, **settings)


matching_opt, output_opt = partial(opt, group=MATCHING), partial(opt, group=WRITING)

_INPUTS = typer.Argument(
    help="Files, globs, folders, URLs, - for standard input: JSON, Parquet, CSV, TSV, text, WARC; also compressed."
)
Inputs = Annotated[list[str], _INPUTS]
InputsIfAny = Annotated[Repeated, _INPUTS]
TextQueries = Annotated[Repeated, opt("A text as a query; may be repeated.", "--text", metavar="TEXT")]
Json = Annotated[bool, output_opt("Print JSON, one object per line.", "--json")]
Quiet = Annotated[bool, output_opt("Print no progress and no summary.", "--quiet", "-q")]
Overwrite = Annotated[bool, output_opt("Replace the output of an earlier run.", "--overwrite")]
RecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        help="Recipe or preset: how a text becomes features and a fingerprint.",
        metavar="RECIPE",
        autocompletion=_complete_recipe,
        rich_help_panel=MATCHING,
    ),
]
Bits = Annotated[int | None, matching_opt("Width of fingerprints; replaces that of the recipe.", "--bits")]
HexColumn = Annotated[
    str | None,
    matching_opt(
        "Compare codes of other programs (PDQ, pHash), not texts: hexadecimal digits, or bytes in Parquet.",
        "--hex-column",
        metavar="COLUMN",
    ),
]
Radius = Annotated[int | None, matching_opt("Maximum Hamming distance, inclusive.", "--radius")]
PageFile = Annotated[
    Path | None, output_opt("Write the result as one HTML file as well, with charts.", "--report", metavar="FILE.html")
]
IdsArgument = Annotated[Repeated, typer.Argument(help="Ids, as in the corpus.", metavar="ID")]
IdsFrom = Annotated[str | None, opt("File with an id per line; - for standard input.", "--ids", metavar="FILE")]
MissingOk = Annotated[bool, opt("Ignore ids that do not exist.", "--missing-ok")]
StoreMemory = Annotated[
    str | None,
    opt(
        "Memory limit of the store: 500M, 2G, 2Gi, or a share of the machine's memory such as 10%.",
        "--memory-limit",
        metavar="BYTES",
        show_default="25%",
    ),
]


@dataclass(frozen=True, kw_only=True)
class PrintOptions:
    """How a command prints its result."""

    as_json: Json = False
    quiet: Quiet = False

    def report(self, record: Mapping[str, object], show: Callable[[], None]) -> None:
        """Print the result as JSON, or as `show` prints it unless `quiet`."""
        if self.as_json:
            say_json(record)
        elif not self.quiet:
            show()


PRINTING = PrintOptions()
"""The default: text, with progress and a summary."""


@dataclass(frozen=True, kw_only=True)
class IdOptions:
    """Ids of documents, as arguments and in a file."""

    ids: IdsArgument = None
    ids_from: IdsFrom = None
    missing_ok: MissingOk = False

    def read(self) -> list[str]:
        """Return the ids of the arguments and of --ids FILE.

        Raises
        ------
        ParameterError
            There are none.
        """
        names = list(self.ids or [])
        if self.ids_from is not None:
            names += [name for line in read_text(self.ids_from).split("\n") if (name := line.removesuffix("\r"))]
        if not names:
            raise bad_parameter("ids", "none", "ids as arguments, or --ids FILE")
        return names


def refuse_options(options: Mapping[str, object], allowed: str) -> None:
    """Raise ParameterError for the first option that is given: one that is neither None nor False."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise bad_parameter(name, "given" if value is True else value, allowed)


def refuse_url(path: str | Path, name: str, allowed: str) -> None:
    """Raise ParameterError if a local path is a URL, of which it would make a folder such as `s3:`.

    Parameters
    ----------
    path : str or Path
    name : str
        The option or argument.
    allowed : str
        What to give.
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)):
        raise ParameterError(f"{name} {path} is not allowed; use {allowed}", name=name, found=str(path))


def parse_bytes(text: str, name: str = "memory_limit") -> int:
    """Return a number of bytes: digits with k, M, G, T for powers of 1000, or Ki, Mi, Gi, Ti for powers of 1024."""
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,6})?) ?(?:([kKMGT])(i)?)?B?", text.strip())
    if match is None:
        raise bad_parameter(name, repr(text), "a number of bytes such as 500M, 2G or 2Gi")
    power = 0 if match[2] is None else "KMGT".index(match[2].upper()) + 1
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def parse_memory(text: str | None) -> float | None:
    """Return the memory limit of a store: a number of bytes, or a share of the machine's memory below 1."""
    if text is None:
        return None
    share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%", text.strip())
    return parse_bytes(text) if share is None else float(share[1]) / 100


def parse_rate(text: str) -> float:
    """Return a number of requests per second: a number and /s, /min or /h."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?/ ?(s|min|h)", text.strip())
    if match is None:
        raise bad_parameter("rate", repr(text), "a number of requests per s, min or h, such as 100/s or 30/min")
    return float(match[1]) / {"s": 1, "min": 60, "h": 3600}[match[2]]


def parse_ids(names: list[str], owner: str) -> list[int]:
    """Return integer ids.

    Raises
    ------
    ParameterError
        A name is not an integer of 64 bits.
    """
    ids = []
    for name in names:
        value = parse_id(name)
        if value is None:
            raise bad_parameter("id", repr(name), f"an integer of 64 bits, like the ids of this {owner}")
        ids.append(value)
    return ids


def parse_id(name: str) -> int | None:
    """Return the integer of 64 bits that a text represents, or None."""
    match = re.fullmatch(r"(-?)0*([0-9]*)(?<=[0-9])", name.strip())
    # Count the digits before reading them: Python reads at most 4,300.
    if match is None or len(match[2]) > 19:
        return None
    value = int(match[1] + (match[2] or "0"))
    return value if -(1 << 63) <= value < 1 << 63 else None


KindOption = Annotated[str | None, opt(KIND_HELP, choices=get_args(Kind))]


def parse_recipe(text: str | None, bits: int | None = None, family: str | None = None) -> Recipe:
    """Return the recipe of --recipe, --family and --bits, or the fingerprint recipe.

    A recipe on the command line may name files: `idf:@FILE` is a table of `nearkin recipe idf`, `user:@FILE` words
    in jieba's format, and `stop:@FILE` (or `stop:en,@FILE`) a list of stop words, one per line.
    """
    from nearkin.recipe import PRESETS, Recipe

    recipe = Recipe.of(text) if text is None or text in PRESETS or "@" not in text else _recipe_with_files(text)
    if family is not None and family != recipe.family:
        recipe = recipe.with_family(family)
    return recipe if bits is None else recipe.with_(bits=bits)


def _recipe_with_files(text: str) -> Recipe:
    """Return the recipe of a text form that names files."""
    from nearkin.recipe import Recipe
    from nearkin.text.idf import Idf

    parts: list[str] = []
    idf: Idf | None = None
    user_words = ""
    stop_words: list[str] = []
    for segment in text.split("|"):
        name, _, argument = segment.strip().partition(":")
        before, at, path = argument.partition("@")
        if name == "idf" and at and not before:
            idf = Idf.load(path)
            parts.append(f"idf:{idf.digest}")
        elif name == "user" and at and not before:
            user_words = read_text(path, encoding="utf-8-sig")
        elif name == "stop" and at:
            stop_words = [word for line in read_text(path, encoding="utf-8-sig").split("\n") if (word := line.strip())]
            if before.rstrip(","):
                parts.append("stop:" + before.rstrip(","))
        else:
            parts.append(segment)
    recipe = Recipe("|".join(parts), idf=idf, user_words=user_words, stop_words=stop_words)
    if idf is not None and recipe.weight == "idf":
        idf.check(recipe)
    return recipe
