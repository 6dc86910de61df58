"""Article 1, SimHash for deduplication: each number that it states, and what the call returns.

Slips of the article, each with its test:

- Its words are said to be without stop words, but 有, 称 and 曾 are among them.
- Its result is printed as 1 0 0 1 115 1; the sums 15 -7 -1 3 5 15 give 1 0 0 1 1 1.
- 64 lists, one per bit, are said to save comparisons. A fingerprint shares a bit with nearly every other, so the lists
  recall everything, and reading them costs 32 entries per fingerprint.
- Longer hashes are said to be more accurate. The accuracy depends on the bits of the fingerprint alone.
- SHA-1 is said to be the slowest. With the SHA instructions of a processor it is faster than MD5 (docs/recipe.md).
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin.theory import hamming_cost, simhash_difference

WEIGHTS = {"美国": 5, "51区": 2, "飞碟": 3, "灰色": 1, "外星人": 4}
HASHES = {"美国": "100101", "51区": "101011", "飞碟": "100111", "灰色": "101111", "外星人": "111011"}
ROWS = {
    "美国": [5, -5, -5, 5, -5, 5],
    "51区": [2, -2, 2, -2, 2, 2],
    "飞碟": [3, -3, -3, 3, 3, 3],
    "灰色": [1, -1, 1, 1, 1, 1],
    "外星人": [4, 4, 4, -4, 4, 4],
}


def test_six_bits() -> None:
    steps = nk.explain(WEIGHTS, hashes=HASHES)
    assert dict(zip(steps.names, steps.rows.tolist(), strict=True)) == ROWS
    assert [15, -7, -1, 3, 5, 15] == steps.sums.tolist()
    # Printed as 1, 0, 0, 1, 115, 1: a slip for 1 1 1 with the 5 of the sums.
    assert "100111" == steps.bits
    assert 0b100111 == steps.fingerprint


@pytest.mark.shared
def test_the_headline_becomes_the_words_of_the_article(shared: Path) -> None:
    """Twelve words; the article calls them words without stop words, but three of them are stop words."""
    page = (shared / "articles" / "article_1.txt").read_text(encoding="utf-8")
    headline = re.findall("文档是“(.*)”。", page)[0]
    expected = re.findall("“(.*?)”", re.findall(r"^\[ (“美国”.*) \]$", page, re.MULTILINE)[0])
    assert 12 == len(expected)
    assert [expected] == nk.words([headline], nk.Recipe("cut:jieba|word:1", user_words=["51区", "9架"]))
    without = nk.words([headline], nk.Recipe("cut:jieba|stop:zh|word:1", user_words=["51区", "9架"]))[0]
    assert {"有", "称", "曾"} <= set(expected) - set(without)


def test_an_exclusive_or_counts_the_bits_that_differ() -> None:
    assert 2 == nk.hamming(0b100101, 0b101100)


# Section 2: hash functions

BITS = {"one_at_a_time": 32, "md5": 64, "sha1": 64, "lookup3": 64, "jenkins64": 64, "fnv1a": 64, "xxh3": 64}
PAIRS, SHARED, OWN = 500, 80, 20


@cache
def pairs_of_texts() -> tuple[list[list[str]], list[list[str]]]:
    """Return pairs of lists of words with a Jaccard similarity of 80 / 120; no word is in two pairs."""
    width = SHARED + 2 * OWN
    words = [f"{value:x}" for value in np.random.default_rng(7).integers(0, 1 << 62, PAIRS * width).tolist()]
    rows = [words[i : i + width] for i in range(0, len(words), width)]
    return [row[: SHARED + OWN] for row in rows], [row[:SHARED] + row[SHARED + OWN :] for row in rows]


@pytest.mark.parametrize(("name", "bits"), BITS.items())
def test_accuracy_is_that_of_the_bits(name: str, bits: int) -> None:
    """Distances of texts at one similarity have the law's mean and standard deviation, whatever the hash.

    32 bits are √2 times less accurate than 64, whichever function returns them. MD5 and SHA-1 have no advantage: only
    64 of their 128 and 160 bits are used. The mean is within six standard errors, and the standard deviation within six
    of its own, 1 / √(2 · 500) = 3.2% each.
    """
    hasher = nk.SimHash(bits, hash=name)
    left, right = (hasher.fingerprint(side) for side in pairs_of_texts())
    distances = np.asarray(nk.hamming(left, right)) / bits
    law = simhash_difference(SHARED / (SHARED + 2 * OWN))
    deviation = math.sqrt(law * (1 - law) / bits)
    assert abs(distances.mean() - law) < 6 * deviation / math.sqrt(PAIRS)
    assert distances.std() == pytest.approx(deviation, rel=6 * 0.032)


# Section 3: three ways to answer a query


def test_the_same_query_by_brute_force_by_64_lists_and_by_four_blocks() -> None:
    """All three give the same matches; the comparisons are n, n, and about 4 n / 2^16."""
    rng = np.random.default_rng(3)
    n = 20_000
    fingerprints = rng.integers(0, 1 << 64, n, dtype=np.uint64)
    query = int(fingerprints[17]) ^ (1 << 63 | 1 << 20 | 1)
    results = []
    for method in ("scan", "bits", "blocks"):
        index = nk.HammingIndex(bits=64, method=method, radius=3)
        index.add(None, fingerprints)
        results.append([(match.id, match.distance) for match in index.search(np.uint64(query), radius=3)[0]])
    assert results[0] == results[1] == results[2] == [(17, 3)]
    steps = nk.explain(query, index, radius=3)
    assert ((17, 3),) == steps.matches
    scan, lists, blocks = steps.methods
    assert (0, n, n) == (scan.lists, scan.entries, scan.comparisons)
    # 64 lists: half of 64 n entries, and every fingerprint has to be compared all the same.
    assert (64, n) == (lists.lists, lists.comparisons)
    assert lists.entries == pytest.approx(32 * n, rel=0.01)
    # Four blocks of 16 bits. Bits 63, 20 and 0 differ, so that only the second block agrees.
    assert ("blocks", 4) == (blocks.method, blocks.lists)
    assert [(63, 48), (47, 32), (31, 16), (15, 0)] == [(block.highest, block.lowest) for block in steps.blocks]
    assert [False, True, False, False] == [(17, 3) in block.candidates for block in steps.blocks]
    assert blocks.comparisons == blocks.entries < 10
    assert [n, 16 * n, 4 * n / 2**15] == pytest.approx(
        [hamming_cost(method, n, 64, 3).candidates for method in ("scan", "bits", "blocks")]
    )


def test_the_pigeonhole_principle() -> None:
    """With three bits that differ one of four blocks agrees; with four bits none need to."""
    index = nk.HammingIndex(bits=64)
    index.add(["three", "four"], [1 | 1 << 16 | 1 << 32, 1 | 1 << 16 | 1 << 32 | 1 << 48])
    steps = nk.explain(0, index, radius=3)
    assert (("three", 3),) == steps.matches
    assert [1, 0, 0, 0] == [len(block.candidates) for block in steps.blocks]
