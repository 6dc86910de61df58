"""Ids of an index: 64-bit integers or strings, one kind per index, or row numbers.

The core stores ids next to the values they name, behind its lock, and returns results as ids (`IdArray`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_choice
from nearkin.io.arrow import is_strings, to_values
from nearkin.vectors.arrays import as_contiguous, values_of

Ids: TypeAlias = Iterable[int | str | np.integer[Any]] | npt.NDArray[Any]
"""Ids from a caller: an iterable of integers or strings, an array, or a column of pandas, polars or pyarrow."""
Id: TypeAlias = int | str
IdArray: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""Ids of matches: an int64 array, or an object array of str."""
IdKeys: TypeAlias = npt.NDArray[np.int64] | list[str]
"""Ids as a core receives them."""
Existing = Literal["error", "update", "skip"]
"""What `add` does with an id that already exists, or occurs twice in the call."""


class IdCore(Protocol):
    """Methods that the cores of all indexes have in common."""

    def __len__(self) -> int: ...

    def contains(self, key: int | str, /) -> bool:
        """Return True if the core has an id."""

    def remove(self, ids: IdKeys, missing_ok: bool, /) -> int:
        """Remove ids and return how many were removed."""

    def ids(self, start: int, max_ids: int, /) -> tuple[IdArray, int]:
        """Return ids from a position on, and the position after them."""

    def verify(self) -> None:
        """Check the opened file."""


def check_existing(existing: Existing) -> Existing:
    """Return the argument `existing` of `add` after checking it."""
    check_choice("existing", existing, "error", "update", "skip")
    return existing


def new_ids(ids: Ids | None) -> IdKeys | None:
    """Return ids for `add` after checking them; None stands for row numbers."""
    return None if ids is None else check_ids(ids)


def contains_id(core: IdCore, key: object) -> bool:
    """Return True if a core has this id."""
    if isinstance(key, str):
        # A string that UTF-8 can't encode is never an id.
        return not any("\ud800" <= letter <= "\udfff" for letter in key) and core.contains(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        return -(1 << 63) <= int(key) < 1 << 63 and core.contains(int(key))
    return False


def to_python_id(key: np.int64 | Id) -> Id:
    """Return an id as int or str."""
    return int(key) if isinstance(key, np.integer) else key


def check_ids(ids: Ids) -> IdKeys:
    """Return ids as an int64 array or a list of str.

    Raises
    ------
    ParameterError
        Ids of several kinds, or of a type other than 64-bit integers and strings.
    """
    allowed = "integers of 64 bits or strings, one kind in an index"
    ids = _read_ids(ids)
    is_array = hasattr(ids, "__array__")
    if isinstance(ids, (str, bytes)) or not (is_array or _is_iterable(ids)):
        raise bad_parameter("ids", repr(ids), "an iterable of ids; [id] for one")
    if not is_array:
        ids = list(ids)
        names = [value for value in ids if isinstance(value, str)]
        if ids and len(names) == len(ids):
            return _check_names(names)
    try:
        array = np.asarray(ids)
    except ValueError:
        raise bad_parameter("ids", "values of several shapes", allowed) from None
    if not is_array and array.dtype.kind in "iu" and not {bool, np.bool_}.isdisjoint(map(type, ids)):
        # NumPy converts booleans among integers to 0 and 1.
        raise bad_parameter("ids", "integers and booleans", allowed)
    if array.ndim != 1:
        raise bad_parameter("ids", f"an array of shape {array.shape}", "one dimension")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind in "iu":
        # Contiguity first: a view with strides of zero may claim more values than any pass could read.
        array = as_contiguous(array)
        if array.dtype == np.uint64 and int(array.max()) >= 1 << 63:
            raise bad_parameter("ids", int(array.max()), "integers below 2**63, or strings")
        return as_contiguous(array, np.int64)
    values = (list(ids) if isinstance(ids, list) else array.tolist()) if array.dtype.kind in "OUTf" else None
    if values is not None:
        if all(isinstance(value, str) for value in values):
            return _check_names(values)
        if all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values):
            try:
                return np.array([int(value) for value in values], dtype=np.int64)
            except OverflowError:
                raise bad_parameter("ids", max(values, key=abs), "integers below 2**63, or strings") from None
    kinds = " and ".join(sorted({type(value).__name__ for value in ids})) if isinstance(ids, list) else ""
    raise bad_parameter("ids", f"values of {kinds}" if kinds else f"an array of {array.dtype}", allowed)


def _read_ids(ids: Any) -> Any:
    """Return ids of a column of strings of Arrow as a list; others as an object that NumPy converts."""
    values = values_of(ids, "ids")
    return values if isinstance(values, np.ndarray) or not is_strings(values) else to_values(values, "ids")


def _is_iterable(ids: object) -> bool:
    try:
        iter(ids)  # type: ignore[call-overload]  # A TypeError is the answer.
    except TypeError:
        return False
    return True


def _check_names(values: Sequence[str]) -> list[str]:
    try:
        "".join(values).encode()
    except UnicodeEncodeError as error:
        raise bad_parameter("ids", ascii(error.object[error.start]), "strings without lone surrogates") from None
    return list(values)
