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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import __version__, content_hashes
from nearkin.cluster import Absorbed, Clustering
from nearkin.errors import InputError, bad_parameter
from nearkin.families.simhash import iterate_batches
from nearkin.hamming import HammingIndex, hamming
from nearkin.io import Column, Texts
from nearkin.recipe import Recipe
from nearkin.theory import simhash_radius
from nearkin.verify import Measure, texts_by_row

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from nearkin.io import Corpus

Verify = Literal["jaccard", "containment", "indel", "none"]
Cluster = Literal["absorb", "components"]
Links = Literal["representatives", "all"]

THRESHOLD = 0.8
"""Similarity from which two texts count as near-duplicates when the caller says nothing."""

REASONS = ("kept", "exact", "near", "exact-old", "near-old")
"""Why a row stands in the clusters table: it is the one kept, has the same content as it, is similar to it, or has the
same content as, or is similar to, an older document."""


class Table:
    """Columns of equal length, by name.

    Examples
    --------
    >>> from nearkin.dedup import Table
    >>> table = Table({"id": ["a", "b"], "distance": [0, 3]})
    >>> table["id"], len(table), next(table.rows())
    (['a', 'b'], 2, {'id': 'a', 'distance': 0})
    """

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"<table of {len(self)} rows: {', '.join(self.columns)}>"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict."""
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True))

    def to_arrow(self) -> pa.Table:
        """The same as a pyarrow Table."""
        import pyarrow as pa

        return pa.table(self.columns)

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        from nearkin.results import to_frame

        return to_frame(self.columns)


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


@dataclass
class _Hashed:
    """Hashed documents, a row each."""

    fingerprints: NDArray[np.uint64]
    counts: NDArray[np.uint64]
    contents: NDArray[np.uint64]
    lengths: NDArray[np.uint64]
    ids: Column
    columns: dict[str, Column]
    look_up: Callable[[NDArray[np.int64]], Any]

    def __len__(self) -> int:
        return len(self.counts)


class _Stages:
    """Wall and CPU seconds of stages that may run several times."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, float]] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            spent = self.seconds.setdefault(name, {"wall": 0.0, "cpu": 0.0})
            spent["wall"] += time.perf_counter() - wall
            spent["cpu"] += time.process_time() - cpu


Progress = Callable[[str, int, "int | None"], None]
"""Called with a stage's name, how much of it is done, and of how much (None where that is not known)."""


def dedup(
    texts: Any,
    ids: Any = None,
    *,
    recipe: Recipe | str | None = None,
    threshold: float = THRESHOLD,
    radius: int | None = None,
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
        (`nearkin.theory.simhash_radius`).
    verify : {"jaccard", "containment", "indel", "none"}, default "jaccard"
        Similarity by which candidates are verified; "none" takes every candidate as a match.
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
        For an unknown rule, a threshold or radius out of range, or columns of another length than the texts.
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
    options = _Options(recipe, threshold, radius, verify, cluster, keep, links)
    stages = _Stages()
    report = progress or (lambda stage, done, total: None)
    with stages("hash"):
        new = _hash(texts, ids, recipe, report, _columns(values, sources, options))
        _named_columns(texts, new, values, sources)
    old_index, old = None, None
    if against is not None:
        with stages("hash"):
            if isinstance(against, HammingIndex):
                old_index = _check_index(against, options)
            else:
                old = _hash(against, against_ids, recipe, report, {})
    elif against_ids is not None:
        raise bad_parameter("against_ids", "ids without texts", "ids of the texts in against")
    return _run(new, old, old_index, options, stages, report)


@dataclass(frozen=True)
class _Options:
    recipe: Recipe
    threshold: float
    radius: int | None
    verify: Verify
    cluster: Cluster
    keep: str
    links: Links
    measure: Measure | None = field(init=False)
    reach: int = field(init=False)
    """The radius, given or derived."""

    def __post_init__(self) -> None:
        for name, allowed in (("verify", get_args(Verify)), ("cluster", get_args(Cluster)), ("links", get_args(Links))):
            if getattr(self, name) not in allowed:
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(allowed))
        if self.keep not in ("first", "last", "longest", "shortest", "max", "min"):
            raise bad_parameter("keep", repr(self.keep), "first, last, longest, shortest, max or min")
        number = isinstance(self.threshold, (int, float)) and not isinstance(self.threshold, bool)
        if not number or not 0 < self.threshold <= 1:
            raise bad_parameter("threshold", repr(self.threshold), "a similarity above 0 and up to 1")
        reach = simhash_radius(self.threshold, self.recipe.bits) if self.radius is None else self.radius
        if isinstance(reach, bool) or not isinstance(reach, (int, np.integer)) or not 0 <= reach <= self.recipe.bits:
            raise bad_parameter("radius", repr(reach), f"a whole number from 0 to bits={self.recipe.bits}")
        object.__setattr__(self, "reach", int(reach))
        object.__setattr__(self, "measure", None if self.verify == "none" else self.verify)
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")


