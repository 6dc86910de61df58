"""Why two digests have their score."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearkin._core import ssdeep_explain
from nearkin.digests.ssdeep.scores import LEAST_COMMON, Digest, check_least_common

__all__ = ["ComparedParts", "Explanation", "explain"]


@dataclass(frozen=True)
class ComparedParts:
    """Two parts of one block size that were compared.

    Attributes
    ----------
    parts : tuple of two int
        1 or 2: which part of `a`, which of `b`.
    block_size : int
    lengths : tuple of two int
        Characters of each, runs of more than three cut to three.
    gram : str or None
        The first successive characters that both parts share, as many as they must; without any the score is 0.
    common : int
        Length of the longest common subsequence.
    uncapped : int
        The score before the cap.
    cap : int
        The highest score of parts of these lengths at this block size; below 48 it grows with the shorter length.
    score : int
    least_common : int
        Successive characters that both parts must share, 7 in ssdeep.
    """

    parts: tuple[int, int]
    block_size: int
    lengths: tuple[int, int]
    gram: str | None
    common: int
    uncapped: int
    cap: int
    score: int
    least_common: int = LEAST_COMMON

    def __str__(self) -> str:
        names = f"part {self.parts[0]} with part {self.parts[1]} at block size {self.block_size}"
        if self.gram is None:
            count = "seven" if self.least_common == LEAST_COMMON else str(self.least_common)
            return f"{names}: 0, no {count} successive characters in common ({self.lengths[0]} and {self.lengths[1]})"
        capped = f", capped from {self.uncapped} because the parts are short" if self.uncapped > self.cap else ""
        return (
            f"{names}: {self.score}{capped}; {self.common} of {self.lengths[0]} and {self.lengths[1]} characters common"
        )


@dataclass(frozen=True)
class Explanation:
    """Why two digests have their score; `str()` gives sentences.

    Attributes
    ----------
    score : int
        0 to 100, as `compare` gives it.
    comparable : bool
        Whether the block sizes are equal or differ by a factor of two; otherwise the score is 0.
    equal : bool
        Whether the digests are equal without their runs, which scores 100 whatever their length.
    runs_removed : tuple of two int
        Characters of each digest that were left out because more than three equal ones were in a row.
    compared : tuple of ComparedParts
        What was compared.
    reliability : {"none", "low", "fair", "good"}
        By the longest part that was compared on both sides: none below `least_common` characters, low below 16, fair
        below 32.
        These bounds are a convention of this function.
    """

    score: int
    comparable: bool
    equal: bool
    runs_removed: tuple[int, int]
    compared: tuple[ComparedParts, ...]
    reliability: str

    def __str__(self) -> str:
        lines = [f"score {self.score}"]
        if not self.comparable:
            lines.append("the block sizes differ by more than a factor of two: such digests can't be compared")
        elif self.equal:
            lines.append("the digests are equal")
        lines += [str(parts) for parts in self.compared]
        if any(self.runs_removed):
            lines.append(f"characters of long runs left out: {self.runs_removed[0]} and {self.runs_removed[1]}")
        lines.append(f"reliability by length: {self.reliability}")
        return "\n".join(lines)


def explain(a: Digest, b: Digest, *, strict: bool = True, least_common: int = LEAST_COMMON) -> Explanation:
    """Why two digests have their score.

    Parameters
    ----------
    a, b : str or bytes
        Digests.
    strict, least_common
        As for `compare`.

    Returns
    -------
    Explanation

    Raises
    ------
    InputError
        If one of them is not a digest.
    ParameterError
        `least_common` outside its range.

    Examples
    --------
    >>> import nearkin as nk
    >>> print(nk.ssdeep.explain("12:abcdefgh:xyz", "12:abcdefgk:xyz"))
    score 32
    part 1 with part 1 at block size 12: 32, capped from 88 because the parts are short; 7 of 8 and 8 characters common
    part 2 with part 2 at block size 24: 0, no seven successive characters in common (3 and 3)
    reliability by length: low
    >>> nk.ssdeep.explain("3:abc:de", "96:abc:de").comparable
    False
    """
    least = check_least_common(least_common)
    score, comparable, equal, compared = ssdeep_explain(a, b, strict, least)
    parts = tuple(ComparedParts(*values, least) for values in compared)
    longest = max((min(part.lengths) for part in parts), default=0)
    reliability = "none" if longest < least else "low" if longest < 16 else "fair" if longest < 32 else "good"
    return Explanation(score, comparable, equal, (_runs(a), _runs(b)), parts, reliability)


def _runs(digest: Digest) -> int:
    """Characters of runs beyond the third."""
    text = digest if isinstance(digest, str) else digest.decode("latin-1")
    parts = text.split(",", 1)[0].split(":", 2)[1:]
    return sum(len(run.group()) - 3 for part in parts for run in re.finditer(r"(.)\1{3,}", part))
