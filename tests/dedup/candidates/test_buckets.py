"""nearkin.dedup.candidates.minhash: buckets of known signatures give the candidates of a BandIndex."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import nearkin as nk
from corpora import write_rows
from definitions import check_search, equal_values, near_duplicates, same, shares_band
from nearkin.dedup import cluster, documents
from nearkin.dedup import spill as spill_module
from nearkin.dedup.candidates import CandidateLists, MinHashCandidates, OrderedValues, StaticSearch, minhash
from nearkin.dedup.candidates.base import ListedBatch, list_offsets
from nearkin.dedup.candidates.minhash import BucketSearch
from nearkin.dedup.spill import IN_MEMORY, SpillPolicy
from nearkin.io import open_corpus

RECIPE = "word:1|binary|xxh3|minhash:128"
SMALL = [("_BATCH", 3), ("_PAIRS", 1), ("_RELEASE", 6)]


class BucketSource:
    """A source whose searches use buckets but take values, those of all ordinals."""

    def __init__(self, source: MinHashCandidates, spill: SpillPolicy) -> None:
        self._source, self._spill = source, spill
        self.similarities = source.similarities

    def search(self, values: Any) -> Any:
        """Return a search that takes values."""
        return ValueSearch(self._source, OrderedValues.of(values), self._spill)


class ValueSearch(BucketSearch):
    """A bucket search that takes values; like an index, it returns a document as its own candidate."""

    added: frozenset[int] = frozenset()

    def add(self, positions: Any) -> None:
        """Record the added ordinals."""
        super().add(positions)
        self.added |= {*positions.tolist()}

    def find(self, values: Any) -> CandidateLists:
        """Return what `find_at` finds for all ordinals, and each of them itself."""
        actual = self.find_at(np.arange(len(values)))
        lists = [actual.ordinals[actual.offsets[i] : actual.offsets[i + 1]].tolist() for i in range(len(values))]
        alone = [i for i in self.added if i not in lists[i]]
        assert all([] == lists[i] for i in alone)
        itself = np.isin(np.arange(len(values)), alone)
        own = CandidateLists(
            list_offsets(itself.astype(np.int64)),
            np.flatnonzero(itself),
            None if actual.similarity is None else np.ones(len(alone)),
        )
        return actual.followed_by(own)


def bucket_search(source: MinHashCandidates, values: OrderedValues) -> StaticSearch:
    """Return a bucket search for any number of documents."""
    with mock.patch.object(minhash, "_MIN_STATIC", 0):
        actual = source.static_search(values, IN_MEMORY)
    assert isinstance(actual, BucketSearch)
    return actual


def test_few_documents_use_an_index() -> None:
    """Buckets are built only from some thousands of documents on."""
    source = MinHashCandidates(nk.Recipe(RECIPE), 0.5)
    values, _ = source.hash(near_duplicates(60))
    assert source.static_search(OrderedValues.of(values), IN_MEMORY) is None


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("by_share", [False, True])
@pytest.mark.parametrize("spill", [IN_MEMORY, SpillPolicy(None, 1)])
@pytest.mark.parametrize("parts", ["large", "small", "one key"])
def test_candidates_share_a_band_and_enough_values(
    threshold: float, by_share: bool, spill: SpillPolicy, parts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates are those of all pairs, for chunks of any size and for colliding keys."""
    source = MinHashCandidates(nk.Recipe(RECIPE), threshold, by_share=by_share)
    values, counts = source.hash([*near_duplicates(60), "one of a kind altogether"])
    values = values[counts > 0]
    for name, size in SMALL if parts != "large" else []:
        monkeypatch.setattr(minhash, name, size)
    if parts == "one key":
        monkeypatch.setattr(source, "band_keys", lambda rows: np.zeros((len(rows), source.banding.num_bands), np.int64))
    similarity = (lambda i, j: equal_values(values, i, j) / 128) if by_share else None
    check_search(BucketSource(source, spill), values, lambda i, j: shares_band(source, values, i, j), similarity)


def test_candidates_do_not_depend_on_the_order_of_queries() -> None:
    """Each ordinal has its own candidates at any position of a query; an empty query has none."""
    source = MinHashCandidates(nk.Recipe(RECIPE), 0.5)
    values, counts = source.hash(near_duplicates(200))
    rows = np.flatnonzero(counts > 0)[::-1]
    search = bucket_search(source, OrderedValues(values, rows))
    search.add(np.arange(0, len(rows), 3))
    search.add(np.arange(1, len(rows), 3))
    full = search.find_at(np.arange(len(rows)))
    assert len(full.ordinals) > len(rows)
    requested = np.random.default_rng(1).permutation(len(rows))[:50]
    chunk = search.find_at(requested)
    for at, position in enumerate(requested.tolist()):
        expected = full.ordinals[full.offsets[position] : full.offsets[position + 1]]
        assert expected.tolist() == chunk.ordinals[chunk.offsets[at] : chunk.offsets[at + 1]].tolist()
    none = search.find_at(requested[:0])
    assert ([0], []) == (none.offsets.tolist(), none.ordinals.tolist())
    empty = bucket_search(source, OrderedValues(values, rows[:0]))
    assert 0 == len(empty.pairs().left)


