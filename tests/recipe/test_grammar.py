"""nearkin.recipe.grammar: every slot is checked, and the message says what is allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import MismatchError, ParameterError
from nearkin.recipe.grammar import CHOICES, DEFAULTS, FAMILIES, RANGES, check_slots, parse

TABLE = nk.Idf.fit(["red wine", "red cheese"], "word:1")


def test_nothing_given_is_the_default() -> None:
    """Every slot of the default family has its default."""
    assert {**DEFAULTS, **FAMILIES["simhash"]} == check_slots({})


@given(name=st.sampled_from(sorted(RANGES)), value=st.integers(-(2**70), 2**70))
def test_numbers_are_those_of_their_ranges(name: str, value: int) -> None:
    """Both ends of a range are allowed, and values outside are refused with the range."""
    minimum, maximum = RANGES[name]
    given_slots = {"family": "minhash" if name == "num_perm" else "simhash", name: value}
    if minimum <= value <= maximum:
        slots: dict[str, Any] = {**check_slots(given_slots)}
        assert value == slots[name]
    else:
        with pytest.raises(ParameterError, match=f"{name}={value} is not allowed; use {minimum} to {maximum}"):
            check_slots(given_slots)


@pytest.mark.parametrize("name", sorted(RANGES))
@pytest.mark.parametrize("value", [True, 4.0, "4", None])
def test_numbers_are_whole(name: str, value: object) -> None:
    """Bools, floats and strings are refused."""
    minimum, maximum = RANGES[name]
    with pytest.raises(ParameterError, match=f"{name}={value!r} is not allowed; use {minimum} to {maximum}"):
        check_slots({"family": "minhash" if name == "num_perm" else "simhash", name: value})


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ({"family": ["simhash"]}, r"family=\['simhash'\] is not allowed; use simhash or minhash"),
        ({"family": "hyperhash"}, "family='hyperhash' is not allowed; use simhash or minhash"),
        ({"norm": 3}, "norm=3 is not allowed; use nfkc, nfc, none"),
        ({"case": None}, "case=None is not allowed; use fold, lower, keep"),
        ({"letters": b"all"}, "letters=b'all' is not allowed; use word, python, all"),
        ({"cut": 1}, "cut=1 is not allowed; use uax29, jieba, cppjieba, script, code"),
        ({"features": 1}, "features=1 is not allowed; use segments"),
        ({"weight": None}, "weight=None is not allowed; use segments"),
        ({"top": 5}, "top=5 is not allowed; use segments"),
        ({"hash": None}, "hash=None is not allowed; use segments"),
        ({"stop": "en"}, "stop='en' is not allowed; use an iterable of words, such as a list of str"),
        ({"stop_words": 7}, "stop_words=7 is not allowed; use an iterable of words"),
        ({"stop_words": ["a", 7]}, r"stop_words=\['a', 7\] is not allowed; use an iterable of words"),
        ({"tags": ["N"]}, "tags='N' is not allowed; use tags of small letters, such as n,ns,v,vn"),
        ({"user_words": [7]}, r"user_words=\[7\] is not allowed; use lines such as 'word 3 n'"),
        ({"user_words": 7}, "user_words=7 is not allowed; use lines such as 'word 3 n'"),
        ({"idf": "jieba"}, "idf=jieba is not allowed; use a table with the weight idf, none with others"),
        ({"weight": "idf"}, "idf=None is not allowed; use a table with the weight idf, none with others"),
        ({"weight": "idf", "idf": 3}, "idf=3 is not allowed; use a fitted nearkin.Idf, or cppjieba or jieba"),
        ({"weight": "idf", "idf": "zh"}, "idf=zh is not allowed; use jieba, cppjieba, or a digest with its table"),
        ({"family": "minhash", "scheme": "two"}, "scheme='two' is not allowed; use one or fast or classic"),
        ({"family": "minhash", "value_bits": 16}, "value_bits=16 is not allowed; use 32 or 64"),
    ],
)
def test_values_that_their_slot_can_not_have_are_refused(slots: dict[str, object], message: str) -> None:
    """Wrong types raise ParameterError, never a TypeError of the compiled core."""
    with pytest.raises(ParameterError, match=message):
        nk.Recipe().with_(**slots)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("char:4|given", "one features, not two"),
        ("given|top:5", "top=5 is not allowed; use all with given features"),
        ("count|minhash:64", "weight=count is not allowed; use binary with minhash, which compares sets"),
        ("top:5|minhash:64", "top=5 is not allowed; use all with minhash, which compares whole sets"),
        ("minhash:64:one:fast", "one scheme, not two"),
        ("minhash:64:32:64", "one value_bits, not two"),
        (
            "minhash:64:16",
            "minhash='16' is not allowed; use minhash:NUM_PERM, then one, fast, classic or weighted, then",
        ),
        (
            "idf:jieba|word:1|minhash:8:fast",
            "binary with minhash, .* or a scheme for weights, minhash:NUM_PERM:weighted",
        ),
        ("minhash:", "minhash='' is not allowed; use a whole number"),
        ("textrank|word:2", "weight=textrank is not allowed; use textrank with word:1 alone"),
        ("tags:n|word:1", "tags=n is not allowed; use none without cut:jieba"),
        ("cut:script|letters:all|word:1", "letters=python or all is not allowed; use word with cut:script"),
        ("min_length:2|char:4", "cut=a rule for words is not allowed; use word:n with cut, min_length and tags"),
        ("stop:0123456789abcdef,fedcba9876543210|word:1", "use names of lists .* and at most one digest of stop words"),
        ("top:0%|word:1", "top=0% is not allowed; use all, a number from 1, or a share from 1% to 100%"),
        ("idf:zh|word:1", "'idf:zh' is not one of them"),
    ],
)
def test_slots_that_do_not_go_together_are_refused(text: str, message: str) -> None:
    """Constraints between slots are checked."""
    with pytest.raises(ParameterError, match=message):
        nk.Recipe(text)


@pytest.mark.parametrize("slots", [{"weight": "given"}, {"features": "given"}])
def test_given_features_have_given_weights(slots: dict[str, object]) -> None:
    """Given features require given weights, and vice versa."""
    allowed = "given with given features, count, binary, log, idf or textrank with others"
    with pytest.raises(ParameterError, match=f"use {allowed}"):
        nk.Recipe().with_(**slots)


def test_segments_of_a_family_have_any_order() -> None:
    """Scheme and bits of a value follow the number in any order."""
    assert nk.Recipe("minhash:64:fast:64") == nk.Recipe("minhash:64:64:fast")
    assert {"family", "num_perm", "scheme", "value_bits"} == set(parse("minhash:64:64:fast"))
    assert set(FAMILIES["minhash"]) >= set(CHOICES)


def test_tables_and_dictionaries_must_be_those_of_the_digests() -> None:
    """A table must have the digest of the text form, and is refused without one."""
    text = f"word:1|idf:{TABLE.digest}|xxh3|simhash:64"
    recipe = nk.Recipe(text, idf=TABLE)
    assert recipe == nk.Recipe.from_json(recipe.to_json(), idf=TABLE)
    with pytest.raises(MismatchError, match=f"IDF table differs: recipe with idf:{TABLE.digest} against no table"):
        nk.Recipe(text)
    other = nk.Idf.fit(["blue"], "word:1")
    with pytest.raises(MismatchError, match=f"against a table with idf:{other.digest}"):
        nk.Recipe(text, idf=other)
    with pytest.raises(MismatchError, match="IDF table differs"):
        nk.Recipe.from_json(recipe.to_json())
    with pytest.raises(ParameterError, match=f"use it with the weight idf:{TABLE.digest}"):
        nk.Recipe("word:1|count|xxh3|simhash:64", idf=TABLE)


def test_user_words_must_be_those_of_the_digest() -> None:
    """The JSON form contains only the digest of the words."""
    recipe = nk.Recipe("cut:jieba|word:1", user_words=["云计算 5 n", ""])
    assert "云计算 5 n" == recipe.user_words
    assert recipe == nk.Recipe(str(recipe), user_words="云计算 5 n\n")
    assert recipe == nk.Recipe.from_json(recipe.to_json(), user_words="云计算 5 n")
    for words, result in (("", "against no words"), ("云", "against words with user:")):
        with pytest.raises(MismatchError, match=result):
            nk.Recipe(str(recipe), user_words=words)
        with pytest.raises(MismatchError, match=result):
            nk.Recipe.from_json(recipe.to_json(), user_words=words)


def test_with_text_changes_the_slots_that_it_names() -> None:
    """Changing the weight removes the table; stop words of another digest are refused."""
    recipe = nk.Recipe(f"word:1|idf:{TABLE.digest}|xxh3|simhash:64", idf=TABLE, stop_words=[])
    assert None is recipe.with_text("count").idf
    assert recipe == recipe.with_text(f"idf:{TABLE.digest}")
    stopped = nk.Recipe("word:1|count|xxh3|simhash:64", stop_words=["a"])
    assert stopped.with_(bits=32) == stopped.with_text(str(stopped).split("|")[0] + "|simhash:32")
    with pytest.raises(MismatchError, match="stop words differs"):
        stopped.with_text("stop:0123456789abcdef")


def test_a_recipe_of_json_has_the_slots_of_its_family() -> None:
    """Slots of another family are unknown."""
    slots = json.loads(nk.Recipe("minhash:64").to_json())
    slots["bits"] = 64
    with pytest.raises(ParameterError, match="recipe=slot bits is not allowed; use the slots norm, fold, case"):
        nk.Recipe.from_json(json.dumps(slots))


def test_a_recipe_shows_its_text_form() -> None:
    """`repr` is the constructor call."""
    assert "Recipe('char:4|binary|xxh3|simhash:128')" == repr(nk.Recipe())
    assert nk.Recipe() != "char:4|binary|xxh3|simhash:128"


def test_unknown_slots_are_named_with_the_known_ones() -> None:
    """The error of `with_` lists the slots."""
    with pytest.raises(ParameterError, match=r"slot=size is not allowed; use one of norm, fold, case, .*bits"):
        nk.Recipe().with_(size=3)
    with pytest.raises(ParameterError, match=r"slot=bits is not allowed; use one of norm, .*num_perm"):
        nk.Recipe("minhash:64").with_(bits=3)
