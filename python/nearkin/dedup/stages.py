"""The stages of a deduplication after hashing: collapse, search of an older index, cluster, result.

1. `collapse`: the new documents that have features, in keep order; copies of one another, and of older documents.
2. `match_index`: with an index of older documents, which entry removes each distinct document.
3. `cluster`: a rule of `nearkin.dedup.cluster` over the distinct documents that are left.
4. `make_result`: copies follow their original; then tables (`nearkin.dedup.result`) and summary.

Each stage is a function of what earlier ones found; `run_stages` calls them in order. A caller that answers batch by
batch can call the first three alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__
from nearkin.dedup.candidates import CandidateSource, OlderIndex, Places
from nearkin.dedup.cluster import Assignment, Clusterer
from nearkin.dedup.constraints import Followed, follow
from nearkin.dedup.distinguishers import Differing, differences
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.keep import KeepKey, keep_order, tell_missing
from nearkin.dedup.labels import PairLabels
from nearkin.dedup.memory import peak_memory_bytes
from nearkin.dedup.reference import OlderDocuments
from nearkin.dedup.result import (
    ClusterTable,
    DedupResult,
    Heads,
    IdList,
    IndexHeads,
    OlderHeads,
    Representatives,
    all_links,
    cluster_members,
    clusters_table,
    linked,
    representative_links,
)
from nearkin.dedup.summary import REASONS, Reason, Summary, Timing, by_source, promised
from nearkin.dedup.verify import TextComparison
from nearkin.errors import bad_parameter, warn_caller
from nearkin.progress import Progress, ticker
from nearkin.recipe.base import FrozenRecipe

ClusterRule = Literal["absorb", "components"]
ListedLinks = Literal["representatives", "all"]
Featureless = Literal["collapse", "keep"]
"""What becomes of equal documents without features: one stays, as of all exact copies, or each."""


_TEXTS = 4096
"""Pairs whose texts are looked up at once to tell what they differ in."""


class RunOptions(Protocol):
    """What the stages read of a run's options, for texts and for files."""

    @property
    def recipe(self) -> FrozenRecipe:
        """How documents were hashed."""

    @property
    def threshold(self) -> float:
        """Smallest similarity of a match, inclusive."""

    @property
    def verify(self) -> str:
        """How matches are verified, as the summary names it."""

    @property
    def comparison(self) -> TextComparison | None:
        """How texts verify candidates; None takes every candidate as a match."""

    @property
    def differ(self) -> tuple[str, ...]:
        """Rules by which documents that are alike differ (`nearkin.dedup.distinguishers`)."""

    @property
    def differing(self) -> Differing:
        """Whether those that differ stay, or are told of where one goes."""

    @property
    def featureless(self) -> Featureless:
        """Whether equal documents without features are copies."""

    @property
    def cluster(self) -> ClusterRule:
        """The rule of clusters."""

    @property
    def order(self) -> Sequence[KeepKey]:
        """The keys of the order of visits."""

    @property
    def keep(self) -> str:
        """The same, as the caller named it."""

    @property
    def links(self) -> ListedLinks:
        """Which links the table of pairs lists."""

    @property
    def max_comparisons(self) -> int:
        """Most candidates that one document is compared with."""

    @property
    def candidate_source(self) -> CandidateSource:
        """The family."""

    def tell_skipped(self, skipped: int) -> str:
        """The warning of a run in which something was skipped: what, and how to have it done."""


class StageTimer:
    """Wall and CPU seconds of stages that may run several times."""

    def __init__(self) -> None:
        self.seconds: dict[str, Timing] = {}

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


def check_older_index(options: RunOptions) -> None:
    """Raise ParameterError for options that ask more than an index of older documents holds."""
    if options.comparison is not None:
        raise bad_parameter(
            "verify", options.verify, "none with an index in against, which has no texts; or pass the older texts"
        )
    if options.cluster != "absorb" or options.links != "representatives":
        raise bad_parameter("cluster", options.cluster, "absorb, with links=representatives, with an index in against")


def run_stages(
    new: HashedDocuments,
    older: OlderDocuments | None,
    older_index: OlderIndex | None,
    options: RunOptions,
    timer: StageTimer,
    report: Progress,
    near: int = 0,
    labels: PairLabels | None = None,
) -> DedupResult:
    """Collapse, search an older index, cluster and keep what was hashed; ids must differ.

    Near misses are those of `near` kept documents. What is labelled different is kept apart.
    """
    with timer("collapse"):
        collapsed = collapse(new, older, options.order, options.featureless)
        new.release()
    tick = ticker(report, "cluster", len(collapsed.distinct))
    with timer("search older"):
        matches = match_index(new, older_index, collapsed)
        tick(len(collapsed.distinct) - len(matches.left(collapsed)))
    with timer("cluster"):
        clustered = cluster(new, older, collapsed, matches, options, tick, near, labels)
        new.release()
    with timer("result"):
        result = make_result(new, older, collapsed, matches, clustered, options)
    result.summary["timings"] = timer.seconds
    result.summary["peak_memory_bytes"] = peak_memory_bytes()
    return result


