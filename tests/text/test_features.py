"""Features of texts and hashes of features, compared with `unicodedata`, `re`, `hashlib`, `xxhash` and `mmh3`."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

import nearkin as nk
import reference
import strategies
from nearkin import errors
from nearkin._core import feature_hash_names, feature_hashes

SEEDED = ("xxh3", "murmur3", "lookup3", "jenkins64")


def features(text: str, recipe: str) -> dict[str, int]:
    return nk.Recipe(recipe + "|count|xxh3|simhash:64").features_of(text)


# Hashes


def test_hash_names_are_those_of_the_recipe() -> None:
    """The strategies and the reference cover every hash."""
    assert sorted(strategies.HASHES) == sorted(feature_hash_names())


@pytest.mark.parametrize("name", strategies.HASHES)
@given(values=st.lists(st.binary(max_size=300), max_size=8), seed=st.integers(0, 2**64 - 1), word=st.integers(0, 15))
def test_feature_hashes_equal_independent_implementations(name: str, values: list[bytes], seed: int, word: int) -> None:
    """Every hash and seed, and every word of a wide fingerprint."""
    seed = 0 if name not in SEEDED else seed % 2**32 if name == "murmur3" else seed
    expected = [reference.hash_word(name, value, seed, word) for value in values]
    assert expected == feature_hashes(name, values, seed, word).tolist()


@pytest.mark.parametrize("name", strategies.HASHES)
def test_feature_hashes_of_every_length_equal_independent_implementations(name: str) -> None:
    """Lengths from 0 to 300 bytes, with bytes above 127 at every position."""
    values = [bytes((7 * i + 31 * length) % 256 for i in range(length)) for length in range(301)]
    assert [reference.hash_word(name, value) for value in values] == feature_hashes(name, values).tolist()


def test_seeds_wrap_around() -> None:
    """Value j has seed + j modulo the width of the seed; a seed of murmur3 has two words."""
    value = b"feature"
    assert feature_hashes("xxh3", [value], 0, 0)[0] == feature_hashes("xxh3", [value], 2**64 - 1, 1)[0]
    assert feature_hashes("lookup3", [value], 0, 0)[0] == feature_hashes("lookup3", [value], 2**64 - 1, 1)[0]
    assert feature_hashes("murmur3", [value], 0, 0)[0] == feature_hashes("murmur3", [value], 2**32 - 1, 2)[0]


def test_unknown_hashes_and_seeds_are_errors() -> None:
    """Unknown hashes and seeds are refused as in a recipe."""
    with pytest.raises(errors.ParameterError, match="hash=crc32 is not allowed; use one of xxh3"):
        feature_hashes("crc32", [b""])
    with pytest.raises(errors.ParameterError, match="seed=1 is not allowed; use 0: md5 takes no seed"):
        feature_hashes("md5", [b""], 1)


# Features


@given(text=strategies.texts(), n=st.integers(1, 8), binary=st.booleans())
@example("", 4, False)
@example("👩🏽\u200d🚀", 2, False)
def test_character_grams_are_those_of_the_definition(text: str, n: int, binary: bool) -> None:
    """NFKC, case folding, letters by UTS #18, n-grams; a batch counts them."""
    expected = Counter(reference.features(text, "char", n, norm="nfkc", case="fold", letters="word"))
    recipe = nk.Recipe(f"char:{n}|{'binary' if binary else 'count'}|xxh3|simhash:64")
    assert dict(expected) == recipe.features_of(text)
    _, counts = nk.fingerprint([text], recipe, return_counts=True)
    assert [len(expected) if binary else expected.total()] == counts.tolist()


@given(
    text=strategies.texts(), least=st.integers(1, 4), more=st.integers(0, 3), analyzer=st.sampled_from(["char", "word"])
)
@example("one two", 3, 1, "word")
def test_mixed_grams_are_those_of_scikit_learn(text: str, least: int, more: int, analyzer: str) -> None:
    """`ngram_range` of `CountVectorizer`, except for texts shorter than the shortest n-gram."""
    counted = CountVectorizer(
        analyzer=analyzer, ngram_range=(least, least + more), lowercase=False, token_pattern=r"\w+",  # noqa: S106
        preprocessor=lambda text: "".join(re.findall(r"\w", text)) if analyzer == "char" else text,
    )  # fmt: skip
    expected = Counter(counted.build_analyzer()(text))
    result = features(text, f"norm:none|case:keep|letters:python|{analyzer}:{least}-{least + more}")
    if not expected:
        assert len(result) <= 1
    else:
        assert dict(expected) == result


