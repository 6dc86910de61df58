"""The functions and classes of the packages `ssdeep` 3.4 and `ppdeep`, over nearkin's core.

`hash`, `hash_from_file` and `compare` are what both packages have; `Hash`, `PseudoHash`, `BaseError` and
`InternalError` are those of `ssdeep`. Digests are those of the program ssdeep 2.14.1, which both promise. Scores are
those of its library, libfuzzy, which `ssdeep` calls: damaged digests are read as it reads them.

What differs:

- A digest that can't be read is an `InternalError`, which is a `ValueError` too: callers of either package catch it.
- Buffers other than bytes are taken, and paths of every kind. `ssdeep` and `ppdeep` take str alone for a path.
- A path that is no regular file is an `OSError` as there, with the reason in its message.
- Scores are ssdeep's. Most of those of `ppdeep` 20260221 are not, and two digests whose first parts are equal score 100
  there: a threshold that was chosen for it has to be chosen again.

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
    """A digest that can't be read. Attributes: place, reason."""


class FileError(InputError, OSError):
    """A file that can't be hashed: a folder, a named pipe, a device, or one that changes. Attributes: place, reason."""


def _bytes(data: str | Buffer, encoding: str) -> Buffer:
    """The bytes of what is hashed."""
    if isinstance(data, str):
        return data.encode(encoding)
    try:
        memoryview(data)
    except TypeError:
        raise TypeError(f"data is a {type(data).__name__}; use str or bytes") from None
    return data


def hash(buf: str | Buffer, encoding: str = "utf-8") -> str:  # noqa: A001 - the packages' name
    r"""The digest of a text or of bytes.

    Parameters
    ----------
    buf : str or bytes-like
        What is hashed.
    encoding : str, default "utf-8"
        How a str becomes bytes.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If it is neither.
    UnicodeEncodeError
        If the encoding has no form of a character.

    Examples
    --------
    >>> from nearkin.compat import ssdeep
    >>> ssdeep.hash("Hello, World!\n")
    '3:aaX8v:aV'
    """
    return ssdeep.hash(_bytes(buf, encoding))


def hash_from_file(filename: str | bytes | os.PathLike[str]) -> str:
    """The digest of a regular file.

    Parameters
    ----------
    filename : str, bytes or os.PathLike

    Returns
    -------
    str

    Raises
    ------
    OSError
        If the file can't be read, or is no regular file.
    TypeError
        If `filename` is none of these.
    """
    if not isinstance(filename, (str, bytes, os.PathLike)):
        raise TypeError(f"filename is a {type(filename).__name__}; use a path")
    try:
        return ssdeep.hash(os.fsdecode(filename))
    except InputError as error:
        raise FileError(error.message, **error.context) from None


def compare(sig1: str | bytes, sig2: str | bytes) -> int:
    """The score of two digests, 0 to 100.

    Parameters
    ----------
    sig1, sig2 : str or bytes
        Digests; a str is ASCII.

    Returns
    -------
    int

    Raises
    ------
    InternalError
        If the library could not read one of them.
    TypeError
        If one of them is neither str nor bytes.
    UnicodeEncodeError
        If a str is not ASCII.

    Examples
    --------
    >>> from nearkin.compat import ssdeep
    >>> ssdeep.compare("96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U",
    ...                "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U")
    97
    """
    left, right = _digest("sig1", sig1), _digest("sig2", sig2)
    try:
        return ssdeep.compare(left, right, strict=False)
    except InputError as error:
        raise InternalError(error.message, **error.context) from None


def _digest(name: str, digest: str | bytes) -> str | bytes:
    """A digest that is bytes or ASCII."""
    if isinstance(digest, str):
        return digest if digest.isascii() else digest.encode("ascii")
    if isinstance(digest, bytes):
        return digest
    raise TypeError(f"{name} is a {type(digest).__name__}; use str or bytes")


class BaseHash:
    """What `Hash` and `PseudoHash` have in common."""

    @property
    def block_size(self) -> int:
        """The block size of the digest so far."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the hash."""
        return "ssdeep"


class Hash(BaseHash):
    r"""A digest of data that arrives in parts.

    Examples
    --------
    >>> from nearkin.compat.ssdeep import Hash
    >>> found = Hash()
    >>> found.update("Hello, ")
    >>> found.update(b"World!\n")
    >>> found.digest(), found.block_size, found.name
    ('3:aaX8v:aV', 3, 'ssdeep')
    """

    def __init__(self) -> None:
        self._hasher = ssdeep.Hasher()

    @property
    def block_size(self) -> int:
        """The block size of the digest so far."""
        return int(self.digest().partition(":")[0])

    def update(self, buf: str | Buffer, encoding: str = "utf-8") -> None:
        """Take in more data.

        Parameters
        ----------
        buf : str or bytes-like
        encoding : str, default "utf-8"
            How a str becomes bytes.

        Raises
        ------
        TypeError
            If it is neither.
        """
        self._hasher.update(_bytes(buf, encoding))

    def digest(self, elimseq: bool = False, notrunc: bool = False) -> str:
        """The digest of all data so far; more may follow.

        Parameters
        ----------
        elimseq : bool, default False
            Write runs of more than three equal characters as three.
        notrunc : bool, default False
            Leave part 2 as long as part 1 may be.

        Raises
        ------
        InternalError
            If more than 192 GiB were hashed.
        """
        try:
            return self._hasher.digest(eliminate_runs=bool(elimseq), truncate=not notrunc)
        except ParameterError as error:
            raise InternalError(error.message, **error.context) from None

    def copy(self) -> Self:
        """An independent object in the same state."""
        other = type(self)()
        other._hasher = self._hasher.copy()
        return other


class PseudoHash(Hash):
    """`Hash` under the name that the package keeps for old libraries. It keeps no data in memory either."""
