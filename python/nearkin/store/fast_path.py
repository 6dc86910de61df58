"""One document at a time: what a batch of one would be told, in a third of the time.

Most of a decision about a single document is the arithmetic of batches. Here its few candidates are read and compared
at once; whatever is unusual (an id that is there, many candidates, long texts, something left out) is left to the
batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.verify import FeatureSets
from nearkin.index.ids import IdKeys
from nearkin.store.answers import Answers
from nearkin.store.records import EXACT, NEAR, NEW, STATUSES
from nearkin.store.snapshot import Contents, StoreView

_MOST_CANDIDATES = 64
_MOST_CHARACTERS = 1 << 20
"""Of all candidates together."""


class FirstMatch(NamedTuple):
    """The first stored document that matches: its row, -1 for none; verified similarity; what it is searched by."""

    row: int
    similarity: float
    value: NDArray[Any] | None


NO_MATCH = FirstMatch(-1, np.nan, None)


def first_match(
    hashed: HashedDocuments, number: int, view: StoreView, place: int, texts: TextCache | None, threshold: float
) -> FirstMatch | None:
    """The first stored document that matches document `number`, without its copies; None where a batch must say.

    `place` is its own in the cache `texts`; without a cache every candidate is a match.
    """
    lists = view.candidates(hashed.values[number : number + 1])
    rows = lists.places
    if lists.skipped or len(rows) > _MOST_CANDIDATES:
        return None
    if not len(rows):
        return NO_MATCH
    records = view.records(rows)
    if texts is None:
        similarity = np.nan if lists.similarity is None else float(lists.similarity[0])
        return FirstMatch(int(rows[0]), similarity, records["values"][:1].copy())
    if int(records["length"].sum()) > _MOST_CHARACTERS:
        return None
    _load(texts, view, rows)
    texts.add(np.array([place], np.uint32), hashed.look_up(np.array([number])))
    by, found, _, _, skipped = texts.first_matches(
        documents=np.array([place], np.uint32),
        offsets=np.array([0, len(rows)]),
        candidates=rows.astype(np.uint32),
        threshold=threshold,
        most=_MOST_CANDIDATES,
    )
    if skipped:
        return None
    if by[0] < 0:
        return NO_MATCH
    at = int(np.searchsorted(rows, by[0]))
    return FirstMatch(int(by[0]), float(found[0]), records["values"][at : at + 1].copy())


def _load(texts: TextCache, view: StoreView, rows: NDArray[np.int64]) -> None:
    """Make stored texts ready to be compared."""
    if not len(texts.missing(rows.astype(np.uint32))):
        return
    texts.shrink()
    missing = texts.missing(rows.astype(np.uint32))
    held = view.texts(missing.astype(np.int64))
    if isinstance(held, FeatureSets):
        texts.add_sets(missing, held.offsets, held.hashes)
    else:
        texts.add(missing, held)


class Outcome(NamedTuple):
    """What a document is to stored ones.

    Attributes
    ----------
    status : int
        NEW, EXACT or NEAR.
    row : int
        Row of the document that decides, -1 for none.
    distance : int or float
        Distance to it, -1 for none.
    similarity : float
        Verified similarity to it, NaN for none.
    """

    status: int
    row: int
    distance: float
    similarity: float

    def before(self, later: Outcome) -> Outcome:
        """The outcome where `later` is that of the rows behind: the first that matches decides, but for a copy."""
        return later if self.status == NEW or (self.status == NEAR and later.status == EXACT) else self


_NEW = Outcome(NEW, -1, -1, np.nan)


def outcome_of_one(
    hashed: HashedDocuments,
    keys: IdKeys | None,
    contents: Contents,
    place: int,
    texts: TextCache | None,
    start: int = 0,
) -> Outcome | None:
    """What a single document is to the rows from `start` on; None where the batch must say.

    `keys` has its id, if it has one; `place` is its own in the cache `texts`.
    """
    source = contents.settings.source
    bare = not hashed.counts[0]
    if (bare and contents.settings.featureless == "keep") or (
        keys is not None and contents.find_ids(keys, start)[0] >= 0
    ):
        return None
    row = int(contents.find_contents(hashed.contents, start)[0])
    if row >= 0:
        return Outcome(EXACT, row, 0, source.equal)
    if bare:
        return _NEW
    view = StoreView(contents, start, place)
    found = first_match(hashed, 0, view, place, texts, float(contents.settings.threshold))
    if found is None:
        return None
    if found.value is None:
        return _NEW
    distance = source.distances(hashed.values, found.value)[0].item()
    return Outcome(NEAR, found.row, distance, found.similarity)


def answer_of_one(outcome: Outcome, contents: Contents) -> Answers:
    """The answer for a single document."""
    distances: NDArray[Any] = np.full(1, outcome.distance, contents.settings.distance_type)
    ids = [contents.id_of(outcome.row) if outcome.row >= 0 else None]
    similarities = np.full(1, outcome.similarity)
    return Answers([STATUSES[outcome.status]], ids, distances, similarities, None, contents.settings.verified_by)
