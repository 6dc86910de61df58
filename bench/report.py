"""What a report costs: CPU of a run of 200,000 documents with and without it, the file's size, and how soon it opens.

The corpus is that of `bench/dedup.py`. Runs with and without `--report` alternate, each in a process of its own, one
thread; the cost of the report is the difference of their medians. The page is then opened in Chromium, on a processor
as it is and slowed four times: milliseconds until it is loaded, until the script has shown its lists, and the script's
heap after a collection. A second page is as large as one is made: 100,000 pairs, 20 MB.

Run: `python bench/report.py`; results go to `bench/runs/`.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import common
import dedup

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def run_once(corpus: Path, folder: Path, *, report: bool) -> dict[str, Any]:
    """CPU and wall seconds of one run."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [Path(sys.executable).with_name("nearkin"), "dedup", corpus, "--out", folder, "--id-column", "id"]
    command += ["--threads", "1", "--quiet", *(["--report"] if report else [])]
    return dedup.measured(command, {})


def cost(corpus: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """Medians of runs without and with a report."""
    found: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for _ in range(rounds):
        for report in (False, True):
            found[report].append(run_once(corpus, folder, report=report))
    plain, reported = (statistics.median(run["cpu"] for run in found[kind]) for kind in (False, True))
    page = folder / "report.html"
    return {
        "cpu": plain,
        "cpu_with_report": reported,
        "share": reported / plain - 1,
        "bytes": page.stat().st_size,
        "rounds": {"without": found[False], "with": found[True]},
    }


def large_page(path: Path, pairs: int) -> None:
    """A page of that many pairs, and as many texts as have room; random words."""
    from nearkin.report import Run, write_report

    random = np.random.default_rng(1)
    words = np.array(["".join(map(chr, random.integers(97, 123, 7))) for _ in range(30_000)])
    ids = [f"document-{row:07}" for row in range(pairs + 1)]
    similarity = np.round(0.8 + 0.2 * random.random(pairs), 4).tolist()
    clusters: dict[str, list[Any]] = {
        "id": ids,
        "cluster": [row // 5 for row in range(pairs + 1)],
        "representative": [ids[row - row % 5] for row in range(pairs + 1)],
        "distance": [3] * (pairs + 1),
        "similarity": [1.0, *similarity],
        "reason": ["kept" if row % 5 == 0 else "near" for row in range(pairs + 1)],
    }
    summary: dict[str, Any] = {
        "recipe": "char:4|binary|xxh3|simhash:128",
        "threshold": 0.8,
        "radius": 30,
        "verify": "jaccard",
        "cluster": "absorb",
        "keep": "first",
        "documents": 2 * pairs,
        "kept": pairs,
        "removed": pairs,
        "removed_by_reason": {"near": pairs},
        "clusters": pairs // 5,
        "largest_cluster": 5,
        "candidates": pairs,
        "timings": {"hash": {"wall": 1.0, "cpu": 1.0}},
        "near_misses": {"sampled": 4000, "of": pairs, "pairs": 9},
        "expected_recall": 0.995,
    }
    near: dict[str, list[Any]] = {
        "left": ids[:-2],
        "right": ids[2:],
        "distance": [9] * (pairs - 1),
        "similarity": [0.7] * (pairs - 1),
    }
    texts = {name: " ".join(words[random.integers(0, 30_000, 1_100)]) for name in ids[:12_000]}
    write_report(
        path,
        Run("large", summary, clusters, near, lambda wanted: {name: texts[name] for name in wanted & texts.keys()}),
    )


def opened(page: Path, slower: int) -> dict[str, Any]:
    """How soon a page is there, in milliseconds, and what its script holds."""
    from playwright.sync_api import sync_playwright

    program = next(path for name in PROGRAMS if (path := shutil.which(name)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page()
        session = tab.context.new_cdp_session(tab)
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        tab.goto(page.as_uri())
        tab.locator("main").wait_for()
        entry = "performance.getEntriesByType('navigation')[0]"
        loaded = tab.evaluate(f"{entry}.loadEventEnd")
        painted = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        tab.wait_for_timeout(500)
        session.send("HeapProfiler.collectGarbage")
        heap = session.send("Runtime.getHeapUsage")["usedSize"]
        browser.close()
    return {"slower": slower, "loaded_ms": loaded, "painted_ms": painted, "heap_mb": heap / 1e6}


def main() -> None:
    options = common.arguments(
        __doc__,
        ("--documents", {"type": int, "default": 200_000}),
        ("--seed", {"type": int, "default": 1}),
        ("--rounds", {"type": int, "default": 5}),
        ("--pairs", {"type": int, "default": 100_000}),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = folder / "corpus.jsonl"
        dedup.write(dedup.make_corpus(options.data, options.documents, options.seed), corpus)
        found: dict[str, Any] = {"documents": options.documents, **cost(corpus, folder / "out", options.rounds)}
        large = folder / "large.html"
        large_page(large, options.pairs)
        pages = {"run": folder / "out" / "report.html", "large": large}
        found["pages"] = {
            kind: {"bytes": page.stat().st_size, "opened": [opened(page, slower) for slower in (1, 4)]}
            for kind, page in pages.items()
        }
    common.save("report", found, versions=common.versions("numpy"))
    print(json.dumps({key: cell for key, cell in found.items() if key != "rounds"}, indent=1))


if __name__ == "__main__":
    main()
