"""`nearkin dedup` and `nearkin pairs`: near-duplicates of a corpus on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import (
    console,
    data_out,
    escaped,
    progress_bars,
    say,
    say_json,
    show_table,
    shown,
    told_by_summary,
    warn,
)
from nearkin.cli.dedup_engine import dedup_engine, engine_of
from nearkin.cli.dedup_files import dedup_files
from nearkin.cli.options import (
    KEEPING,
    MATCHING,
    OLDER,
    WRITING,
    Bits,
    BoilerplateDocuments,
    BoilerplateShare,
    BoilerplateUse,
    CheckpointFolder,
    Columns,
    Differ,
    EngineName,
    Featureless,
    Inputs,
    Json,
    LeastShare,
    Master,
    Measure,
    MinLength,
    Overwrite,
    Quiet,
    Radius,
    Recall,
    RecipeOption,
    RejectedPairs,
    Remote,
    Removed,
    Threads,
    Threshold,
    Units,
    VerifyOption,
    Within,
    one_of,
    output,
    recipe_of,
)
from nearkin.cli.passages import dedup_passages, passage_options, wants_passages
from nearkin.cli.paths import existing_parent
from nearkin.cli.reading import Reading, read_summary, reads, report_malformed
from nearkin.cli.report import REPORT, check_report, write_report
from nearkin.cli.store_output import Output, check_alone, remembering_store
from nearkin.errors import ParameterError, bad_parameter, printable
from nearkin.io.base import KeptLayout

if TYPE_CHECKING:
    from nearkin.dedup.result import DedupResult
    from nearkin.index.bands import BandIndex
    from nearkin.index.hamming import HammingIndex
    from nearkin.io import Corpus, OutputDir
    from nearkin.recipe import Recipe
    from nearkin.store.store import Store

_HEAD = 12
"""Rows of the clusters in which an example is looked for."""
_DEDUP_EXAMPLES = """
[bold]Examples[/]

  nearkin dedup corpus.jsonl --out clean

  nearkin dedup corpus.jsonl --out clean --id-column id --report

  nearkin dedup 'crawl/*.parquet' --out clean --text-column body --id-column url --keep max:score

  nearkin dedup today.jsonl.gz --against yesterday.jsonl.gz --out new --threshold 0.7

  nearkin dedup new.jsonl --against pages.store --out fresh

  nearkin dedup new.jsonl --store pages.store --out fresh --id-column url --column source

  nearkin dedup articles.jsonl --out whole --measure containment --keep longest

  nearkin dedup corpus.jsonl --out cleaner --id-column id --labels labels.tsv

  nearkin dedup news.jsonl --unit paragraph --out clean

  nearkin dedup 'crawl/*.parquet' --out clean --id-column url --engine sail

  nearkin dedup --family ssdeep Documents --out unlike --keep newest
