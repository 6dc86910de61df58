"""Compressed streams that are members one after another, as WARC has them: one for each record.

A member is held back until it is whole and its checksum is compared, so that a damaged one costs itself alone: a
damaged record stands for it, and reading goes on at the next place that may be the start of a member. A member of more
than 16 MiB is not held back, since it may be a whole file that was compressed as one: what follows damage there is
lost, and it is an error.

| compression | a member is | its start |
|---|---|---|
| gzip | a member (RFC 1952, section 2.2) | `1F 8B 08` |
| bzip2, xz | a stream | `BZh`, a digit, `1AY&SY`; `FD 37 7A 58 5A 00` |
| zstd | a frame (RFC 8878, section 3.1); its blocks say where it ends | `28 B5 2F FD` |

lz4 is read as one stream. Frames of zstd that need a dictionary can't be read.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from nearkin.io.decompress import PROGRAMS, XZ_MEMORY, decompressed
from nearkin.io.encoding import ByteStream
from nearkin.io.inputs import Compression

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["DAMAGE_FIELD", "MembersReader"]

DAMAGE_FIELD = b"Nearkin-Damage: "
"""The header field of a record that stands for a damaged member; its value says why."""
# Bytes of a member, decompressed, that are held back; pages are far below.
_HELD = 1 << 24
_CHUNK = 1 << 18
# What a start has at most.
_START_ROOM = 16


class _Member(Protocol):
    """A decompressor of one member, as `zlib` has them."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""

    @property
    def unused_data(self) -> bytes:
        """What came after its end."""

    @property
    def unconsumed_tail(self) -> bytes:
        """What has not been used yet of what came."""

    def decompress(self, data: bytes, most: int, /) -> bytes:
        """At most so many decompressed bytes; what was not used of `data` is `unconsumed_tail`."""


class _Buffering:
    """A decompressor that keeps what it has not used, as those of bzip2 and xz do."""

    unconsumed_tail = b""

    def __init__(self, member: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._member = member

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    @property
    def needs_input(self) -> bool:
        return self._member.needs_input

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._member.decompress(data, most)


class _LargeFrameError(Exception):
    """A frame that is not held back."""


class _Frame:
    """A frame of zstd, whose bytes are collected and then decompressed at once."""

    unconsumed_tail = b""

    def __init__(self) -> None:
        self._data = b""
        self.eof = False
        self.unused_data = b""

    def decompress(self, data: bytes, _most: int) -> bytes:
        self._data += data
        end = _end_of_frame(self._data)
        if end is None:
            if len(self._data) > _HELD:
                raise _LargeFrameError
            return b""
        found = b""
        if not self._data.startswith(_SKIPPED, 1):
            stream = decompressed(io.BytesIO(self._data[:end]), "zst")
            found = stream.read(_HELD + 1) or b""
            if len(found) > _HELD:
                raise _LargeFrameError
        self.eof, self.unused_data = True, self._data[end:]
        return found


# After the first byte, 50 to 5F, of a frame that holds no data.
_SKIPPED = b"\x2a\x4d\x18"
_MAGIC = b"\x28\xb5\x2f\xfd"
_LARGEST_BLOCK = 1 << 17


def _end_of_frame(data: bytes) -> int | None:
    """Where the frame of zstd ends that begins here; None if more bytes are needed to tell.

    Raises
    ------
    OSError
        It is no frame, or has a block of a type or size that no frame has.
    """
    if len(data) < 8:
        return None
    if data.startswith(_SKIPPED, 1) and 0x50 <= data[0] <= 0x5F:
        end = 8 + int.from_bytes(data[4:8], "little")
        return end if end <= len(data) else None
    if not data.startswith(_MAGIC):
        raise OSError("no frame of zstd begins here")
    descriptor = data[4]
    size, single, checksum = descriptor >> 6, descriptor >> 5 & 1, descriptor >> 2 & 1
    at = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[size]
    while at + 3 <= len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind = header & 1, header >> 1 & 3
        if kind == 3 or header >> 3 > _LARGEST_BLOCK:
            raise OSError("a block of zstd of a type or size that there is not")
        # A run of one byte has that byte.
        at += 3 + (1 if kind == 1 else header >> 3)
        if last:
            end = at + 4 * checksum
            return end if end <= len(data) else None
    return None


_KINDS: dict[Compression, tuple[Callable[[], _Member], re.Pattern[bytes]]] = {
    "gz": (lambda: zlib.decompressobj(wbits=31), re.compile(rb"\x1f\x8b\x08")),
    "bz2": (lambda: _Buffering(bz2.BZ2Decompressor()), re.compile(rb"BZh[1-9]1AY&SY")),
    "xz": (lambda: _Buffering(lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)), re.compile(rb"\xfd7zXZ\0")),
    "zst": (_Frame, re.compile(re.escape(_MAGIC))),
}
# What decompressors raise about bytes; zstd and bzip2 without an error number.
_DAMAGE = (zlib.error, lzma.LZMAError, OSError, EOFError)


