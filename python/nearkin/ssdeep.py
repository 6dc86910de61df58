"""Fuzzy digests of files, bit for bit as the program `ssdeep` 2.14.1 prints them, and their scores.

A digest cuts its input where a sum over the last seven bytes says so and writes one character for each piece:

    block size ":" part 1 (up to 64 characters) ":" part 2 (up to 32, at twice the block size)

A changed byte moves only the cuts next to it, so similar inputs get similar digests. The score of two digests, 0 to
100, comes from the longest common subsequence of two parts of one block size, provided that they share seven
successive characters. It is *not* a percentage of shared bytes, and 0 does not mean "different": digests whose block
sizes differ by more than a factor of two can't be compared at all, and below about 4 KB there are too few pieces to
say anything.

Cost: hashing is linear in the input; a comparison takes about a tenth of a microsecond, parsing included.
`nearkin.DigestIndex` finds all matches among millions without comparing all pairs.

References
----------
.. [1] J. Kornblum, "Identifying almost identical files using context triggered piecewise hashing", Digital
   Investigation 3S, 2006.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin import _core
from nearkin.errors import bad_parameter

__all__ = ["Hasher", "compare", "compare_many", "hash", "hash_files", "matrix"]

Digest: TypeAlias = "str | bytes"


class Readable(Protocol):
    """A binary file-like object."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        ...


# How much of a file-like object is read at a time.
_CHUNK = 1 << 20


def _bytes_like(data: object) -> bytes | npt.NDArray[np.uint8] | None:
    """What the compiled hasher reads in place: bytes, or any other buffer seen as an array; None if it is no buffer."""
    if isinstance(data, bytes):
        return data
    try:
        view = memoryview(data)  # type: ignore[arg-type]  # whether it is a buffer is what is being asked
    except TypeError:
        return None
    if not view.c_contiguous:
        raise bad_parameter("data", "a buffer with gaps", "a C-contiguous buffer; copy it with bytes(data)")
    return np.frombuffer(view, dtype=np.uint8) if view.nbytes else np.empty(0, dtype=np.uint8)


def hash(  # noqa: A001 - `nearkin.ssdeep.hash` is the promised name
    data: bytes | bytearray | memoryview | str | os.PathLike[str] | Readable | Any,
    *,
    eliminate_runs: bool = False,
    truncate: bool = True,
) -> str:
    r"""The fuzzy digest of bytes, of a file or of a stream.

    Parameters
    ----------
    data : bytes-like, str, os.PathLike or binary file-like
        The input: any C-contiguous buffer (read in place); a str or path, which names a regular file; or an object
        whose `read(size)` gives bytes. For a text, pass `text.encode()`. At most 192 GiB.
    eliminate_runs : bool, default False
        Write runs of more than three equal characters as three, as the library's flag ELIMSEQ does.
    truncate : bool, default True
        Cut part 2 at 32 characters, as the program does; False is the library's flag NOTRUNC.

    Returns
    -------
    str
        `blocksize:part1:part2`. Empty input gives `3::`.

    Raises
    ------
    InputError
        If the path is no regular file (a directory, FIFO or device), or the file changes while it is read.
    OSError
        If the file can't be read.
    ParameterError
        If `data` is none of the above, or too long.

    Notes
    -----
    The value is that of ssdeep 2.14.1 and is promised for ever. The GIL is released while hashing.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.hash(b"Hello, World!\n")
    '3:aaX8v:aV'
    >>> nk.ssdeep.hash(bytes(5000))
    '3::'
    """
    if isinstance(data, (str, os.PathLike)):
        return str(hash_files([data], eliminate_runs=eliminate_runs, truncate=truncate)[0])
    buffer = _bytes_like(data)
    if buffer is not None:
        return _core.ssdeep_hash(buffer, eliminate_runs, truncate)
    if hasattr(data, "read"):
        hasher = Hasher()
        while chunk := data.read(_CHUNK):
            hasher.update(chunk)
        return hasher.digest(eliminate_runs=eliminate_runs, truncate=truncate)
    raise bad_parameter("data", f"a {type(data).__name__}", "bytes or another buffer, a path, or a binary file")


