"""How a store grows: durable, verified check-and-add, single checks, opening and disk, from 100,000 documents on.

Documents are those of `bench/store.py`, of about 1 KB, made while they are fed in batches of 1,000. At each size the
benchmark asks for copies, for documents with one word changed, and for new ones, one by one; then it opens the store in
a new process and checks one document there. CPU seconds are of the process, its thread that merges included, without
the making of documents; single questions are told by the median of their wall time.

Run: `python bench/store_growth.py --to 1000000`; results go to `bench/runs/`, the table into `docs/store.md` and the
picture into `docs/img/store.svg`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import common
import nearkin as nk
from store import THRESHOLD, pieces, single
from store_rivals import BATCH

SIZES = (100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000)
ASKED = 300


def documents(data: Path) -> Iterator[str]:
    """Texts without end: the corpus, then its texts with a quarter of their words replaced by random ones."""
    texts = pieces(data, 30_000)
    yield from texts
    choose = random.Random(11)
    while True:
        words = choose.choice(texts).split(" ")
        for at in range(0, len(words), 4):
            words[at] = f"w{choose.getrandbits(30):x}"
        yield " ".join(words)


def one_word_changed(text: str) -> str:
    """A near-duplicate."""
    words = text.split(" ")
    words[len(words) // 2] = "changed"
    return " ".join(words)


def opened_afresh(path: Path, text: str) -> dict[str, float]:
    """Seconds from opening to the first answer, and the peak memory that a process gains by it (Linux)."""
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


def measured(store: nk.Store, path: Path, known: list[str]) -> dict[str, Any]:
    """Single questions, opening and disk of a store as it is."""
    new = [" ".join(f"x{number}y{at}" for at in range(150)) for number in range(ASKED)]
    near = [one_word_changed(text) for text in known]
    asked = {"copies": known, "near": near, "new": new}
    stats = store.stats()
    return {
        "check": {name: single(lambda text: store.check([text]), texts) for name, texts in asked.items()},
        "open": opened_afresh(path, known[0]),
        "bytes": dict(stats.bytes),
        "segments": len(store._snapshot.segments),
    }


def grown(recipe: str | None, sizes: list[int], data: Path, folder: Path) -> list[dict[str, Any]]:
    """One store, measured whenever it has one of the sizes."""
    path, source, rows = folder / (recipe or "simhash"), documents(data), []
    store = nk.Store.create(path, recipe, threshold=THRESHOLD)
    count, last, length = 0, 0, 0
    recent: list[float] = []
    known: list[str] = []
    while count < sizes[-1]:
        texts = list(islice(source, BATCH))
        length += sum(len(text.encode()) for text in texts)
        ids = [f"http://example.org/news/{number:010d}" for number in range(count, count + BATCH)]
        start = time.process_time()
        store.check_and_add(texts, ids)
        recent.append(time.process_time() - start)
        count += BATCH
        if len(known) < ASKED:
            known += texts[::250]
        if count in sizes:
            row: dict[str, Any] = {"documents": count, "text_bytes": length}
            row |= {"cpu_us_per_document": 1e6 * sum(recent) / (count - last), "slowest_batch_ms": 1000 * max(recent)}
            row |= measured(store, path, known[:ASKED])
            rows.append(row)
            print(json.dumps({"recipe": recipe or "simhash", **row}), flush=True)
            recent, last = [], count
    store.close()
    return rows


def render(run: dict[str, Any]) -> None:
    """The table of docs/store.md, and its picture."""
    page = common.ROOT / "docs" / "store.md"
    rows = [
        [
            f"{name}, {row['documents']:,}",
            f"{row['cpu_us_per_document']:.0f} µs",
            *(f"{row['check'][kind]['median_ms']:.2f} ms" for kind in ("copies", "near", "new")),
            f"{1000 * row['open']['seconds']:.0f} ms",
            f"{row['open']['peak_mb']:.0f} MB",
            f"{row['bytes']['total'] / row['documents']:,.0f}",
        ]
        for name, found in run["results"].items()
        for row in found
    ]
    asked = ["check of a copy", "of a near one", "of a new one"]
    head = ["documents", "check_and_add", *asked, "open and check", "memory", "bytes per document"]
    table = common.table(head, rows)
    common.splice(page, "store-growth", f"{table}\n\n{common.about(run)}")
    picture = page.parent / "img" / "store.svg"
    subprocess.run([sys.executable, common.ROOT / "tools" / "plot_store.py", picture, run["file"]], check=True)


def main() -> None:
    given = common.arguments(
        __doc__,
        ("--to", {"type": int, "default": 1_000_000, "help": "the largest size"}),
        ("--recipe", {"choices": ("simhash", "minhash"), "default": None, "help": "one of the two alone"}),
        ("--folder", {"type": Path, "default": None, "help": "where the stores are made and removed"}),
    )
    if given.report is not None:
        render(common.latest("store-growth", given.report))
        return
    nk.set_num_threads(1)
    sizes = [size for size in SIZES if size <= given.to]
    results: dict[str, Any] = {}
    for name in ("simhash", "minhash") if given.recipe is None else (given.recipe,):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            results[name] = grown(None if name == "simhash" else name, sizes, given.data, Path(folder))
        results = common.with_last("store-growth", "results", results)
        common.save("store-growth", {"results": results})


if __name__ == "__main__":
    main()
