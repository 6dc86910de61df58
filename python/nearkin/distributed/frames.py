"""Rows in tables that tasks hold, with the methods of a DataFrame of Spark that `plan` calls.

An engine that runs Python functions on tables (`Tasks`) needs nothing else. A *part* of a frame is some tables and the
*steps* that a task applies to their rows. An *exchange* is a row of tasks that each split a part by the hashes of
keys into as many tables as there are parts afterwards, and each has all rows of its keys. Joins and aggregates are
exchanges, followed by a local one; a side that is already split by the keys stays where it is. The driver holds
references and counts; rows reach it by `toArrow` alone.

Expressions are those that SQL and Python share: names, numbers, `==`, `and`, `is null`, `coalesce(a, b)`,
`bigint(null)`.
"""

from __future__ import annotations

import ast
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.distributed.documents import TASK_ROWS, binary_bytes, num_tasks, scramble, to_integers
from nearkin.errors import OutputError
from nearkin.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

Stage = Callable[["Iterator[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]
"""A function of `nearkin.distributed`."""
Step = Callable[["pa.Table"], "pa.Table"]
PLACE = 40
"""Bits of the row in the place of a document; the others have the number of its part."""


class Tasks(Protocol):
    """What runs tasks."""

    def run(self, function: Callable[..., Any], *arguments: Any, returns: int | None = None) -> Any:
        """Start a call, and return the reference of its result; with `returns`, those of the items of its result."""

    def put(self, value: Any) -> Any:
        """Store a value once for many calls, and return its reference."""

    def get(self, references: Any) -> Any:
        """Wait for the values of a list of references."""


class LocalTasks:
    """Runs each call at once, in this process; a reference is the value itself, or a function that reads it."""

    def run(self, function: Callable[..., Any], *arguments: Any, returns: int | None = None) -> Any:
        """Call a function."""
        result = function(*(each() if isinstance(each, FileTable) else each for each in arguments))
        return self.put(result) if returns is None else [self.put(each) for each in result]

    def put(self, value: Any) -> Any:
        """Return the value."""
        return value

    def get(self, references: Any) -> Any:
        """Return the values."""
        return [each() if isinstance(each, FileTable) else each for each in references]


class FileTasks(LocalTasks):
    """Runs each call at once, and holds tables in files of a temporary folder, which vanish with their references."""

    def __init__(self) -> None:
        self._folder, self._count = tempfile.mkdtemp(prefix="nearkin-tasks-"), 0
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def put(self, value: Any) -> Any:
        """Write a table to a file, and return the function that reads it; return any other value."""
        import pyarrow as pa
        import pyarrow.feather

        if not isinstance(value, pa.Table):
            return value
        self._count += 1
        path = Path(self._folder, f"{self._count}.arrow")
        pyarrow.feather.write_feather(value, path, compression="uncompressed")
        table = FileTable(partial(pyarrow.feather.read_table, path), str(path), value.num_rows)
        weakref.finalize(table, path.unlink, missing_ok=True)
        return table


@dataclass(frozen=True)
class FileTable:
    """A table in a file, which is read for each call that needs it.

    Attributes
    ----------
    read : function
    path : str
    num_rows : int
        Rows that the file has; another number is an error.
    """

    read: Callable[[], pa.Table]
    path: str
    num_rows: int

    def __call__(self) -> pa.Table:
        """Read the table.

        Raises
        ------
        OutputError
            The file is gone, can't be read, or has other rows than were written.
        """
        import pyarrow as pa

        try:
            table = self.read()
            fault = "" if table.num_rows == self.num_rows else f"has {table.num_rows:,} of its {self.num_rows:,} rows"
        except (OSError, pa.ArrowInvalid) as error:
            fault = f"can't be read again ({error})"
        if fault:
            message = f"the file {self.path} {fault}; something deleted or changed it; run again"
            raise OutputError(message, place=self.path)
        return table


# Steps


_TYPES = {
    "bigint": "int64",
    "int": "int32",
    "double": "float64",
    "boolean": "bool",
    "string": "large_string",
    "binary": "binary",
    "array<bigint>": "int64",
}


_NODES = (
    "Eq:equal NotEq:not_equal Lt:less LtE:less_equal Gt:greater GtE:greater_equal Is:is_null IsNot:is_valid "
    "And:and_kleene Or:or_kleene Not:invert Add:add Sub:subtract Mult:multiply USub:negate BitAnd:bit_wise_and "
    "shiftright:shift_right coalesce:coalesce least:min_element_wise greatest:max_element_wise"
)
_FUNCTIONS = dict(each.split(":") for each in _NODES.split())
"""Nodes and functions of expressions, and the names of what computes them."""


def sql_schema(columns: str) -> pa.Schema:
    """Return the schema of columns with SQL types, such as `number bigint, text string`."""
    import pyarrow as pa

    fields = []
    for column in columns.split(", "):
        name, _, kind = column.partition(" ")
        plain = pa.type_for_alias(_TYPES[kind])
        fields.append((name, pa.list_(plain) if kind.startswith("array") else plain))
    return pa.schema(fields)


def plain_strings(table: pa.Table) -> pa.Table:
    """Return a table with the strings that all readers of Arrow have."""
    import pyarrow as pa

    kinds = [pa.string() if field.type == pa.large_string() else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def apply_stage(stage: Stage, columns: str, table: pa.Table) -> pa.Table:
    """Apply a stage to the rows of a table."""
    import pyarrow as pa

    schema = sql_schema(columns)
    batches = [batch for batch in stage(iter(table.to_batches())) if batch.num_rows]
    return pa.concat_tables(
        [schema.empty_table(), *(pa.table(each).select(schema.names).cast(schema) for each in batches)]
    )


def project(columns: Sequence[str], table: pa.Table) -> pa.Table:
    """Return columns of expressions: a name, or `expression AS name`."""
    import pyarrow as pa

    cells: dict[str, Any] = {}
    for column in columns:
        expression, _, name = column.rpartition(" AS ")
        value = evaluate((expression or name).replace("`", ""), table)
        cells[name.strip("`")] = pa.repeat(value, table.num_rows) if isinstance(value, pa.Scalar) else value
    return pa.table(cells)


def select(condition: str, table: pa.Table) -> pa.Table:
    """Return the rows for which a condition is true."""
    return table.filter(evaluate(condition, table))


def evaluate(expression: str, table: pa.Table) -> Any:
    """Return the values of an expression, as a column or a scalar."""
    import pyarrow as pa
    import pyarrow.compute as pc

    constants = {"null": pa.scalar(None), "true": pa.scalar(True), "false": pa.scalar(False)}

    def call(name: str, *values: Any) -> Any:
        if name in _TYPES:
            return pc.cast(values[0], sql_schema(f"x {name}").field(0).type)
        return getattr(pc, _FUNCTIONS[name])(*values[: 1 if name in ("Is", "IsNot") else None])

    def value(node: Any) -> Any:
        if isinstance(node, ast.Name):
            return constants[node.id] if node.id in constants else table.column(node.id)
        if isinstance(node, ast.Constant):
            return pa.scalar(node.value)
        if isinstance(node, ast.Call):
            return call(node.func.id, *map(value, node.args))  # type: ignore[attr-defined]
        if isinstance(node, ast.Compare):
            return call(type(node.ops[0]).__name__, value(node.left), value(node.comparators[0]))
        name = type(node.op).__name__
        if isinstance(node, ast.BoolOp):
            return reduce(partial(call, name), map(value, node.values))
        sides = (getattr(node, side) for side in ("left", "right", "operand") if hasattr(node, side))
        return call(name, *map(value, sides))

    return value(_parse(expression))


@cache
def _parse(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def sample_rows(fraction: float, seed: int, table: pa.Table) -> pa.Table:
    """Return a sample of rows."""
    return table.filter(np.random.default_rng(seed).random(table.num_rows) < fraction)


def first_rows(count: int, table: pa.Table) -> pa.Table:
    """Return the first rows."""
    return table.slice(0, count)


def rename(names: Sequence[str], table: pa.Table) -> pa.Table:
    """Rename all columns."""
    return table.rename_columns(list(names))


def aggregate(keys: Sequence[str] | None, columns: dict[str, str], table: pa.Table) -> pa.Table:
    """Aggregate columns by keys, which are all columns for None."""
    keys = table.column_names if keys is None else keys
    rows = table.group_by(keys).aggregate(list(columns.items()))
    return rows.select([*keys, *(f"{name}_{function}" for name, function in columns.items())])


# Tasks


@dataclass(frozen=True)
class Part:
    """Some rows of a frame.

    Attributes
    ----------
    tables : tuple of references
    steps : tuple of functions
        From a table to a table, applied to their rows.
    """

    tables: tuple[Any, ...]
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Partition:
    """How rows are split into parts: by the hashes of keys, those of all columns for None, or by their place.

    Attributes
    ----------
    keys : tuple of str or None
    count : int
    by_place : bool
    """

    keys: tuple[str, ...] | None
    count: int
    by_place: bool = False

    def parts_of(self, table: pa.Table) -> NDArray[np.int64]:
        """Return the part of each row."""
        import pyarrow as pa

        keys = table.column_names if self.keys is None else self.keys
        if self.by_place:
            return to_integers(table.column(keys[0])) >> PLACE
        state = np.zeros(table.num_rows, np.int64)
        for name in keys:
            column = table.column(name)
            if str(column.type).endswith("string"):
                cells = content_hashes(column)[0].view(np.int64).reshape(-1, 2)[:, 0]
            elif pa.types.is_binary(column.type):
                cells = binary_bytes(column).view(np.int64)[::2]  # The first words of content hashes.
            elif pa.types.is_floating(column.type):
                continue  # Rows that are equal have other columns that are.
            else:
                cells = to_integers(column.cast(pa.int64()))
            state = scramble(state ^ cells).view(np.int64)
        return state % self.count


def run_steps(steps: Sequence[Step], *tables: pa.Table) -> pa.Table:
    """Apply steps to the rows of tables."""
    import pyarrow as pa

    rows = (
        tables[0] if len(tables) == 1 else pa.concat_tables([table for table in tables if table.num_rows] or tables[:1])
    )
    return reduce(lambda rows, step: step(rows), steps, rows)


def count_rows(steps: Sequence[Step], *tables: pa.Table) -> int:
    """Return the number of rows after steps."""
    return int(run_steps(steps, *tables).num_rows)


def split_rows(steps: Sequence[Step], partition: Partition, *tables: pa.Table) -> list[pa.Table]:
    """Split the rows after steps into the tables of parts."""
    rows = run_steps(steps, *tables)
    part = partition.parts_of(rows)
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(partition.count + 1))
    rows = rows.take(order)
    return [rows.slice(start, end - start).combine_chunks() for start, end in pairwise(bounds.tolist())]


def join_rows(
    how: str, on: Sequence[str], steps: tuple[Sequence[Step], Sequence[Step]], count: int, *tables: pa.Table
) -> pa.Table:
    """Join the rows of the first `count` tables with those of the others, each after steps of their own."""
    import pyarrow as pa

    sides = run_steps(steps[0], *tables[:count]), run_steps(steps[1], *tables[count:])
    kind = {"left_semi": "left semi", "left_anti": "left anti", "left": "left outer", "right": "right outer"}.get(
        how, how
    )
    # The other columns can be of types that joins of Arrow do not take.
    keys = [
        rows.select(list(on)).append_column(name, pa.array(np.arange(rows.num_rows)))
        for name, rows in zip(("left row", "right row"), sides, strict=True)
    ]
    joined = keys[0].join(keys[1], list(on), join_type=kind, use_threads=False)
    cells = {name: joined.column(name) for name in on}
    for name, rows in zip(("left row", "right row"), sides, strict=True):
        if name in joined.column_names:
            others = rows.drop_columns(list(on)).take(joined.column(name).combine_chunks())
            cells |= dict(zip(others.column_names, others.columns, strict=True))
    return pa.table(cells)


class TaskFrame:
    """Rows in parts.

    Attributes
    ----------
    tasks : Tasks
    parts : list of Part
        At least one.
    partition : Partition or None
        How they are split, if their rows are where it says.
    small : bool
        True if each task of a join gets all rows.
    """

    def __init__(
        self, tasks: Tasks, parts: Sequence[Part], partition: Partition | None = None, *, small: bool = False
    ) -> None:
        self.tasks, self.parts, self.partition, self.small = tasks, list(parts), partition, small

    def _then(self, step: Step, partition: Partition | None = None) -> TaskFrame:
        parts = [replace(part, steps=(*part.steps, step)) for part in self.parts]
        return TaskFrame(self.tasks, parts, partition, small=self.small)

    def mapInArrow(self, stage: Stage, schema: str) -> TaskFrame:  # noqa: N802
        """Apply a stage to each part."""
        return self._then(partial(apply_stage, stage, schema))

    def selectExpr(self, *columns: str) -> TaskFrame:  # noqa: N802
        """Return columns of expressions."""
        kept = self.partition is not None and set(self.partition.keys or ("",)) <= set(columns)
        return self._then(partial(project, columns), self.partition if kept else None)

    select = selectExpr

    def toDF(self, *names: str) -> TaskFrame:  # noqa: N802
        """Rename all columns."""
        return self._then(partial(rename, names))

    def where(self, condition: str) -> TaskFrame:
        """Return the rows for which a condition is true."""
        return self._then(partial(select, condition), self.partition)

    def sample(self, fraction: float, seed: int) -> TaskFrame:
        """Return a sample of rows."""
        return self._then(partial(sample_rows, fraction, seed))

    def limit(self, count: int) -> TaskFrame:
        """Return the first rows of each part."""
        return self._then(partial(first_rows, count))

    def hint(self, name: str) -> TaskFrame:
        """Send all rows to each task of a join."""
        return TaskFrame(self.tasks, self.parts, self.partition, small=True)

    def union(self, other: TaskFrame) -> TaskFrame:
        """Return the rows of both."""
        return TaskFrame(self.tasks, [*self.parts, *other.parts])

    def distinct(self) -> TaskFrame:
        """Return rows that differ."""
        once = self._then(partial(aggregate, None, {}))
        return once._exchange(Partition(None, len(self.parts)))._then(partial(aggregate, None, {}))

    def groupBy(self, *keys: str) -> _TaskGroups:  # noqa: N802
        """Return the groups of rows with equal keys."""
        return _TaskGroups(self, keys)

    def repartition(self, count: int, key: str) -> TaskFrame:
        """Return parts that each have all rows of their keys."""
        return self._exchange(Partition((key,), count))

    def _exchange(self, partition: Partition) -> TaskFrame:
        if self.partition == partition:
            return self
        split = [
            self.tasks.run(split_rows, part.steps, partition, *part.tables, returns=partition.count)
            for part in self.parts
        ]
        return TaskFrame(self.tasks, [Part(column) for column in zip(*split, strict=True)], partition)

    def join(self, other: TaskFrame, on: str | Sequence[str], how: str = "inner") -> TaskFrame:
        """Join rows by columns of both."""
        keys = (on,) if isinstance(on, str) else tuple(on)
        own = [side.partition for side in (self, other) if side.partition is not None and side.partition.keys == keys]
        sides = [self, other]
        small = [
            at
            for at, kept in enumerate(("left", "right"))
            if sides[at].small and not own and kept not in how.replace(*("_", " "))
        ]
        if small:
            rows = sides[small[-1]].persist()
            every = Part(tuple(chain.from_iterable(part.tables for part in rows.parts)))
            partition = sides[1 - small[-1]].partition
            sides[small[-1]] = TaskFrame(self.tasks, [every] * len(sides[1 - small[-1]].parts))
        else:
            partition = own[0] if own else Partition(keys, max(len(self.parts), len(other.parts)))
            sides = [side._exchange(partition) for side in sides]
        parts = []
        for left, right in zip(sides[0].parts, sides[1].parts, strict=True):
            steps = left.steps, right.steps
            tables = *left.tables, *right.tables
            parts.append(Part((self.tasks.run(join_rows, how, keys, steps, len(left.tables), *tables),)))
        return TaskFrame(self.tasks, parts, partition)

    def persist(self) -> TaskFrame:
        """Run all steps."""
        parts = [
            Part((self.tasks.run(run_steps, part.steps, *part.tables),)) if part.steps or len(part.tables) > 1 else part
            for part in self.parts
        ]
        return TaskFrame(self.tasks, parts, self.partition, small=self.small)

    def coalesce(self, count: int) -> TaskFrame:
        """Return `count` parts at most, of rows that were persisted."""
        if len(self.parts) <= count:
            return self
        tables = [tuple(chain.from_iterable(part.tables for part in self.parts[at::count])) for at in range(count)]
        return TaskFrame(self.tasks, [Part(each) for each in tables])

    def count(self) -> int:
        """Return the number of rows."""
        return sum(self.tasks.get([self.tasks.run(count_rows, part.steps, *part.tables) for part in self.parts]))

    def toArrow(self) -> pa.Table:  # noqa: N802
        """Fetch all rows to the driver."""
        import pyarrow as pa

        return pa.concat_tables(self.tasks.get([part.tables[0] for part in self.persist().parts]))


@dataclass(frozen=True)
class _TaskGroups:
    """Rows by keys."""

    frame: TaskFrame
    keys: tuple[str, ...]

    def agg(self, columns: dict[str, str]) -> TaskFrame:
        """Aggregate columns: "min", "max", "sum" or "count"."""
        names = *self.keys, *columns
        # The rows of a key are combined before they are sent.
        rows = self.frame._then(partial(aggregate, self.keys, columns))._then(partial(rename, names))
        rows = rows._exchange(Partition(self.keys, len(rows.parts) if self.keys else 1))
        again = {name: "sum" if function == "count" else function for name, function in columns.items()}
        rows = rows._then(partial(aggregate, self.keys, again))
        return rows.toDF(*self.keys, *(f"{function}({name})" for name, function in columns.items()))


class Stages:
    """The stages of a job whose rows tasks hold; `nearkin.spark.engine.Checkpoint` writes those of others to files.

    Attributes
    ----------
    done : dict of str to int
        Numbers of rows.
    """

    def __init__(self, tasks: Tasks, report: Progress) -> None:
        self.tasks, self._report = tasks, report
        self.done: dict[str, int] = {}
        self._frames: dict[str, TaskFrame] = {}

    def frame(self, name: str, build: Callable[[], TaskFrame], work: int | None = None) -> TaskFrame:
        """Run a stage, and return its rows; report the work that is known before."""
        self._report(name, len(self.done) if work is None else 0, work)
        rows = build().persist()
        self.done[name] = rows.count()
        rows = self._frames[name] = rows.coalesce(num_tasks(self.done[name], TASK_ROWS))
        return rows

    def table(self, name: str, schema: str, build: Callable[[], pa.Table]) -> TaskFrame:
        """Return the rows of a stage that the driver builds as a table."""
        return self.frame(
            name, lambda: TaskFrame(self.tasks, [Part((self.tasks.put(build().cast(sql_schema(schema))),))])
        )

    def read(self, name: str, schema: str) -> TaskFrame:
        """Return the rows of a stage."""
        return self._frames[name]
