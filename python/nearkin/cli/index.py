"""`nearkin index`: a Hamming index of a corpus or of fingerprints on the command line; `nearkin search` asks it.

The index is one file (`docs/format.md`) that carries the recipe of its fingerprints: texts are always hashed by that
recipe, and another one that is named is refused. Updates are written aside and renamed, under a lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearkin._core import set_num_threads
from nearkin.cli.console import progress_bars, read_text, say_json, show_table, warn
from nearkin.cli.options import (
    Bits,
    Existing,
    Fingerprints,
    IdsFile,
    IndexPath,
    Inputs,
    Json,
    Overwrite,
    PageFile,
    Quiet,
    Radius,
    RecipeOption,
    Threads,
    bytes_of,
    one_of,
    output,
    recipe_of,
)
from nearkin.cli.pages import check_page, write_page
from nearkin.cli.reading import Reading, reads, report_malformed
from nearkin.errors import MismatchError, bad_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nearkin.dedup.sources import FingerprintBatch, FingerprintSource
    from nearkin.index.hamming import HammingIndex
    from nearkin.progress import Progress
    from nearkin.recipe import Recipe

_BUILD_EXAMPLES = """
[bold]Examples[/]

  nearkin index build corpus.jsonl.gz --out corpus.nks --id-column id --radius 25

  nearkin index build 'crawl/*.parquet' --out crawl.nks --text-column body --id-column url --recipe simhash-pypi

  nearkin hash corpus.jsonl --bits 64 | nearkin index build - --out codes.nks --fingerprints hex --bits 64
"""
_ADD_EXAMPLE = "[bold]Example[/]\n\n  nearkin index add corpus.nks today.jsonl.gz --id-column id --existing update"
_REMOVE_EXAMPLES = """
[bold]Examples[/]

  nearkin index remove corpus.nks 17 42

  nearkin index remove corpus.nks --ids gone.txt
"""
_INTEGER = re.compile("(-?)0*([0-9]*)(?<=[0-9])")
_INFO_EXAMPLE = "[bold]Example[/]\n\n  nearkin index info corpus.nks --radius 10"


@reads()
def build(
    inputs: Inputs,
    out: Annotated[Path, output("File of the new index.")],
    reading: Reading,
    recipe: RecipeOption = None,
    bits: Bits = None,
    fingerprints: Fingerprints = None,
    ids: IdsFile = None,
    radius: Radius = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto, scan, bits, blocks, tables or multi.",
            autocompletion=one_of("auto", "scan", "bits", "blocks", "tables", "multi"),
        ),
    ] = "auto",
    memory_limit: Annotated[
        str | None,
        typer.Option(
            help="Most bytes of fingerprints and tables: 500M, 2G, 2Gi. Tables are left out; fingerprints never are.",
            metavar="BYTES",
        ),
    ] = None,
    existing: Existing = "error",
    overwrite: Overwrite = False,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hash a corpus, or read fingerprints, and write an index of them.

    Ids are those of the corpus; without an id column documents are numbered from 0 in order. A text without any
    letter has no fingerprint: it takes its number and is not found. --radius announces searches of that radius: tables
    for it are built.
    """
    from nearkin.index.hamming import HammingIndex

    set_num_threads(threads)
    _check_new(out, overwrite=overwrite)
    # Fingerprints need not say how they were made; texts are made by a recipe.
    made = None if fingerprints is not None and recipe is None else recipe_of(recipe, bits)
    with (
        reading.fingerprints(inputs, made, fingerprints, bits, ids) as source,
        progress_bars(quiet=quiet) as progress,
    ):
        if any(path.exists() and out.exists() and path.samefile(out) for path in source.paths):
            raise bad_parameter("out", str(out), "a file that is not an input")
        index = HammingIndex(
            source.bits,
            method,  # type: ignore[arg-type]  # checked by the call, with its message
            radius=radius,
            memory_limit=None if memory_limit is None else bytes_of(memory_limit),
            recipe=made,
        )
        added = _fill(index, source, existing, progress)
        _save(index, out, progress)
    _report(source, {"added": added, **_state(index, out)}, as_json=as_json, quiet=quiet)


