"""Several processes on one store: exactly one is told "new", acknowledged is durable, readers see whole commits."""

from __future__ import annotations

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

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import ForkError, StoreLockedError
from nearkin.store import filesystem
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
# However busy the machine is: what is tested is what they are told, not when.
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
    """A process that offers its member of each family, in an order of its own."""
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


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    """Whole lines that a process printed until it ended."""
    assert process.stdin is not None
    process.stdin.close()
    assert process.stdout is not None
    with process.stdout as stream:
        found = [line for line in stream if line.endswith("\n")]
    process.wait()
    return found


def one_new_per_family(path: Path, writers: int, families: int, batch: int, waiting: int) -> None:
    """Runs the writers at once and counts who was told "new".

    By fingerprints near-duplicates are found with a probability; of 100,000 families of 16 the farthest members are 44
    bits apart, so that all of a family are candidates of one another.
    """
    nk.Store.create(path, threshold=0.5, radius=44).close()
    processes = [writer(path, seed, families, batch, waiting) for seed in range(writers)]
    for process in processes:
        begin(process)
    for process in processes:
        go(process)
    new: Counter[int] = Counter()
    # All pipes are read at once: a writer whose pipe is full would stand still.
    with ThreadPoolExecutor(writers) as pool:
        for line in chain.from_iterable(pool.map(lines_of, processes)):
            some, status, _ = json.loads(line)
            new.update(family for family, name in zip(some, status, strict=True) if name == "new")
    assert [0] * writers == [process.returncode for process in processes]
    assert {} == {family: new[family] for family in range(families) if new[family] != 1}
    with nk.Store.open(path) as store:
        store.verify()
        assert writers * families == len(store)
        assert families == sum(one.status == "new" for some in store.iter_documents() for one in some)


@pytest.mark.parametrize(("families", "batch"), [(300, 7), (60, 1)])
def test_of_four_writers_exactly_one_is_told_new(tmp_path: Path, families: int, batch: int) -> None:
    """Members of families arrive at once, in different orders, while segments are written and merged."""
    one_new_per_family(tmp_path / "store", 4, families, batch, 64)


@pytest.mark.slow
def test_of_sixteen_writers_exactly_one_is_told_new(tmp_path: Path) -> None:
    """100,000 families, 1.6 million documents."""
    one_new_per_family(tmp_path / "store", 16, 100_000, 500, 1 << 18)


def kill_under_load(path: Path, kills: int, families: int, seed: int) -> None:
    """Kills one of two writers at random moments, and asks for all that was acknowledged."""
    choose = random.Random(seed)
    # Few families, so that a radius may be wide that no two members of one are ever beyond.
    nk.Store.create(path, threshold=0.5, radius=56).close()
    acknowledged: dict[str, str] = {}
    number = 0
    for _ in range(kills):
        processes = [writer(path, number, families, 5, 40), writer(path, number + 1, families, 5, 40)]
        number += 2
        for process in processes:
            begin(process)
        for process in processes:
            go(process)
        time.sleep(choose.random() * 0.25)
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            for line in lines_of(process):
                some, status, _ = json.loads(line)
                member = processes.index(process) + number - 2
                acknowledged.update({f"{family}-{member}": name for family, name in zip(some, status, strict=True)})
    with nk.Store.open(path) as store:
        store.verify()
        found = {one.id: one.status for some in store.iter_documents() for one in some}
    assert acknowledged == {name: found.get(name) for name in acknowledged}
    families_new = Counter(str(name).split("-")[0] for name, status in found.items() if status == "new")
    assert not families_new or 1 == max(families_new.values())


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    """And no family has two that were told "new"."""
    kill_under_load(tmp_path / "store", 5, 400, 1)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_five_hundred_kills(tmp_path: Path) -> None:
    """The same for long."""
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


