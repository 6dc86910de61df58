"""Weighted MinHash as datasketch has it: consistent weighted sampling of vectors with weights of 0 and more.

Sample i draws for each coordinate k r_k, c_k ~ Gamma(2, 1) and β_k ~ U(0, 1) once for all vectors. A vector v gives

    t_k = ⌊ln v_k / r_k + β_k⌋        y_k = exp(r_k (t_k − β_k))        a_k = c_k / (y_k exp(r_k))

and the pair (k, t_k) with the smallest a_k among v_k > 0. Then

    P[sample i of v = sample i of w] = Σ min(v_k, w_k) / Σ max(v_k, w_k)

the generalised Jaccard similarity. All is computed in float32 by NumPy, whose logarithm rounds alike on one machine and
may not on two; values are those of datasketch on the same machine. `minhash` and `minhash_many` round a_k otherwise, as
they do there: compare only what one of them made.

Cost: samples × coordinates that are not 0. Source: Ioffe, "Improved consistent sampling, weighted minhash and L1
sketching" (ICDM 2010), algorithm 1. Tests: the law, and values against the package
(`tests/compat/test_compat_datasketch.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_count, mismatch

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

_Floats = npt.NDArray[np.float32]
_CELLS = 1 << 20
"""Values of samples and coordinates that are held at once."""


class WeightedMinHash:
    """Samples of one vector, with the calls of `datasketch.WeightedMinHash`.

    Parameters
    ----------
    seed : int
        That of the generator.
    hashvalues : (sample_size, 2) int
        Coordinate and t of each sample.

    Examples
    --------
    >>> from nearkin.compat.datasketch import WeightedMinHashGenerator
    >>> generator = WeightedMinHashGenerator(dim=3, sample_size=256)
    >>> a, b = generator.minhash([1, 2, 3]), generator.minhash([1, 2, 1])
    >>> len(a), round(a.jaccard(b), 1)
    (256, 0.7)
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]  # Equal by value.

    def __init__(self, seed: int, hashvalues: npt.NDArray[Any]) -> None:
        self.seed = seed
        self.hashvalues = hashvalues

    def jaccard(self, other: WeightedMinHash) -> float:
        """The share of equal samples, which estimates the generalised Jaccard similarity.

        Parameters
        ----------
        other : WeightedMinHash
            Of the same seed and number of samples.

        Raises
        ------
        MismatchError
            For one that was made differently.
        """
        for what, left, right in (("seed", self.seed, other.seed), ("sample_size", len(self), len(other))):
            if left != right:
                raise mismatch(what, left, right)
        return float(np.count_nonzero((self.hashvalues == other.hashvalues).all(axis=1))) / len(self)

    def digest(self) -> npt.NDArray[Any]:
        """A copy of the samples."""
        return np.array(self.hashvalues)

    def copy(self) -> WeightedMinHash:
        """A copy."""
        return WeightedMinHash(self.seed, self.digest())

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, WeightedMinHash)
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        values = np.array(state["hashvalues"])
        if values.ndim != 2 or values.dtype.kind not in "iu":
            raise bad_parameter("hashvalues", f"shape {values.shape} of {values.dtype}", "(sample_size, 2) of integers")
        self.seed, self.hashvalues = state["seed"], values


