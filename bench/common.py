"""Harness of all benchmarks: corpora, timing, peers and run files.

A run writes one JSON file, `bench/runs/DAY-NAME-TIME.json` (UTC, for example `2026-11-21-hamming-140058.json`), with
the machine and its instruction set, the versions, the full command, the date and every figure. A run never overwrites
another file: if the name exists, the file gets a counter. The tables in the docs come from the newest run of a
benchmark or from a named one: `--report`, `--report FILE`.

Candidates use one thread and the same documents. Rounds go through all candidates in turn, so that a machine that
slows down affects all of them; medians are reported. CPU seconds are user and system time of a process and of the
children it waited for. MB are 10^6 bytes of UTF-8.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import importlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import platform
import re
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearkin import _core

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "bench" / "runs"
DATA = ROOT / "bench" / "data"
FILE = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)-(?P<name>.+)-(?P<time>\d{6})(?:-(?P<count>\d+))?\.json")

Report = Callable[[dict[str, Any]], None]
# Run files of this process by benchmark: a part that ends later is added to the file of the first part.
_own: dict[str, Path] = {}
# Parts that an earlier run measured, with the file that had them first.
_carried: dict[str, dict[str, str]] = {}


def arguments(description: str | None, *extra: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """Parse the command line: the folder of the corpora, `--report`, and the benchmark's own options."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the corpora")
    text = "measure nothing; write the tables from the newest run, or from FILE in bench/runs"
    parser.add_argument("--report", nargs="?", const="", metavar="FILE", help=text)
    parser.add_argument(
        "--instructions", metavar="SET", help="let nearkin use no instructions beyond a set, such as avx2"
    )
    for name, options in extra:
        parser.add_argument(name, **options)
    chosen = parser.parse_args()
    _core.limit_instructions(chosen.instructions)
    return chosen


def program() -> list[str]:
    """Return the command `nearkin`, with the instructions that this process uses."""
    limit = f"from nearkin import _core; _core.limit_instructions({_core.instructions()!r}); "
    return [sys.executable, "-c", limit + "from nearkin.cli import main; main()"]


# Corpora


