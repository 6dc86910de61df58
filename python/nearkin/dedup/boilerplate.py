"""Boilerplate: lines that many documents share, and pages without those of their site.

A line is frequent if it occurs in enough documents, and in a large enough share of all documents or of those of one
source. Copies of a document count once, and so does a line that a document has twice. A frequent paragraph consists of
frequent lines, so `LineCounts` counts lines only. Lines are equal if their characters are, without surrounding white
space. Memory: 16 bytes per line of the corpus. Lines are identified by 64 bits of their hash: two of n lines collide
with probability below n² / 2^65.

**Pages.** With `kind="pages"` the lines of all documents are counted first, by source: the host of a URL, the folder of
a path. Each page is then hashed and compared without the frequent lines of its own source. A page that would keep less
than `OWN_SHARE` of its text is compared with all of it: a few versions of one page share their lines as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, soundness
from nearkin.dedup.candidates import TextBatch, TextCandidateSource, Values
from nearkin.dedup.candidates.base import chunk_ranges, distinct
from nearkin.dedup.config import PassagesConfig
from nearkin.dedup.documents import SOUND_COUNTS, HashedDocuments, first_with_same_content
from nearkin.dedup.spill import SpillBuffer
from nearkin.dedup.summary import LeftOutLine, LeftOutSummary, number_sources
from nearkin.io import Column
from nearkin.io.arrow import is_arrow, to_values
from nearkin.io.html import read_text
from nearkin.text.batches import iterate_batches
from nearkin.text.chunking import split

PAGE_DOCUMENTS, PAGE_SHARE = 5, 0.01
"""Pages of a source, and share of its pages, from which on a line is left out."""
OWN_SHARE = 0.05
"""Share of a page's characters that must remain."""
_SAMPLE = 2000
"""Pages by which the bands are chosen."""
MAX_LISTED = 100
"""Number of lines that the summary lists."""
_HOST = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#]*)", re.I)
_MAX_CHARACTERS = 1 << 24
"""Characters of documents that are read again at once."""
_MAX_DOCUMENTS = 1 << 14
"""Documents that are read again at once."""
_MAX_LINE_DOCUMENTS = 1 << 10
"""Documents whose lines are read again at once."""


@dataclass(frozen=True)
class Boilerplate:
    """Frequent lines, the most frequent first.

    Attributes
    ----------
    hashes : (n,) uint64
        Ascending, unlike the other lists.
    lines : list of str
    documents : list of int
        Number of different documents with each line.
    source : list of (str or None)
        The source in which it is most frequent; None without sources.
    source_documents : list of (int or None)
        Number of documents of that source with the line.
    """

    hashes: NDArray[np.uint64]
    lines: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    source: list[str | None] = field(default_factory=list)
    source_documents: list[int | None] = field(default_factory=list)

    def columns(self) -> dict[str, list[Any] | NDArray[Any]]:
        """Return the columns of the table boilerplate."""
        names = {"line": "lines", **{name: name for name in ("documents", "source", "source_documents")}}
        return {column: getattr(self, name) for column, name in names.items()}


