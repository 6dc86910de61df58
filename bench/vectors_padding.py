"""What padding costs and gives: codes of dimensions that are no power of two, for `bench/vectors.py --part padding`.

Rotations by Walsh-Hadamard transforms need a power of two. A vector of 96 dimensions is padded with zeros to 128 and
gets a code of 128 bits; or it is cut into blocks of 64 and 32; or its first 64 and its last 64 coordinates are rotated
in turn. The last two give 96 bits. Beside them stands a random orthogonal matrix (Haar) of 96 rows. Computed in NumPy
with the estimate of nearkin's rotation codes and no rounding of queries, since only errors are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from vectors_curves import rows_of

Rotation: TypeAlias = Callable[[Any], Any]

SETS = ("lsa", "mnist")
K, WANTED = 10, 0.95
QUERIES, SEEDS, ROUNDS = 200, 4, 3


def hadamard(rows: Any) -> Any:
    """The orthonormal Walsh-Hadamard transform of each row; their length is a power of two."""
    size = rows.shape[1]
    out = rows.copy()
    half = 1
    while half < size:
        parts = out.reshape(len(out), -1, 2, half)
        out = np.stack((parts[:, :, 0] + parts[:, :, 1], parts[:, :, 0] - parts[:, :, 1]), axis=2)
        out = out.reshape(len(rows), size)
        half *= 2
    return out / np.sqrt(size)


def padded(d: int, rng: Any) -> Rotation:
    """Zeros up to the next power of two, then rounds of signs and transforms."""
    size = 1 << (d - 1).bit_length()
    signs = rng.choice((-1.0, 1.0), (ROUNDS, size))

    def rotate(rows: Any) -> Any:
        out = np.pad(rows, ((0, 0), (0, size - d)))
        for flips in signs:
            out = hadamard(flips * out)
        return out

    return rotate


def blocks(d: int, rng: Any) -> Rotation:
    """The coordinates in random order, cut into powers of two, each rotated alone."""
    order = rng.permutation(d)
    sizes = [1 << bit for bit in range(d.bit_length() - 1, -1, -1) if d >> bit & 1]
    starts = np.cumsum([0, *sizes])
    signs = rng.choice((-1.0, 1.0), (ROUNDS, d))

    def rotate(rows: Any) -> Any:
        out = rows[:, order]
        for flips in signs:
            out = flips * out
            cut = [hadamard(out[:, a:b]) for a, b in pairwise(starts)]
            out = np.concatenate(cut, axis=1)
        return out

    return rotate


def ends(d: int, rng: Any) -> Rotation:
    """The largest power of two of first and of last coordinates in turn, with signs before each, twice the rounds."""
    size = 1 << (d.bit_length() - 1)
    signs = rng.choice((-1.0, 1.0), (2 * ROUNDS, d))

    def rotate(rows: Any) -> Any:
        out = rows
        for turn, flips in enumerate(signs):
            out = flips * out
            where = slice(0, size) if turn % 2 == 0 else slice(d - size, d)
            out[:, where] = hadamard(out[:, where])
        return out

    return rotate


def haar(d: int, rng: Any) -> Rotation:
    """A random orthogonal matrix."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    matrix = q * np.sign(np.diag(r))
    return lambda rows: rows @ matrix


LAYOUTS: dict[str, Callable[[int, Any], Rotation]] = {
    "padded": padded,
    "blocks": blocks,
    "first and last": ends,
    "Haar": haar,
}


def estimates(X: Any, Q: Any, rotate: Rotation) -> tuple[Any, Any, int]:
    """Estimated squared distances and errors of cosines, both (queries, rows), and the bits of a code (RaBitQ,
    section 3.2): of unit vectors o and q the estimate of the cosine is <b, q> / <b, o> with the signs b of o.
    """
    mean = X.mean(axis=0)
    X, Q = X - mean, Q - mean
    lengths, asked = np.linalg.norm(X, axis=1), np.linalg.norm(Q, axis=1)
    rows, queries = X / np.maximum(lengths, 1e-30)[:, None], Q / asked[:, None]
    turned = rotate(rows)
    signs = np.where(turned < 0, -1.0, 1.0)
    cosines = rotate(queries) @ signs.T / np.abs(turned).sum(axis=1)
    return (
        asked[:, None] ** 2 + lengths**2 - 2 * asked[:, None] * lengths * cosines,
        cosines - queries @ rows.T,
        (turned.shape[1]),
    )


def needed(estimated: Any, X: Any, Q: Any) -> int:
    """How many rows with the least estimates hold the wanted share of the true neighbours."""
    norms = (X**2).sum(axis=1)
    near = np.argpartition(norms - 2 * Q @ X.T, K, axis=1)[:, :K]
    ranks = np.argsort(np.argsort(estimated, axis=1, kind="stable"), axis=1)
    places = np.sort(np.take_along_axis(ranks, near, axis=1).ravel())
    return int(places[int(np.ceil(WANTED * len(places))) - 1]) + 1


def measured(data: Path, quick: bool) -> Iterator[dict[str, Any]]:
    """A line for each set and layout, the mean over seeds."""
    for name in SETS:
        X, Q, _, _ = rows_of(data, name, quick)
        X, Q = np.asarray(X, np.float64), np.asarray(Q[:QUERIES], np.float64)
        for layout, drawn in LAYOUTS.items():
            found = []
            for seed in range(SEEDS):
                estimated, errors, bits = estimates(X, Q, drawn(X.shape[1], np.random.default_rng(seed)))
                found.append((float(np.sqrt((errors**2).mean())), needed(estimated, X, Q)))
            error, ranked = np.mean(found, axis=0)
            line = {"set": name, "dimensions": X.shape[1], "rotation": layout, "bits": bits}
            line |= {"error": round(float(error), 5), "rows": round(float(ranked), 1)}
            print(line, flush=True)
            yield line
