"""Edits between two texts: insertions, deletions and substitutions of characters or words.

    d(i, j) = min(d(i-1, j) + 1,  d(i, j-1) + 1,  d(i-1, j-1) + (0 if a_i = b_j else 1))

Source: Wagner and Fischer (JACM 1974); computed 64 cells at a time (Hyyrö 2003), in
`crates/nearkin-core/src/text/edits.rs`. If there are several shortest edit sequences, the choice is deterministic.
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
MAX_CELLS = 1 << 34
"""Maximum size of the table of distances, as for `nearkin.dedup.verify.baselines`."""
MAX_CHARACTERS = 1 << 17
"""Maximum length of a text for `common_substring`, which needs about 500 bytes per character."""


@dataclass(frozen=True)
class Edit:
    """A span of one text and the span of another that replaces it.

    Attributes
    ----------
    kind : {"equal", "delete", "insert", "replace"}
    a, b : str
        The span of the first and of the second text.
    """

    kind: str
    a: str
    b: str


@dataclass(frozen=True)
class Edits:
    """A shortest sequence of edits from one text to another.

    Attributes
    ----------
    pieces : tuple of Edit
        In order; the concatenated `a` are the first text, the concatenated `b` the second.
    insertions, deletions, substitutions : int
        Number of characters, or of words and separators.
    unit : {"char", "word"}
    """

    pieces: tuple[Edit, ...]
    insertions: int
    deletions: int
    substitutions: int
    unit: Unit

    @property
    def distance(self) -> int:
        """Levenshtein distance: the minimum number of edits."""
        return self.insertions + self.deletions + self.substitutions


def edits(a: str, b: str, *, unit: Unit = "char") -> Edits:
    """Compute the minimum number of insertions, deletions and substitutions between two texts.

    Parameters
    ----------
    a, b : str
        Texts.
    unit : {"char", "word"}, default "char"
        Unit of edits. Words are runs of letters and digits; every other character is a unit of its own.

    Returns
    -------
    Edits

    Raises
    ------
    ParameterError
        The product of the lengths exceeds 2**34.

    Examples
    --------
    >>> from nearkin.text.edits import edits
    >>> result = edits("how are u?", "how are you?")
    >>> [(piece.kind, piece.a, piece.b) for piece in result.pieces]
    [('equal', 'how are ', 'how are '), ('insert', '', 'yo'), ('equal', 'u?', 'u?')]
    >>> result.insertions, result.deletions, result.substitutions
    (2, 0, 0)
    """
    if unit not in ("char", "word"):
        raise bad_parameter("unit", repr(unit), "char or word")
    left, right = (_split_words(a), _split_words(b)) if unit == "word" else (a, b)
    _check_lengths(left, right, unit)
    pieces: list[Edit] = []
    counts = {"insert": 0, "delete": 0, "replace": 0, "equal": 0}
    for kind, a_start, a_end, b_start, b_end in text_edits(*_encode(left, right)):
        old, new = left[a_start:a_end], right[b_start:b_end]
        pieces.append(Edit(kind, "".join(old), "".join(new)))
        counts[kind] += max(len(old), len(new))
    return Edits(tuple(pieces), counts["insert"], counts["delete"], counts["replace"], unit)


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+|\W", text)


def _encode(*texts: str | list[str]) -> tuple[NDArray[np.uint32], ...]:
    """Encode characters as code points, and words as numbers."""
    numbers: dict[str, int] = {}
    return tuple(
        np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
        if isinstance(text, str)
        else np.array([numbers.setdefault(word, len(numbers)) for word in text], np.uint32)
        for text in texts
    )


def distances(a: str, b: str) -> tuple[int, int]:
    """Compute the Levenshtein distance and the Indel distance of two texts, in characters.

    The Indel distance, which counts insertions and deletions, is |a| + |b| − 2 L, where L is the length of the longest
    common subsequence.

    Raises
    ------
    ParameterError
        The product of the lengths exceeds 2**34.

    Examples
    --------
    >>> from nearkin.text.edits import distances
    >>> distances("kitten", "sitting")
    (3, 5)
    """
    _check_lengths(a, b, "char")
    levenshtein, common = edit_distance(*_encode(a, b))
    return levenshtein, len(a) + len(b) - 2 * common


def _check_lengths(left: str | list[str], right: str | list[str], unit: Unit) -> None:
    if len(left) * len(right) > MAX_CELLS:
        raise bad_parameter(
            "a and b", f"of {len(left):,} and {len(right):,} {unit}s", "lengths that multiply to 2**34 at most"
        )


def common_substring(a: str, b: str) -> str:
    """Find the longest common substring; if there are several, the first in `a`.

    Uses a suffix automaton of `b`; time is linear in the length of both texts. Source: Blumer et al. (Theoretical
    Computer Science 1985).

    Raises
    ------
    ParameterError
        A text is longer than 2**17 characters.

    Examples
    --------
    >>> from nearkin.text.edits import common_substring
    >>> common_substring("how are u?", "how are you?")
    'how are '
    """
    for text, name in ((a, "a"), (b, "b")):
        if len(text) > MAX_CHARACTERS:
            raise bad_parameter(name, f"of {len(text):,} characters", f"at most {MAX_CHARACTERS:,}")
    steps, links, lengths = _build_automaton(b)
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


def _build_automaton(text: str) -> tuple[list[dict[str, int]], list[int], list[int]]:
    """Return the transitions, suffix links (-1 for the initial state) and longest lengths of a suffix automaton."""
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


def positional_similarity(a: str, b: str) -> float:
    """Compute 1 − d / n, where d is the number of differing positions and n the number of characters of both texts.

    Positions beyond the end of the shorter text differ. The similarity of two empty texts is 1.

    Examples
    --------
    >>> from nearkin.text.edits import positional_similarity
    >>> round(positional_similarity("how are u?", "how are you?"), 4)
    0.8182
    """
    differing = sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b))
    return 1 - differing / (len(a) + len(b)) if a or b else 1.0
