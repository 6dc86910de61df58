"""A single document gets the same result as in a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import nearkin as nk
from nearkin.store.log import State

WORDS = ["store", "page", "near", "copy", "text", "of", "a", "crawler"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join) | st.none(), max_size=12)


def same(store: nk.Store, items: list[object], kind: str | None = None) -> list[str]:
    """Compare single checks with one check of all items; return the statuses."""
    whole = store.check(items, kind=kind)  # type: ignore[arg-type]  # Texts, bytes or vectors.
    alone = [store.check([item], kind=kind) for item in items]  # type: ignore[arg-type]
    assert [repr(row) for row in whole.rows()] == [repr(row) for answers in alone for row in answers.rows()]
    assert {whole.verified} >= {answers.verified for answers in alone}
    for answers in alone:
        assert (whole.distances.dtype, whole.similarities.dtype) == (
            answers.distances.dtype,
            answers.similarities.dtype,
        )
    return [*whole.status]


@pytest.mark.parametrize("recipe", ["char:3|binary|xxh3|simhash:64", "char:3|binary|xxh3|minhash:64"])
@given(first=TEXTS, second=TEXTS, queries=TEXTS, data=st.data())
@settings(max_examples=25, deadline=None)
def test_texts(
    tmp_path_factory: pytest.TempPathFactory,
    recipe: str,
    first: list[str | None],
    second: list[str | None],
    queries: list[str | None],
    data: st.DataObject,
) -> None:
    """In a segment and in the log, with removed documents, missing texts and repeated texts."""
    with nk.Store.create(tmp_path_factory.mktemp("one") / "store", recipe, threshold=0.6) as store:
        store.check_and_add(first)
        store.merge()
        store.check_and_add(second)
        count = len(store)
        store.remove(data.draw(st.lists(st.integers(0, count - 1), unique=True, max_size=3)) if count else [])
        same(store, [*queries, *first, *second])


def test_every_status(tmp_path: Path) -> None:
    """The property holds for every status."""
    with nk.Store.create(tmp_path / "store", threshold=0.7) as store:
        text = "The quick brown fox jumps over the lazy dog."
        store.add([text, "a page about wine"], ["a", "b"])
        store.merge()
        store.add(["a text that waits for a segment"], ["c"])
        queries: list[object] = [
            text,
            text.replace("jumps", "jumped"),
            "a text that waits for a segment",
            "other",
            "",
            None,
        ]
        assert ["exact", "near", "exact", "new", "new", "new"] == same(store, queries)


def test_files_and_vectors(tmp_path: Path) -> None:
    """The property holds for scores and distances."""
    rng = np.random.default_rng(0)
    files = [rng.bytes(3000) for _ in range(4)]
    with nk.Store.create(tmp_path / "files", "ssdeep", threshold=60) as store:
        store.add(files[:3], ["a", "b", "c"], kind="bytes")
        queries: list[object] = [*files, files[0][:2500], b""]
        assert ["exact"] * 3 == same(store, queries, "bytes")[:3]
    vectors = rng.standard_normal((40, 16)).astype(np.float32)
    for number, (family, limit) in enumerate(
        (
            (nk.families.Hyperplane(bits=64, seed=1), {"threshold": 0.9}),
            (nk.families.PStable(seed=1), {"radius": 0.5}),
        )
    ):
        with nk.Store.create(tmp_path / f"vectors{number}", family.fit(vectors), **limit) as store:  # type: ignore[arg-type]
            store.add(vectors[:30], list(range(30)))
            store.merge()
            store.add(vectors[30:35], list(range(30, 35)))
            whole = store.check(np.concatenate([vectors, vectors[:5] + np.float32(0.01)]))
            alone = [store.check(row[None]) for row in np.concatenate([vectors, vectors[:5] + np.float32(0.01)])]
            assert [repr(row) for row in whole.rows()] == [repr(row) for doc in alone for row in doc.rows()]
            assert ["exact"] * 35 == [*whole.status[:35]]


@pytest.mark.parametrize("keep", ["keep", "features"])
@pytest.mark.parametrize("recipe", ["char:3|binary|xxh3|simhash:64", "char:3|binary|xxh3|minhash:64"])
@given(texts=TEXTS, cut=st.integers(0, 12), with_ids=st.booleans())
@settings(max_examples=15, deadline=None)
def test_single_adds_equal_one_batch(
    tmp_path_factory: pytest.TempPathFactory,
    recipe: str,
    keep: Literal["keep", "features"],
    texts: list[str | None],
    cut: int,
    with_ids: bool,
) -> None:
    """Results, documents and texts equal those of one batch, in a segment or in the log."""
    folder = tmp_path_factory.mktemp("one")
    ids = [f"id {number}" for number in range(len(texts))] if with_ids else None
    columns = {"length": [len(text or "") for text in texts]}
    with (
        nk.Store.create(folder / "together", recipe, threshold=0.6, text=keep) as together,
        nk.Store.create(folder / "alone", recipe, threshold=0.6, text=keep) as alone,
    ):
        whole = together.check_and_add(texts, ids, columns=columns)
        rows: list[dict[str, Any]] = []
        for number, text in enumerate(texts):
            if number == cut:
                alone.merge()
            one = {"length": columns["length"][number : number + 1]}
            rows += alone.check_and_add([text], None if ids is None else ids[number : number + 1], columns=one).rows()
        assert [repr(row) for row in whole.rows()] == [repr(row) for row in rows]
        documents = [[doc for batch in store.iter_documents() for doc in batch] for store in (together, alone)]
        assert repr(documents[0]) == repr(documents[1])
        names = [doc.id for doc in documents[0]]
        if keep == "keep":
            assert together.texts(names) == alone.texts(names)
        else:
            assert repr(together.features(names)) == repr(alone.features(names))
        alone.verify()


TEXT = "The quick brown fox jumps over the lazy dog, and the dog sleeps on."
NEAR = TEXT.replace("jumps", "jumped")


@pytest.mark.parametrize(
    ("before", "meanwhile", "expected"),
    [
        ([], lambda other: other.add([TEXT], ["copy"]), ("exact", "copy")),
        ([], lambda other: other.add([NEAR], ["like"]), ("near", "like")),
        ([], lambda other: other.add(["nothing like it"], ["other"]), ("new", None)),
        ([], lambda other: other.add([TEXT], ["own"]), ("known", None)),
        ([NEAR], lambda other: other.add([TEXT], ["copy"]), ("exact", "copy")),
        ([TEXT], lambda other: other.add([NEAR], ["like"]), ("exact", "0")),
        ([NEAR], lambda other: other.add(["nothing like it"], ["other"]), ("near", "0")),
        ([TEXT], lambda other: other.remove(["0"]), ("new", None)),
        ([NEAR, TEXT], lambda other: other.remove(["1"]), ("near", "0")),
        ([TEXT], lambda other: other.merge(), ("exact", "0")),
    ],
)
def test_changes_between_search_and_commit_are_compared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: list[str],
    meanwhile: Callable[[nk.Store], object],
    expected: tuple[str, str | None],
) -> None:
    """The first comparison runs without a lock; later changes are compared under the lock."""
    with nk.Store.create(tmp_path / "store", threshold=0.6) as store, nk.Store.open(tmp_path / "store") as other:
        if before:
            store.add(before, [str(number) for number in range(len(before))])
        writing = store._writing

        @contextmanager
        def late() -> Iterator[State]:
            monkeypatch.setattr(store, "_writing", writing)
            meanwhile(other)
            with writing() as state:
                yield state

        monkeypatch.setattr(store, "_writing", late)
        answers = store.check_and_add([TEXT], ["own"])
        assert expected == (answers.status[0], answers.ids[0])
        assert "own" in other
        store.verify()


def test_one_document_needs_one_transaction(tmp_path: Path) -> None:
    """A single document is compared and added in one transaction; a batch is compared before it locks out others."""
    with nk.Store.create(tmp_path / "s") as store, nk.Store.open(tmp_path / "s") as other:
        statements: list[str] = []
        store._log._connection.set_trace_callback(statements.append)
        assert ["new"] == store.check_and_add(["the first text of a store with two handles"], ["a"]).status
        assert ["BEGIN IMMEDIATE", "COMMIT"] == [text for text in statements if text.startswith(("BEGIN", "COMMIT"))]
        # The comparison includes what another handle has added or removed since.
        assert ["exact"] == other.check_and_add(["the first text of a store with two handles"], ["b"]).status
        assert ["known"] == store.check_and_add(["the first text of a store with two handles"], ["b"]).status
        other.remove(["a", "b"])
        assert ["new"] == store.check_and_add(["the first text of a store with two handles"], ["c"]).status
        statements.clear()
        store.check_and_add(["a second text", "and a third one"], ["d", "e"])
        assert ["BEGIN", "BEGIN IMMEDIATE", "COMMIT"] == [
            text for text in statements if text.startswith(("BEGIN", "COMMIT"))
        ]
