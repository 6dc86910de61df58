"""Compressed streams with one member per record, as in WARC: a damaged member costs only its own record.

A member is not returned until it is complete and its checksum is verified. A damaged member is replaced by a marker
record, and reading continues at the next bytes that may start a member. A member of more than 16 MiB is returned in
chunks, since it may be a complete file that was compressed as one member. Everything after damage in it is lost, which
is an error.

| compression | member | first bytes |
|---|---|---|
| gzip | member (RFC 1952, section 2.2) | `1F 8B 08` |
| bzip2, xz | stream | `BZh`, a digit, `1AY&SY`; `FD 37 7A 58 5A 00` |
| zstd | frame (RFC 8878, section 3.1), whose end follows from its block headers | `28 B5 2F FD` |

lz4 is read as one stream. zstd frames that need a dictionary cannot be read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

from nearkin.io.decompress import DAMAGE, MEMBERS, Decompressor, decompressed, truncated
from nearkin.io.encoding import ByteStream, ChunkStream, PeekableStream
from nearkin.io.inputs import Compression

__all__ = ["DAMAGE_FIELD", "decompress_records"]

DAMAGE_FIELD = b"Nearkin-Damage: "
"""Header field of the marker record for a damaged member; its value is the reason."""
# Decompressed bytes of a member that is returned only when complete; pages are far smaller.
_MAX_MEMBER = 1 << 24
_CHUNK = 1 << 18
# Maximum length of the first bytes of a member.
_MAX_START = 16


class _LargeFrameError(Exception):
    """The frame exceeds `_MAX_MEMBER`."""


class _ZstdFrame:
    """A decompressor that collects the bytes of a zstd frame and decompresses them at once."""

    def __init__(self) -> None:
        self._data = b""
        self.eof = False
        self.unused_data = b""

    def decompress(self, data: bytes, _max_length: int) -> bytes:
        self._data += data
        end = _find_frame_end(self._data)
        if end is None:
            if len(self._data) > _MAX_MEMBER:
                raise _LargeFrameError
            return b""
        content = b""
        if not self._data.startswith(_SKIPPABLE, 1):
            content = decompressed(io.BytesIO(self._data[:end]), "zst").read(_MAX_MEMBER + 1) or b""
            if len(content) > _MAX_MEMBER:
                raise _LargeFrameError
        self.eof, self.unused_data = True, self._data[end:]
        return content


# Skippable frames start with a byte from 50 to 5F and these bytes.
_SKIPPABLE = b"\x2a\x4d\x18"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_MAX_BLOCK = 1 << 17


def _find_frame_end(data: bytes) -> int | None:
    """Return the end of the zstd frame at the start of `data`; None if more bytes are needed.

    Raises
    ------
    OSError
        This is not a frame, or the type or size of a block is invalid.
    """
    if len(data) < 8:
        return None
    if data.startswith(_SKIPPABLE, 1) and 0x50 <= data[0] <= 0x5F:
        end = 8 + int.from_bytes(data[4:8], "little")
        return end if end <= len(data) else None
    if not data.startswith(_ZSTD_MAGIC):
        raise OSError("no zstd frame starts here")
    descriptor = data[4]
    size, single, checksum = descriptor >> 6, descriptor >> 5 & 1, descriptor >> 2 & 1
    at = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[size]
    while at + 3 <= len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind = header & 1, header >> 1 & 3
        if kind == 3 or header >> 3 > _MAX_BLOCK:
            raise OSError("a zstd block has an invalid type or size")
        # A run-length block contains a single byte.
        at += 3 + (1 if kind == 1 else header >> 3)
        if last:
            end = at + 4 * checksum
            return end if end <= len(data) else None
    return None


_KINDS: dict[Compression, tuple[Callable[[], Decompressor], re.Pattern[bytes]]] = {
    "gz": (MEMBERS["gz"], re.compile(rb"\x1f\x8b\x08")),
    "bz2": (MEMBERS["bz2"], re.compile(rb"BZh[1-9]1AY&SY")),
    "xz": (MEMBERS["xz"], re.compile(rb"\xfd7zXZ\0")),
    "zst": (_ZstdFrame, re.compile(re.escape(_ZSTD_MAGIC))),
}


def decompress_records(raw: ByteStream, compression: Compression) -> ByteStream:
    """Return the decompressed stream of a WARC file, in which a marker record replaces each damaged member.

    While it is read, it raises one of `nearkin.io.decompress.DAMAGE` for damage in a large member, and for all damage
    in compressions that are not read by member.

    Parameters
    ----------
    raw : stream
        Compressed bytes.
    compression : {"", "gz", "zst", "bz2", "xz", "lz4"}
        Compression of the stream.
    """
    if compression not in _KINDS:
        return decompressed(raw, compression)
    return ChunkStream(_iterate_members(raw, compression))


def _iterate_members(raw: ByteStream, compression: Compression) -> Iterator[bytes]:
    new, start = _KINDS[compression]
    data = b""
    while True:
        member, seen, chunks, size = new(), [data], [], 0
        try:
            while not member.eof:
                if not data and getattr(member, "needs_input", True):
                    data = raw.read(_CHUNK) or b""
                    if size <= _MAX_MEMBER:
                        seen.append(data)
                    if not data:
                        if not any(seen):
                            return
                        raise truncated(compression)
                chunks.append(member.decompress(data, 4 * _CHUNK))
                size += len(chunks[-1])
                data = getattr(member, "unconsumed_tail", b"")
                if size > _MAX_MEMBER:
                    yield from chunks
                    chunks = []
        except _LargeFrameError:
            rest = decompressed(PeekableStream(raw, b"".join(seen)), compression)
            while chunk := rest.read(_CHUNK):
                yield chunk
            return
        except DAMAGE as error:
            if size > _MAX_MEMBER or getattr(error, "errno", None) is not None:
                raise
            yield (
                b"\r\n\r\nWARC/0.0\r\n" + DAMAGE_FIELD + str(error).encode() + b"\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
            )
            data = _find_member(raw, b"".join(seen)[1:], start)
        else:
            yield b"".join(chunks)
            data = member.unused_data.lstrip(b"\0")


def _find_member(raw: ByteStream, data: bytes, start: re.Pattern[bytes]) -> bytes:
    """Skip bytes until a member may start, and return the bytes read from there; none at the end of the stream."""
    while (match := start.search(data)) is None:
        chunk = raw.read(_CHUNK)
        if not chunk:
            return b""
        data = data[-_MAX_START:] + chunk
    return data[match.start() :]
