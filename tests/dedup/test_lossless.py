"""Removal without a loss: the kept document has all features of the removed one, and is not shorter."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from command import succeed
from corpora import write_rows
from nearkin.dedup import cluster
from nearkin.errors import ParameterError

WORDS = [f"word{number}" for number in range(16)]
RECIPE = nk.Recipe.of("word:1|binary|xxh3|minhash:128:fast")


def corpus(count: int, seed: int) -> list[str]:
    """Return families of texts: extensions, cuts and changes of a few sentences, some with other punctuation."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        family = rng.randrange(count // 8 + 1)
        words = [f"{word}{family}" for word in WORDS[:12]]
        del words[rng.randrange(9, 13) :]
        words += [rng.choice("xyz") for _ in range(rng.randrange(3))]
        texts.append(" ".join(words) + rng.choice(["", "!", "..."]))
    return texts


def by_visits(texts: list[str], order: list[int], threshold: float, older: list[str]) -> tuple[dict[int, str], int]:
    """Visit documents one by one; return the text that removes each, and the number kept for their text alone."""
    removed: dict[int, str] = {}
    kept_for_text, kept = 0, list(older)
    for row in order:
        own, lost, by = set(RECIPE.features_of(texts[row])), False, None
        for text in kept:
            other = set(RECIPE.features_of(text))
            if text != texts[row] and len(own & other) / len(own | other) < threshold:
                continue
            if len(text) >= len(texts[row]) and own <= other:
                by = text
                break
            lost = True
        if by is not None:
            removed[row] = by
            continue
        kept_for_text += lost
        kept.append(texts[row])
    return removed, kept_for_text


@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize("options", [{}, {"radius": 64}, {"against": True}], ids=["bands", "radius", "against"])
def test_absorption_equals_visits_one_by_one(keep: Any, options: dict[str, Any], monkeypatch: Any) -> None:
    """Also across batches, whose size changes no decision."""
    texts, older = corpus(160, 1), corpus(20, 2) if "against" in options else []
    order = sorted(range(len(texts)), key=lambda row: (-len(texts[row]) if keep == "longest" else 0, row))
    expected, kept_for_text = by_visits(texts, order, 0.7, older)
    assert 10 < len(expected) < 150
    assert keep == "longest" or kept_for_text > 3
    matching: dict[str, Any] = {"recall": 0.999999} if "radius" not in options else {"radius": 64}
    recipe = RECIPE if "radius" not in options else "word:1|binary|xxh3|simhash:64"
    for batch in (4096, 7):
        monkeypatch.setattr(cluster, "_BATCH", batch)
        result = nk.dedup(
            texts, recipe=recipe, threshold=0.7, keep=keep, lossless=True, against=older or None, **matching
        )
        rows = [row for row in result.clusters.rows() if row["reason"] != "kept"]
        names = {row["id"]: older if row["reason"].endswith("-old") else texts for row in rows}
        assert expected == {row["id"]: names[row["id"]][row["representative"]] for row in rows}
        assert kept_for_text == result.summary["kept_for_text"]
        assert result.summary["lossless"]


@pytest.mark.parametrize("measure", ["containment", "indel"])
def test_other_measures_lose_nothing_either(measure: Any) -> None:
    """A removed document's features are those of the kept one, which is not shorter."""
    texts = corpus(200, 3)
    result = nk.dedup(texts, measure=measure, threshold=0.7, keep="longest", lossless=True, recipe=RECIPE)
    pairs = list(zip(result.pairs["id"], result.pairs["representative"], strict=True))
    assert len(pairs) > 20
    for removed, kept in pairs:
        assert set(RECIPE.features_of(texts[removed])) <= set(RECIPE.features_of(texts[kept]))
        assert len(texts[removed]) <= len(texts[kept])
    assert (
        len(pairs) < nk.dedup(texts, measure=measure, threshold=0.7, keep="longest", recipe=RECIPE).summary["removed"]
    )


