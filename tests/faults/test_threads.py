"""Eight threads on one index: every answer is one that some serial order of the calls gives.

Each thread owns ids of its own, which it alone adds and removes, so whatever the others do, it knows what must be found
of them: its calls, in its order, against a plain model. Ids that all threads fight for obey what any order keeps: a
successful addition and a successful removal of an id take turns. And an id says which value stands under it, so that an
answer which mixes two ids is seen.
"""

from __future__ import annotations

import pickle
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import ParameterError

THREADS = 8
FEWEST = 3
"""Calls of a thread, however late it is begun."""

VALUES = 8
"""Different values; the value under an id is the one at the place `id % VALUES`."""

SHARED = 1 << 40
"""From here on ids are anybody's."""


@dataclass(frozen=True)
class Case:
    """An index, its values, how far they are apart, and what is within the limit."""

    make: Callable[[], Any]
    open: Callable[[Path], Any]
    values: Any
    limit: float
    table: Any
    """Distance or score of two places."""
    within: Any
    """Whether the limit lets two places be found."""
    measure: str = "distances"
    pickled: bool = False

    def batch(self, ids: Sequence[int]) -> Any:
        """The values of ids."""
        places = [i % VALUES for i in ids]
        return [self.values[i] for i in places] if isinstance(self.values, list) else self.values[places]


def hamming() -> Case:
    """Fingerprints, of which some are near one another."""
    rng = np.random.default_rng(1)
    fps = rng.integers(0, 1 << 63, VALUES, dtype=np.uint64)
    fps[1::2] = fps[::2] ^ np.uint64(0b101)
    table = np.array([[int(a ^ b).bit_count() for b in fps] for a in fps])
    return Case(lambda: nk.HammingIndex(64, radius=3), nk.HammingIndex.open, fps, 3, table, table <= 3)


def bands() -> Case:
    """Signatures that share values."""
    rows = np.random.default_rng(2).integers(0, 2, (VALUES, 8)).astype(np.uint32)
    equal = rows[:, None, :] == rows[None, :, :]
    within = equal.reshape(VALUES, VALUES, 4, 2).all(axis=3).any(axis=2) & (equal.mean(axis=2) >= 0.75)
    return Case(
        lambda: nk.BandIndex(8, num_bands=4, num_rows=2), nk.BandIndex.open, rows, 0.75, (~equal).sum(axis=2), within
    )


def digests() -> Case:
    """Fuzzy digests that share pieces."""
    rng = random.Random(3)
    stock = [rng.randbytes(300) for _ in range(8)]
    made = [nk.ssdeep.hash(b"".join(rng.choices(stock, k=12))) for _ in range(VALUES)]
    scores = nk.ssdeep.matrix(made)
    return Case(nk.DigestIndex, nk.DigestIndex.open, made, 40, scores, scores >= 40, measure="scores")


def vectors() -> Case:
    """Vectors under hash functions so wide that everything is a candidate."""
    points = np.random.default_rng(4).integers(-4, 5, (VALUES, 3)).astype(np.float64)
    table = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))

    def make() -> nk.LSHIndex:
        family = nk.families.PStable(width=1e9, seed=1)
        index = nk.LSHIndex(family, 1, hashes_per_table=1).fit(points[:1], ids=[0])
        index.remove([0])
        return index

    return Case(make, nk.LSHIndex.open, points, 4.0, table, table <= 4.0, pickled=True)


