"""`nearkin dedup --unit`: passages of documents that stand in earlier ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearkin.cli.console import console, data_out, progress_bars, say_json, show_table, told_by_summary, warn
from nearkin.cli.paths import existing_parent
from nearkin.cli.reading import Reading, read_summary, report_malformed
from nearkin.errors import bad_parameter, printable
from nearkin.io.base import REJECTED, KeptLayout

if TYPE_CHECKING:
    from nearkin.dedup.passages_results import PassagesResult
    from nearkin.io import Corpus, OutputDir

_OF_DOCUMENTS = (
    "measure",
    "cluster",
    "against",
    "store",
    "columns",
    "links",
    "labels",
    "skip_hubs",
    "also",
    "text_threshold",
    "differ",
    "differing",
    "featureless",
)
"""Options of the command that are about whole documents."""
_OF_PASSAGES = ("min_length", "remove", "share", "within", "boilerplate_documents", "boilerplate_share")
"""Options of the command that are about passages."""


def wants_passages(context: typer.Context) -> bool:
    """Whether a run is one for passages; options of one kind are refused beside those of the other."""
    given = [name for name in context.params if is_given(context, name)]
    wanted = "unit" in given or "boilerplate" in given
    for name in _OF_DOCUMENTS if wanted else _OF_PASSAGES:
        if name in given:
            allowed = "no --unit and no --boilerplate" if wanted else "--unit or --boilerplate beside it"
            raise bad_parameter(name, context.params[name], allowed)
    return wanted


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given, and does not just have its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def passage_options(context: typer.Context, **others: Any) -> dict[str, Any]:
    """The options of `nearkin.passages`: those of the command, and the others; what is not given is left out."""
    names = ("threshold", "radius", "recall", "confirm", "verify", "keep", "max_comparisons", "boilerplate")
    named = {name: context.params[name] for name in (*names, *_OF_PASSAGES)}
    return {name: value for name, value in {**named, **others}.items() if value is not None}


def dedup_passages(
    *,
    inputs: Sequence[str],
    out: str,
    reading: Reading,
    columns: Sequence[str],
    out_layout: KeptLayout,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run the command: `kept.*` without the passages that are removed, `passages.*`, `documents.*`, `boilerplate.*`.

    `options` are those of `nearkin.passages`.
    """
    from nearkin.dedup.passages import passages

    with _opened(reading, inputs, columns, out, out_layout, options, overwrite=overwrite) as (corpus, target):
        # The warnings of the summary are told at the end.
        with progress_bars(quiet=quiet) as progress, told_by_summary():
            result = passages(corpus, progress=progress, **options)
        summary = {**result.summary, **read_summary(corpus, out_layout)}
        summary = _write(result, summary, corpus, out_layout, target)
    for warning in summary.get("warnings", []):
        warn(f"warning: {warning}")
    if as_json and target is not None:
        say_json(summary)
    elif not quiet:
        _report(result, summary, None if target is None else Path(out))


@contextmanager
def _opened(
    reading: Reading,
    inputs: Sequence[str],
    columns: Sequence[str],
    out: str,
    layout: KeptLayout,
    options: Mapping[str, Any],
    *,
    overwrite: bool,
) -> Iterator[tuple[Corpus, OutputDir | None]]:
    """The corpus and the output folder, None for standard output; what can't be read is reported at the end."""
    from nearkin.io import OutputDir, table_name

    keeps = options["remove"] != "nothing"
    if out == "-" and not keeps:
        raise bad_parameter("out", "-", "a folder, with --remove nothing, which keeps all documents as they are")
    spool = None if out == "-" else existing_parent(Path(out))
    with ExitStack() as stack:
        corpus = stack.enter_context(reading.corpus(inputs, extra_columns=columns, spool_dir=spool))
        if options["remove"] == "parts" and corpus.format != "parquet":
            # Of Parquet the columns are known once it is read.
            corpus.check_replacements()
        if out == "-":
            yield corpus, None
        else:
            tables = [table_name(name, corpus.format) for name in ("passages", "documents", "boilerplate")]
            names = [*(corpus.kept_names(layout) if keeps else []), *tables, REJECTED, "summary.json"]
            target = OutputDir(out, overwrite=overwrite, inputs=[*corpus.inputs], names=names)
            with target:
                yield corpus, target
        report_malformed(corpus)


def _write(
    result: PassagesResult, summary: dict[str, Any], corpus: Corpus, layout: KeptLayout, target: OutputDir | None
) -> dict[str, Any]:
    """Write what is kept: with tables and summary in a folder, alone on standard output."""
    from nearkin.io import write_table
    from nearkin.io.base import Replacements

    cuts = result.cuts
    changes = None
    if len(cuts.rows):
        changes = Replacements(cuts.rows, lambda rows: cuts.remaining(rows.tolist(), corpus.texts(rows)))
    if target is None:
        stream = data_out()
        corpus.write_kept(result.kept_rows, stream, layout=layout, replacements=changes)
        stream.flush()
        return summary
    if summary["remove"] != "nothing":
        corpus.write_kept(result.kept_rows, target, layout=layout, replacements=changes)
    else:
        summary = {name: value for name, value in summary.items() if name not in ("kept_file", "kept_files")}
    for name, table in (("passages", result.passages), ("documents", result.documents)):
        write_table(target, name, table.columns, corpus.format)
    if result.boilerplate is not None:
        write_table(target, "boilerplate", result.boilerplate.columns, corpus.format)
    corpus.write_rejected(target)
    return target.write_json("summary.json", summary)


def _report(result: PassagesResult, summary: Mapping[str, Any], out: Path | None) -> None:
    """Write to standard error what a reader of the terminal wants to know."""
    rows = list(_rows(summary, out))
    show_table(["count", "of what"], rows, header=False, lines=False, right=["count"], err=True)
    row = next(result.passages.rows(), None)
    if row is not None:
        text = (
            f"for example characters {row['start']} to {row['end']} of {row['id']} stand in {row['other']} from "
            f"{row['other_start']} on (similarity {row['similarity']:.2f})"
        )
        console(err=True).print(f"\n{printable(text)}")


def _rows(summary: Mapping[str, Any], out: Path | None) -> Iterator[tuple[str, str]]:
    seconds = sum(stage["wall"] for stage in summary["timings"].values())
    yield f"{summary['documents']:,}", f"documents read in {seconds:.1f} s ({summary['bytes_read'] / 1e6:,.1f} MB)"
    share = summary["characters_found"] / summary["characters"] if summary["characters"] else 0.0
    yield (
        f"{summary['passages']:,}",
        f"passages by {summary['unit']} in {summary['documents_with_passages']:,} documents: {share:.1%} of all "
        "characters",
    )
    kept = {"parts": "kept, of which passages were cut out of", "documents": "kept", "nothing": "documents, all kept"}
    cut = f" {summary['cut']:,}" if summary["remove"] == "parts" else ""
    yield f"{summary['kept']:,}", kept[summary["remove"]] + cut + (f"; {out} has them" if out else "")
    yield f"{summary['removed']:,}", "documents removed"
    if "boilerplate" in summary:
        use = "left out" if summary["boilerplate"]["left_out"] else "listed"
        yield f"{summary['boilerplate']['lines']:,}", f"frequent lines, {use}"
    if summary["malformed"]:
        rejected = "" if out is None else f"; {out / REJECTED} says why"
        yield f"{summary['malformed']:,}", f"records skipped that can't be read{rejected}"
    if "recipe" in summary:
        yield "", f"recipe {summary['recipe']}"
