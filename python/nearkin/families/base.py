"""Contract of the hash families for vectors: parameters, fit, transform, collision law, and file.

A family is a distribution over hash functions. `fit` draws `num_hashes` of them, and learns parameters from data if the
family has any; `transform` applies them. Function j depends only on the seed, on j and on the dimension, so a family
with more functions starts with the same ones.

| `kind` | result of `transform` | meaning |
|---|---|---|
| `bits` | fingerprints: uint64 `(n,)` up to 64 bits, `(n, words)` above | one bit per function |
| `keys` | int64 `(n, num_hashes)` | one integer per function |
| `features` | float64 `(n, num_hashes)` | their inner product approximates a kernel |

`transform` of a fitted family depends only on its parameters and the vector. The batch, the number of threads, the
memory order, `float32` or `float64` of the same values, dense or sparse input, the BLAS and the machine do not change
it. Parameters that `fit` learns from eigenvectors or sample means are reproducible on one platform only; save the
family to use it elsewhere.

The index and multi-probe use `hash_values`, `probes` and `hash_layout`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import read_family, write_family
from nearkin.errors import (
    NotFittedError,
    bad_parameter,
    check_count,
    check_name,
    check_number,
    damaged,
    mismatch,
    newer_format,
)
from nearkin.io.saved import check_saved
from nearkin.vectors.arrays import Floats, Ints, Rows, Vectors, as_rows, row_error
from nearkin.vectors.projection import unpack_bits

if TYPE_CHECKING:
    from typing_extensions import Self

Codes: TypeAlias = npt.NDArray[np.uint64] | npt.NDArray[np.int64] | npt.NDArray[np.float64]
"""Fingerprints, keys or features."""
Distance: TypeAlias = Literal["cosine", "l2", "l1", "hamming", "kernel"]

MAX_HASHES = 1 << 16
FORMAT = 1
"""Version of the description in a family's file."""

_FAMILIES: dict[str, type[Family]] = {}
"""Imported families by name."""
_MODULES: tuple[str, ...] = ("bit_sampling", "cross_polytope", "hyperplane", "itq", "kernel", "pstable")
_MODULES += ("random_fourier", "shift_invariant", "sparse", "spherical")
"""Modules of families, each named after its family; importing the package imports none."""


class Probes(NamedTuple):
    """Hash values, and for each function the next best values with their costs.

    The cost of changing several functions is the sum of their costs; the cheapest change is the most promising one.
    """

    values: Ints
    """`(n, num_hashes)`, as from `hash_values`."""
    others: Ints
    """`(n, num_hashes, count)`: the next best values of each function, cheapest first."""
    costs: Floats
    """`(n, num_hashes, count)`: their costs, 0 or more, ascending."""


class Projections(NamedTuple):
    """Numbers that each function compares or rounds, `(n, num_hashes)` each."""

    values: Floats
    """The number that is compared or rounded; NaN if it is not stored."""
    limits: Floats
    """The number it is compared with; NaN if values are rounded."""
    margins: Floats
    """Distance to the nearest other hash value, 0 or more; NaN if it is unknown."""


class ProjectionLabels(NamedTuple):
    """Descriptions of the `Projections` of a family."""

    value: str
    rule: str
    margin: str