def _check_index(index: HammingIndex, options: _Options) -> HammingIndex:
    from nearkin.errors import mismatch

    if index.bits != options.recipe.bits:
        raise mismatch("bits", f"index of {index.bits}", f"recipe of {options.recipe.bits}")
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
        name: _column(column) for name, column in columns.items() if column is not None and not isinstance(column, str)
    }


def _named_columns(texts: Any, hashed: _Hashed, values: Any, sources: Any) -> None:
    """Give the columns of a corpus that stand for values and sources these names."""
    for role, name in (("keep", values), ("source", sources)):
        if not isinstance(name, str):
            continue
        if name not in getattr(texts, "extra_columns", ()):
            role = "values" if role == "keep" else "sources"
            raise bad_parameter(role, repr(name), "a list as long as the texts, or an extra column of a corpus")
        hashed.columns[role] = hashed.columns.get(name, Column.of([]))


def _column(values: Any) -> Column:
    if isinstance(values, Column):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.dtype != np.uint64:
        return Column.integers(np.ascontiguousarray(values, np.int64))
    if hasattr(values, "to_pylist"):
        return Column.of(values.to_pylist())
    return Column.of(values.tolist() if hasattr(values, "tolist") else list(values))


def _hash(texts: Any, ids: Any, recipe: Recipe, report: Progress, columns: dict[str, Column]) -> _Hashed:
    from nearkin.io import Corpus

    if isinstance(texts, Corpus):
        if ids is not None:
            raise bad_parameter("ids", "ids beside a Corpus", "None: a corpus reads its own id column")
        return hash_corpus(texts, recipe, report, columns)
    parts = [_Part(recipe, batch) for batch in iterate_batches(texts)]
    held = [part.texts for part in parts]
    n = sum(len(part.counts) for part in parts)
    id_column = Column.integers(np.arange(n)) if ids is None else _column(ids)
    for name, column in {"ids": id_column, **columns}.items():
        if len(column) != n:
            raise bad_parameter(name, f"{len(column)} values", f"{n} values, one a text")
    report("hash", n, n)
    return _join(parts, recipe, id_column, columns, _taker(held))


def hash_corpus(corpus: Corpus, recipe: Recipe, report: Progress, columns: dict[str, Column] | None = None) -> _Hashed:
    """Read and hash a corpus; its extra columns `keep` and `source` are renamed by the caller."""
    parts, ids = [], []
    extra: dict[str, list[Column]] = {name: [] for name in corpus.extra_columns}
    done = 0
    for batch in corpus.batches():
        part = _Part(recipe, batch.texts)
        part.texts = None
        parts.append(part)
        ids.append(batch.ids)
        for name, column in batch.columns.items():
            extra.setdefault(name, []).append(column)
        done += len(batch)
        report("hash", done, None)
    found = {name: Column.concat(parts) for name, parts in extra.items() if parts}
    ids_column = Column.concat(ids) if ids else Column.integers(np.zeros(0, np.int64))
    return _join(parts, recipe, ids_column, {**found, **(columns or {})}, corpus.texts)


class _Part:
    def __init__(self, recipe: Recipe, texts: Any) -> None:
        self.texts = texts
        values, self.counts = recipe.core.fingerprints(texts)
        self.fingerprints = values.reshape(-1, recipe.words)
        contents, self.lengths = content_hashes(texts)
        self.contents = contents.reshape(-1, 2)


def _join(
    parts: list[_Part],
    recipe: Recipe,
    ids: Column,
    columns: dict[str, Column],
    look_up: Callable[[NDArray[np.int64]], Any],
) -> _Hashed:
    empty = np.zeros(0, np.uint64)
    return _Hashed(
        np.concatenate([empty.reshape(0, recipe.words), *(part.fingerprints for part in parts)]),
        np.concatenate([empty, *(part.counts for part in parts)]),
        np.concatenate([empty.reshape(0, 2), *(part.contents for part in parts)]),
        np.concatenate([empty, *(part.lengths for part in parts)]),
        ids,
        columns,
        look_up,
    )


