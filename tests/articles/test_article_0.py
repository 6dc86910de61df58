"""Article 0, from edit distance to ssdeep: each number that it states, and what the call returns.

Slips of the article, each with its test:

- The "minimum edit distance" of its first example is 4, a count of differing positions; the edit distance is 2.
- 81.81% is cut off; the value rounds to 81.82%.
- The listing of Wagner and Fischer takes every match, and so misses some of the cheapest alignments.
- The sum of the last seven bytes in ssdeep is called Adler-32 (spelt Alder-32). It is not: it is a sum of three terms
  without a modulus of 65521.
- The second part of a digest is called h(n / 2); the program, and the article's own code, use 2 n.
- The listing for ssdeep compares a string with a number, counts a substitution as 1, and has no cap.
"""

from __future__ import annotations

import pytest

import nearkin as nk
from nearkin.explain.texts import SimHashSteps
from nearkin.text.edits import alignments, common_substring, distances, positional_similarity

ONE, TWO = "how are u?", "how are you?"
THREE = "how are u? and u? and u? and u? and u?"


def simhash(text: str, recipe: str, other: str | None = None) -> SimHashSteps:
    steps = nk.explain(text, nk.Recipe(recipe), bit_order="lowest")
    assert isinstance(steps, SimHashSteps)
    return steps


def recipe_of(n: int, bits: int = 64) -> str:
    """Return the recipe of the article's listing with n-grams of n characters."""
    return f"norm:none|case:lower|letters:python|char:{n}|count|md5|simhash:{bits}"


# Section 1: edit distance


def test_place_by_place() -> None:
    """Four of 10 + 12 positions differ: 1 - 4 / 22."""
    assert (10, 12) == (len(ONE), len(TWO))
    # The article writes 81.81% and 81%.
    assert 1 - 4 / 22 == positional_similarity(ONE, TWO) == nk.compare(ONE, TWO).similarities["places"]
    assert "81.8%" == f"{positional_similarity(ONE, TWO):.1%}"
    # It calls this the minimum edit distance, which is 2: "yo" is inserted.
    assert (2, 2) == distances(ONE, TWO)
    assert 2 == alignments(ONE, TWO).cost
    similarities = nk.compare(ONE, TWO).similarities
    assert (1 - 2 / 22, 1 - 2 / 12) == pytest.approx((similarities["indel"], similarities["levenshtein"]), abs=1e-12)
    assert 1 - 2 / 22 == pytest.approx(float(nk.similarity([ONE, TWO], [0], [1], measure="indel")[0]), abs=1e-12)


def test_ngrams_of_words() -> None:
    """Words, and pairs of words; the article's pairs also contain the first and the last word alone."""
    texts = ["This is the first document.", "This is the second document.", "Is this the first document?"]
    words = [set(nk.Recipe("word:1").features_of(text)) for text in texts]
    assert {"this", "is", "the", "first", "document"} == words[0] == words[2]
    assert (1, 0) == (len(words[1] - words[0]), len(words[2] - words[0]))

    def pairs(text: str) -> set[str]:
        inner = nk.words([text], "word:1")[0]
        return {inner[0], inner[-1], *nk.Recipe("word:2").features_of(text)}

    first, second, third = map(pairs, texts)
    assert 6 == len(first) == len(second) == len(third)
    assert ({"the second", "second document"}, 2) == (second - first, len(first - second))
    # The article counts three: its third list begins with the word `is` in place of `This`.
    assert {"is", "is this", "this the"} == third - first


# Section 7: SimHash

INTEGERS = {
    "owar": 333172464361321106773216808497407930520,
    "reyo": 310879434437019318776469684649603935114,
    "howa": 98593099505511350710740956016689849066,
    "eyou": 32675000308058660898513414756955031020,
    "ware": 325869966946114134008620588371145019154,
    "arey": 110781832133915061990833609831166700777,
}
# The rows of the article as characters, lowest bit first.
ROWS = {
    "owar": "---++--+----++--+-+++++----+-+-+-+-+---++--++++++-+-+--+-+-++++-",
    "reyo": "-+-+---+++-+-+-+---+++++--+-++-+-+-----++-+++++++-++-+--+++-++--",
    "howa": "-+-+-+++-+---+-+--+-+----+++-+-++-+-++-+-------++-+--++-++++-+--",
    "eyou": "--++-++++-+----++++------+++----++++--++--++---+----+-+---+-----",
    "ware": "-+--+---++++--+--++-++-+-+-+-+-----++----+++--+-+--++-+--++-++-+",
    "arey": "+--+-+++--++-+++-+++--+++++--++++-++--+-++-+-++++------++++++---",
}
SUMS = [
    *(-4, 0, -4, 4, -2, 0, 0, 4, 0, 0, 0, 0, -4, 2, -2, 2, -2, 0, 4, 0, 2, 0, 0, 0, -4, 2, 2, 2, -4, 4, -4, 2),
    *(0, 0, 0, 2, -2, -4, -2, 2, 0, -2, 0, 4, -2, 0, 2, 4, 4, -6, 0, -2, 0, -2, 0, -2, 0, 4, 4, 0, 2, 2, -4, -4),
]
BITS = "0001000100000101001010000111010100010001000100111000000001101100"


def test_integers_of_md5() -> None:
    """The listing's numbers are the whole MD5; the sums use its lowest 64 bits."""
    whole = simhash("How are you?", recipe_of(4, 128))
    assert {feature.name: feature.hash for feature in whole.features} == INTEGERS
    assert {feature.count for feature in whole.features} == {1}
    assert "howareyou" == whole.normalised


