"""Bytes in and out: files, gzip, zstd, pipes, and the spool that lets a stream be read twice.

A compressed stream is decompressed as it is read, a block at a time, so that memory does not grow with what it holds;
a stream that ends early, or has bytes that are not part of it, is an error. gzip (RFC 1952), bzip2 and xz are Python's,
zstd and lz4 (its frame format) are pyarrow's; several members follow one another as if they were one.

The spool (`io.spool`) holds the bytes of what can't be read again as it lies: compressed inputs, pipes, remote files,
other encodings, JSON arrays. It needs as much room in `spool_dir` as these have, decompressed.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Literal, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import read_spans
from nearkin.errors import InputError
from nearkin.io.encoding import ByteStream, DecodedStream, JsonRecordStream, PeekedStream, RecodeError, kind_of_json
from nearkin.io.inputs import Compression, FileStamp, InputFile, unreadable
from nearkin.io.tempspool import Spool

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Compressed bytes that are fetched at once, and the most that one call decompresses.
_CHUNK = 1 << 18

MAGIC: dict[bytes, Compression] = {
    b"\x1f\x8b": "gz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
}
"""What files of each compression begin with."""
PROGRAMS = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bzip2", "lz4": "lz4"}
"""What a compression is called."""
_ARROW = {"zst": "zstd", "lz4": "lz4"}
# xz asks for its dictionary, which a file may claim to be of 4 GiB; `xz -9` has 64 MiB.
XZ_MEMORY = 1 << 28
"""Bytes that a decompressor of xz may take."""


class GzipReader(io.RawIOBase):
    """The decompressed bytes of a gzip stream: `readinto` gives as many as are ready, 0 at the end.

    Raises
    ------
    EOFError
        The stream ends inside of a member.
    zlib.error
        Bytes that are not gzip, or that do not match their checksum.
    """

    def __init__(self, raw: ByteStream) -> None:
        self._raw = raw
        self._member: zlib._Decompress | None = None
        self._waiting = b""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer`; the number of bytes, 0 at the end of the stream."""
        view = memoryview(buffer).cast("B")
        if not len(view):
            return 0
        while True:
            if not self._waiting:
                self._waiting = self._raw.read(_CHUNK) or b""
            if self._member is None:
                if not self._waiting:
                    return 0
                self._member = zlib.decompressobj(wbits=31)
            ended = not self._waiting
            out = self._member.decompress(self._waiting, min(len(view), _CHUNK * 4))
            if self._member.eof:
                # Zero bytes may pad a member, as tape archives do.
                self._waiting = self._member.unused_data.lstrip(b"\0")
                self._member = None
            else:
                self._waiting = self._member.unconsumed_tail
                if ended and not out:
                    raise EOFError("the gzip stream ends too early")
            if out:
                view[: len(out)] = out
                return len(out)


