"""Shared style of the documentation's figures: colours, sizes, and reproducible SVG.

Text is stored as text and not as paths. So files are small, screen readers can read them, and they use the reader's
font.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

TEAL, AMBER, BLUE, RED, GREY, PALE = "#0f766e", "#b45309", "#1d4ed8", "#b91c1c", "#6b7280", "#d1d5db"
COLOURS = (TEAL, AMBER, BLUE, RED, GREY)
MOST = 60_000
"""Maximum size of a figure in bytes."""

plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "nearkin",
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.prop_cycle": mpl.cycler(color=COLOURS),
        "axes.grid": True,
        "grid.color": "#eceff1",
        "grid.linewidth": 0.8,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "lines.linewidth": 1.8,
        "path.simplify_threshold": 0.3,
    }
)


def load_run(benchmark: str) -> dict[str, Any]:
    """Return the newest run of a benchmark, or the one that the second argument of the command line names."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
    from common import latest

    run: dict[str, Any] = latest(benchmark, *sys.argv[2:3])
    return run


def panels(columns: int = 1, *, height: float = 3.2, width: float = 8.2, **options: Any) -> tuple[Any, Any]:
    """Return a figure and its panels, side by side."""
    figure, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained", **options)
    return figure, axes


def plain(*axes: Any) -> None:
    """Hide the axes of panels for drawings, with the same scale in both directions."""
    for panel in axes:
        panel.set_axis_off()
        panel.set_aspect("equal")


def write(figure: Any, path: Path, title: str) -> None:
    """Save a figure with a title that describes it."""
    figure.savefig(path, format="svg", metadata={"Date": None, "Title": title})
    plt.close(figure)
    text = path.read_text(encoding="utf-8")
    # Round coordinates to a tenth of a point, but do not change text.
    text = re.sub(r"<[^!?>]*>", lambda tag: re.sub(r"(?<=\d\.\d)\d+", "", tag[0]), text)
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    path.write_text(text, encoding="utf-8")
    if len(text) > MOST:
        raise SystemExit(f"{path} has {len(text):,} bytes; draw fewer points, {MOST:,} are enough")
