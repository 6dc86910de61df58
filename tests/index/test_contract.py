"""The contract of every index: each operation compared with a plain model, for every kind of index."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
from nearkin.errors import InputError, ParameterError
from nearkin.index.base import Index
from nearkin.index.ids import Id
from strategies import random_fingerprints

Kind = Literal["row numbers", "integers", "strings"]
KINDS: tuple[Kind, ...] = ("row numbers", "integers", "strings")


@dataclass(frozen=True)
class Case:
    """An index over a few distinct values, which are identified by their positions."""

    name: str
    make: Callable[[], Any]
    values: Any
    """The values, by place."""
    limit: Any
    apart: Callable[[int, int], float | None]
    """The distance of two places, None where `nearest` must not find one for the other."""
    within: Callable[[int, int], bool]
    """Whether `limit` lets the two be found."""
    measure: str = "distances"
    before: Id | None = None
    """The id that the index had and lost before the test begins: an index of vectors is made of one."""

    def batch(self, positions: Sequence[int]) -> Any:
        """Return the values at the positions."""
        return [self.values[i] for i in positions] if isinstance(self.values, list) else self.values[list(positions)]


COUNT = 9
"""Different values of a case."""


def hamming(bits: int, method: str) -> Case:
    """Return the case of fingerprints, which are searched exactly."""
    rng = np.random.default_rng(bits)
    fps = random_fingerprints(rng, bits, 3)
    fps = np.concatenate([fps, random_fingerprints(rng, bits, COUNT - 3, near=fps)])
    distance = nk.hamming(np.repeat(fps, COUNT, axis=0), np.tile(fps, (COUNT, *[1] * (fps.ndim - 1))))
    table = np.asarray(distance).reshape(COUNT, COUNT)
    return Case(
        f"hamming-{bits}-{method}",
        lambda: nk.HammingIndex(bits, method),  # type: ignore[arg-type]  # One of METHODS.
        fps,
        min(bits, 3),
        lambda a, b: int(table[a, b]),
        lambda a, b: bool(table[a, b] <= min(bits, 3)),
    )


def bands(value_bits: Literal[32, 64]) -> Case:
    """Return the case of signatures that share a band."""
    rng = np.random.default_rng(value_bits)
    signatures = rng.integers(0, 2, (COUNT, 8)).astype(np.uint32 if value_bits == 32 else np.uint64)
    equal = signatures[:, None, :] == signatures[None, :, :]
    meet = equal.reshape(COUNT, COUNT, 4, 2).all(axis=3).any(axis=2)
    return Case(
        f"bands-{value_bits}",
        lambda: nk.BandIndex(8, num_bands=4, num_rows=2, value_bits=value_bits),
        signatures,
        0.75,
        lambda a, b: int((~equal[a, b]).sum()) if meet[a, b] else None,
        lambda a, b: bool(meet[a, b] and equal[a, b].mean() >= 0.75),
    )


def digests() -> Case:
    """Return the case of fuzzy digests, which are searched exactly."""
    rng = random.Random(1)
    stock = [rng.randbytes(300) for _ in range(8)]
    built = [nk.ssdeep.hash(b"".join(rng.choices(stock, k=12))) for _ in range(COUNT - 2)] + ["3::", "3:E:E"]
    scores = nk.ssdeep.matrix(built)
    return Case(
        "digests",
        nk.DigestIndex,
        built,
        40,
        lambda a, b: -int(scores[a, b]) if scores[a, b] else None,
        lambda a, b: bool(scores[a, b] >= 40),
        measure="scores",
    )


def vectors(dtype: str, found_by: Literal["buckets", "codes", "partitions"] = "buckets") -> Case:
    """Return a case with such wide hash functions, or low bounds, that all rows are candidates and results exact."""
    points = (
        np.random.default_rng(2).integers(-4, 5, (COUNT, 3)).astype(np.float32 if dtype == "float32" else np.float64)
    )
    given_points: Any = points
    if dtype == "sparse":
        from scipy.sparse import csr_array

        given_points = csr_array(points)
    table = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))

    def make() -> nk.LSHIndex:
        if found_by == "buckets":
            return nk.LSHIndex(nk.families.PStable(width=1e9, seed=1), 1, hashes_per_table=1)
        family = nk.families.Hyperplane(None, orthogonal="hadamard", seed=1)
        return nk.LSHIndex(family, filter=found_by, rank="estimate", metric="l2", recall=0.9999999)

    return Case(
        f"vectors-{dtype}-{found_by}",
        make,
        given_points,
        4.0,
        lambda a, b: float(table[a, b]),
        lambda a, b: bool(table[a, b] <= 4.0),
    )


METHODS = ("auto", "scan", "bits", "blocks", "tables", "multi")
CASES = [
    *(hamming(64, method) for method in METHODS),
    *(hamming(bits, "auto") for bits in (5, 65, 128, 1024)),
    bands(32),
    bands(64),
    digests(),
    *(vectors(dtype) for dtype in ("float32", "float64", "sparse")),
    vectors("float32", "codes"),
    vectors("float32", "partitions"),
]


@dataclass
class Model:
    """The expected content of an index: positions by id, in order of addition."""

    kind: Kind
    places: dict[Id, int]
    total: int = 0

    def named(self, key: int) -> Id:
        """Return the id for a small number."""
        return f"é{key}" if self.kind == "strings" else 7 * (key % 5) - key

    def chosen(self, keys: list[int], existing: str) -> list[int] | None:
        """Return the members of a batch that should be added, or None if the batch should be rejected."""
        ids = [self.named(key) for key in keys]
        if existing == "error":
            fine = len(set(ids)) == len(ids) and not any(i in self.places for i in ids)
            return list(range(len(ids))) if fine else None
        if existing == "update":
            return sorted({i: at for at, i in enumerate(ids)}.values())
        first = {i: at for at, i in reversed(list(enumerate(ids)))}
        return sorted(at for i, at in first.items() if i not in self.places)


def start(case: Case, kind: Kind) -> tuple[Any, Model]:
    """Return an empty index and its model. An index of vectors is fitted to one vector, which is then removed."""
    index, model = case.make(), Model(kind, {})
    if isinstance(index, nk.LSHIndex):
        first: Any = None if kind == "row numbers" else ["~"] if kind == "strings" else [1 << 40]
        index.fit(case.batch([0]), first)
        index.remove([0] if first is None else first)
        model.total = 1
    return index, model


def check(case: Case, index: Any, model: Model) -> None:
    """Check every query against brute force."""
    order = list(model.places)
    assert len(order) == len(index)
    assert order == [i for ids in index.iter_ids(batch_size=2) for i in ids.tolist()]
    assert all(i in index for i in order)
    assert "nothing" not in index
    assert None not in index
    assert index.nbytes >= 0
    if model.total:
        assert model.kind == index.explain()["ids"]

    def ranked(query: int, limited: bool) -> list[tuple[float, Id]]:
        apart = [
            (case.apart(query, position), i)
            for i, position in model.places.items()
            if not limited or case.within(query, position)
        ]
        return sorted((distance, i) for distance, i in apart if distance is not None)

    queries = case.batch(range(COUNT))
    sign = -1 if case.measure == "scores" else 1
    for hits, limited, limit in (
        (index.search(queries, case.limit), True, None),
        (index.nearest(queries, 3), False, 3),
    ):
        assert COUNT == len(hits)
        values = sign * getattr(hits, case.measure).astype(np.float64)
        for query in range(COUNT):
            part = slice(int(hits.offsets[query]), int(hits.offsets[query + 1]))
            expected = ranked(query, limited)[:limit]
            assert [i for _, i in expected] == hits.ids[part].tolist()
            assert np.allclose([distance for distance, _ in expected], values[part], rtol=1e-6)
    near = {a: {b for b in order if a != b and case.within(model.places[a], model.places[b])} for a in order}
    pairs = index.pairs(case.limit)
    assert sorted((a, b) for a in order for b in near[a] if a < b) == list(  # type: ignore[operator]  # Of one kind.
        zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    )
    for linkage, define in (("centred", reference.absorb), ("connected", reference.components)):
        expected_clusters = reference.clusters(define, order, lambda a, b: b in near[a])
        assert expected_clusters == list(index.clusters(case.limit, linkage=linkage))


KEYS = st.integers(0, 11)
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("add"),
            st.lists(st.tuples(KEYS, st.integers(0, COUNT - 1)), max_size=8),
            st.sampled_from(["error", "update", "skip"]),
        ),
        st.tuples(st.just("remove"), st.lists(KEYS, max_size=6), st.booleans()),
        st.tuples(st.just("reopen"), st.none(), st.none()),
        st.tuples(st.just("copy"), st.sampled_from(["pickle", "copy", "deepcopy"]), st.none()),
    ),
    max_size=7,
)


def add(case: Case, index: Any, model: Model, batch: list[tuple[int, int]], existing: str) -> None:
    """Add to both; a rejected batch must change neither."""
    values = case.batch([position for _, position in batch])
    if model.kind == "row numbers":
        assert len(batch) == index.add(None, values)
        model.places |= {model.total + at: position for at, (_, position) in enumerate(batch)}
        model.total += len(batch)
        return
    ids = [model.named(key) for key, _ in batch]
    chosen = model.chosen([key for key, _ in batch], existing)
    if chosen is None:
        with pytest.raises(ParameterError, match="ids="):
            index.add(ids, values, existing=existing)
        return
    assert len(chosen) == index.add(ids, values, existing=existing)
    for at in chosen:
        model.places.pop(ids[at], None)
        model.places[ids[at]] = batch[at][1]
    model.total += len(chosen)


def remove(index: Any, model: Model, keys: list[int], missing_ok: bool) -> None:
    """Remove from both; a rejected call must change neither."""
    ids: list[Id] = list(keys) if model.kind == "row numbers" else [model.named(key) for key in keys]
    there = {i for i in ids if i in model.places}
    if len(there) < len(set(ids)) and not missing_ok:
        with pytest.raises(ParameterError, match="not there"):
            index.remove(ids)
        return
    assert len(there) == index.remove(ids, missing_ok=missing_ok)
    for i in there:
        del model.places[i]


def copied(index: Any, how: str) -> Any:
    """Return a copy created in one of the three ways."""
    if how == "pickle":
        return pickle.loads(pickle.dumps(index))  # noqa: S301  # It is our own.
    return copy.copy(index) if how == "copy" else copy.deepcopy(index)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_index_is_what_its_model_is(case: Case, kind: Kind) -> None:
    """Additions, updates, removals, rejected calls, files and copies agree with the model, also after changes."""

    @settings(max_examples=12, deadline=None)
    @given(steps=STEPS)
    def run(steps: list[tuple[str, Any, Any]]) -> None:
        index, model = start(case, kind)
        left: list[tuple[Any, Model]] = []
        with tempfile.TemporaryDirectory() as folder:
            for number, (step, what, how) in enumerate(steps):
                if step == "add":
                    add(case, index, model, what, how)
                elif step == "remove":
                    remove(index, model, what, how)
                elif step == "copy":
                    left.append((index, copy.deepcopy(model)))
                    index = copied(index, what)
                else:
                    path = Path(folder, str(number))
                    index.save(path)
                    before, index = index, type(index).open(path)
                    index.verify()
                    check(case, before, model)
                check(case, index, model)
            for earlier, stored in left:
                check(case, earlier, stored)

    run()


def told(index: Any, limit: Any, queries: Any) -> list[Any]:
    """Return every answer of the index."""
    hits, nearest, pairs = index.search(queries, limit), index.nearest(queries, 3), index.pairs(limit)
    tables = [first.to_arrow().to_pydict() for first in (hits, nearest, pairs)]
    ids = [i for ids in index.iter_ids() for i in ids.tolist()]
    return [*tables, list(index.clusters(limit)), ids, repr(index)]


@pytest.fixture(scope="module")
def another_process() -> Iterator[ProcessPoolExecutor]:
    """Return a pool of one process with its own memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def changed(index: Any, limit: Any, queries: Any) -> tuple[list[Any], Any]:
    """Return the answers of an index, and the index without its first id."""
    before = told(index, limit, queries)
    index.remove(next(index.iter_ids(batch_size=1)))
    return before, index


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_index_goes_to_another_process_and_back(
    case: Case, kind: Kind, another_process: ProcessPoolExecutor
) -> None:
    """An index with removed rows gives the same answers there and returns with its changes."""
    index, model = start(case, kind)
    add(case, index, model, [(key, key % COUNT) for key in range(8)], "error")
    remove(index, model, [3], missing_ok=False)
    queries = case.batch(range(COUNT))
    before = told(index, case.limit, queries)
    there, back = another_process.submit(changed, index, case.limit, queries).result(timeout=300)
    assert before == there
    assert before == told(index, case.limit, queries)
    check(case, index, model)
    del model.places[next(iter(model.places))]
    check(case, back, model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, COUNT - 1, COUNT, 100])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_progress_changes_no_answer(case: Case, size: int, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries searched in batches have the same answers as one call; the last event reports completion."""
    monkeypatch.setattr("nearkin.index.results._BATCH", size)
    index, model = start(case, kind)
    events: list[tuple[str, int, int | None]] = []

    def report(*event: Any) -> None:
        events.append(event)

    for keys in ([], list(range(8))):
        add(case, index, model, [(key, key % COUNT) for key in keys], "error")
        for positions in (range(COUNT), range(0)):
            queries = case.batch(positions)
            for new_queries, progressed in (
                (index.search(queries, case.limit), index.search(queries, case.limit, progress=report)),
                (index.nearest(queries, 3), index.nearest(queries, 3, progress=report)),
            ):
                assert type(new_queries) is type(progressed)
                for name, value in vars(new_queries).items():
                    other = getattr(progressed, name)
                    assert type(value) is type(other)
                    assert np.array_equal(value, other)
                    assert getattr(value, "dtype", None) == getattr(other, "dtype", None)
                assert ("search", len(positions), len(positions)) == events[-1]
        if isinstance(index, nk.LSHIndex):
            for call in (index.pairs, index.clusters):
                assert call(case.limit).to_arrow() == call(case.limit, progress=report).to_arrow()
                assert ("search", len(index), len(index)) == events[-1]
        if isinstance(index, nk.HammingIndex):
            for stage in ("pairs", "clusters"):
                call = getattr(index, stage)
                assert call(case.limit).to_arrow() == call(case.limit, progress=report).to_arrow()
                assert [(stage, 0, len(index)), (stage, len(index), len(index))] == events[-2:]
    with pytest.raises(ParameterError, match="progress='yes'"):
        index.search(case.batch([0]), case.limit, progress="yes")


def test_progress_keeps_limits_and_the_numbers_of_bad_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truncated queries, skipped look-ups and the row of a bad digest are reported as in one call."""
    monkeypatch.setattr("nearkin.index.results._BATCH", 2)
    index = nk.HammingIndex(bits=8)
    index.add(None, [0, 0, 1, 3])
    hits = index.search([0, 255, 1, 3, 0], 1, limit=1, progress=lambda *event: None)
    assert hits.truncated is not None
    assert [True, False, True, True, True] == hits.truncated.tolist()
    digests = nk.DigestIndex()
    digest = "96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U"
    digests.add(None, [digest] * 5)
    plain = digests.search([digest] * 5, skip_hubs=2)
    assert plain.skipped > 0
    assert plain.skipped == digests.search(iter([digest] * 5), skip_hubs=2, progress=lambda *event: None).skipped
    with pytest.raises(InputError, match=r"row 3|digest 3"):
        digests.search([digest] * 3 + ["no digest"], progress=lambda *event: None)


@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy"])
def test_copies_have_the_attributes_of_the_first(how: str) -> None:
    """Copies keep attributes set by the user, and parameters that are not used yet."""
    named = nk.HammingIndex(32, "blocks", radius=2, memory_limit=1 << 20)
    vars(named)["title"] = "mine"
    bands = nk.BandIndex(threshold=0.7, recipe="word:1|binary|xxh3|minhash:64")
    digests = nk.DigestIndex(recipe="ssdeep:elimseq", strict=False)
    vectors = nk.LSHIndex(nk.families.Hyperplane(64), num_tables=3)
    for index in (named, bands, digests, vectors):
        built = copied(index, how)
        assert type(index) is type(built)
        assert {**vars(index), "_core": None, "params": None} == {**vars(built), "_core": None, "params": None}
        assert repr(index) == repr(built)
    assert "xxh3" in str(copied(nk.HammingIndex(recipe="char:4|count|xxh3|simhash:64"), how).recipe)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_class_has_every_member(case: Case) -> None:
    """The Protocol holds at run time as well as for the type checker."""
    index, _ = start(case, "integers")
    assert isinstance(index, Index)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_batch_of_ids_has_a_size(case: Case) -> None:
    """Any size from 1 is accepted, the default returns everything, and smaller sizes are rejected."""
    index, model = start(case, "integers")
    add(case, index, model, [(key, 0) for key in range(10)], "error")
    assert [list(model.places)] == [ids.tolist() for ids in index.iter_ids()]
    assert [3, 3, 3, 1] == [len(ids) for ids in index.iter_ids(batch_size=3)]
    with pytest.raises(ParameterError, match="batch_size=0"):
        index.iter_ids(batch_size=0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_of_another_kind_is_refused(case: Case, tmp_path: Path) -> None:
    """Each index opens only its own files."""
    index, _ = start(case, "integers")
    index.save(tmp_path / "index")
    for other in (nk.HammingIndex, nk.BandIndex, nk.DigestIndex, nk.LSHIndex):
        if other is not type(index):
            with pytest.raises(InputError, match=r"is an? .*; open it with nearkin\."):
                other.open(tmp_path / "index")
