"""One call of a service over HTTP: connections, repetitions, and answers that are errors.

What may be sent again, and when:

| what happened | the service has done | a question | a change |
|---|---|---|---|
| no connection; 408, 429, 503 | nothing | again | again |
| the connection broke; no answer in time; 502, 504 | unknown | again | again with an idempotency key, else an error |
| any other answer | what it says | an answer or an error | the same |

The n-th repetition waits `0.2 * 2 ** n` seconds, at most 5, less up to a half by chance, so that clients that were
refused together do not come again together; or as long as `Retry-After` says, and up to a quarter longer.
"""

from __future__ import annotations

import os
import random
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from threading import Event, Lock
from typing import Any

import httpx
import msgspec

from nearkin._core import __version__
from nearkin.errors import ParameterError, ServiceError
from nearkin.service.client_errors import error_of, service_error

JSON, ARROW, NDJSON = "application/json", "application/vnd.apache.arrow.stream", "application/x-ndjson"

_FIRST_WAIT, _LONGEST_WAIT, _MOST_ASKED = 0.2, 5.0, 60.0
"""Seconds before a call is repeated; the longest that `Retry-After` is waited for."""
_CONNECT = 10.0
"""Seconds to connect, at most."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
_REFUSED, _BROKEN = (408, 429, 503), (502, 504)


@dataclass(frozen=True)
class Call:
    """A request.

    Attributes
    ----------
    method, path : str
        The path is below the URL of the service.
    body : bytes, optional
    type : str
        Of the body.
    query : mapping of str to str
    key : str, optional
        The idempotency key of a change.
    changes : bool
        Whether it is a change that must not be made twice.
    patient : bool
        Whether it may take any time: a merge, a backup.
    """

    method: str
    path: str
    body: bytes | None = None
    type: str = JSON
    query: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    changes: bool = False
    patient: bool = False

    @property
    def repeats(self) -> bool:
        """Whether it may be sent again after its answer was lost: a question, or a change with a key."""
        return not self.changes or self.key is not None

    def headers(self) -> dict[str, str]:
        """Of the request."""
        found = {} if self.body is None else {"Content-Type": self.type}
        return found if self.key is None else {**found, "Idempotency-Key": self.key}


class Calls:
    """The calls of one client. Threads may share it; a forked child has connections of its own.

    Parameters
    ----------
    url : str
        Checked before.
    token : str, optional
    timeout : float
        Seconds that the service may be silent.
    retries : int
        Repetitions of a call.
    verify : bool or ssl.SSLContext
        How a service by https is verified.
    transport : httpx.BaseTransport, optional
        In the place of the network.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        retries: int,
        verify: bool | ssl.SSLContext,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url, self._token, self._timeout, self._retries = url, token, timeout, retries
        self._verify, self._transport = verify, transport
        self._lock, self._closed = Lock(), Event()
        self._http: httpx.Client | None = None
        self._process = os.getpid()

    def close(self) -> None:
        """End the connections; calls that wait for a repetition end with an error."""
        with self._lock:
            self._closed.set()
            if self._http is not None and self._process == os.getpid():
                self._http.close()
            self._http = None

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed.is_set()

    def send(self, call: Call) -> httpx.Response:
        """The answer to a call, of a status below 300.

        Raises
        ------
        ServiceError
            No answer, or one that only a service can give.
        NearkinError, FileExistsError
            What the store raises.
        """
        lost = False
        for number in range(self._retries + 1):
            try:
                self.check_open()
                return self._send_once(call)
            except _Failed as failed:
                fault = failed
            except RuntimeError:
                # Another thread has closed the client meanwhile.
                self.check_open()
                raise
            lost |= fault.reached and call.changes
            last = number == self._retries or not fault.repeats or (fault.asked or 0) > _MOST_ASKED
            if last or self._closed.wait(_wait(number, fault.asked)):
                break
        raise fault.told(number, lost=lost)

    def _send_once(self, call: Call) -> httpx.Response:
        timeout = httpx.Timeout(self._timeout, connect=min(self._timeout, _CONNECT))
        if call.patient:
            timeout = httpx.Timeout(None, connect=min(self._timeout, _CONNECT))
        with _told_failures(call, self.url):
            answer = self._connected().request(
                call.method,
                self.url + call.path,
                content=call.body,
                params=dict(call.query) or None,
                headers=call.headers(),
                timeout=timeout,
            )
        status = answer.status_code
        if status < 300:
            return answer
        error = self._error_of(answer)
        if status in _REFUSED:
            raise _Failed(error, repeats=True, asked=_asked(answer))
        if status in _BROKEN:
            raise _Failed(error, repeats=call.repeats, reached=True)
        raise error

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._http is None or self._process != os.getpid():
                # Connections of the parent are the parent's: they are left to it.
                self._http, self._process = self._open(), os.getpid()
            return self._http

    def _open(self) -> httpx.Client:
        headers = {"User-Agent": f"nearkin/{__version__}", "Accept": f"{JSON}, {ARROW}, {NDJSON}"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        host = httpx.URL(self.url).host
        return httpx.Client(
            headers=headers,
            verify=self._verify,
            transport=self._transport,
            follow_redirects=False,
            # A proxy that the environment names does not reach this machine itself.
            trust_env=host not in ("localhost", "::1") and not host.startswith("127."),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        )

    def check_open(self) -> None:
        """Refuse a call of a closed client."""
        if self._closed.is_set():
            raise ParameterError("the client is closed; make another one")

    def _error_of(self, answer: httpx.Response) -> Exception:
        """The error of an answer of a status from 300 on."""
        status = answer.status_code
        if answer.has_redirect_location:
            message = f"the service has moved to {answer.headers['Location'][:200]}; give that URL"
            return service_error(self.url, message, context={"status": status})
        try:
            problem = msgspec.json.decode(answer.content)
        except msgspec.DecodeError:
            problem = None
        if not isinstance(problem, dict) or "type" not in problem:
            message = f"HTTP status {status} and no problem that a nearkin service gives; is this its URL?"
            return service_error(self.url, message, context={"status": status})
        return error_of(problem, status, self.url)


class _Failed(Exception):  # noqa: N818 - it never leaves this module
    """A call that had no answer, or one that asks to come again."""

    def __init__(self, error: Exception, *, repeats: bool, asked: float | None = None, reached: bool = False) -> None:
        super().__init__(str(error))
        self.error, self.repeats, self.asked, self.reached = error, repeats, asked, reached

    def told(self, repetitions: int, *, lost: bool) -> Exception:
        """The error for the caller; `lost` says whether a change may have been made."""
        error = self.error
        if not isinstance(error, ServiceError):
            return error
        message = error.message
        if lost:
            message += (
                "; the answer to a change was lost, so that it is not known whether it was made. See what is there; "
                "documents with ids can be sent again, those that are there are known"
            )
        elif (self.asked or 0) > _MOST_ASKED:
            message += f"; it asks to come again in {self.asked:,.0f} seconds"
        elif repetitions:
            message += f" ({repetitions + 1} tries)"
        return ServiceError(message, **{**error.context, "unknown": lost})


@contextmanager
def _told_failures(call: Call, url: str) -> Iterator[None]:
    """What httpx raises as failures of a call."""
    try:
        yield
    except _NOT_SENT as error:
        told = str(error) or type(error).__name__
        untrusted = "CERTIFICATE_VERIFY_FAILED" in told
        mend = "give verify= the file of its authority" if untrusted else "is the service running, and is this its URL?"
        raise _Failed(service_error(url, f"can't connect ({told}); {mend}"), repeats=not untrusted) from error
    except httpx.TransportError as error:
        silent = isinstance(error, httpx.TimeoutException)
        told = "no answer in time" if silent else f"the connection broke ({error or type(error).__name__})"
        raise _Failed(service_error(url, told), repeats=call.repeats, reached=True) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _Failed(service_error(url, str(error)), repeats=False) from error


def _wait(number: int, asked: float | None) -> float:
    """Seconds before the repetition of this number."""
    chance = random.SystemRandom().random()
    if asked is not None:
        return asked * (1 + chance / 4)
    return min(_FIRST_WAIT * 2.0 ** min(number, 30), _LONGEST_WAIT) * (1 - chance / 2)


def _asked(answer: httpx.Response) -> float | None:
    """The seconds of `Retry-After`, which gives seconds or a date."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    now = datetime.now(timezone.utc)
    return max((date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp() - now.timestamp(), 0.0)


def encoded(value: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value)


def decoded(answer: httpx.Response, kind: Any, url: str) -> Any:
    """The JSON of an answer, checked to be of this type.

    Raises
    ------
    ServiceError
        It is something else.
    """
    try:
        return msgspec.json.decode(answer.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"answered what this client does not understand ({error}); are both of one version of nearkin?"
        raise service_error(url, message, context={"status": answer.status_code}) from error
