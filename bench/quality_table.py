"""Families, features and hashes side by side on labelled corpora, and other packages on the same pairs.

Each corpus has pairs that are true: labelled as the same thing (a verse in six versions, a paper, a product, versions
of a law, editions of a poem), or similar by the corpus's own list (`SETS`). Every method gives each pair a distance or
similarity, and F1 is that of the best cut, with its precision and recall:

- *SimHash*: pairs within a radius, not verified; the best radius up to 42% of the bits.
- *exact Jaccard*: the best threshold in steps of 0.05, from 0.35 on where not all pairs are compared.
- *MinHash*: the share of equal values, in steps of 0.05 from 0.4 on; candidates share 3 values in one of 42 bands.
- *text-dedup*: the best threshold of 0.5, 0.7 and 0.9 of its command; all pairs of a cluster count as found.

At defaults every package does what it does when it is not told otherwise. Speed is CPU time of one thread from text to
fingerprint or signature, medians of three rounds over 2,000 messages and 1,500 news articles in Chinese.

Hashes: the recipe char:4 with counts as weights, so that hashing weighs most; bits balance if each is set in half of
all fingerprints.

Run: `make quality`, or `python bench/quality_table.py`; results go to `bench/runs/quality-table-DATE.json` and
docs/quality.md.
"""

from __future__ import annotations

import functools
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from nearkin.tune_truth import Prints, similar_pairs

TEXT_DEDUP = common.ROOT / ".venv-text-dedup" / "bin" / "python"
REACH = 0.42
STEPS = np.round(np.arange(0.05, 1.0001, 0.05), 2)
BANDS, ROWS = 42, 3
WINDOWS = (("char", 4), ("word", 1), ("word", 2), ("word", 3))

Rows = NDArray[np.int64]
Cut = tuple[float, int, int]
"""Where pairs are cut (radius, threshold), true pairs found there, and all pairs found there."""


@dataclass
class Set:
    """Texts, and which pairs of rows are true, left before right; `match` where pairs that are none stand with them."""

    texts: list[str]
    left: Rows
    right: Rows
    match: NDArray[np.bool_] | None = None
    side: NDArray[np.int64] | None = None
    """Only pairs across sides are judged."""
    chinese: bool = False

    @property
    def true(self) -> int:
        """How many pairs are true."""
        return len(self.left) if self.match is None else int(self.match.sum())

    def judged(self, left: Rows, right: Rows) -> NDArray[np.bool_]:
        """Which pairs count."""
        return np.ones(len(left), bool) if self.side is None else self.side[left] != self.side[right]


# Sets


def of_pairs(data: Path, file: str, pairs: str, least: float, first: int | None = None, **options: Any) -> Set:
    """A corpus with the list of its similar pairs."""
    texts = common.texts(data, file)[:first]
    table = rows_of(data, pairs)
    if "row_a" in table:
        ends = [(int(a), int(b)) for a, b in zip(table["row_a"], table["row_b"], strict=True)]
    else:
        row_of = {str(record["id"]): row for row, record in enumerate(common.records(data, file))}
        ends = [(row_of[a], row_of[b]) for a, b in zip(table["id_a"], table["id_b"], strict=True)]
    kept = [sorted(pair) for pair, j in zip(ends, table["jaccard"], strict=True) if float(j) >= least]
    columns = np.array([pair for pair in kept if pair[1] < len(texts)], np.int64).reshape(-1, 2)
    return Set(texts, columns[:, 0], columns[:, 1], **options)


def of_labels(records: list[dict[str, Any]], label: str, **options: Any) -> Set:
    """A corpus in which records of one label are the same thing."""
    members: dict[Any, list[int]] = {}
    for row, record in enumerate(records):
        members.setdefault(record[label], []).append(row)
    parts = [np.array(rows)[np.array(np.triu_indices(len(rows), 1))] for rows in members.values() if len(rows) > 1]
    left, right = np.concatenate(parts, axis=1)
    return Set([record["text"] for record in records], left, right, **options)


