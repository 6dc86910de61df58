"""The deduplication benchmark: its corpus, its truth, its accuracy, and a run of tiny size."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
COUNT = 400


@pytest.fixture
def dedup(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return `bench/dedup.py` with sentences of random words."""
    monkeypatch.syspath_prepend(str(BENCH))
    module = importlib.import_module("dedup")
    rng = np.random.default_rng(0)
    sentences = [" ".join(f"w{word}" for word in rng.integers(0, 1 << 20, 14)) + "." for _ in range(2000)]
    monkeypatch.setattr(module.Corpus, "sentences", sentences)
    return module


def corpus_of(dedup: Any, seed: int = 1, length: str = "1000") -> Any:
    return dedup.Corpus(Path("unused"), "en", length, seed)


def brute_force(texts: list[str], rows: list[int]) -> list[list[int]]:
    """Return the pairs of these rows with all others at J >= 0.8 of character 4-grams, from sets."""
    letters = ["".join(re.findall(r"\w", text.lower())) for text in texts]
    sets = [{text[i : i + 4] for i in range(len(text) - 3)} for text in letters]
    pairs = {(min(row, other), max(row, other)) for row in rows for other in range(len(texts)) if row != other}
    return sorted([i, j] for i, j in pairs if 5 * len(sets[i] & sets[j]) >= 4 * len(sets[i] | sets[j]))


def test_a_text_follows_from_seed_and_number(dedup: Any) -> None:
    """Another seed gives other texts."""
    texts = [corpus_of(dedup).text(number) for number in range(20)]
    assert texts == [corpus_of(dedup).text(number) for number in range(20)]
    assert texts != [corpus_of(dedup, seed=2).text(number) for number in range(20)]


def test_a_smaller_corpus_is_the_beginning_of_a_larger_one(dedup: Any, tmp_path: Path) -> None:
    """One pass writes all sizes, and counts the bytes of their texts."""
    paths = {count: tmp_path / str(count) for count in (30, 10)}
    sizes = corpus_of(dedup).write(paths)
    small, large = (paths[count].read_text(encoding="utf-8").splitlines() for count in (10, 30))
    assert (10, 30) == (len(small), len(large))
    assert small == large[:10]
    texts = [json.loads(line)["text"] for line in large]
    assert [corpus_of(dedup).text(number) for number in range(30)] == texts
    assert sizes == {10: sum(map(len, texts[:10])) / 1e6, 30: sum(map(len, texts)) / 1e6}


@pytest.mark.parametrize(("length", "least", "most"), [("1000", 900, 1300), ("10000", 9000, 12000)])
def test_documents_have_their_length(dedup: Any, length: str, least: int, most: int) -> None:
    """Edits change a length by less than a tenth."""
    sizes = [len(corpus_of(dedup, length=length).text(number)) for number in range(50)]
    assert least < min(sizes) <= max(sizes) < most


def test_mixed_lengths_are_log_normal(dedup: Any) -> None:
    """The median is about 2,000 bytes, the deviation of the logarithm 1.2."""
    logarithms = np.log([len(corpus_of(dedup, length="mixed").text(number)) for number in range(COUNT)])
    assert abs(np.median(logarithms) - np.log(2000)) < 0.3
    assert abs(logarithms.std() - 1.2) < 0.2


