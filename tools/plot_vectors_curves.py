"""Draw recall against time of all indexes, one figure per data set: docs/img/vectors-SET.svg.

    python tools/plot_vectors_curves.py docs/img [FILE]

Points are the curves of the newest run of `bench/vectors.py --part curves`, or of FILE in `bench/runs/`. Needs
matplotlib (the `docs` dependency group).
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.ticker import StrMethodFormatter

from drawing import load_run


def main() -> None:
    """Draw the figures."""
    results = load_run("vectors")["results"]
    from vectors import THREADS, pareto_front  # `load_run` adds its folder.

    folder = Path(sys.argv[1])
    for name, curves in {**results.get("curves", {}), **results.get("million", {})}.items():
        modes = [each for each in THREADS if each in curves]
        panels = [(each, key) for each in modes for key in ("single_us", "batch_us")]
        figure, axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 4.8), layout="constrained", squeeze=False)
        for axis, (threads, key) in zip(axes[0], panels, strict=True):
            for position, line in enumerate(curves[threads]):
                points = pareto_front([point for point in line["points"] if point["k"] == 10], key)
                own = line["name"].startswith("nearkin")
                style = {"linewidth": 2.4 if own else 1.1, "marker": "o" if own else ".", "color": f"C{position % 10}"}
                label = line["name"] if axis is axes[0][0] else None
                axis.plot(*zip(*points, strict=True), label=label, linestyle="-" if position < 10 else "--", **style)
            what = "one query at a time" if key == "single_us" else "all queries in a batch"
            axis.set(title=f"{what}, {threads}", xlabel="recall@10", yscale="log", xlim=(0.8, 1.002))
            # Write numbers in full instead of powers of ten.
            axis.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axis.yaxis.set_minor_formatter(StrMethodFormatter("{x:,.0f}"))
            axis.grid(alpha=0.25)
        axes[0][0].set(ylabel="microseconds per query")
        title = "descriptors of pictures" if name.isdigit() else name
        figure.suptitle(f"{title}: {curves['n']:,} × {curves['d']}")
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(folder / f"vectors-{name}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