def test_links_are_those_of_possible_removals() -> None:
    """All links: the earlier document in keep order has the later one's text."""
    texts = ["one two three four five six seven", "one two three four five six", "one two three four five six nine"]
    options: dict[str, Any] = {"recipe": RECIPE, "threshold": 0.7, "links": "all"}
    assert 3 == len(nk.dedup(texts, **options).pairs)
    pairs = nk.dedup(texts, lossless=True, **options).pairs
    assert [(0, 1)] == list(zip(pairs["left"], pairs["right"], strict=True))


def test_a_limit_of_comparisons_is_counted() -> None:
    """Each document is compared with as many kept ones as allowed; the rest is counted and warned of."""
    texts = [f"one two three four five six seven eight nine {word}" for word in WORDS]
    with pytest.warns(RuntimeWarning, match="comparisons were left out"):
        result = nk.dedup(texts, recipe=RECIPE, threshold=0.7, lossless=True, max_comparisons=2)
    n = len(texts)
    assert ([*range(n)], (n - 2) * (n - 3) // 2) == (result.kept, result.summary["skipped"])
    assert n - 1 == result.summary["kept_for_text"]


def test_a_store_compares_with_its_documents(tmp_path: Path) -> None:
    """Documents of the store are kept ones."""
    texts = corpus(80, 4)
    expected = nk.dedup(texts[40:], against=texts[:40], lossless=True, recipe=RECIPE, threshold=0.7, recall=0.9999)
    with nk.Store.create(tmp_path / "s", RECIPE, threshold=0.7, recall=0.9999) as store:
        store.add(texts[:40])
        result = nk.dedup(texts[40:], against=store, lossless=True)
        assert expected.summary["removed"] > 5
        assert expected.kept_rows.tolist() == result.kept_rows.tolist()


def test_a_checkpoint_continues(tmp_path: Path, monkeypatch: Any) -> None:
    """The decisions and the count of a run that continues are those of one that did not."""
    monkeypatch.setattr(cluster, "_BATCH", 16)
    texts = corpus(120, 5)
    options: dict[str, Any] = {"recipe": RECIPE, "threshold": 0.7, "lossless": True}
    first = nk.dedup(texts, checkpoint=tmp_path / "c", **options)
    again = nk.dedup(texts, checkpoint=tmp_path / "c", **options)
    assert again.summary["resumed"]["decided"] == len(set(texts))
    for result in (first, again):
        assert nk.dedup(texts, **options).kept == result.kept
        assert nk.dedup(texts, **options).summary["kept_for_text"] == result.summary["kept_for_text"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verify": "none"}, "verification by texts"),
        ({"cluster": "components"}, "it with the cluster rule absorb"),
        ({"keep": "none"}, "other than none"),
        ({"labels": [(0, 1, True)]}, "it without labels"),
    ],
    ids=["none", "components", "keep", "labels"],
)
def test_options_that_exclude_it(options: dict[str, Any], message: str) -> None:
    """Each raises a typed error."""
    with pytest.raises(ParameterError, match=message):
        nk.dedup(["a text", "another"], lossless=True, **options)
    with pytest.raises(ParameterError, match="True or False"):
        nk.dedup(["a text"], lossless="yes")  # type: ignore[arg-type]


def test_the_command_says_what_stayed(tmp_path: Path) -> None:
    """Kept documents, the count in the table and in the summary, and the sentence of the report."""
    texts = ["one two three four five six seven eight", "one two three four five six seven nine", "one two three four"]
    source = write_rows(tmp_path / "in.jsonl", ({"text": text} for text in [*texts, texts[0] + "."]))
    options = ["--recipe", "word:1|binary|xxh3|minhash:128:fast", "--threshold", "0.5", "--lossless", "--report"]
    done = succeed("dedup", source, "--out", tmp_path / "out", "--keep", "longest", *options)
    assert "1  kept documents match another one that lacks some of their text" in done.out + done.err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (2, 1, True) == (summary["kept"], summary["kept_for_text"], summary["lossless"])
    assert "1 near-duplicate of a kept document stayed" in (tmp_path / "out" / "report.html").read_text()
