"""`nearkin ssdeep`: fuzzy digests of files on the command line.

Results go to standard output, messages to standard error. Exit codes: 0 something was hashed or found; 1 an input could
not be read (the others are still done); 2 wrong usage; 3 nothing scored at least the threshold.
"""

from __future__ import annotations

import csv
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from nearkin import ssdeep
from nearkin.errors import InputError, NearkinError, StoreError
from nearkin.search.digests import DigestIndex
from nearkin.ssdeep import DigestRecipe

__all__ = ["DigestCommand", "app", "named_paths", "printable"]

app = typer.Typer(help="Fuzzy digests: hash, compare, search and cluster files.", no_args_is_help=True)

FAILURE, USAGE, NO_MATCH = 1, 2, 3

# Files that are hashed by one parallel call; progress moves on after each.
_BATCH = 128


class Form(str, Enum):
    """How results are written."""

    list = "list"
    table = "table"
    csv = "csv"
    json = "json"


class Linkage(str, Enum):
    """How clusters are formed."""

    centred = "centred"
    connected = "connected"


Inputs = Annotated[
    list[Path] | None, typer.Argument(help="Files, and directories with --recursive.", show_default=False)
]
Recursive = Annotated[bool, typer.Option("--recursive", "-r", help="Go into directories; symbolic links are left out.")]
Null = Annotated[
    Path | None,
    typer.Option("--files0-from", help="Read NUL-separated names of inputs from this file; - for standard input."),
]
Lists = Annotated[
    list[Path] | None,
    typer.Option("--list", help="Take digests from a list of the program, or one digest a line; may be repeated."),
]
Threshold = Annotated[
    int, typer.Option("--threshold", "-t", min=1, max=100, help="Smallest score that counts, inclusive.")
]
RecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe", help="How files become digests: html, lines and space before |ssdeep, such as 'html+space|ssdeep'."
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Read old digests: other block sizes, any characters, as the library does.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Csv = Annotated[bool, typer.Option("--csv", help="Comma-separated values with a header.")]


class DigestCommand:
    """Messages, the exit code and the recipe of one call."""

    def __init__(self, recipe: str | None = None, *, strict: bool = True) -> None:
        self.failed = False
        self.strict = strict
        self._recipe = None if recipe is None else DigestRecipe(recipe)

    @property
    def recipe(self) -> DigestRecipe:
        """How files are hashed: as asked for, or as the digests that were read say, or the program's way."""
        return self._recipe or DigestRecipe()

    def change(self, **slots: bool | None) -> None:
        """Change slots of the recipe; None leaves one as it is."""
        self._recipe = self.recipe.with_(**{name: value for name, value in slots.items() if value is not None})

    def meet(self, recipe: DigestRecipe) -> None:
        """Take the recipe of digests that were read; raise MismatchError if another one is there already."""
        if self._recipe is not None:
            self._recipe.check_same(recipe)
        self._recipe = recipe

    def refuse(self, message: object) -> None:
        """Write why an input is left out; the exit code will say so."""
        self.failed = True
        # The core's messages name the file themselves.
        own = isinstance(message, OSError) and message.strerror and message.filename is None
        text = message.strerror if isinstance(message, OSError) and own else message
        named = str(text).replace("pass strict=False", "add --lenient")
        typer.echo(f"nearkin ssdeep: {printable(named)}", err=True)

    def end(self, *, found: bool = True) -> None:
        """Leave with the exit code that says what happened, unless all is well."""
        code = FAILURE if self.failed else 0 if found else NO_MATCH
        if code:
            raise typer.Exit(code)


def printable(text: str) -> str:
    """A text that any terminal takes: lone surrogates and control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _usage(message: str) -> typer.Exit:
    typer.echo(f"nearkin ssdeep: {message}", err=True)
    return typer.Exit(USAGE)


def _walk(folder: Path, run: DigestCommand) -> Iterator[Path]:
    """Entries below a directory that are not links, sorted by name."""
    for place, folders, files in os.walk(folder, onerror=run.refuse, followlinks=False):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            if not path.is_symlink():
                yield path


def named_paths(inputs: Iterable[Path], null: Path | None, recursive: bool, run: DigestCommand) -> list[Path]:
    """All files that the arguments name, in order."""
    named = list(inputs)
    if null is not None:
        try:
            names = sys.stdin.buffer.read() if str(null) == "-" else null.read_bytes()
        except OSError as error:
            raise _usage(str(error)) from None
        named += [Path(os.fsdecode(name)) for name in names.split(b"\0") if name]
    paths: list[Path] = []
    for path in named:
        is_folder = path.is_dir()
        if is_folder and recursive:
            paths += _walk(path, run)
        elif is_folder:
            run.refuse(f"{path}: a directory; add --recursive to hash what is in it")
        else:
            paths.append(path)
    return paths


def _hashed(paths: list[Path], run: DigestCommand) -> Iterator[tuple[str, str]]:
    """Digest and name of each path that can be read."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("hashing"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("hashing", total=len(paths))
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            for path, digest in zip(batch, run.recipe.hash_files(batch, on_error="return"), strict=True):
                if isinstance(digest, Exception):
                    run.refuse(digest)
                else:
                    yield digest, str(path)
            progress.advance(task, len(batch))


