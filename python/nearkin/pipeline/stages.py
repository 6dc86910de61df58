"""The stages of a deduplication after hashing, whatever was hashed: collapse, search, verify, cluster, keep."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__
from nearkin.errors import bad_parameter
from nearkin.pipeline.candidates import CandidateSource
from nearkin.pipeline.cluster import Absorbed, Clustering
from nearkin.pipeline.documents import (
    Documents,
    HashedDocuments,
    Progress,
    check_distinct_ids,
    first_with_same_content,
)
from nearkin.pipeline.keep import keep_order
from nearkin.pipeline.memory import peak_memory_bytes
from nearkin.pipeline.results import REASONS, DedupResult, Outcome, Table, all_links, by_source, clusters_table
from nearkin.pipeline.verify import Measure

Cluster = Literal["absorb", "components"]


Links = Literal["representatives", "all"]


class RunOptions(Protocol):
    """What the stages ask of the options of a run, whatever was hashed."""

    @property
    def recipe(self) -> Any:
        """How documents were hashed."""

    @property
    def threshold(self) -> float:
        """Smallest similarity of a match, inclusive."""

    @property
    def verify(self) -> str:
        """How matches are verified, as the summary names it."""

    @property
    def measure(self) -> Measure | None:
        """Similarity of texts that verifies candidates; None takes every candidate as a match."""

    @property
    def cluster(self) -> Cluster:
        """The rule of clusters."""

    @property
    def keep(self) -> str:
        """The rule of the order."""

    @property
    def links(self) -> Links:
        """Which pairs are told."""

    @property
    def candidate_source(self) -> CandidateSource:
        """The family."""


class Stages:
    """Wall and CPU seconds of stages that may run several times."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, float]] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count what is done in this context to a stage."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            spent = self.seconds.setdefault(name, {"wall": 0.0, "cpu": 0.0})
            spent["wall"] += time.perf_counter() - wall
            spent["cpu"] += time.process_time() - cpu


def check_older_index(index: Any, options: RunOptions) -> Any:
    """The index, if it may be searched as `against`."""
    options.candidate_source.check_index(index)
    if options.measure is not None:
        raise bad_parameter(
            "verify", options.verify, "none with an index in against, which has no texts; or pass the older texts"
        )
    if options.cluster != "absorb" or options.links != "representatives":
        raise bad_parameter("cluster", options.cluster, "absorb, with links=representatives, with an index in against")
    return index


def run_stages(
    new: HashedDocuments,
    old: HashedDocuments | None,
    old_index: Any,
    options: RunOptions,
    stages: Stages,
    report: Progress,
) -> DedupResult:
    """Collapse, search, cluster and keep what was hashed."""
    check_distinct_ids(new.ids, "ids")
    if old is not None:
        check_distinct_ids(old.ids, "against_ids")
    with stages("collapse"):
        order = keep_order(new, options.keep)
        order = order[new.counts[order] > 0]
        old_rows = np.zeros(0, np.int64) if old is None else np.flatnonzero(old.counts)
        first = 0 if old is None else len(old)
        # All documents in keep order, older ones first; `row` counts older ones, then new ones.
        rows = np.concatenate([old_rows, order + first])
        contents = new.contents if old is None else np.concatenate([old.contents, new.contents])
        original = first_with_same_content(contents[rows])
        distinct = np.flatnonzero(original == np.arange(len(rows)))
    report("cluster", 0, len(distinct))
    hashed = new.values if old is None else np.concatenate([old.values, new.values])
    lengths = new.lengths if old is None else np.concatenate([old.lengths, new.lengths])
    # The id of an index's entry that removes the document, None for none, and its distance.
    index_ids = np.full(len(rows), None, object)
    index_distances = np.zeros(len(rows), np.int64)
    searched = distinct
    if old_index is not None:
        with stages("search older"):
            ids, distances = options.candidate_source.nearest(old_index, hashed[rows[distinct]])
            hit = ids != None  # noqa: E711 - elementwise
            index_ids[distinct[hit]], index_distances[distinct[hit]] = ids[hit], distances[hit]
            searched = distinct[~hit]
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        report("cluster", done, len(distinct))

    clustering = Clustering(
        recipe=options.recipe,
        threshold=float(options.threshold),
        measure=options.measure,
        candidate_source=options.candidate_source,
        values=hashed[rows[searched]],
        rows=rows[searched],
        lengths=lengths[rows[searched]],
        documents=Documents(old, new),
        old=int(np.searchsorted(searched, len(old_rows))),
        tick=tick,
    )
    with stages("cluster"):
        found = clustering.absorb() if options.cluster == "absorb" else clustering.components()
    with stages("result"):
        by = np.arange(len(rows))
        similarity = np.full(len(rows), options.candidate_source.equal)
        absorbed = found.by >= 0
        by[searched[absorbed]] = searched[found.by[absorbed]]
        similarity[searched[absorbed]] = found.similarity[absorbed]
        # Copies share the fate of their original.
        by, index_ids, index_distances = by[original], index_ids[original], index_distances[original]
        similarity = similarity[original]
        similarity[index_ids != None] = np.nan  # noqa: E711 - elementwise
        outcome = Outcome(rows - first, by, similarity, index_ids, index_distances, hashed[rows], contents[rows])
        clusters, removed_rows, removed = clusters_table(options.candidate_source, new, old, outcome)
        kept = np.ones(len(new), bool)
        kept[removed_rows] = False
        if options.links == "all":
            pairs = all_links(options.candidate_source, new, old, outcome, original, clustering)
        else:
            names = ("id", "representative", "distance", "similarity")
            pairs = Table({name: [clusters[name][at] for at in removed] for name in names})
        kept_rows = np.flatnonzero(kept)
        summary = _summary(new, old, found, clusters, kept, original, len(old_rows), options)
        kept_ids = new.ids.to_list() if kept.all() else new.ids.take(kept_rows)
    summary["timings"] = stages.seconds
    summary["peak_memory_bytes"] = peak_memory_bytes()
    return DedupResult(kept_ids, kept_rows, clusters, pairs, summary)


def _summary(
    new: HashedDocuments,
    old: HashedDocuments | None,
    found: Absorbed,
    clusters: Table,
    kept: NDArray[np.bool_],
    original: NDArray[np.int64],
    hashed_old: int,
    options: RunOptions,
) -> dict[str, Any]:
    sizes = np.bincount(clusters["cluster"]) if len(clusters) else np.zeros(1, np.int64)
    reasons = {reason: clusters["reason"].count(reason) for reason in REASONS[1:]}
    summary: dict[str, Any] = {
        "version": __version__,
        "recipe": str(options.recipe),
        "recipe_digest": options.recipe.digest,
        "threshold": options.threshold,
        **options.candidate_source.summary(),
        "verify": options.verify,
        "cluster": options.cluster,
        "keep": options.keep,
        "documents": len(new),
        "without_features": int((new.counts == 0).sum()),
        "kept": int(kept.sum()),
        "removed": int((~kept).sum()),
        "removed_by_reason": reasons,
        "clusters": len(set(clusters["cluster"])),
        "largest_cluster": int(sizes.max()),
        "older_documents": 0 if old is None else len(old),
        "candidates": found.candidates,
        "verified": found.verified,
        # Of the pairs that were verified, the share that matched; every match removes one distinct text.
        "verified_precision": int((found.by >= 0).sum()) / found.verified if found.verified else None,
    }
    if "source" in new.columns:
        summary["sources"], summary["warnings"] = by_source(new.columns["source"], kept)
    return summary
