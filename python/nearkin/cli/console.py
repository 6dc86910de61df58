"""The terminal: standard output and error, progress bars, tables, and inputs as text.

Results go to standard output, for other programs to read. Messages, progress and summaries go to standard error.
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
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import typer

from nearkin.cli.errors import format_error
from nearkin.errors import ParameterError, bad_parameter, input_error, printable
from nearkin.notebook import cells as cell_width
from nearkin.notebook import padded
from nearkin.progress import reporting

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nearkin.progress import Progress

FAILURE, USAGE, NO_MATCH, INTERRUPTED = 1, 2, 3, 130
"""Exit codes besides 0."""
_PIPE_WIDTH = 1 << 16
"""Width of a table in a pipe, beyond that of any line."""


@lru_cache(maxsize=1)
def _is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal. The result is cached, because output has many lines."""
    return stream.isatty()


def say(text: str) -> None:
    """Write lines to standard output; on a terminal with control characters escaped."""
    if _is_terminal(sys.stdout):
        text = printable(text, keep="\n\t")
    print(text)  # noqa: T201 - the one place that prints text


def say_json(value: Mapping[str, object]) -> None:
    """Write an object to standard output as a line of JSON; on a terminal with control characters escaped."""
    text = json.dumps(value, ensure_ascii=False)
    if _is_terminal(sys.stdout):
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    print(text)  # noqa: T201


def say_row(record: Mapping[str, object], cells: Iterable[object], *, as_json: bool) -> None:
    """Write a record to standard output: as a line of JSON, or its cells separated by tabs."""
    if as_json:
        say_json(record)
    else:
        say("\t".join(map(display, cells)))


def say_result(result: object, record: Mapping[str, object], *, as_json: bool) -> None:
    """Write a result to standard output: its record as JSON, or its text."""
    if as_json:
        say_json(record)
    else:
        say(str(result))


def warn(message: str) -> None:
    """Write a message to standard error, on one line and printable."""
    typer.echo(f"nearkin: {printable(message)}", err=True)


def note(text: str) -> None:
    """Write printable lines to standard error; a terminal wraps long ones itself, so that commands can be copied."""
    typer.echo(text, err=True)


def report_summary(summary: Mapping[str, Any], show: Callable[[], None], *, as_json: bool, quiet: bool) -> None:
    """Write the warnings of a summary, then the summary as JSON, or as `show` prints it unless `quiet`."""
    for warning in summary.get("warnings", []):
        warn(f"warning: {warning}")
    if as_json:
        say_json(summary)
    elif not quiet:
        show()


@contextmanager
def suppress_summary_warnings() -> Iterator[None]:
    """Keep Python from printing warnings that a summary lists."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"[\d,]+ (comparisons|look-ups) were left out", RuntimeWarning)
        warnings.filterwarnings("ignore", r"[\d,]+ of [\d,]+ documents have no value in column", RuntimeWarning)
        warnings.filterwarnings("ignore", "labels: ", RuntimeWarning)
        warnings.filterwarnings("ignore", "checkpoint: ", RuntimeWarning)
        yield


def use_utf8() -> None:
    """Make standard output UTF-8 unless it is a terminal, because another command may read it.

    Characters that the stream cannot encode, such as half of a surrogate pair, are escaped.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        encoding = {} if sys.stdout.isatty() else {"encoding": "utf-8"}
        reconfigure(errors="backslashreplace", **encoding)