"""
_PAIRS_EXAMPLE = "[bold]Example[/]\n\n  nearkin pairs corpus.jsonl --id-column id --threshold 0.9 --json | head"


@reads()
def dedup(
    context: typer.Context,
    inputs: Inputs,
    out: Annotated[str, output("New folder for kept, clusters and summary; - prints what is kept.")],
    reading: Reading,
    recipe: RecipeOption = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="simhash or minhash, simhash:BITS or minhash:NUM_PERM, a slot of the recipe; ssdeep for files.",
            autocompletion=one_of("simhash", "minhash", "ssdeep"),
            rich_help_panel=MATCHING,
        ),
    ] = None,
    bits: Bits = None,
    threshold: Threshold = None,
    radius: Radius = None,
    recall: Recall = None,
    confirm: Annotated[
        str | None,
        typer.Option(
            help="The other family, such as simhash:128: candidates must be alike by it as well.",
            rich_help_panel=MATCHING,
        ),
    ] = None,
    measure: Measure = None,
    verify: VerifyOption = None,
    differ: Differ = None,
    differing: Annotated[
        str,
        typer.Option(
            help="Of alike texts that differ: keep all, or flag (one goes, clusters say what differs).",
            autocompletion=one_of("keep", "flag"),
            rich_help_panel=KEEPING,
        ),
    ] = "keep",
    featureless: Featureless = None,
    cluster: Annotated[
        str,
        typer.Option(
            help="absorb (no chains) or components (chains are one cluster).",
            autocompletion=one_of("absorb", "components"),
            rich_help_panel=KEEPING,
        ),
    ] = "absorb",
    keep: Annotated[
        str,
        typer.Option(
            help="Which stays: first, last, longest, shortest, max:COLUMN, min:COLUMN; of files also oldest, newest. "
            "Several, separated by commas, decide one after another.",
            autocompletion=one_of("first", "last", "longest", "shortest", "max:", "min:", "oldest", "newest"),
            rich_help_panel=KEEPING,
        ),
    ] = "first",
    source_column: Annotated[
        str | None, typer.Option(help="Count removals by this column, warn of outliers.", rich_help_panel=KEEPING)
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Older corpus, may be repeated, a store, or an index (with --verify none or signature): remove what "
            "matches it, too.",
            rich_help_panel=OLDER,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="As --against a store, which remembers what is kept, together with the output or not at all.",
            rich_help_panel=OLDER,
        ),
    ] = None,
    columns: Columns = None,
    out_layout: Annotated[
        KeptLayout,
        typer.Option(
            help="One file of what is kept, or one per input, as it is compressed and grouped.", rich_help_panel=WRITING
        ),
    ] = "single",
    labels: RejectedPairs = None,
    links: Annotated[
        str,
        typer.Option(
            help="Pairs written: representatives (removed ones) or all verified ones.",
            autocompletion=one_of("representatives", "all"),
            rich_help_panel=WRITING,
        ),
    ] = "representatives",
    max_comparisons: Annotated[
        int,
        typer.Option(
            help="Most candidates that one document is compared with; the summary counts others.",
            rich_help_panel=MATCHING,
        ),
    ] = 10_000,
    unit: Units = None,
    min_length: MinLength = None,
    remove: Removed = None,
    share: LeastShare = None,
    within: Within = False,
    boilerplate: BoilerplateUse = None,
    boilerplate_documents: BoilerplateDocuments = None,
    boilerplate_share: BoilerplateShare = None,
    skip_hubs: Annotated[
        int | None,
        typer.Option(
            help="Of files: do not look up what more digests share; the summary counts it.",
            show_default="100000",
            rich_help_panel=MATCHING,
        ),
    ] = None,
    also: Annotated[
        str | None,
        typer.Option(
            help="Of files: text, to match short textual files by features of their text, too.",
            rich_help_panel=MATCHING,
            autocompletion=one_of("text"),
        ),
    ] = None,
    text_threshold: Annotated[
        float | None,
        typer.Option(
            help="With --also text: least similarity of features, above 0 to 1.",
            show_default="0.6",
            rich_help_panel=MATCHING,
        ),
    ] = None,
    engine: EngineName = None,
    master: Master = None,
    remote: Remote = None,
    checkpoint: CheckpointFolder = None,
    overwrite: Overwrite = False,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Write report.html, too: a page to look at what goes, and to judge it (nearkin report -h).",
            rich_help_panel=WRITING,
        ),
    ] = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Keep one of each group of near-duplicates, and say what was removed and why.

    DIR/kept.* has the documents that stay, in the input's format and order; DIR/clusters.* names for each document of a
    group the one kept, the reason, their distance in bits and their similarity; DIR/pairs.* the links; DIR/summary.json
    counts and timings.

    The threshold is 0.8 unless another is given, or for --family ssdeep a score of 80. The radius follows from the
    threshold; --recall holds at the threshold. Recipe, threshold and verification that are not given
    follow a store.

    With --unit parts of documents are compared. DIR/kept.* has the documents without the parts that stand in earlier
    ones, DIR/passages.* says where these are, DIR/documents.* which share of each document they are.

    With --engine or --remote the run is one of Spark or Sail: DIR/kept, DIR/clusters and DIR/pairs are folders of
    Parquet files.
    """
    from nearkin.dedup.texts import dedup as run

    set_num_threads(threads)
    if report:
        check_report(out)
    if (named := engine_of(context)) is not None:
        _columns_of(keep)
        done = dedup_engine(context, named, recipe=_recipe_given(recipe, bits, family))
        _report(done.head, done.summary, done.kept, as_json=as_json, quiet=quiet)
        return
    if family == "ssdeep":
        dedup_files(
            context,
            inputs=inputs,
            out=out,
            recipe=recipe,
            threshold=threshold,
            cluster=cluster,
            keep=keep,
            against=against or [],
            store=store,
            links=links,
            labels=labels,
            skip_hubs=skip_hubs,
            also=also,
            text_threshold=text_threshold,
            report=report,
            strict=reading.strict,
            overwrite=overwrite,
            as_json=as_json,
            quiet=quiet,
        )
        return
    for name, value in (("skip_hubs", skip_hubs), ("also", also), ("text_threshold", text_threshold)):
        if value is not None:
            raise bad_parameter(name, value, "with --family ssdeep alone")
    passages = wants_passages(context)
    made = _recipe_given(recipe, bits, family)
    by = _columns_of(keep)
    check_alone(store, against or [], out)
    names = dict.fromkeys(name for name in (*by, source_column, *(columns or [])) if name is not None)
    if passages:
        if report:
            raise bad_parameter("report", "given", "not with --unit or passages, which have no pairs to judge")
        dedup_passages(
            inputs=inputs,
            out=out,
            reading=reading,
            columns=list(names),
            out_layout=out_layout,
            overwrite=overwrite,
            as_json=as_json,
            quiet=quiet,
            **passage_options(
                context, recipe=made, sources=source_column, unit=unit or "document", remove=remove or "parts"
            ),
        )
        return
    writing = _Writing(out, out_layout, overwrite=overwrite, report=report)
    with _opened(reading, inputs, list(names), against or [], store, writing) as files:
        # The warnings of the summary are told at the end.
        with progress_bars(quiet=quiet) as progress, told_by_summary():
            result = run(
                files.corpus,
                recipe=made,
                threshold=threshold,
                radius=radius,
                recall=recall,
                confirm=confirm,
                measure=measure,  # type: ignore[arg-type]  # checked by the call, with its message
                verify=verify,  # type: ignore[arg-type]
                differ=differ,
                differing=differing,  # type: ignore[arg-type]
                featureless=featureless,  # type: ignore[arg-type]
                cluster=cluster,  # type: ignore[arg-type]
                keep=keep,
                sources=source_column,
                against=files.older,
                store=files.store,
                columns=columns,
                output=None if store is None else files.output.put,  # type: ignore[arg-type]  # There is a folder.
                links=links,  # type: ignore[arg-type]
                max_comparisons=max_comparisons,
                labels=labels,
                near_misses="auto" if report else 0,
                progress=progress,
            )
        if store is None:
            files.output.put(result)
        single = files.corpus.kept_name if out_layout == "single" else "kept-*"
        kept = None if files.output.target is None else Path(out) / single
    _report(islice(result.clusters.rows(), _HEAD), files.output.summary, kept, as_json=as_json, quiet=quiet)


