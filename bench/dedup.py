"""A complete deduplication of 200,000 documents of about 1 KB: CPU and wall seconds, memory, accuracy.

The corpus follows from a fixed seed: documents cut from 20 Newsgroups, licence texts, one version of the Old Testament
(13 verses per document) and Chinese news and laws; if there are too few, paragraphs of about 100 characters of one
source are recombined at random. 18 of 100 documents are planted copies of another one: a quarter of them exact, the
others with 1 to 40 words replaced, removed or inserted.

Each candidate runs in its own process. nearkin does the complete job: it reads JSONL, deduplicates with its defaults,
verifies, and writes the kept documents and the clusters; its entire process is measured. text-dedup's command reads the
same file and writes the kept documents; its entire process is measured too, in its own environment because of
conflicting pins. The other candidates are greedy loops over texts in memory: only the loop is measured, and nothing is
verified or written.

Accuracy, on 20,000 documents built in the same way: the ground truth is every pair with J >= 0.8 of character 4-grams.
All pairs within radius 72 of a 256-bit SimHash with another seed are verified; at J = 0.8 the expected distance is 39
with a standard deviation of 5.7. Recall is 1 - (what the exact greedy loop still removes from the kept documents) /
(what it removes from all documents), so that it does not matter which member of a cluster is kept. Precision is the
share of removed documents that match another one. The same is computed for word 3-grams, which most peers estimate.

Run `python bench/dedup.py`; the table is in docs/benchmarks.md.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import common

THRESHOLD = 0.8
SUBSET = 20_000
COPIES = 0.18


SUMMARY = ("recipe", "num_bands", "num_rows", "radius", "kept", "removed_by_reason", "clusters", "candidates")
SUMMARY += ("verified", "verified_precision", "timings")


def bases(data: Path, count: int, rng: random.Random) -> list[str]:
    """Return distinct documents of about 1 KB, in random order."""
    verses = [r["text"] for r in common.records(data, "en_bible_ot") if r["version"] == "KJVPCE"]
    sources = {
        "news": common.texts(data, "en_20news"),
        "licences": common.texts(data, "en_licences"),
        "bible": [" ".join(verses[i : i + 13]) for i in range(0, len(verses), 13)],
        "zh news": common.texts(data, "zh_news_sogou"),
        "zh laws": common.texts(data, "zh_laws"),
    }
    results: list[str] = []
    shares = {"news": 1.0, "licences": 1.0, "zh news": 1.0, "zh laws": 0.4}
    for name, share in shares.items():
        size = 350 if name.startswith("zh") else 1000
        cut = list(common.pieces(sources[name], size))
        rng.shuffle(cut)
        results += cut[: int(share * len(cut))]
    results += sources["bible"]
    results = list(dict.fromkeys(results))[:count]
    # Volume: parts of about 100 characters of Usenet messages and verses, each document a new mixture.
    parts = list(common.pieces(sources["news"] + sources["bible"], 100))
    while len(results) < count:
        results.append(" ".join(rng.choice(parts) for _ in range(10)))
    rng.shuffle(results)
    return results


def edited(text: str, words: int, rng: random.Random, vocabulary: list[str]) -> str:
    """Replace, remove or insert this many words; for Chinese, characters."""
    chinese = text.count(" ") < len(text) / 40
    parts = list(text) if chinese else text.split(" ")
    for _ in range(words):
        at = rng.randrange(len(parts))
        kind = rng.randrange(3)
        new = rng.choice(text) if chinese else rng.choice(vocabulary)
        if kind == 0:
            parts[at] = new
        elif kind == 1 and len(parts) > 1:
            del parts[at]
        else:
            parts.insert(at, new)
    return ("" if chinese else " ").join(parts)


def make_corpus(data: Path, count: int, seed: int) -> list[str]:
    """Build the documents, in random order."""
    rng = random.Random(seed)
    copies = round(COPIES * count)
    documents = bases(data, count - copies, rng)
    vocabulary = sorted({word for text in documents[:2000] for word in text.split()})
    originals = len(documents)
    for _ in range(copies):
        text = documents[rng.randrange(originals)]
        words = 0 if rng.random() < 0.25 else rng.choice((1, 2, 3, 5, 8, 12, 20, 40))
        documents.append(edited(text, words, rng, vocabulary))
    rng.shuffle(documents)
    return documents


def word_grams(text: str) -> set[str]:
    """Return word 3-grams, as the READMEs of rensa and datasketch build them."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + 3]) for i in range(max(len(words) - 2, 1))}


def loop_datasketch(texts: list[str]) -> Iterator[int]:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=128)
    for start in range(0, len(texts), 1000):
        grams = [[gram.encode() for gram in word_grams(text)] for text in texts[start : start + 1000]]
        for row, minhash in enumerate(MinHash.bulk(grams, num_perm=128), start):
            if not index.query(minhash):
                index.insert(row, minhash, check_duplication=False)
                yield row


