"""`Client`: the methods and results of `Store`, asked of a service.

A call is one request where the limits of the service allow it, and then as atomic and durable as that of the store.
A larger one is cut into requests that follow one another, each a step of its own.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from secrets import token_urlsafe
from types import TracebackType
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import MissingExtraError, NearkinError, ParameterError, bad_parameter, check_count, mismatch
from nearkin.index.ids import Ids, check_ids
from nearkin.progress import Progress, ShowProgress, reporting, unreported
from nearkin.recipe import Recipe
from nearkin.service.client_options import check_timeout, check_token, checked_url, checked_verify
from nearkin.store.records import Columns
from nearkin.store.results import CheckResult, StoredDocument, StoredMatch, StoreStats
from nearkin.store.store import Conflicts

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Self

    from nearkin.service.client_answers import DocumentAnswer, InfoAnswer
    from nearkin.service.client_bodies import Form, Limits, Piece
    from nearkin.service.client_documents import Given, StoreKind
    from nearkin.store.kinds.base import Kind
    from nearkin.store.store import Items

__all__ = ["Client"]

_TEXTS = 500
"""Texts that are asked for at once: the service holds all of an answer."""


class Client:
    """A store that a service holds: the methods and results of `Store`.

    Threads may share a client; each has connections of its own. Nothing is sent before the first call.

    Parameters
    ----------
    url : str
        Where the service is, such as "http://127.0.0.1:8470"; with a path where a proxy puts it below one.
    token : str, optional
        One of the service's `--token-file`.
    timeout : float, default 60
        Seconds that the service may be silent before a call is given up or repeated, up to a day. `merge` and `backup`
        may take any time.
    retries : int, default 5
        How often a call is repeated, 0 to 100: when the service can't be reached or has too much to do (as it asks to
        come again, up to a minute), and when the connection breaks. Waits double from 0.2 to 5 seconds.
    verify : bool, path or ssl.SSLContext, default True
        How a service by https is verified: by the known authorities; by those of a file; or, for False, not at all.
    transport : httpx.BaseTransport, optional
        In the place of the network, such as `httpx.HTTPTransport(uds=...)` for a Unix socket.

    Raises
    ------
    ParameterError
        No URL of a service, or values out of range.
    MissingExtraError
        httpx or msgspec is not installed: `pip install nearkin[client]`.

    Notes
    -----
    A changing call is never made twice. With ids it carries an idempotency key, by which the service gives the first
    answer again; without them, and to remove documents or make a backup, a call whose answer was lost is not repeated:
    it raises a `ServiceError` whose `unknown` is True.

    What does not fit into one request, by the service's `--max-body` and `--max-batch`, is sent in several: such a call
    is no longer atomic. If a later request fails, the error's `done` says how many documents are done.

    Errors are those of the store, and `ServiceError` for what only a service can say.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 5,
        verify: bool | str | os.PathLike[str] | ssl.SSLContext = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = checked_url(url)
        check_token(token)
        check_timeout(timeout)
        check_count("retries", retries, 0, 100, "0 to 100")
        for package in ("httpx", "msgspec"):
            if find_spec(package) is None:
                message = f"nearkin.Client needs {package}, which is not installed; `pip install nearkin[client]`"
                raise MissingExtraError(message, extra="client", package=package)
        from nearkin.service.client_calls import Calls

        self._calls = Calls(self._url, token, float(timeout), int(retries), checked_verify(verify), transport)
        self._known: InfoAnswer | None = None
        self._verified: str | None = None

    def close(self) -> None:
        """End the connections. A closed client refuses every call."""
        self._calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._url!r}{', closed' if self._calls.closed else ''})"

    # What the store is

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._url

    @property
    def kind(self) -> StoreKind:
        """What the store holds: "texts", "files" or "vectors"."""
        kind = self._about().kind
        if kind not in ("texts", "files", "vectors"):
            raise mismatch("kind of store", kind, "texts, files or vectors; update nearkin")
        return kind  # type: ignore[return-value]  # It is one of them.

    @property
    def settings(self) -> dict[str, Any]:
        """What the store was made for, by name, as in `stats().settings`."""
        return dict(self._about().settings)

    @property
    def recipe(self) -> Recipe | DigestRecipe | str:
        """How its documents are hashed; of vectors the text form of their family.

        Raises
        ------
        MismatchError
            The recipe holds tables or words, which its text form does not say, or is one of another version.
        """
        if self.kind == "vectors":
            return self._setting("family")
        text, digest = self._setting("recipe"), self._setting("recipe_digest")
        made: Recipe | DigestRecipe = Recipe.of(text) if self.kind == "texts" else DigestRecipe.of(text)
        if made.digest != digest:
            raise mismatch("digest of the recipe", f"{digest}, of the store", f"{made.digest}, of {text!r} alone")
        return made

    @property
    def id_kind(self) -> str:
        """Kind of the ids, "int" or "str"; "" before the first."""
        return self._info().id_kind

    def stats(self) -> StoreStats:
        """What the store holds."""
        return self._info().stats()

    def __len__(self) -> int:
        """How many documents were added and not removed."""
        return self._info().documents

    def __contains__(self, key: object) -> bool:
        """Whether an id is there."""
        if isinstance(key, bool) or not isinstance(key, (int, str, np.integer)):
            return False
        try:
            return self.get([key], missing_ok=True)[0] is not None
        except ParameterError:
            self._calls.check_open()
            return False

    # Questions

    def check(
        self, texts: Items, *, k: int | None = None, kind: Kind | None = None, progress: ShowProgress = None
    ) -> CheckResult:
        """What each document would be if it came now; nothing is remembered. As `Store.check`.

        Parameters
        ----------
        texts : texts, files or vectors
            As for `Store.check_and_add`. Files that `kind="paths"` names are read here, and their bytes sent.
        k : int, optional
            Give the k best matches of each document, too, up to the limit of the service.
        kind : {"digests", "bytes", "paths"}, optional
        progress : bool or function, optional
            Told after each request.

        Returns
        -------
        CheckResult

        Raises
        ------
        ParameterError
            k below 1 or above the limit.
        ServiceError
            The service can't be reached, or does not do it.
        """
        query = {} if k is None else {"k": str(check_count("k", k, 1, 1 << 20, "1 or more"))}
        if k is not None and k > self._about().limits.k:
            raise bad_parameter("k", k, f"1 to {self._about().limits.k:,}, the limit of the service")
        with reporting(progress) as report:
            return self._answers("/v1/check", self._given(texts, None, None, kind), query, report)

    def search(self, values: Any, *, radius: int | None = None, k: int = 10) -> list[list[StoredMatch]]:
        """The documents that stay nearest to fingerprints, signatures, digests or vectors that were made before.

        Parameters, results and errors are those of `Store.search`; k is up to the limit of the service.
        """
        check_count("k", k, 1, 1 << 20, "1 or more")
        family = Recipe.of(self._setting("recipe")) if self.kind == "texts" else None
        if radius is not None and (family is None or family.family == "minhash"):
            raise bad_parameter("radius", radius, "None: only fingerprints are searched within one")
        if family is None:
            kind: Kind | None = "digests" if self.kind == "files" else None
            return self.check(values, k=k, kind=kind).matches or []
        if k > self._about().limits.k:
            raise bad_parameter("k", k, f"1 to {self._about().limits.k:,}, the limit of the service")
        from nearkin.service.client_answers import ResultsAnswer
        from nearkin.service.client_documents import queries_of

        query = {"k": str(k)} | ({} if radius is None else {"radius": str(radius)})
        found: list[list[StoredMatch]] = []
        for piece in self._listed(queries_of(family, values), "queries"):
            results = self._asked("/v1/search", piece, ResultsAnswer, query).results
            self._check_count(len(results), piece.count)
            found += [[one.match() for one in result.matches] for result in results]
        return found

    def get(self, ids: Ids, *, missing_ok: bool = False) -> list[StoredDocument | None]:
        """What the store knows of documents.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Whether an id that is not there gives None.

        Raises
        ------
        ParameterError
            An id that is not there.
        """
        found = self._documents(ids, {"missing_ok": "1"} if missing_ok else {})
        return [None if one is None else one.document() for one in found]

    def texts(self, ids: Ids) -> list[str | None]:
        """The texts of documents; None for one that was not new.

        Raises
        ------
        ParameterError
            An id that is not there.
        MismatchError
            The store keeps no texts.
        """
        if self.kind != "texts":
            raise mismatch("texts", f"a store of {self.kind}, which has none", "a call that needs texts")
        return [None if one is None else one.text for one in self._documents(ids, {"text": "1"}, _TEXTS)]

    # Changes

    def check_and_add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        conflicts: Conflicts = "raise",
        progress: ShowProgress = None,
    ) -> CheckResult:
        """Say of each document whether it is new, and remember it: a durable step, and atomic if it is one request.

        Parameters
        ----------
        texts : texts, files or vectors
            As for `Store.check_and_add`. Files that `kind="paths"` names are read here, and their bytes sent.
        ids : integers or strings, one per text; optional
            With ids a call can be repeated safely. None stands for row numbers, and for paths for the paths.
        columns : mapping of str to one value per text, or a list with a mapping per text; optional
            Integers from -2**63 to 2**64 - 1.
        kind : {"digests", "bytes", "paths"}, optional
        conflicts : {"raise", "report"}, default "raise"
            As for `Store.check_and_add`. What is reported is sent line by line: the call is not atomic.
        progress : bool or function, optional
            Told after each request.

        Returns
        -------
        CheckResult

        Raises
        ------
        InputError
            As from the store; of a call that was cut `done` says how many documents are there.
        ServiceError
            The service can't be reached, or does not do it: without room on its disk `errno` is ENOSPC. `unknown` is
            True if the answer was lost, and the call had no ids to be repeated with.
        """
        with reporting(progress) as report:
            return self._add("/v1/check-and-add", self._given(texts, ids, columns, kind), conflicts, report)

    def add(
        self,
        texts: Items,
        ids: Ids | None = None,
        *,
        columns: Columns | None = None,
        kind: Kind | None = None,
        conflicts: Conflicts = "raise",
        progress: ShowProgress = None,
    ) -> CheckResult:
        """Remember documents that are known to be wanted: all stay, whatever they are like.

        Parameters, errors and durability are those of `check_and_add`.
        """
        with reporting(progress) as report:
            return self._add("/v1/add", self._given(texts, ids, columns, kind), conflicts, report)

    def remove(self, ids: Ids, *, missing_ok: bool = False, erase: bool = False) -> int:
        """Hide documents from every answer, at once and durably; returns how many were removed.

        Parameters
        ----------
        ids : iterable of int or str
        missing_ok : bool, default False
            Whether ids that are not there are skipped.
        erase : bool, default False
            Whether text, fingerprint and columns are also erased from every file now.

        Raises
        ------
        ParameterError
            An id that is not there. Nothing is removed by this request; of a call that was cut `done` says more.
        ServiceError
            The service can't be reached, or does not do it; `unknown` is True if the answer was lost.
        """
        from nearkin.service.client_answers import RemovedAnswer
        from nearkin.service.client_documents import listed

        keys = list(dict.fromkeys(listed(check_ids(ids))))
        query = {name: "1" for name, wanted in (("missing_ok", missing_ok), ("erase", erase)) if wanted}
        removed = 0
        for piece in self._listed(keys, "ids"):
            try:
                answer = self._asked("/v1/remove", piece, RemovedAnswer, query, changes=True, patient=erase)
            except (NearkinError, OSError) as error:
                raise self._cut(error, piece, len(keys)) from None
            removed += answer.removed
        return removed

    def merge(self, *, progress: ShowProgress = None) -> StoreStats:
        """Write all that waits into a segment, and all segments into one without removed documents."""
        from nearkin.service.client_answers import InfoAnswer
        from nearkin.service.client_calls import Call, decoded

        with reporting(progress) as report:
            report("merge", 0, None)
            answer = self._calls.send(Call("POST", "/v1/merge", patient=True))
        return decoded(answer, InfoAnswer, self._url).stats()  # type: ignore[no-any-return]  # It was checked.

    def backup(self, name: str) -> str:
        """Copy the store as it stands to a new folder below that of the service's `--backups`.

        Parameters
        ----------
        name : str
            Of the folder.

        Returns
        -------
        str
            Where it is, on the machine of the service.

        Raises
        ------
        FileExistsError
            Something is there.
        ServiceError
            The service has no folder for backups, or can't be reached.
        """
        from nearkin.service.client_answers import BackupAnswer
        from nearkin.service.client_bodies import Piece
        from nearkin.service.client_calls import JSON, encoded

        piece = Piece(encoded({"name": name}), JSON, 0, 1)
        answer = self._asked("/v1/backup", piece, BackupAnswer, changes=True, patient=True)
        return str(answer.path)

    # Inside

    def _info(self) -> InfoAnswer:
        from nearkin.service.client_answers import InfoAnswer
        from nearkin.service.client_calls import Call, decoded

        found: InfoAnswer = decoded(self._calls.send(Call("GET", "/v1/info")), InfoAnswer, self._url)
        self._known = found
        return found

    def _about(self) -> InfoAnswer:
        """What does not change while a service runs, asked once."""
        self._calls.check_open()
        return self._info() if self._known is None else self._known

    def _setting(self, name: str) -> str:
        """A setting of the store that is a string."""
        from nearkin.service.client_errors import service_error

        found = self._about().settings.get(name)
        if not isinstance(found, str):
            raise service_error(self._url, f"does not say the {name} of its store; are both of one version of nearkin?")
        return found

    def _limits(self) -> Limits:
        from nearkin.service.client_bodies import Limits

        found = self._about().limits
        return Limits(found.body, found.batch)

    def _given(self, items: Any, ids: Ids | None, columns: Columns | None, kind: str | None) -> Given:
        from nearkin.service.client_documents import given_documents

        return given_documents(items, ids, columns, kind, self.kind, self._about().settings.get("dimension"))

    def _add(self, path: str, given: Given, conflicts: Conflicts, report: Progress) -> CheckResult:
        if conflicts not in get_args(Conflicts):
            raise bad_parameter("conflicts", repr(conflicts), '"raise" or "report"')
        return self._answers(path, given, {}, report, adds=True, lines=conflicts == "report")

    def _answers(
        self,
        path: str,
        given: Given,
        query: dict[str, str],
        report: Progress,
        *,
        adds: bool = False,
        lines: bool = False,
    ) -> CheckResult:
        """Send documents in as many requests as they need; their answers as one."""
        from nearkin.service.client_answers import Asked, answers_of, joined
        from nearkin.service.client_bodies import pieces_of
        from nearkin.service.client_calls import Call

        matched = "k" in query
        form: Form = "lines" if lines else "batch" if matched else "any"
        if not given.count:
            # No documents are asked of, not added: an addition without ids would be one of row numbers.
            path, query, given, form = "/v1/check", {}, replace(given, ids=None), "any"
        kind_of_distance = np.float64 if self.kind == "vectors" else np.int64
        found: list[CheckResult] = []
        for piece in pieces_of(given, self._limits(), self._url, form=form):
            stop = piece.first + piece.count
            own = given.ids[piece.first : stop] if given.ids is not None else None if piece.count else []
            asked = Asked(self._url, kind_of_distance, piece.count, own, adds, matched)
            try:
                key = token_urlsafe(12) if adds and own else None
                call = Call("POST", path, piece.body, piece.type, query, key, changes=adds)
                verified = self._verified_by(given) if lines else ""
                found.append(answers_of(self._calls.send(call), asked, verified))
            except (NearkinError, OSError) as error:
                raise self._cut(error, piece, given.count) from None
            report("send", stop, given.count)
        answers = joined(found)
        self._verified = answers.verified
        return answers

    def _verified_by(self, given: Given) -> str:
        """How similarities are verified, which answers by lines do not say: that of none of these documents does."""
        if self._verified is None:
            none = replace(given, count=0, sizes=[], ids=None, columns=None)
            self._verified = self._answers("/v1/check", none, {}, unreported).verified
        return self._verified

    def _cut(self, error: Exception, piece: Piece, total: int) -> Exception:
        """The error of a piece; the limits are asked again if they have changed."""
        from nearkin.service.client_errors import after_pieces

        if getattr(error, "slug", None) == "too-large":
            self._known = None
        return after_pieces(error, piece.first, total) if piece.first else error

    def _listed(self, values: Sequence[Any], name: str, most: int | None = None) -> Iterable[Piece]:
        """Pieces of ids or queries, of at most `most` each."""
        from nearkin.service.client_bodies import listed_pieces

        if not values:
            return []
        limits = self._limits()
        some = limits if most is None else replace(limits, batch=min(limits.batch, most))
        return listed_pieces(values, name, some, self._url)

    def _asked(
        self,
        path: str,
        piece: Piece,
        kind: Callable[..., Any],
        query: dict[str, str] | None = None,
        *,
        changes: bool = False,
        patient: bool = False,
    ) -> Any:
        from nearkin.service.client_calls import Call, decoded

        call = Call("POST", path, piece.body, piece.type, query or {}, changes=changes, patient=patient)
        return decoded(self._calls.send(call), kind, self._url)

    def _documents(self, ids: Ids, query: dict[str, str], most: int | None = None) -> list[DocumentAnswer | None]:
        from nearkin.service.client_answers import DocumentsAnswer
        from nearkin.service.client_documents import listed

        found: list[DocumentAnswer | None] = []
        for piece in self._listed(listed(check_ids(ids)), "ids", most):
            documents = self._asked("/v1/documents", piece, DocumentsAnswer, query).documents
            self._check_count(len(documents), piece.count)
            found += documents
        return found

    def _check_count(self, found: int, asked: int) -> None:
        """Refuse an answer to another number of questions."""
        from nearkin.service.client_errors import service_error

        if found != asked:
            raise service_error(self._url, f"answered {found} times to {asked} questions")
