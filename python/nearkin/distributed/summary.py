"""The summary of a job on many machines, with the keys of one machine, and its warnings."""

from __future__ import annotations

from collections.abc import Mapping

from nearkin.dedup.config import DedupConfig
from nearkin.dedup.keep import missing_warning
from nearkin.dedup.stages import summarize_config
from nearkin.dedup.summary import RemovalReason, Summary


def summarize_job(
    config: DedupConfig,
    counts: Mapping[str, int],
    reasons: Mapping[str, int],
    sizes: tuple[int, int],
    work: Mapping[str, int],
    matched: int,
) -> tuple[Summary, list[str]]:
    """Return the summary of a job, without sources and timings, and its warnings.

    Parameters
    ----------
    config : DedupConfig
    counts : mapping
        Of documents: "documents", "older", "without_features", "no_text", and "missing{i}" of each key of `keep`.
    reasons : mapping
        Documents of clusters by reason, with "kept".
    sizes : (int, int)
        Number of clusters, and size of the largest.
    work : mapping
        Sums of the columns `links.COUNTS`.
    matched : int
        Documents removed for a verified match.
    """
    options, counted, warnings = summarize_config(config, on_engine=True)
    removed = sum(count for reason, count in reasons.items() if reason != "kept")
    removed_by_reason: dict[RemovalReason, int] = {reason: reasons.get(reason, 0) for reason in counted}
    if config.empty == "drop":
        removed_by_reason["empty"] = counts["without_features"]
        removed += counts["without_features"]
    summary: Summary = {
        **options,
        "documents": counts["documents"],
        "without_features": counts["without_features"],
        "kept": counts["documents"] - removed,
        "removed": removed,
        "removed_by_reason": removed_by_reason,
        "clusters": sizes[0],
        "largest_cluster": sizes[1],
        "older_documents": counts["older"],
        "candidates": work["candidates"],
        "verified": work["verified"],
        "match_rate": matched / work["verified"] if work["verified"] else None,
        "skipped": work["skipped"],
    }
    if config.differ:
        summary["pairs_that_differ"] = work["differing"]
    for at, by in enumerate(config.order):
        if by.column and counts.get(f"missing{at}"):
            warnings.append(missing_warning(counts[f"missing{at}"], counts["documents"], by.column))
    if counts.get("no_text"):
        warnings.append(f"{counts['no_text']:,} of {counts['documents']:,} texts are null and count as empty")
    if work["skipped"]:
        warnings.append(f"{work['skipped']:,} comparisons were left out: 2**39 pairs of characters for Indel")
    return summary, warnings
