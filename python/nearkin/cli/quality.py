"""`nearkin evaluate` and `nearkin tune`: how right a run is, and which radius to take, on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import progress_bars, say, say_json, show_table, warn
from nearkin.cli.options import (
    AtLeast,
    ClusterColumn,
    Inputs,
    Json,
    LabelColumn,
    PageFile,
    PairColumns,
    Quiet,
    Recall,
    Threads,
    Threshold,
    one_of,
)
from nearkin.cli.pages import check_page, write_page
from nearkin.cli.reading import Reading, reads
from nearkin.errors import InputError, bad_parameter
from nearkin.notebook import count_of

if TYPE_CHECKING:
    from nearkin.io import Corpus
    from nearkin.quality.band_tuning import BandTuning
    from nearkin.quality.evaluation import StratumScores
    from nearkin.quality.labels import ClusterLabels, PairLabels
    from nearkin.quality.tuning_results import Tuning

_RECALL = 0.95

_EVALUATE_EXAMPLES = """
[bold]Examples[/]

  nearkin evaluate clean --truth labelled-pairs.tsv

  nearkin evaluate clean --truth corpus.jsonl --id-column id --cluster-column work

  nearkin evaluate clean --truth pairs.tsv --label-column jaccard --at-least 0.8

  nearkin evaluate clean --truth labels.tsv --report scores.html
"""
_TUNE_EXAMPLES = """
[bold]Examples[/]

  nearkin tune corpus.jsonl --threshold 0.8 --recall 0.95

  nearkin tune corpus.jsonl --recipe minhash --threshold 0.8

  nearkin tune corpus.jsonl --id-column id --truth labels.tsv

  nearkin tune corpus.jsonl --threshold 0.8 --report tuning.html
"""


def evaluate(
    found: Annotated[str, typer.Argument(help="Folder of a run, or a table of pairs or clusters.")],
    truth: Annotated[str, typer.Option(help="Table of labelled pairs or of clusters, or the folder of another run.")],
    pair_columns: PairColumns = None,
    label_column: LabelColumn = None,
    at_least: AtLeast = None,
    id_column: Annotated[str | None, typer.Option(help="Id column of true clusters; id without it.")] = None,
    cluster_column: ClusterColumn = None,
    unlisted: Annotated[
        str,
        typer.Option(
            help="What the truth does not list: false, unjudged, or auto (false if all its pairs match).",
            autocompletion=one_of("auto", "false", "unjudged"),
        ),
    ] = "auto",
    report: PageFile = None,
    as_json: Json = False,
) -> None:
    """Score what was found against what is true: precision, recall, F1 of pairs, and B-cubed of clusters.

    The options that name columns are about the truth. Intervals are Wilson's, of 95%.
    """
    from nearkin.quality.evaluation import evaluate as score
    from nearkin.quality.labels import DedupRun, read_labels

    check_page(report)
    known = read_labels(
        truth,
        pair_columns=_pair_columns(pair_columns),
        label_column=label_column,
        at_least=at_least,
        id_column=id_column,
        cluster_column=cluster_column,
    )
    run = read_labels(found)
    result = score(run, known, unlisted=unlisted)  # type: ignore[arg-type]  # checked by the call
    if isinstance(run, DedupRun) and run.numbered:
        warn(f"{found}: its ids are row numbers, since nearkin dedup was run without --id-column")
    if report is not None:
        from nearkin.report.evaluation import by_similarity, evaluation_page
        from nearkin.report.run import Run

        steps = None
        if isinstance(run, DedupRun):
            steps = by_similarity(Run.of_folder(Path(found)), known, unlisted)  # type: ignore[arg-type]  # was checked
        write_page(report, evaluation_page(result, found, truth, steps))
    if as_json:
        say_json(result.to_dict())
    else:
        say(str(result))
        _print_strata(result.strata)


def _print_strata(strata: Sequence[StratumScores]) -> None:
    """What the labels of each stratum say, and what was found of them."""
    if not strata:
        return
    say("\nlabels by stratum; right and wrong ones were found:")
    names = ["stratum", "pairs", "labels", "match", "interval", "right", "wrong", "missed"]
    rows = (
        [
            each.name,
            f"{each.pairs:,.0f}",
            str(each.matching.of),
            f"{each.matching.value:.3f}",
            f"{each.matching.low:.3f} to {each.matching.high:.3f}",
            str(each.scores.true_positives),
            str(each.scores.false_positives),
            str(each.scores.false_negatives),
        ]
        for each in strata
    )
    show_table(names, rows, lines=False, right=names[1:])


@reads()
def tune(
    inputs: Inputs,
    reading: Reading,
    truth: Annotated[
        str | None,
        typer.Option("--truth", "--pairs", help="Table of labelled pairs or clusters; without, similar pairs."),
    ] = None,
    pair_columns: PairColumns = None,
    label_column: LabelColumn = None,
    at_least: AtLeast = None,
    cluster_column: ClusterColumn = None,
    threshold: Threshold = None,
    recall: Recall = None,
    recipe: Annotated[list[str] | None, typer.Option(help="Recipe whose features are tried; may be repeated.")] = None,
    bits: Annotated[list[int] | None, typer.Option(help="Width that is tried; may be repeated.")] = None,
    num_perm: Annotated[
        list[int] | None, typer.Option(help="Values of a signature that are tried with minhash; may be repeated.")
    ] = None,
    sample: Annotated[int, typer.Option(help="Most documents that are measured.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the sample and of the intervals.")] = 0,
    report: PageFile = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which bits and radius reach the wanted recall, or which features agree best with labels.

    With a recipe of the family minhash it says which values and bands reach it. The last line is the command to run.
    --json has the whole curve. The threshold is 0.8 unless another is given, or with labels the one of the best F1.
    """
    set_num_threads(threads)
    check_page(report)
    wanted = _RECALL if recall is None else recall
    bands = _of_bands(recipe or [], num_perm or [])
    if bands and (truth is not None or bits or len(recipe or []) > 1):
        raise bad_parameter("recipe", ", ".join(recipe or ["none"]), "one with minhash, without --truth and --bits")
    labels = None
    if truth is not None:
        labels = _labels(truth, pair_columns, label_column, at_least, cluster_column)
    measured: BandTuning | Tuning
    with reading.reported(inputs) as corpus:
        if bands:
            measured = _measure_bands(
                corpus, threshold, wanted, recipe or [], num_perm or [], sample=sample, seed=seed, quiet=quiet
            )
        else:
            measured = _measure_bits(
                corpus, labels, threshold, wanted, recipe or [], bits or [], sample=sample, seed=seed, quiet=quiet
            )
    command = measured.command(inputs, reading=reading.words(), out=_free("clean"))
    if report is not None:
        from nearkin.report.tuning import tuning_page

        write_page(report, tuning_page(measured, " ".join(inputs), recall=wanted, command=command))
    if as_json:
        say_json({**measured.to_dict(), "command": command})
    else:
        _print(measured, command)


