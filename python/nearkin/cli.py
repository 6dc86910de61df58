"""The command line: `nearkin dedup`, `hash`, `compare`, `pairs`, `recipe`, and the commands of other modules.

Results go to standard output or files, everything else to standard error. Exit codes: 0 done, 1 failure (a file that
can't be read, say), 2 usage (an option out of its range), 3 nothing found (`search`, `ssdeep`), 130 interrupted.
`--debug` shows the traceback of a failure.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import __version__, set_num_threads
from nearkin.cli_common import (
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
    progress_bars,
    recipe_of,
    report_malformed,
    warn,
)
from nearkin.cli_dedup_files import dedup_files
from nearkin.cli_index import app as index_app
from nearkin.cli_quality import add_to as add_quality
from nearkin.cli_search import search, search_examples
from nearkin.cli_ssdeep import app as ssdeep_app
from nearkin.cli_words import idf_app, keywords
from nearkin.errors import MismatchError, NearkinError, ParameterError, bad_parameter

if TYPE_CHECKING:
    from nearkin.dedup import DedupResult
    from nearkin.io import Corpus

app = typer.Typer(
    name="nearkin",
    help="Find what is almost the same: near-duplicates of texts and files.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    context.obj = {"debug": debug}
    if version:
        print(f"nearkin {__version__}")  # noqa: T201
        raise typer.Exit


@app.command(
    epilog="""
[bold]Examples[/]

  nearkin dedup corpus.jsonl --out clean

  nearkin dedup 'crawl/*.parquet' --out clean --text-column body --id-column url --keep max:score

  nearkin dedup today.jsonl.gz --against yesterday.jsonl.gz --out new --threshold 0.7

  nearkin dedup --family ssdeep Documents --out report --keep newest
"""
)
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
    from nearkin.dedup import THRESHOLD
    from nearkin.dedup import dedup as run
    from nearkin.io import OutputDir, open_corpus, write_table

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


@app.command("hash", epilog="[bold]Example[/]\n\n  nearkin hash corpus.jsonl --id-column id --bits 64 | head")
def hash_(
    inputs: Inputs,
    text_column: TextColumn = "text",
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: RecipeOption = None,
    bits: Bits = None,
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Print the fingerprint of each document: id, tabulator, hexadecimal digits; `-` for one without any letter."""
    from nearkin.families.simhash import shape
    from nearkin.hamming import to_hex
    from nearkin.io import open_corpus

    set_num_threads(threads)
    made = recipe_of(recipe, bits)
    with open_corpus(inputs, format=format, text_column=text_column, id_column=id_column, strict=strict) as corpus:
        for batch in corpus.batches():
            values, counts = made.core.fingerprints(batch.texts)
            for name, digits, count in zip(
                batch.ids.to_list(), to_hex(shape(values, made), made.bits), counts.tolist(), strict=True
            ):
                fingerprint = digits if count else None
                if as_json:
                    line = json.dumps({"id": name, "fingerprint": fingerprint, "features": count}, ensure_ascii=False)
                else:
                    line = f"{name}\t{fingerprint or '-'}"
                print(line)  # noqa: T201
        report_malformed(corpus)