class Hasher:
    r"""A digest of data that arrives in pieces, of any size and unknown total length.

    The digest is that of the whole, however it was cut. Memory is constant (5 KB).

    Examples
    --------
    >>> import nearkin as nk
    >>> hasher = nk.ssdeep.Hasher()
    >>> hasher.update(b"Hello, ")
    >>> hasher.update(b"World!\n")
    >>> hasher.digest()
    '3:aaX8v:aV'
    """

    __slots__ = ("_hasher",)

    def __init__(self) -> None:
        self._hasher = _core.SsdeepHasher()

    @property
    def total(self) -> int:
        """Bytes taken in so far."""
        return self._hasher.total

    def update(self, data: bytes | bytearray | memoryview | Any) -> None:
        """Take in more data.

        Parameters
        ----------
        data : bytes-like
            Any C-contiguous buffer.

        Raises
        ------
        ParameterError
            If `data` is no buffer; a text must be encoded first.
        """
        buffer = _bytes_like(data)
        if buffer is None:
            raise bad_parameter("data", f"a {type(data).__name__}", "bytes or another buffer")
        self._hasher.update(buffer)

    def copy(self) -> Hasher:
        """A hasher in the same state that goes on by itself."""
        other = Hasher()
        other._hasher = self._hasher.copy()
        return other

    def digest(self, *, eliminate_runs: bool = False, truncate: bool = True) -> str:
        """The digest of all data so far; more may follow.

        Parameters
        ----------
        eliminate_runs, truncate : bool
            As for `hash`.

        Returns
        -------
        str
            `blocksize:part1:part2`.

        Raises
        ------
        ParameterError
            If more than 192 GiB were taken in.
        """
        return self._hasher.digest(eliminate_runs, truncate)


def hash_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    on_error: str = "raise",
    eliminate_runs: bool = False,
    truncate: bool = True,
) -> list[Any]:
    """The digests of many files, hashed in parallel.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        Regular files; symbolic links to them are followed. Directories, FIFOs and devices are errors and are never
        opened.
    on_error : {"raise", "return"}, default "raise"
        Raise the first file's error, or put the exception in the place of its digest.
    eliminate_runs, truncate : bool
        As for `hash`.

    Returns
    -------
    list of str (and, with ``on_error="return"``, exceptions)
        One entry a path, in order, whatever the number of threads.

    Raises
    ------
    OSError, InputError
        As for `hash`, unless they are returned.
    ParameterError
        If `on_error` is something else.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.hash_files(["/no/such/file"], on_error="return")
    [FileNotFoundError(2, 'reading the kind of /no/such/file: No such file or directory (os error 2)')]
    """
    if on_error not in ("raise", "return"):
        raise bad_parameter("on_error", repr(on_error), '"raise" or "return"')
    results: list[Any] = []
    for digest, error in _core.ssdeep_hash_files([os.fspath(path) for path in paths], eliminate_runs, truncate):
        if error is not None and on_error == "raise":
            raise error
        results.append(digest if error is None else error)
    return results


def compare(a: Digest, b: Digest, *, strict: bool = True) -> int:
    """The score of two digests, 0 (not known to be alike) to 100.

    Parameters
    ----------
    a, b : str or bytes
        Digests. The order does not matter.
    strict : bool, default True
        Accept only what the program prints: a block size 3 * 2**i and parts of at most 64 base64 characters. False
        accepts what the original library accepts, such as `digest,"name"` and other block sizes.

    Returns
    -------
    int
        0 to 100; 100 for equal digests of any length.

    Raises
    ------
    InputError
        If one of them is no digest.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.compare("96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
    ...                   "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U")
    97
    """
    return _core.ssdeep_compare(a, b, strict)


def compare_many(query: Digest, digests: Iterable[Digest], *, strict: bool = True) -> npt.NDArray[np.uint8]:
    """The scores of one digest with many.

    Parameters
    ----------
    query : str or bytes
        A digest.
    digests : iterable of str or bytes
        The others.
    strict : bool, default True
        As for `compare`.

    Returns
    -------
    ndarray of shape (n_digests,) uint8
        0 to 100, in order.

    Raises
    ------
    InputError
        If one of them is no digest; the message names its row.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.compare_many("3:aaX8v:aV", ["3:aaX8v:aV", "3:E:E"])
    array([100,   0], dtype=uint8)
    """
    return _core.ssdeep_compare_many(query, digests, strict)


def matrix(
    left: Iterable[Digest], right: Iterable[Digest] | None = None, *, strict: bool = True
) -> npt.NDArray[np.uint8]:
    """The scores of all pairs of two lists, or of one list with itself.

    Parameters
    ----------
    left : iterable of str or bytes
        Digests of the rows.
    right : iterable of str or bytes, optional
        Digests of the columns; default: those of the rows.
    strict : bool, default True
        As for `compare`.

    Returns
    -------
    ndarray of shape (n_left, n_right) uint8
        0 to 100.

    Raises
    ------
    InputError
        If one of them is no digest; the message names its row.

    Notes
    -----
    Takes n_left * n_right bytes. To find the pairs above a threshold among many digests, use `nearkin.DigestIndex`.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.matrix(["3:aaX8v:aV", "3:E:E"])
    array([[100,   0],
           [  0, 100]], dtype=uint8)
    """
    return _core.ssdeep_matrix(left, right, strict)
