"""A store over HTTP: `nearkin serve STORE`, and the client of it.

| file | holds |
|---|---|
| `settings` | what a service is told when it starts: addresses, limits, folders |
| `problems` | errors as problem details (RFC 9457) |
| `access` | tokens, and which hosts and origins may ask |
| `bodies`, `arrow` | what requests send: JSON, NDJSON, Arrow, compressed or not |
| `replies` | what they get back, in the same forms |
| `work` | jobs, the bounded queue, and the threads that hold the store: many small requests share one commit |
| `store_work` | what those threads do with a group of jobs |
| `calls` | one request: its headers, its body within limits, its reply |
| `streams` | NDJSON that is answered while it comes |
| `hall` | the state of a running service: the store, its threads, what is bounded |
| `routes` | what each route does |
| `described` | the same routes as OpenAPI, with examples and every error |
| `app` | all of it as one ASGI application |
| `metrics`, `logs` | what Prometheus reads; a JSON object per line |
| `server` | the process: granian, signals, draining |
| `client` | `Client`: the methods of `Store`, asked of a service |
| `client_calls` | one call over HTTP: connections, repetitions, answers that are errors |
| `client_errors` | the errors that the problems of a service become |
| `client_options` | the options of a client, checked |
| `client_documents` | what a call is given, checked as the store checks it |
| `client_bodies` | documents as bodies of requests, cut to the service's limits |
| `client_answers` | results made of answers |
| `page` | the page at `/` |

A service decides nothing about documents: every answer is that of `nearkin.store.Store`.
"""
