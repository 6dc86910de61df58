"""The command line: its commands, and how a run of them ends.

Results go to standard output or to files, everything else to standard error. Exit codes: 0 success, 1 failure (for
example, a file that cannot be read), 2 wrong usage (for example, an option out of range), 3 no match (`search`,
`ssdeep`), 130 interrupted. `--debug` shows the traceback of a failure.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Annotated, Any, NoReturn, TypeAlias

import typer

from nearkin._core import __version__, available_instructions, instructions, num_threads
from nearkin.cli.console import FAILURE, INTERRUPTED, USAGE, say, show_traceback, use_utf8, warn
from nearkin.cli.errors import format_failure, format_usage_error
from nearkin.cli.help import HelpGroup
from nearkin.cli.job_file import format_config, read_config
from nearkin.errors import MismatchError, NearkinError, ParameterError

Modules: TypeAlias = "dict[str, str | Modules]"
"""Module of each command or group, or the modules of the commands of a group."""
MODULES: Modules = {
    "dedup": "dedup",
    "decontaminate": "decontaminate",
    "leaks": "decontaminate",
    "check": "store_lifecycle",
    "store": "store_lifecycle",
    "search": "index",
    "patterns": "patterns",
    "ssdeep": "fuzzy",
    "tlsh": "fuzzy",
    "fuzzy": "fuzzy",
    "report": "report",
    "serve": "serve",
    "mcp": "mcp",
    "index": "index",
    "recipe": {"show": "fingerprints", "idf": "fingerprints", "tune": "quality", "evaluate": "quality"},
    "text": {
        "compare": "fingerprints",
        "explain": "fingerprints",
        "hash": "fingerprints",
        "keywords": "fingerprints",
        "pairs": "dedup",
        "contains": "contains",
    },
}
PURPOSES = {
    "dedup": "Keep one document of each group of near-duplicates.",
    "decontaminate": "Find benchmarks in a corpus; drop, cut or flag them.",
    "leaks": "Documents of a test set that are in the training set.",
    "check": "Is this document new? Compare it with a store.",
    "store": "A collection on disk that finds duplicates.",
    "search": "Find the nearest texts of a store or an index.",
    "patterns": "Templates of log lines, URLs and payloads.",
    "ssdeep": "Fuzzy digests of files: hash, compare, search, cluster.",
    "tlsh": "TLSH digests of files: hash, compare, search, cluster.",
    "fuzzy": "Both digests of files, and groups by either.",
    "report": "Show a run as one HTML file, and label its pairs.",
    "serve": "Serve a store over HTTP.",
    "mcp": "Offer a store to agents, by the Model Context Protocol.",
    "index": "Indexes of fingerprints: build, add, remove, info.",
    "recipe": "How a text is hashed: show a recipe, tune it, evaluate a run, count words.",
    "text": "Single steps over texts: compare, explain, hash, keywords, pairs, contains.",
}
EXPERTS = ("index", "recipe", "text")


class _LazyCommands(MutableMapping[str, Any]):
    """Commands of a group; a module is imported when one of its commands is looked up."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._modules[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


def _load(name: str, module: str | Modules) -> Any:
    """Import and build a command or a group."""
    if not isinstance(module, str):
        group = HelpGroup(name=name, help=PURPOSES[name], no_args_is_help=True, rich_markup_mode=None)
        group.commands = _LazyCommands(module)
        return group
    content = import_module(f"nearkin.cli.{module}")
    commands = getattr(content, "group", None)
    if commands is not None and commands.info.name == name:
        return typer.main.get_group(commands)
    return typer.main.get_group(content.app).commands[name]


