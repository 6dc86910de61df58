"""`MinHash` as datasketch has it: one set of features each, its values updated feature by feature or many at once.

    P[value i of A = value i of B] = J(A, B)        count = k / Σ (value / largest) − 1

Values, numbers of the functions and errors are those of datasketch 2.0 (`nearkin.families.datasketch` has the formulas
of the three schemes). What differs:

- the default hash and the minima are computed by the compiled core, those of `MinHash.bulk` in parallel;
- nothing runs on a GPU: `gpu_mode="always"` is an error, "detect" is the processor, with the same values;
- a seed of None, hashes and values that are no whole numbers, and a second seed's functions are refused, not rounded.

Source: Broder (SEQUENCES 1997); for the count Cohen, "Size-estimation framework with applications to transitive closure
and reachability" (JCSS 1997). Tests: `tests/compat/test_compat_datasketch.py`, bit for bit against the package.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin._core import DatasketchCore
from nearkin.compat.datasketch.hashing import sha1_hash32, sha1_hash64, unwrapped
from nearkin.errors import bad_parameter, mismatch
from nearkin.families.datasketch import (
    DatasketchScheme,
    Numbers,
    check_scheme,
    kernel,
    largest,
    permutations,
    value_type,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_MOST = 1 << 32
"""Largest number of values."""
_BATCH = 1 << 16
"""Features that `bulk` hashes at once."""
_ONE = np.array([0, 1], np.int64)

HashFunc = Callable[[Any], int]
_Sketch = TypeVar("_Sketch", bound="MinHash")


def default_hash(scheme: DatasketchScheme) -> HashFunc:
    """The hash that a scheme takes where none is given."""
    return sha1_hash64 if scheme == "affine64" else sha1_hash32


def whole_numbers(values: object, scheme: DatasketchScheme, name: str) -> Numbers:
    """Values as an array of the scheme's type; ParameterError for what is no whole number, or too large for it."""
    kind = value_type(scheme)
    most = int(np.iinfo(kind).max)
    if isinstance(values, np.ndarray):
        # As Python's integers where NumPy's are not, such as those of an array of objects.
        if values.dtype.kind not in "iu":
            values = values.tolist()
        elif values.size and not (int(values.min()) >= 0 and int(values.max()) <= most):
            raise bad_parameter(name, f"values from {values.min()} to {values.max()}", f"0 to {most} for {scheme}")
        else:
            return np.array(values, dtype=kind)
    if not isinstance(values, Iterable):
        raise bad_parameter(name, repr(values), "whole numbers")
    try:
        numbers = [operator.index(value) for value in values]
    except TypeError as error:
        raise bad_parameter(name, f"a value that is no whole number ({error})", f"numbers from 0 to {most}") from error
    # NumPy 1 would wrap what is too large.
    wrong = next((number for number in numbers if not 0 <= number <= most), None)
    if wrong is not None:
        raise bad_parameter(name, wrong, f"whole numbers from 0 to {most} for {scheme}")
    return np.array(numbers, dtype=kind)


def _bytes_of(feature: Any) -> bytes:
    try:
        return memoryview(feature).tobytes()
    except TypeError as error:
        raise TypeError(
            f"a feature is {type(feature).__name__}, and the SHA-1 of datasketch takes bytes; "
            "encode it, as in feature.encode(), or give a hashfunc"
        ) from error


