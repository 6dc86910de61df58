"""What is left of a text without some of its passages.

With a passage goes the white space that would be left over: a passage that fills its lines goes with these lines and
the blank ones behind them, one within a line with the space behind it. At the end of a text goes what white space is
before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BREAKS = "\n\x0b\x0c\r\x85\u2028\u2029"


@dataclass(frozen=True)
class Cuts:
    """Passages that are cut out of texts.

    Attributes
    ----------
    rows : (n_rows,) int64
        Rows of the documents that lose something and stay, ascending.
    offsets : (n_rows + 1,) int64
        Row i loses `spans[offsets[i]:offsets[i + 1]]`.
    spans : (n, 2) int64
        Where each begins and ends (exclusive), in characters, ascending.
    """

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    spans: NDArray[np.int64]

    def of(self, row: int) -> list[tuple[int, int]]:
        """What a document loses."""
        at = int(np.searchsorted(self.rows, row))
        if at == len(self.rows) or self.rows[at] != row:
            return []
        return [(int(start), int(end)) for start, end in self.spans[self.offsets[at] : self.offsets[at + 1]]]

    def remaining(self, rows: Iterable[int], texts: Iterable[str | None]) -> Iterator[str]:
        """The texts of some rows without what they lose."""
        for row, text in zip(rows, texts, strict=True):
            yield without_spans(text or "", self.of(row))


def without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    r"""A text without some passages.

    Parameters
    ----------
    text : str
    spans : sequence of (int, int)
        Where each begins and ends (exclusive), ascending.

    Examples
    --------
    >>> from nearkin.dedup.cuts import without_spans
    >>> without_spans("One.\n\nTwo.\n\nThree.", [(6, 10)]), without_spans("one two three", [(4, 7)])
    ('One.\n\nThree.', 'one three')
    """
    kept, at = [], 0
    for start, end in spans:
        start, end = _widened(text, start, end)
        if start > at:
            kept.append(text[at:start])
        at = max(at, end)
    result = "".join(kept) + text[at:]
    return result.rstrip() if spans and at == len(text) else result


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """A passage with the white space that goes with it."""
    first, last = start, end
    while first and text[first - 1].isspace() and text[first - 1] not in _BREAKS:
        first -= 1
    fills_line = first == 0 or text[first - 1] in _BREAKS
    while last < len(text) and text[last].isspace():
        last += 1
    if last == len(text):
        return (first if fills_line else start), last
    behind = max(text.rfind(sign, end, last) for sign in _BREAKS) + 1
    if behind:
        return (first, behind) if fills_line else (start, end)
    space_before = start == 0 or text[start - 1].isspace()
    return start, (last if space_before else end)