def _columns_of(keep: str) -> list[str]:
    """The columns that a keep rule looks at."""
    from nearkin.dedup.keep import keep_columns, keep_keys

    keys = keep_keys(keep, values="")
    if any(key.by in ("max", "min") and not key.column for key in keys):
        raise bad_parameter("keep", keep, "max:COLUMN or min:COLUMN")
    return keep_columns(keys)


@dataclass
class _Files:
    """What a run reads and writes: the corpus, an older one, a store that remembers, the output folder; its summary."""

    corpus: Corpus
    older: Corpus | Store | HammingIndex | BandIndex | None
    store: Store | None
    output: Output


@dataclass(frozen=True)
class _Writing:
    """What is written, and where."""

    out: str
    layout: KeptLayout
    overwrite: bool
    report: bool


@contextmanager
def _opened(
    reading: Reading,
    inputs: Sequence[str],
    columns: Sequence[str],
    against: Sequence[str],
    store: Path | None,
    writing: _Writing,
) -> Iterator[_Files]:
    """What the run needs, open; the output folder is None for standard output.

    `columns` are read besides text and id. The spool lies beside the output, where there is room for the corpus.
    Records that can't be read are reported once the output is there.
    """
    from nearkin.io import OutputDir, table_name
    from nearkin.io.base import REJECTED

    out, layout = writing.out, writing.layout
    spool = None if out == "-" else existing_parent(Path(out))
    with ExitStack() as stack:
        held = stack.enter_context(remembering_store(store, out))
        own = [] if held is None else [held.path]
        corpus = stack.enter_context(reading.corpus(inputs, extra_columns=columns, spool_dir=spool, leave_out=own))
        older = stack.enter_context(_older(against, reading, spool))

        def write(result: DedupResult, target: OutputDir | None) -> dict[str, Any]:
            summary = _summary(result, corpus, reading, layout, None if held is None else held.path)
            return _write(result, summary, corpus, writing, target)

        corpus.kept_names(layout)
        if out == "-":
            yield _Files(corpus, older, None, Output(None, write))
        else:
            named = [*map(Path, against), *([] if store is None else [store])]
            read = [*corpus.inputs, *(getattr(older, "inputs", None) or named)]
            told = ("clusters", "pairs", "near") if writing.report else ("clusters", "pairs")
            names = [*corpus.kept_names(layout), *(table_name(name, corpus.format) for name in told)]
            names += [*([REPORT] if writing.report else []), REJECTED, "summary.json"]
            with OutputDir(out, overwrite=writing.overwrite, inputs=read, names=names) as target:
                yield _Files(corpus, older, held, Output(target, write))
        report_malformed(corpus)


