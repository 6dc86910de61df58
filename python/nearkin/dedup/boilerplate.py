"""Boilerplate: lines that many documents share, in the corpus or within one source.

A line is frequent if at least `least` documents have it, and at least a share `share` of all documents or of the
documents of one source; copies of a document count once, and so does a line that a document has twice. A paragraph
that is frequent is made of such lines, so lines are all that is counted. Lines are equal if their characters are,
without the white space around them.

Memory: 16 bytes per line of the corpus until they are counted. Lines are known by 64 bits of their hash: of n lines
two are taken for one with probability below n² / 2^65.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.dedup.candidates import TextBatch
from nearkin.dedup.documents import HashedDocuments, first_with_same_content
from nearkin.dedup.spill import GrowingRows
from nearkin.errors import bad_parameter, check_count
from nearkin.io import Column
from nearkin.text.chunking import split

DOCUMENTS = 10
"""Documents that a frequent line has at least."""
SHARE = 0.05
"""Share of the documents, of all or of one source, that have a frequent line at least."""
_TEXTS = 1 << 10
"""Documents whose lines are read again at once."""


@dataclass(frozen=True)
class BoilerplateRule:
    """When a line counts as boilerplate.

    Attributes
    ----------
    documents : int
        Documents that have it at least.
    share : float
        Share of all documents, or of those of one source, that have it at least.
    """

    documents: int = DOCUMENTS
    share: float = SHARE

    def __post_init__(self) -> None:
        check_count("boilerplate_documents", self.documents, 2, (1 << 63) - 1, "2 or more")
        number = isinstance(self.share, (int, float)) and not isinstance(self.share, bool)
        if not number or not 0 <= self.share <= 1:
            raise bad_parameter("boilerplate_share", repr(self.share), "a share from 0 to 1")

    def least(self, documents: int) -> int:
        """How many of this many documents have a frequent line at least."""
        return max(self.documents, math.ceil(self.share * documents))


@dataclass(frozen=True)
class Boilerplate:
    """Frequent lines, those of the most documents first.

    Attributes
    ----------
    hashes : (n,) uint64
        Ascending; in another order than the rest.
    lines : list of str
    documents : list of int
        How many different documents have each.
    source : list of (str or None)
        The source in which it is most frequent; None without sources.
    source_documents : list of (int or None)
        How many documents of that source have it.
    """

    hashes: NDArray[np.uint64]
    lines: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    source: list[str | None] = field(default_factory=list)
    source_documents: list[int | None] = field(default_factory=list)

    def columns(self) -> dict[str, list[str] | list[int] | list[str | None] | list[int | None]]:
        """As the table boilerplate."""
        return {
            "line": self.lines,
            "documents": self.documents,
            "source": self.source,
            "source_documents": self.source_documents,
        }


class LineCounts:
    """Which documents have which lines, batch by batch."""

    def __init__(self) -> None:
        self._hashes, self._documents = GrowingRows(), GrowingRows()
        self._count = 0

    def append(self, texts: TextBatch) -> NDArray[np.int64]:
        """Take the lines of the next documents; how many visible characters each of these has."""
        parts = split(texts, "line", 1)
        hashes, documents = _line_hashes(parts.texts), np.repeat(np.arange(len(parts.sizes)), np.diff(parts.ends))
        order = np.lexsort((hashes, documents))
        hashes, documents = hashes[order], documents[order]
        new = np.ones(len(hashes), bool)
        new[1:] = (hashes[1:] != hashes[:-1]) | (documents[1:] != documents[:-1])
        self._hashes.append(hashes[new])
        self._documents.append(documents[new] + self._count)
        self._count += len(parts.sizes)
        return parts.sizes[:, 1]

    def frequent(self, documents: HashedDocuments, sources: Column | None, rule: BoilerplateRule) -> Boilerplate:
        """The lines that a rule calls boilerplate.

        Parameters
        ----------
        documents : HashedDocuments
            All that were appended; they look the lines up again.
        sources : Column, optional
            Where each document comes from.
        rule : BoilerplateRule
        """
        hashes, owners = self._hashes.joined(), self._documents.joined()
        # Copies of a document count once.
        firsts = first_with_same_content(documents.contents) == np.arange(len(documents))
        counted = firsts[owners]
        hashes, owners = hashes[counted], owners[counted]
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        distinct, starts, counts = np.unique(hashes, return_index=True, return_counts=True)
        names, of_document = _names(sources, len(documents))
        by_source = np.bincount(of_document[firsts], minlength=len(names))
        found: list[tuple[int, int, int, int]] = []
        for number in np.flatnonzero(counts >= rule.documents).tolist():
            have = owners[starts[number] : starts[number] + counts[number]]
            within = np.bincount(of_document[have], minlength=len(names))
            top = int(np.argmax(within / np.maximum(by_source, 1)))
            enough = within[top] >= rule.least(int(by_source[top]))
            if enough or len(have) >= rule.least(int(firsts.sum())):
                found.append((number, int(have[0]), top, int(within[top])))
        lines = _lines(documents, distinct, {number: first for number, first, _, _ in found})
        found.sort(key=lambda one: (-int(counts[one[0]]), lines[one[0]]))
        return Boilerplate(
            distinct[sorted(number for number, _, _, _ in found)],
            [lines[number] for number, _, _, _ in found],
            [int(counts[number]) for number, _, _, _ in found],
            [None if sources is None else names[top] for _, _, top, _ in found],
            [None if sources is None else count for _, _, _, count in found],
        )


def _names(sources: Column | None, count: int) -> tuple[list[str], NDArray[np.int64]]:
    """The names of sources, and the number of each document's; one without a name for all where none are given."""
    if sources is None:
        return [""], np.zeros(count, np.int64)
    values = ["" if value is None else str(value) for value in sources.to_list()]
    names, numbers = np.unique(np.array(values, object), return_inverse=True)
    return names.tolist(), numbers.astype(np.int64)


def _line_hashes(lines: TextBatch) -> NDArray[np.uint64]:
    return np.ascontiguousarray(content_hashes(lines)[0].reshape(-1, 2)[:, 0])


def _lines(documents: HashedDocuments, hashes: NDArray[np.uint64], firsts: dict[int, int]) -> dict[int, str]:
    """The text of some hashes by their number, read again from the first document that has each."""
    wanted = {int(hashes[number]): number for number in firsts}
    rows = np.unique(np.array(list(firsts.values()), np.int64))
    found: dict[int, str] = {}
    for start in range(0, len(rows), _TEXTS):
        parts = split(documents.look_up(rows[start : start + _TEXTS]), "line", 1)
        for at, value in enumerate(_line_hashes(parts.texts).tolist()):
            if value in wanted and wanted[value] not in found:
                found[wanted[value]] = parts.texts[at]
    return found
