"""`nearkin report`: a page to look at what a deduplication removed, and to judge it."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin.cli.console import say, say_json, warn
from nearkin.cli.options import WRITING, Json, Quiet, bytes_of
from nearkin.cli.pages import check_page, write_page
from nearkin.errors import bad_parameter, printable

if TYPE_CHECKING:
    from nearkin.io import OutputDir
    from nearkin.quality.labels import PairLabels
    from nearkin.report import Run

REPORT = "report.html"
"""The file of a report in a folder of output."""

_LEAST = 1_000_000
_EXAMPLES = """
[bold]Examples[/]

  nearkin dedup corpus.jsonl --out clean --id-column id --report

  nearkin report clean --open

  nearkin report clean --against labels.tsv --out judged.html
"""


def check_report(out: str) -> None:
    """Refuse, before a run begins, a report that can't be written at its end."""
    from nearkin.report.page import check_installed

    if out == "-":
        raise bad_parameter("out", out, "a folder with --report, which is written there")
    check_installed()


def write_report(run: Run, target: OutputDir) -> None:
    """Write the report of a run beside its other files."""
    from nearkin.report import page_of

    with target.open(REPORT) as file:
        file.write(page_of(run).encode())


def report(
    folder: Annotated[Path, typer.Argument(help="Folder that nearkin dedup wrote.", show_default=False)],
    against: Annotated[
        str | None,
        typer.Option(help="Labels that people gave, as the page exports them: it begins with them, and scores them."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File of the report.", show_default="report.html in FOLDER", rich_help_panel=WRITING),
    ] = None,
    max_size: Annotated[
        str,
        typer.Option(
            help="Most bytes of the file, such as 50M; texts beyond are left out, and the page says so.",
            rich_help_panel=WRITING,
        ),
    ] = "20M",
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML file that shows what a run of `nearkin dedup` removed for what, and takes people's judgement.

    It opens from disk, asks nothing of any server, and can be mailed. What is judged in it is exported as a table that
    `nearkin evaluate`, `nearkin tune` and `nearkin dedup --labels` read.
    """
    from nearkin.quality.labels import PairLabels, read_labels
    from nearkin.report import Run, page_of
    from nearkin.report.page import check_installed

    check_page(out, "out")
    check_installed()
    limit = bytes_of(max_size, "max_size")
    if limit < _LEAST:
        raise bad_parameter("max_size", max_size, "1M or more")
    run = Run.of_folder(folder)
    labels: PairLabels | None = None
    if against is not None:
        read = read_labels(against)
        if not isinstance(read, PairLabels):
            raise bad_parameter("against", against, "a table of labelled pairs, as the page exports it")
        labels = read
        _check_labels(labels, against, folder)
    page = page_of(run, labels, limit, folder=folder)
    path = folder / REPORT if out is None else out
    if out is None:
        _own(folder)
    write_page(path, page)
    for note in run.notes:
        warn(f"warning: {note}")
    if as_json:
        say_json({"report": printable(str(path)), "bytes": path.stat().st_size})
    elif not quiet:
        say(f"{printable(str(path))}: {path.stat().st_size / 1e6:.1f} MB")
    if open_it and not webbrowser.open(path.resolve().as_uri()):
        warn(f"no browser could be started; open {path.resolve().as_uri()}")


def _check_labels(labels: PairLabels, name: str, folder: Path) -> None:
    """Say what of the labels is not of this run, or contradicts itself.

    Raises
    ------
    ParameterError
        None of them is of this run.
    """
    from nearkin.quality.labels import DedupRun, read_labels

    run = read_labels(folder)
    known = run.documents if isinstance(run, DedupRun) else set()
    strange = [pair for pair in labels.labels if not known.issuperset(pair)]
    if strange and len(strange) == len(labels.labels):
        pair = " and ".join(map(printable, strange[0]))
        raise bad_parameter("against", name, f"labels of documents of this run; it has not both {pair}")
    if strange:
        warn(f"warning: {name}: {len(strange)} of {len(labels.labels)} labels are of pairs that this run has not")
    if labels.contradictory:
        warn(f"warning: {name}: {labels.contradictory} pairs have both labels, and are left out")


def _own(folder: Path) -> None:
    """Name the report among the run's files, so that the next run with --overwrite may replace it."""
    from nearkin.io import replace_file
    from nearkin.io.output import SUMMARY

    path = folder / SUMMARY
    summary: dict[str, Any] = json.loads(path.read_text("utf-8"))
    files = summary.get("files", [])
    if REPORT in files:
        return
    if (folder / REPORT).exists():
        allowed = f"a folder whose {REPORT} this run has written; name another file by --out"
        raise bad_parameter("folder", str(folder), allowed)
    summary["files"] = sorted([*files, REPORT])
    with replace_file(path) as file:
        file.write(json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def add_to(app: typer.Typer) -> None:
    """Add the command of this module to a command line."""
    app.command(epilog=_EXAMPLES)(report)
