"""A store of vectors answers like brute force over its candidates; distances are exact, recall is as stated."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis.stateful import initialize, rule

import nearkin as nk
from corpora import flip
from nearkin.errors import CorruptStoreError, InputError, MismatchError, NotFittedError, ParameterError
from nearkin.store.kinds.vectors import VectorSettings, VectorSource, choose_radius
from nearkin.store.results import StoredDocument
from store_model import HANDLES, NEW, Answer, Model, ModelDocument, StoreMachine, case_of

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "store-vectors-v2"
DIMENSION = 6


def pool() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return vectors at many distances from a few centres, some of them equal."""
    rng = np.random.default_rng(7)
    bases = rng.standard_normal((4, DIMENSION))
    scales = [0.0, 0.02, 0.1, 0.2, 0.3, 0.5, 0.8]
    results = [base + scale * rng.standard_normal(DIMENSION) for base in bases for scale in scales]
    return np.array([*results, results[0], results[3]], np.float32)


POOL = pool()
STORES: dict[str, tuple[nk.families.Family, dict[str, Any]]] = {
    "codes": (nk.families.Hyperplane(bits=32, seed=3), {"threshold": 0.9, "recall": 0.7}),
    "wide codes": (nk.families.Hyperplane(bits=100, orthogonal=True, seed=3), {"threshold": 0.9}),
    "every vector": (nk.families.Hyperplane(bits=16, seed=3), {"threshold": 0.9, "recall": 1}),
    "keys": (nk.families.PStable(hashes=24, width=2.0, seed=3), {"radius": 0.8, "recall": 0.6}),
    "keys of L1": (nk.families.PStable(metric="l1", hashes=40, width=6.0, seed=3), {"radius": 1.5, "recall": 0.8}),
    "corners": (nk.families.CrossPolytope(hashes=12, seed=3), {"threshold": 0.9, "recall": 0.8}),
    "waves": (nk.families.ShiftInvariant(bits=64, gamma=0.2, seed=3), {"radius": 0.8, "recall": 0.8}),
}


