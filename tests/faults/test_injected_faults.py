"""Every saver under every file-system fault: afterwards the folder has its old state or its new one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FILES = ("hamming, strings, scan", "bands", "digests", "vectors, codes", "family of bits", "IDF")
STORES = (
    "store create",
    "store add",
    "pages add",
    "store replace",
    "store remove",
    "store expire",
    "store merge",
    "store erase",
    "store backup",
    "store dedup",
    "store dedup over",
    "files add",
    "files dedup",
    "files merge",
    "vectors create",
    "vectors merge",
    "minhash merge",
    "tlsh merge",
)
SLOW_SAVERS = ("dedup parquet", "dedup jsonl.gz", "dedup jsonl.zst", "dedup csv")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library of `shim.c`."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        pytest.skip("faults are injected by a library that is compiled by gcc on Linux")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    command = ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(HERE / "shim.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def outcomes(shim: Path, saver: str, folder: Path, every: int = 1) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "driver.py"), saver, str(folder), "--every", str(every)]
    # The runtime of a sanitizer must be preloaded first.
    preloaded = f"{os.environ.get('LD_PRELOAD', '')} {shim}".strip()
    environment = {**os.environ, "LD_PRELOAD": preloaded}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert 0 == done.returncode, done.stderr[-3000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


EVERY = {
    # All files are written by one writer: every call of one of them, and a sample of the others'.
    **dict.fromkeys(FILES, 3),
    FILES[0]: 1,
    "index add": 3,
    "dedup jsonl": 4,
    "dedup checkpoint": 11,
    **dict.fromkeys(STORES, 25),
    "store add": 9,
    "store remove": 9,
}
"""Of how many calls one fails, dies or is the last before a power cut; `make faults` takes every one."""


@pytest.mark.parametrize("saver", EVERY)
def test_faults_leave_the_old_state_or_the_new_one(shim: Path, tmp_path: Path, saver: str) -> None:
    """The n-th call of each kind fails, is short or is interrupted, or the process is killed or loses power there."""
    counts = outcomes(shim, saver, tmp_path, EVERY[saver])
    assert [] == counts["faults"], f"{counts['faults in all']} of {sum(counts['outcomes'].values())}"
    assert sum(counts["outcomes"].values()) > 20


@pytest.mark.slow
@pytest.mark.parametrize("saver", [saver for saver, every in EVERY.items() if every > 1])
def test_every_fault_leaves_the_old_state_or_the_new_one(shim: Path, tmp_path: Path, saver: str) -> None:
    """Injects every fault instead of a sample."""
    assert [] == outcomes(shim, saver, tmp_path)["faults"]


@pytest.mark.slow
@pytest.mark.parametrize("saver", SLOW_SAVERS)
def test_every_fault_in_the_other_formats(shim: Path, tmp_path: Path, saver: str) -> None:
    """Repeats the test for compressed outputs and for CSV."""
    assert [] == outcomes(shim, saver, tmp_path)["faults"]
