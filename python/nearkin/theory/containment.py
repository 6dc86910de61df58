"""Containment by bottom-k sketches: recall of a pair at the threshold, and the required number of shared hashes.

The containment of the smaller set A in B is |A ∩ B| / |A|. A bottom-k sketch contains the m = min(k, |A|) features of A
with the smallest hashes: a sample of A without replacement. With n = |A| and s = |A ∩ B|, the number X of the sketch's
features that are in B is therefore hypergeometric, for any size of B:

    P[X = x] = C(s, x) C(n - s, m - x) / C(n, m)

A pair becomes a candidate if X is at least `min_shared`. The recall of a pair at the threshold t, with s = ⌈t n⌉, is
P[X ≥ min_shared]; pairs above the threshold have a larger s and a larger recall. For n ≤ k the sketch is the set, and
the recall is 1.

The pairs of one document share its sketch, so they are found or missed together more often than independent pairs.

Sources: A. Z. Broder, "On the Resemblance and Containment of Documents", SEQUENCES 1997, section 3 (containment by
samples of hashes); E. Cohen and H. Kaplan, "Summarizing data using bottom-k sketches", PODC 2007. Kernels:
`crates/nearkin-core/src/families/sketch.rs`, `crates/nearkin-core/src/index/sketches.rs`; the law is tested in
`tests/theory/test_theory_containment.py`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearkin.errors import bad_parameter, check_count, check_share

CONTAINMENT_RECALL = 0.95
"""Default recall of a pair at the threshold."""
SKETCH_SIZE = 32
"""Hashes of a sketch, unless the threshold needs more. From 8 to 128 this number causes the least work on news of 1,700
letters and on licences (`docs/quality.md`)."""
MAX_SIZE = 1 << 14
"""Maximum number of hashes of a sketch."""
_MIN_SHARED = 3
"""Minimum number of shared hashes of a pair, so that one frequent feature makes no candidates."""


def containment_overlap(threshold: float, features: int) -> int:
    """Return the smallest number of shared features that reaches the threshold.

    It is the smallest s with s / features >= threshold, computed in 64 bits, so that verification agrees.

    Parameters
    ----------
    threshold : float
        Containment, above 0 and up to 1.
    features : int
        Number of features of the smaller set, at least 1.

    Examples
    --------
    >>> from nearkin.theory import containment_overlap
    >>> containment_overlap(0.8, 10), containment_overlap(0.8, 11), containment_overlap(0.07, 100)
    (8, 9, 7)
    """
    _check_threshold(threshold)
    check_count("features", features, 1, 1 << 62, "1 or more")
    return int(_min_shared_features(threshold, np.array([features], np.int64))[0])


def containment_recall(threshold: float, features: int, size: int, min_shared: int) -> float:
    """Return the probability that a pair at the threshold is a candidate: P[X >= min_shared].

    Parameters
    ----------
    threshold : float
        Containment of the smaller set in the other, above 0 and up to 1.
    features : int
        Number of features n of the smaller set, at least 1.
    size : int
        Number of hashes k of a sketch, 1 to 16,384.
    min_shared : int
        Minimum number of the sketch's features that are in the other set.

    Raises
    ------
    ParameterError
        A value out of range.

    Examples
    --------
    >>> from nearkin.theory import containment_recall
    >>> round(containment_recall(0.8, 1000, 32, 22), 4), containment_recall(0.8, 30, 32, 24)
    (0.9615, 1.0)
    """
    _check_threshold(threshold)
    check_count("features", features, 1, 1 << 62, "1 or more")
    check_count("size", size, 1, MAX_SIZE, f"1 to {MAX_SIZE:,}")
    check_count("min_shared", min_shared, 0, MAX_SIZE, f"0 to {MAX_SIZE:,}")
    tails = _tail_probabilities(threshold, np.array([features], np.int64), size)[:, 0]
    return float(tails[min_shared]) if min_shared < len(tails) else 0.0


def containment_min_shared(threshold: float, features: ArrayLike, size: int, recall: float) -> NDArray[np.uint16]:
    """Return the largest number of shared hashes that a pair at the threshold reaches with probability `recall`.

    Parameters
    ----------
    threshold : float
        Containment of the smaller set in the other, above 0 and up to 1.
    features : integers
        Numbers of features of smaller sets, 0 or more; the result for a set without features is 0.
    size : int
        Number of hashes of a sketch, 1 to 16,384.
    recall : float
        Required probability, above 0 and below 1.

    Returns
    -------
    uint16 array, shaped as `features`

    Raises
    ------
    ParameterError
        A value out of range.

    Examples
    --------
    >>> from nearkin.theory import containment_min_shared
    >>> containment_min_shared(0.8, [0, 1, 10, 100, 1000, 10**6], 32, 0.95).tolist()
    [0, 1, 8, 22, 22, 22]
    """
    _check_threshold(threshold)
    allowed = "a probability above 0 and below 1: samples are never certain"
    check_share("recall", recall, allowed, lambda share: 0 < share < 1)
    check_count("size", size, 1, MAX_SIZE, f"1 to {MAX_SIZE:,}")
    counts = np.asarray(features, np.int64)
    sizes, inverse = np.unique(counts, return_inverse=True)
    if len(sizes) and sizes[0] < 0:
        raise bad_parameter("features", int(sizes[0]), "0 or more")
    min_shared = np.zeros(len(sizes), np.uint16)
    # In batches, because there is a probability for each size and each number of hashes.
    for start in range(0, len(sizes), 1 << 12):
        batch = sizes[start : start + (1 << 12)]
        positive = batch > 0
        if positive.any():
            reached = _tail_probabilities(threshold, batch[positive], size) >= recall
            min_shared[start : start + len(batch)][positive] = reached.sum(axis=0) - 1
    return min_shared[inverse].reshape(counts.shape)


def containment_size(threshold: float, recall: float) -> int:
    """Return the sketch size for a threshold: 32, doubled until a pair at the threshold shares at least three hashes.

    Parameters
    ----------
    threshold, recall : float
        As for `containment_min_shared`.

    Raises
    ------
    ParameterError
        A value out of range; a threshold so low that sketches of 16,384 hashes do not reach the recall.

    Examples
    --------
    >>> from nearkin.theory import containment_size
    >>> containment_size(0.8, 0.95), containment_size(0.1, 0.95), containment_size(0.1, 0.999)
    (32, 64, 128)
    """
    size = SKETCH_SIZE
    while int(containment_min_shared(threshold, [1 << 40], size, recall)[0]) < _MIN_SHARED:
        size *= 2
        if size > MAX_SIZE:
            raise bad_parameter("threshold", threshold, f"a larger one, or a smaller recall than {recall}")
    return size


def _min_shared_features(threshold: float, features: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest numbers whose quotients reach the threshold."""
    shared = np.ceil(threshold * features).astype(np.int64)
    # The product is rounded; the quotient decides.
    shared += (shared / features < threshold).astype(np.int64)
    shared -= ((shared - 1) / features >= threshold).astype(np.int64)
    clipped: NDArray[np.int64] = np.clip(shared, 1, features)
    return clipped


