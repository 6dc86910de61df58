r"""Every step from a file to its ssdeep digest.

    bytes → rolling sum S of the last seven → reset points (B divides S + 1) → block size B → pieces → characters

For the window b_0 (oldest) to b_6, zeros before the first byte:

    S = Σ (j + 2) b_j  +  xor (b_j << 5 (6 − j))                mod 2^32
    B = the largest 3 · 2^i, from the least with 64 B >= n downwards, that has 32 reset points or more, or 3
    h = 0x27 before a piece;  h ← (19 h xor c) mod 64 for each byte c of it;  its character is the h-th of base64

Part 1 has at most 63 pieces that end at a reset point of B, part 2 at most 31 of 2 B (63 where it is not cut). What
follows the last of them is one more piece, the tail; where S is 0 at the end of the input there is none, or it ends at
the last reset point.

The digest is the one that `nearkin.ssdeep.hash` gives; what leads to it is computed here, some 100 ns a byte. Source:
Kornblum (Digital Investigation 3S, 2006).
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.digests.ssdeep import DigestRecipe, Explanation, explain, normalize
from nearkin.digests.ssdeep.hashing import Data, content
from nearkin.errors import bad_parameter
from nearkin.explain.lines import html_steps, indented, table_lines

MOST_BYTES = 1 << 26
"""Most bytes of an input whose steps are shown: a few seconds."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_LEVELS = 31
"""Block sizes 3 · 2^0 to 3 · 2^30."""
_ENOUGH = 32
_START = 0x27
_CHUNK = 1 << 18
"""Bytes whose sums are computed at a time."""
_NEXT = [bytes((19 * state ^ byte) & 63 for byte in range(256)) for state in range(64)]
"""The state after each byte, by the state before it."""


@dataclass(frozen=True)
class Piece:
    """Bytes that one character of a digest stands for.

    Attributes
    ----------
    start, end : int
        Bytes `start` to `end` of the input, `end` exclusive; an empty tail has none.
    window : bytes
        The last seven bytes up to its end, which decide that it ends there; fewer at the start of the input.
    sum : int
        S at its last byte; that of the end of the input for the tail.
    tail : bool
        Whether it is what follows the last counted reset point, and ends for no reason of its own.
    hash : int
        0 to 63.
    character : str
    """

    start: int
    end: int
    window: bytes
    sum: int
    tail: bool
    hash: int
    character: str


@dataclass(frozen=True)
class DigestPart:
    """One part of a digest.

    Attributes
    ----------
    block_size : int
    points : int
        Reset points of this block size in the whole input.
    counted : int
        Most of them that end a piece: 63 or 31.
    pieces : tuple of Piece
    text : str
        The characters of the pieces; runs of more than three equal ones cut to three with `eliminate_runs`.
    """

    block_size: int
    points: int
    counted: int
    pieces: tuple[Piece, ...]
    text: str