def _listed(lists: Iterable[Path], run: DigestCommand) -> Iterator[tuple[str, str]]:
    """Digest and name of each entry of lists; in a list of bare digests the name is the file and line."""
    for path in lists:
        yield from _read_or_refuse(path, run)


def _read_or_refuse(path: Path, run: DigestCommand) -> Iterator[tuple[str, str]]:
    try:
        yield from _read(path, run)
    except OSError as error:
        run.refuse(error)
    except (InputError, StoreError) as error:
        run.refuse(error if str(path) in str(error) else f"{path}, {error}")


def _read(path: Path, run: DigestCommand) -> Iterator[tuple[str, str]]:
    _check_readable(path)
    content = path.read_bytes()
    if content.startswith(b"NKDIGEST"):
        index = DigestIndex.load(path)
        run.meet(index.recipe)
        yield from ((index.digest(name), str(name)) for name in index.ids())
    elif content.startswith(b"ssdeep,1."):
        entries = ssdeep.read_list(content)
        run.meet(DigestRecipe())
        yield from entries
    elif content.lstrip().startswith(b"{"):
        yield from _read_json(content, run)
    else:
        run.meet(DigestRecipe())
        lines = enumerate(content.decode("utf-8", "surrogateescape").split("\n"), 1)
        yield from ((line.strip(), f"{path}:{number}") for number, line in lines if line.strip())


