"""`nearkin check`, and commands for the life of a store."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin.cli.commands import Commands
from nearkin.cli.console import Failures, display, progress_bars, say, say_row
from nearkin.cli.corpus import CorpusOptions
from nearkin.cli.options import (
    PRINTING,
    InputsIfAny,
    Json,
    PrintOptions,
    StoreMemory,
    TextQueries,
    opt,
    output_opt,
    parse_memory,
)
from nearkin.cli.store import (
    Best,
    RuleOptions,
    StorePath,
    TokenFile,
    WhatToStore,
    group,
    is_of_pages,
    open_store,
    print_results,
    read_batches,
    report_store,
    require_folder,
)
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from nearkin.store.backups import Backup

app = Commands()

DryRun = Annotated[bool, output_opt("Change nothing; print what would change.", "--dry-run")]


@app.add(threads=True)
def check(
    inputs: InputsIfAny = None,
    *,
    stores: Annotated[list[str], opt("Folder of a store, or URL of its service.", "--store")],
    reading: CorpusOptions,
    text: TextQueries = None,
    best: Best = None,
    token_file: TokenFile = None,
    memory_limit: StoreMemory = None,
    as_json: Json = False,
) -> None:
    """Check whether documents are new to a store, without adding them.

    Prints a line per document: id, status (new, exact, near), id of the match, distance, similarity, separated by tabs.
    With --text the documents are texts of the command line, called text 1, text 2, ...

    Examples
    --------
    $ nearkin check new.jsonl --store pages.store --id-column id
    e       exact   a       0       1.0000
    f       new     -       -       -

    nearkin check --text "The quick brown fox jumps over the lazy dog." --store pages.store
    nearkin check new.jsonl --store http://127.0.0.1:8470 --id-column url --best 3 --json
    """
    if len(stores) > 1:
        raise bad_parameter("stores", " and ".join(stores), "one store; run the command for each")
    from nearkin.dedup.boilerplate import page_source

    texts = text or []
    if not (inputs or texts):
        raise bad_parameter("inputs", "none", "files, - for standard input, or --text TEXT")
    if not inputs:
        reading.check_unset("not with --text alone, which reads no corpus")
    failures = Failures(strict=reading.strict)
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(stores[0], "r", token_file=token_file, memory_limit=memory_limit))
        # Progress bars would mix with results on a terminal.
        progress = stack.enter_context(progress_bars(quiet=sys.stdout.isatty()))
        batches = read_batches(opened, reading, inputs or [], [], failures, progress, texts=texts, adding=False)
        for batch in stack.enter_context(closing(batches)):
            sources = list(map(page_source, batch.ids or batch.names)) if is_of_pages(opened) else None
            results = opened.check(batch.values, k=best, kind=batch.kind, sources=sources)
            print_results(batch.names, results, as_json=as_json)
    failures.exit()


@group.add()
def expire(
    path: StorePath,
    max_age: Annotated[
        str | None, opt("Age from which documents expire: 90d, 12h, 30m, 4w.", "--max-age", metavar="AGE")
    ] = None,
    before: Annotated[
        str | None, opt("Time before which documents expire: 2026-01-31 or 2026-01-31T12:00Z.", metavar="TIME")
    ] = None,
    column: Annotated[
        str | None, opt("Column with the time of a document (default: the time of addition).", "--column")
    ] = None,
    dry_run: DryRun = False,
    erase: Annotated[
        bool, opt("Erase text, fingerprint and columns from every file now, by a merge.", "--erase")
    ] = False,
    memory_limit: StoreMemory = None,
    printing: PrintOptions = PRINTING,
) -> None:
    """Remove documents older than a time, all of them or none, and print their number.

    A column holds times in ISO 8601 (UTC without a time zone) or Unix seconds; documents without a time are kept. By
    the time of addition a document may expire ten minutes late, and never early.

    Examples
    --------
    $ nearkin store expire pages.store --before 2020-01-01 --dry-run
    pages.store: 0 documents would expire; 4 documents

    nearkin store expire pages.store --column published --max-age 90d --dry-run
    nearkin store expire pages.store --before 2026-01-01
    """
    from nearkin.store.store import Store

    folder, mode = require_folder(path, "expire"), "r" if dry_run else "w"
    with Store.open(folder, mode, memory=parse_memory(memory_limit)) as store:  # type: ignore[arg-type]  # "r" or "w".
        with progress_bars(quiet=printing.quiet) as progress:
            result = store.expire(
                before=before, max_age=max_age, column=column, dry_run=dry_run, erase=erase, progress=progress
            )
        left = len(store)
    counts = {"expired": result.documents, "undated": result.undated, "before": result.before.isoformat()}
    verb = "would expire" if dry_run else "expired"
    undated = f", {result.undated:,} without a time kept" if result.undated else ""
    line = f"{display(path)}: {result.documents:,} documents {verb}{undated}; {left:,} documents"
    printing.report({**counts, "dry_run": dry_run, "documents": left}, lambda: say(line))


@group.add(threads=True)
def copy(
    path: StorePath,
    target: Annotated[str, typer.Argument(help="New folder for the copy.", metavar="NEW")],
    rules: RuleOptions,
    text: Annotated[str | None, WhatToStore(show_default="as in the store")] = None,
    memory_limit: StoreMemory = None,
    printing: PrintOptions = PRINTING,
) -> None:
    """Copy a store into a new one with another recipe, threshold or verification; the old one does not change.

    Documents are deduplicated again in the order of addition, and keep ids, columns and times of addition. A store
    keeps no text of a near-duplicate: it stays near the same document, or near the one that this document matches now.

    Examples
    --------
    $ nearkin store copy pages.store copy.store --threshold 0.7
    store   copy.store
    documents       4
    ...

    nearkin store copy pages.store fingerprints.store --recipe default --threshold 0.7
    """
    from nearkin.store.store import Store

    parsed = rules.parse()
    with Store.open(require_folder(path, "copy"), "r", memory=parse_memory(memory_limit)) as store:
        with progress_bars(quiet=printing.quiet) as progress:
            options = {**rules.matching, "text": text, "memory": parse_memory(memory_limit)}
            copied = store.copy(target, parsed, progress=progress, **options)
        with copied:
            report_store(copied, {}, printing)


@group.add()
def restore(
    backups: Annotated[Path, typer.Argument(help="Folder with backups of a store, or one backup.", metavar="BACKUPS")],
    out: Annotated[
        Path | None, output_opt("New folder for the store; without it the backups are listed.", "--out", "-o")
    ] = None,
    at: Annotated[
        str | None, opt("Restore the last backup that is not later (default: the last one).", "--at", metavar="TIME")
    ] = None,
    printing: PrintOptions = PRINTING,
) -> None:
    """Copy a backup to a new folder: the last one, or the last one that is not later than a time.

    The backup is verified first. Without --out the backups are listed: name, time, documents, separated by tabs.

    Examples
    --------
    $ nearkin store restore backups --out restored.store
    restored.store: 4 documents of DATE, DATE

    nearkin store restore backups --at 2026-01-31T12:00Z --out pages.store
    """
    from nearkin.store.backups import list_backups, no_backups
    from nearkin.store.store import Store

    if out is None:
        listed = list_backups(backups)
        if not listed:
            raise no_backups(backups)
        for backup in listed:
            row = _describe_backup(backup)
            say_row(row, (display(backup.path.name), row["time"], row["documents"]), as_json=printing.as_json)
        return
    with progress_bars(quiet=printing.quiet) as progress:
        backup = Store.restore(backups, out, at=at, progress=progress)
    line = f"{display(out)}: {backup.documents:,} documents of {display(backup.path.name)}, {backup.time.isoformat()}"
    printing.report({**_describe_backup(backup), "store": str(out)}, lambda: say(line))


def _describe_backup(backup: Backup) -> dict[str, Any]:
    return {"backup": backup.path.name, "time": backup.time.isoformat(), "documents": backup.documents}