class _Joined(io.RawIOBase):
    """Bytes that were read, and the rest of the stream that they are from."""

    def __init__(self, first: bytes, raw: ByteStream) -> None:
        self._first = memoryview(first)
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        if not len(self._first):
            return self._raw.readinto(view) or 0
        count = min(len(view), len(self._first))
        view[:count] = self._first[:count]
        self._first = self._first[count:]
        return count


class MembersReader(io.RawIOBase):
    """The decompressed bytes of a stream with a record per member; a damaged member becomes a damaged record.

    Parameters
    ----------
    raw : stream
        The compressed bytes.
    compression : {"gz", "bz2", "xz", "zst"}

    Raises
    ------
    EOFError
        The stream ends inside of a large member.
    OSError, zlib.error, lzma.LZMAError
        Damage inside of a large member.
    """

    def __init__(self, raw: ByteStream, compression: Compression) -> None:
        self._raw = raw
        self._compression = compression
        self._new, self._start = _KINDS[compression]
        self._waiting = b""
        self._ready = memoryview(b"")
        self._member: _Member | None = None
        self._rest: ByteStream | None = None

    @staticmethod
    def reads(compression: Compression) -> bool:
        """Whether streams of this compression can be read member by member."""
        return compression in _KINDS

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer`; the number of bytes, 0 at the end of the stream."""
        view = memoryview(buffer).cast("B")
        while len(view) and not len(self._ready):
            if self._rest is not None:
                return self._rest.readinto(view) or 0
            ready = self._next()
            if ready is None:
                return 0
            self._ready = memoryview(ready)
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _next(self) -> bytes | None:
        """More decompressed bytes, a whole member unless it is large; None at the end."""
        large, parts, size = self._member is not None, [], 0
        member = self._member or self._new()
        seen = [self._waiting]
        while True:
            if getattr(member, "needs_input", True) and not self._waiting:
                self._waiting = self._raw.read(_CHUNK) or b""
                seen.append(self._waiting)
                if not self._waiting:
                    early = EOFError(f"the {PROGRAMS[self._compression]} stream ends too early")
                    return self._damaged(early, seen, large=large) if large or any(seen) else None
            try:
                out = member.decompress(self._waiting, _CHUNK * 4)
            except _LargeFrameError:
                self._rest = decompressed(_Joined(b"".join(seen), self._raw), self._compression)
                return b""
            except _DAMAGE as error:
                return self._damaged(error, seen, large=large)
            parts.append(out)
            size += len(out)
            self._waiting = member.unconsumed_tail
            if member.eof:
                self._waiting = member.unused_data.lstrip(b"\0")
                self._member = None
                return b"".join(parts)
            if size > _HELD or large:
                self._member = member
                return b"".join(parts)

    def _damaged(self, error: Exception, seen: list[bytes], *, large: bool) -> bytes:
        """The record that stands for what is lost, up to the next member after the start of this one."""
        if large:
            raise error
        self._waiting = b"".join(seen)[1:]
        while (start := self._start.search(self._waiting)) is None:
            more = self._raw.read(_CHUNK)
            if not more:
                self._waiting = b""
                break
            self._waiting = self._waiting[-_START_ROOM:] + more
        self._waiting = self._waiting[0 if start is None else start.start() :]
        return b"\r\n\r\nWARC/0.0\r\n" + DAMAGE_FIELD + str(error).encode() + b"\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
