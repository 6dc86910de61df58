"""Digests of bytes, of files and of streams."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from nearkin._core import SsdeepHasher, ssdeep_hash, ssdeep_hash_file, ssdeep_hash_files, ssdeep_read_file
from nearkin.digests.ssdeep.text import chosen
from nearkin.digests.ssdeep.text import normalize as normalized
from nearkin.errors import NearkinError, bad_parameter, impossible_name
from nearkin.progress import ShowProgress, reporting

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Hasher", "hash", "hash_files"]


class Readable(Protocol):
    """A binary file-like object."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        ...


Data: TypeAlias = "Buffer | npt.NDArray[np.generic] | str | os.PathLike[str] | Readable"
"""What can be hashed: a buffer (an array is one), a str or path that names a file, or a binary file-like object."""

# Files that are hashed by one parallel call, after which progress is told.
_FILES = 1 << 10
# How much of a file-like object is read at a time.
_CHUNK = 1 << 20


def _bytes_like(data: object) -> bytes | npt.NDArray[np.uint8] | None:
    """What the compiled hasher reads in place: bytes, or any other buffer as an array; None for anything else."""
    if isinstance(data, bytes):
        return data
    try:
        view = memoryview(data)  # type: ignore[arg-type]  # whether it is a buffer is what is being asked
    except TypeError:
        return None
    if not view.c_contiguous:
        raise bad_parameter("data", "a buffer with gaps", "a C-contiguous buffer; copy it with bytes(data)")
    return np.frombuffer(view, dtype=np.uint8) if view.nbytes else np.empty(0, dtype=np.uint8)


def hash(  # noqa: A001 - `nearkin.digests.ssdeep.hash` is the promised name
    data: Data,
    *,
    eliminate_runs: bool = False,
    truncate: bool = True,
    normalize: str | Iterable[str] = (),
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
    normalize : str or iterable of str, default none
        Treat the input as text and apply "html", "lines" or "space" first (`nearkin.ssdeep.normalize`). Such a digest
        can be compared only with digests normalised in the same way, which `nearkin.ssdeep.DigestRecipe` names.
        The input is read into memory.

    Returns
    -------
    str
        `blocksize:part1:part2`. Empty input gives `3::`.

    Raises
    ------
    InputError
        If the path is not a regular file (a directory, FIFO or device), or the file changes while it is read.
    OSError
        If the file can't be read.
    ParameterError
        If `data` has another type, or is too long.

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
    if isinstance(data, bytes) and isinstance(normalize, tuple) and not normalize:
        # Small inputs come by the million: nothing else is asked of them.
        return ssdeep_hash(data, eliminate_runs, truncate)
    steps = chosen(normalize)
    if isinstance(data, (str, os.PathLike)) and (fault := impossible_name(data)) is not None:
        raise fault
    if steps:
        return ssdeep_hash(normalized(content(data), steps), eliminate_runs, truncate)
    if isinstance(data, (str, os.PathLike)):
        return ssdeep_hash_file(os.fspath(data), eliminate_runs, truncate)
    buffer = _bytes_like(data)
    if buffer is not None:
        return ssdeep_hash(buffer, eliminate_runs, truncate)
    if hasattr(data, "read"):
        hasher = Hasher()
        while chunk := data.read(_CHUNK):
            hasher.update(chunk)
        return hasher.digest(eliminate_runs=eliminate_runs, truncate=truncate)
    raise bad_parameter("data", f"a {type(data).__name__}", "bytes or another buffer, a path, or a binary file")


def content(data: Data) -> bytes:
    """All bytes of a buffer, of a regular file or of a file-like object."""
    if isinstance(data, (str, os.PathLike)):
        return ssdeep_read_file(os.fspath(data))
    buffer = _bytes_like(data)
    if buffer is not None:
        return bytes(buffer)
    if hasattr(data, "read"):
        return b"".join(iter(lambda: data.read(_CHUNK), b""))
    raise bad_parameter("data", f"a {type(data).__name__}", "bytes or another buffer, a path, or a binary file")


class Hasher:
    r"""A digest of data that arrives in pieces, of any size and unknown total length.

    The digest is that of the whole data, however it was cut. Memory is constant (5 KB).

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
        self._hasher = SsdeepHasher()

    @property
    def total(self) -> int:
        """Bytes hashed so far."""
        return self._hasher.total

    def update(self, data: Buffer | npt.NDArray[np.generic]) -> None:
        """Take in more data.

        Parameters
        ----------
        data : bytes-like
            Any C-contiguous buffer.

        Raises
        ------
        ParameterError
            If `data` is not a buffer; encode a text first.
        """
        buffer = _bytes_like(data)
        if buffer is None:
            raise bad_parameter("data", f"a {type(data).__name__}", "bytes or another buffer")
        self._hasher.update(buffer)

    def copy(self) -> Hasher:
        """An independent hasher in the same state."""
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
            If more than 192 GiB were hashed.
        """
        return self._hasher.digest(eliminate_runs, truncate)


@overload
def hash_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    on_error: Literal["raise"] = "raise",
    eliminate_runs: bool = False,
    truncate: bool = True,
    normalize: str | Iterable[str] = (),
    progress: ShowProgress = None,
) -> list[str]: ...


@overload
def hash_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    on_error: Literal["raise", "return"],
    eliminate_runs: bool = False,
    truncate: bool = True,
    normalize: str | Iterable[str] = (),
    progress: ShowProgress = None,
) -> list[str | Exception]: ...


def hash_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    on_error: Literal["raise", "return"] = "raise",
    eliminate_runs: bool = False,
    truncate: bool = True,
    normalize: str | Iterable[str] = (),
    progress: ShowProgress = None,
) -> list[str] | list[str | Exception]:
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
    normalize : str or iterable of str, default none
        As for `hash`; normalised files are hashed one after the other.
    progress : bool or function, optional
        True shows a bar in a terminal or a notebook; a function is called with "hash", files done and all.

    Returns
    -------
    list of str (and, with ``on_error="return"``, exceptions)
        One entry per path, in order, whatever the number of threads.

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
    names = [os.fspath(path) for path in paths]
    steps = chosen(normalize)
    results: list[str | Exception] = []
    with reporting(progress) as report:
        report("hash", 0, len(names))
        for start in range(0, len(names), _FILES):
            batch = names[start : start + _FILES]
            if steps:
                found = [_hash_normalised(name, steps, eliminate_runs, truncate) for name in batch]
            else:
                found = ssdeep_hash_files(batch, eliminate_runs, truncate)
            for name, (digest, error) in zip(batch, found, strict=True):
                fault = impossible_name(name) or error
                if fault is not None and on_error == "raise":
                    raise fault
                # One of the two is given.
                results.append(fault if digest is None and fault is not None else digest or "")
            report("hash", len(results), len(names))
    return results


def _hash_normalised(
    path: str, steps: tuple[str, ...], eliminate_runs: bool, truncate: bool
) -> tuple[str | None, Exception | None]:
    try:
        return hash(path, eliminate_runs=eliminate_runs, truncate=truncate, normalize=steps), None
    except (NearkinError, OSError) as error:
        return None, error
