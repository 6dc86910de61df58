"""SimHash of texts: collision probabilities, and the radius for a similarity.

Two vectors at angle θ differ in a SimHash bit with probability p = θ/π (Charikar 2002, section 3). For sets A and B of
equal size with Jaccard similarity J, the cosine of their indicator vectors is |A ∩ B| / |A| = 2J/(1+J), so that

    p(J) = arccos(2J / (1 + J)) / π

At the same J, sets of unequal sizes have a smaller angle: |A ∩ B| / √(|A| |B|) ≥ 2J / (1 + J).

The angle is the limit for many features. For sets with s common features, a features only in A and b only in B, a bit
is 1 if a sum of signs is above 0. With S, X, Y sums of s, a, b fair signs

    p(s, a, b) = P[S + X > 0 ≥ S + Y] + P[S + Y > 0 ≥ S + X]

exactly. Bits are independent, so a distance is Binomial(bits, p): it depends on the number of features only through p.

An edit of a text changes the n-grams that contain the edited character. Of the N = L - n + 1 n-grams of L characters,
s = N C(L - n, k) / C(L, k) are the same on average after k characters at random places are replaced, and a = b = N - s.
About k n of N features change, so p is about √(2 k n / N) / π: `expected_distance` falls with the root of the length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter, check_count, check_share
from nearkin.theory.banding import check_similarity
from nearkin.theory.laws import binomial_probability

SIMHASH_RECALL = 0.995
"""Default recall of `simhash_radius` for a pair at the threshold."""
MAX_LENGTH = 1_000_000
"""Maximum length of `expected_distance`, whose cost grows with it."""


def simhash_difference(similarity: float) -> float:
    """Return the probability that a SimHash bit differs between two sets of equal size with this Jaccard similarity.

    Parameters
    ----------
    similarity : float
        Jaccard similarity, 0 to 1.

    Raises
    ------
    ParameterError
        A similarity outside 0 to 1.

    Examples
    --------
    >>> from nearkin.theory import simhash_difference
    >>> round(simhash_difference(0.8), 4), simhash_difference(1.0), simhash_difference(0.0)
    (0.1515, 0.0, 0.5)
    """
    check_similarity(similarity)
    return math.acos(2 * similarity / (1 + similarity)) / math.pi


def codes_recall(difference: float, bits: int, radius: int) -> float:
    """Return the probability that two codes are within a radius: P[Binomial(bits, difference) <= radius].

    Parameters
    ----------
    difference : float
        Probability that a bit differs, 0 to 1; bits are independent.
    bits : int
        Width of the codes.
    radius : int
        Maximum Hamming distance, inclusive.
    """
    return min(math.fsum(islice(_distance_probabilities(difference, bits), max(radius + 1, 0))), 1.0)


def codes_radius(difference: float, bits: int, recall: float) -> int:
    """Return the smallest radius that two codes are within with probability `recall`; `bits` for a recall of 1."""
    if recall >= 1:
        return 0 if difference <= 0 else bits
    reached = 0.0
    for radius, share in enumerate(_distance_probabilities(difference, bits)):
        reached += share
        if reached >= recall:
            return radius
    return bits


def _distance_probabilities(difference: float, bits: int) -> Iterator[float]:
    """Yield the probabilities of the distances 0, 1, …, bits: Binomial(bits, difference)."""
    if difference <= 0 or difference >= 1:
        certain = 0 if difference <= 0 else bits
        yield from (float(distance == certain) for distance in range(bits + 1))
        return
    for distance in range(bits + 1):
        yield binomial_probability(bits, distance, difference)


def simhash_recall(threshold: float, bits: int, radius: int) -> float:
    """Return the probability, over hash functions, that a pair of this Jaccard similarity is within a radius.

    It is the probability for sets of equal size. Sets of unequal sizes at the same similarity are nearer, and so are
    pairs above the threshold. So it is a lower bound of the recall of all pairs at or above the threshold.

    Parameters
    ----------
    threshold : float
        Jaccard similarity, 0 to 1.
    bits : int
        Width of the fingerprint.
    radius : int
        Maximum distance, inclusive.

    Raises
    ------
    ParameterError
        A threshold outside 0 to 1.

    Examples
    --------
    >>> from nearkin.theory import simhash_recall
    >>> round(simhash_recall(0.8, 128, 25), 3), round(simhash_recall(0.8, 128, 30), 3), simhash_recall(1.0, 64, 0)
    (0.93, 0.995, 1.0)
    """
    return codes_recall(simhash_difference(threshold), bits, radius)


def simhash_radius(threshold: float, bits: int, recall: float = SIMHASH_RECALL) -> int:
    """Return the radius that `dedup` uses for candidates of at least this Jaccard similarity.

    It is the smallest radius that contains a pair at the threshold with probability `recall` (`simhash_recall`).
    docs/quality.md reports the recall and the cost on real texts.

    Parameters
    ----------
    threshold : float
        Jaccard similarity, 0 to 1.
    bits : int
        Width of the fingerprint.
    recall : float, default 0.995
        Required probability that a pair is found, above 0 and up to 1.

    Raises
    ------
    ParameterError
        A threshold or recall out of range.

    Examples
    --------
    >>> from nearkin.theory import simhash_radius
    >>> simhash_radius(0.8, 64), simhash_radius(0.8, 128), simhash_radius(1.0, 64)
    (18, 30, 0)
    >>> simhash_radius(0.8, 128, recall=0.9)
    25
    """
    check_share("recall", recall, "a probability above 0 and up to 1", lambda share: 0 < share <= 1)
    return codes_radius(simhash_difference(threshold), bits, recall)


def simhash_difference_of_sets(shared: int, left: int, right: int) -> float:
    """Return the exact probability that a SimHash bit differs between two sets of features of equal weight.

    Parameters
    ----------
    shared, left, right : int
        Numbers of features in both sets, only in the first, and only in the second; at least one in each set.

    Raises
    ------
    ParameterError
        A negative count, or a set without features.

    Notes
    -----
    Cost: O(shared + left + right).

    Examples
    --------
    >>> from nearkin.theory import simhash_difference, simhash_difference_of_sets
    >>> round(simhash_difference_of_sets(4, 0, 1), 4), round(simhash_difference(0.8), 4)
    (0.1875, 0.1515)
    >>> round(simhash_difference_of_sets(400, 50, 50), 4)
    0.1509
    """
    for name, value in (("shared", shared), ("left", left), ("right", right)):
        if value < 0 or (name != "shared" and shared + value == 0):
            raise bad_parameter(name, value, "at least 0, with at least one feature in each set")
    sums = 2 * np.arange(shared + 1) - shared
    p_left, p_right = _positive_probability(sums, left), _positive_probability(sums, right)
    return float((_fair_binomial(shared) * (p_left * (1 - p_right) + (1 - p_left) * p_right)).sum())


def expected_distance(length: int, edits: int, bits: int = 64, *, ngram: int = 4) -> float:
    """Return the expected Hamming distance of a text's SimHash from that of an edited copy.

    Parameters
    ----------
    length : int
        Number of characters of the text, after normalisation; at least `ngram`.
    edits : int
        Number of replaced characters, at random places; 0 to `length`.
    bits : int, default 64
        Width of the fingerprint, 1 or more.
    ngram : int, default 4
        Characters of a feature, 1 or more, all features distinct and of equal weight.

    Returns
    -------
    float
        0 to `bits / 2`. Divided by `bits`, it is the probability that a bit differs, for `codes_radius`.

    Raises
    ------
    ParameterError
        A number out of range.

    Notes
    -----
    It is the exact law at the mean number of common features, interpolated between two integers: the mean over random
    places is up to 2% smaller. Cost: O(length).

    Examples
    --------
    >>> from nearkin.theory import codes_radius, expected_distance
    >>> [round(expected_distance(length, edits=1), 1) for length in (20, 100, 1000)]
    [12.7, 5.6, 1.8]
    >>> codes_radius(expected_distance(100, edits=1) / 64, 64, recall=0.995)
    12
    """
    check_count("ngram", ngram, 1, MAX_LENGTH, f"1 to {MAX_LENGTH:,}")
    check_count("length", length, ngram, MAX_LENGTH, f"{ngram} to {MAX_LENGTH:,} characters")
    check_count("edits", edits, 0, length, f"0 to {length:,}, the length")
    check_count("bits", bits, 1, MAX_LENGTH, "1 or more")
    count = length - ngram + 1
    shared = count * math.prod((length - edits - i) / (length - i) for i in range(ngram))
    at_low, at_high = (
        simhash_difference_of_sets(each, count - each, count - each) for each in (int(shared), math.ceil(shared))
    )
    return bits * (at_low + shared % 1 * (at_high - at_low))


def _fair_binomial(n: int) -> NDArray[np.float64]:
    """Return the probabilities of 0 to n heads of n fair coins."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    probabilities: NDArray[np.float64] = np.exp(logs[n] - logs - logs[::-1] - n * math.log(2))
    return probabilities


def _positive_probability(sums: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Return the probability that a sum plus n fair signs is above 0."""
    min_heads = np.clip((n - sums) // 2 + 1, 0, n + 1)
    tails: NDArray[np.float64] = 1 - np.concatenate([[0.0], np.cumsum(_fair_binomial(n))])
    return tails[min_heads]