@contextmanager
def _older(
    against: Sequence[str], reading: Reading, spool: Path | None
) -> Iterator[Corpus | Store | HammingIndex | BandIndex | None]:
    """What is named, opened for reading: corpora, a store, or an index; None if nothing is."""
    from nearkin.index.files import index_class, open_index
    from nearkin.store.log import LOG_NAME
    from nearkin.store.store import Store

    stores = [name for name in against if (Path(name) / LOG_NAME).is_file()]
    indexes = [name for name in against if index_class(name) is not None]
    if (stores or indexes) and len(against) > 1:
        raise bad_parameter("against", ", ".join(against), "one store, one index, or any number of corpora")
    if indexes:
        yield open_index(indexes[0])
    elif stores:
        with Store.open(stores[0], "r") as store:
            yield store
    elif against:
        with reading.corpus(against, spool_dir=spool) as corpus:
            yield corpus
    else:
        yield None


def _recipe_given(recipe: str | None, bits: int | None, family: str | None) -> Recipe | None:
    """As `recipe_of`, None if nothing is given; a family that there is not is told with all that this command has."""
    if (recipe, bits, family) == (None, None, None):
        return None
    try:
        return recipe_of(recipe, bits, family)
    except ParameterError as error:
        if family is None or "|" in family or error.context.get("found") not in (family, repr(family)):
            raise
        allowed = "simhash or minhash, simhash:BITS or minhash:NUM_PERM, or ssdeep for files"
        raise bad_parameter("family", repr(family), allowed) from None


