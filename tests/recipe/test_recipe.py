"""nearkin.recipe: text and JSON forms, invalid recipes, and golden values for all versions."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

import nearkin as nk
import reference
import strategies
from nearkin import errors
from nearkin.recipe import DEFAULT, PRESETS

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "recipes.json").read_text(encoding="utf-8"))


def golden_recipe(entry: dict[str, Any]) -> nk.Recipe:
    return nk.Recipe(entry["recipe"], stop_words=entry["stop_words"])


def as_integers(fps: Any) -> list[int]:
    """Convert fingerprints to integers: bit i is bit i % 64 of word i // 64."""
    return [sum(int(word) << 64 * j for j, word in enumerate(np.atleast_1d(row))) for row in fps]


# Forms


@given(recipe=strategies.recipes())
def test_text_form_round_trips(recipe: nk.Recipe) -> None:
    """The text form and the stop words determine the recipe."""
    assert recipe == nk.Recipe(str(recipe), stop_words=recipe.stop_words)


@given(recipe=strategies.recipes())
def test_json_form_round_trips(recipe: nk.Recipe) -> None:
    """The JSON form determines the recipe, its digest and its text form."""
    again = nk.Recipe.from_json(recipe.to_json())
    assert recipe == again
    assert (recipe.digest, str(recipe), hash(recipe)) == (again.digest, str(again), hash(again))


@given(recipe=strategies.recipes())
def test_digest_is_that_of_the_json_form(recipe: nk.Recipe) -> None:
    """The digest is 16 digits of the SHA-256 of the compact JSON form with sorted keys."""
    slots = json.loads(recipe.to_json())
    text = json.dumps(slots, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == recipe.digest


def test_given_features_round_trip() -> None:
    """The text form of given features has neither n-grams nor a weight."""
    recipe = nk.Recipe("given|fnv1a|simhash:64")
    assert "given|fnv1a|simhash:64" == str(recipe)
    assert recipe == nk.Recipe.from_json(recipe.to_json())
    assert ("given", 0, "given") == (recipe.features, recipe.n, recipe.weight)


def test_mixed_lengths_are_a_slot_that_older_forms_lack() -> None:
    """Digests of recipes with a single length are unchanged, and mixed lengths differ."""
    mixed = nk.Recipe("word:1-3")
    assert (1, 3) == (mixed.min_n, mixed.n)
    assert nk.Recipe("word:3") == mixed.with_(min_n=0) == mixed.with_(min_n=3) == mixed.with_text("word:3")
    assert "min_n" not in json.loads(nk.Recipe("word:3").to_json())
    assert 1 == json.loads(mixed.to_json())["min_n"]
    assert nk.Recipe("given|fnv1a|simhash:64") == mixed.with_(features="given", weight="given", hash="fnv1a", bits=64)
    with pytest.raises(errors.MismatchError, match="slot min_n"):
        mixed.check_same(nk.Recipe("word:3"))


def test_recipes_that_become_given_round_trip() -> None:
    """Given features have no n, however the recipe was built."""
    recipe = nk.Recipe().with_(features="given", weight="given")
    assert recipe == nk.Recipe(str(recipe))


def test_stop_words_are_not_one_string() -> None:
    """`stop_words="the"` is refused instead of being read as three letters."""
    with pytest.raises((TypeError, errors.ParameterError)):
        nk.Recipe("word:1|count|xxh3|simhash:64", stop_words="the")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("simhash:64|xxh3|count|char:4", "char:4|count|xxh3|simhash:64"),
        (" char:4 | count | xxh3 | simhash:64 ", "char:4|count|xxh3|simhash:64"),
        ("norm:nfkc|case:fold|letters:word|char:4|count|xxh3:0|simhash:64", "char:4|count|xxh3|simhash:64"),
        ("word:2|letters:all|case:keep|norm:none", "norm:none|case:keep|letters:all|word:2|binary|xxh3|simhash:128"),
        ("xxh3:007|simhash:064", "char:4|binary|xxh3:7|simhash:64"),
        ("word:1-3|xxh3", "word:1-3|binary|xxh3|simhash:128"),
        ("minhash:64:64:weighted|log|top:9", "char:4|log|top:9|xxh3|minhash:64:weighted:64"),
        ("char:02-02", "char:2|binary|xxh3|simhash:128"),
    ],
)
def test_text_form_is_canonical(text: str, canonical: str) -> None:
    """Segments may have any order, spaces and defaults; `str` returns one form."""
    assert canonical == str(nk.Recipe(text))


