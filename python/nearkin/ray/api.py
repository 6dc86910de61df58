"""Deduplication of datasets of Ray: the parameters and results of `nearkin.dedup`, on a cluster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nearkin.dedup.config import EngineDedupOptions, engine_config
from nearkin.dedup.verify import Measure
from nearkin.distributed.tables import Dataset, TableResult, deduplicate_datasets
from nearkin.errors import bad_parameter, check_options
from nearkin.progress import ShowProgress
from nearkin.ray.engine import RayTasks, raise_engine_errors
from nearkin.recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack


class RayResult(TableResult):
    """The result of a deduplication: `kept` is a `ray.data.Dataset`."""


def dedup(
    ds: Any,
    text: str = "text",
    id: str = "id",
    *,
    threshold: float | None = None,
    keep: str = "first",
    recipe: Recipe | str | None = None,
    measure: Measure | None = None,
    against: Any = None,
    progress: ShowProgress = None,
    **options: Unpack[EngineDedupOptions],
) -> RayResult:
    """Find near-duplicates among the rows of a dataset, and keep one of each cluster.

    The result is that of `nearkin.dedup` over the same documents in the order of their ids, bit for bit, whatever the
    blocks, workers and retries, provided that `nearkin.dedup` reports `skipped` 0.

    Parameters
    ----------
    ds : ray.data.Dataset
        Must return the same rows each time, in any order: it is read once for its texts, and again when the kept rows
        are read.
    text : str
        The column of the texts, strings; null counts as the empty text, and a warning counts nulls.
    id : str
        The column of the ids, integers between -2**61 and 2**61, or strings; all different, none null. Rows are
        ordered by their ids.
    threshold, measure
        As for `nearkin.dedup`; `measure="containment"` is for one machine.
    keep : str, default "first"
        As for `nearkin.dedup`: "first" has the smallest id, "last" the largest.
    recipe : Recipe, str or None
        None for the document recipe, MinHash, whose work grows with the number of documents, not with their pairs.
    against : ray.data.Dataset, optional
        Reference documents, with the columns `text` and `id`: documents that match one of them are removed.
    progress : bool or function, optional
        As for `nearkin.dedup`, with one call for each stage.
    **options
        The options below.

    Other Parameters
    ----------------
    kind, radius, recall, bands, verify, differ, empty, cluster, links
        As for `nearkin.dedup`.

    Returns
    -------
    RayResult

    Raises
    ------
    ParameterError
        A column that is missing or of another type; arguments out of range.
    InputError
        Null ids, ids that are not distinct.
    MismatchError
        Workers with another version of nearkin.
    EngineError
        A task that failed in Ray, for lack of memory say.
    """
    check_options(dedup, EngineDedupOptions, options)
    config = engine_config(recipe, threshold=threshold, measure=measure, keep=keep, **options)
    tasks = RayTasks()
    with raise_engine_errors():
        sides = _dataset(ds, "ds"), None if against is None else _dataset(against, "against")
        result, removed = deduplicate_datasets(tasks, *sides, text, id, config, progress)
    exclude = partial(exclude_ids, tasks.put(removed), id)
    kept = ds.map_batches(exclude, batch_format="pyarrow")
    return RayResult(kept, result.clusters, result.pairs, result.summary)


def _dataset(ds: Any, argument: str) -> Dataset:
    if not hasattr(ds, "map_batches") or not hasattr(ds, "to_arrow_refs"):
        kind = f"{type(ds).__module__}.{type(ds).__qualname__}"
        raise bad_parameter(
            argument, kind, "a ray.data.Dataset (ray.data.read_parquet(...)); others go to nearkin.dedup"
        )
    schema = ds.schema()
    types = {} if schema is None else dict(zip(schema.names, schema.types, strict=True))
    return Dataset(argument, types, lambda columns: ds.select_columns(columns).to_arrow_refs())


def exclude_ids(removed: Any, id: str, batch: pa.Table) -> pa.Table:
    """Return the rows of a batch whose ids are not among the removed ones.

    Parameters
    ----------
    removed : ray.ObjectRef
        Ids, in the object store, which the tasks of a machine share.
    id : str
    batch : pyarrow.Table
    """
    import pyarrow.compute as pc
    import ray

    ids = ray.get(removed)
    return batch.filter(pc.invert(pc.is_in(batch.column(id).cast(ids.type), ids.combine_chunks())))
