"""What an index of vectors holds: vectors, hashes and ids, added and removed, as a file and as a pickle."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore
from nearkin.errors import NotFittedError
from nearkin.families.base import Family
from nearkin.index.copies import CopiedByFile
from nearkin.index.ids import Existing, Ids, check_existing, new_ids
from nearkin.index.lsh.arrays import Hashed, Metric, Stored, as_queries, as_stored, flat, hashed_form, plain
from nearkin.index.lsh.file import save
from nearkin.index.lsh.params import CodeRank, Filter, Given, Settings
from nearkin.vectors.rows import Rows, Vectors

Hashes: TypeAlias = npt.NDArray[np.uint64] | npt.NDArray[np.int64]
"""Words of bits or integers of rows, one row after the other."""


_NO_HASHES: Hashes = np.zeros(0, np.uint64)


class Contents(CopiedByFile):
    """The part of `LSHIndex` that is neither parameters nor queries."""

    family: Family
    num_tables: int | None
    hashes_per_table: int | None
    num_probes: int | None
    filter: Filter
    num_candidates: int | None
    rank: CodeRank
    metric: Metric | None
    max_norm: float | None
    _recall: float | None
    num_cells: int | None
    family_: Family
    settings_: Settings
    dimension_: int
    vectors_: Stored
    _core: LshCore | None = None

    @property
    def given(self) -> Given:
        """The parameters as they were given to the constructor, which no fit changes."""
        names = {field.name: "_recall" if field.name == "recall" else field.name for field in fields(Given)}
        return Given(**{name: getattr(self, own) for name, own in names.items()})

    def _held(self) -> LshCore:
        return self._fitted()

    def _fitted(self) -> LshCore:
        if self._core is None:
            raise NotFittedError("this LSHIndex is not fitted; call fit(X) first", family="LSHIndex")
        return self._core

    def _stored_form(self, X: Vectors, name: str) -> Rows:
        return as_stored(X, self.vectors_, self.dimension_, name)

    def _query_form(self, Q: Vectors) -> Rows:
        return as_queries(Q, self.vectors_, self.dimension_, "Q")

    def _hashed_form(self, rows: Rows, *, query: bool = False) -> Hashed:
        if self.settings_.rank == "estimate":
            return plain(rows)
        return hashed_form(rows, self.settings_.metric, self.settings_.max_norm, query=query)

    def _hashes(self, hashed: Hashed) -> Hashes:
        """The family's hashes, flat."""
        # Families of features are refused by `check`.
        return cast("Hashes", np.ascontiguousarray(self.family_.transform(hashed)).reshape(-1))

    def _insert(self, rows: Rows, hashed: Hashed, ids: Ids | None, existing: Existing = "error") -> int:
        core = self._fitted()
        # Rotation codes are made of the vectors by the core.
        hashes = _NO_HASHES if self.settings_.rank == "estimate" else self._hashes(hashed)
        vectors = flat(rows)
        return core.add(new_ids(ids), hashes, vectors, check_existing(existing))

    def add(self, ids: Ids | None, X: Vectors, *, existing: Existing = "error") -> int:
        """Adds vectors; returns how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each vector, of the kind that the index has; None where it has row numbers.
        X : (n, d) array or SciPy sparse matrix
            Of the dimension of `fit`, converted to the type of the index; whole numbers must fit it.
        existing : {"error", "update", "skip"}, default="error"
            For an id that is already there, or occurs twice in the call: refuse the call, replace the vector (the last
            one wins), or keep the first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            An id that is already there or occurs twice, ids of another kind, counts that differ, a vector longer than
            the longest that fits (`settings_.max_norm`). The index is unchanged.
        InputError
            NaN or infinite values, zero vectors where angles count, numbers that an index of `uint8`, `int8` or
            `float16` can't hold. The index is unchanged.
        """
        self._fitted()
        rows = self._stored_form(X, "X")
        return self._insert(rows, self._hashed_form(rows), ids, existing)

    def __len__(self) -> int:
        """How many vectors there are."""
        return 0 if self._core is None else len(self._core)

    @property
    def nbytes(self) -> int:
        """Bytes of tables or codes, vectors and ids."""
        return sum(self._fitted().info()[4:])

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Saves the index with its hash functions as one file with a checksum for every part.

        The file is written aside, synced and renamed: after a crash at any moment there is the old file or the new one.
        `docs/format-lsh.md` describes it.

        Parameters
        ----------
        path : str or os.PathLike
            The file; one of that name is replaced.
        overwrite : bool, default False
            Whether it is replaced even if it has changed since this index was opened from it, or saved to it.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            A family that can't be saved, such as one with a kernel that is a function.
        OutputError
            The file has changed since this index was opened from it, or saved to it.
        StoreLockedError
            Somebody else is changing the file.
        OSError
            The file system refuses; an old file is as it was.
        """
        core = self._fitted()
        with self._replacing(path, overwrite=overwrite) as place:
            save(core, place, self.given, self.settings_, self.family_)

    def _save_core(self, place: str) -> None:
        # What the core does not know is pickled as attributes, also a kernel that no file holds.
        self._fitted().save(place, b"")

    def _open_core(self, place: str) -> LshCore:
        return LshCore.open(place)[0]
