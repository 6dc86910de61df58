"""`nearkin dedup` and `nearkin text pairs`: near-duplicates of a corpus, of its passages, or of files.

`nearkin dedup` compares texts. With `--unit` or `--boilerplate` it compares passages, with `--family ssdeep` files,
with `--hex-column` codes of other programs, and with `--engine` or `--remote` it runs on an engine
(`nearkin.cli.distributed`). An option that a run does not use is an error.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from nearkin._core import set_num_threads
from nearkin.cli.commands import Commands, Options, OptionsOf
from nearkin.cli.console import (
    Failures,
    binary_stdout,
    display,
    escape_surrogates,
    note,
    progress_bars,
    report_summary,
    say,
    say_json,
    say_result,
    say_row,
    show_counts,
    suppress_summary_warnings,
    warn,
)
from nearkin.cli.corpus import (
    CorpusOptions,
    cut_out,
    existing_parent,
    input_summary,
    list_files,
    report_skipped,
    warn_ids,
)
from nearkin.cli.dedup_options import PASSAGE_OPTIONS, EngineOptions, Job, OutputOptions
from nearkin.cli.options import Bits, HexColumn, Inputs, Json, Quiet, RecipeOption, parse_recipe, refuse_url
from nearkin.cli.report import REPORT, check_report, write_report
from nearkin.dedup.config import DedupConfig
from nearkin.dedup.kinds import kind_of_recipe
from nearkin.dedup.summary import REASON_WORDS, count_reasons, count_reference, removed_share, total_seconds
from nearkin.errors import OutputError, bad_parameter, printable
from nearkin.io.base import REJECTED, AddedColumn, KeptLayout
from nearkin.io.remote import short_url
from nearkin.notebook import count_of

if TYPE_CHECKING:
    from nearkin.dedup.config import FileFamily
    from nearkin.dedup.result import DedupResult
    from nearkin.dedup.summary import Timing
    from nearkin.io import Corpus, OutputDir
    from nearkin.pieces.passages import PassagesResult
    from nearkin.store.store import Store

app = Commands()

BRIEF = ("out", "overwrite", "report", "text_column", "id_column", "kind", "threshold", "keep", "against", "store")
"""Options that `-h` shows."""
IDF = "corpus.idf"
"""File of the weights that a run fitted to its texts."""
_DRY_IDS = 10
"""Ids that a dry run prints."""
_NOT_FOR_SAMPLES = ("checkpoint", "keep", "shrink_to", "min_sources")
_DRY_TEXTS = 2000
"""Maximum number of first documents that a dry run deduplicates."""
_DOCUMENT_BYTES = 400
"""Memory of a run per document: docs/dedup.md, Larger than memory."""
EXAMPLE_ROWS = 12
"""Number of rows of clusters that are searched for an example."""
_FILE_OPTIONS = {
    *("out", "overwrite", "report", "recipe", "family", "strict", "threshold", "cluster", "keep", "links", "against"),
    *("store", "ledger", "labels", "radius", "skip_hubs", "also", "text_threshold", "threads"),
}
"""Options of a run over files."""
_CODE_OPTIONS = {
    *("out", "out_layout", "weights", "overwrite", "report", "id_column", "format", "encoding", "delimiter"),
    *("max_malformed", "strict", "source_column", "labels", "against", "image_column", "radius", "bits", "cluster"),
    *("keep", "links", "threads", "hex_column", "text_column", "html"),
}
"""Options of a run over codes; `CorpusOptions.for_codes` refuses the last two."""
_NOT_FOR_PASSAGES = (
    *("measure", "cluster", "against", "store", "ledger", "columns", "links", "labels", "skip_hubs", "also"),
    *("text_threshold", "differ", "empty", "lossless", "checkpoint", "weights", "kind", "image_column"),
    *("group_column", "shrink_to", "min_sources"),
)


@app.add(brief=BRIEF)
def dedup(job: Job) -> None:
    """Keep one document of each group of near-duplicates, and report which were removed and why.

    DIR/kept.* has the kept documents, DIR/clusters.* what was removed and why.

    DIR/kept.* contains the kept documents, in the format and order of the input; DIR/clusters.* the kept document, the
    reason, the distance and the similarity for each document of a group; DIR/pairs.* the links;
    DIR/summary.json counts and timings.

    The default threshold is 0.8, or a score of 80 with --family ssdeep. The bands follow from the threshold and the
    --recall at the threshold. With a store, its recipe, threshold and verification are the defaults.

    With --unit, parts of documents are compared. DIR/kept.* contains the documents without the parts that earlier
    documents have, DIR/passages.* the positions of these parts, DIR/documents.* their share of each document.

    With --checkpoint, a failed run continues if the same command runs again; the folder is deleted when the output is
    in place.

    With --hex-column, documents are compared by codes of another program: those within --radius bits of each other are
    near-duplicates, and the similarity is the share of equal bits.

    With --engine or --remote, the job runs on Spark or Sail, and DIR/kept, DIR/clusters and DIR/pairs are folders of
    Parquet files.

    Examples
    --------
    $ nearkin dedup corpus.jsonl --out out --id-column id
    4  documents in 0.0 s (0.0 MB)
    3  kept in out/kept.jsonl
    1  removed (25.0%) in 1 cluster, the largest of 2
    0  of them exact copies
    ...

    nearkin dedup corpus.jsonl --out clean
    nearkin dedup corpus.jsonl --out clean --id-column id --report
    nearkin dedup 'crawl/*.parquet' --out clean --text-column body --id-column url --keep max:score
    nearkin dedup today.jsonl.gz --against yesterday.jsonl.gz --out new --threshold 0.7
    nearkin dedup new.jsonl --against pages.store --out fresh
    nearkin dedup new.jsonl --store pages.store --out fresh --id-column url --column source
    nearkin dedup articles.jsonl --out full --measure containment --keep longest
    nearkin dedup corpus.jsonl --out cleaner --id-column id --labels labels.tsv
    nearkin dedup 'crawl/*.jsonl' --out clean --id-column url --checkpoint work
    nearkin dedup news.jsonl --unit paragraph --out clean
    nearkin dedup 'crawl/*.parquet' --out clean --id-column url --engine sail
    nearkin dedup --family ssdeep Documents --out unlike --keep newest
    nearkin dedup images.parquet --hex-column pdq --radius 31 --out clean --image-column path --report
    """
    set_num_threads(job.threads)
    job = replace(job, reading=job.reading.for_kind(job.matching.get("kind"), job.inputs))
    if job.output.report:
        check_report(job.output.out, job.matching.get("keep"))
    if job.engine != EngineOptions():
        from nearkin.cli import distributed

        engine = distributed.choose_engine(job)
        job.keep_columns()
        if job.engine.explain or job.dry_run:
            estimate = distributed.explain(job, engine)
            say_result(estimate, estimate.summary(), as_json=job.as_json)
            return
        summary = distributed.dedup(job, engine)
        _report(job, summary, _count_rows(summary, distributed.join(job.output.out, "kept")))
        return
    if job.dry_run:
        _dry_run(job)
        return
    refuse_url(job.output.out, "--out", "a local folder, or --engine, which writes to URLs")
    if job.of_files:
        _dedup_files(job)
    elif job.hex_column is not None:
        _dedup_codes(job)
    elif job.unit or "boilerplate" in job.passages:
        job.check_unset(job.files, "it with --family ssdeep, tlsh or fuzzy")
        job.check_unset(_NOT_FOR_PASSAGES, "no --unit and no --boilerplate")
        _dedup_passages(job)
    else:
        job.check_unset(job.files, "it with --family ssdeep, tlsh or fuzzy")
        job.check_unset(PASSAGE_OPTIONS, "--unit or --boilerplate beside it")
        _dedup_texts(job)


@app.add(
    brief=("text_column", "id_column", "format", "threshold", "radius", "recipe", "hex_column", "as_json", "quiet"),
    threads=True,
)
def pairs(
    inputs: Inputs,
    reading: CorpusOptions,
    matching: Annotated[
        Options, OptionsOf(DedupConfig, "threshold", "radius", "recall", "bands", "measure", "verify", "differ")
    ],
    recipe: RecipeOption = None,
    bits: Bits = None,
    hex_column: HexColumn = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print all pairs of near-duplicates, with exact copies: left, right, distance, similarity, separated by tabs.

    n equal texts make n (n - 1) / 2 pairs. The default threshold is 0.8. Candidates share a MinHash band, or are within
    a --radius of fingerprints.

    Examples
    --------
    $ nearkin text pairs corpus.jsonl --id-column id --threshold 0.5
    a       c       0       1.0000
    a       d       28      0.6957
    c       d       28      0.6957

    nearkin text pairs corpus.jsonl --id-column id --threshold 0.9 --json | head
    nearkin text pairs images.csv --hex-column phash --radius 8
    """
    from nearkin.dedup.codes import dedup_codes
    from nearkin.dedup.texts import dedup as dedup_texts

    if hex_column is not None:
        _check_code_options({**matching, "recipe": recipe})
        reading = reading.for_codes(hex_column)
    with reading.read(inputs, quiet=quiet) as corpus, progress_bars(quiet=quiet) as progress:
        if hex_column is not None:
            corpus.bytes_as_hex = True
            result = dedup_codes(corpus, bits=bits, links="all", progress=progress, **{"radius": None, **matching})
        else:
            parsed = None if (recipe, bits) == (None, None) else parse_recipe(recipe, bits)
            result = dedup_texts(corpus, recipe=parsed, links="all", progress=progress, **matching)
    for row in result.pairs.with_copies():
        # NaN stands for a similarity that was not computed.
        similarity = None if row["similarity"] != row["similarity"] else row["similarity"]
        cells = (row["left"], row["right"], row["distance"], "-" if similarity is None else f"{similarity:.4f}")
        say_row({**row, "similarity": similarity}, cells, as_json=as_json)


