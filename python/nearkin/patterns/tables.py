"""Tables of patterns: arrays of the core as Arrow columns, texts and ids, and what changed between two tables."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearkin._core import kind_names
from nearkin.patterns.inputs import NO_TIME

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = dict(kind_names())
"""Names of the types of variables by their numbers in forms."""

_HOLE = re.compile(rb"\xff([\x00-\xfe])")
_WRITTEN = re.compile("\\{(?:" + "|".join(KINDS.values()) + ")\\}")

Arrays = dict[str, npt.NDArray[Any]]


def text_of(form: bytes) -> str:
    r"""A form as people read it: holes as `{type}`, bytes that are no UTF-8 as `\xNN`.

    Examples
    --------
    >>> from nearkin.patterns.tables import text_of
    >>> text_of(b"took \xff\x01 ms")
    'took {int} ms'
    """

    def written(hole: re.Match[bytes]) -> bytes:
        number = hole[1][0]
        return b"\\xff" if number == 0 else b"{" + KINDS[number].encode() + b"}"

    return _HOLE.sub(written, form).decode("utf-8", "backslashreplace")


def holes_of(form: bytes) -> list[str]:
    """Types of the variables of a form, in order."""
    return [KINDS[number] for number in _HOLE.findall(form) for number in number if number]


def names_of(kinds: Sequence[str], keys: Sequence[str | None] | None = None) -> list[str]:
    """Names of the variables of a pattern: the key before each, else its type; numbered from the second of a name.

    Examples
    --------
    >>> from nearkin.patterns.tables import names_of
    >>> names_of(["int", "ip", "int"])
    ['int', 'ip', 'int_2']
    """
    seen: dict[str, int] = {}
    names = []
    for number, kind in enumerate(kinds):
        name = (keys[number] if keys else None) or kind
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return names


def id_of(text: str) -> str:
    """16 hexadecimal digits that stand for a pattern: a function of its text, which has the types, alone."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def distinct(hashes: npt.NDArray[np.uint64], sample: int) -> int:
    """How many distinct values a sample stands for: exact below its size (core: `patterns/values.rs`)."""
    if len(hashes) < sample:
        return len(hashes)
    return max(sample, round((sample - 1) * 2.0**64 / max(float(hashes[-1]), 1.0)))


