"""Deduplication to a number of documents: the threshold of the rule, the replay, and what is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from command import json_lines, run, succeed
from corpora import write_rows
from nearkin.dedup.config import DedupConfig, parse_shrink_to
from nearkin.dedup.shrink import Replay
from nearkin.errors import ParameterError

RECIPE = nk.Recipe.of("word:1|binary|xxh3|minhash:128:fast")
# Bands by which no pair of these texts is missed at any threshold from 0.5 on.
BANDS = "128x1"


def corpus(count: int, seed: int) -> list[str | None]:
    """Return changes of a few sentences, exact copies, other punctuation, and texts without features."""
    rng = random.Random(seed)
    texts: list[str | None] = []
    for _ in range(count):
        family = rng.randrange(count // 8 + 1)
        words = [f"{number}in{family}" for number in range(14)]
        for _ in range(rng.randrange(5)):
            words[rng.randrange(14)] = rng.choice("uvwxyz")
        del words[rng.randrange(10, 15) :]
        texts.append(rng.choice([" ".join(words)] * 20 + ["...", None]))
    return texts


OPTIONS: list[dict[str, Any]] = [
    {},
    {"keep": "longest"},
    {"keep": "none"},
    {"cluster": "components"},
    {"lossless": True, "keep": "longest"},
    {"empty": "drop"},
    {"measure": "containment"},
    {"against": corpus(20, 99)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
def test_replay_counts_what_runs_keep(options: dict[str, Any]) -> None:
    """At every threshold, by the pairs of one run, if no pair is missed."""
    texts = corpus(150, 3)
    matching: dict[str, Any] = {"recipe": RECIPE, **options}
    matching |= {"recall": 0.9999} if "measure" in options else {"bands": BANDS}
    without = {name: value for name, value in matching.items() if name != "against"}
    config = DedupConfig.from_args(threshold=0.5, **without)
    replay = Replay(nk.dedup(texts, threshold=0.5, links="all", **matching), config)
    counts = set()
    for threshold in (0.5, 0.55, 0.6, 0.667, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0):
        kept = nk.dedup(texts, threshold=threshold, **matching).summary["kept"]
        assert kept == replay.count(threshold)
        counts.add(kept)
    assert len(counts) > 3 or "lossless" in options


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(20, 90), st.sampled_from([{}, {"keep": "longest"}, {"cluster": "components"}])
)
def test_result_is_that_of_a_run_at_the_threshold(seed: int, target: int, options: dict[str, Any]) -> None:
    """Bit for bit; it keeps no more than requested, and the highest threshold of those with these bands does."""
    texts = corpus(100, seed)
    fewest = nk.dedup(texts, recipe=RECIPE, threshold=0.5, **options).summary["kept"]
    target = max(target, fewest)
    result = nk.dedup(texts, recipe=RECIPE, shrink_to=target, **options)
    chosen = result.summary["shrink_to"]
    plain = nk.dedup(texts, recipe=RECIPE, threshold=chosen["threshold"], **options)
    assert plain.kept_rows.tolist() == result.kept_rows.tolist()
    assert plain.clusters.columns == result.clusters.columns
    assert plain.pairs.columns == result.pairs.columns
    assert plain.weights.tolist() == result.weights.tolist()
    same = {
        name: value
        for name, value in result.summary.items()
        if name not in ("shrink_to", "timings", "peak_memory_bytes")
    }
    assert {name: plain.summary[name] for name in same} == same  # type: ignore[literal-required]
    assert chosen["kept"] == len(result.kept) <= target
    if chosen["next_threshold"] is not None:
        assert chosen["next_threshold"] == pytest.approx(chosen["threshold"] + 0.001)


def test_threshold_is_the_highest_that_keeps_no_more() -> None:
    """By brute force over all thousandths, with bands that miss nothing; also where the number is not monotone."""
    for seed in range(4):
        texts = corpus(60, seed)
        options: dict[str, Any] = {"recipe": RECIPE, "bands": BANDS}
        counts = {
            step / 1000: nk.dedup(texts, threshold=step / 1000, **options).summary["kept"]
            for step in range(500, 1001, 10)
        }
        for target in (50, 40, 30, 20):
            allowed = [threshold for threshold, kept in counts.items() if kept <= target]
            if not allowed:
                continue
            chosen = nk.dedup(texts, shrink_to=target, **options).summary["shrink_to"]
            assert 0 <= chosen["threshold"] - max(allowed) < 0.01
            assert chosen["next_kept"] is None or chosen["next_kept"] > target


def test_a_lower_threshold_may_keep_more() -> None:
    """Text 1 removes 2 and 3; at a lower threshold 0 removes 1, and 2 and 3 stay."""
    words = [f"w{number}" for number in range(20)]
    texts = [
        " ".join(words),
        " ".join([*words[:17], "b1", "b2", "b3"]),
        " ".join([*words[:15], "b1", "b2", "b3", "c1", "c2"]),
        " ".join([*words[2:17], "b1", "b2", "b3", "d1", "d2"]),
    ]
    options: dict[str, Any] = {"recipe": RECIPE, "bands": BANDS}
    kept = {threshold: nk.dedup(texts, threshold=threshold, **options).kept for threshold in (0.9, 0.8, 0.7)}
    assert {0.9: [0, 1, 2, 3], 0.8: [0, 1], 0.7: [0, 2, 3]} == kept
    assert [0, 1] == nk.dedup(texts, shrink_to=2, **options).kept


def test_floor_and_shares() -> None:
    """The caller's threshold is the floor; a fixed signature raises it until it has the recall."""
    texts = corpus(80, 5)
    share = nk.dedup(texts, recipe=RECIPE, shrink_to=0.5).summary["shrink_to"]
    assert (0.5, 40, 0.5) == (share["requested"], share["documents"], share["floor"])
    assert nk.dedup(texts, recipe=RECIPE, shrink_to="0.5").summary["shrink_to"] == share
    own = nk.dedup(texts, recipe=RECIPE, shrink_to=0.9, threshold=0.7123).summary["shrink_to"]
    assert 0.7123 == own["floor"]
    with pytest.raises(ParameterError, match=r"\d+ or more: the threshold 0.8, the lowest"):
        nk.dedup(texts, recipe=RECIPE, shrink_to=1, threshold=0.8)
    few = nk.dedup(texts, recipe="word:1|binary|xxh3|minhash:6:fast", shrink_to=0.9).summary["shrink_to"]
    assert 0.6 == few["floor"]
    assert 1.0 == nk.dedup(texts, recipe=RECIPE, shrink_to=80).summary["shrink_to"]["threshold"]
    grouped = nk.dedup(
        texts, recipe=RECIPE, groups=[row // 2 for row in range(80)], shrink_to=0.9, threshold=0.3
    ).summary
    assert grouped["kept"] <= 36 == grouped["shrink_to"]["documents"]


@pytest.mark.parametrize("value", [0, -1, 0.0, 1.5, float("nan"), True, "many", "60%", "", [3], 2.0])
def test_numbers_that_are_not_allowed(value: Any) -> None:
    with pytest.raises(ParameterError, match="a number of documents from 1 on, or a share"):
        parse_shrink_to(value)


def test_inputs_that_are_read_once_are_refused(tmp_path: Path) -> None:
    """An iterator and a pipe; labels and a store have no other threshold."""
    with pytest.raises(ParameterError, match="a list or a column with shrink_to"):
        nk.dedup(iter(["a b", "c d"]), shrink_to=1)
    with pytest.raises(ParameterError, match="labels or a store"):
        nk.dedup(["a b", "c d"], shrink_to=1, labels=[(0, 1, False)])
    refused = run("dedup", "-", "--format", "jsonl", "-o", tmp_path / "x", "--shrink-to", "1", stdin=b'{"text": "a"}\n')
    assert (2, True) == (refused.returncode, b"which reads them twice" in refused.stderr)


def test_command_equals_function(tmp_path: Path) -> None:
    texts = [text or "" for text in corpus(80, 6)]
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    write_rows(path, ({"text": text} for text in texts))
    done = succeed("dedup", path, "--out", out, "--shrink-to", "0.6", "--recipe", RECIPE, "--report")
    result = nk.dedup(path, recipe=RECIPE, shrink_to=0.6)
    assert [texts[row] for row in result.kept] == [row["text"] for row in json_lines(out / "kept.jsonl")]
    chosen = json.loads((out / "summary.json").read_text())["shrink_to"]
    assert result.summary["shrink_to"] == chosen
    threshold, higher = chosen["threshold"], chosen["next_threshold"]
    assert f"requested: the threshold {threshold:g} keeps no more; {higher:g} keeps" in done.err