@reads()
def add(
    index_path: IndexPath,
    inputs: Inputs,
    reading: Reading,
    recipe: RecipeOption = None,
    fingerprints: Fingerprints = None,
    ids: IdsFile = None,
    existing: Existing = "error",
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add documents or fingerprints to an index; texts are hashed by its recipe.

    The file is replaced when all is done: an error or an interrupt leaves it as it was.
    """
    set_num_threads(threads)
    with _updating(index_path) as index:
        made = recipe_for(index, recipe, texts=fingerprints is None)
        with (
            reading.fingerprints(inputs, made, fingerprints, index.bits, ids) as source,
            progress_bars(quiet=quiet) as progress,
        ):
            added = _fill(index, source, existing, progress)
            _save(index, index_path, progress)
        _report(source, {"added": added, **_state(index, index_path)}, as_json=as_json, quiet=quiet)


def remove(
    index_path: IndexPath,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids, as the corpus gave them.", metavar="ID")] = None,
    ids_from: Annotated[
        str | None, typer.Option("--ids", help="A file with an id per line; - for standard input.", metavar="FILE")
    ] = None,
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Pass over ids that are not there.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Remove ids from an index."""
    named = list(ids or [])
    if ids_from is not None:
        named += [name for line in read_text(ids_from).split("\n") if (name := line.removesuffix("\r"))]
    if not named:
        raise bad_parameter("ids", "none", "ids as arguments, or --ids FILE")
    with _updating(index_path) as index:
        removed = index.remove(_as_ids(index, named), missing_ok=missing_ok)
        index.save(index_path)
        _report(None, {"removed": removed, **_state(index, index_path)}, as_json=as_json, quiet=quiet)


def info(
    index_path: IndexPath,
    radius: Radius = None,
    verify: Annotated[bool, typer.Option(help="Read the whole file and check every part of it.")] = True,
    report: PageFile = None,
    as_json: Json = False,
) -> None:
    """Say what an index holds, how a search would be answered and why, and whether the file is intact.

    Searches of --radius are explained, or without it of the announced radius, or of 3. --report draws the plan: the
    stages of a query with their counts and costs, and what each method would cost.
    """
    from nearkin.index.hamming import HammingIndex

    check_page(report)
    index = HammingIndex.open(index_path)
    if verify:
        index.verify()
    about = {
        **_state(index, index_path),
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
        show_table(["", ""], list(_in_words(about)), header=False, lines=False)


def _in_words(about: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What `info` says, a row for each fact."""
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
        if part["slots"]:
            yield f"radius {about['radius']}", _explained(part)


def _explained(part: dict[str, Any]) -> str:
    """One part of `explain` in words."""
    text = f"{part['slots']:,} distinct by {part['method']}"
    if part["tables"]:
        radii = ", ".join("-" if value < 0 else str(value) for value in part["radii"])
        text += (
            f" ({part['tables']} tables, {'built' if part['built'] else 'not built'}, radius {radii} in their blocks)"
        )
        text += f": {part['probes']:,.0f} look-ups, {part['candidates']:,.0f} candidates,"
    return text + f" about {part['cost'] / 1000:,.1f} µs per query (scan: {part['scan_cost'] / 1000:,.1f} µs)"


def _check_new(out: Path, *, overwrite: bool) -> None:
    """Refuse a place where something lies, or with `overwrite` anything but an index."""
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
    """An open index that nobody else changes meanwhile."""
    from nearkin.index.hamming import HammingIndex
    from nearkin.index.persistence import updating

    with updating(path):
        yield HammingIndex.open(path)


def recipe_for(index: HammingIndex, named: str | None, *, texts: bool) -> Recipe | None:
    """The recipe of an index; the one that was named must be the same, and for texts there must be one."""
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


def _as_ids(index: HammingIndex, names: list[str]) -> list[int] | list[str]:
    """Names of ids as the index has them: integers where its ids are integers."""
    if index.explain()["ids"] == "strings":
        return list(names)
    values = []
    for name in names:
        value = integer_id(name)
        if value is None:
            raise bad_parameter("id", repr(name), "an integer, as the ids of this index are, of 64 bits")
        values.append(value)
    return values


def integer_id(name: str) -> int | None:
    """The integer of 64 bits that a name writes; None if it writes none."""
    found = _INTEGER.fullmatch(name.strip())
    # Digits are counted before they are read: Python reads no more than 4,300.
    if found is None or len(found[2]) > 19:
        return None
    value = int(found[1] + (found[2] or "0"))
    return value if -(1 << 63) <= value < 1 << 63 else None


def _fill(index: HammingIndex, source: FingerprintSource, existing: str, progress: Progress) -> int:
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
            as_integers = source.ids_are_text and len(index) > 0 and index.explain()["ids"] != "strings"
            taken = _taken(source, batch, as_integers=as_integers)
            names = [name for name, is_taken in zip(batch.names, taken.tolist(), strict=True) if is_taken]
            keys = _as_ids(index, names) if as_integers else names
            index.add(keys, batch.codes[taken], existing=existing)  # type: ignore[arg-type]
        done += len(batch)
        progress("hash" if source.recipe is not None else "read", done, None)
    if source.corpus is not None:
        report_malformed(source.corpus)
    return len(index) - before


def _taken(source: FingerprintSource, batch: FingerprintBatch, *, as_integers: bool) -> NDArray[np.bool_]:
    """Which rows of a batch are added: those with a fingerprint. An id beyond 64 bits makes its record a bad one."""
    import numpy as np

    taken: NDArray[np.bool_] = batch.present.copy()
    if source.corpus is None:
        # An array holds ids of one kind, which the index takes or refuses as a whole.
        return taken
    first = source.read - len(batch)
    for row in np.flatnonzero(taken).tolist():
        name = batch.names[row]
        if isinstance(name, str):
            is_beyond = as_integers and _INTEGER.fullmatch(name.strip()) and integer_id(name) is None
        else:
            is_beyond = not -(1 << 63) <= name < 1 << 63
        if is_beyond:
            taken[row] = False
            shown_id = str(name) if len(str(name)) <= 40 else str(name)[:40] + "..."
            source.refuse(first + row, f"the id {shown_id} is no integer of 64 bits, as those of an index are")
    return taken


def _save(index: HammingIndex, path: Path, progress: Progress) -> None:
    progress("sort and write", 0, 1)
    index.save(path)
    progress("sort and write", 1, 1)
    used, limit = index.explain()["bytes_fingerprints"], index.memory_limit
    if limit is not None and used > limit:
        warn(f"warning: the fingerprints alone take {used:,} bytes, above the memory limit of {limit:,}")


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


def _report(source: FingerprintSource | None, about: dict[str, Any], *, as_json: bool, quiet: bool) -> None:
    """What was done: one JSON object on standard output, or a line on standard error."""
    if source is not None:
        about = {**about, "read": source.read, "without_fingerprint": source.absent, "malformed": source.malformed}
    if as_json:
        say_json(about)
    elif not quiet:
        done = f"{about['added']:,} added" if "added" in about else f"{about['removed']:,} removed"
        if about.get("without_fingerprint"):
            done += f", {about['without_fingerprint']:,} without any letter or fingerprint left out"
        warn(f"{done}; {about['index']} holds {about['fingerprints']:,} in {about['file_bytes']:,} bytes")


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    group = typer.Typer(
        help="Indexes of fingerprints: build, add, remove, info. `nearkin search` asks them.",
        no_args_is_help=True,
        rich_markup_mode="rich",
    )
    group.command(epilog=_BUILD_EXAMPLES)(build)
    group.command(epilog=_ADD_EXAMPLE)(add)
    group.command(epilog=_REMOVE_EXAMPLES)(remove)
    group.command(epilog=_INFO_EXAMPLE)(info)
    app.add_typer(group, name="index")
