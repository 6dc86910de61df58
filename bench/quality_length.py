"""Do short texts need a larger radius? Distances of similar pairs, and of edited and labelled ones, by length.

1. *Similar pairs* (J of at least 0.8, distinct character 4-grams) of all corpora, by the distinct features of the
   shorter text: mean distance beside the law of equal sets and beside the exact probability for the sizes of each pair
   (`nearkin.theory.simhash_difference_of_sets`), deviation beside the binomial's, quantiles, and what the default
   radius finds. Of a corpus at most 30,000 pairs count, so that none outweighs the others.
2. *Edited texts*: up to 2,000 messages and news articles in Chinese cut to a length, one word (or character) replaced:
   how similar they still are, and how far apart.
3. *Labelled pairs*: the same verse in two versions, the same poem in two editions.

Run: `make quality`, or `python bench/quality_length.py`; results go to `bench/runs/` and docs/quality.md.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import common
import quality_sets
from nearkin.quality.ground_truth import SampleFingerprints, find_similar_pairs
from nearkin.theory import simhash_difference, simhash_difference_of_sets, simhash_radius

BITS = 128
BINS = (1, 5, 10, 20, 40, 80, 160, 320, 1000, 1 << 40)
CORPORA = {
    "en_20news": None,
    "en_licences": 3000,
    "en_bible_ot": 25_000,
    "er_cora": None,
    "log_loghub": None,
    "zh_laws": None,
    "zh_news_sogou": None,
    "zh_reviews": None,
    "zh_song_poems": None,
    "zh_tang_two_editions": None,
}
"""Files, and how many of their first records are taken."""
MOST = 30_000
WORDS = (5, 10, 20, 50, 100, 200, 500)
Pair = tuple[int, int, float, int]
"""Distinct features of both texts, their similarity, their distance."""


def measured(texts: list[str], left: Any, right: Any) -> list[Pair]:
    """Sizes, similarity and distance of pairs."""
    import nearkin as nk

    recipe = nk.Recipe(f"char:4|binary|xxh3|simhash:{BITS}")
    similarity = nk.similarity(texts, left, right, recipe=recipe)
    distances = SampleFingerprints.of(texts, recipe).distances(left, right)
    sizes = {row: len(recipe.features_of(texts[row])) for row in np.unique(np.concatenate([left, right])).tolist()}
    columns = (left.tolist(), right.tolist(), similarity.tolist(), distances.tolist())
    return [(sizes[a], sizes[b], j, d) for a, b, j, d in zip(*columns, strict=True) if sizes[a] and sizes[b]]


def similar(data: Path) -> list[Pair]:
    import nearkin as nk

    rng = np.random.default_rng(0)
    found: list[Pair] = []
    for file, first in CORPORA.items():
        texts = list(dict.fromkeys(common.texts(data, file)[:first]))
        truth = find_similar_pairs(texts, nk.Recipe(), 0.8, lambda done: None)
        rows = np.arange(len(truth.left))
        if len(rows) > MOST:
            rows = np.sort(rng.choice(rows, MOST, replace=False))
        found += measured(texts, truth.left[rows], truth.right[rows])
    return found


def expected(pair: Pair) -> float:
    """Exact probability that a bit differs, from the sizes of the sets and what they share."""
    a, b, j, _ = pair
    shared = round(j * (a + b) / (1 + j))
    return simhash_difference_of_sets(shared, a - shared, b - shared)


def by_size(pairs: list[Pair], radius: int) -> list[dict[str, Any]]:
    rows = []
    for low, high in itertools.pairwise(BINS):
        some = [pair for pair in pairs if low <= min(pair[:2]) < high]
        if len(some) < 10:
            continue
        distances = np.array([pair[3] for pair in some])
        law = np.array([simhash_difference(pair[2]) for pair in some])
        own = np.array([expected(pair) for pair in some])
        rows.append(
            {
                "from": low,
                "to": high - 1,
                "pairs": len(some),
                "similarity": float(np.mean([pair[2] for pair in some])),
                "mean": float(distances.mean()),
                "law": float(BITS * law.mean()),
                "exact": float(BITS * own.mean()),
                "deviation": float(np.std(distances - BITS * own)),
                "binomial": float(np.sqrt((BITS * own * (1 - own)).mean())),
                "p50": float(np.quantile(distances, 0.5)),
                "p90": float(np.quantile(distances, 0.9)),
                "p95": float(np.quantile(distances, 0.95)),
                "p99": float(np.quantile(distances, 0.99)),
                "found": float((distances <= radius).mean()),
            }
        )
    return rows


def edited(texts: Iterable[str], *, chinese: bool) -> dict[int, list[Pair]]:
    """Texts cut to this many words, or characters of Chinese, and one of them replaced by another of the corpus."""
    rng = random.Random(1)
    parts = [list("".join(text.split())) if chinese else text.split() for text in texts]
    pool = [word for words in parts[:200] for word in words]
    found = {}
    for count in WORDS:
        pairs = []
        for words in parts:
            if len(words) >= count:
                start = rng.randrange(len(words) - count + 1)
                before = words[start : start + count]
                after = list(before)
                after[rng.randrange(count)] = rng.choice(pool)
                pairs.append((before, after))
        pairs = pairs[:2000]
        join = "" if chinese else " "
        both = [join.join(words) for side in zip(*pairs, strict=True) for words in side]
        rows = np.arange(len(pairs))
        found[count] = measured(both, rows, rows + len(pairs))
    return found


def main() -> None:
    options = common.arguments(__doc__)
    if options.report is not None:
        report(common.latest("quality-length", options.report))
        return
    import nearkin as nk

    nk.set_num_threads(1)
    radius = simhash_radius(0.8, BITS)
    pairs = similar(options.data)
    run: dict[str, Any] = {
        "bits": BITS,
        "radius": radius,
        "all": by_size(pairs, radius),
        "near_threshold": by_size([pair for pair in pairs if pair[2] < 0.85], radius),
        "edits": {},
        "labels": {},
    }
    for name, file, chinese in (("English words", "en_20news", False), ("Chinese characters", "zh_news_sogou", True)):
        run["edits"][name] = {
            count: {
                "pairs": len(found),
                "similarity": float(np.median([pair[2] for pair in found])),
                "p50": float(np.quantile([pair[3] for pair in found], 0.5)),
                "p90": float(np.quantile([pair[3] for pair in found], 0.9)),
            }
            for count, found in edited(common.texts(options.data, file), chinese=chinese).items()
            if len(found) >= 100
        }
    for name in ("Bible verses", "Tang editions (zh)"):
        corpus = quality_sets.SETS[name](options.data)
        run["labels"][name] = by_size(measured(corpus.texts, corpus.left, corpus.right), radius)
    common.save("quality-length", run, versions=common.versions("numpy"))
    report(common.latest("quality-length"))


def report(run: dict[str, Any]) -> None:
    """The tables of docs/quality.md."""
    page = common.ROOT / "docs" / "quality.md"

    def size(row: dict[str, Any]) -> str:
        return f"{row['from']} and more" if row["to"] > 1 << 30 else f"{row['from']} to {row['to']}"

    rows = [
        [
            size(row),
            f"{row['pairs']:,}",
            f"{row['similarity']:.3f}",
            f"{row['mean']:.1f}",
            f"{row['exact']:.1f}",
            f"{row['law']:.1f}",
            f"{row['deviation']:.1f} / {row['binomial']:.1f}",
            f"{row['p50']:.0f} / {row['p90']:.0f} / {row['p95']:.0f} / {row['p99']:.0f}",
            f"{row['found']:.1%}",
        ]
        for row in run["near_threshold"]
    ]
    header = ["features of the shorter", "pairs", "mean J", "mean distance", "exact theory", "law of equal sets"]
    header += ["deviation / binomial", "50 / 90 / 95 / 99%", f"within {run['radius']}"]
    whole = sum(row["pairs"] for row in run["all"])
    found = sum(row["found"] * row["pairs"] for row in run["all"]) / whole
    note = f"\n\nOf all {whole:,} pairs with J ≥ 0.8, {found:.1%} lie within {run['radius']}."
    common.splice(page, "by-length", common.table(header, rows) + note)

    counts = list(dict.fromkeys(count for one in run["edits"].values() for count in one))
    rows = []
    for each, one in run["edits"].items():
        for title, figure in (("median J", "similarity"), ("median distance", "p50"), ("90% of distances", "p90")):
            digits = 2 if figure == "similarity" else 0
            cells = [f"{one[count][figure]:.{digits}f}" if count in one else "" for count in counts]
            rows.append([f"{each}: {title}", *cells])
    common.splice(page, "edits", common.table(["one replaced, of", *counts], rows))

    rows = []
    for each, one in run["labels"].items():
        rows += [
            [
                f"{each}: {size(row)}",
                f"{row['pairs']:,}",
                f"{row['similarity']:.2f}",
                f"{row['p50']:.0f} / {row['p90']:.0f} / {row['p95']:.0f}",
                f"{row['found']:.1%}",
            ]
            for row in one
        ]
    header = ["features of the shorter", "pairs", "mean J", "50 / 90 / 95%", f"within {run['radius']}"]
    common.splice(page, "labels-by-length", common.table(header, rows))
    common.splice(page, "length-run", common.about(run))


if __name__ == "__main__":
    main()
