"""`nearkin store`: a collection on disk that finds duplicates of the documents it contains.

STORE is a folder, or the URL of a service with the same calls. The inputs of a store of texts are corpora; those of a
store of files are files and folders, and the ids are their paths.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, cast

import typer

from nearkin.cli.commands import Commands, Options, OptionsOf
from nearkin.cli.console import (
    Failures,
    display,
    escape_surrogates,
    progress_bars,
    read_text,
    say,
    say_json,
    show_facts,
    warn,
)
from nearkin.cli.corpus import CorpusOptions, list_files
from nearkin.cli.options import (
    PRINTING,
    Bits,
    IdOptions,
    Inputs,
    Json,
    Overwrite,
    PrintOptions,
    Quiet,
    RecipeOption,
    Repeated,
    StoreMemory,
    opt,
    output_opt,
    parse_ids,
    parse_memory,
    parse_recipe,
    refuse_url,
)
from nearkin.dedup.config import DedupConfig
from nearkin.dedup.kinds import kind_of_recipe
from nearkin.errors import InputError, bad_parameter, check_regular, input_error

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from nearkin.digests.recipes import AnyDigestRecipe
    from nearkin.index.ids import Id
    from nearkin.progress import Progress
    from nearkin.recipe import Recipe
    from nearkin.service.client import Client
    from nearkin.store.kinds.base import Kind
    from nearkin.store.log import Mode
    from nearkin.store.results import CheckResult, StoredDocument
    from nearkin.store.store import Store

    AnyStore: TypeAlias = "Store | Client"

group = Commands("store", "A collection on disk that finds duplicates of the documents it contains.")

STATUSES = ("new", "exact", "same-letters", "near", "known", "empty")
_FILE_BATCH = 256
"""Number of files that are hashed and added in one call."""
_REQUEST_BYTES = 8 << 20
"""Size in bytes of the files that are sent to a service in one call."""
_TEXT_BATCH = 1000
"""Number of documents whose texts are read in one call."""
_TOKEN = re.compile(r"(?:(read|write)\s+)?(\S+)")

StorePath = Annotated[str, typer.Argument(help="Folder of the store, or the URL of its service.", metavar="STORE")]
TokenFile = Annotated[
    Path | None, opt("File with the token of the service, if STORE is a URL.", "--token-file", metavar="FILE")
]
WhatToStore = functools.partial(
    opt,
    "What to store of the texts of new documents: keep (all), features (hashes) or none.",
    choices=("keep", "features", "none"),
)
Columns = Annotated[Repeated, opt("Column to store with each document; may be repeated.", "--column")]
Ledger = Annotated[bool, opt("Count copies, which reads the records of all documents.", "--ledger")]
Best = Annotated[int | None, opt("Print this many of the best matches as well.", "--best", "-k")]


@dataclass(frozen=True, kw_only=True)
class RuleOptions:
    """What a new store compares, and when documents match."""

    matching: Annotated[
        Options,
        OptionsOf(
            DedupConfig, *("kind", "threshold", "radius", "recall", "verify", "differ", "empty"), show_defaults=False
        ),
    ]
    recipe: RecipeOption = None
    bits: Bits = None

    def parse(self) -> Recipe | str | None:
        """Return the recipe: of texts, the text of one of files, or None if none is given."""
        from nearkin.store.kinds import is_digest_recipe

        of_files = is_digest_recipe(self.recipe)
        if of_files and self.bits is not None:
            raise bad_parameter("bits", self.bits, "not with a recipe of files, whose digests have no bits")
        is_default = self.recipe is None and self.bits is None
        return self.recipe if of_files or is_default else parse_recipe(self.recipe, self.bits)


def create_missing(path: str, *, create: bool, kind: str | None, readonly: bool, default: str | None = None) -> None:
    """Create the store of --create, of the `default` kind, if there is none; an existing one must have those of --kind.

    Raises
    ------
    ParameterError
        --create with --readonly, or --kind with a store of other settings, or without a folder.
    """
    from nearkin.dedup.kinds import check_kind
    from nearkin.store.store import Store

    if create and readonly:
        raise bad_parameter("readonly", "with --create", "an existing store")
    if not Path(path).exists() and "://" not in path and create:
        Store.create(path, kind=kind or default).close()  # type: ignore[arg-type]  # Checked there.
    elif kind is not None:
        with Store.open(require_folder(path, "kind"), "r") as store:
            check_kind(kind, store.settings, {})


@group.add()
def create(
    path: StorePath, rules: RuleOptions, text: Annotated[str, WhatToStore()] = "keep", printing: PrintOptions = PRINTING
) -> None:
    """Create an empty store. Its recipe, its threshold and the stored form of texts cannot be changed later.

    With an ssdeep recipe it is a store of files; its threshold is a score, by default 80. With a tlsh recipe
    --radius is the largest distance, by default 40.

    Examples
    --------
    $ nearkin store create texts.store --threshold 0.7
    store   texts.store
    documents       0
    waiting 0
    segments        0
    ...

    nearkin store create pages.store
    nearkin store create pages.store --threshold 0.7 --recall 0.999
    nearkin store create catalogue.store --kind products
    nearkin store create files.store --recipe ssdeep --threshold 70
    """
    from nearkin.store.store import Store

    folder = require_folder(path, "create")
    with Store.create(folder, rules.parse(), text=text, **rules.matching) as store:  # type: ignore[arg-type]  # Checked.
        report_store(store, {}, printing)


@group.add(threads=True)
def add(
    path: StorePath,
    inputs: Inputs,
    reading: CorpusOptions,
    columns: Columns = None,
    keep_all: Annotated[bool, opt("Keep every document, even if it has a duplicate.", "--all")] = False,
    token_file: TokenFile = None,
    memory_limit: StoreMemory = None,
    printing: PrintOptions = PRINTING,
) -> None:
    """Check whether documents are new, and add them to the store.

    Prints a line per document: id, status (new, exact, near, known, empty), id of the match, distance, similarity,
    separated by tabs. Each batch of a few megabytes is durable before its lines are printed. The inputs of a store of
    files are files and folders, and the ids are their paths.

    Examples
    --------
    $ nearkin store add pages.store new.jsonl --id-column id
    e       exact   a       0       1.0000
    f       new     -       -       -
    new                 1
    exact               1
    ...

    nearkin store add pages.store today.jsonl.gz --id-column url --column source
    nearkin store add pages.store 'crawl/*.parquet' --text-column body --id-column url --json > answers.jsonl
    nearkin store add files.store Samples
    """
    with (
        open_store(path, token_file=token_file, memory_limit=memory_limit) as store,
        progress_bars(quiet=printing.quiet) as progress,
    ):
        failures = Failures(strict=reading.strict)
        counts = dict.fromkeys(STATUSES, 0)
        call = store.add if keep_all else store.check_and_add
        read = read_batches(
            store, reading, inputs, columns or [], failures, progress, adding=True, quiet=printing.quiet
        )
        with closing(read) as batches:
            for batch in batches:
                results = call(batch.values, batch.ids, columns=batch.columns, kind=batch.kind)
                for status in results.status:
                    counts[status] += 1
                progress("add", sum(counts.values()), None)
                if printing.as_json or not printing.quiet:
                    names = batch.names if results.own_ids is None else results.own_ids
                    print_results(names, results, as_json=printing.as_json)
        report_store(store, counts, PrintOptions(quiet=printing.quiet), err=True)
        failures.exit()


@group.add()
def remove(
    path: StorePath,
    ids: IdOptions,
    erase: Annotated[
        bool, opt("Erase text, fingerprint and columns from every file now, by a merge.", "--erase")
    ] = False,
    token_file: TokenFile = None,
    printing: PrintOptions = PRINTING,
) -> None:
    """Remove documents, with immediate effect on all results.

    A copy takes the place of a removed document. Without one, documents that matched it are removed as well if no text
    represents them.

    Examples
    --------
    $ nearkin store remove pages.store a b
    removed 3
    store   pages.store
    documents       1
    waiting 4
    ...

    nearkin store remove pages.store http://site/1 http://site/2
    """
    with open_store(path, token_file=token_file) as store:
        removed = store.remove(_ids(store, ids), missing_ok=ids.missing_ok, erase=erase)
        report_store(store, {"removed": removed}, printing)


@group.add()
def get(
    path: StorePath,
    ids: IdOptions,
    text: Annotated[bool, opt("Print the text as well.", "--with-text")] = False,
    token_file: TokenFile = None,
) -> None:
    """Print documents of the store, a JSON object per line.

    Examples
    --------
    $ nearkin store get pages.store a
    {"id": "a", "status": "new", "match": null, "distance": null, "similar...

    nearkin store get pages.store http://site/1 --with-text
    """
    with open_store(path, "r", token_file=token_file) as store:
        entries = store.get(_ids(store, ids), missing_ok=ids.missing_ok)
        documents = [entry for entry in entries if entry is not None]
        for start in range(0, len(documents), _TEXT_BATCH):
            batch = documents[start : start + _TEXT_BATCH]
            texts = store.texts([document.id for document in batch]) if text else None
            for at, document in enumerate(batch):
                say_json(_describe(document) | ({} if texts is None else {"text": texts[at]}))


@group.add()
def info(path: StorePath, ledger: Ledger = False, token_file: TokenFile = None, as_json: Json = False) -> None:
    """Print the content and size of a store, without opening large files.

    With --ledger also the number of kept documents, which stand for all documents of the store, and of sources: the
    different values in the column source.

    Examples
    --------
    $ nearkin store info pages.store
    store   pages.store
    documents       4
    waiting 4
    segments        0
    removed not merged      0
    ...

    nearkin store info pages.store --json
    """
    with open_store(path, "r", token_file=token_file) as store:
        report_store(store, {}, PrintOptions(as_json=as_json), ledger=ledger)


@group.add()
def verify(
    path: StorePath,
    repair: Annotated[bool, opt("Rebuild damaged indexes from the documents.", "--repair")] = False,
    quiet: Quiet = False,
) -> None:
    """Read every byte and compare it with its checksum; report the first damage, with exit code 1.

    Examples
    --------
    $ nearkin store verify pages.store
    pages.store: sound, 4 documents

    nearkin store verify pages.store --repair
    """
    from nearkin.store.store import Store

    folder = require_folder(path, "verify")
    if repair:
        with progress_bars(quiet=quiet) as progress:
            findings = Store.repair(folder, progress=progress)
        for finding in findings:
            warn(f"repaired {finding.place}: {finding.reason}")
    with Store.open(folder, "r") as store:
        with progress_bars(quiet=quiet) as progress:
            store.verify(progress=progress)
        if not quiet:
            say(f"{display(path)}: sound, {len(store):,} documents")


@group.add()
def adopt(path: StorePath, quiet: Quiet = False) -> None:
    """Take back the documents of segments that the store has lost sight of, from its folder lost/.

    Exit code 1 if other documents have some of their ids now.

    Examples
    --------
    $ nearkin store adopt pages.store
    pages.store: 0 documents adopted

    nearkin store adopt pages.store
    """
    from nearkin.store.store import Store

    with Store.open(require_folder(path, "adopt")) as store:
        result = store.adopt_lost()
    for name in result.conflicts:
        warn(f"{display(name)}: another document has this id now; the lost one remains in lost/")
    if not quiet:
        say(f"{display(path)}: {result.adopted:,} documents adopted")
    if result.conflicts:
        raise typer.Exit(1)


@group.add()
def salvage(
    path: StorePath,
    out: Annotated[Path, output_opt("New folder for the store.", "--out", "-o")],
    printing: PrintOptions = PRINTING,
) -> None:
    """Write a new store with everything that can be read of a damaged one, and say what is missing.

    The damaged folder is not changed. Exit code 1 if something is missing.

    Examples
    --------
    $ nearkin store salvage pages.store --out salvaged.store
    salvaged.store: 4 documents, 4 of them from the log

    nearkin store salvage pages.store --out salvaged.store
    """
    from nearkin.store.store import Store

    with progress_bars(quiet=printing.quiet) as progress:
        result = Store.salvage(require_folder(path, "salvage"), out, progress=progress)
    line = f"{display(str(out))}: {result.documents:,} documents, {result.waiting:,} of them from the log"
    printing.report(vars(result), lambda: say(line))
    for place, reason in result.damaged:
        warn(f"{place}: {reason}")
    for first, last in result.missing_rows:
        warn(f"missing: rows {first} to {last}, {last - first + 1:,} documents; some may have been removed")
    if result.missing_ids:
        warn(f"missing: {', '.join(map(display, result.missing_ids))}")
    if result.missing_removals:
        warn(f"missing: {result.missing_removals:,} removals; so many removed documents may be there again")
    if result.missing_commits:
        warn(f"missing: the last {result.missing_commits:,} commits")
    if not result.is_complete:
        raise typer.Exit(1)


@group.add()
def merge(
    path: StorePath, token_file: TokenFile = None, memory_limit: StoreMemory = None, printing: PrintOptions = PRINTING
) -> None:
    """Merge everything into one segment; removed documents are then gone from every file.

    Examples
    --------
    $ nearkin store merge pages.store
    store   pages.store
    documents       4
    waiting 0
    segments        1
    removed not merged      0
    ...

    nearkin store merge pages.store
    """
    with open_store(path, token_file=token_file, memory_limit=memory_limit) as store:
        with progress_bars(quiet=printing.quiet) as progress:
            store.merge(progress=progress)
        report_store(store, {}, printing)


@group.add()
def backup(
    path: StorePath,
    target: Annotated[
        str, typer.Argument(help="New folder for the copy; for a service, the name of the copy.", metavar="TARGET")
    ],
    token_file: TokenFile = None,
    quiet: Quiet = False,
) -> None:
    """Copy a store while others use it. A service writes the copy into its folder of backups.

    Examples
    --------
    $ nearkin store backup pages.store copy.store
    copy.store: 4 documents
    """
    with open_store(path, token_file=token_file) as store, progress_bars(quiet=quiet) as progress:
        if _is_local(store):
            store.backup(target, progress=progress)
            with type(store).open(target, "r") as copy:
                # Others may have added documents to the store since.
                written = f"{display(str(Path(target).absolute()))}: {len(copy):,} documents"
        else:
            written = display(store.backup(target))
    if not quiet:
        say(written)


@group.add()
def export(
    path: StorePath,
    out: Annotated[Path, output_opt("New file: .jsonl, .jsonl.gz or .jsonl.zst.", "--out", "-o")],
    every: Annotated[bool, opt("Include documents that were not kept; they have no text.", "--every")] = False,
    ledger: Ledger = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the kept documents as a corpus: id, text and columns, in the order in which they were added.

    A store of files writes digests and hashes of contents instead of texts. With --ledger, a line also has copies, the
    number of documents that the document stands for, sources, the number of different values in their column source,
    and first_seen and last_seen.

    Examples
    --------
    $ nearkin store export pages.store --out pages.jsonl.gz
    3 documents in pages.jsonl.gz

    nearkin store export pages.store --out pages.jsonl.gz
    """
    from nearkin.store.store import Store

    with Store.open(require_folder(path, "export"), "r") as store, progress_bars(quiet=quiet) as progress:
        count = store.export(out, include_duplicates=every, ledger=ledger, overwrite=overwrite, progress=progress)
    if not quiet:
        say(f"{count:,} documents in {display(out)}")


# The store or its service


def _is_url(path: str) -> bool:
    return re.match(r"https?://", path, re.IGNORECASE) is not None


def require_folder(path: str, command: str) -> Path:
    """Return STORE as a folder, for a command that a service does not have.

    Raises
    ------
    ParameterError
        STORE is a URL.
    """
    if _is_url(path):
        raise bad_parameter("store", path, f"a folder: run `{command}` on the machine of the store")
    refuse_url(path, "STORE", "the folder of a store")
    return Path(path)


@contextmanager
def open_store(
    path: str, mode: Mode = "w", *, token_file: Path | None = None, memory_limit: str | None = None
) -> Iterator[AnyStore]:
    """Open a store, or a client of its service.

    Raises
    ------
    ParameterError
        `token_file` with a folder, or `memory_limit` with a URL.
    """
    if _is_url(path):
        if memory_limit is not None:
            raise bad_parameter("memory_limit", memory_limit, "not with a URL: the service has its own limit")
        from nearkin.service.client import Client

        with Client(path, None if token_file is None else read_token(token_file, mode)) as client:
            yield client
        return
    refuse_url(path, "the store", "the folder of a store, or the http:// or https:// URL of its service")
    if token_file is not None:
        raise bad_parameter("token_file", token_file, "not with a folder, which needs no token")
    from nearkin.store.store import Store

    with Store.open(path, mode, memory=parse_memory(memory_limit)) as store:
        yield store


def read_token(path: Path, mode: Mode) -> str:
    """Return the token of a file: the only one in it, or the first with the right in the token file of a service.

    Parameters
    ----------
    path : Path
    mode : {"w", "r"}
        With "w", the token must allow changes.

    Raises
    ------
    InputError
        The file has no such token.
    OSError
        The file cannot be read.
    """
    lines = [line.strip() for line in read_text(str(path)).splitlines()]
    matches = [_TOKEN.fullmatch(line) for line in lines if line and not line.startswith("#")]
    tokens = [match[2] for match in matches if match is not None and (match[1] != "read" or mode == "r")]
    if not tokens or None in matches:
        reason = "has no token; write only the token into it, or give the file of the service with `write TOKEN` lines"
        raise input_error(path, reason)
    return tokens[0]


def _is_local(store: AnyStore) -> TypeIs[Store]:
    """Return whether a store is open in this process, not in a service."""
    return hasattr(store, "path")


def _stores_files(store: AnyStore) -> bool:
    """Return whether a store contains files, and not texts.

    Raises
    ------
    ParameterError
        The store contains vectors.
    """
    kind = f"{store.settings.kind}s" if _is_local(store) else store.kind
    if kind == "vectors":
        raise bad_parameter("store", _location(store), "a store of texts or files; vectors are for Python only")
    return kind == "files"


def is_of_pages(store: AnyStore) -> bool:
    """Return whether a store has the kind `pages`."""
    return store.settings.pages if _is_local(store) else bool(store.settings.get("pages"))


def _location(store: AnyStore) -> str:
    """Return the folder of a store, or the URL of its service."""
    return str(store.path) if _is_local(store) else store.url


# Inputs


class _Documents(NamedTuple):
    """A batch of documents, as a store takes them, with their names for the output."""

    values: Any
    ids: list[Any] | None
    names: list[Any]
    columns: Mapping[str, list[Any]] | None = None
    kind: Kind | None = None


def read_batches(
    store: AnyStore,
    reading: CorpusOptions,
    inputs: Sequence[str],
    columns: Sequence[str],
    failures: Failures,
    progress: Progress,
    *,
    texts: Sequence[str] = (),
    adding: bool,
    quiet: bool = False,
) -> Generator[_Documents]:
    """Read texts, and the inputs in batches; files of the store itself are skipped."""
    own = [store.path] if _is_local(store) else []
    if not _stores_files(store):
        if texts:
            yield _Documents(texts, None, [f"text {number}" for number in range(1, len(texts) + 1)])
        if inputs:
            recipe = store.settings.recipe if _is_local(store) else store.settings["recipe"]
            reading = reading.for_kind(kind_of_recipe(recipe), inputs)
            yield from _text_batches(reading, inputs, columns, own, progress, quiet=quiet)
        return
    allowed = "not with a store of files, whose arguments are files and folders"
    reading.check_unset(allowed)
    for name, values in {"text": texts, "column": columns}.items():
        if values:
            raise bad_parameter(name, "given", allowed)
    paths = [str(path) for path in dict.fromkeys(list_files(map(Path, inputs), failures, exclude=own))]
    if adding:
        for path in [path for path in paths if escape_surrogates(path) != path]:
            reason = "its name is not UTF-8, which ids of a store must be; rename it"
            failures.add(path, input_error(escape_surrogates(path), reason))
        paths = [path for path in paths if escape_surrogates(path) == path]
    batches = _hash_batches(store, paths, failures) if _is_local(store) else _content_batches(paths, failures)
    position = {name: number for number, name in enumerate(map(escape_surrogates, paths), 1)}
    for batch in batches:
        progress("read", position[batch.names[-1]], len(paths))
        yield batch


def _text_batches(
    reading: CorpusOptions,
    inputs: Sequence[str],
    columns: Sequence[str],
    own: list[Path],
    progress: Progress,
    *,
    quiet: bool,
) -> Generator[_Documents]:
    """Read texts; a record whose id a store cannot have counts as unreadable."""
    from nearkin.io.values import BIG_INT, BadRecord

    with reading.read(inputs, extra_columns=columns, exclude=own, quiet=quiet, progress=progress) as corpus:
        numbered = corpus.id_column is None and corpus.format != "files"
        # The columns must be known to exist before anything is added.
        for batch in corpus.batches(wait_for_columns=True):
            for row in (batch.ids.kinds == BIG_INT).nonzero()[0].tolist():
                place = str(corpus.paths[0]) if corpus.paths else "standard input"
                reason = f"the id {str(batch.ids[row])[:40]} is not an integer of 64 bits, like the ids of a store"
                corpus.malformed.add(BadRecord(place, batch.first_row + row + 1, reason, "row"))
            rows = (batch.ids.kinds != BIG_INT).nonzero()[0].tolist()
            ids: list[Any] = [batch.ids[row] for row in rows]
            cells = {name: [batch.columns[name][row] for row in rows] for name in columns}
            yield _Documents([batch.texts[row] for row in rows], None if numbered else ids, ids, cells or None)


def _hash_batches(store: Store, paths: list[str], failures: Failures) -> Generator[_Documents]:
    """Hash files, for a store in this process."""
    from nearkin.dedup.files import hash_paths

    recipe = cast("AnyDigestRecipe", store.recipe)
    for start in range(0, len(paths), _FILE_BATCH):
        hashed = hash_paths(paths[start : start + _FILE_BATCH], (recipe,), on_error=failures.add)
        if len(hashed):
            ids = [str(name) for name in hashed.ids.to_list()]
            yield _Documents(hashed, ids, list(map(escape_surrogates, ids)))


def _content_batches(paths: list[str], failures: Failures) -> Generator[_Documents]:
    """Read files, for a service that hashes them."""
    contents: list[bytes] = []
    names: list[str] = []
    for path in paths:
        try:
            check_regular(path, "a regular file")
            contents.append(Path(path).read_bytes())
        except (InputError, OSError) as error:
            failures.add(path, error)
            continue
        names.append(path)
        if len(names) == _FILE_BATCH or sum(map(len, contents)) > _REQUEST_BYTES:
            yield _Documents(contents, names, list(map(escape_surrogates, names)), kind="bytes")
            contents, names = [], []
    if names:
        yield _Documents(contents, names, list(map(escape_surrogates, names)), kind="bytes")


def _ids(store: AnyStore, ids: IdOptions) -> list[str] | list[int]:
    """Return ids of the command line as the store has them: integers if its ids are integers."""
    names = ids.read()
    return parse_ids(names, "store") if store.id_kind == "int" else names


# Output


def print_results(names: Sequence[Id], results: CheckResult, *, as_json: bool) -> None:
    """Print the status and the match of each document."""
    for number, (name, row) in enumerate(zip(names, results.rows(), strict=True)):
        matches = None if results.matches is None else results.matches[number]
        if as_json:
            line = {"id": name, **row, "similarity": _or_none(row["similarity"])}
            if matches is not None:
                line["matches"] = [
                    {"id": match.id, "distance": match.distance, "similarity": _or_none(match.similarity)}
                    | {"columns": match.columns}
                    for match in matches
                ]
            say_json(line)
            continue
        other = "-" if row["match"] is None else display(row["match"])
        distance = "-" if row["distance"] < 0 else row["distance"]
        cells = [display(name), row["status"], other, str(distance), _format_similarity(row["similarity"])]
        if "store" in row:
            cells.append("-" if row["store"] is None else display(row["store"]))
        say("\t".join(cells))
        for match in matches or ():
            say(f"\tmatch\t{display(match.id)}\t{match.distance}\t{_format_similarity(match.similarity)}")


def _or_none(similarity: float) -> float | None:
    """Return a similarity, or None for NaN, which stands for one that was not computed."""
    return None if similarity != similarity else similarity


def _format_similarity(similarity: float) -> str:
    return "-" if similarity != similarity else f"{similarity:.4f}"


def _describe(document: StoredDocument) -> dict[str, Any]:
    return {
        "id": document.id,
        "status": document.status,
        "match": document.match,
        "distance": None if document.distance < 0 else document.distance,
        "similarity": _or_none(document.similarity),
        "features": document.features,
        "length": document.length,
        "columns": document.columns,
    }


def report_store(
    store: AnyStore, counts: dict[str, int], printing: PrintOptions, *, err: bool = False, ledger: bool = False
) -> None:
    """Print counts of a command, and the content of the store."""
    if ledger and not _is_local(store):
        raise bad_parameter("ledger", "given", "a folder: run `info` on the machine of the store")
    stats = store.stats(ledger=ledger) if _is_local(store) else store.stats()
    about: dict[str, Any] = {
        **counts,
        "store": _location(store),
        "documents": stats.documents,
        **({} if stats.kept is None else {"kept": stats.kept, "sources": stats.sources}),
        "waiting": stats.waiting,
        "segments": stats.segments,
        "removed_not_merged": stats.removed,
        "bytes": stats.bytes["total"],
        **stats.settings,
    }
    printing.report(about, lambda: show_facts(about, err=err))
