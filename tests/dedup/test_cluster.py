"""nearkin.dedup.cluster: both rules equal their definitions for batches of any size."""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
import strategies
from definitions import RADIUS, RECIPE, Reference, dedup, near_duplicates, removed, same
from nearkin.dedup import cluster
from nearkin.dedup.candidates.base import chunk_ranges, distinct, numbered
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.documents import hash_texts
from nearkin.dedup.reference import SearchableReference
from nearkin.dedup.verify import TextMeasure
from nearkin.errors import ParameterError


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
    """The index finds candidates in earlier batches, and comparisons find those within a batch."""
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
    """A larger corpus gives the same result in one batch and in many."""
    texts = near_duplicates()
    full = dedup(texts, cluster=rule, verify=verify, threshold=0.5)
    for batch in (1, 17, 599):
        with mock.patch.object(cluster, "_BATCH", batch):
            assert same(full, dedup(texts, cluster=rule, verify=verify, threshold=0.5))


def chain(length: int) -> list[str]:
    """Return texts that each differ a little from the previous one; the last has nothing in common with the first."""
    words = [f"word{i}" for i in range(length + 30)]
    return [" ".join(words[i : i + 30]) for i in range(length)]


@pytest.mark.parametrize(("rule", "clusters"), [("absorb", 8), ("components", 1)])
def test_chains_are_cut_by_absorbing_and_joined_by_components(rule: Any, clusters: int) -> None:
    """Neighbours have Jaccard 29/31; three steps, 27/33, still reach 0.8 and four do not.

    A kept document absorbs the three after it: 32 texts make 8 clusters of 4. The radius is the width, so that every
    pair is a candidate.
    """
    result = nk.dedup(chain(32), recipe="word:1|binary|xxh3|simhash:64", radius=64, threshold=0.8, cluster=rule)
    assert clusters == len(result.kept) == result.summary["clusters"]
    if rule == "absorb":
        assert list(range(0, 32, 4)) == result.kept
        assert min(result.clusters["similarity"]) >= 0.8
    else:
        assert 0.0 == min(result.clusters["similarity"])


def test_a_large_cluster_is_compared_with_its_representative_alone() -> None:
    """2,000 variants of one text take at most one verification per removed and kept text, not their square."""
    base = [f"word{i}" for i in range(60)]
    texts = [" ".join([*base, f"number{i}"]) for i in range(2000)]
    result = nk.dedup(texts, recipe="word:1|binary|xxh3|simhash:64", radius=20, threshold=0.8)
    assert [0] == result.kept
    assert 1999 == result.summary["verified"]


# The class alone


def make_clusterer(
    texts: list[str | None], old: list[str | None], threshold: float, measure: Any = "jaccard"
) -> tuple[cluster.Clusterer, list[int], list[int]]:
    """Return a clusterer of distinct texts with reference texts, and the rows of both."""
    source = SimHashCandidates(RECIPE, threshold, RADIUS)
    new, before = (hash_texts(side, None, source, lambda *_: None, {}) for side in (texts, old))
    reference = SearchableReference(before, source)
    rows = [row for row in range(len(texts)) if new.counts[row] and texts.index(texts[row]) == row]
    rows = [row for row in rows if texts[row] not in old]
    comparison = None if measure is None else TextMeasure(RECIPE, measure)
    stored = [row for row in range(len(old)) if before.counts[row] and old.index(old[row]) == row]
    positions = np.array(rows, np.int64)
    return cluster.Clusterer(source, comparison, threshold, new, positions, reference), rows, stored


