r"""Every step from a file to its ssdeep digest.

    bytes → rolling sum S of the last seven → reset points (B divides S + 1) → block size B → pieces → characters

For the window b_0 (oldest) to b_6, with zeros before the first byte:

    S = Σ (j + 2) b_j  +  xor (b_j << 5 (6 − j))                mod 2^32
    B = the largest 3 · 2^i, starting at the smallest with 64 B >= n and halving, with 32 reset points or more; or 3
    h = 0x27 at the start of a piece;  h ← (19 h xor c) mod 64 for each byte c;  the character is the h-th of base64

Part 1 has at most 63 pieces that end at a reset point of B, part 2 at most 31 of 2 B (63 without truncation). The rest
of the input is one more piece, the tail. If S is 0 at the end of the input, the tail is omitted or ends at the last
reset point.

The core records the steps (`digests/ssdeep/explain.rs`).

Source: Kornblum, "Identifying almost identical files using context triggered piecewise hashing" (Digital Investigation
3S, 2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from nearkin._core import ssdeep_trace
from nearkin.digests.inputs import Data, read_content
from nearkin.digests.ssdeep import DigestRecipe, ScoreExplanation, explain, normalize
from nearkin.errors import bad_parameter
from nearkin.explain.render import Comparison, Rendered, html_block, html_rows, table_lines, to_json

MAX_BYTES = 1 << 26
"""Maximum size of an input."""
_MIN_POINTS = 32


@dataclass(frozen=True)
class DigestPiece:
    """The bytes that one character of a digest represents.

    Attributes
    ----------
    start, end : int
        Range of bytes, `end` exclusive; an empty tail has none.
    window : bytes
        The last seven bytes before `end`, which decide that the piece ends there; fewer at the start of the input.
    sum : int
        S at the last byte; for the tail S at the end of the input.
    tail : bool
        True for the bytes after the last counted reset point, whose end has no cause.
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
        Number of reset points of this block size in the input.
    counted : int
        Maximum number of reset points that end a piece: 63 or 31.
    pieces : tuple of DigestPiece
    text : str
        The characters of the pieces; `eliminate_runs` shortens runs of more than three equal ones to three.
    """

    block_size: int
    points: int
    counted: int
    pieces: tuple[DigestPiece, ...]
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the part for JSON; windows and sums as hexadecimal digits."""
        pieces = [asdict(piece) | {"window": piece.window.hex(), "sum": f"{piece.sum:08x}"} for piece in self.pieces]
        return asdict(self) | {"pieces": pieces}


