"""A check of one document answers as a check of many does, whatever stands before it."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import nearkin as nk

WORDS = ["store", "page", "near", "copy", "text", "of", "a", "crawler"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join) | st.none(), max_size=12)


def same(store: nk.Store, items: list[object], kind: str | None = None) -> list[str]:
    """Compares checks of each item alone with one of all; what the store says of them."""
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
@given(first=TEXTS, second=TEXTS, asked=TEXTS, data=st.data())
@settings(max_examples=25, deadline=None)
def test_texts(
    tmp_path_factory: pytest.TempPathFactory,
    recipe: str,
    first: list[str | None],
    second: list[str | None],
    asked: list[str | None],
    data: st.DataObject,
) -> None:
    """In a segment and in the log, with some removed; with no text and with one twice."""
    with nk.Store.create(tmp_path_factory.mktemp("one") / "store", recipe, threshold=0.6) as store:
        store.check_and_add(first)
        store.merge()
        store.check_and_add(second)
        count = len(store)
        store.remove(data.draw(st.lists(st.integers(0, count - 1), unique=True, max_size=3)) if count else [])
        same(store, [*asked, *first, *second])


def test_all_kinds_of_answers(tmp_path: Path) -> None:
    """The property above holds of each."""
    with nk.Store.create(tmp_path / "store", threshold=0.7) as store:
        text = "The quick brown fox jumps over the lazy dog."
        store.add([text, "a page about wine"], ["a", "b"])
        store.merge()
        store.add(["a text that waits for a segment"], ["c"])
        asked: list[object] = [
            text,
            text.replace("jumps", "jumped"),
            "a text that waits for a segment",
            "other",
            "",
            None,
        ]
        assert ["exact", "near", "exact", "new", "new", "new"] == same(store, asked)


def test_files_and_vectors(tmp_path: Path) -> None:
    """Scores and distances of copies are theirs."""
    rng = np.random.default_rng(0)
    files = [rng.bytes(3000) for _ in range(4)]
    with nk.Store.create(tmp_path / "files", "ssdeep", threshold=60) as store:
        store.add(files[:3], ["a", "b", "c"], kind="bytes")
        asked: list[object] = [*files, files[0][:2500], b""]
        assert ["exact"] * 3 == same(store, asked, "bytes")[:3]
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
            assert [repr(row) for row in whole.rows()] == [repr(row) for one in alone for row in one.rows()]
            assert ["exact"] * 35 == [*whole.status[:35]]
