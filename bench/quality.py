"""What SimHash finds of the pairs that are truly similar, and what it costs: the figures behind the default recipe.

For each labelled corpus and n-gram recipe:

1. *Truth*: every pair with Jaccard similarity J >= 0.8 of the recipe's features. Candidates for it come from 256 bits
   of distinct features (so that the law below holds) with another seed, within radius 62: at J = 0.8 the expected
   distance is at most 38.8 with a deviation of 5.7, so that radius lies four deviations above, and what is
   measured below does not depend on these bits. `--check` compares with brute force where a corpus has at most 2,000
   documents.
2. *Recall* of a width, weight and radius: the share of true pairs within the radius, of all and of those with J < 0.85.
   *Passing*: the share of random pairs within it. *Candidates a match*: all pairs within the radius over those with
   J >= 0.8, both over distinct texts, since copies are collapsed before anything is searched.
3. *Against the published pairs*: precision, recall and F1 of the pairs that the default job verifies (threshold 0.8),
   beside exact Jaccard, the package simhash (radius 3 and 10) and datasketch (MinHash 128 in an LSH of threshold 0.8).
   Truth are the pairs of the corpus's own file, whose shingles are words or characters as that file says: a pair of
   J >= 0.8 there may lie below it in character 4-grams, so exact Jaccard of the default's own features stands beside.

Run: `make bench`, or `python bench/quality.py`; results go to `bench/runs/` and docs/quality.md.
"""

from __future__ import annotations

import gzip
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common

THRESHOLD = 0.8
SETS = {
    "20 Newsgroups": ("en_20news", None),
    "licences": ("en_licences", None),
    "Old Testament": ("en_bible_ot", 25_000),
    "laws (zh)": ("zh_laws", None),
    "Sogou news (zh)": ("zh_news_sogou", None),
    "reviews (zh)": ("zh_reviews", 25_000),
    "Tang poems (zh)": ("zh_tang_two_editions", 25_000),
}
"""Corpora by name: file, and how many of its first records are taken."""

GRID = {64: (9, 11, 13, 15, 17, 18), 128: (18, 20, 23, 25, 26, 28, 29, 30, 31), 256: (36, 40, 44, 48, 52, 54, 55)}
"""Radii around bits · p(0.8) = 9.7, 19.4, 38.8 and up to three deviations above it."""

PUBLISHED = {
    "20 Newsgroups": "en_20news.pairs_w3_j50",
    "licences": "en_licences.pairs_w3_j70",
    "laws (zh)": "zh_laws.pairs_c4_j50",
    "Sogou news (zh)": "zh_news_sogou.pairs_c4_j30",
    "reviews (zh)": "zh_reviews.pairs_c3_j50",
}

Pairs = set[tuple[int, int]]
Rows = NDArray[np.int64]


def one_in(share: float) -> str:
    """A small share in words: one in this many, to two figures; a larger one in percent."""
    if share >= 0.01:
        return f"{share:.1%}"
    return "none" if share == 0 else f"1 in {float(f'{1 / share:.2g}'):,.0f}"


def load(data: Path, name: str) -> list[str]:
    """The texts of a set; of 20 Newsgroups the bodies, as its pair file has them."""
    file, first = SETS[name]
    return common.texts(data, file)[:first]


def pairs_within(texts: list[str], recipe: Any, radius: int) -> tuple[Rows, Rows]:
    """All pairs within the radius, texts without features left out."""
    import nearkin as nk

    fingerprints, counts = nk.fingerprint(texts, recipe, return_counts=True)
    rows = np.flatnonzero(counts)
    index = nk.HammingIndex(recipe.bits, radius=radius)
    index.add(rows, fingerprints[rows])
    found = index.pairs(radius)
    left, right = np.asarray(found.left, np.int64), np.asarray(found.right, np.int64)
    return np.minimum(left, right), np.maximum(left, right)


