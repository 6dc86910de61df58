"""Fuzzy digests of bytes, files and streams, and the normalisation of text before hashing.

A fuzzy digest depends on bytes: other line ends, indentation or markup around the same words change nearly every
piece. Three steps remove such differences on request. They are applied in this order:

    html     markup to text: tags, comments, scripts and styles are removed, character references are resolved
    lines    CR LF and CR become LF
    space    every run of white space becomes one space, and none is left at the ends

Bytes that are not UTF-8 are not changed. A digest of normalised text can be compared only with digests normalised in
the same way, so a `DigestRecipe` starts with the steps: `html+space|ssdeep`.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable
from typing import Literal, overload

from nearkin._core import SsdeepHasher, digest_read_file, ssdeep_hash, ssdeep_hash_file, ssdeep_hash_files
from nearkin.digests.inputs import (
    Data,
    HashedBatch,
    OnError,
    Paths,
    StreamHasher,
    hash_batches,
    hash_path,
    read_chunks,
    read_content,
    to_buffer,
)
from nearkin.errors import NearkinError, bad_parameter, excerpt
from nearkin.progress import ShowProgress

# In order of application.
STEPS = ("html", "lines", "space")

# Elements whose content, up to the end tag, is not text.
_HIDDEN = frozenset({"script", "style", "template"})
# Elements that start a new line.
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "form"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre", "section"}
    | {"table", "td", "th", "title", "tr", "ul"}
)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTES = re.compile(r"""[>"']""")
_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _HIDDEN}
# Numbers beyond the last character, which Python would parse as integers of any length.
_LEADING_ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9A-Fa-f])")
_HUGE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9A-Fa-f]{7,});?")


def _unescape(text: str) -> str:
    if "&" not in text:
        return text
    return html.unescape(_HUGE.sub("\N{REPLACEMENT CHARACTER}", _LEADING_ZEROS.sub(r"\1", text)))


def _find_tag_end(text: str, start: int) -> int:
    """Return the end (exclusive) of the tag whose attributes begin at `start`; the end of the text if there is none."""
    while match := _ATTRIBUTES.search(text, start):
        if match.group() == ">":
            return match.end()
        start = match.end()
        # A quotation mark starts a value only after an equals sign.
        if text[max(0, match.start() - 16) : match.start()].rstrip()[-1:] == "=":
            start = text.find(match.group(), start) + 1
            if not start:
                break
    return len(text)


def _strip_markup(markup: str) -> str:
    """Return the text of a document in linear time, whatever the markup."""
    parts = []
    at = 0
    while (start := markup.find("<", at)) >= 0:
        parts.append(_unescape(markup[at:start]))
        tag = _TAG.match(markup, start)
        if markup.startswith("<!--", start):
            at = markup.find("-->", start + 4) + 3
            at = at if at > 2 else len(markup)
        elif tag is None and markup[start + 1 : start + 2] in ("!", "?", "/"):
            at = markup.find(">", start) + 1 or len(markup)
        elif tag is None:
            parts.append("<")
            at = start + 1
        else:
            at = _find_tag_end(markup, tag.end())
            name = tag[2].lower()
            if name in _BLOCKS:
                parts.append("\n")
            elif name in _HIDDEN and not tag[1]:
                end = _END[name].search(markup, at)
                at = _find_tag_end(markup, end.end()) if end else len(markup)
    parts.append(_unescape(markup[at:]))
    return "".join(parts)


def check_steps(steps: object) -> tuple[str, ...]:
    """Return the named steps in order of application.

    Raises
    ------
    ParameterError
        A step is unknown, or the argument does not name steps.
    """
    names = list(steps) if isinstance(steps, Iterable) and not isinstance(steps, str) else [steps]
    for name in names:
        if name not in STEPS:
            raise bad_parameter("normalize", repr(name), "any of 'html', 'lines' and 'space'")
    return tuple(name for name in STEPS if name in names)


