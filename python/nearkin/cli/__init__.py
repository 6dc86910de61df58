"""The command `nearkin`: reads options, runs the library and prints the results."""

from __future__ import annotations

import sys

from nearkin._core import __version__

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # Scripts that ask for the version should not wait for the parser of options.
    if sys.argv[1:] == ["--version"]:
        print(f"nearkin {__version__}")  # noqa: T201
        return
    from nearkin.cli.app import main as run

    run()
