"""`nearkin evaluate`: how right a run is, on the command line.

Results go to standard output, messages to standard error; errors and exit codes are those of `nearkin.cli`.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from nearkin.cli_common import Json
from nearkin.errors import bad_parameter

__all__ = ["add_to"]

PairColumns = Annotated[
    str | None,
    typer.Option(help="The two id columns of labelled pairs, parted by a comma; left,right and others are known."),
]
LabelColumn = Annotated[
    str | None, typer.Option(help="Column that says 0 or 1, or with --at-least how similar a pair is.")
]
AtLeast = Annotated[float | None, typer.Option(help="Pairs whose number in --label-column reaches this match.")]


def _pair_columns(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    left, comma, right = text.partition(",")
    if not (left and comma and right) or "," in right:
        raise bad_parameter("pair-columns", repr(text), "two names parted by a comma, such as left,right")
    return left, right


def evaluate(
    found: Annotated[str, typer.Argument(help="Folder of a run, or a table of pairs or clusters.")],
    truth: Annotated[str, typer.Option(help="Table of labelled pairs or of clusters, or the folder of another run.")],
    pair_columns: PairColumns = None,
    label_column: LabelColumn = None,
    at_least: AtLeast = None,
    id_column: Annotated[str | None, typer.Option(help="Id column of true clusters; id without it.")] = None,
    cluster_column: Annotated[
        str | None, typer.Option(help="Cluster column of true clusters; cluster without it.")
    ] = None,
    unlisted: Annotated[
        str, typer.Option(help="What the truth does not list: false, unjudged, or auto (false if all its pairs match).")
    ] = "auto",
    as_json: Json = False,
) -> None:
    """Score what was found against what is true: precision, recall, F1 of pairs, and B-cubed of clusters.

    The options that name columns are about the truth. Intervals are Wilson's, of 95%.
    """
    from nearkin.evaluate import evaluate as score
    from nearkin.labels import read_labels

    known = read_labels(
        truth,
        pair_columns=_pair_columns(pair_columns),
        label_column=label_column,
        at_least=at_least,
        id_column=id_column,
        cluster_column=cluster_column,
    )
    result = score(read_labels(found), known, unlisted=unlisted)  # type: ignore[arg-type]  # checked by the call
    print(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result)  # noqa: T201


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(
        epilog="""
[bold]Examples[/]

  nearkin evaluate clean --truth labelled-pairs.tsv

  nearkin evaluate clean --truth corpus.jsonl --id-column id --cluster-column work

  nearkin evaluate clean --truth pairs.tsv --label-column jaccard --at-least 0.8
"""
    )(evaluate)
