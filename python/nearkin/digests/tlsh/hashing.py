"""TLSH digests of bytes, files and streams."""

from __future__ import annotations

import os
from typing import Literal, overload

from nearkin._core import TlshHasher as HasherCore
from nearkin._core import tlsh_hash, tlsh_hash_file, tlsh_hash_files
from nearkin.digests.inputs import (
    Data,
    OnError,
    Paths,
    StreamHasher,
    hash_batches,
    hash_path,
    read_chunks,
    to_buffer,
)
from nearkin.progress import ShowProgress

BUCKETS = 128
"""Default number of buckets."""
CHECKSUM = 1
"""Default number of bytes of the checksum."""


def hash(  # noqa: A001 - `nearkin.digests.tlsh.hash` is the promised name
    data: Data, *, buckets: int = BUCKETS, checksum: int = CHECKSUM, conservative: bool = False
) -> str:
    r"""Compute the TLSH digest of bytes, of a file or of a stream.

    Parameters
    ----------
    data : bytes-like, str, os.PathLike or binary file-like
        Any C-contiguous buffer, which is read in place; a str or path that names a regular file; or an object whose
        `read(size)` returns bytes. For a text, pass `text.encode()`. At most 4,224,281,216 bytes.
    buckets : {128, 256}, default 128
        Number of buckets. Only digests with the same number can be compared.
    checksum : {1, 3}, default 1
        Bytes of the checksum, likewise.
    conservative : bool, default False
        Require 256 bytes, as `tlsh.conservativehash` does, instead of 50. The digest is the same.

    Returns
    -------
    str
        "T1" and 70 hexadecimal digits; 74 with three bytes of checksum, 134 or 138 with 256 buckets.

    Raises
    ------
    NoDigestError
        The input is too short, or at most half of the buckets are used: constant or periodic data, for example.
        `py-tlsh` returns "TNULL" for it.
    InputError
        The path is not a regular file (but a directory, FIFO or device), or the file changes while it is read.
    OSError
        The file cannot be read; a str that is no path but a text is a file that does not exist.
    ParameterError
        `data` has another type, or is too long; another number of buckets or bytes.

    Notes
    -----
    The value equals that of `py-tlsh` 5.0.0 in all future versions. The GIL is released while hashing.

    Examples
    --------
    >>> import nearkin as nk
    >>> text = b"The quick brown fox jumps over the lazy dog, and the dog sleeps on."
    >>> nk.tlsh.hash(text)
    'T129A0220F230823AC2A8B38C0838EE0F283C8CC2030200A2028303003280C0308CEC082'
    >>> nk.tlsh.hash(bytes(5000))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    nearkin.errors.NoDigestError: data: too little variation for a TLSH digest: its patterns fall in ...
    """
    rules = (buckets, checksum, conservative)
    if isinstance(data, bytes):
        # Fast path for millions of small inputs.
        return tlsh_hash(data, rules)
    if isinstance(data, (str, os.PathLike)):
        return hash_path(data, lambda name: tlsh_hash_file(name, rules))
    if (buffer := to_buffer(data)) is not None:
        return tlsh_hash(buffer, rules)
    hasher = TlshHasher(buckets=buckets, checksum=checksum, conservative=conservative)
    for chunk in read_chunks(data):
        hasher.update(chunk)
    return hasher.digest()


class TlshHasher(StreamHasher[HasherCore]):
    r"""A TLSH digest of data that arrives in chunks of any size.

    The digest does not depend on the sizes of the chunks. Memory is constant (2 KB).

    Parameters
    ----------
    buckets, checksum, conservative
        As for `hash`.

    Examples
    --------
    >>> import nearkin as nk
    >>> hasher = nk.tlsh.TlshHasher()
    >>> hasher.update(b"The quick brown fox jumps over the lazy dog, ")
    >>> hasher.update(b"and the dog sleeps on.")
    >>> hasher.digest()
    'T129A0220F230823AC2A8B38C0838EE0F283C8CC2030200A2028303003280C0308CEC082'
    """

    __slots__ = ()

    def __init__(self, *, buckets: int = BUCKETS, checksum: int = CHECKSUM, conservative: bool = False) -> None:
        self._hasher = HasherCore((buckets, checksum, conservative))

    def digest(self) -> str:
        """Return the digest of all data so far; more data may follow.

        Raises
        ------
        NoDigestError
            The data so far is too short or has too little variation.
        ParameterError
            More than 4,224,281,216 bytes were hashed.
        """
        return self._hasher.digest()


@overload
def hash_files(
    paths: Paths,
    *,
    on_error: Literal["raise"] = "raise",
    buckets: int = BUCKETS,
    checksum: int = CHECKSUM,
    conservative: bool = False,
    progress: ShowProgress = None,
) -> list[str]: ...


@overload
def hash_files(
    paths: Paths,
    *,
    on_error: OnError,
    buckets: int = BUCKETS,
    checksum: int = CHECKSUM,
    conservative: bool = False,
    progress: ShowProgress = None,
) -> list[str | Exception]: ...


def hash_files(
    paths: Paths,
    *,
    on_error: OnError = "raise",
    buckets: int = BUCKETS,
    checksum: int = CHECKSUM,
    conservative: bool = False,
    progress: ShowProgress = None,
) -> list[str] | list[str | Exception]:
    """Compute the TLSH digests of many files in parallel.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        Regular files, or symbolic links to them. Directories, FIFOs and devices are errors and are never opened.
    on_error : {"raise", "return"}, default "raise"
        Raise the first error, or return the exception instead of the digest.
    buckets, checksum, conservative
        As for `hash`.
    progress : bool or function, optional
        True shows a progress bar. A function is called with "hash", the number of files done, and their total.

    Returns
    -------
    list of str (and, with ``on_error="return"``, exceptions)
        One entry per path, in order.

    Raises
    ------
    OSError, InputError, NoDigestError
        As for `hash`, unless errors are returned.
    ParameterError
        `on_error` is invalid.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.tlsh.hash_files(["/no/such/file"], on_error="return")
    [MissingFileError('/no/such/file: no such file or folder')]
    """
    rules = (buckets, checksum, conservative)
    return hash_batches(paths, lambda batch: tlsh_hash_files(batch, rules), on_error=on_error, progress=progress)