def normalize(data: bytes | bytearray | memoryview, steps: str | Iterable[str]) -> bytes:
    r"""Normalise text by some steps.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        Text. Bytes that are not UTF-8 are not changed.
    steps : str or iterable of str
        Any of "html", "lines" and "space", in any order.

    Returns
    -------
    bytes
        Normalised text.

    Raises
    ------
    ParameterError
        A step is unknown, or `data` is not bytes.

    Examples
    --------
    >>> from nearkin.digests.ssdeep import normalize
    >>> normalize(b"<p>One &amp;\r\n two</p><script>x()</script>", ["html", "space"])
    b'One & two'
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise bad_parameter("data", excerpt(repr(data), 60), "bytes; text.encode() makes them of a text")
    return _apply_steps(bytes(data), check_steps(steps))


def _apply_steps(data: bytes, steps: tuple[str, ...]) -> bytes:
    if not steps:
        return data
    text = data.decode("utf-8", "surrogateescape")
    for step in steps:
        if step == "html":
            text = _strip_markup(text)
        elif step == "lines":
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        else:
            text = " ".join(text.split())
    return text.encode("utf-8", "surrogateescape")


def hash(  # noqa: A001 - `nearkin.digests.ssdeep.hash` is the promised name
    data: Data, *, eliminate_runs: bool = False, truncate: bool = True, normalize: str | Iterable[str] = ()
) -> str:
    r"""Compute the fuzzy digest of bytes, of a file or of a stream.

    Parameters
    ----------
    data : bytes-like, str, os.PathLike or binary file-like
        Any C-contiguous buffer, which is read in place; a str or path that names a regular file; or an object whose
        `read(size)` returns bytes. For a text, pass `text.encode()`. At most 192 GiB.
    eliminate_runs : bool, default False
        Shorten runs of more than three equal characters to three, as the library's flag ELIMSEQ does.
    truncate : bool, default True
        Truncate part 2 to 32 characters, as the program does. False is the library's flag NOTRUNC.
    normalize : str or iterable of str, default none
        Treat the input as text and apply "html", "lines" or "space" first (`nearkin.ssdeep.normalize`). The digest can
        be compared only with digests normalised in the same way; use `nearkin.ssdeep.DigestRecipe` to keep track. The
        input is read into memory.

    Returns
    -------
    str
        `blocksize:part1:part2`. Empty input gives `3::`.

    Raises
    ------
    InputError
        The path is not a regular file (but a directory, FIFO or device), or the file changes while it is read.
    OSError
        The file cannot be read; a str that is no path but a text is a file that does not exist.
    ParameterError
        `data` has another type, or is too long.

    Notes
    -----
    The value equals that of ssdeep 2.14.1 in all future versions. The GIL is released while hashing.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.hash(b"Hello, World!\n")
    '3:aaX8v:aV'
    >>> nk.ssdeep.hash(bytes(5000))
    '3::'
    """
    rules = (eliminate_runs, truncate)
    if isinstance(data, bytes) and isinstance(normalize, tuple) and not normalize:
        # Fast path for millions of small inputs.
        return ssdeep_hash(data, rules)
    steps = check_steps(normalize)
    if isinstance(data, (str, os.PathLike)):
        if steps:
            return hash_path(data, lambda name: ssdeep_hash(_apply_steps(digest_read_file(name), steps), rules))
        return hash_path(data, lambda name: ssdeep_hash_file(name, rules))
    if steps:
        return ssdeep_hash(_apply_steps(read_content(data), steps), rules)
    if (buffer := to_buffer(data)) is not None:
        return ssdeep_hash(buffer, rules)
    hasher = Hasher()
    for chunk in read_chunks(data):
        hasher.update(chunk)
    return hasher.digest(eliminate_runs=eliminate_runs, truncate=truncate)


class Hasher(StreamHasher[SsdeepHasher]):
    r"""A digest of data that arrives in chunks of any size.

    The digest does not depend on the sizes of the chunks. Memory is constant (5 KB).

    Examples
    --------
    >>> import nearkin as nk
    >>> hasher = nk.ssdeep.Hasher()
    >>> hasher.update(b"Hello, ")
    >>> hasher.update(b"World!\n")
    >>> hasher.digest()
    '3:aaX8v:aV'
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._hasher = SsdeepHasher()

    def digest(self, *, eliminate_runs: bool = False, truncate: bool = True) -> str:
        """Return the digest of all data so far; more data may follow.

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
            More than 192 GiB were hashed.
        """
        return self._hasher.digest((eliminate_runs, truncate))


@overload
def hash_files(
    paths: Paths,
    *,
    on_error: Literal["raise"] = "raise",
    eliminate_runs: bool = False,
    truncate: bool = True,
    normalize: str | Iterable[str] = (),
    progress: ShowProgress = None,
) -> list[str]: ...


@overload
def hash_files(
    paths: Paths,
    *,
    on_error: OnError,
    eliminate_runs: bool = False,
    truncate: bool = True,
    normalize: str | Iterable[str] = (),
    progress: ShowProgress = None,
) -> list[str | Exception]: ...


def hash_files(
    paths: Paths,
    *,
    on_error: OnError = "raise",
    eliminate_runs: bool = False,
    truncate: bool = True,
    normalize: str | Iterable[str] = (),
    progress: ShowProgress = None,
) -> list[str] | list[str | Exception]:
    """Compute the digests of many files in parallel.

    Parameters
    ----------
    paths : iterable of str or os.PathLike
        Regular files, or symbolic links to them. Directories, FIFOs and devices are errors and are never opened.
    on_error : {"raise", "return"}, default "raise"
        Raise the first error, or return the exception instead of the digest.
    eliminate_runs, truncate : bool
        As for `hash`.
    normalize : str or iterable of str, default none
        As for `hash`; normalised files are not hashed in parallel.
    progress : bool or function, optional
        True shows a progress bar. A function is called with "hash", the number of files done, and their total.

    Returns
    -------
    list of str (and, with ``on_error="return"``, exceptions)
        One entry per path, in order.

    Raises
    ------
    OSError, InputError
        As for `hash`, unless errors are returned.
    ParameterError
        `on_error` is invalid.

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.ssdeep.hash_files(["/no/such/file"], on_error="return")
    [MissingFileError('/no/such/file: no such file or folder')]
    """
    steps = check_steps(normalize)

    def digests_of(batch: list[str]) -> HashedBatch:
        if steps:
            return [_hash_normalised(name, steps, eliminate_runs, truncate) for name in batch]
        return ssdeep_hash_files(batch, (eliminate_runs, truncate))

    return hash_batches(paths, digests_of, on_error=on_error, progress=progress)


def _hash_normalised(
    path: str, steps: tuple[str, ...], eliminate_runs: bool, truncate: bool
) -> tuple[str | None, Exception | None]:
    try:
        return hash(path, eliminate_runs=eliminate_runs, truncate=truncate, normalize=steps), None
    except (NearkinError, OSError) as error:
        return None, error