def of_listed(data: Path, file: str) -> Set:
    """Records of two sources with labelled pairs; pairs labelled both ways are left out."""
    records = list(common.records(data, file))
    row_of = {record["id"]: row for row, record in enumerate(records)}
    table = rows_of(data, f"{file}.pairs")
    labels: dict[tuple[int, int], set[str]] = {}
    for a, b, match in zip(table["id_a"], table["id_b"], table["match"], strict=True):
        labels.setdefault((row_of[a], row_of[b]), set()).add(match)
    kept = {pair: values == {"1"} for pair, values in labels.items() if len(values) == 1}
    ends = np.array(list(kept), np.int64)
    texts = [record["text"].replace("|", " ") for record in records]
    return Set(texts, ends[:, 0], ends[:, 1], np.array(list(kept.values())))


def bible(data: Path) -> Set:
    """The first 4,000 verses in each of the versions."""
    records = list(common.records(data, "en_bible_ot"))
    wanted = set(list(dict.fromkeys(record["ref"] for record in records))[:4000])
    return of_labels([record for record in records if record["ref"] in wanted], "ref")


def plagiarism(data: Path) -> Set:
    """Answers, each with its source: derived from it, or not."""
    records = list(common.records(data, "en_plagiarised_answers"))
    row_of = {record["id"]: row for row, record in enumerate(records)}
    table = rows_of(data, "en_plagiarised_answers.pairs")
    ends = np.array([(row_of[a], row_of[b]) for a, b in zip(table["id_answer"], table["id_source"], strict=True)])
    match = np.array([category != "non" for category in table["category"]])
    return Set([record["text"] for record in records], ends[:, 0], ends[:, 1], match)


def editions(data: Path) -> Set:
    """Tang poems: the first 12,000 of each edition; the same poem is a listed pair of J >= 0.3."""
    records = list(common.records(data, "zh_tang_two_editions"))
    first, second = ([row for row, r in enumerate(records) if r["edition"] == e][:12_000] for e in ("qts", "yd"))
    kept = first + second
    row_of = {records[row]["id"]: at for at, row in enumerate(kept)}
    table = rows_of(data, "zh_tang_two_editions.pairs_c3")
    columns = zip(table["id_qts"], table["id_yd"], table["jaccard"], strict=True)
    ends = np.array([(row_of[a], row_of[b]) for a, b, j in columns if float(j) >= 0.3 and a in row_of and b in row_of])
    side = np.repeat([0, 1], [len(first), len(second)])
    return Set([records[row]["text"] for row in kept], ends[:, 0], ends[:, 1], side=side, chinese=True)


def rows_of(data: Path, name: str) -> dict[str, list[str]]:
    from nearkin.io import read_table

    return read_table(data / f"{name}.tsv.gz")


SETS: dict[str, Callable[[Path], Set]] = {
    "news": lambda data: of_pairs(data, "en_20news", "en_20news.pairs_w3_j50", 0.8),
    "licences": lambda data: of_pairs(data, "en_licences", "en_licences.pairs_w3_j70", 0.8),
    "Bible verses": bible,
    "plagiarism": plagiarism,
    "products Abt-Buy": lambda data: of_listed(data, "er_abt_buy"),
    "products Amazon-Google": lambda data: of_listed(data, "er_amazon_google"),
    "citations DBLP-ACM": lambda data: of_listed(data, "er_dblp_acm"),
    "citations Cora": lambda data: of_labels(list(common.records(data, "er_cora")), "cluster"),
    "laws (zh)": lambda data: of_labels(list(common.records(data, "zh_laws")), "family", chinese=True),
    "news (zh)": lambda data: of_pairs(data, "zh_news_sogou", "zh_news_sogou.pairs_c4_j30", 0.5, chinese=True),
    "reviews (zh)": lambda data: of_pairs(data, "zh_reviews", "zh_reviews.pairs_c3_j50", 0.8, 25_000, chinese=True),
    "Song poems (zh)": lambda data: of_pairs(data, "zh_song_poems", "zh_song_poems.pairs_c3_j50", 0.5, chinese=True),
    "Tang editions (zh)": editions,
}
ABOUT = {
    "news": "J ≥ 0.8 of word 3-grams",
    "licences": "J ≥ 0.8 of word 3-grams",
    "Bible verses": "the same verse in six versions",
    "plagiarism": "answers derived from their source, of 95",
    "products Abt-Buy": "the same product, labelled pairs",
    "products Amazon-Google": "the same product, labelled pairs",
    "citations DBLP-ACM": "the same paper, labelled pairs",
    "citations Cora": "the same paper",
    "laws (zh)": "versions of one law",
    "news (zh)": "J ≥ 0.5 of character 4-grams: reprints",
    "reviews (zh)": "J ≥ 0.8 of character 3-grams",
    "Song poems (zh)": "J ≥ 0.5 of character 3-grams",
    "Tang editions (zh)": "the same poem in two editions",
}


