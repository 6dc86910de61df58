"""Candidate pairs and the documents that they need → links.

Pairs lie in blocks by their later document, whose texts come along once per block. A document that is earlier in many
pairs is in each block once; so no block is larger than its documents and their candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import TextCandidateSource, Values
from nearkin.dedup.distributed.rows import batches_of, gathered, integers, unpack_values, working
from nearkin.dedup.verify import TextComparison

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin._core import TextCache

_PAIRS = 1 << 14
"""Pairs whose values are copied at once."""
_CHARACTERS = 1 << 22
"""Characters of texts that are compared at once; their feature sets take up to eight bytes each."""
_CACHE_BYTES = 32 << 20
"""Bytes of feature sets that are kept for later pairs."""

Numbers = NDArray[np.int64]
COUNTS = ("candidates", "verified", "differing", "skipped")


@dataclass(frozen=True)
class Blocks:
    """How many blocks there are."""

    count: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pairs (left, right) with their block, which follows from the later document."""
        for batch in batches:
            right = integers(batch.column("right"))
            # Numbers may have any pattern: a step of splitmix64 leaves none.
            mixed = (right.view(np.uint64) ^ (right.view(np.uint64) >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
            block = ((mixed >> np.uint64(20)) % np.uint64(self.count)).astype(np.int64)
            yield from batches_of({"block": block, "left": batch.column("left"), "right": right})


@dataclass(frozen=True)
class Verification:
    """How pairs are verified.

    Attributes
    ----------
    source : TextCandidateSource
    kind : dtype
        Of one row of values.
    comparison : TextComparison or None
        None takes candidates as matches.
    threshold : float
    listed : bool
        Take all pairs, whatever their similarity: they match already.
    """

    source: TextCandidateSource
    kind: np.dtype[Any]
    comparison: TextComparison | None
    threshold: float
    listed: bool = False

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """From rows of whole blocks to links.

        A row is a pair (left, right), or a document (left, with length, text and values; right is null). Links have
        left, right, similarity and distance; one row without them counts what was looked at.
        """
        # Rows are gathered before the task holds anything, and given back after that: engines may wait for either.
        held = [gathered(batches)]
        with working:
            found = list(self._verified(held.pop()))
        yield from found

    def _verified(self, table: pa.Table | None) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if table is None:
            return
        is_pair = table.column("right").is_valid()
        documents = _Block.of(table.filter(pa.compute.invert(is_pair)), self.kind)
        pairs = table.select(["left", "right"]).filter(is_pair)
        # The same pair may come of several units.
        both = np.unique(np.stack([integers(pairs.column("right")), integers(pairs.column("left"))], axis=1), axis=0)
        del table, pairs
        counts = dict.fromkeys(COUNTS, 0)
        cache = None if self.comparison is None else self.comparison.cache(_CACHE_BYTES)
        for start in range(0, len(both), _PAIRS):
            right, left = both[start : start + _PAIRS].T
            yield from self._links(documents, left, right, cache, counts)
        nothing = {"left": pa.nulls(1, pa.int64()), "right": pa.nulls(1, pa.int64())}
        none = {"similarity": pa.nulls(1, pa.float64()), "distance": pa.nulls(1, pa.int64())}
        yield from batches_of({**nothing, **none, **{name: pa.array([counts[name]]) for name in COUNTS}})

    def _links(
        self, documents: _Block, left: Numbers, right: Numbers, cache: TextCache | None, counts: dict[str, int]
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        ends = documents.at(left), documents.at(right)
        if not self.listed:
            proposed = self.source.are_candidates(*(documents.values[end] for end in ends))  # type: ignore[attr-defined]
            ends = ends[0][proposed], ends[1][proposed]
        counts["candidates"] += len(ends[0])
        sides = documents.values[ends[0]], documents.values[ends[1]]
        similarity = self.source.similarities(*sides)
        matched = np.ones(len(similarity), bool)
        if cache is not None:
            similarity, differ = self._compared(documents, *ends, cache)
            counts["verified"] += len(similarity)
            counts["skipped"] += int(np.isnan(similarity).sum())
            similar = similarity >= self.threshold
            counts["differing"] += int((similar & differ).sum())
            matched = np.ones(len(similarity), bool) if self.listed else similar & ~differ
        distance = self.source.distances(*sides)
        numbers = documents.numbers
        columns = {"left": numbers[ends[0][matched]], "right": numbers[ends[1][matched]]}
        values = {"similarity": pa.array(similarity[matched], from_pandas=True), "distance": distance[matched]}
        zeros = dict.fromkeys(COUNTS, np.zeros(int(matched.sum()), np.int64))
        yield from batches_of({**columns, **values, **zeros})

    def _compared(
        self, documents: _Block, left: Numbers, right: Numbers, cache: TextCache
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Similarities by texts, and which pairs differ by the rules."""
        similarity, differ = np.zeros(len(left)), np.zeros(len(left), bool)
        ends = np.cumsum(documents.lengths[left] + documents.lengths[right])
        start = 0
        while start < len(left):
            before = int(ends[start - 1]) if start else 0
            end = max(int(np.searchsorted(ends, before + _CHARACTERS, side="right")), start + 1)
            sides = left[start:end].astype(np.uint32), right[start:end].astype(np.uint32)
            missing = cache.missing(np.unique(np.concatenate(sides)))
            if len(missing):
                cache.shrink()
                cache.add(missing, documents.texts.take(missing.astype(np.int64)))
            similarity[start:end] = cache.similarities(*sides, left_out=True)
            if self.comparison is not None and self.comparison.differ:
                differ[start:end] = cache.which_differ(*sides)
            start = end
        return similarity, differ


@dataclass(frozen=True)
class _Block:
    """The documents of a block, by number."""

    numbers: Numbers
    lengths: Numbers
    values: Values
    texts: pa.ChunkedArray

    @classmethod
    def of(cls, table: pa.Table, kind: np.dtype[Any]) -> _Block:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = table.take(pc.sort_indices(table, [("left", "ascending")]))
        texts = table.column("text")
        if texts.type != pa.large_string():
            texts = texts.cast(pa.large_string())
        values = unpack_values(table.column("values"), kind)
        return cls(integers(table.column("left")), integers(table.column("length")), values, texts)

    def at(self, numbers: Numbers) -> Numbers:
        """Where documents are."""
        found = np.searchsorted(self.numbers, numbers)
        wrong = np.flatnonzero(self.numbers[np.minimum(found, len(self.numbers) - 1)] != numbers)
        if len(wrong):
            raise LookupError(
                f"document number {int(numbers[wrong[0]])} of a pair was not read again: the documents under "
                "checkpoint= changed while the job ran; give this run a folder of its own"
            )
        return found
