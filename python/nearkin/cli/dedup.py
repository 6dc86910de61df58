"""`nearkin dedup` and `nearkin pairs`: near-duplicates of a corpus on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import progress_bars, report_malformed, warn
from nearkin.cli.dedup_files import dedup_files
from nearkin.cli.options import (
    Bits,
    Confirm,
    FamilyOption,
    FormatOption,
    IdColumn,
    Inputs,
    Json,
    Quiet,
    Radius,
    Recall,
    RecipeOption,
    Strict,
    TextColumn,
    Threads,
    Threshold,
    VerifyOption,
    recipe_of,
)
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from nearkin.io import Corpus
    from nearkin.pipeline.results import DedupResult


def dedup(
    context: typer.Context,
    inputs: Inputs,
    out: Annotated[
        str, typer.Option("--out", "-o", help="New folder for kept, clusters and summary; - prints what is kept.")
    ],
    text_column: TextColumn = "text",
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: RecipeOption = None,
    family: FamilyOption = None,
    bits: Bits = None,
    threshold: Annotated[
        float | None, typer.Option(help="Smallest similarity of a match, inclusive: 0.8, or a score of 80 of ssdeep.")
    ] = None,
    radius: Radius = None,
    recall: Recall = None,
    confirm: Confirm = None,
    verify: VerifyOption = "jaccard",
    cluster: Annotated[str, typer.Option(help="absorb (no chains) or components (chains are one cluster).")] = "absorb",
    keep: Annotated[
        str,
        typer.Option(
            help="Which stays: first, last, longest, shortest, max:COLUMN, min:COLUMN; of files also oldest, newest."
        ),
    ] = "first",
    source_column: Annotated[str | None, typer.Option(help="Count removals by this column, warn of outliers.")] = None,
    against: Annotated[
        list[str] | None, typer.Option(help="Older corpus: remove what matches it, too. May stand several times.")
    ] = None,
    links: Annotated[
        str, typer.Option(help="Pairs written: representatives (removed ones) or all verified ones.")
    ] = "representatives",
    strict: Strict = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run's output.")] = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Keep one of each group of near-duplicates, and say what was removed and why.

    DIR/kept.* has the documents that stay, in the input's format and order; DIR/clusters.* names for each removed
    document the one kept, their distance and similarity; DIR/pairs.* the links; DIR/summary.json counts and timings.
    """
    from nearkin.io import OutputDir, open_corpus, write_table
    from nearkin.pipeline.texts import THRESHOLD
    from nearkin.pipeline.texts import dedup as run

    set_num_threads(threads)
    if family == "ssdeep":
        dedup_files(
            context,
            inputs=inputs,
            out=out,
            recipe=recipe,
            threshold=threshold,
            cluster=cluster,
            keep=keep,
            against=against,
            links=links,
            strict=strict,
            overwrite=overwrite,
            as_json=as_json,
            quiet=quiet,
        )
        return
    made = recipe_of(recipe, bits, family)
    rule, _, field = keep.partition(":")
    if (rule in ("max", "min")) != bool(field):
        raise bad_parameter("keep", keep, "first, last, longest, shortest, max:COLUMN or min:COLUMN")
    extra = [name for name in (field or None, source_column) if name]
    to_stdout = out == "-"
    spool = None if to_stdout else str(_existing_parent(Path(out)))
    options: dict[str, Any] = {
        "format": format,
        "text_column": text_column,
        "id_column": id_column,
        "strict": strict,
        "spool_dir": spool,
    }
    with open_corpus(inputs, extra_columns=extra, **options) as corpus, _open_older(against, options) as older:
        inputs_named = [*corpus.inputs, *(older.inputs if older else [])]
        target = None if to_stdout else OutputDir(out, overwrite=overwrite, inputs=inputs_named)
        with _nothing() if target is None else target:
            with progress_bars(quiet=quiet) as progress:
                result = run(
                    corpus,
                    recipe=made,
                    threshold=THRESHOLD if threshold is None else threshold,
                    radius=radius,
                    recall=recall,
                    confirm=confirm,
                    verify=verify,  # type: ignore[arg-type]  # checked by the call, with its message
                    cluster=cluster,  # type: ignore[arg-type]
                    keep=rule,
                    values=field or None,
                    sources=source_column,
                    against=older,
                    links=links,  # type: ignore[arg-type]
                    progress=progress,
                )
            summary = {
                **result.summary,
                "inputs": [str(path) for path in corpus.inputs],
                "format": corpus.format,
                "text_column": text_column,
                "id_column": id_column,
                "kept_file": corpus.kept_name,
                "bytes_read": corpus.bytes_read,
                "malformed": corpus.malformed.count,
                "malformed_first": [str(record) for record in corpus.malformed.first],
            }
            if target is None:
                corpus.write_kept(result.kept_rows, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                corpus.write_kept(result.kept_rows, target)
                write_table(target, "clusters", result.clusters.columns, corpus.format)
                write_table(target, "pairs", result.pairs.columns, corpus.format)
                target.write_json("summary.json", summary)
        report_malformed(corpus)
    for warning in summary.get("warnings", []):
        warn(f"warning: {warning}")
    if as_json and not to_stdout:
        print(json.dumps(summary, ensure_ascii=False))  # noqa: T201
    elif not quiet:
        _print_summary(result, summary, None if to_stdout else Path(out) / corpus.kept_name)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _open_older(paths: list[str] | None, options: Mapping[str, Any]) -> Iterator[Corpus | None]:
    from nearkin.io import open_corpus

    if not paths:
        yield None
        return
    with open_corpus(paths, **options) as corpus:
        yield corpus


def _existing_parent(path: Path) -> Path:
    path = path.absolute()
    while not path.is_dir():
        path = path.parent
    return path


def _print_summary(result: DedupResult, summary: Mapping[str, Any], kept: Path | None) -> None:
    """What a reader of the terminal wants to know, on standard error."""
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, highlight=False)
    reasons = summary["removed_by_reason"]
    share = summary["removed"] / summary["documents"] if summary["documents"] else 0.0
    seconds = sum(stage["wall"] for stage in summary["timings"].values())
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    table.add_column()
    table.add_row(
        f"{summary['documents']:,}", f"documents read in {seconds:.1f} s ({summary['bytes_read'] / 1e6:,.1f} MB)"
    )
    table.add_row(f"{summary['kept']:,}", "kept" + (f" in {kept}" if kept else ""))
    table.add_row(
        f"{summary['removed']:,}",
        f"removed ({share:.1%}) in {summary['clusters']:,} clusters, the largest of {summary['largest_cluster']:,}",
    )
    table.add_row(f"{reasons['exact'] + reasons['exact-old']:,}", "of them exact copies")
    table.add_row(
        f"{reasons['near'] + reasons['near-old']:,}",
        f"of them near-duplicates: {summary['verify']} similarity of at least {summary['threshold']}"
        if summary["verify"] != "none"
        else "of them near-duplicates, not verified: " + _reach(summary),
    )
    if reasons["exact-old"] + reasons["near-old"]:
        table.add_row(f"{reasons['exact-old'] + reasons['near-old']:,}", "of them match older documents")
    if summary["without_features"]:
        table.add_row(f"{summary['without_features']:,}", "without any letter: kept, never compared")
    if summary["malformed"]:
        table.add_row(f"{summary['malformed']:,}", "records skipped that can't be read")
    table.add_row(f"{summary['candidates']:,}", f"candidates ({_reach(summary)}); {summary['verified']:,} verified")
    table.add_row("", f"recipe {summary['recipe']}")
    console.print(table)
    if len(result.clusters) and result.clusters["reason"][0] == "kept":
        head = next(result.clusters.rows())["representative"]
        removed = [row for row in _first_rows(result, 12) if row["representative"] == head and row["reason"] != "kept"][
            :1
        ]
        for row in removed:
            console.print(
                f"\nfor example {row['id']} is removed for {head} ({row['reason']}, similarity {row['similarity']:.2f})"
            )