def _free(name: str) -> str:
    """A name that no file or folder has yet: this one, or the first with a number after it."""
    return next(each for each in chain([name], (f"{name}-{at}" for at in count(2))) if not Path(each).exists())


def _pair_columns(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    left, comma, right = text.partition(",")
    if not (left and comma and right) or "," in right:
        raise bad_parameter("pair_columns", repr(text), "two names separated by a comma, such as left,right")
    return left, right


def _labels(
    path: str,
    pair_columns: str | None,
    label_column: str | None,
    at_least: float | None,
    cluster_column: str | None,
) -> PairLabels | ClusterLabels:
    """The labels of a table; the folder of a run is refused."""
    from nearkin.quality.labels import DedupRun, read_labels

    labels = read_labels(
        path,
        pair_columns=_pair_columns(pair_columns),
        label_column=label_column,
        at_least=at_least,
        cluster_column=cluster_column,
    )
    if isinstance(labels, DedupRun):
        reason = "is the folder of a run, which says what was found, not what is true; give a table of labels"
        raise InputError(f"{path}: {reason}", place=path, reason=reason)
    return labels


def _of_bands(recipes: Sequence[str], num_perms: Sequence[int]) -> bool:
    """Whether bands of signatures are tuned rather than bits and radius."""
    from nearkin.recipe import Recipe

    return bool(num_perms) or any(Recipe.of(each).family == "minhash" for each in recipes)


def _measure_bands(
    corpus: Corpus,
    threshold: float | None,
    recall: float,
    recipes: Sequence[str],
    num_perms: Sequence[int],
    *,
    sample: int,
    seed: int,
    quiet: bool,
) -> BandTuning:
    from nearkin.dedup.texts import THRESHOLD
    from nearkin.quality.band_tuning import NUM_PERMS, tune_bands
    from nearkin.recipe import PRESETS

    with progress_bars(quiet=quiet) as progress:
        return tune_bands(
            corpus,
            threshold=THRESHOLD if threshold is None else threshold,
            recall=recall,
            recipe=recipes[0] if recipes else PRESETS["minhash"],
            num_perms=num_perms or NUM_PERMS,
            sample=sample,
            seed=seed,
            progress=progress,
        )


def _measure_bits(
    corpus: Corpus,
    labels: PairLabels | ClusterLabels | None,
    threshold: float | None,
    recall: float,
    recipes: Sequence[str],
    bits: Sequence[int],
    *,
    sample: int,
    seed: int,
    quiet: bool,
) -> Tuning:
    from nearkin.quality.tuning import BITS
    from nearkin.quality.tuning import tune as measure

    with progress_bars(quiet=quiet) as progress:
        return measure(
            corpus,
            truth=labels,
            threshold=threshold,
            recall=recall,
            recipes=recipes or None,
            bits=bits or BITS,
            sample=sample,
            seed=seed,
            progress=progress,
        )


def _print(found: BandTuning | Tuning, command: str | None) -> None:
    """What was measured on how much, notes, and as the last line the command to run."""
    from nearkin.quality.band_tuning import BandTuning

    truth = found.truth
    say(
        f"{truth['sample']:,} of {truth['documents']:,} documents measured, {count_of(truth['pairs'], 'true pair')}: "
        f"{truth['method']}"
    )
    if isinstance(found, BandTuning):
        _print_bands(found)
    else:
        _print_settings(found)
    for note in found.notes:
        say(f"note: {note}")
    if command is not None:
        say(f"\n{command}")


def _print_settings(found: Tuning) -> None:
    """A row for every recipe with the radius that it needs, and how recall depends on the length."""
    names = ["recipe", "bytes", "threshold", "radius", "recall", "interval", "candidates", "precision"]
    names += ["hash", "verify"]
    labelled = found.goal == "f1"
    rows = [[*_setting(row), *([_number(row["match_f1"], 3)] if labelled else [])] for row in found.settings.rows()]
    names += ["F1"] if labelled else []
    show_table(names, rows, lines=False, right=names[1:])
    about = "candidates: per document; hash, verify: CPU seconds per million documents"
    say(about + (", F1: verified" if labelled else ""))
    if len(found.by_length):
        say("\nby length, quarters of the true pairs:")
        show_table(
            ["features", "pairs", "recall", "median distance", "95%"],
            (
                [
                    f"{row['from']} to {row['to']}",
                    str(row["pairs"]),
                    f"{row['recall']:.3f}",
                    f"{row['median']:g}",
                    f"{row['p95']:g}",
                ]
                for row in found.by_length.rows()
            ),
            lines=False,
        )


def _setting(row: Mapping[str, Any]) -> Iterator[str]:
    """A row of settings in words; one without a radius has no recall."""
    reached = row["radius"] is not None
    yield row["recipe"]
    yield str(row["bytes"])
    yield f"{row['threshold']:g}"
    yield str(row["radius"]) if reached else "-"
    yield _number(row["recall"], 3)
    yield f"{row['recall_low']:.3f} to {row['recall_high']:.3f}" if reached else "-"
    yield _number(row["candidates_per_document"], 2)
    yield _number(row["precision"], 3)
    yield _number(row["hash_seconds"], 1)
    yield _number(row["verify_seconds"], 1)


def _print_bands(found: BandTuning) -> None:
    """A row for every number of bands."""
    names = ("values", "bands", "rows", "least equal", "nominal", "recall", "interval", "candidates", "precision")
    rows = (
        [
            str(row["num_perm"]),
            str(row["num_bands"]),
            str(row["num_rows"]),
            str(row["least_equal_values"]),
            f"{row['nominal_recall']:g}",
            _number(row["recall"], 3),
            f"{row['recall_low']:.3f} to {row['recall_high']:.3f}",
            _number(row["candidates_per_document"], 3),
            _number(row["precision"], 3),
        ]
        for row in found.curve.rows()
    )
    show_table(names, rows, lines=False)
    say("candidates: per document; nominal: the recall to ask a deduplication for")


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(epilog=_EVALUATE_EXAMPLES)(evaluate)
    app.command(epilog=_TUNE_EXAMPLES)(tune)
