"""The worked examples of the articles that made SimHash known, recomputed.

Numbers in test names are those of the list of examples. Where an article prints a wrong value, the test has the right
one and the docstring says so.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

import nearkin as nk
import reference
from nearkin.dedup.verify import baselines
from nearkin.theory import permuted_tables

PYPI = "simhash-pypi"
HOW = "How are you?"
GRAMS = ["howa", "owar", "ware", "arey", "reyo", "eyou"]


def value(text: str) -> int:
    return int(nk.fingerprint([text], PYPI)[0])


def test_1_character_4_grams() -> None:
    """The text is in lower case, only letters are joined, and each gram occurs once."""
    assert dict.fromkeys(GRAMS, 1) == nk.Recipe.preset(PYPI).features_of(HOW)


def test_2_md5_values_of_the_grams() -> None:
    """The values are integers of 128 bits; the hash is their lower half."""
    expected = {
        "howa": 98593099505511350710740956016689849066,
        "owar": 333172464361321106773216808497407930520,
        "ware": 325869966946114134008620588371145019154,
        "arey": 110781832133915061990833609831166700777,
        "reyo": 310879434437019318776469684649603935114,
        "eyou": 32675000308058660898513414756955031020,
    }
    assert expected == {gram: int(hashlib.md5(gram.encode()).hexdigest(), 16) for gram in GRAMS}  # noqa: S324
    for gram, digest in expected.items():
        # The fingerprint of a single feature is its hash.
        assert digest & reference.M64 == int(nk.SimHash(64, hash="md5").fingerprint([[gram]])[0])


def test_3_column_sums() -> None:
    """The sums are over the low 64 bits, lowest first; ties give 0."""
    printed = (
        "-4 0 -4 4 -2 0 0 4 0 0 0 0 -4 2 -2 2 -2 0 4 0 2 0 0 0 -4 2 2 2 -4 4 -4 2 "
        "0 0 0 2 -2 -4 -2 2 0 -2 0 4 -2 0 2 4 4 -6 0 -2 0 -2 0 -2 0 4 4 0 2 2 -4 -4"
    )
    sums = reference.sums([(reference.hash_word("md5", gram.encode()), 1) for gram in GRAMS], 64)
    assert [int(number) for number in printed.split()] == sums
    assert 3891612042386514056 == reference.signs(sums) == value(HOW)


def test_4_three_texts() -> None:
    """Fingerprints and distances equal the article's."""
    texts = ["how are u?", "how are you?", "how are u? and u? and u? and u? and u?"]
    fps = nk.fingerprint(texts, PYPI)
    assert [3626955193319686290, 3891612042386514056, 9323510848711591832] == fps.tolist()
    assert [12, 28] == [int(nk.hamming(fps[0], other)) for other in fps[1:]]


def test_5_two_long_texts() -> None:
    """The fingerprints have a distance of 2."""
    texts = [
        "How are you? I Am fine. ablar ablar xyz blar blar blar blar blar blar blar Thanks.",
        "How are you i am fine.ablar ablar xyz blar blar blar blar blar blar blar than",
    ]
    fps = nk.fingerprint(texts, PYPI)
    assert [17591554865737636986, 17591554797152377978] == fps.tolist()
    assert 2 == nk.hamming(fps[0], fps[1])


def test_6_edit_similarity() -> None:
    """The article compares position by position and counts four edits, 1 − 4/22; two insertions are enough."""
    similarities = baselines("how are u?", "how are you?")
    assert 1 - 2 / 22 == pytest.approx(similarities["indel"], abs=1e-12)
    assert 1 - 2 / 12 == pytest.approx(similarities["levenshtein"], abs=1e-12)
    texts = ["how are u?", "how are you?"]
    assert 1 - 2 / 22 == pytest.approx(float(nk.similarity(texts, [0], [1], measure="indel")[0]), abs=1e-12)


def test_7_words_and_pairs_of_words_that_change() -> None:
    """Features of the first text that the second lacks; the article keeps single words at the ends, and counts 3."""
    texts = ["This is the first document.", "This is the second document.", "Is this the first document?"]

    def changed(n: int, other: str) -> int:
        recipe = nk.Recipe(f"word:{n}")
        return len(recipe.features_of(texts[0]).keys() - recipe.features_of(other).keys())

    assert (1, 2) == (changed(1, texts[1]), changed(2, texts[1]))
    assert (0, 2) == (changed(1, texts[2]), changed(2, texts[2]))


def bits(text: str) -> int:
    """Return bits as the article prints them, highest first."""
    return int(text, 2)


def printed_sums(weighted: list[tuple[str, float]]) -> list[float]:
    """Return the sums of signed weights in the order of printed bits."""
    width = len(weighted[0][0])
    return [float(s) for s in reference.sums([(bits(h), reference.exact(w)) for h, w in weighted], width)][::-1]


def fingerprint_of(weighted: list[tuple[str, float]]) -> str:
    """Return the fingerprint, in printed form, of features with these hashes and weights.

    The article prints only the hashes, so this searches for a name with each hash.
    """
    width = len(weighted[0][0])
    family = nk.SimHash(width)
    names = [f"feature {number}" for number in range(5000)]
    hashes = family.fingerprint([[name] for name in names]).tolist()
    named = {names[hashes.index(bits(text))]: weight for text, weight in weighted}
    assert len(named) == len(weighted)
    return f"{int(family.fingerprint([named])[0]):0{width}b}"


