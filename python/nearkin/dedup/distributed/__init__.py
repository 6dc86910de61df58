"""A deduplication whose documents lie on many machines, as functions over Arrow batches.

An engine (`nearkin.spark`) moves rows between them, sorts nothing, and decides nothing:

1. `documents`: texts → hashed documents, each with a 64-bit *number*, whose order is the keep order.
2. `bands`, `meetings`: documents that meet in one *unit* (the bucket of a band, two slices of the fingerprints) →
   candidate pairs, the earlier document first.
3. `verify`: candidate pairs and the texts they need → *links*, the pairs that match.
4. `decide`: links → which documents stay (on the driver).

**Candidates in keep order, a few at a time.** In a unit of m documents that are all alike there are m (m - 1) / 2
pairs, and one would do: that with the document that stays. So each document is paired with the first `FIRST` earlier
ones of its unit. Then `decide` says which documents stay by the links so far, and `units` names what may still change
that: for a document d, an earlier one of its unit that stays, unless d is removed for one before it. These pairs are
verified, and again, until there are none. Then no pair that was left out can change the answer, by induction over the
keep order: of two documents that both stay each pair was verified; and a removed one was compared with all that stay
before the one that removed it. So the answer is that of all pairs, and of `nearkin.dedup`.
"""

from __future__ import annotations
