"""Containment by sketches: how often a pair at the threshold is found, and how many hashes must be shared for that.

The containment of the smaller set A in B is |A ∩ B| / |A|. A bottom-k sketch holds the m = min(k, |A|) features of A
with the smallest hashes, which are m of them drawn without replacement. So with n = |A| and s = |A ∩ B| the number X of
the sketch's features that B has is hypergeometric, whatever the size of B:

    P[X = x] = C(s, x) C(n - s, m - x) / C(n, m)

A pair is proposed if X reaches `least`. The recall of a pair at the threshold t, with s = ⌈t n⌉, is P[X ≥ least]; pairs
above have a larger s, and a larger recall. For n ≤ k the sketch is the set, and nothing is left to chance.

The pairs of one document share its sketch: they are found or missed together more often than independent ones.

Sources: A. Z. Broder, "On the Resemblance and Containment of Documents", SEQUENCES 1997, section 3 (containment by
samples of hashes); E. Cohen and H. Kaplan, "Summarizing data using bottom-k sketches", PODC 2007. Kernels:
`crates/nearkin-core/src/families/sketch.rs`, `crates/nearkin-core/src/search/sketches.rs`; the law is tested in
`tests/theory/test_containment.py`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearkin.errors import bad_parameter, check_count

CONTAINMENT_RECALL = 0.95
"""Recall of a pair at the threshold when the caller says nothing."""
SKETCH_SIZE = 32
"""Hashes of a sketch, unless the threshold needs more: of 8 to 128 the number that makes the least work on news of
1,700 letters and on licences (`docs/quality.md`)."""
MAX_SIZE = 1 << 14
"""Most hashes of a sketch."""
_HITS = 3
"""Shared hashes that a pair needs at least, so that one frequent feature proposes nothing."""


def containment_shared(threshold: float, features: int) -> int:
    """The least number of shared features with which a set of this many reaches the threshold.

    It is the smallest s with s / features >= threshold as computed in 64 bits, so that verification agrees.

    Parameters
    ----------
    threshold : float
        Containment, above 0 and up to 1.
    features : int
        Features of the smaller set, at least 1.

    Examples
    --------
    >>> from nearkin.theory import containment_shared
    >>> containment_shared(0.8, 10), containment_shared(0.8, 11), containment_shared(0.07, 100)
    (8, 9, 7)
    """
    _check_threshold(threshold)
    check_count("features", features, 1, 1 << 62, "1 or more")
    return int(_shared(threshold, np.array([features], np.int64))[0])


def containment_recall(threshold: float, features: int, size: int, least: int) -> float:
    """Probability that a pair at the threshold is proposed, over the choice of hash functions: P[X >= least].

    Parameters
    ----------
    threshold : float
        Containment of the smaller set in the other, above 0 and up to 1.
    features : int
        Features n of the smaller set, at least 1.
    size : int
        Hashes k of a sketch, 1 to 16,384.
    least : int
        How many of the sketch's features the other set must have.

    Raises
    ------
    ParameterError
        A value out of its range.

    Examples
    --------
    >>> from nearkin.theory import containment_recall
    >>> round(containment_recall(0.8, 1000, 32, 22), 4), containment_recall(0.8, 30, 32, 24)
    (0.9615, 1.0)
    """
    _check_threshold(threshold)
    check_count("features", features, 1, 1 << 62, "1 or more")
    check_count("size", size, 1, MAX_SIZE, f"1 to {MAX_SIZE:,}")
    check_count("least", least, 0, MAX_SIZE, f"0 to {MAX_SIZE:,}")
    tails = _tails(threshold, np.array([features], np.int64), size)[:, 0]
    return float(tails[least]) if least < len(tails) else 0.0


def containment_least(threshold: float, features: ArrayLike, size: int, recall: float) -> NDArray[np.uint16]:
    """The largest number of shared hashes that a pair at the threshold reaches with at least the wanted probability.

    Parameters
    ----------
    threshold : float
        Containment of the smaller set in the other, above 0 and up to 1.
    features : integers
        Features of smaller sets, at least 0; a set without any is contained in nothing, and gets 0.
    size : int
        Hashes of a sketch, 1 to 16,384.
    recall : float
        Wanted probability, above 0 and below 1.

    Returns
    -------
    uint16 array, shaped as `features`

    Raises
    ------
    ParameterError
        A value out of its range.

    Examples
    --------
    >>> from nearkin.theory import containment_least
    >>> containment_least(0.8, [0, 1, 10, 100, 1000, 10**6], 32, 0.95).tolist()
    [0, 1, 8, 22, 22, 22]
    """
    _check_threshold(threshold)
    _check_recall(recall)
    check_count("size", size, 1, MAX_SIZE, f"1 to {MAX_SIZE:,}")
    counts = np.asarray(features, np.int64)
    sizes, inverse = np.unique(counts, return_inverse=True)
    if len(sizes) and sizes[0] < 0:
        raise bad_parameter("features", int(sizes[0]), "0 or more")
    least = np.zeros(len(sizes), np.uint16)
    # Some thousand sizes at a time: a probability for each size and each number of hashes.
    for start in range(0, len(sizes), 1 << 12):
        part = sizes[start : start + (1 << 12)]
        some = part > 0
        if some.any():
            reached = _tails(threshold, part[some], size) >= recall
            least[start : start + len(part)][some] = reached.sum(axis=0) - 1
    return least[inverse].reshape(counts.shape)


def containment_size(threshold: float, recall: float) -> int:
    """The size of the sketches with which containments are found: 32, doubled until a pair must share three hashes.

    Parameters
    ----------
    threshold, recall : float
        As of `containment_least`.

    Raises
    ------
    ParameterError
        A value out of its range; a threshold so low that no sketch of 16,384 hashes has the recall.

    Examples
    --------
    >>> from nearkin.theory import containment_size
    >>> containment_size(0.8, 0.95), containment_size(0.1, 0.95), containment_size(0.1, 0.999)
    (32, 64, 128)
    """
    size = SKETCH_SIZE
    while int(containment_least(threshold, [1 << 40], size, recall)[0]) < _HITS:
        size *= 2
        if size > MAX_SIZE:
            raise bad_parameter("threshold", threshold, f"a larger one, or a smaller recall than {recall}")
    return size


def _shared(threshold: float, features: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest numbers whose quotients reach the threshold."""
    shared = np.ceil(threshold * features).astype(np.int64)
    # The product is rounded; the quotient decides.
    shared += (shared / features < threshold).astype(np.int64)
    shared -= ((shared - 1) / features >= threshold).astype(np.int64)
    found: NDArray[np.int64] = np.clip(shared, 1, features)
    return found


