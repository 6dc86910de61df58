"""Routes of the service. Each one reads a body, passes it to the store, and encodes the result."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote_to_bytes

from nearkin._core import __version__
from nearkin.errors import NearkinError, require_extra
from nearkin.index.ids import Id
from nearkin.recipe import Recipe
from nearkin.service.auth import AccessControl, ReadRequest, WriteRequest, check_parameters
from nearkin.service.bodies import (
    QueryBatch,
    Row,
    check_batch,
    documents_from_arrow,
    documents_from_json,
    documents_from_lines,
    ids_from_arrow,
    ids_from_json,
    make_decoder,
    matches_rows,
    matches_to_arrow,
    queries_from_arrow,
    queries_from_json,
    result_rows,
    result_to_arrow,
)
from nearkin.service.errors import Problem, bad_request, problem_from
from nearkin.service.executor import Operation
from nearkin.service.models import (
    ARROW,
    JSON,
    NDJSON,
    BackupInput,
    BackupOutput,
    BatchOutput,
    DocumentOutput,
    DocumentsInput,
    IdsInput,
    InfoOutput,
    LimitsOutput,
    MatchesOutput,
    QueriesInput,
    RemovedOutput,
    SearchOutput,
    StoredListOutput,
    StoredOutput,
    end_line,
)
from nearkin.service.openapi import problems, request_body, success
from nearkin.service.request import HttpRequest
from nearkin.service.responses import JsonResponse, NdjsonStream, encode_lines
from nearkin.service.settings import MAX_K
from nearkin.store.dedup import OnBetter
from nearkin.store.store import Store

with require_extra("service", "a service"):
    from fastapi import APIRouter, Depends, Query, Response
    from fastapi.responses import PlainTextResponse
    from msgspec import UNSET, Struct

T = TypeVar("T")
DEFAULT_K = 10
_LARGE = 1 << 16
"""Bytes from which a body is decoded in a thread."""
_POLL_SECONDS = 0.005

MaxMatches = Annotated[int | None, Query(ge=1, le=MAX_K, description="Number of best matches.")]
Radius = Annotated[int | None, Query(ge=0, le=1024, description="Maximum Hamming distance.")]
RecipeText = Annotated[str | None, Query(description="Refuse the request unless this is the recipe of the store.")]
Strict = Annotated[bool, Query(description="For NDJSON: the first bad line refuses all.")]
Copies = Annotated[bool, Query(description="Count the documents that each kept one stands for.")]
Better = Annotated[OnBetter | None, Query(description="Keep or replace the match of a better near-duplicate.")]
MissingOk = Annotated[bool, Query(description="Ignore ids that do not exist.")]
Erase = Annotated[bool, Query(description="Erase the documents from every file now, by a merge.")]
WithText = Annotated[bool, Query(description="Include the text.")]

_FOX = {"id": "http://a", "text": "The quick brown fox jumps over the lazy dog.", "columns": {"source": "web"}}
_NEAR = {"id": "http://b", "status": "near", "match": "http://a", "distance": 9, "similarity": 0.76}
_BATCH = {"answers": [_NEAR], "verified": "jaccard of the texts' features"}
_DOCUMENTS = request_body(DocumentsInput, line="A document", arrow=True, one=_FOX, batch={"documents": [_FOX]})
_RESULTS = success(DocumentOutput, BatchOutput, line="A result", arrow=True, one=_NEAR, batch=_BATCH)
_IDS = request_body(IdsInput, line="An object", arrow=True, one={"id": "http://a"}, batch={"ids": ["http://a"]})
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request that is repeated with the same key gets its first response again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
}
_CHANGE = {"parameters": [_KEY], **_DOCUMENTS}

store_router = APIRouter(tags=["store"], dependencies=[Depends(check_parameters)], responses=problems())


# Documents


@store_router.post("/v1/check-and-add", responses=_RESULTS, openapi_extra=_CHANGE)
async def check_and_add(
    request: WriteRequest,
    recipe: RecipeText = None,
    strict: Strict = False,
    copies: Copies = False,
    on_better: Better = None,
) -> Response:
    """Check documents and add them: one, a batch (all or nothing), NDJSON (line by line) or Arrow; durable."""
    request.state.check_writable()
    return await submit_documents(request, "check-and-add", recipe, strict=strict, copies=copies, on_better=on_better)


@store_router.post("/v1/check", responses=_RESULTS, openapi_extra=_DOCUMENTS)
async def check(
    request: ReadRequest, k: MaxMatches = None, recipe: RecipeText = None, strict: Strict = False
) -> Response:
    """Return the result that each document would get. Nothing is added."""
    if request.idempotency_key is not None:
        raise bad_request("an idempotency key", "a check changes nothing; omit it")
    return await submit_documents(request, "check", recipe, strict=strict, k=k)


@store_router.post("/v1/add", responses=_RESULTS, openapi_extra=_CHANGE)
async def add(request: WriteRequest, recipe: RecipeText = None, strict: Strict = False) -> Response:
    """Add documents, even duplicates. See `/v1/check-and-add`."""
    request.state.check_writable()
    return await submit_documents(request, "add", recipe, strict=strict)


async def submit_documents(
    request: HttpRequest, operation: Operation, recipe: str | None, *, strict: bool, **options: Any
) -> Response:
    """Check or add the documents of a request."""
    check_recipe(request, recipe)
    state, media_type = request.state, request.media_type
    settings, limits = state.store_settings, state.limits
    submit: Callable[..., Awaitable[Any]] = partial(state.submit, operation, key=request.idempotency_key, **options)
    if media_type == NDJSON:

        async def process(lines: list[bytes], first: int) -> list[Row]:
            size = sum(map(len, lines))
            documents = await decode(request, size, partial(documents_from_lines, lines, settings))
            return [*result_rows(await submit(documents, line=first), documents)]

        async def process_line(line: bytes, number: int, details: dict[str, Any]) -> Row:
            documents = documents_from_lines([line], settings, place=None)
            if documents.ids is not None:
                details["id"] = documents.ids[0]
            return result_rows(await submit(documents, line=number), documents)[0]

        if not strict:
            return line_stream(request, process_line, process)
        data = await request.body()
        lines = data.removesuffix(b"\n").split(b"\n") if data else []
        check_batch(len(lines), limits)
        results = await process(lines, 1)
        return Response(encode_lines(results) + end_line(len(results)) + b"\n", media_type=NDJSON)
    if strict:
        raise bad_request("strict", "it is for NDJSON: a batch of JSON or Arrow is always all or nothing")
    if media_type == ARROW and options.get("k") is not None:
        raise bad_request("k with an Arrow stream", "send JSON or NDJSON")
    documents = await read_body(request, documents_from_json, documents_from_arrow, settings=settings, limits=limits)
    result = await submit(documents)
    if media_type == ARROW:
        return Response(await asyncio.to_thread(result_to_arrow, result, documents), media_type=ARROW)
    rows = result_rows(result, documents)
    return JsonResponse(rows[0] if documents.is_single else BatchOutput(rows, result.verified))


@store_router.post(
    "/v1/search",
    responses=success(MatchesOutput, SearchOutput, line="Matches", arrow=True, one={"matches": []}),
    openapi_extra=request_body(QueriesInput, line="A query", arrow=True, text={"text": _FOX["text"]}),
)
async def search(
    request: ReadRequest, k: MaxMatches = DEFAULT_K, radius: Radius = None, recipe: RecipeText = None
) -> Response:
    """Return the stored documents nearest to fingerprints (hexadecimal), signatures, digests, vectors or texts."""
    check_recipe(request, recipe)
    state = request.state

    def find(queries: QueryBatch, store: Store) -> Any:
        if not queries.are_texts:
            return store.search(queries.values, radius=radius, k=k or DEFAULT_K)
        if radius is not None:
            raise bad_request("radius with a text", "the matches of a text are verified; omit it")
        return store.check(queries.values, k=k).matches

    options: Any = {"settings": state.store_settings, "limits": state.limits}
    if request.media_type == NDJSON:

        async def process_line(line: bytes, *_: object) -> Row:
            return matches_rows(await state.read(partial(find, queries_from_json(line, **options))))[0]

        return line_stream(request, process_line)
    queries = await read_body(request, queries_from_json, queries_from_arrow, **options)
    results = await state.read(partial(find, queries))
    if request.media_type == ARROW:
        return Response(await asyncio.to_thread(matches_to_arrow, results), media_type=ARROW)
    rows = matches_rows(results)
    return JsonResponse(rows[0] if queries.is_single else SearchOutput(rows))


# Documents by id


@store_router.post(
    "/v1/remove", responses=success(RemovedOutput, line="A count", one={"removed": 1}), openapi_extra=_IDS
)
async def remove(request: WriteRequest, missing_ok: MissingOk = False, erase: Erase = False) -> Response:
    """Remove documents: hide them from every result, at once and durably."""
    state = request.state
    if request.idempotency_key is not None:
        raise bad_request("an idempotency key", "a repeated removal gets a 404, or is ignored with missing_ok")
    if erase and request.media_type == NDJSON:
        raise bad_request("erase with NDJSON", 'send {"ids": [...]}')
    state.check_writable()

    def call(ids: list[Id], store: Store) -> int:
        check_id_kind(store, ids)
        return store.remove(ids, missing_ok=missing_ok)

    if request.media_type == NDJSON:

        async def process_line(line: bytes, *_: object) -> Row:
            return RemovedOutput(await state.write(partial(call, ids_from_json(line, state.limits))))

        return line_stream(request, process_line)
    removed = await state.write(partial(call, await read_ids(request)))
    if erase and removed:
        await state.merge()
    return JsonResponse(RemovedOutput(removed))


@store_router.get("/v1/documents/{id:path}", responses=success(StoredOutput))
async def document(request: ReadRequest, id: str, text: WithText = False) -> Response:
    """Return a stored document. Its id is percent-encoded."""
    try:
        name = unquote_to_bytes(id).decode("utf-8")
    except UnicodeDecodeError:
        raise bad_request("an id that is not UTF-8", "percent-encode its UTF-8") from None

    def call(store: Store) -> Any:
        ids: list[Id] = [parse_integer_id(name) if store.id_kind == "int" else name]
        return get_documents(ids, store, with_text=text)

    return JsonResponse((await request.state.read(call))[0])


@store_router.post("/v1/documents", responses=success(StoredListOutput, line="A document"), openapi_extra=_IDS)
async def documents(request: ReadRequest, text: WithText = False, missing_ok: MissingOk = False) -> Response:
    """Return stored documents, in the order of their ids."""
    state = request.state
    if request.media_type == NDJSON:

        async def process_line(line: bytes, *_: object) -> Row:
            ids = ids_from_json(line, state.limits)
            if len(ids) != 1:
                raise bad_request(f"{len(ids)} ids in a line", 'send {"id": …} per line')
            row: Row = (await state.read(partial(get_documents, ids, with_text=text)))[0]
            return row

        return line_stream(request, process_line)
    call = partial(get_documents, await read_ids(request), with_text=text, missing_ok=missing_ok)
    return JsonResponse(StoredListOutput(await state.read(call)))


def get_documents(ids: list[Id], store: Store, *, with_text: bool, missing_ok: bool = False) -> Any:
    """Return stored documents by id; None for one that does not exist."""
    check_id_kind(store, ids)
    if with_text and store.settings.kind != "text":
        raise bad_request("text", "only a store of texts has them")
    stored = store.get(ids, missing_ok=missing_ok)
    present = [document.id for document in stored if document is not None]
    texts = dict(zip(present, store.texts(present), strict=True)) if with_text else {}
    return [
        document and StoredOutput(**_shared(document, StoredOutput), text=texts.get(document.id, UNSET))
        for document in stored
    ]


def _shared(result: object, output: type[Struct]) -> dict[str, Any]:
    """Return the fields of a result that the service sends."""
    return {name: value for name, value in vars(result).items() if name in output.__struct_fields__}


def check_id_kind(store: Store, ids: list[Id]) -> None:
    """Raise other-kind for ids of another type than those of the store, which can't exist."""
    kind = store.id_kind
    if ids and kind and (kind == "str") != isinstance(ids[0], str):
        allowed = "strings" if kind == "str" else "integers"
        raise Problem("other-kind", f"id {ids[0]!r}; the ids of this store are {allowed}", id=ids[0], allowed=allowed)


