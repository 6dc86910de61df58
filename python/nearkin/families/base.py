"""What every family of vectors is: parameters, fit, transform, a law, a file.

A family is a distribution over hash functions. `fit` draws `num_hashes` of them (and learns from data what the family
learns); `transform` applies them. Function j depends on the seed, on j and on the dimension alone, so a family with
more functions begins with the same ones.

| `kind` | `transform` gives | equal values mean |
|---|---|---|
| `bits` | fingerprints: uint64 `(n,)` up to 64 bits, `(n, words)` above | one bit per function |
| `keys` | int64 `(n, num_hashes)` | one integer per function |
| `features` | float64 `(n, num_hashes)` | nothing: an inner product approximates a kernel |

`transform` of a fitted family depends on its parameters and the vector alone: not on the batch, the number of threads,
the order in memory, `float32` or `float64` of the same values, dense or sparse, the BLAS or the machine. What `fit`
learns from data by eigenvectors or means over samples is promised on one platform only; save the family to carry it
elsewhere.

The index and multi-probe ask a family for `hash_values`, `probes` and `hash_layout`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin import theory
from nearkin._core import read_family, write_family
from nearkin.errors import (
    CorruptStoreError,
    FormatVersionError,
    NotFittedError,
    bad_parameter,
    check_count,
    check_regular,
    mismatch,
)
from nearkin.vectors.projection import unpack_bits
from nearkin.vectors.rows import Floats, Ints, Rows, Vectors, as_rows

if TYPE_CHECKING:
    from typing_extensions import Self

Codes: TypeAlias = npt.NDArray[np.uint64] | npt.NDArray[np.int64] | npt.NDArray[np.float64]
"""Fingerprints, keys or features."""
Distance: TypeAlias = Literal["cosine", "l2", "l1", "hamming", "kernel"]

MAX_HASHES = 1 << 16
FORMAT = 1
"""Version of the description in a family's file."""

_FAMILIES: dict[str, type[Family]] = {}


class Probes(NamedTuple):
    """Hash values, and the next best values of each function with their costs.

    The cost of changing several functions is the sum of their costs; the change of lowest cost is the most promising.
    """

    values: Ints
    """`(n, num_hashes)`: what `hash_values` gives."""
    others: Ints
    """`(n, num_hashes, count)`: the next values of each function, cheapest first."""
    costs: Floats
    """`(n, num_hashes, count)`: what each of them costs, 0 or more, ascending."""


class Projections(NamedTuple):
    """What each function sees of vectors before it decides, `(n, num_hashes)` each."""

    values: Floats
    """The number that is compared or rounded; NaN where it is not kept."""
    limits: Floats
    """What it is compared with; NaN where values are rounded."""
    margins: Floats
    """The way to the nearest other hash value, 0 or more; NaN where it is not known."""


class Terms(NamedTuple):
    """What `Projections` of a family are, in words."""

    value: str
    rule: str
    margin: str