def test_defaults_are_the_default_recipe() -> None:
    """Recipe(), the preset, None and the default text form are equal."""
    recipe = nk.Recipe()
    assert DEFAULT == str(recipe)
    assert recipe == nk.Recipe(DEFAULT) == nk.Recipe.preset("default") == nk.Recipe.of(None) == nk.Recipe.of("default")
    assert ("nfkc", "fold", "word", (), "xxh3", 0, "simhash") == (
        recipe.norm,
        recipe.case,
        recipe.letters,
        recipe.stop_words,
        recipe.hash,
        recipe.seed,
        recipe.family,
    )
    assert {"recipe", "text", "words", "hash", "simhash"} == set(json.loads(recipe.to_json())["versions"])


def test_presets_are_recipes() -> None:
    """Every preset equals its text form."""
    for name, text in PRESETS.items():
        assert text == str(nk.Recipe.preset(name))
        assert nk.Recipe.of(name) == nk.Recipe.preset(name)


# Values


@given(left=strategies.recipes(), right=strategies.recipes())
def test_recipes_are_equal_when_every_slot_is(left: nk.Recipe, right: nk.Recipe) -> None:
    """Equality, hash, digest and check_same agree with each other and with the slots."""
    same = json.loads(left.to_json()) == json.loads(right.to_json())
    assert same == (left == right) == (left.digest == right.digest)
    assert not same or hash(left) == hash(right)
    if same:
        left.check_same(right)
    else:
        with pytest.raises(errors.MismatchError):
            left.check_same(right)
    assert left != str(left)


@given(recipe=strategies.recipes())
def test_recipes_survive_pickling_and_copying(recipe: nk.Recipe) -> None:
    """A copy in a worker process returns the same bits."""
    for again in (pickle.loads(pickle.dumps(recipe)), copy.deepcopy(recipe)):  # noqa: S301
        assert recipe == again
        texts = ["Some text, sent twice.", "中文"]
        assert nk.fingerprint(texts, recipe).tolist() == nk.fingerprint(texts, again).tolist()


def test_recipes_are_frozen() -> None:
    """Slots cannot be set, and the error suggests `with_`."""
    recipe = nk.Recipe()
    with pytest.raises(AttributeError, match=r"frozen; recipe\.with_\(bits=\.\.\.\)"):
        recipe.bits = 64
    assert 128 == recipe.bits


def test_slots_can_not_be_deleted() -> None:
    """Slots cannot be deleted."""
    recipe = nk.Recipe()
    with pytest.raises(AttributeError, match="frozen"):
        del recipe.bits


def test_with_changes_the_slots_named_alone() -> None:
    """`with_` returns another recipe and does not change the first."""
    recipe = nk.Recipe("case:keep|word:2|binary|murmur3:7|simhash:64")
    other = recipe.with_(bits=100, hash="xxh3")
    assert "case:keep|word:2|binary|xxh3:7|simhash:100" == str(other)
    assert "case:keep|word:2|binary|murmur3:7|simhash:64" == str(recipe)
    assert recipe == other.with_(bits=64, hash="murmur3")


@pytest.mark.parametrize(
    ("slot", "value", "other"),
    [
        ("norm", "nfkc", "nfc"),
        ("case", "fold", "keep"),
        ("letters", "word", "all"),
        ("stop_words", ("the",), ("a",)),
        ("features", "word", "char"),
        ("n", 3, 2),
        ("weight", "count", "binary"),
        ("cut", "jieba", "script"),
        ("stop", ("en",), ("en", "zh")),
        ("min_length", 2, 1),
        ("top", "20", "5%"),
        ("hash", "xxh3", "lookup3"),
        ("seed", 0, 1),
        ("bits", 128, 64),
    ],
)
def test_check_same_names_the_slot_that_differs(slot: str, value: object, other: object) -> None:
    """The error contains the slot and both values."""
    base = nk.Recipe().with_(features="word", n=3)
    stop_words = () if slot == "features" else ("the",)
    left, right = (
        base.with_(**{"stop_words": stop_words, slot: value}),
        base.with_(**{"stop_words": stop_words, slot: other}),
    )
    with pytest.raises(errors.MismatchError, match=f"recipe slot {slot} differs") as caught:
        left.check_same(right)
    assert (value, other) == (caught.value.left, caught.value.right)


def test_check_same_names_the_first_of_several() -> None:
    """Slots are compared in order, from the text to the bits."""
    with pytest.raises(errors.MismatchError, match="recipe slot case differs"):
        nk.Recipe().check_same(nk.Recipe("case:keep|char:3|count|md5|simhash:64"))


