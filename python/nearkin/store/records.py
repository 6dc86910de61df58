"""What is stored of a document beside its id, content hash and text: a fixed-width record, and an extra of any length.

Record (little-endian): features u32, characters u32, status u8, then the values of the family. Extra: nothing for a
document that stays and has no columns; else one byte that says whether a match follows (row i64, distance i64,
similarity f64; 2 where the distance is f64), then the columns as a JSON object.
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

from nearkin.store.families import StoreFamily

Status = Literal["new", "exact", "near", "known"]
"""What a document is to a store."""
STATUSES: tuple[Status, ...] = ("new", "exact", "near", "known")
NEW, EXACT, NEAR, KNOWN = range(4)

Cell = str | int | float | bool | None
"""A value of a column."""

_MATCH = struct.Struct("<qqd")
_FLOAT_MATCH = struct.Struct("<qdd")
_HAS_MATCH, _HAS_FLOAT_MATCH = 1, 2


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


def pack_extra(match: Match | None, columns: Mapping[str, Cell]) -> bytes:
    """The extra of a document."""
    if match is None and not columns:
        return b""
    head = b"\0"
    if match is not None:
        kind, form = (_HAS_FLOAT_MATCH, _FLOAT_MATCH) if isinstance(match.distance, float) else (_HAS_MATCH, _MATCH)
        head = bytes([kind]) + form.pack(match.row, match.distance, match.similarity)
    if not columns:
        return head
    return head + json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode()


def unpack_extra(extra: bytes) -> tuple[Match | None, dict[str, Cell]]:
    """Match and columns of a document.

    Raises
    ------
    ValueError
        If it is no extra.
    """
    if not extra:
        return None, {}
    match, rest = None, extra[1:]
    form = {_HAS_MATCH: _MATCH, _HAS_FLOAT_MATCH: _FLOAT_MATCH}.get(extra[0])
    if form is not None:
        if len(rest) < form.size:
            raise ValueError("a match is cut off")
        match, rest = Match(*form.unpack_from(rest)), rest[form.size :]
    elif extra[0]:
        raise ValueError(f"unknown kind {extra[0]}")
    return match, json.loads(rest) if rest else {}


def is_finite(value: Cell) -> bool:
    """Whether JSON can hold a cell."""
    return not isinstance(value, float) or math.isfinite(value)
