"""`nearkin ssdeep`: fuzzy digests of files on the command line.

Results go to standard output, messages to standard error. Exit codes: 0 something was hashed or found; 1 an input could
not be read (the others are still done); 2 wrong usage; 3 nothing scored at least the threshold.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearkin.cli.console import Refusals, data_out, escaped, progress_bars, say, say_json, show_table, shown
from nearkin.cli.options import (
    Csv,
    DigestRecipeOption,
    FilePaths,
    Json,
    Lenient,
    Lists,
    NamesFrom,
    Quiet,
    Recursive,
    Score,
)
from nearkin.cli.paths import named_paths
from nearkin.cli.ssdeep_compat import compat
from nearkin.errors import InputError, NearkinError, StoreError, bad_parameter, printable

if TYPE_CHECKING:
    from nearkin.digests.ssdeep import DigestRecipe
    from nearkin.index.digests import DigestIndex

# Files that are hashed by one parallel call; progress moves on after each such call.
_BATCH = 128

_NO_INPUTS = "files, directories with --recursive, --list or --files0-from"

_HASH_EXAMPLES = """
[bold]Examples[/]

  nearkin ssdeep hash --recursive Documents > known.txt

  nearkin ssdeep hash --recipe 'html+space|ssdeep' --json page.html
"""
_COMPARE_EXAMPLE = "[bold]Example[/]\n\n  nearkin ssdeep compare --explain old.bin new.bin"
_SEARCH_EXAMPLE = "[bold]Example[/]\n\n  nearkin ssdeep search --known known.txt --recursive Downloads --threshold 60"
_CLUSTER_EXAMPLE = "[bold]Example[/]\n\n  nearkin ssdeep cluster --recursive Documents --threshold 80"

_COMPAT_EXAMPLES = """
[bold]Examples[/]

  nearkin ssdeep compat -rl Documents > known.txt

  nearkin ssdeep compat -t 60 -m known.txt Downloads/*

A symbolic link named ssdeep to this command takes these flags at once. Its -h lists what each of them does.
"""


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


class DigestCommand(Refusals):
    """Messages, the exit code and the recipe of one call."""

    def __init__(self, recipe: str | None = None, *, strict: bool = True) -> None:
        from nearkin.digests.ssdeep import DigestRecipe

        super().__init__()
        self.strict = strict
        self._recipe = None if recipe is None else DigestRecipe(recipe)

    @property
    def recipe(self) -> DigestRecipe:
        """How files are hashed: as asked for, else as the digests that were read say, else as ssdeep does."""
        from nearkin.digests.ssdeep import DigestRecipe

        return self._recipe or DigestRecipe()

    def change(self, *, eliminate_runs: bool, no_truncate: bool) -> None:
        """Take the flags of the options that were given."""
        flags = {**({"eliminate_runs": True} if eliminate_runs else {}), **({"truncate": False} if no_truncate else {})}
        self._recipe = self.recipe.with_(**flags)

    def meet(self, recipe: DigestRecipe) -> None:
        """Take the recipe of digests that were read; raise MismatchError if another one is there already."""
        if self._recipe is not None:
            self._recipe.check_same(recipe)
        self._recipe = recipe


def _hashed(paths: Sequence[Path], run: DigestCommand, *, quiet: bool) -> Iterator[tuple[str, str]]:
    """Digest and name of each path that can be read."""
    with progress_bars(quiet=quiet) as progress:
        progress("hash", 0, len(paths))
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            for path, digest in zip(batch, run.recipe.hash_files(batch, on_error="return"), strict=True):
                if isinstance(digest, Exception):
                    run.refuse(digest)
                else:
                    yield digest, str(path)
            progress("hash", start + len(batch), len(paths))


def _listed(files: Iterable[Path], run: DigestCommand) -> Iterator[tuple[str, str]]:
    """Digest and name of each entry of the files; a file that can't be read is refused."""
    for path in files:
        yield from _entries(path, run)


def _entries(path: Path, run: DigestCommand) -> Iterator[tuple[str, str]]:
    """Digest and name of each entry of an index, a list, JSON lines, or bare digests."""
    from nearkin.digests.ssdeep.lists import read_digests
    from nearkin.index.digests import DigestIndex, is_digest_index

    try:
        if is_digest_index(path):
            index = DigestIndex.open(path)
            run.meet(index.recipe)
            yield from ((index.digest(name), str(name)) for names in index.iter_ids() for name in names.tolist())
        else:
            for entry in read_digests(path):
                run.meet(entry.recipe)
                yield entry.digest, entry.name
    except (InputError, StoreError, OSError) as error:
        run.refuse(error)


def _index(entries: Iterable[tuple[str, str]], run: DigestCommand) -> tuple[DigestIndex, list[str]]:
    """An index whose row numbers are places in the list of names."""
    from nearkin.digests import ssdeep
    from nearkin.index.digests import DigestIndex

    digests, names = [], []
    for digest, name in entries:
        try:
            ssdeep.compare(digest, digest, strict=run.strict)
        except InputError as error:
            run.refuse_at(name, error)
            continue
        digests.append(digest)
        names.append(name)
    index = DigestIndex(recipe=run.recipe, strict=run.strict)
    index.add(None, digests, recipe=run.recipe)
    return index, names


def _write(form: Form, columns: Sequence[str], rows: Iterable[Sequence[str | int]]) -> None:
    """Rows as a table, comma-separated values or JSON lines."""
    if form is Form.table:
        show_table(columns, ([printable(str(value)) for value in row] for row in rows))
        return
    plain = ([escaped(value) if isinstance(value, str) else value for value in row] for row in rows)
    if form is Form.json:
        for row in plain:
            say_json(dict(zip(columns, row, strict=True)))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([shown(value) if isinstance(value, str) else value for value in row] for row in plain)


def _form(*, as_json: bool, as_csv: bool, default: Form) -> Form:
    if as_json and as_csv:
        raise bad_parameter("csv", "given", "one of --json and --csv")
    return Form.json if as_json else Form.csv if as_csv else default


def hash_(
    inputs: FilePaths = None,
    recursive: Recursive = False,
    files0_from: NamesFrom = None,
    recipe: DigestRecipeOption = None,
    eliminate_runs: Annotated[bool, typer.Option("--eliminate-runs", help="Cut runs of a character to three.")] = False,
    no_truncate: Annotated[bool, typer.Option("--no-truncate", help="Let part 2 have 64 characters.")] = False,
    table: Annotated[bool, typer.Option("--table", help="A table instead of the program's list.")] = False,
    as_json: Json = False,
    as_csv: Csv = False,
    quiet: Quiet = False,
) -> None:
    """Write the digests of files, as the program ssdeep writes its lists unless another form is asked for."""
    form = _form(as_json=as_json, as_csv=as_csv, default=Form.table if table else Form.list)
    run = DigestCommand(recipe)
    run.change(eliminate_runs=eliminate_runs, no_truncate=no_truncate)
    if form is Form.list and run.recipe.normalize:
        raise bad_parameter("recipe", run.recipe, "--json or --csv with it; a list of the program has no place for it")
    paths = named_paths(inputs or [], run, names_from=files0_from, recursive=recursive)
    if not paths and not run.failed:
        raise bad_parameter("inputs", "none", "files, directories with --recursive, or --files0-from")
    entries = _hashed(paths, run, quiet=quiet)
    if form is Form.list:
        _write_list(entries)
    else:
        made = str(run.recipe)
        _write(form, ["digest", "path", "recipe"], ([digest, path, made] for digest, path in entries))
    run.end()


def _write_list(entries: Iterable[tuple[str, str]]) -> None:
    """A list as the program writes it, entry by entry as they come."""
    from nearkin.digests import ssdeep

    out = data_out()
    head = ssdeep.write_list([])
    out.write(head)
    for digest, name in entries:
        out.write(ssdeep.write_list([(digest, shown(name))])[len(head) :])
    out.flush()


def compare(
    a: Annotated[str, typer.Argument(help="A file, or a digest.")],
    b: Annotated[str, typer.Argument(help="A file, or a digest.")],
    threshold: Score = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Say why.")] = False,
    recipe: DigestRecipeOption = None,
    lenient: Lenient = False,
    as_json: Json = False,
) -> None:
    """Write the score of two files or digests; exit code 3 if it is below the threshold."""
    from nearkin.digests import ssdeep

    run = DigestCommand(recipe, strict=not lenient)
    try:
        digests = _digest(a, run), _digest(b, run)
        why = ssdeep.explain(*digests, strict=run.strict, least_common=run.recipe.least_common)
    except (NearkinError, OSError) as error:
        run.refuse(error)
        run.end()
        return
    if as_json:
        names = {"a": escaped(digests[0]), "b": escaped(digests[1])}
        say_json({"score": why.score, **names, "reliability": why.reliability})
    else:
        say(str(why) if explain else str(why.score))
    run.end(found=why.score >= threshold)


def _digest(text: str, run: DigestCommand) -> str:
    """A digest as given, or that of the file of this name."""
    if (text.count(":") == 2 or (text.count(":") > 2 and not run.strict)) and not Path(text).exists():
        return text
    return run.recipe.hash(Path(text))


def search(
    inputs: FilePaths = None,
    known: Annotated[
        list[Path] | None, typer.Option("--known", help="List, JSON lines or index file to search in; may be repeated.")
    ] = None,
    lists: Lists = None,
    recursive: Recursive = False,
    files0_from: NamesFrom = None,
    threshold: Score = 1,
    limit: Annotated[
        int | None, typer.Option("--limit", "-k", min=1, help="At most this many matches per input.")
    ] = None,
    recipe: DigestRecipeOption = None,
    lenient: Lenient = False,
    as_json: Json = False,
    as_csv: Csv = False,
    quiet: Quiet = False,
) -> None:
    """Find what is similar to the inputs among known digests; exit code 3 if nothing is."""
    form = _form(as_json=as_json, as_csv=as_csv, default=Form.table)
    run = DigestCommand(recipe, strict=not lenient)
    if not known:
        raise bad_parameter("known", "none", "--known LIST, which `nearkin ssdeep hash` writes, to search in")
    index, names = _index(_listed(known, run), run)
    paths = named_paths(inputs or [], run, names_from=files0_from, recursive=recursive)
    queries = [*_listed(lists or [], run), *_hashed(paths, run, quiet=quiet)]
    if not queries and not run.failed:
        raise bad_parameter("inputs", "none", _NO_INPUTS)
    rows: list[list[str | int]] = []
    for digest, path in queries:
        try:
            found = index.nearest([digest], k=limit or max(1, len(index)), threshold=threshold)[0]
        except InputError as error:
            run.refuse_at(path, error)
            continue
        rows += [[path, names[int(match.id)], match.score] for match in found]
    _write(form, ["input", "known", "score"], rows)
    run.end(found=bool(rows))


def cluster(
    inputs: FilePaths = None,
    lists: Lists = None,
    recursive: Recursive = False,
    files0_from: NamesFrom = None,
    threshold: Score = 50,
    linkage: Annotated[
        Linkage, typer.Option("--linkage", help="Members match the first one, or chains.")
    ] = Linkage.centred,
    recipe: DigestRecipeOption = None,
    lenient: Lenient = False,
    as_json: Json = False,
    as_csv: Csv = False,
    quiet: Quiet = False,
) -> None:
    """Group files that are similar to one another; exit code 3 if none are."""
    from nearkin.digests import ssdeep

    form = _form(as_json=as_json, as_csv=as_csv, default=Form.table)
    run = DigestCommand(recipe, strict=not lenient)
    paths = named_paths(inputs or [], run, names_from=files0_from, recursive=recursive)
    entries = [*_listed(lists or [], run), *_hashed(paths, run, quiet=quiet)]
    if not entries and not run.failed:
        raise bad_parameter("inputs", "none", _NO_INPUTS)
    index, names = _index(entries, run)
    rows: list[list[str | int]] = []
    for number, members in enumerate(index.clusters(threshold, linkage=linkage.value), 1):
        first = index.digest(members[0])
        scores = ssdeep.compare_many(first, [index.digest(member) for member in members], strict=run.strict)
        rows += [[number, names[int(member)], int(score)] for member, score in zip(members, scores, strict=True)]
    _write(form, ["cluster", "path", "score with the first"], rows)
    run.end(found=bool(rows))


def _compat(
    arguments: Annotated[list[str] | None, typer.Argument(help="Flags of the program, and files.")] = None,
) -> None:
    """Do what the program ssdeep 2.14.1 does, with its flags: -m -k -d -p -x -g -t -a -c -r -l -b -s -v -V."""
    if code := compat(arguments or []):
        raise typer.Exit(code)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    group = typer.Typer(
        help="Fuzzy digests: hash, compare, search and cluster files.", no_args_is_help=True, rich_markup_mode="rich"
    )
    group.command("hash", epilog=_HASH_EXAMPLES)(hash_)
    group.command(epilog=_COMPARE_EXAMPLE)(compare)
    group.command(epilog=_SEARCH_EXAMPLE)(search)
    group.command(epilog=_CLUSTER_EXAMPLE)(cluster)
    group.command("compat", epilog=_COMPAT_EXAMPLES, context_settings={"ignore_unknown_options": True})(_compat)
    app.add_typer(group, name="ssdeep")
