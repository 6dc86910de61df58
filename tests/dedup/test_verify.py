"""nearkin.dedup.verify: similarities compared with sets and rapidfuzz."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import strategies
from definitions import VERIFIED, expected_similarity
from nearkin import errors
from nearkin.dedup.verify import TextMeasure, baselines, texts_by_row
from nearkin.io import PackedTexts


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.one_of(st.none(), strategies.texts(max_size=30)), min_size=1, max_size=6),
    measure=st.sampled_from(["jaccard", "containment", "indel"]),
    n=st.integers(1, 4),
    kind=st.sampled_from(["char", "word"]),
)
def test_similarities_equal_the_definition(texts: list[str | None], measure: Any, n: int, kind: Any) -> None:
    """All pairs of texts, including each with itself, in one call."""
    recipe = VERIFIED.with_(features=kind, n=n)
    left, right = (side.ravel() for side in np.meshgrid(range(len(texts)), range(len(texts))))
    actual = nk.similarity(texts, left, right, recipe=recipe, measure=measure)
    expected = [
        expected_similarity(texts[i], texts[j], measure, recipe)
        for i, j in zip(left.tolist(), right.tolist(), strict=True)
    ]
    assert actual.dtype == np.float64
    if measure == "indel":
        assert expected == pytest.approx(actual.tolist(), abs=1e-12)
    else:
        assert expected == actual.tolist()


WEIGHTED_TABLE = nk.Idf.fit(["a b", "b c", "c", "c d e"], "letters:python|word:1")


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text("abcdef ", max_size=40), min_size=1, max_size=5),
    measure=st.sampled_from(["jaccard", "containment"]),
    weight=st.sampled_from(["count", "log", "idf", "binary"]),
)
def test_weighted_similarities_equal_the_definition(texts: list[str], measure: Any, weight: str) -> None:
    """Σ min / Σ max, or Σ min / the smaller Σ, of weights in units: 1 for counts, 1/2 for log and idf; all pairs."""
    named = f"idf:{WEIGHTED_TABLE.digest}" if weight == "idf" else weight
    recipe = nk.Recipe(
        f"letters:python|word:1|{named}|minhash:16:weighted", idf=WEIGHTED_TABLE if weight == "idf" else None
    )
    weigh: Any = {
        "count": lambda word, count: count,
        "binary": lambda word, count: 1,
        "log": lambda word, count: round(2 * (1 + math.log(count))),
        "idf": lambda word, count: round(2 * count * WEIGHTED_TABLE.value(word)),
    }[weight]
    weights = [{word: weigh(word, count) for word, count in Counter(text.split()).items()} for text in texts]

    def expected(a: dict[str, int], b: dict[str, int]) -> float:
        shared = sum(min(a[word], b[word]) for word in a.keys() & b.keys())
        left, right = sum(a.values()), sum(b.values())
        whole = min(left, right) if measure == "containment" else left + right - shared
        return shared / whole if whole else 0.0

    rows, others = (side.ravel() for side in np.meshgrid(range(len(texts)), range(len(texts))))
    actual = nk.similarity(texts, rows, others, recipe=recipe, measure=measure)
    assert [expected(weights[i], weights[j]) for i, j in zip(rows, others, strict=True)] == actual.tolist()


def test_example_6_edit_similarity() -> None:
    """Two insertions among 22 characters: 1 - 2/22."""
    actual = nk.similarity(["how are u?", "how are you?"], [0], [1], measure="indel")
    assert [1 - 2 / 22] == pytest.approx(actual.tolist(), abs=1e-12)


@given(texts=st.lists(strategies.texts(max_size=20), min_size=2, max_size=2))
def test_similarity_is_symmetric(texts: list[str]) -> None:
    """Left and right may change places."""
    for measure in ("jaccard", "containment", "indel"):
        there, back = nk.similarity(texts, [0, 1], [1, 0], measure=measure).tolist()
        assert there == pytest.approx(back, abs=1e-12)


def test_weights_and_width_have_no_effect() -> None:
    """Sets are distinct features: count or binary, 64 bits or 1024, any hash."""
    texts = ["red red red wine", "red wine", "wine"]
    actual = [
        nk.similarity(texts, [0, 0, 1], [1, 2, 2], recipe=recipe).tolist()
        for recipe in ("word:1|count|xxh3|simhash:64", "word:1|binary|md5|simhash:1024", "word:1|count|fnv1a|simhash:7")
    ]
    assert [[1.0, 0.5, 0.5]] * 3 == actual


@pytest.mark.parametrize(
    "make",
    [
        tuple, lambda texts: np.array(texts, object), lambda texts: pa.array(texts), pl.Series,
        lambda texts: pa.array(texts, pa.string_view()), lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
        lambda texts: pd.Series(texts, dtype="str"), lambda texts: pa.array(texts).dictionary_encode(),
    ],
)  # fmt: skip
def test_kinds_of_input_give_the_same_similarities(make: Any) -> None:
    """Lists, arrays and columns."""
    texts = ["red wine", "red cheese", None, "red wine and cheese"]
    expected = nk.similarity(texts, [0, 1, 2, 3], [1, 3, 0, 0], recipe=VERIFIED).tolist()
    assert expected == nk.similarity(make(texts), [0, 1, 2, 3], [1, 3, 0, 0], recipe=VERIFIED).tolist()


def test_no_pairs_give_no_similarities() -> None:
    """With texts and without."""
    assert (0,) == nk.similarity(["a"], [], []).shape
    assert (0,) == nk.similarity([], [], []).shape


@pytest.mark.parametrize(
    ("left", "right"), [([0], [2]), ([-1], [0]), ([0], [2**32]), ([2**40], [0]), ([0, 1], [0]), ([], [1])]
)
def test_rows_without_a_text_are_errors(left: list[int], right: list[int]) -> None:
    """Negative rows, rows beyond the end, sides of different length."""
    with pytest.raises(errors.ParameterError, match="is not allowed; use"):
        nk.similarity(["a", "b"], left, right)


def test_unknown_measures_are_errors() -> None:
    """The error lists the measures."""
    with pytest.raises(
        errors.ParameterError,
        match="measure='cosine' is not allowed; use one of jaccard, containment, indel, words, levenshtein",
    ):
        nk.similarity(["a", "b"], [0], [1], measure="cosine")  # type: ignore[arg-type]


# Look-ups and baselines


@pytest.mark.parametrize(
    "make",
    [
        list, tuple, iter, pl.Series, pa.array, PackedTexts.of, lambda texts: pa.array(texts, pa.string_view()),
        lambda texts: pa.chunked_array([texts[:2], texts[2:]]), lambda texts: np.array(texts, object),
    ],
)  # fmt: skip
def test_texts_of_every_kind_are_looked_up_by_row(make: Any) -> None:
    """Ascending rows, or none; a missing text remains missing."""
    look_up, count = texts_by_row(make(["red", None, "Übung", ""]))
    assert 4 == count
    for rows in ([], [1], [0, 2, 3], [0, 1, 2, 3]):
        actual = look_up(np.array(rows, np.int64))
        listed = actual.to_pylist() if hasattr(actual, "to_pylist") else list(actual)
        assert [["red", None, "Übung", ""][row] for row in rows] == listed


def test_a_cache_compares_its_texts() -> None:
    """Rows with any numbers, by the measure and the recipe of the comparison."""
    cache = TextMeasure(VERIFIED.with_(features="word", n=1), "containment").cache(1 << 20)
    required = np.array([7, 900], np.uint32)
    assert [7, 900] == cache.missing(required).tolist()
    cache.add(required, ["red wine", "red wine and cheese"])
    assert [] == cache.missing(required).tolist()
    assert [1.0] == cache.similarities(required[:1], required[1:]).tolist()


@given(strategies.texts(max_size=12), strategies.texts(max_size=12))
def test_baselines_are_measures_of_characters(a: str, b: str) -> None:
    """Equal texts have 1, and the order has no effect; Dice of 2- and 3-grams by hand."""
    actual = baselines(a, b)
    assert actual == pytest.approx(baselines(b, a))
    assert [1.0] * 4 == list(baselines(a, a).values())
    for name, n in (("bigrams", 2), ("trigrams", 3)):
        grams = [sorted(t[i : i + n] for i in range(len(t) - n + 1)) or [t] * bool(t) for t in (a, b)]
        common, right = 0, list(grams[1])
        for gram in grams[0]:
            if gram in right:
                right.remove(gram)
                common += 1
        total = len(grams[0]) + len(grams[1])
        assert (2 * common / total if total else 1.0) == pytest.approx(actual[name])


def test_long_texts_of_one_edit_are_compared_in_strips() -> None:
    """A common prefix and suffix cost nothing; texts too long for one strip have the similarity of the definition."""
    a, b = "ab" * 400_000, "ab" * 200_000 + "x" + "ab" * 200_000
    assert [1 - 1 / 1_600_001] == nk.similarity([a, b], [0], [1], measure="indel").tolist()
    a, b = "abc" * 8_000, "cab" * 8_000
    assert [1 - 2 / 48_000] == nk.similarity([a, b], [0], [1], measure="indel").tolist()


def test_indel_of_texts_beyond_the_budget_is_refused() -> None:
    """The message has their length, the limit, and an alternative."""
    with pytest.raises(
        errors.ParameterError, match=r'differ over 800000 and 800000 characters.*549755813888.*"jaccard"'
    ):
        nk.similarity(["a" * 800_000, "b" * 800_000], [0], [1], measure="indel")
    assert {"bigrams", "trigrams"} == set(baselines("a" * 200_000, "b" * 200_000))


@pytest.mark.parametrize("convert", [list, pa.array, pl.Series])
def test_levenshtein_is_a_measure_of_similarity(convert: Any) -> None:
    """It is 1 - d / characters of the longer text, and 0 for empty texts; a row without a text is refused."""
    texts = ["kitten", "sitting", "", "kitten", "好人"]
    left, right = [0, 0, 2, 0, 4], [1, 3, 2, 2, 0]
    values = nk.similarity(convert(texts), left, right, measure="levenshtein")
    assert values.tolist() == [1 - 3 / 7, 1.0, 0.0, 0.0, 0.0]
    assert nk.similarity(texts, [], [], measure="levenshtein").tolist() == []
    with pytest.raises(errors.ParameterError, match="row=1"):
        nk.similarity(convert(["a", None]), [0], [1], measure="levenshtein")
