"""Estimate of how many kept documents are contained in another kept one, which Jaccard similarity does not find.

A random sample of the kept documents is looked up in all of them, by the features and the threshold of
`measure="containment"`. A document counts if another one, which is longer or equally long and earlier, has at least
that share of its features. The share p of n sampled documents gives p N of N, with the interval of Wilson (1927) at
95%. A sample of all documents has no interval. Candidates have a recall of 95% at the threshold, so the estimate is
slightly low.

Cost: one pass over the kept texts. Memory: the texts of the sample, and the features of one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates.base import chunk_ranges
from nearkin.dedup.cluster import sample_numbers
from nearkin.dedup.contains import KnownTexts, to_strings
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.summary import ContainedEstimate
from nearkin.dedup.verify import texts_by_row
from nearkin.theory.intervals import wilson

SAMPLE = 2000
"""Maximum number of documents that are looked up."""
_BATCH = 512
"""Kept documents whose features are in memory at once."""
_BATCH_CHARACTERS = 1 << 24


def estimate_contained(
    documents: HashedDocuments, kept: NDArray[np.int64], threshold: float, tick: Callable[[int], None]
) -> ContainedEstimate:
    """Estimate how many kept documents another one contains.

    Parameters
    ----------
    documents : HashedDocuments
    kept : (n,) int64, ascending
        Rows of the kept documents; those without features are left out.
    threshold : float
        Smallest containment.
    tick : function
        Called with numbers of kept documents that were read.
    """
    rows = kept[documents.counts[kept] > 0]
    lengths = documents.lengths[rows].astype(np.int64)
    sample = np.sort(sample_numbers(len(rows), SAMPLE))
    known = KnownTexts(_texts(documents, rows[sample]), sample.tolist(), threshold=threshold, max_spread=None)
    contained: set[int] = set()
    for first, last in chunk_ranges(np.cumsum(lengths), _BATCH_CHARACTERS) if len(sample) else ():
        for start in range(first, last, _BATCH):
            chunk = np.arange(start, min(start + _BATCH, last))
            table = known.find(_texts(documents, rows[chunk]), chunk)
            for other, item in zip(table["query"], table["id"], strict=True):
                if (-lengths[other], other) < (-lengths[item], item):
                    contained.add(item)
            tick(len(chunk))
    low, high = _interval(len(contained), len(sample), len(rows))
    return {
        "sampled": len(sample),
        "of": len(rows),
        "found": len(contained),
        "estimate": round(len(contained) * len(rows) / max(len(sample), 1)),
        "low": low,
        "high": high,
        "threshold": threshold,
        "recipe": str(known.recipe),
    }


def _texts(documents: HashedDocuments, rows: NDArray[np.int64]) -> list[str | None]:
    look_up, count = texts_by_row(documents.look_up(rows))
    return to_strings(look_up(np.arange(count)))


def _interval(found: int, sampled: int, total: int) -> tuple[int, int]:
    """Return the interval of the number among `total`, which is never below what was found."""
    if sampled == total:
        return found, found
    low, high = (bound * total for bound in wilson(found, sampled))
    return max(math.floor(low), found), min(math.ceil(high), total - (sampled - found))
