"""`nearkin search`: what is near in a Hamming index, on the command line.

Queries are texts, files, fingerprints or whole corpora; texts are hashed by the recipe that the index carries. Exit
codes: 0 something found; 1 failure; 2 wrong usage; 3 nothing found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import progress_bars, report_malformed, show_table, warn
from nearkin.cli.index import Fingerprints, IdsFile, IndexPath, TextColumn, decoded, open_index, recipe_for
from nearkin.cli.options import FormatOption, IdColumn, Json, Quiet, RecipeOption, Strict, Threads
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from nearkin.pipeline.sources import FingerprintBatch
    from nearkin.recipe import Recipe
    from nearkin.search.hamming import HammingIndex

__all__ = ["search", "search_examples"]

NO_MATCH = 3

search_examples = """
[bold]Examples[/]

  nearkin search corpus.nks --text 'The quick brown fox jumps over the lazy dog.' --radius 25

  nearkin search corpus.nks --file letter.txt -k 5 --json

  nearkin search corpus.nks today.jsonl.gz --id-column id --radius 20

  nearkin search codes.nks --fingerprint 3601c888ae14a088 -k 3
"""


def search(
    index_path: IndexPath,
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
    radius: Annotated[
        int | None, typer.Option("--radius", "-r", help="Largest distance, inclusive.", show_default="see below")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", help="So many nearest; with --radius those within it.")
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: RecipeOption = None,
    fingerprints: Fingerprints = None,
    ids: IdsFile = None,
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find what is near in an index: query, id and distance, nearest first; exit code 3 if nothing is.

    Without --radius and --top-k the radius is the one that the index was built for, or else the 10 nearest are found.
    Without any query, standard input is one text. --json prints an object a query: query, matches (id, distance);
    matches is null for a text without any letter.
    """
    from nearkin.pipeline.sources import open_fingerprints

    set_num_threads(threads)
    index = open_index(index_path)
    texts = bool(text or file or not (inputs or fingerprint) or (inputs and fingerprints is None))
    made = recipe_for(index, recipe, texts=texts)
    if top_k is not None and top_k < 1:
        raise bad_parameter("top_k", top_k, "1 or more")
    if radius is None and top_k is None:
        radius, top_k = (index.radius, None) if index.radius is not None else (None, 10)
    if not (inputs or text or file or fingerprint):
        if sys.stdin.isatty():
            raise bad_parameter("queries", "none", "--text, --file, --fingerprint, inputs, or a text on standard input")
        file = ["-"]
    found = 0
    printer = _Printer(as_json=as_json)
    single = [*_given_texts(text or [], file or [], made), *_given_codes(fingerprint or [], index.bits)]
    for batch in single:
        found += printer.write(_ask(index, batch, radius, top_k), batch)
    if inputs:
        options: dict[str, Any] = {
            "format": format,
            "column": text_column,
            "id_column": id_column,
            "ids": ids,
            "strict": strict,
        }
        with (
            open_fingerprints(inputs, made, fingerprints, index.bits, **options) as source,
            progress_bars(quiet=quiet or sys.stdout.isatty()) as progress,
        ):
            done = 0
            for batch in source:
                found += printer.write(_ask(index, batch, radius, top_k), batch)
                done += len(batch)
                progress("search", done, None)
            if source.corpus is not None:
                report_malformed(source.corpus)
    printer.end()
    if not found:
        if not quiet and not as_json:
            warn("nothing found")
        raise typer.Exit(NO_MATCH)


def _given_texts(texts: list[str], files: list[str], recipe: Recipe | None) -> Iterator[FingerprintBatch]:
    """Texts of the command line and whole files, as queries."""
    from nearkin.families.simhash import fingerprint
    from nearkin.pipeline.sources import FingerprintBatch

    if recipe is None or not (texts or files):
        return
    names: list[Any] = [f"text {i}" for i in range(1, len(texts) + 1)] + list(files)
    contents = list(texts)
    for name in files:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        contents.append(decoded(data, name))
    codes, counts = fingerprint(contents, recipe, return_counts=True)
    yield FingerprintBatch(names, codes, counts > 0)


def _given_codes(codes: list[str], bits: int) -> Iterator[FingerprintBatch]:
    import numpy as np

    from nearkin.pipeline.sources import FingerprintBatch
    from nearkin.search.fingerprints import from_hex

    if codes:
        yield FingerprintBatch(list(codes), from_hex(codes, bits), np.ones(len(codes), bool))


def _ask(
    index: HammingIndex, batch: FingerprintBatch, radius: int | None, top_k: int | None
) -> list[list[tuple[Any, int]] | None]:
    """The matches of each query, None for one without a fingerprint."""
    queries = batch.codes[batch.present]
    hits = index.search(queries, radius or 0) if top_k is None else index.nearest(queries, top_k)
    most = index.bits if radius is None else radius
    ids, distances, offsets = hits.ids.tolist(), hits.distances.tolist(), hits.offsets.tolist()
    rows = iter(range(len(hits)))
    answers: list[list[tuple[Any, int]] | None] = []
    for present in batch.present.tolist():
        if not present:
            answers.append(None)
            continue
        row = next(rows)
        part = slice(offsets[row], offsets[row + 1])
        answers.append([match for match in zip(ids[part], distances[part], strict=True) if match[1] <= most])
    return answers


class _Printer:
    """Matches as JSON lines, as lines with tabulators, or as a table on a terminal."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.rows: list[list[str]] | None = [] if sys.stdout.isatty() and not as_json else None

    def write(self, answers: list[list[tuple[Any, int]] | None], batch: FingerprintBatch) -> int:
        """Print the answers of a batch of queries; how many matches there are."""
        count = 0
        lines = []
        for name, matches in zip(batch.names, answers, strict=True):
            count += len(matches or [])
            if self.as_json:
                found = None if matches is None else [{"id": key, "distance": far} for key, far in matches]
                lines.append(json.dumps({"query": name, "matches": found}, ensure_ascii=False))
            elif matches is None:
                warn(f"{name}: a text without any letter has no fingerprint")
            elif self.rows is not None:
                self.rows += [[str(name), str(key), str(far)] for key, far in matches]
            else:
                lines += [f"{name}\t{key}\t{far}" for key, far in matches]
        if lines:
            print("\n".join(lines))  # noqa: T201
        return count

    def end(self) -> None:
        """Print the table, if there is one."""
        if self.rows:
            show_table(["query", "id", "distance"], self.rows)
