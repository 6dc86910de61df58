"""Groups of documents as units: the union of their features, kept or removed as a whole."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import nearkin as nk
from command import succeed
from corpora import read_rows, write_rows
from nearkin._core import soundness
from nearkin.dedup import cluster, groups
from nearkin.dedup.keep import best_numbers
from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.report import Run

RECIPE = nk.Recipe.of("word:1|binary|xxh3|minhash:128:fast")


def corpus(seed: int) -> tuple[list[str | None], list[str]]:
    """Return documents in any order and their groups: copies, other orders, other cuts and changes of a few books."""
    rng = random.Random(seed)
    books: list[list[str]] = []
    for number in range(60):
        family = rng.randrange(12)
        words = [f"{word}of{family}" for word in range(20)]
        for _ in range(rng.choice([0, 0, 1, 3, 6])):
            words[rng.randrange(20)] = f"own{number}"
        cuts = sorted(rng.sample(range(1, 20), rng.randrange(4)))
        parts = [" ".join(words[a:b]) for a, b in zip([0, *cuts], [*cuts, 20], strict=True)]
        rng.shuffle(parts)
        books.append(parts)
    rows: list[tuple[str | None, str]] = [(text, f"g{number}") for number, book in enumerate(books) for text in book]
    rows += [(None, "g3"), (None, "empty"), ("...", "empty")]
    rng.shuffle(rows)
    return [text for text, _ in rows], [name for _, name in rows]


def by_visits(texts: list[str | None], names: list[str], threshold: float, keep: str) -> dict[str, str]:
    """Visit groups one by one in keep order; return the group that absorbs each removed one."""
    sets: dict[str, set[str]] = {}
    lengths: dict[str, int] = {}
    scores: dict[str, float] = defaultdict(float)
    for text, name in zip(texts, names, strict=True):
        sets.setdefault(name, set()).update(RECIPE.features_of(text or ""))
        lengths[name] = lengths.get(name, 0) + len(text or "")
        scores[name] += best_numbers(soundness([text]).reshape(1, -1), np.array([len(text or "")], np.uint64))[0]
    keys: dict[str, dict[str, float]] = {"longest": {**lengths}, "best": scores}
    order = sorted(sets, key=lambda name: (-keys[keep][name], name)) if keep in keys else list(sets)
    kept: list[str] = []
    by: dict[str, str] = {}
    for name in order:
        own = sets[name]
        match = next(
            (other for other in kept if own and len(own & sets[other]) / len(own | sets[other]) >= threshold), ""
        )
        if match:
            by[name] = match
        else:
            kept.append(name)
    return by


@pytest.mark.parametrize("keep", ["first", "longest", "best"])
@pytest.mark.parametrize("characters", [1 << 24, 60])
def test_groups_equal_visits_of_their_unions(keep: Any, characters: int, monkeypatch: Any) -> None:
    """Neither the order of documents, nor where they are cut, nor the batches they are read in change a decision."""
    monkeypatch.setattr(groups, "_CHARACTERS", characters)
    monkeypatch.setattr(cluster, "_BATCH", 4096 if characters > 60 else 7)
    for seed in range(3):
        texts, names = corpus(seed)
        expected = by_visits(texts, names, 0.7, keep)
        assert 10 < len(expected) < 55
        result = nk.dedup(texts, groups=names, recipe=RECIPE, threshold=0.7, recall=0.999999, keep=keep)
        rows = list(result.clusters.rows())
        assert expected == {row["id"]: row["representative"] for row in rows if row["reason"] != "kept"}
        assert (
            [row for row, name in enumerate(names) if name not in expected] == result.kept_rows.tolist() == result.kept
        )
        counts = result.summary["groups"]
        assert (len(texts), len(result.kept)) == (counts["documents"], counts["kept"])
        assert (len(set(names)), len(expected)) == (result.summary["documents"], result.summary["removed"])
        assert 1 == result.summary["without_features"]


def test_copies_of_groups_have_their_documents_in_order() -> None:
    """The same documents in another order have the same features; each group of one is a document."""
    texts, names = ["one two three", "four five six"] * 3, ["a", "a", "b", "b", "c", "c"]
    texts[4:] = texts[5:3:-1]
    result = nk.dedup(texts, groups=names, recipe=RECIPE)
    assert [("a", "kept"), ("b", "exact"), ("c", "same-letters")] == list(
        zip(result.clusters["id"], result.clusters["reason"], strict=True)
    )
    assert [0, 1] == result.kept
    assert [3, 3] == result.weights.tolist()
    single = ["a b c d e f", "a b c d e g", "h i", "a b c d e f"]
    alone, plain = nk.dedup(single, groups=[3, 2, 1, 0], threshold=0.6), nk.dedup(single, threshold=0.6)
    assert plain.kept == alone.kept
    assert plain.clusters["reason"] == alone.clusters["reason"]
    assert plain.clusters["similarity"] == alone.clusters["similarity"]


@pytest.mark.parametrize(
    "options", [{"measure": "containment"}, {"measure": "indel"}, {"radius": 12}, {"differ": "numbers"}], ids=str
)
def test_measures_of_texts_read_joined_documents(options: dict[str, Any]) -> None:
    """They decide as for the documents of each group joined by line feeds."""
    texts, names = corpus(7)
    joined: dict[str, list[str]] = {}
    for text, name in zip(texts, names, strict=True):
        joined.setdefault(name, []).extend([] if text is None else [text])
    result = nk.dedup(texts, groups=names, threshold=0.6, **options)
    plain = nk.dedup(["\n".join(parts) for parts in joined.values()], list(joined), threshold=0.6, **options)
    assert plain.clusters.columns["id"] == result.clusters["id"]
    assert plain.clusters["representative"] == result.clusters["representative"]
    assert len(plain.clusters) > 4


def test_columns_of_groups() -> None:
    """`max` takes the largest value, and missing ones last; a group has the source of its first document."""
    texts, names = ["p q r", "s t u", "s t u", "p q r", "x y z"], ["a", "a", "b", "b", "c"]
    options: dict[str, Any] = {"groups": names, "recipe": RECIPE, "sources": ["n", "m", "m", "n", "n"]}
    for keep, scores, expected in (
        ("max:score", [1, 9, 7, 8, None], ["c", "a"]),
        ("min:score", [6, 9, 7, 5, None], ["c", "b"]),
    ):
        with pytest.warns(RuntimeWarning, match="1 of 3 documents have no value"):
            result = nk.dedup(texts, keep=keep, values={"score": scores}, **options)
        assert expected == list(dict.fromkeys(names[row] for row in result.kept[::-1]))
    result = nk.dedup(texts, **options)
    assert {("n", 2, 0), ("m", 1, 1)} == {
        (row["source"], row["documents"], row["removed"]) for row in result.summary["sources"]
    }
    labels = [("a", "b", False)]
    assert 5 == len(nk.dedup(texts, labels=labels, **options).kept)


def test_groups_that_are_not_allowed() -> None:
    """Each error is typed."""
    texts = ["one two three", "four five six"]
    for wrong, message in (([1, None], "row 1 has the group None"), ([0.5, 1], "row 0 has the group 0.5")):
        with pytest.raises(InputError, match=message):
            nk.dedup(texts, groups=wrong)
    with pytest.raises(ParameterError, match="2 values, one per text"):
        nk.dedup(texts, groups=["a"])
    with pytest.raises(ParameterError, match="older documents, which have no groups"):
        nk.dedup(texts, groups=["a", "b"], against=texts)
    with pytest.raises(ParameterError, match="group"):
        nk.dedup(pa.table({"text": texts}), groups="repo")
    assert [] == nk.dedup([], groups=[]).kept


def test_checkpoint_of_groups(tmp_path: Path) -> None:
    texts, names = corpus(4)
    options: dict[str, Any] = {"recipe": RECIPE, "threshold": 0.7, "checkpoint": tmp_path / "work"}
    first = nk.dedup(texts, groups=names, **options)
    again = nk.dedup(texts, groups=names, **options)
    assert first.kept == again.kept
    assert len(set(names)) == again.summary["resumed"]["hashed"]
    with pytest.raises(MismatchError):
        nk.dedup(texts, groups=names[::-1], **options)
    with pytest.raises(MismatchError):
        nk.dedup(texts, **options)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_command_equals_function(kind: str, tmp_path: Path) -> None:
    """All rows of kept groups in the format of the input; tables, labels and the report name groups."""
    texts, names = corpus(5)
    rows = [
        {"id": f"d{row}", "text": text or "", "repo": name}
        for row, (text, name) in enumerate(zip(texts, names, strict=True))
    ]
    path, out = write_rows(tmp_path / f"in.{kind}", rows), tmp_path / "out"
    words = ["--id-column", "id", "--group-column", "repo", "--recipe", str(RECIPE), "--threshold", "0.7", "--report"]
    run = succeed("dedup", str(path), "--out", str(out), *words)
    result = nk.dedup(path, id="id", groups="repo", recipe=RECIPE, threshold=0.7)
    expected = [row for row in rows if row["id"] in set(result.kept)]
    kept = read_rows(out / f"kept.{kind}")
    assert expected == kept
    summary = json.loads((out / "summary.json").read_text())
    assert {"column": "repo", "documents": len(rows), "kept": len(kept), "removed": len(rows) - len(kept)} == summary[
        "groups"
    ]
    assert f"documents of {len(set(names))} groups in " in run.err
    removed = result.pairs["id"][0]
    joined = "\n".join(row["text"] for row in rows if row["repo"] == removed)
    assert joined == Run.from_folder(out).texts([removed])[removed]
    assert joined == Run.from_texts(result, [row["text"] for row in rows]).texts([removed])[removed]
    labels = tmp_path / "labels.csv"
    labels.write_text(f"left,right,match\n{removed},{result.pairs['representative'][0]},1\n")
    succeed("recipe", "evaluate", str(out), "--truth", str(labels), "--json")
