"""Stages over tables as tasks, and the exchange of rows between them.

A task is a call of a function on tables, which an engine holds for it. An *exchange* is two rows of tasks: each of the
first splits its rows by a key into as many tables as there are tasks in the second, of which each gets all rows of its
keys. An engine may run a task again: the rows of a stage depend on its input alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin.distributed.documents import scramble, to_integers

if TYPE_CHECKING:
    import pyarrow as pa

Stage = Callable[["Iterator[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]
"""A function of `nearkin.distributed`."""
Tables = Sequence[Any]
"""References to tables."""


class Tasks(Protocol):
    """What runs tasks."""

    def run(self, function: Callable[..., Any], *arguments: Any, returns: int | None = None) -> Any:
        """Start a call, and return the reference of its result; with `returns`, those of the items of its result."""

    def put(self, value: Any) -> Any:
        """Store a value once for many calls, and return its reference."""

    def get(self, references: Any) -> Any:
        """Wait for the values of references."""


class LocalTasks:
    """Runs each call at once, in this process; a reference is the value itself, or a function that reads it."""

    def run(self, function: Callable[..., Any], *arguments: Any, returns: int | None = None) -> Any:
        """Call a function."""
        result = function(*(each() if isinstance(each, FileTable) else each for each in arguments))
        return result if returns is None else list(result)

    def put(self, value: Any) -> Any:
        """Return the value."""
        return value

    def get(self, references: Any) -> Any:
        """Return the values."""
        return references


@dataclass(frozen=True)
class FileTable:
    """A table in a file, which is read for each call that needs it.

    Attributes
    ----------
    read : function
    """

    read: Callable[[], pa.Table]

    def __call__(self) -> pa.Table:
        """Read the table."""
        return self.read()


def run_stage(stage: Stage, tables: Iterable[pa.Table]) -> pa.Table:
    """Apply a stage to the rows of tables; a table without columns if it has no rows."""
    import pyarrow as pa

    batches = (batch for table in tables if table.num_rows for batch in table.to_batches())
    rows = [batch for batch in stage(batches) if batch.num_rows]
    return pa.Table.from_batches(rows).combine_chunks() if rows else pa.table({})


def split(table: pa.Table, keys: NDArray[np.int64], count: int) -> list[pa.Table]:
    """Split rows into `count` tables; rows of equal keys are in the same one."""
    if not table.num_rows:
        return [table] * count
    part = (scramble(keys) % np.uint64(count)).astype(np.int64)
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(count + 1))
    return [table.take(order[start:end]) for start, end in pairwise(bounds.tolist())]


def split_rows(stage: Stage | None, table: pa.Table, key: str, count: int) -> list[pa.Table]:
    """Apply a stage to a table, and split its rows by a column of integers."""
    rows = table if stage is None else run_stage(stage, [table])
    return split(rows, to_integers(rows.column(key)) if rows.num_rows else np.zeros(0, np.int64), count)


def concat(tables: Iterable[pa.Table]) -> pa.Table:
    """Concatenate tables, without those that have no rows."""
    import pyarrow as pa

    filled = [table for table in tables if table.num_rows]
    return pa.concat_tables(filled) if filled else pa.table({})


def exchange(tasks: Tasks, parts: Sequence[Sequence[Any]], function: Callable[..., Any], *first: Any) -> list[Any]:
    """Start the second row of tasks of an exchange: `function` on the first arguments and the parts of each key."""
    return [tasks.run(function, *first, *column) for column in zip(*parts, strict=True)]
