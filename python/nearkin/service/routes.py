"""What each route does: a body becomes a job, its result a reply. Nothing here knows how documents are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from msgspec import UNSET

from nearkin._core import __version__
from nearkin.errors import ParameterError
from nearkin.index.ids import Id
from nearkin.recipe import Recipe
from nearkin.service.bodies import (
    ARROW,
    JSON,
    NDJSON,
    Documents,
    Item,
    Queries,
    documents_of,
    documents_of_arrow,
    documents_of_json,
    ids_of_arrow,
    ids_of_json,
    queries_of_arrow,
    queries_of_json,
    query_of_line,
    read_backup_name,
    read_item,
)
from nearkin.service.calls import LARGE, Call, Send, count, flag
from nearkin.service.errors import Problem, bad_request, problem_of
from nearkin.service.executor import Verb
from nearkin.service.responses import (
    Outcome,
    Reply,
    Row,
    answers_reply,
    arrow_reply,
    document_row,
    encode,
    json_reply,
    match_row,
    matches_reply,
    stats_row,
)
from nearkin.service.state import Hall
from nearkin.service.store_work import KEY, backup
from nearkin.service.streams import answer_stream
from nearkin.store.kinds import StoreSettings
from nearkin.store.store import Store

T = TypeVar("T")
DEFAULT_K = 10
_ROOM_SECONDS = 0.005


class Routes:
    """The routes of one service.

    Parameters
    ----------
    hall : Hall
        The store, its threads, and what is bounded.
    """

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    # Documents

    async def check(self, call: Call, send: Send) -> Reply | int:
        """What each document would be."""
        query = call.query(("k", "recipe", "strict"))
        return await self._documents(call, send, "check", query, count(query, "k", call.limits.k))

    async def add(self, call: Call, send: Send) -> Reply | int:
        """Remember documents that are wanted."""
        return await self._change(call, send, "add")

    async def check_and_add(self, call: Call, send: Send) -> Reply | int:
        """Say of each document whether it is new, and remember it."""
        return await self._change(call, send, "check-and-add")

    async def _change(self, call: Call, send: Send, verb: Verb) -> Reply | int:
        query = call.query(("recipe", "strict"))
        self._hall.check_writable()
        return await self._documents(call, send, verb, query, None)

    async def _documents(self, call: Call, send: Send, verb: Verb, query: dict[str, str], k: int | None) -> Reply | int:
        self._check_recipe(query)
        key, strict, kind = call.key, flag(query, "strict"), call.media_type
        if strict and kind != NDJSON:
            raise bad_request("strict=1", "NDJSON alone takes it: a batch of JSON or Arrow is whole anyway")
        if key is not None and verb == "check":
            raise bad_request("an idempotency key", "a check changes nothing; leave it out")
        if kind == NDJSON:
            if strict or call.headers.get(b"content-encoding", b"identity") != b"identity":
                return await self._lines_at_once(call, send, verb, k, key, strict=strict)
            return await answer_stream(call, send, lambda lines, first: self._lines(call, verb, k, key, lines, first))
        read = {JSON: documents_of_json, ARROW: documents_of_arrow}.get(kind)
        if read is None:
            raise _media_type(call, (JSON, NDJSON, ARROW))
        if kind == ARROW and k is not None:
            raise bad_request("k with an Arrow stream", "send JSON or NDJSON")
        data = await call.body()
        size = len(data)
        documents = await _aside(size, partial(read, data, self._hall.store_settings, call.limits))
        # The texts are held while they wait for the store; what they were read from is not.
        del data
        outcome = await self._asked(verb, documents, k, key)
        ids = documents.ids
        if kind == ARROW:
            return await asyncio.to_thread(arrow_reply, outcome, ids)
        return await _aside(size, partial(answers_reply, outcome, ids, single=documents.single))

    async def _asked(
        self, verb: Verb, documents: Documents, k: int | None, key: str | None, *, whole: bool = True
    ) -> Outcome:
        """What the store says of documents."""
        if key is not None and documents.ids is None:
            raise bad_request("an idempotency key for documents without ids", "give each an id")
        if key is not None and documents.has_column(KEY):
            raise bad_request(f"a column {KEY!r} beside an idempotency key", "give the column another name")
        outcome: Outcome = await self._hall.ask(verb, documents, k=k, key=key, whole=whole)
        return outcome

    async def _lines(
        self, call: Call, verb: Verb, k: int | None, key: str | None, lines: list[bytes], first: int
    ) -> list[Row]:
        """The answers to some lines of a stream; a bad one answers for itself."""
        rows: list[Row | None] = [None] * len(lines)
        good = await _aside(sum(map(len, lines)), partial(self._read_lines, lines, first, rows))
        for places, documents in good:
            while not self._hall.busy.has_room(0, len(documents)):
                await asyncio.sleep(_ROOM_SECONDS)
            try:
                outcome = await self._asked(verb, documents, k, key, whole=False)
            except Problem as problem:
                for place in places:
                    rows[place] = {"error": problem.members(call.instance)}
                continue
            for place, row in zip(places, outcome.rows(documents.ids), strict=True):
                rows[place] = row
        return [_numbered(row, first + at) for at, row in enumerate(rows) if row is not None]

    def _read_lines(
        self, lines: Sequence[bytes], first: int, rows: list[Row | None], *, strict: bool = False
    ) -> list[tuple[list[int], Documents]]:
        """The documents of lines, those that have ids of one kind together; what is wrong goes to `rows`."""
        found: dict[Any, tuple[list[int], list[Any]]] = {}
        settings = self._hall.store_settings
        for place, line in enumerate(lines):
            item = _item_of(line, settings)
            if isinstance(item, Problem):
                if strict:
                    raise item.at(f"line {first + place}")
                rows[place] = {"error": item.members()}
                continue
            places, items = found.setdefault((type(item.id), item.bytes is UNSET), ([], []))
            places.append(place)
            items.append(item)
        return [(places, documents_of(items, settings, None)) for places, items in found.values()]

    async def _lines_at_once(
        self, call: Call, send: Send, verb: Verb, k: int | None, key: str | None, *, strict: bool
    ) -> Reply:
        """NDJSON that is held whole: compressed, or to be refused whole."""
        data = await call.body()
        lines = data.removesuffix(b"\n").split(b"\n") if data else []
        if not strict:
            found: list[Row] = []
            for start in range(0, len(lines), call.limits.batch):
                found += await self._lines(call, verb, k, key, lines[start : start + call.limits.batch], start + 1)
            return _ndjson(found)
        if len(lines) > call.limits.batch:
            raise Problem("too-large", f"{len(lines):,} lines; with strict=1 send at most {call.limits.batch:,}")
        rows: list[Row | None] = [None] * len(lines)
        good = await _aside(len(data), partial(self._read_lines, lines, 1, rows, strict=True))
        if len(good) > 1:
            raise bad_request("documents with and without ids, or of several kinds", "send those of one kind at once")
        if not good:
            return _ndjson([])
        outcome = await self._asked(verb, good[0][1], k, key)
        return _ndjson([_numbered(row, at) for at, row in enumerate(outcome.rows(good[0][1].ids), 1)])

    # Search

    async def search(self, call: Call, send: Send) -> Reply | int:
        """What is nearest to fingerprints, signatures, digests, vectors or texts."""
        query = call.query(("k", "radius", "recipe"))
        self._check_recipe(query)
        k = count(query, "k", call.limits.k) or DEFAULT_K
        radius = count(query, "radius", 1024, 0)
        settings = self._hall.store_settings
        if call.media_type == NDJSON:
            return await answer_stream(call, send, lambda lines, first: self._searched(lines, first, k, radius))
        read = {JSON: queries_of_json, ARROW: queries_of_arrow}.get(call.media_type)
        if read is None:
            raise _media_type(call, (JSON, NDJSON, ARROW))
        data = await call.body()
        queries: Queries = await _aside(len(data), partial(read, data, settings, call.limits))
        results = await self._hall.read(partial(_search, queries=queries, k=k, radius=radius))
        if call.media_type == ARROW:
            return await asyncio.to_thread(matches_reply, results)
        rows = [{"matches": list(map(match_row, matches))} for matches in results]
        return json_reply(rows[0] if queries.single else {"results": rows})

    async def _searched(self, lines: list[bytes], first: int, k: int, radius: int | None) -> list[Row]:
        async def found(line: bytes) -> Row:
            queries = query_of_line(line, self._hall.store_settings)
            (matches,) = await self._hall.read(partial(_search, queries=queries, k=k, radius=radius))
            return {"matches": list(map(match_row, matches))}

        return [await _or_problem(number, found(line)) for number, line in enumerate(lines, first)]

    # By id

    async def remove(self, call: Call, send: Send) -> Reply | int:
        """Hide documents."""
        query = call.query(("missing_ok", "erase"))
        if call.key is not None:
            raise bad_request("an idempotency key", "removing twice is told by 404, or passed over with missing_ok=1")
        missing_ok, erase = flag(query, "missing_ok"), flag(query, "erase")
        self._hall.check_writable()
        if call.media_type == NDJSON:
            if erase:
                raise bad_request("erase=1 with NDJSON", 'send {"ids": [...]}')
            return await answer_stream(call, send, lambda lines, first: self._removed(lines, first, call, missing_ok))
        read = {JSON: ids_of_json, ARROW: ids_of_arrow}.get(call.media_type)
        if read is None:
            raise _media_type(call, (JSON, NDJSON, ARROW))
        ids = read(await call.body(), call.limits)
        removed = await self._hall.write(partial(_remove, ids=ids, missing_ok=missing_ok))
        if erase and removed:
            await self._hall.merge()
        return json_reply({"removed": removed})

    async def _removed(self, lines: list[bytes], first: int, call: Call, missing_ok: bool) -> list[Row]:
        async def done(line: bytes) -> Row:
            ids = ids_of_json(line, call.limits)
            return {"removed": await self._hall.write(partial(_remove, ids=ids, missing_ok=missing_ok))}

        return [await _or_problem(number, done(line)) for number, line in enumerate(lines, first)]

    async def document(self, call: Call, send: Send) -> Reply | int:
        """One document."""
        text = flag(call.query(("text",)), "text")
        raw: bytes = call.scope.get("raw_path") or call.scope["path"].encode()
        name = unquote_to_bytes(raw.partition(b"?")[0].partition(b"/v1/documents/")[2])
        try:
            written = name.decode("utf-8")
        except UnicodeDecodeError:
            raise bad_request("an id that is no UTF-8", "percent-encode its UTF-8") from None
        (found,) = await self._hall.read(
            partial(_documents, ids=[written], as_text=text, missing_ok=False, typed=False)
        )
        return json_reply(found)

    async def documents(self, call: Call, send: Send) -> Reply | int:
        """Several documents."""
        query = call.query(("text", "missing_ok"))
        text, missing_ok = flag(query, "text"), flag(query, "missing_ok")
        if call.media_type == NDJSON:
            return await answer_stream(call, send, lambda lines, first: self._found(lines, first, call, text))
        read = {JSON: ids_of_json, ARROW: ids_of_arrow}.get(call.media_type)
        if read is None:
            raise _media_type(call, (JSON, NDJSON, ARROW))
        ids = read(await call.body(), call.limits)
        found = await self._hall.read(partial(_documents, ids=ids, as_text=text, missing_ok=missing_ok, typed=True))
        return json_reply({"documents": found})

    async def _found(self, lines: list[bytes], first: int, call: Call, text: bool) -> list[Row]:
        async def found(line: bytes) -> Row:
            ids = ids_of_json(line, call.limits)
            if len(ids) != 1:
                raise bad_request(f"{len(ids)} ids in a line", 'send {"id": …} per line')
            ask = partial(_documents, ids=ids, as_text=text, missing_ok=False, typed=True)
            (row,) = await self._hall.read(ask)
            return row or {}

        return [await _or_problem(number, found(line)) for number, line in enumerate(lines, first)]

    # Upkeep

    async def info(self, call: Call, send: Send) -> Reply | int:
        """What the store holds, and what the service allows."""
        call.query(())
        return json_reply(await self._info())

    async def _info(self) -> Row:
        hall = self._hall
        stats, id_kind = await hall.read(lambda store: (store.stats(), store.id_kind))
        return stats_row(stats) | {
            "kind": hall.store_settings.noun + "s",
            "id_kind": id_kind,
            "version": __version__,
            "readonly": hall.is_readonly,
            "reason_readonly": None if hall.full is None else f"disk full: {hall.full}",
            "limits": hall.settings.limits.about(),
        }

    async def merge(self, call: Call, send: Send) -> Reply | int:
        """One segment of everything."""
        call.query(())
        self._hall.check_writable()
        await _no_body(call)
        await self._hall.merge()
        return json_reply(await self._info())

    async def backup(self, call: Call, send: Send) -> Reply | int:
        """A copy of the store in the folder for backups."""
        call.query(())
        folder = self._hall.settings.backups
        if folder is None:
            raise Problem("no-backups", "start the service with --backups FOLDER")
        if call.media_type != JSON:
            raise _media_type(call, (JSON,))
        name, folder = read_backup_name(await call.body()).name, folder.absolute()
        try:
            await asyncio.to_thread(backup, self._hall.folder, folder / name)
        except Exception as error:
            raise problem_of(error) from error
        return json_reply({"path": str(folder / name)}, 201)

    def _check_recipe(self, query: dict[str, str]) -> None:
        """Refuse a client that says another recipe than the store's."""
        text = query.get("recipe")
        if text is None:
            return
        own = self._hall.store_settings.recipe
        try:
            same = str(Recipe.of(text)) == str(own) if isinstance(own, Recipe) else text == str(own)
        except ParameterError as error:
            raise problem_of(error) from None
        if not same:
            said = f"the store's recipe is {own} and not {text}; leave `recipe` out to take the store's"
            raise Problem("other-recipe", said, found=text, allowed=str(own))


