"""`nk.explain` of texts: the steps lead to the fingerprint or signature."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import MismatchError, ParameterError
from nearkin.explain import explain
from nearkin.explain.texts import MinHashSteps, SimHashSteps, compare_steps
from nearkin.notebook import cells
from nearkin.recipe import PRESETS

RECIPES = [
    *PRESETS,
    "char:1|count|md5|simhash:1",
    "char:4|binary|sha1|simhash:160",
    "word:2|count|murmur3|simhash:64",
    "word:1|count|fnv1a|simhash:100",
    "char:3|binary|xxh3|minhash:64",
    "word:1|binary|xxh3|minhash:32:classic",
]


def simhash(text: str, recipe: str | None = None) -> SimHashSteps:
    steps = explain(text, recipe)
    assert isinstance(steps, SimHashSteps)
    return steps


def as_number(values: Any) -> int:
    """Return the words of a fingerprint as one number."""
    return sum(int(word) << 64 * at for at, word in enumerate(np.atleast_1d(values)))


@pytest.mark.parametrize("recipe", RECIPES)
@given(text=st.text(max_size=60) | st.sampled_from(["我爱北京天安门，天安门上太阳升", "a b c a b", "How are you?"]))
def test_the_steps_lead_to_the_fingerprint(recipe: str, text: str) -> None:
    parsed = nk.Recipe.of(recipe)
    steps = explain(text, parsed)
    assert dict(parsed.features_of(text)) == {
        **{feature.name: feature.count for feature in steps.features},
        **dict(steps.left_out),
    }
    if isinstance(steps, SimHashSteps):
        values, counts = nk.fingerprint([text], parsed, return_counts=True)
        assert (steps.fingerprint is None) == (not counts[0])
        assert (steps.fingerprint or 0) == as_number(values[0])
        # The sums determine the bits, and the rows determine the sums.
        assert as_number(values[0]) == sum(1 << bit for bit, total in enumerate(steps.sums.tolist()) if total > 0)
        np.testing.assert_allclose(steps.sums, steps.rows.sum(axis=0), atol=1e-9)
        given_features = [(feature.name, feature.weight) for feature in steps.features]
        sums = nk.SimHash(parsed.bits, hash=parsed.hash, seed=parsed.seed).fingerprint([given_features])
        assert as_number(sums[0]) == as_number(values[0])
    else:
        assert isinstance(steps, MinHashSteps)
        assert nk.signature([text], parsed)[0].tolist() == list(steps.signature)
        assert (not steps.features) == (None in steps.owners)
        assert sum(steps.won) == (parsed.num_perm if steps.features else 0)
    assert json.loads(json.dumps(steps.to_dict()))["recipe"] == str(parsed)
    assert str(steps).startswith(f"recipe       {parsed}")


def test_the_example_of_the_articles() -> None:
    """`How are you?` by MD5, as in articles about SimHash."""
    steps = simhash("How are you?", "simhash-pypi")
    assert "howareyou" == steps.normalised
    assert ["howa", "owar", "ware", "arey", "reyo", "eyou"] == [feature.name for feature in steps.features]
    assert 98593099505511350710740956016689849066 % 2**64 == steps.features[0].hash
    assert [-4, 0, -4, 4, -2, 0, 0, 4] == steps.sums[:8].tolist()
    assert 3891612042386514056 == steps.fingerprint
    comparison = explain("how are u?", nk.Recipe.of("simhash-pypi"), other="how are you?")
    assert (12, 12) == (comparison.distance, len(comparison.differing))
    assert (("howa", "owar", "ware"), ("areu",)) == (comparison.shared, comparison.only_a)


def test_omitted_words_and_features_are_listed() -> None:
    steps = simhash("我爱北京天安门，天安门上太阳升", "zh-keywords")
    assert ("我", False) in steps.words
    assert ("天安门", True) in steps.words
    assert "(我)" in str(steps)
    top = simhash("one two two three three three", "word:1|idf:jieba|top:2|xxh3|simhash:64")
    assert 2 == len(top.features)
    assert 1 == len(top.left_out)
    assert "left out" in str(top)


@given(a=st.text(max_size=30), b=st.text(max_size=30))
def test_distances_are_those_of_fingerprints(a: str, b: str) -> None:
    comparison = explain(a, other=b)
    values, counts = nk.fingerprint([a, b], return_counts=True)
    assert comparison.distance == (int(np.asarray(nk.hamming(values[:1], values[1:]))[0]) if counts.all() else None)
    assert json.loads(json.dumps(comparison.to_dict()))["distance"] == comparison.distance
    assert str(comparison)


def test_html_escapes_texts() -> None:
    for steps in (
        explain("<script>alert(1)</script> & <b>", "word:1|count|xxh3|simhash:64"),
        explain("<i>", "minhash", other="<b>"),
    ):
        html = steps._repr_html_()
        assert "<script>" not in html
        assert "<i>" not in html
    assert "none: a text without any feature" in explain("...")._repr_html_()


def test_control_characters_are_escaped() -> None:
    assert "\x1b" not in str(explain("a\x1b[31m b", "word:1|letters:all|count|xxh3|simhash:64", other="\x1b"))


def test_bad_input() -> None:
    with pytest.raises(TypeError, match="a text must be a string, not bytes"):
        explain(b"bytes")  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="a recipe of texts"):
        explain("text", "given|xxh3|simhash:64")
    with pytest.raises(MismatchError):
        compare_steps(simhash("a"), simhash("a", "char:3|count|xxh3|simhash:64"))


def test_tables_count_the_columns_of_full_width_characters() -> None:
    """天 has two columns of a terminal, a combining mark none."""
    lines = str(explain("天安门 x e\u0301", "word:1|count|xxh3|simhash:16")).split("\n")
    start = lines.index(next(line for line in lines if "signs" in line))
    table = lines[start : start + 1 + len(simhash("天安门 x e\u0301", "word:1|count|xxh3|simhash:16").features)]
    assert len({cells(line) for line in table[1:]}) == 1
    assert any("天" in line for line in table)


def test_sums_and_bits_of_the_json_form_have_one_order() -> None:
    """The first sum belongs to the first bit: a bit is 1 if its sum is positive."""
    about: Any = nk.explain("a text of a few words", "word:1|count|xxh3|simhash:64").to_dict()
    assert about["bits"] == "".join("1" if total > 0 else "0" for total in about["sums"])
    assert len(set(about["bits"])) == 2


@pytest.mark.parametrize("order", ["highest", "lowest"])
def test_columns_of_few_bits_stand_under_one_another(order: Any) -> None:
    """Each column has the weighted signs of the features, their sum and its bit; wide fingerprints have signs alone."""
    steps = nk.explain("red red wine " * 40 + "cheese", "word:1|count|xxh3|simhash:8", bit_order=order)
    assert isinstance(steps, SimHashSteps)
    lines = str(steps).splitlines()
    at = next(place for place, line in enumerate(lines) if line.split()[:1] == ["feature"])
    table = [line[lines[at].index("signs") :] for line in lines[at + 1 : at + 6]]
    assert 1 == len({len(line) for line in table})
    *rows, sums, bits = ([int(value) for value in line.split()] for line in table)
    assert [sum(column) for column in zip(*rows, strict=True)] == sums == steps.to_dict()["sums"]
    assert "".join(map(str, bits)) == steps.bits
    assert "sums  " in str(nk.explain("red wine", "word:1|count|xxh3|simhash:32"))