def loop_rensa(texts: list[str]) -> Iterator[int]:
    from rensa import RMinHash, RMinHashDeduplicator

    deduplicator = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=128, use_lsh=True, num_bands=16)
    for row, text in enumerate(texts):
        minhash = RMinHash(num_perm=128, seed=42)
        minhash.update(list(word_grams(text)))
        if deduplicator.add(str(row), minhash):
            yield row


def loop_gaoya(index: Any, texts: list[str]) -> Iterator[int]:
    for row, text in enumerate(texts):
        if not index.query(text):
            index.insert_document(row, text)
            yield row


def loop_gaoya_minhash(texts: list[str]) -> Iterator[int]:
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(32, THRESHOLD, None, None, 128, "word", True, (3, 3), "smallvec")
    return loop_gaoya(index, texts)


def loop_gaoya_simhash(texts: list[str]) -> Iterator[int]:
    from gaoya.simhash import SimHashStringIndex

    # Its own blocks and radius, which is exclusive: 5 means up to 4. At 8, nearer to J = 0.8, the loop removes far too
    # many documents.
    index = SimHashStringIndex(64, 6, 5, "char", True, (4, 4))
    return loop_gaoya(index, texts)


LOOPS: dict[str, Callable[[list[str]], Iterator[int]]] = {
    "datasketch MinHashLSH": loop_datasketch,
    "rensa RMinHashDeduplicator": loop_rensa,
    "gaoya MinHash": loop_gaoya_minhash,
    "gaoya SimHash": loop_gaoya_simhash,
}


def run_nearkin(*options: str) -> Callable[[Path, Path], dict[str, Any]]:
    """Run the command line: JSONL in, kept rows, clusters and summary out."""

    def run(corpus: Path, folder: Path) -> dict[str, Any]:
        out = folder / "out"
        command = [*common.program(), "dedup", corpus, "--out", out, "--id-column", "id", "--threads", "1"]
        used = common.measure_command([*command, *options], folder)
        with (out / "kept.jsonl").open(encoding="utf-8") as lines:
            kept = [json.loads(line)["id"] for line in lines]
        summary = json.loads((out / "summary.json").read_text())
        return {**used, "kept_rows": kept, "summary": {key: summary.get(key) for key in SUMMARY}}

    return run


def run_text_dedup(corpus: Path, folder: Path) -> dict[str, Any]:
    """Run its command line in one process with the fast hash and otherwise its defaults."""
    out = folder / "out"
    python = common.PEERS["text-dedup"].python
    command = [python, "-m", "text_dedup.minhash", "--path", "json", "--data_files", corpus, "--split", "train"]
    command += ["--cache_dir", folder / "cache", "--output", out, "--column", "text", "--num_proc", "1"]
    command += ["--ngram", "3", "--threshold", THRESHOLD, "--num_perm", "128", "--hash_func", "xxh3"]
    command += ["--batch_size", "10000"]
    used = common.measure_command(command, folder, {"HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1"})
    read = "import datasets, json, sys; print(json.dumps(datasets.load_from_disk(sys.argv[1])['id'][:]))"
    done = subprocess.run([python, "-c", read, out], check=True, capture_output=True, text=True)
    return {**used, "kept_rows": json.loads(done.stdout)}


def run_loop(name: str) -> Callable[[Path, Path], dict[str, Any]]:
    """Run a loop in its own process."""

    def run(corpus: Path, folder: Path) -> dict[str, Any]:
        result = folder / "kept.json"
        command = [sys.executable, __file__, "--loop", name, "--corpus", corpus, "--result", result]
        return {**common.measure_command(command, folder), **json.loads(result.read_text())}

    return run


def in_loop(name: str, corpus: Path, result: Path) -> None:
    """Read the texts, then time the loop alone (child process)."""
    with corpus.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    next(iter(LOOPS[name](texts[:1])))  # imports
    cpu, wall, kept = common.timed(lambda: list(LOOPS[name](texts)))
    result.write_text(json.dumps({"cpu": cpu, "wall": wall, "kept_rows": kept}))


CANDIDATES: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
    "nearkin": run_nearkin(),
    "nearkin --family simhash": run_nearkin("--family", "simhash"),
    "text-dedup minhash": run_text_dedup,
    **{name: run_loop(name) for name in LOOPS},
}


def truth(texts: list[str], recipe: str) -> list[tuple[int, int]]:
    """Return the pairs with J >= 0.8 in order, the earlier row first."""
    import nearkin as nk

    wide = nk.Recipe(recipe).with_(bits=256, seed=77)
    fingerprints, counts = nk.fingerprint(texts, wide, return_counts=True)
    rows = np.flatnonzero(counts)
    index = nk.HammingIndex(256)
    index.add(rows, fingerprints[rows])
    pairs = index.pairs(72)
    left, right = np.asarray(pairs.left), np.asarray(pairs.right)
    left, right = np.minimum(left, right), np.maximum(left, right)
    match = nk.similarity(texts, left, right, recipe=wide) >= THRESHOLD
    return sorted(zip(left[match].tolist(), right[match].tolist(), strict=True))


