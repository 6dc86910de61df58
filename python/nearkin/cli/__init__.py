"""The command `nearkin`: a door, which reads options, brings batches in and prints answers."""

from __future__ import annotations

import sys
from pathlib import Path

from nearkin._core import __version__

__all__ = ["main"]


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    # A link named ssdeep to this command is the program of that name.
    as_ssdeep = Path(sys.argv[0]).name.removesuffix(".exe") == "ssdeep"
    # Scripts ask for the version alone, and are not to wait for a parser of options.
    if sys.argv[1:] == ["--version"] and not as_ssdeep:
        print(f"nearkin {__version__}")  # noqa: T201
        return
    from nearkin.cli.app import main as run

    run(as_ssdeep=as_ssdeep)
