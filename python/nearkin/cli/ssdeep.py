"""`nearkin ssdeep`: fuzzy digests of files.

Results go to standard output, messages to standard error. Exit codes: 0 something was hashed or matched; 1 an input
could not be read (the others are processed); 2 wrong usage; 3 no score reached the threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearkin.cli.commands import Commands
from nearkin.cli.console import (
    Failures,
    binary_stdout,
    display,
    escape_surrogates,
    progress_bars,
    say,
    say_json,
    show_table,
)
from nearkin.cli.corpus import list_files
from nearkin.cli.options import MATCHING, Json, Quiet, opt
from nearkin.errors import InputError, NearkinError, StoreError, bad_parameter

if TYPE_CHECKING:
    from nearkin.digests.recipes import AnyDigestRecipe
    from nearkin.digests.ssdeep import DigestRecipe
    from nearkin.index.digests import DigestIndex

group = Commands("ssdeep", "Fuzzy digests: hash, compare, search and cluster files.")

_BATCH = 128
"""Number of files that are hashed in one parallel call; progress advances after each."""

FilePaths = Annotated[
    list[Path] | None, typer.Argument(help="Files, and directories with --recursive.", show_default=False)
]
Recursive = Annotated[bool, opt("Include files below directories, but no links.", "--recursive", "-r")]
DigestRecipeOption = Annotated[
    str | None,
    opt(
        "How files become digests: html, lines and space before |ssdeep, such as 'html+space|ssdeep'; "
        "ssdeep:common:5 requires five common characters instead of seven (compare).",
        "--recipe",
        group=MATCHING,
        metavar="RECIPE",
    ),
]
Lenient = Annotated[
    bool, opt("Accept old digests: other block sizes, any characters, like the library.", "--lenient", group=MATCHING)
]
Score = Annotated[int, opt("Minimum score, inclusive.", "--threshold", "-t", group=MATCHING, min=1, max=100)]
Lists = Annotated[
    list[Path] | None, opt("Read digests from a list of `hash`, or one digest per line; may be repeated.", "--list")
]


class Linkage(str, Enum):
    """Rule of clusters."""

    centred = "centred"
    connected = "connected"


@dataclass(frozen=True, kw_only=True)
class DigestOptions:
    """Digests of a command, and the form of its results."""

    inputs: FilePaths = None
    lists: Lists = None
    recursive: Recursive = False
    recipe: DigestRecipeOption = None
    lenient: Lenient = False
    as_json: Json = False
    quiet: Quiet = False

    def read(self, run: DigestRun) -> list[tuple[str, str]]:
        """Return digest and name of each entry of lists, and of each file."""
        paths = list_files(self.inputs or [], run.failures, recursive=self.recursive)
        entries = [*run.read_lists(self.lists), *run.hash_files(paths, quiet=self.quiet)]
        if not entries and not run.failures.failed:
            raise bad_parameter("inputs", "none", "files, directories with --recursive, or --list")
        return entries


class DigestRun:
    """Recipe and failures of one command of a family.

    Parameters
    ----------
    recipe : str, optional
        The recipe of the command line.
    lenient : bool, default False
        Accept old digests.
    family : {"ssdeep", "tlsh"}, default "ssdeep"
        The family whose recipe is the default, and the only one of the command.
    """

    def __init__(self, recipe: str | None = None, *, lenient: bool = False, family: str = "ssdeep") -> None:
        self.failures = Failures()
        self.strict = not lenient
        self._family = family
        self._recipe = None if recipe is None else self._check_family(recipe)

    def _check_family(self, recipe: AnyDigestRecipe | str) -> AnyDigestRecipe:
        from nearkin.digests.recipes import parse_recipe

        parsed = parse_recipe(recipe)
        if parsed.family != self._family:
            raise bad_parameter("recipe", str(parsed), f"one of {self._family}; nearkin {parsed.family} takes this one")
        return parsed

    @property
    def recipe(self) -> AnyDigestRecipe:
        """The recipe of the command line, or that of the digests that were read, or the default of the family."""
        from nearkin.digests.recipes import parse_recipe

        return self._recipe or parse_recipe(self._family)

    @property
    def ssdeep_recipe(self) -> DigestRecipe:
        """The recipe of a command of ssdeep."""
        from nearkin.digests.ssdeep import DigestRecipe

        return DigestRecipe.of(str(self.recipe))

    def set_recipe(self, recipe: AnyDigestRecipe) -> None:
        """Use the recipe of digests that were read; raise MismatchError if there is another one."""
        from nearkin.digests.recipes import check_same_recipe

        recipe = self._check_family(recipe)
        if self._recipe is not None:
            check_same_recipe(self._recipe, recipe)
        self._recipe = recipe

    def hash_files(self, paths: Sequence[Path], *, quiet: bool) -> Iterator[tuple[str, str]]:
        """Hash files, and return digest and name of each that can be read."""
        with progress_bars(quiet=quiet) as progress:
            progress("hash", 0, len(paths))
            for start in range(0, len(paths), _BATCH):
                batch = paths[start : start + _BATCH]
                for path, digest in zip(batch, self.recipe.hash_files(batch, on_error="return"), strict=True):
                    if isinstance(digest, Exception):
                        self.failures.report(digest)
                    else:
                        yield digest, str(path)
                progress("hash", start + len(batch), len(paths))

    def read_lists(self, paths: Iterable[Path] | None) -> Iterator[tuple[str, str]]:
        """Return digest and name of each entry of indexes, lists, JSON lines, or files of bare digests."""
        from nearkin.digests.ssdeep.lists import read_digests
        from nearkin.index.digests import DigestIndex, is_digest_index

        for path in paths or ():
            try:
                if is_digest_index(path):
                    index = DigestIndex.open(path)
                    self.set_recipe(index.recipe)
                    for names in index.iter_ids():
                        yield from ((index.digest(name), str(name)) for name in names.tolist())
                else:
                    for entry in read_digests(path):
                        self.set_recipe(entry.recipe)
                        yield entry.digest, entry.name
            except (InputError, StoreError, OSError) as error:  # noqa: PERF203
                self.failures.report(error)

    def _check_digest(self, digest: str) -> None:
        """Raise InputError for what is no digest."""
        from nearkin.digests import ssdeep, tlsh

        if self._family == "tlsh":
            tlsh.distance(digest, digest)
        else:
            ssdeep.compare(digest, digest, strict=self.strict)

    def build_index(self, entries: Iterable[tuple[str, str]]) -> tuple[DigestIndex, list[str]]:
        """Return an index of digests, and the name of each row."""
        from nearkin.index.digests import DigestIndex

        digests, names = [], []
        for digest, name in entries:
            try:
                self._check_digest(digest)
            except InputError as error:
                self.failures.report(error, name)
                continue
            digests.append(digest)
            names.append(name)
        index = DigestIndex(recipe=self.recipe, strict=self.strict)
        index.add(None, digests, recipe=self.recipe)
        return index, names

    def digest(self, text: str) -> str:
        """Return a digest, or that of the file with this name."""
        if self._family == "tlsh":
            is_digest = len(text) >= 70 and not text.strip("T0123456789ABCDEFabcdef")
        else:
            colons = text.count(":")
            is_digest = colons == 2 or (colons > 2 and not self.strict)
        return text if is_digest and not Path(text).exists() else self.recipe.hash(Path(text))


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str | int | None]], *, as_json: bool) -> None:
    """Print rows as JSON lines, or as a table."""
    if not as_json:
        show_table(columns, (list(map(str, row)) for row in rows))
        return
    for row in rows:
        values = (escape_surrogates(value) if isinstance(value, str) else value for value in row)
        say_json(dict(zip(columns, values, strict=True)))


@group.add("hash")
def hash_(
    inputs: FilePaths = None,
    recursive: Recursive = False,
    recipe: DigestRecipeOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the digests of files: as a list of the program ssdeep, or as JSON.

    Examples
    --------
    $ nearkin ssdeep hash --recursive Documents
    ssdeep,1.1--blocksize:hash:hash,filename
    192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVRy8iBOGp2Rut721N+yQ8gUfgfpPBMY:1...
    192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVOy8iBOGp2Rut721N+yQ8gUfgfpPBMY:1...

    nearkin ssdeep hash --recursive Documents > known.txt
    nearkin ssdeep hash --recipe 'html+space|ssdeep' --json page.html
    """
    from nearkin.digests import ssdeep

    run = DigestRun(recipe)
    if run.ssdeep_recipe.normalize and not as_json:
        raise bad_parameter("recipe", run.recipe, "--json with it; a list of ssdeep cannot store it")
    paths = list_files(inputs or [], run.failures, recursive=recursive)
    if not paths and not run.failures.failed:
        raise bad_parameter("inputs", "none", "files, or directories with --recursive")
    entries = run.hash_files(paths, quiet=quiet)
    if as_json:
        rows = ([digest, path, str(run.recipe)] for digest, path in entries)
        print_rows(["digest", "path", "recipe"], rows, as_json=True)
    else:
        out = binary_stdout()
        head = ssdeep.write_list([])
        out.write(head)
        for digest, name in entries:
            out.write(ssdeep.write_list([(digest, display(name))])[len(head) :])
        out.flush()
    run.failures.exit()


