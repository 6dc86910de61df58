"""JSON models of requests and responses, shared by the service, its OpenAPI document and the client.

They are msgspec structs: decoding validates types and ranges, UNSET marks a member that is absent. JSON has no NaN: a
similarity that was not verified is null.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from nearkin.errors import require_extra
from nearkin.store.records import Cell

with require_extra("service", "a service"):
    import msgspec
    from msgspec import UNSET, Meta, Struct, UnsetType

JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
KEY = "idempotency_key"
"""The column in which a service stores the idempotency key of a document."""

IntId = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
AnyId = IntId | str

encode = msgspec.json.Encoder().encode


def end_line(results: int) -> bytes:
    """Return the last line of a complete response of NDJSON, without its newline."""
    return encode({"end": True, "results": results})


class DocumentInput(Struct, forbid_unknown_fields=True):
    """A document: a text, or its counterpart in a store of files or vectors."""

    id: AnyId | UnsetType = UNSET
    text: str | UnsetType | None = UNSET
    columns: dict[str, bool | int | float | str | None] | UnsetType = UNSET
    digest: str | UnsetType = UNSET
    bytes: Annotated[str, Meta(description="Content of a file, in base64.")] | UnsetType = UNSET
    vector: list[float] | UnsetType = UNSET


class DocumentsInput(DocumentInput, forbid_unknown_fields=True):
    """A document, or a batch of documents."""

    documents: list[DocumentInput] | UnsetType = UNSET


class QueryInput(Struct, forbid_unknown_fields=True):
    """A query: exactly one of its members."""

    fingerprint: Annotated[str, Meta(description="Hexadecimal.")] | UnsetType = UNSET
    signature: list[Annotated[int, Meta(ge=0)]] | UnsetType = UNSET
    digest: str | UnsetType = UNSET
    vector: list[float] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class QueriesInput(QueryInput, forbid_unknown_fields=True):
    """A query, or a batch of queries."""

    queries: list[QueryInput] | UnsetType = UNSET


class IdsInput(Struct, forbid_unknown_fields=True):
    """An id, or several."""

    id: AnyId | UnsetType = UNSET
    ids: list[AnyId] | UnsetType = UNSET


class BackupInput(Struct, forbid_unknown_fields=True):
    """The name of a backup."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class MatchOutput(Struct):
    """A stored document that matches."""

    id: AnyId
    distance: int | float
    similarity: float | None
    columns: dict[str, Cell]


class DocumentOutput(Struct, kw_only=True):
    """The result of a document."""

    id: AnyId | UnsetType = UNSET
    status: Literal["new", "exact", "same-letters", "near", "known", "empty"]
    match: AnyId | None
    distance: Annotated[int | float, Meta(description="Distance to the match; -1 for a new document.")]
    similarity: Annotated[float | None, Meta(description="Verified similarity; null for a new document.")]
    matches: Annotated[list[MatchOutput], Meta(description="With k: the best matches.")] | UnsetType = UNSET
    copies: Annotated[int, Meta(description="With copies: documents that the kept one stands for.")] | UnsetType = UNSET
    better: Annotated[bool, Meta(description="With on_better: it is better than its match.")] | UnsetType = UNSET


class BatchOutput(Struct):
    """The results of a batch."""

    answers: list[DocumentOutput]
    verified: str


class MatchesOutput(Struct):
    """The matches of a query, nearest first."""

    matches: list[MatchOutput]


class SearchOutput(Struct):
    """The matches of several queries."""

    results: list[MatchesOutput]


class StoredOutput(Struct):
    """A stored document."""

    id: AnyId
    row: int
    status: Literal["new", "exact", "same-letters", "near"]
    match: AnyId | None
    distance: int | float
    similarity: float | None
    features: int
    length: int
    columns: dict[str, Cell]
    text: str | UnsetType | None = UNSET


class StoredListOutput(Struct):
    """Stored documents, in the order of their ids; null if an id does not exist."""

    documents: list[StoredOutput | None]


class RemovedOutput(Struct):
    """The number of documents that were removed."""

    removed: int


class BackupOutput(Struct):
    """The path of a backup, on the machine of the service."""

    path: str


class LimitsOutput(Struct):
    """Limits of a request: bytes of a body, documents of a batch, bytes of a line, matches per document."""

    body: int
    batch: int
    line: int = 0
    k: int = 1000


class InfoOutput(Struct, kw_only=True):
    """Size and settings of the store, and limits of the service."""

    documents: int
    waiting: int
    segments: int
    removed: int
    bytes: dict[str, int]
    settings: dict[str, Any]
    kind: str
    id_kind: str
    version: str = ""
    lost: int = 0
    readonly: bool = False
    reason_readonly: str | None = None
    limits: LimitsOutput


class ItemsInput(Struct, forbid_unknown_fields=True):
    """Items of patterns: URLs, log lines or payloads; optionally with their times (ISO 8601)."""

    items: list[str]
    times: list[str] | UnsetType = UNSET


class PatternsOutput(Struct):
    """Patterns, the most frequent first; the numbers of items, of all patterns, and of items without one."""

    kind: str
    items: int
    num_patterns: int
    unmatched: int
    patterns: list[dict[str, Any]]


class PatternMatchesOutput(Struct):
    """For each item `id`, `pattern` (null without one) and `variables`; for URLs also `verdict` and `unusual`."""

    results: list[dict[str, Any]]


class PatternsFitOutput(Struct):
    """The numbers of items and of patterns after a change."""

    items: int
    num_patterns: int


class ChangesOutput(Struct):
    """Changes: `kind` (new, gone, type, share), `id`, `pattern`, `was`, and the shares `before` and `after`."""

    changes: list[dict[str, Any]]


class ProblemOutput(Struct):
    """Problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | UnsetType = UNSET
    place: str | UnsetType = UNSET
    found: Any = UNSET
    allowed: Any = UNSET
    id: AnyId | UnsetType = UNSET


REQUESTS = (DocumentsInput, QueriesInput, IdsInput, BackupInput, ItemsInput)
RESPONSES = (
    DocumentOutput, BatchOutput, MatchesOutput, SearchOutput, StoredOutput, StoredListOutput, RemovedOutput,
    BackupOutput, InfoOutput, PatternsOutput, PatternMatchesOutput, PatternsFitOutput, ChangesOutput, ProblemOutput,
)  # fmt: skip
