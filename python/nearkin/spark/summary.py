"""The summary of a job: counts that the engine makes, warnings."""

from __future__ import annotations

from typing import Any

from nearkin.dedup.distributed.verify import COUNTS
from nearkin.dedup.stages import said_of
from nearkin.dedup.summary import Summary, removals
from nearkin.errors import warn_caller
from nearkin.spark.engine import DataFrame, few_rows, joined
from nearkin.spark.job import Job
from nearkin.spark.plans import LINKS


def summary_of(job: Job, clusters: DataFrame, removed: DataFrame) -> Summary:
    """The same keys as of one machine; warnings are raised, too."""
    F, options, counts = job.F, job.options, job.plans.counts
    reasons = {row["reason"]: row["n"] for row in few_rows(clusters.groupBy("reason").agg(F.count("id").alias("n")))}
    sizes = few_rows(clusters.groupBy("cluster").agg(F.count("id").alias("n")).agg(F.count("n"), F.max("n")))[0]
    n_clusters, largest = sizes.values()
    gone = sum(count for reason, count in reasons.items() if reason != "kept")
    looked = _looked(job)
    said, told, warnings = said_of(options)
    summary: Summary = {
        **said,
        "documents": counts["documents"],
        "without_features": counts["without_features"],
        "kept": counts["documents"] - gone,
        "removed": gone,
        "removed_by_reason": {reason: reasons.get(reason, 0) for reason in told},
        "clusters": n_clusters,
        "largest_cluster": largest or 0,
        "older_documents": counts["older"],
        "candidates": looked["candidates"],
        "verified": looked["verified"],
        "verified_precision": removed.count() / looked["verified"] if looked["verified"] else None,
        "skipped": looked["skipped"],
    }
    if options.differ:
        summary["pairs_that_differ"] = looked["differing"]
    if job.source is not None:
        summary["sources"], of_sources = _sources(job, clusters)
        warnings += of_sources
    warnings += _missing(job)
    if looked["skipped"]:
        warnings.append(f"{looked['skipped']:,} comparisons were left out: 2**39 pairs of characters for Indel")
    for message in warnings:
        warn_caller(message)
    if warnings or job.source is not None:
        summary["warnings"] = warnings
    seconds = job.checkpoint.seconds
    summary["timings"] = {stage: {"wall": wall} for stage, wall in seconds.items()}
    return summary


def _looked(job: Job) -> dict[str, int]:
    """Pairs that were looked at, of all rounds."""
    F = job.F
    names = [name for name in job.checkpoint.done if name == "links" or name.startswith("links-")]
    # Without a pair a folder of links has no row, and no schema of its own.
    reader = job.session.read.schema(LINKS)
    frames = [reader.parquet(f"{job.checkpoint.path}/{name}") for name in sorted(names)]
    sums = joined(frames).where("right is null").agg(*(F.sum(name).alias(name) for name in COUNTS))
    return {name: value or 0 for name, value in few_rows(sums)[0].items()}


def _sources(job: Job, clusters: DataFrame) -> tuple[list[Any], list[str]]:
    F = job.F
    new = job.session.read.parquet(f"{job.checkpoint.path}/documents").select(
        "id", F.coalesce("source", F.lit("")).alias("source")
    )
    gone = clusters.where("reason <> 'kept'").select("id", F.lit(1).alias("gone"))
    rows = new.join(gone, "id", "left").groupBy("source")
    table = few_rows(rows.agg(F.count("id").alias("n"), F.count("gone").alias("gone")).orderBy("source"))
    return removals(*([row[name] for row in table] for name in ("source", "n", "gone")))


def _missing(job: Job) -> list[str]:
    """Warnings of values and texts that are not there."""
    counts, told = job.plans.counts, []
    for at, by in enumerate(job.options.order):
        if by.column and counts.get(f"missing{at}"):
            told.append(
                f"{counts[f'missing{at}']:,} of {counts['documents']:,} documents have no value in column "
                f"{by.column!r} and come last by it"
            )
    if counts.get("no_text"):
        told.append(f"{counts['no_text']:,} of {counts['documents']:,} texts are null and count as empty")
    return told
