"""Files that another program truncates while they are open: an error that names the file, and the process continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
import numpy as np
import nearkin as nk
from nearkin.errors import CorruptStoreError

path = sys.argv[1]
fps = np.random.default_rng(1).integers(0, 2**63, 400_000, dtype=np.uint64)
index = nk.HammingIndex(bits=64, radius=3)
index.add(None, fps)
index.save(path)
other = path + ".other"
index.save(other)
opened, sound = nk.HammingIndex.open(path), nk.HammingIndex.open(other)
if sys.argv[2] == "after":
    opened.search(fps[:5], radius=3)
os.truncate(path, 1 << 16)
for _ in range(2):
    try:
        opened.search(fps[-5:], radius=3)
        print("answered")
    except CorruptStoreError as error:
        print("refused" if path in str(error) else error)
print(len(sound.search(fps[:5], radius=0).ids))
"""


@pytest.mark.skipif(os.name != "posix", reason="maps are guarded on Unix")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_truncated_file_is_an_error_and_not_the_end(tmp_path: Path, when: str) -> None:
    """The file is truncated before or after its first use; another open index returns the same results."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "index.nks"), when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "refused\nrefused\n5\n") == (done.returncode, done.stdout), done.stderr


FOREIGN = """
import faulthandler, mmap, os, sys
import numpy as np
import nearkin as nk

path = sys.argv[1]
index = nk.HammingIndex(bits=64)
index.add(None, np.arange(400_000, dtype=np.uint64))
index.save(path)
first = nk.HammingIndex.open(path)
# The handler of faulthandler is installed between the two installations of the guard.
faulthandler.enable()
second = nk.HammingIndex.open(path)
print(len(first.search(np.arange(5, dtype=np.uint64), radius=0).ids), flush=True)
other = path + ".other"
with open(other, "wb") as file:
    file.write(bytes(1 << 16))
with open(other, "r+b") as file:
    foreign = mmap.mmap(file.fileno(), 0)
    os.truncate(other, 0)
print(foreign[1 << 15])
"""


@pytest.mark.skipif(os.name != "posix", reason="maps are guarded on Unix")
def test_a_fault_of_another_map_is_reported_once_and_ends_the_process(tmp_path: Path) -> None:
    """The handler of faulthandler passes the signal to the previous handler, our guard, which does not pass it back."""
    command = [sys.executable, "-c", FOREIGN, str(tmp_path / "index.nks")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (-signal.SIGBUS, "5\n") == (done.returncode, done.stdout), done.stderr[:2000]
    assert 1 == done.stderr.count("Bus error"), done.stderr[:2000]
