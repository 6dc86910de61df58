"""Remote inputs, and the output folders of engines, by URL (`s3://`, `gs://`, `hf://`, `https://`) through fsspec.

fsspec and its package for the protocol must be installed. A remote file is read once, from start to end; rows that are
looked up later come from the spool. Engines write their tables themselves; only the summary of a run is written here.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nearkin.errors import InputError, MissingExtraError, NearkinError, OutputError, bad_parameter, require_extra
from nearkin.io.encoding import ChunkStream

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# A URL within a message; quotes and brackets end it. `Path` leaves one slash of two.
_ANY_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):([/\\]+)([^\s'\"<>]*)")
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "abfs": "adlfs"}
_PACKAGES |= {"az": "adlfs", "abfss": "adlfs", "http": "aiohttp", "https": "aiohttp", "sftp": "paramiko"}
"""The package with which fsspec reads a protocol."""
_WEB = ("http://", "https://")
# Parameters of a query that number or name a document, and the values that cannot be URLs with passwords.
_PUBLIC = "date|doc|document|file|filename|id|lang|number|offset|p|page|part|path|start|title|v|version|versionid|year"
_PUBLIC_PARAMETER = re.compile(rf"({_PUBLIC})=[A-Za-z0-9._~/-]{{1,64}}", re.IGNORECASE)
_BLOCK = 4 << 20
_PROBE = ".nearkin"
"""Name of an empty file that tests whether a folder can be written."""


def is_url(name: str) -> bool:
    """Return True if an input is a URL."""
    return _URL.match(name) is not None


def short_url(text: str) -> str:
    """Return a text with its URLs as people may see them: passwords, queries and fragments are left out.

    Everything that this package prints or writes about a URL goes through this function, because queries contain
    signatures. A query of another protocol than HTTP is left out if it has "=": otherwise "?" may be a pattern.

    Examples
    --------
    >>> from nearkin.io.remote import short_url
    >>> short_url("https://me:secret@host/x.jsonl?X-Amz-Signature=1f"), short_url("s3://bucket/part-?.jsonl")
    ('https://me:***@host/x.jsonl?…', 's3://bucket/part-?.jsonl')
    """
    return _ANY_URL.sub(_shorten, text)


def _shorten(match: re.Match[str]) -> str:
    scheme, slashes, rest = match.groups()
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    authority, tail = rest[:end], rest[end:]
    account, at, host = authority.rpartition("@")
    if at:
        name, colon, _ = account.partition(":")
        # A name without a password is often a token.
        account = f"{name}:***" if colon and name else "***"
    is_web = scheme.lower() in ("http", "https")
    cut = min((at for at in map(tail.find, "?#") if at >= 0 and (is_web or "=" in tail[at:])), default=len(tail))
    return f"{scheme}:{slashes}{account}{at}{host}{tail[:cut]}{'' if cut == len(tail) else '?…'}"


def document_id(url: str) -> str:
    """Return the id of the document at a URL: its short form, with parameters of the query that hold no secret.

    These are the parameters whose name says that they number or name a document, such as `id`, `page` and `version`.

    Examples
    --------
    >>> from nearkin.io.remote import document_id
    >>> document_id("https://host/page?id=7&token=1f"), document_id("https://host/page?token=1f")
    ('https://host/page?id=7&…', 'https://host/page?…')
    """
    short = short_url(url)
    if not short.endswith("?…"):
        return short
    parameters = url.partition("#")[0].partition("?")[2].split("&")
    public = [parameter for parameter in parameters if _PUBLIC_PARAMETER.fullmatch(parameter)]
    hidden = "#" in url or len(public) < len(parameters)
    return short[:-1] + "&".join([*public, *["…"] * hidden])


def name_in(url: str) -> str:
    """Return a URL without query and fragment; its end has the file extension."""
    return urlsplit(url).path if url.startswith(_WEB) else url


def _read_error(url: str, reason: str) -> InputError:
    name, reason = short_url(url), short_url(reason)
    return InputError(f"{name}: {reason}", place=name, file=name, reason=reason)


def expand(url: str) -> list[str]:
    """Return the URLs of a file, of the matches of a glob, or of all files below a folder, sorted by name.

    Raises
    ------
    MissingExtraError
        fsspec, or its package for this protocol, is not installed.
    InputError
        The file does not exist, or access is denied.
    """
    system, path = _open_filesystem(url)
    if url.startswith(_WEB):
        return [url]
    with _wrap_errors(url):
        if any(sign in path for sign in "*?["):
            names = sorted(system.glob(path))
            if not names:
                raise _read_error(url, "no file matches")
        elif system.isdir(path):
            names = [name for name in sorted(system.find(path)) if not name.rpartition("/")[2].startswith(".")]
            if not names:
                raise _read_error(url, "the folder has no files")
        else:
            return [url]
        return [system.unstrip_protocol(name) for name in names]


def open_remote(url: str) -> ChunkStream:
    """Return the bytes of a remote file, which is opened by the first read.

    Raises
    ------
    InputError
        While reading, if the file cannot be opened or read.
    """

    def chunks() -> Iterator[bytes]:
        system, path = _open_filesystem(url)
        with _wrap_errors(url), system.open(path, "rb", block_size=_BLOCK) as file:
            while chunk := file.read(_BLOCK):
                yield chunk

    return ChunkStream(chunks())


def _open_filesystem(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL and the path within it."""
    protocol = url.partition("://")[0]
    with require_extra("remote", f"{short_url(url)}: a remote file"):
        import fsspec.core
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        package = _PACKAGES.get(protocol.lower())
        way = f"run `pip install {package}`, which" if package else f"{error}, which"
        message = f"{short_url(url)}: {way} reads {protocol}:// through fsspec"
        raise MissingExtraError(message, extra="remote", package=protocol) from None
    except ValueError as error:
        raise _read_error(url, f"{error}; give a path, or a URL of a protocol that fsspec knows") from None
    return system, path


