"""Distinguishers: numbers, days, signs and symbols in which similar texts may differ, by the rules of a run.

Two texts differ if each has a distinguisher that the other does not have, or has less often: one number in place of
another. A text that only has additional ones does not differ, so truncated and extended copies remain copies.

| rule | distinguishers |
|---|---|
| `numbers` | numbers with decimal point and minus: 1.5 and 15, -5 and 5, ½ and 12 |
| `days` | days of the week and months, by name: English, Chinese, Japanese |
| `signs` | signs beyond letters and punctuation: currencies, %, ≥, emoji |
| `symbols` | runs of the ASCII symbols of code: ++, #, !=, && |
| `pattern:REGEX` | matches of the regular expression, in the syntax of Rust's `regex`; after `(?i)` without case |

Kernel and exact definitions: `crates/nearkin-base/src/text/particulars.rs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from nearkin._core import particulars
from nearkin.dedup.candidates import TextBatch
from nearkin.errors import bad_parameter

NAMES = ("numbers", "days", "signs", "symbols")
"""Rules by name; `pattern:REGEX` is the other kind."""
NO_RULES = "none"
"""The name of no rule, for stores that have rules."""
_PATTERN = "pattern:"
_MAX_SHOWN = 5


def parse_differ(rules: str | Iterable[str] | None) -> tuple[str, ...]:
    r"""Split rules into their names, in order.

    Parameters
    ----------
    rules : str, iterable of str, or None
        Names separated by commas, or one `pattern:REGEX`; or several such strings. None and "none" are no rules.

    Raises
    ------
    ParameterError
        An unknown or repeated name, or an invalid regular expression.

    Examples
    --------
    >>> from nearkin.dedup.distinguishers import parse_differ
    >>> parse_differ(["numbers,days", r"pattern:v\d+"])
    ('numbers', 'days', 'pattern:v\\d+')
    """
    if rules is None:
        return ()
    items = [rules] if isinstance(rules, str) else list(rules)
    if not all(isinstance(item, str) for item in items):
        raise bad_parameter("differ", repr(rules), "names of rules, such as 'numbers,days' or 'pattern:REGEX'")
    names = [
        name for item in items for name in ([item] if item.startswith(_PATTERN) else map(str.strip, item.split(",")))
    ]
    if names == [NO_RULES]:
        return ()
    for name in names:
        if names.count(name) > 1:
            raise bad_parameter("differ", name, "each rule once")
    # The kernel checks names and expressions.
    particulars(names, [])
    return tuple(names)


def differences(rules: Sequence[str], left: TextBatch, right: TextBatch) -> list[str | None]:
    """Return for each pair `left[i]`, `right[i]` the difference in words; None if the texts do not differ.

    It lists up to five distinguishers of each side that the other side does not have, or has less often, in the order
    of the text.

    Examples
    --------
    >>> from nearkin.dedup.distinguishers import differences
    >>> differences(["numbers"], ["up 1.5% on 3 May", "one"], ["up 15% on 4 May", "2"])
    ['1.5, 3 → 15, 4', None]
    """
    pairs = zip(particulars(list(rules), left), particulars(list(rules), right), strict=True)
    return [_describe_difference(a, b) for a, b in pairs]


def _describe_difference(left: list[str], right: list[str]) -> str | None:
    a, b = Counter(left), Counter(right)
    sides = list((a - b).elements()), list((b - a).elements())
    if not all(sides):
        return None
    return " → ".join(", ".join(side[:_MAX_SHOWN]) + (", …" if len(side) > _MAX_SHOWN else "") for side in sides)
