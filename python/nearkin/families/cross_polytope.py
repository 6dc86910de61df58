"""Cross-polytope hashing: the nearest of the vertices ±e_i to a randomly rotated vector, for angles.

    h_j(x) = 2 i + [y_i < 0]        y = R_j x, i the index of the largest |y_i|

One value distinguishes 2 D directions, so it is worth log2(2 D) hyperplane bits. It separates angles better than the
same number of bits: for small angles its ρ tends to the best possible. The law, `nearkin.theory.cross_polytope`, is an
integral that is exact for Gaussian projections, the default in up to 8 dimensions. In more, R is three rounds of random
signs and Hadamard transforms over D, the smallest power of two not below d, which cost D log D instead of D². They
preserve lengths, so values agree less often than the law says: on average over pairs by 0.016 at d = 9, 0.01 at 16, and
0.006 from 32 on. A single pair departs further: by up to 0.17 at d = 8, 0.10 at 9, 0.04 at 16 and 0.02 from 17 on, and
in two dimensions by up to 0.8 (measured at cosines from 0.3 to 0.95).

The last value of a table may use fewer coordinates (`last_dims`), so that a table can have any number of buckets.

Sources: Andoni, Indyk, Laarhoven, Razenshteyn and Schmidt (NIPS 2015), sections 3 and 5. Kernel:
`crates/nearkin-core/src/families/cross_polytope.rs`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import PolytopeCore
from nearkin.errors import bad_parameter, check_choice, check_count
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    Probes,
    ProjectionLabels,
    Projections,
    check_directions,
)
from nearkin.vectors.arrays import Floats, Matrix, Rows

if TYPE_CHECKING:
    from typing_extensions import Self


_MAX_GAUSSIAN = 8
"""Dimensions up to which the default rotation is Gaussian."""


@dataclass(eq=False, repr=False)
class CrossPolytope(Family):
    """Nearest vertices of randomly rotated cross-polytopes, for angles (cosine).

    Parameters
    ----------
    hashes : int, default 2
        Number of values, 1 to 65,536.
    dims : int, optional
        Coordinates that compete, 1 to D: 2 · dims possible values. All by default.
    last_dims : int, optional
        Coordinates of the last value of each group, 1 to `dims`.
    group : int, optional
        Values of a group (the hashes of a table); by default all values are one group.
    rotation : {"auto", "hadamard", "gaussian"}, default "auto"
        Three rounds of signs and Hadamard transforms (D is the smallest power of two not below d), or a stored Gaussian
        matrix (D is d), which costs d · dims per value and has the exact law. "auto" is "gaussian" in up to 8
        dimensions, where Hadamard transforms are far from the law, and "hadamard" in more.
    seed : int, default 0
        0 to 2**64 - 1.

    Notes
    -----
    Norms do not matter; zero vectors are an error. The value is 2 i + [y_i < 0]; ties go to the lowest i.

    References
    ----------
    A. Andoni, P. Indyk, T. Laarhoven, I. Razenshteyn, L. Schmidt (2015), Practical and optimal LSH for angular
    distance, NIPS.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> values = nk.families.CrossPolytope(hashes=3, seed=1).fit(X).transform(X)
    >>> (values[0] == values[1]).tolist(), (values[0] == values[2]).tolist()
    ([True, True, True], [False, False, False])
    """

    name = "cross_polytope"
    kind = "keys"
    distance: ClassVar[Distance] = "cosine"
    _count = "hashes"
    projection_labels = ProjectionLabels(
        "largest coordinate after rotation, as a share of the length",
        "twice its index, plus 1 if it is negative",
        "lead over the next largest",
    )

    hashes: int = 2
    _: KW_ONLY
    dims: int | None = None
    last_dims: int | None = None
    group: int | None = None
    rotation: Literal["auto", "hadamard", "gaussian"] = "auto"
    seed: int = 0

    def _check(self) -> None:
        super()._check()
        check_choice("rotation", self.rotation, "auto", "hadamard", "gaussian")
        if self.dims is not None:
            check_count("dims", self.dims, 1, 2**32, "1 to the dimension of the rotated vectors")
        if self.last_dims is not None:
            check_count("last_dims", self.last_dims, 1, 2**32 if self.dims is None else self.dims, "1 to dims")
        if self.group is not None:
            check_count("group", self.group, 1, self.hashes, f"1 to hashes={self.hashes}")

    def _fit(self, rows: Rows) -> None:
        self._all_dims(rows.d)

    def _is_gaussian(self, d: int) -> bool:
        return self.rotation == "gaussian" or (self.rotation == "auto" and d <= _MAX_GAUSSIAN)

    def _all_dims(self, d: int) -> list[int]:
        """Return the number of competing coordinates of each function."""
        size = d if self._is_gaussian(d) else 1 << (d - 1).bit_length()
        dims = check_count("dims", size if self.dims is None else self.dims, 1, size, f"1 to {size} for vectors of {d}")
        last = check_count("last_dims", dims if self.last_dims is None else self.last_dims, 1, dims, f"1 to {dims}")
        group = self.hashes if self.group is None else self.group
        return [last if j % group == group - 1 else dims for j in range(self.hashes)]

    def _derive(self) -> None:
        self._dims = self._all_dims(self.dimension_)
        self._polytope = PolytopeCore(self.dimension_, self._dims, self.seed, self._is_gaussian(self.dimension_))

    @property
    def num_alternatives(self) -> int:
        """Number of other coordinates of the smallest polytope; 0 before `fit`."""
        dims: list[int] = getattr(self, "_dims", [1])
        return min(dims) - 1

    def count_alternatives(self, dimension: int) -> int:
        """Return `num_alternatives` of the fitted family, which follows from the dimension."""
        return min(self._all_dims(dimension)) - 1

    def resized(self, num_hashes: int, *, group: int | None = None) -> Self:
        """Return a copy with another number of functions; `group` replaces the parameter of that name."""
        changed = {"hashes": num_hashes, "group": self.group if group is None else group}
        return type(self)(**{**self.get_params(), **changed})

    def _dense(self, rows: Rows) -> Matrix:
        check_directions(rows, rows.norms())
        return rows.dense()

    def _transform(self, rows: Rows) -> Codes:
        values = np.zeros((len(rows), self.hashes), np.int64)
        for part, batch in rows.batches(rows.d):
            values[part] = self._polytope.values(self._dense(batch)).reshape(len(batch), self.hashes)
        return values

    def _projections(self, rows: Rows) -> Projections:
        dense = self._dense(rows)
        shape = (len(rows), self.hashes)
        values, margins = np.ones(shape), np.full(shape, np.nan)
        count = max(self._dims) - 1
        costs = self._polytope.alternatives(dense, count)[1].reshape(*shape, count)
        for j, dims in enumerate(self._dims):
            if dims == 1:
                continue
            # The others are smaller than the largest, u, by s_i: u is the larger root of u² + Σ (u − s_i)² = 1.
            gaps = np.sqrt(costs[:, j, : dims - 1])
            total = gaps.sum(axis=1)
            root = np.sqrt(np.maximum(total**2 - dims * ((gaps**2).sum(axis=1) - 1), 0.0))
            values[:, j], margins[:, j] = (total + root) / dims, gaps[:, 0]
        return Projections(values, np.full(shape, np.nan), margins)

    def _probes(self, rows: Rows, count: int) -> Probes:
        dense = self._dense(rows)
        values = self._polytope.values(dense).reshape(len(rows), self.hashes)
        others, costs = self._polytope.alternatives(dense, count)
        shape = (len(rows), self.hashes, count)
        return Probes(values, others.reshape(shape), costs.reshape(shape))

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Return the probability of equal values at these cosines, with `dims` or, after `fit`, all coordinates.

        It does not apply to a last value. It is exact with `rotation="gaussian"`; see the top of this module.

        Parameters
        ----------
        value : float or array
            Cosine, -1 to 1.

        Raises
        ------
        ParameterError
            Before `fit`, unless `dims` is set; a cosine outside -1 to 1.
        """
        dims = max(self._dims) if hasattr(self, "dimension_") else self.dims
        if dims is None:
            raise bad_parameter("dims", None, "a number, or call fit(X) first")
        return theory.cross_polytope(value, dims)

    def table_probability(self, value: npt.ArrayLike, num_tables: int, hashes_per_table: int) -> Floats:
        """Return the probability of a shared bucket; the last value of a table has `last_dims` coordinates."""
        p = self.collision_probability(value)
        last = p if self.last_dims is None else theory.cross_polytope(value, self.last_dims)
        return theory.amplify(p ** (hashes_per_table - 1) * last, 1, num_tables)
