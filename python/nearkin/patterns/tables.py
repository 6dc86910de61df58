"""Arrow tables of patterns: their columns, their files, and the changes between two tables.

Tables are written as JSON Lines, for people and `jq`, or as Parquet. The pattern of a pattern is the pattern itself, so
a table is sufficient for matching.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nearkin._core import kind_names
from nearkin.errors import InputError, bad_parameter
from nearkin.io import replace_file
from nearkin.io.arrow import to_values
from nearkin.io.tempspool import Spool
from nearkin.patterns.inputs import NO_TIME, parse_time

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin.io.base import OtherColumns

KINDS = dict(kind_names())
"""Names of the types of variables, by their numbers in templates."""
_WILDCARD = re.compile(rb"\xff([\x00-\xfe])")
TYPED = re.compile("(\\{(?:" + "|".join(KINDS.values()) + ")\\})")
"""A variable in the text of a pattern."""
_JSON = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_SUFFIX = "_input"
"""Suffix of columns of the input whose names are taken."""
_MAX_NAMES = 1 << 16
"""Names of other columns that a writer remembers."""
MAX_EXAMPLES = 3
"""Maximum number of examples of a pattern, as in the core."""
MAX_SAMPLES = 5
"""Maximum number of values of a variable in a table."""
_CHANGE_ORDER = {"new": 0, "gone": 1, "type": 2, "share": 3}
"""Kinds of changes, in their order in a table."""

Arrays = dict[str, npt.NDArray[Any]]


def template_text(template: bytes) -> str:
    r"""Return a template as text: wildcards as `{type}`, invalid UTF-8 as `\xNN`.

    Examples
    --------
    >>> from nearkin.patterns.tables import template_text
    >>> template_text(b"took \xff\x01 ms")
    'took {int} ms'
    """

    def replace(wildcard: re.Match[bytes]) -> bytes:
        number = wildcard[1][0]
        return b"\\xff" if number == 0 else b"{" + KINDS[number].encode() + b"}"

    return _WILDCARD.sub(replace, template).decode("utf-8", "backslashreplace")


def variable_types(template: bytes) -> list[str]:
    """Return the types of the variables of a template, in order."""
    return [KINDS[number] for match in _WILDCARD.findall(template) for number in match if number]


def variable_names(types: Sequence[str], keys: Sequence[str | None] | None = None) -> list[str]:
    """Return the names of variables: the key before each, or its type; repeated names are numbered.

    Examples
    --------
    >>> from nearkin.patterns.tables import variable_names
    >>> variable_names(["int", "ip", "int"])
    ['int', 'ip', 'int_2']
    """
    counts: dict[str, int] = {}
    names = []
    for number, kind in enumerate(types):
        name = (keys[number] if keys else None) or kind
        counts[name] = counts.get(name, 0) + 1
        names.append(name if counts[name] == 1 else f"{name}_{counts[name]}")
    return names


def pattern_id(text: str) -> str:
    """Return the id of a pattern, 16 hexadecimal digits, from its text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def count_distinct(hashes: Sequence[int], sample: int) -> int:
    """Return the number of distinct values that a sample represents: exact below its size, otherwise an estimate."""
    if len(hashes) < sample:
        return len(hashes)
    return max(sample, round((sample - 1) * 2.0**64 / max(float(hashes[-1]), 1.0)))


