"""Deduplication of vectors: pairs above a cosine, clustered as texts are (semantic deduplication).

1. *Collapse*: rows with equal bytes become one. Vectors of zeros have no direction and are never copies.
2. *Search* among the distinct rows in keep order, for rows within the distance 1 − threshold of each other. Up to 4,096
   rows, an index scans all codes, and each of the two queries of a pair finds it with at least the requested
   probability. More rows are joined by bands of sign bits (`BandPlan`), which miss a pair at the threshold with a tenth
   of the probability that the recall allows, and nearer ones less often. If a sample of the rows shows that bands would
   cost more than partitions, as at low thresholds, an index with partitions is searched; then reach and probes are
   chosen by measurement (`LSHIndex.pair_effort`).
3. *Cluster*: keep-then-absorb or connected components. Cosines are exact, in the type of the vectors.

Cost: of bands, see `BandPlan`, and 4 bytes per row and band; of an index, one query per row and a copy of the vectors.
24 bytes per pair that is verified.

Source: A. Abbas, K. Tirumala, D. Simig, S. Ganguli, A. Morcos, "SemDeDup: Data-efficient learning at web-scale through
semantic deduplication" (2023), which compares all pairs within each k-means cluster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import (
    __version__,
    band_collisions,
    byte_hashes,
    centred,
    components,
    cosine_distances,
    near_pairs,
)
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
    DedupResult,
    Representatives,
    TableBuilder,
    count_clusters,
    representative_links,
)
from nearkin.dedup.stages import collapse
from nearkin.dedup.summary import OptionSummary, Reason, StageTimer, Summary, peak_memory_bytes
from nearkin.errors import bad_parameter, check_choice, check_share, warn_caller
from nearkin.index.ids import Ids
from nearkin.index.lsh import LSHIndex
from nearkin.index.lsh_params import MAX_FLAT_ROWS
from nearkin.index.results import Linkage, run_block
from nearkin.progress import ShowProgress
from nearkin.vectors.arrays import Rows, as_rows

THRESHOLD, RECALL = 0.95, 0.99
"""Default threshold and recall."""
_ROWS_PER_PARTITION = 512
"""Most near-copies share a partition, so larger ones than for nearest neighbours save centroids: of 200,000 vectors of
384 values, 512 rows take two thirds of the time of 169."""
SKETCH_BITS = 512
"""Bits of a row that are compared before the vectors."""
_MIN_BITS, _MAX_BITS = 6, 1 << 14
"""Smallest number of bits of a band, and largest number of bits of all bands."""
_SAMPLE, _SAMPLED_BANDS = 2048, 16
"""Rows whose pairs estimate how many pairs are equal in a band, and bands of each."""
_SAMPLE_TIME = 1e8
"""Estimated nanoseconds of a join of the sample above which it is halved: 0.1 s."""
_MIN_SAMPLE = 128
"""Rows of a sample that is not halved."""
_MAX_RECALL = 1 - 1e-15
"""Largest recall of bands: of the next number, 1, no logarithm exists."""
_BIT_COST, _KEY_COST, _CANDIDATE_COST = 0.7, 12.0, 8.0
"""Nanoseconds per bit of a row, per sorted key, and per candidate, of one thread with AVX-512."""
_PAIR_COST, _COORDINATE_COST = 100.0, 0.5
"""Nanoseconds to verify a pair, and more of them per coordinate."""
_PARTITION_COST = 1000.0
"""Nanoseconds per vector of a search in partitions, times the root of the dimension. With these costs the faster search
is chosen on MNIST, LSA and SIFT at .9, .95 and .99: bands, except for SIFT at .9."""
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
    check_share("threshold", threshold, "a cosine above 0 and up to 1", lambda cosine: 0 < cosine <= 1)
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
        found = _NeighbourSearch(rows, distinct, threshold, recall, cluster, links == "all", progress).run()
    with timer("result"):
        n = len(collapsed.rows)
        by, similarity = np.arange(n), np.ones(n)
        by[collapsed.distinct] = collapsed.distinct[found.by]
        similarity[collapsed.distinct] = found.similarity
        original = collapsed.original
        chosen = Representatives(collapsed.rows, by[original], similarity[original], original)
        tables, keeps_none = TableBuilder(documents, None, chosen), removes_clusters(order)
        clusters = tables.clusters(by_features=False, keeps_none=keeps_none)
        pairs = representative_links(clusters)
        if links == "all":
            left, right, cosines = found.pairs
            pairs = tables.all_links(collapsed.distinct[left], collapsed.distinct[right], cosines)
        kept, weights = chosen.fates(rows.matrix.shape[0], keeps_none=keeps_none)
        reasons: tuple[Reason, ...] = ("exact", "near", "representative") if keeps_none else ("exact", "near")
        used: OptionSummary = {
            "version": __version__,
            "threshold": threshold,
            "verify": "cosine",
            "expected_recall": found.recall,
            "cluster": cluster,
            "keep": keep,
        }
        counts = count_clusters(clusters, kept, len(kept) - n, reasons)
        summary: Summary = {**used, **counts, "vectors": {"dimension": rows.d, **found.facts}}
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
class BandPlan:
    """Bands of sign bits that find a pair at the threshold with the requested probability (`index::lsh::join`).

    A bit of two vectors of cosine t is equal with probability p = 1 − arccos(t)/π, the b bits of a band with p^b. So L
    bands miss a pair with probability (1 − p^b)^L. A pair whose sketches of 512 bits differ in more than c bits is not
    verified; c is a quantile of the binomial distribution, for a tenth of the allowed misses.
    """

    bits: int
    """b, bits of a band."""
    bands: int
    """L."""
    max_differing: int
    """c."""
    recall: float
    """Probability of finding a pair of cosine t, at least; pairs of larger cosines are found more often."""
    cost: float
    """Estimated nanoseconds per vector."""

    @classmethod
    def choose(
        cls, threshold: float, recall: float, others: float, collisions: NDArray[np.uint64], pairs: int
    ) -> BandPlan:
        """Return the bands of the smallest estimated cost; that of no bands, which is infinite, if none are allowed.

        Parameters
        ----------
        threshold, recall : float
        others : float
            Number of rows that a row would be compared with if it collided with each.
        collisions : (33,) uint64
            For 0 to 32 bits, how many pairs of a sample are equal in that many bits of a band, summed over 16 bands.
        pairs : int
            Number of pairs of the sample.
        """
        # Rounding changes bits of vectors of one direction, so that the angle is never 0.
        unequal = max(math.acos(threshold) / math.pi, 1e-4)
        max_differing, lost = _sketch_quantile(unequal, (1 - recall) / 10)
        plans = []
        for bits in range(_MIN_BITS, 33):
            found = (1 - unequal) ** bits
            bands = max(1, math.ceil(math.log(1 - recall - lost) / math.log1p(-found)))
            if bits * bands <= _MAX_BITS:
                candidates = others * float(collisions[bits]) / (_SAMPLED_BANDS * max(pairs, 1))
                cost = bands * (bits * _BIT_COST + _KEY_COST + candidates * _CANDIDATE_COST)
                plans.append(cls(bits, bands, max_differing, 1 - (1 - found) ** bands - lost, cost))
        none = cls(0, 0, 0, 0.0, math.inf)
        return min(plans, key=lambda plan: plan.cost, default=none)

    @classmethod
    def of_rows(
        cls, threshold: float, recall: float, vectors: NDArray[Any], dim: int, rows: NDArray[np.uint32]
    ) -> BandPlan:
        """Return the bands of the smallest cost for rows, estimated from a sample of them.

        Rows that another row of the sample absorbs are left out: the join compares them with kept rows only. If there
        are many of them, the join of the sample itself seems expensive, so a smaller sample is joined.
        """
        n, chosen = len(rows), np.random.default_rng(0).choice(rows, min(len(rows), _SAMPLE), replace=False)
        collisions, pairs = band_collisions(vectors, dim, np.sort(chosen)), math.comb(len(chosen), 2)
        plan = cls.choose(threshold, recall, len(chosen) / 2, collisions, pairs)
        while plan.bits and plan.cost * len(chosen) > _SAMPLE_TIME and len(chosen) > _MIN_SAMPLE:
            chosen = chosen[: len(chosen) // 2]
            plan = cls.choose(threshold, recall, len(chosen) / 2, collisions, pairs)
        if not plan.bits:
            return plan
        sample = np.sort(chosen)
        bands = plan.bits, plan.bands, plan.max_differing
        left, right, _, verified = near_pairs(vectors, dim, sample, 1 - threshold, *bands, False)
        sample = sample[centred(len(sample), left, right) == np.arange(len(sample))]
        share = len(sample) / len(chosen)
        others = n * share * (1 - share / 2)
        plan = cls.choose(threshold, recall, others, band_collisions(vectors, dim, sample), math.comb(len(sample), 2))
        # Partitions verify the pairs that are near, too.
        in_vain = others * (verified - len(left)) / math.comb(len(chosen), 2)
        return replace(plan, cost=plan.cost + in_vain * (_PAIR_COST + _COORDINATE_COST * dim))


def _sketch_quantile(unequal: float, misses: float) -> tuple[int, float]:
    """Return the number of differing bits of a sketch that is exceeded with at most this probability, and that one."""
    n, log = SKETCH_BITS, math.log
    terms = [
        math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log(unequal) + (n - k) * log1p)
        for log1p in (math.log1p(-unequal),)
        for k in range(n + 1)
    ]
    above = 0.0
    for k in range(n, -1, -1):
        if above + terms[k] > misses:
            return k, above
        above += terms[k]
    return 0, above


@dataclass(frozen=True)
class _Neighbours:
    """Clusters of the distinct rows, by ordinal in keep order."""

    by: Ordinals
    """The representative of each."""
    similarity: NDArray[np.float64]
    """Cosine to it."""
    pairs: tuple[Ordinals, Ordinals, NDArray[np.float64]]
    """With all links: left, right and cosine; otherwise empty."""
    recall: float
    """Of bands and codes, the probability of finding a pair at the threshold, at least; of partitions, as measured."""
    facts: dict[str, Any]
    """What the summary says about the search."""


_NO_PAIRS = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)


@dataclass(frozen=True)
class _NeighbourSearch:
    """Search and clusters of the distinct rows, which are given in keep order."""

    rows: Rows
    distinct: NDArray[np.int64]
    threshold: float
    recall: float
    cluster: str
    all_links: bool
    progress: ShowProgress

    def run(self) -> _Neighbours:
        """Find the pairs in the cheapest way."""
        rows, n = self.rows, len(self.distinct)
        if n < 2:
            return _Neighbours(np.arange(n), np.ones(n), _NO_PAIRS, 1.0, {})
        if n > MAX_FLAT_ROWS:
            # Pairs at the threshold are found least often, and a tenth of the misses takes half as many bands more.
            at_threshold, joined = min(1 - (1 - self.recall) / 10, _MAX_RECALL), self.distinct.astype(np.uint32)
            plan = BandPlan.of_rows(self.threshold, at_threshold, rows.dense().reshape(-1), rows.d, joined)
            if plan.cost <= _PARTITION_COST * math.sqrt(rows.d):
                return self._join(plan, joined)
        return self._search_index()

    def _join(self, plan: BandPlan, joined: NDArray[np.uint32]) -> _Neighbours:
        """Find the pairs by bands of sign bits."""
        rows, vectors, n = self.rows, self.rows.dense().reshape(-1), len(joined)
        bands = plan.bits, plan.bands, plan.max_differing
        everything = self.all_links or self.cluster == "components"
        left, right, distances, verified = run_block(
            lambda: near_pairs(vectors, rows.d, joined, 1 - self.threshold, *bands, everything),
            "search",
            n,
            self.progress,
        )
        group = centred if self.cluster == "absorb" else components
        by = group(n, left, right)
        similarity = np.ones(n)
        members = np.flatnonzero(by != np.arange(n)).astype(np.uint32)
        if self.cluster == "absorb":
            direct = by[right] == left
            similarity[right[direct]] = 1 - distances[direct]
        else:
            similarity[members] = 1 - cosine_distances(vectors, rows.d, joined, by[members], members)
        facts = {"filter": "bands", "recall": self.recall, "band_bits": plan.bits, "num_bands": plan.bands}
        facts |= {"max_differing_bits": plan.max_differing, "verified_pairs": verified}
        pairs = _NO_PAIRS
        if self.all_links:
            pairs = left.astype(np.int64), right.astype(np.int64), np.minimum(1 - distances, 1.0)
        return _Neighbours(by.astype(np.int64), np.minimum(similarity, 1.0), pairs, plan.recall, facts)

    def _search_index(self) -> _Neighbours:
        """Find the pairs by an index: all codes of few rows, or partitions."""
        rows, distinct, radius, requested = self.rows, self.distinct, 1 - self.threshold, self.recall
        n = len(distinct)
        by, similarity = np.arange(n), np.ones(n)
        partitioned = n > MAX_FLAT_ROWS
        # Few rows are within a small distance, so that a bound with a tenth of the misses costs little.
        bound = 1 - (1 - requested) / 10 if partitioned else requested
        index = LSHIndex(
            metric="cosine",
            recall=bound,
            filter="partitions" if partitioned else "codes",
            num_partitions=n // _ROWS_PER_PARTITION if partitioned else None,
        )
        in_order = n == len(rows) and np.array_equal(distinct, by)
        index.fit((rows if in_order else rows.take(distinct)).matrix)
        settings = index.settings_
        recall = float(settings.recall or 0)
        options: dict[str, Any] = {"progress": self.progress}
        facts: dict[str, Any] = {"filter": settings.filter, "recall": requested}
        if partitioned:
            effort = index.pair_effort(radius, requested)
            options |= {"num_probes": effort.num_probes, "reach": effort.reach}
            recall = effort.recall
            facts |= {"num_partitions": settings.num_partitions, "num_probes": effort.num_probes, "reach": effort.reach}
            facts |= {"measured_pairs": effort.num_pairs, "measured_recall": effort.recall}
            facts |= {"recall_lower_bound": effort.recall_lower_bound, "recall_upper_bound": effort.recall_upper_bound}
        linkage: Linkage = "centred" if self.cluster == "absorb" else "connected"
        clusters = index.clusters(radius, linkage=linkage, **options)
        sizes = np.diff(clusters.offsets)
        members = clusters.ids.astype(np.int64)
        by[members] = np.repeat(members[clusters.offsets[:-1]], sizes)
        similarity[members] = np.minimum(1 - clusters.distances.astype(np.float64), 1.0)
        pairs = _NO_PAIRS
        if self.all_links:
            result = index.pairs(radius, **options)
            cosines = np.minimum(1 - result.distances.astype(np.float64), 1.0)
            pairs = result.left.astype(np.int64), result.right.astype(np.int64), cosines
        return _Neighbours(by, similarity, pairs, recall, facts)
