"""A store over HTTP: `nearkin serve STORE`, and its client.

| file | content |
|---|---|
| `app` | `Service`: the FastAPI application, its public routes and exception handlers |
| `routes` | the routes of the store |
| `auth` | tokens, Host and Origin, as dependencies of the routes |
| `models` | JSON models of requests and responses, shared with the client |
| `bodies` | decoding and encoding of JSON and Arrow |
| `request`, `responses` | an HTTP request within its limits; JSON, problems and streams of NDJSON |
| `openapi` | media types, problems and examples of the OpenAPI document |
| `state` | `AppState`: store handles, worker threads, limits |
| `executor` | `Operation`, `Request`, `Admission`, and the threads that execute groups of requests |
| `errors` | errors as problem details (RFC 9457) |
| `telemetry` | log and metrics |
| `settings`, `server` | what a service is started with; its process |
| `client` | `Client`: the methods of `Store` over HTTP; it needs httpx and msgspec only |
| `async_client` | `AsyncClient`: `Client` for asyncio |
| `page` | the page at `/`, and that at `/docs` |

The service makes no decisions about documents: every result is that of `nearkin.store.Store`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.service.async_client import AsyncClient as AsyncClient
    from nearkin.service.client import Client as Client
else:
    # The service itself needs neither client.
    __all__, __getattr__, __dir__ = lazy_names(__name__, {"async_client": ["AsyncClient"], "client": ["Client"]})
