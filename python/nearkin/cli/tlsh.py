"""`nearkin tlsh`: TLSH digests of files.

Results go to standard output, messages to standard error. Exit codes: 0 something was hashed or matched; 1 an input
could not be read or has no digest (the others are processed); 2 wrong usage; 3 nothing was within the distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli.commands import Commands
from nearkin.cli.console import display, escape_surrogates, say, say_json
from nearkin.cli.corpus import list_files
from nearkin.cli.options import MATCHING, Json, Quiet, opt
from nearkin.cli.ssdeep import DigestRun, FilePaths, Linkage, Lists, Recursive, print_rows
from nearkin.errors import InputError, NearkinError, bad_parameter

group = Commands("tlsh", "TLSH digests: hash, compare, search and cluster files.")

TlshRecipeOption = Annotated[
    str | None,
    opt(
        "Form of the digests: tlsh, with :256 for 256 buckets, :checksum3, or :conservative to require 256 bytes.",
        "--recipe",
        group=MATCHING,
        metavar="RECIPE",
    ),
]
Distance = Annotated[int, opt("Maximum distance, inclusive.", "--distance", group=MATCHING, min=0)]


@dataclass(frozen=True, kw_only=True)
class TlshOptions:
    """Digests of a command, and the form of its results."""

    inputs: FilePaths = None
    lists: Lists = None
    recursive: Recursive = False
    recipe: TlshRecipeOption = None
    as_json: Json = False
    quiet: Quiet = False

    def read(self, run: DigestRun) -> list[tuple[str, str]]:
        """Return digest and name of each entry of lists, and of each file."""
        paths = list_files(self.inputs or [], run.failures, recursive=self.recursive)
        entries = [*run.read_lists(self.lists), *run.hash_files(paths, quiet=self.quiet)]
        if not entries and not run.failures.failed:
            raise bad_parameter("inputs", "none", "files, directories with --recursive, or --list")
        return entries


@group.add("hash")
def hash_(
    inputs: FilePaths = None,
    recursive: Recursive = False,
    recipe: TlshRecipeOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the TLSH digests of files: one line per file, the digest, a tab and the name; or as JSON.

    Examples
    --------
    $ nearkin tlsh hash --recursive Documents
    T1B662D6A322A47F2BE11653A93216546135A2CB87DCCFD1D4BB6316CBDFF09434A60787...
    T1B362D6A322A47F2BE11653A93216546135A2CB87DCCFD1E4BB6312CBDFF09434A60787...

    nearkin tlsh hash --recursive Documents > known.txt
    """
    run = DigestRun(recipe, family="tlsh")
    paths = list_files(inputs or [], run.failures, recursive=recursive)
    if not paths and not run.failures.failed:
        raise bad_parameter("inputs", "none", "files, or directories with --recursive")
    for digest, name in run.hash_files(paths, quiet=quiet):
        if as_json:
            say_json({"digest": digest, "path": escape_surrogates(name), "recipe": str(run.recipe)})
        else:
            say(f"{digest}\t{display(name)}")
    run.failures.exit()


@group.add()
def compare(
    a: Annotated[str, typer.Argument(help="A file, or a digest.")],
    b: Annotated[str, typer.Argument(help="A file, or a digest.")],
    distance: Distance = 1 << 15,
    length: Annotated[bool, opt("Count the difference of the lengths.", "--length/--no-length")] = True,
    explain: Annotated[bool, opt("Explain the result.", "--explain")] = False,
    recipe: TlshRecipeOption = None,
    as_json: Json = False,
) -> None:
    """Print the distance of two files or digests; exit code 3 if it is above --distance.

    Examples
    --------
    $ nearkin tlsh compare Documents/old.bin Documents/new.bin
    3

    nearkin tlsh compare --explain old.bin new.bin
    """
    from nearkin.digests import tlsh

    run = DigestRun(recipe, family="tlsh")
    try:
        digests = run.digest(a), run.digest(b)
        result = tlsh.explain(*digests, length=length)
    except (NearkinError, OSError) as error:
        run.failures.report(error)
        run.failures.exit()
        return
    if as_json:
        say_json({"distance": result.distance, "a": digests[0], "b": digests[1]})
    else:
        say(str(result) if explain else str(result.distance))
    run.failures.exit(matched=result.distance <= distance)


@group.add()
def search(
    options: TlshOptions,
    known: Annotated[list[Path] | None, opt("List, JSON lines or index to search; may be repeated.", "--known")] = None,
    distance: Distance = 40,
    limit: Annotated[int | None, opt("Maximum matches per input.", "--limit", "-k", min=1)] = None,
) -> None:
    """Search known digests for those within a distance of the inputs; exit code 3 without a match.

    Examples
    --------
    $ nearkin tlsh search --known known.txt Documents/new.bin --distance 30
    input   known   distance
    Documents/new.bin       Documents/new.bin       0
    Documents/new.bin       Documents/old.bin       3

    nearkin tlsh search --known known.txt --recursive Downloads --distance 30
    """
    run = DigestRun(options.recipe, family="tlsh")
    if not known:
        raise bad_parameter("known", "none", "--known LIST, a file of `nearkin tlsh hash`, to search in")
    index, names = run.build_index(run.read_lists(known))
    rows: list[list[str | int]] = []
    for digest, path in options.read(run):
        try:
            matches = index.nearest([digest], k=limit or max(1, len(index)), distance=distance)[0]
        except InputError as error:
            run.failures.report(error, path)
            continue
        rows += [[path, names[int(match.id)], match.distance] for match in matches]
    print_rows(["input", "known", "distance"], rows, as_json=options.as_json)
    run.failures.exit(matched=bool(rows))


@group.add()
def cluster(
    options: TlshOptions,
    distance: Distance = 40,
    linkage: Annotated[Linkage, opt("Members match the first member, or form chains.", "--linkage")] = Linkage.centred,
) -> None:
    """Group files within a distance of one another; exit code 3 if there are none.

    Examples
    --------
    $ nearkin tlsh cluster --recursive Documents
    cluster path    distance to the first
    1       Documents/new.bin       0
    1       Documents/old.bin       3

    nearkin tlsh cluster --recursive Documents --distance 30
    """
    run = DigestRun(options.recipe, family="tlsh")
    index, names = run.build_index(options.read(run))
    clusters = index.clusters(distance=distance, linkage=linkage.value)
    rows: list[list[str | int]] = []
    for number in range(len(clusters)):
        part = slice(int(clusters.offsets[number]), int(clusters.offsets[number + 1]))
        members = zip(clusters.ids[part].tolist(), clusters.distances[part].tolist(), strict=True)
        rows += [[number + 1, names[int(member)], apart] for member, apart in members]
    print_rows(["cluster", "path", "distance to the first"], rows, as_json=options.as_json)
    run.failures.exit(matched=bool(rows))
