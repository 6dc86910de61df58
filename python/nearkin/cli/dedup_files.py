"""`nearkin dedup --family ssdeep`: near-identical files of folders, by their fuzzy digests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearkin.cli.console import Refusals, data_out, escaped, progress_bars, say_json, told_by_summary, warn
from nearkin.cli.paths import named_paths
from nearkin.cli.report import REPORT, write_report
from nearkin.cli.store_output import Output, check_alone, remembering_store
from nearkin.errors import bad_parameter, printable

if TYPE_CHECKING:
    from nearkin.dedup.result import DedupResult
    from nearkin.index.digests import DigestIndex
    from nearkin.io import OutputDir
    from nearkin.store.store import Store

# Options of the command that are about texts.
_OF_TEXTS = (
    "text_column",
    "id_column",
    "format",
    "encoding",
    "delimiter",
    "html",
    "max_malformed",
    "bits",
    "radius",
    "recall",
    "confirm",
    "verify",
    "source_column",
    "columns",
    "max_comparisons",
    "out_layout",
    "unit",
    "min_length",
    "remove",
    "share",
    "within",
    "boilerplate",
    "boilerplate_documents",
    "boilerplate_share",
)


def dedup_files(
    context: typer.Context,
    *,
    inputs: Sequence[str],
    out: str,
    recipe: str | None,
    threshold: float | None,
    cluster: str,
    keep: str,
    against: Sequence[str],
    store: Path | None,
    links: str,
    labels: Path | None,
    skip_hubs: int | None,
    also: str | None,
    text_threshold: float | None,
    report: bool,
    strict: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the command: `kept.nul` and `removed.nul` (paths, each ended by NUL), tables and summary in `out`."""
    from nearkin.dedup.files import SKIP_HUBS
    from nearkin.dedup.files import dedup_files as run

    _check_options(context)
    check_alone(store, against, out)
    unreadable = _Unreadable(strict=strict)
    with ExitStack() as stack:
        held = stack.enter_context(remembering_store(store, out))
        named = {} if held is None else {"store": escaped(str(held.path))}

        def write(result: DedupResult, target: OutputDir | None) -> dict[str, Any]:
            summary = {**result.summary, **named, "inputs": list(inputs), "unreadable_first": unreadable.first}
            return _write(result, summary, target, out if report else None)

        own = [] if held is None else [held.path]
        paths = [str(path) for path in named_paths(map(Path, inputs), unreadable, recursive=True, leave_out=own)]
        older = stack.enter_context(_older(against, unreadable))
        read = [*inputs, *([] if held is None else [str(held.path)])]
        output = Output(stack.enter_context(_output(out, overwrite, read, report=report)), write)
        progress = stack.enter_context(progress_bars(quiet=quiet))
        stack.enter_context(told_by_summary())
        result = run(
            dict.fromkeys(paths),
            recipe=recipe,
            threshold=threshold,  # type: ignore[arg-type]  # checked by the call
            cluster=cluster,  # type: ignore[arg-type]
            keep=keep,
            against=older,
            store=held,
            output=None if held is None else output.put,  # type: ignore[arg-type]  # There is a folder.
            links=links,  # type: ignore[arg-type]
            labels=labels,
            skip_hubs=SKIP_HUBS if skip_hubs is None else skip_hubs,
            also=also,  # type: ignore[arg-type]
            text_threshold=text_threshold,
            on_error=unreadable.add,
            progress=progress,
        )
        if held is None:
            output.put(result)
    summary = output.summary
    for warning in summary.get("warnings", []):
        warn(f"warning: {warning}")
    if as_json and output.target is not None:
        say_json(summary)
    elif not quiet:
        _print_summary(result, summary, None if output.target is None else Path(out))
    unreadable.end()


class _Unreadable(Refusals):
    """Files that could not be read: the first ones for the summary, or with `strict` the first one as an error."""

    def __init__(self, *, strict: bool) -> None:
        super().__init__()
        self.strict = strict
        self.first: list[dict[str, str]] = []

    def add(self, path: str, error: Exception) -> None:
        if self.strict:
            raise error
        self.refuse(error)
        if len(self.first) < 10:
            self.first.append({"path": printable(path), "reason": printable(str(error))})


