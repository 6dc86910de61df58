"""nearkin.repeats: exact long repeats, against the definition in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin._core import word_places
from nearkin.pieces import chunks as module


def repeated_symbols(symbols: list[list[Any]], order: list[int], minimum: int) -> list[set[int]]:
    """Return for each text the symbols in a window that occurs earlier."""
    seen: set[tuple[Any, ...]] = set()
    actual: list[set[int]] = [set() for _ in symbols]
    for row in order:
        for at in range(len(symbols[row]) - minimum + 1):
            window = tuple(symbols[row][at : at + minimum])
            if window in seen:
                actual[row] |= set(range(at, at + minimum))
            seen.add(window)
    return actual


TEXTS = st.lists(st.none() | st.text("ab", max_size=40) | st.text("aé中\U0001f600", max_size=20), max_size=6)


@settings(deadline=None)
@given(TEXTS, st.integers(2, 9), st.booleans())
def test_repeats_of_bytes_are_those_of_the_definition(texts: list[str | None], least: int, last: bool) -> None:
    result = nk.repeats(texts, min_length=least, keep="last" if last else "first")
    order = list(range(len(texts)))[:: -1 if last else 1]
    expected = repeated_symbols([list((text or "").encode()) for text in texts], order, least)
    covered: list[set[int]] = [set() for _ in texts]
    for row in result.passages.rows():
        mine, its = texts[row["id"]] or "", texts[row["other"]] or ""
        assert mine[row["start"] : row["end"]] == its[row["other_start"] : row["other_end"]] != ""
        covered[row["id"]] |= set(range(row["start"], row["end"]))
    for text, bytes_of_text, characters in zip(texts, expected, covered, strict=True):
        ends = np.cumsum([0, *(len(sign.encode()) for sign in text or "")]).tolist()
        inside = [at for at in range(len(ends) - 1) if set(range(ends[at], ends[at + 1])) <= bytes_of_text]
        # A character of several bytes counts if one repeat has all of it.
        assert characters <= set(inside)
        if (text or "").isascii():
            assert characters == set(inside)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(["red", "wine", "Wine", "東"]), max_size=25), max_size=5), st.integers(2, 6))
def test_repeats_of_words_are_those_of_the_definition(words: list[list[str]], least: int) -> None:
    texts = [", ".join(text) for text in words]
    result = nk.repeats(texts, min_length=least, unit="words")
    expected = repeated_symbols(words, list(range(len(words))), least)
    _, _, positions = word_places(texts)
    firsts = np.cumsum([0, *map(len, words)]).tolist()
    covered: list[set[int]] = [set() for _ in texts]
    for row in result.passages.rows():
        of_text = positions.reshape(-1, 2)[firsts[row["id"]] : firsts[row["id"] + 1]]
        inside = np.flatnonzero((of_text[:, 0] >= row["start"]) & (of_text[:, 1] <= row["end"]))
        covered[row["id"]] |= set(inside.tolist())
    assert expected == covered


def test_a_repeat_is_as_long_as_possible() -> None:
    texts = ["She sells sea shells.", "He said: She sells sea shells by the shore."]
    result = nk.repeats(texts, ids=["a", "b"], min_length=10)
    (row,) = result.passages.rows()
    assert ("b", 9, 29, "a", 0, 20, 1.0, "repeat:10") == tuple(row.values())
    assert ["She sells sea shells.", "He said: by the shore."] == result.remaining(texts)
    assert (17, 1) == (result.documents["found"][0], result.summary["passages"])
    assert {"anchors", "skipped", "passages"} <= set(result.summary["units"][0])
    assert "recipe" not in result.summary


def test_punctuation_between_words_has_no_effect() -> None:
    texts = ["one two three four five", "zero: One, two,\nthree -- four!"]
    assert [] == list(nk.repeats(texts, min_length=10).passages.rows())
    (row,) = nk.repeats(texts, min_length=3, unit="words").passages.rows()
    assert ("two,\nthree -- four", "two three four") == (
        texts[1][row["start"] : row["end"]],
        texts[0][row["other_start"] : row["other_end"]],
    )


def test_spilled_symbols_give_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    texts = ["".join(generator.choice(list("ab "), 300)) for _ in range(40)]
    for unit in ("bytes", "words"):
        expected = nk.repeats(texts, min_length=12 if unit == "bytes" else 4, unit=unit)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_MAX_MEMORY", 100)
            result = nk.repeats(
                pa.array(texts).cast(pa.string_view()),
                min_length=12 if unit == "bytes" else 4,
                unit=unit,
            )
        assert expected.passages.columns == result.passages.columns
        assert len(expected.passages) > 10


def test_copies_are_removed_and_runs_of_one_letter_are_short() -> None:
    text = "a" * 5000
    result = nk.repeats([text, text, ""], min_length=50)
    assert ([0, 2], ["a", ""]) == (result.kept, result.remaining([text, text, ""]))


def test_skipped_positions_give_a_warning() -> None:
    texts = [4 * chr(65 + number) + "the same run in all" + 4 * chr(65 + number) for number in range(30)]
    with pytest.warns(RuntimeWarning, match="comparisons were left out"):
        assert nk.repeats(texts, min_length=24, max_comparisons=2).summary["skipped"] > 0


@pytest.mark.parametrize(("options", "name"), [({"unit": "letters"}, "unit"), ({"min_length": 1}, "min_length")])
def test_wrong_arguments_are_errors(options: dict[str, Any], name: str) -> None:
    with pytest.raises(nk.errors.ParameterError) as caught:
        nk.repeats(["text"], **options)
    assert name == caught.value.name
