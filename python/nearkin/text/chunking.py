"""Chunks of texts: paragraphs, lines or windows of words, with their spans in the original text.

| unit | chunk |
|---|---|
| `document` | the complete text |
| `paragraph` | consecutive lines that are not blank |
| `line` | the text between two line breaks |
| `function` | a function of source code, or a type without functions |
| `window:N` | N words on average (N / 2 to 4 N), cut at boundaries that depend on hashes of words |

Kernel and exact definitions: `crates/nearkin-base/src/text/parts.rs`. Words follow UAX #29, in which an ideograph is a
word. Windows do not overlap and have no fixed stride. A boundary depends only on the N / 2 words on either side, so
two documents that share a passage are cut at the same positions within it (content-defined chunking).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearkin._core import split_parts
from nearkin.errors import bad_parameter
from nearkin.io import PackedTexts
from nearkin.text.batches import Texts

NO_LINES: NDArray[np.uint64] = np.zeros(0, np.uint64)
"""The empty list of frequent lines."""
_SIMPLE = ("document", "paragraph", "line", "function")
_MAX_WORDS = 1 << 20
_MAX_SYMBOLS = 1 << 30


@dataclass(frozen=True)
class Unit:
    """The unit in which texts are split.

    Attributes
    ----------
    name : str
        document, paragraph, line, function, window:N, repeat:N or repeat:N:words.
    kind : str
        The name without its number.
    count : int
        Words of a window, bytes or words of a repeat, otherwise 0.
    words : bool
        True for a repeat that is counted in words.
    """

    name: str
    kind: str
    count: int = 0
    words: bool = False


def parse_units(unit: str | Sequence[str]) -> tuple[Unit, ...]:
    """Parse names of units.

    Parameters
    ----------
    unit : str or sequence of str
        Names, or one string with names separated by commas.

    Raises
    ------
    ParameterError
        A unit is unknown or named twice, or a repeat is combined with another unit.

    Examples
    --------
    >>> from nearkin.text.chunking import parse_units
    >>> [(unit.kind, unit.count) for unit in parse_units("paragraph,window:50")]
    [('paragraph', 0), ('window', 50)]
    """
    parts = [unit] if isinstance(unit, str) else unit
    units = tuple(_parse_unit(name.strip()) for part in parts for name in str(part).split(","))
    if len(set(units)) < len(units):
        raise bad_parameter("unit", repr(unit), "each unit once")
    if len(units) > 1 and any(unit.kind == "repeat" for unit in units):
        raise bad_parameter(
            "unit", repr(unit), "repeat:N alone, or several of document, paragraph, line, function and window:N"
        )
    return units


def _parse_unit(name: str) -> Unit:
    if name in _SIMPLE:
        return Unit(name, name)
    kind, _, rest = name.partition(":")
    digits, _, suffix = rest.partition(":")
    maximum = _MAX_WORDS if kind == "window" else _MAX_SYMBOLS
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 0
    valid = (kind == "window" and rest == digits) or (kind == "repeat" and (rest == digits or suffix == "words"))
    if not valid or not 2 <= number <= maximum:
        allowed = (
            f"document, paragraph, line, function, window:N (2 to {_MAX_WORDS:,} words), repeat:N (2 to "
            f"{_MAX_SYMBOLS:,} bytes) or repeat:N:words, or several of the first five separated by commas"
        )
        raise bad_parameter("unit", repr(name), allowed)
    return Unit(name, kind, number, suffix == "words")


@dataclass(frozen=True)
class Chunks:
    """The chunks of a batch of texts, in order.

    Attributes
    ----------
    ends : (n_texts + 1,) int64
        Number of chunks up to the end of each text, starting with 0.
    sizes : (n_texts, 2) int64
        Characters of each text, and those that are neither white space nor part of a frequent line.
    spans : (n, 2) int64
        Start and end (exclusive) of each chunk, in characters of its text.
    visible : (n,) int64
        Characters of each chunk that are neither white space nor part of a frequent line.
    texts : PackedTexts
        Texts of the chunks.
    """

    ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    spans: NDArray[np.int64]
    visible: NDArray[np.int64]
    texts: PackedTexts

    def __len__(self) -> int:
        return len(self.visible)


def split(
    texts: Texts,
    unit: str,
    min_length: int = 0,
    frequent: NDArray[np.uint64] = NO_LINES,
    chosen: NDArray[np.int64] | None = None,
) -> Chunks:
    r"""Split texts into chunks.

    Parameters
    ----------
    texts : sequence of str or None, or an Arrow string array
        Texts.
    unit : str
        document, paragraph, line, function or window:N.
    min_length : int
        Minimum number of characters of a chunk; ignored for documents.
    frequent : (n_lines,) uint64
        Hashes of lines to remove, ascending (`nearkin.pieces.chunks`).
    chosen : (n_chosen,) int64, optional
        Numbers of the chunks to return, ascending (default: all). `ends` counts all chunks.

    Examples
    --------
    >>> from nearkin.text.chunking import split
    >>> chunks = split(["One.\n\nTwo,\r\nthree."], "paragraph")
    >>> chunks.spans.tolist(), list(chunks.texts)
    ([[0, 4], [6, 18]], ['One.', 'Two,\r\nthree.'])
    """
    ends, sizes, spans, visible, offsets, data = split_parts(texts, unit, min_length, frequent, chosen)
    for array in (offsets, data):
        # Kernels read immutable arrays in place.
        array.flags.writeable = False
    return Chunks(ends, sizes.reshape(-1, 2), spans.reshape(-1, 2), visible, PackedTexts(offsets, data))
