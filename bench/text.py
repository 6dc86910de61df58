"""Text to fingerprint: MB of text per CPU second on one thread, compared with other packages.

English is the bodies of 20 Newsgroups, Chinese is Sogou news and laws; each is cut into documents of about 1 KB,
English also into documents of about 10 KB. All candidates start from the same Python strings. Slow candidates get only
the first documents; the speed is per MB.

Peers run in their fastest form from text: gaoya as a query of an empty index, which tokenises, hashes and finds
nothing; simhash-pybind with its own functions, in its own environment, because it shares the import name of simhash.
datasketch has no SimHash: its line is a MinHash of 128 values over character 4-grams built in Python.

Run `python bench/text.py`; the tables are in docs/benchmarks.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import common

DEFAULT = "char:4, 128 bits, binary (default)"


RECIPES = {
    DEFAULT: "char:4|binary|xxh3|simhash:128",
    "char:4, 64 bits, binary": "char:4|binary|xxh3|simhash:64",
    "char:4, 128 bits": "char:4|count|xxh3|simhash:128",
    "char:4, 64 bits": "char:4|count|xxh3|simhash:64",
    "word:1, 64 bits": "word:1|count|xxh3|simhash:64",
    "word:3, 64 bits": "word:3|count|xxh3|simhash:64",
    "preset simhash-pypi (md5)": "simhash-pypi",
}


ROUNDS = 5


# Runs in the other environment: reads documents, reports CPU and wall seconds of hashing them.
PYBIND_WORKER = """
import json, re, sys, time
import simhash, xxhash
documents = json.load(open(sys.argv[1], encoding="utf-8"))
hash_of = simhash.unsigned_hash if sys.argv[2] == "md5" else xxhash.xxh3_64_intdigest
wall, cpu = time.perf_counter(), time.process_time()
for text in documents:
    letters = "".join(re.findall(r"\\w+", text.lower()))
    simhash.compute([hash_of(letters[i : i + 4].encode()) for i in range(max(len(letters) - 3, 1))])
