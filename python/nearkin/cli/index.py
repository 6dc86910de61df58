"""`nearkin index` and `nearkin search`: a Hamming index of texts or fingerprints, and queries on it or on a store.

The index is one file (`docs/format.md`) that stores the recipe of its fingerprints. Texts are hashed by that recipe;
another recipe on the command line is an error. An update writes a new file under a lock and renames it. A search
without a match returns exit code 3.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin.cli.commands import GENERAL, Commands
from nearkin.cli.console import NO_MATCH, display, progress_bars, read_text, say, say_json, show_table, warn
from nearkin.cli.corpus import CorpusOptions, report_skipped
from nearkin.cli.options import (
    WRITING,
    Bits,
    IdsArgument,
    IdsFrom,
    Inputs,
    Json,
    MissingOk,
    Overwrite,
    PageFile,
    Quiet,
    Radius,
    RecipeOption,
    Repeated,
    collect_ids,
    opt,
    parse_bytes,
    parse_id,
    parse_ids,
    parse_recipe,
)
from nearkin.cli.report import check_page, write_page
from nearkin.dedup.config import option
from nearkin.errors import MismatchError, bad_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nearkin.dedup.fingerprint_source import FingerprintBatch, FingerprintSource
    from nearkin.index.hamming import HammingIndex
    from nearkin.io import Column, Corpus
    from nearkin.progress import Progress
    from nearkin.recipe import Recipe
    from nearkin.store.results import StoredMatch
    from nearkin.store.store import Store

app = Commands()
group = Commands("index", "Indexes of fingerprints: build, add, remove, info. `nearkin search` queries them.")

IndexPath = Annotated[Path, typer.Argument(help="File of the index.", metavar="INDEX", show_default=False)]
Existing = Annotated[
    str, opt("What to do with an id that exists already: error, update or skip.", choices=("error", "update", "skip"))
]


@dataclass(frozen=True)
class FingerprintOptions:
    """Options for reading fingerprints instead of texts."""

    fingerprints: str | None = option(
        None,
        help="The inputs are fingerprints, not texts: hex or int (in the column `fingerprint` or --text-column, or one "
        "per line, optionally after an id and a tab, as `nearkin hash` prints them), or npy (uint64, int64, or packed "
        "uint8).",
        group=GENERAL,
        metavar="hex|int|npy",
        choices=("hex", "int", "npy"),
    )
    ids: Path | None = option(None, help="For npy: a .npy file with the ids, integers or strings.", group=GENERAL)


@dataclass(frozen=True)
class IndexConfig:
    """Options of a new index."""

    radius: int | None = option(None, help="Maximum Hamming distance, inclusive.", group="Matching")
    method: str = option(
        "auto",
        help="auto, scan, bits, blocks, tables or multi.",
        group=GENERAL,
        choices=("auto", "scan", "bits", "blocks", "tables", "multi"),
    )
    memory_limit: str | None = option(
        None,
        help="Memory limit of fingerprints and tables: 500M, 2G, 2Gi. Tables that exceed it are not built; "
        "fingerprints are always loaded.",
        group=GENERAL,
        metavar="BYTES",
    )


@group.add(threads=True)
def build(
    inputs: Inputs,
    out: Annotated[Path, opt("File of the new index.", "--out", "-o", group=WRITING)],
    reading: CorpusOptions,
    source_options: FingerprintOptions,
    config: IndexConfig,
    recipe: RecipeOption = None,
    bits: Bits = None,
    existing: Existing = "error",
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hash a corpus, or read fingerprints, and write an index of them.

    Ids come from the corpus; without --id-column, documents are numbered from 0 in order. A text without a letter or
    digit has no fingerprint: it counts in the numbering and never matches. --radius builds tables for searches within
    that radius.

    Examples
    --------
    nearkin index build corpus.jsonl.gz --out corpus.nks --id-column id --radius 25
    nearkin index build 'crawl/*.parquet' --out crawl.nks --text-column body --id-column url --recipe simhash-pypi
    nearkin hash corpus.jsonl --bits 64 | nearkin index build - --out codes.nks --fingerprints hex --bits 64
    """
    from nearkin.index.hamming import HammingIndex

    _check_new(out, overwrite=overwrite)
    kind = source_options.fingerprints
    # Texts need a recipe; fingerprints may come without one.
    parsed = None if kind is not None and recipe is None else parse_recipe(recipe, bits)
    with (
        reading.open_fingerprints(inputs, parsed, kind, bits, source_options.ids) as source,
        progress_bars(quiet=quiet) as progress,
    ):
        if any(path.exists() and out.exists() and path.samefile(out) for path in source.paths):
            raise bad_parameter("out", str(out), "a file that is not an input")
        index = HammingIndex(
            source.bits,
            config.method,  # type: ignore[arg-type]  # The index checks it.
            radius=config.radius,
            memory_limit=None if config.memory_limit is None else parse_bytes(config.memory_limit),
            recipe=parsed,
        )
        added = _add_all(index, source, existing, progress)
        _save(index, out, progress)
    _report_change(index, out, {"added": added}, source, as_json=as_json, quiet=quiet)


