"""Detection of the index class of a file, from the header that all saved indexes have (`docs/format.md`)."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from nearkin.index.bands import BandIndex
from nearkin.index.hamming import HammingIndex

# Magic, version, kind.
_HEADER = struct.Struct("<8sII")
_MAGIC = b"NEARKSEG"
_KINDS: dict[int, type[HammingIndex | BandIndex]] = {1: HammingIndex, 6: BandIndex}


def index_class(path: str | os.PathLike[str]) -> type[HammingIndex | BandIndex] | None:
    """Return the class of a saved index of fingerprints or signatures; None for any other file.

    Parameters
    ----------
    path : path
    """
    if not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    magic, _, kind = _HEADER.unpack(header)
    return _KINDS.get(kind) if magic == _MAGIC else None


def open_index(path: str | os.PathLike[str]) -> HammingIndex | BandIndex | None:
    """Open a saved index of fingerprints or signatures; return None for any other file.

    Parameters
    ----------
    path : path

    Raises
    ------
    CorruptStoreError, FormatVersionError, OSError
        As for the `open` method of its class.

    Examples
    --------
    >>> import nearkin as nk, pathlib, tempfile
    >>> from nearkin.index.files import open_index
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bands.nks"
    >>> nk.BandIndex().save(path)
    >>> open_index(path)
    BandIndex(num_perm=128, num_bands=13, num_rows=7, 0 signatures)
    """
    kind = index_class(path)
    return None if kind is None else kind.open(path)