async def _aside(size: int, work: Callable[[], T]) -> T:
    """Do it here if it is little, else beside the event loop."""
    return work() if size < LARGE else await asyncio.to_thread(work)


async def _or_problem(number: int, work: Awaitable[Row]) -> Row:
    """The answer to a line, or its problem."""
    try:
        return await work
    except Problem as problem:
        return {"line": number, "error": problem.members()}


async def _no_body(call: Call) -> None:
    if await call.body():
        raise bad_request("a body", "this route takes none")


def _media_type(call: Call, allowed: tuple[str, ...]) -> Problem:
    found = call.media_type[:60] or "none"
    return Problem("media-type", f"content type {found}; use {', '.join(allowed)}", found=found, allowed=list(allowed))


def _item_of(line: bytes, settings: StoreSettings) -> Item | Problem:
    """The document of a line, or what is wrong with it."""
    if not line.strip():
        return bad_request("an empty line", "send a document per line")
    try:
        item: Item = read_item(line)
        documents_of([item], settings, None)
    except Problem as problem:
        return problem
    return item


def _numbered(row: Row, number: int) -> Row:
    """An error with the number of its line."""
    return {"line": number, **row} if "error" in row else row


def _ndjson(rows: Sequence[Row]) -> Reply:
    return Reply(b"".join([encode(row) + b"\n" for row in rows]), media_type=NDJSON.encode())


