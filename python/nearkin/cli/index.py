"""`nearkin index` and `nearkin search`: a Hamming index of texts or fingerprints, and queries on it or on a store.

The index is one file (`docs/format.md`) that stores the recipe of its fingerprints. Texts are hashed by that recipe;
another recipe on the command line is an error. An update writes a new file under a lock and renames it. A search
without a match returns exit code 3.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from nearkin.cli.commands import Commands
from nearkin.cli.console import NO_MATCH, display, progress_bars, read_text, say, say_json, show_facts, show_table, warn
from nearkin.cli.corpus import CorpusOptions, report_skipped
from nearkin.cli.options import (
    PRINTING,
    Bits,
    HexColumn,
    IdOptions,
    Inputs,
    Json,
    Overwrite,
    PageFile,
    PrintOptions,
    Radius,
    RecipeOption,
    Repeated,
    TextQueries,
    opt,
    output_opt,
    parse_id,
    parse_ids,
    parse_recipe,
    refuse_url,
)
from nearkin.cli.report import check_page, write_page
from nearkin.errors import MismatchError, ParameterError, bad_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nearkin.dedup.candidates.codes import CodeCandidates
    from nearkin.index.fingerprint_source import FingerprintBatch, FingerprintSource
    from nearkin.index.hamming import HammingIndex
    from nearkin.progress import Progress
    from nearkin.recipe import Recipe
    from nearkin.store.results import StoredMatch

app = Commands()
group = Commands("index", "Indexes of fingerprints: build, add, remove, info. `nearkin search` queries them.")

Matches: TypeAlias = list[dict[str, Any]] | None
"""Matches of a query; None for a text without a fingerprint."""
Results: TypeAlias = Generator[tuple[Sequence[object], Sequence[Matches]]]
"""Names of queries and their matches, in batches."""
_EXCERPT = 60
"""Characters of a text that are shown."""

IndexPath = Annotated[Path, typer.Argument(help="File of the index.", metavar="INDEX")]
Existing = Annotated[
    str, opt("What to do with an id that exists already: error, update or skip.", choices=("error", "update", "skip"))
]


Fingerprints = Annotated[
    str | None,
    opt(
        "The inputs are fingerprints, not texts: hex or int (in the column `fingerprint` or --text-column, or one per "
        "line, optionally after an id and a tab, as `nearkin text hash` prints them).",
        metavar="hex|int",
        choices=("hex", "int"),
    ),
]


@group.add(threads=True)
def build(
    inputs: Inputs,
    out: Annotated[Path, output_opt("File of the new index.", "--out", "-o")],
    reading: CorpusOptions,
    fingerprints: Fingerprints = None,
    radius: Radius = None,
    recipe: RecipeOption = None,
    bits: Bits = None,
    existing: Existing = "error",
    overwrite: Overwrite = False,
    printing: PrintOptions = PRINTING,
) -> None:
    """Hash a corpus, or read fingerprints, and write an index of them.

    Ids come from the corpus; without --id-column, documents are numbered from 0 in order. A text without a letter or
    digit has no fingerprint: it counts in the numbering and never matches. --radius builds tables for searches within
    that radius.

    Examples
    --------
    $ nearkin index build corpus.jsonl --out texts.nks --id-column id
    nearkin: 4 added; texts.nks holds 4 in 1,280 bytes

    nearkin index build corpus.jsonl.gz --out corpus.nks --id-column id --radius 25
    nearkin index build 'crawl/*.parquet' --out crawl.nks --text-column body --id-column url --recipe simhash-pypi
    nearkin text hash corpus.jsonl --bits 64 | nearkin index build - --out codes.nks --fingerprints hex --bits 64
    """
    from nearkin.index.hamming import HammingIndex

    _check_new(out, overwrite=overwrite)
    # Texts need a recipe; fingerprints may come without one.
    parsed = None if fingerprints is not None and recipe is None else parse_recipe(recipe, bits)
    with (
        reading.open_fingerprints(inputs, parsed, fingerprints, bits, quiet=printing.quiet) as source,
        progress_bars(quiet=printing.quiet) as progress,
    ):
        if any(path.exists() and out.exists() and path.samefile(out) for path in source.corpus.paths):
            raise bad_parameter("out", str(out), "a file that is not an input")
        index = HammingIndex(source.bits, radius=radius, recipe=parsed)
        added = _add_all(index, source, existing, progress)
        _save(index, out, progress)
    _report_change(index, out, {"added": added}, printing, source)


@group.add(threads=True)
def add(
    index_path: IndexPath,
    inputs: Inputs,
    reading: CorpusOptions,
    fingerprints: Fingerprints = None,
    recipe: RecipeOption = None,
    existing: Existing = "error",
    printing: PrintOptions = PRINTING,
) -> None:
    """Add documents or fingerprints to an index; texts are hashed by its recipe.

    The file is replaced at the end: an error or an interrupt leaves it unchanged.

    Examples
    --------
    $ nearkin index add corpus.nks new.jsonl --id-column id
    nearkin: 2 added; corpus.nks holds 6 in 1,280 bytes

    nearkin index add corpus.nks today.jsonl.gz --id-column id --existing update
    """
    with _updating(index_path) as index:
        loaded = _check_recipe(index, recipe, texts=fingerprints is None)
        with (
            reading.open_fingerprints(inputs, loaded, fingerprints, index.bits, quiet=printing.quiet) as source,
            progress_bars(quiet=printing.quiet) as progress,
        ):
            added = _add_all(index, source, existing, progress)
            _save(index, index_path, progress)
        _report_change(index, index_path, {"added": added}, printing, source)


@group.add()
def remove(index_path: IndexPath, ids: IdOptions, printing: PrintOptions = PRINTING) -> None:
    """Remove ids from an index.

    Examples
    --------
    $ nearkin index remove corpus.nks a b
    nearkin: 2 removed; corpus.nks holds 2 in 1,344 bytes

    nearkin index remove corpus.nks 17 42
    nearkin index remove corpus.nks --ids gone.txt
    """
    names = ids.read()
    with _updating(index_path) as index:
        removed = index.remove(_index_ids(index, names), missing_ok=ids.missing_ok)
        index.save(index_path)
        _report_change(index, index_path, {"removed": removed}, printing)


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
    $ nearkin index info corpus.nks
    index   corpus.nks
    fingerprints    4
    bits    128
    recipe  char:4|binary|xxh3|simhash:128
    recipe digest   114ef92808fddfbd
    file bytes      1,280
    ...

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
        parts = {f"part {number}": _describe_part(part) for number, part in enumerate(about["parts"], 1)}
        show_facts({name: value for name, value in about.items() if name not in ("memory", "parts")} | parts)


def _describe_part(part: Mapping[str, Any]) -> str:
    """Return what a part of an index does for a query; costs are nanoseconds."""
    return ", ".join(
        f"{name.replace('_', ' ')} {f'{value:,.1f}' if isinstance(value, float) else value}"
        for name, value in part.items()
    )


def _check_new(out: Path, *, overwrite: bool) -> None:
    """Raise ParameterError unless a new index can be written here: over nothing or, with `overwrite`, over an index."""
    from nearkin.index.hamming import HammingIndex

    if not out.absolute().parent.is_dir():
        raise bad_parameter("out", str(out), "a file in a folder that exists")
    if not out.exists():
        return
    if not out.is_file():
        raise bad_parameter("out", str(out), "a file; this is a folder")
    if not overwrite:
        raise bad_parameter("out", str(out), "a file that does not exist, or --overwrite")
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
        try:
            index.check_recipe(recipe)
        except MismatchError as error:
            message = f"--recipe {recipe} is not that of the index ({error}); leave it out: the index has its own"
            raise MismatchError(message, **error.context) from error
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
    report_skipped(source.corpus)
    return len(index) - before


def _valid_rows(source: FingerprintSource, batch: FingerprintBatch, *, as_integers: bool) -> NDArray[np.bool_]:
    """Return a mask of the rows with a fingerprint and an id that the index can store; reject records with another."""
    import numpy as np

    valid: NDArray[np.bool_] = batch.present.copy()
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
    printing: PrintOptions,
    source: FingerprintSource | None = None,
) -> None:
    """Report a change: as a JSON object on standard output, or as a line on standard error."""
    about: dict[str, Any] = {**counts, **_describe(index, path)}
    if source is not None:
        about |= {"read": source.read, "without_fingerprint": source.absent, "malformed": source.malformed}
    ((verb, count),) = counts.items()
    done = f"{count:,} {verb}"
    if about.get("without_fingerprint"):
        done += f", {about['without_fingerprint']:,} without any letter or fingerprint left out"
    done += f"; {path} holds {about['fingerprints']:,} in {about['file_bytes']:,} bytes"
    printing.report(about, lambda: warn(done))


# Search


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Queries of the command line."""

    reading: CorpusOptions
    inputs: Annotated[
        Repeated,
        typer.Argument(help="Corpora whose documents are the queries: files, globs, folders, or - for standard input."),
    ] = None
    text: TextQueries = None
    file: Annotated[Repeated, opt("A file as one query, - for standard input; may be repeated.", "--file", "-f")] = None
    fingerprint: Annotated[Repeated, opt("A hexadecimal fingerprint as a query; may be repeated.", "--fingerprint")] = (
        None
    )
    radius: Radius = None
    top_k: Annotated[int | None, opt("Number of nearest matches; with --radius within it.", "--top-k", "-k")] = None
    recipe: RecipeOption = None
    columns: Annotated[Repeated, opt("Show this column of the store; may be repeated.", "--column")] = None
    fingerprints: Fingerprints = None
    hex_column: HexColumn = None

    def read_texts(self) -> tuple[list[str], list[str]]:
        """Return the names and contents of texts and files: standard input if there is no query at all."""
        texts, files = self.text or [], self.file or []
        if not (self.inputs or texts or files or self.fingerprint):
            if sys.stdin.isatty():
                allowed = "--text, --file, --fingerprint, inputs, or a text on standard input"
                raise bad_parameter("queries", "none", allowed)
            files = ["-"]
        return [*(f"text {i}" for i in range(1, len(texts) + 1)), *files], [*texts, *map(read_text, files)]


