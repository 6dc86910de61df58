"""What requests send: documents, queries and ids, as JSON, NDJSON or Arrow.

Nothing that a body declares is believed before it is held against the limits: lengths, rows, decompressed bytes. Of
Arrow only types are taken whose values are no larger than their buffers; dictionaries and views could name one long
value a million times.
"""

from __future__ import annotations

import base64
import binascii
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, Meta, Struct, UnsetType

from nearkin.errors import InputError, NearkinError, ParameterError
from nearkin.index.fingerprints import from_hex
from nearkin.index.ids import Id, check_ids
from nearkin.service.arrow import is_cell, is_list, is_string, read_table
from nearkin.service.errors import Problem, bad_request, problem_of
from nearkin.service.settings import Limits
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.base import FileKind
from nearkin.store.records import Cell

JSON, NDJSON, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"

_Int = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_Id = _Int | str
_FIELDS = {"text": ("text",), "file": ("digest", "bytes"), "vector": ("vector",)}
"""What stands for a document, by what a store holds."""


class Item(Struct, forbid_unknown_fields=True):
    """A document as JSON."""

    id: _Id | UnsetType = UNSET
    text: str | UnsetType | None = UNSET
    columns: dict[str, bool | int | float | str | None] | UnsetType = UNSET
    digest: str | UnsetType = UNSET
    bytes: str | UnsetType = UNSET
    vector: list[float] | UnsetType = UNSET


class ItemOrBatch(Item, forbid_unknown_fields=True):
    """A document, or `documents`."""

    documents: list[Item] | UnsetType = UNSET


class Query(Struct, forbid_unknown_fields=True):
    """What is searched for."""

    fingerprint: str | UnsetType = UNSET
    signature: list[Annotated[int, Meta(ge=0)]] | UnsetType = UNSET
    digest: str | UnsetType = UNSET
    vector: list[float] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class QueryOrBatch(Query, forbid_unknown_fields=True):
    """A query, or `queries`."""

    queries: list[Query] | UnsetType = UNSET


class IdOrIds(Struct, forbid_unknown_fields=True):
    """An id, or `ids`."""

    id: _Id | UnsetType = UNSET
    ids: list[_Id] | UnsetType = UNSET