@group.add(threads=True)
def add(
    index_path: IndexPath,
    inputs: Inputs,
    reading: CorpusOptions,
    source_options: FingerprintOptions,
    recipe: RecipeOption = None,
    existing: Existing = "error",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add documents or fingerprints to an index; texts are hashed by its recipe.

    The file is replaced at the end: an error or an interrupt leaves it unchanged.

    Examples
    --------
    nearkin index add corpus.nks today.jsonl.gz --id-column id --existing update
    """
    kind = source_options.fingerprints
    with _updating(index_path) as index:
        loaded = _check_recipe(index, recipe, texts=kind is None)
        with (
            reading.open_fingerprints(inputs, loaded, kind, index.bits, source_options.ids) as source,
            progress_bars(quiet=quiet) as progress,
        ):
            added = _add_all(index, source, existing, progress)
            _save(index, index_path, progress)
        _report_change(index, index_path, {"added": added}, source, as_json=as_json, quiet=quiet)


@group.add()
def remove(
    index_path: IndexPath,
    ids: IdsArgument = None,
    ids_from: IdsFrom = None,
    missing_ok: MissingOk = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove ids from an index.

    Examples
    --------
    nearkin index remove corpus.nks 17 42
    nearkin index remove corpus.nks --ids gone.txt
    """
    names = collect_ids(ids, ids_from)
    with _updating(index_path) as index:
        removed = index.remove(_index_ids(index, names), missing_ok=missing_ok)
        index.save(index_path)
        _report_change(index, index_path, {"removed": removed}, as_json=as_json, quiet=quiet)


@group.add()
def info(
    index_path: IndexPath,
    radius: Radius = None,
    verify: Annotated[bool, opt("Read the file and check all of it.")] = True,
    report: PageFile = None,
    as_json: Json = False,
) -> None:
    """Describe an index: its content, how it answers a search and why, and whether the file is intact.

    The search is one within --radius, by default the radius that the index was built for, or 3. --report draws the
    plan: the stages of a query with their counts and costs, and the cost of each method.

    Examples
    --------
    nearkin index info corpus.nks --radius 10
    """
    from nearkin.index.hamming import HammingIndex

    check_page(report)
    index = HammingIndex.open(index_path)
    if verify:
        index.verify()
    about = {
        **_describe(index, index_path),
        "method": index.method,
        "announced_radius": index.radius,
        "memory_limit": index.memory_limit,
        "verified": verify,
        **index.explain(radius),
    }
    if report is not None:
        from nearkin.report.plan import plan_page

        write_page(report, plan_page(about, str(index_path)))
    if as_json:
        say_json(about)
    else:
        show_table(["", ""], list(_info_rows(about)), header=False, lines=False)


def _info_rows(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the rows of `info`."""
    sound = "sound" if about["verified"] else "not verified"
    radius, limit = about["announced_radius"], about["memory_limit"]
    yield "file", f"{about['index']}, {about['file_bytes']:,} bytes, {sound}"
    yield "fingerprints", f"{about['fingerprints']:,} of {about['bits']} bits"
    yield "ids", str(about["ids"])
    yield "recipe", "none" if about["recipe"] is None else f"{about['recipe']}  (digest {about['recipe_digest']})"
    yield "method", f"{about['method']}, kernel {about['kernel']}"
    yield "announced", "no radius" if radius is None else f"radius {radius}"
    yield "memory limit", "none" if limit is None else f"{limit:,} bytes"
    for part in about["parts"]:
        if not part["slots"]:
            continue
        text = f"{part['slots']:,} distinct by {part['method']}"
        if part["tables"]:
            radii = ", ".join("-" if value < 0 else str(value) for value in part["radii"])
            built = "built" if part["built"] else "not built"
            text += f" ({part['tables']} tables, {built}, radius {radii} in their blocks)"
            text += f": {part['probes']:,.0f} look-ups, {part['candidates']:,.0f} candidates,"
        text += f" about {part['cost'] / 1000:,.1f} µs per query (scan: {part['scan_cost'] / 1000:,.1f} µs)"
        yield f"radius {about['radius']}", text


def _check_new(out: Path, *, overwrite: bool) -> None:
    """Raise ParameterError unless a new index can be written here: over nothing or, with `overwrite`, over an index."""
    from nearkin.index.hamming import HammingIndex

    if not out.absolute().parent.is_dir():
        raise bad_parameter("out", str(out), "a file in a folder that exists")
    if not out.exists():
        return
    if not overwrite:
        raise bad_parameter("out", str(out), "a file that does not exist, or --overwrite")
    if not out.is_file():
        raise bad_parameter("out", str(out), "a file")
    HammingIndex.open(out)


@contextmanager
def _updating(path: Path) -> Iterator[HammingIndex]:
    """Open an index, locked against other updates."""
    from nearkin.index.base import lock_index_file
    from nearkin.index.hamming import HammingIndex

    with lock_index_file(path):
        yield HammingIndex.open(path)


def _check_recipe(index: HammingIndex, recipe: str | None, *, texts: bool) -> Recipe | None:
    """Return the recipe of an index.

    Raises
    ------
    MismatchError
        `recipe` is another one, or the index has none and the input is texts.
    """
    if recipe is not None:
        index.check_recipe(recipe)
    if texts and index.recipe is None:
        raise MismatchError(
            "the index was built from fingerprints without a recipe, so texts cannot be hashed in the same way; give "
            "fingerprints, or build the index with --recipe",
            what="recipe",
            left=None,
            right="texts",
        )
    return index.recipe


def _index_ids(index: HammingIndex, names: list[str]) -> list[int] | list[str]:
    """Return ids of the command line as the index has them: integers if its ids are integers."""
    return names if index.explain()["ids"] == "strings" else parse_ids(names, "index")


def _add_all(index: HammingIndex, source: FingerprintSource, existing: str, progress: Progress) -> int:
    """Add the fingerprints of a source, and return how many were added."""
    import numpy as np

    before = len(index)
    done = 0
    for batch in source:
        if source.numbered:
            first = index.next_row
            index.add(None, batch.codes)
            # A document without a fingerprint keeps its number, so that numbers are positions in the corpus.
            index.remove(first + np.flatnonzero(~batch.present))
        else:
            as_integers = source.ids_are_text and len(index) > 0 and index.explain()["ids"] != "strings"
            rows = _valid_rows(source, batch, as_integers=as_integers)
            names = [name for name, valid in zip(batch.names, rows.tolist(), strict=True) if valid]
            keys = parse_ids(names, "index") if as_integers else names
            index.add(keys, batch.codes[rows], existing=existing)  # type: ignore[arg-type]  # The index checks it.
        done += len(batch)
        progress("hash" if source.recipe is not None else "read", done, None)
    if source.corpus is not None:
        report_skipped(source.corpus)
    return len(index) - before


def _valid_rows(source: FingerprintSource, batch: FingerprintBatch, *, as_integers: bool) -> NDArray[np.bool_]:
    """Return a mask of the rows with a fingerprint and an id that the index can store; reject records with another."""
    import numpy as np

    valid: NDArray[np.bool_] = batch.present.copy()
    if source.corpus is None:
        # The ids of an array have one type, which the index accepts or refuses together.
        return valid
    first = source.read - len(batch)
    for row in np.flatnonzero(valid).tolist():
        name = batch.names[row]
        text = str(name)
        digits = text.strip().removeprefix("-")
        is_integer = not isinstance(name, str) or (as_integers and digits.isascii() and digits.isdigit())
        if is_integer and parse_id(text) is None:
            valid[row] = False
            short = text if len(text) <= 40 else text[:40] + "..."
            source.refuse(first + row, f"the id {short} is not an integer of 64 bits, like the ids of an index")
    return valid


def _save(index: HammingIndex, path: Path, progress: Progress) -> None:
    progress("sort and write", 0, 1)
    index.save(path)
    progress("sort and write", 1, 1)
    used, limit = index.explain()["bytes_fingerprints"], index.memory_limit
    if limit is not None and used > limit:
        warn(f"warning: the fingerprints alone take {used:,} bytes, above the memory limit of {limit:,}")


def _describe(index: HammingIndex, path: Path) -> dict[str, Any]:
    recipe = index.recipe
    return {
        "index": str(path),
        "fingerprints": len(index),
        "bits": index.bits,
        "recipe": None if recipe is None else str(recipe),
        "recipe_digest": None if recipe is None else recipe.digest,
        "file_bytes": path.stat().st_size,
    }


def _report_change(
    index: HammingIndex,
    path: Path,
    counts: Mapping[str, int],
    source: FingerprintSource | None = None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Report a change: as a JSON object on standard output, or as a line on standard error."""
    about: dict[str, Any] = {**counts, **_describe(index, path)}
    if source is not None:
        about |= {"read": source.read, "without_fingerprint": source.absent, "malformed": source.malformed}
    if as_json:
        say_json(about)
    elif not quiet:
        ((verb, count),) = counts.items()
        done = f"{count:,} {verb}"
        if about.get("without_fingerprint"):
            done += f", {about['without_fingerprint']:,} without any letter or fingerprint left out"
        warn(f"{done}; {path} holds {about['fingerprints']:,} in {about['file_bytes']:,} bytes")


# Search


@app.add(threads=True)
def search(
    index_path: Annotated[
        Path, typer.Argument(help="File of the index, or folder of a store.", metavar="INDEX", show_default=False)
    ],
    reading: CorpusOptions,
    inputs: Annotated[
        Repeated,
        typer.Argument(
            help="Corpora whose documents are the queries: files, globs, folders, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[Repeated, opt("A text as a query; may be repeated.", "--text")] = None,
    file: Annotated[
        Repeated, opt("A file as one query, - for standard input; may be repeated.", "--file", "-f")
    ] = None,
    fingerprint: Annotated[
        Repeated, opt("A hexadecimal fingerprint as a query; may be repeated.", "--fingerprint")
    ] = None,
    radius: Radius = None,
    top_k: Annotated[int | None, opt("Number of nearest matches; with --radius within it.", "--top-k", "-k")] = None,
    recipe: RecipeOption = None,
    corpus: Annotated[Repeated, opt("The corpus of the index: show text and similarity of matches as well.")] = None,
    columns: Annotated[
        Repeated, opt("Show this column of --corpus, or of the store; may be repeated.", "--column")
    ] = None,
    *,
    source_options: FingerprintOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search an index or a store: query, id and distance, nearest first; exit code 3 without a match.

    The default is the radius that the index was built for; without one, the 10 nearest matches. Without a query,
    standard input is one text. --json prints an object per query: query, matches (id, distance); matches is null for a
    text without a letter or digit. --corpus adds the Jaccard similarity by the recipe of the index, the columns of
    --column, and the text; lines and tables show its beginning. A store contains all of this itself: it returns the 10
    most similar matches, or --top-k, at its own threshold.

    Examples
    --------
    nearkin search corpus.nks --text 'The quick brown fox jumps over the lazy dog.' --radius 25
    nearkin search corpus.nks --file letter.txt -k 5 --json
    nearkin search corpus.nks today.jsonl.gz --id-column id --radius 20
    nearkin search corpus.nks --text 'Some words.' --corpus corpus.jsonl --id-column id --column source
    nearkin search pages.store --text 'Some words.' --column source
    nearkin search codes.nks --fingerprint 3601c888ae14a088 -k 3
    """
    from nearkin.index.hamming import HammingIndex

    kind, ids = source_options.fingerprints, source_options.ids
    files = file or []
    if not (inputs or text or files or fingerprint):
        if sys.stdin.isatty():
            raise bad_parameter("queries", "none", "--text, --file, --fingerprint, inputs, or a text on standard input")
        files = ["-"]
    names = [*(f"text {i}" for i in range(1, len(text or []) + 1)), *files]
    if top_k is not None and top_k < 1:
        raise bad_parameter("top_k", top_k, "1 or more")
    # Progress bars would mix with matches on a terminal.
    with progress_bars(quiet=quiet or sys.stdout.isatty()) as progress:
        if index_path.is_dir():
            refused = {"radius": radius, "recipe": recipe, "corpus": corpus, "ids": ids, "fingerprint": fingerprint}
            for name, value in {**refused, "fingerprints": kind}.items():
                if value is not None:
                    raise bad_parameter(name, "given", "not with a store, which has texts, a recipe and a threshold")
            with _open_store(index_path) as store:
                stored = StoredDocuments(store, columns or [], 10 if top_k is None else top_k)
                printer = _MatchPrinter(stored.columns, as_json=as_json)
                if names:
                    printer.print(names, stored.search([*(text or []), *map(read_text, files)]))
                if inputs:
                    with reading.read(inputs) as queries:
                        for each in queries.batches():
                            printer.print(each.ids.to_list(), stored.search(list(each.texts)))
                            progress("search", queries.rows, None)
                printer.end(stored, quiet=quiet)
            return
        index = HammingIndex.open(index_path)
        loaded = _check_recipe(index, recipe, texts=bool(names or (inputs and kind is None)))
        if columns and not corpus:
            raise bad_parameter("column", ", ".join(columns), "a column together with --corpus, which has it")
        if radius is None and top_k is None:
            radius, top_k = (index.radius, None) if index.radius is not None else (None, 10)
        with _open_documents(reading, corpus or [], columns or [], loaded) as documents:
            printer = _MatchPrinter(None if documents is None else documents.columns, as_json=as_json)
            for batch in _query_batches(names, text or [], files, fingerprint or [], loaded, index.bits):
                printer.print(batch.names, _search_batch(index, batch, radius, top_k, documents))
            if inputs:
                with reading.open_fingerprints(inputs, loaded, kind, index.bits, ids) as source:
                    for batch in source:
                        printer.print(batch.names, _search_batch(index, batch, radius, top_k, documents))
                        progress("search", source.read, None)
                    if source.corpus is not None:
                        report_skipped(source.corpus)
            printer.end(documents, quiet=quiet)


@contextmanager
def _open_store(path: Path) -> Iterator[Store]:
    """Open a store of texts.

    Raises
    ------
    ParameterError
        The store has files or vectors.
    """
    from nearkin.store.store import Store

    with Store.open(path, "r") as store:
        if store.settings.noun != "text":
            allowed = "a store of texts; for files use `nearkin store check`, for vectors Python"
            raise bad_parameter("store", str(path), allowed)
        yield store


def _query_batches(
    names: list[str], texts: list[str], files: list[str], codes: list[str], recipe: Recipe | None, bits: int
) -> Iterator[FingerprintBatch]:
    """Return the queries of the command line: a batch of texts and files, and a batch of fingerprints."""
    import numpy as np

    from nearkin.dedup.fingerprint_source import FingerprintBatch
    from nearkin.families.simhash import fingerprint
    from nearkin.index.fingerprints import from_hex

    if names and recipe is not None:
        contents = [*texts, *map(read_text, files)]
        values, counts = fingerprint(contents, recipe, return_counts=True)
        yield FingerprintBatch(names, values, counts > 0, contents)
    if codes:
        yield FingerprintBatch(codes, from_hex(codes, bits), np.ones(len(codes), bool))


def _search_batch(
    index: HammingIndex,
    batch: FingerprintBatch,
    radius: int | None,
    top_k: int | None,
    documents: MatchedDocuments | None,
) -> list[list[dict[str, Any]] | None]:
    """Return the matches of each query, nearest first; None for a query without a fingerprint."""
    codes = batch.codes[batch.present]
    hits = index.search(codes, radius or 0) if top_k is None else index.nearest(codes, top_k)
    limit = index.bits if radius is None else radius
    ids, distances = hits.ids.tolist(), hits.distances.tolist()
    bounds = iter(pairwise(hits.offsets.tolist()))
    results: list[list[dict[str, Any]] | None] = []
    for present in batch.present.tolist():
        rows = range(*next(bounds)) if present else ()
        near = [{"id": ids[row], "distance": distances[row]} for row in rows if distances[row] <= limit]
        results.append(near if present else None)
    if documents is not None:
        texts = [None] * len(results) if batch.texts is None else batch.texts
        matches = [(text, match) for text, near in zip(texts, results, strict=True) for match in near or ()]
        documents.describe(matches)
    return results


class _MatchPrinter:
    """Prints the matches of queries: as JSON, as lines with tabs, or as a table on a terminal.

    Parameters
    ----------
    columns : sequence of str or None
        Columns of documents, shown with similarity and text; None to show ids and distances only.
    as_json : bool
        Print an object per query.
    """

    def __init__(self, columns: Sequence[str] | None, *, as_json: bool) -> None:
        self._columns = columns
        self._as_json = as_json
        self._count = 0
        self._rows: list[list[str]] | None = [] if sys.stdout.isatty() and not as_json else None

    def print(self, names: Sequence[object], results: Sequence[list[dict[str, Any]] | None]) -> None:
        """Print the matches of queries; None stands for a text without a fingerprint."""
        lines: list[str] = []
        for name, matches in zip(names, results, strict=True):
            self._count += len(matches or [])
            if self._as_json:
                say_json({"query": name, "matches": matches})
            elif matches is None:
                warn(f"{name}: a text without any letter has no fingerprint")
            elif self._rows is not None:
                self._rows += [[str(name), *self._cells(match)] for match in matches]
            else:
                lines += ["\t".join(map(display, (name, *self._cells(match)))) for match in matches]
        if lines:
            say("\n".join(lines))

    def _cells(self, match: Mapping[str, Any]) -> list[str]:
        """Return the cells of a match; its text is cut to one short line."""
        cells = [str(match["id"]), str(match["distance"])]
        if self._columns is None:
            return cells
        similarity, text = match["similarity"], match["text"]
        excerpt = "-" if text is None else " ".join(text[: 4 * _EXCERPT].split())
        short = excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 3] + "..."
        values = ["-" if match.get(name) is None else str(match[name]) for name in self._columns]
        return [*cells, "-" if similarity is None else f"{similarity:.4f}", *values, short]

    def end(self, documents: MatchedDocuments | StoredDocuments | None, *, quiet: bool) -> None:
        """Print the table, if there is one, and end the command with exit code 3 if there was no match."""
        more = [] if self._columns is None else ["similarity", *self._columns, "text"]
        if self._rows:
            show_table(["query", "id", "distance", *more], self._rows)
        if documents is not None:
            documents.report_missing()
        if not self._count:
            if not quiet and not self._as_json:
                warn("nothing found")
            raise typer.Exit(NO_MATCH)


_EXCERPT = 60
"""Characters of a text that are shown."""


class MatchedDocuments:
    """Documents of the corpus that an index was built from, by id.

    Parameters
    ----------
    corpus : Corpus
        An open corpus; it is read here, and again for the texts of matches.
    columns : sequence of str
        Extra columns of the corpus to show.
    recipe : Recipe or None
        Recipe for similarities; None for no similarities.
    """

    def __init__(self, corpus: Corpus, columns: Sequence[str], recipe: Recipe | None) -> None:
        from nearkin.dedup.spill import SpillColumn

        self.columns = list(columns)
        self._missing = 0
        self._corpus = corpus
        self._recipe = recipe
        self._rows: dict[Any, int] = {}
        growing = {name: SpillColumn() for name in self.columns}
        for batch in corpus.batches():
            self._rows.update(zip(batch.ids.to_list(), range(batch.first_row, corpus.rows), strict=False))
            for name, column in growing.items():
                column.append(batch.columns[name])
        self._cells: dict[str, Column] = {name: column.finish() for name, column in growing.items()}

    def describe(self, matches: Sequence[tuple[str | None, dict[str, Any]]]) -> None:
        """Add similarity, columns and text to matches; each is None if the corpus has no such id.

        Parameters
        ----------
        matches : sequence of (str or None, dict)
            The text of the query, unless it is a fingerprint, and the match.
        """
        rows = [self._rows.get(match["id"]) for _, match in matches]
        distinct = sorted({row for row in rows if row is not None})
        texts = dict(zip(distinct, self._corpus.texts(distinct), strict=True))
        self._missing += rows.count(None)
        for (_, match), row in zip(matches, rows, strict=True):
            match["similarity"] = None
            match |= {name: None if row is None else column[row] for name, column in self._cells.items()}
            match["text"] = None if row is None else texts[row]
        self._compare([(text, match) for text, match in matches if text is not None and match["text"] is not None])

    def _compare(self, matches: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Set the Jaccard similarities of matches to the texts of their queries."""
        from nearkin.dedup.verify import similarity

        if self._recipe is None or not matches:
            return
        texts = [each for query, match in matches for each in (query, match["text"])]
        even = range(0, len(texts), 2)
        values = similarity(texts, list(even), [row + 1 for row in even], recipe=self._recipe)
        for (_, match), value in zip(matches, values.tolist(), strict=True):
            match["similarity"] = value

    def report_missing(self) -> None:
        """Report how many matches the corpus does not have."""
        if self._missing:
            warn(f"--corpus does not have {self._missing} of the matches; give the corpus of the index")


class StoredDocuments:
    """Documents of a store of texts, which verifies its matches itself.

    Parameters
    ----------
    store : Store
        An open store.
    columns : sequence of str
        Columns to show; by default all that a match has.
    k : int
        Number of matches of a text.
    """

    def __init__(self, store: Store, columns: Sequence[str], k: int) -> None:
        self.columns = list(columns)
        self._store = store
        self._k = k
        self._has_texts = store.settings.text == "keep"
        self._seen: set[str] = set()
        self._count = 0

    def search(self, texts: Sequence[str | None]) -> list[list[dict[str, Any]]]:
        """Return id, distance, similarity, columns and text of the best matches of each text."""
        lists = self._store.check(texts, k=self._k).matches or []
        ids: list[Any] = [match.id for matches in lists for match in matches]
        stored = iter(self._store.texts(ids) if self._has_texts else [None] * len(ids))
        self._count += len(ids)
        return [[self._match(match, next(stored)) for match in matches] for matches in lists]

    def _match(self, match: StoredMatch, text: str | None) -> dict[str, Any]:
        self._seen.update(match.columns)
        columns = {name: match.columns.get(name) for name in self.columns} if self.columns else match.columns
        similarity = None if match.similarity != match.similarity else match.similarity
        return {"id": match.id, "distance": match.distance, "similarity": similarity, **columns, "text": text}

    def report_missing(self) -> None:
        """Report that the store has no texts, and columns that no match has."""
        if self._count and not self._has_texts:
            warn("this store keeps no texts of its documents, so none are shown")
        for name in self.columns if self._count else ():
            if name not in self._seen:
                names = ", ".join(map(repr, sorted(self._seen))) or "none"
                warn(f"no match has a column {name!r}; the matches have the columns: {names}")


@contextmanager
def _open_documents(
    reading: CorpusOptions, inputs: Sequence[str], columns: Sequence[str], recipe: Recipe | None
) -> Iterator[MatchedDocuments | None]:
    """Open the corpus of an index, if there is one."""
    if not inputs:
        yield None
        return
    with reading.read(inputs, extra_columns=columns) as corpus:
        yield MatchedDocuments(corpus, columns, recipe)
