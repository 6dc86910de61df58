"""Files that another program truncates while they are open: an error that names the file, and the process continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

INDEX = """
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
use = lambda: opened.search(fps[:5], radius=3)
calls = [lambda: opened.search(fps[-5:], radius=3)] * 2
untouched = lambda: len(sound.search(fps[:5], radius=0).ids)
"""

DOCUMENTS = """
import os, sys
import numpy as np
from nearkin._core import StoreSegment
from nearkin.errors import CorruptStoreError

path, n = sys.argv[1], 50_000
texts = [f"text {i} and more of it" for i in range(n)]
every = np.arange(n, dtype=np.int64)
contents = np.random.default_rng(1).integers(0, 2**63, 2 * n, dtype=np.uint64)
StoreSegment.write(path, every, every, contents, np.zeros(0, np.uint8), 0, None, texts, b"", 3)
few, other = every[:5], path + ".other"
StoreSegment.write(other, few, few, contents[:10], np.zeros(0, np.uint8), 0, None, texts[:5], b"", 3)
segment, sound = StoreSegment.open(path), StoreSegment.open(other)
use = lambda: segment.texts(every)
calls = [use, lambda: segment.find_contents(contents), segment.verify]
untouched = lambda: len(sound)
"""

TRUNCATE = """
if sys.argv[2] == "after":
    use()
os.truncate(path, 1 << 16)
for call in calls:
    try:
        call()
        print("answered")
    except CorruptStoreError as error:
        print("refused" if path in str(error) else error)
print(untouched())
"""


@pytest.mark.skipif(os.name != "posix", reason="maps are guarded on Unix")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("kind", "calls"), [(INDEX, 2), (DOCUMENTS, 3)], ids=["index", "documents"])
def test_a_truncated_file_is_an_error_and_not_the_end(tmp_path: Path, kind: str, calls: int, when: str) -> None:
    """The file is truncated before or after its first use; another open file returns the same results."""
    command = [sys.executable, "-c", kind + TRUNCATE, str(tmp_path / "file.nks"), when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "refused\n" * calls + "5\n") == (done.returncode, done.stdout), done.stderr


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