# Dry run


def _dry_run(job: Job) -> None:
    """Print what a run would read, and an estimate of its time and memory; write nothing."""
    if job.of_files:
        paths = list_files(map(Path, job.inputs), Failures())
        rows: dict[str, Any] = {"files": len(paths), "bytes": sum(path.stat().st_size for path in paths)}
        rows["first"] = [str(path) for path in paths[:_DRY_IDS]]
    else:
        rows = _estimate_corpus(job)
    if job.as_json:
        say_json(rows)
        return
    for name, value in rows.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        say(f"{name.replace('_', ' '):<12} {f'{text:,}' if isinstance(text, (int, float)) else text}")


def _estimate_corpus(job: Job) -> dict[str, Any]:
    """Return what a run would read of a corpus, and its time and memory by those of the first documents."""
    from nearkin.dedup.texts import dedup as dedup_texts

    reading = job.reading if job.hex_column is None else job.reading.for_codes(job.hex_column)
    with reading.open_corpus(job.inputs, extra_columns=job.extra_columns(), quiet=True, defer_ids=True) as corpus:
        batches = corpus.batches()
        batch = next(batches, None)
        read, first = corpus.bytes_read, 0 if batch is None else len(batch)
        size = sum(path.stat().st_size for path in corpus.paths)
        # The rest has as many documents per byte as the first batch.
        whole = next(batches, None) is None
        documents = first if whole or not read else round(first * size / read)
        sample = [] if batch is None else list(islice(batch.texts, _DRY_TEXTS))
        started = time.perf_counter()
        if job.hex_column is None:
            with suppress_summary_warnings():
                options = {name: value for name, value in job.matching.items() if name not in _NOT_FOR_SAMPLES}
                dedup_texts(sample, recipe=job.recipe_of_texts(), **options)
        seconds = (time.perf_counter() - started) * documents / max(1, len(sample))
        columns = [corpus.text_column, *corpus.joined_columns, corpus.id_column, *corpus.extra_columns]
        return {
            "inputs": [str(name) for name in corpus.inputs] + [short_url(url) for url in corpus.urls],
            "format": corpus.format,
            "columns": [name for name in columns if name],
            "bytes": size,
            "documents": documents if whole else f"about {documents:,}",
            "first_ids": [] if batch is None else list(islice(batch.ids, _DRY_IDS)),
            "seconds": float(f"{seconds:.2g}"),
            "memory": f"about {_DOCUMENT_BYTES * documents / 1e6:,.0f} MB for the documents, without their texts",
        }


