"""Draw what a search of radius 3 in 64 bits probes, stores and costs as n grows: docs/img/hamming.svg.

    python tools/plot_hamming.py docs/img/hamming.svg [FILE]

Lines are the formulas of `nearkin.theory`. Points are the growth section of the newest run of
`bench/hamming_search.py`, or of FILE in `bench/runs/`. Needs matplotlib (the `docs` dependency group).
"""

from __future__ import annotations

import sys
from typing import Any

from drawing import load_run, panels
from nearkin.theory import hamming_cost, permuted_tables

RADIUS, BITS = 3, 64
LINES: dict[str, dict[str, Any]] = {
    "scan": {"method": "scan"},
    "bits": {"method": "bits"},
    "blocks: 4 tables": {"method": "blocks"},
    "multi: 3 tables of slot numbers": {"method": "multi", "blocks": 3, "sketch": 0},
    "tables: 5 blocks, 2 agree": {"method": "tables", "blocks": 5},
}
COLOURS = dict(zip(LINES, ("#666666", "#b15928", "#1f78b4", "#e31a1c", "#33a02c"), strict=True))
# Names in the run for each line.
POINTS = {
    "scan": "scan",
    "blocks": "blocks: 4 tables",
    "auto, memory_limit of 30 bytes each": "multi: 3 tables of slot numbers",
}
# Nanoseconds of the planner's cost model, from docs/hamming.md.
COMPARE = 0.025


def main() -> None:
    """Draw the figure."""
    figure, (left, middle, right) = panels(3, height=4.8, width=13)
    sizes = [2 ** (k / 4) for k in range(68, 137)]
    for name, options in LINES.items():
        costs = [hamming_cost(n=int(n), bits=BITS, radius=RADIUS, **options) for n in sizes]
        line = {"color": COLOURS[name], "linewidth": 1.4}
        left.plot(sizes, [cost.candidates for cost in costs], label=name, **line)
        middle.plot(sizes, [cost.total_bytes / int(n) for cost, n in zip(costs, sizes, strict=True)], **line)
    for splits in ((4,), (5,), (4, 4), (6,)):
        plans = permuted_tables(BITS, RADIUS, 34, splits)
        label = "the paper's tables, $2^{34}$" if splits == (4,) else None
        for axis, height in ((left, sum(plans.candidates)), (middle, 8 * plans.tables)):
            axis.plot(2**34, height, "k*", markersize=8, linestyle="none", label=label if axis is left else None)
            axis.annotate(
                str(plans.tables),
                (2**34, height),
                (-8, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8,
            )
    measured = [row for row in load_run("hamming")["sections"]["growth"] if row["task"] != "file"]
    for row in measured:
        if row["who"] in POINTS:
            mark = {"color": COLOURS[POINTS[row["who"]]], "linestyle": "none", "marker": "o", "markersize": 6}
            left.plot(row["n"], row["candidates"], **mark)
            middle.plot(row["n"], row["bytes_each"], **mark)
    for who, name in POINTS.items():
        points = sorted((row["n"], 1e6 / row["qps"]) for row in measured if row["who"] == who)
        if points:
            right.plot(*zip(*points, strict=True), color=COLOURS[name], marker="o")
    right.plot(sizes, [n * COMPARE / 1000 for n in sizes], color=COLOURS["scan"], linestyle=":")
    left.set(title="entries counted per query", ylabel="candidates")
    middle.set(title="memory: fingerprint, row number, tables", ylabel="bytes per fingerprint")
    right.set(title="time (dotted: the scan at 0.025 ns each)", ylabel="CPU microseconds per query")
    right.set(xlim=(5e5, 2e8), ylim=(0.1, 1e5))
    for axis in (left, middle, right):
        axis.set(xscale="log", yscale="log", xlabel="fingerprints")
        axis.grid(alpha=0.25)
    middle.set_yticks([10, 20, 50, 100, 200], labels=["10", "20", "50", "100", "200"])
    middle.minorticks_off()
    figure.legend(loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle("Radius 3 of 64 bits: lines are formulas, points are measured on one thread", fontsize=10)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
