"""Texts that are contained in others: what is found of built variants, beside the Jaccard job, brute force and a peer.

Of each corpus some texts are bases, and the others fill it up. Each base gets a variant of every kind:

| kind | is |
|---|---|
| half | the first half of the base |
| added | the base, and a quarter of its length of another text |
| furniture | the base between a menu and a footer that all pages of this kind share |
| merged | the base and another base, one after the other |
| reordered | the sentences of the base in another order |

A pair is *built* if one text was made from the other, or both from one base. Recall is the share of the pairs of base
and variant that are found; precision the share of the found pairs with a variant in them that are built; *exact* the
share of all pairs of containment 0.8 and more, by brute force over the same features, that are found. CPU seconds are
those of whole calls (for nearkin a deduplication that keeps the longest), medians of three interleaved rounds, on one
thread; brute force and the peer run once.

datasketch's LSH Ensemble (Zhu et al. 2016: MinHash bands by classes of size) is asked for every text, and its answers
are counted as they come; it does not verify.

Run: `python bench/quality_containment.py`; results go to `bench/runs/` and docs/quality.md.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import common
import nearkin as nk
from nearkin._core import feature_sets

CORPORA = {"20 Newsgroups": ("en_20news", 1200, 150), "Sogou news (zh)": ("zh_news_sogou", 600, 120)}
"""File, texts, and how many of them are bases."""
RECIPES = {"20 Newsgroups": ("char:4", "char:8", "word:3"), "Sogou news (zh)": ("char:4", "char:8")}
THRESHOLD = 0.8
KINDS = ("half", "added", "furniture", "merged", "reordered")
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
Pairs = set[tuple[int, int]]


def variants(bases: list[str], corpus: str, fillers: list[str]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Kind, text and bases of every variant."""
    rng = random.Random(7)
    menu, footer = MENUS[corpus]
    found = []
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
        found += [(kind, text, (at, other) if kind == "merged" else (at,)) for kind, text in made.items()]
    return found


def built(corpus: str, data: Path) -> tuple[list[str], dict[tuple[int, int], str], list[set[int]]]:
    """The texts; the pairs of base and variant with their kind; the bases that each text was made from."""
    file, count, number = CORPORA[corpus]
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
    """All pairs of containment from the threshold on: the product of the matrix of features with itself."""
    offsets, hashes = feature_sets(recipe.core, texts)
    distinct, columns = np.unique(hashes, return_inverse=True)
    ones = np.ones(len(hashes), np.int32)
    matrix = sparse.csr_matrix((ones, columns, offsets), shape=(len(texts), len(distinct)))
    sizes = np.diff(offsets)
    found: Pairs = set()
    for start in range(0, len(texts), 500):
        shared = (matrix[start : start + 500] @ matrix.T).tocoo()
        left, right = shared.row + start, shared.col
        least = np.minimum(sizes[left], sizes[right])
        some = (left < right) & (shared.data / least >= THRESHOLD)
        found |= set(zip(left[some].tolist(), right[some].tolist(), strict=True))
    return found


def ensemble(texts: list[str], recipe: nk.Recipe) -> Pairs:
    """LSH Ensemble of datasketch: every text asks for those that contain 0.8 of it."""
    from datasketch import MinHash, MinHashLSHEnsemble

    offsets, hashes = feature_sets(recipe.core, texts)
    sets = [hashes[start:end] for start, end in pairwise(offsets.tolist())]
    signed = MinHash.bulk([[one.tobytes() for one in values] for values in sets], num_perm=128)
    index = MinHashLSHEnsemble(threshold=THRESHOLD, num_perm=128, num_part=16)
    index.index(
        (at, one, len(values)) for at, (one, values) in enumerate(zip(signed, sets, strict=True)) if len(values)
    )
    found: Pairs = set()
    for at, (one, values) in enumerate(zip(signed, sets, strict=True)):
        if len(values):
            found |= {(min(at, other), max(at, other)) for other in index.query(one, len(values)) if other != at}
    return found


def ours(texts: list[str], recipe: nk.Recipe, measure: str) -> Pairs:
    """All links of a deduplication."""
    result = nk.dedup(texts, recipe=recipe, measure=measure, threshold=THRESHOLD, links="all")  # type: ignore[arg-type]
    return {(row["left"], row["right"]) for row in result.pairs.with_copies()}


def job(texts: list[str], recipe: nk.Recipe, measure: str) -> None:
    """The deduplication itself."""
    nk.dedup(texts, recipe=recipe, measure=measure, threshold=THRESHOLD, keep="longest")  # type: ignore[arg-type]


def measured(
    found: Pairs, exact: Pairs, truth: dict[tuple[int, int], str], sources: list[set[int]], originals: int
) -> dict[str, Any]:
    """Recall by kind, precision, and the share of the exact pairs."""
    recall = {}
    for kind in KINDS:
        pairs = [pair for pair, of in truth.items() if of == kind]
        recall[kind] = sum(pair in found for pair in pairs) / len(pairs)
    judged = [pair for pair in found if max(pair) >= originals]
    right = sum(bool(sources[left] & sources[right]) for left, right in judged)
    return {
        "recall": recall,
        "found": len(found),
        "precision": right / len(judged) if judged else None,
        "exact": len(found & exact) / len(exact),
        "below": len(found - exact),
    }


