"""Article 2, SimHash as hyperplanes and 50 million documents: each number that it states, and what the call returns.

Slips of the article, each with its test:

- Two of its planes end in the wrong sign, -1 for 1 and 1 for -1. The weight of that feature is 0, so the products
  agree.
- A signature of "3, 20 or 30 bytes" means bits.
- 2^20 and 2^30 values are enough to number documents, not to hash them: see `bits_for`.
- 50 million is called 2^26, which is 67 million, and 50 million / 2^16 is 763, not about 1000.
- "Less than 3" bits are looked for; four blocks find distances up to 3.
- The number of keys within 3 bits counts those at exactly 3 bits only.
"""

from __future__ import annotations

import math

import pytest

import nearkin as nk
from nearkin.theory import bits_for, hamming_candidates, hamming_cost, keys_within, random_pairs

DOCUMENT = [1, 2, 0, 3, 0]
DIGITS = ["101", "011", "100", "001", "110"]


def test_the_distance_of_two_numbers() -> None:
    assert 2 == nk.hamming(0b100101, 0b101100)


def test_hashes_are_the_rows_of_the_planes() -> None:
    steps = nk.explain(DOCUMENT, hashes=DIGITS)
    assert [[1, -1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, 1], [1, 1, -1]] == steps.signs.tolist()
    assert ([-4, -2, 6], "001") == (steps.sums.tolist(), steps.bits)


def test_planes_of_the_caller() -> None:
    printed = [[1, -1, 1, -1, 1], [-1, 1, -1, -1, -1], [1, 1, -1, 1, 1]]
    columns = nk.explain(DOCUMENT, hashes=DIGITS).signs.T.tolist()
    # The last coordinates of the second and the third plane are printed with the wrong sign.
    assert columns == [printed[0], [*printed[1][:4], 1], [*printed[2][:4], -1]]
    for planes in (printed, columns):
        steps = nk.explain(DOCUMENT, planes=planes)
        assert ([-4, -2, 6], "001") == (steps.sums.tolist(), steps.bits)


def test_twenty_and_thirty_bits() -> None:
    """Enough to number the documents, and far too few for random values."""
    assert (3, 20, 30) == (bits_for(2**3), bits_for(10**6), bits_for(10**9))
    # At 20 bits half a million pairs of a million documents are equal by chance; within 3 bits each has 1,288 others.
    assert 476_837 == round(random_pairs(10**6, 20))
    assert 1_288 == round(2 * random_pairs(10**6, 20, 3) / 10**6)
    # What less than one false match needs.
    assert (39, 59) == (bits_for(10**6, max_pairs=1), bits_for(10**9, max_pairs=1))
    assert (54, 75) == (bits_for(10**6, radius=3, max_pairs=1), bits_for(10**9, radius=3, max_pairs=1))


def test_four_tables() -> None:
    """2^26 documents in tables of 16 bits: 2^10 candidates in each, 4 · 2^10 together."""
    cost = hamming_cost("blocks", 1 << 26, 64, 3)
    assert (4, (16, 16, 16, 16), 4 * 2 ** (26 - 16)) == (cost.tables, cost.keys, cost.candidates)
    # 50 million are 2^25.6.
    assert 25.6 == round(math.log2(50_000_000), 1)
    assert 763 == round(hamming_candidates("blocks", 50_000_000, 64, 3) / 4)


def test_the_keys_within_three_bits() -> None:
    """The alternative that the article rejects: C(64, 3) look-ups, 2,080 fewer than all keys within 3 bits."""
    assert 41_664 == math.comb(64, 3)
    assert 43_745 == keys_within(64, 3) == 41_664 + math.comb(64, 2) + 64 + 1


@pytest.mark.parametrize("distance", [0, 1, 2, 3])
def test_four_blocks_find_every_distance_up_to_three(distance: int) -> None:
    index = nk.HammingIndex(bits=64)
    index.add(None, [sum(1 << 16 * i for i in range(distance))])
    steps = nk.explain(0, index, radius=3)
    assert ((0, distance),) == steps.matches
    assert 4 - distance == sum(len(block.candidates) for block in steps.blocks)