def _summary(
    result: DedupResult, corpus: Corpus, reading: Reading, layout: KeptLayout, store: Path | None
) -> dict[str, Any]:
    """What `summary.json` says: the job's summary, what was read and how, and which store remembers what is kept."""
    read_as = {"encoding": reading.encoding, "delimiter": reading.delimiter, "html": reading.html or None}
    told = {name: value for name, value in read_as.items() if value is not None}
    return {
        **result.summary,
        **({} if store is None else {"store": escaped(str(store))}),
        **read_summary(corpus, layout),
        **({"read_as": told} if told else {}),
    }


def _write(
    result: DedupResult, summary: dict[str, Any], corpus: Corpus, writing: _Writing, target: OutputDir | None
) -> dict[str, Any]:
    """Write what is kept: with tables and summary in a folder, alone on standard output."""
    from nearkin.io import write_table

    if target is None:
        out = data_out()
        corpus.write_kept(result.kept_rows, out, layout=writing.layout)
        out.flush()
        return summary
    corpus.write_kept(result.kept_rows, target, layout=writing.layout)
    write_table(target, "clusters", result.clusters.compact, corpus.format)
    write_table(target, "pairs", result.pairs.compact, corpus.format)
    if result.near_misses is not None:
        write_table(target, "near", result.near_misses.compact, corpus.format)
    if writing.report:
        from nearkin.report import Run

        if result.near_misses is None:
            warn("the report can't tell recall: near misses need --verify jaccard or indel, and --cluster absorb")

        write_report(Run.of_result(result, corpus, summary, Path(writing.out).resolve().name), target)
    corpus.write_rejected(target)
    return target.write_json("summary.json", summary)