class Family(ABC):
    """Base of the families; see the classes below it.

    Attributes
    ----------
    kind : {"bits", "keys", "features"}
        What `transform` gives.
    distance : {"cosine", "l2", "l1", "hamming", "kernel"}
        What the hash values approximate, and what `collision_probability` takes: the cosine similarity or the kernel's
        value where it is one of these, else the distance.
    dimension_ : int
        Dimension of the vectors, after `fit`.
    """

    name: ClassVar[str]
    """Name in files and texts, the module's."""
    kind: ClassVar[Literal["bits", "keys", "features"]]
    _count: ClassVar[str] = "bits"
    """Parameter that is the number of functions."""
    _learned: ClassVar[tuple[str, ...]] = ()
    """Arrays and numbers that `fit` sets and a file keeps, besides `dimension_`."""
    terms: ClassVar[Terms]
    """What `projections` gives, in words."""

    dimension_: int
    seed: int
    _digest: str | None

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            _FAMILIES[cls.name] = cls

    @property
    @abstractmethod
    def distance(self) -> Distance:
        """What the hash values approximate."""

    @abstractmethod
    def _check(self) -> None:
        """Raises ParameterError for parameters out of range."""

    @abstractmethod
    def _fit(self, rows: Rows) -> None:
        """Draws and learns for `rows.d` dimensions."""

    @abstractmethod
    def _transform(self, rows: Rows) -> Codes:
        """`(n, words)` uint64, `(n, num_hashes)` int64 or float64."""

    @abstractmethod
    def collision_probability(self, value: npt.ArrayLike) -> Floats:
        """Probability that one function gives two vectors the same value.

        Parameters
        ----------
        value : float or array
            Their similarity or distance; see `distance`.
        """

    def table_probability(self, value: npt.ArrayLike, num_tables: int, hashes_per_table: int) -> Floats:
        """Probability that two vectors share the bucket of at least one table of `hash_layout`.

        Parameters
        ----------
        value : float or array
            Their similarity or distance, as `collision_probability` takes it.
        num_tables, hashes_per_table : int
            L and k, 1 or more.

        Returns
        -------
        float64 array
            1 - (1 - p^k)^L of the collision probability p, where tables are independent.
        """
        return theory.amplify(self.collision_probability(value), hashes_per_table, num_tables)

    def _derive(self) -> None:  # noqa: B027 a family may have nothing to prepare
        """Prepares what follows from parameters and learned arrays; after `fit` and after `load`."""

    def _check_learned(self) -> None:
        """Raises ValueError if arrays of a file do not fit the parameters."""
        for name, shape in self._shapes().items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape} and not {shape}")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes that learned arrays must have."""
        return {}

    # -- fitting and hashing

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Draws the hash functions for the dimension of X, and learns what the family learns from X.

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
            A parameter of the family outside its range; X is not a matrix of numbers.
        InputError
            Too few rows; a row with NaN or infinite values; vectors that the family can't use. The
            family is unchanged after any error.
        """
        self._check()
        rows = as_rows(X, least=1)
        rows.norms()
        # Fitted apart, so that a failure leaves the family as it was.
        fitted = type(self)(**self.get_params())
        fitted._fit(rows)
        fitted.dimension_ = rows.d
        fitted._digest = None
        fitted._derive()
        vars(self).update(vars(fitted))
        return self

    def transform(self, X: Vectors) -> Codes:
        """Hash values of vectors.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `fit`, of the same dimension; no rows give no codes.

        Returns
        -------
        array
            Fingerprints, keys or features by `kind`: see the head of this module.

        Raises
        ------
        NotFittedError
            Before `fit`.
        MismatchError
            Another dimension than that of `fit`.
        InputError
            A row with NaN or infinite values, or one that the family can't hash.
        """
        codes = self._transform(self._rows(X))
        return codes[:, 0].copy() if self.kind == "bits" and codes.shape[1] == 1 else codes

    def fit_transform(self, X: Vectors, y: object = None) -> Codes:
        """`fit`, then `transform` of the same vectors."""
        return self.fit(X).transform(X)

    def _rows(self, X: Vectors) -> Rows:
        if not hasattr(self, "dimension_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit(X) first", family=self.name)
        return as_rows(X, dimension=self.dimension_)

    # -- what the index asks

    @property
    def num_hashes(self) -> int:
        """Number of hash functions: bits, or integers of a row."""
        return int(getattr(self, self._count))

    @property
    def num_alternatives(self) -> int:
        """How many other values of a function `probes` can name at most."""
        return 1 if self.kind == "bits" else 0

    def alternatives_of(self, dimension: int) -> int:
        """What `num_alternatives` is once the family is fitted to vectors of this dimension.

        Parameters
        ----------
        dimension : int
            1 or more.
        """
        return self.num_alternatives

    def resized(self, num_hashes: int, *, group: int | None = None) -> Self:
        """An unfitted copy with another number of functions, the first ones the same.

        Parameters
        ----------
        num_hashes : int
            1 to 65,536.
        group : int, optional
            Hashes of one table, for families whose last hash of a table differs from the others.
        """
        return type(self)(**{**self.get_params(), self._count: num_hashes})

    def hash_layout(self, num_tables: int, hashes_per_table: int) -> Ints:
        """Which functions make the key of each table: `(num_tables, hashes_per_table)` numbers from 0 on.

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
        """The value of every function, `(n, num_hashes)` int64; bits are 0 and 1.

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
        """Values of every function, and for each the next best ones with their costs.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.
        count : int, optional
            Other values per function, 1 to `num_alternatives`; all of them without it.

        Returns
        -------
        Probes
            In `float64` and a fixed order of operations, so they do not depend on the batch.

        Raises
        ------
        ParameterError
            A count out of range; a family without alternatives.
        """
        most = self.num_alternatives
        if most == 0:
            raise bad_parameter(
                "family", self.name, "a family with margins, such as hyperplane, pstable, cross_polytope"
            )
        count = most if count is None else check_count("count", count, 1, most, f"1 to {most}")
        return self._probes(self._rows(X), count)

    def _probes(self, rows: Rows, count: int) -> Probes:
        raise bad_parameter("family", self.name, "a family with margins")

    def projections(self, X: Vectors) -> Projections:
        """What each function sees of vectors before it decides: for people to look at.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            As for `transform`.

        Returns
        -------
        Projections
            `terms` says what they are. The hash values of `transform` follow from them.

        Raises
        ------
        NotFittedError, MismatchError, InputError
            As for `transform`.
        """
        rows = self._rows(X)
        rows.norms()
        return self._projections(rows)

    @abstractmethod
    def _projections(self, rows: Rows) -> Projections:
        """Of rows whose values are finite."""

    def pair_values(self, X: Vectors, Y: Vectors) -> Floats:
        """Similarity or distance of pairs of vectors, as `collision_probability` takes it: see `distance`.

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
            Different numbers of vectors; another dimension than that of `fit`.
        NotFittedError, InputError
            As for `transform`.
        """
        left, right = self._rows(X), self._rows(Y)
        if len(left) != len(right):
            raise mismatch("number of vectors", len(left), len(right))
        left.norms()
        right.norms()
        return self._pair_values(left.wide(), right.wide())

    def _pair_values(self, left: Rows, right: Rows) -> Floats:
        """Of `float64` rows; families whose law takes another value have their own."""
        return apart(left, right, self.distance)

    # -- parameters, identity, files

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as they were given; `deep` is there because scikit-learn gives it."""
        return {name: getattr(self, name) for name in self._names()}

    def __repr__(self) -> str:
        defaults = {
            name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if not _same(value, defaults[name])]
        return f"{type(self).__name__}({', '.join(given)})"

    def _recipe(self) -> dict[str, Any]:
        """All that determines the hash values; arrays by their checksum."""
        recipe = self.description()
        if hasattr(self, "dimension_"):
            learned = {name: getattr(self, name) for name in self._learned}
            recipe["dimension"] = self.dimension_
            recipe["learned"] = {name: value for name, value in learned.items() if not isinstance(value, np.ndarray)}
            recipe["arrays"] = {
                name: {
                    "dtype": value.dtype.str,
                    "shape": list(value.shape),
                    "sha256": hashlib.sha256(value.tobytes()).hexdigest(),
                }
                for name, value in learned.items()
                if isinstance(value, np.ndarray)
            }
        return recipe

    def description(self) -> dict[str, Any]:
        """The family before `fit` as a JSON object, which `unfitted` takes: name, version and parameters."""
        return {"family": self.name, "version": FORMAT, "params": self._plain_params()}

    def _plain_params(self) -> dict[str, Any]:
        return {
            name: value.item() if isinstance(value, np.generic) else value for name, value in self.get_params().items()
        }

    def to_json(self) -> str:
        """Family, parameters, dimension and learned values as JSON; arrays by their checksum."""
        return json.dumps(self._recipe(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    def __str__(self) -> str:
        params = ",".join(f"{name}={value}" for name, value in self._plain_params().items())
        return f"{self.name}({params})"

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of all that determines the hash values: equal ones may be compared."""
        if not hasattr(self, "dimension_"):
            return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]
        if self._digest is None:
            self._digest = hashlib.sha256(self.to_json().encode()).hexdigest()[:16]
        return self._digest

    def require_same(self, other: Family) -> None:
        """Refuses a family whose hash values can't be compared with this one's.

        Parameters
        ----------
        other : Family
            A fitted family.

        Raises
        ------
        MismatchError
            With the first property that differs.
        """
        if self.digest == other.digest:
            return
        left, right = self._recipe(), other._recipe()
        for key in ("family", "dimension", "params", "learned", "arrays", "version"):
            mine, theirs = left.get(key), right.get(key)
            if isinstance(mine, dict) and isinstance(theirs, dict):
                for name in [*mine, *theirs]:
                    if mine.get(name) != theirs.get(name):
                        raise mismatch(name, mine.get(name), theirs.get(name))
            elif mine != theirs:
                raise mismatch(key, mine, theirs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fitted family to a file, which replaces one of that name only when it is complete.

        Parameters
        ----------
        path : str or os.PathLike
            The file. Its format is docs/format-families.md: versioned and checksummed. `nearkin.families.load` reads
            it.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            A parameter that can't be saved, such as a kernel that is a function.
        OSError
            If it can't be written.
        """
        text, arrays = self.parts()
        write_family(os.fspath(path), text, arrays)

    def parts(self) -> tuple[str, list[npt.NDArray[np.uint8]]]:
        """The fitted family as a description (`to_json`) and the bytes of its arrays, as `restore` takes them.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        if not hasattr(self, "dimension_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit(X) first", family=self.name)
        arrays = [np.ascontiguousarray(getattr(self, name)) for name in sorted(self._recipe()["arrays"])]
        return self.to_json(), [array.reshape(-1).view(np.uint8) for array in arrays]


def load(path: str | os.PathLike[str]) -> Family:
    """The family that `save` wrote.

    Parameters
    ----------
    path : str or os.PathLike
        A regular file.

    Raises
    ------
    CorruptStoreError
        If the file is not a family, or changed since it was written.
    FormatVersionError
        If a newer nearkin wrote it.
    OSError
        If it can't be read.

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
    place = os.fspath(path)
    check_regular(place)
    return restore(*read_family(place), place)


def restore(text: str, arrays: Sequence[bytes | npt.NDArray[np.uint8]], place: str) -> Family:
    """The family of a description and the bytes of its arrays, as `Family.parts` gave them; `place` is for messages.

    Raises
    ------
    CorruptStoreError, FormatVersionError
        As for `load`.
    """

    def damaged(reason: str) -> CorruptStoreError:
        return CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason)

    try:
        recipe = json.loads(text)
        version = recipe["version"]
        if version != FORMAT:
            raise FormatVersionError(
                f"format version {version} is newer than {FORMAT}, the newest that this build reads; upgrade nearkin",
                found=version,
                newest=FORMAT,
            )
        family = unfitted(recipe)
        learned, forms = recipe["learned"], recipe["arrays"]
        if set(learned) | set(forms) != set(family._learned) or len(forms) != len(arrays):
            raise damaged("its arrays are not those of its family")
        family.dimension_ = check_count("dimension", recipe["dimension"], 1, 2**40, "1 or more")
        for name, value in learned.items():
            setattr(family, name, value)
        for (name, form), data in zip(forms.items(), arrays, strict=True):
            dtype = np.dtype(form["dtype"])
            if dtype.kind not in "fiu":
                raise damaged(f"array {name} holds {dtype}")
            setattr(family, name, np.frombuffer(data, dtype).reshape(form["shape"]))
        family._digest = None
        family._check_learned()
        family._derive()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        # ParameterError is a ValueError: parameters that no constructor takes were not written by `save`.
        raise damaged(f"its description does not hold together ({error})") from error
    return family


def unfitted(description: dict[str, Any]) -> Family:
    """The family before `fit` of its `description`.

    Raises
    ------
    KeyError, TypeError, ValueError
        The object does not describe a family.
    """
    # JSON has lists for tuples.
    params = {name: tuple(value) if isinstance(value, list) else value for name, value in description["params"].items()}
    family = _FAMILIES[description["family"]](**params)
    family._check()
    return family


def apart(left: Rows, right: Rows, distance: Distance) -> Floats:
    """Cosines, or L2, L1 or Hamming distances, of rows with rows, `(n,)`."""
    if left.csr is not None and right.csr is not None:
        difference, products = abs(left.csr - right.csr), left.csr.multiply(right.csr)
    else:
        difference, products = np.abs(left.dense() - right.dense()), left.dense() * right.dense()
    if distance == "cosine":
        lengths = left.norms() * right.norms()
        found = np.divide(_sums(products), lengths, out=np.full(len(left), np.nan), where=lengths > 0)
        cosines: Floats = np.clip(found, -1.0, 1.0)
        return cosines
    if distance == "l2":
        return np.sqrt(_sums(difference**2))
    return _sums(difference != 0 if distance == "hamming" else difference)


def _sums(values: Any) -> Floats:
    """The sum of each row, dense or sparse."""
    return np.asarray(values.sum(axis=1), np.float64).reshape(-1)


def check_hashes(name: str, value: int) -> int:
    """A number of hash functions."""
    return check_count(name, value, 1, MAX_HASHES, f"1 to {MAX_HASHES:,}")


def check_seed(seed: int) -> int:
    """A seed."""
    return check_count("seed", seed, 0, 2**64 - 1, "0 to 2**64 - 1")


def check_flag(name: str, value: object) -> bool:
    """A bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise bad_parameter(name, repr(value), "True or False")
    return bool(value)


def check_number(name: str, value: object, allowed: str, valid: Callable[[float], bool]) -> float:
    """A finite number for which `valid` holds."""
    try:
        number = float(value)  # type: ignore[arg-type]  # Anything but a number raises.
    except (TypeError, ValueError):
        raise bad_parameter(name, repr(value), allowed) from None
    if not (np.isfinite(number) and valid(number)):
        raise bad_parameter(name, value, allowed)
    return number


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and bool(left == right)
