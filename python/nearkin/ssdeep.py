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
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin import _core, ssdeep_text
from nearkin.errors import bad_parameter

__all__ = [
    "ComparedParts",
    "Explanation",
    "Hasher",
    "Likeness",
    "compare",
    "compare_many",
    "explain",
    "hash",
    "hash_files",
    "likeness",
    "matrix",
    "read_list",
    "write_list",
]

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
        Treat the input as text and apply "html", "lines" or "space" first (`nearkin.ssdeep_text`). Such a digest
        compares only with digests normalised alike; `nearkin.ssdeep_text.recipe` names what it was made by. The input
        is read into memory.

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
    steps = [normalize] if isinstance(normalize, str) else list(normalize)
    if steps:
        content = Path(data).read_bytes() if isinstance(data, (str, os.PathLike)) else _content(data)
        return _core.ssdeep_hash(ssdeep_text.normalize(content, steps), eliminate_runs, truncate)
    if isinstance(data, (str, os.PathLike)):
        return _core.ssdeep_hash_file(os.fspath(data), eliminate_runs, truncate)
    buffer = _bytes_like(data)
    if buffer is not None:
        return _core.ssdeep_hash(buffer, eliminate_runs, truncate)
    if hasattr(data, "read"):
        hasher = Hasher()
        while chunk := data.read(_CHUNK):
            hasher.update(chunk)
        return hasher.digest(eliminate_runs=eliminate_runs, truncate=truncate)
    raise bad_parameter("data", f"a {type(data).__name__}", "bytes or another buffer, a path, or a binary file")


def _content(data: Any) -> bytes:
    """All bytes of a buffer or file-like object."""
    buffer = _bytes_like(data)
    if buffer is not None:
        return bytes(buffer)
    if hasattr(data, "read"):
        return b"".join(iter(lambda: data.read(_CHUNK), b""))
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


@dataclass(frozen=True)
class ComparedParts:
    """Two parts of one block size that were compared.

    Attributes
    ----------
    parts : tuple of two int
        1 or 2: which part of `a`, which of `b`.
    block_size : int
    lengths : tuple of two int
        Characters of each, runs of more than three cut to three.
    gram : str or None
        The first seven characters of the one that the other shares; without any the score is 0.
    common : int
        Length of the longest common subsequence.
    uncapped : int
        The score before the cap.
    cap : int
        The most that parts of these lengths score at this block size; below 48 it grows with the shorter length.
    score : int
    """

    parts: tuple[int, int]
    block_size: int
    lengths: tuple[int, int]
    gram: str | None
    common: int
    uncapped: int
    cap: int
    score: int

    def __str__(self) -> str:
        names = f"part {self.parts[0]} with part {self.parts[1]} at block size {self.block_size}"
        if self.gram is None:
            return f"{names}: 0, no seven successive characters in common ({self.lengths[0]} and {self.lengths[1]})"
        capped = f", capped from {self.uncapped} because the parts are short" if self.uncapped > self.cap else ""
        return (
            f"{names}: {self.score}{capped}; {self.common} of {self.lengths[0]} and {self.lengths[1]} characters common"
        )


@dataclass(frozen=True)
class Explanation:
    """Why two digests score what they score; `str()` gives sentences.

    Attributes
    ----------
    score : int
        0 to 100, as `compare` gives it.
    comparable : bool
        Whether the block sizes are equal or differ by a factor of two; otherwise the score is 0.
    equal : bool
        Whether the digests are equal without their runs, which scores 100 whatever their length.
    runs_removed : tuple of two int
        Characters of each digest that were left out because more than three of a kind stood in a row.
    compared : tuple of ComparedParts
        What was compared.
    reliability : {"none", "low", "fair", "good"}
        By the longest part that was compared on both sides: none below 7 characters, low below 16, fair below 32.
        These bounds are a convention of this function.
    """

    score: int
    comparable: bool
    equal: bool
    runs_removed: tuple[int, int]
    compared: tuple[ComparedParts, ...]
    reliability: str

    def __str__(self) -> str:
        lines = [f"score {self.score}"]
        if not self.comparable:
            lines.append("the block sizes differ by more than a factor of two: such digests can't be compared")
        elif self.equal:
            lines.append("the digests are equal")
        lines += [str(parts) for parts in self.compared]
        if any(self.runs_removed):
            lines.append(f"characters of long runs left out: {self.runs_removed[0]} and {self.runs_removed[1]}")
        lines.append(f"reliability by length: {self.reliability}")
        return "\n".join(lines)


