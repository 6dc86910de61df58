"""`nearkin recipe evaluate` and `nearkin recipe tune`: the accuracy of a run, and the settings to use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin.cli.commands import Commands, Options, OptionsOf
from nearkin.cli.console import progress_bars, say, say_json, show_table, warn
from nearkin.cli.corpus import CorpusOptions
from nearkin.cli.options import Inputs, Json, PageFile, Quiet, Repeated, opt
from nearkin.cli.report import check_page, write_page
from nearkin.dedup.config import THRESHOLD, DedupConfig
from nearkin.dedup.options import option
from nearkin.errors import bad_parameter, input_error
from nearkin.notebook import count_of

if TYPE_CHECKING:
    from nearkin.quality.band_tuning import BandTuning
    from nearkin.quality.judgements import ClusterLabels, DedupRun, PairLabels
    from nearkin.quality.tuning import Tuning

app = Commands()

_RECALL = 0.95
"""Default recall of `nearkin recipe tune`."""
_STRATA = {
    "stratum": "{row.name}",
    "pairs": "{row.pairs:,.0f}",
    "labels": "{row.matching.total}",
    "match": "{row.matching.value:.3f}",
    "interval": "{row.matching.low:.3f} to {row.matching.high:.3f}",
    "right": "{row.scores.true_positives}",
    "wrong": "{row.scores.false_positives}",
    "missed": "{row.scores.false_negatives}",
}
"""Columns of tables, as format strings of a row."""
_MEASURED = {"recall": "{row[recall]:,.3f}", "interval": "{row[recall_low]:.3f} to {row[recall_high]:.3f}"}
_SETTINGS = {
    "recipe": "{row[recipe]}",
    "bytes": "{row[bytes]}",
    "threshold": "{row[threshold]:g}",
    "radius": "{row[radius]:d}",
    **_MEASURED,
    "candidates": "{row[candidates_per_document]:,.2f}",
    "precision": "{row[precision]:,.3f}",
    "hash": "{row[hash_seconds]:,.1f}",
    "verify": "{row[verify_seconds]:,.1f}",
}
_LENGTHS = {
    "features": "{row[from]} to {row[to]}",
    "pairs": "{row[pairs]}",
    "recall": "{row[recall]:.3f}",
    "median distance": "{row[median]:g}",
    "95%": "{row[p95]:g}",
}
_BANDS = {
    "values": "{row[num_perm]}",
    "bands": "{row[num_bands]}",
    "rows": "{row[num_rows]}",
    "least equal": "{row[least_equal_values]}",
    "nominal": "{row[nominal_recall]:g}",
    **_MEASURED,
    "candidates": "{row[candidates_per_document]:,.3f}",
    "precision": "{row[precision]:,.3f}",
}


@dataclass(frozen=True)
class LabelOptions:
    """Options for reading a table of labels."""

    pair_columns: str | None = option(
        None,
        help="The two id columns of labelled pairs, separated by a comma (default: left,right and other usual names).",
    )
    label_column: str | None = option(None, help="Column with 0 or 1; with --min-similarity a number.")
    min_similarity: float | None = option(None, help="Pairs with at least this number in --label-column match.")
    cluster_column: str | None = option(None, help="Cluster column of true clusters (default: cluster).")

    def read(self, path: str, id_column: str | None = None) -> PairLabels | ClusterLabels | DedupRun:
        """Read labels from a table or from the output folder of a run."""
        from nearkin.quality.judgements import read_judgements

        columns = None
        if self.pair_columns is not None:
            left, comma, right = self.pair_columns.partition(",")
            if not (left and comma and right) or "," in right:
                allowed = "two names separated by a comma, such as left,right"
                raise bad_parameter("pair_columns", repr(self.pair_columns), allowed)
            columns = left, right
        return read_judgements(
            path,
            pair_columns=columns,
            label_column=self.label_column,
            min_similarity=self.min_similarity,
            id_column=id_column,
            cluster_column=self.cluster_column,
        )


@app.add()
def evaluate(
    result: Annotated[str, typer.Argument(help="Folder of a run, or a table of pairs or clusters.", metavar="FOUND")],
    truth: Annotated[str, opt("Table of labelled pairs or of clusters, or the folder of another run.")],
    label_options: LabelOptions,
    id_column: Annotated[str | None, opt("Id column of true clusters (default: id).")] = None,
    unlisted: Annotated[
        str,
        opt(
            "Pairs that the truth does not list: false, unjudged, or auto (false if all listed pairs match).",
            choices=("auto", "false", "unjudged"),
        ),
    ] = "auto",
    report: PageFile = None,
    as_json: Json = False,
) -> None:
    """Compare a result with the truth: precision, recall and F1 of pairs, and B-cubed of clusters.

    Options that name columns are for the truth. Intervals are Wilson intervals of 95%.

    Examples
    --------
    $ nearkin recipe evaluate clean --truth labels.tsv
    pairwise  precision 1.000 (0.207 to 1.000, 1 of 1)
              recall    1.000 (0.207 to 1.000, 1 of 1)
              F1        1.000 (0.342 to 1.000)
    links     precision 1.000 (0.207 to 1.000, 1 of 1)
    note: pairs that the truth does not list are not judged, so there is n...

    nearkin recipe evaluate clean --truth labelled-pairs.tsv
    nearkin recipe evaluate clean --truth corpus.jsonl --id-column id --cluster-column work
    nearkin recipe evaluate clean --truth pairs.tsv --label-column jaccard --min-similarity 0.8
    nearkin recipe evaluate clean --truth labels.tsv --report scores.html
    """
    from nearkin.quality.evaluation import evaluate as score
    from nearkin.quality.judgements import DedupRun, read_judgements

    check_page(report)
    labels = label_options.read(truth, id_column)
    run = read_judgements(result)
    scores = score(run, labels, unlisted=unlisted)  # type: ignore[arg-type]  # The call checks it.
    if isinstance(run, DedupRun) and run.numbered:
        warn(f"{result}: its ids are row numbers, since nearkin dedup was run without --id-column")
    if report is not None:
        from nearkin.report.evaluation import evaluation_page, group_by_similarity
        from nearkin.report.run import Run

        steps = None
        if isinstance(run, DedupRun):
            steps = group_by_similarity(Run.from_folder(Path(result)), labels, unlisted)  # type: ignore[arg-type]
        write_page(report, evaluation_page(scores, result, truth, steps))
    if as_json:
        say_json(scores.to_dict())
    else:
        say(str(scores))
        if scores.strata:
            say("\nlabels by stratum, and how many pairs of each kind were found:")
            _print_rows(_STRATA, scores.strata)


def _print_rows(columns: Mapping[str, str], rows: Iterable[object]) -> None:
    """Print a table whose columns are format strings of `row`; a value that is None is shown as a dash."""

    def show(form: str, row: object) -> str:
        try:
            return form.format(row=row)
        except TypeError:
            # None has no format such as `.3f`.
            return "-"

    cells = ([show(form, row) for form in columns.values()] for row in rows)
    show_table(list(columns), cells, lines=False, right=list(columns)[1:])


@app.add(
    brief=("text_column", "id_column", "format", "threshold", "recall", "truth", "recipe", "bits", "report", "as_json"),
    threads=True,
)
def tune(
    inputs: Inputs,
    reading: CorpusOptions,
    label_options: LabelOptions,
    matching: Annotated[Options, OptionsOf(DedupConfig, "threshold", "recall", show_defaults=False)],
    truth: Annotated[
        str | None, opt("Table of labelled pairs or clusters (default: similar pairs).", "--truth")
    ] = None,
    recipe: Annotated[Repeated, opt("Recipe whose features to try; may be repeated.")] = None,
    bits: Annotated[list[int] | None, opt("Width to try; may be repeated.")] = None,
    num_perm: Annotated[list[int] | None, opt("Signature size to try with minhash; may be repeated.")] = None,
    sample: Annotated[int, opt("Maximum number of documents to measure.")] = 20_000,
    seed: Annotated[int, opt("Seed of the sample and of the intervals.")] = 0,
    report: PageFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the bits and radius that reach a recall, or the features that agree best with labels.

    With a minhash recipe, find the number of values and bands. The last line is the command to run. --json prints the
    whole curve. The default threshold is 0.8, or with labels the one with the best F1.

    Examples
    --------
    $ nearkin recipe tune corpus.jsonl --threshold 0.5 --bits 64
    4 of 4 documents measured, 3 true pairs: every pair of the sample compared
    recipe  bytes   threshold       radius  recall  interval        candid...
    char:4|binary|xxh3|simhash:64   8       0.5     23      1.000   0.207...
    candidates: per document; hash, verify: CPU seconds per million documents
    ...

    nearkin recipe tune corpus.jsonl --threshold 0.8 --recall 0.95
    nearkin recipe tune corpus.jsonl --recipe minhash --threshold 0.8
    nearkin recipe tune corpus.jsonl --id-column id --truth labels.tsv
    nearkin recipe tune corpus.jsonl --threshold 0.8 --report tuning.html
    """
    from nearkin.quality.band_tuning import NUM_PERMS, tune_bands
    from nearkin.quality.judgements import DedupRun
    from nearkin.quality.tuning import BITS
    from nearkin.quality.tuning import tune as tune_bits
    from nearkin.recipe import PRESETS, Recipe

    check_page(report)
    recipes = recipe or []
    bands = bool(num_perm) or any(Recipe.of(each).family == "minhash" for each in recipes)
    if bands and (truth is not None or bits or len(recipes) > 1):
        raise bad_parameter("recipe", ", ".join(recipes or ["none"]), "one with minhash, without --truth and --bits")
    labels = None if truth is None else label_options.read(truth)
    if isinstance(labels, DedupRun):
        raise input_error(truth, "is the output folder of a run, which is not the truth; give a table of labels")
    shared: dict[str, Any] = {"recall": _RECALL, **matching, "sample": sample, "seed": seed}
    measured: BandTuning | Tuning
    with reading.read(inputs, quiet=quiet) as corpus, progress_bars(quiet=quiet) as progress:
        if bands:
            shared = {"threshold": THRESHOLD, **shared, "recipe": recipes[0] if recipes else PRESETS["minhash"]}
            measured = tune_bands(corpus, num_perms=num_perm or NUM_PERMS, progress=progress, **shared)
        else:
            shared |= {"truth": labels, "recipes": recipes or None}
            measured = tune_bits(corpus, bits=bits or BITS, progress=progress, **shared)
    command = measured.command(inputs, reading=reading.command_words(), out=_unused_name("clean"))
    if report is not None:
        from nearkin.report.tuning import tuning_page

        write_page(report, tuning_page(measured, " ".join(inputs), recall=shared["recall"], command=command))
    if as_json:
        say_json({**measured.to_dict(), "command": command})
    else:
        _print_tuning(measured, command)


