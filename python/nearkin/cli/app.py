"""The command line, put together from the modules beside this one, and how a run of it ends.

Results go to standard output or files, everything else to standard error. Exit codes: 0 done, 1 failure (for example, a
file that can't be read), 2 usage (an option out of its range), 3 nothing found (`search`, `ssdeep`), 130 interrupted.
`--debug` shows the traceback of a failure.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer

from nearkin._core import __version__
from nearkin.cli import (
    contains,
    dedup,
    fingerprints,
    index,
    patterns,
    quality,
    report,
    search,
    serve,
    ssdeep,
    ssdeep_compat,
    store,
    words,
)
from nearkin.cli.console import FAILURE, INTERRUPTED, USAGE, say, show_traceback, use_utf8, warn
from nearkin.cli.errors import told, told_usage
from nearkin.errors import MismatchError, NearkinError, ParameterError

app = typer.Typer(
    name="nearkin",
    help="Find what is almost the same: near-duplicates of texts and files.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    if version:
        say(f"nearkin {__version__}")
        raise typer.Exit


_AS_SSDEEP = ["ssdeep", "compat"]
"""The command that is the program ssdeep."""

for _module in (dedup, contains, patterns, fingerprints, words, search, index, store, serve, quality, report, ssdeep):
    _module.add_to(app)


def main(*, as_ssdeep: bool = False) -> None:
    """Run the command line, or what takes the program ssdeep's place; ends the process with its exit code."""
    use_utf8()
    try:
        code = run(as_ssdeep=as_ssdeep)
    except Exception as error:
        show_traceback(error)
        code = FAILURE
    if INTERRUPTED == code:
        _end_interrupted()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None, *, as_ssdeep: bool = False) -> int:
    """Run the command line with these arguments, or with those of the process; its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not as_ssdeep and given[:2] == _AS_SSDEEP and given[2:] not in (["--help"], ["-h"]):
        # What follows are the program's flags, which are not words of this command line.
        given, as_ssdeep = given[2:], True
    debug = "--debug" in given and not as_ssdeep
    try:
        if as_ssdeep:
            code: Any = ssdeep_compat.compat(given)
        else:
            # Not standalone: errors come here, in one place, to become messages and codes.
            code = app(args=given, standalone_mode=False, prog_name="nearkin")
        sys.stdout.flush()
        if INTERRUPTED == code:
            # Typer has made its exit code of the interrupt, without a word.
            raise KeyboardInterrupt
    except (typer.Abort, KeyboardInterrupt):
        warn("interrupted")
        return INTERRUPTED
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as error:
        # Typer ends the process itself when a command writes into a pipe that nobody reads.
        if isinstance(error.__context__, BrokenPipeError):
            return _reader_gone()
        raise
    except (NearkinError, OSError) as error:
        if debug:
            raise
        warn(f"error: {told(error, _command_of(given)[1].params, given)}")
        return USAGE if isinstance(error, (ParameterError, MismatchError)) else FAILURE
    except Exception as error:
        # Words that Typer doesn't know, or the help where there is no command.
        show = getattr(error, "show", None)
        if debug or show is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            show()
        else:
            warn(f"error: {told_usage(error, _command_of(given)[0], given)}")
        return int(getattr(error, "exit_code", USAGE))
    return code if isinstance(code, int) else 0


def _command_of(words: Sequence[str]) -> tuple[str, Any]:
    """The command that words name, and its path: `nearkin index build`."""
    command: Any = typer.main.get_command(app)
    path = "nearkin"
    for word in words:
        inner = getattr(command, "commands", {}).get(word)
        if inner is not None:
            command, path = inner, f"{path} {word}"
        elif not word.startswith("-"):
            break
    return path, command


def _end_interrupted() -> NoReturn:
    """End the process with the exit code of an interrupt, whatever it passed through.

    CPython ends a process by the signal itself, in place of its exit code, once an interrupt has passed through code
    that was compiled from a string, as dataclasses and named tuples are when a module is imported.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(INTERRUPTED)


def _reader_gone() -> int:
    """The exit code when nobody reads our output any more, which is not a failure: the rest has nowhere to go."""
    sys.stdout = None
    return 0
