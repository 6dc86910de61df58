"""`Client`: the methods and results of `Store`, for a store behind `nearkin serve`.

A call is one request if the limits of the service allow it, and then as atomic and durable as a call of the store. A
larger call is split into consecutive requests, each atomic by itself.

When a request may be repeated:

| what happened | what the service did | query | change |
|---|---|---|---|
| no connection; 408, 429, 503 | nothing | repeated | repeated |
| connection lost; no response in time; 502, 504 | unknown | repeated | repeated with an idempotency key, or an error |
| any other response | as it says | result or error | result or error |

The n-th retry waits `0.2 * 2 ** n` seconds, at most 5, minus a random part of up to a half, so that clients that were
refused together do not return together; or as long as `Retry-After` says, plus up to a quarter.
"""

from __future__ import annotations

import errno
import math
import os
import random
import re
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from secrets import token_urlsafe
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__, content_hashes
from nearkin.dedup.files import path_names
from nearkin.dedup.verify import texts_by_row
from nearkin.digests.recipes import AnyDigestRecipe
from nearkin.digests.recipes import parse_recipe as parse_digest_recipe
from nearkin.errors import (
    CorruptStoreError,
    InputError,
    MismatchError,
    NearkinError,
    ParameterError,
    ServiceError,
    StoreLockedError,
    bad_parameter,
    check_count,
    check_regular,
    check_share,
    mismatch,
    missing_extra,
)
from nearkin.index.fingerprints import to_hex
from nearkin.index.ids import Id, Ids, check_ids
from nearkin.io.arrow import is_arrow, to_values
from nearkin.io.remote import short_url
from nearkin.progress import Progress, ShowProgress, ignore_progress, reporting
from nearkin.recipe import Recipe
from nearkin.store.kinds.files import check_digests, read_files
from nearkin.store.kinds.texts import check_texts, read_queries
from nearkin.store.kinds.vectors import read_vectors
from nearkin.store.records import Cell, Columns, columns_by_row
from nearkin.store.results import CheckResult, StoredDocument, StoredMatch, StoreStats
from nearkin.store.store import DocumentStore, Items, NewDocuments
from nearkin.text.batches import Texts, iterate_batches

try:
    import httpx
    import msgspec

    from nearkin.service.models import (
        JSON,
        KEY,
        NDJSON,
        BackupOutput,
        BatchOutput,
        DocumentOutput,
        InfoOutput,
        MatchOutput,
        RemovedOutput,
        SearchOutput,
        StoredListOutput,
        StoredOutput,
        encode,
        end_line,
    )
except ImportError as missing:
    if missing.name not in ("httpx", "msgspec"):
        raise
    # The class can be imported without them; creating a client raises MissingExtraError.
    _HAS_EXTRA = False
else:
    _HAS_EXTRA = True

if TYPE_CHECKING:
    from nearkin.store.kinds.base import Kind

__all__ = ["Client"]

T = TypeVar("T")
StoreKind = Literal["texts", "files", "vectors"]

_OPTIONAL = {"copies": "copies", "better": "on_better"}
"""Columns of a result, and the parameters that ask for them."""
_NOUNS = {"texts": "text", "files": "file", "vectors": "vector"}
_MAX_TEXTS = 500
"""Texts of one response, which the service buffers."""
_MAX_TIMEOUT = 86_400.0
_CONNECT_TIMEOUT = 10.0
_STARTING_DELAY = 0.25
"""Seconds between two requests to a service that is starting."""
_FIRST_DELAY, _MAX_DELAY, _MAX_RETRY_AFTER = 0.2, 5.0, 60.0
"""Seconds before a retry; the longest `Retry-After` that is followed."""
_REFUSED, _LOST = (408, 429, 503), (502, 504)
"""Statuses of requests that had no effect, and of those that may have had one."""

_TOKEN = re.compile(r"[\x21-\x7e]+")
_ROW = re.compile(r"(^row |^documents\[|(?<= in )row )(\d+)(?=:|,|\]|$| of the batch)")
_ADVICE = {
    "no-token": "give the client token=, one of the service's --token-file",
    "not-allowed": "give the client a token that may do this, or the address by which the service is known",
    "no-such-route": "give the URL of a nearkin service",
    "too-large": "give smaller documents, or raise --max-body of the service",
    "busy": "with more retries=, or from fewer threads",
}
"""What a caller can do about a problem, in addition to its message."""
_STORE_ERRORS: dict[str, type[NearkinError]] = {
    "other-content": InputError,
    "other-recipe": MismatchError,
    "locked": StoreLockedError,
    "corrupt-store": CorruptStoreError,
}


