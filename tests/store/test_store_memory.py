"""A store respects its memory budget, and its answers do not depend on it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from test_store import texts_of

import nearkin as nk
from nearkin._core import StoreSegment, content_hashes
from nearkin.errors import ParameterError
from nearkin.store import compaction
from nearkin.store.log import SegmentEntry
from nearkin.store.memory import Budget, spill_texts


def test_a_budget_is_divided() -> None:
    """Half for pending documents, an eighth each for features and for texts."""
    budget = Budget.of(16 << 20)
    assert (2 << 20, 2 << 20) == (budget.cache, budget.texts)
    assert (8 << 20) // 700 == budget.max_documents(100)
    assert (8 << 20) // 700 // 4 == budget.max_pending(1 << 16, 100)
    assert 100 == budget.max_pending(100, 100)
    large = Budget.of(1 << 40)
    assert (64 << 20, 1 << 16) == (large.cache, large.max_pending(1 << 16, 100))
    assert 1 << 20 == Budget.of(1).bytes
    assert 16 == Budget.of(1).max_pending(1 << 16, 1 << 20)


@pytest.mark.parametrize("memory", [0, -1, 0.0, 1.5, "1G", True])
def test_invalid_budgets_are_refused(tmp_path: Path, memory: float) -> None:
    """The error names the allowed values."""
    nk.Store.create(tmp_path / "store").close()
    with pytest.raises(ParameterError, match="share of memory"):
        nk.Store.open(tmp_path / "store", memory=memory)


def test_a_small_budget_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small budget splits segments and spills texts; the answers equal those of the default."""
    texts = texts_of(900, 4)
    names = [f"d{number}" for number in range(len(texts))]
    monkeypatch.setattr(Budget, "texts", property(lambda self: 1 << 14 if self.bytes == 1 << 20 else 1 << 30))
    results = []
    for memory in (1 << 20, None):
        with nk.Store.create(tmp_path / str(memory), max_pending=64, memory=memory) as store:
            answers = [store.check_and_add(texts[at : at + 70], names[at : at + 70]) for at in range(0, 900, 70)]
            store.remove(names[::50])
            store.merge()
            assert 1 == store.stats().segments
            store.verify()
            left = [doc.id for batch in store.iter_documents() for doc in batch]
            results.append(([list(map(repr, doc.rows())) for doc in answers], left, store.texts(left)))
            segments = sorted((tmp_path / str(memory) / "segments").iterdir())
            assert ["documents", "index"] == [path.name.split(".")[1] for path in segments]
    assert results[0] == results[1]
    one, two = (next((tmp_path / name / "segments").glob("*.documents.nks")) for name in ("1048576", "None"))
    # Equal documents give equal files, even if texts were spilled; only the headers differ.
    files = [StoreSegment.open(str(path)) for path in (one, two)]
    assert files[0].dictionary() == files[1].dictionary()
    assert files[0].sizes() == files[1].sizes()


def test_a_merge_reads_a_bounded_part_of_the_texts(tmp_path: Path) -> None:
    """Python holds a few of 40 MB of texts at a time."""
    rng = np.random.default_rng(0)
    texts = [rng.integers(97, 123, 40_000, dtype=np.uint8).tobytes().decode() for _ in range(1000)]
    with nk.Store.create(tmp_path / "store", text="keep", memory=16 << 20, max_pending=16) as store:
        for at in range(0, 1000, 100):
            store.add(texts[at : at + 100])
        del texts
        assert store._compactor is not None
        store._compactor.join()
        tracemalloc.start()
        store.merge()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 12 << 20
        assert 1000 == len(store)
        store.verify()


@given(st.lists(st.lists(st.none() | st.text(max_size=20), max_size=6), max_size=5))
@settings(deadline=None)
def test_spilled_texts_come_back_as_an_arrow_array(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[str | None]]
) -> None:
    """The kernels read the array; no file is left."""
    folder = tmp_path_factory.mktemp("spill")
    texts = [text for batch in batches for text in batch]
    with spill_texts(folder, batches) as array:
        assert texts == array.to_pylist()
        assert content_hashes(texts)[0].tolist() == content_hashes(array)[0].tolist()
    del array
    assert [] == list(folder.iterdir())


def test_a_tier_beyond_the_budget_is_not_merged() -> None:
    """A tier that exceeds the budget is not merged."""
    entries = [SegmentEntry(str(number), number, number, 100, 1) for number in range(4)]
    assert entries == compaction.full_tier(entries)
    assert entries == compaction.full_tier(entries, 400)
    assert [] == compaction.full_tier(entries, 399)