@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("norm", "case", "letters"),
    [("nfkc", "fold", "word"), ("nfc", "keep", "word"), ("nfc", "fold", "python"), ("none", "lower", "python")],
)
def test_assigned_characters_follow_the_tables_of_python(norm: str, case: str, letters: str, step: int) -> None:
    """Each code point, alone: what normalisation, case and the choice of letters leave of it.

    Python's tables are of an earlier Unicode version than the core's. Properties of assigned characters are stable but
    for corrections: of all code points fewer than one in a thousand may differ.
    """
    recipe = nk.Recipe(f"norm:{norm}|case:{case}|letters:{letters}|char:64|count|xxh3|simhash:64")
    points = [chr(c) for c in range(0, sys.maxunicode + 1, step)]
    points = [point for point in points if unicodedata.category(point) not in ("Cs", "Cn", "Co")]
    differ = []
    for point in points:
        expected = reference.features(point, "char", 64, norm=norm, case=case, letters=letters)
        if expected != list(recipe.features_of(point)):
            differ.append(f"U+{ord(point):04X}")
    assert len(differ) < len(points) / 1000, differ


def test_joined_words_are_never_ambiguous() -> None:
    """("ab", "c") and ("a", "bc") are two features, and no word contains the joining space."""
    assert {"ab c": 1} == features("ab c", "word:2")
    assert {"a bc": 1} == features("a bc", "word:2")
    for letters in ("word", "python", "all"):
        assert {"a b": 1, "b c": 1} == features("a\u00a0b\u2003c", f"letters:{letters}|word:2")


def test_words_are_those_of_uax_29() -> None:
    """Contractions and numbers are not split, and punctuation is removed."""
    assert ["the", "quick", "brown", "fox", "can't", "jump", "32.3", "feet", "right"] == list(
        features("The quick (“brown”) fox can't jump 32.3 feet, right?", "word:1")
    )


def test_words_of_python_are_runs_of_word_characters() -> None:
    r"""`letters:python` splits at every character that `\w` does not match."""
    assert {"can": 1, "t": 1, "jump": 1, "32": 1, "3": 1} == features("can't jump 32.3", "letters:python|word:1")


def test_texts_shorter_than_n_are_one_feature() -> None:
    """Three letters have no 4-gram, so the complete text is the feature."""
    assert {"abc": 1} == features("a-b-c", "char:4")
    assert {"one two": 1} == features("One, two.", "word:3")


@pytest.mark.parametrize("text", ["", " ", "...", "!?¿¡ — “”", "\n\t\u3000", "€ + £ = ?", "👍 🎉", "。、！"])
@pytest.mark.parametrize("kind", ["char:4", "word:1", "word:3"])
def test_texts_without_letters_have_no_feature(text: str, kind: str) -> None:
    """Empty texts, punctuation, symbols and white space have no features."""
    assert {} == features(text, kind)


@pytest.mark.parametrize("text", ["❤\ufe0f", "☀\ufe0f", "👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈"])
def test_symbols_with_selectors_and_joiners_have_no_feature(text: str) -> None:
    """Emoji have no features, however they are encoded."""
    assert {} == features(text, "char:4")


def test_composed_and_decomposed_texts_are_one() -> None:
    """NFC and NFD have the same features, unless normalisation is off."""
    composed, decomposed = (unicodedata.normalize(form, "Crème brûlée à Malmö") for form in ("NFC", "NFD"))
    assert features(composed, "char:4") == features(decomposed, "char:4")
    assert features(composed, "norm:nfc|char:4") == features(decomposed, "norm:nfc|char:4")
    assert features(composed, "norm:none|char:4") != features(decomposed, "norm:none|char:4")


def test_stop_words_go_before_grams_are_built() -> None:
    """The words on both sides of a stop word become neighbours."""
    recipe = nk.Recipe("word:2|count|xxh3|simhash:64", stop_words=["of", "the"])
    assert {"king hill": 1} == recipe.features_of("King of the Hill")
    assert {} == recipe.features_of("Of the the")