def _tail_probabilities(threshold: float, features: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return P[X >= x] for x from 0 to `size`, one row for each x and one column for each number of features."""
    shared = _min_shared_features(threshold, features)
    drawn = np.minimum(features, size)
    other = features - shared
    # The probability of the largest x; a recurrence gives the others.
    top = np.minimum(shared, drawn)
    log = np.array(
        [_log_hypergeometric(*each) for each in zip(*(a.tolist() for a in (shared, other, drawn, top)), strict=True)]
    )
    tails = np.zeros((size + 1, len(features)))
    reached = np.zeros(len(features))
    for x in range(size, -1, -1):
        possible = x <= top
        reached = np.where(possible, reached + np.exp(log), reached)
        tails[x] = reached
        # P[X = x - 1] / P[X = x]; logarithms, because the first probability may underflow.
        step = x * (other - drawn + x) / np.maximum((shared - x + 1) * (drawn - x + 1), 1)
        with np.errstate(divide="ignore"):
            log = np.where(possible, log + np.log(np.maximum(step, 0)), log)
    # Sums are accurate to about 1e-12; certain events have probability 1.
    tails[0] = 1.0
    return np.where(tails > 1 - 1e-11, 1.0, tails)


def _log_hypergeometric(shared: int, other: int, drawn: int, equal: int) -> float:
    """Return ln P[X = equal] for `drawn` features out of `shared` and `other` ones."""
    return _log_choose(shared, equal) + _log_choose(other, drawn - equal) - _log_choose(shared + other, drawn)


def _log_choose(n: int, k: int) -> float:
    """Return ln C(n, k), by factors if k is small: differences of large log-gammas lose digits."""
    k = min(k, n - k)
    if k <= 64 or n > 1 << 20:
        return math.fsum(math.log(n - i) for i in range(k)) - math.lgamma(k + 1)
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _check_threshold(threshold: float) -> None:
    check_share("threshold", threshold, "a containment above 0 and up to 1", lambda share: 0 < share <= 1)
