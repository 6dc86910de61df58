"""Deduplication of datasets of Ray: the parameters and results of `nearkin.dedup`, on a cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.config import DedupConfig, EngineDedupOptions, engine_config
from nearkin.dedup.distributed.summary import summarize_job
from nearkin.dedup.summary import Summary
from nearkin.dedup.verify import Measure
from nearkin.errors import bad_parameter, check_options, mismatch, warn_caller
from nearkin.progress import Progress, ShowProgress, reporting
from nearkin.ray.job import RayJob, Source
from nearkin.ray.tasks import RayTasks, Tasks, raise_engine_errors
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
        documents, removed = self.summary["documents"], self.summary["removed"]
        clusters = self.summary["clusters"]
        return f"<kept {documents - removed} of {documents} documents, removed {removed} in {clusters} clusters>"


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
        None for the features of the default recipe with MinHash, whose work grows with the number of documents, not
        with their pairs.
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
        build = partial(deduplicate, tasks, blocks, others, text, id, config, integer=kind == "integers")
        clusters, pairs, removed, summary = build(report=report)
    for message in summary.get("warnings", ()):
        warn_caller(message)
    exclude = partial(exclude_ids, tasks.put(removed), id)
    return RayResult(ds.map_batches(exclude, batch_format="pyarrow"), clusters, pairs, summary)


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


def deduplicate(
    tasks: Tasks,
    blocks: Any,
    reference: Any,
    text: str,
    id: str,
    config: DedupConfig,
    *,
    integer: bool,
    report: Progress,
) -> tuple[pa.Table, pa.Table, pa.ChunkedArray, Summary]:
    """Deduplicate blocks; return clusters, pairs, the ids of removed documents, and the summary with its warnings.

    Parameters
    ----------
    tasks : Tasks
    blocks, reference : sequence of references
        Tables of documents, and of reference documents or None.
    text, id : str
    config : DedupConfig
    integer : bool
        True for integer ids.
    report : function
    """
    import pyarrow as pa

    began = time.perf_counter()
    job = RayJob(tasks, config, integer=integer, report=report)
    job.run(Source(blocks, text, id), None if reference is None else Source(reference, text, id))
    number, representative, similarity, distance, exact = job.removed()
    kept = np.unique(representative[representative > 0])
    ids = job.ids(np.concatenate([number, kept, representative]))
    n, heads = len(number), len(kept)
    equal = np.full(heads, job.source.equal, np.float64)
    # Reasons by code: 0 kept, 1 exact, 2 same-letters, 3 near.
    near = np.full(n, 3)
    if config.verify == "jaccard":
        near[similarity == 1.0] = 2
    near[exact] = 1
    rows = {
        "id": ids.slice(0, n + heads),
        "rep": np.concatenate([representative, kept]),
        "representative": pa.chunked_array([*ids.slice(n + heads).chunks, *ids.slice(n, heads).chunks], ids.type),
        "distance": np.concatenate([distance, np.zeros(heads, np.int64)]),
        "similarity": pa.array(np.concatenate([similarity, equal]), from_pandas=True),
        "reason": np.concatenate([near, np.zeros(heads, np.int64)]),
    }
    table = pa.table(rows)
    is_removed = np.arange(n + heads) < n
    pairs = table.filter(is_removed).select(["id", "representative", "distance", "similarity"])
    clusters = _number_clusters(table)
    if config.links == "all":
        pairs = _all_links(job)
    removed = pa.chunked_array([*ids.slice(0, n).chunks], ids.type)
    if config.empty == "drop":
        removed = pa.chunked_array([*removed.chunks, *job.empty_ids(blocks=len(blocks)).chunks], ids.type)
    reasons = _count(clusters, "reason")
    sizes = list(_count(clusters, "cluster").values())
    summary, warnings = summarize_job(
        config, job.counts, reasons, (len(sizes), max(sizes, default=0)), job.work, len(job.removals.removed)
    )
    if warnings:
        summary["warnings"] = warnings
    summary["timings"] = {"total": {"wall": time.perf_counter() - began}}
    return clusters, pairs, removed, summary


def _count(table: pa.Table, column: str) -> dict[Any, int]:
    return {row["values"]: row["counts"] for row in table.column(column).value_counts().to_pylist()}


_REASONS = np.array(["kept", "exact", "same-letters", "near"])


def _number_clusters(table: pa.Table) -> pa.Table:
    """Return the table of clusters, which are numbered by their smallest id."""
    import pyarrow as pa

    by_id = table.sort_by("id")
    rep = by_id.column("rep").to_numpy()
    representatives, first = np.unique(rep, return_index=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    cluster = rank[np.searchsorted(representatives, rep)]
    codes = by_id.column("reason").to_numpy()
    names = _REASONS[codes].astype(object)
    old = rep < 0
    names[old] = names[old] + "-old"
    columns = {
        "id": by_id.column("id"),
        "cluster": cluster,
        **{name: by_id.column(name) for name in ("representative", "distance", "similarity")},
        "reason": pa.array(names, pa.string()),
    }
    order = np.lexsort((codes != 0, cluster))
    return pa.table(columns).take(order)


def _all_links(job: RayJob) -> pa.Table:
    """Return all links, those of copies last."""
    import pyarrow as pa

    copies = job.copies[job.copies[:, 0] > 0]
    links = [
        np.concatenate([job.links.column(name).to_numpy(), copies[:, at]]) for name, at in (("left", 1), ("right", 0))
    ]
    ids = job.ids(np.concatenate(links))
    count = len(links[0])
    distance = np.concatenate([job.links.column("distance").to_numpy(), np.zeros(len(copies), np.int64)])
    similarity = np.concatenate(
        [job.links.column("similarity").to_numpy(), np.full(len(copies), job.source.equal, np.float64)]
    )
    return pa.table(
        {
            "left": ids.slice(0, count),
            "right": ids.slice(count),
            "distance": distance,
            "similarity": pa.array(similarity.astype(np.float64), from_pandas=True),
        }
    )


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
