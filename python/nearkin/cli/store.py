"""`nearkin store`: a collection on disk that says which documents are new, and remembers them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import (
    progress_bars,
    read_text,
    say,
    say_json,
    show_table,
    shown,
    warn,
)
from nearkin.cli.open_inputs import folder_of, holds_files, is_store, is_url, opened, own_folders, place_of
from nearkin.cli.options import (
    Bits,
    Columns,
    Differ,
    Featureless,
    Inputs,
    Json,
    Overwrite,
    Quiet,
    Radius,
    Recall,
    RecipeOption,
    StoreMemory,
    StorePath,
    Threads,
    Threshold,
    TokenFile,
    VerifyOption,
    one_of,
    output,
    recipe_of,
)
from nearkin.cli.reading import Reading, reads
from nearkin.cli.store_files import add_files, check_files, import_digests, refuse_of_texts
from nearkin.errors import bad_parameter
from nearkin.progress import unreported

if TYPE_CHECKING:
    from nearkin.cli.open_inputs import Asked
    from nearkin.index.ids import Id
    from nearkin.io import Batch, Corpus
    from nearkin.progress import Progress
    from nearkin.store.results import CheckResult, StoredDocument

    Told = tuple[Sequence[Id] | None, CheckResult]

Cells = Mapping[str, list[Any]] | None
"""Columns of documents by name."""

Ids = Annotated[list[str] | None, typer.Argument(help="Ids, as they were given.", metavar="ID")]
IdsFrom = Annotated[
    str | None, typer.Option("--ids", help="A file with an id per line; - for standard input.", metavar="FILE")
]
Best = Annotated[int | None, typer.Option("--best", "-k", help="Give this many of the best matches, too.")]
MissingOk = Annotated[bool, typer.Option("--missing-ok", help="Pass over ids that are not there.")]

_CREATE_EXAMPLES = """
[bold]Examples[/]

  nearkin store create pages.store

  nearkin store create pages.store --recipe minhash --recall 0.98 --threshold 0.7

  nearkin store create files.store --recipe ssdeep --threshold 70
"""
_ADD_EXAMPLES = """
[bold]Examples[/]

  nearkin store add pages.store today.jsonl.gz --id-column url --column source

  nearkin store add pages.store 'crawl/*.parquet' --text-column body --id-column url --json > answers.jsonl

  nearkin store add files.store Samples
"""
_CHECK_BY_URL_EXAMPLE = (
    "[bold]Example[/]\n\n  nearkin check --url http://127.0.0.1:8470 new.jsonl --id-column url --best 3 --json"
)
_CHECK_EXAMPLE = "[bold]Example[/]\n\n  nearkin store check pages.store new.jsonl --id-column url --best 3 --json"
_EXPORT_EXAMPLE = "[bold]Example[/]\n\n  nearkin store export pages.store --out pages.jsonl.gz"

_AT_ONCE = 1000
"""Documents whose texts are asked for at once."""
STATUSES = ("new", "exact", "near", "known")
"""What a document may be to a store."""

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="A collection on disk: is this document new?")


def create(
    path: StorePath,
    recipe: RecipeOption = None,
    bits: Bits = None,
    threshold: Threshold = None,
    radius: Radius = None,
    recall: Recall = None,
    text: Annotated[
        str,
        typer.Option(
            help="Of the texts of new documents: keep, features (hashes) or none.",
            autocompletion=one_of("keep", "features", "none"),
        ),
    ] = "keep",
    verify: VerifyOption = None,
    differ: Differ = None,
    featureless: Featureless = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a new, empty store. Recipe, threshold and what is kept of texts hold for its whole life.

    With a recipe of ssdeep it is a store of files; the threshold is then a score, 80 without the option.
    """
    folder = folder_of(path, "create")
    from nearkin.store.kinds import is_digest_recipe
    from nearkin.store.store import Store

    of_files = is_digest_recipe(recipe)
    if of_files and bits is not None:
        raise bad_parameter("bits", bits, "not with ssdeep, whose digests have no bits")
    with Store.create(
        folder,
        recipe if of_files else recipe_of(recipe, bits),
        threshold=threshold,
        radius=radius,
        recall=recall,
        text=text,  # type: ignore[arg-type]  # checked by the call, with its message
        verify=verify,  # type: ignore[arg-type]
        differ=differ,
        featureless=featureless,  # type: ignore[arg-type]
    ) as store:
        _report(store, {}, as_json=as_json, quiet=quiet)


