"""`nearkin lines`, `urls` and `payloads`: what many items have in common, and which of them are new.

Each command reads items, makes patterns of them, and prints or writes one row per pattern. With `--match` it learns
nothing, and says which pattern of an earlier run each item has.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from nearkin.cli.console import NO_MATCH, progress_bars, say, say_json, show_table, warn
from nearkin.cli.options import Inputs, Json, Quiet, one_of, output
from nearkin.cli.reading import MaxMalformed, Reading, most_malformed, reads
from nearkin.errors import InputError, ParameterError, StoreLockedError, bad_parameter, printable
from nearkin.io.inputs import check_stream

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin.io.values import Batch
    from nearkin.patterns.base import Patterns
    from nearkin.patterns.payloads import PayloadGroups
    from nearkin.patterns.requests import Fields, RequestReader

_PATTERNS = "Patterns"
_Patterns = TypeVar("_Patterns", bound="Patterns")
_LONGEST = 120
"""Characters of an example that are shown."""

Out = Annotated[
    Path | None,
    output("File of the patterns: JSON Lines, or Parquet if its name ends in .parquet; without it they are printed."),
]
State = Annotated[
    Path | None,
    typer.Option(
        help="Go on from this file if it is there, and save the state in it: batches add up.", rich_help_panel=_PATTERNS
    ),
]
MatchFile = Annotated[
    Path | None,
    typer.Option(
        "--match",
        help="Print the pattern of each item by this file, a state or what --out wrote; nothing is learnt.",
        rich_help_panel=_PATTERNS,
    ),
]
New = Annotated[
    bool,
    typer.Option(
        "--new",
        help="With --match: only items that no pattern explains; exit code 3 if none.",
        rich_help_panel=_PATTERNS,
    ),
]
Since = Annotated[
    Path | None,
    typer.Option(
        help="Print what is new, gone or changed since this file, a state or what --out wrote.",
        rich_help_panel=_PATTERNS,
    ),
]
TimeColumn = Annotated[
    str | None, typer.Option(help="Column of the time: first and last seen, counts by day.", rich_help_panel="Reading")
]


@dataclass(frozen=True)
class Items:
    """A batch of items, as a model of patterns takes them.

    Attributes
    ----------
    values : column or list
        The items.
    names : list
        The id of each item, or its number.
    beside : mapping
        Times, sources and whatever else `partial_fit` takes beside them, by the names of its parameters.
    matched : mapping
        The same for `match_many`.
    """

    values: Any
    names: list[Any]
    beside: Mapping[str, Any]
    matched: Mapping[str, Any] = field(default_factory=dict)

    def texts(self) -> list[str]:
        """The items as they are shown."""
        values = self.values.to_pylist() if hasattr(self.values, "to_pylist") else list(self.values)
        return [value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value for value in values]


@dataclass(frozen=True)
class Wanted:
    """What the options say is done with the items."""

    out: Path | None
    state: Path | None
    match: Path | None
    new: bool
    since: Path | None
    as_json: bool
    quiet: bool
    export: str | None = None

    def check(self) -> None:
        """Refuse options that do not go together, before anything is read.

        Raises
        ------
        ParameterError
            The message names both.
        """
        if self.match is not None:
            for name in ("out", "state", "since", "export"):
                if getattr(self, name) is not None:
                    raise bad_parameter(
                        name, getattr(self, name), "it without --match, which prints and learns nothing"
                    )
        elif self.new:
            raise bad_parameter("new", "given", "--match FILE with it")
        if self.export is not None and (self.since is not None or self.as_json):
            name, value = ("since", self.since) if self.since is not None else ("as_json", "given")
            raise bad_parameter(name, value, "it without --export, which prints patterns in another form")
        if self.out is not None and self.export is None:
            from nearkin.patterns.rows import check_ending

            check_ending(self.out, "out")
        for path in (self.match, self.since):
            if path is not None:
                check_stream(str(path))


def run(
    kind: type[Patterns],
    batches: Callable[[], AbstractContextManager[Iterator[Items]]],
    wanted: Wanted,
    **parameters: Any,
) -> None:
    """Do what the options say with the items of a command.

    Parameters
    ----------
    kind : type
        The class of the patterns; `parameters` are what it is made with.
    batches : callable
        A context of the items; at its end what could not be read is reported.
    wanted : Wanted
    """
    wanted.check()
    if wanted.match is not None:
        _match(_held(kind, wanted.match, parameters), batches, wanted)
        return
    older = None if wanted.since is None else _older(kind, wanted.since)
    model = kind(**parameters)
    with _held_state(wanted.state) as there:
        if wanted.state is not None and there:
            # With other parameters the states do not go together, which is an error that names them.
            model = model.merge(kind.open(wanted.state))
        before = model.count
        with progress_bars(quiet=wanted.quiet) as report, batches() as found:
            report("read", 0, None)
            for batch in found:
                model.partial_fit(batch.values, **batch.beside)
                report("read", model.count - before, None)
        table = model.table()
        changes = None if older is None else model.compare(older)
        text = None if wanted.export is None else _exported(model, wanted.export)
        if wanted.out is not None:
            _write(wanted.out, table, text)
        # Last of all: a run that could not write its output is run again, and would count its items twice.
        if wanted.state is not None:
            if not there and wanted.state.exists():
                message = f"{wanted.state}: another process has made the state meanwhile; run again to add to it"
                raise StoreLockedError(message, place=str(wanted.state))
            model.save(wanted.state)
    if not wanted.quiet:
        _summarise(model, table)
    if text is not None and not table.num_rows:
        warn("there are no patterns: what is exported explains nothing")
    if changes is not None:
        _show_changes(changes, as_json=wanted.as_json)
    elif wanted.out is None and text is not None:
        say(text.rstrip("\n"))
    elif wanted.out is None:
        _show(table, as_json=wanted.as_json)


def _write(path: Path, table: pa.Table, text: str | None) -> None:
    """Write what was exported, or else the table."""
    from nearkin.io import replace_file
    from nearkin.patterns.rows import write_rows

    if text is None:
        write_rows(path, table)
        return
    with replace_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


@contextmanager
def _held_state(path: Path | None) -> Iterator[bool]:
    """A context in which nobody else changes the state; whether there is one."""
    from nearkin.io.locks import lock_file

    if path is None or not path.exists():
        yield False
        return
    with lock_file(path, "state"):
        yield True


def _held(kind: type[_Patterns], path: Path, parameters: Mapping[str, Any]) -> _Patterns:
    """The patterns of a state, or of a table that `--out` wrote.

    A table is matched by with the parameters of the call; a state has its own, and others than these are an error.
    """
    from nearkin.patterns.rows import is_table, read_rows

    if is_table(path):
        held = kind.of_table(read_rows(path), **parameters)
    else:
        held = kind.open(path)
        if parameters:
            held = kind(**parameters).merge(held)
    if not len(held):
        warn(f"{path} has no patterns: nothing is explained")
    return held


def _older(kind: type[Patterns], path: Path) -> pa.Table:
    """The table of a state, or the one that `--out` wrote."""
    from nearkin.patterns.rows import is_table, read_rows

    return read_rows(path) if is_table(path) else kind.open(path).table()


def _match(model: Patterns, batches: Callable[[], AbstractContextManager[Iterator[Items]]], wanted: Wanted) -> None:
    """Print each item's pattern, or the items without any."""
    rows, unexplained = 0, 0
    with batches() as found:
        for batch in found:
            matched = model.match_many(batch.values, **batch.matched)
            for name, item, row in zip(batch.names, batch.texts(), matched.to_pylist(), strict=True):
                rows += 1
                unexplained += row["id"] is None
                if wanted.new and row["id"] is not None:
                    continue
                if wanted.as_json:
                    say_json({"item": name, "text": item, **row})
                elif wanted.new:
                    # An item may hold line ends and tabs: escaped, it is one cell.
                    say(f"{printable(str(name))}\t{printable(item)}")
                else:
                    say(f"{printable(str(name))}\t{row['id'] or '-'}\t{printable(row['pattern'] or '-')}")
    if not wanted.quiet:
        warn(f"{_counted(rows, model.name)}, {unexplained:,} that none of {_counted(len(model), 'patterns')} explains")
    if wanted.new and not unexplained:
        raise typer.Exit(NO_MATCH)