def _taker(batches: list[Any]) -> Callable[[NDArray[np.int64]], Any]:
    """Looks up texts of rows over several batches, each a sequence or one Arrow object."""
    texts = batches[0] if len(batches) == 1 else [text for batch in batches for text in batch]
    return texts_by_row(texts)[0]


class _Documents:
    """Texts of the older documents, then of the new ones, as one sequence of rows."""

    def __init__(self, old: _Hashed | None, new: _Hashed) -> None:
        self._old, self._new = old, new
        self._first = 0 if old is None else len(old)

    def texts(self, rows: NDArray[np.int64]) -> Any:
        """The texts of ascending rows."""
        cut = int(np.searchsorted(rows, self._first))
        if self._old is None or cut == 0:
            return self._new.look_up(rows - self._first)
        if cut == len(rows):
            return self._old.look_up(rows)
        both = [self._old.look_up(rows[:cut]), self._new.look_up(rows[cut:] - self._first)]
        if all(isinstance(texts, Texts) for texts in both):
            return Texts.concat(both)
        return [text for texts in both for text in _strings(texts)]


def _strings(texts: Any) -> Sequence[str | None]:
    found: Sequence[str | None] = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
    return found


def _keep_order(new: _Hashed, keep: str) -> NDArray[np.int64]:
    """Rows in keep order."""
    rows = np.arange(len(new))
    if keep == "first":
        return rows
    if keep == "last":
        return np.ascontiguousarray(rows[::-1])
    by_length = keep in ("longest", "shortest")
    key: NDArray[np.float64] = new.lengths.astype(np.float64) if by_length else new.columns["keep"].numbers("keep")
    if keep in ("longest", "max"):
        key = -key
    # NaN sorts last whatever the direction; ties by id, then by row.
    return np.asarray(np.lexsort((rows, _rank(new.ids), key)), np.int64)


def _rank(ids: Column) -> NDArray[np.int64]:
    """The place of each id among all: numbers before strings."""
    values = ids.to_list()
    order = sorted(range(len(values)), key=lambda row: (isinstance(values[row], str), values[row]))
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank


def _check_ids(ids: Column, name: str) -> None:
    values = ids.to_list()
    seen: dict[Any, int] = {}
    if len(set(values)) == len(values) and None not in values:
        return
    for row, value in enumerate(values):
        if value is None:
            raise InputError(f"{name}: row {row} has no id", place=f"row {row}", reason="no id")
        if value in seen:
            reason = f"id {value!r} stands in rows {seen[value]} and {row}; ids must differ, or use row numbers"
            raise InputError(f"{name}: {reason}", place=f"row {row}", reason=reason)
        seen[value] = row


def _run(
    new: _Hashed,
    old: _Hashed | None,
    old_index: HammingIndex | None,
    options: _Options,
    stages: _Stages,
    report: Progress,
) -> DedupResult:
    _check_ids(new.ids, "ids")
    if old is not None:
        _check_ids(old.ids, "against_ids")
    with stages("collapse"):
        order = _keep_order(new, options.keep)
        order = order[new.counts[order] > 0]
        old_rows = np.zeros(0, np.int64) if old is None else np.flatnonzero(old.counts)
        first = 0 if old is None else len(old)
        # All documents in keep order, older ones first; `row` counts older ones, then new ones.
        rows = np.concatenate([old_rows, order + first])
        contents = new.contents if old is None else np.concatenate([old.contents, new.contents])
        original = _first_with_same_content(contents[rows])
        distinct = np.flatnonzero(original == np.arange(len(rows)))
    report("cluster", 0, len(distinct))
    fingerprints = new.fingerprints if old is None else np.concatenate([old.fingerprints, new.fingerprints])
    lengths = new.lengths if old is None else np.concatenate([old.lengths, new.lengths])
    # The id of an index's entry that removes the document, None for none, and its distance.
    index_ids = np.full(len(rows), None, object)
    index_distances = np.zeros(len(rows), np.int64)
    searched = distinct
    if old_index is not None:
        with stages("search older"):
            ids, distances = _nearest_of_index(old_index, fingerprints[rows[distinct]], options)
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
        radius=options.reach,
        threshold=float(options.threshold),
        measure=options.measure,
        fingerprints=fingerprints[rows[searched]],
        rows=rows[searched],
        lengths=lengths[rows[searched]],
        documents=_Documents(old, new),
        old=int(np.searchsorted(searched, len(old_rows))),
        tick=tick,
    )
    with stages("cluster"):
        found = clustering.absorb() if options.cluster == "absorb" else clustering.components()
    with stages("result"):
        by = np.arange(len(rows))
        similarity = np.ones(len(rows))
        absorbed = found.by >= 0
        by[searched[absorbed]] = searched[found.by[absorbed]]
        similarity[searched[absorbed]] = found.similarity[absorbed]
        # Copies share the fate of their original.
        by, index_ids, index_distances = by[original], index_ids[original], index_distances[original]
        similarity = similarity[original]
        similarity[index_ids != None] = np.nan  # noqa: E711 - elementwise
        outcome = _Outcome(rows - first, by, similarity, index_ids, index_distances, fingerprints[rows], contents[rows])
        clusters, removed_rows, removed = _clusters_table(new, old, outcome)
        kept = np.ones(len(new), bool)
        kept[removed_rows] = False
        if options.links == "all":
            pairs = _all_links(new, old, outcome, original, clustering)
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


