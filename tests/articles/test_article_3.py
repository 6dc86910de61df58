"""Article 3, vectors of very many dimensions: each number that it states, and what the call returns.

Slip of the article: the first sum is printed as 7.0; 3 - 2 + 4 is 5.
"""

from __future__ import annotations

import numpy as np
import pytest

import nearkin as nk

X = [3.0, 2.0, 4.0]
DIGITS = ["10", "01", "11"]
PLANES = [[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]


def test_three_dimensions_in_two_bits() -> None:
    steps = nk.explain(X, hashes=DIGITS)
    # Printed: 7.0 and 3.0.
    assert ([5.0, 3.0], "11") == (steps.sums.tolist(), steps.bits)


def test_the_same_with_two_vectors() -> None:
    steps = nk.explain(X, planes=PLANES)
    assert ([5.0, 3.0], "11") == (steps.sums.tolist(), steps.bits)
    assert PLANES == nk.explain(X, hashes=DIGITS).signs.T.tolist()


def test_one_hash_per_dimension_gives_all_bits() -> None:
    """No vector is stored: f bits of one hash of the dimension stand for a column of f signs.

    f hash functions, one per bit, would be evaluated f times per dimension; here one is, of at least f bits.
    """
    f = 64
    rng = np.random.default_rng(0)
    dimensions = {
        str(i): float(value) for i, value in zip(rng.integers(0, 10**12, 30), rng.normal(size=30), strict=True)
    }
    steps = nk.explain(dimensions, hashes=f"xxh3:{f}", bit_order="lowest")
    assert (30, f) == steps.signs.shape
    assert steps.sums.tolist() == pytest.approx((np.array(list(dimensions.values())) @ steps.signs).tolist())
    assert steps.fingerprint == int(nk.SimHash(f, hash="xxh3").fingerprint([list(dimensions.items())])[0])