def greedy(pairs: list[tuple[int, int]], among: set[int]) -> set[int]:
    """Return the rows that the exact greedy loop removes."""
    removed: set[int] = set()
    for first, second in pairs:
        if first in among and second in among and first not in removed:
            removed.add(second)
    return removed


def accuracy(kept: list[int], pairs: list[tuple[int, int]]) -> dict[str, float]:
    rows = set(range(SUBSET))
    removed = rows - set(kept)
    matched = {row for pair in pairs for row in pair}
    return {
        "removed": len(removed),
        "recall": 1 - len(greedy(pairs, set(kept))) / len(greedy(pairs, rows)),
        "precision": len(removed & matched) / max(len(removed), 1),
    }


def write(texts: list[str], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"id": row, "text": text}, ensure_ascii=False) + "\n" for row, text in enumerate(texts)
        )


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--documents", {"type": int, "default": 200_000}),
        ("--seed", {"type": int, "default": 1}),
        ("--rounds", {"type": int, "default": 3, "help": "runs of each"}),
        ("--only", {"nargs": "*", "default": list(CANDIDATES), "help": "candidates to run"}),
        ("--loop", {}),
        ("--corpus", {"type": Path}),
        ("--result", {"type": Path}),
    )
    if options.loop:
        in_loop(options.loop, options.corpus, options.result)
        return
    packages = ("gaoya", "rensa", "datasketch", "text-dedup", "numpy")
    common.run("dedup", options, lambda: measure(options), report, *packages)


def measure(options: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="nearkin-bench-") as name:
        work = Path(name)
        texts, part = (make_corpus(options.data, count, options.seed) for count in (options.documents, SUBSET))
        whole, subset = work / "whole.jsonl", work / "subset.jsonl"
        write(texts, whole)
        write(part, subset)
        exact = {name: truth(part, f"{name}|binary|xxh3|simhash:256") for name in ("char:4", "word:3")}
        results: dict[str, Any] = {}
        for candidate in options.only:
            kept = once(candidate, subset, work)["kept_rows"]
            results[candidate] = {"accuracy": {name: accuracy(kept, rows) for name, rows in exact.items()}, "runs": []}
        for _ in range(options.rounds):
            for candidate, result in results.items():
                run = once(candidate, whole, work)
                run["kept"] = len(run.pop("kept_rows"))
                result["runs"].append(run)
                print(candidate, run, result["accuracy"], file=sys.stderr)
    for result in results.values():
        for figure in ("cpu", "wall", "peak_mb"):
            result[figure] = float(np.median([run[figure] for run in result["runs"]]))
        result["kept"] = result["runs"][0]["kept"]
    return {
        "documents": len(texts),
        "megabytes": common.megabytes(texts),
        "seed": options.seed,
        "exact_removed": {name: len(greedy(rows, set(range(SUBSET)))) for name, rows in exact.items()},
        "results": common.merge_last("dedup", "results", results),
    }


def once(candidate: str, corpus: Path, work: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=work) as folder:
        return CANDIDATES[candidate](corpus, Path(folder))


def report(run: dict[str, Any]) -> None:
    """Write the table of docs/benchmarks.md."""
    ours = run["results"]["nearkin"]

    def share(features: str) -> Callable[[Any], str]:
        return lambda row: " / ".join(f"{row['accuracy'][features][name]:.1%}" for name in ("recall", "precision"))

    columns: dict[str, Callable[[Any], str]] = {
        "CPU s": lambda row: f"{row['cpu']:.1f}",
        "× nearkin": lambda row: f"{row['cpu'] / ours['cpu']:.1f}",
        "wall s": lambda row: f"{row['wall']:.1f}",
        "MB": lambda row: f"{row['peak_mb']:,.0f}",
        "kept": lambda row: f"{row['kept']:,}",
        "recall / precision, char:4": share("char:4"),
        "recall / precision, word:3": share("word:3"),
    }
    summary = ours["runs"][0]["summary"]
    text = common.table_of("", columns, run["results"])
    text += f"\n\n{run['documents']:,} documents, {run['megabytes']:.0f} MB, seed {run['seed']}; runs of each: "
    text += f"{len(ours['runs'])}, medians. {common.source(run)} nearkin: {summary['candidates']:,} candidates, "
    text += f"{summary['verified']:,} verified; {summary['verified_precision']:.1%} matched."
    common.splice("benchmarks.md", "dedup", text)


if __name__ == "__main__":
    main()