class BackupName(Struct, forbid_unknown_fields=True):
    """What a backup is to be called."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


@dataclass
class Documents:
    """Documents of one request, as a store takes them.

    Attributes
    ----------
    items : list or pyarrow.Array or (n, d) float32
    ids : list of Id or (n,) int64, optional
    columns : list of dict, or mapping of str to list; optional
    kind : "digests", "bytes" or None
    single : bool
        Whether one document was sent, and no batch.
    """

    items: Any
    ids: Any = None
    columns: Any = None
    kind: FileKind | None = None
    single: bool = False

    def __len__(self) -> int:
        return len(self.items)

    def has_column(self, name: str) -> bool:
        """Whether a document has a column of this name."""
        if isinstance(self.columns, dict):
            return name in self.columns
        return any(name in cells for cells in self.columns or ())

    def part(self, number: int) -> Documents:
        """One of them alone."""
        some = slice(number, number + 1)
        columns = self.columns
        if isinstance(columns, dict):
            columns = {name: values[some] for name, values in columns.items()}
        elif columns is not None:
            columns = columns[some]
        return Documents(self.items[some], None if self.ids is None else self.ids[some], columns, self.kind)


def decoder(kind: type[Any]) -> Callable[[bytes], Any]:
    """A function that reads JSON of one shape.

    Raises
    ------
    Problem
        bad-request: no JSON, or JSON of another shape.
    """
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes) -> Any:
        try:
            return decode(data)
        except msgspec.ValidationError as error:
            reason, _, place = str(error).partition(" - at `")
            allowed = "see /docs for what is allowed"
            if "unknown field" in reason:
                inner = Item if place.startswith("$.documents") else Query if place.startswith("$.queries") else kind
                allowed = f"use {', '.join(field.name for field in msgspec.structs.fields(inner))}"
            raise bad_request(reason, allowed, place=_place(place)) from None
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            if data.startswith(b"\xef\xbb\xbf"):
                raise bad_request("a byte order mark", "send UTF-8 without it") from None
            raise bad_request(f"the body is no JSON: {error}", "send one JSON value in UTF-8") from None

    return read


read_item = decoder(Item)
_read_items = decoder(ItemOrBatch)
_read_query = decoder(Query)
_read_queries = decoder(QueryOrBatch)
_read_ids = decoder(IdOrIds)
read_backup_name = decoder(BackupName)


def _place(path: str) -> str | None:
    """Where in a body, without the marks of a JSON path."""
    return path.rstrip("`").removeprefix("$").removeprefix(".") or None


def documents_of_json(data: bytes, settings: StoreSettings, limits: Limits) -> Documents:
    """The document, or the batch of documents, of a JSON body.

    Raises
    ------
    Problem
        bad-request or too-large.
    """
    found: ItemOrBatch = _read_items(data)
    if found.documents is UNSET:
        if settings.noun == "text" and found.text is not UNSET and not _given(found, ("digest", "bytes", "vector")):
            return _one_text(found)
        documents = documents_of([found], settings, places=None)
        documents.single = True
        return documents
    if _given(found, ("id", "text", "columns", "digest", "bytes", "vector")):
        raise bad_request("a document beside `documents`", "send one document, or `documents` alone")
    check_batch(len(found.documents), limits)
    return documents_of(found.documents, settings, places="documents[{}]")


def _one_text(item: Item) -> Documents:
    """A single text, which most requests have: as `documents_of`, in a third of the time."""
    ids = None
    if item.id is not UNSET:
        if isinstance(item.id, str):
            checked_ids([item.id])
        ids = [item.id]
    return Documents([item.text], ids, None if item.columns is UNSET else [item.columns], single=True)


def check_batch(count: int, limits: Limits) -> None:
    """Refuse a batch of too many documents."""
    if count > limits.batch:
        allowed = f"send at most {limits.batch:,} at once"
        raise Problem("too-large", f"{count:,} documents; {allowed}", found=count, allowed=allowed)


def _given(item: Struct, names: Sequence[str]) -> list[str]:
    return [name for name in names if getattr(item, name) is not UNSET]


def documents_of(items: Sequence[Item], settings: StoreSettings, places: str | None) -> Documents:
    """Documents of decoded ones; `places` names each in errors.

    Raises
    ------
    Problem
        bad-request; other-kind for what the store does not hold.
    """
    fields = [one_field(item, settings, places and places.format(number)) for number, item in enumerate(items)]
    names = set(fields)
    if len(names) > 1:
        raise bad_request("digests and bytes in one batch", "send either in a batch")
    name = fields[0] if fields else _FIELDS[settings.noun][0]
    values: Any = [getattr(item, name) for item in items]
    kind: FileKind | None = None
    if name == "bytes":
        kind, values = "bytes", [_unpacked(value, places and places.format(at)) for at, value in enumerate(values)]
    elif name == "digest":
        kind = "digests"
    elif name == "vector":
        values = vectors_of(values)
    return Documents(values, _ids(items, places), _columns(items), kind)


def one_field(item: Item, settings: StoreSettings, place: str | None) -> str:
    """Which field stands for a document.

    Raises
    ------
    Problem
        None, several, or that of another kind of store.
    """
    names, given = _FIELDS[settings.noun], _given(item, ("text", "digest", "bytes", "vector"))
    if len(given) == 1 and given[0] in names:
        return given[0]
    allowed = f"give `{'` or `'.join(names)}`: the store holds {settings.noun}s"
    slug = "other-kind" if given and given[0] not in names else "bad-request"
    found = " and ".join(f"`{name}`" for name in given) or "nothing to compare"
    raise Problem(slug, f"{found}; {allowed}", found=found, allowed=allowed, place=place)


def _unpacked(text: str, place: str | None) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise bad_request(f"`bytes` is no base64: {error}", "use the alphabet of RFC 4648", place=place) from None


def vectors_of(rows: Sequence[Sequence[float]]) -> Any:
    """Vectors of equal length as an array.

    Raises
    ------
    Problem
        They differ in length.
    """
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise bad_request(f"vectors of {min(widths)} and {max(widths)} numbers", "send vectors of one length")
    return np.array(rows, np.float32).reshape(len(rows), widths.pop() if widths else 0)


def _ids(items: Sequence[Item], places: str | None) -> list[Id] | None:
    if not items:
        return []
    ids = [item.id for item in items]
    without = sum(one is UNSET for one in ids)
    if without == len(ids):
        return None
    if without:
        place = places.format(next(at for at, one in enumerate(ids) if one is UNSET)) if places else None
        raise bad_request("some documents without an id", "give all of a request an id, or none", place=place)
    found = [one for one in ids if one is not UNSET]
    checked_ids(found)
    return found


def checked_ids(ids: Sequence[Id]) -> None:
    """Refuse ids of two kinds, and strings that are no text.

    Raises
    ------
    Problem
    """
    try:
        check_ids(ids)
    except ParameterError as error:
        raise problem_of(error) from None


def _columns(items: Sequence[Item]) -> list[dict[str, Cell]] | None:
    if all(item.columns is UNSET for item in items):
        return None
    return [{} if item.columns is UNSET else item.columns for item in items]


# Arrow


def documents_of_arrow(data: bytes, settings: StoreSettings, limits: Limits) -> Documents:
    """The documents of an Arrow stream.

    Raises
    ------
    Problem
        bad-request or too-large.
    """
    table = read_table(data, limits.batch, limits.body)
    names = [name for name in _FIELDS[settings.noun] if name in table.column_names]
    if len(names) != 1:
        allowed = f"give a column `{'` or `'.join(_FIELDS[settings.noun])}`: the store holds {settings.noun}s"
        raise bad_request(f"columns {', '.join(map(repr, table.column_names[:20])) or 'none'}", allowed)
    name = names[0]
    values, kind = _arrow_values(table.column(name), name)
    ids: Any = None
    if "id" in table.column_names:
        ids = _arrow_ids(table.column("id"))
    others = [other for other in table.column_names if other not in (name, "id")]
    for other in others:
        if not is_cell(table.column(other).type):
            raise bad_request(
                f"column {other!r} of type {table.column(other).type}", "use strings, numbers or booleans"
            )
    columns = {other: table.column(other).to_pylist() for other in others}
    return Documents(values, ids, columns or None, kind)


def _arrow_values(column: pa.ChunkedArray, name: str) -> tuple[Any, FileKind | None]:
    kind = column.type
    if name in ("text", "digest"):
        if not is_string(kind):
            raise bad_request(f"`{name}` of type {kind}", "use string or large_string")
        array = column.combine_chunks()
        if name == "text":
            return array, None
        return [value or "" for value in array.to_pylist()], "digests"
    if column.null_count:
        raise bad_request(f"{column.null_count} nulls in `{name}`", "give every document a value")
    if name == "bytes":
        if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
            raise bad_request(f"`bytes` of type {kind}", "use binary or large_binary")
        return column.to_pylist(), "bytes"
    return _arrow_vectors(column), None


def _arrow_vectors(column: pa.ChunkedArray) -> Any:
    kind = column.type
    if not is_list(kind) or not pa.types.is_floating(kind.value_type):
        raise bad_request(f"`vector` of type {kind}", "use a list or fixed_size_list of floats")
    if not pa.types.is_fixed_size_list(kind):
        return vectors_of(column.to_pylist())
    flat = column.combine_chunks().flatten()
    if flat.null_count:
        raise bad_request("nulls in vectors", "give every number")
    return flat.to_numpy(zero_copy_only=False).astype(np.float32, copy=False).reshape(len(column), kind.list_size)


def _arrow_ids(column: pa.ChunkedArray) -> Any:
    kind = column.type
    if column.null_count:
        raise bad_request(f"{column.null_count} nulls in `id`", "give every document an id, or leave the column out")
    if pa.types.is_integer(kind) or is_string(kind):
        found: list[Id] = column.to_pylist()
        checked_ids(found)
        return found
    raise bad_request(f"`id` of type {kind}", "use integers or strings")


# Queries and ids


@dataclass
class Queries:
    """What is searched for: values for `Store.search`, or texts for `Store.check`."""

    values: Any
    texts: bool
    single: bool

    def __len__(self) -> int:
        return len(self.values)


def queries_of_json(data: bytes, settings: StoreSettings, limits: Limits) -> Queries:
    """The query, or the batch of queries, of a JSON body.

    Raises
    ------
    Problem
        bad-request, other-kind or too-large.
    """
    found: QueryOrBatch = _read_queries(data)
    single = found.queries is UNSET
    if not single and _given(found, ("fingerprint", "signature", "digest", "vector", "text")):
        raise bad_request("a query beside `queries`", "send one query, or `queries` alone")
    items: Sequence[Query] = [found] if found.queries is UNSET else found.queries
    check_batch(len(items), limits)
    return queries_of(items, settings, single=single)


def query_of_line(data: bytes, settings: StoreSettings) -> Queries:
    """The query of a line of NDJSON."""
    return queries_of([_read_query(data)], settings, single=True)


def queries_of(items: Sequence[Query], settings: StoreSettings, *, single: bool) -> Queries:
    """Queries of decoded ones."""
    allowed = _searched_by(settings)
    for item in items:
        given = _given(item, ("fingerprint", "signature", "digest", "vector", "text"))
        if len(given) != 1 or given[0] not in allowed:
            found = " and ".join(f"`{name}`" for name in given) or "nothing to search for"
            raise bad_request(found, f"this store is searched by `{'` or `'.join(allowed)}`")
    names = {_given(item, allowed)[0] for item in items}
    if len(names) > 1:
        raise bad_request(f"queries by {' and '.join(sorted(names))}", "send queries of one kind at once")
    name = names.pop() if names else allowed[0]
    raw: list[Any] = [getattr(item, name) for item in items]
    return Queries(_query_values(raw, name, settings), name == "text", single)


def _check_digits(texts: Sequence[str], bits: int) -> None:
    """Refuse fingerprints of another width, which padding would make others."""
    digits = (bits + 3) // 4
    wrong = next((text for text in texts if len(text) != digits or not set(text) <= set(string.hexdigits)), None)
    if wrong is not None:
        allowed = f"give {digits} hexadecimal digits: the store's fingerprints have {bits} bits"
        raise bad_request(f"fingerprint {wrong[:40]!r}", allowed)


def _searched_by(settings: StoreSettings) -> tuple[str, ...]:
    if settings.noun == "file":
        return ("digest",)
    if settings.noun == "vector":
        return ("vector",)
    return ("signature", "text") if getattr(settings.recipe, "family", "") == "minhash" else ("fingerprint", "text")


def _query_values(raw: list[Any], name: str, settings: StoreSettings) -> Any:
    if name == "vector":
        return vectors_of(raw)
    recipe: Any = settings.recipe
    try:
        if name == "fingerprint":
            _check_digits(raw, recipe.bits)
            return from_hex(raw, recipe.bits)
        if name == "signature":
            return np.array(raw, f"u{recipe.value_bits // 8}").reshape(len(raw), -1)
    except (NearkinError, InputError) as error:
        raise problem_of(error) from None
    except (ValueError, OverflowError) as error:
        raise bad_request(f"a signature that is none: {error}", f"{recipe.num_perm} values each") from None
    return raw


def queries_of_arrow(data: bytes, settings: StoreSettings, limits: Limits) -> Queries:
    """The queries of an Arrow stream: one column, of what the store is searched by.

    Raises
    ------
    Problem
        bad-request or too-large.
    """
    table = read_table(data, limits.batch, limits.body)
    allowed = _searched_by(settings)
    if len(table.column_names) != 1 or table.column_names[0] not in allowed:
        found = ", ".join(map(repr, table.column_names[:20])) or "none"
        raise bad_request(f"columns {found}", f"give one: this store is searched by `{'` or `'.join(allowed)}`")
    name, column = table.column_names[0], table.column(0)
    if column.null_count:
        raise bad_request(f"{column.null_count} nulls in `{name}`", "give every query")
    if name == "vector":
        return Queries(_arrow_vectors(column), texts=False, single=False)
    if is_list(column.type) if name == "signature" else is_string(column.type):
        return Queries(_query_values(column.to_pylist(), name, settings), name == "text", single=False)
    raise bad_request(
        f"`{name}` of type {column.type}", "use lists of integers" if name == "signature" else "use strings"
    )


def ids_of_arrow(data: bytes, limits: Limits) -> list[Id]:
    """The ids of an Arrow stream with a column `id`.

    Raises
    ------
    Problem
        bad-request or too-large.
    """
    table = read_table(data, limits.batch, limits.body)
    if table.column_names != ["id"]:
        raise bad_request(f"columns {', '.join(map(repr, table.column_names[:20])) or 'none'}", "give `id` alone")
    ids: list[Id] = _arrow_ids(table.column("id"))
    return ids


def ids_of_json(data: bytes, limits: Limits) -> list[Id]:
    """The ids of `{"id": x}` or `{"ids": [...]}`.

    Raises
    ------
    Problem
        bad-request or too-large.
    """
    found: IdOrIds = _read_ids(data)
    if (found.id is UNSET) == (found.ids is UNSET):
        raise bad_request("no ids" if found.id is UNSET else "`id` beside `ids`", "send `id`, or `ids`")
    ids: list[Id] = [found.id] if found.id is not UNSET else list(found.ids)  # type: ignore[arg-type]
    check_batch(len(ids), limits)
    checked_ids(ids)
    return ids
