"""Patterns of URLs: grouping accuracy on sites with a known truth, beside Drain3; articles of one site; attacks; speed.

Sites come from `patterns_sites.py`. Weights of the merge were chosen on seeds below 40; the sites here have others.
Grouping accuracy is the share of requests whose group holds the requests of their interface and no other; requests of
scanners are right without a group, or in one of their own; `ordinary` leaves them out. Drain3 has its default settings
and, as a second candidate, masks for numbers, UUIDs and hashes; it is given `METHOD` and the segments and parameters
of the path as words.

Run: `python bench/patterns_urls.py`; results go to `bench/runs/`.
"""

from __future__ import annotations

import gzip
import importlib.util
import random
import re
import time
from collections.abc import Callable
from typing import Any

import common
import patterns_sites as sites

SEEDS = range(101, 105)
SIZES = (50, 200, 1000, 5000)
NOISE = (0.0, 0.05)


def ours(site: sites.Site, *, clients: bool) -> tuple[list[object], float]:
    """Ids of the patterns of all requests, and CPU seconds."""
    from nearkin.patterns.urls import UrlPatterns

    start = time.process_time()
    patterns = UrlPatterns().fit(site.urls, site.methods, clients=site.clients if clients else None)
    groups = patterns.match_many(site.urls, site.methods)["id"].to_pylist()
    return groups, time.process_time() - start


MASKS = [
    (r"(?<=\s)[0-9a-f]{8}-[0-9a-f-]{27}(?=\s|$)", "UUID"),
    (r"(?<=\s)[0-9a-f]{16,}(?=\s|$)", "HEX"),
    (r"(?<![A-Za-z0-9])\d+(?![A-Za-z0-9])", "NUM"),
]


def drain(site: sites.Site, *, masked: bool, best: bool = False) -> tuple[list[object], float]:
    """Clusters of Drain3, and CPU seconds; with `best` of paths alone, and similarity 0.9, the best of 24 settings."""
    from drain3 import TemplateMiner
    from drain3.masking import MaskingInstruction
    from drain3.template_miner_config import TemplateMinerConfig

    config = TemplateMinerConfig()
    if masked:
        config.masking_instructions = [MaskingInstruction(pattern, name) for pattern, name in MASKS]
    if best:
        config.drain_sim_th, config.drain_depth = 0.9, 8
    start = time.process_time()
    miner = TemplateMiner(config=config)
    groups: list[object] = []
    for method, url in zip(site.methods, site.urls, strict=True):
        text = re.sub(r"[/?&=]", " ", url.partition("?")[0] if best else url)
        groups.append(miner.add_log_message(f"{method} {text}")["cluster_id"])
    return groups, time.process_time() - start


def ordinary_accuracy(truth: list[int], groups: list[object]) -> float:
    """Grouping accuracy of the requests that no scanner made, whatever its own were grouped with."""
    rows = [row for row, label in enumerate(truth) if label >= 0]
    return sites.grouping_accuracy([truth[row] for row in rows], [groups[row] for row in rows])


def accuracy() -> list[dict[str, Any]]:
    """Grouping accuracy and requests per CPU second of all candidates."""
    candidates: dict[str, Callable[[sites.Site], tuple[list[object], float]]] = {
        "nearkin": lambda site: ours(site, clients=False),
        "nearkin, clients": lambda site: ours(site, clients=True),
    }
    if importlib.util.find_spec("drain3"):
        candidates["Drain3"] = lambda site: drain(site, masked=False)
        candidates["Drain3, masks"] = lambda site: drain(site, masked=True)
        candidates["Drain3, masks, paths, 0.9"] = lambda site: drain(site, masked=True, best=True)
    rows = []
    for size in SIZES:
        for noise in NOISE:
            for seed in SEEDS:
                site = sites.site(size, seed, noise)
                for name, group in candidates.items():
                    # Large sites, and the peer, which is slower, have fewer seeds.
                    most = (1 if size > 1000 else 2) if name.startswith("Drain3") else 2 if size > 1000 else len(SEEDS)
                    most = 0 if size > 1000 and "paths" in name else most
                    if seed >= SEEDS[0] + most:
                        continue
                    groups, seconds = group(site)
                    row = {
                        "interfaces": size, "noise": noise, "seed": seed, "candidate": name, "requests": len(groups),
                        "accuracy": round(sites.grouping_accuracy(site.truth, groups), 4),
                        "ordinary": round(ordinary_accuracy(site.truth, groups), 4),
                        "per_second": round(len(groups) / seconds),
                    }  # fmt: skip
                    rows.append(row)
                    print(row, flush=True)
    return rows