print(time.process_time() - cpu, time.perf_counter() - wall)
"""


Timed = Callable[[], tuple[float, float]]


def documents(data: Path) -> dict[str, list[str]]:
    """Return English and Chinese documents of about 1 KB of UTF-8, and English ones of about 10 KB."""
    bodies = common.texts(data, "en_20news")
    news = common.pieces(common.texts(data, "zh_news_sogou"), 350)
    laws = common.pieces(common.texts(data, "zh_laws"), 350)
    return {
        "English": list(islice(common.pieces(bodies, 1000), 24_000)),
        "English, 10 KB": list(common.pieces(bodies, 10_000)),
        "Chinese news": list(islice(news, 12_000)),
        "Chinese laws": list(islice(laws, 12_000)),
    }


def repeated(call: Callable[[], Any]) -> Timed:
    """Repeat a short call so that a round takes about a tenth of a second."""
    cpu = max(common.timed(call)[0], 1e-4)
    count = max(1, round(0.1 / cpu))

    def run() -> tuple[float, float]:
        cpu, wall, _ = common.timed(lambda: [call() for _ in range(count)] and None)
        return cpu / count, wall / count

    return run


def candidates(texts: list[str]) -> tuple[dict[str, Timed], dict[str, float]]:
    """Return the timed calls by name, and how many MB each of them processes."""
    from datasketch import MinHash
    from gaoya.simhash import SimHashStringIndex
    from simhash import Simhash

    import nearkin as nk

    few = common.hashable(texts, 1000)
    fewer = few[:300]
    whole, part = common.megabytes(texts), common.megabytes(few)
    runs: dict[str, Timed] = {}
    sizes: dict[str, float] = {}

    def put(name: str, size: float, run: Timed) -> None:
        runs[name], sizes[name] = run, size

    for name, recipe in RECIPES.items():
        put(f"nearkin {name}", whole, repeated(lambda recipe=recipe: nk.fingerprint(texts, recipe)))
    for name, analyzer, n in (("char 4", "char", 4), ("word 1", "word", 1), ("word 3", "word", 3)):
        index = SimHashStringIndex(64, 4, 3, analyzer, True, (n, n))
        put(f"gaoya {name}", whole, common.timer(lambda index=index: [index.query(text) for text in texts]))
    put("simhash char 4 (md5)", part, common.timer(lambda: [Simhash(text).value for text in few]))

    folder = Path(tempfile.mkdtemp())
    (folder / "few.json").write_text(json.dumps(fewer), encoding="utf-8")

    def pybind(feature_hash: str) -> tuple[float, float]:
        command = [common.PEERS["simhash-pybind"].python, "-c", PYBIND_WORKER, folder / "few.json", feature_hash]
        cpu, wall = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return float(cpu), float(wall)

    for feature_hash in ("md5", "xxh3"):
        name = f"simhash-pybind char 4 ({feature_hash})"
        put(name, common.megabytes(fewer), lambda feature_hash=feature_hash: pybind(feature_hash))

    def minhash() -> None:
        words = ("".join(re.findall(r"\w+", text.lower())) for text in few)
        grams = [[w[i : i + 4].encode() for i in range(max(len(w) - 3, 1))] for w in words]
        MinHash.bulk(grams, num_perm=128)

    put("datasketch MinHash 128 char 4", part, common.timer(minhash))
    return runs, sizes


def check_equality(texts: list[str]) -> int:
    """Check that the preset simhash-pypi equals the package; return the number of documents compared."""
    from simhash import Simhash

    import nearkin as nk

    sample = common.hashable(texts, 1000)
    ours = nk.fingerprint(sample, "simhash-pypi").tolist()
    theirs = [Simhash(text).value for text in sample]
    if ours != theirs:
        raise AssertionError("the preset simhash-pypi differs from the package simhash")
    return len(sample)


RATIOS = {
    "default / gaoya char 4": (f"nearkin {DEFAULT}", "gaoya char 4"),
    "char:4 64 bits / gaoya char 4": ("nearkin char:4, 64 bits", "gaoya char 4"),
    "char:4 64 bits / simhash": ("nearkin char:4, 64 bits", "simhash char 4 (md5)"),
    "word:1 64 bits / gaoya word 1": ("nearkin word:1, 64 bits", "gaoya word 1"),
}


def main() -> None:
    options = common.arguments(__doc__, ("--rounds", {"type": int, "default": ROUNDS}))
    packages = ("gaoya", "simhash", "simhash-pybind", "datasketch", "numpy")
    common.run("text", options, lambda: measure(options), report, *packages)


def measure(options: Any) -> dict[str, Any]:
    import nearkin as nk

    nk.set_num_threads(1)
    sets: dict[str, Any] = {}
    for name, texts in documents(options.data).items():
        runs, sizes = candidates(texts)
        seconds = common.rounds(runs, options.rounds)
        speed = {each: sizes[each] / seconds[each]["cpu"] for each in runs}
        sets[name] = {
            "documents": len(texts),
            "megabytes": common.megabytes(texts),
            "equal_to_simhash": check_equality(texts),
            "megabytes_per_cpu_second": speed,
            "ratios": {title: speed[fast] / speed[slow] for title, (fast, slow) in RATIOS.items()},
            "seconds": seconds,
            "megabytes_timed": sizes,
        }
        print(f"{name}: {len(texts)} documents, {sets[name]['megabytes']:.1f} MB", file=sys.stderr)
        for line, value in {**speed, **sets[name]["ratios"]}.items():
            print(f"  {value:9.2f}  {line}", file=sys.stderr)
    return {"rounds": options.rounds, "sets": sets}


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/benchmarks.md."""
    sets = run["sets"]
    lines = list(sets["Chinese news"]["megabytes_per_cpu_second"])
    rows = []
    for line in lines:
        speeds = [sets[each]["megabytes_per_cpu_second"].get(line) for each in sets]
        rows.append([line, *("" if speed is None else common.ratio(speed) for speed in speeds)])
    header = ["MB per CPU second, one thread", *sets]
    text = common.table(header, rows) + "\n\n"
    names = sets["Chinese news"]["ratios"]
    rows = [[name, *(common.ratio(sets[each]["ratios"][name]) for each in sets)] for name in names]
    text += common.table(["ratio", *sets], rows) + "\n\n"
    sizes = ", ".join(f"{s}: {sets[s]['documents']:,} documents, {sets[s]['megabytes']:.1f} MB" for s in sets)
    text += f"{sizes}. Medians of {run['rounds']} interleaved rounds. {common.source(run)}"
    common.splice("benchmarks.md", "text", text)


if __name__ == "__main__":
    main()
