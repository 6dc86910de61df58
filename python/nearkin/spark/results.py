"""Results of a job: the tables of `nearkin.DedupResult` as DataFrames, and the summary."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.summary import SourceRemovals, Summary, describe_counts, tabulate_removals
from nearkin.distributed.documents import (
    TASK_ROWS,
    gather,
    num_tasks,
    to_batches,
    to_integers,
)
from nearkin.distributed.plan import check_read
from nearkin.distributed.summary import summarize_job
from nearkin.distributed.tables import cluster_members, number_clusters
from nearkin.errors import warn_caller
from nearkin.io.arrow import to_values
from nearkin.spark.engine import DataFrame, fetch, fetch_rows, quote, unused_name
from nearkin.spark.job import SparkJob

if TYPE_CHECKING:
    import pyarrow as pa

CLUSTERS = "id ID, cluster bigint, representative ID, distance bigint, similarity double, reason string"
"""The columns of clusters; ID is the type of ids."""
MAX_DRIVER_CLUSTERS = 5_000_000
"""Clusters that the driver numbers: less than 1 GB."""
MAX_DRIVER_REMOVED = 1 << 19
"""Removed documents whose clusters the driver builds: their numbers and those of their representatives, 8 MB, are sent
to every task."""
_SAMPLE = 1 << 14
"""Ids that are sampled to split the others into ranges."""


@dataclass(frozen=True)
class SparkResult:
    """The result of a deduplication; the columns are those of `nearkin.DedupResult`.

    Attributes
    ----------
    kept : DataFrame
        The rows of the kept documents, with all their columns; in no order.
    clusters : DataFrame
        A row for every document of a cluster of two or more, and for every document removed for a reference document:
        id, cluster (number from 0, by its smallest id), representative, distance, similarity (null without
        verification), reason.
    pairs : DataFrame
        Links of removed documents with their representative: id, representative, distance, similarity; with
        `links="all"` every verified link: left, right, distance, similarity.
    summary : dict
        Counts, recipe, parameters, version and timings per stage, as in the file summary.json. `candidates` and
        `verified` count the work of this job, which is more than that of one machine.
    """

    kept: DataFrame
    clusters: DataFrame
    pairs: DataFrame
    summary: Summary

    def __repr__(self) -> str:
        return describe_counts(self.summary)


def collect_result(job: SparkJob) -> SparkResult:
    """Run a job and build its DataFrames and summary."""
    F = job.F
    job.run()
    clusters = job.checkpoint.guard("clusters", _build_clusters(job))
    removed = clusters.where("reason <> 'kept'")
    removed_id = unused_name("removed_id", job.df.columns)
    removed_ids = _removed_ids(job, clusters).select(F.col("id").alias(removed_id))
    counts = job.counts
    count = counts["removals"] + counts["copies"] + counts["without_features"]
    removed_ids = job.broadcast(removed_ids, count, integers=job.id_type == "bigint")
    is_removed = job.df[quote(job.id)].cast(job.id_type) == F.col(removed_id)
    kept = job.df.join(removed_ids, is_removed, "left_anti")
    pairs = removed.select("id", "representative", "distance", "similarity")
    if job.config.links == "all":
        pairs = job.checkpoint.guard("pairs", job.checkpoint.frame("pairs", job.all_links))
    return SparkResult(kept, clusters, pairs, _summarize(job, clusters))


def _removed_ids(job: SparkJob, clusters: DataFrame) -> DataFrame:
    """Return the ids of removed documents, with those that `empty="drop"` removes."""
    removed = clusters.where("reason <> 'kept'").select("id")
    if job.config.empty == "keep":
        return removed
    return removed.union(job.checkpoint.guard("empty", job.checkpoint.frame("empty", job.empty_ids)))


def _removed_documents(job: SparkJob) -> DataFrame:
    """Return number, rep, similarity, distance, exact of every removed document."""
    F, point = job.F, job.checkpoint
    columns = "right AS number", "left AS rep", "similarity", "distance"
    matched = point.frame("removed", lambda: job.matched_links().selectExpr(*columns))
    check_read("links", job.counts["removals"], point.done["removed"])
    own = matched.select("number", "rep", "similarity", "distance", F.lit(False).alias("exact"))
    originals = matched.select(F.col("number").alias("original"), "rep", "similarity", "distance")
    copies = job.copies.where("number > 0").join(originals, "original", "left")
    exact = F.col("rep").isNull()
    return own.union(
        copies.select(
            "number",
            F.coalesce("rep", "original").alias("rep"),
            F.when(exact, F.lit(job.equal)).otherwise(F.col("similarity")).alias("similarity"),
            F.when(exact, F.lit(0)).otherwise(F.col("distance")).cast("bigint").alias("distance"),
            exact.alias("exact"),
        )
    )


def _build_clusters(job: SparkJob) -> DataFrame:
    F, point = job.F, job.checkpoint
    if job.counts["removals"] + job.counts["copies"] <= min(MAX_DRIVER_REMOVED, MAX_DRIVER_CLUSTERS):
        return point.table(
            "clusters", CLUSTERS.replace("ID", job.id_type), lambda: number_clusters(cluster_members(job)[0])
        )
    removed = _removed_documents(job)
    kept = removed.where("rep > 0").select("rep").distinct()
    kept = kept.select(
        F.col("rep").alias("number"),
        "rep",
        F.lit(job.equal).alias("similarity"),
        F.lit(0).cast("bigint").alias("distance"),
        F.lit(None).cast("boolean").alias("exact"),
    )
    removed = removed.union(kept)
    count = 2 * (job.counts["removals"] + job.counts["copies"])
    numbers = job.distinct(removed.select("number").union(removed.select("rep")), count)
    names = numbers.join(job.documents.select("number", "id"), "number")
    representatives = names.select(F.col("number").alias("rep"), F.col("id").alias("representative"))
    rows = removed.join(names, "number")
    rows = point.frame("members", lambda: rows.join(representatives, "rep"))
    numbers = _number_clusters(job, rows)
    near = F.lit("near")
    if job.config.verify == "jaccard":
        near = F.when(F.col("similarity") == 1.0, "same-letters").otherwise("near")
    reason = F.when(F.col("exact").isNull(), "kept").when(F.col("exact"), "exact").otherwise(near)
    reason = F.when(F.col("rep") < 0, F.concat(reason, F.lit("-old"))).otherwise(reason)
    columns = ["id", "cluster", "representative", "distance", "similarity", reason.alias("reason")]
    return point.frame("clusters", lambda: rows.join(numbers, "rep").select(*columns))


def _number_clusters(job: SparkJob, rows: DataFrame) -> DataFrame:
    """Return rep, cluster: clusters are numbered by their smallest id."""
    import pyarrow as pa

    F, point = job.F, job.checkpoint
    smallest = rows.groupBy("rep").agg(F.min("id").alias("id"))
    count = smallest.count()
    if count <= MAX_DRIVER_CLUSTERS:
        return point.table("cluster-numbers", "rep bigint, cluster bigint", lambda: _number_on_driver(smallest))
    # Ranges of ids are sorted by tasks, and each begins where those before it end.
    sample = smallest.sample(min(1.0, _SAMPLE / count), seed=1).select("id").limit(4 * _SAMPLE)
    ranges = IdRanges(tuple(to_values(sample.toArrow().column("id"))), num_tasks(count, TASK_ROWS))
    schema = f"rep bigint, id {job.id_type}, range bigint"
    tasks = 2 * ranges.count
    parts = smallest.select("rep", "id").mapInArrow(ranges.rows, schema).repartition(tasks, "range")
    schema = "rep bigint, range bigint, rank bigint"
    ranked = point.frame("cluster-ranks", lambda: parts.mapInArrow(ranges.ranks, schema))
    sizes = {row["range"]: row["n"] for row in fetch_rows(ranked.groupBy("range").agg(F.count("rep").alias("n")))}
    order = sorted(sizes)
    starts = np.cumsum([0, *(sizes[each] for each in order)])[: len(order)]
    firsts = job.session.createDataFrame(pa.table({"range": pa.array(order, pa.int64()), "start": starts}))
    numbered = ranked.join(job.broadcast(firsts, len(order)), "range").selectExpr("rep", "start + rank AS cluster")
    return point.frame("cluster-numbers", lambda: numbered)


def _number_on_driver(smallest: DataFrame) -> pa.Table:
    import pyarrow as pa

    ids = fetch(smallest, "rep").sort_by("id")
    return pa.table({"rep": ids.column("rep"), "cluster": np.arange(ids.num_rows)})


@dataclass(frozen=True)
class IdRanges:
    """Ranges of ids, integers or strings, about equal in size.

    Attributes
    ----------
    sample : tuple
        Ids.
    count : int
        Number of ranges.
    """

    sample: tuple[Any, ...]
    count: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the range of each row: columns rep, id, range."""
        import pyarrow as pa

        # Strings of Python and of UTF-8 have one order.
        ordered = sorted(set(self.sample))
        splits = [ordered[len(ordered) * at // self.count] for at in range(1, self.count) if ordered]
        for batch in batches:
            ranges = [bisect_right(splits, id) for id in to_values(batch.column("id"))]
            yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(ranges, pa.int64())], ["rep", "id", "range"])

    @staticmethod
    def ranks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert the rows of complete ranges to rep, range, rank: their rank by id in their range."""
        table = gather(batches)
        if table is None:
            return
        table = table.sort_by([("range", "ascending"), ("id", "ascending")])
        ranges = to_integers(table.column("range"))
        starts = np.flatnonzero(np.concatenate([[True], ranges[1:] != ranges[:-1]]))
        rank = np.arange(len(ranges)) - np.repeat(starts, np.diff(np.append(starts, len(ranges))))
        yield from to_batches({"rep": table.column("rep"), "range": ranges, "rank": rank})


# Summary


def _summarize(job: SparkJob, clusters: DataFrame) -> Summary:
    """Return a summary with the keys of one machine, and raise its warnings."""
    F = job.F
    by_reason = fetch_rows(clusters.groupBy("reason").agg(F.count("id").alias("n")))
    reasons = {row["reason"]: row["n"] for row in by_reason}
    sizes = clusters.groupBy("cluster").agg(F.count("id").alias("n")).agg(F.count("n"), F.max("n"))
    num_clusters, largest = fetch_rows(sizes)[0].values()
    counted = (num_clusters, largest or 0), job.count_work(), job.counts["removals"]
    summary, warnings = summarize_job(job.config, job.counts, reasons, *counted)
    if job.source_column is not None:
        summary["sources"], source_warnings = _count_sources(job, clusters)
        warnings += source_warnings
    for message in warnings:
        warn_caller(message)
    if warnings or job.source_column is not None:
        summary["warnings"] = warnings
    summary["timings"] = {stage: {"wall": wall} for stage, wall in job.checkpoint.seconds.items()}
    return summary


def _count_sources(job: SparkJob, clusters: DataFrame) -> tuple[list[SourceRemovals], list[str]]:
    F = job.F
    documents = job.checkpoint.read("documents", f"id {job.id_type}, source string")
    new = documents.select("id", F.coalesce("source", F.lit("")).alias("source"))
    removed = _removed_ids(job, clusters).select("id", F.lit(1).alias("removed"))
    rows = new.join(removed, "id", "left").groupBy("source")
    table = fetch_rows(rows.agg(F.count("id").alias("n"), F.count("removed").alias("removed")).orderBy("source"))
    return tabulate_removals(*([row[name] for row in table] for name in ("source", "n", "removed")))
