"""`nearkin serve`: a store over HTTP, for crawlers on many machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli.commands import Commands, Options, OptionsOf
from nearkin.cli.options import Bits, RecipeOption, Repeated, StoreMemory, opt, parse_bytes, parse_memory, parse_recipe
from nearkin.dedup.config import DedupConfig
from nearkin.errors import bad_parameter

app = Commands()


@app.add(threads=True)
def serve(
    store: Annotated[Path, typer.Argument(help="Folder of the store.", metavar="STORE", show_default=False)],
    matching: Annotated[Options, OptionsOf(DedupConfig, "threshold", show_defaults=False)],
    host: Annotated[str, opt("Address; any but loopback requires --token-file.")] = "127.0.0.1",
    port: Annotated[int, opt("Port; 0 for any free port.")] = 8470,
    create: Annotated[bool, opt("Create the store if it does not exist.", "--create")] = False,
    recipe: RecipeOption = None,
    bits: Bits = None,
    readonly: Annotated[bool, opt("Refuse changes.", "--readonly")] = False,
    token_file: Annotated[
        Path | None, opt("Lines `read TOKEN` and `write TOKEN`.", "--token-file", metavar="FILE")
    ] = None,
    allow_host: Annotated[
        Repeated, opt("Additional host name; may be repeated.", "--allow-host", metavar="NAME")
    ] = None,
    backups: Annotated[Path | None, opt("Folder for POST /v1/backup.", "--backups", metavar="FOLDER")] = None,
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
    """Serve a store over HTTP until SIGTERM or Ctrl-C. Needs the extra `service`.

    The log is one JSON object per line on standard error. /docs describes every route, / is a page for people.

    Examples
    --------
    nearkin serve pages.store
    nearkin serve pages.store --create --recipe minhash --threshold 0.7
    nearkin serve pages.store --host 0.0.0.0 --token-file tokens.txt --backups backups
    curl -H 'Content-Type: application/json' -d '{"id": "a", "text": "some words"}' http://127.0.0.1:8470/v1/check-and-add
    """
    from nearkin.service.server import free_port
    from nearkin.service.server import serve as serve_store
    from nearkin.service.settings import Limits, ServiceSettings

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
        limits=limits,
        access_log=access_log,
        certificate=tls_cert,
        key=tls_key,
        memory=parse_memory(memory_limit),
        sync=sync,
    )
    for path in (token_file, tls_cert, tls_key):
        if path is not None and not path.is_file():
            raise FileNotFoundError(2, "no such file", str(path))
    # Check everything that can fail before the store is created.
    free_port(host, port)
    if backups is not None:
        backups.mkdir(parents=True, exist_ok=True)
    _prepare_store(store, recipe, bits, matching.get("threshold"), create=create, readonly=readonly)
    serve_store(store, settings)


def _prepare_store(
    path: Path, recipe: str | None, bits: int | None, threshold: float | None, *, create: bool, readonly: bool
) -> None:
    """Create the store with --create; otherwise refuse settings other than those of the store."""
    from nearkin.store.kinds import is_digest_recipe
    from nearkin.store.store import Store

    if not create:
        for name, value in {"recipe": recipe, "bits": bits, "threshold": threshold}.items():
            if value is not None:
                raise bad_parameter(name, value, "it only with --create: an existing store has its own")
    # A recipe of digests is a text form; parsing one of texts here reports a misspelt recipe.
    parsed = recipe if is_digest_recipe(recipe) else parse_recipe(recipe, bits)
    if not create or path.exists():
        with Store.open(path, "r") as store:
            if recipe is not None and str(parsed) != str(store.recipe):
                raise bad_parameter("recipe", recipe, f"{store.recipe}, which the store has, or leave it out")
            if threshold is not None and threshold != store.settings.threshold:
                raise bad_parameter("threshold", threshold, f"{store.settings.threshold}, which the store has")
        return
    if readonly:
        raise bad_parameter("readonly", "with --create", "an existing store")
    Store.create(path, parsed, threshold=threshold).close()
