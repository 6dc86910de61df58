"""What is stored of a document beside its id, content hash and text: a fixed-width record, and an extra of any length.

Record (little-endian): features u32, characters u32, status u8, then the values of the family. Extra: nothing for a
document that stays and has no columns; else one byte whose bits say what follows: 1 a match (row i64, distance i64,
similarity f64), or 2 one whose distance is f64; 4 the hashes of its features (how many u32, then u64 each, ascending);
then the columns as a JSON object.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearkin.store.indexes import StoreFamily

Status = Literal["new", "exact", "near", "known", "conflict"]
"""What a document is to a store; "conflict": its id is that of another content, and the caller asked to be told."""
STATUSES: tuple[Status, ...] = ("new", "exact", "near", "known", "conflict")
NEW, EXACT, NEAR, KNOWN, CONFLICT = range(5)
"""From KNOWN on nothing is added."""

Cell = str | int | float | bool | None
"""A value of a column."""

_MATCH = struct.Struct("<qqd")
_FLOAT_MATCH = struct.Struct("<qdd")
_COUNT = struct.Struct("<I")
_HAS_MATCH, _HAS_FLOAT_MATCH, _HAS_FEATURES = 1, 2, 4


def indexed(family: StoreFamily, records: NDArray[np.void]) -> NDArray[np.int64]:
    """Places of the records that an index holds: of documents that stay and can be found by a search."""
    places = np.flatnonzero((records["status"] == NEW) & (records["features"] > 0))
    return places[family.searched(records["values"][places])]


def record_type(family: StoreFamily) -> np.dtype[np.void]:
    """The layout of records."""
    kind, count = family.shape
    fields = [("features", "<u4"), ("length", "<u4"), ("status", "u1"), ("values", kind, (count,))]
    return np.dtype(fields)


@dataclass(frozen=True)
class Match:
    """The document that decided: its row, the distance and the verified similarity (NaN where nothing verified)."""

    row: int
    distance: float
    similarity: float


def pack_extra(match: Match | None, columns: Mapping[str, Cell], features: bytes | None = None) -> bytes:
    """The extra of a document."""
    if match is None and not columns and features is None:
        return b""
    kind, parts = 0, [b""]
    if match is not None:
        kind, form = (_HAS_FLOAT_MATCH, _FLOAT_MATCH) if isinstance(match.distance, float) else (_HAS_MATCH, _MATCH)
        parts.append(form.pack(match.row, match.distance, match.similarity))
    if features is not None:
        kind |= _HAS_FEATURES
        parts += [_COUNT.pack(len(features) // 8), features]
    if columns:
        parts.append(json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode())
    return bytes([kind]) + b"".join(parts)


def unpack_extra(extra: bytes) -> tuple[Match | None, dict[str, Cell]]:
    """Match and columns of a document.

    Raises
    ------
    ValueError
        If it is no extra.
    """
    match, _, rest = _parts(extra)
    return match, json.loads(rest) if rest else {}


def unpack_features(extra: bytes) -> NDArray[np.uint64] | None:
    """Hashes of the features of a document; None where none are kept.

    Raises
    ------
    ValueError
        If it is no extra.
    """
    features = _parts(extra)[1]
    return None if features is None else np.frombuffer(features, "<u8").astype(np.uint64)


def _parts(extra: bytes) -> tuple[Match | None, bytes | None, bytes]:
    """Match, feature hashes and JSON of an extra."""
    if not extra:
        return None, None, b""
    kind, at = extra[0], 1
    match, features = None, None
    form = {0: None, _HAS_MATCH: _MATCH, _HAS_FLOAT_MATCH: _FLOAT_MATCH}.get(kind & ~_HAS_FEATURES, _COUNT)
    if form is _COUNT:
        raise ValueError(f"unknown kind {kind}")
    if form is not None:
        if len(extra) < at + form.size:
            raise ValueError("a match is cut off")
        match, at = Match(*form.unpack_from(extra, at)), at + form.size
    if kind & _HAS_FEATURES:
        count = _COUNT.unpack_from(extra, at)[0] if len(extra) >= at + _COUNT.size else -1
        start = at + _COUNT.size
        at = start + 8 * count
        if count < 0 or len(extra) < at:
            raise ValueError("hashes of features are cut off")
        features = extra[start:at]
    return match, features, extra[at:]


def is_finite(value: Cell) -> bool:
    """Whether JSON can hold a cell."""
    return not isinstance(value, float) or math.isfinite(value)
