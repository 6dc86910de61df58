"""nearkin.quality.recipe_hints: hints for corpora with a known share of each defect."""

from __future__ import annotations

import random

import numpy as np
import pytest

import nearkin as nk
from nearkin.quality.ground_truth import TruePairs, similar_pairs
from nearkin.quality.recipe_hints import slot_notes

SIMPLIFIED = "历史学家认为万里长城始建于战国时期，是中国古代的伟大建筑"
TRADITIONAL = "歷史學家認為萬里長城始建於戰國時期，是中國古代的偉大建築"
PLAIN = "a long row of words about nothing at all"


def notes(texts: list[str], recipe: str = "char:4", threshold: float = 0.8) -> list[str]:
    made = nk.Recipe(recipe)
    truth = similar_pairs(texts, made, threshold, lambda done, total: None)
    return slot_notes(texts, truth, made, threshold)


def row(n: int) -> str:
    rng = random.Random(n)
    return " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(12))


def test_plain_texts_need_no_slot() -> None:
    """English texts of one script, without accents and numbers."""
    assert [] == notes([row(n) for n in range(50)])
    assert [] == slot_notes(
        [], TruePairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), ""), nk.Recipe(), 0.8
    )


def test_two_scripts_of_chinese_are_counted() -> None:
    """Both must be there; a recipe that folds them is not advised again."""
    texts = [f"{row(n)} {SIMPLIFIED if n % 4 else TRADITIONAL}" for n in range(40)]
    (note,) = notes(texts)
    assert note == (
        "25.0% of the texts are in traditional Chinese, 75.0% in simplified; fold:hans makes versions of one text equal"
    )
    assert [] == notes(texts, "fold:hans|char:4")
    assert [] == notes([f"{row(n)} {TRADITIONAL}" for n in range(40)])


def test_words_of_mixed_scripts_are_counted() -> None:
    """What the fold makes ASCII is a look-alike; a unit with a Greek letter, or Russian beside English, is none."""
    texts = [f"{row(n)} {'раураl' if n == 3 else 'μm and Москва'}" for n in range(40)]
    (note,) = notes(texts)
    assert note.startswith("2.5% of the texts have words that mix Latin letters with look-alikes")
    assert "such as 'раураl'; fold:lookalikes" in note


def test_accents_matter_where_words_occur_without_them() -> None:
    """Accents alone are no reason: the language may always write them."""
    texts = [f"{row(n)} {'café crème' if n % 2 else 'cafe'}" for n in range(40)]
    (note,) = notes(texts)
    assert note.startswith(
        "50.0% of the texts have accents, and 50.0% of the words with them occur without, too; fold:"
    )
    assert [] == notes([text.replace("cafe", "") for text in texts])


def test_pairs_that_differ_in_numbers_are_counted() -> None:
    """Of them those that have equal features: a point or a sign is all they differ in."""
    texts = [f"{row(n // 2)} up {'1.5' if n % 2 else '15'} percent" for n in range(20)]
    texts += [f"{row(99 + n // 2)} item {n}" for n in range(20)]
    texts += [f"{row(199 + n // 2)} {'red' if n % 2 else 'blue'}" for n in range(20)]
    (note,) = notes(texts)
    assert note == (
        "66.7% of the similar pairs differ in numbers alone; --differ numbers keeps both; "
        "50.0% of these have equal features, and other ones with numbers:whole"
    )
    (note,) = notes(texts, "numbers:whole|char:4")
    assert note.endswith("% of the similar pairs differ in numbers alone; --differ numbers keeps both")


@pytest.mark.parametrize(("letters", "best"), [(12, 2), (25, 2), (35, 3), (39, None), (60, None)])
def test_short_chinese_texts_ask_for_shorter_grams(letters: int, best: int | None) -> None:
    """From 39 letters on, two texts that differ in one of them reach 0.8 with char:4; with char:3 from 29."""
    rng = random.Random(letters)
    texts = ["".join(chr(rng.randrange(0x4E00, 0x9000)) for _ in range(letters)) for _ in range(30)]
    found = [note for note in notes(texts) if "letters" in note]
    assert (best is not None) == bool(found)
    if best is not None:
        assert f"have at most {letters} letters; " in found[0]
        assert f"reach the threshold 0.8 from 39 letters on: char:{best} suits them better" in found[0]
        assert not any("letters" in note for note in notes(texts, f"char:{best}"))
        assert not any("letters" in note for note in notes(texts, "word:2"))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_least_length_is_that_of_the_threshold(n: int) -> None:
    """One letter of L is another: J = (L - 2n + 1) / (L + 1), which reaches 0.8 at L = 10n - 1."""
    for length, reaches in ((10 * n - 1, True), (10 * n - 2, False)):
        text = "".join(chr(0x4E00 + i) for i in range(length))
        other = text[: length // 2] + "x" + text[length // 2 + 1 :]
        found = float(nk.similarity([text, other], [0], [1], recipe=nk.Recipe(f"char:{n}"))[0])
        assert found == pytest.approx((length - 2 * n + 1) / (length + 1))
        assert reaches == (found >= 0.8 - 1e-12)


def test_tune_says_it() -> None:
    """Both kinds of tuning, and labels, have the notes."""
    texts = [f"{row(n // 2)} up {'1.5' if n % 2 else '15'} percent" for n in range(20)]
    said = "similar pairs differ in numbers alone"
    assert any(said in note for note in nk.tune(texts, bits=[64]).notes)
    assert any(said in note for note in nk.tune(texts, bits=[64], pairs=[(0, 1), (2, 3)], recipes=["char:4"]).notes)
    assert any(said in note for note in nk.tune_bands(texts, num_perms=[64]).notes)