def true_pairs(texts: list[str], features: str) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Pairs with J >= 0.8 of these features, and their J."""
    import nearkin as nk

    recipe = nk.Recipe(f"{features}|binary|xxh3:77|simhash:256")
    left, right = pairs_within(texts, recipe, 62)
    similarity = nk.similarity(texts, left, right, recipe=recipe)
    match = similarity >= THRESHOLD
    return left[match], right[match], similarity[match]


def brute_force(texts: list[str], features: str) -> int:
    """How many pairs have J >= 0.8, comparing every one with every other."""
    import nearkin as nk

    recipe = nk.Recipe(f"{features}|count|xxh3|simhash:64")
    _, counts = nk.fingerprint(texts, recipe, return_counts=True)
    rows = np.flatnonzero(counts)
    found = 0
    for at, row in enumerate(rows[:-1].tolist()):
        others = rows[at + 1 :]
        found += int((nk.similarity(texts, np.full(len(others), row), others, recipe=recipe) >= THRESHOLD).sum())
    return found


def grid(texts: list[str], features: str) -> dict[str, Any]:
    """Recall and cost of every weight, width and radius."""
    import nearkin as nk

    texts = list(dict.fromkeys(texts))
    left, right, similarity = true_pairs(texts, features)
    rng = np.random.default_rng(0)
    some, other = rng.integers(0, len(texts), (2, 400_000))
    some, other = some[some != other], other[some != other]
    cluster = clusters_of(left, right, len(texts))
    rows = []
    for weight in ("count", "binary"):
        for bits, radii in GRID.items():
            recipe = nk.Recipe(f"{features}|{weight}|xxh3|simhash:{bits}")
            fingerprints = nk.fingerprint(texts, recipe)
            distances = nk.hamming(fingerprints[left], fingerprints[right])
            random_distances = nk.hamming(fingerprints[some], fingerprints[other])
            one, two = pairs_within(texts, recipe, max(radii))
            within = np.bincount(nk.hamming(fingerprints[one], fingerprints[two]), minlength=max(radii) + 1).cumsum()
            for radius in radii:
                near = distances <= radius
                row = {
                    "weight": weight,
                    "bits": bits,
                    "radius": radius,
                    "recall": float(near.mean()),
                    "least_recall": least_recall(near, cluster),
                    "recall_below_85": float(near[similarity < 0.85].mean()) if (similarity < 0.85).any() else None,
                    "passing": float((random_distances <= radius).mean()),
                    "candidates": int(within[radius]),
                    "candidates_per_match": int(within[radius]) / max(int(near.sum()), 1),
                }
                rows.append(row)
    return {"distinct": len(texts), "true_pairs": len(left), "rows": rows}


def clusters_of(left: Rows, right: Rows, count: int) -> Rows:
    """A number for the connected component of each pair, from 0."""
    parent = list(range(count))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        parent[root(b)] = root(a)
    return np.unique([root(a) for a in left.tolist()], return_inverse=True)[1]


def least_recall(near: NDArray[np.bool_], cluster: Rows) -> float:
    """The lower end of a 95% interval of recall, for pairs of one cluster that are found or missed together.

    Of 2,000 draws of as many clusters as there are, with replacement, the 2.5% quantile; where all pairs are found, the
    least recall at which n clusters without a miss have a probability of 2.5%.
    """
    count = int(cluster.max()) + 1
    if near.all():
        return float(0.025 ** (1 / count))
    hits, pairs = np.bincount(cluster, weights=near, minlength=count), np.bincount(cluster, minlength=count)
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), 2000)
    return float(np.quantile((drawn @ hits) / (drawn @ pairs), 0.025))


# Beside the published pairs


def published(data: Path, name: str) -> Pairs:
    """The pairs with J >= 0.8 of a corpus's own file, as row numbers."""
    with gzip.open(data / f"{PUBLISHED[name]}.tsv.gz", "rt", encoding="utf-8") as lines:
        header, *rows = [line.rstrip("\n").split("\t") for line in lines]
    column = next(at for at, title in enumerate(header) if title.startswith("j"))
    file, first = SETS[name]
    row_of = {str(record["id"]): row for row, record in enumerate(common.records(data, file)) if "id" in record}
    # Some files name rows, the others ids.
    named = not header[0].startswith("row")
    ends = [
        [row_of[cell] if named else int(cell) for cell in row[:2]] for row in rows if float(row[column]) >= THRESHOLD
    ]
    limit = first or len(row_of)
    return {(min(pair), max(pair)) for pair in ends if max(pair) < limit}


