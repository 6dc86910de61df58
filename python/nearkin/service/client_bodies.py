"""Documents as bodies of requests, in as few pieces as the limits of the service allow.

A piece is a batch of JSON, or an Arrow stream of many documents whose columns have one type each. For some hundred
texts both take the same time, most of which is the store's; vectors and bytes are sent as they lie in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from nearkin.errors import ServiceError
from nearkin.service.client_calls import ARROW, JSON, NDJSON
from nearkin.service.client_documents import Given
from nearkin.service.client_errors import service_error
from nearkin.store.records import Cell

if TYPE_CHECKING:
    import pyarrow as pa

ARROW_FROM = {"text": 256, "digest": 256, "bytes": 8, "vector": 8}
"""Documents from which an Arrow stream pays: of 256 texts it takes 21.1 ms beside 21.9 of JSON, of 1,000 65 beside 69,
of which the store takes 17 and 60 (a service on two cores that others use, loopback)."""
_RESERVED = ("id", "text", "digest", "bytes", "vector", "columns")
"""Names that columns of an Arrow stream can't have."""
_MOST_COLUMNS = 100
_SCHEMA = 16_384
"""Bytes that an Arrow stream has beside its values, at most, for each of its columns."""
_CELL = 16
"""Bytes of a cell in Arrow, beside its string."""
_INT64 = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True)
class Limits:
    """What the service takes: bytes of a body, documents of a batch."""

    body: int
    batch: int


@dataclass(frozen=True)
class Frame:
    """What stands before, between and behind values in a body."""

    head: bytes
    between: bytes = b","
    tail: bytes = b"]}"
    type: str = JSON


_LINES = Frame(b"", b"\n", b"\n", NDJSON)


@dataclass(frozen=True)
class Piece:
    """A part of a call: its body, the media type, the first document and how many there are."""

    body: bytes
    type: str
    first: int
    count: int


Form = Literal["any", "batch", "lines"]
"""What documents are sent as: what is fastest; a batch of JSON; or NDJSON."""


def pieces_of(given: Given, limits: Limits, url: str, *, form: Form = "any") -> Iterator[Piece]:
    """The bodies of documents, one after another; what can't be sent is refused before the first.

    Parameters
    ----------
    given : Given
    limits : Limits
    url : str
        The service, for messages.
    form : {"any", "batch", "lines"}, default "any"

    Raises
    ------
    ServiceError
        A document is larger than a body may be.
    """
    pays = given.count >= ARROW_FROM[given.field] or not given.count
    types = _arrow_types(given) if form == "any" and pays else None
    if types is not None:
        # What an Arrow stream holds beside the values must be little of it.
        room = limits.body - _SCHEMA * (2 + len(types))
        sizes = _arrow_sizes(given, list(types))
        if room > limits.body // 2 and max(sizes, default=0) <= room:
            for start, stop in _cut(sizes, room, limits.batch):
                yield Piece(_arrow_body(given, types, start, stop), ARROW, start, stop - start)
            return
    yield from _json_pieces(given, limits, url, lines=form == "lines")


