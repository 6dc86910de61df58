"""The service: a store over HTTP, and its client.

| file | holds |
|---|---|
| `client` | `Client`: the methods of `Store`, asked of a service |
| `client_calls` | one call over HTTP: connections, repetitions, answers that are errors |
| `client_errors` | the errors that the problems of a service become |
| `client_documents` | what a call is given, checked as the store checks it |
| `client_bodies` | documents as bodies of requests, cut to the service's limits |
| `client_answers` | results made of answers |
"""
