"""Digests in files: the program's lists, JSON lines, and bare digests.

A list of the program is a header, then `digest,"name"` per line. A list in JSON has an object per line with `digest`,
`path` and `recipe`, as `nearkin ssdeep hash --json` writes it; only this form says by which recipe digests are made.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from nearkin._core import ssdeep_read_list, ssdeep_write_list
from nearkin.digests.ssdeep.recipe import DigestRecipe
from nearkin.errors import InputError, bad_parameter

__all__ = ["ListedDigest", "read_digests", "read_list", "write_list"]

# How every list of the program begins, whatever its minor version.
_LIST_HEAD = b"ssdeep,1."
# Files that are pipes where a shell's `<(...)` or standard input is meant.
_SHELL_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def read_list(source: str | os.PathLike[str] | bytes) -> list[tuple[str, str]]:
    r"""The digests and names of a list file of the program.

    Parameters
    ----------
    source : str, os.PathLike or bytes
        A file, or its content.

    Returns
    -------
    list of (str, str)
        Digest and name. Bytes of names that are not UTF-8 become surrogates, as `os.fsdecode` makes them.

    Raises
    ------
    InputError
        If it is not a list; the message names the line.
    OSError
        If the file can't be read.

    Examples
    --------
    >>> import nearkin as nk
    >>> text = nk.ssdeep.write_list([("3:aaX8v:aV", 'a "quoted" name')])
    >>> print(text.decode(), end="")
    ssdeep,1.1--blocksize:hash:hash,filename
    3:aaX8v:aV,"a \"quoted\" name"
    >>> nk.ssdeep.read_list(text)
    [('3:aaX8v:aV', 'a "quoted" name')]
    """
    text = source if isinstance(source, bytes) else Path(source).read_bytes()
    return [(digest, os.fsdecode(name)) for digest, name in ssdeep_read_list(text)]


def write_list(entries: Iterable[tuple[str, str | os.PathLike[str]]]) -> bytes:
    """The content of a list file, as the program writes it.

    Parameters
    ----------
    entries : iterable of (str, str or os.PathLike)
        Digest and name.

    Returns
    -------
    bytes

    Raises
    ------
    ParameterError
        A name that the program would write so that it reads as two entries: a line end, and behind it what begins one.

    Notes
    -----
    The form escapes nothing but quotation marks: a line end in a name is written as it is, and `read_list` reads it as
    part of the name.
    """
    named = [(digest, os.fsencode(name)) for digest, name in entries]
    for _, name in named:
        if b"\n" in name and not _comes_back(name):
            allowed = "names without an entry of a list in them; JSON lines hold any name"
            raise bad_parameter("name", ascii(os.fsdecode(name)), allowed)
    return ssdeep_write_list(named)


def _comes_back(name: bytes) -> bool:
    """Whether a name that has been written is read as it was."""
    entries = [("3::", name)]
    try:
        return ssdeep_read_list(ssdeep_write_list(entries)) == entries
    except InputError:
        return False


class ListedDigest(NamedTuple):
    """An entry of a file of digests.

    Attributes
    ----------
    digest : str
        As in the file; its form is not checked.
    name : str
        What the file calls it; for a bare digest the file and its line, such as `known.txt:3`.
    recipe : DigestRecipe
        The recipe by which it was made.
    """

    digest: str
    name: str
    recipe: DigestRecipe


def read_digests(path: str | os.PathLike[str]) -> Iterator[ListedDigest]:
    r"""The entries of a file of digests, in any of the three forms, recognised by its first bytes.

    Parameters
    ----------
    path : str or os.PathLike
        A regular file, or a pipe of the shell such as `/dev/fd/63`. Other pipes and devices are never opened.

    Yields
    ------
    ListedDigest
        In order of the file.

    Raises
    ------
    InputError
        Not a file, or a line that is not an entry; the message names the file and the line.
    OSError
        If the file can't be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nearkin.digests.ssdeep.lists import read_digests
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "digests"
    >>> _ = path.write_text('{"digest": "3:aaX8v:aV", "path": "hello", "recipe": "ssdeep"}\n')
    >>> [(entry.digest, entry.name, str(entry.recipe)) for entry in read_digests(path)]
    [('3:aaX8v:aV', 'hello', 'ssdeep')]
    """
    path = Path(path)
    _check_readable(path)
    content = path.read_bytes()
    if content.startswith(_LIST_HEAD):
        recipe = DigestRecipe()
        try:
            entries = read_list(content)
        except InputError as error:
            raise _fault(path, error.place, error.reason) from None
        yield from (ListedDigest(digest, name, recipe) for digest, name in entries)
    elif content.lstrip().startswith(b"{"):
        yield from _json_lines(content, path)
    else:
        recipe = DigestRecipe()
        for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), 1):
            if digest := line.strip():
                yield ListedDigest(digest, f"{path}:{number}", recipe)


def _json_lines(content: bytes, path: Path) -> Iterator[ListedDigest]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            digest, name, recipe = entry["digest"], entry["path"], DigestRecipe(entry["recipe"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = f"no entry of `nearkin ssdeep hash --json`: {error!r}"
            raise _fault(path, f"line {number}", reason) from None
        yield ListedDigest(str(digest), str(name), recipe)


def _check_readable(path: Path) -> None:
    """Raise InputError for a FIFO or device, which may never end."""
    if not stat.S_ISREG(path.stat().st_mode) and not str(path).startswith(_SHELL_PIPES):
        reason = "a directory, pipe or device, not a regular file; name a list, JSON lines or an index file"
        raise InputError(f"{path}: {reason}", place=str(path), reason=reason)


def _fault(path: Path, place: str, reason: str) -> InputError:
    where = f"{path}, {place}"
    return InputError(f"{where}: {reason}", place=where, reason=reason)
