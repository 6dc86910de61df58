"""Cross-polytope hashing: the nearest of the vertices ±e_i to a randomly rotated vector; for angles.

    h_j(x) = 2 i + [y_i < 0]        y = R_j x, i the place of the largest |y_i|

One value tells 2 D directions apart, so it is worth log2(2 D) hyperplane bits, and separates angles better than these
do at the same number of values: for small angles its ρ tends to the best possible. The law,
`nearkin.theory.cross_polytope`, is an integral that is exact for Gaussian projections; R is by default three rounds of
random signs and Hadamard transforms over D, the power of two not below d, which cost D log D instead of D². They keep
lengths, so that values of few coordinates agree less often than the law says: by at most 0.04 at D = 8, 0.02 at 16,
0.01 at 32, and 0.006 from 64 on (measured at cosines from 0.3 to 0.95).

The last value of a table may use fewer coordinates (`last_dims`), so that tables of any number of buckets can be had.

Sources: Andoni, Indyk, Laarhoven, Razenshteyn and Schmidt (NIPS 2015), sections 3 and 5. Kernel:
`crates/nearkin-core/src/families/cross_polytope.rs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import PolytopeCore
from nearkin.errors import InputError, bad_parameter, check_count
from nearkin.families.base import Codes, Distance, Family, Probes, Projections, Terms, check_hashes, check_seed
from nearkin.vectors.rows import Floats, Rows

if TYPE_CHECKING:
    from typing_extensions import Self

_BATCH = 1 << 22
"""Numbers of a batch of rows that are made dense."""


class CrossPolytope(Family):
    """Nearest vertices of randomly rotated cross-polytopes; for angles (cosine).

    Parameters
    ----------
    hashes : int, default 2
        Number of values, 1 to 65,536.
    dims : int, optional
        Coordinates that compete, 1 to D: 2 · dims possible values. All of them by default.
    last_dims : int, optional
        Coordinates of the last value of each group, 1 to `dims`.
    group : int, optional
        Values of a group (a table's hashes); by default all are one group.
    rotation : {"hadamard", "gaussian"}, default "hadamard"
        Three rounds of signs and Hadamard transforms (D is the power of two not below d), or a stored Gaussian matrix
        (D is d), which costs d · dims per value and has the exact law.
    seed : int, default 0
        0 to 2**64 - 1.

    Notes
    -----
    Norms do not matter; zero vectors are refused. The value is 2 i + [y_i < 0] with the lowest i of equals.

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
    distance: Distance = "cosine"
    _count = "hashes"
    terms = Terms(
        "largest coordinate after rotation, as a share of the length",
        "twice its place, and 1 where it is negative",
        "lead over the next largest",
    )

    def __init__(
        self,
        hashes: int = 2,
        *,
        dims: int | None = None,
        last_dims: int | None = None,
        group: int | None = None,
        rotation: Literal["hadamard", "gaussian"] = "hadamard",
        seed: int = 0,
    ) -> None:
        self.hashes = hashes
        self.dims = dims
        self.last_dims = last_dims
        self.group = group
        self.rotation = rotation
        self.seed = seed

    def _check(self) -> None:
        check_hashes("hashes", self.hashes)
        check_seed(self.seed)
        if self.rotation not in ("hadamard", "gaussian"):
            raise bad_parameter("rotation", repr(self.rotation), '"hadamard" or "gaussian"')
        if self.dims is not None:
            check_count("dims", self.dims, 1, 2**32, "1 to the dimension of the rotated vectors")
        if self.last_dims is not None:
            most = self.dims if self.dims is not None else 2**32
            check_count("last_dims", self.last_dims, 1, most, "1 to dims")
        if self.group is not None:
            check_count("group", self.group, 1, self.hashes, f"1 to hashes={self.hashes}")

    def _fit(self, rows: Rows) -> None:
        self._all_dims(rows.d)

    def _all_dims(self, d: int) -> list[int]:
        """How many coordinates compete in each function."""
        most = d if self.rotation == "gaussian" else 1 << (d - 1).bit_length()
        dims = check_count("dims", most if self.dims is None else self.dims, 1, most, f"1 to {most} for vectors of {d}")
        last = check_count("last_dims", dims if self.last_dims is None else self.last_dims, 1, dims, f"1 to {dims}")
        group = self.hashes if self.group is None else self.group
        return [last if j % group == group - 1 else dims for j in range(self.hashes)]

    def _derive(self) -> None:
        self._dims = self._all_dims(self.dimension_)
        self._polytope = PolytopeCore(self.dimension_, self._dims, self.seed, self.rotation == "gaussian")

    def __getstate__(self) -> dict[str, Any]:
        """What `pickle` and `copy` keep: everything but the core's functions, which follow from the parameters."""
        return {name: value for name, value in vars(self).items() if name != "_polytope"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The inverse."""
        vars(self).update(state)
        if hasattr(self, "dimension_"):
            self._derive()

    @property
    def num_alternatives(self) -> int:
        """The other coordinates of the smallest polytope; 0 before `fit`."""
        dims: list[int] = getattr(self, "_dims", [1])
        return min(dims) - 1

    def alternatives_of(self, dimension: int) -> int:
        """As for every family, which here follows from the dimension."""
        return min(self._all_dims(dimension)) - 1

    def resized(self, num_hashes: int, *, group: int | None = None) -> Self:
        """As for every family; `group` takes the place of the parameter of that name."""
        changed = {"hashes": num_hashes, "group": self.group if group is None else group}
        return type(self)(**{**self.get_params(), **changed})

    def _dense(self, rows: Rows) -> npt.NDArray[np.float32] | npt.NDArray[np.float64]:
        norms = rows.norms()
        if not norms.all():
            place = f"row {rows.first + int(np.argmin(norms != 0))}"
            reason = "is a zero vector, which has no direction; remove it"
            raise InputError(f"{place}: {reason}", place=place, reason=reason)
        return rows.dense()

    def _transform(self, rows: Rows) -> Codes:
        values = np.zeros((len(rows), self.hashes), np.int64)
        step = max(1, _BATCH // rows.d)
        for start in range(0, len(rows), step):
            part = rows.part(start, start + step)
            values[start : start + step] = self._polytope.values(self._dense(part)).reshape(len(part), self.hashes)
        return values

    def _projections(self, rows: Rows) -> Projections:
        dense = self._dense(rows)
        shape = (len(rows), self.hashes)
        values, margins = np.ones(shape), np.full(shape, np.nan)
        most = max(self._dims) - 1
        costs = self._polytope.alternatives(dense, most)[1].reshape(*shape, most)
        for j, dims in enumerate(self._dims):
            if dims == 1:
                continue
            # The others lie behind the largest, u, by s_i: u² + Σ (u − s_i)² = 1, of which u is the larger root.
            behind = np.sqrt(costs[:, j, : dims - 1])
            total = behind.sum(axis=1)
            root = np.sqrt(np.maximum(total**2 - dims * ((behind**2).sum(axis=1) - 1), 0.0))
            values[:, j], margins[:, j] = (total + root) / dims, behind[:, 0]
        return Projections(values, np.full(shape, np.nan), margins)

    def _probes(self, rows: Rows, count: int) -> Probes:
        dense = self._dense(rows)
        values = self._polytope.values(dense).reshape(len(rows), self.hashes)
        others, costs = self._polytope.alternatives(dense, count)
        shape = (len(rows), self.hashes, count)
        return Probes(values, others.reshape(shape), costs.reshape(shape))

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Probability of equal values at these cosines, with `dims` or, after `fit`, all coordinates; not of a last
        value.

        Exact with `rotation="gaussian"`; see the head of this module.

        Parameters
        ----------
        value : float or array
            Cosine, -1 to 1.

        Raises
        ------
        ParameterError
            Before `fit`, unless `dims` was given; a cosine outside -1 to 1.
        """
        dims = self.dims
        if hasattr(self, "dimension_"):
            dims = max(self._dims)
        if dims is None:
            raise bad_parameter("dims", None, "a number, or call fit(X) first")
        return theory.cross_polytope(value, dims)

    def table_probability(self, value: npt.ArrayLike, num_tables: int, hashes_per_table: int) -> Floats:
        """As for every family; the last value of a table agrees as often as one of `last_dims` coordinates does."""
        p = self.collision_probability(value)
        last = p if self.last_dims is None else theory.cross_polytope(value, self.last_dims)
        return theory.amplify(p ** (hashes_per_table - 1) * last, 1, num_tables)