def _report(
    head: Iterable[Mapping[str, Any]],
    summary: Mapping[str, Any],
    kept: Path | str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Warnings, and the summary as JSON or in words; `kept` is None where what is kept went to standard output.

    `head` are the first few rows of the clusters.
    """
    for warning in summary.get("warnings", []):
        warn(f"warning: {warning}")
    if as_json and kept is not None:
        say_json(summary)
    elif not quiet:
        rows = [*_totals(summary, kept), *_reasons(summary, kept), ("", f"recipe {summary['recipe']}")]
        show_table(["count", "of what"], rows, header=False, lines=False, right=["count"], err=True)
        if (example := _example(list(head))) is not None:
            console(err=True).print(f"\n{printable(example)}")


def _totals(summary: Mapping[str, Any], kept: Path | str | None) -> Iterator[tuple[str, str]]:
    """How many documents there were, how many stay and how many go."""
    seconds = sum(stage["wall"] for stage in summary["timings"].values())
    share = summary["removed"] / summary["documents"] if summary["documents"] else 0.0
    # An engine does not tell how much it reads.
    size = f" ({summary['bytes_read'] / 1e6:,.1f} MB)" if "bytes_read" in summary else ""
    yield f"{summary['documents']:,}", f"documents read in {seconds:.1f} s{size}"
    remembered = f", remembered in {summary['store']}" if "store" in summary else ""
    yield f"{summary['kept']:,}", "kept" + (f" in {kept}" if kept else "") + remembered
    yield (
        f"{summary['removed']:,}",
        f"removed ({share:.1%}) in {summary['clusters']:,} clusters, the largest of {summary['largest_cluster']:,}",
    )


def _reasons(summary: Mapping[str, Any], kept: Path | str | None) -> Iterator[tuple[str, str]]:
    """Why documents go, and what was left out."""
    from nearkin.io.base import REJECTED

    rejected = "" if kept is None else f"; {Path(kept).with_name(REJECTED)} says why"
    reasons = summary["removed_by_reason"]
    yield f"{reasons['exact'] + reasons['exact-old']:,}", "of them exact copies"
    near = f": {summary['verify']} similarity of at least {summary['threshold']}"
    if summary["verify"] == "none":
        near = f", not verified: {_reach(summary)}"
    if same := reasons.get("same-letters", 0) + reasons.get("same-letters-old", 0):
        yield f"{same:,}", "of them have the same letters as another, and are no copies of it"
    yield f"{reasons['near'] + reasons['near-old']:,}", f"of them near-duplicates{near}"
    if older := sum(count for reason, count in reasons.items() if reason.endswith("-old")):
        yield f"{older:,}", "of them match older documents"
    if summary.get("pairs_that_differ"):
        fate = "kept apart" if summary["differing"] == "keep" else "of which one is removed"
        yield (
            f"{summary['pairs_that_differ']:,}",
            f"pairs are alike and differ in {', '.join(summary['differ'])}: {fate}",
        )
    if summary.get("labels", {}).get("different"):
        told = summary["labels"]
        yield f"{told['kept_apart']:,}", f"pairs kept apart, of {told['different']:,} that are labelled different"
    if summary["without_features"]:
        fate = "kept" if summary["featureless"] == "keep" else "compared with its copies alone"
        yield f"{summary['without_features']:,}", f"without any letter: {fate}"
    if summary["malformed"]:
        yield f"{summary['malformed']:,}", f"records skipped that can't be read{rejected}"
    yield f"{summary['candidates']:,}", f"candidates ({_reach(summary)}); {summary['verified']:,} verified"


def _reach(summary: Mapping[str, Any]) -> str:
    """What made a pair a candidate."""
    if "radius" in summary:
        reach = f"within {summary['radius']} bits"
    elif "sketch_size" in summary:
        reach = f"by sketches of {summary['sketch_size']} features"
    else:
        reach = f"{summary['num_bands']} bands of {summary['num_rows']}"
    recall = summary.get("expected_recall")
    return reach if recall is None else f"{reach}, recall {recall:.1%} at the threshold"


def _example(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The first document that goes for another of this corpus, in words."""
    if not rows or rows[0]["reason"] != "kept":
        return None
    head = rows[0]["representative"]
    for row in rows:
        if row["representative"] == head and row["reason"] != "kept":
            # NaN stands for what was not verified.
            similar = row["similarity"] == row["similarity"]
            told = f"{row['reason']}, similarity {row['similarity']:.2f}" if similar else row["reason"]
            return f"for example {row['id']} is removed for {head} ({told})"
    return None


@reads()
def pairs(
    inputs: Inputs,
    reading: Reading,
    recipe: RecipeOption = None,
    bits: Bits = None,
    threshold: Threshold = None,
    radius: Radius = None,
    recall: Recall = None,
    measure: Measure = None,
    verify: VerifyOption = None,
    differ: Differ = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print every pair of near-duplicates, exact copies included: left, right, distance, similarity, separated by tabs.

    n equal texts are n (n - 1) / 2 pairs. The threshold is 0.8 unless another is given, and the radius follows from it.
    """
    from nearkin.dedup.texts import THRESHOLD
    from nearkin.dedup.texts import dedup as run

    set_num_threads(threads)
    with reading.reported(inputs) as corpus, progress_bars(quiet=quiet) as progress:
        result = run(
            corpus,
            recipe=recipe_of(recipe, bits),
            threshold=THRESHOLD if threshold is None else threshold,
            radius=radius,
            recall=recall,
            measure=measure,  # type: ignore[arg-type]  # checked by the call, with its message
            verify=verify,  # type: ignore[arg-type]
            differ=differ,
            links="all",
            progress=progress,
        )
    for row in result.pairs.with_copies():
        # NaN stands for what was not verified.
        similarity = None if row["similarity"] != row["similarity"] else row["similarity"]
        if as_json:
            say_json({**row, "similarity": similarity})
        else:
            value = "-" if similarity is None else f"{similarity:.4f}"
            say(f"{shown(row['left'])}\t{shown(row['right'])}\t{row['distance']}\t{value}")


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(epilog=_DEDUP_EXAMPLES)(dedup)
    app.command(epilog=_PAIRS_EXAMPLE)(pairs)
