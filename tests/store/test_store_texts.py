"""Stores without texts: verified by feature hashes, by the caller's texts, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from test_store import texts_of

import nearkin as nk
from corpora import flip
from nearkin.errors import CorruptStoreError, InputError, MismatchError, ParameterError
from nearkin.index.ids import Id
from nearkin.store.kinds.texts import feature_hashes, join_sets
from nearkin.store.records import RecordedMatch, pack_extra, unpack_extra, unpack_features
from store_model import features

TEXTS = [*texts_of(260, 3), "", "!!", "x"]
NAMES = [f"d{number}" for number in range(len(TEXTS))]
HELD: dict[Id, str] = dict(zip(NAMES, TEXTS, strict=True))
RECIPES = [None, "minhash", nk.Recipe(), "word:2|log|xxh3|simhash:64"]


def by_caller(ids: list[Id]) -> list[str]:
    """Return texts from the caller's own collection."""
    return [HELD[name] for name in ids]


MODES: dict[str, dict[str, Any]] = {
    "features": {"text": "features"},
    "by the caller": {"text": "none", "texts": by_caller},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_results_equal_those_of_a_store_that_keeps_texts(
    tmp_path: Path, mode: str, recipe: nk.Recipe | str | None
) -> None:
    """Through batches, segments, merges and restarts; the results name the verification."""
    options = MODES[mode]
    again = {"texts": options["texts"]} if "texts" in options else {}
    store = nk.Store.create(tmp_path / "keeps", recipe, threshold=0.7, max_pending=64)
    other = nk.Store.create(tmp_path / "other", recipe, threshold=0.7, max_pending=64, **options)
    for start in range(0, len(TEXTS), 37):
        chunk = slice(start, start + 37)
        columns = {"n": list(range(start, start + len(TEXTS[chunk])))} if start % 2 else None
        expected = store.check_and_add(TEXTS[chunk], NAMES[chunk], columns=columns)
        found = other.check_and_add(TEXTS[chunk], NAMES[chunk], columns=columns)
        assert list(map(repr, expected.rows())) == list(map(repr, found.rows()))
        assert expected.verified != found.verified
        if start == 74:
            other.close()
            other = nk.Store.open(tmp_path / "other", max_pending=64, **again)
    other.merge()
    other.remove(NAMES[:5], erase=True)
    store.remove(NAMES[:5])
    for one, two in zip(store.check(TEXTS, k=5).matches or [], other.check(TEXTS, k=5).matches or [], strict=True):
        assert list(map(repr, one)) == list(map(repr, two))
    documents = [repr(doc) for batch in store.iter_documents() for doc in batch]
    assert documents == [repr(doc) for batch in other.iter_documents() for doc in batch]
    fresh = texts_of(100, 9) + TEXTS[50:90]
    expected_result, found_result = (nk.dedup(fresh, against=each) for each in (store, other))
    assert expected_result.clusters.columns == found_result.clusters.columns
    expected_result, found_result = (
        nk.dedup(fresh, [f"f{number}" for number in range(len(fresh))], store=each) for each in (store, other)
    )
    assert expected_result.kept == found_result.kept
    for each in (store, other):
        each.verify()
        each.close()


def test_results_name_the_verification(tmp_path: Path) -> None:
    """For each verification."""
    expected = {
        "features": ({"text": "features"}, "jaccard of the stored feature hashes"),
        "caller": (MODES["by the caller"], "jaccard of the texts' features, texts given by the caller"),
        "nothing": ({"text": "none", "recipe": nk.Recipe()}, "nothing: every candidate is a match"),
        "signature": ({"text": "none"}, "equal values of signatures"),
        "nothing by request": ({"text": "none", "verify": "none"}, "nothing: every candidate is a match"),
    }
    for name, (options, words) in expected.items():
        with nk.Store.create(tmp_path / name, **options) as store:
            assert words == store.check_and_add(TEXTS[:3], NAMES[:3]).verified
            assert "near" in store.check([TEXTS[0] + " x"]).status


def test_a_store_without_texts_names_the_alternative(tmp_path: Path) -> None:
    """`texts` and exports raise an error that names the alternative; `features` works."""
    with nk.Store.create(tmp_path / "features", text="features") as store:
        store.add(TEXTS, NAMES)
        with pytest.raises(MismatchError, match=r"features\(ids\)"):
            store.texts(NAMES[:2])
        with pytest.raises(MismatchError, match=r"features\(ids\)"):
            store.export(tmp_path / "out.jsonl")
        assert not (tmp_path / "out.jsonl").exists()
        for text, found in zip(TEXTS, store.features(NAMES), strict=True):
            assert found is not None
            assert features(text, nk.Recipe()) == len(found)
            assert (found[1:] > found[:-1]).all()
        with pytest.raises(MismatchError, match="indel"):
            nk.dedup(["a text"], against=store, verify="indel")
    with nk.Store.create(tmp_path / "none", text="none") as store:
        store.check_and_add(["one text of some words", "one text of some word"], ["a", "b"])
        for call in (store.texts, store.features):
            with pytest.raises(MismatchError, match='text="none"'):
                call(["a"])
        with pytest.raises(MismatchError, match="a verification by texts"):
            nk.dedup(["a text"], against=store, verify="jaccard")
        assert [] == nk.dedup(["one text of some words!"], against=store).kept
    with nk.Store.create(tmp_path / "keep") as store, pytest.raises(MismatchError, match='text="keep"'):
        store.features(["a"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "none", "verify": "jaccard"}, "pass texts="),
        ({"text": "none", "texts": by_caller, "verify": "none"}, "unless text="),
        ({"texts": by_caller}, "unless text="),
        ({"text": "features", "verify": "indel"}, "which compare features"),
        ({"text": "some"}, "keep, features, none"),
    ],
)
def test_contradictory_options_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """The error comes before anything is written."""
    with pytest.raises(ParameterError, match=message):
        nk.Store.create(tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


def test_calls_that_need_texts_require_the_function(tmp_path: Path) -> None:
    """Calls that need no texts work; with the function, `texts` returns the texts of new documents."""
    fox = "The quick brown fox jumps over the lazy dog"
    stored_texts: dict[Id, str] = {"a": fox, "b": fox + "!"}
    with nk.Store.create(
        tmp_path / "store", text="none", texts=lambda ids: [stored_texts[name] for name in ids]
    ) as store:
        store.check_and_add(list(stored_texts.values()), list(stored_texts))
        assert [fox, None] == store.texts(["a", "b"])
        assert 1 == store.export(tmp_path / "out.jsonl")
    with nk.Store.open(tmp_path / "store") as store:
        store.verify()
        assert "same-letters" == [doc.status for batch in store.iter_documents() for doc in batch][1]
        wrong: list[Callable[[], object]] = [
            lambda: store.check([fox]),
            lambda: store.check_and_add([fox], ["c"]),
            lambda: store.texts(["a"]),
            lambda: nk.dedup([fox], against=store),
            lambda: nk.dedup([fox], ["c"], store=store),
        ]
        for call in wrong:
            with pytest.raises(MismatchError, match="opened without texts="):
                call()
        assert 2 == len(store)
        store.add(["another text, about cats"], ["c"])
        store.merge()
    nk.Store.create(tmp_path / "keeps").close()
    with pytest.raises(ParameterError, match="None for this store"):
        nk.Store.open(tmp_path / "keeps", texts=by_caller)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda ids: [], "0 texts for 1 ids"),
        (lambda ids: [TEXTS[0], TEXTS[0]], "2 texts for 1 ids"),
        (lambda ids: TEXTS[0], "it gave str"),
        (lambda ids: 7, "it gave int"),
        (lambda ids: [None], "NoneType for the id 'a'"),
        (lambda ids: [b"bytes"], "bytes for the id 'a'"),
        (lambda ids: [TEXTS[0] + "?"], "another text for the id 'a'"),
    ],
)
def test_wrong_texts_from_the_function_are_errors(
    tmp_path: Path, answer: Callable[[list[Id]], Any], message: str
) -> None:
    """Nothing is added, and the store remains usable."""
    with nk.Store.create(tmp_path / "store", text="none", texts=answer) as store:
        store.add(TEXTS[:1], ["a"])
        with pytest.raises(InputError, match=message):
            store.check_and_add([TEXTS[0] + " x"], ["b"])
        with pytest.raises(InputError, match=message):
            store.check([TEXTS[0] + " x"])
        assert 1 == len(store)
        assert ["new"] == store.check_and_add(["another text, about cats"], ["b"]).status


