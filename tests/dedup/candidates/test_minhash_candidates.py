"""nearkin.dedup with MinHash: recall, precision, batches, errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.stats import binom

import nearkin as nk
from definitions import check_search, equal_values, near_duplicates, same, shares_band
from nearkin.dedup import cluster
from nearkin.dedup.candidates import MinHashCandidates
from nearkin.errors import ParameterError

RECIPE = "word:1|binary|xxh3|minhash:128"


# The source alone


def source_and_signatures(
    threshold: float, *, by_share: bool = False, recall: float | None = None
) -> tuple[MinHashCandidates, Any]:
    """Return a source, and the signatures of texts with near-duplicates."""
    source = MinHashCandidates(nk.Recipe(RECIPE), threshold, recall, by_share=by_share)
    values, counts = source.hash([*near_duplicates(60), "one of a kind altogether"])
    return source, values[counts > 0]


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
def test_candidates_share_a_band_and_enough_values(threshold: float) -> None:
    """Candidates are those of all pairs of signatures; texts verify them."""
    source, values = source_and_signatures(threshold)
    check_search(source, values, lambda i, j: shares_band(source, values, i, j))
    assert np.isnan(source.similarities(values, values)).all()


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
def test_the_share_of_equal_values_verifies_by_itself(threshold: float) -> None:
    """Candidates have the share as their similarity, from the threshold on."""
    source, values = source_and_signatures(threshold, by_share=True)
    check_search(
        source,
        values,
        lambda i, j: shares_band(source, values, i, j),
        lambda i, j: equal_values(values, i, j) / 128,
    )


def test_distances_count_bands_that_differ() -> None:
    """Row by row, of signatures as of keys; without rows the result is empty. Values are counted if they verify."""
    source, values = source_and_signatures(0.5)
    bands, rows = source.banding.num_bands, source.banding.num_rows
    pairs = list(zip(values, values[::-1], strict=True))
    equal = [[(a[i : i + rows] == b[i : i + rows]).all() for i in range(0, bands * rows, rows)] for a, b in pairs]
    expected = [bands - sum(shared) for shared in equal]
    assert expected == source.distances(values, values[::-1]).tolist()
    assert [] == source.distances(values[:0], values[:0]).tolist()
    keyed = MinHashCandidates(source.recipe, 0.5, keys=True)
    keys, counts = keyed.hash([*near_duplicates(60), "one of a kind altogether"])
    keys = keys[counts > 0]
    assert expected == keyed.distances(keys, keys[::-1]).tolist()
    assert [distance < bands for distance in expected] == keyed.are_candidates(keys, keys[::-1]).tolist()
    shares = MinHashCandidates(source.recipe, 0.5, by_share=True)
    counted = [128 - equal_values(values, i, len(values) - 1 - i) for i in range(len(values))]
    assert counted == shares.distances(values, values[::-1]).tolist()


def test_the_summary_has_the_expectations_of_the_bands() -> None:
    """They are those of `nearkin.theory.choose_bands`, with a default recall of 0.995."""
    for recall in (None, 0.8):
        source, _ = source_and_signatures(0.7, recall=recall)
        bands = nk.theory.choose_bands(0.7, 0.995 if recall is None else recall, 128)
        assert {
            "num_perm": 128,
            "num_bands": bands.num_bands,
            "num_rows": bands.num_rows,
            "expected_recall": nk.theory.banding_probability(0.7, bands.num_bands, bands.num_rows),
            "expected_precision": bands.precision,
        } == source.summary()
        assert bands.num_rows / 128 == source.share


def draw_pages(count: int, shared: float) -> list[str]:
    """Draw unrelated pages of 40 words, of which a share is boilerplate."""
    rng = np.random.default_rng(5)
    boilerplate = " ".join(f"menu{i}" for i in range(round(40 * shared)))
    return [f"{boilerplate} {' '.join(f'w{word}' for word in rng.integers(0, 10**9, 40))}" for _ in range(count)]


def test_bands_follow_the_number_and_the_background_of_documents() -> None:
    """More documents or more similar ones take more rows; the candidates of a document stay few, the recall holds."""
    chosen = []
    for count, shared in ((1000, 0.0), (10**6, 0.0), (10**6, 0.5), (10**9, 0.5)):
        source = MinHashCandidates(nk.Recipe().with_family("minhash"), 0.8, keys=True, adaptive=True)
        source.calibrate(draw_pages(300, shared), count)
        bands, rows = source.banding.num_bands, source.banding.num_rows
        assert source.recall >= 0.995
        assert source.recipe.num_perm >= bands * rows
        if source.background is not None and rows < 9:
            background = count / 2 * nk.theory.banding_probability(source.background, bands, rows)
            assert background <= 2, (count, shared, background)
        chosen.append(rows)
    assert chosen == sorted(chosen)
    assert (6, True) == (chosen[0], chosen[2] > chosen[0])
    # The first texts of a run decide for all of them.
    source.calibrate(draw_pages(300, 0.0), 10**6)
    assert chosen[-1] == source.banding.num_rows


def filtered_source(threshold: float, recipe: str = "minhash", **options: Any) -> MinHashCandidates:
    """Return a source whose candidates the Jaccard similarity verifies."""
    return MinHashCandidates(nk.Recipe().with_family(recipe), threshold, filtered=True, **options)


def test_pairs_below_the_least_number_of_equal_bits_are_dropped() -> None:
    """Rows of keys and of signatures decide alike; the stated recall includes the loss, at most 1e-4 of it."""
    texts = near_duplicates(300)
    kept = []
    variants: list[dict[str, Any]] = [{"keys": True}, {}]
    for options in variants:
        source = filtered_source(0.7, **options)
        values, counts = source.hash(texts)
        values = values[counts > 0]
        left, right = np.triu_indices(len(values), 1)
        kept.append(source.are_likely(values[left], values[right]))
        assert [] == source.are_likely(values[:0], values[:0]).tolist()
    assert (kept[0] == kept[1]).all()
    present = np.flatnonzero(counts > 0)
    similarity = nk.similarity(texts, present[left], present[right], recipe=source.recipe)
    assert kept[0][similarity >= 0.7].all()
    assert 0.9 < 1 - kept[0][similarity < 0.3].mean()
    lost = binom.cdf(source.min_equal_bits - 1, 128, 0.85)
    assert 0 < lost <= 1e-4 < binom.cdf(source.min_equal_bits, 128, 0.85)
    bands = source.banding
    stated = nk.theory.banding_probability(0.7, bands.num_bands, bands.num_rows) - lost
    assert source.summary()["expected_recall"] == pytest.approx(stated, abs=1e-12)


@pytest.mark.parametrize(
    ("recipe", "scheme_is_filtered"), [("minhash:64:fast", 1), ("minhash:64:classic", 1), ("minhash:64:one", 0)]
)
def test_schemes_whose_values_may_be_copies_are_not_filtered(recipe: str, scheme_is_filtered: int) -> None:
    """Densified values are copies of one another; the binomial law does not bound them."""
    source = filtered_source(0.8, recipe)
    assert (bool(scheme_is_filtered), 64 * scheme_is_filtered) == (source.filtered, source.num_bits)
    values, _ = source.hash(["a first text of some words", "nothing in common with it"])
    assert [not scheme_is_filtered] == source.are_likely(values[:1], values[1:]).tolist()


@pytest.mark.parametrize("features", [6, 40, 400])
@pytest.mark.parametrize("scheme", ["fast", "classic"])
def test_equal_bits_of_a_pair_follow_the_law(features: int, scheme: str) -> None:
    """The mean is that of the law; the share of pairs with few equal bits does not exceed that of the law."""
    recipe = nk.Recipe(f"word:1|binary|xxh3|minhash:128:{scheme}")
    source = MinHashCandidates(recipe, 0.5, filtered=True)
    shared, trials = features // 2, 2000
    sides: list[list[str]] = [[], []]
    for trial in range(trials):
        words = [f"w{trial}x{word}" for word in range(features)]
        own = features - shared
        # The union has `features` words, `shared` of which are in both.
        sides[0].append(" ".join(words[: shared + own // 2]))
        sides[1].append(" ".join(words[:shared] + words[shared + own // 2 :]))
    left, right = (source.bits(source.hash(texts)[0]) for texts in sides)
    equal = 128 - np.asarray(nk.hamming(left, right), np.int64)
    p = (1 + shared / features) / 2
    # Standard errors: the probability of more than 6 is below 1e-8.
    assert abs(equal.mean() - 128 * p) < 6 * np.sqrt(128 * p * (1 - p) / trials)
    for least in (85, 88, 92):
        law = binom.cdf(least - 1, 128, p)
        assert (equal < least).mean() <= law + 6 * np.sqrt(law / trials) + 1 / trials


def test_given_bands_are_used() -> None:
    """As text or numbers; they determine the recall, and exclude a requested one."""
    texts = near_duplicates(200)
    first, second = nk.dedup(texts, bands="29x8"), nk.dedup(texts, bands=(29, 8))
    assert same(first, second)
    summary = first.summary
    assert (29, 8, 232) == (summary["num_bands"], summary["num_rows"], summary["num_perm"])
    lost = nk.theory.min_equal_bits(0.8, 128, 1e-4)[1]
    assert nk.theory.banding_probability(0.8, 29, 8) - lost == summary["expected_recall"]
    for options, message in (
        ({"bands": "29"}, "29x8"),
        ({"bands": "0x8"}, "29x8"),
        ({"bands": (100, 100)}, "at most 512 values"),
        ({"bands": "29x8", "recipe": "minhash:128"}, "at most 128 values"),
        ({"bands": "2x8", "recall": 0.9}, "which determine it"),
        ({"bands": "2x8", "radius": 3}, "None with simhash"),
    ):
        with pytest.raises(ParameterError, match=message):
            nk.dedup(texts, **options)


# Deduplication


@pytest.mark.parametrize("rule", ["absorb", "components"])
@pytest.mark.parametrize("verify", ["jaccard", "signature", "none"])
def test_batches_of_any_size_give_the_same_result(rule: Any, verify: Any) -> None:
    """Two different indexes find candidates in earlier batches and within a batch."""
    texts = near_duplicates()
    options = {"recipe": RECIPE, "threshold": 0.5, "verify": verify, "cluster": rule}
    full = nk.dedup(texts, **options)
    assert full.summary["removed"] > 0
    for batch in (1, 17, 599):
        with mock.patch.object(cluster, "_BATCH", batch):
            assert same(full, nk.dedup(texts, **options))


@pytest.mark.parametrize("recipe", [RECIPE, "word:1|binary|xxh3|simhash:128"])
@pytest.mark.parametrize("links", ["representatives", "all"])
def test_no_pair_is_below_the_threshold_and_a_second_run_removes_nothing(recipe: str, links: Any) -> None:
    """For each family."""
    texts = [text for text in near_duplicates() if text]
    result = nk.dedup(texts, recipe=recipe, threshold=0.6, links=links)
    assert len(result.pairs) > 0
    assert min(result.pairs["similarity"]) >= 0.6
    left, right = ("left", "right") if links == "all" else ("id", "representative")
    true = nk.similarity(texts, result.pairs[left], result.pairs[right], recipe=recipe)
    assert true.tolist() == result.pairs["similarity"]
    again = nk.dedup([texts[row] for row in result.kept], recipe=recipe, threshold=0.6)
    assert 0 == again.summary["removed"]


def test_reference_texts_remove_new_texts() -> None:
    """Copies of reference texts are exact."""
    texts = [f"a text about number {i} and {i + 1} and the like of it" for i in range(20)]
    old = nk.dedup(texts, against=texts[:5], against_ids=list("abcde"), recipe=RECIPE, threshold=0.95)
    assert {"exact-old": 5} == {k: v for k, v in old.summary["removed_by_reason"].items() if v}
    assert list("abcde") == old.clusters["representative"][:5]
    assert [0] * 5 == old.clusters["distance"][:5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "minhash:16", "threshold": 0.1, "recall": 0.99}, "at least 44"),
        ({"recipe": "minhash:16", "recall": 1.0}, "no collision is certain"),
        ({"recipe": "simhash:64", "recall": 0.9, "radius": 3}, "radius=3, which determines the recall"),
        ({"recipe": "simhash:64", "recall": 1.5}, "probability"),
        ({"recipe": "simhash:64", "recall": 1.0}, "radius=64 compares every pair"),
        ({"recipe": "minhash:64", "radius": 3}, "recall"),
        ({"recipe": "minhash:64", "recall": "0.9"}, "0.9"),
        ({"recipe": "simhash:64", "verify": "signature"}, "simhash"),
    ],
)
def test_options_that_exclude_each_other_are_refused(options: dict[str, Any], message: str) -> None:
    """The message names the remedy."""
    with pytest.raises(ParameterError, match=message):
        nk.dedup(["a", "b"], **options)


WORDS = "norm:none|case:lower|letters:python|word:3|binary|xxh3|minhash:128"
CHARS = "case:keep|letters:python|char:{}|binary|xxh3|minhash:128"
RAW = "norm:none|case:keep|letters:all|char:3|binary|xxh3|minhash:128"
LISTED = [
    pytest.param("en_20news", "w3_j50", WORDS),
    pytest.param("en_bible_ot", "w3_j60", WORDS, marks=pytest.mark.slow),
    pytest.param("en_licences", "w3_j70", WORDS, marks=pytest.mark.slow),
    pytest.param("url_httpparams_train", "c3raw_j70", RAW),
    pytest.param("zh_laws", "c4_j50", CHARS.format(4)),
    pytest.param("zh_news_sogou", "c4_j30", CHARS.format(4)),
    pytest.param("zh_reviews", "c3_j50", CHARS.format(3)),
    pytest.param("zh_song_poems", "c3_j50", CHARS.format(3)),
]
"""Sets whose pairs are all listed, and the recipe of their features."""


@pytest.mark.parametrize("scheme", ["one", "fast"])
@pytest.mark.parametrize(("name", "pairs", "recipe"), LISTED)
def test_listed_pairs_of_real_texts_are_found_with_the_requested_recall(
    shared: Path, name: str, pairs: str, recipe: str, scheme: str
) -> None:
    """At least 95% of all pairs at 0.8 and above are found, and none below."""
    recipe = recipe + ":fast" * (scheme == "fast")
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [row["text"].partition("\n\n")[2] if name == "en_20news" else row["text"] for row in rows]
    position = {str(row.get("id")): at for at, row in enumerate(rows)}
    with gzip.open(shared / "data" / f"{name}.pairs_{pairs}.tsv.gz", "rt", encoding="utf-8") as lines:
        head, *table = [line.rstrip("\n").split("\t") for line in lines]
    by_row = head[0] == "row_a"
    left, right = (np.array([int(row[side]) if by_row else position[row[side]] for row in table]) for side in (0, 1))
    true = nk.similarity(texts, left, right, recipe=recipe)
    # Links connect the first of equal texts, and each copy with it.
    first = {text: at for at, text in reversed(list(enumerate(texts)))}
    required = {
        tuple(sorted((first[texts[a]], first[texts[b]]))) for a, b, j in zip(left, right, true, strict=True) if j >= 0.8
    }
    required = {pair for pair in required if pair[0] != pair[1]}
    result = nk.dedup(texts, recipe=recipe, threshold=0.8, recall=0.95, links="all")
    assert min(result.pairs["similarity"]) >= 0.8
    actual = {tuple(sorted(pair)) for pair in zip(result.pairs["left"], result.pairs["right"], strict=True)}
    assert len(required) >= 20
    assert len(required & actual) >= 0.95 * len(required)


def test_more_bands_than_values_name_a_recipe_that_has_them() -> None:
    with pytest.raises(ParameterError, match=r"bands=29x8 .* at most 64 values .* minhash:232"):
        nk.dedup(["a b"], recipe="char:4|binary|xxh3|minhash:64", bands=(29, 8), threshold=0.8)
    assert 1 == len(nk.dedup(["a b"], recipe="char:4|binary|xxh3|minhash:232", bands=(29, 8), threshold=0.8).kept)