# Cuts


def cuts_of_hits(at: Any, hits: Rows, found: Rows) -> list[Cut]:
    return [(float(cut), int(h), int(f)) for cut, h, f in zip(at, hits, found, strict=True)]


def cuts_of_distances(corpus: Set, recipe: Any) -> list[Cut]:
    """Every radius of a fingerprint."""
    prints = Prints.of(corpus.texts, recipe)
    reach = int(REACH * recipe.bits)
    distances = prints.distances(corpus.left, corpus.right)

    def within(values: Rows) -> Rows:
        return np.bincount(values[values <= reach], minlength=reach + 1).cumsum()

    if corpus.match is not None:
        return cuts_of_hits(range(reach + 1), within(distances[corpus.match]), within(distances))
    found = np.zeros(reach + 1, np.int64)
    for left, right, near in prints.pairs(reach):
        found += np.bincount(near[corpus.judged(left, right)], minlength=reach + 1)
    return cuts_of_hits(range(reach + 1), within(distances), found.cumsum())


def cuts_of_similarities(corpus: Set, similarity: NDArray[np.float64], pairs: tuple[Rows, Rows] | None) -> list[Cut]:
    """Every threshold: of the listed pairs, or of all pairs that were found beside the true ones."""
    if corpus.match is not None:
        hits = [(similarity[corpus.match] >= step - 1e-9).sum() for step in STEPS]
        return cuts_of_hits(STEPS, np.array(hits), np.array([(similarity >= step - 1e-9).sum() for step in STEPS]))
    left, right = pairs or (np.zeros(0, np.int64),) * 2
    judged = corpus.judged(left, right)
    n = len(corpus.texts)
    true = np.isin(left * n + right, corpus.left * n + corpus.right)
    found = [(judged & (similarity >= step - 1e-9)).sum() for step in STEPS]
    return cuts_of_hits(
        STEPS, np.array([(true & (similarity >= step - 1e-9)).sum() for step in STEPS]), np.array(found)
    )


def exact(corpus: Set, recipe: Any) -> tuple[list[Cut], Any]:
    """Jaccard similarity of the recipe's features; the pairs and their similarity too."""
    import nearkin as nk

    if corpus.match is not None:
        similarity = nk.similarity(corpus.texts, corpus.left, corpus.right, recipe=recipe)
        return cuts_of_similarities(corpus, similarity, None), (corpus.left, corpus.right, similarity)
    least = 0.35
    found = similar_pairs(corpus.texts, recipe, least, lambda done: None, deviations=2.0)
    cuts = cuts_of_similarities(corpus, found.similarity, (found.left, found.right))
    return [cut for cut in cuts if cut[0] >= least], (found.left, found.right, found.similarity)


