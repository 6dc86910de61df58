"""Arrow streams of strangers: read within limits, of types whose values are no larger than their buffers."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

from nearkin.service.errors import Problem, bad_request

_MOST_COLUMNS = 1000
_END = b"\xff\xff\xff\xff\0\0\0\0"
"""How a stream ends: a message of no length (since Arrow 0.15)."""


def read_table(data: bytes, most_rows: int, most_bytes: int) -> pa.Table:
    """The table of an Arrow IPC stream, fully validated; views of strings, which polars writes, are strings then.

    Raises
    ------
    Problem
        bad-request: no such stream, compressed buffers, a type that can be larger than it looks. too-large: more rows.
    """
    try:
        _refuse_compressed(data)
        source = pa.BufferReader(data)
        with pa.ipc.open_stream(source) as reader:
            _check_schema(reader.schema)
            batches, rows = [], 0
            for batch in reader:
                rows += batch.num_rows
                if rows > most_rows:
                    allowed = f"send at most {most_rows:,} at once"
                    raise Problem("too-large", f"{rows:,} rows and more; {allowed}", found=rows, allowed=allowed)
                batch.validate(full=True)
                batches.append(batch)
            if source.tell() != len(data) or not data.endswith(_END):
                raise bad_request("an Arrow stream without its end, or with more behind it", "send one whole stream")
            return _without_views(pa.Table.from_batches(batches, reader.schema), most_bytes)
    except (pa.ArrowException, OSError, ValueError, struct.error, EOFError, OverflowError) as error:
        reason = str(error).split("\n")[0][:200]
        raise bad_request(f"the body is no Arrow stream: {reason}", "send an Arrow IPC stream") from None


def _check_schema(schema: pa.Schema) -> None:
    if len(schema) > _MOST_COLUMNS:
        raise bad_request(f"{len(schema)} columns", f"send at most {_MOST_COLUMNS}")
    names = schema.names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise bad_request(f"two columns {twice!r}", "give each another name")
    for field in schema:
        if not _is_plain(field.type) and not pa.types.is_string_view(field.type):
            allowed = "use strings, numbers, booleans, binary or lists of numbers, without dictionaries"
            raise bad_request(f"column {field.name!r} of type {field.type}", allowed)


def _without_views(table: pa.Table, most_bytes: int) -> pa.Table:
    """The table with strings in the place of views; these may name one long value often, so lengths are added first.

    Source: Arrow columnar format, variable-size binary view layout: 16 bytes per value, the first four its length.
    """
    fields = [field for field in table.schema if pa.types.is_string_view(field.type)]
    size = 0
    for field in fields:
        for chunk in table.column(field.name).chunks:
            views = np.frombuffer(chunk.buffers()[1], "<i4", 4 * (chunk.offset + len(chunk)))
            size += int(views.reshape(-1, 4)[chunk.offset :, 0].astype(np.int64).clip(0).sum())
    if size > most_bytes:
        allowed = f"send at most {most_bytes:,} at once"
        raise Problem("too-large", f"{size:,} bytes of strings; {allowed}", found=size, allowed=allowed)
    for field in fields:
        place = table.schema.get_field_index(field.name)
        table = table.set_column(place, field.name, table.column(place).cast(pa.large_string()))
    return table


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    if is_list(kind):
        return bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))
    return is_cell(kind) or bool(types.is_binary(kind) or types.is_large_binary(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a column has lists."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_string(kind: pa.DataType) -> bool:
    """Whether a column has strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_cell(kind: pa.DataType) -> bool:
    """Whether a column has what a store keeps as a column of its documents."""
    types = pa.types
    tests = (
        is_string,
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_null,
    )
    return any(test(kind) for test in tests)


def _refuse_compressed(data: bytes) -> None:
    """Refuse record batches whose buffers are compressed: what they decompress to is known too late."""
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(data))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        if message.type == "record batch" and _has_compression(message.metadata.to_pybytes()):
            allowed = "send plain buffers; `Content-Encoding: zstd` compresses the whole body"
            raise bad_request("compressed buffers in the Arrow stream", allowed)


def _has_compression(metadata: bytes) -> bool:
    """Whether a record batch names a codec: the fourth field of the header table of a Message (flatbuffers).

    Source: Apache Arrow, Message.fbs: Message is version, header type, header, length; RecordBatch is length, nodes,
    buffers, compression.
    """
    message = struct.unpack_from("<I", metadata, 0)[0]
    header = _field(metadata, message, 2)
    if not header:
        return False
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return _field(metadata, batch, 3) != 0


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a table lies; 0 where it is absent."""
    places = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, places)[0]
    at = 4 + 2 * number
    if at + 2 > size:
        return 0
    offset = struct.unpack_from("<H", data, places + at)[0]
    return table + offset if offset else 0