def show_traceback(error: BaseException) -> None:
    """Write a traceback to standard error, printable because its messages may quote data."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    typer.echo(printable(text, keep="\n"), err=True, nl=False)


def display(value: object) -> str:
    """Return a value for a line of standard output: printable on a terminal, unchanged in a pipe."""
    return printable(str(value)) if _is_terminal(sys.stdout) else str(value)


class _TerminalBytes(io.BufferedIOBase):
    """Bytes for a terminal: valid UTF-8 is shown, everything else is escaped."""

    def __init__(self) -> None:
        # Progress bars may replace sys.stdout.
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


def binary_stdout() -> IO[bytes]:
    """Return standard output for bytes: a pipe gets them unchanged, a terminal gets them printable."""
    return cast("IO[bytes]", _TerminalBytes()) if _is_terminal(sys.stdout) else sys.stdout.buffer


def escape_surrogates(text: str) -> str:
    """Return a text that can be encoded: lone surrogates, which stand for other bytes of file names, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    header: bool = True,
    lines: bool = True,
    right: Iterable[str] = (),
    err: bool = False,
) -> None:
    """Print rows: as a table on a terminal and on standard error, as lines with tabs in a pipe.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    rows : iterable of sequences of str
        Cells. They are printed as `printable` returns them.
    header : bool, default True
        Print the names.
    lines : bool, default True
        Draw lines around the cells.
    right : iterable of str
        Right-aligned columns.
    err : bool, default False
        Print to standard error.
    """
    if not err and not _is_terminal(sys.stdout):
        for row in (columns, *rows) if header else rows:
            say("\t".join(map(printable, row)))
        return
    right_aligned = set(right)
    if not (header or lines or sys.stderr.isatty()):
        # As below, without the import of rich, which takes as long as the run of a small job.
        cells = [[printable(cell) for cell in row] for row in rows]
        widths = [max(map(cell_width, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            aligned = zip(row, widths, columns, strict=True)
            parts = (padded(cell, width, right=name in right_aligned) + "  " for cell, width, name in aligned)
            note("".join(parts).rstrip())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=header) if lines else Table(show_header=header, box=None, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(printable(name), overflow="fold", justify="right" if name in right_aligned else "left")
    for row in rows:
        table.add_row(*map(printable, row))
    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    Console(stderr=err, markup=False, highlight=False, width=width).print(table)


def show_counts(rows: Iterable[tuple[int | str, str]]) -> None:
    """Print counts and what they count to standard error, in two columns."""
    cells = ((count if isinstance(count, str) else f"{count:,}", what) for count, what in rows)
    show_table(["count", "of what"], cells, header=False, lines=False, right=["count"], err=True)


def show_facts(facts: Mapping[str, object], *, err: bool = False) -> None:
    """Print names and values in two columns."""
    rows = (
        (name.replace("_", " "), f"{value:,}" if type(value) is int else "none" if value is None else str(value))
        for name, value in facts.items()
    )
    show_table(["", ""], rows, header=False, lines=False, err=err)


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Progress]:
    """Show progress bars on a terminal, and nothing elsewhere."""
    with reporting(not quiet and sys.stderr.isatty()) as progress:
        yield progress


@contextmanager
def listing_progress() -> Iterator[Progress]:
    """Show progress bars for a command that lists results, unless they would mix with the results on a terminal."""
    with progress_bars(quiet=_is_terminal(sys.stdout)) as progress:
        yield progress


def read_input(name: str) -> bytes:
    """Return the content of a file or, for the name -, of standard input.

    Raises
    ------
    InputError
        The file is a named pipe, socket, device or folder.
    OSError
        The file does not exist, or cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    from nearkin.io.inputs import check_stream

    check_stream(name)
    return Path(name).read_bytes()


def read_text(name: str, *, encoding: str = "utf-8") -> str:
    """Return the text of a file or, for the name -, of standard input.

    Raises
    ------
    InputError
        The content is not UTF-8.
    """
    try:
        return read_input(name).decode(encoding)
    except UnicodeDecodeError as error:
        place = "standard input" if name == "-" else name
        raise input_error(place, f"is not UTF-8 at byte {error.start}; convert it, for example with iconv") from error


def read_arguments(names: Sequence[str], *, text: bool, files: bool) -> list[str | Path]:
    """Return arguments as texts, or as paths if files of these names exist; say which unless an option does.

    Parameters
    ----------
    names : sequence of str
        A text, or a path; - is standard input.
    text, files : bool
        The caller asked for texts, or for files.

    Raises
    ------
    ParameterError
        Both options, or a file beside a name that is no file.
    """
    if text and files:
        raise bad_parameter("text", "given", "not with --files")
    found = [name == "-" or is_existing(name) for name in names]
    if not (text or files):
        if any(found) and not all(found):
            missing = names[found.index(False)]
            message = f"{missing}: no such file, but the other argument is one; --text takes both as texts"
            raise ParameterError(message, name="argument", found=missing)
        files = any(found)
        taken = "taken as texts: no such file; --files reads files"
        warn("read as files; --text takes the arguments as texts" if files else taken)
    return [Path(name) for name in names] if files else [*names]


def is_existing(name: str) -> bool:
    """True if a path exists; a long text is no path."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


class Failures:
    """Failures of single inputs, which are skipped while the others are processed.

    Parameters
    ----------
    strict : bool, default False
        Raise the error of the first file that fails.

    Attributes
    ----------
    failed : bool
        True if an input was skipped.
    first : list of dict
        Path and reason of the first ten files.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.failed = False
        self.first: list[dict[str, str]] = []

    def report(self, error: object, name: str | None = None) -> None:
        """Write why an input is skipped."""
        self.failed = True
        warn(format_error(error) if name is None else f"{name}: {format_error(error)}")

    def add(self, path: str, error: Exception) -> None:
        """Skip a file.

        Raises
        ------
        Exception
            The error itself, with `strict`.
        """
        if self.strict:
            raise error
        self.report(error)
        if len(self.first) < 10:
            self.first.append({"path": printable(path), "reason": printable(str(error))})

    def exit(self, *, matched: bool = True) -> None:
        """End the command: with exit code 1 after a failure, with 3 without a match; otherwise return."""
        code = FAILURE if self.failed else 0 if matched else NO_MATCH
        if code:
            raise typer.Exit(code)