def measured(metric: str, x: Any, y: Any) -> float:
    """Return the distance by definition."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    if metric == "cosine":
        return 1 - float(x @ y / math.sqrt((x @ x) * (y @ y)))
    return float(np.sqrt(((x - y) ** 2).sum()) if metric == "l2" else np.abs(x - y).sum())


class VectorModel(Model):
    """Vectors by their number in the pool, the hashes of a family, and distances."""

    def __init__(self, created: VectorSettings) -> None:
        super().__init__()
        self.metric, self.limit = created.source.metric, created.limit
        self.most = 1 - self.limit if self.metric == "cosine" else self.limit
        self.hashes = created.family.hash_values(POOL)
        self.bits, self.shape = created.family.kind == "bits", created.shape or ()

    def is_same(self, one: int, other: int) -> bool:
        """Return True if two vectors of the pool are equal."""
        return bool((POOL[one] == POOL[other]).all())

    def is_candidate(self, one: int, other: int) -> bool:
        """Return True within the radius of codes, or with equal keys in a table."""
        equal = self.hashes[one] == self.hashes[other]
        if self.bits:
            return int((~equal).sum()) <= self.shape[0]
        tables, keys = self.shape
        return bool(equal[: tables * keys].reshape(tables, keys).all(axis=1).any())

    def matches(self, number: int) -> list[tuple[ModelDocument, float]]:
        """Return the kept candidates that match, with their distances."""
        results = []
        for doc in self.kept():
            distance = measured(self.metric, POOL[number], POOL[doc.content])
            if distance <= self.most and self.is_candidate(number, doc.content):
                results.append((doc, distance))
        return results

    def decide(self, content: int) -> Answer:
        """Return the result of a new vector."""
        for doc in self.kept():
            if self.is_same(doc.content, content):
                return ("exact", doc.id, 0.0, self.similarity(0.0))
        for doc, distance in self.matches(content):
            return ("near", doc.id, distance, self.similarity(distance))
        return NEW

    def similarity(self, distance: float) -> float:
        """Return the cosine."""
        return 1 - distance if self.metric == "cosine" else math.nan


def alike(expected: Answer, results: Answer) -> bool:
    """Return True if two results are equal up to rounding."""
    return expected[:2] == results[:2] and np.allclose(expected[2:], results[2:], rtol=0, atol=1e-9, equal_nan=True)


NUMBERS = st.integers(0, len(POOL) - 1)


class VectorMachine(StoreMachine):
    """Vectors of the pool, by families of codes and of keys."""

    model: VectorModel
    noun = "vector"

    @initialize(which=st.sampled_from(sorted(STORES)))
    def create(self, which: str) -> None:
        """Create a store."""
        family, options = STORES[which]
        created = self.begin(family.fit(POOL), **options)
        assert isinstance(created, VectorSettings)
        self.model = VectorModel(created)

    def same(self, expected: Answer, results: Answer) -> bool:
        """Return True if two results are equal up to rounding."""
        return alike(expected, results)

    def bring(self, which: int, batch: list[tuple[str, int]], absorb: bool) -> None:
        """Add vectors."""
        store, numbers = self.handles[which], [number for _, number in batch]
        self.offer(store.check_and_add if absorb else store.add, batch, POOL[numbers], absorb=absorb)

    @rule(
        batch=st.lists(st.tuples(st.integers(0, 40).map("v{}".format), NUMBERS), max_size=12),
        which=HANDLES,
        absorb=st.booleans(),
    )
    def come(self, batch: list[tuple[str, int]], which: int, absorb: bool) -> None:
        """Add vectors, with or without deduplication."""
        self.bring(which, batch, absorb)

    @rule(number=NUMBERS, which=HANDLES)
    def check(self, number: int, which: int) -> None:
        """A query changes nothing."""
        answers = self.handles[which].check(POOL[[number]], k=50)
        assert alike(self.model.decide(number), tuple(next(answers.rows()).values()))
        assert answers.matches is not None
        results = [(doc.id, doc.distance) for doc in answers.matches[0]]
        expected = sorted((distance, str(doc.id)) for doc, distance in self.model.matches(number))
        assert sorted(str(name) for name, _ in results) == sorted(name for _, name in expected)
        assert np.allclose(
            [distance for _, distance in results], [distance for distance, _ in expected], rtol=0, atol=1e-9
        )

    def check_contents(self, store: nk.Store, results: list[StoredDocument]) -> None:
        """Compare the vectors, bit by bit."""
        if results:
            numbers = [doc.content for doc in self.model.documents]
            assert (POOL[numbers] == store.values([doc.id for doc in results])).all()


TestVectorMachine = case_of(VectorMachine, 20)


def near_vectors(count: int, dimension: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return vectors, half of them near an earlier one."""
    rng = np.random.default_rng(seed)
    results = rng.standard_normal((count, dimension))
    for row in range(count // 4, count):
        if rng.random() < 0.6:
            results[row] = results[rng.integers(row)] + rng.random() * 0.3 * rng.standard_normal(dimension)
    return results.astype(np.float32)


@pytest.mark.parametrize("which", sorted(STORES))
def test_any_split_into_batches_gives_one_answer(tmp_path: Path, which: str) -> None:
    """One batch, many batches, restarts and segments give the same results, bit for bit."""
    vectors = near_vectors(400, DIMENSION, 5)
    family, options = STORES[which]
    family.fit(vectors)
    with nk.Store.create(tmp_path / "one", family, **options) as store:
        expected = list(store.check_and_add(vectors).rows())
    assert {"new", "near"} <= {row["status"] for row in expected}
    rng = np.random.default_rng(2)
    store = nk.Store.create(tmp_path / "many", family, max_pending=32, **options)
    results: list[dict[str, Any]] = []
    while len(results) < len(vectors):
        results += store.check_and_add(vectors[len(results) : len(results) + int(rng.integers(1, 50))]).rows()
        if rng.random() < 0.3:
            store.close()
            store = nk.Store.open(tmp_path / "many", max_pending=32)
    assert [str(row) for row in expected] == [str(row) for row in results]
    store.merge()
    store.verify()
    store.close()


LAWS: dict[str, tuple[Callable[[int], nk.families.Family], str, float]] = {
    "hyperplane": (lambda seed: nk.families.Hyperplane(bits=64, seed=seed), "cosine", 0.9),
    "cross_polytope": (lambda seed: nk.families.CrossPolytope(24, rotation="gaussian", seed=seed), "cosine", 0.8),
    "pstable": (lambda seed: nk.families.PStable(hashes=48, width=2.0, seed=seed), "l2", 0.7),
    "pstable of L1": (lambda seed: nk.families.PStable(metric="l1", hashes=64, width=6.0, seed=seed), "l1", 1.5),
    "shift_invariant": (lambda seed: nk.families.ShiftInvariant(bits=64, gamma=0.2, seed=seed), "l2", 0.8),
    "bit_sampling": (lambda seed: nk.families.BitSampling(bits=64, limits=(-9, 9), seed=seed), "l1", 1.5),
}


def pair_at(metric: str, limit: float, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return two vectors at a cosine or a distance."""
    x, y = rng.standard_normal((2, 8))
    if metric == "cosine":
        x /= np.linalg.norm(x)
        y -= (x @ y) * x
        y = limit * x + math.sqrt(1 - limit**2) * y / np.linalg.norm(y)
    else:
        y = x + limit * y / np.linalg.norm(y, 2 if metric == "l2" else 1)
    return np.array([x, y], np.float32)


@pytest.mark.parametrize("which", sorted(LAWS))
def test_a_pair_at_the_limit_has_the_stated_recall(which: str) -> None:
    """Over 1,500 draws of the functions the share is within five standard deviations: failure below 1e-6."""
    draws, rng = 1500, np.random.default_rng(0)
    family, metric, limit = LAWS[which]
    met, stated = 0, 0.0
    for seed in range(draws):
        pair = pair_at(metric, limit, rng)
        created = VectorSettings(family(seed).fit(pair), limit, 0.8)
        assert metric == created.source.metric
        stated = created.expected_recall
        codes = created.source.codes(pair)
        if created.family.kind == "keys":
            met += bool((codes[0] == codes[1]).any())
        else:
            met += np.bitwise_xor(codes[0], codes[1]).tolist()[0].bit_count() <= created.source.shape[0]
    assert 0.8 <= stated < 0.999
    assert abs(met - draws * stated) < 5 * math.sqrt(draws * stated * (1 - stated))


def test_the_radius_of_codes_is_the_smallest_that_reaches_the_recall() -> None:
    """Compared with sums of exact binomial probabilities."""
    for bits, p, recall in [(16, 0.8, 0.9), (64, 0.95, 0.99), (7, 0.5, 0.5), (1, 0.9, 0.9), (128, 0.856, 0.95)]:
        radius, reached = choose_radius(bits, p, recall)
        sums = np.cumsum([math.comb(bits, i) * (1 - p) ** i * p ** (bits - i) for i in range(bits + 1)])
        assert np.isclose(sums[radius], reached)
        assert reached >= recall
        assert radius == 0 or sums[radius - 1] < recall
    assert (0, 1.0) == choose_radius(64, 1.0, 0.95)
    assert (64, 1.0) == choose_radius(64, 0.9, 1.0)


def test_invalid_settings_are_refused(tmp_path: Path) -> None:
    """Unsuitable or unfitted families, limits of the other kind, vectors without a direction."""
    fitted = nk.families.Hyperplane(bits=64, seed=1).fit(POOL)
    wrong: list[tuple[nk.families.Family, dict[str, Any], str]] = [
        (nk.families.ITQ(bits=4).fit(POOL), {"radius": 1.0}, "law"),
        (nk.families.Hyperplane(bits=64, center=True).fit(POOL), {"threshold": 0.9}, "center"),
        (nk.families.Hyperplane(bits=2048).fit(POOL), {"threshold": 0.9}, "bits"),
        (fitted, {}, "threshold"),
        (fitted, {"radius": 0.1}, "threshold"),
        (fitted, {"threshold": 1.5}, "cosine"),
        (fitted, {"threshold": 0.9, "recall": 2}, "recall"),
        (fitted, {"threshold": 0.9, "verify": "none"}, "verify"),
        (nk.families.PStable(hashes=8, width=1.0).fit(POOL), {"threshold": 0.9}, "radius"),
        (nk.families.PStable(hashes=2, width=0.1).fit(POOL), {"radius": 3.0}, "more hashes"),
    ]
    for family, options, words in wrong:
        with pytest.raises(ParameterError, match=words):
            nk.Store.create(tmp_path / "store", family, **options)
    with pytest.raises(NotFittedError, match="fit"):
        nk.Store.create(tmp_path / "store", nk.families.Hyperplane(), threshold=0.9)
    assert not (tmp_path / "store").exists()
    with nk.Store.create(tmp_path / "store", fitted, threshold=0.9) as store:
        with pytest.raises(InputError, match="row 1"):
            store.check_and_add(np.array([POOL[0], np.zeros(DIMENSION)]))
        with pytest.raises(InputError, match="row 1"):
            store.check_and_add(np.array([POOL[0], np.full(DIMENSION, 1e-60)]))
        with pytest.raises(InputError, match="row 0"):
            store.check_and_add(np.full((1, DIMENSION), 1e60))
        with pytest.raises(InputError, match="NaN"):
            store.check_and_add(np.full((1, DIMENSION), np.nan))
        with pytest.raises(MismatchError, match="dimension"):
            store.check_and_add(np.ones((1, DIMENSION + 1)))
        with pytest.raises(ParameterError, match="kind"):
            store.check_and_add(POOL, kind="paths")
        with pytest.raises(MismatchError, match="family"):
            nk.dedup(["a text"], against=store)
        assert 0 == len(store)
        assert [] == store.check_and_add(np.zeros((0, DIMENSION))).status
        answers = store.check_and_add(np.array([[1, 0, -0.0, 0, 0, 0], [1, 0, 0.0, 0, 0, 0], [2, 0, 0, 0, 0, 0]]))
        assert (["new", "exact", "near"], [None, 0, 0]) == (answers.status, answers.ids)
        assert 1.0 == answers.similarities[2]


def test_stats_and_export_of_vectors(tmp_path: Path) -> None:
    """Stats name the family, metric, limit and recall; an export has the stored numbers."""
    family = nk.families.Hyperplane(bits=64, seed=1).fit(POOL)
    with nk.Store.create(tmp_path / "store", family, threshold=0.9) as store:
        about = store.stats().settings
        assert (family.digest, "cosine", DIMENSION) == (about["family_digest"], about["metric"], about["dimension"])
        assert 0.95 <= about["expected_recall"] < 1
        assert isinstance(store.settings, VectorSettings)
        assert about["code_radius"] == store.settings.source.shape[0]
        names = [f"v{i}" for i in range(len(POOL))]
        store.add(POOL, names)
        store.export(tmp_path / "out.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert names == [line["id"] for line in lines]
        assert (POOL == np.array([line["vector"] for line in lines], np.float32)).all()
        store.backup(tmp_path / "copy")
    with nk.Store.open(tmp_path / "copy") as copy:
        copy.verify()
        assert ["known"] * len(POOL) == copy.check_and_add(POOL, names).status


def make(path: Path, family: nk.families.Family, **options: Any) -> list[str]:
    """Create a store with a segment and pending vectors; return its answers."""
    with nk.Store.create(path, family.fit(POOL), **options) as store:
        store.check_and_add(POOL[:20], [f"v{i}" for i in range(20)], columns={"n": list(range(20))})
        store.merge()
        store.check_and_add(POOL[20:], [f"v{i}" for i in range(20, len(POOL))])
        store.remove(["v3"])
    return answers(path)


def answers(path: Path) -> list[str]:
    """Return everything that the store answers."""
    with nk.Store.open(path, "r") as store:
        return [str(row) for row in store.check(POOL + np.float32(0.01), k=2).rows()]


@pytest.mark.parametrize("which", ["codes", "keys"])
def test_damaged_files_are_detected_and_repaired(path: Path, which: str) -> None:
    """Any flipped bit of index or hash functions is an error that names the file; repair rebuilds both."""
    family, options = STORES[which]
    expected = make(path, family, **options)
    for file in (path / "family.nks", next((path / "segments").glob("*.index.nks"))):
        content = file.read_bytes()
        for at in range(0, len(content), 61):
            file.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
            try:
                results: object = answers(path)
            except CorruptStoreError as error:
                results = str(error)
            assert results == expected or file.name in str(results)
        file.write_bytes(content[: len(content) // 2])
        assert [str(file)] == [finding.place for finding in nk.Store.repair(path)]
        assert expected == answers(path)
    with nk.Store.open(path) as store:
        flip(path / "family.nks", -1)
        with pytest.raises(CorruptStoreError, match=r"family\.nks"):
            store.verify()
    (path / "family.nks").unlink()
    with pytest.raises(CorruptStoreError, match=r"family\.nks"):
        nk.Store.open(path)
    assert 1 == len(nk.Store.repair(path))
    assert expected == answers(path)


def test_learned_functions_are_not_repaired_and_others_are_refused(path: Path) -> None:
    """A width learned from vectors cannot be rebuilt; functions of another seed have another digest."""
    make(path, nk.families.PStable(hashes=64, seed=3), radius=0.5, recall=0.5)
    content = (path / "family.nks").read_bytes()
    nk.families.PStable(hashes=64, seed=4).fit(POOL).save(path / "family.nks")
    with pytest.raises(CorruptStoreError, match="digest"):
        nk.Store.open(path)
    with pytest.raises(CorruptStoreError, match="digest"):
        nk.Store.repair(path)
    (path / "family.nks").write_bytes(content)
    assert [] == nk.Store.repair(path)


def test_codes_do_not_depend_on_the_batch() -> None:
    """A source caches only the codes of the last batch."""
    family = nk.families.Hyperplane(bits=100, seed=1).fit(POOL)
    source = VectorSource(family, "cosine", 0.9, (3,))
    together = source.codes(POOL)
    assert together is source.codes(POOL)
    assert (together == np.concatenate([source.codes(POOL[i : i + 1]) for i in range(len(POOL))])).all()


def test_a_store_of_version_1_opens(tmp_path: Path) -> None:
    """A committed store answers as when it was written, and accepts new documents."""
    shutil.copytree(FIXTURE, tmp_path / "store")
    with nk.Store.open(tmp_path / "store") as store:
        store.verify()
        assert 29 == len(store)
        assert {"n": 5} == store.get(["v5"])[0].columns  # type: ignore[union-attr]
        assert (POOL[[5, 25]] == store.values(["v5", "v25"])).all()
        results = [doc.status for batch in store.iter_documents() for doc in batch]
        assert ["new", "near", "near"] == results[:3]
        # The copy of a new vector, and the copy of one near it.
        assert ["exact", "near"] == results[-2:]
        assert ["near"] == store.check(POOL[[1]] * np.float32(2)).status
        store.check_and_add(POOL[:1] * np.float32(-1), ["x"])
        store.merge()
        store.verify()


if __name__ == "__main__":
    make(FIXTURE, nk.families.Hyperplane(bits=64, seed=3), threshold=0.9)
    for left in (".segments.lock", "log.sqlite-shm", "log.sqlite-wal"):
        (FIXTURE / left).unlink(missing_ok=True)
