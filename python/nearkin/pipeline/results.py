"""What a deduplication found, as tables: clusters, pairs and the summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.io import Column
from nearkin.pipeline.candidates import CandidateSource, Values
from nearkin.pipeline.cluster import Clustering
from nearkin.pipeline.documents import HashedDocuments

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

REASONS = ("kept", "exact", "near", "exact-old", "near-old")
"""Why a row stands in the clusters table: it is the one kept, has the same content as it, is similar to it, or has the
same content as, or is similar to, an older document."""


class Table:
    """Columns of equal length, by name.

    Examples
    --------
    >>> from nearkin.pipeline.results import Table
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
        from nearkin.search.results import to_frame

        return to_frame(self.columns)


@dataclass(frozen=True)
class Outcome:
    """Documents in keep order, older ones first.

    `rows` are rows of the new documents, negative for older ones; `by` the place of the document that stays, its own
    for a kept one.
    """

    rows: NDArray[np.int64]
    by: NDArray[np.int64]
    similarity: NDArray[np.float64]
    index_ids: NDArray[np.object_]
    index_distances: NDArray[np.int64]
    values: Values
    contents: NDArray[np.uint64]


def _names(new: HashedDocuments, old: HashedDocuments | None, outcome: Outcome, places: NDArray[np.int64]) -> list[Any]:
    """Ids of documents at places in keep order."""
    rows = outcome.rows[places]
    names: list[Any] = new.ids.take(np.maximum(rows, 0)) if len(new) else [None] * len(rows)
    if old is not None:
        older = np.flatnonzero(rows < 0)
        for at, name in zip(older.tolist(), old.ids.take(rows[older] + len(old)), strict=True):
            names[at] = name
    return names


def clusters_table(
    candidate_source: CandidateSource, new: HashedDocuments, old: HashedDocuments | None, outcome: Outcome
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
    distance = candidate_source.distances(outcome.values[members], outcome.values[places])
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


def all_links(
    candidate_source: CandidateSource,
    new: HashedDocuments,
    old: HashedDocuments | None,
    outcome: Outcome,
    original: NDArray[np.int64],
    clustering: Clustering,
) -> Table:
    """Every verified link: pairs of distinct contents, and each copy with its original."""
    places = np.flatnonzero(original == np.arange(len(original)))
    left, right, similarity = clustering.links()
    copies = np.flatnonzero(original != np.arange(len(original)))
    left = np.concatenate([places[left], original[copies]])
    right = np.concatenate([places[right], copies])
    similarity = np.concatenate([similarity, np.full(len(copies), candidate_source.equal)])
    some_new = (outcome.rows[left] >= 0) | (outcome.rows[right] >= 0)
    left, right, similarity = left[some_new], right[some_new], similarity[some_new]
    return Table(
        {
            "left": _names(new, old, outcome, left),
            "right": _names(new, old, outcome, right),
            "distance": candidate_source.distances(outcome.values[left], outcome.values[right]).tolist(),
            "similarity": similarity.tolist(),
        }
    )


def by_source(sources: Column, kept: NDArray[np.bool_]) -> tuple[list[dict[str, Any]], list[str]]:
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
