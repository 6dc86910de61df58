"""The stages of a deduplication after hashing: collapse, search of a reference index, cluster, result.

1. `collapse`: the new documents that have features, in keep order, and their copies.
2. `cluster`: a rule of `nearkin.dedup.cluster` over the distinct documents.
3. `make_result`: copies follow their original; then tables (`nearkin.dedup.result`) and summary.

Each stage is a function of the results of earlier ones; `run_stages` calls them in order. A caller that decides batch
by batch can call the first two alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__
from nearkin.dedup.candidates import MinHashCandidates, Ordinals
from nearkin.dedup.checkpoint import JobCheckpoint, StageLog, digest_arrays
from nearkin.dedup.cluster import Assignment, Clusterer
from nearkin.dedup.config import AnyDedupConfig
from nearkin.dedup.constraints import ResolvedLabels, resolve_labels
from nearkin.dedup.contained import estimate_contained
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.keep import KeepKey, describe_order, keep_order, missing_warnings, removes_clusters
from nearkin.dedup.labels import PairLabels
from nearkin.dedup.reference import MemoryReference, ReferenceCorpus
from nearkin.dedup.result import (
    ClusterTable,
    DedupResult,
    Representatives,
    TableBuilder,
    count_clusters,
    representative_links,
)
from nearkin.dedup.summary import (
    REASONS,
    DedupDetails,
    OptionSummary,
    Reason,
    StageTimer,
    Summary,
    peak_memory_bytes,
    removals_by_source,
    share_sources,
    summarize_family,
)
from nearkin.dedup.thresholds import estimate_thresholds, pair_probability
from nearkin.errors import warn_caller
from nearkin.progress import Progress, ticker


def run_stages(
    new: HashedDocuments,
    reference: ReferenceCorpus | None,
    config: AnyDedupConfig,
    timer: StageTimer,
    report: Progress,
    labels: PairLabels | None = None,
    checkpoint: JobCheckpoint | None = None,
    known: Ordinals | None = None,
) -> DedupResult:
    """Collapse, cluster, and build the result of hashed documents with distinct ids."""
    with timer("collapse"):
        collapsed = collapse(new, reference, config.order, known)
        new.release()
    tick = ticker(report, "cluster", len(collapsed.distinct))
    with timer("cluster"):
        clustering = cluster(new, reference, collapsed, config, tick, labels, checkpoint)
        new.release()
    with timer("result"):
        result = make_result(new, reference, collapsed, clustering, config)
    if config.near_misses:
        tick = ticker(report, "contained", len(result.kept_rows))
        with timer("contained"):
            estimate = estimate_contained(new, result.kept_rows, float(config.threshold), tick)
            result.summary["contained"] = estimate
            new.release()
    result.summary["timings"] = timer.seconds
    result.summary["peak_memory_bytes"] = peak_memory_bytes()
    return result


_COMPARED = ("same-letters", "near")
"""Reasons, with and without "-old", of removed documents with another content than the kept one."""


# Collapse


@dataclass(frozen=True)
class CollapsedDocuments:
    """The new documents that can have duplicates, by position in keep order.

    These are the documents with features, and those that the reference has already under their id. A document without
    features is a copy of nothing else.

    Attributes
    ----------
    rows : (n,) int64
        Their rows.
    original : (n,) int64
        Position of the first document with the same content: its own, unless it is a copy.
    reference_rows : (n,) int64
        Row of the first reference document with the same content, or of the document itself; -1 for none.
    distinct : (m,) int64
        Positions of the documents to search: those that are no copies of an earlier or of a reference document.
    """

    rows: NDArray[np.int64]
    original: Ordinals
    reference_rows: NDArray[np.int64]
    distinct: Ordinals


def collapse(
    new: HashedDocuments, reference: ReferenceCorpus | None, order: Sequence[KeepKey], known: Ordinals | None = None
) -> CollapsedDocuments:
    """Return the documents that can have duplicates in keep order, copies with their original.

    `known` has for each document without features its row in the reference, -1 for none.
    """
    rows, numbers = keep_order(new, order), np.arange(len(new))
    rows = rows[(new.counts > 0 if known is None else (new.counts > 0) | (known >= 0))[rows]]
    contents, numbers = new.contents[rows], numbers[: len(rows)]
    original = first_with_same_content(contents)
    if known is not None:
        original = np.where(new.counts[rows] > 0, original, numbers)
    searched = original == numbers
    if reference is None:
        none = np.broadcast_to(np.int64(-1), len(rows))
        return CollapsedDocuments(rows, original, none, np.flatnonzero(searched))
    reference_rows = reference.copies(contents)
    if known is not None:
        reference_rows = np.where(new.counts[rows] > 0, reference_rows, known[rows])
    return CollapsedDocuments(rows, original, reference_rows, np.flatnonzero(searched & (reference_rows < 0)))


# Cluster


@dataclass(frozen=True)
class Clustering:
    """Clustered documents and their assignment.

    Attributes
    ----------
    searched : (m,) int64
        Their positions in keep order.
    clusterer : Clusterer
    assignment : Assignment
    first : int
        Ordinal of the first of them in the clusterer: the number of reference documents.
    labels : ResolvedLabels or None
    """

    searched: Ordinals
    clusterer: Clusterer
    assignment: Assignment
    first: int
    labels: ResolvedLabels | None = None

    def positions(self, ordinals: Ordinals, n: int) -> Ordinals:
        """Convert ordinals of the clusterer to positions of `Representatives`, which has reference documents last."""
        positions = n + ordinals
        new = ordinals >= self.first
        positions[new] = self.searched[ordinals[new] - self.first]
        return positions


def cluster(
    new: HashedDocuments,
    reference: ReferenceCorpus | None,
    collapsed: CollapsedDocuments,
    config: AnyDedupConfig,
    tick: Callable[[int], None],
    labels: PairLabels | None = None,
    checkpoint: JobCheckpoint | None = None,
) -> Clustering:
    """Apply the rule of clusters to the distinct documents; with `checkpoint` to those that it has no decision on."""
    searched = collapsed.distinct
    resolved = None
    if labels is not None:
        resolved = resolve_labels(
            labels,
            new,
            reference,
            rows=collapsed.rows,
            original=collapsed.original,
            reference_rows=collapsed.reference_rows,
            searched=searched,
        )
    constraints = resolved.constraints if resolved is not None and len(resolved.constraints) else None
    log = None
    # Another collection may change between two runs.
    if checkpoint is not None and (reference is None or isinstance(reference, MemoryReference)):
        known = () if reference is None else (reference.documents.contents,)
        rejected = () if constraints is None else (constraints.left, constraints.right)
        key = digest_arrays(collapsed.rows, searched, new.contents, *known, *rejected)
        log = partial(StageLog, checkpoint, key=key)
    clusterer = Clusterer(
        candidate_source=config.candidate_source,
        comparison=config.comparison,
        threshold=float(config.threshold),
        documents=new,
        rows=collapsed.rows[searched],
        reference=reference,
        tick=tick,
        max_comparisons=config.max_comparisons,
        near_misses=config.near_misses,
        constraints=constraints,
        lossless=config.lossless,
        best=config.verify == "score",
        log=log,
    )
    assignment = clusterer.absorb() if config.cluster == "absorb" else clusterer.components()
    if resolved is not None and len(resolved.required):
        clusterer.join(resolved.required, assignment)
    return Clustering(searched, clusterer, assignment, 0 if reference is None else len(reference), resolved)


# Result


def make_result(
    new: HashedDocuments,
    reference: ReferenceCorpus | None,
    collapsed: CollapsedDocuments,
    clustering: Clustering,
    config: AnyDedupConfig,
) -> DedupResult:
    """Build tables, kept rows and the summary, without times and memory."""
    source, assignment = config.candidate_source, clustering.assignment
    chosen = representatives(collapsed, clustering, source.equal)
    tables = TableBuilder(new, reference, chosen, source.distances, source.equal)
    by_features = config.comparison is not None and config.comparison.measure == "jaccard"
    keeps_none = removes_clusters(config.order)
    shared, few = None, None
    if "source" in new.columns:
        shared, distinct = share_sources(new.columns["source"], chosen.clusters(len(new)))
        few = None if config.min_sources < 2 else distinct < config.min_sources
    by_best = config.order[0].by == "best"
    clusters = tables.clusters(by_features=by_features, keeps_none=keeps_none, removed=few, by_best=by_best)
    pairs = representative_links(clusters)
    skipped = assignment.skipped
    n = len(chosen)
    if config.links == "all":
        left, right, similarity, unlinked = clustering.clusterer.links()
        skipped += unlinked
        pairs = tables.all_links(clustering.positions(left, n), clustering.positions(right, n), similarity)
    kept, weights = chosen.fates(len(new), keeps_none=keeps_none)
    if config.empty == "drop":
        kept[new.counts == 0] = False
    if few is not None:
        few &= kept
        kept &= ~few
    summary = _summarize(new, clustering, clusters, kept, config, skipped)
    if shared is not None:
        summary["sources_shared"] = shared
    if few is not None:
        summary["min_sources"] = config.min_sources
        summary["removed_by_reason"]["few-sources"] = int(few.sum())
    near_misses = None
    if assignment.near is not None:
        near = assignment.near
        left, right = clustering.positions(near.left, n), clustering.positions(near.right, n)
        near_misses = tables.pairs(left, right, near.similarity)
        summary["near_misses"] = {"sampled": near.sampled, "of": near.kept, "pairs": len(near_misses)}
        listed = np.isin(clusters.codes, [code for code, reason in enumerate(REASONS) if reason.startswith(_COMPARED)])
        share = pair_probability(near.sampled, near.kept)
        removed = np.asarray(clusters.compact["similarity"], np.float64)[listed]
        summary["thresholds"] = estimate_thresholds(summary, removed, near.similarity, share)
    return DedupResult(np.flatnonzero(kept), clusters, pairs, summary, new.ids, weights[kept], near_misses)


def representatives(collapsed: CollapsedDocuments, clustering: Clustering, equal: float) -> Representatives:
    """Return the kept document of each document; `equal` is the similarity of equal documents."""
    n = len(collapsed.rows)
    copy_of = collapsed.original.copy()
    reference_copies = np.flatnonzero(collapsed.reference_rows >= 0)
    copy_of[reference_copies] = n + collapsed.reference_rows[reference_copies]
    # First for originals: itself, or a reference document.
    by, similarity = np.arange(n), np.full(n, equal)
    by[reference_copies] = copy_of[reference_copies]
    assignment = clustering.assignment
    absorbed = assignment.by >= 0
    by[clustering.searched[absorbed]] = clustering.positions(assignment.by[absorbed], n)
    similarity[clustering.searched[absorbed]] = assignment.similarity[absorbed]
    labelled = np.zeros(n, bool)
    if assignment.labelled is not None:
        labelled[clustering.searched] = assignment.labelled
    # Copies share the fate of their original.
    fates = by[collapsed.original], similarity[collapsed.original], copy_of, labelled[collapsed.original]
    return Representatives(collapsed.rows, *fates)


def summarize_config(
    config: AnyDedupConfig, *, on_engine: bool = False
) -> tuple[OptionSummary, list[Reason], list[str]]:
    """Return the options of a run for its summary, the reasons of removals that it counts, and warnings."""
    # Without a comparison of features, equal features are not detected; a run with labels adds their reasons.
    compared = config.comparison is not None
    left_out = ("label", "few-sources") if compared else ("label", "few-sources", "same-letters")
    reasons = [reason for reason in REASONS[1:] if not reason.startswith(left_out)]
    if not removes_clusters(config.order):
        reasons.remove("representative")
    source = config.candidate_source
    family, warnings = summarize_family(source.summary(), config.verify)
    # The number of values may follow from the documents.
    recipe = source.recipe if isinstance(source, MinHashCandidates) else config.recipe
    kind: DedupDetails = {} if config.kind is None else {"kind": config.kind, "kind_set": dict(config.kind_set)}
    rules: DedupDetails = {}
    if config.differ:
        rules["differ"] = list(config.differ)
    if config.lossless:
        rules["lossless"] = True
    summary: OptionSummary = {
        "version": __version__,
        **kind,
        "recipe": str(recipe),
        "recipe_digest": recipe.digest,
        "threshold": config.threshold,
        **family,
        "verify": config.verify,
        **rules,
        "empty": config.empty,
        "cluster": config.cluster,
        "keep": config.keep,
        "order": describe_order(config.order, on_engine=on_engine),
    }
    return summary, reasons, warnings


def _summarize(
    new: HashedDocuments,
    clustering: Clustering,
    clusters: ClusterTable,
    kept: NDArray[np.bool_],
    config: AnyDedupConfig,
    skipped: int,
) -> Summary:
    """Return counts and parameters, in the order of the file summary.json; times and memory follow at the end."""
    assignment, labels = clustering.assignment, clustering.labels
    matched = int((assignment.by >= 0).sum())
    # Those that a store has already are removed.
    without_features = int(((new.counts == 0) & (kept | (config.empty == "drop"))).sum())
    options, counted, warnings = summarize_config(config)
    reasons = [name for name in REASONS if name in counted or (labels is not None and name.startswith("label"))]
    summary: Summary = {
        **options,
        **count_clusters(clusters, kept, without_features, reasons),
        "older_documents": clustering.first,
        "candidates": assignment.candidates,
        "verified": assignment.verified,
        # The share of verified pairs that matched; every match removes one distinct text.
        "match_rate": matched / assignment.verified if assignment.verified else None,
        "skipped": skipped,
    }
    if config.empty == "drop":
        summary["removed_by_reason"]["empty"] = without_features
    if config.differ:
        summary["pairs_that_differ"] = assignment.differing
    if config.lossless:
        summary["kept_for_text"] = assignment.kept_for_text
    if labels is not None:
        summary["labels"] = labels.counts(
            kept_apart=assignment.kept_apart, joined=assignment.joined, not_joined=assignment.not_joined
        )
    if "source" in new.columns:
        summary["sources"], source_warnings = removals_by_source(new.columns["source"], kept)
        warnings += source_warnings
    raised = missing_warnings(new, config.order)
    if labels is not None:
        raised += labels.warnings()
    if skipped:
        raised.append(config.skipped_warning(skipped))
    for message in raised:
        warn_caller(message)
    warnings += raised
    if warnings or "source" in new.columns:
        summary["warnings"] = warnings
    return summary
