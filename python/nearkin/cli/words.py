"""The command line of words: `nearkin keywords`, `nearkin idf fit` and `nearkin idf read`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import say, say_json, shown
from nearkin.cli.options import (
    Inputs,
    Json,
    RecipeOption,
    Threads,
    output,
    recipe_of,
)
from nearkin.cli.reading import Reading, reads
from nearkin.notebook import short

_KEYWORDS_EXAMPLE = "[bold]Example[/]\n\n  nearkin keywords news.jsonl --id-column id --top 5"
_FIT_EXAMPLE = (
    "[bold]Example[/]\n\n  nearkin idf fit corpus.jsonl --out corpus.idf --recipe 'cut:script|word:1' --min-df 2"
)

_READ_EXAMPLE = "[bold]Example[/]\n\n  nearkin idf read idf.utf8 --out own.idf --recipe jieba-jenkins --unknown mean"


@reads()
def keywords(
    inputs: Inputs,
    reading: Reading,
    recipe: RecipeOption = "zh-keywords",
    top: Annotated[str | None, typer.Option(help="How many: a number, a share such as 10%, or all.")] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Print the words of each document that weigh most: id, word, weight, separated by tabs.

    The recipe says what a word is, how it is weighed, and how many are printed.
    """
    set_num_threads(threads)
    made = recipe_of(recipe)
    if top is not None:
        made = made.with_(top=top)
    with reading.reported(inputs) as corpus:
        for batch in corpus.batches():
            for name, found in zip(batch.ids.to_list(), made.core.keywords(batch.texts), strict=True):
                if as_json:
                    say_json({"id": name, "keywords": found})
                    continue
                for word, weight in found:
                    say(f"{shown(name)}\t{shown(word)}\t{short(weight, 6)}")


@reads(ids=False)
def fit(
    inputs: Inputs,
    out: Annotated[Path, output("File of the table.")],
    reading: Reading,
    recipe: RecipeOption = "zh-keywords",
    min_df: Annotated[int, typer.Option(help="Drop features of fewer documents.")] = 1,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Count in how many documents each feature of a recipe occurs, in one pass, and save the table.

    A recipe names it by `idf:@FILE`.
    """
    from nearkin.text.idf import Idf

    set_num_threads(threads)
    with reading.reported(inputs) as corpus:
        idf = Idf.fit(corpus, recipe_of(recipe), min_df=min_df)
    idf.save(out)
    if as_json:
        say_json({"documents": idf.documents, "features": len(idf), "digest": idf.digest, "out": str(out)})
    else:
        say(f"{len(idf)} features of {idf.documents} documents in {shown(out)}; digest {idf.digest}")


def read(
    table: Annotated[
        Path, typer.Argument(help="`word weight` per line, such as idf.txt of jieba.", show_default=False)
    ],
    out: Annotated[Path, output("File of the table.")],
    recipe: RecipeOption = "zh-keywords",
    unknown: Annotated[
        str, typer.Option(help="What other words weigh: median (jieba), mean (cppjieba), largest, or a number.")
    ] = "median",
    as_json: Json = False,
) -> None:
    """Read a table of weights that others have made, and save it for recipes.

    A recipe names it by `idf:@FILE`.
    """
    from nearkin.text.idf import Idf

    try:
        other: float | str = float(unknown)
    except ValueError:
        other = unknown
    # Another word is refused by `read`, which says what is allowed.
    idf = Idf.read(table, recipe_of(recipe), unknown=cast("float", other))
    idf.save(out)
    if as_json:
        say_json({"features": len(idf), "unknown": idf.unknown, "digest": idf.digest, "out": str(out)})
    else:
        say(f"{len(idf)} features in {shown(out)}, others weigh {idf.unknown:.6g}; digest {idf.digest}")


def _idf() -> None:
    """Inverse document frequencies of a corpus."""


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(epilog=_KEYWORDS_EXAMPLE)(keywords)
    group = typer.Typer(help="Inverse document frequencies of a corpus.", no_args_is_help=True, rich_markup_mode="rich")
    group.callback()(_idf)
    group.command(epilog=_FIT_EXAMPLE)(fit)
    group.command(epilog=_READ_EXAMPLE)(read)
    app.add_typer(group, name="idf")
