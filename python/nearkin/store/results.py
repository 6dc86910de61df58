"""What a decided batch is told: statuses, ids, distances and similarities of the documents that decided."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists
from nearkin.index.ids import Id
from nearkin.store.answers import Answers, StoredMatch
from nearkin.store.dedup import Batch, Decision
from nearkin.store.reading import documents_of, read_extra
from nearkin.store.records import EXACT, KNOWN, NEAR, STATUSES
from nearkin.store.snapshot import Contents, StoreView


def distances_of(batch: Batch, decision: Decision, contents: Contents) -> NDArray[Any]:
    """Distances to the documents that decided, -1 where none did; 0 for known ones, filled in later."""
    source, values = contents.settings.source, batch.hashed.values
    found: NDArray[Any] = np.full(len(batch.hashed), -1, contents.settings.distance_type)
    found[decision.status == EXACT] = 0
    near = np.flatnonzero(decision.status == NEAR)
    if not len(near):
        return found
    inside, stored = near[decision.other[near] >= 0], near[decision.other[near] < 0]
    found[inside] = source.distances(values[inside], values[decision.other[inside]])
    if len(stored):
        view = StoreView(contents, 0, 0)
        found[stored] = source.distances(values[stored], view.values(decision.row[stored]))
    return found


def answers_of(
    decision: Decision,
    contents: Contents,
    distances: NDArray[Any],
    fresh: Mapping[int, Id],
    matches: list[list[StoredMatch]] | None = None,
) -> Answers:
    """Answers of a decided batch; `fresh` are the rows and ids of those that get rows now."""
    count = len(decision.status)
    similarities = decision.similarity.copy()
    ids: list[Id | None] = [None] * count
    first_fresh = next(iter(fresh), 1 << 62)
    decided = np.flatnonzero((decision.status == EXACT) | (decision.status == NEAR))
    if len(decided):
        stored = decided[decision.row[decided] < first_fresh]
        for number, name in zip(stored.tolist(), contents.ids(decision.row[stored]), strict=True):
            ids[number] = name
        for number in decided[decision.row[decided] >= first_fresh].tolist():
            ids[number] = fresh[int(decision.row[number])]
    known = np.flatnonzero(decision.status == KNOWN)
    if len(known):
        _repeat(contents, decision, known, first_fresh, (ids, distances, similarities))
    status = [STATUSES[code] for code in decision.status.tolist()]
    return Answers(status, ids, distances, similarities, matches, contents.settings.verified_by)


def _repeat(
    contents: Contents,
    decision: Decision,
    known: NDArray[np.int64],
    first_fresh: int,
    answers: tuple[list[Id | None], NDArray[Any], NDArray[np.float64]],
) -> None:
    """Give known documents their first answer again: that of the store, or of the earlier one in the batch."""
    ids, distances, similarities = answers
    old = known[(decision.row[known] >= 0) & (decision.row[known] < first_fresh)]
    for number, document in zip(old.tolist(), documents_of(contents, decision.row[old]), strict=True):
        ids[number], distances[number], similarities[number] = (
            document.match,
            document.distance,
            document.similarity,
        )
    for number in known[~np.isin(known, old)].tolist():
        other = int(decision.other[number])
        ids[number], distances[number], similarities[number] = ids[other], distances[other], similarities[other]


def nearest_of(
    contents: Contents, lists: CandidateLists, distances: NDArray[Any], most: int, k: int, values: int | None
) -> list[list[StoredMatch]]:
    """Of each query the k candidates at the smallest distances up to `most`.

    `values` is how many values a signature has, None for fingerprints, which say nothing of similarity.
    """
    found: list[list[StoredMatch]] = []
    for first, last in pairwise(lists.offsets.tolist()):
        rows, far = lists.places[first:last], distances[first:last]
        best = np.lexsort((rows, far))[:k]
        best = best[far[best] <= most]
        extras = contents.extras(rows[best])
        found.append(
            [
                StoredMatch(name, distance, 1 - distance / values if values else float("nan"), columns)
                for name, distance, (_, columns) in zip(
                    contents.ids(rows[best]),
                    far[best].tolist(),
                    (read_extra(contents, extra) for extra in extras),
                    strict=True,
                )
            ]
        )
    return found


def best_matches(batch: Batch, contents: Contents, k: int) -> list[list[StoredMatch]]:
    """The k best matches of each document among the stored ones."""
    source = contents.settings.source
    lists = batch.matches(contents)
    found: list[list[StoredMatch]] = []
    for number, (rows, similarities) in enumerate(lists):
        values = batch.hashed.values[np.full(len(rows), number)]
        distances = source.distances(values, StoreView(contents, 0, 0).values(rows))
        ranked = np.where(np.isnan(similarities), -distances.astype(np.float64), similarities)
        best = np.lexsort((rows, -ranked))[:k]
        extras = contents.extras(rows[best])
        found.append(
            [
                StoredMatch(name, distance.item(), float(similarity), read_extra(contents, extra)[1])
                for name, distance, similarity, extra in zip(
                    contents.ids(rows[best]), distances[best], similarities[best], extras, strict=True
                )
            ]
        )
    return found
