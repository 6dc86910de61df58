"""`nearkin hash`, `compare` and `recipe`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nearkin as nk
from command import TEXTS, call
from nearkin.pipeline.verify import baselines
from nearkin.search.fingerprints import to_hex


def test_hash_prints_an_id_and_hexadecimal_digits(corpus: Path) -> None:
    """One line per document; a text without letters has none."""
    done = call("hash", corpus, "--id-column", "id", "--bits", "64")
    rows = [line.split("\t") for line in done.lines]
    digits = to_hex(nk.fingerprint(list(TEXTS.values()), nk.Recipe().with_(bits=64)), 64)
    assert [[name, text] for name, text in zip("abcd", digits, strict=False)] == rows[:4]
    assert ["e", "-"] == rows[4]
    assert (0, "") == (done.code, done.err)


def test_hash_as_json_counts_features(corpus: Path) -> None:
    """An object per document: id, fingerprint, features; null where there is none."""
    rows = call("hash", corpus, "--id-column", "id", "--json").objects()
    recipe = nk.Recipe()
    expected = [len(recipe.features_of(text)) for text in TEXTS.values()]
    assert ({"id", "fingerprint", "features"}, expected) == (set(rows[0]), [row["features"] for row in rows])
    assert {"id": "e", "fingerprint": None, "features": 0} == rows[4]


def test_hash_numbers_documents_without_ids(corpus: Path) -> None:
    """Row numbers, from 0."""
    assert ["0", "1", "2", "3", "4"] == [line.split("\t")[0] for line in call("hash", corpus).lines]


@pytest.mark.parametrize(
    ("options", "recipe"),
    [
        (("--recipe", "simhash-pypi"), "simhash-pypi"),
        (("--recipe", "word:2|count|xxh3|simhash:64"), "word:2|count|xxh3|simhash:64"),
        (("--recipe", "word:2|count|xxh3|simhash:64", "--bits", "256"), "word:2|count|xxh3|simhash:256"),
    ],
)
def test_hash_follows_the_recipe(corpus: Path, options: tuple[str, ...], recipe: str) -> None:
    """A preset, a text form, a slot changed by its option."""
    made = nk.Recipe.of(recipe)
    expected = to_hex(nk.fingerprint(list(TEXTS.values())[:4], made), made.bits)
    assert expected == [line.split("\t")[1] for line in call("hash", corpus, *options).lines][:4]


def test_hash_reads_columns_and_formats(tmp_path: Path) -> None:
    """Another column for the text, another format than the name tells, standard input."""
    path = tmp_path / "corpus.csv"
    path.write_text("key,body\nx,some text here\n")
    expected = call("hash", path, "--text-column", "body", "--id-column", "key", "--threads", "1").out
    assert expected.startswith("x\t")
    other = tmp_path / "corpus.data"
    other.write_bytes(path.read_bytes())
    options = ("--format", "csv", "--text-column", "body", "--id-column", "key")
    assert expected == call("hash", other, *options).out == call("hash", "-", *options, stdin=path.read_bytes()).out


def test_hash_skips_what_can_not_be_read(corpus: Path) -> None:
    """With a message, or with --strict not at all."""
    corpus.write_text("{\n" + corpus.read_text())
    done = call("hash", corpus, "--id-column", "id", "--max-malformed", "1")
    assert (0, 5, True) == (done.code, len(done.lines), f"skipped: {corpus}, line 1" in done.err)
    assert 1 == call("hash", corpus, "--strict").code


def test_hash_refuses_signatures(corpus: Path) -> None:
    """A recipe with MinHash makes no fingerprints; the message says so."""
    done = call("hash", corpus, "--recipe", "minhash")
    assert (2, "") == (done.code, done.out)
    assert "simhash" in done.err


def test_compare_shows_distance_similarity_and_differing_features() -> None:
    """The articles' two texts."""
    found = call("compare", "--text", "how are u?", "how are you?", "--json", "--recipe", "simhash-pypi").json()
    assert 12 == found["distance"]
    assert (["areu"], ["arey", "reyo", "eyou"]) == (found["only_a"], found["only_b"])
    assert 1 - 2 / 22 == pytest.approx(found["indel"])
    assert 3 / 7 == pytest.approx(found["jaccard"])
    recipe = nk.Recipe.preset("simhash-pypi")
    digits = to_hex(nk.fingerprint(["how are u?", "how are you?"], recipe), 64)
    assert (str(recipe), 64, digits, [4, 6]) == (
        found["recipe"],
        found["bits"],
        found["fingerprints"],
        found["features"],
    )