def explain(a: Digest, b: Digest, *, strict: bool = True) -> Explanation:
    """Why two digests score what they score.

    Parameters
    ----------
    a, b : str or bytes
        Digests.
    strict : bool, default True
        As for `compare`.

    Returns
    -------
    Explanation

    Raises
    ------
    InputError
        If one of them is no digest.

    Examples
    --------
    >>> import nearkin as nk
    >>> print(nk.ssdeep.explain("12:abcdefgh:xyz", "12:abcdefgk:xyz"))
    score 32
    part 1 with part 1 at block size 12: 32, capped from 88 because the parts are short; 7 of 8 and 8 characters common
    part 2 with part 2 at block size 24: 0, no seven successive characters in common (3 and 3)
    reliability by length: low
    >>> nk.ssdeep.explain("3:abc:de", "96:abc:de").comparable
    False
    """
    score, comparable, equal, compared = _core.ssdeep_explain(a, b, strict)
    parts = tuple(ComparedParts(*values) for values in compared)
    longest = max((min(part.lengths) for part in parts), default=0)
    reliability = "none" if longest < 7 else "low" if longest < 16 else "fair" if longest < 32 else "good"
    return Explanation(score, comparable, equal, (_runs(a), _runs(b)), parts, reliability)


def _runs(digest: Digest) -> int:
    """Characters of runs beyond the third."""
    text = digest if isinstance(digest, str) else digest.decode("latin-1")
    parts = text.split(",", 1)[0].split(":", 2)[1:]
    return sum(len(run.group()) - 3 for part in parts for run in re.finditer(r"(.)\1{3,}", part))


def read_list(source: str | os.PathLike[str] | bytes) -> list[tuple[str, str]]:
    r"""The digests and names of a list file of the program.

    Parameters
    ----------
    source : str, os.PathLike or bytes
        A file, or its content.

    Returns
    -------
    list of (str, str)
        Digest and name. Bytes of names that are not UTF-8 become surrogates, as `os.fsdecode` makes them.

    Raises
    ------
    InputError
        If it is no list, with the number of the line.
    OSError
        If the file can't be read.

    Examples
    --------
    >>> import nearkin as nk
    >>> text = nk.ssdeep.write_list([("3:aaX8v:aV", 'a "quoted" name')])
    >>> print(text.decode(), end="")
    ssdeep,1.1--blocksize:hash:hash,filename
    3:aaX8v:aV,"a \"quoted\" name"
    >>> nk.ssdeep.read_list(text)
    [('3:aaX8v:aV', 'a "quoted" name')]
    """
    text = source if isinstance(source, bytes) else Path(source).read_bytes()
    return [(digest, os.fsdecode(name)) for digest, name in _core.ssdeep_read_list(text)]


def write_list(entries: Iterable[tuple[str, str | os.PathLike[str]]]) -> bytes:
    """The content of a list file, as the program writes it.

    Parameters
    ----------
    entries : iterable of (str, str or os.PathLike)
        Digest and name.

    Returns
    -------
    bytes
    """
    return _core.ssdeep_write_list([(digest, os.fsencode(name)) for digest, name in entries])


# Below this length a digest has too few pieces to speak.
SHORT = 4096


@dataclass(frozen=True)
class Likeness:
    """How alike two inputs are, and by what it was measured.

    Attributes
    ----------
    method : str
        "ssdeep", or "jaccard:byte4" where an input is short. Scores of different methods don't compare.
    score : int
        0 to 100.
    """

    method: str
    score: int


def likeness(a: bytes, b: bytes, *, short: int = SHORT) -> Likeness:
    """How alike two inputs are, by a measure that suits their length.

    Parameters
    ----------
    a, b : bytes-like
        The inputs themselves.
    short : int, default 4096
        If one of them has fewer bytes, the Jaccard similarity of their sets of byte 4-grams is taken, in percent and
        rounded down; else the score of their digests. An input of fewer than four bytes is one gram; two empty inputs
        score 100.

    Returns
    -------
    Likeness

    Raises
    ------
    ParameterError
        If an input is no buffer.

    Notes
    -----
    A short input beside a long one scores low even where it is contained in it; sets of grams take eight bytes for each
    byte of an input.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.likeness(b"GET /index.html?id=1", b"GET /index.html?id=2")
    Likeness(method='jaccard:byte4', score=88)
    """
    left, right = _content(a), _content(b)
    if min(len(left), len(right)) >= short:
        return Likeness("ssdeep", compare(hash(left), hash(right)))
    grams, others = _grams(left), _grams(right)
    common = len(np.intersect1d(grams, others, assume_unique=True))
    union = len(grams) + len(others) - common
    return Likeness("jaccard:byte4", 100 * common // union if union else 100)


def _grams(data: bytes) -> npt.NDArray[np.uint64]:
    """The distinct byte 4-grams; those of a shorter input carry its length, so that they equal no other."""
    if not data:
        return np.empty(0, dtype=np.uint64)
    if len(data) < 4:
        return np.array([int.from_bytes(data, "little") + (len(data) << 32)], dtype=np.uint64)
    bytes_ = np.frombuffer(data, dtype=np.uint8).astype(np.uint64)
    whole = bytes_[:-3] | bytes_[1:-2] << np.uint64(8) | bytes_[2:-1] << np.uint64(16) | bytes_[3:] << np.uint64(24)
    return np.unique(whole)
