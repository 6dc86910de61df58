"""Profiles of the values of a pattern's variables, and verdicts on requests.

The rules are in `crates/nearkin-patterns/src/urls/judge.rs`, the counts in `crates/nearkin-patterns/src/profiles.rs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

_CLASSES = {
    "0-9": "0-9",
    "a-z": "a-z",
    "A-Z": "A-Z",
    "blank": " ",
    "control": r"\x00-\x1f\x7f",
    "doubled": "",
    "other": r"\u0080-\uffff",
}
"""Ranges of an expression for classes of characters."""
MIN_VALUES = 100
"""Minimum number of values from which limits are exported."""

Verdict: TypeAlias = Literal["known", "unusual", "new"]


@dataclass(frozen=True)
class DayCounts:
    """Requests of a pattern on one day.

    Attributes
    ----------
    day : date
        In UTC.
    requests : int
        Number of requests of the pattern.
    missing : int
        Number of them without a value of the variable.
    """

    day: date
    requests: int
    missing: int


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
    days : tuple of DayCounts
        Requests, and requests without a value, on each day that has requests; empty if no times were given.
    lengths : tuple of int
        Least and largest length in bytes. Above 16, lengths are grouped in four bins for each octave, and these are the
        limits of the bins.
    characters : str
        Classes of the characters that are not rare, separated by blanks: `0-9`, `a-z`, `A-Z`, `blank`, `control`,
        `other` (not ASCII), `doubled` (a sign twice in a row), and signs themselves.
    numbers : tuple of int or None
        Least and largest whole number, grouped as lengths are; None without whole numbers.
    values : tuple of str
        All values if there are at most 16 distinct ones, sorted; empty otherwise.
    """

    name: str
    count: int
    odd: int
    missing: float
    days: tuple[DayCounts, ...]
    lengths: tuple[int, int]
    characters: str
    numbers: tuple[int, int] | None
    values: tuple[str, ...]


@dataclass(frozen=True)
class ValueLimits:
    """ValueLimits of the values of a variable, for exports.

    Attributes
    ----------
    max_length : int
        One and a half times the largest usual length.
    classes : frozenset of str
        Classes of characters, as in `ValueProfile`.
    numbers : tuple of int or None
        Least and largest whole number.
    """

    max_length: int
    classes: frozenset[str]
    numbers: tuple[int, int] | None

    @classmethod
    def of(cls, profiles: Iterable[ValueProfile]) -> ValueLimits | None:
        """Return the limits that all profiles satisfy; None if one of them has too few values or odd ones."""
        profiles = list(profiles)
        if not profiles or any(one.count < MIN_VALUES or 100 * one.odd > one.count for one in profiles):
            return None
        numbers = [one.numbers for one in profiles if one.numbers is not None]
        return cls(
            max_length=max(one.lengths[1] for one in profiles) * 3 // 2,
            classes=frozenset(name for one in profiles for name in one.characters.split()),
            numbers=(min(low for low, _ in numbers), max(high for _, high in numbers)) if numbers else None,
        )

    @property
    def characters(self) -> str:
        """An expression for one character; empty without values."""
        joined = "".join(_CLASSES.get(name, re.escape(name)) for name in sorted(self.classes))
        return f"[{joined}]" if joined else ""


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
        share = f" (fewer than 1 of {round(1 / self.rarity):,})" if self.rarity <= 0.1 else ""
        return f"{self.name}: {self.reason}{share}"


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


__all__ = ["DayCounts", "UnusualValue", "UrlVerdict", "ValueLimits", "ValueProfile", "Verdict"]
