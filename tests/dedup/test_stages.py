"""nearkin.dedup.stages: each stage alone, progress and times."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from definitions import dedup, near_duplicates
from nearkin.dedup.cluster import Assignment
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.keep import parse_keep
from nearkin.dedup.stages import (
    Clustering,
    CollapsedDocuments,
    collapse,
    representatives,
)
from nearkin.dedup.summary import StageTimer
from nearkin.io import Column

COPIES = [5, 6, 5, 7, 5, 6]


def documents(contents: list[int], absent: tuple[int, ...] = ()) -> HashedDocuments:
    n = len(contents)
    counts = np.array([row not in absent for row in range(n)], np.uint64)
    pairs = np.array([[content, 0] for content in contents], np.uint64).reshape(n, 2)
    values = np.array(contents, np.uint64).reshape(-1, 1)
    return HashedDocuments(values, counts, pairs, counts, Column.of(list(range(n))), {}, lambda rows: [])


class Copies:
    """Reference documents that only have contents."""

    def __init__(self, contents: list[int]) -> None:
        self.contents = contents

    def copies(self, contents: Any) -> Any:
        """Return the rows of equal contents."""
        return np.array([self.contents.index(c) if c in self.contents else -1 for c in contents[:, 0].tolist()])


def test_copies_collapse_onto_the_first_in_keep_order() -> None:
    """Forwards, backwards, with and without documents that have no features, and onto reference documents."""
    first = collapse(documents(COPIES), None, parse_keep("first"))
    assert [0, 1, 2, 3, 4, 5] == first.rows.tolist()
    assert [0, 1, 0, 3, 0, 1] == first.original.tolist()
    assert [-1] * 6 == first.reference_rows.tolist()
    assert [0, 1, 3] == first.distinct.tolist()
    last = collapse(documents(COPIES, absent=(4,)), None, parse_keep("last"))
    assert [5, 3, 2, 1, 0] == last.rows.tolist()
    assert [0, 1, 2, 0, 2] == last.original.tolist()
    assert [0, 1, 2] == last.distinct.tolist()
    reference = collapse(documents(COPIES), Copies([9, 5]), parse_keep("first"))  # type: ignore[arg-type]
    assert [1, -1, 1, -1, 1, -1] == reference.reference_rows.tolist()
    assert [1, 3] == reference.distinct.tolist()


def test_copies_share_the_fate_of_their_original() -> None:
    """They are kept with it, absorbed by its representative, or removed for a reference document."""
    n = 6
    collapsed = CollapsedDocuments(
        np.arange(n), np.array([0, 1, 0, 3, 1, 5]), np.array([-1, -1, -1, -1, -1, 2]), np.array([0, 1, 3])
    )
    # With four reference documents the first searched one absorbs the second, and reference document 1 the third.
    assignment = Assignment(np.array([-1, 4, 1]), np.array([np.nan, 0.7, 0.9]))
    clustering = Clustering(np.array([0, 1, 3]), None, assignment, 4)  # type: ignore[arg-type]
    actual = representatives(collapsed, clustering, 1.0)
    assert [0, 0, 0, n + 1, 0, n + 2] == actual.by.tolist()
    assert [1.0, 0.7, 1.0, 0.9, 0.7, 1.0] == actual.similarity.tolist()
    assert [0, 1, 0, 3, 1, n + 2] == actual.copy_of.tolist()
    assert [1, 2, 3, 4, 5] == actual.removed.tolist()


def test_stages_add_up_their_times() -> None:
    """Over several visits, including one that fails."""
    timer = StageTimer()
    for _ in range(2):
        with timer("rest"):
            time.sleep(0.02)
    with pytest.raises(ValueError, match="stop"), timer("work"):
        raise ValueError("stop")
    assert ["rest", "work"] == list(timer.seconds)
    assert timer.seconds["rest"]["wall"] >= 0.04
    assert timer.seconds["rest"]["cpu"] < timer.seconds["rest"]["wall"]


@pytest.mark.parametrize("against", ["nothing", "texts"])
@pytest.mark.parametrize("rule", ["absorb", "components"])
def test_progress_counts_every_distinct_document_once(against: str, rule: Any) -> None:
    """From 0 to the total; exact copies of other and of reference texts are decided before."""
    texts = near_duplicates(200)
    calls: list[tuple[str, int, int | None]] = []
    options: dict[str, Any] = {"cluster": rule, "verify": "none"}
    distinct = {text for text in texts if text}
    if against == "texts":
        options["against"] = texts[:50]
        distinct -= set(texts[:50])
    dedup(texts, progress=lambda stage, done, total: calls.append((stage, done, total)), **options)
    hashed = [(done, total) for stage, done, total in calls if stage == "hash"]
    assert sorted(hashed) == hashed
    assert hashed[-1][0] == hashed[-1][1]
    actual = [(done, total) for stage, done, total in calls if stage == "cluster"]
    assert (0, len(distinct)) == actual[0]
    assert (len(distinct), len(distinct)) == actual[-1]
    assert sorted(actual) == actual
