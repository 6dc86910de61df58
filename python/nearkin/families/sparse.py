"""SimHash of sparse vectors for angles: signs or Gaussian numbers are hashed from the column number, not stored.

    bit_i = 1 if Σ_f x_f r_i(f) > 0        r_i(f) = ±1, or a Gaussian number, from a hash of column f and bit i

The cost of a row is its number of non-zeros, for any dimension: 10⁹ columns and more. With signs, bits agree with
probability 1 − θ/π only if no coordinate dominates: the vectors (3, 1) and (1, 3) agree in a half of the bits instead
of 0.705 of them, since signs give only four sums. With Gaussian numbers the law is exact, at many times the cost.
`projection="mixed"` uses Gaussian numbers for heavy columns, which contain more than `heavy` of the squared length of
some fitted vector, and signs for all others.

Cost: about 5 ns per non-zero for 64 bits with signs, 400 ns with Gaussian numbers. Sources: Charikar (STOC 2002),
section 3; Manku, Jain and Das Sarma (WWW 2007), section 2. Kernel: `crates/nearkin-core/src/families/sparse.rs`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import sparse_simhash
from nearkin.errors import check_choice, check_number
from nearkin.families.base import (
    Codes,
    Distance,
    Family,
    ProjectionLabels,
    check_directions,
)
from nearkin.vectors.arrays import Floats, Ints, Rows
from nearkin.vectors.projection import unpack_bits


@dataclass(eq=False, repr=False)
class SparseSimHash(Family):
    """Hyperplanes with hashed normals, for angles (cosine) of sparse vectors of any dimension.

    Parameters
    ----------
    bits : int, default 64
        1 to 65,536; `HammingIndex` accepts up to 1,024.
    projection : {"signs", "gaussian", "mixed"}, default "signs"
        Factors of the columns.
    heavy : float, default 0.1
        With "mixed": share of a vector's squared length, between 0 and 1, above which a column is heavy.
    seed : int, default 0
        0 to 2**64 - 1.

    Attributes
    ----------
    heavy_ : (h,) int64
        With "mixed": heavy columns, ascending; otherwise empty.

    Notes
    -----
    A sum of 0 gives the bit 0. With signs and few distinct values such sums are frequent, and the law is off by that
    much.

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
    distance: ClassVar[Distance] = "cosine"
    projection_labels = ProjectionLabels(
        "sum of ± the values of columns", "1 above 0", "absolute value of the sum; unknown for Gaussian numbers"
    )
    # Margins of hashed projections are not stored.
    _has_margins = False

    bits: int = 64
    _: KW_ONLY
    projection: Literal["signs", "gaussian", "mixed"] = "signs"
    heavy: float = 0.1
    seed: int = 0

    heavy_: Ints = field(init=False)

    def _check(self) -> None:
        super()._check()
        check_choice("projection", self.projection, "signs", "gaussian", "mixed")
        check_number("heavy", self.heavy, "a number between 0 and 1", lambda share: 0 < share < 1)

    def _fit(self, rows: Rows) -> None:
        self.heavy_ = np.zeros(0, np.int64)
        if self.projection == "mixed":
            indptr, indices, data = rows.as_csr()
            squares = rows.norms() ** 2
            self.heavy_ = np.unique(indices[data**2 > self.heavy * np.repeat(squares, np.diff(indptr))])

    def _check_learned(self) -> None:
        if self.heavy_.ndim != 1 or (np.diff(self.heavy_) <= 0).any():
            raise ValueError("heavy_ is not ascending")

    def _transform(self, rows: Rows) -> Codes:
        check_directions(rows, rows.norms())
        return self._codes(*rows.as_csr(), rows.d)

    def _codes(self, ends: Ints, columns: Ints, data: Floats, num_columns: int) -> npt.NDArray[np.uint64]:
        heavy = None if self.projection == "gaussian" else self.heavy_
        flat = sparse_simhash((ends, columns, data), columns=num_columns, bits=self.bits, seed=self.seed, heavy=heavy)
        return flat.reshape(len(ends) - 1, -(-self.bits // 64))

    def _values(self, rows: Rows) -> Floats:
        values = np.full((len(rows), self.bits), np.nan)
        ends, columns, data = rows.as_csr()
        for row in range(len(rows)):
            part = slice(int(ends[row]), int(ends[row + 1]))
            if self.projection == "gaussian" or np.isin(columns[part], self.heavy_).any():
                continue
            # The sign of a column is the bit of the vector that has only this column.
            unit_ends = np.arange(part.stop - part.start + 1, dtype=np.int64)
            codes = self._codes(unit_ends, np.ascontiguousarray(columns[part]), np.ones(len(unit_ends) - 1), rows.d)
            positive = unpack_bits(codes, self.bits) * data[part][:, None]
            if len(positive):
                # Summed in ascending columns, as the core does.
                values[row] = 2 * np.cumsum(positive, axis=0)[-1] - np.cumsum(data[part])[-1]
        return values

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Return 1 - arccos(value) / pi: exact with "gaussian", otherwise for vectors without heavy columns.

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
