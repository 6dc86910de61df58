"""Edits between two texts: insertions, deletions and substitutions of characters or words.

    d(i, j) = min(d(i-1, j) + 1,  d(i, j-1) + 1,  d(i-1, j-1) + (0 if a_i = b_j else 1))

Source: Wagner and Fischer (JACM 1974); computed 64 cells at a time (Hyyrö 2003), in
`crates/nearkin-base/src/text/edits.rs`. If there are several shortest edit sequences, `edits` always chooses the same
one. `alignments` finds all of them, with costs of the caller, in Python: two to three microseconds per cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin._core import edit_distance, text_edits
from nearkin.errors import bad_parameter, check_number

Unit = Literal["char", "word"]
MAX_CELLS = 1 << 34
"""Maximum size of the table of distances, as for `nearkin.dedup.verify.baselines`."""
MAX_ALIGNED_CELLS = 1 << 22
"""Maximum size of the table of `alignments`."""
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


Cost: TypeAlias = "float | Callable[[str], float]"
SubstitutionCost: TypeAlias = "float | Callable[[str, str], float]"

_KINDS = ("delete", "insert", "replace", "equal")
"""Edits by their bit in a cell of the table."""


@dataclass(frozen=True)
class Alignments:
    """All cheapest sequences of edits from one text to another; iterating yields each as `Edits`.

    Attributes
    ----------
    a, b : str
    cost : int or float
        Minimum cost; the Levenshtein distance if every edit costs 1.
    count : int
        Number of sequences, which grows exponentially with the length.
    insertions, deletions, substitutions : float
        Mean numbers over all sequences.
    """

    a: str
    b: str
    cost: int | float
    count: int
    insertions: float
    deletions: float
    substitutions: float
    _last_edits: bytes = field(repr=False, compare=False)
    """For every cell, row by row, a bit for each edit that can come last."""

    def __iter__(self) -> Iterator[Edits]:
        pending: list[tuple[int, int, tuple[str, ...]]] = [(len(self.a), len(self.b), ())]
        while pending:
            i, j, reversed_kinds = pending.pop()
            if not i and not j:
                yield self._to_edits(reversed_kinds[::-1])
            last = self._last_edits[i * (len(self.b) + 1) + j]
            for number, kind in enumerate(_KINDS):
                if last >> number & 1:
                    pending.append((i - (kind != "insert"), j - (kind != "delete"), (*reversed_kinds, kind)))

    def _to_edits(self, kinds: tuple[str, ...]) -> Edits:
        spans: list[tuple[str, str, str]] = []
        i = j = 0
        for kind in kinds:
            a = "" if kind == "insert" else self.a[i]
            b = "" if kind == "delete" else self.b[j]
            i, j = i + len(a), j + len(b)
            if spans and spans[-1][0] == kind:
                spans[-1] = (kind, spans[-1][1] + a, spans[-1][2] + b)
            else:
                spans.append((kind, a, b))
        counts = [kinds.count(kind) for kind in ("insert", "delete", "replace")]
        return Edits(tuple(Edit(*span) for span in spans), counts[0], counts[1], counts[2], "char")


def alignments(
    a: str, b: str, *, insertion: Cost = 1, deletion: Cost = 1, substitution: SubstitutionCost = 1
) -> Alignments:
    """Find all cheapest sequences of insertions, deletions and substitutions, and the mean number of each.

    Parameters
    ----------
    a, b : str
        Texts.
    insertion, deletion, substitution : float, or function of one character (of two for `substitution`), default 1
        Costs, 0 or more. Equal characters match at no cost.

    Raises
    ------
    ParameterError
        The table has more than 2**22 cells, or a cost is negative or not finite.

    Notes
    -----
    d(i, j) is the minimum over the edit that comes last. The number of sequences and the sums of their edits follow the
    same recurrence, so the means need no enumeration. Costs are added exactly, as fractions, so that rounding separates
    no equal costs. Cost: O(len(a) len(b)) time, one byte per cell.

    Examples
    --------
    >>> from nearkin.text.edits import alignments
    >>> result = alignments("abcd", "bacd")
    >>> result.cost, result.count, round(result.insertions, 2), round(result.substitutions, 2)
    (2, 3, 0.67, 0.67)
    >>> sorted((each.insertions, each.deletions, each.substitutions) for each in result)
    [(0, 0, 2), (1, 1, 0), (1, 1, 0)]
    >>> alignments("abcd", "bacd", substitution=0.5).cost
    1
    """
    cells = (len(a) + 1) * (len(b) + 1)
    if cells > MAX_ALIGNED_CELLS:
        raise bad_parameter(
            "a and b", f"of {len(a):,} and {len(b):,} characters", f"a table of at most {MAX_ALIGNED_CELLS:,} cells"
        )
    deletions = [_cost_of("deletion", deletion, x) for x in a]
    insertions = [_cost_of("insertion", insertion, y) for y in b]
    replace = partial(_cost_of, "substitution", substitution)
    last_edits = bytearray()
    # Minimum cost, number of sequences, and how many insertions, deletions and substitutions they have together.
    above: list[tuple[Any, int, int, int, int]] = []
    for i in range(len(a) + 1):
        row: list[tuple[Any, int, int, int, int]] = []
        for j in range(len(b) + 1):
            before: list[tuple[int, Any, tuple[Any, int, int, int, int]]] = []
            if i:
                before.append((0, above[j][0] + deletions[i - 1], above[j]))
            if j:
                before.append((1, row[-1][0] + insertions[j - 1], row[-1]))
            if i and j:
                is_equal = a[i - 1] == b[j - 1]
                cost = 0 if is_equal else replace(a[i - 1], b[j - 1])
                before.append((3 if is_equal else 2, above[j - 1][0] + cost, above[j - 1]))
            best = min((cost for _, cost, _ in before), default=0)
            count, totals, mask = int(not before), [0, 0, 0], 0
            for number, cost, (_, ways, inserted, deleted, replaced) in before:
                if cost == best:
                    count += ways
                    totals[0] += inserted + ways * (number == 1)
                    totals[1] += deleted + ways * (number == 0)
                    totals[2] += replaced + ways * (number == 2)
                    mask |= 1 << number
            row.append((best, count, totals[0], totals[1], totals[2]))
            last_edits.append(mask)
        above = row
    cost, count, *sums = above[-1]
    means = [float(Fraction(total, count)) for total in sums]
    exact = int(cost) if cost == int(cost) else float(cost)
    return Alignments(a, b, exact, count, means[0], means[1], means[2], bytes(last_edits))


def _cost_of(name: str, cost: float | Callable[..., float], *characters: str) -> int | Fraction:
    value = cost(*characters) if callable(cost) else cost
    number = check_number(name, value, "a finite number from 0, or a function that returns one", lambda each: each >= 0)
    return value if isinstance(value, int) else Fraction(number)


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
