"""Several processes share one store: exactly one gets "new", commits are durable, readers see complete commits."""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import ForkError, StoreLockedError
from nearkin.io import atomic_write
from nearkin.store import filesystem
from nearkin.store.dedup import BatchDeduplicator
from nearkin.store.log import Log

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed and forked")

WRITER = """
import json, random, sys
import nearkin as nk
path, seed, families, batch, waiting = sys.argv[1], *map(int, sys.argv[2:6])
nk.set_num_threads(1)
words = [f"w{i}" for i in range(3000)]
def text(family, member):
    choose = random.Random(family)
    chosen = choose.sample(words, 24)
    chosen[member % 24] = f"x{member}"
    return " ".join(chosen)
order = list(range(families))
random.Random(seed).shuffle(order)
# The test checks results and not times, so wait as long as a busy machine needs.
with nk.Store.open(path, max_pending=waiting, wait=3600) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for start in range(0, families, batch):
        some = order[start : start + batch]
        answers = store.check_and_add([text(f, seed) for f in some], [f"{f}-{seed}" for f in some])
        # One line, and one write, per acknowledged batch.
        sys.stdout.write(json.dumps([some, answers.status, answers.ids]) + "\\n")
        sys.stdout.flush()
"""


def writer(path: Path, seed: int, families: int, batch: int, waiting: int = 1 << 18) -> subprocess.Popen[str]:
    """Start a process that adds its member of each family in a random order."""
    arguments = map(str, (path, seed, families, batch, waiting))
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdin=pipe, stdout=pipe, text=True)


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert "ready\n" == process.stdout.readline()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def start(processes: list[subprocess.Popen[str]]) -> None:
    """Let all processes go at once."""
    for process in processes:
        begin(process)
    for process in processes:
        go(process)


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    """Return the complete lines that a process prints until it ends."""
    assert process.stdin is not None
    process.stdin.close()
    assert process.stdout is not None
    with process.stdout as stream:
        output_lines = [line for line in stream if line.endswith("\n")]
    process.wait()
    return output_lines


def one_new_per_family(path: Path, writers: int, families: int, batch: int, waiting: int) -> None:
    """Run the writers concurrently, and count who gets "new".

    Recall of fingerprints is probabilistic. In 100,000 families of 16 the farthest members differ in 44 bits, so a
    radius of 44 makes all members of a family candidates.
    """
    nk.Store.create(path, threshold=0.5, radius=44).close()
    processes = [writer(path, seed, families, batch, waiting) for seed in range(writers)]
    start(processes)
    new: Counter[int] = Counter()
    # Read all pipes concurrently, because a full pipe blocks its writer.
    with ThreadPoolExecutor(writers) as pool:
        for line in chain.from_iterable(pool.map(lines_of, processes)):
            chunk, status, _ = json.loads(line)
            new.update(family for family, name in zip(chunk, status, strict=True) if name == "new")
    assert [0] * writers == [process.returncode for process in processes]
    assert {} == {family: new[family] for family in range(families) if new[family] != 1}
    with nk.Store.open(path) as store:
        store.verify()
        assert writers * families == len(store)
        assert families == sum(doc.status == "new" for chunk in store.iter_documents() for doc in chunk)


@pytest.mark.parametrize(("families", "batch"), [(300, 7), (60, 1)])
def test_of_four_writers_exactly_one_gets_new(tmp_path: Path, families: int, batch: int) -> None:
    """Members of a family arrive concurrently, in different orders, during flushes and merges."""
    one_new_per_family(tmp_path / "store", 4, families, batch, 64)


@pytest.mark.slow
def test_of_sixteen_writers_exactly_one_gets_new(tmp_path: Path) -> None:
    """100,000 families, 1.6 million documents."""
    one_new_per_family(tmp_path / "store", 16, 100_000, 500, 1 << 18)


def kill_under_load(path: Path, kills: int, families: int, seed: int) -> None:
    """Kill two writers at random moments, and look up everything they acknowledged."""
    choose = random.Random(seed)
    # Few families allow a radius so wide that it always covers all members of a family.
    nk.Store.create(path, threshold=0.5, radius=56).close()
    acknowledged: dict[str, str] = {}
    number = 0
    for _ in range(kills):
        processes = [writer(path, number, families, 5, 40), writer(path, number + 1, families, 5, 40)]
        number += 2
        start(processes)
        time.sleep(choose.random() * 0.25)
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            for line in lines_of(process):
                chunk, status, _ = json.loads(line)
                member = processes.index(process) + number - 2
                acknowledged.update({f"{family}-{member}": name for family, name in zip(chunk, status, strict=True)})
    with nk.Store.open(path) as store:
        store.verify()
        output_lines = {doc.id: doc.status for chunk in store.iter_documents() for doc in chunk}
    assert acknowledged == {name: output_lines.get(name) for name in acknowledged}
    families_new = Counter(str(name).split("-")[0] for name, status in output_lines.items() if status == "new")
    assert not families_new or 1 == max(families_new.values())


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    """No acknowledged document is lost, and no family has two new documents."""
    kill_under_load(tmp_path / "store", 5, 400, 1)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_five_hundred_kills(tmp_path: Path) -> None:
    """The same, with 500 kills."""
    kill_under_load(tmp_path / "store", 250, 400, 2)


