"""`nk.compare`: every value equals that of its own function, and the text form fits 80 columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.explain import comparison
from nearkin.text.edits import common_substring, edits, positional_similarity

TEXTS = st.text(st.sampled_from("ab cd好 \n"), max_size=30)


@given(TEXTS, TEXTS)
def test_values_are_those_of_their_functions(a: str, b: str) -> None:
    result = nk.compare(a, b)
    recipe = result.recipe
    assert result.edits == edits(a, b)
    assert result.common_substring == common_substring(a, b)
    assert result.similarities["places"] == positional_similarity(a, b)
    assert result.num_features == (len(recipe.features_of(a)), len(recipe.features_of(b)))
    if all(result.num_features):
        for measure in ("jaccard", "containment"):
            assert result.similarities[measure] == nk.similarity([a, b], [0], [1], measure=measure)[0]
        assert result.distance == int(np.asarray(nk.hamming(nk.fingerprint([a]), nk.fingerprint([b])))[0])
        assert (result.distance == 0) or result.fingerprints[0] != result.fingerprints[1]
    else:
        assert result.distance is None
        assert result.similarities["jaccard"] is None
    for side, other, text in ((result.only_a, b, a), (result.only_b, a, b)):
        assert set(side) == set(recipe.features_of(text)) - set(recipe.features_of(other))
    assert json.loads(json.dumps(result.to_dict()))["only_a"] == list(result.only_a)


def test_the_text_form_fits_80_columns() -> None:
    a = "one two three four five six seven eight nine ten " * 20
    shown = repr(nk.compare(a, a.replace("three", "3").upper()))
    assert max(map(len, shown.split("\n"))) <= 80
    assert "jaccard" in shown
    assert "<pre>" in nk.compare("a <b>", "b")._repr_html_()


def test_what_is_too_long_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        raise ParameterError("too long", name="a", found=1, allowed="less")

    monkeypatch.setattr(comparison, "edits", refuse)
    monkeypatch.setattr(comparison, "common_substring", refuse)
    monkeypatch.setattr(comparison, "baselines", lambda a, b: {"bigrams": 1.0})
    result = nk.compare("some text", "some texts")
    assert result.edits is None
    assert result.common_substring is None
    assert ["levenshtein", "edits", "the longest"] == [
        note[:length] for note, length in zip(result.notes, (11, 5, 11), strict=True)
    ]
    assert "edits" not in result.to_dict()
    assert "aligned" not in str(result)


@pytest.mark.parametrize("value", [b"bytes", None, ["a"]])
def test_only_texts_are_compared(value: Any) -> None:
    with pytest.raises(TypeError, match="must be a text"):
        nk.compare("a", value)


def test_a_recipe_of_given_features_is_refused() -> None:
    with pytest.raises(ParameterError, match="which reads texts"):
        nk.compare("a", "b", "given|simhash:64")