def _show(table: pa.Table, *, as_json: bool) -> None:
    """Print patterns: count, share and text."""
    if as_json:
        from nearkin.patterns.rows import json_rows

        for row in json_rows(table):
            say_json(row)
        return
    rows = table.select(["count", "share", "id", "pattern"]).to_pylist()
    cells = ([str(row["count"]), f"{row['share']:.2%}", row["id"], row["pattern"]] for row in rows)
    show_table(["count", "share", "id", "pattern"], cells, header=False, lines=False, right=["count", "share"])


def _show_changes(table: pa.Table, *, as_json: bool) -> None:
    """Print what is new, gone or changed; exit code 3 if nothing is."""
    changes = table.to_pylist()
    if as_json:
        for row in changes:
            say_json(row)
    else:
        cells = (
            [row["kind"], f"{row['before']:.2%}", f"{row['after']:.2%}", row["pattern"], row["was"] or ""]
            for row in changes
        )
        columns = ["kind", "before", "after", "pattern", "was"]
        show_table(columns, cells, header=False, lines=False, right=["before", "after"])
    if not changes:
        raise typer.Exit(NO_MATCH)


def _exported(model: Any, form: str) -> str:
    """Patterns in another form."""
    made: dict[str, Callable[[], str]] = {
        "regex": lambda: "".join(
            f"{row['id']}\t{row['method'] or '-'}\t{row['host'] or '-'}\t{model.to_regex(row['id'])}\n"
            for row in model.table().select(["id", "method", "host"]).to_pylist()
        ),
        "openapi": lambda: json.dumps(model.to_openapi(), indent=2, ensure_ascii=False) + "\n",
        "nginx": model.to_nginx,
        "modsecurity": model.to_modsecurity,
    }
    return made[form]()


