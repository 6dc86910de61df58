"""Buckets of very many documents: copies, near-duplicates, and dissimilar texts that share boilerplate."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import MINHASH, VOCABULARY, DocumentSet, Engine, chain_texts, edit_words, mixed_texts
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.distributed import links, pairs
from nearkin.distributed import plan as plans
from nearkin.distributed.links import Verification
from nearkin.distributed.pairs import (
    BucketCells,
    FirstMembers,
    FirstPairs,
    LargeBuckets,
    OpenPairs,
    pack_parcels,
)
from nearkin.spark import dedup


def near_texts(count: int) -> list[str]:
    """Return texts of 150 words that each differ from any other in three."""
    rng = random.Random(1)
    base = rng.choices(VOCABULARY, k=150)
    texts = []
    for number in range(count):
        words = list(base)
        for _ in range(3):
            words[rng.randrange(150)] = f"x{number}"
        texts.append(" ".join(words))
    return texts


def unlike_texts(count: int) -> list[str]:
    """Return texts that share 90 of 150 words in one piece: they meet in many buckets, but none matches another."""
    rng = random.Random(2)
    head = " ".join(rng.choices(VOCABULARY, k=90))
    return [f"{head} {' '.join(str(rng.randrange(10**6)) for _ in range(60))}" for _ in range(count)]


def check_kept(engine: Engine, texts: list[str], folder: Path) -> dict[str, Any]:
    """Check that the kept documents are those of one machine; return the summary."""
    table = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": pa.array(texts, pa.string())})
    # A message to an engine has at most 128 MiB.
    pq.write_table(table, folder / "texts.parquet")
    result = dedup(engine.session.read.parquet(str(folder / "texts.parquet")))
    kept = result.kept.select("id").toArrow().column("id").to_pylist()
    assert nk.dedup(table, text="text", id="id", recipe=MINHASH).kept == sorted(kept)
    assert 0 == result.summary["skipped"]
    return dict(result.summary)


@pytest.mark.parametrize("count", [3_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_near_duplicates_of_one_text(engine: Engine, count: int, tmp_path: Path) -> None:
    """The work grows with the documents, and not with their pairs."""
    summary = check_kept(engine, near_texts(count), tmp_path)
    assert 1 == summary["kept"]
    assert summary["candidates"] < 60 * count


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_equal_texts(engine: Engine, count: int, tmp_path: Path) -> None:
    """Copies become one document before any comparison."""
    summary = check_kept(engine, ["one text among many that are equal"] * count, tmp_path)
    assert (1, 0) == (summary["kept"], summary["candidates"])


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_boilerplate(engine: Engine, count: int, tmp_path: Path) -> None:
    """Signatures are compared before any text is read: of a thousand pairs of a bucket one is verified at most."""
    summary = check_kept(engine, unlike_texts(count), tmp_path)
    assert count == summary["kept"]
    assert summary["verified"] < count * count / 2_000


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a task have so few rows that buckets and texts are split."""
    monkeypatch.setattr(plans, "MAX_BUCKET", 32)
    monkeypatch.setattr(plans, "_MAX_BROADCAST", 0)
    monkeypatch.setattr(plans, "_BUCKET_SAMPLE", 32)
    # The keys of 25 documents, or about thirty texts.
    monkeypatch.setattr(plans, "TASK_BYTES", 1 << 12)
    monkeypatch.setattr(links, "TASK_BYTES", 1 << 15)
    monkeypatch.setattr(links, "LONG", 1_000)
    monkeypatch.setattr(plans, "LONG", 1_000)


