"""Input bytes: decompressed, decoded, and spooled if they cannot be read twice.

A compressed stream is decompressed in chunks while it is read, so memory does not grow with its size. A stream that
ends too early, or is followed by other bytes, is an error. Python's standard library reads gzip (RFC 1952), bzip2 and
xz; pyarrow reads zstd and lz4 (frame format). Concatenated members form one stream.

A spool (`nearkin.io.tempspool`) stores the bytes that cannot be read again in place: compressed inputs, pipes, remote
files, other encodings and JSON arrays. It needs disk space in `spool_dir` for their decompressed bytes.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import struct
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from nearkin._core import num_threads, read_spans
from nearkin.errors import InputError
from nearkin.io.encoding import (
    ByteStream,
    ChunkStream,
    PeekableStream,
    StreamError,
    decode_stream,
    json_array_lines,
    starts_json_array,
)
from nearkin.io.inputs import Compression, FileStamp, InputFile, file_error
from nearkin.io.tempspool import Spool

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHANGED = "the file changed since it was read; run again when nothing writes to it"
"""Reason of errors of files that are read again."""
# Bytes that one thread compresses at once, and those before them that it may refer to.
_GZIP_BLOCK, _GZIP_WINDOW = 1 << 20, 1 << 15
# Compressed bytes per read; a quarter of the decompressed bytes per call.
_CHUNK = 1 << 18
# Compressed bytes that a member gets first.
_FIRST_PIECE = 512

MAGIC: dict[bytes, Compression] = {
    b"\x1f\x8b": "gz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
}
"""First bytes of files of each compression."""
PROGRAMS = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bzip2", "lz4": "lz4"}
"""Name of each compression in messages and in pyarrow."""
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)
"""Exceptions of decompressors; those of pyarrow and bzip2 are OSErrors without a number."""
# A file may request a dictionary of 4 GiB; `xz -9` needs 64 MiB.
_XZ_MEMORY = 1 << 28
_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "gz": lambda: zlib.decompressobj(wbits=31),
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY),
}
# Default levels of the programs.
_COMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "gz": lambda sink: _GzipWriter(sink),
    "bz2": lambda sink: bz2.BZ2File(sink, "wb"),
    "xz": lambda sink: lzma.LZMAFile(sink, "wb"),  # noqa: SIM115
}


def _decompress_members(raw: ByteStream, compression: Compression, max_members: int | None) -> Iterator[bytes]:
    """Iterate over the decompressed chunks of concatenated gzip, bzip2 or xz members.

    Decompressors of bz2 and lzma store input that they have not consumed, and say by `needs_input` when they need more.
    That of zlib returns it as `unconsumed_tail`. Each returns a copy of what follows its member, so a member begins
    with a small piece of input: a file of many members takes time linear in its size.
    """
    member, data, members, step = None, memoryview(b""), 0, 0
    while True:
        needs_input = getattr(member, "needs_input", True)
        if not data and needs_input:
            data = memoryview(raw.read(_CHUNK) or b"")
            if not data:
                if member is not None:
                    raise EOFError(f"the {PROGRAMS[compression]} stream ends too early")
                return
        if member is None:
            step = _FIRST_PIECE
            # Zero bytes may pad a member, in tape archives and in xz.
            while members and data and data[0] == 0:
                data = data[1:]
            if not data:
                continue
            members += 1
            if max_members is not None and members > max_members:
                raise EOFError(f"it has more than {max_members:,} members")
            member = _DECOMPRESSORS[compression]()
        piece = data[:step] if needs_input else b""
        chunk = member.decompress(piece, 4 * _CHUNK)
        rest = member.unused_data if member.eof else getattr(member, "unconsumed_tail", b"")
        data, step = data[len(piece) - len(rest) :], min(2 * step, _CHUNK)
        member = None if member.eof else member
        yield chunk


def decompressed(raw: ByteStream, compression: Compression, max_members: int | None = None) -> ByteStream:
    """Return a stream of the decompressed bytes of `raw`.

    While it is read, it raises EOFError, OSError, zlib.error or lzma.LZMAError for a stream that ends too early,
    contains bytes of another format, or has more members of gzip, bzip2 or xz than allowed.
    """
    if compression in _DECOMPRESSORS:
        return ChunkStream(_decompress_members(raw, compression, max_members))
    if compression:
        import pyarrow as pa

        stream: ByteStream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), PROGRAMS[compression])
        return stream
    return raw


@contextmanager
def compressing(raw: IO[bytes], compression: Compression) -> Iterator[IO[bytes]]:
    """Yield a stream that writes to `raw` compressed; if the block fails, the compressed stream is left incomplete."""
    if not compression:
        yield raw
        return
    sink = Sink(raw)
    if compression in _COMPRESSORS:
        stream = _COMPRESSORS[compression](sink)
    else:
        import pyarrow as pa

        stream = pa.CompressedOutputStream(pa.PythonFile(sink, "w"), PROGRAMS[compression])
    try:
        yield stream
    except BaseException:
        # A compressor writes the end of its stream when it is closed.
        sink.discard()
        stream.close()
        raise
    stream.close()


class _GzipWriter:
    """A stream that compresses blocks side by side into one member of gzip.

    Each block is primed with the end of the one before it and ends at a byte, so that the bytes do not depend on the
    number of threads, and are as few as those of one thread. The header contains no name and no time.

    Sources: RFC 1951, section 3.2.4; RFC 1952, section 2.3.
    """

    def __init__(self, sink: IO[bytes] | Sink) -> None:
        self._sink, self._buffer, self._window = sink, bytearray(), b""
        self._checksum, self._size = 0, 0
        self._threads = num_threads()
        self._pool: ThreadPoolExecutor | None = None
        self._blocks: deque[Future[bytes]] = deque()
        sink.write(b"\x1f\x8b\x08" + bytes(6) + b"\xff")

    def write(self, data: Buffer) -> int:
        """Compress `data`, maybe later."""
        view = memoryview(data)
        self._buffer += view
        while len(self._buffer) >= _GZIP_BLOCK:
            block = bytes(self._buffer[:_GZIP_BLOCK])
            del self._buffer[:_GZIP_BLOCK]
            if self._threads == 1:
                self._sink.write(_deflate(block, self._window, zlib.Z_SYNC_FLUSH))
            else:
                self._pool = self._pool or ThreadPoolExecutor(self._threads, "nearkin-gzip")
                self._blocks.append(self._pool.submit(_deflate, block, self._window, zlib.Z_SYNC_FLUSH))
            self._add(block)
            self._write_blocks(2 * self._threads)
        return view.nbytes

    def _add(self, block: bytes) -> None:
        self._checksum = zlib.crc32(block, self._checksum)
        self._size += len(block)
        self._window = block[-_GZIP_WINDOW:]

    def _write_blocks(self, most: int) -> None:
        """Write blocks in their order until at most `most` wait."""
        while len(self._blocks) > most:
            self._sink.write(self._blocks.popleft().result())

    def close(self) -> None:
        """Write what is left, and the end of the member."""
        try:
            self._write_blocks(0)
            block = bytes(self._buffer)
            self._sink.write(_deflate(block, self._window, zlib.Z_FINISH))
            self._add(block)
            self._sink.write(struct.pack("<LL", self._checksum, self._size & 0xFFFFFFFF))
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)


def _deflate(block: bytes, window: bytes, end: int) -> bytes:
    """Return the deflated block, which may refer to a window of bytes before it."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=window)
    return compressor.compress(block) + compressor.flush(end)


