"""`nearkin evaluate` and `nearkin tune`: how right a run is, and which radius to take, on the command line.

Results go to standard output, messages to standard error; errors and exit codes are those of `nearkin.cli`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import progress_bars, report_malformed
from nearkin.cli.options import FormatOption, IdColumn, Inputs, Json, Quiet, Strict, TextColumn, Threads
from nearkin.errors import InputError, bad_parameter

if TYPE_CHECKING:
    from nearkin.quality.band_tuning import BandTuning
    from nearkin.quality.tuning import Tuning

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
    from nearkin.quality.evaluation import evaluate as score
    from nearkin.quality.labels import read_labels

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


def tune(
    inputs: Inputs,
    text_column: TextColumn = "text",
    id_column: IdColumn = None,
    format: FormatOption = None,
    pairs: Annotated[
        str | None, typer.Option(help="Table of labelled pairs or clusters; without, similar pairs.")
    ] = None,
    pair_columns: PairColumns = None,
    label_column: LabelColumn = None,
    at_least: AtLeast = None,
    cluster_column: Annotated[
        str | None, typer.Option(help="Cluster column of --pairs, if these are clusters; cluster without it.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Smallest similarity of a match; 0.8, or with labels the one of the best F1.")
    ] = None,
    recall: Annotated[float, typer.Option(help="Share of the true pairs that the candidates have to hold.")] = 0.95,
    recipe: Annotated[
        list[str] | None, typer.Option(help="Recipe whose features are tried; may stand several times.")
    ] = None,
    bits: Annotated[list[int] | None, typer.Option(help="Width that is tried; may stand several times.")] = None,
    num_perm: Annotated[
        list[int] | None,
        typer.Option(help="Values of a signature that are tried with minhash; may stand several times."),
    ] = None,
    sample: Annotated[int, typer.Option(help="Most documents that are measured.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the sample and of the intervals.")] = 0,
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which bits and radius find the wanted share of similar pairs, or which features agree best with labels.

    With a recipe of the family minhash it says which values and bands do. The last line is the command to run.
    --json has the whole curve.
    """
    from nearkin.io import open_corpus
    from nearkin.pipeline.texts import THRESHOLD
    from nearkin.quality.band_tuning import NUM_PERMS, tune_bands
    from nearkin.quality.labels import Run, read_labels
    from nearkin.quality.tuning import BITS
    from nearkin.quality.tuning import tune as measure
    from nearkin.recipe import PRESETS, Recipe

    set_num_threads(threads)
    if num_perm or any(Recipe.of(each).family == "minhash" for each in recipe or []):
        if pairs is not None or bits or len(recipe or []) > 1:
            raise bad_parameter("recipe", ", ".join(recipe or ["none"]), "one with minhash, without --pairs and --bits")
        with open_corpus(inputs, format=format, text_column=text_column, id_column=id_column, strict=strict) as corpus:
            with progress_bars(quiet=quiet) as progress:
                measured = tune_bands(
                    corpus,
                    threshold=THRESHOLD if threshold is None else threshold,
                    recall=recall,
                    recipe=recipe[0] if recipe else PRESETS["minhash"],
                    num_perms=num_perm or NUM_PERMS,
                    sample=sample,
                    seed=seed,
                    progress=progress,
                )
            report_malformed(corpus)
        if as_json:
            print(json.dumps(measured.to_dict(), ensure_ascii=False))  # noqa: T201
        else:
            _print_bands(measured, " ".join(inputs))
        return
    labels = None
    if pairs is not None:
        labels = read_labels(
            pairs,
            pair_columns=_pair_columns(pair_columns),
            label_column=label_column,
            at_least=at_least,
            cluster_column=cluster_column,
        )
        if isinstance(labels, Run):
            reason = "is the folder of a run, which says what was found, not what is true; give a table of labels"
            raise InputError(f"{pairs}: {reason}", place=pairs, reason=reason)
    with open_corpus(inputs, format=format, text_column=text_column, id_column=id_column, strict=strict) as corpus:
        with progress_bars(quiet=quiet) as progress:
            found = measure(
                corpus,
                pairs=labels,
                threshold=threshold,
                recall=recall,
                recipes=recipe or None,
                bits=bits or BITS,
                sample=sample,
                seed=seed,
                progress=progress,
            )
        report_malformed(corpus)
    if as_json:
        print(json.dumps(found.to_dict(), ensure_ascii=False))  # noqa: T201
    else:
        _print_tuning(found, " ".join(inputs))