def test_stop_words_have_no_order_and_no_copies() -> None:
    """Stop words are a set."""
    text = "word:1|count|xxh3|simhash:64"
    assert nk.Recipe(text, stop_words=["b", "a", "b"]) == nk.Recipe(text, stop_words=("a", "b"))
    assert ("a", "b") == nk.Recipe(text, stop_words={"b", "a"}).stop_words


def test_stop_words_are_normalised_as_the_text_is() -> None:
    """A stop word matches every spelling that normalisation and case folding make equal."""
    recipe = nk.Recipe("word:1|count|xxh3|simhash:64", stop_words=["THE", "ﬁne"])
    assert {"dog": 1, "is": 1} == recipe.features_of("The dog is FINE")


@given(recipe=strategies.recipes(letters=("python", "all")), text=strategies.texts())
def test_features_are_those_of_the_definition(recipe: nk.Recipe, text: str) -> None:
    """`features_of` counts the features as `unicodedata` and `re` do."""
    slots = json.loads(recipe.to_json())
    expected: dict[str, int] = {}
    for feature in reference.features(
        text, slots["features"], slots["n"], norm=slots["norm"], case=slots["case"], letters=slots["letters"],
        stop_words=slots["stop_words"], min_n=slots.get("min_n", 0),
    ):  # fmt: skip
        expected[feature] = expected.get(feature, 0) + 1
    assert list(expected.items()) == list(recipe.features_of(text).items())


# Refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not one of them"),
        ("char:3-2", "min_n=3 is not allowed; use 1 to n, which is 2"),
        ("char:0-2", "char='0-2' is not allowed; use 1 or more as the shortest, such as char:1-2"),
        ("char:1-", "char='1-' is not allowed"),
        ("word:1-2-3", "word='1-2-3' is not allowed"),
        ("word:1-65", "n=65 is not allowed"),
        ("word:1-2|textrank", "textrank with word:1 alone"),
        ("char:4|count|crc32|simhash:64", "'crc32' is not one of them"),
        ("char:4|count|xxh3|hyperhash:64", "'hyperhash:64' is not one of them"),
        ("char:4||count|xxh3|simhash:64", "'' is not one of them"),
        ("char:4|count:2|xxh3|simhash:64", "'count:2' is not one of them"),
        ("given:3|xxh3|simhash:64", "'given:3' is not one of them"),
        ("Char:4|count|xxh3|simhash:64", "use char:4 in place of 'Char:4'"),
        ("stop:xyz|word:1|count|xxh3|simhash:64", "stop=xyz is not allowed; use names of lists"),
        ("char:4|char:4|count|xxh3|simhash:64", "one features, not two"),
        ("char:4|word:4|count|xxh3|simhash:64", "one features, not two"),
        ("char:4|given|xxh3|simhash:64", "one features, not two"),
        ("char:4|count|binary|xxh3|simhash:64", "one weight, not two"),
        ("given|count|xxh3|simhash:64", "one weight, not two"),
        ("char:4|count|xxh3|md5|simhash:64", "one hash, not two"),
        ("char:4|count|xxh3|simhash:64|simhash:64", "one family, not two"),
        ("case:keep|case:keep|char:4", "one case, not two"),
        ("norm:nfd|char:4|count|xxh3|simhash:64", "norm=nfd is not allowed; use nfkc, nfc, none"),
        ("case:upper|char:4|count|xxh3|simhash:64", "case=upper is not allowed; use fold, lower, keep"),
        ("letters:ascii|char:4|count|xxh3|simhash:64", "letters=ascii is not allowed; use word, python, all"),
        ("char|count|xxh3|simhash:64", "char='' is not allowed; use a whole number"),
        ("char:four|count|xxh3|simhash:64", "char='four' is not allowed; use a whole number"),
        ("char:-1|count|xxh3|simhash:64", "char='-1' is not allowed; use a whole number"),
        ("char:４|count|xxh3|simhash:64", "is not allowed; use a whole number"),
        ("char:0|count|xxh3|simhash:64", "char='0' is not allowed; use 1 or more, such as char:3"),
        ("word:65|count|xxh3|simhash:64", "n=65 is not allowed; use 1 to 64"),
        ("char:4|count|xxh3|simhash:0", "bits=0 is not allowed; use 1 to 1024"),
        ("char:4|count|xxh3|simhash:1025", "bits=1025 is not allowed; use 1 to 1024"),
        ("char:4|count|one_at_a_time|simhash:33", "bits=33 is not allowed; use 1 to 32"),
        ("char:4|count|md5:1|simhash:64", "seed=1 is not allowed; use 0"),
        ("char:4|count|murmur3:4294967296|simhash:64", "seed=4294967296 is not allowed"),
        ("char:4|count|xxh3:18446744073709551616|simhash:64", "is not allowed; use a whole number"),
        ("char:4|count|xxh3|simhash:4294967296", "is not allowed; use"),
    ],
)
def test_faulty_text_forms_are_refused(text: str, message: str) -> None:
    """Unknown, repeated and out-of-range segments are refused with what is allowed."""
    with pytest.raises(errors.ParameterError, match=message):
        nk.Recipe(text)


