"""Collision probabilities, and parameters from them.

SimHash: two sources at angle θ differ in a bit with probability p = θ/π (Charikar 2002, section 3). For sets A and B of
equal size with Jaccard similarity J the cosine of their indicator vectors is |A ∩ B| / |A| = 2J/(1+J), so that

    p(J) = arccos(2J / (1 + J)) / π
"""

from __future__ import annotations

import math

from nearkin.errors import bad_parameter


def simhash_difference(similarity: float) -> float:
    """Probability that a SimHash bit differs between two sets of equal size and this Jaccard similarity (0 to 1).

    Examples
    --------
    >>> from nearkin.theory import simhash_difference
    >>> round(simhash_difference(0.8), 4), simhash_difference(1.0), simhash_difference(0.0)
    (0.1515, 0.0, 0.5)
    """
    if not 0 <= similarity <= 1:
        raise bad_parameter("similarity", similarity, "a Jaccard similarity from 0 to 1")
    return math.acos(2 * similarity / (1 + similarity)) / math.pi


def simhash_radius(threshold: float, bits: int) -> int:
    """Radius that `dedup` takes for candidates of at least this Jaccard similarity.

    The expected distance of a pair at the threshold, bits · p(threshold), and one and a half standard deviations
    sqrt(bits · p (1 − p)) more, rounded down. Pairs above the threshold lie nearer. docs/quality.md has the recall that
    this gives on real texts.

    Examples
    --------
    >>> from nearkin.theory import simhash_radius
    >>> simhash_radius(0.8, 64), simhash_radius(0.8, 128), simhash_radius(1.0, 64)
    (13, 25, 0)
    """
    p = simhash_difference(threshold)
    return min(bits, math.floor(bits * p + 1.5 * math.sqrt(bits * p * (1 - p))))
