"""The tables and the summary of a job that runs as tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.config import DedupConfig
from nearkin.dedup.summary import Summary
from nearkin.distributed.documents import Numbers, to_integers
from nearkin.distributed.job import Source, TableJob
from nearkin.distributed.links import Removals, find_pairs
from nearkin.distributed.summary import summarize_job
from nearkin.distributed.tasks import Tasks
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
    table, n = cluster_members(job.matched_links(), job.removals, job.copies, job.ids, config)
    pairs = table.slice(0, n).select(["id", "representative", "distance", "similarity"])
    removed = pairs.column("id")
    clusters = number_clusters(table)
    if config.links == "all":
        pairs = _all_links(job)
    if config.empty == "drop":
        removed = pa.chunked_array([*removed.chunks, *job.empty_ids(blocks=blocks).chunks], removed.type)
    reasons = _count(clusters, "reason")
    sizes = list(_count(clusters, "cluster").values())
    summary, warnings = summarize_job(
        config, job.counts, reasons, (len(sizes), max(sizes, default=0)), job.work, len(job.removals.removed)
    )
    if warnings:
        summary["warnings"] = warnings
    return DedupTables(clusters, pairs, removed, summary)


def cluster_members(
    links: pa.Table,
    removals: Removals,
    copies: Numbers,
    ids: Callable[[Numbers], pa.ChunkedArray],
    config: DedupConfig,
) -> tuple[pa.Table, int]:
    """Return the documents of clusters, in rows for `number_clusters`, those that are removed first, and their number.

    Parameters
    ----------
    links : pyarrow.Table
        left, right, similarity and distance, with a row for each removed document and its representative.
    removals : Removals
    copies : (n, 2) int64
        Documents with the content of an earlier one, and that one.
    ids : function
        Returns the ids of documents by their numbers.
    config : DedupConfig
    """
    import pyarrow as pa

    equal = float(config.candidate_source.equal)
    number, representative, similarity, distance, exact = _removed_rows(
        links, removals, copies[copies[:, 0] > 0], equal
    )
    kept = np.unique(representative[representative > 0])
    names = ids(np.concatenate([number, kept, representative]))
    n, heads = len(number), len(kept)
    # Reasons by code: 0 kept, 1 exact, 2 same-letters, 3 near.
    near = np.full(n, 3)
    if config.verify == "jaccard":
        near[similarity == 1.0] = 2
    near[exact] = 1
    rows = {
        "id": names.slice(0, n + heads),
        "rep": np.concatenate([representative, kept]),
        "representative": pa.chunked_array([*names.slice(n + heads).chunks, *names.slice(n, heads).chunks], names.type),
        "distance": np.concatenate([distance, np.zeros(heads, np.int64)]),
        "similarity": pa.array(np.concatenate([similarity, np.full(heads, equal)]), from_pandas=True),
        "reason": np.concatenate([near, np.zeros(heads, np.int64)]),
    }
    return pa.table(rows), n


def _removed_rows(links: pa.Table, removals: Removals, copies: Numbers, equal: float) -> tuple[Any, ...]:
    """Return number, representative, similarity (NaN for none), distance of the removed documents, and True for copies
    of a kept one.
    """
    own, by = removals.removed, removals.by
    left, right = (to_integers(links.column(name)) for name in ("left", "right"))
    order = np.lexsort((left, right))
    rows = order[find_pairs(right[order], left[order], own, by)]
    similarity = np.asarray(links.column("similarity").to_numpy(), np.float64)[rows]
    distance = to_integers(links.column("distance"))[rows]
    at = np.minimum(np.searchsorted(own, copies[:, 1]), max(len(own) - 1, 0))
    follows = own[at] == copies[:, 1] if len(own) else np.zeros(len(copies), bool)
    at = at[follows]
    representatives = copies[:, 1].copy()
    similarities, distances = np.full(len(copies), equal), np.zeros(len(copies), np.int64)
    representatives[follows], similarities[follows], distances[follows] = by[at], similarity[at], distance[at]
    return (
        np.concatenate([own, copies[:, 0]]),
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
