"""Profiles of the values of a pattern's variables, and verdicts on requests.

The rules are in `crates/nearkin-patterns/src/urls/judge.rs`, the counts in `crates/nearkin-patterns/src/profiles.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["known", "unusual", "new"]


@dataclass(frozen=True)
class ValueProfile:
    """What is usual for a variable of a pattern.

    Attributes
    ----------
    name : str
        Name of the variable.
    count : int
        Number of values, without those that look like attacks.
    odd : int
        Number of values that look like attacks.
    missing : float
        Share of the requests without a value, 0 to 1.
    lengths : tuple of int
        Least and largest length in bytes. Above 16, lengths are grouped in four bins for each octave, and these are the
        limits of the bins.
    characters : str
        Classes of the characters that are not rare, separated by blanks: `0-9 a-z -`.
    numbers : tuple of int or None
        Least and largest whole number, grouped as lengths are; None without whole numbers.
    values : tuple of str
        All values if there are at most 16 distinct ones, sorted; empty otherwise.
    """

    name: str
    count: int
    odd: int
    missing: float
    lengths: tuple[int, int]
    characters: str
    numbers: tuple[int, int] | None
    values: tuple[str, ...]


@dataclass(frozen=True)
class UnusualValue:
    """A value that is unusual for its parameter or path variable.

    Attributes
    ----------
    name : str
        Name of the variable, or key of a parameter that the pattern does not have.
    reason : str
        Why the value is unusual, and what is usual.
    rarity : float
        Upper estimate of the share of such values, 0 to 1.
    """

    name: str
    reason: str
    rarity: float

    def __str__(self) -> str:
        return f"{self.name}: {self.reason} (fewer than 1 of {max(1, round(1 / self.rarity)):,})"


@dataclass(frozen=True)
class UrlVerdict:
    """The verdict on a request.

    Attributes
    ----------
    verdict : {"known", "unusual", "new"}
        A pattern with usual values; a pattern with an unusual value; no pattern.
    id, pattern : str or None
        The pattern, or the nearest one if a value has another type; None if the request is new.
    unusual : tuple of UnusualValue
        In the order of the variables.
    """

    verdict: Verdict
    id: str | None = None
    pattern: str | None = None
    unusual: tuple[UnusualValue, ...] = ()


__all__ = ["UnusualValue", "UrlVerdict", "ValueProfile", "Verdict"]