class _Program(HelpGroup):
    """The program: its help lists commands without importing them."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.commands = _LazyCommands(MODULES)

    def purpose(self, ctx: Any, name: str) -> str:
        return PURPOSES[name]

    def sections(self, ctx: Any) -> dict[str, list[str]]:
        return {"Commands": [name for name in MODULES if name not in EXPERTS], "For experts": list(EXPERTS)}


app = typer.Typer(
    name="nearkin",
    help="Find what is almost the same: near-duplicates of texts and files.",
    cls=_Program,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _global_options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --version: the platform and instruction set, too.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
    config: Annotated[
        str | None, typer.Option("--config", help="Options of a command, from TOML or a summary.json.", metavar="FILE")
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Only print the options of a command, as TOML.")
    ] = False,
) -> None:
    if version:
        say(f"nearkin {__version__}")
        if verbose:
            say(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}")
            say(f"instructions {instructions()} of {', '.join(available_instructions())}; {num_threads()} threads")
        raise typer.Exit
    if verbose:
        raise typer.BadParameter("it goes with --version alone", param_hint="--verbose")


@lru_cache(maxsize=1)
def root_command() -> Any:
    """Return the program as Typer runs it, with all commands; it is built once."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    use_utf8()
    try:
        code = run()
    except Exception as error:
        show_traceback(error)
        code = FAILURE
    if INTERRUPTED == code:
        _exit_interrupted()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, or those of the process, and return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    debug = "--debug" in words
    try:
        words = _as_options(read_config(words, _command_of))
        if "--print-config" in words:
            words.remove("--print-config")
            name, command = _command_of(words)
            say(format_config(name, command, words[len(name.split()) - 1 :]))
            return 0
        # Not standalone, so that errors reach the handlers below.
        code: Any = root_command()(args=words, standalone_mode=False, prog_name="nearkin")
        sys.stdout.flush()
        if INTERRUPTED == code:
            # Typer has turned the interrupt into its exit code without a message.
            raise KeyboardInterrupt
    except (typer.Abort, KeyboardInterrupt):
        warn("interrupted")
        return INTERRUPTED
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        return _end_closed_pipe()
    except SystemExit as error:
        # Typer ends the process itself when a command writes into a closed pipe.
        if isinstance(error.__context__, BrokenPipeError):
            return _end_closed_pipe()
        raise
    except (NearkinError, OSError) as error:
        if debug:
            raise
        from nearkin.io.remote import short_url

        warn(f"error: {short_url(format_failure(error, _command_of(words)[1].params, words))}")
        return USAGE if isinstance(error, (ParameterError, MismatchError)) else FAILURE
    except Exception as error:
        # Usage errors of Typer, and the help of a group that was called without a command.
        show = getattr(error, "show", None)
        if debug or show is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            show()
        else:
            warn(f"error: {format_usage_error(error, _command_of(words)[0], words, command_names)}")
        return int(getattr(error, "exit_code", USAGE))
    return code if isinstance(code, int) else 0


def _as_options(words: list[str]) -> list[str]:
    """Return the words with `help COMMAND`, `-h COMMAND` and `version` as the options of the command or the program."""
    first, *rest = words or [""]
    if first == "version":
        return ["--version", *rest]
    if first == "help" or (first in ("-h", "--help", "--help-all") and rest and not rest[0].startswith("-")):
        words = [*rest, "--help" if first in ("-h", "help") else first]
    command = _command_of([word for word in words if word != "--help-all"])[1]
    if isinstance(command, HelpGroup):
        command.complete = "--help-all" in words
    if all(each.name != "help_all" for each in getattr(command, "params", ())):
        words = ["--help" if word == "--help-all" else word for word in words]
    return words


def command_names() -> list[str]:
    """Return the full names of all commands, such as `index build`."""

    def walk(group: Any, prefix: str) -> Iterator[str]:
        for name, command in group.commands.items():
            inner = hasattr(command, "commands")
            yield from walk(command, f"{prefix}{name} ") if inner else [f"{prefix}{name}"]

    return list(walk(root_command(), ""))


def _command_of(words: Sequence[str]) -> tuple[str, Any]:
    """Return the full name of the command that words call, such as `nearkin index build`, and the command."""
    command = root_command()
    name = "nearkin"
    for word in words:
        inner = getattr(command, "commands", {}).get(word)
        if inner is not None:
            command, name = inner, f"{name} {word}"
        elif not word.startswith("-"):
            break
    return name, command


def _exit_interrupted() -> NoReturn:
    """End the process with the exit code of an interrupt.

    CPython ends a process by the signal itself, instead of the exit code, if the interrupt has passed through code that
    was compiled from a string, as in the modules of dataclasses and named tuples.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(INTERRUPTED)


def _end_closed_pipe() -> int:
    """Return the exit code after the reader of standard output has gone, which is not a failure."""
    sys.stdout = None
    return 0