def of_signatures(corpus: Set, signatures: NDArray[Any], counts: NDArray[np.int64]) -> list[Cut]:
    """The share of equal values of signatures."""
    if corpus.match is not None:
        return cuts_of_similarities(corpus, share(signatures, corpus.left, corpus.right), None)
    n = len(signatures)
    keys = [np.zeros(0, np.int64)]
    for band in range(BANDS):
        part = np.ascontiguousarray(signatures[:, band * ROWS : (band + 1) * ROWS])
        groups = np.unique(part.view([("", part.dtype)] * ROWS).reshape(-1), return_inverse=True)[1].reshape(-1)
        groups = np.where(counts > 0, groups, -1)
        order = np.argsort(groups, kind="stable")
        bounds = np.flatnonzero(np.diff(groups[order], prepend=-2))
        for rows in np.split(order, bounds[1:]):
            if len(rows) > 1 and groups[rows[0]] >= 0:
                rows = np.sort(rows)
                left, right = np.triu_indices(len(rows), 1)
                keys.append(rows[left] * n + rows[right])
        keys = [np.unique(np.concatenate(keys))]
    left, right = np.divmod(keys[0], n)
    similarity = share(signatures, left, right)
    return [cut for cut in cuts_of_similarities(corpus, similarity, (left, right)) if cut[0] >= 0.4]


def share(signatures: NDArray[Any], left: Rows, right: Rows) -> NDArray[np.float64]:
    parts = [np.zeros(0)]
    for start in range(0, len(left), 1 << 16):
        part = slice(start, start + (1 << 16))
        parts.append((signatures[left[part]] == signatures[right[part]]).mean(axis=1))
    return np.concatenate(parts)


