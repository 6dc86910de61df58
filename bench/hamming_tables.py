"""The tables of docs/benchmarks.md from a run of `bench/hamming.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import common

Row = dict[str, Any]
PAGE = common.ROOT / "docs" / "benchmarks.md"
THEORY = common.ROOT / "docs" / "hamming-theory.md"
GUIDE = common.ROOT / "docs" / "hamming.md"


FILE_TIMES = (("save", 1), ("open", 1000), ("first_search", 1000), ("verify", 1))
"""Columns of files, and by what seconds are multiplied."""


def number(value: Any) -> str:
    """Three figures, with commas; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def cells(row: Row, names: Iterable[str]) -> list[str]:
    return [number(row.get(name)) for name in names]


def plain(rows: list[Row], columns: dict[str, str]) -> str:
    """Rows as they are; the task is named where it changes."""
    lines = []
    last = None
    for row in rows:
        task = row["task"] if row["task"] != last else ""
        last = row["task"]
        lines.append([task, row["who"], *cells(row, columns)])
    return common.table(["task", "who", *columns.values()], lines)


def ratios(rows: list[Row], figure: str, ours: Callable[[Row], bool]) -> str:
    """How many times nearkin each of the others is, a line per task."""
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows):
        group = [row for row in rows if row["task"] == task]
        mine = next((row for row in group if ours(row)), None)
        if mine is None:
            continue
        for row in group:
            if row is not mine and row.get(figure):
                ratio = mine[figure] / row[figure] if figure == "qps" else row[figure] / mine[figure]
                lines.append([task, row["who"], common.ratio(ratio)])
    return common.table(["task", "nearkin against", "times"], lines)


def radius(rows: list[Row]) -> str:
    columns = {"qps": "queries per CPU second", "build": "build, s", "bytes_each": "bytes each", "recall": "recall"}
    return plain(rows, {**columns, "tables": "tables"})


def growth(rows: list[Row]) -> str:
    searches = sorted((row for row in rows if row["task"] != "file"), key=lambda row: (row["who"], row["n"]))
    lines = [
        [
            row["who"],
            number(row["n"]),
            number(1e6 / row["qps"]),
            *cells(row, ("bytes_each", "build", "peak_gb", "tables", "candidates")),
        ]
        for row in searches
    ]
    header = ["method", "n", "µs per query", "bytes each", "build, s", "peak GB", "tables", "candidates"]
    files = [
        [
            number(row["n"]),
            number(row["bytes"] / 1e9),
            *(number(row[each] * unit) for each, unit in FILE_TIMES),
        ]
        for row in rows
        if row["task"] == "file"
    ]
    names = ["n", "GB", "save, s", "open, ms", "first query, ms", "verify, s"]
    return common.table(header, lines) + "\n\n" + common.table(names, files)


def scan(rows: list[Row]) -> str:
    limit = next(row for row in rows if row["task"] == "limits")
    lines = [
        [row["task"], row["who"], number(row["per_s"] / 1e9), number(row.get("of_limit"))]
        for row in rows
        if row["task"] != "limits"
    ]
    bounds = (
        f"Limits of the machine, measured in the same run by `bench/popcount_limit.c`: {limit['read_bytes'] / 1e9:.1f} "
        f"GB per second read; {limit['batch'] / 1e9:.1f} billion comparisons with the radius and "
        f"{limit['distances'] / 1e9:.1f} billion distances per second, in blocks of the first-level cache. A batch is "
        "held against the larger of the two, one query against reading 8 bytes per fingerprint. Above 1, the scan "
        "counts half of a fingerprint and skips the rest."
    )
    return common.table(["task", "who", "billion per second", "of the limit"], lines) + "\n\n" + bounds


def threads(rows: list[Row]) -> str:
    lines = [[row["task"], *cells(row, ("one", "two", "ratio"))] for row in rows]
    return common.table(["task", "one thread, wall s", "two, wall s", "ratio"], lines)


def skew(rows: list[Row]) -> str:
    columns = {
        "qps": "queries per CPU second",
        "scan_qps": "by scan",
        "matches_each": "matches each",
        "build": "build, s",
    }
    lines = [[row["task"], *cells(row, columns)] for row in rows if "qps" in row]
    extra = "".join(
        f"\n\nAsked for the copies ({row['task']}): {row['matches']:,} matches at {row['ns_a_match']:.3g} ns each."
        for row in rows
        if "qps" not in row
    )
    return common.table(["data", *columns.values()], lines) + extra


def top(rows: list[Row]) -> str:
    columns = {"qps": "queries per CPU second", "recall": "recall", "tenth_distance": "mean distance of the tenth"}
    return plain(rows, columns)


def pairs(rows: list[Row]) -> str:
    return plain(rows, {"seconds": "CPU s", "pairs": "pairs"})


