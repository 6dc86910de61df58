"""The store answers like its model, for any sequence of batches, restarts, merges and handles."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis.stateful import initialize, rule

import nearkin as nk
from nearkin.dedup.cluster import Clusterer
from nearkin.errors import FormatVersionError, MismatchError, ParameterError
from nearkin.store.results import StoredDocument
from store_model import HANDLES, StoreMachine, TextModel, case_of, features, same, source

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
TEXTS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=3, max_size=9).map(" ".join),
    # Near-duplicates of one another.
    st.sampled_from(WORDS).map(lambda word: " ".join([*WORDS, word])),
    st.sampled_from(["", "!!", "x", "Der kurze Text", "一段短的文字", "a\0b"]),
)
NAMES = st.integers(0, 40).map("d{}".format)
BATCH = st.lists(st.tuples(NAMES, TEXTS), max_size=12)
RECIPES: dict[str, dict[str, Any]] = {
    "simhash": {"recipe": "char:3|binary|xxh3|simhash:64", "threshold": 0.6},
    "minhash": {"recipe": "char:3|binary|xxh3|minhash:64", "threshold": 0.6, "recall": 0.9},
}


class TextMachine(StoreMachine):
    """Texts, by fingerprints or by signatures."""

    model: TextModel
    noun = "text"

    @initialize(family=st.sampled_from(sorted(RECIPES)))
    def create(self, family: str) -> None:
        """Create a store."""
        self.model = TextModel(self.begin(**RECIPES[family]))

    def bring(self, which: int, batch: list[tuple[str, str]], absorb: bool) -> None:
        """Add texts."""
        store, texts = self.handles[which], [text for _, text in batch]
        self.offer(store.check_and_add if absorb else store.add, batch, texts, absorb=absorb)

    @rule(batch=BATCH, which=HANDLES, absorb=st.booleans())
    def come(self, batch: list[tuple[str, str]], which: int, absorb: bool) -> None:
        """Add texts, with or without deduplication."""
        self.bring(which, batch, absorb)

    @rule(text=TEXTS, which=HANDLES)
    def check(self, text: str, which: int) -> None:
        """A query changes nothing."""
        answers = self.handles[which].check([text], k=50)
        assert same(self.model.decide(text), tuple(next(answers.rows()).values()))
        assert answers.matches is not None
        matched = [doc.id for doc in answers.matches[0]]
        expected = [
            doc.id
            for doc in self.model.kept()
            if self.model.is_candidate(text, doc.content)
            and self.model.similarity(text, doc.content) >= self.model.settings.threshold
        ]
        if not features(text, self.model.settings.recipe):
            # A text without features is a copy of nothing.
            expected = []
        assert sorted(expected) == sorted(matched)

    def check_contents(self, store: nk.Store, results: list[StoredDocument]) -> None:
        """Compare the texts of new documents, and the columns."""
        expected = self.model.documents
        assert [{"source": source(doc.id)} for doc in expected] == [doc.columns for doc in results]
        texts = store.texts([doc.id for doc in results]) if results else []
        assert [doc.content if doc.status == "new" else None for doc in expected] == texts


TestTextMachine = case_of(TextMachine, 15)


def texts_of(count: int, seed: int) -> list[str]:
    """Return texts, many of them near-duplicates of earlier ones."""
    rng = np.random.default_rng(seed)
    texts: list[str] = []
    for _ in range(count):
        if texts and rng.random() < 0.4:
            words = texts[rng.integers(len(texts))].split()
            for _ in range(int(rng.integers(0, 3))):
                words[rng.integers(len(words))] = str(rng.integers(1000))
            texts.append(" ".join(words))
        else:
            texts.append(" ".join(f"w{value}" for value in rng.integers(0, 5000, int(rng.integers(10, 40)))))
    return texts


@pytest.mark.parametrize(
    ("recipe", "verify"),
    [(None, None), ("minhash", None), (nk.Recipe(), None), (None, "signature"), ("minhash", "none")],
    ids=str,
)
def test_any_split_into_batches_gives_the_survivors_of_one_deduplication(
    tmp_path: Path, recipe: nk.Recipe | str | None, verify: Any
) -> None:
    """Survivors, representatives, distances, similarities and reasons equal those of `nk.dedup` in that order."""
    texts = texts_of(700, 3)
    names = [f"d{number}" for number in range(len(texts))]
    result = nk.dedup(texts, names, recipe=recipe, verify=verify)
    expected = {row["id"]: row for row in result.clusters.rows() if row["reason"] != "kept"}
    rng = np.random.default_rng(1)
    store = nk.Store.create(tmp_path / "store", recipe, verify=verify, max_pending=64)
    results = []
    start = 0
    while start < len(texts):
        end = start + int(rng.integers(1, 60))
        results += list(store.check_and_add(texts[start:end], names[start:end]).rows())
        start = end
        if rng.random() < 0.2:
            store.close()
            store = nk.Store.open(tmp_path / "store", max_pending=64)
    assert result.kept == [name for name, row in zip(names, results, strict=True) if row["status"] == "new"]
    for name, row in zip(names, results, strict=True):
        if row["status"] != "new":
            one = expected[name]
            reference = (one["reason"], one["representative"], one["distance"], one["similarity"])
            assert list(map(str, reference)) == list(map(str, row.values()))
    assert {frozenset(cluster) for cluster in store.clusters()} == clusters_of(result)
    store.close()


def clusters_of(result: nk.DedupResult) -> set[frozenset[str]]:
    """Return the ids of each cluster."""
    groups: dict[int, set[str]] = {}
    for row in result.clusters.rows():
        groups.setdefault(row["cluster"], set()).add(row["id"])
    return {frozenset(group) for group in groups.values()}


@pytest.mark.parametrize("recipe", [None, "minhash", nk.Recipe()], ids=str)
def test_dedup_against_a_store_equals_dedup_against_its_kept_texts(
    tmp_path: Path, recipe: nk.Recipe | str | None
) -> None:
    """A store and a list of its kept texts give the same tables; nothing is added."""
    old, new = texts_of(300, 5), texts_of(300, 5)[100:] + texts_of(50, 6)
    with nk.Store.create(tmp_path / "store", recipe, max_pending=64) as store:
        status = store.check_and_add(old, [f"o{number}" for number in range(len(old))]).status
        kept = [number for number, name in enumerate(status) if name == "new"]
        results = nk.dedup(new, against=store)
        assert len(old) == len(store)
    names = [f"o{row}" for row in kept]
    expected = nk.dedup(new, against=[old[row] for row in kept], against_ids=names, recipe=recipe)
    assert expected.kept == results.kept
    assert expected.clusters.columns == results.clusters.columns
    assert expected.pairs.columns == results.pairs.columns


def test_a_store_of_another_recipe_is_refused(tmp_path: Path) -> None:
    """The error names the first difference."""
    with nk.Store.create(tmp_path / "store") as store:
        with pytest.raises(MismatchError, match="recipe slot n differs"):
            nk.dedup(["a text"], against=store, recipe="char:5|binary|xxh3|minhash:128:fast")
        with pytest.raises(MismatchError, match="num_bands"):
            nk.dedup(["a text"], against=store, threshold=0.5)
        with pytest.raises(MismatchError, match=r"family differs: .*minhash:128:fast against .*simhash:128"):
            nk.dedup(["a text"], against=store, recipe=nk.Recipe())
    with nk.Store.create(tmp_path / "fingerprints", nk.Recipe()) as store:
        with pytest.raises(MismatchError, match="recipe slot n differs"):
            nk.dedup(["a text"], against=store, recipe="char:5|binary|xxh3|simhash:128")
        with pytest.raises(MismatchError, match="radius"):
            nk.dedup(["a text"], against=store, threshold=0.5)


def test_a_radius_selects_fingerprints(tmp_path: Path) -> None:
    """Without it, a store has the signatures and the recall of `nk.dedup`."""
    with nk.Store.create(tmp_path / "bands") as store:
        assert "char:4|binary|xxh3|minhash:128:fast" == str(store.recipe)
        assert 0.995 == store.settings.recall
    with nk.Store.create(tmp_path / "radius", radius=30) as store:
        assert (nk.Recipe(), 30) == (store.recipe, store.settings.radius)
    with pytest.raises(ParameterError, match="radius=30 is not allowed; use None with minhash"):
        nk.Store.create(tmp_path / "both", "minhash", radius=30)


def test_row_numbers_stand_for_ids(tmp_path: Path) -> None:
    """Without ids, documents are numbered across batches; a store refuses a mix of strings and numbers."""
    with nk.Store.create(tmp_path / "store") as store:
        store.check_and_add(["first text of all", "second one"])
        store.check_and_add(["a third one, quite different"])
        assert [0, 1, 2] == [doc.id for batch in store.iter_documents() for doc in batch]
        with pytest.raises(ParameterError, match="kind"):
            store.check_and_add(["another"], ["name"])
    with nk.Store.create(tmp_path / "named") as store:
        store.add(["a text"], ["name"])
        with pytest.raises(MismatchError, match="give ids"):
            store.add(["another text"])


def test_a_closed_store_and_a_reader_refuse_changes(tmp_path: Path) -> None:
    """The error explains what to do."""
    store = nk.Store.create(tmp_path / "store")
    with nk.Store.open(tmp_path / "store", "r") as reader:
        store.add(["a text"], ["a"])
        assert "a" in reader
        for change in (lambda: reader.add(["b"], ["b"]), lambda: reader.remove(["a"]), reader.merge):
            with pytest.raises(ParameterError, match='mode="w"'):
                change()
    store.close()
    with pytest.raises(ParameterError, match="closed"):
        store.check(["a text"])


def test_columns_by_document_round_trip(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"source": "web", "n": 1}, {}, {"n": None, "ok": True}]
    with nk.Store.create(tmp_path / "store") as store:
        store.check_and_add(["one text", "two other words", "three"], ["a", "b", "c"], columns=rows)
        assert rows == [doc.columns for doc in store.get(["a", "b", "c"]) if doc is not None]


def test_errors_of_a_call_change_nothing(tmp_path: Path) -> None:
    """Bad columns, a text instead of texts, NaN, a missing id."""
    with nk.Store.create(tmp_path / "store") as store:
        wrong: list[Any] = [{"a": [1]}, {"a": "xy"}, {"a": [1, float("nan")]}, {3: [1, 2]}]
        wrong += [
            [{"a": 1}],
            [{"a": 1}, 3],
            [{"a": float("nan")}, {}],
            [{3: 1}, {}],
            [{"a": []}, {}],
            [{"a": 1 << 64}, {}],
        ]
        for columns in wrong:
            with pytest.raises(ParameterError, match="columns"):
                store.check_and_add(["one", "two"], ["a", "b"], columns=columns)
        with pytest.raises(ParameterError, match="iterable of texts"):
            store.check("one text")
        with pytest.raises(ParameterError, match="missing_ok"):
            store.get(["a"])
        assert [None] == store.get(["a"], missing_ok=True)
        assert 0 == store.remove([]) == store.remove(["a"], missing_ok=True)
        assert 0 == len(store)
    with pytest.raises(FileExistsError):
        nk.Store.create(tmp_path / "store")
    with pytest.raises(FileNotFoundError, match="give the folder of a store"):
        nk.Store.open(tmp_path / "other")


def test_a_failed_flush_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The documents remain pending, nothing is lost, and the next flush may succeed."""
    from nearkin.store import compaction

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    texts = texts_of(200, 4)
    with nk.Store.create(tmp_path / "store", max_pending=32) as store:
        monkeypatch.setattr(compaction, "write_segment", full)
        store.add(texts[:64])
        assert store._compactor is not None
        store._compactor.join()
        with pytest.warns(RuntimeWarning, match="No space left.*the documents remain in the log") as caught:
            store.add(texts[64:128])
        assert __file__ == caught[0].filename
        store._compactor.join()
        monkeypatch.undo()
        with pytest.warns(RuntimeWarning, match="No space left"):
            store.add(texts[128:])
        store._compactor.join()
        assert 0 < store.stats().segments
        assert 200 == len(store)
        store.verify()