def test_8_weighted_words_of_a_page() -> None:
    """The article prints 115 as the fifth sum instead of 5."""
    weighted: list[tuple[str, float]] = [("100101", 5), ("101011", 2), ("100111", 3), ("101111", 1), ("111011", 4)]
    assert [15, -7, -1, 3, 5, 15] == printed_sums(weighted)
    assert "100111" == fingerprint_of(weighted)


def test_9_two_cities() -> None:
    """Fingerprints have eight bits, and weights are decimal fractions."""
    weighted = [("01011001", 45.11), ("11001011", 32.09)]
    expected = [-13.02, 77.20, -77.20, 13.02, 77.20, -77.20, -13.02, 77.20]
    assert expected == pytest.approx(printed_sums(weighted), abs=1e-9)
    assert "01011001" == fingerprint_of(weighted)


def test_10_hamming_distances() -> None:
    """The distances are those of printed bits."""
    for left, right in (("00101110", "00001111"), ("100101", "101100")):
        assert 2 == nk.hamming(np.uint64(bits(left)), np.uint64(bits(right)))


def test_11_three_hyperplanes() -> None:
    """Zeros count as −1, as in the signs of products (printed v2 and v3 differ where the weight is 0)."""
    document, hashes = (1, 2, 0, 3, 0), ("101", "011", "100", "001", "110")
    sums = printed_sums(list(zip(hashes, document, strict=True)))
    assert [-4, -2, 6] == sums
    assert "001" == fingerprint_of(list(zip(hashes, document, strict=True)))
    planes = np.array([[1, -1, 1, -1, 1], [-1, 1, -1, -1, 1], [1, 1, -1, 1, -1]])
    assert sums == (planes @ np.array(document)).tolist()


def test_12_a_sparse_vector() -> None:
    """The article prints 7 as the first sum instead of 5."""
    weighted: list[tuple[str, float]] = [("10", 3), ("01", 2), ("11", 4)]
    assert [5, 3] == printed_sums(weighted)
    assert "11" == fingerprint_of(weighted)
    assert [5, 3] == (np.array([[1, -1, 1], [-1, 1, 1]]) @ np.array([3, 2, 4])).tolist()


def test_13_fingerprints_within_three_bits() -> None:
    """There are 1 + 64 + 2,016 + 41,664. An index finds one of each distance, and none of distance 4."""
    assert 43_745 == sum(math.comb(64, k) for k in range(4))
    index = nk.HammingIndex(bits=64)
    index.add(list(range(5)), np.array([(1 << k) - 1 for k in range(5)], np.uint64))
    assert [0, 1, 2, 3] == index.search(np.zeros(1, np.uint64), radius=3).ids.tolist()


def test_14_candidates_of_four_blocks() -> None:
    """Of 50 million fingerprints, 763 share a block of 16 bits (the article rounds to 2^26 and says 1,024)."""
    plan = permuted_tables(64, 3, math.log2(50_000_000), [4])
    assert [16] * 4 == list(plan.keys)
    assert [763] * 4 == [round(candidates) for candidates in plan.candidates]
    assert 3_052 == round(sum(plan.candidates))


def test_15_fnv_of_keywords() -> None:
    """The rule of the Go article: FNV-1a of each keyword, its TF-IDF as weight, bits 1 for positive sums; top 22 and
    11.

    Its program writes a hash with the top bit set as the magnitude of a negative number. The test does not repeat this
    bug.
    """
    text = (
        "此外，公司拟对全资子公司吉林欧亚置业有限公司增资4.3亿元，增资后，吉林欧亚置业注册资本由7000万元增加到5亿元。"
        "吉林欧亚置业主要经营范围为房地产开发及百货零售等业务。目前在建吉林欧亚城市商业综合体项目。"
    )
    for top in (22, 11):
        recipe = nk.Recipe.preset("go-fnv1a").with_(top=str(top))
        keywords = nk.keywords([text], recipe)[0]
        assert top == len(keywords)
        sums = [reference.exact(0.0)] * 64
        for word, weight in keywords:
            digits = f"{reference.fnv1a(word.encode()):064b}"
            sums = [s + reference.exact(weight if d == "1" else -weight) for s, d in zip(sums, digits, strict=True)]
        expected = int("".join("1" if s > 0 else "0" for s in sums), 2)
        assert expected == int(nk.fingerprint([text], recipe)[0])


def test_16_short_texts_under_ssdeep() -> None:
    """Below 4 KB digests are short; only identity and common runs of seven characters give a score."""
    digests = [nk.ssdeep.hash(data) for data in (b"this is a test!", b"this is a test.")]
    # Version 2.14.1 of the program prints these.
    assert ["3:YKEpEn:Yfq", "3:YKEpLn:Yfln"] == digests
    # Only equal digests have a score; these two have no seven characters in common.
    assert [0, 100] == sorted(nk.ssdeep.compare(digests[0], other) for other in digests)
