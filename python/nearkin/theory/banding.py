"""MinHash: variance of the schemes, and the choice of bands for a threshold and a recall.

A value of two signatures agrees with probability J, the Jaccard similarity of their sets (Broder 1997). With b bands of
r values, a pair of similarity s becomes a candidate with probability 1 − (1 − s^r)^b (Leskovec, Rajaraman and Ullman,
*Mining of Massive Datasets*, section 3.4). The laws are tested in `tests/families/test_minhash.py` and
`tests/index/test_bands.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter, check_choice, check_count, check_share
from nearkin.theory.laws import binomial_probability

Scheme: TypeAlias = Literal["classic", "one", "fast", "weighted"]

_FAST_ROUNDS = 3
"""Rounds of `fast`, as in the kernel."""


def minhash_variance(
    similarity: float, num_perm: int, *, scheme: Scheme = "classic", union: int | None = None
) -> float:
    """Return the variance of the share of equal values of two signatures.

    Parameters
    ----------
    similarity : float
        Jaccard similarity J of the sets, 0 to 1.
    num_perm : int
        Number of values k of a signature.
    scheme : {"classic", "one", "fast", "weighted"}, default "classic"
        How the k values are computed; see the notes.
    union : int, optional
        Number of features f of the union of both sets; required for all but "classic". For "weighted" the sum of the
        larger weights in units, Σ max.

    Raises
    ------
    ParameterError
        A similarity outside 0 to 1, an unknown scheme, or a scheme without the `union` that it requires.

    Notes
    -----
    `classic` has k independent functions: J (1 - J) / k. In `one`, f features fall into k bins. N bins are not empty,
    and their smallest features are N of the f, drawn without replacement. A bin that is not empty counts 1 + b times,
    where b of the k - N empty bins copy it. With W the sum of the squares of these counts

        Var = J (1 - J) / k^2 · (E[W] f - k^2) / (f - 1),    E[W | N] = N + 3 (k - N) + (k - N)(k - N - 1) / N

    averaged over N and over the orders of the bins. The orders of a family are fixed, which changes W by about one part
    in k. The distribution of N is that of occupied bins.

    In `fast`, no feature is the first of two bins in one of the R = 3 rounds. With e1 = (1 - 1/k)^f and e2 = (1 -
    2/k)^f, two bins are filled in the same round with probability S; otherwise features are drawn independently
    (`crates/nearkin-core/src/families/minhash/fast.rs`). `weighted` is `fast` of as many features as units:

        Var = J (1 - J) / k · (1 - (k - 1) S / (f - 1)),    S = (1 - 2 e1 + e2) (1 - e2^R) / (1 - e2)

    Examples
    --------
    >>> from nearkin.theory import minhash_variance
    >>> minhash_variance(0.5, 128)
    0.001953125
    >>> round(minhash_variance(0.5, 128, scheme="one", union=100), 6), minhash_variance(0.5, 4, scheme="one", union=1)
    (0.002, 0.0)
    >>> round(minhash_variance(0.5, 128, scheme="fast", union=100), 6)
    0.001032
    """
    check_similarity(similarity)
    check_count("num_perm", num_perm, 1, 1 << 32, "1 or more")
    if scheme == "classic":
        return similarity * (1 - similarity) / num_perm
    check_choice("scheme", scheme, "one", "fast", "classic", "weighted")
    if union is None or union < 1:
        raise bad_parameter("union", union, f"the number of features of both sets, at least 1, with scheme='{scheme}'")
    if union == 1:
        return 0.0
    if scheme != "one":
        return similarity * (1 - similarity) / num_perm * _fast_variance_share(union, num_perm)
    squares = 0.0
    for full, probability in enumerate(_occupied_bins(union, num_perm)):
        if probability:
            empty = num_perm - full
            squares += probability * (full + 3 * empty + empty * (empty - 1) / full)
    scale = similarity * (1 - similarity) / num_perm**2
    return max(0.0, scale * (squares * union - num_perm**2) / (union - 1))


def _fast_variance_share(union: int, num_perm: int) -> float:
    """Return the variance of `fast`, as a share of the variance of independent values."""
    if num_perm == 1:
        return 1.0
    one, two = (1 - 1 / num_perm) ** union, (1 - 2 / num_perm) ** union
    same_round = (1 - 2 * one + two) * (1 - two**_FAST_ROUNDS) / (1 - two)
    return max(0.0, 1 - (num_perm - 1) * same_round / (union - 1))


def _occupied_bins(balls: int, bins: int) -> list[float]:
    """Return the probabilities that exactly 0, 1, ..., all bins are not empty."""
    if balls > 40 * bins:
        # An empty bin has probability below bins * exp(-40).
        return [0.0] * bins + [1.0]
    p = [1.0] + [0.0] * bins
    for _ in range(balls):
        p = [0.0] + [p[full] * full / bins + p[full - 1] * (bins - full + 1) / bins for full in range(1, bins + 1)]
    return p


def banding_probability(similarity: float, num_bands: int, num_rows: int) -> float:
    """Return the probability that two signatures agree in all rows of some band: 1 - (1 - s^rows)^bands.

    Parameters
    ----------
    similarity : float
        Probability s that a value agrees, 0 to 1: for MinHash the Jaccard similarity.
    num_bands, num_rows : int
        Number of bands, and values per band.

    Raises
    ------
    ParameterError
        A similarity outside 0 to 1, or a count below 1.

    Examples
    --------
    >>> from nearkin.theory import banding_probability
    >>> round(banding_probability(0.8, 13, 7), 4), round(banding_probability(0.3, 13, 7), 4)
    (0.9531, 0.0028)
    """
    check_similarity(similarity)
    check_count("num_bands", num_bands, 1, 1 << 32, "1 or more")
    check_count("num_rows", num_rows, 1, 1 << 32, "1 or more")
    return _share_band(similarity, num_bands, num_rows)


def _share_band(similarity: float, num_bands: int, num_rows: int) -> float:
    # log1p preserves small probabilities.
    agree = similarity**num_rows
    return 1.0 if agree == 1 else -math.expm1(num_bands * math.log1p(-agree))


@dataclass(frozen=True)
class Banding:
    """Division of a signature into bands for a threshold and a recall.

    Attributes
    ----------
    num_bands, num_rows : int
        Number of bands, and values per band.
    min_matches : int
        Minimum number of equal values, of all values of the signature, of a candidate.
    recall : float
        Probability that a pair at the threshold is a candidate; it is higher for pairs above the threshold.
    waste : float
        Mean probability that a pair below the threshold shares a band, over similarities from 0 to the threshold.
    precision : float
        Share of pairs at or above the threshold among those that share a band, if similarities were uniform from 0 to
        1.
    """

    num_bands: int
    num_rows: int
    min_matches: int
    recall: float
    waste: float
    precision: float


def choose_bands(
    threshold: float,
    recall: float,
    num_perm: int,
    *,
    num_documents: int | None = None,
    background: Sequence[float] | NDArray[np.float64] | None = None,
) -> Banding:
    """Return the bands that find pairs at a threshold with a required recall and the fewest other candidates.

    With `background`, the bands for a collection of that many documents: the fewest values with which a document has at
    most one unrelated candidate, so that the work grows in proportion to the collection.

    Parameters
    ----------
    threshold : float
        Jaccard similarity, above 0 and up to 1.
    recall : float
        Required probability that a pair at the threshold becomes a candidate, above 0 and below 1.
    num_perm : int
        Number of values of a signature, 1 to 65,536; with `background` the largest number.
    num_documents : int, optional
        Number of documents n of the collection; required with `background`.
    background : sequence of float, optional
        Jaccard similarities of pairs of unrelated documents, such as a sample of the collection's.

    Raises
    ------
    ParameterError
        No bands of this many values reach the recall; the message names the required number of values. `background`
        without `num_documents`.

    Notes
    -----
    A document has n/2 · mean(1 − (1 − J^r)^b) candidates among unrelated documents of background similarities J. More
    rows r leave fewer of them, but the recall then takes more bands b. If even the largest r that fits leaves more than
    one candidate, it is taken.

    For each number of rows, the smallest number of bands with the recall is a choice; more rows and more bands make a
    steeper curve. Among the choices that fit the signature, the one with the least waste wins (`Banding.waste`), and
    among equal ones the one with fewer bands. The surplus of the recall over the required one is spent on
    `min_matches`: it is the largest number that a pair at the threshold misses, by the binomial distribution, with a
    probability of at most that surplus.

    Examples
    --------
    >>> from nearkin.theory import choose_bands
    >>> banding = choose_bands(0.8, 0.95, 128)
    >>> banding.num_bands, banding.num_rows, round(banding.recall, 3)
    (13, 7, 0.951)
    >>> large = choose_bands(0.8, 0.995, 512, num_documents=10**6, background=[0.07])
    >>> large.num_bands, large.num_rows
    (23, 7)
    >>> choose_bands(0.1, 0.99, 16)
    Traceback (most recent call last):
        ...
    nearkin.errors.ParameterError: num_perm=16 is not allowed; use at least 44 for recall=0.99 at threshold=0.1
    """
    check_share("threshold", threshold, "above 0 and up to 1", lambda share: 0 < share <= 1)
    check_share("recall", recall, "above 0 and below 1: no collision is certain", lambda share: 0 < share < 1)
    check_count("num_perm", num_perm, 1, 1 << 16, "1 to 65,536")
    if background is not None and num_documents is None:
        raise bad_parameter("num_documents", None, "the size of the collection, with background similarities")
    sample = None if background is None else np.asarray(background, np.float64)
    best: Banding | None = None
    for rows in range(1, num_perm + 1):
        bands = count_bands(threshold, recall, rows)
        if bands * rows > num_perm:
            if sample is not None and best is not None:
                break
            continue
        if sample is not None:
            best = _evaluate_banding(threshold, recall, bands * rows, bands, rows)
            # log1p preserves small probabilities.
            shares = -np.expm1(bands * np.log1p(-(np.minimum(sample, 1 - 1e-9) ** rows)))
            if not len(sample) or (num_documents or 0) / 2 * float(shares.mean()) <= 1:
                break
            continue
        banding = _evaluate_banding(threshold, recall, num_perm, bands, rows)
        if best is None or (banding.waste, banding.num_bands) < (best.waste, best.num_bands):
            best = banding
    if best is None:
        needed = max(1, math.ceil(math.log1p(-recall) / math.log1p(-threshold) - 1e-9))
        raise bad_parameter("num_perm", num_perm, f"at least {needed} for recall={recall} at threshold={threshold}")
    return best


def count_bands(threshold: float, recall: float, num_rows: int) -> int:
    """Return the smallest number of bands of `num_rows` values that finds pairs at the threshold with this recall."""
    agree = threshold**num_rows
    return 1 if agree == 1 else max(1, math.ceil(math.log1p(-recall) / math.log1p(-agree) - 1e-9))


def min_equal_bits(threshold: float, num_bits: int, missed: float) -> tuple[int, float]:
    """Return the number of equal one-bit values that a pair at the threshold reaches almost always.

    A bit of each value is compared instead of the value. A smaller number of equal bits shows that the similarity is
    below the threshold, before any text is read.

    Parameters
    ----------
    threshold : float
        Jaccard similarity, above 0 and up to 1.
    num_bits : int
        Number m of values of which a bit is compared, 1 to 65,536.
    missed : float
        Largest probability that a pair at the threshold has fewer equal bits, from 0 and below 1.

    Returns
    -------
    int, float
        The number, and the probability that a pair at the threshold has fewer equal bits.

    Raises
    ------
    ParameterError
        A value out of range.

    Notes
    -----
    Bits of equal values are equal, those of different ones with probability 1/2. So the number of equal bits of a pair
    of similarity J follows Binomial(m, (1 + J) / 2) for independent values. The values of `fast` are drawn without
    replacement, which makes the tail lighter (W. Hoeffding, "On the distribution of the number of successes in
    independent trials", 1956). Those of `one` may be copies of one another, so that the law does not bound them.
    Source: P. Li and A. C. König, "b-Bit minwise hashing", WWW 2010.

    Examples
    --------
    >>> from nearkin.theory import min_equal_bits
    >>> least, missed = min_equal_bits(0.8, 128, 1e-4)
    >>> least, round(missed * 1e4, 2)
    (101, 0.57)
    """
    check_share("threshold", threshold, "above 0 and up to 1", lambda share: 0 < share <= 1)
    check_count("num_bits", num_bits, 1, 1 << 16, "1 to 65,536")
    check_share("missed", missed, "from 0 and below 1", lambda share: 0 <= share < 1)
    equal = (1 + threshold) / 2
    # Also where a threshold just below 1 rounds to it.
    if equal == 1:
        return num_bits, 0.0
    least, below = 0, 0.0
    while (more := below + binomial_probability(num_bits, least, equal)) <= missed:
        least, below = least + 1, more
    return least, below


def fixed_bands(threshold: float, num_perm: int, num_bands: int, num_rows: int) -> Banding:
    """Return a given division of a signature of `num_perm` values; its recall is that of the bands alone."""
    recall = banding_probability(threshold, num_bands, num_rows)
    return _evaluate_banding(threshold, recall, num_perm, num_bands, num_rows)


def _evaluate_banding(threshold: float, recall: float, num_perm: int, bands: int, rows: int) -> Banding:
    reached = banding_probability(threshold, bands, rows)
    min_matches, lost = 0, 0.0
    below = (1 - threshold) ** num_perm if threshold < 1 else 0.0
    for equal in range(num_perm):
        # `below` is the probability that at most `equal` values agree.
        if below > reached - recall:
            break
        min_matches, lost = equal + 1, below
        below += binomial_probability(num_perm, equal + 1, threshold) if threshold < 1 else 0.0
    steps = 200
    areas = [
        sum(_share_band(low + (high - low) * (i + 0.5) / steps, bands, rows) for i in range(steps))
        * (high - low)
        / steps
        for low, high in ((0.0, threshold), (threshold, 1.0))
    ]
    precision = areas[1] / (areas[0] + areas[1])
    return Banding(bands, rows, min_matches, reached - lost, areas[0] / threshold, precision)


def check_similarity(similarity: float) -> None:
    """Raise ParameterError unless a Jaccard similarity is from 0 to 1."""
    if not 0 <= similarity <= 1:
        raise bad_parameter("similarity", similarity, "a Jaccard similarity from 0 to 1")
