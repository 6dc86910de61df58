"""Streams in the form that the record readers expect: other encodings as UTF-8, JSON arrays as JSON lines.

Streams are read in chunks, so memory does not grow with the input, except for the longest JSON string.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHUNK = 1 << 18
PEEK = 1 << 16
"""Bytes at the start of a stream that decide between a JSON array and JSON lines."""
# Longest JSON string, equal to the longest record.
_MAX_STRING = 1 << 28
BOM = b"\xef\xbb\xbf"
"""Byte order mark of UTF-8."""
ENCODING_REMEDY = "or give the encoding that it has, such as encoding='latin-1'"
"""Advice for messages about bytes that are not UTF-8."""
UTF16 = "the file is UTF-16; convert it to UTF-8, or give encoding='utf-16'"
"""Reason of errors of files that start with a byte order mark of UTF-16."""
_SPACE = b" \t\r\n"

# A complete string; a string that continues in the next chunk; a separator. All other bytes are copied.
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|"[^"\\]*(?:\\.[^"\\]*)*\\?\Z|[][{},\r\n]', re.DOTALL)


class ByteStream(Protocol):
    """A source of bytes: an unbuffered file, or one of the streams of this module."""

    def read(self, size: int = -1, /) -> bytes | None:
        """Read at most `size` bytes; none at the end."""

    def readinto(self, buffer: Buffer, /) -> int | None:
        """Fill the start of `buffer` and return the number of bytes, 0 at the end."""


class StreamError(ValueError):
    """Bytes that violate the encoding or the JSON structure of a stream; the message contains the position."""


class ChunkStream(io.RawIOBase):
    """A stream over an iterator of byte strings."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._chunk = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer` and return the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        while len(view) and not len(self._chunk):
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._chunk = memoryview(chunk)
        count = min(len(view), len(self._chunk))
        view[:count] = self._chunk[:count]
        self._chunk = self._chunk[count:]
        return count


class PeekableStream(io.RawIOBase):
    """A stream with look-ahead that counts the bytes read.

    Parameters
    ----------
    raw : stream
        The rest of the stream.
    ahead : bytes
        Bytes that precede it.
    """

    def __init__(self, raw: ByteStream, ahead: bytes = b"") -> None:
        self._raw = raw
        self._ahead = ahead
        self.count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def peek(self, size: int = PEEK) -> bytes:
        """Return the next bytes without consuming them: at least `size`, or all that are left."""
        while len(self._ahead) < size and (chunk := self._raw.read(size - len(self._ahead))):
            self._ahead += chunk
        return self._ahead

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer` and return the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        if self._ahead and len(view):
            count = min(len(view), len(self._ahead))
            view[:count] = self._ahead[:count]
            self._ahead = self._ahead[count:]
        else:
            count = self._raw.readinto(view) or 0
        self.count += count
        return count


def decode_stream(raw: ByteStream, encoding: str) -> ChunkStream:
    """Return a stream of text in another encoding as a stream of UTF-8.

    Parameters
    ----------
    raw : stream
        Text in `encoding`.
    encoding : str
        Name as returned by `check_encoding`.

    Raises
    ------
    StreamError
        While reading, if the bytes are not valid in the encoding.
    """

    def chunks() -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
        position = 0
        while True:
            chunk = raw.read(_CHUNK) or b""
            try:
                yield decoder.decode(chunk, not chunk).encode()
            except UnicodeError as error:
                # The start is relative to a character that may have begun in an earlier chunk.
                at = position + max(getattr(error, "start", 0), 0)
                raise StreamError(f"is not {encoding} near byte {at}; give its encoding") from error
            if not chunk:
                return
            position += len(chunk)

    return ChunkStream(chunks())


def check_encoding(name: str | None) -> str:
    """Return the canonical name of a text encoding; empty for UTF-8, which is not converted.

    Parameters
    ----------
    name : str or None
        Name of a codec of Python.

    Raises
    ------
    ParameterError
        There is no text encoding of that name.
    """
    if name is None:
        return ""
    allowed = "the name of an encoding, such as latin-1, cp1252, utf-16 or gb18030"
    try:
        codec = codecs.lookup(name)
        "".encode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError, TypeError):
        raise bad_parameter("encoding", repr(name), allowed) from None
    return "" if codec.name in ("utf-8", "utf-8-sig", "ascii") else codec.name


def starts_json_array(head: bytes) -> bool:
    """Return True if the first bytes of JSON begin an array."""
    return head.removeprefix(BOM).lstrip(_SPACE).startswith(b"[")


def json_array_lines(raw: ByteStream) -> ChunkStream:
    """Return the elements of a JSON array in UTF-8 as JSON lines.

    Only brackets and commas outside of strings are interpreted (RFC 8259). Each value becomes one line as it is
    written, with its line ends replaced by spaces. The reader of lines checks its syntax.

    Raises
    ------
    StreamError
        While reading, if the array does not end or is followed by other bytes.
    """
    return ChunkStream(_split_array(raw))


def _split_array(raw: ByteStream) -> Iterator[bytes]:
    # The start of a string that continues in the next chunk, and the end of the array in its chunk.
    pending, depth, end = b"", 0, 0

    def convert(match: re.Match[bytes]) -> bytes:
        nonlocal pending, depth, end
        token = match[0]
        if end:
            return b""
        if token[:1] == b'"':
            if _is_complete(token):
                return token
            pending = token
            return b""
        if token in b"[{":
            depth += 1
            return b"" if depth == 1 else token
        if token in b"]}":
            depth -= 1
            end = 0 if depth else match.end()
            return token if depth else b"\n"
        if token == b",":
            return b"\n" if depth == 1 else token
        return b" "

    # A string longer than a chunk is read in chunks that double, so that each byte is scanned twice at most.
    while chunk := raw.read(max(_CHUNK, len(pending))):
        lines, rest = b"", chunk
        if not end:
            source, pending = pending + chunk, b""
            lines = _TOKENS.sub(convert, source)
            rest = source[end:] if end else b""
        if rest.strip(_SPACE):
            raise StreamError("has bytes after the end of its JSON array; give one array, or JSON lines")
        if len(pending) > _MAX_STRING:
            raise StreamError(f"has a string of more than {_MAX_STRING >> 20} MiB, or a quote that is never closed")
        yield lines
    if not end:
        raise StreamError("ends inside of its JSON array: it is cut off; fetch the file again")


def _is_complete(string: bytes) -> bool:
    """Return True if a JSON string ends with a quote that is not escaped."""
    body = string[1:-1]
    return len(string) > 1 and string.endswith(b'"') and (len(body) - len(body.rstrip(b"\\"))) % 2 == 0