def split_bytes(ends: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> list[bytes]:
    """Return consecutive byte strings, by their ends."""
    joined, offsets = data.tobytes(), [0, *ends.tolist()]
    return [joined[start:end] for start, end in pairwise(offsets)]


class Samples:
    """Samples of a table of templates: hashes and values of each row, ascending by hash."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._offsets = [0, *arrays[f"{name}_ends"].tolist()]
        self._hashes = arrays[f"{name}_hashes"].tolist()
        self._values = split_bytes(arrays[f"{name}_text_ends"], arrays[f"{name}_text"])

    def union(self, rows: Iterable[int], limit: int) -> tuple[list[int], list[bytes]]:
        """Return the smallest hashes of some rows, ascending, and their values."""
        values: dict[int, bytes] = {}
        for row in rows:
            span = slice(self._offsets[row], self._offsets[row + 1])
            values.update(zip(self._hashes[span], self._values[span], strict=True))
        hashes = sorted(values)[:limit]
        return hashes, [values[key] for key in hashes]


class Group(NamedTuple):
    """The templates of a pattern: that of its centre, and the sampled values of each variable."""

    template: bytes
    values: list[list[bytes]]


def _decode(values: Iterable[bytes]) -> list[str]:
    return [value.decode("utf-8", "backslashreplace") for value in values]


def table_schema(extra: Sequence[tuple[str, Any]] = ()) -> pa.Schema:
    """Return the columns of a table of patterns, with those of a class after `pattern`."""
    import pyarrow as pa

    time = pa.timestamp("us", tz="UTC")
    variable = pa.struct(
        [("name", pa.string()), ("type", pa.string()), ("distinct", pa.int64()), ("samples", pa.list_(pa.string()))]
    )
    return pa.schema(
        [
            ("id", pa.string()),
            ("pattern", pa.string()),
            *extra,
            ("count", pa.int64()),
            ("share", pa.float64()),
            ("first_seen", time),
            ("last_seen", time),
            ("sources", pa.int64()),
            ("examples", pa.list_(pa.string())),
            ("variables", pa.list_(variable)),
            ("days", pa.list_(pa.struct([("day", pa.date32()), ("count", pa.int64())]))),
        ]
    )


def build_table(
    arrays: Arrays,
    total: int,
    sample: int,
    *,
    text: Callable[[bytes], str] = template_text,
    names: Callable[[bytes], list[str]] = lambda template: variable_names(variable_types(template)),
    extra: Sequence[tuple[str, Any, Callable[[Group], Any]]] = (),
    groups: Mapping[int, Sequence[int]] | None = None,
    num_shared: int = 0,
) -> pa.Table:
    """Return the table of patterns, by decreasing number of items, then by text.

    Parameters
    ----------
    arrays : dict
        `FormTable.arrays()` of a table of templates.
    total : int
        Number of items, for shares.
    sample : int
        Maximum size of a sample.
    text : callable
        Maps a template to the text of the pattern.
    names : callable
        Maps a template to the names of its variables.
    extra : sequence of (name, Arrow type, callable)
        Columns of the class, from a group.
    groups : mapping of int to rows, optional
        Rows of the templates of each pattern, by the row of its centre. Default: each template is a pattern.
    num_shared : int
        Number of first variables that all templates of a group have. Values of the others are those of the templates
        with the types of the centre.
    """
    import pyarrow as pa

    templates = split_bytes(arrays["form_ends"], arrays["forms"])
    types = [variable_types(template) for template in templates]
    values, examples, sources = (Samples(arrays, name) for name in ("holes", "examples", "sources"))
    starts, day_starts = ([0, *arrays[f"{name}_ends"].tolist()] for name in ("hole", "day"))
    columns = ("counts", "first", "last", "days", "day_counts")
    counts, first, last, days, day_counts = (arrays[name].tolist() for name in columns)
    rows = []
    for centre, members in ({row: [row] for row in range(len(templates))} if groups is None else groups).items():
        template, pattern = templates[centre], text(templates[centre])
        alike = [row for row in members if types[row] == types[centre]]
        variables: list[dict[str, Any]] = []
        group = Group(template, [])
        for i, (name, kind) in enumerate(zip(names(template), types[centre], strict=True)):
            hashes, found = values.union((starts[row] + i for row in (members if i < num_shared else alike)), sample)
            group.values.append(found)
            samples = _decode(found[:MAX_SAMPLES])
            variables.append(
                {"name": name, "type": kind, "distinct": count_distinct(hashes, sample), "samples": samples}
            )
        by_day: Counter[int] = Counter()
        for row in members:
            for i in range(day_starts[row], day_starts[row + 1]):
                by_day[days[i]] += day_counts[i]
        count, latest = sum(counts[row] for row in members), max(last[row] for row in members)
        rows.append(
            {
                "id": pattern_id(pattern),
                "pattern": pattern,
                **{name: value(group) for name, _, value in extra},
                "count": count,
                "share": count / max(total, 1),
                "first_seen": min((first[row] for row in members if first[row] != NO_TIME), default=None),
                "last_seen": None if latest == NO_TIME else latest,
                "sources": count_distinct(sources.union(members, sample)[0], sample),
                "examples": _decode(examples.union(members, MAX_EXAMPLES)[1]),
                "variables": variables,
                "days": [{"day": day, "count": number} for day, number in sorted(by_day.items())],
            }
        )
    rows.sort(key=lambda row: (-row["count"], row["pattern"]))
    return pa.Table.from_pylist(rows, table_schema([(name, kind) for name, kind, _ in extra]))


# Changes


def compare_tables(old: pa.Table, new: pa.Table) -> pa.Table:
    """Return the changes from one table of patterns to another.

    Parameters
    ----------
    old, new : pyarrow.Table
        With columns `pattern`, `id`, `count` and `share`.

    Returns
    -------
    pyarrow.Table
        `kind`, `id`, `pattern`, `was`, `before`, `after`. Kinds: *new*, *gone*; *type*: a pattern that differs from an
        old one, `was`, only in types of variables; *share*: shares that differ by a quarter or more, and by more than
        chance (five standard errors). `before` and `after` are shares.
    """
    import pyarrow as pa

    before, after = (
        {row["id"]: row for row in to_values(table.select(["id", "pattern", "count", "share"]))} for table in (old, new)
    )
    # Patterns that differ only in types of variables, the largest last.
    gone: dict[str, list[dict[str, Any]]] = {}
    for key, row in sorted(before.items(), key=lambda item: (item[1]["count"], item[1]["pattern"])):
        if key not in after:
            gone.setdefault(TYPED.sub("{}", row["pattern"]), []).append(row)
    changes: list[dict[str, Any]] = []
    for key, row in after.items():
        similar = gone.get(TYPED.sub("{}", row["pattern"]))
        was = before.get(key) or (similar.pop() if similar else None)
        kind = "new" if was is None else "type" if was["id"] != key else "share"
        if was is None or kind == "type" or _is_significant(was, row):
            changes.append(_change(kind, row, was, row))
    changes += [_change("gone", row, row, None) for rows in gone.values() for row in rows]
    shares = [("before", pa.float64()), ("after", pa.float64())]
    texts = [(name, pa.string()) for name in ("kind", "id", "pattern", "was")]
    return pa.Table.from_pylist(_sort_changes(changes), pa.schema([*texts, *shares]))


def chance_of_absence(count: int, share: float, total: int) -> float:
    """Return the probability that chance alone causes the absence of a pattern from today's items.

    If each item, of yesterday or today, has the pattern with one probability, then each of its `count` items is one of
    yesterday's n with the probability n / (n + total), so that all of them are with (n / (n + total))^count. This is
    the exact conditional test of equal Poisson rates (Przyborowski and Wilenski, Biometrika 31, 1940). It assumes that
    items are independent: an interface with few but large bursts is absent more often.

    Parameters
    ----------
    count : int
        Number of yesterday's items with the pattern.
    share : float
        Their share of yesterday's items, 0 to 1.
    total : int
        Number of today's items.

    Examples
    --------
    >>> from nearkin.patterns.tables import chance_of_absence
    >>> chance_of_absence(6, 0.06, 100), chance_of_absence(7, 0.07, 100)
    (0.015625, 0.0078125)
    """
    return (count / (count + share * total)) ** count if count else 1.0


def join_changes(changes: pa.Table, wider: Mapping[str, str | None], narrower: Mapping[str, str | None]) -> pa.Table:
    """Replace new patterns that match gone ones, or that gone ones match, by changes of type.

    Parameters
    ----------
    changes : pyarrow.Table
        As returned by `compare_tables`.
    wider : mapping of str to str or None
        For the text of each gone pattern the id of the new pattern that matches it.
    narrower : mapping of str to str or None
        For the text of each new pattern the id of the old pattern that matches it.
    """
    import pyarrow as pa

    rows = to_values(changes)
    new, gone = ({row["id"]: row for row in rows if row["kind"] == kind} for kind in ("new", "gone"))
    covered: set[str] = set()
    for row in sorted(gone.values(), key=lambda row: row["before"]):
        if (match := new.get(wider.get(row["pattern"]) or "")) is not None:
            # The largest gone pattern comes last.
            before = match["before"] if match["kind"] == "type" else 0.0
            match.update(kind="type", was=row["pattern"], before=before + row["before"])
            covered.add(row["id"])
    for row in new.values():
        if (match := gone.get(narrower.get(row["pattern"]) or "")) is not None and row["kind"] == "new":
            row.update(kind="type", was=match["pattern"], before=match["before"])
            covered.add(match["id"])
    kept = [row for row in rows if row["kind"] != "gone" or row["id"] not in covered]
    return pa.Table.from_pylist(_sort_changes(kept), changes.schema)


def _sort_changes(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(
        changes, key=lambda row: (_CHANGE_ORDER[row["kind"]], -(row["after"] or row["before"]), row["pattern"])
    )


def _change(kind: str, row: dict[str, Any], was: dict[str, Any] | None, now: dict[str, Any] | None) -> dict[str, Any]:
    text = was["pattern"] if kind == "type" and was else None
    shares = {"before": was["share"] if was else 0.0, "after": now["share"] if now else 0.0}
    return {"kind": kind, "id": row["id"], "pattern": row["pattern"], "was": text, **shares}


def _is_significant(was: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return True if two shares differ by a quarter and by five standard errors of a difference of proportions."""
    low, high = sorted((was["share"], now["share"]))
    if high < 1.25 * low or high == 0:
        return False
    totals = [row["count"] / row["share"] for row in (was, now) if row["share"]]
    pooled = (was["count"] + now["count"]) / sum(totals)
    error = math.sqrt(pooled * (1 - pooled) * sum(1 / total for total in totals))
    return bool(high - low > 5 * error)


# Files


def check_suffix(path: str | os.PathLike[str], name: str = "path") -> None:
    """Check that `write_rows` supports the format of a file name.

    Raises
    ------
    ParameterError
        The message names the suffixes.
    """
    if Path(path).suffix.lower() not in _JSON + _PARQUET:
        raise bad_parameter(name, str(path), "a name that ends in .jsonl or .parquet")


def json_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table of patterns for JSON: times and days in ISO 8601.

    Parameters
    ----------
    table : pyarrow.Table
        As returned by `Patterns.table`.
    """
    for batch in table.to_batches(max_chunksize=4096):
        for row in to_values(batch):
            row |= {name: row[name] and row[name].isoformat() for name in ("first_seen", "last_seen")}
            row["days"] = [{**day, "day": day["day"].isoformat()} for day in row["days"]]
            yield row


def write_rows(path: str | os.PathLike[str], table: pa.Table) -> None:
    """Write a table of patterns to a file atomically.

    Parameters
    ----------
    path : path
        Its name ends in `.jsonl`, `.ndjson`, `.parquet` or `.pq`.
    table : pyarrow.Table
        As returned by `Patterns.table`.

    Raises
    ------
    ParameterError
        The suffix is another one.
    OSError
        The file cannot be written.
    """
    check_suffix(path)
    with replace_file(path) as file:
        if Path(path).suffix.lower() in _PARQUET:
            import pyarrow.parquet as pq

            pq.write_table(table, file)
            return
        for row in json_rows(table):
            file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


class RowWriter:
    """A writer of rows to a file, JSON Lines or Parquet by its name; close it, or use it as a context manager.

    Rows may have other columns, which follow those of the schema. Their types are known at the end, so Parquet is
    written from a temporary file of Arrow batches. Memory is that of a batch.

    Parameters
    ----------
    file : binary file
    path : path
        Name of the file; see `check_suffix`. The temporary file is in the folder of this path.
    schema : pyarrow.Schema
        Columns of the rows. A map is a dict in the rows, and an object in JSON; missing columns are null. Another
        column gets the suffix `_input` if its name is one of these, with or without such suffixes.
    """

    def __init__(self, file: IO[bytes], path: str | os.PathLike[str], schema: pa.Schema) -> None:
        self._file, self._path, self._schema = file, path, schema
        self._written = {field.name: field for field in schema}
        self._own_names, self._free_names = frozenset(schema.names), dict[str, str]()
        self._spool = Spool(Path(path).parent) if Path(path).suffix.lower() in _PARQUET else None
        self._num_batches = 0

    def write(self, rows: Sequence[Mapping[str, Any]], others: OtherColumns | None = None) -> None:
        """Write rows, with other columns: a dictionary for each row, or a batch of Arrow.

        Raises
        ------
        InputError
            Parquet cannot hold the other columns: their values have several types.
        """
        if self._spool is not None:
            self._spool_batch(rows, others)
            return
        if others is None or isinstance(others, list):
            more: Iterable[Mapping[str, Any]] = others or ({} for _ in rows)
        else:
            more = map(_plain, to_values(others))
        empty, free_name = dict.fromkeys(self._schema.names), self._free_name
        lines = [
            _json_line({**empty, **row, **{free_name(name): value for name, value in other.items()}})
            for row, other in zip(rows, more, strict=True)
        ]
        self._file.write(b"".join(lines))

    def _free_name(self, name: str) -> str:
        """Return the name of another column; distinct columns have distinct names."""
        free = self._free_names.get(name)
        if free is None:
            if len(self._free_names) == _MAX_NAMES:
                self._free_names.clear()
            base = re.sub(f"(?:{_SUFFIX})+\\Z", "", name)
            free = self._free_names[name] = name + _SUFFIX if base in self._own_names else name
        return free

    def _spool_batch(self, rows: Sequence[Mapping[str, Any]], others: OtherColumns | None) -> None:
        import pyarrow as pa

        columns = [_to_array(field, [row.get(field.name) for row in rows]) for field in self._schema]
        fields = list(self._schema)
        if isinstance(others, list):
            # Most rows may lack most columns.
            cells: defaultdict[str, list[Any]] = defaultdict(lambda: [None] * len(others))
            for row, other in enumerate(others):
                for name, value in other.items():
                    cells[name][row] = value
            for name, values in cells.items():
                column = self._infer(name, values)
                columns.append(column)
                fields.append(pa.field(self._free_name(name), column.type))
        elif others is not None:
            columns += others.columns
            fields += [field.with_name(self._free_name(field.name)) for field in others.schema]
        batch = pa.record_batch(columns, schema=pa.schema(fields))
        for field in batch.schema:
            before = self._written.setdefault(field.name, field)
            if before.type != field.type:
                self._written[field.name] = self._unify(before, field)
        with io.BytesIO() as buffer:
            with pa.ipc.new_stream(buffer, batch.schema) as stream:
                stream.write_batch(batch)
            self._spool.write(buffer.getbuffer())  # type: ignore[union-attr]
        self._num_batches += 1

    def _unify(self, one: pa.Field, other: pa.Field) -> pa.Field:
        import pyarrow as pa

        try:
            return pa.unify_schemas([pa.schema([one]), pa.schema([other])], promote_options="permissive").field(0)
        except pa.ArrowException as error:
            raise self._mixed(str(error)) from error

    def _infer(self, name: str, values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
        """Return values of JSON as a column."""
        import pyarrow as pa

        try:
            return pa.array(values, kind)
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise self._mixed(f"column {name!r}: {error}") from error

    def _mixed(self, error: str) -> InputError:
        reason = f"a column of Parquet has one type ({' '.join(error.split())}); write JSON Lines"
        return InputError(f"{self._path}: {reason}", place=os.fspath(self._path), reason=reason)

    def close(self) -> None:
        """Write the end of the file."""
        if self._spool is None:
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            schema = pa.schema(list(self._written.values()))
            with self._spool.reading() as spooled, pq.ParquetWriter(self._file, schema) as writer:
                for _ in range(self._num_batches):
                    for batch in pa.ipc.open_stream(spooled):
                        own = dict(zip(batch.schema.names, batch.columns, strict=True))
                        columns = [self._column_of(own.get(field.name), field, batch.num_rows) for field in schema]
                        writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        except pa.ArrowNotImplementedError as error:
            raise self._mixed(str(error)) from error
        finally:
            self._spool.close()

    def _column_of(self, column: pa.Array | None, field: pa.Field, num_rows: int) -> pa.Array:
        """Return a column of a batch in its final type; nulls if the batch does not have it."""
        import pyarrow as pa

        if column is None:
            return pa.nulls(num_rows, field.type)
        return column if column.type == field.type else self._infer(field.name, to_values(column), field.type)

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        elif self._spool is not None:
            self._spool.close()


def _to_array(field: pa.Field, values: list[Any]) -> pa.Array:
    import pyarrow as pa

    return pa.array([list(value.items()) if isinstance(value, dict) else value for value in values], field.type)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _json_line(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON; numbers beyond floats, such as 1e999, are null."""
    try:
        line = _ENCODER.encode(row)
    except ValueError:
        line = json.dumps(_plain(row), ensure_ascii=False)
    return line.encode("utf-8", "backslashreplace") + b"\n"


def _plain(value: Any) -> Any:
    """Return a value for JSON: times in ISO 8601, decimals as text, bytes as UTF-8, NaN and infinity null."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if value is None or isinstance(value, (str, int)) else str(value)


def read_rows(path: str | os.PathLike[str]) -> pa.Table:
    """Read a table that `write_rows` wrote.

    Returns
    -------
    pyarrow.Table
        With all columns of `Patterns.table`; missing values are null.

    Raises
    ------
    InputError
        The file is not such a table; the message names the line.
    OSError
        The file cannot be read.
    """
    import pyarrow as pa

    if Path(path).suffix.lower() in _PARQUET:
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
        except pa.ArrowInvalid as error:
            raise _invalid(path, f"it is not Parquet ({error})") from error
        for name in ("id", "pattern", "count", "share"):
            if name not in table.column_names:
                raise _invalid(path, f"it has no column {name!r}, unlike tables of patterns")
        return table
    with Path(path).open("rb") as file:
        rows = [_parse_row(path, number, line) for number, line in enumerate(file, 1)]
    names = table_schema().names
    extra = [name for name in (rows[0] if rows else ()) if name not in names]
    try:
        types = [(name, pa.array([row.get(name) for row in rows]).type) for name in extra]
        return pa.Table.from_pylist(rows, table_schema(types))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _invalid(path, f"a value has another type ({error})") from error


def _parse_row(path: str | os.PathLike[str], number: int, line: bytes) -> dict[str, Any]:
    """Return a line as a row, with times and days for Arrow."""
    try:
        row: dict[str, Any] = json.loads(line)
        if not isinstance(row["pattern"], str) or not isinstance(row["id"], str):
            raise TypeError("pattern and id are strings")
        for name in ("first_seen", "last_seen"):
            if row.get(name) is not None:
                row[name] = parse_time(datetime.datetime.fromisoformat(row[name]))
                if row[name] is None:
                    raise ValueError(f"{name} is outside the years 1 to 9999")
        row["days"] = [{**day, "day": datetime.date.fromisoformat(day["day"])} for day in row.get("days") or ()]
        return {**row, "count": int(row["count"]), "share": float(row["share"])}
    except KeyError as error:
        raise _invalid(path, f"a pattern has no {error.args[0]!r}", number) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise _invalid(path, f"it is not a pattern ({error})", number) from error


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return True if a file is a table of patterns, and not a state, by its first bytes."""
    with Path(path).open("rb") as file:
        start = file.read(4)
    return start[:1] == b"{" or start == b"PAR1" or not start


def _invalid(path: str | os.PathLike[str], reason: str, line: int | None = None) -> InputError:
    place = os.fspath(path) if line is None else f"{os.fspath(path)}, line {line}"
    return InputError(f"{place}: {reason}", place=place, reason=reason)
