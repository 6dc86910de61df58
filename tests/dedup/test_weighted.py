"""Recipes with weights: deduplication by definition, templates, stores, and the functions that refuse them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk
from command import call
from corpora import write_rows
from nearkin.dedup.config import DedupConfig
from nearkin.distributed.frames import LocalTasks
from nearkin.distributed.job import Source, TableJob
from nearkin.errors import CorruptStoreError, MismatchError, ParameterError
from nearkin.progress import ignore_progress

WEIGHTED = "word:1|count|minhash:128:weighted"
TEMPLATE = " ".join(f"clause{number}" for number in range(200))


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 1.0])
def test_a_deduplication_absorbs_by_weighted_similarity(threshold: float) -> None:
    """With bands of one row, pairs above the threshold are candidates, but for one in 10,000 that its filter loses."""
    random = np.random.default_rng(5)
    base = random.integers(0, 12, (20, 30))
    changed = np.where(
        random.random((200, 30)) < random.random((200, 1)) / 2,
        random.integers(0, 40, (200, 30)),
        np.tile(base, (10, 1)),
    )
    texts = [" ".join(f"w{word}" for word in words[: random.integers(1, 31)]) for words in changed.tolist()]
    result = nk.dedup(texts, recipe=WEIGHTED, threshold=threshold, bands="128x1")
    rows = range(len(texts))
    left, right = (side.ravel() for side in np.meshgrid(rows, rows))
    similar = nk.similarity(texts, left, right, recipe=WEIGHTED).reshape(len(texts), -1) >= threshold
    kept: list[int] = []
    for row in rows:
        if not similar[row, kept].any():
            kept.append(row)
    assert 5 < len(kept) < 200
    assert kept == result.kept_rows.tolist()


def reports() -> tuple[list[str], nk.Recipe, str]:
    """Return documents of one template, each topic in two versions; a recipe with the weights, and one of sets."""
    topics = [" ".join(f"topic{number}word{i}" for i in range(50)) for number in range(40)]
    texts = [f"{TEMPLATE} {topic} {end}" for topic in topics for end in ("first", "second")]
    idf = nk.Idf.fit(texts, "word:1")
    return texts, nk.Recipe(f"word:1|idf:{idf.digest}|minhash:128:weighted", idf=idf), "word:1|binary|minhash:128:fast"


def test_documents_of_a_template_are_merged_by_their_topics() -> None:
    """Sets merge topics that share the template; weights by idf merge the two versions of each topic alone."""
    texts, weighted, sets = reports()
    result = nk.dedup(texts, recipe=weighted, threshold=0.8, recall=0.999)
    assert list(range(0, 80, 2)) == result.kept_rows.tolist()
    assert (result.summary["expected_recall"] or 0) >= 0.999
    assert 1 == len(nk.dedup(texts, recipe=sets, threshold=0.5).kept)
    different = nk.similarity(texts, [0], [2], recipe=weighted)[0]
    assert different < 0.4 < nk.similarity(texts, [0], [2], recipe=sets)[0]


def test_a_job_fits_the_weights_of_its_own_texts(tmp_path: Path) -> None:
    """`idf` without a table is the table of the texts, in memory and in files of any format; the run saves it."""
    texts, weighted, _ = reports()
    bare = "word:1|idf|minhash:128:weighted"
    assert isinstance(weighted.idf, nk.Idf)
    for inputs in (texts, pa.array(texts), pl.Series(texts), np.array(texts), pa.table({"text": texts})):
        result = nk.dedup(inputs, recipe=bare, threshold=0.8, recall=0.999)
        assert list(range(0, 80, 2)) == result.kept_rows.tolist()
        assert (result.idf is not None, weighted.idf.digest) == (True, result.summary["idf"]["digest"])
        assert (80, 0) == (result.summary["idf"]["documents"], result.summary["idf"]["max_error"])
    for suffix in ("jsonl", "parquet"):
        path = write_rows(tmp_path / f"a.{suffix}", [{"id": f"n{row}", "text": text} for row, text in enumerate(texts)])
        out = tmp_path / suffix
        done = call("dedup", path, "--recipe", bare, "--threshold", "0.8", "--recall", "0.999", "--out", out)
        assert (0, True) == (done.code, "corpus.idf" in done.err)
        assert weighted.idf.digest == nk.Idf.load(out / "corpus.idf").digest
        again = call("dedup", path, "--recipe", bare.replace("idf", f"idf:@{out / 'corpus.idf'}"), "--threshold", "0.8",
                     "--recall", "0.999", "--out", tmp_path / f"again-{suffix}")  # fmt: skip
        assert (0, False) == (again.code, (tmp_path / f"again-{suffix}" / "corpus.idf").exists())
        for name in (f"kept.{suffix}", f"clusters.{suffix}"):
            assert (out / name).read_bytes() == (tmp_path / f"again-{suffix}" / name).read_bytes()
    shrunk = nk.dedup(texts, recipe=bare, shrink_to=0.5, threshold=0.3)
    assert (True, True) == (shrunk.idf is not None, len(shrunk.kept) <= 40)


@pytest.mark.parametrize(
    ("call_with", "words"),
    [
        (lambda bare, store: nk.dedup(pa.table({"text": ["a"]}).to_reader(), recipe=bare), "RecordBatchReader"),
        (
            lambda bare, store: nk.dedup(iter(["a b"]), recipe=bare),
            "a list or a column with the weight idf",
        ),
        (lambda bare, store: nk.dedup(["a b"], recipe=bare, store=store), "documents of both sides have one table"),
        (lambda bare, store: nk.Recipe(bare), "a deduplication of texts fits idf itself"),
        (lambda bare, store: nk.compare("a", "b", recipe=bare), "a deduplication of texts fits idf itself"),
    ],
)
def test_places_that_cannot_fit_weights_say_so(
    call_with: Callable[[str, nk.Store], object], words: str, tmp_path: Path
) -> None:
    with nk.Store.create(tmp_path / "s") as store, pytest.raises(ParameterError, match=words):
        call_with("word:1|idf|minhash:128:weighted", store)


def test_a_bounded_table_says_by_how_much_it_is_too_low(tmp_path: Path) -> None:
    """Whatever the batches; a saved table has the bound, and one without a bound is that of the first version."""
    texts = [f"all w{row % 7} only{row}" for row in range(20_000)]
    exact = nk.Idf.fit(texts, "word:1")
    assert (0, 20_008) == (exact.max_error, len(exact))
    bounded = nk.Idf.fit(texts, "word:1", max_features=1000)
    batched = nk.Idf.fit(iter(texts), "word:1", max_features=1000)
    assert (3, bounded.digest, True) == (bounded.max_error, batched.digest, len(bounded) <= 1000)
    assert exact.value("all") == bounded.value("all")
    for table, version in ((exact, 1), (bounded, 3)):
        table.save(path := tmp_path / f"{version}.idf")
        assert version == json.loads(path.read_text().split("\n")[0])["version"]
        loaded = nk.Idf.load(path)
        assert (table.digest, table.max_error) == (loaded.digest, loaded.max_error)
    (tmp_path / "3.idf").write_text((tmp_path / "3.idf").read_text().replace('"max_error": 3', '"max_error": 2'))
    with pytest.raises(CorruptStoreError, match="checksum"):
        nk.Idf.load(tmp_path / "3.idf")
    with pytest.raises(ParameterError, match="2 to 4294967295"):
        nk.Idf.fit(texts, max_features=1)


def test_a_store_decides_as_a_deduplication(tmp_path: Path) -> None:
    """In batches, after a merge and reopened; the index of another recipe is another one."""
    texts = ["red red red wine", "red red red wine bar", "red wine", "wine wine wine red", ""]
    expected = nk.dedup(texts, recipe=WEIGHTED, threshold=0.6).kept_rows.tolist()
    with nk.Store.create(tmp_path / "s", WEIGHTED, threshold=0.6) as store:
        status = list(store.check_and_add(texts[:3], ["0", "1", "2"]).status)
        store.merge()
    with nk.Store.open(tmp_path / "s") as store:
        status += store.check_and_add(texts[3:], ["3", "4"]).status
    assert expected == [row for row, each in enumerate(status) if each == "new"]
    # As sets of words the first three are of similarity 2/3 and 1.
    assert 2 in expected


@pytest.mark.parametrize("family", ["minhash:128:weighted", "xxh3|simhash:128"])
def test_a_store_has_the_table_of_its_weights(family: str, tmp_path: Path) -> None:
    """Reopened, copied, backed up and salvaged; a lost, damaged or other table is damage and named."""
    texts, weighted, _ = reports()
    assert isinstance(weighted.idf, nk.Idf)
    weighted = nk.Recipe(str(weighted).replace("xxh3|minhash:128:weighted", family), idf=weighted.idf)
    expected = nk.dedup(texts, recipe=weighted, threshold=0.8).kept_rows.tolist()
    path, names = tmp_path / "s", [str(row) for row in range(len(texts))]
    with nk.Store.create(path, weighted, threshold=0.8) as store:
        status = list(store.check_and_add(texts[:9], names[:9]).status)
        store.merge()
        store.backup(tmp_path / "backup")
        store.copy(tmp_path / "copy", threshold=0.7).close()
    with nk.Store.open(path) as store:
        status += store.check_and_add(texts[9:], names[9:]).status
        store.verify()
    assert expected == [row for row, each in enumerate(status) if each == "new"]
    nk.Store.salvage(path, tmp_path / "salvaged")
    for each in ("backup", "copy", "salvaged"):
        with nk.Store.open(tmp_path / each) as store:
            assert str(weighted) == str(store.recipe)
            assert ["exact"] == list(store.check([texts[0]]).status)
    table = path / "weights.idf"
    written = table.read_bytes()
    nk.Idf.fit(texts[:7], "word:1").save(tmp_path / "other")
    for content in (None, written[:-3], (tmp_path / "other").read_bytes()):
        table.unlink() if content is None else table.write_bytes(content)
        with pytest.raises(CorruptStoreError, match=r"weights\.idf"):
            nk.Store.open(path)
    table.write_bytes(written)
    nk.Store.open(path).close()


def test_engines_find_the_same_pairs() -> None:
    """The stages of Ray, datatrove and Spark compare weights."""
    texts, weighted, _ = reports()
    config = DedupConfig.from_args(recipe=weighted, threshold=0.8, recall=0.999)
    job = TableJob(LocalTasks(), config, integer=True, report=ignore_progress)
    table = pa.table({"text": texts, "id": range(len(texts))})
    job.run(Source([table.slice(0, 33), table.slice(33)], "text", "id"), None)
    expected = nk.similarity(texts, range(0, 80, 2), range(1, 80, 2), recipe=weighted)
    assert sorted(expected.tolist()) == sorted(job.links.toArrow().column("similarity").to_pylist())


def test_tables_are_part_of_the_recipe() -> None:
    """Values of two tables are never compared."""
    texts, weighted, _ = reports()
    other = nk.Idf.fit(texts[:7], "word:1")
    index = nk.BandIndex(recipe=weighted, threshold=0.8)
    index.add(range(len(texts)), nk.signature(texts, weighted))
    with pytest.raises(MismatchError, match="idf"):
        weighted.check_same(nk.Recipe(f"word:1|idf:{other.digest}|minhash:128:weighted", idf=other))


def test_compare_states_the_weighted_similarity() -> None:
    """Counts of both texts: sums of minima by sums of maxima; the same features without weights are another value."""
    a, b = "one one one two", "one two two three"
    sets = nk.compare(a, b, "word:1|binary|minhash:128:fast").similarities
    weighted = nk.compare(a, b, WEIGHTED).similarities
    assert (2 / 6, 2 / 4, 4 / 8) == tuple(weighted[name] for name in ("jaccard", "containment", "dice"))
    assert (2 / 3, 1.0, 4 / 5) == tuple(sets[name] for name in ("jaccard", "containment", "dice"))


@pytest.mark.parametrize("weight", ["count", "log", "idf:jieba", "textrank|top:5", "idf"])
def test_the_values_of_a_weighted_signature_have_owners(weight: str) -> None:
    """Each value is that of a feature with its weight alone, and heavy features have more of them."""
    text = "copper copper copper mines mines in chile and old mines of copper ore"
    idf = nk.Idf.fit([text, "mines in peru", "in and of"], "word:1") if weight == "idf" else None
    recipe = nk.Recipe(f"word:1|{weight if idf is None else 'idf:' + idf.digest}|minhash:512:weighted", idf=idf)
    steps: Any = nk.explain(text, recipe)
    assert nk.signature([text], recipe)[0].tolist() == list(steps.signature)
    assert None not in steps.owners
    heavy = max(range(len(steps.features)), key=lambda at: steps.features[at].weight)
    expected = 512 * steps.features[heavy].weight / sum(each.weight for each in steps.features)
    assert abs(steps.won[heavy] - expected) < 5 * expected**0.5
    assert "weight" in str(steps).split("features")[1].split("\n")[1]
    nothing: Any = nk.explain("", recipe)
    assert nothing.owners == (None,) * 512


@pytest.mark.parametrize(
    "call",
    [
        lambda path: nk.contains(["a b c"], ["a b"], recipe=WEIGHTED),
        lambda path: nk.dedup(["a b c"], recipe=WEIGHTED, measure="containment"),
        lambda path: nk.dedup(["a b c"], recipe=WEIGHTED, lossless=True),
        lambda path: nk.dedup(["a b c"], recipe=WEIGHTED, groups=["x"]),
        lambda path: nk.fingerprint(["a b c"], WEIGHTED),
        lambda path: nk.Store.create(path, WEIGHTED, text="features"),
        lambda path: nk.Store.create(path, nk.Recipe(WEIGHTED.replace("word", "cut:jieba|word"), user_words="abc")),
    ],
)
def test_functions_of_sets_refuse_weights(call: Callable[[Path], Any], tmp_path: Path) -> None:
    """Nothing compares a weighted recipe without its weights; the message says what to use instead."""
    with pytest.raises(ParameterError, match="is not allowed; use"):
        call(tmp_path / "s")