@pytest.mark.parametrize("keys", [False, True])
def test_unlikely_candidates_are_left_out(keys: bool) -> None:
    """`likely` leaves out those that `are_likely` excludes, and so do the pairs of a batch and all pairs."""
    # Pairs with 15 of 20 words in common have a Jaccard similarity of 0.6: half pass 128 bits.
    texts = [" ".join(f"{'s' if i < 15 else f't{n}'}{i}" for i in range(20)) for n in range(120)]
    source = MinHashCandidates(nk.Recipe(f"{RECIPE}:fast"), 0.8, filtered=True, keys=keys)
    values, _ = source.hash(texts)
    rows = np.arange(len(values))
    search = bucket_search(source, OrderedValues.of(values))
    search.add(rows)
    full, likely = search.find_at(rows), search.find_at(rows, likely=True)
    passed = source.are_likely(values[full.ordinals], values[full.owners()])
    assert len(rows) < passed.sum() < len(passed) - 100
    expected = full.select(passed)
    assert all(map(np.array_equal, (expected.offsets, expected.ordinals), (likely.offsets, likely.ordinals)))
    later = expected.ordinals > expected.owners()
    pairs, batch = search.pairs(), search.within(rows)
    assert isinstance(batch, ListedBatch)
    for left, right in ((pairs.left, pairs.right), batch.pairs()):
        assert np.array_equal([expected.owners()[later], expected.ordinals[later]], [left, right])


OPTIONS: list[dict[str, Any]] = [
    {"cluster": rule, "verify": verify, "links": links}
    for rule in ("absorb", "components")
    for verify in ("jaccard", "signature", "none")
    for links in ("representatives", "all")
]


@pytest.mark.parametrize("options", [*OPTIONS, {"keep": "longest"}, {"keep": "last", "max_comparisons": 1}])
@pytest.mark.filterwarnings("ignore:.*comparisons were left out:RuntimeWarning")
def test_buckets_deduplicate_like_the_index(options: dict[str, Any]) -> None:
    """All tables and counts are equal, for batches of any size, with reference texts, in memory and in files."""
    texts, reference = near_duplicates(250), near_duplicates(40)[::2]
    arguments = {"recipe": RECIPE, "threshold": 0.5, **options}
    for against in (None, reference):
        with mock.patch.object(minhash, "_MIN_STATIC", 1 << 40), mock.patch.object(cluster, "_BATCH", 100):
            expected = nk.dedup(texts, against=against, **arguments)
        for share in (1.0, 1e-12):
            with (
                mock.patch.object(minhash, "_MIN_STATIC", 1),
                mock.patch.object(cluster, "_BATCH", 100),
                mock.patch.object(spill_module, "SHARE", share),
                mock.patch.object(documents, "_MAX_TEXTS", 64),
            ):
                actual = nk.dedup(texts, against=against, **arguments)
            assert expected.summary["removed"] > 0
            assert expected.kept == actual.kept
            # Compare representations, because NaN differs from itself.
            assert repr(expected.clusters.columns) == repr(actual.clusters.columns)
            assert repr(expected.pairs.columns) == repr(actual.pairs.columns)
            said = [{**result.summary, "timings": 0, "peak_memory_bytes": 0} for result in (expected, actual)]
            assert repr(said[0]) == repr(said[1])


@pytest.mark.parametrize("recipe", [RECIPE, "word:1|binary|xxh3|simhash:128"])
def test_a_spilled_corpus_gives_the_result_of_one_in_memory(recipe: str, tmp_path: Path) -> None:
    """The output folder has no file besides the corpus while arrays are spilled."""
    rows = [{"id": f"doc-{row}", "text": text or ""} for row, text in enumerate(near_duplicates(1000))]
    path = write_rows(tmp_path / "corpus.jsonl", rows)
    actual = []
    for share in (1.0, 1e-12):
        with (
            mock.patch.object(spill_module, "SHARE", share),
            mock.patch.object(minhash, "_MIN_STATIC", 1),
            mock.patch("nearkin.io.records.BLOCK", 1 << 14),
            open_corpus(path, id_column="id", spool_dir=tmp_path) as corpus,
        ):
            actual.append(nk.dedup(corpus, recipe=recipe, threshold=0.5))
            assert [path] == list(tmp_path.iterdir())
    assert 0 < actual[0].summary["removed"] < 1000
    assert same(*actual)
    assert "doc-0" == actual[1].kept[0]