def of_corpus(corpus: str, data: Path) -> dict[str, Any]:
    """Everything about one corpus."""
    texts, truth, sources = built(corpus, data)
    originals = CORPORA[corpus][1] if len(texts) > CORPORA[corpus][1] else len(texts)
    found: dict[str, Any] = {"texts": len(texts), "pairs": len(truth), "methods": {}}
    for features in RECIPES[corpus]:
        recipe = nk.Recipe(f"{features}|binary|xxh3|simhash:128")
        exact = brute_force(texts, recipe)
        calls: dict[str, tuple[Callable[[], Pairs], Callable[[], Any]]] = {
            "brute force": (lambda exact=exact: exact, lambda recipe=recipe: brute_force(texts, recipe)),
            "containment": (
                lambda recipe=recipe: ours(texts, recipe, "containment"),
                lambda recipe=recipe: job(texts, recipe, "containment"),
            ),
            "Jaccard": (
                lambda recipe=recipe: ours(texts, recipe, "jaccard"),
                lambda recipe=recipe: job(texts, recipe, "jaccard"),
            ),
            "LSH Ensemble": (
                lambda recipe=recipe: ensemble(texts, recipe),
                lambda recipe=recipe: ensemble(texts, recipe),
            ),
        }
        # A peer in Python takes its time: for the default features alone.
        if features != "char:4":
            del calls["LSH Ensemble"]
        timed = {name: lambda run=run: common.timed(run)[:2] for name, (_, run) in calls.items()}
        ours_alone = {name: timed.pop(name) for name in ("containment", "Jaccard")}
        seconds = {**common.rounds(ours_alone, 3), **common.rounds(timed, 1)}
        for name, (pairs, _) in calls.items():
            quality = measured(pairs(), exact, truth, sources, originals)
            found["methods"][f"{name}, {features}"] = {**quality, **seconds[name], "exact_pairs": len(exact)}
            print(corpus, name, features, quality, round(seconds[name]["cpu"], 2), flush=True)
    return found


def plagiarised(data: Path) -> dict[str, Any]:
    """Answers against their sources: best F1 by similarity, and what a run at the best threshold finds."""
    records = {record["id"]: record["text"] for record in common.records(data, "en_plagiarised_answers")}
    with gzip.open(data / "en_plagiarised_answers.pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    names = list(records)
    left, right = ([names.index(row[side]) for row in rows] for side in (0, 1))
    derived = np.array([row[2] != "non" for row in rows])
    found = {}
    for measure in ("jaccard", "containment"):
        for features in ("char:4", "word:3"):
            recipe = nk.Recipe(f"{features}|binary|xxh3|simhash:128")
            texts = list(records.values())
            values = nk.similarity(texts, left, right, recipe=recipe, measure=measure)  # type: ignore[arg-type]
            best = max(
                (2 * int((derived & (values >= cut)).sum()) / (int((values >= cut).sum()) + int(derived.sum())), cut)
                for cut in np.unique(values).tolist()
                if cut > 0
            )
            found[f"{measure}, {features}"] = {"f1": best[0], "threshold": best[1]}
            if measure == "containment":
                result = nk.dedup(texts, recipe=recipe, measure="containment", threshold=best[1], links="all")
                links = {tuple(sorted((row["left"], row["right"]))) for row in result.pairs.rows()}
                wanted = [
                    pair for pair, value in zip(zip(left, right, strict=True), values, strict=True) if value >= best[1]
                ]
                hits = sum(tuple(sorted(pair)) in links for pair in wanted)
                found[f"{measure}, {features}"] |= {"wanted": len(wanted), "found": hits}
    return found


def page(run: dict[str, Any]) -> str:
    """The tables of docs/quality.md."""
    parts = []
    for corpus, found in run["corpora"].items():
        rows = [
            [
                name,
                *(f"{one['recall'][kind]:.1%}" for kind in KINDS),
                "-" if one["precision"] is None else f"{one['precision']:.1%}",
                f"{one['exact']:.1%}",
                f"{one['cpu']:.2f}",
            ]
            for name, one in found["methods"].items()
        ]
        parts.append(f"{corpus}, {found['texts']:,} texts, {found['pairs']:,} pairs of base and variant:\n")
        parts.append(common.table([" ", *KINDS, "precision", "of the exact pairs", "CPU s"], rows) + "\n")
    rows = [
        [
            name,
            f"{one['f1']:.3f}",
            f"{one['threshold']:.3f}",
            f"{one['found']} of {one['wanted']}" if "found" in one else "-",
        ]
        for name, one in run["plagiarised"].items()
    ]
    parts.append("Plagiarised answers against their sources, 95 pairs, 57 of them derived:\n")
    parts.append(common.table([" ", "best F1", "at threshold", "found by a run at it"], rows) + "\n")
    return "\n".join([*parts, common.about(run)])


def main() -> None:
    options = common.arguments(__doc__)
    if options.report is None:
        nk.set_num_threads(1)
        found = {corpus: of_corpus(corpus, options.data) for corpus in CORPORA}
        content = {"corpora": found, "plagiarised": plagiarised(options.data)}
        common.save("quality-containment", content, versions=common.versions("datasketch", "scipy"))
    run = common.latest("quality-containment", options.report or "")
    common.splice(common.ROOT / "docs" / "quality.md", "containment", page(run))


if __name__ == "__main__":
    main()
