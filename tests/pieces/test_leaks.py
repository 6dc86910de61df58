"""Leaks between splits equal brute force: exact, near and contained documents, by label."""

from __future__ import annotations

import gzip
import json
import random
import re
import unicodedata
from pathlib import Path

import pytest

import nearkin as nk
from nearkin.errors import ParameterError

WORDS = [a + b for a in ("ka", "mo", "ti", "ru", "se", "pol", "dan", "vi") for b in ("ner", "sta", "lik", "dor", "mun")]


def text(count: int, seed: int) -> str:
    """Return random words."""
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) + str(draw.randrange(50)) for _ in range(count))


def grams(document: str, n: int = 4) -> set[str]:
    """Return the distinct 4-grams of letters, as the default recipe reads them."""
    letters = "".join(c for c in unicodedata.normalize("NFKC", document).casefold() if c.isalnum() or c == "_")
    return {letters[at : at + n] for at in range(max(1, len(letters) - n + 1))} if letters else set()


def words(document: str, n: int = 3) -> set[str]:
    """Return the distinct 3-grams of words, without punctuation; an ideograph is a word."""
    tokens = re.findall(r"[\u4e00-\u9fff]|(?:[^\W\u4e00-\u9fff]|(?<=\w)['.](?=\w))+", document.casefold())
    return {" ".join(tokens[at : at + n]) for at in range(max(1, len(tokens) - n + 1))} if tokens else set()


def brute_force(train: list[str], test: list[str], threshold: float = 0.8) -> list[str | None]:
    """Return the kind of leak of each test document."""
    kinds: list[str | None] = []
    train_grams, train_words = [grams(other) for other in train], [words(other) for other in train]
    for document in test:
        own = grams(document)
        near = any(len(own & other) >= threshold * len(own | other) for other in train_grams)
        inner = words(document)
        contained = any(len(inner & other) >= threshold * len(inner) for other in train_words)
        exact = document in train and bool(document.strip())
        kinds.append("exact" if exact else "near" if near else "contained" if contained and inner else None)
    return kinds


def test_leaks_equal_brute_force() -> None:
    """Copies, edited copies, parts and unrelated documents are told apart."""
    draw = random.Random(1)
    train = [text(draw.randint(30, 120), seed) for seed in range(120)]
    test: list[str] = []
    for number in range(160):
        source = draw.choice(train).split()
        if number % 4 == 0:
            test.append(" ".join(source))
        elif number % 4 == 1:
            for _ in range(draw.randint(1, 12)):
                source[draw.randrange(len(source))] = "other"
            test.append(" ".join(source))
        elif number % 4 == 2:
            test.append(" ".join(source[: draw.randint(12, len(source) - 5)]))
        else:
            test.append(text(40, 1000 + number))
    result = nk.leaks({"train": train, "test": test})
    found: list[str | None] = [None] * len(test)
    for row in result.documents.rows():
        found[row["id"]] = row["kind"]
    expected = brute_force(train, test)
    # Items are documents with changed words, so never those that are of no source.
    assert {row % 4 for row, kind in enumerate(found) if kind == "item"} == {1}
    assert expected == [None if kind == "item" else kind for kind in found]
    counts = {kind: found.count(kind) for kind in ("exact", "near", "contained", "item")}
    matrix = next(result.matrix.rows())
    assert ("test", "train", 160) == (matrix["split"], matrix["other"], matrix["documents"])
    assert counts == {kind: matrix[kind] for kind in counts}
    assert min(counts.values()) > 5
    assert sum(counts.values()) == matrix["leaked"] == round(matrix["share"] * 160)


def test_each_later_split_is_compared_with_each_earlier_one() -> None:
    """Three splits have three pairs, and labels are compared."""
    a, b, c = text(40, 1), text(40, 2), text(40, 3)
    result = nk.leaks(
        {"train": [a, b], "valid": [b, c], "test": [c, a, ""]},
        ids={"train": ["t0", "t1"]},
        labels={"train": [0, 1], "valid": [0, 1], "test": [1, 1, 1]},
    )
    pairs = [(row["split"], row["other"], row["leaked"], row["same_label"]) for row in result.matrix.rows()]
    assert [("valid", "train", 1, 0), ("test", "train", 1, 0), ("test", "valid", 1, 1)] == pairs
    assert ["t1", "t0", 1] == result.documents["other_id"]
    assert result.labels is not None
    rows = [row for row in result.labels.rows() if (row["split"], row["other"]) == ("test", "train")]
    expected = {"label": 1, "documents": 3, "exact": 1, "near": 0, "contained": 0, "item": 0, "same_label": 0}
    assert [{"split": "test", "other": "train", **expected}] == rows


