"""Draw how a store grows: docs/img/store.svg.

    python tools/plot_store.py docs/img/store.svg [FILE]

Points are the newest run of `bench/store.py --part growth`, or FILE in `bench/runs/`. Needs matplotlib (the `docs`
dependency group).
"""

from __future__ import annotations

import sys

from drawing import load_run, panels

COLOURS = {"simhash": "#1f78b4", "minhash": "#e31a1c"}
STYLES = {"copies": ":", "near": "--", "new": "-"}


def main() -> None:
    """Draw the figure."""
    results = load_run("store-growth")["results"]
    figure, axes = panels(3, height=4, width=13)
    for name, rows in results.items():
        sizes, colour = [row["documents"] for row in rows], COLOURS[name]
        axes[0].plot(sizes, [row["cpu_us_per_document"] for row in rows], marker="o", color=colour, label=name)
        for kind, style in STYLES.items():
            medians = [row["check"][kind]["median_ms"] for row in rows]
            axes[1].plot(sizes, medians, style, marker="o", color=colour, label=f"{name}, {kind}")
        axes[2].plot(sizes, [1000 * row["open"]["seconds"] for row in rows], marker="o", color=colour, label=name)
    axes[0].set(title="check_and_add, batches of 1,000", ylabel="CPU microseconds per document", ylim=(0, None))
    axes[1].set(title="one check", ylabel="milliseconds, median", ylim=(0, None))
    axes[2].set(title="opening and the first check", ylabel="milliseconds", ylim=(0, None))
    for axis in axes:
        axis.set(xscale="log", xlabel="documents in the store")
        axis.grid(alpha=0.25)
        axis.legend(frameon=False, fontsize=8, ncols=2 if axis is axes[1] else 1)
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
