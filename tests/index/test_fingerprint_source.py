"""nearkin.index.fingerprint_source: texts and existing fingerprints of every kind, in batches, and errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from nearkin.errors import InputError, ParameterError
from nearkin.index.fingerprint_source import FingerprintSource, open_fingerprints

RECIPE = nk.Recipe("word:1|count|xxh3|simhash:128")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a list of fingerprints."""
    return tmp_path / "codes.txt"


def read_all(source: FingerprintSource) -> tuple[list[Any], list[Any], list[bool]]:
    """Read all names, fingerprints, and flags of existing ones."""
    names: list[Any] = []
    codes: list[Any] = []
    present: list[bool] = []
    with source:
        for batch in source:
            assert len(batch) == len(batch.names) == len(batch.present)
            names += list(batch.names)
            codes += batch.codes.tolist()
            present += batch.present.tolist()
    return names, codes, present


def test_texts_are_hashed_by_the_recipe(tmp_path: Path) -> None:
    """Fingerprints are those of `nearkin.fingerprint`; a text without letters has none."""
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": 7, "text": "red wine"}\n{"id": "b", "text": "..."}\n{"id": 9, "text": "green cheese"}\n')
    source = open_fingerprints([str(path)], RECIPE, id_column="id")
    expected = nk.fingerprint(["red wine", "...", "green cheese"], RECIPE)
    assert ([7, "b", 9], expected.tolist(), [True, False, True]) == read_all(source)
    assert (3, 1, 0, 128, False, False) == (
        source.read, source.absent, source.malformed, source.bits, source.numbered, source.ids_are_text,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "lines", "expected"),
    [
        ("hex", "ff\n0\n-\n\nFFFFFFFFFFFFFFFF\n", [255, 0, None, None, 2**64 - 1]),
        ("int", "255\n0\n-\n\n18446744073709551615\n", [255, 0, None, None, 2**64 - 1]),
    ],
)
def test_lines_are_numbers_or_none(path: Path, kind: str, lines: str, expected: list[int | None]) -> None:
    """Lines are numbered from 0; a dash and an empty line mean none."""
    path.write_text(lines)
    source = open_fingerprints([str(path)], None, kind)
    actual = read_all(source)
    assert ([0, 1, 2, 3, 4], [value or 0 for value in expected]) == actual[:2]
    assert [value is not None for value in expected] == actual[2]
    assert source.numbered
    assert 2 == source.absent


def test_wide_numbers_become_words_lowest_first(path: Path) -> None:
    """130 bits are three words."""
    value = (3 << 128) | (5 << 64) | 7
    path.write_text(f"a\t{value:x}\nb\t0\n")
    source = open_fingerprints([str(path)], None, "hex", 130)
    assert (["a", "b"], [[7, 5, 3], [0, 0, 0]], [True, True]) == read_all(source)
    assert not source.numbered
    assert source.ids_are_text


@pytest.mark.parametrize(
    ("kind", "bits", "bad"),
    [("hex", 8, "100"), ("hex", 64, "xyz"), ("hex", 64, "-1"), ("hex", 64, "1_0"), ("hex", 64, "٣"),
     ("int", 8, "256"), ("int", 64, "ff"), ("int", 64, "+1"), ("int", 64, "18446744073709551616"),
     ("hex", 64, "f" * 60)],
)  # fmt: skip
def test_numbers_of_another_form_or_width_are_skipped_and_counted(path: Path, kind: str, bits: int, bad: str) -> None:
    """A bad record does not end the run, and is reported with its row and what is allowed."""
    path.write_text(f"1\n{bad}\n2\n")
    source = open_fingerprints([str(path)], None, kind, bits, max_malformed=1)
    assert ([0, 1, 2], [1, 0, 2], [True, False, True]) == read_all(source)
    assert 1 == source.malformed
    assert source.corpus is not None
    first = source.corpus.malformed.first[0]
    assert 2 == first.line
    assert f"below 2**{bits}" in first.reason
    assert len(first.reason) < 100


def test_bad_numbers_are_errors_in_strict_mode(path: Path) -> None:
    """The first one ends the run; without strict mode the run fails at the end if all are bad."""
    path.write_text("xyz\nuvw\n")
    with pytest.raises(InputError, match="hexadecimal"):
        read_all(open_fingerprints([str(path)], None, "hex", strict=True))
    with pytest.raises(InputError, match="2 of 2 records can't be read"):
        read_all(open_fingerprints([str(path)], None, "hex"))


@pytest.mark.parametrize(
    ("lines", "names", "codes", "reason"),
    [
        ("a\t1\n2\nc\t3\n", ["a", "", "c"], [1, 0, 3], "no id, but the first line has one"),
        ("1\nb\t2\n3\n", [0, 1, 2], [1, 0, 3], "an id, but the first line has none"),
    ],
)
def test_lines_with_and_without_ids_do_not_mix(
    path: Path, lines: str, names: list[Any], codes: list[int], reason: str
) -> None:
    """The first line decides; others are skipped and counted. An id may contain a tab."""
    path.write_text(lines)
    source = open_fingerprints([str(path)], None, "hex", max_malformed=0.5)
    assert (names, codes, [True, False, True]) == read_all(source)
    assert source.corpus is not None
    assert reason in source.corpus.malformed.first[0].reason
    path.write_text("a\tb\t1\n")
    assert (["a\tb"], [1], [True]) == read_all(open_fingerprints([str(path)], None, "hex"))


def test_numbers_may_be_in_a_column(tmp_path: Path) -> None:
    """The default is `fingerprint`, with a column of ids."""
    path = tmp_path / "codes.csv"
    path.write_text("name,fingerprint,other\nx,ff,1\ny,-,2\n")
    assert (["x", "y"], [255, 0], [True, False]) == read_all(
        open_fingerprints([str(path)], None, "hex", id_column="name")
    )
    source = open_fingerprints([str(path)], None, "int", column="other")
    assert source.numbered
    assert ([0, 1], [1, 2], [True, True]) == read_all(source)


def test_standard_input_is_lines_by_default() -> None:
    """For existing fingerprints."""
    code = (
        "from nearkin.index.fingerprint_source import open_fingerprints as o; "
        "print(*(b.codes for b in o(['-'], None, 'hex')))"
    )
    actual = subprocess.run([sys.executable, "-c", code], input="ff\n1\n", capture_output=True, text=True, check=True)
    assert "[255   1]\n" == actual.stdout


def test_options_that_exclude_each_other_are_errors(path: Path) -> None:
    """The message has what is allowed."""
    path.write_text("ff\n")
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((None, "octal"), {}, "hex or int"),
        ((None,), {}, "a recipe"),
        ((None, "hex"), {"format": "files"}, "jsonl, parquet"),
        ((RECIPE, "hex", 64), {}, "the width of the recipe, 128"),
    ]
    for arguments, options, message in cases:
        with pytest.raises(ParameterError, match=message):
            open_fingerprints([str(path)], *arguments, **options)


def test_existing_fingerprints_have_the_width_of_the_recipe(path: Path) -> None:
    """An explicit width wins; the default is 64."""
    path.write_text("ff\n")
    for recipe, bits, expected in ((RECIPE, None, 128), (None, 100, 100), (None, None, 64), (RECIPE, 128, 128)):
        with open_fingerprints([str(path)], recipe, "hex", bits) as source:
            assert expected == source.bits
            assert source.recipe is None