@dataclass(frozen=True)
class DigestSteps:
    """Every step from an input to its ssdeep digest.

    Attributes
    ----------
    recipe : DigestRecipe
    length : int
        Bytes of the input, after its normalisation.
    tried : tuple of (int, int)
        Block sizes in the order in which they are tried, and the reset points that each has; the last one is taken.
    parts : tuple of two DigestPart
        At the block size and at twice it.
    """

    recipe: DigestRecipe
    length: int
    tried: tuple[tuple[int, int], ...]
    parts: tuple[DigestPart, DigestPart]

    @property
    def block_size(self) -> int:
        """The block size of part 1."""
        return self.parts[0].block_size

    @property
    def digest(self) -> str:
        """As `nearkin.ssdeep.hash` gives it."""
        return f"{self.block_size}:{self.parts[0].text}:{self.parts[1].text}"

    def to_dict(self) -> dict[str, Any]:
        """The steps as JSON has them; windows and sums as hexadecimal digits."""
        return {
            "recipe": str(self.recipe),
            "length": self.length,
            "tried": [{"block_size": size, "points": points} for size, points in self.tried],
            "parts": [
                {
                    "block_size": part.block_size,
                    "points": part.points,
                    "counted": part.counted,
                    "pieces": [
                        {
                            "start": piece.start,
                            "end": piece.end,
                            "window": piece.window.hex(),
                            "sum": f"{piece.sum:08x}",
                            "tail": piece.tail,
                            "hash": piece.hash,
                            "character": piece.character,
                        }
                        for piece in part.pieces
                    ],
                    "text": part.text,
                }
                for part in self.parts
            ],
            "digest": self.digest,
        }

    def _lines(self) -> Iterator[str]:
        """The steps up to the block size."""
        first = self.tried[0][0]
        yield f"recipe       {self.recipe}"
        yield f"length       {self.length:,} bytes"
        yield f"first try    {first}: the least 3 · 2^i whose 64-fold is the length or more"
        for size, points in self.tried:
            why = "taken" if size == self.block_size else f"fewer than {_ENOUGH}: half of it next"
            if size == 3 and points < _ENOUGH:
                why = "taken: there is no smaller one"
            yield f"block size   {size}: {points:,} reset points, {why}"

    def _headline(self, number: int) -> str:
        part = self.parts[number]
        cut = f", the first {part.counted} counted" if part.points > part.counted else ""
        return f"part {number + 1}       B = {part.block_size}: {part.points:,} reset points{cut}"

    @staticmethod
    def _rows(part: DigestPart) -> list[list[str]]:
        return [
            [
                f"{piece.start:,}",
                f"{piece.end:,}",
                piece.window.hex(" "),
                "tail" if piece.tail else f"{piece.sum:,}",
                str(piece.hash),
                piece.character,
            ]
            for piece in part.pieces
        ]

    def __str__(self) -> str:
        """Lines up to the block size; for each part a table of its pieces; then the digest."""
        lines = list(self._lines())
        for number, part in enumerate(self.parts):
            lines.append(self._headline(number))
            if part.pieces:
                lines += table_lines(_COLUMNS, self._rows(part), right=("from", "to", "S", "hash"))
        return "\n".join([*lines, f"digest       {self.digest}"])

    def _repr_html_(self) -> str:
        tables = "".join(
            html_steps([self._headline(number)], _COLUMNS, self._rows(part), [])
            for number, part in enumerate(self.parts)
        )
        above = html.escape("\n".join(self._lines()))
        return f"<pre>{above}</pre>{tables}<pre>digest       {html.escape(self.digest)}</pre>"


_COLUMNS = ["from", "to", "last seven bytes", "S", "hash", "character"]


@dataclass(frozen=True)
class Agreeing:
    """A run of pieces of two inputs that have the same characters.

    Attributes
    ----------
    parts : tuple of two int
        1 or 2: of which part of `a`, and of which of `b`.
    a, b : tuple of (int, int)
        Bytes of each input, the end exclusive.
    characters : str
    equal : bool
        Whether the bytes are the same, too. Of two pieces that differ one in 64 has the same character by chance.
    """

    parts: tuple[int, int]
    a: tuple[int, int]
    b: tuple[int, int]
    characters: str
    equal: bool


