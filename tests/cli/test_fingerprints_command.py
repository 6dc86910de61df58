"""Tests of `nearkin text hash`, `compare`, `explain` and `recipe`."""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nearkin as nk
import reference
from command import TEXTS, call, check_message, succeed
from nearkin.dedup.verify import baselines
from nearkin.index.fingerprints import to_hex


def test_hash_prints_an_id_and_hexadecimal_digits(corpus: Path) -> None:
    """There is a line per document; a text without letters has no fingerprint."""
    done = call("text", "hash", corpus, "--id-column", "id", "--bits", "64")
    rows = [line.split("\t") for line in done.lines]
    digits = to_hex(nk.fingerprint(list(TEXTS.values()), nk.Recipe().with_(bits=64)), 64)
    assert [[name, text] for name, text in zip("abcd", digits, strict=False)] == rows[:4]
    assert ["e", "-"] == rows[4]
    assert (0, "") == (done.code, done.err)


def test_hash_as_json_counts_features(corpus: Path) -> None:
    """--json prints id, fingerprint and number of features; the fingerprint may be null."""
    rows = call("text", "hash", corpus, "--id-column", "id", "--json").objects()
    recipe = nk.Recipe()
    expected = [len(recipe.features_of(text)) for text in TEXTS.values()]
    assert ({"id", "fingerprint", "features"}, expected) == (set(rows[0]), [row["features"] for row in rows])
    assert {"id": "e", "fingerprint": None, "features": 0} == rows[4]


def test_hash_numbers_documents_without_ids(corpus: Path) -> None:
    """With --id-column none, ids are row numbers from 0."""
    lines = call("text", "hash", corpus, "--id-column", "none").lines
    assert ["0", "1", "2", "3", "4"] == [line.split("\t")[0] for line in lines]


@pytest.mark.parametrize(
    ("options", "recipe"),
    [
        (("--recipe", "simhash-pypi"), "simhash-pypi"),
        (("--recipe", "word:2|count|xxh3|simhash:64"), "word:2|count|xxh3|simhash:64"),
        (("--recipe", "word:2|count|xxh3|simhash:64", "--bits", "256"), "word:2|count|xxh3|simhash:256"),
    ],
)
def test_hash_follows_the_recipe(corpus: Path, options: tuple[str, ...], recipe: str) -> None:
    """--recipe takes a preset or a text form; --bits changes one field."""
    made = nk.Recipe.of(recipe)
    expected = to_hex(nk.fingerprint(list(TEXTS.values())[:4], made), made.bits)
    assert expected == [line.split("\t")[1] for line in call("text", "hash", corpus, *options).lines][:4]


def test_hash_reads_columns_and_formats(tmp_path: Path) -> None:
    """Text column, format and standard input can be set."""
    path = tmp_path / "corpus.csv"
    path.write_text("key,body\nx,some text here\n")
    expected = call("text", "hash", path, "--text-column", "body", "--id-column", "key", "--threads", "1").out
    assert expected.startswith("x\t")
    other = tmp_path / "corpus.data"
    other.write_bytes(path.read_bytes())
    options = ("--format", "csv", "--text-column", "body", "--id-column", "key")
    for name in (other, "-"):
        assert expected == call("text", "hash", name, *options, stdin=path.read_bytes()).out


def test_hash_skips_what_can_not_be_read(corpus: Path) -> None:
    """Unreadable records are reported, or are an error with --strict."""
    corpus.write_text("{\n" + corpus.read_text())
    done = call("text", "hash", corpus, "--id-column", "id", "--max-malformed", "1")
    assert (0, 5, True) == (done.code, len(done.lines), f"skipped: {corpus}, line 1" in done.err)
    assert 1 == call("text", "hash", corpus, "--strict").code


def test_hash_refuses_signatures(corpus: Path) -> None:
    """A MinHash recipe is an error, because it has no fingerprints."""
    done = call("text", "hash", corpus, "--recipe", "minhash")
    assert (2, "") == (done.code, done.out)
    assert "simhash" in done.err


def test_compare_shows_distance_similarity_and_differing_features() -> None:
    """The result agrees with published values for two texts."""
    options = ("--json", "--recipe", "simhash-pypi")
    result = call("text", "compare", "--text", "how are u?", "how are you?", *options).json()
    assert 12 == result["distance"]
    assert (["areu"], ["arey", "reyo", "eyou"]) == (result["only_a"], result["only_b"])
    assert 1 - 2 / 22 == pytest.approx(result["indel"])
    assert 3 / 7 == pytest.approx(result["jaccard"])
    recipe = nk.Recipe.preset("simhash-pypi")
    digits = to_hex(nk.fingerprint(["how are u?", "how are you?"], recipe), 64)
    expected = {"recipe": str(recipe), "bits": 64, "fingerprints": digits, "features": [4, 6]}
    assert expected == {name: result[name] for name in expected}