def test_rows_sums_and_bits() -> None:
    steps = simhash("How are you?", recipe_of(4))
    shown = {
        feature.name: "".join("-+"[value > 0] for value in row)
        for feature, row in zip(steps.features, steps.rows.tolist(), strict=True)
    }
    assert shown == ROWS
    assert {-1, 1} == set(steps.rows.ravel().tolist())
    assert steps.sums.tolist() == SUMS
    assert steps.bits == BITS
    assert int(BITS[::-1], 2) == steps.fingerprint == int(nk.fingerprint(["How are you?"], "simhash-pypi")[0])


def test_the_same_from_features() -> None:
    """The features with their weights, without a text."""
    steps = nk.explain(dict.fromkeys(INTEGERS, 1), hashes="md5", bit_order="lowest")
    assert (steps.sums.tolist(), steps.bits) == (SUMS, BITS)
    assert [text.replace("0", "-").replace("1", "+") for text in steps.hashes] == list(ROWS.values())


def test_shingles_of_three_texts() -> None:
    steps = [simhash(text, recipe_of(4)) for text in (ONE, TWO, THREE)]
    counts = [{feature.name: feature.count for feature in each.features} for each in steps]
    assert dict.fromkeys(["ware", "owar", "howa", "areu"], 1) == counts[0]
    assert dict.fromkeys(["ware", "owar", "howa", "arey", "reyo", "eyou"], 1) == counts[1]
    repeated = {"reua": 1, "euan": 1, "ndua": 3, "duan": 3, "andu": 4, "uand": 4}
    assert dict.fromkeys(["ware", "owar", "howa", "areu"], 1) | repeated == counts[2]


def test_distances_of_three_texts() -> None:
    """The article shows them in a picture: the second text is nearer to the first than the third is."""
    assert 12 == nk.explain(ONE, nk.Recipe(recipe_of(4)), other=TWO).distance
    assert 28 == nk.explain(ONE, nk.Recipe(recipe_of(4)), other=THREE).distance
    values = [3626955193319686290, 3891612042386514056, 9323510848711591832]
    assert values == nk.fingerprint([ONE, TWO, THREE], "simhash-pypi").tolist()


@pytest.mark.parametrize(("n", "two", "three"), [(1, 10, 11), (2, 16, 23), (4, 12, 28)])
def test_why_n_matters(n: int, two: int, three: int) -> None:
    """Long n-grams separate the text with repetitions from the others; single characters hardly do."""
    recipe = nk.Recipe(recipe_of(n))
    assert two == nk.explain(ONE, recipe, other=TWO).distance
    assert three == nk.explain(ONE, recipe, other=THREE).distance


def test_the_longer_example() -> None:
    a = "How are you? I Am fine. ablar ablar xyz blar blar blar blar blar blar blar Thanks."
    b = "How are you i am fine.ablar ablar xyz blar blar blar blar blar blar blar than"
    assert 2 == nk.explain(a, nk.Recipe.preset("simhash-pypi"), other=b).distance
    assert [17591554865737636986, 17591554797152377978] == nk.fingerprint([a, b], "simhash-pypi").tolist()


def test_five_features_in_three_dimensions() -> None:
    """Weights times the rows of hashes are the inner products with the columns."""
    digits = ["101", "011", "100", "001", "110"]
    steps = nk.explain([1, 2, 0, 3, 0], hashes=digits)
    assert ([-4, -2, 6], "001") == (steps.sums.tolist(), steps.bits)
    assert [[1, -1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, 1], [1, 1, -1]] == steps.signs.tolist()


# Section 9: ssdeep


def test_all_optimal_alignments() -> None:
    """The means of the listing's example: two thirds of an insertion, a deletion and a substitution."""
    result = alignments("abcd", "bacd")
    assert (2, 3) == (result.cost, result.count)
    assert [0.67, 0.67, 0.67] == [round(x, 2) for x in (result.insertions, result.deletions, result.substitutions)]
    # The listing takes a match wherever characters are equal, and finds one alignment here: the other deletes the last
    # character and matches the first.
    assert 2 == alignments("aa", "a").count
    # Costs of the caller: a substitution at 2 is as dear as an insertion and a deletion.
    assert 2 == alignments("abcd", "bacd", substitution=2).cost
    assert (1, 2) == (
        alignments("abcd", "bacd", substitution=0.5).cost,
        alignments("abcd", "bacd", substitution=2).count,
    )


def test_longest_common_substring() -> None:
    assert "how are " == common_substring(ONE, TWO) == nk.compare(ONE, TWO).common_substring


def test_digests_and_their_scores() -> None:
    """The listing's two texts. As it was meant it gives 0, as ssdeep does; as it runs in Python 2 it gives 93."""
    a, b = nk.ssdeep.hash(b"this is a test!"), nk.ssdeep.hash(b"this is a test.")
    assert ("3:YKEpEn:Yfq", "3:YKEpLn:Yfln") == (a, b)
    scores = nk.ssdeep.article_compare(a, b)
    assert (0, 93, 0) == (scores.as_meant, scores.as_run, scores.ssdeep)
    # Substitutions at 1 and no cap: 94 where ssdeep has 32.
    scores = nk.ssdeep.article_compare("12:abcdefgh:xyz", "12:abcdefgk:xyz")
    assert (94, 32) == (scores.as_meant, scores.ssdeep)


def test_block_sizes_and_lengths() -> None:
    """The block size is the smallest 3 · 2^i with 64 pieces at least, halved while part 1 has fewer than 32."""
    data = bytes(range(256)) * 40
    steps = nk.explain(data, nk.ssdeep.DigestRecipe("ssdeep"))
    size, one, two = nk.ssdeep.hash(data).split(":")
    assert steps.block_size == int(size)
    # Part 2 has twice the block size; the article's text says half.
    assert [int(size), 2 * int(size)] == [part.block_size for part in steps.parts]
    assert (64, 32) >= (len(one), len(two))
