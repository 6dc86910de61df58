"""Removals and missed pairs of one run at other thresholds, without labels.

A pair of similarity s is a candidate with probability P(s): 1 - (1 - s^rows)^bands for MinHash, or that of a Hamming
distance within the radius for SimHash (`nearkin.theory`). A run lists its removed documents with their similarity to
the kept one, and near misses of a sample of the kept ones: candidates below its threshold, each in the sample with
probability π. A listed pair stands for 1 / (π P(s)) pairs (Horvitz and Thompson, 1952), (1 - P(s)) / P(s) / π of which
were no candidates; π is 1 for a removed document. From t on, the number of missed pairs, and the variance of its error,
are estimated by the sums over listed pairs with s ≥ t:

    M = Σ (1 - P) / (π P)        V = Σ (1 - P) (1 - P + π P) / (π P)²

The interval of 95% is the score interval of a Poisson count k = M² / V, scaled by M / k, with z = 1.96:

    (k + z²/2 ± z √(k + z²/4)) M / k

Without a listed pair it ends at z² (1 - P(t)) / (π P(t)).

**Assumptions.** Pairs are found independently of one another, by the law of the family. Pairs of one cluster are not
independent, so the true uncertainty is larger. A missed pair is one of two documents by themselves: a document that
was missed for one kept document may have been removed for another. Near misses list up to 64 candidates of a document.
Thresholds at which fewer than one pair in ten is a candidate are left out.

Source: D. G. Horvitz, D. J. Thompson, "A generalization of sampling without replacement from a finite universe" (1952).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.summary import ThresholdEstimate
from nearkin.recipe import Recipe
from nearkin.theory import banding_probability, simhash_recall

_STEP, _STEPS = 0.05, 4
"""Distance of two listed thresholds, and their number on each side of the run's."""
_LEAST_PROBABILITY = 0.1
"""Smallest probability of a candidate at a listed threshold."""
_Z = 1.959963984540054


def candidate_probability(summary: Mapping[str, Any]) -> Callable[[float], float] | None:
    """Return the probability of a candidate as a function of similarity, from a run's summary; None if unknown."""
    if summary.get("expected_recall") is None or summary["verify"] not in ("jaccard", "signature"):
        return None
    if "num_bands" in summary:
        bands, rows = summary["num_bands"], summary["num_rows"]
        return lambda similarity: banding_probability(similarity, bands, rows)
    if "radius" in summary:
        bits, radius = Recipe.of(summary["recipe"]).bits, summary["radius"]
        return lambda similarity: simhash_recall(similarity, bits, radius)
    return None


def pair_probability(sampled: int, kept: int) -> float:
    """Return the probability that a sample of the kept documents has at least one document of a pair."""
    if kept < 2:
        return 1.0
    return 1 - (kept - sampled) * (kept - sampled - 1) / (kept * (kept - 1))


def estimate_thresholds(
    summary: Mapping[str, Any], removed: NDArray[np.float64], near: NDArray[np.float64], share: float
) -> list[ThresholdEstimate]:
    """Return counts at thresholds on both sides of a run's.

    Parameters
    ----------
    summary : dict
        Of a run; `removed` counts its removed documents.
    removed : (n,) float64
        Similarities of removed documents with another content to the kept one.
    near : (m,) float64
        Similarities of near misses.
    share : float
        Probability that a pair of kept documents is in the sample, above 0.

    Returns
    -------
    list of dict
        Ascending by threshold; empty if the family has no law for this run.
    """
    law = candidate_probability(summary)
    if law is None:
        return []
    own = float(summary["threshold"])
    near = near[near < own]
    similarity = np.concatenate([removed, near])
    sampled = np.concatenate([np.ones(len(removed)), np.full(len(near), share)])
    values, numbers = np.unique(similarity, return_inverse=True)
    probability = np.array([law(value) for value in values.tolist()], np.float64)[numbers]
    steps = [round(own + _STEP * step, 6) for step in range(-_STEPS, _STEPS + 1)]
    table: list[ThresholdEstimate] = []
    for threshold in steps:
        if not 0 < threshold <= 1 or law(threshold) < _LEAST_PROBABILITY:
            continue
        listed = similarity >= threshold
        least = law(threshold), (share if threshold < own else 1.0)
        missed, low, high = _missed_pairs(probability[listed], sampled[listed], *least)
        table.append(
            {
                "threshold": threshold,
                "removed": None if threshold < own else int(summary["removed"] - (removed < threshold).sum()),
                "further_pairs": round(float((near >= threshold).sum()) / share),
                "missed_pairs": round(missed),
                "low": math.floor(low),
                "high": math.ceil(high),
            }
        )
    return table


def _missed_pairs(
    probability: NDArray[np.float64], sampled: NDArray[np.float64], at_threshold: float, share: float
) -> tuple[float, float, float]:
    """Return the estimate M and its interval."""
    seen = probability * sampled
    missed = float(((1 - probability) / seen).sum())
    variance = float(((1 - probability) * (1 - probability + seen) / seen**2).sum())
    # One pair at the threshold weighs most, which bounds what no listed pair stands for.
    unit = variance / missed if missed else (1 - at_threshold) / (at_threshold * share)
    count = missed / unit if unit else 0.0
    middle, spread = count + _Z * _Z / 2, _Z * math.sqrt(count + _Z * _Z / 4)
    return missed, max(middle - spread, 0.0) * unit, (middle + spread) * unit