@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize("options", [{}, {"cluster": "components", "keep": "longest"}], ids=str)
def test_buckets_and_texts_that_are_split(
    engine: Engine, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The result is that of one machine, with reference documents in the same buckets."""
    (called := tmp_path / "called").mkdir()

    def mark(kind: Any, is_marked: Any) -> None:
        # A task gets a copy of the function.
        rows, path = kind.rows, called / kind.__name__

        def mark_rows(self: Any, batches: Any) -> Any:
            for batch in rows(self, batches):
                if is_marked(batch):
                    path.touch()
                yield batch

        monkeypatch.setattr(kind, "rows", mark_rows)

    mark(LargeBuckets, lambda batch: True)
    mark(BucketCells, lambda batch: batch["block"].to_pylist() != batch["unit"].to_pylist())
    rng = random.Random(0)
    texts: list[str | None] = [*unlike_texts(80), *near_texts(60), *mixed_texts(30), *chain_texts(16)]
    # Too different to match, but so similar that rounds compare each with all earlier ones.
    base = rng.choices(VOCABULARY, k=150)
    texts += [" ".join(edit_words(base, 12, rng, VOCABULARY)) for _ in range(40)]
    rng.shuffle(texts)
    folder = str(tmp_path / "run")
    summary = engine.check_equal(
        DocumentSet.of(texts), DocumentSet.of(texts[:20]), checkpoint=folder, parts=3, **options
    )
    assert summary["removed"] > 60
    # Components are compared by their members alone.
    expected = ["LargeBuckets"] if options else ["BucketCells", "LargeBuckets"]
    assert expected == sorted(path.name for path in called.iterdir())


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 60).filter(bool)), min_size=1, unique=True),
    st.integers(1, 4),
)
def test_large_buckets_have_the_pairs_of_others(rows: list[tuple[int, int]], earlier: int) -> None:
    """Pairs and members are those of a task that has whole buckets, whatever the batches are."""
    units, numbers = np.array(rows, np.int64).T

    def split(results: Any) -> list[list[tuple[Any, ...]]]:
        """Return pairs, which several buckets may have, and members, in order."""
        rows = sorted(tuple(row.values()) for batch in results for row in batch.to_pylist())
        return [[row for row in rows if row[0] == kind] for kind in (pairs.PAIR, pairs.MEMBER)]

    first = FirstMembers(earlier + 1)
    halves = [pa.table({"unit": units[at::2], "number": numbers[at::2]}).to_batches() for at in range(2)]
    heads = pa.Table.from_batches(list(first.lists(batch for half in halves for batch in first.rows(iter(half)))))
    joined = pa.table({"unit": units, "number": numbers}).join(heads.select(["unit"]), "unit").combine_chunks()
    by_unit = dict(zip(heads["unit"].to_pylist(), heads["first"].to_pylist(), strict=True))
    column = pa.array([by_unit[unit] for unit in joined["unit"].to_pylist()], pa.list_(pa.int64()))
    no_bits = np.zeros((len(units), 0), np.uint64)
    parcels = pack_parcels(units, np.arange(len(units)), numbers, no_bits, 1)
    expected_pairs, expected = split(FirstPairs(earlier).rows(parcels))
    rows_of = joined.append_column("first", column).to_batches()
    actual_pairs, members = split(LargeBuckets(earlier).rows(iter(rows_of)))
    assert expected_pairs == actual_pairs
    # All buckets are listed here, not only those with more pairs.
    more = {unit for *_, unit, last in members if last != pairs.NONE}
    assert expected == [row for row in members if row[3] in more]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 8)), min_size=1, max_size=40),
    st.integers(0, 5),
    st.integers(1, 12),
)
def test_open_pairs_are_those_of_other_components(
    members: list[tuple[int, int]], references: int, max_pairs: int
) -> None:
    """Each document with the first earlier ones of other components behind `last`; the others are counted."""
    numbers = [at - references for at in range(len(members))]
    by = [component for component, _ in members]
    last = [numbers[min(skip, at)] if skip else pairs.NONE for at, (_, skip) in enumerate(members)]
    table = pa.table({"unit": [7] * len(members), "number": numbers, "last": last, "by": by})
    rows = [row for batch in OpenPairs(max_pairs).rows(iter(table.to_batches())) for row in batch.to_pylist()]
    expected, left = [], 0
    for at, number in enumerate(numbers):
        if number >= 0 and last[at] != pairs.NONE:
            others = [numbers[to] for to in range(at) if numbers[to] > last[at] and by[to] != by[at]]
            expected += [(other, number) for other in others[:max_pairs]]
            left += len(others[max_pairs:])
    assert expected == sorted(
        ((row["left"], row["right"]) for row in rows if row["kind"] == pairs.PAIR), key=lambda pair: pair[::-1]
    )
    assert left == sum(row["last"] for row in rows if row["kind"] == pairs.MORE)


def test_long_documents_have_tasks_of_their_own(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Pairs of long texts are spread one by one; by their later document a task would get nine texts or more."""
    monkeypatch.setattr(links, "TASK_BYTES", 10_000)
    for module in (links, plans):
        monkeypatch.setattr(module, "LONG", 10_000)
    gathered: list[int] = []
    verify = Verification._verify

    def count_long(self: Verification, table: pa.Table | None) -> Any:
        if table is not None:
            gathered.append(sum(length > 10_000 for length in table["length"].to_pylist() if length))
        return verify(self, table)

    monkeypatch.setattr(Verification, "_verify", count_long)
    rng = random.Random(3)
    base = rng.choices(VOCABULARY, k=3_000)
    texts = [" ".join(edit_words(base, 10, rng, VOCABULARY)) for _ in range(12)]
    summary = engine.check_equal(DocumentSet.of([*texts, *mixed_texts(100)]))
    assert summary["removed"] >= 11
    assert sum(gathered) >= 2 * 11
    assert max(gathered) <= 6


def test_pairs_are_verified_in_passes(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sail keeps rows of bands and texts of pairs in memory, so that many take several passes, and have one result."""
    monkeypatch.setattr(plans, "PASS_BYTES", 40_000)
    folder = tmp_path / "run"
    texts = [*chain_texts(40), *mixed_texts(200)]
    summary = engine.check_equal(DocumentSet.of(texts), DocumentSet.of(texts[:50]), checkpoint=str(folder))
    passes = sorted(path.name for path in folder.glob("links-pass-*"))
    assert len(passes) > 3
    assert len([*folder.glob("units-pass-*")]) == 2
    assert summary["removed"] > 50


def test_texts_of_pairs_are_written_once(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stages after the first one read a table of the texts that they need, and no others."""
    monkeypatch.setattr(plans, "_MANY", 1)
    rng = random.Random(6)
    base = rng.choices(VOCABULARY, k=150)
    # They meet in buckets and are too different to match, so that rounds compare each with all earlier ones.
    texts: list[str | None] = [" ".join(edit_words(base, 12, rng, VOCABULARY)) for _ in range(30)]
    texts += chain_texts(20)
    texts += [" ".join(rng.choices(VOCABULARY, k=60)) for _ in range(2_500)]
    engine.check_equal(DocumentSet.of(texts), checkpoint=str(tmp_path / "rounds"))
    engine.check_equal(DocumentSet.of(texts), checkpoint=str(tmp_path / "heads"), cluster="components")
    monkeypatch.setattr(plans, "PASS_BYTES", 40_000)
    texts_of = plans.Plan.texts_of

    def explain(*arguments: Any) -> Any:
        rows = texts_of(*arguments)
        rows.explain()
        return rows

    monkeypatch.setattr(plans.Plan, "texts_of", explain)
    engine.check_equal(DocumentSet.of(texts), checkpoint=str(tmp_path / "passes"))
    # The side of a join that Sail keeps in memory comes first: the distinct numbers, not the texts.
    plan = capsys.readouterr().out.splitlines()
    join = next(at for at, line in enumerate(plan) if "HashJoinExec" in line)
    assert "AggregateExec" in plan[join + 1], plan
    names = ["rounds/member-texts", "heads/member-texts", "passes/texts"]
    written = {name: pq.read_table(tmp_path / name).num_rows for name in names}
    assert all(0 < count < len(texts) // 2 for count in written.values()), written


def test_kept_rows_are_read_past_the_removed_ids(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    """Sail keeps the side of a join in memory that comes first: the ids, with their number, and not the documents."""
    texts = [text for text in mixed_texts(400) if text]
    dedup(engine.frame(DocumentSet.of(texts))).kept.explain()
    plan = capsys.readouterr().out
    assert re.search(
        r"HashJoinExec: mode=CollectLeft, join_type=Right.*\n.*\n.*CoalescePartitionsExec: fetch=", plan
    ), plan


def test_a_source_with_half_of_all_rows(engine: Engine) -> None:
    """Removals by source are those of one machine."""
    texts = [*["one page that a source repeats"] * 1_000, *mixed_texts(1_000)]
    sources = ["big"] * 1_000 + [f"source {at % 100}" for at in range(1_000)]
    documents = DocumentSet.of(texts, site=sources)
    summary = engine.check_equal(documents, source="site")
    assert "big" in {row["source"] for row in summary["sources"]}


@pytest.mark.slow
def test_documents_of_fifty_megabytes(engine: Engine, tmp_path: Path) -> None:
    """Six near-duplicates of 50 MB among short texts: the kept documents are those of one machine."""
    rng = random.Random(4)
    words = rng.choices([f"w{number}" for number in range(100_000)], k=7_500_000)
    texts = []
    for _ in range(6):
        for _ in range(1_000):
            words[rng.randrange(len(words))] = "edited"
        texts.append(" ".join(words))
    assert 49e6 < len(texts[0]) < 55e6
    summary = check_kept(engine, [*texts, *near_texts(100)], tmp_path)
    assert 2 == summary["kept"]
