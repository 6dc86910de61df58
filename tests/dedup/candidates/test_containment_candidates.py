"""Deduplication by containment: brute force, the stated recall, batches, reference documents, skew, errors."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, triu

import nearkin as nk
import reference
import strategies
from definitions import join_words, same, text_features
from nearkin._core import feature_sets
from nearkin.dedup import cluster
from nearkin.dedup.candidates.containment import ContainmentCandidates, ContainmentSearch
from nearkin.dedup.documents import hash_texts
from nearkin.errors import ParameterError
from nearkin.theory import containment_overlap, containment_recall

WORDS = nk.Recipe("letters:python|word:1|binary|xxh3|simhash:64")
"""Features are words, so that a text is the set of its words."""


def containment(a: set[int], b: set[int]) -> float:
    """Return the share of the smaller set that is in the other; 0 for an empty one."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def proposed_pairs(source: ContainmentCandidates, texts: list[str], limit: int) -> set[tuple[int, int]]:
    """Return the pairs of texts that the source proposes, in batches of this size."""
    values, _ = source.hash(texts)
    search = source.search(values)
    actual = set()
    for start in range(0, len(texts), limit):
        positions = np.arange(start, min(start + limit, len(texts)))
        search.read(positions, texts[start : start + limit])
        search.add(positions)
        hits = search.find(values[positions])
        actual |= {
            tuple(sorted(pair)) for pair in zip(positions[hits.owners()].tolist(), hits.ordinals.tolist(), strict=True)
        }
    return {(a, b) for a, b in actual if a != b}


# Brute force


@settings(max_examples=80, deadline=None)
@given(
    texts=strategies.corpora(max_size=30),
    batch=st.integers(1, 7),
    characters=st.sampled_from([1, 100, 1 << 24]),
    rule=st.sampled_from(["absorb", "components"]),
    threshold=st.sampled_from([0.3, 0.5, 0.8, 1.0]),
    recall=st.sampled_from([0.5, 0.95]),
)
def test_short_texts_equal_the_definition(
    texts: list[str | None], batch: int, characters: int, rule: str, threshold: float, recall: float
) -> None:
    """The sketch of a short text has all its features, so every pair is found, in batches of any size."""
    options: dict[str, Any] = {"recipe": WORDS, "measure": "containment", "threshold": threshold, "recall": recall}
    with (
        mock.patch.object(cluster, "_BATCH", batch),
        mock.patch.object(cluster, "_BATCH_CHARACTERS", characters),
    ):
        result = nk.dedup(texts, cluster=rule, links="all", **options)  # type: ignore[arg-type]
    sets = text_features(texts, WORDS)
    rows = [row for row, features in enumerate(sets) if features]

    def match(i: int, j: int) -> bool:
        return containment(sets[i], sets[j]) >= threshold

    by = getattr(reference, rule)(rows, match)
    gone = {row["id"]: row["representative"] for row in result.clusters.rows() if row["reason"] != "kept"}
    assert {row: head for row, head in by.items() if row != head} == gone
    links = {(row["left"], row["right"]): row["similarity"] for row in result.pairs.with_copies()}
    assert {(i, j) for i, j in combinations(rows, 2) if match(i, j)} == set(links)
    for (i, j), similarity in links.items():
        assert containment(sets[i], sets[j]) == similarity


@settings(max_examples=40, deadline=None)
@given(old=strategies.corpora(max_size=15), new=strategies.corpora(max_size=15), batch=st.integers(1, 5))
def test_reference_documents_may_be_smaller_or_larger(old: list[str | None], new: list[str | None], batch: int) -> None:
    """The first match wins, reference documents first; links include them."""
    with mock.patch.object(cluster, "_BATCH", batch):
        result = nk.dedup(
            new, recipe=WORDS,
            measure="containment", against=old, against_ids=[f"o{i}" for i in range(len(old))],
            links="all",
        )  # fmt: skip
    names = [f"o{i}" for i in range(len(old))] + list(range(len(new)))
    sets = text_features([*old, *new], WORDS)
    texts = [*old, *new]
    distinct = [row for row in range(len(old)) if sets[row] and texts.index(texts[row]) == row]
    expected: dict[Any, Any] = {}
    kept = list(distinct)
    for row in range(len(old), len(texts)):
        if not sets[row]:
            continue
        # A copy has the representative of its original; a copy of a reference document has that one.
        copies = [other for other in kept if texts[other] == texts[row]]
        matches = copies or [other for other in kept if containment(sets[other], sets[row]) >= 0.8]
        if matches:
            expected[names[row]] = names[matches[0]]
        elif texts[row] in texts[len(old) : row]:
            expected[names[row]] = expected[names[len(old) + new.index(texts[row])]]
        else:
            kept.append(row)
    gone = {row["id"]: row["representative"] for row in result.clusters.rows() if row["reason"] != "kept"}
    assert set(expected) == set(gone)
    for row, head in expected.items():
        # A copy of a removed text has the same representative.
        assert head == gone[row]