@app.add(
    brief=("text", "file", "text_column", "id_column", "format", "radius", "top_k", "columns", "hex_column", "as_json"),
    threads=True,
)
def search(
    index_path: Annotated[
        Path, typer.Argument(help="File of the index, folder of a store, or table of codes.", metavar="INDEX")
    ],
    query: QueryOptions,
    printing: PrintOptions = PRINTING,
) -> None:
    """Search an index or a store: query, id and distance, nearest first; exit code 3 without a match.

    The default is the radius that the index was built for; without one, the 10 nearest matches. Without a query,
    standard input is one text. --json prints an object per query: query, matches (id, distance); matches is null for a
    text without a letter or digit. A store adds the similarity, its columns, and the text; lines and tables show its
    beginning. It returns the 10 most similar matches, or --top-k, at its own threshold.

    With --hex-column, INDEX may be a table, such as codes.parquet: its codes are searched for --fingerprint, or for the
    codes of INPUTS.

    Examples
    --------
    $ nearkin search pages.store --file fox.txt
    fox.txt a       0       1.0000  The quick brown fox jumps over the laz...

    nearkin search corpus.nks --text 'The quick brown fox jumps over the lazy dog.' --radius 25
    nearkin search corpus.nks --file letter.txt -k 5 --json
    nearkin search corpus.nks today.jsonl.gz --id-column id --radius 20
    nearkin search pages.store --text 'Some words.' --column source
    nearkin search codes.nks --fingerprint 3601c888ae14a088 -k 3
    nearkin search codes.parquet new.parquet --hex-column pdq --radius 31
    """
    if query.top_k is not None and query.top_k < 1:
        raise bad_parameter("top_k", query.top_k, "1 or more")
    columns = query.columns or []
    refuse_url(index_path, "INDEX", "the file of an index or the folder of a store; `nearkin check` queries a service")
    # Progress bars would mix with matches on a terminal.
    with progress_bars(quiet=printing.quiet or sys.stdout.isatty()) as progress:
        if index_path.is_dir():
            for name in ("radius", "recipe", "fingerprint", "fingerprints", "hex_column"):
                if getattr(query, name) is not None:
                    raise bad_parameter(name, "given", "not with a store, which has texts, a recipe and a threshold")
            results = _search_store(index_path, query, columns, query.top_k or 10, progress)
        else:
            if columns:
                raise bad_parameter("column", ", ".join(columns), "a column of a store")
            results = _search_index(_open_index(index_path, query), query, progress)
        with closing(results):
            text = "a text without any letter has no fingerprint"
            missing = text if query.hex_column is None else "this row has no code"
            _print_matches(results, columns if index_path.is_dir() else None, missing, printing)


