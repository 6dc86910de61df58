"""`nearkin index`: a Hamming index of a corpus or of fingerprints on the command line; `cli_search` asks it.

The index is one file (`docs/format.md`) that carries the recipe of its fingerprints: texts are always hashed by that
recipe, and another one that is named is refused. Updates are written aside and renamed, under a lock. Exit codes: 0
done; 1 failure; 2 wrong usage.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import progress_bars, report_malformed, show_table, warn
from nearkin.cli.options import Bits, FormatOption, IdColumn, Json, Quiet, RecipeOption, Strict, Threads, recipe_of
from nearkin.errors import InputError, MismatchError, StoreLockedError, bad_parameter

if TYPE_CHECKING:
    from nearkin.cli.console import Progress
    from nearkin.recipe import Recipe
    from nearkin.search.hamming import HammingIndex

__all__ = [
    "Fingerprints",
    "IdsFile",
    "IndexPath",
    "TextColumn",
    "app",
    "decoded",
    "open_index",
    "recipe_for",
    "show_table",
]

app = typer.Typer(
    help="Indexes of fingerprints: build, add, remove, info. `nearkin search` asks them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

IndexPath = Annotated[Path, typer.Argument(help="File of the index.", metavar="INDEX", show_default=False)]
Inputs = Annotated[
    list[str],
    typer.Argument(
        help="Files, globs, folders, or - for standard input: JSONL, Parquet, CSV, TSV, text; also .gz and .zst.",
        show_default=False,
    ),
]
TextColumn = Annotated[
    str | None, typer.Option(help="Column of the text, or of the fingerprint.", show_default="text or fingerprint")
]
Fingerprints = Annotated[
    str | None,
    typer.Option(
        "--fingerprints",
        help="The inputs are fingerprints, not texts: hex or int (a column, or lines with or without an id and a "
        "tabulator before, as `nearkin hash` prints them), or npy (uint64, int64, or packed uint8).",
        metavar="hex|int|npy",
    ),
]
IdsFile = Annotated[Path | None, typer.Option("--ids", help="For npy: a .npy file with the ids, integers or strings.")]


@app.command(
    epilog="""
[bold]Examples[/]

  nearkin index build corpus.jsonl.gz --out corpus.nks --id-column id --radius 25

  nearkin index build 'crawl/*.parquet' --out crawl.nks --text-column body --id-column url --recipe simhash-pypi

  nearkin hash corpus.jsonl --bits 64 | nearkin index build - --out codes.nks --fingerprints hex --bits 64
"""
)
def build(
    inputs: Inputs,
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the new index.")],
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: RecipeOption = None,
    bits: Bits = None,
    fingerprints: Fingerprints = None,
    ids: IdsFile = None,
    radius: Annotated[int | None, typer.Option(help="Radius of searches to come: tables for it are built.")] = None,
    method: Annotated[str, typer.Option(help="auto, scan, bits, blocks, tables or multi.")] = "auto",
    memory_limit: Annotated[
        str | None, typer.Option(help="Most bytes of fingerprints and tables: 500M, 2G, 2Gi.", metavar="BYTES")
    ] = None,
    existing: Annotated[str, typer.Option(help="An id that occurs again: error, update or skip.")] = "error",
    strict: Strict = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an index.")] = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hash a corpus, or read fingerprints, and write an index of them.

    Ids are those of the corpus; without an id column documents are numbered from 0 in order. A text without any
    letter has no fingerprint: it takes its number and is not found.
    """
    from nearkin.pipeline.sources import open_fingerprints
    from nearkin.search.hamming import HammingIndex

    set_num_threads(threads)
    _check_new(out, overwrite=overwrite)
    # Fingerprints need not say how they were made; texts are made by a recipe.
    made = None if fingerprints is not None and recipe is None else recipe_of(recipe, bits)
    with (
        open_fingerprints(
            inputs,
            made,
            fingerprints,
            bits,
            format=format,
            column=text_column,
            id_column=id_column,
            ids=ids,
            strict=strict,
        ) as source,
        progress_bars(quiet=quiet) as progress,
    ):
        if any(path.exists() and out.exists() and path.samefile(out) for path in source.paths):
            raise bad_parameter("out", str(out), "a file that is not an input")
        index = HammingIndex(
            source.bits,
            method,  # type: ignore[arg-type]  # checked by the call, with its message
            radius=radius,
            memory_limit=None if memory_limit is None else _bytes(memory_limit),
            recipe=made,
        )
        added = _fill(index, source, existing, progress)
        _save(index, out, progress)
    _report(source, {"added": added, **_state(index, out)}, as_json=as_json, quiet=quiet)


