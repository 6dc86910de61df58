"""Draw how a deduplication grows: docs/img/growth.svg and docs/img/driver.svg.

    python tools/plot_growth.py docs/img

`growth.svg` is the main job of the newest run of `bench/dedup.py`, and one of 10 million documents from docs/dedup.md;
`driver.svg` is the decision of an engine's driver, of `bench/spark_engines.py --links`. Needs matplotlib (the `docs`
dependency group).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from drawing import AMBER, GREY, TEAL, load_run, panels, write


def growth() -> Any:
    """Draw CPU seconds and peak memory of one thread by the number of documents, with a line of linear growth."""
    rows = [row for row in load_run("dedup-natural")["corpora"].values() if row["corpus"] == "English, 1 KB"]
    points = [(row["documents"], row["results"]["nearkin"]) for row in rows]
    points.append((10_000_000, {"cpu": 300.5, "peak_mb": 4617}))
    sizes, used = zip(*sorted(points, key=lambda point: point[0]), strict=True)
    figure, axes = panels(2, height=3.2, width=8.2)
    for panel, figure_of, label in zip(axes, ("cpu", "peak_mb"), ("CPU seconds", "peak of memory, MB"), strict=True):
        values = [run[figure_of] for run in used]
        panel.plot(sizes, values, marker="o", color=TEAL)
        panel.plot(sizes[:: len(sizes) - 1], [values[0], values[0] * sizes[-1] / sizes[0]], ":", color=GREY)
        for place, height in zip(sizes, values, strict=True):
            panel.annotate(f"{height:,.0f}", (place, height), (5, -10), textcoords="offset points", fontsize=8)
        panel.set(xscale="log", yscale="log", xlabel="documents of 1 KB", title=label)
    return figure, "CPU seconds and peak of memory of a deduplication, by the number of documents"


def driver() -> Any:
    """Draw the peak of memory of the driver by the number of documents that the decision removes."""
    results = load_run("links")["results"]
    figure, panel = panels(1, height=3.2, width=6)
    for cluster, colour in (("absorb", TEAL), ("components", AMBER)):
        runs = [row["engines"]["sail"] for name, row in results.items() if name.endswith(cluster)]
        points = sorted((run["removed"], run["driver_mb"]) for run in runs)
        panel.plot(*zip(*points, strict=True), marker="o", color=colour, label=cluster)
    panel.set(xscale="log", ylim=(0, None), xlabel="removed documents", ylabel="peak of the driver, MB")
    panel.minorticks_off()
    panel.set_xticks([2e5, 5e5, 1e6, 2e6, 5e6], labels=["200,000", "500,000", "1 million", "2 million", "5 million"])
    panel.legend()
    return figure, "Peak of the memory of the driver, by the number of removed documents"


if __name__ == "__main__":
    for draw in (growth, driver):
        drawing, title = draw()
        write(drawing, Path(sys.argv[1]) / f"{draw.__name__}.svg", title)
