"""What every benchmark shares: the corpora, who ran it on what, and the file it leaves.

A benchmark writes one JSON file into `bench/runs/`: the date, the machine, the versions, the command and every figure.
Peers run on one thread, on the same documents, in rounds that go through all candidates in turn, so that a machine that
slows down slows all of them; medians are reported.

CPU seconds are user and system time of a process and of the children it waited for; MB are 10^6 bytes of UTF-8.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "bench" / "runs"


def arguments(description: str | None, *extra: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """The command line: where the corpora lie, and a benchmark's own options."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the corpora")
    for name, options in extra:
        parser.add_argument(name, **options)
    return parser.parse_args()


def records(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Every record of a gzipped JSONL file."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def texts(data: Path, name: str) -> list[str]:
    """The texts of a corpus; of 20 Newsgroups the bodies only, of which headers are a tenth."""
    found = (record["text"] for record in records(data, name))
    if name == "en_20news":
        return [text.partition("\n\n")[2] for text in found]
    return list(found)


def pieces(sources: Iterable[str], size: int) -> Iterator[str]:
    """Texts cut into pieces of about `size` characters, at white space where there is some.

    Shorter rests, and pieces that are half white space, are left out.
    """
    for text in sources:
        start = 0
        while len(text) - start >= size:
            end = start + size
            space = re.compile(r"\s").search(text, end, end + 40)
            end = space.start() if space else end
            piece = " ".join(text[start:end].split())
            if 2 * len(piece) >= size:
                yield text[start:end].strip()
            start = end


def megabytes(documents: Iterable[str]) -> float:
    """Size in MB of UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in documents) / 1e6


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU and wall seconds of a call in this process, and what it gave."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def rounds(candidates: dict[str, Callable[[], tuple[float, float]]], count: int) -> dict[str, dict[str, Any]]:
    """Medians of the CPU and wall seconds that each candidate reports, and all values, over interleaved rounds."""
    cpu: dict[str, list[float]] = {name: [] for name in candidates}
    wall: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(count):
        for name, run in candidates.items():
            seconds = run()
            cpu[name].append(seconds[0])
            wall[name].append(seconds[1])
    return {
        name: {
            "cpu": statistics.median(cpu[name]),
            "wall": statistics.median(wall[name]),
            "cpu_rounds": cpu[name],
            "wall_rounds": wall[name],
        }
        for name in candidates
    }


def machine() -> dict[str, Any]:
    """Processor, cores, memory and system."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    flags = re.search(r"flags\s*: (.*)", info)
    wanted = ("avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vbmi2", "avx512_vpopcntdq")
    return {
        "processor": model[1] if model else platform.processor(),
        "features": [flag for flag in wanted if flags and flag in flags[1].split()],
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def versions(*packages: str) -> dict[str, str]:
    """Installed versions, and the commit that was measured."""
    import nearkin

    found = {"nearkin": nearkin.__version__, **{name: importlib.metadata.version(name) for name in packages}}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return {**found, "commit": commit.stdout.strip()}


def save(name: str, content: dict[str, Any], **about: Any) -> Path:
    """Write a run to `bench/runs/NAME-DATE.json`; a later run of the same day takes its place."""
    now = datetime.datetime.now(datetime.timezone.utc)
    run = {
        "benchmark": name,
        "date": now.isoformat(timespec="seconds"),
        "command": " ".join(["python", f"bench/{Path(sys.argv[0]).name}"]),
        "machine": machine(),
        **about,
        **content,
    }
    path = RUNS / f"{name}-{now:%Y-%m-%d}.json"
    RUNS.mkdir(exist_ok=True)
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def latest(name: str) -> dict[str, Any]:
    """The newest run of a benchmark."""
    return json.loads(sorted(RUNS.glob(f"{name}-*.json"))[-1].read_text(encoding="utf-8"))


def with_last(name: str, part: str, found: dict[str, Any]) -> dict[str, Any]:
    """What a partial run found, and before it what the last run has of the rest, in the last run's order."""
    last: dict[str, Any] = latest(name)[part] if list(RUNS.glob(f"{name}-*.json")) else {}
    return {**last, **found}


def table(header: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def splice(page: Path, marker: str, content: str) -> None:
    """Replace what stands between `<!-- MARKER -->` and `<!-- /MARKER -->` of a page."""
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    before, rest = text.split(begin)
    page.write_text(before + begin + "\n" + content.strip() + "\n" + end + rest.split(end)[1], encoding="utf-8")
