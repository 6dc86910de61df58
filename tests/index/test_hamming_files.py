"""nearkin.HammingIndex: files after a crash, a full disk or a killed process; memory compared with its formula."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nearkin.index.hamming import HammingIndex
from strategies import random_fingerprints

SAVE_FOR_EVER = """
import sys
import numpy as np
from nearkin.index.hamming import HammingIndex

path = sys.argv[1]
indexes = []
for rows in (200_000, 300_000):
    index = HammingIndex(bits=64, radius=3)
    index.add(None, np.random.default_rng(rows).integers(0, 2**64, rows, dtype=np.uint64))
    index.search(1, radius=3)
    indexes.append(index)
indexes[0].save(path)
print("ready", flush=True)
while True:
    for index in indexes:
        index.save(path)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of a POSIX system")
def test_a_process_killed_while_saving_leaves_a_whole_file(tmp_path: Path) -> None:
    """Whenever the process dies, the file is one of the saved versions, and the next save works."""
    path = tmp_path / "codes.nks"
    for delay in (0.0, 0.004, 0.011, 0.023, 0.037):
        child = subprocess.Popen([sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        with child.stdout:
            assert "ready" == child.stdout.readline().strip()
            time.sleep(delay)
            child.kill()
            child.wait()
        opened = HammingIndex.open(path)
        opened.verify()
        assert len(opened) in (200_000, 300_000)
    opened.save(path)
    HammingIndex.open(path).verify()


@pytest.mark.parametrize("method", ["scan", "bits", "blocks", "tables", "multi"])
@pytest.mark.parametrize(("bits", "radius"), [(64, 3), (128, 6), (256, 9), (320, 4)])
def test_memory_is_what_explain_says(method: str, bits: int, radius: int) -> None:
    """The bytes that `explain` predicts equal those allocated later."""
    rng = np.random.default_rng(11)
    fps = random_fingerprints(rng, bits, 20_000)
    fps[-100:] = fps[:100]
    index = HammingIndex(bits, method, radius=radius)  # type: ignore[arg-type]
    index.add(None, fps)
    planner = HammingIndex(bits, "scan")
    planner.add(None, fps)
    planner.search(fps[:1], radius)
    (before,) = planner.explain(radius)["parts"]
    index.search(fps[:1], radius)
    explained = index.explain(radius)
    (after,) = explained["parts"]
    assert before["methods"][method]["bytes"] == after["bytes"] == explained["bytes_fingerprints"] == index.nbytes
    words, slots = -(-bits // 64), 19_900
    assert before["methods"]["scan"]["bytes"] == 8 * words * slots + 4 * 20_000 + 4 * (slots + 1)
    assert {"scan", "bits", "blocks", "tables", "multi"} == set(explained["memory"])