def test_skipped_comparisons_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning names the caller's line; as an error it ends the call, and nothing is added."""
    monkeypatch.setattr("nearkin.store.dedup.Clusterer", partial(Clusterer, max_comparisons=2))
    texts = [f"word{number} other{number} third{number}" for number in range(20)]
    recipe = "word:1|binary|xxh3|simhash:64"
    with nk.Store.create(tmp_path / "store", recipe, threshold=0.9, radius=64) as store:
        calls: list[Callable[[], object]] = [
            lambda: store.check_and_add(texts[:10], [f"a{number}" for number in range(10)]),
            lambda: store.check(texts[10:]),
            lambda: store.check_and_add(texts[10:], [f"b{number}" for number in range(10)]),
        ]
        for call in calls:
            with pytest.warns(RuntimeWarning, match="comparisons were left out: .* may count as new") as caught:
                call()
            assert {__file__} == {doc.filename for doc in caught}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="left out"):
                store.check_and_add([text.replace("word", "last") for text in texts])
        assert 20 == len(store)
        store.verify()


@pytest.mark.parametrize("name", ["store-v1", "store-files-v1", "store-vectors-v1"])
def test_a_store_of_version_1_is_refused(tmp_path: Path, name: str) -> None:
    """Segments of version 1 do not describe themselves."""
    shutil.copytree(Path(__file__).resolve().parents[1] / "fixtures" / name, tmp_path / "store")
    with pytest.raises(FormatVersionError, match="version 1 of a store; this nearkin reads version 2"):
        nk.Store.open(tmp_path / "store")


