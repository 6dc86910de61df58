"""Every saver under every file-system fault: afterwards the folder has its old state or its new one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from driver import SAVERS

HERE = Path(__file__).parent
FILES = ("hamming, strings, scan", "bands", "digests", "vectors, codes", "family of bits", "IDF")
STORES = [name for name in SAVERS if re.match("(store|pages|files|vectors|minhash|tlsh) ", name)]
SLOW_SAVERS = ("dedup parquet", "dedup jsonl.gz", "dedup jsonl.zst", "dedup csv")


Outcomes = Callable[[str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """Compile the library of `shim.c`, start the driver with it, and return what injects the faults of a saver."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        pytest.skip("faults are injected by a library that is compiled by gcc on Linux")
    folder = tmp_path_factory.mktemp("faults")
    library = folder / "shim.so"
    command = ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(HERE / "shim.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    # The runtime of a sanitizer must be preloaded first.
    environment = {**os.environ, "LD_PRELOAD": f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()}
    pipe = subprocess.PIPE
    command = [sys.executable, str(HERE / "driver.py")]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        requests, answers = driver.stdin, driver.stdout

        def ask(saver: str, every: int) -> dict[str, Any]:
            work = folder / saver
            work.mkdir()
            print(json.dumps({"saver": saver, "folder": str(work), "every": every}), file=requests, flush=True)
            answer = json.loads(answers.readline())
            assert answer.startswith("{"), answer
            shutil.rmtree(work)
            report: dict[str, Any] = json.loads(answer)
            return report

        yield ask
        requests.close()


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
def test_faults_leave_the_old_state_or_the_new_one(outcomes: Outcomes, saver: str) -> None:
    """The n-th call of each kind fails, is short or is interrupted, or the process is killed or loses power there."""
    counts = outcomes(saver, EVERY[saver])
    assert [] == counts["faults"], f"{counts['faults in all']} of {sum(counts['outcomes'].values())}"
    assert sum(counts["outcomes"].values()) > 20


@pytest.mark.slow
@pytest.mark.parametrize("saver", [saver for saver, every in EVERY.items() if every > 1])
def test_every_fault_leaves_the_old_state_or_the_new_one(outcomes: Outcomes, saver: str) -> None:
    """Injects every fault instead of a sample."""
    assert [] == outcomes(saver, 1)["faults"]


@pytest.mark.slow
@pytest.mark.parametrize("saver", SLOW_SAVERS)
def test_every_fault_in_the_other_formats(outcomes: Outcomes, saver: str) -> None:
    """Repeats the test for compressed outputs and for CSV."""
    assert [] == outcomes(saver, 1)["faults"]
