"""Draw how the time of a query grows with the number of vectors: docs/img/vectors.svg.

    python tools/plot_vectors.py docs/img/vectors.svg [FILE]

Points are the growth part of the newest run of `bench/vectors.py`, or of FILE in `bench/runs/`. Needs matplotlib (the
`docs` dependency group).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
COLOURS = {
    "BLAS brute force": "#666666",
    "faiss IndexLSH": "#b15928",
    "nearkin codes": "#1f78b4",
    "nearkin cells, tuned to .95": "#6a3d9a",
    "nearkin tables": "#e31a1c",
    "faiss HNSW": "#33a02c",
}


def main() -> None:
    """Draw the figure."""
    mpl.rcParams.update(
        {"svg.hashsalt": "nearkin", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    sys.path.insert(0, str(ROOT / "bench"))
    from common import latest

    growth = latest("vectors", sys.argv[2] if len(sys.argv) > 2 else "")["results"]["growth"]
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    for name, colour in COLOURS.items():
        points = [(row["n"], line) for row in growth for line in row["lines"] if line["name"] == name]
        for axis, key in zip(axes, ("single_us", "batch_us", "recall"), strict=True):
            label = name if key == "single_us" else None
            axis.plot([n for n, _ in points], [line[key] for _, line in points], marker="o", color=colour, label=label)
    for axis, title in zip(axes, ("one query", "a batch of 200"), strict=False):
        axis.set(title=title, ylabel="CPU microseconds per query", yscale="log")
    axes[2].set(title="recall@10", ylim=(0, 1.02))
    for axis in axes:
        axis.set(xscale="log", xlabel="vectors of 128 dimensions")
        axis.grid(alpha=0.25)
    figure.legend(loc="outside lower center", ncols=len(COLOURS), frameon=False)
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, **({"metadata": {"Date": None}} if target.suffix == ".svg" else {}))


if __name__ == "__main__":
    main()
