"""`nk.explain` of weighted features: digits or planes of the caller lead to sums and bits."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin._core import feature_hash_names
from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.explain.texts import SimHashSteps

WEIGHTS = st.dictionaries(st.text("abc好", min_size=1, max_size=4), st.integers(-9, 9), min_size=1, max_size=8)


@given(st.data(), WEIGHTS, st.integers(1, 70))
def test_digits_and_planes_are_the_same_matrix(data: st.DataObject, weights: dict[str, int], bits: int) -> None:
    """The sums are the products with the columns of the digits, by rows and by planes; any number of bits."""
    digits = {name: data.draw(st.text("01", min_size=bits, max_size=bits)) for name in weights}
    signs = np.array([[2 * int(digit) - 1 for digit in digits[name]] for name in weights])
    steps = nk.explain(weights, hashes=digits)
    sums = [sum(weight * sign for weight, sign in zip(weights.values(), column, strict=True)) for column in signs.T]
    assert sums == steps.sums.tolist()
    assert "".join(str(int(total > 0)) for total in sums) == steps.bits
    assert int(steps.bits, 2) == steps.fingerprint
    planes = nk.explain(weights, planes=signs.T)
    as_list = nk.explain(list(weights.values()), hashes=list(digits.values()))
    assert (steps.bits, sums) == (planes.bits, planes.sums.tolist())
    assert (steps.bits, sums) == (as_list.bits, as_list.sums.tolist())
    lowest = nk.explain(weights, hashes=digits, bit_order="lowest")
    assert (steps.bits, int(steps.bits[::-1], 2)) == (lowest.bits, lowest.fingerprint)
    saved = json.loads(json.dumps(steps.to_dict()))
    assert (sums, steps.bits) == (saved["sums"], saved["bits"])
    assert json.loads(json.dumps(planes.to_dict()))["features"][0]["hash"] is None
    assert f"bits         {steps.bits}" in str(steps)


@settings(max_examples=200)
@given(name=st.sampled_from(sorted(feature_hash_names())), weights=WEIGHTS, bits=st.integers(1, 130))
def test_named_hashes_give_the_fingerprint_of_simhash(name: str, weights: dict[str, int], bits: int) -> None:
    bits = min(bits, 32) if name == "one_at_a_time" else bits
    weights = {feature: abs(weight) for feature, weight in weights.items()}
    values = np.atleast_1d(nk.SimHash(bits, hash=name).fingerprint([list(weights.items())])[0])
    expected = sum(int(word) << 64 * i for i, word in enumerate(values))
    for bit_order in ("highest", "lowest"):
        assert expected == nk.explain(weights, hashes=f"{name}:{bits}", bit_order=bit_order).fingerprint


def test_a_named_hash_has_64_bits_unless_it_says_otherwise() -> None:
    for hashes, bits in (("md5", 64), ("md5:128", 128), ("one_at_a_time", 32), ("fnv1a:int64", 64)):
        assert bits == len(nk.explain({"a": 1}, hashes=hashes).bits)


def test_a_function_is_a_hash() -> None:
    """Integers have the digits of their two's complement: 64, or the multiple that the longest needs."""
    known = {name: f"{value:064b}" for name, value in (("a", 5), ("b", 2**64 - 3))}
    weights = {"a": 2, "b": -3}
    expected = nk.explain(weights, hashes=known)
    assert expected == nk.explain(weights, hashes={"a": 5, "b": -3}.__getitem__)
    assert expected == nk.explain(weights, hashes=known.__getitem__)
    assert expected != nk.explain(weights, hashes="md5")
    wide = nk.explain(
        weights, hashes=lambda name: int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(), 16)
    )
    assert wide == nk.explain(weights, hashes="md5:128")


@pytest.mark.parametrize("weights", [{"red": 3, "wine": 2}, ["red", "wine"], [("red", 1.5)], [3, 2]])
def test_the_default_hash_is_that_of_simhash(weights: Any) -> None:
    """Weights alone, without a recipe, have the fingerprint of `SimHash`."""
    steps = nk.explain(weights)
    assert nk.explain(weights, hashes="xxh3") == steps
    features = dict(zip(steps.names, steps.weights, strict=True))
    assert int(nk.SimHash().fingerprint([features])[0]) == steps.fingerprint
    assert steps.fingerprint == nk.explain(weights, other=weights).a.fingerprint