CREATOR = """
import sys
import nearkin as nk
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    try:
        with nk.Store.create(f"{sys.argv[1]}/{number}.store") as store:
            store.add(["What the one that made it has added."], [sys.argv[2]])
            print(number, sys.argv[2])
    except FileExistsError:
        pass
"""


def test_of_concurrent_creators_exactly_one_succeeds(tmp_path: Path) -> None:
    """The others get FileExistsError, and the documents of the creator are safe."""
    count, pipe = 20, subprocess.PIPE
    command = [sys.executable, "-c", CREATOR, str(tmp_path)]
    creators = [
        subprocess.Popen([*command, name, str(count)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for name in "abcd"
    ]
    start(creators)
    outputs = [process.communicate(timeout=300) for process in creators]
    assert [0] * 4 == [process.returncode for process in creators], outputs
    created_by = sorted((int(line.split()[0]), line.split()[1]) for out, _ in outputs for line in out.splitlines())
    assert list(range(count)) == [number for number, _ in created_by]
    for number, name in created_by:
        with nk.Store.open(tmp_path / f"{number}.store", "r") as store:
            assert [name] == [doc.id for batch in store.iter_documents() for doc in batch]
    assert count == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("what", ["create", "backup"])
def test_create_and_backup_never_replace_a_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Neither a new store nor a backup replaces a folder that appears before its last rename."""
    path, sync = tmp_path / "pages.store", atomic_write.sync_folder
    with nk.Store.create(tmp_path / "other.store") as other:

        def meanwhile(folder: Path) -> None:
            monkeypatch.setattr(filesystem, "sync_folder", sync)
            with nk.Store.create(path) as store:
                store.add(["A text of the one that came first."], ["first"])
            sync(folder)

        monkeypatch.setattr(filesystem, "sync_folder", meanwhile)
        with pytest.raises(FileExistsError, match=r"pages\.store: something was created here in the meantime"):
            nk.Store.create(path) if what == "create" else other.backup(path)
    with nk.Store.open(path, "r") as store:
        assert "first" in store
    assert {path, tmp_path / "other.store"} == set(tmp_path.iterdir())


@pytest.mark.parametrize("stored", ["near", "exact"])
def test_a_copy_of_a_document_that_another_process_adds_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: str
) -> None:
    """Another process adds the first of two copies after the batch was compared with the documents stored before."""
    text = "a text of many words that another process adds as well, about wine and bread and all the rest of it"
    compare = BatchDeduplicator.compare
    with nk.Store.create(tmp_path / "store", threshold=0.7) as store, nk.Store.open(tmp_path / "store") as other:
        store.add([text if stored == "exact" else text + "s"], ["old"])

        def compare_and_add(*arguments: Any) -> None:
            monkeypatch.setattr(BatchDeduplicator, "compare", compare)
            compare(*arguments)
            other.check_and_add([text], ["p"])

        monkeypatch.setattr(BatchDeduplicator, "compare", compare_and_add)
        result = store.check_and_add([text, text], ["p", "q"])
        assert ["known", stored] == result.status
        assert ["old", "old"] == result.ids
        left, right = store.get(["p", "q"])
        assert left is not None
        assert right is not None
        assert left.distance == right.distance


def test_a_reader_sees_complete_commits_immediately(path: Path) -> None:
    """The next query sees all documents of a committed batch, or none."""
    nk.Store.create(path, threshold=0.5).close()
    process = writer(path, 3, 60, 6, 20)
    begin(process)
    with nk.Store.open(path, "r") as reader:
        assert 0 == len(reader)
        go(process)
        assert process.stdout is not None
        for _ in range(10):
            chunk, _, _ = json.loads(process.stdout.readline())
            assert all(f"{family}-3" in reader for family in chunk)
            assert 0 == len(reader) % 6
        assert [] == lines_of(process)
        assert 0 == process.returncode
        assert 60 == len(reader)


def test_a_writer_that_does_not_wait_fails_at_once(path: Path) -> None:
    """With `wait=0` a concurrent transaction raises an error, and nothing is added."""
    with nk.Store.create(path) as store, nk.Store.open(path, wait=0) as other:
        with store._log.writing(), pytest.raises(StoreLockedError, match="another process is changing the store"):
            other.add(["a text"], ["a"])
        other.add(["a text"], ["a"])
        assert ["a"] == [doc.id for chunk in store.iter_documents() for doc in chunk]


def test_a_waiting_writer_does_not_starve(path: Path) -> None:
    """Six other writers request the lock continuously; a waiting writer must not starve."""
    nk.Store.create(path).close()
    end = threading.Event()

    def write_again_and_again() -> None:
        log = Log(path)
        while not end.is_set():
            with log.writing():
                time.sleep(0.01)
        log.close()

    others = [threading.Thread(target=write_again_and_again) for _ in range(6)]
    with nk.Store.open(path, wait=10) as store:
        for other in others:
            other.start()
        try:
            longest = 0.0
            for number in range(10):
                before = time.monotonic()
                store.add([f"text {number}"], [f"n{number}"])
                longest = max(longest, time.monotonic() - before)
        finally:
            end.set()
            for other in others:
                other.join()
        assert 10 == len(store)
        # A fair queue of six others would take 60 milliseconds.
        assert longest < 5, longest


def test_threads_share_a_store(tmp_path: Path) -> None:
    """Calls of four threads are serialised."""
    texts = [f"a text of some words about number {i % 50} and nothing else" for i in range(200)]
    with nk.Store.create(tmp_path / "store", max_pending=64) as store:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda i: store.check_and_add([texts[i]], [f"t{i}"]).status[0], range(200)))
        kept = [doc.id for chunk in store.iter_documents() for doc in chunk if doc.status == "new"]
        assert len(kept) == answers.count("new")
        # No two new documents match, and all others matched one of them.
        stay = store.texts(kept)
        assert list(range(len(stay))) == nk.dedup(stay).kept
        assert not store.check(texts).is_new.any()
        assert 200 == len(store)
        store.verify()


def test_a_forked_child_must_open_the_store_itself(store: nk.Store) -> None:
    """A child cannot use the connections and locks of its parent."""
    store.add(["a text"], ["a"])
    child = os.fork()
    if child == 0:
        try:
            store.check(["a text"])
        except ForkError:
            os._exit(7)
        finally:
            os._exit(1)
    assert 7 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ["exact"] == store.check(["a text"]).status


def test_a_transaction_abandoned_by_an_interrupt_ends_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt may leave a transaction to the garbage collector, which ends it after the store is closed."""
    store = nk.Store.create(tmp_path / "store")
    abandoned = store._reading()
    abandoned.__enter__()
    store.close()
    errors: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: errors.append(error.exc_value))
    del abandoned
    gc.collect()
    assert [] == errors


def test_an_interrupt_leaves_a_complete_batch_or_none(tmp_path: Path) -> None:
    """After Ctrl-C in `check_and_add`, a batch is complete or absent, and the store answers."""
    rng = np.random.default_rng(0)
    script = tmp_path / "run.py"
    script.write_text(
        "import nearkin as nk, sys\n"
        "store = nk.Store.open(sys.argv[1], max_pending=64)\n"
        "n = 0\n"
        "try:\n"
        "    print('go', flush=True)\n"
        "    while True:\n"
        "        texts = [f'text {n} {i} of words ' * 3 for i in range(40)]\n"
        "        store.check_and_add(texts, [f'{n}-{i}' for i in range(40)])\n"
        "        n += 1\n"
        "except KeyboardInterrupt:\n"
        "    count = len(store)\n"
        "    assert count % 40 == 0 and count // 40 in (n, n + 1), (count, n)\n"
        "    store.check(['another text'])\n"
        "    store.close()\n"
    )
    for number in range(6):
        path = tmp_path / f"store{number}"
        nk.Store.create(path).close()
        pipe = subprocess.PIPE
        process = subprocess.Popen([sys.executable, str(script), str(path)], stdout=pipe, stderr=pipe, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 + rng.random() * 0.3)
        process.send_signal(signal.SIGINT)
        _, outputs = process.communicate(timeout=60)
        assert (0, "") == (process.returncode, outputs)
        with nk.Store.open(path) as store:
            store.verify()


@pytest.mark.parametrize("begins", [False, True])
def test_an_interrupt_while_the_compactor_starts_leaves_the_store_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    """An interrupt in `Thread.start` leaves a thread that runs, or one that never starts."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if threading.current_thread() is not threading.main_thread():
            # The flush starts the merge; an interrupt arrives in the main thread alone.
            start(thread)
            return
        if begins:
            start(thread)
            thread.join()
        raise KeyboardInterrupt

    with nk.Store.open(created(tmp_path), max_pending=20) as store:
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.check_and_add([f"text {number} of words" * 3 for number in range(20)])
        monkeypatch.undo()
        assert 20 == len(store)
        assert begins == bool(store._snapshot.segments or store.stats().segments)
        store.check_and_add([f"other {number} of words" * 3 for number in range(20)])
    with nk.Store.open(tmp_path / "store") as store:
        store.verify()
        assert 40 == len(store)


def created(folder: Path) -> Path:
    """Create a store."""
    nk.Store.create(folder / "store").close()
    return folder / "store"
