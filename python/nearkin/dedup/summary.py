"""The summary of a deduplication: what it is made of, and removals per source."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin.io import Column

Reason = Literal["kept", "exact", "same-letters", "near", "exact-old", "same-letters-old", "near-old"]
REASONS: tuple[Reason, ...] = get_args(Reason)
"""Why a row is in the clusters table: it is the one kept, has the same content as it, has the same features but another
content, is similar to it; or the same of an older document."""


class Timing(TypedDict, total=False):
    """Seconds of a stage; an engine tells `wall` alone."""

    wall: float
    cpu: float


class SourceRemovals(TypedDict):
    """Removals of a source."""

    source: str
    documents: int
    removed: int
    share: float


class Summary(TypedDict, total=False):
    """Counts, recipe, parameters, version and timings of a run, as in the file summary.json.

    Keys from `radius` to `confirm_distance` are present as the run's families have them; `sources` if sources were
    given; `warnings` with them, or if something was skipped; `unreadable` for files, `also` and `text_threshold` for
    those compared as texts, too. `skipped` counts comparisons beyond `max_comparisons` (of files look-ups of 7-grams
    beyond `skip_hubs`): 0 says that nothing was left out.
    `near_misses`, where they were asked for: documents sampled, of how many kept ones, and their pairs.
    `labels`, where they were given: pairs labelled same, different, unsure, and both ways (contradictory); of the
    different ones those that would have been one cluster and were `kept_apart`, and those of equal contents, which are
    not; labelled ids that no document has.
    With rules of `differ`, `pairs_that_differ` counts similar pairs that were kept apart, or of which one was removed.
    """

    version: str
    recipe: str
    recipe_digest: str
    threshold: float
    radius: int
    num_perm: int
    num_bands: int
    num_rows: int
    least_equal_values: int
    sketch_size: int
    expected_recall: float | None
    expected_precision: float
    confirm: str
    confirm_distance: int
    verify: str
    differ: list[str]
    differing: str
    featureless: str
    cluster: str
    keep: str
    documents: int
    without_features: int
    kept: int
    removed: int
    removed_by_reason: dict[Reason, int]
    clusters: int
    largest_cluster: int
    older_documents: int
    candidates: int
    verified: int
    verified_precision: float | None
    skipped: int
    pairs_that_differ: int
    labels: dict[str, int]
    near_misses: dict[str, int]
    sources: list[SourceRemovals]
    warnings: list[str]
    timings: dict[str, Timing]
    peak_memory_bytes: int | None
    unreadable: int
    also: str
    text_threshold: float


def promised(family: Summary, verify: str) -> tuple[Summary, list[str]]:
    """What a family says of itself where candidates are verified by a measure; that its law is not that of the measure,
    where it is not.
    """
    if "expected_recall" not in family or "sketch_size" in family or verify not in ("containment", "indel"):
        return family, []
    message = (
        f"no recall is promised for {verify}: candidates follow from the Jaccard similarity of features, and pairs of "
        "another similarity may lie beyond them; "
        + (
            "measure='containment' has candidates of its own"
            if verify == "containment"
            else "a larger radius or recall finds more"
        )
    )
    return {**family, "expected_recall": None}, [message]


def by_source(sources: Column, kept: NDArray[np.bool_]) -> tuple[list[SourceRemovals], list[str]]:
    """Removals per source, and warnings of a source that loses at least 20 texts, at twice the rate of the others and
    25 points more.
    """
    values = [str(value) if value is not None else "" for value in sources.to_list()]
    names, which = np.unique(np.array(values, object), return_inverse=True)
    documents = np.bincount(which, minlength=len(names))
    removed = np.bincount(which, weights=~kept, minlength=len(names)).astype(np.int64)
    return removals(names.tolist(), documents.tolist(), removed.tolist())


def removals(names: list[str], documents: list[int], removed: list[int]) -> tuple[list[SourceRemovals], list[str]]:
    """The same of sources that were counted, each once."""
    table: list[SourceRemovals] = []
    warnings = []
    for name, total, gone in zip(names, documents, removed, strict=True):
        share = gone / total
        others = (sum(removed) - gone) / max(sum(documents) - total, 1)
        table.append({"source": name, "documents": total, "removed": gone, "share": share})
        if gone >= 20 and len(names) > 1 and share >= 2 * others and share >= others + 0.25:
            warnings.append(f"source {name!r} loses {share:.0%} of its documents, the others {others:.0%}")
    table.sort(key=lambda row: (-row["share"], row["source"]))
    return table, warnings
