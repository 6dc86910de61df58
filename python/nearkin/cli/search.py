"""`nearkin search`: what is near in a Hamming index or a store, on the command line.

Queries are texts, files, fingerprints or whole corpora; texts are hashed by the recipe that the index or store carries.
Exit codes: 0 something found; 1 failure; 2 wrong usage; 3 nothing found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import (
    NO_MATCH,
    progress_bars,
    read_text,
    say,
    say_json,
    show_table,
    shown,
    warn,
)
from nearkin.cli.index import recipe_for
from nearkin.cli.match_output import MatchedDocuments, StoredDocuments, cells, matched_documents
from nearkin.cli.options import (
    Fingerprints,
    IdsFile,
    Json,
    Quiet,
    Radius,
    RecipeOption,
    Threads,
)
from nearkin.cli.reading import Reading, reads, report_malformed
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from nearkin.dedup.sources import FingerprintBatch, FingerprintSource
    from nearkin.index.hamming import HammingIndex
    from nearkin.progress import Progress
    from nearkin.recipe import Recipe

_EXAMPLES = """
[bold]Examples[/]

  nearkin search corpus.nks --text 'The quick brown fox jumps over the lazy dog.' --radius 25

  nearkin search corpus.nks --file letter.txt -k 5 --json

  nearkin search corpus.nks today.jsonl.gz --id-column id --radius 20

  nearkin search corpus.nks --text 'Some words.' --corpus corpus.jsonl --id-column id --column source

  nearkin search pages.store --text 'Some words.' --column source

  nearkin search codes.nks --fingerprint 3601c888ae14a088 -k 3
"""


@reads()
def search(
    index_path: Annotated[
        Path, typer.Argument(help="File of the index, or folder of a store.", metavar="INDEX", show_default=False)
    ],
    reading: Reading,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Corpora whose documents are the queries: files, globs, folders, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", help="A text as a query; may be repeated.")] = None,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", help="A whole file as a query, - for standard input; may be repeated."),
    ] = None,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option("--fingerprint", help="A hexadecimal fingerprint as a query; may be repeated."),
    ] = None,
    radius: Radius = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", help="This many nearest; with --radius those within it.")
    ] = None,
    recipe: RecipeOption = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="The corpus that the index was built from: show text and similarity of matches, too."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="Show this column of --corpus, or of the store; may be repeated."),
    ] = None,
    fingerprints: Fingerprints = None,
    ids: IdsFile = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find what is near in an index or store: query, id and distance, nearest first; exit code 3 if nothing is.

    Without --radius and --top-k the radius is the one that the index was built for, or else the 10 nearest are found.
    Without any query, standard input is one text. --json prints an object per query: query, matches (id, distance);
    matches is null for a text without any letter. --corpus adds the Jaccard similarity by the index's recipe, the
    columns that are named, and the text, of which lines and tables show the start. A store shows all of this by itself,
    of its 10 most similar matches, or --top-k; what matches is what its threshold says.
    """
    from nearkin.index.hamming import HammingIndex

    set_num_threads(threads)
    files = list(file or [])
    if not (inputs or text or files or fingerprint):
        files = _standard_input()
    if index_path.is_dir():
        not_of_stores = {"radius": radius, "recipe": recipe, "corpus": corpus, "ids": ids}
        _refuse_for_store(not_of_stores | {"fingerprint": fingerprint, "fingerprints": fingerprints})
        asked = _StoreQueries(reading, inputs or [], text or [], files)
        _search_store(index_path, asked, columns or [], 10 if top_k is None else top_k, as_json=as_json, quiet=quiet)
        return
    index = HammingIndex.open(index_path)
    made = recipe_for(index, recipe, texts=bool(text or files or (inputs and fingerprints is None)))
    if columns and not corpus:
        raise bad_parameter("column", ", ".join(columns), "a column together with --corpus, which has it")
    with matched_documents(reading, corpus or [], columns or [], made or index.recipe) as documents:
        asker = _Asker(index, radius, top_k, documents, as_json=as_json)
        for batch in (*_given_texts(text or [], files, made), *_given_codes(fingerprint or [], index.bits)):
            asker.ask(batch)
        if inputs:
            with reading.fingerprints(inputs, made, fingerprints, index.bits, ids) as source:
                asker.ask_all(source, quiet=quiet)
        asker.printer.end(documents, quiet=quiet)


