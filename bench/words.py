"""Chinese words and keywords: MB of text per CPU second and agreement, compared with jieba and rjieba.

Texts are complete documents of Sogou news and of laws; every n-th one is taken, so that jieba needs some seconds per
round. Agreement of tokens is the share of jieba's tokens (without white space) that start at the same offset;
agreement of keywords is the share of texts with the same first ten. Data are loaded before timing starts.

TextRank is also measured on equal amounts of five corpora and on pieces of several lengths. Most of jieba's time there
is part-of-speech tagging, which slows down forty times on characters that its model has never seen, such as those of
poems in traditional script.

Run `python bench/words.py`; the tables are in docs/benchmarks.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
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
    return {name: lambda run=run: common.timed(run)[:2] for name, run in runs.items()}, sizes


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


TEXTRANK = {
    "news": "zh_news_sogou",
    "laws": "zh_laws",
    "reviews": "zh_reviews",
    "Song poems": "zh_song_poems",
    "Tang poems": "zh_tang_two_editions",
}


CHARACTERS = 12_000


LENGTHS = (100, 1_000, 10_000, 100_000)


def textrank(data: Path) -> dict[str, dict[str, Any]]:
    import jieba.analyse

    import nearkin as nk

    recipe = nk.Recipe.of(RECIPES["textrank"]).with_(top="10")

    def measured(texts: list[str]) -> dict[str, Any]:
        theirs = common.timed(lambda: [jieba.analyse.textrank(text, topK=10) for text in texts])
        ours = min((common.timed(lambda: nk.keywords(texts, recipe)) for _ in range(9)), key=lambda run: run[0])
        size = common.megabytes(texts)
        same = sum(set(a) == {word for word, _ in b} for a, b in zip(theirs[2], ours[2], strict=True))
        return {
            "documents": len(texts),
            "megabytes": size,
            "jieba": size / theirs[0],
            "nearkin": size / ours[0],
            "ratio": theirs[0] / ours[0],
            "same first ten": same / len(texts),
        }

    results: dict[str, dict[str, Any]] = {}
    every: list[str] = []
    for name, corpus in TEXTRANK.items():
        texts = common.texts(data, corpus)
        mean = sum(map(len, texts)) / len(texts)
        count = max(round(CHARACTERS / mean), 2)
        taken = texts[:: len(texts) // count][:count]
        every += taken
        results[name] = measured(taken)
    results["all of these"] = measured(every)
    news = "\n".join(common.texts(data, "zh_news_sogou"))
    for length in LENGTHS:
        count = max(100_000 // length, 1)
        results[f"news, pieces of {length:,} characters"] = measured(
            [news[start : start + length] for start in range(0, len(news), len(news) // count)][:count]
        )
    return results


def main() -> None:
    options = common.arguments(__doc__, ("--rounds", {"type": int, "default": ROUNDS}))
    if options.report is not None:
        report(common.latest("words", options.report))
        return
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
    ranks = textrank(options.data)
    print(json.dumps(ranks, ensure_ascii=False, indent=1))
    content = {"rounds": options.rounds, "sets": sets, "textrank": ranks}
    common.save("words", content, versions=common.versions("jieba", "rjieba", "numpy"))
    report(common.latest("words"))


def report(run: dict[str, Any]) -> None:
    page = common.ROOT / "docs" / "benchmarks.md"
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
    common.splice(page, "words", common.table(header, rows) + "\n\n" + agreement)
    rows = [
        [
            each,
            f"{item['documents']:,}",
            f"{item['jieba']:.4f}",
            f"{item['nearkin']:.2f}",
            f"{item['ratio']:.0f}",
            f"{item['same first ten']:.1%}",
        ]
        for each, item in run["textrank"].items()
    ]
    header = ["TextRank, MB per CPU second", "documents", "jieba", "nearkin", "times", "same first ten"]
    common.splice(page, "words-textrank", common.table(header, rows))
    common.splice(page, "words-run", common.source(run))


if __name__ == "__main__":
    main()