def parse_integer_id(name: str) -> int:
    """Convert an id in a path to an integer of 64 bits."""
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and -(1 << 63) <= int(name) < 1 << 63):
        message = f"{name[:40]!r} is not an integer; the ids of this store are integers"
        raise Problem("no-such-document", message, id=name[:40])
    return int(name)


# Maintenance


@store_router.get("/v1/info", responses=success(InfoOutput))
async def info(request: ReadRequest) -> Response:
    """Return sizes and settings of the store, and the limits of the service."""
    state, limits = request.state, request.state.limits
    stats, id_kind = await state.read(lambda store: (state.stats(store), store.id_kind))
    body = InfoOutput(
        **_shared(stats, InfoOutput),
        kind=state.store_settings.kind + "s",
        id_kind=id_kind,
        version=__version__,
        readonly=state.is_readonly,
        reason_readonly=state.disk_error and f"disk full: {state.disk_error}",
        limits=LimitsOutput(limits.max_body, limits.max_batch, limits.max_line, MAX_K),
    )
    return JsonResponse(body)


@store_router.post("/v1/merge", responses=success(InfoOutput))
async def merge(request: WriteRequest) -> Response:
    """Merge all segments into one, without removed documents."""
    request.state.check_writable()
    if await request.body():
        raise bad_request("a body", "this route takes none")
    await request.state.merge()
    return await info(request)


