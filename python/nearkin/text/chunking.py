"""Parts of texts: paragraphs, lines, windows of words, with their places in the text as it was given.

| unit | a part is |
|---|---|
| `document` | the text |
| `paragraph` | lines in a row of which none is blank |
| `line` | what lies between two line breaks |
| `window:N` | N words on average (N / 2 at least, 4 N at most), cut where hashes of words say |

Kernel and exact definitions: `crates/nearkin-core/src/text/parts.rs`. Words are those of UAX #29, so that an ideograph
is a word. Windows neither overlap nor lie at a fixed stride: where one begins depends on the N / 2 words to either
side alone, so two documents with a passage in common are cut alike within it.
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
"""No frequent lines."""
_PLAIN = ("document", "paragraph", "line")
_MOST_WORDS = 1 << 20
_MOST_SYMBOLS = 1 << 30


@dataclass(frozen=True)
class Unit:
    """What a part is.

    Attributes
    ----------
    name : str
        As it is given and told: document, paragraph, line, window:N, repeat:N, repeat:N:words.
    kind : str
        The same without its number.
    count : int
        Words of a window, bytes or words of a repeat; else 0.
    words : bool
        Of a repeat: whether it is counted in words.
    """

    name: str
    kind: str
    count: int = 0
    words: bool = False


def units_of(unit: str | Sequence[str]) -> tuple[Unit, ...]:
    """The units of their names.

    Parameters
    ----------
    unit : str or sequence of str
        Names, also several separated by commas.

    Raises
    ------
    ParameterError
        An unknown one, one that is named twice, or a repeat beside another.

    Examples
    --------
    >>> from nearkin.text.chunking import units_of
    >>> [(one.kind, one.count) for one in units_of("paragraph,window:50")]
    [('paragraph', 0), ('window', 50)]
    """
    names = [name.strip() for given in ([unit] if isinstance(unit, str) else unit) for name in str(given).split(",")]
    units = tuple(map(_unit_of, names))
    if len(set(units)) < len(units):
        raise bad_parameter("unit", repr(unit), "each unit once")
    if len(units) > 1 and any(one.kind == "repeat" for one in units):
        raise bad_parameter("unit", repr(unit), "repeat:N alone, or several of document, paragraph, line and window:N")
    return units


def _unit_of(name: str) -> Unit:
    if name in _PLAIN:
        return Unit(name, name)
    kind, _, rest = name.partition(":")
    digits, _, counted = rest.partition(":")
    most = _MOST_WORDS if kind == "window" else _MOST_SYMBOLS
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 0
    known = (kind == "window" and rest == digits) or (kind == "repeat" and (rest == digits or counted == "words"))
    if not known or not 2 <= number <= most:
        allowed = (
            f"document, paragraph, line, window:N (2 to {_MOST_WORDS:,} words), repeat:N (2 to {_MOST_SYMBOLS:,} "
            "bytes) or repeat:N:words, or several of the first four separated by commas"
        )
        raise bad_parameter("unit", repr(name), allowed)
    return Unit(name, kind, number, counted == "words")


@dataclass(frozen=True)
class Parts:
    """Parts of some texts, in their order.

    Attributes
    ----------
    ends : (n_texts + 1,) int64
        How many parts there are up to the end of each text, from 0.
    sizes : (n_texts, 2) int64
        Characters of each text, and those that are neither white space nor in a frequent line.
    spans : (n, 2) int64
        Where each part begins and ends (exclusive), in characters of its text.
    visible : (n,) int64
        Characters of each part that count among those of `sizes`.
    texts : PackedTexts
        The parts themselves.
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
    least: int = 0,
    frequent: NDArray[np.uint64] = NO_LINES,
    chosen: NDArray[np.int64] | None = None,
) -> Parts:
    r"""The parts of texts.

    Parameters
    ----------
    texts : sequence of str or None, or an Arrow string array
    unit : str
        document, paragraph, line or window:N.
    least : int
        Characters of the shortest part; documents are never too short.
    frequent : (n_lines,) uint64
        Hashes of lines that are left out, ascending (`nearkin.dedup.boilerplate`).
    chosen : (n_chosen,) int64, optional
        The only parts that are wanted, by their number among all, ascending; `ends` counts all.

    Examples
    --------
    >>> from nearkin.text.chunking import split
    >>> parts = split(["One.\n\nTwo,\r\nthree."], "paragraph")
    >>> parts.spans.tolist(), list(parts.texts)
    ([[0, 4], [6, 18]], ['One.', 'Two,\r\nthree.'])
    """
    ends, sizes, spans, visible, offsets, data = split_parts(texts, unit, least, frequent, chosen)
    for array in (offsets, data):
        # What nobody can write to is read in place.
        array.flags.writeable = False
    return Parts(ends, sizes.reshape(-1, 2), spans.reshape(-1, 2), visible, PackedTexts(offsets, data))
