"""What turns one text into another: insertions, deletions and substitutions, in characters or words.

    d(i, j) = least of  d(i-1, j) + 1,  d(i, j-1) + 1,  d(i-1, j-1) + (0 if a_i = b_j else 1)

Source: Wagner and Fischer (JACM 1974); computed 64 cells at a time (Hyyrö 2003), in
`crates/nearkin-core/src/text/edits.rs`. Of several shortest ways one is taken, always the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nearkin._core import edit_distance, text_edits
from nearkin.errors import bad_parameter

Unit = Literal["char", "word"]
MOST_CELLS = 1 << 34
"""Most cells of the table of distances, as for `nearkin.dedup.verify.baselines`."""
MOST_CHARACTERS = 1 << 17
"""Most characters of a text whose longest common substring is looked for: some 500 bytes are held for each."""


@dataclass(frozen=True)
class Edit:
    """A stretch of two texts.

    Attributes
    ----------
    kind : {"equal", "delete", "insert", "replace"}
    a, b : str
        What the first text has there, and the second one.
    """

    kind: str
    a: str
    b: str


@dataclass(frozen=True)
class Edits:
    """What turns a text into another.

    Attributes
    ----------
    pieces : tuple of Edit
        In order; the `a` of all are the first text, the `b` the second.
    insertions, deletions, substitutions : int
        Characters, or words and what stands between them.
    unit : {"char", "word"}
    """

    pieces: tuple[Edit, ...]
    insertions: int
    deletions: int
    substitutions: int
    unit: Unit

    @property
    def distance(self) -> int:
        """The least number of edits: the Levenshtein distance."""
        return self.insertions + self.deletions + self.substitutions


def edits(a: str, b: str, *, unit: Unit = "char") -> Edits:
    """The fewest insertions, deletions and substitutions that turn one text into another.

    Parameters
    ----------
    a, b : str
    unit : {"char", "word"}, default "char"
        What is inserted, deleted or substituted as a whole. Words are runs of letters and digits; every other character
        is on its own.

    Returns
    -------
    Edits

    Raises
    ------
    ParameterError
        The lengths multiply to more than 2**34.

    Examples
    --------
    >>> from nearkin.text.edits import edits
    >>> found = edits("how are u?", "how are you?")
    >>> [(piece.kind, piece.a, piece.b) for piece in found.pieces]
    [('equal', 'how are ', 'how are '), ('insert', '', 'yo'), ('equal', 'u?', 'u?')]
    >>> found.insertions, found.deletions, found.substitutions
    (2, 0, 0)
    """
    if unit not in ("char", "word"):
        raise bad_parameter("unit", repr(unit), "char or word")
    left, right = (_parts(a), _parts(b)) if unit == "word" else (a, b)
    _check(left, right, unit)
    pieces: list[Edit] = []
    counts = {"insert": 0, "delete": 0, "replace": 0, "equal": 0}
    for kind, start, end, begin, close in text_edits(*_numbered(left, right)):
        one, other = left[start:end], right[begin:close]
        pieces.append(Edit(kind, "".join(one), "".join(other)))
        counts[kind] += max(len(one), len(other))
    return Edits(tuple(pieces), counts["insert"], counts["delete"], counts["replace"], unit)


def _parts(text: str) -> list[str]:
    return re.findall(r"\w+|\W", text)


def _numbered(*texts: str | list[str]) -> tuple[NDArray[np.uint32], ...]:
    """Characters as their code points; words by numbers."""
    numbers: dict[str, int] = {}
    return tuple(
        np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
        if isinstance(text, str)
        else np.array([numbers.setdefault(word, len(numbers)) for word in text], np.uint32)
        for text in texts
    )


def distances(a: str, b: str) -> tuple[int, int]:
    """The Levenshtein distance of two texts, and that of insertions and deletions alone, in characters.

    The second is |a| + |b| − 2 L, with L the length of the longest common subsequence.

    Raises
    ------
    ParameterError
        The lengths multiply to more than 2**34.

    Examples
    --------
    >>> from nearkin.text.edits import distances
    >>> distances("kitten", "sitting")
    (3, 5)
    """
    _check(a, b, "char")
    levenshtein, common = edit_distance(*_numbered(a, b))
    return levenshtein, len(a) + len(b) - 2 * common


def _check(left: str | list[str], right: str | list[str], unit: Unit) -> None:
    if len(left) * len(right) > MOST_CELLS:
        raise bad_parameter(
            "a and b", f"of {len(left):,} and {len(right):,} {unit}s", "lengths that multiply to 2**34 at most"
        )


def common_substring(a: str, b: str) -> str:
    """The longest string that both texts contain; of several the one that comes first in `a`.

    A suffix automaton of `b`, O(characters of both). Source: Blumer et al. (Theoretical Computer Science 1985).

    Raises
    ------
    ParameterError
        A text has more than 2**17 characters.

    Examples
    --------
    >>> from nearkin.text.edits import common_substring
    >>> common_substring("how are u?", "how are you?")
    'how are '
    """
    for text, name in ((a, "a"), (b, "b")):
        if len(text) > MOST_CHARACTERS:
            raise bad_parameter(name, f"of {len(text):,} characters", f"at most {MOST_CHARACTERS:,}")
    steps, links, lengths = _automaton(b)
    state = length = best = end = 0
    for at, character in enumerate(a, 1):
        while state and character not in steps[state]:
            state = links[state]
            length = lengths[state]
        if character in steps[state]:
            state = steps[state][character]
            length += 1
        if length > best:
            best, end = length, at
    return a[end - best : end]


def _automaton(text: str) -> tuple[list[dict[str, int]], list[int], list[int]]:
    """States of the suffix automaton of a text: their steps, suffix links (-1 for the first) and longest strings."""
    steps: list[dict[str, int]] = [{}]
    links, lengths, last = [-1], [0], 0
    for character in text:
        new = len(steps)
        steps.append({})
        lengths.append(lengths[last] + 1)
        links.append(0)
        at = last
        while at >= 0 and character not in steps[at]:
            steps[at][character] = new
            at = links[at]
        if at >= 0:
            target = steps[at][character]
            if lengths[target] == lengths[at] + 1:
                links[new] = target
            else:
                twin = len(steps)
                steps.append(dict(steps[target]))
                lengths.append(lengths[at] + 1)
                links.append(links[target])
                while at >= 0 and steps[at].get(character) == target:
                    steps[at][character] = twin
                    at = links[at]
                links[target] = links[new] = twin
        last = new
    return steps, links, lengths


def placewise(a: str, b: str) -> float:
    """The share of equal places: 1 − differing places / characters of both; what lies beyond the shorter text differs.

    Two empty texts are equal.

    Examples
    --------
    >>> from nearkin.text.edits import placewise
    >>> round(placewise("how are u?", "how are you?"), 4)
    0.8182
    """
    differing = sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b))
    return 1 - differing / (len(a) + len(b)) if a or b else 1.0


__all__ = [
    "MOST_CELLS",
    "MOST_CHARACTERS",
    "Edit",
    "Edits",
    "Unit",
    "common_substring",
    "distances",
    "edits",
    "placewise",
]