def of_clusters(corpus: Set, labels: NDArray[np.int64]) -> Cut:
    """Pairs of one cluster, counted without listing them."""
    together = labels[corpus.left] == labels[corpus.right]
    if corpus.match is not None:
        return 0.0, int((together & corpus.match).sum()), int(together.sum())

    def pairs(values: NDArray[np.int64]) -> int:
        sizes = np.unique(values, return_counts=True)[1]
        return int((sizes * (sizes - 1) // 2).sum())

    found = pairs(labels)
    if corpus.side is not None:
        found -= sum(pairs(labels[corpus.side == side]) for side in (0, 1))
    return 0.0, int(together.sum()), found


def of_found(corpus: Set, left: Rows, right: Rows) -> Cut:
    """Pairs that a method lists."""
    n = len(corpus.texts)
    found = np.unique(np.minimum(left, right) * n + np.maximum(left, right))
    known = corpus.left * n + corpus.right
    if corpus.match is not None:
        listed = np.isin(known, found)
        return 0.0, int((listed & corpus.match).sum()), int(listed.sum())
    judged = corpus.judged(*np.divmod(found, n))
    return 0.0, int(np.isin(found[judged], known).sum()), int(judged.sum())


def best(cuts: list[Cut], true: int) -> dict[str, float]:
    """The cut of the best F1."""
    at, hits, found = max(cuts, key=lambda cut: 2 * cut[1] / (cut[2] + true))
    return {
        "at": at,
        "precision": hits / found if found else 0.0,
        "recall": hits / true,
        "f1": 2 * hits / (found + true),
        "found": found,
    }


# Methods


def recipe_of(features: str, weight: str = "binary", family: str = "simhash:128", hash: str = "xxh3") -> Any:
    import nearkin as nk

    return nk.Recipe(f"{features}|{weight}|{hash}|{family}")


def grams(text: str, *, chinese: bool) -> list[bytes]:
    """Word 3-grams, or character 4-grams of Chinese, which has no spaces."""
    words = re.findall(r"\w+", text.lower())
    parts, n, join = ("".join(words), 4, "") if chinese else (words, 3, " ")
    return list({join.join(parts[i : i + n]).encode() for i in range(max(len(parts) - n + 1, 1))})


def datasketch_signatures(texts: list[str], *, chinese: bool) -> tuple[list[Any], NDArray[np.int64]]:
    """Its signatures, and how many grams each is of."""
    from datasketch import MinHash

    rows, counts = [], []
    for start in range(0, len(texts), 1000):
        batch = [grams(text, chinese=chinese) for text in texts[start : start + 1000]]
        counts += [0 if part == [b""] else len(part) for part in batch]
        rows += MinHash.bulk(batch, num_perm=128)
    return rows, np.array(counts)


def datasketch_pairs(signatures: list[Any], counts: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """What its index gives at its default threshold, 0.9."""
    from datasketch import MinHashLSH

    index = MinHashLSH(num_perm=128)
    pairs = []
    for row in np.flatnonzero(counts).tolist():
        pairs += [(other, row) for other in index.query(signatures[row])]
        index.insert(row, signatures[row], check_duplication=False)
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def text_dedup(corpus: Set) -> dict[str, list[tuple[str, Cut, float]]]:
    """Its clusters at several thresholds: minhash (default 0.7), and simhash at its defaults (64 bits, radius 3)."""
    runs: list[tuple[str, list[str]]] = [("minhash", ["--threshold", step]) for step in ("0.5", "0.7", "0.9")]
    runs.append(("simhash", []))
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in corpus.texts)
        file.flush()
        command = [TEXT_DEDUP, common.ROOT / "bench" / "text_dedup_clusters.py", file.name, len(corpus.texts)]
        given = "".join(json.dumps(run) + "\n" for run in runs)
        done = subprocess.run(list(map(str, command)), input=given, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    found: dict[str, list[tuple[str, Cut, float]]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            result = json.loads(line.removeprefix("RESULT "))
            cut = of_clusters(corpus, np.array(result["clusters"]))
            named = (" ".join(result["options"]), cut, result["cpu"] / len(corpus.texts) * 1e6)
            found.setdefault(result["family"], []).append(named)
    return found


SIMHASH = {f"SimHash 128, {kind} {n}": f"{kind}:{n}|binary|xxh3|simhash:128" for kind, n in WINDOWS}
KEYWORDS = {
    "SimHash 128, cut words 1": "cut:script|word:1|binary|xxh3|simhash:128",
    "SimHash 128, cut words 3": "cut:script|word:3|binary|xxh3|simhash:128",
    "SimHash 128, keywords": "zh-keywords",
}
"""Words cut by dictionary where a script has no spaces; the 20 of the largest TF-IDF, which is jieba's table."""


Scores = dict[str, dict[str, Any]]


def of_simhash(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Fingerprints within a radius, unverified; and the job at its defaults, verified at 0.8."""
    import nearkin as nk
    from nearkin.theory import simhash_radius

    for name, recipe in SIMHASH.items():
        tops[name] = best(cuts_of_distances(corpus, nk.Recipe(recipe)), corpus.true)
    for name, features in (("char 4", "char:4"), ("word 3", "word:3")):
        recipe = recipe_of(features)
        cuts, (left, right, similarity) = exact(corpus, recipe)
        tops[f"exact Jaccard, {name}"] = best(cuts, corpus.true)
        # What `dedup` lists, and the copies of it: candidates within the radius, verified.
        near = Prints.of(corpus.texts, recipe).distances(left, right) <= simhash_radius(0.8, 128)
        match = near & (similarity >= 0.8)
        defaults[f"nearkin SimHash, {name}"] = best([of_found(corpus, left[match], right[match])], corpus.true)


def of_keywords(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Fingerprints of words that were cut by dictionary, and of keywords."""
    import nearkin as nk

    for name, recipe in KEYWORDS.items():
        tops[name] = best(cuts_of_distances(corpus, nk.Recipe.of(recipe)), corpus.true)


def of_peers(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """Other packages."""
    import nearkin as nk

    # The package's fingerprints, through the preset that equals them; its index has radius 2 by default.
    cuts = cuts_of_distances(corpus, nk.Recipe.preset("simhash-pypi"))
    tops["simhash"], defaults["simhash"] = best(cuts, corpus.true), best(cuts[2:3], corpus.true)
    signatures, counts = datasketch_signatures(corpus.texts, chinese=corpus.chinese)
    values = np.array([signature.hashvalues for signature in signatures])
    tops["datasketch MinHash"] = best(of_signatures(corpus, values, counts), corpus.true)
    defaults["datasketch MinHash"] = best([of_found(corpus, *datasketch_pairs(signatures, counts))], corpus.true)


def of_text_dedup(corpus: Set, tops: Scores, defaults: Scores) -> None:
    """text-dedup, with the CPU time of its whole command."""
    for family, runs in text_dedup(corpus).items():
        scored = [{**best([cut], corpus.true), "options": options, "us": us} for options, cut, us in runs]
        tops[f"text-dedup {family}"] = max(scored, key=lambda score: score["f1"])
        defaults[f"text-dedup {family}"] = next(s for s in scored if s["options"] in ("", "--threshold 0.7"))


METHODS: dict[str, Callable[[Set, Scores, Scores], None]] = {
    "simhash": of_simhash,
    "keywords": of_keywords,
    "peers": of_peers,
    "text-dedup": of_text_dedup,
}


def measure(corpus: Set, methods: list[str], last: dict[str, Any]) -> dict[str, Any]:
    """The best cut and the defaults of some methods, beside what the last run has of others."""
    tops: Scores = {}
    defaults: Scores = {}
    for name in methods:
        METHODS[name](corpus, tops, defaults)
    about = {"documents": len(corpus.texts), "characters": float(np.mean([len(text) for text in corpus.texts]))}
    before = {part: last.get(part, {}) for part in ("best", "defaults")}
    scores = {"best": {**before["best"], **tops}, "defaults": {**before["defaults"], **defaults}}
    return {**about, "true_pairs": corpus.true, **scores}


# Speed and hashes


def speeds(data: Path) -> dict[str, dict[str, float]]:
    """CPU microseconds a document."""
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


HASH_SETS = ["plagiarism", "citations DBLP-ACM", "citations Cora", "laws (zh)", "news (zh)"]


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--sets", {"nargs": "*", "default": None, "help": "measure these again, keep the last run's others"}),
        ("--methods", {"nargs": "*", "default": list(METHODS), "help": "measure these, keep the last run's others"}),
        ("--parts", {"nargs": "*", "default": ["sets", "speed", "hashes"], "help": "sets, speed, hashes"}),
        ("--report", {"action": "store_true", "help": "write the tables of the last run again"}),
    )
    import nearkin as nk

    if options.report:
        name = sorted(common.RUNS.glob("quality-table-*.json"))[-1].name
        report(common.latest("quality-table"), name)
        return
    nk.set_num_threads(1)
    last = common.latest("quality-table") if list(common.RUNS.glob("quality-table-*.json")) else {}
    found: dict[str, Any] = {name: last.get(name, {}) for name in ("sets", "speed", "hashes")}
    if "sets" in options.parts:
        for name in options.sets or SETS:
            start = time.perf_counter()
            found["sets"][name] = measure(SETS[name](options.data), options.methods, found["sets"].get(name, {}))
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
            for part in ("best", "defaults"):
                for each, score in found["sets"][name][part].items():
                    values = " ".join(f"{key} {score[key]:.3f}" for key in ("at", "precision", "recall", "f1"))
                    print(f"  {part} {each}: {values}", file=sys.stderr)
            save(found)
    if "speed" in options.parts:
        found["speed"] = speeds(options.data)
    if "hashes" in options.parts:
        found["hashes"] = hashes(options.data, HASH_SETS)
    path = save(found)
    report(json.loads(path.read_text(encoding="utf-8")), path.name)


def save(found: dict[str, Any]) -> Path:
    """The run so far, the sets in their order."""
    ordered = {**found, "sets": {name: found["sets"][name] for name in SETS if name in found["sets"]}}
    versions = {**common.versions("datasketch", "numpy", "simhash"), "text-dedup": "0.4.0"}
    return common.save("quality-table", ordered, versions=versions)


# The page


ORDER = ("nearkin", "SimHash", "exact", "simhash", "datasketch", "text-dedup")


def order(method: str) -> tuple[int, int, str]:
    """Ours first; fingerprints in the order of their features."""
    named = [*SIMHASH, *KEYWORDS]
    kind = next(at for at, start in enumerate(ORDER) if method.startswith(start))
    return kind, named.index(method) if method in named else 0, method


def report(run: dict[str, Any], name: str) -> None:
    """The tables of docs/quality.md."""
    page = common.ROOT / "docs" / "quality.md"
    sets = run["sets"]

    def cell(score: dict[str, float] | None) -> str:
        return "" if score is None else f"{score['f1']:.2f} ({score['precision']:.2f} / {score['recall']:.2f})"

    def tables(part: str) -> str:
        methods = sorted({method for one in sets.values() for method in one[part]}, key=order)
        texts = []
        for chinese in (False, True):
            chosen = {each: one for each, one in sets.items() if ("(zh)" in each) == chinese}
            tops = {each: max(score["f1"] for score in one[part].values()) for each, one in chosen.items()}
            rows = []
            for method in methods:
                scores = {each: one[part].get(method) for each, one in chosen.items()}
                cells = [
                    f"**{cell(score)}**" if score and f"{score['f1']:.2f}" == f"{tops[each]:.2f}" else cell(score)
                    for each, score in scores.items()
                ]
                # A mean over other corpora than those of the rows beside it would compare nothing.
                values = [score["f1"] for score in scores.values() if score]
                mean = f"{np.mean(values):.3f}" if len(values) == len(chosen) else ""
                rows.append([method, mean, *cells])
            texts.append(common.table(["F1 (precision / recall)", "mean F1", *chosen], rows))
        return "\n\n".join(texts)

    rows = [
        [each, f"{one['documents']:,}", f"{one['characters']:,.0f}", f"{one['true_pairs']:,}", ABOUT[each]]
        for each, one in sets.items()
    ]
    header = ["corpus", "documents", "mean length", "true pairs", "which are"]
    common.splice(page, "sets", common.table(header, rows))
    common.splice(page, "best", tables("best"))
    common.splice(page, "at-defaults", tables("defaults"))

    # A partial run leaves the tables of what it did not measure as they are.
    if run["speed"]:
        speed = {each: dict(values) for each, values in run["speed"].items()}
        for each in ("news", "news (zh)"):
            for method, score in sets[each]["defaults"].items():
                if "us" in score:
                    speed.setdefault(method, {})[each] = score["us"]
        ours = speed["SimHash 128, char 4"]
        rows = [
            [method, *(f"{values[each]:,.1f}" for each in ours), *(f"{values[each] / ours[each]:.1f}" for each in ours)]
            for method, values in speed.items()
        ]
        header = ["CPU µs a document", *ours, *(f"× ours, {each}" for each in ours)]
        common.splice(page, "speed", common.table(header, rows))
    if run["hashes"]:
        rows = []
        for each, one in run["hashes"].items():
            cells = [
                f"{one['us']:.1f}",
                f"{one['ns_a_feature']:.1f}",
                f"{one['balance_mean']:.4f}",
                f"{one['balance_worst']:.4f}",
            ]
            rows.append([each, *cells, *(f"{score['f1']:.3f}" for score in one["best"].values())])
        expected = next(iter(run["hashes"].values()))["expected_balance"]
        header = ["hash, bits", "CPU µs a document", "ns a feature", "mean imbalance", "worst bit", *HASH_SETS]
        note = f"\n\nFair coins would have a mean imbalance of {expected:.4f}."
        common.splice(page, "hashes", common.table(header, rows) + note)
    about = f"{run['machine']['processor']}, {run['date'][:10]}, `{run['command']}`; raw data: `bench/runs/{name}`."
    common.splice(page, "table-run", about)


if __name__ == "__main__":
    main()