def _open_index(path: Path, query: QueryOptions) -> HammingIndex:
    """Open an index, or build one of a table of codes.

    Raises
    ------
    ParameterError
        With `hex_column`: texts, an option of texts, or no query.
    """
    from nearkin.dedup.candidates.codes import CodeCandidates
    from nearkin.index.files import index_class
    from nearkin.index.hamming import HammingIndex

    if query.hex_column is None:
        return HammingIndex.open(path)
    for name in ("text", "file", "recipe", "fingerprints"):
        if getattr(query, name) is not None:
            raise bad_parameter(name, "given", "--fingerprint or inputs with --hex-column, which searches codes")
    if not query.inputs and not query.fingerprint:
        raise bad_parameter("queries", "none", "--fingerprint, or inputs with codes")
    if index_class(path) is not None:
        return HammingIndex.open(path)
    source = CodeCandidates(0)
    batches = list(_read_codes([str(path)], query, source))
    index = HammingIndex(source.bits)
    for batch in batches:
        index.add(
            [name for name, valid in zip(batch.names, batch.present, strict=True) if valid], batch.codes[batch.present]
        )
    return index


def _read_codes(inputs: Sequence[str], query: QueryOptions, source: CodeCandidates) -> Iterator[FingerprintBatch]:
    """Read codes from a column of tables."""
    from nearkin.dedup.candidates.simhash import flatten
    from nearkin.index.fingerprint_source import FingerprintBatch

    with query.reading.for_codes(str(query.hex_column)).read(inputs) as corpus:
        corpus.bytes_as_hex = True
        for batch in corpus.batches():
            rows, present = source.hash(batch.texts)
            yield FingerprintBatch(batch.ids.to_list(), flatten(rows), present > 0)


