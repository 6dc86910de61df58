"""Contract of every index, and what all indexes share: ids, files and pickles.

`Index` is the base class of `HammingIndex`, `BandIndex`, `DigestIndex` and `LSHIndex`. An index stores *values*
(fingerprints, signatures, digests or vectors) under ids. For every kind of value,

- a change is atomic: a call that fails leaves the index unchanged, and other threads see all of a change or none;
- additions and removals are visible at once; `add` then `remove` changes nothing;
- results are sorted nearest first, ties by id; pairs have the smaller id left and are sorted by both ids;
- `save` then `open` is identity, and so are `pickle`, `copy.copy` and `copy.deepcopy`. A copy returns the same results
  and is independent of the original.

A *limit* defines which values are near. It is the second argument of `search` and the first of `pairs` and `clusters`:
a radius (Hamming distance, or distance of vectors) or a threshold (share of equal values, or score). Other keyword
arguments differ between indexes. `tests/typing` checks the types, `tests/index/test_contract.py` the behaviour.

It implements ids, saving and pickling over a core. An index remembers the stamp (device, inode, size, time of
change) of each file it was opened from or saved to, so that `save` does not overwrite what another process has saved
there since. A pickle is the bytes of the index file plus the attributes; it costs as much as `save` and `open`, and the
size of the file in memory.

Examples
--------
>>> from nearkin.index.base import Index
>>> from nearkin import HammingIndex
>>> isinstance(HammingIndex(), Index)
True
"""

from __future__ import annotations

import os
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin.errors import OutputError, StoreLockedError, check_count, check_name, mismatch
from nearkin.index.ids import Existing, Id, IdArray, IdCore, Ids, check_ids, contains_id
from nearkin.io.inputs import FileStamp
from nearkin.io.locks import lock_file
from nearkin.notebook import html_facts
from nearkin.recipe import Recipe

if TYPE_CHECKING:
    from typing_extensions import Self

_Values = TypeVar("_Values", contravariant=True)
_Limit = TypeVar("_Limit", contravariant=True)

INT64_MAX = (1 << 63) - 1
_LOCK_TIMEOUT = 60.0
"""Seconds that `save` waits while another process saves to the same file."""

_locked_here: set[tuple[int, str]] = set()
"""Thread and path of the files that `lock_index_file` has locked."""

_path_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""One lock per path serializes the threads of this process. A forked child starts without any."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_path_locks.clear)


class QueryResult(Protocol):
    """Matches of a batch of queries, nearest first, ties by id."""

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """int64 of shape (n_queries + 1,): query i owns `offsets[i]` to `offsets[i + 1]` (exclusive) of `ids`."""

    @property
    def ids(self) -> IdArray:
        """Ids of the matches, of shape (n_matches,)."""

    def __len__(self) -> int:
        """Return the number of queries."""


class PairList(Protocol):
    """Pairs of ids, each once, the smaller id left, sorted by both."""

    @property
    def left(self) -> IdArray:
        """The smaller ids, of shape (n_pairs,)."""

    @property
    def right(self) -> IdArray:
        """The larger ids, of shape (n_pairs,)."""

    def __len__(self) -> int:
        """Return the number of pairs."""


ClusterList = Sequence[list[Id]]
"""Clusters of two or more ids, in order of their first members; members in order of addition."""


