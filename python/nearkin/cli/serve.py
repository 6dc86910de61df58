"""`nearkin serve`: a store over HTTP, for crawlers on many machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli.commands import Commands
from nearkin.cli.options import (
    KindOption,
    Repeated,
    StoreMemory,
    opt,
    parse_bytes,
    parse_memory,
    parse_rate,
    refuse_url,
)
from nearkin.errors import ParameterError, bad_parameter

app = Commands()


@app.add(brief=("host", "port", "create", "readonly", "token_file", "backups", "tls_cert", "tls_key"), threads=True)
def serve(
    store: Annotated[
        str | None, typer.Argument(help="Folder of the store. Without one, --patterns alone.", metavar="STORE")
    ] = None,
    host: Annotated[str, opt("Address; any but loopback requires --token-file.")] = "127.0.0.1",
    port: Annotated[int, opt("Port; 0 for any free port.")] = 8470,
    create: Annotated[bool, opt("Create a store if there is none, of --kind or the default.", "--create")] = False,
    kind: KindOption = None,
    readonly: Annotated[bool, opt("Refuse changes.", "--readonly")] = False,
    token_file: Annotated[
        Path | None, opt("Lines `read TOKEN` and `write TOKEN`.", "--token-file", metavar="FILE")
    ] = None,
    rate: Annotated[
        str | None, opt("Requests of each token, such as 100/s, 600/min or 1000/h; beyond it 429.", metavar="RATE")
    ] = None,
    burst: Annotated[
        int | None, opt("Requests at once after a pause (default: those of a second).", metavar="N")
    ] = None,
    allow_host: Annotated[
        Repeated, opt("Additional host name; may be repeated.", "--allow-host", metavar="NAME")
    ] = None,
    backups: Annotated[Path | None, opt("Folder for POST /v1/backup.", "--backups", metavar="FOLDER")] = None,
    patterns: Annotated[
        Path | None, opt("Patterns of `patterns … --state FILE`, for /v1/patterns.", "--patterns", metavar="FILE")
    ] = None,
    max_body: Annotated[str, opt("Maximum size of a buffered request body.", "--max-body", metavar="SIZE")] = "32MiB",
    max_batch: Annotated[int, opt("Maximum number of documents in a batch.", "--max-batch")] = 10_000,
    max_pending: Annotated[
        str,
        opt("Maximum size of queued requests; beyond that the server answers 429.", "--max-pending", metavar="SIZE"),
    ] = "64MiB",
    timeout: Annotated[float, opt("Seconds for a body to arrive.")] = 30.0,
    tls_cert: Annotated[Path | None, opt("Certificate, PEM.", "--tls-cert", metavar="FILE")] = None,
    tls_key: Annotated[Path | None, opt("Private key, PEM (PKCS#8).", "--tls-key", metavar="FILE")] = None,
    access_log: Annotated[bool, opt("Log every request.", "--access-log")] = False,
    sync: Annotated[
        str,
        opt("When the server answers a change: commit (it is on disk) or interval.", choices=("commit", "interval")),
    ] = "commit",
    memory_limit: StoreMemory = None,
) -> None:
    """Serve a store, patterns or both over HTTP until SIGTERM or Ctrl-C. Needs the extra `service`.

    The log is one JSON object per line on standard error. /docs describes every route, / is a page for people.

    Examples
    --------
    $ nearkin serve pages.store
    {"time":"2026-11-26T08:00:00.000+00:00","level":"info","event":"ready",...

    nearkin serve pages.store --create
    nearkin serve --patterns urls.state
    nearkin serve pages.store --host 0.0.0.0 --token-file tokens.txt --rate 100/s --backups backups
    curl -H 'Content-Type: application/json' -d '{"id": "a", "text": "some words"}' http://127.0.0.1:8470/v1/check-and-add
    """
    from nearkin.cli.store import create_missing
    from nearkin.service.served_patterns import ServedPatterns
    from nearkin.service.server import free_port
    from nearkin.service.server import serve as serve_store
    from nearkin.service.settings import Limits, ServiceSettings
    from nearkin.store.log import check_is_store

    limits = Limits(
        max_body=parse_bytes(max_body, "max_body"),
        max_batch=max_batch,
        max_pending=parse_bytes(max_pending, "max_pending"),
        timeout=timeout,
    )
    settings = ServiceSettings(
        host=host,
        port=port,
        readonly=readonly,
        token_file=token_file,
        allowed_hosts=tuple(allow_host or ()),
        backups=backups,
        patterns=patterns,
        limits=limits,
        access_log=access_log,
        certificate=tls_cert,
        key=tls_key,
        memory=parse_memory(memory_limit),
        sync=sync,
        rate=None if rate is None else parse_rate(rate),
        burst=burst,
    )
    for path in (token_file, tls_cert, tls_key, patterns):
        if path is not None and not path.is_file():
            raise FileNotFoundError(2, "no such file", str(path))
    if store is None:
        if patterns is None:
            raise ParameterError("STORE is missing; give it, --patterns FILE, or both", name="store", found=None)
        for name, value in (("create", create or None), ("backups", backups)):
            if value is not None:
                raise bad_parameter(name, "given" if value is True else value, "a STORE with it")
    # Check everything that can fail before the store is created.
    free_port(host, port)
    if patterns is not None:
        ServedPatterns(patterns)
    if backups is not None:
        backups.mkdir(parents=True, exist_ok=True)
    if store is None:
        serve_store(None, settings)
        return
    refuse_url(store, "STORE", "the folder of a store on this machine")
    create_missing(store, create=create, kind=kind, readonly=readonly)
    check_is_store(Path(store))
    serve_store(store, settings)