class MemberReader(io.RawIOBase):
    """The decompressed bytes of a bzip2 or xz stream, as `GzipReader`.

    Raises
    ------
    EOFError
        The stream ends inside of a member.
    OSError, lzma.LZMAError
        Bytes that are not of this compression.
    """

    def __init__(self, raw: ByteStream, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> None:
        self._raw = raw
        self._new = new
        self._member: bz2.BZ2Decompressor | lzma.LZMADecompressor | None = None
        self._waiting = b""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the start of `buffer`; the number of bytes, 0 at the end of the stream."""
        view = memoryview(buffer).cast("B")
        while len(view):
            if self._member is None or self._member.needs_input:
                self._waiting = self._waiting or self._raw.read(_CHUNK) or b""
                if not self._waiting:
                    if self._member is not None:
                        raise EOFError("the compressed stream ends too early")
                    return 0
            if self._member is None:
                self._member = self._new()
            out = self._member.decompress(self._waiting, min(len(view), _CHUNK * 4))
            self._waiting = b""
            if self._member.eof:
                # xz pads its streams with zero bytes.
                self._waiting = self._member.unused_data.lstrip(b"\0")
                self._member = None
            if out:
                view[: len(out)] = out
                return len(out)
        return 0


def decompressed(raw: ByteStream, compression: Compression) -> ByteStream:
    """A stream with `readinto` over the decompressed bytes of `raw`."""
    if compression == "gz":
        return GzipReader(raw)
    if compression == "bz2":
        return MemberReader(raw, bz2.BZ2Decompressor)
    if compression == "xz":
        return MemberReader(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY))
    if compression:
        import pyarrow as pa

        stream: ByteStream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), _ARROW[compression])
        return stream
    return raw


class _Packer(Protocol):
    """A compressor of the standard library."""

    def compress(self, data: Buffer, /) -> bytes:
        """Bytes that are ready."""

    def flush(self) -> bytes:
        """The rest of them."""


# Levels are the programs' own. The gzip header (wbits 31) holds no name and no time.
_PACKERS: dict[str, Callable[[], _Packer]] = {
    "gz": lambda: zlib.compressobj(6, zlib.DEFLATED, 31),
    "bz2": bz2.BZ2Compressor,
    "xz": lzma.LZMACompressor,
}


class Compressor(io.RawIOBase):
    """Writes gzip, bzip2 or xz to `raw`. Closing it ends the stream and leaves `raw` open."""

    def __init__(self, raw: IO[bytes], compression: Compression) -> None:
        self._raw = raw
        self._member = _PACKERS[compression]()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Buffer) -> int:
        """Compress all of `data`."""
        self._raw.write(self._member.compress(data))
        return memoryview(data).nbytes

    def close(self) -> None:
        """End the stream."""
        if not self.closed:
            try:
                self._raw.write(self._member.flush())
            finally:
                super().close()

    def give_up(self) -> None:
        """Accept no more and leave the stream without its end."""
        super().close()


@contextmanager
def compressing(raw: IO[bytes], compression: Compression) -> Iterator[IO[bytes]]:
    """A stream whose bytes arrive in `raw` compressed; the stream is ended only if the block succeeds."""
    if compression in _PACKERS:
        stream = Compressor(raw, compression)
        try:
            yield stream  # type: ignore[misc]
        except BaseException:
            stream.give_up()
            raise
        stream.close()
    elif compression:
        import pyarrow as pa

        sink = Sink(raw)
        packed = pa.CompressedOutputStream(pa.PythonFile(sink, "w"), _ARROW[compression])
        try:
            yield packed
        except BaseException:
            sink.give_up()
            raise
        packed.close()
    else:
        yield raw


class Sink:
    """What pyarrow may write to: it counts where it is and never closes the stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream: IO[bytes] | None = stream
        self._at = 0
        self.closed = False

    def write(self, data: Buffer) -> int:
        """Write all of `data`."""
        view = memoryview(data)
        if self._stream is not None:
            self._stream.write(view)
        self._at += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Bytes written."""
        return self._at

    def flush(self) -> None:
        """Leave it to the stream's owner."""

    def close(self) -> None:
        """Accept no more; the stream stays open."""
        self.closed = True

    def give_up(self) -> None:
        """Drop what is written from now on: a compressed stream that is freed writes its end."""
        self._stream = None


# What readers raise about bytes. pyarrow and bzip2 report a damaged stream as an OSError without a number.
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, RecodeError, OSError)