# The stated recall


def pair_at_the_threshold(n: int, threshold: float, prefix: str, larger: int) -> tuple[str, str]:
    """Return a text of n words, and one of `larger` more words that has just enough of them."""
    shared = containment_overlap(threshold, n)
    small = join_words(range(n), prefix)
    large = join_words([*range(shared), *range(n, n + (n - shared) + larger)], prefix)
    return small, large


@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("recall", [0.8, 0.95])
def test_pairs_at_the_threshold_are_found_as_often_as_the_law_says(threshold: float, recall: float) -> None:
    """Sets of 1 to 10,000 features, 20 seeds: within 5.5 standard deviations (one failure in 20 million runs)."""
    sizes = [1, 2, 3, 10, 31, 32, 33, 50, 100, 200, 333, 1000, 3000, 10_000]
    texts: list[str] = []
    for at, n in enumerate(sizes):
        texts += pair_at_the_threshold(n, threshold, f"p{at}x", (0, 5, 3 * n)[at % 3])
    actual = expected = variance = 0.0
    for seed in range(20):
        source = ContainmentCandidates(WORDS, threshold, recall, seed=seed)
        pairs = proposed_pairs(source, texts, 5)
        for at, n in enumerate(sizes):
            minimum = int(source.min_shared(np.array([n]))[0])
            law = containment_recall(threshold, n, source.size, minimum)
            assert law >= recall
            # Sets of one size have two sketches, and either finds the pair.
            law = law if at % 3 else 1 - (1 - law) ** 2
            actual += (2 * at, 2 * at + 1) in pairs
            expected, variance = expected + law, variance + law * (1 - law)
    assert abs(actual - expected) <= 5.5 * math.sqrt(variance) + 1e-9
    assert actual >= recall * 20 * len(sizes) - 5.5 * math.sqrt(variance)


