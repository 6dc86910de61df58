"""Layout of a stored document: a fixed-width record, and an extra of variable length.

Record (little-endian): features `u32`, characters `u32`, status `u8`, then the values of the family. Extra: empty for
a new document without columns. Otherwise its first byte is a set of flags: 1 a match follows (row `i64`, distance
`i64`, similarity `f64`), 2 a match whose distance is `f64`, 4 the hashes of the features (count `u32`, then `u64`
each, ascending). The columns follow as a JSON object.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.documents import Cells, as_column
from nearkin.errors import bad_parameter
from nearkin.store.kinds import StoreSettings
from nearkin.store.kinds.files import FileSettings

T = TypeVar("T")
Status = Literal["new", "exact", "same-letters", "near", "known", "conflict", "empty"]
"""Result of a document, with the words of `nearkin.dedup.summary.REASONS`; "conflict": its id belongs to another
content, and the caller asked for a report; "empty": it has no features, and the store drops such documents."""
STATUSES: tuple[Status, ...] = ("new", "exact", "same-letters", "near", "known", "conflict", "empty")
NEW, EXACT, NEAR, KNOWN, CONFLICT, EMPTY = range(6)
"""Codes of records and decisions. Documents from KNOWN on are not added. NEAR includes "same-letters"."""
_NAMES: tuple[Status, ...] = ("new", "exact", "near", "known", "conflict", "empty")

Cell = str | int | float | bool | None
"""A value of a column."""
Columns = Mapping[str, Cells] | Sequence[Mapping[str, Cell]]
"""Values of documents by column name, one per document; or a mapping per document."""

MAX_COUNT = 0xFFFFFFFF
"""Largest number of features, and of characters, in a record."""
_MATCH = struct.Struct("<qqd")
_FLOAT_MATCH = struct.Struct("<qdd")
_COUNT = struct.Struct("<I")
_HAS_MATCH, _HAS_FLOAT_MATCH, _HAS_FEATURES = 1, 2, 4


def scatter(values: Iterable[T], positions: NDArray[np.int64], count: int) -> list[T | None]:
    """Return a list of `count` items with these values at these positions, None elsewhere."""
    items: list[T | None] = [None] * count
    for position, value in zip(positions.tolist(), values, strict=True):
        items[position] = value
    return items


def status_names(settings: StoreSettings, codes: Iterable[int], similarities: Iterable[float]) -> list[Status]:
    """Return the status of each code; a near-duplicate with the same features has the "same-letters".

    Only a Jaccard similarity of 1 means equal features, as in `nearkin.dedup`.
    """
    compared = settings.comparison is not None and settings.comparison.measure == "jaccard"
    return [
        "same-letters" if code == NEAR and compared and similarity == 1.0 else _NAMES[code]
        for code, similarity in zip(codes, similarities, strict=True)
    ]


def record_type(settings: StoreSettings) -> np.dtype[np.void]:
    """Return the layout of records."""
    kind, count = settings.value_shape
    fields = [("features", "<u4"), ("length", "<u4"), ("status", "u1"), ("values", kind, (count,))]
    return np.dtype(fields)


def indexed_positions(settings: StoreSettings, records: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the positions of the records in an index: new documents that a search can find."""
    positions = np.flatnonzero((records["status"] == NEW) & (records["features"] > 0))
    if isinstance(settings, FileSettings):
        positions = positions[settings.searchable(records["values"][positions])]
    return positions


@dataclass(frozen=True)
class RecordedMatch:
    """The document that a stored one matched: row, distance, verified similarity (NaN without verification)."""

    row: int
    distance: float
    similarity: float