def test_an_error_of_the_function_propagates(tmp_path: Path) -> None:
    """The error propagates unchanged; nothing is added."""

    def fails(ids: list[Id]) -> list[str]:
        raise LookupError(ids[0])

    with nk.Store.create(tmp_path / "store", text="none", texts=fails) as store:
        store.add(TEXTS[:1], ["a"])
        with pytest.raises(LookupError, match="a"):
            store.check_and_add([TEXTS[0] + " x"], ["b"])
        assert 1 == len(store)
        assert ["new"] == store.check_and_add(["another text, about cats"], ["b"]).status


def test_an_index_is_repaired_without_texts(tmp_path: Path) -> None:
    """The records suffice, whatever the store keeps of texts."""
    with nk.Store.create(tmp_path / "store", text="features") as store:
        store.check_and_add(TEXTS, NAMES)
        store.merge()
    index = next((tmp_path / "store" / "segments").glob("*.index.nks"))
    flip(index)
    with nk.Store.open(tmp_path / "store") as store, pytest.raises(CorruptStoreError):
        store.verify()
    assert [str(index)] == [finding.place for finding in nk.Store.repair(tmp_path / "store")]
    with nk.Store.open(tmp_path / "store") as store:
        assert ["exact"] == store.check(TEXTS[:1]).status


