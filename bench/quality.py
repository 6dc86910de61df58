"""Accuracy of the defaults and of other packages on labelled corpora (docs/quality.md).

    python bench/quality.py [default packages differ containment features kinds keep weights]

- `default`: the ground truth of a corpus are all pairs with J >= 0.8 of character 4-grams. Candidates for it come from
  256 bits with another seed, within radius 62: at J = 0.8 the expected distance is at most 38.8 with a standard
  deviation of 5.7, so that the radius is four deviations above it. Reported are the recall of `nk.dedup` with its
  defaults (for all pairs and for J < 0.85), its bands, and its candidates per document.
- `packages`: every package at its defaults on pairs labelled by people, or listed by the corpus itself; and CPU seconds
  of the complete job by family.
- `differ`: how near-duplicates differ from the kept document (`dedup.distinguishers`), and how many pairs people
  call the same.
- `containment`: texts contained in others. The variants of a base text are: its first half; itself with a quarter of
  another text; itself between a menu and a footer; itself followed by another base; its sentences in another order. A
  pair is correct if one text was built from the other, or both from one base.
- `features`: what unrelated texts share by length, script and feature: the mean Jaccard similarity of pairs, and the
  mean share of the features of a text of 500 bytes that a query has; F1 of all labelled corpora by feature at 0.8.
- `kinds`: removals by the default and by each kind of corpus (`dedup.kinds`), on the labelled sources by which the kind
  was chosen and on others. A removal is right if both documents are in one connected component of the labels: records
  of products, which their catalogues list once each, and lines of logs, by their template, have labels for all pairs.
- `keep`: a text and a copy with one kind of damage to 1 to 20% of it: how often a keep rule prefers the copy; a tie,
  which ids decide, counts half. Every second text of each source chose the weights of `best`, the others are shown.
- `weights`: documents of one template. Each is the beginning of licences, as long as its share says, and then a topic
  of its own (J < 0.2 with all others), in two versions: the second lacks 2% of the words of the topic, or 1% of the
  characters of Chinese. The first source chose the threshold of weights by idf, the others are shown. A merge is wrong
  if the topics differ.
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

import common
import nearkin as nk
from nearkin._core import content_hashes, feature_sets, soundness
from nearkin.dedup.distinguishers import NAMES, differences
from nearkin.dedup.keep import best_numbers
from nearkin.dedup.kinds import Kind
from nearkin.quality.ground_truth import SampleFingerprints, find_similar_pairs
from nearkin.theory import Banding

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
Pairs = set[tuple[int, int]]
Rows = NDArray[np.int64]


def load(data: Path, name: str) -> list[str]:
    """Return the texts of a corpus."""
    file, first = SETS[name]
    return common.texts(data, file)[:first]


def pairs_within(texts: list[str], recipe: Any, radius: int) -> tuple[Rows, Rows]:
    """Return all pairs within the radius; texts without features are left out."""
    fingerprints, counts = nk.fingerprint(texts, recipe, return_counts=True)
    rows = np.flatnonzero(counts)
    index = nk.HammingIndex(recipe.bits, radius=radius)
    index.add(rows, fingerprints[rows])
    result = index.pairs(radius)
    left, right = np.asarray(result.left, np.int64), np.asarray(result.right, np.int64)
    return np.minimum(left, right), np.maximum(left, right)


def true_pairs(texts: list[str], features: str) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Return the pairs with J >= 0.8, and their J."""
    recipe = nk.Recipe(f"{features}|binary|xxh3:77|simhash:256")
    left, right = pairs_within(texts, recipe, 62)
    similarity = nk.similarity(texts, left, right, recipe=recipe)
    match = similarity >= THRESHOLD
    return left[match], right[match], similarity[match]


def pair_clusters(left: Rows, right: Rows, count: int) -> Rows:
    """Return the number of the connected component of each pair."""
    graph = sparse.coo_matrix((np.ones(len(left), np.int8), (left, right)), shape=(count, count))
    return np.unique(connected_components(graph, directed=False)[1][left], return_inverse=True)[1]


def least_recall(near: NDArray[np.bool_], cluster: Rows) -> float:
    """Return the lower end of a 95% interval of recall, drawn by clusters of pairs.

    It is the 2.5% quantile of 2,000 draws of the clusters with replacement. If all pairs are found, it is the recall at
    which n clusters without a miss have a probability of 2.5%.
    """
    count = int(cluster.max()) + 1
    if near.all():
        return float(0.025 ** (1 / count))
    hits, pairs = np.bincount(cluster, weights=near, minlength=count), np.bincount(cluster, minlength=count)
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), 2000)
    return float(np.quantile((drawn @ hits) / (drawn @ pairs), 0.025))


@dataclass
class Set:
    """Texts and the rows of judged pairs; `match` says which are true, `side` limits pairs to different sides."""

    texts: list[str]
    left: Rows
    right: Rows
    match: NDArray[np.bool_] | None = None
    side: NDArray[np.int64] | None = None
    """Only pairs across sides are judged."""
    chinese: bool = False

    @property
    def true(self) -> int:
        """The number of true pairs."""
        return len(self.left) if self.match is None else int(self.match.sum())

    def is_judged(self, left: Rows, right: Rows) -> NDArray[np.bool_]:
        """Return which pairs count."""
        return np.ones(len(left), bool) if self.side is None else self.side[left] != self.side[right]


def load_listed_pairs(
    file: str, pairs: str, minimum: float, data: Path, first: int | None = None, step: int = 1, **options: Any
) -> Set:
    """Load a corpus, or its first records or every `step`-th one, with the list of its similar pairs."""
    texts = common.texts(data, file)[:first]
    table = read_columns(data, f"{file}.pairs_{pairs}")
    if "row_a" in table:
        ends = [(int(a), int(b)) for a, b in zip(table["row_a"], table["row_b"], strict=True)]
    else:
        row_of = {str(record["id"]): row for row, record in enumerate(common.records(data, file))}
        ends = [(row_of[a], row_of[b]) for a, b in zip(table["id_a"], table["id_b"], strict=True)]
    kept = [sorted(pair) for pair, j in zip(ends, table["jaccard"], strict=True) if float(j) >= minimum]
    kept = [pair for pair in kept if pair[1] < len(texts) and pair[0] % step == pair[1] % step == 0]
    columns = np.array(kept, np.int64).reshape(-1, 2) // step
    return Set(texts[::step], columns[:, 0], columns[:, 1], **options)


def pairs_by_label(records: list[dict[str, Any]], label: str, **options: Any) -> Set:
    """Build a corpus in which records of one label are the same."""
    members: dict[Any, list[int]] = {}
    for row, record in enumerate(records):
        members.setdefault(record[label], []).append(row)
    parts = [np.array(rows)[np.array(np.triu_indices(len(rows), 1))] for rows in members.values() if len(rows) > 1]
    left, right = np.concatenate(parts, axis=1)
    return Set([record["text"] for record in records], left, right, **options)


def load_by_label(file: str, label: str, data: Path, **options: Any) -> Set:
    return pairs_by_label(list(common.records(data, file)), label, **options)


def load_labelled_pairs(file: str, data: Path) -> Set:
    """Load records of two sources with labelled pairs; contradictory labels are dropped."""
    records = list(common.records(data, file))
    row_of = {record["id"]: row for row, record in enumerate(records)}
    table = read_columns(data, f"{file}.pairs")
    labels: dict[tuple[int, int], set[str]] = {}
    for a, b, match in zip(table["id_a"], table["id_b"], table["match"], strict=True):
        labels.setdefault((row_of[a], row_of[b]), set()).add(match)
    kept = {pair: values == {"1"} for pair, values in labels.items() if len(values) == 1}
    ends = np.array(list(kept), np.int64)
    texts = [record["text"].replace("|", " ") for record in records]
    return Set(texts, ends[:, 0], ends[:, 1], np.array(list(kept.values())))


def bible(data: Path) -> Set:
    """Load the first 4,000 verses in each version."""
    records = list(common.records(data, "en_bible_ot"))
    target = set(list(dict.fromkeys(record["ref"] for record in records))[:4000])
    return pairs_by_label([record for record in records if record["ref"] in target], "ref")