class WeightedMinHashGenerator:
    """Draws the samples, with the calls and values of `datasketch.WeightedMinHashGenerator`.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, 1 or more.
    sample_size : int, default 128
        Samples of a vector, 1 or more.
    seed : int, default 1
        0 to 2^32 - 1.

    Attributes
    ----------
    rs, ln_cs, betas : (sample_size, dim) float32

    Raises
    ------
    ParameterError
        A number out of its range.
    """

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        self.dim = check_count("dim", dim, 1, 1 << 32, "1 or more")
        self.sample_size = check_count("sample_size", sample_size, 1, 1 << 32, "1 or more")
        self.seed = check_count("seed", seed, 0, (1 << 32) - 1, f"0 to {(1 << 32) - 1}")
        random, shape = np.random.RandomState(self.seed), (self.sample_size, self.dim)
        self.rs: _Floats = random.gamma(2, 1, shape).astype(np.float32)
        self.ln_cs: _Floats = np.log(random.gamma(2, 1, shape)).astype(np.float32)
        self.betas: _Floats = random.uniform(0, 1, shape).astype(np.float32)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # The numbers as they are in the pickle: another machine's logarithm may round otherwise.
        self.dim, self.sample_size, self.seed = (
            check_count(name, state[name], 0, 1 << 32, "a whole number") for name in ("dim", "sample_size", "seed")
        )
        for name in ("rs", "ln_cs", "betas"):
            values = np.array(state[name])
            if values.shape != (self.sample_size, self.dim) or values.dtype != np.float32:
                raise bad_parameter(name, f"shape {values.shape} of {values.dtype}", "(sample_size, dim) of float32")
            setattr(self, name, values)

    def minhash(self, v: npt.ArrayLike) -> WeightedMinHash:
        """Samples of one vector.

        Parameters
        ----------
        v : (dim,) numbers
            Weights, 0 or more, not all 0, as float32.

        Raises
        ------
        TypeError
            For what has no length.
        ParameterError
            Another number of coordinates; weights that are negative, infinite or no numbers; nothing but zeros.
        """
        if not isinstance(v, Sized):
            raise TypeError("a vector must have a length: a list or an array")
        if len(v) != self.dim:
            raise bad_parameter("v", f"a vector of {len(v)} coordinates", f"{self.dim}, as the generator has")
        weights = _weights(v)
        there = np.flatnonzero(weights)
        if not len(there):
            raise bad_parameter("v", "a vector of zeros", "a vector with a weight above 0")
        logs = np.log(weights[there])
        values = np.empty((self.sample_size, 2), np.int64)
        for rows in _parts(self.sample_size, len(there)):
            rs, betas = self.rs[rows][:, there], self.betas[rows][:, there]
            t = np.floor(logs / rs + betas)
            ln_a = self.ln_cs[rows][:, there] - (t - betas) * rs - rs
            _least(ln_a, t, there, values[rows])
        return WeightedMinHash(self.seed, values)

    def minhash_many(self, X: npt.NDArray[Any] | csr_array | csr_matrix) -> list[WeightedMinHash | None]:
        """Samples of the rows of a matrix; None for a row of zeros.

        Parameters
        ----------
        X : (n, dim) array, or a sparse matrix of SciPy
            Weights, 0 or more, as float32.

        Returns
        -------
        list of WeightedMinHash or None
            Their values are not those of `minhash`: a_k is rounded otherwise.

        Raises
        ------
        TypeError
            For what is no matrix.
        ParameterError
            Another number of coordinates or dimensions; weights that are negative, infinite or no numbers.
        """
        if not isinstance(X, np.ndarray) and not hasattr(X, "tocsr"):
            raise TypeError("X must be a NumPy array or a sparse matrix of SciPy")
        if X.ndim != 2 or X.shape[1] != self.dim:
            raise bad_parameter("X", f"shape {X.shape}", f"(n, {self.dim}), as the generator has")
        found: list[WeightedMinHash | None] = []
        for there, weights in _rows(X):
            if not len(there):
                found.append(None)
                continue
            logs = np.log(weights)
            values = np.empty((self.sample_size, 2), np.int64)
            for rows in _parts(self.sample_size, len(there)):
                rs, betas = self.rs[rows][:, there], self.betas[rows][:, there]
                t = np.floor(logs / rs + betas)
                ln_a = self.ln_cs[rows][:, there] - (t - betas + np.float32(1)) * rs
                _least(ln_a, t, there, values[rows])
            found.append(WeightedMinHash(self.seed, values))
        return found


def _least(ln_a: _Floats, t: _Floats, there: npt.NDArray[np.int64], out: npt.NDArray[np.int64]) -> None:
    """Coordinate and t of the smallest a of each sample."""
    best = ln_a.argmin(axis=1)
    out[:, 0] = there[best]
    out[:, 1] = t[np.arange(len(t)), best]


def _parts(samples: int, coordinates: int) -> list[slice]:
    step = max(1, _CELLS // coordinates)
    return [slice(start, min(start + step, samples)) for start in range(0, samples, step)]


def _weights(values: npt.ArrayLike) -> _Floats:
    """Weights as float32, checked."""
    weights = np.asarray(values, dtype=np.float32)
    if weights.ndim != 1:
        raise bad_parameter("v", f"an array of shape {weights.shape}", "a vector")
    return _checked(weights)


def _checked(weights: _Floats) -> _Floats:
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise bad_parameter("weights", "a negative or infinite one, or NaN", "numbers of 0 and more")
    return weights


def _rows(X: Any) -> list[tuple[npt.NDArray[np.int64], _Floats]]:
    """Coordinates and weights of each row that are not 0, in the order of coordinates."""
    if isinstance(X, np.ndarray):
        dense = _checked(X.astype(np.float32))
        return [(there := np.flatnonzero(row), row[there]) for row in dense]
    rows = X.tocsr().astype(np.float32, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    _checked(rows.data)
    ends = rows.indptr
    return [(rows.indices[a:b].astype(np.int64), rows.data[a:b]) for a, b in pairwise(ends)]