@store_router.post(
    "/v1/backup",
    status_code=201,
    responses=success(BackupOutput, status=201),
    openapi_extra=request_body(BackupInput, one={"name": "2026-11-22"}),
)
async def backup(request: WriteRequest) -> Response:
    """Copy the store into the folder of `--backups`."""
    if (folder := request.state.settings.backups) is None:
        raise Problem("no-backups", "start the service with --backups FOLDER")
    target = folder.absolute() / (await read_body(request, decode_backup)).name
    await request.state.backup(target)
    return JsonResponse(BackupOutput(str(target)), 201)


decode_backup = make_decoder(BackupInput)


@store_router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: ReadRequest) -> Response:
    """Return request rates, latencies, commits, results and sizes for Prometheus."""
    state = request.state
    queue = {"queue_bytes": state.admission.bytes, "queue_documents": state.admission.documents}
    access: AccessControl = request.scope["app"].access
    flags = {"readonly": int(state.is_readonly), "token_file_error": int(access.token_error is not None)}
    stats = await state.read(state.stats) if state.has_store else None
    text = state.metrics.render(stats, {**queue, **flags})
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


# Helpers


async def decode(request: HttpRequest, size: int, work: Callable[[], T]) -> T:
    """Call a function, in a thread if it handles many bytes."""
    return work() if size < _LARGE else await request.run(work)


