"""Many real descriptors for `bench/vectors.py --part million`: SIFT of pictures that are turned, scaled, mirrored.

Each picture is seen through maps that a seed draws, until there are enough descriptors; of equal rows one is kept.
Plain noise would be too easy, and a row with noise added gives its neighbour away: here the neighbours of a row are
the same corner seen otherwise, and corners that look alike. Queries come from maps that no row comes from.

Pictures are those of a folder (`NEARKIN_PICTURES`), or the two that come with scikit-learn. Needs
opencv-python-headless.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vectors_curves import nearest_distances

QUERIES = 1000
SUFFIXES = {".jpg", ".jpeg", ".png"}


def pictures() -> list[Any]:
    """Pictures in grey."""
    import cv2

    if folder := os.environ.get("NEARKIN_PICTURES"):
        paths = sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in SUFFIXES)
        return [cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) for path in paths]
    from sklearn.datasets import load_sample_images

    return [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in load_sample_images().images]


def seen(image: Any, rng: Any) -> Any:
    """A picture turned, scaled, sheared, mirrored, of another brightness, and cropped."""
    import cv2

    height, width = image.shape
    angle, scale, shear = rng.uniform(0, 2 * np.pi), rng.uniform(0.6, 1.5), rng.uniform(-0.2, 0.2)
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turn = turn @ np.array([[rng.choice([-1, 1]), shear], [0, 1]])
    middle = np.array([width, height]) / 2 + rng.uniform(-0.2, 0.2, 2) * (width, height)
    moved = np.column_stack([turn, np.array([width, height]) / 2 - turn @ middle])
    found = cv2.warpAffine(image, moved, (width, height), borderMode=cv2.BORDER_REFLECT)
    return np.clip(found * rng.uniform(0.7, 1.3), 0, 255).astype(np.uint8)


def descriptors(seed: int) -> Iterator[Any]:
    """Descriptors of one view after the other, rounded as they are stored."""
    import cv2

    images, rng, sift = pictures(), np.random.default_rng(seed), cv2.SIFT_create()
    while True:
        for image in images:
            _, found = sift.detectAndCompute(seen(image, rng), None)
            if found is not None:
                yield found.astype(np.uint8)


def taken(seed: int, count: int) -> Any:
    """So many different descriptors."""
    parts: list[Any] = []
    held = 0
    for part in descriptors(seed):
        parts.append(part)
        held += len(part)
        if held >= count:
            rows = np.unique(np.concatenate(parts), axis=0)
            if len(rows) >= count:
                return np.random.default_rng(seed).permutation(rows)[:count].astype(np.float32)
            parts, held = [rows], len(rows)
    raise AssertionError("views end")


def rows(count: int, quick: bool) -> tuple[Any, Any, Any]:
    """Rows, queries, true distances of the hundred nearest."""
    X, Q = taken(1, 20_000 if quick else count), taken(2, 50 if quick else QUERIES)
    return X, Q, nearest_distances(X, Q, 100)
