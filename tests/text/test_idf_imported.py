"""Imported tables of weights: read, used in a recipe, saved, and refused if invalid."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import CorruptStoreError, InputError, MismatchError, ParameterError

PLAIN = "norm:none|case:keep|letters:all|word:1"


def table(folder: Path, text: str | bytes) -> Path:
    path = folder / "table.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("unknown", "weight"), [("median", 4.0), ("mean", 2.75), ("largest", 5.0), (1.5, 1.5)])
def test_words_weigh_what_their_lines_say(tmp_path: Path, unknown: Any, weight: float) -> None:
    idf = nk.Idf.read(table(tmp_path, "red 1\nwine 5\r\n\nold wine\t4\nx 1\n"), PLAIN, unknown=unknown)
    assert [idf.value(word) for word in ("red", "wine", "old wine", "x", "beer")] == [1.0, 5.0, 4.0, 1.0, weight]
    assert idf.is_imported
    assert (idf.documents, len(idf)) == (0, 4)


def test_keywords_are_weighed_by_the_table(tmp_path: Path) -> None:
    idf = nk.Idf.read(table(tmp_path, "red 0.5\nwine 5\ncheese 3\n"), PLAIN)
    recipe = nk.Recipe(f"{PLAIN}|idf:{idf.digest}|top:2|xxh3|simhash:64", idf=idf)
    result = nk.keywords(["red red red wine cheese"], recipe)[0]
    # Each is one word of five.
    assert [(word, round(5 * weight, 9)) for word, weight in result] == [("wine", 5.0), ("cheese", 3.0)]


def test_words_are_normalised_as_the_recipe_does(tmp_path: Path) -> None:
    idf = nk.Idf.read(table(tmp_path, "Straße 2\nＷＩＮＥ 3\nwine 4\n"), "word:1")
    assert [idf.value(word) for word in ("strasse", "wine")] == [2.0, 4.0]


@settings(max_examples=60, deadline=None)
@given(
    words=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=5),
        st.floats(0, 1e300),
        min_size=1,
        max_size=20,
    )
)
def test_saving_and_loading_is_identity(words: dict[str, float], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("idf")
    idf = nk.Idf.read(table(folder, "".join(f"{word} {weight!r}\n" for word, weight in words.items())), PLAIN)
    idf.save(folder / "saved")
    loaded = nk.Idf.load(folder / "saved")
    assert loaded.digest == idf.digest
    assert [loaded.value(word) for word in words] == list(words.values())
    assert loaded.unknown == idf.unknown


def test_the_digest_follows_from_words_weights_and_the_weight_of_others(tmp_path: Path) -> None:
    read = [
        nk.Idf.read(table(tmp_path, text), PLAIN, unknown=unknown)
        for text, unknown in [("a 1\nb 2\n", 1.0), ("b 2\na 1\n", 1.0), ("a 1\nb 3\n", 1.0), ("a 1\nb 2\n", 2.0)]
    ]
    digests = [idf.digest for idf in read]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_another_recipe_is_refused(tmp_path: Path) -> None:
    idf = nk.Idf.read(table(tmp_path, "a 1\n"), PLAIN)
    with pytest.raises(MismatchError, match="recipe slot norm"):
        idf.check(nk.Recipe(f"word:1|idf:{idf.digest}|xxh3|simhash:64", idf=idf))


@pytest.mark.parametrize("line", ["word", "word nan", "word inf", "word -1", "7", b"\xff\xfe 1", "word 1x"])
def test_a_line_without_a_weight_names_its_place(tmp_path: Path, line: str | bytes) -> None:
    data = line if isinstance(line, bytes) else line.encode()
    with pytest.raises(InputError, match=r"table\.txt line 2: .*give `word weight`"):
        nk.Idf.read(table(tmp_path, b"red 1\n" + data + b"\n"), PLAIN)


def test_empty_files_and_other_parameters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no words"):
        nk.Idf.read(table(tmp_path, "\n\n"), PLAIN)
    for unknown in ("average", -1, math.nan, None):
        with pytest.raises(ParameterError, match="unknown"):
            nk.Idf.read(table(tmp_path, "a 1\n"), PLAIN, unknown=unknown)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        nk.Idf.read(tmp_path / "none", PLAIN)


@pytest.mark.parametrize("change", [{"unknown": 9.0}, {"unknown": "x"}, {"version": 1}, {"head_sha256": None}])
def test_a_changed_table_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    nk.Idf.read(table(tmp_path, "a 1\nb 2\n"), PLAIN).save(tmp_path / "saved")
    line, _, rest = (tmp_path / "saved").read_bytes().partition(b"\n")
    head = {key: value for key, value in (json.loads(line) | change).items() if value is not None}
    (tmp_path / "saved").write_bytes(json.dumps(head, sort_keys=True).encode() + b"\n" + rest)
    with pytest.raises(CorruptStoreError):
        nk.Idf.load(tmp_path / "saved")
