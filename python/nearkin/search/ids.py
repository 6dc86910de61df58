"""The ids of an index: how calls of Python become those of its core, and rows become ids again.

Ids are 64-bit integers or strings, of one kind in an index, or row numbers (`check_ids`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter

__all__ = [
    "Existing",
    "IdArray",
    "add_ids",
    "check_existing",
    "check_ids",
    "contains_id",
    "named",
    "plain_id",
    "remove_ids",
]

IdArray: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""Ids of matches: int64, or object arrays of str."""
Existing = Literal["error", "update", "skip"]


class IdCore(Protocol):
    """What the cores have in common."""

    def contains_int(self, key: int, /) -> bool: ...
    def contains_name(self, key: str, /) -> bool: ...
    def remove_ints(self, ids: npt.NDArray[np.int64], missing_ok: bool, /) -> int: ...
    def remove_names(self, ids: list[str], missing_ok: bool, /) -> int: ...
    def names(self, rows: npt.NDArray[np.int64], /) -> list[str]: ...


def check_existing(existing: Existing) -> Existing:
    """What `add` does with an id that is there."""
    if not isinstance(existing, str) or existing not in ("error", "update", "skip"):
        raise bad_parameter("existing", repr(existing), '"error", "update" or "skip"')
    return existing


def add_ids(core: Any, ids: Any, *values: Any, existing: Existing | None = None) -> int:
    """Adds what the core's `add_*` take under ids, or row numbers if there are none; returns how much was added."""
    if ids is None:
        return int(core.add_rows(*values))
    if existing is not None:
        values = (*values, existing)
    keys = check_ids(ids)
    return int(core.add_names(keys, *values) if isinstance(keys, list) else core.add_ints(keys, *values))


def contains_id(core: IdCore, key: object) -> bool:
    """Whether an id is there."""
    if isinstance(key, str):
        return core.contains_name(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return -(1 << 63) <= int(key) < 1 << 63 and core.contains_int(int(key))
    return False


def remove_ids(core: IdCore, ids: Any, missing_ok: bool) -> int:
    """Removes ids; returns how many were removed."""
    keys = check_ids(ids)
    if isinstance(keys, list):
        return core.remove_names(keys, missing_ok)
    return core.remove_ints(keys, missing_ok)


def named(core: IdCore, rows: npt.NDArray[np.int64], strings: bool) -> IdArray:
    """The ids that a core's integers stand for: themselves unless its ids are strings."""
    if not strings:
        return rows
    names = np.empty(len(rows), dtype=object)
    names[:] = core.names(rows)
    return names


def plain_id(found: Any) -> Any:
    """An id as it was given: int or str."""
    return int(found) if isinstance(found, np.integer) else found


def check_ids(ids: Any) -> npt.NDArray[np.int64] | list[str]:
    """Ids as an int64 array or a list of str."""
    allowed = "integers of 64 bits or strings, one kind in an index"
    if isinstance(ids, (str, bytes)):
        raise bad_parameter("ids", repr(ids), "an iterable of ids; [id] for one")
    if isinstance(ids, np.ndarray):
        array = ids
    else:
        if not hasattr(ids, "__array__"):
            ids = list(ids)
            if all(type(value) is str for value in ids) and ids:
                return _names(ids)
        array = np.asarray(ids)
    if array.ndim != 1:
        raise bad_parameter("ids", f"an array of shape {array.shape}", "one dimension")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and int(array.max()) >= 1 << 63:
            raise bad_parameter("ids", int(array.max()), "integers below 2**63, or strings")
        return np.ascontiguousarray(array, dtype=np.int64)
    values = (list(ids) if isinstance(ids, list) else array.tolist()) if array.dtype.kind in "OUTf" else None
    if values is not None:
        if all(isinstance(value, str) for value in values):
            return _names(values)
        if all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values):
            try:
                return np.array([int(value) for value in values], dtype=np.int64)
            except OverflowError:
                raise bad_parameter("ids", max(values, key=abs), "integers below 2**63, or strings") from None
    raise bad_parameter("ids", f"an array of {array.dtype}", allowed)


def _names(values: Sequence[str]) -> list[str]:
    try:
        "".join(values).encode()
    except UnicodeEncodeError as error:
        raise bad_parameter("ids", ascii(error.object[error.start]), "strings without lone surrogates") from None
    return list(values)