# Codes and texts


def _check_code_options(options: Mapping[str, object]) -> None:
    """Raise ParameterError for an option that is about texts."""
    for name, value in options.items():
        if value is not None and name not in _CODE_OPTIONS:
            raise bad_parameter(name, value, "--radius with --hex-column, whose codes are compared by their bits alone")


def _dedup_codes(job: Job) -> None:
    """Write kept documents, clusters, pairs and a summary of codes."""
    from nearkin.dedup.codes import dedup_codes

    _check_code_options(job.explicit_options())

    def run(corpus: Corpus, older: Any, **settings: Any) -> DedupResult:
        for each in (corpus, older):
            if each is not None:
                each.bytes_as_hex = True
        options = {"radius": None, "bits": job.bits, "sources": job.reference.source_column, **job.matching}
        options |= {name: settings[name] for name in ("labels", "progress")}
        return dedup_codes(corpus, against=older, **options)

    _dedup_corpus(replace(job, reading=job.reading.for_codes(str(job.hex_column))), run)


def _dedup_texts(job: Job) -> None:
    """Write kept documents, clusters, pairs and a summary of texts."""
    from nearkin.dedup.texts import dedup as dedup_texts

    if job.reference.image_column is not None:
        raise bad_parameter("image_column", job.reference.image_column, "--hex-column with it, for codes of images")
    reference = job.reference
    if reference.group_column is not None and (reference.against or reference.store):
        allowed = "it without --against and --store, whose documents have no groups"
        raise bad_parameter("group_column", reference.group_column, allowed)
    if reference.store is not None and "shrink_to" in job.matching:
        raise bad_parameter("shrink_to", job.matching["shrink_to"], "it without --store, which has a threshold")
    recipe = job.recipe_of_texts()

    def run(corpus: Corpus, older: Any, **settings: Any) -> DedupResult:
        return dedup_texts(
            corpus,
            recipe=recipe,
            sources=job.reference.source_column,
            against=older,
            groups=job.reference.group_column,
            columns=job.reference.columns,
            ledger=job.reference.ledger,
            near_misses="auto" if job.output.report else 0,
            **job.matching,
            **settings,
        )

    _dedup_corpus(job, run)