def articles(data: Any) -> dict[str, Any]:
    """Patterns that explain 99% of the articles of one site."""
    from nearkin.patterns.urls import UrlPatterns

    with gzip.open(data / "url_wikipedia_10k.txt.gz", "rt", encoding="utf-8") as lines:
        urls = lines.read().split()
    counts = UrlPatterns().fit(urls).table()["count"].to_pylist()
    explained = needed = 0
    for count in counts:
        if explained < 0.99 * len(urls):
            explained += count
            needed += 1
    return {"urls": len(urls), "patterns": len(counts), "patterns_of_99": needed, "explained": explained / len(urls)}


def attacks(data: Any) -> list[dict[str, Any]]:
    """Patterns of ordinary traffic that attack strings as values and as segments change."""
    from urllib.parse import quote

    from nearkin.patterns.urls import UrlPatterns

    strings = [row["text"] for row in common.records(data, "url_httpparams_train") if row["label"] == "anom"]
    rows = []
    for seed in SEEDS:
        site, r = sites.site(200, seed, 0.0), random.Random(seed)
        clean = {row["id"]: row["pattern"] for row in UrlPatterns().fit(site.urls, site.methods).table().to_pylist()}
        urls, methods = list(site.urls), list(site.methods)
        for string in strings:
            place = r.randrange(len(site.urls))
            path, mark, query = site.urls[place].partition("?")
            pairs = query.split("&")
            if mark and r.random() < 0.8:
                at = r.randrange(len(pairs))
                pairs[at] = f"{pairs[at].partition('=')[0]}={quote(string, safe='')}"
                urls.append(f"{path}?{'&'.join(pairs)}")
            else:
                parts = path.split("/")
                parts[r.randrange(1, len(parts))] = quote(string, safe="")
                urls.append("/".join(parts))
            methods.append(site.methods[place])
        patterns = UrlPatterns().fit(urls, methods)
        found = {row["id"]: row["pattern"] for row in patterns.table().to_pylist()}
        row = {
            "seed": seed, "ordinary": len(site.urls), "attacks": len(strings), "patterns": len(clean),
            "gone": len(clean.keys() - found.keys()),
            "changed": sum(found.get(key, text) != text for key, text in clean.items()),
            "new": len(found.keys() - clean.keys()), "unexplained": patterns.unexplained.count,
        }  # fmt: skip
        rows.append(row)
        print(row, flush=True)
    return rows


def speed() -> dict[str, Any]:
    """URLs per CPU second on one thread, of one site of 500 interfaces."""
    import pyarrow as pa

    from nearkin.patterns.urls import UrlPatterns

    site = sites.site(500, 101, 0.02, mean=1200)
    urls, methods = pa.array(site.urls), pa.array(site.methods)
    best: dict[str, float] = {}
    for _ in range(3):
        start = time.process_time()
        patterns = UrlPatterns().fit(urls, methods)
        fitted = time.process_time()
        patterns.table()
        made = time.process_time()
        patterns.match_many(urls, methods)
        ended = time.process_time()
        for name, seconds in (("fit", fitted - start), ("fit and table", made - start), ("match_many", ended - made)):
            best[name] = min(best.get(name, seconds), seconds)
    return {"urls": len(urls), "per_cpu_second": {name: round(len(urls) / seconds) for name, seconds in best.items()}}


def main() -> None:
    """Measures, and leaves a file in bench/runs."""
    given = common.arguments(__doc__)
    if given.report is not None:
        return
    result = {
        "articles": articles(given.data),
        "attacks": attacks(given.data),
        "speed": speed(),
        "accuracy": accuracy(),
    }
    print(result["articles"], result["speed"])
    common.save("patterns-urls", result)


if __name__ == "__main__":
    main()