@pytest.mark.parametrize("text", [None, 64, b"char:4", ["char:4"]])
def test_a_text_form_is_a_string(text: Any) -> None:
    """Other types are refused."""
    with pytest.raises(errors.ParameterError, match=r"use the text form, such as char:"):
        nk.Recipe(text)


def test_missing_and_foreign_stop_words_are_refused() -> None:
    """A text form with a digest of stop words requires exactly these words."""
    recipe = nk.Recipe("word:1|count|xxh3|simhash:64", stop_words=["a", "the"])
    for words in ([], ["a"], ["a", "the", "of"]):
        with pytest.raises(errors.MismatchError, match="stop words differs"):
            nk.Recipe(str(recipe), stop_words=words)


def test_stop_words_need_words() -> None:
    """Stop words are refused with character n-grams."""
    with pytest.raises(errors.ParameterError, match="stop_words=1 words is not allowed; use none with char n-grams"):
        nk.Recipe("char:4|count|xxh3|simhash:64", stop_words=["the"])


@pytest.mark.parametrize(
    "slots",
    [
        {"size": 3},
        {"bits": 0},
        {"bits": -1},
        {"bits": 1 << 32},
        {"n": 0},
        {"n": -4},
        {"seed": -1},
        {"seed": 1 << 64},
        {"norm": "nfd"},
        {"case": "upper"},
        {"letters": "ascii"},
        {"features": "line"},
        {"features": "given"},
        {"weight": "given"},
        {"weight": "tfidf"},
        {"hash": "crc32"},
        {"family": "hyperhash"},
    ],
)
def test_with_refuses_what_the_text_form_refuses(slots: dict[str, Any]) -> None:
    """`with_` checks every slot."""
    with pytest.raises(errors.ParameterError, match="is not allowed; use"):
        nk.Recipe().with_(**slots)


def test_unknown_presets_are_refused() -> None:
    """The error lists the presets."""
    with pytest.raises(
        errors.ParameterError, match="preset=gaoya is not allowed; use one of containment, default, go-fnv1a, "
    ):
        nk.Recipe.preset("gaoya")


@pytest.mark.parametrize(
    "change",
    [
        lambda slots: slots.pop("n"),
        lambda slots: slots.pop("versions"),
        lambda slots: slots.update(extra=1),
        lambda slots: slots.update(n="four"),
        lambda slots: slots.update(bits=-1),
        lambda slots: slots.update(stop_words=7),
    ],
)
def test_faulty_json_forms_are_refused(change: Any) -> None:
    """Missing, unknown and invalid slots are refused."""
    slots = json.loads(nk.Recipe().to_json())
    change(slots)
    with pytest.raises(errors.ParameterError, match=r"recipe=.* is not allowed"):
        nk.Recipe.from_json(json.dumps(slots))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7", '"char:4"', '{"n": 3, "n": 4}'])
def test_what_is_no_json_form_is_refused(text: str) -> None:
    """Other text is refused."""
    with pytest.raises(errors.ParameterError, match=r"use the text of Recipe\.to_json"):
        nk.Recipe.from_json(text)


@pytest.mark.parametrize("part", ["recipe", "text", "words", "hash", "simhash"])
def test_json_forms_of_other_versions_are_refused(part: str) -> None:
    """Recipes of other versions are refused."""
    slots = json.loads(nk.Recipe().to_json())
    slots["versions"][part] += 1
    with pytest.raises(errors.MismatchError, match="versions of the recipe differs"):
        nk.Recipe.from_json(json.dumps(slots))


# Golden values


GOLDEN_VALUES = [
    *((golden_recipe(entry), GOLDEN["texts"], entry) for entry in GOLDEN["recipes"]),
    # Recipes with folds and `numbers:whole`, on texts with and without such characters.
    *(
        (nk.Recipe(entry["recipe"]), GOLDEN[name]["texts"], entry)
        for name in ("slots", "code")
        for entry in GOLDEN[name]["recipes"]
    ),
]


