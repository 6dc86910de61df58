"""Ctrl-C in the middle of a call: the call ends soon with the handler's exception, and the object is whole.

A child process prepares an object, states what it answers, runs one long call and gets SIGINT a random moment later. It
reports how long the call went on after the signal, in seconds of the clock and of its own processor time, and whether
the object still answers as before. Calls are sized to take two seconds and more without a signal.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

#: Seconds from the signal to the exception: of the clock, on a machine that does other things too; of the processor.
CLOCK, PROCESSOR = 1.5, 0.5

DRIVER = r"""
import json, os, signal, sys, tempfile, threading, time
import numpy as np
import nearkin as nk

random = np.random.default_rng(7)
words = np.array("the of and to in a that is was he for it with as his on be at by had not are but from or".split())
text = " ".join(random.choice(words, 3000))
texts = [text] * 60_000
letters = ["".join(random.choice(list("abcdefgh "), 600_000)) for _ in range(2)]

def values(n):
    return random.integers(0, 2**63, n, dtype=np.uint64)

def hamming(n=1_000_000):
    index = nk.HammingIndex(bits=64)
    index.add(None, values(n))
    return index

few = values(20)

def answers(index):
    found = index.search(few, radius=20)
    return len(index), found.ids.tolist(), found.distances.tolist()

def saved(index):
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder + "/index")
        return answers(nk.HammingIndex.open(folder + "/index"))

def none():
    return None

def digests(n):
    signs = list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123456789+/")
    parts = random.choice(signs, (n, 96))
    return [f"96:{''.join(row[:60])}:{''.join(row[60:])}" for row in parts]

def bands():
    index = nk.BandIndex(num_perm=64, num_bands=32, num_rows=2)
    # Values of few bits: many signatures share a band.
    index.add(None, random.integers(0, 200, (40_000, 64), dtype=np.uint32))
    return index

def lsh():
    X = random.standard_normal((200_000, 64)).astype(np.float32)
    return nk.LSHIndex(nk.families.Hyperplane(bits=128, seed=2), filter="codes", num_candidates=2_000).fit(X)

shapes = random.standard_normal((20_000, 64)).astype(np.float32)
signatures = random.integers(0, 200, (20_000, 64), dtype=np.uint32)

def found(index):
    hits = index.search(signatures[:3])
    return len(index), hits.ids.tolist()

def nearest(index):
    return len(index), index.nearest(shapes[:3], k=5).ids.tolist()

# What is prepared, the call, and what the object answers.
CASES = {
    "fingerprint": (none, lambda _: nk.fingerprint(texts), lambda _: None),
    "signature": (none, lambda _: nk.signature(texts * 4), lambda _: None),
    "words": (none, lambda _: nk.words(texts), lambda _: None),
    "keywords": (none, lambda _: nk.keywords(texts), lambda _: None),
    "jaccard": (none, lambda _: nk.similarity(texts, range(30_000), range(30_000, 60_000)), lambda _: None),
    "indel": (none, lambda _: nk.similarity(letters, [0], [1], measure="indel"), lambda _: None),
    "hamming add": (hamming, lambda index: [index.add(None, few[:0]) for _ in range(10**7)], answers),
    "hamming search": (hamming, lambda index: index.search(values(100_000), radius=14), answers),
    "hamming nearest": (hamming, lambda index: index.nearest(values(100_000), k=20), answers),
    "hamming pairs": (hamming, lambda index: index.pairs(radius=12), saved),
    "hamming clusters": (hamming, lambda index: index.clusters(radius=12), saved),
    "hamming join": (hamming, lambda index: index.join(hamming(), radius=12), answers),
    "ssdeep hash": (lambda: random.bytes(1_200_000_000), nk.ssdeep.hash, lambda _: None),
    "ssdeep matrix": (lambda: digests(20_000), nk.ssdeep.matrix, lambda _: None),
    "bands search": (bands, lambda index: index.search(signatures), found),
    "bands pairs": (bands, lambda index: index.pairs(), found),
    "bands clusters": (bands, lambda index: index.clusters(), found),
    "lsh nearest": (lsh, lambda index: index.nearest(shapes, k=10), nearest),
}

name, delay, kind = sys.argv[1], float(sys.argv[2]), sys.argv[3]
make, call, ask = CASES[name]
thing = make()
before = ask(thing)
sent = []

class Handled(Exception):
    pass

def handler(number, frame):
    if kind == "own":
        raise Handled

if kind != "default":
    signal.signal(signal.SIGINT, handler)

def send():
    time.sleep(delay)
    sent[:] = [time.monotonic(), time.process_time()]
    os.kill(os.getpid(), signal.SIGINT)

sender = threading.Thread(target=send, daemon=True)
sender.start()
raised, late = None, None
try:
    call(thing)
except (KeyboardInterrupt, Handled) as error:
    late = time.monotonic() - sent[0], time.process_time() - sent[1]
    raised = type(error).__name__
print(json.dumps({"raised": raised, "late": late, "sent": bool(sent), "same": ask(thing) == before}))
"""

CASES = [
    "fingerprint",
    "signature",
    "words",
    "keywords",
    "jaccard",
    "indel",
    "hamming add",
    "hamming search",
    "hamming nearest",
    "hamming pairs",
    "hamming clusters",
    "hamming join",
    "ssdeep hash",
    "ssdeep matrix",
    "bands search",
    "bands pairs",
    "bands clusters",
    "lsh nearest",
]
FAST = ["fingerprint", "indel", "hamming search"]


def interrupted(name: str, *, kind: str = "default", delay: float | None = None) -> dict[str, object]:
    """What a child says whose call was interrupted."""
    wait = random.uniform(0.1, 0.8) if delay is None else delay
    command = [sys.executable, "-c", DRIVER, name, str(wait), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert 0 == done.returncode, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return {**report, "delay": wait}


def check(report: dict[str, object], raised: str) -> None:
    """The call has ended in time with this exception, and the object is as it was."""
    assert report["sent"], f"the call ended before the signal: {report}"
    assert (raised, True) == (report["raised"], report["same"]), report
    late = report["late"]
    assert isinstance(late, list)
    assert late[0] < CLOCK, report
    assert late[1] < PROCESSOR, report


@pytest.mark.parametrize("name", FAST)
def test_a_call_that_is_interrupted_ends_at_once_and_leaves_its_object(name: str) -> None:
    """A KeyboardInterrupt within a second and a half, half a second of the processor; the index answers as before."""
    check(interrupted(name), "KeyboardInterrupt")


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("name", CASES)
def test_every_long_call_ends_when_it_is_interrupted(name: str, attempt: int) -> None:
    """Three random moments in each of the long calls."""
    check(interrupted(name), "KeyboardInterrupt")


def test_a_handler_may_raise_its_own_exception() -> None:
    """It is raised in place of the result, as soon."""
    check(interrupted("hamming search", kind="own"), "Handled")


def test_a_handler_that_returns_leaves_the_call_alone() -> None:
    """The call goes on to its end and gives its result."""
    report = interrupted("fingerprint", kind="quiet", delay=0.2)
    assert (None, True, True) == (report["raised"], report["sent"], report["same"])