def test_compare_in_words() -> None:
    """A line per fact: recipe, fingerprints, distance, measures, features."""
    lines = call("compare", "--text", "how are u?", "how are you?").lines
    assert f"recipe       {nk.Recipe()}" == lines[0]
    assert ["a", "b"] == [line[-1] for line in lines[1:3]]
    assert " of 128 bits" in lines[3]
    assert ["jaccard", "containment", "indel"] == [line.split()[0] for line in lines[4:7]]
    assert "features     4 in a, 6 in b, 3 in both" == lines[-3]
    assert ["only in a    'areu'", "only in b    'arey', 'reyo', 'eyou'"] == lines[-2:]


def test_compare_shows_the_measures_of_other_programs() -> None:
    """Levenshtein, 2- and 3-grams of characters."""
    expected = baselines("how are u?", "how are you?")
    found = call("compare", "--text", "how are u?", "how are you?", "--json").json()
    assert expected == {name: found[name] for name in expected}
    shown = call("compare", "--text", "how are u?", "how are you?").out
    assert "levenshtein  0.8333" in shown
    assert "trigrams     0.6667" in shown


def test_compare_shows_as_many_features_as_wanted() -> None:
    """The rest is counted; none is said."""
    options = ("compare", "--text", "how are u?", "how are you?")
    assert "only in b    'arey' and 2 more" in call(*options, "--show", "1").lines
    assert "only in a    none" in call("compare", "--text", "the same", "the same").lines


def test_compare_of_a_text_without_letters_has_no_distance() -> None:
    """Null in JSON, none in words."""
    assert call("compare", "--text", "...", "some words", "--json").json()["distance"] is None
    assert "distance     none: a text without any letter" in call("compare", "--text", "...", "some words").lines


def test_compare_reads_files_and_refuses_other_encodings(tmp_path: Path) -> None:
    """A file that is not UTF-8 is an error that says where and how to mend it; - is standard input."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("some text")
    two.write_bytes(b"caf\xe9")
    done = call("compare", one, two)
    assert (1, True) == (done.code, f"{two}: is not UTF-8 at byte 3; convert it" in done.err)
    assert 0 == call("compare", one, "-", "--json", stdin=b"some text").json()["distance"]
    done = call("compare", one, "-", stdin=b"\xff")
    assert (1, True) == (done.code, "standard input: is not UTF-8 at byte 0" in done.err)


def test_recipe_prints_every_slot() -> None:
    """Text form, digest, JSON; the default without an argument."""
    recipe = nk.Recipe("word:3|count|xxh3|simhash:64")
    assert [str(recipe), recipe.digest, recipe.to_json()] == call("recipe", str(recipe)).lines
    default = nk.Recipe()
    assert [str(default), default.digest, default.to_json()] == call("recipe").lines
    assert str(default.with_(bits=64)) == call("recipe", "--bits", "64").lines[0]
    assert json.loads(call("recipe", "minhash").lines[2])


@pytest.mark.parametrize("text", ["word:0", "word:3|word:4", "", "simhash:0", "idf:none"])
def test_recipe_refuses_what_is_none(text: str) -> None:
    """Exit code 2, with what is allowed."""
    done = call("recipe", text)
    assert (2, "", True) == (done.code, done.out, "is not allowed; use" in done.err)
