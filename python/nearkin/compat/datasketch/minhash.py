"""`MinHash` and `LeanMinHash` of datasketch: one sketch per set, updated with one feature or with many.

    P[value i of A = value i of B] = J(A, B)        count = k / Σ (value / largest value) − 1

Values, permutations and errors are those of datasketch 2.0; `nearkin.families.datasketch` has the formulas of the three
schemes. Differences:

- The compiled core computes the default hash and the minima, and `MinHash.bulk` runs in parallel.
- There is no GPU kernel: `gpu_mode="detect"` runs on the processor with the same values, "always" is an error.
- A seed of None, values that are not integers, and permutations of another length are errors; datasketch rounds
  or truncates them.

`LeanMinHash` keeps values, seed and scheme, without the permutations. Its bytes, in the byte order and alignment of a
character of `struct` ("@", "=", "<", ">", "!"), are

| scheme | bytes |
|---|---|
| `legacy` | seed (int64), number of values (int32, positive), values (uint32 each) |
| `affine32` | seed (int64), negated number of values (int32), 1 (uint8), values (uint32 each) |
| `affine64` | seed (int64), negated number of values (int32), 2 (uint8), values (uint64 each) |

Sources: Broder, "On the resemblance and containment of documents" (SEQUENCES 1997); for the count Cohen,
"Size-estimation framework with applications to transitive closure and reachability" (JCSS 1997); for the bytes the
documentation of datasketch 2.0 (Zhu). Tests: `tests/compat/test_compat_datasketch.py`, bit for bit against the package.
"""

from __future__ import annotations

import hashlib
import operator
import struct
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from nearkin._core import DatasketchCore
from nearkin.errors import InputError, bad_parameter, check_count, mismatch
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

_MAX_VALUES = 1 << 32
_BATCH = 1 << 16
"""Number of features that `bulk` hashes at a time."""
_SCHEMES = '"affine32", "affine64", or "legacy" for datasketch before 2.0'
_SCHEME_CODES: dict[int, DatasketchScheme] = {1: "affine32", 2: "affine64"}
_BYTE_ORDERS = {"@": "=", "=": "=", "<": "<", ">": ">", "!": ">"}

HashFunc = Callable[[Any], int]


def sha1_hash32(data: bytes) -> int:
    """Return the first 4 bytes of the SHA-1, little-endian: 0 to 2^32 - 1.

    Parameters
    ----------
    data : bytes-like

    Examples
    --------
    >>> from nearkin.compat.datasketch import sha1_hash32
    >>> sha1_hash32(b"abc")
    910072233
    """
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:4], "little")


def sha1_hash64(data: bytes) -> int:
    """Return the first 8 bytes of the SHA-1, little-endian: 0 to 2^64 - 1.

    Parameters
    ----------
    data : bytes-like
    """
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:8], "little")


class FrozenFunction:
    """A function that a pickle refers to by name. It can be called, and a pickle cannot change it.

    Parameters
    ----------
    function : callable
    """

    __slots__ = ("function",)
    function: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "function", function)

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.function(*args)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise InputError(f"this pickle changes {name} of a function", place="pickle", reason="changes a function")

    def __setstate__(self, state: object) -> NoReturn:
        raise InputError("this pickle gives a function a state", place="pickle", reason="changes a function")


def check_hashfunc(hashfunc: object) -> Any:
    """Return the callable, without the wrapper of a pickle; None for None.

    Raises
    ------
    ParameterError
        The value is not callable.
    """
    function = hashfunc.function if isinstance(hashfunc, FrozenFunction) else hashfunc
    if function is not None and not callable(function):
        raise bad_parameter("hashfunc", repr(hashfunc), "a callable")
    return function


def check_equal(what: str, left: object, right: object) -> None:
    """Raise MismatchError unless two sketches or indexes agree."""
    if left != right:
        raise mismatch(what, left, right)


