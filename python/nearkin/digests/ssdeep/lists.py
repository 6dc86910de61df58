"""Digests in files: lists of the program ssdeep, JSON lines, bare digests, and lists of TLSH digests.

A list of the program is a header followed by one line `digest,"name"` per file. A JSON list has one object per line
with `digest`, `path` and `recipe`, as written by `nearkin ssdeep hash --json`, or with `ssdeep`, `tlsh` and `path`, as
written by `nearkin fuzzy --json`. Only the first of them contains the recipe. A list of TLSH digests has one line per
file: the digest, and after a tab the name.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nearkin._core import ssdeep_read_list, ssdeep_write_list
from nearkin.digests.recipes import AnyDigestRecipe, parse_recipe
from nearkin.digests.ssdeep.recipe import DigestRecipe
from nearkin.digests.tlsh.recipe import TlshRecipe
from nearkin.errors import InputError, bad_parameter, input_error

# First bytes of every list of the program, with any minor version.
_LIST_HEAD = b"ssdeep,1."
# The recipe of a TLSH digest by its number of characters.
_TLSH_FORMS = {72: "tlsh", 76: "tlsh:checksum3", 136: "tlsh:256", 140: "tlsh:256:checksum3"}
# Paths of pipes in a shell's process substitution, and of standard input.
_SHELL_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def read_list(source: str | os.PathLike[str] | bytes) -> list[tuple[str, str]]:
    r"""Read a list of the program ssdeep.

    Parameters
    ----------
    source : str, os.PathLike or bytes
        Path of a file, or its content.

    Returns
    -------
    list of (str, str)
        Digests and names. Bytes of names that are not UTF-8 become surrogates, as in `os.fsdecode`.

    Raises
    ------
    InputError
        The input is not a list; the message contains the line.
    OSError
        The file cannot be read.

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
    """Format a list as the program ssdeep does.

    Parameters
    ----------
    entries : iterable of (str, str or os.PathLike)
        Digests and names.

    Returns
    -------
    bytes
        Content of a list file.

    Raises
    ------
    ParameterError
        A name contains a line end followed by the start of an entry, so that it would be read as two entries.

    Notes
    -----
    The format escapes only quotation marks. A line end in a name is not escaped, and `read_list` reads it as part of
    the name.
    """
    encoded = [(digest, os.fsencode(name)) for digest, name in entries]
    for _, name in encoded:
        if b"\n" in name and not _round_trips(name):
            allowed = "names without an entry of a list in them; JSON lines hold any name"
            raise bad_parameter("name", ascii(os.fsdecode(name)), allowed)
    return ssdeep_write_list(encoded)


def _round_trips(name: bytes) -> bool:
    """Return True if a name is unchanged after writing and reading it."""
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
        Digest in the file, not validated.
    name : str
        Name in the file; for a bare digest the file and its line, such as `known.txt:3`.
    recipe : DigestRecipe or TlshRecipe
        Recipe of the digest.
    """

    digest: str
    name: str
    recipe: AnyDigestRecipe


def read_digests(path: str | os.PathLike[str], families: Sequence[str] = ("ssdeep",)) -> Iterator[ListedDigest]:
    r"""Iterate over the entries of a file of digests, whose format follows from its first bytes.

    Parameters
    ----------
    path : str or os.PathLike
        A regular file, or a pipe of a shell such as `/dev/fd/63`. Other pipes and devices are never opened.
    families : sequence of {"ssdeep", "tlsh"}, default ("ssdeep",)
        Digests to read from lines with both.

    Yields
    ------
    ListedDigest
        Entries in file order.

    Raises
    ------
    InputError
        The path is not a file, or a line is not an entry; the message contains the file and the line.
    OSError
        The file cannot be read.

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
            raise input_error(f"{path}, {error.place}", error.reason) from None
        yield from (ListedDigest(digest, name, recipe) for digest, name in entries)
    elif content.lstrip().startswith(b"{"):
        yield from _read_json_lines(content, path, families)
    else:
        if b"\0" in content:
            reason = (
                "is binary, no list of digests; `nearkin ssdeep hash` or `nearkin tlsh hash` prints one of its files"
            )
            raise input_error(path, reason)
        recipe = DigestRecipe()
        for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), 1):
            if not (digest := line.strip()):
                continue
            place = f"{path}:{number}"
            first, _, name = line.partition("\t")
            if (form := _TLSH_FORMS.get(len(first.strip()))) and first.startswith("T1"):
                yield ListedDigest(first.strip(), name or place, TlshRecipe(form))
            else:
                yield ListedDigest(digest, place, recipe)


def _read_json_lines(content: bytes, path: Path, families: Sequence[str]) -> Iterator[ListedDigest]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            both = "digest" not in entry and "ssdeep" in entry and "tlsh" in entry
            digests = [entry[family] for family in families] if both else [entry["digest"]]
            name, recipes = entry["path"], list(map(parse_recipe, families if both else [entry["recipe"]]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            fault = f"there is no field {error}" if isinstance(error, KeyError) else str(error)
            fault = "it is no object" if isinstance(error, TypeError) else fault
            reason = f"{fault}; a line has digest, path and recipe, as `nearkin ssdeep hash --json FILES` prints them"
            raise input_error(f"{path}, line {number}", reason) from None
        for recipe, digest in zip(recipes, digests, strict=True):
            # A file without a TLSH digest has null.
            if not (both and digest is None):
                yield ListedDigest(str(digest), str(name), recipe)


def _check_readable(path: Path) -> None:
    """Raise InputError for a FIFO or device, which may be endless."""
    if not stat.S_ISREG(path.stat().st_mode) and not str(path).startswith(_SHELL_PIPES):
        reason = "a directory, pipe or device, not a regular file; name a list, JSON lines or an index file"
        raise input_error(path, reason)
