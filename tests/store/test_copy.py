"""A copy of a store with another recipe equals a store that was built with it; what was absorbed stays known."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_store import texts_of

import nearkin as nk
from nearkin.errors import MismatchError, ParameterError


def documents(store: nk.Store) -> list[Any]:
    return [doc for batch in store.iter_documents() for doc in batch]


@pytest.mark.parametrize("recipe", [None, "default", "word:2|binary|xxh3|minhash:64"])
@pytest.mark.parametrize("text", ["keep", "features"])
def test_kept_documents_are_decided_as_in_a_new_store(tmp_path: Path, recipe: str | None, text: Any) -> None:
    """With the texts of all documents given, the copy equals a store built from them; ids and columns remain."""
    texts = texts_of(600, 5)
    names = [f"d{n}" for n in range(600)]
    loaded: dict[int | str, str] = dict(zip(names, texts, strict=True))
    columns = {"n": list(range(600))}
    with nk.Store.create(tmp_path / "old", threshold=0.7, max_pending=128) as old:
        old.check_and_add(texts[:400], names[:400], columns={"n": columns["n"][:400]})
        old.remove(names[:20])
        old.check_and_add(texts[400:], names[400:], columns={"n": columns["n"][400:]})
        copy = old.copy(tmp_path / "new", recipe, threshold=0.6, text=text, texts=lambda ids: [loaded[i] for i in ids])
        source = recipe or old.recipe
        # A copy of a removed document takes its place, and others are forgotten.
        left = [str(doc.id) for doc in documents(old)]
        assert 500 < len(left) < 580
    with nk.Store.create(tmp_path / "expected", source, threshold=0.6, text=text) as expected:  # type: ignore[arg-type]
        expected.check_and_add([loaded[name] for name in left], left, columns={"n": [int(name[1:]) for name in left]})
        assert list(map(repr, documents(expected))) == list(map(repr, documents(copy)))
        np.testing.assert_array_equal(expected.values(left), copy.values(left))
        assert expected.check(texts_of(50, 6)).rows is not None
        if text == "keep":
            assert expected.texts(left) == copy.texts(left)
    copy.verify()
    assert (1, 0) == (copy.stats().segments, copy.stats().waiting)
    copy.close()


def test_absorbed_documents_stay_known(tmp_path: Path) -> None:
    """Without their texts, near-duplicates follow their document: kept, or absorbed by another one now."""
    base = " ".join(f"word{n}" for n in range(40))
    tail = "".join(f" other{n}" for n in range(12))
    texts = [base, base + " x", base, base + tail, base + tail + " m", "!!"]
    names = list("abcdef")
    with nk.Store.create(tmp_path / "old", threshold=0.8) as old:
        assert ["new", "near", "exact", "new", "near", "new"] == old.check_and_add(texts, names).status
        old.add(["Words of a document that will be gone."], ["r"])
        similarity = old.get(["b"])[0].similarity  # type: ignore[union-attr]
        with old.copy(tmp_path / "new", "default", threshold=0.5, recall=0.999) as new:
            found = {doc.id: doc for doc in documents(new)}
            statuses = {name: (doc.status, doc.match) for name, doc in found.items()}
            assert ("new", None) == statuses["a"]
            assert ("near", "a") == statuses["b"]
            assert ("exact", "a") == statuses["c"]
            # d is near a now, and e, which was near d, follows it.
            assert ("near", "a") == statuses["d"]
            assert ("near", "a") == statuses["e"]
            assert ("new", None) == statuses["f"]
            assert similarity == found["b"].similarity
            assert np.isnan(found["e"].similarity)
            assert (-1, -1) == (found["b"].distance, found["e"].distance)
            # Known by id, with the same content and with another one.
            assert ["known"] * 6 == new.check_and_add(texts, names).status
            with pytest.raises(nk.errors.InputError, match="another text"):
                new.check_and_add(["another"], ["b"])
            assert [base, None, None, None, None, "!!"] == new.texts(names)
            new.verify()


def test_removed_documents_and_times_of_addition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Removed documents are not copied; documents expire in the copy as in the original."""
    with nk.Store.create(tmp_path / "old") as old:
        for number, (name, text) in enumerate(
            [("a", "One text."), ("b", "Words of another."), ("c", "Something else.")]
        ):
            monkeypatch.setattr(time, "time", lambda number=number: 1_000_000_000 + 86400 * number)
            old.check_and_add([text], [name])
        monkeypatch.undo()
        old.remove(["a"])
        with old.copy(tmp_path / "new", "default") as new:
            assert [("b", "new", None), ("c", "new", None)] == [(d.id, d.status, d.match) for d in documents(new)]
            limit = datetime.fromtimestamp(1_000_000_000 + 2 * 86400, timezone.utc)
            assert 1 == new.expire(before=limit).documents
            assert ["c"] == [doc.id for doc in documents(new)]


