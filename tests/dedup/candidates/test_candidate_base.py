"""nearkin.dedup.candidates.base: listed batches and candidate lists, against their definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference
from nearkin.dedup.candidates import CandidateLists, CandidatePairs, ListedBatch, OrderedValues
from nearkin.dedup.candidates.base import list_offsets

PAIRS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] != pair[1]),
    unique_by=lambda pair: (min(pair), max(pair)),
)
LISTS = st.lists(st.lists(st.integers(0, 30), unique=True).map(sorted), max_size=6)


@given(pairs=PAIRS, ties=st.booleans())
def test_listed_batches_absorb_in_order(pairs: list[tuple[int, int]], ties: bool) -> None:
    """Every document that has not been absorbed absorbs its later candidates, with the similarity of the pair."""
    linked = {(min(pair), max(pair)): (1.0 if ties else (7 * at) % 11 / 11) for at, pair in enumerate(pairs)}
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    similarity = np.array([linked[min(pair), max(pair)] for pair in pairs], np.float64)
    batch = ListedBatch.of(CandidatePairs(left, right, similarity))
    close = sorted({end for pair in pairs for end in pair})
    assert close == batch.close.tolist()
    by, actual, verified, candidates, skipped = batch.absorb(None, 100 + batch.close, 0.5, 10_000)
    assert 0 == skipped
    expected = reference.absorb(close, lambda a, b: (a, b) in linked)
    assert [-1 if expected[a] == a else close.index(expected[a]) for a in close] == by.tolist()
    assert [linked[expected[a], a] for a in close if expected[a] != a] == actual[by >= 0].tolist()
    assert np.isnan(actual[by < 0]).all()
    assert 0 == verified
    assert (by >= 0).sum() <= candidates <= len(pairs)


def test_a_batch_without_similarities_returns_nan() -> None:
    """Absorbed documents have similarity NaN as well."""
    batch = ListedBatch.of(CandidatePairs(np.array([3]), np.array([1]), skipped=7))
    by, similarity, _, _, skipped = batch.absorb(None, np.array([1, 3]), 0.5, 10_000)
    assert 7 == skipped
    assert [-1, 0] == by.tolist()
    assert np.isnan(similarity).all()


def lists(rows: list[list[int]], similarity: bool) -> CandidateLists:
    positions = np.array([position for row in rows for position in row], np.int64)
    return CandidateLists(
        list_offsets(np.array([len(row) for row in rows], np.int64)), positions, positions / 100 if similarity else None
    )


@given(rows=st.lists(st.tuples(st.lists(st.integers(0, 9)), st.lists(st.integers(10, 20)))), similarity=st.booleans())
def test_followed_by_concatenates_the_lists_of_each_document(
    rows: list[tuple[list[int], list[int]]], similarity: bool
) -> None:
    """Each candidate keeps its similarity."""
    both = lists([row[0] for row in rows], similarity).followed_by(lists([row[1] for row in rows], similarity))
    joined = lists([row[0] + row[1] for row in rows], similarity)
    assert joined.offsets.tolist() == both.offsets.tolist()
    assert joined.ordinals.tolist() == both.ordinals.tolist()
    assert (joined.similarity is None) == (both.similarity is None)
    if both.similarity is not None and joined.similarity is not None:
        assert joined.similarity.tolist() == both.similarity.tolist()


@given(LISTS)
def test_ordinals_are_sorted_within_each_document(rows: list[list[int]]) -> None:
    """The order of the input has no effect."""
    turned = lists([row[::-1] for row in rows], False)
    expected = [position for row in rows for position in row]
    for built in (
        CandidateLists.of_hits(turned.offsets, turned.ordinals, turned.ordinals / 100, 3),
        CandidateLists.of_pairs(turned.owners()[::-1], turned.ordinals[::-1], len(rows)),
    ):
        assert expected == built.ordinals.tolist()
        assert turned.offsets.tolist() == built.offsets.tolist()
        assert [at for at, row in enumerate(rows) for _ in row] == built.owners().tolist()
        assert built.similarity is None or (built.skipped, expected) == (3, (100 * built.similarity).round().tolist())


@given(st.lists(st.integers(0, 9), max_size=8), st.data())
def test_ordered_values_are_those_of_their_rows(rows: list[int], data: st.DataObject) -> None:
    """Ordinals and slices return copies; fields of records work the same."""
    values = np.zeros(10, [("first", np.uint64, (2,)), ("second", np.uint32)])
    values["first"], values["second"] = np.arange(20).reshape(10, 2), np.arange(10)
    placed = OrderedValues(values, np.array(rows, np.int64))
    full = values[np.array(rows, np.int64)]
    positions = np.array(data.draw(st.lists(st.sampled_from(range(len(rows))))) if rows else [], np.int64)
    part = data.draw(st.slices(len(rows)))
    assert (len(full), full.shape) == (len(placed), placed.shape)
    assert (full[positions].tobytes(), full[part].tobytes()) == (placed[positions].tobytes(), placed[part].tobytes())
    for name in ("first", "second"):
        field = placed.field(name)
        assert (full[name].shape, full[name][positions].tolist()) == (field.shape, field[positions].tolist())
    assert placed is OrderedValues.of(placed)
    assert full.tobytes() == OrderedValues.of(full)[:].tobytes()
