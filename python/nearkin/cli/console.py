"""The terminal: what goes to standard output and error, progress bars, tables, and inputs as text.

Answers go to standard output, which programs read; messages, progress and summaries go to standard error.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, cast

import typer

from nearkin.cli.errors import worded
from nearkin.errors import InputError, printable
from nearkin.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console
    from typing_extensions import Buffer

    from nearkin.progress import Progress

# Exit codes besides 0.
FAILURE, USAGE, NO_MATCH, INTERRUPTED = 1, 2, 3, 130

# A pipe has no width to keep to: wider than any line.
_PIPE_WIDTH = 1 << 16


@lru_cache(maxsize=1)
def _is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal; the system is asked once, since lines are many."""
    return stream.isatty()


def say(text: str) -> None:
    """Write a line, or several, to standard output; on a terminal as `printable` makes it."""
    if _is_terminal(sys.stdout):
        text = printable(text, keep="\n\t")
    print(text)  # noqa: T201 - the one place that does


@contextmanager
def told_by_summary() -> Iterator[None]:
    """Keep Python from printing what a summary lists among its warnings."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"[\d,]+ (comparisons|look-ups) were left out", RuntimeWarning)
        warnings.filterwarnings("ignore", r"[\d,]+ of [\d,]+ documents have no value in column", RuntimeWarning)
        warnings.filterwarnings("ignore", "labels: ", RuntimeWarning)
        yield


def say_json(value: Mapping[str, object]) -> None:
    """Write an object to standard output as a line of JSON; on a terminal JSON escapes what that could act on."""
    text = json.dumps(value, ensure_ascii=False)
    if _is_terminal(sys.stdout):
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    print(text)  # noqa: T201


def warn(message: str) -> None:
    """Write a message to standard error, on one line and printable."""
    typer.echo(f"nearkin: {printable(message)}", err=True)


def use_utf8() -> None:
    """Make standard output UTF-8 unless it is a terminal: what one command prints, another one reads.

    Characters that the stream can't encode, such as half of a surrogate pair, are escaped.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is None:
        return
    if sys.stdout.isatty():
        reconfigure(errors="backslashreplace")
    else:
        reconfigure(encoding="utf-8", errors="backslashreplace")


def show_traceback(error: BaseException) -> None:
    """Write a traceback to standard error, printable: the messages in it may quote data."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    typer.echo(printable(text, keep="\n"), err=True, nl=False)


def shown(value: object) -> str:
    """A value from data as a line of standard output holds it: printable on a terminal, as it is in a pipe."""
    return printable(str(value)) if _is_terminal(sys.stdout) else str(value)


class _Shown(io.BufferedIOBase):
    """Bytes for standard output where that is a terminal: UTF-8 is shown, everything else is escaped."""

    def __init__(self) -> None:
        # Bars put a stream of their own in the place of standard output.
        self._out = sys.stdout
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        content = bytes(data)
        self._out.write(printable(self._decoder.decode(content), keep="\n\t"))
        return len(content)

    def flush(self) -> None:
        self._out.flush()


def data_out() -> IO[bytes]:
    """Where bytes for standard output go: into a pipe as they are, on a terminal as `printable` makes them."""
    if _is_terminal(sys.stdout):
        return cast("IO[bytes]", _Shown())
    return sys.stdout.buffer


def escaped(text: str) -> str:
    """A text that has a UTF-8 form: lone surrogates, which stand for other bytes of file names, escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def console(*, err: bool = False) -> Console:
    """The terminal, or the pipe in its place, for tables; nothing is coloured or read as markup."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    return Console(stderr=err, markup=False, highlight=False, width=None if stream.isatty() else _PIPE_WIDTH)


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    header: bool = True,
    lines: bool = True,
    right: Iterable[str] = (),
    err: bool = False,
) -> None:
    """Print rows: as a table on a terminal and standard error, as lines with tabs into a pipe.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    rows : iterable of sequences of str
        Cells; a terminal and standard error get them as `printable` makes them.
    header : bool, default True
        Whether the names are shown.
    lines : bool, default True
        Whether lines are drawn around the cells.
    right : iterable of str
        Columns that are set flush right.
    err : bool, default False
        Whether the table goes to standard error.
    """
    if not err and not _is_terminal(sys.stdout):
        for row in (columns, *rows) if header else rows:
            say("\t".join(map(printable, row)))
        return
    from rich.table import Table

    table = Table(show_header=header) if lines else Table(show_header=header, box=None, padding=(0, 2, 0, 0))
    to_the_right = set(right)
    made: Callable[[str], str] = printable if err else shown
    for name in columns:
        table.add_column(made(name), overflow="fold", justify="right" if name in to_the_right else "left")
    for row in rows:
        table.add_row(*map(made, row))
    console(err=err).print(table)


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Progress]:
    """Progress bars on a terminal, nothing elsewhere."""
    with reporting(not quiet and sys.stderr.isatty()) as report:
        yield report


def read_input(name: str) -> bytes:
    """The content of a file or, with the name -, of standard input.

    Raises
    ------
    InputError
        A named pipe, socket, device or folder.
    OSError
        A file that is not there or can't be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    from nearkin.io.inputs import check_stream

    check_stream(name)
    return Path(name).read_bytes()


def read_text(name: str, *, encoding: str = "utf-8") -> str:
    """The text of a file or, with the name -, of standard input.

    Raises
    ------
    InputError
        The content is not UTF-8.
    """
    data = read_input(name)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        place = "standard input" if name == "-" else name
        reason = f"is not UTF-8 at byte {error.start}; convert it, with iconv say"
        raise InputError(f"{place}: {reason}", place=place, reason=reason) from error


class Refusals:
    """Inputs that are left out while the others are processed: messages, and the exit code that reports them.

    Attributes
    ----------
    failed : bool
        Whether an input was left out.
    """

    def __init__(self) -> None:
        self.failed = False

    def refuse(self, fault: object) -> None:
        """Write why an input is left out."""
        self.failed = True
        warn(worded(fault))

    def refuse_at(self, name: str, fault: object) -> None:
        """Write why what has this name is left out."""
        self.refuse(f"{name}: {worded(fault)}")

    def end(self, *, found: bool = True) -> None:
        """Leave with the exit code that says what happened, unless all is well."""
        code = FAILURE if self.failed else 0 if found else NO_MATCH
        if code:
            raise typer.Exit(code)
