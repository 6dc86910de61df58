"""`nearkin ssdeep`, `nearkin tlsh` and `nearkin fuzzy`: fuzzy digests of files by either family, and by both.

Results go to standard output, messages to standard error. Exit codes: 0 something was hashed or matched; 1 an input
could not be read, or has no TLSH digest (the others are processed); 2 wrong usage; 3 nothing matched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

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
from nearkin.cli.options import Json, Quiet, matching_opt, opt
from nearkin.errors import InputError, NearkinError, StoreError, bad_parameter

if TYPE_CHECKING:
    from nearkin.digests.recipes import AnyDigestRecipe
    from nearkin.index.digests import DigestIndex

app = Commands()
ssdeep_group = Commands("ssdeep", "Fuzzy digests: hash, compare, search and cluster files.")
tlsh_group = Commands("tlsh", "TLSH digests: hash, compare, search and cluster files.")
app.add_typer(ssdeep_group)
app.add_typer(tlsh_group)

_BATCH = 128
"""Number of files that are hashed in one parallel call; progress advances after each."""


def _recipe(help_: str) -> Any:
    """Return the option --recipe."""
    return matching_opt(help_, "--recipe", metavar="RECIPE")


def _score(help_: str) -> Any:
    """Return the option --threshold."""
    return matching_opt(help_, "--threshold", "-t", min=1, max=100)


def _distance(maximum: int | None = None) -> Any:
    """Return the option --distance."""
    return matching_opt("Maximum distance, inclusive.", "--distance", min=0, max=maximum)


FilePaths = Annotated[list[Path] | None, typer.Argument(help="Files, and folders with all files below them.")]
Side = Annotated[str, typer.Argument(help="A file, or a digest.")]
Recursive = Annotated[bool, opt("Ignored: folders are always read, without links.", "--recursive", "-r")]
_SSDEEP = (
    "How files become digests: html, lines and space before |ssdeep, such as 'html+space|ssdeep'; "
    "ssdeep:common:5 requires five common characters instead of seven (compare)."
)
_TLSH = "Form of the digests: tlsh, with :256 for 256 buckets, :checksum3, or :conservative to require 256 bytes."
Lenient = Annotated[
    bool, matching_opt("Accept old digests: other block sizes, any characters, like the library.", "--lenient")
]
Score = Annotated[int, _score("Minimum score, inclusive.")]
Distance = Annotated[int, _distance()]
Length = Annotated[bool, opt("Count the difference of the lengths.", "--length/--no-length")]
Explain = Annotated[bool, opt("Explain the result.", "--explain")]
Lists = Annotated[
    list[Path] | None, opt("Read digests from a list of `hash`, or one digest per line; may be repeated.", "--list")
]
Known = Annotated[list[Path] | None, opt("List, JSON lines or index to search; may be repeated.", "--known")]
Limit = Annotated[int | None, opt("Maximum matches per input.", "--limit", "-k", min=1)]


class Linkage(str, Enum):
    """Rule of clusters."""

    centred = "centred"
    connected = "connected"


Linked = Annotated[Linkage, opt("Members match the first member, or form chains.", "--linkage")]


@dataclass(frozen=True, kw_only=True)
class SsdeepOptions:
    """Digests of a command, and the form of its results."""

    family: ClassVar[str] = "ssdeep"
    measure: ClassVar[str] = "score"

    inputs: FilePaths = None
    lists: Lists = None
    recursive: Recursive = False
    recipe: Annotated[str | None, _recipe(_SSDEEP)] = None
    lenient: Lenient = False
    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class TlshOptions(SsdeepOptions):
    """The same for TLSH, which has distances and no old digests."""

    family: ClassVar[str] = "tlsh"
    measure: ClassVar[str] = "distance"

    recipe: Annotated[str | None, _recipe(_TLSH)] = None


_NOT_HASHED = ("lists", "lenient")
_NOT_COMPARED = ("inputs", "lists", "recursive", "quiet")
_NOT_OF_TLSH = ("lenient",)


class DigestRun:
    """Recipe and failures of one command of a family."""

    def __init__(self, options: SsdeepOptions) -> None:
        self.options = options
        self.failures = Failures()
        self.strict = not options.lenient
        self._family = options.family
        self._recipe = None if options.recipe is None else self._check_family(options.recipe)

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

    def set_recipe(self, recipe: AnyDigestRecipe) -> None:
        """Use the recipe of digests that were read; raise MismatchError if there is another one."""
        from nearkin.digests.recipes import check_same_recipe

        recipe = self._check_family(recipe)
        if self._recipe is not None:
            check_same_recipe(self._recipe, recipe)
        self._recipe = recipe

    def list_files(self) -> list[Path]:
        """Return the files of the command line."""
        return list_files(self.options.inputs or [], self.failures)

    def hash_files(self, paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
        """Hash files, and return digest and name of each that can be read."""
        with progress_bars(quiet=self.options.quiet) as progress:
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

    def entries(self) -> list[tuple[str, str]]:
        """Return digest and name of each entry of lists, and of each file."""
        paths = self.list_files()
        entries = [*self.read_lists(self.options.lists), *self.hash_files(paths)]
        if not entries and not self.failures.failed:
            raise bad_parameter("inputs", "none", "files, folders, or --list")
        return entries

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

    def print_hashes(self, print_list: Callable[[Iterator[tuple[str, str]]], None]) -> None:
        """Hash the files of the command line, and print them as JSON or as a list."""
        paths = self.list_files()
        if not paths and not self.failures.failed:
            raise bad_parameter("inputs", "none", "files or folders")
        entries = self.hash_files(paths)
        if self.options.as_json:
            rows = ([digest, path, str(self.recipe)] for digest, path in entries)
            print_rows(["digest", "path", "recipe"], rows, as_json=True)
        else:
            print_list(entries)
        self.failures.exit()

    def print_comparison(
        self,
        a: str,
        b: str,
        explained: Callable[[str, str], Any],
        limit: int,
        *,
        explain: bool,
        also: Sequence[str] = (),
    ) -> None:
        """Compare two files or digests, and print the score or distance; `also` names more attributes for JSON."""
        measure = self.options.measure
        try:
            digests = self.digest(a), self.digest(b)
            result = explained(*digests)
        except (NearkinError, OSError) as error:
            self.failures.report(error)
            self.failures.exit()
            return
        value: int = getattr(result, measure)
        if self.options.as_json:
            names = {"a": escape_surrogates(digests[0]), "b": escape_surrogates(digests[1])}
            say_json({measure: value, **names, **{name: getattr(result, name) for name in also}})
        else:
            say(str(result if explain else value))
        self.failures.exit(matched=value >= limit if measure == "score" else value <= limit)

    def print_matches(self, known: Sequence[Path] | None, k: int | None, **limit: Any) -> None:
        """Search known digests for those of the command line, and print the matches."""
        if not known:
            raise bad_parameter("known", "none", f"--known LIST, a file of `nearkin {self._family} hash`, to search in")
        index, names = self.build_index(self.read_lists(known))
        rows: list[list[str | int]] = []
        for digest, path in self.entries():
            try:
                matches = index.nearest([digest], k=k or max(1, len(index)), **limit)[0]
            except InputError as error:
                self.failures.report(error, path)
                continue
            rows += [[path, names[int(match.id)], getattr(match, self.options.measure)] for match in matches]
        print_rows(["input", "known", self.options.measure], rows, as_json=self.options.as_json)
        self.failures.exit(matched=bool(rows))

    def print_clusters(self, linkage: Linkage, title: str, **limit: Any) -> None:
        """Group the digests of the command line, and print the groups; `title` is that of the last column."""
        index, names = self.build_index(self.entries())
        clusters = index.clusters(linkage=linkage.value, **limit)
        values = iter(getattr(clusters, f"{self.options.measure}s").tolist())
        rows = [[at, names[int(member)], next(values)] for at, members in enumerate(clusters, 1) for member in members]
        print_rows(["cluster", "path", title], rows, as_json=self.options.as_json)
        self.failures.exit(matched=bool(rows))


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str | int | None]], *, as_json: bool) -> None:
    """Print rows as JSON lines, or as a table."""
    if not as_json:
        show_table(columns, (list(map(str, row)) for row in rows))
        return
    for row in rows:
        values = (escape_surrogates(value) if isinstance(value, str) else value for value in row)
        say_json(dict(zip(columns, values, strict=True)))


@ssdeep_group.add("hash", omit=_NOT_HASHED)
def ssdeep_hash(options: SsdeepOptions) -> None:
    """Print the digests of files: as a list of the program ssdeep, or as JSON.

    Examples
    --------
    $ nearkin ssdeep hash Documents
    ssdeep,1.1--blocksize:hash:hash,filename
    192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVRy8iBOGp2Rut721N+yQ8gUfgfpPBMY:1...
    192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVOy8iBOGp2Rut721N+yQ8gUfgfpPBMY:1...

    nearkin ssdeep hash Documents > known.txt
    nearkin ssdeep hash --recipe 'html+space|ssdeep' --json page.html
    """
    from nearkin.digests import ssdeep

    run = DigestRun(options)
    if ssdeep.DigestRecipe.of(options.recipe).normalize and not options.as_json:
        raise bad_parameter("recipe", run.recipe, "--json with it; a list of ssdeep cannot store it")

    def print_list(entries: Iterable[tuple[str, str]]) -> None:
        out = binary_stdout()
        head = ssdeep.write_list([])
        out.write(head)
        for digest, name in entries:
            out.write(ssdeep.write_list([(digest, display(name))])[len(head) :])
        out.flush()

    run.print_hashes(print_list)


@tlsh_group.add("hash", omit=_NOT_HASHED)
def tlsh_hash(options: TlshOptions) -> None:
    """Print the TLSH digests of files: one line per file, the digest, a tab and the name; or as JSON.

    Examples
    --------
    $ nearkin tlsh hash Documents
    T1B662D6A322A47F2BE11653A93216546135A2CB87DCCFD1D4BB6316CBDFF09434A60787...
    T1B362D6A322A47F2BE11653A93216546135A2CB87DCCFD1E4BB6312CBDFF09434A60787...

    nearkin tlsh hash Documents > known.txt
    """

    def print_list(entries: Iterable[tuple[str, str]]) -> None:
        for digest, name in entries:
            say(f"{digest}\t{display(name)}")

    DigestRun(options).print_hashes(print_list)


@ssdeep_group.add("compare", omit=_NOT_COMPARED)
def ssdeep_compare(a: Side, b: Side, threshold: Score = 1, explain: Explain = False, *, options: SsdeepOptions) -> None:
    """Print the score of two files or digests; exit code 3 if it is below the threshold.

    Examples
    --------
    $ nearkin ssdeep compare Documents/old.bin Documents/new.bin
    99

    nearkin ssdeep compare --explain old.bin new.bin
    """
    from nearkin.digests import ssdeep

    run = DigestRun(options)
    common = ssdeep.DigestRecipe.of(options.recipe).least_common
    explained = partial(ssdeep.explain, strict=run.strict, least_common=common)
    run.print_comparison(a, b, explained, threshold, explain=explain, also=["reliability"])


@tlsh_group.add("compare", omit=(*_NOT_COMPARED, *_NOT_OF_TLSH))
def tlsh_compare(
    a: Side,
    b: Side,
    distance: Distance = 1 << 15,
    length: Length = True,
    explain: Explain = False,
    *,
    options: TlshOptions,
) -> None:
    """Print the distance of two files or digests; exit code 3 if it is above --distance.

    Examples
    --------
    $ nearkin tlsh compare Documents/old.bin Documents/new.bin
    3

    nearkin tlsh compare --explain old.bin new.bin
    """
    from nearkin.digests import tlsh

    DigestRun(options).print_comparison(a, b, partial(tlsh.explain, length=length), distance, explain=explain)


@ssdeep_group.add("search")
def ssdeep_search(options: SsdeepOptions, known: Known = None, threshold: Score = 1, limit: Limit = None) -> None:
    """Search known digests for those similar to the inputs; exit code 3 without a match.

    Examples
    --------
    $ nearkin ssdeep search --known known.txt Documents/new.bin --threshold 60
    input   known   score
    Documents/new.bin       Documents/new.bin       100
    Documents/new.bin       Documents/old.bin       99

    nearkin ssdeep search --known known.txt Downloads --threshold 60
    """
    DigestRun(options).print_matches(known, limit, threshold=threshold)


@tlsh_group.add("search", omit=_NOT_OF_TLSH)
def tlsh_search(options: TlshOptions, known: Known = None, distance: Distance = 40, limit: Limit = None) -> None:
    """Search known digests for those within a distance of the inputs; exit code 3 without a match.

    Examples
    --------
    $ nearkin tlsh search --known known.txt Documents/new.bin --distance 30
    input   known   distance
    Documents/new.bin       Documents/new.bin       0
    Documents/new.bin       Documents/old.bin       3

    nearkin tlsh search --known known.txt Downloads --distance 30
    """
    DigestRun(options).print_matches(known, limit, distance=distance)


@ssdeep_group.add("cluster")
def ssdeep_cluster(options: SsdeepOptions, threshold: Score = 50, linkage: Linked = Linkage.centred) -> None:
    """Group files that are similar to one another; exit code 3 if there are none.

    Examples
    --------
    $ nearkin ssdeep cluster Documents
    cluster path    score with the first
    1       Documents/new.bin       100
    1       Documents/old.bin       99

    nearkin ssdeep cluster Documents --threshold 80
    """
    DigestRun(options).print_clusters(linkage, "score with the first", threshold=threshold)


@tlsh_group.add("cluster", omit=_NOT_OF_TLSH)
def tlsh_cluster(options: TlshOptions, distance: Distance = 40, linkage: Linked = Linkage.centred) -> None:
    """Group files within a distance of one another; exit code 3 if there are none.

    Examples
    --------
    $ nearkin tlsh cluster Documents
    cluster path    distance to the first
    1       Documents/new.bin       0
    1       Documents/old.bin       3

    nearkin tlsh cluster Documents --distance 30
    """
    DigestRun(options).print_clusters(linkage, "distance to the first", distance=distance)


@app.add()
def fuzzy(
    inputs: FilePaths = None,
    recursive: Recursive = False,
    threshold: Annotated[int, _score("Minimum ssdeep score, inclusive.")] = 80,
    distance: Annotated[int, _distance(100)] = 40,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print both digests of each file, and group files that match by either; exit code 3 if no two match.

    Each row has the number of its group, or - without one (null in JSON), the path, both digests and the evidence:
    score and a common 7-gram of ssdeep, distance and equal buckets of TLSH, or equal bytes.

    Examples
    --------
    $ nearkin fuzzy Documents
    group   path    ssdeep  tlsh    evidence
    1       Documents/new.bin       192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVRy8iB...
    1       Documents/old.bin       192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVOy8iB...

    nearkin fuzzy Samples --distance 70 --json
    """
    from nearkin.dedup.files import dedup_files
    from nearkin.digests import ssdeep, tlsh

    failures = Failures()
    paths = list(dict.fromkeys(map(str, list_files(inputs or [], failures))))
    if not paths and not failures.failed:
        raise bad_parameter("inputs", "none", "files or folders")
    with progress_bars(quiet=quiet) as progress:
        result = dedup_files(
            paths, family="fuzzy", threshold=threshold, radius=distance, on_error=failures.add, progress=progress
        )
    groups = {row["id"]: row for row in result.clusters.rows()}
    known = {*groups, *result.kept}
    readable = [path for path in paths if path in known]
    digests = {
        path: [value if isinstance(value, str) else "" for value in pair]
        for path, *pair in zip(
            readable,
            ssdeep.hash_files(readable, on_error="return"),
            tlsh.hash_files(readable, on_error="return"),
            strict=True,
        )
    }
    rows: list[list[str | int | None]] = []
    # Groups in order of their first files, then the other files.
    for path in [*groups, *(path for path in readable if path not in groups)]:
        evidence = ""
        if path in groups and (row := groups[path])["reason"] == "exact":
            evidence = "equal bytes"
        elif path in groups and row["reason"] != "kept":
            pairs = list(zip(digests[path], digests[row["representative"]], strict=True))
            parts = []
            score = ssdeep.explain(*pairs[0])
            if score.score >= threshold:
                grams = [each.gram for each in score.compared if each.gram]
                parts.append(f"ssdeep {score.score}" + (f" (7-gram {grams[0]})" if grams else ""))
            if all(pairs[1]) and (apart := tlsh.explain(*pairs[1])).distance <= distance:
                parts.append(f"tlsh {apart.distance} ({apart.equal_buckets} equal buckets)")
            evidence = ", ".join(parts)
        own: list[str | int | None] = [path, *digests[path], evidence]
        number = int(groups[path]["cluster"]) + 1 if path in groups else None
        rows.append([number, *(value or None for value in own)] if as_json else [number or "-", *own])
    print_rows(["group", "path", "ssdeep", "tlsh", "evidence"], rows, as_json=as_json)
    failures.exit(matched=bool(groups))
