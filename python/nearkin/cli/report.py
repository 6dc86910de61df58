"""`nearkin report`, and the HTML pages that other commands write with `--report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin.cli.commands import Commands
from nearkin.cli.console import progress_bars, say, warn
from nearkin.cli.options import Quiet, opt, output_opt
from nearkin.errors import bad_parameter, printable

if TYPE_CHECKING:
    from nearkin.io import OutputDir
    from nearkin.quality.judgements import PairLabels
    from nearkin.report import Run

app = Commands()

REPORT = "report.html"
"""Name of the report in the output folder of a deduplication."""


def check_page(path: Path | None, option: str = "report") -> None:
    """Raise an error if a page cannot be written, before there is any work for it.

    The name must be that of a page, so that a page does not replace a corpus or table by mistake.

    Raises
    ------
    ParameterError
        The name does not end with .html, or is that of a folder, or its folder does not exist.
    MissingExtraError
        Jinja2 is not installed.
    """
    if path is None:
        return
    from nearkin.report.page import check_installed

    if path.suffix.lower() not in (".html", ".htm"):
        raise bad_parameter(option, str(path), "a name that ends with .html")
    if path.is_dir():
        raise bad_parameter(option, str(path), "a file; this is a folder")
    if not path.absolute().parent.is_dir():
        raise bad_parameter(option, str(path), "a file in a folder that exists")
    check_installed()


def write_page(path: Path, page: str) -> None:
    """Write a page, and replace a file of that name atomically.

    Raises
    ------
    OSError
        The page cannot be written.
    """
    from nearkin.io import replace_file

    with replace_file(path) as file:
        file.write(page.encode())


def check_report(out: str, keep: str | None = None) -> None:
    """Raise an error if the report of a deduplication cannot be written, before the run begins."""
    from nearkin.report.page import check_installed

    if out == "-":
        raise bad_parameter("out", out, "a folder with --report, which is written there")
    if keep == "none":
        raise bad_parameter("keep", keep, "another rule with --report, which shows removed documents beside a kept one")
    check_installed()


def write_report(run: Run, target: OutputDir) -> None:
    """Write the report of a run into its output folder."""
    from nearkin.report import report_page

    with target.open(REPORT) as file:
        file.write(report_page(run).encode())


@app.add()
def report(
    folder: Annotated[Path, typer.Argument(help="Output folder of nearkin dedup.")],
    against: Annotated[
        str | None, opt("Labels exported from the page: shown in it, and used to score the run.")
    ] = None,
    out: Annotated[Path | None, output_opt("File of the report.", show_default="report.html in FOLDER")] = None,
    quiet: Quiet = False,
) -> None:
    """Write one HTML file that shows removed documents with the kept ones, and collects labels.

    The page opens from disk without a server, and can be sent by mail. It exports the labels as a table that
    `nearkin recipe evaluate`, `nearkin recipe tune` and `nearkin dedup --labels` read.

    Examples
    --------
    $ nearkin report clean
    clean/report.html: 0.1 MB

    nearkin dedup corpus.jsonl --out clean --id-column id --report
    nearkin report clean
    nearkin report clean --against labels.tsv --out judged.html
    """
    from nearkin.quality.judgements import PairLabels, read_judgements
    from nearkin.report import Run, report_page
    from nearkin.report.page import check_installed

    check_page(out, "out")
    check_installed()
    labels: PairLabels | None = None
    if against is not None:
        table = read_judgements(against)
        if not isinstance(table, PairLabels):
            raise bad_parameter("against", against, "a table of labelled pairs, as the page exports it")
        labels = table
        _check_labels(labels, against, folder)
    with progress_bars(quiet=quiet) as progress:
        run = Run.from_folder(folder, progress)
        page = report_page(run, labels, folder=folder)
    path = folder / REPORT if out is None else out
    if out is None:
        _add_to_summary(folder)
    write_page(path, page)
    for note in run.notes:
        warn(f"warning: {note}")
    if not quiet:
        say(f"{printable(str(path))}: {path.stat().st_size / 1e6:.1f} MB")


def _check_labels(labels: PairLabels, name: str, folder: Path) -> None:
    """Warn about labels of documents that the run does not have, and about contradictory labels.

    Raises
    ------
    ParameterError
        No label belongs to the run.
    """
    from nearkin.quality.judgements import DedupRun, read_judgements

    run = read_judgements(folder)
    documents = run.documents if isinstance(run, DedupRun) else set()
    unknown = [pair for pair in labels.labels if not documents.issuperset(pair)]
    if unknown and len(unknown) == len(labels.labels):
        pair = " and ".join(map(printable, unknown[0]))
        raise bad_parameter("against", name, f"labels of documents of this run; it does not have both {pair}")
    if unknown:
        warn(f"warning: {name}: {len(unknown)} of {len(labels.labels)} labels are for pairs that are not in this run")
    if labels.contradictory:
        warn(f"warning: {name}: {labels.contradictory} pairs have both labels, and are left out")


def _add_to_summary(folder: Path) -> None:
    """Add the report to the files of the run, so that the next run with --overwrite may replace it."""
    from nearkin.io import replace_file
    from nearkin.io.output import SUMMARY

    path = folder / SUMMARY
    summary: dict[str, Any] = json.loads(path.read_text("utf-8"))
    files = summary.get("files", [])
    if REPORT in files:
        return
    if (folder / REPORT).exists():
        allowed = f"a folder whose {REPORT} was written by this run; name another file by --out"
        raise bad_parameter("folder", str(folder), allowed)
    summary["files"] = sorted([*files, REPORT])
    with replace_file(path) as file:
        file.write(json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n")
