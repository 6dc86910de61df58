"""Exact long repeats: every stretch of N bytes or words and more that stands earlier as well.

`RepeatReader` takes the place of a family where documents are hashed: it holds the bytes of the texts, or a hash of 64
bits of each word (UAX #29, as it is written). `find` then visits the documents in keep order; kernel and definitions:
`crates/nearkin-core/src/pipeline/repeats.rs`. The union of what is found is that of all windows of N symbols of which
an equal one begins earlier, in an earlier document or in the same one.

Repeats of bytes are matched byte by byte and then cut to whole characters, so that one may be shorter than N by the
bytes of two. Those of words leave out what is between words: two are equal if their words are.

Memory: 16 to 32 bytes per anchor, of which there are about 6 / N per symbol of texts that are no copies. Bytes and
words lie in memory up to 64 MB, and above in a temporary file that is read through a mapping.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, find_repeats, word_places
from nearkin.dedup.candidates import TextBatch, Values
from nearkin.dedup.chunk_dedup import Found, document_batches
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.spill import GrowingRows
from nearkin.io import PackedTexts
from nearkin.io.tempspool import Spool
from nearkin.text.chunking import Unit, split

_IN_MEMORY = 64 << 20
"""Bytes of symbols from which they lie in a file."""


class RepeatReader:
    """What hashes batches of documents: it holds the symbols of each."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._counts = GrowingRows()
        self._held: list[NDArray[Any]] = []
        self._size = 0
        self._spool = Spool()

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """No values; the visible characters of each document as what it has of features."""
        if self.unit.words:
            ends, words, spans = word_places(texts)
            self._take(words)
            # Characters of words are what counts.
            lengths = np.concatenate([[0], np.cumsum(spans[1::2] - spans[::2])])
            visible = np.diff(lengths[ends])
        else:
            packed = _packed(texts)
            ends = packed.offsets
            self._take(packed.data[ends[0] : ends[-1]])
            visible = split(texts, "document").sizes[:, 1]
        self._counts.append(np.diff(ends))
        return np.zeros((len(visible), 0), np.uint64), visible.astype(np.uint64)

    def _take(self, symbols: NDArray[Any]) -> None:
        self._held.append(symbols)
        self._size += symbols.nbytes
        if self._size > _IN_MEMORY:
            for held in self._held:
                self._spool.write(np.ascontiguousarray(held).data)
            self._held.clear()

    def _symbols(self) -> NDArray[Any]:
        kind = np.uint64 if self.unit.words else np.uint8
        if not self._spool.size:
            return np.concatenate([np.zeros(0, kind), *self._held])
        if self._held:
            self._spool.write(np.concatenate(self._held).data)
            self._held.clear()
        mapped = mmap.mmap(self._spool.descriptor(), self._spool.size, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, kind)

    def find(self, documents: HashedDocuments, order: NDArray[np.int64], most: int) -> tuple[Found, dict[str, int]]:
        """The repeats, by document in keep order and by place; and what was counted.

        Parameters
        ----------
        documents : HashedDocuments
            Those that were read.
        order : (n,) int64
            Their rows in keep order.
        most : int
            Earlier places that one place is compared with.
        """
        before = np.concatenate([[0], np.cumsum(self._counts.joined())]).astype(np.int64)
        texts = np.stack([before[:-1][order], before[1:][order]], axis=1).astype(np.uint64)
        found, skipped, stored = find_repeats(self._symbols(), texts.reshape(-1), self.unit.count, most)
        self._held.clear()
        self._spool.close()
        places = found.astype(np.int64).reshape(-1, 3)
        rows, others = (np.searchsorted(before, places[:, side], side="right") - 1 for side in (0, 2))
        local = places - np.stack([before[rows], before[rows], before[others]], axis=1)
        passages = _in_characters(documents, self.unit, rows.astype(np.int64), others.astype(np.int64), local)
        return passages, {"anchors": int(stored), "skipped": int(skipped)}


def _packed(texts: TextBatch) -> PackedTexts:
    """Texts as bytes; a null is empty."""
    if isinstance(texts, PackedTexts):
        return texts
    if hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__"):
        import pyarrow as pa

        stream = hasattr(texts, "__arrow_c_stream__")
        texts = (pa.chunked_array(texts) if stream else pa.array(texts)).to_pylist()
    return PackedTexts.of(texts)


def _in_characters(
    documents: HashedDocuments,
    unit: Unit,
    rows: NDArray[np.int64],
    others: NDArray[np.int64],
    local: NDArray[np.int64],
) -> Found:
    """Repeats by symbols of their documents as those by characters, of which none is without any.

    `local` has begin and end of each, and the place where the same begins before.
    """
    spans, other_spans = np.zeros((len(rows), 2), np.int64), np.zeros((len(rows), 2), np.int64)
    visible, keys = np.zeros(len(rows), np.int64), np.zeros((len(rows), 2), np.uint64)
    owners = np.concatenate([rows, others])
    order = np.argsort(owners, kind="stable")
    at = 0
    for some, texts in document_batches(documents, np.unique(owners)):
        for row, text, places in zip(some.tolist(), _strings(texts), _character_places(unit, texts), strict=True):
            reached = 0
            while at < len(order) and owners[order[at]] == row:
                which, is_other = int(order[at]) % len(rows), order[at] >= len(rows)
                at += 1
                start, end, other = local[which]
                if is_other:
                    other_spans[which] = places(other, other + end - start)
                    continue
                first, last = places(start, end)
                spans[which] = first, last
                visible[which] = places.visible(text, max(first, reached), last)
                keys[which] = content_hashes([text[first:last]])[0]
                reached = max(reached, last)
    whole = spans[:, 1] > spans[:, 0]
    similarity, equal, first_unit = np.ones(len(rows)), np.ones(len(rows), bool), np.zeros(len(rows), np.int64)
    return Found(rows, others, spans, other_spans, similarity, visible, keys, equal, first_unit).some(whole)


def _strings(texts: TextBatch) -> list[str]:
    packed = _packed(texts)
    return [packed[row] for row in range(len(packed))]


class _Places:
    """Begin and end of symbols as those of characters."""

    def __init__(self, starts: NDArray[np.int64], ends: NDArray[np.int64], *, words: bool) -> None:
        self._starts, self._ends, self._words = starts, ends, words

    def visible(self, text: str, first: int, last: int) -> int:
        """How many characters between two places count."""
        if not self._words:
            return sum(map(len, text[first:last].split()))
        inside = slice(*np.searchsorted(self._starts, [first, last]))
        return int((self._ends[inside] - self._starts[inside]).sum())

    def __call__(self, start: int, end: int) -> tuple[int, int]:
        first = int(self._starts[start])
        return first, max(int(self._ends[end - 1]), first)


def _character_places(unit: Unit, texts: TextBatch) -> Iterator[_Places]:
    """For each text where symbols begin and end in characters; bytes are cut to whole characters."""
    if unit.words:
        ends, _, spans = word_places(texts)
        for start, end in pairwise(ends.tolist()):
            of_text = spans.reshape(-1, 2)[start:end]
            yield _Places(of_text[:, 0], of_text[:, 1], words=True)
        return
    packed = _packed(texts)
    for start, end in pairwise(packed.offsets.tolist()):
        leads = (packed.data[start:end] & 0xC0) != 0x80
        begun = np.concatenate([[0], np.cumsum(leads)])
        # A character is whole where the next one begins.
        whole = begun[1:] - np.r_[~leads[1:], False]
        yield _Places(begun, whole, words=False)