@group.add()
def compare(
    a: Annotated[str, typer.Argument(help="A file, or a digest.")],
    b: Annotated[str, typer.Argument(help="A file, or a digest.")],
    threshold: Score = 1,
    explain: Annotated[bool, opt("Explain the result.", "--explain")] = False,
    recipe: DigestRecipeOption = None,
    lenient: Lenient = False,
    as_json: Json = False,
) -> None:
    """Print the score of two files or digests; exit code 3 if it is below the threshold.

    Examples
    --------
    $ nearkin ssdeep compare Documents/old.bin Documents/new.bin
    99

    nearkin ssdeep compare --explain old.bin new.bin
    """
    from nearkin.digests import ssdeep

    run = DigestRun(recipe, lenient=lenient)
    try:
        digests = run.digest(a), run.digest(b)
        result = ssdeep.explain(*digests, strict=run.strict, least_common=run.ssdeep_recipe.least_common)
    except (NearkinError, OSError) as error:
        run.failures.report(error)
        run.failures.exit()
        return
    if as_json:
        names = {"a": escape_surrogates(digests[0]), "b": escape_surrogates(digests[1])}
        say_json({"score": result.score, **names, "reliability": result.reliability})
    else:
        say(str(result) if explain else str(result.score))
    run.failures.exit(matched=result.score >= threshold)