def pieces(ends: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> list[bytes]:
    """Byte strings that lie back to back, by their ends."""
    whole, start, found = data.tobytes(), 0, []
    for end in ends.tolist():
        found.append(whole[start:end])
        start = end
    return found


class Samples:
    """Samples of a table of forms: hashes and values of each."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._ends = np.concatenate([np.zeros(1, np.int64), arrays[f"{name}_ends"]])
        self._hashes = arrays[f"{name}_hashes"]
        self._texts = pieces(arrays[f"{name}_text_ends"], arrays[f"{name}_text"])

    def hashes(self, number: int) -> npt.NDArray[np.uint64]:
        """Hashes of sample `number`, ascending."""
        found: npt.NDArray[np.uint64] = self._hashes[self._ends[number] : self._ends[number + 1]]
        return found

    def texts(self, number: int, most: int | None = None) -> list[str]:
        """The first values of sample `number`, by hash."""
        start, end = int(self._ends[number]), int(self._ends[number + 1])
        end = end if most is None else min(end, start + most)
        return [value.decode("utf-8", "backslashreplace") for value in self._texts[start:end]]


SHOWN = 5
"""Values of a variable that a table shows."""


def schema(extra: Sequence[tuple[str, Any]] = ()) -> pa.Schema:
    """Columns of a table of patterns, with those of a class behind `pattern`."""
    import pyarrow as pa

    time = pa.timestamp("us", tz="UTC")
    variable = pa.struct(
        [("name", pa.string()), ("type", pa.string()), ("distinct", pa.int64()), ("samples", pa.list_(pa.string()))]
    )
    return pa.schema(
        [
            ("id", pa.string()),
            ("pattern", pa.string()),
            *extra,
            ("count", pa.int64()),
            ("share", pa.float64()),
            ("first_seen", time),
            ("last_seen", time),
            ("sources", pa.int64()),
            ("examples", pa.list_(pa.string())),
            ("variables", pa.list_(variable)),
            ("days", pa.list_(pa.struct([("day", pa.date32()), ("count", pa.int64())]))),
        ]
    )


def table_of(
    arrays: Arrays,
    total: int,
    sample: int,
    *,
    text: Callable[[bytes], str] = text_of,
    names: Callable[[bytes], list[str]] | None = None,
    extra: Sequence[tuple[str, Any, Callable[[bytes], Any]]] = (),
) -> pa.Table:
    """The table of patterns: most items first, then by text.

    Parameters
    ----------
    arrays : dict
        `FormTable.arrays()` of a table whose forms are the patterns.
    total : int
        Items seen: what shares are parts of.
    sample : int
        Most values of a sample.
    text : callable, default `text_of`
        From a form to the pattern's text.
    names : callable, optional
        From a form to the names of its variables; by default their types.
    extra : sequence of (name, Arrow type, callable)
        Columns of the class, from a form.
    """
    import pyarrow as pa

    forms = pieces(arrays["form_ends"], arrays["forms"])
    texts, holes = [text(form) for form in forms], Samples(arrays, "holes")
    examples, sources = Samples(arrays, "examples"), Samples(arrays, "sources")
    hole_starts = np.concatenate([np.zeros(1, np.int64), arrays["hole_ends"]]).tolist()
    day_starts = np.concatenate([np.zeros(1, np.int64), arrays["day_ends"]]).tolist()
    days, day_counts = arrays["days"].tolist(), arrays["day_counts"].tolist()
    rows = []
    for number in sorted(range(len(forms)), key=lambda row: (-int(arrays["counts"][row]), texts[row])):
        kinds = holes_of(forms[number])
        variables = [
            {"name": name, "type": kind, "distinct": distinct(holes.hashes(hole), sample), "samples": shown}
            for hole, name, kind in zip(
                range(hole_starts[number], hole_starts[number + 1]),
                names(forms[number]) if names else names_of(kinds),
                kinds,
                strict=True,
            )
            for shown in [holes.texts(hole, SHOWN)]
        ]
        rows.append(
            {
                "id": id_of(texts[number]),
                "pattern": texts[number],
                **{name: value(forms[number]) for name, _, value in extra},
                "count": int(arrays["counts"][number]),
                "share": int(arrays["counts"][number]) / max(total, 1),
                "first_seen": _time(arrays["first"][number]),
                "last_seen": _time(arrays["last"][number]),
                "sources": distinct(sources.hashes(number), sample),
                "examples": examples.texts(number),
                "variables": variables,
                "days": [
                    {"day": days[at], "count": day_counts[at]}
                    for at in range(day_starts[number], day_starts[number + 1])
                ],
            }
        )
    return pa.Table.from_pylist(rows, schema([(name, kind) for name, kind, _ in extra]))


def _time(ticks: np.int64) -> int | None:
    return None if ticks == NO_TIME else int(ticks)


_KINDS = {"new": 0, "gone": 1, "type": 2, "share": 3}
"""Kinds of changes, in the order in which they are listed."""


def compared(old: pa.Table, new: pa.Table) -> pa.Table:
    """What changed from one table of patterns to another.

    Parameters
    ----------
    old, new : pyarrow.Table
        With columns `pattern`, `id`, `count` and `share`.

    Returns
    -------
    pyarrow.Table
        `kind`, `id`, `pattern`, `was`, `before`, `after`. Kinds: *new*, *gone*; *type*: a pattern that differs from an
        old one in types of variables only, which `was` gives; *share*: shares that differ by a quarter or more, and by
        more than chance (five standard errors). `before` and `after` are shares.
    """
    import pyarrow as pa

    def rows(table: pa.Table) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in table.select(["id", "pattern", "count", "share"]).to_pylist()}

    before, after = rows(old), rows(new)
    # Patterns that differ in types of variables only, the largest last.
    lost: dict[str, list[dict[str, Any]]] = {}
    for key, row in sorted(before.items(), key=lambda item: (item[1]["count"], item[1]["pattern"])):
        if key not in after:
            lost.setdefault(_WRITTEN.sub("{}", row["pattern"]), []).append(row)
    found: list[dict[str, Any]] = []
    for key, row in after.items():
        alike = lost.get(_WRITTEN.sub("{}", row["pattern"]))
        was = before.get(key) or (alike.pop() if alike else None)
        if was is None:
            kind = "new"
        elif was["id"] != key:
            kind = "type"
        elif _shifted(was, row):
            kind = "share"
        else:
            continue
        found.append(_change(kind, row, was, row))
    found += [_change("gone", row, row, None) for rest in lost.values() for row in rest]
    found.sort(key=lambda row: (_KINDS[row["kind"]], -(row["after"] or row["before"]), row["pattern"]))
    shares = [("before", pa.float64()), ("after", pa.float64())]
    texts = [(name, pa.string()) for name in ("kind", "id", "pattern", "was")]
    return pa.Table.from_pylist(found, pa.schema([*texts, *shares]))


def reshaped(changes: pa.Table, wider: Mapping[str, str | None], narrower: Mapping[str, str | None]) -> pa.Table:
    """Changes in which a pattern that explains others, or is explained by one, has changed its type.

    Parameters
    ----------
    changes : pyarrow.Table
        As `compared` gives it.
    wider : mapping of str to str or None
        For the text of each pattern that is gone the id of the new one that explains it.
    narrower : mapping of str to str or None
        For the text of each new pattern the id of the old one that explains it.
    """
    import pyarrow as pa

    rows = changes.to_pylist()
    new = {row["id"]: row for row in rows if row["kind"] == "new"}
    gone = {row["id"]: row for row in rows if row["kind"] == "gone"}
    covered: set[str] = set()
    for row in sorted(gone.values(), key=lambda row: row["before"]):
        found = new.get(wider.get(row["pattern"]) or "")
        if found is not None:
            # The largest of those that it explains comes last.
            before = found["before"] if found["kind"] == "type" else 0.0
            found.update(kind="type", was=row["pattern"], before=before + row["before"])
            covered.add(row["id"])
    for row in new.values():
        found = gone.get(narrower.get(row["pattern"]) or "")
        if found is not None and row["kind"] == "new":
            row.update(kind="type", was=found["pattern"], before=found["before"])
            covered.add(found["id"])
    kept = [row for row in rows if row["kind"] != "gone" or row["id"] not in covered]
    kept.sort(key=lambda row: (_KINDS[row["kind"]], -(row["after"] or row["before"]), row["pattern"]))
    return pa.Table.from_pylist(kept, changes.schema)


def _change(kind: str, row: dict[str, Any], was: dict[str, Any] | None, now: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "kind": kind,
        "id": row["id"],
        "pattern": row["pattern"],
        "was": was["pattern"] if kind == "type" and was else None,
        "before": was["share"] if was else 0.0,
        "after": now["share"] if now else 0.0,
    }


def _shifted(was: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two shares differ by a quarter and by five standard errors of a difference of proportions."""
    low, high = sorted((was["share"], now["share"]))
    if high < 1.25 * low or high == 0:
        return False
    items = [row["count"] / row["share"] for row in (was, now) if row["share"]]
    pooled = (was["count"] + now["count"]) / sum(items)
    error = math.sqrt(pooled * (1 - pooled) * sum(1 / count for count in items))
    return bool(high - low > 5 * error)


__all__ = [
    "KINDS",
    "SHOWN",
    "Samples",
    "compared",
    "distinct",
    "holes_of",
    "id_of",
    "names_of",
    "pieces",
    "reshaped",
    "schema",
    "table_of",
    "text_of",
]
