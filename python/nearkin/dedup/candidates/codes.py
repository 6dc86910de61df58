"""Codes that other programs computed, such as PDQ or pHash of images: all pairs within a Hamming radius.

The text of a document is its code in hexadecimal digits. The similarity of two codes of b bits at distance d is the
share of equal bits, 1 - d / b; so a radius r is the threshold 1 - r / b. Search and clusters are exact.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import TextCache, hamming_distances
from nearkin.dedup.candidates.base import (
    Absorption,
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    OrderedValues,
    Ordinals,
    TextBatch,
    Values,
)
from nearkin.dedup.candidates.simhash import HammingBatch, HammingSearch, flatten
from nearkin.dedup.summary import FamilySummary
from nearkin.errors import InputError, ParameterError, bad_parameter, check_count
from nearkin.index.fingerprints import MAX_BITS, check_bits, parse_hex_codes, words_per_row

MISSING = frozenset(("", "-"))
"""Texts of a document without a code, besides None."""


@dataclass(frozen=True)
class CodeRecipe:
    """The form of codes: hexadecimal digits of a width. A program outside this package made them."""

    bits: int

    def __str__(self) -> str:
        return f"hex:{self.bits}"

    @property
    def digest(self) -> str:
        """First 64 bits of the SHA-256 of the text form."""
        return hashlib.sha256(str(self).encode()).hexdigest()[:16]


class CodeCandidates:
    """Codes of one width, which follows from the first code, and those within a radius.

    Parameters
    ----------
    radius : int
        Maximum distance of a match, inclusive.
    bits : int, optional
        Width of the codes.

    Raises
    ------
    ParameterError
        A radius that is no number from 0 to the width.
    """

    equal: ClassVar[float] = 1.0

    def __init__(self, radius: int | None, bits: int | None = None) -> None:
        if radius is None:
            allowed = "a number of bits, such as 31 for PDQ (256 bits) or 8 for pHash (64 bits)"
            raise bad_parameter("radius", None, allowed)
        self.radius = check_count("radius", radius, 0, MAX_BITS, f"0 to {MAX_BITS}")
        self._bits = None if bits is None else self._check_width(bits)
        self._read = 0

    def _check_width(self, bits: int) -> int:
        check_bits(bits)
        check_count("radius", self.radius, 0, bits, f"0 to {bits}, the width of the codes")
        return bits

    @property
    def bits(self) -> int:
        """Width of the codes; 64 before the first one."""
        return 64 if self._bits is None else self._bits

    @property
    def recipe(self) -> CodeRecipe:
        """The form of the codes."""
        return CodeRecipe(self.bits)

    @property
    def threshold(self) -> float:
        """Smallest share of equal bits of a match."""
        return 1 - self.radius / self.bits

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Do nothing: the first batch sets the width."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return codes, `(n, words)`, and for each 1, or 0 if a document has none.

        Raises
        ------
        InputError
            A code of another width than the first, or with another character; a first batch without a code.
        """
        cells = [None if text is None or text.strip() in MISSING else text.strip() for text in texts]
        present = np.array([cell is not None for cell in cells], bool)
        first = next((cell for cell in cells if cell is not None), None)
        if first is None and cells and self._bits is None:
            reason = f"no code in the first {len(cells):,} rows; a code is hexadecimal digits"
            raise InputError(reason, place=f"row {self._read}", reason=reason)
        try:
            if first is not None and self._bits is None:
                # The width of the first code holds for all.
                _, bits = parse_hex_codes([first], first_row=self._read + int(np.argmax(present)))
                self._bits = self._check_width(bits)
            zero = "0" * -(-self.bits // 4)
            rows, _ = parse_hex_codes([cell or zero for cell in cells], self.bits, first_row=self._read)
        except ParameterError as error:
            if error.context.get("name") == "radius":
                raise
            place, allowed = str(error.context["found"]), str(error.context["allowed"])
            raise InputError(f"the code of {place}; expected {allowed}", place=place, reason=allowed) from error
        self._read += len(cells)
        return rows.reshape(len(cells), words_per_row(self.bits)), present.astype(np.uint64)

    def search(self, values: Values | OrderedValues) -> CandidateSearch:
        """Return an empty search over codes."""
        return CodeSearch(self.bits, self.radius, values)

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the Hamming distances of rows."""
        return _distances(left, right)

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return the share of equal bits of rows."""
        return 1 - self.distances(left, right) / self.bits

    def summary(self) -> FamilySummary:
        """Return the width and the radius."""
        return {"bits": self.bits, "radius": self.radius}


def _distances(left: Values, right: Values) -> NDArray[np.int64]:
    a, b = (np.ascontiguousarray(side).reshape(-1) for side in (left, right))
    return hamming_distances(a, b, left.shape[1]).astype(np.int64)


class CodeSearch(HammingSearch):
    """Codes by ordinal, and an index of the added ones; candidates have their similarity."""

    def find(self, values: Values) -> CandidateLists:
        """Return all added codes within the radius."""
        hits = self._index.search(flatten(values), self._radius)
        return CandidateLists.of_hits(hits.offsets, hits.ids, 1 - hits.distances / self._bits)

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return the codes that are within the radius of another one of the batch."""
        return CodeBatch(self._close_rows(ordinals), self._bits)

    def pairs(self) -> CandidatePairs:
        """Return all pairs within the radius."""
        pairs = self._index.pairs(self._radius)
        left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
        return CandidatePairs(left, right, 1 - pairs.distances / self._bits)


@dataclass(frozen=True)
class CodeBatch:
    """Codes that are compared with each other, each absorbed one with its similarity."""

    batch: HammingBatch
    bits: int

    @property
    def close(self) -> NDArray[np.int64]:
        """Numbers of the codes within their batch, ascending."""
        return self.batch.close

    def absorb(self, cache: TextCache | None, ordinals: Ordinals, threshold: float, max_comparisons: int) -> Absorption:
        """Let each kept document scan the rest of the batch."""
        by, similarity, *counts = self.batch.absorb(cache, ordinals, threshold, max_comparisons)
        matched = np.flatnonzero(by >= 0)
        distances = _distances(self.batch.values[matched], self.batch.values[by[matched]])
        similarity = similarity.copy()
        similarity[matched] = 1 - distances / self.bits
        return (by, similarity, *counts)