def test_compare_in_words() -> None:
    """The output has a line for each of recipe, fingerprints, distance, measures and features."""
    lines = call("text", "compare", "--text", "how are u?", "how are you?").lines
    assert f"recipe       {nk.Recipe()}" == lines[0]
    assert ["a", "b"] == [line[-1] for line in lines[1:3]]
    assert " of 128 bits" in lines[3]
    assert ["jaccard", "containment", "indel"] == [line.split()[0] for line in lines[4:7]]
    assert "features     4 in a, 6 in b, 3 in both" == lines[-3]
    assert ["only in a    'areu'", "only in b    'arey', 'reyo', 'eyou'"] == lines[-2:]


def test_compare_shows_the_measures_of_other_programs() -> None:
    """Levenshtein and character 2- and 3-grams are included."""
    expected = baselines("how are u?", "how are you?")
    result = call("text", "compare", "--text", "how are u?", "how are you?", "--json").json()
    assert expected == {name: result[name] for name in expected}
    shown = call("text", "compare", "--text", "how are u?", "how are you?").out
    assert "levenshtein  0.8333" in shown
    assert "trigrams     0.6667" in shown


def test_compare_shows_ten_features() -> None:
    """The others are counted."""
    words = [f"word{i}" for i in range(12)]
    lines = call("text", "compare", "--text", "same", " ".join(["same", *words]), "--recipe", "word:1").lines
    listed = ", ".join(map(repr, words[:10]))
    assert ["only in a    none", f"only in b    {listed} and 2 more"] == lines[-2:]


@pytest.mark.parametrize("texts", [("...", "some words"), ("some words", ""), ("", "")])
def test_compare_of_a_text_without_letters_has_no_distance(texts: tuple[str, str]) -> None:
    """Distance and similarities of features are null; edits are still computed."""
    result = call("text", "compare", "--text", *texts, "--json").json()
    assert [None] * 4 == [result[name] for name in ("distance", "jaccard", "containment", "dice")]
    assert [name != "some words" for name in texts] == [each is None for each in result["fingerprints"]]
    assert isinstance(result["indel"], float)
    lines = call("text", "compare", "--text", *texts).lines
    for name in ("distance", "jaccard", "containment", "dice"):
        assert f"{name:<12} none: a text without any letter" in lines
    assert sum(name != "some words" for name in texts) == sum(bool(re.search("none +[ab]$", line)) for line in lines)
    assert not any("0000000000000000" in line for line in lines)


def test_compare_reads_files_and_refuses_other_encodings(tmp_path: Path) -> None:
    """A file that is not UTF-8 is an error with a remedy; - reads standard input."""
    first, second = tmp_path / "one", tmp_path / "second"
    first.write_text("some text")
    second.write_bytes(b"caf\xe9")
    check_message(1, f"{second}: is not UTF-8 at byte 3; convert it", "text", "compare", first, second)
    assert 0 == call("text", "compare", first, "-", "--json", stdin=b"some text").json()["distance"]
    check_message(1, "standard input: is not UTF-8 at byte 0", "text", "compare", first, "-", stdin=b"\xff")


def test_recipe_prints_every_slot() -> None:
    """The output is the text form, the digest and JSON, by default of the fingerprint recipe; a note has the other."""
    recipe = nk.Recipe("word:3|count|xxh3|simhash:64")
    assert [str(recipe), recipe.digest, recipe.to_json()] == call("recipe", "show", str(recipe)).lines
    default = nk.Recipe()
    for words in ((), ("default",)):
        assert (
            "document recipe, of dedup and stores: char:4|binary|xxh3|minhash:128" in call("recipe", "show", *words).err
        )
    assert "document recipe" not in call("recipe", "show", "minhash").err
    assert [str(default), default.digest, default.to_json()] == call("recipe", "show").lines
    assert str(default.with_(bits=64)) == call("recipe", "show", "--bits", "64").lines[0]
    assert json.loads(call("recipe", "show", "minhash").lines[2])


def test_explain_shows_every_step(tmp_path: Path) -> None:
    """The steps end in the fingerprint of `nearkin text hash`; two texts are compared."""
    done = call("text", "explain", "How are you?", "--recipe", "simhash-pypi")
    assert "normalised   howareyou" in done.lines
    assert f"fingerprint  {3891612042386514056:016x}" in done.lines
    path = tmp_path / "text"
    path.write_text("How are you?")
    assert done.out == call("text", "explain", path, "--files", "--recipe", "simhash-pypi").out
    two = ("text", "explain", "how are u?", "how are you?", "--recipe", "simhash-pypi")
    beside = call(*two, "--json").json()
    assert 12 == beside["distance"] == len(beside["differing"])
    assert "distance     12 of 64 bits" in call(*two).lines


