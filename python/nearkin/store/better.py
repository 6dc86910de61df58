"""The better of two near-duplicates by the keep rule `best`, and the replacement of the worse one in a store.

A document that was added as a near-duplicate is *better* if its score is larger than that of the kept document that it
matches (`nearkin.dedup.keep`). Its replacement is one transaction: both documents and all others that match the kept
one get new rows, the better one as new, with its text, and the others match it. The similarity of a document that does
not equal the earlier kept one remains that to it. Rows count as added then, as after a removal.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, soundness
from nearkin.dedup.documents import SOUND_COUNTS, HashedDocuments
from nearkin.dedup.keep import best_numbers
from nearkin.errors import mismatch
from nearkin.io.arrow import is_arrow, to_values
from nearkin.store.dedup import BatchDecision, OnBetter, promote_member
from nearkin.store.records import KNOWN, NEAR, NEW, match_rows

Store: TypeAlias = Any
"""`nearkin.store.Store`, whose module imports this one."""


def check_has_texts(store: Store) -> None:
    """Raise MismatchError for a store without texts, which have the scores."""
    if store.settings.kind != "text" or store.settings.text != "keep":
        raise mismatch("texts", f'a store of {store.settings.kind}s with text="{store.settings.text}"', "on_better")


def find_better(
    store: Store, hashed: HashedDocuments, decision: BatchDecision, ids: list[Any], on_better: OnBetter
) -> NDArray[np.bool_]:
    """Return True for each document of a committed call that is better than its match; replace the match if asked to.

    Of several better documents of one match, the best takes its place, and of equal ones the first.

    Parameters
    ----------
    store : Store
    hashed : HashedDocuments
        The documents, with all lines.
    decision : BatchDecision
        With the rows of all matches.
    ids : list of Id
        Of the documents.
    on_better : {"keep", "replace"}
    """
    better, matched = np.zeros(len(ids), bool), np.where(decision.status == NEAR, decision.row, -1)
    with store._open_snapshot() as snapshot:
        # A call that is repeated finds what it has added, and completes a replacement that was interrupted.
        known = np.flatnonzero((decision.status == KNOWN) & (decision.row >= 0))
        known = known[snapshot.present(decision.row[known])]
        matched[known] = match_rows(snapshot.extras(decision.row[known]))
        near = np.flatnonzero(matched >= 0)
        if not len(near):
            return better
        found: Any = hashed.look_up(near)
        texts: list[str | None] = to_values(found, "texts") if is_arrow(found) else list(found)
        kept, numbers = np.unique(matched[near], return_inverse=True)
        # Another process may have removed a match since.
        there = np.flatnonzero(snapshot.present(kept))
        old = np.full(len(kept), np.inf)
        old[there] = _scores(snapshot.texts(kept[there]))
    scores = _scores(texts)
    better[near] = scores > old[numbers]
    if on_better == "replace":
        for at, row in enumerate(kept.tolist()):
            own = np.flatnonzero((numbers == at) & better[near])
            if len(own):
                best = int(own[np.argmax(scores[own])])
                _replace(store, row, ids[near[best]], texts[best])
    return better


def _scores(texts: list[str | None]) -> NDArray[np.float64]:
    """Return the score of each text by `best`."""
    return best_numbers(soundness(texts).reshape(-1, SOUND_COUNTS), content_hashes(texts)[1])


def _replace(store: Store, kept: int, name: Any, text: str | None) -> None:
    """Let a document take the place of the kept one, unless another process has changed either since."""
    with store._lock, store._writing() as state:
        snapshot = store._snapshot
        row = int(store._find_rows([name] if isinstance(name, str) else np.array([name], np.int64), True)[0])
        members, _ = snapshot.members(np.array([kept])[snapshot.present(np.array([kept]))])
        if row not in members or snapshot.records(np.array([kept]))["status"][0] != NEW:
            return
        rows = np.array([row, kept, *members[members != row].tolist()], np.int64)
        try:
            batch, decision, keys, columns = promote_member(snapshot, store.settings, store._cache, rows, text)
            store._log.add_tombstones(rows.tolist())
            snapshot.add_tombstones()
            store._append(batch, decision, keys, columns, None, state)
        except BaseException:
            # The snapshot has tombstones that are not committed.
            store._reset_snapshot()
            raise
