"""The list files of the program: a header, then `digest,"name"` a line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from nearkin._core import ssdeep_read_list, ssdeep_write_list

__all__ = ["read_list", "write_list"]


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
        If it is no list, with the number of the line.
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
    """
    return ssdeep_write_list([(digest, os.fsencode(name)) for digest, name in entries])
