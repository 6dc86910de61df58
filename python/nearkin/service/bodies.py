"""Bodies of requests and responses: documents, queries, ids and results as JSON or Arrow.

A body is not trusted: lengths, rows and decompressed sizes are checked against the limits before anything is
allocated for them. Arrow streams may hold only types whose values are no larger than their buffers. Dictionaries and
compressed buffers are refused, because a few bytes of them can stand for gigabytes; string views are measured first.
"""

from __future__ import annotations

import base64
import binascii
import json
import string
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from nearkin.errors import require_extra, unique_members
from nearkin.index.fingerprints import from_hex
from nearkin.index.ids import Id, check_ids
from nearkin.service.errors import Problem, bad_request
from nearkin.service.models import (
    DocumentInput,
    DocumentOutput,
    DocumentsInput,
    IdsInput,
    MatchesOutput,
    MatchOutput,
    QueriesInput,
    QueryInput,
    encode,
)
from nearkin.service.settings import Limits
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.base import FileKind
from nearkin.store.results import CheckResult, StoredMatch

with require_extra("service", "a service"):
    import msgspec
    from msgspec import UNSET, Struct

T = TypeVar("T", bound=Struct)
Row = dict[str, Any] | Struct
"""A JSON object of a response."""

_FIELDS = {"text": ("text",), "file": ("digest", "bytes"), "vector": ("vector",)}
"""Members that can be the content of a document, by kind of store."""
_KINDS: dict[str, FileKind] = {"bytes": "bytes", "digest": "digests"}
_STRINGS, _BINARIES = {"string", "large_string"}, {"binary", "large_binary"}
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_FLOATS = {"halffloat", "float", "double"}
_CELLS = {*_STRINGS, *_INTEGERS, *_FLOATS, "bool", "null"}
"""Arrow types, by what a column of them can be."""
_MAX_COLUMNS = 1000
_UNCOUNTED = (b" :", b"\t:", b"\r:", b"\n:", b"\\u0022")
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""Last bytes of an Arrow stream: a message of length 0 (since Arrow 0.15)."""


@dataclass
class DocumentBatch:
    """Documents of one request, as a store takes them.

    Attributes
    ----------
    items : list or pyarrow.Array or (n, d) float32
    ids : list of Id, optional
    columns : list of dict, optional
    kind : "digests", "bytes" or None
    is_single : bool
        True if the request had one document instead of a batch.
    """

    items: Any
    ids: list[Id] | None = None
    columns: list[dict[str, Any]] | None = None
    kind: FileKind | None = None
    is_single: bool = False

    def __len__(self) -> int:
        return len(self.items)


@dataclass
class QueryBatch:
    """Queries of one request: values for `Store.search`, or texts for `Store.check`."""

    values: Any
    are_texts: bool
    is_single: bool = False


def check_batch(count: int, limits: Limits) -> None:
    """Raise too-large if a batch has too many items."""
    if count > limits.max_batch:
        allowed = f"send at most {limits.max_batch:,} at once"
        raise Problem("too-large", f"{count:,} items; {allowed}", found=count, allowed=allowed)


# JSON


def make_decoder(model: type[T]) -> Callable[[bytes], T]:
    """Return a function that decodes JSON of one model, and raises a bad-request for anything else."""
    decode = msgspec.json.Decoder(model).decode

    def read(data: bytes) -> T:
        try:
            body = decode(data)
            _refuse_repeated_members(data, body)
            return body
        except msgspec.ValidationError as error:
            reason, _, path = str(error).partition(" - at `$")
            allowed = "see /docs for the members of a request"
            if "unknown field" in reason:
                items = {".documents": DocumentInput, ".queries": QueryInput}
                names = next((item for prefix, item in items.items() if path.startswith(prefix)), model)
                allowed = f"use {', '.join(names.__struct_fields__)}"
            raise bad_request(reason, allowed, place=path.strip(".`") or None) from None
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            if data.startswith(b"\xef\xbb\xbf"):
                raise bad_request("a byte order mark", "send UTF-8 without it") from None
            raise bad_request(f"the body is not JSON: {error}", "send one JSON value in UTF-8") from None

    return read


def _refuse_repeated_members(data: bytes, body: Struct) -> None:
    """Raise a bad-request if an object has two members of one name; msgspec keeps the last.

    Encoded again, a body without them has the same number of `":`: one for each member, and those within strings.
    Otherwise, and with blanks before colons or escaped quotation marks, a slower parser decides.
    """
    if data.count(b'":') != encode(body).count(b'":') or any(sign in data for sign in _UNCOUNTED):
        try:
            json.loads(data, object_pairs_hook=unique_members)
        except ValueError as error:
            raise bad_request(str(error), "send each member once") from None


_decode_document = make_decoder(DocumentInput)
_decode_documents = make_decoder(DocumentsInput)
_decode_queries = make_decoder(QueriesInput)
_decode_ids = make_decoder(IdsInput)


def _present(item: Struct, names: Iterable[str]) -> list[str]:
    """Return the names of the members that an item has."""
    return [name for name in names if getattr(item, name) is not UNSET]


def documents_from_json(data: bytes, settings: StoreSettings, limits: Limits) -> DocumentBatch:
    """Decode a document, or a batch of documents."""
    body = _decode_documents(data)
    if body.documents is UNSET:
        documents = _documents_from_items([body], settings, None)
        documents.is_single = True
        return documents
    if _present(body, DocumentInput.__struct_fields__):
        raise bad_request("a document and `documents`", "send one document, or `documents` alone")
    check_batch(len(body.documents), limits)
    return _documents_from_items(body.documents, settings, "documents[{}]")


def documents_from_lines(
    lines: Sequence[bytes], settings: StoreSettings, place: str | None = "line {}"
) -> DocumentBatch:
    """Decode NDJSON as one batch; `place` is the format of line numbers in messages."""
    items: list[DocumentInput] = []
    try:
        for line in lines:
            if not line.strip():
                raise bad_request("an empty line", "send a document per line")
            items.append(_decode_document(line))
    except Problem as problem:
        problem.context["place"] = place and place.format(len(items) + 1)
        raise
    return _documents_from_items(items, settings, place, first=1)


def _documents_from_items(
    items: Sequence[DocumentInput], settings: StoreSettings, place: str | None, first: int = 0
) -> DocumentBatch:
    """Combine decoded documents into a batch; `place` is the format of their position in messages."""
    places = [place and place.format(number) for number in range(first, first + len(items))]
    fields = [_content_field(item, settings, place) for item, place in zip(items, places, strict=True)]
    field = fields[0] if fields else _FIELDS[settings.kind][0]
    if any(other != field for other in fields):
        raise bad_request("digests and bytes in one batch", "send either in a batch")
    values: Any = [getattr(item, field) for item in items]
    if field == "bytes":
        values = [_decode_base64(value, place) for value, place in zip(values, places, strict=True)]
    elif field == "vector":
        values = _vectors(values, settings)
    columns = None
    if any(item.columns is not UNSET for item in items):
        columns = [{} if item.columns is UNSET else item.columns for item in items]
    ids: list[Id] = [item.id for item in items if item.id is not UNSET]
    if ids and len(ids) < len(items):
        place = next(place for item, place in zip(items, places, strict=True) if item.id is UNSET)
        raise bad_request("some documents without an id", "send an id with every document, or with none", place=place)
    check_ids(ids)
    return DocumentBatch(values, ids if ids or not items else None, columns, _KINDS.get(field))


def _content_field(item: DocumentInput, settings: StoreSettings, place: str | None) -> str:
    """Return the member that is the content of a document; exactly one is allowed."""
    if settings.kind == "text" and item.text is not UNSET and item.digest is item.bytes is item.vector is UNSET:
        return "text"
    allowed_names, names = _FIELDS[settings.kind], _present(item, ("text", "digest", "bytes", "vector"))
    if len(names) == 1 and names[0] in allowed_names:
        return names[0]
    allowed = f"send `{'` or `'.join(allowed_names)}`: this is a store of {settings.kind}s"
    slug = "other-kind" if names and names[0] not in allowed_names else "bad-request"
    found = " and ".join(f"`{name}`" for name in names) or "a document without content"
    raise Problem(slug, f"{found}; {allowed}", found=found, allowed=allowed, place=place)


def _decode_base64(text: str, place: str | None) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise bad_request(f"`bytes` is not base64: {error}", "use the alphabet of RFC 4648", place=place) from None


def _vectors(rows: Sequence[Sequence[float]], settings: StoreSettings) -> Any:
    """Convert vectors of equal length to an array; without vectors it has the dimension of the store."""
    family: Any = settings.recipe
    widths = {len(row) for row in rows} or {family.dimension_}
    if len(widths) > 1:
        raise bad_request(f"vectors of {min(widths)} and {max(widths)} numbers", "send vectors of one length")
    return np.array(rows, np.float32).reshape(len(rows), widths.pop())


def queries_from_json(data: bytes, settings: StoreSettings, limits: Limits) -> QueryBatch:
    """Decode a query, or a batch of queries."""
    body, allowed = _decode_queries(data), _query_fields(settings)
    is_single = body.queries is UNSET
    items = [body] if body.queries is UNSET else body.queries
    if not is_single and _present(body, QueryInput.__struct_fields__):
        raise bad_request("a query and `queries`", "send one query, or `queries` alone")
    check_batch(len(items), limits)
    fields: set[str] = set()
    for item in items:
        names = _present(item, QueryInput.__struct_fields__)
        if len(names) != 1 or names[0] not in allowed:
            found = " and ".join(f"`{name}`" for name in names) or "an empty query"
            raise bad_request(found, f"search this store by `{'` or `'.join(allowed)}`")
        fields.update(names)
    if len(fields) > 1:
        raise bad_request(f"queries by {' and '.join(sorted(fields))}", "send queries of one kind at once")
    field = fields.pop() if fields else allowed[0]
    values = _query_values([getattr(item, field) for item in items], field, settings)
    return QueryBatch(values, field == "text", is_single)


def _query_fields(settings: StoreSettings) -> tuple[str, ...]:
    """Return the names of the values by which a store can be searched."""
    if settings.kind != "text":
        return ("digest",) if settings.kind == "file" else ("vector",)
    return ("signature", "text") if getattr(settings.recipe, "family", "") == "minhash" else ("fingerprint", "text")


def _query_values(values: list[Any], field: str, settings: StoreSettings) -> Any:
    """Convert the values of queries to what `Store.search` takes."""
    recipe: Any = settings.recipe
    if field == "vector":
        return _vectors(values, settings)
    if field == "fingerprint":
        digits = (recipe.bits + 3) // 4
        wrong = next((text for text in values if len(text) != digits or not set(text) <= set(string.hexdigits)), None)
        if wrong is not None:
            allowed = f"send {digits} hexadecimal digits: the fingerprints of the store have {recipe.bits} bits"
            raise bad_request(f"fingerprint {wrong[:40]!r}", allowed)
        return from_hex(values, recipe.bits)
    if field == "signature":
        try:
            return np.array(values, f"u{recipe.value_bits // 8}").reshape(len(values), -1)
        except (ValueError, OverflowError) as error:
            raise bad_request(f"an invalid signature: {error}", f"send {recipe.num_perm} values each") from None
    return values


def ids_from_json(data: bytes, limits: Limits) -> list[Id]:
    """Decode `{"id": x}` or `{"ids": [...]}`."""
    body = _decode_ids(data)
    if (body.id is UNSET) == (body.ids is UNSET):
        raise bad_request("no ids" if body.id is UNSET else "`id` and `ids`", "send `id` or `ids`")
    ids: Any = body.ids if body.id is UNSET else [body.id]
    check_batch(len(ids), limits)
    check_ids(ids)
    return list(ids)


# Arrow


def read_arrow(data: bytes, limits: Limits) -> pa.Table:
    """Read an Arrow IPC stream and validate it fully; string views, which polars writes, become strings."""
    try:
        _refuse_compressed_buffers(data)
        source = pa.BufferReader(data)
        with pa.ipc.open_stream(source) as reader:
            _check_schema(reader.schema)
            batches, rows = [], 0
            for batch in reader:
                rows += batch.num_rows
                check_batch(rows, limits)
                batch.validate(full=True)
                batches.append(batch)
            if source.tell() != len(data) or not data.endswith(_END_OF_STREAM):
                raise bad_request("a truncated Arrow stream, or more than one", "send one complete stream")
            return _cast_string_views(pa.Table.from_batches(batches, reader.schema), limits.max_body)
    except (pa.ArrowException, OSError, ValueError, struct.error, EOFError, OverflowError) as error:
        reason = str(error).split("\n")[0][:200]
        raise bad_request(f"the body is not an Arrow stream: {reason}", "send an Arrow IPC stream") from None


def _check_schema(schema: pa.Schema) -> None:
    names = schema.names
    if len(names) > _MAX_COLUMNS:
        raise bad_request(f"{len(names)} columns", f"send at most {_MAX_COLUMNS}")
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise bad_request(f"two columns {duplicate!r}", "give each column its own name")
    for field in schema:
        kind = field.type
        is_list_of_numbers = is_list(kind) and str(kind.value_type) in _INTEGERS | _FLOATS
        if str(kind) not in {*_CELLS, *_BINARIES, "string_view"} and not is_list_of_numbers:
            allowed = "use strings, numbers, booleans, binary or lists of numbers, without dictionaries"
            raise bad_request(f"column {field.name!r} of type {kind}", allowed)


def is_list(kind: pa.DataType) -> bool:
    """Return True for the type of a column of lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _cast_string_views(table: pa.Table, max_bytes: int) -> pa.Table:
    """Replace string views by strings; many views may share one long value, so their lengths are summed first.

    Source: Arrow columnar format, variable-size binary view layout: 16 bytes per value, the first four its length.
    """
    names = [field.name for field in table.schema if str(field.type) == "string_view"]
    size = 0
    for chunk in (chunk for name in names for chunk in table.column(name).chunks):
        views = np.frombuffer(chunk.buffers()[1], "<i4", 4 * (chunk.offset + len(chunk)))
        size += int(views.reshape(-1, 4)[chunk.offset :, 0].astype(np.int64).clip(0).sum())
    if size > max_bytes:
        allowed = f"send at most {max_bytes:,} at once"
        raise Problem("too-large", f"{size:,} bytes of strings; {allowed}", found=size, allowed=allowed)
    for name in names:
        column = table.column(name).cast(pa.large_string())
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _refuse_compressed_buffers(data: bytes) -> None:
    """Refuse record batches with compressed buffers: their decompressed size is known too late.

    The codec is the fourth field of the header of a Message (flatbuffers). Source: Apache Arrow, Message.fbs: Message
    is version, header type, header, length; RecordBatch is length, nodes, buffers, compression.
    """
    for message in iter(pa.ipc.MessageReader.open_stream(pa.py_buffer(data))):
        if message.type == "record batch":
            metadata = message.metadata.to_pybytes()
            header = _field_offset(metadata, struct.unpack_from("<I", metadata, 0)[0], 2)
            if header and _field_offset(metadata, header + struct.unpack_from("<I", metadata, header)[0], 3):
                allowed = "send plain buffers; `Content-Encoding: zstd` compresses the entire body"
                raise bad_request("compressed buffers in the Arrow stream", allowed)


