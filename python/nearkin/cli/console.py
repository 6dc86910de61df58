"""The terminal: messages, progress bars and tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from nearkin.io import Corpus


Progress = Callable[[str, int, int | None], None]
"""Takes a stage, how much of it is done, and how much there is, if that is known."""


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Progress]:
    """Progress bars on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


def warn(message: str) -> None:
    """Write a message to standard error."""
    typer.echo(f"nearkin: {message}", err=True)


def report_malformed(corpus: Corpus) -> None:
    """Write the first records that can't be read, and how many there are, to standard error."""
    for record in corpus.malformed.first[:5]:
        warn(f"skipped: {record}")
    if corpus.malformed.count > 5:
        warn(f"skipped {corpus.malformed.count} records in all that can't be read; --strict stops at the first")


def show_table(columns: list[str], rows: list[Any], *, header: bool = True) -> None:
    """Print rows as a table, as wide as they are where no terminal limits it."""
    from rich.console import Console
    from rich.table import Column, Table

    plain = {} if header else {"box": None, "padding": (0, 2, 0, 0)}
    table = Table(*(Column(name, overflow="fold") for name in columns), show_header=header, **plain)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    # A pipe has no width to keep to.
    Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else 1 << 12).print(table)
