"""Chunks of documents (paragraphs, lines, windows) and exact repeats: the search behind passages.

**Chunks.** `ChunkReader` takes the place of a family when documents are hashed: it splits each batch and hashes the
chunks. `match_chunks` then visits the chunks in keep order, those of one document in the order of its text: equal ones
collapse, and keep-then-absorb (`nearkin.dedup.cluster`) finds for each of the others the first similar chunk before it.
Memory: 72 bytes per chunk and its fingerprint or signature, and the search of the kept ones. Texts are split again when
chunks are compared.

**Exact repeats.** `RepeatReader` stores the bytes of the texts, or a hash of 64 bits of each word (UAX #29, unchanged).
`find` visits the documents in keep order; kernel and definitions: `crates/nearkin-core/src/dedup/repeats.rs`. The union
of all repeats is that of all windows of N symbols with an equal earlier window, in an earlier document or in the same
one. Repeats of bytes are matched byte by byte and then cut to complete characters, so they may be shorter than N by the
bytes of two. Repeats of words ignore the text between words. Memory: 16 to 32 bytes per anchor, with about 6 / N
anchors per symbol of texts that are no copies; symbols above 64 MB are read from a temporary file.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, find_repeats, word_places
from nearkin.dedup.boilerplate import LineCounts, document_batches
from nearkin.dedup.candidates import TextBatch, TextCandidateSource, Values
from nearkin.dedup.candidates.base import distinct
from nearkin.dedup.candidates.simhash import split_by_size
from nearkin.dedup.cluster import Clusterer
from nearkin.dedup.config import DedupConfig
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.keep import keep_order
from nearkin.dedup.spill import SpillBuffer
from nearkin.dedup.verify import LookUp
from nearkin.io import Column, PackedTexts
from nearkin.io.arrow import is_arrow, to_values
from nearkin.io.tempspool import Spool
from nearkin.text.chunking import NO_LINES, Unit, split

_MAX_MEMORY = 64 << 20
"""Bytes of symbols that stay in memory."""


@dataclass(frozen=True)
class PassageMatches:
    """Passages of documents, and the earlier passages that they match.

    Attributes
    ----------
    rows, others : (n,) int64
        Rows of the document of each passage, and of the earlier one.
    spans, other_spans : (n, 2) int64
        Begin and end (exclusive) in both, in characters.
    similarity : (n,) float64
    visible : (n,) int64
        Characters that are not white space; no two passages of a document count the same one.
    keys : (n, 2) uint64
        Hash of the passage's text.
    equal : (n,) bool
        True if both texts are the same, character by character.
    units : (n,) int64
        The number of the unit of each.
    """

    rows: NDArray[np.int64]
    others: NDArray[np.int64]
    spans: NDArray[np.int64]
    other_spans: NDArray[np.int64]
    similarity: NDArray[np.float64]
    visible: NDArray[np.int64]
    keys: NDArray[np.uint64]
    equal: NDArray[np.bool_]
    units: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> PassageMatches:
        """Return some of them, by mask or number."""
        return PassageMatches(*(array[chosen] for array in vars(self).values()))

    @classmethod
    def concat(cls, matches: Sequence[PassageMatches]) -> PassageMatches:
        """Concatenate several."""
        return cls(*(np.concatenate([getattr(part, name) for part in matches]) for name in vars(matches[0])))


# Chunks


class UnitChunks:
    """Chunks of one unit, batch by batch.

    Parameters
    ----------
    unit : Unit
    source : TextCandidateSource
    min_length : int
        Characters of the shortest chunk that is compared.
    """

    def __init__(self, unit: Unit, source: TextCandidateSource, min_length: int) -> None:
        self.unit = unit
        self._source, self._min_length = source, min_length
        self.reset(NO_LINES)

    def reset(self, frequent: NDArray[np.uint64]) -> None:
        """Drop all chunks; those that follow leave out these lines, which are given by their hashes."""
        self._frequent = frequent
        self._hashed = tuple(SpillBuffer() for _ in range(4))
        self._spans, self._counts = SpillBuffer(), SpillBuffer()

    def append(self, texts: TextBatch) -> NDArray[np.int64]:
        """Split and hash the next documents; return the number of visible characters of each."""
        chunks = split(texts, self.unit.name, 1, self._frequent)
        values, counts = self._source.hash(chunks.texts)
        if self.unit.kind != "document":
            # A chunk without features is never compared.
            long_enough = chunks.spans[:, 1] - chunks.spans[:, 0] >= self._min_length
            counts = np.where(long_enough, counts, 0).astype(np.uint64)
        contents = content_hashes(chunks.texts)[0].reshape(-1, 2)
        for buffer, rows in zip(self._hashed, (values, counts, contents, chunks.visible), strict=True):
            buffer.append(rows)
        self._spans.append(chunks.spans)
        self._counts.append(np.diff(chunks.ends))
        return chunks.sizes[:, 1]

    def finish(self, look_up: LookUp) -> HashedChunks:
        """Return all chunks; `look_up` returns the texts of documents."""
        values, counts, contents, visible = (buffer.finish() for buffer in self._hashed)
        ends = np.concatenate([[0], np.cumsum(self._counts.finish())]).astype(np.int64)
        spans = self._spans.finish()

        def chunk_texts(rows: NDArray[np.int64]) -> TextBatch:
            owners = np.searchsorted(ends, rows, side="right") - 1
            documents, numbers = np.unique(owners, return_inverse=True)
            before = np.concatenate([[0], np.cumsum(np.diff(ends)[documents])])
            chosen = before[numbers] + rows - ends[owners]
            return split(look_up(documents), self.unit.name, 1, self._frequent, chosen).texts

        lengths = (spans[:, 1] - spans[:, 0]).astype(np.uint64)
        documents = HashedDocuments(values, counts, contents, lengths, Column.of([]), {}, chunk_texts)
        return HashedChunks(documents, ends, spans, visible)


@dataclass(frozen=True)
class HashedChunks:
    """Chunks of one unit: as documents of their own, and their spans.

    Attributes
    ----------
    documents : HashedDocuments
        The chunks; no ids, no columns.
    ends : (n_documents + 1,) int64
        Number of chunks up to the end of each document, from 0.
    spans : (n, 2) int64
        Begin and end (exclusive) of each in its document, in characters.
    visible : (n,) int64
        Characters of each that are not white space.
    """

    documents: HashedDocuments
    ends: NDArray[np.int64]
    spans: NDArray[np.int64]
    visible: NDArray[np.int64]

    def owners(self, chunks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the documents of chunks."""
        return np.asarray(np.searchsorted(self.ends, chunks, side="right") - 1, np.int64)

    def extend(
        self,
        matched: NDArray[np.int64],
        others: NDArray[np.int64],
        similarity: NDArray[np.float64],
        taken: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Extend passages by adjacent chunks that are not compared, if they are equal next to the other chunk as well.

        Parameters
        ----------
        matched, others : (n,) int64
            Chunks that are passages, and the chunks that they match.
        similarity : (n,) float64
        taken : (n_chunks,) bool
            True for chunks in a passage of another unit; the function adds those of `matched`.
        """
        contents, compared = self.documents.contents, self.documents.counts > 0
        taken[matched] = True
        all_chunks, all_others = [matched], [others]
        for step in (1, -1):
            chunk, other = matched, others
            while len(chunk):
                next_chunk, next_other = chunk + step, other + step
                inside = np.minimum(next_chunk, next_other) >= 0
                inside &= np.maximum(next_chunk, next_other) < len(self.spans)
                chunk, other, next_chunk, next_other = (a[inside] for a in (chunk, other, next_chunk, next_other))
                same = (self.owners(next_chunk) == self.owners(chunk)) & (self.owners(next_other) == self.owners(other))
                same &= ~taken[next_chunk] & ~compared[next_chunk]
                same &= (contents[next_chunk] == contents[next_other]).all(axis=1)
                chunk, other = next_chunk[same], next_other[same]
                taken[chunk] = True
                all_chunks.append(chunk)
                all_others.append(other)
        chunks = np.concatenate(all_chunks)
        similarity = np.concatenate([similarity, np.ones(len(chunks) - len(matched))])
        return chunks, np.concatenate(all_others), similarity

    def in_order(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return all chunks, in an order of documents."""
        counts = np.diff(self.ends)[rows]
        firsts = self.ends[rows] - (np.cumsum(counts) - counts)
        return np.asarray(np.repeat(firsts, counts) + np.arange(counts.sum()), np.int64)


class ChunkReader:
    """Hashes batches of documents: their chunks by each unit, and their lines if these are counted."""

    def __init__(self, units: Sequence[UnitChunks], lines: LineCounts | None) -> None:
        self._readers: list[UnitChunks | LineCounts] = [*units, *([] if lines is None else [lines])]

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Do nothing: bands follow from the threshold and the recall."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return empty values, and the visible characters of each document as its feature count."""
        visible, *_ = [reader.append(texts) for reader in self._readers]
        return np.zeros((len(visible), 0), np.uint64), visible.astype(np.uint64)


def match_chunks(
    chunks: HashedChunks,
    documents: HashedDocuments,
    existing: PassageMatches,
    config: DedupConfig,
    tick: Callable[[int], None],
    *,
    within: bool,
) -> tuple[PassageMatches, dict[str, int]]:
    """Find the chunks that are similar to an earlier one.

    Parameters
    ----------
    chunks : HashedChunks
    documents : HashedDocuments
        The documents of the chunks.
    existing : PassageMatches
        Passages of earlier units; chunks that overlap one are left out.
    config : DedupConfig
    tick : function
        Called with the number of chunks that were compared.
    within : bool
        True if a chunk may match one of its own document.

    Returns
    -------
    PassageMatches
    dict of str to int
        Numbers of all chunks, of compared chunks (long enough and in no passage yet), and of distinct contents among
        these; of candidates, verified pairs and skipped comparisons, as in `nearkin.dedup.cluster.Assignment`.
    """
    rows = chunks.in_order(keep_order(documents, config.order))
    taken = np.zeros(len(rows), bool)
    taken[rows] = _overlaps(chunks, rows, existing, documents)
    hashed = chunks.documents
    rows = rows[(hashed.counts[rows] > 0) & ~taken[rows]]
    original = first_with_same_content(hashed.contents[rows])
    distinct = np.flatnonzero(original == np.arange(len(rows)))
    source, values = config.candidate_source, hashed.values
    if config.verify == "jaccard":
        source, values = split_by_size(source, values, hashed.counts, config.threshold)  # type: ignore[assignment]
    assignment = Clusterer(
        candidate_source=source,
        comparison=config.comparison,
        threshold=float(config.threshold),
        documents=replace(hashed, values=values),
        rows=rows[distinct],
        tick=tick,
        max_comparisons=config.max_comparisons,
    ).absorb()
    by, similarity = np.arange(len(rows)), np.full(len(rows), config.candidate_source.equal)
    absorbed = assignment.by >= 0
    by[distinct[absorbed]] = distinct[assignment.by[absorbed]]
    similarity[distinct[absorbed]] = assignment.similarity[absorbed]
    by, similarity = by[original], similarity[original]
    owners = chunks.owners(rows)
    matched = np.flatnonzero((by != np.arange(len(rows))) & (within | (owners != owners[by])))
    matched, others, similarity = chunks.extend(rows[matched], rows[by[matched]], similarity[matched], taken)
    passages = PassageMatches(
        rows=chunks.owners(matched),
        others=chunks.owners(others),
        spans=chunks.spans[matched],
        other_spans=chunks.spans[others],
        similarity=similarity,
        visible=chunks.visible[matched],
        keys=hashed.contents[matched],
        equal=(hashed.contents[matched] == hashed.contents[others]).all(axis=1),
        units=np.zeros(len(matched), np.int64),
    )
    counts = {"parts": len(chunks.spans), "compared": len(rows), "distinct": len(distinct)}
    counts |= {name: getattr(assignment, name) for name in ("candidates", "verified", "skipped")}
    return passages, counts


def match_copies(documents: HashedDocuments, order: NDArray[np.int64], unit: int) -> PassageMatches:
    """Find the documents that are exact copies of an earlier one; texts of white space are no copies.

    Parameters
    ----------
    documents : HashedDocuments
        With the number of characters that are not white space as `counts`.
    order : (n,) int64
        Their rows in keep order.
    unit : int
        Number of the unit.
    """
    rows = order[documents.counts[order] > 0]
    original = first_with_same_content(documents.contents[rows])
    copies = np.flatnonzero(original != np.arange(len(rows)))
    copy_rows = rows[copies]
    lengths = documents.lengths[copy_rows].astype(np.int64)
    spans = np.stack([np.zeros(len(copies), np.int64), lengths], axis=1)
    return PassageMatches(
        rows=copy_rows,
        others=rows[original[copies]],
        spans=spans,
        other_spans=spans.copy(),
        similarity=np.ones(len(copies)),
        visible=documents.counts[copy_rows].astype(np.int64),
        keys=documents.contents[copy_rows],
        equal=np.ones(len(copies), bool),
        units=np.full(len(copies), unit),
    )


def _overlaps(
    chunks: HashedChunks, rows: NDArray[np.int64], existing: PassageMatches, documents: HashedDocuments
) -> NDArray[np.bool_]:
    """Return True for chunks that overlap an existing passage; passages of a document do not overlap each other."""
    # Use offsets in the concatenation of all documents.
    before = np.concatenate([[0], np.cumsum(documents.lengths.astype(np.int64))])
    passages = existing.spans + before[existing.rows][:, None]
    passages = passages[np.argsort(passages[:, 0], kind="stable")]
    spans = chunks.spans[rows] + before[chunks.owners(rows)][:, None]
    ended = np.searchsorted(passages[:, 1], spans[:, 0], side="right")
    begun = np.searchsorted(passages[:, 0], spans[:, 1], side="left")
    return np.asarray(ended < begun)


# Exact repeats


class RepeatReader:
    """Hashes batches of documents: it stores the symbols of each, bytes or words."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._counts = SpillBuffer()
        self._chunks: list[NDArray[Any]] = []
        self._size = 0
        self._spool = Spool()

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Do nothing: repeats have no candidates."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return empty values, and the visible characters of each document as its feature count."""
        if self.unit.words:
            ends, words, spans = word_places(texts)
            self._store(words)
            # Count the characters of words.
            lengths = np.concatenate([[0], np.cumsum(spans[1::2] - spans[::2])])
            visible = np.diff(lengths[ends])
        else:
            packed = _pack(texts)
            ends = packed.offsets
            self._store(packed.data[ends[0] : ends[-1]])
            visible = split(texts, "document").sizes[:, 1]
        self._counts.append(np.diff(ends))
        return np.zeros((len(visible), 0), np.uint64), visible.astype(np.uint64)

    def _store(self, symbols: NDArray[Any]) -> None:
        self._chunks.append(symbols)
        self._size += symbols.nbytes
        if self._size > _MAX_MEMORY:
            self._spill()

    def _spill(self) -> None:
        for chunk in self._chunks:
            self._spool.write(np.ascontiguousarray(chunk).data)
        self._chunks.clear()

    def _symbols(self) -> NDArray[Any]:
        dtype = np.uint64 if self.unit.words else np.uint8
        if not self._spool.size:
            return np.concatenate([np.zeros(0, dtype), *self._chunks])
        self._spill()
        mapped = mmap.mmap(self._spool.descriptor(), self._spool.size, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype)

    def find(
        self, documents: HashedDocuments, order: NDArray[np.int64], max_comparisons: int
    ) -> tuple[PassageMatches, dict[str, int]]:
        """Return the repeats, by document in keep order and by position; and counts.

        Parameters
        ----------
        documents : HashedDocuments
            The documents that were hashed.
        order : (n,) int64
            Their rows in keep order.
        max_comparisons : int
            Maximum number of earlier positions compared with one position.
        """
        before = np.concatenate([[0], np.cumsum(self._counts.finish())]).astype(np.int64)
        texts = np.stack([before[:-1][order], before[1:][order]], axis=1).astype(np.uint64)
        repeats, skipped, anchors = find_repeats(self._symbols(), texts.reshape(-1), self.unit.count, max_comparisons)
        self._chunks.clear()
        self._spool.close()
        positions = repeats.astype(np.int64).reshape(-1, 3)
        rows, others = (np.searchsorted(before, positions[:, side], side="right") - 1 for side in (0, 2))
        local = positions - np.stack([before[rows], before[rows], before[others]], axis=1)
        passages = _to_characters(documents, self.unit, rows.astype(np.int64), others.astype(np.int64), local)
        return passages, {"anchors": int(anchors), "skipped": int(skipped)}


def _pack(texts: TextBatch) -> PackedTexts:
    """Return texts as bytes; a null is empty."""
    if isinstance(texts, PackedTexts):
        return texts
    return PackedTexts.of(to_values(texts, "texts") if is_arrow(texts) else texts)


def _to_characters(
    documents: HashedDocuments,
    unit: Unit,
    rows: NDArray[np.int64],
    others: NDArray[np.int64],
    local: NDArray[np.int64],
) -> PassageMatches:
    """Convert repeats in symbols of their documents to characters; drop those without a complete character.

    `local` has begin and end of each repeat, and the begin of the earlier one.
    """
    n = len(rows)
    spans, other_spans = np.zeros((n, 2), np.int64), np.zeros((n, 2), np.int64)
    visible, keys = np.zeros(n, np.int64), np.zeros((n, 2), np.uint64)
    owners = np.concatenate([rows, others])
    order = np.argsort(owners, kind="stable")
    at = 0
    for batch, texts in document_batches(documents, distinct(owners)):
        packed = _pack(texts)
        for number, (row, offsets) in enumerate(zip(batch.tolist(), _symbol_offsets(unit, packed), strict=True)):
            text, reached = packed[number], 0
            while at < len(order) and owners[order[at]] == row:
                repeat, is_other = int(order[at]) % n, order[at] >= n
                at += 1
                start, end, other = local[repeat]
                if is_other:
                    other_spans[repeat] = offsets.characters(other, other + end - start)
                    continue
                first, last = offsets.characters(start, end)
                spans[repeat] = first, last
                visible[repeat] = offsets.visible(text, max(first, reached), last)
                keys[repeat] = content_hashes([text[first:last]])[0]
                reached = max(reached, last)
    constants = np.ones(n), np.ones(n, bool), np.zeros(n, np.int64)
    similarity, equal, units = constants
    matches = PassageMatches(rows, others, spans, other_spans, similarity, visible, keys, equal, units)
    return matches.select(spans[:, 1] > spans[:, 0])


@dataclass(frozen=True)
class _SymbolOffsets:
    """Begin and end of the symbols of a text, in characters."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    words: bool

    def characters(self, start: int, end: int) -> tuple[int, int]:
        """Return begin and end of a range of symbols, in characters."""
        first = int(self.starts[start])
        return first, max(int(self.ends[end - 1]), first)

    def visible(self, text: str, first: int, last: int) -> int:
        """Count the visible characters of a range of characters."""
        if not self.words:
            return sum(map(len, text[first:last].split()))
        inside = slice(*np.searchsorted(self.starts, [first, last]))
        return int((self.ends[inside] - self.starts[inside]).sum())


def _symbol_offsets(unit: Unit, texts: PackedTexts) -> Iterator[_SymbolOffsets]:
    """Yield the offsets of the symbols of each text; bytes are cut to complete characters."""
    if unit.words:
        ends, _, spans = word_places(texts)
        for start, end in pairwise(ends.tolist()):
            words = spans.reshape(-1, 2)[start:end]
            yield _SymbolOffsets(words[:, 0], words[:, 1], words=True)
        return
    for start, end in pairwise(texts.offsets.tolist()):
        leads = (texts.data[start:end] & 0xC0) != 0x80
        begun = np.concatenate([[0], np.cumsum(leads)])
        # A character is complete where the next one begins.
        complete = begun[1:] - np.r_[~leads[1:], False]
        yield _SymbolOffsets(begun, complete, words=False)