class Index(ABC, Generic[_Values, _Limit]):
    """Values stored under ids and searched by nearness; base of every index."""

    _core: Any

    @abstractmethod
    def add(self, ids: Ids | None, values: _Values, /, *, existing: Existing = "error") -> int:
        """Add values and return how many were added.

        Each value has one id, a 64-bit integer or a string, of one kind per index. None stands for row numbers, counted
        from the first value ever added. `existing` decides about an id that already exists or occurs twice in the call:
        refuse the call, update the value (the last one wins), or skip the new one.
        """

    @abstractmethod
    def search(self, queries: _Values, limit: _Limit, /) -> QueryResult:
        """Return all values within the limit of each query."""

    @abstractmethod
    def nearest(self, queries: _Values, k: int = 10, /) -> QueryResult:
        """Return the k nearest values of each query; ties at the last distance go to the smallest ids."""

    @abstractmethod
    def pairs(self, limit: _Limit, /) -> PairList:
        """Return all pairs within the limit."""

    @abstractmethod
    def clusters(self, limit: _Limit, /) -> ClusterList:
        """Return clusters: in order of addition, each free id starts a cluster and absorbs its free neighbours."""

    @classmethod
    @abstractmethod
    def open(cls, path: str | os.PathLike[str], /) -> Self:
        """Open a saved index. Additions do not change the file."""

    @abstractmethod
    def explain(self) -> dict[str, Any]:
        """Return what the index contains and how it searches; `ids` is "row numbers", "integers" or "strings"."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes in memory."""

    @abstractmethod
    def _write(self, file: str) -> None:
        """Write the index to a file."""

    def _repr_html_(self) -> str:
        """Return the parameters, and the numbers of values and bytes, for a notebook."""
        sizes = [("values", f"{len(self):,}"), ("bytes", f"{self.nbytes:,}")] if len(self) else [("values", "0")]
        return html_facts([("index", repr(self)), *sizes])

    def _id_core(self) -> IdCore:
        core: IdCore = self._core
        return core

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self._id_core())

    def __contains__(self, key: object) -> bool:
        """Return True if the index has this id."""
        return contains_id(self._id_core(), key)

    def remove(self, ids: Ids, *, missing_ok: bool = False) -> int:
        """Remove ids and return how many were removed.

        Parameters
        ----------
        ids : iterable of int or str, array or column
            Ids as passed to `add`; row numbers if none were.
        missing_ok : bool, default=False
            Ignore ids that do not exist.

        Returns
        -------
        int

        Raises
        ------
        ParameterError
            An id that does not exist. The index is unchanged.
        """
        return self._id_core().remove(check_ids(ids), missing_ok)

    def iter_ids(self, *, batch_size: int = 65_536) -> Iterator[IdArray]:
        """Iterate over all ids in order of addition, `batch_size` at a time; row numbers if `add` received none.

        Each batch is read when it is requested: it reflects additions and removals made until then.

        Parameters
        ----------
        batch_size : int, default=65_536
            Ids per batch, 1 or more; the last batch may have fewer.

        Returns
        -------
        iterator of arrays

        Raises
        ------
        ParameterError
            A batch size below 1.
        """
        batch_size = check_count("batch_size", batch_size, 1, (1 << 32) - 1, "1 to 2**32 - 1")
        return _iter_ids(self._id_core(), batch_size)

    def verify(self) -> None:
        """Read and check the file of an opened index; do nothing for an index in memory.

        Raises
        ------
        CorruptStoreError
            A checksum or a value in the file is wrong.
        """
        self._id_core().verify()

    # -- files

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save the index atomically as one file with a checksum for every section.

        After a crash at any moment the file is the old one or the new one.

        Parameters
        ----------
        path : str or os.PathLike
            The file; an existing one is replaced.
        overwrite : bool, default False
            Replace the file even if it has changed since this index was opened from it or saved to it.

        Raises
        ------
        OutputError
            The file has changed since this index was opened from it or saved to it.
        StoreLockedError
            Another thread or process is changing the file.
        OSError
            The file can't be written; an existing file is unchanged.
        NotFittedError, ParameterError
            An index of vectors that is not fitted, or whose family can't be saved, such as one with a kernel function.
        """
        with self._lock_and_stamp(path, overwrite=overwrite):
            self._write(os.fspath(path))

    def _stamps(self) -> dict[str, FileStamp]:
        """Stamps of the files of this index, by real path."""
        stamps: dict[str, FileStamp] = vars(self).setdefault("_file_stamps", {})
        return stamps

    def _remember_stamp(self, path: str, stamp: FileStamp | None) -> None:
        """Record the state of a file that contains this index."""
        if stamp is not None:
            self._stamps()[path] = stamp

    def _attach(self, core: Any, stamp: tuple[str, FileStamp | None]) -> Self:
        """Return this index with a core that was opened from the file of a stamp."""
        self._core = core
        self._remember_stamp(*stamp)
        return self

    @contextmanager
    def _lock_and_stamp(self, path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[None]:
        """Lock a file for writing, and record its new stamp.

        Raises
        ------
        OutputError
            The file has changed since this index was opened from it or saved to it, and `overwrite` is not set.
        StoreLockedError
            Another thread or process is changing the file.
        """
        check_name(path)
        real_path = os.path.realpath(path)
        with ExitStack() as stack:
            stack.enter_context(_lock_path(path, real_path))
            if Path(real_path).is_file() and (threading.get_ident(), real_path) not in _locked_here:
                stack.enter_context(lock_file(path, "index", timeout=_LOCK_TIMEOUT))
            expected, current = self._stamps().get(real_path), file_stamp(path)[1]
            if not overwrite and expected is not None and current not in (None, expected):
                message = (
                    f"{path}: the file has changed since this index was opened from it or saved to it; "
                    "open the file and add to it, or pass overwrite=True to discard its changes"
                )
                raise OutputError(message, place=str(path), in_place="other", errno=None)
            yield
            self._remember_stamp(*file_stamp(path))

    # -- pickles

    def _write_core(self, file: str) -> None:
        """Write a file from which `_open_core` restores the core."""
        self._write(file)

    def _open_core(self, path: str) -> Any:
        """Return the core in such a file."""
        return type(self).open(path)._core

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, and the core as the bytes of its file."""
        state = {name: value for name, value in vars(self).items() if name not in ("_core", "_file_stamps")}
        if self._core is not None:
            with _temporary_file() as path:
                self._write_core(str(path))
                state["_file"] = path.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes and the core."""
        attributes = dict(state)
        file = attributes.pop("_file", None)
        vars(self).update(attributes, _core=None)
        if file is not None:
            with _temporary_file() as path:
                path.write_bytes(file)
                self._core = self._open_core(str(path))


def _iter_ids(core: IdCore, batch_size: int) -> Iterator[IdArray]:
    ids, start = core.ids(0, batch_size)
    while len(ids):
        yield ids
        ids, start = core.ids(start, batch_size)


def check_recipe(own: Recipe | None, other: Recipe | str) -> None:
    """Raise MismatchError unless an index of recipe `own` stores values of recipe `other`."""
    other = Recipe.of(other)
    if own is None:
        raise mismatch("recipe", "an index created without one", str(other))
    own.check_same(other)


def file_stamp(path: str | os.PathLike[str]) -> tuple[str, FileStamp | None]:
    """Return the real path of a file and its stamp; None if it can't be read, which opening it will report."""
    check_name(path)
    real_path = os.path.realpath(path)
    try:
        return real_path, FileStamp.of(Path(real_path).stat())
    except OSError:
        return real_path, None


@contextmanager
def _lock_path(path: str | os.PathLike[str], real_path: str) -> Iterator[None]:
    """Exclude the other threads of this process that save to the same path."""
    lock = _path_locks[real_path]
    if not lock.acquire(timeout=_LOCK_TIMEOUT):
        raise StoreLockedError(f"{path}: another thread is saving the index; try again later", place=str(path))
    try:
        yield
    finally:
        lock.release()


@contextmanager
def lock_index_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Prevent other processes and threads from saving to an index file; this thread may.

    Parameters
    ----------
    path : str or os.PathLike

    Raises
    ------
    StoreLockedError
        Another process is changing the file.
    OSError
        The file does not exist.
    """
    key = threading.get_ident(), os.path.realpath(path)
    with lock_file(path, "index"):
        _locked_here.add(key)
        try:
            yield
        finally:
            _locked_here.discard(key)


@contextmanager
def _temporary_file() -> Iterator[Path]:
    """Yield the name of a file that is removed afterwards; a memory map of it stays valid."""
    # Windows keeps mapped files: there the system removes the folder later.
    with tempfile.TemporaryDirectory(prefix="nearkin-", ignore_cleanup_errors=True) as folder:
        yield Path(folder, "index")
