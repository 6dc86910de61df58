"""Progress of long calls: the one place that makes a function of what `progress=` was given.

None and False tell nothing, a function is called as it is, and True shows bars: on standard error where that is a
terminal, below the cell in a notebook, and nowhere else. A bar has the stage, how much of it is done, the share, the
rate and the time that is left, as far as the whole is known. Those of a notebook are HTML, which needs no widgets.
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

__all__ = ["Progress", "ShowProgress", "bars", "megabytes", "of_older", "reporting", "ticker", "unreported"]

Progress: TypeAlias = "Callable[[str, int, int | None], None]"
"""Called with a stage's name, how much of it is done, and of how much (None where that is not known)."""
_EVERY = 0.1
"""Seconds after which bars of a notebook are drawn again."""
ShowProgress: TypeAlias = "Progress | bool | None"
"""What `progress=` takes: a function; True for bars; False or None for nothing."""


def unreported(stage: str, done: int, total: int | None) -> None:
    """Progress that nobody asked for."""


def of_older(report: Progress) -> Progress:
    """Progress of older documents, whose stages have names of their own."""
    return lambda stage, done, total: report(f"{stage} older", done, total)


def ticker(report: Progress, stage: str, total: int) -> Callable[[int], None]:
    """A function that is called with how many more are done of a stage.

    Parameters
    ----------
    report : function
    stage : str
    total : int
        Of how many.

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


def megabytes(report: Progress, stage: str, total: int) -> Callable[[int], None]:
    """As `ticker`, called with bytes, and telling megabytes, of which the last one counts as whole.

    Parameters
    ----------
    report : function
    stage : str
    total : int
        Of how many bytes.

    Examples
    --------
    >>> from nearkin.progress import megabytes
    >>> tick = megabytes(lambda *event: print(*event), "copy", 1_500_000)
    copy, MB 0 2
    >>> tick(500_000), tick(1_000_000)
    copy, MB 0 2
    copy, MB 2 2
    (None, None)
    """
    done, whole = 0, -(-total >> 20)

    def tick(count: int) -> None:
        nonlocal done
        done += count
        report(f"{stage}, MB", whole if done >= total else done >> 20, whole)

    tick(0)
    return tick


@contextmanager
def reporting(progress: ShowProgress) -> Iterator[Progress]:
    """The function that is called with progress; at the end of the context bars are gone.

    Parameters
    ----------
    progress : function, bool or None
        As the caller gave it.

    Raises
    ------
    ParameterError
        Anything else.

    Examples
    --------
    >>> from nearkin.progress import reporting
    >>> with reporting(lambda stage, done, total: print(stage, done, total)) as report:
    ...     report("hash", 5, 10)
    hash 5 10
    """
    if progress is None or progress is False:
        yield unreported
    elif progress is True:
        with bars() as report:
            yield report
    elif callable(progress):
        yield progress
    else:
        raise bad_parameter("progress", repr(progress), "True, False, None or a function of stage, done and total")


@contextmanager
def bars(console: Console | None = None) -> Iterator[Progress]:
    """A bar for each stage, which goes when the context ends.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where they are shown; standard error, or the notebook, if not given. Where nobody looks there are none.
    """
    from rich.console import Console

    shown = console or Console(stderr=True, markup=False, highlight=False)
    if shown.is_jupyter:
        with _notebook() as report:
            yield report
    elif shown.is_terminal:
        with _display(shown) as report:
            yield report
    else:
        yield unreported


@dataclass
class _Stage:
    """How far a stage is, and since when."""

    since: float
    done: int = 0
    total: int | None = None
    now: float = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.since

    def row(self, name: str) -> str:
        """The row of a table: name, bar, and what is known in words."""
        words = [f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"]
        label = html.escape(name)
        bar = f'<progress aria-label="{label}"></progress>'
        if self.total:
            words.append(f"{100 * self.done // self.total}%")
            bar = f'<progress aria-label="{label}" max="{self.total}" value="{self.done}"></progress>'
        if (taken := self.now - self.since) > 0 and self.done:
            rate = self.done / taken
            words.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
            if self.total is not None and self.done < self.total:
                words.append(f"{_clock((self.total - self.done) / rate)} left")
        shown = (label, bar, *words)
        return "<tr>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>"


def _clock(seconds: float) -> str:
    """Such as 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@contextmanager
def _notebook() -> Iterator[Progress]:
    """Bars below the cell, by the display that every notebook has; they go at the end."""
    from IPython.display import HTML, display

    stages: dict[str, _Stage] = {}
    handle = display(HTML(""), display_id=True)
    drawn = 0.0

    def draw() -> None:
        if handle is not None:
            rows = "".join(stage.row(name) for name, stage in stages.items())
            handle.update(HTML(f"<table>{rows}</table>" if rows else ""))

    def report(stage: str, done: int, total: int | None) -> None:
        nonlocal drawn
        now = time.monotonic()
        held = stages.setdefault(stage, _Stage(now))
        held.done, held.total, held.now = done, total, now
        if now - drawn >= _EVERY or done == total:
            drawn = now
            draw()

    try:
        yield report
    finally:
        stages.clear()
        draw()


@contextmanager
def _display(shown: Console) -> Iterator[Progress]:
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

    class Told(rich.ProgressColumn):
        """A column that a function writes."""

        def __init__(self, made: Callable[[Task], Text]) -> None:
            super().__init__()
            self.made = made

        def render(self, task: Task) -> Text:
            return self.made(task)

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        Told(count),
        Told(rate),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=shown, transient=True) as display:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = display.add_task(stage, total=total)
            display.update(tasks[stage], completed=done, total=total)

        yield report
