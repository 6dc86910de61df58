"""Candidate pairs and the documents that they need → links; links → removed documents, on the driver.

**Verification.** Pairs are in blocks by their later document, whose texts are sent once per block. A document that is
earlier in many pairs is sent to each block once, so no block is larger than its documents and their candidates. If the
documents of B blocks have more than 2 √B pairs each, blocks are those of a grid, by the later document and the earlier
one: a text is then sent to √B of them. Pairs with a long document have blocks of their own, whose number follows from
their characters, and are spread over them one by one. Rounds over buckets list no pairs: the members of a bucket and
their texts are a block, or the cells of one.

**Decision.** Keep, then absorb is the lexicographically first independent set of the links, in the order of numbers: a
document is kept unless an earlier kept one is linked to it; the first such document removes it. Documents without links
are not needed here. Memory: 24 bytes per link, and 40 per document of a link.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import BucketCore, absorb_listed, content_hashes, first_equal_keys
from nearkin._core import components as _components
from nearkin.dedup.candidates import FilteredCandidateSource, MinHashCandidates, TextCandidateSource, Values
from nearkin.dedup.candidates.base import chunk_ranges, distinct, list_offsets, numbered
from nearkin.dedup.verify import TextMeasure
from nearkin.distributed.documents import (
    TASK_BYTES,
    Numbers,
    binary_bytes,
    gather,
    num_tasks,
    scramble,
    task_slots,
    to_batches,
    to_integers,
    unpack_values,
)
from nearkin.distributed.pairs import MEMBER_COLUMNS, NONE
from nearkin.errors import input_error

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin._core import TextCache

_PAIRS = 1 << 14
"""Pairs whose values are copied at once."""
_MAX_LISTED = 1 << 20
"""Pairs of buckets that are listed at once: 50 MB."""
_FIRST = 32
"""Earlier documents that a member of a bucket is compared with before the others."""
_UNIT_MASK = (1 << 32) - 1
"""The bits of a key that the unit of its bucket always has."""
_MAX_CHARACTERS = 1 << 22
"""Characters of texts that are compared at once; their feature sets take up to eight bytes each."""
_CACHE_BYTES = 64 << 20
"""Bytes of feature sets that are kept for later pairs."""

COUNTS = ("candidates", "verified", "differing", "skipped")
"""Columns that count the work of a task."""


LONG = 1 << 20
"""Characters of a long document; a pair of them is in a block by itself, or with few others."""
_TASK_PAIRS = 1 << 18
"""Pairs that a task verifies."""
_MAX_BLOCKS = 1 << 14
"""Maximum number of blocks of pairs, for long texts."""

# Verification


def mean_characters(counts: Mapping[str, int]) -> int:
    """Return the mean characters of documents, whose numbers and characters are in `counts`."""
    return max(counts["characters"] // max(counts["documents"] + counts["older"], 1), 1)


def num_long_blocks(characters: int) -> int:
    """Return the number of blocks for pairs by the characters of their documents."""
    return min(-(-characters // TASK_BYTES), _MAX_BLOCKS)


@dataclass(frozen=True)
class Blocks:
    """Blocks of pairs.

    Attributes
    ----------
    count : int
        Number of blocks, for pairs by their later document.
    columns : int, default 1
        Number of blocks for each group of later documents, by the earlier one; it divides `count`.
    long : int, default 0
        Number of further blocks, for pairs with `is_long`, which are spread one by one.
    """

    count: int
    columns: int = 1
    long: int = 0

    @classmethod
    def of(cls, pairs: int, counts: Mapping[str, int]) -> Blocks:
        """Choose the blocks that get the fewest documents, by the `counts` of `mean_characters` and `searched`."""
        documents, mean = counts["searched"], mean_characters(counts)
        # A block of a grid has the documents of a row and of a column, however many pairs they form.
        texts = min(num_long_blocks(2 * documents * mean), math.isqrt(_MAX_BLOCKS))
        side = max(texts, math.isqrt(num_tasks(pairs, _TASK_PAIRS) - 1) + 1)
        rows = max(num_tasks(pairs, _TASK_PAIRS), num_long_blocks(2 * pairs * mean))
        return min(cls(rows), cls(side * side, side), key=lambda blocks: blocks.num_sent(pairs, documents))

    def num_sent(self, pairs: int, documents: int) -> int:
        """Return the largest number of documents that are sent, counted for each block that gets them."""
        return sum(min(pairs, documents * blocks) for blocks in (self.columns, self.count // self.columns))

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Add the block of each pair (left, right, and is_long if there are long ones)."""
        for batch in batches:
            left, right = (to_integers(batch.column(name)) for name in ("left", "right"))
            groups = (right, self.count // self.columns), (left, self.columns)
            row, column = ((scramble(side) % np.uint64(count)).astype(np.int64) for side, count in groups)
            block = row * self.columns + column
            if self.long:
                at = np.flatnonzero(batch.column("is_long").to_numpy(zero_copy_only=False))
                pair = left[at] ^ scramble(right[at]).view(np.int64)
                block[at] = self.count + (scramble(pair) % np.uint64(self.long)).astype(np.int64)
            yield from to_batches({"block": block, "left": left, "right": right})


@dataclass(frozen=True)
class Verification:
    """Options for verifying pairs.

    Attributes
    ----------
    source : TextCandidateSource
    dtype : dtype
        Type of one row of values.
    comparison : TextMeasure or None
        With None candidates are matches.
    threshold : float
    all_match : bool
        Return all pairs, whatever their similarity, because they are known matches.
    """

    source: TextCandidateSource
    dtype: np.dtype[Any]
    comparison: TextMeasure | None
    threshold: float
    all_match: bool = False

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert rows of complete blocks to links.

        A row is a pair (left, right), a document (left, with length, values and content) or its text (left, text); the
        other columns are null. There are texts if they are compared. Links have left, right, similarity and distance;
        one row without them counts the work.

        Raises
        ------
        InputError
            A text is missing, or is not the one that was hashed.
        """
        # Gather rows before taking a slot and return them after giving it back: engines may wait for either.
        tables = [gather(batches)]
        with task_slots:
            links = [] if tables[0] is None else list(self._verify(tables.pop()))
        yield from links

    def _verify(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        is_pair = table.column("right").is_valid()
        compared = _Compared(self, table.filter(pa.compute.invert(is_pair)))
        pairs, n = table.select(["left", "right"]).filter(is_pair), len(compared.documents.numbers)
        sides = [compared.documents.find(to_integers(pairs.column(name))) for name in ("left", "right")]
        del table, pairs
        # The documents of the inner loop are the fewer ones, so that they stay in the cache.
        outer, inner = sorted((0, 1), key=lambda at: -len(distinct(sides[at])))
        # Several units may propose the same pair.
        keys = distinct((compared.documents.tiles(sides[inner]) * n + sides[outer]) * n + sides[inner])
        for start in range(0, len(keys), _PAIRS):
            rows = np.divmod(keys[start : start + _PAIRS] % (n * n), n)
            left, right = rows[outer], rows[inner]
            if not self.all_match:
                proposed = compared.are_proposed(left, right)
                left, right = left[proposed], right[proposed]
            yield from compared.links(left, right)[1]
        yield from compared.count_rows()


@dataclass(frozen=True)
class BucketVerification(Verification):
    """Verifies the pairs of complete cells of buckets that may still change the decision, each in one of its buckets.

    A text is sent once for each bucket of its document, not for each block of its pairs. Documents with the same
    boilerplate have so many pairs that listing and sending them would take most of the time.
    """

    source: MinHashCandidates

    def _verify(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        compared = _Compared(self, table)
        members = _Members(self.source, compared.documents, table.filter(table.column("by").is_valid()))
        del table
        # Documents that are kept again are compared with all, others with those that lost what they were removed for.
        for indexed, queries in members.roles():
            matched, tiles = np.zeros(len(members.rows), bool), compared.documents.tiles(members.rows[indexed])
            for tile in range(int(tiles.max(initial=-1)) + 1):
                # One that matches is most often removed, and otherwise new to all others in the next round.
                own = indexed[(tiles == tile) & ~matched[indexed]]
                for left, right in members.open_pairs(own, queries[~matched[queries]]):
                    rows = members.rows[left], members.rows[right]
                    if not self.source.keys:
                        proposed = compared.are_proposed(*rows)
                        left, right = left[proposed], right[proposed]
                    starts = np.flatnonzero(np.diff(right, prepend=-1))
                    rank = np.arange(len(right)) - np.repeat(starts, np.diff(starts, append=len(right)))
                    # Later documents than one that matches can't change for which one a document is removed.
                    for chosen in (rank < _FIRST, rank >= _FIRST):
                        at = np.flatnonzero(chosen & ~matched[right])
                        for start in range(0, len(at), _PAIRS):
                            part = at[start : start + _PAIRS]
                            matches, links = compared.links(members.rows[left[part]], members.rows[right[part]])
                            matched[right[part[matches]]] = True
                            yield from links
        yield from compared.count_rows()


class _Members:
    """The members of cells, by cell and number.

    Parameters
    ----------
    source : MinHashCandidates
    documents : _Block
    table : table
        block and `MEMBER_COLUMNS`, with left for number, and is_indexed.
    """

    def __init__(self, source: MinHashCandidates, documents: _Block, table: pa.Table) -> None:
        table = table.sort_by([("block", "ascending"), ("left", "ascending")])
        names = "block", "unit", "left", *MEMBER_COLUMNS[2:]
        block, unit, self._numbers, self._last, self._by, self._before = (
            to_integers(table.column(name)) for name in names
        )
        self._is_indexed = table.column("is_indexed").to_numpy(zero_copy_only=False)
        self.rows, self._cells = documents.find(self._numbers), numbered(block)[1]
        bits = source.bits(documents.values)[self.rows] if source.filtered else np.zeros((len(block), 0), np.uint64)
        self._distance = source.num_bits - source.min_equal_bits if source.filtered else None
        self._keys = np.column_stack([block.view(np.uint64), bits])
        self._bands = source.band_keys(documents.values)
        self._band = ((self._bands[self.rows] ^ unit[:, None]) & _UNIT_MASK == 0).argmax(axis=1)

    def roles(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield pairs of sets of rows: indexed ones, and the queries that were not compared with them."""
        is_query, is_new = (self._by > self._last) & (self._last < NONE), self._before != self._numbers
        yield np.flatnonzero(self._is_indexed & is_new), np.flatnonzero(is_query)
        yield np.flatnonzero(self._is_indexed & ~is_new), np.flatnonzero(is_query & (self._by > self._before))

    def open_pairs(self, indexed: Numbers, queries: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield the open pairs of these rows whose bits are near, by query, each in the first bucket that both have."""
        buckets = BucketCore(self._keys.reshape(-1), self._keys.shape[1], 1, np.arange(len(self.rows)))
        buckets.add(indexed.astype(np.uint32))
        sizes = np.bincount(self._cells[indexed], minlength=len(self.rows))[self._cells[queries]]
        keys, rows = self._bands.view(np.uint64).reshape(-1), self.rows.astype(np.uint32)
        for start, end in chunk_ranges(np.cumsum(sizes), _MAX_LISTED):
            offsets, left = buckets.find(queries[start:end].astype(np.uint32), self._distance)
            right = np.repeat(queries[start:end], np.diff(offsets))
            chosen = left < right
            left, right = left[chosen], right[chosen]
            earlier, before = self._numbers[left], self._before[left]
            chosen = (earlier < self._by[right]) & (earlier > self._last[right])
            chosen &= (before != earlier) | (earlier >= self._before[right])
            left, right = left[chosen], right[chosen]
            chosen = first_equal_keys(keys, self._bands.shape[1], rows[left], rows[right]) == self._band[right]
            yield left[chosen], right[chosen]


class _Compared:
    """The documents of a task, whose pairs are compared, and counts of the work.

    Parameters
    ----------
    options : Verification
    table : table
        Documents and their texts, among rows of `Verification`.
    """

    def __init__(self, options: Verification, table: pa.Table) -> None:
        self.options, self.documents = options, _Block.of(table, options.dtype, texts=options.comparison is not None)
        self.counts = dict.fromkeys(COUNTS, 0)
        self._cache = None if options.comparison is None else options.comparison.cache(_CACHE_BYTES)

    def are_proposed(self, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
        """Return True for pairs of documents that are candidates and, where a source filters, likely."""
        source, values = self.options.source, (self.documents.values[left], self.documents.values[right])
        proposed = source.are_candidates(*values)  # type: ignore[attr-defined]
        if isinstance(source, FilteredCandidateSource):
            proposed &= source.are_likely(*values)
        return np.asarray(proposed)

    def links(self, left: Numbers, right: Numbers) -> tuple[Numbers, Iterator[pa.RecordBatch]]:
        """Return which pairs match, and their links."""
        import pyarrow as pa

        options, values, matches = self.options, self.documents.values, np.arange(len(left))
        self.counts["candidates"] += len(left)
        if self._cache is None:
            similarity = options.source.similarities(values[left], values[right])
        else:
            similarity, differ = self._compare(left, right, self._cache)
            similar = similarity >= options.threshold
            self.counts["verified"] += len(similarity)
            self.counts["skipped"] += int(np.isnan(similarity).sum())
            self.counts["differing"] += int((similar & differ).sum())
            if not options.all_match:
                matches = np.flatnonzero(similar & ~differ)
                left, right, similarity = left[matches], right[matches], similarity[matches]
        columns = {
            "left": self.documents.numbers[left],
            "right": self.documents.numbers[right],
            "similarity": pa.array(similarity, from_pandas=True),
            "distance": options.source.distances(values[left], values[right]),
        }
        return matches, to_batches(columns | dict.fromkeys(COUNTS, np.zeros(len(left), np.int64)))

    def count_rows(self) -> Iterator[pa.RecordBatch]:
        """Return the row without a link that counts the work."""
        import pyarrow as pa

        types = {"left": pa.int64(), "right": pa.int64(), "similarity": pa.float64(), "distance": pa.int64()}
        nulls = {name: pa.nulls(1, kind) for name, kind in types.items()}
        return to_batches({**nulls, **{name: pa.array([count]) for name, count in self.counts.items()}})

    def _compare(
        self, left: Numbers, right: Numbers, cache: TextCache
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return similarities by texts, 0 below the threshold, and True for pairs that differ by a rule."""
        options, documents, texts = self.options, self.documents, distinct(np.concatenate([left, right]))
        if len(left) > 1 and int(documents.lengths[texts].sum()) > _MAX_CHARACTERS:
            half = len(left) // 2
            first = self._compare(left[:half], right[:half], cache)
            second = self._compare(left[half:], right[half:], cache)
            return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])
        missing = cache.missing(texts.astype(np.uint32))
        if len(missing):
            cache.shrink()
            cache.add(missing, documents.texts.take(missing.astype(np.int64)))  # type: ignore[union-attr]
        sides = left.astype(np.uint32), right.astype(np.uint32)
        threshold = 0.0 if options.all_match else options.threshold
        similarity = cache.similarities(*sides, left_out=True, threshold=threshold)
        if options.comparison is not None and options.comparison.differ:
            return similarity, cache.which_differ(*sides)
        return similarity, np.zeros(len(left), bool)