def test_every_pair_above_the_threshold_is_found_with_the_stated_recall() -> None:
    """Truncated, embedded and edited texts of 1 to 3,000 words, 20 seeds: no false pair, few missed."""
    rng = np.random.default_rng(3)
    texts: list[str] = []
    for n in (1, 4, 20, 60, 150, 400, 1000, 3000):
        for _ in range(4):
            base = rng.integers(0, 50_000, n)
            part = base[rng.integers(0, max(n // 2, 1)) :].copy()
            edited = rng.random(len(part)) < rng.uniform(0, 0.2)
            part[edited] = rng.integers(0, 50_000, int(edited.sum()))
            texts += [join_words(base), join_words([*rng.integers(0, 50_000, rng.integers(0, 200)), *part])]
    sets = text_features(texts, WORDS)
    true = {(i, j) for i, j in combinations(range(len(texts)), 2) if containment(sets[i], sets[j]) >= 0.8}
    shares = []
    for seed in range(20):
        pairs = proposed_pairs(ContainmentCandidates(WORDS, 0.8, 0.95, seed=seed), texts, 16)
        shares.append(len(true & pairs) / len(true))
    # Each pair is found with probability .95 or more; two pairs at most share a sketch.
    deviation = math.sqrt(0.05 * 0.95 * 2 / (20 * len(true)))
    assert np.mean(shares) >= 0.95 - 5.5 * deviation
    result = nk.dedup(texts, recipe=WORDS, measure="containment", links="all")
    for row in result.pairs.rows():
        assert containment(sets[row["left"]], sets[row["right"]]) == row["similarity"] >= 0.8
    assert 0.95 == result.summary["expected_recall"]
    assert "warnings" not in result.summary


@pytest.mark.shared
def test_real_texts_are_found_with_the_stated_recall(shared: Path) -> None:
    """Chinese news by the features of containment, compared with every pair by brute force."""
    with gzip.open(shared / "data" / "zh_news_sogou.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = list(dict.fromkeys(json.loads(line)["text"] for line in file))
    recipe = nk.Recipe.of("containment")
    offsets, hashes = feature_sets(recipe.core, texts)
    columns = np.unique(hashes, return_inverse=True)[1]
    features = csr_array((np.ones(len(columns), np.int32), columns, offsets))
    # Count the common features of every pair.
    shared_by = triu(features @ features.T, 1).tocoo()
    sizes = np.diff(offsets)
    share = shared_by.data / np.minimum(sizes[shared_by.row], sizes[shared_by.col])
    near = share >= 0.8
    true = set(zip(shared_by.row[near].tolist(), shared_by.col[near].tolist(), strict=True))
    result = nk.dedup(texts, measure="containment", links="all")
    actual = {(row["left"], row["right"]) for row in result.pairs.rows()}
    assert actual <= true
    assert len(true) >= 50
    # Most pairs are far above the threshold.
    assert len(actual) >= 0.95 * len(true) - 5 * math.sqrt(0.05 * 0.95 * len(true))


# Errors and edge cases


def test_one_document_contains_as_many_others_as_are_compared() -> None:
    """A first document removes all others; as the last one it is removed for the first of them."""
    n = 2000
    options: dict[str, Any] = {"recipe": WORDS, "measure": "containment", "threshold": 1.0, "max_comparisons": n}
    small = [join_words(range(20 * i, 20 * i + 20)) for i in range(n)]
    large = join_words(range(20 * n))
    first = nk.dedup([large, *small], **options)
    assert [0] == first.kept
    assert {1.0} == set(first.clusters["similarity"])
    last = nk.dedup([*small, large], **options)
    assert list(range(n)) == last.kept
    assert (n, 0) == (last.clusters["id"][1], last.clusters["representative"][1])
    longest = nk.dedup([*small, large], **options, keep="longest")
    assert [n] == longest.kept
    assert 0 == first.summary["skipped"] == last.summary["skipped"] == longest.summary["skipped"]


def test_a_feature_in_every_document_makes_no_candidates() -> None:
    """Documents have two common features and thirty of their own."""
    texts = [join_words([0, 1, *range(30 * i + 2, 30 * i + 32)]) for i in range(2000)]
    result = nk.dedup(texts, recipe=WORDS, measure="containment")
    assert (2000, 0) == (len(result.kept), result.summary["candidates"])


def test_equal_sets_are_compared_with_their_representative_alone() -> None:
    """Of 3,000 permutations of the same words one is kept, and each other one is verified once."""
    rng = np.random.default_rng(1)
    texts = [join_words(rng.permutation(50)) for _ in range(3000)]
    result = nk.dedup(texts, recipe=WORDS, measure="containment")
    assert ([0], 2999) == (result.kept, result.summary["verified"])
    assert {0} == set(result.clusters["distance"])


def test_texts_without_features_are_kept() -> None:
    """Empty and missing texts and texts without letters are contained in nothing."""
    texts = ["", None, "!!!", "one two", "one", "two"]
    result = nk.dedup(texts, recipe=WORDS, measure="containment")
    assert [0, 1, 2, 3] == result.kept
    assert 3 == result.summary["without_features"]
    assert [] == nk.dedup([], measure="containment").kept
    assert [0] == nk.dedup([""], measure="containment", against=["!!!", "x"]).kept


def test_results_do_not_depend_on_threads_or_batches(set_threads: Callable[[int], None]) -> None:
    """Tables are equal for one thread and four, and for batches of any size."""
    rng = np.random.default_rng(5)
    bases = [rng.integers(0, 3000, n) for n in rng.integers(1, 300, 200)]
    texts = [join_words(base[rng.integers(0, len(base)) :]) for base in bases for _ in range(3)]
    full = nk.dedup(texts, recipe=WORDS, measure="containment", threshold=0.6)
    for count, batch, limit in ((1, 4096, 512), (4, 100, 512), (2, 1, 512), (3, 4096, 50)):
        set_threads(count)
        with mock.patch.object(cluster, "_BATCH", batch), mock.patch.object(ContainmentSearch, "max_batch", limit):
            assert same(full, nk.dedup(texts, recipe=WORDS, measure="containment", threshold=0.6))


def test_the_family_of_the_recipe_has_no_effect() -> None:
    """A recipe of signatures has the same features; the summary has the size of the sketch."""
    texts = ["one two three four five six", "two three four five six", "something else"]
    item = nk.dedup(texts, recipe="word:1|binary|xxh3|minhash:64", measure="containment")
    other = nk.dedup(texts, recipe="word:1|binary|xxh3|simhash:64", measure="containment")
    assert [0, 2] == item.kept == other.kept
    assert (32, 0.95, "containment") == tuple(
        item.summary[name] for name in ("sketch_size", "expected_recall", "verify")
    )
    assert "radius" not in item.summary
    assert [1] == [row["distance"] for row in item.pairs.rows()]


def test_verify_names_the_same_measure() -> None:
    """`verify` is a synonym; with a radius the fingerprints propose candidates."""
    texts = ["one two three four five six seven", "two three four", "else"]
    assert [0, 2] == nk.dedup(texts, recipe=WORDS, verify="containment").kept
    assert [0, 2] == nk.dedup(texts, recipe=WORDS, measure="containment", verify="containment").kept
    by_radius = nk.dedup(texts, recipe=WORDS, verify="containment", radius=0)
    assert [0, 1, 2] == by_radius.kept
    assert by_radius.summary["expected_recall"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 3}, "radius='?3'? is not allowed; use None with measure='containment'"),
        ({"verify": "jaccard"}, "verify='jaccard' is not allowed; use None with measure='containment'"),
        ({"recall": 1.0}, "recall=1.0 is not allowed; use a probability above 0 and below 1"),
        ({"recall": True}, "recall=True"),
        ({"threshold": 0}, "threshold='?0"),
        ({"threshold": 1e-5}, "threshold=1e-05"),
    ],
)
def test_options_that_exclude_containment_are_refused(options: dict[str, Any], message: str) -> None:
    """The message names the remedy."""
    with pytest.raises(ParameterError, match=message):
        nk.dedup(["one text", "another"], measure="containment", **options)


def test_an_unknown_measure_is_refused() -> None:
    """The message lists the measures."""
    with pytest.raises(ParameterError, match="measure='overlap' is not allowed; use jaccard, containment, indel"):
        nk.dedup(["one text"], measure="overlap")  # type: ignore[arg-type]


def test_a_store_has_no_recall_for_containment(tmp_path: Path) -> None:
    """The measure is refused with the remedy; `verify` alone uses the candidates of the store."""
    with nk.Store.create(tmp_path / "s") as store:
        store.add(["a"], ["one two three four five six"])
        both: tuple[dict[str, Any], ...] = ({"against": store}, {"store": store})
        for options in both:
            with pytest.raises(ParameterError, match="a store finds documents by hashes"):
                nk.dedup(["one two three"], measure="containment", **options)
        summary = nk.dedup(["one two three"], verify="containment", against=store).summary
        assert summary["expected_recall"] is None


def test_a_search_finds_only_for_documents_that_it_has_read() -> None:
    """Another number of documents, no documents, or all pairs at once are errors."""
    source = ContainmentCandidates(WORDS, 0.8)
    texts = ["one two", "three four"]
    hashed = hash_texts(texts, None, source, lambda *_: None, {})
    search = source.search(hashed.values)
    with pytest.raises(ParameterError, match="before their texts are read"):
        search.add(np.array([0]))
    search.read(np.array([1, 0]), ["three four", "one two"])
    with pytest.raises(ParameterError, match="those that were read"):
        search.find(hashed.values[:1])
    with pytest.raises(ParameterError, match="for each batch"):
        search.pairs()
    search.add(np.array([0, 1]))
    assert 2 == len(search)
    search.read(np.array([0]), ["one two"])
    with pytest.raises(ParameterError, match="places"):
        search.add(np.array([0]))