class Sink:
    """A file object for pyarrow that tracks its position and never closes the underlying stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream: IO[bytes] | None = stream
        self._position = 0
        self.closed = False

    def write(self, data: Buffer) -> int:
        """Write all of `data`."""
        view = memoryview(data)
        if self._stream is not None:
            self._stream.write(view)
        self._position += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._position

    def flush(self) -> None:
        """Do nothing; the owner of the stream flushes it."""

    def close(self) -> None:
        """Mark the sink as closed; the stream remains open."""
        self.closed = True

    def discard(self) -> None:
        """Ignore all further writes."""
        self._stream = None


class Reader:
    """A context that reads the decompressed and decoded bytes of one source, and spools them if necessary.

    Parameters
    ----------
    source : InputFile
        The file, pipe or URL.
    spool : Spool, optional
        Stores the bytes of sources that cannot be read again in place.
    json : bool, default False
        If True, JSON arrays become JSON lines.

    Attributes
    ----------
    spooled_at : int or None
        Position of the bytes in the spool; None for a file that can be read again itself.
    stamp : FileStamp or None
        Identity of the file when it was opened.
    bytes_read : int
        Bytes read from the source so far, before decompression.
    unit : {"line", "record"}
        "record" for JSON arrays, whose elements are counted instead of lines.
    """

    def __init__(self, source: InputFile, spool: Spool | None = None, *, json: bool = False) -> None:
        self.source = source
        self.unit: Literal["line", "record"] = "line"
        self.stamp: FileStamp | None = None
        self.spooled_at: int | None = None
        self._spool = spool
        self._json = json
        self._counter: PeekableStream | None = None
        self._bytes_returned = 0

    @property
    def bytes_read(self) -> int:
        """Bytes read from the source so far, before decompression."""
        return 0 if self._counter is None else self._counter.count

    def __enter__(self) -> Reader:
        source = self.source
        self._raw = _open_raw(source)
        counter = self._counter = PeekableStream(self._raw)
        compression = source.compression
        try:
            if source.regular:
                self.stamp = FileStamp.of(os.fstat(self._raw.fileno()))
            elif not source.url or not compression:
                head = counter.peek(6)
                compression = next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")
            self._stream = self._convert(decompressed(counter, compression))
        except BaseException:
            self._raw.close()
            raise
        if self._spool is not None and (not source.plain or self.unit == "record"):
            self.spooled_at = self._spool.size
        return self

    def _convert(self, stream: ByteStream) -> ByteStream:
        """Convert a stream to UTF-8, and JSON to lines."""
        if self.source.encoding:
            stream = decode_stream(stream, self.source.encoding)
        if not self._json:
            return stream
        peekable = PeekableStream(stream)
        try:
            is_array = starts_json_array(peekable.peek())
        except (*_DAMAGE, StreamError) as error:
            self._raise_damage(error)
        if not is_array:
            return peekable
        self.unit = "record"
        return json_array_lines(peekable)

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def fill(self, view: memoryview) -> int:
        """Fill `view` and return the number of bytes, which is smaller only at the end of the source.

        Raises
        ------
        InputError
            The compressed stream is damaged or truncated, or the bytes are not valid in the encoding.
        """
        filled = 0
        try:
            while filled < len(view) and (count := self._stream.readinto(view[filled:])):
                filled += count
                self._bytes_returned += count
        except (*_DAMAGE, StreamError) as error:
            self._raise_damage(error)
        if self.spooled_at is not None and self._spool is not None and filled:
            self._spool.write(view[:filled])
        return filled

    def chunks(self) -> Iterator[bytes]:
        """Iterate over all bytes in chunks."""
        size = self.stamp.size + 1 if self.stamp is not None and self.source.plain else _CHUNK
        buffer = memoryview(bytearray(min(size, _CHUNK)))
        while count := self.fill(buffer):
            yield bytes(buffer[:count])

    def _raise_damage(self, error: Exception) -> NoReturn:
        """Raise the InputError for an exception of the stream."""
        if isinstance(error, StreamError):
            raise file_error(self.source.name, str(error)) from error
        if isinstance(error, OSError) and error.errno is not None:
            raise error
        read = f"after {self._bytes_returned:,} bytes, decompressed" if self._bytes_returned else "at its beginning"
        reason = f"the compressed stream is damaged or cut off {read} ({error}); fetch the file again"
        raise file_error(self.source.name, reason) from error

    def check_unchanged(self) -> None:
        """Raise InputError if a plain file changed after it was opened."""
        if self.stamp is not None:
            check_stamp(self.source, self.stamp, os.fstat(self._raw.fileno()))


def _open_raw(source: InputFile) -> io.RawIOBase:
    """Open a source without decompressing it."""
    if source.url:
        from nearkin.io.remote import open_remote

        return open_remote(source.url)
    return os.fdopen(os.dup(0), "rb", 0) if source.path is None else source.path.open("rb", 0)


def check_stamp(source: InputFile, stamp: FileStamp | None, status: os.stat_result) -> None:
    """Raise InputError if a file is no longer the one whose stamp was taken."""
    if stamp is not None and stamp != FileStamp.of(status):
        raise file_error(source.name, "the file changed while it was being read; run again when nothing writes to it")


def read_at(descriptor: int, starts: NDArray[np.int64], lengths: NDArray[np.uint32], source: str) -> NDArray[np.uint8]:
    """Return the bytes of an open file at ascending `starts`, concatenated.

    Raises
    ------
    InputError
        The file is shorter than before.
    """
    number = descriptor
    if sys.platform == "win32":
        import msvcrt

        number = msvcrt.get_osfhandle(descriptor)
    try:
        return read_spans(number, starts, lengths)
    except InputError as error:
        raise file_error(source, f"{error.reason}; run again when nothing writes to it") from None
