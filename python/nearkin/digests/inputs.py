"""Inputs of fuzzy digests: bytes, files, file-like objects and lists of paths; shared by the kinds of digests."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin._core import digest_read_file
from nearkin.errors import MissingFileError, bad_parameter, check_choice, excerpt, invalid_name_error, printable
from nearkin.progress import ShowProgress, reporting

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self


class Readable(Protocol):
    """A binary file-like object."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes; none at the end."""


Data: TypeAlias = "Buffer | npt.NDArray[np.generic] | str | os.PathLike[str] | Readable"
"""Input of the hash: a buffer such as an array, a str or path that names a file, or a binary file-like object."""

Paths: TypeAlias = Iterable[str | os.PathLike[str]]
OnError: TypeAlias = Literal["raise", "return"]

_NOT_A_FILE = "{}: no such file; a str is the path of a file. For the digest of the text itself, pass text.encode()"
# Files per parallel call, after which progress is reported.
FILES_PER_CALL = 1 << 10
# Bytes per read of a file-like object.
_CHUNK = 1 << 20


def to_buffer(data: object) -> bytes | npt.NDArray[np.uint8] | None:
    """Return bytes, or any other buffer as an array, for the compiled hasher; None for other objects."""
    if isinstance(data, bytes):
        return data
    try:
        view = memoryview(data)  # type: ignore[arg-type]  # TypeError if it is not a buffer
    except TypeError:
        return None
    if not view.c_contiguous:
        raise bad_parameter("data", "a buffer with gaps", "a C-contiguous buffer; copy it with bytes(data)")
    return np.frombuffer(view, dtype=np.uint8) if view.nbytes else np.empty(0, dtype=np.uint8)


def read_content(data: Data) -> bytes:
    """Return all bytes of a buffer, of a regular file or of a file-like object."""
    if isinstance(data, (str, os.PathLike)):
        return digest_read_file(os.fspath(data))
    buffer = to_buffer(data)
    return bytes(buffer) if buffer is not None else b"".join(read_chunks(data))


def read_chunks(stream: object) -> Iterator[bytes]:
    """Yield the content of a binary file-like object in chunks."""
    if not hasattr(stream, "read"):
        raise bad_parameter("data", excerpt(repr(stream), 60), "bytes or another buffer, a path, or a binary file")
    while chunk := stream.read(_CHUNK):
        yield chunk


_Digest = TypeVar("_Digest")


def hash_path(path: str | os.PathLike[str], digest: Callable[[str], _Digest]) -> _Digest:
    """Return the result of a function for the name of a file; if there is none, say what a str means.

    Parameters
    ----------
    path : str or os.PathLike
        The path of the caller.
    digest : function
        Reads the file.

    Raises
    ------
    OSError, InputError
        Those of the function, and for names that no file can have.
    """
    if (fault := invalid_name_error(path)) is not None:
        raise fault
    try:
        return digest(os.fspath(path))
    except OSError as error:
        if isinstance(path, str) and error.errno in (errno.ENOENT, errno.ENAMETOOLONG, errno.EINVAL):
            raise MissingFileError(_NOT_A_FILE.format(excerpt(path, 200)), place=path) from None
        raise


def name_missing(name: str, error: Exception) -> Exception:
    """Return the error of a file; that of a missing one names it."""
    is_missing = isinstance(error, FileNotFoundError)
    return MissingFileError(f"{printable(name)}: no such file or folder", place=name) if is_missing else error


HashedBatch: TypeAlias = "Sequence[tuple[str | None, Exception | None]]"


def hash_batches(
    paths: Paths, digests_of: Callable[[list[str]], HashedBatch], *, on_error: OnError, progress: ShowProgress
) -> list[Any]:
    """Return the digests of many files, batch by batch.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        Names of files.
    digests_of : function
        Returns a digest or an exception for each name of a batch.
    on_error : {"raise", "return"}
        Raise the first exception, or return it instead of the digest.
    progress : bool or function, optional
        As passed by the caller.

    Raises
    ------
    ParameterError
        `on_error` is invalid.
    """
    check_choice("on_error", on_error, "raise", "return")
    names = [os.fspath(path) for path in paths]
    results: list[str | Exception] = []
    with reporting(progress) as report:
        report("hash", 0, len(names))
        for start in range(0, len(names), FILES_PER_CALL):
            batch = names[start : start + FILES_PER_CALL]
            for name, (digest, error) in zip(batch, digests_of(batch), strict=True):
                fault = invalid_name_error(name) or (error and name_missing(name, error))
                if fault is not None and on_error == "raise":
                    raise fault
                # Either the digest or the error is None.
                results.append(fault if digest is None and fault is not None else digest or "")
            report("hash", len(results), len(names))
    return results


class _StreamCore(Protocol):
    """A compiled hasher."""

    @property
    def total(self) -> int: ...
    def update(self, data: bytes | npt.NDArray[np.uint8], /) -> None: ...
    def copy(self) -> Self: ...


_Core = TypeVar("_Core", bound=_StreamCore)


class StreamHasher(Generic[_Core]):
    """Base of hashers of data that arrives in chunks of any size."""

    __slots__ = ("_hasher",)

    _hasher: _Core

    @property
    def total(self) -> int:
        """Number of bytes hashed so far."""
        return self._hasher.total

    def update(self, data: Buffer | npt.NDArray[np.generic]) -> None:
        """Add data.

        Parameters
        ----------
        data : bytes-like
            Any C-contiguous buffer.

        Raises
        ------
        ParameterError
            `data` is not a buffer. Encode texts first.
        """
        buffer = to_buffer(data)
        if buffer is None:
            raise bad_parameter("data", excerpt(repr(data), 60), "bytes or another buffer")
        self._hasher.update(buffer)

    def copy(self) -> Self:
        """Return an independent hasher in the same state."""
        other = type(self).__new__(type(self))
        other._hasher = self._hasher.copy()
        return other
