"""Near images of handwritten digits by locality-sensitive hashing, which predict digits that are not in the index.

Runs on the 1,797 images of 8 x 8 pixels that are included in scikit-learn: `python examples/digits.py`. With matplotlib
and the argument `--picture digits.png` it also saves a picture of queries and their neighbours.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from sklearn.datasets import load_digits

import nearkin as nk


def main() -> None:
    """Index one half of the images and search for the other half."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="where to save a picture")
    arguments = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    base, queries = X[::2], X[1::2]
    family = nk.families.Hyperplane(bits=128, center=True, orthogonal=True, seed=0)
    index = nk.LSHIndex(family, metric="l2")
    settings = index.tune(base, recall=0.95, k=5)
    assert settings.tuning is not None
    hits = index.nearest(queries, k=5)
    votes = [Counter(y[::2][match.ids].tolist()).most_common(1)[0][0] for match in hits]
    print(f"{len(index)} images, {settings.num_candidates} candidates per query")
    print(f"recall measured by tune: {settings.tuning.measured_recall:.3f}")
    print(f"digits recognised by five neighbours: {np.mean(votes == y[1::2]):.3f} of {len(queries)}")
    if arguments.picture:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 7), layout="constrained")
        for row, query in enumerate(range(0, 800, 100)):
            images = [queries[query], *base[hits[query].ids]]
            for column, image in enumerate(images):
                axes = figure.add_subplot(8, 6, 6 * row + column + 1)
                axes.imshow(image.reshape(8, 8), cmap="gray_r")
                axes.set_axis_off()
        figure.savefig(arguments.picture)


if __name__ == "__main__":
    main()