def _search_index(index: HammingIndex, query: QueryOptions, progress: Progress) -> Results:
    """Search an index for texts and files, for fingerprints, and for inputs."""
    import numpy as np

    from nearkin.dedup.candidates.codes import CodeCandidates
    from nearkin.families.simhash import fingerprint
    from nearkin.index.fingerprint_source import FingerprintBatch
    from nearkin.index.fingerprints import from_hex

    names, texts = query.read_texts()
    radius, top_k = query.radius, query.top_k
    hashed = bool(names or (query.inputs and query.fingerprints is None and query.hex_column is None))
    loaded = _check_recipe(index, query.recipe, texts=hashed)
    if radius is None and top_k is None:
        radius, top_k = (index.radius, None) if index.radius is not None else (None, 10)
    if names and loaded is not None:
        values, counts = fingerprint(texts, loaded, return_counts=True)
        yield names, _search_batch(index, FingerprintBatch(names, values, counts > 0), radius, top_k)
    if codes := query.fingerprint:
        try:
            values = from_hex(codes, index.bits)
        except ParameterError as error:
            raise bad_parameter("fingerprint", error.context["found"], error.context["allowed"]) from error
        batch = FingerprintBatch(codes, values, np.ones(len(codes), bool))
        yield codes, _search_batch(index, batch, radius, top_k)
    if query.inputs and query.hex_column is not None:
        for batch in _read_codes(query.inputs, query, CodeCandidates(0, index.bits)):
            yield batch.names, _search_batch(index, batch, radius, top_k)
    elif query.inputs:
        with query.reading.open_fingerprints(query.inputs, loaded, query.fingerprints, index.bits) as source:
            for batch in source:
                yield batch.names, _search_batch(index, batch, radius, top_k)
                progress("search", source.read, None)
            report_skipped(source.corpus)


def _search_batch(index: HammingIndex, batch: FingerprintBatch, radius: int | None, top_k: int | None) -> list[Matches]:
    """Return the matches of each query, nearest first; None for a query without a fingerprint."""
    codes = batch.codes[batch.present]
    hits = index.search(codes, radius or 0) if top_k is None else index.nearest(codes, top_k)
    limit = index.bits if radius is None else radius
    results = iter(hits)
    return [
        [{"id": hit.id, "distance": hit.distance} for hit in next(results) if hit.distance <= limit]
        if present
        else None
        for present in batch.present.tolist()
    ]