def test_chinese_sentences_are_joined_and_edited_by_character(dedup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No spaces appear, and lengths count bytes of UTF-8."""
    rng = np.random.default_rng(0)
    sentences = ["".join(chr(0x4E00 + code) for code in rng.integers(0, 3000, 20)) + "。" for _ in range(500)]
    monkeypatch.setattr(dedup.Corpus, "sentences", sentences)
    texts = [dedup.Corpus(Path("unused"), "zh", "1000", 1).text(number) for number in range(100)]
    assert not any(" " in text for text in texts)
    assert 900 < np.median([len(text.encode()) for text in texts]) < 1200
    assert len(set(texts)) < 100  # exact copies
    parts = {text.count("。") for text in texts}
    assert max(parts) <= 25


def test_sentences_end_at_stops_of_both_languages(dedup: Any) -> None:
    """A stop of English needs white space after it; versions such as 1.2 are whole."""
    assert ["Version 1.2 is out!", "Really?", "Yes."] == dedup.SENTENCE_END.split("Version 1.2 is out! Really?\nYes.")
    assert ["你好。", "再见！", ""] == dedup.SENTENCE_END.split("你好。再见！")


def test_the_truth_equals_brute_force(dedup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampled documents have all of their pairs, once, in chunks of any size."""
    monkeypatch.setattr(dedup, "CHUNK", 150)
    corpus, sample = corpus_of(dedup), dedup.sampled(COUNT, 250, 3)
    texts = [corpus.text(number) for number in range(COUNT)]
    pairs = dedup.true_pairs(corpus, COUNT, sample, "char:4").tolist()
    assert brute_force(texts, sample.tolist()) == pairs
    assert len(pairs) > 40


def test_accuracy_counts_pairs_and_removals(dedup: Any) -> None:
    """A pair is found if one of its documents was removed; a removal is right if it has a pair."""
    pairs, sample = np.array([[0, 1], [2, 3], [2, 9]]), np.array([0, 1, 2, 3, 4])
    kept = np.ones(10, bool)
    kept[[1, 4]] = False
    expected = {"pairs": 3, "recall": pytest.approx(1 / 3), "wrong": 1, "precision": 0.5}
    assert expected == dedup.accuracy(kept, sample, pairs)
    assert 1.0 == dedup.accuracy(kept, sample, pairs[:0])["recall"]


@pytest.mark.parametrize("name", ["datasketch", "rensa", "gaoya", "fastsketchlsh"])
def test_a_loop_keeps_one_of_equal_documents(dedup: Any, tmp_path: Path, name: str) -> None:
    """A peer that is installed keeps the first document of exact copies, and strangers."""
    if not dedup.common.PEERS[name].installed:
        pytest.skip(f"{name} is not installed")
    texts = [corpus_of(dedup).sentences[row] for row in (0, 1, 0, 2, 1)]
    corpus = tmp_path / "c.jsonl"
    corpus.write_text("".join(json.dumps({"id": row, "text": text}) + "\n" for row, text in enumerate(texts)))
    used, kept = dedup.run_candidate(name, corpus, tmp_path)
    assert [0, 1, 3] == kept.tolist()
    assert 0 < used["loop_cpu"] <= used["cpu"]


def test_a_run_has_figures_accuracy_and_tables(dedup: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sizes with nearkin on one and two threads, and a peer that is not installed."""
    monkeypatch.setattr(dedup.common, "RUNS", tmp_path)
    monkeypatch.setitem(dedup.common.PEERS, "rensa", dedup.common.Peer("no_such_module"))
    pages: dict[str, str] = {}
    monkeypatch.setattr(dedup.common, "splice", lambda _, marker, text: pages.update({marker: text}))
    monkeypatch.setattr(sys, "argv", ["dedup.py"])
    options = argparse.Namespace(
        data=tmp_path, language="en", length="1000", seed=1, documents=[200, COUNT], peers=COUNT, sample=COUNT,
        rounds=1, only=["nearkin", "nearkin, two threads", "rensa"],
    )  # fmt: skip
    dedup.common.save("dedup-natural", dedup.measure(options))
    run = dedup.common.latest("dedup-natural")
    assert ["English, 1 KB, 200", "English, 1 KB, 400"] == list(run["corpora"])
    results = run["corpora"]["English, 1 KB, 400"]["results"]
    assert "not installed" == results["rensa"]["missing"]
    for name in ("nearkin", "nearkin, two threads"):
        result = results[name]
        assert result["accuracy"]["char:4"]["pairs"] > 40
        assert (1.0, 0) == (result["accuracy"]["char:4"]["recall"], result["accuracy"]["char:4"]["wrong"])
        assert result["kept"] < COUNT
        assert result["cpu"] > result["search_cpu"] >= 0
        assert result["peak_mb"] > 10
    dedup.report(run)
    rows = pages["dedup-sizes"].splitlines()[2:4]
    assert ["English, 1 KB | 200", "English, 1 KB | 400"] == [" | ".join(row[2:].split(" | ")[:2]) for row in rows]
    assert "100.00% / 100.00% |" in rows[1]
    assert "not measured: rensa (not installed)" in pages["dedup"]
