"""One command and every process that it starts: CPU and wall seconds, peak memory, and the bytes of its files.

Processes are found in /proc (Linux) by a mark in their environment, which children inherit, whatever their parent is
by then: daemons of an engine are counted, too. Five times a second the proportional set sizes of all are added (of a
page that n processes share each has the n-th part), and the sizes of all files in the command's folder; the largest
sums are reported. A process that lives for less than a fifth of a second may be missed by both.

CPU seconds are those that the system counts for the command and the processes that were waited for, or, if that is
more, the sum over the processes of what each had used when it was last seen (a daemon is not waited for).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

MARK = "NEARKIN_BENCH"
EVERY = 0.2
TICKS = os.sysconf("SC_CLK_TCK")


class Watched:
    """The processes with a mark."""

    def __init__(self, mark: str) -> None:
        self.mark = f"{MARK}={mark}".encode()
        self.cpu: dict[tuple[int, int], float] = {}
        """CPU seconds of each process when it was last seen, by its number and its time of start."""
        self.marked: dict[tuple[int, int], bool] = {}
        self.peak = 0
        """The largest sum of memory, bytes."""

    def look(self) -> list[int]:
        """Note what the processes use now; returns their numbers."""
        found, total = [], 0
        for pid in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]:
            # One may end meanwhile, or be another user's.
            with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if fields := self.fields(pid):
                    self.cpu[pid, int(fields[19])] = (int(fields[11]) + int(fields[12])) / TICKS
                    found.append(pid)
                    total += proportional(pid)
        self.peak = max(self.peak, total)
        return found

    def fields(self, pid: int) -> list[str] | None:
        """What the system says of a process that runs, from its state on; None for others, and for those that ended."""
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        key = pid, int(fields[19])
        # A process has its parent's environment until it executes a program; a forked one keeps it.
        if not self.marked.get(key):
            self.marked[key] = self.mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return fields if self.marked[key] and fields[0] != "Z" else None

    def end(self) -> None:
        """End those that are left."""
        for pid in self.look():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def proportional(pid: int) -> int:
    """Bytes of memory of a process, its part of what it shares."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * int(text.split("\nPss:")[1].split()[0])


def size(folder: Path) -> int:
    """Bytes of the files in a folder and below; what is removed meanwhile does not count."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(place, name).lstat().st_size
    return total


def measured(command: list[Any], folder: Path, environment: dict[str, str] | None = None) -> dict[str, float]:
    """Run a command to its end.

    Parameters
    ----------
    command : list
        The program and its arguments.
    folder : Path
        Where it works: its standard error goes to `stderr` there, and the bytes of its files are watched.
    environment : dict, optional
        Variables beside those of this process.

    Returns
    -------
    dict
        `cpu` and `wall` seconds, `peak_mb` of memory, `files_mb`: the largest size of the folder.

    Raises
    ------
    AssertionError
        The command failed; with the end of what it wrote to standard error.
    """
    mark = uuid.uuid4().hex
    watched, files, start = Watched(mark), 0, time.perf_counter()
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
                watched.look()
                files = max(files, size(folder))
                time.sleep(EVERY)
            wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(ended[1])
        finally:
            watched.end()
    if process.returncode:
        raise AssertionError(f"{command[:4]} failed:\n{(folder / 'stderr').read_text(errors='replace')[-3000:]}")
    used = ended[2].ru_utime + ended[2].ru_stime
    return {
        "cpu": max(used, sum(watched.cpu.values())),
        "wall": wall,
        "peak_mb": watched.peak / 1e6,
        "files_mb": max(files, size(folder)) / 1e6,
    }
