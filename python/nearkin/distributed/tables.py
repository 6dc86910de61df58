"""The tables and the summary of a job that runs as tasks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.config import DedupConfig
from nearkin.dedup.summary import Summary
from nearkin.distributed.documents import to_integers
from nearkin.distributed.frames import Tasks
from nearkin.distributed.job import Source, TableJob
from nearkin.distributed.plan import Plan, check_read
from nearkin.distributed.summary import summarize_job
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
    tables = build_tables(job)
    tables.summary["timings"] = {"total": {"wall": time.perf_counter() - began}}
    return tables


def build_tables(job: Plan) -> DedupTables:
    """Return the tables of a job that has run."""
    import pyarrow as pa

    config = job.config
    table, n = cluster_members(job)
    pairs = table.slice(0, n).select(["id", "representative", "distance", "similarity"])
    removed = pairs.column("id")
    clusters = number_clusters(table)
    if config.links == "all":
        pairs = job.all_links().toArrow()
    if config.empty == "drop":
        removed = pa.chunked_array([*removed.chunks, *job.empty_ids().toArrow().column("id").cast(removed.type).chunks])
    reasons = _count(clusters, "reason")
    sizes = list(_count(clusters, "cluster").values())
    counted = (len(sizes), max(sizes, default=0)), job.count_work(), job.counts["removals"]
    summary, warnings = summarize_job(config, job.counts, reasons, *counted)
    if warnings:
        summary["warnings"] = warnings
    return DedupTables(clusters, pairs, removed, summary)


def cluster_members(job: Plan) -> tuple[pa.Table, int]:
    """Return the documents of clusters for `number_clusters`, the removed ones first, and the number of these."""
    import pyarrow as pa

    number, representative, similarity, distance, exact = _removed_rows(job)
    kept = np.unique(representative[representative > 0])
    names = job.ids(np.concatenate([number, kept, representative]))
    n, heads = len(number), len(kept)
    # Reasons by code: 0 kept, 1 exact, 2 same-letters, 3 near.
    near = np.full(n, 3)
    if job.config.verify == "jaccard":
        near[similarity == 1.0] = 2
    near[exact] = 1
    rows = {
        "id": names.slice(0, n + heads),
        "rep": np.concatenate([representative, kept]),
        "representative": pa.chunked_array([*names.slice(n + heads).chunks, *names.slice(n, heads).chunks], names.type),
        "distance": np.concatenate([distance, np.zeros(heads, np.int64)]),
        "similarity": pa.array(np.concatenate([similarity, np.full(heads, job.equal)]), from_pandas=True),
        "reason": np.concatenate([near, np.zeros(heads, np.int64)]),
    }
    return pa.table(rows), n


def _removed_rows(job: Plan) -> tuple[Any, ...]:
    """Return number, representative, similarity (NaN for none), distance of the removed documents, and True for copies
    of a kept one.
    """
    links = job.matched_links().toArrow().sort_by("right")
    check_read("links", job.counts["removals"], links.num_rows)
    by, own, distance = (to_integers(links.column(name)) for name in ("left", "right", "distance"))
    similarity = np.asarray(links.column("similarity").to_numpy(), np.float64)
    table = job.copies.where("number > 0").toArrow()
    copies, originals = (to_integers(table.column(name)) for name in ("number", "original"))
    at = np.minimum(np.searchsorted(own, originals), max(len(own) - 1, 0))
    follows = own[at] == originals if len(own) else np.zeros(len(copies), bool)
    at = at[follows]
    representatives = originals.copy()
    similarities, distances = np.full(len(copies), job.equal), np.zeros(len(copies), np.int64)
    representatives[follows], similarities[follows], distances[follows] = by[at], similarity[at], distance[at]
    return (
        np.concatenate([own, copies]),
        np.concatenate([by, representatives]),
        np.concatenate([similarity, similarities]),
        np.concatenate([distance, distances]),
        np.concatenate([np.zeros(len(own), bool), ~follows]),
    )


def _count(table: pa.Table, column: str) -> dict[Any, int]:
    return {row["values"]: row["counts"] for row in to_values(table.column(column).value_counts())}


_REASONS = np.array(["kept", "exact", "same-letters", "near"])


def number_clusters(table: pa.Table) -> pa.Table:
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
