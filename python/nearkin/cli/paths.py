"""The files that the arguments of a command name: as they are, in a list, or below directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.cli.console import Refusals, read_input
from nearkin.cli.reading import report_left_out
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from nearkin.io.inputs import ExcludedFolders


def named_paths(
    inputs: Iterable[Path],
    refusals: Refusals,
    *,
    names_from: Path | None = None,
    recursive: bool,
    leave_out: Iterable[Path] = (),
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
    leave_out : iterable of Path
        Folders that are not entered, such as that of a store; their files are counted on standard error.

    Raises
    ------
    ParameterError
        The list of names can't be read.
    """
    from nearkin.io.inputs import ExcludedFolders

    named = [*inputs, *(_listed(names_from) if names_from is not None else ())]
    paths: list[Path] = []
    left_out = ExcludedFolders(leave_out)
    for path in named:
        if not path.is_dir():
            paths.append(path)
        elif recursive:
            paths += _below(path, refusals, left_out)
        else:
            refusals.refuse(f"{path}: a directory; add --recursive to hash what is in it")
    report_left_out(left_out.counts())
    return paths


def _listed(names_from: Path) -> list[Path]:
    """The names in a file, each ended by NUL."""
    try:
        content = read_input(str(names_from))
    except OSError as error:
        raise bad_parameter("files0_from", names_from, f"a file that can be read ({error.strerror})") from None
    return [Path(os.fsdecode(name)) for name in content.split(b"\0") if name]


def _below(folder: Path, refusals: Refusals, left_out: ExcludedFolders) -> Iterator[Path]:
    """Entries below a directory that are not links, sorted by name."""
    for place, folders, files in os.walk(folder, onerror=refusals.refuse, followlinks=False):
        if left_out.contains(place):
            folders.clear()
            continue
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            if not path.is_symlink():
                yield path


def existing_parent(path: Path) -> Path:
    """The nearest folder above a path that exists."""
    path = path.absolute()
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path