def _check_options(context: typer.Context) -> None:
    """Refuse options that are about texts."""
    for name in _OF_TEXTS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise bad_parameter(name, "given", "not with --family ssdeep, which compares files as bytes")


@contextmanager
def _output(out: str, overwrite: bool, inputs: Sequence[str], *, report: bool) -> Iterator[OutputDir | None]:
    """The folder of the output; None for standard output."""
    from nearkin.io import OutputDir

    if out == "-":
        yield None
        return
    names = ["kept.nul", "removed.nul", "clusters.jsonl", "pairs.jsonl", "summary.json", *([REPORT] if report else [])]
    with OutputDir(out, overwrite=overwrite, inputs=[Path(path) for path in inputs], names=names) as target:
        yield target


@contextmanager
def _older(against: Sequence[str], refusals: Refusals) -> Iterator[list[Path] | DigestIndex | Store | None]:
    """Older files, or the index or store that a single argument names."""
    from nearkin.index.digests import DigestIndex, is_digest_index
    from nearkin.store.log import LOG_NAME

    if not against:
        yield None
    elif len(against) == 1 and Path(against[0]).is_file() and is_digest_index(against[0]):
        yield DigestIndex.open(against[0])
    elif len(against) == 1 and Path(against[0], LOG_NAME).is_file():
        from nearkin.store.store import Store

        with Store.open(against[0], "r") as store:
            yield store
    else:
        yield named_paths(map(Path, against), refusals, recursive=True)


def _write(
    result: DedupResult, summary: dict[str, Any], target: OutputDir | None, report: str | None
) -> dict[str, Any]:
    """Lists of paths, tables and summary in a folder; on standard output the list of what is kept alone.

    `report` is the name of the folder where a report is asked for.
    """
    from nearkin.io import write_table

    if target is None:
        stream = data_out()
        stream.write(_ended_by_nul(result.kept))
        stream.flush()
        return summary
    removed = [row["id"] for row in result.clusters.rows() if row["reason"] != "kept"]
    for name, paths in (("kept.nul", result.kept), ("removed.nul", removed)):
        with target.open(name) as file:
            file.write(_ended_by_nul(paths))
    for name, table in (("clusters", result.clusters), ("pairs", result.pairs)):
        write_table(target, name, _readable(table.columns), "jsonl")
    if report is not None:
        from nearkin.report import Run

        write_report(Run.of_files_result(result, summary, Path(report).resolve().name), target)
    return target.write_json("summary.json", summary)


def _ended_by_nul(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _readable(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Columns whose strings have a UTF-8 form: other bytes of names are escaped; the lists have them exactly."""
    return {
        name: [escaped(value) if isinstance(value, str) else value for value in values]
        for name, values in columns.items()
    }


def _print_summary(result: DedupResult, summary: Mapping[str, Any], out: Path | None) -> None:
    """Write to standard error what a reader of the terminal wants to know."""
    reasons = summary["removed_by_reason"]
    copies, near = reasons["exact"] + reasons["exact-old"], reasons["near"] + reasons["near-old"]
    lines = [
        f"{summary['documents']:,} files read",
        f"{summary['kept']:,} kept"
        + (f", listed in {out / 'kept.nul'}" if out else "")
        + (f", remembered in {summary['store']}" if "store" in summary else ""),
        f"{summary['removed']:,} removed from the list in {summary['clusters']:,} clusters: {copies:,} exact copies, "
        f"{near:,} with a score of at least {summary['threshold']}"
        + (f", or a text similar to at least {summary['text_threshold']}" if "also" in summary else ""),
    ]
    if summary.get("labels", {}).get("different"):
        told = summary["labels"]
        lines.append(f"{told['kept_apart']:,} pairs kept apart, of {told['different']:,} that are labelled different")
    if summary["unreadable"]:
        lines.append(f"{summary['unreadable']:,} could not be read")
    lines.append(f"recipe {summary['recipe']}")
    example = next((row for row in result.clusters.rows() if row["reason"] != "kept"), None)
    if example is not None:
        names = [printable(str(example[key])) for key in ("id", "representative")]
        said = example.get("evidence") or f"score {example['similarity']:.0f}"
        lines.append(f"for example {names[0]} goes for {names[1]} ({example['reason']}, {said})")
    for line in lines:
        warn(line)