@reads()
def add(
    path: StorePath,
    inputs: Inputs,
    reading: Reading,
    columns: Columns = None,
    keep_all: Annotated[
        bool, typer.Option("--all", help="Remember every document as one that stays, whatever it is like.")
    ] = False,
    token_file: TokenFile = None,
    memory_limit: StoreMemory = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say of each document whether it is new, and remember it.

    A line per document: id, status (new, exact, near, known), id of the match, distance, similarity, separated by tabs.
    Each batch of a few megabytes is durable before its lines are printed. For a store of files the inputs are files
    and folders, and the ids are their paths.
    """
    set_num_threads(threads)
    with (
        opened(path, token_file=token_file, memory_limit=memory_limit) as store,
        progress_bars(quiet=quiet) as progress,
    ):
        if holds_files(store):
            refuse_of_texts(reading, column=columns)
            tell = partial(_say_answers, as_json=as_json, quiet=quiet and not as_json)
            found, refusals = add_files(store, inputs, tell, progress, keep_all=keep_all, strict=reading.strict)
            _report(store, {name: found[name] for name in STATUSES}, as_json=False, quiet=quiet, err=True)
            refusals.end()
            return
        counts: dict[str, int] = dict.fromkeys(STATUSES, 0)

        def remember(texts: list[str | None], ids: list[Id] | None, cells: Cells) -> Told:
            answers = (store.add if keep_all else store.check_and_add)(texts, ids, columns=cells)
            for name in answers.status:
                counts[name] += 1
            progress("add", sum(counts.values()), None)
            return answers.own_ids, answers

        _answer_each(store, reading, inputs, remember, columns, progress, as_json=as_json, quiet=quiet and not as_json)
        _report(store, counts, as_json=False, quiet=quiet, err=True)


@reads()
def check(
    path: StorePath,
    inputs: Inputs,
    reading: Reading,
    best: Best = None,
    token_file: TokenFile = None,
    memory_limit: StoreMemory = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Say of each document what it would be if it came now; nothing is remembered."""
    set_num_threads(threads)
    # A bar among the answers would disturb them.
    hidden = sys.stdout.isatty()
    with (
        opened(path, "r", token_file=token_file, memory_limit=memory_limit) as store,
        progress_bars(quiet=hidden) as progress,
    ):
        if holds_files(store):
            refuse_of_texts(reading)
            tell = partial(_say_answers, as_json=as_json, quiet=False)
            check_files(store, inputs, tell, best=best, strict=reading.strict).end()
            return

        def answer(texts: list[str | None], ids: list[Id] | None, cells: Cells) -> Told:
            return None, store.check(texts, k=best)

        _answer_each(store, reading, inputs, answer, progress=progress, as_json=as_json, quiet=False)


@reads()
def check_by_url(
    inputs: Inputs,
    url: Annotated[
        str, typer.Option("--url", help="Where the service is, such as http://127.0.0.1:8470.", show_default=False)
    ],
    reading: Reading,
    best: Best = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Ask a service what documents would be if they came now; nothing is remembered.

    A line per document: id, status (new, exact, near), id of the match, distance, similarity, separated by tabs. For a
    store of files the inputs are files and folders.
    """
    if not is_url(url):
        raise bad_parameter("url", url, "the URL of a service, such as http://127.0.0.1:8470")
    check(url, inputs, reading=reading, best=best, token_file=token_file, as_json=as_json)


def _answer_each(
    store: Asked,
    reading: Reading,
    inputs: Sequence[str],
    answer: Callable[[list[str | None], list[Id] | None, Cells], Told],
    columns: Sequence[str] | None = None,
    progress: Progress = unreported,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read documents batch by batch, and print what is answered to each; files of the store itself are no documents.

    `answer` gets texts, ids (None where documents have none) and columns; it gives ids in the place of row numbers, or
    None, and the answers.
    """
    from nearkin.dedup.documents import bytes_ticker

    names = list(columns or [])
    with reading.reported(inputs, extra_columns=names, leave_out=own_folders(store)) as corpus:
        numbered = reading.id_column is None and corpus.format != "files"
        tell_bytes = bytes_ticker(corpus, progress)
        for batch, rows in _batches(corpus):
            ids: list[Any] = [batch.ids[row] for row in rows]
            cells = {name: [batch.columns[name][row] for row in rows] for name in names}
            own, answers = answer([batch.texts[row] for row in rows], None if numbered else ids, cells or None)
            _say_answers(ids if own is None else own, answers, as_json=as_json, quiet=quiet)
            tell_bytes()


def _batches(corpus: Corpus) -> Iterator[tuple[Batch, list[int]]]:
    """Batches of a corpus, and the rows whose ids a store can hold; the others are counted as bad records."""
    from nearkin.io.values import BIG_INT, BadRecord

    # What is remembered stays: whether there are such columns is known before.
    for batch in corpus.batches(wait_for_columns=True):
        good = (batch.ids.kinds != BIG_INT).nonzero()[0].tolist()
        for row in (batch.ids.kinds == BIG_INT).nonzero()[0].tolist():
            place = str(corpus.paths[0]) if corpus.paths else "standard input"
            reason = f"the id {str(batch.ids[row])[:40]} is no integer of 64 bits, as those of a store are"
            corpus.malformed.add(BadRecord(place, batch.first_row + row + 1, reason, "row"))
        yield batch, good


def _say_answers(ids: Sequence[Id], answers: CheckResult, *, as_json: bool, quiet: bool) -> None:
    if quiet:
        return
    for number, (name, row) in enumerate(zip(ids, answers.rows(), strict=True)):
        similarity = None if row["similarity"] != row["similarity"] else row["similarity"]
        if as_json:
            line = {"id": name, **row, "similarity": similarity}
            if answers.matches is not None:
                line["matches"] = [_match(one) for one in answers.matches[number]]
            say_json(line)
            continue
        value = "-" if similarity is None else f"{similarity:.4f}"
        match = "-" if row["match"] is None else shown(row["match"])
        distance = "-" if row["distance"] < 0 else row["distance"]
        say(f"{shown(name)}\t{row['status']}\t{match}\t{distance}\t{value}")
        for one in answers.matches[number] if answers.matches is not None else ():
            value = "-" if one.similarity != one.similarity else f"{one.similarity:.4f}"
            say(f"\tmatch\t{shown(one.id)}\t{one.distance}\t{value}")


def _match(one: Any) -> dict[str, Any]:
    similarity = None if one.similarity != one.similarity else one.similarity
    return {"id": one.id, "distance": one.distance, "similarity": similarity, "columns": one.columns}


def remove(
    path: StorePath,
    ids: Ids = None,
    ids_from: IdsFrom = None,
    missing_ok: MissingOk = False,
    erase: Annotated[
        bool, typer.Option("--erase", help="Erase text, fingerprint and columns from every file now, by a merge.")
    ] = False,
    token_file: TokenFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hide documents from every answer, at once."""
    with opened(path, token_file=token_file) as store:
        removed = store.remove(_ids(store, ids, ids_from), missing_ok=missing_ok, erase=erase)
        _report(store, {"removed": removed}, as_json=as_json, quiet=quiet)


def get(
    path: StorePath,
    ids: Ids = None,
    ids_from: IdsFrom = None,
    missing_ok: MissingOk = False,
    text: Annotated[bool, typer.Option("--with-text", help="Print the text, too.")] = False,
    token_file: TokenFile = None,
) -> None:
    """Print what the store knows of documents, a JSON object per line."""
    with opened(path, "r", token_file=token_file) as store:
        found = [one for one in store.get(_ids(store, ids, ids_from), missing_ok=missing_ok) if one is not None]
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            texts = store.texts([one.id for one in some]) if text else None
            for at, one in enumerate(some):
                say_json(_document(one) | ({} if texts is None else {"text": texts[at]}))


def _document(one: StoredDocument) -> dict[str, Any]:
    similarity = None if one.similarity != one.similarity else one.similarity
    return {
        "id": one.id,
        "status": one.status,
        "match": one.match,
        "distance": None if one.distance < 0 else one.distance,
        "similarity": similarity,
        "features": one.features,
        "length": one.length,
        "columns": one.columns,
    }


def _ids(store: Asked, named: list[str] | None, ids_from: str | None) -> list[str] | list[int]:
    """The ids that were named, as the store has them: integers where its ids are integers."""
    from nearkin.cli.index import integer_id

    names = list(named or [])
    if ids_from is not None:
        names += [name for line in read_text(ids_from).split("\n") if (name := line.removesuffix("\r"))]
    if not names:
        raise bad_parameter("ids", "none", "ids as arguments, or --ids FILE")
    if store.id_kind != "int":
        return names
    found = []
    for name in names:
        value = integer_id(name)
        if value is None:
            raise bad_parameter("id", repr(name), "an integer of 64 bits, as the ids of this store are")
        found.append(value)
    return found


def info(path: StorePath, token_file: TokenFile = None, as_json: Json = False) -> None:
    """Say what a store holds and how large it is, without opening anything large."""
    with opened(path, "r", token_file=token_file) as store:
        _report(store, {}, as_json=as_json, quiet=False)


def verify(
    path: StorePath,
    repair: Annotated[bool, typer.Option("--repair", help="Build damaged indexes again from the documents.")] = False,
    quiet: Quiet = False,
) -> None:
    """Read every byte and compare it with its checksum; the first damage is named, and the exit code is 1."""
    from nearkin.store.store import Store

    folder = folder_of(path, "verify")
    if repair:
        with progress_bars(quiet=quiet) as progress:
            findings = Store.repair(folder, progress=progress)
        for finding in findings:
            warn(f"repaired {finding.place}: {finding.reason}")
    with Store.open(folder, "r") as store:
        with progress_bars(quiet=quiet) as progress:
            store.verify(progress=progress)
        if not quiet:
            say(f"{shown(path)}: sound, {len(store):,} documents")


def merge(
    path: StorePath,
    token_file: TokenFile = None,
    memory_limit: StoreMemory = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write everything into one segment; what was removed is gone from every file afterwards."""
    with opened(path, token_file=token_file, memory_limit=memory_limit) as store:
        with progress_bars(quiet=quiet) as progress:
            store.merge(progress=progress)
        _report(store, {}, as_json=as_json, quiet=quiet)


def backup(
    path: StorePath,
    target: Annotated[
        str,
        typer.Argument(help="New folder for the copy; of a service its name.", metavar="TARGET", show_default=False),
    ],
    token_file: TokenFile = None,
    quiet: Quiet = False,
) -> None:
    """Copy a store as it stands, while others use it. A service puts the copy into the folder of its backups."""
    with opened(path, token_file=token_file) as store, progress_bars(quiet=quiet) as progress:
        if is_store(store):
            store.backup(target, progress=progress)
            return
        place = store.backup(target)
    if not quiet:
        say(shown(place))


@reads()
def import_(
    path: StorePath,
    inputs: Inputs,
    reading: Reading,
    columns: Columns = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Remember documents that are known to be wanted, such as an export: all stay, nothing is printed per document.

    A store of files takes digests: an export, a list of ssdeep, or JSON lines of `nearkin ssdeep hash --json` with
    `--id-column path`.
    """
    from nearkin.store.store import Store

    with Store.open(folder_of(path, "import")) as store, progress_bars(quiet=quiet) as progress:
        of_files = holds_files(store)
        if of_files:
            import_digests(store, inputs, reading, columns or [], progress)
    if of_files:
        if not quiet:
            info(path)
        return
    add(
        path,
        inputs,
        reading=reading,
        columns=columns,
        keep_all=True,
        threads=threads,
        quiet=True,
    )
    if not quiet:
        info(path)


def export(
    path: StorePath,
    out: Annotated[Path, output("New file: .jsonl, .jsonl.gz or .jsonl.zst.")],
    every: Annotated[
        bool, typer.Option("--every", help="With documents that did not stay, which have no text.")
    ] = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the documents that stay as a corpus: id, text and columns, in the order in which they came.

    A store of files has digests, and the hashes of contents, in the place of texts.
    """
    from nearkin.store.store import Store

    with Store.open(folder_of(path, "export"), "r") as store, progress_bars(quiet=quiet) as progress:
        count = store.export(out, include_duplicates=every, overwrite=overwrite, progress=progress)
    if not quiet:
        say(f"{count:,} documents in {shown(out)}")


def _report(store: Asked, counts: dict[str, int], *, as_json: bool, quiet: bool, err: bool = False) -> None:
    """What was done, and what the store holds now."""
    stats = store.stats()
    about: dict[str, Any] = {
        **counts,
        "store": place_of(store),
        "documents": stats.documents,
        "waiting": stats.waiting,
        "segments": stats.segments,
        "removed_not_merged": stats.removed,
        "bytes": stats.bytes["total"],
        **stats.settings,
    }
    if as_json:
        say_json(about)
    elif not quiet:
        rows = [
            (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
            for name, value in about.items()
        ]
        show_table(["", ""], rows, header=False, lines=False, err=err)


def _example(command: str) -> str:
    return f"[bold]Example[/]\n\n  {command}"


def add_to(main: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(epilog=_CREATE_EXAMPLES)(create)
    app.command(epilog=_ADD_EXAMPLES)(add)
    app.command(epilog=_CHECK_EXAMPLE)(check)
    app.command(epilog=_example("nearkin store remove pages.store http://site/1 http://site/2"))(remove)
    app.command(epilog=_example("nearkin store get pages.store http://site/1 --with-text"))(get)
    app.command(epilog=_example("nearkin store info pages.store --json"))(info)
    app.command(epilog=_example("nearkin store verify pages.store --repair"))(verify)
    app.command(epilog=_example("nearkin store merge pages.store"))(merge)
    app.command(epilog=_example("nearkin store backup pages.store copy.store"))(backup)
    app.command(name="import", epilog=_example("nearkin store import pages.store pages.jsonl.gz --id-column id"))(
        import_
    )
    app.command(epilog=_EXPORT_EXAMPLE)(export)
    main.add_typer(app, name="store")
    main.command(name="check", epilog=_CHECK_BY_URL_EXAMPLE)(check_by_url)