def as_pairs(left: Any, right: Any) -> Pairs:
    return {(min(a, b), max(a, b)) for a, b in zip(left, right, strict=True)}


def of_nearkin(texts: list[str]) -> Pairs:
    import nearkin as nk

    found = nk.dedup(texts, links="all").pairs
    # A copy stands in the table linked with its original only; it is linked with all that the original is linked with.
    groups: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        groups.setdefault(text, []).append(row)
    pairs: Pairs = set()
    for a, b in zip(found["left"], found["right"], strict=True):
        for one in groups[texts[a]]:
            pairs |= {(min(one, two), max(one, two)) for two in groups[texts[b]] if one != two}
    return pairs


def of_exact(texts: list[str]) -> Pairs:
    left, right, _ = true_pairs(texts, "char:4")
    return as_pairs(left.tolist(), right.tolist())


def of_simhash(texts: list[str], radius: int) -> Pairs:
    """The package's fingerprints (through the preset that equals them), searched exactly, as its index does."""
    import nearkin as nk

    left, right = pairs_within(texts, nk.Recipe.preset("simhash-pypi"), radius)
    return as_pairs(left.tolist(), right.tolist())


def of_datasketch(texts: list[str], name: str) -> Pairs:
    """MinHash of word 3-grams, or of character 4-grams for Chinese, which has no spaces."""
    from datasketch import MinHash, MinHashLSH

    def grams(text: str) -> list[bytes]:
        words = re.findall(r"\w+", text.lower())
        parts = "".join(words) if "zh" in name else words
        n, join = (4, "") if "zh" in name else (3, " ")
        return list({join.join(parts[i : i + n]).encode() for i in range(max(len(parts) - n + 1, 1))})

    index = MinHashLSH(threshold=THRESHOLD, num_perm=128)
    pairs: Pairs = set()
    for start in range(0, len(texts), 1000):
        batch = [grams(text) for text in texts[start : start + 1000]]
        for row, minhash in enumerate(MinHash.bulk(batch, num_perm=128), start):
            if batch[row - start] == [b""]:
                continue
            pairs |= {(other, row) for other in index.query(minhash)}
            index.insert(row, minhash, check_duplication=False)
    return pairs


def score(found: Pairs, truth: Pairs) -> dict[str, float]:
    both = len(found & truth)
    precision, recall = both / max(len(found), 1), both / max(len(truth), 1)
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return {"pairs": len(found), "precision": precision, "recall": recall, "f1": f1}


def beside_published(data: Path, name: str, texts: list[str]) -> dict[str, Any]:
    truth = published(data, name)
    found = {
        "nearkin default": of_nearkin(texts),
        "exact Jaccard, char 4": of_exact(texts),
        "simhash, radius 3": of_simhash(texts, 3),
        "simhash, radius 10": of_simhash(texts, 10),
        "datasketch, MinHash LSH": of_datasketch(texts, name),
    }
    exact = found["exact Jaccard, char 4"]
    return {
        "true_pairs": len(truth),
        "candidates": {each: {**score(pairs, truth), "of_exact": score(pairs, exact)} for each, pairs in found.items()},
    }


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--check", {"action": "store_true", "help": "compare the truth of the smaller sets with brute force"}),
        ("--sets", {"nargs": "*", "default": None, "help": "measure these again, keep the last run's others"}),
    )
    if options.report is not None:
        report(common.latest("quality", options.report))
        return
    import nearkin as nk
    from nearkin.theory import simhash_radius

    default = nk.Recipe()
    found: dict[str, Any] = {"recipe": str(default), "radius": simhash_radius(THRESHOLD, default.bits), "sets": {}}
    for name in options.sets or SETS:
        start = time.perf_counter()
        texts = load(options.data, name)
        one: dict[str, Any] = {"documents": len(texts), "characters": float(np.mean([len(text) for text in texts]))}
        one["grid"] = grid(texts, "char:4")
        if options.check and len(texts) <= 2000:
            one["brute_force"] = brute_force(list(dict.fromkeys(texts)), "char:4")
        if name in PUBLISHED:
            one["published"] = beside_published(options.data, name, texts)
        found["sets"][name] = one
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        chosen = [r for r in one["grid"]["rows"] if (r["bits"], r["radius"]) == (default.bits, found["radius"])]
        print("  ", one["grid"]["true_pairs"], one.get("brute_force"), chosen, file=sys.stderr)
        for each, scores in one.get("published", {}).get("candidates", {}).items():
            print("  ", each, scores, file=sys.stderr)
    if options.sets:
        found["sets"] = common.with_last("quality", "sets", found["sets"])
    found["sets"] = {name: found["sets"][name] for name in SETS if name in found["sets"]}
    common.save("quality", found, versions=common.versions("datasketch", "numpy"))
    report(common.latest("quality"))