def pack_extra(match: RecordedMatch | None, columns: Mapping[str, Cell], features: bytes | None = None) -> bytes:
    """Return the extra of a document."""
    if match is None and not columns and features is None:
        return b""
    flags, parts = 0, [b""]
    if match is not None:
        is_float = isinstance(match.distance, float)
        flags, layout = (_HAS_FLOAT_MATCH, _FLOAT_MATCH) if is_float else (_HAS_MATCH, _MATCH)
        parts.append(layout.pack(match.row, match.distance, match.similarity))
    if features is not None:
        flags |= _HAS_FEATURES
        parts += [_COUNT.pack(len(features) // 8), features]
    if columns:
        parts.append(json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode())
    return bytes([flags]) + b"".join(parts)


def unpack_extra(extra: bytes) -> tuple[RecordedMatch | None, dict[str, Cell]]:
    """Return the match and the columns of a document.

    Raises
    ------
    ValueError
        The bytes are not an extra.
    """
    match, _, columns = _split_extra(extra)
    return match, json.loads(columns) if columns else {}


def match_rows(extras: Iterable[bytes]) -> NDArray[np.int64]:
    """Return the row that each document matched, or -1.

    Raises
    ------
    ValueError
        The bytes are not an extra.
    """
    matches = (_split_extra(extra)[0] for extra in extras)
    return np.array([-1 if match is None else match.row for match in matches], np.int64)


def unpack_features(extra: bytes) -> NDArray[np.uint64] | None:
    """Return the hashes of the features of a document, or None if the extra has none.

    Raises
    ------
    ValueError
        The bytes are not an extra.
    """
    features = _split_extra(extra)[1]
    return None if features is None else np.frombuffer(features, "<u8").astype(np.uint64)


def _split_extra(extra: bytes) -> tuple[RecordedMatch | None, bytes | None, bytes]:
    """Return the match, the hashes of features and the JSON of the columns."""
    if not extra:
        return None, None, b""
    flags, at = extra[0], 1
    match, features = None, None
    layouts = {0: None, _HAS_MATCH: _MATCH, _HAS_FLOAT_MATCH: _FLOAT_MATCH}
    if flags & ~_HAS_FEATURES not in layouts:
        raise ValueError(f"unknown kind {flags}")
    layout = layouts[flags & ~_HAS_FEATURES]
    if layout is not None:
        if len(extra) < at + layout.size:
            raise ValueError("a match is cut off")
        match, at = RecordedMatch(*layout.unpack_from(extra, at)), at + layout.size
    if flags & _HAS_FEATURES:
        count = _COUNT.unpack_from(extra, at)[0] if len(extra) >= at + _COUNT.size else -1
        start = at + _COUNT.size
        at = start + 8 * count
        if count < 0 or len(extra) < at:
            raise ValueError("hashes of features are cut off")
        features = extra[start:at]
    return match, features, extra[at:]


def columns_by_row(columns: Columns | None, count: int) -> list[dict[str, Cell]] | None:
    """Return the columns as one dict per document.

    Raises
    ------
    ParameterError
        A column has another length, or a value that JSON cannot hold.
    """
    if columns is None or (isinstance(columns, Mapping) and not columns):
        return None
    if isinstance(columns, (list, tuple)):
        return _check_rows(columns, count)
    if not isinstance(columns, Mapping):
        raise bad_parameter(
            "columns", repr(columns)[:40], "a mapping of names to one value per text, or a list of mappings"
        )
    lists: dict[str, list[Cell]] = {}
    for name, values in columns.items():
        if not _is_text(name):
            raise bad_parameter("columns", ascii(name), "names that are strings without lone surrogates")
        if isinstance(values, (str, bytes)):
            raise bad_parameter(f"columns[{name!r}]", repr(values)[:40], "a list of values, one per text")
        cells = as_column(values).to_list()
        if len(cells) != count:
            raise bad_parameter(f"columns[{name!r}]", f"{len(cells)} values", f"{count} values, one per text")
        _check_cells(name, cells)
        lists[name] = cells
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _check_rows(columns: Sequence[Mapping[str, Cell]], count: int) -> list[dict[str, Cell]]:
    """Return columns that the caller passed as a mapping per document."""
    if len(columns) != count:
        raise bad_parameter("columns", f"{len(columns)} mappings", f"{count} mappings, one per text")
    for row, cells in enumerate(columns):
        if not isinstance(cells, Mapping) or not all(map(_is_text, cells)):
            raise bad_parameter(f"columns[{row}]", ascii(cells)[:40], "a mapping with names that are strings")
        _check_cells(row, cells.values())
    return [dict(cells) for cells in columns]


def _check_cells(key: str | int, cells: Iterable[Cell]) -> None:
    """Raise ParameterError for a value that a column cannot hold."""
    bad = next((cell for cell in cells if not _is_cell(cell)), None)
    if bad is not None:
        raise bad_parameter(
            f"columns[{key!r}]", ascii(bad)[:40], "finite numbers, strings without lone surrogates, booleans or None"
        )


def _is_cell(value: Any) -> bool:
    """Return True if a column can hold the value. Integers have up to 64 bits, as JSON readers expect."""
    if isinstance(value, int) and not isinstance(value, bool):
        return -(1 << 63) <= value < 1 << 64
    if isinstance(value, str):
        return _is_text(value)
    return value is None or isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value))


def _is_text(value: object) -> bool:
    """Return True for a string without lone surrogates, which JSON in UTF-8 cannot hold."""
    return isinstance(value, str) and (value.isascii() or value.encode(errors="replace").decode() == value)