def pages(rows: list[Row]) -> str:
    """Eight billion pages by the costs of the largest index measured."""
    best = max(
        (row for row in rows if row["who"].startswith("auto,") and row["task"] != "file"), key=lambda row: row["n"]
    )
    million = max((row for row in rows if row["who"] == "auto" and row["n"] == 1_000_000), key=lambda row: row["qps"])
    brute = max((row for row in rows if row["who"] == "scan"), key=lambda row: row["n"])
    total = 8_000_000_000
    parts = total / best["n"]
    query = parts / best["qps"]
    streamed = total / million["qps"]
    lines = [
        [
            "memory",
            "64 GB per table: 256 to 1,280 GB; half compressed",
            f"{total * best['bytes_each'] / 1e9:,.0f} GB, tables included",
        ],
        ["a query", "within a few milliseconds", f"{1000 * query:.2g} ms of one core ({parts:.0f} indexes)"],
        ["a million queries", "", f"{1e6 * query:,.0f} CPU s; {1e6 * query / 200:,.1f} s of 200 cores"],
        [
            "a million queries, streaming what is stored through tables of the queries",
            "about 100 s of 200 mappers",
            f"{streamed:,.0f} CPU s; {streamed / 200:,.0f} s of 200 cores, {64e3 / streamed:,.0f} MB per second each",
        ],
        ["build", "", f"{parts * best['build'] / 60:,.0f} CPU minutes"],
        [
            "a query by scan",
            "",
            f"{total / best['n'] * best['n'] / (brute['n'] * brute['qps']):.2g} s of one core, in batches",
        ],
    ]
    return common.table(["8 billion fingerprints, radius 3 of 64", "the paper (2007)", "by measured costs"], lines)


def summary(sections: dict[str, list[Row]]) -> str:
    """What the guide says in short: nearkin's figure of each task, and how many times the others' it is."""
    lines = []
    for name, figure, unit in (("radius", "qps", "queries per CPU second"), ("wide", "qps", "queries per CPU second")):
        for task, group in by_task(sections.get(name, [])):
            mine = next((row for row in group if row["who"] == "nearkin"), None)
            if mine is not None:
                others = [(row["who"], mine[figure] / row[figure]) for row in group if row is not mine]
                lines.append([task, f"{number(mine[figure])} {unit}", beside(others)])
    for task, group in by_task(sections.get("top", [])):
        mine = next((row for row in group if row["who"] == "nearkin"), None)
        if mine is not None:
            others = [(row["who"], mine["qps"] / row["qps"]) for row in group if row is not mine]
            lines.append([task, f"{number(mine['qps'])} queries per CPU second", beside(others)])
    for task, group in by_task(sections.get("pairs", [])):
        mine = next((row for row in group if row["who"].startswith("nearkin")), None)
        if mine is not None:
            others = [(row["who"], row["seconds"] / mine["seconds"]) for row in group if row is not mine]
            lines.append([task, f"{number(mine['seconds'])} CPU s", beside(others)])
    searches = [row for row in sections.get("growth", []) if row["task"] != "file" and row["who"].startswith("auto")]
    for row in sorted(searches, key=lambda row: row["n"])[-1:]:
        figures = f"{number(1e6 / row['qps'])} µs per query, {number(row['bytes_each'])} bytes each"
        lines.append([f"{row['task']}, n = {row['n']:,}", figures, ""])
    return common.table(["task", "nearkin", "times the others"], lines)


def by_task(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    return [(task, [row for row in rows if row["task"] == task]) for task in dict.fromkeys(row["task"] for row in rows)]


def beside(others: list[tuple[str, float]]) -> str:
    return "; ".join(f"{who.removeprefix('nearkin, ')} {common.ratio(times)}" for who, times in others)


PARTS: dict[str, Callable[[list[Row]], str]] = {
    "radius": lambda rows: radius(rows) + "\n\n" + ratios(rows, "qps", lambda row: row["who"] == "nearkin"),
    "wide": lambda rows: radius(rows) + "\n\n" + ratios(rows, "qps", lambda row: row["who"] == "nearkin"),
    "scan": scan,
    "top": lambda rows: top(rows) + "\n\n" + ratios(rows, "qps", lambda row: row["who"] == "nearkin"),
    "pairs": lambda rows: pairs(rows) + "\n\n" + ratios(rows, "seconds", lambda row: row["who"].startswith("nearkin")),
    "growth": growth,
    "skew": skew,
    "threads": threads,
}


def write(run: dict[str, Any]) -> None:
    """Put every section that was run into its place of the page."""
    for name, make in PARTS.items():
        rows = run["sections"].get(name)
        if rows:
            common.splice(PAGE, f"hamming-{name}", make(rows))
    if run["sections"].get("growth"):
        common.splice(THEORY, "hamming-pages", pages(run["sections"]["growth"]))
    common.splice(GUIDE, "hamming-summary", summary(run["sections"]))
