"""The store: durable, verified check-and-add beside `nk.dedup` on the same corpus, and beside a SQLite table of bands.

Documents are pieces of about 1 KB of 20 Newsgroups; beyond its size each piece comes again with words changed, so
that it is like none. CPU seconds, documents per CPU second, wall seconds, bytes on disk per part, and the machine's own
time to sync a written page, all in one run.

The rivals are what users build (`store_rivals.py`), durable like the store. They verify nothing; their precision is
measured against exact Jaccard similarity.

Run: `python bench/store.py`; results go to `bench/runs/`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import common
import nearkin as nk
from store_rivals import BATCH, RIVALS, Rival

THRESHOLD = 0.8


def pieces(data: Path, count: int) -> list[str]:
    """Documents of about 1 KB; later rounds have a quarter of their words replaced."""
    texts: list[str] = []
    for text in common.texts(data, "en_20news"):
        texts += [text[at : at + 1000] for at in range(0, max(len(text) - 500, 1), 1000)]
    found = texts[:count]
    choose = random.Random(7)
    while len(found) < count:
        words = choose.choice(texts).split(" ")
        for at in range(0, len(words), 4):
            words[at] = f"w{choose.randrange(1 << 30):x}"
        found.append(" ".join(words))
    return found


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def sync_time(folder: Path) -> float:
    """Median seconds to write and sync 4 KB."""
    path, seconds = folder / "sync", []
    with path.open("wb") as file:
        for _ in range(50):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - start)
    path.unlink()
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=common.ROOT.parent / "shared" / "data")
    parser.add_argument("--documents", type=int, default=200_000)
    for name, count in RIVALS.items():
        parser.add_argument(f"--{name}", type=int, default=count[1], help="documents of this rival, which is slow")
    options = parser.parse_args()
    nk.set_num_threads(1)
    texts = pieces(options.data, options.documents)
    ids = [f"http://example.org/news/{number:08d}" for number in range(len(texts))]
    total = sum(len(text.encode()) for text in texts)
    found: dict[str, object] = {"documents": len(texts), "bytes": total}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["sync_seconds"] = sync_time(folder)
        kept: list[object] = []
        cpu, wall = timed(lambda: kept.extend(nk.dedup(texts, ids, threshold=THRESHOLD).kept))
        found["dedup"] = rates(len(texts), cpu, wall)
        for call in ("check_and_add", "add"):
            store = nk.Store.create(folder / call, threshold=THRESHOLD)
            status: list[str] = []

            def feed(store: nk.Store = store, call: str = call, status: list[str] = status) -> None:
                for start in range(0, len(texts), BATCH):
                    end = start + BATCH
                    status += getattr(store, call)(texts[start:end], ids[start:end]).status

            cpu, wall = timed(lambda: (feed(), store.close()))  # noqa: B023
            found[call] = rates(len(texts), cpu, wall)
            if call == "check_and_add":
                found["same_survivors"] = kept == [one for one, word in zip(ids, status, strict=True) if word == "new"]
        cpu, wall = timed(lambda: nk.Store.open(folder / "check_and_add").close())
        found["open"] = {"cpu_seconds": cpu, "wall_seconds": wall}
        with nk.Store.open(folder / "check_and_add") as store:
            found["open_and_first_check_seconds"] = first_check(folder / "check_and_add", texts[5])
            found["check"] = single(lambda text: store.check([text]), texts[:2000])
            fresh = [" ".join(f"x{number}y{at}" for at in range(150)) for number in range(300)]
            found["durable_single"] = single(lambda text: store.check_and_add([text], [text[:30]]), fresh)
            store.merge()
            stats = store.stats()
            found["disk"] = {**stats.bytes, "per_document": stats.bytes["total"] / stats.documents}
            found["parts"] = [part.documents.sizes() for part in store._snapshot.segments]
            found["check_merged"] = single(lambda text: store.check([text]), texts[:2000])
        for name, (run, _) in RIVALS.items():
            some = min(getattr(options, name), len(texts))
            found[name] = beside(run, folder / f"rival.{name}", texts[:some], ids[:some])
    common.save("store", found, versions=common.versions("duckdb"))
    print(json.dumps(found, indent=1))


def beside(run: Rival, path: Path, texts: list[str], ids: list[str]) -> dict[str, float]:
    """What a rival needs, and how many of its matches are near-duplicates."""
    matches: list[str | None] = []
    cpu, wall = timed(lambda: matches.extend(run(path, texts, ids, THRESHOLD)))
    named = [(number, int(str(match).rsplit("/", 1)[1])) for number, match in enumerate(matches) if match is not None]
    left, right = (np.array([pair[side] for pair in named], np.int64) for side in (0, 1))
    true = nk.similarity(texts, left, right) >= THRESHOLD
    precision = {"precision": float(true.mean())} if len(true) else {}
    return {"documents": len(texts), **rates(len(texts), cpu, wall), "matches": len(true), **precision}


def first_check(path: Path, text: str) -> float:
    """Wall seconds from opening to the first answer."""
    start = time.perf_counter()
    with nk.Store.open(path, "r") as store:
        store.check([text])
        return time.perf_counter() - start


def single(call: Callable[[str], object], texts: list[str]) -> dict[str, float]:
    """CPU milliseconds per call, and the wall time of the slowest hundredth."""
    seconds = []
    cpu = time.process_time()
    for text in texts:
        start = time.perf_counter()
        call(text)
        seconds.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    return {
        "cpu_ms": 1000 * cpu / len(texts),
        "median_ms": 1000 * statistics.median(seconds),
        "p99_ms": 1000 * float(np.quantile(seconds, 0.99)),
    }


def rates(count: int, cpu: float, wall: float) -> dict[str, float]:
    """Seconds, and documents per CPU second."""
    return {"cpu_seconds": cpu, "wall_seconds": wall, "per_cpu_second": count / cpu}


if __name__ == "__main__":
    main()