def _check_readable(path: Path) -> None:
    """Raise InputError for a FIFO or device, which may never end; a shell's `<(...)` and standard input are read."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not str(path).startswith(("/dev/fd/", "/dev/stdin", "/proc/self/fd/")):
        reason = "a directory, pipe or device, not a regular file; name a list, JSON lines or an index file"
        raise InputError(f"{path}: {reason}", place=str(path), reason=reason)


def _read_json(content: bytes, run: DigestCommand) -> Iterator[tuple[str, str]]:
    """Entries of what `nearkin ssdeep hash --json` writes."""
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            digest, name, recipe = entry["digest"], entry["path"], DigestRecipe(entry["recipe"])
        except (ValueError, KeyError, TypeError) as error:
            reason = f"no entry of `nearkin ssdeep hash --json`: {error!r}"
            raise InputError(f"line {number}: {reason}", place=f"line {number}", reason=reason) from None
        run.meet(recipe)
        yield str(digest), str(name)


def _index(entries: Iterable[tuple[str, str]], run: DigestCommand) -> tuple[DigestIndex, list[str]]:
    """An index whose row numbers are places in the list of names."""
    digests, names = [], []
    for digest, name in entries:
        try:
            ssdeep.compare(digest, digest, strict=run.strict)
        except InputError as error:
            run.refuse(f"{name}: {error}")
            continue
        digests.append(digest)
        names.append(name)
    index = DigestIndex(recipe=run.recipe, strict=run.strict)
    index.add(None, digests, recipe=run.recipe)
    return index, names


def _write(form: Form, columns: list[str], rows: Iterable[list[Any]]) -> None:
    """Rows as a table, comma-separated values or JSON lines."""
    if form is Form.json:
        for row in rows:
            values = [
                value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value for value in row
            ]
            typer.echo(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False))
    elif form is Form.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow(
                [
                    value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
                    for value in row
                ]
            )
    else:
        table = Table(*(Column(name, overflow="fold") for name in columns))
        for row in rows:
            table.add_row(*(printable(str(value)) for value in row))
        # A pipe has no width to keep to.
        Console(markup=False, width=None if sys.stdout.isatty() else 1 << 16).print(table)


def _form(json_: bool, csv_: bool, default: Form) -> Form:
    if json_ and csv_:
        raise _usage("--json and --csv exclude one another; give one")
    return Form.json if json_ else Form.csv if csv_ else default


@app.command(name="hash")
def hash_(
    inputs: Inputs = None,
    recursive: Recursive = False,
    files0_from: Null = None,
    recipe: RecipeOption = None,
    eliminate_runs: Annotated[bool, typer.Option("--eliminate-runs", help="Cut runs of a character to three.")] = False,
    no_truncate: Annotated[bool, typer.Option("--no-truncate", help="Let part 2 have 64 characters.")] = False,
    table: Annotated[bool, typer.Option("--table", help="A table instead of the program's list.")] = False,
    json_: Json = False,
    csv_: Csv = False,
) -> None:
    """Write the digests of files, as the program ssdeep writes its lists unless another form is asked for."""
    form = _form(json_, csv_, Form.table if table else Form.list)
    run = DigestCommand(recipe)
    run.change(eliminate_runs=eliminate_runs or None, truncate=False if no_truncate else None)
    if form is Form.list and run.recipe.normalize:
        raise _usage("a list of the program has no place for the recipe of normalised text; add --json or --csv")
    paths = named_paths(inputs or [], files0_from, recursive, run)
    if not paths and not run.failed:
        raise _usage("no inputs; name files, directories with --recursive, or --files0-from")
    entries = _hashed(paths, run)
    if form is Form.list:
        out = sys.stdout.buffer
        head = ssdeep.write_list([])
        out.write(head)
        for entry in entries:
            out.write(ssdeep.write_list([entry])[len(head) :])
        out.flush()
    else:
        recipe_text = str(run.recipe)
        _write(form, ["digest", "path", "recipe"], ([digest, path, recipe_text] for digest, path in entries))
    run.end()


def _digest(text: str, run: DigestCommand) -> str:
    """A digest as given, or that of the file of this name."""
    if (text.count(":") == 2 or (text.count(":") > 2 and not run.strict)) and not Path(text).exists():
        return text
    return run.recipe.hash(Path(text))


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="A file, or a digest.")],
    b: Annotated[str, typer.Argument(help="A file, or a digest.")],
    threshold: Threshold = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Say why.")] = False,
    recipe: RecipeOption = None,
    lenient: Lenient = False,
    json_: Json = False,
) -> None:
    """Write the score of two files or digests; exit code 3 if it is below the threshold."""
    run = DigestCommand(recipe, strict=not lenient)
    try:
        digests = _digest(a, run), _digest(b, run)
        why = ssdeep.explain(*digests, strict=run.strict)
    except (NearkinError, OSError) as error:
        run.refuse(error)
        run.end()
        return
    if json_:
        typer.echo(json.dumps({"score": why.score, "a": digests[0], "b": digests[1], "reliability": why.reliability}))
    else:
        typer.echo(str(why) if explain else str(why.score))
    run.end(found=why.score >= threshold)


@app.command()
def search(
    inputs: Inputs = None,
    known: Annotated[
        list[Path] | None, typer.Option("--known", help="List, JSON lines or index file to search in; may be repeated.")
    ] = None,
    lists: Lists = None,
    recursive: Recursive = False,
    files0_from: Null = None,
    threshold: Threshold = 1,
    limit: Annotated[
        int | None, typer.Option("--limit", "-k", min=1, help="At most this many matches an input.")
    ] = None,
    recipe: RecipeOption = None,
    lenient: Lenient = False,
    json_: Json = False,
    csv_: Csv = False,
) -> None:
    """Find what is like the inputs among known digests; exit code 3 if nothing is."""
    form = _form(json_, csv_, Form.table)
    run = DigestCommand(recipe, strict=not lenient)
    if not known:
        raise _usage("nothing to search in; give --known LIST, which `nearkin ssdeep hash` writes")
    index, names = _index(_listed(known, run), run)
    paths = named_paths(inputs or [], files0_from, recursive, run)
    queries = [*_listed(lists or [], run), *_hashed(paths, run)]
    if not queries and not run.failed:
        raise _usage("no inputs; name files, directories with --recursive, --list or --files0-from")
    rows: list[list[Any]] = []
    for digest, path in queries:
        try:
            found = index.nearest([digest], k=limit or max(1, len(index)), threshold=threshold)[0]
        except InputError as error:
            run.refuse(f"{path}: {error}")
            continue
        rows += [[path, names[match.id], match.score] for match in found]
    _write(form, ["input", "known", "score"], rows)
    run.end(found=bool(rows))


@app.command()
def cluster(
    inputs: Inputs = None,
    lists: Lists = None,
    recursive: Recursive = False,
    files0_from: Null = None,
    threshold: Threshold = 50,
    linkage: Annotated[
        Linkage, typer.Option("--linkage", help="Members match the first one, or chains.")
    ] = Linkage.centred,
    recipe: RecipeOption = None,
    lenient: Lenient = False,
    json_: Json = False,
    csv_: Csv = False,
) -> None:
    """Group files that are like one another; exit code 3 if none are."""
    form = _form(json_, csv_, Form.table)
    run = DigestCommand(recipe, strict=not lenient)
    paths = named_paths(inputs or [], files0_from, recursive, run)
    entries = [*_listed(lists or [], run), *_hashed(paths, run)]
    if not entries and not run.failed:
        raise _usage("no inputs; name files, directories with --recursive, --list or --files0-from")
    index, names = _index(entries, run)
    clusters = index.clusters(threshold, linkage=linkage.value)
    rows = []
    for number, members in enumerate(clusters, 1):
        first = index.digest(members[0])
        scores = ssdeep.compare_many(first, [index.digest(member) for member in members], strict=run.strict)
        rows += [[number, names[member], int(score)] for member, score in zip(members, scores, strict=True)]
    _write(form, ["cluster", "path", "score with the first"], rows)
    run.end(found=bool(rows))
