"""Which n of `char:n` tells short Chinese texts with small edits from other texts.

1. *Edited copies*: texts of a corpus are cut to a length in letters. Of up to 2,000 such beginnings one character is
   replaced, taken out or put in, or one in ten (at least one) is replaced.
2. *Two editions*: poems of one author and title in both editions of `zh_tang_two_editions`, where each has one only, by
   length of the shorter one. The labels know nothing of features.

Right are a text and its copy, wrong all other pairs of a text and another one's copy, by the Jaccard similarity of
distinct n-grams that deduplication verifies. For each n: F1 at the default threshold, and the best F1 over thresholds
in steps of .05.

Run: `python bench/quality_chinese.py`; results go to `bench/runs/` and docs/quality.md.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import common

CORPORA = ("zh_news_sogou", "zh_reviews", "zh_song_poems", "zh_tang_two_editions", "zh_laws")
LENGTHS = (10, 15, 20, 30, 40, 80, 160)
POEMS = ((20, 28), (28, 40), (40, 56), (56, 90), (90, 1000))
"""Lengths of poems, from and below: lines of five and seven characters, four and eight of them, and longer ones."""
EDITS = {"one": "one character", "tenth": "one in ten"}
NS = (1, 2, 3, 4, 5)
MOST = 2000
THRESHOLDS = np.arange(1, 20) / 20
DEFAULT = 0.8
Floats = NDArray[np.float64]


def letters_of(text: str) -> str:
    """A text without what is no letter, nearly as recipes read it."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def sets_of(texts: Sequence[str], n: int, names: dict[str, int]) -> csr_array:
    """One row per text with a 1 for each distinct n-gram; `names` grows."""
    rows, columns = [], []
    for row, text in enumerate(texts):
        grams = {text[i : i + n] for i in range(len(text) - n + 1)} or {text}
        columns += [names.setdefault(gram, len(names)) for gram in grams]
        rows += [row] * len(grams)
    return csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(texts), len(names)))


def similarities(left: Sequence[str], right: Sequence[str], n: int) -> Floats:
    """Jaccard similarity of each text of `left` and each of `right`."""
    names: dict[str, int] = {}
    other, one = sets_of(right, n, names), sets_of(left, n, names)
    other.resize((len(right), len(names)))
    shared = (one @ other.T).toarray().astype(np.float64)
    return shared / (one.sum(axis=1)[:, None] + other.sum(axis=1)[None, :] - shared)


def edited(text: str, alphabet: str, edit: str, rng: random.Random) -> str:
    """The text with one character replaced, taken out or put in, or with one in ten replaced."""
    letters = list(text)
    if edit == "one":
        place, other = rng.randrange(len(letters)), rng.choice(alphabet)
        letters[place : place + rng.choice([0, 1, 1])] = rng.choice([[], [other], [other]])
        return "".join(letters)
    for place in rng.sample(range(len(letters)), max(len(letters) // 10, 1)):
        letters[place] = rng.choice(alphabet)
    return "".join(letters)


def scored(table: Floats) -> dict[str, float]:
    """F1 at the default threshold and at the best one; the right pairs are on the diagonal."""
    right, others = table.diagonal().copy(), table.copy()
    np.fill_diagonal(others, 0)
    found = {}
    for threshold in THRESHOLDS.tolist():
        hits, wrong = (int((part >= threshold - 1e-12).sum()) for part in (right, others))
        found[threshold] = 2 * hits / (hits + wrong + len(right)), wrong
    best = max(found, key=lambda threshold: found[threshold][0])
    usual, wrong = found[DEFAULT]
    apart = float((right > others.max(axis=1)).mean())
    return {"usual": usual, "wrong": wrong, "f1": found[best][0], "threshold": best, "apart": apart}


def of_copies(texts: list[str], length: int, edit: str) -> dict[str, Any] | None:
    """Scores of every n for beginnings of this length."""
    rng = random.Random(7)
    beginnings = list(dict.fromkeys(text[:length] for text in texts if len(text) >= length))
    if len(beginnings) < 100:
        return None
    taken = rng.sample(beginnings, min(MOST, len(beginnings)))
    alphabet = "".join(taken)
    copies = [edited(text, alphabet, edit, rng) for text in taken]
    return {"texts": len(taken), "n": {n: scored(similarities(copies, taken, n)) for n in NS}}


def of_editions(data: Path, lowest: int, below: int) -> dict[str, Any] | None:
    """Scores of every n for poems of this length that have one author and title in both editions."""
    poems: dict[str, dict[tuple[str, str], str]] = {"qts": {}, "yd": {}}
    seen: Counter[tuple[str, str, str]] = Counter()
    for record in common.records(data, "zh_tang_two_editions"):
        name = (record["author"], record["title"])
        seen[(record["edition"], *name)] += 1
        poems[record["edition"]][name] = letters_of(record["text"])
    one, other = poems["qts"], poems["yd"]
    names = [name for name in one if name in other and seen[("qts", *name)] == seen[("yd", *name)] == 1]
    names = [name for name in names if lowest <= min(len(one[name]), len(other[name])) < below]
    if len(names) < 100:
        return None
    names = random.Random(7).sample(names, min(MOST, len(names)))
    left, right = [one[name] for name in names], [other[name] for name in names]
    return {"texts": len(names), "n": {n: scored(similarities(left, right, n)) for n in NS}}


def main() -> None:
    """Measure, write the run, and the tables of docs/quality.md."""
    options = common.arguments(__doc__)
    if options.report is not None:
        report(common.latest("quality-chinese", options.report))
        return
    results = []
    for name in CORPORA:
        texts = [letters_of(text) for text in common.texts(options.data, name)]
        for edit in EDITS:
            for length in LENGTHS:
                found = of_copies(texts, length, edit)
                if found is not None:
                    results.append({"texts_of": f"{name}, {EDITS[edit]}", "length": f"{length}", **found})
    for lowest, below in POEMS:
        found = of_editions(options.data, lowest, below)
        if found is not None:
            results.append({"texts_of": "two editions", "length": f"{lowest} to {below - 1}", **found})
    common.save("quality-chinese", {"results": results}, versions=common.versions("numpy", "scipy"))
    report(common.latest("quality-chinese"))


def report(run: dict[str, Any]) -> None:
    """The table of docs/quality.md."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for one in run["results"]:
        name, _, edit = one["texts_of"].partition(", ")
        groups.setdefault((edit or name, one["length"]), []).append(one)
    rows = []
    for (kind, length), found in groups.items():
        means = [[float(np.mean([one["n"][str(n)][score] for one in found])) for score in ("usual", "f1")] for n in NS]
        best = max(usual for usual, _ in means)
        marks = ["**" if usual > best - 0.0005 else "" for usual, _ in means]
        cells = [f"{mark}{usual:.3f}{mark} ({f1:.3f})" for mark, (usual, f1) in zip(marks, means, strict=True)]
        rows.append([kind, length, f"{sum(one['texts'] for one in found):,}", *cells])
    header = ["edit", "letters", "pairs", *(f"char:{n}" for n in NS)]
    page = common.ROOT / "docs" / "quality.md"
    common.splice(page, "chinese", common.table(header, rows))
    common.splice(page, "chinese-run", common.about(run))


if __name__ == "__main__":
    main()