def _check_seed(seed: object) -> int:
    """Return a seed that the bytes of a LeanMinHash can hold."""
    return check_count("seed", seed, -(1 << 63), (1 << 63) - 1, "an integer, a signed 64-bit number")


def _check_values(values: object, scheme: DatasketchScheme, name: str) -> Numbers:
    """Return values as a new array of the scheme's type, all of them integers in its range."""
    dtype = value_type(scheme)
    allowed = f"integers from 0 to {np.iinfo(dtype).max} for {scheme}"
    if not isinstance(values, Iterable):
        raise bad_parameter(name, repr(values), allowed)
    is_array = isinstance(values, np.ndarray) and values.dtype.kind in "iu"
    try:
        numbers: Any = values if is_array else [operator.index(value) for value in values]
    except TypeError as error:
        raise bad_parameter(name, f"a value that is not an integer ({error})", allowed) from error
    if len(numbers):
        low, high = (numbers.min(), numbers.max()) if is_array else (min(numbers), max(numbers))
        # NumPy 1 would wrap a value that is too large.
        if low < 0 or int(high) > np.iinfo(dtype).max:
            raise bad_parameter(name, f"values from {low} to {high}", allowed)
    return np.array(numbers, dtype=dtype)


def _to_bytes(feature: Any) -> bytes:
    try:
        return memoryview(feature).tobytes()
    except TypeError as error:
        raise TypeError(
            f"a feature is {type(feature).__name__}, and the SHA-1 of datasketch takes bytes; "
            "encode it, as in feature.encode(), or pass a hashfunc"
        ) from error


def _default_hash(scheme: DatasketchScheme) -> HashFunc:
    return sha1_hash64 if scheme == "affine64" else sha1_hash32