class Client(DocumentStore):
    """A store behind a service: the methods and results of `Store`.

    Threads may share a client; a forked child opens its own connections. Nothing is sent before the first call.

    Parameters
    ----------
    url : str
        URL of the service, such as "http://127.0.0.1:8470", with a path if a proxy adds one.
    token : str, optional
        One of the service's `--token-file`.
    timeout : float, default 60
        Seconds without data before a request fails or is repeated, up to a day. `merge` and `backup` have no timeout.
    retries : int, default 5
        Maximum retries of a request, 0 to 100: if the service can't be reached or is overloaded (after the time that it
        asks for, up to a minute), and if the connection is lost. Delays double from 0.2 to 5 seconds.
    wait : float, default 0
        Seconds after the creation of the client during which calls wait for a service that does not answer yet, or that
        is opening its store, whatever `retries` is; up to a day. Once it has answered, only `retries` counts.
    verify : bool, path or ssl.SSLContext, default True
        Verification of https: by the system's authorities; by those of a file; or, for False, none.
    transport : httpx.BaseTransport, optional
        Transport instead of the network, such as `httpx.HTTPTransport(uds=...)` for a Unix socket.

    Raises
    ------
    ParameterError
        An invalid URL, or values out of range.
    MissingExtraError
        httpx or msgspec is not installed.

    Notes
    -----
    A change is never applied twice. With ids it carries an idempotency key, with which the service returns the first
    result again. Without ids, and for `remove` and `backup`, a request whose response was lost is not repeated: it
    raises a `ServiceError` whose `unknown` is True.

    A call that exceeds the service's `--max-body` or `--max-batch` is split into several requests and is not atomic. If
    a later request fails, `done` of the error is the number of documents that were processed.

    Errors are those of the store, and `ServiceError` for problems of the service.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 5,
        wait: float = 0.0,
        verify: bool | str | os.PathLike[str] | ssl.SSLContext = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = _check_url(url)
        if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
            # The message does not show the token.
            raise bad_parameter("token", "the value given", "letters, digits and signs of ASCII, without spaces")
        allowed = "seconds, above 0 and up to 86,400"
        self._timeout = check_share("timeout", timeout, allowed, lambda seconds: 0 < seconds <= _MAX_TIMEOUT)
        check_count("retries", retries, 0, 100, "0 to 100")
        wait = check_share("wait", wait, "seconds, 0 to 86,400", lambda seconds: 0 <= seconds <= _MAX_TIMEOUT)
        if not _HAS_EXTRA:
            raise missing_extra("client", "httpx", "nearkin.Client")
        self._token, self._retries = token, int(retries)
        self._verify, self._transport = _check_verify(verify), transport
        # The end of the wait; None once the service has answered.
        self._deadline: float | None = time.monotonic() + wait
        self._lock, self._closed = Lock(), Event()
        self._http: httpx.Client | None = None
        self._process = os.getpid()
        self._info: InfoOutput | None = None
        self._verified: str | None = None

    def close(self) -> None:
        """Close the connections; calls that wait for a retry raise their error. A closed client refuses every call."""
        with self._lock:
            self._closed.set()
            if self._http is not None and self._process == os.getpid():
                self._http.close()
            self._http = None

    def __repr__(self) -> str:
        return f"Client({self._url!r}{', closed' if self._closed.is_set() else ''})"

    # The store

    @property
    def url(self) -> str:
        """URL of the service."""
        return self._url

    @property
    def kind(self) -> StoreKind:
        """Kind of the store: "texts", "files" or "vectors"."""
        kind = self._cached_info().kind
        if kind not in get_args(StoreKind):
            raise mismatch("kind of store", kind, "texts, files or vectors; update nearkin")
        return cast("StoreKind", kind)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the store by name, as in `stats().settings`."""
        return dict(self._cached_info().settings)

    @property
    def recipe(self) -> Recipe | AnyDigestRecipe | str:
        """Recipe of the store; for vectors the text form of their family.

        Raises
        ------
        MismatchError
            The recipe has tables or words, which its text form does not include, or is of another version.
        """
        if self.kind == "vectors":
            return self._setting("family")
        text, digest = self._setting("recipe"), self._setting("recipe_digest")
        recipe: Recipe | AnyDigestRecipe = Recipe.of(text) if self.kind == "texts" else parse_digest_recipe(text)
        if recipe.digest != digest:
            raise mismatch("digest of the recipe", f"{digest}, of the store", f"{recipe.digest}, of {text!r} alone")
        return recipe

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int" or "str"; "" if the store is empty."""
        return self._request_info().id_kind

    def stats(self) -> StoreStats:
        """Return size and settings of the store."""
        return _stats(self._request_info())

    def __len__(self) -> int:
        """Return the number of documents that were added and not removed."""
        return self._request_info().documents

    def _has_id(self, key: Id | np.integer) -> bool:
        return self.get([key], missing_ok=True)[0] is not None

    # Queries

    def check(
        self,
        texts: Items,
        *,
        k: int | None = None,
        kind: Kind | None = None,
        sources: Iterable[str | None] | None = None,
        progress: ShowProgress = None,
    ) -> CheckResult:
        """Return the result that each document would get; nothing is added. See `Store.check`.

        Parameters
        ----------
        texts : texts, files or vectors
            As for `Store.check_and_add`. Files named by `kind="paths"` are read here, and their bytes are sent.
        k : int, optional
            Include the k best matches of each document, up to the limit of the service.
        kind : {"digests", "bytes", "paths"}, optional
        sources : iterable of str or None, one per text; optional
            For the kind `pages`: the URL or the site of each page.
        progress : bool or function, optional
            Called after each request.

        Returns
        -------
        CheckResult

        Raises
        ------
        ParameterError
            k below 1 or above the limit.
        ServiceError
            The service can't be reached, or refuses the request.
        """
        if k is not None:
            self._check_k(k)
        with reporting(progress) as report:
            columns = None if sources is None else {"source": list(sources)}
            if columns is not None and not self._cached_info().settings.get("pages"):
                raise bad_parameter("sources", "given", "None for a store of another kind than pages")
            return self._submit("/v1/check", self._upload(texts, None, columns, kind), report, k=k)

    def search(self, values: Any, *, radius: int | None = None, k: int = 10) -> list[list[StoredMatch]]:
        """Return the nearest stored documents of fingerprints, signatures, digests or vectors.

        Parameters, results and errors are those of `Store.search`; k is bounded by the limit of the service.
        """
        recipe = Recipe.of(self._setting("recipe")) if self.kind == "texts" else None
        if radius is not None and (recipe is None or recipe.family == "minhash"):
            raise bad_parameter("radius", radius, "None: only fingerprints are searched within one")
        self._check_k(k)
        if recipe is None:
            return self.check(values, k=k, kind="digests" if self.kind == "files" else None).matches or []
        query = {"k": str(k)} | ({} if radius is None else {"radius": str(radius)})
        matches: list[list[StoredMatch]] = []
        for payload in self._list_payloads(_queries(recipe, values), "queries"):
            results = self._decode(self._send("/v1/search", payload, query), SearchOutput).results
            self._check_count(len(results), payload.count)
            matches += [list(map(_match, result.matches)) for result in results]
        return matches

    def get(self, ids: Ids, *, missing_ok: bool = False) -> list[StoredDocument | None]:
        """Return stored documents.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Return None for an id that does not exist.

        Raises
        ------
        ParameterError
            An id does not exist.
        """
        documents = self._get(ids, {"missing_ok": "1"} if missing_ok else {})
        return [None if document is None else _stored_document(document) for document in documents]

    def texts(self, ids: Ids) -> list[str | None]:
        """Return the texts of documents; None for a document that was not new.

        Raises
        ------
        ParameterError
            An id does not exist.
        MismatchError
            The store keeps no texts.
        """
        if self.kind != "texts":
            raise mismatch("texts", f"a store of {self.kind}, which has none", "a call that needs texts")
        documents = self._get(ids, {"text": "1"}, _MAX_TEXTS)
        return [None if document is None or document.text is msgspec.UNSET else document.text for document in documents]

    # Changes

    def remove(self, ids: Ids, *, missing_ok: bool = False, erase: bool = False) -> int:
        """Hide documents from every result, at once and durably; return how many documents the store has no more.

        `Store.remove` says what happens to documents that matched a removed one.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Ignore ids that do not exist.
        erase : bool, default False
            Also erase text, fingerprint and columns from every file now.

        Raises
        ------
        ParameterError
            An id does not exist. Nothing is removed.
        ServiceError
            The service can't be reached, or refuses the request; `unknown` is True if the response was lost. If the
            call was split, `done` counts the documents of earlier requests.
        """
        unique = list(dict.fromkeys(_id_list(ids)))
        query = {name: "1" for name, is_set in (("missing_ok", missing_ok), ("erase", erase)) if is_set}
        payloads, removed = [*self._list_payloads(unique, "ids")], 0
        if len(payloads) > 1 and not missing_ok:
            self.get(unique)
            # An earlier request may make the store forget documents of a later one.
            query["missing_ok"] = "1"
        for payload in payloads:
            try:
                response = self._send("/v1/remove", payload, query, changes=True, patient=erase)
            except (NearkinError, OSError) as error:
                raise self._split_error(error, payload, len(unique)) from None
            removed += self._decode(response, RemovedOutput).removed
        return removed

    def merge(self, *, progress: ShowProgress = None) -> StoreStats:
        """Merge pending documents and all segments into one segment without removed documents."""
        with reporting(progress) as report:
            report("merge", 0, None)
            response = self._send("/v1/merge", patient=True)
        return _stats(self._decode(response, InfoOutput))

    def backup(self, name: str) -> str:
        """Copy the store to a new folder within that of the service's `--backups`.

        Parameters
        ----------
        name : str
            Name of the folder.

        Returns
        -------
        str
            Its path, on the machine of the service.

        Raises
        ------
        FileExistsError
            A folder of that name exists.
        ServiceError
            The service has no folder for backups, or can't be reached.
        """
        payload = _Payload(encode({"name": name}), JSON, 0, 1)
        response = self._send("/v1/backup", payload, changes=True, patient=True)
        return self._decode(response, BackupOutput).path

    # Info and limits

    def _request_info(self) -> InfoOutput:
        self._info = self._decode(self._send("/v1/info", method="GET"), InfoOutput)
        return self._info

    def _cached_info(self) -> InfoOutput:
        """Return what does not change while a service runs; it is requested once."""
        self._check_open()
        return self._request_info() if self._info is None else self._info

    def _setting(self, name: str) -> str:
        """Return a setting of the store that is a string."""
        value = self._cached_info().settings.get(name)
        if not isinstance(value, str):
            raise self._unexpected(f"the {name} of its store is {value!r}")
        return value

    def _check_k(self, k: int) -> None:
        check_count("k", k, 1, 1 << 20, "1 or more")
        limit = self._cached_info().limits.k
        if k > limit:
            raise bad_parameter("k", k, f"1 to {limit:,}, the limit of the service")

    def _check_count(self, found: int, expected: int) -> None:
        if found != expected:
            raise self._error(f"sent {found} results for {expected} documents")

    # Documents

    def _upload(self, items: Any, ids: Ids | None, columns: Columns | None, kind: Kind | None) -> _Upload:
        """Validate the documents of a call as the store does, so that errors are raised before anything is sent."""
        store = self.kind
        id_list = None if ids is None else _id_list(ids)
        contents: Any
        if store == "files" and kind == "paths":
            names = path_names(items, "paths")
            for name in names:
                check_regular(name, "a regular file")
            contents = list(map(Path, names))
            id_list = _id_list(names) if id_list is None else id_list
        elif store == "files":
            contents = read_files(items, kind)
            if kind is None or kind == "digests":
                contents = check_digests(contents, parse_digest_recipe(self._setting("recipe")))
        elif store == "vectors":
            contents, _ = read_vectors(items, kind, self._cached_info().settings.get("dimension"))
        else:
            contents = _read_texts(items, kind)
        count = len(contents)
        if id_list is not None and len(id_list) != count:
            raise bad_parameter("ids", f"{len(id_list)} ids", f"{count} ids, one per {_NOUNS[store]}")
        field = store.removesuffix("s") if store != "files" else "bytes" if kind in ("bytes", "paths") else "digest"
        return _Upload(field, contents, id_list, columns_by_row(columns, count))

    def _add(self, new: NewDocuments) -> CheckResult:
        path, as_lines = "/v1/check-and-add" if new.absorb else "/v1/add", new.conflicts == "report"
        asked = {"copies": "1"} if new.copies else {}
        asked |= {} if new.on_better is None else {"on_better": new.on_better}
        with reporting(new.progress) as report:
            upload = self._upload(new.texts, new.ids, new.columns, new.kind)
            return self._submit(path, upload, report, adds=True, as_lines=as_lines, asked=asked)

    def _submit(
        self,
        path: str,
        upload: _Upload,
        report: Progress,
        *,
        k: int | None = None,
        adds: bool = False,
        as_lines: bool = False,
        asked: Mapping[str, str] | None = None,
    ) -> CheckResult:
        """Send documents in as many requests as they need, and concatenate the results."""
        verified = self._verification(upload) if as_lines and upload.count else ""
        has_matches, query = k is not None, {} if k is None else {"k": str(k)}
        asked = asked or {}
        if upload.count:
            query |= asked
        if not upload.count:
            # Without documents nothing is added; `/v1/add` without ids would assign row numbers.
            path, as_lines, query = "/v1/check", False, {}
        frame: Any = (b"", b"\n", b"\n", NDJSON) if as_lines else (b'{"documents":[', b",", b"]}", JSON)
        results: list[CheckResult] = []
        for payload in self._payloads(upload.rows(), frame, sizes=upload.sizes):
            stop = payload.start + payload.count
            ids = upload.ids[payload.start : stop] if upload.ids is not None else None if payload.count else []
            key = token_urlsafe(12) if adds and ids else None
            try:
                response = self._send(path, payload, query, key=key, changes=adds)
                result, own_ids = self._parse_result(response, verified, has_matches=has_matches)
                self._check_count(len(result), payload.count)
            except (NearkinError, OSError) as error:
                raise self._split_error(error, payload, upload.count) from None
            result = replace(result, own_ids=own_ids if ids is None else ids) if adds else result
            others: dict[str, Any] = {name: None for name, option in _OPTIONAL.items() if option not in asked}
            results.append(replace(result, **others))
            report("send", stop, upload.count)
        result = CheckResult.concat(results)
        self._verified = result.verified
        return result

    def _verification(self, upload: _Upload) -> str:
        """Return how similarities are verified: NDJSON lacks it, the response to an empty batch has it."""
        if self._verified is None:
            self._verified = self._submit("/v1/check", _Upload(upload.field, []), ignore_progress).verified
        return self._verified

    def _split_error(self, error: Exception, payload: _Payload, total: int) -> Exception:
        """Return the error of a payload; limits that have changed are requested again."""
        if getattr(error, "slug", None) == "too-large":
            self._info = None
        return _shift_rows(error, payload.start, total) if payload.start else error

    def _parse_result(
        self, response: httpx.Response, verified: str, *, has_matches: bool
    ) -> tuple[CheckResult, list[Any]]:
        """Return the results of a response, and the ids of its documents (None if it has none)."""
        if response.headers.get("Content-Type", "").startswith(NDJSON):
            *lines, end = response.content.splitlines() or [b""]
            if end != end_line(len(lines)):
                raise self._unexpected("a response without its last line")
            rows = [self._parse_line(line) for line in lines]
        else:
            batch = self._decode(response, BatchOutput)
            rows, verified = batch.answers, batch.verified
        try:
            distance_type: Any = np.float64 if self.kind == "vectors" else np.int64
            distances: Any = np.array([row.distance for row in rows], distance_type)
        except OverflowError as error:
            raise self._unexpected(error) from error
        similarities = np.array([_similarity(row.similarity) for row in rows], np.float64)
        matches = [list(map(_match, row.matches or ())) for row in rows] if has_matches else None
        status: Any = [row.status for row in rows]
        copies = np.array([0 if row.copies is msgspec.UNSET else row.copies for row in rows], np.int64)
        better = np.array([row.better is True for row in rows], bool)
        ids = [row.match for row in rows]
        result = CheckResult(status, ids, distances, similarities, matches, verified, copies=copies, better=better)
        return result, [None if row.id is msgspec.UNSET else row.id for row in rows]

    def _parse_line(self, line: bytes) -> DocumentOutput:
        """Return the result of a line; an id with other content is a conflict, any other problem is raised."""
        try:
            value = msgspec.json.decode(line)
            if not isinstance(value, dict) or value.get("error") is None:
                return msgspec.convert(value, DocumentOutput)
            problem = msgspec.convert(value["error"], dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._unexpected(error) from error
        if not str(problem.get("type", "")).endswith(":other-content"):
            raise error_from_problem(problem, 0, self._url)
        return DocumentOutput(status="conflict", match=None, distance=-1, similarity=None)  # type: ignore[arg-type]

    # Payloads

    def _payloads(
        self,
        values: Iterable[bytes],
        frame: tuple[bytes, bytes, bytes, str],
        *,
        sizes: list[int] | None = None,
        max_count: int | None = None,
    ) -> Iterator[_Payload]:
        """Yield payloads of encoded values within the limits of the service; no values are one empty payload.

        Parameters
        ----------
        values : iterable of bytes
        frame : tuple
            Bytes before, between and after the values, and the media type.
        sizes : list of int, optional
            Bytes of the values, if they are encoded while they are sent.
        max_count : int, optional
            Maximum number of values, if it is less than the limit of the service.
        """
        limits = self._cached_info().limits
        if sizes is None:
            values = list(values)
            sizes = list(map(len, values))
        head, separator, tail, media_type = frame
        space = limits.body - len(head) - len(tail)
        row = next((row for row, size in enumerate(sizes) if size + 1 > space), None)
        if row is not None:
            message = f"row {row} takes {sizes[row]:,} bytes; the service takes bodies of up to {limits.body:,}"
            raise self._error(message, slug="too-large", place=f"row {row}")
        for start, batch in split_values(values, space, min(limits.batch, max_count or limits.batch)):
            yield _Payload(head + separator.join(batch) + tail, media_type, start, len(batch))

    def _list_payloads(self, values: Sequence[Any], name: str, max_count: int | None = None) -> Iterable[_Payload]:
        """Return payloads of ids or queries."""
        frame = (f'{{"{name}":['.encode(), b",", b"]}", JSON)
        return self._payloads(map(encode, values), frame, max_count=max_count) if values else []

    def _get(self, ids: Ids, query: dict[str, str], max_count: int | None = None) -> list[StoredOutput | None]:
        documents: list[StoredOutput | None] = []
        for payload in self._list_payloads(_id_list(ids), "ids", max_count):
            part = self._decode(self._send("/v1/documents", payload, query), StoredListOutput).documents
            self._check_count(len(part), payload.count)
            documents += part
        return documents

    def _decode(self, response: httpx.Response, model: type[T]) -> T:
        try:
            return msgspec.json.decode(response.content, type=model)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._unexpected(error) from error

    # Requests

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ParameterError("the client is closed; create another one")

    def _send(
        self,
        path: str,
        payload: _Payload | None = None,
        query: Mapping[str, str] | None = None,
        *,
        method: str = "POST",
        key: str | None = None,
        changes: bool = False,
        patient: bool = False,
    ) -> httpx.Response:
        """Send a request until it succeeds or may not be repeated.

        Parameters
        ----------
        path : str
            Path within the URL of the service.
        payload : _Payload, optional
        query : mapping, optional
        method : str
        key : str, optional
            Idempotency key of a change.
        changes : bool
            True for a change, which must not be applied twice.
        patient : bool
            Wait without a timeout.

        Raises
        ------
        ServiceError
            No response, or a problem of the service.
        NearkinError, FileExistsError
            An error of the store.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        request: dict[str, Any] = {"params": dict(query or {}) or None, "headers": headers}
        if payload is not None:
            headers["Content-Type"], request["content"] = payload.media_type, payload.body
        seconds = None if patient else self._timeout
        request["timeout"] = httpx.Timeout(seconds, connect=min(self._timeout, _CONNECT_TIMEOUT))
        attempt, is_unknown = 0, False
        while True:
            self._check_open()
            try:
                response = self._send_once(method, path, **request)
                self._deadline = None
                return response
            except _FailedRequestError as failure:
                if self._is_starting(failure) and not self._closed.wait(_STARTING_DELAY):
                    continue
                is_unknown |= failure.is_unknown and changes
                can_retry = failure.can_retry and not (failure.is_unknown and changes and key is None)
                is_last = attempt == self._retries or not can_retry or failure.retry_after > _MAX_RETRY_AFTER
                if is_last or self._closed.wait(_delay(attempt, failure.retry_after)):
                    raise failure.final_error(attempt, is_unknown=is_unknown) from failure.__cause__
            except RuntimeError:
                # Another thread has closed the client.
                self._check_open()
                raise
            attempt += 1

    def _is_starting(self, failure: _FailedRequestError) -> bool:
        """Return whether a failed request is to be repeated because the service may still be starting."""
        if self._deadline is None or failure.is_unknown or not failure.can_retry:
            return False
        return time.monotonic() + _STARTING_DELAY < self._deadline

    def _send_once(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request once; raise `_FailedRequestError` without a response, or if it asks for a retry."""
        not_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
        try:
            response = self._connection().request(method, self._url + path, **request)
        except (*not_sent, httpx.UnsupportedProtocol) as error:
            reason = str(error) or type(error).__name__
            is_untrusted = "CERTIFICATE_VERIFY_FAILED" in reason
            advice = "give verify= the file of its authority" if is_untrusted else "is the service running at this URL?"
            failed = self._error(f"can't connect ({reason}); {advice}")
            raise _FailedRequestError(failed, can_retry=not is_untrusted) from error
        except httpx.TransportError as error:
            reason = f"the connection was lost ({error or type(error).__name__})"
            message = "no response in time" if isinstance(error, httpx.TimeoutException) else reason
            raise _FailedRequestError(self._error(message), is_unknown=True) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._error(str(error)) from error
        if response.status_code < 300:
            return response
        failure = self._error_from_response(response)
        if response.status_code in (*_REFUSED, *_LOST):
            is_unknown = response.status_code in _LOST
            raise _FailedRequestError(failure, retry_after=_retry_after(response), is_unknown=is_unknown)
        raise failure

    def _connection(self) -> httpx.Client:
        with self._lock:
            if self._http is None or self._process != os.getpid():
                # A forked child leaves the connections of its parent alone.
                self._http, self._process = self._connect(), os.getpid()
            return self._http

    def _connect(self) -> httpx.Client:
        headers = {"User-Agent": f"nearkin/{__version__}", "Accept": f"{JSON}, {NDJSON}"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        host = httpx.URL(self._url).host
        return httpx.Client(
            headers=headers,
            verify=self._verify,
            transport=self._transport,
            follow_redirects=False,
            # Proxies of the environment can't reach this machine itself.
            trust_env=host not in ("localhost", "::1") and not host.startswith("127."),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )

    # Errors

    def _error(self, message: str, *, slug: str | None = None, **context: Any) -> ServiceError:
        return _service_error(self._url, message, slug=slug, context=context)

    def _unexpected(self, found: object) -> ServiceError:
        return self._error(f"sent what this client does not understand ({found}); use the same version of nearkin")

    def _error_from_response(self, response: httpx.Response) -> Exception:
        """Return the error of a response with a status of 300 or more."""
        status = response.status_code
        if response.has_redirect_location:
            location = response.headers["Location"][:200]
            return self._error(f"the service has moved to {location}; give that URL", status=status)
        try:
            problem = msgspec.json.decode(response.content)
        except msgspec.DecodeError:
            problem = None
        if not isinstance(problem, dict) or "type" not in problem:
            message = f"HTTP status {status} and no problem of a nearkin service; is this its URL?"
            return self._error(message, status=status)
        return error_from_problem(problem, status, self._url)


class _FailedRequestError(Exception):
    """A request without a response, or with one that asks for a retry."""

    def __init__(
        self, error: Exception, *, can_retry: bool = True, retry_after: float = 0.0, is_unknown: bool = False
    ) -> None:
        super().__init__(str(error))
        self.error, self.can_retry, self.retry_after, self.is_unknown = error, can_retry, retry_after, is_unknown

    def final_error(self, retries: int, *, is_unknown: bool) -> Exception:
        """Return the error for the caller; `is_unknown` means that a change may have been applied."""
        if not isinstance(self.error, ServiceError):
            return self.error
        addition = f" ({retries + 1} tries)" if retries else ""
        if is_unknown:
            addition = (
                "; the response to a change was lost, so that it is not known whether it was applied. Look at the "
                "store; documents with ids can be sent again, those that exist are known"
            )
        elif self.retry_after > _MAX_RETRY_AFTER:
            addition = f"; it asks for a retry in {self.retry_after:,.0f} seconds"
        return ServiceError(self.error.message + addition, **{**self.error.context, "unknown": is_unknown})


def _delay(attempt: int, retry_after: float) -> float:
    """Return the seconds before a retry."""
    chance = random.SystemRandom().random()
    if retry_after:
        return retry_after * (1 + chance / 4)
    return min(_FIRST_DELAY * 2.0 ** min(attempt, 30), _MAX_DELAY) * (1 - chance / 2)


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds of `Retry-After`, which has seconds or a date; 0 without it."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return max(date.timestamp() - datetime.now(timezone.utc).timestamp(), 0.0)


# Options


def _check_url(url: object) -> str:
    """Return the URL of a service without a slash at its end."""
    allowed = "the URL of a service, such as http://127.0.0.1:8470"
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise bad_parameter("url", short_url(repr(url)), allowed)
    text = str(url)
    if parts.username is not None or parts.password is not None:
        raise bad_parameter("url", "a URL with a name or a password", f"{allowed}, and token=")
    if parts.query or parts.fragment or not text.isascii() or not text.isprintable() or " " in text:
        raise bad_parameter("url", short_url(repr(url)), f"{allowed}, without spaces, ? and #")
    return f"{parts.scheme}://{parts.netloc}{quote(parts.path, safe='/%:@!$&()*+,;=~-._').rstrip('/')}"


def _check_verify(verify: object) -> bool | ssl.SSLContext:
    """Return how https is verified, as httpx takes it."""
    if isinstance(verify, (bool, ssl.SSLContext)):
        return verify
    if not isinstance(verify, (str, os.PathLike)):
        raise bad_parameter("verify", repr(verify), "True, False, the file of an authority or an ssl.SSLContext")
    try:
        return ssl.create_default_context(cafile=verify)
    except ssl.SSLError:
        raise bad_parameter("verify", repr(str(verify)), "a file of certificates in PEM") from None


# Errors


def error_from_problem(problem: Mapping[str, Any], status: int, url: str) -> Exception:
    """Return the error of a problem: that of the store, `FileExistsError`, or a `ServiceError`."""
    slug = str(problem.get("type", "")).rpartition(":")[2]
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP status {status}")
    standard = ("type", "title", "status", "detail", "instance", "self", "message")
    context = {name: value for name, value in problem.items() if name not in standard and name.isidentifier()}
    if slug == "exists":
        return FileExistsError(detail)
    if slug == "no-such-document" and "found" in context and "allowed" in context:
        return bad_parameter("ids", context["found"], str(context["allowed"]))
    if slug in ("bad-request", "other-kind", "no-such-document"):
        # A mismatch has two sides; an invalid record has a place, and no list of what is allowed.
        is_record = "place" in context and "allowed" not in context
        return (MismatchError if "left" in context else InputError if is_record else ParameterError)(detail, **context)
    if slug in _STORE_ERRORS:
        return _STORE_ERRORS[slug](detail, **context)
    context |= {"status": status, "request": problem.get("instance")}
    return _service_error(url, detail, slug=slug or None, context=context)


def _service_error(url: str, message: str, *, slug: str | None, context: Mapping[str, Any]) -> ServiceError:
    """Return a ServiceError, with advice in its message."""
    advice = f"; {_ADVICE[slug]}" if slug in _ADVICE else ""
    code = errno.ENOSPC if slug == "disk-full" else None
    attributes = {"status": None, "unknown": False, **context, "url": url, "slug": slug, "errno": code}
    return ServiceError(f"{url}: {message}{advice}", **attributes)


def _shift_rows(error: Exception, done: int, total: int) -> Exception:
    """Return the error of a later request of a call: its rows are counted from the first document of the call."""
    if not isinstance(error, NearkinError):
        return error

    def shift(text: str) -> str:
        return _ROW.sub(lambda row: f"{row[1]}{int(row[2]) + done}", text)

    context = {**error.context, "done": done}
    context |= {name: shift(context[name]) for name in ("place", "reason") if isinstance(context.get(name), str)}
    progress = f"the call was split, and the first {done:,} of {total:,} documents are done"
    return type(error)(f"{shift(error.message)}; {progress}", **context)


# Results


def _similarity(value: float | None) -> float:
    return math.nan if value is None else value


def without_key(columns: dict[str, Cell]) -> dict[str, Cell]:
    """Return the columns of a document without the idempotency key that the service has added."""
    return {name: cell for name, cell in columns.items() if name != KEY}


def _match(match: MatchOutput) -> StoredMatch:
    return StoredMatch(match.id, match.distance, _similarity(match.similarity), without_key(match.columns))


def _stored_document(document: StoredOutput) -> StoredDocument:
    values = {name: getattr(document, name) for name in document.__struct_fields__ if name != "text"}
    similarity, columns = _similarity(document.similarity), without_key(document.columns)
    return StoredDocument(**{**values, "similarity": similarity, "columns": columns})


def _stats(info: InfoOutput) -> StoreStats:
    counts = info.documents, info.waiting, info.segments, info.removed
    return StoreStats(*counts, info.bytes, info.settings, info.lost)


# Documents and queries


@dataclass(frozen=True)
class _Payload:
    """The body of a request: consecutive documents, ids or queries of a call."""

    body: bytes
    media_type: str
    start: int
    count: int


@dataclass(frozen=True)
class _Upload:
    """The documents of a call.

    Attributes
    ----------
    field : {"text", "digest", "bytes", "vector"}
        Name of the content in JSON.
    contents : sequence
        Paths of files whose bytes are read when they are sent; str or None; bytes; or rows of float32.
    ids : list of int or str, optional
    columns : list of dict, optional
    """

    field: str
    contents: Sequence[Any] | NDArray[np.float32]
    ids: list[Id] | None = None
    columns: list[dict[str, Cell]] | None = None

    @property
    def count(self) -> int:
        """Number of documents."""
        return len(self.contents)

    @property
    def sizes(self) -> list[int] | None:
        """Upper bounds of the sizes of files in JSON; None for other documents."""
        if self.field != "bytes":
            return None
        sizes = (item.stat().st_size if isinstance(item, Path) else len(item) for item in self.contents)
        return [4 * -(-size // 3) + 64 + len(encode(self._members(row))) for row, size in enumerate(sizes)]

    def _members(self, row: int) -> dict[str, Any]:
        members: dict[str, Any] = {} if self.ids is None else {"id": self.ids[row]}
        return members if self.columns is None else {**members, "columns": self.columns[row]}

    def rows(self) -> Iterator[bytes]:
        """Yield each document as JSON."""
        for row, item in enumerate(self.contents):
            value = item.read_bytes() if isinstance(item, Path) else item.tolist() if self.field == "vector" else item
            yield encode({self.field: value, **self._members(row)})


def _id_list(ids: Ids) -> list[Id]:
    """Return ids as JSON can hold them."""
    keys = check_ids(ids)
    return [*keys.tolist()] if isinstance(keys, np.ndarray) else [*keys]


def _read_texts(items: Any, kind: Kind | None) -> list[str | None]:
    check_texts(items, kind)
    texts: list[str | None] = []
    for batch in iterate_batches(cast("Texts", items)):
        # The core raises the errors of the store for invalid texts.
        content_hashes(cast("Any", batch))
        if isinstance(batch, (list, tuple)):
            texts += batch
        else:
            look_up, count = texts_by_row(batch)
            values: Any = look_up(np.arange(count))
            texts += to_values(values, "texts") if is_arrow(values) else list(values)
    return texts


def _queries(recipe: Recipe, values: Any) -> list[dict[str, Any]]:
    """Return fingerprints or signatures as queries."""
    queries = read_queries(recipe, values)
    if recipe.family == "minhash":
        return [{"signature": row} for row in queries.tolist()]
    texts = to_hex(queries if recipe.words > 1 else queries.reshape(-1), recipe.bits)
    return [{"fingerprint": text} for text in texts]


def split_values(values: Iterable[bytes], space: int, max_count: int) -> Iterator[tuple[int, list[bytes]]]:
    """Split values into runs of at most `max_count` values and `space` bytes, counting a separator for each.

    Yields
    ------
    start : int
        Position of the first value.
    run : list of bytes
        No values are one empty run.
    """
    run: list[bytes] = []
    start = used = 0
    for position, value in enumerate(values):
        if run and (len(run) == max_count or used + len(value) + 1 > space):
            yield start, run
            start, used, run = position, 0, []
        used += len(value) + 1
        run.append(value)
    if run or not start:
        yield start, run