class Reader:
    """The bytes of one source, decompressed, a block at a time, remembered in the spool where it can't be read twice.

    Parameters
    ----------
    source : InputFile
        What to read.
    spool : Spool
        Takes the bytes of what can't be read again as it lies.
    json : bool, default False
        Whether the bytes are JSON, whose arrays become lines.
    opener : function, default `decompressed`
        Makes the stream of decompressed bytes.

    Attributes
    ----------
    spooled_at : int or None
        Where the bytes begin in the spool; None for a file that is read again itself.
    stamp : FileStamp or None
        What the plain file was when it was opened.
    bytes_read : int
        Bytes taken from the source so far, compressed if it is.
    unit : {"line", "record"}
        What lines of the stream are: lines of the file, or records of a JSON array.
    """

    def __init__(
        self,
        source: InputFile,
        spool: Spool,
        *,
        json: bool = False,
        opener: Callable[[ByteStream, Compression], ByteStream] = decompressed,
    ) -> None:
        self._opener = opener
        self.source = source
        self.unit: Literal["line", "record"] = "line"
        self._json = json
        self._spool = spool
        self.stamp: FileStamp | None = None
        self.spooled_at: int | None = None
        self._counted: _Counted | None = None
        self._given = 0

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the source so far."""
        return 0 if self._counted is None else self._counted.count

    def __enter__(self) -> Reader:
        source = self.source
        self._raw = _opened(source)
        compression = source.compression
        counted = self._counted = _Counted(self._raw)
        if source.regular:
            self.stamp = FileStamp.of(os.fstat(self._raw.fileno()))
        elif not source.url or not compression:
            compression = counted.peek_compression()
        try:
            self._stream: ByteStream = self._recoded(self._opener(counted, compression))
        except BaseException:
            self._raw.close()
            raise
        if not source.plain or self.unit == "record":
            self.spooled_at = self._spool.size
        return self

    def _recoded(self, stream: ByteStream) -> ByteStream:
        """The stream in UTF-8, and in lines if it is JSON."""
        if self.source.encoding:
            stream = DecodedStream(stream, self.source.encoding)
        if not self._json:
            return stream
        peeked = PeekedStream(stream)
        try:
            kind = kind_of_json(peeked.peek())
        except _DAMAGE as error:
            self._refuse(error)
        if kind == "lines":
            return peeked
        self.unit = "record"
        return JsonRecordStream(peeked, array=kind == "array")

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def fill(self, view: memoryview) -> int:
        """Fill `view` as far as the source reaches; the number of bytes.

        Raises
        ------
        InputError
            A damaged or truncated compressed stream.
        """
        filled = 0
        while filled < len(view):
            count = self._step(view[filled:])
            if not count:
                break
            filled += count
            self._given += count
        if self.spooled_at is not None and filled:
            self._spool.write(view[:filled])
        return filled

    def _step(self, view: memoryview) -> int:
        try:
            return self._stream.readinto(view) or 0
        except _DAMAGE as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> NoReturn:
        """Raise what a user is told of an error in the stream."""
        if isinstance(error, RecodeError):
            raise unreadable(self.source.name, str(error)) from error
        if isinstance(error, OSError) and error.errno is not None:
            raise error
        before = f"after {self._given:,} bytes, decompressed" if self._given else "at its beginning"
        reason = f"the compressed stream is damaged or cut off {before} ({error}); fetch the file again"
        raise unreadable(self.source.name, reason) from error

    def check_unchanged(self) -> None:
        """Raise InputError when the plain file is no longer what it was when it was opened."""
        if self.stamp is not None:
            check_stamp(self.source, self.stamp, os.fstat(self._raw.fileno()))


def _opened(source: InputFile) -> io.RawIOBase:
    """The bytes of a source as they lie."""
    if source.url:
        from nearkin.io.remote import RemoteFile

        return RemoteFile(source.url)
    return os.fdopen(os.dup(0), "rb", 0) if source.path is None else source.path.open("rb", 0)


def check_stamp(source: InputFile, stamp: FileStamp, status: os.stat_result) -> None:
    """Raise InputError when `status` is not that of the file that `stamp` was taken of."""
    if stamp != FileStamp.of(status):
        raise unreadable(source.name, "the file changed while it was being read; run again when nothing writes to it")


class _Counted(io.RawIOBase):
    """Counts the bytes that are taken from a raw file, and may look at its first ones."""

    def __init__(self, raw: ByteStream) -> None:
        self._raw = raw
        self._ahead = b""
        self.count = 0

    def readable(self) -> bool:
        return True

    def peek_compression(self) -> Compression:
        while len(self._ahead) < 6 and (more := self._raw.read(6 - len(self._ahead))):
            self._ahead += more
        return next((kind for magic, kind in MAGIC.items() if self._ahead.startswith(magic)), "")

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        if self._ahead and len(view):
            count = min(len(view), len(self._ahead))
            view[:count] = self._ahead[:count]
            self._ahead = self._ahead[count:]
        else:
            count = self._raw.readinto(view) or 0
        self.count += count
        return count


def read_at(descriptor: int, starts: NDArray[np.int64], lengths: NDArray[np.uint32], source: str) -> NDArray[np.uint8]:
    """The bytes of an open file at ascending `starts`, back to back.

    Raises
    ------
    InputError
        The file is shorter than it was.
    """
    number = descriptor
    if sys.platform == "win32":
        import msvcrt

        number = msvcrt.get_osfhandle(descriptor)
    try:
        return read_spans(number, starts, lengths)
    except InputError as error:
        raise unreadable(source, f"{error.reason}; run again when nothing writes to it") from None
