"""Drop-in modules compared with the packages that they replace, call by call, on one thread.

    python bench/compat.py --peer simhash

Both sides get the same inputs in the same process, in alternating rounds; their results are compared first. The table
goes to the page of the peer in docs/migrate.
"""

from __future__ import annotations

import gzip
import itertools
import random
import tarfile
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import common

Job = tuple[int, Callable[[], Any], Callable[[], Any]]
ROUNDS = 5


def both(theirs: Any, ours: Any, count: int, call: Callable[[Any], Any]) -> Job:
    """Return the job that calls a function with each module."""
    return count, lambda: call(theirs), lambda: call(ours)


def simhash(data: Path) -> dict[str, Job]:
    """Return the jobs of fingerprints of texts and features, and of an index."""
    import simhash as theirs

    from nearkin.compat import simhash as ours

    pair = partial(both, theirs, ours)

    english = common.hashable(common.pieces(common.texts(data, "en_20news"), 1000), 500)
    chinese = common.hashable(common.pieces(common.texts(data, "zh_laws"), 350), 500)
    features = [{word: 1 + position % 9 for position, word in enumerate(text.split())} for text in english]
    rng = random.Random(7)
    spread = [rng.getrandbits(64) for _ in range(20_000)]
    # Fingerprints of a corpus with near-copies fill some buckets: 200 sources, each in 100 variants.
    near = [value ^ 1 << rng.randrange(64) ^ 1 << rng.randrange(64) for value in spread[:200] for _ in range(100)]

    def texts(module: Any, batch: list[Any], **options: Any) -> list[int]:
        return [module.Simhash(text, **options).value for text in batch]

    def built(module: Any, values: list[int]) -> Any:
        return module.SimhashIndex([(str(i), module.Simhash(value)) for i, value in enumerate(values)], k=3)

    def asked(module: Any, values: list[int]) -> Callable[[], list[list[str]]]:
        index, queries = built(module, values), [module.Simhash(value) for value in values[:2000]]
        return lambda: [sorted(index.get_near_dups(query)) for query in queries]

    return {
        "`Simhash(text)`, English, 1,000 characters": pair(len(english), lambda module: texts(module, english)),
        "`Simhash(text)`, Chinese, 350 characters": pair(len(chinese), lambda module: texts(module, chinese)),
        "`Simhash(text, f=128)`, English": pair(len(english), lambda module: texts(module, english, f=128)),
        "`Simhash(dict)`, words with weights": pair(len(features), lambda module: texts(module, features)),
        "`SimhashIndex(objs, k=3)`, 20,000 at random": pair(
            len(spread), lambda module: built(module, spread).bucket_size()
        ),
        "`get_near_dups`, 20,000 at random": (2000, asked(theirs, spread), asked(ours, spread)),
        "`get_near_dups`, 20,000 near-copies": (2000, asked(theirs, near), asked(ours, near)),
    }


def datasketch(data: Path) -> dict[str, Job]:
    """Return the jobs of MinHashes of words, and of LSH indexes."""
    import datasketch as theirs

    from nearkin.compat import datasketch as ours
    from nearkin.compat.datasketch.lsh import choose_bands

    pair = partial(both, theirs, ours)

    texts = list(itertools.islice(common.pieces(common.texts(data, "en_20news"), 1000), 1000))
    documents = [[word.encode() for word in text.split()] for text in texts]
    near = [words[i % 7 :: 1 + i % 2] + words[: i % 5] for i, words in enumerate(documents)]
    made = {module: module.MinHash.bulk(documents + near) for module in (theirs, ours)}
    entries = {module: [(str(i), item) for i, item in enumerate(row)] for module, row in made.items()}

    def values(sketches: Any) -> list[list[int]]:
        return [item.hashvalues.tolist() for item in sketches]

    def updated(module: Any) -> Any:
        sketches = [module.MinHash() for _ in documents[:100]]
        for item, words in zip(sketches, documents, strict=False):
            for word in words:
                item.update(word)
        return values(sketches)

    def batches(module: Any, scheme: str) -> Any:
        sketches = [module.MinHash(scheme=scheme) for _ in documents]
        for item, words in zip(sketches, documents, strict=True):
            item.update_batch(words)
        return values(sketches)

    def chosen(module: Any) -> Any:
        choose_bands.cache_clear()
        return [(lsh.b, lsh.r) for lsh in (module.MinHashLSH(0.5), module.MinHashLSH(0.8))]

    def built(module: Any) -> Any:
        lsh = module.MinHashLSH(num_perm=128, params=(25, 5))
        for key, item in entries[module]:
            lsh.insert(key, item)
        return lsh

    indexes = {module: built(module) for module in (theirs, ours)}

    def queried(module: Any) -> Any:
        return [sorted(indexes[module].query(item)) for _, item in entries[module]]

    return {
        "`update(word)`": pair(sum(map(len, documents[:100])), updated),
        "`MinHash()` and `update_batch(words)`": pair(len(documents), lambda module: batches(module, "affine32")),
        '`MinHash(scheme="legacy")` and `update_batch`': pair(len(documents), lambda module: batches(module, "legacy")),
        "`MinHash.bulk(documents)`": pair(len(documents), lambda module: values(module.MinHash.bulk(documents))),
        "`MinHashLSH(threshold)`": pair(2, chosen),
        "`lsh.insert(key, minhash)`": pair(len(documents + near), lambda module: len(built(module).get_counts()[0])),
        "`lsh.query(minhash)`": pair(len(documents + near), queried),
    }