def _refuse_for_store(options: Mapping[str, object]) -> None:
    """Refuse options that a store has no use for."""
    for name, value in options.items():
        if value is not None:
            raise bad_parameter(name, "given", "not with a store, which has texts, a recipe and a threshold")


@dataclass(frozen=True)
class _StoreQueries:
    """Texts that a store is asked for."""

    reading: Reading
    inputs: Sequence[str]
    texts: Sequence[str]
    files: Sequence[str]

    def batches(self, progress: Progress) -> Iterator[tuple[Sequence[object], Sequence[str | None]]]:
        """Names and texts: of the command line, of whole files, of corpora."""
        if self.texts or self.files:
            yield _names(self.texts, self.files), [*self.texts, *map(read_text, self.files)]
        if self.inputs:
            with self.reading.reported(self.inputs) as corpus:
                for batch in corpus.batches():
                    yield batch.ids.to_list(), list(batch.texts)
                    progress("search", corpus.rows, None)


def _search_store(
    path: Path, queries: _StoreQueries, columns: Sequence[str], top_k: int, *, as_json: bool, quiet: bool
) -> None:
    """Ask a store of texts, and print its matches."""
    from nearkin.store.store import Store

    if top_k < 1:
        raise bad_parameter("top_k", top_k, "1 or more")
    with Store.open(path, "r") as store:
        if store.settings.noun != "text":
            why = "a store of texts; for files there is `nearkin store check`, for vectors Python"
            raise bad_parameter("store", str(path), why)
        documents = StoredDocuments(store, columns)
        printer = _Printer(documents.columns, as_json=as_json)
        with progress_bars(quiet=quiet or sys.stdout.isatty()) as progress:
            for names, texts in queries.batches(progress):
                printer.tell(names, documents.matches(texts, top_k))
        printer.end(documents, quiet=quiet)


def _names(texts: Sequence[str], files: Sequence[str]) -> list[str]:
    """What queries of the command line are called in answers."""
    return [*(f"text {i}" for i in range(1, len(texts) + 1)), *files]


def _standard_input() -> list[str]:
    """The file that is asked for where there is no query: what comes through a pipe."""
    if sys.stdin.isatty():
        raise bad_parameter("queries", "none", "--text, --file, --fingerprint, inputs, or a text on standard input")
    return ["-"]


def _given_texts(texts: list[str], files: list[str], recipe: Recipe | None) -> Iterator[FingerprintBatch]:
    """Texts of the command line and whole files, as queries."""
    from nearkin.dedup.sources import FingerprintBatch
    from nearkin.families.simhash import fingerprint

    if recipe is None or not (texts or files):
        return
    names = _names(texts, files)
    given = [*texts, *map(read_text, files)]
    codes, counts = fingerprint(given, recipe, return_counts=True)
    yield FingerprintBatch(names, codes, counts > 0, given)


def _given_codes(codes: list[str], bits: int) -> Iterator[FingerprintBatch]:
    import numpy as np

    from nearkin.dedup.sources import FingerprintBatch
    from nearkin.index.fingerprints import from_hex

    if codes:
        yield FingerprintBatch(list(codes), from_hex(codes, bits), np.ones(len(codes), bool))


