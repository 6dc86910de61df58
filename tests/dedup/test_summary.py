"""nearkin.dedup.summary: removals per source, warnings at their exact bounds, every field of a run."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.dedup import summary as summary_module
from nearkin.dedup.codes import dedup_codes
from nearkin.dedup.config import Verify
from nearkin.dedup.summary import StageTimer, removals_by_source
from nearkin.errors import ParameterError
from nearkin.io import Column
from nearkin.pieces.passages import PassagesSummary


def count_removals(**sources: tuple[int, int]) -> tuple[list[tuple[str, int, int, float]], list[str]]:
    """Return removals and warnings for sources with these numbers of documents and removals."""
    names = [name for name, (total, _) in sources.items() for _ in range(total)]
    kept = [at >= gone for total, gone in sources.values() for at in range(total)]
    table, warnings = removals_by_source(Column.of(names), np.array(kept, bool))
    return [(row["source"], row["documents"], row["removed"], row["share"]) for row in table], warnings


@pytest.mark.parametrize(
    ("a", "b", "warned"),
    [
        ((40, 20), (40, 0), True),  # 20 documents, the fewest
        ((38, 19), (40, 0), False),
        ((80, 20), (80, 0), True),  # a share of a quarter, 25 points more than nothing
        ((81, 20), (80, 0), False),
        ((40, 20), (40, 10), True),  # a half: twice a quarter, and 25 points more
        ((40, 20), (40, 11), False),
        ((100, 60), (100, 30), True),  # twice the rate, more than 25 points
        ((100, 60), (100, 31), False),
        ((100, 45), (100, 20), True),  # more than twice the rate, exactly 25 points
        ((100, 44), (100, 20), False),
    ],
)
def test_sources_give_warnings_from_exact_bounds_on(a: tuple[int, int], b: tuple[int, int], warned: bool) -> None:
    """At least 20 documents, twice the rate of the others, and 25 points more, all together."""
    _, warnings = count_removals(a=a, b=b)
    assert [f"source 'a' loses {a[1] / a[0]:.0%} of its documents, the others {b[1] / b[0]:.0%}"] * warned == warnings


@pytest.mark.parametrize(("seed", "num_sources"), [(1, 3), (2, 9), (3, 80)])
def test_sources_share_clusters(seed: int, num_sources: int) -> None:
    """Shared clusters and the documents of several sources are those of a count by hand; a missing source is none."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 60, 400)
    texts = [f"word{word} of the text with number {word * 7919}" if word else "" for word in words.tolist()]
    sources = [None if number == 0 else f"s{number:02}" for number in rng.integers(0, num_sources, 400).tolist()]
    has: dict[object, set[str]] = {}
    for row, (text, source) in enumerate(zip(texts, sources, strict=True)):
        has.setdefault(text or row, set()).add(source or "")
    result = nk.dedup(texts, sources=sources, threshold=0.99)
    shared = result.summary["sources_shared"]
    names = shared["sources"]
    total = len(set(sources))
    assert (min(total, 64), total) == (len(names), len(names) + shared["left_out"])
    assert shared["clusters"] == [[sum({a, b} <= each for each in has.values()) for b in names] for a in names]
    several = nk.dedup(texts, sources=sources, threshold=0.99, min_sources=2)
    assert several.kept == [row for row in result.kept if len(has[texts[row] or row] - {""}) > 1]
    assert 0 < len(several.kept) < len(result.kept)
    removed = several.summary["removed_by_reason"]
    assert (len(result.kept) - len(several.kept), several.summary["removed"]) == (
        removed["few-sources"],
        sum(removed.values()),
    )
    assert result.pairs.columns == several.pairs.columns


@pytest.mark.parametrize(
    "options",
    [{}, {"sources": ["a"], "keep": "none"}, {"sources": ["a"], "shrink_to": 1}, {"sources": ["a"], "min_sources": 0}],
)
def test_min_sources_needs_sources_and_a_kept_document(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"min_sources"):
        nk.dedup(["a text of words"], **{"min_sources": 2, **options})


