"""What every benchmark shares: the corpora, the timing, and the file that a run leaves.

A run writes one JSON file, `bench/runs/DAY-NAME-TIME.json` (UTC, `2026-11-21-hamming-140058.json`): the machine, the
versions, the full command, the date and every figure. No run overwrites the file of another: a name that is taken gets
a counter. Pages are written from the newest run of a benchmark, or from a named one: `--report`, `--report FILE`.

Peers run on one thread, on the same documents, in rounds that go through all candidates in turn, so that a machine that
slows down slows all of them; medians are reported.

CPU seconds are user and system time of a process and of the children it waited for; MB are 10^6 bytes of UTF-8.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import importlib.metadata
import itertools
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "bench" / "runs"
FILE = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)-(?P<name>.+)-(?P<time>\d{6})(?:-(?P<count>\d+))?\.json")

# The files of this process, by benchmark: parts that end later are added to the file of the first.
_own: dict[str, Path] = {}
# Parts of those files that an earlier run measured, and in which file they were first.
_carried: dict[str, dict[str, str]] = {}


def arguments(description: str | None, *extra: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """The command line: where the corpora lie, whether to write pages only, and a benchmark's own options."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the corpora")
    mend = "measure nothing; write the tables from the newest run, or from FILE in bench/runs"
    parser.add_argument("--report", nargs="?", const="", metavar="FILE", help=mend)
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


def command() -> str:
    """The command that runs this process, with all its arguments."""
    return shlex.join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def runs(name: str) -> list[Path]:
    """The files of a benchmark, oldest first."""
    found = []
    for path in RUNS.glob(f"*-{name}-*.json"):
        match = FILE.fullmatch(path.name)
        if match and match["name"] == name:
            found.append((match["day"], match["time"], int(match["count"] or 1), path))
    return [path for *_, path in sorted(found)]


def reserve(name: str, now: datetime.datetime) -> Path:
    """A new, empty file for a run that starts at `now`."""
    RUNS.mkdir(exist_ok=True)
    stem = f"{now:%Y-%m-%d}-{name}-{now:%H%M%S}"
    for count in itertools.count(1):
        path = RUNS / (f"{stem}.json" if count == 1 else f"{stem}-{count}.json")
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            continue
        return path
    raise AssertionError


def save(name: str, content: dict[str, Any], **about: Any) -> Path:
    """Write a run into a file of its own; a process that saves a benchmark again writes into its own file again."""
    now = datetime.datetime.now(datetime.timezone.utc)
    run = {
        "benchmark": name,
        "date": now.isoformat(timespec="seconds"),
        "command": command(),
        "machine": machine(),
        **about,
        **({"carried": _carried[name]} if _carried.get(name) else {}),
        **content,
    }
    text = json.dumps(run, indent=1, ensure_ascii=False) + "\n"
    if name not in _own:
        _own[name] = reserve(name, now)
    aside = _own[name].with_suffix(".part")
    aside.write_text(text, encoding="utf-8")
    return aside.replace(_own[name])


def newest(name: str, file: str = "") -> Path:
    """The file of the newest run of a benchmark, or the named one."""
    if file:
        match = FILE.fullmatch(Path(file).name)
        if not match or match["name"] != name or not (RUNS / Path(file).name).exists():
            raise SystemExit(f"{file} is no run of {name}; there are {', '.join(path.name for path in runs(name))}")
        return RUNS / Path(file).name
    found = runs(name)
    if not found:
        raise SystemExit(f"no run of {name} in bench/runs; measure it first")
    return found[-1]


def latest(name: str, file: str = "") -> dict[str, Any]:
    """The newest run of a benchmark, or the one in the named file; `file` in it is the name of its file."""
    path = newest(name, file)
    return {**json.loads(path.read_text(encoding="utf-8")), "file": path.name}


def with_last(name: str, part: str, found: dict[str, Any]) -> dict[str, Any]:
    """What a partial run found, and before it what the last run has of the rest, in the last run's order.

    The file of this run says under `carried` in which file each part of the rest was first.
    """
    if not runs(name):
        return found
    last = latest(name)
    carry(name, last, [key for key in last[part] if key not in found])
    return {**last[part], **found}


def carry(name: str, last: dict[str, Any], parts: Iterable[str]) -> None:
    """Note that these parts are taken over from the run `last`, or from where that one took them."""
    own = _own.get(name) == RUNS / last["file"]
    first = {part: last.get("carried", {}).get(part, "" if own else last["file"]) for part in parts}
    _carried[name] = {part: file for part, file in first.items() if file}


def about(run: dict[str, Any]) -> str:
    """Where the figures of a run are from: machine, day, command, file."""
    source = f"`{run['command']}`; raw data: `bench/runs/{run['file']}`."
    return f"{run['machine']['processor']}, {run['date'][:10]}, {source}"


def ratio(value: float) -> str:
    """A ratio to three figures, with commas, never in powers of ten."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 1000 else f"{value:.3g}"


def table(header: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def splice(page: Path, marker: str, content: str) -> None:
    """Replace what is between `<!-- MARKER -->` and `<!-- /MARKER -->` of a page."""
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    before, rest = text.split(begin)
    page.write_text(before + begin + "\n" + content.strip() + "\n" + end + rest.split(end)[1], encoding="utf-8")
