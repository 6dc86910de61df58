"""Texts that are alike and mean another thing: what they differ in, by rules of a run.

A *particular* of a text is a number, the name of a day, a sign, a symbol of code, or what a regular expression of the
caller's finds. Two texts differ if each has a particular that the other has not, or has less often: one number in place
of another. A text that has some more does not differ, so that cut and extended copies stay copies.

| rule | particulars |
|---|---|
| `numbers` | numbers with decimal point and minus: 1.5 and 15, -5 and 5, ½ and 12 |
| `days` | days of the week and months, by name: English, Chinese, Japanese |
| `signs` | signs beyond letters and punctuation: currencies, %, ≥, emoji |
| `symbols` | runs of the ASCII symbols of code: ++, #, !=, && |
| `pattern:REGEX` | what the regular expression matches; the syntax is that of Rust's `regex`, without look-around |

Kernel and exact definitions: `crates/nearkin-core/src/text/particulars.rs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from nearkin._core import particulars
from nearkin.dedup.candidates import TextBatch
from nearkin.errors import bad_parameter

Differing = Literal["keep", "flag"]
"""What becomes of documents that are near-duplicates but differ: each stays, or one goes and the difference is told."""

NAMES = ("numbers", "days", "signs", "symbols")
"""Rules by name, beside `pattern:REGEX`."""
NO_RULES = "none"
"""The name that stands for no rule where a store has some."""
_PATTERN = "pattern:"
_SHOWN = 5


def differ_rules(given: str | Iterable[str] | None) -> tuple[str, ...]:
    r"""Rules by their names, in the order in which they are given.

    Parameters
    ----------
    given : str, iterable of str, or None
        Names separated by commas, or `pattern:REGEX` alone; or several of these. None and "none" are no rules.

    Raises
    ------
    ParameterError
        An unknown name, one that is given twice, or a regular expression that can't be read.

    Examples
    --------
    >>> from nearkin.dedup.distinguishers import differ_rules
    >>> differ_rules(["numbers,days", r"pattern:v\d+"])
    ('numbers', 'days', 'pattern:v\\d+')
    """
    if given is None:
        return ()
    parts = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(part, str) for part in parts):
        raise bad_parameter("differ", repr(given), "names of rules, such as 'numbers,days' or 'pattern:REGEX'")
    rules = [
        rule for part in parts for rule in ([part] if part.startswith(_PATTERN) else map(str.strip, part.split(",")))
    ]
    if rules == [NO_RULES]:
        return ()
    for rule in rules:
        if rules.count(rule) > 1:
            raise bad_parameter("differ", rule, "each rule once")
    particulars(rules, [])
    return tuple(rules)


def differences(rules: Sequence[str], left: TextBatch, right: TextBatch) -> list[str | None]:
    """What `left[i]` and `right[i]` differ in, as shown to people; None for those that do not differ.

    Of each side up to five particulars that the other has not, or has less often, in the order in which they stand.

    Examples
    --------
    >>> from nearkin.dedup.distinguishers import differences
    >>> differences(["numbers"], ["up 1.5% on 3 May", "one"], ["up 15% on 4 May", "2"])
    ['1.5, 3 → 15, 4', None]
    """
    pairs = zip(particulars(list(rules), left), particulars(list(rules), right), strict=True)
    return [_difference(one, other) for one, other in pairs]


def _difference(one: list[str], other: list[str]) -> str | None:
    mine, theirs = Counter(one), Counter(other)
    sides = list((mine - theirs).elements()), list((theirs - mine).elements())
    if not all(sides):
        return None
    return " → ".join(", ".join(side[:_SHOWN]) + (", …" if len(side) > _SHOWN else "") for side in sides)
