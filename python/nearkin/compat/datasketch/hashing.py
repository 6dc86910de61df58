"""The hashes that datasketch takes by default: the first 4 or 8 bytes of a SHA-1, little-endian; hashes in pickles."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NoReturn

from nearkin.errors import InputError


def sha1_hash32(data: bytes) -> int:
    """The first 4 bytes of the SHA-1.

    Parameters
    ----------
    data : bytes, or anything with a buffer

    Returns
    -------
    int
        0 to 2^32 - 1.

    Examples
    --------
    >>> from nearkin.compat.datasketch import sha1_hash32
    >>> sha1_hash32(b"abc")
    910072233
    """
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:4], "little")


def sha1_hash64(data: bytes) -> int:
    """The first 8 bytes of the SHA-1.

    Parameters
    ----------
    data : bytes, or anything with a buffer

    Returns
    -------
    int
        0 to 2^64 - 1.
    """
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:8], "little")


class NamedHash:
    """A function that a pickle has named: it can be called, and nothing in the pickle can change it.

    Parameters
    ----------
    function : callable
    """

    __slots__ = ("_function",)
    _function: Callable[[Any], Any]

    def __init__(self, function: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __call__(self, feature: Any) -> Any:
        """The function's hash of a feature."""
        return self._function(feature)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise InputError(f"this pickle changes {name} of a function", place="pickle", reason="changes a function")

    def __setstate__(self, state: object) -> NoReturn:
        raise InputError("this pickle gives a function a state", place="pickle", reason="changes a function")


def unwrapped(hashfunc: Any) -> Any:
    """The function itself where a pickle has named it.

    Parameters
    ----------
    hashfunc : callable or None
    """
    return hashfunc._function if isinstance(hashfunc, NamedHash) else hashfunc
