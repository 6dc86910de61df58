"""`nearkin mcp`: a store as tools of an agent."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

from nearkin.cli.commands import Commands
from nearkin.cli.options import StoreMemory, opt
from nearkin.cli.store import StorePath, open_store

app = Commands()


@app.add(brief=("readonly", "create", "token_file"))
def mcp(
    store: StorePath,
    readonly: Annotated[bool, opt("Leave out the tool that adds documents.", "--readonly")] = False,
    create: Annotated[bool, opt("Create a store of short texts (kind titles) if there is none.", "--create")] = False,
    token_file: Annotated[Path | None, opt("Token of the service, for a URL.", "--token-file", metavar="FILE")] = None,
    memory_limit: StoreMemory = None,
) -> None:
    """Offer a store to an agent, by the Model Context Protocol. Needs the extra `mcp`.

    The tools are check, check_and_add, search and explain. The agent's program starts this command and talks to it over
    standard input and output, until it closes them. It is for texts.

    Examples
    --------
    $ nearkin mcp pages.store
    {"jsonrpc":"2.0","id":1,"result":{...

    nearkin mcp pages.store --readonly
    nearkin mcp http://127.0.0.1:8470 --token-file tokens.txt
    claude mcp add pages -- nearkin mcp /data/pages.store --readonly
    """
    from nearkin.errors import bad_parameter

    if create and readonly:
        raise bad_parameter("readonly", "with --create", "an existing store")
    if create and "://" not in store and not Path(store).exists():
        # Fails without the extra, before a store is created.
        import_module("nearkin.mcp")
        from nearkin.dedup.kinds import kind_options
        from nearkin.store.store import Store

        Store.create(store, **kind_options("titles")).close()
    with open_store(store, "r" if readonly else "w", token_file=token_file, memory_limit=memory_limit) as opened:
        from nearkin.mcp import build_server

        build_server(opened, readonly=readonly).run()