@given(WEIGHTS)
def test_signed_digits_count_the_minus_sign_as_one(weights: dict[str, int]) -> None:
    """A value from 2**63 on is written as a minus sign and the 63 digits of 2**64 minus it."""
    plain, signed = (nk.explain(weights, hashes=f"fnv1a{form}") for form in ("", ":int64"))
    for unsigned, digits in zip(plain.hashes, signed.hashes, strict=True):
        value = int(unsigned, 2)
        assert digits == (unsigned if value < 2**63 else f"-{2**64 - value:063b}")
    signs = [[-1 if digit == "0" else 1 for digit in digits] for digits in signed.hashes]
    assert (signed.signs == np.array(signs)).all()
    assert plain.signs[:, 0].tolist() == signed.signs[:, 0].tolist()


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-9, 9)), min_size=1))
def test_pairs_of_features_and_weights_are_added(pairs: list[tuple[str, int]]) -> None:
    """Repeated features have the sum of their weights; features alone weigh 1 for each occurrence."""
    totals: Counter[str] = Counter()
    for name, weight in pairs:
        totals[name] += weight
    expected = nk.explain(dict(totals), hashes="md5")
    steps = nk.explain(pairs, hashes="md5")
    assert (expected.names, expected.weights, expected.bits) == (steps.names, steps.weights, steps.bits)
    names = [name for name, _ in pairs]
    assert nk.explain(names, hashes="md5").weights == tuple(Counter(names).values())


def test_keywords_are_weighted_features() -> None:
    """What `keywords` returns needs no conversion, and gives the fingerprint of its recipe."""
    recipe = nk.Recipe.preset("go-fnv1a")
    text = "共识算法是区块链系统的关键要素之一"
    steps = nk.explain(nk.keywords([text], recipe)[0], hashes="fnv1a")
    assert len(steps.names) > 2
    assert steps.fingerprint == int(nk.fingerprint([text], recipe)[0])


def test_two_lists_are_compared() -> None:
    a, b = {"red": 3, "wine": 2}, {"red": 1, "cheese": 4}
    hashes = {"red": "1010", "wine": "0110", "cheese": "0001"}
    comparison = nk.explain(a, hashes=hashes, other=b)
    assert (("red",), ("wine",), ("cheese",)) == (comparison.shared, comparison.only_a, comparison.only_b)
    assert ("1010", "0001") == (comparison.a.bits, comparison.b.bits)
    assert ((0, 2, 3), 3) == (comparison.differing, comparison.distance)
    assert "they differ  at 0 2 3" in str(comparison)
    assert 3 == json.loads(json.dumps(comparison.to_dict()))["distance"]
    same = nk.explain(a, hashes=hashes, other=a)
    assert (0, False) == (same.distance, "they differ" in str(same))
    assert 0 == nk.explain([1, 2], planes=[[1, -1]], other=[2, 4]).distance
    from nearkin.explain.features import compare_features

    with pytest.raises(MismatchError, match="bits"):
        compare_features(nk.explain({"a": 1}, hashes="md5"), nk.explain({"a": 1}, hashes="md5:8"))


def test_planes_have_any_coordinates() -> None:
    steps = nk.explain([2, -3], planes=np.array([[0.5, 0.25], [2**60, 2**60], [0, 1]]))
    assert [0.25, -(2.0**60), -3] == steps.sums.tolist()
    assert "100" == steps.bits
    wide = nk.explain([2**52, 1], planes=np.array([[2**63, 1]], np.uint64))
    assert [2.0**115] == wide.sums.tolist()


def test_long_lists_and_wide_rows_are_shortened_and_escaped() -> None:
    steps = nk.explain({f"<{i}\x1b>": 1.5 for i in range(30)}, hashes="xxh3")
    assert "… and 6 more" in str(steps)
    assert "row" not in str(steps).split("\n")[2].split()
    assert "\x1b" not in str(steps)
    assert "<0" not in steps._repr_html_()