def test_files_are_read_with_their_labels(tmp_path: Path) -> None:
    """Splits may be files with columns of ids and labels."""
    rows = [{"text": text(40, seed), "id": f"d{seed}", "label": seed % 2} for seed in range(4)]
    for name, part in (("train", rows[:3]), ("test", rows[2:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    result = nk.leaks({name: tmp_path / f"{name}.jsonl" for name in ("train", "test")}, labels="label")
    assert [("d2", "d2", "exact", 0, 0)] == [
        (row["id"], row["other_id"], row["kind"], row["label"], row["other_label"]) for row in result.documents.rows()
    ]


def test_faults_are_named() -> None:
    """One split, and labels of another number than the texts, are errors."""
    with pytest.raises(ParameterError, match="splits"):
        nk.leaks({"train": ["a"]})
    with pytest.raises(ParameterError, match="labels"):
        nk.leaks({"train": ["a"], "test": ["b"]}, labels={"train": [1, 2], "test": [1]})


def test_splits_without_leaks_keep_their_columns() -> None:
    """Empty tables have all columns."""
    result = nk.leaks({"train": [], "test": [text(20, 1), None]})
    assert (0, ["split", "id", "other", "other_id", "kind", "similarity"]) == (
        len(result.documents),
        list(result.documents.columns),
    )
    assert [0] == result.matrix["leaked"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en_20news", "er_cora", "en_licences", "zh_reviews"])
def test_leaks_of_labelled_sets_equal_brute_force(shared: Path, name: str) -> None:
    """A sample of four labelled sets, split at random."""
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    draw = random.Random(3)
    texts = [record["text"] for record in draw.sample(records, 1200)]
    train, test = texts[:800], texts[800:]
    found: list[str | None] = [None] * len(test)
    for row in nk.leaks({"train": train, "test": test}).documents.rows():
        found[row["id"]] = row["kind"]
    expected = brute_force(train, test)
    different = sum(a != b for a, b in zip(expected, found, strict=True))
    assert different <= 0.01 * len(test)


def test_pairs_labelled_different_are_no_leak() -> None:
    """Another document of the earlier split may still have it; exact copies are leaks in any case."""
    source = text(60, 1)
    train = [source + " a b", source + " c d e f g h", text(60, 2), text(80, 3)]
    test = [source, train[2], " ".join(train[3].split()[10:50])]
    plain = nk.leaks({"train": train, "test": test})
    assert ([0, 1, 2], ["near", "exact", "contained"]) == (plain.documents["id"], plain.documents["kind"])
    assert [(train[0], test[0]), (train[2], test[1]), (train[3], test[2])] == plain.texts
    labels: list[tuple[str, str, bool]] = [("test:0", "train:0", False), ("train:3", "test:2", False)]
    judged = nk.leaks({"train": train, "test": test}, judged=labels)
    assert ([0, 1], [1, 2]) == (judged.documents["id"], judged.documents["other_id"])
    assert [2] == judged.matrix["leaked"]


def test_changed_questions_inside_of_pages_are_items() -> None:
    """A tenth of the words differ: neither near nor contained; a shared template is no leak."""
    template = text(20, 99)
    questions = [f"{template} {text(20, seed)}" for seed in range(20)]
    pages = []
    for number, question in enumerate(questions[:10]):
        changed = question.split()
        changed[number % 4 :: 9] = ["other"] * len(changed[number % 4 :: 9])
        pages.append(f"{text(80, 100 + number)} {' '.join(changed)} {text(80, 200 + number)}")
    pages.append(f"{text(80, 300)} {template} {text(80, 301)}")
    found = nk.leaks({"train": pages, "test": questions})
    assert ([10], [10]) == (found.matrix["item"], found.matrix["leaked"])
    pairs = zip(found.documents["id"], found.documents["other_id"], found.documents["kind"], strict=True)
    assert [(row, row, "item") for row in range(10)] == list(pairs)
    judged = [("train:3", "test:3", False)]
    assert [9] == nk.leaks({"train": pages, "test": questions}, judged=judged).matrix["leaked"]
