"""The estimate of kept documents that are contained in another kept one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import nearkin as nk
from command import call, write_jsonl
from nearkin.dedup import contained
from nearkin.dedup.contained import _interval


def corpus(wholes: int, inside: int) -> list[str]:
    """Return long texts, then the first half of some of them."""
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(4000)]
    texts = [" ".join(rng.choices(words, k=80)) for _ in range(wholes)]
    return texts + [text[: len(text) // 2] for text in texts[:inside]]


def test_the_estimate_of_all_documents_is_what_containment_removes() -> None:
    """Without a sample: as many as a run with that measure; both directions of a pair count once."""
    texts = corpus(40, 15)
    # Two texts that contain each other, below the threshold of Jaccard similarity.
    texts += [texts[39] + " one more", texts[39][:-70] + " and other words here"]
    result = nk.dedup(texts, threshold=0.9, near_misses=5)
    removed = nk.dedup(texts, threshold=0.9, measure="containment", keep="longest")
    about = result.summary["contained"]
    assert len(result.kept) - len(removed.kept) == about["found"] == about["estimate"] == about["low"] == about["high"]
    assert about["found"] >= 15
    assert (len(result.kept), len(result.kept), 0.9) == (about["sampled"], about["of"], about["threshold"])
    assert "contained" in result.summary["timings"]


def test_a_sample_has_an_interval_with_the_true_number() -> None:
    """30 of 120 sampled; also with documents without text, which are not sampled."""
    texts = [*corpus(80, 40), "!!!"]
    with mock.patch.object(contained, "SAMPLE", 30):
        about = nk.dedup(texts, near_misses=5).summary["contained"]
    assert (30, 120) == (about["sampled"], about["of"])
    assert about["low"] <= 40 <= about["high"]
    assert about["low"] < about["estimate"] < about["high"]


def test_a_part_of_the_documents_gives_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit on characters the sample is looked up in fewer documents; what is found there is contained."""
    texts = corpus(80, 40)
    complete = nk.dedup(texts, near_misses=5).summary["contained"]
    monkeypatch.setattr(contained, "MAX_CHARACTERS", sum(map(len, texts)) // 2)
    part = nk.dedup(texts, near_misses=5).summary["contained"]
    assert (120, 40) == (complete["compared"], complete["found"])
    assert 30 < part["compared"] < 90
    assert 0 < part["found"] < 40


@pytest.mark.parametrize("share", [0.01, 0.2])
def test_the_interval_covers_the_true_number_in_95_of_100_samples(share: float) -> None:
    """Of 2,000 samples at least 93%: at a coverage of 95% fewer have a probability below 1e-4; the seed is fixed."""
    total, sampled = 10_000, 500
    drawn = np.random.default_rng(1).binomial(sampled, share, 2000)
    inside = [low <= share * total <= high for low, high in (_interval(n, sampled, total) for n in drawn.tolist())]
    assert np.mean(inside) >= 0.93


def test_a_plain_run_does_not_estimate() -> None:
    """Only runs that look for near misses pay for the pass; an empty corpus has an empty estimate."""
    assert "contained" not in nk.dedup(corpus(3, 1)).summary
    assert 0 == nk.dedup(["!!!", None], near_misses=5).summary["contained"]["sampled"]


def test_the_command_says_it_with_a_report(tmp_path: Path) -> None:
    """One line of the table, the summary and the page; not without a report."""
    source = write_jsonl(tmp_path / "in.jsonl", {str(row): text for row, text in enumerate(corpus(20, 7))})
    done = call("dedup", source, "-o", tmp_path / "a", "--report")
    line = "7 more are contained in a kept one (7 to 7, from 27 of them): see --measure containment"
    assert line in " ".join(done.err.split()), done.err
    assert 7 == json.loads((tmp_path / "a" / "summary.json").read_text())["contained"]["estimate"]
    assert "About 7 kept documents (7 to 7)" in (tmp_path / "a" / "report.html").read_text()
    done = call("dedup", source, "-o", tmp_path / "b")
    assert (0, False) == (done.code, "contained" in done.err)