def _reach(summary: Mapping[str, Any]) -> str:
    """What made a pair a candidate."""
    if "radius" in summary:
        return f"within {summary['radius']} bits"
    bands = f"{summary['num_bands']} bands of {summary['num_rows']}"
    return f"{bands}, recall {summary['expected_recall']:.1%} at the threshold"


def _first_rows(result: DedupResult, count: int) -> list[dict[str, Any]]:
    rows = result.clusters.rows()
    return [row for _, row in zip(range(count), rows, strict=False)]


def pairs(
    inputs: Inputs,
    text_column: TextColumn = "text",
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: RecipeOption = None,
    bits: Bits = None,
    threshold: Threshold = 0.8,
    radius: Radius = None,
    verify: VerifyOption = "jaccard",
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print every pair of near-duplicates: left, right, distance, similarity, parted by tabulators."""
    from nearkin.io import open_corpus
    from nearkin.pipeline.texts import dedup as run

    set_num_threads(threads)
    with open_corpus(inputs, format=format, text_column=text_column, id_column=id_column, strict=strict) as corpus:
        with progress_bars(quiet=quiet) as progress:
            result = run(
                corpus,
                recipe=recipe_of(recipe, bits),
                threshold=threshold,
                radius=radius,
                verify=verify,  # type: ignore[arg-type]  # checked by the call, with its message
                links="all",
                progress=progress,
            )
        report_malformed(corpus)
    for row in result.pairs.rows():
        similarity = None if row["similarity"] != row["similarity"] else row["similarity"]
        if as_json:
            line = json.dumps({**row, "similarity": similarity}, ensure_ascii=False)
        else:
            shown = "-" if similarity is None else f"{similarity:.4f}"
            line = f"{row['left']}\t{row['right']}\t{row['distance']}\t{shown}"
        print(line)  # noqa: T201


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(
        epilog="""
[bold]Examples[/]

  nearkin dedup corpus.jsonl --out clean

  nearkin dedup 'crawl/*.parquet' --out clean --text-column body --id-column url --keep max:score

  nearkin dedup today.jsonl.gz --against yesterday.jsonl.gz --out new --threshold 0.7

  nearkin dedup --family ssdeep Documents --out report --keep newest
"""
    )(dedup)
    app.command(epilog="[bold]Example[/]\n\n  nearkin pairs corpus.jsonl --id-column id --threshold 0.9 --json | head")(
        pairs
    )
