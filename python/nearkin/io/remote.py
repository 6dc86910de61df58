"""Inputs, and output of engines, by URL (`s3://`, `gs://`, `hf://`, `https://`, ...) through fsspec, where it and its
part for the protocol are installed.

A remote file is read once, from its start to its end; what is needed again lies in the spool. An engine writes its
tables itself; only the summary of its run is written here.
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nearkin.errors import InputError, MissingExtraError, NearkinError, OutputError, bad_parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BLOCK = 4 << 20


def is_url(name: str) -> bool:
    """Whether an input is named by a URL."""
    return _URL.match(name) is not None


def name_in(url: str) -> str:
    """The name that the end of a URL's path says, without query and fragment."""
    return urlsplit(url).path if url.startswith(("http://", "https://")) else url


def _unreadable(url: str, reason: str) -> InputError:
    return InputError(f"{url}: {reason}", place=url, file=url, reason=reason)


def expand(url: str) -> list[str]:
    """The URLs of the files that a URL names: a file, a glob, or all files below a folder, by name.

    Raises
    ------
    MissingExtraError
        fsspec, or its part for this protocol, is not installed.
    InputError
        No such file, or no access.
    """
    system, path = _system(url)
    with _reported(url):
        if any(sign in path for sign in "*?[") and not url.startswith(("http://", "https://")):
            found = sorted(system.glob(path))
            if not found:
                raise _unreadable(url, "no file matches")
        elif not url.startswith(("http://", "https://")) and system.isdir(path):
            found = [name for name in sorted(system.find(path)) if not name.rpartition("/")[2].startswith(".")]
            if not found:
                raise _unreadable(url, "the folder has no files")
        else:
            return [url]
        return [system.unstrip_protocol(name) for name in found]


class RemoteFile(io.RawIOBase):
    """The bytes of a remote file.

    Raises
    ------
    InputError
        The file can't be opened, or read to its end.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        system, path = _system(url)
        with _reported(url):
            self._file: Any = system.open(path, "rb", block_size=_BLOCK)

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer`; the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        with _reported(self._url):
            piece = self._file.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Close the connection."""
        if not self.closed:
            try:
                self._file.close()
            finally:
                super().close()


def _system(url: str) -> tuple[Any, str]:
    protocol = url.partition("://")[0]
    try:
        import fsspec.core
    except ImportError:
        message = f"{url}: remote files need fsspec; pip install 'nearkin[remote]', or fetch the file first"
        raise MissingExtraError(message, extra="remote", package="fsspec") from None
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(url)
        return found
    except ImportError as error:
        message = f"{url}: {error}, which reads {protocol}:// through fsspec"
        raise MissingExtraError(message, extra="remote", package=protocol) from None
    except ValueError as error:
        raise _unreadable(url, f"{error}; give a path, or a URL of a protocol that fsspec knows") from None


def check_new(url: str) -> None:
    """Check that nothing lies at the URL of a folder that is to be written.

    Raises
    ------
    MissingExtraError
        fsspec, or its part for this protocol, is not installed.
    ParameterError
        There is something.
    InputError
        No access.
    """
    system, path = _system(url)
    with _reported(url):
        try:
            # What was listed before may have changed.
            system.invalidate_cache()
            found = system.ls(path, detail=False)
        except FileNotFoundError:
            return
    if found:
        raise bad_parameter("out", url, f"a folder that is empty or does not exist; it holds {found[0]}")


def write_file(url: str, data: bytes) -> None:
    """Write a file at once.

    Raises
    ------
    OutputError
        It can't be written.
    """
    system, path = _system(url)
    try:
        if getattr(system, "auto_mkdir", True) is False:
            # Only folders of a machine must be there before their files.
            system.makedirs(system._parent(path), exist_ok=True)
        system.pipe_file(path, data)
    except Exception as error:
        # Each protocol raises errors of its own library.
        reason = f"can't be written: {type(error).__name__}: {error}"
        raise OutputError(f"{url}: {reason}", place=url, in_place="other") from error


def is_folder(url: str) -> bool:
    """Whether there is something below a URL, looked up anew."""
    system, path = _system(url)
    with _reported(url):
        system.invalidate_cache()
        return bool(system.isdir(path))


@contextmanager
def _reported(url: str) -> Iterator[None]:
    """A context in which whatever goes wrong with a remote file is an InputError that names it."""
    try:
        yield
    except NearkinError:
        raise
    except FileNotFoundError:
        raise _unreadable(url, "no such file or folder") from None
    except Exception as error:
        # Each protocol raises errors of its own library.
        raise _unreadable(url, f"can't be read: {type(error).__name__}: {error}") from error
