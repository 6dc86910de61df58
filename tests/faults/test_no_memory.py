"""Allocations that exceed memory: a `MemoryError`, and an object that still works; the process never ends.

`crates/nearkin-core/tests/memory` makes the large allocations of a call of the core fail, one after another.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

import nearkin as nk

LIMITED = """
import resource
import numpy as np
import nearkin as nk
from nearkin import _core

index = nk.HammingIndex(bits=64)
index.add(None, np.zeros(60_000, dtype=np.uint64))
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
calls = {
    "pairs": lambda: index.pairs(radius=0),
    "functions": lambda: _core.draw_matrix("gaussian", 0, 0, 0, 1 << 20, 1 << 20),
    "means": lambda: _core.column_means_csr(
        (np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones(1)), columns=1 << 40
    ),
}
for name, call in calls.items():
    try:
        call()
    except MemoryError as error:
        print(name, "bytes" in str(error) or "do not fit in memory" in str(error))
print(len(index.search(np.zeros(1, dtype=np.uint64), radius=0).ids))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory")
def test_what_does_not_fit_memory_is_an_error() -> None:
    """1.8 billion pairs, 4 TB of random numbers and a mean for each of 2^40 columns; the index returns the same as
    before.
    """
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (0, "pairs True\nfunctions True\nmeans True\n60000\n") == (done.returncode, done.stdout), done.stderr


LONG = """
import resource
import nearkin as nk

long = "one of many words " * 5_000_000
marked = "e\u0301 of many words " * 5_000_000
calls = {
    "fingerprint": lambda texts: nk.fingerprint(texts).shape,
    "weighed": lambda texts: nk.fingerprint(texts, recipe="word:1|idf:jieba|xxh3|simhash:64").shape,
    "signature": lambda texts: nk.signature(texts).shape,
    "words": lambda texts: len(nk.words(texts)),
    "keywords": lambda texts: len(nk.keywords(texts)),
    "idf": lambda texts: len(nk.Idf.fit(texts).features),
}
few = ["some words", "other words"]
before = {name: call(few) for name, call in calls.items()}
used = 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
for name, call in calls.items():
    refused = 0
    for text in (long, marked):
        try:
            call([text, "some words"])
        except MemoryError:
            refused += 1
    print(name, refused, call(few) == before[name])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory")
def test_a_text_that_does_not_fit_memory_is_an_error() -> None:
    """Texts of 90 MB, in ASCII and with combining marks, exceed the 64 MB that are left; short texts still work."""
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=False, timeout=300)
    names = ["fingerprint", "weighed", "signature", "words", "keywords", "idf"]
    assert (0, [f"{name} 2 True" for name in names]) == (done.returncode, done.stdout.splitlines()), done.stderr


class Boastful:
    """Two strings with a claimed length of 2^60."""

    def __init__(self, *items: str) -> None:
        self.items = items

    def __len__(self) -> int:
        return 1 << 60

    def __iter__(self) -> Iterator[str]:
        return iter(self.items)


def test_a_length_that_an_object_claims_is_a_hint() -> None:
    """Texts and digests are read by iteration, whatever `len` returns."""
    texts = ["one text of some words", "another text"]
    assert nk.fingerprint(texts).tolist() == nk.fingerprint(Boastful(*texts)).tolist()