def ssdeep(data: Path) -> dict[str, Job]:
    """Return the jobs of digests and scores: 593 releases of files, and digests of other files."""
    theirs, pure = common.import_peer("ssdeep"), common.import_peer("ppdeep")
    from nearkin.compat import ssdeep as ours

    pair = partial(both, theirs, ours)

    folder = Path(tempfile.mkdtemp())
    with tarfile.open(data / "files_variants.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = [path.read_bytes() for path in files[::3]]
    few = [content for content in contents if len(content) < 100_000][:20]
    with gzip.open(data / "ssdeep_digests.txt.gz", "rt") as lines:
        digests = [line.split()[0].split(",")[0] for line in itertools.islice(lines, 0, 40_000, 10)]
    pairs = list(itertools.islice(itertools.product(digests[:100], digests), 100_000))

    def each(call: str, items: list[Any], peer: Any = theirs) -> Job:
        return both(peer, ours, len(items), lambda module: [getattr(module, call)(item) for item in items])

    def scores(module: Any) -> list[int]:
        return [module.compare(left, right) for left, right in pairs]

    def parts(module: Any) -> list[str]:
        results = []
        for content in contents:
            item = module.Hash()
            for start in range(0, len(content), 4096):
                item.update(content[start : start + 4096])
            results.append(item.digest())
        return results

    paths = [str(path) for path in files]
    count, mean = len(contents), sum(map(len, contents)) // len(contents) // 1000
    return {
        f"`hash(data)`, {mean} KB each": each("hash", contents),
        "`hash(data)` of ppdeep, up to 100 KB": each("hash", few, pure),
        "`hash_from_file(path)`": each("hash_from_file", paths),
        "`Hash()`, `update` by 4 KB": pair(count, parts),
        "`compare(a, b)`": pair(len(pairs), scores),
    }


JOBS: dict[str, tuple[Callable[[Path], dict[str, Job]], list[str]]] = {
    "datasketch": (datasketch, ["datasketch", "numpy", "scipy"]),
    "simhash": (simhash, ["simhash", "numpy"]),
    "ssdeep": (ssdeep, ["ssdeep", "ppdeep"]),
}


def measure(peer: str, data: Path) -> dict[str, Any]:
    """Compare the results of both sides, then time them."""
    import nearkin as nk

    nk.set_num_threads(1)
    results: dict[str, Any] = {}
    for name, (count, theirs, ours) in JOBS[peer][0](data).items():
        if theirs() != ours():
            raise SystemExit(f"{name}: ours differs from {peer}")
        times = common.rounds({"theirs": common.timer(theirs), "ours": common.timer(ours)}, ROUNDS)
        results[name] = {"items": count, **times}
        print(name, f"{times['theirs']['cpu'] / times['ours']['cpu']:.3g} times", flush=True)
    return {"jobs": results}


def each(side: str) -> Callable[[dict[str, Any]], str]:
    """Return the function that formats the microseconds of one call."""

    def cell(job: dict[str, Any]) -> str:
        seconds = job[side]["cpu"] / job["items"]
        return f"{seconds * 1e6:,.3g}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"

    return cell


def report(peer: str, run: dict[str, Any]) -> None:
    """Write the table of a peer's page."""
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "theirs, µs each": each("theirs"),
        "ours, µs each": each("ours"),
        "ratio": lambda job: common.ratio(job["theirs"]["cpu"] / job["ours"]["cpu"]),
    }
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items() if name in JOBS[peer][1])
    about = f"CPU time on one thread, median of {ROUNDS} rounds, after both sides gave the same; {versions}."
    table = common.table_of("call", columns, run["jobs"])
    common.splice(f"migrate/{peer}.md", "speed", f"{table}\n\n{about} {common.source(run)}")


def main() -> None:
    options = common.arguments(__doc__, ("--peer", {"required": True, "choices": sorted(JOBS)}))
    peer = options.peer
    measured = partial(measure, peer, options.data)
    common.run(f"compat-{peer}", options, measured, partial(report, peer), *JOBS[peer][1])


if __name__ == "__main__":
    main()