def test_a_stage_within_another_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of all stages add up to that of the outermost ones; the use of timed items is not timed."""
    clock = iter(range(100))
    times = SimpleNamespace(perf_counter=lambda: float(next(clock)), process_time=lambda: 0.0)
    monkeypatch.setattr(summary_module, "time", times)
    timer = StageTimer()
    with timer("outer"):
        assert [7, 8] == list(timer.each("inner", [7, 8], threaded=True))
        with timer("inner"), timer("innermost"):
            pass
    walls = {name: spent["wall"] for name, spent in timer.seconds.items()}
    # A second passes between two readings of the clock.
    assert {"outer": 5.0, "inner": 5.0, "innermost": 1.0} == walls
    assert 11.0 == sum(walls.values())


def test_sources_are_listed_by_their_share_of_removals() -> None:
    """Highest first, ties by name; a missing source is the empty one; a single one gives no warning."""
    table, _ = count_removals(b=(4, 1), a=(8, 2), c=(2, 1))
    assert [("c", 2, 1, 0.5), ("a", 8, 2, 0.25), ("b", 4, 1, 0.25)] == table
    assert ([("a", 40, 40, 1.0)], []) == count_removals(a=(40, 40))
    actual, _ = removals_by_source(Column.of([None, 7, "7"]), np.array([True, False, True]))
    assert [("7", 2), ("", 1)] == [(row["source"], row["documents"]) for row in actual]


def test_the_summary_has_every_field_in_order() -> None:
    """Names, order and values of summary.json."""
    texts = ["red wine and cheese", "red wine and cheese", "red wine and bread", "...", "something else entirely"]
    result = nk.dedup(
        texts, recipe="word:1|count|xxh3|simhash:64", radius=40, threshold=0.6, sources=["a", "b", "a", "b", "a"],
        against=["something else entirely", "wholly other"],
    )  # fmt: skip
    summary = dict(result.summary)
    timings, memory = summary.pop("timings"), summary.pop("peak_memory_bytes")
    assert json.loads(json.dumps(result.summary))["timings"] == timings
    assert ["hash", "collapse", "cluster", "result"] == list(result.summary["timings"])
    assert all(spent["wall"] >= 0 <= spent["cpu"] for spent in result.summary["timings"].values())
    assert memory is None or isinstance(memory, int)
    assert {
        "version": nk.__version__,
        "recipe": "word:1|count|xxh3|simhash:64",
        "recipe_digest": nk.Recipe("word:1|count|xxh3|simhash:64").digest,
        "threshold": 0.6,
        "radius": 40,
        "expected_recall": None,
        "verify": "jaccard",
        "empty": "keep",
        "cluster": "absorb",
        "keep": "first",
        "order": "row",
        "documents": 5,
        "without_features": 1,
        "kept": 2,
        "removed": 3,
        "removed_by_reason": {
            "exact": 1,
            "same-letters": 0,
            "near": 1,
            "exact-old": 1,
            "same-letters-old": 0,
            "near-old": 0,
        },
        "clusters": 2,
        "largest_cluster": 3,
        "older_documents": 2,
        "candidates": summary["candidates"],
        "verified": summary["verified"],
        "match_rate": summary["match_rate"],
        "skipped": 0,
        "sources": [
            {"source": "a", "documents": 3, "removed": 2, "share": 2 / 3},
            {"source": "b", "documents": 2, "removed": 1, "share": 0.5},
        ],
        "sources_shared": summary["sources_shared"],
        "warnings": [],
    } == summary
    assert list(summary)[:10] == [
        "version", "recipe", "recipe_digest", "threshold", "radius", "expected_recall", "verify", "empty",
        "cluster", "keep",
    ]  # fmt: skip
    assert 1 / result.summary["verified"] == result.summary["match_rate"]


@pytest.mark.parametrize(
    ("recipe", "verify", "radius"),
    [("simhash:64", "containment", 20), ("simhash:64", "indel", None), ("minhash:64", "indel", None)],
)
def test_other_measures_than_that_of_the_law_have_no_expected_recall(
    recipe: str, verify: Verify, radius: int | None
) -> None:
    """A warning in the summary says so."""
    baseline = nk.dedup(["one text", "one text more"], recipe=recipe).summary
    assert baseline["expected_recall"] is not None
    assert "warnings" not in baseline
    summary = nk.dedup(["one text", "one text more"], recipe=recipe, verify=verify, radius=radius).summary
    assert summary["expected_recall"] is None
    assert [True] == [f"no recall is promised for {verify}" in message for message in summary["warnings"]]


def test_a_run_that_verifies_nothing_has_no_precision() -> None:
    """None, not a division by zero; no sources without sources."""
    summary = nk.dedup(["one text"]).summary
    assert (None, 0, 0) == (summary["match_rate"], summary["clusters"], summary["largest_cluster"])
    assert "sources" not in summary
    assert "warnings" not in summary


def test_every_summary_has_the_required_keys() -> None:
    """Texts, files' digests, codes, vectors and passages: what a type checker allows without a test is there."""
    texts = ["the same text twice", "the same text twice", ""]
    results = [
        nk.dedup(texts),
        nk.dedup(texts, empty="drop", keep="none"),
        nk.dedup(texts, measure="containment", threshold=0.9),
        dedup_codes(["00" * 8, "00" * 8, "ff" * 8], radius=1),
        nk.dedup(np.eye(3, dtype=np.float32), threshold=0.9),
    ]
    for result in results:
        assert set() == summary_module.Summary.__required_keys__ - result.summary.keys()
    for passages in (nk.passages(texts, unit="line"), nk.repeats(texts, min_length=4)):
        assert set() == PassagesSummary.__required_keys__ - passages.summary.keys()
