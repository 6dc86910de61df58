"""SimHash of sparse vectors without stored vectors: signs or Gaussians hashed from the column's number; for angles.

    bit_i = 1 where Σ_f x_f r_i(f) > 0        r_i(f) = ±1, or a Gaussian number, from a hash of column f and bit i

A row costs its non-zeros, whatever the dimension: 10⁹ columns and more. With signs bits agree with probability 1 − θ/π
only where no coordinate dominates: the vectors (3, 1) and (1, 3) agree in a half of the bits and not in 0.705 of them,
since signs leave four sums. With Gaussians the law is exact, at many times the cost. `projection="mixed"` takes
Gaussians for heavy columns, those that hold more than `heavy` of the squared length of some fitted vector, and signs
for all others.

Cost: about 5 ns per non-zero for 64 bits with signs, 400 ns with Gaussians. Sources: Charikar (STOC 2002), section 3;
Manku, Jain and Das Sarma (WWW 2007), section 2. Kernel: `crates/nearkin-core/src/families/sparse.rs`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import sparse_simhash
from nearkin.errors import InputError, bad_parameter
from nearkin.families.base import Codes, Distance, Family, Projections, Terms, check_hashes, check_number, check_seed
from nearkin.vectors.projection import unpack_bits
from nearkin.vectors.rows import Floats, Ints, Rows


class SparseSimHash(Family):
    """Hyperplanes whose normals are hashed; for angles (cosine) of sparse vectors of any dimension.

    Parameters
    ----------
    bits : int, default 64
        1 to 65,536; `HammingIndex` takes up to 1,024.
    projection : {"signs", "gaussian", "mixed"}, default "signs"
        Numbers that a column is multiplied with.
    heavy : float, default 0.1
        Share of a vector's squared length, above 0 and below 1, above which a column counts as heavy ("mixed").
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    heavy_ : (h,) int64
        Columns that take Gaussians with "mixed", ascending; empty with the others.

    Notes
    -----
    A sum of 0 gives 0: with signs and few equal values sums of 0 are frequent, and the law is off by that much.

    References
    ----------
    M. Charikar (2002), Similarity estimation techniques from rounding algorithms, STOC, section 3.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> from scipy.sparse import csr_array
    >>> X = csr_array((np.ones(4), [5, 7, 5, 900_000_000], [0, 2, 4]), shape=(2, 10**9))
    >>> family = nk.families.SparseSimHash(bits=128, projection="gaussian").fit(X)
    >>> codes = family.transform(X)
    >>> 25 < int(nk.hamming(codes[0], codes[1], bits=128)) < 60
    True
    """

    name = "sparse"
    kind = "bits"
    distance: Distance = "cosine"
    terms = Terms(
        "sum of ± the values of columns", "1 above 0", "the sum itself, without its sign; not known of Gaussians"
    )
    _learned = ("heavy_",)

    heavy_: Ints

    def __init__(
        self,
        bits: int = 64,
        *,
        projection: Literal["signs", "gaussian", "mixed"] = "signs",
        heavy: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.bits = bits
        self.projection = projection
        self.heavy = heavy
        self.seed = seed

    def _check(self) -> None:
        check_hashes("bits", self.bits)
        if self.projection not in ("signs", "gaussian", "mixed"):
            raise bad_parameter("projection", repr(self.projection), '"signs", "gaussian" or "mixed"')
        check_number("heavy", self.heavy, "a number between 0 and 1", lambda share: 0 < share < 1)
        check_seed(self.seed)

    def _fit(self, rows: Rows) -> None:
        self.heavy_ = np.zeros(0, np.int64)
        if self.projection == "mixed":
            indptr, indices, data = rows.as_csr()
            squares = rows.norms() ** 2
            of_row = np.repeat(squares, np.diff(indptr))
            self.heavy_ = np.unique(indices[data**2 > self.heavy * of_row])

    def _check_learned(self) -> None:
        if self.heavy_.ndim != 1 or (np.diff(self.heavy_) <= 0).any():
            raise ValueError("heavy_ is not ascending")

    def _transform(self, rows: Rows) -> Codes:
        norms = rows.norms()
        if not norms.all():
            place = f"row {rows.first + int(np.argmin(norms != 0))}"
            reason = "is a zero vector, which has no direction; remove it"
            raise InputError(f"{place}: {reason}", place=place, reason=reason)
        flat = sparse_simhash(
            *rows.as_csr(),
            columns=rows.d,
            bits=self.bits,
            seed=self.seed,
            heavy=None if self.projection == "gaussian" else self.heavy_,
        )
        return flat.reshape(len(rows), -(-self.bits // 64))

    def _projections(self, rows: Rows) -> Projections:
        values = np.full((len(rows), self.bits), np.nan)
        ends, columns, data = rows.as_csr()
        for at in range(len(rows)):
            held = slice(int(ends[at]), int(ends[at + 1]))
            if self.projection == "gaussian" or np.isin(columns[held], self.heavy_).any():
                continue
            # The sign of a column is the bit of the vector that has it alone.
            alone = np.arange(held.stop - held.start + 1, dtype=np.int64)
            flat = sparse_simhash(
                alone,
                np.ascontiguousarray(columns[held]),
                np.ones(len(alone) - 1),
                columns=rows.d,
                bits=self.bits,
                seed=self.seed,
                heavy=self.heavy_,
            )
            positive = unpack_bits(flat.reshape(len(alone) - 1, -1), self.bits) * data[held][:, None]
            if len(positive):
                # In ascending columns, and compared with the sum of all, as the core does.
                values[at] = 2 * np.cumsum(positive, axis=0)[-1] - np.cumsum(data[held])[-1]
        return Projections(values, np.zeros_like(values), np.abs(values))

    @property
    def num_alternatives(self) -> int:
        """0: margins of hashed projections are not kept."""
        return 0

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """1 - arccos(value) / pi; exact with "gaussian", for vectors without heavy columns with the others.

        Parameters
        ----------
        value : float or array
            Cosine, -1 to 1.

        Raises
        ------
        ParameterError
            A cosine outside -1 to 1.
        """
        return theory.hyperplane(value)
