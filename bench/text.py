"""Text to fingerprint: MB of text a CPU second, on one thread, beside peers and beside a bare AVX-512 loop.

English is 20 Newsgroups' bodies, Chinese Sogou's news and the texts of laws, each cut into documents of about 1 KB;
English also into documents of about 10 KB. All candidates start from the same Python strings. The slow ones take the
first documents only; speed is per MB.

Peers are called in their fastest way from text: gaoya as a query of an empty index, which does nothing but tokenise,
hash and miss; simhash-pybind with its own functions, in its own environment, since it shares simhash's import name.
datasketch has no SimHash: its line is a MinHash of 128 values, over character 4-grams made in Python.

The limit, `ascii_limit.c`, is a bare loop over the ASCII bytes of the English documents.

Run: `make bench`, or `python bench/text.py`; results go to `bench/runs/` and docs/benchmarks.md.
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import common

PYBIND = common.ROOT / ".venv-pybind" / "bin" / "python"
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
LIMIT = "bare AVX-512 loop"

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
    """English and Chinese documents of about 1 KB of UTF-8, and English ones of about 10 KB."""
    bodies = common.texts(data, "en_20news")
    news = common.pieces(common.texts(data, "zh_news_sogou"), 350)
    laws = common.pieces(common.texts(data, "zh_laws"), 350)
    return {
        "English": list(islice(common.pieces(bodies, 1000), 24_000)),
        "English, 10 KB": list(common.pieces(bodies, 10_000)),
        "Chinese news": list(islice(news, 12_000)),
        "Chinese laws": list(islice(laws, 12_000)),
    }


def hashable(texts: list[str], count: int) -> list[str]:
    """The first documents that simhash 2.1.2 can hash: a shingle that occurs 256 times is an error."""
    from simhash import Simhash

    found: list[str] = []
    for text in texts:
        try:
            Simhash(text)
        except OverflowError:
            continue
        found.append(text)
        if len(found) == count:
            break
    return found


def limit() -> Callable[[list[str]], Timed] | None:
    """The bare loop over ASCII bytes; None on a processor without its instructions."""
    if "avx512_vbmi2" not in common.machine()["features"]:
        return None
    target = Path(tempfile.mkdtemp()) / "limit.so"
    source = Path(__file__).with_name("ascii_limit.c")
    subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", source, "-o", target], check=True)
    function = ctypes.CDLL(str(target)).ascii_limit
    pointer = np.ctypeslib.ndpointer
    function.argtypes = [pointer(np.uint8), pointer(np.int64), ctypes.c_int64, pointer(np.uint64)]
    function.restype = None

    def prepare(texts: list[str]) -> Timed:
        encoded = [text.encode() for text in texts]
        joined = np.frombuffer(b"".join(encoded) + bytes(64), np.uint8)
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in encoded])]).astype(np.int64)
        out = np.zeros(len(texts), np.uint64)
        check_limit(encoded, function)
        return repeated(lambda: function(joined, offsets, len(texts), out))

    return prepare


def check_limit(encoded: list[bytes], function: Any) -> None:
    """The loop's values are those of its definition, on the first documents."""
    for text in encoded[:50]:
        letters = np.frombuffer(b"".join(re.findall(rb"\w+", text.lower())), np.uint8).astype(np.uint64)
        windows = sum(letters[i : len(letters) - 3 + i] << np.uint64(8 * i) for i in range(4))
        hashes = windows * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
        ones = np.array([int((hashes >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)])
        expected = sum(1 << bit for bit in range(64) if 2 * ones[bit] > len(hashes))
        out = np.zeros(1, np.uint64)
        function(np.frombuffer(text + bytes(64), np.uint8), np.array([0, len(text)], np.int64), 1, out)
        if int(out[0]) != expected:
            raise AssertionError(f"the bare loop gives {int(out[0]):#x} where its definition gives {expected:#x}")


def repeated(call: Callable[[], Any]) -> Timed:
    """A short call, repeated so that a round takes about a tenth of a second."""
    cpu = max(common.timed(call)[0], 1e-4)
    count = max(1, round(0.1 / cpu))

    def run() -> tuple[float, float]:
        cpu, wall, _ = common.timed(lambda: [call() for _ in range(count)] and None)
        return cpu / count, wall / count

    return run


def candidates(texts: list[str], *, ascii_text: bool) -> tuple[dict[str, Timed], dict[str, float]]:
    """What is timed, by name, and how many MB each takes."""
    from datasketch import MinHash
    from gaoya.simhash import SimHashStringIndex
    from simhash import Simhash

    import nearkin as nk

    few = hashable(texts, 1000)
    fewer = few[:300]
    whole, part = common.megabytes(texts), common.megabytes(few)
    runs: dict[str, Timed] = {}
    sizes: dict[str, float] = {}

    def put(name: str, size: float, run: Timed) -> None:
        runs[name], sizes[name] = run, size

    for name, recipe in RECIPES.items():
        put(f"nearkin {name}", whole, repeated(lambda recipe=recipe: nk.fingerprint(texts, recipe)))
    if ascii_text and (prepare := limit()):
        put(LIMIT, whole, prepare(texts))
    for name, analyzer, n in (("char 4", "char", 4), ("word 1", "word", 1), ("word 3", "word", 3)):
        index = SimHashStringIndex(64, 4, 3, analyzer, True, (n, n))
        put(f"gaoya {name}", whole, lambda index=index: common.timed(lambda: [index.query(t) for t in texts])[:2])
    put("simhash char 4 (md5)", part, lambda: common.timed(lambda: [Simhash(text).value for text in few])[:2])

    folder = Path(tempfile.mkdtemp())
    (folder / "few.json").write_text(json.dumps(fewer), encoding="utf-8")

    def pybind(feature_hash: str) -> tuple[float, float]:
        command = [PYBIND, "-c", PYBIND_WORKER, folder / "few.json", feature_hash]
        cpu, wall = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return float(cpu), float(wall)

    for feature_hash in ("md5", "xxh3"):
        name = f"simhash-pybind char 4 ({feature_hash})"
        put(name, common.megabytes(fewer), lambda feature_hash=feature_hash: pybind(feature_hash))

    def minhash() -> None:
        words = ("".join(re.findall(r"\w+", text.lower())) for text in few)
        grams = [[w[i : i + 4].encode() for i in range(max(len(w) - 3, 1))] for w in words]
        MinHash.bulk(grams, num_perm=128)

    put("datasketch MinHash 128 char 4", part, lambda: common.timed(minhash)[:2])
    return runs, sizes


def check_equality(texts: list[str]) -> int:
    """How many documents the preset was compared on; all of them have simhash's value."""
    from simhash import Simhash

    import nearkin as nk

    sample = hashable(texts, 1000)
    ours = nk.fingerprint(sample, "simhash-pypi").tolist()
    theirs = [Simhash(text).value for text in sample]
    if ours != theirs:
        raise AssertionError("the preset simhash-pypi differs from the package simhash")
    return len(sample)


def ratios(speed: dict[str, float]) -> dict[str, float]:
    """The ratios that are promised, by what they compare."""
    found = {
        "default / gaoya char 4": speed[f"nearkin {DEFAULT}"] / speed["gaoya char 4"],
        "char:4 64 bits / gaoya char 4": speed["nearkin char:4, 64 bits"] / speed["gaoya char 4"],
        "char:4 64 bits / simhash": speed["nearkin char:4, 64 bits"] / speed["simhash char 4 (md5)"],
        "word:1 64 bits / gaoya word 1": speed["nearkin word:1, 64 bits"] / speed["gaoya word 1"],
    }
    if LIMIT in speed:
        found["char:4 64 bits / bare loop"] = speed["nearkin char:4, 64 bits"] / speed[LIMIT]
    return found


def main() -> None:
    options = common.arguments(__doc__, ("--rounds", {"type": int, "default": ROUNDS}))
    if options.report is not None:
        report(common.latest("text", options.report))
        return
    import nearkin as nk

    nk.set_num_threads(1)
    sets: dict[str, Any] = {}
    for name, texts in documents(options.data).items():
        runs, sizes = candidates(texts, ascii_text=name.startswith("English"))
        seconds = common.rounds(runs, options.rounds)
        speed = {each: sizes[each] / seconds[each]["cpu"] for each in runs}
        sets[name] = {
            "documents": len(texts),
            "megabytes": common.megabytes(texts),
            "equal_to_simhash": check_equality(texts),
            "megabytes_per_cpu_second": speed,
            "ratios": ratios(speed),
            "seconds": seconds,
            "megabytes_timed": sizes,
        }
        print(f"{name}: {len(texts)} documents, {sets[name]['megabytes']:.1f} MB", file=sys.stderr)
        for line, value in {**speed, **sets[name]["ratios"]}.items():
            print(f"  {value:9.2f}  {line}", file=sys.stderr)
    versions = common.versions("gaoya", "simhash", "datasketch", "numpy")
    versions["simhash-pybind"] = "0.0.3"
    common.save("text", {"rounds": options.rounds, "sets": sets}, versions=versions)
    report(common.latest("text"))


def report(run: dict[str, Any]) -> None:
    """The tables of docs/benchmarks.md."""
    sets = run["sets"]
    lines = list(sets["English"]["megabytes_per_cpu_second"])
    rows = []
    for line in lines:
        speeds = [sets[each]["megabytes_per_cpu_second"].get(line) for each in sets]
        rows.append([line, *("" if speed is None else common.ratio(speed) for speed in speeds)])
    header = ["MB per CPU second, one thread", *sets]
    found = common.table(header, rows) + "\n\n"
    compared = sets["English"]["ratios"]
    known = [sets[s]["ratios"] for s in sets]
    rows = [[each, *(common.ratio(one[each]) if each in one else "" for one in known)] for each in compared]
    found += common.table(["ratio", *sets], rows) + "\n\n"
    sizes = ", ".join(f"{s}: {sets[s]['documents']:,} documents, {sets[s]['megabytes']:.1f} MB" for s in sets)
    found += (
        f"{sizes}. Medians of {run['rounds']} interleaved rounds, {run['machine']['processor']}, {run['date'][:10]}; "
    )
    found += f"raw data: `bench/runs/{run['file']}`.\n"
    common.splice(common.ROOT / "docs" / "benchmarks.md", "text", found)


if __name__ == "__main__":
    main()
