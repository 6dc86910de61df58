"""Results of the client, made of the answers of a service: the classes of the store, with its types and values.

JSON has no NaN: a similarity that nothing verified is null there, and NaN again here.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec
import numpy as np

from nearkin.errors import ServiceError
from nearkin.index.ids import Id
from nearkin.service.client_calls import ARROW, NDJSON, decoded
from nearkin.service.client_errors import error_of, service_error
from nearkin.store.records import Cell, Status
from nearkin.store.results import CheckResult, StoredDocument, StoredMatch, StoreStats

if TYPE_CHECKING:
    import httpx
    from numpy.typing import NDArray

    Distances = NDArray[np.int64] | NDArray[np.float64]

KEY = "idempotency_key"
"""The column in which a service remembers the key of a change."""
_STATUSES = frozenset(get_args(Status))


class MatchAnswer(msgspec.Struct):
    """A stored document that matches."""

    id: int | str
    distance: int | float
    similarity: float | None = None
    columns: dict[str, Cell] = {}

    def match(self) -> StoredMatch:
        """As the store gives it."""
        return StoredMatch(self.id, self.distance, _number(self.similarity), without_key(self.columns))


class MatchesAnswer(msgspec.Struct):
    """The matches of a query."""

    matches: list[MatchAnswer]


class ResultsAnswer(msgspec.Struct):
    """The matches of several queries."""

    results: list[MatchesAnswer]


class Answer(msgspec.Struct):
    """What is said of a document."""

    status: Status
    match: int | str | None = None
    distance: int | float = -1
    similarity: float | None = None
    id: int | str | None = None
    matches: list[MatchAnswer] | None = None


class LineError(msgspec.Struct):
    """What is wrong with a line, if something is."""

    error: dict[str, Any] | None = None


class BatchAnswer(msgspec.Struct):
    """What is said of a batch."""

    answers: list[Answer]
    verified: str


class DocumentAnswer(msgspec.Struct):
    """A document of the store."""

    id: int | str
    row: int
    status: Status
    match: int | str | None
    distance: int | float
    similarity: float | None
    features: int
    length: int
    columns: dict[str, Cell]
    text: str | None = None

    def document(self) -> StoredDocument:
        """As the store gives it."""
        similarity = _number(self.similarity)
        return StoredDocument(
            self.id,
            self.row,
            self.status,
            self.match,
            self.distance,
            similarity,
            self.features,
            self.length,
            without_key(self.columns),
        )


class DocumentsAnswer(msgspec.Struct):
    """Documents of the store; None for one that is not there."""

    documents: list[DocumentAnswer | None]


class RemovedAnswer(msgspec.Struct):
    """How many documents were removed."""

    removed: int


class BackupAnswer(msgspec.Struct):
    """Where a backup is, on the machine of the service."""

    path: str


class LimitsAnswer(msgspec.Struct):
    """What a service takes: bytes of a body and of a line, documents of a batch, matches of a document."""

    body: int
    batch: int
    k: int = 1000


class InfoAnswer(msgspec.Struct):
    """What a store holds, and what its service takes."""

    documents: int
    waiting: int
    segments: int
    removed: int
    bytes: dict[str, int]
    settings: dict[str, Any]
    kind: str
    id_kind: str
    limits: LimitsAnswer
    readonly: bool = False

    def stats(self) -> StoreStats:
        """As the store gives it."""
        return StoreStats(self.documents, self.waiting, self.segments, self.removed, self.bytes, self.settings)


def without_key(columns: dict[str, Cell]) -> dict[str, Cell]:
    """Columns as they were given, without the idempotency key that the service remembers beside them."""
    return {name: cell for name, cell in columns.items() if name != KEY}


def _number(similarity: float | None) -> float:
    return math.nan if similarity is None else similarity


@dataclass(frozen=True)
class Asked:
    """What a piece of a call has asked for.

    Attributes
    ----------
    url : str
        The service.
    distance_type : type
        Of distances in the store.
    count : int
        Documents of the piece.
    ids : list of int or str, optional
        Theirs, where they were given.
    adds : bool
        Whether documents were added, and have ids.
    matched : bool
        Whether their matches were asked for.
    """

    url: str
    distance_type: type
    count: int
    ids: list[Id] | None = None
    adds: bool = False
    matched: bool = False


def answers_of(response: httpx.Response, asked: Asked, verified: str = "") -> CheckResult:
    """The answers to a piece.

    Parameters
    ----------
    response : httpx.Response
    asked : Asked
    verified : str
        How similarities are verified, for answers by lines, which do not say it.

    Raises
    ------
    ServiceError
        What came is no such answer.
    NearkinError
        The error of a line, unless it is a conflict.
    """
    kind = response.headers.get("Content-Type", "")
    if kind.startswith(ARROW):
        made, own = _of_arrow(response, asked)
    else:
        found = _of_lines(response, asked, verified) if kind.startswith(NDJSON) else None
        made, own = _of_json(found or decoded(response, BatchAnswer, asked.url), asked)
    if len(made) != asked.count:
        raise service_error(asked.url, f"answered {len(made)} times to {asked.count} documents")
    if not asked.adds:
        return made
    ids = own if asked.ids is None else asked.ids
    if None in ids:
        raise _not_understood(asked.url, "documents that were added have no ids")
    return replace(made, own_ids=cast("list[Id]", ids))


def _of_lines(response: httpx.Response, asked: Asked, verified: str) -> BatchAnswer:
    """The answers of lines, of which one with the id of another content is a conflict."""
    found: list[Answer] = []
    for line in response.content.splitlines():
        try:
            problem = msgspec.json.decode(line, type=LineError).error
            one = Answer("conflict") if problem is not None else msgspec.json.decode(line, type=Answer)
        except msgspec.DecodeError as error:
            raise _not_understood(asked.url, error) from error
        if problem is not None and not str(problem.get("type", "")).endswith(":other-content"):
            raise error_of(problem, int(problem.get("status", 0)), asked.url)
        found.append(one)
    return BatchAnswer(found, verified)


def _of_json(found: BatchAnswer, asked: Asked) -> tuple[CheckResult, Sequence[Id | None]]:
    try:
        distances: Distances = np.array([one.distance for one in found.answers], asked.distance_type)
    except OverflowError as error:
        raise _not_understood(asked.url, error) from error
    made = CheckResult(
        [one.status for one in found.answers],
        [one.match for one in found.answers],
        distances,
        np.array([_number(one.similarity) for one in found.answers], np.float64),
        [[match.match() for match in one.matches or ()] for one in found.answers] if asked.matched else None,
        found.verified,
    )
    return made, [one.id for one in found.answers]


def _of_arrow(response: httpx.Response, asked: Asked) -> tuple[CheckResult, Sequence[Id | None]]:
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(io.BytesIO(response.content)) as reader:
            table = reader.read_all()
        status = table.column("status").to_pylist()
        unknown = next(iter(set(status) - _STATUSES), None)
        if unknown is not None:
            raise ValueError(f"the status {unknown!r}")
        verified = (table.schema.metadata or {})[b"verified"].decode()
        distances: Distances = np.array(table.column("distance").to_pylist(), asked.distance_type)
        similarities = np.array(table.column("similarity").to_pylist(), np.float64)
        matches: list[list[StoredMatch]] | None = [] if asked.matched else None
        others = table.column("match").to_pylist()
        own = table.column("id").to_pylist() if "id" in table.column_names else [None] * len(table)
        odd = next((one for one in others + own if not isinstance(one, (int, str, type(None)))), None)
        if odd is not None:
            raise ValueError(f"the id {odd!r}")
        made = CheckResult(status, others, distances, similarities, matches, verified)
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise _not_understood(asked.url, error) from error
    return made, own


def _not_understood(url: str, what: object) -> ServiceError:
    return service_error(
        url, f"answered what this client does not understand ({what}); are both of one version of nearkin?"
    )


def joined(parts: Sequence[CheckResult]) -> CheckResult:
    """The answers of the pieces of a call."""
    first = parts[0]
    if len(parts) == 1:
        return first
    own = None if first.own_ids is None else [name for part in parts for name in part.own_ids or ()]
    matches = None if first.matches is None else [one for part in parts for one in part.matches or ()]
    return replace(
        first,
        status=[one for part in parts for one in part.status],
        ids=[one for part in parts for one in part.ids],
        distances=np.concatenate([part.distances for part in parts]),
        similarities=np.concatenate([part.similarities for part in parts]),
        matches=matches,
        own_ids=own,
    )
