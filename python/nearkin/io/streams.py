"""Bytes in and out: files, gzip, zstd, pipes, and the spool that lets a stream be read twice.

A compressed stream is decompressed as it is read, a block at a time, so that memory does not grow with what it holds;
a stream that ends early, or has bytes that are not part of it, is an error. gzip is zlib's (RFC 1952; several members
follow one another as if they were one); zstd is pyarrow's.

The spool is one temporary file without a name: the system frees it when the process ends, however it ends. It holds the
decompressed bytes of compressed inputs and of pipes, so it needs as much room in `spool_dir` as these have.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import read_spans
from nearkin.errors import InputError
from nearkin.io.inputs import Compression, FileStamp, InputFile, unreadable

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Compressed bytes that are fetched at once, and the most that one call decompresses.
_CHUNK = 1 << 18

_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}


class ByteStream(Protocol):
    """A source of bytes: an unbuffered file, or one of the readers here."""

    def read(self, size: int = -1, /) -> bytes | None:
        """At most `size` bytes; none at the end."""

    def readinto(self, buffer: Buffer, /) -> int | None:
        """Fill the start of `buffer`; the number of bytes, 0 at the end."""


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


def decompressed(raw: ByteStream, compression: Compression) -> ByteStream:
    """A stream with `readinto` over the decompressed bytes of `raw`."""
    if compression == "gz":
        return GzipReader(raw)
    if compression == "zst":
        import pyarrow as pa

        stream: ByteStream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
        return stream
    return raw


class Compressor(io.RawIOBase):
    """Writes gzip to `raw`. Closing it ends the stream and leaves `raw` open."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        # Level 6 is gzip's own; wbits 31 is the gzip format, whose header holds no name and no time.
        self._member = zlib.compressobj(6, zlib.DEFLATED, 31)

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
    if compression == "gz":
        stream = Compressor(raw)
        try:
            yield stream  # type: ignore[misc]
        except BaseException:
            stream.give_up()
            raise
        stream.close()
    elif compression == "zst":
        import pyarrow as pa

        sink = Sink(raw)
        packed = pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd")
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


class Spool:
    """A temporary file without a name, made when first written to.

    Parameters
    ----------
    folder : path or None
        Where it lies; the system's folder of temporary files if None.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = folder
        self._file: IO[bytes] | None = None
        self.size = 0

    def write(self, data: Buffer) -> None:
        """Append."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="nearkin-", buffering=0)  # noqa: SIM115
        view = memoryview(data).cast("B")
        if sys.platform == "win32":
            # Reading rows again moves the position there.
            self._file.seek(self.size)
        while len(view):
            written = self._file.write(view)
            self.size += written
            view = view[written:]

    def descriptor(self) -> int:
        """The open file's number."""
        if self._file is None:
            self.write(b"")
        return self._file.fileno()  # type: ignore[union-attr]

    def close(self) -> None:
        """Free the room that it takes."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.size = 0


class Reader:
    """The bytes of one source, decompressed, a block at a time, remembered in the spool where it can't be read twice.

    Parameters
    ----------
    source : InputFile
        What to read.
    spool : Spool
        Takes the bytes of a compressed source or pipe.

    Attributes
    ----------
    spooled_at : int or None
        Where the bytes begin in the spool; None for a plain file, which is read again itself.
    stamp : FileStamp or None
        What the plain file was when it was opened.
    bytes_read : int
        Bytes taken from the source, compressed if it is.
    """

    def __init__(self, source: InputFile, spool: Spool) -> None:
        self.source = source
        self._spool = spool
        self.stamp: FileStamp | None = None
        self.spooled_at: int | None = None
        self.bytes_read = 0

    def __enter__(self) -> Reader:
        source = self.source
        self._raw: io.FileIO = os.fdopen(os.dup(0), "rb", 0) if source.path is None else source.path.open("rb", 0)
        compression = source.compression
        self._counted = _Counted(self._raw)
        if source.regular:
            self.stamp = FileStamp.of(os.fstat(self._raw.fileno()))
        else:
            compression = self._counted.peek_compression()
        if not source.plain:
            self.spooled_at = self._spool.size
        self._stream: ByteStream = decompressed(self._counted, compression)
        return self

    def __exit__(self, *_: object) -> None:
        self.bytes_read = self._counted.count
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
        if self.spooled_at is not None and filled:
            self._spool.write(view[:filled])
        return filled

    def _step(self, view: memoryview) -> int:
        try:
            return self._stream.readinto(view) or 0
        except (EOFError, zlib.error) as error:
            raise self._damaged(error) from error
        except OSError as error:
            # pyarrow reports a damaged stream as an OSError without a number.
            if error.errno is None:
                raise self._damaged(error) from error
            raise

    def _damaged(self, error: Exception) -> Exception:
        return unreadable(
            self.source.name, f"the compressed stream is damaged or cut off ({error}); fetch the file again"
        )

    def check_unchanged(self) -> None:
        """Raise InputError when the plain file is no longer what it was when it was opened."""
        if self.stamp is not None:
            check_stamp(self.source, self.stamp, os.fstat(self._raw.fileno()))


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
        while len(self._ahead) < 4 and (more := self._raw.read(4 - len(self._ahead))):
            self._ahead += more
        return next((kind for magic, kind in _MAGIC.items() if self._ahead.startswith(magic)), "")

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