@dataclass(frozen=True)
class _Outcome:
    """Documents in keep order, older ones first.

    `rows` are rows of the new documents, negative for older ones; `by` the place of the document that stays, its own
    for a kept one.
    """

    rows: NDArray[np.int64]
    by: NDArray[np.int64]
    similarity: NDArray[np.float64]
    index_ids: NDArray[np.object_]
    index_distances: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    contents: NDArray[np.uint64]


def _first_with_same_content(contents: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row the first row with the same content."""
    order = np.lexsort((contents[:, 1], contents[:, 0]))
    arranged = contents[order]
    starts = np.ones(len(contents), bool)
    starts[1:] = (arranged[1:] != arranged[:-1]).any(axis=1)
    # lexsort is stable, so the first of a group is its smallest row.
    result = np.empty(len(contents), np.int64)
    result[order] = order[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return result


def _nearest_of_index(
    index: HammingIndex, fingerprints: NDArray[np.uint64], options: _Options
) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """For each fingerprint the id of the nearest entry within the radius, None for none, and its distance."""
    hits = index.search(fingerprints[:, 0] if options.recipe.words == 1 else fingerprints, options.reach)
    some = np.diff(hits.offsets) > 0
    ids = np.full(len(fingerprints), None, object)
    distances = np.zeros(len(fingerprints), np.int64)
    places = hits.offsets[:-1][some]
    ids[some] = [hits.ids[int(place)] for place in places]
    distances[some] = np.asarray(hits.distances)[places]
    return ids, distances


def _distances(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.int64]:
    if not len(left):
        return np.zeros(0, np.int64)
    squeeze = left.shape[1] == 1
    found = hamming(left[:, 0], right[:, 0]) if squeeze else hamming(left, right)
    return np.asarray(found, np.int64).reshape(-1)


def _names(new: _Hashed, old: _Hashed | None, outcome: _Outcome, places: NDArray[np.int64]) -> list[Any]:
    """Ids of documents at places in keep order."""
    rows = outcome.rows[places]
    names: list[Any] = new.ids.take(np.maximum(rows, 0)) if len(new) else [None] * len(rows)
    if old is not None:
        older = np.flatnonzero(rows < 0)
        for at, name in zip(older.tolist(), old.ids.take(rows[older] + len(old)), strict=True):
            names[at] = name
    return names


def _clusters_table(
    new: _Hashed, old: _Hashed | None, outcome: _Outcome
) -> tuple[Table, NDArray[np.int64], NDArray[np.int64]]:
    """The clusters table, the rows of all removed documents, and the places of these in the table."""
    n = len(outcome.rows)
    in_index = outcome.index_ids != None  # noqa: E711 - elementwise
    is_new = outcome.rows >= 0
    removed = np.flatnonzero(is_new & (in_index | (outcome.by != np.arange(n))))
    # Representatives by number: a place, or n + k for the k-th entry of the index that is named.
    representative = outcome.by.copy()
    entries: dict[Any, int] = {}
    for place in np.flatnonzero(in_index & is_new).tolist():
        representative[place] = n + entries.setdefault(outcome.index_ids[place], len(entries))
    named = list(entries)
    heads = np.unique(representative[removed])
    heads = heads[heads < n]
    members = np.concatenate([removed, heads[is_new[heads]]])
    is_head = np.repeat([False, True], [len(removed), len(members) - len(removed)])
    # Clusters are numbered by their first row in the input.
    keys, cluster = np.unique(representative[members], return_inverse=True)
    least = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(least, cluster, outcome.rows[members])
    number = np.empty(len(keys), np.int64)
    number[np.argsort(least, kind="stable")] = np.arange(len(keys))
    order = np.lexsort((outcome.rows[members], ~is_head, number[cluster]))
    members, is_head, cluster = members[order], is_head[order], number[cluster[order]]

    by_index = representative[members] >= n
    places = np.where(by_index, members, representative[members])
    distance = _distances(outcome.fingerprints[members], outcome.fingerprints[places])
    distance[by_index] = outcome.index_distances[members[by_index]]
    exact = (outcome.contents[members] == outcome.contents[places]).all(axis=1) & ~by_index
    older = by_index | (outcome.rows[places] < 0)
    reason = np.where(is_head, 0, np.where(exact, 1, 2) + np.where(older, 2, 0))
    representatives = _names(new, old, outcome, places)
    for at in np.flatnonzero(by_index).tolist():
        representatives[at] = named[int(representative[members[at]]) - n]
    table = Table(
        {
            "id": _names(new, old, outcome, members),
            "cluster": cluster.tolist(),
            "representative": representatives,
            "distance": distance.tolist(),
            "similarity": outcome.similarity[members].tolist(),
            "reason": [REASONS[code] for code in reason.tolist()],
        }
    )
    return table, outcome.rows[removed], np.flatnonzero(~is_head)


def _all_links(
    new: _Hashed, old: _Hashed | None, outcome: _Outcome, original: NDArray[np.int64], clustering: Clustering
) -> Table:
    """Every verified link: pairs of distinct contents, and each copy with its original."""
    places = np.flatnonzero(original == np.arange(len(original)))
    left, right, similarity = clustering.links()
    copies = np.flatnonzero(original != np.arange(len(original)))
    left = np.concatenate([places[left], original[copies]])
    right = np.concatenate([places[right], copies])
    similarity = np.concatenate([similarity, np.ones(len(copies))])
    some_new = (outcome.rows[left] >= 0) | (outcome.rows[right] >= 0)
    left, right, similarity = left[some_new], right[some_new], similarity[some_new]
    return Table(
        {
            "left": _names(new, old, outcome, left),
            "right": _names(new, old, outcome, right),
            "distance": _distances(outcome.fingerprints[left], outcome.fingerprints[right]).tolist(),
            "similarity": similarity.tolist(),
        }
    )


def _summary(
    new: _Hashed,
    old: _Hashed | None,
    found: Absorbed,
    clusters: Table,
    kept: NDArray[np.bool_],
    original: NDArray[np.int64],
    hashed_old: int,
    options: _Options,
) -> dict[str, Any]:
    sizes = np.bincount(clusters["cluster"]) if len(clusters) else np.zeros(1, np.int64)
    reasons = {reason: clusters["reason"].count(reason) for reason in REASONS[1:]}
    summary: dict[str, Any] = {
        "version": __version__,
        "recipe": str(options.recipe),
        "recipe_digest": options.recipe.digest,
        "threshold": options.threshold,
        "radius": options.reach,
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
        summary["sources"], summary["warnings"] = _by_source(new.columns["source"], kept)
    return summary


def _by_source(sources: Column, kept: NDArray[np.bool_]) -> tuple[list[dict[str, Any]], list[str]]:
    """Removals a source, and warnings: a source loses at least 20 texts, twice the rate of the others, 25 points
    more.
    """
    values = [str(value) if value is not None else "" for value in sources.to_list()]
    names, which = np.unique(np.array(values, object), return_inverse=True)
    documents = np.bincount(which, minlength=len(names))
    removed = np.bincount(which, weights=~kept, minlength=len(names)).astype(np.int64)
    table, warnings = [], []
    for name, total, gone in zip(names.tolist(), documents.tolist(), removed.tolist(), strict=True):
        share = gone / total
        others = (int(removed.sum()) - gone) / max(len(values) - total, 1)
        table.append({"source": name, "documents": total, "removed": gone, "share": share})
        if gone >= 20 and len(names) > 1 and share >= 2 * others and share >= others + 0.25:
            warnings.append(f"source {name!r} loses {share:.0%} of its documents, the others {others:.0%}")
    table.sort(key=lambda row: (-row["share"], row["source"]))
    return table, warnings