# Collapse


@dataclass(frozen=True)
class Collapsed:
    """The new documents that can be like others, by place in keep order: those that have features, and with
    `featureless="collapse"` all.

    Attributes
    ----------
    rows : (n,) int64
        Their rows.
    original : (n,) int64
        Place of the first document with the same content: its own, unless it is a copy.
    older : (n,) int64
        Row of the first older document with the same content, -1 for none.
    distinct : (m,) int64
        Places of the documents that are searched: those with features that are no copies of an earlier or of an older
        document.
    """

    rows: NDArray[np.int64]
    original: Places
    older: NDArray[np.int64]
    distinct: Places


def collapse(
    new: HashedDocuments, older: OlderDocuments | None, order: Sequence[KeepKey], featureless: Featureless = "collapse"
) -> Collapsed:
    """The documents in keep order, copies with their original."""
    rows = keep_order(new, order)
    if featureless == "keep":
        rows = rows[new.counts[rows] > 0]
    contents = new.contents[rows]
    original = first_with_same_content(contents)
    searched = (original == np.arange(len(rows))) & (new.counts[rows] > 0)
    if older is None:
        return Collapsed(rows, original, _none(len(rows)), np.flatnonzero(searched))
    of_older = older.copies(contents)
    return Collapsed(rows, original, of_older, np.flatnonzero(searched & (of_older < 0)))


def _none(count: int) -> NDArray[np.int64]:
    """-1 for each, in no memory."""
    return np.broadcast_to(np.int64(-1), count)


# Search of an older index


@dataclass(frozen=True)
class IndexMatches:
    """Which entry of an index of older documents removes each document, by place in keep order.

    Attributes
    ----------
    entry : (n,) int64
        Number of the entry in `ids`, -1 for none; copies are not looked up.
    distance : (n,) int64
        Distance to it; 0 for copies and where there is none.
    similarity : (n,) float64
        Similarity to it; NaN likewise, and where the index says nothing.
    ids : list
        Ids of the entries that remove a document.
    skipped : int
        Look-ups that the family left out, so that entries may be missing.
    """

    entry: NDArray[np.int64]
    distance: NDArray[np.int64]
    similarity: NDArray[np.float64]
    ids: IdList
    skipped: int = 0

    def left(self, collapsed: Collapsed) -> Places:
        """Places of the distinct documents that no entry removes."""
        if not self.ids:
            return collapsed.distinct
        return collapsed.distinct[self.entry[collapsed.distinct] < 0]


def match_index(new: HashedDocuments, index: OlderIndex | None, collapsed: Collapsed) -> IndexMatches:
    """The nearest entry of the index for each distinct document."""
    n = len(collapsed.rows)
    if index is None:
        return IndexMatches(_none(n), np.broadcast_to(np.int64(0), n), np.broadcast_to(np.nan, n), [])
    ids, distances, skipped = index.nearest(new.values[collapsed.rows[collapsed.distinct]])
    matches = IndexMatches(np.full(n, -1, np.int64), np.zeros(n, np.int64), np.full(n, np.nan), [], skipped)
    numbers: dict[int | str, int] = {}
    for place, name, distance in zip(collapsed.distinct.tolist(), ids.tolist(), distances.tolist(), strict=True):
        if name is not None:
            matches.entry[place] = numbers.setdefault(name, len(numbers))
            matches.distance[place] = distance
    matches.ids.extend(numbers)
    if index.similarity is not None:
        found = matches.entry >= 0
        matches.similarity[found] = index.similarity(matches.distance[found])
    return matches


# Cluster


@dataclass(frozen=True)
class Clustered:
    """The documents that were clustered, and what became of them.

    Attributes
    ----------
    searched : (m,) int64
        Their places in keep order.
    clusterer : Clusterer
    assignment : Assignment
    first : int
        Place of the first of them for the clusterer, which counts older documents first.
    followed : Followed or None
        What became of labels.
    """

    searched: Places
    clusterer: Clusterer
    assignment: Assignment
    first: int
    followed: Followed | None = None


