"""The slots `fold` and `numbers`: what they unify, what they distinguish, and older recipes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import definitions
import nearkin as nk
import strategies
from nearkin import errors
from nearkin.recipe.grammar import FOLDS

LETTERS = (
    "abcXYZ éàÖñøłßœ e\u0301o\u0308 ВРасеёйЙ ΙΒοσάΐ 萬里長城万里长城乾薴 हिन्दी カガか\u3099 שָׁלוֹם 한글 ไทย١٠ ½¼ İıſﬁ①ＡⅣ"
)
"""Characters in which folds meet: marks, scripts, traditional and simplified ones, forms that normalisation changes."""

FIGURES = "0123456789٠۵.,;:+-\u2212⁄/٫٬½⅓²( a%$éж一_\n"
"""Digits, what links them, and what may be before a sign."""


def folds() -> st.SearchStrategy[tuple[str, ...]]:
    return st.sets(st.sampled_from(FOLDS)).map(lambda names: tuple(name for name in FOLDS if name in names))


def found(text: str, recipe: str) -> dict[str, int]:
    return nk.Recipe(recipe + "|count|xxh3|simhash:64").features_of(text)


def similarity(left: str, right: str, recipe: str) -> float:
    return float(nk.similarity([left, right], [0], [1], recipe=nk.Recipe(recipe))[0])


# Definitions in docs/recipe.md


@given(
    text=st.one_of(st.text(LETTERS, max_size=40), st.text(FIGURES, max_size=30), strategies.texts(30)),
    fold=folds(),
    numbers=st.sampled_from(["split", "whole"]),
    kind=st.sampled_from(["char", "word"]),
    n=st.integers(1, 4),
    norm=st.sampled_from(["nfkc", "nfc", "none"]),
    case=st.sampled_from(["fold", "keep"]),
    letters=st.sampled_from(["python", "all", "word"]),
)
@example("-5 \u22125 1.5-2, ½.", (), "whole", "word", 1, "nfkc", "fold", "python")
@example("薴 苧 苎", ("hans",), "split", "char", 1, "nfkc", "fold", "word")
def test_features_are_those_of_the_page(
    text: str, fold: tuple[str, ...], numbers: str, kind: str, n: int, norm: str, case: str, letters: str
) -> None:
    """Each combination of slots follows docs/recipe.md, by `unicodedata`, the tables and `re`."""
    letters = "python" if kind == "word" and letters == "word" else letters
    slots = {"fold": fold, "numbers": numbers, "norm": norm, "case": case, "letters": letters}
    recipe = nk.Recipe().with_(features=kind, n=n, weight="count", **slots)
    assert dict(definitions.features(text, recipe)) == recipe.features_of(text)


@given(text=st.one_of(st.text(LETTERS, max_size=60), strategies.texts()), fold=folds())
def test_tables_of_the_core_are_those_of_the_page(text: str, fold: tuple[str, ...]) -> None:
    """Folding before hashing gives the same features, and folding is idempotent."""
    recipe = nk.Recipe("norm:nfc|case:keep|letters:all|char:3").with_(fold=fold)
    once = definitions.folded(text, fold)
    assert once == definitions.folded(once, fold)
    assert recipe.features_of(text) == recipe.features_of(once)


@given(
    text=st.text(st.characters(max_codepoint=127), max_size=200), fold=folds(), kind=st.sampled_from(["char", "word"])
)
def test_folds_leave_ascii(text: str, fold: tuple[str, ...], kind: str) -> None:
    """Folds do not change ASCII texts."""
    recipe = nk.Recipe(f"{kind}:2")
    assert recipe.features_of(text) == recipe.with_(fold=fold).features_of(text)


# Purpose of the slots


TRADITIONAL = "萬里長城是中國古代的偉大建築，歷史學家認為它始建於戰國時期。"
SIMPLIFIED = "万里长城是中国古代的伟大建筑，历史学家认为它始建于战国时期。"


@pytest.mark.parametrize("features", ["char:2", "word:1", "cut:jieba|word:1", "cut:script|word:2"])
def test_traditional_and_simplified_versions_are_one_text(features: str) -> None:
    """The similarity is 1 with the fold, and low without."""
    assert 1.0 == similarity(TRADITIONAL, SIMPLIFIED, f"fold:hans|{features}")
    assert similarity(TRADITIONAL, SIMPLIFIED, features) < 0.4


def test_look_alikes_are_one_text() -> None:
    """Cyrillic and Greek letters in Latin words become Latin, capitals included."""
    for spoofed, plain in [("Рауpаl ассоunt", "Paypal account"), ("ΙΒΜ", "IBM"), ("ІВМ", "IBM"), ("œuvre", "oeuvre")]:
        assert 1.0 == similarity(spoofed, plain, "fold:lookalikes|char:2"), spoofed
        assert similarity(spoofed, plain, "char:2") < 1, spoofed


def test_accents_are_those_of_latin_greek_and_cyrillic() -> None:
    """Composed and decomposed accents are removed; vowel signs and dakuten are kept."""
    assert found("Creme brulee a Malmo, ελληνικα, елка и", "fold:accents|char:4") == found(
        "Crème bru\u0302le\u0301e à Malmö, ελληνικά, ёлка й", "fold:accents|char:4"
    )
    for text in ("हिन्दी की किताब", "ガギグゲゴ か\u3099", "שָׁלוֹם", "ภาษาไทยที่"):
        assert found(text, "char:2") == found(text, "fold:accents|char:2")
    assert {"øł": 1} == found("øł", "fold:accents|char:2")
    assert {"ol": 1} == found("øł", "fold:lookalikes,accents|char:2")


@pytest.mark.parametrize("norm", ["nfkc", "nfc", "none"])
def test_folds_do_not_depend_on_composition(norm: str) -> None:
    """Marks are recognised in any normalisation form, because a fold composes."""
    recipe = f"norm:{norm}|fold:accents|char:2"
    assert found("Éléonore", recipe) == found("E\u0301le\u0301onore", recipe)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.5 percent", "15 percent"), ("-5 degrees", "5 degrees"), ("½ cup", "12 cup"), ("1,5", "15"), ("+5", "5")],
)
@pytest.mark.parametrize(
    "features", ["char:4", "word:1", "cut:jieba|word:1", "cut:script|word:1", "letters:python|word:1"]
)
def test_whole_numbers_are_told_apart(one: str, other: str, features: str) -> None:
    """Texts that differ in a point, a sign or a fraction are equal only without the slot."""
    assert found(one, f"numbers:whole|{features}") != found(other, f"numbers:whole|{features}")
    assert found(one, "char:4") == found(other, "char:4")


def test_minus_signs_are_one() -> None:
    """Hyphen, full-width hyphen and minus before a digit are one sign, but not after letters and digits."""
    for features in ("char:4", "word:1", "cut:jieba|word:1"):
        first, *others = (found(f"at {sign}5 °C", f"numbers:whole|{features}") for sign in "-－\u2212")
        assert others == [first, first]
    for text in ("A-5", "10-5", "2024-11-22", "- 5", "x\u22125"):
        assert found(text, "char:4") == found(text, "numbers:whole|char:4"), text


@given(text=st.one_of(st.text("1.,-+ ab一\u2212⁄", max_size=30), st.text(FIGURES, max_size=30), strategies.texts(40)))
@pytest.mark.parametrize("cut", ["uax29", "jieba", "script"])
def test_joined_words_hold_the_words_of_split_numbers(cut: str, text: str) -> None:
    """Without the characters of numbers, the words of both rules form the same string."""
    plain = nk.Recipe("norm:none|case:keep|word:1").with_(cut=cut, letters="all" if cut == "jieba" else "word")
    split, whole = (nk.words([text], plain.with_(numbers=rule))[0] for rule in ("split", "whole"))
    gone = str.maketrans("", "", ".,٫٬⁄+-\u2212")
    assert "".join(split).translate(gone) == "".join(whole).translate(gone)
    assert len(whole) <= len(split)


def test_words_of_numbers_obey_the_rules_of_words() -> None:
    """Stop words, minimum length and parts of speech apply to the joined word."""
    recipe = nk.Recipe("numbers:whole|word:1|count|xxh3|simhash:64", stop_words=["\u22125", "1.5"])
    assert {"5": 1, "15": 1} == recipe.features_of("-5 5 1.5 15")
    assert {"-5": 1, "1.5": 1} == found("-5 5 1.5 x", "numbers:whole|min_length:2|word:1")
    tagged = "norm:none|case:keep|letters:all|cut:jieba|tags:m|word:1"
    assert {"000": 1} == found("共 1,000 人", tagged)
    assert {"1,000": 1} == found("共 1,000 人", f"numbers:whole|{tagged}")


def test_words_of_ascii_and_of_other_texts_are_cut_alike() -> None:
    """The code paths for ASCII and other texts return the same words."""
    text = "Up 1.5% to -5, from +3.25 (1,000) at 10-5."
    words = {"up": 1, "1.5": 1, "to": 1, "-5": 1, "from": 1, "+3.25": 1, "1,000": 1, "at": 1, "10": 1, "5": 1}
    assert words == found(text, "numbers:whole|word:1")
    assert {**words, "é": 1} == found(text + " é", "numbers:whole|word:1")
    assert {"up1.5to-5from+3.251,000at105": 1} == found(text, "numbers:whole|char:64")
    assert {"up1.5to-5from+3.251,000at105é": 1} == found(text + " é", "numbers:whole|char:64")


# Forms


def test_slots_at_their_default_are_not_written() -> None:
    """JSON and digests of older recipes do not change; explicit defaults are accepted."""
    recipe = nk.Recipe()
    slots = json.loads(recipe.to_json())
    assert {"fold", "numbers"}.isdisjoint(slots)
    assert "fold" not in slots["versions"]
    assert recipe == nk.Recipe.from_json(json.dumps({**slots, "fold": [], "numbers": "split"}))
    assert recipe.digest == nk.Recipe("numbers:split|char:4").digest == recipe.with_(fold=()).digest


def test_folds_have_one_order() -> None:
    """The text form has the order of the page, and `with_` accepts a string."""
    recipe = nk.Recipe("numbers:whole|fold:accents,hans,accents|norm:nfc|case:keep")
    assert "norm:nfc|fold:hans,accents|case:keep|numbers:whole|char:4|binary|xxh3|simhash:128" == str(recipe)
    assert recipe == nk.Recipe(str(recipe)) == nk.Recipe.from_json(recipe.to_json())
    assert ("hans", "accents") == recipe.fold == nk.Recipe().with_(fold="accents,hans").fold
    slots = json.loads(recipe.to_json())
    assert (["hans", "accents"], "whole", 1) == (slots["fold"], slots["numbers"], slots["versions"]["fold"])


def test_recipes_that_differ_in_a_new_slot_refuse_to_meet() -> None:
    """The error contains the slot."""
    for slot, value in (("fold", ("hans",)), ("numbers", "whole")):
        other = nk.Recipe().with_(**{slot: value})
        with pytest.raises(errors.MismatchError, match=f"recipe slot {slot} differs"):
            nk.Recipe().check_same(other)
        assert other.digest != nk.Recipe().digest


def test_other_versions_of_the_tables_are_refused() -> None:
    """Recipes with other versions of the fold tables are refused."""
    slots = json.loads(nk.Recipe("fold:hans").to_json())
    slots["versions"]["fold"] += 1
    with pytest.raises(errors.MismatchError, match="versions of the recipe differs"):
        nk.Recipe.from_json(json.dumps(slots))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fold:han", "fold=han is not allowed; use hans, lookalikes, accents, separated by commas"),
        ("fold:", "fold= is not allowed; use hans, lookalikes, accents"),
        ("fold:hans,", "fold= is not allowed; use hans, lookalikes, accents"),
        ("fold:hans|fold:accents", "one fold, not two"),
        ("numbers:keep", "numbers=keep is not allowed; use split, whole"),
    ],
)
def test_faulty_folds_and_numbers_are_refused(text: str, message: str) -> None:
    """The error lists the allowed values."""
    with pytest.raises(errors.ParameterError, match=message):
        nk.Recipe(text)


@pytest.mark.parametrize(
    "slots", [{"fold": "han"}, {"fold": ["x"]}, {"fold": 3}, {"numbers": "keep"}, {"numbers": None}]
)
def test_with_refuses_them_too(slots: dict[str, Any]) -> None:
    """`with_` checks the slots."""
    with pytest.raises(errors.ParameterError, match=r"(fold|numbers)=.* is not allowed; use"):
        nk.Recipe().with_(**slots)


def test_a_table_of_frequencies_belongs_to_its_folds(tmp_path: Any) -> None:
    """An IDF table of folded words is refused for other recipes, also after saving."""
    recipe = nk.Recipe("fold:accents|word:1|count|xxh3|simhash:64")
    path = tmp_path / "words.idf"
    nk.Idf.fit(["café", "cafe"], recipe).save(path)
    table = nk.Idf.load(path)
    table.check(recipe)
    with pytest.raises(errors.MismatchError, match="recipe slot fold of the IDF table differs"):
        table.check(recipe.with_(fold=()))
    plain = nk.Idf.fit(["café"], recipe.with_(fold=()))
    assert "fold" not in plain.rules
    with pytest.raises(errors.MismatchError, match="recipe slot numbers of the IDF table differs"):
        plain.check(recipe.with_(fold=(), numbers="whole"))