def test_explain_of_a_signature() -> None:
    result = call("text", "explain", "one two three", "--recipe", "word:1|binary|xxh3|minhash:16", "--json").json()
    assert 16 == len(result["signature"]) == len(result["owners"])


def test_explain_of_files(tmp_path: Path) -> None:
    """The steps end in the digest of `nearkin ssdeep hash`, for a file, standard input and a text."""
    data = b"".join(b"line %d of a file\n" % number for number in range(300))
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "b").write_bytes(data.replace(b"line 100 ", b"LINE 100, edited, "))
    digest = nk.ssdeep.hash(data)
    shown = call("text", "explain", "--files", "--recipe", "ssdeep", tmp_path / "a")
    assert f"digest       {digest}" == shown.lines[-1]
    assert shown.out == call("text", "explain", "--files", "--recipe", "ssdeep", "-", stdin=data).out
    beside = call("text", "explain", "--files", "--recipe", "ssdeep", tmp_path / "a", tmp_path / "b", "--json").json()
    assert digest == beside["a"]["digest"]
    assert nk.ssdeep.compare(digest, beside["b"]["digest"]) == beside["score"]
    assert "digest       3:aaX8v:aV" in call("text", "explain", "Hello, World!\n", "--recipe", "ssdeep").lines


def test_compare_shows_the_edits() -> None:
    """The output has counts, the longest common string, and both texts in one line."""
    lines = call("text", "compare", "--text", "how are u?", "how are you?").lines
    assert "edits        2: 2 inserted, 0 deleted, 0 substituted" in lines
    assert "common       8 characters in a row: 'how are '" in lines
    assert "aligned      how are {+yo+}u?" in lines
    result = call("text", "compare", "--text", "how are u?", "how are you?", "--json").json()
    assert {"distance": 2, "insertions": 2, "deletions": 0, "substitutions": 0}.items() <= result["edits"].items()
    assert ("how are ", 0.6, 1 - 4 / 22) == (result["common_substring"], result["dice"], result["places"])
    long = "x" * 500
    shown = call("text", "compare", "--text", f"a {long}", f"b {long}").out
    assert "[-a-]{+b+}" in shown
    assert "421 characters" in shown


def test_compare_leaves_out_edits_of_very_long_texts(tmp_path: Path) -> None:
    """A warning explains the missing edits; everything else is printed."""
    path = tmp_path / "long"
    path.write_text("word " * 30_000)
    done = succeed("text", "compare", path, path)
    assert "edits are left out" in done.err
    assert "edits  " not in done.out


def grams(text: str, n: int) -> list[str]:
    """Return the character n-grams of a text as the recipe defines them."""
    plain = "".join(c for c in text.lower() if c.isalnum())
    return [plain[at : at + n] for at in range(len(plain) - n + 1)]


@given(a=st.text(alphabet="abcd ", min_size=6, max_size=24), b=st.text(alphabet="abcd ", min_size=6, max_size=24))
def test_every_measure_of_compare_is_its_definition(a: str, b: str) -> None:
    """Measures equal values computed from feature sets, the table of distances and positions."""
    left, right = set(grams(a, 4)), set(grams(b, 4))
    assume(left and right)
    result = call("text", "compare", "--json", "--text", "--", a, b).json()
    both = len(left & right)
    assert both / len(left | right) == pytest.approx(result["jaccard"])
    assert 2 * both / (len(left) + len(right)) == pytest.approx(result["dice"])
    assert both / min(len(left), len(right)) == pytest.approx(result["containment"])
    assert 1 - result["edits"]["distance"] / max(len(a), len(b)) == pytest.approx(result["levenshtein"])
    unlike = sum(x != y for x, y in zip_longest(a, b))
    assert 1 - unlike / (len(a) + len(b)) == pytest.approx(result["places"])
    first, second = (int(digits, 16) for digits in result["fingerprints"])
    assert (first ^ second).bit_count() == result["distance"]
    assert result["common_substring"] in a
    assert result["common_substring"] in b
    table = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(table[j] + 1, row[-1] + 1, table[j - 1] + (x != y)))
        table = row
    assert table[-1] == result["edits"]["distance"]
    indel = len(a) + len(b) - 2 * reference.common_length(a, b)
    assert 1 - indel / (len(a) + len(b)) == pytest.approx(result["indel"])


def test_what_is_too_long_is_left_out_by_itself(tmp_path: Path) -> None:
    """Edits and the longest common string have separate limits."""
    (tmp_path / "long").write_text("x" * (1 << 17) + "abc")
    (tmp_path / "short").write_text("abc")
    done = call("text", "compare", tmp_path / "short", tmp_path / "long")
    assert "the longest common string is left out" in done.err
    assert "edits        131072: 131072 inserted, 0 deleted, 0 substituted" in done.lines
    result = call("text", "compare", tmp_path / "short", tmp_path / "long", "--json").json()
    assert 131072 == result["edits"]["insertions"]
    assert "common_substring" not in result