def plagiarism(data: Path) -> Set:
    """Load answers, each with its source: derived from it, or not."""
    records = list(common.records(data, "en_plagiarised_answers"))
    row_of = {record["id"]: row for row, record in enumerate(records)}
    table = read_columns(data, "en_plagiarised_answers.pairs")
    ends = np.array([(row_of[a], row_of[b]) for a, b in zip(table["id_answer"], table["id_source"], strict=True)])
    match = np.array([category != "non" for category in table["category"]])
    return Set([record["text"] for record in records], ends[:, 0], ends[:, 1], match)


def editions(data: Path) -> Set:
    """Load the first 12,000 Tang poems of each edition; the same poem is a listed pair of J >= 0.3."""
    records = list(common.records(data, "zh_tang_two_editions"))
    first, second = ([row for row, r in enumerate(records) if r["edition"] == e][:12_000] for e in ("qts", "yd"))
    kept = first + second
    row_of = {records[row]["id"]: at for at, row in enumerate(kept)}
    table = read_columns(data, "zh_tang_two_editions.pairs_c3")
    columns = zip(table["id_qts"], table["id_yd"], table["jaccard"], strict=True)
    ends = np.array([(row_of[a], row_of[b]) for a, b, j in columns if float(j) >= 0.3 and a in row_of and b in row_of])
    side = np.repeat([0, 1], [len(first), len(second)])
    return Set([records[row]["text"] for row in kept], ends[:, 0], ends[:, 1], side=side, chinese=True)


def read_columns(data: Path, name: str) -> dict[str, list[str]]:
    from nearkin.io import read_table

    return read_table(data / f"{name}.tsv.gz")


LABELLED: dict[str, tuple[str, Callable[[Path], Set]]] = {
    "news": ("J ≥ 0.8 of word 3-grams", partial(load_listed_pairs, "en_20news", "w3_j50", 0.8)),
    "licences": (
        "J ≥ 0.8 of word 3-grams; every third text",
        partial(load_listed_pairs, "en_licences", "w3_j70", 0.8, step=3),
    ),
    "Bible verses": ("the same verse in six versions", bible),
    "plagiarism": ("answers derived from their source, of 95", plagiarism),
    "products Abt-Buy": ("the same product, labelled pairs", partial(load_labelled_pairs, "er_abt_buy")),
    "products Amazon-Google": ("the same product, labelled pairs", partial(load_labelled_pairs, "er_amazon_google")),
    "citations DBLP-ACM": ("the same paper, labelled pairs", partial(load_labelled_pairs, "er_dblp_acm")),
    "citations Cora": ("the same paper", partial(load_by_label, "er_cora", "cluster")),
    "laws (zh)": ("versions of one law", partial(load_by_label, "zh_laws", "family", chinese=True)),
    "news (zh)": (
        "J ≥ 0.5 of character 4-grams: reprints",
        partial(load_listed_pairs, "zh_news_sogou", "c4_j30", 0.5, chinese=True),
    ),
    "reviews (zh)": (
        "J ≥ 0.8 of character 3-grams",
        partial(load_listed_pairs, "zh_reviews", "c3_j50", 0.8, first=25_000, chinese=True),
    ),
    "Song poems (zh)": (
        "J ≥ 0.5 of character 3-grams",
        partial(load_listed_pairs, "zh_song_poems", "c3_j50", 0.5, chinese=True),
    ),
    "Tang editions (zh)": ("the same poem in two editions", editions),
}
"""Corpora by name: how its true pairs are defined, and the function that loads it from the folder of the corpora."""
Cut = tuple[int, int]


def share_band(signatures: NDArray[Any], left: Rows, right: Rows, banding: Banding) -> NDArray[np.bool_]:
    """Return which pairs share a band and enough values, as candidates of `BandIndex` do."""
    b, r = banding.num_bands, banding.num_rows
    parts = [np.zeros(0, bool)]
    for start in range(0, len(left), 1 << 16):
        part = slice(start, start + (1 << 16))
        equal = signatures[left[part]] == signatures[right[part]]
        shared = equal[:, : b * r].reshape(-1, b, r).all(axis=2).any(axis=1)
        parts.append(shared & (equal.sum(axis=1) >= banding.min_matches))
    return np.concatenate(parts)