@dataclass(frozen=True)
class DigestStepsBeside:
    """The steps of two inputs, and which of their pieces agree.

    Attributes
    ----------
    a, b : DigestSteps
    agreeing : tuple of Agreeing
        Pieces of the longest common subsequence of two parts of one block size, in order, joined where they follow one
        another. Empty where no part has the block size of another.
    explanation : nearkin.digests.ssdeep.Explanation
        Why the digests have their score.
    """

    a: DigestSteps
    b: DigestSteps
    agreeing: tuple[Agreeing, ...]
    explanation: Explanation

    @property
    def score(self) -> int:
        """0 to 100, as `nearkin.digests.ssdeep.compare` gives it."""
        return self.explanation.score

    def to_dict(self) -> dict[str, Any]:
        """Both and what agrees, as JSON has them."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "agreeing": [
                {"parts": list(run.parts), "a": list(run.a), "b": list(run.b)}
                | {"characters": run.characters, "equal": run.equal}
                for run in self.agreeing
            ],
            "score": self.score,
        }

    def _rows(self) -> list[list[str]]:
        return [
            [
                f"{run.parts[0]} and {run.parts[1]}",
                f"{run.a[0]:,} to {run.a[1]:,}",
                f"{run.b[0]:,} to {run.b[1]:,}",
                run.characters,
                "equal" if run.equal else "unlike",
            ]
            for run in self.agreeing
        ]

    def __str__(self) -> str:
        lines = [
            "a",
            *indented(str(self.a)),
            "b",
            *indented(str(self.b)),
            f"agreeing     {len(self.agreeing)} stretches",
        ]
        if self.agreeing:
            lines += table_lines(_AGREEING, self._rows())
        return "\n".join([*lines, *str(self.explanation).split("\n")])

    def _repr_html_(self) -> str:
        told = html_steps(["agreeing"], _AGREEING, self._rows(), str(self.explanation).split("\n"))
        return f"<h4>a</h4>{self.a._repr_html_()}<h4>b</h4>{self.b._repr_html_()}{told}"


_AGREEING = ["parts", "bytes of a", "bytes of b", "characters", "bytes"]


def digest_steps(data: Data, recipe: DigestRecipe) -> DigestSteps:
    """The steps of an input.

    Raises
    ------
    ParameterError
        The input has more than 2**26 bytes, or is none.
    InputError, OSError
        As for `nearkin.ssdeep.hash`.
    """
    return _steps(_read(data, recipe), recipe)


def compared_digests(a: Data, b: Data, recipe: DigestRecipe) -> DigestStepsBeside:
    """The steps of two inputs, and which of their pieces agree; errors as for `digest_steps`."""
    contents = (_read(a, recipe), _read(b, recipe))
    steps = (_steps(contents[0], recipe), _steps(contents[1], recipe))
    agreeing = []
    for i, part in enumerate(steps[0].parts):
        for j, other in enumerate(steps[1].parts):
            if part.block_size == other.block_size:
                agreeing += _agreeing((i + 1, j + 1), (part, other), contents)
    return DigestStepsBeside(*steps, tuple(agreeing), explain(steps[0].digest, steps[1].digest))


def _read(data: Data, recipe: DigestRecipe) -> bytes:
    found = normalize(content(data), recipe.normalize)
    if len(found) > MOST_BYTES:
        raise bad_parameter("given", f"an input of {len(found):,} bytes", f"at most {MOST_BYTES:,}: explain a part")
    return found


def _steps(data: bytes, recipe: DigestRecipe) -> DigestSteps:
    counts = [0] * _LEVELS
    for _, _, levels in _reset_points(data, 0):
        for level, count in enumerate(np.bincount(levels, minlength=_LEVELS)[:_LEVELS].tolist()):
            counts[level] += count
    # A reset point of a block size is one of every smaller one.
    points = [sum(counts[level:]) for level in range(_LEVELS)] + [0]
    level = next((i for i in range(_LEVELS - 1) if 64 * (3 << i) >= len(data)), _LEVELS - 1)
    tried = [(3 << level, points[level])]
    while level and points[level] < _ENOUGH:
        level -= 1
        tried.append((3 << level, points[level]))
    parts = [
        _part(data, level + number, points[level + number], counted, recipe)
        for number, counted in enumerate((63, 31 if recipe.truncate else 63))
    ]
    return DigestSteps(recipe, len(data), tuple(tried), (parts[0], parts[1]))


def _sums(data: bytes, start: int, end: int) -> npt.NDArray[np.uint32]:
    """S at the bytes `start` to `end`."""
    before = data[max(0, start - 6) : start]
    bytes_ = np.frombuffer(bytes(6 - len(before)) + before + data[start:end], np.uint8).astype(np.uint32)
    weighted = np.zeros(end - start, np.uint32)
    mixed = np.zeros(end - start, np.uint32)
    for j in range(7):
        byte = bytes_[j : j + end - start]
        weighted += np.uint32(j + 2) * byte
        mixed ^= byte << np.uint32(5 * (6 - j))
    return weighted + mixed


def _reset_points(
    data: bytes, low: int
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.int64]]]:
    """Places of the reset points of level `low` or more, S there, and their levels; stretch by stretch."""
    for start in range(0, len(data), _CHUNK):
        sums = _sums(data, start, min(start + _CHUNK, len(data)))
        after = sums + np.uint32(1)
        places = np.flatnonzero((after % np.uint32(3) == 0) & (after != 0))
        odd = after[places]
        # The lowest 1 of a number is 2 to the number of zeros below it.
        levels = np.log2((odd & (~odd + np.uint32(1))).astype(np.float64)).astype(np.int64)
        kept = levels >= low
        yield places[kept] + start, sums[places[kept]], levels[kept]


def _part(data: bytes, level: int, points: int, counted: int, recipe: DigestRecipe) -> DigestPart:
    """The pieces of a level; level 31 has no reset points, since its block size is beyond 32 bits."""
    cuts: list[tuple[int, int]] = []
    last = -1
    for places, sums, _ in _reset_points(data, level) if level < _LEVELS else ():
        if len(places):
            room = counted - len(cuts)
            cuts += zip(places[:room].tolist(), sums[:room].tolist(), strict=True)
            last = int(places[-1])
    pieces, start = [], 0
    for place, total in cuts:
        pieces.append(_piece(data, start, place + 1, total, tail=False))
        start = place + 1
    end = int(_sums(data, len(data) - 1, len(data))[0]) if data else 0
    if end:
        pieces.append(_piece(data, start, len(data), end, tail=True))
    elif points > counted:
        pieces.append(_piece(data, start, last + 1, end, tail=True))
    text = "".join(piece.character for piece in pieces)
    if recipe.eliminate_runs:
        text = "".join(c for at, c in enumerate(text) if text[max(0, at - 3) : at] != 3 * c)
    return DigestPart(3 << level, points, counted, tuple(pieces), text)


def _piece(data: bytes, start: int, end: int, total: int, *, tail: bool) -> Piece:
    state = _START
    for byte in data[start:end]:
        state = _NEXT[state][byte]
    return Piece(start, end, data[max(0, end - 7) : end], total, tail, state, _ALPHABET[state])


def _common_runs(likeness: list[list[int]]) -> list[tuple[int, int, int]]:
    """Runs of a longest common subsequence, of those one with most equal bytes: where each begins, and its length.

        L(i, j) = the largest of L(i+1, j), L(i, j+1), and L(i+1, j+1) + 1 where the characters are equal

    Parts of digests have at most 64 characters.
    """
    rows, columns = len(likeness), len(likeness[0]) if likeness else 0
    # A character counts as more than all bytes together.
    worth = {0: -1, 1: 1 << 10, 2: (1 << 10) + 1}
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + worth[likeness[i][j]])
    runs: list[tuple[int, int, int]] = []
    i = j = 0
    while i < rows and j < columns:
        if likeness[i][j] and best[i][j] == best[i + 1][j + 1] + worth[likeness[i][j]]:
            if runs and (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]) == (i, j):
                runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
            else:
                runs.append((i, j, 1))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return runs


def _agreeing(
    numbers: tuple[int, int], parts: tuple[DigestPart, DigestPart], data: tuple[bytes, bytes]
) -> list[Agreeing]:
    """Runs of pieces whose characters are a longest common subsequence; runs of other bytes are apart."""
    a, b = parts[0].pieces, parts[1].pieces

    def alike(left: Piece, right: Piece) -> int:
        """0 for other characters, 1 for other bytes, 2 for the same."""
        if left.character != right.character:
            return 0
        return 1 + (data[0][left.start : left.end] == data[1][right.start : right.end])

    likeness = [[alike(left, right) for right in b] for left in a]
    found: list[Agreeing] = []
    for start, begin, length in _common_runs(likeness):
        begun = len(found)
        for step in range(length):
            left, right = a[start + step], b[begin + step]
            equal = likeness[start + step][begin + step] == 2
            if len(found) > begun and found[-1].equal == equal:
                run = found.pop()
                ranges = ((run.a[0], left.end), (run.b[0], right.end))
                found.append(Agreeing(numbers, *ranges, run.characters + left.character, equal))
            else:
                ranges = ((left.start, left.end), (right.start, right.end))
                found.append(Agreeing(numbers, *ranges, left.character, equal))
    return found


__all__ = [
    "MOST_BYTES",
    "Agreeing",
    "DigestPart",
    "DigestSteps",
    "DigestStepsBeside",
    "Piece",
    "compared_digests",
    "digest_steps",
]