def _dedup_corpus(job: Job, dedup: Callable[..., DedupResult]) -> None:
    """Run a function of an open corpus and of older documents, and write its result."""
    from nearkin.io import table_name

    output, reference = job.output, job.reference
    spool = _spool_folder(output.out)
    against, checkpoint = reference.against or [], job.matching.get("checkpoint")
    quiet, deferred = job.quiet or job.as_json, checkpoint is None and job.matching.get("kind") != "pages"
    # A process does not know its wall time before its first instruction, but the CPU time of its interpreter.
    started: Timing = {"cpu": time.process_time()}
    with ExitStack() as stack:
        store, described = stack.enter_context(_open_store(job))
        own = [] if store is None else [store.path]
        if store is not None:
            job = replace(job, reading=job.reading.for_kind(kind_of_recipe(store.settings.recipe), job.inputs))
        corpus = stack.enter_context(
            job.reading.open_corpus(
                job.inputs,
                extra_columns=job.extra_columns(),
                spool_dir=spool,
                exclude=own,
                quiet=quiet,
                defer_ids=deferred,
            )
        )
        note = corpus.id_note
        older = stack.enter_context(
            _open_reference(
                against,
                lambda: job.reading.open_corpus(against, spool_dir=spool, quiet=quiet, defer_ids=deferred),
                "texts",
            )
        )
        if output.weights is not None:
            corpus.check_added(output.weights, "weights")
        tables = ("clusters", "pairs", "near") if output.report else ("clusters", "pairs")
        names = [
            *corpus.kept_names(output.out_layout),
            *(table_name(name, corpus.format) for name in tables),
            REJECTED,
            IDF,
        ]
        inputs = [*corpus.inputs, *own, *(getattr(older, "inputs", None) or map(Path, against))]
        saved = [] if checkpoint is None else [Path(checkpoint)]
        with _open_output(output, names, [*inputs, *saved]) as target:
            run = partial(dedup, corpus, older)
            result, summary = _run(
                run, lambda result: _write_texts(result, corpus, job, described, target, started), job, store, target
            )
        if corpus.id_note != note:
            warn_ids(corpus, quiet=quiet)
        report_skipped(corpus)
    name = corpus.kept_name if output.out_layout == "single" else "kept-*"
    kept = None if target is None else Path(output.out) / name
    rows = [*_count_rows(summary, kept), *_finish_checkpoint(checkpoint)]
    _report(job, summary, rows, _example(islice(result.clusters.rows(), EXAMPLE_ROWS)))


def _finish_checkpoint(checkpoint: str | None) -> Iterator[tuple[str, str]]:
    """Delete the checkpoint of a run whose output is in place, and return a row of the table that says so."""
    from nearkin.dedup.checkpoint import remove_checkpoint

    if checkpoint is None:
        return
    try:
        removed, reason = remove_checkpoint(checkpoint), "another process is using it"
    except OSError as error:
        removed, reason = False, str(error)
    if removed:
        yield "", f"checkpoint {checkpoint} deleted: the output is in place"
    else:
        warn(f"warning: checkpoint {checkpoint} is not deleted: {reason}; delete the folder, the output is in place")


def _spool_folder(out: str) -> Path | None:
    """Return the folder for temporary copies of the input: next to the output, where there is space for the corpus."""
    return None if out == "-" else existing_parent(Path(out))


@contextmanager
def _open_output(output: OutputOptions, names: Iterable[str], inputs: Iterable[Path]) -> Iterator[OutputDir | None]:
    """Open the output folder with these files and, for some runs, a report; None for standard output."""
    from nearkin.io import OutputDir

    if output.out == "-":
        yield None
        return
    names = [*names, "summary.json", *([REPORT] if output.report else [])]
    with OutputDir(output.out, overwrite=output.overwrite, inputs=[*inputs], names=names) as target:
        yield target


def _run(
    run: Callable[..., DedupResult],
    write: Callable[[DedupResult], dict[str, Any]],
    job: Job,
    store: Store | None,
    target: OutputDir | None,
) -> tuple[DedupResult, dict[str, Any]]:
    """Deduplicate and write the result; return it with its summary.

    Parameters
    ----------
    run : function
        `nearkin.dedup`, or one like it, with the arguments of the job.
    write : function
        Writes a result and returns its summary. It is called again if the store has changed during the run.
    job : Job
    store : Store or None
    target : OutputDir or None
        None for standard output.
    """
    summary: dict[str, Any] = {}

    def publish(result: DedupResult) -> OutputDir | None:
        if target is not None and summary:
            target.restart()
        summary.update(write(result))
        return target

    output = None if store is None else publish
    with progress_bars(quiet=job.quiet) as progress, suppress_summary_warnings():
        result = run(store=store, output=output, labels=job.reference.labels, progress=progress)
    if store is None:
        publish(result)
    return result, summary


@contextmanager
def _open_store(job: Job) -> Iterator[tuple[Store | None, dict[str, Any]]]:
    """Open the store of --store, or create it; return it, None without one, and what the summary says of it.

    The store is opened before any input is read, which completes the output of an interrupted run. A new store is
    removed again if the run fails before anything was added.

    Raises
    ------
    ParameterError
        The store is a URL, or is combined with --against or standard output.
    OutputError
        The interrupted run had the same output folder.
    """
    path, out, against = job.reference.store, job.output.out, job.reference.against
    if path is None:
        yield None, {}
        return
    from nearkin.store.store import Store

    if re.match(r"https?:/", str(path)):
        allowed = "a folder, because output and store change in one step; for a service use `nearkin store add URL`"
        raise bad_parameter("store", short_url(str(path)), allowed)
    if against or out == "-":
        name, value = ("against", ", ".join(against)) if against else ("out", out)
        raise bad_parameter(name, short_url(value), "a folder as --out, and no --against, with --store")
    if not path.exists() and not path.is_symlink():
        with _create_store(path, job) as store:
            yield store, _describe_store(store, created=True)
        return
    with Store.open(path) as store:
        if Path(os.path.realpath(out)) in store.recovered_outputs:
            message = f"{out}: the output of an interrupted run has just been put in its place; use it, then run again"
            raise OutputError(message, place=out, in_place="new")
        yield store, _describe_store(store, created=False)


def _describe_store(store: Store, *, created: bool) -> dict[str, Any]:
    return {"store": escape_surrogates(str(store.path)), "store_created": created}


