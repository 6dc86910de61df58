"""Every option and argument that more than one command takes, declared once: its name, short form and help. Those that
say how a corpus is read are in `nearkin.cli.reading`.

A command gives the default, and says in its own text what follows without an option. `recipe_of` puts the options
that make up a recipe together.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearkin.cli.console import read_text
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.models import OptionInfo

    from nearkin.recipe import Recipe
    from nearkin.text.idf import Idf


def one_of(*words: str) -> Callable[[str], list[str]]:
    """What a shell completes an option with; the values themselves are checked by the call, with its message."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def _recipes(incomplete: str) -> list[str]:
    """The presets, which a shell completes `--recipe` with."""
    from nearkin.recipe import PRESETS

    return one_of(*PRESETS)(incomplete)


# Panels of the help; those for reading are in `cli.reading`.
MATCHING, KEEPING, OLDER, PARTS, WRITING = "Matching", "Keeping", "Older documents", "Parts", "Output"
ENGINES = "Many machines"


def output(help: str) -> OptionInfo:
    """The option `--out`; each command says what it writes there."""
    made: OptionInfo = typer.Option("--out", "-o", help=help, rich_help_panel=WRITING)
    return made


# What is read, and how.

Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Files, globs, folders, URLs, - for standard input: JSON, Parquet, CSV, TSV, text, WARC; also compressed.",
        show_default=False,
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads; one per core without it.")]

# How a text becomes a fingerprint, and what is near.

RecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        help="Recipe or preset: how a text becomes features and a fingerprint.",
        metavar="RECIPE",
        autocompletion=_recipes,
        rich_help_panel=MATCHING,
    ),
]
Bits = Annotated[
    int | None, typer.Option(help="Width of fingerprints: changes this slot of the recipe.", rich_help_panel=MATCHING)
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        "-t",
        help="Smallest similarity of a match, inclusive.",
        show_default=False,
        rich_help_panel=MATCHING,
    ),
]
Radius = Annotated[
    int | None, typer.Option("--radius", help="Largest Hamming distance, inclusive.", rich_help_panel=MATCHING)
]
Recall = Annotated[
    float | None,
    typer.Option(
        help="Probability that a pair at the threshold is found.",
        show_default="0.995 by simhash, 0.95 by minhash and containment",
        rich_help_panel=MATCHING,
    ),
]
_MEASURES = one_of("jaccard", "containment", "indel", "signature", "none")
_VERIFY = "Verify candidates by jaccard, containment, indel, signature (minhash), or none."
Measure = Annotated[
    str | None,
    typer.Option(
        help="What the threshold is a similarity of: jaccard, containment (of the smaller text), or indel.",
        show_default="jaccard",
        autocompletion=one_of("jaccard", "containment", "indel"),
        rich_help_panel=MATCHING,
    ),
]
VerifyOption = Annotated[
    str | None, typer.Option(help=_VERIFY, show_default="jaccard", autocompletion=_MEASURES, rich_help_panel=MATCHING)
]
Differ = Annotated[
    list[str] | None,
    typer.Option(
        help="Texts that are alike differ by numbers, days, signs, symbols (separated by commas) or pattern:REGEX.",
        metavar="RULES",
        autocompletion=one_of("numbers", "days", "signs", "symbols", "pattern:", "none"),
        rich_help_panel=MATCHING,
    ),
]
RejectedPairs = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="Table of labelled pairs, as report.html exports it: no document goes for one that is labelled different.",
        rich_help_panel=KEEPING,
    ),
]
Featureless = Annotated[
    str | None,
    typer.Option(
        help="Equal texts without any letter: collapse (one stays) or keep (all stay).",
        show_default="collapse",
        autocompletion=one_of("collapse", "keep"),
        rich_help_panel=KEEPING,
    ),
]

# What a store is told.

Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="The store remembers this column of each document; may be repeated."),
]

StoreMemory = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        help="What the store may hold in memory: 500M, 2G, 2Gi, or a share of the machine's such as 10%.",
        metavar="BYTES",
        show_default="25%",
    ),
]

# Services.

StorePath = Annotated[
    str, typer.Argument(help="Folder of the store, or the URL of its service.", metavar="STORE", show_default=False)
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="File with the token of the service, where STORE is a URL.", metavar="FILE"),
]