def _json_pieces(given: Given, limits: Limits, url: str, *, lines: bool) -> Iterator[Piece]:
    frame = _LINES if lines else Frame(b'{"documents":[')
    if given.field == "bytes":
        # Files are read when they are sent.
        sizes = [4 * -(-size // 3) + _extra(given, row) for row, size in enumerate(given.sizes)]
        yield from _framed(sizes, partial(_documents, given), frame, limits, url)
        return
    encoded = _documents(given, 0, given.count)
    yield from _framed(list(map(len, encoded)), lambda start, stop: encoded[start:stop], frame, limits, url)


def listed_pieces(values: Sequence[Any], name: str, limits: Limits, url: str) -> Iterator[Piece]:
    """The bodies of `{name: [values]}`, JSON, such as ids or queries.

    Raises
    ------
    ServiceError
        A value is larger than a body may be.
    """
    encoded = [msgspec.json.encode(value) for value in values]
    frame = Frame(f'{{"{name}":['.encode())
    yield from _framed(list(map(len, encoded)), lambda start, stop: encoded[start:stop], frame, limits, url)


def _framed(
    sizes: list[int], take: Callable[[int, int], list[bytes]], frame: Frame, limits: Limits, url: str
) -> Iterator[Piece]:
    """Pieces of values in JSON; `take` gives those of places from a start to a stop."""
    room = limits.body - len(frame.head) - len(frame.tail)
    separated = [size + 1 for size in sizes]
    if separated and max(separated) > room:
        row = next(row for row, size in enumerate(separated) if size > room)
        raise _too_large(url, row, sizes[row], limits)
    for start, stop in _cut(separated, room, limits.batch):
        body = frame.head + frame.between.join(take(start, stop)) + frame.tail
        yield Piece(body, frame.type, start, stop - start)


def _too_large(url: str, row: int, size: int, limits: Limits) -> ServiceError:
    message = f"row {row} takes {size:,} bytes; the service takes bodies of up to {limits.body:,}"
    return service_error(url, message, slug="too-large", context={"place": f"row {row}"})


def _cut(sizes: Sequence[int], room: int, batch: int) -> Iterator[tuple[int, int]]:
    """From where to where pieces go, of at most `batch` values and `room` bytes; one piece of no values."""
    start, used = 0, 0
    for place, size in enumerate(sizes):
        if place - start == batch or used + size > room:
            yield start, place
            start, used = place, 0
        used += size
    if start < len(sizes) or not sizes:
        yield start, len(sizes)


def _documents(given: Given, start: int, stop: int) -> list[bytes]:
    """Documents as JSON objects."""
    values = given.take(start, stop)
    listed = values.tolist() if given.field == "vector" else values
    found = []
    for row, value in zip(range(start, stop), listed, strict=True):
        document: dict[str, Any] = {given.field: value}
        if given.ids is not None:
            document["id"] = given.ids[row]
        if given.columns is not None:
            document["columns"] = given.columns[row]
        found.append(msgspec.json.encode(document))
    return found


def _extra(given: Given, row: int) -> int:
    """Bytes of a document in JSON beside its value."""
    columns = b"" if given.columns is None else msgspec.json.encode(given.columns[row])
    own = b"" if given.ids is None else msgspec.json.encode(given.ids[row])
    return 64 + len(columns) + len(own)


def _arrow_types(given: Given) -> dict[str, str] | None:
    """The type of each column; None where Arrow can't hold them as they are."""
    found: dict[str, str] = {}
    names = list(given.columns[0]) if given.columns else []
    if len(names) > _MOST_COLUMNS or any(list(row) != names for row in given.columns or ()):
        return None
    for name in names:
        kinds = {_kind(row[name]) for row in given.columns or ()} - {"null"}
        if name in _RESERVED or len(kinds) != 1 or "other" in kinds:
            return None
        found[name] = kinds.pop()
    return found


def _kind(cell: Cell) -> str:
    """Arrow's name for the type of a cell."""
    if cell is None:
        return "null"
    if isinstance(cell, bool):
        return "bool"
    if isinstance(cell, int):
        return "int64" if cell in _INT64 else "other"
    return "float64" if isinstance(cell, float) else "string"


def _arrow_sizes(given: Given, names: list[str]) -> list[int]:
    """The bytes of each document in Arrow, at most."""
    sizes = [size + _CELL for size in given.sizes]
    if given.ids is not None:
        own = (len(name.encode()) if isinstance(name, str) else 0 for name in given.ids)
        sizes = [size + one + _CELL for size, one in zip(sizes, own, strict=True)]
    for name in names:
        cells = (row[name] for row in given.columns or ())
        lengths = (len(cell.encode()) if isinstance(cell, str) else 0 for cell in cells)
        sizes = [size + one + _CELL for size, one in zip(sizes, lengths, strict=True)]
    return sizes


def _arrow_body(given: Given, types: dict[str, str], start: int, stop: int) -> bytes:
    """Documents as an Arrow stream."""
    import pyarrow as pa

    arrays: dict[str, Any] = {given.field: _arrow_values(given, start, stop)}
    if given.ids is not None:
        own = given.ids[start:stop]
        arrays["id"] = pa.array(own, pa.string() if isinstance(own[0], str) else pa.int64())
    for name, kind in types.items():
        cells = [row[name] for row in (given.columns or [])[start:stop]]
        arrays[name] = pa.array(cells, pa.type_for_alias(kind))
    batch = pa.record_batch(arrays)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _arrow_values(given: Given, start: int, stop: int) -> pa.Array:
    """What is known of documents, as an Arrow array."""
    import pyarrow as pa

    values = given.take(start, stop)
    if given.field == "vector":
        flat = pa.array(values.reshape(-1), pa.float32())
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.array(values, pa.binary() if given.field == "bytes" else pa.string())
