"""A near-duplicate that is better than the kept document: reported, or put in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from nearkin.errors import MismatchError, ParameterError

NEWS = (
    "The mayor of the town said on Monday that the bridge won't open before the end of the year.\n\n"
    "Engineers found cracks in two of its piers, and rust in the steel of the others, he said to the council."
)
DAMAGED = NEWS.replace("'", "\u00e2\u20ac\u2122").replace("steel", "st\ufffdel")
CUT = NEWS[:-30]
OTHER = "Bread is baked from flour, water and salt, and from nothing else, as the bakers of the town say."


def cluster(store: nk.Store) -> dict[Any, Any]:
    """Return what the store says of its documents."""
    found = [doc for batch in store.iter_documents(ledger=True) for doc in batch]
    return {doc.id: (doc.status, doc.match, doc.copies, doc.sources, doc.columns) for doc in found}


@pytest.fixture
def worse(tmp_path: Path) -> nk.Store:
    """A store that keeps a damaged text, with a copy and a shorter near-duplicate of it."""
    store = nk.Store.create(tmp_path / "store", threshold=0.5, max_pending=16)
    texts = [DAMAGED, OTHER, DAMAGED, CUT.replace("'", "\u00e2\u20ac\u2122")]
    store.check_and_add(texts, ["a", "o", "copy", "cut"], columns={"source": ["x", "x", "y", None]})
    return store


def test_a_better_copy_is_reported_and_changes_nothing(worse: nk.Store) -> None:
    """By default, and with "keep"; a worse one, an exact copy and a new text are not better."""
    assert worse.check_and_add([NEWS + " "], ["n"]).better is None
    before = cluster(worse)
    result = worse.check_and_add([NEWS, DAMAGED, DAMAGED[:-9], OTHER[::-1], NEWS], list("bcdeb"), on_better="keep")
    assert ["near", "exact", "near", "new", "known"] == result.status
    assert result.better is not None
    assert [True, False, False, False, True] == result.better.tolist()
    assert [True, False] == [row["better"] for row in result.rows()][:2]
    assert before == {name: each for name, each in cluster(worse).items() if name in before} | {"a": before["a"]}


@pytest.mark.parametrize("merged", [False, True])
def test_a_better_copy_takes_the_place_of_the_kept_one(worse: nk.Store, tmp_path: Path, merged: bool) -> None:
    """With all that matched it, in one step; the best of a call; counts, columns and another process follow."""
    other = nk.Store.open(tmp_path / "store")
    if merged:
        worse.merge()
    result = worse.check_and_add(
        [CUT, NEWS, NEWS[:-1]], ["c", "n", "m"], columns={"source": ["z", "z", "z"]}, on_better="replace"
    )
    assert (["near"] * 3, ["a"] * 3) == (result.status, result.ids)
    assert result.better is not None
    assert [False, True, True] == result.better.tolist()
    for store in (worse, other):
        store.verify() if store is worse else None
        found = cluster(store)
        assert ("new", None, 6, 3, {"source": "z"}) == found["n"]
        assert {name: each[:2] for name, each in found.items() if name != "n"} == {
            "o": ("new", None),
            **dict.fromkeys(("a", "copy", "cut", "c", "m"), ("near", "n")),
        }
        assert ("exact", "n") == (store.check([NEWS]).status[0], store.check([NEWS]).ids[0])
        assert [NEWS, None] == store.texts(["n", "a"])
    # A repeated call changes nothing, and what is removed takes the cluster with it.
    again = worse.check_and_add([NEWS, DAMAGED], ["n", "a"], on_better="replace")
    assert (["known", "known"], 7) == (again.status, len(worse))
    worse.merge()
    nk.Store.salvage(tmp_path / "store", tmp_path / "salvaged")
    with nk.Store.open(tmp_path / "salvaged") as salvaged:
        assert {name: each[:4] for name, each in cluster(worse).items()} == {
            name: each[:4] for name, each in cluster(salvaged).items()
        }
    other.close()
    worse.close()


def test_a_replacement_that_fails_leaves_the_kept_one(worse: nk.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is added by then, and nothing else has changed; the same call, repeated, replaces."""
    monkeypatch.setattr(worse, "_append", _fail(worse._append))
    with pytest.raises(OSError, match="full"):
        worse.check_and_add([NEWS], ["n"], on_better="replace")
    monkeypatch.undo()
    assert ("near", "a") == cluster(worse)["n"][:2]
    assert ["known"] == worse.check_and_add([NEWS], ["n"], on_better="replace").status
    assert [("new", None), ("near", "n")] == [cluster(worse)[name][:2] for name in ("n", "a")]
    worse.verify()


def _fail(append: Any) -> Any:
    """Return a function whose second call fails."""
    calls: list[int] = []

    def call(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(28, "the disk is full")
        return append(*arguments)

    return call


def test_scores_need_texts(tmp_path: Path) -> None:
    """Stores without texts, and other words, are refused."""
    with nk.Store.create(tmp_path / "s", text="none") as store:
        with pytest.raises(MismatchError, match="on_better"):
            store.check_and_add([NEWS], on_better="keep")
        with pytest.raises(ParameterError, match='"keep", "replace" or None'):
            store.check_and_add([NEWS], on_better="drop")  # type: ignore[arg-type]