def cluster(
    new: HashedDocuments,
    older: OlderDocuments | None,
    collapsed: Collapsed,
    matches: IndexMatches,
    options: RunOptions,
    tick: Callable[[int], None],
    near: int = 0,
    labels: PairLabels | None = None,
) -> Clustered:
    """Keep-then-absorb or components over the distinct documents that are left."""
    searched = matches.left(collapsed)
    followed = None
    if labels is not None:
        places = {"rows": collapsed.rows, "original": collapsed.original, "of_older": collapsed.older}
        followed = follow(labels, new, older, **places, searched=searched)
    clusterer = Clusterer(
        candidate_source=options.candidate_source,
        comparison=options.comparison,
        threshold=float(options.threshold),
        documents=new,
        rows=collapsed.rows[searched],
        older=older,
        tick=tick,
        max_comparisons=options.max_comparisons,
        near=near,
        apart=followed.apart if followed is not None and len(followed.apart) else None,
    )
    assignment = clusterer.absorb() if options.cluster == "absorb" else clusterer.components()
    return Clustered(searched, clusterer, assignment, 0 if older is None else len(older), followed)


# Result


def make_result(
    new: HashedDocuments,
    older: OlderDocuments | None,
    collapsed: Collapsed,
    matches: IndexMatches,
    clustered: Clustered,
    options: RunOptions,
) -> DedupResult:
    """Tables, kept documents and the summary, without times and memory."""
    source = options.candidate_source
    found = representatives(collapsed, matches, clustered, source.equal)
    by_features = options.comparison is not None and options.comparison.measure == "jaccard"
    heads: Heads = IndexHeads(matches.ids, matches.distance[collapsed.original] if matches.ids else matches.distance)
    if older is not None:
        heads = OlderHeads(older)
    clusters = clusters_table(source, new, heads, found, by_features=by_features)
    if options.differ and options.differing == "flag":
        clusters.with_column("differs", _differences(new, older, found, options.differ))
    pairs = representative_links(clusters)
    skipped = matches.skipped + clustered.assignment.skipped
    if options.links == "all":
        left, right, similarity, unlinked = clustered.clusterer.links()
        skipped += unlinked
        left, right = (_places(side, clustered, len(found)) for side in (left, right))
        pairs = all_links(source, new, heads, found, left, right, similarity)
    kept = np.ones(len(new), bool)
    kept[found.rows[found.removed]] = False
    kept_rows = np.flatnonzero(kept)
    summary = _summary(new, clustered, clusters, kept, options, skipped)
    misses = None
    if clustered.assignment.near is not None:
        found_near = clustered.assignment.near
        left, right = (_places(side, clustered, len(found)) for side in (found_near.left, found_near.right))
        misses = linked(source, new, heads, found, left, right, found_near.similarity)
        summary["near_misses"] = {"sampled": found_near.sampled, "of": found_near.kept, "pairs": len(misses)}
    return DedupResult(kept_rows, clusters, pairs, summary, new.ids, misses)


def representatives(collapsed: Collapsed, matches: IndexMatches, clustered: Clustered, equal: float) -> Representatives:
    """For each document the one that stays; `equal` is the similarity of equal documents."""
    n = len(collapsed.rows)
    copy_of = collapsed.original.copy()
    of_older = np.flatnonzero(collapsed.older >= 0)
    copy_of[of_older] = n + collapsed.older[of_older]
    # An original's own representative first: itself, an older document or an entry of the index.
    by, similarity = np.arange(n), np.full(n, equal)
    by[of_older] = copy_of[of_older]
    of_index = np.flatnonzero(matches.entry >= 0)
    by[of_index] = n + matches.entry[of_index]
    similarity[of_index] = matches.similarity[of_index]
    assignment = clustered.assignment
    absorbed = assignment.by >= 0
    by[clustered.searched[absorbed]] = _places(assignment.by[absorbed], clustered, n)
    similarity[clustered.searched[absorbed]] = assignment.similarity[absorbed]
    # Copies share the fate of their original.
    return Representatives(collapsed.rows, by[collapsed.original], similarity[collapsed.original], copy_of)


def _differences(
    new: HashedDocuments, older: OlderDocuments | None, found: Representatives, rules: Sequence[str]
) -> list[str | None]:
    """For each row of the clusters table what its document and the representative differ in, if they do."""
    members, _ = cluster_members(found)
    representative = found.by[members]
    told: list[str | None] = [None] * len(members)
    # Copies of one content, and representatives themselves, differ in nothing.
    open_ = np.flatnonzero((representative != members) & (representative != found.copy_of[members]))
    for start in range(0, len(open_), _TEXTS):
        some = open_[start : start + _TEXTS]
        texts = _texts_of(new, older, found, np.concatenate([representative[some], members[some]]))
        for at, difference in zip(some.tolist(), differences(rules, *_halves(texts)), strict=True):
            told[at] = difference
    return told