def _summarise(model: Patterns, table: pa.Table) -> None:
    """Tell how many items there were, and what no pattern explains, on standard error."""
    warn(f"{_counted(model.count, model.name)}, {_counted(table.num_rows, 'patterns')}")
    for reason, count in sorted(model.skipped.items()):
        warn(f"left out: {count:,} {reason}")
    rest = model.unexplained
    if rest.count:
        # A group of one is no group, and yet what is like it is found.
        fate = "alone in their group" if model.name == "payloads" else "that no pattern explains"
        some = ", ".join(
            example if len(example) <= _LONGEST else f"{example[:_LONGEST]}…" for example in rest.examples[:3]
        )
        warn(f"{rest.count:,} {fate}" + (f", such as {some}" if some else ""))


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name.removesuffix('s') if count == 1 else name}"


@contextmanager
def _of_corpus(
    reading: Reading, inputs: Sequence[str], *, time: str | None, source: str | None
) -> Iterator[Iterator[Items]]:
    """The texts of a corpus, with columns of time and source."""
    columns = list(dict.fromkeys(name for name in (time, source) if name is not None))
    with _named_columns(time, source), reading.reported(inputs, extra_columns=columns) as corpus:
        yield (_items(batch, time, source) for batch in corpus.batches())


@contextmanager
def _named_columns(time: str | None, source: str | None) -> Iterator[None]:
    """Errors about columns that an input has not, by the names of options."""
    try:
        yield
    except ParameterError as error:
        if error.context.get("name") != "extra_columns":
            raise
        allowed = str(error.context.get("allowed", "a column of the records"))
        option, name = ("source_column", source) if time is None else ("time_column", time)
        raise bad_parameter(option, name, allowed) from None


def _items(batch: Batch, time: str | None, source: str | None) -> Items:
    beside: dict[str, Any] = {}
    if time is not None:
        beside["times"] = batch.columns[time]
    if source is not None:
        beside["sources"] = [None if value is None else str(value) for value in batch.columns[source]]
    return Items(batch.texts, batch.ids.to_list(), beside)


_LINES_EXAMPLES = """
[bold]Examples[/]

  nearkin lines app.log --out templates.jsonl

  nearkin lines today.log --match templates.jsonl --new
"""
_PAYLOADS_EXAMPLES = """
[bold]Examples[/]

  nearkin payloads waf.jsonl --text-column payload --source-column ip --out groups.jsonl

  nearkin payloads alerts.jsonl --text-column payload --queue --match groups.jsonl
"""