class Family(ABC):
    """Base class of the families.

    Attributes
    ----------
    kind : {"bits", "keys", "features"}
        Result of `transform`.
    distance : {"cosine", "l2", "l1", "hamming", "kernel"}
        The measure that hash values approximate, and that `collision_probability` takes: the cosine similarity or the
        value of the kernel for "cosine" and "kernel", otherwise the distance.
    dimension_ : int
        Dimension of the vectors, after `fit`.
    """

    name: ClassVar[str]
    """Name in files and texts: that of the module."""
    kind: ClassVar[Literal["bits", "keys", "features"]]
    _count: ClassVar[str] = "bits"
    """Parameter that is the number of functions."""
    _learned: ClassVar[tuple[str, ...]] = ()
    """Annotated arrays and numbers that `fit` sets and a file stores, in addition to `dimension_`."""
    _has_margins: ClassVar[bool] = True
    """False if a function of bits has no margin, so that it can't be probed."""
    _no_law: ClassVar[str] = "a family with a collision law"
    """Advice in the error of a family without a collision law."""
    projection_labels: ClassVar[ProjectionLabels]

    dimension_: int
    seed: int
    _digest: str | None

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls._learned = (*cls._learned, *(n for n in inspect.get_annotations(cls) if n.endswith("_") and n != "_"))
        if "name" in vars(cls):
            _FAMILIES[cls.name] = cls

    @property
    @abstractmethod
    def distance(self) -> Distance:
        """The measure that hash values approximate."""

    def _check(self) -> None:
        """Raise ParameterError for parameters out of range."""
        check_seed(self.seed)
        check_hashes(self._count, getattr(self, self._count))

    @abstractmethod
    def _fit(self, rows: Rows) -> None:
        """Draw the functions for `rows.d` dimensions and learn from the rows."""

    @abstractmethod
    def _transform(self, rows: Rows) -> Codes:
        """Return `(n, words)` uint64, `(n, num_hashes)` int64 or float64."""

    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Return the probability that one function gives two vectors the same value.

        Parameters
        ----------
        value : float or array
            Their similarity or distance; see `distance`.

        Raises
        ------
        ParameterError
            The family has no collision law.
        """
        raise bad_parameter("family", self.name, self._no_law)

    def table_probability(self, value: npt.ArrayLike, num_tables: int, hashes_per_table: int) -> Floats:
        """Return the probability that two vectors share a bucket in at least one table of `hash_layout`.

        Parameters
        ----------
        value : float or array
            Their similarity or distance, as for `collision_probability`.
        num_tables, hashes_per_table : int
            L and k, 1 or more.

        Returns
        -------
        float64 array
            1 - (1 - p^k)^L of the collision probability p, for independent tables.
        """
        return theory.amplify(self.collision_probability(value), hashes_per_table, num_tables)

    def _fitted_value(self, name: str) -> Any:
        """Return a parameter after `fit`, or as given if its number does not depend on data."""
        value = getattr(self, f"{name}_", getattr(self, name))
        if value == "auto":
            raise bad_parameter(name, '"auto"', "a number, or call fit(X) first")
        return value

    def _derive(self) -> None:  # noqa: B027 a family may have nothing to prepare
        """Compute what follows from parameters and learned arrays; called after `fit`, `load` and unpickling."""

    def _check_learned(self) -> None:
        """Raise ValueError if arrays of a file do not match the parameters."""
        for name, shape in self._shapes().items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape} and not {shape}")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the required shapes of learned arrays."""
        return {}

    # -- fitting and hashing

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Draw the hash functions for the dimension of X, and learn the parameters that depend on data.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            Finite numbers, one row or more. Integers of up to 16 bits count as `float32`, others as `float64`.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A parameter of the family out of range; X is not a matrix of numbers.
        InputError
            Too few rows; a row with NaN or infinite values; vectors that the family can't use. The family is unchanged
            after any error.
        """
        self._check()
        rows = as_rows(X, min_rows=1)
        rows.norms()
        # A copy is fitted, so that a failure leaves this family unchanged.
        fitted = type(self)(**self.get_params())
        fitted._fit(rows)
        fitted.dimension_ = rows.d
        fitted._digest = None
        fitted._derive()
        vars(self).update(vars(fitted))
        return self

    def transform(self, X: Vectors) -> Codes:
        """Return the hash values of vectors.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `fit`, of the same dimension; without rows the result is empty.

        Returns
        -------
        array
            Fingerprints, keys or features by `kind`: see the top of this module.

        Raises
        ------
        NotFittedError
            Before `fit`.
        MismatchError
            A dimension other than that of `fit`.
        InputError
            A row with NaN or infinite values, or one that the family can't hash.
        """
        codes = self._transform(self._rows(X))
        return codes[:, 0].copy() if self.kind == "bits" and codes.shape[1] == 1 else codes

    def fit_transform(self, X: Vectors, y: object = None) -> Codes:
        """Fit the family and transform the same vectors."""
        return self.fit(X).transform(X)

    def _check_fitted(self) -> None:
        if not hasattr(self, "dimension_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit(X) first", family=self.name)

    def _rows(self, X: Vectors) -> Rows:
        self._check_fitted()
        return as_rows(X, dimension=self.dimension_)

    # -- interface of the index

    @property
    def num_hashes(self) -> int:
        """Number of hash functions: bits, or integers of a row."""
        return int(getattr(self, self._count))

    @property
    def num_alternatives(self) -> int:
        """Maximum number of other values that `probes` returns for a function."""
        return int(self.kind == "bits" and self._has_margins)

    def count_alternatives(self, dimension: int) -> int:
        """Return `num_alternatives` of the family once it is fitted to vectors of this dimension.

        Parameters
        ----------
        dimension : int
            1 or more.
        """
        return self.num_alternatives

    def resized(self, num_hashes: int, *, group: int | None = None) -> Self:
        """Return an unfitted copy with another number of functions, the first ones the same.

        Parameters
        ----------
        num_hashes : int
            1 to 65,536.
        group : int, optional
            Hashes of one table, for families whose last hash of a table differs from the others.
        """
        return type(self)(**{**self.get_params(), self._count: num_hashes})

    def hash_layout(self, num_tables: int, hashes_per_table: int) -> Ints:
        """Return the numbers, from 0, of the functions that make the key of each table.

        Parameters
        ----------
        num_tables, hashes_per_table : int
            L and k, 1 or more.

        Returns
        -------
        (num_tables, hashes_per_table) int64
        """
        return np.arange(num_tables * hashes_per_table, dtype=np.int64).reshape(num_tables, hashes_per_table)

    def hash_values(self, X: Vectors) -> Ints:
        """Return the value of every function, `(n, num_hashes)` int64; bits are 0 and 1.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.
        """
        codes = self._transform(self._rows(X))
        if self.kind == "bits":
            return unpack_bits(cast("npt.NDArray[np.uint64]", codes), self.num_hashes).astype(np.int64)
        return cast("Ints", codes)

    def probes(self, X: Vectors, count: int | None = None) -> Probes:
        """Return the values of every function, and for each function the next best ones with their costs.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.
        count : int, optional
            Other values per function, 1 to `num_alternatives`; all by default.

        Returns
        -------
        Probes
            Computed in `float64` and a fixed order of operations, so that it does not depend on the batch.

        Raises
        ------
        ParameterError
            A count out of range; a family without alternatives.
        """
        maximum = self.num_alternatives
        if maximum == 0:
            allowed = "a family with margins, such as hyperplane, pstable, cross_polytope"
            raise bad_parameter("family", self.name, allowed)
        count = maximum if count is None else check_count("count", count, 1, maximum, f"1 to {maximum}")
        rows = self._rows(X)
        rows.norms()
        return self._probes(rows, count)

    def _probes(self, rows: Rows, count: int) -> Probes:
        """Return the bits of values above their limits, and each other bit at the cost of its squared margin."""
        values, limits, margins = self._projections(rows)
        return flip_probes(values > limits, margins**2)

    def projections(self, X: Vectors) -> Projections:
        """Return the numbers that each function compares or rounds, for people to inspect.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.

        Returns
        -------
        Projections
            `projection_labels` describes them. The hash values of `transform` follow from them.

        Raises
        ------
        NotFittedError, MismatchError, InputError
            As for `transform`.
        """
        rows = self._rows(X)
        rows.norms()
        return self._projections(rows)

    def _projections(self, rows: Rows) -> Projections:
        """Return the projections of rows with finite values; families without thresholds override this."""
        values = self._values(rows)
        limits = np.broadcast_to(self._limits(), values.shape).copy()
        return Projections(values, limits, np.abs(values - limits) / self._lengths())

    def _values(self, rows: Rows) -> Floats:
        """Return the values that are compared with `_limits`, `(n, bits)`."""
        raise NotImplementedError

    def _limits(self) -> Floats:
        """Return the limit of each bit."""
        return np.zeros(1)

    def _lengths(self) -> Floats:
        """Return how far a value moves for a distance of 1 of a vector, for each bit."""
        return np.ones(1)

    def pair_values(self, X: Vectors, Y: Vectors) -> Floats:
        """Return the similarity or distance of pairs of vectors, as `collision_probability` takes it (see `distance`).

        Parameters
        ----------
        X, Y : (n, d) array or SciPy sparse matrix
            As for `transform`; row i of X is compared with row i of Y.

        Returns
        -------
        (n,) float64
            NaN for the cosine of a zero vector.

        Raises
        ------
        MismatchError
            Different numbers of vectors; a dimension other than that of `fit`.
        NotFittedError, InputError
            As for `transform`.
        """
        left, right = self._rows(X), self._rows(Y)
        if len(left) != len(right):
            raise mismatch("number of vectors", len(left), len(right))
        left.norms()
        right.norms()
        return self._pair_values(left.as_float64(), right.as_float64())

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        """Return the values of `float64` rows; families whose law takes another value override this."""
        return row_distances(left, right, self.distance)

    # -- parameters, identity, files

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor; `deep` exists for scikit-learn."""
        return {
            name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters if name != "self"
        }

    def __repr__(self) -> str:
        signature = inspect.signature(type(self).__init__)
        defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not (type(value) is type(defaults[name]) and value == defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for `pickle` and `copy`, without those that `_derive` computes."""
        return {name: value for name, value in vars(self).items() if name == "_digest" or not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes."""
        vars(self).update(state)
        if hasattr(self, "dimension_"):
            self._derive()

    def _identity(self) -> dict[str, Any]:
        """Return everything that determines the hash values; arrays by their checksum."""
        identity = self.description()
        if hasattr(self, "dimension_"):
            learned = {name: getattr(self, name) for name in self._learned}
            identity["dimension"] = self.dimension_
            identity["learned"] = {name: value for name, value in learned.items() if not isinstance(value, np.ndarray)}
            identity["arrays"] = {
                name: {
                    "dtype": value.dtype.str,
                    "shape": list(value.shape),
                    "sha256": hashlib.sha256(value.tobytes()).hexdigest(),
                }
                for name, value in learned.items()
                if isinstance(value, np.ndarray)
            }
        return identity

    def description(self) -> dict[str, Any]:
        """Return the unfitted family as a JSON object: name, version and parameters; see `family_from_description`."""
        return {"family": self.name, "version": FORMAT, "params": self._json_params()}

    def _json_params(self) -> dict[str, Any]:
        params = self.get_params()
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}

    def to_json(self) -> str:
        """Return family, parameters, dimension and learned values as JSON; arrays by their checksum."""
        return json.dumps(self._identity(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    def __str__(self) -> str:
        params = ",".join(f"{name}={value}" for name, value in self._json_params().items())
        return f"{self.name}({params})"

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that identify the hash values: codes of families with equal digests can be compared."""
        if not hasattr(self, "dimension_"):
            return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]
        if self._digest is None:
            self._digest = hashlib.sha256(self.to_json().encode()).hexdigest()[:16]
        return self._digest

    def check_same(self, other: Family) -> None:
        """Raise MismatchError for a family whose hash values can't be compared with those of this one.

        Parameters
        ----------
        other : Family
            A fitted family.

        Raises
        ------
        MismatchError
            Names the first property that differs.
        """
        if self.digest == other.digest:
            return
        left, right = self._identity(), other._identity()
        for key in ("family", "dimension", "params", "learned", "arrays", "version"):
            own, their = left.get(key), right.get(key)
            if isinstance(own, dict) and isinstance(their, dict):
                for name in [*own, *their]:
                    if own.get(name) != their.get(name):
                        raise mismatch(name, own.get(name), their.get(name))
            elif own != their:
                raise mismatch(key, own, their)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted family to a file. An existing file is replaced only when the new one is complete.

        Parameters
        ----------
        path : str or os.PathLike
            The file, versioned and checksummed (docs/format-families.md). `nearkin.families.load` reads it.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            A parameter that can't be saved, such as a kernel function.
        InputError
            No file can have this name.
        OSError
            The file can't be written.
        """
        check_name(path)
        text, arrays = self.serialize()
        write_family(os.fspath(path), text, arrays)

    def serialize(self) -> tuple[str, list[npt.NDArray[np.uint8]]]:
        """Return the description of the fitted family (`to_json`) and the bytes of its arrays; see `deserialize`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        self._check_fitted()
        arrays = [np.ascontiguousarray(getattr(self, name)) for name in sorted(self._identity()["arrays"])]
        return self.to_json(), [array.reshape(-1).view(np.uint8) for array in arrays]


def load(path: str | os.PathLike[str]) -> Family:
    """Load a family that `save` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        A regular file.

    Raises
    ------
    CorruptStoreError
        The file is not a family, or has changed since it was written.
    FormatVersionError
        A newer nearkin wrote the file.
    OSError
        The file can't be read.

    Examples
    --------
    >>> import nearkin as nk, numpy as np, tempfile, pathlib
    >>> X = np.eye(4)
    >>> family = nk.families.Hyperplane(bits=16, seed=3).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     family.save(pathlib.Path(folder) / "family")
    ...     again = nk.families.load(pathlib.Path(folder) / "family")
    >>> again, bool((again.transform(X) == family.transform(X)).all())
    (Hyperplane(bits=16, seed=3), True)
    """
    file = os.fspath(path)
    check_saved(file, 10)
    return deserialize(*read_family(file), file)


def deserialize(text: str, arrays: Sequence[bytes | npt.NDArray[np.uint8]], source: str) -> Family:
    """Return the family of a description and the bytes of its arrays, as `Family.serialize` returns them.

    Parameters
    ----------
    text : str
    arrays : sequence of bytes or uint8 arrays
    source : str
        Name of the file, for error messages.

    Raises
    ------
    CorruptStoreError, FormatVersionError
        As for `load`.
    """
    try:
        identity = json.loads(text)
        version = identity["version"]
        if version != FORMAT:
            raise newer_format(version, FORMAT)
        family = family_from_description(identity)
        learned, layouts = identity["learned"], identity["arrays"]
        if set(learned) | set(layouts) != set(family._learned) or len(layouts) != len(arrays):
            raise damaged(source, "its arrays are not those of its family")
        family.dimension_ = check_count("dimension", identity["dimension"], 1, 2**40, "1 or more")
        for name, value in learned.items():
            setattr(family, name, value)
        for (name, layout), data in zip(layouts.items(), arrays, strict=True):
            dtype = np.dtype(layout["dtype"])
            if dtype.kind not in "fiu":
                raise damaged(source, f"array {name} holds {dtype}")
            setattr(family, name, np.frombuffer(data, dtype).reshape(layout["shape"]))
        family._digest = None
        family._check_learned()
        family._derive()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        # ParameterError is a ValueError: `save` never writes parameters that no constructor accepts.
        raise damaged(source, f"its description is inconsistent ({error})") from error
    return family


def family_from_description(description: dict[str, Any]) -> Family:
    """Return the unfitted family of a `Family.description`.

    Raises
    ------
    KeyError, TypeError, ValueError
        The object does not describe a family.
    """
    # JSON has lists instead of tuples.
    params = {name: tuple(value) if isinstance(value, list) else value for name, value in description["params"].items()}
    name = description["family"]
    if name not in _FAMILIES and name in _MODULES:
        import_module(f"nearkin.families.{name}")
    family = _FAMILIES[name](**params)
    family._check()
    return family


def check_scale(name: str, value: object) -> None:
    """Check a scale of distances that `fit` can choose."""
    if value != "auto":
        allowed = 'a number from 1e-100 to 1e100, or "auto"'
        check_number(name, value, allowed, lambda number: 1e-100 <= number <= 1e100)


def row_distances(left: Rows, right: Rows, distance: Distance) -> Floats:
    """Return the cosines, or the L2, L1 or Hamming distances, of pairs of rows, `(n,)`."""
    if left.csr is not None and right.csr is not None:
        difference, products = abs(left.csr - right.csr), left.csr.multiply(right.csr)
    else:
        difference, products = np.abs(left.dense() - right.dense()), left.dense() * right.dense()
    if distance == "cosine":
        lengths = left.norms() * right.norms()
        quotients = np.divide(_row_sums(products), lengths, out=np.full(len(left), np.nan), where=lengths > 0)
        cosines: Floats = np.clip(quotients, -1.0, 1.0)
        return cosines
    if distance == "l2":
        return np.sqrt(_row_sums(difference**2))
    return _row_sums(difference != 0 if distance == "hamming" else difference)


def _row_sums(values: Any) -> Floats:
    """Return the sum of each row, dense or sparse."""
    return np.asarray(values.sum(axis=1), np.float64).reshape(-1)


def flip_probes(bits: npt.NDArray[np.bool_], costs: Floats) -> Probes:
    """Return the probes of functions of bits: the other bit, at its cost."""
    values: Ints = bits.astype(np.int64)
    return Probes(values, (1 - values)[..., None], costs[..., None])


def check_directions(rows: Rows, norms: Floats, remedy: str = "remove it", noun: str = "row") -> None:
    """Raise InputError for a zero vector, which has no direction."""
    if not norms.all():
        raise row_error(rows, norms == 0, f"is a zero vector, which has no direction; {remedy}", noun)


def check_hashes(name: str, value: int) -> int:
    """Return a number of hash functions after checking it."""
    return check_count(name, value, 1, MAX_HASHES, f"1 to {MAX_HASHES:,}")


def check_seed(seed: int) -> int:
    """Return a seed after checking it."""
    return check_count("seed", seed, 0, 2**64 - 1, "0 to 2**64 - 1")


def check_flag(name: str, value: object) -> bool:
    """Return a bool after checking it."""
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(name, repr(value), "True or False")
    return bool(value)
