"""Chinese words and keywords: MB of text per CPU second and agreement, compared with jieba and rjieba.

Texts are complete documents of Sogou news and of laws; every n-th one is taken, so that jieba needs some seconds per
round. Agreement of tokens is the share of jieba's tokens (without white space) that start at the same offset;
agreement of keywords is the share of texts with the same first ten. Data are loaded before timing starts.

Run `python bench/words.py`; the tables are in docs/benchmarks.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import common

PLAIN = "norm:none|case:keep|letters:all|cut:jieba"


RECIPES = {
    "words": f"{PLAIN}|word:1",
    "tf-idf": f"{PLAIN}|stop:jieba|min_length:2|word:1|idf:jieba|top:10",
    "textrank": "zh-textrank",
}


SETS = {"Chinese news": ("zh_news_sogou", 150, 500), "Chinese laws": ("zh_laws", 25, 90)}


ROUNDS = 3


def tokens_in_common(ours: list[list[str]], theirs: list[list[str]]) -> float:
    same = total = 0
    for mine, other in zip(ours, theirs, strict=True):
        positions = []
        for tokens in (mine, other):
            ends, at = set(), 0
            for token in tokens:
                ends.add((at, token))
                at += len(token)
            positions.append(ends)
        same += len(positions[0] & positions[1])
        total += len(positions[1])
    return same / total


def candidates(few: list[str], many: list[str]) -> tuple[dict[str, Any], dict[str, float]]:
    import jieba
    import jieba.analyse
    import rjieba

    import nearkin as nk

    made = {name: nk.Recipe.of(recipe) for name, recipe in RECIPES.items()}
    made["textrank"] = made["textrank"].with_(top="10")
    runs: dict[str, Callable[[], Any]] = {
        "nearkin words": lambda: nk.words(many, made["words"]),
        "nearkin words, Arrow": lambda: nk.words(many, made["words"], result="arrow"),
        "nearkin fingerprints of words": lambda: nk.fingerprint(many, made["words"].with_(weight="count", bits=64)),
        "rjieba words": lambda: [rjieba.cut(text) for text in many],
        "jieba words": lambda: [jieba.lcut(text) for text in few],
        "nearkin tf-idf": lambda: nk.keywords(many, made["tf-idf"]),
        "jieba tf-idf": lambda: [jieba.analyse.extract_tags(text, topK=10) for text in few],
        "nearkin textrank": lambda: nk.keywords(many, made["textrank"]),
        "jieba textrank": lambda: [jieba.analyse.textrank(text, topK=10) for text in few],
    }
    # Arrow is imported by the first call that asks for it.
    nk.words(few[:1], made["words"], result="arrow")
    sizes = {name: common.megabytes(few if name.startswith("jieba") else many) for name in runs}
    return {name: common.timer(run) for name, run in runs.items()}, sizes


def agreement(few: list[str]) -> dict[str, float]:
    import jieba
    import jieba.analyse
    import rjieba

    import nearkin as nk

    theirs = [[token for token in jieba.lcut(text) if token.strip()] for text in few]
    rjiebas = [[token for token in rjieba.cut(text) if token.strip()] for text in few]

    def same(recipe: str, extract: Callable[..., list[str]]) -> float:
        ours = [[word for word, _ in result] for result in nk.keywords(few, recipe, top=10)]
        return sum(set(a) == set(extract(text, topK=10)) for a, text in zip(ours, few, strict=True)) / len(few)

    return {
        "tokens of nearkin": tokens_in_common(nk.words(few, RECIPES["words"]), theirs),
        "tokens of rjieba": tokens_in_common(rjiebas, theirs),
        "first ten by tf-idf": same(RECIPES["tf-idf"], jieba.analyse.extract_tags),
        "first ten by textrank": same(RECIPES["textrank"], jieba.analyse.textrank),
    }


def main() -> None:
    options = common.arguments(__doc__, ("--rounds", {"type": int, "default": ROUNDS}))
    common.run("words", options, lambda: measure(options), report, "jieba", "rjieba", "numpy")


def measure(options: Any) -> dict[str, Any]:
    import jieba

    import nearkin as nk

    jieba.setLogLevel(60)
    nk.set_num_threads(1)
    sets: dict[str, Any] = {}
    for name, (corpus, few, many) in SETS.items():
        texts = common.texts(options.data, corpus)
        step = len(texts) // many
        taken = texts[::step][:many]
        runs, sizes = candidates(taken[:few], taken)
        result = agreement(taken[:few])
        seconds = common.rounds(runs, options.rounds)
        speed = {each: sizes[each] / seconds[each]["cpu"] for each in runs}
        ratios = {each: speed[f"nearkin {each}"] / speed[f"jieba {each}"] for each in ("words", "tf-idf", "textrank")}
        ratios["fingerprints of words"] = speed["nearkin fingerprints of words"] / speed["jieba words"]
        sets[name] = {
            "documents": len(taken),
            "documents_of_jieba": few,
            "megabytes": sizes,
            "megabytes_per_cpu_second": speed,
            "ratios": ratios,
            "agreement": result,
            "seconds": seconds,
        }
        print(json.dumps({name: {"speed": speed, "ratios": ratios, "agreement": result}}, ensure_ascii=False, indent=1))
    return {"rounds": options.rounds, "sets": sets}


def report(run: dict[str, Any]) -> None:
    rows = []
    for each in next(iter(run["sets"].values()))["megabytes_per_cpu_second"]:
        job = each.removeprefix("nearkin ").removeprefix("rjieba ").removeprefix("jieba ")
        peer = "jieba words" if "words" in job else f"jieba {job}"
        cells = []
        for item in run["sets"].values():
            speed = item["megabytes_per_cpu_second"]
            cells += [f"{speed[each]:.2f}", f"{speed[each] / speed[peer]:.1f}"]
        rows.append([each, *cells])
    header = ["MB per CPU second"]
    for each in run["sets"]:
        header += [each, "× jieba"]
    kinds = next(iter(run["sets"].values()))["agreement"]
    same = [[each, *(f"{item['agreement'][each]:.2%}" for item in run["sets"].values())] for each in kinds]
    agreement = common.table(["the same as jieba's", *run["sets"]], same)
    common.splice("benchmarks.md", "words", common.table(header, rows) + "\n\n" + agreement)
    common.splice("benchmarks.md", "words-run", common.source(run))


if __name__ == "__main__":
    main()
