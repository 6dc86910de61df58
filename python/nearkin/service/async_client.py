"""`AsyncClient`: the methods of `Client` as coroutines.

Each call runs `Client`, which threads may share, in a thread of the client's own pool, so that requests, retries,
idempotency keys and errors are exactly those of `Client`, and the event loop never waits for the network. A cancelled
call returns at once; its request still completes in its thread, as a change that was sent may have been applied.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from nearkin.errors import check_count
from nearkin.service.client import Client

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import ParamSpec, Self

    from nearkin.index.ids import Id, Ids
    from nearkin.store.results import CheckResult, StoredDocument, StoredMatch, StoreStats
    from nearkin.store.store import Items

    P = ParamSpec("P")

T = TypeVar("T")


class AsyncClient:
    """A store behind a service, for programs of asyncio: the methods of `Client`, which describes them, as coroutines.

    Parameters
    ----------
    url : str
        As for `Client`.
    token : str, optional
        As for `Client`.
    max_requests : int, default 32
        Maximum number of requests at a time, 1 to 1,024; further calls wait.
    **options
        Other parameters of `Client`: timeout, retries, wait, verify, transport.

    Raises
    ------
    ParameterError, MissingExtraError
        As for `Client`.

    Notes
    -----
    Use `async with`, or call `await client.close()`. `kind`, `settings`, `recipe` and `id_kind`, which may send a
    request, are coroutines, and `len(client)` is `(await client.stats()).documents`.
    """

    def __init__(self, url: str, token: str | None = None, *, max_requests: int = 32, **options: Any) -> None:
        check_count("max_requests", max_requests, 1, 1024, "1 to 1024")
        self._client = Client(url, token, **options)
        self._threads = ThreadPoolExecutor(max_requests, thread_name_prefix="nearkin-client")

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    @property
    def url(self) -> str:
        """URL of the service."""
        return self._client.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, method: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        call = functools.partial(method, *arguments, **options)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def close(self) -> None:
        """Close the connections; calls that wait for a retry raise their error."""
        # Not in the pool, whose threads may all wait.
        await asyncio.to_thread(self._client.close)
        self._threads.shutdown(wait=False)

    async def check_and_add(self, texts: Items, ids: Ids | None = None, **options: Any) -> CheckResult:
        """Deduplicate documents against the store and add them (`Client.check_and_add`)."""
        return await self._call(self._client.check_and_add, texts, ids, **options)

    async def add(self, texts: Items, ids: Ids | None = None, **options: Any) -> CheckResult:
        """Add documents without deduplicating them (`Client.add`)."""
        return await self._call(self._client.add, texts, ids, **options)

    async def check(self, texts: Items, **options: Any) -> CheckResult:
        """Return the result that each document would get (`Client.check`)."""
        return await self._call(self._client.check, texts, **options)

    async def search(self, values: Any, *, radius: int | None = None, k: int = 10) -> list[list[StoredMatch]]:
        """Return the nearest stored documents (`Client.search`)."""
        return await self._call(self._client.search, values, radius=radius, k=k)

    async def get(self, ids: Ids, *, missing_ok: bool = False) -> list[StoredDocument | None]:
        """Return stored documents (`Client.get`)."""
        return await self._call(self._client.get, ids, missing_ok=missing_ok)

    async def texts(self, ids: Ids) -> list[str | None]:
        """Return the texts of documents (`Client.texts`)."""
        return await self._call(self._client.texts, ids)

    async def contains(self, id: Id) -> bool:
        """Return whether the store has an id (`id in Client`)."""
        return await self._call(self._client.__contains__, id)

    async def remove(self, ids: Ids, *, missing_ok: bool = False, erase: bool = False) -> int:
        """Hide documents from every result (`Client.remove`)."""
        return await self._call(self._client.remove, ids, missing_ok=missing_ok, erase=erase)

    async def merge(self) -> StoreStats:
        """Merge all segments (`Client.merge`)."""
        return await self._call(self._client.merge)

    async def backup(self, name: str) -> str:
        """Copy the store within the service's folder of backups (`Client.backup`)."""
        return await self._call(self._client.backup, name)

    async def stats(self) -> StoreStats:
        """Return size and settings of the store (`Client.stats`)."""
        return await self._call(self._client.stats)

    async def kind(self) -> str:
        """Return the kind of the store (`Client.kind`)."""
        return await self._call(lambda: self._client.kind)

    async def settings(self) -> dict[str, Any]:
        """Return the settings of the store (`Client.settings`)."""
        return await self._call(lambda: self._client.settings)

    async def recipe(self) -> Any:
        """Return the recipe of the store (`Client.recipe`)."""
        return await self._call(lambda: self._client.recipe)

    async def id_kind(self) -> str:
        """Return the kind of the ids (`Client.id_kind`)."""
        return await self._call(lambda: self._client.id_kind)