def report(run: dict[str, Any]) -> None:
    """The tables of docs/quality.md."""
    page = common.ROOT / "docs" / "quality.md"
    sets = run["sets"]
    bits = int(run["recipe"].rpartition(":")[2])
    weight = run["recipe"].split("|")[1]

    def row(each: str, weight: str, bits: int, radius: int) -> dict[str, Any]:
        wanted = (weight, bits, radius)
        return next(r for r in sets[each]["grid"]["rows"] if (r["weight"], r["bits"], r["radius"]) == wanted)

    rows = []
    for each, one in sets.items():
        chosen = row(each, weight, bits, run["radius"])
        rows.append(
            [
                each,
                f"{one['documents']:,}",
                f"{one['characters']:,.0f}",
                f"{one['grid']['true_pairs']:,}",
                f"{chosen['recall']:.1%}",
                f"{chosen['least_recall']:.1%}",
                "" if chosen["recall_below_85"] is None else f"{chosen['recall_below_85']:.1%}",
                f"{chosen['candidates_per_match']:.1f}",
                one_in(chosen["passing"]),
            ]
        )
    header = ["corpus", "documents", "mean length", "pairs with J ≥ 0.8", "found", "at least", "of those with J < 0.85"]
    header += ["candidates per match", "random pairs that pass"]
    least = min(row(each, weight, bits, run["radius"])["recall"] for each in sets)
    content = f"Default: `{run['recipe']}`, radius {run['radius']}; the lowest recall on any corpus is {least:.1%}. "
    content += "*At least*: the lower end of a 95% interval, drawn by clusters of pairs.\n\n"
    common.splice(page, "default", content + common.table(header, rows))

    rows = []
    for weight_of in ("count", "binary"):
        for width, radii in GRID.items():
            for radius in radii:
                cells = []
                for each in sets:
                    one = row(each, weight_of, width, radius)
                    cells.append(f"{one['recall']:.1%} / {one['candidates_per_match']:,.1f}")
                passing = max(row(each, weight_of, width, radius)["passing"] for each in sets)
                rows.append([f"{weight_of} {width}", radius, *cells, one_in(passing)])
    common.splice(page, "grid", common.table(["weight, bits", "radius", *sets, "most random pairs"], rows))

    rows = []
    for each, one in sets.items():
        if "published" not in one:
            continue
        for candidate, scores in one["published"]["candidates"].items():
            of_exact = scores["of_exact"]
            cells = [f"{scores[figure]:.3f}" for figure in ("precision", "recall", "f1")]
            own = [f"{of_exact[figure]:.3f}" for figure in ("precision", "recall", "f1")]
            rows.append([f"{each}: {candidate}", f"{scores['pairs']:,}", *cells, *own])
    header = ["", "pairs", "precision", "recall", "F1", "precision, char 4", "recall, char 4", "F1, char 4"]
    common.splice(page, "published", common.table(header, rows))
    common.splice(page, "run", common.about(run))


if __name__ == "__main__":
    main()