def _print_tuning(found: Tuning, corpus: str) -> None:
    from rich.console import Console
    from rich.table import Table

    # A pipe has no width to keep to.
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 1 << 10)
    truth = found.truth
    console.print(
        f"{truth['sample']:,} of {truth['documents']:,} documents measured, {truth['pairs']:,} true pairs: "
        f"{truth['method']}"
    )
    labelled = found.goal == "f1"
    table = Table(box=None, padding=(0, 2, 0, 0))
    names = [
        "recipe",
        "bytes",
        "threshold",
        "radius",
        "recall",
        "interval",
        "candidates",
        "precision",
        "hash",
        "verify",
    ]
    names += ["F1"] if labelled else []
    for name in names:
        table.add_column(name, justify="left" if name == "recipe" else "right")
    for row in found.settings.rows():
        cells = [row["recipe"], row["bytes"], f"{row['threshold']:g}", "-" if row["radius"] is None else row["radius"]]
        interval = "-" if row["radius"] is None else f"{row['recall_low']:.3f} to {row['recall_high']:.3f}"
        cells += [_number(row["recall"], 3), interval, _number(row["candidates_per_document"], 2)]
        cells += [_number(row["precision"], 3), _number(row["hash_seconds"], 1), _number(row["verify_seconds"], 1)]
        cells += [_number(row["match_f1"], 3)] if labelled else []
        table.add_row(*map(str, cells))
    console.print(table)
    console.print(
        "candidates: a document; hash, verify: CPU seconds a million documents" + (", F1: verified" * labelled)
    )
    if len(found.by_length):
        console.print("\nby length, quarters of the true pairs:")
        table = Table("features", "pairs", "recall", "median distance", "95%", box=None, padding=(0, 2, 0, 0))
        for row in found.by_length.rows():
            values = f"{row['recall']:.3f}", f"{row['median']:g}", f"{row['p95']:g}"
            table.add_row(f"{row['from']} to {row['to']}", str(row["pairs"]), *values)
        console.print(table)
    for note in found.notes:
        console.print(f"note: {note}")
    if (command := found.command(corpus)) is not None:
        console.print(f"\n{command}")


def _print_bands(found: BandTuning, corpus: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 1 << 10)
    truth = found.truth
    console.print(
        f"{truth['sample']:,} of {truth['documents']:,} documents measured, {truth['pairs']:,} true pairs: "
        f"{truth['method']}"
    )
    names = ("values", "bands", "rows", "least equal", "nominal", "recall", "interval", "candidates", "precision")
    table = Table(*names, box=None, padding=(0, 2, 0, 0))
    for row in found.curve.rows():
        cells = [row["num_perm"], row["num_bands"], row["num_rows"], row["least_equal_values"]]
        cells += [f"{row['nominal_recall']:g}", _number(row["recall"], 3)]
        cells += [f"{row['recall_low']:.3f} to {row['recall_high']:.3f}"]
        cells += [_number(row["candidates_per_document"], 3), _number(row["precision"], 3)]
        table.add_row(*map(str, cells))
    console.print(table)
    console.print("candidates: a document; nominal: the recall to ask a deduplication for")
    for note in found.notes:
        console.print(f"note: {note}")
    if (command := found.command(corpus)) is not None:
        console.print(f"\n{command}")


def _number(value: Any, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


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
    app.command(
        epilog="""
[bold]Examples[/]

  nearkin tune corpus.jsonl --threshold 0.8 --recall 0.95

  nearkin tune corpus.jsonl --recipe minhash --threshold 0.8

  nearkin tune corpus.jsonl --id-column id --pairs labelled-pairs.tsv
"""
    )(tune)
