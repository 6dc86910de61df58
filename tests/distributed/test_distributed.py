"""Functions that engines run, without an engine: compared with brute force and definitions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin._core import content_hashes, first_equal_keys, soundness
from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.keep import BEST, column_key, keep_order, parse_keep
from nearkin.dedup.verify import TextMeasure
from nearkin.distributed import decision, documents, frames, links, pairs
from nearkin.distributed.documents import NUMBER, pack_values, unpack_values, value_dtype
from nearkin.distributed.links import Blocks, absorb, components
from nearkin.distributed.pairs import MEMBER_COLUMNS, NONE
from nearkin.errors import InputError
from nearkin.io import Column
from nearkin.progress import ignore_progress

MINHASH = nk.Recipe.of(None).with_family("minhash")


def read_rows(batches: Iterable[pa.RecordBatch]) -> dict[str, list[Any]]:
    """Return all rows, by column."""
    stored = list(batches)
    return pa.Table.from_batches(stored).to_pydict() if stored else {"kind": [], "left": [], "right": []}


def read_pairs(batches: Iterable[pa.RecordBatch]) -> set[tuple[int, int]]:
    """Return the pairs among rows of units."""
    rows = read_rows(batches)
    return {
        (a, b) for kind, a, b in zip(*(rows[n] for n in ("kind", "left", "right")), strict=True) if kind == pairs.PAIR
    }


def pack_rows(units: Any, numbers: Any, bits: Any = None) -> Iterator[pa.RecordBatch]:
    """Yield parcels of one part, with a row for each document."""
    words = np.zeros((len(units), 0), np.uint64) if bits is None else bits
    return pairs.pack_parcels(units, np.arange(len(units)), numbers, words, 1)


def make_fingerprints(count: int, bits: int, seed: int) -> np.ndarray[Any, Any]:
    """Return fingerprints; some are near others."""
    rng = random.Random(seed)
    built: list[int] = []
    for _ in range(count):
        new = rng.getrandbits(bits)
        if built and rng.random() < 0.6:
            new = rng.choice(built)
            for _ in range(rng.randrange(6)):
                new ^= 1 << rng.randrange(bits)
        built.append(new)
    words = (bits + 63) // 64
    return np.array([[value >> 64 * word & (1 << 64) - 1 for word in range(words)] for value in built], np.uint64)


def near_pairs(values: np.ndarray[Any, Any], numbers: list[int], radius: int) -> set[tuple[int, int]]:
    """Return all pairs within the radius whose later document is new, by definition."""
    actual = set()
    for item, other in combinations(range(len(numbers)), 2):
        a, b = sorted((numbers[item], numbers[other]))
        distance = sum(
            int(x ^ y).bit_count() for x, y in zip(values[item].tolist(), values[other].tolist(), strict=True)
        )
        if distance <= radius and b >= 0:
            actual.add((a, b))
    return actual


def flag_documents(values: np.ndarray[Any, Any], numbers: list[int]) -> Iterator[pa.RecordBatch]:
    """Yield documents in two batches that are queries and indexed."""
    for chunk in (slice(0, len(numbers) // 3), slice(len(numbers) // 3, None)):
        n = len(numbers[chunk])
        columns = [
            pa.array(numbers[chunk], pa.int64()),
            pack_values(values[chunk]),
            pa.array([True] * n),
            pa.array([True] * n),
        ]
        yield pa.RecordBatch.from_arrays(columns, ["number", "values", "is_query", "is_indexed"])


@given(
    bits=st.sampled_from([16, 64, 100, 128]),
    radius=st.integers(0, 9),
    agree=st.integers(1, 3),
    older=st.booleans(),
    seed=st.integers(0, 99),
)
def test_tables_find_all_pairs_within_the_radius(bits: int, radius: int, agree: int, older: bool, seed: int) -> None:
    if math.comb(radius + agree, agree) > 60:
        radius, agree = min(radius, 5), 1
    values = make_fingerprints(40, bits, seed)
    numbers = random.Random(seed).sample(range(-20 if older else 0, 60), 40)
    kind = np.dtype((np.uint64, values.shape[1:]))
    tables = pairs.Tables(bits, radius + agree, agree, kind)
    assert math.comb(radius + agree, agree) == len(tables.masks())
    close = pairs.WithinRadius(bits, radius)
    actual = read_pairs(pairs.ProximityPairs(close, 0).rows(tables.rows(flag_documents(values, numbers))))
    assert near_pairs(values, numbers, radius) == actual


@given(radius=st.integers(0, 20), cuts=st.lists(st.integers(0, 59), max_size=4, unique=True), seed=st.integers(0, 99))
def test_slices_find_all_pairs_within_the_radius(radius: int, cuts: list[int], seed: int) -> None:
    values, numbers = make_fingerprints(40, 100, seed), random.Random(seed).sample(range(-10, 60), 40)
    kind = np.dtype((np.uint64, (2,)))
    slices = pairs.Slices(tuple(sorted(cuts)), kind)
    close = pairs.WithinRadius(100, radius)
    actual = read_pairs(
        pairs.ProximityPairs(close, 0, max_piece=7, max_queries=5).rows(slices.rows(flag_documents(values, numbers)))
    )
    assert near_pairs(values, numbers, radius) == actual


def test_a_document_is_paired_with_the_first_of_its_unit() -> None:
    """The number is limited, in keep order; a document with more is listed with the last one it was paired with."""
    values, numbers = np.zeros((100, 1), np.uint64), list(range(100))
    slices = pairs.Slices((), np.dtype((np.uint64, (1,))))
    close = pairs.WithinRadius(64, 3)
    batches = pairs.ProximityPairs(close, 4, max_piece=9).rows(slices.rows(flag_documents(values, numbers)))
    rows = pa.Table.from_batches(list(batches)).to_pylist()
    actual = [(row["right"], row["left"]) for row in rows if row["kind"] == pairs.PAIR]
    assert [(b, a) for b in range(100) for a in range(min(b, 4))] == sorted(actual)
    members = {row["right"]: row["last"] for row in rows if row["kind"] == pairs.MEMBER}
    assert dict.fromkeys(range(5, 100), 3) == members


def test_tables_are_chosen_if_they_cost_less() -> None:
    assert pairs.choose_tables(128, 30, 10**9) is None
    assert pairs.choose_tables(64, 3, 10**9) == (5, 2)
    blocks, agree = pairs.choose_tables(128, 8, 10**8) or (0, 0)
    assert 8 + agree == blocks
    cost = pairs.seconds_by_tables(128, blocks, agree, 10**8)
    assert cost < pairs.seconds_by_slices(128, 10**8)
    # There can't be more blocks than bits.
    assert pairs.choose_tables(4, 4, 10**6) is None


@given(most=st.integers(0, 5), seed=st.integers(0, 999))
def test_buckets_pair_documents_with_the_first_ones(most: int, seed: int) -> None:
    rng = random.Random(seed)
    rows = {(rng.randrange(6), number) for number in range(-10, 30) for _ in range(2)}
    unit, number = (
        np.array(column, np.int64) for column in zip(*sorted(rows, key=lambda _: rng.random()), strict=True)
    )
    expected = set()
    for name in range(6):
        members = sorted(n for u, n in rows if u == name)
        for at, later in enumerate(members):
            earlier = members[:at] if later >= 0 else []
            # One that has more is compared again.
            limit = 1 if 0 < most < len(earlier) else len(earlier)
            expected |= {(n, later) for n in earlier[:limit]}
    parcels = pack_rows(unit, number)
    assert expected == read_pairs(pairs.FirstPairs(most).rows(parcels))


@given(
    rows=st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
            st.integers(-(2**62) - 2**61, 2**62 + 2**61) | st.integers(0, 1000),
            st.integers(0, 2**64 - 1),
        ),
        min_size=1,
        max_size=60,
    ),
    parts=st.sampled_from([1, 2, 7, 1 << 16]),
    cut=st.integers(0, 60),
    words=st.integers(0, 2),
    copies=st.sampled_from([1, 2, 18, 255, 256, 600]),
)
def test_parcels_keep_numbers_bits_and_buckets(
    rows: list[tuple[int, int, int]], parts: int, cut: int, words: int, copies: int
) -> None:
    """Whatever the order and the range of numbers; equal units stay equal, and a part has those of a range."""
    rows = sorted(rows, key=lambda row: row[1])
    batches = []
    for chunk in (rows[:cut], rows[cut:]):
        units, numbers = (np.array([row[at] for row in chunk], np.int64) for at in (0, 1))
        bits = np.array([[row[2]] * words for row in chunk], np.uint64).reshape(len(chunk), words)
        documents_of = np.repeat(np.arange(len(units)), copies)
        batches += list(pairs.pack_parcels(np.repeat(units, copies), documents_of, numbers, bits, parts))
    actual: list[tuple[int, int, list[int]]] = []
    listed, table = 0, pa.Table.from_batches(batches)
    for part in set(table["part"].to_pylist()):
        parcels = pairs.Parcels(table.filter(pc.equal(table["part"], part)))
        of, numbers, bits = parcels.documents(), parcels.numbers(), parcels.bits()
        units = parcels.units().astype(np.int64) | part << 32
        actual += zip(units.tolist(), numbers[of].tolist(), bits[of].tolist(), strict=True)
        listed += len(numbers)
    # A document is listed once for each 255 of its rows in a part.
    assert len(rows) * -(-copies // 255) == listed
    rows = [row for row in rows for _ in range(copies)]

    def unit_of(unit: int) -> int:
        unit %= 1 << 64
        return ((unit >> 40) * parts >> 24) << 32 | unit % (1 << 32)

    assert sorted((unit_of(unit), number, [bit] * words) for unit, number, bit in rows) == sorted(actual)
    assert {part << 32 for batch in batches for part in batch["part"].to_pylist()} == {
        unit >> 32 << 32 for unit, *_ in actual
    }


@given(most=st.integers(1, 4), compared=st.integers(1, 9), seed=st.integers(0, 999))
def test_buckets_pair_documents_with_the_first_ones_of_equal_bits(most: int, compared: int, seed: int) -> None:
    """Those among the first `compared`; a document that has more, or was not compared with all, is a member.

    One that has more is paired with the first.
    """
    rng = random.Random(seed)
    bucket = sorted(rng.sample(range(-5, 60), 14))
    kinds = [rng.randrange(3) for _ in bucket]
    bits = np.array([[15 << 4 * kind, 0] for kind in kinds], np.uint64)
    compared = max(compared, most)
    expected, last = set(), {}
    for at, later in enumerate(bucket):
        likely = [to for to in range(min(at, compared)) if kinds[to] == kinds[at]] if later >= 0 else []
        expected |= {(bucket[to], later) for to in likely[: 1 if len(likely) > most else most]}
        more = later >= 0 and at > compared
        last[later] = bucket[compared - 1] if more else pairs.NONE
        if len(likely) > most:
            last[later] = bucket[likely[0]]
    parcels = pack_rows(np.full(len(bucket), 7), np.array(bucket), bits)
    with mock.patch.object(pairs, "MAX_COMPARED", compared):
        rows = read_rows(pairs.FirstPairs(most, 128, 126).rows(parcels))
    found = list(zip(*(rows[name] for name in ("kind", "left", "right", "last")), strict=True))
    assert expected == {(left, right) for kind, left, right, _ in found if kind == pairs.PAIR}
    members = {right: place for kind, _, right, place in found if kind == pairs.MEMBER}
    assert (last if any(place != pairs.NONE for place in last.values()) else {}) == members


@given(st.sets(st.integers(-9, 30), min_size=1), st.lists(st.integers(-12, 33), max_size=40))
def test_a_selection_has_the_rows_of_its_documents(selected: set[int], rows: list[int]) -> None:
    batch = pa.record_batch({"number": pa.array(rows, pa.int64())})
    stage = documents.Selection(np.array(sorted(selected), np.int64))
    assert [row for row in rows if row in selected] == pa.Table.from_batches(stage.rows(iter([batch])))[
        "number"
    ].to_pylist()


@given(st.lists(st.tuples(st.integers(-9, 30), st.integers(0, 30)), max_size=80))
def test_decisions_follow_the_definition(links: list[tuple[int, int]]) -> None:
    links = [(min(a, b), max(a, b)) for a, b in links if a != b]
    left, right = (np.array([link[side] for link in links], np.int64) for side in (0, 1))
    by: dict[int, int] = {}
    for later in sorted({b for _, b in links}):
        kept = [a for a, b in links if b == later and a not in by]
        if kept:
            by[later] = min(kept)
    actual = absorb(left, right)
    assert by == dict(zip(actual.removed.tolist(), actual.by.tolist(), strict=True))
    heads = {n: n for link in links for n in link}
    for _ in heads:
        for a, b in links:
            heads[a] = heads[b] = min(heads[a], heads[b])
    joined = components(left, right)
    expected = {n: head for n, head in heads.items() if n != head and n >= 0}
    assert expected == dict(zip(joined.removed.tolist(), joined.by.tolist(), strict=True))


@pytest.mark.parametrize("keep", ["first", "last", "longest", "max:score,shortest,last", "min:score,best"])
@pytest.mark.parametrize("strings", [False, True])
def test_keys_are_in_the_order_of_one_machine(keep: str, strings: bool) -> None:
    rng = random.Random(5)
    n = 200
    numbers = rng.sample(range(-(10**15), 10**15), n)
    ids: list[Any] = (
        [rng.choice(["", "a", "é", "好", "a\x00"]) + str(number) for number in numbers] if strings else numbers
    )
    scores = [rng.choice([None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -3.0]) for _ in ids]
    texts = ["x " * rng.randrange(1, 5) for _ in ids]
    order = parse_keep(keep, BEST)
    hashing = documents.Hashing(
        MinHashCandidates(MINHASH, 0.8),
        order,
        not strings,
        False,
        ("t", "i", *["score"] * 3),
    )
    columns = {
        "id": pa.array(ids),
        "text": pa.array(texts),
        **{f"key{at}": pa.array(scores) for at in range(len(order))},
    }
    batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
    rows = pa.Table.from_batches(hashing.rows(iter([batch])))
    if not documents.is_direct(order, integer=not strings):
        keyed = pa.RecordBatch.from_arrays(
            [pa.array([False] * n), rows["key"].combine_chunks(), rows["id"].combine_chunks()], ["older", "key", "id"]
        )
        ranges = documents.Ranges.of(rows["key"].to_pylist()[:50], 3)
        rows = pa.Table.from_batches(ranges.number_keys(ranges.rows(iter([keyed]))))
    position = dict(zip(rows["id"].to_pylist(), rows["number"].to_pylist(), strict=True))
    assert len(set(position.values())) == n
    assert min(position.values()) > 0
    # The keep order of one machine, over the documents in the order of ids.
    ranked = sorted(range(n), key=ids.__getitem__)
    lengths = np.array([len(texts[at]) for at in ranked], np.uint64)
    none, cells = np.zeros((n, 2), np.uint64), Column.of([scores[at] for at in ranked])
    hashed = HashedDocuments(none, lengths, none, lengths, Column.of([ids[at] for at in ranked]), {}, lambda _: [])
    hashed.columns[column_key("score")] = cells
    hashed.soundness = soundness([texts[at] for at in ranked]).reshape(n, -1)
    assert [ids[ranked[row]] for row in keep_order(hashed, order).tolist()] == sorted(ids, key=position.__getitem__)


def test_reference_documents_come_before_new_ones() -> None:
    source = MinHashCandidates(MINHASH, 0.8)
    batch = pa.RecordBatch.from_arrays([pa.array([5, -7]), pa.array(["a", None])], ["id", "text"])
    for keep, reference, sign in (("first", True, 1), ("last", True, 1), ("first", False, 1), ("last", False, -1)):
        hashing = documents.Hashing(source, parse_keep(keep), True, reference, ("text", "id"))
        rows = pa.Table.from_batches(hashing.rows(iter([batch])))
        base = -NUMBER if reference else NUMBER
        assert [base + 5 * sign, base - 7 * sign] == rows["number"].to_pylist()
    wide = pa.RecordBatch.from_arrays([pa.array([1 << 61]), pa.array(["a"])], ["id", "text"])
    with pytest.raises(InputError, match="make ids strings"):
        list(documents.Hashing(source, parse_keep("first"), True, False, ("text", "id")).rows(iter([wide])))


def test_equal_bands_have_equal_keys() -> None:
    """Keys are equal exactly for equal bands; candidates are those of an index."""
    recipe = MINHASH
    source = MinHashCandidates(recipe, 0.5)
    rng = random.Random(3)
    base = [rng.choice("abcdefghij") for _ in range(60)]
    texts = [
        "".join(c if rng.random() > share else "z" for c in base)
        for share in (0, 0.02, 0.05, 0.1, 0.3)
        for _ in range(8)
    ]
    values, _ = source.hash(texts)
    keys = source.band_keys(values)
    rows = source.banding.num_rows
    for band in range(keys.shape[1]):
        cut = values[:, band * rows : (band + 1) * rows]
        assert ((cut[:, None] == cut[None]).all(2) == (keys[:, None, band] == keys[None, :, band])).all()
    left, right = np.triu_indices(len(texts), 1)
    search = source.search(values)
    search.add(np.arange(len(texts)))
    actual = search.pairs()
    expected = set(zip(actual.left.tolist(), actual.right.tolist(), strict=True))
    mine = source.are_candidates(values[left], values[right])
    assert {tuple(sorted(pair)) for pair in expected} == set(
        zip(left[mine].tolist(), right[mine].tolist(), strict=True)
    )
    kind = value_dtype(source)
    assert (unpack_values(pack_values(values).slice(3, 9), kind) == values[3:12]).all()


def test_blocks_are_of_about_one_size() -> None:
    """For numbers with any pattern."""
    for step in (1, 2, 64, 1 << 20, 1 << 40):
        right = pa.array(NUMBER + np.arange(10_000) * step % (1 << 61))
        batch = pa.RecordBatch.from_arrays([pa.array(np.zeros(10_000, np.int64)), right], ["left", "right"])
        counts = np.bincount(read_rows(Blocks(16).rows(iter([batch])))["block"], minlength=16)
        assert counts.max() < 2 * 10_000 / 16
        assert counts.min() > 0


def test_texts_of_dense_pairs_are_sent_to_few_blocks() -> None:
    """Blocks are then those of a grid; with few pairs of a document they are by the later one."""
    left, right = np.triu_indices(1_000, 1)
    counts = {"characters": 3_400_000, "documents": 1_000, "older": 0, "searched": 1_000}
    blocks = Blocks.of(len(left), counts)
    assert (4, 2) == (blocks.count, blocks.columns)
    assert 1 == Blocks.of(2_000, counts).columns
    # Ten times as many documents with a third of their pairs: their texts decide.
    long = {"characters": 340_000_000, "documents": 10_000, "older": 0, "searched": 10_000}
    assert (441, 21) == (Blocks.of(16_000_000, long).count, Blocks.of(16_000_000, long).columns)

    def texts(blocks: Blocks) -> int:
        """Return the number of texts that are sent."""
        rows = pa.Table.from_batches(blocks.rows(iter(pa.table({"left": left, "right": right}).to_batches())))
        block, *sides = (rows[name].to_numpy() for name in ("block", "left", "right"))
        assert np.bincount(block).max() < 3 * len(left) / blocks.count
        return len(np.unique(np.concatenate([block * 1_000 + side for side in sides])))

    assert 4_000 == blocks.num_sent(len(left), 1_000) >= texts(blocks)
    assert 101_000 == Blocks(100).num_sent(len(left), 1_000) >= texts(Blocks(100)) > 50_000


@pytest.mark.parametrize("how", ["inner", "left", "right", "left_semi", "left_anti"])
@pytest.mark.parametrize("small", [0, 1])
def test_a_side_that_all_tasks_get_is_joined_once(how: str, small: int) -> None:
    """Each row of a side that is kept without a match is in the result once, and the other side stays where it is."""
    tables = [pa.table({"key": range(9), "left": range(9)}), pa.table({"key": range(6, 14), "right": range(8)})]
    tasks = frames.LocalTasks()
    sides = [frames.TaskFrame(tasks, [frames.Part((table.slice(at, 5),)) for at in (0, 5)]) for table in tables]
    expected = sides[0].join(sides[1], "key", how).toArrow()
    sides[small] = sides[small].hint("broadcast")
    joined = sides[0].join(sides[1], "key", how)
    order = [(name, "ascending") for name in expected.column_names]
    assert expected.sort_by(order) == joined.toArrow().sort_by(order)
    stays = how == "inner" or (how == "right") == (small == 0)
    assert stays == (joined.partition is None)


@pytest.mark.parametrize(
    ("count", "window", "share"),
    [(100_000, 1, 2), (9_000, 3, 2), pytest.param(1_000_000, 1, 9, marks=pytest.mark.slow)],
)
def test_rounds_on_a_chain_are_bounded(count: int, window: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents that drift match the few before them: without prefixes a chain took a round for every other one."""
    monkeypatch.setattr(decision, "MAX_DRIVER_LINKS", count // share)
    steps = np.arange(1, window + 1)
    left = np.repeat(np.arange(count), window)
    right = left + np.tile(steps, count)
    table = pa.table({"left": left, "right": right}).take(np.random.default_rng(0).permutation(len(left)))
    tasks = frames.LocalTasks()
    rows = frames.TaskFrame(tasks, [frames.Part((table,))])
    point = frames.Stages(tasks, ignore_progress)
    removals = decision.Decision(point, "absorb", "x").removals(rows).toArrow().sort_by("number")
    expected = absorb(left, right)
    assert expected.removed.tolist() == removals["number"].to_pylist()
    assert expected.by.tolist() == removals["by"].to_pylist()
    assert 2 <= sum(name.startswith("x-links-") for name in point.done) <= 2 + window * share / 0.85


@pytest.mark.parametrize("filtered", [True, False])
@given(st.integers(2, 16), st.sampled_from([1, 4, 12]), st.integers(1, 3), st.randoms())
def test_open_pairs_of_buckets_are_verified(
    filtered: bool, count: int, size: int, first: int, rng: random.Random
) -> None:
    """Each open pair up to the first match is compared, in one of its buckets, however these are split into cells."""
    texts = [" ".join(f"word{at}{rng.random() < 0.2:d}" for at in range(12)) for _ in range(count)]
    source = MinHashCandidates(MINHASH, 0.8, filtered=filtered).by_keys()
    values, _ = source.hash(texts)
    bands = source.band_keys(values)
    # Some units are a part of their key.
    units = np.where(bands % 3 == 0, bands, bands & 0xFFFFFFFF)
    by = [rng.choice([at, at, max(at - 2, 0)]) for at in range(count)]
    before = [rng.choice([-NONE, by[at], max(by[at] - 1, 0)]) for at in range(count)]
    last = [[rng.choice([-NONE, at - 3, NONE]) for _ in range(bands.shape[1])] for at in range(count)]
    number = np.repeat(np.arange(count), bands.shape[1])
    columns = units.reshape(-1), number, np.ravel(last), np.take(by, number), np.take(before, number)
    table = pa.table([*map(pa.array, columns), pa.repeat(12, len(number))], [*MEMBER_COLUMNS, "n"])
    cells = pa.Table.from_batches(list(pairs.BucketCells(size).rows(iter(table.to_batches()))))
    contents, lengths = content_hashes(texts)
    hashes = {"length": lengths, "values": pack_values(values), "content": pack_values(contents.reshape(-1, 2))}
    rows = cells.rename_columns(["left" if name == "number" else name for name in cells.column_names])
    read = pa.table(
        {"block": rows["block"], "left": rows["left"], "text": pa.array(texts).take(rows["left"].combine_chunks())}
    )
    for name, column in hashes.items():
        rows = rows.append_column(name, pa.array(column).take(rows["left"].combine_chunks()))
    gathered = pa.concat_tables([rows, read], promote_options="default")
    stage = links.BucketVerification(source, value_dtype(source), TextMeasure(MINHASH, "jaccard"), 0.8)
    with mock.patch.object(links, "_FIRST", first):
        found = pa.Table.from_batches(list(stage.rows(iter(gathered.to_batches())))).to_pylist()
    actual = {(row["left"], row["right"]) for row in found if row["right"] is not None}
    assert len(actual) == len(found) - 1
    compared, matching, every = 0, set(), np.indices((count, count)).reshape(2, -1)
    shape = count, count
    similar = nk.similarity(texts, *every, recipe=MINHASH).reshape(shape) >= 0.8
    likely = source.are_likely(*values[every]).reshape(shape)
    for right in range(count):
        by_band: dict[int, list[int]] = {}
        for left in range(right):
            band = int((bands[left] == bands[right]).argmax())
            is_open = last[right][band] < left < by[right] and by[left] == left
            is_new = before[left] != left or left >= before[right]
            if is_open and is_new and likely[left, right] and bands[left, band] == bands[right, band]:
                by_band.setdefault(band, []).append(left)
        for lefts in by_band.values():
            matches = [left for left in lefts if similar[left, right]]
            matching |= {(left, right) for left in matches}
            assert not matches or (matches[0], right) in actual
            compared += first if matches and matches[:1] < lefts[first : first + 1] else len(lefts)
    assert actual <= matching
    if size == 12:
        assert compared == found[-1]["verified"]


def test_the_first_equal_key_of_pairs() -> None:
    """The first of three keys, or three; rows that do not pair up are refused."""
    keys = np.array([[1, 2, 3], [9, 2, 3], [7, 8, 4]], np.uint64).reshape(-1)
    left, right = np.array([0, 1, 0], np.uint32), np.array([1, 1, 2], np.uint32)
    assert [1, 0, 3] == first_equal_keys(keys, 3, left, right).tolist()
    with pytest.raises(nk.errors.MismatchError, match="number of rows differs: 3 against 2"):
        first_equal_keys(keys, 3, left, right[:2])
    with pytest.raises(nk.errors.ParameterError, match="right=3 is not allowed"):
        first_equal_keys(keys, 3, left, right + np.uint32(1))
