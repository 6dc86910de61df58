"""Ctrl-C during a call: the call ends soon with the handler's exception, and the object is consistent.

A child process creates an object, records its results, runs one long call and gets SIGINT after a random time. It
reports how long the call continued after the signal, in wall-clock time and in its own processor time, and whether the
object returns the same results as before or as after the complete addition. Calls are sized to take two seconds or
more, or are repeated. Files that are saved repeatedly are opened afterwards.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

#: Maximum seconds from the signal to the exception: of wall-clock time, on a busy machine, and of processor time, which
#: a call that does not check for signals consumes in any case.
CLOCK, PROCESSOR = 15, 0.5

DRIVER = r"""
import json, os, pathlib, signal, sys, tempfile, threading, time
import numpy as np
import nearkin as nk

random = np.random.default_rng(7)
words = np.array("the of and to in a that is was he for it with as his on be at by had not are but from or".split())

def one_text(n=3000):
    return " ".join(random.choice(words, n))

def texts():
    return [one_text()] * 60_000

def letters():
    return ["".join(random.choice(list("abcdefgh "), 600_000)) for _ in range(2)]

def documents(n=40_000):
    # Random words of few letters give many candidates and few matches.
    syllables = np.array([a + b for a in "bcdfghklmnprst" for b in "aeiou"])
    parts = random.choice(syllables, (n, 400))
    return ["".join(row[:200]) + " " + "".join(row[200:]) for row in parts]

def values(n):
    return random.integers(0, 2**63, n, dtype=np.uint64)

def hamming(n=1_000_000):
    index = nk.HammingIndex(bits=64)
    index.add(None, values(n))
    return index

def shuffled(n):
    # Ids that are not ascending need a lookup table.
    index = nk.HammingIndex(bits=64)
    index.add(random.permutation(n), values(n))
    return index

few = values(20)

def answers(index):
    hits = index.search(few, radius=20)
    return len(index), hits.ids.tolist(), hits.distances.tolist()

folder = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[4]))
saved_to = folder / "saved"

def saved(index):
    index.save(saved_to)
    return answers(nk.HammingIndex.open(saved_to))

def none():
    return None

def nothing(_):
    return None

def digests(n):
    signs = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123456789+/", "S1")
    parts = random.choice(signs, (n, 96)).view("S96")[:, 0].astype(str)
    return [f"96:{part[:60]}:{part[60:]}" for part in parts]

def hub(n):
    # All digests share their first characters.
    return [f"96:installer{text[3:50]}:{text[70:90]}" for text in digests(n)]

def digest_index(made):
    index = nk.DigestIndex()
    index.add(None, made)
    return index

queries = digests(50)

def matched(index):
    hits = index.search(queries)
    return len(index), hits.ids.tolist()

def bands(n=40_000):
    index = nk.BandIndex(num_perm=64, num_bands=32, num_rows=2)
    # The values have few bits, which makes many signatures share a band.
    index.add(None, random.integers(0, 200, (n, 64), dtype=np.uint32))
    return index

def sparse_bands(n):
    index = nk.BandIndex(num_perm=64, num_bands=16, num_rows=4)
    if n:
        index.add(None, random.integers(0, 2**31, (n, 64), dtype=np.uint32))
    return index

def codes(n=200_000):
    X = random.standard_normal((n, 64)).astype(np.float32)
    return nk.LSHIndex(nk.families.Hyperplane(bits=128, seed=2), filter="codes", num_candidates=2_000).fit(X)

def tables(n=20_000):
    X = random.standard_normal((n, 32)).astype(np.float32)
    return nk.LSHIndex(nk.families.Hyperplane(seed=2), 20, hashes_per_table=12, filter="buckets").fit(X)

