"""Deduplication of datasets of Ray: the parameters and results of `nearkin.dedup`, on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from nearkin.dedup.config import DedupConfig, EngineDedupOptions, engine_config
from nearkin.dedup.summary import Summary, describe_counts
from nearkin.dedup.verify import Measure
from nearkin.distributed.tables import deduplicate
from nearkin.errors import bad_parameter, check_options, mismatch, warn_caller
from nearkin.progress import ShowProgress, reporting
from nearkin.ray.engine import RayTasks, raise_engine_errors
from nearkin.recipe import Recipe

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack


@dataclass(frozen=True)
class RayResult:
    """The result of a deduplication; the columns are those of `nearkin.DedupResult`.

    Attributes
    ----------
    kept : ray.data.Dataset
        The rows of the kept documents, with all their columns; lazy, in no order.
    clusters : pyarrow.Table
        A row for every document of a cluster of two or more, and for every document removed for a reference document:
        id, cluster (number from 0, by its smallest id), representative, distance, similarity (null without
        verification), reason; by cluster, the representative first, and id.
    pairs : pyarrow.Table
        Links of removed documents with their representative: id, representative, distance, similarity; with
        `links="all"` every verified link: left, right, distance, similarity.
    summary : dict
        Counts, recipe, parameters, version and time, as in the file summary.json. `candidates` and `verified` count the
        work of this job, which is more than that of one machine.
    """

    kept: Any
    clusters: pa.Table
    pairs: pa.Table
    summary: Summary

    def __repr__(self) -> str:
        return describe_counts(self.summary)


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
    names = list(dict.fromkeys([text, id, *(by.column for by in config.order if by.column)]))
    with raise_engine_errors():
        kind = _id_type(ds, text, id, config, "ds")
        if against is not None and (other := _id_type(against, text, id, None, "against")) != kind:
            raise mismatch("id", f"{kind} of ds", f"{other} of against; cast one of them")
        blocks = ds.select_columns(names).to_arrow_refs()
        others = None if against is None else against.select_columns([text, id]).to_arrow_refs()
    with reporting(progress) as report:
        integer = kind == "integers"
        tables = deduplicate(tasks, blocks, others, text, id, config, integer=integer, report=report)
    for message in tables.summary.get("warnings", ()):
        warn_caller(message)
    exclude = partial(exclude_ids, tasks.put(tables.removed), id)
    kept = ds.map_batches(exclude, batch_format="pyarrow")
    return RayResult(kept, tables.clusters, tables.pairs, tables.summary)


def _id_type(ds: Any, text: str, id: str, config: DedupConfig | None, argument: str) -> str:
    """Check the columns of a dataset, and return "integers" or "strings"."""
    import pyarrow as pa

    if not hasattr(ds, "map_batches") or not hasattr(ds, "to_arrow_refs"):
        kind = f"{type(ds).__module__}.{type(ds).__qualname__}"
        raise bad_parameter(
            argument, kind, "a ray.data.Dataset (ray.data.read_parquet(...)); others go to nearkin.dedup"
        )
    schema = ds.schema()
    types = {} if schema is None else dict(zip(schema.names, schema.types, strict=True))
    keys = [] if config is None else [("keep", by.column) for by in config.order if by.column]
    for name, column in [("text", text), ("id", id), *keys]:
        if column not in types:
            raise bad_parameter(name, repr(column), f"a column of {argument}: {', '.join(map(repr, types))}")
    kind = types[id]
    if isinstance(kind, pa.DataType) and pa.types.is_integer(kind):
        return "integers"
    if isinstance(kind, pa.DataType) and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return "strings"
    raise bad_parameter("id", f"the column {id!r} of {kind}", "a column of integers or strings; cast it")


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
