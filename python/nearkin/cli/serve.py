"""`nearkin serve`: a store over HTTP, for crawlers on many machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin._core import set_num_threads
from nearkin.cli.options import (
    Bits,
    RecipeOption,
    StoreMemory,
    Threads,
    Threshold,
    bytes_of,
    memory_of,
    one_of,
    recipe_of,
)
from nearkin.errors import bad_parameter

_EXAMPLES = """
[bold]Examples[/]

  nearkin serve pages.store

  nearkin serve pages.store --create --recipe minhash --threshold 0.7

  nearkin serve pages.store --host 0.0.0.0 --token-file tokens.txt --backups backups
"""
_ASK = """
[bold]Ask it[/]

  curl -H 'Content-Type: application/json' -d '{"id": "a", "text": "some words"}' http://127.0.0.1:8470/v1/check-and-add
"""

Size = Annotated[str, typer.Option(metavar="SIZE")]


def serve(
    store: Annotated[Path, typer.Argument(help="Folder of the store.", metavar="STORE", show_default=False)],
    host: Annotated[str, typer.Option(help="Address; any but loopback needs --token-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.")] = 8470,
    create: Annotated[bool, typer.Option("--create", help="Make the store if it is not there.")] = False,
    recipe: RecipeOption = None,
    bits: Bits = None,
    threshold: Threshold = None,
    readonly: Annotated[bool, typer.Option("--readonly", help="Answer questions, refuse changes.")] = False,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="Lines `read TOKEN` and `write TOKEN`.", metavar="FILE")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            help="A name under which it may be asked, beside its address. Several times.",
            metavar="NAME",
        ),
    ] = None,
    backups: Annotated[
        Path | None, typer.Option("--backups", help="Folder in which POST /v1/backup makes copies.", metavar="FOLDER")
    ] = None,
    max_body: Annotated[
        str, typer.Option("--max-body", help="Largest body that is held whole.", metavar="SIZE")
    ] = "32MiB",
    max_batch: Annotated[int, typer.Option("--max-batch", help="Most documents of a batch.")] = 10_000,
    max_pending: Annotated[
        str, typer.Option("--max-pending", help="Bodies that may wait; more are answered 429.", metavar="SIZE")
    ] = "64MiB",
    timeout: Annotated[float, typer.Option(help="Seconds for a body to arrive.")] = 30.0,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate, PEM.", metavar="FILE")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its key, PEM (PKCS#8).", metavar="FILE")] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
    sync: Annotated[
        str,
        typer.Option(
            help="When a change is answered: commit (on the disk) or interval.",
            autocompletion=one_of("commit", "interval"),
        ),
    ] = "commit",
    memory_limit: StoreMemory = None,
    threads: Threads = None,
) -> None:
    """Serve a store over HTTP until SIGTERM or Ctrl-C. Needs the extra `service`.

    The log is a JSON object per line on standard error. /docs describes every route, / is a page for people.
    """
    from nearkin.service.server import free_port
    from nearkin.service.server import serve as serve_store
    from nearkin.service.settings import Limits, ServiceSettings

    set_num_threads(threads)
    limits = Limits(
        body=bytes_of(max_body, "max_body"),
        batch=max_batch,
        pending=bytes_of(max_pending, "max_pending"),
        seconds=timeout,
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
        memory=memory_of(memory_limit),
        sync=sync,
    )
    _check_files(settings.token_file, settings.certificate, settings.key)
    # What can fail does so before a store is made.
    free_port(host, port)
    if backups is not None:
        backups.mkdir(parents=True, exist_ok=True)
    _check_store(store, create=create, recipe=recipe, bits=bits, threshold=threshold, readonly=readonly)
    serve_store(store, settings)


def _check_files(*paths: Path | None) -> None:
    """Refuse files that are not there, before anything is opened."""
    for path in paths:
        if path is not None and not path.is_file():
            raise FileNotFoundError(2, "no such file", str(path))


def _check_store(
    store: Path, *, create: bool, recipe: str | None, bits: int | None, threshold: float | None, readonly: bool
) -> None:
    """Make the store if that was asked for; else refuse what only a new store takes."""
    from nearkin.store.kinds import is_digest_recipe
    from nearkin.store.store import Store

    given = {"recipe": recipe, "bits": bits, "threshold": threshold}
    if not create or store.exists():
        for name, value in given.items():
            if value is not None and not create:
                raise bad_parameter(name, value, "--create with it: a store that is there has its own")
        with Store.open(store, "r") as there:
            if recipe is not None and str(recipe_of(recipe, bits) if not is_digest_recipe(recipe) else recipe) != str(
                there.recipe
            ):
                raise bad_parameter("recipe", recipe, f"{there.recipe}, which the store has, or leave it out")
            if threshold is not None and threshold != there.settings.threshold:
                raise bad_parameter("threshold", threshold, f"{there.settings.threshold}, which the store has")
        return
    if readonly:
        raise bad_parameter("readonly", "with --create", "a store that is there")
    made = recipe if is_digest_recipe(recipe) else recipe_of(recipe, bits)
    Store.create(store, made, threshold=threshold).close()


def add_to(main: typer.Typer) -> None:
    """Add the command to a command line."""
    main.command(epilog=_EXAMPLES + _ASK)(serve)
