"""Estimate of how many kept documents are contained in another kept one, which Jaccard similarity does not find.

A random sample of the kept documents is looked up in all of them, by the features and the threshold of
`measure="containment"`. A document counts if another one, which is longer or equally long and earlier, has at least
that share of its features. The share p of n sampled documents gives p N of N, with the interval of Wilson (1927) at
95%. A sample of all documents has no interval. Candidates have a recall of 95% at the threshold, so the estimate is
slightly low.

Cost: about a tenth of a run. Of a large corpus the sample is looked up only in a random part of the kept documents, of
`MAX_CHARACTERS` characters and a `SHARE` of all: then the estimate is a lower bound. Memory: the texts of the sample,
and the features of one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates.base import chunk_ranges
from nearkin.dedup.cluster import sample_numbers
from nearkin.dedup.contains import KnownTexts
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.summary import ContainedEstimate
from nearkin.dedup.verify import texts_by_row, to_strings
from nearkin.theory.intervals import wilson

SAMPLE = 1000
"""Maximum number of documents that are looked up."""
MAX_CHARACTERS = 1 << 22
"""Characters of the kept documents in which they are looked up, besides a share of those of all documents."""
SHARE = 1 / 64
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
    within = sample_numbers(len(rows), len(rows))
    limit = MAX_CHARACTERS + SHARE * float(documents.lengths.sum(dtype=np.float64))
    within = np.sort(within[: max(1, int(np.searchsorted(np.cumsum(lengths[within]), limit, side="right")))])
    known = KnownTexts(_texts(documents, rows[sample]), threshold=threshold, max_spread=None)
    contained = np.zeros(len(sample), bool)
    for first, last in chunk_ranges(np.cumsum(lengths[within]), _BATCH_CHARACTERS) if len(sample) else ():
        for start in range(first, last, _BATCH):
            chunk = within[start : min(start + _BATCH, last)]
            queries, matched = known.pairs(_texts(documents, rows[chunk]))
            others, items = chunk[queries], sample[matched]
            longer = lengths[others] > lengths[items]
            contained[matched[longer | ((lengths[others] == lengths[items]) & (others < items))]] = True
            tick(len(chunk))
    found = int(contained.sum())
    low, high = _interval(found, len(sample), len(rows))
    return {
        "sampled": len(sample),
        "of": len(rows),
        "compared": len(within),
        "found": found,
        "estimate": round(found * len(rows) / max(len(sample), 1)),
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