class _Printer:
    """Prints the matches of queries: JSON, lines with tabs, or a table on a terminal.

    Parameters
    ----------
    columns : sequence of str or None
        Columns of documents that are shown beside similarity and text; None if there is nothing but ids and distances.
    as_json : bool
        Whether an object per query is printed.
    """

    def __init__(self, columns: Sequence[str] | None, *, as_json: bool) -> None:
        self.columns = columns
        self.as_json = as_json
        self.found = 0
        self._rows: list[list[str]] | None = [] if sys.stdout.isatty() and not as_json else None

    def tell(self, names: Sequence[object], answers: Sequence[list[dict[str, Any]] | None]) -> None:
        """Print the matches of some queries; None stands for a text without a fingerprint."""
        lines: list[str] = []
        for name, matches in zip(names, answers, strict=True):
            self.found += len(matches or [])
            if self.as_json:
                say_json({"query": name, "matches": matches})
            elif matches is None:
                warn(f"{name}: a text without any letter has no fingerprint")
            elif self._rows is not None:
                self._rows += [[str(name), *self._cells(match)] for match in matches]
            else:
                lines += ["\t".join(map(shown, (name, *self._cells(match)))) for match in matches]
        if lines:
            say("\n".join(lines))

    def _cells(self, match: dict[str, Any]) -> list[str]:
        more = [] if self.columns is None else cells(match, self.columns)
        return [str(match["id"]), str(match["distance"]), *more]

    def end(self, documents: MatchedDocuments | StoredDocuments | None, *, quiet: bool) -> None:
        """Print the table, if there is one; leave with the exit code for nothing if nothing was found."""
        more = [] if self.columns is None else ["similarity", *self.columns, "text"]
        if self._rows:
            show_table(["query", "id", "distance", *more], self._rows)
        if documents is not None:
            documents.report()
        if not self.found:
            if not quiet and not self.as_json:
                warn("nothing found")
            raise typer.Exit(NO_MATCH)


class _Asker:
    """Asks an index for the matches of queries, and has them printed."""

    def __init__(
        self,
        index: HammingIndex,
        radius: int | None,
        top_k: int | None,
        documents: MatchedDocuments | None,
        *,
        as_json: bool,
    ) -> None:
        if top_k is not None and top_k < 1:
            raise bad_parameter("top_k", top_k, "1 or more")
        if radius is None and top_k is None:
            radius, top_k = (index.radius, None) if index.radius is not None else (None, 10)
        self.index = index
        self.radius = radius
        self.top_k = top_k
        self.documents = documents
        self.printer = _Printer(None if documents is None else documents.columns, as_json=as_json)

    def ask_all(self, source: FingerprintSource, *, quiet: bool) -> None:
        """Print the matches of every query of a corpus."""
        # A bar among the answers would disturb them.
        with progress_bars(quiet=quiet or sys.stdout.isatty()) as progress:
            for batch in source:
                self.ask(batch)
                progress("search", source.read, None)
        if source.corpus is not None:
            report_malformed(source.corpus)

    def ask(self, batch: FingerprintBatch) -> None:
        """Print the matches of a batch of queries."""
        answers = list(self._answers(batch))
        texts = [None] * len(answers) if batch.texts is None else batch.texts
        asked = [(text, key) for text, matches in zip(texts, answers, strict=True) for key, _ in matches or []]
        about = iter(self.documents.about(asked) if self.documents is not None else [{}] * len(asked))
        told = [
            None if matches is None else [{"id": key, "distance": far, **next(about)} for key, far in matches]
            for matches in answers
        ]
        self.printer.tell(batch.names, told)

    def _answers(self, batch: FingerprintBatch) -> Iterator[list[tuple[int | str, int]] | None]:
        """The matches of each query, id and distance, nearest first; None for one without a fingerprint."""
        queries = batch.codes[batch.present]
        if self.top_k is None:
            hits = self.index.search(queries, self.radius or 0)
        else:
            hits = self.index.nearest(queries, self.top_k)
        most = self.index.bits if self.radius is None else self.radius
        ids, distances, offsets = hits.ids.tolist(), hits.distances.tolist(), hits.offsets.tolist()
        parts = (slice(*ends) for ends in pairwise(offsets))
        for present in batch.present.tolist():
            if not present:
                yield None
                continue
            part = next(parts)
            yield [match for match in zip(ids[part], distances[part], strict=True) if match[1] <= most]


def add_to(app: typer.Typer) -> None:
    """Add the command of this module to a command line."""
    app.command(epilog=_EXAMPLES)(search)