def records(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield every record of a gzipped JSONL file."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def texts(data: Path, name: str) -> list[str]:
    """Return the texts of a corpus; for 20 Newsgroups only the bodies, since headers are a tenth of the text."""
    values = (record["text"] for record in records(data, name))
    if name == "en_20news":
        return [text.partition("\n\n")[2] for text in values]
    return list(values)


def sections(name: str) -> dict[str, str]:
    """Return the sections of a file of `bench/data`; each begins with a line `== NAME`."""
    parts = re.split(r"^== (\w+)\n", (DATA / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {section: text.strip("\n") for section, text in zip(parts[1::2], parts[2::2], strict=True)}


def pieces(sources: Iterable[str], size: int) -> Iterator[str]:
    """Cut texts into pieces of about `size` characters, at white space if possible.

    Shorter remainders, and pieces that are half white space, are dropped.
    """
    for text in sources:
        start = 0
        while len(text) - start >= size:
            end = start + size
            space = re.compile(r"\s").search(text, end, end + 40)
            end = space.start() if space else end
            if 2 * len(" ".join(text[start:end].split())) >= size:
                yield text[start:end].strip()
            start = end


def megabytes(documents: Iterable[str]) -> float:
    """Return the size in MB of UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in documents) / 1e6


# Timing


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the children it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return CPU and wall seconds of a call, and its result."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = call()
    return cpu_seconds() - cpu, time.perf_counter() - wall, result


def timer(call: Callable[..., Any], *arguments: Any) -> Callable[[], tuple[float, float]]:
    """Return a function that calls `call` and returns its CPU and wall seconds."""
    return lambda: timed(lambda: call(*arguments))[:2]


def time_each(call: Callable[[Any], object], items: Sequence[Any]) -> dict[str, float]:
    """Call a function with each item; return calls per second, CPU milliseconds of one, percentiles of wall time."""
    walls, cpu = [], time.process_time()
    for item in items:
        start = time.perf_counter()
        call(item)
        walls.append(1000 * (time.perf_counter() - start))
    cpu = time.process_time() - cpu
    return {
        "per_second": 1000 * len(items) / sum(walls),
        "cpu_ms": 1000 * cpu / len(items),
        "median_ms": statistics.median(walls),
        "p99_ms": sorted(walls)[round(0.99 * (len(walls) - 1))],
    }


def min_cpu(call: Callable[[], Any], rounds: int = 3, repeats: int = 1) -> float:
    """Return the CPU seconds of one call in the fastest round of `repeats` calls."""
    return min(timed(lambda: [call() for _ in range(repeats)] and None)[0] for _ in range(rounds)) / repeats


def rounds(candidates: dict[str, Callable[[], tuple[float, float]]], count: int) -> dict[str, dict[str, Any]]:
    """Run the candidates in interleaved rounds; return medians and all values of their CPU and wall seconds."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for _ in range(count):
        for name, run in candidates.items():
            seconds[name].append(run())
    results = {}
    for name, values in seconds.items():
        cpu, wall = (list(column) for column in zip(*values, strict=True))
        medians = {"cpu": statistics.median(cpu), "wall": statistics.median(wall)}
        results[name] = {**medians, "cpu_rounds": cpu, "wall_rounds": wall}
    return results


MARK = "NEARKIN_BENCH"
INTERVAL = 0.2
TICKS = os.sysconf("SC_CLK_TCK")


class ProcessWatcher:
    """All processes that inherited a mark in their environment, daemons included (Linux).

    The peak is the largest sum of their proportional set sizes: a page that n processes share counts for each of them
    with its n-th part.
    """

    def __init__(self, mark: str) -> None:
        self.mark = f"{MARK}={mark}".encode()
        # By process id and start time: CPU seconds at the last sample, and whether the process has the mark.
        self.cpu: dict[tuple[int, int], float] = {}
        self.marked: dict[tuple[int, int], bool] = {}
        self.peak = 0

    def sample(self) -> list[int]:
        """Record CPU time and memory of the processes; return their ids."""
        pids, total = [], 0
        for pid in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]:
            # A process may end while it is read, or belong to another user.
            with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if fields := self.stat_fields(pid):
                    self.cpu[pid, int(fields[19])] = (int(fields[11]) + int(fields[12])) / TICKS
                    pids.append(pid)
                    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                    total += 1024 * int(rollup.split("\nPss:")[1].split()[0])
        self.peak = max(self.peak, total)
        return pids

    def stat_fields(self, pid: int) -> list[str] | None:
        """Return the fields of /proc/PID/stat from the state on; None for other processes and zombies."""
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        key = pid, int(fields[19])
        # Before exec a process still has the environment of its parent, so a negative answer is not final.
        if not self.marked.get(key):
            self.marked[key] = self.mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return fields if self.marked[key] and fields[0] != "Z" else None

    def kill(self) -> None:
        """Kill the processes that still run."""
        for pid in self.sample():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def folder_size(folder: Path) -> int:
    """Return the bytes of all files below a folder; files that disappear are skipped."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(path, name).lstat().st_size
    return total


def measure_command(command: list[Any], folder: Path, environment: dict[str, str] | None = None) -> dict[str, float]:
    """Run a command to its end and measure it with every process that it starts.

    Parameters
    ----------
    command : list
        The program and its arguments.
    folder : Path
        The working folder: `stderr` is written there, and the size of its files is sampled.
    environment : dict, optional
        Additional environment variables.

    Returns
    -------
    dict
        `cpu` and `wall` seconds, `peak_mb` of memory, `files_mb` (the largest size of the folder). CPU seconds are
        those that the system counts for processes that were waited for, or, if larger, the sum of what each process
        had used at the last sample: nobody waits for a daemon. A process that runs for less than 0.2 s may be missed.

    Raises
    ------
    RuntimeError
        The command failed; the message has the end of its standard error.
    """
    mark = uuid.uuid4().hex
    watcher, files, start = ProcessWatcher(mark), 0, time.perf_counter()
    with (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            list(map(str, command)),
            env={**os.environ, **(environment or {}), MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
        )
        try:
            while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                watcher.sample()
                files = max(files, folder_size(folder))
                time.sleep(INTERVAL)
            wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(ended[1])
        finally:
            watcher.kill()
    if process.returncode:
        raise RuntimeError(f"{command[:4]} failed:\n{(folder / 'stderr').read_text(errors='replace')[-3000:]}")
    used = ended[2].ru_utime + ended[2].ru_stime
    return {
        "cpu": max(used, sum(watcher.cpu.values())),
        "wall": wall,
        "peak_mb": watcher.peak / 1e6,
        "files_mb": max(files, folder_size(folder)) / 1e6,
    }


# Machine and peers


def machine() -> dict[str, Any]:
    """Return processor, instruction set, cores, memory and system."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    flags = re.search(r"flags\s*: (.*)", info)
    names = ("avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vbmi2", "avx512_vpopcntdq")
    features = [flag for flag in names if flags and flag in flags[1].split()]
    return {
        "processor": model[1] if model else platform.processor(),
        "features": features,
        "instruction_set": INSTRUCTION_NAMES.get(_core.instructions(), _core.instructions()),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


INSTRUCTION_NAMES = {"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON", "scalar": "no vector instructions"}


def instruction_set(about: dict[str, Any]) -> str:
    """Name the instructions that a run used; runs from before they were recorded have the processor's features."""
    features = about.get("features", [])
    widest = "AVX-512" if "avx512f" in features else "AVX2" if "avx2" in features else platform.machine()
    return str(about.get("instruction_set", widest))


@dataclass(frozen=True)
class Peer:
    """A package that is compared with nearkin: its module, and the environment of its own if it needs one."""

    module: str
    environment: str = ""

    @property
    def python(self) -> Path:
        """The interpreter that can import the peer."""
        return ROOT / self.environment / "bin" / "python" if self.environment else Path(sys.executable)

    @property
    def installed(self) -> bool:
        """True if the peer can be imported."""
        return self.python.exists() if self.environment else importlib.util.find_spec(self.module) is not None


SAME_NAME = (
    "datasketch",
    "drain3",
    "duckdb",
    "gaoya",
    "hnswlib",
    "jieba",
    "ppdeep",
    "pynear",
    "rabitqlib",
    "rensa",
    "rjieba",
)
PEERS = {
    **{name: Peer(name) for name in (*SAME_NAME, "scann", "simhash", "ssdeep", "usearch")},
    "daft": Peer("daft", ".venv-spark-rivals"),
    "datatrove": Peer("datatrove", ".venv-spark-rivals"),
    "faiss-cpu": Peer("faiss"),
    "fastsketchlsh": Peer("FastSketchLSH"),
    "ngt": Peer("ngtpy"),
    "pydeep2": Peer("pydeep"),
    "scalable-vs": Peer("svs"),
    "simhash-pybind": Peer("simhash", ".venv-pybind"),
    "text-dedup": Peer("text_dedup", ".venv-text-dedup"),
}
"""Peers by distribution; `make` builds the separate environments (`make .venv-pybind/.built`)."""


def import_peer(name: str) -> Any:
    """Import a peer, even if a file of this folder has the name of its module; None if it is not installed."""
    before, here = list(sys.path), Path(__file__).resolve().parent
    sys.path[:] = [position for position in before if Path(position or ".").resolve() != here]
    try:
        with warnings.catch_warnings(), suppress(ImportError):
            warnings.simplefilter("ignore")
            return importlib.import_module(PEERS[name].module)
    finally:
        sys.path[:] = before
    print(f"{name}: not installed, left out", file=sys.stderr)
    return None


def hashable(texts: Iterable[str], count: int) -> list[str]:
    """Return the first texts that simhash 2.1.2 can hash with NumPy 2: it fails if a shingle occurs 256 times."""
    from simhash import Simhash

    def is_hashable(text: str) -> bool:
        try:
            return bool(Simhash(text).value + 1)
        except OverflowError:
            return False

    return list(itertools.islice(filter(is_hashable, texts), count))


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of nearkin, its commit and these packages; peers that are not installed are left out."""
    import nearkin

    result = {"nearkin": nearkin.__version__}
    program = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    for name in packages:
        peer = PEERS.get(name)
        if peer and peer.environment:
            if peer.installed:
                command = [str(peer.python), "-c", program, name]
                result[name] = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        else:
            with suppress(importlib.metadata.PackageNotFoundError):
                result[name] = importlib.metadata.version(name)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return {**result, "commit": commit.stdout.strip()}


# Run files


def command() -> str:
    """Return the command of this process with all its arguments."""
    # Absolute paths are those of this machine; relative ones have a meaning elsewhere.
    arguments = [os.path.relpath(each) if Path(each).is_absolute() else each for each in sys.argv[1:]]
    return shlex.join(["python", f"bench/{Path(sys.argv[0]).name}", *arguments])


def runs(name: str) -> list[Path]:
    """List the run files of a benchmark, oldest first."""
    files = []
    for path in RUNS.glob(f"*-{name}-*.json"):
        match = FILE.fullmatch(path.name)
        if match and match["name"] == name:
            files.append((match["day"], match["time"], int(match["count"] or 1), path))
    return [path for *_, path in sorted(files)]


def reserve(name: str, now: datetime.datetime) -> Path:
    """Create a new, empty file for a run that starts at `now`."""
    RUNS.mkdir(exist_ok=True)
    stem = f"{now:%Y-%m-%d}-{name}-{now:%H%M%S}"
    for count in itertools.count(1):
        path = RUNS / (f"{stem}.json" if count == 1 else f"{stem}-{count}.json")
        with suppress(FileExistsError):
            path.touch(exist_ok=False)
            return path
    raise AssertionError


def layout(value: Any, indent: int = 0) -> str:
    """Return JSON with each list and object on one line if it fits into 120 characters."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= 120 or not isinstance(value, list | dict):
        return line
    margin = "\n" + " " * indent
    if isinstance(value, list):
        parts = [layout(each, indent + 1) for each in value]
    else:
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {layout(each, indent + 1)}" for key, each in value.items()]
    return line[0] + margin + " " + f",{margin} ".join(parts) + margin + line[-1]


def save(name: str, content: dict[str, Any], **about: Any) -> Path:
    """Write a run file; a process that saves the same benchmark again replaces its own file."""
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
    if name not in _own:
        _own[name] = reserve(name, now)
    part = _own[name].with_suffix(".part")
    part.write_text(layout(run) + "\n", encoding="utf-8")
    return part.replace(_own[name])


def latest(name: str, file: str = "") -> dict[str, Any]:
    """Load the newest run of a benchmark, or the one in `file`; the key `file` has the name of its file."""
    files = runs(name)
    path = RUNS / Path(file).name if file else files[-1] if files else None
    if path is None:
        raise SystemExit(f"no run of {name} in bench/runs; measure it first")
    if path not in files:
        raise SystemExit(f"{file} is no run of {name}; available: {', '.join(path.name for path in files)}")
    return {**json.loads(path.read_text(encoding="utf-8")), "file": path.name}


def run(
    name: str, options: argparse.Namespace, measure: Callable[[], dict[str, Any]], report: Report, *packages: str
) -> None:
    """Measure and save a benchmark, unless only its report is requested; then write the report of that run."""
    if options.report is None:
        print(save(name, measure(), versions=versions(*packages)))
    report(latest(name, options.report or ""))


def measure_parts(parts: Mapping[str, Callable[[], Any]], chosen: Iterable[str] | None) -> dict[str, Any]:
    """Measure the chosen parts (None: all)."""
    return {name: measure() for name, measure in parts.items() if chosen is None or name in chosen}


def merge_last(name: str, part: str, results: dict[str, Any]) -> dict[str, Any]:
    """Add what the last run has of other parts to the results of a partial run, in the order of the last run.

    The run file names under `carried` the file that had each part first.
    """
    if not runs(name):
        return results
    last = latest(name)
    carry(name, last, [key for key in last[part] if key not in results])
    return {**last[part], **results}


def carry(name: str, last: dict[str, Any], parts: Iterable[str]) -> None:
    """Record that parts come from the run `last`, or from the run it took them from."""
    own = _own.get(name) == RUNS / last["file"]
    first = {part: last.get("carried", {}).get(part, "" if own else last["file"]) for part in parts}
    _carried[name] = {part: file for part, file in first.items() if file}


# Tables


def source(run: dict[str, Any]) -> str:
    """Return the line below a table: machine, instruction set, day, command, file."""
    about = run["machine"]
    day, text = run["date"][:10], f"`{run['command']}`; raw data: `bench/runs/{run['file']}`."
    return f"{about['processor']}, {instruction_set(about)}, {day}, {text}"


def ratio(value: float) -> str:
    """Format a ratio with three figures and commas, never with a power of ten."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 1000 else f"{value:.3g}"


def table(header: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """Build a Markdown table; all columns but the first are numbers."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def table_of(first: str, columns: Mapping[str, Callable[[Any], Any]], rows: Mapping[str, Any]) -> str:
    """Build a table from rows by name: each column has a title and the function that formats its cell."""
    lines = ([name, *(cell(row) for cell in columns.values())] for name, row in rows.items())
    return table([first, *columns], lines)


def splice(page: str | Path, marker: str, content: str) -> None:
    """Replace the text between `<!-- MARKER -->` and `<!-- /MARKER -->` of a page below docs."""
    path = ROOT / "docs" / page
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(before + begin + "\n" + content.strip() + "\n" + end + rest.split(end)[1], encoding="utf-8")