@pytest.mark.parametrize(
    ("weights", "arguments", "message"),
    [
        ({"a": 1}, {"hashes": "md5", "planes": [[1]]}, "both"),
        ({}, {"hashes": "md5"}, "no features"),
        ([], {"planes": [[1]]}, "no features"),
        ([[1, 2]], {"hashes": "md5"}, r"shape \(1, 2\)"),
        ({1: 1}, {"hashes": "md5"}, "features that are strings"),
        ({"a": float("nan")}, {"hashes": "md5"}, r"value\['a'\]=nan .*a number between"),
        ({"a": "1"}, {"hashes": "md5"}, "a number between"),
        ({"a": 2**53}, {"hashes": "md5"}, "a number between"),
        ({"a": 10**400}, {"hashes": "md5"}, "a number between"),
        (dict.fromkeys(map(str, range(1025)), 2**53 - 1), {"hashes": "md5"}, "smaller weights"),
        ("a text", {"hashes": "md5"}, "list of weights, of features, or of .feature, weight. pairs"),
        ([("a", "b")], {"hashes": "md5"}, "as weight"),
        ({"a": 1}, {"hashes": {"b": "1"}}, "no hash of 'a'"),
        ({"a": 1}, {"hashes": ["1", "0"]}, "one for each of the 1 features"),
        ({"a": 1}, {"hashes": {"a": "12"}}, "digits 0 and 1"),
        ({"a": 1}, {"hashes": {"a": ""}}, "digits 0 and 1"),
        ({"a": 1}, {"hashes": {"a": 5}}, "digits 0 and 1"),
        ({"a": 1, "b": 1}, {"hashes": {"a": "10", "b": "1"}}, "one length"),
        ({"a": 1}, {"hashes": "crc32"}, "xxh3"),
        ({"a": 1}, {"hashes": "md5:0"}, "1 to 1024 bits"),
        ({"a": 1}, {"hashes": "md5:2000"}, "1 to 1024 bits"),
        ({"a": 1}, {"hashes": "md5:int32"}, "int64"),
        ({"a": 1}, {"hashes": "one_at_a_time:33"}, "1 to 32"),
        ({"a": 1}, {"planes": [[1, 2]]}, r"shape \(n_bits, 1\)"),
        ({"a": 1}, {"planes": [["x"]]}, "finite numbers"),
        ({"a": 1}, {"planes": [[float("inf")]]}, "finite numbers"),
        ({"a": 1}, {"hashes": "md5", "bit_order": "big"}, "highest"),
        ({"a": 1}, {"hashes": "md5", "recipe": "default"}, "no recipe with hashes or planes"),
        ({"a": 1}, {"hashes": "md5", "radius": 3}, "no radius with hashes or planes"),
        ("text", {"radius": 3}, "no radius with a recipe"),
        (b"text", {"recipe": "ssdeep", "bit_order": "lowest"}, "no bit_order with a recipe of digests"),
        ("text", {"bit_order": "big"}, "highest"),
    ],
)
def test_bad_arguments_say_what_is_allowed(weights: Any, arguments: dict[str, Any], message: str) -> None:
    explain: Any = nk.explain
    with pytest.raises(ParameterError, match=message):
        explain(weights, **arguments)


def test_a_lone_surrogate_has_no_hash() -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        nk.explain({"\ud800": 1}, hashes="md5")


@given(st.text(max_size=40))
def test_the_bit_order_of_a_text_reverses_what_is_written(text: str) -> None:
    """Digits, sums and signs turn around; the fingerprint does not change."""
    highest, lowest = nk.explain(text), nk.explain(text, bit_order="lowest")
    assert isinstance(highest, SimHashSteps)
    assert isinstance(lowest, SimHashSteps)
    assert highest.fingerprint == lowest.fingerprint
    assert highest.bits[::-1] == lowest.bits
    assert highest.to_dict()["sums"][::-1] == lowest.to_dict()["sums"] == lowest.sums.tolist()
    if highest.features:
        assert [row[-1][::-1] for row in highest._table()[1]] == [row[-1] for row in lowest._table()[1]]