def _tails(threshold: float, features: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """P[X >= x] for x from 0 to `size`, a row for each x and a column for each number of features."""
    shared = _shared(threshold, features)
    drawn = np.minimum(features, size)
    other = features - shared
    # The most that can be shared, and its probability; the others follow one from another.
    top = np.minimum(shared, drawn)
    log = np.array([_log_point(*each) for each in zip(*(a.tolist() for a in (shared, other, drawn, top)), strict=True)])
    tails = np.zeros((size + 1, len(features)))
    reached = np.zeros(len(features))
    for x in range(size, -1, -1):
        begun = x <= top
        reached = np.where(begun, reached + np.exp(log), reached)
        tails[x] = reached
        # P[X = x - 1] / P[X = x], as logarithms since the first of them may be far below what numbers hold.
        step = x * (other - drawn + x) / np.maximum((shared - x + 1) * (drawn - x + 1), 1)
        with np.errstate(divide="ignore"):
            log = np.where(begun, log + np.log(np.maximum(step, 0)), log)
    # Sums are right to some 1e-12, and what is certain is 1.
    tails[0] = 1.0
    return np.where(tails > 1 - 1e-11, 1.0, tails)


def _log_point(shared: int, other: int, drawn: int, equal: int) -> float:
    """Logarithm of P[X = equal] of `drawn` out of `shared` and `other` ones, where that is possible."""
    return _log_choose(shared, equal) + _log_choose(other, drawn - equal) - _log_choose(shared + other, drawn)


def _log_choose(n: int, k: int) -> float:
    """Logarithm of C(n, k), by factors where k is small: differences of large log-gammas lose digits."""
    k = min(k, n - k)
    if k <= 64 or n > 1 << 20:
        return math.fsum(math.log(n - i) for i in range(k)) - math.lgamma(k + 1)
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _check_threshold(threshold: float) -> None:
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if not number or not 0 < threshold <= 1:
        raise bad_parameter("threshold", repr(threshold), "a containment above 0 and up to 1")


def _check_recall(recall: float) -> None:
    number = isinstance(recall, (int, float)) and not isinstance(recall, bool)
    if not number or not 0 < recall < 1:
        raise bad_parameter("recall", repr(recall), "a probability above 0 and below 1: samples are never sure")
