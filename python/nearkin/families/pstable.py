"""p-stable projections: integer keys that are equal for vectors at a small L2 or L1 distance.

    h_j(x) = ⌊(a_j·x + b_j) / w⌋        a_j Gaussian (L2) or Cauchy (L1), b_j uniform in [0, w)

a·x − a·y is distributed as ‖x − y‖_p times one Gaussian or Cauchy number, so the probability of equal keys depends on
the distance over the width alone: `nearkin.theory.pstable`. It is the same anywhere in space.

`width="auto"` is 4 R, R the median distance of a sampled vector to its nearest neighbour in a sample: at distance R a
key is equal with probability 0.80 (L2) or 0.62 (L1). Neighbours in a sample lie further apart than in all vectors,
so R is an upper estimate; `nearkin.theory.choose` does better, knowing the index.

With `u_functions` the keys of tables are pairs of m half keys (E2LSH's manual): m (m − 1) / 2 tables from m · k / 2
functions, about a tenth of the projections, at the price of a few more tables, since tables share halves.

Cost: d multiplications per key. Sources: Datar, Immorlica, Indyk and Mirrokni (SoCG 2004), section 3; Andoni and Indyk,
E2LSH 0.1 User Manual (2005), section 3.4.1.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import draw_matrix, few_floor_codes, floor_codes
from nearkin.errors import InputError, bad_parameter
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    Probes,
    Projections,
    Terms,
    check_flag,
    check_hashes,
    check_number,
    check_seed,
)
from nearkin.vectors.projection import Projection
from nearkin.vectors.rows import Floats, Ints, Matrix, Rows

_DIRECTIONS, _OFFSETS, _SAMPLE = 3, 4, 5
"""Streams of the seed."""
_QUERIES, _BASE = 256, 4096
"""Sizes of the samples whose distances give the width: a few million distances, a fraction of a second."""


class PStable(Family):
    """Integer keys from Gaussian or Cauchy projections; for L2 or L1 distances.

    Parameters
    ----------
    metric : {"l2", "l1"}, default "l2"
        Distance: Gaussian or Cauchy projections.
    width : float or "auto", default "auto"
        Width of a cell in units of the distance, above 0. "auto" is four times the median distance of a vector to its
        nearest neighbour in a sample of at most 4,096 of the fitted vectors.
    hashes : int, default 16
        Number of keys, 1 to 65,536.
    u_functions : bool, default False
        Whether `hash_layout` makes the key of a table from two halves that several tables share.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    directions_ : (hashes, d) float32
    offset_ : (hashes,) float64
        In [0, width_).
    width_ : float

    Notes
    -----
    Keys are 64-bit integers, and saturate. Vectors must be finite. Nothing is normalised.

    References
    ----------
    M. Datar, N. Immorlica, P. Indyk, V. Mirrokni (2004), Locality-sensitive hashing scheme based on p-stable
    distributions, SoCG, section 3.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.array([[0.0, 0.0], [0.1, 0.0], [50.0, 50.0]])
    >>> family = nk.families.PStable(width=4.0, hashes=200).fit(X)
    >>> keys = family.transform(X)
    >>> (keys[:1] == keys).mean(axis=1).round(1).tolist(), family.collision_probability([0.1, 70.7]).round(1).tolist()
    ([1.0, 1.0, 0.0], [1.0, 0.0])
    """

    name = "pstable"
    kind = "keys"
    _count = "hashes"
    terms = Terms("projection in widths of a cell", "rounded down", "way to the edge of the cell, in widths")
    _learned = ("directions_", "offset_", "width_")

    directions_: npt.NDArray[np.float32]
    offset_: Floats
    width_: float

    def __init__(
        self,
        metric: Literal["l2", "l1"] = "l2",
        width: float | Literal["auto"] = "auto",
        hashes: int = 16,
        *,
        u_functions: bool = False,
        seed: int = 0,
    ) -> None:
        self.metric = metric
        self.width = width
        self.hashes = hashes
        self.u_functions = u_functions
        self.seed = seed

    @property
    def distance(self) -> Distance:
        """The metric."""
        return self.metric

    @property
    def num_alternatives(self) -> int:
        """The cells on both sides."""
        return 2

    def _check(self) -> None:
        if self.metric not in ("l2", "l1"):
            raise bad_parameter("metric", repr(self.metric), '"l2" or "l1"')
        if self.width != "auto":
            check_number(
                "width", self.width, 'a number from 1e-100 to 1e100, or "auto"', lambda w: 1e-100 <= w <= 1e100
            )
        check_hashes("hashes", self.hashes)
        check_flag("u_functions", self.u_functions)
        check_seed(self.seed)

    def _fit(self, rows: Rows) -> None:
        self.width_ = self._auto_width(rows) if self.width == "auto" else float(self.width)
        kind = "gaussian" if self.metric == "l2" else "cauchy"
        directions = draw_matrix(kind, self.seed, _DIRECTIONS, 0, self.hashes, rows.d)
        self.directions_ = directions.reshape(self.hashes, rows.d)
        self.offset_ = draw_matrix("uniform", self.seed, _OFFSETS, 0, self.hashes, 1) * self.width_

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"directions_": (self.hashes, self.dimension_), "offset_": (self.hashes,)}

    def _check_learned(self) -> None:
        super()._check_learned()
        check_number("width_", self.width_, "a number above 0", lambda width: width > 0)

    def _derive(self) -> None:
        self._projection = Projection(self.directions_, self.offset_ + self.width_)

    def _auto_width(self, rows: Rows) -> float:
        """Four times the median distance of sampled vectors to the nearest other one that is not equal."""
        order = np.argsort(draw_matrix("word", self.seed, _SAMPLE, 0, 1, len(rows)), kind="stable")
        base = rows.take(np.sort(order[:_BASE])).wide().dense()
        nearest = []
        for at in range(min(_QUERIES, len(base))):
            difference = np.abs(base - base[at])
            distances = difference.sum(1) if self.metric == "l1" else np.sqrt((difference**2).sum(1))
            above = distances[distances > 0]
            if len(above):
                nearest.append(above.min())
        if not nearest:
            why = "1 sample has no distances" if len(base) == 1 else "all sampled vectors are equal"
            reason = f"{why}, so no width follows from them; give width= a number"
            raise InputError(f"X: {reason}", place="X", reason=reason)
        return 4.0 * float(np.median(nearest))

    def _transform(self, rows: Rows) -> Codes:
        keys = np.empty((len(rows), self.hashes), np.int64)
        if rows.values is not None and self._projection.are_few(rows):
            functions = (self.offset_, *self._projection.functions[1:])
            few_floor_codes(rows.values, rows.first, self.directions_, functions, self.width_, keys)
            return keys
        for place, batch in self._projection.batches(rows):
            norms, out = batch.norm_bounds(), keys[place]

            def kernel(batch: Rows, products: Matrix, norms: Floats = norms, out: Ints = out) -> tuple[Ints, Ints]:
                bounds = self._projection.bounds(batch, norms)
                return floor_codes(products, self.width_, self.offset_, bounds, out)

            unsure, columns, values = self._projection.decide(batch, kernel)
            out[unsure, columns] = saturate(np.floor((values + self.offset_[columns]) / self.width_))
        return keys

    def _projections(self, rows: Rows) -> Projections:
        values = (rows.all_products(self.directions_) + self.offset_) / self.width_
        above = values - np.floor(values)
        return Projections(values, np.full_like(values, np.nan), np.minimum(above, 1.0 - above))

    def _probes(self, rows: Rows, count: int) -> Probes:
        rows.norms()
        place = (rows.all_products(self.directions_) + self.offset_) / self.width_
        floor = np.floor(place)
        keys, above = saturate(floor), place - floor
        # The cell below costs the way down to its edge, the cell above the way up: squares, in units of the width.
        down, up = above**2, (1.0 - above) ** 2
        lower = down <= up
        costs = np.stack([np.where(lower, down, up), np.where(lower, up, down)], axis=-1)
        step = np.where(lower, -1, 1)
        others = np.stack([shifted(keys, step), shifted(keys, -step)], axis=-1)
        return Probes(keys, others[..., :count], costs[..., :count])

    def hash_layout(self, num_tables: int, hashes_per_table: int) -> Ints:
        """Functions of each table; with `u_functions` pairs of halves: (0, 1), (0, 2), (1, 2), (0, 3), and so on.

        Parameters
        ----------
        num_tables, hashes_per_table : int
            L and k; k even with `u_functions`.

        Raises
        ------
        ParameterError
            An odd number of hashes per table with `u_functions`.
        """
        if not self.u_functions:
            return super().hash_layout(num_tables, hashes_per_table)
        if hashes_per_table % 2:
            raise bad_parameter("hashes_per_table", hashes_per_table, "an even number with u_functions")
        half = np.arange(hashes_per_table // 2, dtype=np.int64)
        pairs = ((i, j) for j in range(1, num_tables + 1) for i in range(j))
        return np.array(
            [
                np.concatenate([len(half) * i + half, len(half) * j + half])
                for (i, j), _ in zip(pairs, range(num_tables), strict=False)
            ]
        )

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Probability of equal keys at these distances, with `width_` after `fit`, else with `width`.

        Parameters
        ----------
        value : float or array
            Distance, 0 or more.

        Raises
        ------
        ParameterError
            A negative distance; `width="auto"` before `fit`.
        """
        width = getattr(self, "width_", self.width)
        if width == "auto":
            raise bad_parameter("width", '"auto"', "a number, or call fit(X) first")
        return theory.pstable(value, self.metric, width=width)

    def table_probability(self, value: npt.ArrayLike, num_tables: int, hashes_per_table: int) -> Floats:
        """As for every family; with `u_functions` tables share halves, and it is `nearkin.theory.u_tables`."""
        if not self.u_functions:
            return super().table_probability(value, num_tables, hashes_per_table)
        return theory.u_tables(self.collision_probability(value), hashes_per_table, num_tables)


_END = math.ldexp(1.0, 63)


def saturate(floors: Floats) -> Ints:
    """Whole `float64` numbers as int64, the ends standing for what lies beyond."""
    inside = np.clip(floors, -_END, math.nextafter(_END, 0.0))
    keys = inside.astype(np.int64)
    keys[floors >= _END] = np.iinfo(np.int64).max
    return keys


def shifted(keys: Ints, step: npt.NDArray[np.int64]) -> Ints:
    """Keys + step, saturating: step is 1 or -1."""
    end = np.where(step > 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    return np.where(keys == end, keys, keys + np.where(keys == end, 0, step))
