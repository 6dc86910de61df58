"""Candidate pairs and the documents that they need → links; links → removed documents, on the driver.

**Verification.** Pairs are in blocks by their later document, whose texts are sent once per block. A document that is
earlier in many pairs is sent to each block once, so no block is larger than its documents and their candidates. If the
documents of B blocks have more than 2 √B pairs each, blocks are those of a grid, by the later document and the earlier
one: a text is then sent to √B of them. Pairs
with a long document have blocks of their own, whose number follows from their characters, and are spread over them one
by one.

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

from nearkin._core import absorb_listed, content_hashes
from nearkin._core import components as _components
from nearkin.dedup.candidates import FilteredCandidateSource, TextCandidateSource, Values
from nearkin.dedup.candidates.base import distinct, list_offsets, numbered
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
from nearkin.errors import input_error

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin._core import TextCache

_PAIRS = 1 << 14
"""Pairs whose values are copied at once."""
_MAX_CHARACTERS = 1 << 22
"""Characters of texts that are compared at once; their feature sets take up to eight bytes each."""
_CACHE_BYTES = 32 << 20
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
            links = list(self._verify(tables.pop()))
        yield from links

    def _verify(self, table: pa.Table | None) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if table is None:
            return
        is_pair = table.column("right").is_valid()
        documents = _Block.of(table.filter(pa.compute.invert(is_pair)), self.dtype, texts=self.comparison is not None)
        pairs = table.select(["left", "right"]).filter(is_pair)
        sides = [documents.find(to_integers(pairs.column(name))) for name in ("left", "right")]
        del table, pairs
        # The documents of the inner loop are the fewer ones, so that they stay in the cache.
        outer, inner = sorted((0, 1), key=lambda at: -len(distinct(sides[at])))
        # Pairs are in tiles of inner documents whose features take half of it. Several units may propose the same pair.
        n, listed = len(documents.numbers), np.zeros(len(documents.numbers), np.int64)
        listed[sides[inner]] = documents.lengths[sides[inner]]
        tiles = 16 * np.cumsum(listed) // _CACHE_BYTES
        keys = distinct((tiles[sides[inner]] * n + sides[outer]) * n + sides[inner])
        counts = dict.fromkeys(COUNTS, 0)
        cache = None if self.comparison is None else self.comparison.cache(_CACHE_BYTES)
        for start in range(0, len(keys), _PAIRS):
            rows = np.divmod(keys[start : start + _PAIRS] % (n * n), n)
            yield from self._links(documents, rows[outer], rows[inner], cache, counts)
        types = {"left": pa.int64(), "right": pa.int64(), "similarity": pa.float64(), "distance": pa.int64()}
        nulls = {name: pa.nulls(1, kind) for name, kind in types.items()}
        yield from to_batches({**nulls, **{name: pa.array([counts[name]]) for name in COUNTS}})

    def _links(
        self, documents: _Block, left: Numbers, right: Numbers, cache: TextCache | None, counts: dict[str, int]
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if not self.all_match:
            values = documents.values[left], documents.values[right]
            proposed = self.source.are_candidates(*values)  # type: ignore[attr-defined]
            if isinstance(self.source, FilteredCandidateSource):
                proposed &= self.source.are_likely(*values)
            left, right = left[proposed], right[proposed]
        counts["candidates"] += len(left)
        if cache is None:
            similarity = self.source.similarities(documents.values[left], documents.values[right])
        else:
            similarity, differ = self._compare(documents, left, right, cache)
            similar = similarity >= self.threshold
            counts["verified"] += len(similarity)
            counts["skipped"] += int(np.isnan(similarity).sum())
            counts["differing"] += int((similar & differ).sum())
            if not self.all_match:
                matched = similar & ~differ
                left, right, similarity = left[matched], right[matched], similarity[matched]
        columns = {
            "left": documents.numbers[left],
            "right": documents.numbers[right],
            "similarity": pa.array(similarity, from_pandas=True),
            "distance": self.source.distances(documents.values[left], documents.values[right]),
        }
        yield from to_batches(columns | dict.fromkeys(COUNTS, np.zeros(len(left), np.int64)))

    def _compare(
        self, documents: _Block, left: Numbers, right: Numbers, cache: TextCache
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return similarities by texts, 0 below the threshold, and True for pairs that differ by a rule."""
        texts = distinct(np.concatenate([left, right]))
        if len(left) > 1 and int(documents.lengths[texts].sum()) > _MAX_CHARACTERS:
            half = len(left) // 2
            first = self._compare(documents, left[:half], right[:half], cache)
            second = self._compare(documents, left[half:], right[half:], cache)
            return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])
        missing = cache.missing(texts.astype(np.uint32))
        if len(missing):
            cache.shrink()
            cache.add(missing, documents.texts.take(missing.astype(np.int64)))  # type: ignore[union-attr]
        sides = left.astype(np.uint32), right.astype(np.uint32)
        threshold = 0.0 if self.all_match else self.threshold
        similarity = cache.similarities(*sides, left_out=True, threshold=threshold)
        if self.comparison is not None and self.comparison.differ:
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
        hashed = table.filter(is_hashed).select(["left", "length", "values", "content"]).sort_by("left")
        numbers, values = to_integers(hashed.column("left")), unpack_values(hashed.column("values"), dtype)
        own = cls._match_texts(numbers, hashed, table.filter(pc.invert(is_hashed))) if texts else None
        return cls(numbers, to_integers(hashed.column("length")), values, own)

    @staticmethod
    def _match_texts(numbers: Numbers, hashed: pa.Table, rows: pa.Table) -> pa.ChunkedArray:
        """Return the texts of documents, which are read again to be compared."""
        import pyarrow as pa

        # The texts of a block can have more than 2 GB.
        rows = pa.table({"left": rows.column("left"), "text": rows.column("text").cast(pa.large_string())})
        rows = rows.sort_by("left")
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
