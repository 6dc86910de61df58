"""nearkin.quality.recipe_hints: hints for corpora with a known share of each defect."""

from __future__ import annotations

import random

import numpy as np
import pytest

import nearkin as nk
from nearkin.quality.ground_truth import TruePairs, find_similar_pairs
from nearkin.quality.recipe_hints import recipe_hints

SIMPLIFIED = "历史学家认为万里长城始建于战国时期，是中国古代的伟大建筑"
TRADITIONAL = "歷史學家認為萬里長城始建於戰國時期，是中國古代的偉大建築"
PLAIN = "a long row of words about nothing at all"


def hints(texts: list[str], recipe: str = "char:4", threshold: float = 0.8) -> list[str]:
    made = nk.Recipe(recipe)
    truth = find_similar_pairs(texts, made, threshold, lambda done, total: None)
    return recipe_hints(texts, truth, made, threshold)


def row(n: int) -> str:
    rng = random.Random(n)
    return " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(12))


def test_plain_texts_have_no_hints() -> None:
    """English texts of one script, without accents and numbers."""
    assert [] == hints([row(n) for n in range(50)])
    assert [] == recipe_hints(
        [], TruePairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), ""), nk.Recipe(), 0.8
    )


def test_two_scripts_of_chinese_are_counted() -> None:
    """Both must occur; a recipe that folds them has no hint."""
    texts = [f"{row(n)} {SIMPLIFIED if n % 4 else TRADITIONAL}" for n in range(40)]
    (note,) = hints(texts)
    assert note == (
        "25.0% of the texts are in traditional Chinese, 75.0% in simplified; fold:hans makes versions of one text equal"
    )
    assert [] == hints(texts, "fold:hans|char:4")
    assert [] == hints([f"{row(n)} {TRADITIONAL}" for n in range(40)])


def test_words_of_mixed_scripts_are_counted() -> None:
    """The fold must convert the word to ASCII; a unit with a Greek letter, or Russian among English, does not count."""
    texts = [f"{row(n)} {'раураl' if n == 3 else 'μm and Москва'}" for n in range(40)]
    (note,) = hints(texts)
    assert note.startswith("2.5% of the texts have words that mix Latin letters with look-alikes")
    assert "such as 'раураl'; fold:lookalikes" in note


def test_accents_matter_where_words_occur_without_them() -> None:
    """Accents alone give no hint: the language may always write them."""
    texts = [f"{row(n)} {'café crème' if n % 2 else 'cafe'}" for n in range(40)]
    (note,) = hints(texts)
    assert note.startswith("50.0% of the texts have accents, and 50.0% of the accented words also occur without; fold:")
    assert [] == hints([text.replace("cafe", "") for text in texts])


def test_pairs_that_differ_in_numbers_are_counted() -> None:
    """Pairs with equal features among them differ only in a point or a sign."""
    texts = [f"{row(n // 2)} up {'1.5' if n % 2 else '15'} percent" for n in range(20)]
    texts += [f"{row(99 + n // 2)} item {n}" for n in range(20)]
    texts += [f"{row(199 + n // 2)} {'red' if n % 2 else 'blue'}" for n in range(20)]
    (note,) = hints(texts)
    assert note == (
        "66.7% of the similar pairs differ only in numbers; --differ numbers keeps both; "
        "50.0% of them have equal features, which numbers:whole distinguishes"
    )
    (note,) = hints(texts, "numbers:whole|char:4")
    assert note.endswith("% of the similar pairs differ only in numbers; --differ numbers keeps both")


@pytest.mark.parametrize(("letters", "best"), [(12, 2), (25, 2), (35, 3), (39, None), (60, None)])
def test_short_chinese_texts_need_shorter_grams(letters: int, best: int | None) -> None:
    """With char:4 two texts that differ in one letter need 39 letters to reach 0.8, with char:3 29 letters."""
    rng = random.Random(letters)
    texts = ["".join(chr(rng.randrange(0x4E00, 0x9000)) for _ in range(letters)) for _ in range(30)]
    found = [note for note in hints(texts) if "letters" in note]
    assert (best is not None) == bool(found)
    if best is not None:
        assert f"have at most {letters} letters; " in found[0]
        assert f"need 39 letters to reach the threshold 0.8: use char:{best} or a lower threshold" in found[0]
        assert not any("letters" in note for note in hints(texts, f"char:{best}"))
        assert not any("letters" in note for note in hints(texts, "word:2"))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_minimum_length_follows_from_the_threshold(n: int) -> None:
    """If one of L letters differs, J = (L - 2n + 1) / (L + 1), which reaches 0.8 at L = 10n - 1."""
    for length, reaches in ((10 * n - 1, True), (10 * n - 2, False)):
        text = "".join(chr(0x4E00 + i) for i in range(length))
        other = text[: length // 2] + "x" + text[length // 2 + 1 :]
        found = float(nk.similarity([text, other], [0], [1], recipe=nk.Recipe(f"char:{n}"))[0])
        assert found == pytest.approx((length - 2 * n + 1) / (length + 1))
        assert reaches == (found >= 0.8 - 1e-12)


def test_tunings_have_the_hints() -> None:
    """Both kinds of tuning, and tuning by labels, have the notes."""
    texts = [f"{row(n // 2)} up {'1.5' if n % 2 else '15'} percent" for n in range(20)]
    said = "similar pairs differ only in numbers"
    assert any(said in note for note in nk.tune(texts, bits=[64]).notes)
    assert any(said in note for note in nk.tune(texts, bits=[64], truth=[(0, 1), (2, 3)], recipes=["char:4"]).notes)
    assert any(said in note for note in nk.tune_bands(texts, num_perms=[64]).notes)
