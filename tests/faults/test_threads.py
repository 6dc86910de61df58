"""Eight threads on one index: every result is possible in some serial order of the calls.

Each thread has ids that only it adds and removes, so it knows the expected results for them: those of its own calls, in
their order, on a plain model. For ids that all threads share, successful additions and successful removals must
alternate. An id determines its value, so a result that mixes two ids is detected.
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
MIN_CALLS = 3
"""Calls that a thread makes even if it starts late."""

VALUES = 8
"""Different values; the value under an id is the one at the place `id % VALUES`."""

SHARED = 1 << 40
"""From here on ids are anybody's."""


@dataclass(frozen=True)
class Case:
    """An index with values for it: adding, searching, and the values within the limit."""

    make: Callable[[], Any]
    open: Callable[[Path], Any]
    values: Any
    limit: float
    table: Any
    """Distance or score of two values, by their positions."""
    within: Any
    """True if two values are within the limit."""
    measure: str = "distances"
    pickled: bool = False

    def batch(self, ids: Sequence[int]) -> Any:
        """Return the values of ids."""
        positions = [i % VALUES for i in ids]
        return [self.values[i] for i in positions] if isinstance(self.values, list) else self.values[positions]


def hamming() -> Case:
    """Return fingerprints, some of them near one another."""
    rng = np.random.default_rng(1)
    fps = rng.integers(0, 1 << 63, VALUES, dtype=np.uint64)
    fps[1::2] = fps[::2] ^ np.uint64(0b101)
    table = np.array([[int(a ^ b).bit_count() for b in fps] for a in fps])
    return Case(lambda: nk.HammingIndex(64, radius=3), nk.HammingIndex.open, fps, 3, table, table <= 3)


def bands() -> Case:
    """Return signatures that share values."""
    rows = np.random.default_rng(2).integers(0, 2, (VALUES, 8)).astype(np.uint32)
    equal = rows[:, None, :] == rows[None, :, :]
    within = equal.reshape(VALUES, VALUES, 4, 2).all(axis=3).any(axis=2) & (equal.mean(axis=2) >= 0.75)
    return Case(
        lambda: nk.BandIndex(8, num_bands=4, num_rows=2), nk.BandIndex.open, rows, 0.75, (~equal).sum(axis=2), within
    )


def digests() -> Case:
    """Return fuzzy digests that share pieces."""
    rng = random.Random(3)
    stock = [rng.randbytes(300) for _ in range(8)]
    made = [nk.ssdeep.hash(b"".join(rng.choices(stock, k=12))) for _ in range(VALUES)]
    scores = nk.ssdeep.matrix(made)
    return Case(nk.DigestIndex, nk.DigestIndex.open, made, 40, scores, scores >= 40, measure="scores")


def vectors() -> Case:
    """Return vectors with hash functions so wide that every row is a candidate."""
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
    """A thread with a model of its own ids, and the results of its calls on shared ids."""

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
        """Return True if the id belongs to this thread."""
        return self.first <= key < self.first + (1 << 32)

    def run(self, until: float) -> None:
        """Make random calls until a time, but at least `MIN_CALLS`, and compare each result with the model."""
        steps = [self.add, self.add, self.search, self.search, self.remove, self.fight, self.list_ids]
        while time.monotonic() < until or self.calls < MIN_CALLS:
            self.rng.choice(steps)()
            self.calls += 1
            if self.rng.random() < 0.02:
                self.rng.choice([self.save, self.clear, self.copy])()

    def add(self) -> None:
        """Add new ids; adding them again must fail and change nothing."""
        ids = list(range(self.next, self.next + self.rng.randrange(1, 9)))
        self.next = ids[-1] + 1
        assert len(ids) == self.index.add(ids, self.case.batch(ids))
        self.own.update(ids)
        if self.rng.random() < 0.1:
            late = [*range(self.next, self.next + 3), ids[0]]
            with pytest.raises(ParameterError):
                self.index.add(late, self.case.batch(late))

    def remove(self) -> None:
        """Remove several own ids."""
        ids = self.rng.sample(sorted(self.own), min(len(self.own), self.rng.randrange(1, 9)))
        if ids:
            assert len(ids) == self.index.remove(ids)
            self.own.difference_update(ids)

    def clear(self) -> None:
        """Remove all own ids at once."""
        assert len(self.own) == self.index.remove(sorted(self.own))
        self.own.clear()

    def fight(self) -> None:
        """Add or remove a shared id."""
        key = SHARED + self.rng.randrange(4)
        if self.rng.random() < 0.5:
            change = self.index.add([key], self.case.batch([key]), existing="skip")
        else:
            change = -self.index.remove([key], missing_ok=True)
        assert change in (-1, 0, 1)
        self.shared[key] = self.shared.get(key, 0) + change

    def search(self) -> None:
        """Search for a value: every distance must be right for its id, and every own id within the limit must be
        present.
        """
        self.check_search(self.index)

    def check_search(self, index: Any) -> None:
        """Check a search of any index that has the current ids of this thread."""
        query = self.rng.randrange(VALUES)
        hits = index.search(self.case.batch([query]), self.case.limit)
        ids = hits.ids.tolist()
        assert len(set(ids)) == len(ids)
        positions = [key % VALUES for key in ids]
        assert np.allclose(getattr(hits, self.case.measure), self.case.table[query][positions])
        assert all(self.case.within[query][positions])
        expected = {key for key in self.own if self.case.within[query][key % VALUES]}
        assert expected == set(filter(self.is_own, ids))

    def list_ids(self) -> None:
        """Check that own ids are listed once each, in order of addition."""
        listed = [key for batch in self.index.iter_ids() for key in batch.tolist() if self.is_own(key)]
        assert sorted(self.own) == listed
        for key in self.rng.sample(sorted(self.own), min(3, len(self.own))):
            assert key in self.index

    def check_other(self, other: Any) -> None:
        """Check that a copy has the current ids of this thread."""
        other.verify()
        ids = [key for batch in other.iter_ids() for key in batch.tolist()]
        assert len(set(ids)) == len(ids) == len(other)
        assert sorted(self.own) == [key for key in ids if self.is_own(key)]
        self.check_search(other)

    def save(self) -> None:
        """Save the index while other threads change it, and check the file."""
        path = self.folder / f"{self.number}.nks"
        self.index.save(path)
        self.check_other(self.case.open(path))

    def copy(self) -> None:
        """Pickle the index, or, if it has no pickle, let two threads save it under one name."""
        if self.case.pickled:
            self.check_other(pickle.loads(pickle.dumps(self.index)))  # noqa: S301 - its own bytes
        else:
            path = self.folder / "common.nks"
            self.index.save(path)
            self.case.open(path).verify()


def hammer(case: Case, folder: Path, seconds: float) -> int:
    """Run eight threads for a number of seconds; return the number of calls."""
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
