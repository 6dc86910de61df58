"""Recipes of the command line: nearkin.cli.options."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.cli.options import parse_recipe
from nearkin.errors import InputError, ParameterError
from nearkin.recipe import PRESETS


def test_nothing_gives_the_default() -> None:
    """As everywhere."""
    assert nk.Recipe() == parse_recipe(None)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_is_named_as_in_python(preset: str) -> None:
    """Whatever it needs beside its text form."""
    assert nk.Recipe.of(preset) == parse_recipe(preset)


@given(bits=st.integers(1, 16).map(lambda words: 64 * words), n=st.integers(1, 8))
def test_options_change_their_slots_alone(bits: int, n: int) -> None:
    """Width and family after the text form; the rest of it stays."""
    recipe = parse_recipe(f"word:{n}|count|xxh3|simhash:64", bits)
    assert nk.Recipe(f"word:{n}|count|xxh3|simhash:64").with_(bits=bits) == recipe
    assert recipe == parse_recipe(f"word:{n}|count|xxh3|simhash:64", None, f"simhash:{bits}")
    assert n == parse_recipe(f"word:{n}|binary|xxh3|simhash:64", None, "minhash").n


def test_bits_come_after_the_family() -> None:
    """So that the narrower word wins: `--family simhash:64 --bits 128` is 128 bits wide."""
    assert 128 == parse_recipe(None, 128, "simhash:64").bits


def test_stop_words_of_a_file_stand_beside_named_lists(tmp_path: Path) -> None:
    """Blank lines and blanks around words are left out."""
    path = tmp_path / "stop.txt"
    path.write_text(" one \n\n two\n")
    expected = nk.Recipe("stop:en|word:1|count|xxh3|simhash:64", stop_words=["one", "two"])
    assert expected == parse_recipe(f"stop:en,@{path}|word:1|count|xxh3|simhash:64")


def test_a_dictionary_that_is_no_text_names_its_byte(tmp_path: Path) -> None:
    """And what to do."""
    path = tmp_path / "user.txt"
    path.write_bytes(b"word 5\n\xff\n")
    with pytest.raises(InputError, match="is not UTF-8 at byte 7; convert it, for example with iconv"):
        parse_recipe(f"user:@{path}|word:1")


@pytest.mark.parametrize("text", ["word:1|idf:x@y", "user:a@b|word:1"])
def test_a_sign_for_files_inside_of_an_argument_is_none(text: str) -> None:
    """Only the first character of the argument says that a file follows."""
    with pytest.raises(ParameterError):
        parse_recipe(text)