@app.command(
    epilog="[bold]Example[/]\n\n  nearkin index add corpus.nks today.jsonl.gz --id-column id --existing update"
)
def add(
    index_path: IndexPath,
    inputs: Inputs,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: FormatOption = None,
    recipe: RecipeOption = None,
    fingerprints: Fingerprints = None,
    ids: IdsFile = None,
    existing: Annotated[str, typer.Option(help="An id that is there: error, update or skip.")] = "error",
    strict: Strict = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add documents or fingerprints to an index; texts are hashed by its recipe.

    The file is replaced when all is done: an error or an interrupt leaves it as it was.
    """
    from nearkin.pipeline.sources import open_fingerprints

    set_num_threads(threads)
    with _updating(index_path) as index:
        made = recipe_for(index, recipe, texts=fingerprints is None)
        with (
            open_fingerprints(
                inputs,
                made,
                fingerprints,
                index.bits,
                format=format,
                column=text_column,
                id_column=id_column,
                ids=ids,
                strict=strict,
            ) as source,
            progress_bars(quiet=quiet) as progress,
        ):
            added = _fill(index, source, existing, progress)
            _save(index, index_path, progress)
        _report(source, {"added": added, **_state(index, index_path)}, as_json=as_json, quiet=quiet)


@app.command(
    epilog="""
[bold]Examples[/]

  nearkin index remove corpus.nks 17 42

  nearkin index remove corpus.nks --ids gone.txt
"""
)
def remove(
    index_path: IndexPath,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids, as the corpus gave them.", metavar="ID")] = None,
    ids_from: Annotated[
        str | None, typer.Option("--ids", help="A file with an id a line; - for standard input.", metavar="FILE")
    ] = None,
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Pass over ids that are not there.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove ids from an index."""
    named = list(ids or [])
    if ids_from is not None:
        content = sys.stdin.buffer.read() if ids_from == "-" else Path(ids_from).read_bytes()
        named += [line for line in decoded(content, ids_from).split("\n") if line]
    if not named:
        raise bad_parameter("ids", "none", "ids as arguments, or --ids FILE")
    with _updating(index_path) as index:
        removed = index.remove(_as_ids(index, named), missing_ok=missing_ok)
        index.save(index_path)
        _report(None, {"removed": removed, **_state(index, index_path)}, as_json=as_json, quiet=quiet)


@app.command(epilog="[bold]Example[/]\n\n  nearkin index info corpus.nks --radius 10")
def info(
    index_path: IndexPath,
    radius: Annotated[
        int | None, typer.Option(help="Explain searches of this radius; the announced one, or 3, without it.")
    ] = None,
    verify: Annotated[bool, typer.Option(help="Read the whole file and check every part of it.")] = True,
    as_json: Json = False,
) -> None:
    """Say what an index holds, how a search would be answered and why, and whether the file is sound."""
    index = open_index(index_path)
    if verify:
        index.verify()
    recipe = index.recipe
    about = {
        "index": str(index_path),
        "file_bytes": index_path.stat().st_size,
        "recipe": None if recipe is None else str(recipe),
        "recipe_digest": None if recipe is None else recipe.digest,
        "method": index.method,
        "announced_radius": index.radius,
        "memory_limit": index.memory_limit,
        "verified": verify,
        **index.explain(radius),
    }
    if as_json:
        print(json.dumps(about, ensure_ascii=False))  # noqa: T201
        return
    rows: list[tuple[str, str]] = [
        ("file", f"{index_path}, {about['file_bytes']:,} bytes, {'sound' if verify else 'not verified'}"),
        ("fingerprints", f"{about['fingerprints']:,} of {index.bits} bits"),
        ("ids", str(about["ids"])),
        ("recipe", "none" if recipe is None else f"{recipe}  (digest {recipe.digest})"),
        ("method", f"{index.method}, kernel {about['kernel']}"),
        ("announced", "no radius" if index.radius is None else f"radius {index.radius}"),
        ("memory limit", "none" if index.memory_limit is None else f"{index.memory_limit:,} bytes"),
    ]
    rows += [(f"radius {about['radius']}", _explained(part)) for part in about["parts"] if part["slots"]]
    show_table(["", ""], rows, header=False)


def _explained(part: dict[str, Any]) -> str:
    """One part of `explain` in words."""
    text = f"{part['slots']:,} distinct by {part['method']}"
    if part["tables"]:
        radii = ", ".join("-" if value < 0 else str(value) for value in part["radii"])
        text += (
            f" ({part['tables']} tables, {'built' if part['built'] else 'not built'}, radius {radii} in their blocks)"
        )
        text += f": {part['probes']:,.0f} look-ups, {part['candidates']:,.0f} candidates,"
    return text + f" about {part['cost'] / 1000:,.1f} µs a query (scan: {part['scan_cost'] / 1000:,.1f} µs)"


def decoded(data: bytes, name: str) -> str:
    """The text of a file or, with the name -, of standard input."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = "standard input" if name == "-" else name
        reason = f"is not UTF-8 at byte {error.start}; convert it, with iconv say"
        raise InputError(f"{place}: {reason}", place=place, reason=reason) from error


def _bytes(text: str) -> int:
    """A number of bytes: digits, and k, M, G, T for powers of 1000, Ki, Mi, Gi, Ti for powers of 1024."""
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,6})?) ?(?:([kKMGT])(i)?)?B?", text.strip())
    if match is None:
        raise bad_parameter("memory_limit", repr(text), "a number of bytes such as 500M, 2G or 2Gi")
    power = 0 if match[2] is None else "KMGT".index(match[2].upper()) + 1
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def _check_new(out: Path, *, overwrite: bool) -> None:
    """Refuse a place where something lies, or with `overwrite` anything but an index."""
    if not out.absolute().parent.is_dir():
        raise bad_parameter("out", str(out), "a file in a folder that exists")
    if not out.exists():
        return
    if not overwrite:
        raise bad_parameter("out", str(out), "a file that does not exist, or --overwrite")
    if not out.is_file():
        raise bad_parameter("out", str(out), "a file")
    open_index(out)


def open_index(path: Path) -> HammingIndex:
    """The index in a file."""
    from nearkin.search.hamming import HammingIndex

    return HammingIndex.open(path)


@contextmanager
def _updating(path: Path) -> Iterator[HammingIndex]:
    """An opened index that nobody else changes meanwhile: a lock on its file, which ends with the process."""
    while True:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                message = f"{path}: another process is changing the index; run again when it has ended"
                raise StoreLockedError(message, place=str(path)) from None
            # Who had the lock before may have put another file into the place.
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                yield open_index(path)
                return
        finally:
            os.close(descriptor)


def recipe_for(index: HammingIndex, named: str | None, *, texts: bool) -> Recipe | None:
    """The recipe of an index; the one that was named must be the same."""
    if named is not None:
        index.check_recipe(named)
    recipe = index.recipe
    if texts and recipe is None:
        raise MismatchError(
            "the index was built from fingerprints without a recipe, so that texts can't be hashed as its own were; "
            "give fingerprints, or build it with --recipe",
            what="recipe",
            left=None,
            right="texts",
        )
    return recipe


def _as_ids(index: HammingIndex, names: list[str]) -> list[Any]:
    """Names of ids as the index has them: integers where its ids are integers."""
    if index.explain()["ids"] == "strings":
        return list(names)
    values = []
    for name in names:
        if not re.fullmatch(r"-?[0-9]{1,19}", name.strip()):
            raise bad_parameter("id", repr(name), "an integer, as the ids of this index are")
        values.append(int(name))
    return values


def _fill(index: HammingIndex, source: Any, existing: str, progress: Progress) -> int:
    """Add every fingerprint of a source; how many were added."""
    import numpy as np

    before = len(index)
    done = 0
    for batch in source:
        if source.numbered:
            first = index.next_row
            index.add(None, batch.codes)
            # What has no fingerprint takes its number all the same, so that numbers are places in the corpus.
            index.remove(first + np.flatnonzero(~batch.present))
        else:
            names = [name for name, present in zip(batch.names, batch.present.tolist(), strict=True) if present]
            keys = _as_ids(index, names) if source.ids_are_text and len(index) else names
            index.add(keys, batch.codes[batch.present], existing=existing)  # type: ignore[arg-type]
        done += len(batch)
        progress("hash" if source.recipe is not None else "read", done, None)
    if source.corpus is not None:
        report_malformed(source.corpus)
    return len(index) - before


def _save(index: HammingIndex, path: Path, progress: Progress) -> None:
    progress("sort and write", 0, 1)
    index.save(path)
    progress("sort and write", 1, 1)


def _state(index: HammingIndex, path: Path) -> dict[str, Any]:
    recipe = index.recipe
    return {
        "index": str(path),
        "fingerprints": len(index),
        "bits": index.bits,
        "recipe": None if recipe is None else str(recipe),
        "recipe_digest": None if recipe is None else recipe.digest,
        "file_bytes": path.stat().st_size,
    }


def _report(source: Any, about: dict[str, Any], *, as_json: bool, quiet: bool) -> None:
    """What was done: one JSON object on standard output, or a line on standard error."""
    if source is not None:
        about = {**about, "read": source.read, "without_fingerprint": source.absent, "malformed": source.malformed}
    if as_json:
        print(json.dumps(about, ensure_ascii=False))  # noqa: T201
    elif not quiet:
        done = f"{about['added']:,} added" if "added" in about else f"{about['removed']:,} removed"
        if about.get("without_fingerprint"):
            done += f", {about['without_fingerprint']:,} without any letter or fingerprint left out"
        warn(f"{done}; {about['index']} holds {about['fingerprints']:,} in {about['file_bytes']:,} bytes")
