"""`nearkin ssdeep`, `nearkin tlsh` and `nearkin fuzzy`: fuzzy digests of files by either family, and by both.

Results go to standard output, messages to standard error. Exit codes: 0 something was hashed or matched; 1 an input
could not be read, or has no TLSH digest (the others are processed); 2 wrong usage; 3 nothing matched.

Folders are read with all files below them (`list_files`), known digests by `read_lists`, and rows are printed or
written by `Output`, whichever the family is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, ClassVar

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
from nearkin.cli.options import Json, Overwrite, Quiet, matching_opt, opt, output_opt
from nearkin.errors import InputError, NearkinError, NoDigestError, StoreError, bad_parameter, printable

if TYPE_CHECKING:
    from nearkin.digests.recipes import AnyDigestRecipe
    from nearkin.digests.ssdeep.lists import ListedDigest
    from nearkin.index.digests import DigestIndex

app = Commands()
ssdeep_group = Commands("ssdeep", "Fuzzy digests: hash, compare, search and cluster files.")
tlsh_group = Commands("tlsh", "TLSH digests: hash, compare, search and cluster files.")
app.add_typer(ssdeep_group)
app.add_typer(tlsh_group)

_BATCH = 128
"""Number of files that are hashed in one parallel call; progress advances after each."""


FilePaths = Annotated[list[Path] | None, typer.Argument(help="Files, globs, and folders with all files below them.")]
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
Score = Annotated[int, matching_opt("Minimum ssdeep score, inclusive.", "--threshold", "-t", min=1, max=100)]
_distance = partial(matching_opt, "Maximum distance, inclusive.", "--distance", min=0)
Distance = Annotated[int, _distance()]
_recipe = partial(matching_opt, metavar="RECIPE")
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


_TABLES = (".jsonl", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True, kw_only=True)
class Output:
    """Form of the rows that a command prints, or writes to a file."""

    as_json: Json = False
    groups: Annotated[
        bool, output_opt("Print a group per line: its number, or the input, and its files.", "--groups")
    ] = False
    out: Annotated[
        Path | None,
        output_opt(
            f"Write to a new file: {', '.join(_TABLES)}; `hash` also a list of any name.", "--out", "-o", metavar="FILE"
        ),
    ] = None
    overwrite: Overwrite = False

    @property
    def format(self) -> Any:
        """Format of the table in the file, from its name; empty for another name and without a file."""
        suffix = "" if self.out is None else self.out.suffix.lower()
        return suffix[1:] if suffix in _TABLES else ""

    def check(self, *, lists: bool) -> None:
        """Raise ParameterError for a file that can't be written; with `lists` a file of another name is a list."""
        names = _TABLES[:1] if self.as_json else _TABLES[::3] if self.groups else _TABLES
        if self.out is None:
            return
        if self.out.exists() and not self.overwrite:
            raise bad_parameter("out", str(self.out), "a file that does not exist, or --overwrite")
        if not self.out.absolute().parent.is_dir():
            raise bad_parameter("out", str(self.out), "a folder that exists")
        if f".{self.format}" not in names and (self.as_json or not lists):
            raise bad_parameter("out", str(self.out), f"a name that ends in {' or '.join(names)}")

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """Open the file, or standard output without one."""
        from nearkin.io import replace_file

        return nullcontext(binary_stdout()) if self.out is None else replace_file(self.out)

    def show(self, columns: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> None:
        """Print rows, or write them; with --groups, the second cells of all rows with the same first one as a group."""
        cells: Iterable[list[Any]]
        cells = ([escape_surrogates(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
        if self.groups:
            groups: dict[Any, list[Any]] = {}
            for group, member, *_ in cells:
                groups.setdefault(group, []).append(member)
            columns = [columns[0], "files"]
            cells = ([group, members] for group, members in groups.items() if group is not None)
        if self.format:
            from nearkin.io.tables import write_columns

            table = list(cells)
            with self.open() as file:
                write_columns(file, {name: [row[at] for row in table] for at, name in enumerate(columns)}, self.format)
        elif self.as_json:
            for row in cells:
                say_json(dict(zip(columns, row, strict=True)))
        elif self.groups:
            for group, members in cells:
                say("\t".join(map(printable, [str(group), *members])))
        else:
            show_table(columns, (["-" if cell is None else str(cell) for cell in row] for row in cells))


@dataclass(frozen=True, kw_only=True)
class SsdeepOptions:
    """Digests of a command, and the form of its results."""

    family: ClassVar[str] = "ssdeep"
    measure: ClassVar[str] = "score"

    inputs: FilePaths = None
    lists: Lists = None
    recursive: Recursive = False
    recipe: Annotated[str | None, _recipe(_SSDEEP, "--recipe")] = None
    lenient: Lenient = False
    output: Output
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class TlshOptions(SsdeepOptions):
    """The same for TLSH, which has distances and no old digests."""

    family: ClassVar[str] = "tlsh"
    measure: ClassVar[str] = "distance"

    recipe: Annotated[str | None, _recipe(_TLSH, "--recipe")] = None


_NOT_HASHED = ("lists", "lenient", "groups")
_NOT_COMPARED = ("inputs", "lists", "recursive", "quiet", "groups", "out", "overwrite")
_NOT_OF_TLSH = ("lenient",)


class DigestRun:
    """Recipe and failures of one command of a family."""

    def __init__(self, options: SsdeepOptions, failures: Failures | None = None, *, lists: bool = False) -> None:
        options.output.check(lists=lists)
        self.options = options
        self.failures = failures or Failures()
        self.strict = not options.lenient
        self._family = options.family
        self._recipe = None if options.recipe is None else self._check_family(options.recipe)

    def _check_family(self, recipe: AnyDigestRecipe | str) -> AnyDigestRecipe:
        from nearkin.digests.recipes import parse_recipe

        parsed = parse_recipe(recipe)
        if parsed.family != self._family:
            raise bad_parameter(
                "recipe", str(parsed), f"one of {self._family}; `nearkin {parsed.family}` takes this one"
            )
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

    def list_files(self, allowed: str = "files or folders") -> list[Path]:
        """Return the files of the command line, each once; raise ParameterError without files and lists."""
        paths = list(dict.fromkeys(list_files(self.options.inputs or [], self.failures)))
        if not (paths or self.options.lists or self.failures.failed):
            raise bad_parameter("inputs", "none", allowed)
        return paths

    def hash_files(self, paths: Sequence[Path], skip: type[Exception] | tuple[()] = ()) -> Iterator[tuple[str, str]]:
        """Hash files, and return digest and name of each; report errors except those of the class `skip`."""
        with progress_bars(quiet=self.options.quiet) as progress:
            progress("hash", 0, len(paths))
            for start in range(0, len(paths), _BATCH):
                batch = paths[start : start + _BATCH]
                for path, digest in zip(batch, self.recipe.hash_files(batch, on_error="return"), strict=True):
                    if isinstance(digest, Exception):
                        if not isinstance(digest, skip):
                            self.failures.report(digest)
                    else:
                        yield digest, str(path)
                progress("hash", start + len(batch), len(paths))

    def read_lists(self, paths: Sequence[Path] | None) -> list[tuple[str, str]]:
        """Return digest and name of the entries of lists of one recipe, which becomes that of the run."""
        return self.take(read_lists(paths, self.failures, [self._family]))

    def take(self, entries: Iterable[ListedDigest]) -> list[tuple[str, str]]:
        """Return digest and name of entries of one recipe, which becomes that of the run."""
        taken = []
        for entry in entries:
            self.set_recipe(entry.recipe)
            taken.append((entry.digest, entry.name))
        return taken

    def entries(self) -> list[tuple[str, str]]:
        """Return digest and name of each entry of lists, and of each file."""
        paths = self.list_files("files, folders, or --list")
        return [*self.read_lists(self.options.lists), *self.hash_files(paths)]

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

    def print_hashes(self, format_entry: Callable[[str, str], bytes], head: bytes = b"") -> None:
        """Hash the files of the command line, and print them as rows or as a list of `head` and formatted entries."""
        output, entries = self.options.output, self.hash_files(self.list_files())
        if output.as_json or output.format:
            output.show(["digest", "path", "recipe"], ([digest, path, str(self.recipe)] for digest, path in entries))
        else:
            with output.open() as file:
                file.write(head)
                # A terminal gets each entry on one line.
                file.writelines(format_entry(digest, path if output.out else display(path)) for digest, path in entries)
                file.flush()
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
        if self.options.output.as_json:
            names = {"a": escape_surrogates(digests[0]), "b": escape_surrogates(digests[1])}
            say_json({measure: value, **names, **{name: getattr(result, name) for name in also}})
        else:
            say(str(result if explain else value))
        self.failures.exit(matched=value >= limit if measure == "score" else value <= limit)

    def matches(
        self, known: Iterable[tuple[str, str]], entries: Iterable[tuple[str, str]], k: int | None = None, **limit: Any
    ) -> Iterator[tuple[str, str, int, str, str]]:
        """Return the known digests near each entry, best first: both names, score or distance, and both digests."""
        index, names = self.build_index(known)
        for digest, path in entries:
            try:
                matches = index.nearest([digest], k=k or max(1, len(index)), **limit)[0]
            except InputError as error:
                self.failures.report(error, path)
                continue
            for match in matches:
                at = int(match.id)
                yield path, names[at], getattr(match, self.options.measure), digest, index.digest(at)

    def print_matches(self, known: Sequence[Path] | None, k: int | None, **limit: Any) -> None:
        """Search known digests for those of the command line, and print the matches."""
        if not known:
            raise bad_parameter("known", "none", f"--known LIST, a file of `nearkin {self._family} hash`, to search in")
        rows = [row[:3] for row in self.matches(self.read_lists(known), self.entries(), k, **limit)]
        self.options.output.show(["input", "known", self.options.measure], rows)
        self.failures.exit(matched=bool(rows))

    def print_clusters(self, linkage: Linkage, title: str, **limit: Any) -> None:
        """Group the digests of the command line, and print the groups; `title` is that of the last column."""
        index, names = self.build_index(self.entries())
        clusters = index.clusters(linkage=linkage.value, **limit)
        values = iter(getattr(clusters, f"{self.options.measure}s").tolist())
        rows = [[at, names[int(member)], next(values)] for at, members in enumerate(clusters, 1) for member in members]
        self.options.output.show(["cluster", "path", title], rows)
        self.failures.exit(matched=bool(rows))


def read_lists(paths: Iterable[Path] | None, failures: Failures, families: Sequence[str]) -> Iterator[ListedDigest]:
    """Return the entries of indexes, lists, JSON lines, or files of bare digests; `families` are for `read_digests`."""
    from nearkin.digests.ssdeep.lists import ListedDigest, read_digests
    from nearkin.index.digests import DigestIndex, is_digest_index

    for path in paths or ():
        try:
            if is_digest_index(path):
                index = DigestIndex.open(path)
                for names in index.iter_ids():
                    yield from (ListedDigest(index.digest(name), str(name), index.recipe) for name in names.tolist())
            else:
                yield from read_digests(path, families)
        except (InputError, StoreError, OSError) as error:  # noqa: PERF203
            failures.report(error)


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

    run, output = DigestRun(options, lists=True), options.output
    if ssdeep.DigestRecipe.of(options.recipe).normalize and not (output.as_json or output.format):
        raise bad_parameter("recipe", run.recipe, "--json with it; a list of ssdeep cannot store it")
    head = ssdeep.write_list([])
    run.print_hashes(lambda digest, name: ssdeep.write_list([(digest, name)])[len(head) :], head)


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
    DigestRun(options, lists=True).print_hashes(
        lambda digest, name: f"{digest}\t{name}\n".encode("utf-8", "surrogateescape")
    )


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


@app.add(omit=("lists", "recipe", "lenient"))
def fuzzy(
    options: SsdeepOptions,
    known: Known = None,
    threshold: Score = 80,
    distance: Annotated[int, _distance(max=100)] = 40,
) -> None:
    """Print both digests of each file, and group files that match by either; exit code 3 if no two match.

    Each row has the number of its group, or - without one (null in JSON), the path, both digests and the evidence:
    score and a common 7-gram of ssdeep, distance and equal buckets of TLSH, or equal bytes. With --known, each row has
    a file, a known one that it matches by either digest, and the evidence.

    Examples
    --------
    $ nearkin fuzzy Documents
    group   path    ssdeep  tlsh    evidence
    1       Documents/new.bin       192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVRy8iB...
    1       Documents/old.bin       192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVOy8iB...

    nearkin fuzzy Samples --distance 70 --groups
    nearkin fuzzy Samples --out known.jsonl && nearkin fuzzy Downloads --known known.jsonl
    """
    run = DigestRun(options)
    paths = run.list_files()
    limits = {"ssdeep": {"threshold": threshold}, "tlsh": {"distance": distance}}
    columns, rows = _search_known(run, paths, known, limits) if known else _group(run, paths, limits)
    options.output.show(columns, rows)
    run.failures.exit(matched=any(row[0] is not None for row in rows))


_Rows = tuple[list[str], list[list[str | int | None]]]
"""Columns and rows of a result."""


def _search_known(run: DigestRun, paths: Sequence[Path], known: Sequence[Path], limits: dict[str, Any]) -> _Rows:
    """Return the known files that each file matches by either digest, with the evidence."""
    listed = list(read_lists(known, run.failures, list(limits)))
    found: dict[str, dict[str, list[str]]] = {str(path): {} for path in paths}
    for family, limit in limits.items():
        one = run if family == run.options.family else DigestRun(TlshOptions(output=run.options.output), run.failures)
        own = one.take(entry for entry in listed if entry.recipe.family == family)
        entries = list(one.hash_files(paths, skip=NoDigestError))
        # A file that can't be read is reported once.
        paths = [Path(name) for _, name in entries]
        for path, name, _, *digests in one.matches(own, entries, **limit):
            found[path].setdefault(name, []).append(_explain(family, *digests))
    rows: list[list[str | int | None]] = []
    rows += ([path, name, ", ".join(parts)] for path, names in found.items() for name, parts in names.items())
    return ["input", "known", "evidence"], rows


def _group(run: DigestRun, paths: Sequence[Path], limits: dict[str, Any]) -> _Rows:
    """Return group, digests and evidence of each file: groups in order of their first files, then the other files."""
    from nearkin.dedup.files import dedup_files
    from nearkin.digests import ssdeep, tlsh

    names = list(map(str, paths))
    thresholds = {"threshold": limits["ssdeep"]["threshold"], "radius": limits["tlsh"]["distance"]}
    with progress_bars(quiet=run.options.quiet) as progress:
        result = dedup_files(names, family="fuzzy", **thresholds, on_error=run.failures.add, progress=progress)
    groups = {row["id"]: row for row in result.clusters.rows()}
    known = {*groups, *result.kept}
    names = [*groups, *(name for name in names if name in known and name not in groups)]
    hashed = (module.hash_files(names, on_error="return") for module in (ssdeep, tlsh))
    digests = {
        name: [value if isinstance(value, str) else None for value in pair]
        for name, *pair in zip(names, *hashed, strict=True)
    }
    rows: list[list[str | int | None]] = []
    for name in names:
        row = groups.get(name, {"reason": "kept"})
        evidence = "equal bytes" if row["reason"] == "exact" else None
        if row["reason"] == "near":
            sides = zip(limits, digests[name], digests[row["representative"]], strict=True)
            evidence = ", ".join(_explain(*each) for each in sides if each[0] in row["evidence"])
        rows.append([row["cluster"] + 1 if name in groups else None, name, *digests[name], evidence])
    return ["group", "path", "ssdeep", "tlsh", "evidence"], rows


def _explain(family: str, a: Any, b: Any) -> str:
    """Return why two digests match."""
    from nearkin.digests import ssdeep, tlsh

    if family == "tlsh":
        apart = tlsh.explain(a, b)
        return f"tlsh {apart.distance} ({apart.equal_buckets} equal buckets)"
    score = ssdeep.explain(a, b)
    grams = [each.gram for each in score.compared if each.gram]
    return f"ssdeep {score.score}" + (f" (7-gram {grams[0]})" if grams else "")
