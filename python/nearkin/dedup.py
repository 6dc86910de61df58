"""Deduplication: hash, search, verify, cluster, keep; for texts in memory and for corpora on disk.

1. *Hash*: every text becomes a fingerprint; texts without features are flagged and always kept.
2. *Collapse*: texts with equal content (XXH3 of 128 bits: n texts collide with probability below n²/2^129) become one.
3. *Search, verify, cluster*: `nearkin.cluster`.
4. *Keep*: the first of each cluster in keep order survives. A result names, for each removed text, the one kept, the
   distance, the verified similarity and the reason.

The order of visits is fixed by the keep rule and ids, never by threads. Memory: about 40 bytes and one fingerprint a
document, an id, the search index of the kept ones, and what `nearkin.cluster` holds of texts.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__
from nearkin.cluster import Absorbed, Clustering
from nearkin.dedup_hash import (
    Documents,
    Hashed,
    Progress,
    as_column,
    check_ids,
    first_with_same_content,
    hash_texts,
    keep_order,
    name_columns,
)
from nearkin.dedup_tables import REASONS, Outcome, Table, all_links, by_source, clusters_table
from nearkin.errors import bad_parameter
from nearkin.io import Column
from nearkin.proposers import ConfirmedProposer, MinHashProposer, Proposer, SimHashProposer, check_recall
from nearkin.recipe import Recipe
from nearkin.verify import Measure

Verify = Literal["jaccard", "containment", "indel", "signature", "none"]
Cluster = Literal["absorb", "components"]
Links = Literal["representatives", "all"]

THRESHOLD = 0.8
"""Similarity from which two texts count as near-duplicates when the caller says nothing."""


@dataclass(frozen=True)
class DedupResult:
    """What a deduplication found.

    Attributes
    ----------
    kept : list
        Ids of the documents that stay, in input order.
    kept_rows : (n_kept,) int64
        Their rows.
    clusters : Table
        A row for every document of a cluster of two or more, and for every document that an older one removed: id,
        cluster (number from 0), representative (id of the kept document), distance, similarity (NaN without
        verification), reason.
    pairs : Table
        Links of removed documents with their representative: id, representative, distance, similarity; with
        `links="all"` every verified link between two documents: left, right, distance, similarity.
    summary : dict
        Counts, recipe, parameters, version, timings per stage; as in the file summary.json.
    """

    kept: list[Any]
    kept_rows: NDArray[np.int64]
    clusters: Table
    pairs: Table
    summary: dict[str, Any]

    def __repr__(self) -> str:
        documents, removed = self.summary["documents"], self.summary["removed"]
        clusters = self.summary["clusters"]
        return f"<kept {len(self.kept)} of {documents} documents, removed {removed} in {clusters} clusters>"


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
    def proposer(self) -> Proposer:
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


def dedup(
    texts: Any,
    ids: Any = None,
    *,
    recipe: Recipe | str | None = None,
    threshold: float = THRESHOLD,
    radius: int | None = None,
    recall: float | None = None,
    confirm: Recipe | str | None = None,
    verify: Verify = "jaccard",
    cluster: Cluster = "absorb",
    keep: str = "first",
    values: Any = None,
    sources: Any = None,
    against: Any = None,
    against_ids: Any = None,
    links: Links = "representatives",
    progress: Progress | None = None,
) -> DedupResult:
    """Find near-duplicates among texts and say which one of each cluster stays.

    Parameters
    ----------
    texts : iterable of str or None, an Arrow string array, a pandas, polars or pyarrow column, or an open Corpus
    ids : integers or strings, one a text, all different; optional
        None means row numbers. A Corpus has its own.
    recipe : Recipe, str or None
        How a text becomes a fingerprint and what its features are; None for the default.
    threshold : float, default 0.8
        Smallest similarity of a match, inclusive, above 0 and up to 1.
    radius : int, optional
        Largest Hamming distance of a candidate, inclusive. None derives it from recipe and threshold
        (`nearkin.theory.simhash_radius`). With simhash.
    recall : float, optional
        Wanted probability that a pair at the threshold is found, above 0 and below 1; 0.95 for None. With minhash: its
        bands follow from threshold and recall (`nearkin.theory.choose_bands`).
    confirm : Recipe or str, optional
        A second recipe whose fingerprints or signatures must be alike as well, before a candidate is verified; slots
        that its text form leaves out are those of `recipe`, so that "simhash:128" is enough.
    verify : {"jaccard", "containment", "indel", "signature", "none"}, default "jaccard"
        Similarity by which candidates are verified. "signature" takes the share of equal values of signatures, with
        minhash; "none" takes every candidate as a match.
    cluster : {"absorb", "components"}, default "absorb"
        Keep-then-absorb, or connected components (where a chain of small changes is one cluster).
    keep : str, default "first"
        Which document of a cluster stays: first, last, longest, shortest; `max` or `min` of `values`. Ties by id.
    values : numbers, one a text, or the name of an extra column of a Corpus; optional
        For `keep="max"` and `keep="min"`; missing values (None, NaN) come last.
    sources : strings or integers, one a text, or the name of an extra column of a Corpus; optional
        Where each text comes from: the summary counts removals by source and warns of one that loses far more than the
        rest.
    against : texts, an open Corpus, or a HammingIndex; optional
        Older documents: texts that match one of them are removed, and the result names it. An index holds no texts, so
        it needs `verify="none"`.
    against_ids : integers or strings; optional
        Ids of older texts; None means row numbers.
    links : {"representatives", "all"}, default "representatives"
        Whether `pairs` holds the links of removed documents only, or all verified links.
    progress : function, optional
        Called with stage, done and total.

    Returns
    -------
    DedupResult

    Raises
    ------
    ParameterError
        For an unknown rule, a threshold or radius out of range, columns of another length than the texts, or a recall
        that signatures of so many values can't have.
    MismatchError
        If an index was made for another number of bits than the recipe's.
    InputError
        For ids that are not different, or a record that can't be read.

    Examples
    --------
    >>> import nearkin as nk
    >>> texts = ["The quick brown fox jumps over the lazy dog.", "A completely different sentence, about cats.",
    ...          "The quick brown fox jumps over the lazy dog!!", "The quick brown fox jumped over the lazy dog."]
    >>> result = nk.dedup(texts, ids=["a", "b", "c", "d"], threshold=0.7)
    >>> result.kept
    ['a', 'b']
    >>> for row in result.clusters.rows():
    ...     print(row["id"], row["representative"], row["reason"], round(row["similarity"], 2))
    a a kept 1.0
    c a near 1.0
    d a near 0.76
    """
    recipe = Recipe.of(recipe)
    options = _Options(recipe, threshold, radius, recall, confirm, verify, cluster, keep, links)
    stages = Stages()
    report = progress or (lambda stage, done, total: None)
    with stages("hash"):
        new = hash_texts(texts, ids, options.proposer, report, _columns(values, sources, options))
        name_columns(texts, new, values, sources)
    old_index, old = None, None
    if against is not None:
        with stages("hash"):
            if isinstance(against, options.proposer.index_type):
                old_index = check_older_index(against, options)
            else:
                old = hash_texts(against, against_ids, options.proposer, report, {})
    elif against_ids is not None:
        raise bad_parameter("against_ids", "ids without texts", "ids of the texts in against")
    return run_stages(new, old, old_index, options, stages, report)


@dataclass(frozen=True)
class _Options:
    recipe: Recipe
    threshold: float
    radius: int | None
    recall: float | None
    confirm: Recipe | str | None
    verify: Verify
    cluster: Cluster
    keep: str
    links: Links
    measure: Measure | None = field(init=False)
    proposer: Proposer = field(init=False)

    def __post_init__(self) -> None:
        for name, allowed in (("verify", get_args(Verify)), ("cluster", get_args(Cluster)), ("links", get_args(Links))):
            if getattr(self, name) not in allowed:
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(allowed))
        if self.keep not in ("first", "last", "longest", "shortest", "max", "min"):
            raise bad_parameter("keep", repr(self.keep), "first, last, longest, shortest, max or min")
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not number or not 0 < self.threshold <= 1:
            raise bad_parameter("threshold", repr(self.threshold), "a similarity above 0 and up to 1")
        by_share = self.verify == "signature"
        if by_share and self.recipe.family != "minhash":
            raise bad_parameter("verify", "signature", "jaccard, containment, indel or none with simhash")
        object.__setattr__(self, "proposer", self._propose(by_share=by_share))
        object.__setattr__(self, "measure", None if by_share or self.verify == "none" else self.verify)
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")

    def _propose(self, *, by_share: bool) -> Proposer:
        if self.confirm is None:
            first = self._family(self.recipe, self.radius, by_share=by_share)
            check_recall(self.recall, self.recipe)
            return first
        given = isinstance(self.confirm, Recipe)
        second = self.confirm if isinstance(self.confirm, Recipe) else self.recipe.with_text(self.confirm)
        if second.family == self.recipe.family and not given:
            allowed = "the other family than the recipe's, such as minhash:128 beside simhash, or a Recipe"
            raise bad_parameter("confirm", repr(self.confirm), allowed)
        check_recall(self.recall, self.recipe if self.recipe.family == "minhash" else second)
        return ConfirmedProposer(
            self._family(self.recipe, self.radius, by_share=by_share),
            self._family(second, self.radius if self.recipe.family != "simhash" else None, by_share=False),
        )

    def _family(self, recipe: Recipe, radius: int | None, *, by_share: bool) -> SimHashProposer | MinHashProposer:
        if recipe.family == "simhash":
            return SimHashProposer(recipe, self.threshold, radius)
        if radius is not None and self.confirm is None:
            raise bad_parameter("radius", radius, "None with minhash, which has no radius; recall= instead")
        return MinHashProposer(recipe, self.threshold, self.recall, by_share=by_share)


def check_older_index(index: Any, options: RunOptions) -> Any:
    """The index, if it may be searched as `against`."""
    options.proposer.check_index(index)
    if options.measure is not None:
        raise bad_parameter(
            "verify", options.verify, "none with an index in against, which has no texts; or pass the older texts"
        )
    if options.cluster != "absorb" or options.links != "representatives":
        raise bad_parameter("cluster", options.cluster, "absorb, with links=representatives, with an index in against")
    return index


def _columns(values: Any, sources: Any, options: _Options) -> dict[str, Column]:
    if (values is None) != (options.keep not in ("max", "min")):
        found = "none" if values is None else "given"
        raise bad_parameter("values", found, 'numbers with keep="max" or keep="min", None otherwise')
    columns = {"keep": values, "source": sources}
    return {
        name: as_column(column)
        for name, column in columns.items()
        if column is not None and not isinstance(column, str)
    }


def run_stages(
    new: Hashed,
    old: Hashed | None,
    old_index: Any,
    options: RunOptions,
    stages: Stages,
    report: Progress,
) -> DedupResult:
    """Collapse, search, cluster and keep what was hashed."""
    check_ids(new.ids, "ids")
    if old is not None:
        check_ids(old.ids, "against_ids")
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
            ids, distances = options.proposer.nearest(old_index, hashed[rows[distinct]])
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
        proposer=options.proposer,
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
        similarity = np.full(len(rows), options.proposer.equal)
        absorbed = found.by >= 0
        by[searched[absorbed]] = searched[found.by[absorbed]]
        similarity[searched[absorbed]] = found.similarity[absorbed]
        # Copies share the fate of their original.
        by, index_ids, index_distances = by[original], index_ids[original], index_distances[original]
        similarity = similarity[original]
        similarity[index_ids != None] = np.nan  # noqa: E711 - elementwise
        outcome = Outcome(rows - first, by, similarity, index_ids, index_distances, hashed[rows], contents[rows])
        clusters, removed_rows, removed = clusters_table(options.proposer, new, old, outcome)
        kept = np.ones(len(new), bool)
        kept[removed_rows] = False
        if options.links == "all":
            pairs = all_links(options.proposer, new, old, outcome, original, clustering)
        else:
            names = ("id", "representative", "distance", "similarity")
            pairs = Table({name: [clusters[name][at] for at in removed] for name in names})
        kept_rows = np.flatnonzero(kept)
        summary = _summary(new, old, found, clusters, kept, original, len(old_rows), options)
        kept_ids = new.ids.to_list() if kept.all() else new.ids.take(kept_rows)
    summary["timings"] = stages.seconds
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    summary["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return DedupResult(kept_ids, kept_rows, clusters, pairs, summary)


def _summary(
    new: Hashed,
    old: Hashed | None,
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
        **options.proposer.summary(),
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