@reads()
def lines(
    inputs: Inputs,
    reading: Reading,
    out: Out = None,
    state: State = None,
    match: MatchFile = None,
    new: New = False,
    since: Since = None,
    time_column: TimeColumn = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the templates of log lines, most lines first: count, share, id, template, separated by tabs.

    Where lines of one template differ it has typed variables, such as {int} and {ip}. A line is one of a text file, or
    a field of a record.
    """
    from nearkin.patterns import LogTemplates

    wanted = Wanted(out, state, match, new, since, as_json, quiet)
    run(LogTemplates, lambda: _of_corpus(reading, inputs, time=time_column, source=None), wanted)


@reads()
def payloads(
    inputs: Inputs,
    reading: Reading,
    out: Out = None,
    state: State = None,
    match: MatchFile = None,
    new: New = False,
    since: Since = None,
    time_column: TimeColumn = None,
    source_column: Annotated[
        str | None, typer.Option(help="Column of who sent it, such as an address.", rich_help_panel="Reading")
    ] = None,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue",
            help="Print the first payload of each group and how many there are; with --match those it has are known.",
            rich_help_panel=_PATTERNS,
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print groups of near-identical attack payloads, largest first: count, share, id, template, separated by tabs.

    Payloads are decoded first, layer by layer: percent-encoding, HTML entities, Base64, escapes, comments, case.
    """
    from nearkin.patterns import PayloadGroups

    wanted = Wanted(out, state, match, new, since, as_json, quiet)

    def read() -> AbstractContextManager[Iterator[Items]]:
        return _of_corpus(reading, inputs, time=time_column, source=source_column)

    if not queue:
        run(PayloadGroups, read, wanted)
        return
    beside = {"out": out, "state": state, "since": since, "new": "given" if new else None}
    beside |= {"time_column": time_column, "source_column": source_column}
    for name, value in beside.items():
        if value is not None:
            raise bad_parameter(name, value, "it without --queue, which prints and learns nothing")
    wanted.check()
    model = PayloadGroups() if match is None else _held(PayloadGroups, match, {})
    _show_queue(model, read, as_json=as_json)


def _show_queue(
    model: PayloadGroups, batches: Callable[[], AbstractContextManager[Iterator[Items]]], *, as_json: bool
) -> None:
    """Print each attack once: item, id, count, new or known, the first payload."""
    with batches() as found:
        items = [pair for batch in found for pair in zip(batch.names, batch.texts(), strict=True)]
    for row in model.queue([text for _, text in items]).to_pylist():
        name, text = items[row["row"]]
        if as_json:
            say_json({"item": name, "text": text, **{key: row[key] for key in ("id", "pattern", "count", "new")}})
        else:
            fate = "new" if row["new"] else "known"
            say(f"{printable(str(name))}\t{row['id'] or '-'}\t{row['count']}\t{fate}\t{printable(text)}")


_EXPORTS = ("openapi", "regex", "nginx", "modsecurity")
_URLS_EXAMPLES = """
[bold]Examples[/]

  nearkin urls access.log --out patterns.jsonl

  nearkin urls today.log --match patterns.jsonl --new

  nearkin urls access.log --export openapi --out api.json
"""


def urls(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Access logs, JSON Lines, a URL a line, HAR: files, globs, folders, -; also compressed."),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            help="log (common or combined), jsonl, txt or har; told by name and content without it.",
            autocompletion=one_of("log", "jsonl", "txt", "har"),
            rich_help_panel="Reading",
        ),
    ] = None,
    url_column: Annotated[str, typer.Option(help="Field of the URL in JSON.", rich_help_panel="Reading")] = "url",
    method_column: Annotated[
        str | None, typer.Option(help="Field of the method in JSON.", rich_help_panel="Reading")
    ] = None,
    time_column: TimeColumn = None,
    client_column: Annotated[
        str | None,
        typer.Option(
            help="Field of who asked in JSON: what few clients asked for is noise.", rich_help_panel="Reading"
        ),
    ] = None,
    support: Annotated[
        int | None,
        typer.Option(help="Least number of requests of a pattern.", show_default=False, rich_help_panel=_PATTERNS),
    ] = None,
    max_malformed: MaxMalformed = None,
    drop_trackers: Annotated[
        bool,
        typer.Option("--drop-trackers", help="Leave out utm_source, gclid and the like.", rich_help_panel=_PATTERNS),
    ] = False,
    out: Out = None,
    state: State = None,
    match: MatchFile = None,
    new: New = False,
    since: Since = None,
    export: Annotated[
        str | None,
        typer.Option(
            help="Write the patterns as openapi, regex, nginx or modsecurity.",
            autocompletion=one_of(*_EXPORTS),
            rich_help_panel="Output",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the patterns of a site's URLs, most requests first: count, share, id, pattern, separated by tabs.

    A pattern is a URL with typed variables: GET /api/v1/users/{int}/orders?page={int}.
    """
    from nearkin.patterns import UrlPatterns
    from nearkin.patterns.requests import Fields, RequestReader

    if export is not None and export not in _EXPORTS:
        raise bad_parameter("export", repr(export), ", ".join(_EXPORTS))
    fields = Fields(url_column, method_column, time_column, client_column)
    reader = RequestReader(_files_of(inputs), format=format, fields=fields)  # type: ignore[arg-type]  # Checked by the call.
    wanted = Wanted(out, state, match, new, since, as_json, quiet, export)
    given = {} if support is None else {"support": support}
    given |= {"drop_trackers": True} if drop_trackers else {}
    run(UrlPatterns, lambda: _of_requests(reader, fields, most_malformed(max_malformed)), wanted, **given)


def _files_of(inputs: Sequence[str]) -> list[str]:
    """Files, with those that globs stand for and those below folders, sorted by name.

    Raises
    ------
    InputError
        A glob or a folder without files.
    """
    found: list[str] = []
    for name in inputs:
        path = Path(name)
        if name == "-" or path.is_file():
            some = [name]
        elif path.is_dir():
            some = sorted(str(below) for below in path.rglob("*") if below.is_file())
        else:
            some = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else [name]  # noqa: PTH207
        if not some:
            reason = "has no files" if path.is_dir() else "matches no file"
            raise InputError(f"{name} {reason}", place=name, reason=reason)
        found += some
    return found


@contextmanager
def _of_requests(reader: RequestReader, fields: Fields, most: float) -> Iterator[Iterator[Items]]:
    """The requests of files; at the end what is no request is told of."""
    method, time, client = fields.method, fields.time, fields.client

    def items() -> Iterator[Items]:
        first = 0
        for batch in reader:
            methods = {"methods": batch.methods}
            beside = {**methods, "times": batch.times, "clients": batch.clients}
            yield Items(batch.urls, list(range(first, first + len(batch.urls))), beside, methods)
            first += len(batch.urls)
        for option, name in (("method_column", method), ("time_column", time), ("client_column", client)):
            if first and name is not None and name not in reader.seen:
                allowed = "a field of the records; none of them has it"
                raise bad_parameter(option, name, allowed if "jsonl" in reader.formats else "JSON Lines with it")
        if not first and reader.malformed:
            path, line, reason = reader.first_malformed[0]
            raise InputError(f"{path}:{line}: {reason}; no line is a request", place=f"{path}:{line}", reason=reason)
        bad = sum(reader.malformed.values())
        if bad > (most if isinstance(most, int) else most * (first + bad)):
            path, line, reason = reader.first_malformed[0]
            told = f"{bad:,} of {first + bad:,} lines are no requests, the first {path}:{line}: {reason}"
            raise InputError(f"{told}; --max-malformed allows more", place=f"{path}:{line}", reason=reason)

    yield items()
    for path, line, reason in reader.first_malformed[:5]:
        warn(f"skipped: {path}:{line}: {reason}")
    if (count := sum(reader.malformed.values())) > 5:
        most_first = sorted(reader.malformed.items(), key=lambda item: (-item[1], item[0]))
        warn(f"skipped {count:,} lines in all: " + ", ".join(f"{reason} ({found:,})" for reason, found in most_first))


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to a command line."""
    app.command(epilog=_URLS_EXAMPLES)(urls)
    app.command(epilog=_LINES_EXAMPLES)(lines)
    app.command(epilog=_PAYLOADS_EXAMPLES)(payloads)