def _halves(texts: list[str | None]) -> tuple[list[str | None], list[str | None]]:
    half = len(texts) // 2
    return texts[:half], texts[half:]


def _texts_of(
    new: HashedDocuments, older: OlderDocuments | None, found: Representatives, places: Places
) -> list[str | None]:
    """The texts of new documents by place in keep order, and of older ones behind them."""
    n = len(found)
    texts: list[str | None] = [None] * len(places)
    rows = np.where(places < n, found.rows[np.minimum(places, n - 1)], places - n)
    for look_up, of_them in ((new.look_up, places < n), (older.texts if older is not None else None, places >= n)):
        wanted = np.unique(rows[of_them])
        if look_up is None or not len(wanted):
            continue
        batch: Any = look_up(wanted)
        held = batch.to_pylist() if hasattr(batch, "to_pylist") else list(batch)
        for at in np.flatnonzero(of_them).tolist():
            texts[at] = held[int(np.searchsorted(wanted, rows[at]))]
    return texts


def _places(places: Places, clustered: Clustered, n: int) -> Places:
    """Places of a `Clusterer` as those of `Representatives`: older documents, which are the first there, come last."""
    result = n + places
    new = places >= clustered.first
    result[new] = clustered.searched[places[new] - clustered.first]
    return result


def said_of(options: RunOptions) -> tuple[Summary, list[Reason], list[str]]:
    """What a summary says of the options of a run, the reasons of removals that it counts, and warnings."""
    # Where nothing compares features, none are known to be equal.
    compared = options.comparison is not None
    reasons = [reason for reason in REASONS[1:] if compared or not reason.startswith("same-letters")]
    family, warnings = promised(options.candidate_source.summary(), options.verify)
    said: Summary = {
        "version": __version__,
        "recipe": str(options.recipe),
        "recipe_digest": options.recipe.digest,
        "threshold": options.threshold,
        **family,
        "verify": options.verify,
        **({"differ": list(options.differ), "differing": options.differing} if options.differ else {}),
        "featureless": options.featureless,
        "cluster": options.cluster,
        "keep": options.keep,
    }
    return said, reasons, warnings


def _summary(
    new: HashedDocuments,
    clustered: Clustered,
    clusters: ClusterTable,
    kept: NDArray[np.bool_],
    options: RunOptions,
    skipped: int,
) -> Summary:
    """Counts and parameters, in the order of the file summary.json; times and memory follow at the very end."""
    sizes = np.bincount(clusters.compact["cluster"]) if len(clusters) else np.zeros(1, np.int64)
    by_reason = np.bincount(clusters.codes, minlength=len(REASONS)).tolist()
    assignment = clustered.assignment
    matched = int((assignment.by >= 0).sum())
    said, reasons, warnings = said_of(options)
    summary: Summary = {
        **said,
        "documents": len(new),
        "without_features": int((new.counts == 0).sum()),
        "kept": int(kept.sum()),
        "removed": int((~kept).sum()),
        "removed_by_reason": {reason: by_reason[REASONS.index(reason)] for reason in reasons},
        "clusters": int((sizes > 0).sum()),
        "largest_cluster": int(sizes.max()),
        "older_documents": clustered.first,
        "candidates": assignment.candidates,
        "verified": assignment.verified,
        # Of the pairs that were verified, the share that matched; every match removes one distinct text.
        "verified_precision": matched / assignment.verified if assignment.verified else None,
        "skipped": skipped,
    }
    if options.differ:
        told = [found for found in clusters.compact.get("differs", ()) if found is not None]
        summary["pairs_that_differ"] = len(told) if options.differing == "flag" else assignment.differing
    if clustered.followed is not None:
        summary["labels"] = clustered.followed.counts(assignment.kept_apart)
    if "source" in new.columns:
        summary["sources"], of_sources = by_source(new.columns["source"], kept)
        warnings += of_sources
    missing = tell_missing(new, options.order)
    if clustered.followed is not None:
        missing += clustered.followed.warnings()
    if skipped:
        missing.append(options.tell_skipped(skipped))
    for message in missing:
        warn_caller(message)
    warnings += missing
    if warnings or "source" in new.columns:
        summary["warnings"] = warnings
    return summary
