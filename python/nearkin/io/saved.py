"""Kinds of saved files: an error that says what a file is, if it is not what a caller opens.

Saved files begin with a magic number, a version and a kind (`docs/format.md`). A store is a folder with a log.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from nearkin.errors import MissingFileError, check_regular, input_error

HEADER = struct.Struct("<8sII")
"""Magic number, version, kind."""
MAGIC = b"NEARKSEG"
_KINDS = {
    1: ("a Hamming index", "nearkin.HammingIndex.open"),
    5: ("an index of vectors", "nearkin.LSHIndex.open"),
    6: ("a banding index", "nearkin.BandIndex.open"),
    7: ("an index of digests", "nearkin.DigestIndex.open"),
    10: ("a hash family", "nearkin.families.load"),
    11: ("a file of a store", "nearkin.Store.open, with the folder of the store"),
    12: ("a state of patterns", "the open method of its class"),
    14: ("an index of TLSH digests", "nearkin.DigestIndex.open"),
}
_IDF = b'"nearkin-idf"'
_IDF_START = b'{"documents": '
STORE_LOG = "log.sqlite"


def check_saved(
    path: str | os.PathLike[str], kind: int | None, *, written: str = "a file that `save` has written"
) -> None:
    """Check that a path is not missing or another kind of file than expected; damage is left to the reader.

    Parameters
    ----------
    path : path
    kind : int or None
        The expected kind; None for a table of inverse document frequencies.
    written : str
        What to give instead of a file that nearkin did not save.

    Raises
    ------
    InputError
        A store, another saved file, or a file that nearkin did not save; a pipe, socket, device or folder.
    MissingFileError
        The path does not exist.
    """
    place = os.fspath(path)
    found = _describe(Path(place), kind, written)
    if found:
        raise input_error(place, found, file=place)
    check_regular(path, written)
    if not Path(place).exists():
        raise MissingFileError(f"{place}: no such file; give {written}", place=place)


def _describe(path: Path, kind: int | None, written: str) -> str:
    """Return what a path is and how to open it; empty if it may be the expected file."""
    if (path / STORE_LOG).is_file():
        return "is a store; open it with nearkin.Store.open"
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        head = file.read(128)
    if kind is not None and _IDF in head:
        return "is a table of inverse document frequencies; open it with nearkin.Idf.load"
    magic, _, own = HEADER.unpack(head[: HEADER.size]) if len(head) >= HEADER.size else (head or MAGIC, 0, kind)
    if magic == MAGIC and own != kind and own in _KINDS:
        what, opener = _KINDS[own]
        return f"is {what}; open it with {opener}"
    # A damaged file still has some of its first bytes; of a table, whose first ones begin any JSON, most of them.
    first, fewest = (MAGIC, 1) if kind is not None else (_IDF_START, min(len(head), len(_IDF_START)) // 2)
    if head and sum(a == b for a, b in zip(head, first, strict=False)) < fewest:
        return f"is no file that nearkin saved; give {written}"
    return ""
