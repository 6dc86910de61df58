"""The command `nearkin`: reads options, runs the library and prints the results."""

from __future__ import annotations

import sys
from pathlib import Path

from nearkin._core import __version__

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # A link named ssdeep to this command stands in for the program of that name.
    as_ssdeep = Path(sys.argv[0]).name.removesuffix(".exe") == "ssdeep"
    # Scripts that ask for the version should not wait for the parser of options.
    if sys.argv[1:] == ["--version"] and not as_ssdeep:
        print(f"nearkin {__version__}")  # noqa: T201
        return
    from nearkin.cli.app import main as run

    run(as_ssdeep=as_ssdeep)
