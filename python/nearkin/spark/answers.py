"""What a job found, as the tables of `nearkin.DedupResult`."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.spark.engine import DataFrame, fetched, quoted, unlike
from nearkin.spark.job import Job
from nearkin.spark.results import SparkResult
from nearkin.spark.summary import summary_of


def result_of(job: Job) -> SparkResult:
    """DataFrames and summary."""
    F = job.F
    decided = job.decided()
    documents, copies, removed, links = decided.documents, decided.copies, decided.removed, decided.links
    clusters = _clusters(job, documents, copies, removed)
    removed_id = unlike("removed_id", job.df.columns)
    gone = clusters.where("reason <> 'kept'").select(F.col("id").alias(removed_id))
    kept = job.df.join(gone, job.df[quoted(job.id)].cast(job.kind) == F.col(removed_id), "left_anti")
    linked = clusters.where("reason <> 'kept'").select("id", "representative", "distance", "similarity")
    if job.options.links == "all":
        linked = job.checkpoint.frame("pairs", lambda: _all_links(job, documents, copies, links))
    return SparkResult(kept, clusters, linked, summary_of(job, clusters, removed))


def answers_of(job: Job) -> DataFrame:
    """id, status, match, distance, similarity."""
    F = job.F
    decided = job.decided()
    documents, copies, removed = decided.documents, decided.copies, decided.removed
    # A copy of a new document is as new as that one.
    members = _members(job, copies, removed).where("rep < 0")
    names = documents.select("number", "id")
    heads = names.select(F.col("number").alias("rep"), F.col("id").alias("match"))
    new = names.where("number > 0").join(members, "number", "left").join(heads, "rep", "left")
    status = F.when(F.col("rep").isNull(), "new").when(F.col("exact"), "exact").otherwise("near")
    return job.checkpoint.frame(
        "answers", lambda: new.select("id", status.alias("status"), "match", "distance", "similarity")
    )


def _members(job: Job, copies: DataFrame, removed: DataFrame) -> DataFrame:
    """number, rep, similarity, distance, exact of every new document that does not stay."""
    F = job.F
    own = removed.select("number", "rep", "similarity", "distance", F.lit(False).alias("exact"))
    head = removed.select(F.col("number").alias("original"), "rep", "similarity", "distance")
    followed = copies.where("number > 0").join(head, "original", "left")
    alone = F.col("rep").isNull()
    equal = float(job.plans.source.equal)
    return own.union(
        followed.select(
            "number",
            F.coalesce("rep", "original").alias("rep"),
            F.when(alone, F.lit(equal)).otherwise(F.col("similarity")).alias("similarity"),
            F.when(alone, F.lit(0)).otherwise(F.col("distance")).cast("bigint").alias("distance"),
            alone.alias("exact"),
        )
    )


def _clusters(job: Job, documents: DataFrame, copies: DataFrame, removed: DataFrame) -> DataFrame:
    F, point = job.F, job.checkpoint
    members = _members(job, copies, removed)
    none = F.lit(None)
    heads = members.where("rep > 0").select("rep").distinct()
    kept = heads.select(
        F.col("rep").alias("number"),
        "rep",
        F.lit(float(job.plans.source.equal)).alias("similarity"),
        F.lit(0).cast("bigint").alias("distance"),
        none.cast("boolean").alias("exact"),
    )
    names = documents.select("number", "id")
    all_ = members.union(kept).join(names, "number")
    representatives = names.select(F.col("number").alias("rep"), F.col("id").alias("representative"))
    rows = point.frame("members", lambda: all_.join(representatives, "rep"))
    numbers = point.table("cluster-numbers", "rep bigint, cluster bigint", lambda: _numbers(job, rows))
    near = F.lit("near")
    if job.options.comparison is not None and job.options.comparison.measure == "jaccard":
        near = F.when(F.col("similarity") == 1.0, "same-letters").otherwise("near")
    reason = F.when(F.col("exact").isNull(), "kept").when(F.col("exact"), "exact").otherwise(near)
    reason = F.when(F.col("rep") < 0, F.concat(reason, F.lit("-old"))).otherwise(reason)
    columns = ["id", "cluster", "representative", "distance", "similarity", reason.alias("reason")]
    return point.frame("clusters", lambda: rows.join(numbers, "rep").select(*columns))


def _numbers(job: Job, rows: DataFrame) -> Any:
    """Clusters by the smallest id in them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    F = job.F
    least = fetched(rows.groupBy("rep").agg(F.min("id").alias("least")), "rep")
    least = least.take(pc.sort_indices(least, [("least", "ascending")]))
    return pa.table({"rep": least.column("rep"), "cluster": np.arange(least.num_rows)})


def _all_links(job: Job, documents: DataFrame, copies: DataFrame, links: DataFrame) -> DataFrame:
    F = job.F
    equal = copies.where("number > 0").select(
        F.col("original").alias("left"),
        F.col("number").alias("right"),
        F.lit(float(job.plans.source.equal)).alias("similarity"),
        F.lit(0).cast("bigint").alias("distance"),
    )
    names = documents.select("number", "id")
    left = names.select(F.col("number").alias("left"), F.col("id").alias("left_id"))
    right = names.select(F.col("number").alias("right"), F.col("id").alias("right_id"))
    rows = links.union(equal).join(left, "left").join(right, "right")
    return rows.select(F.col("left_id").alias("left"), F.col("right_id").alias("right"), "distance", "similarity")
