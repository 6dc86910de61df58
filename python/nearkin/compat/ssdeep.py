"""The functions and classes of the package `ssdeep` 3.4, over nearkin's core.

Digests equal those of the program ssdeep 2.14.1. Scores equal those of its library libfuzzy, which `ssdeep` calls, also
for damaged digests.

Differences:

- An invalid digest is an `InternalError`, which is also a `ValueError`.
- Any buffer is accepted, and paths of every type; `ssdeep` accepts only str as a path.
- A path that is not a regular file is an `OSError` as in the package, with the reason in its message.

Cost: as `nearkin.digests.ssdeep`. Tests: `tests/compat/test_compat_ssdeep.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nearkin.digests import ssdeep
from nearkin.errors import InputError, ParameterError

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

__all__ = ["BaseError", "BaseHash", "Hash", "InternalError", "PseudoHash", "compare", "hash", "hash_from_file"]


class BaseError(Exception):
    """Base of the errors of this module."""


class InternalError(BaseError, InputError):
    """An invalid digest. Attributes: place, reason."""


class FileError(InputError, OSError):
    """A path that cannot be hashed: a folder, pipe or device, or a file that changes. Attributes: place, reason."""


def _encode(data: str | Buffer, encoding: str) -> Buffer:
    """Return the bytes of a text or a buffer."""
    if isinstance(data, str):
        return data.encode(encoding)
    try:
        memoryview(data)
    except TypeError:
        raise TypeError(f"data is a {type(data).__name__}; use str or bytes") from None
    return data


def hash(buf: str | Buffer, encoding: str = "utf-8") -> str:  # noqa: A001 - the package's name
    r"""Return the digest of a text or of bytes.

    Parameters
    ----------
    buf : str or bytes-like
    encoding : str, default "utf-8"
        Encoding of a str.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        `buf` has another type.
    UnicodeEncodeError
        The encoding lacks a character.

    Examples
    --------
    >>> from nearkin.compat import ssdeep
    >>> ssdeep.hash("Hello, World!\n")
    '3:aaX8v:aV'
    """
    return ssdeep.hash(_encode(buf, encoding))


def hash_from_file(filename: str | bytes | os.PathLike[str]) -> str:
    """Return the digest of a regular file.

    Parameters
    ----------
    filename : str, bytes or os.PathLike

    Returns
    -------
    str

    Raises
    ------
    OSError
        The file cannot be read, or is not a regular file.
    TypeError
        `filename` has another type.
    """
    if not isinstance(filename, (str, bytes, os.PathLike)):
        raise TypeError(f"filename is a {type(filename).__name__}; use a path")
    try:
        return ssdeep.hash(os.fsdecode(filename))
    except InputError as error:
        raise FileError(error.message, **error.context) from None


def compare(sig1: str | bytes, sig2: str | bytes) -> int:
    """Return the score of two digests, 0 to 100.

    Parameters
    ----------
    sig1, sig2 : str or bytes
        Digests; a str must be ASCII.

    Returns
    -------
    int

    Raises
    ------
    InternalError
        A digest is invalid.
    TypeError
        A digest is neither str nor bytes.
    UnicodeEncodeError
        A str is not ASCII.

    Examples
    --------
    >>> from nearkin.compat import ssdeep
    >>> ssdeep.compare("96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
    ...                "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U")
    97
    """
    left, right = _check_digest("sig1", sig1), _check_digest("sig2", sig2)
    try:
        return ssdeep.compare(left, right, strict=False)
    except InputError as error:
        raise InternalError(error.message, **error.context) from None


def _check_digest(name: str, digest: str | bytes) -> str | bytes:
    """Return a digest that is bytes or ASCII."""
    if isinstance(digest, str):
        return digest if digest.isascii() else digest.encode("ascii")
    if isinstance(digest, bytes):
        return digest
    raise TypeError(f"{name} is a {type(digest).__name__}; use str or bytes")


class BaseHash:
    """The base class of `Hash` and `PseudoHash`."""

    @property
    def block_size(self) -> int:
        """The block size of the digest so far."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the hash."""
        return "ssdeep"


class Hash(BaseHash):
    r"""An incremental hash.

    Examples
    --------
    >>> from nearkin.compat.ssdeep import Hash
    >>> hasher = Hash()
    >>> hasher.update("Hello, ")
    >>> hasher.update(b"World!\n")
    >>> hasher.digest(), hasher.block_size, hasher.name
    ('3:aaX8v:aV', 3, 'ssdeep')
    """

    def __init__(self) -> None:
        self._hasher = ssdeep.Hasher()

    @property
    def block_size(self) -> int:
        """The block size of the digest so far."""
        return int(self.digest().partition(":")[0])

    def update(self, buf: str | Buffer, encoding: str = "utf-8") -> None:
        """Add data.

        Parameters
        ----------
        buf : str or bytes-like
        encoding : str, default "utf-8"
            Encoding of a str.

        Raises
        ------
        TypeError
            `buf` has another type.
        """
        self._hasher.update(_encode(buf, encoding))

    def digest(self, elimseq: bool = False, notrunc: bool = False) -> str:
        """Return the digest of the data so far; more can be added.

        Parameters
        ----------
        elimseq : bool, default False
            Shorten runs of more than three equal characters to three.
        notrunc : bool, default False
            Allow the second part the length of the first.

        Raises
        ------
        InternalError
            More than 192 GiB were hashed.
        """
        try:
            return self._hasher.digest(eliminate_runs=bool(elimseq), truncate=not notrunc)
        except ParameterError as error:
            raise InternalError(error.message, **error.context) from None

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self)()
        other._hasher = self._hasher.copy()
        return other


class PseudoHash(Hash):
    """`Hash` under the name that the package uses with old libraries. It does not keep data in memory."""
