"""Tests of nearkin.cli.options."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.cli.options import parse_bytes, parse_recipe
from nearkin.errors import InputError, ParameterError
from nearkin.recipe import PRESETS


def test_nothing_gives_the_default() -> None:
    """Without options the recipe is the default."""
    assert nk.Recipe() == parse_recipe(None)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_is_named_as_in_python(preset: str) -> None:
    """Presets have the same names as in Python."""
    assert nk.Recipe.of(preset) == parse_recipe(preset)


@given(bits=st.integers(1, 16).map(lambda words: 64 * words), n=st.integers(1, 8))
def test_options_change_their_slots_alone(bits: int, n: int) -> None:
    """--bits and --family change only their own fields."""
    recipe = parse_recipe(f"word:{n}|count|xxh3|simhash:64", bits)
    assert nk.Recipe(f"word:{n}|count|xxh3|simhash:64").with_(bits=bits) == recipe
    assert recipe == parse_recipe(f"word:{n}|count|xxh3|simhash:64", None, f"simhash:{bits}")
    assert n == parse_recipe(f"word:{n}|binary|xxh3|simhash:64", None, "minhash").n


def test_bits_come_after_the_family() -> None:
    """--bits overrides the width in --family."""
    assert 128 == parse_recipe(None, 128, "simhash:64").bits


def test_stop_words_of_a_file_stand_beside_named_lists(tmp_path: Path) -> None:
    """A file of stop words extends a named list; blanks are ignored."""
    path = tmp_path / "stop.txt"
    path.write_text(" one \n\n two\n")
    expected = nk.Recipe("stop:en|word:1|count|xxh3|simhash:64", stop_words=["one", "two"])
    assert expected == parse_recipe(f"stop:en,@{path}|word:1|count|xxh3|simhash:64")


def test_a_dictionary_that_is_no_text_names_its_byte(tmp_path: Path) -> None:
    """The message names the invalid byte and the remedy."""
    path = tmp_path / "user.txt"
    path.write_bytes(b"word 5\n\xff\n")
    with pytest.raises(InputError, match="is not UTF-8 at byte 7; convert it, for example with iconv"):
        parse_recipe(f"user:@{path}|word:1")


@pytest.mark.parametrize("text", ["word:1|idf:x@y", "user:a@b|word:1"])
def test_a_sign_for_files_inside_of_an_argument_is_none(text: str) -> None:
    """Only a leading @ names a file."""
    with pytest.raises(ParameterError):
        parse_recipe(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1000", 1000), ("1.5k", 1500), ("2M", 2_000_000), ("1Gi", 1 << 30), ("3 KiB", 3072), ("1T", 10**12)],
)
def test_sizes_have_units(text: str, expected: int) -> None:
    """Units are powers of 1000, or of 1024 with an i."""
    assert expected == parse_bytes(text)


@pytest.mark.parametrize("limit", ["", "M", "-1", "1.5.5G", "12X", "1e9", "9" * 19])
def test_other_sizes_are_refused(limit: str) -> None:
    """The message shows valid forms."""
    with pytest.raises(ParameterError, match="a number of bytes such as 500M, 2G or 2Gi"):
        parse_bytes(limit)