@dataclass(frozen=True)
class _Block:
    """The documents of a block, by number."""

    numbers: Numbers
    lengths: Numbers
    values: Values
    texts: pa.ChunkedArray | None

    @classmethod
    def of(cls, table: pa.Table, dtype: np.dtype[Any], *, texts: bool) -> _Block:
        import pyarrow.compute as pc

        is_hashed = table.column("values").is_valid()
        hashed = _sort_distinct(table.filter(is_hashed).select(["left", "length", "values", "content"]))
        numbers, values = to_integers(hashed.column("left")), unpack_values(hashed.column("values"), dtype)
        own = cls._match_texts(numbers, hashed, table.filter(pc.invert(is_hashed))) if texts else None
        return cls(numbers, to_integers(hashed.column("length")), values, own)

    @staticmethod
    def _match_texts(numbers: Numbers, hashed: pa.Table, rows: pa.Table) -> pa.ChunkedArray:
        """Return the texts of documents, which are read again to be compared."""
        import pyarrow as pa

        # The texts of a block can have more than 2 GB.
        rows = pa.table({"left": rows.column("left"), "text": rows.column("text").cast(pa.large_string())})
        rows = _sort_distinct(rows)
        changed = len(numbers)
        if np.array_equal(to_integers(rows.column("left")), numbers):
            contents, _ = content_hashes(rows.column("text"))
            before = binary_bytes(hashed.column("content")).view(np.uint64)
            changed = int((contents != before).reshape(-1, 2).any(axis=1).sum())
        if changed:
            place = "the column of texts"
            reason = f"{changed:,} of {len(numbers):,} texts that one task read again are missing or not those before"
            raise input_error(place, reason, "write the documents to a table first, and give what is read from there")
        return rows.column("text")

    def find(self, numbers: Numbers) -> Numbers:
        """Return the rows of documents."""
        rows = np.searchsorted(self.numbers, numbers)
        wrong = np.flatnonzero(self.numbers[np.minimum(rows, len(self.numbers) - 1)] != numbers)
        if len(wrong):
            raise LookupError(
                f"document number {int(numbers[wrong[0]])} of a pair was not read again: the documents under "
                "checkpoint= changed while the job ran; give this run a folder of its own"
            )
        return rows

    def tiles(self, rows: Numbers) -> Numbers:
        """Return the tile of each row: documents whose features take half of the cache."""
        listed = np.zeros(len(self.numbers), np.int64)
        listed[rows] = self.lengths[rows]
        return np.asarray((16 * np.cumsum(listed) // _CACHE_BYTES)[rows])


def _sort_distinct(rows: pa.Table) -> pa.Table:
    """Return one row of each document, in order: several cells of a task may have it."""
    return rows.take(np.unique(to_integers(rows.column("left")), return_index=True)[1])


# Decision


@dataclass(frozen=True)
class Removals:
    """Removed documents and their representatives.

    Attributes
    ----------
    removed : (n,) int64
        Numbers of the removed new documents, ascending.
    by : (n,) int64
        Number of the kept document for each.
    """

    removed: Numbers
    by: Numbers


def absorb(left: Numbers, right: Numbers) -> Removals:
    """Keep, then absorb.

    Parameters
    ----------
    left, right : (m,) int64
        Linked documents, the earlier one left; each link once or more.
    """
    documents, earlier, later = _number_ends(left, right)
    order = np.lexsort((later, earlier))
    offsets = list_offsets(np.bincount(earlier, minlength=len(documents)))
    by, *_ = absorb_listed(
        None,
        documents=np.arange(len(documents), dtype=np.uint32),
        offsets=offsets,
        later=later[order].astype(np.uint32),
        similarity=None,
        threshold=0.0,
        most=max(len(left), 1),
    )
    removed = np.flatnonzero(by >= 0)
    return Removals(documents[removed], documents[by[removed]])


def components(left: Numbers, right: Numbers) -> Removals:
    """Find connected components, and keep the first document of each."""
    documents, first = first_of_components(left, right)
    removed = np.flatnonzero((first != documents) & (documents >= 0))
    return Removals(documents[removed], first[removed])


def first_of_components(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """Return all documents of links, and the first one of the component of each."""
    documents, earlier, later = _number_ends(left, right)
    labels = _components(len(documents), earlier.astype(np.uint32), later.astype(np.uint32)).astype(np.int64)
    return documents, documents[labels]


def _number_ends(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return all documents in order, and the rows of both ends of the links."""
    documents, rows = numbered(np.concatenate([left, right]))
    earlier, later = np.split(rows, 2)
    return documents, earlier, later