@dataclass
class Worker:
    """A thread: its model of its own ids, and what its fights for shared ids came to."""

    case: Case
    index: Any
    number: int
    folder: Path
    calls: int = 0
    shared: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.number)
        self.first = self.number << 32
        self.own: set[int] = set()
        self.next = self.first

    def is_own(self, key: int) -> bool:
        """Whether an id is this thread's."""
        return self.first <= key < self.first + (1 << 32)

    def run(self, until: float) -> None:
        """Random calls until a moment, some however late it is; each answer held against the model."""
        steps = [self.add, self.add, self.search, self.search, self.remove, self.fight, self.list_ids]
        while time.monotonic() < until or self.calls < FEWEST:
            self.rng.choice(steps)()
            self.calls += 1
            if self.rng.random() < 0.02:
                self.rng.choice([self.save, self.clear, self.copy])()

    def add(self) -> None:
        """Some new ids; and once more, which is refused and changes nothing."""
        ids = list(range(self.next, self.next + self.rng.randrange(1, 9)))
        self.next = ids[-1] + 1
        assert len(ids) == self.index.add(ids, self.case.batch(ids))
        self.own.update(ids)
        if self.rng.random() < 0.1:
            late = [*range(self.next, self.next + 3), ids[0]]
            with pytest.raises(ParameterError):
                self.index.add(late, self.case.batch(late))

    def remove(self) -> None:
        """Some own ids."""
        ids = self.rng.sample(sorted(self.own), min(len(self.own), self.rng.randrange(1, 9)))
        if ids:
            assert len(ids) == self.index.remove(ids)
            self.own.difference_update(ids)

    def clear(self) -> None:
        """All own ids at once."""
        assert len(self.own) == self.index.remove(sorted(self.own))
        self.own.clear()

    def fight(self) -> None:
        """Addition or removal of an id that everybody wants."""
        key = SHARED + self.rng.randrange(4)
        if self.rng.random() < 0.5:
            change = self.index.add([key], self.case.batch([key]), existing="skip")
        else:
            change = -self.index.remove([key], missing_ok=True)
        assert change in (-1, 0, 1)
        self.shared[key] = self.shared.get(key, 0) + change

    def search(self) -> None:
        """All that is near a value: every distance is that of its id's value, every own id is there that must be."""
        self.check_search(self.index)

    def check_search(self, index: Any) -> None:
        """The same of any index that holds this thread's ids as they are now."""
        query = self.rng.randrange(VALUES)
        hits = index.search(self.case.batch([query]), self.case.limit)
        ids = hits.ids.tolist()
        assert len(set(ids)) == len(ids)
        places = [key % VALUES for key in ids]
        assert np.allclose(getattr(hits, self.case.measure), self.case.table[query][places])
        assert all(self.case.within[query][places])
        expected = {key for key in self.own if self.case.within[query][key % VALUES]}
        assert expected == set(filter(self.is_own, ids))

    def list_ids(self) -> None:
        """Own ids are there, each once, in order of addition."""
        found = [key for batch in self.index.iter_ids() for key in batch.tolist() if self.is_own(key)]
        assert sorted(self.own) == found
        for key in self.rng.sample(sorted(self.own), min(3, len(self.own))):
            assert key in self.index

    def check_other(self, other: Any) -> None:
        """A copy holds this thread's ids as they are."""
        other.verify()
        ids = [key for batch in other.iter_ids() for key in batch.tolist()]
        assert len(set(ids)) == len(ids) == len(other)
        assert sorted(self.own) == [key for key in ids if self.is_own(key)]
        self.check_search(other)

    def save(self) -> None:
        """A file of what is there at one moment."""
        path = self.folder / f"{self.number}.nks"
        self.index.save(path)
        self.check_other(self.case.open(path))

    def copy(self) -> None:
        """A pickle of the same, where the index has one; two threads save under one name where it has none."""
        if self.case.pickled:
            self.check_other(pickle.loads(pickle.dumps(self.index)))  # noqa: S301 - its own bytes
        else:
            path = self.folder / "common.nks"
            self.index.save(path)
            self.case.open(path).verify()


def hammer(case: Case, folder: Path, seconds: float) -> int:
    """Eight threads for some seconds; how many calls they made."""
    index = case.make()
    workers = [Worker(case, index, number + 1, folder) for number in range(THREADS)]
    started = threading.Barrier(THREADS)

    def run(worker: Worker) -> None:
        started.wait()
        worker.run(time.monotonic() + seconds)

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, worker) for worker in workers]:
            done.result()
    for worker in workers:
        worker.list_ids()
        worker.search()
    left = 0
    for key in {key for worker in workers for key in worker.shared}:
        times = sum(worker.shared.get(key, 0) for worker in workers)
        assert times == (key in index), f"{key} was added {times} times more than removed"
        left += times
    assert sum(len(worker.own) for worker in workers) + left == len(index)
    return sum(worker.calls for worker in workers)


CASES = {"hamming": hamming, "bands": bands, "digests": digests, "vectors": vectors}


@pytest.mark.parametrize("name", CASES)
def test_answers_to_eight_threads_are_those_of_some_serial_order(name: str, tmp_path: Path) -> None:
    """Half a second of additions, searches, removals, lists, files and copies."""
    assert hammer(CASES[name](), tmp_path, 0.5) > THREADS


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_answers_to_eight_threads_stay_right_for_long(name: str, tmp_path: Path) -> None:
    """The same for five seconds."""
    assert hammer(CASES[name](), tmp_path, 5) > THREADS
