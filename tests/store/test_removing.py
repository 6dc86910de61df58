"""Removing a document that others matched: a copy takes its place, or the family is forgotten, in one step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.store.log import Log
from nearkin.store.results import StoredDocument

FOX = "The quick brown fox jumps over the lazy dog."
NEAR = "The quick brown fox jumped over the lazy dog."
OTHER = "The quick brown fox jumps over the lazy cat."


def document(store: nk.Store, name: str) -> StoredDocument:
    found = store.get([name])[0]
    assert found is not None
    return found


def facts(store: nk.Store) -> list[tuple[object, ...]]:
    return [
        (doc.id, doc.status, doc.match, round(doc.similarity, 3), doc.columns)
        for batch in store.iter_documents()
        for doc in batch
    ]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("text", ["keep", "features"])
def test_a_copy_takes_the_place_of_a_removed_text(tmp_path: Path, text: Any, merged: bool) -> None:
    """The first copy has the text, and the others match it with the similarity that was verified."""
    with nk.Store.create(tmp_path / "s", threshold=0.7, text=text) as store:
        store.check_and_add([FOX, NEAR, FOX, FOX], ["a", "b", "c", "d"], columns={"n": [1, 2, 3, 4]})
        if merged:
            store.merge()
        near = document(store, "b").similarity
        kept: Any = store.features(["a"])[0] if text == "features" else store.texts(["a"])[0]
        assert 1 == store.remove(["a"])
        for _ in range(2):
            assert [
                ("c", "new", None, pytest.approx(np.nan, nan_ok=True), {"n": 3}),
                ("b", "near", "c", round(near, 3), {"n": 2}),
                ("d", "exact", "c", 1.0, {"n": 4}),
            ] == facts(store)
            again: Any = store.features(["c"])[0] if text == "features" else store.texts(["c"])[0]
            assert np.array_equal(kept, again)
            result = store.check([FOX, NEAR])
            assert ["exact", "near"] == result.status
            assert ["c", "c"] == result.ids
            assert near == result.similarities[1]
            assert [["c", "b", "d"]] == store.clusters()
            store.merge()
    with nk.Store.open(tmp_path / "s") as store:
        store.verify()
        assert 3 == len(store)


def test_a_family_without_a_known_text_is_forgotten(tmp_path: Path) -> None:
    """No member has a text, so all are removed with their representative, and can be added again as new."""
    with nk.Store.create(tmp_path / "s", threshold=0.7) as store:
        store.check_and_add([FOX, NEAR, OTHER, "A page about lions."], ["a", "b", "c", "lions"])
        assert ["new", "near", "near", "new"] == [doc.status for batch in store.iter_documents() for doc in batch]
        assert 3 == store.remove(["a"])
        assert ["lions"] == [fact[0] for fact in facts(store)]
        assert ["new", "near"] == store.check_and_add([NEAR, FOX], ["b", "a"]).status
        assert ["b"] == [doc.match for batch in store.iter_documents() for doc in batch if doc.id == "a"]


def test_members_removed_together_with_their_representative_stay_removed(tmp_path: Path) -> None:
    with nk.Store.create(tmp_path / "s", threshold=0.7) as store:
        store.check_and_add([FOX, FOX, FOX, NEAR], ["a", "b", "c", "d"])
        assert 2 == store.remove(["a", "b"])
        assert [("c", "new"), ("d", "near")] == sorted(fact[:2] for fact in facts(store))
        assert 1 == store.remove(["d"]), "nothing matched it"
        assert 1 == store.remove(["c"])
        assert 0 == len(store)


def test_a_family_survives_the_removal_of_one_copy_after_the_other(tmp_path: Path) -> None:
    """The near-duplicate, which was added before the copies, follows each of them, and goes with the last one."""
    with nk.Store.create(tmp_path / "s", threshold=0.7) as store:
        store.check_and_add([FOX, NEAR, FOX, FOX], ["a", "b", "c", "d"])
        for name, heir in (("a", "c"), ("c", "d")):
            assert 1 == store.remove([name])
            assert heir == document(store, "b").match
            store.merge()
        assert 2 == store.remove(["d"])
        assert 0 == len(store)


def test_values_are_compared_again(tmp_path: Path) -> None:
    """Signatures, digests and vectors decide again, as if the removed document had never been added."""
    options: dict[str, Any] = {"threshold": 0.7, "text": "none", "verify": "signature"}
    texts, ids = [FOX, NEAR, OTHER, NEAR, "A page about lions."], ["a", "b", "c", "d", "e"]
    with nk.Store.create(tmp_path / "s", "minhash", **options) as store:
        store.check_and_add(texts, ids)
        assert 1 == store.remove(["a"])
        with nk.Store.create(tmp_path / "without", "minhash", **options) as without:
            without.check_and_add(texts[1:], ids[1:])
            assert sorted(map(repr, facts(without))) == sorted(map(repr, facts(store)))


def test_a_failed_removal_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the middle of the step leaves the store, and this handle, as they were."""
    with nk.Store.create(tmp_path / "s", threshold=0.7) as store:
        store.check_and_add([FOX, NEAR, FOX], ["a", "b", "c"])
        before = facts(store)
        with monkeypatch.context() as context:

            def fail(*arguments: object) -> None:
                raise OSError(28, "No space left on device")

            context.setattr(Log, "append", fail)
            with pytest.raises(OSError, match="No space"):
                store.remove(["a"])
        assert list(map(repr, before)) == list(map(repr, facts(store)))
        assert ["a", "a"] == store.check([FOX, NEAR]).ids
        assert 1 == store.remove(["a"])
        assert ["c", "c"] == store.check([FOX, NEAR]).ids


KILLED = """
import os, sys
import nearkin as nk
from nearkin.store.log import Log
from nearkin.store.results import StoredDocument
append = Log.append
def end(self, *arguments):
    append(self, *arguments)
    os._exit(9)
Log.append = end
with nk.Store.open(sys.argv[1]) as store:
    store.remove(["a"])
"""


def test_a_killed_removal_changes_nothing(tmp_path: Path) -> None:
    with nk.Store.create(tmp_path / "s", threshold=0.7) as store:
        store.check_and_add([FOX, NEAR, FOX], ["a", "b", "c"])
        before = facts(store)
    assert 9 == subprocess.run([sys.executable, "-c", KILLED, tmp_path / "s"], check=False).returncode
    with nk.Store.open(tmp_path / "s") as store:
        store.verify()
        assert list(map(repr, before)) == list(map(repr, facts(store)))


@pytest.mark.parametrize("texts", [[FOX, NEAR, "A page."], [FOX, FOX, "A page."]])
def test_expiry_counts_what_a_removal_forgets(tmp_path: Path, texts: list[str]) -> None:
    """A dry run gives the number of documents that the store has no more afterwards."""
    with nk.Store.create(tmp_path / "s", threshold=0.7) as store:
        store.check_and_add(texts, ["a", "b", "c"], columns={"day": ["2026-01-01", "2026-02-01", "2026-02-01"]})
        options: dict[str, Any] = {"before": "2026-01-15", "column": "day"}
        planned = store.expire(**options, dry_run=True).documents
        assert 3 == len(store)
        assert planned == store.expire(**options).documents == 3 - len(store)
        assert (texts[0] == texts[1]) == ("b" in store)