@given(
    match=st.none() | st.builds(RecordedMatch, st.integers(0, 2**40), st.integers(-1, 999), st.floats(0, 1)),
    columns=st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=9), max_size=3),
    hashes=st.none() | st.lists(st.integers(0, 2**64 - 1), max_size=9),
)
@settings(deadline=None)
def test_extras_round_trip(match: RecordedMatch | None, columns: dict[str, Any], hashes: list[int] | None) -> None:
    """Match, columns and features; a truncated extra is an error."""
    packed = None if hashes is None else np.array(hashes, "<u8").tobytes()
    extra = pack_extra(match, columns, packed)
    assert (match, columns) == unpack_extra(extra)
    found = unpack_features(extra)
    assert hashes == (None if found is None else found.tolist())
    fixed = 1 + (24 if match else 0) + (4 + 8 * len(hashes) if hashes is not None else 0)
    for end in range(1, min(fixed, len(extra))):
        with pytest.raises(ValueError, match="cut off"):
            unpack_extra(extra[:end])


def test_features_of_texts_are_those_of_the_tokenizer() -> None:
    """Their number equals that of the fingerprint; texts with equal features have equal sets."""
    recipe = nk.Recipe("char:3|binary|xxh3|simhash:64")
    sets = feature_hashes(recipe, ["abcabc", "ABC", "", "bcab"])
    assert [3, 1, 0, 2] == [len(doc) // 8 for doc in sets]
    found = join_sets([np.frombuffer(doc, "<u8") for doc in sets])
    assert (4, [0, 3, 4, 4, 6]) == (len(found), found.offsets.tolist())
    assert set(found.hashes[4:].tolist()) < set(found.hashes[:3].tolist())


@pytest.mark.parametrize("texts", [["!!!"], ["", None, "!!!", "one text of words", "!!!"]])
def test_texts_without_features_are_copies_of_nothing(texts: list[str | None], tmp_path: Path) -> None:
    """Every one is new, or none is taken; alone and in a batch, checked and added, with ids and without."""
    ids = [f"d{row}" for row in range(len(texts))]
    featured = ["new" if text and text[0].isalpha() else "" for text in texts]
    with nk.Store.create(tmp_path / "keep") as store:
        bare = [text for text, status in zip(texts, featured, strict=True) if not status]
        for _ in range(2):
            assert ["new"] * len(bare) == store.check(bare).status == store.check_and_add(bare).status
        assert 2 * len(bare) == len(store)
    with nk.Store.create(tmp_path / "drop", empty="drop") as store:
        expected = [status or "empty" for status in featured]
        assert expected == store.check(texts).status
        result = store.check_and_add(texts, ids)
        assert expected == result.status
        assert [status == "new" for status in expected] == result.is_new.tolist()
        assert expected.count("new") == len(store)
        assert ["known" if status == "new" else "empty" for status in expected] == store.add(texts, ids).status
    with nk.Store.open(tmp_path / "drop") as store:
        assert "drop" == store.settings.to_dict()["empty"]
