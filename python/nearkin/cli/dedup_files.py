"""`nearkin dedup --family ssdeep`: near-identical files of folders, by their fuzzy digests."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearkin.cli.console import progress_bars, warn
from nearkin.cli.ssdeep import DigestCommand, named_paths, printable
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from nearkin.pipeline.results import DedupResult
    from nearkin.search.digests import DigestIndex

__all__ = ["dedup_files"]

_MAGIC = b"NKDIGEST"
# Options of the command that speak of texts.
_OF_TEXTS = ("text_column", "id_column", "format", "bits", "radius", "recall", "confirm", "verify", "source_column")


def dedup_files(
    context: typer.Context,
    *,
    inputs: list[str],
    out: str,
    recipe: str | None,
    threshold: float | None,
    cluster: str,
    keep: str,
    against: list[str] | None,
    links: str,
    strict: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the command: `kept.nul` and `removed.nul` (paths parted by NUL), tables and summary in `out`."""
    from nearkin.io import write_table
    from nearkin.pipeline.files import THRESHOLD
    from nearkin.pipeline.files import dedup_files as run

    for name in _OF_TEXTS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise bad_parameter(name, "given", "not with --family ssdeep, which compares files as bytes")
    messages = DigestCommand()
    failed: list[dict[str, str]] = []

    def refuse(path: str, error: Exception) -> None:
        if strict:
            raise error
        messages.refuse(error)
        failed.append({"path": printable(path), "reason": printable(str(error))})

    paths = [str(path) for path in named_paths([Path(path) for path in inputs], None, True, messages)]
    score = THRESHOLD if threshold is None else threshold
    with _output(out, overwrite, inputs) as target, progress_bars(quiet=quiet) as progress:
        result = run(
            dict.fromkeys(paths),
            recipe=recipe,
            threshold=score,  # type: ignore[arg-type]  # checked by the call, with its message
            cluster=cluster,  # type: ignore[arg-type]
            keep=keep,
            against=_older(against, messages),
            links=links,  # type: ignore[arg-type]
            on_error=refuse,
            progress=progress,
        )
        removed = [row["id"] for row in result.clusters.rows() if row["reason"] != "kept"]
        summary = {**result.summary, "inputs": inputs, "unreadable_first": failed[:10]}
        if target is None:
            sys.stdout.buffer.write(b"".join(os.fsencode(path) + b"\0" for path in result.kept))
            sys.stdout.buffer.flush()
        else:
            for name, some in (("kept.nul", result.kept), ("removed.nul", removed)):
                with target.open(name) as file:
                    file.write(b"".join(os.fsencode(path) + b"\0" for path in some))
            for name, table in (("clusters", result.clusters), ("pairs", result.pairs)):
                write_table(target, name, _readable(table.columns), "jsonl")
            target.write_json("summary.json", summary)
    if as_json and target is not None:
        print(json.dumps(summary, ensure_ascii=False))  # noqa: T201
    elif not quiet:
        _print_summary(result, summary, None if target is None else Path(out))
    messages.end()


@contextmanager
def _output(out: str, overwrite: bool, inputs: list[str]) -> Iterator[Any]:
    from nearkin.io import OutputDir

    if out == "-":
        yield None
        return
    with OutputDir(out, overwrite=overwrite, inputs=[Path(path) for path in inputs]) as target:
        yield target


def _older(against: list[str] | None, messages: DigestCommand) -> list[Path] | DigestIndex | None:
    """Older files, or the index that a single argument names."""
    from nearkin.search.digests import DigestIndex

    if not against:
        return None
    if len(against) == 1 and Path(against[0]).is_file():
        with Path(against[0]).open("rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                return DigestIndex.load(against[0])
    return named_paths([Path(path) for path in against], None, True, messages)


def _readable(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns whose strings have a UTF-8 form: other bytes of names are escaped, and stand exactly in the lists."""
    return {
        name: [v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for v in values]
        for name, values in columns.items()
    }


def _print_summary(result: DedupResult, summary: dict[str, Any], out: Path | None) -> None:
    """What a reader of the terminal wants to know, on standard error."""
    reasons = summary["removed_by_reason"]
    copies, near = reasons["exact"] + reasons["exact-old"], reasons["near"] + reasons["near-old"]
    lines = [
        f"{summary['documents']:,} files read",
        f"{summary['kept']:,} kept" + (f", listed in {out / 'kept.nul'}" if out else ""),
        f"{summary['removed']:,} removed from the list in {summary['clusters']:,} clusters: {copies:,} exact copies, "
        f"{near:,} with a score of at least {summary['threshold']}",
    ]
    if summary["unreadable"]:
        lines.append(f"{summary['unreadable']:,} could not be read")
    lines.append(f"recipe {summary['recipe']}")
    for line in lines:
        warn(line)
    example = next((row for row in result.clusters.rows() if row["reason"] != "kept"), None)
    if example is not None:
        names = [printable(str(example[key])) for key in ("id", "representative")]
        warn(f"for example {names[0]} goes for {names[1]} ({example['reason']}, score {example['similarity']:.0f})")