# Labels.

PairColumns = Annotated[
    str | None,
    typer.Option(
        help="The two id columns of labelled pairs, separated by a comma; left,right and others are known.",
    ),
]
LabelColumn = Annotated[
    str | None, typer.Option(help="Column that says 0 or 1, or with --at-least how similar a pair is.")
]
AtLeast = Annotated[float | None, typer.Option(help="Pairs whose number in --label-column reaches this match.")]
ClusterColumn = Annotated[str | None, typer.Option(help="Cluster column of true clusters; cluster without it.")]

# Hamming indexes.

IndexPath = Annotated[Path, typer.Argument(help="File of the index.", metavar="INDEX", show_default=False)]
Fingerprints = Annotated[
    str | None,
    typer.Option(
        "--fingerprints",
        help="The inputs are fingerprints, not texts: hex or int (in the column `fingerprint` or --text-column, or one "
        "per line, with or without an id and a tab before, as `nearkin hash` prints them), or npy (uint64, int64, or "
        "packed uint8).",
        metavar="hex|int|npy",
        autocompletion=one_of("hex", "int", "npy"),
    ),
]
IdsFile = Annotated[Path | None, typer.Option("--ids", help="For npy: a .npy file with the ids, integers or strings.")]
Existing = Annotated[
    str,
    typer.Option(
        help="What to do with an id that is there already: error, update or skip.",
        autocompletion=one_of("error", "update", "skip"),
    ),
]

# Parts of documents.

Units = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="Compare parts: document, paragraph, line, window:WORDS (several separated by commas), or exact repeats: "
        "repeat:BYTES, repeat:WORDS:words.",
        metavar="UNIT",
        autocompletion=one_of("document", "paragraph", "line", "window:", "repeat:"),
        rich_help_panel=PARTS,
    ),
]
MinLength = Annotated[
    int | None,
    typer.Option(
        "--min-length",
        help="Characters of the shortest part that is compared.",
        show_default="40",
        rich_help_panel=PARTS,
    ),
]
Removed = Annotated[
    str | None,
    typer.Option(
        "--remove",
        help="parts (they are cut out of what is kept), documents (from --share on), or nothing.",
        show_default="parts",
        autocompletion=one_of("parts", "documents", "nothing"),
        rich_help_panel=PARTS,
    ),
]
LeastShare = Annotated[
    float | None,
    typer.Option(
        "--share",
        help="Share of a document in passages from which it goes, with --remove documents.",
        show_default="0.5",
        rich_help_panel=PARTS,
    ),
]
Within = Annotated[
    bool, typer.Option("--within", help="Look for parts in their own document, too.", rich_help_panel=PARTS)
]
BoilerplateUse = Annotated[
    str | None,
    typer.Option(
        "--boilerplate",
        help="Frequent lines: drop (parts are compared without them) or keep (they are listed).",
        autocompletion=one_of("drop", "keep"),
        rich_help_panel=PARTS,
    ),
]
BoilerplateDocuments = Annotated[
    int | None,
    typer.Option(
        "--boilerplate-documents",
        help="Documents that a frequent line has at least.",
        show_default="10",
        rich_help_panel=PARTS,
    ),
]
BoilerplateShare = Annotated[
    float | None,
    typer.Option(
        "--boilerplate-share",
        help="Share of all documents, or of those of one source, that a frequent line has at least.",
        show_default="0.05",
        rich_help_panel=PARTS,
    ),
]

# Engines.

EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Run on spark, or on sail, which needs no Java; rows need --id-column.",
        metavar="spark|sail",
        autocompletion=one_of("spark", "sail"),
        rich_help_panel=ENGINES,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="Of Spark: local[CORES], spark://HOST:PORT, k8s://URL or yarn.",
        metavar="URL",
        show_default="local[*]",
        autocompletion=one_of("local[", "spark://", "k8s://", "yarn"),
        rich_help_panel=ENGINES,
    ),
]
Remote = Annotated[
    str | None,
    typer.Option(
        "--remote",
        help="A server of Spark Connect in the place of --engine: sc://HOST:PORT.",
        metavar="URL",
        rich_help_panel=ENGINES,
    ),
]
CheckpointFolder = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        help="Folder or URL that all machines share, for what stages write; with it a failed run goes on where it was.",
        metavar="FOLDER",
        rich_help_panel=ENGINES,
    ),
]