async def read_body(
    request: HttpRequest, from_json: Callable[..., T], from_arrow: Callable[..., T] | None = None, **options: Any
) -> T:
    """Read and decode a body of JSON or Arrow."""
    readers = {JSON: from_json} if from_arrow is None else {JSON: from_json, NDJSON: None, ARROW: from_arrow}
    reader = readers.get(request.media_type)
    if reader is None:
        found = request.media_type[:60] or "none"
        message = f"content type {found}; use {', '.join(readers)}"
        raise Problem("media-type", message, found=found, allowed=list(readers))
    data = await request.body()
    return await decode(request, len(data), partial(reader, data, **options))


async def read_ids(request: HttpRequest) -> list[Id]:
    """Read a body of ids."""
    return await read_body(request, ids_from_json, ids_from_arrow, limits=request.state.limits)


def line_stream(
    request: HttpRequest,
    process_line: Callable[[bytes, int, dict[str, Any]], Awaitable[Row]],
    process: Callable[[list[bytes], int], Awaitable[list[Row]]] | None = None,
) -> NdjsonStream:
    """Return a response in which a bad line does not affect the others.

    Parameters
    ----------
    request : HttpRequest
    process_line : callable
        Submits a line to the store before it waits for anything, and returns the result. Takes the line, its number,
        and a mapping whose content becomes part of an error.
    process : callable, optional
        Processes several lines at once, or raises an error and changes nothing. Takes the lines, and the number of the
        first.
    """

    async def try_line(number: int, line: bytes) -> Row:
        details: dict[str, Any] = {}
        try:
            return await process_line(line, number, details)
        except (Problem, NearkinError) as error:
            return {"line": number, "error": problem_from(error).details(), **details}

    async def process_lines(lines: list[bytes], first: int) -> list[Row]:
        while not request.state.admission.can_reserve(len(lines)):
            await asyncio.sleep(_POLL_SECONDS)
        if process is not None:
            # The common case is that all lines are valid.
            with suppress(Problem, NearkinError):
                return await process(lines, first)
        # Tasks start in their order.
        return await asyncio.gather(*itertools.starmap(try_line, enumerate(lines, first)))

    return NdjsonStream(request, process_lines)


def check_recipe(request: HttpRequest, text: str | None) -> None:
    """Raise other-recipe if a request names another recipe than the store's."""
    if text is None:
        return
    recipe = request.state.store_settings.recipe
    if str(Recipe.of(text) if isinstance(recipe, Recipe) else text) != str(recipe):
        message = f"the recipe of the store is {recipe}, not {text}; omit `recipe` to accept it"
        raise Problem("other-recipe", message, found=text, allowed=str(recipe))