def _unused_name(name: str) -> str:
    """Return this name, or the first one with a number after it that no file or folder has."""
    return next(each for each in chain([name], (f"{name}-{at}" for at in count(2))) if not Path(each).exists())


def _print_tuning(tuning: BandTuning | Tuning, command: str | None) -> None:
    """Print the size of the sample, the measurements, notes, and the command to run as the last line."""
    from nearkin.quality.band_tuning import BandTuning

    truth = tuning.truth
    say(
        f"{truth['sample']:,} of {truth['documents']:,} documents measured, {count_of(truth['pairs'], 'true pair')}: "
        f"{truth['method']}"
    )
    if isinstance(tuning, BandTuning):
        _print_rows(_BANDS, tuning.curve.rows())
        say("candidates: per document; nominal: the recall to request of a deduplication")
    else:
        _print_settings(tuning)
    for note in tuning.notes:
        say(f"note: {note}")
    if command is not None:
        say(f"\n{command}")


def _print_settings(tuning: Tuning) -> None:
    """Print a row for every recipe with the radius that it needs, and recall by length."""
    labelled = tuning.goal == "f1"
    _print_rows({**_SETTINGS, **({"F1": "{row[match_f1]:,.3f}"} if labelled else {})}, tuning.settings.rows())
    about = "candidates: per document; hash, verify: CPU seconds per million documents"
    say(about + (", F1: verified" if labelled else ""))
    if len(tuning.by_length):
        say("\nby length, quarters of the true pairs:")
        _print_rows(_LENGTHS, tuning.by_length.rows())