def check_new(url: str) -> None:
    """Check that the folder at a URL is empty or does not exist, and can be written, by writing and deleting a file.

    Raises
    ------
    MissingExtraError
        fsspec, or its package for this protocol, is not installed.
    ParameterError
        The folder is not empty.
    InputError
        Access is denied.
    OutputError
        A file cannot be written there.
    """
    system, path = _open_filesystem(url)
    with _wrap_errors(url):
        try:
            # Earlier listings are cached and may be out of date.
            system.invalidate_cache()
            names = [name for name in system.ls(path, detail=False) if not name.endswith(f"/{_PROBE}")]
        except FileNotFoundError:
            names = []
    if names:
        allowed = f"a folder that is empty or does not exist; it contains {short_url(names[0])}"
        raise bad_parameter("out", short_url(url), allowed)
    probe = f"{url.rstrip('/')}/{_PROBE}"
    write_file(probe, b"")
    # Who may write may still not be allowed to delete.
    with suppress(Exception):
        system.rm_file(f"{path.rstrip('/')}/{_PROBE}")


@contextmanager
def _open_target(url: str) -> Iterator[tuple[Any, str]]:
    """Return the file system and the path of a file to write; convert errors of each protocol to OutputError."""
    system, path = _open_filesystem(url)
    try:
        if getattr(system, "auto_mkdir", True) is False:
            # Only local file systems need the parent folder.
            system.makedirs(system._parent(path), exist_ok=True)
        yield system, path
    except Exception as error:
        # Each protocol raises errors of its own library.
        reason = short_url(f"can't be written: {type(error).__name__}: {error}")
        name = short_url(url)
        # The cause may contain the URL with its secrets, and a traceback would print it.
        raise OutputError(f"{name}: {reason}", place=name, in_place="other") from None


def write_file(url: str, data: bytes) -> None:
    """Write a file in one call.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with _open_target(url) as (system, path):
        system.pipe_file(path, data)


def is_folder(url: str) -> bool:
    """Return True if a folder exists at a URL, without using cached listings."""
    system, path = _open_filesystem(url)
    with _wrap_errors(url):
        system.invalidate_cache()
        return bool(system.isdir(path))


@contextmanager
def _wrap_errors(url: str) -> Iterator[None]:
    """Turn every error of the block into an InputError that names the URL."""
    try:
        yield
    except NearkinError:
        raise
    except FileNotFoundError:
        raise _read_error(url, "no such file or folder") from None
    except Exception as error:
        # Each protocol raises errors of its own library, which may contain the URL with its secrets.
        raise _read_error(url, f"can't be read: {type(error).__name__}: {error}") from None


def upload(path: Path, url: str) -> None:
    """Copy a local file to a URL.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with _open_target(url) as (system, target):
        system.put_file(str(path), target)


def delete(url: str) -> None:
    """Delete the file at a URL, if it exists.

    Raises
    ------
    InputError
        Access is denied.
    """
    system, path = _open_filesystem(url)
    with _wrap_errors(url):
        if system.exists(path):
            system.rm_file(path)