# Files and their fuzzy digests.

FilePaths = Annotated[
    list[Path] | None, typer.Argument(help="Files, and directories with --recursive.", show_default=False)
]
Recursive = Annotated[bool, typer.Option("--recursive", "-r", help="Go into directories; symbolic links are left out.")]
NamesFrom = Annotated[
    Path | None,
    typer.Option("--files0-from", help="Read NUL-separated names of inputs from this file; - for standard input."),
]
Lists = Annotated[
    list[Path] | None,
    typer.Option("--list", help="Take digests from a list of the program, or one digest per line; may be repeated."),
]
Score = Annotated[
    int,
    typer.Option(
        "--threshold", "-t", min=1, max=100, help="Smallest score that counts, inclusive.", rich_help_panel=MATCHING
    ),
]
PageFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Write one HTML file of it, too: pictures with their figures. It opens from disk.",
        metavar="FILE.html",
        rich_help_panel=WRITING,
    ),
]
DigestRecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        help="How files become digests: html, lines and space before |ssdeep, such as 'html+space|ssdeep'; "
        "ssdeep:common:5 asks for five shared characters instead of seven (compare).",
        metavar="RECIPE",
        rich_help_panel=MATCHING,
    ),
]
Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient",
        help="Read old digests: other block sizes, any characters, as the library does.",
        rich_help_panel=MATCHING,
    ),
]

# What is written.

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what an earlier run wrote.", rich_help_panel=WRITING)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.", rich_help_panel=WRITING)]
Csv = Annotated[
    bool, typer.Option("--csv", help="Print comma-separated values with a header.", rich_help_panel=WRITING)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.", rich_help_panel=WRITING)
]


def bytes_of(text: str, name: str = "memory_limit") -> int:
    """A number of bytes: digits, and k, M, G, T for powers of 1000, Ki, Mi, Gi, Ti for powers of 1024."""
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,6})?) ?(?:([kKMGT])(i)?)?B?", text.strip())
    if match is None:
        raise bad_parameter(name, repr(text), "a number of bytes such as 500M, 2G or 2Gi")
    power = 0 if match[2] is None else "KMGT".index(match[2].upper()) + 1
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def memory_of(text: str | None) -> float | None:
    """What `--memory-limit` of a store means: bytes, or a share of the machine's memory."""
    if text is None:
        return None
    share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%", text.strip())
    return bytes_of(text) if share is None else float(share[1]) / 100


def recipe_of(text: str | None, bits: int | None = None, family: str | None = None) -> Recipe:
    """The recipe of `--recipe`, `--family` and `--bits`; the default for None.

    A recipe on the command line may name files: `idf:@FILE` is the table of `nearkin idf fit`, `user:@FILE` a
    dictionary in jieba's format, and `stop:@FILE` (or `stop:en,@FILE`) a list of stop words, one per line.
    """
    from nearkin.recipe import PRESETS, Recipe

    named = text is not None and text not in PRESETS and "@" in text
    recipe = _with_files(text) if named and text is not None else Recipe.of(text)
    if family is not None:
        same = family == recipe.family
        recipe = recipe if same else recipe.with_family(family)
    return recipe if bits is None else recipe.with_(bits=bits)


def _with_files(text: str) -> Recipe:
    """The recipe of a text form that names files."""
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
            user_words = _words(path)
        elif name == "stop" and at:
            stop_words = [line.strip() for line in _words(path).split("\n") if line.strip()]
            if before.rstrip(","):
                parts.append("stop:" + before.rstrip(","))
        else:
            parts.append(segment)
    recipe = Recipe("|".join(parts), idf=idf, user_words=user_words, stop_words=stop_words)
    if idf is not None and recipe.weight == "idf":
        idf.check(recipe)
    return recipe


def _words(path: str) -> str:
    """A list of words; a byte order mark at its start is not part of it."""
    return read_text(path, encoding="utf-8-sig")