# What the threads do with the store


def _search(store: Store, *, queries: Queries, k: int, radius: int | None) -> Any:
    if queries.texts:
        if radius is not None:
            raise bad_request("radius with a text", "its matches are verified; leave it out")
        return store.check(queries.values, k=k).matches
    return store.search(queries.values, radius=radius, k=k)


def _check_kind(store: Store, ids: list[Id]) -> None:
    """Refuse ids of another kind than the store's, which could never be there."""
    kind = store.id_kind
    if ids and kind and (kind == "str") != isinstance(ids[0], str):
        wanted = "strings" if kind == "str" else "integers"
        raise Problem("other-kind", f"id {ids[0]!r}; the ids of this store are {wanted}", id=ids[0], allowed=wanted)


def _remove(store: Store, *, ids: list[Id], missing_ok: bool) -> int:
    _check_kind(store, ids)
    return store.remove(ids, missing_ok=missing_ok)


def _documents(store: Store, *, ids: list[Id], as_text: bool, missing_ok: bool, typed: bool) -> list[Row | None]:
    if not typed and store.id_kind == "int":
        ids = [_integer(str(name)) for name in ids]
    if typed:
        _check_kind(store, ids)
    found = store.get(ids, missing_ok=missing_ok)
    rows = [None if one is None else document_row(one) for one in found]
    if as_text and store.settings.noun == "text":
        there = [row for row in rows if row is not None]
        for row, text in zip(there, store.texts([row["id"] for row in there]), strict=True):
            row["text"] = text
    elif as_text:
        raise bad_request("text=1", "a store of texts alone has them")
    return rows


def _integer(name: str) -> int:
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and -(1 << 63) <= int(name) < 1 << 63):
        raise Problem("no-such-document", f"{name[:40]!r} is no integer, as the ids of this store are", id=name[:40])
    return int(name)
