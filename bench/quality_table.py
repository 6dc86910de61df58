"""Families, features and hashes side by side on labelled corpora, and other packages on the same pairs.

Every method gives each pair of a corpus (`quality_sets`) a distance or similarity, and F1 is that of the best cut, with
its precision and recall (`quality_cuts`):

- *SimHash*: pairs within a radius, not verified; the best radius up to 42% of the bits.
- *exact Jaccard*: the best threshold in steps of 0.05, from 0.35 on where not all pairs are compared.
- *MinHash*: the share of equal values, in steps of 0.05 from 0.4 on; candidates share 3 values in one of 42 bands.
- *MinHash and SimHash*: the same, of pairs that also lie within the radius that SimHash has for that share.
- *text-dedup*: the best threshold of 0.5, 0.7 and 0.9 of its command; all pairs of a cluster count as found.

At defaults every package does what it does when it is not told otherwise. Speed is CPU time of one thread from text to
fingerprint or signature, medians of three rounds over 2,000 messages and 1,500 news articles in Chinese; jobs are the
whole of `dedup`, medians of five.

Hashes: the recipe char:4 with counts as weights, so that hashing weighs most; bits balance if each is set in half of
all fingerprints.

A run saves after each method on each corpus. `--missing --seconds N` measures what the newest run has not yet, begins
nothing after N seconds, and says how much is left.

Run: `make quality`, or `python bench/quality_table.py`; results go to `bench/runs/` and docs/quality.md.
"""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import common
import quality_page
from nearkin.quality.ground_truth import SampleFingerprints, find_similar_pairs
from quality_cuts import (
    banded,
    best,
    cuts_of_distances,
    cuts_of_similarities,
    exact,
    of_found,
    of_signatures,
    pairs_in_bands,
    share,
)
from quality_peers import TEXT_DEDUP_RUNS, datasketch_pairs, datasketch_signatures, text_dedup
from quality_sets import SETS, Set

WINDOWS = (("char", 4), ("word", 1), ("word", 2), ("word", 3))
SIMHASH = {f"SimHash 128, {kind} {n}": f"{kind}:{n}|binary|xxh3|simhash:128" for kind, n in WINDOWS}
MINHASH = {f"MinHash 128, {kind} {n}": f"{kind}:{n}|binary|xxh3|minhash:128" for kind, n in WINDOWS[::3]}
KEYWORDS = {
    "SimHash 128, cut words 1": "cut:script|word:1|binary|xxh3|simhash:128",
    "SimHash 128, cut words 3": "cut:script|word:3|binary|xxh3|simhash:128",
    "SimHash 128, keywords": "zh-keywords",
}
"""Words cut by dictionary where a script has no spaces; the 20 of the largest TF-IDF, which is jieba's table."""
FEATURES = {"char 4": "char:4", "word 3": "word:3"}
"""Features of what is compared beside fingerprints: exact similarity, the job at its defaults."""

Scores = dict[str, dict[str, Any]]
PARTS = ("sets", "speed", "jobs", "hashes")

# Methods


def recipe_of(features: str, weight: str = "binary", family: str = "simhash:128", hash: str = "xxh3") -> Any:
    import nearkin as nk

    return nk.Recipe(f"{features}|{weight}|{hash}|{family}")


def signatures_of(corpus: Set, features: str) -> tuple[Any, Any]:
    import nearkin as nk

    return nk.signature(corpus.texts, recipe_of(features, family="minhash:128"), return_counts=True)


