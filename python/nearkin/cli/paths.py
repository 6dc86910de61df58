"""The files that the arguments of a command name: as they are, in a list, or below directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from nearkin.cli.console import Refusals, read_input
from nearkin.errors import bad_parameter


def named_paths(
    inputs: Iterable[Path], refusals: Refusals, *, names_from: Path | None = None, recursive: bool
) -> list[Path]:
    """All files that the arguments name, in order.

    Parameters
    ----------
    inputs : iterable of Path
        Files and directories.
    refusals : Refusals
        Is told of what is left out.
    names_from : Path, optional
        A file of further names, each ended by NUL; - for standard input.
    recursive : bool
        Whether directories stand for what is below them; otherwise they are refused.

    Raises
    ------
    ParameterError
        The list of names can't be read.
    """
    named = [*inputs, *(_listed(names_from) if names_from is not None else ())]
    paths: list[Path] = []
    for path in named:
        if not path.is_dir():
            paths.append(path)
        elif recursive:
            paths += _below(path, refusals)
        else:
            refusals.refuse(f"{path}: a directory; add --recursive to hash what is in it")
    return paths


def _listed(names_from: Path) -> list[Path]:
    """The names in a file, each ended by NUL."""
    try:
        content = read_input(str(names_from))
    except OSError as error:
        raise bad_parameter("files0_from", names_from, f"a file that can be read ({error.strerror})") from None
    return [Path(os.fsdecode(name)) for name in content.split(b"\0") if name]


def _below(folder: Path, refusals: Refusals) -> Iterator[Path]:
    """Entries below a directory that are not links, sorted by name."""
    for place, folders, files in os.walk(folder, onerror=refusals.refuse, followlinks=False):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            if not path.is_symlink():
                yield path