def _search_store(path: Path, query: QueryOptions, columns: Sequence[str], k: int, progress: Progress) -> Results:
    """Search a store of texts, which verifies its matches itself.

    Raises
    ------
    ParameterError
        The store has files or vectors.
    """
    from nearkin.store.store import Store

    with Store.open(path, "r") as store:
        if store.settings.kind != "text":
            allowed = "a store of texts; for files use `nearkin check`, for vectors Python"
            raise bad_parameter("store", str(path), allowed)
        seen: set[str] = set()
        count = 0
        for names, texts in _query_texts(query, progress):
            lists = store.check(texts, k=k).matches or []
            ids: list[Any] = [match.id for matches in lists for match in matches]
            contents = iter(store.texts(ids) if store.settings.text == "keep" else [None] * len(ids))
            yield names, [[_describe_match(match, columns, next(contents)) for match in matches] for matches in lists]
            count += len(ids)
            seen.update(name for matches in lists for match in matches for name in match.columns)
        if count and store.settings.text != "keep":
            warn("this store keeps no texts of its documents, so none are shown")
        for name in columns if count else ():
            if name not in seen:
                others = ", ".join(map(repr, sorted(seen))) or "none"
                warn(f"no match has a column {name!r}; the matches have the columns: {others}")


def _query_texts(query: QueryOptions, progress: Progress) -> Iterator[tuple[list[Any], list[str | None]]]:
    """Return names and texts of the queries, in batches."""
    names, texts = query.read_texts()
    if names:
        yield names, [*texts]
    if query.inputs:
        with query.reading.read(query.inputs) as corpus:
            for batch in corpus.batches():
                yield batch.ids.to_list(), list(batch.texts)
                progress("search", corpus.rows, None)


def _describe_match(match: StoredMatch, columns: Sequence[str], text: str | None) -> dict[str, Any]:
    cells = {name: match.columns.get(name) for name in columns} if columns else match.columns
    # NaN stands for a similarity that was not computed.
    similarity = None if match.similarity != match.similarity else match.similarity
    return {"id": match.id, "distance": match.distance, "similarity": similarity, **cells, "text": text}


def _print_matches(results: Results, columns: Sequence[str] | None, missing: str, printing: PrintOptions) -> None:
    """Print the matches of queries: as JSON, as lines with tabs, or as a table on a terminal.

    Parameters
    ----------
    results : generator of names and matches
    columns : sequence of str or None
        Columns of documents, shown with similarity and text; None to show ids and distances only.
    missing : str
        Why a query has no matches if they are None.
    printing : PrintOptions
        JSON is an object per query. Without a match, `quiet` prints no message, and the exit code is 3.
    """
    rows: list[list[str]] = []
    count = 0
    for names, lists in results:
        for name, matches in zip(names, lists, strict=True):
            count += len(matches or [])
            if printing.as_json:
                say_json({"query": name, "matches": matches})
            elif matches is None:
                warn(f"{name}: {missing}")
            else:
                rows += [[str(name), *_match_cells(match, columns)] for match in matches]
        if rows and not sys.stdout.isatty():
            say("\n".join("\t".join(map(display, row)) for row in rows))
            rows.clear()
    if rows:
        more = [] if columns is None else ["similarity", *columns, "text"]
        show_table(["query", "id", "distance", *more], rows)
    if not count:
        if not (printing.quiet or printing.as_json):
            warn("nothing found")
        raise typer.Exit(NO_MATCH)


def _match_cells(match: Mapping[str, Any], columns: Sequence[str] | None) -> list[str]:
    """Return the cells of a match; its text is cut to one short line."""
    cells = [str(match["id"]), str(match["distance"])]
    if columns is None:
        return cells
    similarity, text = match["similarity"], match["text"]
    excerpt = "-" if text is None else " ".join(text[: 4 * _EXCERPT].split())
    short = excerpt if len(excerpt) <= _EXCERPT else excerpt[: _EXCERPT - 3] + "..."
    values = ["-" if match.get(name) is None else str(match[name]) for name in columns]
    return [*cells, "-" if similarity is None else f"{similarity:.4f}", *values, short]