@contextmanager
def _create_store(path: Path, job: Job) -> Iterator[Store]:
    """Create the store of --store with the options of the job.

    Raises
    ------
    ParameterError
        An option that a store does not have.
    """
    from nearkin.store.store import Store

    if "bands" in job.matching:
        raise bad_parameter("bands", job.matching["bands"], "--recall with a new store, whose bands follow from it")
    if job.matching.get("kind") == "pages":
        raise bad_parameter(
            "kind", "'pages' with a new store", "`nearkin store create` and `nearkin store add` for pages"
        )
    names = ("kind", "threshold", "radius", "recall", "verify", "differ", "empty")
    options = {name: job.matching[name] for name in names if name in job.matching}
    if not job.of_files and "measure" in job.matching:
        options.setdefault("verify", job.matching["measure"])
    recipe = job.recipe or job.family if job.of_files else job.parse_recipe()
    with Store.create(path, recipe, **options) as store:
        if not job.quiet:
            warn(f"created store {display(path)}: {store.recipe}, threshold {store.settings.threshold}")
        try:
            yield store
        except BaseException:
            is_empty = not store.next_row
            store.close()
            if is_empty:
                shutil.rmtree(path, ignore_errors=True)
            raise


@contextmanager
def _open_reference(
    against: Sequence[str], open_older: Callable[[], AbstractContextManager[Any]], content: str
) -> Iterator[Any]:
    """Open the older documents of --against by `open_older`, or the store for reading.

    Raises
    ------
    ParameterError
        An index, which has no `content`, or a store and something else.
    """
    if not against:
        yield None
        return
    from nearkin.index.digests import is_digest_index
    from nearkin.index.files import index_class
    from nearkin.store.log import LOG_NAME
    from nearkin.store.store import Store

    stores = [name for name in against if Path(name, LOG_NAME).is_file()]
    indexes = [name for name in against if index_class(name) or (Path(name).is_file() and is_digest_index(name))]
    if indexes or (stores and len(against) > 1):
        raise bad_parameter(
            "against", short_url(", ".join(against)), f"one store, or other inputs; an index has no {content}"
        )
    with Store.open(stores[0], "r") if stores else open_older() as older:
        yield older


def _write_texts(
    result: DedupResult, corpus: Corpus, job: Job, described: dict[str, Any], target: OutputDir | None, started: Timing
) -> dict[str, Any]:
    """Write kept documents, tables and a summary into a folder, or kept documents to standard output."""
    from nearkin.dedup.summary import StageTimer
    from nearkin.io import write_table

    layout, reading = job.output.out_layout, job.reading
    read_as = {"encoding": reading.encoding, "delimiter": reading.delimiter, "html": corpus.html or None}
    read_as["format"] = "functions" if corpus.functions else None
    read_as = {name: value for name, value in read_as.items() if value is not None}
    summary = {
        **result.summary,
        **described,
        **input_summary(corpus, layout),
        **({"read_as": read_as} if read_as else {}),
        **({} if job.output.weights is None else {"weights": job.output.weights}),
        **({} if job.reference.image_column is None else {"image_column": job.reference.image_column}),
    }
    timer = StageTimer()
    with timer("write"):
        added = None
        if job.output.weights is not None:
            import numpy as np

            sizes = np.zeros(corpus.rows, np.int64)
            sizes[result.kept_rows] = result.weights
            added = AddedColumn(job.output.weights, sizes)
        corpus.write_kept(result.kept_rows, target or binary_stdout(), layout=layout, added=added)
        if target is not None:
            write_table(target, "clusters", result.clusters.compact, corpus.format)
            write_table(target, "pairs", result.pairs.compact, corpus.format)
            if result.idf is not None:
                with target.open(IDF) as file:
                    result.idf.write(file)
            if result.near_misses is not None:
                write_table(target, "near", result.near_misses.compact, corpus.format)
    timings = {"start": started, **result.summary["timings"], **timer.seconds}
    named = sum(stage["cpu"] for stage in timings.values())
    summary["timings"] = {**timings, "other": {"cpu": max(time.process_time() - named, 0.0)}}
    if target is None:
        return summary
    if job.output.report:
        from nearkin.report import Run

        if result.near_misses is None and job.hex_column is None:
            warn("the report has no recall: near misses need --verify jaccard or indel, and --cluster absorb")
        write_report(Run.from_result(result, corpus, summary, Path(job.output.out).resolve().name), target)
    corpus.write_rejected(target)
    return target.write_json("summary.json", summary)


def _report(
    job: Job, summary: Mapping[str, Any], rows: Iterable[tuple[int | str, str]], example: str | None = None
) -> None:
    """Report warnings and the summary: as JSON, or as a table of counts, an example and the next commands."""

    def show() -> None:
        show_counts(rows)
        if example is not None:
            note(f"\n{printable(example)}")
        if commands := list(_next_commands(job, summary)):
            rows_of_next = "\n".join(f"  {printable(command)}  # {purpose}" for command, purpose in commands)
            note(f"\nnext:\n{rows_of_next}")

    report_summary(summary, show, as_json=job.as_json and job.output.out != "-", quiet=job.quiet)


