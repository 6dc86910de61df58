"""The store: durable, verified check-and-add, compared with `nk.dedup` and with databases; growth to millions.

    python bench/store.py [--part base|growth] [--to 1000000]

Documents are pieces of about 1 KB of 20 Newsgroups; further documents have a quarter of their words replaced, so that
they are similar to no other. The base part measures CPU seconds, documents per CPU second, wall seconds, bytes on disk
and the machine's own time to sync a page, all in one run. The alternatives are what users build themselves, durable
like the store: MinHash bands in SQLite, and fingerprints in DuckDB. They verify nothing; their precision is measured
with exact Jaccard similarity.

The growth part feeds batches of 1,000 documents. At each size it checks copies, documents with one word changed, and
new documents, one by one, then opens the store in a new process and checks one document there. CPU seconds include the
compaction thread and exclude building the documents. Its table is in docs/store.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import common
import nearkin as nk

BATCH = 1000
Rival = Callable[[Path, list[str], list[str], float], "list[str | None]"]


def bands_in_sqlite(path: Path, texts: list[str], ids: list[str], threshold: float) -> list[str | None]:
    """Keep a table of (key of a band, id) of our signatures; the first id with a common band is the match."""
    recipe = nk.Recipe.preset("minhash")
    bands = nk.theory.choose_bands(threshold, 0.95, recipe.num_perm)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bands (key BLOB PRIMARY KEY, id TEXT) WITHOUT ROWID")
    connection.execute("CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT)")
    matches: list[str | None] = []
    for start in range(0, len(texts), BATCH):
        chunk, names = texts[start : start + BATCH], ids[start : start + BATCH]
        signatures = nk.signature(chunk, recipe)[:, : bands.num_bands * bands.num_rows]
        keys = np.ascontiguousarray(signatures).reshape(len(chunk), bands.num_bands, -1)
        connection.execute("BEGIN IMMEDIATE")
        for row, name, text in zip(keys, names, chunk, strict=True):
            target = [bytes([band]) + row[band].tobytes() for band in range(bands.num_bands)]
            marks = ",".join("?" * len(target))
            results = connection.execute(f"SELECT id FROM bands WHERE key IN ({marks}) LIMIT 1", target).fetchone()  # noqa: S608
            matches.append(None if results is None else results[0])
            if results is None:
                connection.executemany("INSERT OR IGNORE INTO bands VALUES (?, ?)", [(key, name) for key in target])
                connection.execute("INSERT INTO documents VALUES (?, ?)", (name, text))
        connection.execute("COMMIT")
    connection.close()
    return matches


def fingerprints_in_duckdb(path: Path, texts: list[str], ids: list[str], threshold: float) -> list[str | None]:
    """Keep a table of our fingerprints and scan it per batch; matches come from earlier batches only."""
    import duckdb  # Of the group `bench`.

    radius = nk.theory.simhash_radius(threshold, 128)
    connection = duckdb.connect(str(path))
    connection.execute("SET threads = 1")
    connection.execute("CREATE TABLE documents (number BIGINT, low UBIGINT, high UBIGINT, id VARCHAR, text VARCHAR)")
    matches: list[str | None] = []
    for start in range(0, len(texts), BATCH):
        chunk, names = texts[start : start + BATCH], ids[start : start + BATCH]
        words = np.asarray(nk.fingerprint(chunk))
        batch = {"place": np.arange(len(chunk)), "low": words[:, 0].copy(), "high": words[:, 1].copy()}
        connection.execute("BEGIN")
        connection.register("batch", batch)
        near = connection.execute(
            "SELECT place, min(number) FROM batch JOIN documents ON bit_count(xor(batch.low, documents.low)) "
            "+ bit_count(xor(batch.high, documents.high)) <= ? GROUP BY place",
            [radius],
        ).fetchnumpy()
        columns = list(near.values())
        first = dict(zip(columns[0].tolist(), columns[1].tolist(), strict=True))
        matches += [ids[first[position]] if position in first else None for position in range(len(chunk))]
        new = [position for position in range(len(chunk)) if position not in first]
        fresh = {name: values[new] for name, values in batch.items() if name != "place"}
        fresh |= {"number": start + np.array(new, np.int64)}
        fresh |= {name: np.array(values, object)[new] for name, values in (("id", names), ("text", chunk))}
        connection.register("fresh", fresh)
        connection.execute("INSERT INTO documents BY NAME SELECT * FROM fresh")
        connection.execute("COMMIT")
    connection.close()
    return matches


#: Each rival, and how many documents it gets unless told otherwise.
RIVALS: dict[str, tuple[Rival, int]] = {
    "sqlite": (bands_in_sqlite, 200_000),
    "duckdb": (fingerprints_in_duckdb, 20_000),
}


THRESHOLD = 0.8


def replaced_texts(texts: list[str], seed: int, mark: str = "w") -> Iterator[str]:
    """Yield texts without end, each with a quarter of its words replaced by words that begin with `mark`."""
    choose = random.Random(seed)
    while True:
        words = choose.choice(texts).split(" ")
        for at in range(0, len(words), 4):
            words[at] = f"{mark}{choose.getrandbits(30):x}"
        yield " ".join(words)


def documents(data: Path) -> Iterator[str]:
    """Yield documents of about 1 KB without end: pieces of the corpus, then pieces with other words."""
    bodies = common.texts(data, "en_20news")
    texts = [text[at : at + 1000] for text in bodies for at in range(0, max(len(text) - 500, 1), 1000)]
    yield from texts
    yield from replaced_texts(texts, 11)


def sync_time(folder: Path) -> float:
    """Return the median seconds to write and sync 4 KB."""

    def sync(file: Any) -> None:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())

    with tempfile.TemporaryFile(dir=folder) as file:
        return common.time_each(sync, [file] * 50)["median_ms"] / 1000


def measure_rival(run: Rival, path: Path, texts: list[str], ids: list[str]) -> dict[str, float]:
    """Measure an alternative, and the share of its matches that are near-duplicates."""
    cpu, wall, matches = common.timed(lambda: run(path, texts, ids, THRESHOLD))
    named = [(number, int(str(match).rsplit("/", 1)[1])) for number, match in enumerate(matches) if match is not None]
    left, right = (np.array([pair[side] for pair in named], np.int64) for side in (0, 1))
    true = nk.similarity(texts, left, right) >= THRESHOLD
    precision = {"precision": float(true.mean())} if len(true) else {}
    return {"documents": len(texts), **rates(len(texts), cpu, wall), "matches": len(true), **precision}


def rates(count: int, cpu: float, wall: float) -> dict[str, float]:
    return {"cpu_seconds": cpu, "wall_seconds": wall, "per_cpu_second": count / cpu}


SIZES = (100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000)
QUERIES = 300


def one_word_changed(text: str) -> str:
    words = text.split(" ")
    words[len(words) // 2] = "changed"
    return " ".join(words)


def first_check_in_process(path: Path, text: str) -> dict[str, float]:
    """Return seconds from opening to the first result in a new process, and the peak memory that this adds (Linux)."""
    program = (
        "import sys, time, nearkin as nk\n"
        "def peak(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "text = sys.stdin.read(); nk.fingerprint([text])\n"
        "before, start = peak(), time.perf_counter()\n"
        f"store = nk.Store.open({str(path)!r}, 'r'); store.check([text])\n"
        "print(time.perf_counter() - start, peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()
    return {"seconds": float(seconds), "peak_mb": int(kilobytes) / 1e3}


def measure_size(store: nk.Store, path: Path, existing: list[str]) -> dict[str, Any]:
    new = [" ".join(f"x{number}y{at}" for at in range(150)) for number in range(QUERIES)]
    near = [one_word_changed(text) for text in existing]
    queries = {"copies": existing, "near": near, "new": new}
    return {
        "check": {name: common.time_each(lambda text: store.check([text]), texts) for name, texts in queries.items()},
        "open": first_check_in_process(path, existing[0]),
        "bytes": dict(store.stats().bytes),
        "segments": len(store._snapshot.segments),
    }


def measure_growth(family: str, sizes: list[int], data: Path, folder: Path) -> list[dict[str, Any]]:
    """Feed one store, and measure it at each size."""
    path, source, rows = folder / family, documents(data), []
    store = nk.Store.create(path, "default" if family == "simhash" else family, threshold=THRESHOLD)
    count, last, length = 0, 0, 0
    recent: list[float] = []
    existing: list[str] = []
    while count < sizes[-1]:
        texts = list(islice(source, BATCH))
        length += sum(len(text.encode()) for text in texts)
        ids = [f"http://example.org/news/{number:010d}" for number in range(count, count + BATCH)]
        start = time.process_time()
        store.check_and_add(texts, ids)
        recent.append(time.process_time() - start)
        count += BATCH
        if len(existing) < QUERIES:
            existing += texts[::250]
        if count in sizes:
            row: dict[str, Any] = {"documents": count, "text_bytes": length}
            row |= {"cpu_us_per_document": 1e6 * sum(recent) / (count - last), "slowest_batch_ms": 1000 * max(recent)}
            row |= measure_size(store, path, existing[:QUERIES])
            rows.append(row)
            print(json.dumps({"recipe": family, **row}), flush=True)
            recent, last = [], count
    store.close()
    return rows


def report(run: dict[str, Any]) -> None:
    """Write the table and the picture of docs/store.md."""
    columns: dict[str, Callable[[Any], str]] = {
        "check_and_add": lambda row: f"{row['cpu_us_per_document']:.0f} µs",
        "check of a copy": lambda row: f"{row['check']['copies']['median_ms']:.2f} ms",
        "of a near one": lambda row: f"{row['check']['near']['median_ms']:.2f} ms",
        "of a new one": lambda row: f"{row['check']['new']['median_ms']:.2f} ms",
        "open and check": lambda row: f"{1000 * row['open']['seconds']:.0f} ms",
        "memory": lambda row: f"{row['open']['peak_mb']:.0f} MB",
        "bytes per document": lambda row: f"{row['bytes']['total'] / row['documents']:,.0f}",
    }
    rows = {f"{name}, {row['documents']:,}": row for name, result in run["results"].items() for row in result}
    table = common.table_of("documents", columns, rows)
    common.splice("store.md", "store-growth", f"{table}\n\n{common.source(run)}")
    picture = common.ROOT / "docs" / "img" / "store.svg"
    subprocess.run([sys.executable, common.ROOT / "tools" / "plot_store.py", picture, run["file"]], check=True)


def feed(path: Path, call: str, texts: list[str], ids: list[str]) -> list[str]:
    """Add documents to a new store in batches; return their statuses."""
    status: list[str] = []
    with nk.Store.create(path, threshold=THRESHOLD) as store:
        for start in range(0, len(texts), BATCH):
            status += getattr(store, call)(texts[start : start + BATCH], ids[start : start + BATCH]).status
    return status


def measure_base(options: argparse.Namespace) -> None:
    """Measure feeding, checking, opening and disk, then the alternatives."""
    texts = list(islice(documents(options.data), options.documents))
    ids = [f"http://example.org/news/{number:08d}" for number in range(len(texts))]
    results: dict[str, object] = {"documents": len(texts), "bytes": sum(len(text.encode()) for text in texts)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results["sync_seconds"] = sync_time(folder)
        cpu, wall, result = common.timed(lambda: nk.dedup(texts, ids, recipe="minhash", threshold=THRESHOLD))
        results["dedup"] = rates(len(texts), cpu, wall)
        for call in ("check_and_add", "add"):
            cpu, wall, status = common.timed(lambda call=call: feed(folder / call, call, texts, ids))
            results[call] = rates(len(texts), cpu, wall)
            if call == "check_and_add":
                new = [name for name, word in zip(ids, status, strict=True) if word == "new"]
                results["same_survivors"] = list(result.kept) == new
        path = folder / "check_and_add"
        cpu, wall, _ = common.timed(lambda: nk.Store.open(path).close())
        results["open"] = {"cpu_seconds": cpu, "wall_seconds": wall}
        with nk.Store.open(path) as store:
            results["open_and_first_check_seconds"] = first_check_in_process(path, texts[5])["seconds"]
            results["check"] = common.time_each(lambda text: store.check([text]), texts[:2000])
            fresh = [" ".join(f"x{number}y{at}" for at in range(150)) for number in range(300)]
            results["durable_single"] = common.time_each(lambda text: store.check_and_add([text], [text[:30]]), fresh)
            store.merge()
            stats = store.stats()
            results["disk"] = {**stats.bytes, "per_document": stats.bytes["total"] / stats.documents}
            results["check_merged"] = common.time_each(lambda text: store.check([text]), texts[:2000])
        for name, (run, count) in RIVALS.items():
            count = min(count, len(texts))
            results[name] = measure_rival(run, folder / f"rival.{name}", texts[:count], ids[:count])
    common.save("store", results, versions=common.versions("duckdb"))
    print(json.dumps(results, indent=1))


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--part", {"choices": ("base", "growth"), "default": None}),
        ("--documents", {"type": int, "default": 200_000, "help": "of the base part"}),
        ("--to", {"type": int, "default": 1_000_000, "help": "the largest size of growth"}),
        ("--recipe", {"choices": ("simhash", "minhash"), "default": None, "help": "only this store of growth"}),
        ("--folder", {"type": Path, "default": None, "help": "for temporary stores"}),
    )
    if options.report is not None:
        report(common.latest("store-growth", options.report))
        return
    nk.set_num_threads(1)
    if options.part in (None, "base"):
        measure_base(options)
    if options.part in (None, "growth"):
        sizes = [size for size in SIZES if size <= options.to]
        results: dict[str, Any] = {}
        for name in ("simhash", "minhash") if options.recipe is None else (options.recipe,):
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                results[name] = measure_growth(name, sizes, options.data, Path(folder))
            results = common.merge_last("store-growth", "results", results)
            common.save("store-growth", {"results": results}, versions=common.versions())
        report(common.latest("store-growth"))


if __name__ == "__main__":
    main()