def count_cluster_pairs(corpus: Set, labels: NDArray[np.int64]) -> Cut:
    """Count the pairs of one cluster without listing them."""
    together = labels[corpus.left] == labels[corpus.right]
    if corpus.match is not None:
        return int((together & corpus.match).sum()), int(together.sum())

    def pairs(values: NDArray[np.int64]) -> int:
        sizes = np.unique(values, return_counts=True)[1]
        return int((sizes * (sizes - 1) // 2).sum())

    result = pairs(labels)
    if corpus.side is not None:
        result -= sum(pairs(labels[corpus.side == side]) for side in (0, 1))
    return int(together.sum()), result


def count_pairs(corpus: Set, left: Rows, right: Rows) -> Cut:
    """Count the pairs that a method lists."""
    n = len(corpus.texts)
    result = np.unique(np.minimum(left, right) * n + np.maximum(left, right))
    existing = corpus.left * n + corpus.right
    if corpus.match is not None:
        listed = np.isin(existing, result)
        return int((listed & corpus.match).sum()), int(listed.sum())
    judged = corpus.is_judged(*np.divmod(result, n))
    return int(np.isin(result[judged], existing).sum()), int(judged.sum())


def grams(text: str, *, chinese: bool) -> list[bytes]:
    """Return word 3-grams, or character 4-grams of Chinese."""
    words = re.findall(r"\w+", text.lower())
    parts, n, join = ("".join(words), 4, "") if chinese else (words, 3, " ")
    return list({join.join(parts[i : i + n]).encode() for i in range(max(len(parts) - n + 1, 1))})


FEATURES = {"char 4": "char:4", "word 3": "word:3"}


def build_recipe(features: str, family: str = "simhash:128") -> Any:
    return nk.Recipe(f"{features}|binary|xxh3|{family}")


def score_dedup(corpus: Set, defaults: dict[str, Any]) -> None:
    """Score the candidates of each family at the defaults, verified at 0.8."""
    from nearkin.theory import choose_bands, simhash_radius

    banding = choose_bands(0.8, 0.95, 128)
    for name, features in FEATURES.items():
        recipe = build_recipe(features)
        if corpus.match is None:
            result = find_similar_pairs(corpus.texts, recipe, 0.8, lambda *_: None)
            left, right = result.left, result.right
        else:
            similarity = nk.similarity(corpus.texts, corpus.left, corpus.right, recipe=recipe)
            left, right = corpus.left[similarity >= 0.8], corpus.right[similarity >= 0.8]
        near = SampleFingerprints.of(corpus.texts, recipe).distances(left, right) <= simhash_radius(0.8, 128)
        signatures = nk.signature(corpus.texts, build_recipe(features, "minhash:128"))
        shared = share_band(signatures, left, right, banding)
        for title, match in (("SimHash", near), ("MinHash", shared)):
            score = cut_score(count_pairs(corpus, left[match], right[match]), corpus.true)
            defaults[f"nearkin {title}, {name}"] = score


JOB_SETS = ("20 Newsgroups", "Old Testament", "laws (zh)", "reviews (zh)")


def jobs(data: Path) -> dict[str, Any]:
    """Measure the CPU seconds of `dedup` by family on the first 25,000 documents, and the number it keeps."""
    results: dict[str, Any] = {}
    for corpus in JOB_SETS:
        texts = common.texts(data, SETS[corpus][0])[:25_000]
        for name in ("SimHash", "MinHash"):
            recipe = build_recipe("char:4", family=f"{name.lower()}:128")
            runs = [common.timed(partial(nk.dedup, texts, recipe=recipe)) for _ in range(5)]
            kept = len(runs[0][2].kept)
            results.setdefault(name, {})[corpus] = {"cpu": statistics.median(run[0] for run in runs), "kept": kept}
    return results


DIFFER_CORPORA = {
    "er_abt_buy": ("records: products", ""),
    "er_amazon_google": ("records: products", ""),
    "er_dblp_acm": ("records: papers", ""),
    "er_cora": ("records: citations", "cluster"),
    "log_loghub": ("log lines", "event"),
    "zh_laws": ("articles: laws", "family"),
    "en_licences": ("articles: licences", "license"),
    "en_20news": ("articles: messages", ""),
    "zh_news_sogou": ("articles: news", ""),
    "zh_reviews": ("reviews", ""),
    "url_httpparams_train": ("payloads", "attack_type"),
}


Said = Callable[[str, str], bool | None]


def labels(data: Path, name: str, field_name: str) -> Said:
    """Return the function that says whether people call two documents the same; None without a label."""
    if field_name:
        rows = [row for row in common.records(data, name) if not row.get("catch_all")]
        label = {str(row["id"]): row[field_name] for row in rows}
        return lambda item, other: label[item] == label[other] if {item, other} <= label.keys() else None
    if not (data / f"{name}.pairs.tsv.gz").is_file():
        return lambda item, other: None
    table = read_columns(data, f"{name}.pairs")
    rows = zip(table["id_a"], table["id_b"], table["match"], strict=True)
    listed = {frozenset((a, b)): match == "1" for a, b, match in rows}
    return lambda item, other: listed.get(frozenset((item, other)))


def judge_removals(result: nk.DedupResult, said: Said, target: Callable[[dict[str, Any]], bool]) -> dict[str, int]:
    """Count the selected near-duplicates that are removed, those that people judged, and those they call the same."""
    rows = [row for row in result.clusters.rows() if row["reason"] in ("near", "same-letters") and target(row)]
    answers = [said(str(row["id"]), str(row["representative"])) for row in rows]
    message = [answer for answer in answers if answer is not None]
    return {"pairs": len(rows), "judged": len(message), "same": sum(message)}


def measure_differ(data: Path, name: str, field_name: str) -> dict[str, Any]:
    """Measure one corpus without rules, and with pairs that differ in numbers kept separate."""
    texts = common.texts(data, name)
    ids = [str(row["id"]) for row in common.records(data, name)]
    said = labels(data, name, field_name)
    results: dict[str, Any] = {"documents": len(texts)}
    result = nk.dedup(texts, ids)
    rows, positions = list(result.clusters.rows()), {id: row for row, id in enumerate(ids)}
    left, right = ([texts[positions[row[side]]] for row in rows] for side in ("representative", "id"))
    for rule in NAMES:
        differ = {row["id"] for row, reason in zip(rows, differences([rule], left, right), strict=True) if reason}
        results[rule] = judge_removals(result, said, lambda row, differ=differ: row["id"] in differ)
        if rule == "numbers":
            results["near"] = judge_removals(result, said, lambda row: True)
            results["same_letters"] = judge_removals(result, said, lambda row: row["reason"] == "same-letters")
            results["others"] = judge_removals(result, said, lambda row, differ=differ: row["id"] not in differ)
    apart = nk.dedup(texts, ids, differ="numbers")
    results["apart"] = judge_removals(apart, said, lambda row: True)
    return results


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "–"


def report_differ(run: dict[str, Any]) -> None:
    """Write the table of differences."""

    def removed(name: str) -> Callable[[Any], str]:
        return lambda row: share(row[name]["pairs"], row["near"]["pairs"])

    def same(name: str) -> Callable[[Any], str]:
        return lambda row: share(row[name]["same"], row[name]["judged"])

    columns = {
        "near-duplicates removed": lambda row: f"{row['near']['pairs']:,}",
        "same features": removed("same_letters"),
        **{f"differ in {rule}": removed(rule) for rule in NAMES},
        "the same, if they differ in numbers": same("numbers"),
        "the same, if not": same("others"),
        "the same, of all": same("near"),
        "with `differ=numbers`": same("apart"),
    }
    rows = {f"{name} ({DIFFER_CORPORA[name][0]})": row for name, row in run["results"].items()}
    table = common.table_of("corpus", columns, rows)
    common.splice("quality.md", "quality-differ", f"{table}\n\n{common.source(run)}")


CONTAINMENT_CORPORA = {"20 Newsgroups": ("en_20news", 1200, 150), "Sogou news (zh)": ("zh_news_sogou", 600, 120)}
RECIPES = {"20 Newsgroups": ("char:4", "char:8", "word:3"), "Sogou news (zh)": ("char:4", "char:8")}
CONTAINMENT_KINDS = ("half", "added", "furniture", "merged", "reordered")
MENUS = {
    "20 Newsgroups": (
        "Home News Sport Business Weather Travel Video Radio Podcasts Subscribe Log in Search Newsletter\n",
        "\nRead more: ten places to visit this summer. Imprint Privacy Terms of use Contact Advertise Careers\n",
    ),
    "Sogou news (zh)": (
        "首页 新闻 体育 财经 娱乐 科技 汽车 房产 教育 视频 博客 论坛 登录 注册 手机版 搜索\n",
        "\n相关阅读 热门推荐 网友评论 关于我们 联系方式 广告服务 版权声明 网站地图 意见反馈 京公网安备\n",
    ),
}


def variants(bases: list[str], corpus: str, fillers: list[str]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return kind, text and bases of every variant."""
    rng = random.Random(7)
    menu, footer = MENUS[corpus]
    results = []
    for at, base in enumerate(bases):
        other = (at + 1) % len(bases)
        filler = rng.choice(fillers)
        sentences = re.split(r"(?<=[.!?。！？\n])", base)
        rng.shuffle(sentences)
        made = {
            "half": base[: len(base) // 2],
            "added": base + "\n" + (filler * 9)[: len(base) // 4],
            "furniture": menu + base + footer,
            "merged": base + "\n\n" + bases[other],
            "reordered": "".join(sentences),
        }
        results += [(kind, text, (at, other) if kind == "merged" else (at,)) for kind, text in made.items()]
    return results


def build_variants(corpus: str, data: Path) -> tuple[list[str], dict[tuple[int, int], str], list[set[int]]]:
    """Return the texts, the pairs of base and variant with their kind, and the bases of each text."""
    file, count, number = CONTAINMENT_CORPORA[corpus]
    texts = [text for text in dict.fromkeys(common.texts(data, file)) if len(text) >= 300]
    random.Random(1).shuffle(texts)
    texts = texts[:count]
    bases, fillers = texts[:number], texts[number:]
    made = variants(bases, corpus, fillers)
    truth = {(base, count + at): kind for at, (kind, _, of) in enumerate(made) for base in of}
    sources = [{at} if at < number else set() for at in range(len(texts))]
    sources += [set(of) for *_, of in made]
    return texts + [text for _, text, _ in made], truth, sources


def brute_force(texts: list[str], recipe: nk.Recipe) -> Pairs:
    """Return all pairs with containment of at least 0.8, by a product of sparse matrices."""
    offsets, hashes = feature_sets(recipe.core, texts)
    distinct, columns = np.unique(hashes, return_inverse=True)
    ones = np.ones(len(hashes), np.int32)
    matrix = sparse.csr_matrix((ones, columns, offsets), shape=(len(texts), len(distinct)))
    sizes = np.diff(offsets)
    results: Pairs = set()
    for start in range(0, len(texts), 500):
        shared = (matrix[start : start + 500] @ matrix.T).tocoo()
        left, right = shared.row + start, shared.col
        minimum = np.minimum(sizes[left], sizes[right])
        chunk = (left < right) & (shared.data / minimum >= THRESHOLD)
        results |= set(zip(left[chunk].tolist(), right[chunk].tolist(), strict=True))
    return results


def ensemble(texts: list[str], recipe: nk.Recipe) -> Pairs:
    """Query the LSH Ensemble of datasketch with every text for those that contain 0.8 of it."""
    from datasketch import MinHash, MinHashLSHEnsemble

    offsets, hashes = feature_sets(recipe.core, texts)
    sets = [hashes[start:end] for start, end in pairwise(offsets.tolist())]
    signed = MinHash.bulk([[item.tobytes() for item in values] for values in sets], num_perm=128)
    index = MinHashLSHEnsemble(threshold=THRESHOLD, num_perm=128, num_part=16)
    index.index(
        (at, item, len(values)) for at, (item, values) in enumerate(zip(signed, sets, strict=True)) if len(values)
    )
    results: Pairs = set()
    for at, (item, values) in enumerate(zip(signed, sets, strict=True)):
        if len(values):
            results |= {(min(at, other), max(at, other)) for other in index.query(item, len(values)) if other != at}
    return results


def containment_pairs(texts: list[str], recipe: nk.Recipe, measure: str) -> Pairs:
    result = nk.dedup(texts, recipe=recipe, measure=measure, threshold=THRESHOLD, links="all")  # type: ignore[arg-type]
    return {(row["left"], row["right"]) for row in result.pairs.with_copies()}


def run_job(texts: list[str], recipe: nk.Recipe, measure: str) -> None:
    nk.dedup(texts, recipe=recipe, measure=measure, threshold=THRESHOLD, keep="longest")  # type: ignore[arg-type]


def containment_scores(
    results: Pairs, exact: Pairs, truth: dict[tuple[int, int], str], sources: list[set[int]], originals: int
) -> dict[str, Any]:
    """Return recall by kind, precision, and the share of the exact pairs."""
    recall = {}
    for kind in CONTAINMENT_KINDS:
        pairs = [pair for pair, of in truth.items() if of == kind]
        recall[kind] = sum(pair in results for pair in pairs) / len(pairs)
    judged = [pair for pair in results if max(pair) >= originals]
    right = sum(bool(sources[left] & sources[right]) for left, right in judged)
    return {
        "recall": recall,
        "found": len(results),
        "precision": right / len(judged) if judged else None,
        "exact": len(results & exact) / len(exact),
        "below": len(results - exact),
    }


def measure_default(texts: list[str]) -> dict[str, Any]:
    """Measure recall and cost of a deduplication with the defaults."""
    texts = list(dict.fromkeys(texts))
    left, right, similarity = true_pairs(texts, "char:4")
    result = nk.dedup(texts, links="all")
    columns = result.pairs.columns
    ends = [np.asarray(columns[name], np.int64) for name in ("left", "right")]
    near = np.isin(left * len(texts) + right, np.minimum(*ends) * len(texts) + np.maximum(*ends))
    below, summary = similarity < 0.85, result.summary
    return {
        "distinct": len(texts),
        "true_pairs": len(left),
        "recall": float(near.mean()),
        "least_recall": least_recall(near, pair_clusters(left, right, len(texts))),
        "recall_below_85": float(near[below].mean()) if below.any() else None,
        "below_threshold": int((np.asarray(columns["similarity"]) < THRESHOLD).sum()),
        "candidates_per_document": summary["candidates"] / len(texts),
        **{name: summary.get(name) for name in ("num_bands", "num_rows", "background_similarity")},
    }


def datasketch_pairs(texts: list[str], *, chinese: bool) -> Pairs:
    """Return the pairs of datasketch's MinHash of 128 values and its LSH index at its default threshold, 0.9."""
    from datasketch import MinHash, MinHashLSH

    index, pairs = MinHashLSH(num_perm=128), set()
    for start in range(0, len(texts), 1000):
        batch = [grams(text, chinese=chinese) for text in texts[start : start + 1000]]
        for row, minhash in enumerate(MinHash.bulk(batch, num_perm=128), start):
            if batch[row - start] != [b""]:
                pairs |= {(other, row) for other in index.query(minhash)}
                index.insert(row, minhash, check_duplication=False)
    return pairs


def run_default(data: Path) -> None:
    """Measure the defaults on every corpus, and write the tables."""
    sets: dict[str, Any] = {}
    for name in SETS:
        texts = load(data, name)
        sets[name] = {"documents": len(texts), "characters": float(np.mean([len(text) for text in texts]))}
        sets[name] |= measure_default(texts)
        print(name, sets[name], file=sys.stderr)
    content = {"recipe": nk.dedup([]).summary["recipe"], "sets": sets}
    common.save("quality", content, versions=common.versions("numpy"))


def report_default(run: dict[str, Any]) -> None:
    """Write the tables of the default recipe and of the published pairs."""
    columns: dict[str, Callable[[Any], str]] = {
        "documents": lambda row: f"{row['documents']:,}",
        "mean length": lambda row: f"{row['characters']:,.0f}",
        "pairs with J ≥ 0.8": lambda row: f"{row['true_pairs']:,}",
        "recall": lambda row: f"{row['recall']:.1%}",
        "at least": lambda row: f"{row['least_recall']:.1%}",
        "recall for J < 0.85": lambda row: "" if row["recall_below_85"] is None else f"{row['recall_below_85']:.1%}",
        "bands": lambda row: f"{row['num_bands']} of {row['num_rows']}",
        "candidates per document": lambda row: f"{row['candidates_per_document']:.2f}",
        "removed below 0.8": lambda row: f"{row['below_threshold']:,}",
    }
    table = common.table_of("corpus", columns, run["sets"])
    common.splice("quality.md", "default", f"Default: `{run['recipe']}`.\n\n{table}")
    common.splice("quality.md", "run", common.source(run))


TEXT_DEDUP_PROGRAM = """
import importlib, json, os, sys, tempfile
corpus, rows, family, *options = sys.argv[1:]
module = importlib.import_module(f"text_dedup.{family}")
folder = tempfile.mkdtemp(prefix="text-dedup-")
command = ["--path", "json", "--data_files", corpus, "--split", "train", "--cache_dir", folder + "/cache"]
command += ["--output", folder + "/out", "--column", "text", "--num_proc", "1", "--batch_size", "10000", *options]
module.main.main(command, standalone_mode=False)
print("RESULT " + json.dumps([int(module.uf.find(row)) for row in range(int(rows))]))
"""


def score_text_dedup(corpus: Set, family: str, options: list[str]) -> dict[str, float]:
    """Score the clusters of text-dedup's command; its simhash fails on texts of fewer than 5 characters."""
    rows = [row for row, text in enumerate(corpus.texts) if family != "simhash" or len(text) >= 5]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": corpus.texts[row]}) + "\n" for row in rows)
        file.flush()
        python = common.PEERS["text-dedup"].python
        command = [python, "-c", TEXT_DEDUP_PROGRAM, file.name, str(len(rows)), family, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    clusters = np.arange(len(corpus.texts))
    clusters[rows] = np.array(rows)[json.loads(line.removeprefix("RESULT "))]
    return cut_score(count_cluster_pairs(corpus, clusters), corpus.true)


def cut_score(cut: Cut, true: int) -> dict[str, float]:
    hits, pairs = cut
    precision, recall = hits / pairs if pairs else 0.0, hits / true
    return {"precision": precision, "recall": recall, "f1": 2 * hits / (pairs + true), "found": pairs}


def run_packages(data: Path) -> None:
    """Score every package at its defaults, and time the jobs by family."""
    sets: dict[str, Any] = {}
    for name, (_, loader) in LABELLED.items():
        corpus, scores = loader(data), {}
        score_dedup(corpus, scores)
        left, right = pairs_within(corpus.texts, nk.Recipe.preset("simhash-pypi"), 2)
        scores["simhash"] = cut_score(count_pairs(corpus, left, right), corpus.true)
        near = sorted(datasketch_pairs(corpus.texts, chinese=corpus.chinese))
        left, right = np.array(near, np.int64).reshape(-1, 2).T
        scores["datasketch MinHash"] = cut_score(count_pairs(corpus, left, right), corpus.true)
        if common.PEERS["text-dedup"].installed:
            scores["text-dedup minhash"] = score_text_dedup(corpus, "minhash", ["--threshold", "0.7"])
            scores["text-dedup simhash"] = score_text_dedup(corpus, "simhash", [])
        characters = float(np.mean([len(text) for text in corpus.texts]))
        about = {"documents": len(corpus.texts), "characters": characters, "true_pairs": corpus.true}
        sets[name] = {**about, "defaults": scores}
        print(name, sets[name], file=sys.stderr)
    versions = common.versions("datasketch", "numpy", "simhash", "text-dedup")
    common.save("quality-table", {"sets": sets, "jobs": jobs(data)}, versions=versions)


def report_packages(run: dict[str, Any]) -> None:
    """Write the tables of all packages at their defaults."""
    sets, tables = run["sets"], []
    rows = [
        [name, f"{item['documents']:,}", f"{item['characters']:,.0f}", f"{item['true_pairs']:,}", LABELLED[name][0]]
        for name, item in sets.items()
    ]
    common.splice(
        "quality.md", "sets", common.table(["corpus", "documents", "mean length", "true pairs", "truth"], rows)
    )
    for chinese in (False, True):
        chosen = {name: item["defaults"] for name, item in sets.items() if ("(zh)" in name) == chinese}
        rows = []
        for method in next(iter(chosen.values())):
            scores = [values[method] for values in chosen.values()]
            cells = (f"{s['f1']:.2f} ({s['precision']:.2f} / {s['recall']:.2f})" for s in scores)
            rows.append([method, f"{np.mean([s['f1'] for s in scores]):.3f}", *cells])
        tables.append(common.table(["F1 (precision / recall)", "mean F1", *chosen], rows))
    common.splice("quality.md", "at-defaults", "\n\n".join(tables))
    rows = [
        [name, *(f"{v['cpu']:.2f} / {v['kept']:,}" for v in values.values())] for name, values in run["jobs"].items()
    ]
    header = ["CPU s / documents kept", *next(iter(run["jobs"].values()))]
    common.splice("quality.md", "jobs", common.table(header, rows))
    common.splice("quality.md", "table-run", common.source(run))


def run_differ(data: Path) -> None:
    results = {name: measure_differ(data, name, label) for name, (_, label) in DIFFER_CORPORA.items()}
    common.save("quality-differ", {"results": results}, versions=common.versions())


COMPARED = ("char:4", "char:5", "char:6", "char:8", "char:10", "char:12", "word:2", "word:3", "word:4", "word:5")
LABELLED_FEATURES = ("char:4", "char:5", "char:6", "char:8", "word:2", "word:3")
LENGTHS = (100, 1000, 10_000, 100_000, 1_000_000, 3_000_000)
UNRELATED = {"English": ("en_20news",), "Chinese": ("zh_laws", "zh_news_sogou")}


def unrelated_texts(pool: list[str], size: int, count: int) -> list[str]:
    """Join documents to disjoint texts of a number of bytes."""
    results, rest = [], iter(pool)
    for _ in range(count):
        text = b""
        while len(text) < size and (part := next(rest, None)) is not None:
            text += part.encode() + b"\n"
        if len(text) >= size:
            results.append(text[:size].decode(errors="ignore"))
    return results


def measure_unrelated(pool: list[str], size: int) -> dict[str, Any]:
    """Measure, by feature, the Jaccard similarity of unrelated texts, and what they have of texts of 500 bytes."""
    texts, short = unrelated_texts(pool[150:], size, 8), [text[:500] for text in unrelated_texts(pool[:150], 500, 60)]
    left, right = (rows.astype(np.int64) for rows in np.triu_indices(len(texts), 1))
    results = {}
    for features in COMPARED:
        recipe = nk.Recipe(f"{features}|binary|xxh3|simhash:64")
        jaccard = nk.similarity(texts, left, right, recipe=recipe)
        offsets, hashes = feature_sets(recipe.core, texts + short)
        sets = [hashes[start:end] for start, end in pairwise(offsets.tolist())]
        known = [np.sort(text) for text in sets[: len(texts)]]
        shares = [
            (text[np.searchsorted(text, part).clip(max=len(text) - 1)] == part).mean()
            for text in known
            for part in sets[len(texts) :]
        ]
        results[features] = {"jaccard": float(jaccard.mean()), "share": float(np.mean(shares))}
    return results


def score_features(corpus: Set, features: str) -> dict[str, float]:
    """Score all pairs at 0.8 of a feature."""
    recipe = build_recipe(features)
    if corpus.match is None:
        result = find_similar_pairs(corpus.texts, recipe, THRESHOLD, lambda *_: None)
        left, right = result.left, result.right
    else:
        match = nk.similarity(corpus.texts, corpus.left, corpus.right, recipe=recipe) >= THRESHOLD
        left, right = corpus.left[match], corpus.right[match]
    return cut_score(count_pairs(corpus, left, right), corpus.true)


def run_features(data: Path) -> None:
    unrelated: dict[str, dict[str, Any]] = {}
    for name, files in UNRELATED.items():
        pool = [text.split("\n\n", 1)[-1] for file in files for text in common.texts(data, file)]
        random.Random(1).shuffle(pool)
        unrelated[name] = {str(size): measure_unrelated(pool, size) for size in LENGTHS}
    labelled = {}
    for name, (_, loader) in LABELLED.items():
        corpus = loader(data)
        labelled[name] = {features: score_features(corpus, features) for features in LABELLED_FEATURES}
        print(name, labelled[name], file=sys.stderr)
    common.save("quality-features", {"unrelated": unrelated, "labelled": labelled}, versions=common.versions())


def report_features(run: dict[str, Any]) -> None:
    """Write the tables of features."""
    tables = []
    for value in ("jaccard", "share"):
        rows = [
            [f"{name}, {int(size):,} B", *(f"{row[features][value]:.3f}" for features in COMPARED)]
            for name, sizes in run["unrelated"].items()
            for size, row in sizes.items()
        ]
        header = {"jaccard": "mean J of unrelated texts", "share": "share of an unrelated text of 500 bytes"}[value]
        tables.append(common.table([header, *(f"`{features}`" for features in COMPARED)], rows))
    columns = {
        f"`{features}`": lambda row, features=features: "{f1:.2f} ({precision:.2f} / {recall:.2f})".format(
            **row[features]
        )
        for features in LABELLED_FEATURES
    }
    tables.append(common.table_of("F1 (precision / recall)", columns, run["labelled"]))
    common.splice("quality.md", "features", "\n\n".join([*tables, common.source(run)]))


def components(corpus: Set) -> list[int]:
    """Return the connected component of each document in the true pairs."""
    match = slice(None) if corpus.match is None else corpus.match
    left, right, count = corpus.left[match], corpus.right[match], len(corpus.texts)
    graph = sparse.coo_matrix((np.ones(len(left), np.int8), (left, right)), shape=(count, count))
    labels: list[int] = connected_components(graph, directed=False)[1].tolist()
    return labels


def logs(systems: tuple[str, ...], data: Path) -> Set:
    """Load the lines of some systems, which are the same if their templates are."""
    return pairs_by_label([row for row in common.records(data, "log_loghub") if row["system"] in systems], "event")


def programs(kind: str, data: Path) -> Set:
    """Load the source files of a language, which are the same if they are releases of one file."""
    rows = read_columns(data, "files_variants")
    named = zip(rows["path"], rows["family"], rows["kind"], strict=True)
    family = {path: name for path, name, language in named if language == kind}
    with tarfile.open(data / "files_variants.tar.xz") as archive:
        contents = {member.name: archive.extractfile(member) for member in archive if member.name in family}
        files = [(family[name], file.read().decode(errors="replace")) for name, file in contents.items() if file]
    return pairs_by_label([{"family": name, "text": text} for name, text in files], "family")


def tang(first: int, data: Path) -> Set:
    """Load 8,000 Tang poems of each edition from this number on."""
    records = list(common.records(data, "zh_tang_two_editions"))
    chosen = [row for e in ("qts", "yd") for row in [r for r in records if r["edition"] == e][first : first + 8000]]
    row_of = {record["id"]: at for at, record in enumerate(chosen)}
    table = read_columns(data, "zh_tang_two_editions.pairs_c3")
    columns = zip(table["id_qts"], table["id_yd"], table["jaccard"], strict=True)
    ends = np.array([(row_of[a], row_of[b]) for a, b, j in columns if float(j) >= 0.3 and a in row_of and b in row_of])
    return Set([record["text"] for record in chosen], ends[:, 0], ends[:, 1], chinese=True)


RELEASES = {
    1: "click 8.1.3 8.1.7 networkx 3.2 3.3 werkzeug 2.3.8 3.0.3 aiohttp 3.9.5 3.10.5 pytest 8.2.2 8.3.2",
    2: "jinja2 3.1.2 3.1.4 rich 13.6.0 13.7.1 tornado 6.3.3 6.4.1 sympy 1.12 1.13.2 scrapy 2.10.1 2.11.2",
    3: "django 4.2.16 5.0.9 httpx 0.26.0 0.27.2 nltk 3.8.1 3.9.1 docutils 0.20.1 0.21.2 pyparsing 3.0.9 3.1.4",
}
"""Wheels and two releases of each: 1 chose the kind, 2 showed it, 3 is of later."""


class Renamer(ast.NodeTransformer):
    """Gives other names to a function, its parameters and its variables, and removes docstrings."""

    def __init__(self, function: ast.AST) -> None:
        self.names: dict[str, str] = {}
        for node in ast.walk(function):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.id if stored else getattr(node, "arg" if isinstance(node, ast.arg) else "name", None)  # type: ignore[attr-defined]
            if isinstance(name, str) and not isinstance(node, ast.alias) and name not in ("self", "cls"):
                self.names.setdefault(name, f"v{len(self.names)}")

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Rename a node and those below it."""
        super().generic_visit(node)
        for field in ("id", "arg", "name"):
            old = getattr(node, field, None)
            if isinstance(old, str) and old in self.names and not isinstance(node, ast.keyword | ast.alias):
                setattr(node, field, self.names[old])
        body = getattr(node, "body", None)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(body, list) and len(body) > 1:
            first = body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = body[1:]
        return node


def wheel_functions(name: str, version: str) -> dict[tuple[str, ...], tuple[str, ast.AST]]:
    """Download a wheel; return its methods and outermost functions by file and qualified name, as source and tree."""
    results: dict[tuple[str, ...], tuple[str, ast.AST]] = {}

    def walk(node: ast.AST, path: tuple[str, ...], lines: list[str]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                source = "\n".join(lines[child.lineno - 1 : child.end_lineno])
                results.setdefault((*path, child.name), (source, child))
            elif isinstance(child, ast.ClassDef):
                walk(child, (*path, child.name), lines)

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, f"{name}=={version}"]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(folder).iterdir())) as wheel:
            for member in sorted(member for member in wheel.namelist() if member.endswith(".py")):
                text = wheel.read(member).decode(errors="replace")
                walk(ast.parse(text), (name, member), text.split("\n"))
    return results


def wheels(part: int, renamed: bool, _data: Path) -> Set:
    """Load functions of two releases, those of the newer one optionally renamed.

    Functions of one qualified name are the same, and those that are equal but for names of variables.
    """
    words, rows = RELEASES[part].split(), []
    same: dict[str, str] = {}
    for name, old, new in zip(words[::3], words[1::3], words[2::3], strict=True):
        sides = [wheel_functions(name, version) for version in (old, new)]
        for path in random.Random(name).sample(sorted(sides[0].keys() & sides[1].keys()), 250):
            for number, side in enumerate(sides):
                source, tree = side[path]
                plain = ast.unparse(Renamer(tree).visit(tree))
                label = same.setdefault(plain, same.get("/".join(path), "/".join(path)))
                same.setdefault("/".join(path), label)
                rows.append({"path": same["/".join(path)], "text": plain if renamed and number else source})
    return pairs_by_label(rows, "path")


def read_titles(source: str, data: Path) -> list[str]:
    """Load the distinct titles of a source."""
    if source == "wikipedia":
        lines = gzip.decompress((data / "url_wikipedia_10k.txt.gz").read_bytes()).decode().split()
        texts = [unquote(line.rsplit("/", 1)[-1]).replace("_", " ") for line in lines]
    elif source == "en_20news":
        heads = (re.search(r"^Subject: (?:Re: ?)*(.+)", row["text"], re.M) for row in common.records(data, source))
        texts = [head[1] for head in heads if head]
    else:
        texts = [row["family" if source == "zh_laws" else "title"] for row in common.records(data, source)]
    letters = {"".join(filter(str.isalnum, text.casefold())): text for text in texts}
    return sorted(text for key, text in letters.items() if len(key) > 3)[:: max(1, len(letters) // 3000)]


def misspell(text: str, letters: str, rng: random.Random) -> str:
    """Make one or, in a longer text, perhaps two errors: a transposition, substitution, deletion or insertion."""
    at, letter = rng.randrange(1, len(text) - 1), rng.choice(letters)
    forms = [text[at + 1] + text[at], letter + text[at + 1], text[at + 1], letter + text[at : at + 2]]
    return text[:at] + rng.choice(forms) + text[at + 2 :]


def titles(source: str, data: Path) -> Set:
    """Plant copies (errors, order, case) and titles with another number or another word beside those of a source."""
    rng, originals = random.Random(68), read_titles(source, data)
    words = [word for text in originals for word in re.findall(r"[^\W\d_]{6,}", text)]
    chinese, records = source.startswith("zh"), []
    letters = "".join(words) if chinese else "abcdefghijklmnopqrstuvwxyz"
    pairs = [("SR-2023-052", "SR-2023-053"), ("Amendment 16", "Amendment 17"), ("256GB", "512GB"), ("II", "III")]
    for number, text in enumerate(originals):
        long = re.findall(r"[^\W\d_一二三四五六七八九十百千○]{6,}", text)
        change, word = rng.choice(["error", "order", "number", "word", "none"]), rng.choice(long or [""])
        forms = [(number, text)]
        if change == "error" and word:
            forms.append((number, text.replace(word, misspell(word, letters, rng), 1)))
        elif change == "order":
            forms.append((number, " ".join(reversed(text.upper().split()))))
        elif change == "number":
            forms = [((number, end), f"{text} {end}") for end in rng.choice(pairs)]
        elif change == "word" and word and word != text and not chinese:
            forms.append(((number, "word"), text.replace(word, rng.choice(words), 1)))
        records += [{"label": label, "text": form} for label, form in forms]
    return pairs_by_label(records, "label", chinese=chinese)


def paper_titles(data: Path) -> Set:
    """Load the titles of DBLP and ACM, with their labelled pairs."""
    titles = [row["f_title"] for row in common.records(data, "er_dblp_acm")]
    return replace(load_labelled_pairs("er_dblp_acm", data), texts=titles)


KIND_CORPORA: dict[str, tuple[Kind, bool, Callable[[Path], Set]]] = {
    "20 Newsgroups": ("articles", True, LABELLED["news"][1]),
    "Sogou news (zh)": ("articles", False, LABELLED["news (zh)"][1]),
    "laws (zh)": ("articles", False, LABELLED["laws (zh)"][1]),
    "Abt-Buy": ("products", True, LABELLED["products Abt-Buy"][1]),
    "Amazon-Google": ("products", False, LABELLED["products Amazon-Google"][1]),
    "Apache, Hadoop, Mac, Spark": ("logs", True, partial(logs, ("Apache", "Hadoop", "Mac", "Spark"))),
    "HDFS, Linux, OpenSSH, Zookeeper": ("logs", False, partial(logs, ("HDFS", "Linux", "OpenSSH", "Zookeeper"))),
    "Tang poems 1 to 8,000": ("poems", True, partial(tang, 0)),
    "Tang poems 12,001 to 20,000": ("poems", False, partial(tang, 12_000)),
    "DBLP-ACM": ("titles", True, paper_titles),
    "20 Newsgroups, planted": ("titles", True, partial(titles, "en_20news")),
    "Song poems (zh), planted": ("titles", True, partial(titles, "zh_song_poems")),
    "Wikipedia, planted": ("titles", False, partial(titles, "wikipedia")),
    "laws (zh), planted": ("titles", False, partial(titles, "zh_laws")),
    "jQuery, lodash": ("code", True, partial(programs, "js")),
    "CPython library": ("code", False, partial(programs, "py")),
    **{
        name + ", renamed" * renamed: ("functions", part == 1, partial(wheels, part, renamed))
        for part, name in enumerate(("five wheels", "five other wheels", "five wheels, later"), 1)
        for renamed in (False, True)
    },
}
"""Corpora by name: kind, whether the kind was chosen by this corpus, and its loader."""


def count_removals(corpus: Set, kind: Kind | None) -> dict[str, int]:
    """Count removals, wrong ones, and the copies that could be removed."""
    label = components(corpus)
    rows = [row for row in nk.dedup(corpus.texts, kind=kind).clusters.rows() if row["reason"] != "kept"]
    wrong = sum(label[row["id"]] != label[row["representative"]] for row in rows)
    return {"removed": len(rows), "wrong": wrong, "copies": len(label) - len(set(label))}


def run_kinds(data: Path) -> None:
    results = {}
    for name, (kind, _, loader) in KIND_CORPORA.items():
        corpus = loader(data)
        results[name] = {"default": count_removals(corpus, None), "kind": count_removals(corpus, kind)}
    common.save("quality-kinds", {"results": results}, versions=common.versions())


def report_kinds(run: dict[str, Any]) -> None:
    """Write the table of kinds."""

    def figures(row: dict[str, int]) -> list[str]:
        found = share(row["removed"] - row["wrong"], row["copies"])
        return [f"{row['removed']:,}", f"{row['wrong']:,}", found]

    rows = []
    for name, row in run["results"].items():
        kind, chosen, _ = KIND_CORPORA[name]
        role = "chosen" if chosen else "shown"
        rows.append([f"{kind}: {name} ({role})", *figures(row["default"]), *figures(row["kind"])])
    figure_names = ("removed", "wrong", "of the copies")
    header = ["corpus", *(f"{side}: {name}" for side in ("default", "kind") for name in figure_names)]
    common.splice("quality.md", "quality-kinds", f"{common.table(header, rows)}\n\n{common.source(run)}")


def run_containment(data: Path) -> None:
    """Measure containment, the Jaccard job and brute force on the variants of every corpus."""
    corpora: dict[str, Any] = {}
    for corpus in CONTAINMENT_CORPORA:
        texts, truth, sources = build_variants(corpus, data)
        originals = CONTAINMENT_CORPORA[corpus][1]
        corpora[corpus] = {"texts": len(texts), "pairs": len(truth), "methods": {}}
        for features in RECIPES[corpus]:
            recipe = nk.Recipe(f"{features}|binary|xxh3|simhash:128")
            exact = brute_force(texts, recipe)
            calls: dict[str, tuple[Pairs, Callable[[], Any]]] = {
                "brute force": (exact, partial(brute_force, texts, recipe)),
                **{
                    name: (containment_pairs(texts, recipe, measure), partial(run_job, texts, recipe, measure))
                    for name, measure in (("containment", "containment"), ("Jaccard", "jaccard"))
                },
            }
            seconds = common.rounds({name: common.timer(call) for name, (_, call) in calls.items()}, 3)
            if features == "char:4":
                cpu, wall, pairs = common.timed(partial(ensemble, texts, recipe))
                calls["LSH Ensemble"] = (pairs, partial(ensemble, texts, recipe))
                seconds["LSH Ensemble"] = {"cpu": cpu, "wall": wall}
            for name, (pairs, _) in calls.items():
                scores = containment_scores(pairs, exact, truth, sources, originals)
                corpora[corpus]["methods"][f"{name}, {features}"] = {**scores, **seconds[name]}
    common.save("quality-containment", {"corpora": corpora}, versions=common.versions("datasketch", "scipy"))


def report_containment(run: dict[str, Any]) -> None:
    """Write the table of containment."""
    parts = []
    for corpus, values in run["corpora"].items():
        rows = []
        for name, scores in values["methods"].items():
            shares = [*(scores["recall"][kind] for kind in CONTAINMENT_KINDS), scores["precision"], scores["exact"]]
            rows.append([name, *(f"{share:.1%}" for share in shares), f"{scores['cpu']:.2f}"])
        header = [" ", *CONTAINMENT_KINDS, "precision", "of the exact pairs", "CPU s"]
        text = f"{corpus}, {values['texts']:,} texts, {values['pairs']:,} pairs of base and variant:"
        parts.append(f"{text}\n\n{common.table(header, rows)}")
    common.splice("quality.md", "containment", "\n\n".join([*parts, common.source(run)]))


MENUS = (
    "Home\nNews\nSport\nWeather\nContact us\nSign in",
    "Home | World | Business | Sport | Log in",
    "Skip to content\nMenu\nAbout\nSubscribe\nShare on Facebook",
    "Home > Archive > Articles",
    "首页\n新闻\n体育\n财经\n登录\n联系我们",
    "首页 | 新闻 | 财经 | 体育 | 注册",
    "首页 > 资讯 > 正文",
    "返回首页\n关于我们\n网站地图",
)
"""Four in English, four in Chinese."""
MISREAD = dict(
    zip("loiehmstnaugfc", ["1", "0", "l", "c", "b", "rn", "5", "f", "u", "o", "ii", "9", "|", "e"], strict=True)
)
"""What optical character recognition reads for a letter."""


def misread_bytes(text: str) -> str:
    """Return UTF-8 as Windows-1252, with the control characters of Latin-1 where that has none."""
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())


def parts_of(text: str) -> list[str]:
    """Return paragraphs, lines or sentences: the first kind with at least five parts."""
    kinds = (r"(?<=\n)(?=\s*\n)", r"(?<=\n)(?=\n*\S)", r"(?<=[.!?] )|(?<=[。！？])")
    return next((parts for kind in kinds if len(parts := [p for p in re.split(kind, text) if p]) >= 5), [text])


def damage(text: str, kind: str, share: float, rng: random.Random) -> str:
    """Return the text with a kind of damage to this share of it; the text itself if it has nothing to damage."""
    chinese = bool(re.search("[\u4e00-\u9fff]", text))

    def some(test: Callable[[int, str], bool], part: float) -> set[int]:
        rows = [at for at, c in enumerate(text) if test(at, c)]
        return set(rng.sample(rows, min(len(rows), max(1, round(part * len(rows))))))

    def span(count: int) -> tuple[int, int]:
        size = max(1, round(count * share))
        start = rng.randrange(count - size + 1)
        return start, start + size

    def change(rows: set[int], to: Callable[[str], str]) -> str:
        return "".join(to(c) if at in rows else c for at, c in enumerate(text))

    def in_word(at: int, c: str) -> bool:
        return text[at - 1 : at].isalpha() or text[at + 1 : at + 2].isalpha()

    parts = parts_of(text)
    start, end = span(len(parts))
    if kind == "cut off":
        return text[: round(len(text) * (1 - share))]
    if kind == "mojibake" and chinese:
        start, end = span(len(text))
        return text[:start] + misread_bytes(text[start:end]) + text[end:]
    if kind == "mojibake":
        rows = some(lambda at, c: not c.isascii() or (c in "'\"-" and in_word(at, c)), min(1, 5 * share))
        return change(rows, lambda c: misread_bytes({"'": "’", '"': "“", "-": "—"}.get(c, c)))
    if kind == "replaced":
        return change(some(lambda _, c: not c.isspace(), share / 5), lambda _: "\ufffd")
    if kind == "OCR" and chinese:
        rows = some(lambda _, c: "\u4e10" < c < "\u9f00", share / 5)
        return change(rows, lambda c: chr(ord(c) + rng.choice((-3, -1, 1, 2))))
    if kind == "OCR":
        return change(some(lambda _, c: c in MISREAD, share / 2), MISREAD.__getitem__)
    if kind == "menu":
        menu = rng.choice(MENUS[4:] if chinese else MENUS[:4])
        whole = f"{menu}\n\n{text}" if rng.random() < 0.5 else f"{text}\n\n{menu}"
        return whole if len(menu) <= len(text) / 5 else text
    if kind == "no breaks":
        breaks = re.split(r"(\s*\n\s*)", text)
        start, end = span(len(breaks) // 2) if len(breaks) > 1 else (0, 0)
        return "".join(" " if at % 2 and start <= at // 2 < end else part for at, part in enumerate(breaks))
    if kind == "no spaces":
        rows = some(lambda at, c: c == " " and text[at - 1 : at].isalpha() and text[at + 1 : at + 2].isalpha(), share)
        return text if chinese else change(rows, lambda _: "")
    if len(parts) < 5 or len("".join(parts[start:end]).strip()) < len(text) / 100:
        return text
    return "".join([*parts[:end], *parts[start:]] if kind == "repeated" else [*parts[:start], *parts[end:]])


DAMAGES = ("cut off", "missing", "repeated", "mojibake", "replaced", "OCR", "menu", "no breaks", "no spaces")


def keep_sources(data: Path) -> dict[str, list[str]]:
    """Return the texts of each source, of 100 to 20,000 characters."""
    books: dict[str, list[str]] = {}
    for record in common.records(data, "en_bible_ot"):
        books.setdefault(f"{record['version']} {record['ref'].rpartition('.')[0]}", []).append(record["text"])
    library = [path.read_text("utf-8")[:8000] for path in sorted(Path(ast.__file__).parent.glob("*.py"))]
    sources = {
        "news": [text.partition("\n\n")[2] for text in common.texts(data, "en_20news")[::60]],
        "Bible, chapters": ["\n".join(verses) for verses in list(books.values())[::15]],
        "Bible, verses": common.texts(data, "en_bible_ot")[::500],
        "news (zh)": common.texts(data, "zh_news_sogou")[::5],
        "laws (zh)": common.texts(data, "zh_laws")[::7],
        "code": library,
    }
    usable = {name: [text.strip() for text in texts] for name, texts in sources.items()}
    return {
        name: [text for text in texts if 100 < len(text) < 20_000 and sum(map(str.isalpha, text)) > 50]
        for name, texts in usable.items()
    }


def run_keep(data: Path) -> None:
    """Count the damaged copies that a rule prefers."""
    rows = []
    for side, name, texts in [(at, *each) for at in (0, 1) for each in keep_sources(data).items()]:
        for kind in DAMAGES:
            rngs = [(text, random.Random(f"{at} {kind}")) for at, text in enumerate(texts) if at % 2 == side]
            pairs = [(text, damage(text, kind, rng.uniform(0.01, 0.2), rng)) for text, rng in rngs]
            both = [text for pair in pairs if pair[0] != pair[1] for text in pair]
            if not both:
                continue
            lengths = content_hashes(both)[1]
            scores = {"longest": lengths.astype(float), "best": best_numbers(soundness(both).reshape(-1, 7), lengths)}
            worse = {
                rule: float((score[1::2] > score[::2]).sum() + (score[1::2] == score[::2]).sum() / 2)
                for rule, score in scores.items()
            }
            rows.append({"shown": bool(side), "source": name, "damage": kind, "pairs": len(both) // 2, **worse})
    common.save("quality-keep", {"rows": rows})


def report_keep(run: dict[str, Any]) -> None:
    """Write the table of keep rules."""
    lines = []
    for kind in (*DAMAGES, "all"):
        cells = []
        for shown in (False, True):
            of = [row for row in run["rows"] if row["shown"] == shown and kind in (row["damage"], "all")]
            pairs = sum(row["pairs"] for row in of)
            cells += [
                f"{pairs:,}",
                "50%",
                *(f"{sum(row[rule] for row in of) / pairs:.1%}" for rule in ("longest", "best")),
            ]
        lines.append([kind, *cells])
    names = ("pairs", "first", "longest", "best")
    header = ["damage", *(f"{side}: {name}" for side in ("choosing", "shown") for name in names)]
    common.splice("dedup.md", "quality-keep", f"{common.table(header, lines)}\n\n{common.source(run)}")


WEIGHTED_THRESHOLD = 0.9
TOPICS = {"20 Newsgroups": 0, "Sogou news (zh)": 20, "laws (zh)": 30, "Song poems (zh)": 40}
"""Sources of topics, and the first licence of their template; the first source chose the threshold."""


def templated(data: Path, source: str, template_share: float) -> list[str]:
    """Return documents whose first `template_share` is a template; rows 2i and 2i + 1 are versions of one topic."""
    rng = random.Random(source)
    names = {"Song poems (zh)": ("zh_song_poems", None)}
    bodies = common.texts(data, {**SETS, **names}[source][0])
    if source == "20 Newsgroups":
        bodies = [text.partition("\n\n")[2] for text in bodies]
    topics = list(dict.fromkeys(text.strip()[:1000] for text in bodies[:: max(1, len(bodies) // 3000)]))
    topics = [text for text in topics if len(text) >= 200]
    topics = [topics[row] for row in nk.dedup(topics, threshold=0.2).kept_rows.tolist()][:1000]
    template = " ".join(load(data, "licences")[TOPICS[source] :][:20])
    result = []
    for topic in topics:
        head = template[: round(len(topic) * template_share / (1 - template_share))]
        words = topic.split(" ") if " " in topic[:100] else list(topic)
        gap, lost = ("", 0.01) if words == list(topic) else (" ", 0.02)
        changed = gap.join(word for word in words if rng.random() >= lost)
        result += [f"{head}\n{topic}", f"{head}\n{changed}"]
    return result


def count_merges(texts: list[str], topics: list[int], recipe: nk.Recipe | None, threshold: float) -> dict[str, Any]:
    """Count documents that another topic absorbs, and those of the others that their own topic absorbs."""
    result = nk.dedup(texts, recipe=recipe, threshold=threshold, recall=0.99)
    gone = [row for row in result.clusters.rows() if row["reason"] != "kept"]
    wrong = sum(topics[row["id"]] != topics[row["representative"]] for row in gone)
    return {"removed": len(gone), "wrong": wrong, "copies": len(topics) - len(set(topics)), "documents": len(topics)}


def run_weights(data: Path) -> None:
    """Count right and wrong merges by sets and by weights."""
    corpora = {
        f"{source}, template {share:.0%}": templated(data, source, share)
        for source in TOPICS
        for share in (0.75, 0.9, 0.95)
    }
    rows = []
    for name, texts in corpora.items():
        idf = nk.Idf.fit(texts, "char:4", min_df=5)
        recipe = nk.Recipe(f"char:4|idf:{idf.digest}|minhash:128:weighted", idf=idf)
        topics = [row // 2 for row in range(len(texts))]
        sides = {"sets": (None, THRESHOLD), "weights": (recipe, WEIGHTED_THRESHOLD)}
        rows.append(
            {"source": name, **{side: count_merges(texts, topics, *options) for side, options in sides.items()}}
        )
    common.save("quality-weights", {"rows": rows})


def report_weights(run: dict[str, Any]) -> None:
    """Write the table of templates."""
    rows = []
    for at, row in enumerate(run["rows"]):
        role = "chosen" if at < 3 else "shown"
        cells = []
        for side in (row["sets"], row["weights"]):
            cells += [share(side["wrong"], side["documents"]), share(side["removed"] - side["wrong"], side["copies"])]
        rows.append([f"{row['source']} ({role})", *cells])
    header = [
        "corpus",
        *(f"{side}: {name}" for side in ("sets", "weights") for name in ("wrong merges", "copies found")),
    ]
    common.splice("minhash.md", "quality-weights", f"{common.table(header, rows)}\n\n{common.source(run)}")


PARTS: dict[str, tuple[str, Callable[[Path], None], Callable[[dict[str, Any]], None]]] = {
    "default": ("quality", run_default, report_default),
    "packages": ("quality-table", run_packages, report_packages),
    "differ": ("quality-differ", run_differ, report_differ),
    "containment": ("quality-containment", run_containment, report_containment),
    "features": ("quality-features", run_features, report_features),
    "kinds": ("quality-kinds", run_kinds, report_kinds),
    "keep": ("quality-keep", run_keep, report_keep),
    "weights": ("quality-weights", run_weights, report_weights),
}


def main() -> None:
    options = common.arguments(__doc__, ("parts", {"nargs": "*", "help": f"{', '.join(PARTS)} (default: all)"}))
    if unknown := set(options.parts) - PARTS.keys():
        raise SystemExit(f"no part {unknown.pop()}; use {', '.join(PARTS)}")
    nk.set_num_threads(1)
    for name in options.parts or PARTS:
        benchmark, run, report = PARTS[name]
        if options.report is None:
            run(options.data)
        report(common.latest(benchmark, options.report or ""))


if __name__ == "__main__":
    main()
