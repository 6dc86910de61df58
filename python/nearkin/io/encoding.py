"""Streams that become what the readers of records take: other encodings become UTF-8, JSON arrays become JSON lines.

Both read a piece at a time, so memory does not grow with the input but for the longest string of JSON.
"""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, Protocol

from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from typing_extensions import Buffer


_PIECE = 1 << 18
# The start of a stream that is looked at to tell an array from lines.
_HEAD = 1 << 16
# The longest string that is held together, as the longest record.
_LONGEST = 1 << 28
_BOM = b"\xef\xbb\xbf"
ENCODING_REMEDY = "or give the encoding that it has, such as encoding='latin-1'"
"""What errors say beside that a file is not UTF-8."""
_SPACE = b" \t\r\n"

# A string; a string whose end has not been read; what separates values. Everything else is copied.
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|"[^"\\]*(?:\\.[^"\\]*)*\\?\Z|[][{},\r\n]', re.DOTALL)


class ByteStream(Protocol):
    """A source of bytes: an unbuffered file, or one of the readers here."""

    def read(self, size: int = -1, /) -> bytes | None:
        """At most `size` bytes; none at the end."""

    def readinto(self, buffer: Buffer, /) -> int | None:
        """Fill the start of `buffer`; the number of bytes, 0 at the end."""


class RecodeError(ValueError):
    """Bytes that are not what the stream should hold; the message says where."""


class PeekedStream(io.RawIOBase):
    """A stream whose first bytes can be looked at before they are read."""

    def __init__(self, raw: ByteStream) -> None:
        self._raw = raw
        self._ahead = b""

    def readable(self) -> bool:
        """True."""
        return True

    def peek(self, size: int = _HEAD) -> bytes:
        """The first bytes, `size` of them unless there are fewer."""
        buffer = bytearray(size)
        while len(self._ahead) < size and (count := self._raw.readinto(memoryview(buffer)[: size - len(self._ahead)])):
            self._ahead += buffer[:count]
        return self._ahead

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer`; the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        if not self._ahead:
            return self._raw.readinto(view) or 0
        count = min(len(view), len(self._ahead))
        view[:count] = self._ahead[:count]
        self._ahead = self._ahead[count:]
        return count


class _Recoded(io.RawIOBase):
    """A stream whose pieces are turned into others by `_turn`."""

    def __init__(self, raw: ByteStream) -> None:
        self._raw = raw
        self._ready = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        """True."""
        return True

    def _turn(self, piece: bytes, *, end: bool) -> bytes:
        raise NotImplementedError

    def _wanted(self) -> int:
        """How many bytes are read next."""
        return _PIECE

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer`; the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        while not len(self._ready) and not self._ended and len(view):
            piece = bytearray(self._wanted())
            count = self._raw.readinto(piece) or 0
            self._ended = not count
            self._ready = memoryview(self._turn(bytes(memoryview(piece)[:count]), end=self._ended))
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


class DecodedStream(_Recoded):
    """Text of another encoding as UTF-8.

    Parameters
    ----------
    raw : stream
        With `readinto`.
    encoding : str
        As `check_encoding` has returned it.

    Raises
    ------
    RecodeError
        Bytes that the encoding does not have.
    """

    def __init__(self, raw: ByteStream, encoding: str) -> None:
        super().__init__(raw)
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._read = 0

    def _turn(self, piece: bytes, *, end: bool) -> bytes:
        try:
            text = self._decoder.decode(piece, end)
            turned = text.encode()
        except UnicodeError as error:
            # Bytes of a character that earlier pieces began count as theirs.
            at = self._read + max(getattr(error, "start", 0), 0)
            raise RecodeError(f"is not {self._encoding} near byte {at}; give its encoding") from error
        self._read += len(piece)
        return turned


def check_encoding(name: str | None) -> str:
    """The canonical name of an encoding of text; empty for UTF-8, which is read as it is.

    Parameters
    ----------
    name : str or None
        As Python's codecs take it.

    Raises
    ------
    ParameterError
        No such encoding of text.
    """
    if name is None:
        return ""
    allowed = "the name of an encoding, such as latin-1, cp1252, utf-16 or gb18030"
    try:
        found = codecs.lookup(name)
        "".encode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError, TypeError):
        raise bad_parameter("encoding", repr(name), allowed) from None
    return "" if found.name in ("utf-8", "utf-8-sig", "ascii") else found.name


class JsonRecordStream(_Recoded):
    """The values of a JSON array, or values of several lines one after another, as JSON lines.

    Only brackets and commas outside of strings are looked at (RFC 8259): each value becomes one line as it is written,
    its line ends as spaces. Whether a line is a value is for the reader of lines to say.

    Parameters
    ----------
    raw : stream
        With `readinto`.
    array : bool
        Whether the values lie in one array.

    Raises
    ------
    RecodeError
        An array that does not end, or bytes after its end.
    """

    def __init__(self, raw: ByteStream, *, array: bool) -> None:
        super().__init__(raw)
        self._array = array
        self._depth = 0
        self._closed = False
        self._closed_at = 0
        self._rest = b""

    def _wanted(self) -> int:
        # A string that is longer than a piece is read in pieces that double, so that each byte is looked at twice.
        return max(_PIECE, len(self._rest))

    def _turn(self, piece: bytes, *, end: bool) -> bytes:
        source, self._rest = self._rest + piece, b""
        after = 0 if self._closed else None
        if after is None:
            turned = _TOKENS.sub(self._token, source)
            after = self._closed_at if self._closed else len(source)
        else:
            turned = b""
        if source[after:].strip(_SPACE):
            raise RecodeError("has bytes after the end of its JSON array; give one array, or JSON lines")
        if len(self._rest) > _LONGEST:
            raise RecodeError(f"has a string of more than {_LONGEST >> 20} MiB, or a quote that is never closed")
        if end and self._array and not self._closed:
            raise RecodeError("ends inside of its JSON array: it is cut off; fetch the file again")
        if end and self._rest:
            turned, self._rest = turned + self._rest, b""
        return turned

    def _token(self, match: re.Match[bytes]) -> bytes:
        if self._closed:
            return b""
        token = match[0]
        first = token[:1]
        if first == b'"':
            if len(token) > 1 and token.endswith(b'"') and match.end() <= len(match.string) and _closes(token):
                return token
            self._rest = token
            return b""
        if first in b"[{":
            self._depth += 1
            return b"" if self._array and self._depth == 1 else token
        if first in b"]}":
            self._depth -= 1
            if self._depth > 0:
                return token
            if self._array:
                self._closed, self._closed_at = True, match.end()
                return b"\n"
            self._depth = 0
            return token + b"\n"
        if first == b",":
            return b"\n" if self._array and self._depth == 1 else token
        return b" " if self._depth or self._array else b"\n"


def _closes(token: bytes) -> bool:
    """Whether the quote at a token's end ends its string: an even number of backslashes stands before it."""
    body = token[1:-1]
    return (len(body) - len(body.rstrip(b"\\"))) % 2 == 0


def kind_of_json(head: bytes) -> str:
    """What the start of a stream of JSON is: "array", "values" of several lines each, or "lines"."""
    start = head.removeprefix(_BOM).lstrip(_SPACE)
    if start.startswith(b"["):
        return "array"
    first, _, rest = start.partition(b"\n")
    # Behind a lone brace a name follows; a line that was cut off is followed by another record.
    return "values" if first.strip(_SPACE) == b"{" and rest.lstrip(_SPACE)[:1] in (b'"', b"}") else "lines"
