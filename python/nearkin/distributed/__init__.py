"""A deduplication whose documents are on many machines, as functions over Arrow batches.

An engine only moves rows between these functions, as `plan` says: Spark and Sail by DataFrames, and an engine that runs
Python functions by `frames`, over tables that its tasks hold. `tables` has the result:

1. `documents`: texts → hashed documents, each with a 64-bit *number* in keep order.
2. `pairs`: documents of one *unit* (the bucket of a band, a table or two slices of fingerprints) → candidate pairs, the
   earlier document first.
3. `links`: candidate pairs and the texts they need → *links*, the pairs that match; and links → removed documents, on
   the driver if they are few, or in rounds (`decision`).

**Candidates in keep order, a few at a time.** A unit of m similar documents has m (m - 1) / 2 pairs, but each document
needs only one: that with the document that is kept. So each document is first paired with up to `MAX_FIRST` earlier
ones of its unit, or in a bucket with the first if it has more. Then the job decides which documents are kept according
to the links so far, and the next round pairs a document d with every earlier kept one of its unit, unless d is removed
for one before it. These pairs are verified, and so on until there are none. Then no omitted pair can change the
result, by induction over the keep order: each pair of two kept documents was verified; and a removed one was compared
with all kept ones before the one that removed it. So the result is that of all pairs, and of `nearkin.dedup`.
"""

from __future__ import annotations