class MinHash:
    """A set's MinHash, with the calls and values of `datasketch.MinHash`.

    Parameters
    ----------
    num_perm : int, default 128
        Values, 1 to 2^32; where `hashvalues` are given it follows from them.
    seed : int, default 1
        Draws the functions, 0 to 2^32 - 1.
    gpu_mode : {"disable", "detect", "always"}, default "disable"
        "disable" and "detect" run on the processor; "always" is an error.
    hashfunc : callable, optional
        A feature → a whole number of 32 bits, or of 64 for `affine64`; default the first bytes of the SHA-1.
    hashobj : optional
        Without effect, as in datasketch since 1.4; a DeprecationWarning.
    hashvalues : sequence of int, optional
        Values to begin with, of another MinHash; the scheme must be given.
    permutations : pair of sequences of int, optional
        Factors and terms of the functions; the scheme must be given.
    scheme : {"affine32", "affine64", "legacy"}, optional
        Default "affine32", that of datasketch 2; "legacy" is that of datasketch before 2.

    Attributes
    ----------
    hashvalues : (num_perm,) uint32, or uint64 for "affine64" and "legacy"
    permutations : (2, num_perm) of the same type
    num_perm, seed, scheme, hashfunc

    Raises
    ------
    ParameterError
        A value out of its range, or values or permutations without their scheme.

    Examples
    --------
    >>> from nearkin.compat.datasketch import MinHash
    >>> a, b = MinHash(num_perm=256), MinHash(num_perm=256)
    >>> a.update_batch([b"red", b"white", b"wine"])
    >>> b.update_batch([b"red", b"wine"])
    >>> round(a.jaccard(b), 1), round(float(a.count()))
    (0.7, 3)
    >>> [len(m) for m in MinHash.bulk([[b"red"], [b"white", b"wine"]], num_perm=64)]
    [64, 64]
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]  # Values change, so that nothing is hashable.

    seed: int
    scheme: DatasketchScheme
    hashvalues: Numbers
    permutations: Numbers
    hashfunc: HashFunc
    num_perm: int

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: Literal["disable", "detect", "always"] = "disable",
        hashfunc: HashFunc | None = None,
        hashobj: object = None,
        hashvalues: npt.ArrayLike | None = None,
        permutations: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None = None,
        scheme: DatasketchScheme | None = None,
    ) -> None:
        if scheme is None:
            if hashvalues is not None or permutations is not None:
                raise bad_parameter(
                    "scheme",
                    None,
                    'the scheme of the MinHash that the values are of: "affine32", "affine64", or "legacy" for those '
                    "of datasketch before 2.0",
                )
            scheme = "affine32"
        if hashobj is not None:
            warnings.warn("hashobj is deprecated, use hashfunc instead.", DeprecationWarning, stacklevel=2)
        self._set(scheme, seed, num_perm, gpu_mode, hashfunc, hashvalues, permutations)

    def _set(
        self,
        scheme: object,
        seed: object,
        num_perm: object,
        gpu_mode: object,
        hashfunc: object,
        hashvalues: object,
        given: object,
    ) -> None:
        """Checks the arguments and takes them."""
        self.scheme = check_scheme(scheme)
        self.seed = _check_whole("seed", seed)
        values = None if hashvalues is None else whole_numbers(hashvalues, self.scheme, "hashvalues")
        self.num_perm = _check_whole("num_perm", num_perm) if values is None else len(values)
        if not 1 <= self.num_perm <= _MOST:
            raise bad_parameter("num_perm", self.num_perm, f"1 to {_MOST}")
        if gpu_mode not in ("disable", "detect"):
            raise bad_parameter("gpu_mode", repr(gpu_mode), '"disable" or "detect": nearkin has no kernel for a GPU')
        self._gpu_mode = gpu_mode
        hashfunc = unwrapped(hashfunc)
        if hashfunc is not None and not callable(hashfunc):
            raise bad_parameter("hashfunc", repr(hashfunc), "a callable: a feature to a whole number")
        self.hashfunc = default_hash(self.scheme) if hashfunc is None else hashfunc
        self.permutations = self._drawn() if given is None else self._parsed(given)
        if self.permutations.shape[1] != self.num_perm:
            raise mismatch("number of values and of functions", self.num_perm, self.permutations.shape[1])
        self.hashvalues = self._empty() if values is None else values

    def _drawn(self) -> Numbers:
        return permutations(self.scheme, self.num_perm, self.seed)

    def _empty(self) -> Numbers:
        return np.full(len(self.permutations[0]), largest(self.scheme), value_type(self.scheme))

    def _parsed(self, given: object) -> Numbers:
        """Factors and terms as a read-only array, shared where it is one already."""
        kind = value_type(self.scheme)
        if isinstance(given, np.ndarray) and given.dtype == kind and given.ndim == 2 and len(given) == 2:
            # Its own class is left behind.
            numbers: Numbers = np.asarray(given)
        else:
            if not isinstance(given, (Sequence, np.ndarray)) or len(given) != 2:
                raise bad_parameter("permutations", repr(given)[:80], "two sequences: factors and terms")
            factors, terms = (whole_numbers(part, self.scheme, "permutations") for part in given)
            if factors.shape != terms.shape:
                raise mismatch("number of factors and of terms", len(factors), len(terms))
            numbers = np.stack([factors, terms])
        if self.scheme != "legacy" and not (numbers[0] & kind(1)).all():
            raise bad_parameter("permutations", "an even factor", f"odd factors for {self.scheme}")
        if numbers.flags.writeable:
            numbers = numbers.copy()
            numbers.flags.writeable = False
        return numbers

    def _kernel(self) -> DatasketchCore:
        """The compiled functions with the numbers of `permutations`."""
        numbers = self.permutations
        held: tuple[Numbers, DatasketchCore] | None = self.__dict__.get("_held")
        if held is not None and held[0] is numbers:
            return held[1]
        if 0 <= self.seed < 1 << 32 and numbers is self._drawn():
            made = kernel(self.scheme, self.num_perm, self.seed)
        else:
            factors, terms = np.asarray(numbers).astype(np.uint64)
            made = DatasketchCore(self.scheme, factors, terms)
        self._held = numbers, made
        return made

    def _signatures(self, ends: npt.NDArray[np.int64], features: list[Any]) -> Numbers:
        """Values of sets of features, one after the other."""
        core = self._kernel()
        if self.hashfunc is default_hash(self.scheme):
            try:
                return core.signatures_given(ends, features)
            except TypeError:
                return core.signatures_given(ends, [_bytes_of(feature) for feature in features])
        hashfunc = self.hashfunc
        hashes = whole_numbers([hashfunc(feature) for feature in features], self.scheme, "hashfunc")
        return core.signatures_hashed(ends, hashes.astype(np.uint64))

    def update(self, b: Any) -> None:
        """Takes one feature into the set.

        Parameters
        ----------
        b : bytes, or what the `hashfunc` takes

        Raises
        ------
        TypeError
            A feature that the hash does not take.
        ParameterError
            A hash that is no whole number, or too large for the scheme.
        """
        self.hashvalues = np.minimum(self.hashvalues, self._signatures(_ONE, [b]))

    def update_batch(self, b: Iterable[Any]) -> None:
        """Takes many features into the set.

        Parameters
        ----------
        b : iterable of bytes, or of what the `hashfunc` takes

        Raises
        ------
        TypeError
            A feature that the hash does not take.
        ParameterError
            A hash that is no whole number, or too large for the scheme.
        """
        features = list(b)
        if features:
            ends = np.array([0, len(features)], np.int64)
            self.hashvalues = np.minimum(self.hashvalues, self._signatures(ends, features))

    def _check_alike(self, other: Any) -> None:
        """MismatchError unless the other has this scheme, seed and number of values."""
        for what, left, right in (
            ("scheme", self.scheme, getattr(other, "scheme", None)),
            ("seed", self.seed, other.seed),
            ("num_perm", len(self), len(other)),
        ):
            if left != right:
                raise mismatch(what, left, right)

    def jaccard(self, other: MinHash) -> float:
        """The share of equal values, which estimates the Jaccard similarity.

        Parameters
        ----------
        other : MinHash
            Of the same scheme, seed and number of values.

        Returns
        -------
        float
            0 to 1; two sets without features give 1, as in datasketch.

        Raises
        ------
        MismatchError
            For one that was made differently.
        """
        self._check_alike(other)
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / len(self)

    def count(self) -> float:
        """The estimated number of different features.

        Returns
        -------
        float
            0 or more.
        """
        shares: npt.NDArray[np.float64] = self.hashvalues / float(largest(self.scheme))
        return float(len(self)) / np.sum(shares) - 1.0

    def merge(self, other: MinHash) -> None:
        """Makes this the MinHash of the union of both sets.

        Parameters
        ----------
        other : MinHash
            Of the same scheme, seed and number of values.

        Raises
        ------
        MismatchError
            For one that was made differently.
        """
        self._check_alike(other)
        self.hashvalues = np.minimum(self.hashvalues, other.hashvalues)

    def digest(self) -> Numbers:
        """A copy of the values."""
        return np.array(self.hashvalues)

    def is_empty(self) -> bool:
        """Whether there was no feature yet."""
        return bool((self.hashvalues == largest(self.scheme)).all())

    def clear(self) -> None:
        """Forgets all features."""
        self.hashvalues = np.full(len(self), largest(self.scheme), value_type(self.scheme))

    def copy(self) -> MinHash:
        """A copy that can be updated by itself."""
        return self._with(self.digest())

    def _with(self: _Sketch, values: Numbers) -> _Sketch:
        """One of this seed and these functions with other values."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, hashvalues=values)
        return new

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, MinHash)
            and self.scheme == other.scheme
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    @classmethod
    def union(cls, *mhs: Any) -> Self:
        """The MinHash of the union of two or more sets.

        Parameters
        ----------
        *mhs : MinHash
            Two or more, of the same scheme, seed and number of values.

        Raises
        ------
        ParameterError
            Fewer than two.
        MismatchError
            Some were made differently.
        """
        if len(mhs) < 2:
            raise bad_parameter("mhs", f"{len(mhs)} MinHash", "two or more")
        for other in mhs[1:]:
            mhs[0]._check_alike(other)
        values = np.minimum.reduce([m.hashvalues for m in mhs])
        return cls._united(mhs[0], values)

    @classmethod
    def _united(cls, first: Any, values: Numbers) -> Self:
        return cls(
            seed=first.seed,
            hashfunc=first.hashfunc,
            hashvalues=values,
            permutations=first.permutations,
            gpu_mode=first._gpu_mode,
            scheme=first.scheme,
        )

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[Self]:
        """MinHashes of many sets, computed in parallel.

        Parameters
        ----------
        b : iterable of iterables of bytes, or of what the `hashfunc` takes
        **minhash_kwargs
            Arguments of `MinHash`, for all.

        Returns
        -------
        list of MinHash
        """
        if cls.update_batch is not MinHash.update_batch or cls.update is not MinHash.update:
            return list(cls.generator(b, **minhash_kwargs))
        first = cls(**minhash_kwargs)
        made: list[Self] = []
        ends, features = [0], list[Any]()

        def flush() -> None:
            if len(ends) > 1:
                rows = first._signatures(np.array(ends, np.int64), features).reshape(-1, len(first))
                # A row of its own each, so that one that is kept does not keep the batch.
                made.extend(first._with(np.minimum(row, first.hashvalues)) for row in rows)
            ends[1:] = []
            features.clear()

        for document in b:
            features.extend(document)
            ends.append(len(features))
            if len(features) >= _BATCH:
                flush()
        flush()
        return made

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Generator[Self, None, None]:
        """As `bulk`, one after the other: each set is asked for when its MinHash is.

        Parameters
        ----------
        b : iterable of iterables of bytes, or of what the `hashfunc` takes
        **minhash_kwargs
            Arguments of `MinHash`, for all.
        """
        first = cls(**minhash_kwargs)
        for document in b:
            one = first._with(first.digest())
            one.update_batch(document)
            yield one

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_held"}
        if 0 <= self.seed < 1 << 32 and self.permutations is self._drawn():
            # The seed draws them again.
            state["permutations"] = None
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # A pickle of datasketch before 2.0 names no scheme, and one before 1.4 no hash.
        known = dict(state)
        taken = ("scheme", "seed", "num_perm", "_gpu_mode", "hashfunc", "hashvalues", "permutations")
        ours = {name: known.pop(name, None) for name in taken}
        self._set(
            "legacy" if ours["scheme"] is None else ours["scheme"],
            ours["seed"],
            ours["num_perm"],
            ours["_gpu_mode"] or "disable",
            ours["hashfunc"],
            ours["hashvalues"],
            ours["permutations"],
        )
        # What the program has set besides; the caches of a GPU and the hash object of old versions are left out.
        own = {name: value for name, value in known.items() if name not in _LEFT_OUT and not hasattr(MinHash, name)}
        self.__dict__.update(own)


_LEFT_OUT = ("_a_gpu", "_b_gpu", "_held", "hashobj")


def _check_whole(name: str, value: object) -> int:
    """A whole number of any size."""
    if isinstance(value, bool):
        raise bad_parameter(name, value, "a whole number")
    try:
        return operator.index(value)  # type: ignore[arg-type]  # What has no __index__ is refused below.
    except TypeError:
        raise bad_parameter(name, repr(value), "a whole number") from None
