"""What STORE is on the command line: a folder, or the URL of a service that holds one; both have the same calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nearkin.cli.console import read_text
from nearkin.cli.options import memory_of
from nearkin.errors import InputError, bad_parameter

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from nearkin.service.client import Client
    from nearkin.store.log import Mode
    from nearkin.store.store import Store

    Asked: TypeAlias = "Store | Client"

_URL = re.compile(r"https?://", re.IGNORECASE)
_TOKEN = re.compile(r"(?:(read|write)\s+)?(\S+)")


def is_url(place: str) -> bool:
    """Whether STORE is the URL of a service."""
    return _URL.match(place) is not None


def folder_of(place: str, command: str) -> Path:
    """STORE as a folder, for a command that no service does.

    Raises
    ------
    ParameterError
        It is a URL.
    """
    if is_url(place):
        raise bad_parameter("store", place, f"a folder: `{command}` is done where the store is, beside its service")
    return Path(place)


@contextmanager
def opened(
    place: str, mode: Mode = "w", *, token_file: Path | None = None, memory_limit: str | None = None
) -> Iterator[Asked]:
    """The store, open; or the client of its service.

    Parameters
    ----------
    place : str
        STORE.
    mode : {"w", "r"}, default "w"
    token_file : Path, optional
        For a service.
    memory_limit : str, optional
        For a folder.

    Raises
    ------
    ParameterError
        An option that is for the other.
    """
    if is_url(place):
        if memory_limit is not None:
            raise bad_parameter("memory_limit", memory_limit, "not with a URL: the service has its own limit")
        from nearkin.service.client import Client

        with Client(place, None if token_file is None else read_token(token_file, mode)) as client:
            yield client
        return
    if token_file is not None:
        raise bad_parameter("token_file", token_file, "not with a folder, which needs no token")
    from nearkin.store.store import Store

    with Store.open(place, mode, memory=memory_of(memory_limit)) as store:
        yield store


def is_store(store: Asked) -> TypeIs[Store]:
    """Whether it is open here, and not asked of a service."""
    return hasattr(store, "path")


def holds_files(store: Asked) -> bool:
    """Whether a store holds files, and not texts.

    Raises
    ------
    ParameterError
        It holds vectors.
    """
    kind = f"{store.settings.noun}s" if is_store(store) else store.kind
    if kind == "vectors":
        raise bad_parameter("store", place_of(store), "a store of texts or files; vectors are given in Python")
    return kind == "files"


def place_of(store: Asked) -> str:
    """Where a store is: its folder, or the URL of its service."""
    return str(store.path) if is_store(store) else store.url


def own_folders(store: Asked) -> list[Path]:
    """The folder of a store, whose files are no documents."""
    return [store.path] if is_store(store) else []


def read_token(path: Path, mode: Mode) -> str:
    """The token of a file: the one that stands there alone, or the first of a service's file that may do it.

    Parameters
    ----------
    path : Path
    mode : {"w", "r"}
        Whether it has to allow changes.

    Raises
    ------
    InputError
        None is there.
    OSError
        The file can't be read.
    """
    lines = [line.strip() for line in read_text(str(path)).splitlines()]
    found = [_TOKEN.fullmatch(line) for line in lines if line and not line.startswith("#")]
    tokens = [(match[1], match[2]) for match in found if match is not None]
    allowed = [token for right, token in tokens if right != "read" or mode == "r"]
    if not allowed or None in found:
        reason = "has no token; write it there alone, or give the service's file, with lines such as `write TOKEN`"
        raise InputError(f"{path}: {reason}", place=str(path), reason=reason)
    return allowed[0]
