"""Draw how each family partitions the plane: docs/families/*.svg.

    python tools/plot_families.py docs/families

A grid of points is hashed with few functions of the family, fitted on the points of three clusters. Each region with
one hash value has one colour, and the dots are the clusters.
"""

from __future__ import annotations

import colorsys
import sys
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import ConvergenceWarning
from nearkin.families import (
    ITQ,
    BitSampling,
    CrossPolytope,
    Family,
    Hyperplane,
    KernelLSH,
    PStable,
    RandomFourier,
    ShiftInvariant,
    SparseSimHash,
    SphericalHash,
)

GRID, PIXEL = 96, 4

FAMILIES: dict[str, Family] = {
    "hyperplane": Hyperplane(4, center=True, seed=4),
    "pstable": PStable(width=1.6, hashes=2, seed=2),
    "cross-polytope": CrossPolytope(2, rotation="gaussian", seed=5),
    "spherical": SphericalHash(4, seed=1),
    "kernel": KernelLSH(4, anchors=60, seed=3),
    "shift-invariant": ShiftInvariant(3, gamma=0.6, seed=6),
    "random-fourier": RandomFourier(2, gamma=0.1, form="phase", seed=1),
    "sparse": SparseSimHash(4, projection="gaussian", seed=7),
    "bit-sampling": BitSampling(6, limits=(-4.0, 4.0), seed=2),
    "itq": ITQ(2, seed=1),
}


def clusters() -> NDArray[np.float64]:
    """Return three groups of fifty points."""
    rng = np.random.default_rng(11)
    centres = np.array([[-1.8, -1.0], [1.9, -0.6], [0.2, 1.9]])
    return np.repeat(centres, 50, axis=0) + 0.55 * rng.standard_normal((150, 2))


def values(family: Family, points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a number for each distinct hash value of the points."""
    hashes = np.round(family.transform(points)[:, :1] * 3) if family.kind == "features" else family.hash_values(points)
    return np.unique(hashes, axis=0, return_inverse=True)[1].reshape(-1)


def draw(family: Family) -> str:
    """Return the SVG of a family."""
    data = clusters()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        family.fit(data)
    axis = (np.arange(GRID) + 0.5) / GRID * 8 - 4
    x, y = np.meshgrid(axis, -axis)
    cells = values(family, np.stack([x.ravel(), y.ravel()], axis=1)).reshape(GRID, GRID)
    size = GRID * PIXEL
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" shape-rendering="crispEdges">']
    for row in range(GRID):
        start = 0
        for column in range(1, GRID + 1):
            if column == GRID or cells[row, column] != cells[row, start]:
                hue = float(cells[row, start]) * 0.618034 % 1
                red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, 0.82, 0.6))
                width = (column - start) * PIXEL
                colour = f"#{red:02x}{green:02x}{blue:02x}"
                attributes = f'x="{start * PIXEL}" y="{row * PIXEL}" width="{width}" height="{PIXEL}"'
                lines.append(f'<rect {attributes} fill="{colour}"/>')
                start = column
    for px, py in (data * [1, -1] + 4) / 8 * size:
        lines.append(f'<circle cx="{px:.0f}" cy="{py:.0f}" r="2.5" fill="#333"/>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Draw every family into the folder of the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, family in FAMILIES.items():
        (folder / f"{name}.svg").write_text(draw(family), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
