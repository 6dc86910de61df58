"""The ids of an index: how calls of Python become those of its core, and rows become ids again.

Ids are 64-bit integers or strings, of one kind in an index, or row numbers (`nearkin.results.check_ids`).
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter
from nearkin.results import IdArray, check_ids

__all__ = ["Existing", "add_ids", "check_existing", "contains_id", "named", "remove_ids"]

Existing = Literal["error", "update", "skip"]


class Held(Protocol):
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


def contains_id(core: Held, key: object) -> bool:
    """Whether an id is there."""
    if isinstance(key, str):
        return core.contains_name(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return -(1 << 63) <= int(key) < 1 << 63 and core.contains_int(int(key))
    return False


def remove_ids(core: Held, ids: Any, missing_ok: bool) -> int:
    """Removes ids; returns how many were removed."""
    keys = check_ids(ids)
    if isinstance(keys, list):
        return core.remove_names(keys, missing_ok)
    return core.remove_ints(keys, missing_ok)


def named(core: Held, rows: npt.NDArray[np.int64], strings: bool) -> IdArray:
    """The ids that a core's integers stand for: themselves unless its ids are strings."""
    if not strings:
        return rows
    names = np.empty(len(rows), dtype=object)
    names[:] = core.names(rows)
    return names
