"""Children of a process whose threads are using its objects: they get a result or a clear error, and never hang.

A thread of a driver process changes an object repeatedly while the process forks. Each child uses the object under an
alarm that kills it after five seconds. At the last fork the object is idle, so everything must work.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")

FORKS = 25

DRIVER = r"""
import collections, gc, itertools, json, os, random, signal, sys, threading, time
import numpy as np
import nearkin as nk
from nearkin._core import IdfCounter, SsdeepHasher, TextCache
from nearkin.errors import ForkError, ParameterError

kind, forks = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
numbers = itertools.count()
MANY = 20_000


class Of:
    "An object, what the parent does to it all the time, and how a child reads and changes it."

    def __init__(self, index, batch, read):
        self.index, self.batch, self.read = index, batch, read

    def change(self):
        self.index.add([next(numbers) for _ in range(len(self.batch))], self.batch)


def hamming():
    fps = rng.integers(0, 1 << 63, MANY, dtype=np.uint64)
    index = nk.HammingIndex(64)
    return Of(index, fps, lambda: index.search(fps[:2], 2))


def bands():
    rows = rng.integers(0, 1 << 30, (MANY // 4, 32)).astype(np.uint32)
    index = nk.BandIndex(32, num_bands=8, num_rows=4)
    return Of(index, rows, lambda: index.search(rows[:2]))


def digests():
    random.seed(1)
    stock = [random.randbytes(500) for _ in range(64)]
    made = [nk.ssdeep.hash(b"".join(random.choices(stock, k=12))) for _ in range(2000)]
    index = nk.DigestIndex()
    return Of(index, made, lambda: index.search(made[:2], 90))


def vectors():
    rows = rng.standard_normal((MANY // 4, 16)).astype(np.float32)
    index = nk.LSHIndex(nk.families.PStable(width=4.0, seed=1), 8, hashes_per_table=4).fit(rows[:2], ids=[-1, -2])
    return Of(index, rows, lambda: index.search(rows[:2], 0.1))


class Texts:
    "A cache of texts that are compared."

    def __init__(self):
        self.texts = [" ".join(f"word{(i * j) % 997}" for j in range(60)) for i in range(2000)]
        self.rows = np.arange(len(self.texts), dtype=np.uint32)
        self.index = TextCache(nk.Recipe.preset("default").core, "jaccard", 1 << 40)
        self.index.add(self.rows[:2], self.texts[:2])

    def change(self):
        self.index.add(self.rows, self.texts)

    def read(self):
        return self.index.similarities(self.rows[:1], self.rows[1:2])


class Counter:
    "Document frequencies while they are counted."

    def __init__(self):
        self.texts = [" ".join(f"word{(i * j) % 9973}" for j in range(60)) for i in range(4000)]
        self.index = IdfCounter(nk.Recipe.of("word:1|count|xxh3|simhash:64").core)

    def change(self):
        self.index.add(self.texts)

    def read(self):
        return self.index.finish(1)


class Hasher:
    "A digest in parts."

    def __init__(self):
        self.data = bytes(range(256)) * 8192
        self.index = SsdeepHasher()

    def change(self):
        self.index.update(self.data)

    def read(self):
        return self.index.digest((True, True))


made = {"hamming": hamming, "bands": bands, "digests": digests, "vectors": vectors, "texts": Texts, "counter": Counter,
        "hasher": Hasher}[kind]()


def attempt(call):
    try:
        call()
    except ForkError as error:
        return str(error)
    return "done"


def run_child(writer):
    signal.alarm(5)
    results = [attempt(made.read), attempt(made.change)]
    # Exit releases the resources of the process; half-changed objects must not run destructors.
    vars(made).clear()
    gc.collect()
    os.write(writer, json.dumps(results).encode())


def fork():
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run_child(writer)
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    answer = b""
    while part := os.read(reader, 1 << 16):
        answer += part
    os.close(reader)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, json.loads(answer or b"null")


made.change()
ended = threading.Event()


def work():
    while not ended.is_set():
        made.change()
        if kind in ("hamming", "bands", "digests", "vectors") and len(made.index) > 400_000:
            made.index.remove(np.concatenate(list(made.index.iter_ids())))


thread = threading.Thread(target=work)
thread.start()
random.seed(2)
outcomes = []
for _ in range(forks):
    time.sleep(random.random() / 50)
    outcomes.append(fork())
ended.set()
thread.join()
print(json.dumps({"under way": outcomes, "at rest": fork()}))
"""


@pytest.mark.parametrize("kind", ["hamming", "bands", "digests", "vectors", "texts", "counter", "hasher"])
def test_a_forked_child_answers_or_raises_and_never_waits(kind: str) -> None:
    """The child never hangs, whatever another thread of the parent was doing to the object."""
    command = [sys.executable, "-c", DRIVER, kind, str(FORKS)]
    # OpenBLAS stops its own threads before a fork and may deadlock with one that multiplies; OPENBLAS_NUM_THREADS=1
    # avoids that.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, check=False, timeout=300, env=environment)
    assert b"" == ran.stderr, ran.stderr.decode()
    report: dict[str, Any] = json.loads(ran.stdout)
    assert [0, ["done", "done"]] == report["at rest"]
    assert [0] * FORKS == [code for code, _ in report["under way"]]
    outcomes = [outcome for _, outcome in report["under way"]]
    lost = "this object was in use in another thread when the process forked; open or build it again in the child"
    assert all(outcome in (["done", "done"], [lost, lost]) for outcome in outcomes), outcomes
    # The thread uses the object most of the time.
    assert [lost, lost] in outcomes


def _answer(path: str) -> list[int]:
    index = nk.HammingIndex.open(path)
    index.add([3], np.array([7], dtype=np.uint64))
    ids: list[int] = index.search(np.array([7], dtype=np.uint64), 1).ids.tolist()
    return ids


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_that_are_started_anew_open_the_index(method: str, tmp_path: Path) -> None:
    """Spawned children have their own memory, which no thread of the parent has locked."""
    index = nk.HammingIndex()
    index.add([1, 2], np.array([5, 1 << 40], dtype=np.uint64))
    path = tmp_path / "index.nks"
    index.save(path)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert [[3, 1]] * 4 == list(pool.map(_answer, [str(path)] * 4))


SUBINTERPRETER = r"""
import nearkin
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = '''
try:
    import nearkin._core
except ImportError as error:
    print("refused:", error)
else:
    print("taken")
'''
one = interpreters.create()
run = getattr(interpreters, "run_string", None) or interpreters.exec
run(one, code)
"""


def test_a_second_interpreter_of_a_process_is_refused() -> None:
    """The compiled module supports one interpreter per process; importing it in another one is an ImportError."""
    pytest.importorskip("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    ran = subprocess.run([sys.executable, "-c", SUBINTERPRETER], capture_output=True, check=False, timeout=300)
    assert 0 == ran.returncode, ran.stderr.decode()
    assert ran.stdout.startswith(b"refused:"), (ran.stdout, ran.stderr.decode())