def of_simhash(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Fingerprints within a radius, unverified."""
    import nearkin as nk

    for name, recipe in SIMHASH.items():
        tops[name] = best(cuts_of_distances(corpus, nk.Recipe(recipe)), corpus.true)


def of_keywords(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Fingerprints of words that were cut by dictionary, and of keywords."""
    import nearkin as nk

    for name, recipe in KEYWORDS.items():
        tops[name] = best(cuts_of_distances(corpus, nk.Recipe.of(recipe)), corpus.true)


def of_minhash(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Signatures, unverified; and those pairs of them that fingerprints confirm."""
    from nearkin.theory import simhash_radius

    for name, features in FEATURES.items():
        values, counts = signatures_of(corpus, features)
        pairs = pairs_in_bands(values, counts.astype(np.int64)) if corpus.match is None else None
        tops[f"MinHash 128, {name}"] = best(of_signatures(corpus, values, pairs), corpus.true)
        left, right = pairs or (corpus.left, corpus.right)
        similarity = share(values, left, right)
        distances = SampleFingerprints.of(corpus.texts, recipe_of(features)).distances(left, right)
        radius_of = np.array([simhash_radius(max(equal, 1) / 128, 128) for equal in range(129)])
        agreed = np.where(distances <= radius_of[np.rint(similarity * 128).astype(int)], similarity, 0.0)
        cuts = [cut for cut in cuts_of_similarities(corpus, agreed, pairs) if pairs is None or cut[0] >= 0.4]
        tops[f"MinHash and SimHash, {name}"] = best(cuts, corpus.true)


def of_exact(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Exact similarity of all pairs."""
    for name, features in FEATURES.items():
        tops[f"exact Jaccard, {name}"] = best(exact(corpus, recipe_of(features))[0], corpus.true)


def of_dedup(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """What `dedup` lists at its defaults, and the copies of it: candidates of a family, verified at 0.8."""
    import nearkin as nk
    from nearkin.theory import choose_bands, simhash_radius

    banding = choose_bands(0.8, 0.95, 128)
    for name, features in FEATURES.items():
        recipe = recipe_of(features)
        if corpus.match is None:
            found = find_similar_pairs(corpus.texts, recipe, 0.8, lambda done: None)
            left, right = found.left, found.right
        else:
            similarity = nk.similarity(corpus.texts, corpus.left, corpus.right, recipe=recipe)
            left, right = corpus.left[similarity >= 0.8], corpus.right[similarity >= 0.8]
        near = SampleFingerprints.of(corpus.texts, recipe).distances(left, right) <= simhash_radius(0.8, 128)
        shared = banded(signatures_of(corpus, features)[0], left, right, banding)
        for title, match in (("SimHash", near), ("MinHash", shared), ("MinHash, SimHash confirms", near & shared)):
            score = best([of_found(corpus, left[match], right[match])], corpus.true)
            defaults[f"nearkin {title}, {name}"] = score


def of_simhash_package(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """The package's fingerprints, through the preset that equals them; its index has radius 2 by default."""
    import nearkin as nk

    cuts = cuts_of_distances(corpus, nk.Recipe.preset("simhash-pypi"))
    tops["simhash"], defaults["simhash"] = best(cuts, corpus.true), best(cuts[2:3], corpus.true)


def of_datasketch(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Its MinHash of 128 values, and its index."""
    signatures, counts = datasketch_signatures(corpus.texts, chinese=corpus.chinese)
    values = np.array([signature.hashvalues for signature in signatures])
    pairs = pairs_in_bands(values, counts) if corpus.match is None else None
    tops["datasketch MinHash"] = best(of_signatures(corpus, values, pairs), corpus.true)
    defaults["datasketch MinHash"] = best([of_found(corpus, *datasketch_pairs(signatures, counts))], corpus.true)


def of_text_dedup(family: str, options: str, corpus: Set, tops: Scores, defaults: Scores) -> None:
    """One run of text-dedup's command, with its CPU time; the best of its thresholds stays."""
    cut, us = text_dedup(corpus, family, options.split())
    tops[f"text-dedup {family}"] = score = {**best([cut], corpus.true), "options": options, "us": us}
    if options in ("", "--threshold 0.7"):
        defaults[f"text-dedup {family}"] = score


METHODS: dict[str, Callable[[Set, Scores, Scores], None]] = {
    "dedup": of_dedup,
    "simhash": of_simhash,
    "minhash": of_minhash,
    "keywords": of_keywords,
    "exact": of_exact,
    "simhash-package": of_simhash_package,
    "datasketch": of_datasketch,
    **{
        f"text-dedup {family} {options}".strip(): functools.partial(of_text_dedup, family, options)
        for family, options in TEXT_DEDUP_RUNS
    },
}


def measure(corpus: Set, method: str, one: dict[str, Any]) -> None:
    """The best cut and the defaults of a method, into what the run has of that corpus."""
    tops: Scores = {}
    defaults: Scores = {}
    start = time.process_time()
    METHODS[method](corpus, tops, defaults)
    one["documents"] = len(corpus.texts)
    one["characters"] = float(np.mean([len(text) for text in corpus.texts]))
    one["true_pairs"] = corpus.true
    if method.startswith("text-dedup"):
        kept = one.setdefault("best", {})
        tops = {name: max(score, kept.get(name, score), key=lambda each: each["f1"]) for name, score in tops.items()}
    one.setdefault("best", {}).update(tops)
    one.setdefault("defaults", {}).update(defaults)
    one.setdefault("measured", {})[method] = round(time.process_time() - start, 1)


# Speed and hashes


def speeds(data: Path) -> dict[str, dict[str, float]]:
    """CPU microseconds per document."""
    samples = {"news": common.texts(data, "en_20news")[:2000], "news (zh)": common.texts(data, "zh_news_sogou")}
    # The package fails on texts that repeat a 4-gram more than 255 times.
    samples = {name: [text for text in texts if most_repeated(text) < 256] for name, texts in samples.items()}
    found: dict[str, dict[str, float]] = {}
    for name, texts in samples.items():
        for title, call, count in timed_calls(texts, chinese="zh" in name):
            seconds = statistics.median(common.timed(call)[0] for _ in range(3))
            found.setdefault(title, {})[name] = seconds / count * 1e6
    return found


def timed_calls(texts: list[str], *, chinese: bool) -> list[tuple[str, Callable[[], Any], int]]:
    """Name, call, and how many documents it takes."""
    import simhash

    import nearkin as nk

    recipes = {**SIMHASH, **KEYWORDS, "SimHash 128, char 4, counts": "char:4|count|xxh3|simhash:128"}
    calls: list[tuple[str, Callable[[], Any], int]] = [
        (title, functools.partial(nk.fingerprint, texts, nk.Recipe.of(recipe)), len(texts))
        for title, recipe in recipes.items()
    ]
    calls += [
        (title, functools.partial(nk.signature, texts, nk.Recipe(recipe)), len(texts))
        for title, recipe in MINHASH.items()
    ]
    calls.append(("datasketch MinHash", functools.partial(datasketch_signatures, texts, chinese=chinese), len(texts)))
    some = texts[:200]
    return [*calls, ("simhash", lambda: [simhash.Simhash(text).value for text in some], len(some))]


def most_repeated(text: str) -> int:
    import nearkin as nk

    return max(nk.Recipe.preset("simhash-pypi").features_of(text).values(), default=0)


def hashes(data: Path, sets: list[str]) -> dict[str, Any]:
    """Speed, bit balance and best F1 of every feature hash."""
    import nearkin as nk
    from nearkin._core import feature_hash_names

    texts = common.texts(data, "en_20news")[:2000] + common.texts(data, "zh_news_sogou")
    corpora = {name: SETS[name](data) for name in sets}
    found: dict[str, Any] = {}
    for name in feature_hash_names():
        for bits in (32, 64):
            try:
                recipe = recipe_of("char:4", "count", f"simhash:{bits}", name)
            except nk.errors.ParameterError:
                continue
            seconds = [common.timed(lambda recipe=recipe: nk.fingerprint(texts, recipe))[0] for _ in range(3)]
            fingerprints, counts = nk.fingerprint(texts, recipe, return_counts=True)
            distinct = np.unique(fingerprints[counts > 0])
            shares = np.array([float(((distinct >> np.uint64(bit)) & np.uint64(1)).mean()) for bit in range(bits)])
            binary = recipe.with_(weight="binary")
            scores = {each: best(cuts_of_distances(corpus, binary), corpus.true) for each, corpus in corpora.items()}
            found[f"{name}, {bits}"] = {
                "us": statistics.median(seconds) / len(texts) * 1e6,
                "ns_a_feature": statistics.median(seconds) / int(counts.sum()) * 1e9,
                "balance_mean": float(np.abs(shares - 0.5).mean()),
                "balance_worst": float(np.abs(shares - 0.5).max()),
                "expected_balance": float(np.sqrt(0.5 / np.pi / len(distinct))),
                "distinct": len(distinct),
                "best": scores,
            }
    return found


JOBS = {
    "SimHash": ("simhash", None),
    "MinHash": ("minhash", None),
    "MinHash, SimHash confirms": ("minhash", "simhash:128"),
}
JOB_SETS = {
    "20 Newsgroups": "en_20news",
    "Old Testament": "en_bible_ot",
    "laws (zh)": "zh_laws",
    "reviews (zh)": "zh_reviews",
}


def jobs(data: Path) -> dict[str, Any]:
    """CPU seconds of `dedup` by family, char:4, of the first 25,000 documents, and how many it keeps."""
    import nearkin as nk

    found: dict[str, Any] = {}
    for corpus, file in JOB_SETS.items():
        texts = common.texts(data, file)[:25_000]
        for name, (family, confirm) in JOBS.items():
            recipe = recipe_of("char:4", family=f"{family}:128")
            job = functools.partial(nk.dedup, texts, recipe=recipe, confirm=confirm)
            runs = [common.timed(job) for _ in range(5)]
            kept = len(runs[0][2].kept)
            found.setdefault(name, {})[corpus] = {"cpu": statistics.median(run[0] for run in runs), "kept": kept}
    return found


HASH_SETS = ["plagiarism", "citations DBLP-ACM", "citations Cora", "laws (zh)", "news (zh)"]


def measure_sets(found: dict[str, Any], wanted: list[tuple[str, str]], data: Path, seconds: float) -> int:
    """Measure and save one method on one corpus after another; gives how many were left when time was over."""
    start = time.perf_counter()
    corpus, loaded = None, ""
    for at, (name, method) in enumerate(wanted):
        if time.perf_counter() - start > seconds:
            return len(wanted) - at
        if corpus is None or name != loaded:
            corpus, loaded = SETS[name](data), name
        begun = time.perf_counter()
        one = found["sets"].setdefault(name, {})
        measure(corpus, method, one)
        save(found)
        print(f"{name}, {method}: {time.perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    return 0


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--sets", {"nargs": "*", "default": list(SETS), "help": "measure these"}),
        ("--methods", {"nargs": "*", "default": list(METHODS), "help": f"measure these: {', '.join(METHODS)}"}),
        ("--parts", {"nargs": "*", "default": list(PARTS), "help": ", ".join(PARTS)}),
        ("--missing", {"action": "store_true", "help": "measure what the last run has not yet, keep its others"}),
        ("--seconds", {"type": float, "default": float("inf"), "help": "begin nothing after this many seconds"}),
    )
    import nearkin as nk

    if options.report is not None:
        run = common.latest("quality-table", options.report)
        quality_page.report(run, [*SIMHASH, *MINHASH, *KEYWORDS], HASH_SETS)
        return
    nk.set_num_threads(1)
    last = common.latest("quality-table") if common.runs("quality-table") else {}
    found: dict[str, Any] = {name: last.get(name, {}) for name in PARTS}
    wanted: list[tuple[str, str]] = []
    if "sets" in options.parts:
        wanted = [
            (name, method)
            for name in options.sets
            for method in options.methods
            if not options.missing or method not in found["sets"].get(name, {}).get("measured", {})
        ]
    if last:
        kept = [(name, method) for name, one in found["sets"].items() for method in one.get("measured", {})]
        parts = [f"{name}, {method}" for name, method in kept if (name, method) not in wanted]
        parts += [name for name in PARTS if name != "sets" and name not in options.parts and found[name]]
        common.carry("quality-table", last, parts)
    if "sets" in options.parts:
        if not options.missing:
            for name, method in wanted:
                found["sets"].get(name, {}).get("measured", {}).pop(method, None)
        left = measure_sets(found, wanted, options.data, options.seconds)
        if left:
            print(f"{left} left; --missing goes on", file=sys.stderr)
            return
    if "speed" in options.parts:
        found["speed"] = speeds(options.data)
    if "jobs" in options.parts:
        found["jobs"] = jobs(options.data)
    if "hashes" in options.parts:
        found["hashes"] = hashes(options.data, HASH_SETS)
    save(found)
    quality_page.report(common.latest("quality-table"), [*SIMHASH, *MINHASH, *KEYWORDS], HASH_SETS)


def save(found: dict[str, Any]) -> Path:
    """The run so far, the sets in their order."""
    ordered = {**found, "sets": {name: found["sets"][name] for name in SETS if name in found["sets"]}}
    versions = {**common.versions("datasketch", "numpy", "simhash"), "text-dedup": "0.4.0"}
    return common.save("quality-table", ordered, versions=versions)


if __name__ == "__main__":
    main()
