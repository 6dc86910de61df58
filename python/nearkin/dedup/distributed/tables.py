"""The tables and the summary of a job that runs as tasks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.config import DedupConfig
from nearkin.dedup.distributed.job import Source, TableJob
from nearkin.dedup.distributed.summary import summarize_job
from nearkin.dedup.distributed.tasks import Tasks
from nearkin.dedup.summary import Summary
from nearkin.io.arrow import to_values
from nearkin.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class DedupTables:
    """Results of a job.

    Attributes
    ----------
    clusters, pairs : pyarrow.Table
        As in `nearkin.DedupResult`.
    removed : pyarrow.ChunkedArray
        Ids of the removed documents.
    summary : dict
        With warnings.
    """

    clusters: pa.Table
    pairs: pa.Table
    removed: pa.ChunkedArray
    summary: Summary


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
) -> DedupTables:
    """Deduplicate blocks.

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
    began = time.perf_counter()
    job = TableJob(tasks, config, integer=integer, report=report)
    job.run(Source(blocks, text, id), None if reference is None else Source(reference, text, id))
    tables = build_tables(job, len(blocks))
    tables.summary["timings"] = {"total": {"wall": time.perf_counter() - began}}
    return tables


def build_tables(job: TableJob, blocks: int) -> DedupTables:
    """Return the tables of a job that has run, whose new documents are the first `blocks` ones."""
    import pyarrow as pa

    config = job.config
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
        removed = pa.chunked_array([*removed.chunks, *job.empty_ids(blocks=blocks).chunks], ids.type)
    reasons = _count(clusters, "reason")
    sizes = list(_count(clusters, "cluster").values())
    summary, warnings = summarize_job(
        config, job.counts, reasons, (len(sizes), max(sizes, default=0)), job.work, len(job.removals.removed)
    )
    if warnings:
        summary["warnings"] = warnings
    return DedupTables(clusters, pairs, removed, summary)


def _count(table: pa.Table, column: str) -> dict[Any, int]:
    return {row["values"]: row["counts"] for row in to_values(table.column(column).value_counts())}


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


def _all_links(job: TableJob) -> pa.Table:
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
