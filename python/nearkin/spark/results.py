"""What a deduplication on many machines found, as DataFrames."""

from __future__ import annotations

from dataclasses import dataclass

from nearkin.dedup.summary import Summary
from nearkin.spark.engine import DataFrame


@dataclass(frozen=True)
class SparkResult:
    """What a deduplication found; the columns are those of `nearkin.DedupResult`.

    Attributes
    ----------
    kept : DataFrame
        The rows of the documents that stay, with all their columns; in no order.
    clusters : DataFrame
        A row for every document of a cluster of two or more, and for every document that an older one removed: id,
        cluster (number from 0, by the smallest id in it), representative, distance, similarity (null where nothing
        verified), reason; with `differing="flag"` not available.
    pairs : DataFrame
        Links of removed documents with their representative: id, representative, distance, similarity; with
        `links="all"` every verified link: left, right, distance, similarity.
    summary : dict
        Counts, recipe, parameters, version, timings per stage, as in the file summary.json. `candidates` and
        `verified` count what this job looked at, which is more than one machine looks at.
    """

    kept: DataFrame
    clusters: DataFrame
    pairs: DataFrame
    summary: Summary

    def __repr__(self) -> str:
        documents, removed = self.summary["documents"], self.summary["removed"]
        clusters = self.summary["clusters"]
        return f"<kept {documents - removed} of {documents} documents, removed {removed} in {clusters} clusters>"