def _next_commands(job: Job, summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the commands that a person wants after a run over texts, with their purposes."""
    out = job.output.out
    if out == "-" or "removed_by_reason" not in summary or "kept_file" not in summary or not summary["documents"]:
        return
    folder = shlex.quote(out)
    if job.output.report:
        yield f"open {folder}/{REPORT} in a browser", "see what was removed and why, label pairs"
    else:
        yield f"nearkin report {folder}", "see what was removed and why, label pairs"
    yield f"nearkin recipe evaluate {folder} --truth labels.tsv", "score the run by these labels"
    if "store" not in summary and summary["verify"] != "hamming":
        words = job.reading.command_words()
        kept = shlex.quote(str(Path(out) / summary["kept_file"]))
        command = " ".join(["nearkin store add pages.store", kept, *map(shlex.quote, words)])
        command = f"nearkin store create pages.store && {command}"
        yield command, "remember the kept documents for the next run"


def _count_rows(summary: Mapping[str, Any], kept: Path | str | None) -> Iterator[tuple[int | str, str]]:
    """Return the counts of documents or files: read, kept, removed by reason, and skipped."""
    verify, groups = summary["verify"], summary.get("groups")
    files, codes = verify == "score", verify == "hamming"
    # An engine does not report the size of its input.
    size = f" ({summary['bytes_read'] / 1e6:,.1f} MB)" if "bytes_read" in summary else ""
    what = "files" if files else f"documents of {count_of(summary['documents'], 'group')}" if groups else "documents"
    documents = groups["documents"] if groups else summary["documents"]
    yield documents, f"{what} in {total_seconds(summary):.1f} s{size}"
    for step, count in summary.get("resumed", {}).items():
        yield count, f"of them were {step} by an earlier run"
    added = f", added to {summary['store']}" if "store" in summary else ""
    place = f"{', listed' if files else ''} in {kept}" if kept else ""
    of = f" groups: {count_of(groups['kept'], 'document')}" if groups else ""
    yield summary["kept"], f"kept{of}{place}{added}"
    clusters = f"{count_of(summary['clusters'], 'cluster')}, the largest of {summary['largest_cluster']:,}"
    yield summary["removed"], f"removed{' groups' if groups else ''} ({removed_share(summary):.1%}) in {clusters}"
    reasons = count_reasons(summary)
    yield reasons["exact"], f"of them {'with an equal code' if codes else REASON_WORDS['exact'].name}"
    if reasons["same-letters"]:
        yield reasons["same-letters"], "of them differ from a kept document only in case, spacing or punctuation"
    yield reasons["near"], f"of them {REASON_WORDS['near'].name}{_describe_match(summary)}"
    if reasons["label"]:
        yield reasons["label"], f"of them {REASON_WORDS['label'].name}"
    if heads := summary["removed_by_reason"].get("representative", 0):
        yield heads, "of them would have been kept, one of each cluster: --keep none"
    if few := reasons["few-sources"]:
        yield few, f"of them {REASON_WORDS['few-sources'].name}"
    if older := count_reference(summary):
        yield older, "of them match older documents"
    if summary.get("pairs_that_differ"):
        rules = ", ".join(summary["differ"])
        yield summary["pairs_that_differ"], f"pairs of similar documents that differ in {rules}: both kept"
    if summary.get("kept_for_text"):
        yield summary["kept_for_text"], "kept documents match another one that lacks some of their text: --lossless"
    yield from _label_rows(summary.get("labels", {}))
    without = summary["without_features"]
    if without and codes:
        yield without, "without a code: kept"
    elif without and not files:
        has, was, them = ("document has", "was", "it") if without == 1 else ("documents have", "were", "them")
        fate = "removed" if summary["empty"] == "drop" else f"kept; --empty drop removes {them}"
        yield without, f"{has} no text to compare and {was} {fate}"
    if (contained := summary.get("contained", {})).get("found"):
        interval = f"{contained['low']:,} to {contained['high']:,}, from {contained['sampled']:,} of them"
        if contained["compared"] < contained["of"]:
            interval += f", looked up in {contained['compared']:,}: at least that many"
        are = "more is" if contained["estimate"] == 1 else "more are"
        yield contained["estimate"], f"{are} contained in a kept one ({interval}): see --measure containment"
    if summary.get("unreadable"):
        yield summary["unreadable"], "could not be read"
    yield from _malformed_rows(summary, None if kept is None else Path(kept).parent)
    if not files and not codes:
        yield summary["candidates"], f"candidates ({_describe_candidates(summary)}); {summary['verified']:,} verified"
    if chosen := summary.get("shrink_to"):
        next_ = chosen["next_threshold"]
        higher = "" if next_ is None else f"; {next_:g} keeps {chosen['next_kept']:,}"
        yield chosen["documents"], f"requested: the threshold {chosen['threshold']:g} keeps no more{higher}"
    if "kind" in summary:
        options = (f"{name} {_format_option(value)}" for name, value in summary["kind_set"].items())
        if lines := summary.get("left_out_lines"):
            yield lines["lines"], "frequent lines of sources left out of the comparison: see summary.json"
        yield "", f"kind {summary['kind']} set {'; '.join(options) or 'nothing: all its options were given'}"
    if hint := summary.get("kind_hint"):
        counts = (
            f"of the first {hint['sample']:,} it removes {hint['removed_by_kind']:,}, the default {hint['removed']:,}"
        )
        yield "", f"--kind {hint['kind']} may suit: most texts have {hint['sign']}; {counts}"
    if fitted := summary.get("idf"):
        low = f", a frequency is at most {fitted['max_error']:,} too low" if fitted["max_error"] else ""
        table = "" if kept is None else f": a recipe names them idf:@{Path(kept).parent / IDF}"
        yield fitted["features"], f"features counted for the weights{low}{table}"
    yield "", f"recipe {summary['recipe']}"


def _describe_match(summary: Mapping[str, Any]) -> str:
    """Return what makes two documents near-duplicates."""
    verify, threshold = summary["verify"], summary["threshold"]
    if verify == "score":
        also = f", or a text similar to at least {summary['text_threshold']}" if "also" in summary else ""
        return f": a score of at least {threshold}{also}"
    if verify == "hamming":
        return f": {_describe_candidates(summary)} of {summary['bits']}"
    if verify == "none":
        return f", not verified: {_describe_candidates(summary)}"
    return f": {verify} similarity of at least {threshold}"


def _label_rows(labels: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Return the effect of labels."""
    if labels.get("different"):
        apart = "pair" if labels["kept_apart"] == 1 else "pairs"
        yield labels["kept_apart"], f"{apart} not merged, of {labels['different']:,} labelled different"
    if labels.get("same"):
        others = labels["not_joined"]
        apart = f"; {others:,} stay apart, because other labels are different" if others else ""
        merged = "pair merged only for its label" if labels["joined"] == 1 else "pairs merged only for their label"
        yield labels["joined"], f"{merged}, of {labels['same']:,} labelled same{apart}"
    if worse := labels.get("kept_worse"):
        share = f"{worse['value']:.1%} ({worse['low']:.1%} to {worse['high']:.1%})"
        yield worse["labels"], f"labelled as kept in the worse copy: {share} of the same ones that were removed"


def _format_option(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _malformed_rows(summary: Mapping[str, Any], out: Path | None) -> Iterator[tuple[int, str]]:
    if summary.get("malformed"):
        rejected = "" if out is None else f"; see {out / REJECTED}"
        records = "unreadable record" if summary["malformed"] == 1 else "unreadable records"
        yield summary["malformed"], f"{records} skipped{rejected}"


def _describe_candidates(summary: Mapping[str, Any]) -> str:
    """Return how candidates were found, and with which recall."""
    if "radius" in summary:
        method = f"within {summary['radius']} bits"
    elif "sketch_size" in summary:
        method = f"by sketches of {summary['sketch_size']} features"
    else:
        method = f"{summary['num_bands']} bands of {summary['num_rows']}"
    recall = summary.get("expected_recall")
    return method if recall is None else f"{method}, recall {recall:.1%} at the threshold"


def _example(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the first removed document of the first cluster with the kept one, if both are in this corpus."""
    kept = None
    for row in rows:
        if row["reason"] in ("kept", "representative"):
            kept = row["representative"] if kept is None else kept
        elif kept is None:
            return None
        elif row["representative"] == kept:
            # NaN stands for a similarity that was not computed.
            verified = row["similarity"] == row["similarity"]
            evidence = row.get("evidence") or (f"similarity {row['similarity']:.2f}" if verified else "")
            reason = f"{row['reason']}, {evidence}" if evidence else row["reason"]
            return f"for example, {row['id']} is removed as a duplicate of {kept} ({reason})"
    return None


# Passages


def _dedup_passages(job: Job) -> None:
    """Write documents without removed passages, and tables of passages, documents and boilerplate."""
    from nearkin.io import table_name
    from nearkin.pieces.passages import passages

    output = job.output
    if output.report:
        raise bad_parameter("report", "given", "not with --unit or --boilerplate, which have no pairs to label")
    recipe = job.parse_recipe()
    options: Options = {"unit": "document", "remove": "parts", **job.unit, **job.passages}
    keeps_all = options["remove"] == "nothing"
    if output.out == "-" and keeps_all:
        raise bad_parameter("out", "-", "a folder, with --remove nothing, which leaves all documents unchanged")
    spool, columns = _spool_folder(output.out), job.extra_columns()
    with job.reading.open_corpus(
        job.inputs, extra_columns=columns, spool_dir=spool, quiet=job.quiet or job.as_json
    ) as corpus:
        if options["remove"] == "parts" and corpus.format != "parquet":
            # The columns of Parquet are checked when the files have been read.
            corpus.check_replacements()
        tables = [table_name(name, corpus.format) for name in ("passages", "documents", "boilerplate")]
        names = [*([] if keeps_all else corpus.kept_names(output.out_layout)), *tables, REJECTED]
        with _open_output(output, names, corpus.inputs) as target:
            with progress_bars(quiet=job.quiet) as progress, suppress_summary_warnings():
                result = passages(
                    corpus,
                    recipe=recipe,
                    sources=job.reference.source_column,
                    progress=progress,
                    **options,
                    **job.matching,
                )
            summary = _write_passages(result, corpus, output.out_layout, target)
        report_skipped(corpus)

    examples = (
        f"for example, characters {row['start']} to {row['end']} of {row['id']} are also in {row['other']}, from "
        f"{row['other_start']} on (similarity {row['similarity']:.2f})"
        for row in result.passages.rows()
    )
    _report(job, summary, _passage_rows(summary, None if target is None else Path(output.out)), next(examples, None))


def _write_passages(
    result: PassagesResult, corpus: Corpus, layout: KeptLayout, target: OutputDir | None
) -> dict[str, Any]:
    """Write changed documents, tables and a summary into a folder, or changed documents to standard output."""
    from nearkin.io import write_table

    writes = result.summary["remove"] != "nothing"
    summary = {**result.summary, **input_summary(corpus, layout if writes else None)}
    if writes:
        texts = cut_out(result.cuts, corpus)
        corpus.write_kept(result.kept_rows, target or binary_stdout(), layout=layout, replacements=texts)
    if target is None:
        return summary
    tables = {"passages": result.passages, "documents": result.documents, "boilerplate": result.boilerplate}
    for name, table in tables.items():
        if table is not None:
            write_table(target, name, table.columns, corpus.format)
    corpus.write_rejected(target)
    return target.write_json("summary.json", summary)


def _passage_rows(summary: Mapping[str, Any], out: Path | None) -> Iterator[tuple[int | str, str]]:
    """Return the counts of documents and passages."""
    size = f"{summary['bytes_read'] / 1e6:,.1f} MB"
    yield summary["documents"], f"documents in {total_seconds(summary):.1f} s ({size})"
    share = summary["characters_found"] / summary["characters"] if summary["characters"] else 0.0
    place = f"{summary['documents_with_passages']:,} documents: {share:.1%} of all characters"
    yield summary["passages"], f"passages by {summary['unit']} in {place}"
    kept = {"parts": "kept; passages were cut out of", "documents": "kept", "nothing": "documents, all kept"}
    cut = f" {summary['cut']:,} of them" if summary["remove"] == "parts" else ""
    yield summary["kept"], kept[summary["remove"]] + cut + (f"; in {out}" if out else "")
    yield summary["removed"], "documents removed"
    if lines := summary.get("boilerplate"):
        yield lines["lines"], f"frequent lines, {'left out' if lines['left_out'] else 'listed'}"
    yield from _malformed_rows(summary, out)
    if "recipe" in summary:
        yield "", f"recipe {summary['recipe']}"


# Files


def _dedup_files(job: Job) -> None:
    """Write lists of kept and removed files (paths, each ended by NUL), tables and a summary."""
    from nearkin.dedup.files import dedup_files

    for name in job.explicit_options():
        if name not in _FILE_OPTIONS:
            raise bad_parameter(name, "given", f"not with --family {job.family}, which compares files as bytes")
    output = job.output
    failures = Failures(strict=job.reading.strict)
    against = job.reference.against or []
    with ExitStack() as stack:
        store, described = stack.enter_context(_open_store(job))
        own = [] if store is None else [store.path]
        paths = list_files(map(Path, job.inputs), failures, exclude=own)
        older = stack.enter_context(
            _open_reference(against, lambda: nullcontext(list_files(map(Path, against), failures)), "files")
        )
        names = ["kept.nul", "removed.nul", "clusters.jsonl", "pairs.jsonl"]
        target = stack.enter_context(_open_output(output, names, [*map(Path, job.inputs), *own]))

        def write(result: DedupResult) -> dict[str, Any]:
            summary = {**result.summary, **described, "inputs": job.inputs, "unreadable_first": failures.first}
            return _write_files(result, summary, output, target)

        run = partial(
            dedup_files,
            dict.fromkeys(map(str, paths)),
            recipe=job.recipe,
            family=cast("FileFamily | None", job.family),
            against=older,
            on_error=failures.add,
            ledger=job.reference.ledger,
            **job.matching,
            **job.files,
        )
        result, summary = _run(run, write, job, store, target)
    rows = _count_rows(summary, None if target is None else Path(output.out) / "kept.nul")
    _report(job, summary, rows, _example(islice(result.clusters.rows(), EXAMPLE_ROWS)))
    failures.exit()


def _write_files(
    result: DedupResult, summary: dict[str, Any], output: OutputOptions, target: OutputDir | None
) -> dict[str, Any]:
    """Write lists of paths, tables and a summary into a folder, or the list of kept files to standard output."""
    from nearkin.io import write_table

    def join_names(paths: Iterable[str]) -> bytes:
        return b"".join(os.fsencode(path) + b"\0" for path in paths)

    if target is None:
        stream = binary_stdout()
        stream.write(join_names(result.kept))
        stream.flush()
        return summary
    removed = [row["id"] for row in result.clusters.rows() if row["reason"] != "kept"]
    for name, paths in (("kept.nul", result.kept), ("removed.nul", removed)):
        with target.open(name) as file:
            file.write(join_names(paths))
    for name, table in (("clusters", result.clusters), ("pairs", result.pairs)):
        # Tables are UTF-8, so other bytes of names are escaped; the lists have them unchanged.
        columns = {
            key: [escape_surrogates(value) if isinstance(value, str) else value for value in values]
            for key, values in table.columns.items()
        }
        write_table(target, name, columns, "jsonl")
    if output.report:
        from nearkin.report import Run

        write_report(Run.from_files(result, summary, Path(output.out).resolve().name), target)
    return target.write_json("summary.json", summary)
