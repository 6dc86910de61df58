"""Results of a store's calls: `CheckResult`, `StoredMatch`, `StoredDocument`, `StoreStats`, `Expired`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter
from nearkin.index.ids import Id
from nearkin.io.tables import Tabular
from nearkin.notebook import html_facts
from nearkin.store.records import STATUSES, Cell, Status

Store: TypeAlias = Any
"""`nearkin.store.Store`, whose module imports this one."""


@dataclass(frozen=True)
class StoredMatch:
    """A stored document that matches: id, distance, verified similarity (NaN without verification), columns."""

    id: Id
    distance: float
    similarity: float
    columns: dict[str, Cell] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CheckResult(Tabular):
    """Result of `check`, `check_and_add` or `add`: one status per document of the batch, in order.

    Attributes
    ----------
    status : list of str
        "new"; "exact", a copy of a kept document; "same-letters", the features of one in another text; "near", a
        near-duplicate of one; "known", the same id with the same content, for which the other columns repeat the first
        result; "conflict", the same id with another content, which was not added (with `conflicts="report"`);
        "empty", a text without features, which a store with `empty="drop"` does not take.
    ids : list
        Id of the matching document, None for a new one. Of several kept documents that match, the one added first.
    distances : (n,) int64, float64 for vectors
        Distance to the matching document; -1 for a new document.
    similarities : (n,) float64
        Verified similarity to the matching document, 1 for an exact copy. For files scores, 100 for an exact copy. For
        vectors cosines, NaN for families of a distance. NaN for a new document, and without verification.
    matches : list of lists of StoredMatch
        The best matches of each document, most similar first, if `check` was called with `k`.
    verified : str
        How similarities were verified.
    own_ids : list, optional
        Ids of the documents themselves, row numbers if the caller passed none; None from `check`.
    copies : (n,) int64, optional
        Number of documents that the kept document of each one stands for after the call, itself included: 1 for a new
        document without copies in the batch, 0 for one that was not taken. With `copies=True`.
    better : (n,) bool, optional
        True for a near-duplicate that is better than its match by the keep rule `best`. With `on_better`.

    Examples
    --------
    >>> import nearkin as nk, tempfile
    >>> store = nk.Store.create(tempfile.mkdtemp() + "/pages.store")
    >>> result = store.check_and_add(["one text among many", "another one", "one text among many"], ["a", "b", "c"])
    >>> result.status, result.ids
    (['new', 'new', 'exact'], [None, None, 'a'])
    >>> result.is_new
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
    copies: NDArray[np.int64] | None = None
    better: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{self.status.count(name)} {name}"
            for name in STATUSES
            if name not in ("conflict", "same-letters", "empty") or name in self.status
        )
        return f"CheckResult({len(self)} documents: {counts})"

    @classmethod
    def concat(cls, parts: Sequence[CheckResult]) -> CheckResult:
        """Concatenate the results of consecutive documents."""
        rows: dict[str, Any] = {}
        for name in parts[0]._row_fields():
            values = [getattr(part, name) for part in parts]
            rows[name] = np.concatenate(values) if isinstance(values[0], np.ndarray) else [*chain.from_iterable(values)]
        return replace(parts[0], **rows)

    def part(self, start: int, stop: int) -> CheckResult:
        """Return the result of the documents from `start` to `stop` (exclusive)."""
        rows: dict[str, Any] = {name: getattr(self, name)[start:stop] for name in self._row_fields()}
        return replace(self, **rows)

    def _row_fields(self) -> list[str]:
        """Return the names of the fields with one value per document."""
        return [
            field.name for field in fields(self) if getattr(self, field.name) is not None and field.name != "verified"
        ]

    __iter__ = Tabular.rows

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """True for each document that is new."""
        return np.array([name == "new" for name in self.status], bool)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The result by column: status, id of the match, distance, similarity; copies and better if asked for."""
        asked = {"copies": self.copies, "better": self.better}
        counted = {name: values.tolist() for name, values in asked.items() if values is not None}
        return {
            "status": list(self.status),
            "match": list(self.ids),
            "distance": self.distances.tolist(),
            "similarity": self.similarities.tolist(),
            **counted,
        }

    def _columns(self) -> dict[str, list[Any]]:
        return self.columns

    def _types(self) -> dict[str, str]:
        return {"status": "string", "distance": "int64", "similarity": "float64"}


@dataclass(frozen=True)
class StoredDocument:
    """A stored document, without its text.

    Attributes
    ----------
    id : int or str
    row : int
        Its number in the order of addition.
    status : {"new", "exact", "same-letters", "near"}
        Its status when it was added. New documents are kept.
    match : int or str, optional
        Id of the document it matched; None for a new one, and if that document was removed.
    distance : int, float for vectors
        Distance to the match, -1 for a new document.
    similarity : float
        Verified similarity to the match, NaN for a new document.
    features, length : int
        Distinct features, and characters of the text. For a file 1 unless it is empty, and its bytes. For a vector 1,
        and its dimension.
    columns : dict
        The columns it was added with.
    copies : int, optional
        With `ledger=True` the number of documents that it stands for, itself included; 0 if it is not kept.
    sources : int, optional
        With `ledger=True` the number of different values in the column `source` of these documents; a missing value, or
        null, is none.
    first_seen, last_seen : datetime, optional
        With `ledger=True` when the first and the last document were added, up to ten minutes early. None for
        documents that were added before a store recorded it.
    """

    id: Id
    row: int
    status: Status
    match: Id | None
    distance: float
    similarity: float
    features: int
    length: int
    columns: dict[str, Cell]
    copies: int | None = None
    sources: int | None = None
    first_seen: datetime | None = None
    last_seen: datetime | None = None


@dataclass(frozen=True)
class StoreStats:
    """Counts, sizes and settings of a store.

    Attributes
    ----------
    documents : int
        Documents added and not removed.
    waiting : int
        Pending documents, which no segment holds yet.
    segments : int
    removed : int
        Removed documents that the next merge drops from the files.
    bytes : dict of str to int
        On disk: "log", "documents", "index", and their "total".
    settings : dict
        Recipe, threshold, radius or bands, the rule for texts, how matches are verified.
    lost : int
        Records of segments and commits that are missing; `verify` and the warning of `open` describe them.
    kept : int, optional
        With `ledger=True` the number of kept documents, which stand for all others.
    sources : int, optional
        With `ledger=True` the number of different values in the column `source` of all documents.
    """

    documents: int
    waiting: int
    segments: int
    removed: int
    bytes: dict[str, int]
    settings: dict[str, Any]
    lost: int = 0
    kept: int | None = None
    sources: int | None = None

    def _repr_html_(self) -> str:
        """Return counts, sizes and settings as HTML, for a notebook."""
        counts = [(name, f"{getattr(self, name):,}") for name in ("documents", "waiting", "segments", "removed")]
        sizes = [(f"bytes, {name}", f"{size:,}") for name, size in self.bytes.items()]
        return html_facts([*counts, *sizes, *self.settings.items()])


@dataclass(frozen=True)
class Expired:
    """Result of `Store.expire`.

    Attributes
    ----------
    documents : int
        Expired documents: removed, unless it was a dry run.
    undated : int
        Documents without a time, which are kept.
    before : datetime
        Documents of an earlier time have expired.
    dry_run : bool
        True if nothing was removed.
    """

    documents: int
    undated: int
    before: datetime
    dry_run: bool


def export_lines(store: Store, documents: list[StoredDocument], *, include_duplicates: bool) -> Iterator[bytes]:
    """Yield the exported line of each document.

    Raises
    ------
    ParameterError
        A column with the name of another field.
    """
    for document, own in zip(documents, export_fields(store, documents), strict=True):
        if clash := own.keys() & document.columns.keys():
            raise bad_parameter("columns", sorted(clash)[0], f"columns with other names than {', '.join(own)}")
        line: dict[str, Any] = {**own, **document.columns}
        if include_duplicates:
            line |= {"status": document.status, "match": document.match}
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def export_fields(store: Store, documents: list[StoredDocument]) -> list[dict[str, Any]]:
    """Return the fields of an exported line that come before the columns."""
    if not documents:
        return []
    ids = [document.id for document in documents]
    fields: dict[str, Iterable[Any]] = {"id": ids}
    if store.settings.kind == "vector":
        fields["vector"] = store.values(ids).tolist()
    elif store.settings.kind == "text":
        fields["text"] = store.texts(ids)
    else:
        fields |= {"path": map(str, ids), "digest": store.values(ids).tolist()}
        fields |= {"recipe": [str(store.recipe)] * len(ids), "content": store.content_hashes(ids)}
        fields["length"] = [document.length for document in documents]
    if documents[0].copies is not None:
        for name in ("copies", "sources"):
            fields[name] = [getattr(document, name) for document in documents]
        for name in ("first_seen", "last_seen"):
            times = [getattr(document, name) for document in documents]
            fields[name] = [None if time is None else time.isoformat() for time in times]
    return [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]
