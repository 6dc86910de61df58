"""Results of a job: the tables of `nearkin.DedupResult` as DataFrames, and the summary."""

from __future__ import annotations

from dataclasses import dataclass

from nearkin.dedup.summary import SourceRemovals, Summary, describe_counts, tabulate_removals
from nearkin.distributed.tables import build_clusters, summarize
from nearkin.errors import warn_caller
from nearkin.spark.engine import DataFrame, fetch_rows, quote, unused_name
from nearkin.spark.job import SparkJob


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
    clusters = job.checkpoint.guard("clusters", build_clusters(job))
    removed = clusters.where("reason <> 'kept'")
    removed_id = unused_name("removed_id", job.df.columns)
    removed_ids = _removed_ids(job, clusters).select(F.col("id").alias(removed_id))
    counts, done = job.counts, job.checkpoint.done
    if job.hints:
        count = counts["removals"] + counts["copies"] + counts["without_features"]
        removed_ids = job.broadcast(removed_ids, count, integers=job.id_type == "bigint")
    else:
        # Sail keeps the side of a join in memory that it believes to be smaller, and does not know the size of a table
        # that Python has checked: a limit, the number of rows that were checked, says it.
        removed_ids = removed_ids.limit(done["clusters"] + done.get("empty", 0))
    is_removed = job.df[quote(job.id)].cast(job.id_type) == F.col(removed_id)
    kept = removed_ids.join(job.df, is_removed, "right").where(F.col(removed_id).isNull()).drop(removed_id)
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


# Summary


def _summarize(job: SparkJob, clusters: DataFrame) -> Summary:
    """Return a summary with the keys of one machine, and raise its warnings."""
    summary, warnings = summarize(job, clusters)
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
