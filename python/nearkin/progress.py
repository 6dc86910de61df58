"""Progress of long calls: functions for the values of `progress=`.

None and False report nothing, a function is called directly, and True shows bars: on standard error if it is a
terminal, or below the cell in a notebook. A bar has the name of the stage, its count, and the share, rate and remaining
time if the total is known. Bars in a notebook are HTML and need no widgets.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task, TaskID
    from rich.text import Text

Progress: TypeAlias = "Callable[[str, int, int | None], None]"
"""A function of the name of a stage, its count so far, and its total, None if unknown."""
_REDRAW_SECONDS = 0.1
"""Minimum time between updates of the bars in a notebook."""
ShowProgress: TypeAlias = "Progress | bool | None"
"""Values of `progress=`: a function, True for bars, False or None for nothing."""


def ignore_progress(stage: str, done: int, total: int | None) -> None:
    """Ignore progress."""


def mark_reference(report: Progress) -> Progress:
    """Return a function that reports the stages of older documents under their own names."""
    return lambda stage, done, total: report(f"{stage} older", done, total)


def ticker(report: Progress, stage: str, total: int) -> Callable[[int], None]:
    """Return a function that adds to the count of a stage and reports it.

    Parameters
    ----------
    report : function
    stage : str
    total : int

    Examples
    --------
    >>> from nearkin.progress import ticker
    >>> tick = ticker(lambda *event: print(*event), "search", 3)
    search 0 3
    >>> tick(2)
    search 2 3
    """
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        report(stage, done, total)

    tick(0)
    return tick


def megabyte_ticker(report: Progress, stage: str, total: int) -> Callable[[int], None]:
    """Return a function that adds bytes to the count of a stage and reports megabytes; the last is rounded up.

    Parameters
    ----------
    report : function
    stage : str
    total : int
        Number of bytes.

    Examples
    --------
    >>> from nearkin.progress import megabyte_ticker
    >>> tick = megabyte_ticker(lambda *event: print(*event), "copy", 1_500_000)
    copy, MB 0 2
    >>> tick(500_000), tick(1_000_000)
    copy, MB 0 2
    copy, MB 2 2
    (None, None)
    """
    total_mb = -(-total >> 20)

    def report_megabytes(stage: str, done: int, _: int | None) -> None:
        report(f"{stage}, MB", total_mb if done >= total else done >> 20, total_mb)

    return ticker(report_megabytes, stage, total)


@contextmanager
def reporting(progress: ShowProgress) -> Iterator[Progress]:
    """Return the function for a value of `progress=`; bars are removed at the end of the context.

    Parameters
    ----------
    progress : function, bool or None

    Raises
    ------
    ParameterError
        The value has another type.

    Examples
    --------
    >>> from nearkin.progress import reporting
    >>> with reporting(lambda stage, done, total: print(stage, done, total)) as report:
    ...     report("hash", 5, 10)
    hash 5 10
    """
    if progress is None or progress is False:
        yield ignore_progress
    elif progress is True:
        with bars() as report:
            yield report
    elif callable(progress):
        yield progress
    else:
        raise bad_parameter("progress", repr(progress), "True, False, None or a function of stage, done and total")


@contextmanager
def bars(console: Console | None = None) -> Iterator[Progress]:
    """Show a bar for each stage until the context ends.

    Parameters
    ----------
    console : rich.console.Console, optional
        Standard error or the notebook by default. Bars are not shown unless it is a terminal or a notebook.
    """
    from rich.console import Console

    console = console or Console(stderr=True, markup=False, highlight=False)
    if console.is_jupyter:
        with _notebook_bars() as report:
            yield report
    elif console.is_terminal:
        with _terminal_bars(console) as report:
            yield report
    else:
        yield ignore_progress


@dataclass
class _ProgressStage:
    """The count of a stage, its total, and the times of its start and last report."""

    start: float
    done: int = 0
    total: int | None = None
    now: float = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.start

    def row(self, name: str) -> str:
        """Return a row of an HTML table: name, bar, count, share, rate and remaining time."""
        cells = [f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"]
        label = html.escape(name)
        bar = f'<progress aria-label="{label}"></progress>'
        if self.total:
            cells.append(f"{100 * self.done // self.total}%")
            bar = f'<progress aria-label="{label}" max="{self.total}" value="{self.done}"></progress>'
        if (seconds := self.now - self.start) > 0 and self.done:
            rate = self.done / seconds
            cells.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
            if self.total is not None and self.done < self.total:
                cells.append(f"{_clock((self.total - self.done) / rate)} left")
        return "<tr>" + "".join(f"<td>{cell}</td>" for cell in (label, bar, *cells)) + "</tr>"


def _clock(seconds: float) -> str:
    """Return a time such as 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@contextmanager
def _notebook_bars() -> Iterator[Progress]:
    """Show bars below the cell by the display of the notebook, and remove them at the end."""
    from IPython.display import HTML, display

    stages: dict[str, _ProgressStage] = {}
    handle = display(HTML(""), display_id=True)
    drawn = 0.0

    def draw() -> None:
        if handle is not None:
            rows = "".join(stage.row(name) for name, stage in stages.items())
            handle.update(HTML(f"<table>{rows}</table>" if rows else ""))

    def report(stage: str, done: int, total: int | None) -> None:
        nonlocal drawn
        now = time.monotonic()
        state = stages.setdefault(stage, _ProgressStage(now))
        state.done, state.total, state.now = done, total, now
        if now - drawn >= _REDRAW_SECONDS or done == total:
            drawn = now
            draw()

    try:
        yield report
    finally:
        stages.clear()
        draw()


@contextmanager
def _terminal_bars(console: Console) -> Iterator[Progress]:
    from rich import progress as rich
    from rich.text import Text

    def count(task: Task) -> Text:
        done = f"{int(task.completed):,}"
        return Text(done if task.total is None else f"{done} of {int(task.total):,}", style="progress.download")

    def rate(task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(
            "" if not speed else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s", style="progress.data.speed"
        )

    class FunctionColumn(rich.ProgressColumn):
        """A column with the text that a function returns."""

        def __init__(self, format_task: Callable[[Task], Text]) -> None:
            super().__init__()
            self.format_task = format_task

        def render(self, task: Task) -> Text:
            return self.format_task(task)

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        FunctionColumn(count),
        FunctionColumn(rate),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=console, transient=True) as display:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = display.add_task(stage, total=total)
            display.update(tasks[stage], completed=done, total=total)

        yield report
