"""nearkin.dedup.reference: reference documents in memory and in other collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import strategies
from definitions import RADIUS, RECIPE, dedup, near_duplicates, outcome, same
from nearkin.dedup.candidates import CandidateLists
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.documents import hash_texts
from nearkin.dedup.reference import ReferenceProvider, SearchableReference
from nearkin.errors import MismatchError, ParameterError, mismatch
from reference import distance


class PlainStore:
    """A collection that has texts in a list, and scans all of them in every method."""

    def __init__(self, texts: list[str | None], ids: list[str]) -> None:
        self.held, self.names = texts, ids
        self.fingerprints, self.counts = nk.fingerprint(texts, RECIPE, return_counts=True)
        self.asked: list[int] = []

    def reference_corpus(self, candidate_source: Any) -> PlainStore:
        """Return itself, for fingerprints of its recipe."""
        if str(candidate_source.recipe) != str(RECIPE):
            raise mismatch("recipe", RECIPE, candidate_source.recipe)
        self.radius = candidate_source.radius
        return self

    def __len__(self) -> int:
        return len(self.held)

    def copies(self, contents: Any) -> Any:
        """Scan the content hashes of all texts."""
        own = hash_texts(self.held, None, SimHashCandidates(RECIPE, 0.8, 0), lambda *_: None, {}).contents.tolist()
        actual = (next((row for row in range(len(own)) if own[row] == item), -1) for item in contents.tolist())
        return np.array(list(actual), np.int64)

    def candidates(self, values: Any) -> CandidateLists:
        """Return all texts within the radius, only the first of copies."""
        firsts = [row for row, text in enumerate(self.held) if self.counts[row] and self.held.index(text) == row]
        lists = [[row for row in firsts if distance(self.fingerprints[row], v) <= self.radius] for v in values[:, 0]]
        offsets = np.cumsum([0, *(len(rows) for rows in lists)])
        return CandidateLists(offsets, np.array([row for rows in lists for row in rows], np.int64))

    def values(self, rows: Any) -> Any:
        """Return fingerprints."""
        return self.fingerprints[rows].reshape(-1, 1)

    def lengths(self, rows: Any) -> Any:
        """Return numbers of characters."""
        return np.array([len(self.held[row] or "") for row in rows.tolist()], np.uint64)

    def texts(self, rows: Any) -> list[str | None]:
        """Return texts of ascending rows."""
        assert sorted(rows.tolist()) == rows.tolist()
        self.asked += rows.tolist()
        return [self.held[row] for row in rows.tolist()]

    def ids(self, rows: Any) -> list[str]:
        """Return ids."""
        return [self.names[row] for row in rows.tolist()]


@settings(max_examples=80, deadline=None)
@given(
    old=strategies.corpora(max_size=10),
    new=strategies.corpora(max_size=14),
    verify=st.sampled_from(["jaccard", "indel", "none"]),
    cluster=st.sampled_from(["absorb", "components"]),
    links=st.sampled_from(["representatives", "all"]),
    keep=st.sampled_from(["first", "last", "longest"]),
)
def test_any_collection_gives_the_result_of_its_texts(
    old: list[str | None], new: list[str | None], verify: str, cluster: str, links: str, keep: str
) -> None:
    """`dedup(against=)` only needs the methods of the protocol, for every rule."""
    names = [f"old {row}" for row in range(len(old))]
    options: dict[str, Any] = {"threshold": 0.5, "verify": verify, "cluster": cluster, "links": links, "keep": keep}
    listed = dedup(new, against=old, against_ids=names, **options)
    store = PlainStore(old, names)
    assert isinstance(store, ReferenceProvider)
    stored = dedup(new, against=store, **options)
    assert repr(listed.clusters.columns) == repr(stored.clusters.columns)
    assert repr(listed.pairs.columns) == repr(stored.pairs.columns)
    assert listed.kept == stored.kept
    for name in ("older_documents", "candidates", "verified", "removed_by_reason", "clusters"):
        assert dict(listed.summary)[name] == dict(stored.summary)[name]


def test_only_texts_of_candidates_are_read() -> None:
    """Texts of reference documents without a candidate are not read."""
    texts = near_duplicates(200)
    near = [text for text in texts[:20] if text]
    far = [f"nothing{i} of{i} the{i} words{i} of{i} the{i} others{i}" for i in range(50)]
    store = PlainStore([*near, *far], [str(row) for row in range(len(near) + 50)])
    result = dedup(texts, against=store, threshold=0.9, radius=3)
    assert result.summary["removed_by_reason"]["near-old"] + result.summary["removed_by_reason"]["exact-old"] > 0
    assert max(store.asked, default=0) < len(near)
    with pytest.raises(MismatchError, match="recipe"):
        nk.dedup(texts, against=store, recipe="char:3")
    with pytest.raises(ParameterError, match="against_ids"):
        dedup(texts, against=store, against_ids=["a"])


def hashed_older(texts: list[str | None]) -> SearchableReference:
    source = SimHashCandidates(RECIPE, 0.8, RADIUS)
    return SearchableReference(
        hash_texts(texts, [f"o{i}" for i in range(len(texts))], source, lambda *_: None, {}), source
    )


@settings(max_examples=60, deadline=None)
@given(old=strategies.corpora(max_size=12), new=strategies.corpora(max_size=12))
def test_documents_in_memory_give_the_results_of_a_scan(old: list[str | None], new: list[str | None]) -> None:
    """Copies, candidates, values, lengths, texts and ids; texts without features only have copies."""
    actual, plain = hashed_older(old), PlainStore(old, [f"o{i}" for i in range(len(old))])
    source = SimHashCandidates(RECIPE, 0.8, RADIUS)
    plain.reference_corpus(source)
    requested = hash_texts(new, None, source, lambda *_: None, {})
    present = requested.counts > 0
    assert plain.copies(requested.contents[present]).tolist() == actual.copies(requested.contents[present]).tolist()
    expected, candidates = plain.candidates(requested.values), actual.candidates(requested.values)
    assert expected.offsets.tolist() == candidates.offsets.tolist()
    assert expected.ordinals.tolist() == candidates.ordinals.tolist()
    rows = np.arange(0, len(old), 2)
    assert len(plain) == len(actual)
    assert plain.values(rows).tolist() == actual.values(rows).tolist()
    assert plain.lengths(rows).tolist() == actual.lengths(rows).tolist()
    assert plain.texts(rows) == list(actual.texts(rows))
    assert plain.ids(rows) == actual.ids(rows)


@pytest.mark.parametrize("old", [[], ["", None, "..."]])
def test_reference_documents_without_features_match_nothing(old: list[str | None]) -> None:
    """As if there were none."""
    texts = [text for text in near_duplicates(100) if text]
    assert same(dedup(texts, threshold=0.5), dedup(texts, threshold=0.5, against=old))
    assert same(dedup(["...", None]), dedup(["...", None], against=old))
    assert outcome(dedup([], against=texts))[:2] == [[], []]
