"""What a store says of each document of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.index.ids import Id
from nearkin.io.tables import Tabular
from nearkin.store.records import STATUSES, Cell, Status


@dataclass(frozen=True)
class StoredMatch:
    """A stored document that matches: id, distance, verified similarity (NaN where nothing verified), columns."""

    id: Id
    distance: float
    similarity: float
    columns: dict[str, Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class Answers(Tabular):
    """What a store says of each document of a batch, in order.

    Attributes
    ----------
    status : list of str
        "new"; "exact", a copy of a document that stays; "near", a near-duplicate of one; "known", the same id with the
        same content, whose first answer the other columns repeat; "conflict", the same id with another content, which
        was not added (with `conflicts="report"`).
    ids : list
        Id of the document that decides, None for a new one: of those that stay and match the one that was there first.
    distances : (n,) int64, float64 of vectors
        Distance to it; -1 for a new document.
    similarities : (n,) float64
        Verified similarity to it, 1 for an exact copy; of files scores, 100 for an exact copy; of vectors cosines, NaN
        for families of a distance. NaN for a new document and where nothing verifies.
    matches : list of lists of StoredMatch
        The best matches of each document, most similar first, where `check` was asked for them.
    verified : str
        How similarities were verified.
    own_ids : list, optional
        Ids of the documents themselves, row numbers where none were given; None from `check`.

    Examples
    --------
    >>> import nearkin as nk, tempfile
    >>> store = nk.Store.create(tempfile.mkdtemp() + "/pages.store")
    >>> answers = store.check_and_add(["one text among many", "another one", "one text among many"], ["a", "b", "c"])
    >>> answers.status, answers.ids
    (['new', 'new', 'exact'], [None, None, 'a'])
    >>> answers.is_new
    array([ True,  True, False])
    >>> store.close()
    """

    status: list[Status]
    ids: list[Id | None]
    distances: NDArray[np.int64] | NDArray[np.float64]
    similarities: NDArray[np.float64]
    matches: list[list[StoredMatch]] | None = None
    verified: str = ""
    own_ids: list[Id] | None = None

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{self.status.count(name)} {name}" for name in STATUSES if name != "conflict" or name in self.status
        )
        return f"<answers for {len(self)} documents: {counts}>"

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether each document is new."""
        return np.array([name == "new" for name in self.status], bool)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The answers by name: status, id of the match, distance, similarity."""
        return {
            "status": list(self.status),
            "match": list(self.ids),
            "distance": self.distances.tolist(),
            "similarity": self.similarities.tolist(),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each answer as a dict."""
        columns = self.columns
        return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def _columns(self) -> dict[str, list[Any]]:
        return self.columns

    def _types(self) -> dict[str, str]:
        return {"status": "string", "distance": "int64", "similarity": "float64"}