@group.add()
def search(
    options: DigestOptions,
    known: Annotated[list[Path] | None, opt("List, JSON lines or index to search; may be repeated.", "--known")] = None,
    threshold: Score = 1,
    limit: Annotated[int | None, opt("Maximum matches per input.", "--limit", "-k", min=1)] = None,
) -> None:
    """Search known digests for those similar to the inputs; exit code 3 without a match.

    Examples
    --------
    $ nearkin ssdeep search --known known.txt Documents/new.bin --threshold 60
    input   known   score
    Documents/new.bin       Documents/new.bin       100
    Documents/new.bin       Documents/old.bin       99

    nearkin ssdeep search --known known.txt --recursive Downloads --threshold 60
    """
    run = DigestRun(options.recipe, lenient=options.lenient)
    if not known:
        raise bad_parameter("known", "none", "--known LIST, a file of `nearkin ssdeep hash`, to search in")
    index, names = run.build_index(run.read_lists(known))
    rows: list[list[str | int]] = []
    for digest, path in options.read(run):
        try:
            matches = index.nearest([digest], k=limit or max(1, len(index)), threshold=threshold)[0]
        except InputError as error:
            run.failures.report(error, path)
            continue
        rows += [[path, names[int(match.id)], match.score] for match in matches]
    print_rows(["input", "known", "score"], rows, as_json=options.as_json)
    run.failures.exit(matched=bool(rows))


@group.add()
def cluster(
    options: DigestOptions,
    threshold: Score = 50,
    linkage: Annotated[Linkage, opt("Members match the first member, or form chains.", "--linkage")] = Linkage.centred,
) -> None:
    """Group files that are similar to one another; exit code 3 if there are none.

    Examples
    --------
    $ nearkin ssdeep cluster --recursive Documents
    cluster path    score with the first
    1       Documents/new.bin       100
    1       Documents/old.bin       99

    nearkin ssdeep cluster --recursive Documents --threshold 80
    """
    from nearkin.digests import ssdeep

    run = DigestRun(options.recipe, lenient=options.lenient)
    index, names = run.build_index(options.read(run))
    rows: list[list[str | int]] = []
    for number, members in enumerate(index.clusters(threshold, linkage=linkage.value), 1):
        first = index.digest(members[0])
        scores = ssdeep.compare_many(first, [index.digest(member) for member in members], strict=run.strict)
        rows += [[number, names[int(member)], int(score)] for member, score in zip(members, scores, strict=True)]
    print_rows(["cluster", "path", "score with the first"], rows, as_json=options.as_json)
    run.failures.exit(matched=bool(rows))
