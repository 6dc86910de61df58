"""nearkin.pipeline.cluster: batches of any size give what the definition gives, and chains are what the rules say."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
import strategies
from definitions import Reference, dedup, near_duplicates, removed, same
from nearkin.pipeline import cluster


@settings(max_examples=100, deadline=None)
@given(
    texts=strategies.corpora(max_size=30),
    batch=st.integers(1, 7),
    characters=st.sampled_from([1, 100, 1 << 24]),
    cache=st.sampled_from([0, 200, 1 << 28]),
    verify=st.sampled_from(["jaccard", "containment", "indel", "none"]),
    rule=st.sampled_from(["absorb", "components"]),
    threshold=st.sampled_from([0.3, 0.5, 0.8]),
)
def test_batches_of_any_size_equal_the_definition(
    texts: list[str | None], batch: int, characters: int, cache: int, verify: str, rule: str, threshold: float
) -> None:
    """Documents meet those of earlier batches through the index and those of their own by comparison."""
    with (
        mock.patch.object(cluster, "_BATCH", batch),
        mock.patch.object(cluster, "_BATCH_CHARACTERS", characters),
        mock.patch.object(cluster, "_CACHE_BYTES", cache),
    ):
        result = dedup(texts, verify=verify, cluster=rule, threshold=threshold)
    by_definition = Reference(texts, threshold, verify)
    by = getattr(reference, rule)(by_definition.rows, by_definition.match)
    assert {row: head for row, head in by.items() if row != head} == removed(result)


@pytest.mark.parametrize("rule", ["absorb", "components"])
@pytest.mark.parametrize("verify", ["jaccard", "none"])
def test_batches_of_any_size_give_the_same_similarities(rule: str, verify: str) -> None:
    """A larger corpus, cut and uncut."""
    texts = near_duplicates()
    whole = dedup(texts, cluster=rule, verify=verify, threshold=0.5)
    for batch in (1, 17, 599):
        with mock.patch.object(cluster, "_BATCH", batch):
            assert same(whole, dedup(texts, cluster=rule, verify=verify, threshold=0.5))


def chain(length: int) -> list[str]:
    """Texts of which each differs a little from the one before, and the last has nothing of the first."""
    words = [f"word{i}" for i in range(length + 30)]
    return [" ".join(words[i : i + 30]) for i in range(length)]


@pytest.mark.parametrize(("rule", "clusters"), [("absorb", 8), ("components", 1)])
def test_chains_are_cut_by_absorbing_and_joined_by_components(rule: Any, clusters: int) -> None:
    """Neighbours have Jaccard 29/31; three steps, 27/33, still reach 0.8 and four do not.

    A kept document absorbs the three after it: 32 texts make 8 clusters of 4. The radius is the width, so that distance
    decides nothing.
    """
    result = nk.dedup(chain(32), recipe="word:1|binary|xxh3|simhash:64", radius=64, threshold=0.8, cluster=rule)
    assert clusters == len(result.kept) == result.summary["clusters"]
    if rule == "absorb":
        assert list(range(0, 32, 4)) == result.kept
        assert min(result.clusters["similarity"]) >= 0.8
    else:
        assert 0.0 == min(result.clusters["similarity"])


def test_a_large_cluster_is_compared_with_its_representative_alone() -> None:
    """2,000 variants of one text: at most one verification a removed text and kept one, not their square."""
    base = [f"word{i}" for i in range(60)]
    texts = [" ".join([*base, f"number{i}"]) for i in range(2000)]
    result = nk.dedup(texts, recipe="word:1|binary|xxh3|simhash:64", radius=20, threshold=0.8)
    assert [0] == result.kept
    assert 1999 == result.summary["verified"]
