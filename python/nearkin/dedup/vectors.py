"""Deduplication of vectors: pairs above a cosine, by `LSHIndex`, clustered as texts are (semantic deduplication).

1. *Collapse*: rows with equal bytes become one. Vectors of zeros have no direction and are never copies.
2. *Search*: an index of the distinct rows in keep order finds the rows within the distance 1 − threshold of each row.
   Up to 4,096 rows, all codes are scanned, and each of the two queries of a pair finds it with at least the requested
   probability. More rows are partitioned; then reach and probes are chosen by measurement (`LSHIndex.pair_effort`).
3. *Cluster*: keep-then-absorb or connected components. Cosines are exact, in the type of the vectors.

Cost: one query per row, and 24 bytes per pair; the index stores a copy of the vectors.

Source: A. Abbas, K. Tirumala, D. Simig, S. Ganguli, A. Morcos, "SemDeDup: Data-efficient learning at web-scale through
semantic deduplication" (2023), which compares all pairs within each k-means cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__, byte_hashes
from nearkin.dedup.candidates import Ordinals
from nearkin.dedup.documents import Cells, HashedDocuments, as_column, check_distinct_ids
from nearkin.dedup.keep import (
    column_key,
    keep_columns,
    missing_warnings,
    parse_keep,
    removes_clusters,
    values_by_column,
)
from nearkin.dedup.result import (
    ClusterTable,
    DedupResult,
    LazyColumn,
    PairTable,
    Representatives,
    cluster_members,
    representative_links,
)
from nearkin.dedup.stages import CollapsedDocuments, collapse
from nearkin.dedup.summary import REASONS, StageTimer, Summary, peak_memory_bytes
from nearkin.errors import bad_parameter, check_choice, warn_caller
from nearkin.index.ids import Ids
from nearkin.index.lsh import LSHIndex
from nearkin.index.lsh_params import MAX_FLAT_ROWS
from nearkin.index.results import Linkage
from nearkin.progress import ShowProgress
from nearkin.vectors.arrays import Rows, as_rows

THRESHOLD, RECALL = 0.95, 0.99
"""Default threshold and recall."""
_ROWS_PER_PARTITION = 512
"""Most near-copies share a partition, so larger ones than for nearest neighbours save centroids: of 200,000 vectors of
384 values, 512 rows take two thirds of the time of 169."""
_OPTIONS = ("recall", "cluster", "links")
"""Options of `nearkin.dedup` that vectors have, besides threshold, keep, values and progress."""


def dedup_vectors(
    vectors: NDArray[Any],
    ids: Ids | None,
    *,
    threshold: float | None,
    keep: str,
    values: Cells | str | Mapping[str, Cells] | None,
    progress: ShowProgress,
    options: Mapping[str, Any],
) -> DedupResult:
    """Deduplicate vectors; `options` are those of `nearkin.dedup` that were passed, except None.

    Raises
    ------
    ParameterError
        An option that only texts have; a threshold outside (0, 1]; a keep rule by length.
    InputError
        NaN or infinite values; ids that are not distinct.
    """
    for name, value in options.items():
        if name not in _OPTIONS:
            allowed = f"no {name} for vectors, which have threshold, keep, values, progress, {', '.join(_OPTIONS)}"
            raise bad_parameter(name, repr(value), allowed)
    threshold, recall = THRESHOLD if threshold is None else threshold, options.get("recall", RECALL)
    cluster, links = options.get("cluster", "absorb"), options.get("links", "representatives")
    check_choice("cluster", cluster, "absorb", "components")
    check_choice("links", links, "representatives", "all")
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 < threshold <= 1:
        raise bad_parameter("threshold", repr(threshold), "a cosine above 0 and up to 1")
    order = parse_keep(keep)
    if any(key.by in ("longest", "shortest") for key in order):
        raise bad_parameter("keep", repr(keep), "first, last, max:COLUMN, min:COLUMN or none for vectors")
    LSHIndex(recall=recall).params.check()
    timer = StageTimer()
    with timer("collapse"):
        rows = as_rows(vectors, name="vectors")
        columns = values_by_column(order, values)
        documents = _as_documents(rows, ids, {name: columns[name] for name in keep_columns(order)})
        collapsed = collapse(documents, None, order)
        distinct = collapsed.rows[collapsed.distinct]
    with timer("search"):
        n = len(distinct)
        partitioned = n > MAX_FLAT_ROWS
        # Few rows are within a small distance, so that a bound with a tenth of the misses costs little.
        bound = 1 - (1 - recall) / 10 if partitioned else recall
        index = LSHIndex(
            metric="cosine",
            recall=bound,
            filter="partitions" if partitioned else "codes",
            num_partitions=n // _ROWS_PER_PARTITION if partitioned else None,
        )
        found = _Neighbours.search(index, recall, rows, distinct, threshold, cluster, links == "all", progress)
    with timer("result"):
        n = len(collapsed.rows)
        by, similarity = np.arange(n), np.ones(n)
        by[collapsed.distinct] = collapsed.distinct[found.by]
        similarity[collapsed.distinct] = found.similarity
        original = collapsed.original
        chosen = Representatives(collapsed.rows, by[original], similarity[original], original)
        clusters = _cluster_table(chosen, documents, keeps_none=removes_clusters(order))
        pairs = _all_links(found, collapsed, documents) if links == "all" else representative_links(clusters)
        kept = np.ones(rows.matrix.shape[0], bool)
        kept[chosen.rows[chosen.removed]] = False
        if removes_clusters(order):
            kept[chosen.rows[chosen.by[chosen.removed]]] = False
        weights = np.ones(len(kept), np.int64)
        weights[chosen.rows] = chosen.sizes
        sizes = np.bincount(clusters.compact["cluster"]) if len(clusters) else np.zeros(1, np.int64)
        by_reason = np.bincount(clusters.codes, minlength=len(REASONS)).tolist()
        summary: Summary = {
            "version": __version__,
            "threshold": threshold,
            "verify": "cosine",
            "expected_recall": found.recall[0],
            "cluster": cluster,
            "keep": keep,
            "documents": len(kept),
            "without_features": len(kept) - n,
            "kept": int(kept.sum()),
            "removed": int((~kept).sum()),
            "removed_by_reason": {
                reason: by_reason[REASONS.index(reason)]
                for reason in ("exact", "near", *(("representative",) if removes_clusters(order) else ()))
            },
            "clusters": int((sizes > 0).sum()),
            "largest_cluster": int(sizes.max()),
            "vectors": {"dimension": rows.d, **found.facts},
        }
    if warnings := missing_warnings(documents, order):
        for message in warnings:
            warn_caller(message)
        summary["warnings"] = warnings
    summary["timings"] = timer.seconds
    summary["peak_memory_bytes"] = peak_memory_bytes()
    return DedupResult(np.flatnonzero(kept), clusters, pairs, summary, documents.ids, weights[kept])


def _as_documents(rows: Rows, ids: Ids | None, values: Mapping[str, Cells | str]) -> HashedDocuments:
    """Return the rows as documents: equal bytes are equal contents, and a vector of zeros has no features."""
    norms = rows.norms()
    n = len(norms)
    matrix = np.ascontiguousarray(rows.matrix)
    contents = byte_hashes(matrix.reshape(-1).view(np.uint8), matrix.shape[1] * matrix.itemsize).reshape(n, 2)
    id_column = as_column(np.arange(n) if ids is None else ids)
    columns = {column_key(name): as_column(cells) for name, cells in values.items() if not isinstance(cells, str)}
    for name, column in {"ids": id_column, **columns}.items():
        if len(column) != n:
            raise bad_parameter(name, f"{len(column)} values", f"{n} values, one per vector")
    for name, cells in values.items():
        if isinstance(cells, str):
            raise bad_parameter("values", repr(cells), f"numbers, one per vector, or a mapping with {name!r}")
    check_distinct_ids(id_column, "ids")
    no_values, counts = np.zeros((n, 0), np.uint64), (norms > 0).astype(np.uint64)
    return HashedDocuments(no_values, counts, contents, np.zeros(n, np.uint64), id_column, columns, lambda _: [])


@dataclass(frozen=True)
class _Neighbours:
    """Clusters of the distinct rows, by ordinal in keep order."""

    by: Ordinals
    """The representative of each."""
    similarity: NDArray[np.float64]
    """Cosine to it."""
    pairs: tuple[Ordinals, Ordinals, NDArray[np.float64]]
    """With all links: left, right and cosine; otherwise empty."""
    recall: tuple[float, float, float]
    """Recall of one query, with the bounds of its interval; the guarantee three times for codes."""
    facts: dict[str, Any]
    """What the summary says about the search."""

    @classmethod
    def search(
        cls,
        index: LSHIndex,
        requested: float,
        rows: Rows,
        distinct: NDArray[np.int64],
        threshold: float,
        cluster: str,
        all_links: bool,
        progress: ShowProgress,
    ) -> _Neighbours:
        """Search and cluster the distinct rows, which are given in keep order."""
        n = len(distinct)
        by, similarity = np.arange(n), np.ones(n)
        none = np.zeros(0, np.int64)
        if n < 2:
            return cls(by, similarity, (none, none, np.zeros(0)), (1.0, 1.0, 1.0), {})
        in_order = n == len(rows) and np.array_equal(distinct, by)
        points, radius = (rows if in_order else rows.take(distinct)).matrix, 1 - threshold
        index.fit(points)
        settings = index.settings_
        guarantee = float(settings.recall or 0)
        recall = (guarantee, guarantee, guarantee)
        options: dict[str, Any] = {"progress": progress}
        facts: dict[str, Any] = {"filter": settings.filter, "recall": requested}
        if settings.filter == "partitions":
            effort = index.pair_effort(radius, requested)
            options |= {"num_probes": effort.num_probes, "reach": effort.reach}
            recall = effort.recall, effort.recall_lower_bound, effort.recall_upper_bound
            facts |= {"num_partitions": settings.num_partitions, "num_probes": effort.num_probes, "reach": effort.reach}
            facts |= {"measured_pairs": effort.num_pairs, "measured_recall": effort.recall}
            facts |= {"recall_lower_bound": effort.recall_lower_bound, "recall_upper_bound": effort.recall_upper_bound}
        linkage: Linkage = "centred" if cluster == "absorb" else "connected"
        clusters = index.clusters(radius, linkage=linkage, **options)
        sizes = np.diff(clusters.offsets)
        members = clusters.ids.astype(np.int64)
        by[members] = np.repeat(members[clusters.offsets[:-1]], sizes)
        similarity[members] = np.minimum(1 - clusters.distances.astype(np.float64), 1.0)
        pairs = (none, none, np.zeros(0))
        if all_links:
            result = index.pairs(radius, **options)
            cosines = np.minimum(1 - result.distances.astype(np.float64), 1.0)
            pairs = result.left.astype(np.int64), result.right.astype(np.int64), cosines
        return cls(by, similarity, pairs, recall, facts)


def _cluster_table(chosen: Representatives, documents: HashedDocuments, *, keeps_none: bool) -> ClusterTable:
    members, cluster = cluster_members(chosen)
    representative = chosen.by[members]
    reason = np.where(representative == chosen.copy_of[members], REASONS.index("exact"), REASONS.index("near"))
    reason[representative == members] = REASONS.index("representative") if keeps_none else 0
    codes = reason.astype(np.uint8)
    take = documents.ids.take
    table = ClusterTable(
        {
            "id": LazyColumn(chosen.rows[members], take),
            "cluster": cluster,
            "representative": LazyColumn(chosen.rows[representative], take),
            "similarity": chosen.similarity[members],
            "reason": LazyColumn(codes, lambda keys: [REASONS[code] for code in keys.tolist()]),
        },
    )
    table.codes = codes
    return table


def _all_links(found: _Neighbours, collapsed: CollapsedDocuments, documents: HashedDocuments) -> PairTable:
    """Build the table of pairs of distinct rows, then each copy with its original."""
    copies = np.flatnonzero(collapsed.original != np.arange(len(collapsed.original)))
    left = np.concatenate([collapsed.distinct[found.pairs[0]], collapsed.original[copies]])
    right = np.concatenate([collapsed.distinct[found.pairs[1]], copies])
    similarity = np.concatenate([found.pairs[2], np.ones(len(copies))])
    ids = {
        name: LazyColumn(collapsed.rows[side], documents.ids.take) for name, side in (("left", left), ("right", right))
    }
    table = PairTable({**ids, "similarity": similarity})
    table.ordinals, table.copies = (left, right), len(copies)
    return table