class LineCounts:
    """The documents of each line, batch by batch."""

    def __init__(self) -> None:
        self._hashes, self._documents = SpillBuffer(), SpillBuffer()
        self._count = 0

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Do nothing: lines have no candidates."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Count lines in place of a family; return empty values, and the visible characters of each document."""
        visible = self.append(texts)
        return np.zeros((len(visible), 0), np.uint64), visible.astype(np.uint64)

    def append(self, texts: TextBatch) -> NDArray[np.int64]:
        """Count the lines of the next documents; return the number of visible characters of each."""
        hashes, documents, visible = distinct_lines(texts)
        self._hashes.append(hashes)
        self._documents.append(documents + self._count)
        self._count += len(visible)
        return visible

    def finish(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the hashes of the lines of all documents, and the document of each."""
        return self._hashes.finish(), self._documents.finish()

    def frequent(self, documents: HashedDocuments, sources: Column | None, config: PassagesConfig) -> Boilerplate:
        """Return the frequent lines.

        Parameters
        ----------
        documents : HashedDocuments
            All appended documents, to look up the lines.
        sources : Column, optional
            The source of each document.
        config : PassagesConfig
        """
        hashes, owners = self.finish()
        # Copies of a document count once.
        originals = first_with_same_content(documents.contents) == np.arange(len(documents))
        hashes, owners = hashes[originals[owners]], owners[originals[owners]]
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        distinct, starts, counts = np.unique(hashes, return_index=True, return_counts=True)
        names, source_of = [""], np.zeros(len(documents), np.int64)
        if sources is not None:
            names, source_of = number_sources(sources)
        source_sizes = np.bincount(source_of[originals], minlength=len(names))
        frequent: list[tuple[int, int, int, int]] = []
        for number in np.flatnonzero(counts >= config.boilerplate_documents).tolist():
            rows = owners[starts[number] : starts[number] + counts[number]]
            by_source = np.bincount(source_of[rows], minlength=len(names))
            top = int(np.argmax(by_source / np.maximum(source_sizes, 1)))
            in_source = by_source[top] >= config.min_documents(int(source_sizes[top]))
            if in_source or len(rows) >= config.min_documents(int(originals.sum())):
                frequent.append((number, int(rows[0]), top, int(by_source[top])))
        read = _read_lines(documents, {int(distinct[number]): first for number, first, _, _ in frequent})
        lines = {number: read[int(distinct[number])] for number, *_ in frequent}
        frequent.sort(key=lambda line: (-int(counts[line[0]]), lines[line[0]]))
        return Boilerplate(
            distinct[sorted(number for number, *_ in frequent)],
            [lines[number] for number, *_ in frequent],
            [int(counts[number]) for number, *_ in frequent],
            [None if sources is None else names[top] for _, _, top, _ in frequent],
            [None if sources is None else count for _, _, _, count in frequent],
        )


def line_hashes(lines: TextBatch) -> NDArray[np.uint64]:
    """Return 64 bits of the hash of each line."""
    return np.ascontiguousarray(content_hashes(lines)[0].reshape(-1, 2)[:, 0])


def distinct_lines(texts: TextBatch) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the hashes of the lines of each text, each once, the number of the text, and its visible characters."""
    lines = split(texts, "line", 1)
    hashes, documents = line_hashes(lines.texts), np.repeat(np.arange(len(lines.sizes)), np.diff(lines.ends))
    order = np.lexsort((hashes, documents))
    hashes, documents = hashes[order], documents[order]
    first = np.ones(len(hashes), bool)
    first[1:] = (hashes[1:] != hashes[:-1]) | (documents[1:] != documents[:-1])
    return hashes[first], documents[first], lines.sizes[:, 1]


def _read_lines(documents: HashedDocuments, firsts: dict[int, int]) -> dict[int, str]:
    """Return lines by their hash, for hashes with the first document that has each."""
    rows = distinct(np.array(list(firsts.values()), np.int64))
    result: dict[int, str] = {}
    for start in range(0, len(rows), _MAX_LINE_DOCUMENTS):
        lines = split(documents.look_up(rows[start : start + _MAX_LINE_DOCUMENTS]), "line", 1)
        for at, value in enumerate(line_hashes(lines.texts).tolist()):
            if value in firsts and value not in result:
                result[value] = lines.texts[at]
    return result


def count_sound(documents: HashedDocuments, rows: NDArray[np.int64]) -> None:
    """Count the sound words of the documents of ascending rows, with all of their lines."""
    documents.soundness = np.zeros((len(documents), SOUND_COUNTS), np.uint32)
    complete = replace(documents, look_up=documents.whole or documents.look_up)
    for part, texts in document_batches(complete, rows):
        documents.soundness[part] = soundness(texts).reshape(-1, SOUND_COUNTS)


def document_batches(
    documents: HashedDocuments, rows: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], TextBatch]]:
    """Yield ascending rows with the texts of their documents, in batches."""
    ends = np.cumsum(documents.lengths[rows].astype(np.int64))
    for start, end in chunk_ranges(ends, _MAX_CHARACTERS, _MAX_DOCUMENTS):
        yield rows[start:end], documents.look_up(rows[start:end])


# Pages


def read_pages(items: Any) -> list[str | None]:
    """Return texts; those that begin with a tag are read as HTML, by their main text."""
    batches: Iterator[Any] = (to_values(each, "texts") if is_arrow(each) else each for each in iterate_batches(items))
    return [text if text is None else read_text(text) for batch in batches for text in batch]


def page_source(name: object) -> str:
    """Return the host of a URL, or the folder of a path; "" for other ids.

    Examples
    --------
    >>> from nearkin.dedup.boilerplate import page_source
    >>> page_source("https://Example.org/a/b?c"), page_source("docs/api/index.html"), page_source(7)
    ('example.org', 'docs/api', '')
    """
    match = _HOST.match(str(name))
    return match[1].lower() if match else str(name).rpartition("/")[0]