def _field_offset(data: bytes, table: int, number: int) -> int:
    """Return the offset of a field of a flatbuffers table; 0 if it is absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    entry = 4 + 2 * number
    if entry + 2 > struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", data, vtable + entry)[0]
    return table + offset if offset else 0


def documents_from_arrow(data: bytes, settings: StoreSettings, limits: Limits) -> DocumentBatch:
    """Read the documents of an Arrow stream."""
    table = read_arrow(data, limits)
    names = [name for name in _FIELDS[settings.kind] if name in table.column_names]
    if len(names) != 1:
        allowed = f"send a column `{'` or `'.join(_FIELDS[settings.kind])}`: this is a store of {settings.kind}s"
        raise bad_request(_column_names(table), allowed)
    items = _arrow_contents(table.column(names[0]), names[0], settings)
    ids = _arrow_ids(table) if "id" in table.column_names else None
    columns = table.drop_columns([name for name in (*names, "id") if name in table.column_names])
    for field in columns.schema:
        if str(field.type) not in _CELLS:
            raise bad_request(f"column {field.name!r} of type {field.type}", "use strings, numbers or booleans")
    return DocumentBatch(items, ids, columns.to_pylist() if columns.num_columns else None, _KINDS.get(names[0]))


def _column_names(table: pa.Table) -> str:
    return f"columns {', '.join(map(repr, table.column_names[:20])) or 'none'}"


def _arrow_contents(column: pa.ChunkedArray, name: str, settings: StoreSettings) -> Any:
    """Return the contents of documents."""
    if name == "text":
        _check_type(column, name, _STRINGS)
        return column.combine_chunks()
    if name == "digest":
        _check_type(column, name, _STRINGS)
        return [value or "" for value in column.to_pylist()]
    _refuse_nulls(column, name)
    if name == "vector":
        return _arrow_vectors(column, settings)
    _check_type(column, name, _BINARIES)
    return column.to_pylist()


def _check_type(column: pa.ChunkedArray, name: str, allowed: set[str]) -> None:
    if str(column.type) not in allowed:
        raise bad_request(f"`{name}` of type {column.type}", f"use {' or '.join(sorted(allowed))}")


def _refuse_nulls(column: pa.ChunkedArray, name: str) -> None:
    if column.null_count:
        raise bad_request(f"{column.null_count} nulls in `{name}`", "fill in every row, or omit the column")


def _arrow_vectors(column: pa.ChunkedArray, settings: StoreSettings) -> Any:
    kind = column.type
    if not is_list(kind) or str(kind.value_type) not in _FLOATS:
        raise bad_request(f"`vector` of type {kind}", "use a list or fixed_size_list of floats")
    if not pa.types.is_fixed_size_list(kind):
        return _vectors(column.to_pylist(), settings)
    numbers = column.combine_chunks().flatten()
    if numbers.null_count:
        raise bad_request("nulls in vectors", "send every number")
    return numbers.to_numpy(zero_copy_only=False).astype(np.float32, copy=False).reshape(len(column), kind.list_size)


def _arrow_ids(table: pa.Table) -> list[Id]:
    column = table.column("id")
    _refuse_nulls(column, "id")
    _check_type(column, "id", _INTEGERS | _STRINGS)
    ids: list[Id] = column.to_pylist()
    check_ids(ids)
    return ids


def queries_from_arrow(data: bytes, settings: StoreSettings, limits: Limits) -> QueryBatch:
    """Read the queries of an Arrow stream of one column."""
    table, allowed = read_arrow(data, limits), _query_fields(settings)
    if len(table.column_names) != 1 or table.column_names[0] not in allowed:
        raise bad_request(_column_names(table), f"send one: this store is searched by `{'` or `'.join(allowed)}`")
    name, column = table.column_names[0], table.column(0)
    _refuse_nulls(column, name)
    if name == "vector":
        return QueryBatch(_arrow_vectors(column, settings), are_texts=False)
    if name == "signature" and not is_list(column.type):
        raise bad_request(f"`signature` of type {column.type}", "use lists of integers")
    if name != "signature":
        _check_type(column, name, _STRINGS)
    return QueryBatch(_query_values(column.to_pylist(), name, settings), name == "text")


def ids_from_arrow(data: bytes, limits: Limits) -> list[Id]:
    """Read the ids of an Arrow stream with a column `id`."""
    table = read_arrow(data, limits)
    if table.column_names != ["id"]:
        raise bad_request(_column_names(table), "send `id` alone")
    return _arrow_ids(table)


# Results


def own_ids(result: CheckResult, documents: DocumentBatch) -> list[Id] | None:
    """Return the ids of the documents themselves: those of the store, or of the request."""
    return documents.ids if result.own_ids is None else result.own_ids


def result_rows(result: CheckResult, documents: DocumentBatch) -> list[DocumentOutput]:
    """Return the result of each document; NaN becomes null when it is encoded."""
    count, ids, matches = len(result), own_ids(result, documents), result.matches
    rows = zip(
        [UNSET] * count if ids is None else ids,
        result.status,
        result.ids,
        result.distances.tolist(),
        result.similarities.tolist(),
        [UNSET] * count if matches is None else map(match_outputs, matches),
        *([UNSET] * count if values is None else values.tolist() for values in (result.copies, result.better)),
        strict=True,
    )
    names = ("id", "status", "match", "distance", "similarity", "matches", "copies", "better")
    return [DocumentOutput(**dict(zip(names, row, strict=True))) for row in rows]


def match_outputs(matches: Iterable[StoredMatch]) -> list[MatchOutput]:
    """Convert matches; NaN becomes null when they are encoded."""
    return [MatchOutput(match.id, match.distance, match.similarity, match.columns) for match in matches]


def matches_rows(results: Iterable[Iterable[StoredMatch]]) -> list[MatchesOutput]:
    """Return the matches of each query."""
    return [MatchesOutput(match_outputs(matches)) for matches in results]


def result_to_arrow(result: CheckResult, documents: DocumentBatch) -> bytes:
    """Return an Arrow stream with the columns id (if there are ids), status, match, distance, similarity, and copies
    and better if they were asked for.
    """
    ids = own_ids(result, documents)
    columns: dict[str, Any] = {} if ids is None else {"id": pa.array(ids)}
    columns |= {
        "status": pa.array(result.status, pa.string()),
        "match": _id_array(result.ids),
        "distance": pa.array(result.distances),
        "similarity": pa.array(result.similarities),
        **({} if result.copies is None else {"copies": pa.array(result.copies)}),
        **({} if result.better is None else {"better": pa.array(result.better)}),
    }
    return write_arrow(pa.table(columns).replace_schema_metadata({"verified": result.verified}))


def matches_to_arrow(results: Sequence[Sequence[StoredMatch]]) -> bytes:
    """Return an Arrow stream with a row per match: number of its query, id, distance, similarity, columns as JSON."""
    rows = [(number, match) for number, matches in enumerate(results) for match in matches]
    columns = {
        "query": pa.array([number for number, _ in rows], pa.int64()),
        "id": _id_array([match.id for _, match in rows]),
        "distance": pa.array([float(match.distance) for _, match in rows], pa.float64()),
        "similarity": pa.array([match.similarity for _, match in rows], pa.float64()),
        "columns": pa.array([encode(match.columns).decode() for _, match in rows], pa.string()),
    }
    return write_arrow(pa.table(columns))


def _id_array(ids: Sequence[Id | None]) -> pa.Array:
    is_integer = isinstance(next((id for id in ids if id is not None), None), int)
    return pa.array(ids, pa.int64() if is_integer else pa.string())


def write_arrow(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data