def test_of_those_that_create_a_store_at_once_exactly_one_does(tmp_path: Path) -> None:
    """The others are told that something is there, and what the one has added stays."""
    count, pipe = 20, subprocess.PIPE
    command = [sys.executable, "-c", CREATOR, str(tmp_path)]
    creators = [
        subprocess.Popen([*command, name, str(count)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for name in "abcd"
    ]
    for process in creators:
        begin(process)
    for process in creators:
        go(process)
    told = [process.communicate(timeout=300) for process in creators]
    assert [0] * 4 == [process.returncode for process in creators], told
    made = sorted((int(line.split()[0]), line.split()[1]) for out, _ in told for line in out.splitlines())
    assert list(range(count)) == [number for number, _ in made]
    for number, name in made:
        with nk.Store.open(tmp_path / f"{number}.store", "r") as store:
            assert [name] == [one.id for batch in store.iter_documents() for one in batch]
    assert count == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("what", ["create", "backup"])
def test_what_somebody_puts_there_meanwhile_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Neither by a new store nor by a backup, whose last step is one rename."""
    path, sync = tmp_path / "pages.store", filesystem.sync_folder
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


def test_a_reader_sees_whole_commits_at_once(tmp_path: Path) -> None:
    """What another process has committed is in the next answer, all of a batch or none."""
    path = tmp_path / "store"
    nk.Store.create(path, threshold=0.5).close()
    process = writer(path, 3, 60, 6, 20)
    begin(process)
    with nk.Store.open(path, "r") as reader:
        assert 0 == len(reader)
        go(process)
        assert process.stdout is not None
        for _ in range(10):
            some, _, _ = json.loads(process.stdout.readline())
            assert all(f"{family}-3" in reader for family in some)
            assert 0 == len(reader) % 6
        assert [] == lines_of(process)
        assert 0 == process.returncode
        assert 60 == len(reader)


def test_a_writer_that_does_not_wait_fails_at_once(tmp_path: Path) -> None:
    """With `wait=0` another's transaction is an error that says so, and nothing is added."""
    path = tmp_path / "store"
    with nk.Store.create(path) as store, nk.Store.open(path, wait=0) as other:
        with store._log.writing(), pytest.raises(StoreLockedError, match="another process is changing the store"):
            other.add(["a text"], ["a"])
        other.add(["a text"], ["a"])
        assert ["a"] == [one.id for some in store.iter_documents() for one in some]


def test_a_writer_that_waits_gets_in_before_those_that_come_again_and_again(tmp_path: Path) -> None:
    """Six others hold the lock nearly all the time, and ask for it anew at once; one that waits for them is let in."""
    path = tmp_path / "store"
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
        # In turn it would wait for six others, 60 milliseconds.
        assert longest < 5, longest


def test_threads_share_a_store(tmp_path: Path) -> None:
    """Calls of four threads answer as if one after the other."""
    texts = [f"a text of some words about number {i % 50} and nothing else" for i in range(200)]
    with nk.Store.create(tmp_path / "store", max_pending=64) as store:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda i: store.check_and_add([texts[i]], [f"t{i}"]).status[0], range(200)))
        kept = [one.id for some in store.iter_documents() for one in some if one.status == "new"]
        assert len(kept) == answers.count("new")
        # No two that stay match, and all others were like one of them.
        stay = store.texts(kept)
        assert list(range(len(stay))) == nk.dedup(stay).kept
        assert not store.check(texts).is_new.any()
        assert 200 == len(store)
        store.verify()


def test_a_forked_child_is_told_to_open_the_store_itself(tmp_path: Path) -> None:
    """Connections and locks of the parent are not used in a child."""
    with nk.Store.create(tmp_path / "store") as store:
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


def test_an_interrupt_leaves_the_store_as_it_was_or_with_the_batch(tmp_path: Path) -> None:
    """Ctrl-C at random moments of `check_and_add`: a batch is whole or absent, and the next call answers."""
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
        _, told = process.communicate(timeout=60)
        assert (0, "") == (process.returncode, told)
        with nk.Store.open(path) as store:
            store.verify()


@pytest.mark.parametrize("begins", [False, True])
def test_an_interrupt_while_the_keepers_thread_starts_leaves_the_store_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    """`Thread.start` waits for the thread: an interrupt there finds one that works, or one that must never begin."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
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
    """A new store."""
    nk.Store.create(folder / "store").close()
    return folder / "store"