def ready(index, n):
    # Hash in advance, so that the call only adds.
    X = random.standard_normal((n, 32)).astype(np.float32)
    hashes = np.tile(index._hash(X[:1000]), n // 1000)
    index._hash = lambda hashed: hashes
    return X

def added_tables():
    index = tables()
    return index, ready(index, 1_000_000)

shapes = random.standard_normal((20_000, 64)).astype(np.float32)
narrow = random.standard_normal((50, 32)).astype(np.float32)
signatures = random.integers(0, 200, (20_000, 64), dtype=np.uint32)
rare = random.integers(0, 2**31, (400_000, 64), dtype=np.uint32)

def band_hits(index):
    hits = index.search(signatures[:3])
    return len(index), hits.ids.tolist()

def nearest(index):
    return len(index), index.nearest(shapes[:3], k=5).ids.tolist()

def near(index):
    index.save(saved_to)
    return len(index), nk.LSHIndex.open(saved_to).nearest(narrow, k=5).ids.tolist()

def again(work, times=10**6):
    for _ in range(times):
        work()

def resaved(opened, ask):
    # The file is valid, and its lock is the only other file.
    def state(thing):
        if not saved_to.exists():
            thing.save(saved_to)
        names = sorted(path.name for path in folder.iterdir() if path.name != f".{saved_to.name}.lock")
        return ask(thing), ask(opened(saved_to)), names
    return state

def save(thing):
    again(lambda: thing.save(saved_to))

def files():
    data = random.bytes(30_000_000)
    paths = [folder / f"file{number}" for number in range(40)]
    for number, path in enumerate(paths):
        path.write_bytes(data[number:])
    return paths

def corpus():
    path = folder / "corpus.jsonl"
    with path.open("w") as file:
        for number in range(400_000):
            file.write(json.dumps({"id": number, "text": f"{number} " * 60}) + "\\n")
    return path

def read(path):
    with nk.io.open_corpus(path, id_column="id") as corpus:
        for batch in corpus.batches():
            len(batch.texts)

def fingerprint_file(path):
    with nk.io.open_corpus(path, id_column="id") as corpus:
        for batch in corpus.batches():
            nk.fingerprint(batch.texts)

def hasher():
    made = nk.ssdeep.Hasher()
    made.update(b"one two three " * 1000)
    return made, random.bytes(1_000_000_000)

def wide(n=3_000_000):
    return random.standard_normal((n, 32)).astype(np.float32)

def fitted(family, n=20_000):
    return family.fit(random.standard_normal((n, 32)).astype(np.float32)), wide()

def transform(family):
    return lambda: fitted(family), lambda made: again(lambda: made[0].transform(made[1])), nothing

def idf():
    return nk.Idf.fit([one_text(50) + " " + " ".join(documents(30))], "char:3|xxh3|simhash:64")

names = [f"name {number}" for number in range(1_500_000)]

# For each call: preparation, call, and results of the object.
CASES = {
    "fingerprint": (texts, nk.fingerprint, nothing),
    "signature": (texts, lambda texts: nk.signature(texts * 4), nothing),
    "words": (texts, nk.words, nothing),
    "keywords": (texts, nk.keywords, nothing),
    "one long text": (lambda: [(one_text(10_000) + " ") * 6_000], nk.fingerprint, nothing),
    "one long text signature": (lambda: [(one_text(10_000) + " ") * 2_000], nk.signature, nothing),
    "one long text of many letters": (lambda: ["\u00e4\u4e2d\u00df\u6587 a" * 40_000_000], nk.fingerprint, nothing),
    "one long text by jieba": (
        lambda: ["\u6211\u6765\u5230\u5317\u4eac\u6e05\u534e\u5927\u5b66\uff0c" * 10_000_000],
        lambda texts: nk.fingerprint(texts, "cut:jieba|word:1|count|xxh3|simhash:64"),
        nothing,
    ),
    "one long text of other words": (
        lambda: ["\u03b1\u03b2\u03b3 \u03b4\u03b5 " * 20_000_000],
        lambda texts: nk.fingerprint(texts, "word:2|count|xxh3|simhash:64"),
        nothing,
    ),
    "idf fit": (lambda: documents(20_000) * 10, lambda texts: nk.Idf.fit(texts, "char:4|xxh3|simhash:64"), nothing),
    "jaccard": (texts, lambda texts: nk.similarity(texts, range(30_000), range(30_000, 60_000)), nothing),
    "indel": (letters, lambda texts: nk.similarity(texts, [0], [1], measure="indel"), nothing),
    "dedup simhash": (documents, lambda texts: nk.dedup(texts * 2), nothing),
    "dedup minhash": (documents, lambda texts: nk.dedup(texts * 2, recipe="minhash"), nothing),
    "dedup files": (files, lambda paths: nk.dedup_files(paths * 1), nothing),
    "dedup components": (documents, lambda texts: nk.dedup(texts * 2, cluster="components", threshold=0.5), nothing),
    "hamming add": (
        lambda: (shuffled(100_000), values(4_000_000)),
        lambda made: made[0].add(np.arange(4_000_000)[::-1] + 10**7, made[1]),
        lambda made: answers(made[0]),
    ),
    "hamming add names": (
        lambda: nk.HammingIndex(bits=64),
        lambda index: index.add(names, np.arange(len(names), dtype=np.uint64)),
        answers,
    ),
    "hamming search": (hamming, lambda index: index.search(values(100_000), radius=14), answers),
    "hamming nearest": (hamming, lambda index: index.nearest(values(100_000), k=20), answers),
    "hamming pairs": (hamming, lambda index: index.pairs(radius=12), saved),
    "hamming clusters": (hamming, lambda index: index.clusters(radius=12), saved),
    "hamming join": (hamming, lambda index: index.join(hamming(), radius=12), answers),
    "hamming save": (lambda: hamming(5_000_000), save, resaved(nk.HammingIndex.open, answers)),
    "hamming distances": (
        lambda: values(60_000_000).reshape(-1, 2), lambda rows: again(lambda: nk.hamming(rows, rows[::-1])), nothing
    ),
    "ssdeep hash": (lambda: random.bytes(1_200_000_000), nk.ssdeep.hash, nothing),
    "ssdeep update": (hasher, lambda made: made[0].update(made[1]), lambda made: made[0].digest()),
    "ssdeep files": (files, lambda paths: nk.ssdeep.hash_files(paths * 4), nothing),
    "ssdeep matrix": (lambda: digests(20_000), nk.ssdeep.matrix, nothing),
    "digests add": (
        lambda: (digest_index(queries + digests(1000)), digests(600_000)),
        lambda made: made[0].add(None, made[1]),
        lambda made: matched(made[0]),
    ),
    "digests search": (lambda: digest_index(hub(20_000)), lambda index: index.search(hub(5_000)), matched),
    "digests pairs": (lambda: digest_index(hub(20_000)), lambda index: index.pairs(80), matched),
    "digests clusters": (lambda: digest_index(hub(40_000)), lambda index: index.clusters(90), matched),
    "digests save": (lambda: digest_index(queries + digests(50_000)), save, resaved(nk.DigestIndex.open, matched)),
    "bands add": (lambda: sparse_bands(20_000), lambda index: index.add(None, rare), band_hits),
    "bands search": (bands, lambda index: index.search(signatures), band_hits),
    "bands pairs": (bands, lambda index: index.pairs(), band_hits),
    "bands clusters": (bands, lambda index: index.clusters(), band_hits),
    "bands save": (lambda: sparse_bands(200_000), save, resaved(nk.BandIndex.open, band_hits)),
    "lsh add": (added_tables, lambda made: made[0].add(None, made[1]), lambda made: near(made[0])),
    "lsh nearest": (codes, lambda index: index.nearest(shapes, k=10), nearest),
    "lsh pairs": (tables, lambda index: again(lambda: index.pairs(3.0)), lambda index: len(index)),
    "lsh save": (tables, save, resaved(nk.LSHIndex.open, lambda index: index.nearest(narrow, k=5).ids.tolist())),
    "family save": (
        lambda: nk.families.ITQ(bits=32, seed=1).fit(wide(20_000)), save,
        resaved(nk.families.load, lambda family: family.transform(narrow).tolist()),
    ),
    "idf save": (idf, save, resaved(nk.Idf.load, lambda table: table.digest)),
    "hyperplane": transform(nk.families.Hyperplane(bits=128, seed=1)),
    "cross-polytope": transform(nk.families.CrossPolytope(hashes=8, seed=1)),
    "spherical": transform(nk.families.SphericalHash(bits=64, seed=1)),
    "p-stable": transform(nk.families.PStable(metric="l2", width=4.0, hashes=64, seed=1)),
    "shift-invariant": transform(nk.families.ShiftInvariant(bits=64, seed=1)),
    "itq": transform(nk.families.ITQ(bits=32, seed=1)),
    "spherical fit": (wide, lambda X: again(lambda: nk.families.SphericalHash(bits=64, seed=1).fit(X)), nothing),
    "itq fit": (wide, lambda X: again(lambda: nk.families.ITQ(bits=32, seed=1).fit(X)), nothing),
    "open corpus": (corpus, lambda path: again(lambda: read(path)), nothing),
    "fingerprint corpus": (corpus, lambda path: again(lambda: fingerprint_file(path)), nothing),
}

# Calls that commit in a short step; after a signal during that step the object is changed.
ADDITIONS = [name for name in CASES if " add" in name]

name, delay, kind = sys.argv[1], float(sys.argv[2]), sys.argv[3]
make, call, ask = CASES[name]
drawn = random.bit_generator.state
thing = make()
before = ask(thing)
sent = []

def compare_state(thing):
    # The object must return the same as before, or as after the complete addition.
    answer = ask(thing)
    if answer == before:
        return "before"
    if name not in ADDITIONS:
        return "neither"
    random.bit_generator.state = drawn
    other = make()
    call(other)
    return "after" if answer == ask(other) else "neither"

class Handled(Exception):
    pass

def handler(number, frame):
    if kind == "own":
        raise Handled

if kind != "default":
    signal.signal(signal.SIGINT, handler)

# The signal is sent during the call or not at all.
ended, turn = [], threading.Lock()

def send():
    time.sleep(delay)
    with turn:
        if not ended:
            sent[:] = [time.monotonic(), time.process_time()]
            os.kill(os.getpid(), signal.SIGINT)

sender = threading.Thread(target=send, daemon=True)
sender.start()
raised, late = None, None
try:
    call(thing)
    with turn:
        ended.append(True)
except (KeyboardInterrupt, Handled) as error:
    late = time.monotonic() - sent[0], time.process_time() - sent[1]
    raised = type(error).__name__
print(json.dumps({"raised": raised, "late": late, "sent": bool(sent), "state": compare_state(thing)}))
"""

CASES = re.findall(r'(?m)^    "([^"]+)": ', DRIVER)
FAST = [
    "fingerprint",
    "indel",
    "hamming search",
    "hamming add names",
    "bands add",
    "lsh add",
    "digests add",
    "bands save",
]


def interrupted(name: str, *, kind: str = "default", delay: float | None = None) -> dict[str, object]:
    """Return the report of a child whose call was interrupted; retry with an earlier signal if the call had already
    ended.
    """
    wait = random.uniform(0.1, 0.8) if delay is None else delay
    report: dict[str, object] = {"sent": False}
    for _ in range(6):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", DRIVER, name, str(wait), kind, folder]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert 0 == done.returncode, done.stderr
        report = {**json.loads(done.stdout), "delay": wait}
        if report["sent"]:
            break
        wait /= 2
    return report


def check(report: dict[str, object], raised: str) -> None:
    """Assert that the call ended in time with this exception, and that the object has none or all of an addition."""
    assert report["sent"], f"the call ended before the signal: {report}"
    assert raised == report["raised"], report
    assert report["state"] in {"before", "after"}, report
    late = report["late"]
    assert isinstance(late, list)
    assert late[0] < CLOCK, report
    assert late[1] < PROCESSOR, report


@pytest.mark.parametrize("name", FAST)
def test_a_call_that_is_interrupted_ends_at_once_and_leaves_its_object(name: str) -> None:
    """A KeyboardInterrupt is raised within half a second of processor time; the index returns the same results."""
    check(interrupted(name), "KeyboardInterrupt")


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("name", CASES)
def test_every_long_call_ends_when_it_is_interrupted(name: str, attempt: int) -> None:
    """Interrupts each long call at three random moments."""
    check(interrupted(name), "KeyboardInterrupt")


def test_a_handler_may_raise_its_own_exception() -> None:
    """It is raised instead of the result, equally soon."""
    check(interrupted("hamming search", kind="own"), "Handled")


def test_a_handler_that_returns_leaves_the_call_alone() -> None:
    """The call runs to its end and returns its result."""
    report = interrupted("fingerprint", kind="quiet", delay=0.2)
    assert (None, True, "before") == (report["raised"], report["sent"], report["state"])


def test_an_interrupt_of_the_first_call_meets_no_half_loaded_numpy() -> None:
    """Importing nearkin loads what the core needs of NumPy, so that no first call looks it up."""
    program = (
        "import nearkin as nk, numpy.lib._version as version\n"
        "def interrupted(self, text): raise KeyboardInterrupt\n"
        "version.NumpyVersion.__init__ = interrupted\n"
        "print(nk.fingerprint(['some text']).shape)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert "(1, 2)" == run.stdout.strip(), run.stderr
