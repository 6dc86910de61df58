"""A store and `nearkin.dedup` give equal answers in equal words, or the store refuses the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from nearkin.errors import ParameterError

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX, jumps over: the lazy dog!",
    "The quick brown fox jumped over the lazy dog.",
    "THE QUICK BROWN FOX, jumps over: the lazy dog!",
    "A page about something else.",
    "",
    "...",
]


@pytest.mark.parametrize("verify", ["jaccard", "indel", "signature", "none"])
@pytest.mark.parametrize("batches", [[8], [1] * 8, [3, 5]])
def test_statuses_are_the_reasons_of_a_deduplication(tmp_path: Path, verify: str, batches: list[int]) -> None:
    """Each document has the status that is its reason there; a kept one is "new"."""
    options: dict[str, Any] = {"threshold": 0.7, "verify": verify}
    ids = [f"d{number}" for number in range(len(TEXTS))]
    reasons = dict.fromkeys(ids, "new")
    for row in nk.dedup(TEXTS, ids, recipe="minhash", **options).clusters.rows():
        reasons[row["id"]] = {"kept": "new"}.get(row["reason"], row["reason"])
    status: list[str] = []
    with nk.Store.create(tmp_path / "s", "minhash", **options) as store:
        for size in batches:
            start = len(status)
            status += store.check_and_add(TEXTS[start : start + size], ids[start : start + size]).status
        assert reasons == dict(zip(ids, status, strict=True))
        store.merge()
        assert reasons == {document.id: document.status for batch in store.iter_documents() for document in batch}
    assert ("same-letters" in status) == (verify == "jaccard")


@pytest.mark.parametrize("recipe", [None, "minhash", "default"])
@pytest.mark.parametrize("text", ["keep", "features"])
def test_containment_without_a_radius_is_refused(tmp_path: Path, recipe: str | None, text: Any) -> None:
    """The hashes of a store have no recall for containment; the message says what is allowed."""
    with pytest.raises(ParameterError, match="jaccard or indel; or containment with radius=") as caught:
        nk.Store.create(tmp_path / "s", recipe, verify="containment", text=text)
    assert "verify" == caught.value.name
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("recipe", ["default", None])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_containment_with_a_radius_equals_a_deduplication(tmp_path: Path, recipe: str | None, size: int) -> None:
    """With a radius both have the same candidates, and so the same documents, statuses and matches."""
    words = [f"word{number}" for number in range(120)]
    texts = [" ".join(words[start : start + size]) for start in range(0, 60, 7) for size in (20, 26, 40, 60)]
    texts += [text.upper() for text in texts[::5]] + texts[::6]
    ids = [f"d{number}" for number in range(len(texts))]
    options: dict[str, Any] = {"threshold": 0.9, "verify": "containment", "radius": 40}
    result = nk.dedup(texts, ids, recipe=recipe, **options)
    expected: dict[str, tuple[str, str | None]] = dict.fromkeys(ids, ("new", None))
    for row in result.clusters.rows():
        if row["reason"] != "kept":
            expected[row["id"]] = (row["reason"], row["representative"])
    assert {"new", "near", "exact"} == {reason for reason, _ in expected.values()}
    answers: list[tuple[str, Any]] = []
    with nk.Store.create(tmp_path / "s", recipe, **options) as store:
        for start in range(0, len(texts), size):
            part = store.check_and_add(texts[start : start + size], ids[start : start + size])
            answers += zip(part.status, part.ids, strict=True)
    assert expected == dict(zip(ids, answers, strict=True))
