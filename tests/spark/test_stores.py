"""A store is written as a table of hashes and read back, and engines compare with the table."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import MINHASH, SIMHASH, Engine, mixed_texts
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.spark import add_to_store, dedup, hashes, read_store

SMALL = "word:1|binary|xxh3|simhash:64"
RECIPES = [MINHASH, SIMHASH, SMALL]


def contents(store: nk.Store) -> list[Any]:
    """Return all that a store has of its new documents."""
    rows = [row for batch in store.iter_documents() for row in batch if row.status == "new"]
    ids = [row.id for row in rows]
    counts = [(row.id, row.features, row.length) for row in rows]
    return [counts, store.texts(ids), store.values(ids).tolist(), store.content_hashes(ids)]


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.text(alphabet="ab \u00e9\U0001f600", max_size=12), max_size=12),
    st.sampled_from(RECIPES),
    st.booleans(),
)
def test_a_table_gives_the_store_again(texts: list[str], recipe: str, named: bool) -> None:
    """Ids, texts, values, contents and counts, for ids of both kinds; copies and empty texts too."""
    ids: list[Any] = [f"d{at}" if named else at * 7 for at in range(len(texts))]
    with tempfile.TemporaryDirectory() as folder:
        first = nk.Store.create(f"{folder}/a.store", recipe=recipe)
        second = nk.Store.create(f"{folder}/b.store", recipe=recipe)
        with first, second:
            first.check_and_add(texts, ids)
            table = read_store(first).read_all()
            assert table.num_rows == add_to_store(second, table, absorb=False)
            assert contents(first) == contents(second)
            # The store takes them for documents that it has.
            assert 0 == add_to_store(first, table)


def test_counts_of_an_engine_are_those_of_one_run_and_of_a_store(engine: Engine, tmp_path: Path) -> None:
    """What each kept document stands for: one run, three runs into a store, the engine, and its tables in a store."""
    texts, dumps = [text or "" for text in mixed_texts(150)], [slice(0, 50), slice(50, 100), slice(100, 150)]
    whole = nk.dedup(texts, recipe=MINHASH)
    expected = dict(zip(whole.kept, whole.weights.tolist(), strict=True))
    assert max(expected.values()) > 2
    frame = engine.session.createDataFrame(pa.table({"id": range(len(texts)), "body": texts}))
    result = dedup(frame, "body", recipe=MINHASH, keep="first")
    found = Counter(result.clusters.toArrow()["representative"].to_pylist())
    kept = result.kept.toArrow()["id"].to_pylist()
    assert expected == {name: max(found[name], 1) for name in kept}
    with nk.Store.create(tmp_path / "runs", MINHASH) as runs, nk.Store.create(tmp_path / "tables", MINHASH) as tables:
        table = hashes(frame, "body", MINHASH, column="cells").toArrow().sort_by("id")
        for part in dumps:
            nk.dedup(texts[part], list(range(len(texts)))[part], store=runs, ledger=True)
            add_to_store(tables, table.slice(part.start, 50), text="body", column="cells")
        for store in (runs, tables):
            counted = [row for batch in store.iter_documents(ledger=True) for row in batch if row.copies]
            assert expected == {row.id: row.copies for row in counted}
    with nk.Store.create(tmp_path / "site", kind="pages") as pages, pytest.raises(MismatchError, match="counts lines"):
        read_store(pages)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_table_is_that_of_an_engine(engine: Engine, tmp_path: Path, recipe: str) -> None:
    """An engine computes the same cells, and compares new documents with the table as one machine with the store."""
    texts = [text or "" for text in mixed_texts(120)]
    old, new = texts[:60], texts[60:]
    with nk.Store.create(tmp_path / "pages.store", recipe=recipe) as store:
        store.add(old, range(1_000, 1_060))
        pq.write_table(read_store(store, text="body", column="cells").read_all(), tmp_path / "old.parquet")
        table = engine.session.read.parquet(str(tmp_path / "old.parquet"))
        own = hashes(table.select("id", "body"), "body", recipe, column="cells").toArrow()
        assert table.toArrow().sort_by("id").to_pylist() == own.sort_by("id").to_pylist()
        frame = engine.session.createDataFrame(pa.table({"id": range(60), "body": new}))
        frame = hashes(frame, "body", recipe, column="cells")
        result = dedup(frame, "body", against=table, hashes="cells", recipe=recipe)
        kept = result.kept.toArrow()
        expected = nk.dedup(new, list(range(60)), against=store)
        assert expected.kept == sorted(kept["id"].to_pylist())
        # What the engine kept goes into the store without a comparison.
        assert kept.num_rows == add_to_store(store, kept, text="body", column="cells", absorb=False)
        assert 60 + kept.num_rows == len(store)


def test_stores_and_tables_that_do_not_fit(tmp_path: Path) -> None:
    """Nothing is added."""
    texts = random.Random(0).sample(["red wine", "white wine", "green tea"], 3)
    with (
        nk.Store.create(tmp_path / "a.store", recipe=SMALL) as store,
        nk.Store.create(tmp_path / "b.store", recipe=MINHASH) as other,
        nk.Store.create(tmp_path / "c.store", recipe=SMALL, text="none", verify="none") as bare,
    ):
        store.add(texts, [1, 2, 3])
        table = read_store(store).read_all()
        with pytest.raises(InputError, match=r"column 'hashes': hashes that .* did not compute"):
            add_to_store(other, table)
        with pytest.raises(ParameterError, match="no column 'body'"):
            add_to_store(store, table, text="body")
        with pytest.raises(InputError, match="column 'hashes': hashes of another text in 2 of 3 rows"):
            add_to_store(store, table.set_column(1, "text", pa.array(texts[::-1])))
        with pytest.raises(MismatchError, match='text="none"'):
            read_store(bare)
        assert (3, 0) == (len(store), len(other))


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_tables_of_other_formats(engine: Engine, tmp_path: Path, form: str) -> None:
    """Hashes are appended to a partitioned table of each format that Sail has, and read back for a comparison."""
    texts = [text or "" for text in mixed_texts(60)]
    rows = pa.table({"id": range(60), "text": texts, "day": [at % 3 for at in range(60)]})
    frame = hashes(engine.session.createDataFrame(rows))
    folder = str(tmp_path / form)
    for part in ("day = 0", "day > 0"):
        frame.where(part).write.format(form).mode("append").partitionBy("day").save(folder)
    table = engine.session.read.format(form).load(folder)
    assert 60 == table.count()
    new = engine.session.createDataFrame(
        pa.table({"id": [100, 101], "text": [max(texts, key=len), "a page of its own"]})
    )
    assert [101] == [row.id for row in dedup(new, against=table, hashes="hashes").kept.collect()]
    kept = dedup(table).kept
    assert {"id", "text", "day", "hashes"} == set(kept.columns)
    assert nk.dedup(texts, recipe=MINHASH).kept == sorted(row.id for row in kept.select("id").collect())
