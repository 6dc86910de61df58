"""The ids of an index: how calls from Python become calls of its core.

Ids are 64-bit integers or strings, of one kind in an index, or row numbers (`check_ids`). The core holds them beside
what they name, behind its lock, and gives results as ids (`IdArray`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_count
from nearkin.vectors.arrays import in_order, unmasked

__all__ = [
    "Existing",
    "HeldByIds",
    "Id",
    "IdArray",
    "IdKeys",
    "Ids",
    "check_existing",
    "check_ids",
    "contains_id",
    "new_ids",
    "plain_id",
]

Ids: TypeAlias = Iterable[int | str | np.integer[Any]] | npt.NDArray[Any]
"""Ids as they are given: an iterable of integers or of strings, an array, a column of pandas, polars or pyarrow."""
Id: TypeAlias = int | str
"""One id as it was given."""
IdArray: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""Ids of matches: int64, or object arrays of str."""
IdKeys: TypeAlias = npt.NDArray[np.int64] | list[str]
"""Ids as cores take them."""
Existing = Literal["error", "update", "skip"]
"""What `add` does with an id that is there, or occurs twice in the call."""


class IdCore(Protocol):
    """What the cores of all indexes have in common."""

    def __len__(self) -> int: ...
    def contains(self, key: int | str, /) -> bool: ...
    def remove(self, ids: IdKeys, missing_ok: bool, /) -> int: ...
    def ids(self, start: int, most: int, /) -> tuple[IdArray, int]: ...
    def verify(self) -> None: ...


def check_existing(existing: Existing) -> Existing:
    """What `add` does with an id that is there."""
    if not isinstance(existing, str) or existing not in ("error", "update", "skip"):
        raise bad_parameter("existing", repr(existing), '"error", "update" or "skip"')
    return existing


def new_ids(ids: Ids | None) -> IdKeys | None:
    """Ids for what is added; None stands for row numbers."""
    return None if ids is None else check_ids(ids)


def contains_id(core: IdCore, key: object) -> bool:
    """Whether an id is there."""
    if isinstance(key, str):
        # A string that UTF-8 can't encode is never an id.
        return not any("\ud800" <= letter <= "\udfff" for letter in key) and core.contains(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return -(1 << 63) <= int(key) < 1 << 63 and core.contains(int(key))
    return False


class HeldByIds:
    """What all indexes do alike: with the ids that their cores hold, and with the file of an opened one."""

    def _held(self) -> IdCore:
        """The core."""
        raise NotImplementedError

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self._held())

    def __contains__(self, key: object) -> bool:
        """Whether an id is there."""
        return contains_id(self._held(), key)

    def remove(self, ids: Ids, *, missing_ok: bool = False) -> int:
        """Removes ids; returns how many were removed.

        Parameters
        ----------
        ids : iterable of int or str, array or column
            Ids as they were given to `add`; row numbers if none were.
        missing_ok : bool, default=False
            Whether ids that are not there are skipped.

        Returns
        -------
        int

        Raises
        ------
        ParameterError
            An id that is not there. The index is unchanged.
        """
        return self._held().remove(check_ids(ids), missing_ok)

    def iter_ids(self, *, batch_size: int = 65_536) -> Iterator[IdArray]:
        """All ids in order of addition, `batch_size` at a time; row numbers if none were given.

        Each batch is read when it is asked for: ids that are removed meanwhile are not given, those that are added are.

        Parameters
        ----------
        batch_size : int, default=65_536
            Ids of a batch, 1 or more; the last one may have fewer.

        Returns
        -------
        iterator of arrays

        Raises
        ------
        ParameterError
            A batch size below 1.
        """
        return _batches(self._held(), check_count("batch_size", batch_size, 1, (1 << 32) - 1, "1 to 2**32 - 1"))

    def verify(self) -> None:
        """Reads the whole file of an opened index and checks every part of it; does nothing for one made in memory.

        Raises
        ------
        CorruptStoreError
            A checksum or a value in the file is wrong.
        """
        self._held().verify()


def _batches(core: IdCore, batch_size: int) -> Iterator[IdArray]:
    start = 0
    while True:
        ids, start = core.ids(start, batch_size)
        if not len(ids):
            return
        yield ids


def plain_id(found: np.int64 | Id) -> Id:
    """An id as it was given: int or str."""
    return int(found) if isinstance(found, np.integer) else found


def check_ids(ids: Ids) -> IdKeys:
    """Ids as an int64 array or a list of str."""
    allowed = "integers of 64 bits or strings, one kind in an index"
    unmasked(ids, "ids")
    is_array = hasattr(ids, "__array__")
    if isinstance(ids, (str, bytes)) or not (is_array or _is_iterable(ids)):
        raise bad_parameter("ids", repr(ids), "an iterable of ids; [id] for one")
    if not is_array:
        ids = list(ids)
        names = [value for value in ids if isinstance(value, str)]
        if ids and len(names) == len(ids):
            return _names(names)
    try:
        array = np.asarray(ids)
    except ValueError:
        raise bad_parameter("ids", "values of several shapes", allowed) from None
    if not is_array and array.dtype.kind in "iu" and not {bool, np.bool_}.isdisjoint(map(type, ids)):
        # NumPy takes booleans beside integers for 0 and 1.
        raise bad_parameter("ids", "integers and booleans", allowed)
    if array.ndim != 1:
        raise bad_parameter("ids", f"an array of shape {array.shape}", "one dimension")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind in "iu":
        # Contiguity first: a view of strides zero may claim more values than any pass could read.
        array = in_order(array)
        if array.dtype == np.uint64 and int(array.max()) >= 1 << 63:
            raise bad_parameter("ids", int(array.max()), "integers below 2**63, or strings")
        return in_order(array, np.int64)
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


def _is_iterable(ids: object) -> bool:
    try:
        iter(ids)  # type: ignore[call-overload]  # What has neither of its methods is refused by the caller.
    except TypeError:
        return False
    return True


def _names(values: Sequence[str]) -> list[str]:
    try:
        "".join(values).encode()
    except UnicodeEncodeError as error:
        raise bad_parameter("ids", ascii(error.object[error.start]), "strings without lone surrogates") from None
    return list(values)