@app.command(
    epilog="""
[bold]Examples[/]

  nearkin compare old.txt new.txt

  nearkin compare --text 'how are u?' 'how are you?'
"""
)
def compare(
    a: Annotated[str, typer.Argument(help="A file, or a text with --text.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    text: Annotated[bool, typer.Option("--text", help="The arguments are texts, not files.")] = False,
    recipe: RecipeOption = None,
    bits: Bits = None,
    show: Annotated[int, typer.Option(help="How many of the features that differ are shown.")] = 10,
    as_json: Json = False,
) -> None:
    """Show how alike two texts are: distance, similarities, and which features differ."""
    import numpy as np

    from nearkin.families.simhash import fingerprint
    from nearkin.hamming import hamming, to_hex
    from nearkin.verify import baselines, similarity

    texts = [a, b] if text else [_read_text(a), _read_text(b)]
    made = recipe_of(recipe, bits)
    fingerprints, counts = fingerprint(texts, made, return_counts=True)
    hexadecimal = to_hex(fingerprints, made.bits)
    distance = int(np.asarray(hamming(fingerprints[:1], fingerprints[1:]))[0]) if counts.all() else None
    similarities = {
        measure: float(similarity(texts, [0], [1], recipe=made, measure=measure)[0])
        for measure in ("jaccard", "containment", "indel")
    }
    similarities.update(baselines(*texts))
    features = [made.features_of(value) for value in texts]
    only = [[name for name in features[i] if name not in features[1 - i]] for i in range(2)]
    if as_json:
        found = {
            "recipe": str(made),
            "fingerprints": hexadecimal,
            "bits": made.bits,
            "distance": distance,
            **similarities,
            "features": [len(side) for side in features],
            "only_a": only[0],
            "only_b": only[1],
        }
        print(json.dumps(found, ensure_ascii=False))  # noqa: T201
        return
    shared = len(features[0]) - len(only[0])
    lines = [
        f"recipe       {made}",
        f"fingerprint  {hexadecimal[0]}  a",
        f"             {hexadecimal[1]}  b",
        f"distance     {'none: a text without any letter' if distance is None else f'{distance} of {made.bits} bits'}",
        *(f"{measure.replace('_', ' '):<12} {value:.4f}" for measure, value in similarities.items()),
        f"features     {len(features[0])} in a, {len(features[1])} in b, {shared} in both",
    ]
    for name, missing in zip("ab", only, strict=True):
        shown = ", ".join(repr(feature) for feature in missing[:show])
        more = f" and {len(missing) - show} more" if len(missing) > show else ""
        lines.append(f"only in {name}    {shown or 'none'}{more}")
    print("\n".join(lines))  # noqa: T201


def _read_text(path: str) -> str:
    from nearkin.errors import InputError

    try:
        return Path(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 at byte {error.start}; convert it, with iconv say"
        raise InputError(f"{path}: {reason}", place=path, reason=reason) from error


@app.command(epilog="[bold]Example[/]\n\n  nearkin pairs corpus.jsonl --id-column id --threshold 0.9 --json | head")
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
    from nearkin.dedup import dedup as run
    from nearkin.io import open_corpus

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


@app.command(epilog="[bold]Example[/]\n\n  nearkin recipe 'word:3|count|xxh3|simhash:64'")
def recipe(
    text: Annotated[str | None, typer.Argument(help="Recipe or preset; the default without it.")] = None,
    bits: Bits = None,
) -> None:
    """Print a recipe: its text form, its digest, and every slot as JSON."""
    made = recipe_of(text, bits)
    print(f"{made}\n{made.digest}\n{made.to_json()}")  # noqa: T201


app.command(epilog="[bold]Example[/]\n\n  nearkin keywords news.jsonl --id-column id --top 5")(keywords)
app.add_typer(idf_app, name="idf")
app.command("search", epilog=search_examples)(search)
app.add_typer(index_app, name="index")
add_quality(app)
app.add_typer(ssdeep_app, name="ssdeep")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; ends the process with its exit code."""
    sys.exit(_run(app, arguments))


def _run(program: Callable[..., Any], arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in given
    try:
        # Not standalone: errors come here, in one place, to become messages and codes.
        code = program(args=arguments, standalone_mode=False, prog_name="nearkin")
    except (typer.Abort, KeyboardInterrupt):
        warn("interrupted; nothing was written")
        return 130
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone; what is left in the buffer has nowhere to go.
        sys.stdout = None
        return 0
    except (NearkinError, OSError) as error:
        if debug:
            raise
        warn(f"error: {error}")
        return 2 if isinstance(error, (ParameterError, MismatchError)) else 1
    except Exception as error:
        show = getattr(error, "show", None)
        if debug or show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    main()
