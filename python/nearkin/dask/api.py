"""Deduplication of DataFrames of Dask: the parameters and results of `nearkin.dedup`, on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem
from typing import TYPE_CHECKING, Any

from nearkin._core import __version__, set_num_threads
from nearkin.dedup.config import EngineDedupOptions, engine_config
from nearkin.dedup.verify import Measure
from nearkin.distributed.tables import Dataset, TableResult, deduplicate_datasets
from nearkin.errors import EngineError, NearkinError, bad_parameter, check_options, mismatch, require_extra
from nearkin.io.arrow import to_values
from nearkin.progress import ShowProgress
from nearkin.recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack


class DaskDedupOptions(EngineDedupOptions, total=False):
    """Options of `dedup`."""

    measure: Measure | None


class DaskResult(TableResult):
    """The result of a deduplication: `kept` is a `dask.dataframe.DataFrame`."""


class DaskTasks:
    """Tasks of the client that is current; each has one thread."""

    def __init__(self) -> None:
        with require_extra("dask", "nearkin.dask"):
            from dask.distributed import default_client
        try:
            self.client = default_client()
        except ValueError as error:
            reason = "no client of Dask is running"
            raise EngineError(f"{reason}; start one: dask.distributed.Client()", reason=reason) from error

    def run(self, function: Callable[..., Any], *arguments: Any, returns: int | None = None) -> Any:
        """Start a call in a worker."""
        result = self.client.submit(_call, __version__, function, *arguments, pure=False)
        if returns is None:
            return result
        return [self.client.submit(getitem, result, at, pure=False) for at in range(returns)]

    def put(self, value: Any) -> Any:
        """Send a value to a worker."""
        return self.client.scatter(value, hash=False)

    def get(self, references: Any) -> Any:
        """Wait for values."""
        try:
            return self.client.gather(references)
        except NearkinError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise EngineError(f"a task of Dask failed: {reason}", reason=reason) from error


def _call(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a worker."""
    if version != __version__:
        raise mismatch(
            "nearkin", f"a worker with {__version__}", f"a client with {version}; install it on every worker"
        )
    set_num_threads(1)
    return function(*map(_align, arguments))


def _align(value: Any) -> Any:
    """Return a copy of a table, because Dask unpacks its buffers at any address."""
    import pyarrow as pa

    if not isinstance(value, pa.Table):
        return value
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, value.schema) as writer:
        writer.write_table(value)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def dedup(
    df: Any,
    text: str = "text",
    id: str = "id",
    *,
    threshold: float | None = None,
    keep: str = "first",
    recipe: Recipe | str | None = None,
    against: Any = None,
    progress: ShowProgress = None,
    **options: Unpack[DaskDedupOptions],
) -> DaskResult:
    """Find near-duplicates among the rows of a DataFrame, and keep one of each cluster.

    The result is that of `nearkin.dedup` over the same documents in the order of their ids, bit for bit, whatever the
    partitions, workers and retries, provided that `nearkin.dedup` reports `skipped` 0.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        Must return the same rows each time, in any order.
    text, id, threshold, keep, recipe, progress
        As for `nearkin.ray.dedup`.
    against : dask.dataframe.DataFrame, optional
        Reference documents, with the columns `text` and `id`: documents that match one of them are removed.
    **options
        The options below.

    Other Parameters
    ----------------
    kind, measure, radius, recall, bands, verify, differ, empty, cluster, links
        As for `nearkin.dedup`.

    Returns
    -------
    DaskResult

    Raises
    ------
    ParameterError
        A column that is missing or of another type; arguments out of range.
    InputError
        Null ids, ids that are not distinct.
    MismatchError
        Workers with another version of nearkin.
    EngineError
        No client, or a task that failed.
    """
    check_options(dedup, DaskDedupOptions, options)
    config = engine_config(recipe, threshold=threshold, keep=keep, **options)
    tasks = DaskTasks()
    sides = _dataset(tasks, df, "df"), None if against is None else _dataset(tasks, against, "against")
    result, removed = deduplicate_datasets(tasks, *sides, text, id, config, progress)
    kept = df.map_partitions(exclude_ids, tasks.put(removed), id, meta=df._meta)
    return DaskResult(kept, result.clusters, result.pairs, result.summary)


def _dataset(tasks: DaskTasks, df: Any, argument: str) -> Dataset:
    import pyarrow as pa

    if not hasattr(df, "map_partitions") or not hasattr(df, "to_delayed"):
        kind = f"{type(df).__module__}.{type(df).__qualname__}"
        raise bad_parameter(argument, kind, "a dask.dataframe.DataFrame; others go to nearkin.dedup")
    schema = pa.Schema.from_pandas(df._meta, preserve_index=False)

    def blocks(columns: Sequence[str]) -> list[Any]:
        parts = tasks.client.compute(df[list(columns)].to_delayed())
        return [tasks.run(to_table, part) for part in parts]

    return Dataset(argument, dict(zip(schema.names, schema.types, strict=True)), blocks)


def to_table(frame: Any) -> pa.Table:
    """Convert a partition."""
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


def exclude_ids(frame: Any, removed: pa.ChunkedArray, id: str) -> Any:
    """Return the rows of a partition whose ids are not among the removed ones."""
    return frame[~frame[id].isin(to_values(removed))]
