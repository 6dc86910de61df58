"""`nearkin contains`: which known texts are inside others, and where."""

from __future__ import annotations

from typing import Annotated

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import say, say_json, shown
from nearkin.cli.options import OLDER, Inputs, Json, Recall, RecipeOption, Threads, Threshold, recipe_of
from nearkin.cli.reading import Reading, reads

_EXAMPLES = """
[bold]Examples[/]

  nearkin contains src --format files --known licences --recipe 'word:5|binary|xxh3|simhash:128'

  nearkin contains pages.jsonl --known articles.jsonl --id-column url --json
"""


@reads()
def contains(
    inputs: Inputs,
    known: Annotated[
        list[str],
        typer.Option(help="The known texts, read as the inputs are; may be repeated.", rich_help_panel=OLDER),
    ],
    reading: Reading,
    recipe: RecipeOption = None,
    threshold: Threshold = None,
    recall: Recall = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Print which known texts are inside which inputs: input, known text, similarity, start, end, separated by tabs.

    Similarity is the share of the known text's features that the input has, at least 0.8 unless another threshold is
    given. Start and end (exclusive) are characters of the input: the shortest stretch that holds nine tenths of what
    both share, and what follows of it on either side. A known text at the threshold is found with probability 0.95, or
    --recall.
    """
    from nearkin.dedup.contains import THRESHOLD, KnownTexts
    from nearkin.theory import CONTAINMENT_RECALL

    set_num_threads(threads)
    with reading.reported(known) as corpus:
        held = KnownTexts(
            corpus,
            recipe=recipe_of(recipe),
            threshold=THRESHOLD if threshold is None else threshold,
            recall=CONTAINMENT_RECALL if recall is None else recall,
        )
    with reading.reported(inputs) as corpus:
        for found in held.find_each(corpus):
            for row in found.rows():
                if as_json:
                    say_json(row)
                else:
                    names = f"{shown(row['query'])}\t{shown(row['id'])}"
                    say(f"{names}\t{row['similarity']:.4f}\t{row['start']}\t{row['end']}")


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(epilog=_EXAMPLES)(contains)