def leave_out_lines(
    parts: Sequence[HashedDocuments], counts: Sequence[LineCounts], candidate_source: TextCandidateSource
) -> LeftOutSummary:
    """Hash documents without the frequent lines of their sources, and let `look_up` return them so.

    Parameters
    ----------
    parts : sequence of HashedDocuments
        The new documents, then older ones, if any. Their values, counts and `look_up` are replaced.
    counts : sequence of LineCounts
        The lines of each part.
    candidate_source : TextCandidateSource
        Hashes the documents.
    """
    names, source_of = number_sources(Column.of([name for documents in parts for name in _sources(documents)]))
    firsts = np.cumsum([0, *map(len, parts)])
    lines = [each.finish() for each in counts]
    hashes = np.concatenate([part for part, _ in lines])
    owners = np.concatenate([part + first for (_, part), first in zip(lines, firsts, strict=False)])
    # Copies of a document count once.
    contents = np.concatenate([documents.contents for documents in parts])
    originals = first_with_same_content(contents) == np.arange(len(contents))
    counted = originals[owners]
    order = np.lexsort((hashes[counted], source_of[owners[counted]]))
    hashes, owners = hashes[counted][order], owners[counted][order]
    own = source_of[owners]
    starts = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]) | np.diff(own, prepend=own[:1]).astype(np.uint64))
    pages = np.diff(starts, append=len(hashes))
    sizes = np.bincount(source_of[originals], minlength=len(names))
    frequent = pages >= min_pages(sizes)[own[starts]]
    starts, pages = starts[frequent], pages[frequent]
    ends = np.searchsorted(own[starts], np.arange(len(names) + 1))
    by_source = [hashes[starts[first:end]] for first, end in pairwise(ends.tolist())]
    listed = np.argsort(-pages, kind="stable")[:MAX_LISTED]
    texts: dict[int, str] = {}
    for documents, first in zip(parts, firsts.tolist(), strict=False):
        rows = owners[starts[listed]] - first
        here = listed[(rows >= 0) & (rows < len(documents))]
        rows_by_hash = zip(hashes[starts[here]].tolist(), (owners[starts[here]] - first).tolist(), strict=True)
        texts |= _read_lines(documents, dict(rows_by_hash))
        _hash_rest(
            documents, source_of[first : first + len(documents)], by_source, candidate_source, calibrate=not first
        )
    first_lines: list[LeftOutLine] = [
        {"line": texts[int(hashes[starts[at]])], "source": names[own[starts[at]]], "documents": int(pages[at])}
        for at in listed.tolist()
    ]
    return {"lines": len(starts), "first": first_lines}


def min_pages(sizes: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return the smallest number of pages of a line that is left out, for the number of pages of each source."""
    return np.asarray(np.maximum(PAGE_DOCUMENTS, np.ceil(PAGE_SHARE * sizes)), np.int64)


def _sources(documents: HashedDocuments) -> list[str]:
    """Return the source of each document: that of its column of sources, or what its id says."""
    if (column := documents.columns.get("source")) is None:
        return [page_source(name) for name in documents.ids.to_list()]
    return list(map(named_source, column.to_list()))


def named_source(value: object) -> str:
    """Return the host of a URL, another value as it is, and "" for None."""
    name = "" if value is None else str(value)
    return page_source(name) if _HOST.match(name) else name


def _hash_rest(
    documents: HashedDocuments,
    source_of: NDArray[np.int64],
    frequent: Sequence[NDArray[np.uint64]],
    candidate_source: TextCandidateSource,
    *,
    calibrate: bool,
) -> None:
    """Hash documents without frequent lines, which are given by the number of their source."""
    whole = documents.look_up

    def look_up(rows: NDArray[np.int64]) -> TextBatch:
        texts: TextBatch = whole(rows)
        return without_lines_by_source(
            to_values(texts, "texts") if is_arrow(texts) else list(texts), source_of[rows], frequent
        )

    documents.look_up, documents.whole = look_up, whole
    if calibrate and len(documents):
        candidate_source.calibrate(look_up(np.arange(min(len(documents), _SAMPLE))), len(documents))
    # An empty batch has the types and widths of the family.
    buffers = [SpillBuffer(documents.spill) for _ in range(2)]
    for texts in chain([[]], (texts for _, texts in document_batches(documents, np.arange(len(documents))))):
        for buffer, rows in zip(buffers, candidate_source.hash(texts), strict=True):
            buffer.append(rows)
    documents.values, documents.counts = (buffer.finish() for buffer in buffers)


def without_lines_by_source(
    texts: Sequence[str | None], source_of: NDArray[np.int64], frequent: Sequence[NDArray[np.uint64]]
) -> list[str | None]:
    """Return texts without the frequent lines of their sources, which are given by the number of the source."""
    rest = list(texts)
    order = np.argsort(source_of, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(source_of[order])) + 1)
    for numbers in groups if len(rest) else ():
        lines = frequent[source_of[numbers[0]]]
        if len(lines):
            left = without_lines([rest[number] or "" for number in numbers.tolist()], lines)
            for number, text in zip(numbers.tolist(), left, strict=True):
                rest[number] = text
    return rest


def without_lines(texts: Sequence[str], frequent: NDArray[np.uint64]) -> list[str]:
    r"""Return texts without lines that are given by their hashes, ascending; see `OWN_SHARE` for texts of such lines.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.dedup.boilerplate import line_hashes, without_lines
    >>> without_lines(["Home\nOne", "Home"], np.sort(line_hashes(["Home"])))
    ['One', 'Home']
    """
    whole, rest = split(texts, "document"), split(texts, "document", frequent=frequent)
    result, left = list(texts), iter(rest.texts)
    for number in np.flatnonzero(np.diff(rest.ends)).tolist():
        text = next(left)
        if rest.sizes[number, 1] >= OWN_SHARE * whole.sizes[number, 1]:
            result[number] = text.rstrip("\n")
    return result