@settings(max_examples=60, deadline=None)
@given(
    old=strategies.corpora(max_size=10),
    new=strategies.corpora(max_size=14),
    measure=st.sampled_from(["jaccard", "indel", None]),
    batch=st.integers(1, 5),
)
def test_links_are_all_matches_with_new_documents(
    old: list[str | None], new: list[str | None], measure: Any, batch: int
) -> None:
    """Links are sorted and unique, have their similarity, and connect no two reference documents."""
    built, rows, stored = make_clusterer(new, old, 0.5, measure)
    with mock.patch.object(cluster, "_BATCH", batch):
        left, right, similarity, skipped = built.links()
    assert 0 == skipped
    by_definition = Reference(old + new, 0.5, measure or "none")
    position = {row: row for row in stored} | {len(old) + row: len(old) + at for at, row in enumerate(rows)}
    expected = {
        (position[i], position[j]): by_definition.similarity(i, j) if measure else math.nan
        for i in position
        for j in position
        if i < j and j >= len(old) and by_definition.match(i, j)
    }
    assert sorted(expected) == list(zip(left.tolist(), right.tolist(), strict=True))
    assert [expected[pair] for pair in sorted(expected)] == pytest.approx(similarity.tolist(), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("rule", ["absorb", "components"])
def test_a_rule_counts_its_documents_and_its_work(rule: str) -> None:
    """Every document is ticked once, verified pairs are proposed pairs, and kept documents have no similarity."""
    texts = near_duplicates(300)
    built, rows, _ = make_clusterer(texts, texts[:40], 0.5)
    reported: list[int] = []
    built.tick = reported.append
    with mock.patch.object(cluster, "_BATCH", 50):
        actual = getattr(built, rule)()
    assert len(rows) == sum(reported) == len(actual.by)
    assert max(reported) <= 50
    assert 0 < actual.verified <= actual.candidates
    assert np.isnan(actual.similarity[actual.by < 0]).all()
    assert not np.isnan(actual.similarity[actual.by >= 0]).any()
    assert (actual.by < 40 + np.arange(len(rows))).all()


def test_progress_is_reported_within_a_batch_of_many_candidates() -> None:
    """Small chunks of candidates give the same result, and each is reported."""
    texts = near_duplicates(300)
    actual, reported = [], []
    for limit in (1 << 22, 1):
        built, _, _ = make_clusterer(texts, texts[:40], 0.5)
        ticks: list[int] = []
        built.tick = ticks.append
        with mock.patch.object(cluster, "_CANDIDATES", limit):
            actual.append(built.absorb())
        reported.append(ticks)
    assert sum(reported[0]) == sum(reported[1])
    assert 2 >= len(reported[0]) < len(reported[1])
    assert actual[0].by.tolist() == actual[1].by.tolist()
    np.testing.assert_array_equal(actual[0].similarity, actual[1].similarity)
    assert (actual[0].candidates, actual[0].verified) == (actual[1].candidates, actual[1].verified)


def distinct_texts(count: int) -> list[str | None]:
    """Return texts without a common word; a radius of all bits makes every pair a candidate."""
    return [f"word{i} other{i} third{i}" for i in range(count)]


@pytest.mark.parametrize("rule", ["absorb", "components"])
@pytest.mark.parametrize("batch", [1, 7, 100])
def test_no_document_is_compared_more_often_than_allowed(rule: str, batch: int) -> None:
    """Documents with many candidates take the maximum of comparisons, and the rest is counted."""
    texts = distinct_texts(40)
    source = SimHashCandidates(RECIPE, 0.999, 64)
    new = hash_texts(texts, None, source, lambda *_: None, {})
    built = cluster.Clusterer(source, TextMeasure(RECIPE, "jaccard"), 0.999, new, np.arange(40))
    with mock.patch.object(cluster, "_BATCH", batch):
        full = getattr(built, rule)()
        built.max_comparisons = 3
        actual = getattr(built, rule)()
    assert (40 * 39 // 2, 0) == (full.verified, full.skipped)
    assert 0 < actual.verified <= 40 * 3 * (1 + (batch > 1))
    assert full.verified == actual.verified + actual.skipped
    assert (actual.by < 0).all()


def test_a_run_that_skips_comparisons_warns() -> None:
    """The warning names the limit and the summary has the count; a sufficient limit gives none."""
    texts = distinct_texts(30)
    with pytest.warns(RuntimeWarning, match=r"\d+ comparisons were left out: .*max_comparisons=5") as reported:
        result = nk.dedup(texts, recipe=RECIPE, threshold=0.999, radius=64, max_comparisons=5)
    assert __file__ == reported[0].filename
    assert 30 * 29 // 2 == result.summary["verified"] + result.summary["skipped"]
    assert [str(reported[0].message)] == result.summary["warnings"]
    full = nk.dedup(texts, recipe=RECIPE, threshold=0.999, radius=64)
    assert (0, False) == (full.summary["skipped"], "warnings" in full.summary)
    for limit in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="max_comparisons"):
            nk.dedup(texts, max_comparisons=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["absorb", "components"])
def test_texts_too_long_for_indel_are_left_out_and_counted(rule: Any) -> None:
    """Two texts of 800,000 different characters would take 2**39 steps; common characters cost nothing."""
    long = ["ab" * 400_000, "cd" * 400_000, "ab" * 400_000 + "e"]
    with pytest.warns(RuntimeWarning, match=r"comparisons were left out: .*2\*\*39 pairs of characters"):
        result = nk.dedup(long, recipe=RECIPE, threshold=0.5, radius=64, verify="indel", cluster=rule)
    assert [0, 1] == result.kept
    # The last text is already connected with the first one, but compared with the second one nevertheless.
    assert (1 if rule == "absorb" else 2, 1) == (result.summary["skipped"], result.summary["removed_by_reason"]["near"])


def test_no_documents_give_an_empty_result() -> None:
    """With reference documents and without."""
    for old in ([], near_duplicates(20)):
        built, _, _ = make_clusterer([], old, 0.5)
        assert 0 == len(built.absorb().by) == len(built.components().by) == len(built.links()[0])


@given(count=st.integers(1, 60), each=st.integers(0, 9), shared=st.booleans(), characters=st.integers(1, 4000))
def test_chunks_are_as_short_as_their_candidates_allow(count: int, each: int, shared: bool, characters: int) -> None:
    """Together they are the list, with each candidate once; texts that all documents need are loaded few times."""
    texts: list[str | None] = [f"the document number {row} of a list" for row in range(60)]
    built, _, _ = make_clusterer(texts, [], 0.5)
    batch, offsets = np.arange(count), np.arange(count + 1) * each
    candidates = np.tile(np.arange(each), count) if shared else np.arange(count * each) % 60
    with mock.patch.object(cluster, "_BATCH_CHARACTERS", characters):
        chunks = list(built._verification_chunks(batch, offsets, candidates))
    for name, at, whole in (("documents", 0, batch), ("candidates", 2, candidates)):
        assert whole.tolist() == np.concatenate([chunk[at] for chunk in chunks]).tolist(), name
    for documents, ends, listed, once in chunks:
        assert (0, len(listed), len(documents) + 1) == (ends[0], ends[-1], len(ends))
        assert sorted(set(listed.tolist())) == once.tolist()
    with mock.patch.object(cluster, "_BATCH_CHARACTERS", characters):
        chunks = list(built._verification_chunks(np.arange(60), np.arange(61) * 50, np.tile(np.arange(50), 60)))
    assert len(chunks) <= 4


@given(st.lists(st.integers(0, 9) | st.integers(-9, 1 << 20), max_size=30))
def test_distinct_numbers_are_sorted(values: list[int]) -> None:
    """Of a list of small numbers, and of few among many; each value has the position of its own."""
    array = np.array(values, np.int64)
    found, positions = numbered(array)
    assert sorted(set(values)) == distinct(array).tolist() == found.tolist()
    assert values == found[positions].tolist()


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 60))
def test_chunks_are_as_large_as_the_limit_allows(lengths: list[int], most: int) -> None:
    """Chunks are contiguous; a chunk above the limit has one item, and no chunk could take the next item."""
    cuts = list(chunk_ranges(np.cumsum(lengths, dtype=np.int64), most))
    assert list(range(len(lengths))) == [at for start, end in cuts for at in range(start, end)]
    for start, end in cuts:
        assert sum(lengths[start:end]) <= most or end == start + 1
        assert end == len(lengths) or sum(lengths[start : end + 1]) > most