class MinHash:
    """The MinHash of a set, with the calls and values of `datasketch.MinHash`.

    Parameters
    ----------
    num_perm : int, default 128
        Number of values, 1 to 2^32; ignored if `hashvalues` is passed.
    seed : int, default 1
        Seed of the permutations, 0 to 2^32 - 1.
    gpu_mode : {"disable", "detect", "always"}, default "disable"
        "disable" and "detect" run on the processor; "always" is an error.
    hashfunc : callable, optional
        Maps a feature to an integer of 32 bits, or of 64 for `affine64`. Default: the first bytes of the SHA-1.
    hashobj : optional
        Ignored with a DeprecationWarning, as in datasketch since 1.4.
    hashvalues : sequence of int, optional
        Initial values, from another MinHash; requires `scheme`.
    permutations : pair of sequences of int, optional
        Factors and terms of the permutations; requires `scheme`.
    scheme : {"affine32", "affine64", "legacy"}, optional
        Default "affine32", that of datasketch 2; "legacy" is that of datasketch before 2.

    Attributes
    ----------
    hashvalues : (num_perm,) uint32, or uint64 for "affine64" and "legacy"
    permutations : (2, num_perm) of the same type, read-only
    num_perm, seed, scheme, hashfunc

    Raises
    ------
    ParameterError
        A value is out of its range, or values or permutations come without their scheme.

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

    __hash__: ClassVar[None]  # type: ignore[assignment]  # A MinHash is mutable, so it is not hashable.

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
        if scheme is None and (hashvalues is not None or permutations is not None):
            raise bad_parameter("scheme", None, f"the scheme of these values: {_SCHEMES}")
        if hashobj is not None:
            warnings.warn("hashobj is deprecated, use hashfunc instead.", DeprecationWarning, stacklevel=2)
        if gpu_mode not in ("disable", "detect"):
            raise bad_parameter("gpu_mode", repr(gpu_mode), '"disable" or "detect": nearkin has no GPU kernel')
        self.scheme = check_scheme("affine32" if scheme is None else scheme)
        self.seed = _check_seed(seed)
        values = None if hashvalues is None else _check_values(hashvalues, self.scheme, "hashvalues")
        count = num_perm if values is None else len(values)
        self.num_perm = check_count("num_perm", count, 1, _MAX_VALUES, f"1 to {_MAX_VALUES}")
        self.hashfunc = check_hashfunc(hashfunc) or _default_hash(self.scheme)
        self.permutations = (
            self._seeded_permutations() if permutations is None else self._check_permutations(permutations)
        )
        self.hashvalues = np.empty(self.num_perm, value_type(self.scheme)) if values is None else values
        if values is None:
            self.clear()

    def _seeded_permutations(self) -> Numbers:
        return permutations(self.scheme, self.num_perm, self.seed)

    def _check_permutations(self, pair: object) -> Numbers:
        """Return factors and terms as a read-only array; one that is read-only already is shared."""
        dtype = value_type(self.scheme)
        if not isinstance(pair, np.ndarray) or pair.flags.writeable or pair.dtype != dtype or pair.shape[:-1] != (2,):
            if not isinstance(pair, (Sequence, np.ndarray)) or len(pair) != 2:
                raise bad_parameter("permutations", repr(pair)[:80], "two sequences: factors and terms")
            factors, terms = (_check_values(values, self.scheme, "permutations") for values in pair)
            if factors.shape != terms.shape:
                raise mismatch("number of factors and of terms", len(factors), len(terms))
            pair = np.stack([factors, terms])
            pair.flags.writeable = False
        numbers: Numbers = pair
        if self.scheme != "legacy" and not (numbers[0] & dtype(1)).all():
            raise bad_parameter("permutations", "an even factor", f"odd factors for {self.scheme}")
        check_equal("number of values and of permutations", self.num_perm, numbers.shape[1])
        return numbers

    def _kernel(self) -> DatasketchCore:
        """Return the compiled functions of `permutations`, cached until the attribute is replaced."""
        numbers = self.permutations
        cached: tuple[Numbers, DatasketchCore] | None = self.__dict__.get("_cached_kernel")
        if cached is None or cached[0] is not numbers:
            if self._is_seeded():
                core = kernel(self.scheme, self.num_perm, self.seed)
            else:
                factors, terms = np.asarray(numbers).astype(np.uint64)
                core = DatasketchCore(self.scheme, factors, terms)
            cached = self._cached_kernel = numbers, core
        return cached[1]

    def _is_seeded(self) -> bool:
        """Return True if the permutations come from the seed."""
        return 0 <= self.seed < 1 << 32 and self.permutations is self._seeded_permutations()

    def _signatures(self, offsets: Sequence[int], features: list[Any]) -> Numbers:
        """Return the values of consecutive sets of features, flat."""
        core, ends = self._kernel(), np.array(offsets, np.int64)
        if self.hashfunc is _default_hash(self.scheme):
            try:
                return core.signatures_given(ends, features)
            except TypeError:
                return core.signatures_given(ends, [_to_bytes(feature) for feature in features])
        hashes = _check_values([self.hashfunc(feature) for feature in features], self.scheme, "hashfunc")
        return core.signatures_hashed(ends, hashes.astype(np.uint64))

    def update(self, b: Any) -> None:
        """Add one feature to the set.

        Parameters
        ----------
        b : bytes, or an input of `hashfunc`

        Raises
        ------
        TypeError
            The hash does not take the feature.
        ParameterError
            The hash is not an integer, or is too large for the scheme.
        """
        self.hashvalues = np.minimum(self.hashvalues, self._signatures((0, 1), [b]))

    def update_batch(self, b: Iterable[Any]) -> None:
        """Add many features to the set; see `update`.

        Parameters
        ----------
        b : iterable of bytes, or of inputs of `hashfunc`
        """
        if features := list(b):
            self.hashvalues = np.minimum(self.hashvalues, self._signatures((0, len(features)), features))

    def _check_compatible(self, other: Any) -> None:
        """Raise MismatchError unless scheme, seed and number of values are equal."""
        check_equal("scheme", self.scheme, getattr(other, "scheme", None))
        check_equal("seed", self.seed, other.seed)
        check_equal("num_perm", len(self), len(other))

    def jaccard(self, other: MinHash) -> float:
        """Return the fraction of equal values, which estimates the Jaccard similarity.

        Parameters
        ----------
        other : MinHash
            With the same scheme, seed and number of values.

        Returns
        -------
        float
            0 to 1; 1 for two empty sets, as in datasketch.

        Raises
        ------
        MismatchError
            Scheme, seed or number of values differ.
        """
        self._check_compatible(other)
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / len(self)

    def count(self) -> float:
        """Return the estimated number of distinct features, 0 or more."""
        fractions: npt.NDArray[np.float64] = self.hashvalues / float(largest(self.scheme))
        return float(len(self)) / np.sum(fractions) - 1.0

    def merge(self, other: MinHash) -> None:
        """Replace this by the MinHash of the union of both sets.

        Parameters
        ----------
        other : MinHash
            With the same scheme, seed and number of values.

        Raises
        ------
        MismatchError
            Scheme, seed or number of values differ.
        """
        self._check_compatible(other)
        self.hashvalues = np.minimum(self.hashvalues, other.hashvalues)

    def digest(self) -> Numbers:
        """Return a copy of the values."""
        return np.array(self.hashvalues)

    def is_empty(self) -> bool:
        """Return True if no feature was added."""
        return bool((self.hashvalues == largest(self.scheme)).all())

    def clear(self) -> None:
        """Remove all features."""
        self.hashvalues = np.full(len(self), largest(self.scheme), value_type(self.scheme))

    def copy(self) -> Self:
        """Return an independent copy."""
        return self._with_values(self.digest())

    def _with_values(self, values: Numbers) -> Self:
        """Return a MinHash with these permutations and other values."""
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
        """Return the MinHash of the union of two or more sets.

        Parameters
        ----------
        *mhs : MinHash
            Two or more with the same scheme, seed and number of values.

        Raises
        ------
        ParameterError
            There are fewer than two.
        MismatchError
            Scheme, seed or number of values differ.
        """
        if len(mhs) < 2:
            raise bad_parameter("mhs", f"{len(mhs)} MinHash", "two or more")
        for other in mhs[1:]:
            mhs[0]._check_compatible(other)
        return cls._from_union(mhs[0], np.minimum.reduce([m.hashvalues for m in mhs]))

    @classmethod
    def _from_union(cls, first: Any, values: Numbers) -> Self:
        return cls(
            seed=first.seed,
            hashfunc=first.hashfunc,
            hashvalues=values,
            permutations=first.permutations,
            scheme=first.scheme,
        )

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[Self]:
        """Return the MinHashes of many sets, computed in parallel.

        Parameters
        ----------
        b : iterable of iterables of bytes, or of inputs of `hashfunc`
        **minhash_kwargs
            Arguments of `MinHash`, the same for all.
        """
        if cls.update_batch is not MinHash.update_batch or cls.update is not MinHash.update:
            return list(cls.generator(b, **minhash_kwargs))
        first = cls(**minhash_kwargs)
        sketches: list[Self] = []
        offsets, features = [0], list[Any]()

        def flush() -> None:
            rows = first._signatures(offsets, features).reshape(-1, len(first))
            # np.minimum copies each row, so a sketch does not keep its batch alive.
            sketches.extend(first._with_values(np.minimum(row, first.hashvalues)) for row in rows)
            offsets[1:] = []
            features.clear()

        for document in b:
            features.extend(document)
            offsets.append(len(features))
            if len(features) >= _BATCH:
                flush()
        flush()
        return sketches

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Generator[Self, None, None]:
        """Yield the MinHash of each set; the lazy form of `bulk`.

        Parameters
        ----------
        b : iterable of iterables of bytes, or of inputs of `hashfunc`
        **minhash_kwargs
            Arguments of `MinHash`, the same for all.
        """
        first = cls(**minhash_kwargs)
        for document in b:
            sketch = first.copy()
            sketch.update_batch(document)
            yield sketch

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_cached_kernel"}
        # The seed determines its permutations.
        return {**state, "permutations": None} if self._is_seeded() else state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # A pickle of datasketch before 2.0 has no scheme, and one before 1.4 no hash function.
        attributes = dict(state)
        arguments = {name: attributes.pop(name, None) for name in _STATE}
        arguments["scheme"] = arguments["scheme"] or "legacy"
        MinHash.__init__(self, **arguments)
        # Attributes of the program; the GPU caches and the hash object of old versions are dropped.
        ignored = ("_gpu_mode", "_a_gpu", "_b_gpu", "hashobj", "_cached_kernel")
        self.__dict__.update(
            {name: value for name, value in attributes.items() if name not in ignored and not hasattr(MinHash, name)}
        )


_STATE = ("scheme", "seed", "num_perm", "hashfunc", "hashvalues", "permutations")


class LeanMinHash(MinHash):
    """A MinHash without permutations, with the calls and bytes of `datasketch.LeanMinHash`. It cannot be updated.

    Parameters
    ----------
    minhash : MinHash, optional
        The source; alternatively pass `seed`, `hashvalues` and `scheme`.
    seed : int, optional
        A signed 64-bit number.
    hashvalues : sequence of int, optional
    scheme : {"affine32", "affine64", "legacy"}, optional

    Raises
    ------
    ParameterError
        Neither a MinHash nor all of seed, values and scheme are passed; values are out of the scheme's range.

    Examples
    --------
    >>> from nearkin.compat.datasketch import LeanMinHash, MinHash
    >>> m = MinHash(num_perm=64)
    >>> m.update(b"wine")
    >>> lean = LeanMinHash(m)
    >>> buffer = bytearray(lean.bytesize("<"))
    >>> lean.serialize(buffer, "<")
    >>> len(buffer), LeanMinHash.deserialize(buffer, "<") == lean
    (269, True)
    """

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: npt.ArrayLike | None = None,
        scheme: DatasketchScheme | None = None,
    ) -> None:
        if minhash is not None:
            if scheme not in (None, minhash.scheme):
                raise bad_parameter("scheme", repr(scheme), f"that of the MinHash, {minhash.scheme!r}, or none")
            self._assign(minhash.seed, minhash.hashvalues, minhash.scheme)
        elif seed is None or hashvalues is None:
            raise bad_parameter("minhash", None, "a MinHash, or seed, hashvalues and scheme")
        elif scheme is None:
            raise bad_parameter("scheme", None, f"the scheme of the values: {_SCHEMES}")
        else:
            self._assign(seed, hashvalues, scheme)

    def _assign(self, seed: object, hashvalues: object, scheme: object) -> None:
        self.scheme = check_scheme(scheme)
        self.seed = _check_seed(seed)
        self.hashvalues = _check_values(hashvalues, self.scheme, "hashvalues")
        if not len(self.hashvalues):
            raise bad_parameter("hashvalues", "no values", "one or more")

    def update(self, b: Any) -> None:
        """Raise TypeError: a LeanMinHash has no permutations."""
        raise TypeError("a LeanMinHash has no permutations; update the MinHash that it was created from")

    def update_batch(self, b: Any) -> None:
        """Raise TypeError: a LeanMinHash has no permutations."""
        self.update(b)

    @classmethod
    def _from_union(cls, first: Any, values: Numbers) -> Self:
        new = object.__new__(cls)
        new._assign(first.seed, values, first.scheme)
        return new

    def __hash__(self) -> int:  # type: ignore[override]  # Its values never change.
        return hash((self.scheme, self.seed, self.hashvalues.tobytes()))

    def bytesize(self, byteorder: str = "@") -> int:
        """Return the number of bytes that `serialize` writes.

        Parameters
        ----------
        byteorder : {"@", "=", "<", ">", "!"}, default "@"
            As in `struct`; "@" aligns as this machine does.
        """
        return _header_size(byteorder, self.scheme) + len(self) * _value_dtype(byteorder, self.scheme).itemsize

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Write seed, scheme and values at the start of a buffer.

        Parameters
        ----------
        buf : bytearray, or any writable buffer
            At least `bytesize` bytes.
        byteorder : {"@", "=", "<", ">", "!"}, default "@"

        Raises
        ------
        ParameterError
            The buffer is too short, or a value of `legacy` has more than 32 bits.
        """
        size, view = self.bytesize(byteorder), memoryview(buf).cast("B")
        if len(view) < size:
            raise bad_parameter("buf", f"{len(view)} bytes", f"a buffer of {size} or more")
        view[:size] = self._to_bytes(byteorder)

    def _to_bytes(self, byteorder: str) -> bytes:
        if self.scheme == "legacy":
            if int(self.hashvalues.max()) >= 1 << 32:
                raise bad_parameter("hashvalues", int(self.hashvalues.max()), "values below 2^32 in bytes of legacy")
            head = struct.pack(f"{byteorder}qi", self.seed, len(self))
        else:
            code = next(code for code, scheme in _SCHEME_CODES.items() if scheme == self.scheme)
            head = struct.pack(f"{byteorder}qiB", self.seed, -len(self), code)
        values = self.hashvalues.astype(_value_dtype(byteorder, self.scheme)).tobytes()
        return head.ljust(_header_size(byteorder, self.scheme), b"\0") + values

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """Return the LeanMinHash at the start of a buffer, written by any version of datasketch.

        Parameters
        ----------
        buf : bytes-like
        byteorder : {"@", "=", "<", ">", "!"}, default "@"

        Raises
        ------
        InputError
            The buffer is too short, or its scheme is unknown.
        """
        new = object.__new__(cls)
        new._read(buf, byteorder)
        return new

    def _read(self, buf: Any, byteorder: str) -> None:
        data, base = memoryview(buf).cast("B"), _header_size(byteorder, "legacy")
        if len(data) < base:
            raise _invalid_bytes(f"{len(data)} bytes are fewer than the {base} of seed and count")
        seed, count = struct.unpack_from(f"{byteorder}qi", data)
        scheme: DatasketchScheme = "legacy"
        if count < 0:
            code = data[base] if len(data) > base else 0
            if code not in _SCHEME_CODES:
                raise _invalid_bytes(f"scheme {code} is unknown")
            scheme = _SCHEME_CODES[code]
        start, dtype = _header_size(byteorder, scheme), _value_dtype(byteorder, scheme)
        if len(data) < start + abs(count) * dtype.itemsize or not count:
            raise _invalid_bytes(f"{len(data)} bytes are too few for {abs(count)} values")
        self._assign(seed, np.frombuffer(data, dtype, abs(count), start), scheme)

    def __getstate__(self) -> bytearray:  # type: ignore[override]  # datasketch pickles the bytes.
        return bytearray(self._to_bytes("@"))

    def __setstate__(self, state: Any) -> None:
        self._read(state, "@")


def _value_dtype(byteorder: str, scheme: DatasketchScheme) -> np.dtype[Any]:
    return np.dtype(f"{_BYTE_ORDERS[byteorder]}u{8 if scheme == 'affine64' else 4}")


def _header_size(byteorder: str, scheme: DatasketchScheme) -> int:
    """Return the number of bytes before the values, padding included."""
    if byteorder not in _BYTE_ORDERS:
        raise bad_parameter("byteorder", repr(byteorder), 'one of "@", "=", "<", ">", "!"')
    layout = {"legacy": "qi0I", "affine32": "qiB0I", "affine64": "qiB0Q"}[scheme]
    return struct.calcsize(f"{byteorder}{layout}")


def _invalid_bytes(reason: str) -> InputError:
    return InputError(f"these are not the bytes of a LeanMinHash: {reason}", place="buf", reason=reason)
