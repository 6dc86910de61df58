"""nearkin.dedup.candidates.simhash: classes of sizes find the matches of an unrestricted search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from definitions import near_duplicates
from nearkin.dedup import cluster
from nearkin.dedup.candidates import simhash


@settings(deadline=None, max_examples=20)
@given(st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.integers(0, 10**6), st.sampled_from([7, 4096]))
def test_passages_are_those_of_all_candidates(threshold: float, seed: int, batch: int) -> None:
    """Passages are equal with and without classes of sizes, for batches of any size."""
    generator = np.random.default_rng(seed)
    lines = [line or "" for line in near_duplicates(300)]
    texts = ["\n".join(generator.choice(lines, 5)) for _ in range(60)]
    expected = nk.passages(texts, unit="line", threshold=threshold, min_length=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simhash, "_MIN_SIZED", 0)
        patch.setattr(cluster, "_BATCH", batch)
        result = nk.passages(texts, unit="line", threshold=threshold, min_length=5)
    assert repr(expected.passages.columns) == repr(result.passages.columns)
    assert result.summary["units"][0]["verified"] > 0 or threshold == 1


def test_a_pair_at_the_threshold_is_found_whatever_its_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 of 5, 8 of 10, ...: the ratio of sizes is the similarity, at the edge of a class."""
    monkeypatch.setattr(simhash, "_MIN_SIZED", 0)
    monkeypatch.setattr(cluster, "_BATCH", 1)
    for size in (4, 8, 40, 80, 400):
        words = [f"w{number}" for number in range(size * 5 // 4)]
        texts = [" ".join(words), " ".join(words[:size])]
        result = nk.passages(texts, unit="line", recipe="word:1|binary|xxh3|simhash:128", radius=128, min_length=1)
        assert [0.8] == result.passages["similarity"]


@pytest.mark.parametrize(
    "options",
    [
        {"recipe": "word:1|binary|xxh3|minhash:64"},
        {"recipe": "word:1|count|xxh3|simhash:64"},
        {"verify": "containment"},
        {"verify": "none"},
    ],
)
def test_other_families_and_measures_have_no_classes(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only SimHash of binary features with Jaccard similarity uses classes."""
    texts = ["\n".join((text or "") for text in near_duplicates(40)[at : at + 4]) for at in range(0, 40, 4)]
    arguments = {"unit": "line", "min_length": 5, "threshold": 0.6, **options}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        expected = nk.passages(texts, **arguments)  # type: ignore[arg-type]  # The options are of these types.
        monkeypatch.setattr(simhash, "_MIN_SIZED", 0)
        result = nk.passages(texts, **arguments)  # type: ignore[arg-type]
    assert repr(expected.passages.columns) == repr(result.passages.columns)