@dataclass(frozen=True)
class DigestSteps(Rendered):
    """Every step from an input to its ssdeep digest.

    Attributes
    ----------
    recipe : DigestRecipe
    length : int
        Number of bytes, after normalisation.
    tried : tuple of (int, int)
        Block sizes in the order in which they are tried, and their numbers of reset points; the last one is chosen.
    parts : tuple of two DigestPart
        At the block size and at twice the block size.
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
        """The digest, as returned by `nearkin.ssdeep.hash`."""
        return f"{self.block_size}:{self.parts[0].text}:{self.parts[1].text}"

    def to_dict(self) -> dict[str, Any]:
        """Return the steps for JSON; windows and sums as hexadecimal digits."""
        tried = [{"block_size": size, "points": points} for size, points in self.tried]
        steps = {"recipe": str(self.recipe), "length": self.length, "tried": tried}
        return steps | {"parts": to_json(self.parts), "digest": self.digest}

    def _head(self) -> Iterator[str]:
        yield f"recipe       {self.recipe}"
        yield f"length       {self.length:,} bytes"
        yield f"first try    {self.tried[0][0]}: the smallest 3 · 2^i with 64 · 3 · 2^i >= length"
        for size, points in self.tried:
            reason = "chosen" if size == self.block_size else f"fewer than {_MIN_POINTS}: try half of it"
            if size == 3 and points < _MIN_POINTS:
                reason = "chosen: it is the smallest"
            yield f"block size   {size}: {points:,} reset points, {reason}"

    def _tables(self) -> Iterator[tuple[str, list[str], list[list[str]], list[str]]]:
        """Yield the title of each part, its columns, its pieces, and the columns that are aligned right."""
        for number, part in enumerate(self.parts, 1):
            limit = f", the first {part.counted} counted" if part.points > part.counted else ""
            title = f"part {number}       B = {part.block_size}: {part.points:,} reset points{limit}"
            rows = [
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
            yield title, _COLUMNS, rows, ["from", "to", "S", "hash"]

    def _tail(self) -> Iterator[str]:
        yield f"digest       {self.digest}"


_COLUMNS = ["from", "to", "last seven bytes", "S", "hash", "character"]


@dataclass(frozen=True)
class CommonRun:
    """A run of pieces with the same characters in two inputs.

    Attributes
    ----------
    parts : tuple of two int
        1 or 2: the part of `a` and the part of `b`.
    a, b : tuple of (int, int)
        Ranges of bytes, the end exclusive.
    characters : str
    equal : bool
        True if the bytes are also equal. Different pieces have the same character with probability 1/64.
    """

    parts: tuple[int, int]
    a: tuple[int, int]
    b: tuple[int, int]
    characters: str
    equal: bool


@dataclass(frozen=True)
class DigestComparison(Comparison):
    """The steps of two inputs and their common pieces.

    Attributes
    ----------
    a, b : DigestSteps
    common_runs : tuple of CommonRun
        Pieces of the longest common subsequence of two parts with one block size, in order; consecutive pieces are
        joined. Empty if no two parts have the same block size.
    explanation : nearkin.digests.ssdeep.ScoreExplanation
        The reasons for the score.
    """

    a: DigestSteps
    b: DigestSteps
    common_runs: tuple[CommonRun, ...]
    explanation: ScoreExplanation

    @property
    def score(self) -> int:
        """The score of `nearkin.digests.ssdeep.compare`, 0 to 100."""
        return self.explanation.score

    def to_dict(self) -> dict[str, Any]:
        """Return both and their common pieces for JSON."""
        steps: dict[str, Any] = to_json({"a": self.a, "b": self.b, "agreeing": self.common_runs, "score": self.score})
        return steps

    def _rows(self) -> list[list[str]]:
        return [
            [
                f"{run.parts[0]} and {run.parts[1]}",
                f"{run.a[0]:,} to {run.a[1]:,}",
                f"{run.b[0]:,} to {run.b[1]:,}",
                run.characters,
                "equal" if run.equal else "different",
            ]
            for run in self.common_runs
        ]

    def _difference(self) -> list[str]:
        rows = self._rows()
        table = table_lines(_RUN_COLUMNS, rows) if rows else ()
        return [f"common       {len(rows)} runs", *table, *str(self.explanation).split("\n")]

    def _repr_html_(self) -> str:
        table = html_block(["common runs"]) + html_rows(_RUN_COLUMNS, self._rows())
        return self._html_of_inputs() + table + html_block([str(self.explanation)])


_RUN_COLUMNS = ["parts", "bytes of a", "bytes of b", "characters", "bytes"]


def explain_digest(data: Data, recipe: DigestRecipe) -> DigestSteps:
    """Return the steps of an input.

    Raises
    ------
    ParameterError
        The input has more than 2**26 bytes, or has another type.
    InputError, OSError
        As for `nearkin.ssdeep.hash`.
    """
    return _build_steps(_read(data, recipe), recipe)


def compare_digests(a: Data, b: Data, recipe: DigestRecipe) -> DigestComparison:
    """Compare the steps of two inputs; the errors are those of `explain_digest`."""
    contents = (_read(a, recipe), _read(b, recipe))
    steps = (_build_steps(contents[0], recipe), _build_steps(contents[1], recipe))
    runs: list[CommonRun] = []
    for i, part in enumerate(steps[0].parts, 1):
        for j, other in enumerate(steps[1].parts, 1):
            if part.block_size == other.block_size:
                runs += _find_common_runs((i, j), (part.pieces, other.pieces), contents)
    return DigestComparison(*steps, tuple(runs), explain(steps[0].digest, steps[1].digest))


def _read(data: Data, recipe: DigestRecipe) -> bytes:
    bytes_ = normalize(read_content(data), recipe.normalize)
    if len(bytes_) > MAX_BYTES:
        raise bad_parameter("value", f"an input of {len(bytes_):,} bytes", f"at most {MAX_BYTES:,}: explain a part")
    return bytes_


def _build_steps(data: bytes, recipe: DigestRecipe) -> DigestSteps:
    digest, tried, traced = ssdeep_trace(data, recipe.eliminate_runs, recipe.truncate)
    first, second = (
        DigestPart(
            block_size,
            points,
            counted,
            tuple(
                DigestPiece(start, end, data[max(0, end - 7) : end], total, tail, state, character)
                for start, end, total, tail, state, character in pieces
            ),
            text,
        )
        for (block_size, points, counted, pieces), text in zip(traced, digest.split(":")[1:], strict=True)
    )
    return DigestSteps(recipe, len(data), tuple(tried), (first, second))


def _align(values: list[list[int]]) -> list[tuple[int, int]]:
    """Return the pairs (i, j) of a longest common subsequence with the most equal bytes.

        L(i, j) = max of L(i+1, j), L(i, j+1), and L(i+1, j+1) + the value of (i, j)

    Values are 0 for different characters, 1 for equal ones, 2 for equal bytes. Parts have at most 64 characters.
    """
    num_rows, num_columns = len(values), len(values[0]) if values else 0
    # One more character outweighs all equal bytes together.
    worth = (-1, 1 << 10, (1 << 10) + 1)
    best = [[0] * (num_columns + 1) for _ in range(num_rows + 1)]
    for i in reversed(range(num_rows)):
        for j in reversed(range(num_columns)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + worth[values[i][j]])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < num_rows and j < num_columns:
        if values[i][j] and best[i][j] == best[i + 1][j + 1] + worth[values[i][j]]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _find_common_runs(
    parts: tuple[int, int], pieces: tuple[tuple[DigestPiece, ...], tuple[DigestPiece, ...]], data: tuple[bytes, bytes]
) -> list[CommonRun]:
    """Return runs of consecutive aligned pieces; pieces with equal bytes and others are not joined."""
    a, b = pieces

    def value(left: DigestPiece, right: DigestPiece) -> int:
        if left.character != right.character:
            return 0
        return 1 + (data[0][left.start : left.end] == data[1][right.start : right.end])

    values = [[value(left, right) for right in b] for left in a]
    pairs = _align(values)
    # Consecutive pairs have equal differences between position and rank.
    keyed = [((i - rank, j - rank, values[i][j]), (i, j)) for rank, (i, j) in enumerate(pairs)]
    runs = []
    for (_, _, kind), group in groupby(keyed, key=lambda item: item[0]):
        members = [pair for _, pair in group]
        (i, j), (last_i, last_j) = members[0], members[-1]
        ranges = ((a[i].start, a[last_i].end), (b[j].start, b[last_j].end))
        runs.append(CommonRun(parts, *ranges, "".join(a[i].character for i, _ in members), kind == 2))
    return runs