def test_copies_of_files_and_vectors_are_decided_again(tmp_path: Path) -> None:
    """Their values are stored, so a copy equals a new store with its settings."""
    rng = np.random.default_rng(2)
    data = [
        b"".join(b"%d line %d of a file\n" % (n // 3, i * (1 if i % 50 else n)) for i in range(500)) for n in range(9)
    ]
    names = [f"d{n}" for n in range(9)]
    with nk.Store.create(tmp_path / "old", "ssdeep", threshold=90) as old:
        old.check_and_add(data, names, kind="bytes")
        copy = old.copy(tmp_path / "new", threshold=40)
    with nk.Store.create(tmp_path / "expected", "ssdeep", threshold=40) as expected, copy:
        expected.check_and_add(data, names, kind="bytes")
        assert list(map(repr, documents(expected))) == list(map(repr, documents(copy)))
        assert expected.content_hashes(names) == copy.content_hashes(names)
    vectors = rng.standard_normal((30, 8)).astype(np.float32)
    vectors[10:20] = vectors[:10] + 0.2
    with nk.Store.create(tmp_path / "u", nk.families.Hyperplane(bits=64, seed=1).fit(vectors), threshold=0.99) as old:
        old.check_and_add(vectors, [f"v{n}" for n in range(30)])
        family = nk.families.Hyperplane(bits=128, seed=2).fit(vectors)
        copy = old.copy(tmp_path / "v", family, threshold=0.9)
    with nk.Store.create(tmp_path / "w", family, threshold=0.9) as expected, copy:
        expected.check_and_add(vectors, [f"v{n}" for n in range(30)])
        assert list(map(repr, documents(expected))) == list(map(repr, documents(copy)))


def test_integer_ids_do_not_collide_after_a_copy(tmp_path: Path) -> None:
    """Row numbers that the old store has given as ids are not given again."""
    with nk.Store.create(tmp_path / "old") as old:
        old.add(texts_of(10, 1))
        old.remove([0, 1])
        with old.copy(tmp_path / "new", "default") as new:
            assert old.next_row == new.next_row
            new.check_and_add(["Words that nobody has seen before."])
            assert [10] == [doc.id for doc in documents(new)][-1:]
            new.merge()
            new.verify()
    with nk.Store.open(tmp_path / "new") as new:
        assert 9 == len(new)


def test_wrong_copies_leave_nothing(tmp_path: Path) -> None:
    """Another kind of recipe, a store without texts, an existing path: errors, and no folder."""
    with nk.Store.create(tmp_path / "old", text="none") as old, nk.Store.create(tmp_path / "k") as kept:
        old.add(["x y z some text"], ["a"])
        with pytest.raises(MismatchError, match="texts"):
            old.copy(tmp_path / "new", "default")
        with pytest.raises(MismatchError, match="kind of documents"):
            kept.copy(tmp_path / "new", "ssdeep")
        with pytest.raises(ParameterError, match="threshold"):
            kept.copy(tmp_path / "new", threshold=7)
        with pytest.raises(FileExistsError):
            kept.copy(tmp_path / "old")
    assert ["k", "old"] == sorted(path.name for path in tmp_path.iterdir())
