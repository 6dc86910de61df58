"""Stages over tables as tasks of Ray, and the exchange of rows between them.

A task is a call of a function on tables in Ray's object store. An *exchange* is two rows of tasks: each of the first
splits its rows by a key into as many tables as there are tasks in the second, of which each gets all rows of its keys.
Ray runs a task again if its machine fails. Since the rows of a stage depend on its input alone, the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__, set_num_threads
from nearkin.errors import EngineError, NearkinError, mismatch, require_extra

if TYPE_CHECKING:
    import pyarrow as pa

Stage = Callable[["Iterator[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]
"""A function of `nearkin.dedup.distributed`."""
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


class RayTasks:
    """Tasks of Ray; each has one core and one thread."""

    def __init__(self) -> None:
        with require_extra("ray", "nearkin.ray"):
            import ray
        self._ray = ray
        self._call = ray.remote(_call)

    def run(self, function: Callable[..., Any], *arguments: Any, returns: int | None = None) -> Any:
        """Start a call in a worker."""
        call = self._call.options(num_returns=returns or 1)
        result = call.remote(__version__, function, returns == 1, *arguments)
        return [result] if returns == 1 else result

    def put(self, value: Any) -> Any:
        """Store a value in the object store."""
        return self._ray.put(value)

    def get(self, references: Any) -> Any:
        """Wait for values."""
        with raise_engine_errors():
            return self._ray.get(references)


@contextmanager
def raise_engine_errors() -> Iterator[None]:
    """Convert errors of Ray: errors that nearkin raised in a worker to these, all others to EngineError."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        # Ray's own error of a task is also an instance of its cause's class, with the traceback as its message.
        cause: BaseException | None = error
        while isinstance(cause, RayError) or (cause is not None and not isinstance(cause, NearkinError)):
            cause = getattr(cause, "cause", None) or cause.__cause__
        if cause is not None:
            raise cause from None
        # Messages of tasks end with the line of their exception.
        lines = [line.strip() for line in str(error).splitlines() if "Error: " in line]
        reason = lines[-1] if lines else str(error).partition("\n")[0]
        raise EngineError(f"a task of Ray failed: {reason}", reason=reason) from error


def _call(version: str, function: Callable[..., Any], single: bool, *arguments: Any) -> Any:
    """Call a function in a worker."""
    if version != __version__:
        raise mismatch(
            "nearkin", f"a worker with {__version__}", f"a driver with {version}; install it on every worker"
        )
    set_num_threads(1)
    result = function(*arguments)
    return result[0] if single else result


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
    # A step of splitmix64 removes any pattern of the keys.
    mixed = (keys.view(np.uint64) ^ (keys.view(np.uint64) >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    part = ((mixed >> np.uint64(20)) % np.uint64(count)).astype(np.int64)
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(count + 1))
    return [table.take(order[start:end]) for start, end in pairwise(bounds.tolist())]


def split_rows(stage: Stage | None, table: pa.Table, key: str, count: int) -> list[pa.Table]:
    """Apply a stage to a table, and split its rows by a column of integers."""
    from nearkin.dedup.distributed.documents import to_integers

    rows = table if stage is None else run_stage(stage, [table])
    return split(rows, to_integers(rows.column(key)) if rows.num_rows else np.zeros(0, np.int64), count)


def gather_rows(stage: Stage, *parts: pa.Table) -> pa.Table:
    """Apply a stage to the rows of an exchange."""
    return run_stage(stage, parts)


def concat(tables: Iterable[pa.Table]) -> pa.Table:
    """Concatenate tables, without those that have no rows."""
    import pyarrow as pa

    filled = [table for table in tables if table.num_rows]
    return pa.concat_tables(filled) if filled else pa.table({})


def exchange(tasks: Tasks, parts: Sequence[Sequence[Any]], function: Callable[..., Any], *first: Any) -> list[Any]:
    """Start the second row of tasks of an exchange: `function` on the first arguments and the parts of each key."""
    return [tasks.run(function, *first, *column) for column in zip(*parts, strict=True)]