def test_a_store_of_version_2_opens(tmp_path: Path) -> None:
    """A committed store answers as when it was written, and accepts new documents."""
    fixture = Path(__file__).resolve().parents[1] / "fixtures" / "store-v2"
    shutil.copytree(fixture, tmp_path / "store")
    with nk.Store.open(tmp_path / "store") as store:
        store.verify()
        results = [doc for batch in store.iter_documents() for doc in batch]
        assert [("d0", "new", None, {"n": 0}), ("d4", "near", "d0", {"n": 4})] == [
            (doc.id, doc.status, doc.match, doc.columns) for doc in results[:2]
        ]
        assert [("w0", "near", "d0"), ("w1", "new", None)] == [(doc.id, doc.status, doc.match) for doc in results[-2:]]
        assert "d8" not in store
        assert ["another text that waits"] == store.texts(["w1"])
        assert ["exact", "new"] == store.check(["another text that waits", "a text like none of them at all"]).status
        # It has no counts; its records have the matches.
        counted = next(store.iter_documents(ledger=True))
        assert ("d0", 1 + sum(doc.match == "d0" for doc in results)) == (counted[0].id, counted[0].copies)
        store.check_and_add(["one more"], ["x"])
        store.merge()
        store.verify()


def test_a_throttled_backup_is_the_same(tmp_path: Path) -> None:
    with nk.Store.create(tmp_path / "store", max_pending=16) as store:
        store.add([f"words of document {number}" for number in range(100)], [f"d{number}" for number in range(100)])
        store.merge()
        store.backup(tmp_path / "slow", share=0.3)
        expected_batches = list(store.iter_documents())
        wrong: list[Any] = [0, 1.5, "half", True]
        for share in wrong:
            with pytest.raises(ParameterError, match="of the time"):
                store.backup(tmp_path / "other", share=share)
        assert not (tmp_path / "other").exists()
        with pytest.raises(FileExistsError):
            store.backup(tmp_path / "slow")
    with nk.Store.open(tmp_path / "slow", "r") as copy:
        copy.verify()
        assert str(expected_batches) == str(list(copy.iter_documents()))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sync of folders")
@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_without_sync_of_folders_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Some file systems refuse fsync of a folder; create and backup work like an `OutputDir` there."""
    sync = os.fsync
    refused: list[int] = []

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            refused.append(descriptor)
            raise OSError(number, os.strerror(number))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with nk.Store.create(tmp_path / "store") as store:
        assert refused
        store.add(["a text of some words"], ["a"])
        store.merge()
        store.backup(tmp_path / "copy")
    with nk.Store.open(tmp_path / "copy", "r") as copy:
        copy.verify()
        assert 1 == len(copy)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sync of folders")
def test_a_failed_sync_of_a_folder_creates_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other error is raised, and nothing is left behind."""
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        nk.Store.create(tmp_path / "store")
    assert [] == list(tmp_path.iterdir())
