"""`nearkin search`: what is near in a Hamming index, on the command line.

Queries are texts, files, fingerprints or whole corpora; texts are hashed by the recipe that the index carries. Exit
codes: 0 something found; 1 failure; 2 wrong usage; 3 nothing found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
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
from nearkin.cli.matched import MatchedDocuments, matched_documents
from nearkin.cli.options import (
    Fingerprints,
    IdsFile,
    IndexPath,
    Json,
    Quiet,
    Radius,
    RecipeOption,
    Threads,
)
from nearkin.cli.reading import Reading, reads, report_malformed
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from nearkin.pipeline.sources import FingerprintBatch, FingerprintSource
    from nearkin.recipe import Recipe
    from nearkin.search.hamming import HammingIndex

_EXAMPLES = """
[bold]Examples[/]

  nearkin search corpus.nks --text 'The quick brown fox jumps over the lazy dog.' --radius 25

  nearkin search corpus.nks --file letter.txt -k 5 --json

  nearkin search corpus.nks today.jsonl.gz --id-column id --radius 20

  nearkin search corpus.nks --text 'Some words.' --corpus corpus.jsonl --id-column id --column source

  nearkin search codes.nks --fingerprint 3601c888ae14a088 -k 3
"""


@reads()
def search(
    index_path: IndexPath,
    reading: Reading,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Corpora whose documents are the queries: files, globs, folders, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", help="A text as a query; may be repeated.")] = None,
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
        list[str] | None, typer.Option("--column", help="Show this column of --corpus; may be repeated.")
    ] = None,
    fingerprints: Fingerprints = None,
    ids: IdsFile = None,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find what is near in an index: query, id and distance, nearest first; exit code 3 if nothing is.

    Without --radius and --top-k the radius is the one that the index was built for, or else the 10 nearest are found.
    Without any query, standard input is one text. --json prints an object per query: query, matches (id, distance);
    matches is null for a text without any letter. --corpus adds the Jaccard similarity by the index's recipe, the
    columns that are named, and the text, of which lines and tables show the start.
    """
    from nearkin.search.hamming import HammingIndex

    set_num_threads(threads)
    index = HammingIndex.open(index_path)
    files = list(file or [])
    if not (inputs or text or files or fingerprint):
        files = _standard_input()
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
        asker.end(quiet=quiet)


def _standard_input() -> list[str]:
    """The file that is asked for where there is no query: what comes through a pipe."""
    if sys.stdin.isatty():
        raise bad_parameter("queries", "none", "--text, --file, --fingerprint, inputs, or a text on standard input")
    return ["-"]


def _given_texts(texts: list[str], files: list[str], recipe: Recipe | None) -> Iterator[FingerprintBatch]:
    """Texts of the command line and whole files, as queries."""
    from nearkin.families.simhash import fingerprint
    from nearkin.pipeline.sources import FingerprintBatch

    if recipe is None or not (texts or files):
        return
    names = [*(f"text {i}" for i in range(1, len(texts) + 1)), *files]
    given = [*texts, *map(read_text, files)]
    codes, counts = fingerprint(given, recipe, return_counts=True)
    yield FingerprintBatch(names, codes, counts > 0, given)


def _given_codes(codes: list[str], bits: int) -> Iterator[FingerprintBatch]:
    import numpy as np

    from nearkin.pipeline.sources import FingerprintBatch
    from nearkin.search.fingerprints import from_hex

    if codes:
        yield FingerprintBatch(list(codes), from_hex(codes, bits), np.ones(len(codes), bool))


class _Asker:
    """Asks an index for the matches of queries, and prints them: JSON, lines with tabs, or a table on a terminal."""

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
        self.as_json = as_json
        self.found = 0
        self._rows: list[list[str]] | None = [] if sys.stdout.isatty() and not as_json else None

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
        lines: list[str] = []
        answers = list(self._answers(batch))
        texts = [None] * len(answers) if batch.texts is None else batch.texts
        asked = [(text, key) for text, matches in zip(texts, answers, strict=True) for key, _ in matches or []]
        about = iter(self.documents.about(asked) if self.documents is not None else [{}] * len(asked))
        for name, matches in zip(batch.names, answers, strict=True):
            self.found += len(matches or [])
            found = [(key, far, next(about)) for key, far in matches or []]
            if self.as_json:
                listed = [{"id": key, "distance": far, **more} for key, far, more in found]
                say_json({"query": name, "matches": None if matches is None else listed})
            elif matches is None:
                warn(f"{name}: a text without any letter has no fingerprint")
            elif self._rows is not None:
                self._rows += [[str(name), str(key), str(far), *self._cells(more)] for key, far, more in found]
            else:
                lines += ["\t".join(map(shown, (name, key, far, *self._cells(more)))) for key, far, more in found]
        if lines:
            say("\n".join(lines))

    def _cells(self, about: dict[str, Any]) -> list[str]:
        return [] if self.documents is None else self.documents.cells(about)

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

    def end(self, *, quiet: bool) -> None:
        """Print the table, if there is one; leave with the exit code for nothing if nothing was found."""
        more = [] if self.documents is None else ["similarity", *self.documents.columns, "text"]
        if self._rows:
            show_table(["query", "id", "distance", *more], self._rows)
        if self.documents is not None:
            self.documents.report()
        if not self.found:
            if not quiet and not self.as_json:
                warn("nothing found")
            raise typer.Exit(NO_MATCH)


def add_to(app: typer.Typer) -> None:
    """Add the command of this module to a command line."""
    app.command(epilog=_EXAMPLES)(search)
