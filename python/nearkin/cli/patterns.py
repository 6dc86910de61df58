"""`nearkin patterns lines`, `urls` and `payloads`: patterns of many items, and the items that no pattern explains.

Each command reads items, learns patterns from them, and prints or writes one row per pattern. With `--match` it learns
nothing, and prints the pattern of each item from an earlier run.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from nearkin.cli.commands import Commands, Options, OptionsOf
from nearkin.cli.console import NO_MATCH, listing_progress, progress_bars, say, say_json, say_row, show_table, warn
from nearkin.cli.corpus import READING, CorpusOptions, parse_max_malformed, reading_option
from nearkin.cli.options import Inputs, Json, Quiet, opt, refuse_options
from nearkin.dedup.options import option, output_option
from nearkin.errors import (
    InputError,
    ParameterError,
    StoreLockedError,
    bad_parameter,
    check_count,
    input_error,
    printable,
)
from nearkin.io.arrow import is_arrow, to_values
from nearkin.io.inputs import check_stream, resolve
from nearkin.progress import megabyte_ticker

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin.io import Corpus
    from nearkin.io.base import OtherColumns
    from nearkin.io.values import Batch
    from nearkin.patterns.base import Patterns
    from nearkin.patterns.payloads import PayloadGroups
    from nearkin.patterns.requests import Fields, RequestReader
    from nearkin.progress import Progress

group = Commands("patterns", "Patterns of many items: templates of log lines, patterns of URLs, groups of payloads.")

_Patterns = TypeVar("_Patterns", bound="Patterns")
_PATTERNS = "Patterns"
_reading_opt = partial(opt, group=READING)
_BRIEF = ("out", "state", "match", "new", "since", "text_column", "id_column", "format", "as_json", "quiet")
"""Options that `-h` shows."""
_EXPORTS = {"urls": ("openapi", "regex"), "lines": ("regex", "like", "logql")}
_MAX_RECORD = 1000
"""Maximum number of lines of a record."""
_MAX_EXAMPLE = 120
"""Characters of an example that are shown."""


@dataclass(frozen=True)
class Items:
    """A batch of items.

    Attributes
    ----------
    values : column or list
        The items.
    names : list
        The id of each item, or its number.
    details : mapping
        Times, sources and other arguments of `partial_fit`, by name.
    match_details : mapping
        Arguments of `match_many`.
    others : list of dict, pyarrow.RecordBatch or None
        All other columns of the items, for --annotate.
    """

    values: Any
    names: list[Any]
    details: Mapping[str, Any]
    match_details: Mapping[str, Any] = field(default_factory=dict)
    others: OtherColumns | None = None

    def to_list(self) -> list[Any]:
        """Return the items as Python objects."""
        return to_values(self.values) if is_arrow(self.values) else list(self.values)

    def texts(self) -> list[str]:
        """Return the items as texts."""
        return list(map(_to_text, self.to_list()))


def _to_text(value: str | bytes) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


OpenItems: TypeAlias = "Callable[[Progress], AbstractContextManager[Iterator[Items]]]"
"""Opens the items of a command. At the end of the context, unreadable records are reported."""


@dataclass(frozen=True)
class PatternOptions:
    """Options for learning, matching and printing patterns."""

    out: Path | None = output_option(
        None,
        help="File of the patterns: JSON Lines, or Parquet if its name ends with .parquet (default: print them).",
        flag="--out -o",
    )
    state: Path | None = option(
        None, help="Continue from this file if it exists, and save the state in it.", group=_PATTERNS
    )
    match: Path | None = option(
        None,
        help="Print the pattern of each item from this file, a state or the file of --out; learn nothing.",
        group=_PATTERNS,
    )
    new: bool = option(
        False,
        help="With --match: only items without a pattern or, for urls, with unusual values; exit code 3 if none.",
        group=_PATTERNS,
    )
    annotate: Path | None = output_option(
        None,
        help="With --match: write each item with its pattern, the values of its variables, the first item of its "
        "pattern, and its other columns to this file, JSON Lines or Parquet by its name.",
    )
    since: Path | None = option(
        None, help="Print what is new, gone or changed since this file, a state or the file of --out.", group=_PATTERNS
    )
    time_column: str | None = reading_option(None, help="Column of the time, for counts by day.")
    export: str | None = output_option(
        None,
        help="Write the patterns in another form: openapi or regex; for lines regex, like or logql.",
        choices=("openapi", "regex", "like", "logql"),
    )
    as_json: Json = False
    quiet: Quiet = False

    def check(self) -> None:
        """Raise ParameterError for options that exclude one another, before anything is read."""
        if self.match is not None:
            learned = {"out": self.out, "state": self.state, "since": self.since, "export": self.export}
            refuse_options(learned, "it without --match, which prints and learns nothing")
        else:
            refuse_options({"new": self.new, "annotate": self.annotate}, "--match FILE with it")
        if self.annotate is not None:
            from nearkin.patterns.tables import check_suffix

            check_suffix(self.annotate, "annotate")
            refuse_options({"new": self.new, "as_json": self.as_json}, "it without --annotate, which prints nothing")
        if self.export is not None:
            others = {"since": self.since, "as_json": self.as_json}
            refuse_options(others, "it without --export, which prints patterns in another form")
        if self.out is not None and self.export is None:
            from nearkin.patterns.tables import check_suffix

            check_suffix(self.out, "out")
        for path in (self.match, self.since):
            if path is not None:
                check_stream(str(path))


@group.add(brief=(*_BRIEF, "export"))
def urls(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Access logs, JSON Lines, a URL a line: files, globs, folders, -; also compressed."),
    ],
    options: PatternOptions,
    malformed: Annotated[Options, OptionsOf(CorpusOptions, "max_malformed")],
    format: Annotated[
        str | None,
        _reading_opt(
            "log (common or combined), jsonl or txt (default: from name and content).", choices=("log", "jsonl", "txt")
        ),
    ] = None,
    url_column: Annotated[str, _reading_opt("Field of the URL in JSON.")] = "url",
    method_column: Annotated[str | None, _reading_opt("Field of the method in JSON.")] = None,
    client_column: Annotated[
        str | None, _reading_opt("Field of the client in JSON (URLs of few clients are noise).")
    ] = None,
    sample: Annotated[
        int | None, opt("Print this many URLs of each pattern, 1 to 3, instead of the patterns.", group=_PATTERNS)
    ] = None,
) -> None:
    """Print the patterns of a site's URLs, most requests first: count, share, id, pattern, separated by tabs.

    A pattern is a URL with typed variables: GET /api/v1/users/{int}/orders?page={int}.

    Examples
    --------
    $ nearkin patterns urls urls.txt
    39      100.00% a0ac7c8ae310c41a        example.com/users/{int}/orders...
    nearkin: 39 urls, 1 pattern

    nearkin patterns urls access.log --out patterns.jsonl
    nearkin patterns urls today.log --match patterns.jsonl --new
    nearkin patterns urls access.log --export openapi --out api.json
    """
    from nearkin.patterns import UrlPatterns
    from nearkin.patterns.requests import Fields, RequestReader
    from nearkin.patterns.tables import MAX_EXAMPLES

    fields = Fields(url_column, method_column, options.time_column, client_column)
    keep = options.annotate is not None
    reader = RequestReader(_list_logs(inputs), format=format, fields=fields, keep_columns=keep)  # type: ignore[arg-type]  # The reader checks it.
    limit = parse_max_malformed(malformed.get("max_malformed"))
    if sample is not None:
        check_count("sample", sample, 1, MAX_EXAMPLES, f"1 to {MAX_EXAMPLES}")
        others = {"match": options.match, "since": options.since, "export": options.export}
        refuse_options(others, "it without --sample, which prints something else")
    run(UrlPatterns, lambda progress: _requests(reader, fields, limit, progress), options, sample)


@group.add(brief=(*_BRIEF, "export"))
def lines(
    inputs: Inputs,
    reading: CorpusOptions,
    options: PatternOptions,
    multiline: Annotated[
        str | None,
        _reading_opt(
            "Join the lines of a record: indent (those that start with white space), or a regular expression that the "
            "first line of each record matches."
        ),
    ] = None,
) -> None:
    """Print the templates of log lines, most lines first: count, share, id, template, separated by tabs.

    Differences between the lines of a template become typed variables, such as {int} and {ip}. A line is one of a text
    file, or a field of a record.

    Examples
    --------
    $ nearkin patterns lines app.log
    8       100.00% 28589d57384fd8b1        user {int} logged in from {ip}
    nearkin: 8 lines, 1 pattern

    nearkin patterns lines app.log --out templates.jsonl
    nearkin patterns lines today.log --match templates.jsonl --new
    nearkin patterns lines server.log --multiline indent
    """
    from nearkin.patterns import LogTemplates

    is_start = None if multiline is None else _parse_multiline(multiline)

    @contextmanager
    def open_lines(progress: Progress) -> Iterator[Iterator[Items]]:
        with _texts(reading, inputs, progress, options, source=None) as batches:
            yield batches if is_start is None else _records(batches, is_start)

    run(LogTemplates, open_lines, options)


@group.add(omit=["export"], brief=(*_BRIEF, "source_column", "queue"))
def payloads(
    inputs: Inputs,
    reading: CorpusOptions,
    options: PatternOptions,
    source_column: Annotated[str | None, _reading_opt("Column of the sender, such as an address.")] = None,
    queue: Annotated[
        bool,
        opt(
            "Print the first payload of each group and the size of the group; with --match, groups of the file "
            "are known.",
            "--queue",
            group=_PATTERNS,
        ),
    ] = False,
) -> None:
    """Print groups of near-identical attack payloads, largest first: count, share, id, template, separated by tabs.

    Payloads are decoded first, layer by layer: percent-encoding, HTML entities, Base64, escapes, comments, case.

    Examples
    --------
    $ nearkin patterns payloads waf.jsonl --text-column payload
    5       100.00% cf555e84ec936cfb        id={int} union select null, {int}
    nearkin: 5 payloads, 1 pattern

    nearkin patterns payloads waf.jsonl --text-column payload --source-column ip --out groups.jsonl
    nearkin patterns payloads alerts.jsonl --text-column payload --queue --match groups.jsonl
    """
    from nearkin.patterns import PayloadGroups

    def open_payloads(progress: Progress) -> AbstractContextManager[Iterator[Items]]:
        return _texts(reading, inputs, progress, options, source=source_column)

    if not queue:
        run(PayloadGroups, open_payloads, options)
        return
    refused = {name: getattr(options, name) for name in ("out", "state", "since", "time_column", "annotate", "new")}
    refuse_options({**refused, "source_column": source_column}, "it without --queue, which prints and learns nothing")
    options.check()
    model = PayloadGroups() if options.match is None else _load(PayloadGroups, options.match)
    _print_queue(model, open_payloads, as_json=options.as_json)


def run(kind: type[Patterns], open_items: OpenItems, options: PatternOptions, sample: int | None = None) -> None:
    """Learn, match, compare or export patterns, as the options say.

    Parameters
    ----------
    kind : type
        Class of the patterns.
    open_items : callable
        Opens the items.
    options : PatternOptions
    sample : int, optional
        Number of items to print of each pattern, instead of the patterns.
    """
    options.check()
    if options.export is not None and options.export not in _EXPORTS[kind.name]:
        raise bad_parameter("export", repr(options.export), ", ".join(_EXPORTS[kind.name]))
    if options.match is not None:
        model = _load(kind, options.match)
        if options.annotate is None:
            _match(model, open_items, options)
        else:
            _annotate(model, open_items, options.annotate, quiet=options.quiet)
        return
    older = None if options.since is None else _load_table(kind, options.since)
    model = kind()
    with _locked_state(options.state) as exists:
        if options.state is not None and exists:
            model = kind.open(options.state)
        before = model.count
        with progress_bars(quiet=options.quiet) as progress, open_items(progress) as batches:
            for batch in batches:
                try:
                    model.partial_fit(batch.values, **batch.details)
                except ParameterError as error:
                    if error.context.get("name") != "times":
                        raise
                    raise input_error(f"record {batch.names[error.context['row']]}", str(error)) from None
                progress("learn", model.count - before, None)
        table = model.table()
        changes = None if older is None else model.compare(older)
        text = None if options.export is None else _export(model, options.export)
        if options.out is not None:
            _write(options.out, table, text)
        # The state is saved last: a run that cannot write its output is repeated, and must not count items twice.
        if options.state is not None:
            if not exists and options.state.exists():
                message = f"{options.state}: another process has created the state; run again to add to it"
                raise StoreLockedError(message, place=str(options.state))
            model.save(options.state)
    if not options.quiet:
        _print_summary(model, table)
    if text is not None and not table.num_rows:
        warn("there are no patterns: the export explains nothing")
    if changes is not None:
        _print_changes(changes, model.decode, as_json=options.as_json)
    elif options.out is None and text is not None:
        say(text.rstrip("\n"))
    elif sample is not None:
        for row in to_values(table.select(["id", "pattern", "examples"])):
            for item in row["examples"][:sample]:
                say_row(
                    {"id": row["id"], "pattern": row["pattern"], "text": item},
                    (printable(item),),
                    as_json=options.as_json,
                )
    elif options.out is None:
        _print_patterns(table, model.decode, as_json=options.as_json)


def _write(path: Path, table: pa.Table, text: str | None) -> None:
    """Write an export, or the table without one."""
    from nearkin.io import replace_file
    from nearkin.patterns.tables import write_rows

    if text is None:
        write_rows(path, table)
        return
    with replace_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


@contextmanager
def _locked_state(path: Path | None) -> Iterator[bool]:
    """Lock the state against changes by others, and return whether it exists."""
    from nearkin.io.locks import lock_file

    if path is None or not path.exists():
        yield False
        return
    with lock_file(path, "state"):
        yield True


def _load(kind: type[_Patterns], path: Path) -> _Patterns:
    """Return the patterns of a state, or of a table of `--out`."""
    from nearkin.patterns.tables import is_table, read_rows

    model = kind.from_table(read_rows(path)) if is_table(path) else kind.open(path)
    if not len(model):
        warn(f"{path} has no patterns: nothing is explained")
    return model


def _load_table(kind: type[Patterns], path: Path) -> pa.Table:
    """Return the table of a state, or a table of `--out`."""
    from nearkin.patterns.tables import is_table, read_rows

    return read_rows(path) if is_table(path) else kind.open(path).table()


def _match(model: Patterns, open_items: OpenItems, options: PatternOptions) -> None:
    """Print the pattern of each item, or the items without one."""
    from nearkin.patterns.urls import UrlPatterns

    counts: Counter[str] = Counter()
    judge = model.judge_many if options.new and isinstance(model, UrlPatterns) else None
    with listing_progress() as progress, open_items(progress) as batches:
        for batch in batches:
            matches = (judge or model.match_many)(batch.values, **batch.match_details)
            for name, item, row in zip(batch.names, batch.texts(), to_values(matches), strict=True):
                verdict = row.get("verdict") or ("new" if row["id"] is None else "known")
                counts[verdict] += 1
                if options.new and verdict == "known":
                    continue
                # An item may contain ends of lines and tabs; escaped, it is one cell.
                pattern = model.decode(row["pattern"] or "-")
                match = (printable(item),) if options.new else (row["id"] or "-", printable(pattern))
                reasons = (printable(_describe(row)),) if judge is not None else ()
                record = {"item": name, "text": item, **row}
                say_row(record, (printable(str(name)), *match, *reasons), as_json=options.as_json)
    if not options.quiet:
        patterns, unusual = _count(len(model), "patterns"), counts["unusual"]
        values = f", {unusual:,} with unusual values" if judge is not None else ""
        warn(f"{_count(counts.total(), model.name)}, {counts['new']:,} that none of {patterns} explains{values}")
    if options.new and counts.total() == counts["known"]:
        raise typer.Exit(NO_MATCH)


def _annotate(model: Patterns, open_items: OpenItems, path: Path, *, quiet: bool) -> None:
    """Write each item with its pattern, fields, leader (the first item of the pattern), number, and other columns."""
    from nearkin.io import replace_file
    from nearkin.patterns.tables import RowWriter
    from nearkin.patterns.urls import UrlPatterns

    leaders: dict[str, Any] = {}
    counts: Counter[str | None] = Counter()
    with (
        replace_file(path) as file,
        RowWriter(file, path, _annotated_schema()) as writer,
        listing_progress() as progress,
        open_items(progress) as batches,
    ):
        for batch in batches:
            rows = []
            methods = batch.match_details.get("methods") or [None] * len(batch.names)
            for name, value, method in zip(batch.names, batch.to_list(), methods, strict=True):
                match = model.match(value, method) if isinstance(model, UrlPatterns) else model.match(value)
                id = None if match is None else match.id
                counts[id] += 1
                row: dict[str, Any] = {"item": str(name), "text": _to_text(value), "pattern_id": id}
                if match is not None:
                    row["pattern"], row["fields"] = match.pattern, match.variables
                    row["leader"], row["number"] = str(leaders.setdefault(match.id, name)), counts[id]
                rows.append(row)
            writer.write(rows, batch.others)
    if not quiet:
        total, patterns = _count(counts.total(), model.name), _count(len(model), "patterns")
        warn(f"{total}, {counts[None]:,} that none of {patterns} explains")


def _annotated_schema() -> pa.Schema:
    import pyarrow as pa

    columns = [(name, pa.string()) for name in ("item", "text", "pattern_id", "pattern")]
    fields = [("fields", pa.map_(pa.string(), pa.string())), ("leader", pa.string()), ("number", pa.int64())]
    return pa.schema([*columns, *fields])


def _describe(row: Mapping[str, Any]) -> str:
    """Return the verdict on a request, and the reasons for it."""
    from nearkin.patterns.url_verdict import UnusualValue

    values = [str(UnusualValue(value["name"], value["reason"], value["rarity"])) for value in row["unusual"]]
    return "; ".join(values) or row["verdict"]


def _print_patterns(table: pa.Table, decode: Callable[[str], str], *, as_json: bool) -> None:
    """Print patterns: count, share, id and text."""
    if as_json:
        from nearkin.patterns.tables import json_rows

        for row in json_rows(table):
            say_json(row)
        return
    columns = ["count", "share", "id", "pattern"]
    rows = to_values(table.select(columns))
    cells = ([str(row["count"]), f"{row['share']:.2%}", row["id"], decode(row["pattern"])] for row in rows)
    show_table(columns, cells, header=False, lines=False, right=["count", "share"])


def _print_changes(table: pa.Table, decode: Callable[[str], str], *, as_json: bool) -> None:
    """Print what is new, gone or changed; exit code 3 if nothing is."""
    changes, columns = to_values(table), ["kind", "before", "after", "pattern", "was"]
    if as_json:
        for row in changes:
            say_json(row)
    else:
        cells = (
            [
                row["kind"],
                *(f"{row[name]:.2%}" for name in columns[1:3]),
                *(decode(row[name] or "") for name in columns[3:]),
            ]
            for row in changes
        )
        show_table(columns, cells, header=False, lines=False, right=["before", "after"])
    if not changes:
        raise typer.Exit(NO_MATCH)


def _export(model: Any, form: str) -> str:
    """Return patterns in another form."""
    if model.name == "lines":
        export = getattr(model, f"to_{form}")
        return "".join(f"{row}\t{export(row)}\n" for row in to_values(model.table().column("id")))
    if form == "regex":
        return "".join(
            f"{row['id']}\t{row['method'] or '-'}\t{row['host'] or '-'}\t{model.to_regex(row['id'])}\n"
            for row in to_values(model.table().select(["id", "method", "host"]))
        )
    return json.dumps(model.to_openapi(), indent=2, ensure_ascii=False) + "\n"


def _print_summary(model: Patterns, table: pa.Table) -> None:
    """Print the numbers of items and patterns, and examples of items without a pattern."""
    warn(f"{_count(model.count, model.name)}, {_count(table.num_rows, 'patterns')}")
    for reason, number in sorted(model.skipped.items()):
        warn(f"left out: {number:,} {reason}")
    rest = model.unmatched
    if rest.count:
        # A payload alone in its group has no pattern, yet similar payloads match it.
        fate = "alone in their group" if model.name == "payloads" else "that no pattern explains"
        examples = ", ".join(
            text if len(text) <= _MAX_EXAMPLE else f"{text[:_MAX_EXAMPLE]}…"
            for text in map(model.decode, rest.examples[:3])
        )
        warn(f"{rest.count:,} {fate}" + (f", such as {examples}" if examples else ""))


def _print_queue(model: PayloadGroups, open_items: OpenItems, *, as_json: bool) -> None:
    """Print each attack once: item, id, count, new or known, the first payload."""
    with listing_progress() as progress, open_items(progress) as batches:
        items = [pair for batch in batches for pair in zip(batch.names, batch.texts(), strict=True)]
    for row in to_values(model.queue([text for _, text in items])):
        name, text = items[row["row"]]
        record = {"item": name, "text": text, **{key: row[key] for key in ("id", "pattern", "count", "new")}}
        status = "new" if row["new"] else "known"
        # An item may contain ends of lines and tabs; escaped, it is one cell.
        cells = (printable(str(name)), row["id"] or "-", row["count"], status, printable(text))
        say_row(record, cells, as_json=as_json)


def _count(number: int, name: str) -> str:
    return f"{number:,} {name.removesuffix('s') if number == 1 else name}"


@contextmanager
def _texts(
    reading: CorpusOptions, inputs: Sequence[str], progress: Progress, options: PatternOptions, *, source: str | None
) -> Iterator[Iterator[Items]]:
    """Open the texts of a corpus, with columns of time and source, or with all others to annotate them."""
    time, keep = options.time_column, options.annotate is not None
    columns = list(dict.fromkeys(name for name in (time, source) if name is not None))
    try:
        with reading.read(inputs, extra_columns=columns, progress=progress) as corpus:
            corpus.all_columns = keep
            yield (_text_items(corpus, batch, time, source, keep=keep) for batch in corpus.batches())
    except ParameterError as error:
        if error.context.get("name") != "extra_columns":
            raise
        # Name the option whose column does not exist.
        allowed = str(error.context.get("allowed", "a column of the records"))
        name, column = ("source_column", source) if time is None else ("time_column", time)
        raise bad_parameter(name, column, allowed) from None


def _parse_multiline(multiline: str) -> Callable[[str], bool]:
    """Return the function that is true for the first line of a record."""
    if multiline == "indent":
        # Java prints the cause of an exception without white space.
        return lambda line: bool(line) and not line[0].isspace() and not line.startswith("Caused by: ")
    try:
        search = re.compile(multiline).search
    except re.error as error:
        raise bad_parameter("multiline", repr(multiline), f"indent or a regular expression: {error}") from None
    return lambda line: search(line) is not None


def _records(batches: Iterator[Items], is_start: Callable[[str], bool]) -> Iterator[Items]:
    """Join the lines of each record, at most 1,000; it has the number, time and other columns of its first line."""
    record: _Record | None = None
    for batch in batches:
        closed: list[_Record] = []
        columns = {key: to_values(column) if is_arrow(column) else column for key, column in batch.details.items()}
        for row, text in enumerate(batch.texts()):
            if record is not None and (len(record.lines) == _MAX_RECORD or is_start(text)):
                closed.append(record)
                record = None
            if record is None:
                details = {key: column[row] for key, column in columns.items()}
                others = None if batch.others is None else batch.others[row : row + 1]
                record = _Record([], batch.names[row], details, others)
            record.lines.append(text)
        if closed:
            yield _join_records(closed)
    if record is not None:
        yield _join_records([record])


@dataclass
class _Record:
    """A record of several lines, and what its first line has."""

    lines: list[str]
    name: Any
    details: Mapping[str, Any]
    others: OtherColumns | None


def _join_records(records: Sequence[_Record]) -> Items:
    """Return records as items."""
    details = {key: [record.details[key] for record in records] for key in records[0].details}
    parts = [record.others for record in records if record.others is not None]
    others: OtherColumns | None = None
    if parts and isinstance(parts[0], list):
        others = [row for part in parts for row in part]
    elif parts:
        import pyarrow as pa

        others = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    return Items(
        ["\n".join(record.lines) for record in records], [record.name for record in records], details, others=others
    )


def _text_items(corpus: Corpus, batch: Batch, time: str | None, source: str | None, *, keep: bool) -> Items:
    details: dict[str, Any] = {}
    if time is not None:
        details["times"] = batch.columns[time]
    if source is not None:
        details["sources"] = [None if value is None else str(value) for value in batch.columns[source]]
    return Items(batch.texts, batch.ids.to_list(), details, others=corpus.other_columns(batch) if keep else None)


def _list_logs(inputs: Sequence[str]) -> list[str]:
    """Return files, including those that globs match and those below folders, sorted by name."""
    folders = ([name] if name == "-" else [str(file.path) for file in resolve(name, "files")[1]] for name in inputs)
    return [name for names in folders for name in names]


@contextmanager
def _requests(
    reader: RequestReader, fields: Fields, max_malformed: float, progress: Progress
) -> Iterator[Iterator[Items]]:
    """Open the requests of files; at the end of the context, report lines that are not requests."""
    files = [Path(name) for name in reader.paths if Path(name).is_file()]
    if len(files) == len(reader.paths):
        reader.on_read = megabyte_ticker(progress, "read", sum(file.stat().st_size for file in files))

    def items() -> Iterator[Items]:
        first = 0
        for batch in reader:
            methods = {"methods": batch.methods}
            details = {**methods, "times": batch.times, "clients": batch.clients}
            yield Items(batch.urls, list(range(first, first + len(batch.urls))), details, methods, batch.others)
            first += len(batch.urls)
        for name, column in vars(fields).items():
            is_json, allowed = "jsonl" in reader.formats, "a field of the records; none of them has it"
            given = column is not None if name != "url" else column != "url" and not is_json
            if given and first and column not in reader.seen:
                raise bad_parameter(f"{name}_column", column, allowed if is_json else "JSON Lines with it")
        malformed = sum(reader.malformed.values())
        limit = max_malformed if isinstance(max_malformed, int) else max_malformed * (first + malformed)
        if malformed and (not first or malformed > limit):
            path, line, reason = reader.first_malformed[0]
            place = f"{path}:{line}"
            message = f"{malformed:,} of {first + malformed:,} lines are no requests, the first {place}: {reason}"
            column = "the time" if "valid time" in reason else "the URL"
            message += f"; name that of {column} by --{column[4:].lower()}-column" if reason.startswith("no ") else ""
            message += "; --max-malformed allows more" if first else ""
            raise InputError(message, place=place, reason=reason)

    yield items()
    for path, line, reason in reader.first_malformed[:5]:
        warn(f"skipped: {path}:{line}: {reason}")
    if (total := sum(reader.malformed.values())) > 5:
        ordered = sorted(reader.malformed.items(), key=lambda item: (-item[1], item[0]))
        warn(f"skipped {total:,} lines in all: " + ", ".join(f"{reason} ({number:,})" for reason, number in ordered))
