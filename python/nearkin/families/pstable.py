"""p-stable projections: integer keys that are equal for vectors at a small L2 or L1 distance.

    h_j(x) = ⌊(a_j·x + b_j) / w⌋        a_j Gaussian (L2) or Cauchy (L1), b_j uniform in [0, w)

a·x − a·y is distributed as ‖x − y‖_p times one Gaussian or Cauchy number, so the probability of equal keys depends only
on the ratio of distance to width (`nearkin.theory.pstable`). It is the same anywhere in space.

`width="auto"` is 4 R, where R is the median distance of a sampled vector to its nearest neighbour in a sample: at
distance R a key is equal with probability 0.80 (L2) or 0.62 (L1). Neighbours in a sample are farther away than among
all vectors, so R is an upper estimate; `nearkin.theory.choose` gives better widths because it considers the index.

With `u_functions` the keys of tables are pairs of m half keys (E2LSH's manual): m (m − 1) / 2 tables from m · k / 2
functions. That needs about a tenth of the projections, but a few more tables, since tables share halves.

Cost: d multiplications per key. Sources: Datar, Immorlica, Indyk and Mirrokni (SoCG 2004), section 3; Andoni and Indyk,
E2LSH 0.1 User Manual (2005), section 3.4.1.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import draw_matrix, few_floor_codes, floor_codes
from nearkin.errors import bad_parameter, check_choice, check_number, input_error
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    Probes,
    ProjectionLabels,
    Projections,
    check_flag,
    check_scale,
)
from nearkin.vectors.arrays import Floats, Ints, Matrix, Rows
from nearkin.vectors.projection import Projection
from nearkin.vectors.sampling import neighbour_distances, sample_rows

_DIRECTIONS, _OFFSETS, _SAMPLE = 3, 4, 5
"""Streams of the seed."""
_NUM_QUERIES, _NUM_SAMPLES = 256, 4096
"""Sizes of the samples whose distances set the width: a few million distances, a fraction of a second."""


@dataclass(eq=False, repr=False)
class PStable(Family):
    """Integer keys from Gaussian or Cauchy projections, for L2 or L1 distances.

    Parameters
    ----------
    metric : {"l2", "l1"}, default "l2"
        Distance, by Gaussian or Cauchy projections.
    width : float or "auto", default "auto"
        Width of a cell in units of the distance, above 0. "auto" is four times the median distance of a vector to its
        nearest neighbour in a sample of at most 4,096 of the fitted vectors.
    hashes : int, default 16
        Number of keys, 1 to 65,536.
    u_functions : bool, default False
        Let `hash_layout` build the key of a table from two halves that several tables share.
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
    Keys are 64-bit integers that saturate. Vectors must be finite and are not normalised.

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
    projection_labels = ProjectionLabels(
        "projection in widths of a cell", "rounded down", "distance to the edge of the cell, in widths"
    )

    metric: Literal["l2", "l1"] = "l2"
    width: float | Literal["auto"] = "auto"
    hashes: int = 16
    _: KW_ONLY
    u_functions: bool = False
    seed: int = 0

    directions_: npt.NDArray[np.float32] = field(init=False)
    offset_: Floats = field(init=False)
    width_: float = field(init=False)

    @property
    def distance(self) -> Distance:
        """The metric."""
        return self.metric

    @property
    def num_alternatives(self) -> int:
        """2: the cells on both sides."""
        return 2

    def _check(self) -> None:
        super()._check()
        check_choice("metric", self.metric, "l2", "l1")
        check_scale("width", self.width)
        check_flag("u_functions", self.u_functions)

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
        """Return four times the median distance of sampled vectors to the nearest vector that is not equal."""
        base = sample_rows(rows, _NUM_SAMPLES, self.seed, _SAMPLE)
        nearest = neighbour_distances(base, self.metric, 1, _NUM_QUERIES)
        if not len(nearest):
            why = "1 sample has no distances" if len(base) == 1 else "all sampled vectors are equal"
            raise input_error("X", f"{why}, so no width follows from them; give width= a number")
        return 4.0 * float(np.median(nearest))

    def _transform(self, rows: Rows) -> Codes:
        keys = np.empty((len(rows), self.hashes), np.int64)
        if rows.values is not None and self._projection.is_small_batch(rows):
            functions = (self.offset_, *self._projection.functions[1:])
            few_floor_codes(rows.values, rows.first, self.directions_, functions, self.width_, keys)
            return keys
        for part, batch in self._projection.batches(rows):
            norms, out = batch.norm_bounds(), keys[part]

            def kernel(batch: Rows, products: Matrix, norms: Floats = norms, out: Ints = out) -> tuple[Ints, Ints]:
                bounds = self._projection.bounds(batch, norms)
                return floor_codes(products, self.width_, self.offset_, bounds, out)

            unsure, columns, values = self._projection.decide(batch, kernel)
            out[unsure, columns] = saturate(np.floor((values + self.offset_[columns]) / self.width_))
        return keys

    def _values(self, rows: Rows) -> Floats:
        return (rows.all_products(self.directions_) + self.offset_) / self.width_

    def _projections(self, rows: Rows) -> Projections:
        values = self._values(rows)
        above = values - np.floor(values)
        return Projections(values, np.full_like(values, np.nan), np.minimum(above, 1.0 - above))

    def _probes(self, rows: Rows, count: int) -> Probes:
        positions = self._values(rows)
        floor = np.floor(positions)
        keys, above = saturate(floor), positions - floor
        # The cost of a neighbouring cell is the squared distance to its edge, in units of the width.
        down, up = above**2, (1.0 - above) ** 2
        lower = down <= up
        costs = np.stack([np.where(lower, down, up), np.where(lower, up, down)], axis=-1)
        step = np.where(lower, -1, 1)
        others = np.stack([shift_keys(keys, step), shift_keys(keys, -step)], axis=-1)
        return Probes(keys, others[..., :count], costs[..., :count])

    def hash_layout(self, num_tables: int, hashes_per_table: int) -> Ints:
        """Return the functions of each table; with `u_functions` pairs of halves: (0, 1), (0, 2), (1, 2), (0, 3), ...

        Parameters
        ----------
        num_tables, hashes_per_table : int
            L and k; k must be even with `u_functions`.

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
        """Return the probability of equal keys at these distances, with `width_` after `fit`, before it with `width`.

        Parameters
        ----------
        value : float or array
            Distance, 0 or more.

        Raises
        ------
        ParameterError
            A negative distance; `width="auto"` before `fit`.
        """
        return theory.pstable(value, self.metric, width=self._fitted_value("width"))

    def table_probability(self, value: npt.ArrayLike, num_tables: int, hashes_per_table: int) -> Floats:
        """Return the probability of a shared bucket; with `u_functions` that of `nearkin.theory.u_tables`."""
        if not self.u_functions:
            return super().table_probability(value, num_tables, hashes_per_table)
        return theory.u_tables(self.collision_probability(value), hashes_per_table, num_tables)


_INT64_END = math.ldexp(1.0, 63)


def saturate(floors: Floats) -> Ints:
    """Return whole `float64` numbers as int64, saturating."""
    keys = np.clip(floors, -_INT64_END, math.nextafter(_INT64_END, 0.0)).astype(np.int64)
    keys[floors >= _INT64_END] = np.iinfo(np.int64).max
    return keys


def shift_keys(keys: Ints, step: npt.NDArray[np.int64]) -> Ints:
    """Return keys + step, saturating; step is 1 or -1."""
    end = np.where(step > 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    return np.where(keys == end, keys, keys + np.where(keys == end, 0, step))