@pytest.mark.parametrize(
    ("recipe", "texts", "entry"), GOLDEN_VALUES, ids=[str(recipe) for recipe, _, _ in GOLDEN_VALUES]
)
def test_golden_fingerprints_come_out_again(recipe: nk.Recipe, texts: dict[str, str], entry: dict[str, Any]) -> None:
    """Text form, digest, JSON form, fingerprints and counts equal the committed values."""
    assert (entry["recipe"], entry["digest"], entry["json"]) == (str(recipe), recipe.digest, recipe.to_json())
    fps, counts = nk.fingerprint(list(texts.values()), recipe, return_counts=True)
    assert entry["counts"] == dict(zip(texts, counts.tolist(), strict=True))
    result = dict(zip(texts, as_integers(fps), strict=True))
    assert {name: int(value, 16) for name, value in entry["fingerprints"].items()} == result


@pytest.mark.parametrize(
    "entry",
    # UAX #29 words are not in the standard library; those of `text.rs` and `jieba` pin these words.
    [
        entry
        for entry in GOLDEN["recipes"]
        if "|word:" not in "|" + entry["recipe"] or ("letters:" in entry["recipe"] and "cut:" not in entry["recipe"])
    ],
    ids=lambda entry: entry["recipe"],
)
def test_golden_fingerprints_are_those_of_the_definition(entry: dict[str, Any]) -> None:
    """A reference in plain Python computes the same golden values."""
    slots = json.loads(entry["json"])
    expected = {name: reference.simhash_of_text(text, slots) for name, text in GOLDEN["texts"].items()}
    result = {name: (int(entry["fingerprints"][name], 16), entry["counts"][name]) for name in GOLDEN["texts"]}
    assert expected == result


@pytest.mark.parametrize("entry", GOLDEN["signatures"], ids=lambda entry: entry["recipe"])
def test_golden_signatures_come_out_again(entry: dict[str, Any]) -> None:
    """Signatures of every scheme and width, with several hashes and segmenters."""
    recipe = nk.Recipe(entry["recipe"])
    assert entry["digest"] == recipe.digest
    result = nk.signature(list(GOLDEN["texts"].values()), recipe).tolist()
    assert entry["signatures"] == dict(zip(GOLDEN["texts"], result, strict=True))


@pytest.mark.parametrize("preset", list(GOLDEN["keywords"]))
def test_golden_keywords_come_out_again(preset: str) -> None:
    """Words, order and weights are equal to the last bit."""
    result = nk.keywords(list(GOLDEN["texts"].values()), preset, top="5")
    expected = [[tuple(pair) for pair in GOLDEN["keywords"][preset][name]] for name in GOLDEN["texts"]]
    assert expected == result


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2009", "\t"])
def test_keywords_do_not_depend_on_the_kind_of_space(space: str) -> None:
    """Every kind of space separates words, with and without normalisation."""
    text = "美国 经济 增长 的 报告 and the quick brown fox"
    for preset in ("zh-keywords", "zh-textrank", "jieba-jenkins", "go-fnv1a"):
        assert nk.keywords([text], preset) == nk.keywords([text.replace(" ", space)], preset)
    for recipe in ("char:4|count|xxh3|simhash:64", "word:2|count|xxh3|simhash:64", "zh-keywords", "minhash"):
        first, other = (
            nk.signature([each], recipe) if recipe == "minhash" else nk.fingerprint([each], recipe)
            for each in (text, text.replace(" ", space))
        )
        assert first.tolist() == other.tolist()


@pytest.mark.parametrize("entry", GOLDEN["given"], ids=lambda entry: entry["hash"])
def test_golden_fingerprints_of_given_features_come_out_again(entry: dict[str, Any]) -> None:
    """Given features with integers beyond 2^53 and floats as weights."""
    name, seed = entry["hash"].split(":")
    result = nk.SimHash(128, hash=name, seed=int(seed)).fingerprint([[tuple(pair) for pair in entry["document"]]])
    assert [int(value, 16) for value in entry["fingerprint"]] == as_integers(result)


def test_golden_fingerprints_of_sparse_rows_come_out_again() -> None:
    """Rows of a CSR matrix, including an empty one."""
    rows = csr_array(np.array(GOLDEN["csr"]["rows"]))
    result = nk.SimHash(64).fingerprint_csr(rows)
    assert [int(value, 16) for value in GOLDEN["csr"]["fingerprints"]] == as_integers(result)
