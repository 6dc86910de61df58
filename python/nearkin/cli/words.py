"""The command line of words: `nearkin keywords` and `nearkin idf fit`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from nearkin._core import set_num_threads
from nearkin.cli.options import FormatOption, IdColumn, Inputs, Json, Strict, TextColumn, Threads, recipe_of

idf_app = typer.Typer(name="idf", help="Inverse document frequencies of a corpus.", no_args_is_help=True)


def keywords(
    inputs: Inputs,
    text_column: TextColumn = "text",
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: Annotated[
        str, typer.Option("--recipe", help="Recipe or preset: words, their weight, how many.", metavar="RECIPE")
    ] = "zh-keywords",
    top: Annotated[str | None, typer.Option(help="How many: a number, a share such as 10%, or all.")] = None,
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Print the words of each document that weigh most: id, word, weight, parted by tabulators."""
    from nearkin.io import open_corpus

    set_num_threads(threads)
    made = recipe_of(recipe, None)
    if top is not None:
        made = made.with_(top=top)
    with open_corpus(inputs, format=format, text_column=text_column, id_column=id_column, strict=strict) as corpus:
        for batch in corpus.batches():
            for name, found in zip(batch.ids.to_list(), made.core.keywords(batch.texts), strict=True):
                if as_json:
                    print(json.dumps({"id": name, "keywords": found}, ensure_ascii=False))  # noqa: T201
                    continue
                for word, weight in found:
                    print(f"{name}\t{word}\t{weight:.6g}")  # noqa: T201


@idf_app.command(
    epilog="[bold]Example[/]\n\n  nearkin idf fit corpus.jsonl --out corpus.idf --recipe 'cut:script|word:1' --min-df 2"
)
def fit(
    inputs: Inputs,
    out: Annotated[str, typer.Option("--out", "-o", help="File of the table.")],
    text_column: TextColumn = "text",
    format: FormatOption = None,
    recipe: Annotated[
        str, typer.Option("--recipe", help="Recipe or preset: what a feature is.", metavar="RECIPE")
    ] = "zh-keywords",
    min_df: Annotated[int, typer.Option(help="Drop features of fewer documents.")] = 1,
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Count in how many documents each feature occurs, in one pass, and save the table that `idf:@FILE` names."""
    from nearkin.io import open_corpus
    from nearkin.text.idf import Idf

    set_num_threads(threads)
    with open_corpus(inputs, format=format, text_column=text_column, strict=strict) as corpus:
        idf = Idf.fit(corpus, recipe_of(recipe, None), min_df=min_df)
    idf.save(out)
    found = {"documents": idf.documents, "features": len(idf), "digest": idf.digest, "out": out}
    if as_json:
        print(json.dumps(found, ensure_ascii=False))  # noqa: T201
    else:
        print(f"{len(idf)} features of {idf.documents} documents in {out}; digest {idf.digest}")  # noqa: T201


@idf_app.callback()
def _idf() -> None:
    """Inverse document frequencies of a corpus."""


__all__ = ["idf_app", "keywords"]
