"""The command line: `nearkin dedup`, `hash`, `compare`, `pairs`, `recipe`, and the commands of other modules.

Results go to standard output or files, everything else to standard error. Exit codes: 0 done, 1 failure (a file that
can't be read, say), 2 usage (an option out of its range), 3 nothing found (`search`, `ssdeep`), 130 interrupted.
`--debug` shows the traceback of a failure.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from nearkin._core import __version__
from nearkin.cli.console import warn
from nearkin.cli.dedup import add_to as add_dedup
from nearkin.cli.fingerprints import add_to as add_fingerprints
from nearkin.cli.index import app as index_app
from nearkin.cli.quality import add_to as add_quality
from nearkin.cli.search import search, search_examples
from nearkin.cli.ssdeep import app as ssdeep_app
from nearkin.cli.words import idf_app, keywords
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
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    context.obj = {"debug": debug}
    if version:
        print(f"nearkin {__version__}")  # noqa: T201
        raise typer.Exit


add_dedup(app)
add_fingerprints(app)
app.command(epilog="[bold]Example[/]\n\n  nearkin keywords news.jsonl --id-column id --top 5")(keywords)
app.add_typer(idf_app, name="idf")
app.command("search", epilog=search_examples)(search)
app.add_typer(index_app, name="index")
add_quality(app)
app.add_typer(ssdeep_app, name="ssdeep")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; ends the process with its exit code."""
    sys.exit(_run(app, arguments))


def _run(program: Callable[..., Any], arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in given
    try:
        # Not standalone: errors come here, in one place, to become messages and codes.
        code = program(args=arguments, standalone_mode=False, prog_name="nearkin")
    except (typer.Abort, KeyboardInterrupt):
        warn("interrupted; nothing was written")
        return 130
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone; what is left in the buffer has nowhere to go.
        sys.stdout = None
        return 0
    except (NearkinError, OSError) as error:
        if debug:
            raise
        warn(f"error: {error}")
        return 2 if isinstance(error, (ParameterError, MismatchError)) else 1
    except Exception as error:
        show = getattr(error, "show", None)
        if debug or show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))
    return code if isinstance(code, int) else 0
